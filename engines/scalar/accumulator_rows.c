/* SPDX-License-Identifier: MIT */
/* In accumulator rows of jam, the sums of many columns lie in an array, and the innermost loop goes
 * over columns.
 *
 *     for %i = 0 to 197 {                             for %i = 0 to 196 step 98 {
 *       var %sum : f32 = 0.0                            alloc %sum : f32[98]
 *       for %c = 0 to 64 {                              for %t = 0 to 98 {
 *         let %xe : f32 = %x[%c * 197 + %i]               store %sum[%t] = 0.0
 *         let %we : f32 = %w[%c]               ->       }
 *         set %sum = %sum + %xe * %we                   for %c = 0 to 64 step 2 {
 *       }                                                 let %we : f32 = %w[%c]
 *       store %y[%i] = max(%sum, 0.0)                     let %we2 : f32 = %w[%c + 1]
 *     }                                                   for %t = 0 to 98 {
 *                                                           let %xe : f32 = %x[%c * 197 + %i + %t]
 *                                                           let %xe2 ...
 *                                                           store %sum[%t] = %sum[%t] + %xe * %we + %xe2 * %we2
 *                                                         }
 *                                                       }
 *                                                       for %t = 0 to 98 {
 *                                                         store %y[%i + %t] = max(%sum[%t], 0.0)
 *                                                       }
 *                                                     }
 *                                                     for %e = 0 to 1 { column 196, as it was }
 *
 * C compilers make vectors of such loops from -O2 on, of the length that the machine has, because
 * the numbers of iterations are known and even. Columns at edges, where windows reach over the
 * border, and columns that no row takes are computed as before. A product of 8 bits by 8 or 9 is
 * cast to 16 bits, which hold it; a vector has twice as many of these. Results side by side have a
 * row each, which jam.c numbers by %line. */
#include "ir/loop/loop_vector.h"
#include "passes/vectorize/jam.h"

#include "passes/vectorize/vectorize.h"

/* ---- what a nest must look like ---- */

/* Returns the only loop of a block; NULL where there is none, or several, or a loop that is not
 * serial or has a step. */
static const struct loop_stmt *only_loop(const struct loop_block *block)
{
        const struct loop_stmt *found = NULL;
        for (const struct loop_stmt *s = block->first; s; s = s->next) {
                if (s->kind == STMT_FOR && (found || s->for_kind != FOR_SERIAL || s->step != 1))
                        return NULL;
                found = s->kind == STMT_FOR ? s : found;
        }
        return found;
}

const struct loop_stmt *jam_innermost(const struct jam_nest *nest)
{
        const struct loop_stmt *loop = nest->sum ? only_loop(nest->leaf) : NULL;
        while (loop) {
                const struct loop_stmt *last = loop->body->first;
                while (last && last->kind == STMT_LET)
                        last = last->next;
                if (!last || last->next)
                        return NULL;
                if (last->kind == STMT_SET)
                        return last->variable == nest->sum->variable ? loop : NULL;
                loop = only_loop(loop->body);
        }
        return NULL;
}

/* Finds the value of a subscript where loop variable v is n. Returns false where it depends on more
 * than v, or overflows. */
static bool value_at(const struct jam_nest *nest, const struct loop_expr *e,
                     const struct loop_variable *v, int64_t n, int64_t *value)
{
        int64_t a, b;
        if (loop_is_int(e, value))
                return true;
        if (e->op == LOOP_VARIABLE) {
                const struct loop_expr *definition = jam_definition(nest, e->variable);
                *value = n;
                return e->variable == v ||
                       (definition && value_at(nest, definition, v, n, value));
        }
        if (e->arity != 2 || !e->args[0] || !e->args[1] ||
            !value_at(nest, e->args[0], v, n, &a) || !value_at(nest, e->args[1], v, n, &b))
                return false;
        switch (e->op) {
        case LOOP_ADD: return !__builtin_add_overflow(a, b, value);
        case LOOP_SUB: return !__builtin_sub_overflow(a, b, value);
        case LOOP_MUL: return !__builtin_mul_overflow(a, b, value);
        case LOOP_MIN: *value = a < b ? a : b; return true;
        case LOOP_MAX: *value = a > b ? a : b; return true;
        default: return false;
        }
}

/* Do the loops of the sum begin and end alike in columns n and m? */
static bool are_alike(const struct jam_nest *nest, const struct loop_variable *v, int64_t n,
                      int64_t m)
{
        for (const struct loop_stmt *s = only_loop(nest->leaf); s; s = only_loop(s->body)) {
                const struct loop_expr *ends[] = { s->a, s->b };
                for (int i = 0; i < 2; i++) {
                        int64_t a, b;
                        if (jam_depends(nest, ends[i], v) &&
                            (!value_at(nest, ends[i], v, n, &a) ||
                             !value_at(nest, ends[i], v, m, &b) || a != b))
                                return false;
                }
        }
        return true;
}

bool jam_middle(const struct jam_nest *nest, const struct loop_stmt *column, int64_t *first,
                int64_t *count)
{
        const struct loop_variable *v = column->variable;
        int64_t from, trip = vectorize_trip(column, &from), middle = from + trip / 2, end = middle;
        if (!trip || !are_alike(nest, v, middle, middle))
                return false;
        *first = middle;
        while (*first > from && are_alike(nest, v, middle, *first - 1))
                --*first;
        while (end < from + trip && are_alike(nest, v, middle, end))
                end++;
        *count = end - *first;
        return true;
}

int64_t jam_iterations(const struct jam_nest *nest, const struct loop_variable *v, int64_t column)
{
        const struct loop_stmt *loop = jam_innermost(nest);
        int64_t from, to;
        bool known = loop && value_at(nest, loop->a, v, column, &from) &&
                     value_at(nest, loop->b, v, column, &to);
        return known && to > from ? to - from : 0;
}

/* ---- products of 16 bits ---- */

struct interval { int64_t low, high; };

static bool interval_of(const struct loop_expr *e, struct interval *r)
{
        struct interval a, b;
        if (loop_is_int(e, &r->low)) {
                r->high = r->low;
                return true;
        }
        if (e->op == LOOP_CAST && e->args[0]->op == LOOP_LOAD) {
                enum element from = e->args[0]->type.element;
                *r = from == E_U8 ? (struct interval){ 0, 255 } : (struct interval){ -128, 127 };
                return from == E_U8 || from == E_I8;
        }
        if ((e->op != LOOP_ADD && e->op != LOOP_SUB) || !interval_of(e->args[0], &a) ||
            !interval_of(e->args[1], &b) || b.low < INT16_MIN || b.high > INT16_MAX)
                return false;
        *r = e->op == LOOP_ADD ? (struct interval){ a.low + b.low, a.high + b.high }
                               : (struct interval){ a.low - b.high, a.high - b.low };
        return r->low >= INT16_MIN && r->high <= INT16_MAX;
}

static int64_t magnitude(struct interval r) { return r.high > -r.low ? r.high : -r.low; }

bool jam_is_narrow(const struct loop_expr *product)
{
        struct interval a, b;
        return product->type.element == E_I32 && interval_of(product->args[0], &a) &&
               interval_of(product->args[1], &b) && magnitude(a) * magnitude(b) <= INT16_MAX;
}

/* ---- the accumulator row ---- */

struct accumulators {
        struct arena *arena;
        const struct jam_nest *nest;
        const struct jam *jam;
        struct loop_variable *column;
        struct loop_buffer *sums;
        struct loop_expr *line;
        int64_t wide; /* A row has this many sums. */
        const struct loop_variable **alone;
        int alone_count;
        struct loop_block *moved;       /* These values stood before inner loops, and differ from
                                         * column to column. */
        bool failed;
};

/* Appends a loop over the columns of a row: for t = 0 to columns. */
static struct loop_stmt *append_columns(struct accumulators *s, struct loop_block *out)
{
        struct loop_variable *t =
                loop_variable_new(s->arena, "t", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        return jam_append_loop(s->arena, t, 0, s->jam->columns, 1, out);
}

static struct loop_expr *sum_at(struct accumulators *s, const struct loop_stmt *each)
{
        struct loop_expr *line = loop_op(s->arena, LOOP_MUL, loop_expr_copy(s->arena, s->line),
                                         loop_index(s->arena, s->wide), NULL);
        return loop_op(s->arena, LOOP_ADD, line, loop_use(s->arena, each->variable), NULL);
}

static void store_sum(struct accumulators *s, struct loop_stmt *each, struct loop_expr *value)
{
        struct loop_stmt *store = loop_append(s->arena, each->body, STMT_STORE);
        store->buffer = s->sums;
        store->a = sum_at(s, each);
        store->b = value;
}

/* Returns the column of an iteration of `each`. */
static struct loop_expr *column_of(struct accumulators *s, const struct loop_stmt *each)
{
        struct loop_expr *first = s->jam->row_count > 1 ? loop_use(s->arena, s->column)
                                                     : loop_index(s->arena, s->jam->first);
        return loop_op(s->arena, LOOP_ADD, first, loop_use(s->arena, each->variable), NULL);
}

static void write_zeros(struct accumulators *s, struct loop_block *out)
{
        struct loop_stmt *each = append_columns(s, out);
        const struct loop_stmt *sum = s->nest->sum;
        enum element e = sum->variable->type.element;
        store_sum(s, each, sum->a                ? loop_expr_copy(s->arena, sum->a)
                           : element_is_float(e) ? loop_float(s->arena, e, 0)
                                                 : loop_int(s->arena, e, 0));
}

/* Appends a copy of a let. */
static void append_let(struct accumulators *s, const struct loop_stmt *let, struct loop_block *out)
{
        struct loop_stmt *copy = loop_append(s->arena, out, STMT_LET);
        copy->variable = let->variable;
        copy->a = let->a;
}

/* Returns where a loop of the sum begins or ends, for the columns in the middle. */
static struct loop_expr *end_of(struct accumulators *s, struct loop_expr *e)
{
        int64_t value;
        if (!jam_depends(s->nest, e, s->column))
                return e;
        s->failed |= !value_at(s->nest, e, s->column, s->jam->first, &value);
        return loop_index(s->arena, value);
}

/* Writes iterations of the innermost loop: values that are the same for all columns, then a loop
 * over columns. */
static void write_iterations(struct accumulators *s, const struct loop_stmt *loop,
                             struct loop_block *out)
{
        int terms = s->jam->terms;
        const struct loop_stmt *set = loop->body->first;
        struct loop_block *lets = loop_block_new(s->arena);
        struct jam_copy *iterations = jam_copy_new(s->arena, terms);
        struct loop_expr *products[JAM_TERMS_MAX];
        int64_t first;
        bool all = s->jam->iterations == terms && loop_is_int(end_of(s, loop->a), &first);
        for (int i = 0; i < terms; i++)
                jam_copy_set(iterations, loop->variable, i,
                             all ? loop_index(s->arena, first + i)
                                 : jam_plus(s->arena, loop->variable, i));
        while (set->kind != STMT_SET)
                set = set->next;
        jam_range(iterations, loop->body->first, set, lets);
        for (int i = 0; i < terms; i++) {
                products[i] = jam_expr(iterations, set->a->args[1], i);
                if (s->jam->narrow)
                        products[i] = loop_cast(s->arena, E_I32,
                                                loop_cast(s->arena, E_I16, products[i]));
        }
        for (struct loop_stmt *let = lets->first; let; let = let->next) {
                jam_define(s->nest, let);
                append_let(s, let, jam_depends(s->nest, let->a, s->column) ? s->moved : out);
        }
        struct loop_stmt *each = append_columns(s, out);
        struct jam_copy *columns = jam_copy_new(s->arena, 1);
        jam_copy_set(columns, s->column, 0, column_of(s, each));
        jam_range(columns, s->moved->first, NULL, each->body);
        struct loop_expr *sum = loop_load(s->arena, s->sums, sum_at(s, each));
        for (int i = 0; i < terms; i++)
                sum = loop_op(s->arena, LOOP_ADD, sum, jam_expr(columns, products[i], 0), NULL);
        store_sum(s, each, sum);
        s->failed |= iterations->failed || columns->failed;
}

/* Writes the loops of the sum that lie inside `block`. */
static void write_sums(struct accumulators *s, struct loop_block *block, struct loop_block *out)
{
        const struct loop_stmt *innermost = jam_innermost(s->nest);
        for (struct loop_stmt *stmt = block->first; stmt; stmt = stmt->next) {
                if (stmt->kind == STMT_LET) {
                        append_let(s, stmt,
                                   jam_depends(s->nest, stmt->a, s->column) ? s->moved : out);
                } else if (stmt->kind == STMT_FOR) {
                        if (stmt == innermost && s->jam->iterations == s->jam->terms) {
                                write_iterations(s, stmt, out);
                                return;
                        }
                        struct loop_stmt *loop = loop_append(s->arena, out, STMT_FOR);
                        loop->variable = stmt->variable;
                        loop->a = end_of(s, stmt->a);
                        loop->b = end_of(s, stmt->b);
                        loop->step = stmt == innermost ? s->jam->terms : 1;
                        if (stmt == innermost)
                                write_iterations(s, stmt, loop->body);
                        else
                                write_sums(s, stmt->body, loop->body);
                        return;
                }
        }
}

/* ---- what becomes of sums ---- */

static void uses_variable(struct loop_expr *e, void *context)
{
        const struct loop_variable **v = context;
        if (e->op == LOOP_VARIABLE && e->variable == *v)
                *v = NULL;
}

static bool block_uses(struct loop_block *block, const struct loop_variable *v)
{
        loop_block_walk(block, NULL, uses_variable, &v);
        return !v;
}

/* Puts the values from stmt on that `body` uses, and the values that these use, at the beginning of
 * `body`. */
static void with_values(struct accumulators *s, struct loop_stmt *stmt, struct loop_block *body)
{
        enum { MOST = 64 };
        const struct loop_stmt *lets[MOST];
        int count = 0;
        for (; stmt && count < MOST; stmt = stmt->next)
                if (stmt->kind == STMT_LET)
                        lets[count++] = stmt;
        s->failed |= count == MOST;
        while (count-- > 0) {
                if (!block_uses(body, lets[count]->variable))
                        continue;
                struct loop_block *one = loop_block_new(s->arena);
                append_let(s, lets[count], one);
                one->first->next = body->first;
                body->first = one->first;
        }
}

/* Writes a loop over the columns of `each` that makes results of the sums of one row, and records
 * the loop in s->alone. */
static void write_results(struct accumulators *s, struct loop_stmt *each, struct loop_expr *column)
{
        const struct jam_nest *nest = s->nest;
        struct loop_block *values = loop_block_new(s->arena);
        struct loop_stmt *store = loop_append(s->arena, values, STMT_STORE);
        *store = *nest->store;
        int from = s->jam->along < 0 ? s->jam->column : s->jam->along;
        for (int d = nest->depth - 1; d >= from; d--)
                with_values(s, nest->loops[d]->body->first, values);
        struct jam_copy *c = jam_copy_new(s->arena, 1);
        c->all = true;
        jam_copy_set(c, s->column, 0, column);
        jam_copy_set(c, nest->sum->variable, 0, loop_load(s->arena, s->sums, sum_at(s, each)));
        jam_range(c, values->first, NULL, each->body);
        s->failed |= c->failed;
        s->alone[s->alone_count++] = each->variable;
}

static struct loop_buffer *append_sums(struct accumulators *s, int64_t columns,
                                       struct loop_block *out)
{
        struct loop_stmt *alloc = loop_append(s->arena, out, STMT_ALLOC);
        struct loop_buffer *b = ARENA_NEW(s->arena, struct loop_buffer);
        b->name = s->nest->sum->variable->name;
        b->element = s->nest->sum->variable->type.element;
        b->extent = columns * s->jam->sums;
        b->space = SPACE_STACK;
        b->offset = -1;
        b->access = ACCESS_INOUT;
        s->wide = columns;
        return s->sums = alloc->buffer = b;
}

static void write_row(struct accumulators *s, struct loop_block *out)
{
        append_sums(s, s->jam->columns, out);
        write_zeros(s, out);
        write_sums(s, s->nest->leaf, out);
        struct loop_stmt *each = append_columns(s, out);
        write_results(s, each, column_of(s, each));
}

/* ---- the edges ---- */

/* Defines the column of an iteration of `each`, the loop over edges, and returns it. The first
 * `before` edges lie before the accumulator rows; for all others the column is jam->taken more than
 * the number of the iteration. */
static struct loop_expr *edge_of(struct accumulators *s, struct loop_stmt *each, int64_t before)
{
        int64_t taken = s->jam->taken;
        struct loop_variable *e = each->variable;
        struct loop_stmt *let = loop_append(s->arena, each->body, STMT_LET);
        let->variable = loop_variable_new(s->arena, s->column->name, LOOP_TYPE(E_INDEX),
                                          VARIABLE_LET);
        struct loop_expr *behind = jam_plus(s->arena, e, 1 - before);
        if (before > 1)
                behind = loop_op(s->arena, LOOP_MAX, behind, loop_index(s->arena, 0), NULL);
        behind = loop_op(s->arena, LOOP_MIN, behind, loop_index(s->arena, 1), NULL);
        behind = loop_op(s->arena, LOOP_MUL, behind, loop_index(s->arena, taken), NULL);
        let->a = before ? loop_op(s->arena, LOOP_ADD, loop_use(s->arena, e), behind, NULL)
                        : jam_plus(s->arena, e, taken);
        return loop_use(s->arena, let->variable);
}

static struct loop_stmt *append_edges(struct accumulators *s, int64_t count, struct loop_block *out)
{
        struct loop_variable *e =
                loop_variable_new(s->arena, "e", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        return jam_append_loop(s->arena, e, 0, count, 1, out);
}

/* Writes the columns that no row takes: those before the rows, and then those after them. */
static void write_edges(struct accumulators *s, struct loop_block *out)
{
        const struct jam_nest *nest = s->nest;
        const struct loop_stmt *loop = nest->loops[s->jam->column];
        int64_t from, count = vectorize_trip(loop, &from) - s->jam->taken,
                      before = s->jam->first - from;
        if (!count)
                return;
        append_sums(s, count, out);
        struct loop_stmt *each = append_edges(s, count, out), *sums = nest->leaf->first;
        struct jam_copy *c = jam_copy_new(s->arena, 1);
        c->all = true;
        jam_copy_set(c, s->column, 0, edge_of(s, each, before));
        while (sums->kind != STMT_FOR)
                sums = sums->next;
        jam_range(c, nest->leaf->first, sums->next, each->body);
        struct loop_expr *sum = loop_use(s->arena, nest->sum->variable);
        store_sum(s, each, jam_expr(c, sum, 0));
        s->failed |= c->failed;
        each = append_edges(s, count, out);
        write_results(s, each, edge_of(s, each, before));
}

/* ---- all columns ---- */

/* Appends the loop over rows, if there are several; the last of them may begin earlier. */
static struct loop_block *append_rows(struct accumulators *s, struct loop_block *out)
{
        const struct jam *jam = s->jam;
        int64_t all = jam->row_count * jam->columns, end = jam->first + jam->taken;
        if (jam->row_count == 1)
                return out;
        bool over = all > jam->taken;
        struct loop_variable *v = over ? loop_variable_new(s->arena, "o", LOOP_TYPE(E_INDEX),
                                                           VARIABLE_LOOP)
                                       : s->column;
        struct loop_stmt *loop =
                jam_append_loop(s->arena, v, jam->first, jam->first + all, jam->columns, out);
        if (over) {
                struct loop_stmt *let = loop_append(s->arena, loop->body, STMT_LET);
                s->column->kind = VARIABLE_LET;
                let->variable = s->column;
                let->a = loop_op(s->arena, LOOP_MIN, loop_use(s->arena, v),
                                 loop_index(s->arena, end - jam->columns), NULL);
        }
        return loop->body;
}

bool jam_write_columns(struct arena *arena, const struct jam_nest *nest, const struct jam *jam,
                       struct loop_expr *line, struct loop_block *out,
                       const struct loop_variable *alone[2])
{
        struct accumulators s = {
                .arena = arena, .nest = nest, .jam = jam, .line = line, .alone = alone
        };
        s.column = nest->loops[jam->column]->variable;
        s.moved = loop_block_new(arena);
        write_row(&s, append_rows(&s, out));
        write_edges(&s, out);
        return !s.failed;
}
