/* SPDX-License-Identifier: MIT */
/* Expresses what a kernel adds to the sums of a convolution as products: bytes times a number as
 * products by a block with the number on its diagonal, numbers per output as pieces of 8 bits times
 * one fixed element. */
#include <math.h>

#include "engines/stream/offload.h"

enum { PIECE_MOST = 127 };

static bool replace_operand(struct offloading *o, struct op *op, int at, struct value *by)
{
        if (!by)
                return false;
        o->rewrites[o->count++] = (struct rewrite){ op, at, op_operand(op, at) };
        op_set_operand(op, at, by);
        return true;
}

/* ---- products ---- */

/* Broadcasts one block to all blocks of x: [blocks, 1.., lanes * lanes]. */
struct value *offload_spread(struct builder *b, const struct type *like, struct value *block)
{
        return build_broadcast(b, block, like, (int64_t[]){ like->rank - 1 });
}

struct value *offload_diagonal(struct offloading *o, int number)
{
        const int64_t size = (int64_t)o->lanes * o->lanes;
        int8_t *numbers = arena_array(o->m->arena, (size_t)size, 1);
        for (int i = 0; i < o->lanes; i++)
                numbers[i * o->lanes + i] = (int8_t)number;
        return constant_dense(o->m, type_static(o->m, E_I8, 1, &size), numbers, "factor");
}

const struct type *offload_weights(struct offloading *o, const struct type *x)
{
        dim_t dims[RANK_MAX] = { x->dims[1] };
        for (int d = 1; d < x->rank + 1; d++)
                dims[d] = dim_of(1);
        dims[x->rank + 1] = dim_of((int64_t)o->lanes * o->lanes);
        return type_tensor(o->m, E_I8, x->rank + 2, dims);
}

/* Multiplies each block of x by its own block of w. */
struct value *offload_products(struct offloading *o, struct builder *b, struct value *x,
                               struct value *w, int limit)
{
        struct attr *attrs = attrs_new(o->m, OP_convolve_packed);
        attr_set(attrs, OP_convolve_packed, "groups", type_extent(x->type, 1));
        attr_set(attrs, OP_convolve_packed, "channels", o->lanes);
        attr_set(attrs, OP_convolve_packed, "outputs", o->lanes);
        attr_set(attrs, OP_convolve_packed, "block", o->lanes);
        attr_set(attrs, OP_convolve_packed, "limit", limit);
        attr_set(attrs, OP_convolve_packed, "accumulator", E_I32);
        return x && w ? value_build(b, OP_convolve_packed, (struct value *[]){ x, w }, 2, attrs,
                                    NULL)
                      : NULL;
}

/* ---- bytes ---- */

/* Returns the bytes that mul multiplies by a number that fits into a byte; or NULL. */
struct value *offload_multiplied(const struct op *mul, double *number)
{
        for (int i = 0; i < 2; i++) {
                const struct value *x = op_operand(mul, i);
                if (op_is(x, OP_cast) && value_is_splat(op_operand(mul, 1 - i), number) &&
                    rint(*number) == *number && fabs(*number) <= INT8_MAX &&
                    op_operand(x->op, 0)->type->element == E_I8)
                        return op_operand(x->op, 0);
        }
        return NULL;
}

static bool join_bytes(struct offloading *o, struct op *mul)
{
        double number;
        struct value *x = offload_multiplied(mul, &number), *old = op_result(mul);
        if (!x || !value_has_one_use(old) || old->type->element != E_I32 ||
            x->type->rank != op_result(o->convolve)->type->rank ||
            !dim_is(x->type->dims[x->type->rank - 1], o->lanes))
                return false;
        struct builder b = builder_before(mul, o->context->diag);
        struct value *block = offload_diagonal(o, (int)number);
        struct op *user = old->uses->user;
        return replace_operand(
                o, user, op_operand(user, 0) == old ? 0 : 1,
                offload_products(o, &b, x, offload_spread(&b, offload_weights(o, x->type), block),
                                 (int)fabs(number)));
}

/* ---- numbers ---- */

/* Returns the numbers that op adds to the sums, as its operand *at; NULL where op does something
 * else. */
static const struct constant *added(const struct op *op, int *at, bool *splat)
{
        for (*at = 1; *at >= 0; --*at) {
                const struct value *v = op_operand(op, *at);
                *splat = value_is_constant(v) && value_is_splat(v, NULL);
                if (*splat)
                        return v->constant;
                const struct value *x = op_is(v, OP_broadcast) ? op_operand(v->op, 0) : v;
                if (value_is_constant(x) && x->constant->kind != CONSTANT_SPLAT &&
                    x->type->element == E_I32)
                        return x->constant;
        }
        return NULL;
}

/* Splits `number` into pieces, which are weights of one output; returns the rest. */
static int64_t pieces_of(int64_t number, int lanes, int8_t *pieces)
{
        int64_t rest = number % PIECE_MOST, times = number / PIECE_MOST;
        pieces[0] = (int8_t)rest;
        for (int k = 1; k < lanes; k++) {
                const int64_t some = times > PIECE_MOST    ? PIECE_MOST
                                     : times < -PIECE_MOST ? -PIECE_MOST
                                                           : times;
                pieces[k] = (int8_t)some;
                times -= some;
        }
        return times * PIECE_MOST;
}

/* Multiplies one element for all positions by the pieces of numbers for each output; `numbers`
 * keeps the rests. */
static struct value *fixed_products(struct offloading *o, struct builder *b, const struct type *y,
                                    int64_t *numbers)
{
        const int64_t outputs = type_extent(y, 1) * o->lanes, size = (int64_t)o->lanes * o->lanes;
        int8_t *pieces = arena_array(o->m->arena, (size_t)(type_extent(y, 1) * size), 1),
               *element = arena_array(o->m->arena, (size_t)o->lanes, 1);
        for (int64_t i = 0; i < outputs; i++)
                numbers[i] = pieces_of(numbers[i], o->lanes, pieces + i * o->lanes);
        for (int k = 0; k < o->lanes; k++)
                element[k] = k ? PIECE_MOST : 1;
        const int64_t lanes = o->lanes;
        struct value *one =
                constant_dense(o->m, type_static(o->m, E_I8, 1, &lanes), element, "one");
        struct value *x = build_broadcast(b, one, type_with_element(o->m, y, E_I8),
                                          (int64_t[]){ y->rank - 1 });
        return offload_products(
                o, b, x, constant_dense(o->m, offload_weights(o, y), pieces, "bias"), PIECE_MOST);
}

/* Returns how many such products represent all numbers. */
static int64_t products_of(const int64_t *numbers, int64_t count, int lanes)
{
        const int64_t most = (int64_t)PIECE_MOST * PIECE_MOST * (lanes - 1);
        int64_t times = 1;
        for (int64_t i = 0; i < count; i++) {
                const int64_t own = divide_up(numbers[i] < 0 ? -numbers[i] : numbers[i], most);
                times = own > times ? own : times;
        }
        return times;
}

static bool join_numbers(struct offloading *o, struct op *op)
{
        /* IMMEDIATE is the largest number that an operation adds as an immediate, in one cycle.
         * TENSOR_MOST and SPLAT_MOST are the most products that are still cheaper than adding a
         * tensor, or a splat. */
        enum { IMMEDIATE = 32767, TENSOR_MOST = 2, SPLAT_MOST = 6 };
        int at;
        bool splat;
        const struct constant *c = added(op, &at, &splat);
        const struct type *y = op_result(op)->type;
        const int64_t outputs = type_extent(y, 1) * o->lanes;
        if (target_accelerator(o->context->target)->activates)
                return false;           /* The activations add the numbers. */
        if (!c || y->element != E_I32 || y->rank != op_result(o->convolve)->type->rank ||
            !dim_is(y->dims[y->rank - 1], o->lanes) ||
            (!splat && type_elements(c->value.type) != outputs))
                return false;
        int64_t *numbers = arena_array(o->m->arena, (size_t)outputs, sizeof *numbers);
        for (int64_t i = 0; i < outputs; i++)
                numbers[i] = constant_element(c, splat ? 0 : i).i;
        const int64_t times = products_of(numbers, outputs, o->lanes);
        if (times > (splat ? SPLAT_MOST : TENSOR_MOST) ||
            (splat && numbers[0] <= IMMEDIATE && numbers[0] >= -IMMEDIATE) ||
            o->count + times > REWRITES)
                return false;
        struct builder b = builder_before(op, o->context->diag);
        for (int64_t k = 1; k < times; k++) {
                struct value *sums = op_operand(op, 1 - at),
                             *more = fixed_products(o, &b, y, numbers);
                if (!more || !replace_operand(o, op, 1 - at, build_binary(&b, OP_add, sums, more)))
                        return false;
        }
        return replace_operand(o, op, at, fixed_products(o, &b, y, numbers));
}

/* Replaces a constant of op's shape, with few positions and the same numbers at each, by a
 * broadcast of numbers per output. */
static void spread_constant(struct offloading *o, struct op *op, int at)
{
        const struct value *v = op_operand(op, at);
        const struct type *y = op_result(op)->type;
        const int64_t lanes = o->lanes, outputs = type_extent(y, 1) * lanes,
                      positions = type_elements(y) / outputs;
        if (!value_is_constant(v) || v->constant->kind == CONSTANT_SPLAT ||
            v->type->element != E_I32 || positions < 2 || !dim_is(y->dims[0], 1) ||
            y->rank != op_result(o->convolve)->type->rank || !dim_is(y->dims[y->rank - 1], lanes) ||
            o->count == REWRITES)
                return;
        const int32_t *from = constant_data(v->constant);
        int32_t *numbers = arena_array(o->m->arena, (size_t)outputs, sizeof *numbers);
        for (int64_t b = 0; b < type_extent(y, 1); b++)
                for (int64_t k = 0; k < positions * lanes; k++) {
                        const int32_t number = from[b * positions * lanes + k];
                        int32_t *own = &numbers[b * lanes + k % lanes];
                        if (k >= lanes && *own != number)
                                return;
                        *own = number;
                }
        struct builder b = builder_before(op, o->context->diag);
        struct value *x = constant_dense(
                o->m, type_tensor(o->m, E_I32, 2, (dim_t[]){ y->dims[1], dim_of(lanes) }), numbers,
                v->constant->name);
        replace_operand(o, op, at, build_broadcast(&b, x, y, (int64_t[]){ 1, y->rank - 1 }));
}

/* Replaces weights whose blocks are all equal by one block. */
static bool join_blocks(struct offloading *o)
{
        struct value *w = op_operand(o->convolve, 1);
        const int64_t size = (int64_t)o->lanes * o->lanes;
        if (!value_is_constant(w) || w->constant->kind == CONSTANT_SPLAT ||
            w->type->element != E_I8 || !dim_is(w->type->dims[w->type->rank - 1], size) ||
            type_elements(w->type) == size)
                return false;
        const int8_t *numbers = constant_data(w->constant);
        for (int64_t k = size; k < type_elements(w->type); k++)
                if (numbers[k] != numbers[k % size])
                        return false;
        struct builder b = builder_before(o->convolve, o->context->diag);
        struct value *block =
                constant_dense(o->m, type_static(o->m, E_I8, 1, &size),
                               arena_copy(o->m->arena, numbers, (size_t)size), "block");
        return replace_operand(o, o->convolve, 1, offload_spread(&b, w->type, block));
}

/* ---- kernels ---- */

void offload_erase_unused(struct region *region)
{
        for (bool more = true; more;) {
                more = false;
                for (struct op *op = region->first, *next; op; op = next) {
                        next = op->next;
                        if (op->code != OP_yield && op->result_count == 1 && !op_result(op)->uses) {
                                op_erase(op);
                                more = true;
                        }
                }
        }
}

/* Can the machine compute the convolution, and does the least tile fit? */
static bool is_for_machine(const struct op *convolve, const struct pass_context *context)
{
        const struct machine *m = target_accelerator(context->target);
        struct schedule_stream s = schedule_preset(SCHEDULE_stream).stream;
        struct stream_work work;
        s.tile_rows = s.tile_columns = s.tile_outputs = s.tile_inputs = s.contexts = 1;
        return stream_work_of(convolve, context->target, &work) && stream_fits(&work, &s, m);
}

int offload_sums(struct region *region, struct op *convolve, struct pass_context *context)
{
        struct module *m = region->function->module;
        struct offloading o = { .m = m,
                                .context = context,
                                .convolve = convolve,
                                .lanes = target_accelerator(context->target)->block_in };
        join_blocks(&o);
        for (struct op *op = convolve->next, *next;
             op && o.count < REWRITES && !context->diag->code; op = next) {
                next = op->next;
                for (int i = 0;
                     i < op->operand_count && op_info[op->code].traits & TRAIT_ELEMENTWISE; i++)
                        spread_constant(&o, op, i);
                if (op->code == OP_mul)
                        join_bytes(&o, op);
                else if (op->code == OP_add)
                        join_numbers(&o, op);
        }
        int count = o.count;
        if (count && !context->diag->code && !is_for_machine(convolve, context)) {
                while (o.count--)
                        op_set_operand(o.rewrites[o.count].op, o.rewrites[o.count].at,
                                       o.rewrites[o.count].old);
                count = 0;
        }
        return count;
}
