/* SPDX-License-Identifier: MIT */
#include "front/tflite/tflite_helpers.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "front/compose/compose_activation.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_quantize.h"

bool tflite_output(struct tflite_import *im, struct tflite_node *n, int i, struct value *v)
{
        if (!v)
                return false;
        struct tflite_tensor *t = n->outputs[i];
        if (t->value)
                return tflite_invalid(im, "tensor '%s' has a value already", t->safe);
        if (t->type && t->type->element != value_element(v))
                return tflite_invalid(im, "output '%s' is declared as %s, and computed as %s",
                                      t->safe, compose_text(im->c, t->type),
                                      compose_text(im->c, v->type));
        t->value = v;
        return true;
}

/* Was v made by tflite_to_back of an image? */
static bool is_moved(const struct value *v)
{
        static const int64_t back[] = { 0, 2, 3, 1 };
        return op_is(v, OP_transpose) && value_rank(v) == 4 &&
               !memcmp(op_ints(v->op, "perm", NULL), back, sizeof back);
}

/* Finds operands with channels in front; a constant may be moved, or has one element. Returns false
 * where that is none of them, or not possible. */
static bool find_front(struct tflite_import *im, const struct tflite_node *n, struct value **front)
{
        bool any = false;
        for (int i = 0; i < n->input_count; i++) {
                struct value *v = tflite_input(n, i);
                if (!v || !type_is_static(v->type))
                        return false;
                any |= is_moved(v);
                front[i] = v;
                if (is_moved(v) || (value_is_constant(v) && value_rank(v) == 4))
                        front[i] = tflite_to_front(im, v);
                else if (!value_is_constant(v) || type_elements(v->type) != 1)
                        return false;
        }
        return any;
}

bool tflite_import_row(struct tflite_import *im, struct tflite_node *n)
{
        enum { EACH_MOST = 2 };
        struct value *front[EACH_MOST], *kept[EACH_MOST];
        if (!n->row->each || n->input_count > EACH_MOST || !find_front(im, n, front))
                return n->row->import(im, n);
        for (int i = 0; i < n->input_count; i++)
                kept[i] = n->inputs[i]->value;
        for (int i = 0; i < n->input_count; i++)
                n->inputs[i]->value = front[i];
        const bool done = n->row->import(im, n);
        for (int i = 0; i < n->input_count; i++)
                n->inputs[i]->value = kept[i];
        struct value **y = &n->outputs[0]->value;
        return done && *y && (*y = tflite_to_back(im, *y));
}

bool tflite_ints(struct tflite_import *im, const struct tflite_node *n, int i, int64_t *ints,
                 int room, int *count)
{
        struct value *v = tflite_input(n, i);
        if (v && !value_ints(v, ints, room, count)) {
                struct value *wide = value_rank(v) < 2 ? compose_cast(im->c, v, E_I64) : NULL;
                if (!wide || !value_ints(wide, ints, room, count))
                        return tflite_unsupported(im, "operand %d (%s) is not constant", i,
                                                  compose_text(im->c, v->type));
        }
        return v || tflite_invalid(im, "operand %d is missing", i);
}

int tflite_axis(struct tflite_import *im, int64_t axis, int rank)
{
        if (axis >= -rank && axis < rank)
                return (int)(axis < 0 ? axis + rank : axis);
        tflite_invalid(im, "axis %lld in a tensor of rank %d", (long long)axis, rank);
        return -1;
}

bool tflite_no_element(struct tflite_import *im, const struct tflite_node *n, int i)
{
        return tflite_unsupported(im, "operand %d of type %s%s", i,
                                  compose_text(im->c, n->inputs[i]->value->type),
                                  n->inputs[i]->q.count ? ", quantized" : "");
}

bool tflite_same_element(struct tflite_import *im, const struct tflite_node *n, int count)
{
        for (int i = 1; i < count; i++)
                if (value_element(n->inputs[i]->value) != value_element(n->inputs[0]->value))
                        return tflite_invalid(
                                im, "operand %d is of %s, want %s as operand 0", i,
                                element_info[value_element(n->inputs[i]->value)].text,
                                element_info[value_element(n->inputs[0]->value)].text);
        return true;
}

bool tflite_want_rank(struct tflite_import *im, const struct tflite_node *n, int i, int rank)
{
        const int has = value_rank(n->inputs[i]->value);
        return has == rank || tflite_invalid(im, "operand %d is of rank %d, want %d", i, has, rank);
}

bool tflite_window(struct tflite_import *im, struct compose_window *w, int64_t padding,
                   int64_t stride_h, int64_t stride_w, int64_t dilation_h, int64_t dilation_w)
{
        *w = (struct compose_window){ .rank = 2,
                                      .auto_pad = padding ? PAD_VALID : PAD_SAME_UPPER,
                                      .strides = { stride_h, stride_w },
                                      .dilations = { dilation_h, dilation_w } };
        for (int d = 0; d < 2; d++)
                if (w->strides[d] < 1 || w->dilations[d] < 1)
                        return tflite_invalid(im, "stride %lld and dilation %lld, want at least 1",
                                              (long long)w->strides[d], (long long)w->dilations[d]);
        return (padding >= 0 && padding <= 1) ||
               tflite_invalid(im, "padding %lld, want 0 (SAME) or 1 (VALID)", (long long)padding);
}

/* ---- state ---- */

struct value *tflite_against(struct tflite_import *im, struct value *v, struct value *first)
{
        struct compose *c = im->c;
        double number;
        if (!v || !first || (value_is_splat(first, &number) && number == 0))
                return v;
        const enum element e = value_element(v);
        if (!element_is_float(e))
                return compose_binary(c, OP_xor, v, first);
        const enum element bits = element_info[e].bytes == 2   ? E_I16
                                  : element_info[e].bytes == 4 ? E_I32
                                                               : E_I64;
        v = compose_as_bits(c, v, bits);
        v = compose_binary(c, OP_xor, v, compose_as_bits(c, first, bits));
        return compose_as_bits(c, v, e);
}

/* ---- fused activations ---- */

static bool no_fused(struct tflite_import *im, int64_t fused)
{
        return tflite_unsupported(im, "fused activation %lld", (long long)fused);
}

struct value *tflite_activated(struct tflite_import *im, struct value *y, int64_t fused)
{
        struct compose *c = im->c;
        if (!y)
                return NULL;
        switch (fused) {
        case FUSED_NONE: return y;
        case FUSED_RELU: return compose_with(c, OP_max, y, 0);
        case FUSED_RELU_N1_TO_1: return clamp(c, y, -1, 1);
        case FUSED_RELU6: return clamp(c, y, 0, 6);
        case FUSED_TANH: return compose_unary(c, OP_tanh, y);
        default: no_fused(im, fused); return NULL;
        }
}

bool tflite_affine(struct tflite_import *im, const struct tflite_tensor *t, float *scale,
                   int64_t *zero)
{
        *scale = 1;
        *zero = 0;
        if (t->q.count != 1)
                return tflite_invalid(im, "tensor '%s' has %d scales, want one", t->safe,
                                      t->q.count);
        *scale = t->q.scales[0];
        *zero = t->q.zeros[0];
        return *scale >= FLT_MIN ||
               tflite_invalid(im, "tensor '%s' has the scale %g", t->safe, (double)*scale);
}

/* Returns how many steps of the scale a real is, within 32 bits. */
static int64_t steps(float real, float scale)
{
        const float most = 1 << 30;
        return (int64_t)fmaxf(-most, fminf(most, roundf(real / scale)));
}

bool tflite_range(struct tflite_import *im, const struct tflite_tensor *t, int64_t fused,
                  int64_t *low, int64_t *high)
{
        const enum element e = t->type->element;
        const int bits = 8 * element_info[e].bytes;
        const bool is_signed = element_info[e].class == CLASS_SINT;
        float scale;
        int64_t zero;
        if (bits > 16)
                return tflite_unsupported(im, "a quantized result of %s", element_info[e].text);
        if (!tflite_affine(im, t, &scale, &zero))
                return false;
        *low = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
        *high = *low + (INT64_C(1) << bits) - 1;
        const int64_t one = zero + steps(1, scale), minus = zero + steps(-1, scale),
                      six = zero + steps(6, scale);
        switch (fused) {
        case FUSED_NONE: break;
        case FUSED_RELU: *low = compose_max(*low, zero); break;
        case FUSED_RELU_N1_TO_1:
                *low = compose_max(*low, minus);
                *high = compose_min(*high, one);
                break;
        case FUSED_RELU6:
                *low = compose_max(*low, zero);
                *high = compose_min(*high, six);
                break;
        default: return no_fused(im, fused);
        }
        return *low <= *high ||
               tflite_invalid(im, "the activation leaves no number of '%s'", t->safe);
}

/* ---- quantized tensors ---- */

struct value *tflite_centered(struct tflite_import *im, const struct tflite_tensor *t)
{
        float scale;
        int64_t zero;
        if (!tflite_affine(im, t, &scale, &zero))
                return NULL;
        struct value *z = zero ? compose_integer(im->c, t->type->element, zero) : NULL;
        if (z)
                z = compose_spread(im->c, z, t->value->type, NULL);
        return z || !zero ? compose_cast(im->c, compose_centered(im->c, t->value, z, E_I32), E_I32)
                          : NULL;
}

struct value *tflite_real(struct tflite_import *im, struct tflite_tensor *t)
{
        struct compose *c = im->c;
        const struct type *type = t->value->type;
        if (element_is_float(type->element))
                return compose_cast(c, t->value, E_F32);
        if (!t->q.count || t->q.dimension >= type->rank ||
            (t->q.count > 1 && !dim_is(type->dims[t->q.dimension], t->q.count))) {
                tflite_invalid(im, "tensor '%s' is %s, with %d scales along dimension %d", t->safe,
                               compose_text(c, type), t->q.count, t->q.dimension);
                return NULL;
        }
        struct value *scales[2];
        const int64_t extent = t->q.count;
        scales[0] = constant_dense(im->m, type_static(im->m, E_F32, 1, &extent), t->q.scales, NULL);
        int64_t *zeros = arena_array(im->arena, (size_t)extent, sizeof *zeros);
        memcpy(zeros, t->q.zeros, (size_t)extent * sizeof *zeros);
        scales[1] = compose_cast(c, constant_ints(im->m, zeros, (int)extent), type->element);
        for (int i = 0; i < 2; i++)
                scales[i] = compose_along(c, scales[i], type, t->q.dimension);
        return compose_dequantize(c, t->value, scales[0], scales[1], E_F32);
}

bool tflite_multipliers(struct tflite_import *im, const struct tflite_tensor *x,
                        const struct tflite_tensor *w, const struct tflite_tensor *y,
                        int64_t outputs, struct compose_multipliers *m)
{
        float x_scale, y_scale;
        int64_t zero;
        if (!tflite_affine(im, x, &x_scale, &zero) || !tflite_affine(im, y, &y_scale, &zero))
                return false;
        if (w->q.count != 1 && w->q.count != outputs)
                return tflite_invalid(im, "the weights have %d scales, want 1 or %lld", w->q.count,
                                      (long long)outputs);
        struct compose_multiplier *list = arena_array(im->arena, (size_t)w->q.count, sizeof *list);
        for (int i = 0; i < w->q.count; i++)
                list[i] = compose_multiplier_of((double)x_scale * w->q.scales[i] / y_scale);
        *m = (struct compose_multipliers){ list, w->q.count, m->axis };
        return true;
}

struct value *tflite_permuted(struct tflite_import *im, struct value *w, const int64_t *perm)
{
        dim_t dims[RANK_MAX];
        if (!w)
                return NULL;
        for (int d = 0; d < value_rank(w); d++)
                dims[d] = w->type->dims[d];
        if (!value_is_constant(w) || w->constant->kind == CONSTANT_SPLAT)
                return compose_transpose(im->c, w, perm);
        return constant_packed(im->m, w->constant, dims, value_rank(w), dims, perm);
}
