/* SPDX-License-Identifier: MIT */
/* Programs for VTA that are damaged by chance, as files and as text: whatever is read is either refused with one error or is a program
 * that every command takes, and that reads back to itself. Blocks have exactly the bytes that they hold, for AddressSanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "codegen/machines/machine_program.h"
#include "codegen/machines/meter.h"
#include "codegen/machines/simulator.h"
#include "codegen/vta/vta.h"

enum { WORK = 20000, ROUNDS = 4000 };

static const char sample[] =
        "machine vta\ndram 0x9000\n\ninstructions code 0x1000 {\n"
        "load.inp sram=3 dram=@x size=2,2 stride=3 pad=1,2,3,4\nload.wgt push_next sram=2 dram=@w size=1,1 stride=1\n"
        "load.uop dram=@uops size=1,3 stride=3\nload.acc sram=5 dram=0x2200 size=1,1 stride=1\ngemm pop_prev reset uop=0,1 loop=1,1\n"
        "gemm uop=0,1 loop=2,3 dst=3,1 src=1,1\nalu.shr uop=1,3 loop=1,1 imm=4\nalu.max push_next uop=1,2 loop=2,3 dst=3,1 src=3,1 imm=-128\n"
        "store.out pop_prev push_prev sram=5 dram=@y+16 size=1,2 stride=2\nload.uop pop_next\nfinish\n}\n"
        "micro_ops uops 0x2000 {\n5 3 2\n5 5 0\n6 6 0\nbytes 01 02\n}\ninput x 0x2100 {\n01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f ff\n}\n"
        "constant b 0x2200 {\n00 ff\n}\nconstant w 0x2300 {\n01 80 7f\n}\noutput y 0x2400 256\nscratch s 0x2500 64\nexpect y 0x2410 {\n00 01\n}\n";

struct block { unsigned char *data; size_t length; };

static struct block exactly(const void *data, size_t length)
{
        struct block b = { malloc(length ? length : 1), length };
        memcpy(b.data, data, length);
        return b;
}

static size_t below(uint64_t *random, size_t n) { return (size_t)(random_next(random) >> 20) % n; }

/* a few bytes other, or gone, or there twice */
static struct block damaged(const void *data, size_t length, uint64_t *random, bool text)
{
        static const char alphabet[] = "0123456789abcdefx,.=@+-{}# \n_pushload";
        struct block b = exactly(data, length);
        for (size_t n = 1 + below(random, 4); n-- && b.length > 8;) {
                size_t at = below(random, b.length), count = 1 + below(random, 8);
                switch (below(random, 6)) {
                case 0:
                        b.length = below(random, 4) ? b.length : at;
                        break;
                case 1:
                        if (text && at + count < b.length) {
                                memmove(b.data + at, b.data + at + count, b.length - at - count);
                                b.length -= count;
                        }
                        break;
                case 2:
                        if (at + count <= b.length)
                                memmove(b.data + at, b.data + below(random, b.length - count + 1), count);
                        break;
                default:
                        if (text)
                                b.data[at] = (unsigned char)alphabet[below(random, sizeof alphabet - 1)];
                        else
                                b.data[at] ^= (unsigned char)(below(random, 2) ? 1u << below(random, 8) : below(random, 256));
                }
        }
        struct block result = exactly(b.data, b.length);
        free(b.data);
        return result;
}

static void expect_equal(const struct text *a, const struct text *b)
{
        assert_int_equal(a->length, b->length);
        assert_memory_equal(a->data, b->data, a->length);
}

/* what can be read can be written, read again, checked, timed and run; true: it also ran */
static bool use(const struct machine_program *p, struct arena *arena)
{
        struct diag diag = { .subject = "test", .silent = true };
        struct text file = { 0 }, text = { 0 }, file_again = { 0 }, text_again = { 0 };
        struct machine_program again;
        exchange_write(p, &file);
        assembly_print(p, &text);
        assert_true(assembly_parse(&again, text.data, text.length, arena, &diag));
        exchange_write(&again, &file_again);
        assembly_print(&again, &text_again);
        expect_equal(&file, &file_again);
        expect_equal(&text, &text_again);
        struct meter c;
        bool checked = program_check(p, WORK, 3, &diag);
        meter_run(&p->isa, p->code->content, program_length(p), &c, NULL, &diag);
        bool ran = false;
        if (p->dram_bytes <= 0x100000) {
                struct simulator *machine = simulator_new(&p->isa, 3, 0x77);
                unsigned char *memory = program_memory(p);
                diag = (struct diag){ .subject = "test", .silent = true };
                ran = simulator_launch(machine, memory, p->dram_bytes, p->code->address, program_length(p), WORK, &diag);
                assert_int_equal(diag.errors, !ran);
                assert_true(ran || !checked);           /* what keeps the rules runs */
                program_holds(p, memory, &diag);
                free(memory);
                simulator_free(machine);
        }
        text_free(&file);
        text_free(&text);
        text_free(&file_again);
        text_free(&text_again);
        return ran;
}

static void damage(const void *data, size_t length, bool text)
{
        uint64_t random = RANDOM_START;
        struct isa v;
        int refused = 0, ran = 0;
        assert_null(isa_begin(&v, &vta_set, &machine_vta));
        for (int n = 0; n < ROUNDS; n++) {
                struct arena *arena = arena_new();
                struct block b = n ? damaged(data, length, &random, text) : exactly(data, length);
                struct diag diag = { .subject = "test", .silent = true };
                struct machine_program p;
                bool fine = text ? assembly_parse(&p, (const char *)b.data, b.length, arena, &diag)
                                 : exchange_read(&p, &v, b.data, b.length, arena, &diag);
                assert_int_equal(diag.errors, !fine);
                assert_true(fine || diag.code == EXIT_INVALID);
                refused += !fine;
                ran += fine && use(&p, arena);
                free(b.data);
                arena_free(arena);
        }
        assert_true(refused > ROUNDS / 8 && ran > ROUNDS / 64);         /* else the damage is of one kind */
}

static void test_text(void **state)
{
        (void)state;
        damage(sample, sizeof sample - 1, true);
}

static void test_files(void **state)
{
        (void)state;
        struct arena *arena = arena_new();
        struct diag diag = { .subject = "test" };
        struct machine_program p;
        struct text file = { 0 };
        assert_true(assembly_parse(&p, sample, sizeof sample - 1, arena, &diag));
        exchange_write(&p, &file);
        damage(file.data, file.length, false);
        text_free(&file);
        arena_free(arena);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_text), cmocka_unit_test(test_files) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
