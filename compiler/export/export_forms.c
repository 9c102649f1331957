/* SPDX-License-Identifier: MIT */
/* A form is several operations that are one node of ONNX. They are what the importer makes of that
 * node, so a model that is written and read again has the same operations. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "compiler/export/exporter.h"

/* ---- numbers for each index of an axis ---- */

/* Returns whether every element of a dense constant depends on its index along axis alone. */
static bool follows_axis(const struct constant *c, int axis)
{
        const struct type *t = c->value.type;
        size_t each = (size_t)element_info[t->element].bytes;
        int64_t inner = 1, count = type_elements(t);
        const char *data = constant_data(c);
        for (int d = axis + 1; d < t->rank; d++)
                inner *= type_extent(t, d);
        for (int64_t i = 0; i < count; i++)
                if (memcmp(data + (size_t)i * each,
                           data + (size_t)(i / inner % type_extent(t, axis) * inner) * each, each))
                        return false;
        return true;
}

/* Returns the first element for each index, as a constant of rank 1. */
static const struct value *along(struct export *e, const struct constant *c, int axis)
{
        const struct type *t = c->value.type;
        size_t each = (size_t)element_info[t->element].bytes;
        const dim_t dims[1] = { t->dims[axis] };
        const bool whole = type_elements(t) == dim_extent(dims[0]);
        int64_t inner = 1;
        struct constant *own = ARENA_NEW(e->arena, struct constant);
        *own = (struct constant){ .kind = CONSTANT_DENSE, .name = c->name };
        own->value = (struct value){ .kind = VALUE_CONSTANT,
                                     .constant = own,
                                     .type = type_tensor(e->m, t->element, 1, dims) };
        if (c->kind == CONSTANT_SPARSE && whole) {
                own->kind = CONSTANT_SPARSE;
                own->sparse = c->sparse;
                return &own->value;
        }
        char *data = arena_array(e->arena, (size_t)dim_extent(dims[0]), each);
        for (int d = axis + 1; d < t->rank; d++)
                inner *= type_extent(t, d);
        for (int64_t i = 0; i < dim_extent(dims[0]); i++)
                memcpy(data + (size_t)i * each,
                       (const char *)constant_data(c) + (size_t)(i * inner) * each, each);
        own->held = data;
        return &own->value;
}

bool export_per_axis(struct export *e, const struct value *v, struct per_axis *p)
{
        *p = (struct per_axis){ .source = NULL, .axis = -1 };
        if (value_is_splat(v, &p->number))
                return true;
        if (op_is(v, OP_broadcast) && op_operand(v->op, 0)->type->rank <= 1) {
                p->source = op_operand(v->op, 0);
                if (p->source->type->rank)
                        p->axis = (int)op_ints(v->op, "dims", NULL)[0];
                return p->axis < 0 || dim_equal(p->source->type->dims[0], v->type->dims[p->axis]);
        }
        if (!value_is_constant(v) || !type_elements(v->type))
                return false;
        for (int d = 0; d < v->type->rank; d++) {
                if (!follows_axis(v->constant, d))
                        continue;
                p->source = along(e, v->constant, d);
                p->axis = d;
                return true;
        }
        return false;
}

static int64_t count_of(const struct per_axis *p)
{
        return p->axis < 0 || !p->source ? 1 : type_extent(p->source->type, 0);
}

/* Returns number i of constant numbers. */
static double number_of(const struct per_axis *p, int64_t i)
{
        if (!p->source)
                return p->number;
        enum element_class class = element_info[p->source->type->element].class;
        union scalar s = constant_element(p->source->constant, i);
        return class == CLASS_FLOAT ? s.f : class == CLASS_SINT ? (double)s.i : (double)s.u;
}

static bool is_known(const struct per_axis *p)
{
        return !p->source || value_is_constant(p->source);
}

/* Makes an initializer of `element`, of `count` numbers (at 1: a scalar). */
static struct made *numbers_made(struct export *e, const struct per_axis *p, enum element element,
                                 int64_t count)
{
        if (!is_known(p))
                return export_value(e, p->source);
        if (p->source && p->source->constant->kind == CONSTANT_SPARSE && p->axis >= 0 &&
            p->source->type->element == element && count_of(p) == count)
                return export_constant_as(e, export_base(e, p->source->constant->name),
                                          p->source->constant, p->source->type);
        size_t each = (size_t)element_info[element].bytes;
        const dim_t dims[1] = { dim_of(count) };
        const char *name = p->source ? p->source->constant->name : NULL;
        char *data = arena_array(e->arena, (size_t)count + 1, each);
        for (int64_t i = 0; i < count; i++) {
                double x = number_of(p, count_of(p) == 1 ? 0 : i);
                union scalar s = { .f = x };
                if (element_info[element].class == CLASS_SINT)
                        s.i = (long long)x;
                else if (element_info[element].class == CLASS_UINT)
                        s.u = (unsigned long long)x;
                element_store(element, data, (size_t)i, s);
        }
        return export_dense(e, export_base(e, name),
                            type_tensor(e->m, element, p->axis < 0 ? 0 : 1, dims), data);
}

/* ---- quantization ---- */

/* Returns whether they are scales: the importer and runtimes want scales that are positive, normal
 * numbers. */
static bool is_scale(const struct per_axis *p)
{
        for (int64_t i = 0; is_known(p) && i < count_of(p); i++)
                if (!(number_of(p, i) >= FLT_MIN && number_of(p, i) <= FLT_MAX))
                        return false;
        return true;
}

static bool is_byte(enum element e) { return e == E_I8 || e == E_U8 || e == E_I16 || e == E_U16; }

/* Returns whether they are whole numbers of type e. */
static bool is_zero_point(const struct per_axis *p, enum element e)
{
        int bits = 8 * element_info[e].bytes;
        bool sign = element_info[e].class == CLASS_SINT;
        double least = sign ? -ldexp(1, bits - 1) : 0, most = ldexp(1, bits - sign) - 1;
        if (!is_known(p))
                return p->source->type->element == e;
        for (int64_t i = 0; i < count_of(p); i++) {
                double x = number_of(p, i);
                if (!(x >= least && x <= most && x == floor(x)))
                        return false;
        }
        return true;
}

/* Reads a zero point as it stands in arithmetic: a constant, or a cast of one of type e, spread. */
static bool zero_point(struct export *e, const struct value *v, enum element type,
                       struct per_axis *p)
{
        const struct value *inner = v;
        if (op_is(v, OP_cast) && op_operand(v->op, 0)->type->element == type)
                inner = op_operand(v->op, 0);
        return export_per_axis(e, inner, p) && is_zero_point(p, type);
}

/* Checks that both have one axis; what has one number takes the other's. */
static bool agree(struct plan *plan)
{
        struct per_axis *scale = &plan->scale, *zero = &plan->zero;
        bool known = is_known(scale) && is_known(zero);
        if (scale->axis >= 0 && zero->axis >= 0)
                return scale->axis == zero->axis;
        return scale->axis == zero->axis || known;
}

static void want_numbers(struct plan *plan, const struct per_axis *p)
{
        if (!is_known(p))
                plan->wants[plan->want_count++] = (struct value *)(uintptr_t)p->source;
}

static void want_quantization(struct plan *plan, struct value *x)
{
        plan->wants[0] = x;
        plan->want_count = 1;
        want_numbers(plan, &plan->scale);
        want_numbers(plan, &plan->zero);
}

static void write_quantization(struct export *e, const struct op *op, const struct plan *plan,
                               const char *name, enum element to, enum element numbers)
{
        int64_t count = count_of(&plan->scale) > count_of(&plan->zero) ? count_of(&plan->scale)
                                                                       : count_of(&plan->zero);
        int axis = plan->scale.axis >= 0 ? plan->scale.axis : plan->zero.axis;
        struct per_axis scale = plan->scale, zero = plan->zero;
        scale.axis = zero.axis = axis; /* Both are lists, or both are numbers. */
        struct made *x = export_value(e, plan->wants[0]);
        /* Others have 4 bits, and no zero point here. */
        const bool zeros = element_is_integer(numbers);
        struct made *operands[3] = { x, numbers_made(e, &scale, E_F32, count),
                                     zeros ? numbers_made(e, &zero, numbers, count) : NULL };
        struct made *y =
                export_node(e, name, type_with_element(e->m, x->type, to), operands, zeros ? 3 : 2);
        if (axis >= 0)
                export_int(e, "axis", axis);
        export_result(e, op, 0, y);
}

double export_per_axis_number(const struct per_axis *p, int64_t i)
{
        return number_of(p, count_of(p) == 1 ? 0 : i);
}

bool export_per_axis_known(const struct per_axis *p) { return is_known(p); }

struct made *export_per_axis_made(struct export *e, const struct per_axis *p, enum element element,
                                  int64_t count)
{
        return numbers_made(e, p, element, count ? count : count_of(p));
}

static bool has_8_bits(const struct value *v)
{
        return v->type->element == E_I8 || v->type->element == E_U8;
}

struct value *export_centered(struct export *e, struct value *v, struct per_axis *zero)
{
        *zero = (struct per_axis){ .axis = -1 };
        if (has_8_bits(v))
                return v;
        struct value *wide = op_is(v, OP_sub) ? op_operand(v->op, 0) : v;
        if (v->type->element != E_I32 || !op_is(wide, OP_cast) ||
            !has_8_bits(op_operand(wide->op, 0)))
                return NULL;
        struct value *q = op_operand(wide->op, 0);
        return wide == v || zero_point(e, op_operand(v->op, 1), q->type->element, zero) ? q : NULL;
}

/* Returns the other operand of a binary operation. */
static struct value *other(const struct op *op, int i) { return op_operand(op, !i); }

/* Matches saturate(round(x / scale) + zero). */
bool match_quantize(struct export *e, const struct op *op, struct plan *plan)
{
        enum element to = op_result(op)->type->element;
        struct value *v = op_operand(op, 0);
        if (!is_byte(to) || v->type->element != E_F32)
                return false;
        plan->zero = (struct per_axis){ .axis = -1 };
        if (op_is(v, OP_add)) {
                int side = op_is(op_operand(v->op, 0), OP_round) ? 0 : 1;
                if (!zero_point(e, other(v->op, side), to, &plan->zero))
                        return false;
                v = op_operand(v->op, side);
        }
        if (!op_is(v, OP_round))
                return false;
        v = op_operand(v->op, 0);
        plan->scale = (struct per_axis){ .axis = -1, .number = 1 };
        if (op_is(v, OP_div)) {
                struct per_axis scale;
                struct plan with = *plan;
                if (export_per_axis(e, op_operand(v->op, 1), &scale) && is_scale(&scale)) {
                        with.scale = scale;
                        if (agree(&with)) {
                                plan->scale = scale;
                                v = op_operand(v->op, 0);
                        }
                }
        }
        if (!agree(plan))
                return false;
        want_quantization(plan, v);
        return true;
}

void write_quantize(struct export *e, const struct op *op, const struct plan *plan)
{
        enum element to = op_result(op)->type->element;
        write_quantization(e, op, plan, "QuantizeLinear", to, to);
}

/* Returns numbers of 4 bits, as they come from memory: their bytes, or those with the sign spread
 * anew (as the importer has INT4), or NULL where v is none. */
static struct value *of_4_bits(struct value *v)
{
        double bits;
        for (int i = 0; i < 2; i++)
                if (op_is(v, i ? OP_shl : OP_shr) && value_is_splat(op_operand(v->op, 1), &bits) &&
                    bits == 4)
                        v = op_operand(v->op, 0);
        struct value *q = op_is(v, OP_bitcast) ? op_operand(v->op, 0) : NULL;
        return q && value_is_constant(q) && (q->type->element == E_I4 || q->type->element == E_U4)
                       ? q
                       : NULL;
}

/* Returns what is decoded, less its zero point, as a float: f32(i32(q) - zero), or f32(q). */
static struct value *decoded(struct export *e, const struct value *real, struct plan *plan)
{
        plan->zero = (struct per_axis){ .axis = -1 };
        if (!op_is(real, OP_cast) || real->type->element != E_F32)
                return NULL;
        struct value *v = op_operand(real->op, 0);
        if (is_byte(v->type->element))
                return of_4_bits(v) ? of_4_bits(v) : v;
        if (!op_is(v, OP_sub) || v->type->element != E_I32 || !op_is(op_operand(v->op, 0), OP_cast))
                return NULL;
        struct value *q = op_operand(op_operand(v->op, 0)->op, 0);
        return is_byte(q->type->element) &&
                               zero_point(e, op_operand(v->op, 1), q->type->element, &plan->zero)
                       ? q
                       : NULL;
}

/* Matches f32(q - zero) * scale. */
bool match_dequantize(struct export *e, const struct op *op, struct plan *plan)
{
        if (op_result(op)->type->element != E_F32)
                return false;
        for (int i = 0; i < 2; i++) {
                struct value *q = decoded(e, op_operand(op, i), plan);
                if (q && export_per_axis(e, other(op, i), &plan->scale) && is_scale(&plan->scale) &&
                    agree(plan)) {
                        want_quantization(plan, q);
                        return true;
                }
        }
        return false;
}

void write_dequantize(struct export *e, const struct op *op, const struct plan *plan)
{
        write_quantization(e, op, plan, "DequantizeLinear", E_F32, plan->wants[0]->type->element);
}

bool export_decoded_scale(struct export *e, const struct value *v, struct per_axis *scale)
{
        struct value *wants[4];
        struct plan plan = { .wants = wants };
        bool moved = false;
        while (op_is(v, OP_transpose) || op_is(v, OP_reshape) ||
               (op_is(v, OP_reduce_window) && op_int(v->op, "kind") == REDUCE_max)) {
                v = op_operand(v->op, 0);
                moved = true;
        }
        if (!op_is(v, OP_mul) || !match_dequantize(e, v->op, &plan) || !is_known(&plan.scale))
                return false;
        *scale = plan.scale;
        return !moved || scale->axis < 0;
}

struct value *export_divided(const struct op *op, double *count)
{
        bool single = op_result(op)->type->element == E_F32;
        double factor;
        if (op->code == OP_div)
                return value_is_splat(op_operand(op, 1), count) ? op_operand(op, 0) : NULL;
        for (int i = 0; i < 2 && op->code == OP_mul; i++) {
                if (!value_is_splat(op_operand(op, i), &factor) || !(factor > 0 && factor <= 1))
                        continue;
                *count = rint(1 / factor);
                if ((single ? (double)(float)(1 / *count) : 1 / *count) == factor)
                        return op_operand(op, !i);
        }
        return NULL;
}

/* ---- integers of 4 and 2 bits ----
 * Such a number is a byte here, of which the lowest bits count: ((byte << k) >> k). */

static int unused_bits(enum element e)
{
        return e == E_I4 || e == E_U4 ? 4 : e == E_I2 || e == E_U2 ? 6 : 0;
}

static bool is_number(const struct value *v, double wanted)
{
        double number;
        return value_is_splat(v, &number) && number == wanted;
}

/* Returns x of (x << k) >> k, or NULL. */
static struct value *unwrapped(const struct op *op, int bits)
{
        const struct value *left = op_operand(op, 0);
        return bits && op->code == OP_shr && op_is(left, OP_shl) &&
                               is_number(op_operand(op, 1), bits) &&
                               is_number(op_operand(left->op, 1), bits)
                       ? op_operand(left->op, 0)
                       : NULL;
}

static bool want_one(struct plan *plan, struct value *x)
{
        plan->wants[0] = x;
        plan->want_count = 1;
        return x != NULL;
}

bool match_decode_narrow(struct export *e, const struct op *op, struct plan *plan)
{
        const struct value *byte = unwrapped(op, 4);
        (void)e;
        byte = byte ? byte : unwrapped(op, 6);
        if (!byte || !op_is(byte, OP_bitcast))
                return false;
        struct value *x = op_operand(byte->op, 0);
        return unwrapped(op, unused_bits(x->type->element)) && want_one(plan, x);
}

/* Matches casts of bytes, and of what becomes bytes by way of i32. */
bool match_encode_narrow(struct export *e, const struct op *op, struct plan *plan)
{
        const struct value *v = op_operand(op, 0);
        enum element to = op_result(op)->type->element;
        (void)e;
        struct value *x = v->kind == VALUE_RESULT ? unwrapped(v->op, unused_bits(to)) : NULL;
        if (x && op_is(x, OP_cast) && op_is(op_operand(x->op, 0), OP_cast) &&
            op_operand(x->op, 0)->type->element == E_I32)
                x = op_operand(op_operand(x->op, 0)->op, 0);
        return want_one(plan, x);
}

void write_decode_narrow(struct export *e, const struct op *op, const struct plan *plan)
{
        struct made *x = export_value(e, plan->wants[0]);
        export_result(e, op, 0, export_cast(e, x, op_result(op)->type->element));
}

void write_encode_narrow(struct export *e, const struct op *op, const struct plan *plan)
{
        write_decode_narrow(e, op, plan);
}

/* ---- bounds ---- */

static bool same_number(const struct value *x, const struct value *y)
{
        double a, b;
        return x == y || (value_is_splat(x, &a) && value_is_splat(y, &b) && a == b);
}

/* Matches select(x < c, c, x), or with `above` select(c < x, c, x); returns what is bounded, or
 * NULL. */
static struct value *bounded(const struct value *v, bool above, double *bound)
{
        if (!op_is(v, OP_select) || !op_is(op_operand(v->op, 0), OP_lt))
                return NULL;
        const struct op *less = op_operand(v->op, 0)->op;
        struct value *c = op_operand(v->op, 1), *x = op_operand(v->op, 2);
        if (x->type->element == E_I64 || x->type->element == E_U64 || !value_is_splat(c, bound) ||
            isnan(*bound))
                return NULL;
        return op_operand(less, above) == x && same_number(op_operand(less, !above), c) ? x : NULL;
}

bool match_clip(struct export *e, const struct op *op, struct plan *plan)
{
        (void)e;
        const struct value *v = op_result(op);
        struct value *x = bounded(v, true, &plan->high), *inner;
        plan->has_high = x != NULL;
        inner = bounded(x ? x : v, false, &plan->low);
        plan->has_low = inner != NULL;
        x = inner ? inner : x;
        plan->wants[0] = x;
        plan->want_count = 1;
        return x && v->type->element != E_BOOL &&
               element_info[v->type->element].class != CLASS_OTHER;
}

void write_clip(struct export *e, const struct op *op, const struct plan *plan)
{
        struct made *x = export_value(e, plan->wants[0]);
        enum element element = x->type->element;
        struct made *operands[3] = { x, plan->has_low ? export_scalar(e, element, plan->low) : NULL,
                                     plan->has_high ? export_scalar(e, element, plan->high)
                                                    : NULL };
        export_result(e, op, 0, export_node(e, "Clip", x->type, operands, plan->has_high ? 3 : 2));
}

/* Matches min(max(x, low), high), where low <= high. */
bool match_clamp(struct export *e, const struct op *op, struct plan *plan)
{
        enum element own = op_result(op)->type->element;
        (void)e;
        for (int i = 0; i < 2; i++) {
                const struct value *v = op_operand(op, i);
                if (!value_is_splat(op_operand(op, !i), &plan->high) || !op_is(v, OP_max))
                        continue;
                for (int k = 0; k < 2; k++) {
                        if (!value_is_splat(op_operand(v->op, k), &plan->low) ||
                            !(plan->low <= plan->high) || own == E_BOOL || own == E_I64 ||
                            own == E_U64)
                                continue;
                        plan->has_low = plan->has_high = true;
                        return want_one(plan, op_operand(v->op, !k));
                }
        }
        return false;
}

void write_clamp(struct export *e, const struct op *op, const struct plan *plan)
{
        write_clip(e, op, plan);
}

/* Matches select(x < 0, x * alpha, x); alpha is a float there. */
bool match_leaky(struct export *e, const struct op *op, struct plan *plan)
{
        struct value *less = op_operand(op, 0), *bent = op_operand(op, 1), *x = op_operand(op, 2);
        double zero;
        (void)e;
        if (!op_is(less, OP_lt) || op_operand(less->op, 0) != x || !op_is(bent, OP_mul) ||
            !value_is_splat(op_operand(less->op, 1), &zero) || zero != 0 ||
            (x->type->element != E_F32 && x->type->element != E_F64))
                return false;
        for (int i = 0; i < 2; i++)
                if (op_operand(bent->op, !i) == x &&
                    value_is_splat(op_operand(bent->op, i), &plan->alpha) &&
                    (double)(float)plan->alpha == plan->alpha)
                        return want_one(plan, x);
        return false;
}

void write_leaky(struct export *e, const struct op *op, const struct plan *plan)
{
        struct made *x = export_value(e, plan->wants[0]);
        struct made *y = export_unary(e, "LeakyRelu", x->type, x);
        export_float(e, "alpha", (float)plan->alpha);
        export_result(e, op, 0, y);
}

bool match_relu(struct export *e, const struct op *op, struct plan *plan)
{
        double number;
        (void)e;
        for (int i = 0; i < 2; i++) {
                if (!element_is_float(op_result(op)->type->element) ||
                    !value_is_splat(op_operand(op, i), &number) || number != 0 || signbit(number))
                        continue;
                plan->wants[0] = other(op, i);
                plan->want_count = 1;
                return true;
        }
        return false;
}

void write_relu(struct export *e, const struct op *op, const struct plan *plan)
{
        struct made *x = export_value(e, plan->wants[0]);
        export_result(e, op, 0, export_unary(e, "Relu", x->type, x));
}

/* Returns x of x times a number, as f32 has it, or NULL. */
static struct value *times(const struct value *v, float wanted)
{
        double number;
        for (int i = 0; i < 2 && op_is(v, OP_mul); i++)
                if (value_is_splat(op_operand(v->op, i), &number) && (float)number == wanted)
                        return op_operand(v->op, !i);
        return NULL;
}

bool match_gelu(struct export *e, const struct op *op, struct plan *plan)
{
        (void)e;
        for (int i = 0; i < 2; i++) {
                struct value *x = op_operand(op, i);
                const struct value *share = op_operand(op, !i);
                if (x->type->element != E_F32 || !op_is(share, OP_add) ||
                    !is_number(op_operand(share->op, 1), 0.5))
                        continue;
                const struct value *bend = times(op_operand(share->op, 0), 0.5f);
                if (bend && op_is(bend, OP_erf) &&
                    times(op_operand(bend->op, 0), 0.70710678118654752440f) == x)
                        return want_one(plan, x);
        }
        return false;
}

void write_gelu(struct export *e, const struct op *op, const struct plan *plan)
{
        struct made *x = export_value(e, plan->wants[0]);
        export_result(e, op, 0, export_unary(e, "Gelu", x->type, x));
}
