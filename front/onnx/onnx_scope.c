/* SPDX-License-Identifier: MIT */
/* There is a scope of names for each graph that is being imported; they nest. */
#include "front/onnx/onnx_model.h"

#include <string.h>

struct onnx_scope *onnx_scope_new(struct onnx_import *im, struct onnx_scope *parent)
{
        struct onnx_scope *scope = ARENA_NEW(im->arena, struct onnx_scope);
        scope->parent = parent;
        scope->names = map_new(im->arena);
        return scope;
}

struct onnx_entry *onnx_scope_find(const struct onnx_scope *scope, bytes_t name)
{
        struct onnx_entry *entry = NULL;
        for (; scope && !entry && name.len; scope = scope->parent)
                entry = map_get(scope->names, (const char *)name.data, name.len);
        return entry;
}

/* Hides a name of an outer scope. The standard forbids it; Paddle2ONNX writes it in loops of
 * recurrent layers, and onnxruntime reads it so. */
static void hide(struct onnx_import *im, bytes_t name, const char *what,
                 const Onnx__NodeProto *node)
{
        const char *key = (const char *)name.data;
        if (map_get(im->model->hiding, key, name.len))
                return;
        map_set(im->model->hiding, key, name.len, im);
        diag_warning(
                im->diag,
                "%s%s%s '%s' of a subgraph has the name of a value outside, which it hides there",
                node ? onnx_node_text(im, node) : "", node ? ": " : "", what, SAFE(im, name));
}

bool onnx_scope_define(struct onnx_import *im, struct onnx_scope *scope, bytes_t name,
                       struct onnx_entry entry, const char *what, const Onnx__NodeProto *node)
{
        const struct onnx_scope here = { .names = scope->names };
        const char *wrong = !name.len                        ? "without a name"
                            : memchr(name.data, 0, name.len) ? "has a NUL in its name"
                            : onnx_scope_find(&here, name)   ? "has a name that is taken"
                                                             : NULL;
        if (wrong)
                return onnx_error(im, "%s%s%s '%s' %s", node ? onnx_node_text(im, node) : "",
                                  node ? ": " : "", what, SAFE(im, name), wrong);
        if (onnx_scope_find(scope->parent, name))
                hide(im, name, what, node);
        map_set(scope->names, (const char *)name.data, name.len,
                arena_copy(im->arena, &entry, sizeof entry));
        return true;
}

/* ---- nesting ---- */

bool onnx_enter(struct onnx_import *im)
{
        int64_t limit = im->context->limits.nesting < NESTING_MAX / 2 ? im->context->limits.nesting
                                                                      : NESTING_MAX / 2;
        if (im->model->nesting >= limit)
                return onnx_over_limit(im, "nested subgraphs and functions", "nesting", limit);
        im->model->nesting++;
        return true;
}

void onnx_leave(struct onnx_import *im) { im->model->nesting--; }

struct onnx_region onnx_region_enter(struct onnx_import *im, struct region *region)
{
        struct onnx_region outer = { im->b.region, im->model->counted, im->m->known_count };
        im->b.region = region;
        im->model->counted = NULL;
        return outer;
}

void onnx_region_leave(struct onnx_import *im, struct onnx_region outer)
{
        im->b.region = outer.region;
        im->model->counted = outer.counted;
        im->m->known_count = outer.known;       /* What the region counts is known in it alone. */
}
