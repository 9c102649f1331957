/* SPDX-License-Identifier: MIT */
/* Finds weights that a product by fragments of warps computes where it would copy them: numbers in
 * few bits, which are decoded, and of which no other form lies in memory.
 *
 *     %1 = mul(cast(and(shr(..), 15)), ..) : <96 x 28 x 2 x 16>       decoded
 *     %2 = reshape(%1) : <1 x 3 x 4 x 8 x 112 x 8>                    panel, vector, lane, word
 *     %3 = transpose(%2) perm=[0, 1, 4, 2, 3, 5]
 *     %4 = reshape(%3) : <3 x 1 x 1 x 112 x 4 x 64>
 *     %5 = convolve_packed(%x, %4)
 *
 * A word of an output is neighbours of the last dimension of %1. Each tile of positions decodes the
 * weights again, so there must not be many. */
#include "engines/grid/row_warps.h"
#include "engines/grid/warps.h"

#include "ir/tensor/packed_multiply.h"

/* Decoding a number takes a lane some eight instructions, a product of it in a tile of 64 positions
 * about as long; a copy of all weights in memory as long as 16 tiles. */
enum { POSITIONS_MOST = 1024 };

/* Do words of all channels, in blocks or not, follow each other in a panel? */
static bool has_one_word_order(const struct type *w)
{
        return w->rank == 6 && dim_is(w->dims[2], 1);
}

/* Do the dimensions of v from `d` on have the channels of an output, and those before all
 * outputs? */
static bool has_rows(const struct type *v, int d, int64_t outputs, int64_t channels)
{
        int64_t before = 1, behind = 1;
        for (int i = 0; i < v->rank; i++)
                *(i < d ? &before : &behind) *= type_extent(v, i);
        return before == outputs && behind == channels;
}

const struct value *warps_decoded(const struct op *op, const struct target *target)
{
        static const int64_t turn[] = { 0, 1, 4, 2, 3, 5 };
        if (op->code != OP_convolve_packed || op_int(op, "groups") != 1 ||
            op_int(op, "crossed"))
                return NULL;
        const struct value *w = op_operand(op, 1),
                           *rows = op_is(w, OP_reshape) ? op_operand(w->op, 0) : NULL;
        const struct multiply *m = packed_multiply(op, target, SUMS_IN_TILES);
        const struct type *y = op_result(op)->type;
        int rank;
        if (!m || m->x.source != SOURCE_WARP || !rows || !op_is(rows, OP_transpose) ||
            !has_one_word_order(w->type) || y->rank != 4)
                return NULL;
        const int64_t *perm = op_ints(rows->op, "perm", &rank),
                      positions = dim_bound(op_module(op), y->dims[2]);
        const struct value *split = op_operand(rows->op, 0),
                           *v = op_is(split, OP_reshape) ? op_operand(split->op, 0) : NULL;
        for (int d = 0; d < rank; d++)
                if (rank != 6 || perm[d] != turn[d])
                        return NULL;
        return v && v->kind == VALUE_RESULT && type_is_static(v->type) &&
                               positions > ROW_WARPS_MOST && positions <= POSITIONS_MOST &&
                               dim_is(y->dims[0], 1) && dim_is(y->dims[1], 1) &&
                               type_extent(v->type, v->type->rank - 1) % m->channels == 0 &&
                               has_rows(v->type, 1, op_int(op, "outputs"),
                                        op_int(op, "channels")) &&
                               type_elements(v->type) == type_elements(w->type)
                       ? v
                       : NULL;
}

const struct value *warps_computed(const struct op *op, const struct target *target)
{
        const struct value *v = value_is_inside(op_operand(op, 1), op->region)
                                        ? warps_decoded(op, target)
                                        : NULL;
        return v && op->region->owner && op->region->owner->code == OP_fusion ? v : NULL;
}

/* Splits word number `word` of an output, of `group` channels, into an index of the channels'
 * dimensions of v; the last one is that of the word's first channel. */
void warps_split_word(struct warps *w, const struct type *v, struct loop_expr *word,
                      struct loop_expr **index)
{
        struct emit *e = w->s.e;
        const int last = v->rank - 1;
        for (int d = last; d > 0; d--) {
                const int64_t extent = type_extent(v, d) / (d == last ? w->tile.group : 1);
                struct loop_expr *own = d > 1 ? emit_op_int(e, LOOP_REM, word, extent) : word;
                if (d > 1)
                        word = emit_op_int(e, LOOP_DIV, word, extent);
                index[d] = emit_let(e, "k", d == last ? times(e, own, w->tile.group) : own);
        }
}
