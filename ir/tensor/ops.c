/* SPDX-License-Identifier: MIT */
/* Makes descriptors of the rows of ops.def and reducers.def. */
#include "ir/tensor/ops.h"
#include "ir/tensor/pixels.h"

#include <string.h>

const struct reducer_info reducer_info[REDUCER_COUNT] = {
#define REDUCER(name, identity, formula, doc) [REDUCE_##name] = { #name, identity, formula, doc },
#include "ir/tensor/reducers.def"
};

/* ---- names of ENUM attributes ---- */

static const char *const pad_mode_names[] = { "constant", "reflect", "edge", "wrap", NULL };
static const char *const reducer_names[] = {
#define REDUCER(name, identity, formula, doc) #name,
#include "ir/tensor/reducers.def"
        NULL
};

static const char *const scatter_names[] = {
        "replace",
#define REDUCER(name, identity, formula, doc) #name,
#include "ir/tensor/reducers.def"
        NULL
};

const struct pixels_info pixels_info[PIXELS_COUNT] = {
#define PIXELS(name, channels, doc) { #name, channels },
#include "ir/tensor/pixels.def"
};

static const char *const pixel_names[] = {
#define PIXELS(name, channels, doc) #name,
#include "ir/tensor/pixels.def"
        NULL
};

/* ---- operands, results, attributes, regions of each row, with an empty entry at the end ---- */

static const struct operand_info elementwise_operands[] = {
        { "x", OPERAND_TENSOR }, { "y", OPERAND_TENSOR }, { "z", OPERAND_TENSOR }
};
static const char *const elementwise_results[] = { "result", NULL };

#define OP(name, ...) static const struct operand_info operands_##name[] = {
#define IN(name) { #name, OPERAND_TENSOR },
#define SHAPE(name) { #name, OPERAND_SHAPE },
#define VARIADIC(name) { #name, OPERAND_VARIADIC },
#define OPTIONAL(name) { #name, OPERAND_OPTIONAL },
#define ANY_NUMBER(name) { #name, OPERAND_ANY_NUMBER },
#define OUT(name)
#define INT(name, preset)
#define INTS(name, preset)
#define ENUM(name, preset, names)
#define TYPE(name, preset)
#define TEXT(name)
#define END(name) { NULL, OPERAND_TENSOR } };
#include "ir/tensor/ops.def"

#define OP(name, ...) static const char *const results_##name[] = {
#define IN(name)
#define SHAPE(name)
#define VARIADIC(name)
#define OPTIONAL(name)
#define ANY_NUMBER(name)
#define OUT(name) #name,
#define INT(name, preset)
#define INTS(name, preset)
#define ENUM(name, preset, names)
#define TYPE(name, preset)
#define TEXT(name)
#define END(name) NULL };
#include "ir/tensor/ops.def"

#define OP(name, ...) static const struct attr_info attrs_##name[] = {
#define IN(name)
#define SHAPE(name)
#define VARIADIC(name)
#define OPTIONAL(name)
#define ANY_NUMBER(name)
#define OUT(name)
#define INT(name, preset) { #name, ATTR_INT, preset, NULL },
#define INTS(name, preset) { #name, ATTR_INTS, preset, NULL },
#define ENUM(name, preset, names) { #name, ATTR_ENUM, preset, names },
#define TYPE(name, preset) { #name, ATTR_ELEMENT, E_##preset, NULL },
#define TEXT(name) { #name, ATTR_TEXT, 0, NULL },
#define END(name) \
        { NULL, ATTR_INT, 0, NULL } \
        }; \
        _Static_assert(sizeof attrs_##name <= (ATTR_MAX + 1) * sizeof *attrs_##name, "copies of attributes have room for ATTR_MAX");
#include "ir/tensor/ops.def"

#define OP(name, ...) static const char *const regions_##name[] = {
#define IN(name)
#define SHAPE(name)
#define VARIADIC(name)
#define OPTIONAL(name)
#define ANY_NUMBER(name)
#define OUT(name)
#define INT(name, preset)
#define INTS(name, preset)
#define ENUM(name, preset, names)
#define TYPE(name, preset)
#define TEXT(name)
#define BODY(name) #name,
#define END(name) NULL };
#include "ir/tensor/ops.def"

/* ---- the table ---- */

/* A word in a row's column stands for these traits; only the end of a region, and what gives a
 * symbol its value, have an effect besides their results. */
enum {
        ROW_0 = TRAIT_PURE,
        ROW_COMMUTATIVE = TRAIT_PURE | TRAIT_COMMUTATIVE,
        ROW_COSTLY = TRAIT_PURE | TRAIT_COSTLY,
        ROW_ELEMENTWISE = TRAIT_PURE | TRAIT_ELEMENTWISE,
        ROW_FREE = TRAIT_PURE | TRAIT_FREE,
        ROW_CONTRACTION = TRAIT_PURE | TRAIT_CONTRACTION,
        ROW_REDUCTION = TRAIT_PURE | TRAIT_REDUCTION,
        ROW_WHOLE = TRAIT_PURE | TRAIT_WHOLE,
        ROW_REGION = TRAIT_PURE | TRAIT_REGION,
        ROW_EFFECT = 0,
        ROW_TERMINATOR = TRAIT_TERMINATOR
};

#define ENTRIES(array) ((int)(sizeof(array) / sizeof *(array)) - 1)
#define FORMULA_ROW(name_, arity, domain_, traits_, formula_, doc_, rule, ...)                                  \
        [OP_##name_] = { .name = #name_, .doc = doc_, .formula = formula_, .partials = __VA_ARGS__,             \
                .traits = ROW_##traits_ | TRAIT_ELEMENTWISE, .domain = DOMAIN_##domain_, .operand_count = arity, \
                .result_count = 1, .operands = elementwise_operands, .results = elementwise_results,            \
                .type_rule = rule, .element = element_formula, .relation = relate_same,                         \
                .adjoint = adjoint_formula },

const struct op_info op_info[OPCODE_COUNT] = {
#define BY(...) { __VA_ARGS__ }
#define EW(name, arity, domain, traits, formula, partials, doc) \
        FORMULA_ROW(name, arity, domain, traits, formula, doc, type_elementwise, partials)
#define CMP(name, arity, domain, traits, formula, doc) \
        FORMULA_ROW(name, arity, domain, traits, formula, doc, type_compare, BY(NULL))
#define OP(name_, traits_, rule, element_, relation_, adjoint_, doc_) \
        [OP_##name_] = { .name = #name_,                             \
                         .doc = doc_,                                \
                         .traits = ROW_##traits_,                    \
                         .domain = DOMAIN_ANY,                       \
                         .operand_count = ENTRIES(operands_##name_), \
                         .result_count = ENTRIES(results_##name_),   \
                         .attr_count = ENTRIES(attrs_##name_),       \
                         .operands = operands_##name_,               \
                         .region_count = ENTRIES(regions_##name_),   \
                         .results = results_##name_,                 \
                         .attrs = attrs_##name_,                     \
                         .regions = regions_##name_,                 \
                         .type_rule = rule,                          \
                         .element = element_,                        \
                         .relation = relation_,                      \
                         .adjoint = adjoint_ },
#include "ir/tensor/ops.def"
};

_Static_assert(OPCODE_COUNT < 4096, "opcode_from_text walks the rows");

/* There are few rows, and comparing lengths first leaves a handful of names to compare: it takes
 * about 50 ns. */
bool opcode_from_text(const char *name, size_t length, enum opcode *code)
{
        static const unsigned char lengths[OPCODE_COUNT] = {
#define OP(name, ...) sizeof #name - 1,
#define EW(name, ...) sizeof #name - 1,
#define CMP(name, ...) sizeof #name - 1,
#include "ir/tensor/ops.def"
        };
        for (int i = 0; i < OPCODE_COUNT; i++)
                if (lengths[i] == length && !memcmp(op_info[i].name, name, length)) {
                        *code = (enum opcode)i;
                        return true;
                }
        return false;
}
