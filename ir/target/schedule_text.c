/* SPDX-License-Identifier: MIT */
#include "ir/target/schedule.h"

#include <stdlib.h>
#include <string.h>

struct field {
        const char *name;
        int preset, least, most;
        size_t offset;                  /* The word lies here in the union of struct schedule. */
};
#define NUMBERS(kind, name, preset, least, most) \
        { #name, preset, least, most, offsetof(struct schedule_##kind, name) },
static const struct field registers[] = {
#define REGISTERS(name, preset, least, most, ...) NUMBERS(registers, name, preset, least, most)
#include "ir/target/schedule.def"
};
static const struct field circular[] = {
#define CIRCULAR(name, preset, least, most, doc) NUMBERS(circular, name, preset, least, most)
#include "ir/target/schedule.def"
};
static const struct field grid[] = {
#define GRID(name, preset, least, most, doc) NUMBERS(grid, name, preset, least, most)
#include "ir/target/schedule.def"
};
static const struct field stream[] = {
#define STREAM(name, preset, least, most, doc) NUMBERS(stream, name, preset, least, most)
#include "ir/target/schedule.def"
};
static const struct field scalar[] = {
#define SCALAR(name, preset, least, most, doc) NUMBERS(scalar, name, preset, least, most)
#include "ir/target/schedule.def"
};

#define KIND(name, shown) \
        [SCHEDULE_##name] = { name, sizeof name / sizeof *name, \
                              offsetof(struct schedule_##name, shown) / sizeof(int) }
static const struct {
        const struct field *fields;
        size_t count, shown;            /* shown: the number of the word that stands for a schedule
                                         * whose words are all preset. */
} kinds[SCHEDULE_KINDS] = { KIND(registers, unroll), KIND(circular, patch), KIND(grid, warps),
                            KIND(stream, contexts), KIND(scalar, sums) };

static const char *const operations[WORD_COUNT] = {
#define REGISTERS(name, preset, least, most, operations, doc) operations,
#include "ir/target/schedule.def"
};

bool schedule_has_word(const char *operation, enum schedule_word word)
{
        size_t length = strlen(operation);
        for (const char *p = operations[word]; (p = strstr(p, operation)); p += length)
                if ((p == operations[word] || p[-1] == ' ') && (p[length] == ' ' || !p[length]))
                        return true;
        return false;
}

static int *value_at(struct schedule *schedule, const struct field *field)
{
        return (int *)((char *)&schedule->registers + field->offset);
}

int *schedule_word(struct schedule_registers *schedule, enum schedule_word word)
{
        return (int *)((char *)schedule + registers[word].offset);
}

struct schedule schedule_preset(enum schedule_kind kind)
{
        struct schedule s = { .kind = kind };
        for (size_t i = 0; i < kinds[kind].count; i++)
                *value_at(&s, &kinds[kind].fields[i]) = kinds[kind].fields[i].preset;
        return s;
}

bool schedule_equal(const struct schedule *a, const struct schedule *b)
{
        return a->kind == b->kind &&
               !memcmp(&a->registers, &b->registers, kinds[a->kind].count * sizeof(int));
}

void schedule_print_words(struct text *out, const struct schedule *schedule)
{
        struct schedule copy = *schedule;
        const struct field *fields = kinds[schedule->kind].fields;
        bool any = false;
        for (size_t i = 0; i < kinds[schedule->kind].count; i++) {
                int value = *value_at(&copy, &fields[i]);
                if (value == fields[i].preset)
                        continue;
                text_add(out, "%s%s=%d", any ? " " : "", fields[i].name, value);
                any = true;
        }
        const struct field *shown = &fields[kinds[schedule->kind].shown];
        if (!any)
                text_add(out, "%s=%d", shown->name, shown->preset);
}

void schedule_print(struct text *out, const struct schedule *schedule)
{
        schedule_print_words(out, schedule);
        if (schedule->why)
                text_add(out, "; %s", schedule->why);
}

const char *schedule_words(struct arena *arena, const struct schedule *schedule)
{
        struct text text = { 0 };
        schedule_print_words(&text, schedule);
        const char *words = arena_string(arena, text.data);
        text_free(&text);
        return words;
}

const struct schedule *schedule_keep(struct arena *arena, struct schedule schedule)
{
        return arena_copy(arena, &schedule, sizeof schedule);
}

/* Parses "name=value" at p. Returns its length, or 0. */
static size_t parse_word(struct schedule *schedule, const char *p)
{
        size_t name = strcspn(p, "= "), length = strcspn(p, " ;");
        const struct field *fields = kinds[schedule->kind].fields;
        for (size_t i = 0; i < kinds[schedule->kind].count && p[name] == '='; i++) {
                if (strlen(fields[i].name) != name || strncmp(fields[i].name, p, name) ||
                    length - name < 2 || length - name > 11 ||
                    strspn(p + name + 1, "0123456789") != length - name - 1)
                        continue;
                long long value = strtoll(p + name + 1, NULL, 10);
                if (value < fields[i].least || value > fields[i].most)
                        return 0;
                *value_at(schedule, &fields[i]) = (int)value;
                return length;
        }
        return 0;
}

/* Parses all words as those of one kind. Returns where that ends. */
static const char *parse_kind(const char *p, enum schedule_kind kind, struct schedule *schedule)
{
        size_t length;
        *schedule = schedule_preset(kind);
        while (*p && *p != ';' && (length = parse_word(schedule, p))) {
                p += length;
                p += strspn(p, " ");
        }
        return p;
}

bool schedule_parse(const char *text, struct schedule *schedule, const char **wrong)
{
        *wrong = text;
        for (int kind = 0; kind < SCHEDULE_KINDS; kind++) {
                const char *p = parse_kind(text, (enum schedule_kind)kind, schedule);
                if (!*p || *p == ';') {
                        p += *p == ';';
                        p += strspn(p, " ");
                        schedule->why = *p ? p : NULL;
                        return true;
                }
                *wrong = p > *wrong ? p : *wrong;
        }
        return false;
}
