/* SPDX-License-Identifier: MIT */
/* The build_ functions are short for value_build with the row's operands and attributes. */
#include "ir/tensor/tensor.h"

#include <string.h>

struct value *build_unary(struct builder *b, enum opcode code, struct value *x)
{
        return x ? value_build(b, code, &x, 1, NULL, NULL) : NULL;
}

struct value *build_binary(struct builder *b, enum opcode code, struct value *x, struct value *y)
{
        return x && y ? value_build(b, code, (struct value *[]){ x, y }, 2, NULL, NULL) : NULL;
}

struct value *build_select(struct builder *b, struct value *c, struct value *x, struct value *y)
{
        return c && x && y ? value_build(b, OP_select, (struct value *[]){ c, x, y }, 3, NULL, NULL)
                           : NULL;
}

struct value *build_cast(struct builder *b, struct value *x, enum element to)
{
        if (!x || (x->type->kind == TYPE_TENSOR && x->type->element == to))
                return x;
        struct attr *attrs = attrs_new(b->m, OP_cast);
        attr_set(attrs, OP_cast, "to", to);
        return value_build(b, OP_cast, &x, 1, attrs, NULL);
}

struct value *build_reshape(struct builder *b, struct value *x, int rank, const dim_t *dims)
{
        if (!x)
                return NULL;
        const struct type *type = type_tensor(b->m, x->type->element, rank, dims);
        return type == x->type ? x : value_build(b, OP_reshape, &x, 1, NULL, type);
}

static bool is_identity(const int64_t *order, int count)
{
        for (int i = 0; i < count; i++)
                if (order[i] != i)
                        return false;
        return true;
}

struct value *build_transpose(struct builder *b, struct value *x, const int64_t *perm)
{
        if (!x || is_identity(perm, x->type->rank))
                return x;
        struct attr *attrs = attrs_new(b->m, OP_transpose);
        attr_set_ints(b->m, attrs, OP_transpose, "perm", perm, x->type->rank);
        return value_build(b, OP_transpose, &x, 1, attrs, NULL);
}

struct value *build_broadcast(struct builder *b, struct value *x, const struct type *to,
                              const int64_t *dims)
{
        if (!x || (x->type == to && is_identity(dims, to->rank)))
                return x;
        struct attr *attrs = attrs_new(b->m, OP_broadcast);
        attr_set_ints(b->m, attrs, OP_broadcast, "dims", dims, x->type->rank);
        return value_build(b, OP_broadcast, &x, 1, attrs, to);
}

struct value *build_broadcast_numpy(struct builder *b, struct value *x, int rank, const dim_t *dims)
{
        if (!x)
                return NULL;
        int64_t onto[RANK_MAX];
        for (int i = 0; i < x->type->rank; i++)
                onto[i] = rank - x->type->rank + i;
        return build_broadcast(b, x, type_tensor(b->m, x->type->element, rank, dims), onto);
}

struct value *build_slice(struct builder *b, struct value *x, const int64_t *starts,
                          const int64_t *steps, const dim_t *sizes)
{
        if (!x)
                return NULL;
        int rank = x->type->rank;
        const struct type *type = type_tensor(b->m, x->type->element, rank, sizes);
        bool whole = type == x->type;
        for (int i = 0; i < rank; i++)
                whole = whole && starts[i] == 0 && steps[i] == 1;
        if (whole)
                return x;
        struct value *operands[] = { x, constant_ints(b->m, starts, rank),
                                     constant_ints(b->m, steps, rank) };
        return value_build(b, OP_slice, operands, 3, NULL, type);
}

struct value *build_concat(struct builder *b, struct value *const *xs, int count, int axis)
{
        for (int i = 0; i < count; i++)
                if (!xs[i])
                        return NULL;
        if (count == 1)
                return xs[0];
        struct attr *attrs = attrs_new(b->m, OP_concat);
        attr_set(attrs, OP_concat, "axis", axis);
        return value_build(b, OP_concat, xs, count, attrs, NULL);
}

struct value *build_reduce(struct builder *b, enum reducer kind, struct value *x,
                           const int64_t *axes, int count)
{
        if (!x || !count)
                return x;
        struct attr *attrs = attrs_new(b->m, OP_reduce);
        attr_set(attrs, OP_reduce, "kind", kind);
        return value_build(b, OP_reduce, (struct value *[]){ x, constant_ints(b->m, axes, count) },
                           2, attrs, NULL);
}

struct value *build_gather(struct builder *b, struct value *x, struct value *indices, int axis)
{
        if (!x || !indices)
                return NULL;
        struct attr *attrs = attrs_new(b->m, OP_gather);
        attr_set(attrs, OP_gather, "axis", axis);
        return value_build(b, OP_gather, (struct value *[]){ x, indices }, 2, attrs, NULL);
}

struct value *build_extent(struct builder *b, struct value *x, int axis)
{
        if (!x)
                return NULL;
        if (dim_is_static(x->type->dims[axis])) {
                int64_t extent = type_extent(x->type, axis);
                return constant_splat(b->m, type_scalar(b->m, E_I64), &extent);
        }
        struct attr *attrs = attrs_new(b->m, OP_extent);
        attr_set(attrs, OP_extent, "axis", axis);
        return value_build(b, OP_extent, &x, 1, attrs, NULL);
}

struct value *build_counted(struct builder *b, struct value *n, dim_t symbol)
{
        return n ? value_build(b, OP_counted, &n, 1, NULL, type_tensor(b->m, E_I64, 1, &symbol))
                 : NULL;
}

struct value *build_iota(struct builder *b, const struct type *type, int axis)
{
        struct attr *attrs = attrs_new(b->m, OP_iota);
        attr_set(attrs, OP_iota, "axis", axis);
        return value_build(b, OP_iota, NULL, 0, attrs, type);
}

struct value *build_scalar(struct builder *b, enum element e, double number)
{
        return constant_number(b->m, type_scalar(b->m, e), number);
}

struct value *build_like(struct builder *b, struct value *like, double number)
{
        return like ? constant_number(b->m, like->type, number) : NULL;
}

struct op *build_yield(struct builder *b, struct value *const *values, int count)
{
        for (int i = 0; i < count; i++)
                if (!values[i])
                        return NULL;
        struct op *op = op_build(b, OP_yield, values, count, NULL, NULL, 0);
        if (!op || op->region->owner)
                return op;
        struct function *f = op->region->function;
        f->output_count = count;
        if (f->output_ports)
                return op;
        f->output_ports = arena_array(b->m->arena, (size_t)count, sizeof *f->output_ports);
        for (int i = 0; i < count; i++)
                f->output_ports[i].name =
                        i ? arena_printf(b->m->arena, "output_%d", i + 1) : "output";
        return op;
}
