/* SPDX-License-Identifier: MIT */
/* Nodes are built in the order of their graph; calls of functions are built in their place. */
#include "front/tensorflow/tensorflow_helpers.h"

#include <string.h>

#include "base/text.h"

struct tf_tensor *tf_edge(struct tf_frame *frame, struct tf_source s)
{
        if (s.node < 0)
                return &frame->arguments[-1 - s.node];
        struct tf_node *n = &frame->nodes[s.node];
        return s.output < n->output_count ? &n->outputs[s.output] : NULL;
}

/* Collects the operands. *ready: the importer may be called. */
static bool operands(struct tf_import *im, struct tf_frame *frame, struct tf_node *n, bool *ready)
{
        const struct tf_graph_node *g = n->g;
        *ready = true;
        n->input_count = g->source_count;
        n->inputs = arena_array(im->arena, (size_t)n->input_count + 1, sizeof *n->inputs);
        if (n->input_count < n->row->inputs_min || n->input_count > n->row->inputs_max)
                return tf_invalid(im, "%d operands, want %d to %d", n->input_count,
                                  n->row->inputs_min, n->row->inputs_max);
        for (int i = 0; i < n->input_count; i++) {
                const struct tf_tensor *t = tf_edge(frame, g->sources[i]);
                if (t && t->made) {
                        n->inputs[i] = *t;
                        if (t->value || n->row->kind == TF_HANDLES)
                                continue;
                        if (im->refusals.count) {
                                *ready = false;
                                continue;
                        }
                        if (t->texts)
                                *ready = tf_unsupported(im, "operand %d is of texts", i);
                        else
                                return tf_invalid(im, "operand %d is a handle of a variable", i);
                } else if (im->refusals.count) {
                        *ready = false;
                } else {
                        return tf_invalid(im, "operand %d is output %d of a node that has none", i,
                                          g->sources[i].output);
                }
        }
        return true;
}

/* Was v made by tf_to_back of an image? */
static bool is_moved(const struct value *v)
{
        static const int64_t back[] = { 0, 2, 3, 1 };
        return op_is(v, OP_transpose) && value_rank(v) == 4 &&
               !memcmp(op_ints(v->op, "perm", NULL), back, sizeof back);
}

/* Finds operands with channels in front; a constant may be moved, has one element, or one for each
 * channel. Returns false where that is none of them, or not possible. */
static bool find_front(struct tf_import *im, const struct tf_node *n, struct value **front)
{
        const struct value *image = NULL;
        for (int i = 0; i < n->input_count; i++)
                if (n->inputs[i].value && is_moved(n->inputs[i].value))
                        image = n->inputs[i].value;
        for (int i = 0; i < n->input_count && image; i++) {
                struct value *v = n->inputs[i].value;
                front[i] = v;
                if (!v)
                        return false;
                if (is_moved(v) || (value_is_constant(v) && value_rank(v) == 4)) {
                        front[i] = tf_to_front(im, v);
                } else if (value_is_constant(v) && value_rank(v) == 1 &&
                           value_extent(v, 0) == value_extent(image, 3)) {
                        const dim_t dims[] = { v->type->dims[0], dim_of(1), dim_of(1) };
                        front[i] = compose_reshape(im->c, v, 3, dims);
                } else if (!value_is_constant(v) || type_elements(v->type) != 1) {
                        return false;
                }
        }
        return image != NULL;
}

/* Calls the row's importer. Where it is element by element and reads images that have their
 * channels moved behind, it gets them as they were before, and what it makes is moved. */
static bool import_row(struct tf_import *im, struct tf_node *n)
{
        enum { EACH_MOST = 2 };
        struct value *front[EACH_MOST], *kept[EACH_MOST];
        if (!n->row->each || n->input_count > EACH_MOST || !find_front(im, n, front))
                return n->row->import(im, n);
        for (int i = 0; i < n->input_count; i++) {
                kept[i] = n->inputs[i].value;
                n->inputs[i].value = front[i];
        }
        const bool done = n->row->import(im, n);
        for (int i = 0; i < n->input_count; i++)
                n->inputs[i].value = kept[i];
        if (!done || !n->outputs[0].value)
                return false;
        struct value **y = &n->outputs[0].value;
        return value_rank(*y) != 4 || (*y = tf_to_back(im, *y));
}

static bool run_node(struct tf_import *im, struct tf_frame *frame, int number)
{
        struct tf_node *n = &frame->nodes[number];
        bool ready;
        n->g = &frame->graph->nodes[number];
        n->row = n->g->row;
        if (!n->row || n->row->kind == TF_DROPPED)
                return true;            /* tf_order has listed it; or nothing reads it. */
        im->node = n;
        im->b.location = n->g->name;
        if (!operands(im, frame, n, &ready))
                return false;
        const int listed = im->refusals.count, errors = im->diag->errors;
        bool ok = !ready || import_row(im, n);
        if (!ok && im->diag->errors == errors && !listed)
                ok = tf_invalid(im, "the node gives nothing");
        im->b.location = NULL;
        im->node = NULL;
        return ok || im->refusals.count > listed || (im->diag->errors == errors && listed);
}

bool tf_run(struct tf_import *im, struct tf_frame *frame)
{
        const struct tf_graph *g = frame->graph;
        frame->nodes = arena_array(im->arena, (size_t)g->count + 1, sizeof *frame->nodes);
        im->called += g->order_count;
        if (im->called > im->context->limits.nodes)
                return tf_over_limit(im, "nodes of functions that are called", "nodes",
                                     im->context->limits.nodes);
        frame->caller = im->frame;
        im->frame = frame;
        bool ok = true;
        for (int i = 0; i < g->order_count && ok; i++)
                ok = run_node(im, frame, g->order[i]);
        im->frame = frame->caller;
        return ok;
}

bool tf_call(struct tf_import *im, bytes_t name, struct tf_tensor *arguments, int count,
             struct tf_tensor **results, int *result_count)
{
        const struct limits *limits = &im->context->limits;
        struct tf_graph *f = tf_find_function(im, name);
        if (!f || f->order_count < 0 || !f->results)
                return tf_invalid(im, "the model has no function '%s'", tf_safe(im, name));
        const Tf__Signature *s = f->function->signature;
        if ((size_t)count != s->n_input_arg)
                return tf_invalid(im, "function '%s' has %zu arguments, and is called with %d",
                                  f->name, s->n_input_arg, count);
        if (im->nesting >= compose_min(limits->nesting, NESTING_MAX / 2))
                return tf_over_limit(im, "nested calls of functions", "nesting", limits->nesting);
        struct tf_frame frame = { .graph = f, .arguments = arguments };
        const struct tf_node *node = im->node;
        const char *location = im->b.location;
        for (int i = 0; i < count; i++)
                arguments[i].made = true;
        im->nesting++;
        bool ok = tf_run(im, &frame) && !im->refusals.count;
        im->nesting--;
        im->node = ok ? node : im->node;
        im->b.location = location;
        *result_count = (int)s->n_output_arg;
        *results = arena_array(im->arena, s->n_output_arg + 1, sizeof **results);
        for (int i = 0; i < *result_count && ok; i++) {
                const struct tf_tensor *t = tf_edge(&frame, f->results[i]);
                if (!t || !t->made)
                        return tf_invalid(im, "function '%s' gives no output %d", f->name, i);
                (*results)[i] = *t;
        }
        im->node = node;
        return ok;
}
