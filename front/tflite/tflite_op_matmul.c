/* SPDX-License-Identifier: MIT */
/* Products of matrices, of which neither need be constant. */
#include "front/tflite/tflite_helpers.h"

#include "front/compose/compose_quantize.h"

/* Returns operand i as its row says: its last two dimensions exchanged where `adjoint`. */
static struct value *matrices(struct tflite_import *im, const struct tflite_node *n, int i,
                              bool adjoint)
{
        struct value *x = n->inputs[i]->value;
        const int rank = value_rank(x);
        int64_t perm[RANK_MAX];
        if (rank < 2) {
                tflite_invalid(im, "operand %d is of rank %d, want at least 2", i, rank);
                return NULL;
        }
        for (int d = 0; d < rank; d++)
                perm[d] = d;
        perm[rank - 2] = rank - 1;
        perm[rank - 1] = rank - 2;
        return adjoint ? compose_transpose(im->c, x, perm) : x;
}

/* Returns x - zero as i32. */
static struct value *centered(struct tflite_import *im, const struct tflite_tensor *t,
                              struct value *x)
{
        struct compose *c = im->c;
        struct value *zero =
                t->q.zeros[0] ? compose_integer(c, value_element(x), t->q.zeros[0]) : NULL;
        if (zero)
                zero = compose_spread(c, zero, x->type, NULL);
        return compose_cast(c, compose_centered(c, x, zero, E_I32), E_I32);
}

static struct value *quantized_product(struct tflite_import *im, const struct tflite_node *n,
                                       struct value *x, struct value *y)
{
        struct compose *c = im->c;
        const struct tflite_tensor *a = n->inputs[0], *b = n->inputs[1], *t = n->outputs[0];
        const enum element e = value_element(x);
        float scale[3];
        int64_t zero[3];
        struct compose_rescale r = { .to = t->type->element };
        if (!tflite_affine(im, a, &scale[0], &zero[0]) ||
            !tflite_affine(im, b, &scale[1], &zero[1]) ||
            !tflite_affine(im, t, &scale[2], &zero[2]) ||
            !tflite_range(im, t, FUSED_NONE, &r.low, &r.high))
                return NULL;
        const bool wide = element_info[e].bytes == 2;
        if (value_element(y) != e || t->type->element != e || (e != E_I8 && e != E_I16)) {
                tflite_no_element(im, n, 1);
                return NULL;
        }
        const float product = scale[0] * scale[1];
        const struct compose_multiplier m =
                compose_multiplier_of((double)product / (double)scale[2]);
        r.by = (struct compose_multipliers){ &m, 1, 0 };
        r.zero = zero[2];
        struct value *left = centered(im, a, x);
        struct value *sum = compose_matmul_as(c, left, centered(im, b, y), wide ? E_I64 : E_I32);
        return wide ? compose_rescale_wide(c, sum, &r) : compose_rescale(c, sum, &r);
}

bool tflite_import_batch_matmul(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_BatchMatMulOptions *o = TFLITE_OPTIONS(n, BatchMatMulOptions);
        struct value *x = matrices(im, n, 0, o->adj_x), *z;
        float scale;
        int64_t zero;
        struct value *y = x ? matrices(im, n, 1, o->adj_y) : NULL;
        if (!y)
                return false;
        if (tflite_is_quantized(n->inputs[0]) && tflite_is_quantized(n->inputs[1]) &&
            tflite_is_quantized(n->outputs[0]))
                z = quantized_product(im, n, x, y);
        else if (tflite_is_float(n->inputs[0]) && tflite_is_float(n->inputs[1]))
                z = compose_matmul(im->c, x, y);
        else if (tflite_is_float(n->inputs[0]) && value_element(y) == E_I8)
                z = tflite_affine(im, n->inputs[1], &scale, &zero)
                            ? compose_hybrid_matmul(im->c, x, y, (double)scale, o->asymmetric)
                            : NULL;
        else
                return tflite_no_element(im, n, 1);
        return tflite_output(im, n, 0, z);
}
