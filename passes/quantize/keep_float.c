/* SPDX-License-Identifier: MIT */
/* --keep-float: finds the values that it names, by their names in a file of ranges, or by a node of
 * the model that they came from. */
#include "base/suggest.h"
#include "passes/quantize/quantize.h"

#include <string.h>

static bool is_called(const struct calibrated *c, const char *name)
{
        const char *where = c->value->kind == VALUE_RESULT ? c->value->op->location : NULL;
        return !strcmp(c->name, name) || text_lists(where, name);
}

/* Is v what a run keeps for the next one? */
static bool is_kept(const struct value *v, const bool *state_results)
{
        bool kept = false;
        for (const struct use *u = state_results ? v->uses : NULL; u && !kept; u = u->next)
                kept = u->user->code == OP_yield && !u->user->region->owner &&
                       state_results[u->index];
        return kept;
}

const bool *keep_float_find(struct arena *arena, const struct quantize_policy *policy,
                            const struct calibrated *known, int count, struct diag *diag)
{
        bool *keep = arena_array(arena, (size_t)count + 1, sizeof *keep);
        for (int k = 0; k < count; k++)
                keep[k] = is_kept(known[k].value, policy->state_results);
        for (int i = 0; i < policy->keep_float_count; i++) {
                const char *given = policy->keep_float[i],
                           *name = text_safe(arena, given, strlen(given));
                bool found = false;
                for (int k = 0; k < count; k++)
                        if (is_called(&known[k], name))
                                keep[k] = found = true;
                if (found)
                        continue;
                struct suggest names = suggest_new(arena, name, strlen(name));
                for (int k = 0; k < count; k++)
                        suggest_add(&names, known[k].name);
                diag_error(diag, EXIT_USAGE,
                           "--keep-float=%s: no node or value of the model is called that%s",
                           text_argument(arena, given), suggest_text(&names, true));
                return NULL;
        }
        return keep;
}
