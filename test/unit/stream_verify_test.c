/* SPDX-License-Identifier: MIT */
/* What the verifier holds streams to: every hazard made by hand is found, and every other mistake. */
#include "stream_harness.h"

/* a load, a product and a store, twice in the same places; tokens stand where the text has $0 to $7 */
static const char stream[] =
        "loop 4\nprogram \"p\" source \"\"\nbuffer @x : i8[64] input \"x\"\nbuffer @w : i8[256] input \"w\"\nbuffer @y : i8[64] output \"y\"\n"
        "stream @s(%x: in i8[64], %w: in i8[256], %y: inout i8[64]) on vta {\n"
        "alloc %inp : i8[32768] in inp at 0\nalloc %wgt : i8[262144] in wgt at 0\nalloc %acc : i32[32768] in acc at 0\n"
        "reset %acc[0]\n"
        "transfer %inp[0] = %x[0] rows 1 by 1 step 0\n"
        "transfer %wgt[0] = %w[0] rows 1 by 1 step 0\n"
        "$0push load to compute\n"
        "$0pop load to compute\n"
        "product %acc[0] += %inp[0] * %wgt[0]\n"
        "$1push compute to load\n"
        "$2push compute to store\n"
        "$2pop compute to store\n"
        "transfer %y[0] = %acc[0] rows 1 by 1 step 0\n"
        "$3push store to compute\n"
        "$1pop compute to load\n"
        "transfer %inp[0] = %x[16] rows 1 by 1 step 0\n"
        "$4push load to compute\n"
        "$3pop store to compute\n"
        "$4pop load to compute\n"
        "product %acc[0] += %inp[0] * %wgt[0]\n"
        "$5push compute to load\n"
        "$5pop compute to load\n"
        "transfer %inp[16] = %y[0] rows 1 by 1 step 0\n"
        "}\nmain {\ncall @s(@x, @w, @y)\n}\n";

/* the program without the lines of one number, from one text with another in its place */
static void write_stream(struct text *t, char without, const char *from, const char *to)
{
        for (const char *line = stream; *line;) {
                size_t length = strcspn(line, "\n") + 1;
                bool marked = *line == '$';
                if (from && length > strlen(from) && !strncmp(line, from, strlen(from)))
                        text_add(t, "%s%.*s", to, (int)(length - strlen(from)), line + strlen(from));
                else if (!marked || line[1] != without)
                        text_add(t, "%.*s", (int)(length - (marked ? 2 : 0)), line + (marked ? 2 : 0));
                line += length;
        }
}

static void expect(char without, const char *from, const char *to, const char *said)
{
        struct bench b;
        struct text text = { 0 };
        bench_open(&b);
        write_stream(&text, without, from, to);
        struct loop_program *p = loop_parse(b.arena, text.data, text.length, NULL, NULL, b.library, &b.diag);
        if (said ? p || !strstr(bench_said(&b), said) : !p)
                fail_msg("want '%s', got '%s' for\n%s", said ? said : "", bench_said(&b), text.data);
        text_free(&text);
        bench_close(&b);
}

static void test_hazards(void **state)
{
        (void)state;
        expect(0, NULL, NULL, NULL);
        expect('0', NULL, NULL, "a race with statement 3, of stage load");          /* a product before its operands are there */
        expect('1', NULL, NULL, "a race with statement 6, of stage compute");       /* inputs loaded while they are read */
        expect('2', NULL, NULL, "a race with statement 6, of stage compute");       /* sums stored before they are there */
        expect('3', NULL, NULL, "a race with statement 10, of stage store");        /* sums changed while they are stored */
        expect('4', NULL, NULL, "a race with statement 13, of stage load");
        expect('5', NULL, NULL, "a race with statement 10, of stage store");        /* loaded before it is stored: no path */
        expect(0, "transfer %inp[0] = %x[16]", "transfer %inp[16] = %x[16]", NULL); /* another half needs no token, but may have it */
        expect('1', "transfer %inp[0] = %x[16]", "transfer %inp[16] = %x[16]", NULL);
        expect('1', "transfer %inp[0] = %x[16] rows 1 by 1", "transfer %inp[0] = %x[16] rows 1 by 2", "a race with statement 6, of stage compute");
}

/* a line of the text, another in its place, what is said */
static const struct { const char *from, *to, *said; } mistakes[] = {
        { "$0push load to compute", "", "a token is popped that was not pushed" },
        { "$0pop load to compute", "", "a race with statement 3" },
        { "transfer %inp[16] =", "push compute to load\ntransfer %inp[16] =", "a token of compute is left at the end" },
        { "reset %acc[0]", "push load to store\nreset %acc[0]", "tokens go from a stage to its neighbour" },
        { "reset %acc[0]", "push load to stor\nreset %acc[0]", "vta has no stage called 'stor'" },
        { "reset %acc[0]", "reset %acc[8]", "has no place that is known, in whole elements" },
        { "reset %acc[0]", "reset %acc[32768]", "2048 to 2048 of acc, which has 2048" },
        { "reset %acc[0]", "reset %inp[0]", "inp is not in acc" },
        { "reset %acc[0]", "store %acc[0] = 0", "'store' cannot stand in this kind of function" },
        { "reset %acc[0]", "apply %acc[0] shr 16", "vta cannot shr by 16" },
        { "reset %acc[0]", "apply %acc[0] min 32768", "vta cannot min by 32768" },
        { "reset %acc[0]", "apply %acc[0] mul 2", "want min, max, add, shr or shl" },
        { "reset %acc[0]", "apply %acc[0] shr %acc[0]", "a shift is by a literal" },
        { "reset %acc[0]", "for %i = 0 to 3 { reset %acc[%i * 1048576] }", "0 to 131072 of acc, which has 2048" },
        { "reset %acc[0]", "for %i = 0 to 16384 count { reset %acc[0] }", "an instruction has 2 counters, up to 16383" },
        { "reset %acc[0]", "for %i = 0 to 2 list { for %j = 0 to 2 count { reset %acc[0] } }", "counters of an instruction stand around its list" },
        { "reset %acc[0]", "for %i = 0 to 4096 list { reset %acc[0] }", "a list has 2048 places at most" },
        { "reset %acc[0]", "for %i = 0 to 2 count { for %j = 0 to 2 count { for %k = 0 to 2 count { reset %acc[0] } } }", "an instruction has 2 counters" },
        { "reset %acc[0]", "for %i = 0 to 2000000000 { for %j = 0 to 2000000000 { for %k = 0 to 2000000000 { reset %acc[0] } } }",
          "more steps than can be looked at" },
        { "reset %acc[0]", "for %i = 0 to 2 { reset %acc[0]\nreset %acc[16] }", "a stream with tokens has loops that are no instructions" },
        { "transfer %inp[16] = %y[0] rows 1 by 1", "transfer %inp[16] = %y[0] rows 1 by 5", "0 to 79 of y, which has 64" },
        { "transfer %inp[16] = %y[0] rows 1 by 1", "transfer %inp[16] = %y[0] rows 0 by 1", "a transfer of 0 rows by 1" },
        { "transfer %inp[16] = %y[0] rows 1 by 1 step 0", "transfer %inp[16] = %y[0] rows 1 by 1 step 0 pad 16, 0, 0, 0", "padding of 16, and vta has 0 to 15" },
        { "transfer %y[0] = %acc[0] rows 1 by 1 step 0", "transfer %y[0] = %acc[0] rows 1 by 1 step 0 pad 1, 0, 0, 0", "has no padding" },
        { "transfer %y[0] = %acc[0]", "transfer %x[0] = %acc[0]", "x is only read" },
        { "transfer %y[0] = %acc[0]", "transfer %y[0] = %inp[0]", "inp is not in acc" },
        { "transfer %wgt[0] = %w[0]", "transfer %acc[0] = %w[0]", "w holds other numbers than acc" },
        { "alloc %acc : i32[32768] in acc at 0", "alloc %acc : i32[32768] in ac at 0", "vta has no memory called 'ac'" },
        { "alloc %acc : i32[32768] in acc at 0", "alloc %acc : i32[32768] in acc at 1", "is not within acc" },
        { "alloc %acc : i32[32768] in acc at 0", "alloc %acc : i32[32784] in acc at 0", "does not fit into acc" },
        { "alloc %acc : i32[32768] in acc at 0", "alloc %acc : i8[32768] in acc at 0", "does not fit into acc" },
        { "alloc %acc : i32[32768] in acc at 0", "alloc %acc : i32[32768] stack", "a bad alloc" },
        { "stream @s(%x: in i8[64], %w: in i8[256], %y: inout i8[64]) on vta", "stream @s(%x: in i8[64], %w: in i8[256], %y: inout i8[64]) on vtb",
          "there is no machine called 'vtb'" },
        { "stream @s(%x: in i8[64], %w: in i8[256], %y: inout i8[64]) on vta", "stream @s(%x: in i8[64], %w: in i8[256], %y: inout i8[64])", "want 'on'" },
};

static void test_mistakes(void **state)
{
        (void)state;
        for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++)
                expect(0, mistakes[k].from, mistakes[k].to, mistakes[k].said);
}

/* any cut, and any byte that is another one, is a program or an error */
static void test_hostile(void **state)
{
        (void)state;
        struct text text = { 0 };
        uint64_t random = RANDOM_START;
        write_stream(&text, 0, NULL, NULL);
        for (int k = 0; k < 400; k++) {
                struct bench b;
                bench_open(&b);
                char *copy = arena_copy(b.arena, text.data, text.length);
                size_t length = k % 2 ? text.length : (random_next(&random) >> 20) % text.length;
                for (int n = 0; n < 2; n++)
                        copy[(random_next(&random) >> 20) % text.length] = "0123456789 %[]{}()axyw\n"[(random_next(&random) >> 20) % 23];
                struct loop_program *p = loop_parse(b.arena, copy, length, NULL, NULL, b.library, &b.diag);
                assert_true(p || b.diag.errors == 1);
                if (p && p->kernels && pass_find("overlap")->run_loop(p, &b.context) >= 0 && pass_find("flatten")->run_loop(p, &b.context) >= 0 &&
                    loop_verify(p, &b.diag) && pass_find("select_instructions")->run_loop(p, &b.context) >= 0)
                        pass_find("tokens")->run_loop(p, &b.context);
                bench_close(&b);
        }
        text_free(&text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_hazards),
                cmocka_unit_test(test_mistakes),
                cmocka_unit_test(test_hostile),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
