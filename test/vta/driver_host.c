/* SPDX-License-Identifier: MIT */
/* Runs generated code that drives a machine, with its simulator as the device, or with one that fails.
 *
 *     driver_host bits INPUT.. OUTPUT..      files of bytes; --weights FILE in front
 *     driver_host orders N INPUT.. OUTPUT..  N samples in each file, every one in each order of stages and with each poison: all the same,
 *                                            or exit 1
 *     driver_host codes                      every way that a device can fail: exit 0, or the one that ended otherwise
 *
 * Compiled with -DHEADER="model.h" -DMODEL=model -DNAME_(x)=MODEL_##x. With -DPLAIN for C that has no machine,
 * -DUNIFIED for one with a unified buffer and not a VTA, -DBYTES=N for more memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include HEADER
#include "codegen/machines/simulator.h"
#ifdef UNIFIED
#include "codegen/unified/unified.h"
#define INSTRUCTIONS unified_set
#define DEVICE(name) dnncc_unified_##name
#define TIMEOUT DNNCC_UNIFIED_TIMEOUT
#else
#include "codegen/vta/vta.h"
#define INSTRUCTIONS vta_set
#define DEVICE(name) dnncc_vta_##name
#define TIMEOUT DNNCC_VTA_TIMEOUT
#endif

#define JOIN(a, b) a##b
#define CALLED(prefix, name) JOIN(prefix, name)

#ifndef BYTES
#define BYTES (1 << 24)
#endif
enum { PAGE = 4096 };
static unsigned char memory[BYTES] __attribute__((aligned(PAGE)));

enum mode {
        FINE, NOWHERE, UNALIGNED, HIGH, LAST, FIRST_PAGE, SAME, OVERLAP, ELSEWHERE, NO_FLUSH, NO_INVALIDATE, NO_LAUNCH, LATE, GONE, STRANGE, MODES
};
struct way { uint64_t seed; unsigned char poison; struct simulator *simulator; };    /* that a machine may go */
struct device { struct isa isa; struct way way; enum mode mode; int ended, calls; };

static struct way way_of(const struct device *d, uint64_t seed, unsigned char poison)
{
        return (struct way){ seed, poison, simulator_new(&d->isa, seed, poison) };
}

/* ---- the five functions ---- */

#ifndef PLAIN

uint64_t DEVICE(address)(void *device, const void *at, size_t bytes)
{
        struct device *d = device;
        const uint64_t address = (uint64_t)((const unsigned char *)at - memory);
        switch (d->mode) {
        case NOWHERE: return UINT64_MAX;
        case UNALIGNED: return address + 16;
        case HIGH: return address + (UINT64_C(1) << 32);
        case LAST: return (UINT64_C(1) << 32) - bytes / 2 / 256 * 256;
        case FIRST_PAGE: return 256;
        case SAME: return PAGE;
        case OVERLAP: return PAGE + 256 * (uint64_t)(d->calls++ % 2);
        case ELSEWHERE: return address + BYTES / 2;
        default: return address;
        }
}

int DEVICE(flush)(void *device, const void *at, size_t bytes)
{
        const struct device *d = device;
        if ((const unsigned char *)at < memory + PAGE || (const unsigned char *)at + bytes > memory + BYTES)
                abort();
        return d->mode == NO_FLUSH;
}

int DEVICE(invalidate)(void *device, void *at, size_t bytes)
{
        const struct device *d = device;
        if ((unsigned char *)at < memory + PAGE || (unsigned char *)at + bytes > memory + BYTES)
                abort();
        return d->mode == NO_INVALIDATE;
}

/* whether the simulator ran it all */
static bool simulate(const struct way *way, uint64_t instructions, uint32_t count)
{
        struct diag diag = { .silent = true };
        return simulator_launch(way->simulator, memory, BYTES, (int64_t)instructions, count, WORK_MOST, &diag);
}

int DEVICE(launch)(void *device, uint64_t instructions, uint32_t count)
{
        struct device *d = device;
        if (d->mode == NO_LAUNCH)
                return 1;
        d->ended = d->mode == LATE    ? TIMEOUT
                   : d->mode == GONE    ? 2
                   : d->mode == STRANGE ? -77
                                        : !simulate(&d->way, instructions, count) * 2;
        return 0;
}

int DEVICE(wait)(void *device, uint64_t cycles)
{
        const struct device *d = device;
        if (!cycles)
                abort();
        return d->ended;
}

#endif

/* ---- the model ---- */

static void *take(size_t *taken, size_t bytes)
{
        void *at = memory + *taken;
        *taken += (bytes + PAGE - 1) / PAGE * PAGE;
        if (*taken > BYTES / 2)
                abort();
        return at;
}

static void *load(const char *path, size_t bytes)
{
        void *data = malloc(bytes + 1);
        FILE *file = fopen(path, "rb");
        if (!data || !file || fread(data, 1, bytes + 1, file) != bytes) {
                fprintf(stderr, "%s: not %zu bytes\n", path, bytes);
                exit(2);
        }
        fclose(file);
        return data;
}

static void *regions[8], *inputs[16], *outputs[16];
static void *weights;

/* by kind: 0 the workspace, 1 the program, 2 weights, 3 the device */
static void place(const struct dnncc_model_1 *model, struct device *d)
{
        size_t taken = PAGE;
        memset(memory, 0xcd, sizeof memory);
        for (uint32_t k = 0; k < model->region_count; k++) {
                const struct dnncc_region_1 *r = &model->regions[k];
                regions[k] = r->kind == 2 ? weights : r->kind == 3 ? (void *)d : take(&taken, (size_t)r->size);
        }
}

static int bits(const struct dnncc_model_1 *model, struct device *d, char **files)
{
        place(model, d);
        for (uint32_t k = 0; k < model->input_count; k++)
                inputs[k] = load(*files++, (size_t)model->inputs[k].bytes);
        for (uint32_t k = 0; k < model->output_count; k++)
                outputs[k] = calloc(1, (size_t)model->outputs[k].bytes + 1);
        int code = 0;
        for (int times = 0; times < 2 && !code; times++)         /* nothing is left over from the first */
                code = model->run(regions, (const void *const *)inputs, outputs, NULL);
        if (code) {
                fprintf(stderr, "run ends with %d\n", code);
                return 1;
        }
        for (uint32_t k = 0; k < model->output_count; k++) {
                FILE *file = fopen(*files++, "wb");
                fwrite(outputs[k], 1, (size_t)model->outputs[k].bytes, file);
                fclose(file);
                free(outputs[k]);
        }
        for (uint32_t k = 0; k < model->input_count; k++)
                free(inputs[k]);
        return 0;
}

/* what one run computes, behind one another */
static int run_once(const struct dnncc_model_1 *model, struct device *d, unsigned char *result)
{
        place(model, d);
        for (uint32_t k = 0; k < model->output_count; result += model->outputs[k++].bytes)
                outputs[k] = result;
        return model->run(regions, (const void *const *)inputs, outputs, NULL);
}

static int orders(const struct dnncc_model_1 *model, struct device *d, size_t count, char **files)
{
        static const struct { uint64_t seed; unsigned char poison; } ways[] = { { 0, 0x00 }, { 1, 0xa5 }, { 2, 0x00 }, { 0, 0xa5 }, { 1, 0x00 }, { 2, 0xa5 } };
#ifdef PLAIN
        enum { WAYS = 1 };
#else
        enum { WAYS = sizeof ways / sizeof *ways };
#endif
        struct way all[WAYS];
        unsigned char *given[16];
        FILE *results[16];
        size_t bytes = 0;
        for (uint32_t k = 0; k < model->input_count; k++)
                given[k] = load(*files++, count * (size_t)model->inputs[k].bytes);
        for (uint32_t k = 0; k < model->output_count; k++) {
                results[k] = fopen(*files++, "wb");
                bytes += (size_t)model->outputs[k].bytes;
        }
        for (int w = 0; w < WAYS; w++)
                all[w] = way_of(d, ways[w].seed, ways[w].poison);
        unsigned char *one = malloc(bytes + 1), *other = malloc(bytes + 1);
        int wrong = 0;
        for (size_t n = 0; n < count && !wrong; n++) {
                for (uint32_t k = 0; k < model->input_count; k++)
                        inputs[k] = given[k] + n * (size_t)model->inputs[k].bytes;
                for (int w = 0; w < WAYS && !wrong; w++) {
                        d->way = all[w];
                        wrong = run_once(model, d, w ? other : one) || (w && memcmp(one, other, bytes));
                        if (wrong)
                                fprintf(stderr, "sample %zu, way %d\n", n, w);
                }
                const unsigned char *at = one;
                for (uint32_t k = 0; k < model->output_count; at += model->outputs[k++].bytes)
                        fwrite(at, 1, (size_t)model->outputs[k].bytes, results[k]);
        }
        for (int w = 0; w < WAYS; w++)
                simulator_free(all[w].simulator);
        for (uint32_t k = 0; k < model->output_count; k++)
                fclose(results[k]);
        for (uint32_t k = 0; k < model->input_count; k++)
                free(given[k]);
        free(one);
        free(other);
        return wrong;
}

#ifdef ONE_EACH         /* one input, one output, no weights: the functions themselves */
static const struct { const char *name; int prepare, run; } modes[MODES] = {
        [FINE] = { "fine", 0, 0 },
        [NOWHERE] = { "no address", NAME_(ERROR_ADDRESS), 0 },
        [UNALIGNED] = { "an address between elements", NAME_(ERROR_ADDRESS), 0 },
        [HIGH] = { "an address of 33 bits", NAME_(ERROR_ADDRESS), 0 },
        [LAST] = { "memory that ends behind 32 bits", NAME_(ERROR_ADDRESS), 0 },
        [FIRST_PAGE] = { "an address in the first page", NAME_(ERROR_ADDRESS), 0 },
        [SAME] = { "two memories at one address", NAME_(ERROR_ADDRESS), 0 },
        [OVERLAP] = { "two memories that overlap", NAME_(ERROR_ADDRESS), 0 },
        [ELSEWHERE] = { "the wrong address", 0, NAME_(ERROR_LOST) },
        [NO_FLUSH] = { "flush fails", NAME_(ERROR_LOST), 0 },
        [NO_INVALIDATE] = { "invalidate fails", 0, NAME_(ERROR_LOST) },
        [NO_LAUNCH] = { "launch fails", 0, NAME_(ERROR_LAUNCH) },
        [LATE] = { "never done", 0, NAME_(ERROR_TIMEOUT) },
        [GONE] = { "gone", 0, NAME_(ERROR_LOST) },
        [STRANGE] = { "a code that no one knows", 0, NAME_(ERROR_LOST) },
};

static int expect(const char *mode, const char *call, int code, int wanted)
{
        if (code != wanted)
                printf("%s: %s ends with %d, not %d\n", mode, call, code, wanted);
        return code != wanted;
}

static int codes(const struct dnncc_model_1 *model, struct device *d)
{
        static unsigned char room[1 << 20] __attribute__((aligned(8)));
        int wrong = 0;
        place(model, d);
        void *workspace = regions[0], *program = regions[1], *x = room, *y = room + sizeof room / 2;
#define PREPARE(w, p) CALLED(MODEL, _prepare)(w, p, d)
#define RUN(w, p, x, y) CALLED(MODEL, _run)(w, p, x, y, d)
        wrong += expect("fine", "run before prepare", RUN(workspace, program, x, y), NAME_(ERROR_PREPARE));
        wrong += expect("fine", "prepare without a program", PREPARE(workspace, NULL), NAME_(ERROR_NULL));
        wrong += expect("fine", "prepare without a workspace", PREPARE(NULL, program), NAME_(ERROR_NULL));
        wrong += expect("fine", "prepare of a program between addresses", PREPARE(workspace, (char *)program + 16), NAME_(ERROR_ALIGNMENT));
        for (int mode = 0; mode < MODES; mode++) {
                d->mode = FINE;
                wrong += expect(modes[mode].name, "prepare by a machine that is well", PREPARE(workspace, program), 0);
                wrong += expect(modes[mode].name, "run on a machine that is well", RUN(workspace, program, x, y), 0);
                d->mode = (enum mode)mode;
                const int prepared = PREPARE(workspace, program);
                wrong += expect(modes[mode].name, "prepare", prepared, modes[mode].prepare);
                if (!prepared)
                        wrong += expect(modes[mode].name, "run", RUN(workspace, program, x, y), modes[mode].run);
                d->mode = FINE;
                if (!prepared && modes[mode].run)        /* it may still be writing */
                        wrong += expect(modes[mode].name, "the next run", RUN(workspace, program, x, y), NAME_(ERROR_PREPARE));
        }
        wrong += expect("fine", "prepare", PREPARE(workspace, program), 0);
        wrong += expect("fine", "run on another workspace", RUN((char *)workspace + PAGE, program, x, y), NAME_(ERROR_PREPARE));
        wrong += expect("fine", "run without a program", RUN(workspace, NULL, x, y), NAME_(ERROR_NULL));
        wrong += expect("fine", "run without an input", RUN(workspace, program, NULL, y), NAME_(ERROR_NULL));
        wrong += expect("fine", "run", RUN(workspace, program, x, y), 0);
        return wrong != 0;
}
#endif

int main(int count, char **arguments)
{
        const struct dnncc_model_1 *model = CALLED(MODEL, _describe)();
        struct diag diag = { .silent = true };
        struct device d = { .mode = FINE };
        const char *seed = getenv("SEED"), *sizes = getenv("SIZES");
        int code = 2;
        if (!isa_begin_sizes(&d.isa, &INSTRUCTIONS, sizes ? sizes : "", &diag))
                return 2;
        const struct way way = d.way = way_of(&d, seed ? strtoull(seed, NULL, 10) : 0, 0xa5);
        arguments++;
        if (count > 3 && !strcmp(*arguments, "--weights")) {
                for (uint32_t k = 0; k < model->region_count; k++)
                        if (model->regions[k].kind == 2) {
                                void *bytes = load(arguments[1], (size_t)model->regions[k].size);
                                weights = aligned_alloc(64, (size_t)(model->regions[k].size + 63) / 64 * 64);
                                memcpy(weights, bytes, (size_t)model->regions[k].size);
                                free(bytes);
                        }
                arguments += 2;
        }
        if (count > 1 && !strcmp(*arguments, "bits"))
                code = bits(model, &d, arguments + 1);
        else if (count > 2 && !strcmp(*arguments, "orders"))
                code = orders(model, &d, strtoul(arguments[1], NULL, 10), arguments + 2);
#ifdef ONE_EACH
        else if (count > 1 && !strcmp(*arguments, "codes"))
                code = codes(model, &d);
#endif
        simulator_free(way.simulator);
        free(weights);
        return code;
}
