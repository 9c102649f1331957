/* SPDX-License-Identifier: MIT */
/* A node needs the producers of the names that it reads: its inputs, and of each of its subgraphs
 * the free names, those that the subgraph refers to and does not define by an input, an
 * initializer or a node of its own; Gradient names values in attributes, too. So a name in a body
 * may equal one outside (the node's own output, a name made later): the standard forbids that only
 * for names which are visible there, and where exporters write these all the same the inner one
 * counts (onnx_scope_define warns). The order is found by Kahn's algorithm, which is linear and
 * does not recurse but into subgraphs, whose depth the wire scan has bounded. */
#include "front/onnx/onnx_model.h"

#include <limits.h>
#include <string.h>

struct onnx_producer { int node; };

/* ---- names a node reads ---- */

/* The first `own` names are the node's inputs, the others are free names of its subgraphs. */
struct onnx_reads {
        bytes_t *names;
        size_t count, room, own;
};

/* These are the names that a subgraph defines, and the subgraph around it, which is NULL for the
 * node's own graph. */
struct definitions {
        const struct definitions *around;
        struct map *names;
};

static void define(struct definitions *d, bytes_t name)
{
        if (name.len)
                map_set(d->names, (const char *)name.data, name.len, d);
}

static struct definitions definitions_of(struct arena *arena, const Onnx__GraphProto *g,
                                         const struct definitions *around)
{
        struct definitions d = { .around = around, .names = map_new(arena) };
        for (size_t i = 0; i < g->n_input; i++)
                define(&d, g->input[i]->name);
        for (size_t i = 0; i < g->n_initializer; i++)
                define(&d, g->initializer[i]->name);
        for (size_t i = 0; i < g->n_sparse_initializer; i++)
                if (g->sparse_initializer[i]->values)
                        define(&d, g->sparse_initializer[i]->values->name);
        for (size_t i = 0; i < g->n_node; i++)
                for (size_t k = 0; k < g->node[i]->n_output; k++)
                        define(&d, g->node[i]->output[k]);
        return d;
}

static void read_name(struct arena *arena, struct onnx_reads *r, bytes_t name,
                      const struct definitions *inside)
{
        if (!name.len)
                return;
        for (; inside; inside = inside->around)
                if (map_get(inside->names, (const char *)name.data, name.len))
                        return;
        if (r->count == r->room) {
                bytes_t *names = arena_array(arena, r->room * 2 + 4, sizeof *names);
                if (r->count)
                        memcpy(names, r->names, r->count * sizeof *names);
                r->names = names;
                r->room = r->room * 2 + 4;
        }
        r->names[r->count++] = name;
}

static void read_node(struct arena *arena, struct onnx_reads *r, const Onnx__NodeProto *node,
                      const struct definitions *inside);

static void read_graph(struct arena *arena, struct onnx_reads *r, const Onnx__GraphProto *g,
                       const struct definitions *around)
{
        struct definitions inside = definitions_of(arena, g, around);
        for (size_t i = 0; i < g->n_node; i++)
                read_node(arena, r, g->node[i], &inside);
        for (size_t i = 0; i < g->n_output; i++)
                read_name(arena, r, g->output[i]->name, &inside);
}

struct reading { struct arena *arena; struct onnx_reads *reads; const struct definitions *inside; };

static void read_attribute_name(void *context, bytes_t name)
{
        const struct reading *reading = context;
        read_name(reading->arena, reading->reads, name, reading->inside);
}

static void read_node(struct arena *arena, struct onnx_reads *r, const Onnx__NodeProto *node,
                      const struct definitions *inside)
{
        for (size_t i = 0; i < node->n_input; i++)
                read_name(arena, r, node->input[i], inside);
        if (!inside)
                r->own = r->count;
        struct reading reading = { arena, r, inside };
        onnx_each_named(node, read_attribute_name, &reading);
        for (size_t i = 0; i < node->n_attribute; i++) {
                const Onnx__AttributeProto *a = node->attribute[i];
                if (a->g)
                        read_graph(arena, r, a->g, inside);
                for (size_t k = 0; k < a->n_graphs; k++)
                        read_graph(arena, r, a->graphs[k], inside);
        }
}

typedef bool (*visitor)(void *context, bytes_t name, bool inner);

/* Visits the names that a node reads. `inner` says that a subgraph reads the name. */
static bool each_read(const struct onnx_reads *r, visitor visit, void *context)
{
        for (size_t i = 0; i < r->count; i++)
                if (!visit(context, r->names[i], i >= r->own))
                        return false;
        return true;
}

/* ---- producers ---- */

static int producer_of(const struct onnx_wiring *w, bytes_t name)
{
        const struct onnx_producer *p =
                name.len ? map_get(w->producers, (const char *)name.data, name.len) : NULL;
        return p ? p->node : -1;
}

struct onnx_wiring *onnx_wiring_new(struct onnx_import *im, Onnx__NodeProto *const *nodes,
                                    size_t count)
{
        if (count > INT_MAX / 2) {
                onnx_error(im, "%zu nodes in one graph", count);
                return NULL;
        }
        struct arena *arena = arena_new();
        struct onnx_wiring *w = ARENA_NEW(arena, struct onnx_wiring);
        *w = (struct onnx_wiring){ .arena = arena,
                                   .nodes = nodes,
                                   .count = (int)count,
                                   .producers = map_new(arena) };
        struct onnx_producer *producers = arena_array(arena, count, sizeof *producers);
        w->reads = arena_array(arena, count, sizeof *w->reads);
        for (int i = 0; i < w->count; i++) {
                producers[i].node = i;
                read_node(arena, &w->reads[i], nodes[i], NULL);
                for (size_t k = 0; k < nodes[i]->n_output; k++) {
                        bytes_t name = nodes[i]->output[k];
                        if (!name.len)
                                continue;
                        if (producer_of(w, name) >= 0) {
                                onnx_error(im, "%s: value '%s' is made twice",
                                           onnx_node_text(im, nodes[i]), SAFE(im, name));
                                onnx_wiring_free(w);
                                return NULL;
                        }
                        map_set(w->producers, (const char *)name.data, name.len, &producers[i]);
                }
        }
        return w;
}

/* ---- what some outputs need ---- */

struct prune { struct onnx_wiring *w; struct map *names; int *stack, depth; };

static bool prune_visit(void *context, bytes_t name, bool inner)
{
        struct prune *p = context;
        (void)inner;
        if (!name.len || map_get(p->names, (const char *)name.data, name.len))
                return true;
        map_set(p->names, (const char *)name.data, name.len, p);
        int node = producer_of(p->w, name);
        if (node >= 0 && !p->w->needed[node]) {
                p->w->needed[node] = true;
                p->stack[p->depth++] = node;
        }
        return true;
}

void onnx_wiring_free(struct onnx_wiring *w)
{
        arena_free(w->arena);
}

void onnx_wiring_prune(struct onnx_wiring *w, const bytes_t *wanted, int count, struct map *names)
{
        struct prune p = { .w = w,
                           .names = names,
                           .stack = arena_array(w->arena, (size_t)w->count, sizeof *p.stack) };
        w->needed = arena_array(w->arena, (size_t)w->count, sizeof *w->needed);
        for (int i = 0; i < count; i++)
                prune_visit(&p, wanted[i], false);
        while (p.depth)
                each_read(&w->reads[p.stack[--p.depth]], prune_visit, &p);
}

/* ---- order ---- */

struct ordering {
        struct onnx_import *im;
        const struct onnx_wiring *w;
        const struct onnx_scope *scope;
        int node;                       /* It is the node whose references are visited. */
        int *waiting;                   /* It counts for each node the references to nodes without a
                                         * position yet. */
        size_t *first;                  /* It says for each node where its users begin in users;
                                         * there is one more at the end. */
        int *users;
        size_t *fill;
};

static bool count_visit(void *context, bytes_t name, bool inner)
{
        struct ordering *o = context;
        int producer = producer_of(o->w, name);
        if (producer >= 0) {
                o->first[producer + 1]++;
                o->waiting[o->node]++;
        } else if (!inner && !onnx_scope_find(o->scope, name))
                return onnx_error(o->im, "%s: input '%s' is not defined",
                                  onnx_node_text(o->im, o->w->nodes[o->node]), SAFE(o->im, name));
        return true;
}

static bool fill_visit(void *context, bytes_t name, bool inner)
{
        struct ordering *o = context;
        (void)inner;
        int producer = producer_of(o->w, name);
        if (producer >= 0)
                o->users[o->fill[producer]++] = o->node;
        return true;
}

static bool each_node(struct ordering *o, visitor visit)
{
        for (o->node = 0; o->node < o->w->count; o->node++)
                if ((!o->w->needed || o->w->needed[o->node]) &&
                    !each_read(&o->w->reads[o->node], visit, o))
                        return false;
        return true;
}

/* Places nodes in the file's order; one that waits is placed right after the last node it waits
 * for. */
static int place(struct ordering *o, int *order, int *ready)
{
        int placed = 0;
        for (int i = 0; i < o->w->count; i++) {
                int depth = 0;
                if (o->waiting[i] == 0 && (!o->w->needed || o->w->needed[i]))
                        ready[depth++] = i;
                while (depth) {
                        int node = ready[--depth];
                        order[placed++] = node;
                        o->waiting[node] = -1;
                        for (size_t u = o->first[node]; u < o->first[node + 1]; u++)
                                if (--o->waiting[o->users[u]] == 0 && o->users[u] < i)
                                        ready[depth++] = o->users[u];
                }
        }
        return placed;
}

struct descent { const struct ordering *o; int next; };

static bool waiting_visit(void *context, bytes_t name, bool inner)
{
        struct descent *d = context;
        (void)inner;
        int producer = producer_of(d->o->w, name);
        if (producer >= 0 && d->o->waiting[producer] > 0)
                d->next = producer;
        return true;
}

/* Walks from a node that was never placed against the edges: the first one met again lies on a
 * cycle. */
static int *cycle_error(struct ordering *o)
{
        bool *met = arena_array(o->im->arena, (size_t)o->w->count, sizeof *met);
        struct descent d = { .o = o };
        while (o->waiting[d.next] <= 0 || (o->w->needed && !o->w->needed[d.next]))
                d.next++;
        while (!met[d.next]) {
                met[d.next] = true;
                each_read(&o->w->reads[d.next], waiting_visit, &d);
        }
        onnx_error(o->im, "%s: needs its own result: the graph has a cycle",
                   onnx_node_text(o->im, o->w->nodes[d.next]));
        return NULL;
}

int *onnx_wiring_order(struct onnx_import *im, const struct onnx_wiring *w,
                       const struct onnx_scope *scope, int *count)
{
        size_t n = (size_t)w->count, edges = 0, wanted = 0;
        struct ordering o = { .im = im, .w = w, .scope = scope };
        o.waiting = arena_array(w->arena, n, sizeof *o.waiting);
        o.first = arena_array(w->arena, n + 1, sizeof *o.first);
        o.fill = arena_array(w->arena, n + 1, sizeof *o.fill);
        if (!each_node(&o, count_visit))
                return NULL;
        for (size_t i = 0; i <= n; i++) {
                edges += o.first[i];
                o.first[i] = o.fill[i] = edges;
        }
        o.users = arena_array(w->arena, edges, sizeof *o.users);
        each_node(&o, fill_visit);
        for (size_t i = 0; i < n; i++)
                wanted += !w->needed || w->needed[i];
        int *order = arena_array(im->arena, n, sizeof *order),
            *ready = arena_array(w->arena, n, sizeof *ready);
        *count = place(&o, order, ready);
        return (size_t)*count == wanted ? order : cycle_error(&o);
}

int *onnx_order(struct onnx_import *im, Onnx__NodeProto *const *nodes, size_t node_count,
                int *count)
{
        struct onnx_wiring *w = onnx_wiring_new(im, nodes, node_count);
        int *order = w ? onnx_wiring_order(im, w, im->scope, count) : NULL;
        if (w)
                onnx_wiring_free(w);
        return order;
}
