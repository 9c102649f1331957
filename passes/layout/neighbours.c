/* SPDX-License-Identifier: MIT */
/* Layout, neighbours: convolutions of fewer channels than a word has, for engines that multiply by
 * words.
 *
 *      a row of x [S, C]        r g b r g b r g b r g b ..
 *      a window of 3            |_______________| 9 bytes side by side
 *      words of 4               |_____| |_____| |_____|     the last one has 3 weights of zero
 *
 * The elements of a row of the window lie side by side in memory where channels are last. So x is
 * taken as rows of single bytes, [N, 1, .., S * C, 1], and the operation `neighbours` makes words
 * of these that begin at each byte: the window has as many words as its row needs, a word of bytes
 * apart, and no zeros are put behind each position's channels. Exact: zeros stand behind the
 * weights of a row alone.
 *
 * The columns of an image are taken for its rows where a window then has fewer words: one of 10 x 4
 * bytes has 4 words of 16 bytes and not 10. The result is turned back behind its epilogue. */
#include "passes/layout/neighbours.h"

#include <string.h>

bool layout_wants_neighbours(const struct target *target, const struct op *op, int64_t group)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        const int last = x->rank - 1;
        int count;
        const int64_t *dilations = op_ints(op, "dilations", &count);
        return target_engine(target)->single_sums && group > 1 &&
               type_extent(x, 1) < group && type_extent(w, last) > 1 && layout_is_direct(op) &&
               op_int(op, "groups") == 1 && op_is_static(op) && dilations[count - 1] == 1 &&
               x->rank < RANK_MAX;
}

/* The convolution as it is computed: x is [N, C, S..], w [M, C, K..]. */
struct turnable {
        struct value *x, *w;
        int spatial;
        int64_t strides[RANK_MAX], dilations[RANK_MAX], pads[2 * RANK_MAX], results;
};

/* Do windows of an image have fewer words along its columns? Rows that are columns cannot be passed
 * on. */
static bool turns(const struct layout *l, const struct op *op, const struct value *w,
                  int64_t group)
{
        const int rank = w->type->rank;
        if (rank != 4 || op_ints(op, "dilations", NULL)[0] != 1 || l->context->max_ram >= 0)
                return false;
        const int64_t channels = type_extent(w->type, 1), rows = type_extent(w->type, 2),
                      columns = type_extent(w->type, 3);
        return columns * divide_up(channels * rows, group) <
               rows * divide_up(channels * columns, group);
}

static struct turnable turnable_of(struct layout *l, const struct op *op, struct value *w,
                                   bool turned)
{
        static const int64_t turn[] = { 0, 1, 3, 2 };
        struct turnable t = { .x = op_operand(op, 0), .w = w, .spatial = w->type->rank - 2 };
        const int64_t *strides = op_ints(op, "strides", NULL),
                      *dilations = op_ints(op, "dilations", NULL),
                      *pads = op_ints(op, "pads", NULL);
        for (int d = 0; d < t.spatial; d++) {
                const int of = turned ? t.spatial - 1 - d : d;
                t.strides[d] = strides[of];
                t.dilations[d] = dilations[of];
                t.pads[d] = pads[of];
                t.pads[t.spatial + d] = pads[t.spatial + of];
        }
        t.results = type_extent(op_result(op)->type, turned ? 2 : 1 + t.spatial);
        if (turned) {
                t.x = layout_transpose(&l->b, t.x, turn);
                t.w = layout_transpose(&l->b, t.w, turn);
        }
        return t;
}

/* Returns x, [N, C, S..], as [N, 1, S.. with C, 1], with the pads around it and `positions` words
 * in a row. */
static struct value *bytes_of(struct layout *l, const struct turnable *t, int64_t positions,
                              int64_t group)
{
        struct value *x = t->x;
        const int rank = x->type->rank, spatial = t->spatial, last = spatial - 1;
        const int64_t channels = type_extent(x->type, 1), *pads = t->pads;
        int64_t perm[RANK_MAX] = { 0 }, around[2 * RANK_MAX];
        for (int d = 1; d < rank; d++)
                perm[d] = d + 1 < rank ? d + 1 : 1;
        memcpy(around, pads, 2 * (size_t)spatial * sizeof *around);
        const int64_t wide = type_extent(x->type, rank - 1) + pads[last] + pads[spatial + last],
                      missing = divide_up(positions + group - 1, channels) - wide;
        around[spatial + last] += missing > 0 ? missing : 0;
        x = layout_transpose(&l->b, x, perm);
        x = x ? layout_halo(&l->b, x, 1, around, spatial) : NULL;
        if (!x)
                return NULL;
        dim_t dims[RANK_MAX] = { x->type->dims[0], dim_of(1) };
        for (int d = 0; d < spatial; d++)
                dims[2 + d] = x->type->dims[1 + d];
        dims[1 + spatial] = dim_of(dim_extent(dims[1 + spatial]) * channels);
        dims[2 + spatial] = dim_of(1);
        return layout_reshape(&l->b, x, spatial + 3, dims);
}

/* Returns w, [M, C, K..], as [M, bytes of a word, K.., words of a row]. */
static struct value *words_of(struct layout *l, struct value *w, int64_t words, int64_t group)
{
        const int rank = w->type->rank, last = rank - 1;
        int64_t perm[RANK_MAX] = { 0 };
        for (int d = 1; d < rank; d++)
                perm[d] = d + 1 < rank ? d + 1 : 1;
        const int64_t row = type_extent(w->type, 1) * type_extent(w->type, last);
        dim_t rows[RANK_MAX], padded[RANK_MAX], dims[RANK_MAX];
        rows[0] = w->type->dims[0];
        for (int d = 1; d < last - 1; d++)
                rows[d] = w->type->dims[1 + d];
        rows[last - 1] = dim_of(row);
        memcpy(padded, rows, sizeof rows);
        padded[last - 1] = dim_of(words * group);
        memcpy(dims, rows, sizeof rows);
        dims[last - 1] = dim_of(words);
        dims[last] = dim_of(group);
        w = layout_transpose(&l->b, w, perm);
        w = w ? layout_reshape(&l->b, w, last, rows) : NULL;
        int64_t turn[RANK_MAX] = { 0, last };
        for (int d = 1; d < last; d++)
                turn[1 + d] = d;
        return w ? layout_pack(&l->b, w, padded, rank, dims, turn) : NULL;
}

bool layout_neighbours(struct layout *l, const struct op *op, struct value *w, int64_t group,
                       struct neighbours *n)
{
        n->turned = turns(l, op, w, group);
        const struct turnable t = turnable_of(l, op, w, n->turned);
        if (!t.x || !t.w)
                return false;
        const int last = t.spatial - 1;
        const int64_t channels = type_extent(t.x->type, 1),
                      words = divide_up(channels * type_extent(t.w->type, 1 + t.spatial), group);
        memcpy(n->strides, t.strides, sizeof n->strides);
        memcpy(n->dilations, t.dilations, sizeof n->dilations);
        n->strides[last] *= channels;
        n->dilations[last] = group;
        const int64_t positions = (t.results - 1) * n->strides[last] + (words - 1) * group + 1;
        struct value *x = bytes_of(l, &t, positions, group);
        struct attr *attrs = attrs_new(l->m, OP_neighbours);
        attr_set(attrs, OP_neighbours, "count", group);
        n->x = x ? value_build(&l->b, OP_neighbours, &x, 1, attrs, NULL) : NULL;
        n->w = words_of(l, t.w, words, group);
        return n->x && n->w;
}

/* ---- results whose rows are columns ---- */

enum { ROWS = 2, COLUMNS = 3, BLOCKS_RANK = 5, OPERANDS_MOST = 4 };
static const int64_t turned_back[BLOCKS_RANK] = { 0, 1, COLUMNS, ROWS, 4 };

struct value *layout_turned_back(struct layout *l, struct value *y)
{
        return build_transpose(&l->b, y, turned_back);
}

static bool is_turned_back(const struct op *op)
{
        const struct value *x = op->code == OP_transpose ? op_operand(op, 0) : NULL;
        return x && op_is(x, OP_convolve_packed) && op_is(op_operand(x->op, 0), OP_neighbours) &&
               x->type->rank == BLOCKS_RANK &&
               !memcmp(op_ints(op, "perm", NULL), turned_back, sizeof turned_back);
}

/* Returns v as an operand of an operation on values of type t, whose rows are columns; NULL: v has
 * rows of its own. */
static struct value *turned_operand(struct builder *b, struct value *v, const struct type *t)
{
        t = type_with_element(b->m, t, v->type->element);
        if (v->kind == VALUE_CONSTANT && v->constant->kind == CONSTANT_SPLAT)
                return constant_splat(b->m, t, constant_data(v->constant));
        if (!op_is(v, OP_broadcast))
                return NULL;
        int count;
        const int64_t *dims = op_ints(v->op, "dims", &count);
        for (int i = 0; i < count; i++)
                if (dims[i] == ROWS || dims[i] == COLUMNS)
                        return NULL;
        return build_broadcast(b, op_operand(v->op, 0), t, dims);
}

/* Moves a transpose behind the only operation that reads it. Returns the transpose there; NULL: it
 * stays. */
static struct op *sink(struct layout *l, struct op *turn)
{
        struct value *v = op_result(turn), *x = op_operand(turn, 0), *operands[OPERANDS_MOST];
        if (!value_has_one_use(v))
                return NULL;
        struct op *user = v->uses->user;
        if (!(op_info[user->code].traits & TRAIT_ELEMENTWISE) || user->result_count != 1 ||
            user->operand_count > OPERANDS_MOST || user->region != turn->region)
                return NULL;
        struct builder b = l->b;
        b.region = user->region;
        b.before = user;
        b.location = user->location;
        for (int i = 0; i < user->operand_count; i++) {
                struct value *o = op_operand(user, i);
                operands[i] = o == v ? x : o ? turned_operand(&b, o, x->type) : NULL;
                if (o && !operands[i])
                        return NULL;
        }
        const struct type *t = type_with_element(l->m, x->type, op_result(user)->type->element);
        struct value *y =
                value_build(&b, user->code, operands, user->operand_count, user->attrs, t);
        y = y ? build_transpose(&b, y, turned_back) : NULL;
        if (!y)
                return NULL;
        value_replace(op_result(user), y);
        op_erase(user);
        op_erase(turn);
        return y->op;
}

void layout_sink_turned(struct layout *l, const struct region *region)
{
        struct op **turns = NULL;
        int count = 0;
        for (struct op *op = region_walk(region, NULL); op; op = region_walk(region, op))
                if (is_turned_back(op)) {
                        ARENA_GROW(l->arena, turns, count);
                        turns[count++] = op;
                }
        for (int i = 0; i < count; i++)
                for (struct op *turn = turns[i]; turn;)
                        turn = sink(l, turn);
}
