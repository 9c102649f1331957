/* SPDX-License-Identifier: MIT */
/* layout: contractions read and write channels in blocks of 16, and what lies between them does,
 * too.
 *
 *   %1 = convolve(%0, @w) pads=[1, 1, 1, 1]               %1 = pad(%0b, 0.0, [0, 0, 1, 1, 0])
 *          : <1 x 64 x 56 x 56>                           %2 = convolve_packed(%1, @w packed) channels=32 outputs=64
 *   %2 = broadcast(@b) dims=[1]                 ->               : <1 x 4 x 56 x 56 x 16>
 *   %3 = add(%1, %2)                                      %3 = broadcast(@b as <4 x 16>) dims=[1, 4]
 *                                                         %4 = add(%2, %3)
 *
 * A layout is a shape: the blocked form of <N x C x S..> is <N x C/16 x S.. x 16>, the channels
 * padded to a multiple of 16 (32 where hardware tiles multiply bf16, so that a block is a row of a
 * tile). What the lanes behind the last channel hold is whatever the operations make of it;
 * contractions do not read them, and conversions to the logical value slice them off.
 *
 * First layout_integers.c makes contractions of floats of those of integers, layout_windows.c
 * windows of one dimension of those of several. Then layout_choose.c says where all channels of a
 * position better lie side by side, in one block: <N x 1 x S.. x C>.
 *
 * One walk goes from the first operation to the last. Convolutions (convolve.c) always become
 * blocked; operations that keep channels apart (layout_moves.c) do where an operand is. Products of
 * matrices (dot.c) are convolutions of rows. A logical value is blocked once, where it is made,
 * when the first operation asks; at the end, a value that others still read in its logical form is
 * brought back from its other one. What remains of the old operations is dead. Sums are added up in
 * another order: class R. Targets without vectors have no layouts. */
#include "passes/layout/layout.h"
#include "passes/layout/neighbours.h"

#include "kernels/kernels.h"

/* Returns a builder that stands behind v, in front of whatever may read it. */
static struct builder builder_behind(struct layout *l, const struct value *v)
{
        struct builder b = l->b;
        if (v->kind == VALUE_RESULT) {
                b.region = v->op->region;
                b.before = v->op->next;
                b.location = v->op->location;
        } else if (v->kind == VALUE_ARGUMENT) {
                b.region = v->region;
                b.before = v->region->first;
        }
        return b;
}

struct form *layout_form(struct layout *l, struct value *v)
{
        if (!v->scratch) {
                v->scratch = ARENA_NEW(l->arena, struct form);
                ARENA_GROW(l->arena, l->formed, l->formed_count);
                l->formed[l->formed_count++] = v;
        }
        return v->scratch;
}

struct value *layout_blocked(struct layout *l, struct value *v)
{
        if (blocks_of(v))
                return blocks_of(v);
        struct builder b = builder_behind(l, v);
        struct value *blocks = layout_split(&b, v, 1, layout_lanes(l, v->type, is_last(l, v)));
        layout_form(l, v)->blocks = blocks;
        l->failed |= !blocks;
        return blocks;
}

struct value *layout_blocked_as(struct layout *l, struct value *v, bool last)
{
        if (is_last(l, v) == last)
                return layout_blocked(l, v);
        struct value *blocks = layout_split(&l->b, v, 1, layout_lanes(l, v->type, last));
        l->failed |= !blocks;
        return blocks;
}

/* Are all operands and results tensors, none of them empty? */
static bool has_elements(const struct op *op)
{
        for (int i = 0; i < op->operand_count + op->result_count; i++) {
                const struct value *v = i < op->operand_count ? op_operand(op, i)
                                                              : &op->results[i - op->operand_count];
                if (v && (v->type->kind != TYPE_TENSOR || type_is_empty(v->type)))
                        return false;
        }
        return op->result_count == 1;
}

/* Weights of equal elements are one number in the file. Packed weights have all their elements, and
 * zeros behind them: up to 32 times as many. */
static bool has_large_splat(const struct op *op)
{
        enum { SPLAT_BYTES_MOST = 8 << 20 };
        for (int i = 0; i < op->operand_count && op_info[op->code].traits & TRAIT_CONTRACTION;
             i++) {
                const struct value *v = op_operand(op, i);
                if (v && value_is_constant(v) && v->constant->kind == CONSTANT_SPLAT &&
                    type_bytes(v->type) > SPLAT_BYTES_MOST)
                        return true;
        }
        return false;
}

/* Has v, where it has channels, a number of them that is known? */
static bool has_known_channels(const struct value *v)
{
        return !v || v->type->rank < 2 || dim_is_static(v->type->dims[1]);
}

/* Are the channels of all operands and results known, and weights wholly? A run may give images and
 * positions. */
static bool are_channels_known(const struct op *op)
{
        for (int i = 0; i < op->operand_count; i++)
                if (!has_known_channels(op_operand(op, i)))
                        return false;
        if (op->code == OP_convolve && !type_is_static(op_operand(op, 1)->type))
                return false;
        return has_known_channels(op_result(op));
}

static bool convert(struct layout *l, struct op *op)
{
        l->b.region = op->region;
        l->b.before = op;
        l->b.location = op->location;
        const bool known = l->positions ? are_channels_known(op)
                           : l->open    ? op_is_static_inside(op)
                                        : op_is_static(op);
        if (!known) {
                /* A run may give how many rows there are. */
                l->why = REMARK_layout_empty;
                return l->open && (op->code == OP_dot          ? layout_dot(l, op)
                                   : op->code == OP_dot_blocks ? layout_dot_blocks(l, op)
                                                               : layout_rows(l, op));
        }
        switch (op->code) {
        case OP_convolve: return layout_convolve(l, op);
        case OP_dot:      return layout_dot(l, op);
        case OP_dot_blocks: return layout_dot_blocks(l, op);
        default:          return layout_transparent(l, op) || layout_rows(l, op);
        }
}

/* Releases the weights of op: its result has been built anew, so it needs them no more. */
static void release_weights(struct layout *l, struct op *op)
{
        for (int i = 0; i < op->operand_count && op_info[op->code].traits & TRAIT_CONTRACTION; i++)
                if (op_operand(op, i) && value_is_constant(op_operand(op, i)))
                        op_set_operand(op, i, constant_number(l->m, op_operand(op, i)->type, 0));
}

/* Frees the memory of weights that have been packed, so that the next ones can have it. */
static void reuse_weights(struct layout *l)
{
        for (int i = 0; i < l->formed_count; i++) {
                struct form *form = l->formed[i]->scratch;
                if (form->blocks && value_is_constant(form->blocks) && !form->blocks->uses)
                        form->blocks = NULL;
        }
        module_drop_constants(l->m);
}

static bool reads_blocks(const struct op *op)
{
        for (int i = 0; i < op->operand_count; i++)
                if (op_operand(op, i) && blocks_of(op_operand(op, i)))
                        return true;
        return false;
}

/* Makes remarks on contractions, and on operations where blocks end or go on. */
static void remark(const struct layout *l, const struct op *op, bool converted)
{
        struct remarks *remarks = l->context->remarks;
        if (!remarks || op->code == OP_yield ||
            !(op_info[op->code].traits & TRAIT_CONTRACTION || reads_blocks(op)))
                return;
        const struct value *y = op->result_count == 1 ? op_result(op) : NULL,
                           *form = !converted ? NULL : rows_of(y) ? rows_of(y) : blocks_of(y);
        enum remark_reason why = !converted          ? l->why
                                 : !form             ? REMARK_layout_reduced
                                 : form == rows_of(y) ? REMARK_layout_rows
                                 : is_last(l, y)      ? REMARK_layout_last
                                                      : REMARK_layout_blocks;
        remark_op(remarks, why, op, form ? type_text(remarks->arena, l->m, form->type) : NULL);
}

/* Does no value of the function get another form? *why: the reason. */
static bool refuses(const struct pass_context *context, enum remark_reason *why)
{
        *why = !target_engine(context->target)->blocks ? REMARK_layout_vectors
               : context->exact                     ? REMARK_layout_exact
                                                    : REMARK_layout_unblocked;
        return *why != REMARK_layout_unblocked || context->unblocked;
}

static void visit_region(struct layout *l, struct region *region)
{
        for (struct op *op = region->first, *next; op && !l->failed; op = next) {
                next = op->next;
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        visit_region(l, op->regions[i]);
                l->why = op->result_count == 1 ? REMARK_layout_empty : REMARK_layout_channels;
                bool large = has_large_splat(op),
                     converted = has_elements(op) && !large && convert(l, op);
                l->why = large ? REMARK_layout_equal : l->why;
                remark(l, op, converted);
                if (!converted)
                        continue;
                ARENA_GROW(l->arena, l->replaced, l->replaced_count);
                l->replaced[l->replaced_count++] = op;
                release_weights(l, op);
                if (module_wants_sweep(l->m))
                        reuse_weights(l);
        }
}

/* Builds logical values for the operations that still read them. */
static void restore_logical(struct layout *l)
{
        for (int i = l->replaced_count - 1; i >= 0 && !l->failed; i--) {
                struct op *op = l->replaced[i];
                struct value *v = op_result(op), *rows = rows_of(v);
                if (v->uses) {
                        struct builder b = builder_behind(l, rows ? rows : blocks_of(v));
                        b.location = op->location;
                        struct value *logical =
                                rows ? build_reshape(&b, rows, v->type->rank, v->type->dims)
                                     : layout_unblock(&b, blocks_of(v), v->type);
                        if (logical)
                                value_replace(v, logical);
                        else
                                l->failed = true;
                }
                if (!v->uses)
                        op_erase(op);
        }
}

/* Returns the multiply in hardware tiles for contractions that read bf16; NULL: there are no such
 * contractions, or the target has no such multiply. */
static const struct multiply *find_tiles(const struct function *f,
                                         const struct pass_context *context)
{
        for (const struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op))
                if ((op->code == OP_convolve || op->code == OP_dot) &&
                    op_operand(op, 0)->type->element == E_BF16) {
                        const struct multiply *m = multiply_in_tiles(context, E_BF16, E_BF16);
                        return m && target_engine(context->target)->layout == LAYOUT_OF_LEAST_COST
                                       ? m
                                       : NULL;
                }
        return NULL;
}

int pass_layout(struct function *f, struct pass_context *context)
{
        enum remark_reason none;
        if (context->remarks && f == module_entry(f->module))
                remarks_begin(context->remarks, "layout");
        if (refuses(context, &none)) {
                for (const struct op *op = region_walk(&f->body, NULL); op && context->remarks;
                     op = region_walk(&f->body, op))
                        if (op_info[op->code].traits & TRAIT_CONTRACTION)
                                remark_op(context->remarks, none, op, NULL);
                return 0;
        }
        if (f == module_entry(f->module))
                f->module->tables = NULL;
        const bool joins = target_engine(context->target)->joins_products;
        int shared = 0;
        pass_dce(f, context);
        const struct multiply *tiles = find_tiles(f, context);
        struct layout l = { .m = f->module, .context = context, .arena = arena_new(),
                            .block = tiles ? multiply_row(tiles)
                                           : target_block(context->target),
                            .in_rows = tiles != NULL,
                            .open = kernels_open(OP_convolve_packed, context->target),
                            .positions = kernels_open(OP_convolve_lanes, context->target),
                            .b = { .m = f->module, .diag = context->diag } };
        if (joins)
                layout_join_products(&l, &f->body);
        else
                shared += layout_join_outputs(&l, &f->body);
        layout_products(&l, &f->body);
        layout_whole(&l, &f->body);
        layout_windows(&l, &f->body);
        layout_spectra(&l, &f->body);
        layout_filters(&l, &f->body);
        layout_choose(&l, &f->body);
        visit_region(&l, &f->body);
        restore_logical(&l);
        for (int i = 0; i < l.formed_count; i++)
                l.formed[i]->scratch = NULL;
        pass_dce(f, context);
        layout_sink_turned(&l, &f->body);
        shared += l.failed || f->next ? 0 : layout_share_tables(&l);
        arena_free(l.arena);
        return l.failed ? -1 : l.replaced_count + shared;
}
