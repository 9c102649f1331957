/* --keep-float: the values that it names, by the name in a file of ranges, or by a node of the model
 * that they came from. */
#include "base/suggest.h"
#include "passes/quantize/quantize.h"

#include <string.h>

/* name is one of a list's, ", " between them */
static bool is_among(const char *name, const char *list)
{
        size_t length = strlen(name);
        for (const char *p = list; p; p = strstr(p, ", ") ? strstr(p, ", ") + 2 : NULL)
                if (!strncmp(p, name, length) && (!p[length] || !strncmp(p + length, ", ", 2)))
                        return true;
        return false;
}

static bool is_called(const struct calibrated *c, const char *name)
{
        const char *where = c->value->kind == VALUE_RESULT ? c->value->op->location : NULL;
        return !strcmp(c->name, name) || is_among(name, where);
}

bool keep_float_find(struct arena *arena, const struct quantize_policy *policy,
                     const struct calibrated *known, int count, bool *keep, struct diag *diag)
{
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
                return false;
        }
        return true;
}
