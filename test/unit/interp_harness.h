/* SPDX-License-Identifier: MIT */
/* What the tests of the interpreter share: a place to work in, running a program, and programs of one expression. */
#ifndef TEST_UNIT_INTERP_HARNESS_H
#define TEST_UNIT_INTERP_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/interp/interp_code.h"

struct harness {
        struct arena *arena;
        struct diag diag;
        char *said;
        size_t said_length;
        struct loop_library *library;
};

static inline void harness_open(struct harness *h)
{
        memset(h, 0, sizeof *h);
        h->arena = arena_new();
        h->diag.subject = "test";
        h->diag.stream = open_memstream(&h->said, &h->said_length);
        h->library = loop_library_new(h->arena, &h->diag);
        fflush(h->diag.stream);
        if (!h->library)
                fail_msg("%s", h->said);
}

static inline void harness_close(struct harness *h)
{
        fclose(h->diag.stream);
        free(h->said);
        arena_free(h->arena);
}

static inline const char *harness_said(struct harness *h)
{
        fflush(h->diag.stream);
        return h->said ? h->said : "";
}

/* body: the text behind the program line */
static inline struct loop_program *harness_parse(struct harness *h, const char *body)
{
        struct text text = { 0 };
        text_add(&text, "loop 3\nprogram \"test\" source \"\"%s%s", *body == ' ' ? "" : "\n", body);
        struct loop_program *p = loop_parse(h->arena, text.data, text.length, NULL, NULL, h->library, &h->diag);
        if (!p || !loop_verify(p, &h->diag))
                fail_msg("%s\nfor\n%s", harness_said(h), text.data);
        text_free(&text);
        return p;
}

enum { HARNESS_STEPS = 100000000 };

static inline int harness_run_with(struct harness *h, const struct loop_program *p, struct interp_options options,
                                   const void *const *inputs, void *const *outputs)
{
        struct interp *interp = interp_new_with(p, &options, &h->diag);
        if (!interp)
                fail_msg("%s", harness_said(h));
        int code = interp_run(interp, inputs, outputs, HARNESS_STEPS, NULL);
        interp_free(interp);
        return code;
}

static inline int harness_run(struct harness *h, const struct loop_program *p, bool plain, bool as_double,
                              const void *const *inputs, void *const *outputs)
{
        return harness_run_with(h, p, (struct interp_options){ .plain = plain, .as_double = as_double }, inputs,
                                outputs);
}

enum { HARNESS_OUTPUTS = 8 };

/* As plain and as optimised code, which must give the same bytes. */
static inline int run_text(const char *text, const void *const *inputs, void *const *outputs)
{
        struct harness h;
        harness_open(&h);
        struct loop_program *p = harness_parse(&h, text);
        unsigned char *plain[HARNESS_OUTPUTS];
        size_t bytes[HARNESS_OUTPUTS];
        int count = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                if (b->space == SPACE_OUTPUT) {
                        bytes[count] = (size_t)b->extent * (size_t)element_info[b->element].bytes;
                        plain[count] = memory_alloc(bytes[count]);
                        if (bytes[count])
                                memcpy(plain[count], outputs[count], bytes[count]);
                        count++;
                }
        int code = harness_run(&h, p, true, false, inputs, (void *const *)plain);
        assert_int_equal(code, harness_run(&h, p, false, false, inputs, outputs));
        for (int k = 0; k < count; k++) {
                if (code == INTERP_OK && bytes[k])
                        assert_memory_equal(plain[k], outputs[k], bytes[k]);
                free(plain[k]);
        }
        harness_close(&h);
        return code;
}

static inline float noise(int i) { return (float)((i * 7919) % 1009) / 251.0f - 2.0f; }

static inline void fill(float *x, int count, int seed)
{
        for (int i = 0; i < count; i++)
                x[i] = noise(i + seed) * (i % 5 ? 1.0f : 1.0e-20f);
}

#endif
