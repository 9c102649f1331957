/* SPDX-License-Identifier: MIT */
/* The body of a Loop becomes the region of a loop; what is known at compile time (how often it
 * runs, that the condition holds) is not computed. One that carries sequences, or values whose
 * types change from one iteration to the next, is written out, iteration after iteration, where
 * that is known; else sequences are carried as stacks, and texts as bytes of one width. */
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_looping.h"
#include "front/onnx/onnx_model.h"
#include "front/onnx/onnx_texts.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_texts.h"
#include "ir/tensor/amounts.h"

#include <string.h>

#include "base/size.h"

/* ---- Loop ---- */

/* Returns how many values the node's become. */
static int flat_count(const struct onnx_looping *l) { return l->at[l->carried]; }

/* Numbers the parts of what the loop carries. */
static void number_parts(struct onnx_looping *l)
{
        for (int i = 0; i < l->carried; i++) {
                int parts = l->is_list[i] ? onnx_form_parts(&l->forms[i]) : 1;
                for (unsigned differ = l->grown[i].differ; differ; differ &= differ - 1)
                        parts++;
                l->at[i + 1] = l->at[i] + parts;
        }
}

/* Carries these values. */
static void carry(struct onnx_import *im, struct onnx_looping *l, struct value **first)
{
        const size_t count = (size_t)l->carried + 1;
        l->first = first;
        l->forms = arena_array(im->arena, count, sizeof *l->forms);
        l->wanted = arena_array(im->arena, count, sizeof *l->wanted);
        l->is_list = arena_array(im->arena, count, sizeof *l->is_list);
        l->at = arena_array(im->arena, count, sizeof *l->at);
        l->texts = arena_array(im->arena, count, sizeof *l->texts);
        l->grown = arena_array(im->arena, count, sizeof *l->grown);
        for (int i = 0; i < l->carried; i++) {
                if ((l->is_list[i] = first[i] && first[i]->type->kind != TYPE_TENSOR))
                        l->forms[i] = onnx_form_of(im, first[i]);
                l->texts[i] = onnx_carried_texts(first[i]);
        }
        number_parts(l);
}

static bool looping_read(struct onnx_import *im, struct onnx_node *n, struct onnx_looping *l)
{
        struct value *trip = onnx_input(n, 0), *go = onnx_input(n, 1);
        if (!(l->body = onnx_graph_attribute(im, n, "body")) || !onnx_body_inputs(im, n, 2))
                return false;
        int64_t all = (int64_t)l->body->n_output - 1, known;
        l->carried = n->input_count > 2 ? n->input_count - 2 : 0;
        if (l->body->n_input != (size_t)l->carried + 2 || all < l->carried || n->output_count > all)
                return onnx_invalid(
                        im, n,
                        "%d carried values and %d outputs; its body has %zu inputs and %zu outputs",
                        l->carried, n->output_count, l->body->n_input, l->body->n_output);
        if ((trip && !(l->trip = onnx_loop_scalar(im, n, trip, E_I64, "the trip count"))) ||
            (go && !(l->go = onnx_loop_scalar(im, n, go, E_BOOL, "the condition"))))
                return false;
        l->trips = -1;
        if (onnx_loop_constant(l->trip, &known))
                l->trips = known > 0 ? known : 0;
        if (onnx_loop_constant(l->go, &known))
                l->trips = known ? l->trips : 0;
        l->which = arena_array(im->arena, (size_t)all, sizeof *l->which);
        l->is_text = arena_array(im->arena, (size_t)all + 1, sizeof *l->is_text);
        carry(im, l, n->inputs + 2);
        for (int i = l->carried; i < n->output_count; i++)
                if (onnx_wants(n, i))
                        l->which[l->stacked++] = i;
        return true;
}

/* Returns how many rows stacks have where the number of iterations is not known, as the model says,
 * or -1 after an error. */
static int64_t declared_rows(struct onnx_import *im, struct onnx_node *n,
                             const struct onnx_looping *l)
{
        int64_t rows = INT64_MAX;
        for (int i = 0; i < l->stacked; i++) {
                const struct type *t = n->declared[l->which[i]];
                t = t ? t : onnx_implied(im, n->proto->output[l->which[i]], -1);
                if (!t || !t->rank) {
                        onnx_unsupported(im, n,
                                         "output %d has as many rows as there are iterations, "
                                         "which only a run can tell: "
                                         "state its shape",
                                         l->which[i]);
                        return -1;
                }
                if (rows != INT64_MAX && !dim_is(t->dims[0], rows)) {
                        onnx_invalid(im, n, "outputs are stated to have %lld and %lld rows",
                                     (long long)rows, (long long)type_extent(t, 0));
                        return -1;
                }
                rows = type_extent(t, 0);
        }
        return rows;
}

/* May the run have to count the iterations, because no declaration says how many rows there are? */
static bool may_count(struct onnx_import *im, struct onnx_node *n, const struct onnx_looping *l)
{
        bool declared = true;
        for (int i = 0; i < l->stacked; i++)
                declared &= n->declared[l->which[i]] ||
                            onnx_implied(im, n->proto->output[l->which[i]], -1);
        return !declared;
}

/* Returns the most iterations that there may be, or -1 after an error. */
static int64_t most_rows(struct onnx_import *im, struct onnx_node *n, const struct onnx_looping *l)
{
        struct amount trip[AMOUNTS_MAX];
        int count;
        if (l->trips >= 0)
                return l->trips;
        if (l->trip && value_amounts(im->m, l->trip, trip, &count) && trip[0].term)
                return dim_bound(im->m, trip[0].dim);
        return onnx_counted_most(im, n, l->which[0], 0);
}

/* Completes the region: says how often it runs, now that it is known whether the condition can ever
 * fail. */
static bool finish_looping(struct onnx_import *im, struct onnx_node *n, struct onnx_looping *l,
                           struct value *next_go, struct op **op)
{
        int64_t known = -1, trips = l->trips;
        bool certain = !l->go || value_is_constant(l->go),
             constant = onnx_loop_constant(next_go, &known);
        if (certain && constant && !known && (l->trip ? trips > 1 : trips < 0))
                trips = 1;              /* It ends behind the first iteration. */
        bool go = certain && (trips == 0 || (constant && (known || trips == 1))) ? false : true;
        if (!go && trips < 0 && !l->trip)
                return onnx_invalid(
                        im, n,
                        "a loop without a trip count whose condition always holds never ends");
        bool known_steps = !go && trips >= 0, counts = l->counter && !known_steps;
        int64_t steps = known_steps ? trips : counts ? most_rows(im, n, l)
                                                     : declared_rows(im, n, l);
        if (steps < 0)
                return false;
        const int carried = flat_count(l) + l->counter;
        for (int i = 0; i < (*op)->result_count - carried; i++)
                (*op)->results[carried + i].type = NULL;
        attr_set((*op)->attrs, OP_loop, "steps", steps);
        attr_set((*op)->attrs, OP_loop, "partial", counts);
        if (!go && trips >= 0)
                op_set_operand(*op, 0, NULL);
        if (!op_infer(im->m, *op, im->diag))
                return false;
        struct op_loop loop = op_loop(*op);
        struct op_loop_kept kept = op_loop_all(im->arena, &loop);
        kept.go = go;
        if (l->counter && !counts) {    /* All rows are there. */
                op_set_operand(loop.yield, loop.next[carried - 1].index, &loop.held[carried - 1]);
                kept.carried[carried - 1] = false;
                l->counter = 0;
                return (*op = op_loop_keep(*op, &kept, im->diag)) != NULL;
        }
        return go || (*op = op_loop_keep(*op, &kept, im->diag)) != NULL;
}

/* Sets the outputs that are stacks: of as many rows as there were iterations. */
static bool output_stacks(struct onnx_import *im, struct onnx_node *n, const struct onnx_looping *l,
                          struct op *op)
{
        struct value *stacks = &op->results[flat_count(l) + l->counter];
        dim_t rows = DIM_NONE;
        if (l->counter && l->stacked) {
                rows = onnx_counted(im, n, l->which[0], 0, &op->results[flat_count(l)],
                                    op_int(op, "steps"));
                if (dim_equal(rows, DIM_NONE))
                        return false;
        }
        for (int i = 0; i < l->stacked; i++) {
                struct value *stack = l->counter ? onnx_first(im, &stacks[i], 0, rows) : &stacks[i];
                if (l->is_text[i] && stack && !type_is_static(stack->type))
                        return onnx_unsupported(im, n, "output %d has as many texts as there are "
                                                       "iterations, which only a run tells",
                                                l->which[i]);
                if (!onnx_output(n, l->which[i],
                                 l->is_text[i] ? onnx_texts_new(im, stack) : stack))
                        return false;
        }
        return true;
}

/* Finds how the body yields a list, and whether that is how it was given it. */
static bool read_form(struct onnx_import *im, struct onnx_node *n, struct onnx_looping *l, int i,
                      const struct value *next)
{
        const struct onnx_form was = l->forms[i];
        struct onnx_form *form = &l->wanted[i], given = onnx_form_of(im, l->first[i]),
                         made = onnx_form_of(im, next);
        if (l->maps && was.element != made.element) {   /* The body has said what it makes. */
                l->first[i] = onnx_sequence_new(im, made.element, NULL, 0);
                *form = onnx_form_of(im, l->first[i]);
                return l->misfit = true;
        }
        *form = given;
        if (!onnx_form_join(im, n, form, &was) || !onnx_form_join(im, n, form, &made))
                return false;
        /* What the body makes of nothing may be as many more in each iteration. */
        int64_t grown = made.held || was.known ? made.grown : made.room, most = l->most;
        if (made.is_sequence && grown) {
                int64_t all;
                const bool fits = most >= 0 && int_mul(grown, most, &all) &&
                                  int_add(all, given.room, &all) && all <= NUMBER_MAX;
                most = onnx_length_most(im, n, i, fits ? all : -1);
                if (most < 0)
                        return false;
                form->room = given.held ? given.room : most;
                form->room = compose_max(form->room, made.held ? 1 : made.room);
                form->grown = given.held ? given.grown + (int)compose_min(most, INT32_MAX / 2) : 0;
        } else {
                form->grown = given.grown;
        }
        form->held = given.held;
        l->misfit |= !onnx_form_equal(form, &was);
        return true;
}

/* Sets the arguments of the body, its number and condition first. */
static bool give_arguments(struct onnx_import *im, const struct onnx_looping *l,
                           const struct compose_loop *loop, struct value **arguments)
{
        for (int i = 0; i < 2 && !l->maps; i++)
                arguments[i] = onnx_loop_argument(
                        im, i ? compose_integer(im->c, E_BOOL, 1) : loop->number, l->body,
                        (size_t)i);
        for (int i = 0; i < l->carried; i++) {
                struct onnx_form form = l->forms[i];
                struct value *parts[PARTS_MAX];
                form.held = true;
                form.grown = 0;
                for (int k = 0; k < PARTS_MAX && l->at[i] + k < l->at[i + 1]; k++)
                        parts[k] = &loop->held[l->at[i] + k];
                arguments[2 + i] = l->is_list[i]  ? onnx_form_gather(im, &form, parts)
                                   : l->grown[i].bound
                                           ? onnx_grown_gather(im, NULL, -1, &l->grown[i], parts)
                                   : l->texts[i].width ? onnx_texts_new(im, parts[0])
                                                  : parts[0];
                if (!arguments[2 + i])
                        return false;
        }
        return true;
}

/* Imports the body of a SequenceMap for the items of this iteration's number. yielded become the
 * condition, and each list with what the body made behind its items. */
static bool map_items(struct onnx_import *im, struct onnx_node *n, const struct onnx_looping *l,
                      const struct compose_loop *loop, struct value *const *lists,
                      struct value **yielded)
{
        struct value **items = arena_array(im->arena, (size_t)n->input_count, sizeof *items);
        for (int i = 0; i < n->input_count; i++) {
                items[i] = n->inputs[i]->type->kind == TYPE_TENSOR
                                   ? n->inputs[i]
                                   : onnx_stack_at(im, n, n->inputs[i], loop->number);
                if (!items[i])
                        return false;
        }
        yielded[0] = compose_integer(im->c, E_BOOL, 1);
        if (!onnx_inline_graph(im, l->body, items, n->input_count, yielded + 1, l->carried) ||
            !onnx_want_tensors(im, l->body, yielded + 1, 0, l->carried))
                return false;
        for (int i = 0; i < l->carried; i++) {
                struct value *list = lists[i], *item = yielded[1 + i];
                if (l->forms[i].element != value_element(item))
                        list = onnx_sequence_new(im, value_element(item), NULL, 0);
                yielded[1 + i] = list ? onnx_stack_insert(im, n, list, item, NULL) : NULL;
                if (!yielded[1 + i])
                        return false;
        }
        return true;
}

/* Sets *to to what is carried of a tensor that the body yields: of texts, bytes of the width that
 * they are carried with. Where the types differ, l says so, and the result is false. */
static bool yield_carried(struct onnx_import *im, struct onnx_node *n, struct onnx_looping *l,
                          int i, const struct value *held, struct value *v, struct value **to)
{
        if (onnx_is_texts(v) != (l->texts[i].width != 0))
                return onnx_invalid(im, n, "carried value %d is of texts before or behind an "
                                           "iteration alone", i);
        if (l->texts[i].width &&
            !(v = onnx_body_texts(im, &l->texts[i], l->most, v, &l->longer))) {
                l->misfit = l->longer;
                return false;
        }
        const struct type *was = l->grown[i].bound ? l->grown[i].bound : held->type;
        bool same = v->type == was;
        if (l->grown[i].bound) {
                same = v->type->kind == TYPE_TENSOR && v->type->rank == was->rank &&
                       v->type->element == was->element;
                for (int d = 0; same && d < was->rank; d++)
                        same = dim_equal(v->type->dims[d], was->dims[d]) ||
                               (l->grown[i].differ >> d & 1);
                if (same)
                        return onnx_grown_spread(im, n, v, &l->grown[i], to);
        }
        *to = v;
        if (same)
                return true;
        l->which_changed = i;
        l->from = was;
        l->to = v->type;
        l->changed = arena_printf(im->arena, "carried value %d is %s at first and %s after an "
                                             "iteration", i, compose_text(im->c, held->type),
                                  compose_text(im->c, v->type));
        return false;
}

/* Imports the body, between opening and closing the loop. yielded are go, carried values, rows.
 * Where lists are not as the body was given them, it says so, and the result is false. */
static bool import_body(struct onnx_import *im, struct onnx_node *n, struct onnx_looping *l,
                        const struct compose_loop *loop, struct value **yielded)
{
        size_t count = l->body->n_output;
        struct value **arguments =
                arena_array(im->arena, (size_t)l->carried + 2, sizeof *arguments);
        struct value **outputs = arena_array(im->arena, count + 1, sizeof *outputs);
        if (!give_arguments(im, l, loop, arguments))
                return false;
        if (l->maps) {
                count = (size_t)l->carried + 1;
                if (!map_items(im, n, l, loop, arguments + 2, outputs))
                        return false;
        } else if (!onnx_inline_graph(im, l->body, arguments, l->carried + 2, outputs,
                                      (int)count)) {
                return false;
        }
        for (int i = 0; i < (int)count; i++) {
                const bool list = i >= 1 && i <= l->carried && l->is_list[i - 1];
                if (list ? !read_form(im, n, l, i - 1, outputs[i])
                         : !(i && onnx_is_texts(outputs[i])) &&
                                   !onnx_want_tensors(im, l->body, outputs, i, 1))
                        return false;
        }
        if (l->misfit || !(yielded[0] = onnx_loop_scalar(im, n, outputs[0], E_BOOL,
                                                  "the body's condition")))
                return false;
        for (int i = 0; i < l->carried; i++) {
                struct value **to = yielded + 1 + l->at[i];
                if (l->is_list[i] ? !onnx_form_spread(im, n, outputs[1 + i], &l->forms[i], to)
                                  : !yield_carried(im, n, l, i, &loop->held[l->at[i]],
                                                   outputs[1 + i], to))
                        return false;
        }
        const int flat = flat_count(l);
        if (l->counter)
                yielded[1 + flat] = compose_with(im->c, OP_add, loop->number, 1);
        for (int i = 0; i < l->stacked; i++) {
                struct value *row = outputs[1 + l->which[i]];
                if ((l->is_text[i] = onnx_is_texts(row)))
                        row = onnx_texts_bytes(row);
                if (!onnx_body_row(im, n, row, l->which[i]))
                        return false;
                yielded[1 + flat + l->counter + i] = row;
        }
        return true;
}

/* ---- all loops ---- */

static bool carries_lists(const struct onnx_node *n)
{
        bool any = false;
        for (int i = 2; i < n->input_count; i++)
                any |= n->inputs[i]->type->kind != TYPE_TENSOR;
        return any;
}

/* Builds the loop, and sets the outputs. */
static bool build_loop(struct onnx_import *im, struct onnx_node *n, struct onnx_looping *l)
{
        struct onnx_body body;
        const int flat = flat_count(l);
        struct value **yielded =
                arena_array(im->arena, (size_t)(2 + flat + l->stacked), sizeof *yielded);
        struct value **first = arena_array(im->arena, (size_t)flat + 1, sizeof *first);
        for (int i = 0; i < l->carried; i++) {
                struct value *v = l->first[i];
                if (l->texts[i].width)
                        v = compose_fitted(im->c, onnx_texts_bytes(v), value_rank(v),
                                           l->texts[i].width);
                if (!v)
                        return false;
                if (l->grown[i].bound) {
                        if (!onnx_grown_spread(im, n, v, &l->grown[i], first + l->at[i]))
                                return false;
                } else if (!l->is_list[i])
                        first[l->at[i]] = v;
                else if (!onnx_form_spread(im, n, v, &l->forms[i], first + l->at[i]))
                        return false;
        }
        first[flat] = compose_integer(im->c, E_I64, 0);
        struct compose_loop_parts parts = { .trip = l->trip,
                                            .go = l->go ? l->go : compose_integer(im->c, E_BOOL, 1),
                                            .first = first,
                                            .carried = flat + l->counter,
                                            .stacked = l->stacked };
        if (!onnx_body_open(im, &parts, &body))
                return false;
        if (!import_body(im, n, l, &body.loop, yielded))
                return onnx_body_close(im, &body, NULL);
        if (!onnx_body_close(im, &body, yielded) ||
            !finish_looping(im, n, l, yielded[0], &body.loop.op))
                return false;
        struct value *results = body.loop.op->results;
        for (int i = 0; i < n->output_count && i < l->carried; i++) {
                struct value *parts_of[PARTS_MAX];
                for (int k = 0; k < PARTS_MAX && l->at[i] + k < l->at[i + 1]; k++)
                        parts_of[k] = &results[l->at[i] + k];
                n->outputs[i] = l->is_list[i]  ? onnx_form_gather(im, &l->wanted[i], parts_of)
                                : l->grown[i].bound
                                        ? onnx_grown_gather(im, n, i, &l->grown[i], parts_of)
                                : l->texts[i].width ? onnx_texts_new(im, parts_of[0])
                                               : parts_of[0];
                if (!n->outputs[i])
                        return false;
        }
        return output_stacks(im, n, l, body.loop.op);
}

/* A carried value changes its type. Where it is known how often the loop runs, sets *done to
 * whether its iterations could be written out. Else returns true where the value has bounds now. */
static bool grow(struct onnx_import *im, struct onnx_node *n, struct onnx_looping *l, bool *done)
{
        bool runs = false;
        if ((*done = onnx_loop_unrolled(im, n, l, &runs)) || !runs)
                return false;
        if (l->is_list[l->which_changed] || l->texts[l->which_changed].width ||
            !onnx_grown_bound(im, n, l->which_changed, l->most, l->from, l->to,
                              &l->grown[l->which_changed])) {
                onnx_unsupported(im, n, "%s, and only a run tells how often it runs: bound that "
                                        "extent of the output by --dim", l->changed);
                return false;
        }
        l->changed = NULL;
        return true;
}

/* Builds a loop. How lists and texts are carried follows from what the body makes of them, so that
 * it is imported anew until that is so. */
static bool build_fitting(struct onnx_import *im, struct onnx_node *n, struct onnx_looping *l)
{
        enum { LONGER_TRIES = 2, TRIES = 6 };
        struct amount trip[AMOUNTS_MAX];
        bool done;
        int count;
        for (int i = 0; i < l->carried; i++)
                if (l->is_list[i] && l->forms[i].element == E_STRING)
                        return onnx_unsupported(im, n, "a sequence of texts is carried, and only a "
                                                       "run knows how often it runs");
        if (!l->maps)
                l->most = l->trips;
        if (l->trips < 0 && !l->maps && l->trip &&
            value_amounts(im->m, l->trip, trip, &count) && trip[0].term)
                l->most = dim_bound(im->m, trip[0].dim);
        for (int i = 0; i < TRIES; i++) {
                const struct onnx_mark mark = onnx_mark(im);
                l->misfit = false;
                if (build_loop(im, n, l))
                        return true;
                if (!l->misfit && !l->changed)
                        return false;
                onnx_take_back(im, &mark);
                if (l->changed && !grow(im, n, l, &done))
                        return done;
                bool runs = false;
                if (l->longer && i == LONGER_TRIES && onnx_loop_unrolled(im, n, l, &runs))
                        return true;
                if (l->longer && i == LONGER_TRIES && !runs)
                        return false;
                for (int k = 0; k < l->carried; k++)
                        if (l->is_list[k])
                                l->forms[k] = l->wanted[k];
                number_parts(l);
        }
        return onnx_unsupported(im, n, "%s that it carries are larger from one iteration to the "
                                       "next", l->longer ? "texts" : "items of a sequence");
}

bool onnx_import_loop(struct onnx_import *im, struct onnx_node *n)
{
        struct onnx_looping l = { 0 };
        if (!looping_read(im, n, &l))
                return false;
        if (!l.carried && !l.stacked)
                return onnx_invalid(im, n, "it has no outputs");
        if (carries_lists(n)) {
                bool runs = false;
                if (onnx_loop_unrolled(im, n, &l, &runs))
                        return true;
                if (!runs)
                        return false;
        }
        l.counter = may_count(im, n, &l);
        return build_fitting(im, n, &l);
}

bool onnx_map_at_run(struct onnx_import *im, struct onnx_node *n, const Onnx__GraphProto *body)
{
        struct onnx_looping l = {
                .body = body, .maps = true, .trips = -1, .carried = n->output_count
        };
        struct value *length = NULL;
        struct value **first = arena_array(im->arena, (size_t)l.carried + 1, sizeof *first);
        for (int i = 0; i < n->input_count; i++) {
                const struct onnx_stack *s = onnx_stack_of(n->inputs[i]);
                int count;
                if (n->inputs[i]->type->kind == TYPE_TENSOR)
                        continue;
                onnx_sequence_items(n->inputs[i], &count);
                struct value *own = s ? s->count : compose_integer(im->c, E_I64, count);
                if (length && !onnx_fail_if(im, n, compose_binary(im->c, OP_ne, own, length)))
                        return false;
                length = length ? length : own;
                l.most = i ? l.most : s ? value_extent(s->rows, 0) : count;
        }
        for (int i = 0; i < l.carried; i++)
                if (!(first[i] = onnx_sequence_new(im, E_F32, NULL, 0)))
                        return false;
        l.trip = length;
        carry(im, &l, first);
        return build_fitting(im, n, &l);
}
