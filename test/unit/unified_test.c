/* SPDX-License-Identifier: MIT */
/* The machine with a unified buffer: instructions as bytes, the cycle model by hand, what `check` finds, and files that nobody meant. */
#include "stream_harness.h"

#include "codegen/unified/unified.h"

/* a program of one launch; instructions as text */
struct subject {
        struct arena *arena;
        struct diag diag;
        char *said;
        size_t said_length;
        struct machine_program p;
        bool fine;
};

static void subject_open(struct subject *s, const char *code)
{
        struct text text = { 0 };
        memset(s, 0, sizeof *s);
        s->arena = arena_new();
        s->diag.subject = "test";
        s->diag.stream = open_memstream(&s->said, &s->said_length);
        text_add(&text, "machine unified\ndram 0x200000\ninput x 0x1000 4096\noutput y 0x3000 4096\ninput p 0x5000 4096\ninput w 0x10000 1048576\n"
                        "instructions code 0x110000 {\n%shalt\n}\n", code);
        s->fine = assembly_parse(&s->p, text.data, text.length, s->arena, &s->diag);
        text_free(&text);
}

static const char *subject_said(struct subject *s)
{
        fflush(s->diag.stream);
        return s->said ? s->said : "";
}

static void subject_close(struct subject *s)
{
        fclose(s->diag.stream);
        free(s->said);
        arena_free(s->arena);
}

static bool ran(const struct machine_program *p, unsigned char *memory, uint64_t seed, unsigned char poison, int64_t work, struct diag *diag)
{
        struct simulator *machine = simulator_new(&p->isa, seed, poison);
        const bool fine = simulator_launch(machine, memory, p->dram_bytes, p->code->address, program_length(p), work, diag);
        simulator_free(machine);
        return fine;
}

/* ---- bytes ---- */

/* bits first.. of 32 bytes */
static uint64_t bits(const unsigned char *bytes, int first, int count)
{
        uint64_t value = 0;
        for (int k = 0; k < count; k++)
                value |= (uint64_t)(bytes[(first + k) / 8] >> (first + k) % 8 & 1) << k;
        return value;
}

/* where fields lie, worked out by hand from isa.def: 17 bits count elements of ub, 12 of acc, 6 of par */
static void test_bytes(void **state)
{
        (void)state;
        static const struct { const char *text; int field[8][3]; } golden[] = {
                { "read_host par local=3 count=4 host=0x1000\n", { { 0, 4, 1 }, { 4, 1, 1 }, { 5, 17, 3 }, { 22, 17, 4 }, { 64, 32, 0x1000 } } },
                { "write_host local=98303 count=1 host=@y\n", { { 0, 4, 2 }, { 5, 17, 98303 }, { 22, 17, 1 }, { 64, 32, 0x3000 } } },
                { "read_weights count=16 host=@w\n", { { 0, 4, 3 }, { 4, 16, 16 }, { 20, 32, 0x10000 } } },
                { "multiply next size=3,5 in=7,9,11 sum=13,15,17\n",
                  { { 0, 4, 4 }, { 4, 1, 1 }, { 5, 1, 0 }, { 6, 16, 3 }, { 22, 16, 5 }, { 38, 17, 7 }, { 64, 17, 9 }, { 98, 12, 13 } } },
                { "activate to_sums by lanes shift=9 size=2,3 parameters=5 sum=1,2,3 out=4,5,6 plus=-2 within=-3,7\n",
                  { { 4, 3, 7 }, { 7, 5, 9 }, { 12, 16, 2 }, { 28, 16, 3 }, { 44, 6, 5 }, { 50, 12, 1 }, { 64, 12, 2 }, { 88, 17, 4 } } },
                { "activate plus=-2 within=-3,7 size=1,1\n", { { 0, 4, 5 }, { 145, 32, -2 }, { 192, 32, -3 }, { 224, 32, 7 } } },
                { "sync unit=host on=activate done=70000\n", { { 0, 4, 6 }, { 4, 2, 0 }, { 6, 2, 3 }, { 8, 32, 70000 } } },
        };
        for (size_t k = 0; k < sizeof golden / sizeof *golden; k++) {
                struct subject s;
                struct text text = { 0 };
                subject_open(&s, golden[k].text);
                if (!s.fine)
                        fail_msg("%s", subject_said(&s));
                for (int f = 0; f < 8 && golden[k].field[f][1]; f++) {
                        const int *want = golden[k].field[f];
                        const uint64_t mask = (UINT64_C(1) << want[1]) - 1;
                        if (bits(s.p.code->content, want[0], want[1]) != ((uint64_t)(int64_t)want[2] & mask))
                                fail_msg("bits %d of %s", want[0], golden[k].text);
                }
                /* and back: text, and a file */
                struct machine_program again;
                assembly_print(&s.p, &text);
                assert_true(assembly_parse(&again, text.data, text.length, s.arena, &s.diag));
                assert_memory_equal(again.code->content, s.p.code->content, (size_t)s.p.code->bytes);
                text.length = 0;
                exchange_write(&s.p, &text);
                assert_true(exchange_read(&again, &s.p.isa, (const unsigned char *)text.data, text.length, s.arena, &s.diag));
                assert_ptr_equal(again.isa.set, &unified_set);
                assert_memory_equal(again.code->content, s.p.code->content, (size_t)s.p.code->bytes);
                text_free(&text);
                subject_close(&s);
        }
}

/* ---- cycles ---- */

static void expect_cycles(const char *code, int64_t cycles, int64_t rows, const char *bound)
{
        struct subject s;
        struct meter c;
        subject_open(&s, code);
        if (!s.fine || !meter_run(&s.p.isa, s.p.code->content, program_length(&s.p), &c, NULL, &s.diag))
                fail_msg("%s", subject_said(&s));
        assert_int_equal(c.cycles, cycles);
        assert_int_equal(c.classes[UNIFIED_OPCODE_MULTIPLY].steps, rows);
        assert_string_equal(meter_bound(&s.p.isa, &c), bound);
        subject_close(&s);
}

/* `blocks` of weights, each times so many rows */
static void expect_blocks(int blocks, int rows, int64_t cycles, const char *bound)
{
        struct text text = { 0 };
        text_add(&text, "read_weights count=%d host=@w\n", blocks);
        for (int k = 0; k < blocks; k++)
                text_add(&text, "multiply next %s size=1,%d\n", k ? "add" : "", rows);
        expect_cycles(text.data, cycles, (int64_t)blocks * rows, bound);
        text_free(&text);
}

static void test_cycles(void **state)
{
        (void)state;
        /* 256 bytes at 20 a cycle are 13 cycles; 64 KiB at 43 are 1,525. The array has the block at 1,525 + 256 = 1,781, the row is through at
         * 1,781 + 1 + 512 = 2,294, its bytes are there at 2,294 + 1 + 8 = 2,303, and outside at 2,316. */
        expect_cycles("read_host count=1 host=@x\nread_weights count=1 host=@w\nsync unit=multiply on=host done=1\nmultiply next size=1,1\n"
                      "sync unit=activate on=multiply done=2\nactivate size=1,1 within=-128,127\nsync unit=host on=activate done=2\n"
                      "write_host count=1 host=@y\n", 2316, 1, "weights");
        /* few rows a block: the last of 8 blocks is there at 8 * 1,525 = 12,200; 256 to shift it, 100 rows, 512 */
        expect_blocks(8, 100, 12200 + 256 + 100 + 512, "weights");
        /* many rows a block: only the first block is waited for; then a row a cycle */
        expect_blocks(8, 2000, 1781 + 8 * 2000 + 512, "array");
        /* the FIFO is full, and weights wait: nothing changes for the array */
        expect_blocks(12, 5000, 1781 + 12 * 5000 + 512, "array");
        /* at 1,525 rows a block both are busy: blocks are there 256 + 1,525 apart at first, and the array never waits again */
        expect_blocks(8, 1525, 1781 + 8 * 1525 + 512, "weights");
        /* a block that is there already waits for nothing but its 256 cycles: rows of the one before hide them from 256 on */
        expect_cycles("read_weights count=4 host=@w\nread_host count=8 host=@x\nsync unit=multiply on=host done=1\nmultiply next size=1,8000\n"
                      "multiply next size=1,10\nmultiply next size=1,10\n",
                      /* 1,781 + 8,000; the second block is in the array by then; the third is shifted from 9,781 on, and begins at 10,037 */
                      1781 + 8000 + 256 + 10 + 512, 8020, "array");
}

/* ---- rules ---- */

static const char whole[] = "read_host count=4 host=@x\n"                               /* 0 */
                            "read_host par count=2 host=@p\n"                           /* 1 */
                            "read_weights count=2 host=@w\n"                            /* 2 */
                            "sync unit=multiply on=host done=1\n"                       /* 3 */
                            "multiply next size=2,2 in=0,2,1 sum=0,2,1\n"               /* 4 */
                            "multiply next add size=2,2 in=0,2,1 sum=0,2,1\n"           /* 5 */
                            "sync unit=activate on=multiply done=3\n"                   /* 6 */
                            "sync unit=activate on=host done=2\n"                       /* 7 */
                            "activate by lanes size=2,2 sum=0,2,1 out=8,2,1 within=-128,127\n"  /* 8 */
                            "sync unit=host on=activate done=3\n"                       /* 9 */
                            "write_host local=8 count=4 host=@y\n";                     /* 10 */

/* the program with `to` for `from`; what check says; "": nothing */
static void expect_rule(const char *from, const char *to, const char *said)
{
        struct subject s;
        struct text text = { 0 };
        const char *at = strstr(whole, from);
        assert_non_null(at);
        text_add(&text, "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
        subject_open(&s, text.data);
        if (!s.fine)
                fail_msg("%s", subject_said(&s));
        const bool fine = program_check(&s.p, 1 << 20, 20, &s.diag);
        if (*said ? fine || !strstr(subject_said(&s), said) : !fine)
                fail_msg("want '%s', got '%s' for\n%s", said, subject_said(&s), text.data);
        text_free(&text);
        subject_close(&s);
}

static void test_rules(void **state)
{
        (void)state;
        expect_rule("", "", "");
        /* every sync is needed */
        expect_rule("sync unit=multiply on=host done=1\n", "", "not with instruction 0, ");
        expect_rule("sync unit=activate on=multiply done=3\n", "", "not with instruction 5, ");
        expect_rule("sync unit=activate on=multiply done=3\n", "sync unit=activate on=multiply done=2\n", "not with instruction 5, ");
        expect_rule("sync unit=activate on=host done=2\n", "sync unit=activate on=host done=1\n", "not with instruction 1, ");
        expect_rule("sync unit=host on=activate done=3\n", "", "not with instruction 8, ");
        expect_rule("sync unit=host on=activate done=3\n", "sync unit=host on=activate done=4\n", "instruction 9 (sync): a sync is for another");
        expect_rule("sync unit=host on=activate", "sync unit=activate on=activate", "[sync]");
        /* what is read while it is written again */
        expect_rule("sync unit=activate on=host done=2\n", "sync unit=activate on=host done=2\nread_host local=2 count=1 host=@x\n",
                     "not with instruction 5, ");
        expect_rule("sync unit=activate on=multiply done=3\n", "sync unit=activate on=multiply done=3\nmultiply add size=2,2 in=0,2,1 sum=0,2,1\n",
                     "not with instruction 7, ");
        expect_rule("read_weights count=2", "read_weights count=3", "instruction 11 (halt): each block");
        expect_rule("read_weights count=2", "read_weights count=1", "instruction 5 (multiply): each block");
        expect_rule("multiply next add", "multiply add", "(halt): each block");
        expect_rule("multiply next size=2,2 in=0,2,1", "multiply next size=2,2 in=1,2,1", "instruction 4 (multiply): nothing is read");
        expect_rule("multiply next size=2,2 in=0,2,1 sum=0,2,1\n", "multiply next add size=2,2 in=0,2,1 sum=0,2,1\n", "[undefined]");
        expect_rule("activate by lanes size=2,2", "activate by lanes size=2,2 parameters=1", "[undefined]");
        expect_rule("activate by lanes size=2,2", "activate by lanes size=2,2 parameters=63", "[local]");
        expect_rule("activate by lanes", "activate lanes", "[bounds]");
        expect_rule("within=-128,127", "within=-128,128", "[bounds]");
        expect_rule("within=-128,127", "within=1,0", "[bounds]");
        expect_rule("within=-128,127", "to_sums within=-1000,1000", "instruction 10 (write_host): nothing is read");
        expect_rule("size=2,2 in=0,2,1 sum=0", "size=0,2 in=0,2,1 sum=0", "instruction 4 (multiply): sizes");
        expect_rule("in=0,2,1 sum=0,2,1\n", "in=98301,2,1 sum=0,2,1\n", "instruction 4 (multiply): every element");
        expect_rule("sum=0,2,1\nmultiply", "sum=4093,2,1\nmultiply", "[local]");
        expect_rule("read_host count=4 host=@x", "read_host count=17 host=@x", "[read]");
        expect_rule("read_host count=4 host=@x", "read_host count=4 host=0x800", "[host]");
        expect_rule("read_weights count=2 host=@w", "read_weights count=60 host=@w", "[host]");
        expect_rule("count=4 host=@y", "count=4 host=@x", "[written]");
        expect_rule("write_host local=8", "write_host par local=8", "[local]");
}

/* the same bytes in any order of units; what cannot go on says so */
static void test_run(void **state)
{
        (void)state;
        static const struct { const char *from, *to, *said; } wrong[] = {
                { "read_weights count=2", "read_weights count=1", "instruction 5 (multiply) waits for a block that never comes" },
                { "read_weights count=2", "read_weights count=3", "1 blocks of weights are left" },
                { "on=activate done=3", "on=activate done=4", "instruction 9 (sync) waits for an instruction that never comes" },
                { "count=4 host=@x", "count=98304 host=0x100000", "instruction 0 (read_host) cannot run: addresses" },
                { "within=-128,127", "within=-128,200", "instruction 8 (activate) cannot run" },
        };
        for (uint64_t seed = 0; seed < 6; seed++) {
                struct subject s;
                subject_open(&s, whole);
                unsigned char *memory = program_memory(&s.p), *y = memory + 0x3000;
                for (int k = 0; k < 1024; k++)
                        memory[0x1000 + k] = (unsigned char)(k % 5);
                for (int k = 0; k < 2 * 65536; k++)
                        memory[0x10000 + k] = (unsigned char)(k % 7 - 3);
                for (int k = 0; k < 256; k++) {
                        memory[0x5000 + 4 * k] = (unsigned char)k;              /* added */
                        memory[0x5400 + 4 * k] = (unsigned char)(k % 4);        /* shifted by */
                }
                assert_true(ran(&s.p, memory, seed, (unsigned char)(37 * seed), 1 << 20, &s.diag));
                for (int row = 0; row < 4; row++)
                        for (int o = 0; o < 256; o++) {
                                int64_t sum = o;
                                for (int block = 0; block < 2; block++)
                                        for (int k = 0; k < 256; k++)
                                                sum += (row * 256 + k) % 5 * ((block * 65536 + o * 256 + k) % 7 - 3);
                                sum = sum >= 0 ? sum >> o % 4 : ~(~sum >> o % 4);
                                assert_int_equal((signed char)y[row * 256 + o], sum < -128 ? -128 : sum > 127 ? 127 : sum);
                        }
                assert_false(ran(&s.p, memory, seed, 0, 3, &s.diag));   /* work */
                assert_int_equal(s.diag.code, EXIT_BUDGET);
                free(memory);
                subject_close(&s);
        }
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
                struct subject s;
                struct text text = { 0 };
                struct meter c;
                const char *at = strstr(whole, wrong[k].from);
                text_add(&text, "%.*s%s%s", (int)(at - whole), whole, wrong[k].to, at + strlen(wrong[k].from));
                subject_open(&s, text.data);
                unsigned char *memory = program_memory(&s.p);
                if (!s.fine || ran(&s.p, memory, 0, 0, 1 << 20, &s.diag) || !strstr(subject_said(&s), wrong[k].said))
                        fail_msg("want '%s', got '%s'", wrong[k].said, subject_said(&s));
                meter_run(&s.p.isa, s.p.code->content, program_length(&s.p), &c, NULL, &s.diag);
                assert_int_equal(s.diag.code, EXIT_INVALID);
                free(memory);
                text_free(&text);
                subject_close(&s);
        }
}

/* ---- hostile ---- */

static void expect_refused(const char *code, const char *said)
{
        struct subject s;
        subject_open(&s, code);
        if (s.fine || s.diag.code != EXIT_INVALID || !strstr(subject_said(&s), said))
                fail_msg("want '%s', got '%s' for %s", said, subject_said(&s), code);
        subject_close(&s);
}

static void test_hostile(void **state)
{
        (void)state;
        expect_refused("multipl next\n", "line 8: no instruction is called 'multipl'");
        expect_refused("multiply next=1\n", "next stands alone");
        expect_refused("multiply next next\n", "next stands there twice");
        expect_refused("multiply size=1\n", "size wants 2 numbers");
        expect_refused("multiply size=1,2,3\n", "size wants 2 numbers");
        expect_refused("multiply size=1,65536\n", "columns is 65536, which 16 bits do not hold");
        expect_refused("multiply in=-1,0,0 size=1,1\n", "in is -1, which 17 bits do not hold");
        expect_refused("activate within=-2147483649,0\n", "low is -2147483649, which 32 bits do not hold");
        expect_refused("sync unit=hos on=multiply done=1\n", "unit is not called 'hos'");
        expect_refused("read_host count=1 host=@z\n", "no segment is called 'z'");
        expect_refused("bytes 00 01\n", "an instruction has 32 bytes");
        expect_refused("halt\n", "instruction 0: halt stands before the last instruction");
        struct subject s;
        struct text text = { 0 };
        uint64_t random = RANDOM_START;
        subject_open(&s, whole);
        exchange_write(&s.p, &text);
        for (int k = 0; k < 3000; k++) {
                struct machine_program p;
                struct meter c;
                struct diag quiet = { .silent = true };
                const size_t length = k % 3 ? text.length : (random_next(&random) >> 20) % text.length;
                unsigned char *copy = memory_alloc(length + 1);        /* of just that size: a sanitizer sees what is read beyond */
                memcpy(copy, text.data, length);
                for (int n = 0; n < 3 && k % 3; n++) {
                        const size_t reach = n ? 64 * 7 : text.length, at = (n == 2 ? text.length - 512 : 0) + (random_next(&random) >> 20) % reach;
                        copy[at < length ? at : 0] ^= (unsigned char)(1 << (random_next(&random) >> 20) % 8);
                }
                if (exchange_read(&p, &s.p.isa, copy, length, s.arena, &quiet) && p.dram_bytes < 1 << 24) {
                        unsigned char *memory = program_memory(&p);
                        program_check(&p, 1 << 18, 3, &quiet);
                        meter_run(&p.isa, p.code->content, program_length(&p), &c, NULL, &quiet);
                        if (k % 8 == 0)
                                ran(&p, memory, 3, 0, 1 << 12, &quiet);
                        free(memory);
                }
                free(copy);
        }
        text_free(&text);
        subject_close(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bytes), cmocka_unit_test(test_cycles), cmocka_unit_test(test_rules), cmocka_unit_test(test_run),
                cmocka_unit_test(test_hostile),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
