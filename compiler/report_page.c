/* --report=FILE.html: one page that needs nothing else: report_page.html, the facts of
 * report_json.c, and the IR after each pass. Most passes leave most lines alone, so each distinct
 * line is stored once, and a state is runs of line numbers:
 *
 *      { "lines": ["func @main ...", ...], "states": [[0, 40], [0, 12, 40, 3, 15, 25], ...] }        (first, count, ...) */
#include "compiler/report.h"

#include <stdint.h>
#include <string.h>

#include "compiler/json.h"
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

/* its number; written when it is new */
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

/* writes the lines that are new, and adds the state's runs to `runs` */
static void put_state(struct lines *lines, const struct text *text, struct text *runs)
{
        uintptr_t first = 0, count = 0;
        for (const char *line = text->data, *end; line && *line; line = *end ? end + 1 : end) {
                end = line + strcspn(line, "\n");
                add_number(runs, line_number(lines, line, (size_t)(end - line)), &first, &count);
        }
        text_add(runs, "%zu, %zu", (size_t)first, (size_t)count);
}

static void put_states(FILE *out, const struct run *run)
{
        struct arena *arena = arena_new();
        struct lines lines = { .known = map_new(arena), .out = out };
        struct text runs = { 0 };
        fputs("{\"lines\": [", out);
        for (int i = 0; i < run->state_count; i++) {
                text_add(&runs, i ? ",\n[" : "\n[");
                put_state(&lines, &run->states[i].text, &runs);
                text_add(&runs, "]");
        }
        fprintf(out, "], \"states\": [%s]}\n", runs.data ? runs.data : "");
        text_free(&runs);
        arena_free(arena);
}

void report_page(struct run *run, FILE *out)
{
        for (int i = 0; i < PAGE_LINES; i++) {
                if (!strcmp(page[i], "@facts@\n"))
                        report_json(run, out);
                else if (!strcmp(page[i], "@states@\n"))
                        put_states(out, run);
                else
                        fputs(page[i], out);
        }
}
