/* Layout of convolutions: convolve becomes convolve_packed or, depthwise, convolve_lanes. */
#include "passes/layout.h"

#include <string.h>

/* attributes that both operations have, as they are */
static void copy_ints(struct module *m, struct attr *attrs, enum opcode code, const struct op *op, const char *name)
{
        int count;
        const int64_t *values = op_ints(op, name, &count);
        attr_set_ints(m, attrs, code, name, values, count);
}

static struct attr *window_attrs(struct layout *l, enum opcode code, const struct op *op)
{
        struct attr *attrs = attrs_new(l->m, code);
        copy_ints(l->m, attrs, code, op, "strides");
        copy_ints(l->m, attrs, code, op, "dilations");
        attr_set(attrs, code, "accumulator", op_int(op, "accumulator"));
        return attrs;
}

/* x [N, C, S..] in blocks: few channels stay as they are, in blocks of one, or of all where x comes from [N, S.., C] */
static struct value *contraction_blocks(struct layout *l, struct value *x)
{
        int rank = x->type->rank;
        dim_t dims[RANK_MAX];
        if (blocks_of(x) || x->type->dims[1] >= LAYOUT_LANES)
                return layout_blocked(l, x);
        bool channels_last = op_is(x, OP_transpose);
        const int64_t *perm = channels_last ? op_ints(x->op, "perm", NULL) : NULL;
        for (int d = 0; channels_last && d < rank; d++)
                channels_last = perm[d] == (d == 0 ? 0 : d == 1 ? rank - 1 : d - 1);
        memcpy(dims, x->type->dims, (size_t)rank * sizeof *dims);
        dims[rank] = channels_last ? dims[1] : 1;
        dims[1] = channels_last ? 1 : dims[1];
        return layout_reshape(&l->b, channels_last ? op_operand(x->op, 0) : x, rank + 1, dims);
}

/* w [M, C / groups, K..] as panels [P, blocks, K.., inner, vectors, 16] */
static struct value *pack_panels(struct layout *l, struct value *w, int64_t groups, int64_t blocks, int64_t inner,
                                 int64_t vectors)
{
        const dim_t *old = w->type->dims;
        int window = w->type->rank - 2;
        int64_t outputs = old[0] / groups, panel = vectors * LAYOUT_LANES;
        int64_t panels = (outputs + panel - 1) / panel;
        dim_t split[RANK_MAX] = { groups, outputs, old[1] };
        dim_t padded[RANK_MAX] = { groups, panels * panel, blocks * inner };
        dim_t dims[RANK_MAX] = { groups, panels, vectors, LAYOUT_LANES, blocks, inner };
        int64_t perm[RANK_MAX] = { 0, 1, 4 };
        for (int d = 0; d < window; d++) {
                split[3 + d] = padded[3 + d] = dims[6 + d] = old[2 + d];
                perm[3 + d] = 6 + d;
        }
        const int64_t inside[] = { 5, 2, 3 };
        memcpy(perm + 3 + window, inside, sizeof inside);
        struct value *packed = layout_reshape(&l->b, w, 3 + window, split);
        packed = packed ? layout_pack(&l->b, packed, padded, 6 + window, dims, perm) : NULL;
        if (!packed)
                return NULL;
        memcpy(dims, packed->type->dims, (size_t)packed->type->rank * sizeof *dims);
        dims[1] *= groups;
        return layout_reshape(&l->b, packed, packed->type->rank - 1, dims + 1);
}

static struct value *convolve_blocks(struct layout *l, struct op *op)
{
        struct value *w = op_operand(op, 1), *x = contraction_blocks(l, op_operand(op, 0));
        int spatial = w->type->rank - 2;
        int64_t groups = op_int(op, "groups"), outputs = w->type->dims[0] / groups;
        if (!x)
                return NULL;
        int64_t blocks = x->type->dims[1] / groups, inner = x->type->dims[x->type->rank - 1];
        w = pack_panels(l, w, groups, blocks, inner, outputs <= LAYOUT_LANES ? 1 : 2);
        x = layout_halo(&l->b, x, 2, op_ints(op, "pads", NULL), spatial);
        if (!x || !w)
                return NULL;
        struct attr *attrs = window_attrs(l, OP_convolve_packed, op);
        attr_set(attrs, OP_convolve_packed, "groups", groups);
        attr_set(attrs, OP_convolve_packed, "channels", op_operand(op, 1)->type->dims[1]);
        attr_set(attrs, OP_convolve_packed, "outputs", outputs);
        return value_build(&l->b, OP_convolve_packed, (struct value *[]){ x, w }, 2, attrs, NULL);
}

/* each channel by itself: w [C, 1, K..] as [C / 16, K.., 16] */
static struct value *convolve_lanes(struct layout *l, struct op *op)
{
        struct value *w = op_operand(op, 1), *x = layout_blocked(l, op_operand(op, 0));
        int spatial = w->type->rank - 2;
        dim_t dims[RANK_MAX] = { w->type->dims[0] };
        memcpy(dims + 1, w->type->dims + 2, (size_t)spatial * sizeof *dims);
        w = layout_reshape(&l->b, w, 1 + spatial, dims);
        w = w ? layout_split(&l->b, w, 0) : NULL;
        x = layout_halo(&l->b, x, 2, op_ints(op, "pads", NULL), spatial);
        if (!x || !w)
                return NULL;
        return value_build(&l->b, OP_convolve_lanes, (struct value *[]){ x, w }, 2,
                           window_attrs(l, OP_convolve_lanes, op), NULL);
}

bool layout_convolve(struct layout *l, struct op *op)
{
        enum { SPATIAL_MAX = RANK_MAX - 6 };
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        int64_t groups = op_int(op, "groups"), channels = w->dims[1], outputs = w->dims[0] / groups;
        int spatial;
        const int64_t *spread = op_ints(op, "input_dilations", &spatial);
        if (x->element != E_F32 || op_result(op)->type->element != E_F32 || spatial < 1 || spatial > SPATIAL_MAX)
                return false;
        for (int d = 0; d < spatial; d++)
                if (spread[d] != 1)
                        return false;
        bool lanes = groups > 1 && channels == 1 && outputs == 1;
        if (!lanes && groups > 1 && (channels % LAYOUT_LANES || outputs % LAYOUT_LANES))
                return false;
        struct value *y = lanes ? convolve_lanes(l, op) : convolve_blocks(l, op);
        layout_form(l, op_result(op))->blocks = y;
        l->failed |= !y;
        return y != NULL;
}
