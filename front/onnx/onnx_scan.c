/* SPDX-License-Identifier: MIT */
/* The body of a Scan becomes the region of a loop over rows: Scan's axes are brought outermost
 * before the loop and back behind it. */
#include "front/onnx/onnx_body.h"
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_model.h"
#include "front/onnx/onnx_texts.h"
#include "front/compose/compose_texts.h"

struct scanning {
        const Onnx__GraphProto *body;
        int carried, scanned, stacked;
        int64_t *scan_axes, *scan_backward, *stack_axes, *stack_backward;
        struct onnx_carried_texts *texts;       /* [carried]. */
        bool *is_text;                  /* [carried + scanned + stacked], of inputs, then of stacks:
                                         * they are texts, which the loop has as bytes. */
        bool misfit;                    /* The body makes longer texts than it was given. */
        dim_t extent;                   /* The scanned inputs have so many rows, */
        int64_t steps;                  /* and at most so many, where a run gives the extent. */
};

/* Reads a list of `count` numbers; an absent one has zeros. */
static int64_t *list_attribute(struct onnx_import *im, struct onnx_node *n, const char *name,
                               int count)
{
        const int64_t *given;
        int given_count;
        int64_t *list = arena_array(im->arena, (size_t)count, sizeof *list);
        if (!onnx_ints(im, n, name, &given, &given_count))
                return NULL;
        if (given_count && given_count != count) {
                onnx_invalid(im, n, "%s has %d values, want %d", name, given_count, count);
                return NULL;
        }
        for (int i = 0; i < given_count; i++)
                list[i] = given[i];
        return list;
}

static int64_t *directions(struct onnx_import *im, struct onnx_node *n, const char *name, int count)
{
        int64_t *list = list_attribute(im, n, name, count);
        for (int i = 0; list && i < count; i++)
                if (list[i] < 0 || list[i] > 1) {
                        onnx_invalid(im, n, "%s holds %lld, want 0 or 1", name, (long long)list[i]);
                        return NULL;
                }
        return list;
}

/* Reads what a Scan says of its sequences. `first` is the number of the input that is the first
 * state. */
static bool scanning_read(struct onnx_import *im, struct onnx_node *n, int first,
                          struct scanning *s)
{
        int64_t scanned;
        if (!(s->body = onnx_graph_attribute(im, n, "body")) || !onnx_body_inputs(im, n, first) ||
            !onnx_int_required(im, n, "num_scan_inputs", &scanned))
                return false;
        int inputs = n->input_count - first;
        if (scanned < 1 || scanned > inputs)
                return onnx_invalid(im, n, "num_scan_inputs is %lld, there are %d inputs",
                                    (long long)scanned, inputs);
        s->scanned = (int)scanned;
        s->carried = inputs - s->scanned;
        s->stacked = (int)s->body->n_output - s->carried;
        if (s->body->n_input != (size_t)inputs || s->stacked < 0 ||
            (size_t)n->output_count > s->body->n_output)
                return onnx_invalid(im, n, "%d inputs and %d outputs; its body has %zu and %zu",
                                    inputs, n->output_count, s->body->n_input, s->body->n_output);
        s->is_text = arena_array(im->arena, (size_t)(inputs + s->stacked) + 1, sizeof *s->is_text);
        s->texts = arena_array(im->arena, (size_t)s->carried + 1, sizeof *s->texts);
        return true;
}

/* Returns a state, of texts their bytes in the width that they are carried with, or NULL after an
 * error. */
static struct value *as_carried(struct onnx_import *im, struct onnx_node *n, struct scanning *s,
                                int i, struct value *v)
{
        if (onnx_is_texts(v) != s->is_text[i]) {
                onnx_invalid(im, n, "state %d is of texts before or behind an iteration alone", i);
                return NULL;
        }
        if (!s->is_text[i])
                return v;
        return onnx_body_texts(im, &s->texts[i], s->steps, v, &s->misfit);
}

/* Returns x with dimension `axis` moved to the front, or the first dimension moved there. */
static struct value *move_axis(struct onnx_import *im, struct value *x, int axis, bool outermost)
{
        int64_t perm[RANK_MAX];
        int rank = value_rank(x);
        for (int d = 0; d < rank; d++)
                if (outermost)
                        perm[d] = d == 0 ? axis : d <= axis ? d - 1 : d;
                else
                        perm[d] = d == axis ? 0 : d < axis ? d + 1 : d;
        return compose_transpose(im->c, x, perm);
}

/* Builds the loop over rows of scans, with states carried; results are all of its results. */
static bool scan_rows(struct onnx_import *im, struct onnx_node *n, struct scanning *s,
                      struct value *const *states, struct value *const *scans,
                      struct value **results)
{
        struct onnx_body body;
        struct compose_loop_parts parts = { .steps = s->steps,
                                            .first = states,
                                            .carried = s->carried,
                                            .scans = scans,
                                            .scanned = s->scanned,
                                            .scan_backward = s->scan_backward,
                                            .stacked = s->stacked,
                                            .stack_backward = s->stack_backward };
        int count = s->carried + s->stacked;
        struct value **yielded = arena_array(im->arena, (size_t)count, sizeof *yielded);
        struct value **arguments =
                arena_array(im->arena, (size_t)(s->carried + s->scanned), sizeof *arguments);
        if (!onnx_body_open(im, &parts, &body))
                return false;
        for (int i = 0; i < s->carried + s->scanned; i++) {
                arguments[i] = i < s->carried ? &body.loop.held[i] : body.loop.rows[i - s->carried];
                if (s->is_text[i])
                        arguments[i] = onnx_texts_new(im, arguments[i]);
        }
        bool good = onnx_inline_graph(im, s->body, arguments, s->carried + s->scanned, yielded,
                                      count);
        for (int i = 0; i < count && good; i++)
                good = onnx_is_texts(yielded[i]) || onnx_want_tensors(im, s->body, yielded, i, 1);
        for (int i = 0; i < s->carried && good; i++)
                good = (yielded[i] = as_carried(im, n, s, i, yielded[i])) != NULL &&
                       onnx_body_carried(im, n, states[i], yielded[i], i);
        for (int i = s->carried; i < count && good; i++) {
                bool *is_text = &s->is_text[s->scanned + i];
                if ((*is_text = onnx_is_texts(yielded[i])))
                        yielded[i] = onnx_texts_bytes(yielded[i]);
                good = onnx_body_row(im, n, yielded[i], i);
        }
        if (!good)
                return onnx_body_close(im, &body, NULL);
        if (!onnx_body_close(im, &body, yielded))
                return false;
        for (int i = 0; i < count; i++)
                results[i] = i < s->carried ? &body.loop.op->results[i]
                                            : body.loop.stacks[i - s->carried];
        return true;
}

static bool same_steps(struct onnx_import *im, struct onnx_node *n, struct scanning *s, int i,
                       dim_t extent)
{
        if (i && !dim_equal(s->extent, extent))
                return (dim_is_static(s->extent) && dim_is_static(extent)
                                ? onnx_invalid
                                : onnx_unsupported)(im, n, "scanned inputs have %s and %s rows",
                                                    dim_text(im->arena, im->m, s->extent),
                                                    dim_text(im->arena, im->m, extent));
        s->extent = extent;
        s->steps = dim_bound(im->m, extent);
        return true;
}

/* Scans, and imports the body anew where texts become longer. `states` are the node's. */
static bool scan_fitting(struct onnx_import *im, struct onnx_node *n, struct scanning *s,
                         struct value *const *states, struct value *const *scans,
                         struct value **results)
{
        enum { TRIES = 3 };
        struct value **held = arena_array(im->arena, (size_t)s->carried + 1, sizeof *held);
        for (int i = 0; i < s->carried; i++)
                s->texts[i] = onnx_carried_texts(states[i]);
        for (int tries = 0; tries < TRIES; tries++) {
                struct onnx_mark mark = onnx_mark(im);
                s->misfit = false;
                for (int i = 0; i < s->carried; i++)
                        if (!(held[i] = as_carried(im, n, s, i, states[i])))
                                return false;
                if (scan_rows(im, n, s, held, scans, results))
                        return true;
                if (!s->misfit)
                        return false;
                onnx_take_back(im, &mark);
        }
        return onnx_unsupported(im, n, "texts that it carries are longer from one iteration to the "
                                       "next");
}

bool onnx_import_scan(struct onnx_import *im, struct onnx_node *n)
{
        struct scanning s = { 0 };
        if (!scanning_read(im, n, 0, &s) ||
            !(s.scan_axes = list_attribute(im, n, "scan_input_axes", s.scanned)) ||
            !(s.scan_backward = directions(im, n, "scan_input_directions", s.scanned)) ||
            !(s.stack_axes = list_attribute(im, n, "scan_output_axes", s.stacked)) ||
            !(s.stack_backward = directions(im, n, "scan_output_directions", s.stacked)))
                return false;
        struct value **scans = arena_array(im->arena, (size_t)s.scanned, sizeof *scans);
        struct value **results =
                arena_array(im->arena, (size_t)(s.carried + s.stacked), sizeof *results);
        for (int i = 0; i < s.carried + s.scanned; i++)
                s.is_text[i] = onnx_is_texts(n->inputs[i]);
        for (int i = 0; i < s.scanned; i++) {
                struct value *x = n->inputs[s.carried + i];
                int axis;
                if (!onnx_axis(im, n, s.scan_axes[i], value_rank(x), &axis) ||
                    !same_steps(im, n, &s, i, x->type->dims[axis]))
                        return false;
                scans[i] = move_axis(im, s.is_text[s.carried + i] ? onnx_texts_bytes(x) : x, axis,
                                     true);
        }
        if (!scan_fitting(im, n, &s, n->inputs, scans, results))
                return false;
        for (int i = 0; i < n->output_count; i++) {
                const bool is_text = s.is_text[i < s.carried ? i : s.scanned + i];
                int axis = 0;
                if (i >= s.carried &&
                    !onnx_axis(im, n, s.stack_axes[i - s.carried], value_rank(results[i]) - is_text,
                               &axis))
                        return false;
                n->outputs[i] = axis ? move_axis(im, results[i], axis, false) : results[i];
                if (is_text && !(n->outputs[i] = onnx_texts_new(im, n->outputs[i])))
                        return false;
        }
        return true;
}

/* Before opset 9 everything has a batch, and each of its members is scanned by itself, by a loop in
 * a loop. */
bool onnx_import_scan_batch(struct onnx_import *im, struct onnx_node *n)
{
        struct scanning s = { 0 };
        struct onnx_body batch;
        if (!scanning_read(im, n, 1, &s) ||
            !(s.scan_backward = directions(im, n, "directions", s.scanned)))
                return false;
        if (n->inputs[0])
                return onnx_unsupported(im, n, "sequence_lens");
        for (int i = 1; i < n->input_count; i++)
                if (onnx_is_texts(n->inputs[i]))
                        return onnx_unsupported(im, n, "texts in batches");
        for (int i = 0; i < s.carried + s.scanned; i++) {
                const struct value *x = n->inputs[1 + i];
                if (value_rank(x) < (i < s.carried ? 1 : 2) ||
                    value_extent(x, 0) != value_extent(n->inputs[1], 0))
                        return onnx_invalid(im, n, "input %d is %s, want a batch of %lld", 1 + i,
                                            compose_text(im->c, x->type),
                                            (long long)value_extent(n->inputs[1], 0));
                if (i >= s.carried && !same_steps(im, n, &s, i - s.carried, x->type->dims[1]))
                        return false;
        }
        struct compose_loop_parts parts = { .steps = value_extent(n->inputs[1], 0),
                                            .scans = n->inputs + 1,
                                            .scanned = s.carried + s.scanned,
                                            .stacked = s.carried + s.stacked };
        struct value **results = arena_array(im->arena, (size_t)parts.stacked, sizeof *results);
        struct value **inner = arena_array(im->arena, (size_t)parts.scanned, sizeof *inner);
        if (!onnx_body_open(im, &parts, &batch))
                return false;
        for (int i = 0; i < parts.scanned; i++)
                inner[i] = batch.loop.rows[i];
        if (!scan_rows(im, n, &s, inner, inner + s.carried, results))
                return onnx_body_close(im, &batch, NULL);
        if (!onnx_body_close(im, &batch, results))
                return false;
        for (int i = 0; i < n->output_count; i++)
                n->outputs[i] = &batch.loop.op->results[i];
        return true;
}
