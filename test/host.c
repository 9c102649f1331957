/* SPDX-License-Identifier: MIT */
/* Runs any generated model through its descriptor: link it with model.c.
 *
 *   host IN_DIR OUT_DIR     reads IN_DIR/0.bin, 1.bin, ... (raw, little-endian, exactly the bytes of each input),
 *                           runs twice on different garbage, wants the same bits both times, writes OUT_DIR/0.bin, ...
 *   host --over IN_DIR OUT_DIR   runs once, over outputs that hold what OUT_DIR/0.bin, ... do
 *   host --describe         one line of JSON for the model, each region, input and output
 *   host --time N [IN_DIR]  median of N runs in microseconds, on inputs of zeros unless IN_DIR is given
 *
 * --extents N,M,.. --bytes I0,..,O0,.. before these: the extents of the run, and how many bytes inputs and outputs then have.
 * --told FILE before these: the run's extents, those among them that it counts, are written there, a line each.
 * --weights FILE before these: what a model compiled with --weights=file gets (exactly the bytes of the region).
 * -DDESCRIBE=NAME_describe names the function; default model_describe. Every block of memory has
 * exactly the bytes that are asked for, so that AddressSanitizer and valgrind see the first byte
 * too far. Exit: 0, 1 usage, 2 files, 3 the model returned an error, 4 two runs differ. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "descriptor.h"
#if defined(__arm__) && !defined(__linux__)
#include "support/newlib_board.h"
#endif

#ifndef DESCRIBE
#define DESCRIBE model_describe
#endif

const struct dnncc_model_1 *DESCRIBE(void);

enum { EXIT_USAGE = 1, EXIT_FILES = 2, EXIT_RUN = 3, EXIT_DIFFERENT = 4 };

static void fail(int code, const char *what, const char *which)
{
        fprintf(stderr, "host: %s%s\n", what, which);
        exit(code);
}

/* NULL for no bytes */
static void *block(uint64_t bytes, uint64_t align)
{
        void *memory = NULL;
        if (bytes > SIZE_MAX ||
            (bytes &&
             posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : (size_t)align,
                            (size_t)bytes)))
                fail(EXIT_FILES, "out of memory", "");
        return memory;
}

static void **blocks(const struct dnncc_tensor_1 *tensors, uint32_t count)
{
        void **all = block((count + 1) * sizeof *all, 1);
        for (uint32_t i = 0; i < count; i++)
                all[i] = block(tensors[i].bytes, 8);
        all[count] = NULL;
        return all;
}

static void free_blocks(void **all, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                free(all[i]);
        free(all);
}

static void garbage(void *memory, uint64_t bytes, uint32_t seed)
{
        unsigned char *p = memory;
        for (uint64_t i = 0; i < bytes; i++) {
                seed = seed * 1664525u + 1013904223u;
                p[i] = (unsigned char)(seed >> 24);
        }
}

/* ---- files ---- */

static FILE *open_numbered(const char *folder, uint32_t number, const char *mode)
{
        char path[4096];
        snprintf(path, sizeof path, "%s/%" PRIu32 ".bin", folder, number);
        FILE *file = fopen(path, mode);
        if (!file)
                fail(EXIT_FILES, "cannot open ", path);
        return file;
}

static void read_whole(FILE *file, void *data, uint64_t bytes, const char *name)
{
        if ((bytes && fread(data, 1, (size_t)bytes, file) != bytes) || getc(file) != EOF)
                fail(EXIT_FILES, "the file has another size than ", name);
        fclose(file);
}

static void read_inputs(const struct dnncc_model_1 *model, void **inputs, const char *folder)
{
        for (uint32_t i = 0; i < model->input_count; i++)
                read_whole(open_numbered(folder, i, "rb"), inputs[i], model->inputs[i].bytes,
                           model->inputs[i].name);
}

static void write_outputs(const struct dnncc_model_1 *model, void **outputs, const char *folder)
{
        for (uint32_t i = 0; i < model->output_count; i++) {
                FILE *file = open_numbered(folder, i, "wb");
                size_t bytes = (size_t)model->outputs[i].bytes;
                if (bytes && fwrite(outputs[i], 1, bytes, file) != bytes)
                        fail(EXIT_FILES, "cannot write output ", model->outputs[i].name);
                if (fclose(file))
                        fail(EXIT_FILES, "cannot write output ", model->outputs[i].name);
        }
}

/* ---- extents of a run ---- */

enum { LIST_MAX = 256 };
static int64_t extents[LIST_MAX];
static const char *told;                /* The extents are written there behind a run, a line each; or
                                         * NULL. */

static uint32_t read_list(const char *text, int64_t *numbers)
{
        uint32_t count = 0;
        for (char *end; *text && count < LIST_MAX; text = *end ? end + 1 : end)
                numbers[count++] = strtoll(text, &end, 10);
        return count;
}

/* The model with ports of so many bytes. */
static const struct dnncc_model_1 *with_bytes(const struct dnncc_model_1 *model, const char *text)
{
        static struct dnncc_model_1 own;
        static struct dnncc_tensor_1 ports[LIST_MAX];
        int64_t bytes[LIST_MAX];
        uint32_t count = read_list(text, bytes);
        if (count != model->input_count + model->output_count)
                fail(EXIT_USAGE, "--bytes wants a number for each input and output", "");
        for (uint32_t i = 0; i < count; i++) {
                ports[i] = i < model->input_count ? model->inputs[i]
                                                  : model->outputs[i - model->input_count];
                ports[i].bytes = (uint64_t)bytes[i];
        }
        own = *model;
        own.inputs = ports;
        own.outputs = ports + model->input_count;
        return &own;
}

/* ---- running ---- */

static uint64_t text_count(const struct dnncc_tensor_1 *t)
{
        uint64_t count = 1;
        for (int32_t i = 0; i < t->rank; i++)
                count *= (uint64_t)t->shape[i];
        return count;
}

/* Returns pointers to the texts of an input, each in a block of its own; its rows of bytes end in
 * NUL. */
static char **texts_of(const struct dnncc_tensor_1 *t, const char *rows)
{
        const uint64_t count = text_count(t);
        char **texts = block((count + 1) * sizeof *texts, 1);
        for (uint64_t i = 0; i < count; i++) {
                const char *row = rows + t->bytes / count * i;
                texts[i] = strcpy(block(strlen(row) + 1, 1), row);
        }
        return texts;
}

enum { TYPE_STRING = 8 };

static void run(const struct dnncc_model_1 *model, void **regions, void **inputs, void **outputs)
{
        char code[16];
        const void **given = block((model->input_count + 1) * sizeof *given, 1);
        for (uint32_t i = 0; i < model->input_count; i++)
                given[i] = model->inputs[i].type == TYPE_STRING
                                   ? texts_of(&model->inputs[i], inputs[i])
                                   : inputs[i];
        int error = model->run(regions, given, outputs, extents);
        if (told && !error) {
                FILE *file = fopen(told, "w");
                for (uint32_t i = 0; file && i < model->extent_count; i++)
                        fprintf(file, "%lld\n", (long long)extents[i]);
                if (!file || fclose(file))
                        fail(EXIT_FILES, "cannot write ", told);
        }
        for (uint32_t i = 0; i < model->input_count; i++) {
                if (model->inputs[i].type != TYPE_STRING)
                        continue;
                char **texts = (char **)(uintptr_t)given[i];
                for (uint64_t k = 0; k < text_count(&model->inputs[i]); k++)
                        free(texts[k]);
                free(texts);
        }
        free(given);
        snprintf(code, sizeof code, "%d", error);
        if (error)
                fail(EXIT_RUN, "the model returned ", code);
}

static const char *weights_path;
enum { REGION_WEIGHTS = 2 };

static void **new_regions(const struct dnncc_model_1 *model, uint32_t seed)
{
        void **regions = block((model->region_count + 1) * sizeof *regions, 1);
        for (uint32_t i = 0; i < model->region_count; i++) {
                regions[i] = block(model->regions[i].size, model->regions[i].align);
                garbage(regions[i], model->regions[i].size, seed);
                if (model->regions[i].kind != REGION_WEIGHTS)
                        continue;
                FILE *file = weights_path ? fopen(weights_path, "rb") : NULL;
                if (!file)
                        fail(EXIT_FILES, "cannot open the weights ", weights_path ? weights_path : "(--weights FILE)");
                read_whole(file, regions[i], model->regions[i].size, model->regions[i].name);
        }
        return regions;
}

static void run_on_files(const struct dnncc_model_1 *model, const char *in, const char *out)
{
        void **inputs = blocks(model->inputs, model->input_count);
        void **results[2];
        read_inputs(model, inputs, in);
        for (uint32_t k = 0; k < 2; k++) {
                void **regions = new_regions(model, k);
                results[k] = blocks(model->outputs, model->output_count);
                for (uint32_t i = 0; i < model->output_count; i++)
                        /* What is behind the told extents stays as it was. */
                        garbage(results[k][i], model->outputs[i].bytes, told ? 2 : 2 + k);
                run(model, regions, inputs, results[k]);
                free_blocks(regions, model->region_count);
        }
        for (uint32_t i = 0; i < model->output_count; i++)
                if (model->outputs[i].bytes &&
                    memcmp(results[0][i], results[1][i], (size_t)model->outputs[i].bytes))
                        fail(EXIT_DIFFERENT, "a second run gives other bits in output ",
                             model->outputs[i].name);
        write_outputs(model, results[0], out);
        free_blocks(inputs, model->input_count);
        free_blocks(results[0], model->output_count);
        free_blocks(results[1], model->output_count);
}

static void run_over_files(const struct dnncc_model_1 *model, const char *in, const char *out)
{
        void **inputs = blocks(model->inputs, model->input_count),
             **outputs = blocks(model->outputs, model->output_count);
        void **regions = new_regions(model, 1);
        read_inputs(model, inputs, in);
        for (uint32_t i = 0; i < model->output_count; i++)
                read_whole(open_numbered(out, i, "rb"), outputs[i], model->outputs[i].bytes,
                           model->outputs[i].name);
        run(model, regions, inputs, outputs);
        write_outputs(model, outputs, out);
        free_blocks(regions, model->region_count);
        free_blocks(inputs, model->input_count);
        free_blocks(outputs, model->output_count);
}

static int compare(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return x < y ? -1 : x > y;
}

static void time_runs(const struct dnncc_model_1 *model, int count, const char *in)
{
        void **inputs = blocks(model->inputs, model->input_count),
             **outputs = blocks(model->outputs, model->output_count);
        void **regions = new_regions(model, 1);
        double *times = block((uint64_t)count * sizeof *times, 8);
        for (uint32_t i = 0; i < model->input_count; i++)
                if (inputs[i])
                        memset(inputs[i], 0, (size_t)model->inputs[i].bytes);
        if (in)
                read_inputs(model, inputs, in);
        run(model, regions, inputs, outputs);
        for (int i = 0; i < count; i++) {
                struct timespec before, after;
                clock_gettime(CLOCK_MONOTONIC, &before);
                run(model, regions, inputs, outputs);
                clock_gettime(CLOCK_MONOTONIC, &after);
                times[i] = 1e6 * (double)(after.tv_sec - before.tv_sec) +
                           1e-3 * (double)(after.tv_nsec - before.tv_nsec);
        }
        qsort(times, (size_t)count, sizeof *times, compare);
        printf("%.3f\n", times[count / 2]);
        free(times);
        free_blocks(regions, model->region_count);
        free_blocks(inputs, model->input_count);
        free_blocks(outputs, model->output_count);
}

/* ---- description ---- */

static void print_string(const char *text)
{
        putchar('"');
        for (; *text; text++) {
                unsigned char c = (unsigned char)*text;
                if (c < ' ' || c == '"' || c == '\\' || c == 127)
                        printf("\\u%04x", c);
                else
                        putchar(c);
        }
        putchar('"');
}

static void print_tensor(const char *kind, const struct dnncc_tensor_1 *t)
{
        printf("{\"%s\": ", kind);
        print_string(t->name);
        printf(", \"type\": %" PRId32 ", \"shape\": [", t->type);
        for (int32_t i = 0; i < t->rank; i++)
                printf("%s%" PRId64, i ? ", " : "", t->shape[i]);
        printf("], \"symbols\": [");
        for (int32_t i = 0; t->symbols && i < t->rank; i++) {
                printf("%s", i ? ", " : "");
                print_string(t->symbols[i] ? t->symbols[i] : "");
        }
        printf("], \"bytes\": %" PRIu64 "}\n", t->bytes);
}

static void describe(const struct dnncc_model_1 *model)
{
        printf("{\"model\": ");
        print_string(model->name);
        printf(", \"abi\": %" PRIu32 ", \"struct_size\": %" PRIu32 "}\n", model->abi,
               model->struct_size);
        for (uint32_t i = 0; i < model->region_count; i++) {
                printf("{\"region\": ");
                print_string(model->regions[i].name);
                printf(", \"size\": %" PRIu64 ", \"align\": %" PRIu64 ", \"kind\": %" PRId32 "}\n",
                       model->regions[i].size, model->regions[i].align, model->regions[i].kind);
        }
        for (uint32_t i = 0; i < model->input_count; i++)
                print_tensor("input", &model->inputs[i]);
        for (uint32_t i = 0; i < model->output_count; i++)
                print_tensor("output", &model->outputs[i]);
}

int main(int argc, char **argv)
{
        const struct dnncc_model_1 *model = DESCRIBE();
        if (model->abi != 1 || model->struct_size < sizeof *model)
                fail(EXIT_USAGE, "the model speaks another ABI", "");
        for (; argc > 2 && (!strcmp(argv[1], "--weights") || !strcmp(argv[1], "--extents") ||
                            !strcmp(argv[1], "--bytes") || !strcmp(argv[1], "--told"));
             argc -= 2, argv += 2) {
                if (argv[1][2] == 'w')
                        weights_path = argv[2];
                else if (argv[1][2] == 'e')
                        read_list(argv[2], extents);
                else if (argv[1][2] == 't')
                        told = argv[2];
                else
                        model = with_bytes(model, argv[2]);
        }
        if (argc == 2 && !strcmp(argv[1], "--describe"))
                describe(model);
        else if ((argc == 3 || argc == 4) && !strcmp(argv[1], "--time") && atoi(argv[2]) > 0)
                time_runs(model, atoi(argv[2]), argc == 4 ? argv[3] : NULL);
        else if (argc == 3 && argv[1][0] != '-')
                run_on_files(model, argv[1], argv[2]);
        else if (argc == 4 && !strcmp(argv[1], "--over"))
                run_over_files(model, argv[2], argv[3]);
        else
                fail(EXIT_USAGE, "usage: host [--weights FILE] [--extents N,.. --bytes B,..] [--over] IN_DIR OUT_DIR | --describe | --time N [IN_DIR]", "");
        return 0;
}
