/* SPDX-License-Identifier: MIT */
/* The parser of formulas, by recursive descent. */
#include "ir/adjoint/formula_text.h"

#include <stdlib.h>

struct reader { const struct formula *f; const char *at; };

static struct value *read_formula(struct reader *r);

struct value *formula_zero(void)
{
        static struct value zero;
        return &zero;
}

static bool is_zero(const struct value *v) { return v == formula_zero(); }

/* Returns v, a tensor where it is zero. */
static struct value *as_tensor(const struct reader *r, struct value *v)
{
        return is_zero(v) ? build_like(r->f->b, r->f->like, 0) : v;
}

static void skip(struct reader *r)
{
        while (*r->at == ' ')
                r->at++;
}

static bool accept(struct reader *r, const char *word)
{
        skip(r);
        size_t length = strlen(word);
        if (strncmp(r->at, word, length))
                return false;
        r->at += length;
        return true;
}

static struct value *read_call(struct reader *r, const char *name, size_t length)
{
        struct value *operands[3];
        int count = 0;
        enum opcode code = OP_select;
        if (!opcode_from_text(name, length, &code))
                return NULL;
        do
                operands[count++] = as_tensor(r, read_formula(r));
        while (accept(r, ","));
        accept(r, ")");
        for (int i = 0; i < count; i++)
                if (!operands[i])
                        return NULL;
        return value_build(r->f->b, code, operands, count, NULL, NULL);
}

static struct value *read_factor(struct reader *r)
{
        if (accept(r, "-"))
                return build_unary(r->f->b, OP_neg, as_tensor(r, read_factor(r)));
        if (accept(r, "(")) {
                struct value *inside = read_formula(r);
                accept(r, ")");
                return inside;
        }
        const char *start = r->at;
        if (*start >= '0' && *start <= '9') {
                char *end;
                double number = strtod(start, &end);
                r->at = end;
                return build_like(r->f->b, r->f->like, number);
        }
        while ((*r->at >= 'a' && *r->at <= 'z') || *r->at == '_' ||
               (*r->at >= '0' && *r->at <= '9'))
                r->at++;
        size_t length = (size_t)(r->at - start);
        return accept(r, "(") ? read_call(r, start, length)
                              : r->f->variable(r->f->context, start, length);
}

static struct value *read_product(struct reader *r)
{
        struct value *v = read_factor(r);
        for (;;) {
                const bool divides = accept(r, "/");
                if (!divides && !accept(r, "*"))
                        return v;
                struct value *w = read_factor(r);
                v = is_zero(v) || (is_zero(w) && !divides)
                            ? formula_zero()
                            : build_binary(r->f->b, divides ? OP_div : OP_mul, v, as_tensor(r, w));
        }
}

static struct value *read_sum(struct reader *r)
{
        struct value *v = read_product(r);
        for (;;) {
                const bool adds = accept(r, "+");
                if (!adds && !accept(r, "-"))
                        return v;
                struct value *w = read_product(r);
                if (is_zero(v))
                        v = adds ? w : build_unary(r->f->b, OP_neg, w);
                else if (!is_zero(w))
                        v = build_binary(r->f->b, adds ? OP_add : OP_sub, v, w);
        }
}

static struct value *read_formula(struct reader *r)
{
        static const struct { const char *word; enum opcode code; } comparisons[] = {
                { "<=", OP_le }, { ">=", OP_ge }, { "==", OP_eq }, { "<", OP_lt }, { ">", OP_gt }
        };
        struct value *v = read_sum(r);
        for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
                if (accept(r, comparisons[i].word))
                        return build_binary(r->f->b, comparisons[i].code, as_tensor(r, v),
                                            as_tensor(r, read_sum(r)));
        return v;
}

struct value *formula_build(const struct formula *f, const char *text)
{
        struct reader r = { f, text };
        return as_tensor(&r, read_formula(&r));
}

struct value *formula_factor(const struct formula *f, const char *text, const char **rest)
{
        struct reader r = { f, text };
        struct value *v = read_factor(&r);
        skip(&r);
        *rest = r.at;
        return v;
}
