/* SPDX-License-Identifier: MIT */
/* Partitions by predicted time: the sum is the least of all that there are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engines/stream/launch_partition.h"

enum { MOST = 9 };

static double sum_of(const struct launch_times *t, int count, const bool *machine)
{
        double sum = 0;
        for (int k = 0; k < count; k++) {
                sum += machine[k] ? t[k].machine : t[k].processor;
                sum += machine[k] && (!k || !machine[k - 1]) ? t[k].enter : 0;
                sum += machine[k] && (k == count - 1 || !machine[k + 1]) ? t[k].leave : 0;
        }
        return sum;
}

static double least_of_all(const struct launch_times *t, int count)
{
        double least = INFINITY;
        for (unsigned choice = 0; choice < 1u << count; choice++) {
                bool machine[MOST] = { 0 };
                for (int k = 0; k < count; k++)
                        machine[k] = choice >> k & 1;
                least = fmin(least, sum_of(t, count, machine));
        }
        return least;
}

static void test_against_all(void **state)
{
        (void)state;
        srand(1);
        for (int seed = 0; seed < 3000; seed++) {
                struct launch_times t[MOST];
                bool machine[MOST];
                struct arena *arena = arena_new();
                const int count = rand() % (MOST + 1);
                for (int k = 0; k < count; k++)
                        t[k] = (struct launch_times){ rand() % 100, rand() % 4 ? rand() % 60 : INFINITY, rand() % 60, rand() % 20 };
                const double least = launches_choose(t, count, arena, machine);
                assert_true(least == least_of_all(t, count));
                assert_true(least == sum_of(t, count, machine));
                arena_free(arena);
        }
}

/* a layer that is slower there stays between two that are not where a second launch costs more */
static void test_launches_count(void **state)
{
        (void)state;
        struct arena *arena = arena_new();
        bool machine[3];
        struct launch_times t[3] = { { 1000, 100, 50, 0 }, { 10, 40, 50, 0 }, { 1000, 100, 50, 0 } };
        assert_true(launches_choose(t, 3, arena, machine) == 290 && machine[0] && machine[1] && machine[2]);
        t[2].enter = 20;
        assert_true(launches_choose(t, 3, arena, machine) == 280 && machine[0] && !machine[1] && machine[2]);
        t[0].processor = t[2].processor = 110;          /* no launch is worth it */
        assert_true(launches_choose(t, 3, arena, machine) == 230 && !machine[0] && !machine[1] && !machine[2]);
        arena_free(arena);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_against_all), cmocka_unit_test(test_launches_count) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
