/* SPDX-License-Identifier: MIT */
/* Joined outputs [horizontal fusion]: convolutions, or products, of the same operand by constants
 * become one, with their outputs side by side, where that is predicted to be faster.
 *
 *   %1 = convolve(%x, @a) : <1 x 4 x S..>       %1 = convolve(%x, @ab) : <1 x 16 x S..>
 *   %2 = add(%1, bias)                          %2 = add(%1, both biases)
 *   %3 = convolve(%x, @b) : <1 x 12 x S..>  ->  %3 = slice(%2, 0 .. 4), %4 = slice(%2, 4 .. 16)
 *   %4 = add(%3, bias)
 *
 * Each of them computes whole vectors of outputs: of 4 and 12 outputs two vectors of 16, one of
 * which is enough for both; and each reads x again, which may be larger than the second-level
 * cache. So the predicted time is that of register tiles (cost/packed_cost.h) of each one, against
 * that of all, and of copies: outputs that nobody can read where they lie in the joined result. Of
 * all subsets of up to JOINED_MOST such contractions the one that saves most is taken, if it saves
 * enough (--limit joined_percent). Each sum is what it was; operations that do not follow all
 * alike follow the slices. */
#include "cost/layout_cost.h"
#include "cost/packed_cost.h"
#include "ir/loop/loop_vector.h"
#include "passes/layout/joined.h"

#include <math.h>
#include <string.h>

struct candidates {
        struct joined all;
        const struct multiply *multiply;
        double apart[JOINED_MOST];      /* The contraction takes these cycles by itself. */
        /* So many outputs together were predicted to take these cycles. */
        int64_t outputs[1 << JOINED_MOST];
        double cycles[1 << JOINED_MOST];
        int known;
};

/* ---- which contractions ---- */

static bool is_candidate(const struct op *op)
{
        if (op->code != OP_convolve && op->code != OP_dot)
                return false;
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1), *y = op_result(op);
        if (!op_is_static(op) || type_is_empty(y->type) || !value_is_constant(w) ||
            w->constant->kind == CONSTANT_SPLAT || w->type->element != E_F32 ||
            x->type->element != E_F32 || y->type->element != E_F32 || !y->uses)
                return false;
        if (op->code == OP_convolve)
                return op_int(op, "groups") == 1 && layout_is_direct(op) && x->type->rank >= 3;
        int batches, contracted;
        op_ints(op, "batch_a", &batches);
        const int64_t *a = op_ints(op, "contract_a", &contracted),
                      *b = op_ints(op, "contract_b", NULL);
        return !batches && contracted == 1 && x->type->rank >= 2 && a[0] == x->type->rank - 1 &&
               w->type->rank == 2 && b[0] == 0;
}

static bool same_ints(const struct op *a, const struct op *b, const char *name)
{
        int m, n;
        const int64_t *x = op_ints(a, name, &m), *y = op_ints(b, name, &n);
        return m == n && !memcmp(x, y, (size_t)m * sizeof *x);
}

/* Do both contract the same operand in the same way? */
static bool are_alike(const struct op *a, const struct op *b)
{
        const struct type *v = op_operand(a, 1)->type, *w = op_operand(b, 1)->type;
        if (a->code != b->code || op_operand(a, 0) != op_operand(b, 0) ||
            op_int(a, "accumulator") != op_int(b, "accumulator") || v->rank != w->rank)
                return false;
        if (a->code == OP_dot)
                return true;
        for (int d = 2; d < v->rank; d++)
                if (!dim_equal(v->dims[d], w->dims[d]))
                        return false;
        return same_ints(a, b, "strides") && same_ints(a, b, "pads") &&
               same_ints(a, b, "dilations");
}

/* Is v, behind operations that move elements, an operand of a product, as heads of attention are?
 * These lie where they are made. *left: so many uses may be looked at; where there are more, it
 * counts as one. */
static bool is_multiplied(const struct value *v, int depth, int *left)
{
        enum { DEPTH_MAX = 6 };
        for (const struct use *u = v->uses; u; u = u->next) {
                const enum opcode code = u->user->code;
                if (code == OP_dot || !(*left)-- ||
                    (depth < DEPTH_MAX && u->user->result_count == 1 &&
                     (op_info[code].traits & TRAIT_ELEMENTWISE || code == OP_reshape ||
                      code == OP_transpose || code == OP_concat || code == OP_slice) &&
                     is_multiplied(op_result(u->user), depth + 1, left)))
                        return true;
        }
        return false;
}

static bool is_head(const struct op *op)
{
        enum { USES_MOST = 1000 };
        int left = USES_MOST;
        return op->code == OP_dot && is_multiplied(op_result(op), 0, &left);
}

static void find_alike(struct candidates *c, struct op *first)
{
        struct joined *s = &c->all;
        *s = (struct joined){ .axis = first->code == OP_dot ? op_result(first)->type->rank - 1 : 1,
                              .weights = first->code == OP_dot };
        for (const struct use *u = op_operand(first, 0)->uses; u && s->count < JOINED_MOST;
             u = u->next) {
                struct op *op = u->user;
                bool found = false;
                for (int k = 0; k < s->count; k++)
                        found |= s->ops[k] == op;
                if (!found && op->region == first->region && is_candidate(op) &&
                    are_alike(first, op) && !is_head(op))
                        s->ops[s->count++] = op;
        }
}

/* Puts the contractions in their order in the region, which their numbers have. */
static void sort(struct joined *s)
{
        for (int k = 1; k < s->count; k++)
                for (int i = k; i && s->ops[i]->number < s->ops[i - 1]->number; i--) {
                        struct op *later = s->ops[i - 1];
                        s->ops[i - 1] = s->ops[i];
                        s->ops[i] = later;
                }
}

/* ---- predicted time ---- */

static int64_t outputs_of(const struct joined *s, const struct value *v)
{
        return type_extent(v->type, s->axis);
}

/* Returns the contraction as it would be packed, with so many outputs. */
static struct packed_work work_of(const struct layout *l, const struct candidates *c,
                                  int64_t outputs)
{
        const struct op *op = c->all.ops[0];
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        const bool dot = op->code == OP_dot, few = !dot && type_extent(x, 1) < l->block;
        const int64_t channels = type_extent(x, dot ? x->rank - 1 : 1),
                      positions = type_elements(y) / type_extent(y, c->all.axis);
        const int64_t *strides = dot ? NULL : op_ints(op, "strides", NULL);
        struct packed_work work = { .spatial = dot ? 1 : x->rank - 2,
                                    .images = dot ? 1 : type_extent(x, 0),
                                    .groups = 1,
                                    .channels = channels,
                                    .blocks = few   ? channels
                                              : dot ? 1
                                                    : divide_up(channels, l->block),
                                    .inner = few   ? 1
                                             : dot ? channels
                                                   : l->block,
                                    .word = element_info[E_F32].bytes,
                                    .weight = element_info[E_F32].bytes,
                                    .outputs = outputs,
                                    .group = 1,
                                    .sum = E_F32,
                                    .multiply = c->multiply };
        struct schedule_product product = {
                .groups = 1, .positions = positions, .outputs = outputs, .channels = channels
        };
        work.step = work.inner * work.word * (dot ? 1 : strides[work.spatial - 1]);
        for (int d = 0; d < work.spatial; d++) {
                work.extent[d] = dot ? positions : type_extent(y, 2 + d);
                work.window[d] = dot ? 1 : type_extent(op_operand(op, 1)->type, 2 + d);
                const int64_t read = work.extent[d] * work.window[d],
                              of = dot ? positions : type_extent(x, 2 + d);
                work.read[d] = read < of ? read : of;
                product.channels *= work.window[d];
                work.skips |= !dot && strides[d] > 1 && product.channels == channels;
        }
        work.panel =
                multiply_panel(l->context->target, c->multiply, &product) * c->multiply->outputs;
        work.panels = divide_up(outputs, work.panel);
        return work;
}

static double cycles_of(const struct layout *l, struct candidates *c, int64_t outputs)
{
        for (int i = 0; i < c->known; i++)
                if (c->outputs[i] == outputs)
                        return c->cycles[i];
        const struct target *target = l->context->target;
        const bool own = target_lanes(target, E_F32) == c->multiply->outputs;
        const struct packed_work work = work_of(l, c, outputs);
        c->outputs[c->known] = outputs;
        c->cycles[c->known] = packed_least_cycles(&work, own ? target : target->wide);
        return c->cycles[c->known++];
}

/* Returns the cycles of a contraction by itself: in blocks or, of few outputs, in its own shape. */
static double cycles_apart(const struct layout *l, struct candidates *c, const struct op *op)
{
        const int64_t outputs = outputs_of(&c->all, op_result(op));
        const struct type *w = op_operand(op, 1)->type;
        const double cycles = cycles_of(l, c, outputs);
        if (op->code == OP_dot || outputs >= l->block ||
            type_extent(w, w->rank - 1) > VECTOR_JOINED_MAX)
                return cycles;
        return fmin(cycles, layout_plain_cost(op, l->context->target));
}

/* Does op read whole blocks of channels where they lie, or change their layout whatever it is? */
static bool reads_slices(const struct op *op)
{
        return op->code == OP_yield || op->code == OP_reduce_window ||
               (op->code == OP_convolve && op_int(op, "groups") == 1);
}

/* Returns the cycles to copy outputs from number `from` on out of the result of all, which would
 * otherwise be made where and as they are read; 0: they are read where they lie. */
static double cycles_of_copy(const struct layout *l, const struct joined *s, const struct value *v,
                             int64_t from)
{
        const int64_t outputs = outputs_of(s, v);
        bool copied = s->ops[0]->code == OP_dot;
        for (const struct use *u = v->uses; u; u = u->next) {
                const struct op *op = u->user;
                copied |= !reads_slices(op);
                if (op->code == OP_convolve || op->code == OP_reduce_window) {
                        int count;
                        const int64_t *pads = op_ints(op, "pads", &count);
                        for (int i = 0; i < count; i++)
                                copied |= pads[i] != 0;
                        copied |= from % l->block || outputs % l->block;
                }
        }
        return copied ? layout_copy_cost(2 * (double)type_bytes(v->type), l->context->target) : 0;
}

/* Returns what the contractions whose bits are in `set` save as one; *s, *steps: these, and how
 * many operations follow them alike. A negative number: nothing. */
static double gain_of(struct layout *l, struct candidates *c, unsigned set, struct joined *s,
                      int *steps)
{
        double apart = 0;
        int64_t outputs = 0;
        *s = c->all;
        s->count = 0;
        for (int k = 0; k < c->all.count; k++)
                if (set >> k & 1) {
                        s->ops[s->count] = c->all.ops[k];
                        s->ends[s->count++] = op_result(c->all.ops[k]);
                        apart += c->apart[k];
                        outputs += outputs_of(s, op_result(c->all.ops[k]));
                }
        double joined = cycles_of(l, c, outputs);
        const double most = apart * (double)l->context->limits.joined_percent / 100;
        if (s->count < 2 || !isfinite(apart) || joined > most)
                return -1;
        for (*steps = 0; joined_follow(s); ++*steps)
                joined_step(l, s);
        for (int64_t k = 0, from = 0; k < s->count; from += outputs_of(s, s->ends[k++]))
                joined += cycles_of_copy(l, s, s->ends[k], from);
        return joined > most ? -1 : fmax(apart - joined, 0);
}

/* ---- building ---- */

/* Gives each of the values its slice of all. */
static void put_slices(struct layout *l, const struct joined *s)
{
        int64_t from[RANK_MAX] = { 0 }, ones[RANK_MAX];
        for (int d = 0; d < RANK_MAX; d++)
                ones[d] = 1;
        for (int k = 0; k < s->count; k++) {
                const struct type *t = s->ends[k]->type;
                struct value *own = build_slice(&l->b, s->all, from, ones, t->dims);
                l->failed |= !own;
                if (own)
                        value_replace(s->ends[k], own);
                from[s->axis] += type_extent(t, s->axis);
        }
}

/* Builds one contraction in place of all of s, and slices of it. */
static void build(struct layout *l, struct joined *s, int steps)
{
        struct op *first = s->ops[0], *before = first->previous;
        for (int k = 0; k < s->count; k++)
                s->ends[k] = op_result(s->ops[k]);
        joined_build(l, s, steps);
        if (s->all)
                put_slices(l, s);
        l->failed |= !s->all;
        if (l->failed)
                return;
        for (struct op *op = before ? before->next : first->region->first; op != first;
             op = op->next)
                op->number = first->number;     /* They stand in its place. */
        joined_erase(s);
}

/* Joins contractions of the operand of `first`, the first one of them in the region. Returns
 * whether there were any to join. */
static bool join(struct layout *l, struct op *first)
{
        struct candidates c;
        struct joined s, best = { 0 };
        int steps, best_steps = 0;
        double most = -1;
        find_alike(&c, first);
        c.known = 0;
        c.multiply = multiply_in_vectors(l->context, E_F32, E_F32, 0);
        if (c.all.count < 2 || !c.multiply || c.multiply->channels > 1)
                return false;
        sort(&c.all);
        if (c.all.ops[0] != first)      /* They were looked at where the first one is. */
                return false;
        for (int k = 0; k < c.all.count; k++)
                c.apart[k] = cycles_apart(l, &c, c.all.ops[k]);
        for (unsigned set = 1; set < 1u << c.all.count; set++) {
                const double gain = gain_of(l, &c, set, &s, &steps);
                if (gain <= most)
                        continue;
                most = gain;
                best = s;
                best_steps = steps;
        }
        if (most >= 0)
                build(l, &best, best_steps);
        return most >= 0 && !l->failed;
}

int layout_join_outputs(struct layout *l, struct region *region)
{
        int joined = 0, number = 0;
        if (target_engine(l->context->target)->layout != LAYOUT_OF_LEAST_COST || l->in_rows ||
            !l->context->limits.joined_percent)
                return 0;
        for (struct op *op = region->first; op; op = op->next)
                op->number = number++;
        for (struct op *op = region->first, *before; op && !l->failed; op = op->next) {
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        joined += layout_join_outputs(l, op->regions[i]);
                before = op->previous;
                if (!is_candidate(op) || !join(l, op))
                        continue;
                joined++;
                op = before ? before : region->first;
                l->b = (struct builder){ .m = l->m, .diag = l->b.diag };
        }
        return joined;
}
