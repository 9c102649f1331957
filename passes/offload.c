/* SPDX-License-Identifier: MIT */
/* offload: what a kernel adds to the sums of a convolution becomes products: all that a machine can add bytes by, and the cheapest
 * that it can add numbers of its outputs by.
 *
 *   fusion {                                            fusion {
 *     %2 = convolve_packed %0, @w                         %2 = convolve_packed %0, @w
 *     %3 = mul(cast(%1: i8) to=i32, 99)                   %3 = convolve_packed %1, broadcast(@diagonal of 99)
 *     %4 = add(%2, %3)                         ->         %4 = add(%2, %3)
 *     %5 = add(%4, broadcast(@bias))                      %5 = convolve_packed broadcast(@[1, 127, 127, ..]), @pieces of bias
 *                                                         %6 = add(%4, %5)
 *
 * A number is pieces of 8 bits: r + 127 * (q1 + q2 + ..), as many as there are lanes. Blocks of weights that are all equal (averages)
 * are one. A pool joins the kernel that makes what it reads, or becomes products by 1 and a pool of these. Exact to the bit. Only where the machine can then do all of the kernel (kernels/streams.h). */
#include <math.h>

#include "kernels/streams.h"
#include "passes/fuse/join.h"

enum { PIECE_MOST = 127, REWRITES = 32 };

struct offloading {
        struct module *m;
        struct pass_context *context;
        struct op *convolve;            /* whose sums they are */
        int lanes;
        struct rewrite { struct op *op; int at; struct value *old; } rewrites[REWRITES];
        int count;
};

static bool replace_operand(struct offloading *o, struct op *op, int at, struct value *by)
{
        if (!by)
                return false;
        o->rewrites[o->count++] = (struct rewrite){ op, at, op_operand(op, at) };
        op_set_operand(op, at, by);
        return true;
}

/* ---- products ---- */

/* one block for all of x by itself: [blocks, 1.., lanes * lanes] */
static struct value *spread_block(struct builder *b, const struct type *like, struct value *block)
{
        return build_broadcast(b, block, like, (int64_t[]){ like->rank - 1 });
}

static struct value *diagonal(struct offloading *o, int number)
{
        const dim_t size = (dim_t)o->lanes * o->lanes;
        int8_t *numbers = arena_array(o->m->arena, (size_t)size, 1);
        for (int i = 0; i < o->lanes; i++)
                numbers[i * o->lanes + i] = (int8_t)number;
        return constant_dense(o->m, type_tensor(o->m, E_I8, 1, &size), numbers, "factor");
}

static const struct type *weights_type(struct offloading *o, const struct type *x)
{
        dim_t dims[RANK_MAX] = { x->dims[1] };
        for (int d = 1; d < x->rank + 1; d++)
                dims[d] = 1;
        dims[x->rank + 1] = (int64_t)o->lanes * o->lanes;
        return type_tensor(o->m, E_I8, x->rank + 2, dims);
}

/* each block of x by its own of w */
static struct value *products(struct offloading *o, struct builder *b, struct value *x, struct value *w, int limit)
{
        struct attr *attrs = attrs_new(o->m, OP_convolve_packed);
        attr_set(attrs, OP_convolve_packed, "groups", x->type->dims[1]);
        attr_set(attrs, OP_convolve_packed, "channels", o->lanes);
        attr_set(attrs, OP_convolve_packed, "outputs", o->lanes);
        attr_set(attrs, OP_convolve_packed, "block", o->lanes);
        attr_set(attrs, OP_convolve_packed, "limit", limit);
        attr_set(attrs, OP_convolve_packed, "accumulator", E_I32);
        return x && w ? value_build(b, OP_convolve_packed, (struct value *[]){ x, w }, 2, attrs, NULL) : NULL;
}

/* ---- bytes ---- */

/* bytes that mul multiplies by a number that a byte holds; or NULL */
static struct value *multiplied(const struct op *mul, double *number)
{
        for (int i = 0; i < 2; i++) {
                const struct value *x = op_operand(mul, i);
                if (op_is(x, OP_cast) && value_is_splat(op_operand(mul, 1 - i), number) && rint(*number) == *number &&
                    fabs(*number) <= INT8_MAX && op_operand(x->op, 0)->type->element == E_I8)
                        return op_operand(x->op, 0);
        }
        return NULL;
}

static bool join_bytes(struct offloading *o, struct op *mul)
{
        double number;
        struct value *x = multiplied(mul, &number), *old = op_result(mul);
        if (!x || !value_has_one_use(old) || old->type->element != E_I32 || x->type->rank != op_result(o->convolve)->type->rank ||
            x->type->dims[x->type->rank - 1] != o->lanes)
                return false;
        struct builder b = builder_before(mul, o->context->diag);
        struct value *block = diagonal(o, (int)number);
        struct op *user = old->uses->user;
        return replace_operand(o, user, op_operand(user, 0) == old ? 0 : 1,
                               products(o, &b, x, spread_block(&b, weights_type(o, x->type), block), (int)fabs(number)));
}

/* ---- numbers ---- */

/* The numbers that op adds to the sums, its operand *at; NULL: it is something else. */
static const struct constant *added(const struct op *op, int *at, bool *splat)
{
        for (*at = 1; *at >= 0; --*at) {
                const struct value *v = op_operand(op, *at);
                *splat = value_is_constant(v) && value_is_splat(v, NULL);
                if (*splat)
                        return v->constant;
                const struct value *x = op_is(v, OP_broadcast) ? op_operand(v->op, 0) : v;
                if (value_is_constant(x) && x->constant->kind == CONSTANT_DENSE && x->type->element == E_I32)
                        return x->constant;
        }
        return NULL;
}

/* pieces of `number`, for weights of one output; what is left of it */
static int64_t pieces_of(int64_t number, int lanes, int8_t *pieces)
{
        int64_t rest = number % PIECE_MOST, times = number / PIECE_MOST;
        pieces[0] = (int8_t)rest;
        for (int k = 1; k < lanes; k++) {
                const int64_t some = times > PIECE_MOST ? PIECE_MOST : times < -PIECE_MOST ? -PIECE_MOST : times;
                pieces[k] = (int8_t)some;
                times -= some;
        }
        return times * PIECE_MOST;
}

/* an element for all positions, by pieces of numbers for each output, of which they are the less */
static struct value *fixed_products(struct offloading *o, struct builder *b, const struct type *y, int64_t *numbers)
{
        const int64_t outputs = y->dims[1] * o->lanes, size = (int64_t)o->lanes * o->lanes;
        int8_t *pieces = arena_array(o->m->arena, (size_t)(y->dims[1] * size), 1), *element = arena_array(o->m->arena, (size_t)o->lanes, 1);
        for (int64_t i = 0; i < outputs; i++)
                numbers[i] = pieces_of(numbers[i], o->lanes, pieces + i * o->lanes);
        for (int k = 0; k < o->lanes; k++)
                element[k] = k ? PIECE_MOST : 1;
        const dim_t lanes = o->lanes;
        struct value *one = constant_dense(o->m, type_tensor(o->m, E_I8, 1, &lanes), element, "one");
        struct value *x = build_broadcast(b, one, type_with_element(o->m, y, E_I8), (int64_t[]){ y->rank - 1 });
        return products(o, b, x, constant_dense(o->m, weights_type(o, y), pieces, "bias"), PIECE_MOST);
}

/* How many such products make all numbers. */
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
        enum { IMMEDIATE = 32767, TENSOR_MOST = 2, SPLAT_MOST = 6 };  /* what an operation adds in a cycle; and in two */
        int at;
        bool splat;
        const struct constant *c = added(op, &at, &splat);
        const struct type *y = op_result(op)->type;
        const int64_t outputs = y->dims[1] * o->lanes;
        if (!c || y->element != E_I32 || y->rank != op_result(o->convolve)->type->rank || y->dims[y->rank - 1] != o->lanes ||
            (!splat && type_elements(c->value.type) != outputs))
                return false;
        int64_t *numbers = arena_array(o->m->arena, (size_t)outputs, sizeof *numbers);
        for (int64_t i = 0; i < outputs; i++)
                numbers[i] = constant_element(c, splat ? 0 : i).i;
        const int64_t times = products_of(numbers, outputs, o->lanes);
        if (times > (splat ? SPLAT_MOST : TENSOR_MOST) || (splat && numbers[0] <= IMMEDIATE && numbers[0] >= -IMMEDIATE) ||
            o->count + times > REWRITES)
                return false;
        struct builder b = builder_before(op, o->context->diag);
        for (int64_t k = 1; k < times; k++) {
                struct value *sums = op_operand(op, 1 - at), *more = fixed_products(o, &b, y, numbers);
                if (!more || !replace_operand(o, op, 1 - at, build_binary(&b, OP_add, sums, more)))
                        return false;
        }
        return replace_operand(o, op, at, fixed_products(o, &b, y, numbers));
}

/* weights of which all blocks are equal are one */
static bool join_blocks(struct offloading *o)
{
        struct value *w = op_operand(o->convolve, 1);
        const dim_t size = (dim_t)o->lanes * o->lanes;
        if (!value_is_constant(w) || w->constant->kind != CONSTANT_DENSE || w->type->element != E_I8 ||
            w->type->dims[w->type->rank - 1] != size || type_elements(w->type) == size)
                return false;
        const int8_t *numbers = w->constant->data;
        for (int64_t k = size; k < type_elements(w->type); k++)
                if (numbers[k] != numbers[k % size])
                        return false;
        struct builder b = builder_before(o->convolve, o->context->diag);
        struct value *block = constant_dense(o->m, type_tensor(o->m, E_I8, 1, &size), arena_copy(o->m->arena, numbers, (size_t)size), "block");
        return replace_operand(o, o->convolve, 1, spread_block(&b, w->type, block));
}

/* ---- kernels ---- */

/* operations that nothing reads any more, with what they alone read */
static void erase_unused(struct region *region)
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

static int offload_kernel(struct region *region, struct op *convolve, struct pass_context *context)
{
        struct module *m = region->function->module;
        struct offloading o = { .m = m, .context = context, .convolve = convolve, .lanes = target_accelerator(context->target)->block_in };
        struct stream_work work;
        join_blocks(&o);
        for (struct op *op = convolve->next, *next; op && o.count < REWRITES && !context->diag->code; op = next) {
                next = op->next;
                if (op->code == OP_mul)
                        join_bytes(&o, op);
                else if (op->code == OP_add)
                        join_numbers(&o, op);
        }
        int count = o.count;
        if (count && !context->diag->code && !stream_work_of(convolve, context->target, &work)) {
                while (o.count--)
                        op_set_operand(o.rewrites[o.count].op, o.rewrites[o.count].at, o.rewrites[o.count].old);
                count = 0;
        }
        return count;
}

static struct op *convolve_of(const struct op *kernel)
{
        struct op *op = kernel->code == OP_fusion ? kernel->regions[0]->first : NULL;
        while (op && op->code != OP_convolve_packed)
                op = op->next;
        return op;
}

static bool fits(const struct op *kernel, const struct pass_context *context)
{
        const struct op *convolve = convolve_of(kernel);
        const struct machine *m = target_accelerator(context->target);
        struct stream_work work;
        struct stream_cost cost;
        struct schedule s = schedule_preset();
        return convolve && stream_work_of(convolve, context->target, &work) &&
               (stream_tiles(&work, m, 2, &s, &cost) || stream_tiles(&work, m, 1, &s, &cost));
}

/* ---- element by element ---- */

/* A kernel of bytes that are multiplied by numbers, added up and bounded is products, too: those of the first number. */
static int offload_elements(struct op *kernel, struct pass_context *context)
{
        const int lanes = target_accelerator(context->target)->block_in;
        struct region *region = kernel->code == OP_fusion && kernel->result_count == 1 ? kernel->regions[0] : NULL;
        struct stream_work work;
        double number;
        for (struct op *op = region ? region->first : NULL; op; op = op->next)
                if (op_info[op->code].traits & TRAIT_CONTRACTION || op->code == OP_reduce || op->code == OP_reduce_window)
                        return 0;
        for (struct op *op = region ? region->first : NULL; op; op = op->next) {
                struct value *x = op->code == OP_mul ? multiplied(op, &number) : NULL, *old = x ? op_result(op) : NULL;
                if (!x || old->type->element != E_I32 || x->type->rank < 4 || x->type->dims[0] != 1 ||
                    x->type->dims[x->type->rank - 1] != lanes)
                        continue;
                struct offloading o = { .m = region->function->module, .context = context, .lanes = lanes };
                struct builder b = builder_before(op, context->diag);
                struct value *w = spread_block(&b, weights_type(&o, x->type), diagonal(&o, (int)number)),
                             *sums = products(&o, &b, x, w, (int)fabs(number));
                if (!sums)
                        return 0;
                value_replace(old, sums);
                const int count = offload_kernel(region, sums->op, context);
                if (stream_work_of(sums->op, context->target, &work) && fits(kernel, context))
                        return erase_unused(region), count + 1;
                value_replace(sums, old);
                erase_unused(region);
                return 0;
        }
        return 0;
}

/* ---- what follows on bytes ---- */

/* the bytes that sums become on their way through the kernel, where more is made of them; or NULL */
static struct op *bytes_of(const struct op *convolve)
{
        const struct value *at = op_result(convolve);
        while (value_has_one_use(at) && at->uses->user->code != OP_yield && at->uses->user->result_count == 1) {
                struct op *op = at->uses->user;
                at = op_result(op);
                if (op->code != OP_cast || at->type->element != E_I8)
                        continue;
                const struct op *next = value_has_one_use(at) ? at->uses->user : NULL;
                return next && (next->code == OP_yield || next->code == OP_pad) ? NULL : op;
        }
        return NULL;
}

/* v, and what it is made of in the region, once more */
static struct value *copy_value(struct builder *b, const struct region *region, struct value *v)
{
        if (v->kind != VALUE_RESULT || v->op->region != region)
                return v;
        for (int i = 0; i < v->op->operand_count && !v->scratch; i++)
                if (op_operand(v->op, i))
                        copy_value(b, region, op_operand(v->op, i));
        if (!v->scratch)
                v->scratch = op_result(op_clone(b, v->op));
        return v->scratch;
}

/* A kernel in front of this one of what `bytes` are made of. */
static struct op *cut_off(struct op *kernel, struct op *bytes, struct pass_context *context)
{
        struct region *region = kernel->regions[0];
        struct builder b = builder_before(kernel, context->diag);
        b.location = bytes->location;
        struct op *first = op_build_results(&b, OP_fusion, NULL, 0, NULL, &op_result(bytes)->type, 1, 1);
        if (!first)
                return NULL;
        struct builder inside = { .m = b.m, .region = op_add_region(first, 0), .diag = context->diag };
        struct value *result = copy_value(&inside, region, op_result(bytes));
        build_yield(&inside, &result, 1);
        for (struct op *op = region->first; op; op = op->next)
                for (int k = 0; k < op->result_count; k++)
                        op->results[k].scratch = NULL;
        return first;
}

/* Where that is for the machine, this one reads its result. */
static void read_result(struct op *kernel, struct op *bytes, struct op *first)
{
        value_replace(op_result(bytes), op_result(first));
        erase_unused(kernel->regions[0]);
}

/* A kernel that goes on where its sums are bytes becomes two, of which the machine can do the first. */
static int split_kernel(struct op *kernel, struct op *convolve, struct pass_context *context)
{
        struct op *bytes = bytes_of(convolve);
        struct stream_work work;
        struct op *first = bytes && !stream_work_of(convolve, context->target, &work) ? cut_off(kernel, bytes, context) : NULL;
        if (!first)
                return 0;
        int count = offload_kernel(first->regions[0], convolve_of(first), context);
        erase_unused(first->regions[0]);
        if (!stream_work_of(convolve_of(first), context->target, &work)) {
                op_erase(first);
                return 0;
        }
        read_result(kernel, bytes, first);
        return count + 1 + offload_elements(kernel, context);
}

/* Which operations of its region, by their number there, are made of what convolve makes. */
static bool *followers(struct arena *arena, struct op *convolve)
{
        int count = 0;
        for (struct op *op = convolve->region->first; op; op = op->next)
                op->number = count++;
        bool *follow = arena_array(arena, (size_t)count, sizeof *follow);
        for (const struct op *op = convolve->region->first; op; op = op->next) {
                follow[op->number] = op == convolve;
                for (int i = 0; i < op->operand_count; i++) {
                        const struct value *v = op_operand(op, i);
                        if (v && v->kind == VALUE_RESULT && v->op->region == convolve->region)
                                follow[op->number] |= follow[v->op->number];
                }
        }
        return follow;
}

/* Bytes that come to the sums and are rounded to bytes on the way: a kernel of their own. */
static int split_branches(struct op *kernel, struct op *convolve, struct pass_context *context)
{
        int count = 0;
        struct arena *arena = arena_new();
        const bool *follow = followers(arena, convolve);
        for (struct op *op = kernel->regions[0]->first, *next; op && !context->diag->code; op = next) {
                next = op->next;
                if (op->code != OP_cast || op_result(op)->type->element != E_I8 || op_operand(op, 0)->type->element != E_I32 ||
                    follow[op->number])
                        continue;
                struct op *first = cut_off(kernel, op, context);
                if (first && !offload_elements(first, context)) {
                        op_erase(first);
                } else if (first) {
                        value_replace(op_result(op), op_result(first));
                        count++;
                }
        }
        arena_free(arena);
        erase_unused(kernel->regions[0]);
        return count;
}

/* ---- pools ---- */

/* the pool of bytes in blocks that kernel is, but for a pad around it; or NULL */
static struct op *pool_of(struct op *kernel, int lanes)
{
        struct op *op = kernel->code == OP_fusion ? kernel->regions[0]->first : kernel;
        const struct type *x = op->code == OP_reduce_window ? op_operand(op, 0)->type : NULL;
        return x && x->element == E_I8 && op_int(op, "kind") == REDUCE_max && x->rank >= 4 && x->dims[x->rank - 1] == lanes &&
                               kernel->result_count == 1 && !convolve_of(kernel)
                       ? op
                       : NULL;
}

/* one kernel of several, where the machine can do that */
static bool join_kernels(struct op *const *kernels, int count, struct pass_context *context)
{
        struct op *last = kernels[count - 1], *joined = kernel_join(kernels, count, context->diag);
        if (!joined || !fits(joined, context)) {
                if (joined)
                        op_erase(joined);
                return false;
        }
        value_replace(op_result(last), op_result(joined));
        while (count--)
                op_erase(kernels[count]);
        return true;
}

/* A pool is part of the kernel that makes what it reads, or of one that hands its bytes on: products by 1. */
static bool offload_pool(struct op *kernel, struct pass_context *context)
{
        const int lanes = target_accelerator(context->target)->block_in;
        struct op *pool = pool_of(kernel, lanes);
        if (!pool)
                return false;
        struct value *x = op_operand(pool, 0);
        struct op *from = x->kind == VALUE_RESULT && x->op->region == kernel->region ? x->op : NULL;
        if (from && value_has_one_use(x) && convolve_of(from) && join_kernels((struct op *[]){ from, kernel }, 2, context))
                return true;
        struct builder b = builder_before(kernel, context->diag);
        struct offloading o = { .m = b.m, .context = context, .lanes = lanes };
        struct value *block = diagonal(&o, 1), *w = spread_block(&b, weights_type(&o, x->type), block),
                     *sums = products(&o, &b, x, w, 1), *bytes = sums ? build_cast(&b, sums, E_I8) : NULL;
        if (!bytes)
                return false;
        op_set_operand(pool, 0, bytes);
        if (join_kernels((struct op *[]){ w->op, sums->op, bytes->op, kernel }, 4, context))
                return true;
        op_set_operand(pool, 0, x);
        op_erase(bytes->op);
        op_erase(sums->op);
        op_erase(w->op);
        return false;
}

static int offload_pools(struct region *region, struct pass_context *context)
{
        int count = 0;
        for (struct op *op = region->first, *next; op && !context->diag->code; op = next) {
                next = op->next;
                for (int i = 0; op->code != OP_fusion && i < op->region_count; i++)
                        count += offload_pools(op->regions[i], context);
                count += offload_pool(op, context);
        }
        return count;
}

int pass_offload(struct function *f, struct pass_context *context)
{
        int count = 0;
        if (!target_accelerator(context->target))
                return 0;
        for (struct op *kernel = region_walk(&f->body, NULL); kernel && !context->diag->code; kernel = region_walk(&f->body, kernel)) {
                struct op *convolve = convolve_of(kernel);
                if (!convolve) {
                        count += offload_elements(kernel, context);
                        continue;
                }
                count += split_branches(kernel, convolve, context);
                count += offload_kernel(kernel->regions[0], convolve, context);
                erase_unused(kernel->regions[0]);
                count += split_kernel(kernel, convolve, context);
        }
        count += offload_pools(&f->body, context);
        return context->diag->code ? -1 : count;
}
