/* SPDX-License-Identifier: MIT */
/* This file has the shorthands over the tensor builder that all families of operators are made
 * with. */
#include "front/compose/compose.h"

#include <stdarg.h>

#include "base/size.h"

/* ---- errors ---- */

void compose_begin(struct compose *c, struct builder *b, struct module *m, struct arena *arena,
                   struct pass_context *context,
                   void (*error)(void *caller, enum exit_code code, const char *text),
                   void *caller)
{
        *b = (struct builder){
                .m = m, .diag = context->diag, .fold = fold_op, .fold_context = context
        };
        *c = (struct compose){ .m = m,
                               .b = b,
                               .arena = arena,
                               .limits = &context->limits,
                               .exact = context->exact,
                               .error = error,
                               .caller = caller };
}

bool compose_invalid(struct compose *c, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        c->error(c->caller, EXIT_INVALID, arena_vprintf(c->arena, format, list));
        va_end(list);
        return false;
}

bool compose_unsupported(struct compose *c, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        c->error(c->caller, EXIT_UNSUPPORTED, arena_vprintf(c->arena, format, list));
        va_end(list);
        return false;
}

/* ---- types of results ---- */

const struct type *compose_type_static(struct compose *c, enum element e, int rank,
                                       const int64_t *extents)
{
        int64_t count, bytes;

        if (rank > RANK_MAX) {
                compose_unsupported(c, "a result of rank %d, at most %d are supported", rank,
                                    RANK_MAX);
                return NULL;
        }
        for (int i = 0; i < rank; i++) {
                if (extents[i] < 0) {
                        compose_invalid(c, "a result of extent %lld", (long long)extents[i]);
                        return NULL;
                }
        }
        if (!size_elements(extents, rank, &count) ||
            !int_mul(count, element_info[e].bytes, &bytes) || bytes > c->limits->tensor_bytes) {
                compose_invalid(c,
                                "bytes of a result: more than the limit of %lld (" DIAG_HINT(
                                        "raise it with --limit tensor_bytes=N") ")",
                                (long long)c->limits->tensor_bytes);
                return NULL;
        }
        return type_static(c->m, e, rank, extents);
}

const struct type *compose_type(struct compose *c, enum element e, int rank, const dim_t *dims)
{
        int64_t bounds[RANK_MAX];
        for (int i = 0; i < rank && i < RANK_MAX; i++)
                bounds[i] = dim_equal(dims[i], DIM_NONE) ? INT64_MAX : dim_bound(c->m, dims[i]);
        return compose_type_static(c, e, rank, bounds) ? type_tensor(c->m, e, rank, dims) : NULL;
}

bool compose_elements(struct compose *c, int rank, const int64_t *extents, int64_t *count)
{
        const struct type *t = compose_type_static(c, E_U8, rank, extents);

        *count = t ? type_elements(t) : 0;
        return t != NULL;
}

bool compose_broadcast(struct compose *c, struct value **values, int count)
{
        dim_t dims[RANK_MAX];
        int rank = 0;

        for (int i = 0; i < count; i++) {
                if (!values[i])
                        return false;
                if (value_rank(values[i]) > rank)
                        rank = value_rank(values[i]);
        }
        for (int d = 0; d < rank; d++)
                dims[d] = dim_of(1);
        for (int i = 0; i < count; i++) {
                int skip = rank - value_rank(values[i]);
                for (int d = 0; d < value_rank(values[i]); d++) {
                        dim_t extent = values[i]->type->dims[d];
                        if (dim_is(extent, 1) || dim_equal(dims[skip + d], extent))
                                continue;
                        /* Whether an extent that a run gives is 1, only the run knows. */
                        const bool open = !dim_is_static(extent) ||
                                          !dim_is_static(dims[skip + d]);
                        if (!dim_is(dims[skip + d], 1))
                                return (open ? compose_unsupported : compose_invalid)(
                                        c,
                                        "operand %d is %s, which does not broadcast to "
                                        "extent %s at dimension %d",
                                        i, compose_text(c, values[i]->type),
                                        dim_text(c->arena, c->m, dims[skip + d]), skip + d);
                        dims[skip + d] = extent;
                }
        }
        for (int i = 0; i < count; i++) {
                if (!compose_type(c, value_element(values[i]), rank, dims))
                        return false;
                values[i] = build_broadcast_numpy(c->b, values[i], rank, dims);
                if (!values[i])
                        return false;
        }
        return true;
}

/* Returns x broadcast to the shape that it and `other` have together, as numpy broadcasts; the
 * caller knows that they fit. */
static struct value *broadcast_to_fit(struct compose *c, struct value *x, const struct type *other)
{
        dim_t dims[RANK_MAX];
        int rank = value_rank(x) > other->rank ? value_rank(x) : other->rank;

        for (int d = 0; d < rank; d++) {
                int a = d - (rank - value_rank(x)), b = d - (rank - other->rank);
                dim_t extent = a >= 0 ? x->type->dims[a] : dim_of(1);
                dims[d] = dim_is(extent, 1) && b >= 0 ? other->dims[b] : extent;
        }
        return build_broadcast_numpy(c->b, x, rank, dims);
}

struct value *compose_unary(struct compose *c, enum opcode code, struct value *x)
{
        return x ? build_unary(c->b, code, x) : NULL;
}

struct value *compose_binary(struct compose *c, enum opcode code, struct value *x, struct value *y)
{
        if (!x || !y)
                return NULL;
        const struct type *was = x->type;
        x = broadcast_to_fit(c, x, y->type);
        y = broadcast_to_fit(c, y, was);
        return x && y ? build_binary(c->b, code, x, y) : NULL;
}

struct value *compose_with(struct compose *c, enum opcode code, struct value *x, double number)
{
        return x ? build_binary(c->b, code, x, build_like(c->b, x, number)) : NULL;
}

struct value *compose_from(struct compose *c, enum opcode code, double number, struct value *x)
{
        return x ? build_binary(c->b, code, build_like(c->b, x, number), x) : NULL;
}

struct value *compose_select(struct compose *c, struct value *condition, struct value *x,
                             struct value *y)
{
        if (!condition || !x || !y)
                return NULL;
        x = broadcast_to_fit(c, x, condition->type);
        y = x ? broadcast_to_fit(c, y, x->type) : NULL;
        x = y ? broadcast_to_fit(c, x, y->type) : NULL;
        condition = x ? broadcast_to_fit(c, condition, x->type) : NULL;
        return condition ? build_select(c->b, condition, x, y) : NULL;
}

struct value *compose_below_zero(struct compose *c, struct value *x, struct value *y)
{
        return compose_select(c, compose_with(c, OP_lt, x, 0), y, x);
}

struct value *compose_integer(struct compose *c, enum element e, int64_t number)
{
        union scalar s;
        unsigned char bytes[16];

        switch (element_info[e].class) {
        case CLASS_FLOAT: s.f = (double)number; break;
        case CLASS_SINT: s.i = number; break;
        default: s.u = (unsigned long long)number; break;
        }
        element_store(e, bytes, 0, s);
        return constant_splat(c->m, type_scalar(c->m, e),
                              arena_copy(c->m->arena, bytes, (size_t)element_info[e].bytes));
}

struct value *compose_reshape(struct compose *c, struct value *x, int rank, const dim_t *dims)
{
        static const dim_t none[1];

        return x ? build_reshape(c->b, x, rank, rank ? dims : none) : NULL;
}

struct value *compose_transpose(struct compose *c, struct value *x, const int64_t *perm)
{
        return x ? build_transpose(c->b, x, perm) : NULL;
}

struct value *compose_pick(struct compose *c, struct value *x, int axis, int64_t index)
{
        return x ? build_gather(c->b, x, compose_integer(c, E_I64, index), axis) : NULL;
}

struct value *compose_spread(struct compose *c, struct value *v, const struct type *to,
                             const int64_t *dims)
{
        static const int64_t none[1];

        return v ? build_broadcast(c->b, v, type_with_element(c->m, to, value_element(v)),
                                   dims ? dims : none)
                 : NULL;
}

struct value *compose_along(struct compose *c, struct value *v, const struct type *to, int axis)
{
        if (!v)
                return NULL;
        if (type_has_one(v->type))
                return compose_spread(c, compose_reshape(c, v, 0, NULL), to, NULL);
        return compose_spread(c, v, to, (const int64_t[]){ axis });
}

struct value *compose_per_line(struct compose *c, const char *what, struct value *v,
                               const struct type *to, int line)
{
        const struct type *t = v->type;

        if (type_has_one(t) ||
            (t->rank == 1 && line >= 0 && dim_equal(t->dims[0], to->dims[line])))
                return compose_along(c, v, to, line);
        for (int d = 0; d < t->rank; d++) {
                int at = to->rank - t->rank + d;
                if (at < 0 || (!dim_is(t->dims[d], 1) && !dim_equal(t->dims[d], to->dims[at]))) {
                        compose_invalid(c, "%s %s, which does not broadcast to %s", what,
                                        compose_text(c, t), compose_text(c, to));
                        return NULL;
                }
        }
        return build_broadcast_numpy(c->b, v, to->rank, to->dims);
}

struct value *compose_one_number(struct compose *c, const char *what, struct value *v,
                                 enum element e)
{
        if (type_has_one(v->type) && value_element(v) == e)
                return compose_reshape(c, v, 0, NULL);
        compose_invalid(c, "%s is %s, want one number of %s", what, compose_text(c, v->type),
                        element_info[e].text);
        return NULL;
}

struct value *compose_extent(struct compose *c, dim_t extent)
{
        if (dim_is_static(extent))
                return compose_integer(c, E_I64, dim_extent(extent));
        return build_extent(c->b, build_iota(c->b, type_tensor(c->m, E_I64, 1, &extent), 0), 0);
}

struct value *compose_extents(struct compose *c, int rank, const dim_t *dims)
{
        struct value *extents[RANK_MAX];
        bool open = false;

        for (int d = 0; d < rank; d++)
                open |= !dim_is_static(dims[d]);
        if (!open)
                return constant_dims(c->m, rank, dims);
        for (int d = 0; d < rank; d++)
                extents[d] = compose_reshape(c, compose_extent(c, dims[d]), 1,
                                             (const dim_t[]){ dim_of(1) });
        return build_concat(c->b, extents, rank, 0);
}

struct value *compose_iota(struct compose *c, enum element e, int64_t count)
{
        return build_iota(c->b, type_tensor(c->m, e, 1, (const dim_t[]){ dim_of(count) }), 0);
}

struct value *compose_span(struct compose *c, struct value *x, int axis, int64_t start,
                           dim_t extent)
{
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        dim_t dims[RANK_MAX];

        if (!x)
                return NULL;
        for (int d = 0; d < value_rank(x); d++) {
                steps[d] = 1;
                dims[d] = x->type->dims[d];
        }
        starts[axis] = start;
        dims[axis] = extent;
        return build_slice(c->b, x, starts, steps, dims);
}

struct value *compose_part(struct compose *c, struct value *x, int axis, int64_t start,
                           int64_t extent)
{
        return compose_span(c, x, axis, start, dim_of(extent));
}

struct value *compose_fitted(struct compose *c, struct value *x, int axis, int64_t extent)
{
        int64_t low[RANK_MAX] = { 0 };
        dim_t dims[RANK_MAX];

        for (int d = 0; d < value_rank(x); d++)
                dims[d] = d == axis ? dim_of(extent) : x->type->dims[d];
        if (dim_is(x->type->dims[axis], extent))
                return x;
        struct value *operands[3] = { x, build_scalar(c->b, value_element(x), 0),
                                      constant_ints(c->m, low, value_rank(x)) };
        return value_build(c->b, OP_pad, operands, 3, NULL,
                           type_tensor(c->m, value_element(x), value_rank(x), dims));
}

