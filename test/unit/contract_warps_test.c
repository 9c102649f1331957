/* SPDX-License-Identifier: MIT */
/* convolve_packed by blocks of warps: products of matrices and convolutions of many shapes and schedules, with what their fusion
 * makes of the sums, against the canonical nest; copies at once and as late as may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/interp/interp_code.h"
#include "ir/loop/loop_grid.h"
#include "ir/lower/lower.h"
#include "kernels/kernels.h"
#include "ir/target/target.h"

extern const struct target target_generic;

#define WARP(called, x_, sum_) \
        { .name = called, .positions = 16, .outputs = 8, .depth = 2, .channels = 8, \
          .x = { .memory = E_##x_, .word = E_##sum_, .source = SOURCE_WARP }, \
          .w = { .memory = E_##x_, .word = E_##sum_, .source = SOURCE_WARP }, .sum = E_##sum_, .body = "add_product", \
          .order = ORDER_APART, .instructions = 1, .registers = 32 }
static const struct multiply multiplies[] = { WARP("f16", F16, F32), WARP("bf16", BF16, F32), { 0 } };
static const struct target warps = { .name = "warps", .base = &target_generic, .engine = &engine_grid, .multiplies = multiplies };
static const struct gpu gpu = { .multiprocessors = 3, .cluster = 4, .shared_bytes = 65536 };
static const struct target clusters = { .name = "clusters", .base = &target_generic, .engine = &engine_grid, .multiplies = multiplies, .gpu = &gpu };

/* x [1, blocks, positions.., block], w [panels, blocks, window.., block / 8, vectors, 64]; the fusion adds b [outputs] and takes
 * the greater of that and 0, or is nothing */
struct shape {
        int batch, groups, rows, columns, window, stride, channels, blocks, outputs, vectors;
        bool f32;                       /* the result is, too */
        const char *schedule;
};
static const struct shape shapes[] = {
        /* a product; positions and outputs that tiles do not divide; several blocks */
        { 1, 1, 0, 64, 1, 1, 64, 1, 32, 4, true, "tile=64 warps=2 panels=1 stages=3 depth=32" },
        { 1, 1, 0, 50, 1, 1, 64, 1, 40, 4, true, "tile=32 warps=2 panels=2 stages=2 depth=16" },
        { 1, 1, 0, 200, 1, 1, 128, 1, 130, 8, true, "tile=64 warps=4 panels=2 stages=4 depth=64" },
        { 1, 1, 0, 17, 1, 1, 16, 1, 8, 1, true, "tile=16 warps=1 panels=1 stages=5 depth=16" },
        { 1, 1, 0, 33, 1, 1, 48, 1, 100, 4, false, "tile=32 warps=1 panels=3 stages=3 depth=16" },
        /* parts: of a cluster where there are; of none of so many, or where a share is no whole number for each lane */
        { 1, 1, 0, 50, 1, 1, 64, 1, 40, 4, true, "tile=32 warps=2 panels=2 stages=2 depth=16 parts=2" },
        { 1, 3, 0, 20, 1, 1, 64, 1, 24, 4, false, "tile=32 warps=2 panels=1 stages=3 depth=16 parts=4" },
        { 1, 1, 0, 20, 1, 1, 128, 1, 24, 4, false, "tile=32 warps=2 panels=1 stages=3 depth=16 parts=8" },
        { 1, 1, 0, 17, 1, 1, 32, 1, 8, 1, true, "tile=16 warps=1 panels=1 stages=5 depth=16 parts=2" },
        { 2, 1, 9, 11, 3, 1, 32, 1, 64, 8, false, "tile=64 warps=4 panels=1 stages=4 depth=32 parts=3" },
        /* whole rows of a cluster; with parts and images; of none of so many, of one that has all outputs, and where rows are no sums */
        { 1, 1, 0, 50, 1, 1, 64, 1, 100, 4, true, "tile=32 warps=2 panels=1 stages=2 depth=16 row_clusters=1" },
        { 2, 1, 0, 50, 1, 1, 64, 1, 100, 4, true, "tile=16 warps=1 panels=2 stages=3 depth=16 parts=2 row_clusters=1" },
        { 1, 1, 9, 11, 3, 1, 32, 1, 128, 8, true, "tile=16 warps=1 panels=1 stages=3 depth=16 row_clusters=1" },
        { 1, 1, 0, 50, 1, 1, 64, 1, 260, 4, true, "tile=16 warps=1 panels=1 stages=2 depth=16 row_clusters=1" },
        { 1, 1, 0, 50, 1, 1, 64, 1, 100, 4, true, "tile=16 warps=1 panels=4 stages=2 depth=16 row_clusters=1" },
        { 1, 1, 0, 50, 1, 1, 64, 1, 100, 4, false, "tile=32 warps=2 panels=1 stages=2 depth=16 row_clusters=1" },
        /* groups, as products of several matrices are; images */
        { 1, 3, 0, 20, 1, 1, 32, 1, 24, 4, true, "tile=32 warps=2 panels=1 stages=3 depth=32" },
        { 2, 1, 0, 20, 1, 1, 32, 1, 24, 2, true, "tile=16 warps=1 panels=2 stages=2 depth=32" },
        /* convolutions: windows, strides, channels in blocks */
        { 1, 1, 9, 11, 3, 1, 32, 1, 64, 8, false, "tile=64 warps=4 panels=1 stages=4 depth=32" },
        { 1, 1, 10, 12, 3, 2, 16, 2, 32, 4, true, "tile=16 warps=1 panels=1 stages=3 depth=16" },
        { 2, 2, 8, 8, 2, 1, 64, 1, 16, 2, false, "tile=48 warps=3 panels=1 stages=3 depth=64" },
};

static void put_dims(struct text *t, const char *element, int count, const int *dims)
{
        text_add(t, "<");
        for (int i = 0; i < count; i++)
                text_add(t, "%d x ", dims[i]);
        text_add(t, "%s>", element);
}

static int result_of(int extent, const struct shape *s) { return (extent - s->window) / s->stride + 1; }

static void put_module(struct text *t, const struct shape *s, const char *element, bool scheduled)
{
        int spatial = s->rows ? 2 : 1, rank = spatial + 3;
        int x[5] = { s->batch, s->groups * s->blocks }, y[5] = { s->batch, s->groups }, w[7] = { 0 };
        int width = s->vectors * 8, panels = (s->outputs + width - 1) / width;
        int *at = x + 2, *to = y + 2, *window = w + 2;
        if (s->rows) {
                *at++ = s->rows;
                *to++ = result_of(s->rows, s);
                *window++ = s->window;
        }
        *at++ = s->columns;
        *to++ = result_of(s->columns, s);
        *window++ = s->window;
        *at = s->channels;
        *to = s->outputs;
        w[0] = s->groups * panels;
        w[1] = s->blocks;
        window[0] = s->channels / 8;
        window[1] = s->vectors;
        window[2] = 64;
        text_add(t, "dnn 3\nmodule \"test\"\nfunc @main(%%x \"x\": ");
        put_dims(t, element, rank, x);
        text_add(t, ", %%w \"w\": ");
        put_dims(t, element, rank + 2, w);
        text_add(t, ", %%b \"b\": <%d x f32>) -> (\"y\") {\n  %%0 = fusion(%%x, %%w, %%b) : ", s->outputs);
        put_dims(t, s->f32 ? "f32" : element, rank, y);
        text_add(t, " {\n    %%1 = convolve_packed(%%x, %%w) strides=[%d%s", s->stride, s->rows ? "" : "]");
        if (s->rows)
                text_add(t, ", %d] dilations=[1, 1]", s->stride);
        else
                text_add(t, " dilations=[1]");
        text_add(t, " groups=%d channels=%d outputs=%d block=%d accumulator=f32", s->groups, s->blocks * s->channels, s->outputs, s->outputs);
        if (scheduled)
                text_add(t, " schedule=\"%s\"", s->schedule);
        text_add(t, " : ");
        put_dims(t, "f32", rank, y);
        text_add(t, "\n    %%2 = broadcast(%%b) dims=[%d] : ", rank - 1);
        put_dims(t, "f32", rank, y);
        text_add(t, "\n    %%3 = add(%%1, %%2) : ");
        put_dims(t, "f32", rank, y);
        if (!s->f32) {
                text_add(t, "\n    %%4 = cast(%%3) to=%s : ", element);
                put_dims(t, element, rank, y);
        }
        text_add(t, "\n    yield(%%%d)\n  }\n  yield(%%0)\n}\n", s->f32 ? 3 : 4);
}

struct run { struct diag diag; char *said; size_t length; struct arena *arena; struct loop_library *library; };

static void run_open(struct run *r)
{
        memset(r, 0, sizeof *r);
        r->arena = arena_new();
        r->diag.subject = "test";
        r->diag.stream = open_memstream(&r->said, &r->length);
        r->library = loop_library_new(r->arena, &r->diag);
}

static void run_close(struct run *r)
{
        fclose(r->diag.stream);
        free(r->said);
        arena_free(r->arena);
}

/* runs it; `grid`: it must be, or must not be, in grid form. The number of elements of y, whose bytes are in *y. */
static int64_t run_shape(const struct shape *s, const char *element, const struct target *target, bool late, void *const data[3], unsigned char **y)
{
        const bool scheduled = target != NULL;
        struct run r;
        struct text t = { 0 };
        run_open(&r);
        put_module(&t, s, element, scheduled);
        struct module *m = tensor_parse(t.data, t.length, NULL, NULL, &r.diag);
        fflush(r.diag.stream);
        if (!m)
                fail_msg("%s\nfor\n%s", r.said, t.data);
        const struct lower_options options = { .target = target ? target : &warps, .scheduler = &kernels_scheduler, .threads = 1, .views = true };
        struct loop_program *p = lower_module(m, m->functions, r.library, &options, &r.diag);
        bool good = p && loop_verify(p, &r.diag);
        fflush(r.diag.stream);
        if (getenv("SHOW") && p) {
                struct text shown = { 0 };
                loop_print(&shown, p, NULL);
                fprintf(stderr, "%s\n", shown.data);
                text_free(&shown);
        }
        if (!good)
                fail_msg("%s\nfor\n%s", r.said, t.data);
        if (loop_is_grid(p->kernels) != scheduled)
                fail_msg("not as it is scheduled:\n%s", t.data);
        const struct loop_buffer *b = p->buffers;
        while (b->space != SPACE_OUTPUT)
                b = b->next;
        int64_t bytes = b->extent * element_info[b->element].bytes, count = b->extent;
        *y = calloc(1, (size_t)bytes);
        const struct interp_options modes = { .late = late };
        struct interp *interp = interp_new_with(p, &modes, &r.diag);
        assert_int_equal(interp_run(interp, (const void *const *)data, (void *const[]){ *y }, 0, NULL), INTERP_OK);
        interp_free(interp);
        text_free(&t);
        module_free(m);
        run_close(&r);
        return count;
}

static void *numbers(enum element e, int64_t count, int seed)
{
        unsigned char *data = calloc((size_t)count, (size_t)element_info[e].bytes);
        for (int64_t i = 0; i < count; i++)
                element_store(e, data, (size_t)i, (union scalar){ .f = (double)((i * 7919 + seed * 31) % 9 - 4) });
        return data;
}

/* whole numbers, whose sums f32 holds: the same to the bit */
static void test_shapes(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
                const struct shape *s = &shapes[i];
                int width = s->vectors * 8, panels = (s->outputs + width - 1) / width, rows = s->rows ? s->rows : 1;
                int area = s->rows ? s->window * s->window : s->window;
                enum element e = i % 2 ? E_F16 : E_BF16;
                const char *element = element_info[e].text;
                void *data[3] = {
                        numbers(e, (int64_t)s->batch * s->groups * s->blocks * rows * s->columns * s->channels, 1),
                        numbers(e, (int64_t)s->groups * panels * s->blocks * area * s->channels * width, 2),
                        numbers(E_F32, s->outputs, 3),
                };
                unsigned char *want, *got;
                int64_t count = run_shape(s, element, NULL, false, data, &want);
                int bytes = element_info[s->f32 ? E_F32 : e].bytes;
                for (int way = 0; way < 4; way++) {
                        run_shape(s, element, way / 2 ? &clusters : &warps, way % 2, data, &got);
                        if (memcmp(want, got, (size_t)(count * bytes)))
                                fail_msg("shape %zu, %s, late %d: other results", i, way / 2 ? "clusters" : "none", way % 2);
                        free(got);
                }
                free(want);
                for (int k = 0; k < 3; k++)
                        free(data[k]);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_shapes) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
