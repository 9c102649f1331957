/* SPDX-License-Identifier: MIT */
/* Lowering, the description of a kernel for the reader: its name, nodes of the model, one line on
 * what it computes, and floating-point operations. */
#include <string.h>

#include "ir/lower/lower_emit.h"
#include "ir/target/schedule.h"
#include "ir/tensor/spectrum.h"
#include "ir/tensor/winograd_tiles.h"

enum { NAMED_MAX = 6 };                 /* A summary lists this many operations. */
enum { NAME_ROOM = 28 };                /* A kernel's name has about this many characters. */

static const struct op *next_op(const struct kernel_request *request, const struct op *op)
{
        const struct op *next = op ? (request->region ? op->next : NULL)
                                   : request->region ? request->region->first : request->op;
        return next && next->code != OP_yield ? next : NULL;
}

/* Returns the operation that gives the kernel its name: its contraction or reduction, else the last
 * one. */
static const struct op *main_op(const struct kernel_request *request)
{
        const struct op *last = NULL;
        for (const struct op *op = NULL; (op = next_op(request, op));) {
                if (op_info[op->code].traits & (TRAIT_CONTRACTION | TRAIT_REDUCTION))
                        return op;
                last = op;
        }
        return last;
}

static void add_dims(struct text *out, const struct module *m, const struct type *t)
{
        struct arena *arena = arena_new();
        text_add(out, "%s", type_text(arena, m, t));
        arena_free(arena);
}

static void add_summary(struct text *out, const struct module *m,
                        const struct kernel_request *request, const struct op *main)
{
        if (!main)
                text_add(out, "copy");
        int named = 0;
        unsigned traits = main ? op_info[main->code].traits : 0;
        bool alone = request->op && main->operand_count && !(traits & TRAIT_ELEMENTWISE);
        bool first = alone || traits & (TRAIT_CONTRACTION | TRAIT_REDUCTION);
        if (first) {
                text_add(out, "%s ", op_info[main->code].name);
                add_dims(out, m, op_operand(main, 0)->type);
                if (traits & TRAIT_CONTRACTION) {
                        text_add(out, " by ");
                        add_dims(out, m, op_operand(main, 1)->type);
                }
                named++;
        }
        for (const struct op *op = NULL; (op = next_op(request, op));) {
                if (op == main && first)
                        continue;
                if (named && op_info[op->code].traits & TRAIT_FREE)
                        continue;
                if (named > NAMED_MAX) {
                        text_add(out, ", ...");
                        break;
                }
                text_add(out, "%s%s", out->length ? ", " : "", op_info[op->code].name);
                named++;
        }
        text_add(out, " -> ");
        add_dims(out, m, request->results[0]->type);
        if (main && main->schedule) {
                text_add(out, "; ");
                schedule_print_words(out, main->schedule);
        }
}

/* ---- work ---- */

/* Returns how many elements v has at most. */
static double elements(const struct module *m, const struct value *v)
{
        return (double)type_most_elements(m, v->type);
}

/* Returns the flops without padded channels and outputs, at the bounds of the extents. */
static double packed_flops(const struct op *op)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        const struct type *y = op_result(op)->type;
        double flops = 2.0 * (double)(op_int(op, "groups") * op_int(op, "outputs"));
        flops *= (double)op_int(op, "channels") * (double)dim_bound(op_module(op), y->dims[0]);
        for (int d = 2; d < x->rank - 1; d++)
                flops *= (double)type_extent(w, d) * (double)dim_bound(op_module(op), y->dims[d]);
        return flops;
}

/* Returns the work of transforms and products as they are computed, in whole tiles. */
static double winograd_work(const struct op *op)
{
        const struct winograd_square f = winograd_of(op);
        const int64_t *tile = op_ints(op, "tile", NULL);
        const struct type *y = op_result(op)->type;
        double channels = (double)type_extent(op_operand(op, 1)->type, 2),
               outputs = (double)op_int(op, "outputs");
        double tiles = (double)dim_bound(op_module(op), y->dims[0]);
        for (int d = 0; d < winograd_dims(op); d++)
                tiles *= (double)divide_up(dim_bound(op_module(op), y->dims[2 + d]), tile[d]);
        return tiles *
               (channels * winograd_flops(&f.along[0].input, &f.along[1].input) +
                outputs * winograd_flops(&f.along[0].output, &f.along[1].output) +
                2 * channels * outputs * f.elements);
}

/* Returns the work of all lines along all axes. */
static double spectrum_work(const struct op *op)
{
        int count;
        const int64_t *axes = op_ints(op, "axes", &count);
        const struct value *x = op_operand(op, 0), *y = op_result(op);
        const struct value *most = elements(op_module(op), x) > elements(op_module(op), y) ? x : y;
        double work = 0;
        for (int i = 0; i < count; i++) {
                const struct spectrum_plan plan = spectrum_plan_of(op, i);
                const struct type *t = most->type;
                work += spectrum_flops(&plan) * elements(op_module(op), most) /
                        (double)(type_extent(t, spectrum_parts(op)) * type_extent(t, (int)axes[i]));
        }
        return work;
}

double op_flops(const struct op *op)
{
        const struct op_info *info = &op_info[op->code];
        const struct module *m = op_module(op);
        const struct value *y = op_result(op);
        bool counts = op->operand_count && (info->traits & TRAIT_CONTRACTION ||
                                            element_is_float(op_operand(op, 0)->type->element));
        if (!counts || info->traits & TRAIT_FREE)
                return 0;
        if (op->code == OP_spectrum)
                return spectrum_work(op);
        if (info->traits & TRAIT_WHOLE)
                return op->code == OP_scatter && op_int(op, "kind") ? elements(m, op_operand(op, 2))
                                                                    : 0;
        double per_element = 1;
        if (op->code == OP_convolve) {
                const struct value *w = op_operand(op, 1);
                per_element = type_extent(w->type, 0)
                                      ? 2 * elements(m, w) / (double)type_extent(w->type, 0)
                                      : 0;
        } else if (op->code == OP_convolve_packed) {
                return packed_flops(op);
        } else if (op->code == OP_convolve_winograd) {
                return winograd_work(op);
        } else if (op->code == OP_convolve_lanes) {
                const struct value *w = op_operand(op, 1);
                per_element =
                        2 * elements(m, w) /
                        (double)(type_extent(w->type, 0) * type_extent(w->type, w->type->rank - 1));
        } else if (op->code == OP_dot_blocks) {
                per_element = 2 * (double)type_extent(op_operand(op, 0)->type, 3);
        } else if (op->code == OP_dot) {
                int count;
                const int64_t *dims = op_ints(op, "contract_a", &count);
                per_element = 2;
                for (int i = 0; i < count; i++)
                        per_element *=
                                (double)dim_bound(m, op_operand(op, 0)->type->dims[dims[i]]);
        } else if (op->code == OP_reduce || running_axis(op) >= 0) {
                return elements(m, op_operand(op, 0));
        } else if (op->code == OP_reduce_window || op->code == OP_arg_window) {
                int count;
                const int64_t *window = op_ints(op, "window", &count);
                for (int i = 0; i < count; i++)
                        per_element *= (double)window[i];
        } else if (op->code == OP_cast || op->code == OP_bitcast || op->code == OP_select) {
                return 0;
        }
        return per_element * elements(m, y);
}

/* ---- all of it ---- */

/* Adds the locations of all operations, each once. */
static void add_location(struct text *out, const struct kernel_request *request)
{
        const struct op *owner = request->region ? request->region->owner : request->op;
        if (owner && owner->location) {
                text_add(out, "%s", owner->location);
                return;
        }
        const char *before = NULL;
        int count = 0;
        for (const struct op *op = NULL; (op = next_op(request, op)) && count < 2 * NAMED_MAX;) {
                if (!op->location || (before && !strcmp(before, op->location)))
                        continue;
                text_add(out, "%s%s", out->length ? ", " : "", op->location);
                before = op->location;
                count++;
        }
}

/* Returns the end of a path, which is its most telling part: as many of its last parts as an
 * identifier has room for. */
static const char *short_name(struct arena *arena, const char *name, size_t length)
{
        size_t start = 0;
        while (length - start > NAME_ROOM) {
                size_t part = strcspn(name + start, "/.:") + 1;
                if (start + part >= length)
                        break;
                start += part;
        }
        return arena_printf(arena, "%.*s", (int)(length - start), name + start);
}

/* Returns a summary without the quotes around names of dimensions that are no identifiers; NULL
 * where it may not stand in a comment even so. */
static const char *without_quotes(struct arena *arena, const char *text)
{
        char *plain = arena_string(arena, text), *to = plain;
        for (const char *from = text; *from; from++)
                if (*from != '"')
                        *to++ = *from;
        *to = 0;
        return text_is_remark(plain, strlen(plain)) ? plain : NULL;
}

void kernel_describe(struct arena *arena, struct loop_function *kernel,
                     const struct kernel_request *request)
{
        const struct op *main = main_op(request);
        struct text text = { 0 };
        add_location(&text, request);
        kernel->location = text.length ? arena_string(arena, text.data) : NULL;
        const char *named = main && main->location ? main->location : kernel->location;
        if (named && *named)
                kernel->name = short_name(arena, named, strcspn(named, ","));
        else
                kernel->name = main ? op_info[main->code].name : "copy";
        text.length = 0;
        add_summary(&text, module_of_request(request), request, main);
        kernel->summary = without_quotes(arena, text.data);
        text_free(&text);
        for (const struct op *op = NULL; (op = next_op(request, op));)
                kernel->flops += op_flops(op);
        kernel->flops += kernel->again;
}
