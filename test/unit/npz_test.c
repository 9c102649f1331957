/* SPDX-License-Identifier: MIT */
/* Arrays and zip files, whole and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/random.h"
#include "compiler/npz.h"

enum { ROOM = 8192 };

/* ---- writing ---- */

struct bytes { unsigned char data[ROOM]; size_t length; };

static void put(struct bytes *b, const void *data, size_t length)
{
        assert_true(b->length + length <= ROOM);
        memcpy(b->data + b->length, data, length);
        b->length += length;
}

static void put_number(struct bytes *b, uint64_t n, int count)
{
        for (int i = 0; i < count; i++)
                put(b, &(unsigned char){ (unsigned char)(n >> 8 * i) }, 1);
}

static struct bytes npy(const char *shape, const float *x, size_t count)
{
        struct bytes b = { .length = 0 };
        char header[256];
        int length = snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }\n", shape);
        put(&b, "\x93NUMPY\1\0", 8);
        put_number(&b, (uint64_t)length, 2);
        put(&b, header, (size_t)length);
        put(&b, x, count * sizeof *x);
        return b;
}

struct member { const char *name; struct bytes bytes; int method; bool wide; };         /* wide: sizes in 64 bits, behind it */

static struct bytes packed(const struct member *m)
{
        struct bytes out = { .length = 0 };
        if (!m->method)
                return m->bytes;
        z_stream z = { .next_in = (unsigned char *)(uintptr_t)m->bytes.data, .avail_in = (uInt)m->bytes.length,
                       .next_out = out.data, .avail_out = ROOM };
        assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        out.length = z.total_out;
        deflateEnd(&z);
        return out;
}

static void put_common(struct bytes *b, const struct member *m, const struct bytes *data, bool wide)
{
        put_number(b, 20, 2);
        put_number(b, 0, 2);
        put_number(b, (uint64_t)m->method, 2);
        put_number(b, 0, 4);
        put_number(b, crc32(0, m->bytes.data, (uInt)m->bytes.length), 4);
        put_number(b, wide ? 0xffffffff : data->length, 4);
        put_number(b, wide ? 0xffffffff : m->bytes.length, 4);
        put_number(b, strlen(m->name), 2);
        put_number(b, wide ? 20 : 0, 2);
}

static void put_wide(struct bytes *b, const struct member *m, const struct bytes *data)
{
        put_number(b, 1, 2);
        put_number(b, 16, 2);
        put_number(b, m->bytes.length, 8);
        put_number(b, data->length, 8);
}

static struct bytes zip(const struct member *members, int count)
{
        struct bytes b = { .length = 0 }, directory = { .length = 0 };
        for (int i = 0; i < count; i++) {
                const struct member *m = &members[i];
                struct bytes data = packed(m);
                put(&directory, "PK\1\2\x14\0", 6);
                put_common(&directory, m, &data, m->wide);
                put(&directory, "\0\0\0\0\0\0\0\0\0", 10);
                put_number(&directory, b.length, 4);
                put(&directory, m->name, strlen(m->name));
                put(&b, "PK\3\4", 4);
                put_common(&b, m, &data, m->wide);
                put(&b, m->name, strlen(m->name));
                if (m->wide) {
                        put_wide(&b, m, &data);
                        put_wide(&directory, m, &data);
                }
                put(&b, data.data, data.length);
        }
        size_t at = b.length;
        put(&b, directory.data, directory.length);
        put(&b, "PK\5\6\0\0\0\0", 8);
        put_number(&b, (uint64_t)count, 2);
        put_number(&b, (uint64_t)count, 2);
        put_number(&b, directory.length, 4);
        put_number(&b, at, 4);
        put_number(&b, 0, 2);
        return b;
}

static struct bytes example(void)
{
        static const float x[] = { 1, 2, 3, 4, 5, 6 };
        static float zeros[300];
        struct member members[] = { { "x.npy", npy("(3, 2)", x, 6), 0, false }, { "y.npy", npy("(300,)", zeros, 300), 8, false },
                                    { "z.npy", npy("()", x, 1), 8, true }, { "w.npy", npy("(0, 7)", x, 0), 0, true } };
        return zip(members, 4);
}

/* ---- tests ---- */

static void test_arrays(void **state)
{
        static const struct { const char *name; int rank; int64_t dims[2]; } want[] = { { "x.npy", 2, { 3, 2 } }, { "y.npy", 1, { 300 } },
                                                                                      { "z.npy", 0, { 0 } }, { "w.npy", 2, { 0, 7 } } };
        struct arena *arena = arena_new();
        struct bytes b = example();
        struct zip_member *members;
        int count;
        (void)state;
        assert_null(zip_read(arena, b.data, b.length, &members, &count));
        assert_int_equal(count, 4);
        for (int i = 0; i < count; i++) {
                struct zip_stream *stream = zip_open(&members[i]);
                struct array a;
                size_t start;
                unsigned char data[ROOM], byte;
                assert_true(members[i].name_length == 5 && !memcmp(members[i].name, want[i].name, 5));
                assert_null(zip_array(stream, &a, &start));
                assert_null(zip_get(stream, start, data, a.bytes));
                for (size_t k = a.bytes; k-- > 0;) {    /* and backwards */
                        assert_null(zip_get(stream, start + k, &byte, 1));
                        assert_int_equal(byte, data[k]);
                }
                assert_non_null(zip_get(stream, start + 1, data, a.bytes));
                assert_true(a.element == E_F32 && a.rank == want[i].rank);
                assert_memory_equal(a.dims, want[i].dims, (size_t)a.rank * sizeof *a.dims);
                float first = i == 0 || i == 2;
                assert_true(!a.bytes || !memcmp(data, &first, sizeof first));
                zip_close(stream);
        }
        arena_free(arena);
}

/* reads all that there is; the number of members whose arrays could be read */
static int read_all(const unsigned char *bytes, size_t length)
{
        struct arena *arena = arena_new();
        struct zip_member *members;
        int count, good = 0;
        const char *wrong = zip_read(arena, bytes, length, &members, &count);
        for (int i = 0; i < count && !wrong; i++) {
                struct zip_stream *stream = zip_open(&members[i]);
                struct array a;
                size_t start, piece = 7;
                unsigned char data[7];
                bool fine = !zip_array(stream, &a, &start);
                for (size_t k = 0; fine && k < a.bytes; k += piece) {
                        piece = a.bytes - k < sizeof data ? a.bytes - k : sizeof data;
                        fine = !zip_get(stream, start + k, data, piece);
                }
                good += fine;
                zip_close(stream);
        }
        arena_free(arena);
        return wrong ? -1 : good;
}

/* at the very end of memory that is ours */
static int read_copy(const unsigned char *bytes, size_t length)
{
        unsigned char *copy = malloc(length + 1);
        memcpy(copy + 1, bytes, length);
        int good = read_all(copy + 1, length);
        free(copy);
        return good;
}

static void test_ends(void **state)
{
        struct bytes b = example();
        (void)state;
        assert_int_equal(read_copy(b.data, b.length), 4);
        for (size_t i = 0; i < b.length; i++)
                assert_int_equal(read_copy(b.data, i), -1);
}

static void test_changed_bytes(void **state)
{
        static const unsigned char bytes[] = { 0, 1, 0x7f, 0x80, 0xff };
        struct bytes b = example();
        uint64_t seed = RANDOM_START;
        int outcomes[6] = { 0 };
        (void)state;
        for (int i = 0; i < 100000; i++) {
                struct bytes c = b;
                for (int k = 0; k <= i % 3; k++) {
                        size_t at = random_next(&seed) % c.length;
                        c.data[at] = i % 2 ? bytes[random_next(&seed) % 5] : c.data[at] ^ (unsigned char)(1 << random_next(&seed) % 8);
                }
                outcomes[read_copy(c.data, c.length) + 1]++;
        }
        assert_true(outcomes[0] > 1000 && outcomes[4] > 1000 && outcomes[5] > 1000);
}

/* the same to an array alone, which has no checksum */
static void test_changed_headers(void **state)
{
        static const char interesting[] = "'{}(),:0129 -\"TFf<\n";
        float x[6] = { 1, 2, 3, 4, 5, 6 };
        struct bytes b = npy("(3, 2)", x, 6);
        uint64_t seed = RANDOM_START;
        int good = 0;
        (void)state;
        for (int i = 0; i < 200000; i++) {
                struct bytes c = b;
                struct array a;
                for (int k = 0; k <= i % 3; k++) {
                        uint64_t at = random_next(&seed) % (c.length - sizeof x), n = random_next(&seed);
                        c.data[at] = i % 2 ? (unsigned char)interesting[n % (sizeof interesting - 1)] : n & 255;
                }
                unsigned char *copy = malloc(c.length);
                memcpy(copy, c.data, c.length);
                if (!npy_read(copy, c.length, &a)) {
                        assert_true(a.data >= copy && a.data + a.bytes == copy + c.length && a.rank <= RANK_MAX);
                        good++;
                }
                free(copy);
        }
        assert_true(good > 100);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_arrays), cmocka_unit_test(test_ends), cmocka_unit_test(test_changed_bytes),
                                            cmocka_unit_test(test_changed_headers) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
