/* SPDX-License-Identifier: MIT */
/* State that grows: rows are appended, and what the model joins anew in each run is not copied.
 *
 *      func @main(%past "past": <1 x P x 64 x f32>, %x "x": <1 x N x 64 x f32>)
 *        %0 = concat(%past, %x) axis=1 : <1 x P + N x 64 x f32>                   yields %0 as "present"
 *
 * becomes, where P is at most 511 and N at most 16,
 *
 *      func @main(%past "past" next "present" along 1 to P: <1 x 527 x 64 x f32>, %x ..) next P = P + N
 *        %0 = slice(%past) starts=[0, 0, 0] : <1 x P x 64 x f32>                  all that reads %past
 *        %1 = extent(%0) axis=1 : <i64>
 *        %2 = scatter(%past, iota + %1, %x) axis=1 : <1 x 527 x 64 x f32>         yielded
 *        %3 = slice(%2) starts=[0, 0, 0] : <1 x P + N x 64 x f32>                 all that reads the concat
 *
 * The scatter writes where %past lies (ir/lower/lower_module.c), the slices are subscripts. Another
 * scatter may follow the concat, as of several sequences, each of which has rows of its own number:
 * it then writes there, too.
 *
 * A function whose input has no rows, or that has the output alone, as a prompt's has beside a
 * step's, begins anew: it writes its N rows to the front of the same memory, and next P = N. */
#include "compiler/state.h"

#include <string.h>

#include "ir/tensor/tensor.h"

/* Returns the only dimension in which the types differ, or -1. */
static int growing_axis(const struct type *now, const struct type *then)
{
        int axis = -1, count = 0;
        if (now->element != then->element || now->rank != then->rank)
                return -1;
        for (int d = 0; d < now->rank; d++)
                if (!dim_equal(now->dims[d], then->dims[d])) {
                        axis = d;
                        count++;
                } else if (!dim_is_static(now->dims[d])) {
                        return -1;
                }
        return count == 1 ? axis : -1;
}

/* Returns the first part of x along the axis. */
static struct value *first_rows(struct builder *b, struct value *x, int axis, dim_t rows)
{
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        dim_t sizes[RANK_MAX];
        for (int d = 0; d < x->type->rank; d++) {
                steps[d] = 1;
                sizes[d] = d == axis ? rows : x->type->dims[d];
        }
        return build_slice(b, x, starts, steps, sizes);
}

/* Returns how many rows there are before the run, as <i64>: of `before` or, so that it is computed
 * once, of what stands in front of `joined` for another input. */
static struct value *count_rows(struct builder *b, struct value *before, int axis,
                                const struct op *joined)
{
        const dim_t rows = before->type->dims[axis];
        for (struct op *op = b->region->first; op != joined; op = op->next)
                if (op->code == OP_extent &&
                    dim_equal(op_operand(op, 0)->type->dims[op_int(op, "axis")], rows))
                        return op_result(op);
        return build_extent(b, before, axis);
}

/* Returns x with rows put behind its first ones, of which there are `from`; NULL: none. */
static struct value *put_rows(struct builder *b, struct value *x, struct value *from,
                              struct value *rows, int axis)
{
        dim_t dims[RANK_MAX];
        for (int d = 0; d < x->type->rank; d++)
                dims[d] = d == axis ? rows->type->dims[d] : dim_of(1);
        const struct type *t = type_tensor(b->m, E_I64, x->type->rank, dims);
        struct value *at = build_iota(b, t, axis);
        if (from && at) {
                from = build_broadcast(b, from, t, NULL);
                at = from ? value_build(b, OP_add, (struct value *[]){ at, from }, 2, NULL, NULL)
                          : NULL;
        }
        struct attr *attrs = attrs_new(b->m, OP_scatter);
        attr_set(attrs, OP_scatter, "axis", axis);
        return at ? value_build(b, OP_scatter, (struct value *[]){ x, at, rows }, 3, attrs, NULL)
                  : NULL;
}

int state_symbol(const struct module *m, const struct type *now, const struct type *then, int *axis)
{
        *axis = growing_axis(now, then);
        if (*axis < 0 || dim_is_static(now->dims[*axis]))
                return -1;
        const struct dim_expr *rows = dim_term(m, now->dims[*axis]);
        return rows->kind == DIM_SYMBOL && m->symbols[rows->symbol].at_run ? rows->symbol : -1;
}

/* Returns what joins past and new rows: what makes `present`, or what is updated to make it, and
 * nothing else reads. *update: the scatter that does that; NULL: none does. */
static struct op *joined_of(struct value *present, int axis, struct op **update)
{
        struct op *op = present->kind == VALUE_RESULT ? present->op : NULL;
        *update = op && op->code == OP_scatter && op_int(op, "axis") == axis ? op : NULL;
        if (!*update)
                return op;
        struct value *whole = op_operand(op, 0);
        return whole->kind == VALUE_RESULT && value_has_one_use(whole) ? whole->op : NULL;
}

enum state_rows state_append(struct function *f, int input, int output, const int64_t *room,
                             struct diag *diag)
{
        struct module *m = f->module;
        struct value *past = &f->body.arguments[input], *present = op_operand(f->body.last, output);
        const struct type *now = past->type, *then = present->type;
        int axis;
        const int symbol = state_symbol(m, now, then, &axis);
        if (symbol < 0)
                return STATE_NO_ROWS;
        struct op *update, *joined = joined_of(present, axis, &update);
        if (!joined || joined->code != OP_concat || op_int(joined, "axis") != axis ||
            joined->operand_count != 2 || op_operand(joined, 0) != past)
                return STATE_NOT_JOINED;
        if (m->symbols[symbol].least || !function_keep(f, symbol, then->dims[axis]))
                return STATE_OTHER_ROWS;
        struct value *more = op_operand(joined, 1);
        dim_t dims[RANK_MAX];
        memcpy(dims, now->dims, (size_t)now->rank * sizeof *dims);
        dims[axis] = dim_of(room[symbol]);
        past->type = type_tensor(m, now->element, now->rank, dims);
        struct port *port = &f->input_ports[input];
        port->grows = true;
        port->along = axis;
        port->rows = now->dims[axis];
        struct builder b = { .m = m, .region = &f->body, .before = f->body.first, .diag = diag };
        struct value *before = first_rows(&b, past, axis, now->dims[axis]);
        struct value *from = before ? count_rows(&b, before, axis, joined) : NULL;
        if (!from)
                return STATE_FAILED;
        value_replace(past, before);
        op_set_operand(before->op, 0, past);
        b.before = joined;
        b.location = joined->location;
        struct value *all = put_rows(&b, past, from, more, axis);
        if (all && update) {
                struct value *operands[] = { all, op_operand(update, 1), op_operand(update, 2) };
                b.before = update;
                all = value_build(&b, OP_scatter, operands, 3, update->attrs, NULL);
        }
        struct value *whole = all ? first_rows(&b, all, axis, then->dims[axis]) : NULL;
        if (!whole)
                return STATE_FAILED;
        value_replace(present, whole);
        op_set_operand(f->body.last, output, all);
        if (update)
                op_erase(update);
        op_erase(joined);
        return STATE_APPENDED;
}

bool state_is_begun(const struct type *now, const struct type *then)
{
        const int axis = growing_axis(now, then);
        return axis >= 0 && dim_is(now->dims[axis], 0);
}

/* Returns f's input of this name, which has no rows: what reads it, reads the first 0 of a type
 * that has room. Makes one where there is none. Returns NULL after an error. */
static struct value *past_of(struct builder *b, struct function *f, const char *name,
                             const struct type *t, int axis)
{
        for (int i = 0; i < f->body.argument_count; i++) {
                struct value *past = &f->body.arguments[i];
                if (strcmp(f->input_ports[i].name, name) != 0)
                        continue;
                past->type = t;
                struct value *none = first_rows(b, past, axis, dim_of(0));
                if (!none)
                        return NULL;
                value_replace(past, none);
                op_set_operand(none->op, 0, past);
                return past;
        }
        return function_add_input(f, name, t);
}

enum state_rows state_start(struct function *f, const struct function *other, int input, int output,
                            struct diag *diag)
{
        const struct port *kept = &other->input_ports[input];
        const struct type *t = other->body.arguments[input].type;
        struct value *rows = op_operand(f->body.last, output);
        const int axis = kept->grows ? growing_axis(t, rows->type) : -1;
        if (!kept->grows ? t != rows->type : axis != kept->along)
                return STATE_NO_ROWS;
        if (kept->grows &&
            !function_keep(f, dim_term(f->module, kept->rows)->symbol, rows->type->dims[axis]))
                return STATE_OTHER_ROWS;
        struct builder b = {
                .m = f->module, .region = &f->body, .before = f->body.first, .diag = diag
        };
        struct value *past = past_of(&b, f, kept->name, t, axis);
        if (!past)
                return STATE_FAILED;
        struct port *port = &f->input_ports[past->index];
        *port = (struct port){ .name = port->name,
                               .next = f->output_ports[output].name,
                               .grows = kept->grows,
                               .along = kept->along,
                               .rows = kept->rows };
        if (!kept->grows)
                return STATE_APPENDED;
        if (rows->kind == VALUE_RESULT) {
                b.before = rows->op->next;
                b.location = rows->op->location;
        }
        struct value *all = put_rows(&b, past, NULL, rows, axis);
        struct value *first = all ? first_rows(&b, all, axis, rows->type->dims[axis]) : NULL;
        if (!first)
                return STATE_FAILED;
        value_replace(rows, first);
        op_set_operand(all->op, 2, rows);
        op_set_operand(f->body.last, output, all);
        return STATE_APPENDED;
}
