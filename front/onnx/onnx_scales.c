/* SPDX-License-Identifier: MIT */
/* Scales and zero points that no quantizer writes are errors, whatever the operator. They and other
 * numbers that nodes are told are no weights. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_model.h"

enum scale_rule { USUAL, FINITE, ANY };
static const struct scaled {
        const char *op;
        int every;
        unsigned scales, zeros;         /* Under the rule ANY, scales are any operands. */
        enum scale_rule rule;
} scaled[] = {
#define SCALED(op, every, scales, zeros, rule) { op, every, scales, zeros, rule },
#define TOLD(op, operands) { op, 32, operands, 0, ANY },
#include "front/onnx/onnx_scales.def"
};

/* Returns how many elements are to be looked at, which is one in a splat. */
static int64_t different_elements(const struct value *v)
{
        int64_t count = type_elements(v->type);
        return v->constant->kind == CONSTANT_SPLAT && count ? 1 : count;
}

static const char *place(struct onnx_import *im, const struct value *v, int64_t i)
{
        return type_elements(v->type) == 1
                       ? ""
                       : arena_printf(im->arena, " as element %lld", (long long)i);
}

/* Returns whether the number may be a scale. Denormal numbers have few digits, and make x86 slow:
 * no quantization step is that small. Those of f16 are ordinary ones of f32, in which scales are
 * computed with; f8e8m0 has powers of 2 alone. */
static bool is_scale(const struct value *v, int64_t i, enum scale_rule rule, double *x)
{
        enum element e = value_element(v);
        union scalar s = constant_element(v->constant, i);
        if (e == E_F8E8M0)
                *x = s.u == 255 ? NAN : ldexp(1, (int)s.u - 127);
        else
                *x = element_is_float(e) ? s.f : 1; /* The importer wants a float. */
        double least = e == E_F64 ? DBL_MIN : e == E_F8E8M0 ? 0 : FLT_MIN;
        return isfinite(*x) && (rule == FINITE || *x >= least);
}

/* Checks a scale, and says that it is no weight. */
static bool check_scale(struct onnx_import *im, const struct onnx_node *n, int input,
                        enum scale_rule rule)
{
        const struct value *v = n->inputs[input];
        struct import_weight *weight = onnx_weight(im, v);
        double x;
        if (weight)
                weight->setting = true;
        for (int64_t i = 0, count = rule == ANY ? 0 : different_elements(v); i < count; i++)
                if (!is_scale(v, i, rule, &x))
                        return onnx_invalid(
                                im, n, "operand %d, a scale, holds %g%s, want a %s number", input,
                                x, place(im, v, i), rule == FINITE ? "finite" : "positive, normal");
        return true;
}

/* Checks a zero point: one of few bits may be any number of its type, one of 32 bits must be 0, as
 * the standard wants. */
static bool check_zero(struct onnx_import *im, const struct onnx_node *n, int input)
{
        const struct value *v = n->inputs[input];
        int64_t count = value_element(v) == E_I32 ? different_elements(v) : 0;
        for (int64_t i = 0; i < count; i++) {
                long long x = constant_element(v->constant, i).i;
                if (x)
                        return onnx_invalid(im, n,
                                            "operand %d, a zero point of i32, holds %lld%s, want 0",
                                            input, x, place(im, v, i));
        }
        return true;
}

bool onnx_check_scales(struct onnx_import *im, const struct onnx_node *n)
{
        const struct scaled *s = NULL;
        for (size_t i = 0; i < sizeof scaled / sizeof *scaled && !s; i++)
                s = strcmp(scaled[i].op, n->row->op) ? NULL : &scaled[i];
        for (int i = 0; s && i < n->input_count; i++) {
                if (!n->inputs[i] || !value_is_constant(n->inputs[i]))
                        continue;
                if ((s->scales >> i % s->every & 1 && !check_scale(im, n, i, s->rule)) ||
                    (s->zeros >> i % s->every & 1 && !check_zero(im, n, i)))
                        return false;
        }
        return true;
}
