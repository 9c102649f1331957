/* SPDX-License-Identifier: MIT */
/* What the tests of streams share: convolutions as text, and a stream's way through the passes to the simulator. */
#ifndef TEST_UNIT_STREAM_HARNESS_H
#define TEST_UNIT_STREAM_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "codegen/machines/launch_moves.h"
#include "codegen/machines/machine_program.h"
#include "codegen/machines/meter.h"
#include "codegen/machines/simulator.h"
#include "ir/interp/interp.h"
#include "passes/pass.h"

struct bench {
        struct arena *arena;
        struct diag diag;
        char *said;
        size_t said_length;
        struct loop_library *library;
        struct pass_context context;
};

static inline void bench_open(struct bench *b)
{
        memset(b, 0, sizeof *b);
        b->arena = arena_new();
        b->diag.subject = "test";
        b->diag.stream = open_memstream(&b->said, &b->said_length);
        b->library = loop_library_new(b->arena, &b->diag);
        loop_library_machines(b->library, machines);
        b->context = (struct pass_context){ .diag = &b->diag, .library = b->library };
}

static inline const char *bench_said(struct bench *b)
{
        fflush(b->diag.stream);
        return b->said ? b->said : "";
}

static inline void bench_close(struct bench *b)
{
        fclose(b->diag.stream);
        free(b->said);
        arena_free(b->arena);
}

static inline struct loop_program *bench_parse(struct bench *b, const struct text *text)
{
        struct loop_program *p = loop_parse(b->arena, text->data, text->length, NULL, NULL, b->library, &b->diag);
        if (!p)
                fail_msg("%s\nfor\n%s", bench_said(b), text->data);
        return p;
}

/* prints, reads, prints the same; what was read */
static inline struct loop_program *bench_again(struct bench *b, const struct loop_program *p)
{
        struct text one = { 0 }, other = { 0 };
        loop_print(&one, p, NULL);
        struct loop_program *back = bench_parse(b, &one);
        loop_print(&other, back, NULL);
        assert_string_equal(one.data, other.data);
        text_free(&one);
        text_free(&other);
        return back;
}

/* the passes, by names with commas; the verifier after each */
static inline void bench_passes(struct bench *b, struct loop_program *p, const char *names)
{
        char name[32];
        for (int length; sscanf(names, "%31[a-z_]%n", name, &length) == 1; names += length + (names[length] == ',')) {
                if (pass_find(name)->run_loop(p, &b->context) < 0 || !loop_verify(p, &b->diag))
                        fail_msg("after %s: %s", name, bench_said(b));
        }
}

/* ---- launches ---- */

struct launch {
        struct machine_program program;
        struct machine_code code;
        struct meter meter;
};

/* Encodes the program's one stream, holds it to all rules, runs it in an order of stages, and compares. arguments: by parameter. */
static inline void bench_launch(struct bench *b, const struct loop_program *p, const struct launch_argument *arguments, uint64_t seed,
                                struct launch *l)
{
        if (!machine_launch_program(&l->program, p->kernels, arguments, b->arena, &l->code, &b->diag) ||
            !program_check(&l->program, WORK_MOST, 5, &b->diag) ||
            !meter_run(&l->program.isa, l->code.instructions, l->code.count, &l->meter, NULL, &b->diag)) {
                struct text text = { 0 };
                assembly_print(&l->program, &text);
                text.data[text.length < 20000 ? text.length : 20000] = 0;
                fail_msg("%s\n%s", bench_said(b), text.data);
        }
        struct simulator *s = simulator_new(&l->program.isa, seed, (unsigned char)(seed * 37));
        unsigned char *memory = program_memory(&l->program);
        if (!simulator_launch(s, memory, l->program.dram_bytes, l->program.code->address, l->code.count, WORK_MOST, &b->diag) ||
            !program_holds(&l->program, memory, &b->diag))
                fail_msg("%s", bench_said(b));
        free(memory);
        simulator_free(s);
}

/* ---- convolutions as text ---- */

struct layer {
        int size, inputs, outputs;      /* blocks of channels */
        int kernel, stride, pad;
        int blocks, rows, columns;      /* of a tile of outputs */
        int shift;
        bool adds, reverse;             /* a bias behind the shift; the loops of products in another order */
};

static inline int layer_out(const struct layer *l) { return (l->size + 2 * l->pad - l->kernel) / l->stride + 1; }
static inline int least(int a, int b) { return a < b ? a : b; }

/* "for %NAMEb = .. {": around each sum of the tile, in an order; their place */
static inline void add_sums(struct text *t, int number, char name, const char *statement)
{
        text_add(t, "for %%b%c%d = 0 to %%tb%d {\nfor %%y%c%d = 0 to %%tr%d {\nfor %%x%c%d = 0 to %%tc%d {\n%s\n}\n}\n}\n", name, number, number, name,
                 number, number, name, number, number, statement);
}

static inline const char *sum_place(char *buffer, const struct layer *l, int number, char name)
{
        snprintf(buffer, 120, "%%s%d[((%%b%c%d * %d + %%y%c%d) * %d + %%x%c%d) * 16]", number, name, number, l->rows, name, number, l->columns, name,
                 number);
        return buffer;
}

static inline void add_product(struct text *t, const struct layer *l, int n, int in_columns)
{
        char sum[128];
        const char *const loops[] = { "b", "y", "x", "u", "v" };
        char bounds[5][16];
        snprintf(bounds[0], 16, "%%tb%d", n);
        snprintf(bounds[1], 16, "%%tr%d", n);
        snprintf(bounds[2], 16, "%%tc%d", n);
        snprintf(bounds[3], 16, "%d", l->kernel);
        snprintf(bounds[4], 16, "%d", l->kernel);
        for (int k = 0; k < 5; k++) {
                int i = l->reverse ? 4 - k : k;
                text_add(t, "for %%%sp%d = 0 to %s {\n", loops[i], n, bounds[i]);
        }
        text_add(t, "product %s += %%a%d[((%%yp%d * %d + %%up%d) * %d + %%xp%d * %d + %%vp%d) * 16] * %%k%d[((%%bp%d * %d + %%up%d) * %d + %%vp%d) * 256]\n",
                 sum_place(sum, l, n, 'p'), n, n, l->stride, n, in_columns, n, l->stride, n, n, n, l->kernel, n, l->kernel, n);
        text_add(t, "}\n}\n}\n}\n}\n");
}

/* %x, %w, %b, %y: the buffers' names; number: of the layer, in names */
static inline void add_layer(struct text *t, const struct layer *l, int n, const char *x, const char *w, const char *bias, const char *y)
{
        char line[200], sum[128];
        int out = layer_out(l), taps = l->kernel * l->kernel;
        int in_rows = (l->rows - 1) * l->stride + l->kernel, in_columns = (l->columns - 1) * l->stride + l->kernel;
        text_add(t, "for %%ob%d = 0 to %d step %d {\nfor %%oy%d = 0 to %d step %d {\nfor %%ox%d = 0 to %d step %d {\n", n, l->outputs, l->blocks, n, out,
                 l->rows, n, out, l->columns);
        text_add(t, "let %%tb%d : index = min(%d, %d - %%ob%d)\nlet %%tr%d : index = min(%d, %d - %%oy%d)\nlet %%tc%d : index = min(%d, %d - %%ox%d)\n", n,
                 l->blocks, l->outputs, n, n, l->rows, out, n, n, l->columns, out, n);
        text_add(t, "alloc %%s%d : i32[%d] in acc\nalloc %%v%d : i32[%d] in acc\n", n, l->blocks * l->rows * l->columns * 16, n, l->blocks * 16);
        snprintf(line, sizeof line, "reset %s", sum_place(sum, l, n, 'r'));
        add_sums(t, n, 'r', line);
        text_add(t, "transfer %%v%d[0] = %s[%%ob%d * 16] rows 1 by %%tb%d step 0\n", n, bias, n, n);
        text_add(t, "for %%i%d = 0 to %d {\nalloc %%a%d : i8[%d] in inp\nalloc %%k%d : i8[%d] in wgt\n", n, l->inputs, n, in_rows * in_columns * 16, n,
                 l->blocks * taps * 256);
        text_add(t, "let %%ir%d : index = (%%tr%d - 1) * %d + %d\nlet %%ft%d : index = %%oy%d * %d - %d\nlet %%fl%d : index = %%ox%d * %d - %d\n", n, n,
                 l->stride, l->kernel, n, n, l->stride, l->pad, n, n, l->stride, l->pad);
        text_add(t, "let %%top%d : index = max(0, -%%ft%d)\nlet %%bot%d : index = max(0, %%ft%d + %%ir%d - %d)\nlet %%lef%d : index = max(0, -%%fl%d)\n"
                    "let %%rig%d : index = max(0, %%fl%d + %d - %d)\n", n, n, n, n, n, l->size, n, n, n, n, in_columns, l->size);
        text_add(t, "transfer %%a%d[0] = %s[((%%i%d * %d + %%ft%d + %%top%d) * %d + %%fl%d + %%lef%d) * 16] rows %%ir%d - %%top%d - %%bot%d by %d - %%lef%d - %%rig%d "
                    "step %d pad %%top%d, %%bot%d, %%lef%d, %%rig%d\n", n, x, n, l->size, n, n, l->size, n, n, n, n, n, in_columns, n, n, l->size * 16, n, n, n, n);
        text_add(t, "transfer %%k%d[0] = %s[(%%ob%d * %d + %%i%d) * %d] rows %%tb%d by %d step %d\n", n, w, n, l->inputs, n, taps * 256, n, taps,
                 l->inputs * taps * 256);
        add_product(t, l, n, in_columns);
        text_add(t, "}\n");
        snprintf(line, sizeof line, "apply %s shr %d", sum_place(sum, l, n, 'h'), l->shift);
        add_sums(t, n, 'h', line);
        snprintf(line, sizeof line, "apply %s add %%v%d[%%ba%d * 16]", sum_place(sum, l, n, 'a'), n, n);
        if (l->adds)
                add_sums(t, n, 'a', line);
        snprintf(line, sizeof line, "apply %s min 127", sum_place(sum, l, n, 'm'));
        add_sums(t, n, 'm', line);
        snprintf(line, sizeof line, "apply %s max 0", sum_place(sum, l, n, 'z'));
        add_sums(t, n, 'z', line);
        text_add(t, "for %%bs%d = 0 to %%tb%d {\ntransfer %s[(((%%ob%d + %%bs%d) * %d + %%oy%d) * %d + %%ox%d) * 16] = %%s%d[%%bs%d * %d] rows %%tr%d by %d step %d\n}\n",
                 n, n, y, n, n, out, n, out, n, n, n, l->rows * l->columns * 16, n, l->columns, out * 16);
        text_add(t, "}\n}\n}\n");
}

#endif
