/* SPDX-License-Identifier: MIT */
/* The kernel state is what the scheduled lowerings of contractions share. */
#include "kernels/kernel_state.h"

#include "ir/loop/loop_vector.h"
#include "ir/tensor/relation.h"

/* ---- places ---- */

struct loop_expr *state_times(struct kernel_state *s, struct loop_expr *index, int64_t step,
                              dim_t pitch)
{
        struct loop_expr *at = times(s->e, index, step);
        return dim_is(pitch, 0) ? at : emit_op(s->e, LOOP_MUL, at, emit_dim(s->e, pitch));
}

struct loop_expr *state_x_along(struct kernel_state *s, struct loop_expr *index, int d)
{
        return state_times(s, index, s->x.stride[d], s->x.pitch[d]);
}

struct loop_expr *access_start(struct emit *e, const struct access *access)
{
        return plus(e, number(e, access->offset), emit_dim(e, access->shift));
}

/* ---- sums and epilogue ---- */

static struct loop_variable *vectors_of(struct kernel_state *s, const char *name, enum element e,
                                        int rows, int columns)
{
        struct loop_variable *v = emit_var(s->e, name, LOOP_VECTOR(e, s->lanes), NULL);
        v->rows = rows;
        v->columns = columns;
        return v;
}

struct loop_variable *state_sums(struct kernel_state *s, int rows, int columns)
{
        return vectors_of(s, "acc", s->multiply->sum, rows, columns);
}

struct loop_variable *state_run(struct kernel_state *s, int rows, int columns)
{
        return vectors_of(s, "run", s->multiply->x.word, rows, columns);
}

/* Is v a broadcast, over all positions, of a value from outside the kernel with one number per
 * output, indexed by block and lane or by lane alone? */
static bool is_of_outputs(const struct kernel_state *s, struct value *v)
{
        const struct type *t = v->type;
        int count, last = t->rank - 1;
        if (!op_is(v, OP_broadcast) || value_is_inside(op_operand(v->op, 0), s->region))
                return false;
        const int64_t *dims = op_ints(v->op, "dims", &count);
        const struct type *own = op_operand(v->op, 0)->type;
        return count > 0 && count <= 2 && dims[count - 1] == last &&
               dim_equal(own->dims[count - 1], t->dims[last]) &&
               (count == 1 ? dim_is(t->dims[1], 1)
                           : dims[0] == 1 && dim_equal(own->dims[0], t->dims[1]));
}

struct loop_buffer *state_first(struct kernel_state *s)
{
        struct value *sums = op_result(s->op);
        struct op *add = value_has_one_use(sums) ? sums->uses->user : NULL;
        if (s->adds || s->channels || s->multiply->order != ORDER_EXACT || !add ||
            add->code != OP_add || add->region != s->region ||
            op_result(add)->type->element != s->multiply->sum)
                return NULL;
        struct value *other = op_operand(add, op_operand(add, 0) == sums);
        if (!is_of_outputs(s, other))
                return NULL;
        s->sums = op_result(add);
        return emit_parameter(s->e, op_operand(other->op, 0));
}

void state_set(struct kernel_state *s, struct loop_variable *sums, int row, int column,
               struct loop_expr *value)
{
        struct loop_stmt *set = loop_append(s->arena, s->e->scope->block, STMT_SET);
        set->variable = sums;
        set->row = row;
        set->column = column;
        set->a = value;
}

struct loop_function *state_product(const struct kernel_state *s)
{
        const struct multiply *m = s->multiply;
        return m->body ? loop_library_find(s->e->library, m->body, m->join ? m->x.word : m->sum)
                       : NULL;
}

struct loop_expr *state_words(const struct kernel_state *s, struct loop_buffer *from,
                              struct loop_expr *at, enum element word, int lanes)
{
        const int group = s->multiply->channels;
        if (multiply_by_vectors(s->multiply))
                return loop_load_vector(s->arena, from, at, group, NULL);
        if (group > 1)
                return loop_load_words(s->arena, from, at, word, group, lanes);
        return loop_cast(s->arena, word,
                         lanes > 1 ? loop_load_vector(s->arena, from, at, lanes, NULL)
                                   : loop_load(s->arena, from, at));
}

struct loop_expr *state_decoded(const struct kernel_state *s, const struct multiply_operand *o,
                                struct loop_buffer *from, struct loop_expr *at, int lanes)
{
        struct loop_expr *word = state_words(s, from, at, o->decode ? E_U32 : o->word, lanes);
        return o->decode ? loop_call(s->arena,
                                     loop_library_find(s->e->library, o->decode, E_U32), &word)
                         : word;
}

void state_add(struct kernel_state *s, struct loop_variable *sums, int row, int column,
               struct loop_expr *a, struct loop_expr *b)
{
        struct loop_expr *sum = loop_tile_entry(s->arena, sums, row, column);
        struct loop_function *product = state_product(s);
        state_set(s, sums, row, column,
                  product ? loop_call(s->arena, product, (struct loop_expr *[]){ sum, a, b })
                  : s->has_fma ? loop_op(s->arena, LOOP_FMA, a, b, sum)
                               : plus(s->e, sum, emit_op(s->e, LOOP_MUL, a, b)));
}

struct loop_expr *state_load_as(struct kernel_state *s, enum element e, const char *name,
                                struct loop_buffer *b, struct loop_expr *at, int64_t add, int live)
{
        struct loop_expr *mask =
                live < s->lanes ? vector_mask(s->arena, s->lanes, number(s->e, live)) : NULL;
        struct loop_expr *x =
                loop_load_vector(s->arena, b, plus(s->e, at, number(s->e, add)), s->lanes, mask);
        return emit_let(s->e, name, loop_cast(s->arena, e, x));
}

struct loop_expr *state_load(struct kernel_state *s, const char *name, struct loop_buffer *b,
                             struct loop_expr *at, int64_t add, int live)
{
        return state_load_as(s, element_info[b->element].compute, name, b, at, add, live);
}

bool state_vectors(struct kernel_state *s, int64_t depth, struct lane_part *part, int rows,
                   int columns, bool (*write)(struct kernel_state *s, int rows, int columns))
{
        struct emit *e = s->e;
        int64_t whole = depth - depth % s->lanes;
        bool good = true;
        if (whole) {
                part->first =
                        times(e, emit_for(e, "part", number(e, 0), number(e, whole / s->lanes)),
                              s->lanes);
                part->live = s->lanes;
                good = write(s, rows, columns);
                emit_end(e);
        }
        part->first = number(e, whole);
        part->live = (int)(depth - whole);
        return good && (!part->live || write(s, rows, columns));
}

bool state_write_vector(struct kernel_state *s, const struct state_vector *v,
                        struct loop_buffer *to, struct loop_expr *at)
{
        struct emit *e = s->e;
        struct loop_block *scalar = emit_aside(e);
        struct loop_variable *lane =
                loop_variable_new(s->arena, "lane", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        enum element element = s->sums->type->element;
        struct loop_variable *value =
                loop_variable_new(s->arena, "sum", LOOP_TYPE(element), VARIABLE_LET);
        lane->number = value->number = e->scope->depth;
        v->index[s->rank - 1] = loop_use(s->arena, lane);
        if (v->sum)
                emit_define(e, s->sums, v->index, value);
        struct loop_expr *result = emit_element(e, v->value, v->index);
        at = plus(e, at, v->index[s->rank - 1]);
        emit_store(e, to, at, result);
        emit_mark_overlaps(e, scalar, v->sum && !s->between ? at : number(e, -1));
        emit_end(e);
        const struct vector_substitution known = { value,
                                                   v->sum ? loop_cast(s->arena, element, v->sum)
                                                          : NULL };
        const struct vector_request request = {
                .arena = s->arena,
                .lane = lane,
                .base = v->part.first,
                .lanes = s->lanes,
                .mask = v->part.left || v->part.live < s->lanes
                                ? vector_mask(s->arena, s->lanes,
                                              v->part.left ? v->part.left
                                                           : number(e, v->part.live))
                                : NULL,
                .substitutions = &known,
                .substitution_count = v->sum ? 1 : 0
        };
        return vector_block(&request, scalar, e->scope->block);
}

struct loop_expr *state_y(struct kernel_state *s, struct loop_expr *const *index)
{
        struct emit *e = s->e;
        struct loop_expr *at = s->y_start;
        for (int d = 0; d + 1 < s->rank; d++)
                if (access_is_known(&s->y, d) || !dim_is(op_result(s->op)->type->dims[d], 1))
                        at = plus(e, at,
                                  state_times(s, index[d], s->y.stride[d], s->y.pitch[d]));
        return at;
}

bool state_store(struct kernel_state *s, struct loop_expr *sum, struct loop_expr **index,
                 struct loop_expr *first_lane, int live)
{
        const struct state_vector v = { s->result, index, sum, { first_lane, live, NULL } };
        return state_write_vector(s, &v, s->ys, state_y(s, index));
}

/* ---- loads that several stores have in common ---- */

enum { LOADS_MOST = 8 };

struct common_loads {
        const struct kernel_state *s;
        int count, uses[LOADS_MOST];
        struct loop_expr loads[LOADS_MOST], *names[LOADS_MOST];
};

/* Returns the number of a load of a whole vector; count: there is no such load yet; -1: e is none
 * to name. */
static int load_number(const struct common_loads *c, const struct loop_expr *e)
{
        int k = 0;
        if (e->op != LOOP_LOAD || e->type.lanes == 1 || e->args[0]->type.lanes > 1 || e->args[1] ||
            e->group || e->buffer == c->s->ys || element_info[e->buffer->element].bytes != 4)
                return -1;
        while (k < c->count && !loop_expr_same(&c->loads[k], e))
                k++;
        return k < LOADS_MOST ? k : -1;
}

static void note_load(struct loop_expr *e, void *context)
{
        struct common_loads *c = context;
        const int k = load_number(c, e);
        if (k == c->count)
                c->loads[c->count++] = *e;
        if (k >= 0)
                c->uses[k]++;
}

static void use_name(struct loop_expr *e, void *context)
{
        const struct common_loads *c = context;
        const int k = load_number(c, e);
        if (k >= 0 && k < c->count && c->names[k])
                *e = *c->names[k];
}

static void visit_exprs(struct loop_stmt *s, void (*visit)(struct loop_expr *, void *), void *c)
{
        for (; s; s = s->next) {
                struct loop_expr *const exprs[] = { s->a, s->b, s->c };
                for (int i = 0; i < 3; i++)
                        if (exprs[i])
                                loop_expr_walk(exprs[i], visit, c);
        }
}

void state_name_loads(struct kernel_state *s, struct loop_stmt **first)
{
        struct common_loads c = { .s = s };
        struct loop_block *block = s->e->scope->block;
        struct loop_stmt *stores = *first, **end = block->end;
        visit_exprs(stores, note_load, &c);
        *first = NULL;
        block->end = first;
        for (int k = 0; k < c.count; k++) {
                struct loop_expr *load = ARENA_NEW(s->arena, struct loop_expr);
                *load = c.loads[k];
                c.names[k] = c.uses[k] > 1 ? emit_let(s->e, "m", load) : NULL;
        }
        visit_exprs(stores, use_name, &c);
        *block->end = stores;
        block->end = stores ? end : block->end;
}

/* ---- the halo ---- */

void state_fill(struct kernel_state *s, struct loop_buffer *buffer, struct loop_expr *at,
                struct loop_expr *count, int lanes, union scalar value)
{
        struct emit *e = s->e;
        int64_t known;
        bool one = loop_is_int(count, &known) && known == lanes;
        struct loop_expr *i = emit_for(e, "halo", number(e, 0), one ? number(e, 1) : count);
        emit_loop(e, lanes, false);
        struct loop_expr *element = loop_literal(s->arena, LOOP_TYPE(buffer->element), value);
        emit_store(e, buffer, plus(e, at, i),
                   lanes > 1 ? loop_splat(s->arena, lanes, element) : element);
        emit_end(e);
}

/* From one index of a dimension to the next are `by` elements, or `by` times the pitch. */
struct step { int64_t by; dim_t pitch; };

/* Fills elements from * step .. to * step of the padded result, counted from `base`. */
static void fill_halo(struct kernel_state *s, struct loop_expr *base, struct loop_expr *from,
                      struct loop_expr *to, struct step step)
{
        struct emit *e = s->e;
        bool vectors = s->ys->element == E_F32 || element_info[s->ys->element].bytes == 1,
             whole = vectors && step.by % s->lanes == 0;
        struct loop_expr *count = state_times(s, minus(e, to, from), step.by, step.pitch);
        state_fill(s, s->ys, plus(e, base, state_times(s, from, step.by, step.pitch)), count,
                   whole ? s->lanes : 1, constant_element(op_operand(s->pad, 1)->constant, 0));
}

/* Returns the steps of a tensor of this type, whose elements lie side by side. */
static struct step step_of(const struct kernel_state *s, const struct type *t, int d)
{
        struct step step = { 1, dim_of(0) };
        for (int i = d + 1; i < t->rank; i++)
                if (dim_is_static(t->dims[i]))
                        step.by *= type_extent(t, i);
                else
                        step.pitch = dim_is(step.pitch, 0)
                                             ? t->dims[i]
                                             : dim_binary(op_module(s->op), DIM_MUL, step.pitch,
                                                          t->dims[i]);
        return step;
}

void state_halo(struct kernel_state *s, struct loop_expr *task, int tasks, int shared)
{
        struct emit *e = s->e;
        const struct type *y = op_result(s->pad)->type, *x = op_operand(s->pad, 0)->type;
        int64_t low[RANK_MAX];
        int count, opened = 0, last = y->rank - 1;
        value_ints(op_operand(s->pad, 2), low, RANK_MAX, &count);
        while (last > 0 && dim_equal(x->dims[last], y->dims[last]))
                last--;
        shared = shared < last ? shared : last;
        struct loop_expr *base = number(e, 0);
        /* Dimensions before d run over the positions of x only; dimensions after it are filled
         * whole. */
        for (int d = 0; d <= last; d++) {
                int64_t more;
                const bool behind =
                        !dim_difference(op_module(s->op), y->dims[d], x->dims[d], &more) ||
                        more > low[d];
                const struct step step = step_of(s, y, d);
                struct loop_expr *from, *to,
                        *end = plus(e, number(e, low[d]), emit_extent(e, x, d));
                state_share_of(e, task, d == shared ? tasks : 1, emit_extent(e, y, d), &from, &to);
                if (low[d])
                        fill_halo(s, base, from, minimum(e, to, number(e, low[d])), step);
                if (behind)
                        fill_halo(s, base, maximum(e, from, end), to, step);
                if (d == last)
                        break;
                from = low[d] ? maximum(e, from, number(e, low[d])) : from;
                to = behind ? minimum(e, to, end) : to;
                base = plus(e, base,
                            state_times(s, emit_for(e, "i", from, to), step.by, step.pitch));
                opened++;
        }
        while (opened-- > 0)
                emit_end(e);
}

/* ---- the kernel ---- */

void state_share_of(struct emit *e, struct loop_expr *k, int n, struct loop_expr *extent,
                    struct loop_expr **from, struct loop_expr **to)
{
        *from = number(e, 0);
        *to = extent;
        if (n == 1)
                return;
        *from = emit_let(e, "from",
                         emit_op_int(e, LOOP_DIV, emit_op(e, LOOP_MUL, k, extent), n));
        struct loop_expr *after = emit_op(e, LOOP_MUL, plus(e, k, number(e, 1)), extent);
        *to = emit_let(e, "to", emit_op_int(e, LOOP_DIV, after, n));
}

void state_share(struct emit *e, struct loop_expr *k, int n, int64_t extent,
                 struct loop_expr **from, struct loop_expr **to)
{
        state_share_of(e, k, n, number(e, extent), from, to);
}

/* Returns the rows of tiles of all panels together, a narrow last panel counted by its width. */
static int64_t rows_of_panels(const struct kernel_state *s, int64_t rows)
{
        int64_t width = s->panel_width, last = s->last_width;
        return last ? divide_up(rows * ((s->panels - 1) * width + last), width) : rows * s->panels;
}

/* Are panels divided, because tasks cannot share whole panels evenly? They are not where a prologue
 * computes a strip for all panels at once. */
static bool divides_panels(const struct kernel_state *s, int64_t rows)
{
        int tasks = s->schedule.panel_tasks;
        bool even = s->panels % tasks == 0 && rows_of_panels(s, rows) == rows * s->panels;
        for (int d = 0; d < s->spatial_count; d++)
                if (s->spatial[d].open)
                        return false;
        return tasks > 1 && s->schedule.row_tasks == 1 && !even && rows > 1 &&
               s->panels >= tasks && !s->prologue && !s->schedule.strip && !s->all_rows;
}

/* Writes equal shares of the rows of all panels, one panel after the other: a task may begin and
 * end in the middle of a panel. */
static bool write_divided_panels(struct kernel_state *s, int64_t rows, struct loop_expr *task)
{
        struct emit *e = s->e;
        int64_t count = rows_of_panels(s, rows);
        int tasks = s->schedule.panel_tasks;
        struct loop_expr *first, *end;
        state_share(e, task, tasks, count, &first, &end);
        /* The last task gets all of the last panel, which may be narrow. */
        struct loop_expr *is_last = emit_op_int(e, LOOP_DIV, plus(e, task, number(e, 1)), tasks);
        end = emit_let(e, "end", plus(e, end, times(e, is_last, rows * s->panels - count)));
        struct loop_expr *stop = emit_op_int(e, LOOP_DIV, plus(e, end, number(e, rows - 1)), rows);
        struct loop_expr *panel = emit_for(e, "panel", emit_op_int(e, LOOP_DIV, first, rows), stop),
                         *before = times(e, panel, rows);
        struct loop_expr *from =
                emit_let(e, "from", maximum(e, minus(e, first, before), number(e, 0)));
        struct loop_expr *to =
                emit_let(e, "to", minimum(e, minus(e, end, before), number(e, rows)));
        bool good = s->write(s, from, to, panel,
                             emit_let(e, "next_panel", plus(e, panel, number(e, 1))));
        emit_end(e);
        return good;
}

/* Writes the loops over tasks, images and outer spatial dimensions; the lowering writes what is
 * inside. */
static bool write_tasks(struct kernel_state *s)
{
        struct emit *e = s->e;
        int rows = s->schedule.row_tasks, panels = s->schedule.panel_tasks, opened = 0;
        int64_t row_count = s->spatial_count == 1 ? s->column.count : s->row.count;
        bool divided = divides_panels(s, row_count);
        struct loop_expr *all = number(e, row_count);
        if (s->open && s->spatial_count == 1) {
                struct loop_expr *more = plus(e, s->open, number(e, s->column.size - 1));
                all = emit_let(e, "all", emit_op_int(e, LOOP_DIV, more, s->column.size));
                s->open_tiles = all;
        } else if (s->spatial_count > 1 && s->spatial[s->spatial_count - 2].open) {
                all = s->spatial[s->spatial_count - 2].open;      /* Tiles have one row. */
        }
        struct loop_expr *task =
                emit_for(e, "task", number(e, 0), number(e, (int64_t)rows * panels));
        emit_loop(e, 1, rows * panels > 1);
        s->task = task;
        struct loop_expr *from, *to, *first, *end;
        state_share_of(e, panels > 1 ? emit_op_int(e, LOOP_DIV, task, panels) : task, rows, all,
                       &from, &to);
        state_share(e, rows > 1 ? emit_op_int(e, LOOP_REM, task, panels) : task,
                    divided ? 1 : panels, s->panels, &first, &end);
        if (s->pad)
                state_halo(s, task, rows * panels, rows > 1 ? 2 : 1);
        s->image = emit_for(e, "image", number(e, 0),
                            emit_extent(e, op_operand(s->op, 0)->type, 0));
        for (int d = 0; d < s->spatial_count - 2; d++, opened++)
                s->position[d] =
                        emit_for(e, "plane", number(e, 0),
                                 s->spatial[d].open ? s->spatial[d].open
                                                    : number(e, s->spatial[d].extent));
        bool good = divided ? write_divided_panels(s, row_count, task)
                            : s->write(s, from, to, first, end);
        for (opened += 2; opened > 0; opened--)
                emit_end(e);
        return good;
}

bool state_can_store(const struct value *v)
{
        enum element e = v->type->element;
        return e == E_F32 || element_is_small(e) ||
               (element_is_integer(e) && element_info[e].bytes <= 4);
}

/* Finds the pool of a convolve_winograd: a window reduction of the result that is stored in its
 * place. */
static void find_pool(struct kernel_state *s)
{
        if (s->op->code != OP_convolve_winograd || !op_is(s->result, OP_reduce_window) ||
            s->result->op->region != s->region)
                return;
        s->pool = s->result->op;
        s->result = op_operand(s->pool, 0);
}

/* Is v computed of pool's result element by element? */
static bool is_made_of(const struct value *v, const struct op *pool)
{
        for (const struct op *op = pool; op && value_is_inside(v, pool->region); op = op->next) {
                const bool same = op == pool || op_info[op->code].traits & TRAIT_ELEMENTWISE;
                for (int i = 0; i < op->operand_count && !same; i++)
                        if (value_is_inside(op_operand(op, i), pool->region))
                                return false;
                if (op == v->op)
                        return true;
        }
        return false;
}

/* Finds the reduction over positions that is stored in place of the result (schedule word
 * fused_pool). */
static void find_reduction(struct kernel_state *s)
{
        bool (*pools)(const struct op *contraction, const struct op *reduce) =
                target_engine(s->target)->pools;
        struct op *pool =
                s->region && pools && s->grid && s->grid->fused_pool ? s->region->first : NULL;
        while (pool && !pools(s->op, pool))
                pool = pool->next;
        if (!pool || s->pad || !type_same_dims(s->result->type, op_result(pool)->type) ||
            !is_made_of(s->result, pool))
                return;
        s->pool = pool;
        s->pool_result = s->result;
        s->result = op_operand(pool, 0);
}

/* Finds the pad with zeros around what a grid's contraction reads: its copies know where zeros are
 * (warps_prepare), so no memory holds them. */
static struct value *find_border(struct kernel_state *s, struct value *x)
{
        int64_t lows[RANK_MAX];
        double number;
        const bool inside = x->kind == VALUE_RESULT && s->region && x->op->region == s->region;
        if (!s->grid || !inside || !relation_surrounds(x->op, lows) ||
            !value_is_splat(op_operand(x->op, 1), &number) || number != 0)
                return x;
        s->border = x->op;
        return op_operand(x->op, 0);
}

static bool read_border(struct kernel_state *s)
{
        int64_t lows[RANK_MAX];
        if (!access_read(s->region, find_border(s, op_operand(s->op, 0)), &s->x))
                return false;
        if (s->border)
                relation_surrounds(s->border, lows);
        for (int d = 0; s->border && d < s->rank; d++)
                s->x.offset -= lows[d] * s->x.stride[d];
        return true;
}

/* Are the steps known from a position to the next in a row, and from a lane to the next? Only
 * images and spatial dimensions may have extents that a run gives. */
static bool steps_are_known(const struct kernel_state *s)
{
        const struct type *x = op_operand(s->op, 0)->type, *y = op_result(s->op)->type;
        const int last = s->rank - 1;
        for (int d = last - 1; d <= last; d++)
                if (!access_is_known(&s->x, d) && !dim_is(x->dims[d], 1))
                        return false;
        return access_is_known(&s->y, last) && dim_is_static(y->dims[1]) &&
               dim_is_static(y->dims[last]);
}

/* Do blocks of a grid compute the weights, operations of the kernel? */
static bool computes_weights(const struct kernel_state *s)
{
        return s->grid && s->region && value_is_inside(op_operand(s->op, 1), s->region);
}

/* Finds where the contraction reads its operands and stores its result, through the moves around
 * it. */
static bool find_access(struct kernel_state *s, struct value *result)
{
        struct access w;
        struct value *weights = s->op->operand_count > 1 ? op_operand(s->op, 1) : NULL;
        bool computes = op_is_static_inside(s->op),
             packed = computes && s->schedule.pack && prologue_find(s);
        if (!(packed || read_border(s) || (computes && prologue_find(s))) ||
            (weights && !computes_weights(s) &&
             !(access_read(s->region, weights, &w) && w.value == weights)) ||
            !access_store(s->region, result, &s->result, &s->y, &s->pad))
                return false;
        find_pool(s);
        find_reduction(s);
        return type_same_dims(s->result->type, op_result(s->op)->type) && steps_are_known(s) &&
               (s->pool_result || s->y.stride[s->rank - 1] == 1);
}

void state_set_width(struct kernel_state *s, const struct target *target)
{
        s->target = target;
        s->lanes = target_lanes(target, E_F32);
        s->multiply = multiply_for(target, E_F32, E_F32, false);
        s->has_fma = target_has_fma(target);
}

bool state_begin(struct kernel_state *s, struct emit *e, const struct region *region,
                 const struct op *op)
{
        const struct target *target = e->options->target;
        *s = (struct kernel_state){ .e = e,
                                    .arena = e->arena,
                                    .op = op,
                                    .sums = op_result(op),
                                    .region = region,
                                    .rank = op_result(op)->type->rank };
        if (!op->schedule)
                return false;
        s->grid = schedule_grid(op->schedule);
        s->schedule = schedule_tiles(op->schedule);
        state_set_width(s, target_of_width(target, s->schedule.wide &&
                                                           schedule_has_word(op_info[op->code].name,
                                                                             WORD_wide)));
        bool vectors = (s->lanes > 1 && s->multiply) || target_engine(target)->single_sums;
        return (vectors || s->grid) && state_can_store(op_operand(op, 0)) &&
               state_can_store(op_result(op)) && !type_is_empty(op_operand(op, 0)->type);
}

bool state_kernel(struct emit *e, const struct kernel_request *request, struct op *op,
                  struct loop_buffer *buffer)
{
        struct kernel_state common;
        if (!state_begin(&common, e, request->region, op) ||
            !state_can_store(request->results[0]) || !find_access(&common, request->results[0]))
                return false;
        common.ys = buffer;
        struct kernel_state *s = kernels_prepare(&common);
        if (!s)
                return false;
        s->x_start = access_start(e, &s->x);
        s->y_start = access_start(e, &s->y);
        s->xs = s->prologue ? s->xs : emit_parameter(e, s->x.value);
        s->ws = op->operand_count > 1 && !computes_weights(s)
                        ? emit_parameter(e, op_operand(op, 1))
                        : NULL;
        return (s->write_all ? s->write_all(s) : write_tasks(s)) && !e->failed;
}
