/* SPDX-License-Identifier: MIT */
#include "ir/tensor/spectrum.h"
#include "ir/tensor/type_rules.h"

int spectrum_parts(const struct op *op)
{
        const int64_t parts = op_int(op, "parts");
        return parts < 0 ? operand_type(op, 0)->rank - 1 : (int)parts;
}

struct spectrum_plan spectrum_plan_of(const struct op *op, int number)
{
        int count;
        const int64_t *axes = op_ints(op, "axes", &count);
        const bool folded = op_int(op, "inverse") && op_int(op, "half") && number == count - 1;
        return spectrum_plan(folded ? op_int(op, "length")
                                    : type_extent(operand_type(op, 0), (int)axes[number]));
}

/* Is the extent of the transform along one of the axes good? Sets that of the result. */
static bool check_axis(struct module *m, struct op *op, int axis, bool last, dim_t *y,
                       struct diag *diag)
{
        const struct type *x = operand_type(op, 0);
        const bool inverse = op_int(op, "inverse"), half = op_int(op, "half") && last;
        const int64_t length = op_int(op, "length");
        if (!dim_is_static(x->dims[axis]) || type_extent(x, axis) < 1 ||
            type_extent(x, axis) > SPECTRUM_EXTENT_MAX)
                return rule_fail(op, diag, "operand x is %s, want 1 to %d elements along axis %d",
                                 rule_type(m, x), SPECTRUM_EXTENT_MAX, axis);
        if (inverse && half &&
            (length < 1 || length > SPECTRUM_EXTENT_MAX || length / 2 + 1 != type_extent(x, axis)))
                return rule_fail(op, diag, "length is %lld, want a length whose half is %s",
                                 (long long)length, rule_type(m, x));
        *y = !half     ? x->dims[axis]
             : inverse ? dim_of(length)
                       : dim_of(type_extent(x, axis) / 2 + 1);
        return true;
}

bool type_spectrum(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *table = operand_type(op, 1);
        const bool inverse = op_int(op, "inverse"), half = op_int(op, "half");
        int count;
        const int64_t *axes = op_ints(op, "axes", &count);
        int64_t entries = 0;
        dim_t dims[RANK_MAX];
        if (op_int(op, "parts") != -1 &&
            !rule_axis(op, op_int(op, "parts"), x->rank, "parts", diag))
                return false;
        const int parts = spectrum_parts(op);
        if (x->rank < 2 || (x->element != E_F32 && x->element != E_F64) ||
            (!dim_is(x->dims[parts], 1) && !dim_is(x->dims[parts], 2)))
                return rule_fail(op, diag,
                                 "operand x is %s, want real, or real and imaginary, parts of f32 "
                                 "or f64 in %s dimension",
                                 rule_type(m, x), parts == x->rank - 1 ? "its last" : "that");
        if (count < 1 || count > SPECTRUM_AXES_MAX)
                return rule_fail(op, diag, "axes has %d values, want 1 or 2", count);
        if (!rule_distinct(op, "axes", axes, count, parts == x->rank - 1 ? parts : x->rank, diag))
                return false;
        for (int i = 0; i < count; i++)
                if (axes[i] == parts)
                        return rule_fail(op, diag, "dimension %d is the parts", parts);
        for (int i = 0; i < 2; i++) {
                const char *name = i ? "half" : "inverse";
                if (op_int(op, name) != 0 && op_int(op, name) != 1)
                        return rule_fail(op, diag, "%s is %lld, want 0 or 1", name,
                                         (long long)op_int(op, name));
        }
        if (op_int(op, "length") && !(inverse && half))
                return rule_fail(op, diag, "length is %lld, want none but of an inverse of a half",
                                 (long long)op_int(op, "length"));
        for (int d = 0; d < x->rank; d++)
                dims[d] = x->dims[d];
        for (int i = 0; i < count; i++) {
                if (!check_axis(m, op, (int)axes[i], i == count - 1, &dims[axes[i]], diag))
                        return false;
                const struct spectrum_plan plan = spectrum_plan_of(op, i);
                entries += spectrum_table_extent(&plan);
        }
        if (table->element != x->element || table->rank != 1 || !dim_is(table->dims[0], entries))
                return rule_fail(op, diag, "operand table is %s, want %lld elements of type %s",
                                 rule_type(m, table), (long long)entries,
                                 element_info[x->element].text);
        dims[parts] = dim_of(inverse && half ? 1 : 2);
        return rule_shape(m, op, x->element, x->rank, dims, diag);
}

struct value *build_spectrum(struct builder *b, struct value *x,
                             const struct spectrum_request *request)
{
        struct attr *attrs = attrs_new(b->m, OP_spectrum);
        struct spectrum_plan plans[SPECTRUM_AXES_MAX];
        int64_t axes[SPECTRUM_AXES_MAX], entries = 0;
        if (!x)
                return NULL;
        const enum element element = x->type->element;
        for (int i = 0; i < request->count; i++) {
                axes[i] = request->axes[i];
                plans[i] = spectrum_plan(request->length && i == request->count - 1
                                                 ? request->length
                                                 : type_extent(x->type, (int)axes[i]));
                entries += spectrum_table_extent(&plans[i]);
        }
        attr_set_ints(b->m, attrs, OP_spectrum, "axes", axes, request->count);
        attr_set(attrs, OP_spectrum, "inverse", request->inverse);
        attr_set(attrs, OP_spectrum, "half", request->half);
        attr_set(attrs, OP_spectrum, "length", request->length);
        attr_set(attrs, OP_spectrum, "parts", request->parts);
        const struct type *wide = type_tensor(b->m, E_F64, 1, (const dim_t[]){ dim_of(entries) });
        double *table = constant_room(b->m, (size_t)(entries + !entries) * sizeof *table);
        int64_t at = 0;
        for (int i = 0; i < request->count; i++) {
                spectrum_table(&plans[i], table + at);
                at += spectrum_table_extent(&plans[i]);
        }
        struct value *all = constant_dense(b->m, wide, table, "roots");
        if (element != E_F64)
                all = constant_cast(b->m, all->constant, element);
        return value_build(b, OP_spectrum, (struct value *[]){ x, all }, 2, attrs, NULL);
}
