/* Rates: what a target says, what its bases say, and neutral ones in the end; of multiplies too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/targets.h"
#include "ir/rates.h"

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

static void test_what_a_target_does_not_say(void **state)
{
        (void)state;
        assert_true(rate_memory(&chip) == 9 && rate_memory(&same) == 7 && rate_memory(&set) == 7);
        assert_true(rate_issue(&chip) == 4);
#define RATE(name, neutral, unit, doc) assert_true(rate_##name(NULL) == (neutral) && (neutral) > 0);
#include "ir/rates.def"
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
                assert_true(!p || (t->base && !t->attribute && !t->spellings && !t->multiplies));
                for (; p && p->vendor; p++)
                        assert_true(p->family > 0 && p->first <= p->last);
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_a_target_does_not_say),
                cmocka_unit_test(test_multiplies),
                cmocka_unit_test(test_processors),
                cmocka_unit_test(test_the_table),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
