/* SPDX-License-Identifier: MIT */
/* Words: adjacent elements of a buffer in one operand of a multiply (ir/target/multiply.h).
 *
 *     %x<u32 of 4>[%i], bytes        x[i + 3]   x[i + 2]   x[i + 1]   x[i]
 *                                bit 31                                  0
 *     %x<u32 of 2>[%i], i8           sign of x[i + 1], x[i + 1]   sign of x[i], x[i]
 *
 * The first element is in the lowest bits, whatever the byte order of the processor; elements that
 * do not fill their share are integers, which are sign- or zero-extended. This file writes what
 * words mean, which the interpreter runs, and which stands for words where a target has no row for
 * them. */
#include "ir/loop/loop.h"

struct loop_expr *loop_load_words(struct arena *arena, struct loop_buffer *b,
                                  struct loop_expr *index, enum element word, int group, int lanes)
{
        if (!index)
                return NULL;
        struct loop_expr *e =
                loop_node(arena, LOOP_LOAD, LOOP_VECTOR(word, lanes), index, NULL, NULL);
        e->buffer = b;
        e->group = group;
        return e;
}

/* Returns element k of each word, in its place. */
static struct loop_expr *share(struct arena *arena, const struct loop_expr *e, int k)
{
        enum element word = e->type.element, own = e->buffer->element;
        int lanes = e->type.lanes, bits = 8 * element_info[word].bytes / e->group;
        struct loop_expr *at = loop_op(arena, LOOP_ADD, e->args[0], loop_index(arena, k), NULL);
        if (lanes > 1)
                at = loop_ramp(arena, lanes, at, loop_index(arena, e->group));
        struct loop_expr *x = loop_load(arena, e->buffer, at);
        if (element_is_float(own))
                x = loop_bitcast(arena, element_info[own].bytes == 2 ? E_U16 : E_U32, x);
        x = loop_cast(arena, word, x);
        union scalar mask = { .u = (UINT64_C(1) << bits) - 1 },
                     shift = { .u = (uint64_t)(bits * k) };
        if (element_info[own].class == CLASS_SINT && k + 1 < e->group)
                x = loop_op(arena, LOOP_AND, x,
                            loop_splat(arena, lanes, loop_literal(arena, LOOP_TYPE(word), mask)),
                            NULL);
        return k ? loop_op(arena, LOOP_SHL, x,
                           loop_splat(arena, lanes, loop_literal(arena, LOOP_TYPE(word), shift)),
                           NULL)
                 : x;
}

struct loop_expr *loop_words_expand(struct arena *arena, const struct loop_expr *e)
{
        struct loop_expr *word = share(arena, e, 0);
        for (int k = 1; k < e->group; k++)
                word = loop_op(arena, LOOP_OR, word, share(arena, e, k), NULL);
        return word;
}

bool loop_computes_narrow(const struct loop_expr *e)
{
        return (e->op <= LOOP_MAX_ORDERED && loop_is_narrow(e->args[0]->type.element)) ||
               (e->op == LOOP_CAST && loop_is_narrow_integer(e->args[0]->type.element) &&
                loop_is_narrow_integer(e->type.element));
}

struct loop_expr *loop_narrow_expand(struct arena *arena, const struct loop_expr *e)
{
        struct loop_expr *args[3] = { 0 };
        for (int i = 0; i < e->arity; i++)
                args[i] = loop_cast(arena, element_info[e->args[i]->type.element].compute,
                                    e->args[i]);
        if (e->op == LOOP_CAST)
                return loop_cast(arena, e->type.element, args[0]);
        return loop_cast(arena, e->type.element, loop_op(arena, e->op, args[0], args[1], args[2]));
}
