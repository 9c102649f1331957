/* SPDX-License-Identifier: MIT */
/* The operator importers share these checks of operands and attributes, and shorthands over the
 * tensor builder. */
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_model.h"

#include <limits.h>
#include <string.h>

#include "base/size.h"

/* ---- operands and results ---- */

/* Returns the type of an output as it is declared, or as later declarations imply it. Reports an
 * error that says what to add to the model where neither is there. */
static const struct type *onnx_declared(struct onnx_import *im, const struct onnx_node *n,
                                        int output, enum element e, int rank)
{
        const struct type *t = output < n->output_count ? n->declared[output] : NULL;

        if (t && t->kind == TYPE_TENSOR && type_is_static(t))
                return t;
        t = output < n->output_count ? onnx_implied(im, n->proto->output[output], rank) : NULL;
        if (t && t->kind == TYPE_TENSOR && type_is_static(t))
                return type_with_element(im->m, t, e);
        onnx_unsupported(im, n,
                         "the shape of output %d depends on run-time values; declare it in the "
                         "model (value_info) "
                         "or make the operand a constant",
                         output);
        return NULL;
}

struct import_weight *onnx_weight(const struct onnx_import *im, const struct value *v)
{
        const struct import_weights *weights = im->options->weights;
        for (int i = 0; weights && i < weights->found_count; i++)
                if (weights->found[i].value == v)
                        return &weights->found[i];
        return NULL;
}

bool onnx_in_training(const struct onnx_import *im, bool stated)
{
        const struct import_training *t = im->options->training;
        return t && t->nodes != TRAINING_STATED ? t->nodes == TRAINING_ALL : stated;
}

struct value *onnx_select(struct onnx_import *im, struct value *condition, struct value *x,
                          struct value *y)
{
        const enum element e = x ? value_element(x) : E_F32;
        if (element_info[e].class != CLASS_OTHER || element_info[e].bytes != 1)
                return compose_select(im->c, condition, x, y);
        x = compose_as_bits(im->c, x, E_U8);
        y = compose_as_bits(im->c, y, E_U8);
        return compose_as_bits(im->c, compose_select(im->c, condition, x, y), e);
}

struct value *onnx_by_mode(struct onnx_import *im, struct import_mode m)
{
        struct import_training *t = im->options->training;
        if (!t || !m.inferred || !m.trained)
                return m.trained;
        m.made = onnx_select(im, t->on, m.trained, m.inferred);
        if (!m.made)
                return NULL;
        ARENA_GROW(im->m->arena, t->modes, t->mode_count);
        t->modes[t->mode_count++] = m;
        return m.made;
}

const struct type *onnx_declared_as(struct onnx_import *im, const struct onnx_node *n, int output,
                                    enum element e, int rank)
{
        const struct type *t = onnx_declared(im, n, output, e, rank);

        if (!t)
                return NULL;
        if (t->kind != TYPE_TENSOR || t->element != e || (rank >= 0 && t->rank != rank)) {
                onnx_invalid(im, n, "output %d is declared as %s, want %s of rank %d", output,
                             compose_text(im->c, t), element_info[e].text,
                             rank >= 0 ? rank : t->rank);
                return NULL;
        }
        return compose_type(im->c, e, t->rank, t->dims);
}

bool onnx_same_element(struct onnx_import *im, const struct onnx_node *n,
                       struct value *const *values, int count)
{
        const struct value *first = NULL;

        for (int i = 0; i < count; i++) {
                if (!values[i])
                        continue;
                if (first && value_element(values[i]) != value_element(first))
                        return onnx_invalid(im, n, "operand %d is of %s, want %s as the first", i,
                                            element_info[value_element(values[i])].text,
                                            element_info[value_element(first)].text);
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

        return !v || element_is_float(value_element(v)) ||
               onnx_invalid(im, n, "operand %d is of %s, want a float type", i,
                            element_info[value_element(v)].text);
}

bool onnx_want_integer(struct onnx_import *im, const struct onnx_node *n, int i)
{
        struct value *v = onnx_input(n, i);

        return !v || element_is_integer(value_element(v)) ||
               onnx_invalid(im, n, "operand %d is of %s, want an integer type", i,
                            element_info[value_element(v)].text);
}

bool onnx_want_element(struct onnx_import *im, const struct onnx_node *n, int i, enum element e)
{
        struct value *v = onnx_input(n, i);

        return !v || value_element(v) == e ||
               onnx_invalid(im, n, "operand %d is of %s, want %s", i,
                            element_info[value_element(v)].text, element_info[e].text);
}

bool onnx_want_8_bit(struct onnx_import *im, const struct onnx_node *n, int i)
{
        struct value *v = onnx_input(n, i);

        return !v || value_element(v) == E_I8 || value_element(v) == E_U8 ||
               onnx_invalid(im, n, "operand %d is of %s, want i8 or u8", i,
                            element_info[value_element(v)].text);
}

bool onnx_want_rank(struct onnx_import *im, const struct onnx_node *n, int i, int least, int most)
{
        struct value *v = onnx_input(n, i);

        if (!v || (value_rank(v) >= least && value_rank(v) <= most))
                return true;
        if (least == most)
                return onnx_invalid(im, n, "operand %d is of rank %d, want %d", i, value_rank(v),
                                    least);
        return onnx_invalid(im, n, "operand %d is of rank %d, want %d to %d", i, value_rank(v),
                            least, most);
}

bool onnx_indices_fit(struct onnx_import *im, const struct onnx_node *n,
                      const struct value *indices, const dim_t *extents, int64_t width)
{
        int64_t count = value_is_constant(indices) ? type_elements(indices->type) : 0;

        if (count && indices->constant->kind == CONSTANT_SPLAT)
                count = compose_min(width, count);
        for (int64_t i = 0; i < count; i++) {
                /* Where a run gives the extent, it checks them. */
                int64_t index = constant_element(indices->constant, i).i,
                        extent = dim_bound(im->m, extents[i % width]);
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
                             v ? compose_text(im->c, v->type) : "absent");
                return NULL;
        }
        return compose_reshape(im->c, v, 0, NULL);
}

/* Counts the elements that the operand has, at most room; 0 where it is absent, or not known.
 * `wanted` says what it must be. */
static bool count_elements(struct onnx_import *im, const struct onnx_node *n, int input, bool fits,
                           const char *wanted, int room, int *count, bool *known)
{
        const struct value *v = onnx_input(n, input);

        *count = 0;
        *known = true;
        if (!v)
                return true;
        if (value_rank(v) > 1 || !fits)
                return onnx_invalid(im, n, "operand %d is %s, want %s", input,
                                    compose_text(im->c, v->type), wanted);
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
                enum element_class class = element_info[value_element(v)].class;
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
        bool fits = v && (value_element(v) == E_I64 || value_element(v) == E_I32);

        if (!count_elements(im, n, input, fits, "i64 or i32 of rank 0 or 1", room, count, known))
                return false;
        for (int i = 0; i < *count; i++)
                values[i] = constant_element(v->constant, i).i;
        return true;
}

bool onnx_operand_amounts(struct onnx_import *im, const struct onnx_node *n, int input,
                          struct amount amounts[AMOUNTS_MAX], int room, int *count, bool *known)
{
        struct value *v = onnx_input(n, input);
        bool fits = v && (value_element(v) == E_I64 || value_element(v) == E_I32);

        if (!v || value_is_constant(v) || value_rank(v) > 1 || !fits) {
                int64_t ints[AMOUNTS_MAX];
                if (!onnx_operand_ints(im, n, input, ints, room, count, known))
                        return false;
                for (int i = 0; i < *count && *known; i++)
                        amounts[i] = amount_of(ints[i]);
                return true;
        }
        *known = value_amounts(im->m, v, amounts, count);
        if (*known && *count > room)
                return onnx_invalid(im, n, "operand %d holds %d numbers, want at most %d", input,
                                    *count, room);
        if (!*known)
                *count = 0;
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
        if (type_elements(v->type) != 1 || element_is_float(value_element(v)))
                return onnx_invalid(im, n, "operand %d is %s, want one integer", input,
                                    compose_text(im->c, v->type));
        *known = value_is_constant(v);
        if (*known) {
                union scalar s = constant_element(v->constant, 0);
                *value = element_info[value_element(v)].class == CLASS_SINT ? s.i
                         : s.u > INT64_MAX                                  ? INT64_MAX
                                                                            : (int64_t)s.u;
        }
        return true;
}

struct value *onnx_operand_vector(struct onnx_import *im, const struct onnx_node *n, int input)
{
        struct value *v = onnx_input(n, input);

        if (!v || value_rank(v) > 1 || !element_is_integer(value_element(v))) {
                onnx_invalid(im, n, "operand %d is %s, want integers of rank 0 or 1", input,
                             v ? compose_text(im->c, v->type) : "absent");
                return NULL;
        }
        return compose_reshape(im->c, compose_cast(im->c, v, E_I64), 1,
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
                        if (value_extent(axes->operand, 0) > rank)
                                return onnx_invalid(im, n, "%lld axes in a tensor of rank %d",
                                                    (long long)value_extent(axes->operand, 0),
                                                    rank);
                        axes->count = (int)value_extent(axes->operand, 0);
                        return true;
                }
        }
        axes->state = AXES_KNOWN;
        return axes_normalize(im, n, rank, axes);
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
