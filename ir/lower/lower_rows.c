/* SPDX-License-Identifier: MIT */
/* Lowering of rows: these are kernels that compute the elements of a row from reductions over that
 * row. A softmax:
 *
 *      for i {                                       a row
 *        for k { best = max(best, x[i, k]) }         reductions stand where nothing of their row is known yet, once
 *        for k { y[i, k] = exp(x[i, k] - best) }     kept: costly, and needed by several loops
 *        for k { sum = sum + y[i, k] }
 *        for j { y[i, j] = y[i, j] / sum }
 *      }
 *
 * All of this but the kept value follows from element functions that are called where their index
 * is known (emit_element); this file puts the loops over the row inside all others, keeps rows of
 * one value where the result will be, and decides whether an operand may lie there, too. */
#include <string.h>

#include "ir/lower/lower_emit.h"

bool rows_reduce(const struct op *op, const struct type *shape, unsigned *along)
{
        int64_t axes[RANK_MAX];
        int count;
        if (op->code != OP_reduce || !type_same_dims(op_operand(op, 0)->type, shape) ||
            !value_ints(op_operand(op, 1), axes, RANK_MAX, &count))
                return false;
        *along = 0;
        for (int i = 0; i < count; i++) {
                int64_t d = axes[i] < 0 ? axes[i] + shape->rank : axes[i];
                if (!dim_is(shape->dims[d], 1))
                        *along |= 1u << d;
        }
        return true;
}

bool rows_normalize(const struct value *v)
{
        bool several = false, reduced = false;
        for (const struct use *u = v->uses; u; u = u->next) {
                several |= u->user != v->uses->user;
                const struct value *y = u->user->result_count == 1 ? op_result(u->user) : NULL;
                for (const struct use *next = y ? y->uses : NULL; next; next = next->next)
                        reduced |= next->user->code == OP_reduce;
        }
        return several && reduced;
}

/* ---- what is kept ---- */

enum { LOOP_RESULT = 1, LOOP_KEPT = 2, LOOP_FIRST_REDUCE = 4 };

/* Finds, from the last operation to the first, which loops over the row need an element of each
 * value. The first costly value that several need is kept; a value that only that one needs is then
 * needed once. */
static void find_kept(struct emit *e, const struct region *region, const struct value *result)
{
        unsigned next = LOOP_FIRST_REDUCE, along;
        emit_local(e, result)->loops = LOOP_RESULT;
        for (const struct op *op = region->last->previous; op; op = op->previous) {
                const struct value *y = op_result(op);
                unsigned loops = emit_local(e, y)->loops;
                bool elementwise = op_info[op->code].traits & TRAIT_ELEMENTWISE;
                if (y == result)        /* Other operations that need it read it where it is
                                         * stored. */
                        loops = LOOP_RESULT;
                if (rows_reduce(op, result->type, &along) && along == e->rows.along) {
                        loops = emit_local(e, y)->loops = next;
                        next = next << 1 ? next << 1 : next;
                } else if (elementwise && op_info[op->code].traits & TRAIT_COSTLY &&
                           loops & (loops - 1) && !e->rows.kept && y->type == result->type &&
                           y != result) {
                        e->rows.kept = y;
                        loops = LOOP_KEPT;
                } else if (!elementwise) {
                        continue;
                }
                for (int i = 0; i < op->operand_count; i++)
                        if (type_same_dims(op_operand(op, i)->type, result->type))
                                emit_local(e, op_operand(op, i))->loops |= loops;
        }
}

void rows_find(struct emit *e, const struct region *region, const struct value *result,
               const struct emit_place *place)
{
        struct rows *rows = &e->rows;
        unsigned along;
        bool several = false;
        rows->along = 0;
        rows->place = *place;
        for (const struct op *op = region->first; op != region->last; op = op->next) {
                if (!rows_reduce(op, result->type, &along) || !along)
                        continue;
                several |= rows->along && along != rows->along;
                rows->along = along;
        }
        for (int d = 0; d < result->type->rank; d++)    /* Each row has elements, in every run. */
                several |= !dim_is_static(result->type->dims[d]) &&
                           !dim_least(e->m, result->type->dims[d]);
        if (several)
                rows->along = 0;
        if (rows->along)
                find_kept(e, region, result);
}

static bool is_needed_by(const struct region *region, const struct value *v, const struct value *of,
                         int depth)
{
        if (v == of)
                return true;
        bool inside =
                of->kind == VALUE_RESULT && of->op->region == region && depth < EMIT_DEPTH_MAX;
        for (int i = 0; inside && i < of->op->operand_count; i++)
                if (is_needed_by(region, v, op_operand(of->op, i), depth + 1))
                        return true;
        return false;
}

bool rows_end_with(struct emit *e, const struct region *region, const struct value *operand,
                   const struct value *result)
{
        /* first is the first value that is stored. */
        const struct value *first = e->rows.kept ? e->rows.kept : result;
        unsigned loops = emit_local(e, operand)->loops, along;
        if (e->rows.kept && loops & LOOP_RESULT)
                return false;
        for (const struct op *op = region->first; op != region->last; op = op->next)
                if (rows_reduce(op, result->type, &along) &&
                    emit_local(e, op_result(op))->loops & loops &&
                    !is_needed_by(region, op_result(op), first, 0))
                        return false;
        return true;
}

/* ---- loops ---- */

static bool is_along(const struct rows *rows, const struct loop_group *group)
{
        unsigned dims = (2u << group->last) - (1u << group->first);
        return rows->along & dims;
}

int rows_order(struct emit *e, struct loop_group *groups, int count)
{
        struct rows *rows = &e->rows;
        int around = 0;
        rows->group_count = 0;
        for (int g = 0; g < count; g++) {
                if (is_along(rows, &groups[g]))
                        rows->groups[rows->group_count++] = groups[g];
                else
                        groups[around++] = groups[g];
        }
        memcpy(groups + around, rows->groups, (size_t)rows->group_count * sizeof *groups);
        return around;
}

void rows_stand_in(struct emit *e, const struct loop_expr *index)
{
        if (index->op == LOOP_VARIABLE)
                e->rows.around[e->rows.around_count++] = index->variable;
}

/* ---- keeping ---- */

/* Finds the index without the dimensions along the row. */
static void row_of(struct emit *e, struct loop_expr *const *index, struct loop_expr **row)
{
        for (int d = 0; d < e->rows.kept->type->rank; d++)
                row[d] = e->rows.along >> d & 1 ? emit_int(e, 0) : index[d];
}

bool rows_begin(struct emit *e, struct loop_expr *const *index, struct loop_expr **at)
{
        struct rows *rows = &e->rows;
        int rank = rows->kept->type->rank;
        bool known = rows->scope && emit_sees(e, rows->scope);
        row_of(e, index, at);
        for (int d = 0; known && d < rank; d++)
                known = loop_expr_same(rows->row[d], at[d]);
        if (known)
                return false;
        memcpy(rows->row, at, (size_t)rank * sizeof *at);
        rows->from = emit_outward(e, rank, at);
        rows->scope = e->scope;
        rows->written++;
        for (int g = 0; g < rows->group_count; g++)
                at[rows->groups[g].last] =
                        emit_for(e, "k", emit_int(e, 0), rows->groups[g].extent);
        return true;
}

void rows_end(struct emit *e, struct loop_expr *const *at, struct loop_expr *value)
{
        const struct type *t = e->rows.kept->type;
        emit_store(e, e->rows.place.buffer, emit_at(e, &e->rows.place, t->rank, at), value);
        for (int g = 0; g < e->rows.group_count; g++)
                emit_end(e);
        emit_resume(e, e->rows.from);
}

struct loop_expr *rows_load(struct emit *e, struct loop_expr *const *index)
{
        struct emit_place *place = &e->rows.place;
        place->buffer->access = ACCESS_INOUT;
        return loop_load(e->arena, place->buffer,
                         emit_at(e, place, e->rows.kept->type->rank, index));
}

/* ---- in place ----
 *
 * An operand may lie where the result does when the elements it is read at for one row are those
 * that are stored in that row, and none is read again behind the first statement of the row that
 * stores. */

enum { TERMS_MAX = 8, ACCESSES_MAX = 64 };
struct term { const struct loop_variable *variable; int64_t factor, extent; };
/* A form is a position as terms of loops around the row, and of loops along it, which are joined
 * where they run on: {1, 49} {49, 3} is {1, 147}. */
struct form { int around_count, count; struct term around[TERMS_MAX], along[TERMS_MAX]; };
struct row_access {
        const struct loop_expr *at;
        bool stores, known;
        int statement;
        struct form form;
};

struct search {
        const struct rows *rows;
        const struct loop_buffer *x, *y;
        const struct loop_stmt *loops[EMIT_SCOPE_MAX + 2];
        int depth, statement, count;
        struct row_access accesses[ACCESSES_MAX];
};

static bool add_term(const struct search *s, const struct loop_variable *variable, int64_t factor,
                     struct form *form)
{
        if (form->around_count == TERMS_MAX || form->count == TERMS_MAX || factor < 1)
                return false;
        for (int i = 0; i < s->rows->around_count; i++)
                if (s->rows->around[i] == variable) {
                        form->around[form->around_count++] = (struct term){ variable, factor, 0 };
                        return true;
                }
        for (int i = 0; i < s->depth; i++) {
                int64_t from, to;
                if (s->loops[i]->variable != variable || !loop_is_int(s->loops[i]->a, &from) ||
                    from || !loop_is_int(s->loops[i]->b, &to))
                        continue;
                int at = form->count++;
                for (; at > 0 && form->along[at - 1].factor > factor; at--)
                        form->along[at] = form->along[at - 1];
                form->along[at] = (struct term){ NULL, factor, to };
                return true;
        }
        return false;
}

static bool add_terms(const struct search *s, const struct loop_expr *x, int64_t factor,
                      struct form *form)
{
        int64_t number;
        if (loop_is_int(x, &number))
                return number == 0;
        switch (x->op) {
        case LOOP_VARIABLE: return add_term(s, x->variable, factor, form);
        case LOOP_ADD:
                return add_terms(s, x->args[0], factor, form) &&
                       add_terms(s, x->args[1], factor, form);
        case LOOP_MUL:
                return loop_is_int(x->args[1], &number) &&
                       add_terms(s, x->args[0], factor * number, form);
        default: return false;
        }
}

static bool form_of(const struct search *s, const struct loop_expr *x, struct form *form)
{
        *form = (struct form){ 0 };
        if (!add_terms(s, x, 1, form))
                return false;
        int joined = 0;
        for (int i = 0; i < form->count; i++) {
                struct term *last = joined ? &form->along[joined - 1] : NULL;
                if (last && last->factor * last->extent == form->along[i].factor)
                        last->extent *= form->along[i].extent;
                else
                        form->along[joined++] = form->along[i];
        }
        form->count = joined;
        return true;
}

static bool same_row(const struct form *a, const struct form *b)
{
        bool same = a->around_count == b->around_count && a->count == b->count;
        for (int i = 0; same && i < a->around_count; i++)
                same = a->around[i].variable == b->around[i].variable &&
                       a->around[i].factor == b->around[i].factor;
        for (int i = 0; same && i < a->count; i++)
                same = a->along[i].factor == b->along[i].factor &&
                       a->along[i].extent == b->along[i].extent;
        return same;
}

static void add_access(struct search *s, const struct loop_expr *at, bool stores)
{
        if (s->count++ >= ACCESSES_MAX)
                return;
        struct row_access *a = &s->accesses[s->count - 1];
        *a = (struct row_access){ .at = at, .stores = stores, .statement = s->statement };
        a->known = form_of(s, at, &a->form);
}

static void search_expr(struct search *s, const struct loop_expr *x)
{
        if (x && x->op == LOOP_LOAD && x->buffer == s->x)
                add_access(s, x->args[0], false);
        for (int i = 0; x && i < x->arity; i++)
                search_expr(s, x->args[i]);
}

static void search_block(struct search *s, const struct loop_block *block)
{
        for (const struct loop_stmt *stmt = block ? block->first : NULL; stmt; stmt = stmt->next) {
                s->statement += !s->depth;
                search_expr(s, stmt->a);
                search_expr(s, stmt->b);
                if (stmt->kind == STMT_STORE && stmt->buffer == s->y)
                        add_access(s, stmt->a, true);
                s->loops[s->depth++] = stmt;
                search_block(s, stmt->body);
                search_block(s, stmt->other);
                s->depth--;
        }
}

/* Returns the block that runs for each row. */
static const struct loop_block *row_block(const struct emit *e)
{
        const struct loop_block *block = e->kernel->body;
        for (int i = 0; i < e->rows.around_count; i++) {
                const struct loop_stmt *s = block->first;
                while (s->kind != STMT_FOR || s->variable != e->rows.around[i])
                        s = s->next;
                block = s->body;
        }
        return block;
}

struct loads { const struct loop_buffer *x; int count; };
static void count_load(struct loop_expr *x, void *context)
{
        struct loads *loads = context;
        loads->count += x->op == LOOP_LOAD && x->buffer == loads->x;
}

bool rows_may_overlap(const struct emit *e, const struct loop_buffer *x,
                      const struct loop_buffer *y)
{
        struct search s = { .rows = &e->rows, .x = x, .y = y };
        struct loads loads = { .x = x };
        const struct row_access *a = s.accesses, *store = NULL;
        int reads = 0;
        search_block(&s, row_block(e));
        loop_block_walk(e->kernel->body, NULL, count_load, &loads);
        if (s.count > ACCESSES_MAX)
                return false;
        for (int i = 0; i < s.count; i++) {
                store = store || !a[i].stores ? store : &a[i];
                reads += !a[i].stores;
        }
        bool good = store && reads == loads.count;
        for (int i = 0; i < s.count && good; i++) {
                good = a[i].known && same_row(&a[i].form, &store->form);
                bool late = !a[i].stores && a[i].statement >= store->statement;
                if (late)
                        good = good && a[i].statement == store->statement &&
                               loop_expr_same(a[i].at, store->at);
        }
        return good;
}
