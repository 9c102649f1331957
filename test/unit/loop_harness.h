/* SPDX-License-Identifier: MIT */
/* What the tests of Loop IR share: a place to work in, and a program that uses everything. */
#ifndef TEST_UNIT_LOOP_HARNESS_H
#define TEST_UNIT_LOOP_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/loop/loop.h"

struct bench {
        struct arena *arena;
        struct diag diag;
        char *said;
        size_t said_length;
        struct loop_library *library;
};

static inline void bench_open(struct bench *b)
{
        memset(b, 0, sizeof *b);
        b->arena = arena_new();
        b->diag.subject = "test";
        b->diag.stream = open_memstream(&b->said, &b->said_length);
        b->library = loop_library_new(b->arena, &b->diag);
        fflush(b->diag.stream);
        if (!b->library)
                fail_msg("%s", b->said);
}

static inline void bench_close(struct bench *b)
{
        fclose(b->diag.stream);
        free(b->said);
        arena_free(b->arena);
}

static inline const char *said(struct bench *b)
{
        fflush(b->diag.stream);
        return b->said ? b->said : "";
}

static inline struct loop_program *parse(struct bench *b, const char *text)
{
        return loop_parse(b->arena, text, strlen(text), NULL, NULL, b->library, &b->diag);
}

static inline struct loop_program *parse_well(struct bench *b, const char *text)
{
        struct loop_program *p = parse(b, text);
        if (!p)
                fail_msg("%s\nfor\n%s", said(b), text);
        return p;
}

static inline char *print(struct bench *b, const struct loop_program *p)
{
        struct text out = { 0 };
        loop_print(&out, p, NULL);
        char *copy = arena_string(b->arena, out.data);
        text_free(&out);
        return copy;
}

static inline char *print_expr(struct bench *b, const struct loop_expr *e)
{
        struct text out = { 0 };
        loop_print_expr(&out, e);
        char *copy = arena_string(b->arena, out.data);
        text_free(&out);
        return copy;
}

/* a repeatable random number below n */
static uint64_t seed = 1;
static inline int pick(int n)
{
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        return (int)((seed >> 33) % (uint64_t)n);
}

/* in the printer's own form */
static const char everything[] =
        "loop 4\n"
        "program \"every\\x20thing\" source \"3f2a\" workspace 4096 align 64 live 256\n"
        "region \"fast\" limit 1024 align 8 section \".dtcm\" size 64\n"
        "buffer @image : f32[784] input \"In\\x22put \\xc3\\xa43\" shape <1 x 1 x 28 x 28>\n"
        "buffer @flag : bool[1] input \"flag\" shape <>\n"
        "buffer @empty : i64[0] constant = []\n"
        "buffer @weights : f32[3] constant = [1.0, -0.5, inf]\n"
        "buffer @half : f16[2] constant = [0.099975586, nan]\n"
        "buffer @odd : f32[1] constant = hex \"0100c07f\"\n"
        "buffer @ones : i8[1000] constant = splat -1\n"
        "buffer @oddsplat : f64[5] constant = splat hex \"010000000000f87f\"\n"
        "buffer @longer : u8[17] constant = hex \"000102030405060708090a0b0c0d0e0f10\"\n"
        "buffer @temporary : f32[512] workspace offset 0\n"
        "buffer @next : f32[512] workspace offset 2048\n"
        "buffer @part : f32[256] view @temporary + 128\n"
        "buffer @other : f32[4] workspace region 1 offset 48\n"
        "buffer @result : f32[784] output \"out\" shape <28 x 28>\n"
        "kernel @scalars(%x: in f32[784], %w: in f32[3], %h: in f16[2], %s: in i8[1000], %y: out "
        "f32[784], %n: index, "
        "%m: index, %factor: f32, %on: bool, %zero: i64) flops 123456 {        ; \"conv1, relu1\" convolve <1 x 784 x f32>\n"
        "  for %i = 0 to %n step 2 parallel {\n"
        "    var %sum : f32 = 0.0\n"
        "    for %k = max(0, 2 - %i) to min(3, %n - %i) unroll {\n"
        "      set %sum = %sum + %x[%i + %k] * %w[%k]\n"
        "      set %sum = fma(%sum, 2.0, -1.5e-07)\n"
        "    }\n"
        "    let %v : f32 = max(%sum, f32(%h[0])) / (1.0 + exp(-%sum))\n"
        "    if %v > 0.0 & ~(%i % 2 == 0 | %m < 3) ^ true {\n"
        "      store %y[%i] = %v\n"
        "    } else {\n"
        "      store %y[%i] = select(%v != %v, nan, -inf) streaming\n"
        "    }\n"
        "  }\n"
        "  var %left : i64 = i64(%n)\n"
        "  while %left >= 10 {\n"
        "    set %left = %left / 10 - -3 << (%left & 7) >> 1\n"
        "    let %big : u64 = bits_u64(%left) + 18446744073709551615\n"
        "    let %small : i32 = i32(%s[5]) * -(7) % -2147483648\n"
        "    if %left == i64(%big) & u32(%small) <= 3 {\n"
        "      fail INDEX\n"
        "    }\n"
        "  }\n"
        "  prefetch %x[%n] 2\n"
        "}\n"
        "task @part_of_it(%z: inout f32[512] class 1, %pack: inout f32[64], %q: f32x16, %on: bool, "
        "%i: index) {\n"
        "  if %on {\n"
        "    store %z[%i * 16] = %q + %pack<16>[0]\n"
        "  }\n"
        "}\n"
        "kernel @vectors(%x: in f32[512] class 1, %z: inout f32[512] class 1, %y: out f32[512] "
        "class 2) {\n"
        "  alloc %pack : f32[64] stack\n"
        "  var %acc : f32x16[6][2]\n"
        "  for %i = 0 to 32 {\n"
        "    for %j = 0 to 16 unroll {\n"
        "      let %r : indexx16 = ramp<16>(%i * 16, 1)\n"
        "      let %m : boolx16 = %r < splat<16>(500)\n"
        "      let %v : f32x16 = %x<16>[%i * 16, %m]\n"
        "      let %g : f32x16 = %x[%r, ~%m] * 2.0\n"
        "      set %acc{5, 1} = fma(%v, %g, %acc{5, 1})\n"
        "      store %pack[0] = select(%m, %v, %g) mask %m\n"
        "      store %y[%r] = %acc{0, 1} + splat<16>(0.5)\n"
        "      store %z[%i] = sum_lanes(%v) + lane(%g, 3) + max_lanes(%v) - min_lanes(%g)\n"
        "      store %z[0] = 0.0:f32x16 mask %m & true streaming\n"
        "    }\n"
        "  }\n"
        "  let %d : f64 = f64(0.1:f64) + f64(%x[0])\n"
        "  let %e : bool = 1:i64 < 2\n"
        "  let %f : bool = 0.5:f64 == 1.0 | 1 < 2\n"
        "  let %q : f32 = exp(1.0)\n"
        "  let %t : f64 = exp(1.0:f64)\n"
        "  let %u : f32x4 = pow(1.5:f32x4, splat<4>(2.0))\n"
        "  let %w : f32x16 = %x<16>[0]\n"
        "  if %e {\n"
        "    launch @part_of_it(%z, %pack; %w, %f, 1 to 32 step 2)\n"
        "  }\n"
        "}\n"
        "kernel @grid(%x: in f32[512], %y: out f32[512], %n: index) {\n"
        "  for %b = 0 to 8 gpu_block {\n"
        "    alloc %all : f32[256] shared\n"
        "    for %i = 0 to %n {\n"
        "      for %w = 0 to 4 gpu_warp {\n"
        "        alloc %each : f64[64] stack\n"
        "        if %n > 8 {\n"
        "          fail INDEX\n"
        "        }\n"
        "        store %all[%w * 64 + %i] = %x[%b]\n"
        "      }\n"
        "    }\n"
        "  }\n"
        "  for %d = 0 to 3 gpu_cluster {\n"
        "    alloc %s : f32[16] cluster\n"
        "    for %e = 0 to 2 gpu_block {\n"
        "      for %p = 0 to 8 gpu_warp {\n"
        "        store %s[%e * 8 + %p] = %x[%d]\n"
        "      }\n"
        "    }\n"
        "    for %g = 0 to 2 gpu_block {\n"
        "      for %q = 0 to 8 gpu_warp {\n"
        "        store %y[%q] = %s[8]\n"
        "      }\n"
        "    }\n"
        "  }\n"
        "  for %c = 0 to 1 gpu_block {\n"
        "    for %u = 0 to 32 gpu_warp {\n"
        "      for %l = 0 to 16 gpu_lane {\n"
        "        store %y[%l] = %x[%l]\n"
        "      }\n"
        "      let %v : f32x32 = %x<32>[0]\n"
        "      store %y[%u * 16] = %v mask ramp<32>(0, 1) < splat<32>(16)\n"
        "    }\n"
        "  }\n"
        "}\n"
        "main {\n"
        "  if @flag[0] {\n"
        "    call @scalars(@image, @weights, @half, @ones, @result; 784, 3 * 4, -0.5, true, -3)\n"
        "  } else {\n"
        "    for %step = 0 to 3 {\n"
        "      call @vectors(@temporary, @temporary, @next)\n"
        "    }\n"
        "    fail EXTENT\n"
        "  }\n"
        "}\n";

#endif
