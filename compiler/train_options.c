/* SPDX-License-Identifier: MIT */
/* What the options of training say: the optimizer and its numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "compiler/train.h"
#include "front/import.h"

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
