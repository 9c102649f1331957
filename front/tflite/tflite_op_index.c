/* SPDX-License-Identifier: MIT */
/* Operators that choose elements: by indices, by truth values, by their order. */
#include "front/tflite/tflite_helpers.h"

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_sort.h"

/* Returns operand i, of integers, as i64. */
static struct value *indices_of(struct tflite_import *im, const struct tflite_node *n, int i)
{
        struct value *v = n->inputs[i]->value;
        if (element_is_integer(value_element(v)))
                return compose_cast(im->c, v, E_I64);
        tflite_no_element(im, n, i);
        return NULL;
}

bool tflite_import_gather_nd(struct tflite_import *im, struct tflite_node *n)
{
        struct value *x = n->inputs[0]->value, *at = indices_of(im, n, 1);
        dim_t dims[2 * RANK_MAX];
        int rank = 0;
        if (!at)
                return false;
        const int last = value_rank(at) - 1;
        if (last < 0 || value_extent(at, last) < 1 || value_extent(at, last) > value_rank(x))
                return tflite_invalid(im, "indices %s of %s", compose_text(im->c, at->type),
                                      compose_text(im->c, x->type));
        for (int d = 0; d < last; d++)
                dims[rank++] = at->type->dims[d];
        for (int d = (int)value_extent(at, last); d < value_rank(x); d++)
                dims[rank++] = x->type->dims[d];
        if (rank > RANK_MAX)
                return tflite_unsupported(im, "rank %d", rank);
        return compose_type(im->c, value_element(x), rank, dims) &&
               tflite_output(im, n, 0,
                             value_build(im->c->b, OP_gather_nd, (struct value *[]){ x, at }, 2,
                                         NULL, NULL));
}

bool tflite_import_embedding_lookup(struct tflite_import *im, struct tflite_node *n)
{
        struct value *at = n->inputs[0]->value, *table = n->inputs[1]->value;
        if (!tflite_want_rank(im, n, 0, 1) || !element_is_integer(value_element(at)))
                return tflite_no_element(im, n, 0);
        if (value_rank(table) < 1)
                return tflite_invalid(im, "a table of rank 0");
        struct value *rows = build_gather(im->c->b, table, at, 0);
        if (!rows || value_element(rows) == n->outputs[0]->type->element)
                return tflite_output(im, n, 0, rows);
        if (n->outputs[0]->type->element != E_F32 || value_element(table) != E_I8 ||
            n->inputs[1]->q.count != 1)
                return tflite_no_element(im, n, 1);
        /* LiteRT takes no zero point of the table. */
        rows = compose_cast(im->c, rows, E_F32);
        return tflite_output(im, n, 0, times(im->c, rows, (double)n->inputs[1]->q.scales[0]));
}

bool tflite_import_dynamic_update_slice(struct tflite_import *im, struct tflite_node *n)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0]->value, *update = n->inputs[1]->value,
                     *start = indices_of(im, n, 2);
        const int rank = value_rank(x);
        dim_t dims[RANK_MAX + 1];
        if (!start)
                return false;
        if (value_element(update) != value_element(x) || value_rank(update) != rank || !rank ||
            rank == RANK_MAX || type_elements(start->type) != rank)
                return tflite_invalid(im, "an update %s by starts %s of %s",
                                      compose_text(c, update->type), compose_text(c, start->type),
                                      compose_text(c, x->type));
        int moving = 0, axis = 0;
        for (int d = 0; d < rank; d++) {
                if (value_extent(update, d) > value_extent(x, d))
                        return tflite_invalid(im, "an update %s of %s",
                                              compose_text(c, update->type),
                                              compose_text(c, x->type));
                if (value_extent(update, d) < value_extent(x, d)) {
                        moving++;
                        axis = d;
                }
                dims[d] = update->type->dims[d];
        }
        if (!moving)
                return tflite_output(im, n, 0, update);
        dims[rank] = dim_of(1);
        const struct type *t = type_tensor(im->m, E_I64, rank + 1, dims);
        struct value *tuple[RANK_MAX];
        start = compose_reshape(c, start, 1, (const dim_t[]){ dim_of(rank) });
        for (int d = 0; d < rank; d++) {
                /* An update that would reach beyond the end begins earlier. */
                const int64_t most = value_extent(x, d) - value_extent(update, d);
                struct value *from = start ? compose_pick(c, start, 0, d) : NULL;
                from = from ? clamp(c, from, 0, (double)most) : NULL;
                if (from && moving == 1 && d == axis)
                        return tflite_output(im, n, 0,
                                             compose_cache_update(c, x, update, from, axis, false));
                tuple[d] = build_iota(c->b, t, d);
                if (from && most)
                        tuple[d] = add(c, tuple[d], compose_spread(c, from, t, NULL));
                if (!from || !tuple[d])
                        return false;
        }
        struct value *at = build_concat(c->b, tuple, rank, rank);
        return tflite_output(im, n, 0, compose_scatter(c, x, at, update, -1, SCATTER_REPLACE));
}

/* SELECT (variant 1) may have a truth value for each sample. */
bool tflite_import_select(struct tflite_import *im, struct tflite_node *n)
{
        struct value *v[3] = { n->inputs[0]->value, n->inputs[1]->value, n->inputs[2]->value };
        const int rank = value_rank(v[1]);
        dim_t dims[RANK_MAX];
        if (value_element(v[0]) != E_BOOL)
                return tflite_no_element(im, n, 0);
        if (value_element(v[1]) != value_element(v[2]))
                return tflite_no_element(im, n, 2);
        if (tflite_variant(n) == 1 && value_rank(v[0]) == 1 && rank > 1) {
                for (int d = 0; d < rank; d++)
                        dims[d] = d ? dim_of(1) : v[0]->type->dims[0];
                v[0] = compose_reshape(im->c, v[0], rank, dims);
        }
        return v[0] && compose_broadcast(im->c, v, 3) &&
               tflite_output(im, n, 0, build_select(im->c->b, v[0], v[1], v[2]));
}

bool tflite_import_one_hot(struct tflite_import *im, struct tflite_node *n)
{
        struct compose *c = im->c;
        struct value *at = indices_of(im, n, 0), *on = n->inputs[2]->value,
                     *off = n->inputs[3]->value;
        int64_t depth[1], dims_to[RANK_MAX];
        dim_t dims[RANK_MAX];
        int count, axis;
        if (!at || !tflite_ints(im, n, 1, depth, 1, &count))
                return false;
        const int rank = value_rank(at);
        if (count != 1 || depth[0] < 0 || depth[0] > NUMBER_MAX)
                return tflite_invalid(im, "a depth of %lld", (long long)depth[0]);
        if (rank == RANK_MAX)
                return tflite_unsupported(im, "rank %d", rank + 1);
        const int64_t stated = TFLITE_OPTIONS(n, OneHotOptions)->axis;
        if ((axis = tflite_axis(im, stated, rank + 1)) < 0)
                return false;
        for (int d = 0; d <= rank; d++) {
                dims[d] = d == axis ? dim_of(depth[0]) : at->type->dims[d - (d > axis)];
                if (d < rank)
                        dims_to[d] = d + (d >= axis);
        }
        const struct type *t = compose_type(c, E_I64, rank + 1, dims);
        on = compose_one_number(c, "the value of ones", on, value_element(on));
        off = compose_one_number(c, "the value of others", off, value_element(off));
        if (!t || !on || !off)
                return false;
        struct value *number = build_iota(c->b, t, axis);
        struct value *hit = compose_binary(c, OP_eq, compose_spread(c, at, t, dims_to), number);
        return tflite_output(im, n, 0, compose_select(c, hit, on, off));
}

bool tflite_import_top_k(struct tflite_import *im, struct tflite_node *n)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0]->value;
        const int axis = value_rank(x) - 1;
        int64_t k[1];
        int count;
        if (!tflite_ints(im, n, 1, k, 1, &count))
                return false;
        if (count != 1 || axis < 0 || k[0] < 0 || k[0] > value_extent(x, axis))
                return tflite_invalid(im, "the %lld largest of %s", (long long)k[0],
                                      compose_text(c, x->type));
        struct value *order = compose_argsort(c, x, axis, 1, k[0]);
        if (!order || !tflite_output(im, n, 0, compose_gather_elements(c, x, order, axis)))
                return false;
        return n->output_count < 2 ||
               tflite_output(im, n, 1, compose_cast(c, order, n->outputs[1]->type->element));
}
