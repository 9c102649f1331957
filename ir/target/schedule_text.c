/* SPDX-License-Identifier: MIT */
#include "ir/target/schedule.h"

#include <stdlib.h>
#include <string.h>

struct field { const char *name; int preset, least, most; size_t offset; };
static const struct field fields[WORD_COUNT] = {
#define FIELD(name_, preset_, least_, most_, doc_) \
        { #name_, preset_, least_, most_, offsetof(struct schedule, name_) },
#include "ir/target/schedule.def"
};

int *schedule_word(struct schedule *schedule, enum schedule_word word)
{
        return (int *)((char *)schedule + fields[word].offset);
}

struct schedule schedule_preset(void)
{
        return (struct schedule){
#define FIELD(name_, preset_, least_, most_, doc_) .name_ = preset_,
#include "ir/target/schedule.def"
        };
}

bool schedule_equal(const struct schedule *a, const struct schedule *b)
{
#define FIELD(name, ...) && a->name == b->name
        return true
#include "ir/target/schedule.def"
                ;
}

static void print_words(struct text *out, const struct schedule *schedule)
{
        struct schedule copy = *schedule;
        bool any = false;
        for (int i = 0; i < WORD_COUNT; i++) {
                int value = *schedule_word(&copy, (enum schedule_word)i);
                if (value == fields[i].preset)
                        continue;
                text_add(out, "%s%s=%d", any ? " " : "", fields[i].name, value);
                any = true;
        }
        if (!any)
                text_add(out, "%s=%d", fields[WORD_unroll].name, schedule->unroll);
}

void schedule_print(struct text *out, const struct schedule *schedule)
{
        print_words(out, schedule);
        if (schedule->why)
                text_add(out, "; %s", schedule->why);
}

const char *schedule_words(struct arena *arena, const struct schedule *schedule)
{
        struct text text = { 0 };
        print_words(&text, schedule);
        const char *words = arena_string(arena, text.data);
        text_free(&text);
        return words;
}

const struct schedule *schedule_keep(struct arena *arena, struct schedule schedule)
{
        return arena_copy(arena, &schedule, sizeof schedule);
}

/* "name=value" at p; its length, or 0 */
static size_t parse_word(struct schedule *schedule, const char *p)
{
        size_t name = strcspn(p, "= "), length = strcspn(p, " ;");
        for (int i = 0; i < WORD_COUNT && p[name] == '='; i++) {
                if (strlen(fields[i].name) != name || strncmp(fields[i].name, p, name) ||
                    length - name < 2 || length - name > 11 ||
                    strspn(p + name + 1, "0123456789") != length - name - 1)
                        continue;
                long long value = strtoll(p + name + 1, NULL, 10);
                if (value < fields[i].least || value > fields[i].most)
                        return 0;
                *schedule_word(schedule, (enum schedule_word)i) = (int)value;
                return length;
        }
        return 0;
}

bool schedule_parse(const char *text, struct schedule *schedule, const char **wrong)
{
        const char *p = text;
        *schedule = schedule_preset();
        while (*p && *p != ';') {
                size_t length = parse_word(schedule, p);
                if (!length) {
                        *wrong = p;
                        return false;
                }
                p += length;
                p += strspn(p, " ");
        }
        p += *p == ';';
        p += strspn(p, " ");
        schedule->why = *p ? p : NULL;
        return true;
}
