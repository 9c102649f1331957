/* SPDX-License-Identifier: MIT */
/* Analyses what a convolution of bytes and the rest of its fusion mean for the target's machine,
 * operation by operation. */
#include <math.h>

#include "engines/stream/streams_whole.h"

/* Notes the first reason of a refusal, and returns false. */
static bool refuse(struct layer *l, const char *why, const struct op *at)
{
        l->refused_at = l->refused ? l->refused_at : at;
        l->refused = l->refused ? l->refused : why;
        return false;
}

/* At most this many elements are stored repeatedly around a result. */
enum { AROUND_MOST = 64 };
#define OUTSIDE (double)(1 << 29)       /* Every sum outside of an image is below -OUTSIDE
                                         * (streams_pool.c). */

/* Returns the numbers along the outputs, [blocks, lanes], that v broadcasts over the positions, or
 * v itself where it has one position. */
static const struct value *along_outputs(const struct layer *l, const struct value *v)
{
        int count;
        const bool spread = op_is(v, OP_broadcast);
        const struct value *x = spread ? op_operand(v->op, 0) : v;
        const int64_t *dims = spread ? op_ints(v->op, "dims", &count) : NULL;
        const bool placed = spread ? count == 2 && dims[0] == 1 && dims[1] == v->type->rank - 1
                                   : dim_is(v->type->dims[1], l->work.outputs);
        return placed && type_elements(x->type) == l->work.outputs * l->lanes_out &&
                               x->type->element == E_I32 && value_is_constant(x) &&
                               x->constant->kind != CONSTANT_SPLAT
                       ? x
                       : NULL;
}

/* Finds `count` blocks of weights of their own, or one block for all. */
static bool find_blocks(const struct layer *l, const struct value *w, int64_t count,
                        struct blocks *blocks)
{
        *blocks = (struct blocks){ .value = w };
        if (w->type->element != E_I8 || !dim_is(w->type->dims[w->type->rank - 1], l->weight) ||
            type_elements(w->type) != count * l->weight)
                return false;
        if (op_is(w, OP_broadcast)) {
                blocks->value = op_operand(w->op, 0);
                blocks->single = true;
        }
        return value_is_constant(blocks->value) &&
               (!blocks->single || type_elements(blocks->value->type) == l->weight);
}

/* Can the machine shift by these amounts? It has one amount for a block or, where it activates, one
 * for each number. The lanes after the last output hold sums of zeros, which no amount changes. */
static bool amounts_fit(const struct layer *l, const struct value *v)
{
        const int32_t *n = constant_data(v->constant);
        const int64_t all = l->work.outputs * l->lanes_out,
                      own = op_int(l->op, "groups") == 1 ? op_int(l->op, "outputs") : all;
        for (int64_t i = 0; i < all; i++) {
                const bool behind = i >= own && i % l->lanes_out;
                if ((n[i] != n[i / l->lanes_out * l->lanes_out] && !behind && !l->m->activates) ||
                    n[i] < 0 || n[i] > 31)
                        return false;
        }
        return true;
}

/* Is the layout [N, blocks, rows, columns, lanes], or the same without rows? */
static bool is_dense(const struct access *a, int rank, int64_t lanes)
{
        bool whole =
                a->stride[rank - 1] == 1 && a->stride[rank - 2] == lanes && a->offset % lanes == 0;
        for (int d = 0; d < rank - 1; d++)
                whole &= a->stride[d] >= 0 && a->stride[d] % lanes == 0;
        return whole;
}

/* Reads a step that adds other bytes of the same shape, block by block, or an element of them,
 * times weights of their own. */
static bool read_joined(struct layer *l, const struct region *region, const struct value *v)
{
        const struct op *op = v->op;
        const struct value *from = op_operand(op, 0);
        const struct type *x = from->type;
        struct step *s = &l->steps[l->step_count - 1];
        s->joined = op;
        if (l->lanes_in != l->lanes_out || !dim_is(x->dims[1], op_int(op, "groups")) ||
            !dim_is(x->dims[1], l->work.outputs) || x->element != E_I8 ||
            !dim_is(x->dims[x->rank - 1], l->lanes_in) || !op_all_ones(op, "strides") ||
            op_result(op)->type->rank != op_result(l->op)->type->rank ||
            !find_blocks(l, op_operand(op, 1), l->work.outputs, &s->weights))
                return false;
        if (op_is(from, OP_broadcast) && value_is_constant(op_operand(from->op, 0)) &&
            op_operand(from->op, 0)->type->rank == 1) {
                s->fixed = true;
                s->x.value = op_operand(from->op, 0);
                l->work.fixed++;
                return type_elements(s->x.value->type) == l->lanes_in;
        }
        l->work.joined++;
        l->work.joined_blocks += !s->weights.single;
        return access_read(region, (struct value *)(uintptr_t)from, &s->x) &&
               is_dense(&s->x, x->rank, l->lanes_in);
}

/* Returns a bound on the magnitude of all sums. */
static double largest(const struct layer *l)
{
        const double products = (double)(l->work.window[0] * l->work.window[1] *
                                         (l->work.apart ? 1 : l->work.inputs) * l->lanes_in);
        double most =
                products * 128 * (double)(op_int(l->op, "limit") ? op_int(l->op, "limit") : 128);
        for (int i = 0; i < l->step_count; i++) {
                const struct step *s = &l->steps[i];
                double added = fabs((double)s->immediate);
                const int32_t *n = s->added ? constant_data(s->added->constant) : NULL;
                for (int64_t k = 0; n && k < l->work.outputs * l->lanes_out; k++)
                        added = fmax(added, fabs((double)n[k]));
                most += s->op == LOOP_ADD ? s->joined ? 128 * 128 : added : 0;
        }
        return most;
}

int64_t stream_beyond(const struct layer *l, int64_t immediate)
{
        const int64_t most = (INT64_C(1) << (l->m->limits.immediate_bits - 1)) - 1;
        return immediate > most        ? immediate - most
               : immediate < -most - 1 ? immediate + most + 1
                                       : 0;
}

/* Reads an operation on sums whose other operand is a constant. */
static bool read_step(struct layer *l, const struct region *region, const struct op *op,
                      int operand)
{
        const struct value *other = op_operand(op, 1 - operand);
        struct step *s = &l->steps[l->step_count++];
        double number;
        switch (op->code) {
        case OP_add: s->op = LOOP_ADD; break;
        case OP_sub: s->op = LOOP_ADD; break;
        case OP_min: s->op = LOOP_MIN; break;
        case OP_max: s->op = LOOP_MAX; break;
        case OP_shr: s->op = LOOP_SHR; break;
        default: return refuse(l, "its sums go through an operation that the machine lacks", op);
        }
        const bool ordered = op->code == OP_sub || op->code == OP_shr;
        if (ordered && operand)
                return refuse(l, "its sums stand on the right", op);
        if (op->code == OP_add && op_is(other, OP_convolve_packed))
                return read_joined(l, region, other) ||
                       refuse(l,
                              "what is added to its sums is no product of bytes by one block for "
                              "each of outputs",
                              op);
        const bool splat = value_is_splat(other, &number);
        if (splat) {
                s->immediate = op->code == OP_sub ? -(int64_t)number : (int64_t)number;
                const int64_t more = stream_beyond(l, s->immediate);
                if (op->code == OP_shr ? number >= 0 && number <= 31
                                       : !more || (s->op != LOOP_ADD && !stream_beyond(l, more) &&
                                                   largest(l) + fabs((double)more) < INT32_MAX))
                        return true;
                s->immediate = 0;
        }
        const struct value *numbers = along_outputs(l, other);
        if (!numbers || op->code == OP_sub)
                return refuse(l,
                              "the other operand is neither one number that an instruction holds "
                              "nor one for each output",
                              op);
        if (op->code == OP_shr) {
                s->shifts = numbers;
                return amounts_fit(l, numbers) ||
                       refuse(l, "sums of a block of outputs are shifted by several amounts", op);
        }
        s->added = numbers;
        l->added_count++;
        return true;
}

/* Reads a pool, the largest of windows of bytes. The operations on sums before it keep their order,
 * so that the pool may be computed first. */
static bool read_pool(struct layer *l, const struct op *op)
{
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        const int rank = x->rank, spatial = rank - 3;
        const int64_t *window = op_ints(op, "window", NULL),
                      *strides = op_ints(op, "strides", NULL), *pads = op_ints(op, "pads", NULL);
        struct stream_work *work = &l->work;
        if (op_int(op, "kind") != REDUCE_max || !op_all_ones(op, "dilations"))
                return false;
        for (int d = 0; d < rank; d++) {
                const int k = 2 - spatial + d - 2;
                if (d < 2 || d == rank - 1) {
                        if (window[d] != 1 || strides[d] != 1 || pads[d] || pads[rank + d])
                                return false;
                        continue;
                }
                if (pads[d] < 0 || pads[rank + d] < 0 || pads[d] >= window[d] ||
                    pads[rank + d] >= window[d] ||
                    (type_extent(y, d) - 1) * strides[d] - pads[d] >= type_extent(x, d))
                        return false;
                work->convolved[k] = type_extent(x, d);
                work->extent[k] = type_extent(y, d);
                work->pool_window[k] = window[d];
                work->pool_strides[k] = strides[d];
                work->pool_pads[k] = pads[d];
        }
        l->pool = op;
        return work->pool = true;
}

/* Do the weights leave bytes as they are? */
static bool is_identity(const struct layer *l)
{
        const struct constant *c = l->w.value->constant;
        const int8_t *numbers = constant_data(c);
        bool identity = l->w.single && (l->work.apart || l->work.inputs == 1) &&
                        l->lanes_in == l->lanes_out && c->kind != CONSTANT_SPLAT;
        for (int64_t k = 0; k < l->weight && identity; k++)
                identity = numbers[k] == (k % (l->lanes_in + 1) == 0);
        return identity && l->work.window[0] * l->work.window[1] == 1;
}

/* Reads the epilogue, from the sums to v, which is stored. */
static bool read_epilogue(struct layer *l, const struct region *region, const struct value *v)
{
        const struct value *at = op_result(l->op);
        while (at != v) {
                if (!value_has_one_use(at))
                        return refuse(l, "its sums are read more than once", l->op);
                const struct op *op = at->uses->user;
                if (l->step_count + 2 > STREAM_STEPS || op->result_count != 1)
                        return refuse(
                                l,
                                "its sums go through more operations than a program has room for",
                                op);
                /* The cast keeps the low bits of numbers that are within bounds. */
                if (op->code == OP_cast) {
                        at = op_result(op);
                        if (at->type->element != E_I8)
                                return refuse(l, "its sums do not become bytes with a sign", op);
                        if (at != v && value_has_one_use(at) &&
                            at->uses->user->code == OP_reduce_window &&
                            read_pool(l, at->uses->user))
                                at = op_result(l->pool);
                        if (at != v)
                                return refuse(
                                        l, "more is done with the bytes that its sums have become",
                                        at->uses ? at->uses->user : op);
                        continue;
                }
                if (op->operand_count != 2)
                        return refuse(l, "its sums go through an operation that the machine lacks",
                                      op);
                if (!read_step(l, region, op, op_operand(op, 0) == at ? 0 : 1))
                        return false;
                at = op_result(op);
        }
        /* The value that is stored must be what an operation wrote last, and within bounds. */
        const int n = l->step_count;
        if (l->pool && !(largest(l) < OUTSIDE && !l->work.joined))
                return refuse(l, "its sums are too large for a pool, or have others added to them",
                              l->pool);
        if (l->pool && !n)
                return is_identity(l) ||
                       refuse(l, "what the pool reads is not within bounds", l->pool);
        const bool bounded = v->type->element == E_I8 && n >= 2 &&
                             l->steps[n - 1].op != l->steps[n - 2].op && !l->steps[n - 1].added &&
                             !l->steps[n - 2].added &&
                             (l->steps[n - 1].op == LOOP_MIN || l->steps[n - 1].op == LOOP_MAX) &&
                             (l->steps[n - 2].op == LOOP_MIN || l->steps[n - 2].op == LOOP_MAX);
        return bounded || refuse(l, "what is stored is not bytes between two bounds", NULL);
}

static bool read_layer(struct layer *l, const struct op *op, const struct target *target)
{
        *l = (struct layer){ .op = op, .m = target_accelerator(target) };
        if (!l->m || op->code != OP_convolve_packed)
                return false;
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type,
                          *y = op_result(op)->type;
        const int64_t *strides = op_ints(op, "strides", NULL),
                      *dilations = op_ints(op, "dilations", NULL), groups = op_int(op, "groups");
        const int rank = x->rank, spatial = rank - 3;
        if (x->element != E_I8 || w->element != E_I8 || y->element != E_I32)
                return refuse(l, "its products are not of bytes with a sign", op);
        if (spatial < 1 || spatial > 2 || !dim_is(x->dims[0], 1) || w->rank != rank + 2)
                return refuse(l, "it is of more than one image, or has more than two dimensions",
                              op);
        l->lanes_in = l->m->block_in;
        l->lanes_out = l->m->block_out;
        l->weight = l->lanes_in * l->lanes_out;
        if (!dim_is(x->dims[rank - 1], l->lanes_in) || !dim_is(y->dims[rank - 1], l->lanes_out) ||
            l->m->batch != 1 || !dim_is(w->dims[w->rank - 1], l->weight) ||
            !dim_is(w->dims[w->rank - 2], 1) || !dim_is(w->dims[w->rank - 3], 1))
                return refuse(l, "its operands are not in the machine's blocks", op);
        struct stream_work *work = &l->work;
        if (!find_blocks(l, op_operand(op, 1), type_elements(w) / l->weight, &l->w))
                return refuse(l, "its weights are computed while the model runs", op);
        *work = (struct stream_work){ .inputs = type_extent(x, 1) / groups,
                                      .outputs = type_extent(y, 1),
                                      .apart = groups > 1,
                                      .single = l->w.single,
                                      .extent = { 1, 1 },
                                      .window = { 1, 1 },
                                      .strides = { 1, 1 },
                                      .dilations = { 1, 1 },
                                      .read = { 1, 1 },
                                      .convolved = { 1, 1 },
                                      .pool_window = { 1, 1 },
                                      .pool_strides = { 1, 1 } };
        if (groups > 1 && (!dim_is(x->dims[1], groups) || !dim_is(y->dims[1], groups)))
                return refuse(l, "its groups are not of a block each", op);
        for (int d = 0; d < spatial; d++) {
                const int k = 2 - spatial + d;
                work->extent[k] = type_extent(y, 2 + d);
                work->window[k] = type_extent(w, 2 + d);
                work->strides[k] = strides[d];
                work->dilations[k] = dilations[d];
                work->read[k] = type_extent(x, 2 + d);
        }
        return true;
}

/* Reads the epilogue as activations, for values that lie whole in the inputs' memory. */
static bool activations(struct layer *l)
{
        struct stream_part parts[STREAM_STEPS];
        const int count = stream_parts(l, parts);
        const struct type *y = (l->pad ? op_result(l->pad) : op_result(l->op))->type;
        l->work.held = (type_elements(l->x.value->type) + type_elements(y)) / l->lanes_in;
        l->work.activations = 0;
        for (int k = 0; k < count; k++) {
                l->work.activations += !parts[k].joined;
                l->work.held += parts[k].joined ? type_elements(parts[k].joined->x.value->type) /
                                                          l->lanes_in
                                                : 0;
        }
        return (count > 0 && !l->pool) ||
               refuse(l,
                      l->pool ? "the machine has no pools" : "the machine has no such activation",
                      l->pool);
}

bool stream_find(struct layer *l, const struct region *region, const struct op *op,
                 struct value *result, const struct target *target)
{
        struct value *v;
        const int rank = op_result(op)->type->rank;
        if (!read_layer(l, op, target))
                return false;
        if (!region || !access_read(region, op_operand(op, 0), &l->x) ||
            !access_store(region, result, &v, &l->y, &l->pad) ||
            !is_dense(&l->x, rank, l->lanes_in) || !is_dense(&l->y, rank, l->lanes_out))
                return refuse(l, "what it reads is computed in its kernel, or lies across blocks",
                              op);
        if (!read_epilogue(l, region, v))
                return false;
        if (l->pad) {
                double number;
                const struct type *from = v->type, *to = result->type;
                if (to->rank != rank || !value_is_splat(op_operand(l->pad, 1), &number))
                        return refuse(l, "more than one number is stored around its result",
                                      l->pad);
                for (int d = 0; d < rank; d++)
                        if (!dim_equal(from->dims[d], to->dims[d]) && (d < 2 || d == rank - 1))
                                return refuse(l, "channels are stored around its result", l->pad);
                l->work.around = 1;
                for (int d = 2; d < rank - 1; d++)
                        l->work.around = type_extent(to, d) > l->work.around ? type_extent(to, d)
                                                                             : l->work.around;
                l->work.around = l->work.around < AROUND_MOST ? l->work.around : AROUND_MOST;
        }
        for (int i = 0; i < l->step_count; i++) {
                const struct step *s = &l->steps[i];
                const bool far =
                        s->op == LOOP_SHR && (s->shifts || s->immediate > l->m->limits.shift);
                const int64_t more = s->op == LOOP_SHR ? 0 : stream_beyond(l, s->immediate);
                l->work.immediates += s->added || s->joined ? 0 : 1 + far + 2 * (more != 0);
                l->work.tensors += s->added != NULL;
        }
        l->work.added = l->added_count;
        return !l->m->activates || activations(l);
}

/* Finds the layer of a convolution in a fusion with one result. */
static bool find_of(const struct op *op, const struct target *target, struct layer *l)
{
        struct region *region = op->region;
        struct value *result = NULL;
        *l = (struct layer){ .op = op };
        for (const struct op *last = region->first; last; last = last->next)
                if (last->code == OP_yield && last->operand_count == 1)
                        result = op_operand(last, 0);
        if (!result || !region->owner || region->owner->code != OP_fusion)
                return refuse(l, "its sums are what is stored, or there are several results", op);
        return stream_find(l, region, op, result, target);
}

bool stream_work_of(const struct op *op, const struct target *target, struct stream_work *work)
{
        struct layer l;
        const bool found = find_of(op, target, &l);
        if (found)
                *work = l.work;
        return found;
}

const char *stream_refusal(const struct op *op, const struct target *target, const struct op **at)
{
        struct layer l;
        *at = NULL;
        if (find_of(op, target, &l))
                return NULL;
        *at = l.refused_at;
        return l.refused ? l.refused : "it is none of the machine's forms";
}
