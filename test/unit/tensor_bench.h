/* SPDX-License-Identifier: MIT */
/* What the tests of Tensor IR share: a diagnostic that keeps what was said, texts that are checked or refused. */
#ifndef TEST_TENSOR_BENCH_H
#define TEST_TENSOR_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "ir/tensor/tensor.h"

/* tables of extents leave out the braces of each dim_t */
#pragma GCC diagnostic ignored "-Wmissing-braces"

struct bench {
        struct diag diag;
        char *said;
        size_t said_length;
        struct arena *arena;
};

static inline void bench_open(struct bench *b)
{
        memset(b, 0, sizeof *b);
        b->arena = arena_new();
        b->diag.subject = "test";
        b->diag.stream = open_memstream(&b->said, &b->said_length);
}

static inline void bench_close(struct bench *b)
{
        fclose(b->diag.stream);
        free(b->said);
        arena_free(b->arena);
}

/* all that was said, without the last newline */
static inline const char *said(struct bench *b)
{
        fflush(b->diag.stream);
        char *copy = arena_string(b->arena, b->said ? b->said : "");
        copy[strcspn(copy, "\n")] = 0;
        return copy;
}

static inline struct module *parse(struct bench *b, const char *text)
{
        return tensor_parse(text, strlen(text), NULL, NULL, &b->diag);
}

static inline struct module *parse_well(struct bench *b, const char *text)
{
        struct module *m = parse(b, text);
        if (!m)
                fail_msg("%s\nfor\n%s", said(b), text);
        return m;
}

static inline char *print(struct bench *b, struct module *m)
{
        struct text out = { 0 };
        tensor_print(&out, m, NULL);
        char *copy = arena_string(b->arena, out.data);
        text_free(&out);
        return copy;
}

/* text is what the printer writes of itself */
static inline void check_canonical(const char *text)
{
        struct bench b;
        bench_open(&b);
        struct module *m = parse_well(&b, text);
        assert_string_equal(print(&b, m), text);
        if (!tensor_verify(m, &b.diag))
                fail_msg("%s", said(&b));
        module_free(m);
        bench_close(&b);
}

/* text is refused with this message, whole */
static inline void check_refused(const char *text, const char *message)
{
        struct bench b;
        bench_open(&b);
        struct module *m = parse(&b, text);
        if (m)
                fail_msg("accepted, want %s:\n%s", message, text);
        char *want = arena_printf(b.arena, "test: error: %s", message);
        assert_string_equal(said(&b), want);
        assert_int_equal(b.diag.errors, 1);
        assert_int_equal(b.diag.code, EXIT_INVALID);
        assert_null(b.diag.place);
        bench_close(&b);
}

#define HEAD "dnn 3\nmodule \"m\"\n"

/* an operation on arguments, as a whole text; the only result is yielded */
static inline char *one_op(struct arena *arena, const char *arguments, const char *op)
{
        return arena_printf(arena, HEAD "func @main(%s) -> (\"out\") {\n  %%0 = %s\n  yield(%%0)\n}\n", arguments, op);
}

#endif
