/* SPDX-License-Identifier: MIT */
#include "schedule/book.h"

#include <string.h>

#include "base/text.h"

enum { LINE_MAX_BYTES = 4096 };

struct schedule_book {
        struct map *schedules;          /* Maps a key to a struct schedule. */
        int *found;                     /* It counts how often each schedule was found. */
};

static void add_attr(struct text *out, const struct attr_info *info, const struct attr *a)
{
        bool preset = info->kind == ATTR_INTS || a->i == info->preset;
        for (int i = 0; info->kind == ATTR_INTS && i < a->count; i++)
                preset &= a->ints[i] == info->preset;
        if (preset)
                return;
        text_add(out, " %s=", info->name);
        if (info->kind != ATTR_INTS)
                text_add(out, "%lld", (long long)a->i);
        for (int i = 0; info->kind == ATTR_INTS && i < a->count; i++)
                text_add(out, "%s%lld", i ? "," : "", (long long)a->ints[i]);
}

const char *schedule_book_key(struct arena *arena, const struct module *m, const struct op *op)
{
        struct text text = { 0 };
        text_add(&text, "%s", op_info[op->code].name);
        for (int i = 0; i < op->operand_count; i++)
                text_add(&text, " %s", type_text(arena, m, op_operand(op, i)->type));
        for (int i = 0; i < op_info[op->code].attr_count; i++)
                add_attr(&text, &op_info[op->code].attrs[i], &op->attrs[i]);
        char *key = arena_string(arena, text.data);
        text_free(&text);
        return key;
}

const struct schedule *schedule_book_find(const struct schedule_book *book, const struct module *m,
                                          const struct op *op)
{
        struct arena *scratch = arena_new();
        const char *key = schedule_book_key(scratch, m, op);
        const struct schedule *found = map_get(book->schedules, key, strlen(key));
        arena_free(scratch);
        *book->found += found != NULL;
        return found;
}

bool schedule_book_is_idle(const struct schedule_book *book)
{
        return map_count(book->schedules) && !*book->found;
}

/* Reads a line "key: schedule". */
static bool read_line(struct schedule_book *book, struct arena *arena, const char *line,
                      size_t length)
{
        const char *colon = memchr(line, ':', length);
        if (!colon || length > LINE_MAX_BYTES || memchr(line, 0, length))
                return false;
        char *text = arena_alloc(arena, length + 1);
        memcpy(text, line, length);
        const char *value = text + (colon - line) + 1;
        struct schedule schedule;
        const char *wrong;
        value += strspn(value, " ");
        if (!*value || !schedule_parse(value, &schedule, &wrong))
                return false;
        map_set(book->schedules, text, (size_t)(colon - line),
                (void *)(uintptr_t)schedule_keep(arena, schedule));
        return true;
}

struct schedule_book *schedule_book_read(struct arena *arena, const char *text, size_t length,
                                         struct diag *diag)
{
        size_t head = strlen(SCHEDULE_BOOK_HEAD);
        struct schedule_book *book = ARENA_NEW(arena, struct schedule_book);
        book->schedules = map_new(arena);
        book->found = ARENA_NEW(arena, int);
        if (length < head || memcmp(text, SCHEDULE_BOOK_HEAD, head)) {
                diag_error(diag, EXIT_INVALID,
                           "not a file of schedules: the first line is not 'dnncc-schedule 1'");
                return NULL;
        }
        const char *end = text + length;
        int number = 2;
        for (const char *line = text + head; line < end; number++) {
                const char *stop = memchr(line, '\n', (size_t)(end - line)),
                           *next = stop ? stop + 1 : end;
                const char *comment = memchr(line, ';', (size_t)((stop ? stop : end) - line));
                size_t size = (size_t)((comment ? comment : stop ? stop : end) - line);
                while (size &&
                       (line[size - 1] == ' ' || line[size - 1] == '\t' || line[size - 1] == '\r'))
                        size--;
                if (size && !read_line(book, arena, line, size)) {
                        diag_error(
                                diag, EXIT_INVALID,
                                "line " DIAG_LINE("%d") ": want 'operation: words of a schedule'",
                                number);
                        return NULL;
                }
                line = next;
        }
        return book;
}
