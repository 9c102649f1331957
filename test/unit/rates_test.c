/* SPDX-License-Identifier: MIT */
/* Rates: what a target says, what its bases say, and neutral ones in the end; of multiplies too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/cpu.h"
#include "codegen/targets.h"
#include "ir/target/cache_sets.h"
#include "ir/target/rates.h"

static const struct multiply own = { .name = "own", .instructions = 3 },
                             other = { .name = "other", .instructions = 3 },
                             tile = { .name = "tile", .instructions = 1, .registers = 8 };

static const struct target set = { .name = "set",
                                   .rates = &(const struct rates){ .issue = 4, .memory = 7 } },
                           same = { .name = "same", .base = &set },
                           chip = { .name = "chip",
                                    .base = &same,
                                    .rates = &(const struct rates){
                                            .memory = 9,
                                            .multiplies = (const struct multiply_rate[]){
                                                    { "own", .5 }, { 0 } } } };

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool listed(const char *const *list, size_t count, const char *name)
{
        for (size_t i = 0; i < count; i++)
                if (!strcmp(list[i], name))
                        return true;
        return false;
}

static void test_what_a_target_does_not_say(void **state)
{
        (void)state;
        assert_true(rate_memory(&chip) == 9 && rate_memory(&same) == 7 && rate_memory(&set) == 7);
        assert_true(rate_issue(&chip) == 4);
        /* 0 is what a target does not say: what may be nothing at all is 0 for it, too */
        static const char *const nothing[] = { "load_wait", "starts", "packed_decode", "code_load_wait", "code_branch_wait",
                                               "code_rows", "lanes_window", "stack_function" };
#define RATE(name, neutral, unit, doc) \
        assert_true(rate_##name(NULL) == (neutral) && ((neutral) > 0) == !listed(nothing, COUNT(nothing), #name));
#include "ir/target/rates.def"
        assert_true(rate_l2(&chip) == rate_l2(NULL));
}

static void test_multiplies(void **state)
{
        (void)state;
        assert_true(rate_multiply(&chip, &own) == .5);
        assert_true(rate_multiply(&same, &own) == 3.0 / 4);
        assert_true(rate_multiply(&chip, &other) == 3.0 / 4);
        assert_true(rate_multiply(&chip, NULL) == 2.0 / 4);
        assert_true(rate_multiply(&chip, &tile) == rate_tile_multiply(&chip));
}

/* A processor says what it is, and no instructions. */
static void test_processors(void **state)
{
        (void)state;
        const struct target *t;
        for (int k = 0; (t = target_at(k)); k++) {
                const struct processor *p = t->processors;
                assert_true(!p || (t->base && !t->attribute && !t->capabilities && !t->multiplies));
                for (; p && p->vendor; p++)
                        assert_true(p->family > 0 && p->first <= p->last);
        }
}

/* What Linux says of processors of ARM: all alike, of two kinds, and of none that is known. */
static void test_cpuinfo(void **state)
{
        (void)state;
        static const struct processor small[] = { { "0x41", 8, 0xd03, 0xd03 }, { 0 } },
                                      large[] = { { "0x41", 8, 0xd0b, 0xd0c }, { 0 } },
                                      apple[] = { { "0x61", 8, 0x22, 0x25 }, { 0 } };
        static const struct {
                const char *text;
                bool small, large, apple;
        } cases[] = {
                { "processor\t: 0\nBogoMIPS\t: 38.40\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
                  "CPU variant\t: 0x0\nCPU part\t: 0xd03\nCPU revision\t: 4\n", true, false, false },
                { "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd03\n\n"
                  "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0b\n", true, true, false },
                { "CPU implementer : 0x61\r\nCPU architecture : 8\r\nCPU part : 0x023", false, false, true },
                { "CPU implementer\t: 0x61\nCPU architecture: 8\nCPU part\t: 0xd03\n", false, false, false },
                { "CPU implementer\t: 0x41\nCPU architecture: 7\nCPU part\t: 0xd03\n", false, false, false },
                { "CPU part\t: 0xd03\nCPU implementer\t: 0x41\n", false, false, false },
                { "CPU implementer\nCPU part\nCPU parts\t: 0xd03\nCPU part\t: many\n", false, false, false },
                { "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n", false, false, false },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                for (int which = 0; which < 3; which++) {
                        FILE *text = fmemopen((void *)(uintptr_t)cases[i].text, strlen(cases[i].text), "r");
                        assert_non_null(text);
                        assert_int_equal(cpu_is_listed(text, which == 0 ? small : which == 1 ? large : apple),
                                         which == 0 ? cases[i].small : which == 1 ? cases[i].large : cases[i].apple);
                        fclose(text);
                }
}

/* Rates of multiplies are of such as the target has. */
static void test_the_table(void **state)
{
        (void)state;
        const struct target *t;
        const struct multiply *m;
        for (int k = 0; (t = target_at(k)); k++) {
                const struct multiply_rate *r = t->rates ? t->rates->multiplies : NULL;
                for (; r && r->name; r++) {
                        bool found = false;
                        for (int i = 0; (m = multiply_at(t, i)); i++)
                                found |= !strcmp(m->name, r->name);
                        assert_true(found && r->cycles > 0);
                }
        }
}

/* Returns how many of `count` lines `step` bytes apart a cache does not keep: each set keeps as
 * many as it has ways. */
static int64_t counted_excess(int64_t way, int64_t ways, int64_t line, int64_t count, int64_t step)
{
        int64_t held[1024] = { 0 }, most = 0, used = 0;
        for (int64_t i = 0; i < count; i++) {
                const int64_t place = i * step % way / line;
                used += !held[place];
                held[place]++;
                most = held[place] > most ? held[place] : most;
        }
        return most > ways ? count - ways * used : 0;
}

static void test_sets_of_a_cache(void **state)
{
        (void)state;
        static const struct target line = { .name = "line", .line_bytes = 64 },
                                   far = { .name = "far", .base = &line, .l1_bytes = 32768, .l1_way_bytes = 4096 },
                                   two = { .name = "two", .base = &line, .l1_bytes = 32768, .l1_way_bytes = 16384 };
        assert_int_equal(cache_sets_excess(&line, 100, 4096), 0);        /* nobody knows */
        assert_int_equal(cache_sets_excess(&far, 14, 12288), 6);
        assert_int_equal(cache_sets_excess(&far, 14, 6144), 0);  /* two sets */
        assert_int_equal(cache_sets_excess(&two, 14, 12288), 6); /* four sets of two ways */
        for (int64_t step = 64; step <= 40000; step += 64)
                for (int64_t count = 1; count <= 64; count++) {
                        assert_int_equal(cache_sets_excess(&far, count, step) > 0,
                                         counted_excess(4096, 8, 64, count, step) > 0);
                        assert_int_equal(cache_sets_excess(&two, count, step) > 0,
                                         counted_excess(16384, 2, 64, count, step) > 0);
                }
        for (int64_t bytes = 1; bytes <= 70000; bytes++) {
                const int64_t pitch = cache_sets_pitch(&far, bytes);
                assert_true(pitch >= bytes && pitch < bytes + 128);
                assert_int_equal(cache_sets_excess(&far, CACHE_SETS_ROWS, pitch), 0);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_a_target_does_not_say),
                cmocka_unit_test(test_multiplies),
                cmocka_unit_test(test_processors),
                cmocka_unit_test(test_cpuinfo),
                cmocka_unit_test(test_the_table),
                cmocka_unit_test(test_sets_of_a_cache),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
