/* SPDX-License-Identifier: MIT */
#include "base/suggest.h"

#include <ctype.h>
#include <string.h>

#include "base/diag.h"
#include "base/text.h"

enum { LENGTH_MAX = 64, DISTANCE_MAX = 2, SHORT = 4 };

static int lower(char c) { return tolower((unsigned char)c); }

static int least(int a, int b) { return a < b ? a : b; }

/* Returns how many edits make b of a, where the case of letters does not count; both have at most
 * LENGTH_MAX letters. */
static int distance_of(const char *a, int m, const char *b, int n)
{
        int rows[3][LENGTH_MAX + 1], *before = rows[0], *last = rows[1], *now = rows[2];
        for (int j = 0; j <= n; j++)
                last[j] = j;
        for (int i = 1; i <= m; i++) {
                now[0] = i;
                for (int j = 1; j <= n; j++) {
                        bool same = lower(a[i - 1]) == lower(b[j - 1]);
                        now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + !same);
                        if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                            lower(a[i - 2]) == lower(b[j - 1]))
                                now[j] = least(now[j], before[j - 2] + 1);
                }
                int *free = before;
                before = last;
                last = now;
                now = free;
        }
        return last[n];
}

struct suggest suggest_new(struct arena *arena, const char *wanted, size_t length)
{
        return (struct suggest){ .arena = arena,
                                 .wanted = text_argument_part(arena, wanted, length),
                                 .distance = length < SHORT ? length > 2 : DISTANCE_MAX };
}

void suggest_add(struct suggest *s, const char *name)
{
        size_t m = strlen(s->wanted), n = strlen(name);
        if (s->count < SUGGEST_MOST)
                s->first[s->count] = name;
        s->count++;
        if (m > 1 && n > m && strstr(name, s->wanted)) {
                if (s->related_count < SUGGEST_MOST)
                        s->related[s->related_count] = name;
                s->related_count++;
        }
        if (m > LENGTH_MAX || n > LENGTH_MAX || m > n + DISTANCE_MAX || n > m + DISTANCE_MAX)
                return;
        int distance = distance_of(s->wanted, (int)m, name, (int)n);
        if (distance < s->distance || (distance == s->distance && !s->near)) {
                s->near = name;
                s->distance = distance;
        }
}

const char *suggest_text(const struct suggest *s, bool all)
{
        bool related = s->related_count > 0;
        int count = related ? s->related_count : all ? s->count : 0;
        struct text text = { 0 };
        if (s->near)
                return arena_printf(s->arena, ", " DIAG_HINT("did you mean '%s'?"), s->near);
        if (!count)
                return "";
        for (int i = 0; i < count && i < SUGGEST_MOST; i++)
                text_add(&text, "%s '%s'", i ? "," : "", related ? s->related[i] : s->first[i]);
        if (count > SUGGEST_MOST)
                text_add(&text, ", .. (%d more)", count - SUGGEST_MOST);
        const char *end = arena_printf(s->arena, ": " DIAG_HINT("there %s%s"),
                                       count > 1 ? "are" : "is", text.data);
        text_free(&text);
        return end;
}

const char *suggest_of(struct arena *arena, const char *wanted, size_t length,
                       const char *const *names, int count)
{
        struct suggest s = suggest_new(arena, wanted, length);
        for (int i = 0; i < count; i++)
                suggest_add(&s, names[i]);
        return suggest_text(&s, true);
}
