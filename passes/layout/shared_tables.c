/* SPDX-License-Identifier: MIT */
/* Tables of rows that are weights, too: a language model's embedding is often its last product.
 *
 *   %e = gather(@w, %tokens)
 *   %y = convolve_packed(%x, @p) outputs=V
 *     ->
 *   %e = gather_panels(@p, %tokens) rows=V columns=K
 *   %y = convolve_packed(%x, @p) outputs=V
 *
 * @p is @w in panels, where a row is no longer consecutive: K loads, each from a line of its own,
 * are little beside the product, which reads all of them, and one copy of the constant is half the
 * memory. The product's weights may have been the table's transpose. Small constants stay as they
 * are. */
#include <string.h>

#include "passes/layout/layout.h"

enum { TABLE_BYTES = 64 * 1024 };

/* The panels that hold the rows of a constant. */
struct table { const struct constant *rows; struct value *panels; int group; struct table *next; };

/* Is matrix b the transpose of a? */
static bool is_transpose(const struct constant *a, const struct constant *b)
{
        const struct type *t = a->value.type, *other = b->value.type;
        if (a->kind == CONSTANT_SPLAT || t->rank != 2 || t->element != other->element ||
            !dim_equal(t->dims[0], other->dims[1]) || !dim_equal(t->dims[1], other->dims[0]))
                return false;
        const int64_t rows = type_extent(t, 0), columns = type_extent(t, 1);
        const size_t bytes = (size_t)element_info[t->element].bytes;
        bool equal = true;
        for (int64_t r = 0; r < rows && equal; r++)
                for (int64_t c = 0; c < columns && equal; c++)
                        equal = !memcmp(
                                (const char *)constant_data(a) + (size_t)(r * columns + c) * bytes,
                                (const char *)constant_data(b) + (size_t)(c * rows + r) * bytes,
                                bytes);
        return equal;
}

static bool gathers_rows(const struct use *u)
{
        return u->user->code == OP_gather && !u->index && !op_int(u->user, "axis");
}

/* Do gathers of rows alone read the constant? */
static bool is_gathered(const struct constant *c)
{
        const struct use *u = c->value.uses;
        while (u && gathers_rows(u))
                u = u->next;
        return c->value.uses && !u;
}

/* Returns the constant whose rows are the columns of w, and are gathered; NULL: there is none. */
static const struct constant *turned_table(const struct module *m, const struct constant *w)
{
        for (const struct constant *c = m->constants; c; c = c->next) {
                const struct use *u = c->value.uses;
                while (u && !gathers_rows(u))
                        u = u->next;
                if (u && is_transpose(c, w))
                        return c;
        }
        return NULL;
}

void layout_note_table(struct layout *l, const struct op *op, const struct value *b,
                       struct value *w, int group)
{
        int count;
        const int64_t *along = op_ints(op, "contract_b", &count);
        if (count != 1 || !value_is_constant(b) || b->constant->kind == CONSTANT_SPLAT ||
            !value_is_constant(w) || b->type->rank != 2 || b->type->element != w->type->element ||
            type_bytes(b->type) < TABLE_BYTES)
                return;
        const struct constant *rows =
                along[0] == 1 ? b->constant : turned_table(l->m, b->constant);
        if (!rows)
                return;
        struct table *t = ARENA_NEW(l->m->arena, struct table);
        *t = (struct table){ rows, w, group, l->m->tables };
        l->m->tables = t;
}

static bool share(struct layout *l, struct op *op, const struct table *t)
{
        const struct type *matrix = op_operand(op, 0)->type;
        struct builder b = builder_before(op, l->context->diag);
        struct attr *attrs = attrs_new(l->m, OP_gather_panels);
        attr_set(attrs, OP_gather_panels, "rows", type_extent(matrix, 0));
        attr_set(attrs, OP_gather_panels, "columns", type_extent(matrix, 1));
        attr_set(attrs, OP_gather_panels, "group", t->group);
        struct value *y = value_build(&b, OP_gather_panels,
                                      (struct value *[]){ t->panels, op_operand(op, 1) }, 2, attrs,
                                      NULL);
        if (!y)
                return false;
        value_replace(op_result(op), y);
        op_erase(op);
        return true;
}

int layout_share_tables(struct layout *l)
{
        int count = 0;
        for (struct constant *c = l->m->tables ? l->m->constants : NULL; c && !l->failed;
             c = c->next) {
                const struct table *t = is_gathered(c) ? l->m->tables : NULL;
                while (t && (t->rows != c || !t->panels->uses))
                        t = t->next;
                for (struct use *u = t ? c->value.uses : NULL, *next; u && !l->failed;
                     u = next, count++) {
                        next = u->next;
                        l->failed = !share(l, u->user, t);
                }
        }
        return count;
}
