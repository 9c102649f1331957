/* SPDX-License-Identifier: MIT */
/* Terms over symbols that --dim binds: "past + new", "2 * N", "max(N, 16)". A dimension may be
 * called so in the file, and --dim T=past+new binds one to a term. */
#include "front/onnx/onnx_model.h"

#include <ctype.h>
#include <string.h>

enum { TERM_DEPTH_MAX = 16 };           /* So deep may parentheses, and terms of terms, nest. */

struct term { struct onnx_import *im; const char *at, *end; int depth; };

static dim_t sum(struct term *t);

static void skip(struct term *t)
{
        while (t->at < t->end && isspace((unsigned char)*t->at))
                t->at++;
}

static bool accept(struct term *t, char c)
{
        skip(t);
        if (t->at == t->end || *t->at != c)
                return false;
        t->at++;
        return true;
}

static dim_t read_number(struct term *t)
{
        int64_t number = 0;
        for (; t->at < t->end && isdigit((unsigned char)*t->at); t->at++)
                if ((number = 10 * number + (*t->at - '0')) > INT32_MAX)
                        return DIM_NONE;
        return dim_of(number);
}

static dim_t read_pair(struct term *t, enum dim_kind kind)
{
        dim_t a = sum(t);
        dim_t b = accept(t, ',') ? sum(t) : DIM_NONE;
        return accept(t, ')') ? dim_binary(t->im->m, kind, a, b) : DIM_NONE;
}

static dim_t read_name(struct term *t)
{
        const char *from = t->at;
        while (t->at < t->end && (isalnum((unsigned char)*t->at) || *t->at == '_' || *t->at == '.'))
                t->at++;
        const size_t length = (size_t)(t->at - from);
        const bool pair = length == 3 && (!memcmp(from, "max", 3) || !memcmp(from, "min", 3));
        if (pair && accept(t, '('))
                return read_pair(t, from[1] == 'a' ? DIM_MAX : DIM_MIN);
        return length ? onnx_bound_dim(t->im, from, length, t->depth + 1) : DIM_NONE;
}

static dim_t factor(struct term *t)
{
        skip(t);
        if (t->at == t->end)
                return DIM_NONE;
        if (isdigit((unsigned char)*t->at))
                return read_number(t);
        if (*t->at != '(')
                return read_name(t);
        if (++t->depth > TERM_DEPTH_MAX)
                return DIM_NONE;
        t->at++;
        dim_t d = sum(t);
        t->depth--;
        return accept(t, ')') ? d : DIM_NONE;
}

static dim_t product(struct term *t)
{
        dim_t d = factor(t);
        while (!dim_equal(d, DIM_NONE))
                if (accept(t, '*'))
                        d = dim_binary(t->im->m, DIM_MUL, d, factor(t));
                else if (accept(t, '/'))
                        d = dim_binary(t->im->m, DIM_DIV, d, factor(t));
                else
                        break;
        return d;
}

static dim_t sum(struct term *t)
{
        dim_t d = product(t);
        while (!dim_equal(d, DIM_NONE))
                if (accept(t, '+'))
                        d = dim_binary(t->im->m, DIM_ADD, d, product(t));
                else if (accept(t, '-'))
                        d = dim_binary(t->im->m, DIM_SUB, d, product(t));
                else
                        break;
        return d;
}

static dim_t read_term(struct onnx_import *im, const char *text, size_t length, int depth)
{
        struct term t = { im, text, text + length, depth };
        dim_t d = depth > TERM_DEPTH_MAX ? DIM_NONE : sum(&t);
        skip(&t);
        return t.at == t.end ? d : DIM_NONE;
}

/* Returns the symbol of a dimension that a run gives. */
static dim_t symbol_of_run(struct onnx_import *im, const char *name, size_t length,
                           const struct onnx_binding *b)
{
        const int known = im->m->symbol_count;
        dim_t d = dim_symbol(im->m, arena_printf(im->arena, "%.*s", (int)length, name), b->extent);
        if (im->m->symbol_count > known)
                dim_at_run(im->m, known, b->least, b->extent);
        return d;
}

dim_t onnx_bound_dim(struct onnx_import *im, const char *name, size_t length, int depth)
{
        struct onnx_binding *b = map_get(im->model->dims, name, length);
        if (!b)                         /* The name itself may be a term. */
                return memchr(name, 0, length) || !strpbrk(arena_printf(im->arena, "%.*s",
                                                                        (int)length, name),
                                                           "+-*/(")
                               ? DIM_NONE
                               : read_term(im, name, length, depth);
        b->used |= depth > 0;
        if (b->term)
                return read_term(im, b->term, strlen(b->term), depth + 1);
        return b->at_run ? symbol_of_run(im, name, length, b) : dim_of(b->extent);
}
