/* Type rules of contractions over blocked tensors. */
#include "ir/type_rules.h"
#include "ir/winograd.h"

static bool check_static(struct module *m, const struct op *op, int least, struct diag *diag)
{
        for (int i = 0; i < 2; i++)
                if (operand_type(op, i)->rank < least || !type_is_static(operand_type(op, i)))
                        return rule_fail(op, diag,
                                         "operand %d is %s, want known extents, %d or more", i,
                                         rule_type(m, operand_type(op, i)), least);
        enum element x = operand_type(op, 0)->element, w = operand_type(op, 1)->element;
        /* weights may be stored in half the memory */
        bool narrow = op->code == OP_convolve_packed && x == E_F32 && w == E_BF16;
        bool bytes = op->code != OP_convolve_winograd && element_is_integer(x) &&
                     element_is_integer(w) && element_info[x].bytes == 1 &&
                     element_info[w].bytes == 1; /* their products are added up in i32, or f32 */
        return x == w || narrow || bytes ||
               rule_fail(op, diag, "operands are %s and %s, want equal elements",
                         rule_type(m, operand_type(op, 0)), rule_type(m, operand_type(op, 1)));
}

/* spatial extents of the result into dims[2..]; windows begin at dimension 2 of w */
static bool find_positions(struct module *m, struct op *op, int spatial, int window, dim_t *dims,
                           struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *w = operand_type(op, 1);
        const int64_t *strides = rule_ints(m, op, "strides", spatial, 1, STEP_MAX, diag);
        const int64_t *dilations =
                strides ? rule_ints(m, op, "dilations", spatial, 1, STEP_MAX, diag) : NULL;
        if (!dilations)
                return false;
        for (int d = 0; d < spatial; d++) {
                int64_t extent = w->dims[window + d];
                if (extent < 1 || extent > STEP_MAX)
                        return rule_fail(op, diag, "window extent %lld, want 1 to %d",
                                         (long long)extent, STEP_MAX);
                dims[2 + d] = rule_positions(m, x->dims[2 + d], (extent - 1) * dilations[d] + 1,
                                             strides[d], 0);
        }
        return true;
}

/* the words of panels: w's last dimensions are Bi / group, vectors, lanes * group */
static bool check_words(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *w = operand_type(op, 1);
        int64_t inner = x->dims[x->rank - 1], words = w->rank >= 3 ? w->dims[w->rank - 3] : 0,
                last = w->dims[w->rank - 1];
        if (w->rank != x->rank + 2 || !words || inner % words || inner < words ||
            last % (inner / words) || last < inner / words)
                return rule_fail(op, diag,
                                 "operands are %s and %s, want panels of two more dimensions, whose "
                                 "vectors are of whole groups of the channels",
                                 rule_type(m, x), rule_type(m, w));
        return true;
}

/* x [N, blocks, spatial.., Bi], w [panels, blocks / groups, window.., Bi / group, vectors, lanes *
 * group] */
bool type_convolve_packed(struct module *m, struct op *op, struct diag *diag)
{
        if (!check_static(m, op, 4, diag))
                return false;
        const struct type *x = operand_type(op, 0), *w = operand_type(op, 1);
        int spatial = x->rank - 3;
        int64_t groups = op_int(op, "groups"), channels = op_int(op, "channels");
        int64_t outputs = op_int(op, "outputs"), block = op_int(op, "block");
        if (!check_words(m, op, diag))
                return false;
        int64_t inner = x->dims[x->rank - 1], lanes = packed_lanes(x, w), panel = packed_panel(x, w);
        if (groups < 1 || groups > x->dims[1] || x->dims[1] % groups ||
            w->dims[1] != x->dims[1] / groups)
                return rule_fail(op, diag, "panels %s do not fit x %s in %lld groups",
                                 rule_type(m, w), rule_type(m, x), (long long)groups);
        if (channels < 1 || channels > w->dims[1] * inner)
                return rule_fail(op, diag, "channels is %lld, want 1 to %lld", (long long)channels,
                                 (long long)(w->dims[1] * inner));
        bool fits =
                block >= 1 && block <= STEP_MAX && (block % lanes == 0 || block == outputs);
        if (outputs < 1 || outputs > STEP_MAX || !fits || (groups > 1 && outputs % block))
                return rule_fail(op, diag,
                                 "outputs is %lld in blocks of %lld, want multiples of %lld or all",
                                 (long long)outputs, (long long)block, (long long)lanes);
        int64_t stored = round_up(outputs, block);
        if (panel < 1 || w->dims[0] != groups * divide_up(stored, panel))
                return rule_fail(
                        op, diag,
                        "%lld panels of %lld, want them to hold %lld outputs in %lld groups",
                        (long long)w->dims[0], (long long)panel, (long long)stored,
                        (long long)groups);
        dim_t dims[RANK_MAX] = { x->dims[0], groups * divide_up(outputs, block) };
        dims[x->rank - 1] = block;
        enum element e;
        return find_positions(m, op, spatial, 2, dims, diag) &&
               rule_accumulator(op, x->element, false, &e, diag) &&
               rule_shape(m, op, e, x->rank, dims, diag);
}

/* x [N, blocks, spatial.., lanes], w [blocks, window.., lanes] */
bool type_convolve_lanes(struct module *m, struct op *op, struct diag *diag)
{
        if (!check_static(m, op, 3, diag))
                return false;
        const struct type *x = operand_type(op, 0), *w = operand_type(op, 1);
        int spatial = x->rank - 3;
        if (spatial < 1 || w->rank != x->rank - 1 || w->dims[0] != x->dims[1] ||
            w->dims[w->rank - 1] != x->dims[x->rank - 1])
                return rule_fail(op, diag, "operands are %s and %s, want blocks and lanes to agree",
                                 rule_type(m, x), rule_type(m, w));
        dim_t dims[RANK_MAX] = { x->dims[0], x->dims[1] };
        dims[x->rank - 1] = x->dims[x->rank - 1];
        enum element e;
        return find_positions(m, op, spatial, 1, dims, diag) &&
               rule_accumulator(op, x->element, false, &e, diag) &&
               rule_shape(m, op, e, x->rank, dims, diag);
}

/* where tiles end */
static int64_t tiled(int64_t extent, int64_t tile) { return round_up(extent, tile); }

/* x [N, blocks, rows, columns, Bi], w [elements, panels, channels, vectors, lanes] */
bool type_convolve_winograd(struct module *m, struct op *op, struct diag *diag)
{
        if (!check_static(m, op, 5, diag))
                return false;
        const struct type *x = operand_type(op, 0), *w = operand_type(op, 1);
        const struct winograd *f = winograd_find(op_int(op, "tile"));
        int64_t rows = op_int(op, "rows"), columns = op_int(op, "columns");
        int64_t outputs = op_int(op, "outputs"), block = op_int(op, "block");
        if (!element_is_float(x->element) || element_info[x->element].compute != x->element)
                return rule_fail(op, diag, "operands are %s, want f32 or f64",
                                 element_info[x->element].text);
        if (!f)
                return rule_fail(op, diag, "tile is %lld, want 2 or 4",
                                 (long long)op_int(op, "tile"));
        if (x->rank != 5 || w->rank != 5 || w->dims[0] != f->size * f->size || w->dims[4] < 1)
                return rule_fail(
                        op, diag,
                        "operands are %s and %s, want five dimensions, of w the first %d",
                        rule_type(m, x), rule_type(m, w), f->size * f->size);
        if (rows < 1 || columns < 1 || rows > STEP_MAX || columns > STEP_MAX ||
            tiled(rows, f->tile) + 2 > x->dims[2] || tiled(columns, f->tile) + 2 > x->dims[3])
                return rule_fail(
                        op, diag,
                        "x is %s, want it to hold the windows of %lld rows and %lld columns in tiles of %d",
                        rule_type(m, x), (long long)rows, (long long)columns, f->tile);
        if (w->dims[2] < 1 || w->dims[2] > x->dims[1] * x->dims[4])
                return rule_fail(op, diag, "w has %lld channels, want 1 to %lld",
                                 (long long)w->dims[2], (long long)(x->dims[1] * x->dims[4]));
        int64_t lanes = w->dims[4];
        if (outputs < 1 || outputs > STEP_MAX || block < 1 || block > STEP_MAX ||
            (block % lanes && block != outputs))
                return rule_fail(op, diag,
                                 "outputs is %lld in blocks of %lld, want multiples of %lld or all",
                                 (long long)outputs, (long long)block, (long long)lanes);
        int64_t blocks = divide_up(outputs, block), panel = w->dims[3] * lanes;
        if (panel < 1 || w->dims[1] != divide_up(blocks * block, panel))
                return rule_fail(op, diag, "%lld panels of %lld, want them to hold %lld outputs",
                                 (long long)w->dims[1], (long long)panel,
                                 (long long)(blocks * block));
        return rule_shape(m, op, x->element, 5,
                          (dim_t[]){ x->dims[0], blocks, rows, columns, block }, diag);
}
