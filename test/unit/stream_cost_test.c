/* SPDX-License-Identifier: MIT */
/* engines/stream/stream_cost.c against worked figures: programs written by hand (test/vta/vta_convolution.py), whose cycles the cycle model counts
 * instruction by instruction. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codegen/vta/vta.h"
#include "engines/stream/stream_cost.h"

static const struct layer { int size, inputs, outputs, window, stride, tile[3]; int64_t cycles; } layers[] = {
        { 56, 64, 64, 3, 1, { 4, 14, 14 }, 532662 },
        { 56, 64, 128, 3, 2, { 8, 7, 14 }, 270035 },
        { 56, 64, 128, 1, 2, { 8, 7, 14 }, 71457 },
        { 28, 128, 128, 3, 1, { 4, 7, 28 }, 494137 },
        { 28, 128, 256, 3, 2, { 8, 7, 14 }, 250713 },
        { 28, 128, 256, 1, 2, { 8, 7, 14 }, 54207 },
        { 14, 256, 256, 3, 1, { 4, 14, 14 }, 475061 },
        { 14, 256, 512, 3, 2, { 8, 7, 7 }, 241639 },
        { 14, 256, 512, 1, 2, { 16, 7, 7 }, 43267 },
        { 7, 512, 512, 3, 1, { 8, 7, 7 }, 466849 },
};
enum { LAYERS = sizeof layers / sizeof *layers };

static struct stream_work work_of(const struct layer *l)
{
        const int extent = (l->size + (l->window == 3 ? 2 : 0) - l->window) / l->stride + 1;
        return (struct stream_work){ .inputs = l->inputs / 16, .outputs = l->outputs / 16, .extent = { extent, extent },
                                     .window = { l->window, l->window }, .strides = { l->stride, l->stride }, .dilations = { 1, 1 },
                                     .read = { l->size, l->size }, .pad = { l->window == 3, l->window == 3 }, .added = 1,
                                     .immediates = 3, .tensors = 1 };
}

static struct schedule_stream of_hand(const struct layer *l)
{
        struct schedule_stream s = schedule_preset(SCHEDULE_stream).stream;
        s.tile_outputs = l->tile[0], s.tile_inputs = 1, s.tile_rows = l->tile[1], s.tile_columns = l->tile[2];
        return s;
}

static void worked(void **state)
{
        (void)state;
        for (int i = 0; i < LAYERS; i++) {
                const struct layer *l = &layers[i];
                struct stream_work w = work_of(l);
                const struct schedule_stream s = of_hand(l);
                assert_true(stream_fits(&w, &s, &machine_vta));
                const struct stream_cost c = stream_cost(&w, &s, &machine_vta);
                print_message("%d: %lld, worked %lld (%+.2f %%) read %lld\n", i + 2, (long long)c.cycles, (long long)l->cycles,
                              100.0 * ((double)c.cycles / (double)l->cycles - 1), (long long)c.read);
                /* weights that stay are loaded again there, which takes most of a layer of windows of 1 x 1 */
                assert_in_range(1000 * c.cycles, (l->window == 1 ? 950 : 1000) * l->cycles, (l->window == 1 ? 1005 : 1012) * l->cycles);
        }
}

/* what is chosen, with biases as products (engines/stream/offload.c), takes no longer than what was worked by hand, nor than that tile would
 * but for half a percent */
static void chosen(void **state)
{
        (void)state;
        int64_t read = 0, cycles = 0;
        static const int times[LAYERS] = { 4, 1, 1, 3, 1, 1, 3, 1, 1, 3 };
        for (int i = 0; i < LAYERS; i++) {
                struct stream_work w = work_of(&layers[i]);
                struct schedule_stream s = schedule_preset(SCHEDULE_stream).stream;
                const struct schedule_stream hand = of_hand(&layers[i]);
                struct stream_cost c;
                w.added = w.tensors = 0;
                w.fixed = 1;
                assert_true(stream_tiles(&w, &machine_vta, 2, &s, &c));
                print_message("%d: %lld, by hand %lld; %d %d %d %d %s read %lld %s\n", i + 2, (long long)c.cycles,
                              (long long)layers[i].cycles, s.tile_outputs, s.tile_inputs, s.tile_rows, s.tile_columns,
                              s.positions_first ? "positions" : "outputs", (long long)c.read, stream_bound(&c));
                assert_true(c.cycles <= layers[i].cycles);
                assert_true(1000 * c.cycles <= 1005 * stream_cost(&w, &hand, &machine_vta).cycles);
                read += times[i] * (c.read + c.written);
                cycles += times[i] * c.cycles;
        }
        print_message("all: %lld cycles, %lld bytes\n", (long long)cycles, (long long)read);
        assert_true(cycles <= 7370107);
}

/* with one part of each memory nothing overlaps */
static void serial(void **state)
{
        (void)state;
        struct stream_work w = work_of(&layers[6]);
        struct schedule_stream s = schedule_preset(SCHEDULE_stream).stream;
        struct stream_cost one, two;
        assert_true(stream_tiles(&w, &machine_vta, 1, &s, &one));
        assert_int_equal(s.contexts, 1);
        assert_true(stream_tiles(&w, &machine_vta, 2, &s, &two));
        print_message("%lld %lld\n", (long long)one.cycles, (long long)two.cycles);
        assert_true(10 * one.cycles > 11 * two.cycles);
}

static void no_tile(void **state)
{
        (void)state;
        struct stream_work w = work_of(&layers[0]);
        struct schedule_stream s = schedule_preset(SCHEDULE_stream).stream;
        struct stream_cost c;
        w.window[0] = w.window[1] = 64;          /* more weights than the memory has */
        assert_false(stream_tiles(&w, &machine_vta, 2, &s, &c));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(worked), cmocka_unit_test(chosen), cmocka_unit_test(serial),
                                            cmocka_unit_test(no_tile) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
