/* SPDX-License-Identifier: MIT */
/* VTA from C: instructions as bytes, machines of other sizes, and launches on memory of the caller. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "codegen/machines/machine_program.h"
#include "codegen/machines/meter.h"
#include "codegen/machines/simulator.h"
#include "codegen/vta/vta.h"

static struct isa usual(void)
{
        struct isa v;
        assert_null(isa_begin(&v, &vta_set, &machine_vta));
        return v;
}

/* ---- bytes ---- */

/* as the reference's own structures have them */
static const struct { struct vta_instruction i; uint64_t low, high; } golden[] = {
        { { .opcode = VTA_OPCODE_LOAD, .memory = VTA_INP, .push_next = 1, .sram_base = 3, .dram_base = 0x200, .y_size = 14, .x_size = 14,
            .x_stride = 28, .y_pad_0 = 1, .y_pad_1 = 2, .x_pad_0 = 3, .x_pad_1 = 4 }, 0x0000000800000d40, 0x4321001c000e000e },
        { { .opcode = VTA_OPCODE_LOAD, .memory = VTA_WGT, .pop_next = 1, .sram_base = 1023, .dram_base = 0xffffffff, .y_size = 1,
            .x_size = 65535, .x_stride = 65535 }, 0x03fffffffc0ffc90, 0x0000ffffffff0001 },
        { { .opcode = VTA_OPCODE_LOAD, .memory = VTA_UOP, .pop_prev = 1, .push_next = 1 }, 0x48, 0 },
        { { .opcode = VTA_OPCODE_STORE, .memory = VTA_OUT, .pop_prev = 1, .push_prev = 1, .sram_base = 5, .dram_base = 0x500, .y_size = 2,
            .x_size = 3, .x_stride = 9 }, 0x0000001400001629, 0x0000000900030002 },
        { { .opcode = VTA_OPCODE_GEMM, .pop_prev = 1, .push_prev = 1, .uop_begin = 2, .uop_end = 7, .iter_out = 14, .iter_in = 9, .dst_out = 14,
            .dst_in = 1, .src_out = 16, .src_in = 2, .wgt_out = 9, .wgt_in = 3 }, 0x0012007000e0022a, 0x00c090040400080e },
        { { .opcode = VTA_OPCODE_GEMM, .reset = 1, .uop_end = 8192, .iter_out = 16383, .iter_in = 1, .dst_out = 2047 }, 0x0003fffc00000082,
          0x00000000000007ff },
        { { .opcode = VTA_OPCODE_ALU, .operation = VTA_OPERATION_SHR, .use_imm = 1, .imm = 8, .push_next = 1, .uop_begin = 1, .uop_end = 2,
            .iter_out = 1, .iter_in = 49, .dst_in = 1, .src_in = 1 }, 0x0062000800400144, 0x0008b00200000800 },
        { { .opcode = VTA_OPCODE_ALU, .operation = VTA_OPERATION_MAX, .use_imm = 1, .imm = -128, .uop_end = 1, .iter_out = 1, .iter_in = 1 },
          0x0002000800200004, 0xff80900000000000 },
        { { .opcode = VTA_OPCODE_ALU, .operation = VTA_OPERATION_ADD, .pop_next = 1, .uop_begin = 4, .uop_end = 6, .iter_out = 2, .iter_in = 3,
            .dst_out = 100, .dst_in = 7, .src_out = 50, .src_in = 9 }, 0x0006001000c00414, 0x000020120c803864 },
        { { .opcode = VTA_OPCODE_FINISH }, 3, 0 },
};

static void test_golden(void **state)
{
        (void)state;
        struct isa v = usual();
        for (size_t k = 0; k < sizeof golden / sizeof *golden; k++) {
                unsigned char bytes[VTA_BYTES];
                const struct instruction want = vta_any(&golden[k].i);
                struct instruction back;
                isa_encode(&v, &want, bytes);
                assert_true(code_word(bytes, 8) == golden[k].low && code_word(bytes + 8, 8) == golden[k].high);
                assert_null(isa_decode(&v, bytes, &back));
                assert_memory_equal(&back, &want, sizeof back);
        }
        unsigned char word[VTA_MICRO_OP_BYTES];
        const struct instruction u = vta_any(&(struct vta_instruction){ .dst = 5, .src = 3, .wgt = 2 });
        struct instruction back;
        isa_encode_place(&v, &u, word);
        assert_int_equal(code_word(word, 4), 0x00801805);
        assert_true(isa_decode_place(&v, word, &back) && !memcmp(&back, &u, sizeof u));
}

/* what decodes encodes to the same bytes; a bit that no field has decodes to nothing */
static void test_random_bytes(void **state)
{
        (void)state;
        struct isa v = usual();
        uint64_t random = RANDOM_START;
        int fine = 0;
        for (int n = 0; n < 100000; n++) {
                unsigned char bytes[VTA_BYTES], back[VTA_BYTES];
                struct instruction i;
                for (int k = 0; k < VTA_BYTES; k++)
                        bytes[k] = (unsigned char)(random_next(&random) >> 32);
                if (n % 2) {
                        bytes[7] &= (bytes[0] & 7) < 2 ? 3 : 0x7f;
                        if (isa_decode(&v, bytes, &i))
                                continue;
                        fine++;
                        isa_encode(&v, &i, back);
                        assert_memory_equal(bytes, back, VTA_BYTES);
                        assert_null(isa_misfit(&v, &i, isa_form(&v, &i)));
                } else {
                        bytes[7] |= 0x80;
                        assert_non_null(isa_decode(&v, bytes, &i));
                }
        }
        assert_true(fine > 10000);
}

/* ---- machines ---- */

static void expect_field(const char *sizes, int field, int bit, int width)
{
        struct isa v;
        struct diag diag = { .subject = "test" };
        assert_true(isa_begin_sizes(&v, &vta_set, sizes, &diag));
        assert_int_equal(v.fields[field].bit, bit);
        assert_int_equal(v.fields[field].width, width);
}

static void test_fields(void **state)
{
        (void)state;
        expect_field("", VTA_FIELD_uop_end, 21, 14);
        expect_field("", VTA_FIELD_y_size, 64, 16);             /* six bits before it are nobody's */
        expect_field("", VTA_FIELD_wgt_in, 118, 10);
        expect_field("", VTA_FIELD_imm, 112, 16);
        expect_field("inp=16K,acc=64K", VTA_FIELD_src_in, 94, 10);
        expect_field("inp=16K,acc=64K", VTA_FIELD_wgt, 20, 10);
        expect_field("block=32", VTA_FIELD_wgt_in, 112, 8);
        expect_field("uop=8K", VTA_FIELD_iter_out, 31, 14);
}

static void test_sizes_as_text(void **state)
{
        (void)state;
        struct isa v, again;
        struct diag diag = { .subject = "test" };
        char text[ISA_SIZES_TEXT];
        assert_true(isa_begin_sizes(&v, &vta_set, "acc=64K,block=32,inp=16K", &diag));
        vta_sizes(&v.machine, text);
        assert_string_equal(text, "block_in=32,block_out=32,inp=16384,acc=65536");
        assert_true(isa_begin_sizes(&again, &vta_set, text, &diag));
        unsigned char one[ISA_CONFIGURATION], other[ISA_CONFIGURATION];
        isa_configuration(&v, one);
        isa_configuration(&again, other);
        assert_memory_equal(one, other, sizeof one);
        vta_sizes(&machine_vta, text);
        assert_string_equal(text, "");
        static const unsigned char documented[ISA_CONFIGURATION] = { 3, 3, 5, 3, 0, 4, 4, 15, 15, 18, 17, 15 };
        v = usual();
        isa_configuration(&v, one);
        assert_memory_equal(one, documented, sizeof one);
}

/* ---- launches ---- */

enum { ROOM = 0x10000, CODE = 0x1000, MICRO_OPS = 0x2000, IN = 0x3000, WEIGHTS = 0x4000, BIAS = 0x5000, OUT = 0x6000 };

struct stream { struct isa v; unsigned char *memory; int64_t count; };

static struct stream stream_new(void) { return (struct stream){ usual(), calloc(1, ROOM), 0 }; }

static void add(struct stream *s, struct vta_instruction i)
{
        const struct instruction all = vta_any(&i);
        assert_null(isa_misfit(&s->v, &all, isa_form(&s->v, &all)));
        isa_encode(&s->v, &all, s->memory + CODE + VTA_BYTES * s->count++);
}

static void add_load(struct stream *s, int memory, int address, int count)
{
        add(s, (struct vta_instruction){ .opcode = VTA_OPCODE_LOAD, .memory = memory, .dram_base = address / s->v.bytes[memory], .y_size = 1,
                                         .x_size = count, .x_stride = count, .push_next = memory == VTA_WGT });
}

static void add_operation(struct stream *s, int operation, bool tensor, int imm, bool last)
{
        add(s, (struct vta_instruction){ .opcode = VTA_OPCODE_ALU, .operation = operation, .use_imm = !tensor, .imm = imm, .uop_begin = tensor ? 1 : 0,
                                         .uop_end = tensor ? 2 : 1, .iter_out = 1, .iter_in = 1, .push_next = last });
}

/* acc[0] = bias; acc[0] += product; acc[0] = operation(acc[0], imm, or acc[1], the bias behind); stored: its low bytes */
static struct stream small(int operation, bool tensor, int imm)
{
        struct stream s = stream_new();
        unsigned char micro_ops[8] = { 0, 0, 0, 0, 0, 8 };      /* { 0, 0, 0 }, { 0, 1, 0 } */
        memcpy(s.memory + MICRO_OPS, micro_ops, sizeof micro_ops);
        add_load(&s, VTA_INP, IN, 1);
        add_load(&s, VTA_WGT, WEIGHTS, 1);
        add_load(&s, VTA_UOP, MICRO_OPS, 2);
        add_load(&s, VTA_ACC, BIAS, 2);
        add(&s, (struct vta_instruction){ .opcode = VTA_OPCODE_GEMM, .pop_prev = 1, .uop_end = 1, .iter_out = 1, .iter_in = 1 });
        add_operation(&s, operation, tensor, imm, true);
        add(&s, (struct vta_instruction){ .opcode = VTA_OPCODE_STORE, .memory = VTA_OUT, .pop_prev = 1, .push_prev = 1, .dram_base = OUT / 16,
                                          .y_size = 1, .x_size = 1, .x_stride = 1 });
        add(&s, (struct vta_instruction){ .opcode = VTA_OPCODE_LOAD, .memory = VTA_UOP, .pop_next = 1 });
        add(&s, (struct vta_instruction){ .opcode = VTA_OPCODE_FINISH });
        return s;
}

static void put_word(unsigned char *at, uint32_t word)
{
        for (int k = 0; k < 4; k++)
                at[k] = (unsigned char)(word >> 8 * k);
}

static int8_t launched(int operation, bool tensor, int imm, int32_t a, int32_t b)
{
        struct stream s = small(operation, tensor, imm);
        struct diag diag = { .subject = "test" };
        for (int o = 0; o < 16; o++) {
                put_word(s.memory + BIAS + 4 * o, (uint32_t)a - 3 * 7 * (uint32_t)o);
                put_word(s.memory + BIAS + 64 + 4 * o, (uint32_t)b);
                s.memory[WEIGHTS + 16 * o + 2] = (unsigned char)(7 * o);         /* of input 2 */
        }
        s.memory[IN + 2] = 3;
        struct simulator *machine = simulator_new(&s.v, 1, 0xee);
        assert_true(simulator_launch(machine, s.memory, ROOM, CODE, s.count, WORK_MOST, &diag));
        unsigned char first[16];
        memcpy(first, s.memory + OUT, 16);
        for (int o = 1; o < 16; o++)
                assert_int_equal(first[o], first[0]);
        memset(s.memory + OUT, 0, 16);          /* again on the same machine */
        assert_true(simulator_launch(machine, s.memory, ROOM, CODE, s.count, WORK_MOST, &diag));
        assert_memory_equal(s.memory + OUT, first, 16);
        simulator_free(machine);
        free(s.memory);
        return (int8_t)first[0];
}

static void test_operations(void **state)
{
        (void)state;
        assert_int_equal(launched(VTA_OPERATION_MIN, false, 5, 9, 0), 5);
        assert_int_equal(launched(VTA_OPERATION_MIN, false, 5, -9, 0), -9);
        assert_int_equal(launched(VTA_OPERATION_MAX, false, -5, -9, 0), -5);
        assert_int_equal(launched(VTA_OPERATION_MAX, true, 0, -9, 11), 11);
        assert_int_equal(launched(VTA_OPERATION_ADD, false, -32768, 32768 + 77, 0), 77);
        assert_int_equal(launched(VTA_OPERATION_ADD, true, 0, INT32_MAX, INT32_MIN + 6), 5);    /* wraps to 5 */
        assert_int_equal(launched(VTA_OPERATION_SHR, false, 4, -1, 0), -1);                     /* rounds down */
        assert_int_equal(launched(VTA_OPERATION_SHR, false, 4, -17, 0), -2);
        assert_int_equal(launched(VTA_OPERATION_SHR, false, -3, 5, 0), 40);                     /* to the left */
        assert_int_equal(launched(VTA_OPERATION_SHR, true, 0, -1000, 40), -1);                  /* past the width */
        assert_int_equal(launched(VTA_OPERATION_SHR, true, 0, -1000, INT32_MIN), 0);
        assert_int_equal(launched(VTA_OPERATION_MUL, false, -3, 21, 0), -63);
        assert_int_equal(launched(VTA_OPERATION_ADD, false, 0, 0x1234, 0), 0x34);               /* the low byte alone */
}

static void test_launches_that_fail(void **state)
{
        (void)state;
        struct stream s = small(VTA_OPERATION_ADD, false, 0);
        struct diag diag = { .subject = "test", .silent = true };
        struct simulator *machine = simulator_new(&s.v, 0, 0);
        assert_true(simulator_launch(machine, s.memory, ROOM, CODE, s.count, WORK_MOST, &diag));
        assert_false(simulator_launch(machine, s.memory, ROOM, CODE, s.count, 10, &diag));
        assert_int_equal(diag.code, EXIT_BUDGET);
        diag = (struct diag){ .subject = "test", .silent = true };
        assert_false(simulator_launch(machine, s.memory, ROOM, ROOM - 8, 1, WORK_MOST, &diag));
        assert_false(simulator_launch(machine, s.memory, ROOM, CODE, INT64_MAX, WORK_MOST, &diag));
        assert_false(simulator_launch(machine, s.memory, ROOM, -16, 1, WORK_MOST, &diag));
        assert_false(simulator_launch(machine, s.memory, BIAS, CODE, s.count, WORK_MOST, &diag));         /* the bias is behind the end */
        assert_int_equal(diag.errors, 4);
        assert_true(simulator_launch(machine, s.memory, ROOM, CODE, s.count, WORK_MOST, &diag));          /* none leaves a token behind */
        simulator_free(machine);
        free(s.memory);
}

static void test_cycles(void **state)
{
        (void)state;
        struct stream s = small(VTA_OPERATION_ADD, false, 0);
        struct diag diag = { .subject = "test" };
        struct meter c;
        struct instruction_times times[9];
        assert_true(meter_run(&s.v, s.memory + CODE, s.count, &c, times, &diag));
        /* fetched at 26, 2 beats and 2 for the burst behind 24 */
        assert_int_equal(times[0].start, 26);
        assert_int_equal(times[0].end, 26 + 24 + 2 + 2);
        assert_int_equal(times[1].end, 54 + 24 + 32 + 2);
        /* micro-ops: 1 beat; compute asks first at 30, and the channel is taken until 54 */
        assert_int_equal(times[2].end, 54 + 1 + 2);
        assert_int_equal(times[4].start, times[1].end > times[3].end ? times[1].end : times[3].end);
        assert_int_equal(times[4].end - times[4].start, 11);
        assert_int_equal(times[5].end - times[5].start, 7);
        assert_int_equal(times[6].end - times[6].start, 8 + 5 + 2 + 1);
        assert_int_equal(c.cycles, times[8].end);
        assert_int_equal(c.places, 2);
        assert_int_equal(c.classes[VTA_CLASS_LOAD_ACC].bytes, 128);
        free(s.memory);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_golden), cmocka_unit_test(test_random_bytes), cmocka_unit_test(test_fields),
                cmocka_unit_test(test_sizes_as_text), cmocka_unit_test(test_operations), cmocka_unit_test(test_launches_that_fail),
                cmocka_unit_test(test_cycles),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
