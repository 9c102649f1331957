/* SPDX-License-Identifier: MIT */
/* Finds legal orders of passes: which may run on a state, given what it has been through. The rules
 * are rows of passes.def. */
#include "passes/manager.h"

#include <string.h>

enum {
#define PASS(name, ...) PASS_##name,
#define PIPELINE(...)
#include "passes/passes.def"
        PASS_COUNT
};
_Static_assert(PASS_COUNT <= 64, "a history has a bit for each pass");

static const struct { int first, second; const char *why; } orders[] = {
#define PASS(...)
#define PIPELINE(...)
#define ORDER(first, second, why) { PASS_##first, PASS_##second, why },
#include "passes/passes.def"
};

static const struct { const char *name; int pass; } aliases[] = {
#define PASS(...)
#define PIPELINE(...)
#define ALIAS(name, pass) { #name, PASS_##pass },
#include "passes/passes.def"
};

static bool is_name(const char *name, const char *p, size_t length)
{
        return strlen(name) == length && !memcmp(name, p, length);
}

/* Returns the pass whose name stands at the start of a comma-separated list, or NULL; *rest: the
 * list behind it. */
const struct pass *pass_next(const char **rest)
{
        const char *p = *rest;
        size_t length = strcspn(p, ",");
        *rest = p + length + (p[length] == ',');
        for (int i = 0; i < pass_count; i++)
                if (is_name(passes[i].name, p, length))
                        return &passes[i];
        for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
                if (is_name(aliases[i].name, p, length))
                        return &passes[aliases[i].pass];
        return NULL;
}

void history_add(struct history *h, const struct pass *pass)
{
        h->passed |= UINT64_C(1) << (pass - passes);
        if (pass->level > h->level)
                h->level = pass->level;
}

struct history history_of(const struct pipeline_state *state)
{
        const char *done =
                state->program ? state->program->passes_done : state->module->passes_done;
        struct history h = { .level = state->program ? LEVEL_LOWER : LEVEL_TENSOR };
        while (*done) {                 /* A dump by another version may name passes that exist no
                                         * longer. */
                const struct pass *pass = pass_next(&done);
                if (pass)
                        history_add(&h, pass);
        }
        for (const struct loop_function *k = state->program ? state->program->kernels : NULL; k;
             k = k->next)
                if (k->kind == FUNCTION_TASK)     /* A text need not say which passes made it. */
                        history_add(&h, &passes[PASS_outline]);
        return h;
}

const char *history_objection(const struct history *h, const struct pass *pass, const char **after)
{
        *after = "lower";
        if (pass->level == LEVEL_TENSOR && h->level != LEVEL_TENSOR)
                return "it works on Tensor IR";
        if (pass->level == LEVEL_LOWER && h->level != LEVEL_TENSOR)
                return "there is no Tensor IR to lower any more";
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
                if (orders[i].first != pass - passes || !(h->passed >> orders[i].second & 1))
                        continue;
                *after = passes[orders[i].second].name;
                return orders[i].why;
        }
        *after = NULL;
        return pass->level == LEVEL_LOOP && h->level == LEVEL_TENSOR
                       ? "it works on Loop IR: lower must come before it"
                       : NULL;
}

/* ---- lists with more in them ---- */

/* Returns where in the list the pass can stand at the earliest: behind the last one that cannot
 * follow it. */
static const char *place_of(const char *list, const struct pass *pass)
{
        const char *place = list, *after;
        for (const char *rest = list; *rest;) {
                struct history with = { 0 };
                history_add(&with, pass);
                const struct pass *other = pass_next(&rest);
                if (other && other->level <= pass->level && history_objection(&with, other, &after))
                        place = rest;
        }
        return place;
}

const char *passes_with(struct arena *arena, const char *list, const char *more)
{
        while (*more) {
                const char *name = more;
                const struct pass *pass = pass_next(&more);
                int length = (int)strcspn(name, ",");
                /* A name that is no pass is reported when the list runs. */
                const char *place = pass ? place_of(list, pass) : list;
                list = arena_printf(arena, "%.*s%s%.*s%s%s", (int)(place - list), list,
                                    *place || place == list ? "" : ",", length, name,
                                    *place ? "," : "", place);
        }
        return list;
}
