/* SPDX-License-Identifier: MIT */
/* What the options of training say: the optimizer and its numbers, and which weights it updates. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "compiler/train.h"
#include "front/import.h"
#include "ir/adjoint/adjoint.h"

bool train_usage(const struct training *t, const char *option, const char *text)
{
        diag_error(&t->run->diag, EXIT_USAGE, "%s: %s", option, text);
        return false;
}

/* ---- the options ---- */

static const char rate_name[] = "lr";

static bool set_number(struct training *t, const char *word, size_t length)
{
        const struct optimizer_row *row = t->o.row;
        const char *equal = memchr(word, '=', length);
        const size_t name = equal ? (size_t)(equal - word) : length;
        struct suggest known = suggest_new(t->arena, word, name);
        double least = 0, bound = INFINITY, *number = NULL;
        suggest_add(&known, rate_name);
        if (name == strlen(rate_name) && !memcmp(word, rate_name, name))
                number = &t->rate;
        for (int i = 0; i < OPTIMIZER_NUMBERS_MAX && row->numbers[i].name; i++) {
                suggest_add(&known, row->numbers[i].name);
                if (strlen(row->numbers[i].name) != name ||
                    memcmp(row->numbers[i].name, word, name) != 0)
                        continue;
                number = &t->o.numbers[i];
                least = row->numbers[i].least;
                bound = row->numbers[i].bound;
        }
        if (!number)
                return train_usage(t, "--train",
                             arena_printf(t->arena, "%s has no number '%s'%s", row->name,
                                          text_safe(t->arena, word, name),
                                          suggest_text(&known, true)));
        char *text = arena_printf(t->arena, "%.*s", (int)(length - name), word + name), *end = text;
        if (equal)
                *number = strtod(text + 1, &end);
        if (!equal || end == text + 1 || *end || !(*number >= least && *number < bound))
                return train_usage(t, "--train",
                             arena_printf(t->arena, "%.*s wants a number from %g on%s", (int)name,
                                          word, least,
                                          isinf(bound) ? ""
                                                       : arena_printf(t->arena, ", below %g",
                                                                      bound)));
        return true;
}

/* Reads "adam,lr=0.001,beta1=0.9". */
static bool read_optimizer(struct training *t)
{
        const char *option = t->run->options.train;
        const struct optimizer_row *rows;
        const int count = optimizer_rows(&rows);
        size_t length = strcspn(option, ",");
        struct suggest known = suggest_new(t->arena, option, length);
        for (int i = 0; i < count; i++) {
                suggest_add(&known, rows[i].name);
                if (strlen(rows[i].name) == length && !memcmp(rows[i].name, option, length))
                        t->o.row = &rows[i];
        }
        if (!t->o.row)
                return train_usage(t, "--train",
                             arena_printf(t->arena, "no optimizer is called '%s'%s",
                                          text_safe(t->arena, option, length),
                                          suggest_text(&known, true)));
        for (int i = 0; i < OPTIMIZER_NUMBERS_MAX; i++)
                t->o.numbers[i] = t->o.row->numbers[i].preset;
        t->rate = NAN;
        t->states = optimizer_state_count(t->o.row);
        for (option += length; *option; option += length) {
                length = strcspn(++option, ",");
                if (!set_number(t, option, length))
                        return false;
        }
        return true;
}

/* Reads "norm:1" or "value:0.5". */
static bool read_clip(struct training *t)
{
        static const char *const kinds[] = { [CLIP_VALUE] = "value:", [CLIP_NORM] = "norm:" };
        const char *option = t->run->options.grad_clip;
        if (!option)
                return true;
        for (int i = CLIP_VALUE; i <= CLIP_NORM; i++) {
                char *end = NULL;
                const size_t length = strlen(kinds[i]);
                if (strncmp(option, kinds[i], length) != 0)
                        continue;
                t->bound = strtod(option + length, &end);
                if (end > option + length && !*end && t->bound > 0 && !isinf(t->bound))
                        t->clip = (enum clip)i;
        }
        return t->clip || train_usage(t, "--grad-clip",
                                arena_printf(t->arena, "'%s': want norm:N or value:N, N above 0",
                                             text_argument(t->arena, option)));
}

/* Reads "0.999". */
static bool read_ema(struct training *t)
{
        const char *option = t->run->options.ema;
        char *end = NULL;
        t->ema = option ? strtod(option, &end) : NAN;
        return !option || (end > option && !*end && t->ema >= 0 && t->ema < 1) ||
               train_usage(t, "--ema",
                           arena_printf(t->arena, "'%s': want a number from 0 on, below 1",
                                        text_argument(t->arena, option)));
}

bool train_read_options(struct training *t)
{
        t->accumulate = t->run->options.accumulate ? t->run->options.accumulate : 1;
        return read_optimizer(t) && read_clip(t) && read_ema(t);
}

bool train_parse(struct run *run)
{
        if (!run->options.train)
                return true;
        run->weights = run->weights ? run->weights : ARENA_NEW(run->arena, struct import_weights);
        run->weights->all = true;
        run->training = ARENA_NEW(run->arena, struct import_training);
        run->training->nodes = run->options.training_mode;
        return true;
}

/* ---- the weights ---- */

/* Is v one of the weights already? Several initializers of equal bytes may be one constant. */
static bool is_weight(const struct training *t, const struct value *v)
{
        for (int i = 0; i < t->weight_count; i++)
                if (t->weights[i].value == v)
                        return true;
        return false;
}

static void add_weight(struct training *t, const char *name, struct value *v)
{
        if (is_weight(t, v) || !gradient_reaches(t->arena, t->loss.value, v))
                return;
        ARENA_GROW(t->arena, t->weights, t->weight_count);
        t->weights[t->weight_count++] = (struct trained){ .value = v, .own.name = name };
}

/* Does an item of the list name this initializer, "w1" or "w*"? */
static bool is_named(const struct list *list, const char *name, bool *used)
{
        bool found = false;
        for (int i = 0; i < list->count; i++) {
                const char *item = list->items[i];
                const size_t length = strlen(item);
                const bool begins = length && item[length - 1] == '*' &&
                                    !strncmp(name, item, length - 1);
                if (begins || !strcmp(item, name))
                        used[i] = found = true;
        }
        return found;
}

struct choice { const struct list *update, *freeze; bool *update_used, *freeze_used; };

static bool is_chosen(const struct choice *c, const char *name)
{
        const bool updated = is_named(c->update, name, c->update_used) || !c->update->count;
        return !is_named(c->freeze, name, c->freeze_used) && updated;
}

/* Makes a weight of v where it is chosen. */
static void find_weight(struct training *t, const struct choice *c, const char *name,
                        struct value *v)
{
        if (is_chosen(c, name))
                add_weight(t, name, v);
}

/* Leaves a normalization in inference where one of its moments is not chosen. */
static void find_modes(struct training *t, const struct choice *c)
{
        struct map *weights = map_new(t->arena);        /* It maps values to initializers. */
        const struct import_weights *w = t->run->weights;
        for (int i = 0; i < w->found_count; i++)
                map_set(weights, (const char *)&w->found[i].value, sizeof w->found[i].value,
                        &w->found[i]);
        t->modes = map_new(t->arena);
        for (int i = 0; i < t->nodes->mode_count; i++) {
                struct import_mode *m = &t->nodes->modes[i];
                bool chosen = true;
                for (int k = 0; k < 2 && m->moments[k]; k++) {
                        const struct import_weight *moment = map_get(
                                weights, (const char *)&m->moments[k], sizeof m->moments[k]);
                        chosen = is_chosen(c, moment->name) && chosen;
                }
                if (!chosen)
                        m->trained = m->inferred;
                map_set(t->modes, (const char *)&m->made, sizeof m->made, m);
        }
}

static bool *none_used(const struct training *t, const struct list *list)
{
        bool *used = arena_array(t->arena, (size_t)list->count + 1, sizeof *used);
        memset(used, 0, ((size_t)list->count + 1) * sizeof *used);
        return used;
}

static bool all_used(const struct training *t, const char *option, const struct list *list,
                     const bool *used)
{
        for (int i = 0; i < list->count; i++)
                if (!used[i])
                        return train_usage(t, option,
                                           arena_printf(t->arena,
                                                        "no initializer of floats is '%s'",
                                                        text_argument(t->arena, list->items[i])));
        return true;
}

bool train_find_weights(struct training *t)
{
        const struct import_weights *w = t->run->weights;
        const struct options *o = &t->run->options;
        const struct choice c = { &o->update, &o->freeze, none_used(t, &o->update),
                                  none_used(t, &o->freeze) };
        for (int i = 0; i < w->found_count; i++)
                if (!w->found[i].setting)
                        find_weight(t, &c, w->found[i].name, w->found[i].value);
        for (struct constant *k = t->m->constants; k && !w->found_count; k = k->next)
                if (k->name && element_is_float(k->value.type->element))
                        find_weight(t, &c, k->name, &k->value);
        find_modes(t, &c);
        for (struct constant *k = t->m->constants; k; k = k->next)
                k->varies = false;
        return all_used(t, "--update", c.update, c.update_used) &&
               all_used(t, "--freeze", c.freeze, c.freeze_used) &&
               (t->weight_count ||
                train_usage(t, "--train",
                            "the loss depends on no initializer of floats that is updated"));
}
