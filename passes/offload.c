/* SPDX-License-Identifier: MIT */
/* offload: what a kernel adds to the sums of a convolution becomes products, which is all that a machine can add bytes by.
 *
 *   fusion {                                            fusion {
 *     %2 = convolve_packed %0, @w                         %2 = convolve_packed %0, @w
 *     %3 = mul(cast(%1: i8) to=i32, 99)        ->         %3 = convolve_packed %1, @diagonals of 99
 *     %4 = add(%2, %3)                                    %4 = add(%2, %3)
 *
 * Exact to the bit. Only where the machine can then do all of the kernel (kernels/streams.h). */
#include <math.h>

#include "kernels/streams.h"
#include "passes/pass.h"

/* blocks of weights of x by itself, times a byte */
static struct value *diagonals(struct module *m, const struct type *x, int number, int lanes)
{
        const int64_t blocks = x->dims[1];
        dim_t dims[RANK_MAX] = { blocks };
        for (int d = 1; d < x->rank + 1; d++)
                dims[d] = 1;
        dims[x->rank + 1] = (int64_t)lanes * lanes;
        int8_t *numbers = arena_array(m->arena, (size_t)(blocks * lanes * lanes), 1);
        for (int64_t b = 0; b < blocks; b++)
                for (int i = 0; i < lanes; i++)
                        numbers[(b * lanes + i) * lanes + i] = (int8_t)number;
        return constant_dense(m, type_tensor(m, E_I8, x->rank + 2, dims), numbers, "factor");
}

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

static bool rewrite(struct op *mul, struct op *convolve, struct pass_context *context)
{
        double number;
        struct module *m = mul->region->function->module;
        const int lanes = target_accelerator(context->target)->block_in;
        struct value *x = multiplied(mul, &number), *old = op_result(mul);
        struct stream_work work;
        if (!x || old->type->element != E_I32 || x->type->rank != op_result(convolve)->type->rank ||
            x->type->dims[x->type->rank - 1] != lanes)
                return false;
        struct builder b = builder_before(mul, context->diag);
        struct attr *attrs = attrs_new(m, OP_convolve_packed);
        attr_set(attrs, OP_convolve_packed, "groups", x->type->dims[1]);
        attr_set(attrs, OP_convolve_packed, "channels", lanes);
        attr_set(attrs, OP_convolve_packed, "outputs", lanes);
        attr_set(attrs, OP_convolve_packed, "block", lanes);
        attr_set(attrs, OP_convolve_packed, "limit", (int64_t)fabs(number));
        attr_set(attrs, OP_convolve_packed, "accumulator", E_I32);
        struct value *y = value_build(&b, OP_convolve_packed, (struct value *[]){ x, diagonals(m, x->type, (int)number, lanes) }, 2,
                                      attrs, NULL);
        if (!y)
                return false;
        value_replace(old, y);
        if (stream_work_of(convolve, context->target, &work))
                return true;
        value_replace(y, old);
        op_erase(y->op);
        return false;
}

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

int pass_offload(struct function *f, struct pass_context *context)
{
        int count = 0;
        if (!target_accelerator(context->target))
                return 0;
        for (struct op *kernel = region_walk(&f->body, NULL); kernel && !context->diag->code; kernel = region_walk(&f->body, kernel)) {
                if (kernel->code != OP_fusion)
                        continue;
                struct op *convolve = NULL;
                const int before = count;
                for (struct op *op = kernel->regions[0]->first; op; op = op->next)
                        if (!convolve && op->code == OP_convolve_packed)
                                convolve = op;
                for (struct op *op = kernel->regions[0]->first; op && convolve; op = op->next)
                        count += op->code == OP_mul && rewrite(op, convolve, context);
                if (count > before)
                        erase_unused(kernel->regions[0]);
        }
        return context->diag->code ? -1 : count;
}
