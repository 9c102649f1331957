/* SPDX-License-Identifier: MIT */
#include "front/asked.h"

struct asked asked_begin(struct arena *arena, const char *model)
{
        struct asked a = { .arena = arena };
        text_add(&a.text, "dnncc %s", model ? text_shell_word(arena, model) : "-");
        return a;
}

void asked_given(struct asked *a, const char *option, const char *const *words, int count)
{
        for (int i = 0; i < count; i++)
                text_add(&a->text, " %s %s", option, text_shell_word(a->arena, words[i]));
}

void asked_add(struct asked *a, const char *option, const char *word)
{
        if (a->count++ < ASKED_MAX)
                asked_given(a, option, &word, 1);
}

const char *asked_end(struct asked *a)
{
        if (a->count > ASKED_MAX)
                text_add(&a->text, " .. (%d more)", a->count - ASKED_MAX);
        const char *command = arena_string(a->arena, a->text.data);
        text_free(&a->text);
        return command;
}
