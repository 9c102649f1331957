/* SPDX-License-Identifier: MIT */
/* How fast the interpreter is: ns per innermost step of a convolution, a matrix product and element-wise loops, and
 * microseconds to compile and run a program of one addition (what the constant folder does thousands of times). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ir/interp/interp.h"

struct bench {
        const char *name, *text;
        double steps;
};

static const struct bench benches[] = {
        { "convolve 3x3, 16 -> 16 channels, 32x32",
          "buffer @x : f32[16384] input \"x\"\n"
          "buffer @w : f32[2304] input \"w\"\n"
          "buffer @y : f32[16384] output \"y\"\n"
          "kernel @k(%x: in f32[16384], %w: in f32[2304], %y: out f32[16384]) {\n"
          "  for %m = 0 to 16 {\n"
          "    for %i = 0 to 32 {\n"
          "      for %j = 0 to 32 {\n"
          "        var %sum : f32 = 0.0\n"
          "        for %c = 0 to 16 {\n"
          "          for %a = max(0, 1 - %i) to min(3, 33 - %i) {\n"
          "            for %b = max(0, 1 - %j) to min(3, 33 - %j) {\n"
          "              set %sum = %sum + %x[%c * 1024 + (%i + %a - 1) * 32 + (%j + %b - 1)] * %w[%m * 144 + %c * 9 + "
          "%a * 3 + %b]\n"
          "            }\n"
          "          }\n"
          "        }\n"
          "        store %y[%m * 1024 + %i * 32 + %j] = %sum\n"
          "      }\n"
          "    }\n"
          "  }\n"
          "}\n"
          "main {\n  call @k(@x, @w, @y)\n}\n",
          16.0 * 16 * 94 * 94 },
        { "the same, relu of the input in the innermost loop",
          "buffer @x : f32[16384] input \"x\"\n"
          "buffer @w : f32[2304] input \"w\"\n"
          "buffer @y : f32[16384] output \"y\"\n"
          "kernel @k(%x: in f32[16384], %w: in f32[2304], %y: out f32[16384]) {\n"
          "  for %m = 0 to 16 {\n"
          "    for %i = 0 to 32 {\n"
          "      for %j = 0 to 32 {\n"
          "        var %sum : f32 = 0.0\n"
          "        for %c = 0 to 16 {\n"
          "          for %a = max(0, 1 - %i) to min(3, 33 - %i) {\n"
          "            for %b = max(0, 1 - %j) to min(3, 33 - %j) {\n"
          "              set %sum = %sum + max(%x[%c * 1024 + (%i + %a - 1) * 32 + (%j + %b - 1)], 0.0) * %w[%m * 144 "
          "+ %c * 9 + %a * 3 + %b]\n"
          "            }\n"
          "          }\n"
          "        }\n"
          "        store %y[%m * 1024 + %i * 32 + %j] = %sum\n"
          "      }\n"
          "    }\n"
          "  }\n"
          "}\n"
          "main {\n  call @k(@x, @w, @y)\n}\n",
          16.0 * 16 * 94 * 94 },
        { "depthwise convolve 3x3, 64 channels, 32x32",
          "buffer @x : f32[65536] input \"x\"\n"
          "buffer @w : f32[576] input \"w\"\n"
          "buffer @y : f32[65536] output \"y\"\n"
          "kernel @k(%x: in f32[65536], %w: in f32[576], %y: out f32[65536]) {\n"
          "  for %m = 0 to 64 {\n"
          "    for %i = 0 to 32 {\n"
          "      for %j = 0 to 32 {\n"
          "        var %sum : f32 = 0.0\n"
          "        for %a = max(0, 1 - %i) to min(3, 33 - %i) {\n"
          "          for %b = max(0, 1 - %j) to min(3, 33 - %j) {\n"
          "            set %sum = %sum + %x[%m * 1024 + (%i + %a - 1) * 32 + (%j + %b - 1)] * %w[%m * 9 + %a * 3 + "
          "%b]\n"
          "          }\n"
          "        }\n"
          "        store %y[%m * 1024 + %i * 32 + %j] = %sum\n"
          "      }\n"
          "    }\n"
          "  }\n"
          "}\n"
          "main {\n  call @k(@x, @w, @y)\n}\n",
          64.0 * 94 * 94 },
        { "matrix product 96 x 96 x 96",
          "buffer @x : f32[9216] input \"x\"\n"
          "buffer @w : f32[9216] input \"w\"\n"
          "buffer @y : f32[9216] output \"y\"\n"
          "kernel @k(%x: in f32[9216], %w: in f32[9216], %y: out f32[9216]) {\n"
          "  for %i = 0 to 96 {\n"
          "    for %j = 0 to 96 {\n"
          "      var %sum : f32 = 0.0\n"
          "      for %k = 0 to 96 {\n"
          "        set %sum = %sum + %x[%i * 96 + %k] * %w[%k * 96 + %j]\n"
          "      }\n"
          "      store %y[%i * 96 + %j] = %sum\n"
          "    }\n"
          "  }\n"
          "}\n"
          "main {\n  call @k(@x, @w, @y)\n}\n",
          96.0 * 96 * 96 },
        { "i32 product of u8 - 3 and i8, 96 x 96 x 96",
          "buffer @x : u8[9216] input \"x\"\n"
          "buffer @w : i8[9216] input \"w\"\n"
          "buffer @y : i32[9216] output \"y\"\n"
          "kernel @k(%x: in u8[9216], %w: in i8[9216], %y: out i32[9216]) {\n"
          "  for %i = 0 to 96 {\n"
          "    for %j = 0 to 96 {\n"
          "      var %sum : i32 = 0\n"
          "      for %k = 0 to 96 {\n"
          "        set %sum = %sum + (i32(%x[%i * 96 + %k]) - 3) * i32(%w[%k * 96 + %j])\n"
          "      }\n"
          "      store %y[%i * 96 + %j] = %sum\n"
          "    }\n"
          "  }\n"
          "}\n"
          "main {\n  call @k(@x, @w, @y)\n}\n",
          96.0 * 96 * 96 },
        { "relu(x + w)",
          "buffer @x : f32[65536] input \"x\"\n"
          "buffer @w : f32[65536] input \"w\"\n"
          "buffer @y : f32[65536] output \"y\"\n"
          "kernel @k(%x: in f32[65536], %w: in f32[65536], %y: out f32[65536]) {\n"
          "  for %i = 0 to 65536 {\n"
          "    store %y[%i] = max(%x[%i] + %w[%i], 0.0)\n"
          "  }\n"
          "}\n"
          "main {\n  call @k(@x, @w, @y)\n}\n",
          65536 },
        { "exp(x)",
          "buffer @x : f32[65536] input \"x\"\n"
          "buffer @w : f32[65536] input \"w\"\n"
          "buffer @y : f32[65536] output \"y\"\n"
          "kernel @k(%x: in f32[65536], %w: in f32[65536], %y: out f32[65536]) {\n"
          "  for %i = 0 to 65536 {\n"
          "    store %y[%i] = exp(%x[%i])\n"
          "  }\n"
          "}\n"
          "main {\n  call @k(@x, @w, @y)\n}\n",
          65536 },
        { "8 lanes of x * w, f32",
          "buffer @x : f32[65536] input \"x\"\n"
          "buffer @w : f32[65536] input \"w\"\n"
          "buffer @y : f32[65536] output \"y\"\n"
          "kernel @k(%x: in f32[65536], %w: in f32[65536], %y: out f32[65536]) {\n"
          "  for %i = 0 to 65536 step 8 {\n"
          "    store %y[%i] = %x<8>[%i] * %w<8>[%i]\n"
          "  }\n"
          "}\n"
          "main {\n  call @k(@x, @w, @y)\n}\n",
          65536 },
};

static const char addition[] = "buffer @x : f32[1] input \"x\"\n"
                               "buffer @w : f32[1] input \"w\"\n"
                               "buffer @y : f32[1] output \"y\"\n"
                               "kernel @k(%x: in f32[1], %w: in f32[1], %y: out f32[1]) {\n"
                               "  store %y[0] = %x[0] + %w[0]\n"
                               "}\n"
                               "main {\n  call @k(@x, @w, @y)\n}\n";

static double now(void)
{
        struct timespec t;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may want the processor too */
        return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static struct loop_program *parse(struct arena *arena, const struct loop_library *library, const char *body,
                                  struct diag *diag)
{
        struct text text = { 0 };
        text_add(&text, "loop 1\nprogram \"bench\" source \"\"\n%s", body);
        struct loop_program *p = loop_parse(arena, text.data, text.length, NULL, NULL, library, diag);
        if (!p || !loop_verify(p, diag))
                exit(1);
        text_free(&text);
        return p;
}

/* the fastest of several runs, ns */
static double measure(const struct loop_program *p, struct diag *diag)
{
        enum { BYTES = 1 << 18, RUNS = 7 };
        float *x = memory_alloc(BYTES), *w = memory_alloc(BYTES), *y = memory_alloc(BYTES);
        for (int i = 0; i < BYTES / 4; i++) {
                x[i] = (float)(i % 17) / 8 - 1;
                w[i] = (float)(i % 13) / 8 - 1;
        }
        const void *inputs[] = { x, w };
        void *outputs[] = { y };
        struct interp *interp = interp_new(p, false, 0, diag);
        double best = 1e30;
        for (int run = 0; interp && run < RUNS; run++) {
                double start = now();
                if (interp_run(interp, inputs, outputs, 0, NULL))
                        exit(1);
                double time = now() - start;
                best = time < best ? time : best;
        }
        interp_free(interp);
        free(x);
        free(w);
        free(y);
        return best;
}

int main(void)
{
        struct diag diag = { .subject = "interp_bench" };
        struct arena *arena = arena_new();
        struct loop_library *library = loop_library_new(arena, &diag);
        if (!library)
                return 1;
        for (size_t i = 0; i < sizeof benches / sizeof *benches; i++) {
                const struct bench *b = &benches[i];
                printf("%-52s %6.2f ns per step\n", b->name,
                       measure(parse(arena, library, b->text, &diag), &diag) / b->steps);
        }
        enum { TIMES = 20000 };
        const struct loop_program *p = parse(arena, library, addition, &diag);
        float x = 1, w = 2, y = 0;
        const void *inputs[] = { &x, &w };
        void *outputs[] = { &y };
        double start = now();
        for (int i = 0; i < TIMES; i++) {
                struct interp *interp = interp_new(p, false, 0, &diag);
                if (!interp || interp_run(interp, inputs, outputs, 1000, NULL))
                        return 1;
                interp_free(interp);
        }
        printf("%-52s %6.2f us\n", "compile, run and free one addition", (now() - start) / 1e3 / TIMES);
        arena_free(arena);
        return 0;
}
