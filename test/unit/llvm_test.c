/* SPDX-License-Identifier: MIT */
/* Loop IR through LLVM (codegen/llvm/) beside the interpreter, bit for bit: every operation and conversion on vectors of several lengths, as they
 * are, without a target's rows; codes, extents and state; what has no code yet. The tests of the C printer and of the targets' tables compare
 * their programs with it, too (c_harness.h). Without LLVM everything here is skipped, and says so. */
#include "c_harness.h"

enum { EDGES = 16, PAIRS = EDGES * EDGES };

static const double float_edges[EDGES] = {
        0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e10, -1e10, 3e38, 1e-45, 127.5, -128.5, INFINITY, -INFINITY, NAN,
};
static const uint64_t integer_edges[EDGES] = {
        0, 1, 2, 3, 5, 31, 63, 64, 127, 0x80, 0x7fffffff, 0x80000000, 0xffffffff, UINT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 6,
};
static const char *const texts[] = { "f32", "f64", "i32", "i64", "u32", "u64", "bool", "f16", "bf16", "i8", "u8", "i16", "u16" };
enum { TYPES = sizeof texts / sizeof *texts, COMPUTED = 7 };

static void fill_edges(enum element e, void *x, void *y)
{
        for (int i = 0; i < PAIRS; i++) {
                union scalar a = { .u = integer_edges[i / EDGES] }, b = { .u = integer_edges[i % EDGES] };
                if (element_is_float(e)) {
                        a.f = float_edges[i / EDGES];
                        b.f = float_edges[i % EDGES];
                } else if (e == E_BOOL) {
                        a.u = i / EDGES & 1;
                        b.u = i & 1;
                }
                element_store(e, x, (size_t)i, a);
                element_store(e, y, (size_t)i, b);
        }
}

/* ---- programs of one kernel for each expression ---- */

struct source { struct text buffers, kernels, main; int count; };

/* $ stands for the lanes */
static void add(struct source *s, int lanes, const char *in, const char *out, const char *expression)
{
        const int n = s->count++;
        struct text own = { 0 };
        for (const char *p = expression; *p; p++)
                if (*p == '$')
                        text_add(&own, "%d", lanes);
                else
                        text_add_bytes(&own, p, 1);
        text_add(&s->buffers, "buffer @o%d : %s[%d] output \"o%d\"\n", n, out, PAIRS, n);
        text_add(&s->kernels,
                 "kernel @k%d(%%x: in %s[%d], %%y: in %s[%d], %%o: out %s[%d]) {\n  for %%i = 0 to %d step %d {\n    store %%o[%%i] = %s\n  }\n}\n",
                 n, in, PAIRS, in, PAIRS, out, PAIRS, PAIRS, lanes, own.data);
        text_add(&s->main, "  call @k%d(@x, @y, @o%d)\n", n, n);
        text_free(&own);
}

static const struct loop_program *finish(struct source *s, const char *in)
{
        struct text text = { 0 };
        text_add(&text, "loop 6\nprogram \"t\" source \"\"\nbuffer @x : %s[%d] input \"x\"\nbuffer @y : %s[%d] input \"y\"\n", in, PAIRS, in, PAIRS);
        text_add(&text, "%s%smain {\n%s}\n", s->buffers.data, s->kernels.data, s->main.data);
        const struct loop_program *p = parse(text.data);
        text_free(&text);
        text_free(&s->buffers);
        text_free(&s->kernels);
        text_free(&s->main);
        return p;
}

/* As it is: no pass makes the target's operations of it. */
static void run_beside(const struct loop_program *p, const struct target *t, const void *const *inputs, int64_t *extents)
{
        const struct loop_buffer *outputs[PORTS_MAX];
        void *want[PORTS_MAX], *got[PORTS_MAX];
        const int count = two_outputs(p, outputs, want, got);
        struct interp *interp = interp_new(p, false, 0, &diag);
        assert_non_null(interp);
        if (extents)
                interp_set_extents(interp, extents);
        const int code = interp_run(interp, inputs, want, 0, NULL);
        int64_t told[8] = { 0 };
        interp_get_extents(interp, told);
        interp_free(interp);
        for (int level = LLVM_LEVEL_FAST; level <= LLVM_LEVEL_BEST; level++) {
                int64_t own[8] = { 0 };
                struct llvm_jit *jit = llvm_jit_new(p, t, &(struct llvm_options){ .level = (enum llvm_level)level }, &diag);
                assert_non_null(jit);
                for (int i = 0; extents && i < p->extent_count; i++)
                        own[i] = extents[i];
                assert_int_equal(llvm_jit_run(jit, own, inputs, got), code);
                for (int i = 0; i < p->extent_count && !code; i++)
                        assert_int_equal(own[i], told[i]);
                llvm_jit_free(jit);
                if (!code)
                        same_outputs(level ? "jit=best" : "jit=fast", outputs, want, got, count);
        }
        for (int k = 0; k < count; k++) {
                free(want[k]);
                free(got[k]);
        }
}

static void check_source(struct source *s, const char *in)
{
        enum element e;
        uint64_t x[PAIRS], y[PAIRS];
        assert_true(element_from_text(in, strlen(in), &e));
        fill_edges(e, x, y);
        const struct loop_program *p = finish(s, in);
        run_beside(p, target_find("generic"), (const void *const[]){ x, y }, NULL);
        if (target_runs_here(target_find("x86-64-v3")))
                run_beside(p, target_find("x86-64-v3"), (const void *const[]){ x, y }, NULL);
}

static bool skipped(void)
{
        if (jit_missing())
                skip();
        return jit_missing() != NULL;
}

/* ---- vectors ---- */

static bool is_legal(enum loop_opcode op, enum element e)
{
        bool is_float = element_is_float(e), is_bool = e == E_BOOL, small = element_is_small(e);
        switch (op) {
        case LOOP_ADD: case LOOP_SUB: case LOOP_MUL: case LOOP_NEG: return !is_bool;
        case LOOP_DIV: return !is_bool;
        case LOOP_REM: case LOOP_SHL: case LOOP_SHR: return !is_float && !is_bool;
        case LOOP_AND: case LOOP_XOR: case LOOP_OR: case LOOP_NOT: return !is_float;
        case LOOP_FMA: return is_float && !small;
        default: return op < LOOP_RAMP;
        }
}

static const char *operation(enum loop_opcode op)
{
        const struct loop_op_info *info = &loop_op_info[op];
        if (info->form == FORM_INFIX)
                return arena_printf(arena, "%%x<$>[%%i] %s %%y<$>[%%i]", info->text);
        if (info->form == FORM_PREFIX)
                return arena_printf(arena, "%s%%x<$>[%%i]", info->text);
        if (op == LOOP_SELECT)
                return "select(%x<$>[%i] < %y<$>[%i], %x<$>[%i], %y<$>[%i])";
        if (op == LOOP_FMA)
                return "fma(%x<$>[%i], %y<$>[%i], %x<$>[%i])";
        return arena_printf(arena, "%s(%%x<$>[%%i], %%y<$>[%%i])", info->text);
}

static void every_operation_on_vectors(void **state)
{
        (void)state;
        static const int lengths[] = { 2, 16 };
        if (skipped())
                return;
        for (int t = 0; t < TYPES; t++)
                for (int l = 0; l < 2; l++) {
                        enum element e;
                        struct source s = { .count = 0 };
                        assert_true(element_from_text(texts[t], strlen(texts[t]), &e));
                        for (int op = 0; op < LOOP_RAMP; op++)
                                if (is_legal((enum loop_opcode)op, e) && (t < COMPUTED || op <= LOOP_MAX_ORDERED))
                                        add(&s, lengths[l], texts[t], loop_op_info[op].result == RESULT_BOOL ? "bool" : texts[t],
                                            operation((enum loop_opcode)op));
                        check_source(&s, texts[t]);
                }
}

/* each element that vectors are loaded of, as each that is computed with, and those as all that are stored */
static void every_conversion_of_vectors(void **state)
{
        (void)state;
        if (skipped())
                return;
        for (int from = 0; from < TYPES; from++) {
                struct source s = { .count = 0 };
                for (int to = 0; to < TYPES; to++)
                        if (to != from && (to < COMPUTED || from < COMPUTED))
                                add(&s, to % 2 ? 8 : 4, texts[from], texts[to], arena_printf(arena, "%s(%%x<$>[%%i])", texts[to]));
                check_source(&s, texts[from]);
        }
}

static void lanes_and_memory(void **state)
{
        (void)state;
        static const char *const expressions[] = {
                "splat<$>(sum_lanes(%x<$>[%i]))",
                "splat<$>(max_lanes(%x<$>[%i]))",
                "splat<$>(min_lanes(%y<$>[%i]))",
                "interleave_low(%x<$>[%i], %y<$>[%i])",
                "interleave_high(%x<$>[%i], %y<$>[%i])",
                "splat<$>(lane(%x<$>[%i], 1))",
                "%x<$>[%i] + splat<$>(%y[%i + 1])",
                "%x<$>[%i, %x<$>[%i] < %y<$>[%i]]",
                "%x[ramp<$>(%i, 1) & splat<$>(255)]",
                "%x[ramp<$>(%i * 3 % 256, 7) & splat<$>(255), %x<$>[%i] < %y<$>[%i]]",
                "select(%x[%i] < %y[%i], %x<$>[%i], %y<$>[%i])",
        };
        if (skipped())
                return;
        for (int t = 0; t < 6; t++)
                for (int lanes = 4; lanes <= 16; lanes *= 4) {
                        struct source s = { .count = 0 };
                        for (size_t k = 0; k < sizeof expressions / sizeof *expressions; k++)
                                add(&s, lanes, texts[t], texts[t], expressions[k]);
                        add(&s, lanes, texts[t], texts[t], t < 2 ? "ramp<$>(%x[%i], 0.1)" : "ramp<$>(%x[%i], 7)");
                        check_source(&s, texts[t]);
                }
}

/* ---- control flow, codes, extents, state ---- */

static void variables_through_control_flow(void **state)
{
        (void)state;
        static const char text[] =
                "loop 3\nprogram \"t\" source \"\"\nbuffer @x : f32[64] input \"x\"\nbuffer @y : f32[64] output \"y\"\n"
                "kernel @k(%x: in f32[64], %y: out f32[64]) {\n"
                "  alloc %s : f32[16] stack\n"
                "  var %acc : f32[2][2]\n"
                "  var %total : f32 = 1.0\n"
                "  for %i = 0 to 8 {\n"
                "    store %s[%i * 2] = %x[%i]\n"
                "    store %s[%i * 2 + 1] = %total\n"
                "    for %j = %i to 8 step 3 {\n"
                "      if %x[%i * 8 + %j] > 0.0 {\n"
                "        set %acc{0, 1} = %acc{0, 1} + %x[%i * 8 + %j]\n"
                "        if %j > 4 {\n"
                "          set %total = %total * 0.5\n"
                "        } else {\n"
                "          set %acc{1, 0} = %total\n"
                "        }\n"
                "      } else {\n"
                "        set %acc{0, 0} = %acc{0, 0} - 1.0\n"
                "      }\n"
                "    }\n"
                "    var %n : index = 0\n"
                "    while %n < %i & %total > 0.001 {\n"
                "      set %total = %total + select(%n < 3, %x[%n], 0.25)\n"
                "      set %n = %n + 1\n"
                "    }\n"
                "    for %e = 5 to %i {\n"
                "      set %acc{1, 1} = %acc{1, 1} + %s[%e]\n"
                "    }\n"
                "    store %y[%i * 4] = %acc{0, 0}\n"
                "    store %y[%i * 4 + 1] = %acc{0, 1}\n"
                "    store %y[%i * 4 + 2] = %acc{1, 0} + %acc{1, 1}\n"
                "    store %y[%i * 4 + 3] = %total + exp(%x[%i])\n"
                "  }\n"
                "  for %r = 32 to 64 {\n    store %y[%r] = %s[%r % 16]\n  }\n"
                "}\nmain {\n  call @k(@x, @y)\n}\n";
        float x[64];
        if (skipped())
                return;
        for (int i = 0; i < 64; i++)
                x[i] = (float)(i * 7919 % 101) / 50 - 1;
        run_beside(parse(text), target_find("generic"), (const void *const[]){ x }, NULL);
}

static void codes_end_a_run(void **state)
{
        (void)state;
        static const char text[] =
                "loop 1\nprogram \"t\" source \"\"\nbuffer @x : i32[4] input \"x\"\nbuffer @y : i32[4] output \"y\"\n"
                "kernel @k(%x: in i32[4], %y: out i32[4]) {\n  for %i = 0 to 4 {\n"
                "    if %x[%i] < 0 {\n      fail EXTENT\n    }\n    store %y[%i] = %x[%i] * 2\n  }\n}\n"
                "main {\n  for %n = 0 to 2 {\n    call @k(@x, @y)\n  }\n}\n";
        const int32_t fine[] = { 1, 2, 3, 4 }, wrong[] = { 1, 2, -3, 4 };
        if (skipped())
                return;
        run_beside(parse(text), target_find("generic"), (const void *const[]){ fine }, NULL);
        run_beside(parse(text), target_find("generic"), (const void *const[]){ wrong }, NULL);
}

static void extents_of_a_run(void **state)
{
        (void)state;
        static const char text[] =
                "loop 9\nprogram \"t\" source \"\"\nextent %n \"N\" in [1, 8]\nextent %k \"K\" in [0, 8] counted\n"
                "buffer @x : f32[8] input \"x\" shape <8> extents [%n]\nbuffer @y : f32[8] output \"y\"\n"
                "kernel @kernel(%x: in f32[8], %y: out f32[8], %m: index in [1, 8]) {\n  for %i = 0 to 8 {\n    store %y[%i] = 0.0\n  }\n"
                "  for %j = 0 to %m {\n    store %y[%j] = %x[%j] + 1.0\n  }\n}\n"
                "main {\n  call @kernel(@x, @y; %n)\n  set %k = min(max(%n - 2, 0), 8)\n}\n";
        const float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
        if (skipped())
                return;
        struct loop_program *p = loop_parse(arena, text, strlen(text), NULL, NULL, library, &diag);
        if (!p)
                fail();
        for (int64_t n = 1; n <= 8; n += 7)
                run_beside(p, target_find("generic"), (const void *const[]){ x }, (int64_t[]){ n, 0 });
}

/* ---- what has no code, and what many programs leave behind ---- */

static void what_is_missing_is_said(void **state)
{
        (void)state;
        static const char text[] = "loop 1\nprogram \"t\" source \"\"\nbuffer @x : u8[9] input \"x\"\nbuffer @y : u8[300] output \"y\"\n"
                                   "kernel @k(%x: in u8[9], %y: out u8[300]) {\n  image %y[0] = %x[0] of 9 as rgb 10 x 10\n}\nmain {\n  call @k(@x, @y)\n}\n";
        char *said;
        size_t length;
        if (skipped())
                return;
        struct loop_program *p = loop_parse(arena, text, strlen(text), NULL, NULL, library, &diag);
        assert_non_null(p);
        struct diag own = { .subject = "t", .stream = open_memstream(&said, &length) };
        assert_null(llvm_jit_new(p, target_find("generic"), &(struct llvm_options){ .level = LLVM_LEVEL_BEST }, &own));
        fclose(own.stream);
        assert_int_equal(own.errors, 1);
        assert_int_equal(own.code, EXIT_UNSUPPORTED);
        assert_non_null(strstr(said, "has no images"));
        free(said);
}

/* Pages that this process has; those of a sanitizer, which keeps what is freed, say nothing. */
static long resident_pages(void)
{
#if defined(__SANITIZE_ADDRESS__)
        return 0;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
        return 0;
#endif
#endif
        long all = 0, resident = 0;
        FILE *f = fopen("/proc/self/statm", "r");
        if (f && fscanf(f, "%ld %ld", &all, &resident) != 2)
                resident = 0;
        if (f)
                fclose(f);
        return resident;
}

static void programs_leave_nothing_behind(void **state)
{
        (void)state;
        enum { TIMES = 200, PAGES = 2048 };
        long before = 0;
        if (skipped())
                return;
        const struct loop_program *p = parse(
                "loop 1\nprogram \"t\" source \"\"\nbuffer @y : f32[4] output \"y\"\nkernel @k(%y: out f32[4]) {\n  for %i = 0 to 4 {\n"
                "    store %y[%i] = 2.0\n  }\n}\nmain {\n  call @k(@y)\n}\n");
        for (int k = 0; k < TIMES; k++) {
                float y[4] = { 0 };
                struct llvm_jit *jit = llvm_jit_new(p, target_find("generic"), &(struct llvm_options){ .level = LLVM_LEVEL_FAST }, &diag);
                assert_non_null(jit);
                assert_int_equal(llvm_jit_run(jit, NULL, NULL, (void *const[]){ y }), 0);
                assert_true(y[3] == 2);
                llvm_jit_free(jit);
                if (k == TIMES / 4)
                        before = resident_pages();
        }
        assert_true(resident_pages() - before < PAGES);
}

static void text_is_readable(void **state)
{
        (void)state;
        if (skipped())
                return;
        const struct loop_program *p = parse(
                "loop 1\nprogram \"t\" source \"\"\nbuffer @x : f32[4] input \"x\"\nbuffer @y : f32[4] output \"y\"\n"
                "kernel @k(%x: in f32[4], %y: out f32[4]) {\n  for %i = 0 to 4 {\n    let %v : f32 = %x[%i] * 2.0\n"
                "    store %y[%i] = max(%v, 0.0)\n  }\n}\nmain {\n  call @k(@x, @y)\n}\n");
        const char *text = llvm_text(arena, p, target_find("generic"), &diag);
        assert_non_null(text);
        static const char *const lines[] = {
                "define i32 @dnncc_main(", "define internal void @k(", "noalias %x, ", "%i = phi i64", "%v = fmul float",
                "select i1 ", "add nsw i64 %i, 1",
        };
        for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
                if (!strstr(text, lines[k]))
                        fail_msg("no '%s' in\n%s", lines[k], text);
        assert_null(strstr(text, "fast"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_operation_on_vectors),
                cmocka_unit_test(every_conversion_of_vectors),
                cmocka_unit_test(lanes_and_memory),
                cmocka_unit_test(variables_through_control_flow),
                cmocka_unit_test(codes_end_a_run),
                cmocka_unit_test(extents_of_a_run),
                cmocka_unit_test(what_is_missing_is_said),
                cmocka_unit_test(programs_leave_nothing_behind),
                cmocka_unit_test(text_is_readable),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
