/* SPDX-License-Identifier: MIT */
/* base/: sizes, memory, names, text, maps, numbers, digests, diagnostics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/crc32c.h"
#include "base/diag.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "base/size.h"
#include "base/suggest.h"
#include "base/store.h"
#include "base/text.h"

/* ---- sizes ---- */

static void test_elements(void **state)
{
        (void)state;
        static const struct { int64_t dims[4]; int rank; bool fits; int64_t count; } cases[] = {
                { { 0 }, 0, true, 1 }, { { 5 }, 1, true, 5 }, { { 2, 3, 4 }, 3, true, 24 }, { { 2, 0, 4 }, 3, true, 0 },
                { { INT32_MAX }, 1, true, INT32_MAX }, { { INT64_C(1) << 31 }, 1, false, 0 }, { { -1 }, 1, false, 0 },
                { { INT64_MIN }, 1, false, 0 }, { { 1 << 30, 1 << 30, 4 }, 3, true, INT64_C(1) << 62 },
                { { 1 << 30, 1 << 30, 5 }, 3, false, 0 }, { { 0, 1 << 30, 1 << 30, 5 }, 4, false, 0 },
                { { INT32_MAX, INT32_MAX, INT32_MAX, 0 }, 4, false, 0 },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                int64_t count = -1;
                assert_int_equal(size_elements(cases[i].dims, cases[i].rank, &count), cases[i].fits);
                if (cases[i].fits)
                        assert_int_equal(count, cases[i].count);
        }
}

static void test_sizes(void **state)
{
        (void)state;
        static const struct { const char *text; bool fits; uint64_t bytes; } cases[] = {
                { "0", true, 0 }, { "4096", true, 4096 }, { "64K", true, 65536 }, { "1M", true, 1 << 20 },
                { "2G", true, UINT64_C(2) << 30 }, { "3T", true, UINT64_C(3) << 40 }, { "8388607T", true, UINT64_C(8388607) << 40 },
                { "8388608T", false, 0 }, { "9223372036854775807", true, INT64_MAX }, { "9223372036854775808", false, 0 },
                { "", false, 0 }, { "K", false, 0 }, { "-1", false, 0 }, { "-1K", false, 0 }, { "1k", true, 1024 },
                { "1KB", true, 1024 }, { "64KiB", true, 65536 }, { "64kib", true, 65536 }, { "2gb", true, UINT64_C(2) << 30 }, { "7B", true, 7 },
                { "7b", true, 7 }, { "1Ki", false, 0 }, { "1iB", false, 0 }, { "1KBB", false, 0 }, { "1KK", false, 0 }, { "1BK", false, 0 },
                { "B", false, 0 }, { "KiB", false, 0 }, { "1E", false, 0 }, { "8388608TiB", false, 0 }, { "1.5M", false, 0 }, { " 1", false, 0 }, { "1 ", false, 0 }, { "0x10", false, 0 },
                { "000000000000000000000000000000000000000001", false, 0 },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                uint64_t bytes = 77;
                if (size_parse(cases[i].text, &bytes) != cases[i].fits || (cases[i].fits && bytes != cases[i].bytes))
                        fail_msg("size '%s'", cases[i].text);
        }
        int64_t v;
        assert_true(int_parse("-9223372036854775808", &v) && v == INT64_MIN);
        assert_true(int_parse("9223372036854775807", &v) && v == INT64_MAX);
        assert_true(int_parse("-0", &v) && v == 0);
        assert_false(int_parse("9223372036854775808", &v) || int_parse("-9223372036854775809", &v));
        assert_false(int_parse("", &v) || int_parse("-", &v) || int_parse("+1", &v) || int_parse("1e3", &v) || int_parse("1 ", &v));
}

/* ---- memory ---- */

static void test_arena(void **state)
{
        (void)state;
        struct arena *arena = arena_new();
        unsigned char *blocks[200];
        for (int i = 0; i < 200; i++) {
                size_t bytes = (size_t)(i * i * 7 % 40000);
                blocks[i] = arena_alloc(arena, bytes);
                assert_int_equal((uintptr_t)blocks[i] % 16, 0);
                for (size_t k = 0; k < bytes; k++)
                        assert_int_equal(blocks[i][k], 0);
                memset(blocks[i], i, bytes);
        }
        for (int i = 0; i < 200; i++)
                for (size_t k = 0; k < (size_t)(i * i * 7 % 40000); k++)
                        assert_int_equal(blocks[i][k], i);
        assert_string_equal(arena_printf(arena, "%d %s", 12, "ab"), "12 ab");
        assert_string_equal(arena_copy(arena, "abc", 4), "abc");
        assert_true(arena_bytes(arena) > 200);
        arena_free(arena);
        arena_free(NULL);
}

static void test_arena_grow(void **state)
{
        (void)state;
        struct arena *arena = arena_new();
        int *numbers = NULL;
        size_t moved = 0;
        for (int i = 0; i < 100000; i++) {
                int *before = numbers;
                ARENA_GROW(arena, numbers, i);
                moved += before != numbers;
                numbers[i] = i;
        }
        for (int i = 0; i < 100000; i++)
                assert_int_equal(numbers[i], i);
        assert_true(moved < 20);
        arena_free(arena);
}

struct kept_piece { unsigned char *data; size_t bytes; unsigned char fill; };

static bool holds(const unsigned char *data, size_t bytes, unsigned char fill)
{
        return !bytes || (data[0] == fill && !memcmp(data, data + 1, bytes - 1));
}

/* pieces come and go: what is kept stays as it was, what is new lies elsewhere */
static void test_store(void **state)
{
        enum { ROUNDS = 40, PIECES = 60, BLOCK = 3000000 };
        (void)state;
        struct store *store = store_new();
        struct kept_piece pieces[PIECES] = { { 0 } };
        unsigned random = 1;
        for (int round = 0; round < ROUNDS; round++) {
                for (int i = 0; i < PIECES; i++) {
                        struct kept_piece *p = &pieces[i];
                        if (p->data)
                                continue;
                        random = random * 1103515245 + 12345;
                        p->bytes = random >> 8 & (i % 8 ? 0x1ffff : 0x3fffff);
                        p->data = store_alloc(store, p->bytes);
                        assert_int_equal((uintptr_t)p->data % 64, 0);
                        p->fill = (unsigned char)(random >> 3);
                        if (p->bytes)
                                memset(p->data, p->fill, p->bytes);
                }
                if (round == 7)
                        store_adopt(store, memory_alloc(BLOCK), BLOCK);
                for (int i = 0; i < PIECES; i++) {
                        random = random * 1103515245 + 12345;
                        if (random >> 16 & 3)
                                store_keep(store, pieces[i].data, pieces[i].bytes);
                        else
                                pieces[i].data = NULL;
                }
                store_keep(store, &pieces, sizeof pieces);              /* no memory of the store's */
                store_sweep(store);
                if (round % 5 == 0)
                        store_trim(store);
                for (int i = 0; i < PIECES; i++)
                        assert_true(!pieces[i].data || holds(pieces[i].data, pieces[i].bytes, pieces[i].fill));
        }
        store_free(store);
        store_free(NULL);
}

static void test_store_reuse(void **state)
{
        enum { BYTES = 1 << 20 };
        (void)state;
        struct store *store = store_new();
        char *first = store_alloc(store, BYTES), *second = store_alloc(store, BYTES);
        assert_false(store_is_due(store));
        for (int i = 0; i < 8; i++)
                store_alloc(store, BYTES);
        assert_true(store_is_due(store));
        store_keep(store, second, BYTES);
        store_sweep(store);
        assert_false(store_is_due(store));
        assert_ptr_equal(store_alloc(store, BYTES), first);
        store_pin(store);
        store_sweep(store);
        assert_true((char *)store_alloc(store, BYTES) >= second + BYTES);
        store_free(store);
}

/* ---- identifiers ---- */

static bool is_identifier_text(const char *text)
{
        size_t length = strlen(text);
        if (!length || length > 31 || !isalpha((unsigned char)text[0]) || strstr(text, "__"))
                return false;
        return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == length;
}

static void test_identifiers(void **state)
{
        (void)state;
        static const char *const cases[][2] = {
                { "conv1", "conv1" }, { "conv1", "conv1_2" }, { "CONV1", "CONV1_3" }, { "conv1_2", "conv1_2_2" },
                { "a/b:0", "a_b_0" }, { "a//b::0", "a_b_0_2" }, { "for", "for_2" }, { "For", "For_3" }, { "9lives", "n9lives" },
                { "_Pragma", "Pragma" }, { "__x__y__", "x_y" }, { "", "value" }, { "\xc3\xa4", "value_2" }, { "main", "main_2" },
                { "class", "class_2" }, { "size_t", "size_t_2" }, { "*/ #error", "error" }, { "a\nb", "a_b" },
                { "abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz01234" },
                { "abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz012_2" },
                { "abcdefghijklmnopqrstuvwxyz01234-too", "abcdefghijklmnopqrstuvwxyz012_3" },
                { "abcdefghijklmnopqrstuvwxyz01_345", "abcdefghijklmnopqrstuvwxyz01_34" },
                { "abcdefghijklmnopqrstuvwxyz01_345", "abcdefghijklmnopqrstuvwxyz01_2" },
        };
        struct arena *arena = arena_new();
        struct names *names = names_new(arena);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                char *made = text_identifier(names, cases[i][0], strlen(cases[i][0]), "value");
                assert_string_equal(made, cases[i][1]);
                assert_true(is_identifier_text(made) && text_is_identifier(made));
                assert_false(names_reserve(names, made));
                /* in a set of its own, an identifier is itself */
                assert_string_equal(text_identifier(names_new(arena), made, strlen(made), "value"), made);
        }
        assert_true(names_reserve(names, "workspace"));
        assert_false(names_reserve(names, "WorkSpace"));
        assert_string_equal(text_identifier(names, "workspace", 9, "value"), "workspace_2");
        assert_string_equal(text_identifier(names, "a\0b", 3, "value"), "a_b_2");
        assert_false(text_is_identifier("") || text_is_identifier("9a") || text_is_identifier("_a") || text_is_identifier("a-b") ||
                     text_is_identifier("while") || text_is_identifier("abcdefghijklmnopqrstuvwxyz012345"));
        arena_free(arena);
}

static double seconds(void)
{
        return (double)clock() / CLOCKS_PER_SEC;
}

/* equal names, names that are equal after they are cut, names made of those before */
static void test_many_names(void **state)
{
        (void)state;
        enum { MANY = 100000 };
        struct arena *arena = arena_new();
        struct names *names = names_new(arena);
        struct map *seen = map_new(arena);
        char name[64], *last = arena_string(arena, "w");
        double start = seconds();
        for (int i = 0; i < MANY; i++) {
                snprintf(name, sizeof name, "the_very_same_name_of_each_of_them_%d", i);
                const char *wanted = i % 3 == 0 ? name : i % 3 == 1 ? "x" : last;
                char *made = text_identifier(names, wanted, strlen(wanted), "value");
                last = i % 3 == 2 ? made : last;
                assert_true(is_identifier_text(made));
                assert_null(map_get(seen, made, strlen(made)));
                map_set(seen, made, strlen(made), made);
        }
        assert_true(seconds() - start < 3);
        assert_int_equal(map_count(seen), MANY);
        arena_free(arena);
}

/* ---- text for comments, messages, literals ---- */

static const char *const hostile[] = {
        "*/ #error", "//", "/*", "/ *", "* /", "a\\\nb", "?\?/", "\x1b[31m", "\xe2\x80\xae", "%s%n", "\"quoted\"", "a\r\nb",
        "http://x", "///", "conv1/Relu:0", "-->", "<script>", "\x7f", "\xff", "trailing\\",
};

static void test_safe(void **state)
{
        (void)state;
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/-+\\";
        struct arena *arena = arena_new();
        for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
                char *safe = text_safe(arena, hostile[i], strlen(hostile[i]));
                if (strspn(safe, plain) != strlen(safe) || strstr(safe, "//") || strstr(safe, "/*") || strstr(safe, "*/"))
                        fail_msg("'%s'", safe);
                assert_true(safe[0] && safe[strlen(safe) - 1] != '\\');
        }
        assert_string_equal(text_safe(arena, "conv1/Relu:0", 12), "conv1/Relu:0");
        assert_string_equal(text_safe(arena, "a b\0c", 5), "a\\x20b\\x00c");
        assert_string_equal(text_safe(arena, "//", 2), "/\\x2f");
        assert_string_equal(text_safe(arena, "", 0), "");
        char *longest = arena_alloc(arena, 100001);
        memset(longest, 'a', 100000);
        assert_int_equal(strlen(text_safe(arena, longest, 100000)), 66);
        memset(longest, '*', 100000);
        assert_int_equal(strlen(text_safe(arena, longest, 100000)), 66);
        assert_string_equal(text_argument(arena, "--dim=N=1,28 \n\xc3"), "--dim=N=1,28 \\x0a\\xc3");
        assert_int_equal(strlen(text_argument_part(arena, longest, 100000)), 100000);
        assert_string_equal(text_argument_part(arena, "fuse,plan", 4), "fuse");
        arena_free(arena);
}

static const char *plain(const char *marked, struct arena *arena)
{
        char *text = arena_string(arena, marked);
        diag_unmark(text);
        return text;
}

static const char *suggested(struct arena *arena, const char *wanted, bool all)
{
        static const char *const names[] = { "target", "threads", "x", "fuse", "fuse_rows", "Input_1" };
        struct suggest s = suggest_new(arena, wanted, strlen(wanted));
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                suggest_add(&s, names[i]);
        return plain(suggest_text(&s, all), arena);
}

static void test_suggest(void **state)
{
        (void)state;
        struct arena *arena = arena_new();
        assert_string_equal(suggested(arena, "traget", true), ", did you mean 'target'?");      /* two swapped */
        assert_string_equal(suggested(arena, "thraeds", false), ", did you mean 'threads'?");
        assert_string_equal(suggested(arena, "THREADS", false), ", did you mean 'threads'?");
        assert_string_equal(suggested(arena, "X", false), ", did you mean 'x'?");
        assert_string_equal(suggested(arena, "input_1", false), ", did you mean 'Input_1'?");
        assert_string_equal(suggested(arena, "fise", false), ", did you mean 'fuse'?");
        assert_string_equal(suggested(arena, "fus", false), ", did you mean 'fuse'?");
        assert_string_equal(suggested(arena, "y", false), "");          /* everything is near to it */
        assert_string_equal(suggested(arena, "rows", true), ": there is 'fuse_rows'");
        assert_string_equal(suggested(arena, "tergit_", false), "");    /* three edits */
        assert_string_equal(suggested(arena, "y", true),
                            ": there are 'target', 'threads', 'x', 'fuse', 'fuse_rows', 'Input_1'");
        struct suggest many = suggest_new(arena, "zz", 2);
        for (int i = 0; i < 20; i++)
                suggest_add(&many, arena_printf(arena, "n%d", i));
        assert_string_equal(plain(suggest_text(&many, true), arena), ": there are 'n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7', .. (12 more)");
        char *longest = arena_alloc(arena, 100001);
        memset(longest, 'a', 100000);
        longest[100000] = 0;
        suggest_add(&many, longest);
        many = suggest_new(arena, longest, 100000);
        suggest_add(&many, "target");
        assert_string_equal(suggest_text(&many, false), "");
        arena_free(arena);
}

static void test_remark(void **state)
{
        (void)state;
        static const char *const good[] = { "", "a", "conv1, relu1", "a\\x20b", "--dim N=3", "a/b", "100%", "a*b" };
        static const char *const bad[] = { "//", "/*", "a*/b", "\"", "a\nb", "\xc3\xa4", "a\\", " a", "a ", "?\?/", "\x7f" };
        for (size_t i = 0; i < sizeof good / sizeof *good; i++)
                assert_true(text_is_remark(good[i], strlen(good[i])));
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
                assert_false(text_is_remark(bad[i], strlen(bad[i])));
}

/* what a C compiler makes of the literal's body */
static size_t literal_value(const char *p, char *out)
{
        size_t n = 0;
        for (; *p; p++) {
                if (*p == '\\') {
                        out[n++] = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + p[3] - '0');
                        p += 3;
                } else {
                        out[n++] = *p;
                }
        }
        return n;
}

static void test_literal(void **state)
{
        (void)state;
        struct arena *arena = arena_new();
        char bytes[1024], back[1024];
        for (int i = 0; i < 1024; i++)
                bytes[i] = (char)(i < 256 ? i : i * 37 + i / 7);
        char *body = text_literal(arena, bytes, sizeof bytes);
        assert_null(strpbrk(body, "\"?\n"));
        for (const char *p = body; *p; p++)
                assert_true(*p >= ' ' && *p <= '~');
        assert_int_equal(literal_value(body, back), sizeof bytes);
        assert_memory_equal(bytes, back, sizeof bytes);
        assert_string_equal(text_literal(arena, "a1\0002", 4), "a1\\0002");
        assert_string_equal(text_literal(arena, "?\?/\"\\", 5), "\\077\\077/\\042\\134");
        arena_free(arena);
}

static void test_growing_text(void **state)
{
        (void)state;
        struct text text = { 0 };
        for (int i = 0; i < 10000; i++) {
                text_add(&text, "%d,", i % 10);
                assert_int_equal(text.length, 2 * (size_t)i + 2);
                assert_int_equal(text.data[text.length], 0);
        }
        char big[5000];
        memset(big, 'x', sizeof big - 1);
        big[sizeof big - 1] = 0;
        text_add(&text, "%s", big);
        text_add_bytes(&text, "a\0b", 3);
        assert_int_equal(text.length, 20000 + 4999 + 3);
        assert_memory_equal(text.data + text.length - 4, "xa\0b", 5);
        text_free(&text);
        assert_null(text.data);
}

/* ---- maps ---- */

static void test_map(void **state)
{
        (void)state;
        enum { MANY = 200000 };
        struct arena *arena = arena_new();
        struct map *map = map_new(arena);
        int *values = arena_array(arena, MANY, sizeof *values);
        for (int i = 0; i < MANY; i++) {
                char key[16];
                int length = snprintf(key, sizeof key, "%d", i);
                assert_null(map_get(map, key, (size_t)length));
                map_set(map, key, (size_t)length, &values[i]);
        }
        for (int i = 0; i < MANY; i++) {
                char key[16];
                int length = snprintf(key, sizeof key, "%d", i);
                assert_ptr_equal(map_get(map, key, (size_t)length), &values[i]);
        }
        assert_int_equal(map_count(map), MANY);
        map_set(map, "7", 1, &values[8]);
        assert_ptr_equal(map_get(map, "7", 1), &values[8]);
        assert_int_equal(map_count(map), MANY);
        map_set(map, "a\0b", 3, &values[1]);            /* keys are bytes */
        map_set(map, "a\0c", 3, &values[2]);
        map_set(map, "a", 1, &values[3]);
        map_set(map, "", 0, &values[4]);
        assert_ptr_equal(map_get(map, "a\0b", 3), &values[1]);
        assert_ptr_equal(map_get(map, "a", 1), &values[3]);
        assert_ptr_equal(map_get(map, "", 0), &values[4]);
        arena_free(arena);
}

/* ---- numbers ---- */

static void check_number(struct arena *arena, double value, bool is_float, const char *want)
{
        char *text = text_number(arena, value, is_float);
        if (want)
                assert_string_equal(text, want);
        if (strlen(text) > 25 || !strpbrk(text, ".eni"))
                fail_msg("%s", text);
        double back = is_float ? (double)strtof(text, NULL) : strtod(text, NULL);
        if (!isnan(value) && (back != value || signbit(back) != signbit(value)))
                fail_msg("%a became %s", value, text);
}

static void test_numbers(void **state)
{
        (void)state;
        struct arena *arena = arena_new();
        static const struct { double value; bool is_float; const char *want; } cases[] = {
                { 0, true, "0.0" }, { -0.0, true, "-0.0" }, { 1, false, "1.0" }, { 0.1f, true, "0.1" }, { 0.1, false, "0.1" },
                { 0.1f, false, "0.10000000149011612" }, { 1e30f, true, "1e+30" }, { 16777216, true, "16777216.0" },
                { FLT_MAX, true, "3.4028235e+38" }, { FLT_TRUE_MIN, true, "1e-45" }, { DBL_TRUE_MIN, false, "5e-324" },
                { DBL_MAX, false, "1.7976931348623157e+308" }, { INFINITY, true, "inf" }, { -INFINITY, false, "-inf" },
                { NAN, true, "nan" }, { 123456789, false, "123456789.0" }, { FLT_MIN, true, NULL }, { DBL_MIN, false, NULL },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                check_number(arena, cases[i].value, cases[i].is_float, cases[i].want);
        uint64_t seed = 1;
        for (int i = 0; i < 20000; i++) {
                seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                uint32_t low = (uint32_t)(seed >> 32);
                float f;
                double d;
                memcpy(&f, &low, sizeof f);
                memcpy(&d, &seed, sizeof d);
                if (!isnan(f))
                        check_number(arena, f, true, NULL);
                if (!isnan(d))
                        check_number(arena, d, false, NULL);
        }
        arena_free(arena);
}

/* ---- digests ---- */

static void check_digest(const char *bytes, size_t length, size_t step, const char *want)
{
        for (int plain = 0; plain < 2; plain++) {
                struct sha256 sha;
                char hex[65];
                sha256_init(&sha);
                sha.plain |= plain;
                for (size_t at = 0; at < length; at += step)
                        sha256_update(&sha, bytes + at, length - at < step ? length - at : step);
                sha256_hex(&sha, hex);
                assert_string_equal(hex, want);
        }
}

static void test_crc32c(void **state)
{
        (void)state;
        unsigned char bytes[32] = { 0 };
        assert_int_equal(crc32c("123456789", 9), 0xe3069283u);  /* RFC 3720's examples, and that */
        assert_int_equal(crc32c(bytes, 32), 0x8a9136aau);
        assert_int_equal(crc32c(bytes, 0), 0);
        memset(bytes, 255, sizeof bytes);
        assert_int_equal(crc32c(bytes, 32), 0x62a8ab43u);
        for (int i = 0; i < 32; i++)
                bytes[i] = (unsigned char)i;
        assert_int_equal(crc32c(bytes, 32), 0x46dd794eu);
}

static void test_sha256(void **state)
{
        (void)state;
        static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        char *million = malloc(1000000);
        memset(million, 'a', 1000000);
        for (size_t step = 1; step < 130; step += 7) {  /* FIPS 180-4's examples, in pieces */
                check_digest("", 0, step, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
                check_digest("abc", 3, step, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
                check_digest(two_blocks, 56, step, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        }
        check_digest(million, 1000000, 4096 + 13, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
        free(million);
}

/* ---- diagnostics ---- */

static void test_diag(void **state)
{
        (void)state;
        char *said = NULL;
        size_t length;
        struct diag diag = { .subject = "m.onnx", .stream = open_memstream(&said, &length) };
        diag_note(&diag, "not shown");
        diag_warning(&diag, "first %d", 1);
        diag_error(&diag, EXIT_INVALID, "bad %s", "node");
        diag.place = "line 7";
        diag_error(&diag, EXIT_IO, "second");
        diag.place = NULL;
        diag.verbosity = 1;
        diag_note(&diag, "shown");
        diag.verbosity = -1;
        diag_warning(&diag, "counted only");
        fclose(diag.stream);
        assert_string_equal(said, "m.onnx: warning: first 1\nm.onnx: error: bad node\nm.onnx: error: line 7: second\n"
                                  "m.onnx: note: shown\n");
        assert_int_equal(diag.errors, 2);
        assert_int_equal(diag.warnings, 2);
        assert_int_equal(diag.code, EXIT_INVALID);
        free(said);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_elements), cmocka_unit_test(test_sizes), cmocka_unit_test(test_arena),
                cmocka_unit_test(test_arena_grow), cmocka_unit_test(test_store), cmocka_unit_test(test_store_reuse),
                cmocka_unit_test(test_identifiers), cmocka_unit_test(test_many_names),
                cmocka_unit_test(test_safe),
                cmocka_unit_test(test_suggest), cmocka_unit_test(test_remark), cmocka_unit_test(test_literal), cmocka_unit_test(test_growing_text),
                cmocka_unit_test(test_map), cmocka_unit_test(test_numbers), cmocka_unit_test(test_crc32c), cmocka_unit_test(test_sha256),
                cmocka_unit_test(test_diag),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
