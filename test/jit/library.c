/* SPDX-License-Identifier: MIT */
/* libdnncc_jit from outside: several models in threads, one model in threads, loads without growth, errors. Run by test_jit_library.py:
 *
 *     library threads|loads|errors|extents|state|entries|texts MODEL.. */
#include <assert.h>
#include <dnncc_jit.h>
#include <dnncc_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODELS_MOST = 8, RUNS = 50 };

static struct dnncc_model *must_load(const char *path, const char *const *options)
{
        struct dnncc_error error = { 0 };
        struct dnncc_model *model = dnncc_load(path, options, &error);
        if (!model) {
                fprintf(stderr, "%s: %d %s\n", path, error.code, error.text);
                exit(1);
        }
        return model;
}

/* ---- arrays of a model ---- */

struct arrays { void *in[16], *out[16]; };

static void make_arrays(const struct dnncc_model *model, unsigned seed, struct arrays *a)
{
        const struct dnncc_model_1 *d = dnncc_describe(model);
        assert(d->abi == 1 && d->struct_size == sizeof *d && d->input_count < 16 && d->output_count < 16 && !d->run && !d->region_count);
        for (unsigned k = 0; k < d->input_count; k++) {
                const struct dnncc_tensor_1 *t = &d->inputs[k];
                a->in[k] = malloc((size_t)t->bytes);
                for (size_t i = 0; i < t->bytes; i++)
                        ((unsigned char *)a->in[k])[i] = (unsigned char)((seed = seed * 1103515245u + 12345u) >> 20);
                if (t->type == 1)
                        for (size_t i = 0; i < t->bytes / 4; i++)
                                ((float *)a->in[k])[i] = (float)((seed = seed * 1103515245u + 12345u) >> 16) / 65536;
        }
        for (unsigned k = 0; k < d->output_count; k++)
                a->out[k] = malloc((size_t)d->outputs[k].bytes);
}

static void free_arrays(const struct dnncc_model *model, struct arrays *a)
{
        const struct dnncc_model_1 *d = dnncc_describe(model);
        for (unsigned k = 0; k < d->input_count; k++)
                free(a->in[k]);
        for (unsigned k = 0; k < d->output_count; k++)
                free(a->out[k]);
}

static int run(struct dnncc_model *model, struct arrays *a)
{
        return dnncc_run(model, (const void *const *)a->in, a->out, NULL);
}

/* ---- threads: each loads models of its own, and all run the first one of all ---- */

static struct dnncc_model *shared;
static const char *const one_thread[] = { "--threads=1", NULL }, *const two_threads[] = { "--threads=2", NULL };

struct job { const char *path; int number; const void *want; };

static void *work(void *argument)
{
        const struct job *job = argument;
        struct dnncc_model *own = must_load(job->path, job->number % 2 ? two_threads : one_thread);
        const struct dnncc_model_1 *d = dnncc_describe(own), *s = dnncc_describe(shared);
        struct arrays a, b, first;
        make_arrays(own, 1, &a);
        make_arrays(own, 1, &first);
        make_arrays(shared, 7, &b);
        assert(!run(own, &first));
        for (int k = 0; k < RUNS; k++) {
                assert(!run(own, &a) && !run(shared, &b));
                for (unsigned o = 0; o < d->output_count; o++)
                        assert(!memcmp(a.out[o], first.out[o], (size_t)d->outputs[o].bytes));
                assert(!memcmp(b.out[0], job->want, (size_t)s->outputs[0].bytes));
        }
        free_arrays(own, &a);
        free_arrays(own, &first);
        free_arrays(shared, &b);
        dnncc_free(own);
        return NULL;
}

static void threads(char **paths, int count)
{
        pthread_t thread[MODELS_MOST];
        struct job jobs[MODELS_MOST];
        struct arrays want;
        shared = must_load(paths[0], NULL);
        make_arrays(shared, 7, &want);
        assert(count <= MODELS_MOST && !run(shared, &want));
        for (int k = 0; k < count; k++) {
                jobs[k] = (struct job){ paths[k], k, want.out[0] };
                assert(!pthread_create(&thread[k], NULL, work, &jobs[k]));
        }
        for (int k = 0; k < count; k++)
                assert(!pthread_join(thread[k], NULL));
        free_arrays(shared, &want);
        dnncc_free(shared);
        dnncc_threads_shutdown();
}

/* ---- loads ---- */

/* KB of its own in memory or swapped out; pages of files, which the system takes and brings back as it likes, do not count */
static long own_memory(void)
{
        static const char *const rows[] = { "RssAnon:", "VmSwap:" };
        long sum = 0;
        char line[256];
        FILE *file = fopen("/proc/self/status", "r");
        assert(file);
        while (fgets(line, sizeof line, file))
                for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                        if (!strncmp(line, rows[i], strlen(rows[i])))
                                sum += strtol(line + strlen(rows[i]), NULL, 10);
        fclose(file);
        assert(sum > 0);
        return sum;
}

static char *read_all(const char *path, size_t *length)
{
        FILE *file = fopen(path, "rb");
        char *bytes = malloc(1 << 20);
        assert(file && bytes);
        *length = fread(bytes, 1, 1 << 20, file);
        fclose(file);
        return bytes;
}

/* half of them from memory, which is given back before the run; prints by how many KB the process grew behind the first tenth */
static void loads(const char *path, int count)
{
        static const char *const options[] = { "--jit=fast", "--target=generic", NULL };
        long before = 0;
        for (int k = 0; k < count; k++) {
                size_t length;
                char *bytes = read_all(path, &length);
                struct dnncc_model *model = k % 2 ? dnncc_load_memory(bytes, length, options, NULL) : must_load(path, options);
                free(bytes);
                assert(model);
                struct arrays a;
                make_arrays(model, 1, &a);
                assert(!run(model, &a));
                free_arrays(model, &a);
                dnncc_free(model);
                if (k == count / 10)
                        before = own_memory();
        }
        printf("%ld\n", own_memory() - before);
}

/* ---- errors ---- */

static void wrong(const char *path, const char *text, const char *option, int code, const char *words)
{
        const char *const options[] = { option, NULL };
        struct dnncc_error error = { 0 };
        struct dnncc_model *model = text ? dnncc_load_memory(text, strlen(text), options, &error) : dnncc_load(path, options, &error);
        if (model || error.code != code || !strstr(error.text, words) || strchr(error.text, '\n')) {
                fprintf(stderr, "%s %s: %d '%s', want %d '%s'\n", path ? path : "text", option ? option : "", error.code, error.text, code, words);
                exit(1);
        }
        assert(!(text ? dnncc_load_memory(text, strlen(text), options, NULL) : dnncc_load(path, options, NULL)));
}

static const char scale[] = "dnn 3\nmodule \"m\"\nfunc @main(%x \"x\": <4 x f32>) -> (\"y\") {\n  %0 = mul(%x, <4 x f32> 2.0) : <4 x f32>\n  yield(%0)\n}\n";

static void errors(const char *path)
{
        wrong("nothing.onnx", NULL, NULL, 2, "nothing.onnx");
        wrong("/dev/null", NULL, NULL, 2, "/dev/null");
        wrong("-", NULL, NULL, 1, "path");
        wrong(NULL, NULL, NULL, 1, "path");
        wrong(NULL, "no model", NULL, 3, "ONNX");
        wrong(NULL, "dnn 3\nmodule \"m\"\nfunc @main() -> () { %0 = nothing() }\n", NULL, 3, "line 3");
        wrong(path, NULL, "--nothing", 1, "--nothing");
        wrong(path, NULL, "--target=cortex-m4", 4, "cortex-m4");
        wrong(path, NULL, "--cc=cc", 1, "--jit");
        wrong(path, NULL, "--bench", 1, "options");
        wrong(path, NULL, "--version", 1, "options");
        wrong(path, NULL, "--dim=nothing=3", 1, "nothing");
        wrong(path, NULL, "--max-ram=1", 5, "--max-ram");
        wrong(path, NULL, path, 1, "");         /* a second model */
        float x[5] = { 1, 2, 3, 4, 5 }, y[5] = { 0 };
        struct dnncc_model *model = dnncc_load_memory(scale, strlen(scale), NULL, NULL);
        const struct dnncc_model_1 *d = dnncc_describe(model);
        assert(d->input_count == 1 && d->output_count == 1 && !strcmp(d->inputs[0].name, "x") && d->inputs[0].rank == 1 && d->inputs[0].shape[0] == 4 &&
               d->outputs[0].type == 1 && d->outputs[0].bytes == 16);
        assert(dnncc_run(model, (const void *[]){ x }, (void *[]){ y }, NULL) == 0 && y[3] == 8);
        assert(dnncc_run(model, (const void *[]){ NULL }, (void *[]){ y }, NULL) == -1);
        assert(dnncc_run(model, NULL, (void *[]){ y }, NULL) == -1);
        assert(dnncc_run(model, (const void *[]){ x }, (void *[]){ (char *)y + 1 }, NULL) == -2);
        dnncc_free(model);
        dnncc_free(NULL);
}

/* a dimension that each run gives */
static void extents(const char *path)
{
        static const char *const options[] = { "--dim=N=1..8", NULL };
        struct dnncc_model *model = must_load(path, options);
        const struct dnncc_model_1 *d = dnncc_describe(model);
        float x[8 * 4], y[8 * 4];
        assert(d->extent_count == 1 && d->inputs[0].symbols && !strcmp(d->inputs[0].symbols[0], "N") && !d->inputs[0].symbols[1] && d->inputs[0].shape[0] == 8);
        for (int i = 0; i < 32; i++)
                x[i] = (float)i;
        for (int64_t n = 1; n <= 8; n++) {
                memset(y, 0, sizeof y);
                int64_t given = n;
                assert(dnncc_run(model, (const void *[]){ x }, (void *[]){ y }, &given) == 0 && given == n);
                for (int i = 0; i < 32; i++)
                        assert(y[i] == (i < 4 * n ? 2 * x[i] : 0));
        }
        assert(dnncc_run(model, (const void *[]){ x }, (void *[]){ y }, &(int64_t){ 9 }) == -4);
        assert(dnncc_run(model, (const void *[]){ x }, (void *[]){ y }, NULL) == -1);
        dnncc_free(model);
}

/* ---- state: y = running sum of x, and a cache that grows by a row a run ---- */

static void *state_at(struct dnncc_model *model, const char *name, int64_t bytes)
{
        const struct dnncc_model_2 *d = (const struct dnncc_model_2 *)dnncc_describe(model);
        for (uint32_t k = 0; k < d->state_count; k++)
                if (!strcmp(d->states[k].name, name)) {
                        assert((int64_t)d->states[k].bytes == bytes && d->states[k].offset + d->states[k].bytes <= d->model.regions[0].size);
                        return (char *)dnncc_state(model) + d->states[k].offset;
                }
        assert(!"no such state");
        return NULL;
}

static void step(struct dnncc_model *model, float value, int code, float want)
{
        float x[8], y[8];
        for (int i = 0; i < 8; i++)
                x[i] = value, y[i] = -1;
        assert(dnncc_run(model, (const void *[]){ x }, (void *[]){ y }, NULL) == code);
        for (int i = 0; i < 8; i++)
                assert(y[i] == (code ? -1 : want));
}

static void state(const char *sum_path, const char *cache_path)
{
        static const char *const sum_options[] = { "--state=past=present", NULL }, *const cache_options[] = { "--dim=P=0..3", "--state=past=present", NULL };
        struct dnncc_model *model = must_load(sum_path, sum_options), *other = must_load(sum_path, sum_options);
        const struct dnncc_model_1 *d = dnncc_describe(model);
        assert(d->abi == 2 && d->struct_size == sizeof(struct dnncc_model_2) && d->region_count == 1 && d->regions[0].kind == 1 && d->input_count == 1 &&
               d->output_count == 1 && !strcmp(d->inputs[0].name, "x") && !strcmp(d->outputs[0].name, "y") && !dnncc_entry(model, "main"));
        for (int k = 1; k <= 4; k++)
                step(model, 1, 0, (float)k);
        step(other, 1, 0, 1);                           /* it has a state of its own */
        memcpy(dnncc_state(other), dnncc_state(model), (size_t)d->regions[0].size);
        step(other, 1, 0, 5);                           /* a copy goes on by itself */
        step(model, 2, 0, 6);
        *(float *)state_at(model, "past", 32) = 10;
        float x[8] = { 0 }, y[8];
        assert(!dnncc_run(model, (const void *[]){ x }, (void *[]){ y }, NULL) && y[0] == 10 && y[1] == 6);
        memset(dnncc_state(model), 0, (size_t)d->regions[0].size);
        step(model, 3, 0, 3);
        *(uint64_t *)dnncc_state(model) ^= 2;           /* the mark of another build */
        step(model, 3, -18, 0);
        dnncc_free(other);

        other = must_load(cache_path, cache_options);
        for (int64_t k = 0; k < 4; k++) {
                assert(*(int64_t *)state_at(other, "P", 8) == k);
                step(other, 1, 0, (float)(k + 1));
        }
        step(other, 1, -19, 0);                         /* there is room for three rows, of which a run adds one */
        memset(dnncc_state(other), 0, (size_t)dnncc_describe(other)->regions[0].size);
        step(other, 2, 0, 2);
        memcpy(dnncc_state(other), dnncc_state(model), 64);
        step(other, 1, -18, 0);
        dnncc_free(other);
        dnncc_free(model);
}

/* ---- entries: one of three rows at a time, one of a row; the state is of both ---- */

static void entries(const char *path)
{
        static const char *const options[] = { "--entry=three:N=3", "--entry=one:N=1", "--state=past=present", NULL };
        struct dnncc_model *three = must_load(path, options), *one = dnncc_entry(three, "one");
        assert(one && one != three && dnncc_entry(one, "three") == three && dnncc_entry(three, "three") == three && !dnncc_entry(three, "two") &&
               !dnncc_entry(three, "") && dnncc_state(one) == dnncc_state(three));
        assert(dnncc_describe(three)->inputs[0].shape[0] == 3 && dnncc_describe(one)->inputs[0].shape[0] == 1);
        assert(strstr(dnncc_describe(one)->name, "_one") && strstr(dnncc_describe(three)->name, "_three"));
        float x[12], y[12];
        for (int i = 0; i < 12; i++)
                x[i] = 1;
        for (int k = 0; k < 3; k++) {
                assert(!dnncc_run(three, (const void *[]){ x }, (void *[]){ y }, NULL) && y[11] == (float)(3 + 4 * k));
                assert(!dnncc_run(one, (const void *[]){ x }, (void *[]){ y }, NULL) && y[3] == (float)(4 + 4 * k) && y[11] == (float)(3 + 4 * k));
        }
        dnncc_free(one);                                /* the first one's is that of all */
        assert(!dnncc_run(one, (const void *[]){ x }, (void *[]){ y }, NULL));
        dnncc_free(three);
}

/* ---- texts ---- */

static void texts(const char *path)
{
        static const char *const options[] = { "--text-bytes=8", NULL };
        struct dnncc_model *model = must_load(path, options);
        const struct dnncc_model_1 *d = dnncc_describe(model);
        const char *words[] = { "a", "longer", "" };
        char out[3][9];                                 /* the room of an output has a NUL behind it */
        assert(d->inputs[0].type == 8 && d->inputs[0].rank == 1 && d->inputs[0].shape[0] == 3 && d->inputs[0].bytes == 24 && d->outputs[0].bytes == sizeof out);
        for (int k = 0; k < 2; k++) {
                memset(out, 1, sizeof out);
                assert(!dnncc_run(model, (const void *[]){ words }, (void *[]){ out }, NULL));
                for (int i = 0; i < 3; i++)
                        assert(!strcmp(out[i], words[i]));
        }
        words[1] = "longer t";
        assert(dnncc_run(model, (const void *[]){ words }, (void *[]){ out }, NULL) == -17);
        words[1] = NULL;
        assert(dnncc_run(model, (const void *[]){ words }, (void *[]){ out }, NULL) == -1);
        dnncc_free(model);
}

int main(int argc, char **argv)
{
        assert(argc > 2);
        if (!strcmp(argv[1], "threads"))
                threads(argv + 2, argc - 2);
        else if (!strcmp(argv[1], "loads"))
                loads(argv[2], atoi(argv[3]));
        else if (!strcmp(argv[1], "errors"))
                errors(argv[2]);
        else if (!strcmp(argv[1], "state"))
                state(argv[2], argv[3]);
        else if (!strcmp(argv[1], "entries"))
                entries(argv[2]);
        else if (!strcmp(argv[1], "texts"))
                texts(argv[2]);
        else
                extents(argv[2]);
        return 0;
}
