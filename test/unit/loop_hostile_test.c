/* SPDX-License-Identifier: MIT */
/* Loop IR text from strangers: an error or a sound program, in linear time, whatever the bytes. */
#include "test/unit/loop_harness.h"

/* ---- mutations ---- */

static void check_hostile(struct bench *b, const char *text, size_t length)
{
        struct arena *arena = arena_new();
        b->diag.errors = 0;
        struct loop_program *p = loop_parse(arena, text, length, NULL, NULL, b->library, &b->diag);
        assert_int_equal(b->diag.errors, p ? 0 : 1);
        if (p) {
                struct text once = { 0 }, twice = { 0 };
                loop_print(&once, p, NULL);
                struct loop_program *q =
                        loop_parse(arena, once.data, once.length, NULL, NULL, b->library, &b->diag);
                assert_non_null(q);
                loop_print(&twice, q, NULL);
                assert_string_equal(once.data, twice.data);
                text_free(&once);
                text_free(&twice);
        } else
                assert_int_equal(b->diag.code, EXIT_INVALID);
        arena_free(arena);
}

static void test_prefixes_and_mutations(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        size_t length = strlen(everything);
        char *text = malloc(length + 1);
        for (size_t i = 0; i < length - 1; i += 3) {
                char *prefix = malloc(i + 1);   /* of its own: reading past the end is seen */
                memcpy(prefix, everything, i);
                check_hostile(&b, prefix, i);
                free(prefix);
        }
        static const char bytes[] = "%@{}[]()<>;:,=+-*/0123456789 \n\"\\xabt\xff";
        for (int round = 0; round < 3000; round++) {
                memcpy(text, everything, length + 1);
                for (int changes = 1 + pick(3); changes; changes--) {
                        size_t at = (size_t)pick((int)length);
                        if (pick(2))
                                text[at] = bytes[pick(sizeof bytes - 1)];
                        else {                                  /* words change places */
                                size_t from = (size_t)pick((int)length - 8), span = (size_t)pick(8);
                                memmove(text + (at < length - 8 ? at : 0), everything + from, span);
                        }
                }
                check_hostile(&b, text, length);
        }
        free(text);
        bench_close(&b);
}

/* ---- depth ---- */

static const char frame[] = "loop 3\nprogram \"p\" source \"\"\n"
                            "kernel @k(%x: in f32[9], %y: out f32[9], %b: out bool[9]) {\n";

/* frame, count times `open`, `middle`, count times `shut`; the error it gives */
static void check_deep(struct bench *b, const char *before, const char *open, const char *middle,
                       const char *shut, int count, const char *wanted)
{
        struct text t = { 0 };
        size_t earlier = strlen(said(b));
        text_add(&t, "%s%s", frame, before);
        for (int i = 0; i < count; i++)
                text_add(&t, "%s", open);
        text_add(&t, "%s", middle);
        for (int i = 0; i < count; i++)
                text_add(&t, "%s", shut);
        text_add(&t, "\n}\nmain {\n}\n");
        bool good =
                loop_parse(b->arena, t.data, t.length, NULL, NULL, b->library, &b->diag) != NULL;
        if (good != !wanted || (wanted && !strstr(said(b) + earlier, wanted)))
                fail_msg("wanted %s, %s: %s", wanted ? wanted : "success",
                         good ? "succeeded" : "failed", said(b) + earlier);
        text_free(&t);
}

static void test_depth_is_bounded(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        check_deep(&b, "store %y[0] = ", "(", "1", ")", 900, NULL);
        check_deep(&b, "store %y[0] = 1", " + %x[0]", "", "", 900, NULL);
        check_deep(&b, "", "if true { ", "", "}", 190, NULL);
        check_deep(&b, "store %y[0] = ", "(", "1", ")", 1000000, "expression is nested");
        check_deep(&b, "store %y[0] = ", "-", "1", "", 1000000, "expression is nested");
        check_deep(&b, "store %y[0] = 1", " + 1", "", "", 1000000, "expression is nested");
        check_deep(&b, "store %y[0] = ", "exp(", "1", ")", 1000000, "expression is nested");
        check_deep(&b, "store %y[0] = ", "%x[index(", "1", ")]", 1000000, "expression is nested");
        check_deep(&b, "", "if true { ", "", "}", 100000, "blocks are nested");
        bench_close(&b);
}

/* ---- what the parser and the verifier refuse ---- */

#define TILE_SUMS "var %a : f32x4tile[2][1] in 0 to 1 "
#define TILE_PRODUCT "multiply %a += %x[0] * %x[0] by add_product rows 2 depth 1 group 1 step 0 jump 0 "
static const struct { const char *body, *message; } wrong[] = {
        { "store %y[0] = %q", "line 4: nothing called 'q'" },
        { "store %y[0] =\n%x[0] +", "line 6: want an expression" },
        { "let %a : f32 = 1 let %a : f32 = 2", "declared twice" },
        { "let %int : f32 = 1", "'int' cannot be a name" },
        { "for %i = 0 to 3 { } store %y[%i] = 1", "nothing called 'i'" },
        { "if true { let %a : f32 = 1 } store %y[0] = %a", "nothing called 'a'" },
        { "let %a : f32 = 1 set %a = 2", "not a var" },
        { "let %a : f64 = %x[0]", "f32, want f64" },
        { "let %a : f32 = %x[0] + 1:f64", "operands of '+' are f32 and f64" },
        { "let %a : i32 = 0.5", "not of type i32" },
        { "let %a : i32 = 2147483648", "does not fit i32" },
        { "let %a : u32 = -1", "does not fit u32" },
        { "let %a : f32 = %x[0] % 2", "% is not for f32" },
        { "let %a : bool = true + true", "+ is not for bool" },
        { "let %a : f16 = f16(%x[0]) let %c : f16 = %a + %a", "+ is not for f16" },
        { "let %a : f32 = fma(1, 2)", "takes 3 operands" },
        { "let %a : f32 = exp(1.0, 2)", "too many arguments" },
        { "let %a : f32x8 = pow(splat<8>(1.0), %x[0])", "argument 2 of pow is f32, want f32x8" },
        { "let %a : f32 = nothing(1.0)", "no function nothing of f32" },
        { "let %a : i64 = exp(1:i64)", "no function exp of i64" },
        { "let %a : f64 = bits_f64(%x[0])", "no conversion from f32 to f64" },
        { "let %a : bool = bool(%x[0]) let %c : f32 = select(%x[0], 1, 2)", "a condition is f32" },
        { "store %y[0.5] = 1", "not of type index" },
        { "store %y[i64(3)] = 1", "a subscript is i64" },
        { "store %y[9] = 1", "outside its 9 elements" },
        { "store %y[-1] = 1", "outside its 9 elements" },
        { "store %y[2] = 0.0:f32x8", "outside its 9 elements" },
        { "store %x[0] = 1", "x is only read" },
        { "store %y[0] = %y[1]", "y is only written" },
        { "store %y[0] = true", "true and false are not numbers" },
        { "store %b[0] = %x[0]", "f32 of the elements of b" },
        { "store %y[0] = %x<257>[0]", "out of range" },
        { "store %y[0] = %x<8>[0, %x[0] > 0]", "a mask is bool" },
        { "var %a : f32x8[2][2] set %a{2, 0} = 1", "a row is out of range" },
        { "var %a : f32x8[2][2] = 1", "tiles begin as zero" },
        { "var %a : f32x8[2][2] let %c : f32x8 = %a", "want '{'" },
        { "var %a : f32x8[65][2]", "a tile's rows is out of range" },
        { "var %a : f32tile[2][2]", "f32tile' says no lanes" },
        { "var %a : f32x1tile[2][2]", "want a type" },
        { "tiles 2 by 2 rows 2 depth 1 lanes 16 word 9", "word is out of range" },
        { "tiles 2 by 2 rows 2 depth 1 lanes 1 word 4", "hardware tiles of 1 lanes" },
        { "tiles 2 by 2 rows 2 depth 65 lanes 16 word 4", "depth is out of range" },
        { "var %a : f32x4tile[2][1] multiply %a += %x[0] * %x[0] by add_product rows 2 depth 1 group 2 step 0 jump 0",
          "words of 2 f32 for sums of f32" },
        { "var %a : i32x4tile[2][1] multiply %a += %x[0] * %x[0] by add_product rows 2 depth 1 group 1 step 0 jump 0",
          "words of 1 f32 for sums of i32" },
        { "var %a : f32x4tile[2][1] multiply %a += %x[0] * %x[0] rows 2 depth 1 group 1 step 0 jump 0", "want 'by'" },
        { "var %a : f32x4tile[2][1] multiply %a += %x[0] * %x[0] by dot_i8 rows 2 depth 1 group 1 step 0 jump 0",
          "no function dot_i8 of f32" },
        { "var %a : f32x4tile[2][1] multiply %a += %x[0] * %x[0] by dot_bf16 rows 2 depth 1 group 1 step 0 jump 0",
          "dot_bf16 makes no f32 of three" },
        { "var %a : f32x4tile[2][1] unload %b[0] = %a rows 2", "are stored as bool" },
        { "var %a : f32x4[2][1] in 0 to 1", "%a is in no hardware tiles" },
        { "var %a : f32x4tile[2][1] in 1 to 1", "the end of hardware tiles is out of range" },
        { "var %a : f32x4tile[2][1] in 63 to 65", "the end of hardware tiles is out of range" },
        { TILE_SUMS "var %c : f32x4tile[2][1] in 0 to 1", "hardware tile 0 holds sums of %a" },
        { TILE_SUMS "if true { var %c : f32x4tile[2][1] in 0 to 1 }", "hardware tile 0 holds sums of %a" },
        { TILE_SUMS TILE_PRODUCT "x 0 to 1 w 1 to 2", "hardware tile 0 holds sums of %a" },
        { TILE_SUMS TILE_PRODUCT "x 1 to 2 w 1 to 2", "hardware tiles of x and w are the same" },
        { TILE_SUMS TILE_PRODUCT "x 1 to 3 w 3 to 4", "2 hardware tiles of positions, 1 of weights" },
        { TILE_SUMS TILE_PRODUCT "x 1 to 2", "1 hardware tiles of positions, 0 of weights" },
        { TILE_SUMS "unload %y[0] = %a rows 1", "%a has 1 hardware tiles, want 2" },
        { TILE_SUMS "unload %y[0] = %a rows 2 unload %y[0] = %a rows 2", "%a has no hardware tiles any more" },
        { "var %a : f32x4tile[2][1] " TILE_PRODUCT "x 0 to 1", "sums without hardware tiles" },
        { "var %a : f32x4tile[3][1] in 0 to 2 multiply %a += %x[0] * %x[0] by add_product rows 2 depth 1 group 1 step 0 jump 0 "
          "x 2 to 3 w 3 to 4", "1 hardware tiles of positions" },
        /* whose tiles are free again: what is wrong comes later */
        { TILE_SUMS "unload %y[0] = %a rows 2 var %c : f32x4tile[2][1] in 0 to 1 let %d : string = 1", "no numbers of type string" },
        { "let %a : f32x4 = %x<4>[0] keep %a keep %x", "only a variable is kept" },
        { "let %a : f32 = 1 keep %a", "%a is no value in vectors, nor an index that changes" },
        { "var %a : f32x4[2][2] keep %a", "%a is no value in vectors" },
        { "if true { let %a : f32x4 = %x<4>[0] } keep %a", "nothing called 'a' is in scope" },
        { "let %a : f32x1 = 1", "want a type" },
        { "let %a : f32x257 = 1", "want a type" },
        { "let %a : string = 1", "no numbers of type string" },
        { "let %a : f32x4 = ramp<4>(1.0, %x[0])", "step of a ramp is not a literal" },
        { "let %a : f32 = lane(%x<4>[0], 4)", "lane is not a literal in range" },
        { "let %a : f32 = sum_lanes(%x[0])", "sum_lanes of f32" },
        { "for %i = 0 to 9 step 0 { }", "a step is out of range" },
        { "if 2 { }", "does not fit bool" },
        { "while %x[0] { }", "a condition is f32, want bool" },
        { "fail SOMETHING", "not a code to fail with" },
        { "return 1", "cannot stand in this kind of function" },
        { "call @k()", "cannot stand in this kind of function" },
        { "alloc %t : index[3] stack", "a bad alloc" },
        { "alloc %t : f32[3] heap", "want stack, shared, cluster or lanes" },
        { "for %i = 0 to 2 { for %j = 0 to 2 parallel { } }", "stands outermost" },
        { "while false { for %j = 0 to 2 parallel { } }", "stands outermost" },
        { "for %i = 0 to 2 parallel { for %j = 0 to 2 parallel { } }", "stands outermost" },
        { "for %i = 0 to 2 parallel { fail INDEX }", "cannot be left" },
        { "for %g = 0 to 2 gpu_thread { }", "want '{'" },
        { "for %g = 0 to 2 gpu_block { } store %y[0] = 1", "has loops over blocks only" },
        { "let %a : f32 = 1 for %g = 0 to 2 gpu_block { }", "has loops over blocks only" },
        { "if true { for %g = 0 to 2 gpu_block { } }", "has loops over blocks only" },
        { "for %w = 0 to 2 gpu_warp { }", "has loops over blocks only" },
        { "alloc %s : f32[4] shared", "has loops over blocks only" },
        { "for %g = 0 to 2 gpu_block { for %c = 0 to 2 gpu_block { } }", "serial loops and loops over warps only" },
        { "for %g = 0 to 2 gpu_block { for %c = 0 to 2 parallel { } }", "stands outermost" },
        { "for %g = 1 to 2 gpu_block { }", "not counted from 0 to a literal" },
        { "for %g = 0 to 4 step 2 gpu_block { }", "not counted from 0 to a literal" },
        { "for %g = 0 to 0 gpu_block { }", "0 blocks, want 1 to 2147483647" },
        { "for %g = 0 to 2147483648 gpu_block { }", "2147483648 blocks, want 1 to 2147483647" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to %g gpu_warp { } }", "not counted from 0 to a literal" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 33 gpu_warp { } }", "33 warps, want 1 to 32" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 2 gpu_warp { } for %v = 0 to 3 gpu_warp { } }", "3 warps, but 2 before" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 2 gpu_warp { for %v = 0 to 2 gpu_warp { } } }", "a warp has serial loops and loops over lanes only" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 2 gpu_warp { alloc %s : f32[4] shared } }", "s is shared, but by one warp" },
        { "for %g = 0 to 2 gpu_block { alloc %s : f32[4] stack }", "s is of a warp" },
        { "for %g = 0 to 2 gpu_block { alloc %s : f32[58113] shared }", "shares more than 232448 bytes" },
        { "for %g = 0 to 2 gpu_block { alloc %s : f32[58000] shared if true { alloc %t : u8[449] shared } }", "shares more than" },
        { "for %g = 0 to 2 gpu_block { alloc %s : f64[576460752303423488] shared }", "shares more than" },
        { "for %g = 0 to 2 gpu_block { store %y[0] = 1 }", "this is for a warp to do" },
        { "for %g = 0 to 2 gpu_block { fail INDEX }", "this is for a warp to do" },
        { "for %g = 0 to 2 gpu_block { let %a : bool = %b[0] }", "b is only written" },
        { "for %g = 0 to 2 gpu_block { alloc %s : f32[4] shared if %s[0] < 1 { } }", "reads what the kernel writes" },
        { "for %g = 0 to 2 gpu_block { var %a : f32 = 0 for %w = 0 to 2 gpu_warp { set %a = 1 } }", "%a is shared" },
        { "for %g = 0 to 2 gpu_block { var %a : f32[1][1] for %w = 0 to 2 gpu_warp { store %y[%w] = %a{0, 0} } }", "%a is shared" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { if true { fail INDEX } fail EXTENT } }", "fails with two codes" },
        { "for %g = 0 to 2 gpu_block { alloc %s : f32[64] lanes }", "s is of a warp" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { alloc %s : f32[40] lanes } }", "in equal parts of its lanes" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { for %l = 0 to 32 gpu_lane { alloc %s : f32[64] lanes } } }", "s is not a warp's" },
        { "alloc %s : f32[64] lanes", "has loops over blocks only" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { alloc %s : f32[64] lanes store %s[0] = 1 } }", "outside of loops over 32 lanes" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { alloc %s : f32[64] lanes for %l = 0 to 16 gpu_lane { store %s[%l * 2] = 1 } } }", "outside of loops over 32 lanes" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { alloc %s : f32[64] lanes for %l = 0 to 32 gpu_lane { store %s[%l * 2 + 2] = 1 } } }", "is not known to be the lane's own" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { alloc %s : f32[64] lanes for %l = 0 to 32 gpu_lane { let %v : f32 = %s[62 - %l * 2] } } }", "is not known to be the lane's own" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { alloc %s : f32[64] lanes for %l = 0 to 32 gpu_lane { for %i = 0 to 3 { store %s[%l * 2 + %i] = 1 } } } }", "is not known to be the lane's own" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { alloc %s : f32[64] lanes let %v : f32x4 = %s<4>[0] } }", "a load of several elements" },
        { "for %c = 0 to 2 gpu_cluster { }", "a cluster without blocks" },
        { "for %c = 0 to 2 gpu_cluster { let %i : index = 1 }", "has memory and loops over blocks only" },
        { "for %c = 0 to 2 gpu_cluster { for %w = 0 to 2 gpu_warp { } }", "has memory and loops over blocks only" },
        { "for %c = 0 to 2 gpu_cluster { for %g = 0 to 9 gpu_block { } }", "9 blocks of a cluster, want 1 to 8" },
        { "for %c = 0 to 2 gpu_cluster { for %g = 0 to 2 gpu_block { } for %h = 0 to 4 gpu_block { } }", "4 blocks, but 2 before" },
        { "for %c = 0 to 2 gpu_cluster { for %g = 0 to 2 gpu_block { for %w = 0 to 2 gpu_warp { } } for %h = 0 to 2 gpu_block { for %v = 0 to 1 gpu_warp { } } }", "1 warps, but 2 before" },
        { "for %c = 0 to 2 gpu_cluster { alloc %s : f32[4] shared for %g = 0 to 2 gpu_block { } }", "s is of a block, but declared outside" },
        { "for %c = 0 to 2 gpu_cluster { alloc %s : f32[12] cluster for %g = 0 to 2 gpu_block { } }", "not in equal parts" },
        { "for %c = 0 to 2 gpu_cluster { alloc %s : f32[116232] cluster for %g = 0 to 2 gpu_block { alloc %t : f32[8] shared } }", "shares more than 232448 bytes" },
        { "for %g = 0 to 2 gpu_block { alloc %s : f32[8] cluster }", "s is of a warp" },
        { "for %c = 0 to 2 gpu_cluster { alloc %s : f32[8] cluster for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { store %s[4 - %g * 4] = 1 } } }", "is not known to be one block's" },
        { "for %c = 0 to 2 gpu_cluster { alloc %s : f32[8] cluster for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { store %s[%g * 4 + %c * 4] = 1 } } }", "is no block's of the cluster" },
        { "for %c = 0 to 2 gpu_cluster { alloc %s : f32[8] cluster for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { store %s[4] = 1 } } }", "s is written in another block" },
        { "for %c = 0 to 2 gpu_cluster { alloc %s : f32[8] cluster for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { store %s[%g * 4] = splat<4>(1.0:f32) } } }", "one element at a time" },
        { "for %c = 0 to 2 gpu_cluster { alloc %s : f32[8] cluster for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { let %v : f32x4 = %s<4>[%g * 4 + 2] } } }", "a place of s is not known to be one block" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { for %l = 0 to 32 gpu_lane { let %v : f32x4 = %x<4>[%l * 2] } } }", "not known to begin at a multiple" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { for %l = 0 to 32 gpu_lane { let %v : f32x8 = %x<8>[%l * 8] } } }", "no access of 8 elements of x" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { for %l = 0 to 32 gpu_lane { let %v : f32x4 = %x<4>[%l * 4] let %s : f32 = sum_lanes(%v) } } }", "a lane has scalars" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { for %l = 0 to 32 gpu_lane { store %y[%l * 4] = 1 vector 2 } } }", "vector of 2 stores is not complete" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { for %l = 0 to 32 gpu_lane { store %y[%l * 4] = 1 vector 2 store %y[%l * 4 + 2] = 1 } } }", "not side by side" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { for %l = 0 to 32 gpu_lane { store %y[%l] = 1 vector 2 store %y[%l + 1] = 1 } } }", "not known to begin at a multiple" },
        { "store %y[0] = 1 vector 2 store %y[1] = 1", "a vector of stores is a lane's" },
        { "for %i = 0 to 2 nowait { }", "a loop has no such barrier" },
        { "for %g = 0 to 2 gpu_block nowait { }", "a loop has no such barrier" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { for %l = 0 to 32 gpu_lane syncwarp { } } }", "a loop has no such barrier" },
        { "launch_wait", "has loops over blocks only" },
        { "for %g = 0 to 2 gpu_block { for %i = 0 to 2 { launch_wait } }", "outside of its loops and conditions" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 1 gpu_warp { launch_dependents } }", "this is for all warps to do alike" },
        { "for %g = 0 to 2 gpu_block { prefetch %x[0] 0 }", "a block prefetches to L2 only" },
        { "prefetch %x[0] 3 of 64", "a bad prefetch" },
        { "prefetch %x[0] 1 of 0", "elements" },
        { "let %k : index of %x = 1 let %a : f32 = f32(%k)", "%k is an index of x, and used as a number" },
        { "let %k : index of %x = 1 store %y[%k] = 1", "an index of x is used for y" },
        { "let %k : index of %x = 1 let %a : f32 = %x[%k * 2]", "%k is an index of x, and used as a number" },
        { "let %k : f32 of %x = 1.0", "no index of a buffer in scope" },
        { "let %n : index = 1 let %k : index of %n = 1", "an index is into a buffer" },
        { "for %c = 0 to 2 gpu_cluster { alloc %s : f32[8] cluster for %g = 0 to 2 gpu_block { if %s[0] < 1 { } } }", "reads what the kernel writes" },
        { "for %g = 0 to 2 gpu_block { for %l = 0 to 2 gpu_lane { } }", "serial loops and loops over warps only" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 2 gpu_warp { for %l = 0 to 33 gpu_lane { } } }", "33 lanes, want 1 to 32" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 2 gpu_warp { for %l = 0 to 2 gpu_lane { for %m = 0 to 2 gpu_lane { } } } }",
          "a lane has serial loops only" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 2 gpu_warp { for %l = 0 to 2 gpu_lane { let %v : f32x4 = splat<4>(1.0) } } }",
          "a lane has scalars" },
        { "for %g = 0 to 2 gpu_block { for %w = 0 to 2 gpu_warp { var %a : f32 = 0 for %l = 0 to 2 gpu_lane { set %a = 1 } } }",
          "%a is shared" },
        { "var %a : f32 = 0 for %i = 0 to 2 parallel { set %a = 1 }", "%a is shared" },
        { "var %a : f32[1][1] for %i = 0 to 2 parallel { store %y[%i] = %a{0, 0} }", "%a is shared" },
        { "prefetch %x[0] 4", "a prefetch hint is out of range" },
        { "let %a : f32 = 1e", "want a statement" },
        { "frob %x", "want a statement, found 'frob'" },
        { "let %a : f32 = \x01", "unexpected byte \\x01" },
        { "let %a : f32 = 1.00000000000000000000000000000000000000000000000000000000000000001", "more than 63" },
        { "} kernel @k() {", "'k' (case ignored) is taken" },
        { "} kernel @l(%x: index, %y: in f32[3]) {", "come before scalar ones" },
        { "} buffer @l : f32[3] input \"a\" main {", "want 'main'" },
};

static void test_wrong_statements(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                struct bench b;
                bench_open(&b);
                struct text t = { 0 };
                text_add(&t, "%s%s\n}\nmain {\n}\n", frame, wrong[i].body);
                struct loop_program *p =
                        loop_parse(b.arena, t.data, t.length, NULL, NULL, b.library, &b.diag);
                if (p || !strstr(said(&b), wrong[i].message) || b.diag.code != EXIT_INVALID ||
                    b.diag.errors != 1)
                        fail_msg("%s: wanted '%s', got '%s'", wrong[i].body, wrong[i].message,
                                 said(&b));
                text_free(&t);
                bench_close(&b);
        }
}

#define HEAD "loop 1 program \"a\" source \"\" "
static const struct { const char *text, *message;
} wrong_programs[] = {
        { "", "want 'loop', found the end" },
        { "loop 14\n", "version 14" },
        { HEAD "kernel @b(%x: in i64[5], %y: out i64[5]) external f(2, 3) { } main { }", NULL },
        { HEAD "kernel @b(%y: out i64[5]) external f() { fail INDEX } main { }", NULL },
        { HEAD "kernel @b(%y: inout i64[5]) external f() { } main { }", "do not overlap" },
        { HEAD "kernel @b(%x: in i64[5] class 1, %y: out i64[5] class 1) external f() { } main { }", "do not overlap" },
        { HEAD "kernel @b(%y: out i64[5], %n: index) external f() { } main { }", "an external function is a kernel" },
        { HEAD "kernel @b(%y: out i64[5]) external while() { } main { }", "with the name of a C function" },
        { HEAD "kernel @b() external f() { } main { }", "an external function is a kernel" },
        { HEAD "kernel @b(%y: out i64[5]) external f(-1) { } main { }", "" },
        { HEAD "kernel @b(%y: out i64[5]) external f(2 { } main { }", "" },
        { HEAD "kernel @b(%y: out i64[5]) external (2) { } main { }", "" },
        { HEAD "workspace 64 align 8 live 64 buffer @r : i64[8] workspace offset 0 record 9 most 4 kernel @b(%r: out i64[8]) { } main { call @b(@r) }", NULL },
        { HEAD "buffer @r : i64[5] workspace record 9 most 4 kernel @b(%r: out i64[5]) { } main { call @b(@r) }", NULL },
        { HEAD "buffer @r : i64[5] workspace record 9 most 4 kernel @b(%r: out i64[5]) { } main { call @b(@r) let %i : index = 0 }", "cannot be a record" },
        { HEAD "buffer @r : i64[4] workspace record 9 most 4 kernel @b(%r: out i64[4]) { } main { call @b(@r) }", "cannot be a record" },
        { HEAD "buffer @r : i32[8] workspace record 9 most 4 kernel @b(%r: out i32[8]) { } main { call @b(@r) }", "cannot be a record" },
        { HEAD "buffer @r : i64[8] workspace record 0 most 4 main { }", "out of range" },
        { HEAD "buffer @r : i64[8] workspace record 9 main { }", "want 'most'" },
        { HEAD "buffer @r : i64[8] workspace record 9 most 4 main { }", "does not begin by clearing its record" },
        { HEAD "buffer @r : i64[8] workspace record 9 most 4 buffer @s : i64[8] workspace record 9 most 4 main { }", "has two records" },
        { HEAD "buffer @r : i64[8] workspace record 9 most 4 buffer @s : i64[8] workspace kernel @b(%r: out i64[8]) { } main { call @b(@s) call @b(@r) }",
          "does not begin by clearing its record" },
        { HEAD "kernel @k(%x: in f32[9]) { tiles 2 by 2 rows 2 depth 1 lanes 16 word 4 } main { }",
          "hardware tiles of version 1 of the format" },
        { "loop 1 program \"a*/b\" source \"\" main { }", "no plain text" },
        { "loop 1 program \"a\" source \"xy\" main { }", "hex digits" },
        { HEAD "kernel @k(%f: f32, %b: bool) { } main { call @k(; 0.5, true) }", NULL },
        { HEAD "kernel @k(%f: f32) { } main { call @k(; true) }", "not numbers" },
        { HEAD "kernel @k(%f: f32) { } main { call @k(; 0.5, 0.5) }", "want ')'" },
        { HEAD "kernel @k(%f: f32x4) { } main { }", "malformed" },
        { HEAD "kernel @k(%f: f32x16tile) { } main { }", "malformed" },
        { HEAD "kernel @k(%f: u8) { } main { }", "malformed" },
        { HEAD "kernel @k(%f: f32[4]) { } main { }", "want" },
        { HEAD "kernel @k(%f: f32, %x: in f32[4]) { } main { }", "buffer parameters come before" },
        { HEAD "kernel @k(%x: in u8[9], %y: out u8[6]) { image %y[0] = %x[0] of 9 as rgb 1 x 2 } "
               "main { }",
          NULL },
        { HEAD "kernel @k(%x: in u8[9], %y: out u8[6]) { image %y[0] = %x[0] of 9 as yuv 1 x 2 } "
               "main { }",
          "no kind of pixels" },
        { HEAD "kernel @k(%x: in u8[9], %y: out u8[6]) { image %y[0] = %x[0] of 9 as rgb 1 x 40000 "
               "} main { }",
          "columns" },
        { HEAD "kernel @k(%x: in u8[9], %y: out f32[6]) { image %y[0] = %x[0] of 9 as rgb 1 x 2 } "
               "main { }",
          "made of bytes" },
        { HEAD "kernel @k(%x: in u8[9], %y: out u8[6]) { image %x[0] = %y[0] of 9 as rgb 1 x 2 } "
               "main { }",
          "x is only read" },
        { HEAD "kernel @k(%x: in u8[9], %y: out u8[6]) { for %i = 0 to 2 parallel { image %y[0] = "
               "%x[0] of 9 as rgb 1 x 2 } } main { }",
          "in parallel" },
        { HEAD "main { } main { }", "more behind main" },
        { HEAD "buffer @main : f32[1] input \"x\" main { }", "'main' cannot be a name" },
        { HEAD "buffer @a : f32[1] input \"x\" buffer @A : f32[1] input \"y\" main { }", "taken" },
        { HEAD "buffer @a : string[1] input \"x\" main { }", "no buffers of string" },
        { HEAD "buffer @a : f32[1152921504606846976] workspace main { }", "out of range" },
        { HEAD "buffer @a : f32[9] input \"x\" shape <3 x 4> main { }", "does not have its 9" },
        { HEAD "buffer @a : f32[576460752303423488] constant = [1] main { }", "has 1 elements" },
        { HEAD "buffer @a : f32[576460752303423488] constant = hex \"00\" main { }", "in hex" },
        { HEAD "buffer @a : bool[1] constant = hex \"02\" main { }", "neither 0 nor 1" },
        { HEAD "buffer @a : f32[1] constant = file 0 main { }", "no 'data' line" },
        { HEAD "buffer @a : f32[9] view @b + 0 main { }", "no buffer before this one" },
        { HEAD "buffer @a : f32[9] workspace buffer @c : f32[9] view @a + 1 main { }", "leaves a" },
        { HEAD "buffer @a : f32[9] workspace buffer @c : i32[9] view @a + 0 main { }",
          "view of nothing" },
        { HEAD "workspace 32 align 8 live 0 buffer @a : f32[9] workspace offset 0 main { }",
          "outside its region" },
        { "loop 1 program \"a\" source \"\" buffer @a : f32[9] workspace region 1 main { }",
          "lies in no region" },
        { "loop 1 program \"a\" source \"\" region \"r\" limit 32 align 8 section \"\" size 64 "
          "main { }",
          "makes no sense" },
        { "loop 1 program \"a\" source \"\" region \"r\" limit 32 align 24 section \"\" size 32 "
          "main { }",
          "makes no sense" },
        { "loop 1 program \"a\" source \"\" region \"3\" limit 32 align 8 section \"\" size 32 "
          "main { }",
          "makes no sense" },
        { "loop 1 program \"a\" source \"\" workspace 0 align 8 live 0 region \"r\" limit 64 align "
          "8 section \"\" size 32 "
          "buffer @a : f32[9] workspace region 1 offset 0 main { }",
          "outside its region" },
        { HEAD "workspace 64 align 8 live 0 buffer @a : f32[9] workspace offset 2 main { }",
          "outside its region" },
        { HEAD "workspace 64 align 9 live 0 main { }", "make no sense" },
        { HEAD "main { call @k() }", "no kernel is called 'k'" },
        { HEAD "main { store %a[0] = 1 }", "cannot stand in this kind" },
};

/* 9 elements are 36 bytes: p lies at 0, q at 32, late at 48, r at 80 */
static const char calls[] = HEAD
        "workspace 160 align 8 live 0 "
        "buffer @in : f32[9] input \"x\" "
        "buffer @p : f32[9] workspace offset 0 "
        "buffer @q : f32[9] workspace offset 32 "
        "buffer @late : f32[5] workspace offset 48 "
        "buffer @r : f32[10] workspace offset 80 "
        "buffer @d : f64[9] workspace offset 80 "
        "buffer @v : f32[5] view @r + 5 "
        "buffer @w : f32[5] view @r + 0 "
        "kernel @copy(%x: in f32[5], %y: out f32[5]) { } "
        "kernel @same(%x: in f32[5] class 1, %z: in f32[5], %y: out f32[5] class 1, %n: index) { } "
        "main { %s }";
static const struct { const char *call, *message; } wrong_calls[] = {
        { "call @copy(@in, @p)", NULL },
        { "call @copy(@in, @in)", "cannot be written" },
        { "call @copy(@p, @p)", "overlaps" },
        { "call @copy(@p, @q)", NULL },
        { "call @copy(@q, @late)", "overlaps" },
        { "call @copy(@v, @w)", NULL },
        { "call @copy(@r, @v)", NULL },
        { "call @copy(@w, @r)", "overlaps" },
        { "call @copy(@d, @p)", "is f64[9], want f32[5]" },
        { "call @copy(@in)", "want ','" },
        { "call @copy(@in, @p; 3)", "want ')'" },
        { "call @same(@p, @in, @p; 3)", NULL },
        { "call @same(@p, @p, @p; 3)", "overlaps" },
        { "call @same(@in, @p, @p; 3)", "overlaps" },
        { "call @same(@p, @in, @p; 3.5)", "not of type index" },
        { "call @same(@p, @in, @nothing; 3)", "no buffer is called 'nothing'" },
        { "for %t = 0 to 2 { call @copy(@in + %t * 4, @p + %t) }", NULL },
        { "for %t = 0 to 2 { call @same(@r + %t, @in, @r + %t; 3) }", NULL },             /* the same elements, which may be */
        { "for %t = 0 to 2 { call @copy(@w + %t * 2, @r + %t * 2) }", "overlaps" },
        { "for %t = 0 to 2 { call @copy(@w + %t * 2, @v + %t * 2) }", NULL },
        { "call @copy(@in + %t, @p)", "nothing called 't'" },
        { "call @copy(@in + 0.5, @p)", "not of type index" },
        { "call @copy(@in + , @p)", "want" },
};

/* what may be launched: text in front of the kernel, and in it */
static const char launches[] = HEAD
        "buffer @x : f32[4] input \"x\" "
        "buffer @y : f32[4] output \"y\" "
        "task @t(%x: in f32[4] class 1, %y: inout f32[4], %f: f32, %i: index) { store %y[%i] = %x[%i] * %f } "
        "task @u(%a: in f32[3], %b: in f32[3], %i: index) { } "
        "%s "
        "kernel @k(%x: in f32[4] class 1, %y: inout f32[4], %z: in f32[3], %n: index) { let %f : f32 = 2 var %v : f32 %s } "
        "main { }";
static const struct { const char *task, *statement, *message; } wrong_launches[] = {
        { "", "launch @t(%x, %y; %f, 0 to 4)", NULL },
        { "", "launch @t(%x, %y; %v, %n to 4 step 2)", NULL },
        { "", "if %n > 3 { launch @t(%x, %y; %v, %n to 4 step 2) }", NULL },
        { "", "alloc %s : f32[4] stack launch @t(%x, %s; %f, 0 to 4)", NULL },
        { "", "launch @k(%x, %y; %f, 0 to 4)", "no task is called 'k'" },
        { "", "launch @t(%y, %y; %f, 0 to 4)", "argument y is of another alias class" },
        { "", "launch @t(%x, %x; %f, 0 to 4)", "x is only read" },
        { "", "launch @t(%x, %z; %f, 0 to 4)", "z is only read" },
        { "", "alloc %s : f32[3] stack launch @t(%x, %s; %f, 0 to 4)", "s is f32[3], want f32[4]" },
        { "", "alloc %s : i32[4] stack launch @t(%x, %s; %f, 0 to 4)", "s is i32[4], want f32[4]" },
        { "", "launch @u(%z, %z; 0 to 4)", "argument z is given twice" },
        { "", "launch @t(%x, %y; 2.0, 0 to 4)", "is no variable" },
        { "", "launch @t(%x, %y; %n, 0 to 4)", "an argument is index, want f32" },
        { "", "launch @t(%x, %f; %f, 0 to 4)", "want a buffer as argument 2" },
        { "", "launch @t(%x; %f, 0 to 4)", "want ','" },
        { "", "launch @t(%x, %y; 0 to 4)", "want ','" },
        { "", "launch @t(%x, %y; %f, 0 to 4 step 0)", "out of range" },
        { "", "for %j = 0 to 2 { launch @t(%x, %y; %f, 0 to 4) }", "launched outermost in a kernel" },
        { "", "for %j = 0 to 2 { launch @t(%x, %y; %f, 0 to 4) in order }", NULL },
        { "", "for %j = 0 to 2 { launch @t(%x, %y; %f, 0 to 4) in }", "want 'order'" },
        { "", "for %j = 0 to 2 parallel { launch @t(%x, %y; %f, 0 to 4) in order }", "launched outermost in a kernel" },
        { "", "launch @later(; 0 to 4)", "no task is called 'later'" },
        { "", "} task @v(%i: index) { } kernel @l() { launch @v(; 0 to 2)", NULL },
        { "task @v(%x: in f32[4]) { }", "", "last parameter is no index" },
        { "task @v(%x: in f32[4]) { }", "launch @v(%x; 0 to 2)", "task v has no index" },
        { "task @v(%i: index, %f: f32) { }", "", "last parameter is no index" },
        { "task @v(%f: f32x16tile, %i: index) { }", "", "malformed" },
        { "task @v(%i: index) { fail INDEX }", "", "cannot be left" },
        { "task @v(%i: index) { for %b = 0 to 2 gpu_block { } }", "", "only kernels have a grid" },
        { "task @v(%f: f32, %i: index) { set %f = 1 }", "", "not a var in scope" },
        { "task @v(%x: in f32[4], %i: index) { store %x[0] = 1 }", "", "only read" },
        { "task @v(%i: index) { for %j = 0 to 2 parallel { } }", "", "stands outermost" },
        { "task @v(%i: index) { launch @u(; 0 to 2) }", "", "want %name" },
        { "task @v(%y: in f32[3], %i: index) { alloc %s : f32[3] stack launch @u(%y, %s; 0 to 2) }", "",
          "launched outermost in a kernel" },
        { "kernel @l() { } main { call @u() }", "", "no kernel is called 'u'" },
};

static void check_program(const char *text, const char *message)
{
        struct bench b;
        bench_open(&b);
        struct loop_program *p = parse(&b, text);
        if (!p != !!message || (message && (!strstr(said(&b), message) || b.diag.errors != 1 ||
                                            b.diag.code != EXIT_INVALID)))
                fail_msg("%s: wanted '%s', got '%s'", text, message ? message : "success",
                         said(&b));
        bench_close(&b);
}

static void test_wrong_programs(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof wrong_programs / sizeof *wrong_programs; i++)
                check_program(wrong_programs[i].text, wrong_programs[i].message);
        for (size_t i = 0; i < sizeof wrong_calls / sizeof *wrong_calls; i++) {
                const char *hole = strstr(calls, "%s");
                struct text t = { 0 };
                text_add_bytes(&t, calls, (size_t)(hole - calls));
                text_add(&t, "%s%s", wrong_calls[i].call, hole + 2);
                check_program(t.data, wrong_calls[i].message);
                text_free(&t);
        }
        for (size_t i = 0; i < sizeof wrong_launches / sizeof *wrong_launches; i++) {
                const char *task = strstr(launches, "%s "), *hole = strstr(task + 1, "%s ");
                struct text t = { 0 };
                text_add_bytes(&t, launches, (size_t)(task - launches));
                text_add(&t, "%s%.*s", wrong_launches[i].task, (int)(hole - task - 2), task + 2);
                text_add(&t, "%s%s", wrong_launches[i].statement, hole + 2);
                check_program(t.data, wrong_launches[i].message);
                text_free(&t);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_prefixes_and_mutations),
                cmocka_unit_test(test_depth_is_bounded),
                cmocka_unit_test(test_wrong_statements),
                cmocka_unit_test(test_wrong_programs),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
