/* SPDX-License-Identifier: MIT */
/* Lowering of sliding windows: it finds which offsets of a window lie in x, and writes the
 * reductions over them.
 *
 *      x    0 1 2 3 4 5 6 7 8          low = 1, stride 2, window 3, dilation 1
 *      o=0 . . .                       offsets 1 .. 2
 *      o=1     . . .                   offsets 0 .. 2
 *
 * The loops run over just those offsets, so that the innermost loop needs no test. */
#include <string.h>

#include "base/size.h"
#include "ir/lower/lower_emit.h"
#include "ir/tensor/ops.h"
#include "ir/tensor/relation.h"

/* ---- one dimension ---- */

/* Returns the first k at which base + k * d reaches a where that is positive, and some number <= 0
 * elsewhere. */
static struct loop_expr *first_step(struct emit *e, struct loop_expr *a, struct loop_expr *base,
                                    int64_t d)
{
        struct loop_expr *behind = emit_op_int(e, LOOP_ADD, a, d - 1);
        return emit_op_int(e, LOOP_DIV, emit_op(e, LOOP_SUB, behind, base), d);
}

/* Returns the extent of x spread out. */
static struct loop_expr *tap_reach(struct emit *e, const struct tap *tap)
{
        struct loop_expr *last = emit_op_int(e, LOOP_SUB, emit_dim(e, tap->of), 1);
        struct loop_expr *reach =
                emit_op_int(e, LOOP_ADD, emit_op_int(e, LOOP_MUL, last, tap->spread), 1);
        return emit_op_int(e, LOOP_MAX, reach, 0);
}

/* May a window end behind x? A last place beyond int64_t is beyond x, too. */
static bool leaves_x(const struct tap *tap)
{
        if (tap->extent < 0)
                return !tap->ends;
        int64_t reach = tap->extent ? (tap->extent - 1) * tap->spread + 1 : 0;
        int64_t last = (tap->positions - 1) * tap->stride;
        return !int_add(last, (tap->window - 1) * tap->dilation, &last) ||
               !int_sub(last, tap->low, &last) || last >= reach;
}

const char *emit_spatial_suffix(struct emit *e, int axis, int rank)
{
        static const char *const suffixes[] = { "w", "h", "d" };
        return rank <= 3 ? suffixes[rank - 1 - axis] : arena_printf(e->arena, "%d", axis);
}

/* Does the window of the last position end within x, where these are terms? */
static bool ends_in(struct module *m, const struct tap *tap, dim_t positions)
{
        int64_t more, last;             /* Positions times stride are so many more than x has, at
                                         * most. */
        dim_t all = dim_binary(m, DIM_MUL, positions, dim_of(tap->stride));
        if (!dim_is_static(positions)) {
                const struct dim_expr *t = dim_term(m, positions);
                all = t->kind == DIM_DIV && dim_is(t->b, tap->stride) ? t->a : all;
        }
        return tap->spread == 1 && !dim_equal(all, DIM_NONE) &&
               dim_difference(m, all, tap->of, &more) &&
               int_mul(tap->window - 1, tap->dilation, &last) && int_add(last, more, &last) &&
               int_sub(last, tap->stride, &last) && int_sub(last, tap->low, &last) && last < 0;
}

struct tap emit_tap_of(const struct op *op, int d)
{
        struct relation r;
        relation_of(op, 0, &r);
        const struct along *a = &r.along[d];
        dim_t of = op_operand(op, 0)->type->dims[d], positions = op_result(op)->type->dims[a->from];
        bool known = dim_is_static(of) && dim_is_static(positions);
        struct tap tap = { .extent = known ? dim_extent(of) : -1,
                           .positions = known ? dim_extent(positions) : -1,
                           .of = of,
                           .window = a->window,
                           .stride = a->scale,
                           .dilation = a->dilation,
                           .spread = a->spread,
                           .low = -a->low };
        tap.ends = !known && ends_in(op_module(op), &tap, positions);
        return tap;
}

int emit_tap(struct emit *e, const struct tap *tap, const char *suffix, struct loop_expr *o,
             struct loop_expr **k, struct loop_expr **i)
{
        const char *name = arena_printf(e->arena, "k%s", suffix);
        struct loop_expr *base = emit_op_int(e, LOOP_MUL, o, tap->stride);
        struct loop_expr *from = emit_int(e, 0), *to = emit_int(e, tap->window);
        if (tap->low > 0) {
                from = emit_op_int(e, LOOP_MAX,
                                   first_step(e, emit_int(e, tap->low), base, tap->dilation), 0);
                from = emit_let_early(e, arena_printf(e->arena, "%s_from", name), from);
        }
        if (leaves_x(tap)) {
                struct loop_expr *behind = emit_op_int(e, LOOP_ADD, tap_reach(e, tap), tap->low);
                to = emit_op_int(e, LOOP_MIN, first_step(e, behind, base, tap->dilation),
                                 tap->window);
                to = emit_let_early(e, arena_printf(e->arena, "%s_to", name), to);
        }
        *k = emit_for(e, name, from, to);
        struct loop_expr *at =
                emit_op(e, LOOP_ADD, base, emit_op_int(e, LOOP_MUL, *k, tap->dilation));
        at = emit_let_early(e, arena_printf(e->arena, "i%s", suffix),
                            emit_op_int(e, LOOP_SUB, at, tap->low));
        if (tap->spread == 1) {
                *i = at;
                return 1;
        }
        emit_if(e, emit_op_int(e, LOOP_EQ, emit_op_int(e, LOOP_REM, at, tap->spread), 0));
        *i = emit_let(e, arena_printf(e->arena, "i%s", suffix),
                      emit_op_int(e, LOOP_DIV, at, tap->spread));
        return 2;
}

/* ---- windows over every dimension of x ---- */

/* The struct describes a window that reaches back to the first element: what it has combined so
 * far, and its element at index. */
struct running { struct loop_variable *so_far; struct loop_expr *value, *index[RANK_MAX]; };

/* Opens the loops of op's window at index; at[]: the index in x. Returns the number of scopes. */
static int open_window(struct emit *e, const struct op *op, struct loop_expr *const *index,
                       struct loop_expr **at)
{
        const struct type *x = op_operand(op, 0)->type;
        const int64_t *window = op_ints(op, "window", NULL);
        int opened = 0, plain = 0;      /* Usual layouts begin with windows of 1, as in N, C. */
        for (int d = 0; d < x->rank && window[d] == 1; d++)
                plain++;
        for (int d = 0; d < x->rank; d++) {
                struct tap tap = emit_tap_of(op, d);
                struct loop_expr *k;
                const char *suffix = d < plain ? arena_printf(e->arena, "%d", d)
                                               : emit_spatial_suffix(e, d - plain, x->rank - plain);
                opened += emit_tap(e, &tap, suffix, index[d], &k, &at[d]);
        }
        return opened;
}

static void close_scopes(struct emit *e, int count)
{
        while (count-- > 0)
                emit_end(e);
}

static struct loop_variable *window_var(struct emit *e, const struct op *op)
{
        enum reducer kind = (enum reducer)op_int(op, "kind");
        enum element accumulator = op_accumulator(op);
        const char *name = kind == REDUCE_sum ? "sum" : kind == REDUCE_prod ? "product" : "best";
        return emit_var(e, name, LOOP_TYPE(accumulator),
                        emit_identity(e, kind, op_result(op)->type->element, accumulator));
}

static void combine(struct emit *e, const struct op *op, struct loop_variable *so_far,
                    struct loop_expr *const *at)
{
        const char *formula = reducer_info[op_int(op, "kind")].formula;
        struct loop_expr *args[] = { loop_use(e->arena, so_far),
                                     emit_as(e, op_accumulator(op), op_operand(op, 0), at) };
        emit_set(e, so_far, emit_formula(e, formula, args, 2));
}

struct loop_expr *element_reduce_window(struct emit *e, const struct op *op, int result,
                                        struct loop_expr *const *index)
{
        const struct type *y = op->results[result].type;
        const struct running *running = *emit_state(e, op);
        if (type_is_empty(op_operand(op, 0)->type))
                return emit_identity(e, (enum reducer)op_int(op, "kind"), y->element, y->element);
        bool known = running;
        for (int d = 0; known && d < y->rank; d++)
                known = loop_expr_same(running->index[d], index[d]);
        if (known)
                return loop_cast(e->arena, y->element, running->value);
        struct loop_variable *so_far = window_var(e, op);
        struct loop_expr *at[RANK_MAX];
        int opened = open_window(e, op, index, at);
        combine(e, op, so_far, at);
        close_scopes(e, opened);
        return loop_cast(e->arena, y->element, loop_use(e->arena, so_far));
}

/* ---- windows that reach back to the first element ---- */

/* Goes the window up to element i for result i or, with one more in front, up to the one before
 * it? */
static bool is_before(const struct op *op, int d)
{
        return op_ints(op, "pads", NULL)[d] == op_ints(op, "window", NULL)[d];
}

int running_axis(const struct op *op)
{
        int found = -1, rank = op->code == OP_reduce_window ? op_result(op)->type->rank : 0;
        for (int d = 0; d < rank; d++) {
                dim_t dim = op_result(op)->type->dims[d];
                int64_t extent = dim_bound(op_module(op), dim),
                        window = op_ints(op, "window", NULL)[d];
                bool plain = window == 1 && op_ints(op, "pads", NULL)[d] == 0;
                bool back = extent > 1 && window >= extent &&
                            (is_before(op, d) || op_ints(op, "pads", NULL)[d] == window - 1);
                if (!dim_equal(op_operand(op, 0)->type->dims[d], dim) ||
                    op_ints(op, "strides", NULL)[d] != 1 ||
                    op_ints(op, "dilations", NULL)[d] != 1 || !(plain || (back && found < 0)))
                        return -1;
                if (!plain)
                        found = d;
        }
        return found;
}

void running_begin(struct emit *e, const struct op *op)
{
        struct running *running = ARENA_NEW(e->arena, struct running);
        running->so_far = window_var(e, op);
        *emit_state(e, op) = running;
}

void running_next(struct emit *e, const struct op *op, struct loop_expr *const *index)
{
        struct running *running = *emit_state(e, op);
        struct loop_expr *so_far = loop_use(e->arena, running->so_far);
        memcpy(running->index, index, (size_t)op_result(op)->type->rank * sizeof *index);
        running->value = so_far;
        if (is_before(op, running_axis(op)))
                running->value = loop_use(e->arena, emit_var(e, "before", so_far->type, so_far));
        combine(e, op, running->so_far, index);
}

/* Does v replace best, because it is larger, or the first NaN? */
static struct loop_expr *is_better(struct emit *e, struct loop_expr *v, struct loop_variable *best)
{
        struct loop_expr *larger = emit_op(e, LOOP_GT, v, loop_use(e->arena, best));
        if (!element_is_float(v->type.element))
                return larger;
        struct loop_expr *nan = emit_op(e, LOOP_NE, v, v);
        struct loop_expr *number =
                emit_op(e, LOOP_EQ, loop_use(e->arena, best), loop_use(e->arena, best));
        return emit_op(e, LOOP_OR, larger, emit_op(e, LOOP_AND, nan, number));
}

struct loop_expr *element_arg_window(struct emit *e, const struct op *op, int result,
                                     struct loop_expr *const *index)
{
        (void)result;
        const struct value *x = op_operand(op, 0);
        enum element element = x->type->element, compute = element_info[element].compute;
        if (type_is_empty(x->type))
                return emit_number(e, E_I64, -1);
        struct loop_variable *best = emit_var(e, "best", LOOP_TYPE(compute),
                                              emit_identity(e, REDUCE_max, element, compute));
        struct loop_variable *where = emit_var(e, "where", LOOP_TYPE(E_INDEX), emit_int(e, -1));
        struct loop_expr *at[RANK_MAX];
        int opened = open_window(e, op, index, at);
        struct loop_expr *v = emit_let(e, "v", emit_compute(e, x, at));
        struct loop_expr *better =
                emit_op(e, LOOP_OR, emit_op_int(e, LOOP_LT, loop_use(e->arena, where), 0),
                        is_better(e, v, best));
        emit_if(e, better);
        emit_set(e, best, v);
        emit_set(e, where, emit_position(e, x->type->rank, x->type->dims, at));
        emit_end(e);
        close_scopes(e, opened);
        return loop_cast(e->arena, E_I64, loop_use(e->arena, where));
}
