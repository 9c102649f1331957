/* Times a generated model; --tune and --bench compile it beside the model (harness.c), behind these
 * lines:
 *
 *      #define HEADER "first.h"
 *      #define DESCRIBE tuned_describe         its descriptor
 *      #define WEIGHTS_NAME "first.weights"    its weights
 *      #define CALLS 12                        of kernels, each timed by --profile; at 0 only
 *                                              runs are
 *      #define TIME CLOCK_MONOTONIC            the clock
 *      #define EXTENTS { 512, 0 }              the values of its extents, and a 0 behind them
 *      #define LENGTHS { 2047, 0 }             likewise of those that are state, or left out
 *      #define LANES 8                         of a vector of floats, and what functions that
 *                                              hold some say:
 *      #define ATTRIBUTE "avx2,fma"            (or left out)
 *      #define THREADS 1
 *      #define TRACE "trace.json"              some runs are written there (or left out), of
 *      #define KERNELS tuned_kernels           this table
 *
 *      PROGRAM SECONDS RUNS PEAK               in the folder with the weights and in0, in1, ..
 *
 * runs the model twice unseen, then so long and at least so often, and writes a number a line:
 * how often it ran; seconds of a run, the fifth percentile, the median, the ninety-fifth;
 * floating operations a second that the machine's multiply-adds do (PEAK 1; else 0); the median
 * of each kernel call. Exit code: 16 - code where a run ends with a code. All memory lies on
 * huge pages: which ones a program's own constants get is luck, worth more than most schedules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include HEADER
#ifdef TRACE
#include "dnncc_runtime.h"
#endif

enum {
        FAILED = 16,
        WEIGHTS = 2,
        UNSEEN = 2,
        ROWS_MAX = 200000,
        COLUMNS = CALLS + 1,
        REGIONS = 8,
        PORTS = 256
};
#define HUGE_PAGE ((size_t)1 << 21)
#define SAMPLES_MAX ((size_t)1 << 25)
#define BATCH_SECONDS 50e-6             /* Shorter runs are timed many at once: asking
                                         * the clock would count. */

static double *samples, row[COLUMNS], at;
static size_t rows, room;

static double now(void)
{
        struct timespec t;
        clock_gettime(TIME, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what)
{
        fprintf(stderr, "%s\n", what);
        exit(1);
}

#ifdef TRACE
static struct dnncc_trace *trace;
#endif

void dnncc_profile(int kernel);
void dnncc_profile(int kernel)
{
#ifdef TRACE
        if (trace) {
                dnncc_trace_kernel(trace, kernel);
                return;
        }
#endif
        double t = now();
        if (kernel >= 0 && kernel < CALLS)
                row[kernel] += t - at;
        at = now();                     /* The time that this function takes counts for no
                                         * kernel. */
}

/* ---- the model ---- */

static const struct dnncc_model_1 *model;
static void *region[REGIONS], *data[2][PORTS];
static const void *given[PORTS];

static void *memory(size_t bytes)
{
        void *p = NULL;
        if (posix_memalign(&p, HUGE_PAGE, bytes + 64))
                fail("no memory for the model");
#ifdef MADV_HUGEPAGE
        madvise(p, bytes + 64, MADV_HUGEPAGE);
#endif
        memset(p, 0, bytes + 64);
        return p;
}

static void load(const char *name, void *to, size_t bytes)
{
        FILE *in = fopen(name, "rb");
        if (!in || fread(to, 1, bytes, in) != bytes)
                fail(name);
        fclose(in);
}

/* Returns what run is given for an input whose bytes are at `data`: that address or, of texts
 * (type 8), pointers to each of them. */
static const void *input_of(const struct dnncc_tensor_1 *t, const char *data)
{
        size_t count = 1;
        for (int d = 0; d < t->rank; d++)
                count *= (size_t)t->shape[d];
        const char **texts = t->type == 8 ? calloc(count + 1, sizeof *texts) : NULL;
        for (size_t i = 0; i < count && texts; i++)
                texts[i] = data + t->bytes / count * i;
        return texts ? (const void *)texts : data;
}

static void prepare(void)
{
        char name[4096];
        model = DESCRIBE();
        for (unsigned r = 0; r < model->region_count && r < REGIONS; r++) {
                region[r] = memory((size_t)model->regions[r].size);
                if (model->regions[r].kind == WEIGHTS)
                        load(WEIGHTS_NAME, region[r], (size_t)model->regions[r].size);
        }
        for (int o = 0; o < 2; o++)
                for (unsigned k = 0;
                     k < (o ? model->output_count : model->input_count) && k < PORTS; k++) {
                        size_t bytes = (size_t)(o ? model->outputs : model->inputs)[k].bytes;
                        data[o][k] = memory(bytes);
                        snprintf(name, sizeof name, "in%u", k);
                        if (!o)
                                load(name, data[o][k], bytes);
                        if (!o)
                                given[k] = input_of(&model->inputs[k], data[o][k]);
                }
}

/* Each run finds the state as long as it says. */
static void set_lengths(void)
{
#ifdef LENGTHS
        const int64_t lengths[] = LENGTHS, *length = lengths;
        const struct dnncc_model_2 *m = (const struct dnncc_model_2 *)(const void *)model;
        char *state = region[model->region_count - 1];
        for (unsigned k = 0; k < m->state_count; k++)
                if (!m->states[k].next)
                        memcpy(state + m->states[k].offset, length++, sizeof *length);
#endif
}

static void run(void)
{
        int64_t extents[] = EXTENTS;
        set_lengths();
        int code = model->run(region, given, data[1], extents);
        if (code)
                exit(FAILED - code);
}

/* ---- times ---- */

static void add_row(void)
{
        if (rows == room) {
                room = room ? 2 * room : 64;
                samples = realloc(samples, room * sizeof row);
                if (!samples)
                        fail("no memory for times");
        }
        memcpy(samples + rows++ * COLUMNS, row, sizeof row);
}

static int batch_size(void)
{
        double start = now();
        int count = 0;
        do
                run();
        while (++count < 1000 && now() - start < BATCH_SECONDS);
        return CALLS ? 1 : count;
}

static long time_runs(double seconds, long least)
{
        int batch = 1;
        long count = 0;
        for (int i = 0; i < UNSEEN; i++)
                batch = batch_size();
        for (double end = now() + seconds, start = now();
             (count < least || start < end) && rows < ROWS_MAX && rows * COLUMNS < SAMPLES_MAX;
             start = now()) {
                memset(row, 0, sizeof row);
                for (int i = 0; i < batch; i++)
                        run();
                row[CALLS] = (now() - start) / batch;
                add_row();
                count += batch;
        }
        return count;
}

static int order(const void *a, const void *b)
{
        const double *x = a, *y = b;
        return (*x > *y) - (*x < *y);
}

/* Sorts a column of the rows into `sorted`. */
static void sort_column(int column, double *sorted)
{
        for (size_t i = 0; i < rows; i++)
                sorted[i] = samples[i * COLUMNS + (size_t)column];
        qsort(sorted, rows, sizeof *sorted, order);
}

static void print_quantile(const double *sorted, int percent)
{
        printf("%.12g\n", rows ? sorted[(rows - 1) * (size_t)percent / 100] : 0);
}

#ifdef TRACE
enum { TRACED_RUNS = 10 };
#define TRACED_SECONDS 1.0

static void write_trace(void)
{
        trace = dnncc_trace_open(TRACE, KERNELS, CALLS);
        if (!trace)
                fail(TRACE);
#if THREADS > 1
        dnncc_threads_observe(dnncc_trace_share);
#endif
        double end = now() + TRACED_SECONDS;
        for (int i = 0; i < TRACED_RUNS && now() < end; i++)
                run();
        if (!dnncc_trace_close(trace))
                fail(TRACE);
        trace = NULL;
}
#endif

/* ---- what the machine does at best: ten sums beside each other, more than a multiply-add takes
 * turns ---- */

enum { SUMS = 10, ROUNDS = 200000, TRIES_LEAST = 9, TRIES_MOST = 400 };
static const double PEAK_SECONDS = 0.1;         /* It is long enough for the clock that long work in
                                                 * wide vectors has. */
#if LANES > 1
typedef float vector __attribute__((vector_size(4 * LANES)));
#else
typedef float vector;
#endif
#ifdef ATTRIBUTE
#define PEAK_FUNCTION __attribute__((target(ATTRIBUTE)))
#else
#define PEAK_FUNCTION
#endif

static PEAK_FUNCTION void multiply_add(void *result, int index, int count)
{
        volatile float seed = .37f;
        vector x, y, a, b, c, d, e, f, g, h, i, j;
        (void)index;
        (void)count;
        memset(&x, 0, sizeof x);
        x = x + seed;
        y = x + x;
        /* Each sum begins with a read of its own, because compilers make equal sums one. */
        a = x + seed;
        b = x + seed;
        c = x + seed;
        d = x + seed;
        e = x + seed;
        f = x + seed;
        g = x + seed;
        h = x + seed;
        i = x + seed;
        j = x + seed;
        for (int k = 0; k < ROUNDS; k++) {
                a = a * x + y;
                b = b * x + y;
                c = c * x + y;
                d = d * x + y;
                e = e * x + y;
                f = f * x + y;
                g = g * x + y;
                h = h * x + y;
                i = i * x + y;
                j = j * x + y;
        }
        a = ((a + b) + (c + d)) + ((e + f) + (g + h)) + (i + j);
        memcpy((char *)result + (size_t)index * sizeof a, &a, sizeof a);
}

#if THREADS > 1 && !defined(TRACE)
void dnncc_parallel(void (*task)(void *arg, int index, int count), void *arg, int count);
#endif

static double peak(void)
{
        static vector results[THREADS];
        static double rates[TRIES_MOST];
        double begun = now();
        int tries = 0;
        while (tries < TRIES_LEAST || (tries < TRIES_MOST && now() - begun < PEAK_SECONDS)) {
                double start = now();
#if THREADS > 1
                dnncc_parallel(multiply_add, results, THREADS);
#else
                multiply_add(results, 0, 1);
#endif
                rates[tries++] = 2.0 * SUMS * LANES * ROUNDS * THREADS / (now() - start);
        }
        qsort(rates, (size_t)tries, sizeof *rates, order);
        return rates[tries / 2];
}

int main(int argc, char **argv)
{
        if (argc != 4)
                return 1;
        prepare();
        int wanted = atoi(argv[3]);
        double before = wanted ? peak() : 0;
        printf("%ld\n", time_runs(atof(argv[1]), atol(argv[2])));
#ifdef TRACE
        write_trace();
#endif
        double after = wanted ? peak() : 0, *sorted = malloc((rows + 1) * sizeof *sorted);
        if (!sorted)
                fail("no memory for times");
        sort_column(CALLS, sorted);
        print_quantile(sorted, 5);
        print_quantile(sorted, 50);
        print_quantile(sorted, 95);
        printf("%.9g\n", before > after ? before : after);
        for (int k = 0; k < CALLS; k++) {
                sort_column(k, sorted);
                print_quantile(sorted, 50);
        }
        return 0;
}
