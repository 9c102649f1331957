/* SPDX-License-Identifier: MIT */
/* Random programs through random legal orders of passes: every state is sound, no pass changes a result, and a run that goes on
 * from a dump ends in the same text.
 *
 *     random_passes_test [COUNT [FIRST SEED]]            COUNT programs (default: what a minute allows)
 *
 * Programs of the whole-number pool must keep every value; those of the real pool must be as near to the same program in double
 * as the program as written is. A failing program shrinks, is written to random-SEED.dnn beside this test's program and shown with
 * the command that runs it. Trials run in processes of their own, so that a crash is a failure like any other. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/targets.h"
#include "ir/interp/interp.h"
#include "passes/manager.h"
#include "kernels/kernels.h"
#include "test/unit/random_program.h"

enum { DEFAULT_COUNT = 3000, LIST_MAX = 48, SECONDS_MAX = 60, BATCH = 50, PORTS_MAX = 8 };

struct trial {
        uint64_t seed, mask;
        bool real, exact, finite, one_output;
        int threads, restart;           /* restart: before this pass; -1: never */
        const char *target;
        const struct pass *list[LIST_MAX];
        int count;
};

static const struct loop_library *library;

/* ---- a trial from a seed ---- */

static bool may_follow(const struct trial *t, const struct history *h, const struct pass *pass)
{
        const char *after;
        if (pass->class == CLASS_A)
                return false;           /* it changes results on purpose */
        if (!strcmp(pass->name, "port_layouts"))
                return false;           /* it wants to be told what an option says */
        if (!t->real && !t->exact && !strcmp(pass->name, "winograd"))
                return false;           /* quarters and sixths are no whole numbers */
        return !history_objection(h, pass, &after);
}

static void add_pass(struct trial *t, struct history *h, const struct pass *pass)
{
        if (t->count == LIST_MAX || !may_follow(t, h, pass))
                return;
        t->list[t->count++] = pass;
        history_add(h, pass);
}

static struct trial trial_of(uint64_t seed)
{
        static const char *const common[] = { "generic", "x86-64", "x86-64-v3", "x86-64-v4" };
        int targets = 0;
        while (target_at(targets))
                targets++;
        struct generator g = { .stream = seed * UINT64_C(0x2545f4914f6cdd1d) + 7 };
        struct trial t = { .seed = seed, .mask = ~UINT64_C(0), .real = seed % 3 == 0, .exact = chance(&g, 25), .finite = chance(&g, 20),
                           .threads = chance(&g, 25) ? 3 : 1, .target = common[pick(&g, 4)] };
        if (chance(&g, 40))             /* any of them: the interpreter runs them all */
                t.target = target_at(pick(&g, targets))->name;
        struct history h = { 0 };
        if (chance(&g, 35))
                for (const char *list = pipeline_passes(1 + pick(&g, 2)); *list;)
                        add_pass(&t, &h, pass_next(&list));
        for (int k = t.count ? 0 : pick(&g, 12); k > 0; k--)
                add_pass(&t, &h, &passes[pick(&g, pass_count)]);
        add_pass(&t, &h, pass_find("lower"));
        for (int k = pick(&g, 5); k > 0; k--)
                add_pass(&t, &h, &passes[pick(&g, pass_count)]);
        t.restart = chance(&g, 60) ? pick(&g, t.count + 1) : -1;
        return t;
}

/* ---- running one ---- */

static char complaint[512];
static bool complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool complain(const char *format, ...)
{
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(complaint, sizeof complaint, format, arguments);
        va_end(arguments);
        return false;
}

static struct pass_context context_of(const struct trial *t, struct diag *diag)
{
        const struct target *target = target_find(t->target);
        return (struct pass_context){
                .diag = diag, .target = target, .library = library, .limits = limits_preset, .threads = t->threads, .exact = t->exact,
                .assume_finite = t->finite, .step = t->threads > 1 ? 0 : 1 + (int64_t)(t->seed * 37 % 400),
                .lower = { .target = target, .scheduler = &kernels_scheduler, .threads = t->threads, .views = t->seed % 5 != 0 },
        };
}

struct data { int count; struct { enum element element; int64_t elements; void *bytes; } ports[PORTS_MAX]; };

static void fill(enum element e, void *bytes, int64_t count, uint64_t stream, bool real)
{
        for (int64_t i = 0; i < count; i++) {
                uint64_t r = random_next(&stream);
                union scalar s = { .i = (int64_t)(r % 9) - 4 };
                if (element_is_float(e))
                        s.f = real ? (double)(int64_t)(r >> 11) * 0x1p-50 - 4 : r % 64 == 0 ? -0.0 : (double)((int64_t)(r % 9) - 4);
                else if (element_info[e].class != CLASS_SINT)
                        s.u = e == E_BOOL ? r & 1 : r % 5;
                element_store(e, bytes, (size_t)i, s);
        }
}

/* what the program computes; all floats in double when as_double. The run's code, or -100 when it cannot run. */
static int run(struct arena *arena, const struct loop_program *p, const struct trial *t, bool as_double, struct data *out, struct diag *diag)
{
        const void *inputs[PORTS_MAX];
        void *outputs[PORTS_MAX];
        int count = 0;
        out->count = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                if (b->space != SPACE_INPUT && b->space != SPACE_OUTPUT)
                        continue;
                void *bytes = arena_alloc(arena, (size_t)b->extent * 8 + 8);
                if (b->space == SPACE_INPUT) {
                        fill(b->element, bytes, b->extent, t->seed + (uint64_t)count, t->real);
                        inputs[count++] = bytes;
                } else {
                        enum element e = as_double && element_is_float(b->element) ? E_F64 : b->element;
                        out->ports[out->count].element = e;
                        out->ports[out->count].elements = b->extent;
                        outputs[out->count] = out->ports[out->count].bytes = bytes;
                        out->count++;
                }
        }
        struct interp *interp = interp_new(p, as_double, 0, diag);
        if (!interp)
                return -100;
        int code = interp_run(interp, inputs, outputs, 0, NULL);
        interp_free(interp);
        return code;
}

static double number_at(const struct data *d, int port, int64_t i)
{
        enum element e = d->ports[port].element;
        union scalar s = element_load(e, d->ports[port].bytes, (size_t)i);
        return element_is_float(e) ? s.f : element_info[e].class == CLASS_SINT ? (double)s.i : (double)s.u;
}

static bool same_value(const struct data *a, const struct data *b, int port, int64_t i, bool bits)
{
        size_t bytes = (size_t)element_info[a->ports[port].element].bytes;
        double x = number_at(a, port, i), y = number_at(b, port, i);
        if (!memcmp((const char *)a->ports[port].bytes + (size_t)i * bytes, (const char *)b->ports[port].bytes + (size_t)i * bytes, bytes))
                return true;
        return (isnan(x) && isnan(y)) || (!bits && element_is_float(a->ports[port].element) && x == y);
}

/* exact: to the bit; whole numbers: in value; reals: as near to the doubles as the program as written, or nearly so */
static bool compare(const struct trial *t, const struct data *want, const struct data *got, const struct data *doubles)
{
        for (int p = 0; p < want->count; p++) {
                double largest = 0, error = 0;
                for (int64_t i = 0; doubles && i < want->ports[p].elements; i++) {
                        largest = fmax(largest, fabs(number_at(doubles, p, i)));
                        error = fmax(error, fabs(number_at(doubles, p, i) - number_at(want, p, i)));
                }
                for (int64_t i = 0; i < want->ports[p].elements; i++) {
                        if (same_value(want, got, p, i, t->exact))
                                continue;
                        double d = doubles ? fabs(number_at(doubles, p, i) - number_at(got, p, i)) : INFINITY;
                        if (!t->exact && d <= 32 * error + 1e-4 * largest + 3e-5)
                                continue;
                        return complain("output %d element %" PRId64 " is %.9g, want %.9g", p, i, number_at(got, p, i),
                                        number_at(doubles ? doubles : want, p, i));
                }
        }
        return true;
}

static char *text_of(struct arena *arena, const struct pipeline_state *state)
{
        struct text text = { 0 };
        if (state->program)
                loop_print(&text, state->program, &(struct tensor_print){ 0 });
        else
                tensor_print(&text, state->module, &(struct tensor_print){ 0 });
        char *copy = arena_string(arena, text.data);
        text_free(&text);
        return copy;
}

/* the state as its text reads back */
static bool reread(struct arena *arena, const struct pipeline_state *state, struct pipeline_state *copy, struct diag *diag)
{
        char *text = text_of(arena, state);
        *copy = (struct pipeline_state){ 0 };
        if (state->program)
                copy->program = loop_parse(arena, text, strlen(text), NULL, NULL, library, diag);
        else
                copy->module = tensor_parse(text, strlen(text), NULL, NULL, diag);
        if (!copy->program && !copy->module)
                return complain("its text is not read back");
        return !strcmp(text, text_of(arena, copy)) || complain("its text reads back as another one");
}

/* false, saying where the texts differ first */
static bool same_text(const char *a, const char *b, int restart)
{
        const char *line = a;
        for (size_t i = 0; a[i] || b[i]; i++) {
                if (a[i] == '\n')
                        line = a + i + 1;
                if (a[i] != b[i])
                        return complain("a run that goes on from a dump before pass %d ends in another text:\n%.*s\n%.*s", restart,
                                        (int)strcspn(line, "\n"), line, (int)strcspn(b + (line - a), "\n"), b + (line - a));
        }
        return true;
}

static bool run_passes(struct pipeline_state *state, const struct trial *t, int first, int end, struct pass_context *context)
{
        for (int i = first; i < end; i++) {
                struct pipeline_options one = { .passes = t->list[i]->name, .verify = true };
                if (!pipeline_run(state, &one, context))
                        return complain("pass %d, %s, failed", i, t->list[i]->name);
        }
        return true;
}

static struct loop_program *program_of(const struct pipeline_state *state, struct pass_context *context)
{
        struct lower_options plain = { 0 };
        return state->program ? state->program : lower_module(state->module, state->module->functions, library, &plain, context->diag);
}

static bool run_trial(const struct trial *t)
{
        struct diag diag = { .subject = "random", .verbosity = -1 };
        struct arena *arena = arena_new();
        struct pass_context context = context_of(t, &diag), again = context;
        struct pipeline_state state = { .module = random_program(t->seed, t->mask, t->real, t->one_output, &diag) }, copy = { 0 };
        struct data want, got, doubles;
        if (diag.errors || !tensor_verify(state.module, &diag))
                return complain("the generator made an unsound program");
        struct loop_program *plain = program_of(&state, &context);
        int code = plain ? run(arena, plain, t, false, &want, &diag) : -100;
        bool fine = code == INTERP_OK || complain("the program as written ended with code %d", code);
        if (fine && t->real)
                fine = run(arena, plain, t, true, &doubles, &diag) == INTERP_OK || complain("the program cannot run in double");
        int restart = t->restart < 0 || t->restart > t->count ? t->count : t->restart;
        fine = fine && run_passes(&state, t, 0, restart, &context) && reread(arena, &state, &copy, &diag);
        fine = fine && run_passes(&state, t, restart, t->count, &context) && run_passes(&copy, t, restart, t->count, &again);
        fine = fine && same_text(text_of(arena, &state), text_of(arena, &copy), restart);
        struct loop_program *last = fine ? program_of(&state, &context) : NULL;
        if (last) {
                code = run(arena, last, t, false, &got, &diag);
                fine = code == INTERP_OK ? compare(t, &want, &got, t->real ? &doubles : NULL) : complain("the run ended with code %d", code);
        }
        if (copy.module)
                module_free(copy.module);
        module_free(state.module);
        arena_free(arena);
        return fine;
}

/* ---- processes ---- */

/* of processor time, from now on */
static void limit_seconds(void)
{
        setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_sec = SECONDS_MAX }, NULL);
}

static bool survives(const struct trial *t, bool quiet)
{
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
                if (quiet && (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout)))
                        _exit(2);
                limit_seconds();
                bool fine = run_trial(t);
                if (!fine)
                        fprintf(stderr, "%s\n", complaint);
                fflush(NULL);
                _exit(!fine);
        }
        int status;
        waitpid(child, &status, 0);
        if (!quiet && WIFSIGNALED(status))
                fprintf(stderr, "it died of signal %d\n", WTERMSIG(status));
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* the first seed of the batch that fails, or `end` */
static uint64_t first_failure(uint64_t first, uint64_t end)
{
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
                if (!freopen("/dev/null", "w", stderr))
                        _exit(2);
                for (uint64_t seed = first; seed < end; seed++) {
                        struct trial t = trial_of(seed);
                        limit_seconds();
                        if (!run_trial(&t))
                                _exit(1);
                }
                _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return end;
        for (uint64_t seed = first; seed < end; seed++) {
                struct trial t = trial_of(seed);
                if (!survives(&t, true))
                        return seed;
        }
        return end;
}

/* ---- shrinking ---- */

static bool try_smaller(struct trial *t, const struct trial *smaller)
{
        if (survives(smaller, true))
                return false;
        *t = *smaller;
        return true;
}

static bool is_legal(const struct trial *t)
{
        struct history h = { 0 };
        for (int i = 0; i < t->count; i++) {
                if (!may_follow(t, &h, t->list[i]))
                        return false;
                history_add(&h, t->list[i]);
        }
        return true;
}

static void shrink(struct trial *t)
{
        for (bool smaller = true; smaller;) {
                smaller = false;
                for (int i = t->count - 1; i >= 0; i--) {
                        struct trial s = *t;
                        memmove(s.list + i, s.list + i + 1, (size_t)(--s.count - i) * sizeof *s.list);
                        s.restart -= s.restart > i;
                        smaller |= is_legal(&s) && try_smaller(t, &s);
                }
                for (int k = STEPS_MAX - 1; k >= 0; k--) {
                        struct trial s = *t;
                        s.mask &= ~(UINT64_C(1) << k);
                        smaller |= s.mask != t->mask && try_smaller(t, &s);
                }
                struct trial s = *t;
                s.one_output = true;
                smaller |= !t->one_output && try_smaller(t, &s);
                s = *t;
                s.restart = -1;
                smaller |= t->restart >= 0 && try_smaller(t, &s);
                s = *t;
                s.threads = 1;
                smaller |= t->threads > 1 && try_smaller(t, &s);
        }
}

/* folder: where the program is left, with its slash */
static void show(const struct trial *t, int folder_length, const char *folder)
{
        struct diag diag = { .silent = true };
        struct text text = { 0 }, names = { 0 };
        struct module *m = random_program(t->seed, t->mask, t->real, t->one_output, &diag);
        tensor_print(&text, m, &(struct tensor_print){ 0 });
        for (int i = 0; i < t->count; i++)
                text_add(&names, "%s%s", i ? "," : "", t->list[i]->name);
        struct text path = { 0 };
        text_add(&path, "%.*srandom-%" PRIu64 ".dnn", folder_length, folder, t->seed);
        FILE *file = fopen(path.data, "w");
        if (file) {
                fputs(text.data, file);
                fclose(file);
        }
        fprintf(stderr, "%s\ndnncc %s --passes=%s --target=%s%s%s --threads=%d --check --emit=loops -o -\n", text.data, path.data,
                names.data ? names.data : "", t->target, t->exact ? " --exact" : "", t->finite ? " --assume-finite" : "", t->threads);
        fprintf(stderr, "--step=%d where threads are 1\n", (int)(1 + t->seed * 37 % 400));
        if (t->restart >= 0)
                fprintf(stderr, "dumped and read again before pass %d\n", t->restart);
        survives(t, false);
        text_free(&text);
        text_free(&names);
        text_free(&path);
        module_free(m);
}

int main(int argc, char **argv)
{
        uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : DEFAULT_COUNT, first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
        struct diag diag = { .subject = "library" };
        library = loop_library_new(arena_new(), &diag);
        const char *slash = strrchr(argv[0], '/');
        int failures = 0;
        for (uint64_t seed = first; library && seed < first + count && failures < 3;) {
                uint64_t end = seed + BATCH < first + count ? seed + BATCH : first + count, failed = first_failure(seed, end);
                if (failed < end) {
                        struct trial t = trial_of(failed);
                        failures++;
                        shrink(&t);
                        fprintf(stderr, "\n---- seed %" PRIu64 " fails:\n", failed);
                        show(&t, slash ? (int)(slash + 1 - argv[0]) : 0, argv[0]);
                }
                seed = failed < end ? failed + 1 : end;
        }
        printf("random passes: %" PRIu64 " programs, %d failures\n", count, failures);
        return failures > 0 || !library;
}
