/* Legal orders of passes: what may run on a state, given what it has been through. The rules are rows of passes.def. */
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

/* the pass whose name stands at the start of a comma list, or NULL; *rest: the list behind it */
const struct pass *pass_next(const char **rest)
{
        const char *p = *rest;
        size_t length = strcspn(p, ",");
        *rest = p + length + (p[length] == ',');
        for (int i = 0; i < pass_count; i++)
                if (strlen(passes[i].name) == length && !memcmp(passes[i].name, p, length))
                        return &passes[i];
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
        const char *done = state->program ? state->program->passes_done : state->module->passes_done;
        struct history h = { .level = state->program ? LEVEL_LOWER : LEVEL_TENSOR };
        while (*done) {                 /* a dump by another version may name passes that are no more */
                const struct pass *pass = pass_next(&done);
                if (pass)
                        history_add(&h, pass);
        }
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
        return pass->level == LEVEL_LOOP && h->level == LEVEL_TENSOR ? "it works on Loop IR: lower must come before it" : NULL;
}
