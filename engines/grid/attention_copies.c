/* SPDX-License-Identifier: MIT */
/* In attention by blocks of warps, this file finds where operands lie in memory, and writes the
 * copies that bring them to where the products read them. */
#include "engines/grid/attention_block.h"

/* ---- operands in memory ---- */

/* Finds the strides of the matrix [batch, column, channel] whose words are w, [panels, .., words,
 * vectors, lanes, group]. With `columns`, the outputs of w are columns, and a word holds channels;
 * otherwise the outputs are channels, and a word holds columns. */
static bool find_matrix(const struct region *region, const struct value *w, int64_t batch,
                        const struct attention_tile *t, bool columns, struct access *matrix)
{
        struct access words;
        const struct type *type = w->type;
        const int64_t vectors = type_extent(type, type->rank - 2),
                      count = type_extent(type, type->rank - 3),
                      panels = type_extent(type, 0) / batch;
        dim_t dims[] = { dim_of(batch),   dim_of(panels),   dim_of(count),
                         dim_of(vectors), dim_of(t->lanes), dim_of(t->group) };
        if (!op_is(w, OP_reshape) || w->op->region != region || type_extent(type, 0) % batch ||
            !access_read_inside(region, op_operand(w->op, 0), &words) ||
            !access_reshape(op_operand(w->op, 0)->type, 6, dims, words.stride))
                return false;
        const int64_t *s = words.stride;
        bool lies = (count == 1 || s[2] == t->group * s[5]) &&
                    (vectors == 1 || s[3] == t->lanes * s[4]) &&
                    (panels == 1 || s[1] == vectors * t->lanes * s[4]);
        *matrix =
                (struct access){ .value = words.value,
                                 .offset = words.offset,
                                 .stride = { s[0], columns ? s[4] : s[5], columns ? s[5] : s[4] } };
        return lies && matrix->stride[2] == 1;
}

/* Does each word of x begin at a multiple of 16 bytes? */
static bool is_aligned(const struct block *b, const struct access *x, int dims)
{
        int64_t all = x->offset;
        for (int d = 0; d < dims; d++)
                all |= x->stride[d];
        return all % b->t.group == 0;
}

bool attention_operands(struct block *b, const struct region *region)
{
        const int64_t batch = type_extent(b->a.scores->type, GROUP);
        if (!access_read(region, op_operand(b->a.first, 0), &b->q) || b->q.stride[COLUMN] != 1 ||
            !find_matrix(region, op_operand(b->a.first, 1), batch, &b->t, true, &b->k) ||
            !find_matrix(region, op_operand(b->a.second, 1), batch, &b->t, false, &b->v))
                return false;
        const struct access q = { .offset = b->q.offset,
                                  .stride = { b->q.stride[GROUP], b->q.stride[ROW] } };
        return is_aligned(b, &q, 2) && is_aligned(b, &b->k, 2) && is_aligned(b, &b->v, 2) &&
               b->t.width % b->t.group == 0;
}

/* ---- copies ---- */

static int64_t common_factor(int64_t a, int64_t b) { return b ? common_factor(b, a % b) : a; }

/* A lane computes its own index once and adds constants to it for its further elements. */
int attention_share(struct block *b, int rank, const int64_t *extents, struct loop_expr **index)
{
        struct emit *e = b->e;
        int64_t left = (int64_t)attention_tile_warps(&b->t) * GRID_LANES, of[SHARE_RANK] = { 0 };
        struct loop_expr *rest = plus(e, times(e, b->warp, GRID_LANES),
                                      emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES));
        rest = emit_let(e, "thread", rest);
        int opened = 1;
        for (int d = rank - 1; d >= 0; d--) {
                of[d] = d ? common_factor(left, extents[d]) : left;
                index[d] = d ? emit_let(e, "own", emit_op_int(e, LOOP_REM, rest, of[d])) : rest;
                rest = d ? emit_let(e, "rest", emit_op_int(e, LOOP_DIV, rest, of[d])) : rest;
                left /= of[d];
        }
        for (int d = 0; d < rank; d++) {
                if (extents[d] <= of[d])
                        continue;
                index[d] = plus(e, index[d],
                                times(e,
                                      emit_for(e, "i", number(e, 0),
                                               number(e, divide_up(extents[d], of[d]))),
                                      of[d]));
                opened++;
        }
        if (extents[0] % of[0]) {
                emit_if(e, less(b, index[0], extents[0]));
                opened++;
        }
        return opened;
}

static void copy(struct block *b, struct loop_buffer *to, struct loop_expr *at,
                 struct loop_buffer *from, struct loop_expr *place, struct loop_expr *there,
                 int opened)
{
        emit_copy(b->e, to, at, from, place, there, b->t.group);
        while (opened--)
                emit_end(b->e);
}

/* Channels of a row, or of a column, of an operand of a product, from `channel` on. */
struct channels {
        const struct op *product;
        int operand;
        struct loop_expr *free, *channel;
};

/* Returns channel number c of them, as the multiply reads it. */
static struct loop_expr *value_of(struct block *b, const struct channels *x, struct loop_expr *c)
{
        struct emit *e = b->e;
        struct loop_expr *index[RANK_MAX];
        const struct value *v = op_operand(x->product, x->operand);
        const int64_t *batch = op_ints(x->product, x->operand ? "batch_b" : "batch_a", NULL),
                      *contract = op_ints(x->product, x->operand ? "contract_b" : "contract_a",
                                          NULL);
        /* Values are contracted over columns; queries and keys over channels. */
        const bool values = x->product == b->a.second;
        for (int d = 0; d < v->type->rank; d++)
                index[d] = values ? plus(e, x->channel, c) : x->free;
        index[batch[0]] = b->image;
        index[batch[1]] = b->group;
        index[contract[0]] = values ? x->free : plus(e, x->channel, c);
        return emit_element(e, v, index);
}

/* Computes a word, all of its elements before the first is stored; zeros where it is not there. */
static void compute(struct block *b, struct loop_buffer *to, struct loop_expr *at,
                    struct channels x, struct loop_expr *there, int opened)
{
        struct emit *e = b->e;
        x.channel = emit_let(e, "channel", x.channel);
        at = emit_let(e, "to", at);
        const enum element element = to->element;
        struct loop_buffer *word = attention_values(b, "word", element, b->t.group);
        if (there) {
                struct loop_expr *c = emit_grid(e, "c", FOR_UNROLL, b->t.group);
                const enum element in = element_info[element].compute;
                emit_store(e, word, c, loop_literal(e->arena, LOOP_TYPE(in), (union scalar){ 0 }));
                emit_end(e);
                emit_if(e, there);
        }
        struct loop_expr *c = emit_grid(e, "c", FOR_UNROLL, b->t.group);
        emit_store(e, word, c,
                   loop_cast(e->arena, element_info[element].compute, value_of(b, &x, c)));
        emit_end(e);
        if (there)
                emit_end(e);
        c = emit_grid(e, "c", FOR_UNROLL, b->t.group);
        emit_store(e, to, plus(e, at, c), loop_load(e->arena, word, c));
        emit_end(e);
        while (opened--)
                emit_end(e);
}

/* Returns where word index[2] of swizzle line index[1] lies for row (or column) index[0] of
 * `rows`. */
static struct loop_expr *in_line(struct block *b, struct loop_expr *const *index, int64_t rows)
{
        struct emit *e = b->e;
        struct loop_expr *line = plus(e, times(e, index[1], rows), index[0]);
        struct loop_expr *word = emit_op(e, LOOP_XOR, index[2],
                                         emit_op_int(e, LOOP_REM, index[0], MULTIPLY_SWIZZLE));
        return times(e, plus(e, times(e, line, MULTIPLY_SWIZZLE), word), b->t.group);
}

/* Returns the first channel of word index[2] of swizzle line index[1]. */
static struct loop_expr *channel_in_line(struct block *b, struct loop_expr *const *index)
{
        return times(b->e, plus(b->e, times(b->e, index[1], MULTIPLY_SWIZZLE), index[2]),
                     b->t.group);
}

static struct loop_expr *query_at(struct block *b, struct loop_expr *r)
{
        struct emit *e = b->e;
        return plus(e, number(e, b->q.offset),
                    plus(e, times(e, b->group, b->q.stride[GROUP]), times(e, r, b->q.stride[ROW])));
}

static void copy_query_lines(struct block *b)
{
        struct emit *e = b->e;
        const struct attention_tile *t = &b->t;
        struct loop_expr *index[3];
        const int opened = attention_share(
                b, 3,
                (const int64_t[]){ t->rows, t->depth / (t->group * MULTIPLY_SWIZZLE),
                                   MULTIPLY_SWIZZLE },
                index);
        struct loop_expr *r = emit_let(e, "r", plus(e, b->first, index[0]));
        copy(b, b->qs, in_line(b, index, t->rows), b->query,
             plus(e, query_at(b, r), channel_in_line(b, index)),
             some_rows(b) ? emit_let(e, "there", is_row(b, r)) : NULL, opened);
}

void attention_copy_queries(struct block *b)
{
        struct emit *e = b->e;
        const struct attention_tile *t = &b->t;
        if (t->warp_group) {
                copy_query_lines(b);
                return;
        }
        struct loop_expr *index[2];
        const int opened =
                attention_share(b, 2, (const int64_t[]){ t->rows, t->depth / t->group }, index);
        struct loop_expr *c = times(e, index[1], t->group),
                         *r = emit_let(e, "r", plus(e, b->first, index[0])),
                         *there = some_rows(b) ? emit_let(e, "there", is_row(b, r)) : NULL,
                         *to = plus(e, times(e, index[0], query_row(t)), c);
        if (b->by_elements)
                compute(b, b->qs, to, (struct channels){ b->a.first, 0, r, c }, there, opened);
        else
                copy(b, b->qs, to, b->query, plus(e, query_at(b, r), c), there, opened);
}

/* Copies column `key` of an iteration, from channel c on, to `at` in the iteration's stage. */
static void copy_column(struct block *b, struct loop_buffer *to, struct loop_expr *at,
                        struct loop_buffer *from, const struct access *x,
                        struct loop_expr *iteration, struct loop_expr *key, struct loop_expr *c,
                        int opened)
{
        struct emit *e = b->e;
        const int keys = attention_tile_keys(&b->t);
        struct loop_expr *column = plus(e, times(e, iteration, keys), key);
        at = plus(e,
                  times(e, emit_op_int(e, LOOP_REM, iteration, b->stages), to->extent / b->stages),
                  at);
        if (b->by_elements) {
                const bool values = to == b->vs;
                column = emit_let(e, "column", column);
                compute(b, to, at,
                        (struct channels){ values ? b->a.second : b->a.first, 1, column, c },
                        some_columns(b) ? emit_let(e, "there", is_column(b, column)) : NULL,
                        opened);
                return;
        }
        struct loop_expr *place =
                plus(e, number(e, x->offset),
                     plus(e, times(e, b->group, x->stride[0]), times(e, column, x->stride[1])));
        copy(b, to, at, from, plus(e, place, c),
             some_columns(b) ? emit_let(e, "there", is_column(b, column)) : NULL, opened);
}

static void copy_column_lines(struct block *b, struct loop_buffer *to, struct loop_buffer *from,
                              const struct access *x, struct loop_expr *iteration, int channels)
{
        const struct attention_tile *t = &b->t;
        struct loop_expr *index[3];
        const int opened = attention_share(
                b, 3,
                (const int64_t[]){ t->keys, channels / (t->group * MULTIPLY_SWIZZLE),
                                   MULTIPLY_SWIZZLE },
                index);
        copy_column(b, to, in_line(b, index, t->keys), from, x, iteration, index[0],
                    channel_in_line(b, index), opened);
}

/* Eight columns are neighbours in shared memory, and neighbouring lanes write eight neighbouring
 * words. */
void attention_copy_keys(struct block *b, struct loop_expr *iteration)
{
        struct emit *e = b->e;
        const struct attention_tile *t = &b->t;
        if (t->warp_group) {
                copy_column_lines(b, b->ks, b->key, &b->k, iteration, t->depth);
                return;
        }
        const int words = t->depth / t->group, vectors = t->keys / t->lanes;
        struct loop_expr *index[4];
        const int opened = attention_share(
                b, 4, (const int64_t[]){ t->parts, vectors, words, t->lanes }, index);
        struct loop_expr *at = plus(e, times(e, index[0], (int64_t)words * vectors),
                                    plus(e, times(e, index[2], vectors), index[1]));
        struct loop_expr *key = plus(
                e, times(e, plus(e, times(e, index[0], vectors), index[1]), t->lanes), index[3]);
        copy_column(b, b->ks, times(e, plus(e, times(e, at, t->lanes), index[3]), t->group), b->key,
                    &b->k, iteration, key, times(e, index[2], t->group), opened);
}

void attention_copy_values(struct block *b, struct loop_expr *iteration)
{
        struct emit *e = b->e;
        const struct attention_tile *t = &b->t;
        if (t->warp_group) {
                copy_column_lines(b, b->vs, b->value, &b->v, iteration, t->width);
                return;
        }
        const int vectors = t->width / t->lanes, pieces = t->lanes / t->group;
        struct loop_expr *index[4];
        const int opened = attention_share(
                b, 4,
                (const int64_t[]){ attention_tile_keys(t) / t->group, vectors, t->group, pieces },
                index);
        struct loop_expr *at =
                plus(e, times(e, plus(e, times(e, index[0], vectors), index[1]), t->lanes),
                     plus(e, times(e, index[2], pieces), index[3]));
        struct loop_expr *c = plus(e, times(e, index[1], t->lanes), times(e, index[3], t->group));
        copy_column(b, b->vs, times(e, at, t->group), b->value, &b->v, iteration,
                    plus(e, times(e, index[0], t->group), index[2]), c, opened);
}
