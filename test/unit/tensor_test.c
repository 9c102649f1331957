/* SPDX-License-Identifier: MIT */
/* The text of Tensor IR: what is printed reads back, everything else is refused with one error. */
#include "test/unit/tensor_bench.h"

#include "base/sha256.h"

/* ---- texts of every operation ---- */

static const struct { const char *arguments, *op;
} rows[] = {
        { "%c \"c\": <4 x bool>, %x \"x\": <4 x f32>, %y \"y\": <4 x f32>",
          "select(%c, %x, %y) : <4 x f32>" },
        { "%c \"c\": <4 x bool>, %x \"x\": <4 x f32>", "select(%c, 0.5, %x) : <4 x f32>" },
        { "%c \"c\": <4 x bool>", "select(%c, <4 x f32> 1.0, <4 x f32> 2.0) : <4 x f32>" },
        { "%c \"c\": <4 x bool>",
          "select(%c, true, <4 x bool> [true, false, true, true]) : <4 x bool>" },
        { "%x \"x\": <4 x i8>", "cast(%x) : <4 x f32>" },
        { "%x \"x\": <4 x f64>", "cast(%x) to=bool : <4 x bool>" },
        { "%x \"x\": <4 x f32>", "bitcast(%x) to=u32 : <4 x u32>" },
        { "%x \"x\": <4 x i32>, %m \"m\": <4 x i32>, %b \"b\": <4 x i64>",
          "requantize(%x, %m, %b, %x) shift=40 low=3 high=200 to=u8 : <4 x u8>" },
        { "%x \"x\": <4 x i32>, %m \"m\": <4 x i32>",
          "rescale(%x, %m, 7) once=1 zero=-3 low=-100 high=100 to=i16 : <4 x i16>" },
        { "%x \"x\": <2 x 6 x f32>", "reshape(%x) : <3 x 4 x f32>" },
        { "%x \"x\": <0 x 6 x f32>", "reshape(%x) : <4 x 0 x 9 x f32>" },
        { "%x \"x\": <1 x 1 x f32>", "reshape(%x) : <f32>" },
        { "%x \"x\": <f32>", "transpose(%x) : <f32>" },
        { "%x \"x\": <5 x f32>", "transpose(%x) : <5 x f32>" },
        { "%x \"x\": <2 x 3 x 4 x f32>", "transpose(%x) perm=[2, 0, 1] : <4 x 2 x 3 x f32>" },
        { "%x \"x\": <f32>", "broadcast(%x) : <2 x 3 x f32>" },
        { "%x \"x\": <3 x f32>", "broadcast(%x) dims=[1] : <2 x 3 x f32>" },
        { "%x \"x\": <2 x 1 x f32>", "broadcast(%x) dims=[0, 1] : <2 x 3 x f32>" },
        { "%x \"x\": <2 x 9 x f32>",
          "slice(%x, <2 x i64> [1, 8], <2 x i64> [1, -2]) : <1 x 5 x f32>" },
        { "%x \"x\": <9 x f32>, %s \"s\": <1 x i64>", "slice(%x, %s, <1 x i64> 1) : <3 x f32>" },
        { "%x \"x\": <9 x f32>", "slice(%x, <1 x i64> -77, <1 x i64> 1) : <0 x f32>" },
        { "%x \"x\": <2 x 9 x f32>", "pad(%x, <f32> 0.0, <2 x i64> [-1, 2]) : <1 x 13 x f32>" },
        { "%x \"x\": <2 x f32>, %v \"v\": <f32>", "pad(%x, %v, <1 x i64> 2) : <6 x f32>" },
        { "%x \"x\": <2 x f32>", "pad(%x, none, <1 x i64> 2) mode=reflect : <6 x f32>" },
        { "%x \"x\": <2 x f32>", "pad(%x, none, <1 x i64> 2) mode=edge : <6 x f32>" },
        { "%x \"x\": <2 x f32>", "pad(%x, none, <1 x i64> 2) mode=wrap : <6 x f32>" },
        { "%x \"x\": <2 x 3 x f32>, %y \"y\": <2 x 4 x f32>",
          "concat(%x, %y, %x) axis=1 : <2 x 10 x f32>" },
        { "%x \"x\": <2 x f32>", "concat(%x) : <2 x f32>" },
        { "%x \"x\": <5 x 3 x f32>, %i \"i\": <2 x 2 x i64>",
          "gather(%x, %i) axis=1 : <5 x 2 x 2 x f32>" },
        { "%x \"x\": <5 x 3 x f32>", "gather(%x, <2 x i32> [-5, 4]) : <2 x 3 x f32>" },
        { "%x \"x\": <5 x 3 x f32>, %i \"i\": <5 x 2 x i64>",
          "gather_elements(%x, %i) axis=1 : <5 x 2 x f32>" },
        { "%x \"x\": <5 x 3 x f32>, %i \"i\": <7 x 2 x i64>", "gather_nd(%x, %i) : <7 x f32>" },
        { "%x \"x\": <5 x 3 x 4 x f32>, %i \"i\": <5 x 7 x 1 x i64>",
          "gather_nd(%x, %i) batch_dims=1 : <5 x 7 x 4 x f32>" },
        { "%x \"x\": <5 x 3 x f32>, %i \"i\": <7 x 1 x i64>, %u \"u\": <7 x 3 x f32>",
          "scatter(%x, %i, %u) kind=sum : <5 x 3 x f32>" },
        { "%x \"x\": <5 x 3 x f32>, %i \"i\": <7 x 2 x i64>, %u \"u\": <7 x 2 x f32>",
          "scatter(%x, %i, %u) axis=0 : <5 x 3 x f32>" },
        { "%x \"x\": <5 x 3 x f32>", "argsort(%x) axis=1 descending=1 : <5 x 2 x i64>" },
        { "%x \"x\": <3 x 32 x 2 x f32>, %t \"t\": <56 x f32>",
          "spectrum(%x, %t) axes=[1] inverse=1 : <3 x 32 x 2 x f32>" },
        { "%x \"x\": <17 x 8 x 1 x f64>, %t \"t\": <166 x f64>",
          "spectrum(%x, %t) axes=[1, 0] half=1 : <9 x 8 x 2 x f64>" },
        { "%x \"x\": <17 x 1 x 8 x f64>, %t \"t\": <166 x f64>",
          "spectrum(%x, %t) axes=[2, 0] half=1 parts=1 : <9 x 2 x 8 x f64>" },
        { "%x \"x\": <3 x 9 x 2 x f32>, %t \"t\": <166 x f32>",
          "spectrum(%x, %t) axes=[1] inverse=1 half=1 length=17 : <3 x 17 x 1 x f32>" },
        { "%x \"x\": <50 x u8>", "decode_image(%x) pixels=bgr : <2 x 5 x 3 x u8>" },
        { "%x \"x\": <50 x u8>", "decode_image(%x) pixels=gray : <2 x 5 x 1 x u8>" },
        { "", "iota() axis=1 : <2 x 3 x i64>" },
        { "%x \"x\": <2 x 3 x f32>", "extent(%x) axis=1 : <i64>" },
        { "%a \"a\": <2 x 3 x f32>, %b \"b\": <3 x 4 x f32>",
          "dot(%a, %b) contract_a=[1] contract_b=[0] : <2 x 4 x f32>" },
        { "%a \"a\": <9 x 2 x 3 x u8>, %b \"b\": <3 x 9 x i8>",
          "dot(%a, %b) batch_a=[0] batch_b=[1] contract_a=[2] contract_b=[0] accumulator=i32 : <9 "
          "x 2 x i32>" },
        { "%a \"a\": <2 x f32>, %b \"b\": <3 x f32>", "dot(%a, %b) : <2 x 3 x f32>" },
        { "%x \"x\": <1 x 4 x 9 x f32>, %w \"w\": <6 x 2 x 3 x f32>",
          "convolve(%x, %w) strides=[2] dilations=[2] input_dilations=[3] pads=[-1, 4] groups=2 : "
          "<1 x 6 x 12 x f32>" },
        { "%x \"x\": <1 x 4 x f32>, %w \"w\": <6 x 4 x f32>", "convolve(%x, %w) : <1 x 6 x f32>" },
        { "%x \"x\": <1 x 1 x 2 x f32>, %w \"w\": <1 x 1 x 9 x f32>",
          "convolve(%x, %w) : <1 x 1 x 0 x f32>" },
        { "%x \"x\": <1 x 1 x 0 x f32>, %w \"w\": <1 x 1 x 2 x f32>",
          "convolve(%x, %w) input_dilations=[5] pads=[1, 1] : <1 x 1 x 1 x f32>" },
        { "%x \"x\": <1 x 2 x 9 x 16 x f32>, %w \"w\": <2 x 2 x 3 x 16 x 1 x 16 x f32>",
          "convolve_packed(%x, %w) strides=[2] channels=20 outputs=30 : <1 x 2 x 4 x 16 x f32>" },
        { "%x \"x\": <1 x 1 x 4 x 72 x f32>, %w \"w\": <2 x 1 x 1 x 72 x 2 x 16 x f32>",
          "convolve_packed(%x, %w) channels=72 outputs=40 block=40 : <1 x 1 x 4 x 40 x f32>" },
        { "%x \"x\": <1 x 1 x 5 x 34 x 1 x i8>", "neighbours(%x) count=4 : <1 x 1 x 5 x 31 x 4 x i8>" },
        { "%w \"w\": <2 x 1 x 1 x 36 x 2 x 32 x bf16>, %i \"i\": <3 x 5 x i64>",
          "gather_panels(%w, %i) rows=40 columns=71 group=2 : <3 x 5 x 71 x bf16>" },
        { "%x \"x\": <1 x 2 x 9 x 16 x f32>, %w \"w\": <2 x 3 x 16 x f32>",
          "convolve_lanes(%x, %w) dilations=[2] : <1 x 2 x 5 x 16 x f32>" },
        { "%x \"x\": <1 x 2 x 10 x 11 x 16 x f32>, %w \"w\": <36 x 1 x 30 x 3 x 16 x f32>",
          "convolve_winograd(%x, %w) rows=7 columns=5 outputs=40 : <1 x 3 x 7 x 5 x 16 x f32>" },
        { "%x \"x\": <1 x 1 x 4 x 4 x 3 x f64>, %w \"w\": <16 x 1 x 3 x 1 x 16 x f64>",
          "convolve_winograd(%x, %w) tile=[2, 2] rows=1 columns=2 outputs=5 block=5 : <1 x 1 x 1 x "
          "2 x 5 x f64>" },
        { "%x \"x\": <1 x 1 x 4 x 8 x 16 x f32>, %w \"w\": <8 x 1 x 16 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) tile=[1, 2] window=[1, 7] rows=4 columns=2 outputs=16 : <1 x 1 "
          "x 4 x 2 x 16 x f32>" },
        { "%x \"x\": <1 x 1 x 20 x 16 x f32>, %w \"w\": <6 x 1 x 32 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) strides=[2] columns=7 outputs=16 : <1 x 1 x 7 x 16 x f32>" },
        { "%x \"x\": <1 x 1 x 3 x 64 x i8>, %w \"w\": <2 x 2 x 4 x 2 x 64 x u8>, %p \"p\": <1 x 1 "
          "x 3 x 2 x f32>, "
          "%t \"t\": <1 x 1 x 3 x 2 x i32>, %s \"s\": <2 x 2 x 2 x 16 x f16>, %z \"z\": <2 x 2 x 2 "
          "x 16 x u8>",
          "dot_blocks(%x, %w, %p, %t, %s, %z) outputs=40 : <1 x 1 x 3 x 40 x f32>" },
        { "%x \"x\": <1 x 1 x 3 x 64 x i8>, %w \"w\": <2 x 2 x 4 x 2 x 64 x u8>, %p \"p\": <1 x 1 "
          "x 3 x 2 x f32>, "
          "%t \"t\": <1 x 1 x 3 x 2 x i32>, %s \"s\": <2 x 2 x 2 x 16 x i8>, "
          "%o \"o\": <2 x 1 x 2 x 16 x f16>",
          "dot_blocks(%x, %w, %p, %t, %s, none, %o) outputs=40 zero=32 : <1 x 1 x 3 x 40 x f32>" },
        { "%x \"x\": <1 x 1 x 3 x 64 x f32>, %w \"w\": <2 x 2 x 16 x 2 x 16 x u8>, "
          "%s \"s\": <2 x 2 x 2 x 16 x f16>, %z \"z\": <2 x 2 x 2 x 16 x f32>",
          "dot_blocks(%x, %w, none, none, %s, %z) outputs=40 : <1 x 1 x 3 x 40 x f32>" },
        { "%x \"x\": <2 x 3 x 4 x f16>", "reduce(%x, <2 x i64> [0, 2]) : <3 x f16>" },
        { "%x \"x\": <2 x 3 x f16>",
          "reduce(%x, <1 x i64> 1) kind=prod accumulator=f32 : <2 x f32>" },
        { "%x \"x\": <2 x 3 x bool>", "reduce(%x, <1 x i64> 1) kind=max : <2 x bool>" },
        { "%x \"x\": <2 x 3 x f32>, %k \"k\": <1 x i64>",
          "reduce(%x, %k) kind=min : <1 x 3 x f32>" },
        { "%x \"x\": <2 x 3 x f32>", "reduce(%x, <0 x i64> []) : <2 x 3 x f32>" },
        { "%x \"x\": <2 x 9 x f32>",
          "reduce_window(%x) window=[1, 3] strides=[1, 2] pads=[0, 1, 0, 0] : <2 x 4 x f32>" },
        { "%x \"x\": <2 x 9 x f32>",     /* a ceil mode */
          "reduce_window(%x) window=[1, 3] strides=[1, 2] pads=[0, 1, 0, 0] : <2 x 5 x f32>" },
        { "%x \"x\": <2 x 9 x i8>",
          "reduce_window(%x) kind=sum window=[2, 3] accumulator=i32 : <1 x 7 x i32>" },
        { "%x \"x\": <2 x 9 x f32>",
          "arg_window(%x) window=[1, 3] dilations=[1, 2] : <2 x 5 x i64>" },
        { "%x \"x\": <2 x f32>, %y \"y\": <f32>",
          "external(%x, %y) symbol=own extents=[2] : <2 x f32> {(%a: <2 x f32>, %b: <f32>)\n"
          "    yield(%a)\n  }" },
};

static void test_rows(void **state)
{
        (void)state;
        struct arena *arena = arena_new();
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                check_canonical(one_op(arena, rows[i].arguments, rows[i].op));
        arena_free(arena);
}

static bool is_row_tested(const char *name)
{
        size_t length = strlen(name);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (!strncmp(rows[i].op, name, length) && rows[i].op[length] == '(')
                        return true;
        /* `sample` has one of each of the others. */
        return !strcmp(name, "fusion") || !strcmp(name, "if") || !strcmp(name, "loop") ||
               !strcmp(name, "yield") || !strcmp(name, "counted");
}

/* every formula on an element type of its domain; every other operation has a text above */
static void test_all_operations(void **state)
{
        (void)state;
        static const char *const element[] = { [DOMAIN_NUMBER] = "f16", [DOMAIN_FLOAT] = "bf16", [DOMAIN_INTEGER] = "u16",
                                               [DOMAIN_LOGIC] = "bool", [DOMAIN_ANY] = "bool" };
        static const char *const operands[] = { "", "%x", "%x, %y", "%x, %y, %x" };
        struct arena *arena = arena_new();
        for (int i = 0; i < OPCODE_COUNT; i++) {
                const struct op_info *info = &op_info[i];
                enum opcode code;
                assert_true(opcode_from_text(info->name, strlen(info->name), &code) && (int)code == i);
                assert_true(info->doc[0] && info->type_rule);
                if (!info->formula) {
                        if (!is_row_tested(info->name))
                                fail_msg("no text tests %s", info->name);
                        continue;
                }
                const char *e = element[info->domain];
                bool compare = info->type_rule == op_info[OP_eq].type_rule;
                char *arguments = arena_printf(arena, "%%x \"x\": <2 x %s>, %%y \"y\": <2 x %s>", e, e);
                check_canonical(one_op(arena, arguments,
                                       arena_printf(arena, "%s(%s) : <2 x %s>", info->name,
                                                    operands[info->operand_count], compare ? "bool" : e)));
        }
        assert_false(opcode_from_text("ad", 2, &(enum opcode){ 0 }));
        assert_false(opcode_from_text("addd", 4, &(enum opcode){ 0 }));
        assert_false(opcode_from_text("", 0, &(enum opcode){ 0 }));
        arena_free(arena);
}

/* ---- texts of modules ---- */

static const char sample[] =
        "dnn 3\n"
        "module \"a\\x20b\" source \"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\" command \"-O1 --dim N=3\" passes \"fold,cse\"\n"
        "symbol N <= 64\n"
        "symbol \"batch size\" <= 1000\n"
        "symbol x <= 9\n"
        "symbol K in [2, 9] counted\n"
        "const @w : <9 x f32> = hex \"0000803f000000400000803f000000400000803f000000400000803f000000400000803f\"\n"
        "const @small : <2 x f32> = [1.0, nan:0x7fc00001]\n"
        "func @main(%input \"In/put:0\\x22\": <N x 3 x \"batch size\" x f32>, %b \"b\": <x x (N + 1) / 2 x max(N, x) x bool>, "
        "%c \"c\": <bool>, %v \"v\": <9 x f32>, %m \"\\xff\": <4 x 4 x i32>) -> (\"a\", \"b\\x2a/\", \"c\") {\n"
        "  %0 = add(%input, %input) : <N x 3 x \"batch size\" x f32>    ; \"conv1, b\\x20\"\n"
        "  %1 = if(%c) : <9 x f32> {    ; \"if\"\n"
        "    %y = mul(%v, @w) : <9 x f32>\n"
        "    yield(%y)\n"
        "  } else {\n"
        "    %2, %3 = fusion(%v, @w) : <9 x f32>, <9 x bool> {    ; \"inner\"\n"
        "      %q = sub(%v, 1.5) : <9 x f32>\n"
        "      %r = lt(%q, @w) : <9 x bool>\n"
        "      yield(%q, %r)\n"
        "    }\n"
        "    yield(%2)    ; \"out\"\n"
        "  }\n"
        "  %n = not(%b) : <x x (N + 1) / 2 x max(N, x) x bool>\n"
        "  %4 = select(%n, %b, true) : <x x (N + 1) / 2 x max(N, x) x bool>\n"
        "  %5 = add(@small, <2 x f32> [1e+30, -0.0]) : <2 x f32>\n"
        "  %6 = pad(%m, none, <2 x i64> [1, 2]) mode=edge : <7 x 7 x i32>\n"
        "  %7 = counted(<i64> 3) : <K x i64>\n"
        "  %8 = add(%7, %7) : <K x i64>\n"
        "  yield(%0, %1, %4)\n"
        "}\n"
        "func @other(%o \"o\": optional(sequence(<4 x string>))) -> (\"o\") {\n"
        "  yield(%o)\n"
        "}\n";

static void test_sample(void **state)
{
        (void)state;
        check_canonical(sample);
}

#define LOOP_HEAD "dnn 3\nmodule \"m\"\nfunc @main(%h \"h\": <4 x f32>, %x \"x\": <3 x 4 x f32>, %c \"c\": <bool>, %n \"n\": <i64>) -> (\"o\") {\n"

static void test_loops(void **state)
{
        (void)state;
        static const char *const texts[] = {
                "  %0 = loop(none, none, %h) steps=3 carried=1 : <4 x f32> {(%1: <i64>, %2: <4 x f32>)\n"
                "    %3 = neg(%2) : <4 x f32>\n    yield(%3)\n  }\n",
                "  %0, %1 = loop(%n, none, %h, %x) steps=3 carried=1 scan_backward=[1] stack_backward=[1] : <4 x f32>, <3 x 4 x f32> "
                "{(%2: <i64>, %3: <4 x f32>, %4: <4 x f32>)    ; \"scan\"\n    yield(%4, %3)\n  }\n",
                "  %0 = loop(%n, %c, %h) steps=9223372036854775807 carried=1 : <4 x f32> {(%i: <i64>, %held: <4 x f32>)\n"
                "    yield(%c, %held)\n  }\n",
                "  %0 = loop(none, none) steps=2 : <2 x 3 x i64> {(%1: <i64>)\n"
                "    %2 = loop(none, none) steps=3 : <3 x i64> {(%3: <i64>)\n      yield(%1)\n    }\n    yield(%2)\n  }\n",
        };
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                struct text text = { 0 };
                text_add(&text, "%s%s  yield(%%0)\n}\n", LOOP_HEAD, texts[i]);
                check_canonical(text.data);
                text_free(&text);
        }
}

/* a text that is not the printer's own still reads to the same module */
static void test_free_text(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct module *m = parse_well(&b,
                "; \xc3\xa4 comment\n dnn 3 module \"m\" symbol N<=8 const @0:<2 x f32>=0.5 ; \"not a location\"\n"
                "const @if : <2 x f32> = [1, 2]\n"
                "func @f(%7: <2 x N * 2 x f32>)->(\"o\"){%a,%1b=if(<bool>true):<2 x f32>,<2 x f32>{ %5 = add(@0,\n@if):<2 x f32>"
                " ; \"n/1\" \n yield(%5,%5)}else{yield(@0,@if)}\n%9=transpose(%7) perm = [ 1 , 0 ]:<N*2 x 2 x f32>; \"a*/b\""
                " \r\nyield(%1b)}");
        assert_string_equal(print(&b, m),
                "dnn 3\nmodule \"m\"\nsymbol N <= 8\nconst @if_2 : <2 x f32> = [1.0, 2.0]\n"
                "func @f(%0 \"7\": <2 x N * 2 x f32>) -> (\"o\") {\n"
                "  %a, %1 = if(<bool> true) : <2 x f32>, <2 x f32> {\n"
                "    %2 = add(<2 x f32> 0.5, @if_2) : <2 x f32>    ; \"n/1\"\n"
                "    yield(%2, %2)\n"
                "  } else {\n"
                "    yield(<2 x f32> 0.5, @if_2)\n"
                "  }\n"
                "  %3 = transpose(%0) perm=[1, 0] : <N * 2 x 2 x f32>\n"
                "  yield(%1)\n"
                "}\n");
        module_free(m);
        bench_close(&b);
}

static void test_elements(void **state)
{
        (void)state;
        static const char *const lists[][2] = {
                { "f32", "[1e-45, 3.4028235e+38, -inf, nan, nan:0xffc00000, nan:0x7f800001, 0.1, -0.0]" },
                { "f64", "[5e-324, 1.7976931348623157e+308, inf, nan, nan:0xfff8000000000000, nan:0x7ff0000000000001, 0.1, 1.0]" },
                { "f16", "[5.9604645e-08, 65504.0, -inf, nan, nan:0xfe00, nan:0x7c01, 0.099975586, -0.0]" },
                { "bf16", "[9.1835e-41, 3.3895314e+38, inf, nan, nan:0xffc0, nan:0x7f81, 0.100097656, 1.0]" },
                { "i8", "[-128, 127, 0, 1, -1, 2, 3, 4]" },
                { "i16", "[-32768, 32767, 0, 1, -1, 2, 3, 4]" },
                { "i32", "[-2147483648, 2147483647, 0, 1, -1, 2, 3, 4]" },
                { "i64", "[-9223372036854775808, 9223372036854775807, 0, 1, -1, 2, 3, 4]" },
                { "u8", "[255, 1, 2, 3, 4, 5, 6, 7]" },
                { "u16", "[65535, 1, 2, 3, 4, 5, 6, 7]" },
                { "u32", "[4294967295, 1, 2, 3, 4, 5, 6, 7]" },
                { "u64", "[18446744073709551615, 1, 2, 3, 4, 5, 6, 7]" },
                { "bool", "[true, false, 2, true, true, true, true, 255]" },
        };
        struct arena *arena = arena_new();
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
                const char *e = lists[i][0];
                check_canonical(one_op(arena, "", arena_printf(arena, "concat(<8 x %s> %s) : <8 x %s>", e, lists[i][1], e)));
                check_canonical(one_op(arena, "", arena_printf(arena, "concat(<8 x %s> %s) : <8 x %s>", e,
                                                               !strcmp(e, "bool") ? "true" : strchr(lists[i][1], 'f') ?
                                                               "0.5" : "1", e)));
        }
        arena_free(arena);
}

/* ---- hostile texts ---- */

static void test_prefixes(void **state)
{
        (void)state;
        size_t length = sizeof sample - 1, main_only = (size_t)(strstr(sample, "func @other") - sample);
        for (size_t n = 0; n < length; n++) {
                struct bench b;
                bench_open(&b);
                char *cut = malloc(n ? n : 1);          /* so that a byte too far is seen */
                memcpy(cut, sample, n);
                struct module *m = tensor_parse(cut, n, NULL, NULL, &b.diag);
                bool whole = n == main_only - 1 || n == main_only || n == length - 1;
                if ((m != NULL) != whole || b.diag.errors != !whole)
                        fail_msg("prefix of %zu bytes: %s", n, said(&b));
                free(cut);
                module_free(m);
                bench_close(&b);
        }
}

/* any change of a byte gives a module or one error */
static void test_changed_bytes(void **state)
{
        (void)state;
        static const char bytes[] = "\0\x80\xff %@\"<>(){}[],:;=-09xN\\\n";
        struct diag diag = { .stream = fopen("/dev/null", "w") };
        char *text = malloc(sizeof sample - 1);
        for (size_t i = 0; i < sizeof sample - 1; i++)
                for (size_t k = 0; k < sizeof bytes - 1; k += 3) {
                        memcpy(text, sample, sizeof sample - 1);
                        text[i] = bytes[(k + i) % (sizeof bytes - 1)];
                        diag.errors = 0;
                        struct module *m = tensor_parse(text, sizeof sample - 1, NULL, NULL, &diag);
                        assert_int_equal(diag.errors, m ? 0 : 1);
                        module_free(m);
                }
        free(text);
        fclose(diag.stream);
}

#define NESTED(x, s, more) \
        HEAD "func @main(%x \"x\": <1 x 1 x 3 x 64 x " x ">, %w \"w\": <2 x 2 x 4 x 2 x 64 x u8>, " \
             "%p \"p\": <1 x 1 x 3 x 2 x f32>, %t \"t\": <1 x 1 x 3 x 2 x i32>, " \
             "%s \"s\": <2 x 2 x 2 x 16 x " s ">, %z \"z\": <2 x 2 x 2 x 16 x u8>, " \
             "%o \"o\": <2 x 1 x 2 x 16 x f16>, %m \"m\": <2 x 1 x 2 x 16 x f16>, " \
             "%q \"q\": <2 x 3 x 2 x 16 x f16>) -> (\"y\") {\n" \
             "  %0 = dot_blocks(%x, %w, %p, %t, %s, " more ") outputs=40 : <1 x 1 x 3 x 40 x f32>\n" \
             "  yield(%0)\n}\n"
#define MAIN "func @main(%x: <4 x f32>, %i: <4 x i64>, %c: <bool>) -> (\"o\") {\n"

static void test_refused_texts(void **state)
{
        (void)state;
        static const char *const cases[][2] = {
                { "", "line 1: the text does not begin with dnn and a version" },
                { "dnn 4\n", "line 1: this is version 4 of the format, 1 to 3 are known: it is of a later dnncc" },
                { "dnn 0\n", "line 1: the version is 0, want 1 to 2147483647" },
                { "dnn 3\n", "line 1: the module line is missing" },
                { "dnn 3\nmodule \"a*/b\"", "line 2: the module's name holds what may not stand in a comment of C" },
                { "dnn 3\nmodule \"a", "line 2: the quotes around the module's name are not closed" },
                { "dnn 3\nmodule \"\xff\"", "line 2: byte 0xff: the text is not UTF-8" },
                { "dnn 3\nmodule \"\x01\"", "line 2: byte 0x01 may not stand in a text" },
                { HEAD, "line 3: the text holds no function" },
                { HEAD "symbol N <= 1\nsymbol N <= 2\n", "line 4: symbol N is declared twice" },
                { HEAD "symbol N <= -1\n", "line 3: a bound is -1, want 0 to 2147483647" },
                { HEAD "const @w : <f32> = 1e400\n", "line 3: 1e400 is out of range for f32" },
                { HEAD "const @w : <f16> = 65520\n", "line 3: 65520 is out of range for f16" },
                { HEAD "const @w : <i8> = 128\n", "line 3: 128 is out of range for i8" },
                { HEAD "const @w : <u8> = -1\n", "line 3: -1 is out of range for u8" },
                { HEAD "const @w : <i64> = 0.5\n", "line 3: '0.5' is no number of type i64" },
                { HEAD "const @w : <c64> = 1\n", "line 3: a constant cannot be <c64>" },
                { HEAD "const @w : <2 x f32> = [1.0]\n", "line 3: the list has 1 values, want 2" },
                { HEAD "const @w : <2 x f32> = [1.0, 2.0, 3.0]\n", "line 3: the list has more than 2 values" },
                { HEAD "const @w : <2147483647 x f32> = [1.0]\n", "line 3: the list has fewer than 2147483647 values" },
                { HEAD "const @w : <2 x f32> = hex \"00\"\n", "line 3: 2 hexadecimal digits for 8 bytes" },
                { HEAD "const @w : <1 x f32> = hex \"0000000g\"\n",
                  "line 3: the bytes hold something else than digits and a to f" },
                { HEAD "const @w : <9 x f32> = ...\n", "line 3: the values were left out of this text" },
                { HEAD "const @w : <9 x f32> = file 0\n", "line 3: no data line names a file" },
                { HEAD "const @w : <2147483648 x f32> = 0.0\n", "line 3: a dimension is 2147483648, want 0 to 2147483647" },
                { HEAD "const @w : <-1 x f32> = 0.0\n", "line 3: a dimension is -1, want 0 to 2147483647" },
                { HEAD "const @w : <2147483647 x 2147483647 x f32> = 0.0\n",
                  "line 3: <2147483647 x 2147483647 x f32> is too large" },
                { HEAD "const @w : <0 x 2147483647 x 2147483647 x f32> = 0.0\n",
                  "line 3: <0 x 2147483647 x 2147483647 x f32> is too large" },
                { HEAD "const @w : <1x1x1x1x1x1x1x1 x f32> = 0.0\n", "line 3: a dimension is 1x1x1x1x1x1x1x1, want an integer" },
                { HEAD "const @w : <1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x f32> = 0.0\n",
                  "line 3: a type has more than 16 dimensions, or no element type" },
                { HEAD "const @w : <2 x f33> = 0.0\n", "line 3: there is no symbol f33" },
                { HEAD "const @w : <2 x index> = 0\n", "line 3: a tensor cannot be of index" },
                { HEAD "const @w : <f32> = 0.0\nconst @w : <f32> = 0.0\n", "line 4: @w is defined twice" },
                { HEAD "data \"../a\" sha256 \"\" bytes 0\n", "line 3: '../a' is not a plain file name" },
                { HEAD "data \"..\" sha256 \"\" bytes 0\n", "line 3: '..' is not a plain file name" },
                { HEAD "data \"a\\x00b\" sha256 \"\" bytes 0\n", "line 3: an escape in a file name is not \\xHH, or zero" },
                { HEAD "data \"a\" sha256 \"00\" bytes 0\n", "line 3: a digest has 64 hexadecimal digits" },
                { HEAD "graph\n", "line 3: a line that begins neither with data, symbol, const nor func" },
                { HEAD MAIN "  yield(%y)\n}\n", "line 4: %y is not defined" },
                { HEAD MAIN "  yield(@y)\n}\n", "line 4: @y is not defined" },
                { HEAD MAIN "  %x = neg(%x) : <4 x f32>\n  yield(%x)\n}\n", "line 4: %x is defined twice" },
                { HEAD MAIN "  %0 = neg(%0) : <4 x f32>\n  yield(%0)\n}\n", "line 4: %0 is not defined" },
                { HEAD MAIN "  %0 = neg(%x) : <4 x f32>\n}\n", "line 5: a region ends without a yield" },
                { HEAD MAIN "  yield(%x)\n  yield(%x)\n}\n", "line 5: a region goes on behind its yield" },
                { HEAD MAIN "  yield(%x, %x)\n}\n", "line 5: func @main yields 2 values for 1 outputs" },
                { HEAD MAIN "  yield()\n}\n", "line 4: yield: has 0 operands, want at least 1" },
                { NESTED("i8", "f16", "%z, %o, %m"), "line 4: dot_blocks: operands are <1 x 1 x 3 x 64 x i8>, <2 x 2 x 4 x 2 x 64 x u8> and scales <2 x 2 x 2 x 16 x f16>, want rows of i8 or f32 "
                  "by panels of u8 whose bytes hold blocks of whole numbers" },
                { NESTED("f32", "u8", "none, %o"), "line 4: dot_blocks: rows of f32 have neither steps nor sums" },
                { NESTED("i8", "u8", "%z, %o, %m, %m"), "line 4: dot_blocks: has 9 operands, want at most 8 of rows of i8" },
                { NESTED("i8", "u8", "none, %o, %m"), "line 4: dot_blocks: minima without zeros" },
                { NESTED("i8", "u8", "%z, %q"), "line 4: dot_blocks: scales of scales are <2 x 3 x 2 x 16 x f16>, want f16 or f32 of whole numbers of blocks" },
                { NESTED("i8", "u8", "%z, %o, %q"), "line 4: dot_blocks: operand 7 is <2 x 3 x 2 x 16 x f16>, want <2 x 1 x 2 x 16 x f16>" },
                { HEAD MAIN "  %0 = frobnicate(%x) : <4 x f32>\n", "line 4: there is no operation frobnicate" },
                { HEAD MAIN "  neg(%x)\n", "line 4: the result of neg has no name" },
                { HEAD MAIN "  %0, %1 = neg(%x) : <4 x f32>, <4 x f32>\n", "line 4: neg has 1 results, not 2" },
                { HEAD MAIN "  %0, %1 = neg(%x) : <4 x f32>\n", "line 4: 2 results have 1 types" },
                { HEAD MAIN "  %0 = neg(%x) : <5 x f32>\n", "line 4: neg: result is <5 x f32>, want <4 x f32>" },
                { HEAD MAIN "  %0 = neg(%x) : <5 x f32> ; \"conv1\"\n",
                  "line 4: node 'conv1' (neg): result is <5 x f32>, want <4 x f32>" },
                { HEAD MAIN "  %0 = cast(%x) too=f32 : <4 x f32>\n", "line 4: cast has no attribute too" },
                { HEAD MAIN "  %0 = cast(%x) to=f32 to=f32 : <4 x f32>\n", "line 4: to is given twice" },
                { HEAD MAIN "  %0 = cast(%x) to=f33 : <4 x f32>\n", "line 4: f33 is no element type" },
                { HEAD MAIN "  %0 = cast(%x) to=c64 : <4 x c64>\n", "line 4: cast: to is not an element type that can be stored" },
                { HEAD MAIN "  %0 = cast(%x) to=i4 : <4 x i4>\n", "line 4: cast: from f32 to i4: there is only bitcast" },
                { HEAD MAIN "  %0 = pad(%x, none, %i) mode=odd : <4 x f32>\n", "line 4: mode cannot be odd" },
                { HEAD MAIN "  %0 = concat(%x) axis=99999999999999999999 : <4 x f32>\n",
                  "line 4: axis is 99999999999999999999, want -9223372036854775808 to 9223372036854775807" },
                { HEAD MAIN "  %0 = reshape(%x, 0.5) : <4 x f32>\n", "line 4: a number without a type: write <f32> 0.5" },
                { HEAD MAIN "  %0 = add(0.5, 0.5) : <4 x f32>\n", "line 4: a number without a type: write <f32> 0.5" },
                { HEAD MAIN "  %0 = add(%x, 0.5!) : <4 x f32>\n", "line 4: a number goes on in a way it cannot" },
                { HEAD MAIN "  %0 = add(%x, none) : <4 x f32>\n", "line 4: add: operand y is missing" },
                { HEAD MAIN "  %0 = add(%x, ) : <4 x f32>\n", "line 4: an operand is missing" },
                { HEAD MAIN "  %0 = if(%c) : <4 x f32> {\n    %1 = neg(%x) : <4 x f32>\n    yield(%1)\n  } else {\n"
                  "    yield(%1)\n  }\n", "line 8: %1 is not visible outside its region" },
                { HEAD MAIN "  %0 = if(%c) : <4 x f32> {\n    yield(%x)\n  }\n  yield(%0)\n}\n",
                  "line 6: if has 2 regions, joined by else" },
                { HEAD MAIN "  %0 = if(%c) : <4 x f32> {\n    yield(%x)\n  } else {\n    yield(%i)\n  }\n  yield(%0)\n}\n",
                  "line 8: if: result is <4 x f32>, want <4 x i64>" },
                { HEAD MAIN "  %0 = if(%x) : <4 x f32> {\n", "line 4: if: operand c is <4 x f32>, want <bool>" },
                { HEAD MAIN "  %0 = fusion() : <4 x f32> {\n    yield(%x)\n  }\n",
                  "line 6: value 1 that fusion takes from outside is not in its list" },
                { HEAD MAIN "  %0 = fusion(%x, %i) : <4 x f32> {\n    yield(%x)\n  }\n",
                  "line 6: fusion lists a value that it does not use, or not in this place" },
                { HEAD MAIN "  %0 = fusion(%x) : <4 x f32> {\n    %1 = fusion(%x) : <4 x f32> {\n      yield(%x)\n    }\n"
                  "    yield(%1)\n  }\n", "line 9: fusion: fusion may not stand inside" },
#define LOOP(operands, attributes, arguments, rest) \
        HEAD MAIN "  %0 = loop(" operands ") " attributes " : <4 x f32> {" arguments "\n" rest
                { LOOP("none, none, %x", "steps=3 carried=1", "(%1: <i64>, %2: <i64>)", "    yield(%2)\n  }\n"),
                  "line 6: loop: argument 1 of its region is <i64>, want <4 x f32>" },
                { LOOP("none, none, %x", "steps=3 carried=1", "(%1: <i64>)", "    yield(%x)\n  }\n"),
                  "line 6: loop: its region has 1 arguments, want 2" },
                { LOOP("none, none, %x", "steps=3 carried=1", "(%1: <i64>, %2: <4 x f32>)", "    yield(%1)\n  }\n"),
                  "line 6: loop: result is <4 x f32>, want <i64>" },
                { LOOP("none, none, %x", "steps=3 carried=1", "(%1: <i64>, %1: <4 x f32>)", ""), "line 4: %1 is defined twice" },
                { LOOP("none, none, %x", "steps=3 carried=1", "(%1: <i64>, %2: <4 x f32>)", "    yield(%2)\n  }\n  yield(%2)\n}\n"),
                  "line 7: %2 is not visible outside its region" },
                { LOOP("none, none, %x", "steps=3 carried=1", "(%1: <i64>, %2: <4 x f32>)", "    yield(%0)\n"),
                  "line 5: %0 is not defined" },
                { LOOP("none, %c, %x", "carried=1", "(%1: <i64>, %2: <4 x f32>)", "    yield(%2)\n  }\n"),
                  "line 6: loop: its region yields 1 values, want 2" },
                { LOOP("none, none, %x", "steps=3 carried=2", "", ""),
                  "line 4: loop: carries 2 values, has 1 and 1 results" },
                { LOOP("none, none, %x", "steps=-1 carried=1", "", ""), "line 4: loop: steps is -1" },
                { LOOP("none, none, %x", "steps=3", "(%1: <i64>, %2: <f32>)", ""), "line 4: loop: scans <4 x f32>, want 3 rows" },
                { LOOP("%c, none, %x", "steps=3 carried=1", "", ""), "line 4: loop: operand trip is <bool>, want <i64>" },
                { LOOP("none, %x, %x", "steps=3 carried=1", "", ""), "line 4: loop: operand go is <4 x f32>, want <bool>" },
                { LOOP("none, none", "steps=3", "(%1: <i64>)", "    yield(%x)\n  }\n"),
                  "line 6: loop: result is <4 x f32>, want <3 x 4 x f32>" },
                { LOOP("none, none", "steps=9223372036854775807", "(%1: <i64>)", "    yield(%x)\n  }\n"),
                  "line 6: loop: result is <4 x f32>, want <9223372036854775807 x 4 x f32>" },
                { LOOP("none, none, %x", "steps=4 scan_backward=[2]", "", ""),
                  "line 4: loop: scan_backward holds 2, want 0 to 1" },
                { HEAD MAIN "  %0 = if(%c) : <4 x f32> {(%1: <f32>)\n    yield(%x)\n  } else {\n    yield(%x)\n  }\n",
                  "line 8: if: its regions may have no arguments" },
                { LOOP("none, none, %x", "steps=4 partial=2", "", ""), "line 4: loop: partial is 2, want 0 or 1" },
                { HEAD MAIN "  yield(%x)\n}\n" MAIN, "line 6: func @main is defined twice" },
#define COUNTED(rest) HEAD "symbol K in [0, 4] counted\nsymbol N in [0, 4]\n" MAIN rest
                { COUNTED("  %0 = counted(<i64> 3) : <N x i64>\n"),
                  "line 6: counted: result is <N x i64>, want a counted symbol as its extent" },
                { COUNTED("  %0 = counted(<i64> 3) : <K + 1 x i64>\n"),
                  "line 6: counted: result is <K + 1 x i64>, want a counted symbol as its extent" },
                { COUNTED("  %0 = counted(%i) : <K x i64>\n"), "line 6: counted: n is <4 x i64>, want one i64" },
                { COUNTED("  %0 = fusion() : <4 x f32> {\n    %1 = counted(<i64> 3) : <K x i64>\n"),
                  "line 7: counted: is in a kernel" },
                { COUNTED("  %0 = if(%c) : <4 x f32> {\n    %1 = counted(<i64> 3) : <K x i64>\n    yield(%x)\n  } else {\n    yield(%x)\n  }\n"
                          "  %2 = iota() : <K x i64>\n  yield(%x)\n}\n"),
                  "func @main: iota: result 0 has a symbol that is counted later, or nowhere" },
                { COUNTED("  %0 = if(%c) : <K x i64> {\n    %1 = counted(<i64> 3) : <K x i64>\n    yield(%1)\n  } else {\n"
                          "    %2 = counted(<i64> 4) : <K x i64>\n    yield(%2)\n  }\n  yield(%x)\n}\n"),
                  "func @main: if: result 0 has a symbol that is counted later, or nowhere" },
                { COUNTED("  %0 = iota() : <K x i64>\n  %1 = counted(<i64> 3) : <K x i64>\n  yield(%x)\n}\n"),
                  "func @main: iota: result 0 has a symbol that is counted later, or nowhere" },
                { COUNTED("  %0 = counted(<i64> 3) : <K x i64>\n  %1 = counted(<i64> 3) : <K x i64>\n  yield(%x)\n}\n"),
                  "func @main: counted: counts a symbol that has its value already" },
                { HEAD "symbol K in [0, 4] counted\nfunc @main(%x: <K x f32>) -> (\"o\") {\n  yield(%x)\n}\n",
                  "func @main: argument 0 has a symbol that is counted" },
                { HEAD "func @main(%x: <4 x f32>, %x: <4 x f32>) -> (\"o\") {\n", "line 3: %x is defined twice" },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                check_refused(cases[i][0], cases[i][1]);
}

static void test_nul(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        assert_null(tensor_parse("dnn 3\0module", 12, NULL, NULL, &b.diag));
        assert_string_equal(said(&b), "test: error: line 1: byte 0x00 may not stand in a text");
        bench_close(&b);
}

/* `count` times a piece, between two others */
static char *repeat(const char *before, const char *piece, int count, const char *after)
{
        struct text text = { 0 };
        text_add(&text, "%s", before);
        for (int i = 0; i < count; i++)
                text_add_bytes(&text, piece, strlen(piece));
        text_add(&text, "%s", after);
        return text.data;
}

static void test_long_and_deep(void **state)
{
        (void)state;
        static const struct { const char *before, *piece; int count; const char *after, *message; } cases[] = {
                { HEAD "const @", "a", 1000000, "", "line 3: the constant's name is longer than 255 characters" },
                { HEAD "const @w : <f32> = ", "1", 1000000, "", "line 3: a number is longer than 63 characters" },
                { HEAD "const @w : <i64> = 1", "0", 20, "", "line 3: 100000000000000000000 is out of range for i64" },
                { HEAD "const @w : <", "(", 1000000, "", "line 3: a dimension is nested more than 64 deep" },
                { HEAD "const @w : <", "max(", 1000000, "", "line 3: a dimension is nested more than 64 deep" },
                { HEAD "const @w : ", "sequence(", 1000000, "", "line 3: a type is nested more than 128 deep" },
                { HEAD MAIN, "%0 = if(%c) : <bool> {", 10000, "", "line 4: if: operations are nested more than 128 deep" },
                { HEAD MAIN, "%0 = loop(%i, %c) : <bool> {(%1: <i64>)", 1, "", "line 4: loop: operand trip is <4 x i64>, want <i64>" },
                { HEAD MAIN "%0 = loop(none, none, %c) carried=1 : <bool> {(%a", "a", 300, ": <i64>)",
                  "line 4: an argument is longer than 255 characters" },
                { HEAD MAIN "  %0 = transpose(%x) perm=[0", ", 0", 100000, "] : <4 x f32>",
                  "line 4: transpose: perm has 100001 values, want 1" },
                { HEAD, "\n", 1000000, "?", "line 1000003: a line that begins neither with data, symbol, const nor func" },
                { HEAD "symbol N <= 9\nconst @w : <", "(N + N) * (", 40, "", "line 4: '' stands where" },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                char *text = repeat(cases[i].before, cases[i].piece, cases[i].count, cases[i].after);
                struct bench b;
                bench_open(&b);
                assert_null(parse(&b, text));
                free(text);
                assert_int_equal(b.diag.errors, 1);
                if (!strstr(cases[i].message, "''"))
                        assert_string_equal(said(&b) + strlen("test: error: "), cases[i].message);
                bench_close(&b);
        }
}

/* the deepest text that is allowed, there and back */
static void test_nesting(void **state)
{
        (void)state;
        struct text text = { 0 };
        text_add(&text, HEAD "func @main(%%c \"c\": <bool>) -> (\"o\") {\n");
        for (int i = 0; i < NESTING_MAX; i++)
                text_add(&text, "%*s%%%d = if(%%c) : <bool> {\n", 2 * i + 2, "", i);
        for (int i = NESTING_MAX; i; i--)
                text_add(&text, "%*syield(%%c)\n%*s} else {\n%*syield(%%c)\n%*s}\n", 2 * i + 2, "", 2 * i, "", 2 * i + 2, "",
                         2 * i, "");
        text_add(&text, "  yield(%%0)\n}\n");
        check_canonical(text.data);
        text_free(&text);
}

/* a chain of operations and a value with as many uses: both in far less than a second */
static void test_many_operations(void **state)
{
        (void)state;
        enum { MANY = 100000 };
        struct text text = { 0 };
        text_add(&text, HEAD "func @main(%%x \"x\": <4 x f32>) -> (\"o\") {\n  %%0 = neg(%%x) : <4 x f32>\n");
        for (int i = 1; i < MANY; i++)
                text_add(&text, "  %%%d = add(%%%d, %%x) : <4 x f32>\n", i, i - 1);
        text_add(&text, "  yield(%%%d)\n}\n", MANY - 1);
        check_canonical(text.data);
        text_free(&text);
}

/* ---- constants in a file ---- */

struct file { const char *name; const void *bytes; size_t length; int asked; };

static bool read_file(void *context, const char *name, const void **bytes, size_t *length)
{
        struct file *f = context;
        f->asked++;
        if (strcmp(name, f->name))
                return false;
        *bytes = f->bytes;
        *length = f->length;
        return true;
}

static void test_file(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct module *m = parse_well(&b, HEAD
                "const @a : <3 x 3 x f32> = hex \"0000803f000000400000803f000000400000803f000000400000803f000000400000803f\"\n"
                "const @b : <10 x i8> = hex \"00010203040506070809\"\n"
                "func @main() -> (\"o\", \"p\") {\n  yield(@a, @b)\n}\n");
        struct text out = { 0 }, blob = { 0 }, again = { 0 }, blob_again = { 0 };
        tensor_print(&out, m, &(struct tensor_print){ .blob = &blob, .file_name = "m.dnn.bin" });
        assert_non_null(strstr(out.data, "data \"m.dnn.bin\" sha256 \""));
        assert_non_null(strstr(out.data, "const @a : <3 x 3 x f32> = file 0\nconst @b : <10 x i8> = file 64\n"));
        assert_int_equal(blob.length, 74);
        struct file file = { "m.dnn.bin", blob.data, blob.length, 0 };
        struct module *n = tensor_parse(out.data, out.length, read_file, &file, &b.diag);
        assert_non_null(n);
        tensor_print(&again, n, &(struct tensor_print){ .blob = &blob_again, .file_name = "m.dnn.bin" });
        assert_string_equal(again.data, out.data);
        assert_string_equal(print(&b, n), print(&b, m));
        tensor_print(&again, n, &(struct tensor_print){ .elide = true });
        assert_non_null(strstr(again.data, "const @a : <3 x 3 x f32> = ...\n"));

        blob.data[3] ^= 1;
        assert_null(tensor_parse(out.data, out.length, read_file, &file, &b.diag));
        fflush(b.diag.stream);
        assert_non_null(strstr(b.said, "line 3: the file of the constants is another one: its sha256 is "));
        blob.data[3] ^= 1;
        file.length--;
        assert_null(tensor_parse(out.data, out.length, read_file, &file, &b.diag));
        fflush(b.diag.stream);
        assert_non_null(strstr(b.said, "line 3: the file of the constants has 73 bytes, want 74"));
        file.name = "other";
        assert_null(tensor_parse(out.data, out.length, read_file, &file, &b.diag));
        assert_null(tensor_parse(out.data, out.length, NULL, NULL, &b.diag));
        fflush(b.diag.stream);
        assert_non_null(strstr(b.said, "line 3: cannot read 'm.dnn.bin', the file of the constants"));
        assert_non_null(strstr(b.said, "line 3: constants in a file are not possible here"));
        assert_int_equal(file.asked, 4);
        text_free(&out);
        text_free(&blob);
        text_free(&again);
        text_free(&blob_again);
        module_free(m);
        module_free(n);
        bench_close(&b);
}

/* offsets: inside the file, aligned, ascending */
static void test_offsets(void **state)
{
        (void)state;
        static const struct { const char *offset, *message; } cases[] = {
                { "-1", "line 4: an offset is -1, want 0 to 9223372036854775807" },
                { "28", "line 4: 40 bytes from 28 on: the file has 64" },
                { "9223372036854775807", "line 4: 40 bytes from 9223372036854775807 on: the file has 64" },
                { "2", "line 4: offset 2 is not aligned, or inside another constant" },
                { "0\nconst @v : <1 x f32> = file 36", "line 5: offset 36 is not aligned, or inside another constant" },
        };
        _Alignas(16) char bytes[64] = { 0 };
        struct sha256 sha;
        char hex[65];
        sha256_init(&sha);
        sha256_update(&sha, bytes, sizeof bytes);
        sha256_hex(&sha, hex);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct bench b;
                bench_open(&b);
                char *text = arena_printf(b.arena, HEAD "data \"f\" sha256 \"%s\" bytes 64\nconst @w : <10 x f32> = file %s\n",
                                          hex, cases[i].offset);
                assert_null(tensor_parse(text, strlen(text), read_file, &(struct file){ "f", bytes, 64, 0 }, &b.diag));
                assert_string_equal(said(&b) + strlen("test: error: "), cases[i].message);
                bench_close(&b);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows), cmocka_unit_test(test_all_operations), cmocka_unit_test(test_sample), cmocka_unit_test(test_loops),
                cmocka_unit_test(test_free_text), cmocka_unit_test(test_elements), cmocka_unit_test(test_prefixes),
                cmocka_unit_test(test_changed_bytes), cmocka_unit_test(test_refused_texts), cmocka_unit_test(test_nul),
                cmocka_unit_test(test_long_and_deep), cmocka_unit_test(test_nesting),
                cmocka_unit_test(test_many_operations), cmocka_unit_test(test_file), cmocka_unit_test(test_offsets),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
