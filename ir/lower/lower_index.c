/* SPDX-License-Identifier: MIT */
/* Lowering writes index arithmetic. Shapes are dense and row-major; loop_op simplifies what it can
 * on the way. */
#include <string.h>

#include "ir/loop/loop_bounds.h"
#include "ir/lower/lower_emit.h"
#include "ir/tensor/index_range.h"

/* ---- shorthands ---- */

struct loop_expr *emit_op(struct emit *e, enum loop_opcode op, struct loop_expr *a,
                          struct loop_expr *b)
{
        return loop_op(e->arena, op, a, b, NULL);
}

struct loop_expr *emit_op_int(struct emit *e, enum loop_opcode op, struct loop_expr *a, int64_t b)
{
        return loop_op(e->arena, op, a, loop_int(e->arena, a->type.element, b), NULL);
}

struct loop_expr *emit_int(struct emit *e, int64_t value) { return loop_index(e->arena, value); }

struct loop_expr *emit_number(struct emit *e, enum element element, int64_t value)
{
        return loop_int(e->arena, element, value);
}

/* ---- remainders ---- */

/* Returns the statement around here that declares the variable; NULL: none does. */
static const struct loop_stmt *declaration(const struct emit *e, const struct loop_variable *v)
{
        for (const struct scope *scope = e->scope; scope; scope = scope->parent) {
                if (scope->stmt && scope->stmt->variable == v)
                        return scope->stmt;
                for (const struct loop_stmt *s = scope->block->first; s; s = s->next)
                        if (s->kind == STMT_LET && s->variable == v)
                                return s;
        }
        return NULL;
}

static const struct loop_stmt *declaration_of(const struct emit *e, const struct loop_expr *x)
{
        return x->op == LOOP_VARIABLE ? declaration(e, x->variable) : NULL;
}

struct loop_expr *emit_remainder(struct emit *e, struct loop_expr *x, int64_t n)
{
        const struct loop_stmt *let = declaration_of(e, x);
        const struct loop_expr *sum = let && let->kind == STMT_LET ? let->a : x;
        int64_t scale, first, end;
        if (sum->op == LOOP_ADD && sum->args[0]->op == LOOP_MUL &&
            loop_is_int(sum->args[0]->args[1], &scale) && scale % n == 0) {
                const struct loop_stmt *loop = declaration_of(e, sum->args[1]);
                if (loop && loop->kind == STMT_FOR && loop_is_int(loop->a, &first) &&
                    loop_is_int(loop->b, &end) && first >= 0 && end <= n)
                        return sum->args[1];
        }
        return emit_op_int(e, LOOP_REM, x, n);
}

/* ---- extents ---- */

/* Returns the scalar parameter that stands for a symbol. */
static struct loop_expr *symbol_value(struct emit *e, int symbol)
{
        const struct symbol *s = &e->m->symbols[symbol];
        const char *stem = text_identifier(names_new(e->arena), s->name, strlen(s->name), "n");
        struct loop_variable *v = loop_scalar_add(e->arena, e->kernel, emit_name(e, stem),
                                                  LOOP_TYPE(E_INDEX));
        v->low = s->least;
        v->high = s->bound;
        ARENA_GROW(e->arena, e->symbols, e->kernel->scalar_count - 1);
        e->symbols[e->kernel->scalar_count - 1] = symbol;
        return loop_use(e->arena, v);
}

/* Returns a term of extents a and b, which are never below 0. */
static struct loop_expr *term_of(struct emit *e, const struct dim_expr *t, struct loop_expr *a,
                                 struct loop_expr *b)
{
        static const enum loop_opcode codes[] = {
                [DIM_ADD] = LOOP_ADD, [DIM_SUB] = LOOP_SUB, [DIM_MUL] = LOOP_MUL,
                [DIM_DIV] = LOOP_DIV, [DIM_MAX] = LOOP_MAX, [DIM_MIN] = LOOP_MIN
        };
        struct loop_expr *value = emit_op(e, codes[t->kind], a, b);
        return t->kind == DIM_SUB && dim_least(e->m, t->a) < dim_bound(e->m, t->b)
                       ? emit_op_int(e, LOOP_MAX, value, 0)
                       : value;
}

struct loop_expr *emit_dim_in_scalars(struct emit *e, dim_t d)
{
        const struct dim_expr *t = dim_is_static(d) ? NULL : dim_term(e->m, d);
        return !t                      ? emit_int(e, dim_extent(d))
               : t->kind == DIM_SYMBOL ? emit_dim(e, d)
                                       : term_of(e, t, emit_dim_in_scalars(e, t->a),
                                                 emit_dim_in_scalars(e, t->b));
}

static struct loop_expr *term_value(struct emit *e, dim_t d)
{
        const struct dim_expr *t = dim_term(e->m, d);
        if (t->kind == DIM_SYMBOL)
                return symbol_value(e, t->symbol);
        struct loop_expr *value = term_of(e, t, emit_dim(e, t->a), emit_dim(e, t->b));
        struct scope *saved = emit_prologue(e);
        value = emit_let(e, "extent", value);
        emit_resume(e, saved);
        if (value->op != LOOP_VARIABLE)
                return value;
        if (!e->bounds)
                e->bounds = loop_bounds_new(e->arena, e->kernel);
        loop_bounds_set(e->bounds, value->variable,
                        (struct loop_range){ dim_least(e->m, d), dim_bound(e->m, d), 1 });
        return value;
}

struct loop_expr *emit_dim(struct emit *e, dim_t d)
{
        if (dim_is_static(d))
                return emit_int(e, dim_extent(d));
        if (e->term_count < e->m->dim_count) {  /* Lowerings may build terms. */
                struct loop_expr **old = e->terms;
                const size_t count = (size_t)e->term_count;
                e->term_count = e->m->dim_count;
                e->terms = arena_array(e->arena, (size_t)e->term_count, sizeof *e->terms);
                if (count)
                        memcpy(e->terms, old, count * sizeof *old);
        }
        if (!e->terms[~d.code]) {
                struct loop_expr *value = term_value(e, d);     /* It may grow the array. */
                e->terms[~d.code] = value;
        }
        return e->terms[~d.code];
}

struct loop_expr *emit_extent(struct emit *e, const struct type *t, int d)
{
        return emit_dim(e, t->dims[d]);
}

struct loop_expr *emit_elements(struct emit *e, const struct type *t)
{
        struct loop_expr *count = emit_int(e, 1);
        for (int d = 0; d < t->rank; d++)
                count = emit_op(e, LOOP_MUL, count, emit_extent(e, t, d));
        return count;
}

/* ---- positions ---- */

struct emit_place emit_row_major(struct emit *e, struct loop_buffer *buffer, const struct type *t)
{
        struct emit_place place = { .buffer = buffer, .start = emit_int(e, 0) };
        struct loop_expr *pitch = NULL;
        int64_t stride = 1;
        for (int d = t->rank - 1; d >= 0; d--) {
                place.stride[d] = stride;
                place.pitch[d] = pitch;
                if (!pitch && dim_is_static(t->dims[d]))
                        stride *= type_extent(t, d);
                else
                        pitch = emit_op(e, LOOP_MUL, emit_extent(e, t, d),
                                        pitch ? pitch : emit_int(e, stride));
        }
        return place;
}

struct loop_expr *emit_at(struct emit *e, const struct emit_place *place, int rank,
                          struct loop_expr *const *index)
{
        struct loop_expr *position = place->start;
        for (int d = 0; d < rank; d++)
                position = emit_op(e, LOOP_ADD, position,
                                   emit_op(e, LOOP_MUL, index[d],
                                           place->pitch[d] ? place->pitch[d]
                                                           : emit_int(e, place->stride[d])));
        return position;
}

struct loop_expr *emit_position(struct emit *e, int rank, const dim_t *dims,
                                struct loop_expr *const *index)
{
        struct emit_place place =
                emit_row_major(e, NULL, &(struct type){ .rank = rank, .dims = dims });
        return emit_at(e, &place, rank, index);
}

void emit_flat_index(struct emit *e, const struct type *t, struct loop_expr *position,
                     struct loop_expr **index)
{
        int last = t->rank - 1;
        while (last > 0 && dim_is(t->dims[last], 1))
                last--;
        for (int d = 0; d < t->rank; d++)
                index[d] = d == last ? position : emit_int(e, 0);
}

/* Splits a position into an index in dims, as quotients and remainders. */
static void split_position(struct emit *e, struct loop_expr *position, int rank, const dim_t *dims,
                           struct loop_expr **index)
{
        int first = 0;                  /* This dimension takes what the inner ones leave. */
        while (first < rank && dim_is(dims[first], 1))
                first++;
        for (int d = rank - 1; d >= 0; d--) {
                if (dim_is(dims[d], 1)) {
                        index[d] = emit_int(e, 0);
                } else if (d == first) {
                        index[d] = position;
                } else {
                        position = emit_let_early(e, "p", position);
                        struct loop_expr *extent = emit_dim(e, dims[d]);
                        struct loop_expr *rest = emit_op(e, LOOP_REM, position, extent);
                        index[d] = emit_let_early(e, "q", rest);
                        position = emit_op(e, LOOP_DIV, position, extent);
                }
        }
        if (first < rank)
                index[first] = emit_let_early(e, "q", index[first]);
}

static bool all_static(int rank, const dim_t *dims)
{
        for (int d = 0; d < rank; d++)
                if (!dim_is_static(dims[d]))
                        return false;
        return true;
}

/* Converts an index where only a run knows some extents: what is left between equal dimensions at
 * both ends is one piece. */
static void reindex_open(struct emit *e, int rank, const dim_t *dims,
                         struct loop_expr *const *index, int to_rank, const dim_t *to_dims,
                         struct loop_expr **to_index)
{
        int first = 0, last = rank, to_last = to_rank;
        for (; first < last && first < to_last && dim_equal(dims[first], to_dims[first]); first++)
                to_index[first] = index[first];
        while (last > first && to_last > first && dim_equal(dims[last - 1], to_dims[to_last - 1]))
                to_index[--to_last] = index[--last];
        split_position(e, emit_position(e, last - first, dims + first, index + first),
                       to_last - first, to_dims + first, to_index + first);
}

void emit_reindex(struct emit *e, int rank, const dim_t *dims, struct loop_expr *const *index,
                  int to_rank, const dim_t *to_dims, struct loop_expr **to_index)
{
        if (!all_static(rank, dims) || !all_static(to_rank, to_dims)) {
                reindex_open(e, rank, dims, index, to_rank, to_dims, to_index);
                return;
        }
        /* The shortest pieces of both shapes with equal products stand for each other; extents of 0
         * do not get here. */
        for (int i = 0, j = 0; i < rank || j < to_rank;) {
                int i0 = i, j0 = j;
                int64_t a = i < rank ? dim_extent(dims[i++]) : 1,
                        b = j < to_rank ? dim_extent(to_dims[j++]) : 1;
                while (a != b && (a < b ? i < rank : j < to_rank)) {
                        if (a < b)
                                a *= dim_extent(dims[i++]);
                        else
                                b *= dim_extent(to_dims[j++]);
                }
                if (i - i0 == 1 && j - j0 == 1)
                        to_index[j0] = index[i0];
                else
                        split_position(e, emit_position(e, i - i0, dims + i0, index + i0), j - j0,
                                       to_dims + j0, to_index + j0);
        }
}

/* ---- what operands say ---- */

struct loop_expr *emit_amount(struct emit *e, const char *name, const struct value *v, int k)
{
        if (value_is_constant(v))
                return emit_number(e, E_I64, constant_element(v->constant, k).i);
        struct scope *saved = emit_prologue(e);
        struct loop_expr *index[1] = { emit_int(e, k) };
        struct loop_expr *amount = emit_let(e, name, emit_compute(e, v, index));
        emit_resume(e, saved);
        return amount;
}

/* The bits are found in constant indices; for tuples of them, in one entry of each. */
enum { SOME_NEGATIVE = 1, SOME_WRONG = 2, SCANNED = 4 };

static int scan_indices(const struct constant *c, int first, int step, int64_t extent)
{
        enum element element = c->value.type->element;
        bool is_signed = element_info[element].class == CLASS_SINT;
        int64_t count = type_elements(c->value.type);
        int found = SCANNED;
        for (int64_t i = first; i < count; i += step) {
                union scalar s = constant_element(c, i);
                if (is_signed ? s.i < -extent || s.i >= extent : s.u >= (uint64_t)extent)
                        found |= SOME_WRONG;
                else if (is_signed && s.i < 0)
                        found |= SOME_NEGATIVE;
                if (c->kind == CONSTANT_SPLAT)
                        break;
        }
        return found;
}

/* Returns what indices of this type may hold: those of 8 bits are all inside of 256 elements. */
static int possible_indices(enum element e, int64_t extent)
{
        bool is_signed = element_info[e].class == CLASS_SINT;
        int bits = 8 * element_info[e].bytes - is_signed;
        int wrong = bits < 32 && INT64_C(1) << bits <= extent ? 0 : SOME_WRONG;
        return element_info[e].class == CLASS_UINT ? wrong : SOME_NEGATIVE | wrong;
}

static struct loop_expr *negative(struct emit *e, struct loop_expr *a)
{
        int64_t known;
        return loop_is_int(a, &known)
                       ? loop_int(e->arena, a->type.element, -known)
                       : emit_op(e, LOOP_SUB, loop_int(e->arena, a->type.element, 0), a);
}

struct loop_expr *emit_subscript(struct emit *e, const struct op *op, const struct value *indices,
                                 struct loop_expr *const *index, int entry, int width,
                                 dim_t dim)
{
        enum element compute = element_info[indices->type->element].compute;
        bool is_signed = element_info[compute].class == CLASS_SINT;
        /* Where only a run knows the extent, it is at least this. */
        int64_t least = dim_least(e->m, dim);
        struct loop_expr *extent = loop_cast(e->arena, compute, emit_dim(e, dim));
        int found = possible_indices(indices->type->element, least);
        if (value_is_constant(indices)) {       /* The constant is scanned once. */
                unsigned char *known = *emit_state(e, op);
                if (!known)
                        *emit_state(e, op) = known = arena_alloc(e->arena, (size_t)width);
                if (!known[entry])
                        known[entry] = (unsigned char)scan_indices(indices->constant, entry, width,
                                                                   least);
                found = known[entry];
        } else if (index_is_within(e->m, indices, dim)) {
                found = 0;
        }
        struct scope *saved = emit_outward(e, indices->type->rank, index);
        struct loop_expr *j = emit_compute(e, indices, index);
        if (found & (SOME_NEGATIVE | SOME_WRONG))
                j = emit_let(e, "j", j);
        if (found & SOME_WRONG) {
                struct loop_expr *wrong = emit_op(e, LOOP_GE, j, extent);
                if (is_signed)
                        wrong = emit_op(e, LOOP_OR, emit_op(e, LOOP_LT, j, negative(e, extent)),
                                        wrong);
                emit_fail_if(e, wrong, FAIL_INDEX);
        }
        if (found & SOME_NEGATIVE)
                j = loop_op(e->arena, LOOP_SELECT, emit_op_int(e, LOOP_LT, j, 0),
                            emit_op(e, LOOP_ADD, j, extent), j);
        int64_t known;
        if (loop_is_int(j, &known) && (known < 0 || known >= dim_bound(e->m, dim)))
                j = emit_int(e, 0);     /* The check above has failed, and this element is not
                                         * read. */
        j = emit_let(e, "j", loop_cast(e->arena, E_INDEX, j));
        emit_resume(e, saved);
        return j;
}
