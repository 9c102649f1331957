/* SPDX-License-Identifier: MIT */
/* Makes a kernel one that can be suspended and resumed [coroutine]. A block is a list of items, of
 * which %item are done; a run can stop between two of them:
 *
 *     for %s = 0 to 8 {                        while %strip < 8 & %left > 0 {
 *       let %at : index = %s * 80                let %s : index = min(max(%strip, 0), 7)
 *       for %i = 0 to 80 { .. }                  let %at : index = %s * 80
 *       for %panel = 0 to 32 {                   if %item == 0 {
 *         store %y[..] = ..             ->         set %left = %left - 160
 *       }                                          set %item = 1
 *     }                                            for %i = 0 to 80 { .. }
 *                                              }
 *                                              if %item == 1 & %left > 0 {
 *                                                let %from : index = min(max(%done, 0), 32)
 *                                                let %to : index = min(%from + .., 32)
 *                                                set %left = %left - (%to - %from) * 90
 *                                                set %done = %to
 *                                                if %done >= 32 { set %done = 0  set %item = 2 }
 *                                                launch @part(%y; %at, %from to %to) in order
 *                                              }
 *                                              if %item >= 2 { set %item = 0  set %strip = .. }
 *                                            }
 *
 * Items are loops and ifs of more work than the goal, and groups of the statements between them,
 * which are done at once. A loop in whose iterations a run can stop counts them one by one; any
 * other one does as many at a time as there is work left for, and if it is around loops it is a
 * function of its own. What a block declares is needed again where the kernel goes on: a let of
 * variables that do not change is computed again, an index that changes becomes a cell of the
 * record. From any other declaration on (a sum, memory, a let that reads memory) the block is one
 * group.
 *
 * Exact to the bit: what is computed, and in which order, stays. */
#include "passes/suspend.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "cost/code.h"
#include "ir/loop/loop_record.h"
#include "ir/loop/loop_vector.h"
#include "passes/outline.h"

struct suspending {
        struct loop_program *program;
        struct loop_function *kernel, **at;     /* Here the list of functions goes on with the
                                                 * kernel; tasks stand before it. */
        struct arena *arena;            /* The arena is the program's. */
        struct names *names;
        struct loop_bounds *run;        /* Loops around the place that is written are in their
                                         * middle iterations. */
        double goal, most;
        struct loop_variable *left;
        struct loop_variable **cells;
        int cell_count;
        struct loop_variable **kept;    /* These cells are variables of the kernel itself. */
        int kept_count;
};

/* ---- what stays the same until a block ends ---- */

static void find_change(struct loop_expr *e, void *context)
{
        bool *changes = context;
        *changes |= e->op == LOOP_LOAD || e->op == LOOP_TILE_ENTRY ||
                    (e->op == LOOP_VARIABLE && e->variable->kind == VARIABLE_VAR);
}

/* Has the expression the same value whenever it is computed? */
static bool is_fixed(struct loop_expr *e)
{
        bool changes = false;
        loop_expr_walk(e, find_change, &changes);
        return !changes;
}

struct search { const struct loop_expr *e; bool found; };

static void find_set(struct loop_stmt *s, void *context)
{
        struct search *search = context;
        search->found |= (s->kind == STMT_SET || s->kind == STMT_VAR) &&
                         loop_mentions(search->e, s->variable);
}

static void find_load(struct loop_expr *e, void *context)
{
        *(bool *)context |= e->op == LOOP_LOAD || e->op == LOOP_TILE_ENTRY;
}

/* Has a bound of a loop the same value while the loop runs? */
static bool is_fixed_in(struct loop_expr *e, struct loop_block *body)
{
        struct search search = { e, false };
        bool loads = false;
        loop_expr_walk(e, find_load, &loads);
        loop_block_walk(body, find_set, NULL, &search);
        return !loads && !search.found;
}

static bool is_index_variable(const struct loop_stmt *s)
{
        return s->kind == STMT_VAR && loop_type_same(s->variable->type, LOOP_TYPE(E_INDEX)) &&
               !s->variable->rows;
}

/* Does the rest of the block need what the statement makes, and cannot have it again? */
static bool holds(const struct loop_stmt *s)
{
        switch (s->kind) {
        case STMT_LET: return !is_fixed(s->a);
        case STMT_VAR: return !is_index_variable(s);
        case STMT_FOR: case STMT_IF: case STMT_STORE: case STMT_SET: case STMT_WHILE:
        case STMT_PREFETCH: case STMT_FAIL: case STMT_IMAGE: return false;
        default: return true;
        }
}

/* ---- work ---- */

static double work_of(const struct suspending *c, const struct loop_stmt *s)
{
        struct loop_stmt alone = *s;
        alone.next = NULL;
        return cost_of_work(c->run, &(struct loop_block){ .first = &alone });
}

/* Enters the middle iteration of a loop. */
static void enter(const struct suspending *c, const struct loop_stmt *s)
{
        const struct loop_range a = loop_bounds_of(c->run, s->a), b = loop_bounds_of(c->run, s->b);
        struct loop_range at = loop_bounds_for(c->run, s->a, s->b, s->step);
        if (a.low == a.high && b.low == b.high && b.low > a.low) {
                const int64_t count = (b.low - a.low + s->step - 1) / s->step;
                at.low = at.high = a.low + count / 2 * s->step;
        }
        loop_bounds_set(c->run, s->variable, at);
}

static void declare(const struct suspending *c, const struct loop_stmt *s)
{
        if (s->a->type.lanes == 1 && !element_is_float(s->a->type.element))
                loop_bounds_set(c->run, s->variable, loop_bounds_of(c->run, s->a));
}

static int64_t price(struct suspending *c, double work)
{
        const double rounded = fmin(fmax(ceil(work), 1), 1 << 30);
        c->most = fmax(c->most, rounded);
        return (int64_t)rounded;
}

/* ---- which statements are items of their own ---- */

static bool has_items(struct suspending *c, struct loop_block *block);

static bool is_loop_item(const struct loop_stmt *s)
{
        return s->kind == STMT_FOR && (s->for_kind == FOR_SERIAL || s->for_kind == FOR_PARALLEL) &&
               is_fixed_in(s->a, s->body) && is_fixed_in(s->b, s->body);
}

static bool is_if_item(struct suspending *c, const struct loop_stmt *s)
{
        return s->kind == STMT_IF && is_fixed_in(s->a, s->body) &&
               (!s->other || is_fixed_in(s->a, s->other)) &&
               (has_items(c, s->body) || (s->other && has_items(c, s->other)));
}

/* Is the statement an item of its own? */
static bool is_item(struct suspending *c, const struct loop_stmt *s)
{
        return (s->kind == STMT_FOR || s->kind == STMT_IF) && work_of(c, s) > c->goal &&
               (is_loop_item(s) || is_if_item(c, s));
}

/* Returns how many items the block has (write_block), or INT_MAX where one is a loop or an if. */
static int count_items(struct suspending *c, struct loop_block *block)
{
        double work = 0;
        int count = 0;
        for (struct loop_stmt *s = block->first; s; s = s->next) {
                const bool rest = holds(s);
                if (s->kind == STMT_LET && !rest) {
                        declare(c, s);
                        continue;
                }
                if (!rest && is_item(c, s))
                        return INT_MAX;
                const double own =
                        rest ? cost_of_work(c->run, &(struct loop_block){ .first = s })
                             : work_of(c, s);
                if (!count || work + own > c->goal) {
                        count++;
                        work = 0;
                }
                work += own;
                if (rest)
                        break;
        }
        return count;
}

/* Can a run stop in the block? */
static bool has_items(struct suspending *c, struct loop_block *block)
{
        return count_items(c, block) > 1;
}

/* ---- writing ---- */

static struct loop_expr *use(const struct suspending *c, struct loop_variable *v)
{
        return loop_use(c->arena, v);
}

static struct loop_expr *number(const struct suspending *c, int64_t value)
{
        return loop_index(c->arena, value);
}

/* Returns the expression once more: no two places share one. */
static struct loop_expr *again(const struct suspending *c, const struct loop_expr *e)
{
        return loop_expr_copy(c->arena, e);
}

static struct loop_expr *operation(const struct suspending *c, enum loop_opcode op,
                                   struct loop_expr *a, struct loop_expr *b)
{
        return loop_op(c->arena, op, a, b, NULL);
}

static void set(const struct suspending *c, struct loop_block *out, struct loop_variable *v,
                struct loop_expr *value)
{
        struct loop_stmt *s = loop_append(c->arena, out, STMT_SET);
        s->variable = v;
        s->a = value;
}

static struct loop_variable *let(const struct suspending *c, struct loop_block *out,
                                 const char *name, struct loop_expr *value)
{
        struct loop_stmt *s = loop_append(c->arena, out, STMT_LET);
        s->variable = loop_variable_new(c->arena,
                                        text_identifier(c->names, name, strlen(name), "n"),
                                        LOOP_TYPE(E_INDEX), VARIABLE_LET);
        s->a = value;
        return s->variable;
}

static struct loop_block *write_if(const struct suspending *c, struct loop_block *out,
                                   struct loop_expr *condition)
{
        struct loop_stmt *s = loop_append(c->arena, out, STMT_IF);
        s->a = condition;
        return s->body;
}

static void add_cell(struct suspending *c, struct loop_variable *v)
{
        ARENA_GROW(c->arena, c->cells, c->cell_count);
        c->cells[c->cell_count++] = v;
}

static struct loop_variable *new_cell(struct suspending *c, const char *name)
{
        struct loop_variable *v =
                loop_variable_new(c->arena, text_identifier(c->names, name, strlen(name), "n"),
                                  LOOP_TYPE(E_INDEX), VARIABLE_VAR);
        add_cell(c, v);
        return v;
}

static struct loop_expr *work_is_left(const struct suspending *c)
{
        return operation(c, LOOP_GT, use(c, c->left), number(c, 0));
}

static void spend(const struct suspending *c, struct loop_block *out, struct loop_expr *work)
{
        set(c, out, c->left, operation(c, LOOP_SUB, use(c, c->left), work));
}

/* A block is done when its cell is not less than `end`. */
struct ending { struct loop_variable *cell; struct loop_expr *end; };

/* A block that is being written; `item` of its `count` items are done. It has no item where its
 * only item is a loop, which counts for the block. */
struct sequence {
        struct loop_block *out;
        struct loop_variable *item;
        int count;
        struct ending ending;
};

static struct ending write_block(struct suspending *c, struct loop_block *block,
                                 struct loop_block *out);

/* Writes an if around what is to be done where a block has ended, which begins by making it ready
 * for the next time. */
static struct loop_block *write_ending(const struct suspending *c, struct loop_block *out,
                                       struct ending e)
{
        struct loop_block *body =
                write_if(c, out, operation(c, LOOP_GE, use(c, e.cell), again(c, e.end)));
        set(c, body, e.cell, number(c, 0));
        return body;
}

static struct loop_block *begin_item(const struct suspending *c, const struct sequence *q)
{
        if (!q->item)
                return q->out;
        struct loop_expr *turn = operation(c, LOOP_EQ, use(c, q->item), number(c, q->count));
        return write_if(c, q->out,
                        q->count ? operation(c, LOOP_AND, turn, work_is_left(c)) : turn);
}

static void end_item(const struct suspending *c, struct sequence *q, struct loop_block *body)
{
        set(c, body, q->item, number(c, ++q->count));
}

/* Makes a group of statements an item. */
static void write_group(struct suspending *c, struct sequence *q, struct loop_block *group,
                        double work)
{
        if (!group->first)
                return;
        struct loop_block *body = begin_item(c, q);
        spend(c, body, number(c, price(c, work)));
        end_item(c, q, body);
        *body->end = group->first;
        body->end = group->end;
        group->first = NULL;
        group->end = &group->first;
}

/* Returns how many iterations a loop has. */
static struct loop_expr *trips_of(const struct suspending *c, struct loop_block *out,
                                  const struct loop_stmt *s)
{
        struct loop_expr *span = operation(c, LOOP_SUB, again(c, s->b), again(c, s->a));
        if (s->step > 1)
                span = operation(c, LOOP_DIV, operation(c, LOOP_ADD, span, number(c, s->step - 1)),
                                 number(c, s->step));
        int64_t count;
        if (loop_is_int(span, &count) && count >= 0)
                return span;
        return use(c, let(c, out, "trips", operation(c, LOOP_MAX, span, number(c, 0))));
}

static struct loop_expr *iteration(const struct suspending *c, const struct loop_stmt *s,
                                   struct loop_expr *which)
{
        return operation(c, LOOP_ADD, again(c, s->a),
                         operation(c, LOOP_MUL, which, number(c, s->step)));
}

/* Writes a loop in whose iterations a run can stop. */
static void write_loop_around(struct suspending *c, struct loop_stmt *s, struct loop_block *body,
                           struct loop_variable *done, struct loop_expr *trips)
{
        struct loop_stmt *loop = loop_append(c->arena, body, STMT_WHILE);
        loop->a = operation(c, LOOP_AND, operation(c, LOOP_LT, use(c, done), again(c, trips)),
                            work_is_left(c));
        struct loop_stmt *at = loop_append(c->arena, loop->body, STMT_LET);
        at->variable = s->variable;
        at->variable->kind = VARIABLE_LET;
        at->a = iteration(c, s,
                          operation(c, LOOP_MIN,
                                    operation(c, LOOP_MAX, use(c, done), number(c, 0)),
                                    operation(c, LOOP_SUB, again(c, trips), number(c, 1))));
        const struct ending e = write_block(c, s->body, loop->body);
        set(c, write_ending(c, loop->body, e), done,
            operation(c, LOOP_ADD, use(c, done), number(c, 1)));
}

/* Writes what a loop is for its block when it ends. */
static void end_loop(const struct suspending *c, struct sequence *q, struct loop_block *body,
                     struct loop_variable *done, struct loop_expr *trips)
{
        q->ending = (struct ending){ done, trips };
        if (q->item)
                end_item(c, q, write_ending(c, body, q->ending));
}

/* Makes a loop around others a function of its own: beside what knows where to stop, its values
 * would have fewer registers. */
static void write_apart(struct suspending *c, struct loop_stmt *loop)
{
        if (!outline_statements(loop))
                return;
        struct loop_function *task = outline_loop(c->program, c->kernel, loop);
        loop->in_order = true;
        task->next = *c->at;
        *c->at = task;
        c->at = &task->next;
}

/* Writes a loop that does as many iterations as there is work left for. */
static void write_whole_iterations(struct suspending *c, struct sequence *q, struct loop_stmt *s,
                                   struct loop_block *body,
                                   struct loop_variable *done, struct loop_expr *trips,
                                   double work)
{
        const int64_t each = price(c, work + 1);
        struct loop_variable *from = let(
                c, body, "from",
                operation(c, LOOP_MIN, operation(c, LOOP_MAX, use(c, done), number(c, 0)),
                          again(c, trips)));
        struct loop_expr *more = operation(
                c, LOOP_MAX, operation(c, LOOP_DIV, use(c, c->left), number(c, each)),
                number(c, 1));
        struct loop_variable *to =
                let(c, body, "to",
                    operation(c, LOOP_MIN, operation(c, LOOP_ADD, use(c, from), more),
                              again(c, trips)));
        spend(c, body,
              operation(c, LOOP_MUL, operation(c, LOOP_SUB, use(c, to), use(c, from)),
                        number(c, each)));
        set(c, body, done, use(c, to));
        end_loop(c, q, body, done, trips);
        struct loop_stmt *loop = loop_append(c->arena, body, STMT_FOR), *next = loop->next;
        *loop = *s;
        loop->next = next;
        loop->a = iteration(c, s, use(c, from));
        loop->b = iteration(c, s, use(c, to));
        if (s->step > 1)
                loop->b = operation(c, LOOP_MIN, loop->b, again(c, s->b));
        loop->for_kind = FOR_SERIAL;
        write_apart(c, loop);
}

static void write_loop(struct suspending *c, struct sequence *q, struct loop_stmt *s)
{
        struct loop_block *body = begin_item(c, q);
        struct loop_variable *done = new_cell(c, s->variable->name);
        struct loop_expr *trips = trips_of(c, body, s);
        enter(c, s);
        const double work = cost_of_work(c->run, s->body);
        if (work > c->goal && has_items(c, s->body)) {
                enter(c, s);
                write_loop_around(c, s, body, done, trips);
                end_loop(c, q, body, done, trips);
        } else {
                write_whole_iterations(c, q, s, body, done, trips, work);
        }
}

/* Writes one side of an if; NULL: it is empty. */
static void write_side(struct suspending *c, struct sequence *q, struct loop_block *side,
                       struct loop_block *out)
{
        struct loop_block *end = out;
        if (side && side->first)
                end = write_ending(c, out, write_block(c, side, out));
        set(c, end, q->item, number(c, q->count + 1));
}

static void write_choice(struct suspending *c, struct sequence *q, struct loop_stmt *s)
{
        struct loop_block *body = begin_item(c, q);
        struct loop_stmt *choice = loop_append(c->arena, body, STMT_IF);
        choice->a = s->a;
        choice->other = loop_block_new(c->arena);
        write_side(c, q, s->body, choice->body);
        write_side(c, q, s->other, choice->other);
        q->count++;
}

/* Writes the statements from s on, which are one group. */
static void write_rest(struct suspending *c, struct sequence *q, struct loop_stmt *s,
                       struct loop_block *group, double work)
{
        const double rest = cost_of_work(c->run, &(struct loop_block){ .first = s });
        if (group->first && work + rest > c->goal)
                write_group(c, q, group, work);
        *group->end = s;
        while (*group->end)
                group->end = &(*group->end)->next;
        write_group(c, q, group, (group->first == s ? 0 : work) + rest);
}

/* Is one loop that is an item all that the block does? */
static bool is_one_loop(struct suspending *c, const struct loop_block *block)
{
        int others = 0;
        bool found = false;
        for (const struct loop_stmt *s = block->first; s; s = s->next) {
                if (holds(s))
                        return false;
                if (s->kind == STMT_LET)
                        declare(c, s);
                else if (s->kind == STMT_FOR && is_item(c, s))
                        found = true;
                else
                        others++;
                if (found && s->next)
                        return false;
        }
        return found && !others;
}

/* Writes a block so that it can stop. */
static struct ending write_block(struct suspending *c, struct loop_block *block,
                                 struct loop_block *out)
{
        struct sequence q = { .out = out };
        if (!is_one_loop(c, block))
                q.item = new_cell(c, "item");
        struct loop_block group = { NULL, NULL };
        double work = 0;
        group.end = &group.first;
        for (struct loop_stmt *s = block->first, *next; s; s = next) {
                next = s->next;
                if (holds(s)) {
                        write_rest(c, &q, s, &group, work);
                        return (struct ending){ q.item, number(c, q.count) };
                }
                s->next = NULL;
                if (s->kind == STMT_LET) {
                        declare(c, s);
                        *q.out->end = s;
                        q.out->end = &s->next;
                        continue;
                }
                const bool is_own = is_item(c, s);
                const double own = is_own ? 0 : work_of(c, s);
                if (is_own || (group.first && work + own > c->goal)) {
                        write_group(c, &q, &group, work);
                        work = 0;
                }
                if (is_own) {
                        (s->kind == STMT_IF ? write_choice : write_loop)(c, &q, s);
                        continue;
                }
                if (s->kind == STMT_VAR) {
                        add_cell(c, s->variable);
                        ARENA_GROW(c->arena, c->kept, c->kept_count);
                        c->kept[c->kept_count++] = s->variable;
                        s->kind = STMT_SET;
                        s->a = s->a ? s->a : number(c, 0);
                }
                *group.end = s;
                group.end = &s->next;
                work += own;
        }
        write_group(c, &q, &group, work);
        return q.item ? (struct ending){ q.item, number(c, q.count) } : q.ending;
}

/* ---- kernels ---- */

static struct loop_expr *cell_of(const struct suspending *c, struct loop_buffer *record, int word)
{
        return loop_cast(c->arena, E_INDEX, loop_load(c->arena, record, number(c, word)));
}

static void store(const struct suspending *c, struct loop_block *out, struct loop_buffer *record,
                  int word, struct loop_expr *value)
{
        struct loop_stmt *s = loop_append(c->arena, out, STMT_STORE);
        s->buffer = record;
        s->a = number(c, word);
        s->b = loop_cast(c->arena, E_I64, value);
}

static void declare_cell(const struct suspending *c, struct loop_block *out,
                         struct loop_buffer *record, struct loop_variable *v, int word)
{
        struct loop_stmt *s = loop_append(c->arena, out, STMT_VAR);
        s->variable = v;
        s->a = cell_of(c, record, word);
}

static void append_block(struct loop_block *out, const struct loop_block *more)
{
        if (!more->first)
                return;
        *out->end = more->first;
        out->end = more->end;
}

/* Writes what ends a kernel: cells of one that is done become 0. */
static void write_end(const struct suspending *c, struct loop_block *out,
                      struct loop_buffer *record, struct ending e)
{
        struct loop_variable *more =
                loop_variable_new(c->arena, text_identifier(c->names, "more", 4, "n"),
                                  LOOP_TYPE(E_INDEX), VARIABLE_VAR);
        struct loop_stmt *s = loop_append(c->arena, out, STMT_VAR);
        s->variable = more;
        s->a = number(c, 1);
        struct loop_block *end = write_ending(c, out, e);
        set(c, end, more, number(c, 0));
        for (int i = 0; i < c->kept_count; i++)
                set(c, end, c->kept[i], number(c, 0));
        store(c, out, record, CELL_LEFT, use(c, c->left));
        store(c, out, record, CELL_MORE, use(c, more));
        for (int i = 0; i < c->cell_count; i++)
                store(c, out, record, CELL_FIRST + i, use(c, c->cells[i]));
}

struct suspension suspend_kernel(struct loop_program *p, struct loop_function ***at, double goal)
{
        struct loop_function *kernel = **at;
        struct arena *scratch = arena_new();
        struct suspending c = { .program = p,
                             .kernel = kernel,
                             .at = *at,
                             .arena = p->arena,
                             .names = loop_names_of(p->arena, kernel),
                             .run = loop_bounds_new(scratch, kernel),
                             .goal = goal };
        const double all = cost_of_work(c.run, kernel->body);
        if (all <= goal || !has_items(&c, kernel->body)) {
                arena_free(scratch);
                return (struct suspension){ 0, fmax(all, 1) };
        }
        c.left = loop_variable_new(p->arena, text_identifier(c.names, "left", 4, "n"),
                                   LOOP_TYPE(E_INDEX), VARIABLE_VAR);
        struct loop_block *body = loop_block_new(p->arena), *all_body = loop_block_new(p->arena);
        const struct ending ending = write_block(&c, kernel->body, body);
        const char *name = text_identifier(c.names, "record", 6, "n");
        /* The array of parameters may have room for these alone. */
        struct loop_buffer **buffers = NULL;
        for (int i = 0; i < kernel->buffer_count; i++) {
                ARENA_GROW(p->arena, buffers, i);
                buffers[i] = kernel->buffers[i];
        }
        kernel->buffers = buffers;
        struct loop_buffer *record = loop_parameter_add(
                p->arena, kernel, name, E_I64, CELL_FIRST + c.cell_count, ACCESS_INOUT);
        declare_cell(&c, all_body, record, c.left, CELL_LEFT);
        for (int i = 0; i < c.cell_count; i++)
                declare_cell(&c, all_body, record, c.cells[i], CELL_FIRST + i);
        append_block(all_body, body);
        write_end(&c, all_body, record, ending);
        kernel->body = all_body;
        *at = c.at;
        arena_free(scratch);
        return (struct suspension){ CELL_FIRST + c.cell_count, c.most };
}
