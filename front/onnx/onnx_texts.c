/* SPDX-License-Identifier: MIT */
#include "front/onnx/onnx_texts.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "front/compose/compose_move.h"
#include "front/onnx/onnx_model.h"

/* ---- values ---- */

struct texts {
        struct value value;             /* It is the first field, so that a pointer to a value of
                                         * texts is a pointer to the texts. */
        struct value *bytes;
};

bool onnx_is_texts(const struct value *v)
{
        return v && v->type->kind == TYPE_TENSOR && v->type->element == E_STRING;
}

struct value *onnx_texts_bytes(const struct value *texts)
{
        return ((const struct texts *)texts)->bytes;
}

struct value *onnx_texts_new(struct onnx_import *im, struct value *bytes)
{
        if (!bytes)
                return NULL;
        struct texts *texts = ARENA_NEW(im->arena, struct texts);
        *texts = (struct texts){
                .value = { .kind = VALUE_ARGUMENT,
                           .type = type_tensor(im->m, E_STRING, bytes->type->rank - 1,
                                               bytes->type->dims) },
                .bytes = bytes
        };
        return &texts->value;
}

/* Returns the bytes of all of them in one width, or NULL after an error. */
static struct value **bytes_of(struct onnx_import *im, struct value *const *values, int count)
{
        struct value **bytes = arena_array(im->arena, (size_t)count + 1, sizeof *bytes);
        int64_t width = 1;
        for (int i = 0; i < count; i++) {
                bytes[i] = onnx_texts_bytes(values[i]);
                width = compose_max(width, value_extent(bytes[i], value_rank(bytes[i]) - 1));
        }
        for (int i = 0; i < count; i++)
                if (!(bytes[i] = compose_fitted(im->c, bytes[i], value_rank(bytes[i]) - 1, width)))
                        return NULL;
        return bytes;
}

struct value *onnx_texts_stack(struct onnx_import *im, struct value *const *values, int count,
                               int axis)
{
        if (!count || !onnx_is_texts(values[0]))
                return compose_stack(im->c, values, count, axis);
        struct value **bytes = bytes_of(im, values, count);
        return bytes ? onnx_texts_new(im, compose_stack(im->c, bytes, count, axis)) : NULL;
}

struct value *onnx_texts_concat(struct onnx_import *im, struct value *const *values, int count,
                                int axis)
{
        if (!count || !onnx_is_texts(values[0]))
                return compose_concat(im->c, values, count, axis);
        struct value **bytes = bytes_of(im, values, count);
        return bytes ? onnx_texts_new(im, compose_concat(im->c, bytes, count, axis)) : NULL;
}

/* Returns `what` with the node at hand before it, where there is one. */
static const char *place(struct onnx_import *im, const char *what)
{
        return im->node ? arena_printf(im->arena, "%s: %s", onnx_node_text(im, im->node->proto),
                                       what)
                        : what;
}

struct value *onnx_texts_constant(struct onnx_import *im, const char *what, int rank,
                                  const int64_t *extents, const ProtobufCBinaryData *texts,
                                  size_t count, int64_t more)
{
        const int64_t limit = im->context->limits.tensor_bytes;
        int64_t dims[RANK_MAX], width = 1, bytes;
        if (rank >= RANK_MAX) {
                onnx_error(im, "%s: texts of rank %d, at most %d are supported", place(im, what),
                           rank, RANK_MAX - 1);
                return NULL;
        }
        for (size_t i = 0; i < count; i++) {
                if (texts[i].len && memchr(texts[i].data, 0, texts[i].len)) {
                        onnx_error(im, "%s: text %zu has a NUL within", place(im, what), i);
                        return NULL;
                }
                width = compose_max(width, (int64_t)texts[i].len);
        }
        width += more;
        if (!int_mul((int64_t)count, width, &bytes) || bytes > limit) {
                onnx_over_limit(im,
                                arena_printf(im->arena, "%s: bytes of %zu texts", place(im, what),
                                             count),
                                "tensor_bytes", limit);
                return NULL;
        }
        unsigned char *data = constant_room(im->m, (size_t)bytes + 1);
        memset(data, 0, (size_t)bytes + 1);
        for (size_t i = 0; i < count; i++)
                if (texts[i].len)
                        memcpy(data + (int64_t)i * width, texts[i].data, texts[i].len);
        for (int d = 0; d < rank; d++)
                dims[d] = extents[d];
        dims[rank] = width;
        return onnx_texts_new(
                im, constant_dense(im->m, type_static(im->m, E_U8, rank + 1, dims), data, NULL));
}

struct value *onnx_texts_read(struct onnx_import *im, const Onnx__TensorProto *t, const char *what,
                              int64_t more)
{
        int64_t count = -1;
        if (t->n_dims > RANK_MAX || !size_elements(t->dims, (int)t->n_dims, &count) ||
            count != (int64_t)t->n_string_data || t->raw_data.len) {
                onnx_error(im, "%s: string_data has %zu entries, its shape wants another number",
                           place(im, what), t->n_string_data);
                return NULL;
        }
        return onnx_texts_constant(im, what, (int)t->n_dims, t->dims, t->string_data,
                                   t->n_string_data, more);
}

bool onnx_strings(struct onnx_import *im, struct onnx_node *n, const char *name,
                  const ProtobufCBinaryData **texts, int *count)
{
        static unsigned char nothing[1];        /* protobuf-c has NULL for a text without bytes. */
        *texts = NULL;
        *count = 0;
        for (size_t i = 0; i < n->proto->n_attribute; i++) {
                const Onnx__AttributeProto *a = n->proto->attribute[i];
                if (a->name.len != strlen(name) || memcmp(a->name.data, name, a->name.len))
                        continue;
                n->attribute_used[i] = 1;
                if (a->type && a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS &&
                    a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING)
                        return onnx_invalid(im, n, "attribute %s is no text", name);
                const bool one = a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
                const size_t given = one ? 1 : a->n_strings;
                if (given > NUMBER_MAX)
                        return onnx_invalid(im, n, "attribute %s has %zu texts", name, given);
                ProtobufCBinaryData *copies = arena_array(im->arena, given + 1, sizeof *copies);
                for (size_t k = 0; k < given; k++) {
                        copies[k] = one ? a->s : a->strings[k];
                        if (!copies[k].len)
                                copies[k].data = nothing;
                }
                *texts = copies;
                *count = (int)given;
        }
        return true;
}

/* ---- operators that move texts ---- */

enum texts_how { TAKEN, MOVED, FILLED, READ, LATER, REFUSED };

static enum texts_how how_of(const struct onnx_row *row)
{
        static const struct { const char *domain, *op; enum texts_how how; } table[] = {
#define ONNX_TEXTS(domain, op, how) { domain, op, how },
#include "front/onnx/onnx_texts.def"
        };
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
                if (!strcmp(table[i].op, row->op) && !strcmp(table[i].domain, row->domain))
                        return table[i].how;
        return REFUSED;
}

/* Returns the numbers from `first` on that stand for texts of this shape. */
static struct value *numbers_of(struct onnx_import *im, const struct type *texts, int64_t first)
{
        const struct type *t = compose_type(im->c, E_I64, texts->rank, texts->dims);
        if (!t)
                return NULL;
        const int64_t count = type_elements(t);
        int64_t *numbers = constant_room(im->m, (size_t)count * sizeof *numbers + 1);
        for (int64_t i = 0; i < count; i++)
                numbers[i] = first + i;
        return constant_dense(im->m, t, numbers, NULL);
}

/* Returns the texts that the numbers stand for, of a table <texts x width>. */
static struct value *texts_of(struct onnx_import *im, const struct onnx_node *n,
                              struct value *table, struct value *numbers)
{
        const struct type *t = numbers->type;
        const int64_t width = value_extent(table, 1);
        dim_t dims[RANK_MAX];
        if (t->rank >= RANK_MAX) {
                onnx_unsupported(im, n, "texts of rank %d", t->rank);
                return NULL;
        }
        memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
        dims[t->rank] = dim_of(width);
        const struct type *to = compose_type(im->c, E_U8, t->rank + 1, dims);
        if (!to)
                return NULL;
        if (!type_elements(to))
                return constant_number(im->m, to, 0);
        const int64_t count = type_elements(t);
        bool same = value_is_constant(numbers) && count == value_extent(table, 0);
        for (int64_t i = 0; same && i < count; i++)
                same = constant_element(numbers->constant,
                                        numbers->constant->kind == CONSTANT_SPLAT ? 0 : i).i == i;
        return same ? compose_reshape(im->c, table, to->rank, to->dims)
                    : build_gather(&im->b, table, numbers, 0);
}

/* Returns all texts among the inputs one after the other, <texts x width>, and puts the numbers
 * that stand for them in their place. */
static struct value *take_numbers(struct onnx_import *im, struct onnx_node *n, bool filled)
{
        struct value **parts = arena_array(im->arena, (size_t)n->input_count + 1, sizeof *parts);
        int64_t width = 1, first = filled;
        int count = 0;
        for (int i = 0; i < n->input_count; i++)
                if (onnx_is_texts(n->inputs[i])) {
                        const struct value *bytes = onnx_texts_bytes(n->inputs[i]);
                        width = compose_max(width, value_extent(bytes, value_rank(bytes) - 1));
                }
        if (filled) {
                const dim_t dims[2] = { dim_of(1), dim_of(width) };
                const struct type *t = compose_type(im->c, E_U8, 2, dims);
                if (!t)
                        return NULL;
                parts[count++] = constant_number(im->m, t, 0);
        }
        for (int i = 0; i < n->input_count; i++) {
                if (!onnx_is_texts(n->inputs[i]))
                        continue;
                struct value *bytes = onnx_texts_bytes(n->inputs[i]);
                const int64_t texts = type_elements(n->inputs[i]->type),
                              own = value_extent(bytes, value_rank(bytes) - 1);
                n->inputs[i] = numbers_of(im, n->inputs[i]->type, first);
                bytes = compose_reshape(im->c, bytes, 2,
                                        (const dim_t[]){ dim_of(texts), dim_of(own) });
                parts[count] = bytes ? compose_fitted(im->c, bytes, 1, width) : NULL;
                if (!n->inputs[i] || !parts[count++])
                        return NULL;
                first += texts;
        }
        return compose_concat(im->c, parts, count, 0);
}

/* Checks that texts are put where others were, not added to them. */
static bool no_reduction(struct onnx_import *im, struct onnx_node *n)
{
        static const char none[] = "none";
        const ProtobufCBinaryData *given;
        int count;

        if (!onnx_strings(im, n, "reduction", &given, &count))
                return false;
        const bool same = count && given->len == strlen(none) &&
                          !memcmp(given->data, none, given->len);
        return !count || same || onnx_invalid(im, n, "a reduction of texts");
}

static bool import_moved(struct onnx_import *im, struct onnx_node *n, enum texts_how how)
{
        struct value **given = n->inputs;
        const struct type **declared = n->declared;
        n->inputs = arena_copy(im->arena, given, (size_t)n->input_count * sizeof *given);
        n->declared = arena_array(im->arena, (size_t)n->output_count, sizeof *declared);
        for (int i = 0; i < n->output_count; i++)
                n->declared[i] = declared[i] && declared[i]->element == E_STRING
                                         ? type_with_element(im->m, declared[i], E_I64)
                                         : declared[i];
        if (!no_reduction(im, n))
                return false;
        struct value *table = take_numbers(im, n, how == FILLED);
        bool ok = table && n->row->import(im, n);
        n->inputs = given;
        n->declared = declared;
        for (int i = 0; ok && how != READ && i < n->output_count; i++) {
                if (!n->outputs[i])
                        continue;
                n->outputs[i] = onnx_texts_new(im, texts_of(im, n, table, n->outputs[i]));
                ok = n->outputs[i] != NULL;
        }
        return ok;
}

bool onnx_texts_import(struct onnx_import *im, struct onnx_node *n)
{
        int first = 0;
        while (first < n->input_count && !onnx_is_texts(n->inputs[first]))
                first++;
        if (first == n->input_count)
                return n->row->import(im, n);
        const enum texts_how how = how_of(n->row);
        if (how == TAKEN)
                return n->row->import(im, n);
        if (how == LATER)
                return onnx_unsupported(im, n, "operand %d is %s, which is supported of numbers "
                                               "alone", first,
                                        compose_text(im->c, n->inputs[first]->type));
        if (how == REFUSED)
                return onnx_invalid(im, n, "operand %d is %s, want numbers", first,
                                    compose_text(im->c, n->inputs[first]->type));
        return import_moved(im, n, how);
}

/* ---- widths of inputs ---- */

enum { TEXT_BYTES_MOST = 1 << 20 };

bool onnx_texts_width(struct onnx_import *im, const char *name, int64_t *bytes)
{
        const struct import_options *o = im->options;
        *bytes = TEXT_BYTES_PRESET;
        bool named = false;
        for (int i = 0; i < o->text_byte_count; i++) {
                const char *option = o->text_bytes[i], *equals = strrchr(option, '=');
                int64_t number;
                if (!int_parse(equals ? equals + 1 : option, &number) || number < 1 ||
                    number > TEXT_BYTES_MOST) {
                        diag_error(im->diag, EXIT_USAGE,
                                   "--text-bytes %s: want [NAME=]N with N from 1 to %d",
                                   text_argument(im->arena, option), TEXT_BYTES_MOST);
                        return false;
                }
                const bool own = equals && strlen(name) == (size_t)(equals - option) &&
                                 !memcmp(name, option, strlen(name));
                if (own || (!equals && !named))
                        *bytes = number;
                named |= own;
                if (own || !equals)
                        map_set(im->model->text_bytes, option, strlen(option), im->model);
        }
        return true;
}

bool onnx_check_texts_used(struct onnx_import *im)
{
        const struct import_options *o = im->options;
        for (int i = 0; i < o->text_byte_count; i++)
                if (!map_get(im->model->text_bytes, o->text_bytes[i], strlen(o->text_bytes[i]))) {
                        diag_error(im->diag, EXIT_USAGE,
                                   "--text-bytes %s: the model has no such input of texts",
                                   text_argument(im->arena, o->text_bytes[i]));
                        return false;
                }
        return true;
}
