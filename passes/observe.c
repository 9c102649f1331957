/* SPDX-License-Identifier: MIT */
/* Shows a state of compilation to the user: as text on standard error, in numbered files, by its
 * size. */
#include "passes/observe.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

static void state_print(struct text *out, const struct pipeline_state *state,
                 const struct tensor_print *options)
{
        if (state->program)
                loop_print(out, state->program, options);
        else
                tensor_print(out, state->module, options);
}

void state_show(const struct pipeline_state *state, const char *when, const char *pass)
{
        struct text text = { 0 };
        struct tensor_print elide = { .elide = true };
        state_print(&text, state, &elide);
        fprintf(stderr, "; %s %s\n%s\n", when, pass, text.data ? text.data : "");
        text_free(&text);
}

void snapshot_take(struct snapshot *s, const struct pipeline_state *state, const char *stem)
{
        const char *ending = state->program ? "loops" : "dnn";
        snapshot_free(s);
        s->arena = arena_new();
        s->file = arena_printf(s->arena, "%s.%s", stem, ending);
        s->blob_file = arena_printf(s->arena, "%s.bin", s->file);
        state_print(&s->text, state,
                    &(struct tensor_print){ .blob = &s->blob, .file_name = s->blob_file });
}

void snapshot_free(struct snapshot *s)
{
        text_free(&s->text);
        text_free(&s->blob);
        if (s->arena)
                arena_free(s->arena);
        *s = (struct snapshot){ 0 };
}

/* Writes a file as a whole; if that fails, what was there before stays. */
static bool write_bytes(struct arena *arena, const char *path, const struct text *text,
                        struct diag *diag)
{
        const char *aside = arena_printf(arena, "%s.part", path);
        FILE *file = fopen(aside, "wb");
        bool fine = file && fwrite(text->data, 1, text->length, file) == text->length;
        if (file && fclose(file))
                fine = false;
        if (fine && !rename(aside, path))
                return true;
        diag_error(diag, EXIT_IO, "cannot write %s: %s", path, strerror(errno));
        if (file)
                remove(aside);
        return false;
}

bool snapshot_write(const struct snapshot *s, const char *dir, struct diag *diag)
{
        return (!s->blob.length ||
                write_bytes(s->arena, arena_printf(s->arena, "%s/%s", dir, s->blob_file), &s->blob,
                            diag)) &&
               write_bytes(s->arena, arena_printf(s->arena, "%s/%s", dir, s->file), &s->text, diag);
}

bool state_dump(const struct pipeline_state *state, const char *dir, int number, const char *name,
                struct diag *diag)
{
        if (mkdir(dir, 0777) && errno != EEXIST) {
                diag_error(diag, EXIT_IO, "cannot make folder %s: %s", dir, strerror(errno));
                return false;
        }
        char stem[64];
        struct snapshot s = { 0 };
        snprintf(stem, sizeof stem, "%02d-%s", number, name);
        snapshot_take(&s, state, stem);
        bool fine = snapshot_write(&s, dir, diag);
        snapshot_free(&s);
        return fine;
}

static int count_operations(const struct region *region)
{
        int n = 0;
        for (const struct op *op = region_walk(region, NULL); op; op = region_walk(region, op))
                n++;
        return n;
}

int state_size(const struct pipeline_state *state)
{
        int n = 0;
        if (state->program)
                for (const struct loop_function *k = state->program->kernels; k; k = k->next)
                        n += k->kind == FUNCTION_KERNEL;
        else
                for (const struct function *f = state->module->functions; f; f = f->next)
                        n += count_operations(&f->body);
        return n;
}
