/* SPDX-License-Identifier: MIT */
/* Operators of sequences and optionals compute with lists of values (onnx_sequence.h). */
#include <string.h>

#include "base/size.h"
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_model.h"
#include "front/onnx/onnx_stack.h"
#include "front/onnx/onnx_texts.h"
#include "front/compose/compose_move.h"

/* Returns input i as a sequence, or NULL after an error. */
static struct onnx_sequence *sequence(struct onnx_import *im, const struct onnx_node *n, int i)
{
        struct value *v = n->inputs[i];
        if (v->type->kind == TYPE_SEQUENCE)
                return (struct onnx_sequence *)v;
        onnx_invalid(im, n, "input %d is %s, want a sequence", i, compose_text(im->c, v->type));
        return NULL;
}

/* Reads operand i, a position from -count on and below `end`; negative ones count from the last
 * item. An absent one gives the preset. */
static bool position(struct onnx_import *im, const struct onnx_node *n, int i, int count, int end,
                     int preset, int *at)
{
        int64_t stated;
        bool known;
        if (!onnx_operand_int(im, n, i, preset, &stated, &known))
                return false;
        if (!known)
                return onnx_unsupported(im, n, "the position is a run-time value");
        if (stated < -(int64_t)count || stated >= end)
                return onnx_invalid(im, n, "position %lld in a sequence of %d items",
                                    (long long)stated, count);
        *at = (int)(stated < 0 ? stated + count : stated);
        return true;
}

/* Does only a run know the sequence, or the position that input i is? */
static bool only_run_knows(const struct onnx_node *n, const struct onnx_sequence *list, int i)
{
        const struct value *at = onnx_input(n, i);
        return list && (list->stack || (at && !value_is_constant(at)));
}

/* Is it of texts? Then it is an error, as only a run knows the position. */
static bool of_texts_at_run(struct onnx_import *im, const struct onnx_node *n,
                            const struct onnx_sequence *list)
{
        return list->value.type->of->element == E_STRING &&
               !onnx_unsupported(im, n, "a sequence of texts, at a position that only a run knows");
}

/* ---- making sequences ---- */

bool onnx_import_sequence_empty(struct onnx_import *im, struct onnx_node *n)
{
        int64_t number;
        enum element e;
        return onnx_int(im, n, "dtype", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, &number) &&
               onnx_element_number(im, n, "dtype", number, &e) &&
               onnx_output(n, 0, onnx_sequence_new(im, e, NULL, 0));
}

bool onnx_import_sequence_construct(struct onnx_import *im, struct onnx_node *n)
{
        for (int i = 0; i < n->input_count; i++)
                if (!n->inputs[i])
                        return onnx_invalid(im, n, "input %d is required", i);
        return onnx_same_element(im, n, n->inputs, n->input_count) &&
               onnx_output(n, 0,
                           onnx_sequence_new(im, value_element(n->inputs[0]), n->inputs,
                                             n->input_count));
}

/* An item behind the last one takes the next place of the room, where no other sequence has put one
 * there. */
bool onnx_import_sequence_insert(struct onnx_import *im, struct onnx_node *n)
{
        struct onnx_sequence *list = sequence(im, n, 0);
        int at;
        if (!list || !onnx_want_element(im, n, 1, list->value.type->of->element))
                return false;
        if (only_run_knows(n, list, 2))
                return !of_texts_at_run(im, n, list) &&
                       onnx_output(n, 0, onnx_stack_insert(im, n, &list->value, n->inputs[1],
                                                           onnx_input(n, 2)));
        if (!position(im, n, 2, list->count, list->count + 1, list->count, &at))
                return false;
        struct onnx_room *room = list->room;
        if (at < list->count || room->used > list->count || room->used == room->size)
                room = onnx_room_new(im, room->items, list->count);
        if (!room)
                return false;
        memmove(room->items + at + 1, room->items + at,
                (size_t)(list->count - at) * sizeof *room->items);
        room->items[at] = n->inputs[1];
        room->used++;
        return onnx_output(
                n, 0, &onnx_sequence_share(im, list->value.type, room, list->count + 1)->value);
}

bool onnx_import_sequence_erase(struct onnx_import *im, struct onnx_node *n)
{
        struct onnx_sequence *list = sequence(im, n, 0);
        int at;
        if (only_run_knows(n, list, 1))
                return !of_texts_at_run(im, n, list) &&
                       onnx_output(n, 0, onnx_stack_erase(im, n, &list->value, onnx_input(n, 1)));
        if (!list || !position(im, n, 1, list->count, list->count, list->count - 1, &at))
                return false;
        struct onnx_room *room = at == list->count - 1
                                         ? list->room
                                         : onnx_room_new(im, list->room->items, list->count);
        if (!room)
                return false;
        if (room != list->room) {
                memmove(room->items + at, room->items + at + 1,
                        (size_t)(list->count - at - 1) * sizeof *room->items);
                room->used--;
        }
        return onnx_output(
                n, 0, &onnx_sequence_share(im, list->value.type, room, list->count - 1)->value);
}

/* Returns the parts' extents, which are `split` each, and for the last one what is left, or are
 * listed by `split`. */
static int64_t *part_extents(struct onnx_import *im, struct onnx_node *n, int64_t extent,
                             int *count)
{
        const struct value *split = onnx_input(n, 1);
        int64_t each = 1, sum = 0;
        bool known = true, listed = split && value_rank(split) == 1;
        if (split && !listed && !onnx_operand_int(im, n, 1, 1, &each, &known))
                return NULL;
        if (each < 1) {
                onnx_invalid(im, n, "parts of extent %lld", (long long)each);
                return NULL;
        }
        int64_t parts = listed ? type_elements(split->type) : divide_up(extent, each);
        if (!onnx_within_work(im, "parts of a sequence", parts))
                return NULL;
        int64_t *extents = arena_array(im->arena, (size_t)parts, sizeof *extents);
        *count = (int)parts;
        if (listed && !onnx_operand_ints(im, n, 1, extents, *count, count, &known))
                return NULL;
        for (int i = 0; i < *count && !listed; i++)
                extents[i] = compose_min(each, extent - i * each);
        for (int i = 0; i < *count; i++)
                if (extents[i] < 0 || !int_add(sum, extents[i], &sum)) {
                        onnx_invalid(im, n, "part %d is of extent %lld", i, (long long)extents[i]);
                        return NULL;
                }
        if (sum == extent)
                return extents;
        onnx_invalid(im, n, "the parts sum to %lld, want %lld", (long long)sum, (long long)extent);
        return NULL;
}

/* Makes the parts of x whose extents only a run knows: a list where it is said how many there are,
 * else a stack. */
static struct value *split_at_run(struct onnx_import *im, struct onnx_node *n, int axis, bool keep)
{
        struct value *x = n->inputs[0], *split = onnx_input(n, 1);
        struct value *parts = split ? onnx_operand_vector(im, n, 1) : NULL;
        int count = split && value_rank(split) == 1 ? (int)value_extent(split, 0) : 0;
        if (split && !parts)
                return NULL;
        if (!split || value_rank(split) != 1)
                return onnx_stack_split(im, n, x, axis,
                                        parts ? compose_pick(im->c, parts, 0, 0) : NULL,
                                        !split && !keep);
        struct value **items = arena_array(im->arena, (size_t)count + 1, sizeof *items);
        return onnx_counted_parts(im, n, x, axis, parts, count, items)
                       ? onnx_sequence_new(im, value_element(x), items, count)
                       : NULL;
}

bool onnx_import_split_to_sequence(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t stated, keep, start = 0;
        dim_t without[RANK_MAX];
        int axis, count, rank = value_rank(x);
        if (!onnx_int(im, n, "axis", 0, &stated) || !onnx_axis(im, n, stated, rank, &axis) ||
            !onnx_int_range(im, n, "keepdims", 1, 0, 1, &keep))
                return false;
        const struct value *split = onnx_input(n, 1);
        const bool is_text = onnx_is_texts(x), at_run = split && !value_is_constant(split);
        if (is_text && at_run)
                return onnx_unsupported(im, n, "parts of texts, of extents that only a run knows");
        if (!dim_is_static(x->type->dims[axis]) || at_run)
                return onnx_output(n, 0, split_at_run(im, n, axis, keep));
        int64_t *extents = part_extents(im, n, value_extent(x, axis), &count);
        if (!extents)
                return false;
        bool vanishes = !keep && !onnx_input(n, 1);
        const enum element e = value_element(x);
        x = is_text ? onnx_texts_bytes(x) : x;
        rank = value_rank(x);
        for (int d = 0; d < rank; d++)
                without[d - (d > axis)] = x->type->dims[d];
        struct value **items = arena_array(im->arena, (size_t)count, sizeof *items);
        for (int i = 0; i < count; i++) {
                items[i] = compose_part(im->c, x, axis, start, extents[i]);
                if (items[i] && vanishes)
                        items[i] = compose_reshape(im->c, items[i], rank - 1, without);
                if (items[i] && is_text)
                        items[i] = onnx_texts_new(im, items[i]);
                if (!items[i])
                        return false;
                start += extents[i];
        }
        return onnx_output(n, 0, onnx_sequence_new(im, e, items, count));
}

/* ---- a body for each item ---- */

/* Checks that there are tensors and sequences, for each of which the body has an input. */
static bool check_body(struct onnx_import *im, struct onnx_node *n, const Onnx__GraphProto *body)
{
        if (body->n_input != (size_t)n->input_count || (size_t)n->output_count > body->n_output)
                return onnx_invalid(im, n, "%d inputs and %d outputs; its body has %zu and %zu",
                                    n->input_count, n->output_count, body->n_input, body->n_output);
        for (int i = 1; i < n->input_count; i++)
                if (!n->inputs[i] || n->inputs[i]->type->kind == TYPE_OPTIONAL)
                        return onnx_invalid(im, n, "input %d is required", i);
        return true;
}

/* Checks that inputs beside the first sequence are tensors, or sequences of as many items. */
static bool check_map(struct onnx_import *im, struct onnx_node *n, const Onnx__GraphProto *body,
                      int items)
{
        if (!check_body(im, n, body))
                return false;
        for (int i = 1; i < n->input_count; i++) {
                const struct value *v = n->inputs[i];
                if (v->type->kind == TYPE_SEQUENCE &&
                    ((const struct onnx_sequence *)v)->count != items)
                        return onnx_invalid(im, n, "input %d has %d items, the first one %d", i,
                                            ((const struct onnx_sequence *)v)->count, items);
        }
        return items ||
               onnx_unsupported(
                       im, n,
                       "the sequence is empty, and of what element the results are is not stated");
}

/* Returns the sequence of the results that output `which` of the body had, one for each item. */
static struct value *mapped(struct onnx_import *im, struct onnx_node *n, struct value *const *made,
                            int which, int outputs, int items)
{
        struct value **list = arena_array(im->arena, (size_t)items, sizeof *list);
        for (int k = 0; k < items; k++) {
                list[k] = made[k * outputs + which];
                if (list[k]->type->kind != TYPE_TENSOR ||
                    value_element(list[k]) != value_element(list[0])) {
                        onnx_invalid(im, n, "output %d of its body is %s for item %d", which,
                                     compose_text(im->c, list[k]->type), k);
                        return NULL;
                }
        }
        return onnx_sequence_new(im, value_element(list[0]), list, items);
}

bool onnx_import_sequence_map(struct onnx_import *im, struct onnx_node *n)
{
        struct onnx_sequence *first = sequence(im, n, 0);
        const Onnx__GraphProto *body = first ? onnx_graph_attribute(im, n, "body") : NULL;
        bool at_run = false;
        for (int i = 0; body && i < n->input_count; i++)
                at_run |= n->inputs[i] && onnx_stack_of(n->inputs[i]);
        if (at_run)
                return check_body(im, n, body) && onnx_map_at_run(im, n, body);
        if (!body || !check_map(im, n, body, first->count))
                return false;
        int outputs = n->output_count;
        struct value **arguments =
                             arena_array(im->arena, (size_t)n->input_count, sizeof *arguments),
                     **made = arena_array(im->arena, (size_t)outputs * (size_t)first->count,
                                          sizeof *made);
        for (int k = 0; k < first->count; k++) {
                for (int i = 0; i < n->input_count; i++)
                        arguments[i] =
                                n->inputs[i]->type->kind == TYPE_TENSOR
                                        ? n->inputs[i]
                                        : ((struct onnx_sequence *)n->inputs[i])->room->items[k];
                if (!onnx_repeat_graph(im, body, arguments, n->input_count, made + k * outputs,
                                       outputs))
                        return false;
        }
        for (int i = 0; i < outputs; i++)
                if (!onnx_output(n, i, mapped(im, n, made, i, outputs, first->count)))
                        return false;
        return true;
}

/* ---- taking sequences apart ---- */

bool onnx_import_sequence_length(struct onnx_import *im, struct onnx_node *n)
{
        struct onnx_sequence *list = sequence(im, n, 0);
        return list && onnx_output(n, 0, list->stack ? list->stack->count
                                                     : compose_integer(im->c, E_I64, list->count));
}

/* Returns the texts at a position that only a run knows, or NULL after an error: where all have one
 * shape. */
static struct value *texts_at(struct onnx_import *im, struct onnx_node *n,
                              const struct onnx_sequence *list)
{
        for (int i = 1; i < list->count; i++)
                if (!type_same_dims(list->room->items[i]->type, list->room->items[0]->type)) {
                        onnx_unsupported(im, n, "a sequence of texts of several shapes, at a "
                                                "position that only a run knows");
                        return NULL;
                }
        if (!list->count) {
                onnx_invalid(im, n, "the sequence is empty");
                return NULL;
        }
        struct value *all = onnx_texts_stack(im, list->room->items, list->count, 0),
                     *at = compose_one_number(im->c, "the position", n->inputs[1],
                                              value_element(n->inputs[1]));
        return all && at ? onnx_texts_new(im, build_gather(&im->b, onnx_texts_bytes(all), at, 0))
                         : NULL;
}

bool onnx_import_sequence_at(struct onnx_import *im, struct onnx_node *n)
{
        struct onnx_sequence *list = sequence(im, n, 0);
        int at;
        if (only_run_knows(n, list, 1) && list->value.type->of->element == E_STRING)
                return onnx_want_integer(im, n, 1) && onnx_output(n, 0, texts_at(im, n, list));
        if (only_run_knows(n, list, 1))
                return onnx_want_integer(im, n, 1) &&
                       onnx_output(n, 0, onnx_stack_at(im, n, &list->value, n->inputs[1]));
        return list && position(im, n, 1, list->count, list->count, 0, &at) &&
               onnx_output(n, 0, list->room->items[at]);
}

bool onnx_import_concat_from_sequence(struct onnx_import *im, struct onnx_node *n)
{
        struct onnx_sequence *list = sequence(im, n, 0);
        int64_t stated, fresh;
        int axis;
        if (!list || !onnx_int_required(im, n, "axis", &stated) ||
            !onnx_int_range(im, n, "new_axis", 0, 0, 1, &fresh))
                return false;
        if (!list->count && !list->stack)
                return onnx_invalid(im, n, "the sequence is empty");
        struct value *const *items = list->stack ? NULL : list->room->items;
        const int rank = items ? value_rank(items[0]) : value_rank(list->stack->rows) - 1;
        if (!onnx_axis(im, n, stated, rank + (int)fresh, &axis))
                return false;
        if (list->stack)
                return onnx_output(n, 0, onnx_stack_concat(im, n, &list->value, axis, fresh));
        return onnx_output(n, 0,
                           fresh ? onnx_texts_stack(im, items, list->count, axis)
                                 : onnx_texts_concat(im, items, list->count, axis));
}

/* ---- optionals ---- */

/* An optional with a value is that value. */
bool onnx_import_optional(struct onnx_import *im, struct onnx_node *n)
{
        const Onnx__AttributeProto *stated = onnx_attribute(n, "type");
        const Onnx__TypeProto *t = stated ? stated->tp : NULL;
        enum element e;
        if (onnx_input(n, 0))
                return onnx_output(n, 0, n->inputs[0]);
        if (!t)
                return onnx_invalid(im, n, "neither an input nor a type is given");
        bool sequence = t->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
        if (sequence)
                t = t->sequence_type->elem_type;
        if (!t || t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
                return onnx_unsupported(
                        im, n, "an optional of what is neither a tensor nor a sequence of tensors");
        return onnx_element_number(im, n, "type", t->tensor_type->elem_type, &e) &&
               onnx_output(n, 0, onnx_absent_new(im, e, sequence));
}

bool onnx_import_optional_has_element(struct onnx_import *im, struct onnx_node *n)
{
        const struct value *v = onnx_input(n, 0);
        if (v && v->type->kind == TYPE_OPTIONAL && onnx_stack_of(v))
                return onnx_output(n, 0, onnx_stack_present(im, v));
        return onnx_output(n, 0,
                           compose_integer(im->c, E_BOOL, v && v->type->kind != TYPE_OPTIONAL));
}

bool onnx_import_optional_get_element(struct onnx_import *im, struct onnx_node *n)
{
        if (n->inputs[0]->type->kind == TYPE_OPTIONAL && onnx_stack_of(n->inputs[0]))
                return onnx_output(n, 0, onnx_stack_element(im, n, n->inputs[0]));
        if (n->inputs[0]->type->kind == TYPE_OPTIONAL)
                return onnx_invalid(im, n, "the optional has no value");
        return onnx_output(n, 0, n->inputs[0]);
}
