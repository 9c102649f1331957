/* SPDX-License-Identifier: MIT */
/* Prints statements about products of single warps, copies into shared memory and sums in fragments
 * as calls of the functions that cuda_products.c prints. */
#include "codegen/cuda_writer.h"

#include <string.h>

/* Returns the multiply of a statement; NULL where the target has no instruction for it. */
static const struct multiply *multiply_of(const struct c_writer *w, const struct loop_stmt *s)
{
        const enum element x = loop_multiplied_element(s);
        const struct multiply *m = loop_tile_multiply(s, w->target);
        bool fits = m && (s->tiles.rows == 1 || cuda_has_leaf(m)) && !s->tiles.swizzle &&
                    s->tiles.depth % m->depth == 0 && s->tiles.rows == m->positions &&
                    s->tiles.positions % m->positions == 0;
        /* x are sums: the channels of floats are then taken in another order, in which only
         * transposed words can be loaded. */
        if (fits && !s->buffer)
                fits = m->positions > 1 && (element_info[x].bytes == 2 || s->tiles.transposed);
        return fits ? m : NULL;
}

void cuda_place(struct c_writer *w, struct loop_buffer *b, const struct loop_expr *at)
{
        const struct loop_expr *rest = c_place(w, b, at);
        c_put(w, " + (");
        c_expression(w, rest);
        c_put(w, ")");
}

static void put_copy(struct c_writer *w, const struct loop_stmt *s)
{
        if (s->code * element_info[s->buffer->element].bytes != COPY_BYTES ||
            s->a->type.lanes != 1) {
                c_fail(w, EXIT_UNSUPPORTED,
                       "a copy into shared memory that is not %d bytes of each lane", COPY_BYTES);
                return;
        }
        w->cuda->copies = true;
        cuda_needs(w, s->source, COPY_BYTES);
        c_put(w, "copy_async(");
        cuda_place(w, s->buffer, s->a);
        c_put(w, "," C_SOFT);
        /* Where the mask is false the place may lie outside of the buffer, so the address of the
         * buffer's beginning is used. */
        if (s->c) {
                c_expression(w, s->c);
                c_put(w, " ? ");
        }
        cuda_place(w, s->source, s->b);
        if (s->c)
                c_put(w, " : %s", c_use(w, s->source));
        c_put(w, "," C_SOFT);
        if (s->c)
                c_expression(w, s->c);
        else
                c_put(w, "true");
        c_put(w, ");");
        c_end(w);
}

static void put_multiply(struct c_writer *w, const struct loop_stmt *s)
{
        const struct multiply *m = multiply_of(w, s);
        if (!m) {
                c_fail(w, EXIT_UNSUPPORTED, "target %s has no such product of tiles",
                       w->target->name);
                return;
        }
        const struct cuda_product p = { .multiply = m,
                                        .sum = m->sum,
                                        .rows = s->tiles.positions / s->tiles.rows,
                                        .vectors = s->tiles.vectors,
                                        .depth = s->tiles.depth / m->depth,
                                        .transposed = s->tiles.transposed,
                                        .of_sums = !s->buffer };
        if (cuda_product_in_rows(&p) && !s->tiles.prefetched)
                cuda_load_weights(w, s->weights, s->b,
                                  (int64_t)s->tiles.depth * m->channels * m->outputs *
                                          element_info[m->w.memory].bytes);
        c_put(w, "%s(%s," C_SOFT, cuda_product_use(w, p), c_use(w, s->variable));
        if (s->buffer) {
                cuda_place(w, s->buffer, s->a);
                c_put(w, "," C_SOFT "%lld", (long long)s->tiles.step);
        } else {
                c_put(w, "%s", c_use(w, loop_multiplied(s)));
        }
        c_put(w, "," C_SOFT);
        if (cuda_product_in_rows(&p))
                c_put(w, "%s", w->cuda->weights);
        else
                cuda_place(w, s->weights, s->b);
        c_put(w, ");");
        c_end(w);
}

void cuda_load_weights(struct c_writer *w, struct loop_buffer *weights, const struct loop_expr *at,
                       int64_t bytes)
{
        const int words = (int)(bytes / (COPY_BYTES * GRID_LANES));
        w->cuda->weights = c_local(w, "own");
        c_line(w, "struct sixteen %s[%d];", w->cuda->weights, words);
        c_put(w, "load_own(%s," C_SOFT "%d," C_SOFT, w->cuda->weights, words);
        cuda_place(w, weights, at);
        c_put(w, ");");
        c_end(w);
}

static void put_unloading(struct c_writer *w, const struct loop_stmt *s)
{
        const struct cuda_product p = { .sum = s->variable->type.element,
                                        .rows = 1,
                                        .vectors = s->tiles.columns ? s->tiles.columns
                                                                    : s->tiles.vectors,
                                        .row = s->tiles.rows == 1 };
        const char *name = cuda_product_use(w, p), *sums = c_use(w, s->variable);
        int64_t lanes = s->variable->type.lanes,
                step = s->tiles.step ? s->tiles.step : p.vectors * lanes;
        for (int i = 0; i < s->tiles.positions / s->tiles.rows; i++) {
                c_put(w, "%s(", name);
                cuda_place(w, s->buffer, s->a);
                if (i)
                        c_put(w, " + %lld", (long long)(i * s->tiles.rows * step));
                if (!p.row)
                        c_put(w, "," C_SOFT "%lld", (long long)step);
                c_put(w, "," C_SOFT "%s[%d]", sums, s->tiles.first / s->tiles.rows + i);
                if (s->tiles.column)
                        c_put(w, " + %d", s->tiles.column);
                c_put(w, ");");
                c_end(w);
        }
}

static void put_scaling(struct c_writer *w, const struct loop_stmt *s)
{
        const struct cuda_product p = { .sum = s->variable->type.element,
                                        .rows = 1,
                                        .vectors = s->tiles.vectors,
                                        .scales = true };
        const char *name = cuda_product_use(w, p), *sums = c_use(w, s->variable);
        for (int i = 0; i < s->tiles.positions / s->tiles.rows; i++) {
                c_put(w, "%s(%s[%d]," C_SOFT, name, sums, i);
                cuda_place(w, s->buffer, s->a);
                if (i)
                        c_put(w, " + %d", i * s->tiles.rows);
                c_put(w, ");");
                c_end(w);
        }
}

/* Prints `take` or `give`: a lane's part of the sums is an array in its registers already, in the
 * same order. */
static void put_own(struct c_writer *w, const struct loop_stmt *s)
{
        const char *own = c_use(w, s->buffer), *sums = c_use(w, s->variable);
        const bool takes = s->kind == STMT_TAKE;
        c_line(w, "memcpy(%s, %s, sizeof %s);", takes ? own : sums, takes ? sums : own, sums);
}

static void put_sums(struct c_writer *w, const struct loop_stmt *s)
{
        struct loop_variable *v = s->variable;
        enum { ROWS = 16 };             /* A fragment has this many positions, of which a lane has
                                         * four sums. */
        const enum element e = v->type.element;
        const bool rows = v->rows < ROWS;         /* In a product of few rows a lane has a partial
                                                   * sum of each row. */
        if (cuda_pairs(w, v))
                return;
        if ((e != E_F32 && e != E_I32) || v->type.lanes != 8 || (!rows && v->rows % ROWS) ||
            (rows && v->columns != 1)) {
                c_fail(w, EXIT_UNSUPPORTED, "target %s has no such tiles", w->target->name);
                return;
        }
        c_declare(w, s->variable);
        if (rows)
                c_line(w, "%s %s[%d][%d] = { { 0 } };", element_info[e].c_type, c_name(w, v)->text,
                       v->rows, v->columns);
        else
                c_line(w, "%s %s[%d][%d][4] = { { { 0 } } };", element_info[e].c_type,
                       c_name(w, v)->text, v->rows / ROWS, v->columns);
}

void cuda_product(struct c_writer *w, const struct loop_stmt *s)
{
        if (s->variable && s->kind != STMT_VAR && cuda_give_pairs(w, s))
                return;
        switch (s->kind) {
        case STMT_VAR: put_sums(w, s); break;
        case STMT_LET: cuda_vector_load(w, s); break;
        case STMT_STORE: cuda_vector_store(w, s); break;
        case STMT_PREFETCH: cuda_prefetch(w, s); break;
        case STMT_LAUNCH_WAIT: cuda_launch_wait(w); break;
        case STMT_LAUNCH_DEPENDENTS: c_line(w, "launch_dependents();"); break;
        case STMT_COPY: (s->code > COPY_BYTES ? cuda_bulk_copy : put_copy)(w, s); break;
        case STMT_COMMIT:
                w->cuda->groups = true;
                c_line(w, "copy_commit();");
                if (w->cuda->phase->copies_bulk)
                        c_line(w, "bulk_commit(&bulk);");
                break;
        case STMT_WAIT:                 /* The barrier makes copies of other warps visible, too. */
                c_line(w, "copy_wait(%d);", s->code);
                if (w->cuda->phase->copies_bulk)
                        c_line(w, "bulk_wait(&bulk, %d);", s->code);
                if (w->cuda->phase->warp_group)
                        c_line(w, "shared_to_units();");
                c_line(w, "__syncthreads();");
                break;
        case STMT_SETTLE: cuda_settle(w, s); break;
        case STMT_MULTIPLY:
                (s->tiles.warp_group ? cuda_warp_group_multiply : put_multiply)(w, s);
                break;
        case STMT_UNLOAD: put_unloading(w, s); break;
        case STMT_SCALE: put_scaling(w, s); break;
        case STMT_TAKE: case STMT_GIVE: put_own(w, s); break;
        default: c_fail(w, EXIT_UNSUPPORTED, "target %s has no such tiles", w->target->name); break;
        }
}
