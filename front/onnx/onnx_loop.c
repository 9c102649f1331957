/* SPDX-License-Identifier: MIT */
/* The body of a Loop or a Scan becomes the region of a loop; what is known at compile time (how
 * often it runs, that the condition holds) is not computed. Scan's axes are brought outermost
 * before the loop and back behind it. */
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_model.h"
#include "front/compose/compose_move.h"
#include "ir/tensor/amounts.h"

#include <string.h>

/* ---- bodies ---- */

/* A graph fills the loop's region node by node. The operations in it are charged apart. */
struct body {
        struct compose_loop loop;
        struct op *counted;             /* It is model->counted outside of the loop. */
};

static bool body_open(struct onnx_import *im, const struct compose_loop_parts *parts,
                      struct body *body)
{
        if (!compose_loop_open(im->c, parts, &body->loop))
                return false;
        body->counted = im->model->counted;
        im->model->counted = NULL;
        struct onnx_iteration *iteration = ARENA_NEW(im->arena, struct onnx_iteration);
        *iteration = (struct onnx_iteration){ im->model->iteration, body->loop.number };
        im->model->iteration = iteration;
        return true;
}

/* Closes the loop as compose_loop_close does. */
static bool body_close(struct onnx_import *im, struct body *body, struct value *const *yielded)
{
        im->model->counted = body->counted;
        im->model->iteration = im->model->iteration->outer;
        return compose_loop_close(im->c, &body->loop, yielded);
}

/* Returns the rank that a body declares for an input, or -1 where none is declared. */
static int declared_rank(const Onnx__GraphProto *body, size_t input)
{
        const Onnx__TypeProto *t = input < body->n_input ? body->input[input]->type : NULL;
        if (!t || t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !t->tensor_type->shape)
                return -1;
        return t->tensor_type->shape->n_dim < RANK_MAX ? (int)t->tensor_type->shape->n_dim
                                                       : RANK_MAX;
}

/* Returns a scalar of the loop as the body reads it: <T>, or <1 x T> where the body declares
 * that. */
static struct value *as_declared(struct onnx_import *im, struct value *v,
                                 const Onnx__GraphProto *body, size_t input)
{
        return declared_rank(body, input) == 1
                       ? build_reshape(&im->b, v, 1, (const dim_t[]){ dim_of(1) })
                       : v;
}

/* Returns a value of one element as a scalar, or NULL after an error. */
static struct value *scalar_of(struct onnx_import *im, struct onnx_node *n, struct value *v,
                               enum element e, const char *what)
{
        if (v->type->kind == TYPE_TENSOR && v->type->element == e && type_is_static(v->type) &&
            type_elements(v->type) == 1)
                return build_reshape(&im->b, v, 0, NULL);
        onnx_invalid(im, n, "%s is %s, want one %s", what, compose_text(im->c, v->type),
                     element_info[e].text);
        return NULL;
}

static bool want_inputs(struct onnx_import *im, struct onnx_node *n, int from)
{
        for (int i = from; i < n->input_count; i++) {
                if (!n->inputs[i])
                        return onnx_invalid(im, n, "input %d is required", i);
                const struct type *t = n->inputs[i]->type;
                if (t->kind == TYPE_TENSOR && !element_is_stored(t->element))
                        return onnx_unsupported(im, n, "input %d is %s, which is not supported", i,
                                                compose_text(im->c, t));
        }
        return true;
}

/* Checks that what is carried keeps its type. */
static bool check_carried(struct onnx_import *im, struct onnx_node *n, const struct value *first,
                          const struct value *next, int number)
{
        return first->type == next->type ||
               onnx_unsupported(im, n, "carried value %d is %s at first and %s after an iteration",
                                number, compose_text(im->c, first->type),
                                compose_text(im->c, next->type));
}

static bool constant_number_of(const struct value *v, int64_t *number)
{
        if (!v || !value_is_constant(v))
                return false;
        *number = constant_element(v->constant, 0).i;
        return true;
}

/* ---- Loop ---- */

struct looping {
        const Onnx__GraphProto *body;
        struct value *trip, *go;        /* They are the node's operands; NULL stands for an absent
                                         * one. */
        int carried, stacked;           /* The stacked ones are those that are wanted, which[] among
                                         * all. */
        int *which;
        int64_t trips;                  /* The loop runs so often; -1 stands for unknown. */
        int counter;                    /* One more value is carried, behind the node's: how many
                                         * iterations there have been; 0: it is not. */
};

static bool looping_read(struct onnx_import *im, struct onnx_node *n, struct looping *l)
{
        struct value *trip = onnx_input(n, 0), *go = onnx_input(n, 1);
        if (!(l->body = onnx_graph_attribute(im, n, "body")) || !want_inputs(im, n, 2))
                return false;
        int64_t all = (int64_t)l->body->n_output - 1, known;
        l->carried = n->input_count > 2 ? n->input_count - 2 : 0;
        if (l->body->n_input != (size_t)l->carried + 2 || all < l->carried || n->output_count > all)
                return onnx_invalid(
                        im, n,
                        "%d carried values and %d outputs; its body has %zu inputs and %zu outputs",
                        l->carried, n->output_count, l->body->n_input, l->body->n_output);
        if ((trip && !(l->trip = scalar_of(im, n, trip, E_I64, "the trip count"))) ||
            (go && !(l->go = scalar_of(im, n, go, E_BOOL, "the condition"))))
                return false;
        l->trips = -1;
        if (constant_number_of(l->trip, &known))
                l->trips = known > 0 ? known : 0;
        if (constant_number_of(l->go, &known))
                l->trips = known ? l->trips : 0;
        l->which = arena_array(im->arena, (size_t)all, sizeof *l->which);
        for (int i = l->carried; i < n->output_count; i++)
                if (onnx_wants(n, i))
                        l->which[l->stacked++] = i;
        return true;
}

/* Returns how many rows stacks have where the number of iterations is not known, as the model says,
 * or -1 after an error. */
static int64_t declared_rows(struct onnx_import *im, struct onnx_node *n, const struct looping *l)
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
static bool may_count(struct onnx_import *im, struct onnx_node *n, const struct looping *l)
{
        bool declared = true;
        for (int i = 0; i < l->stacked; i++)
                declared &= n->declared[l->which[i]] ||
                            onnx_implied(im, n->proto->output[l->which[i]], -1);
        return !declared && !im->b.region->owner;
}

/* Returns the most iterations that there may be, or -1 after an error. */
static int64_t most_rows(struct onnx_import *im, struct onnx_node *n, const struct looping *l)
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
static bool finish_looping(struct onnx_import *im, struct onnx_node *n, struct looping *l,
                           struct value *next_go, struct op **op)
{
        int64_t known = -1, trips = l->trips;
        bool certain = !l->go || value_is_constant(l->go),
             constant = constant_number_of(next_go, &known);
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
        const int carried = l->carried + l->counter;
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
                op_set_operand(loop.yield, loop.next[l->carried].index, &loop.held[l->carried]);
                kept.carried[l->carried] = false;
                l->counter = 0;
                return (*op = op_loop_keep(*op, &kept, im->diag)) != NULL;
        }
        return go || (*op = op_loop_keep(*op, &kept, im->diag)) != NULL;
}

/* Sets the outputs that are stacks: of as many rows as there were iterations. */
static bool output_stacks(struct onnx_import *im, struct onnx_node *n, const struct looping *l,
                          struct op *op)
{
        struct value *stacks = &op->results[l->carried + l->counter];
        dim_t rows = DIM_NONE;
        if (l->counter && l->stacked) {
                rows = onnx_counted(im, n, l->which[0], 0, &op->results[l->carried],
                                    op_int(op, "steps"));
                if (dim_equal(rows, DIM_NONE))
                        return false;
        }
        for (int i = 0; i < l->stacked; i++)
                if (!onnx_output(n, l->which[i],
                                 l->counter ? onnx_first(im, &stacks[i], 0, rows) : &stacks[i]))
                        return false;
        return true;
}

/* Imports the body, between opening and closing the loop. yielded are go, carried values, rows. */
static bool import_body(struct onnx_import *im, struct onnx_node *n, const struct looping *l,
                        const struct compose_loop *loop, struct value **yielded)
{
        size_t count = l->body->n_output;
        struct value **arguments =
                arena_array(im->arena, (size_t)l->carried + 2, sizeof *arguments);
        struct value **outputs = arena_array(im->arena, count, sizeof *outputs);
        arguments[0] = as_declared(im, loop->number, l->body, 0);
        arguments[1] = as_declared(im, compose_integer(im->c, E_BOOL, 1), l->body, 1);
        for (int i = 0; i < l->carried; i++)
                arguments[2 + i] = &loop->held[i];
        if (!onnx_inline_graph(im, l->body, arguments, l->carried + 2, outputs, (int)count) ||
            !onnx_want_tensors(im, l->body, outputs, 0, (int)count))
                return false;
        if (!(yielded[0] = scalar_of(im, n, outputs[0], E_BOOL, "the body's condition")))
                return false;
        for (int i = 0; i < l->carried; i++)
                if (!check_carried(im, n, &loop->held[i], yielded[1 + i] = outputs[1 + i], i))
                        return false;
        if (l->counter)
                yielded[1 + l->carried] = compose_with(im->c, OP_add, loop->number, 1);
        for (int i = 0; i < l->stacked; i++)
                yielded[1 + l->carried + l->counter + i] = outputs[1 + l->which[i]];
        return true;
}

/* ---- Loop that carries sequences: its iterations, one after the other ---- */

static bool carries_lists(const struct onnx_node *n)
{
        bool any = false;
        for (int i = 2; i < n->input_count; i++)
                any |= n->inputs[i]->type->kind != TYPE_TENSOR;
        return any;
}

/* Imports iteration `step`. values[0] becomes the condition, which is constant; those behind it,
 * which are carried, become the next ones; and those behind these become the rows of all stacks. */
static bool unroll_step(struct onnx_import *im, struct onnx_node *n, const struct looping *l,
                        int64_t step, struct value **values)
{
        struct value **arguments =
                arena_array(im->arena, (size_t)l->carried + 2, sizeof *arguments);
        int count = (int)l->body->n_output;
        arguments[0] = as_declared(im, compose_integer(im->c, E_I64, step), l->body, 0);
        arguments[1] = as_declared(im, compose_integer(im->c, E_BOOL, 1), l->body, 1);
        for (int i = 0; i < l->carried; i++)
                arguments[2 + i] = values[1 + i];
        if (!onnx_repeat_graph(im, l->body, arguments, l->carried + 2, values, count) ||
            !onnx_want_tensors(im, l->body, values, 0, 1) ||
            !onnx_want_tensors(im, l->body, values, 1 + l->carried, count - 1 - l->carried) ||
            !(values[0] = scalar_of(im, n, values[0], E_BOOL, "the body's condition")))
                return false;
        return value_is_constant(values[0]) ||
               onnx_unsupported(
                       im, n,
                       "it carries a sequence or an optional, and ends when only a run can tell");
}

/* Returns the rows of one stack, which lie `apart` places apart. */
static struct value *unrolled_stack(struct onnx_import *im, struct onnx_node *n, int output,
                                    struct value *const *rows, int count, int apart)
{
        const struct type *declared = n->declared[output];
        struct value **list = arena_array(im->arena, (size_t)count, sizeof *list);
        for (int i = 0; i < count; i++)
                list[i] = rows[i * apart];
        if (count)
                return compose_stack(im->c, list, count, 0);
        if (declared && declared->rank && dim_is(declared->dims[0], 0))
                return constant_number(im->m, declared, 0);
        onnx_unsupported(im, n, "output %d has no rows, and its shape is not stated", output);
        return NULL;
}

static bool unrolled(struct onnx_import *im, struct onnx_node *n, const struct looping *l)
{
        struct value **values = arena_array(im->arena, l->body->n_output, sizeof *values),
                     **rows = NULL;
        int64_t go = 1, steps = 0, room = 0;
        if ((l->trip && !value_is_constant(l->trip)) || (l->go && !value_is_constant(l->go)))
                return onnx_unsupported(im, n,
                                        "it carries a sequence or an optional, and runs as often "
                                        "as only a run can tell");
        for (int i = 0; i < l->carried; i++)
                values[1 + i] = n->inputs[2 + i];
        for (; go && (l->trips < 0 || steps < l->trips); steps++) {
                if (!unroll_step(im, n, l, steps, values))
                        return false;
                constant_number_of(values[0], &go);
                if (steps == room) {
                        room = 2 * room + 8;
                        struct value **more = arena_array(
                                im->arena, (size_t)room * (size_t)(l->stacked + 1), sizeof *more);
                        if (rows)
                                memcpy(more, rows,
                                       (size_t)steps * (size_t)l->stacked * sizeof *more);
                        rows = more;
                }
                for (int i = 0; i < l->stacked; i++)
                        rows[steps * l->stacked + i] = values[1 + l->which[i]];
        }
        for (int i = 0; i < n->output_count && i < l->carried; i++)
                n->outputs[i] = values[1 + i];
        for (int i = 0; i < l->stacked; i++)
                if (!onnx_output(n, l->which[i],
                                 unrolled_stack(im, n, l->which[i], rows ? rows + i : NULL,
                                                (int)steps, l->stacked)))
                        return false;
        return true;
}

bool onnx_import_loop(struct onnx_import *im, struct onnx_node *n)
{
        struct looping l = { 0 };
        struct body body;
        if (!looping_read(im, n, &l))
                return false;
        if (!l.carried && !l.stacked)
                return onnx_invalid(im, n, "it has no outputs");
        if (carries_lists(n))
                return unrolled(im, n, &l);
        l.counter = may_count(im, n, &l);
        struct value **yielded =
                arena_array(im->arena, (size_t)(2 + l.carried + l.stacked), sizeof *yielded);
        struct value **first = arena_array(im->arena, (size_t)l.carried + 1, sizeof *first);
        for (int i = 0; i < l.carried; i++)
                first[i] = n->inputs[2 + i];
        first[l.carried] = compose_integer(im->c, E_I64, 0);
        struct compose_loop_parts parts = { .trip = l.trip,
                                            .go = l.go ? l.go : compose_integer(im->c, E_BOOL, 1),
                                            .first = first,
                                            .carried = l.carried + l.counter,
                                            .stacked = l.stacked };
        if (!body_open(im, &parts, &body))
                return false;
        if (!import_body(im, n, &l, &body.loop, yielded))
                return body_close(im, &body, NULL);
        if (!body_close(im, &body, yielded) ||
            !finish_looping(im, n, &l, yielded[0], &body.loop.op))
                return false;
        for (int i = 0; i < n->output_count && i < l.carried; i++)
                n->outputs[i] = &body.loop.op->results[i];
        return output_stacks(im, n, &l, body.loop.op);
}

/* ---- Scan ---- */

struct scanning {
        const Onnx__GraphProto *body;
        int carried, scanned, stacked;
        int64_t *scan_axes, *scan_backward, *stack_axes, *stack_backward;
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
        if (!(s->body = onnx_graph_attribute(im, n, "body")) || !want_inputs(im, n, first) ||
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
        return true;
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
static bool scan_rows(struct onnx_import *im, struct onnx_node *n, const struct scanning *s,
                      struct value *const *states, struct value *const *scans,
                      struct value **results)
{
        struct body body;
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
        if (!body_open(im, &parts, &body))
                return false;
        for (int i = 0; i < s->carried + s->scanned; i++)
                arguments[i] = i < s->carried ? &body.loop.held[i] : body.loop.rows[i - s->carried];
        bool good = onnx_inline_graph(im, s->body, arguments, s->carried + s->scanned, yielded,
                                      count) &&
                    onnx_want_tensors(im, s->body, yielded, 0, count);
        for (int i = 0; i < s->carried && good; i++)
                good = check_carried(im, n, states[i], yielded[i], i);
        if (!good)
                return body_close(im, &body, NULL);
        if (!body_close(im, &body, yielded))
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
        for (int i = 0; i < s.scanned; i++) {
                struct value *x = n->inputs[s.carried + i];
                int axis;
                if (!onnx_axis(im, n, s.scan_axes[i], value_rank(x), &axis) ||
                    !same_steps(im, n, &s, i, x->type->dims[axis]))
                        return false;
                scans[i] = move_axis(im, x, axis, true);
        }
        if (!scan_rows(im, n, &s, n->inputs, scans, results))
                return false;
        for (int i = 0; i < n->output_count; i++) {
                int axis = 0;
                if (i >= s.carried &&
                    !onnx_axis(im, n, s.stack_axes[i - s.carried], value_rank(results[i]), &axis))
                        return false;
                n->outputs[i] = axis ? move_axis(im, results[i], axis, false) : results[i];
        }
        return true;
}

/* Before opset 9 everything has a batch, and each of its members is scanned by itself, by a loop in
 * a loop. */
bool onnx_import_scan_batch(struct onnx_import *im, struct onnx_node *n)
{
        struct scanning s = { 0 };
        struct body batch;
        if (!scanning_read(im, n, 1, &s) ||
            !(s.scan_backward = directions(im, n, "directions", s.scanned)))
                return false;
        if (n->inputs[0])
                return onnx_unsupported(im, n, "sequence_lens");
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
        if (!body_open(im, &parts, &batch))
                return false;
        for (int i = 0; i < parts.scanned; i++)
                inner[i] = batch.loop.rows[i];
        if (!scan_rows(im, n, &s, inner, inner + s.carried, results))
                return body_close(im, &batch, NULL);
        if (!body_close(im, &batch, results))
                return false;
        for (int i = 0; i < n->output_count; i++)
                n->outputs[i] = &batch.loop.op->results[i];
        return true;
}
