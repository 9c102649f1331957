/* SPDX-License-Identifier: MIT */
/* libdnncc_cost from outside, run by test_cost_library.py:
 *
 *     cost_library print MODEL OPTIONS..       what a model costs, from its file and from memory, as JSON
 *     cost_library many MODEL COUNT            so many times, in two threads; prints the growth in KB
 *     cost_library errors MODEL */
#include <assert.h>
#include <dnncc_cost.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void print(const struct dnncc_cost *c)
{
        printf("{\"cycles\": %.0f, \"flops\": %.0f, \"constants\": %lld, \"workspace\": %lld, \"calls\": [", c->cycles, c->operations, (long long)c->constants, (long long)c->workspace);
        for (size_t i = 0; i < c->kernel_count; i++) {
                const struct dnncc_kernel_cost *k = &c->kernels[i];
                printf("%s{\"summary\": \"%s\", \"times\": %.0f, \"cycles\": %.0f, \"flops\": %.0f, \"read\": %lld, \"constants\": %lld, \"written\": %lld}", i ? ", " : "", k->computes, k->times, k->cycles,
                       k->operations, (long long)k->read, (long long)k->constants, (long long)k->written);
        }
        puts("]}");
}

static void *read_all(const char *path, size_t *length)
{
        FILE *in = fopen(path, "rb");
        char *bytes = malloc(1 << 22);
        assert(in && bytes);
        *length = fread(bytes, 1, 1 << 22, in);
        fclose(in);
        return bytes;
}

static int print_both(const char *path, const char *const *options)
{
        struct dnncc_error error = { 0 };
        size_t length;
        void *bytes = read_all(path, &length);
        struct dnncc_cost *costs[] = { dnncc_cost(path, options, &error), dnncc_cost_memory(bytes, length, options, NULL) };
        free(bytes);
        for (int i = 0; i < 2; i++) {
                if (!costs[i]) {
                        fprintf(stderr, "%d %s\n", error.code, error.text);
                        return 1;
                }
                print(costs[i]);
                dnncc_cost_free(costs[i]);
        }
        return 0;
}

struct work { const char *path; int count; };

static void *repeat(void *context)
{
        const struct work *w = context;
        for (int i = 0; i < w->count; i++) {
                struct dnncc_cost *c = dnncc_cost(w->path, NULL, NULL);
                assert(c && c->cycles > 0);
                dnncc_cost_free(c);
        }
        return NULL;
}

static long resident(void)
{
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
}

static int many(const char *path, int count)
{
        struct work few = { path, 5 }, all = { path, count };
        pthread_t threads[2];
        repeat(&few);
        const long before = resident();
        for (int i = 0; i < 2; i++)
                assert(!pthread_create(&threads[i], NULL, repeat, &all));
        for (int i = 0; i < 2; i++)
                pthread_join(threads[i], NULL);
        printf("%ld\n", resident() - before);
        return 0;
}

static void refuse(const char *path, const void *bytes, const char *const *options, int code, const char *says)
{
        struct dnncc_error error = { 0 };
        struct dnncc_cost *c = bytes ? dnncc_cost_memory(bytes, strlen(bytes), options, &error) : dnncc_cost(path, options, &error);
        if (c || error.code != code || !strstr(error.text, says)) {
                fprintf(stderr, "%s: %d %s, want %d %s\n", path ? path : "memory", error.code, error.text, code, says);
                exit(1);
        }
}

static int errors(const char *path)
{
        refuse(NULL, NULL, NULL, 1, "a path is wanted");
        refuse("-", NULL, NULL, 1, "a path is wanted");
        refuse("@list", NULL, NULL, 1, "a path is wanted");
        refuse("none.onnx", NULL, NULL, 2, "cannot read");
        refuse(NULL, "nothing", NULL, 3, "");
        refuse(NULL, "dnn 3\nmodule \"m\"\nfunk", NULL, 3, "line 3");
        refuse(path, NULL, (const char *const[]){ "--target=nothing", NULL }, 1, "nothing");
        refuse(path, NULL, (const char *const[]){ "--nothing", NULL }, 1, "nothing");
        refuse(path, NULL, (const char *const[]){ "--bench", NULL }, 1, "--cost");
        refuse(path, NULL, (const char *const[]){ "--info", NULL }, 1, "");
        refuse(path, NULL, (const char *const[]){ "--max-ram=1", NULL }, 5, "the workspace takes");
        static const char *words[2000];
        for (int i = 0; i < 1999; i++)
                words[i] = "--exact";
        refuse(path, NULL, words, 1, "more than");
        dnncc_cost_free(NULL);
        return 0;
}

int main(int argc, char **argv)
{
        if (argc > 2 && !strcmp(argv[1], "print"))
                return print_both(argv[2], (const char *const *)argv + 3);
        if (argc > 3 && !strcmp(argv[1], "many"))
                return many(argv[2], atoi(argv[3]));
        return argc > 2 ? errors(argv[2]) : 1;
}
