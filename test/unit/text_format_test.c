/* SPDX-License-Identifier: MIT */
/* The text format of protobufs as bytes: what it writes, what it refuses, and that whatever it takes is whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "caffe.pb-c.h"
#include "front/text_format.h"

static const char *const ignored[] = { "colour", NULL };
static const struct text_format format = { &caffe__net_parameter__descriptor, ignored };

struct fixture { struct diag diag; char *said; size_t length; };

static int setup(void **state)
{
        struct fixture *f = calloc(1, sizeof *f);
        *f = (struct fixture){ .diag = { .subject = "m" } };
        f->diag.stream = open_memstream(&f->said, &f->length);
        *state = f;
        return !f->diag.stream;
}

static int teardown(void **state)
{
        struct fixture *f = *state;
        fclose(f->diag.stream);
        free(f->said);
        free(f);
        return 0;
}

static bool read(struct fixture *f, const char *text, size_t length, struct text *wire)
{
        return text_format_read((const unsigned char *)text, length, &format, &limits_preset, wire, &f->diag);
}

/* Texts and the bytes of the same message. */
static void test_bytes(void **state)
{
#define LENGTH(n) n "\x80\x80\x80\0"            /* of a message, in five bytes: n is 128 and the length */
        static const struct { const char *text, *bytes; size_t length; } rows[] = {
                { "", "", 0 },
                { "  # nothing\n", "", 0 },
                { "name: \"net\"", "\x0a\3net", 5 },
                { "name: 'a' \"b\"", "\x0a\2ab", 4 },
                { "name: \"\\x41\\102\\n\\\"\"", "\x0a\4AB\n\"", 6 },
                { "input: 'x', input: 'y';", "\x1a\1x\x1a\1y", 6 },
                { "input_dim: [1, 0x10, 300] input_dim: -1", "\x20\1\x20\x10\x20\xac\2\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 18 },
                { "colour: { a: [1, { b: 'c' }] } name: 'n'", "\x0a\1n", 3 },
                { "state { phase: TRAIN }", "\x32" LENGTH("\x82") "\x08\0", 8 },
                { "state: < phase: 1 level: 2 >", "\x32" LENGTH("\x84") "\x08\1\x10\2", 10 },
                { "layer { relu_param { negative_slope: 1.5f } }",
                  "\xa2\6" LENGTH("\x8c") "\xda\7" LENGTH("\x85") "\x0d\0\0\xc0\x3f", 7 + 7 + 5 },
                { "layer { pooling_param { global_pooling: true } }",
                  "\xa2\6" LENGTH("\x89") "\xca\7" LENGTH("\x82") "\x60\1", 7 + 7 + 2 },
                { "layer { exp_param { base: 2 } }",
                  "\xa2\6" LENGTH("\x8c") "\xfa\6" LENGTH("\x85") "\x0d\0\0\0\x40", 7 + 7 + 5 },
                { "layer {\n other: 3 }", "\xa2\6" LENGTH("\x9b") "\xf2\xff\xff\xff\x0f\x15" "line 2: field 'other'", 7 + 6 + 21 },
        };
        struct fixture *f = *state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct text wire;
                assert_true(read(f, rows[i].text, strlen(rows[i].text), &wire));
                assert_int_equal(wire.length, rows[i].length);
                if (rows[i].length)
                        assert_memory_equal(wire.data, rows[i].bytes, wire.length);
                text_free(&wire);
        }
}

static void test_errors(void **state)
{
        static const struct { const char *text, *want; } rows[] = {
                { "name", "line 1: want ':' after name, found the end" },
                { "name: 3", "line 1: want a string in quotes, found '3'" },
                { "\n\nname: 'a", "line 3: a string has no end" },
                { "name: 'a\n'", "line 1: a string has no end" },
                { "name: '\\q'", "line 1: a string has a wrong escape" },
                { "name: '\\777'", "line 1: a string has a wrong escape" },
                { "name: 'a' name: 'b'", "line 1: name is given twice" },
                { "input_dim: 2147483648", "line 1: want a whole number for input_dim, found '2147483648'" },
                { "input_dim: [1 2]", "line 1: want ']', found '2]'" },
                { "layer 3", "line 1: want '{' after layer, found '3'" },
                { "layer {", "line 1: want '}', found the end" },
                { "layer < }", "line 1: want a field or '>', found '}'" },
                { "layer { name: 'x' } }", "line 1: want a field, found '}'" },
                { "other: 3", "line 1: NetParameter has no field 'other'" },
                { "state { phase: LATER }", "line 1: want a word of its list for phase, found 'LATER }'" },
                { "layer { pooling_param { stride: -1 } }",
                  "line 1: want a whole number that is not negative for stride, found '-1 } }'" },
                { "layer { relu_param { negative_slope: 0x10 } }", "line 1: want a number for negative_slope, found '0x10 } }'" },
                { "layer { long_data: 3 blobs { long_data: 3 } } name", "line 1: want ':' after name, found the end" },
        };
        struct fixture *f = *state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct text wire;
                rewind(f->diag.stream);
                assert_false(read(f, rows[i].text, strlen(rows[i].text), &wire));
                fputc(0, f->diag.stream);
                fflush(f->diag.stream);
                char want[256];
                snprintf(want, sizeof want, "m: error: %s\n", rows[i].want);
                assert_string_equal(f->said, want);
        }
}

/* Depth is limited, in messages and in what is skipped. */
static void test_depth(void **state)
{
        enum { DEPTH = 1000, EACH = 10 };
        struct fixture *f = *state;
        char text[EACH * DEPTH + EACH] = "layer { a ";
        for (int i = 0; i < DEPTH; i++)
                memcpy(text + EACH * (i + 1), "{ b: [ {  ", EACH);
        struct text wire;
        assert_false(read(f, text, sizeof text, &wire));
        fflush(f->diag.stream);
        assert_non_null(strstr(f->said, "nested too deep"));
}

/* A field is once in a bit of 64. */
static void test_fields_are_few(void **state)
{
        (void)state;
        assert_true(caffe__layer_parameter__descriptor.n_fields <= 64);
        assert_true(caffe__v1_layer_parameter__descriptor.n_fields <= 64);
}

static void test_begins(void **state)
{
        static const struct { const char *text; bool begins; } rows[] = {
                { "name: \"net\"", true },    { "# a net\nlayer {", true }, { "layers{", true }, { "input : 'x'", true },
                { "net: \"train.prototxt\"", false }, { "name {", false }, { "name", false },  { "", false },
                { "layer", false },           { "<html>", false },          { "dnn 3", false },
        };
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                assert_int_equal(text_format_begins((const unsigned char *)rows[i].text, strlen(rows[i].text), format.message), rows[i].begins);
}

/* Whatever text is taken, the scan of bytes takes what was made of it. */
static void test_changed_texts_are_whole_or_refused(void **state)
{
        static const char seed[] = "name: 'n' input: \"x\" input_dim: [1, 2] state { stage: 'a' level: 3 }\n"
                                   "layer { name: 'y' type: \"Pooling\" bottom: 'x' top: 'y' # pool\n"
                                   "  pooling_param < kernel_size: 2 pool: AVE global_pooling: false >\n"
                                   "  blobs { shape { dim: 1 dim: -2 } data: 1.5 data: [2, -3e-2] double_data: 1e300 } strange: { a: 3 } }\n";
        static const char letters[] = "{}<>[]:;,'\"\\#\n 0x-e.9";
        const struct wire_format scanned = { format.message, "a network", NULL, NULL, &caffe__blob_proto__descriptor, "data" };
        enum { TRIES = 20000 };
        struct fixture *f = *state;
        int taken = 0;
        uint64_t random = RANDOM_START;
        f->diag.silent = true;
        for (int i = 0; i < TRIES; i++) {
                char text[sizeof seed];
                size_t length = sizeof seed - 1;
                memcpy(text, seed, sizeof seed);
                for (uint64_t k = 0, count = random_next(&random) % 4; k < count; k++) {
                        const uint64_t r = random_next(&random);
                        if (r % 8 == 0)
                                length = r / 8 % sizeof seed;
                        else if (r % 8 == 1)
                                memmove(text + r / 8 % 100, text + r / 800 % 200, 16);
                        else
                                text[r / 8 % (sizeof seed - 1)] = letters[r / 4096 % (sizeof letters - 1)];
                }
                struct text wire;
                if (!read(f, text, length, &wire))
                        continue;
                struct wire_image image = { .arena = arena_new() };
                taken++;
                assert_true(!wire.length || wire_check((const unsigned char *)wire.data, wire.length, &scanned, &limits_preset, &image, &f->diag));
                text_free(&image.bytes);
                arena_free(image.arena);
                text_free(&wire);
        }
        assert_true(taken > TRIES / 10 && taken < TRIES);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_bytes, setup, teardown),
                cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
                cmocka_unit_test_setup_teardown(test_depth, setup, teardown),
                cmocka_unit_test(test_fields_are_few),
                cmocka_unit_test(test_begins),
                cmocka_unit_test_setup_teardown(test_changed_texts_are_whole_or_refused, setup, teardown),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
