/* SPDX-License-Identifier: MIT */
/* Compiles models for programs that hold the compiler. */
#include "compiler/library.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "ir/tensor/types.h"
#include "runtime/dnncc_cost.h"

enum { WORDS_MOST = 1000 };              /* A command line has at most so many. */

static pthread_mutex_t compiling = PTHREAD_MUTEX_INITIALIZER;

/* ---- errors ---- */

void library_say(struct dnncc_error *error, enum exit_code code, const char *text)
{
        if (!error)
                return;
        error->code = (int)code;
        snprintf(error->text, sizeof error->text, "%s", text);
}

/* Says the first error of what the compiler has said: "model.onnx: error: .." and more lines. */
static void say_first(struct dnncc_error *error, enum exit_code code, char *said)
{
        static const char mark[] = "error: ";
        char *at = said ? strstr(said, mark) : NULL;
        if (!at) {
                library_say(error, code, "the model cannot be compiled");
                return;
        }
        at += sizeof mark - 1;
        at[strcspn(at, "\n")] = 0;
        library_say(error, code, at);
}

/* ---- the command line ---- */

/* Does the caller say what the word presets, as --target=x86-64 does for --target=native? */
static bool is_said(const char *const *options, const char *preset)
{
        for (; options && *options; options++)
                if (!strncmp(*options, preset, strcspn(preset, "=")))
                        return true;
        return false;
}

/* Returns the number of the command line's words, or 0 where there are too many. */
static int command_line(char *argv[WORDS_MOST], const struct library_model *model,
                        const struct library_words *words)
{
        static const char *const name[] = { "dnncc", NULL };
        const char *const end[] = { "--", model->path, NULL };
        const char *const *const lists[] = { name, words->first, model->options, words->preset,
                                             end };
        int count = 0;
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
                for (const char *const *word = lists[i]; word && *word; word++) {
                        if (lists[i] == words->preset && is_said(model->options, *word))
                                continue;
                        if (count == WORDS_MOST)
                                return 0;
                        argv[count++] = (char *)(uintptr_t)*word;
                }
        return count;
}

/* ---- compiling ---- */

struct compiling {
        struct run *run;
        const struct library_model *model;
        char *argv[WORDS_MOST];
        int argc;
        bool (*finish)(struct run *run, void *context);
        void *context;
        FILE *errors;
};

/* Are these options about what dnncc itself does, and not about what code is? */
static bool is_other(const struct options *o)
{
        return o->bench || o->tests.count || o->output || o->emit != options_preset.emit ||
               o->info || o->check || o->help || o->short_help || o->version || o->merge.count ||
               o->depfile || o->depfile_name || o->passes;
}

static bool compile(struct compiling *c)
{
        if (!driver_open(c->run, c->argc, c->argv, c->model->bytes, c->model->length, c->errors))
                return false;
        if (!is_other(&c->run->options))
                return c->finish(c->run, c->context);
        diag_error(&c->run->diag, EXIT_USAGE, "options are those that shape code: dnncc itself "
                                              "writes, tests and times it");
        return false;
}

/* Compiles where the compiler's ways out lead here. Returns false where it took one: what it had
 * made is lost. */
static bool compile_watched(struct compiling *c, volatile bool *fine)
{
        jmp_buf out;
        jmp_buf *const memory = memory_watch(&out), *const extents = dim_watch(&out);
        const bool is_out = setjmp(out) != 0;
        if (!is_out)
                *fine = compile(c);
        memory_watch(memory);
        dim_watch(extents);
        return !is_out;
}

bool library_open(struct run *run, const struct library_model *model,
                  const struct library_words *words,
                  bool (*finish)(struct run *run, void *context), void *context,
                  struct dnncc_error *error)
{
        char *said = NULL;
        size_t size;
        volatile bool fine = false;
        struct compiling c = { .run = run, .model = model, .finish = finish, .context = context };
        c.argc = command_line(c.argv, model, words);
        if (!c.argc) {
                library_say(error, EXIT_USAGE, "more than 1,000 words of options");
                return false;
        }
        c.errors = open_memstream(&said, &size);
        if (!c.errors) {
                library_say(error, EXIT_BUDGET, "out of memory");
                return false;
        }
        pthread_mutex_lock(&compiling);
        const bool whole = compile_watched(&c, &fine);
        fclose(c.errors);
        run->diag.stream = NULL;
        if (!whole) {
                library_say(error, EXIT_BUDGET,
                            "out of memory, or an extent that only a run knows");
        } else if (!fine) {
                say_first(error, run->diag.code ? run->diag.code : EXIT_USAGE, said);
                driver_close(run);
        }
        pthread_mutex_unlock(&compiling);
        free(said);
        return fine && whole;
}

void library_close(struct run *run, void (*free_more)(void *context), void *context)
{
        pthread_mutex_lock(&compiling);
        if (free_more)
                free_more(context);
        driver_close(run);
        pthread_mutex_unlock(&compiling);
}
