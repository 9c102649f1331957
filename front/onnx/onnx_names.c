/* SPDX-License-Identifier: MIT */
/* Names of values and domains are bytes of the model; a node's operator has its rows by name. */
#include "front/onnx/onnx_model.h"

#include <string.h>

bytes_t onnx_bytes(const char *text) { return (bytes_t){ strlen(text), (uint8_t *)text }; }

char *onnx_string(struct arena *arena, bytes_t text)
{
        char *string = arena_alloc(arena, text.len + 1);
        if (text.len)
                memcpy(string, text.data, text.len);
        return string;
}

bytes_t onnx_domain(bytes_t domain)
{
        static const char standard[] = "ai.onnx";
        bool same = !domain.len || (domain.len == sizeof standard - 1 &&
                                    !memcmp(domain.data, standard, domain.len));
        return same ? onnx_bytes("") : domain;
}

int onnx_opset(const struct onnx_import *im, bytes_t domain)
{
        const int *version =
                map_get(im->model->frame->opsets, (const char *)domain.data, domain.len);
        return version ? *version : 0;
}

/* ---- rows ---- */

enum { KEY_ROOM = 256 };

/* Returns the key "domain NUL operator", or NULL where it is longer than that of any row. */
static const char *row_key(char room[KEY_ROOM], bytes_t domain, bytes_t op, size_t *length)
{
        *length = domain.len + 1 + op.len;
        if (domain.len >= KEY_ROOM || op.len >= KEY_ROOM || *length > KEY_ROOM)
                return NULL;
        memcpy(room, domain.len ? domain.data : (const uint8_t *)"", domain.len);
        room[domain.len] = 0;
        memcpy(room + domain.len + 1, op.len ? op.data : (const uint8_t *)"", op.len);
        return room;
}

struct map *onnx_rows_map(struct arena *arena, const struct onnx_row *rows, int count)
{
        struct map *map = map_new(arena);
        for (int i = count - 1; i >= 0; i--) {
                char room[KEY_ROOM];
                size_t length;
                const char *key =
                        row_key(room, onnx_bytes(rows[i].domain), onnx_bytes(rows[i].op), &length);
                struct onnx_row_list *entry = ARENA_NEW(arena, struct onnx_row_list);
                *entry = (struct onnx_row_list){ &rows[i], map_get(map, key, length) };
                map_set(map, key, length, entry);
        }
        return map;
}

const struct onnx_row_list *onnx_rows_of(const struct onnx_import *im, const Onnx__NodeProto *node)
{
        char room[KEY_ROOM];
        size_t length;
        const char *key = row_key(room, onnx_domain(node->domain), node->op_type, &length);
        return key ? map_get(im->model->rows, key, length) : NULL;
}

void onnx_redefine(struct onnx_import *im, bytes_t domain, bytes_t op)
{
        char room[KEY_ROOM];
        size_t length;
        const char *key = row_key(room, domain, op, &length);
        if (key)                        /* Else no row has such a name. */
                map_set(im->model->redefined, key, length, im);
}

static bool is_redefined(const struct onnx_import *im, const Onnx__NodeProto *node)
{
        char room[KEY_ROOM];
        size_t length;
        if (!im->model->libraries)
                return false;
        const char *key = row_key(room, onnx_domain(node->domain), node->op_type, &length);
        return key && map_get(im->model->redefined, key, length);
}

struct onnx_definition *onnx_definition_find(const struct onnx_import *im,
                                             const Onnx__NodeProto *node)
{
        const bytes_t domain = onnx_domain(node->domain), op = node->op_type;
        char name[2 * KEY_ROOM];
        if (!im->model->defining_count || !op.len || domain.len >= KEY_ROOM || op.len >= KEY_ROOM)
                return NULL;
        size_t length = 0;
        if (domain.len) {
                memcpy(name, domain.data, domain.len);
                length = domain.len;
                name[length++] = '.';
        }
        memcpy(name + length, op.data, op.len);
        struct onnx_definition *d = map_get(im->model->definitions, name, length + op.len);
        return d ? d : map_get(im->model->definitions, (const char *)op.data, op.len);
}

const struct onnx_row *onnx_row_find(const struct onnx_import *im, const Onnx__NodeProto *node)
{
        if (is_redefined(im, node) || onnx_definition_find(im, node))
                return NULL;
        int opset = onnx_opset(im, onnx_domain(node->domain));
        for (const struct onnx_row_list *l = onnx_rows_of(im, node); l; l = l->next)
                if (l->row->since <= opset && opset <= l->row->until)
                        return l->row;
        return NULL;
}

/* ---- names in attributes ---- */

static bool is_gradient(const Onnx__NodeProto *node)
{
        static const char op[] = "Gradient", domain[] = "ai.onnx.preview.training";
        return node->op_type.len == strlen(op) && !memcmp(node->op_type.data, op, strlen(op)) &&
               node->domain.len == strlen(domain) &&
               !memcmp(node->domain.data, domain, strlen(domain));
}

void onnx_each_named(const Onnx__NodeProto *node, void (*visit)(void *context, bytes_t name),
                     void *context)
{
        for (size_t i = 0; i < node->n_attribute && is_gradient(node); i++) {
                const Onnx__AttributeProto *a = node->attribute[i];
                for (size_t k = 0; k < a->n_strings; k++)
                        visit(context, a->strings[k]);
                if (a->s.len)
                        visit(context, a->s);
        }
}
