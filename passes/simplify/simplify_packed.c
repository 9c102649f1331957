/* SPDX-License-Identifier: MIT */
/* The rules of simplify.def that see through paths of reshapes and transposes, and what packed
 * contractions do with them. */
#include "passes/simplify/simplify.h"

#include <string.h>

#include "ir/tensor/relation.h"

/* ---- paths of reshapes and transposes ---- */

enum { HOPS_MAX = 16, PIECES_MAX = 4 * RANK_MAX };

/* A path is a value as its source's elements: nested loops over pieces, outermost first, whose
 * strides count the source's elements in row-major order. Reshapes change nothing; through a
 * transpose, a piece must belong to one dimension. Neighbours whose strides make them one loop are
 * one piece, so equal moves are equal lists. One dimension may have an extent that a run gives: it
 * counts as the prime OPEN, which no other extent is a multiple of. */
#define OPEN INT64_C(2147483629)
struct path {
        struct value *source;
        dim_t open;                     /* This dimension counts as OPEN; 0: there is none. */
        int transposes;
        int count;
        struct piece { int64_t extent, stride; } pieces[PIECES_MAX];
};

static bool add_piece(struct path *c, int64_t extent, int64_t stride)
{
        if (extent == 1)
                return true;
        if (c->count && c->pieces[c->count - 1].stride == stride * extent) {
                c->pieces[c->count - 1] =
                        (struct piece){ c->pieces[c->count - 1].extent * extent, stride };
                return true;
        }
        if (c->count == PIECES_MAX)
                return false;
        c->pieces[c->count++] = (struct piece){ extent, stride };
        return true;
}

static int64_t extent_of(const struct type *t, int d)
{
        return dim_is_static(t->dims[d]) ? type_extent(t, d) : OPEN;
}

static void row_major(const struct type *t, int64_t strides[RANK_MAX])
{
        for (int d = t->rank - 1; d >= 0; d--)
                strides[d] = d + 1 < t->rank ? strides[d + 1] * extent_of(t, d + 1) : 1;
}

/* Are the extents of t known, but for that of one dimension, the path's? */
static bool has_extents(struct path *c, const struct module *m, const struct type *t)
{
        int open = 0;
        int64_t count = 1;
        for (int d = 0; d < t->rank; d++) {
                if (dim_is_static(t->dims[d])) {
                        count *= type_extent(t, d);
                        continue;
                }
                if (open++ || !(dim_is(c->open, 0) || dim_equal(c->open, t->dims[d])))
                        return false;
                c->open = t->dims[d];
        }
        return count && (!open || (type_is_bound(m, t) && count < OPEN));
}

/* Appends a piece of the transpose's result as pieces of its operand, outermost first; it is split
 * where dimensions end. */
static bool cut_piece(const struct op *op, struct piece p, struct path *out)
{
        const struct type *t = op_result(op)->type, *x = op_operand(op, 0)->type;
        const int64_t *perm = op_ints(op, "perm", NULL);
        int64_t strides[RANK_MAX], old[RANK_MAX];
        struct piece parts[RANK_MAX];
        int count = 0;
        row_major(t, strides);
        row_major(x, old);
        for (int d = t->rank - 1; d >= 0 && p.extent > 1; d--) {
                int64_t end = strides[d] * extent_of(t, d);
                if (p.stride >= end)
                        continue;
                int64_t room = end / p.stride;
                if (p.stride % strides[d] || end % p.stride || (p.extent > room && p.extent % room))
                        return false;
                int64_t extent = p.extent < room ? p.extent : room;
                parts[count++] = (struct piece){ extent, p.stride / strides[d] * old[perm[d]] };
                p = (struct piece){ p.extent / extent, p.stride * extent };
        }
        while (count-- > 0)
                if (!add_piece(out, parts[count].extent, parts[count].stride))
                        return false;
        return p.extent <= 1;
}

/* alone: the path goes no further than to transposes that others read, too. */
static bool trace(struct value *v, struct path *c, bool alone)
{
        int64_t strides[RANK_MAX];
        *c = (struct path){ .source = v, .open = dim_of(0) };
        const struct module *m = v->kind == VALUE_RESULT ? op_module(v->op) : NULL;
        if (!(m ? has_extents(c, m, v->type) : type_is_static(v->type) && type_elements(v->type)))
                return false;
        row_major(v->type, strides);
        for (int d = 0; d < v->type->rank; d++)
                add_piece(c, extent_of(v->type, d), strides[d]);
        for (int hops = 0;
             hops < HOPS_MAX && (op_is(c->source, OP_reshape) || op_is(c->source, OP_transpose));
             hops++) {
                const struct op *op = c->source->op;
                struct path through = { .source = op_operand(op, 0),
                                         .open = c->open,
                                         .transposes = c->transposes + 1 };
                if (!has_extents(c, m, through.source->type))
                        return hops > 0 && c->transposes > 0;
                if (op->code == OP_reshape) {
                        c->source = through.source;
                        continue;
                }
                if (alone && hops && !value_has_one_use(c->source))
                        break;
                for (int i = 0; i < c->count; i++)
                        if (!cut_piece(op, c->pieces[i], &through))
                                /* The path ends here. */
                                return hops > 0 && c->transposes > 0;
                *c = through;
        }
        return true;
}

static bool same_pieces(const struct path *a, const struct path *b)
{
        return a->count == b->count &&
               !memcmp(a->pieces, b->pieces, (size_t)a->count * sizeof *a->pieces);
}

/* Returns the dimension of this extent. */
static dim_t extent_dim(struct module *m, const struct path *c, int64_t extent)
{
        return dim_is(c->open, 0) || extent % OPEN
                       ? dim_of(extent)
                       : dim_binary(m, DIM_MUL, c->open, dim_of(extent / OPEN));
}

/* Builds the path as a reshape, a transpose and a reshape. */
static struct value *build_path(struct builder *b, const struct path *c, const struct type *t)
{
        dim_t dims[RANK_MAX];
        int64_t perm[RANK_MAX];
        bool placed[RANK_MAX] = { false };
        if (c->count > RANK_MAX)
                return NULL;
        for (int i = 0; i < c->count; i++) {    /* Dimensions are placed by stride, the largest
                                                 * first. */
                int largest = -1;
                for (int k = 0; k < c->count; k++)
                        if (!placed[k] &&
                            (largest < 0 || c->pieces[k].stride > c->pieces[largest].stride))
                                largest = k;
                placed[largest] = true;
                dims[i] = extent_dim(b->m, c, c->pieces[largest].extent);
                perm[largest] = i;
        }
        struct value *x = build_reshape(b, c->source, c->count, dims);
        return build_reshape(b, build_transpose(b, x, perm), t->rank, t->dims);
}

struct value *rewrite_transpose_reshape_transpose(struct builder *b, struct op *op,
                                                  struct pass_context *context)
{
        (void)context;
        struct path c;
        if (!trace(op_result(op), &c, true) || c.transposes < 2)
                return NULL;
        return build_path(b, &c, op_result(op)->type);
}

/* ---- packed contractions: blocks of their results ---- */

enum { DEPTH_MAX = 8 };

/* Returns how many outputs a vector of the contraction v has, or of the one under it. */
static int64_t lanes_of(const struct value *v)
{
        const struct op *op = v->op;
        if (op->code == OP_convolve_packed)
                return packed_lanes(op_operand(op, 0)->type, op_operand(op, 1)->type);
        int64_t lanes = 0;
        for (int i = 0; i < op->operand_count && !lanes; i++) {
                const struct value *x = op_operand(op, i);
                if (!value_is_splat(x, NULL) && !op_is(x, OP_broadcast))
                        lanes = lanes_of(x);
        }
        return lanes;
}

/* Returns the path of rows of y in blocks: <N x groups x S.. x outputs> read as <N x groups *
 * outputs / block x S.. x block>. */
static struct path blocks_of_rows(const struct type *y, int64_t block)
{
        struct path c = { 0 };
        int64_t strides[RANK_MAX];
        int last = y->rank - 1;
        row_major(y, strides);
        add_piece(&c, type_extent(y, 0), strides[0]);
        add_piece(&c, type_extent(y, 1), strides[1]);
        add_piece(&c, type_extent(y, last) / block, block);
        for (int d = 2; d < last; d++)
                add_piece(&c, type_extent(y, d), strides[d]);
        add_piece(&c, block, 1);
        return c;
}

/* Do transposes alone read v, directly or reshaped? With other blocks there will be no more of
 * them. */
static bool is_transposed(const struct value *v)
{
        for (const struct use *u = v->uses; u; u = u->next) {
                const struct op *user = u->user;
                if (user->code == OP_transpose)
                        continue;
                if (user->code != OP_reshape)
                        return false;
                for (const struct use *w = op_result(user)->uses; w; w = w->next)
                        if (w->user->code != OP_transpose)
                                return false;
        }
        return true;
}

/* Can v have other blocks? It must be a packed contraction, or element-wise operations on one with
 * splats and vectors of outputs. */
static bool can_block(const struct value *v, int depth)
{
        if (depth == DEPTH_MAX || v->kind != VALUE_RESULT ||
            (depth ? !value_has_one_use(v) : !is_transposed(v)))
                return false;
        const struct op *op = v->op;
        if (op->code == OP_convolve_packed)
                return op_int(op, "block") == op_int(op, "outputs");
        if (!(op_info[op->code].traits & TRAIT_ELEMENTWISE))
                return false;
        int contractions = 0;
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *x = op_operand(op, i);
                if (value_is_splat(x, NULL))
                        continue;
                if (op_is(x, OP_broadcast)) {
                        const struct type *from = op_operand(x->op, 0)->type;
                        if (from->rank != 1 ||
                            op_ints(x->op, "dims", NULL)[0] != v->type->rank - 1 ||
                            !dim_is(v->type->dims[1], 1))
                                return false;
                        continue;
                }
                if (++contractions > 1 || !can_block(x, depth + 1))
                        return false;
        }
        return contractions == 1;
}

static struct value *build_blocked(struct builder *b, const struct value *v, int64_t block)
{
        const struct op *op = v->op;
        struct value *operands[OPERAND_ROW_MAX], *inner = NULL;
        if (op->code == OP_convolve_packed) {
                struct attr attrs[ATTR_MAX];
                memcpy(attrs, op->attrs, sizeof *attrs * (size_t)op_info[op->code].attr_count);
                attr_set(attrs, op->code, "block", block);
                return value_build(b, op->code,
                                   (struct value *[]){ op_operand(op, 0), op_operand(op, 1) }, 2,
                                   attrs, NULL);
        }
        for (int i = 0; i < op->operand_count; i++) {
                struct value *x = op_operand(op, i);
                if (!value_is_splat(x, NULL) && !op_is(x, OP_broadcast))
                        inner = build_blocked(b, x, block);
        }
        for (int i = 0; inner && i < op->operand_count; i++) {
                struct value *x = op_operand(op, i);
                const struct type *to = type_with_element(b->m, inner->type, x->type->element);
                if (value_is_splat(x, NULL)) {
                        operands[i] = constant_splat(b->m, to, constant_data(x->constant));
                } else if (op_is(x, OP_broadcast)) {
                        dim_t dims[] = { to->dims[1], dim_of(block) };
                        struct value *vector = build_reshape(b, op_operand(x->op, 0), 2, dims);
                        operands[i] =
                                build_broadcast(b, vector, to, (int64_t[]){ 1, to->rank - 1 });
                } else {
                        operands[i] = inner;
                }
                if (!operands[i])
                        return NULL;
        }
        return inner ? value_build(b, op->code, operands, op->operand_count, op->attrs, NULL)
                     : NULL;
}

/* Builds the rows of type y that the blocks were before. */
static struct value *build_rows(struct builder *b, struct value *blocked, const struct type *y)
{
        int64_t perm[RANK_MAX] = { 0, 1 };
        dim_t dims[RANK_MAX] = { y->dims[0], y->dims[1],
                                 dim_of(type_extent(blocked->type, 1) / type_extent(y, 1)) };
        for (int d = 2; d < y->rank; d++) {
                dims[d + 1] = blocked->type->dims[d];
                perm[d] = d + 1;
        }
        perm[y->rank] = y->rank;        /* Positions come first, then the block's number, then the
                                         * elements of the block. */
        perm[y->rank - 1] = 2;
        struct value *rows = build_transpose(b, build_reshape(b, blocked, y->rank + 1, dims), perm);
        return build_reshape(b, rows, y->rank, y->dims);
}

struct value *rewrite_blocks_of_packed(struct builder *b, struct op *op,
                                       struct pass_context *context)
{
        (void)context;
        struct path c;
        struct value *v = op_result(op);
        if (!trace(v, &c, true) || c.transposes != 1 || !c.count || !can_block(c.source, 0))
                return NULL;
        const struct type *y = c.source->type;
        int64_t block = c.pieces[c.count - 1].extent;
        if (c.pieces[c.count - 1].stride != 1 || block % lanes_of(c.source) ||
            type_extent(y, y->rank - 1) % block)
                return NULL;
        struct path wanted = blocks_of_rows(y, block);
        if (!same_pieces(&c, &wanted))
                return NULL;
        struct value *rows = c.source;
        struct builder behind = *b;
        behind.before = rows->op->next;
        behind.location = rows->op->location;
        struct value *blocked = build_blocked(&behind, rows, block);
        struct value *again =
                blocked && !value_has_one_use(rows) ? build_rows(&behind, blocked, y) : NULL;
        if (again)
                value_replace(rows, again);
        return build_reshape(b, blocked, v->type->rank, v->type->dims);
}

/* ---- packed contractions: blocks of their operand ---- */

struct value *rewrite_packed_of_blocks(struct builder *b, struct op *op,
                                       struct pass_context *context)
{
        (void)context;
        enum { LEAST_BLOCK = 8 };
        struct path c, wanted = { 0 };
        struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        const struct type *t = x->type;
        int last = t->rank - 1;
        for (int d = 2; d < last; d++)
                if (!dim_is(w->type->dims[d], 1))
                        return NULL;
        if (!trace(x, &c, false) || !c.transposes || !c.count || c.pieces[c.count - 1].stride != 1)
                return NULL;
        int64_t block = c.pieces[c.count - 1].extent;
        if (block < LEAST_BLOCK || type_extent(t, last) % block)
                return NULL;
        /* The source is <N x blocks x parts x S.. x block>, read as <N x blocks x S.. x parts x
         * block>. */
        int64_t parts = type_extent(t, last) / block, positions = 1;
        for (int d = 2; d < last; d++)
                positions *= type_extent(t, d);
        int64_t image = positions * type_extent(t, last);
        add_piece(&wanted, type_extent(t, 0), image * type_extent(t, 1));
        add_piece(&wanted, type_extent(t, 1), image);
        add_piece(&wanted, positions, block);
        add_piece(&wanted, parts, positions * block);
        add_piece(&wanted, block, 1);
        if (!same_pieces(&c, &wanted))
                return NULL;
        dim_t dims[RANK_MAX], window[RANK_MAX];
        memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
        memcpy(window, w->type->dims, (size_t)w->type->rank * sizeof *window);
        dims[1] = dim_of(dim_extent(dims[1]) * parts);
        window[1] = dim_of(dim_extent(window[1]) * parts);
        if (block % packed_group(t, w->type))
                return NULL;
        dims[last] = dim_of(block);
        window[last] = dim_of(block / packed_group(t, w->type));
        struct value *operands[] = { build_reshape(b, c.source, t->rank, dims),
                                     build_reshape(b, w, w->type->rank, window) };
        return operands[0] && operands[1]
                       ? value_build(b, OP_convolve_packed, operands, 2, op->attrs, NULL)
                       : NULL;
}

/* ---- packed contractions: part of their outputs ---- */

/* A part is `size` indices of dimension `dim` of v, from `start` on. `alone`: nobody reads another
 * one. */
struct part { int dim; int64_t start, size; bool alone; };

/* Finds the same part of the operand of a reshape, which has elements: one of its dimensions must
 * end where v's does. */
static bool through_reshape(const struct type *x, const struct type *v, struct part p,
                            struct part *out)
{
        int64_t strides[RANK_MAX], inner[RANK_MAX];
        row_major(x, strides);
        row_major(v, inner);
        for (int d = 0; d < x->rank; d++) {
                bool ends = type_extent(x, d) > 1 &&
                            strides[d] * type_extent(x, d) == inner[p.dim] * type_extent(v, p.dim);
                if (!ends || inner[p.dim] % strides[d])
                        continue;
                int64_t times = inner[p.dim] / strides[d];
                *out = (struct part){ d, p.start * times, p.size * times, p.alone };
                return true;
        }
        return false;
}

static const struct type *part_type(struct module *m, const struct type *t, struct part p)
{
        dim_t dims[RANK_MAX];
        memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
        dims[p.dim] = dim_of(p.size);
        return type_tensor(m, t->element, t->rank, dims);
}

static struct value *build_part_slice(struct builder *b, struct value *v, struct part p)
{
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        for (int d = 0; d < RANK_MAX; d++)
                steps[d] = 1;
        starts[p.dim] = p.start;
        return build_slice(b, v, starts, steps, part_type(b->m, v->type, p)->dims);
}

/* Does op read weights of an accelerator's array, which multiplies whole blocks? One word then
 * holds all channels of a block, and a panel has as many outputs. No instruction of a processor has
 * words of 16 channels. */
static bool is_of_array(const struct op *op)
{
        enum { WORD_MOST = 8 };
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        const int64_t group = packed_group(x, w);
        return group > WORD_MOST && dim_is(x->dims[x->rank - 1], group) &&
               group == lanes_of(op_result(op));
}

/* Are these all outputs, too few to fill a vector, without the lanes behind them? */
static bool is_tail(const struct op *op, struct part p)
{
        return !p.start && p.size == op_int(op, "outputs") && p.size < lanes_of(op_result(op));
}

/* Are these columns of several rows (those of one row are consecutive in memory), in whole panels
 * of constants? Where others read other columns, a part of a panel would be computed twice. */
static bool is_panels(const struct op *op, struct part p)
{
        const struct type *y = op_result(op)->type, *w = op_operand(op, 1)->type;
        const int64_t panel = packed_panel(op_operand(op, 0)->type, w);
        return type_elements(y) > type_extent(y, p.dim) &&
               op_int(op, "block") == op_int(op, "outputs") &&
               value_is_constant(op_operand(op, 1)) &&
               p.start % panel == 0 &&
               (p.alone || p.size % panel == 0 || p.start + p.size == type_extent(y, p.dim));
}

/* Is v a packed contraction, behind moves and element-wise operations that it alone feeds, which
 * can compute just this part? */
static bool can_part(const struct value *v, struct part p, int depth)
{
        struct part x = p;
        if (depth > DEPTH_MAX || v->kind != VALUE_RESULT || (depth && !value_has_one_use(v)) ||
            !type_is_static(v->type))
                return false;
        const struct op *op = v->op;
        switch (op->code) {
        case OP_reshape:
                return through_reshape(op_operand(op, 0)->type, v->type, p, &x) &&
                       can_part(op_operand(op, 0), x, depth + 1);
        case OP_transpose:
                x.dim = relation_source(op, 0, p.dim);
                return can_part(op_operand(op, 0), x, depth + 1);
        case OP_convolve_packed:
                return p.dim == v->type->rank - 1 && op_int(op, "groups") == 1 &&
                       (!is_of_array(op) || p.size % lanes_of(op_result(op)) == 0) &&
                       (is_tail(op, p) || is_panels(op, p));
        default:
                if (!(op_info[op->code].traits & TRAIT_ELEMENTWISE))
                        return false;
                for (int i = 0; i < op->operand_count; i++)
                        if (can_part(op_operand(op, i), p, depth + 1))
                                return true;
                return false;
        }
}

static struct value *build_part(struct builder *b, struct value *v, struct part p, int depth);

static struct value *build_part_packed(struct builder *b, const struct op *op, struct part p)
{
        struct value *w = op_operand(op, 1);
        struct attr attrs[ATTR_MAX];
        memcpy(attrs, op->attrs, sizeof *attrs * (size_t)op_info[op->code].attr_count);
        attr_set(attrs, op->code, "outputs", p.size);
        attr_set(attrs, op->code, "block", p.size);
        if (is_tail(op, p))
                return value_build(b, op->code, (struct value *[]){ op_operand(op, 0), w }, 2,
                                   attrs, NULL);
        int64_t panel = packed_panel(op_operand(op, 0)->type, w->type),
                starts[RANK_MAX] = { p.start / panel }, steps[RANK_MAX];
        dim_t dims[RANK_MAX];
        memcpy(dims, w->type->dims, (size_t)w->type->rank * sizeof *dims);
        dims[0] = dim_of(divide_up(p.size, panel));
        for (int d = 0; d < RANK_MAX; d++)
                steps[d] = 1;
        w = constant_sliced(b->m, w->constant, starts, steps, dims);
        return value_build(b, op->code, (struct value *[]){ op_operand(op, 0), w }, 2, attrs, NULL);
}

static struct value *build_part_broadcast(struct builder *b, const struct op *op, struct part p)
{
        struct value *x = op_operand(op, 0);
        const int64_t *dims = op_ints(op, "dims", NULL);
        for (int k = 0; x && k < op_operand(op, 0)->type->rank; k++)
                if (dims[k] == p.dim && !dim_is(x->type->dims[k], 1))
                        x = build_part_slice(b, x, (struct part){ k, p.start, p.size, p.alone });
        return build_broadcast(b, x, part_type(b->m, op_result(op)->type, p), dims);
}

static struct value *build_part(struct builder *b, struct value *v, struct part p, int depth)
{
        const struct type *t = part_type(b->m, v->type, p);
        struct value *operands[OPERAND_ROW_MAX];
        struct part x = p;
        if (value_is_splat(v, NULL))
                return constant_splat(b->m, t, constant_data(v->constant));
        if (op_is(v, OP_broadcast))
                return build_part_broadcast(b, v->op, p);
        if (!can_part(v, p, depth))
                return build_part_slice(b, v, p);
        const struct op *op = v->op;
        switch (op->code) {
        case OP_reshape:
                through_reshape(op_operand(op, 0)->type, v->type, p, &x);
                return build_reshape(b, build_part(b, op_operand(op, 0), x, depth + 1), t->rank,
                                     t->dims);
        case OP_transpose:
                x.dim = relation_source(op, 0, p.dim);
                return build_transpose(b, build_part(b, op_operand(op, 0), x, depth + 1),
                                       op_ints(op, "perm", NULL));
        case OP_convolve_packed:
                return build_part_packed(b, op, p);
        default:
                for (int i = 0; i < op->operand_count; i++) {
                        operands[i] = build_part(b, op_operand(op, i), p, depth + 1);
                        if (!operands[i])
                                return NULL;
                }
                return value_build(b, op->code, operands, op->operand_count, op->attrs, NULL);
        }
}

/* Finds the part that a slice takes, when it takes a part of one dimension. */
static bool part_of(const struct op *op, struct part *p)
{
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        int count;
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        if (op->code != OP_slice || !type_is_static(x) || !type_is_static(y) ||
            !value_ints(op_operand(op, 1), starts, RANK_MAX, &count) ||
            !value_ints(op_operand(op, 2), steps, RANK_MAX, &count))
                return false;
        p->dim = -1;
        for (int d = 0; d < x->rank; d++) {
                if (dim_equal(x->dims[d], y->dims[d]) && (steps[d] == 1 || dim_is(y->dims[d], 1)))
                        continue;
                if (p->dim >= 0 || (steps[d] != 1 && !dim_is(y->dims[d], 1)))
                        return false;
                *p = (struct part){ d, starts[d], type_extent(y, d),
                                    value_has_one_use(op_operand(op, 0)) };
        }
        return p->dim >= 0 && type_elements(y) > 0;
}

struct value *rewrite_part_of_packed(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct part p, other;
        struct value *v = op_operand(op, 0);
        if (!part_of(op, &p) || !can_part(v, p, 0))
                return NULL;
        int64_t total = 0;              /* Nothing may be computed twice. */
        for (const struct use *u = v->uses; u; u = u->next) {
                if (!part_of(u->user, &other) || other.dim != p.dim)
                        return NULL;
                total += other.size;
        }
        return total <= type_extent(v->type, p.dim) ? build_part(b, v, p, 0) : NULL;
}
