/* SPDX-License-Identifier: MIT */
/* Finds the operations that compute each image by itself, by their relations. */
#include <string.h>

#include "ir/tensor/relation.h"
#include "passes/microbatch/microbatch.h"

static bool has_images(const struct type *t, int64_t images)
{
        return type_is_static(t) && t->rank && !type_is_empty(t) &&
               !(type_extent(t, 0) % images);
}

/* Is dimension 0 of the operand that of the result, and no other dimension of it? Which elements of
 * an image are needed along the others may be known at run time: other operands say it, whose
 * images are asked for themselves. */
static bool is_along_images(const struct relation *r, const struct type *x, const struct type *y)
{
        if (!along_is(&r->along[0], 0) || !dim_equal(x->dims[0], y->dims[0]))
                return false;
        for (int k = 1; k < x->rank; k++)
                if (r->along[k].kind == ALONG_AFFINE && r->along[k].from == 0)
                        return false;
        return true;
}

/* Does the operand not depend on dimension 0 of the result? A table's positions are another
 * operand's matter. */
static bool is_shared(const struct relation *r, const struct type *x)
{
        for (int k = 0; k < x->rank; k++) {
                const struct along *a = &r->along[k];
                if (a->kind == ALONG_SOME || (a->kind == ALONG_AFFINE && a->from == 0))
                        return false;
        }
        return true;
}

enum operand_share microbatch_share(const struct op *op, int operand, int64_t images)
{
        struct relation r;
        const struct type *x = op_operand(op, operand)->type, *y = op_result(op)->type;
        const struct op_info *info = &op_info[op->code];
        if (operand < info->operand_count && info->operands[operand].kind == OPERAND_SHAPE)
                return value_is_constant(op_operand(op, operand)) ? OPERAND_SHARED : OPERAND_MIXED;
        if (!relation_of(op, operand, &r))
                return OPERAND_MIXED;
        if (r.in_order)
                return has_images(x, images) ? OPERAND_DIVIDED : OPERAND_MIXED;
        if (x->rank && is_along_images(&r, x, y))
                return OPERAND_DIVIDED;
        return is_shared(&r, x) ? OPERAND_SHARED : OPERAND_MIXED;
}

bool microbatch_divides(const struct op *op, int64_t images)
{
        /* Positions that arg_window makes are of all images. */
        if (!(op_info[op->code].traits & TRAIT_PURE) || op->region_count || op->schedule ||
            op->code == OP_arg_window || !op_is_static(op))
                return false;
        for (int i = 0; i < op->result_count; i++)
                if (!has_images(op->results[i].type, images))
                        return false;
        for (int i = 0; i < op->operand_count; i++)
                if (op_operand(op, i) && microbatch_share(op, i, images) == OPERAND_MIXED)
                        return false;
        return true;
}

bool microbatch_is_batched(const struct op *op)
{
        int batch = 0;
        if (op->code == OP_dot)
                op_ints(op, "batch_a", &batch);
        return batch > 0;
}

/* Has a dense constant the same elements for each image? */
static bool is_equal_for_all(const struct constant *c, int64_t images)
{
        const char *data = constant_data(c);
        const size_t bytes = (size_t)(type_bytes(c->value.type) / images);
        for (int64_t n = 1; n < images; n++)
                if (memcmp(data, data + (size_t)n * bytes, bytes) != 0)
                        return false;
        return true;
}

bool microbatch_repeats(const struct value *v, int64_t images)
{
        if (!has_images(v->type, images))
                return false;
        if (v->kind == VALUE_CONSTANT)
                return v->constant->kind == CONSTANT_SPLAT || is_equal_for_all(v->constant, images);
        if (op_is(v, OP_iota))
                return op_int(v->op, "axis") != 0;
        return op_is(v, OP_broadcast) && microbatch_share(v->op, 0, images) == OPERAND_SHARED;
}

const struct type *microbatch_type(struct module *m, const struct type *t, int64_t images,
                                   int64_t some)
{
        dim_t dims[RANK_MAX];
        memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
        dims[0] = dim_of(type_extent(t, 0) / images * some);
        return type_tensor(m, t->element, t->rank, dims);
}

struct value *microbatch_repeat(struct builder *b, const struct value *v, int64_t images,
                                int64_t some)
{
        const struct type *type = microbatch_type(b->m, v->type, images, some);
        const int64_t starts[RANK_MAX] = { 0 };
        int64_t steps[RANK_MAX];
        for (int d = 0; d < type->rank; d++)
                steps[d] = 1;
        if (v->kind == VALUE_CONSTANT)
                return v->constant->kind == CONSTANT_SPLAT
                               ? constant_splat(b->m, type, constant_data(v->constant))
                               : constant_sliced(b->m, v->constant, starts, steps, type->dims);
        struct value *operand = v->op->operand_count ? op_operand(v->op, 0) : NULL;
        return value_build(b, v->op->code, &operand, v->op->operand_count, v->op->attrs, type);
}
