/* SPDX-License-Identifier: MIT */
/* Attention by blocks of warps: its operands as they lie, and the copies that bring them to where products read them. */
#include "kernels/attention_block.h"

/* ---- operands, as they lie ---- */

/* w is words [panels, .., words, vectors, lanes, group] of a matrix [batch, column, channel]; columns: w's outputs are its
 * columns, and words hold channels; else outputs are channels, and words hold columns. Strides of the matrix. */
static bool find_matrix(const struct region *region, const struct value *w, int64_t batch, const struct attention_tile *t, bool columns,
                        struct access *matrix)
{
        struct access words;
        const struct type *type = w->type;
        const int64_t vectors = type->dims[type->rank - 2], count = type->dims[type->rank - 3], panels = type->dims[0] / batch;
        dim_t dims[] = { batch, panels, count, vectors, t->lanes, t->group };
        if (!op_is(w, OP_reshape) || w->op->region != region || type->dims[0] % batch || !access_read_inside(region, op_operand(w->op, 0), &words) ||
            !access_reshape(op_operand(w->op, 0)->type, 6, dims, words.stride))
                return false;
        const int64_t *s = words.stride;
        bool lies = (count == 1 || s[2] == t->group * s[5]) && (vectors == 1 || s[3] == t->lanes * s[4]) &&
                    (panels == 1 || s[1] == vectors * t->lanes * s[4]);
        *matrix = (struct access){ .value = words.value, .offset = words.offset, .stride = { s[0], columns ? s[4] : s[5], columns ? s[5] : s[4] } };
        return lies && matrix->stride[2] == 1;
}

/* can 16 bytes be copied from wherever a word begins? */
static bool is_aligned(const struct block *b, const struct access *x, int dims)
{
        int64_t all = x->offset;
        for (int d = 0; d < dims; d++)
                all |= x->stride[d];
        return all % b->t.group == 0;
}

bool attention_operands(struct block *b, const struct region *region)
{
        const int64_t batch = b->a.scores->type->dims[GROUP];
        if (!access_read(region, op_operand(b->a.first, 0), &b->q) || b->q.stride[COLUMN] != 1 ||
            !find_matrix(region, op_operand(b->a.first, 1), batch, &b->t, true, &b->k) ||
            !find_matrix(region, op_operand(b->a.second, 1), batch, &b->t, false, &b->v))
                return false;
        const struct access q = { .offset = b->q.offset, .stride = { b->q.stride[GROUP], b->q.stride[ROW] } };
        return is_aligned(b, &q, 2) && is_aligned(b, &b->k, 2) && is_aligned(b, &b->v, 2) && b->t.width % b->t.group == 0;
}

/* ---- copies ---- */

/* Opens loops over `count` words, shared by the lanes of the block: a word. `opened`: what emit_end is to be called for. */
static struct loop_expr *each_word(struct block *b, int64_t count, int *opened)
{
        struct emit *e = b->e;
        const int64_t all = (int64_t)b->t.warps * GRID_LANES;
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_expr *own = emit_let(e, "thread", plus(e, times(e, b->warp, GRID_LANES), lane));
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(count, all)));
        struct loop_expr *word = emit_let(e, "word", plus(e, times(e, i, all), own));
        *opened = 2;
        if (count % all) {
                emit_if(e, less(b, word, count));
                ++*opened;
        }
        return word;
}

static void copy(struct block *b, struct loop_buffer *to, struct loop_expr *at, struct loop_buffer *from, struct loop_expr *place,
                 struct loop_expr *there, int opened)
{
        emit_copy(b->e, to, at, from, place, there, b->t.group);
        while (opened--)
                emit_end(b->e);
}

void attention_copy_queries(struct block *b)
{
        struct emit *e = b->e;
        const struct attention_tile *t = &b->t;
        int opened;
        struct loop_expr *word = each_word(b, (int64_t)t->rows * t->depth / t->group, &opened);
        struct loop_expr *row = emit_let(e, "row", emit_op_int(e, LOOP_DIV, word, t->depth / t->group)),
                         *c = emit_let(e, "c", times(e, emit_op_int(e, LOOP_REM, word, t->depth / t->group), t->group)),
                         *r = emit_let(e, "r", plus(e, b->first, row));
        struct loop_expr *from = plus(e, number(e, b->q.offset), plus(e, times(e, b->group, b->q.stride[GROUP]), times(e, r, b->q.stride[ROW])));
        copy(b, b->qs, plus(e, times(e, row, query_row(t)), c), b->query, plus(e, from, c),
             rows_of(b) % t->rows ? emit_let(e, "there", less(b, r, rows_of(b))) : NULL, opened);
}

/* column `key` of a block, from channel c on, into `at` of its stage */
static void copy_column(struct block *b, struct loop_buffer *to, struct loop_expr *at, struct loop_buffer *from, const struct access *x,
                        struct loop_expr *block, struct loop_expr *key, struct loop_expr *c, int opened)
{
        struct emit *e = b->e;
        struct loop_expr *column = emit_let(e, "column", plus(e, times(e, block, b->t.keys), key));
        struct loop_expr *place = plus(e, number(e, x->offset), plus(e, times(e, b->group, x->stride[0]), times(e, column, x->stride[1])));
        at = plus(e, times(e, emit_op_int(e, LOOP_REM, block, STAGES), to->extent / STAGES), at);
        copy(b, to, at, from, plus(e, place, c), columns_of(b) % b->t.keys ? emit_let(e, "there", less(b, column, columns_of(b))) : NULL, opened);
}

/* Eight columns are neighbours in shared memory, and lanes write eight words beside each other. */
void attention_copy_keys(struct block *b, struct loop_expr *block)
{
        struct emit *e = b->e;
        const struct attention_tile *t = &b->t;
        const int words = t->depth / t->group, vectors = t->keys / t->lanes;
        int opened;
        struct loop_expr *word = each_word(b, (int64_t)t->keys * words, &opened);
        struct loop_expr *lane = emit_op_int(e, LOOP_REM, word, t->lanes), *rest = emit_let(e, "rest", emit_op_int(e, LOOP_DIV, word, t->lanes));
        struct loop_expr *of_row = emit_let(e, "of_row", emit_op_int(e, LOOP_REM, rest, words)),
                         *vector = emit_let(e, "vector", emit_op_int(e, LOOP_DIV, rest, words));
        struct loop_expr *at = plus(e, times(e, plus(e, times(e, of_row, vectors), vector), t->lanes), lane);
        struct loop_expr *key = emit_let(e, "key", plus(e, times(e, vector, t->lanes), lane));
        copy_column(b, b->ks, times(e, at, t->group), b->key, &b->k, block, key, times(e, of_row, t->group), opened);
}

void attention_copy_values(struct block *b, struct loop_expr *block)
{
        struct emit *e = b->e;
        const struct attention_tile *t = &b->t;
        const int vectors = t->width / t->lanes, pieces = t->lanes / t->group, of_block = t->group * pieces;
        int opened;
        struct loop_expr *word = each_word(b, (int64_t)t->keys * vectors * pieces, &opened);
        struct loop_expr *in_block = emit_let(e, "in_block", emit_op_int(e, LOOP_REM, word, of_block)),
                         *rest = emit_let(e, "rest", emit_op_int(e, LOOP_DIV, word, of_block));
        struct loop_expr *vector = emit_op_int(e, LOOP_REM, rest, vectors), *piece = emit_op_int(e, LOOP_REM, in_block, pieces);
        struct loop_expr *key = plus(e, times(e, emit_op_int(e, LOOP_DIV, rest, vectors), t->group), emit_op_int(e, LOOP_DIV, in_block, pieces));
        struct loop_expr *c = plus(e, times(e, vector, t->lanes), times(e, piece, t->group));
        copy_column(b, b->vs, times(e, word, t->group), b->value, &b->v, block, emit_let(e, "key", key), emit_let(e, "c", c), opened);
}
