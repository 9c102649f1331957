/* SPDX-License-Identifier: MIT */
/* A branch of an If that is known at compile time stands in the node's place and the other one is
 * never looked at, which is how exporters guard code for other shapes. A branch that only a run can
 * choose may be for other shapes, too (another sampling rate, say): where its values are not what
 * the file declares them to be, and it cannot be imported for that, a run that chooses it ends with
 * INDEX. */
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_model.h"
#include "front/onnx/onnx_stack.h"
#include "front/onnx/onnx_texts.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

#include <stdlib.h>
#include <string.h>

/* Returns the condition as a scalar, which is a constant where extents of every run decide it, or
 * NULL after an error. */
static struct value *condition(struct onnx_import *im, struct onnx_node *n)
{
        struct value *c = n->inputs[0];
        if (c->type->element != E_BOOL || !type_is_static(c->type) || type_elements(c->type) != 1) {
                onnx_invalid(im, n, "the condition is %s, want one bool",
                             compose_text(im->c, c->type));
                return NULL;
        }
        struct amount known[AMOUNTS_MAX];
        int count;
        if (value_amounts(im->m, c, known, &count) && !known[0].term)
                return compose_integer(im->c, E_BOOL, known[0].number);
        return build_reshape(&im->b, c, 0, NULL);
}

/* Checks what the branches yield, which must have the same static types. */
static bool check_branches(struct onnx_import *im, struct onnx_node *n, struct op *op)
{
        const struct op *yields[] = { op->regions[0]->last, op->regions[1]->last };
        for (int i = 0; i < op->result_count; i++) {
                const struct type *t = op_operand(yields[0], i)->type,
                                  *other = op_operand(yields[1], i)->type;
                if (t != other)
                        return onnx_unsupported(
                                im, n, "output %d is %s in one branch and %s in the other", i,
                                compose_text(im->c, t), compose_text(im->c, other));
                op->results[i].type = t;
        }
        return true;
}

/* ---- branches of different extents ---- */

/* What both branches yield as one output: `differ` has a bit for each dimension in which they are
 * of different extents. */
struct joint { const struct type *bound; unsigned differ; };

/* Finds what the outputs of the branches have in common. Returns how many of their extents differ,
 * or -1 where nothing is to be done about a difference. */
static int find_joints(struct onnx_import *im, const struct op *op, struct joint *joints)
{
        const struct op *yields[] = { op->regions[0]->last, op->regions[1]->last };
        int extents = 0;
        for (int i = 0; i < op->result_count; i++) {
                const struct type *t = op_operand(yields[0], i)->type,
                                  *other = op_operand(yields[1], i)->type;
                dim_t dims[RANK_MAX];
                if (t == other)
                        continue;
                if (t->kind != TYPE_TENSOR || other->kind != TYPE_TENSOR ||
                    t->rank != other->rank || t->element != other->element)
                        return -1;
                for (int d = 0; d < t->rank; d++) {
                        bool same = dim_equal(t->dims[d], other->dims[d]);
                        dims[d] = dim_of(compose_max(dim_bound(im->m, t->dims[d]),
                                                     dim_bound(im->m, other->dims[d])));
                        joints[i].differ |= same && dim_is_static(t->dims[d]) ? 0 : 1u << d;
                        extents += joints[i].differ >> d & 1;
                }
                joints[i].bound = type_tensor(im->m, t->element, t->rank, dims);
        }
        return extents;
}

/* Moves the operations of a branch, but for its yield, into region `which` of another operation,
 * which yields these values. */
static bool yield_branch(struct onnx_import *im, struct region *branch, struct op *to, int which,
                         struct value *const *yields, int count)
{
        struct op *old = branch->last;
        struct onnx_region outer = onnx_region_enter(im, op_add_region(to, which));
        struct op *yield = build_yield(&im->b, yields, count);
        while (yield && branch->first != old)
                op_move_before(branch->first, yield);
        onnx_region_leave(im, outer);
        return yield != NULL;
}

/* Moves a branch into another operation, where it yields its outputs filled up to their bounds, and
 * behind them the extents that differ. */
static bool move_branch(struct onnx_import *im, const struct op *from, struct op *to, int which,
                        const struct joint *joints)
{
        struct region *branch = from->regions[which];
        struct op *old = branch->last;
        struct onnx_region outer = onnx_region_enter(im, branch);
        struct value **yields =
                arena_array(im->arena, (size_t)to->result_count, sizeof *yields);
        int count = from->result_count;
        bool ok = true;
        im->b.before = old;
        for (int i = 0; i < from->result_count && ok; i++) {
                struct value *v = op_operand(old, i);
                const struct type *t = v->type, *bound = joints[i].bound;
                const int64_t low[RANK_MAX] = { 0 };
                yields[i] = v;
                if (!bound)
                        continue;
                for (int d = 0; d < t->rank; d++)
                        if (joints[i].differ >> d & 1)
                                yields[count++] = compose_extent(im->c, t->dims[d]);
                if (t != bound)
                        yields[i] = compose_pad(im->c, v, build_scalar(&im->b, t->element, 0),
                                                constant_ints(im->m, low, t->rank), 0,
                                                compose_type(im->c, t->element, bound->rank,
                                                             bound->dims));
                ok = yields[i] != NULL;
        }
        im->b.before = NULL;
        onnx_region_leave(im, outer);
        return ok && yield_branch(im, branch, to, which, yields, count);
}

/* Builds the operation anew with results at the bounds of both branches, from whose beginnings the
 * `values`, one for each result, are taken, as far as the branch that ran goes. */
static bool join_branches(struct onnx_import *im, struct onnx_node *n, struct op *op,
                          const struct joint *joints, int extents, struct value **values)
{
        const int results = op->result_count;
        const struct type **types =
                arena_array(im->arena, (size_t)(results + extents), sizeof *types);
        struct value *c = op_operand(op, 0);
        for (int i = 0; i < results + extents; i++)
                types[i] = i >= results      ? type_scalar(im->m, E_I64)
                           : joints[i].bound ? joints[i].bound
                                             : op_operand(op->regions[0]->last, i)->type;
        struct op *joined =
                op_build_results(&im->b, OP_if, &c, 1, NULL, types, results + extents, 2);
        if (!joined || !move_branch(im, op, joined, 0, joints) ||
            !move_branch(im, op, joined, 1, joints))
                return false;
        op_erase(op);
        if (!op_infer(im->m, joined, im->diag))
                return false;
        int at = results;
        for (int i = 0; i < results; i++) {
                const int output = i < n->output_count ? i : n->output_count - 1;
                struct value *v = &joined->results[i];
                for (int d = 0; joints[i].bound && d < value_rank(v); d++) {
                        if (!(joints[i].differ >> d & 1))
                                continue;
                        dim_t found = onnx_counted(im, n, output, d, &joined->results[at++],
                                                   type_extent(joints[i].bound, d));
                        if (dim_equal(found, DIM_NONE) || !(v = onnx_first(im, v, d, found)))
                                return false;
                }
                values[i] = v;
        }
        return true;
}

/* ---- branches that yield sequences ---- */

/* An output that is no tensor: lists of as many items in both branches are these items, others
 * have a form. */
struct listing {
        struct value *values[2];        /* What each branch yields; NULL: the output is a tensor. */
        int items;                      /* So many items, or -1. */
        struct onnx_form form;
        int parts;                      /* It takes so many results. */
};

/* Finds how an output goes through the branches, one of which yields no tensor. */
static bool read_listing(struct onnx_import *im, struct onnx_node *n, struct listing *l)
{
        int counts[2];
        bool lists = true;
        for (int i = 0; i < 2; i++) {
                if (l->values[i]->type->kind != TYPE_TENSOR &&
                    onnx_form_of(im, l->values[i]).element == E_STRING)
                        return onnx_unsupported(im, n, "a sequence of texts, of which only a run "
                                                       "knows where it comes from");
                lists &= l->values[i]->type->kind == TYPE_SEQUENCE && !onnx_stack_of(l->values[i]);
                if (lists)
                        onnx_sequence_items(l->values[i], &counts[i]);
        }
        l->form = onnx_form_of(im, l->values[0]);
        struct onnx_form other = onnx_form_of(im, l->values[1]);
        l->items = lists && counts[0] == counts[1] && l->form.element == other.element ? counts[0]
                                                                                     : -1;
        l->parts = l->items;
        if (l->items >= 0)
                return true;
        if (!onnx_form_join(im, n, &l->form, &other))
                return false;
        if (l->form.is_optional && l->form.is_sequence && !l->form.known) {
                l->form.known = true;   /* It is empty where it is there. */
                l->form.room = 1;
        }
        l->parts = onnx_form_parts(&l->form);
        return true;
}

/* Moves a branch into another operation, where it yields the parts of lists. */
static bool spread_branch(struct onnx_import *im, struct onnx_node *n, const struct op *from,
                          struct op *to, int which, const struct listing *listings)
{
        struct region *branch = from->regions[which];
        struct op *old = branch->last;
        struct onnx_region outer = onnx_region_enter(im, branch);
        struct value **yields =
                arena_array(im->arena, (size_t)to->result_count + STACK_PARTS, sizeof *yields);
        int count = 0;
        bool ok = true;
        im->b.before = old;
        for (int i = 0; i < from->result_count && ok; i++) {
                const struct listing *l = &listings[i];
                int items = 1;
                struct value *v = op_operand(old, i), *const *parts = &v;
                if (l->values[0] && l->items < 0)
                        ok = onnx_form_spread(im, n, l->values[which], &l->form, yields + count);
                else if (l->values[0])
                        parts = onnx_sequence_items(l->values[which], &items);
                if (!l->values[0] || l->items >= 0)
                        for (int k = 0; k < items; k++)
                                yields[count + k] = parts[k];
                count += l->values[0] ? l->parts : 1;
        }
        im->b.before = NULL;
        onnx_region_leave(im, outer);
        return ok && yield_branch(im, branch, to, which, yields, count);
}

/* Returns the operation with a result for each part of a list, or NULL after an error. */
static struct op *spread_lists(struct onnx_import *im, struct onnx_node *n, struct op *op,
                               struct value *const *const *lists, struct listing *listings)
{
        struct value *c = op_operand(op, 0);
        int results = 0;
        for (int i = 0; i < op->result_count; i++) {
                struct listing *l = &listings[i];
                for (int k = 0; k < 2 && (lists[0][i] || lists[1][i]); k++)
                        l->values[k] = lists[k][i] ? lists[k][i]
                                                   : op_operand(op->regions[k]->last, i);
                if (l->values[0] && !read_listing(im, n, l))
                        return NULL;
                results += l->values[0] ? l->parts : 1;
        }
        const struct type **types = arena_array(im->arena, (size_t)results + 1, sizeof *types);
        for (int i = 0; i < results; i++)
                types[i] = c->type;     /* Any type will do: the regions say which it is. */
        struct op *wide = op_build_results(&im->b, OP_if, &c, 1, NULL, types, results, 2);
        if (!wide || !spread_branch(im, n, op, wide, 0, listings) ||
            !spread_branch(im, n, op, wide, 1, listings))
                return NULL;
        op_erase(op);
        return wide;
}

/* Sets the node's outputs, of which the values are the parts. */
static bool take_lists(struct onnx_import *im, struct onnx_node *n, int count,
                       const struct listing *listings, struct value *const *values)
{
        for (int i = 0; i < count; i++) {
                const struct listing *l = &listings[i];
                struct value *v = l->values[0] ? NULL : *values;
                if (l->values[0])
                        v = l->items >= 0 ? onnx_sequence_new(im, l->form.element, values, l->items)
                                          : onnx_form_gather(im, &l->form, values);
                if (i < n->output_count && !onnx_output(n, i, v))
                        return false;
                values += l->values[0] ? l->parts : 1;
        }
        return true;
}

/* ---- branches for other shapes ---- */

/* This is what a branch reported instead of being imported. */
struct refusal { char *text; bool misfit; };

/* Returns the first error of a branch. */
static const char *reason(struct onnx_import *im, const struct refusal *refusal)
{
        static const char word[] = "error: ";
        const char *line = strstr(refusal->text, word);
        return line ? arena_printf(im->arena, "%.*s", (int)strcspn(line, "\n") - (int)strlen(word),
                                   line + strlen(word))
                    : "";
}

/* Imports a branch. What is said meanwhile is kept in *refusal, or said when all is well. */
static bool import_branch(struct onnx_import *im, const Onnx__GraphProto *branch,
                          struct region *region, bool *texts, struct value **lists,
                          struct refusal *refusal)
{
        struct onnx_model *model = im->model;
        struct onnx_import before = *im;
        struct onnx_model state = *model;
        struct diag diag = *im->diag;
        size_t length;
        FILE *kept = open_memstream(&refusal->text, &length);
        if (kept)
                im->diag->stream = kept;
        model->contradicted = false;
        bool ok = onnx_subgraph(im, branch, region, texts, lists);
        if (kept)
                fclose(kept);
        im->diag->stream = diag.stream;
        refusal->misfit = !ok && kept && model->contradicted && !model->skip &&
                          im->unsupported_count == before.unsupported_count;
        model->contradicted |= state.contradicted;
        if (!refusal->misfit) {
                diag_say_again(im->diag, kept ? refusal->text : "");
                return ok;
        }
        im->diag->errors = diag.errors;
        im->diag->code = diag.code;
        im->scope = before.scope;
        im->b = before.b;
        model->frame = state.frame;
        model->nesting = state.nesting;
        model->counted = state.counted;
        return false;
}

/* Replaces what was imported of a branch by zeros of the types that the other branch yields, taken
 * from behind their end. */
static bool fail_branch(struct onnx_import *im, struct onnx_node *n, struct op *op, int which,
                        const struct refusal *refusal)
{
        struct region *region = op->regions[which];
        const struct op *other = op->regions[!which]->last;
        diag_warning(im->diag,
                     "%s: a run that chooses the %s branch fails, it is not for these shapes: %s",
                     onnx_node_text(im, n->proto), which ? "else" : "then", reason(im, refusal));
        while (region->last)
                op_erase(region->last);
        struct onnx_region outer = onnx_region_enter(im, region);
        struct value *behind = plus(im->c, build_cast(&im->b, op_operand(op, 0), E_I64), 1);
        struct value **yields =
                arena_array(im->arena, (size_t)other->operand_count, sizeof *yields);
        bool ok = behind != NULL;
        for (int i = 0; i < other->operand_count && ok; i++) {
                const struct type *t = op_operand(other, i)->type;
                dim_t dims[RANK_MAX + 1] = { dim_of(1) };
                memcpy(dims + 1, t->dims, (size_t)t->rank * sizeof *dims);
                const struct type *rows = type_tensor(im->m, t->element, t->rank + 1, dims);
                yields[i] = rows ? build_gather(&im->b, constant_number(im->m, rows, 0), behind, 0)
                                 : NULL;
                ok = yields[i] != NULL;
        }
        ok = ok && build_yield(&im->b, yields, other->operand_count);
        onnx_region_leave(im, outer);
        return ok;
}

static bool any_list(struct value *const *lists, int count)
{
        bool any = false;
        for (int i = 0; i < count; i++)
                any |= lists[i] != NULL;
        return any;
}

/* Imports both branches: the second one too when the first is not supported, so that its nodes are
 * listed. */
static bool import_branches(struct onnx_import *im, struct onnx_node *n, struct op *op,
                            const Onnx__GraphProto *const *branches, bool **texts,
                            struct value **const *lists)
{
        struct refusal refusals[2] = { { 0 } };
        bool ok[2], skipped = false, failed = false;
        for (int i = 0; i < 2 && !failed; i++) {
                op_add_region(op, i);
                ok[i] = import_branch(im, branches[i], op->regions[i], texts[i], lists[i],
                                      &refusals[i]);
                skipped |= !ok[i] && im->model->skip;
                failed = !ok[i] && !im->model->skip && !refusals[i].misfit;
        }
        im->model->skip = skipped;
        if (refusals[0].misfit && refusals[1].misfit)
                onnx_invalid(im, n, "neither branch is for these shapes: %s",
                             reason(im, &refusals[0]));
        for (int i = 0; i < 2 && !failed && !skipped; i++)
                if (!ok[i] && ok[!i] && any_list(lists[!i], op->result_count)) {
                        failed = !onnx_invalid(im, n, "the %s branch is not for these shapes: %s",
                                               i ? "else" : "then", reason(im, &refusals[i]));
                } else if (!ok[i] && ok[!i]) {
                        ok[i] = fail_branch(im, n, op, i, &refusals[i]);
                        texts[i] = texts[!i];
                }
        free(refusals[0].text);
        free(refusals[1].text);
        return !failed && !skipped && ok[0] && ok[1];
}

/* Gives texts that both branches yield the larger of their widths. */
static bool fit_texts(struct onnx_import *im, struct onnx_node *n, struct op *op, int count,
                      bool *const *texts)
{
        for (int i = 0; i < count; i++)
                if (texts[0][i] != texts[1][i])
                        return onnx_invalid(im, n, "output %d is of texts in one branch alone", i);
        for (int which = 0; which < 2; which++) {
                struct region *region = op->regions[which];
                struct op *yield = region->last;
                struct onnx_region outer = onnx_region_enter(im, region);
                bool ok = true;
                im->b.before = yield;
                for (int i = 0; i < count && ok; i++) {
                        const struct value *other = op_operand(op->regions[!which]->last, i);
                        struct value *v = op_operand(yield, i);
                        if (!texts[0][i] || value_rank(v) != value_rank(other))
                                continue;
                        const int last = value_rank(v) - 1;
                        if (value_extent(v, last) >= value_extent(other, last))
                                continue;
                        v = compose_fitted(im->c, v, last, value_extent(other, last));
                        if ((ok = v != NULL))
                                op_set_operand(yield, i, v);
                }
                im->b.before = NULL;
                onnx_region_leave(im, outer);
                if (!ok)
                        return false;
        }
        return true;
}

static bool is_one(const struct type *t)
{
        return t->kind == TYPE_TENSOR && type_is_static(t) && type_elements(t) == 1;
}

/* Gives single elements that both branches yield the larger of their ranks. A run's rank is then
 * known, and what reads it by broadcasting makes no difference of it. */
static bool fit_ranks(struct onnx_import *im, struct onnx_node *n, struct op *op)
{
        for (int i = 0; i < op->result_count; i++) {
                const struct type *t[2];
                for (int k = 0; k < 2; k++)
                        t[k] = op_operand(op->regions[k]->last, i)->type;
                if (!is_one(t[0]) || !is_one(t[1]) || t[0]->element != t[1]->element ||
                    t[0]->rank == t[1]->rank)
                        continue;
                const int less = t[0]->rank < t[1]->rank ? 0 : 1;
                struct op *yield = op->regions[less]->last;
                diag_warning(im->diag,
                             "%s: output %d is %s in one branch and %s in the other; it is the "
                             "latter in both",
                             onnx_node_text(im, n->proto), i, compose_text(im->c, t[less]),
                             compose_text(im->c, t[!less]));
                struct onnx_region outer = onnx_region_enter(im, op->regions[less]);
                im->b.before = yield;
                struct value *v = compose_reshape(im->c, op_operand(yield, i), t[!less]->rank,
                                                  t[!less]->dims);
                if (v)
                        op_set_operand(yield, i, v);
                im->b.before = NULL;
                onnx_region_leave(im, outer);
                if (!v)
                        return false;
        }
        return true;
}

/* Makes texts of those outputs that hold the bytes of texts. */
static bool take_texts(struct onnx_import *im, struct onnx_node *n, int count, const bool *texts)
{
        for (int i = 0; i < n->output_count && i < count; i++)
                if (texts[i] && !(n->outputs[i] = onnx_texts_new(im, n->outputs[i])))
                        return false;
        return true;
}

static bool any_texts(bool *const *texts, int count)
{
        bool any = false;
        for (int i = 0; i < count; i++)
                any |= texts[0][i] || texts[1][i];
        return any;
}

static bool run_time_if(struct onnx_import *im, struct onnx_node *n, struct value *c,
                        const Onnx__GraphProto *const *branches)
{
        int count = (int)branches[0]->n_output;
        if (branches[0]->n_output != branches[1]->n_output)
                return onnx_invalid(im, n, "the branches have %zu and %zu outputs",
                                    branches[0]->n_output, branches[1]->n_output);
        if (n->output_count > count)
                return onnx_invalid(im, n, "%d outputs, its branches have %d", n->output_count,
                                    count);
        const struct type **types = arena_array(im->arena, (size_t)count, sizeof *types);
        for (int i = 0; i < count; i++)
                types[i] = c->type;     /* Any type will do: the regions say which it is. */
        struct op *op = op_build_results(&im->b, OP_if, &c, 1, NULL, types, count, 2);
        if (!op)
                return false;
        bool *texts[2] = { arena_array(im->arena, (size_t)count, sizeof *texts[0]),
                           arena_array(im->arena, (size_t)count, sizeof *texts[0]) };
        struct value **lists[2] = { arena_array(im->arena, (size_t)count, sizeof *lists[0]),
                                    arena_array(im->arena, (size_t)count, sizeof *lists[0]) };
        struct listing *listings = arena_array(im->arena, (size_t)count, sizeof *listings);
        if (!import_branches(im, n, op, branches, texts, lists) ||
            !fit_texts(im, n, op, count, texts))
                return false;
        if (any_list(lists[0], count) || any_list(lists[1], count)) {
                if (any_texts(texts, count))
                        return onnx_unsupported(im, n, "it makes texts beside a sequence");
                if (!(op = spread_lists(im, n, op, (struct value *const *const *)lists, listings)))
                        return false;
        }
        if (!fit_ranks(im, n, op))
                return false;
        const int results = op->result_count;
        struct value **values = arena_array(im->arena, (size_t)results + 1, sizeof *values);
        struct joint *joints = arena_array(im->arena, (size_t)results + 1, sizeof *joints);
        int extents = find_joints(im, op, joints);
        for (int i = 0; i < count; i++)
                if (texts[0][i] && joints[i].differ)
                        return onnx_unsupported(im, n, "output %d has more texts in one branch", i);
        if (extents > 0) {
                if (!join_branches(im, n, op, joints, extents, values))
                        return false;
        } else {
                if (!check_branches(im, n, op) || !op_infer(im->m, op, im->diag))
                        return false;
                for (int i = 0; i < results; i++)
                        values[i] = &op->results[i];
        }
        return take_lists(im, n, count, listings, values) && take_texts(im, n, count, texts[0]);
}

bool onnx_import_if(struct onnx_import *im, struct onnx_node *n)
{
        const Onnx__GraphProto *branches[] = { onnx_graph_attribute(im, n, "then_branch"), NULL };
        branches[1] = branches[0] ? onnx_graph_attribute(im, n, "else_branch") : NULL;
        struct value *c = branches[1] ? condition(im, n) : NULL;
        int64_t number;
        if (!c)
                return false;
        if (!value_is_constant(c))
                return run_time_if(im, n, c, branches);
        number = (int64_t)constant_element(c->constant, 0).u;
        return onnx_inline_graph(im, branches[number ? 0 : 1], NULL, 0, n->outputs,
                                 n->output_count);
}
