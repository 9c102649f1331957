/* SPDX-License-Identifier: MIT */
/* What the operator importers share: checks of operands and attributes, and shorthands over the
 * tensor builder. */
#include "compiler/import/onnx_helpers.h"
#include "compiler/import/onnx_model.h"

#include <limits.h>
#include <string.h>

#include "base/size.h"

/* ---- operands and results ---- */

const struct type *onnx_type_static(struct onnx_import *im, const struct onnx_node *n,
                                    enum element e, int rank, const int64_t *extents)
{
        int64_t count, bytes;

        if (rank > RANK_MAX) {
                onnx_unsupported(im, n, "a result of rank %d, at most %d are supported", rank,
                                 RANK_MAX);
                return NULL;
        }
        for (int i = 0; i < rank; i++) {
                if (extents[i] < 0) {
                        onnx_invalid(im, n, "a result of extent %lld", (long long)extents[i]);
                        return NULL;
                }
        }
        if (!size_elements(extents, rank, &count) ||
            !int_mul(count, element_info[e].bytes, &bytes) ||
            bytes > im->context->limits.tensor_bytes) {
                onnx_over_limit(im,
                                arena_printf(im->arena, "%s: bytes of a result",
                                             onnx_node_text(im, n->proto)),
                                "tensor_bytes", im->context->limits.tensor_bytes);
                return NULL;
        }
        return type_static(im->m, e, rank, extents);
}

const struct type *onnx_type(struct onnx_import *im, const struct onnx_node *n, enum element e,
                             int rank, const dim_t *dims)
{
        int64_t extents[RANK_MAX];
        for (int i = 0; i < rank && i < RANK_MAX; i++)
                extents[i] = dim_equal(dims[i], DIM_NONE) ? INT64_MAX : dim_extent(dims[i]);
        return onnx_type_static(im, n, e, rank, extents);
}

bool onnx_elements(struct onnx_import *im, const struct onnx_node *n, int rank,
                   const int64_t *extents, int64_t *count)
{
        const struct type *t = onnx_type_static(im, n, E_U8, rank, extents);

        *count = t ? type_elements(t) : 0;
        return t != NULL;
}

/* the declared type of an output, or an error that says what to add */
static const struct type *onnx_declared(struct onnx_import *im, const struct onnx_node *n,
                                        int output)
{
        const struct type *t = output < n->output_count ? n->declared[output] : NULL;

        if (t && t->kind == TYPE_TENSOR && type_is_static(t))
                return t;
        onnx_unsupported(im, n,
                         "the shape of output %d depends on run-time values; declare it in the "
                         "model (value_info) "
                         "or make the operand a constant",
                         output);
        return NULL;
}

const struct type *onnx_declared_as(struct onnx_import *im, const struct onnx_node *n, int output,
                                    enum element e, int rank)
{
        const struct type *t = onnx_declared(im, n, output);

        if (!t)
                return NULL;
        if (t->kind != TYPE_TENSOR || t->element != e || (rank >= 0 && t->rank != rank)) {
                onnx_invalid(im, n, "output %d is declared as %s, want %s of rank %d", output,
                             type_text(im->arena, im->m, t), element_info[e].text,
                             rank >= 0 ? rank : t->rank);
                return NULL;
        }
        return onnx_type(im, n, e, t->rank, t->dims);
}

bool onnx_same_element(struct onnx_import *im, const struct onnx_node *n,
                       struct value *const *values, int count)
{
        const struct value *first = NULL;

        for (int i = 0; i < count; i++) {
                if (!values[i])
                        continue;
                if (first && onnx_element(values[i]) != onnx_element(first))
                        return onnx_invalid(im, n, "operand %d is of %s, want %s as the first", i,
                                            element_info[onnx_element(values[i])].text,
                                            element_info[onnx_element(first)].text);
                first = first ? first : values[i];
        }
        return true;
}

bool onnx_want_inputs(struct onnx_import *im, const struct onnx_node *n, unsigned set)
{
        for (int i = 0; set >> i; i++)
                if (set >> i & 1 && !onnx_input(n, i))
                        return onnx_invalid(im, n, "input %d is required", i);
        return true;
}

bool onnx_want_float(struct onnx_import *im, const struct onnx_node *n, int i)
{
        struct value *v = onnx_input(n, i);

        return !v || element_is_float(onnx_element(v)) ||
               onnx_invalid(im, n, "operand %d is of %s, want a float type", i,
                            element_info[onnx_element(v)].text);
}

bool onnx_want_integer(struct onnx_import *im, const struct onnx_node *n, int i)
{
        struct value *v = onnx_input(n, i);

        return !v || element_is_integer(onnx_element(v)) ||
               onnx_invalid(im, n, "operand %d is of %s, want an integer type", i,
                            element_info[onnx_element(v)].text);
}

bool onnx_want_element(struct onnx_import *im, const struct onnx_node *n, int i, enum element e)
{
        struct value *v = onnx_input(n, i);

        return !v || onnx_element(v) == e ||
               onnx_invalid(im, n, "operand %d is of %s, want %s", i,
                            element_info[onnx_element(v)].text, element_info[e].text);
}

bool onnx_want_8_bit(struct onnx_import *im, const struct onnx_node *n, int i)
{
        struct value *v = onnx_input(n, i);

        return !v || onnx_element(v) == E_I8 || onnx_element(v) == E_U8 ||
               onnx_invalid(im, n, "operand %d is of %s, want i8 or u8", i,
                            element_info[onnx_element(v)].text);
}

bool onnx_want_rank(struct onnx_import *im, const struct onnx_node *n, int i, int least, int most)
{
        struct value *v = onnx_input(n, i);

        if (!v || (onnx_rank(v) >= least && onnx_rank(v) <= most))
                return true;
        if (least == most)
                return onnx_invalid(im, n, "operand %d is of rank %d, want %d", i, onnx_rank(v),
                                    least);
        return onnx_invalid(im, n, "operand %d is of rank %d, want %d to %d", i, onnx_rank(v),
                            least, most);
}

bool onnx_indices_fit(struct onnx_import *im, const struct onnx_node *n,
                      const struct value *indices, const dim_t *extents, int64_t width)
{
        int64_t count = value_is_constant(indices) ? type_elements(indices->type) : 0;

        if (count && indices->constant->kind == CONSTANT_SPLAT)
                count = onnx_min(width, count);
        for (int64_t i = 0; i < count; i++) {
                int64_t index = constant_element(indices->constant, i).i,
                        extent = dim_extent(extents[i % width]);
                if (index < -extent || index >= extent)
                        return onnx_invalid(im, n, "index %lld into an extent of %lld",
                                            (long long)index, (long long)extent);
        }
        return true;
}

struct value *onnx_scalar(struct onnx_import *im, const struct onnx_node *n, int i)
{
        struct value *v = onnx_input(n, i);

        if (!v || type_elements(v->type) != 1) {
                onnx_invalid(im, n, "operand %d is %s, want one element", i,
                             v ? type_text(im->arena, im->m, v->type) : "absent");
                return NULL;
        }
        return onnx_reshape(im, v, 0, NULL);
}

/* How many elements the operand has, at most room: 0 when it is absent, or not known. What it must
 * be is in wanted. */
static bool count_elements(struct onnx_import *im, const struct onnx_node *n, int input, bool fits,
                           const char *wanted, int room, int *count, bool *known)
{
        const struct value *v = onnx_input(n, input);

        *count = 0;
        *known = true;
        if (!v)
                return true;
        if (onnx_rank(v) > 1 || !fits)
                return onnx_invalid(im, n, "operand %d is %s, want %s", input,
                                    type_text(im->arena, im->m, v->type), wanted);
        *known = value_is_constant(v);
        if (!*known)
                return true;
        int64_t elements = type_elements(v->type);
        if (elements > room)
                return onnx_invalid(im, n, "operand %d holds %lld numbers, want at most %d", input,
                                    (long long)elements, room);
        *count = (int)elements;
        return true;
}

bool onnx_operand_numbers(struct onnx_import *im, const struct onnx_node *n, int input,
                          double *values, int room, int *count, bool *known)
{
        if (!count_elements(im, n, input, true, "rank 0 or 1", room, count, known))
                return false;
        for (int i = 0; i < *count; i++) {
                const struct value *v = onnx_input(n, input);
                union scalar s = constant_element(v->constant, i);
                enum element_class class = element_info[onnx_element(v)].class;
                values[i] = class == CLASS_FLOAT  ? s.f
                            : class == CLASS_SINT ? (double)s.i
                                                  : (double)s.u;
        }
        return true;
}

bool onnx_operand_ints(struct onnx_import *im, const struct onnx_node *n, int input,
                       int64_t *values, int room, int *count, bool *known)
{
        const struct value *v = onnx_input(n, input);
        bool fits = v && (onnx_element(v) == E_I64 || onnx_element(v) == E_I32);

        if (!count_elements(im, n, input, fits, "i64 or i32 of rank 0 or 1", room, count, known))
                return false;
        for (int i = 0; i < *count; i++)
                values[i] = constant_element(v->constant, i).i;
        return true;
}

bool onnx_operand_int(struct onnx_import *im, const struct onnx_node *n, int input, int64_t preset,
                      int64_t *value, bool *known)
{
        const struct value *v = onnx_input(n, input);

        *value = preset;
        *known = true;
        if (!v)
                return true;
        if (type_elements(v->type) != 1 || element_is_float(onnx_element(v)))
                return onnx_invalid(im, n, "operand %d is %s, want one integer", input,
                                    type_text(im->arena, im->m, v->type));
        *known = value_is_constant(v);
        if (*known) {
                union scalar s = constant_element(v->constant, 0);
                *value = element_info[onnx_element(v)].class == CLASS_SINT ? s.i
                         : s.u > INT64_MAX                                 ? INT64_MAX
                                                                           : (int64_t)s.u;
        }
        return true;
}

struct value *onnx_operand_vector(struct onnx_import *im, const struct onnx_node *n, int input)
{
        struct value *v = onnx_input(n, input);

        if (!v || onnx_rank(v) > 1 || !element_is_integer(onnx_element(v))) {
                onnx_invalid(im, n, "operand %d is %s, want integers of rank 0 or 1", input,
                             v ? type_text(im->arena, im->m, v->type) : "absent");
                return NULL;
        }
        return onnx_reshape(im, onnx_cast(im, v, E_I64), 1,
                            (const dim_t[]){ dim_of(type_elements(v->type)) });
}

bool onnx_axis(struct onnx_import *im, const struct onnx_node *n, int64_t axis, int rank,
               int *result)
{
        if (axis < -rank || axis >= rank)
                return onnx_invalid(im, n, "axis %lld in a tensor of rank %d, want %d to %d",
                                    (long long)axis, rank, -rank, rank - 1);
        *result = (int)(axis < 0 ? axis + rank : axis);
        return true;
}

static bool axes_normalize(struct onnx_import *im, const struct onnx_node *n, int rank,
                           struct onnx_axes *axes)
{
        bool taken[RANK_MAX] = { false };
        int count = 0;

        for (int i = 0; i < axes->count; i++) {
                int axis = 0;
                if (!onnx_axis(im, n, axes->axes[i], rank, &axis))
                        return false;
                if (taken[axis])
                        return onnx_invalid(im, n, "axis %d is given twice", axis);
                taken[axis] = true;
        }
        for (int i = 0; i < rank; i++)
                if (taken[i])
                        axes->axes[count++] = i;
        return true;
}

bool onnx_axes_read(struct onnx_import *im, struct onnx_node *n, int input, const char *attribute,
                    int rank, struct onnx_axes *axes)
{
        *axes = (struct onnx_axes){ .state = AXES_ABSENT };
        if (input < 0) {
                const int64_t *values;
                if (!onnx_ints(im, n, attribute, &values, &axes->count))
                        return false;
                if (!values && !onnx_has(n, attribute))
                        return true;
                if (axes->count > RANK_MAX)
                        return onnx_invalid(im, n, "%s has %d values for a tensor of rank %d",
                                            attribute, axes->count, rank);
                for (int i = 0; i < axes->count; i++)
                        axes->axes[i] = values[i];
        } else {
                bool known;
                if (!onnx_input(n, input))
                        return true;
                if (!onnx_operand_ints(im, n, input, axes->axes, RANK_MAX, &axes->count, &known))
                        return false;
                if (!known && type_elements(onnx_input(n, input)->type) > 0) {
                        axes->state = AXES_RUNTIME;
                        axes->operand = onnx_operand_vector(im, n, input);
                        if (!axes->operand)
                                return false;
                        if (onnx_dim(axes->operand, 0) > rank)
                                return onnx_invalid(im, n, "%lld axes in a tensor of rank %d",
                                                    (long long)onnx_dim(axes->operand, 0), rank);
                        axes->count = (int)onnx_dim(axes->operand, 0);
                        return true;
                }
        }
        axes->state = AXES_KNOWN;
        return axes_normalize(im, n, rank, axes);
}

struct value *onnx_axes_wrap(struct onnx_import *im, struct value *axes, int rank)
{
        return onnx_below_zero(im, axes, onnx_with(im, OP_add, axes, rank));
}

struct value *onnx_scatter_axes(struct onnx_import *im, struct value *axes, struct value *values,
                                int rank, int64_t preset)
{
        if (!axes || !values)
                return NULL;
        const struct type *table = type_tensor(
                im->m, E_I64, 2, (const dim_t[]){ dim_of(rank), dim_of(onnx_dim(axes, 0)) });
        struct value *right = onnx_spread(im, onnx_axes_wrap(im, axes, rank), table, (const int64_t[]){ 1 });
        struct value *here = build_binary(&im->b, OP_eq, build_iota(&im->b, table, 0), right);
        struct value *sum =
                onnx_reduce(im, REDUCE_sum,
                            onnx_select(im, here,
                                        onnx_spread(im, values, table, (const int64_t[]){ 1 }),
                                        onnx_integer(im, E_I64, 0)),
                            (const int64_t[]){ 1 }, 1, E_COMPUTE);
        struct value *hits = onnx_reduce(im, REDUCE_sum, onnx_cast(im, here, E_I64),
                                         (const int64_t[]){ 1 }, 1, E_COMPUTE);
        return onnx_select(im, onnx_with(im, OP_gt, hits, 0), sum, onnx_integer(im, E_I64, preset));
}

const Onnx__AttributeProto *onnx_attribute(struct onnx_node *n, const char *name)
{
        for (size_t i = 0; i < n->proto->n_attribute; i++) {
                const Onnx__AttributeProto *a = n->proto->attribute[i];
                if (a->name.len == strlen(name) && !memcmp(a->name.data, name, a->name.len)) {
                        n->attribute_used[i] = 1;
                        return a;
                }
        }
        return NULL;
}

bool onnx_int_required(struct onnx_import *im, struct onnx_node *n, const char *name,
                       int64_t *value)
{
        if (!onnx_has(n, name))
                return onnx_invalid(im, n, "attribute %s is missing", name);
        return onnx_int(im, n, name, 0, value);
}

bool onnx_int_range(struct onnx_import *im, struct onnx_node *n, const char *name, int64_t preset,
                    int64_t least, int64_t most, int64_t *value)
{
        if (!onnx_int(im, n, name, preset, value))
                return false;
        if (*value < least || *value > most)
                return onnx_invalid(im, n, "%s is %lld, want %lld to %lld", name, (long long)*value,
                                    (long long)least, (long long)most);
        return true;
}

bool onnx_element_number(struct onnx_import *im, const struct onnx_node *n, const char *what,
                         int64_t number, enum element *e)
{
        if (number < INT_MIN || number > INT_MAX || !element_from_onnx((int)number, e))
                return onnx_invalid(im, n, "%s is %lld, which is no data type", what,
                                    (long long)number);
        if (!element_is_stored(*e))
                return onnx_unsupported(im, n,
                                        "%s is %s, a type this compiler does not compute with",
                                        what, element_info[*e].text);
        return true;
}

bool onnx_ignore(struct onnx_import *im, struct onnx_node *n, const char *name)
{
        int64_t value;
        const int64_t *values;
        int count;

        if (!strcmp(name, "consumed_inputs"))
                return onnx_ints(im, n, name, &values, &count);
        return onnx_int(im, n, name, 0, &value);
}

/* ---- building ---- */

bool onnx_broadcast(struct onnx_import *im, const struct onnx_node *n, struct value **values,
                    int count)
{
        dim_t dims[RANK_MAX];
        int rank = 0;

        for (int i = 0; i < count; i++) {
                if (!values[i])
                        return false;
                if (onnx_rank(values[i]) > rank)
                        rank = onnx_rank(values[i]);
        }
        for (int d = 0; d < rank; d++)
                dims[d] = dim_of(1);
        for (int i = 0; i < count; i++) {
                int skip = rank - onnx_rank(values[i]);
                for (int d = 0; d < onnx_rank(values[i]); d++) {
                        int64_t extent = onnx_dim(values[i], d);
                        if (extent == 1 || dim_is(dims[skip + d], extent))
                                continue;
                        if (!dim_is(dims[skip + d], 1))
                                return onnx_invalid(im, n,
                                                    "operand %d is %s, which does not broadcast to "
                                                    "extent %lld at dimension %d",
                                                    i, type_text(im->arena, im->m, values[i]->type),
                                                    (long long)dim_extent(dims[skip + d]),
                                                    skip + d);
                        dims[skip + d] = dim_of(extent);
                }
        }
        for (int i = 0; i < count; i++) {
                if (!onnx_type(im, n, onnx_element(values[i]), rank, dims))
                        return false;
                values[i] = build_broadcast_numpy(&im->b, values[i], rank, dims);
                if (!values[i])
                        return false;
        }
        return true;
}

/* x over the shape of a numpy broadcast with `other`, which is known to fit */
static struct value *broadcast_to_fit(struct onnx_import *im, struct value *x,
                                      const struct type *other)
{
        dim_t dims[RANK_MAX];
        int rank = onnx_rank(x) > other->rank ? onnx_rank(x) : other->rank;

        for (int d = 0; d < rank; d++) {
                int a = d - (rank - onnx_rank(x)), b = d - (rank - other->rank);
                int64_t extent = a >= 0 ? onnx_dim(x, a) : 1;
                dims[d] = dim_of(extent == 1 && b >= 0 ? type_extent(other, b) : extent);
        }
        return build_broadcast_numpy(&im->b, x, rank, dims);
}

struct value *onnx_unary(struct onnx_import *im, enum opcode code, struct value *x)
{
        return x ? build_unary(&im->b, code, x) : NULL;
}

struct value *onnx_binary(struct onnx_import *im, enum opcode code, struct value *x,
                          struct value *y)
{
        if (!x || !y)
                return NULL;
        const struct type *was = x->type;
        x = broadcast_to_fit(im, x, y->type);
        y = broadcast_to_fit(im, y, was);
        return x && y ? build_binary(&im->b, code, x, y) : NULL;
}

struct value *onnx_with(struct onnx_import *im, enum opcode code, struct value *x, double number)
{
        return x ? build_binary(&im->b, code, x, build_like(&im->b, x, number)) : NULL;
}

struct value *onnx_from(struct onnx_import *im, enum opcode code, double number, struct value *x)
{
        return x ? build_binary(&im->b, code, build_like(&im->b, x, number), x) : NULL;
}

struct value *onnx_select(struct onnx_import *im, struct value *c, struct value *x, struct value *y)
{
        if (!c || !x || !y)
                return NULL;
        x = broadcast_to_fit(im, x, c->type);
        y = x ? broadcast_to_fit(im, y, x->type) : NULL;
        x = y ? broadcast_to_fit(im, x, y->type) : NULL;
        c = x ? broadcast_to_fit(im, c, x->type) : NULL;
        return c ? build_select(&im->b, c, x, y) : NULL;
}

struct value *onnx_below_zero(struct onnx_import *im, struct value *x, struct value *y)
{
        return onnx_select(im, onnx_with(im, OP_lt, x, 0), y, x);
}

struct value *onnx_cast(struct onnx_import *im, struct value *x, enum element e)
{
        return onnx_convert(im, x, e, &(struct onnx_conversion){ .saturate = true });
}

enum element onnx_wide_element(enum element e) { return e == E_F16 || e == E_BF16 ? E_F32 : e; }

struct value *onnx_wide(struct onnx_import *im, struct value *x)
{
        return x ? onnx_cast(im, x, onnx_wide_element(onnx_element(x))) : NULL;
}

struct value *onnx_integer(struct onnx_import *im, enum element e, int64_t number)
{
        union scalar s;
        unsigned char bytes[16];

        switch (element_info[e].class) {
        case CLASS_FLOAT: s.f = (double)number; break;
        case CLASS_SINT: s.i = number; break;
        default: s.u = (unsigned long long)number; break;
        }
        element_store(e, bytes, 0, s);
        return constant_splat(im->m, type_scalar(im->m, e),
                              arena_copy(im->m->arena, bytes, (size_t)element_info[e].bytes));
}

struct value *onnx_reshape(struct onnx_import *im, struct value *x, int rank, const dim_t *dims)
{
        static const dim_t none[1];

        return x ? build_reshape(&im->b, x, rank, rank ? dims : none) : NULL;
}

struct value *onnx_spread(struct onnx_import *im, struct value *v, const struct type *to,
                          const int64_t *dims)
{
        static const int64_t none[1];

        return v ? build_broadcast(&im->b, v, type_with_element(im->m, to, onnx_element(v)),
                                   dims ? dims : none)
                 : NULL;
}

struct value *onnx_along(struct onnx_import *im, struct value *v, const struct type *to, int axis)
{
        if (!v)
                return NULL;
        if (type_elements(v->type) == 1)
                return onnx_spread(im, onnx_reshape(im, v, 0, NULL), to, NULL);
        return onnx_spread(im, v, to, (const int64_t[]){ axis });
}

struct value *onnx_iota(struct onnx_import *im, enum element e, int64_t count)
{
        return build_iota(&im->b, type_tensor(im->m, e, 1, (const dim_t[]){ dim_of(count) }), 0);
}

struct value *onnx_reduce(struct onnx_import *im, enum reducer kind, struct value *x,
                          const int64_t *axes, int count, int accumulator)
{
        if (!x || count == 0)
                return x;
        struct attr *attrs = attrs_new(im->m, OP_reduce);
        attr_set(attrs, OP_reduce, "kind", kind);
        attr_set(attrs, OP_reduce, "accumulator", accumulator);
        return value_build(&im->b, OP_reduce,
                           (struct value *[]){ x, constant_ints(im->m, axes, count) }, 2, attrs,
                           NULL);
}

struct value *onnx_unreduce(struct onnx_import *im, struct value *reduced, const struct type *full,
                            const int64_t *axes, int count)
{
        int64_t dims[RANK_MAX];
        int kept = 0;

        for (int d = 0, a = 0; d < full->rank; d++) {
                if (a < count && axes[a] == d)
                        a++;
                else
                        dims[kept++] = d;
        }
        return onnx_spread(im, reduced, full, dims);
}

struct value *onnx_keep(struct onnx_import *im, struct value *reduced, const struct type *full,
                        const int64_t *axes, int count)
{
        dim_t dims[RANK_MAX];

        for (int d = 0, a = 0; d < full->rank; d++) {
                dims[d] = full->dims[d];
                if (a < count && axes[a] == d) {
                        dims[d] = dim_of(1);
                        a++;
                }
        }
        return onnx_reshape(im, reduced, full->rank, dims);
}

/* elements along axes */
static int64_t count_along(const struct type *t, const int64_t *axes, int count)
{
        int64_t product = 1;

        for (int i = 0; i < count; i++)
                product *= type_extent(t, axes[i]);
        return product;
}

struct value *onnx_mean(struct onnx_import *im, struct value *x, const int64_t *axes, int count)
{
        x = onnx_wide(im, x);
        return x ? onnx_with(im, OP_div, onnx_reduce(im, REDUCE_sum, x, axes, count, E_COMPUTE),
                             (double)count_along(x->type, axes, count))
                 : NULL;
}

int onnx_axes_from(int first, int rank, int64_t *axes)
{
        int count = 0;

        while (first + count < rank) {
                axes[count] = first + count;
                count++;
        }
        return count;
}
