/* SPDX-License-Identifier: MIT */
/* The C printer: programs are read from text, printed, compiled without a warning by gcc and clang,
 * loaded, run, and compared with the interpreter, bit for bit (any NaN equals any NaN). */
#include "c_harness.h"

/* ---- every operation on every type ---- */

enum { EDGES = 16, PAIRS = EDGES * EDGES };

static const double float_edges[EDGES] = {
        0.0,   -0.0, 1.0,   -1.0,  0.5,    -2.5,     3.0,       1e10,
        -1e10, 3e38, 1e-45, 127.5, -128.5, INFINITY, -INFINITY, NAN,
};
static const uint64_t integer_edges[EDGES] = {
        0,
        1,
        2,
        3,
        5,
        31,
        63,
        64,
        127,
        0x80,
        0x7fffffff,
        0x80000000,
        0xffffffff,
        UINT64_MAX,
        UINT64_C(1) << 63,
        UINT64_MAX - 6,
};

static void fill_edges(enum element e, void *x, void *y)
{
        for (int i = 0; i < PAIRS; i++) {
                union scalar a, b;
                if (element_is_float(e)) {
                        a.f = float_edges[i / EDGES];
                        b.f = float_edges[i % EDGES];
                } else if (e == E_BOOL) {
                        a.u = i / EDGES & 1;
                        b.u = i & 1;
                } else {
                        a.u = integer_edges[i / EDGES];
                        b.u = integer_edges[i % EDGES];
                }
                element_store(e, x, (size_t)i, a);
                element_store(e, y, (size_t)i, b);
        }
}

static const char *const element_texts[] = { "f32", "f64", "i32", "i64", "u32", "u64", "bool" };
enum { TYPES = sizeof element_texts / sizeof *element_texts };

static bool is_legal(enum loop_opcode op, enum element e)
{
        bool is_float = element_is_float(e), is_bool = e == E_BOOL;
        switch (op) {
        case LOOP_ADD: case LOOP_SUB: case LOOP_MUL: case LOOP_DIV: case LOOP_NEG: return !is_bool;
        case LOOP_REM: case LOOP_SHL: case LOOP_SHR: return !is_float && !is_bool;
        case LOOP_AND: case LOOP_XOR: case LOOP_OR: case LOOP_NOT: return !is_float;
        case LOOP_FMA: return false;
        default: return op < LOOP_RAMP;
        }
}

/* one kernel: out[i] = expression over x[i] and y[i] */
struct source { struct text buffers, kernels, main; int count; };

static void add_kernel(struct source *s, const char *in, const char *out, const char *expression)
{
        int n = s->count++;
        text_add(&s->buffers, "buffer @o%d : %s[%d] output \"o%d\"\n", n, out, PAIRS, n);
        text_add(
                &s->kernels,
                "kernel @k%d(%%x: in %s[%d], %%y: in %s[%d], %%o: out %s[%d]) {\n  for %%i = 0 to %d {\n"
                "    store %%o[%%i] = %s\n  }\n}\n",
                n, in, PAIRS, in, PAIRS, out, PAIRS, PAIRS, expression);
        text_add(&s->main, "  call @k%d(@x, @y, @o%d)\n", n, n);
}

static struct loop_program *finish(struct source *s, const char *in)
{
        struct text text = { 0 };
        text_add(&text, "loop 1\nprogram \"t\" source \"\"\nworkspace 0 align 1 live 0\n");
        text_add(&text, "buffer @x : %s[%d] input \"x\"\nbuffer @y : %s[%d] input \"y\"\n", in,
                 PAIRS, in, PAIRS);
        text_add(&text, "%s%smain {\n%s}\n", s->buffers.data, s->kernels.data, s->main.data);
        struct loop_program *p = parse(text.data);
        text_free(&text);
        text_free(&s->buffers);
        text_free(&s->kernels);
        text_free(&s->main);
        return p;
}

static void check_source(struct source *s, const char *in, const char *prefix)
{
        static const char *const compilers[] = {
                "gcc -std=c99 -O1 -fsanitize=undefined -fsanitize-undefined-trap-on-error",
                "gcc -std=gnu11 -O3",
                "clang -std=c99 -O0 -fsanitize=undefined -fsanitize-trap=all",
                "clang -std=c99 -O2",
        };
        struct loop_program *p = finish(s, in);
        enum element e;
        assert_true(element_from_text(in, strlen(in), &e));
        uint64_t x[PAIRS], y[PAIRS];
        fill_edges(e, x, y);
        struct ports ports = { .inputs = { x, y }, .input_count = 2 };
        print(p, prefix);
        for (int i = 0; i < 4; i++)
                if (i < 2 || have("clang"))
                        compare(p, prefix, &ports, compilers[i]);
}

static const char *operation(enum loop_opcode op, const char *x, const char *y,
                             const char *condition)
{
        const struct loop_op_info *info = &loop_op_info[op];
        if (info->form == FORM_INFIX)
                return arena_printf(arena, "(%s) %s (%s)", x, info->text, y);
        if (info->form == FORM_PREFIX)
                return arena_printf(arena, "%s(%s)", info->text, x);
        if (op == LOOP_SELECT)
                return arena_printf(arena, "select(%s, %s, %s)", condition, x, y);
        return arena_printf(arena, "%s(%s, %s)", info->text, x, y);
}

static void every_operation(void **state)
{
        (void)state;
        for (int t = 0; t < TYPES; t++) {
                enum element e;
                assert_true(element_from_text(element_texts[t], strlen(element_texts[t]), &e));
                struct source s = { .count = 0 };
                for (int op = 0; op < LOOP_RAMP; op++)
                        if (is_legal((enum loop_opcode)op, e))
                                add_kernel(&s, element_texts[t],
                                           loop_op_info[op].result == RESULT_BOOL
                                                   ? "bool"
                                                   : element_texts[t],
                                           operation((enum loop_opcode)op, "%x[%i]", "%y[%i]",
                                                     "%x[%i] < %y[%i]"));
                check_source(&s, element_texts[t], "model");
        }
}

/* Literals take other forms in C than variables do; they nest; operators bind. */
static void literals_and_nesting(void **state)
{
        (void)state;
        static const char *const integer[] = {
                "%x[%i] / 0",
                "%x[%i] / 1",
                "%x[%i] / 7",
                "%x[%i] % 0",
                "%x[%i] % 7",
                "%x[%i] << 0",
                "%x[%i] << 5",
                "%x[%i] << 40",
                "%x[%i] << 64",
                "%x[%i] >> 5",
                "%x[%i] >> 31",
                "%x[%i] >> 63",
                "%x[%i] >> 64",
                "5 << %x[%i]",
                "5 >> %x[%i]",
                "7 / %y[%i]",
                "7 % %y[%i]",
                "%x[%i] - (%y[%i] - 3)",
                "%x[%i] * (%y[%i] + 3)",
                "%x[%i] + %y[%i] << 3 & 12 | %x[%i] ^ 5",
                "~(%x[%i] & 6) + -%y[%i]",
                "-(-%x[%i])",
                "~(~%x[%i])",
                "min(%x[%i], 5) + max(%y[%i], 3)",
                "select(%x[%i] < 3, 1, 2)",
                "select(%x[%i] < 3 & %y[%i] > 5 | %x[%i] == 7, %y[%i] + 1, select(%y[%i] < 1, 2, 3))",
                "select(min(%x[%i], 7) < 3 & max(%y[%i], 7) > 5, 1, 0)",
                "select(~(%x[%i] < 3) ^ %y[%i] < 9, 1, 0)",
                "select(%x[%i] < 0, 1, 2)",
                "select(%x[%i] >= 0, 1, 2)",
                "select(0 > %x[%i], 1, 2)",
                "select(%x[%i] == %x[%i], %x[%i], 2)",
                "(5 << 40) + %x[%i]",
                "3 * 2 - 7",
                "(-5 - 4) * %x[%i]",
                "~5",
                "-5",
        };
        static const char *const floating[] = {
                "%x[%i] - (%y[%i] - 3.5)",
                "-(-%x[%i])",
                "- %x[%i] * -2.5",
                "%x[%i] / (%y[%i] * 2.0)",
                "min(%x[%i], -1.0)",
                "max(%x[%i], 0.0)",
                "select(%x[%i] < %y[%i], inf, -inf)",
                "select(%x[%i] != %x[%i], nan, 1e-45)",
                "%x[%i] + (%y[%i] + 1.5) * %x[%i]",
                "%x[%i] * %y[%i] + 0.1",
                "select(%x[%i] < 1.0, -1.5, select(%y[%i] < 0.0, 0.1, 3e10))",
        };
        for (int t = 2; t < 6; t++) {
                struct source s = { .count = 0 };
                for (size_t i = 0; i < sizeof integer / sizeof *integer; i++)
                        if (t < 4 || (!strstr(integer[i], "(-5") && strcmp(integer[i], "-5")))
                                add_kernel(&s, element_texts[t], element_texts[t], integer[i]);
                check_source(&s, element_texts[t], "model");
        }
        for (int t = 0; t < 2; t++) {
                struct source s = { .count = 0 };
                for (size_t i = 0; i < sizeof floating / sizeof *floating; i++)
                        add_kernel(&s, element_texts[t], element_texts[t], floating[i]);
                check_source(&s, element_texts[t], "model");
        }
}

static const char *const stored_texts[] = {
        "f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool",
};
enum { STORED = sizeof stored_texts / sizeof *stored_texts };

/* Every conversion, alone and through index; compared with what a narrow type cannot be. */
static void every_conversion(void **state)
{
        (void)state;
        for (int from = 0; from < STORED; from++) {
                struct source s = { .count = 0 };
                enum element a, b;
                assert_true(element_from_text(stored_texts[from], strlen(stored_texts[from]), &a));
                for (int to = 0; to < STORED; to++) {
                        assert_true(
                                element_from_text(stored_texts[to], strlen(stored_texts[to]), &b));
                        if (to != from && (loop_is_compute(a) || loop_is_compute(b)))
                                add_kernel(&s, stored_texts[from], stored_texts[to],
                                           arena_printf(arena, "%s(%%x[%%i])", stored_texts[to]));
                        if (to != from && element_info[a].bytes == element_info[b].bytes &&
                            a != E_BOOL && b != E_BOOL)
                                add_kernel(
                                        &s, stored_texts[from], stored_texts[to],
                                        arena_printf(arena, "bits_%s(%%x[%%i])", stored_texts[to]));
                }
                add_kernel(&s, stored_texts[from], "i64", "i64(index(%x[%i]))");
                add_kernel(&s, stored_texts[from], stored_texts[from],
                           "select(%i < 9, %x[%i], %y[%i])");
                add_kernel(
                        &s, stored_texts[from], "bool",
                        "i32(%x[%i]) < 300 & i32(%x[%i]) >= -128 & i32(%x[%i]) == 70000 | u32(%x[%i]) > 255");
                check_source(&s, stored_texts[from], "model");
        }
}

/* More floats than the edges: roundings of the small types. */
static void small_floats(void **state)
{
        (void)state;
        enum { COUNT = 1 << 16 };
        struct loop_program *p = parse(arena_printf(
                arena,
                "loop 1\nprogram \"small\" source \"\"\nworkspace 0 align 1 live 0\n"
                "buffer @h : f16[%d] input \"h\"\nbuffer @d : f64[%d] input \"d\"\nbuffer @n : i64[%d] input \"n\"\n"
                "buffer @o1 : f32[%d] output \"o1\"\nbuffer @o2 : f16[%d] output \"o2\"\nbuffer @o3 : bf16[%d] output \"o3\"\n"
                "buffer @o4 : bf16[%d] output \"o4\"\nbuffer @o5 : f16[%d] output \"o5\"\n"
                "kernel @k(%%h: in f16[%d], %%d: in f64[%d], %%n: in i64[%d], %%o1: out f32[%d], %%o2: out f16[%d], "
                "%%o3: out bf16[%d], %%o4: out bf16[%d], %%o5: out f16[%d]) {\n  for %%i = 0 to %d {\n"
                "    store %%o1[%%i] = f32(%%h[%%i])\n    store %%o2[%%i] = f16(%%d[%%i])\n    store %%o3[%%i] = bf16(%%d[%%i])\n"
                "    store %%o4[%%i] = bf16(%%n[%%i])\n    store %%o5[%%i] = f16(f32(%%d[%%i]))\n  }\n}\n"
                "main {\n  call @k(@h, @d, @n, @o1, @o2, @o3, @o4, @o5)\n}\n",
                COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT,
                COUNT, COUNT, COUNT, COUNT, COUNT));
        uint16_t *h = exact(COUNT * sizeof *h);
        double *d = exact(COUNT * sizeof *d);
        int64_t *n = exact(COUNT * sizeof *n);
        uint64_t random = 1;
        for (int i = 0; i < COUNT; i++) {
                random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                h[i] = (uint16_t)i;
                double nearby = element_load(E_F16, h, (size_t)i).f;
                int kind = i % 4; /* halfway points of f16, a little beside them, any scale */
                uint16_t next = (uint16_t)(i + 1);
                if ((i & 0x7fff) < 0x7bff)
                        nearby = (nearby + element_load(E_F16, &next, 0).f) / 2;
                d[i] = kind == 0   ? nearby
                       : kind == 1 ? nearby * (1 + 0x1p-40)
                       : kind == 2 ? nearby * (1 - 0x1p-30)
                                   : ldexp((double)(random >> 11), (int)(random % 300) - 200);
                n[i] = (int64_t)(random & ~(UINT64_C(0x7fffff) << 32)) >> (i % 60);
        }
        struct ports ports = { .inputs = { h, d, n }, .input_count = 3 };
        print(p, "small");
        compare(p, "small", &ports, "gcc -std=c99 -O2");
        free(h);
        free(d);
        free(n);
}

/* Every function of the library whose parameters are of one type. */
static void every_library_function(void **state)
{
        (void)state;
        for (int t = 0; t < TYPES; t++) {
                struct source s = { .count = 0 };
                for (struct loop_function *f = loop_library_first(library); f; f = f->next) {
                        bool one_type = f->scalar_count > 0 && s.count < PORTS_MAX - 1;
                        for (int i = 0; i < f->scalar_count; i++)
                                one_type &= !strcmp(element_info[f->scalars[i]->type.element].text,
                                                    element_texts[t]) &&
                                            f->scalars[i]->type.lanes == 1;
                        static const char *const args[] = { "%x[%i]", "%x[%i], %y[%i]",
                                                            "%x[%i], %y[%i], %x[%i] + %y[%i]" };
                        if (one_type && f->result.lanes == 1)
                                add_kernel(&s, element_texts[t],
                                           element_info[f->result.element].text,
                                           arena_printf(arena, "%s(%s)", f->name,
                                                        args[f->scalar_count - 1]));
                }
                if (s.count)
                        check_source(&s, element_texts[t], "model");
        }
}

/* ---- text ---- */

static void handsome_text(void **state)
{
        (void)state;
        struct loop_program *p = parse(
                "loop 1\nprogram \"mnist\" source \"3f2a\"\nworkspace 25088 align 64 live 25088\n"
                "buffer @input : f32[784] input \"Input3\" shape <1 x 1 x 28 x 28>\n"
                "buffer @conv_w : f32[200] constant = splat 0.25\nbuffer @out : f32[6272] output \"Plus214\"\n"
                "buffer @t : f32[6272] workspace offset 0\nbuffer @v : f32[784] view @t + 784\n"
                "kernel @conv(%x: in f32[784], %w: in f32[200], %y: out f32[6272]) flops 1254400 {    ; \"conv1\", 5 x 5\n"
                "  for %m = 0 to 8 parallel {\n    for %i = 0 to 784 {\n      var %sum : f32 = 0.0\n"
                "      for %k = max(0, 2 - %i) to min(5, 786 - %i) {\n"
                "        set %sum = %sum + %x[%i + %k + -2] * %w[%m * 25 + %k]\n      }\n"
                "      store %y[%m * 784 + %i] = max(%sum, 0.0)\n    }\n  }\n}\n"
                "kernel @scale(%x: in f32[784] class 1, %y: out f32[6272] class 1) {\n  for %i = 0 to 784 {\n"
                "    store %y[%i] = %x[%i] * 0.1\n  }\n}\n"
                "main {\n  call @conv(@input, @conv_w, @t)\n  call @scale(@v, @out)\n}\n");
        print(p, "model");
        const char *c = slurp("model.c"), *kernel = strstr(c, "static KERNEL void conv(");
        const char *want =
                "static KERNEL void conv(const f32 *RESTRICT x, const f32 *RESTRICT w, f32 *RESTRICT y)\n{\n"
                "        for (ptrdiff_t m = 0; m < 8; m++) {\n"
                "                for (ptrdiff_t i = 0; i < 784; i++) {\n"
                "                        float sum = 0.0f;\n"
                "                        for (ptrdiff_t k = max_index(0, 2 - i); k < min_index(5, 786 - i); k++) {\n"
                "                                sum += x[i + k - 2] * w[m * 25 + k];\n"
                "                        }\n"
                "                        y[m * 784 + i] = max_f32(sum, 0.0f);\n"
                "                }\n        }\n}\n";
        assert_non_null(kernel);
        assert_memory_equal(kernel, want, strlen(want));
        assert_non_null(strstr(c, "static KERNEL void scale(const f32 *x, f32 *y)\n"));
        assert_non_null(strstr(c, "5 x 5"));
        assert_non_null(strstr(c, "; 1.25 MFLOP */\n"));
        assert_non_null(strstr(
                c,
                "        f32 *const t = (f32 *)(void *)memory;\n        f32 *const v = t + 784;\n"
                "        conv(input, conv_w.values, t);\n        scale(v, out);\n        return 0;\n"));
        assert_non_null(strstr(slurp("model.h"), "#define MODEL_INPUT_SHAPE {1, 1, 28, 28}\n"));
}

/* ---- statements ---- */

static const char statements_text[] =
        "loop 1\nprogram \"statements\" source \"\"\nworkspace 64 align 64 live 64\n"
        "buffer @n : i64[4] input \"n\"\nbuffer @x : f32[16] input \"while\"\nbuffer @y : f32[16] output \"OUT\"\n"
        "buffer @z : i32[4] output \"out\"\nbuffer @unused : f32[0] input \"unused\"\n"
        "buffer @t : f32[16] workspace offset 0\nbuffer @half : f32[8] view @t + 8\nbuffer @w : i32[4] view @z + 0\n"
        "kernel @cosh(%x: in f32[16] class 1, %y: out f32[16] class 1, %count: index) {\n"
        "  for %wide = 0 to 16 step 3 {\n    store %y[%wide] = %x[%wide] * 2.0\n  }\n"
        "  for %i = 0 to 16 unroll {\n"
        "    let %dead : f32 = %x[%i] + 1.0\n    var %dead2 : f32 = %dead\n    set %dead2 = %dead2 * 3.0\n"
        "    if %i >= %count {\n      store %y[%i] = -1.0\n    } else {\n      if %i % 3 != 0 {\n        store %y[%i] = %x[%i]\n"
        "      } else {\n        if %i == 3 {\n          prefetch %x[%i] 0\n        }\n      }\n    }\n  }\n}\n"
        "kernel @sum(%h: in f32[8], %z: out i32[4], %never: in f32[0], %n: in i64[4]) {\n"
        "  if %n[0] > 8 {\n    fail INDEX\n  }\n"
        "  var %acc : f32[2][2]\n"
        "  set %acc{0, 0} = %acc{0, 0} + %h[0]\n  set %acc{1, 1} = %h[1] - %acc{0, 0}\n"
        "  alloc %scratch : i32[4] stack\n"
        "  for %i = 0 to 4 {\n    store %scratch[%i] = i32(%h[%i]) - 1\n  }\n"
        "  var %k : index = index(%n[1])\n"
        "  for %i2 = 0 to %k {\n    set %k = %k - 1\n    store %scratch[0] = %scratch[0] + 1\n  }\n"
        "  while %k < 4 {\n    set %k = %k + 1\n    store %scratch[1] = %scratch[1] + 10\n  }\n"
        "  for %i3 = 0 to 4 {\n    store %z[%i3] = %scratch[%i3] + i32(%acc{1, 1} + %acc{0, 0})\n  }\n}\n"
        "main {\n"
        "  if @n[2] > 0 {\n    for %i = 0 to index(@n[3]) {\n      call @cosh(@x, @t; %i * 4)\n    }\n"
        "  } else {\n    call @cosh(@x, @t; 16)\n  }\n"
        "  call @sum(@half, @w, @unused, @n)\n"
        "  call @cosh(@t, @y; 12)\n"
        "}\n";

static void statements(void **state)
{
        (void)state;
        struct loop_program *p = parse(statements_text);
        static const int64_t cases[][4] = {
                { 1, 3, 1, 4 }, { 8, 0, 0, 0 }, { 9, 0, 1, 2 }, { -1, 4, 1, 0 }
        };
        float x[16];
        for (int i = 0; i < 16; i++)
                x[i] = (float)i - 5.5f;
        print(p, "model");
        for (int i = 0; i < 4; i++) {
                int64_t n[4];
                memcpy(n, cases[i], sizeof n);
                struct ports ports = { .inputs = { n, x, NULL }, .input_count = 3 };
                compare(p, "model", &ports,
                        i % 2 ? "gcc -std=c99 -O2" : "gcc -std=gnu11 -O3 -flto");
                if (have("clang"))
                        compare(p, "model", &ports, "clang -std=c99 -O3");
        }
}

/* Deep expressions are split: clang gives up at 256 open brackets. */
static void deep_expressions(void **state)
{
        (void)state;
        enum { DEPTH = 900 };
        struct text calls = { 0 }, choices = { 0 };
        for (int i = 0; i < DEPTH; i++) {
                text_add(&calls, "max(%d.5, ", -i);
                text_add(&choices, "select(%%i == %d, %d.25, ", i, i);
        }
        text_add(&calls, "%%x[%%i]");
        text_add(&choices, "%%y[%%i]");
        for (int i = 0; i < DEPTH; i++) {
                text_add(&calls, ")");
                text_add(&choices, ")");
        }
        struct source s = { .count = 0 };
        add_kernel(&s, "f32", "f32", calls.data);
        add_kernel(&s, "f32", "f32", choices.data);
        text_free(&calls);
        text_free(&choices);
        check_source(&s, "f32", "model");
}

/* ---- constants ---- */

static void add_constant(struct source *s, const char *type, int count, const char *data)
{
        int n = s->count++;
        text_add(&s->buffers,
                 "buffer @c%d : %s[%d] constant = %s\nbuffer @o%d : %s[%d] output \"o%d\"\n", n,
                 type, count, data, n, type, count, n);
        text_add(&s->kernels,
                 "kernel @copy%d(%%x: in %s[%d], %%y: out %s[%d]) {\n  for %%i = 0 to %d {\n"
                 "    store %%y[%%i] = %%x[%%i]\n  }\n}\n",
                 n, type, count, type, count, count);
        text_add(&s->main, "  call @copy%d(@c%d, @o%d)\n", n, n, n);
}

static const char *hex_data(const char *type, int count)
{
        enum element e;
        assert_true(element_from_text(type, strlen(type), &e));
        struct text hex = { 0 };
        text_add(&hex, "hex \"");
        for (int i = 0; i < count * element_info[e].bytes;
             i++) /* every pair of byte values, NaN payloads */
                text_add(&hex, "%02x",
                         e == E_BOOL ? i % 2
                                     : (i * 37 + i / 256 * 11 + (i % 7 == 0 ? 0xff : 0)) & 255);
        text_add(&hex, "\"");
        char *copy = arena_string(arena, hex.data);
        text_free(&hex);
        return copy;
}

static void constants(void **state)
{
        (void)state;
        static const int counts[] = { 1, 64, 65, 500, 3000 };
        struct source s = { .count = 0 };
        for (int t = 0; t < STORED; t++)
                for (int c = 0; c < 4; c++)
                        add_constant(&s, stored_texts[t], counts[c],
                                     hex_data(stored_texts[t], counts[c]));
        add_constant(&s, "f32", 3000, hex_data("f32", 3000));
        add_constant(&s, "f32", 2000, hex_data("f32", 2000));           /* whole rows */
        add_constant(&s, "f32", 6, "[-0.0, 0.1, 1e-45, 3.4028235e38, -16777216.0, 1e-5]");
        add_constant(&s, "f64", 6,
                     "[-0.0, 0.1, 5e-324, 1.7976931348623157e308, -16777216.0, 1e22]");
        add_constant(&s, "i64", 3, "[-9223372036854775808, 9223372036854775807, -1]");
        add_constant(&s, "u64", 2, "[18446744073709551615, 0]");
        add_constant(&s, "f32", 1000, "splat 0.25");
        add_constant(&s, "f32", 1000, "splat 0.0");
        add_constant(&s, "i16", 10, "splat -3");
        add_constant(&s, "f32", 5, "[inf, -inf, nan, 1.0, -0.0]");
        struct text text = { 0 };
        text_add(&text,
                 "loop 1\nprogram \"c\" source \"\"\nworkspace 0 align 1 live 0\n%s%smain {\n%s}\n",
                 s.buffers.data, s.kernels.data, s.main.data);
        struct loop_program *p = parse(text.data);
        print(p, "model");
        struct ports ports = { .input_count = 0 };
        assert_true(s.count <= PORTS_MAX);
        const struct loop_buffer *b = p->buffers;
        struct print_options big = options_for("model");
        big.target = target_find("generic-be");
        const char *compilers[] = {
                "gcc -std=c99 -O2",
                "clang -std=c99 -O1",
                "gcc -std=c99 -O1 -DBIG_ENDIAN_MACHINE",
                "gcc -std=c99 -O1",
        };
        for (int i = 0; i < 4; i++) {
                if (i == 1 && !have("clang"))
                        continue;
                if (i == 3) /* numbers, whatever the size: they mean the same here */
                        assert_true(print_with(p, &big));
                const struct dnncc_model_1 *model = load("model", compilers[i]);
                assert_non_null(model);
                assert_int_equal(model->output_count, s.count);
                int k = 0;
                for (const struct loop_buffer *o = b; o; o = o->next)
                        if (o->space == SPACE_OUTPUT)
                                ports.outputs[k++] = exact(bytes_of(o));
                assert_int_equal(run_compiled(model, &ports), 0);
                k = 0;
                for (const struct loop_buffer *c = b; c; c = c->next->next) {
                        size_t size = (size_t)element_info[c->element].bytes;
                        for (int64_t n = 0; n < c->extent; n++)         /* bits: NaN payloads too */
                                if (memcmp((char *)ports.outputs[k] + (size_t)n * size,
                                           (const char *)c->data +
                                                   (c->splat ? 0 : (size_t)n * size),
                                           size))
                                        fail_msg("%s: %s[%lld] differs", compilers[i], c->name,
                                                 (long long)n);
                        free(ports.outputs[k++]);
                }
        }
        text_free(&text);
        text_free(&s.buffers);
        text_free(&s.kernels);
        text_free(&s.main);
}

static void equal_constants_are_one(void **state)
{
        (void)state;
        struct loop_program *p = parse(
                "loop 1\nprogram \"c\" source \"\"\nworkspace 0 align 1 live 0\n"
                "buffer @one : f32[3] constant = [1.5, 2.5, 3.5]\nbuffer @two : f32[3] constant = [1.5, 2.5, 3.5]\n"
                "buffer @three : f32[3] constant = [1.5, 2.5, -3.5]\nbuffer @idle : f32[3] constant = [9.0, 9.0, 9.0]\n"
                "buffer @y : f32[3] output \"y\"\n"
                "kernel @add(%a: in f32[3], %b: in f32[3], %c: in f32[3], %y: out f32[3]) {\n  for %i = 0 to 3 {\n"
                "    store %y[%i] = %a[%i] + %b[%i] + %c[%i]\n  }\n}\nmain {\n  call @add(@one, @two, @three, @y)\n}\n");
        print(p, "model");
        const char *c = slurp("model.c");
        assert_non_null(strstr(c, "static const MODEL_CONST float one[3] = { 1.5f, 2.5f, 3.5f };"));
        assert_null(strstr(c, " two[3]"));
        assert_null(strstr(c, "idle"));
        assert_non_null(strstr(c, "add(one, one, three, y);"));
}

/* ---- tasks ---- */

/* What a launch hands over are values of that moment; with one thread the kernel runs the task. */
static void tasks(void **state)
{
        (void)state;
        struct loop_program *p = parse(
                "loop 1\nprogram \"t\" source \"\"\nworkspace 0 align 1 live 0\n"
                "buffer @x : f32[64] input \"x\"\nbuffer @y : f32[64] output \"y\"\nbuffer @z : i32[9] output \"z\"\n"
                "task @row(%x: in f32[64] class 1, %y: inout f32[64] class 1, %table: inout f32[4], %scale: f32, %low: bool, "
                "%unused: i32, %i: index) {\n"
                "  for %j = 0 to 8 {\n    let %v : f32 = %x[%i * 8 + %j] * %scale + %table[%j % 4]\n"
                "    store %y[%i * 8 + %j] = select(%low, min(%v, 1.0), %v)\n  }\n}\n"
                "task @count(%z: inout i32[9], %by: index, %i: index) {\n  store %z[%i] = i32(%i) * i32(%by)\n}\n"
                "task @nothing(%i: index) {\n}\n"
                "kernel @k(%x: in f32[64] class 1, %y: inout f32[64] class 1, %z: inout i32[9], %n: index) {\n"
                "  alloc %table : f32[4] stack\n  var %scale : f32 = 0.5\n  let %low : bool = %n < 100\n  let %unused : i32 = 7\n"
                "  for %i = 0 to 4 {\n    store %table[%i] = f32(i32(%i)) * 0.25\n  }\n"
                "  for %i2 = 0 to 9 {\n    store %z[%i2] = -1\n  }\n"
                "  launch @row(%x, %y, %table; %scale, %low, %unused, 0 to 5)\n  set %scale = 2.0\n"
                "  launch @row(%x, %y, %table; %scale, %low, %unused, 5 to 8 step 2)\n  let %by : index = %n * 2\n"
                "  if %n > 3 {\n    launch @count(%z; %by, %n - 4 to 9 step 3)\n  }\n  launch @nothing(; 0 to 4)\n}\n"
                "main {\n  call @k(@x, @y, @z; 5)\n}\n");
        float x[64];
        for (int i = 0; i < 64; i++)
                x[i] = (float)(i % 7) / 3.0f - 0.5f;
        struct ports ports = { .inputs = { x }, .input_count = 1 };
        print(p, "model");
        compare(p, "model", &ports, "gcc -std=c99 -O2");
        if (have("clang"))
                compare(p, "model", &ports, "clang -std=c99 -O2");
        const char *c = slurp("model.c");
        assert_non_null(strstr(c, "k_task_2(&arguments_2, 0, 1);"));
        assert_null(strstr(c, "dnncc_parallel"));
        assert_null(strstr(c, "unused"));
        assert_null(strstr(c, "k_task_4"));
        struct print_options options = options_for("model");
        options.threads = 4;
        assert_true(print_with(p, &options));
        c = slurp("model.c");
        assert_non_null(strstr(c, "        dnncc_parallel(k_task, &arguments, 4);\n"));
        assert_non_null(strstr(c, "        dnncc_parallel(k_task_2, &arguments_2, 2);\n"));
        assert_non_null(strstr(c, "i_count < 4 ? (int)i_count : 4);\n"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_operation),
                cmocka_unit_test(literals_and_nesting),
                cmocka_unit_test(every_conversion),
                cmocka_unit_test(small_floats),
                cmocka_unit_test(every_library_function),
                cmocka_unit_test(handsome_text),
                cmocka_unit_test(statements),
                cmocka_unit_test(deep_expressions),
                cmocka_unit_test(constants),
                cmocka_unit_test(equal_constants_are_one),
                cmocka_unit_test(tasks),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
