/* SPDX-License-Identifier: MIT */
/* Sequences and optionals are lists of values. */
#include "front/onnx/onnx_sequence.h"

#include <string.h>

#include "front/onnx/onnx_model.h"

struct onnx_sequence *onnx_sequence_share(struct onnx_import *im, const struct type *type,
                                          struct onnx_room *room, int count)
{
        struct onnx_sequence *list = ARENA_NEW(im->arena, struct onnx_sequence);
        *list = (struct onnx_sequence){ .value = { .kind = VALUE_ARGUMENT, .type = type },
                                        .count = count,
                                        .room = room };
        return list;
}

struct onnx_room *onnx_room_new(struct onnx_import *im, struct value *const *items, int count)
{
        enum { PER_OPERATION = 32 };    /* So many copies cost no more than one operation. */
        im->model->items += count;
        if (!onnx_within_work(im, "items of sequences that are copied",
                              im->model->items / PER_OPERATION))
                return NULL;
        int size = 2 * count + 4;
        struct onnx_room *room =
                arena_alloc(im->arena, sizeof *room + (size_t)size * sizeof *room->items);
        *room = (struct onnx_room){ .used = count, .size = size };
        if (count)
                memcpy(room->items, items, (size_t)count * sizeof *items);
        return room;
}

static const struct type *sequence_type(struct onnx_import *im, enum element e)
{
        return type_wrap(im->m, TYPE_SEQUENCE, type_scalar(im->m, e));
}

struct value *onnx_sequence_new(struct onnx_import *im, enum element e, struct value *const *items,
                                int count)
{
        struct onnx_room *room = onnx_room_new(im, items, count);
        return room ? &onnx_sequence_share(im, sequence_type(im, e), room, count)->value : NULL;
}

struct value *onnx_absent_new(struct onnx_import *im, enum element e, bool sequence)
{
        const struct type *of = sequence ? sequence_type(im, e) : type_scalar(im->m, e);
        return &onnx_sequence_share(im, type_wrap(im->m, TYPE_OPTIONAL, of), NULL, 0)->value;
}

struct value *onnx_map_new(struct onnx_import *im, struct value *keys, struct value *values)
{
        struct value *const parts[2] = { keys, values };
        struct value *v = onnx_sequence_new(im, values->type->element, parts, 2);
        if (v)
                ((struct onnx_sequence *)v)->is_map = true;
        return v;
}

bool onnx_is_map(const struct value *v)
{
        return v->type->kind == TYPE_SEQUENCE && ((const struct onnx_sequence *)v)->is_map;
}

struct value *const *onnx_sequence_items(const struct value *v, int *count)
{
        const struct onnx_sequence *list = (const struct onnx_sequence *)v;
        *count = list->count;
        return list->count ? list->room->items : NULL;
}
