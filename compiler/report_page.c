/* SPDX-License-Identifier: MIT */
/* --report=FILE.html is one page that needs nothing else: the parts in compiler/page, the facts of
 * report_json.c, the IR after each pass, and the code without its weights. Most passes leave most
 * lines alone, so each distinct line is stored once, and a text is runs of line numbers:
 *
 *      { "lines": ["func @main ...", ...],
 *        "states": [[0, 40], [0, 12, 40, 3, 15, 25], ...],       first, count, ...
 *        "code": [43, 200] } */
#include "compiler/report.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "passes/observe.h"

static const char *const page[] = {
#include "report_page.inc"
};
enum { PAGE_LINES = sizeof page / sizeof *page };

void report_observe(void *runner, const struct pipeline_state *state, const struct pass *pass,
                    int rewrites)
{
        struct run *run = runner;
        struct report_state s = { .pass = pass,
                                  .rewrites = rewrites,
                                  .size = state_size(state),
                                  .loops = state->program != NULL };
        const struct tensor_print elide = { .elide = true };
        if (report_is_page(run)) {
                if (state->program)
                        loop_print(&s.text, state->program, &elide);
                else
                        tensor_print(&s.text, state->module, &elide);
        }
        ARENA_GROW(run->arena, run->states, run->state_count);
        run->states[run->state_count++] = s;
        report_find_floats(run, state);
}

void report_forget(struct run *run, int kept)
{
        while (run->state_count > kept)
                text_free(&run->states[--run->state_count].text);
}

bool report_is_page(const struct run *run)
{
        const char *name = run->options.report ? strrchr(run->options.report, '.') : NULL;
        return name && !strcmp(name, ".html");
}

/* ---- lines ---- */

struct lines { struct map *known; FILE *out; uintptr_t count; };

/* Returns the line's number; a new line is written. */
static uintptr_t line_number(struct lines *lines, const char *line, size_t length)
{
        void *known = map_get(lines->known, line, length);
        if (known)
                return (uintptr_t)known - 1;
        fputs(lines->count ? ",\n" : "\n", lines->out);
        json_bytes(lines->out, line, length);
        map_set(lines->known, line, length, (void *)++lines->count);
        return lines->count - 1;
}

static void add_number(struct text *runs, uintptr_t number, uintptr_t *first, uintptr_t *count)
{
        if (*count && number == *first + *count) {
                ++*count;
                return;
        }
        if (*count)
                text_add(runs, "%zu, %zu, ", (size_t)*first, (size_t)*count);
        *first = number;
        *count = 1;
}

/* Writes the lines that are new, and adds the text's runs to `runs`. */
static void put_text(struct lines *lines, const char *text, struct text *runs)
{
        uintptr_t first = 0, count = 0;
        for (const char *line = text, *end; line && *line; line = *end ? end + 1 : end) {
                end = line + strcspn(line, "\n");
                add_number(runs, line_number(lines, line, (size_t)(end - line)), &first, &count);
        }
        text_add(runs, "%zu, %zu", (size_t)first, (size_t)count);
}

/* Returns the code as --weights=file has it, for its functions alone, or NULL where there is
 * none. */
static char *code_text(struct run *run)
{
        struct run apart = *run;
        char *text = NULL;
        size_t size = 0;
        apart.options.weights = WEIGHTS_FILE;
        FILE *code = open_memstream(&text, &size), *weights = fopen("/dev/null", "w");
        if (!code || !weights)
                diag_error(&apart.diag, EXIT_IO, "cannot write the code of %s: %s",
                           run->options.report, strerror(errno));
        bool fine = code && weights && emit_code(&apart, "model", code, NULL, weights);
        if (code && fclose(code))
                fine = false;
        if (weights)
                fclose(weights);
        run->diag = apart.diag;
        if (fine)
                return text;
        free(text);
        return NULL;
}

static void put_texts(FILE *out, struct run *run)
{
        char *code = run->state.program->planned ? code_text(run) : NULL;
        struct arena *arena = arena_new();
        struct lines lines = { .known = map_new(arena), .out = out };
        struct text runs = { 0 };
        fputs("{\"lines\": [", out);
        for (int i = 0; i < run->state_count; i++) {
                text_add(&runs, i ? ",\n[" : "\n[");
                put_text(&lines, run->states[i].text.data, &runs);
                text_add(&runs, "]");
        }
        text_add(&runs, "],\n\"code\": [");
        put_text(&lines, code, &runs);
        fprintf(out, "], \"states\": [%s]}\n", runs.data);
        text_free(&runs);
        arena_free(arena);
        free(code);
}

/* Writes the text of the report of --report-against, which is ASCII, as a string. */
static void put_against(FILE *out, const struct run *run)
{
        if (run->against)
                json_bytes(out, run->against, strlen(run->against));
        fputs(run->against ? "\n" : "null\n", out);
}

bool report_read_against(struct run *run)
{
        static const char *const frame[] = { "{\n  \"dnncc\": \"", "\n}\n" };
        const char *path = run->options.report_against;
        unsigned char *bytes;
        size_t length;
        if (!path)
                return true;
        if (!file_read(path, run->context.limits.file_bytes, &bytes, &length, &run->diag))
                return false;
        char *text = arena_array(run->arena, length + 1, 1);
        memcpy(text, bytes, length);
        text[length] = 0;
        free(bytes);
        size_t head = strlen(frame[0]), tail = strlen(frame[1]), end = strlen(text);
        if (end != length || end < head + tail || strncmp(text, frame[0], head) ||
            strcmp(text + end - tail, frame[1])) {
                diag_error(&run->diag, EXIT_INVALID,
                           "--report-against=%s: no report as --report=FILE.json writes it",
                           text_argument(run->arena, path));
                return false;
        }
        run->against = text;
        run_depends(run, path);
        return true;
}

void report_page(struct run *run, FILE *out)
{
        for (int i = 0; i < PAGE_LINES; i++) {
                if (!strcmp(page[i], "@facts@\n"))
                        report_json(run, out);
                else if (!strcmp(page[i], "@states@\n"))
                        put_texts(out, run);
                else if (!strcmp(page[i], "@against@\n"))
                        put_against(out, run);
                else
                        fputs(page[i], out);
        }
}
