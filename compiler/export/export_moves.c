/* SPDX-License-Identifier: MIT */
/* These operations move elements, or sort them. */
#include <string.h>

#include "compiler/export/exporter.h"
#include "ir/tensor/spectrum.h"

static const struct type *to_type(const struct op *op) { return op_result(op)->type; }

/* Returns indices as nodes take them. */
static struct made *index_of(struct export *e, const struct value *v)
{
        struct made *made = export_value(e, v);
        return v->type->element == E_I32 ? made : export_cast(e, made, E_I64);
}

void write_reshape(struct export *e, const struct op *op, const struct plan *plan)
{
        (void)plan;
        export_result(e, op, 0,
                      export_reshape(e, export_value(e, op_operand(op, 0)), to_type(op)->rank,
                                     to_type(op)->dims));
}

void write_transpose(struct export *e, const struct op *op, const struct plan *plan)
{
        (void)plan;
        export_result(
                e, op, 0,
                export_transpose(e, export_value(e, op_operand(op, 0)), op_ints(op, "perm", NULL)));
}

void write_broadcast(struct export *e, const struct op *op, const struct plan *plan)
{
        const struct type *t = op_operand(op, 0)->type, *to = to_type(op);
        const int64_t *at = op_ints(op, "dims", NULL);
        int first = t->rank ? (int)at[0] : to->rank;
        dim_t dims[RANK_MAX];
        (void)plan;
        for (int d = first; d < to->rank; d++)
                dims[d - first] = dim_of(1);
        for (int d = 0; d < t->rank; d++)
                dims[at[d] - first] = t->dims[d];
        struct made *x =
                export_reshape(e, export_value(e, op_operand(op, 0)), to->rank - first, dims);
        export_result(e, op, 0, export_expand(e, x, to->rank, to->dims));
}

/* ---- slices ---- */

/* Returns entry d of a run-time list. */
static struct made *entry_of(struct export *e, struct made *list, int d)
{
        struct made *y = export_binary(e, "Gather", type_scalar(e->m, E_I64), list,
                                       export_integer(e, E_I64, d));
        export_int(e, "axis", 0);
        return y;
}

/* Returns 0, 1, ..., count - 1. */
static struct made *range(struct export *e, enum element element, dim_t count)
{
        struct made *end =
                dim_is_static(count)
                        ? export_scalar(e, element, (double)dim_extent(count))
                        : export_cast(e, export_reshape(e, export_extent(e, count), 0, NULL),
                                      element);
        return export_node(e, "Range", type_tensor(e->m, element, 1, &count),
                           (struct made *[]){ export_integer(e, element, 0), end,
                                              export_scalar(e, element, 1) },
                           3);
}

/* Gathers where starts or steps are not known: along each dimension that may change, the elements
 * at start + i * step. */
static struct made *gathered(struct export *e, const struct op *op)
{
        const struct type *t = op_operand(op, 0)->type;
        struct made *x = export_value(e, op_operand(op, 0)),
                    *starts = export_value(e, op_operand(op, 1)),
                    *steps = export_value(e, op_operand(op, 2));
        int64_t step[RANK_MAX];
        int count;
        bool forward = value_ints(op_operand(op, 2), step, RANK_MAX, &count);
        dim_t dims[RANK_MAX];
        memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
        for (int d = 0; d < t->rank; d++) {
                const dim_t extent = to_type(op)->dims[d];
                if (dim_equal(t->dims[d], extent) &&
                    (dim_bound(e->m, extent) <= 1 || (forward && step[d] > 0)))
                        continue;
                const struct type *list = type_tensor(e->m, E_I64, 1, &extent);
                struct made *at = range(e, E_I64, extent);
                at = export_binary(e, "Mul", list, at, entry_of(e, steps, d));
                at = export_binary(e, "Add", list, at, entry_of(e, starts, d));
                dims[d] = extent;
                x = export_binary(e, "Gather", type_tensor(e->m, t->element, t->rank, dims), x, at);
                export_int(e, "axis", d);
        }
        return x;
}

void write_slice(struct export *e, const struct op *op, const struct plan *plan)
{
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        int count;
        (void)plan;
        bool known = value_ints(op_operand(op, 1), starts, RANK_MAX, &count) &&
                     value_ints(op_operand(op, 2), steps, RANK_MAX, &count);
        export_result(e, op, 0,
                      known ? export_slice(e, export_value(e, op_operand(op, 0)), starts, steps,
                                           to_type(op)->dims)
                            : gathered(e, op));
}

/* ---- pads ---- */

/* Returns low pads, then high ones, as the result's extents say. */
static struct made *pads_made(struct export *e, const struct op *op)
{
        const struct type *t = op_operand(op, 0)->type;
        int64_t more[RANK_MAX];
        const dim_t both[1] = { dim_of(2 * t->rank) };
        struct made *low = export_value(e, op_operand(op, 2));
        for (int d = 0; d < t->rank; d++)
                more[d] = export_more(e, to_type(op)->dims[d], t->dims[d]);
        struct made *high =
                export_binary(e, "Sub", low->type, export_numbers(e, more, t->rank), low);
        struct made *pads =
                export_binary(e, "Concat", type_tensor(e->m, E_I64, 1, both), low, high);
        export_int(e, "axis", 0);
        return pads;
}

void write_pad(struct export *e, const struct op *op, const struct plan *plan)
{
        const struct type *t = op_operand(op, 0)->type;
        int64_t pads[2 * RANK_MAX], *high = pads + t->rank, mode = op_int(op, "mode");
        const char *const *names = NULL;
        int count;
        bool known = value_ints(op_operand(op, 2), pads, RANK_MAX, &count), none = true;
        (void)plan;
        for (int i = 0; i < op_info[op->code].attr_count; i++)
                if (!strcmp(op_info[op->code].attrs[i].name, "mode"))
                        names = op_info[op->code].attrs[i].names;
        struct made *x = export_value(e, op_operand(op, 0)),
                    *value = export_value(e, op_operand(op, 1));
        for (int d = 0; d < t->rank && known; d++)
                high[d] = export_more(e, to_type(op)->dims[d], t->dims[d]) - pads[d];
        if (known)
                /* Negative amounts crop first. */
                x = export_crop(e, x, 0, t->rank, pads, high);
        for (int d = 0; d < 2 * t->rank && known; d++)
                none &= !pads[d];
        if (!known || !none) {
                struct made *amounts =
                        known ? export_numbers(e, pads, 2 * t->rank) : pads_made(e, op);
                x = export_node(e, "Pad", to_type(op), (struct made *[]){ x, amounts, value },
                                value && !mode ? 3 : 2);
                export_text(e, "mode", names[mode]);
        }
        export_result(e, op, 0, x);
}

/* ---- parts by index ---- */

void write_concat(struct export *e, const struct op *op, const struct plan *plan)
{
        struct made **xs = arena_array(e->arena, (size_t)op->operand_count, sizeof *xs);
        (void)plan;
        for (int i = 0; i < op->operand_count; i++)
                xs[i] = export_value(e, op_operand(op, i));
        struct made *y = export_node(e, "Concat", to_type(op), xs, op->operand_count);
        export_int(e, "axis", op_int(op, "axis"));
        export_result(e, op, 0, y);
}

void write_gather(struct export *e, const struct op *op, const struct plan *plan)
{
        (void)plan;
        struct made *x = export_value(e, op_operand(op, 0)), *at = index_of(e, op_operand(op, 1));
        struct made *y = export_binary(e, "Gather", to_type(op), x, at);
        export_int(e, "axis", op_int(op, "axis"));
        export_result(e, op, 0, y);
}

void write_gather_elements(struct export *e, const struct op *op, const struct plan *plan)
{
        (void)plan;
        struct made *x = export_value(e, op_operand(op, 0)), *at = index_of(e, op_operand(op, 1));
        struct made *y = export_binary(e, "GatherElements", to_type(op), x, at);
        export_int(e, "axis", op_int(op, "axis"));
        export_result(e, op, 0, y);
}

void write_gather_nd(struct export *e, const struct op *op, const struct plan *plan)
{
        (void)plan;
        struct made *x = export_value(e, op_operand(op, 0)),
                    *at = export_cast(e, export_value(e, op_operand(op, 1)), E_I64);
        struct made *y = export_binary(e, "GatherND", to_type(op), x, at);
        export_int(e, "batch_dims", op_int(op, "batch_dims"));
        export_result(e, op, 0, y);
}

void write_scatter(struct export *e, const struct op *op, const struct plan *plan)
{
        static const char *const reductions[] = {
                "none",
                [1 + REDUCE_sum] = "add",
                [1 + REDUCE_prod] = "mul",
                [1 + REDUCE_max] = "max",
                [1 + REDUCE_min] = "min",
        };
        int64_t axis = op_int(op, "axis"), kind = op_int(op, "kind");
        (void)plan;
        struct made *x = export_value(e, op_operand(op, 0)), *at = index_of(e, op_operand(op, 1)),
                    *updates = export_value(e, op_operand(op, 2));
        if (axis < 0)
                at = export_cast(e, at, E_I64);
        else if (!type_same_dims(at->type, updates->type))
                at = export_expand(e, at, updates->type->rank, updates->type->dims);
        bool truth = kind && x->type->element == E_BOOL; /* any and all are the largest and the
                                                          * least of bytes. */
        if (truth) {
                x = export_cast(e, x, E_U8);
                updates = export_cast(e, updates, E_U8);
        }
        struct made *y = export_node(e, axis < 0 ? "ScatterND" : "ScatterElements", x->type,
                                     (struct made *[]){ x, at, updates }, 3);
        if (axis >= 0)
                export_int(e, "axis", axis);
        if (kind)
                export_text(e, "reduction", reductions[kind]);
        export_result(e, op, 0, export_cast(e, y, to_type(op)->element));
}

void write_argsort(struct export *e, const struct op *op, const struct plan *plan)
{
        const int64_t axis = op_int(op, "axis");
        struct made *x = export_value(e, op_operand(op, 0));
        (void)plan;
        if (x->type->element == E_BOOL)
                x = export_cast(e, x, E_U8);
        export_binary(e, "TopK", type_with_element(e->m, to_type(op), x->type->element), x,
                      export_extent(e, to_type(op)->dims[axis]));
        export_int(e, "axis", axis);
        export_int(e, "largest", op_int(op, "descending"));
        export_int(e, "sorted", 1);
        export_result(e, op, 0, export_output(e, to_type(op)));
}

/* A DFT of one axis after the other, the half first in a forward transform, last in an inverse
 * one. */
void write_spectrum(struct export *e, const struct op *op, const struct plan *plan)
{
        int count;
        const int64_t *axes = op_ints(op, "axes", &count);
        const bool inverse = op_int(op, "inverse"), half = op_int(op, "half");
        struct made *x = export_value(e, op_operand(op, 0));
        const int parts = spectrum_parts(op), last = x->type->rank - 1;
        int64_t to_last[RANK_MAX], back[RANK_MAX];
        (void)plan;
        for (int d = 0; d <= last; d++) {
                to_last[d] = d == last ? parts : d + (d >= parts);
                back[to_last[d]] = d;
        }
        if (parts != last)
                x = export_transpose(e, x, to_last);
        for (int step = 0; step < count; step++) {
                const int number = inverse ? step : count - 1 - step,
                          axis = (int)(axes[number] - (axes[number] > parts));
                const bool folded = half && number == count - 1;
                dim_t dims[RANK_MAX];
                memcpy(dims, x->type->dims, (size_t)x->type->rank * sizeof *dims);
                dims[axis] = to_type(op)->dims[axes[number]];
                dims[last] = dim_of(inverse && folded ? 1 : 2);
                const struct type *to =
                        type_tensor(e->m, x->type->element, x->type->rank, dims);
                struct made *length =
                        inverse && folded
                                ? export_integer(e, E_I64, dim_extent(dims[axis]))
                                : NULL;
                x = export_node(e, "DFT", to,
                                (struct made *[]){ x, length, export_integer(e, E_I64, axis) }, 3);
                export_int(e, "inverse", inverse);
                export_int(e, "onesided", folded);
        }
        export_result(e, op, 0, parts == last ? x : export_transpose(e, x, back));
}

/* ---- indices ---- */

void write_iota(struct export *e, const struct op *op, const struct plan *plan)
{
        const struct type *to = to_type(op);
        int axis = (int)op_int(op, "axis");
        enum element element = to->element;
        bool has_range =
                element == E_F32 || element == E_F64 || element == E_I32 || element == E_I64;
        dim_t dims[RANK_MAX];
        (void)plan;
        struct made *x = range(e, has_range ? element : E_I64, to->dims[axis]);
        x = export_cast(e, x, element);
        dims[0] = to->dims[axis];
        for (int d = axis + 1; d < to->rank; d++)
                dims[d - axis] = dim_of(1);
        x = export_reshape(e, x, to->rank - axis, dims);
        export_result(e, op, 0, export_expand(e, x, to->rank, to->dims));
}

void write_extent(struct export *e, const struct op *op, const struct plan *plan)
{
        const int64_t axis = op_int(op, "axis");
        const dim_t one = dim_of(1);
        (void)plan;
        struct made *y = export_unary(e, "Shape", type_tensor(e->m, E_I64, 1, &one),
                                      export_value(e, op_operand(op, 0)));
        export_int(e, "start", axis);
        export_int(e, "end", axis + 1);
        export_result(e, op, 0, export_reshape(e, y, 0, NULL));
}
