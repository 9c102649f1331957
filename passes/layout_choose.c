/* Layout, the choice: channels in blocks of 16, or all channels of a position side by side (one block, "last").
 *
 *   region     what has one form: values that operations join which work on either (element-wise, windows, concats, slices,
 *              depthwise convolutions); contractions and all else end it
 *   cost       of both forms, in cycles: of contractions that read its values, of copies in it, of conversions from and to the
 *              logical form, where the walk of layout.c would make them
 *
 *      convolve -> <58 channels> -> concat -> shuffle -> slice -> convolve      last: copies, where blocks would be taken apart
 *      convolve -> <64 channels> -> max, pool -> convolve                       blocks of 16
 *
 * A contraction reads one region and writes another, and what it costs is a sum of both, so regions are decided one by one: a walk
 * over the graph, in time proportional to it. Fewer channels than a block has are one block either way: without lanes that pad it,
 * unless what they join needs whole ones. Blocks of 16 where costs are equal: lanes that pad the last block cost less than what
 * whole vectors are good for (a depthwise window that stays in registers, strips, stores without masks). */
#include "passes/layout.h"

#include <math.h>
#include <string.h>

enum { BLOCKS, LAST, FORM_COUNT };      /* forms, as form.last has them */

/* Bytes that a core moves in a cycle: in order; and where channels and positions change places, or lanes are cut out of blocks. */
#define COPIED 8.0
#define TRANSPOSED 4.0
/* what a contraction that reads the last form loses of its speed: rows of x are far apart; measured with gcc, 10 to 18 % */
#define FAR .12
/* and what it loses where channels are not whole vectors, which Winograd's algorithm wants */
#define DIRECT .5
/* what a depthwise one loses whose weights are not one vector a block, and so are read again for every tile */
#define READ_AGAIN .3
/* one block must be better by so much: costs are no more exact than that */
#define WORTH .9

/* ---- regions ---- */

static struct form *region_of(struct layout *l, struct value *v)
{
        struct form *form = layout_form(l, v), *root = form;
        while (root->joined)
                root = root->joined;
        while (form->joined) {          /* a shorter way the next time */
                struct form *next = form->joined;
                form->joined = root;
                form = next;
        }
        return root;
}

static void join(struct layout *l, struct value *a, struct value *b)
{
        struct form *x = region_of(l, a), *y = region_of(l, b);
        if (x == y)
                return;
        for (int f = 0; f < FORM_COUNT; f++)
                x->cost[f] += y->cost[f];
        y->joined = x;
}

static void add_cost(struct layout *l, struct value *v, int form, double cycles)
{
        region_of(l, v)->cost[form] += cycles;
}

/* ---- costs ---- */

static double bytes_of(const struct type *t, int form)
{
        int64_t lanes = form == LAST ? t->dims[1] : LAYOUT_LANES, stored = layout_blocks(t->dims[1], lanes) * lanes;
        return (double)type_bytes(t) / (double)t->dims[1] * (double)stored;
}

static bool is_whole(const struct type *t) { return t->dims[1] % LAYOUT_LANES == 0; }

/* less than a block: one block either way, with lanes that pad it or without */
static bool is_few(const struct type *t) { return t->dims[1] < LAYOUT_LANES; }

/* between this form and the logical one: nothing moves where there is one position, or one channel */
static double conversion(const struct type *t, int form)
{
        double positions = (double)type_elements(t) / ((double)t->dims[0] * (double)t->dims[1]);
        bool same = (form == LAST || is_whole(t)) && (positions <= 1 || t->dims[1] == 1);
        return same ? 0 : ((double)type_bytes(t) + bytes_of(t, form)) / TRANSPOSED;
}

static double copy(const struct type *t, int form) { return 2 * bytes_of(t, form) / COPIED; }

/* v is needed in this form; in its logical one */
static void want(struct layout *l, struct value *v, int form)
{
        struct form *state = layout_form(l, v);
        if (state->logical[form])
                add_cost(l, v, form, conversion(v->type, form));
        state->logical[form] = false;
}

static void want_logical(struct layout *l, struct value *v, int form)
{
        if (!layout_form(l, v)->logical[form])
                add_cost(l, v, form, conversion(v->type, form));
}

static void make_logical(struct layout *l, struct value *v)
{
        struct form *state = layout_form(l, v);
        state->logical[BLOCKS] = state->logical[LAST] = true;
}

/* ---- operations ---- */

static bool carries(const struct value *v)
{
        return v && v->type->rank >= 2 && v->type->rank < RANK_MAX && type_is_static(v->type) && type_elements(v->type);
}

static bool keeps_channels(const struct type *x, const struct type *y)
{
        return y->rank >= 2 && y->dims[0] == x->dims[0] && y->dims[1] == x->dims[1];
}

/* made anew in any form */
static bool is_spread(const struct value *v) { return v->kind == VALUE_CONSTANT || op_is(v, OP_broadcast); }

/* an operand that has the form of the result */
static bool has_form(const struct op *op, int operand)
{
        const struct value *v = op_operand(op, operand);
        return carries(v) && !is_spread(v) && v->type->rank == op_result(op)->type->rank;
}

/* channels spread over positions, as those of a squeeze: of the form that they spread to */
static bool spreads_channels(const struct op *op, int operand)
{
        const struct value *v = op_operand(op, operand), *x = op_is(v, OP_broadcast) ? op_operand(v->op, 0) : NULL;
        return x && carries(v) && carries(x) && keeps_channels(x->type, v->type);
}

/* The operation joins its operands and its result, and is done in the form that one of them has. */
static void join_all(struct layout *l, struct op *op, int form)
{
        bool any = false;
        for (int i = 0; i < op->operand_count; i++)
                any |= has_form(op, i) && !layout_form(l, op_operand(op, i))->logical[form];
        for (int i = 0; i < op->operand_count; i++) {
                if (has_form(op, i) || spreads_channels(op, i))
                        join(l, op_operand(op, i), op_result(op));
                if (has_form(op, i) && any)
                        want(l, op_operand(op, i), form);
        }
        layout_form(l, op_result(op))->logical[form] = !any;
}

/* one operand, and a result that may have another rank */
static void join_one(struct layout *l, struct value *x, struct value *y)
{
        join(l, x, y);
        memcpy(layout_form(l, y)->logical, layout_form(l, x)->logical, sizeof layout_form(l, y)->logical);
}

/* Channels are put together, taken apart or moved: copies in the last form; blocks must be whole, or all is done in the logical form. */
static void choose_parts(struct layout *l, struct op *op, bool whole)
{
        struct value *y = op_result(op);
        join_all(l, op, LAST);
        add_cost(l, y, LAST, copy(y->type, LAST));
        if (whole) {
                join_all(l, op, BLOCKS);
                return;
        }
        for (int i = 0; i < op->operand_count; i++)
                if (has_form(op, i))
                        want_logical(l, op_operand(op, i), BLOCKS);
        layout_form(l, y)->logical[BLOCKS] = true;
        add_cost(l, y, BLOCKS, copy(y->type, LAST));
}

static void choose_shuffle(struct layout *l, struct value *x, struct value *y)
{
        join_one(l, x, y);
        want_logical(l, x, BLOCKS);
        layout_form(l, y)->logical[BLOCKS] = true;
        add_cost(l, y, BLOCKS, copy(y->type, LAST));
        add_cost(l, y, LAST, 2 * copy(y->type, LAST));
}

/* the convolution itself; y is in any form after it */
static void choose_convolve(struct layout *l, struct op *op)
{
        struct value *x = op_operand(op, 0), *y = op_result(op);
        const struct type *w = op_operand(op, 1)->type;
        double products = (double)type_elements(w) / (double)w->dims[0] * (double)type_elements(y->type);
        double cycles = products / (target_lanes(l->context->target, E_F32) * target_vector_issue(l->context->target));
        bool depthwise = layout_is_depthwise(op), few = x->type->dims[1] < LAYOUT_LANES && !depthwise;
        bool tiled = w->rank == 4 && w->dims[2] == 3 && w->dims[3] == 3 && !depthwise;
        if (depthwise)
                join(l, x, y);
        for (int f = 0; f < FORM_COUNT; f++) {
                if (!few || !layout_form(l, x)->logical[f])
                        want(l, x, f);
                layout_form(l, y)->logical[f] = false;
        }
        if (!layout_is_direct(op) || (op_int(op, "groups") > 1 && !depthwise)) {      /* made of blocks (layout_convolve.c) */
                add_cost(l, x, LAST, INFINITY);
                add_cost(l, y, LAST, INFINITY);
        }
        for (int f = 0; f < FORM_COUNT && is_few(y->type); f++)         /* more than half of a block may be lanes that pad it */
                add_cost(l, y, f, bytes_of(y->type, f) / COPIED);
        add_cost(l, x, LAST, is_few(x->type) ? 0 : (depthwise ? READ_AGAIN : FAR) * cycles);
        add_cost(l, x, LAST, tiled && !is_whole(x->type) ? DIRECT * cycles : 0);
        add_cost(l, y, LAST, tiled && !is_whole(y->type) ? DIRECT * cycles : 0);
}

static bool ints_of(const struct op *op, int operand, int64_t *ints)
{
        int count;
        return value_ints(op_operand(op, operand), ints, RANK_MAX, &count);
}

/* false: in no form but the logical one */
static bool choose_moves(struct layout *l, struct op *op)
{
        struct value *x = op_operand(op, 0), *y = op_result(op), *shuffled = layout_shuffled(op);
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        bool whole = true;
        switch (op->code) {
        case OP_concat:
                for (int i = 0; i + 1 < op->operand_count && op_int(op, "axis") == 1; i++)
                        whole &= is_whole(op_operand(op, i)->type);
                choose_parts(l, op, whole);
                return true;
        case OP_slice:
                if (!ints_of(op, 1, starts) || !ints_of(op, 2, steps))
                        return false;
                choose_parts(l, op, starts[1] % LAYOUT_LANES == 0 && (steps[1] == 1 || y->type->dims[1] == 1));
                return true;
        case OP_reshape:
        case OP_reduce_window:
        case OP_reduce:
        case OP_gather:
        case OP_broadcast:
        case OP_pad:
                if (shuffled)
                        choose_shuffle(l, shuffled, y);
                else if (keeps_channels(x->type, y->type))
                        join_one(l, x, y);
                return shuffled || keeps_channels(x->type, y->type);
        default:
                return false;
        }
}

/* a part of a shuffle, which its last operation stands for */
static bool is_inside_shuffle(const struct op *op)
{
        const struct value *y = op_result(op);
        const struct use *u = y->uses;
        if (op->code == OP_reshape && value_has_one_use(y) && u->user->code == OP_transpose) {
                y = op_result(u->user);
                u = y->uses;
        } else if (op->code != OP_transpose) {
                return false;
        }
        return value_has_one_use(y) && layout_shuffled(u->user);
}

static void choose_op(struct layout *l, struct op *op)
{
        if (op->result_count == 1 && carries(op_result(op)) && op->operand_count && carries(op_operand(op, 0))) {
                if (op->code == OP_convolve) {
                        choose_convolve(l, op);
                        return;
                }
                if (op_info[op->code].traits & TRAIT_ELEMENTWISE) {
                        join_all(l, op, BLOCKS);
                        join_all(l, op, LAST);
                        return;
                }
                if (choose_moves(l, op) || is_inside_shuffle(op))
                        return;
        }
        for (int i = 0; i < op->operand_count; i++)
                for (int f = 0; f < FORM_COUNT && carries(op_operand(op, i)) && !is_spread(op_operand(op, i)); f++)
                        want_logical(l, op_operand(op, i), f);
        for (int i = 0; i < op->result_count; i++)
                if (carries(&op->results[i]))
                        make_logical(l, &op->results[i]);
}

static void choose_region(struct layout *l, struct region *region)
{
        for (int i = 0; i < region->argument_count; i++)
                if (carries(&region->arguments[i]))
                        make_logical(l, &region->arguments[i]);
        for (struct op *op = region->first; op; op = op->next) {
                choose_op(l, op);
                for (int i = 0; op->code != OP_fusion && i < op->region_count; i++)
                        choose_region(l, op->regions[i]);
        }
}

void layout_choose(struct layout *l, struct region *region)
{
        if (l->block != LAYOUT_LANES)   /* rows of hardware tiles */
                return;
        choose_region(l, region);
        for (int i = 0; i < l->formed_count; i++) {
                const struct form *root = region_of(l, l->formed[i]);
                layout_form(l, l->formed[i])->last = root->cost[LAST] < WORTH * root->cost[BLOCKS];
        }
}
