/* SPDX-License-Identifier: MIT */
/* Runs a generated model for bench.py, which talks to it over pipes.
 *
 *   runner MODEL.so IN_DIR OUT_DIR CORE[,CORE..] [LANES FOOTPRINT]
 *
 * loads the model, runs it once on IN_DIR/K.bin, writes OUT_DIR/K.bin (raw bytes both), and says in one line of JSON how
 * long that took and what the outputs are. Weights that travel in a file are model.weights beside MODEL.so. Then each line of standard input is a command, answered by a line of JSON:
 *
 *   run SECONDS CLOCK     one run that does not count, then runs for that long: [seconds, seconds, ...]; runs that are so short that
 *                         asking the clock would count are timed many at once
 *   layers SECONDS CLOCK  the same for a model compiled with --profile: of each kernel call the median time and the first
 *                         tenth, and what the machine could do meanwhile: FMAs of LANES floats, reading FOOTPRINT bytes
 *
 * Times are of CLOCK: wall (CLOCK_MONOTONIC) or processor (what this process used, all threads together). Threads run on the cores given, after the first run each on one of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "probe.h"
#include "runtime/dnncc_runtime.h"
#include "test/descriptor.h"

static void *library;
static const struct dnncc_model_1 *model;
static void **regions, **inputs, **outputs;

static clockid_t time_source = CLOCK_MONOTONIC;

static double now(void)
{
        struct timespec t;
        clock_gettime(time_source, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what, const char *which)
{
        fprintf(stderr, "runner: %s%s\n", what, which ? which : "");
        exit(1);
}

static void *memory(uint64_t bytes, uint64_t align)
{
        void *p;
        if (posix_memalign(&p, align < 64 ? 64 : (size_t)align, (size_t)bytes + 1))
                fail("out of memory", NULL);
        memset(p, 0, (size_t)bytes);
        return p;
}

static void run(void)
{
        int error = model->run(regions, (const void *const *)inputs, outputs, NULL);
        if (error) {
                fprintf(stderr, "runner: the model returned %d\n", error);
                exit(1);
        }
}

/* ---- the model and its tensors ---- */

enum { REGION_WEIGHTS = 2 };

static void *load_weights(const char *model_path, uint64_t size)
{
        char path[4096];
        size_t bytes;
        const char *slash = strrchr(model_path, '/');
        snprintf(path, sizeof path, "%.*smodel.weights", slash ? (int)(slash + 1 - model_path) : 0, model_path);
        const void *weights = dnncc_weights_load(path, &bytes);
        if (!weights || bytes != size)
                fail("no access, or not the weights of the model: ", path);
        return (void *)(uintptr_t)weights;
}

static void load(const char *path)
{
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library)
                fail("cannot load the model: ", dlerror());
        const struct dnncc_model_1 *(*describe)(void);
        *(void **)&describe = dlsym(library, "model_describe");
        if (!describe)
                fail("no model_describe in ", path);
        model = describe();
        if (model->abi != 1)
                fail("the model speaks another ABI", NULL);
        regions = memory((model->region_count + 1) * sizeof *regions, 8);
        inputs = memory((model->input_count + 1) * sizeof *inputs, 8);
        outputs = memory((model->output_count + 1) * sizeof *outputs, 8);
        for (uint32_t i = 0; i < model->region_count; i++) {
                uint64_t size = model->regions[i].size;
                regions[i] = model->regions[i].kind == REGION_WEIGHTS ? load_weights(path, size) : dnncc_workspace_new((size_t)size);
                if (!regions[i])
                        fail("out of memory", NULL);
        }
        for (uint32_t i = 0; i < model->input_count; i++)
                inputs[i] = memory(model->inputs[i].bytes, 64);
        for (uint32_t i = 0; i < model->output_count; i++)
                outputs[i] = memory(model->outputs[i].bytes, 64);
}

static void transfer(const char *folder, uint32_t number, void *data, uint64_t bytes, const char *mode)
{
        char path[4096];
        snprintf(path, sizeof path, "%s/%" PRIu32 ".bin", folder, number);
        FILE *file = fopen(path, mode);
        size_t done = !file || !bytes ? 0 : *mode == 'r' ? fread(data, 1, (size_t)bytes, file) : fwrite(data, 1, (size_t)bytes, file);
        if (!file || done != bytes || fclose(file))
                fail("wrong size or no access: ", path);
}

static void print_ready(double load_time, double first_time)
{
        printf("{\"load\": %.9f, \"first\": %.9f, \"outputs\": [", load_time, first_time);
        for (uint32_t i = 0; i < model->output_count; i++) {
                const struct dnncc_tensor_1 *t = &model->outputs[i];
                printf("%s{\"type\": %" PRId32 ", \"shape\": [", i ? ", " : "", t->type);
                for (int32_t d = 0; d < t->rank; d++)
                        printf("%s%" PRId64, d ? ", " : "", t->shape[d]);
                printf("]}");
        }
        puts("]}");
}

/* ---- timing ---- */

static double *samples;
static size_t sample_count, sample_room;

static void add_sample(double value)
{
        if (sample_count == sample_room) {
                sample_room = sample_room ? 2 * sample_room : 4096;
                samples = realloc(samples, sample_room * sizeof *samples);
                if (!samples)
                        fail("out of memory", NULL);
        }
        samples[sample_count++] = value;
}

/* runs that take 50 us, at least one */
static int batch_size(void)
{
        double start = now();
        int count = 0;
        do
                run();
        while (++count < 1000 && now() - start < 50e-6);
        return count;
}

static void time_runs(double seconds)
{
        sample_count = 0;
        int batch = batch_size();
        for (double end = now() + seconds, start = now(); !sample_count || start < end; start = now()) {
                for (int i = 0; i < batch; i++)
                        run();
                add_sample((now() - start) / batch);
        }
        for (size_t i = 0; i < sample_count; i++)
                printf("%s%.9f", i ? ", " : "[", samples[i]);
        puts("]");
}

/* ---- layers ---- */

static int call_count, calls_before = -1;
static double last_call;

/* Multiply-adds behind a kernel, at the clock that the kernels before have left: those that keep loads and multiply-adds busy draw more
 * power than multiply-adds of registers alone, and lower it for some milliseconds. One core's, for one thread. */
enum { PROBES = 64 };
static double amid[PROBES], probing;
static int amid_count, probe_after = -1, probe_lanes;

/* What the model compiled with --profile calls: samples are rows of call_count times, a row for each run. Calls under
 * loops add up. */
void dnncc_profile(int kernel);
void dnncc_profile(int kernel)
{
        double t = now();
        if (calls_before < 0)
                call_count = kernel + 1 > call_count ? kernel + 1 : call_count;
        else if (kernel >= 0 && kernel < call_count)
                samples[calls_before + kernel] += t - last_call;
        if (kernel >= 0 && kernel == probe_after) {
                amid[amid_count++] = 1e-9 * probe_work(&(struct probe){ .lanes = probe_lanes }, 0);
                probe_after = -1;
                probing += now() - t;
        }
        last_call = now();
}

static int compare(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return x < y ? -1 : x > y;
}

/* the value that `percent` of all are below; sorts them */
static double quantile(double *values, size_t count, size_t percent)
{
        qsort(values, count, sizeof *values, compare);
        return count ? values[count * percent / 100] : 0;
}

/* the same of one column over all rows */
static double column_quantile(int column, int columns, size_t percent)
{
        size_t rows = sample_count / (size_t)columns;
        double *values = memory(rows * sizeof *values, 8);
        for (size_t i = 0; i < rows; i++)
                values[i] = samples[i * (size_t)columns + (size_t)column];
        double result = quantile(values, rows, percent);
        free(values);
        return result;
}

static void time_layers(double seconds, int lanes, uint64_t footprint)
{
        double peaks[PROBES], next_probe = 0;
        size_t probes = 0;
        probe_lanes = lanes;
        amid_count = 0;
        calls_before = -1;
        sample_count = 0;
        run();                          /* counts the calls */
        if (!call_count)
                fail("the model was not compiled with --profile", NULL);
        for (double end = now() + seconds, start = now(); !sample_count || start < end; start = now()) {
                if (start >= next_probe && probes < PROBES) {
                        probe_after = probe_core_count == 1 ? (int)probes * 37 % call_count : -1;
                        peaks[probes++] = probe_fma(lanes);
                        next_probe = now() + seconds / PROBES;
                }
                size_t row = sample_count;
                for (int i = 0; i <= call_count; i++)
                        add_sample(0);
                calls_before = (int)row;
                probing = 0;
                start = now();
                run();
                samples[row + (size_t)call_count] = now() - start - probing;
        }
        int columns = call_count + 1;
        double read = probe_read(lanes, footprint);
        printf("{\"runs\": %zu, \"total\": %.9f, \"peak\": %.4g, \"amid\": %.4g, \"read\": %.4g, \"calls\": [",
               sample_count / (size_t)columns, column_quantile(call_count, columns, 50), quantile(peaks, probes, 90),
               quantile(amid, (size_t)amid_count, 50), read);
        for (int i = 0; i < call_count; i++)
                printf("%s[%.9f, %.9f]", i ? ", " : "", column_quantile(i, columns, 50), column_quantile(i, columns, 10));
        puts("]}");
}

/* ---- the conversation ---- */

static cpu_set_t set;

static void use_cores(const char *list)
{
        CPU_ZERO(&set);
        for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
                CPU_SET(atoi(p), &set);
                probe_add_core(atoi(p));
        }
        if (sched_setaffinity(0, sizeof set, &set))
                fail("cannot run on cores ", list);
}

/* Once the pool is there: the caller on the first core, each of the others on another. */
static void pin_threads(void)
{
        bool (*pin)(bool);
        cpu_set_t first;
        *(void **)&pin = dlsym(library, "dnncc_threads_pin");
        if (probe_core_count < 2 || !pin)
                return;
        CPU_ZERO(&first);
        CPU_SET(probe_cores[0], &first);
        sched_setaffinity(0, sizeof first, &first);
        sched_setaffinity(0, sizeof set, &set);         /* pin() asks which cores there are */
        pin(true);
        sched_setaffinity(0, sizeof first, &first);
}

int main(int argc, char **argv)
{
        char line[256];
        double seconds;
        if (argc != 5 && argc != 7)
                fail("usage: runner MODEL.so IN_DIR OUT_DIR CORE[,CORE..] [LANES FOOTPRINT]", NULL);
        setvbuf(stdout, NULL, _IOFBF, 1 << 16);
        prctl(PR_SET_PDEATHSIG, SIGKILL);       /* who is stopped would never see that bench.py is gone */
        use_cores(argv[4]);
        double start = now();
        load(argv[1]);
        double loaded = now() - start;
        for (uint32_t i = 0; i < model->input_count; i++)
                transfer(argv[2], i, inputs[i], model->inputs[i].bytes, "rb");
        start = now();
        run();
        double first = now() - start;
        for (uint32_t i = 0; i < model->output_count; i++)
                transfer(argv[3], i, outputs[i], model->outputs[i].bytes, "wb");
        print_ready(loaded, first);
        fflush(stdout);
        pin_threads();
        while (fgets(line, sizeof line, stdin)) {
                char what[16] = "", which[16] = "";
                sscanf(line, "%15s %lf %15s", what, &seconds, which);
                if (strcmp(which, "wall") != 0 && strcmp(which, "processor") != 0)
                        fail("no such clock: ", which);
                time_source = strcmp(which, "wall") == 0 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
                if (strcmp(what, "run") == 0)
                        time_runs(seconds);
                else if (argc == 7 && strcmp(what, "layers") == 0)
                        time_layers(seconds, atoi(argv[5]), strtoull(argv[6], NULL, 10));
                else
                        fail("no such command: ", line);
                fflush(stdout);
        }
        return 0;
}
