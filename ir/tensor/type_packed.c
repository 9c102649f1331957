/* SPDX-License-Identifier: MIT */
/* Type rules of contractions over blocked tensors. */
#include "ir/target/multiply.h"
#include "ir/tensor/type_rules.h"
#include "ir/tensor/winograd_tiles.h"

/* Are all extents of x known that op asks for? A run may give those of images and positions. */
static bool has_extents(const struct type *x)
{
        return x->kind == TYPE_TENSOR && dim_is_static(x->dims[1]) &&
               dim_is_static(x->dims[x->rank - 1]);
}

static bool check_static(struct module *m, const struct op *op, int least, struct diag *diag)
{
        for (int i = 0; i < 2; i++)
                if (operand_type(op, i)->rank < least ||
                    !(i == 0 ? has_extents(operand_type(op, i))
                             : type_is_static(operand_type(op, i))))
                        return rule_fail(op, diag,
                                         "operand %d is %s, want known extents, %d or more", i,
                                         rule_type(m, operand_type(op, i)), least);
        enum element x = operand_type(op, 0)->element, w = operand_type(op, 1)->element;
        /* Weights may be stored in less memory. */
        bool narrow = op->code == OP_convolve_packed && x == E_F32 &&
                      ((element_is_float(w) && element_info[w].bytes < element_info[x].bytes) ||
                       element_code(w) || (element_is_integer(w) && element_info[w].bytes == 1));
        /* Wide inputs are bytes that were widened. */
        bool wide = op->code == OP_convolve_packed && x == E_I16;
        bool bytes = op->code != OP_convolve_winograd && element_is_integer(x) &&
                     element_is_integer(w) && (element_info[x].bytes == 1 || wide) &&
                     element_info[w].bytes == 1; /* Products of bytes are added up in i32, or
                                                  * f32. */
        return x == w || narrow || bytes ||
               rule_fail(op, diag, "operands are %s and %s, want equal elements",
                         rule_type(m, operand_type(op, 0)), rule_type(m, operand_type(op, 1)));
}

/* Writes the spatial extents of the result to dims[2..]; windows begin at dimension 2 of w. */
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
                int64_t extent = type_extent(w, window + d);
                if (extent < 1 || extent > STEP_MAX)
                        return rule_fail(op, diag, "window extent %lld, want 1 to %d",
                                         (long long)extent, STEP_MAX);
                dims[2 + d] = rule_positions(m, x->dims[2 + d], (extent - 1) * dilations[d] + 1,
                                             strides[d], 0);
        }
        return true;
}

/* Checks the words of panels: w's last dimensions are Bi / group, vectors, lanes * group. */
static bool check_words(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *w = operand_type(op, 1);
        int64_t inner = type_extent(x, x->rank - 1),
                words = w->rank >= 3 ? type_extent(w, w->rank - 3) : 0,
                last = type_extent(w, w->rank - 1);
        if (w->rank != x->rank + 2 || !words || inner % words || inner < words ||
            last % (inner / words) || last < inner / words)
                return rule_fail(
                        op, diag,
                        "operands are %s and %s, want panels of two more dimensions, whose "
                        "vectors are of whole groups of the channels",
                        rule_type(m, x), rule_type(m, w));
        return true;
}

/* x is [N, blocks, spatial.., Bi], w [panels, blocks / groups, window.., Bi / group, vectors, lanes
 * * group]. */
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
        int64_t inner = type_extent(x, x->rank - 1), lanes = packed_lanes(x, w),
                panel = packed_panel(x, w);
        if (groups < 1 || groups > type_extent(x, 1) || type_extent(x, 1) % groups ||
            !dim_is(w->dims[1], type_extent(x, 1) / groups))
                return rule_fail(op, diag, "panels %s do not fit x %s in %lld groups",
                                 rule_type(m, w), rule_type(m, x), (long long)groups);
        if (channels < 1 || channels > type_extent(w, 1) * inner)
                return rule_fail(op, diag, "channels is %lld, want 1 to %lld", (long long)channels,
                                 (long long)(type_extent(w, 1) * inner));
        if (op_int(op, "crossed") &&
            (lanes % MULTIPLY_SWIZZLE || packed_group(x, w) % MULTIPLY_SWIZZLE))
                return rule_fail(
                        op, diag,
                        "words of %lld channels for %lld outputs are crossed, want multiples of %d",
                        (long long)packed_group(x, w), (long long)lanes, MULTIPLY_SWIZZLE);
        bool fits =
                block >= 1 && block <= STEP_MAX && (block % lanes == 0 || block == outputs);
        if (outputs < 1 || outputs > STEP_MAX || !fits || (groups > 1 && outputs % block))
                return rule_fail(op, diag,
                                 "outputs is %lld in blocks of %lld, want multiples of %lld or all",
                                 (long long)outputs, (long long)block, (long long)lanes);
        int64_t stored = round_up(outputs, block);
        if (panel < 1 || !dim_is(w->dims[0], groups * divide_up(stored, panel)))
                return rule_fail(
                        op, diag,
                        "%lld panels of %lld, want them to hold %lld outputs in %lld groups",
                        (long long)type_extent(w, 0), (long long)panel, (long long)stored,
                        (long long)groups);
        dim_t dims[RANK_MAX] = { x->dims[0], dim_of(groups * divide_up(outputs, block)) };
        dims[x->rank - 1] = dim_of(block);
        enum element e;
        return find_positions(m, op, spatial, 2, dims, diag) &&
               rule_accumulator(op, x->element, false, &e, diag) &&
               rule_shape(m, op, e, x->rank, dims, diag);
}

/* x is [N, blocks, spatial.., lanes], w [blocks, window.., lanes]. */
bool type_convolve_lanes(struct module *m, struct op *op, struct diag *diag)
{
        if (!check_static(m, op, 3, diag))
                return false;
        const struct type *x = operand_type(op, 0), *w = operand_type(op, 1);
        int spatial = x->rank - 3;
        if (spatial < 1 || w->rank != x->rank - 1 || !dim_equal(w->dims[0], x->dims[1]) ||
            !dim_equal(w->dims[w->rank - 1], x->dims[x->rank - 1]))
                return rule_fail(op, diag, "operands are %s and %s, want blocks and lanes to agree",
                                 rule_type(m, x), rule_type(m, w));
        dim_t dims[RANK_MAX] = { x->dims[0], x->dims[1] };
        dims[x->rank - 1] = x->dims[x->rank - 1];
        enum element e;
        return find_positions(m, op, spatial, 1, dims, diag) &&
               rule_accumulator(op, x->element, false, &e, diag) &&
               rule_shape(m, op, e, x->rank, dims, diag);
}

/* What convolve_winograd says of a spatial dimension. */
struct tiled { int64_t tile, window, stride; dim_t extent; };

/* Finds the extent of the result along spatial dimension d, or, where that is 0, that of the
 * result's type. Checks that x reaches to the end of the last tile. */
static bool find_tiled(struct module *m, struct op *op, int d, struct tiled *t, struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *y = op->results[0].type;
        const dim_t in = x->dims[2 + d];
        if (dim_is(t->extent, 0) && y && y->kind == TYPE_TENSOR && y->rank == x->rank &&
            !dim_is_static(y->dims[2 + d]))
                t->extent = y->dims[2 + d];
        int64_t most = dim_is_static(t->extent) ? dim_extent(t->extent) : 1, more;
        const bool good = most >= 1 && most <= STEP_MAX;
        dim_t whole = good ? dim_round_up(m, t->extent, (int)t->tile) : in;
        if (t->stride > 1 && good)
                whole = dim_binary(m, DIM_MUL, whole, dim_of(t->stride));
        return (good && dim_difference(m, in, whole, &more) &&
                more >= t->stride * (t->window - 1)) ||
               rule_fail(op, diag,
                         "x is %s, want it to hold the windows of all %s of the result in tiles of "
                         "%lld",
                         rule_type(m, x), d + 1 == winograd_dims(op) ? "columns" : "rows",
                         (long long)t->tile);
}

/* Finds what is said of the spatial dimensions, and the transforms. */
static bool find_tiles(struct module *m, struct op *op, struct tiled *t,
                       struct winograd_square *f, struct diag *diag)
{
        enum { STRIDE_MAX = 16 };
        const int spatial = winograd_dims(op);
        const int64_t *tile = rule_ints_of_all(m, op, "tile", spatial, 1, WINOGRAD_SIZE_MAX, diag),
                      *window = NULL, *stride = NULL;
        if (tile)
                window = rule_ints_of_all(m, op, "window", spatial, 1, WINOGRAD_WINDOW_MAX, diag);
        if (window)
                stride = rule_ints_of_all(m, op, "strides", spatial, 1, STRIDE_MAX, diag);
        if (!stride)
                return false;
        static const char *const names[] = { "rows", "columns" };
        for (int d = 0; d < spatial; d++) {
                const char *name = names[WINOGRAD_DIMS - spatial + d];
                struct winograd one;
                t[d] = (struct tiled){ tile[d], window[d], stride[d], dim_of(op_int(op, name)) };
                if (!winograd_find(tile[d], window[d], &one))
                        return rule_fail(op, diag,
                                         "a tile of %lld %s has a window of %lld, want 1 and 1, or "
                                         "2 and more that are %d at most together",
                                         (long long)tile[d], name, (long long)window[d],
                                         WINOGRAD_SIZE_MAX + 1);
        }
        *f = winograd_of(op);
        return true;
}

/* x is [N, blocks, (rows,) columns, Bi], w [elements, panels, phases * channels, vectors,
 * lanes]. */
bool type_convolve_winograd(struct module *m, struct op *op, struct diag *diag)
{
        if (!check_static(m, op, 4, diag))
                return false;
        const struct type *x = operand_type(op, 0), *w = operand_type(op, 1);
        struct winograd_square f;
        struct tiled t[WINOGRAD_DIMS];
        const int spatial = winograd_dims(op);
        int64_t outputs = op_int(op, "outputs"), block = op_int(op, "block");
        if (!element_is_float(x->element) || element_info[x->element].compute != x->element)
                return rule_fail(op, diag, "operands are %s, want f32 or f64",
                                 element_info[x->element].text);
        if (spatial > WINOGRAD_DIMS || w->rank != 5)
                return rule_fail(op, diag,
                                 "operands are %s and %s, want four or five dimensions, and five",
                                 rule_type(m, x), rule_type(m, w));
        if (!find_tiles(m, op, t, &f, diag))
                return false;
        if (!dim_is(w->dims[0], f.elements) || type_extent(w, 4) < 1)
                return rule_fail(op, diag, "w is %s, want its first dimension %d", rule_type(m, w),
                                 f.elements);
        for (int d = 0; d < spatial; d++)
                if (!find_tiled(m, op, d, &t[d], diag))
                        return false;
        const int64_t phases = winograd_phases(op),
                      most = phases * type_extent(x, 1) * type_extent(x, x->rank - 1);
        if (type_extent(w, 2) < 1 || type_extent(w, 2) > most || type_extent(w, 2) % phases)
                return rule_fail(op, diag, "w has %lld channels, want 1 to %lld in %lld phases",
                                 (long long)type_extent(w, 2), (long long)most,
                                 (long long)phases);
        int64_t lanes = type_extent(w, 4);
        if (outputs < 1 || outputs > STEP_MAX || block < 1 || block > STEP_MAX ||
            (block % lanes && block != outputs))
                return rule_fail(op, diag,
                                 "outputs is %lld in blocks of %lld, want multiples of %lld or all",
                                 (long long)outputs, (long long)block, (long long)lanes);
        int64_t blocks = divide_up(outputs, block), panel = type_extent(w, 3) * lanes;
        if (panel < 1 || !dim_is(w->dims[1], divide_up(blocks * block, panel)))
                return rule_fail(op, diag, "%lld panels of %lld, want them to hold %lld outputs",
                                 (long long)type_extent(w, 1), (long long)panel,
                                 (long long)(blocks * block));
        dim_t dims[RANK_MAX] = { x->dims[0], dim_of(blocks) };
        for (int d = 0; d < spatial; d++)
                dims[2 + d] = t[d].extent;
        dims[2 + spatial] = dim_of(block);
        return rule_shape(m, op, x->element, x->rank, dims, diag);
}

/* ---- dot_blocks ---- */

static bool want_type(struct module *m, const struct op *op, int operand, enum element e, int rank,
                      const dim_t *dims, struct diag *diag)
{
        const struct type *want = type_tensor(m, e, rank, dims), *t = operand_type(op, operand);
        return t == want || rule_fail(op, diag, "operand %d is %s, want %s", operand,
                                      rule_type(m, t), rule_type(m, want));
}

/* Checks that the bytes of w hold whole blocks of x, with numbers of 1, 2, 4 or 8 bits. A run may
 * give how many rows x has. */
static bool check_bits(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *w = operand_type(op, 1),
                          *s = operand_type(op, 4);
        const bool nested = op->operand_count > BLOCKS_OUTER;
        bool good = x->rank == 4 && w->rank == 5 && s->rank == 4 && dim_is_static(x->dims[0]) &&
                    dim_is_static(x->dims[3]) && type_is_static(w) && type_is_static(s) &&
                    type_is_bound(m, x) && type_most_elements(m, x) && type_elements(w) &&
                    type_elements(s) && (x->element == E_I8 || x->element == E_F32) &&
                    w->element == E_U8 &&
                    (nested ? s->element == E_U8 || s->element == E_I8
                            : element_info[s->element].compute == E_F32) &&
                    dim_is(x->dims[1], 1) && type_extent(x, 3) % type_extent(w, 1) == 0 &&
                    type_extent(w, 4) % type_extent(s, 3) == 0;
        if (good) {
                int64_t block = type_extent(x, 3) / type_extent(w, 1),
                        bytes = type_extent(w, 2) * (type_extent(w, 4) / type_extent(s, 3)),
                        per = block / bytes;
                good = block % bytes == 0 && per <= 8 && !(per & (per - 1));
        }
        return good ||
               rule_fail(op, diag,
                         "operands are %s, %s and scales %s, want rows of i8 or f32 by panels of "
                         "u8 whose bytes hold blocks of whole numbers",
                         rule_type(m, x), rule_type(m, w), rule_type(m, s));
}

bool type_gather_panels(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *w = operand_type(op, 0), *indices = operand_type(op, 1);
        const int64_t rows = op_int(op, "rows"), columns = op_int(op, "columns"),
                      group = op_int(op, "group");
        if (w->rank != 6 || !type_is_static(w) || !type_elements(w) || !dim_is(w->dims[1], 1) ||
            !dim_is(w->dims[2], 1) || group < 1 || type_extent(w, 5) % group)
                return rule_fail(op, diag, "w is %s, want panels of words of %lld columns",
                                 rule_type(m, w), (long long)group);
        const int64_t panel = type_extent(w, 4) * (type_extent(w, 5) / group);
        if (rows < 1 || rows > INT32_MAX || type_extent(w, 0) != divide_up(rows, panel) ||
            columns < 1 || columns > INT32_MAX || columns > type_extent(w, 3) * group)
                return rule_fail(op, diag, "panels %s do not hold %lld rows of %lld columns",
                                 rule_type(m, w), (long long)rows, (long long)columns);
        if (!rule_indices(m, op, dim_of(rows), diag))
                return false;
        dim_t dims[RANK_MAX + 1];
        for (int i = 0; i < indices->rank; i++)
                dims[i] = indices->dims[i];
        dims[indices->rank] = dim_of(columns);
        return rule_shape(m, op, w->element, indices->rank + 1, dims, diag);
}

/* Checks the scales of scales, and the minima, of rounded rows. */
static bool check_nested(struct module *m, struct op *op, bool rounded, struct diag *diag)
{
        const struct type *outer =
                op->operand_count > BLOCKS_OUTER ? operand_type(op, BLOCKS_OUTER) : NULL;
        const struct type *w = operand_type(op, BLOCKS_W), *s = operand_type(op, BLOCKS_SCALES);
        if (!outer)
                return true;
        if (!rounded || op->operand_count > BLOCKS_OPERANDS)
                return rule_fail(op, diag, "has %d operands, want at most %d of rows of i8",
                                 op->operand_count, BLOCKS_OPERANDS);
        if (outer->rank != 4 || !type_is_static(outer) || type_extent(outer, 1) < 1 ||
            type_extent(w, 1) % type_extent(outer, 1) ||
            (outer->element != E_F16 && outer->element != E_F32))
                return rule_fail(op, diag, "scales of scales are %s, want f16 or f32 of whole "
                                           "numbers of blocks",
                                 rule_type(m, outer));
        const dim_t dims[] = { w->dims[0], outer->dims[1], w->dims[3], s->dims[3] };
        if (op->operand_count > BLOCKS_MINIMA && !op_operand(op, BLOCKS_ZEROS))
                return rule_fail(op, diag, "minima without zeros");
        for (int i = BLOCKS_OUTER; i < op->operand_count; i++)
                if (!want_type(m, op, i, outer->element, 4, dims, diag))
                        return false;
        return true;
}

bool type_dot_blocks(struct module *m, struct op *op, struct diag *diag)
{
        enum { STEPS = 2, SUMS, SCALES, ZEROS };
        if (!check_bits(m, op, diag))
                return false;
        const struct packed_bits p = packed_bits_of(op);
        const dim_t *x = operand_type(op, 0)->dims;
        int64_t panels = type_extent(operand_type(op, 1), 0), outputs = op_int(op, "outputs"),
                zero = op_int(op, "zero"), panel = p.vectors * p.lanes;
        const dim_t rows[] = { x[0], dim_of(1), x[2], dim_of(p.blocks) },
                    columns[] = { dim_of(panels), dim_of(p.blocks), dim_of(p.vectors),
                                  dim_of(p.lanes) };
        if (outputs < 1 || outputs > STEP_MAX || panels != divide_up(outputs, panel))
                return rule_fail(op, diag, "%lld panels of %lld, want them to hold %lld outputs",
                                 (long long)panels, (long long)panel, (long long)outputs);
        if (zero < 0 || zero > UINT8_MAX)
                return rule_fail(op, diag, "zero is %lld, want 0 to %d", (long long)zero,
                                 UINT8_MAX);
        const bool rounded = operand_type(op, 0)->element == E_I8;
        const struct value *zeros = op_operand(op, ZEROS);
        for (int i = STEPS; i <= SUMS; i++)
                if (rounded != (op_operand(op, i) != NULL))
                        return rule_fail(op, diag, "%s",
                                         rounded ? "rows of i8 want steps and sums"
                                                 : "rows of f32 have neither steps nor sums");
        const enum element zero_element =
                zeros && !rounded && zeros->type->element == E_F32 ? E_F32 : E_U8;
        return (!rounded || (want_type(m, op, STEPS, E_F32, 4, rows, diag) &&
                             want_type(m, op, SUMS, E_I32, 4, rows, diag))) &&
               want_type(m, op, SCALES, operand_type(op, SCALES)->element, 4, columns,
                         diag) &&
               (!zeros || want_type(m, op, ZEROS, zero_element, 4, columns, diag)) &&
               check_nested(m, op, rounded, diag) &&
               rule_shape(m, op, E_F32, 4, (dim_t[]){ x[0], dim_of(1), x[2], dim_of(outputs) },
                          diag);
}
