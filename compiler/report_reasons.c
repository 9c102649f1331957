/* SPDX-License-Identifier: MIT */
/* This says what of a model a machine does, kernel by kernel and node by node, and why the rest is
 * in C.
 *
 *   x --[pad]--> --[slice]--> == launch == --[reshape]--> --[softmax]--> y
 *        into the machine's blocks          out of them     floats */
#include "compiler/report.h"

#include <string.h>

#include "engines/stream/streams.h"
#include "passes/remark.h"

bool report_is_launch(const struct loop_stmt *call)
{
        return call->function->kind == FUNCTION_STREAM;
}

/* ---- contractions ---- */

static bool is_byte(const struct value *v)
{
        return v->type->element == E_I8 || v->type->element == E_U8;
}
bool report_multiplies_bytes(const struct op *contraction)
{
        return is_byte(op_operand(contraction, 0)) && is_byte(op_operand(contraction, 1));
}

static bool is_of(const struct op *op, const char *location)
{
        return op->location && location && !strcmp(op->location, location);
}

/* Returns the contraction that became a kernel of these nodes, or NULL. */
static const struct op *contraction_of(const struct module *m, const char *location)
{
        for (const struct function *f = m ? m->functions : NULL; f; f = f->next)
                for (const struct op *op = region_walk(&f->body, NULL); op;
                     op = region_walk(&f->body, op)) {
                        if (!is_of(op, location) && !(op->region && op->region->owner &&
                                                      is_of(op->region->owner, location)))
                                continue;
                        if (op_info[op->code].traits & TRAIT_CONTRACTION)
                                return op;
                }
        return NULL;
}

/* Returns whether some value of a kernel is of bytes without a sign. */
static bool has_unsigned(const struct region *kernel)
{
        bool found = false;
        for (const struct op *op = kernel->owner && kernel->owner->code == OP_fusion ? kernel->first
                                                                                     : NULL;
             op; op = op->next)
                for (int k = 0; k < op->operand_count; k++)
                        found |= op_operand(op, k) && op_operand(op, k)->type->element == E_U8;
        return found;
}

/* Returns what layout said of it. */
static const char *layout_of(struct run *run, const struct op *op)
{
        const struct remarks *all = run->context.remarks;
        for (int i = 0; all && op->location && i < all->count; i++) {
                const struct remark_info *info = &remark_info[all->items[i].reason];
                if (!strcmp(info->pass, "layout") && info->left && all->items[i].made &&
                    !strcmp(all->items[i].made, op->location))
                        return arena_printf(run->arena,
                                            "its operands are not in the machine's blocks: %s",
                                            info->text);
        }
        return "its operands are not in the machine's blocks (--remarks=layout says why)";
}

static const char *why_no_product(struct run *run, const struct loop_stmt *call)
{
        const struct op *op = contraction_of(run->state.module, loop_call_location(call)), *at;
        if (!op)
                return "it is not a kernel of one contraction";
        if (!report_multiplies_bytes(op)) {
                const struct value *other =
                        is_byte(op_operand(op, 0)) ? op_operand(op, 1) : op_operand(op, 0);
                return arena_printf(run->arena, "its products are of %s, not of bytes",
                                    element_info[other->type->element].text);
        }
        if (has_unsigned(op->region))
                return "it multiplies bytes without a sign: --activations=s8 gives them one";
        if (op->code != OP_convolve_packed)
                return layout_of(run, op);
        const struct schedule_stream *words = schedule_stream(op->schedule);
        if (words && words->processor)
                return "with the launch, it is faster on the processor (--partition=machine)";
        const char *why = stream_refusal(op, run->context.target, &at);
        if (!why)
                return "no tile of it fits the machine's memories";
        return at && at != op ? arena_printf(run->arena, "%s: %s", op_info[at->code].name, why)
                              : why;
}

/* ---- the others ---- */

static const struct loop_buffer *root_of(const struct loop_stmt *call, int k)
{
        return loop_buffer_root(call->buffers[k], NULL);
}

/* Returns whether `writer` stores what `reader` loads. */
static bool hands_on(const struct loop_stmt *writer, const struct loop_stmt *reader)
{
        for (int k = 0; k < writer->function->buffer_count; k++)
                for (int i = 0; i < reader->function->buffer_count &&
                                writer->function->buffers[k]->access & ACCESS_OUT;
                     i++)
                        if (reader->function->buffers[i]->access & ACCESS_IN &&
                            root_of(writer, k) == root_of(reader, i))
                                return true;
        return false;
}

static bool has_floats(const struct loop_stmt *call)
{
        bool found = false;
        for (int k = 0; k < call->function->buffer_count; k++)
                found |= element_is_float(call->function->buffers[k]->element);
        return found;
}

/* Returns the operation that a kernel is called by. */
static enum opcode code_of(const struct loop_stmt *call)
{
        const char *summary = call->function->summary ? call->function->summary : "";
        enum opcode code;
        return opcode_from_text(summary, strcspn(summary, " ,"), &code) ? code : OP_fusion;
}

static bool moves(const struct loop_stmt *call)
{
        switch (code_of(call)) {
        case OP_pad:
        case OP_slice:
        case OP_concat:
        case OP_transpose:
        case OP_reshape:
        case OP_broadcast:
        case OP_gather: return true;
        default: return false;
        }
}

/* A launch reads what a call makes, or makes what it reads, perhaps through others that move
 * elements. */
struct meets { bool ahead, behind; };

static bool passes_on(const struct loop_stmt *call)
{
        return report_is_launch(call) || (moves(call) && !has_floats(call));
}

static struct meets *find_launches(const struct calls *calls)
{
        struct meets *m = arena_array(calls->arena, (size_t)calls->count + 1, sizeof *m);
        for (int i = 0; i < calls->count; i++)
                for (int k = 0; k < i && !m[i].behind; k++)
                        m[i].behind = passes_on(calls->items[k]) &&
                                      (report_is_launch(calls->items[k]) || m[k].behind) &&
                                      hands_on(calls->items[k], calls->items[i]);
        for (int i = calls->count - 1; i >= 0; i--)
                for (int k = i + 1; k < calls->count && !m[i].ahead; k++)
                        m[i].ahead = passes_on(calls->items[k]) &&
                                     (report_is_launch(calls->items[k]) || m[k].ahead) &&
                                     hands_on(calls->items[i], calls->items[k]);
        return m;
}

static const char *why_not(struct run *run, const struct loop_stmt *call, const struct meets *meets)
{
        const enum opcode code = code_of(call);
        if (run->options.exact)
                return "--exact";
        if (op_info[code].traits & TRAIT_CONTRACTION)
                return why_no_product(run, call);
        if (has_floats(call))
                return "it computes with floats, and the machine with bytes and sums of their "
                       "products";
        if (moves(call))
                return meets->ahead    ? "it brings values into the blocks that the machine reads"
                       : meets->behind ? "it takes values out of the blocks that the machine writes"
                                       : "it moves values that no launch reads or writes";
        if (code == OP_reduce_window)
                return target_accelerator(run->context.target)->activates
                               ? "the machine has no pools"
                               : "the machine takes the largest only of sums that a convolution in "
                                 "front has just made";
        if (code == OP_reduce)
                return "it adds up or compares along a row, which the machine does only as "
                       "products by constants";
        return "it is element by element, which the machine does only to sums that it has just "
               "made";
}

struct placement report_placement(struct run *run, const struct calls *calls)
{
        struct placement p = { .why = arena_array(run->arena, (size_t)calls->count + 1,
                                                  sizeof *p.why) };
        struct node_uses *uses = node_uses_new(run->arena);
        const struct meets *meets = find_launches(calls);
        for (int i = 0; i < calls->count; i++) {
                const struct loop_stmt *call = calls->items[i];
                const bool launch = report_is_launch(call),
                           for_launch = passes_on(call) && (meets[i].ahead || meets[i].behind);
                p.why[i] = launch ? NULL : why_not(run, call, &meets[i]);
                node_uses_add(uses, loop_call_location(call), launch, !launch && !for_launch);
        }
        p.nodes = node_uses_count(uses);
        return p;
}
