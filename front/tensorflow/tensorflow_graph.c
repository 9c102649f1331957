/* SPDX-License-Identifier: MIT */
/* Graphs, of the model and of its functions: their nodes by name, edges, and an order in which the
 * needed nodes can run. A node is needed where a result needs it, or a node that runs after it. */
#include "front/tensorflow/tensorflow.h"

#include <string.h>

#include "base/text.h"

enum { OUTPUTS_MOST = TF_ANY };

/* ---- nodes by name ---- */

static struct tf_graph *add_graph(struct tf_import *im, Tf__Node *const *nodes, size_t count)
{
        struct tf_graph *g = ARENA_NEW(im->arena, struct tf_graph);
        g->nodes = arena_array(im->arena, count + 1, sizeof *g->nodes);
        g->count = (int)count;
        g->order_count = -1;
        g->numbers = map_new(im->arena);
        g->arguments = map_new(im->arena);
        for (size_t i = 0; i < count; i++) {
                struct tf_graph_node *n = &g->nodes[i];
                const bytes_t name = nodes[i]->name;
                n->p = nodes[i];
                n->row = tf_row_find(n->p->op);
                n->name = tf_safe(im, name);
                n->op = tf_safe(im, n->p->op);
                if (!name.len || map_get(g->numbers, (const char *)name.data, name.len)) {
                        tf_error(im, "node %zu '%s' has %s", i, n->name,
                                 name.len ? "the name of another one" : "no name");
                        return NULL;
                }
                map_set(g->numbers, (const char *)name.data, name.len, (void *)(i + 1));
        }
        return g;
}

static bool add_function(struct tf_import *im, const Tf__Function *p)
{
        const Tf__Signature *s = p->signature;
        struct tf_graph *g = add_graph(im, p->node_def, p->n_node_def);
        if (!g)
                return false;
        if (!s || !s->name.len)
                return tf_error(im, "a function has no name");
        g->function = p;
        g->name = tf_safe(im, s->name);
        for (size_t i = 0; i < s->n_input_arg; i++)
                map_set(g->arguments, (const char *)s->input_arg[i]->name.data,
                        s->input_arg[i]->name.len, (void *)(i + 1));
        map_set(im->functions, (const char *)s->name.data, s->name.len, g);
        return true;
}

bool tf_read_graphs(struct tf_import *im)
{
        const Tf__Library *library = im->p->library;
        int64_t count = (int64_t)im->p->n_node;
        im->functions = map_new(im->arena);
        for (size_t i = 0; library && i < library->n_function; i++)
                count += (int64_t)library->function[i]->n_node_def;
        if (count > im->context->limits.nodes)
                return tf_over_limit(im, "nodes of all graphs", "nodes", im->context->limits.nodes);
        im->graph = add_graph(im, im->p->node, im->p->n_node);
        if (!im->graph)
                return false;
        for (size_t i = 0; library && i < library->n_function; i++)
                if (!add_function(im, library->function[i]))
                        return false;
        return true;
}

struct tf_graph *tf_find_function(struct tf_import *im, bytes_t name)
{
        return name.len ? map_get(im->functions, (const char *)name.data, name.len) : NULL;
}

/* ---- edges ---- */

/* Reads the number behind the last colon. */
static bool output_number(const unsigned char *at, size_t length, int *number)
{
        *number = 0;
        for (size_t i = 0; i < length; i++) {
                if (at[i] < '0' || at[i] > '9' || *number >= OUTPUTS_MOST)
                        return false;
                *number = 10 * *number + (at[i] - '0');
        }
        return length > 0;
}

bool tf_find_source(struct tf_import *im, struct tf_graph *g, bytes_t text, struct tf_source *s)
{
        const char *at = (const char *)text.data;
        const unsigned char *colon = text.len ? memchr(text.data, ':', text.len) : NULL;
        const size_t length = colon ? (size_t)(colon - text.data) : text.len;
        uintptr_t number = length ? (uintptr_t)map_get(g->arguments, at, length) : 0;
        bool fits = true;
        *s = (struct tf_source){ -(int)number, 0 };
        if (!number && length) {
                number = (uintptr_t)map_get(g->numbers, at, length);
                s->node = (int)number - 1;
        }
        if (number && colon) {
                const unsigned char *rest = colon + 1, *end = text.data + text.len;
                const unsigned char *second =
                        rest < end ? memchr(rest, ':', (size_t)(end - rest)) : NULL;
                if (second && s->node >= 0) {
                        const bytes_t name = { (size_t)(second - rest),
                                               (unsigned char *)(uintptr_t)rest };
                        const struct tf_row *row = g->nodes[s->node].row;
                        const int first = row ? tf_row_output(row, name) : 0;
                        fits = first >= 0;
                        int more = 0;
                        fits = fits &&
                               output_number(second + 1, (size_t)(end - second - 1), &more);
                        s->output = first + more;
                } else {
                        fits = output_number(rest, (size_t)(end - rest), &s->output);
                }
        }
        return (number && fits) ||
               tf_error(im, "%s%s%s'%s' is no output of a node",
                        g->name ? "function '" : "", g->name ? g->name : "",
                        g->name ? "': " : "", tf_safe(im, text));
}

static bool link_node(struct tf_import *im, struct tf_graph *g, struct tf_graph_node *n)
{
        const size_t count = n->p->n_input;
        if (count > TF_ANY)
                return tf_error(im, "node '%s' has %zu operands", n->name, count);
        n->sources = arena_array(im->arena, count + 1, sizeof *n->sources);
        n->controls = arena_array(im->arena, count + 1, sizeof *n->controls);
        for (size_t i = 0; i < count; i++) {
                bytes_t text = n->p->input[i];
                struct tf_source s;
                const bool is_control = text.len && text.data[0] == '^';
                text.data += is_control;
                text.len -= is_control;
                if (!tf_find_source(im, g, text, &s)) {
                        diag_hint(im->diag, "node '%s' names it", n->name);
                        return false;
                }
                if (!is_control)
                        n->sources[n->source_count++] = s;
                else if (s.node >= 0)
                        n->controls[n->control_count++] = s.node;
        }
        return true;
}

bool tf_link(struct tf_import *im, struct tf_graph *g)
{
        for (int i = 0; i < g->count; i++)
                if (!g->nodes[i].sources && !link_node(im, g, &g->nodes[i]))
                        return false;
        return true;
}

/* ---- order ---- */

/* Returns what node k's edge i comes from, or -1 behind the last one; -2: an argument. */
static int before(const struct tf_graph *g, int k, int i)
{
        const struct tf_graph_node *n = &g->nodes[k];
        if (n->row && n->row->kind == TF_DROPPED)
                return i < n->control_count ? n->controls[i] : -1;
        if (i < n->source_count)
                return n->sources[i].node < 0 ? -2 : n->sources[i].node;
        i -= n->source_count;
        return i < n->control_count ? n->controls[i] : -1;
}

/* Visits what node `root` needs, then the node: the order in which they can run. *cycle becomes a
 * node on a cycle. */
static void visit(struct tf_graph *g, int root, int *next, int *stack, int *cycle)
{
        int depth = 0;
        if (next[root])
                return;
        stack[depth++] = root;
        next[root] = 1;
        while (depth) {
                const int k = stack[depth - 1];
                const int from = before(g, k, next[k] - 1);
                next[k]++;
                if (from >= 0 && !next[from]) {
                        next[from] = 1;
                        stack[depth++] = from;
                } else if (from >= 0 && next[from] > 0) {
                        *cycle = from;
                } else if (from == -1) {
                        next[k] = -1;
                        g->order[g->order_count++] = k;
                        depth--;
                }
        }
}

/* Functions that nodes call. */
static const char *const calls[] = { "f", "then_branch", "else_branch", "cond", "body", NULL };

struct unknown { const char *op; int count; };
struct looked_at {
        struct tf_graph **graphs;
        int count;
        struct map *known;
        struct unknown *unknown;
        int unknown_count;
};

/* Finds the order of one graph, and looks at what its nodes are and call. */
static bool order_graph(struct tf_import *im, struct tf_graph *g, const struct tf_source *wanted,
                        int count, struct looked_at *l, int *cycle)
{
        int *next = arena_array(im->arena, (size_t)g->count + 1, sizeof *next);
        int *stack = arena_array(im->arena, (size_t)g->count + 1, sizeof *stack);
        g->order = arena_array(im->arena, (size_t)g->count + 1, sizeof *g->order);
        g->order_count = 0;
        for (int i = 0; i < count; i++)
                if (wanted[i].node >= 0)
                        visit(g, wanted[i].node, next, stack, cycle);
        for (size_t i = 0; g->function && i < g->function->n_control_ret; i++) {
                struct tf_source s;
                if (!tf_find_source(im, g, g->function->control_ret[i]->value, &s))
                        return false;
                if (s.node >= 0)
                        visit(g, s.node, next, stack, cycle);
        }
        for (int i = 0; i < g->order_count; i++) {
                const struct tf_graph_node *n = &g->nodes[g->order[i]];
                const struct tf_node node = { .g = n };
                uintptr_t number = n->row ? 0 : (uintptr_t)map_get(l->known, n->op, strlen(n->op));
                if (!n->row && !number) {
                        ARENA_GROW(im->arena, l->unknown, l->unknown_count);
                        l->unknown[l->unknown_count++].op = n->op;
                        number = (uintptr_t)l->unknown_count;
                        map_set(l->known, n->op, strlen(n->op), (void *)number);
                }
                if (!n->row)
                        l->unknown[number - 1].count++;
                for (int k = 0; calls[k] && n->row; k++) {
                        const bytes_t *name = tf_function(&node, calls[k]);
                        struct tf_graph *f = name ? tf_find_function(im, *name) : NULL;
                        if (!f || f->order_count >= 0)
                                continue;
                        f->order_count = 0;
                        ARENA_GROW(im->arena, l->graphs, l->count);
                        l->graphs[l->count++] = f;
                }
        }
        return true;
}

/* Finds what a function gives. */
static bool find_results(struct tf_import *im, struct tf_graph *f)
{
        const Tf__Signature *s = f->function->signature;
        f->results = arena_array(im->arena, s->n_output_arg + 1, sizeof *f->results);
        for (size_t i = 0; i < s->n_output_arg; i++) {
                const bytes_t name = s->output_arg[i]->name;
                const Tf__Pair *pair = NULL;
                for (size_t k = 0; k < f->function->n_ret; k++)
                        if (tf_same(f->function->ret[k]->key, (const char *)name.data, name.len))
                                pair = f->function->ret[k];
                if (!pair)
                        return tf_error(im, "function '%s' does not say what its output '%s' is",
                                        f->name, tf_safe(im, name));
                if (!tf_find_source(im, f, pair->value, &f->results[i]))
                        return false;
        }
        return true;
}

bool tf_order(struct tf_import *im, struct tf_graph *g, const struct tf_source *wanted, int count)
{
        struct looked_at l = { .known = map_new(im->arena) };
        struct tf_graph *cyclic = NULL;
        int cycle = -1;
        if (!tf_link(im, g) || !order_graph(im, g, wanted, count, &l, &cycle))
                return false;
        if (cycle >= 0)
                cyclic = g;
        for (int i = 0; i < l.count; i++) {
                struct tf_graph *f = l.graphs[i];
                int here = -1;
                if (!tf_link(im, f) || !find_results(im, f) ||
                    !order_graph(im, f, f->results, (int)f->function->signature->n_output_arg, &l,
                                 &here))
                        return false;
                if (here >= 0 && !cyclic) {
                        cyclic = f;
                        cycle = here;
                }
        }
        for (int i = 0; i < l.unknown_count; i++)
                refusals_add(&im->refusals,
                             "operator " DIAG_OPERATOR("%s") " (%d node%s) is not supported",
                             l.unknown[i].op, l.unknown[i].count,
                             l.unknown[i].count == 1 ? "" : "s");
        return !cyclic || im->refusals.count ||
               tf_error(im, "node '" DIAG_NODE("%s") "' needs its own result",
                        cyclic->nodes[cycle].name);
}
