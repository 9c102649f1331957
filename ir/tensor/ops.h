/* SPDX-License-Identifier: MIT */
/* Declares the functions that rows of ops.def name. */
#ifndef IR_TENSOR_OPS_H
#define IR_TENSOR_OPS_H

#include "ir/tensor/tensor.h"

/* The type rules are in type_rules.c, type_moves.c and type_reductions.c. */
/* This rule serves every EW row. */
bool type_elementwise(struct module *m, struct op *op, struct diag *diag);
/* This rule serves every CMP row. */
bool type_compare(struct module *m, struct op *op, struct diag *diag);
#define OP(name, traits, rule, element, relate, adjoint, doc) \
        bool rule(struct module *m, struct op *op, struct diag *diag);
#include "ir/tensor/ops.def"

/* The element functions are in lower*.c. */
struct loop_expr *element_formula(struct emit *e, const struct op *op, int result,
                                  struct loop_expr *const *index);
#define OP(name, traits, rule, element, relate, adjoint, doc)                           \
        struct loop_expr *element_##name(struct emit *e, const struct op *op, int result, \
                                         struct loop_expr *const *index);
#include "ir/tensor/ops.def"

/* The relations are in relation.c; every element-wise row has relate_same. */
#define OP(name, traits, rule, element, relate, adjoint, doc) \
        bool relate(const struct op *op, int operand, struct relation *r);
#include "ir/tensor/ops.def"

/* The adjoints are in ir/adjoint/; every element-wise row has adjoint_formula. */
bool adjoint_formula(struct sweep *s, const struct op *op);
#define OP(name, traits, rule, element, relate, adjoint, doc) \
        bool adjoint(struct sweep *s, const struct op *op);
#include "ir/tensor/ops.def"

#endif
