/* SPDX-License-Identifier: MIT */
/* Formulas in tables become operations:
 *
 *      formula     sum, or two of them with  <  <=  >  >=  ==  between
 *      sum         products with + and - between
 *      product     factors with * and / between
 *      factor      number, name, (formula), -factor, or OPERATION(formula, ..)
 *
 * OPERATION is an element-wise one, or select. Products with formula_zero() are left out. */
#ifndef IR_ADJOINT_FORMULA_TEXT_H
#define IR_ADJOINT_FORMULA_TEXT_H

#include "ir/tensor/tensor.h"

/* A name stands for this where it is 0 for certain: 0 times infinity is then no term, either. */
struct value *formula_zero(void);

struct formula {
        struct builder *b;
        struct value *like;             /* Numbers become tensors of its type. */
        /* Returns the value of a name, or NULL after an error of the builder. */
        struct value *(*variable)(void *context, const char *name, size_t length);
        void *context;
};
/* Returns the value of the text, a table's, or NULL after an error of the builder. */
struct value *formula_build(const struct formula *f, const char *text);
/* Returns the value of the factor that the text begins with, and sets *rest behind it. */
struct value *formula_factor(const struct formula *f, const char *text, const char **rest);

#endif
