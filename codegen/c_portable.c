/* SPDX-License-Identifier: MIT */
/* Code for a core that any compiler compiles: with -DPREFIX_PORTABLE, functions that hold
 * instructions are plain C of the same meaning, and so are the intrinsics of a header.
 *
 *     #if defined(MODEL_PORTABLE)
 *     typedef struct { int32_t at[4]; } int32x4_t;
 *     static inline int32x4_t vaddq_s32(int32x4_t a, int32x4_t b) ...
 *     #else
 *     #include <arm_mve.h>
 *     #endif
 *
 * So results of a core's code, and proofs about it, are had on any machine. */
#include "codegen/c_writer.h"

#include <ctype.h>
#include <string.h>

#include "codegen/c_spelling.h"

/* Returns the target's rows, unless the code does what plain C does not. */
static const struct portable *rows_of(const struct c_writer *w)
{
        return w->level_count == 1 && !w->is_not_portable ? target_portable(w->target) : NULL;
}

const char *c_portable_macro(struct c_writer *w)
{
        return rows_of(w) ? c_macro(w, "PORTABLE") : NULL;
}

static int count_rows(const struct portable *rows)
{
        int count = 0;
        while (rows[count].text)
                count++;
        return count;
}

static bool is_word(int c) { return isalnum(c) || c == '_'; }

/* Notes the function, and returns whether plain C has it. */
static bool use_function(struct c_writer *w, const struct portable *rows, const char *name,
                         size_t length)
{
        for (int i = 0; rows[i].text; i++)
                if (strlen(rows[i].name) == length && !memcmp(rows[i].name, name, length))
                        return w->portable_used[i] = true;
        return false;
}

/* Notes the functions that the text calls, and returns whether plain C has all of them but `own`,
 * which is defined beside it. */
static bool use_calls(struct c_writer *w, const struct portable *rows, const char *text,
                      const char *own)
{
        bool all = true;
        for (const char *p = text; *p;) {
                const char *end = p;
                while (is_word((unsigned char)*end))
                        end++;
                const size_t length = (size_t)(end - p);
                const bool is_own = own && strlen(own) == length && !memcmp(own, p, length);
                if (length && *end == '(' && !is_own)
                        all &= use_function(w, rows, p, length);
                p = length ? end : p + 1;
        }
        return all;
}

void c_portable_use(struct c_writer *w, const struct c_spelling *row, const char *own)
{
        const struct portable *rows = rows_of(w);
        if (!rows)
                return;
        if (!w->portable_used)
                w->portable_used = arena_array(w->arena, (size_t)count_rows(rows) + 1,
                                               sizeof(bool));
        /* What plain C says needs none of the header, and is printed with what it needs. */
        if (!use_calls(w, rows, row->text, own) ||
            (row->definition && !row->portable && !use_calls(w, rows, row->definition, own)))
                w->is_not_portable = true;
}

bool c_portable_functions(struct c_writer *w, struct text *out)
{
        const struct portable *rows = rows_of(w);
        bool any = false;
        if (!rows)
                return false;
        for (int i = 0; rows[i].text && w->portable_used; i++)
                any |= w->portable_used[i];
        text_add(out, any ? "#if defined(%s)\n" : "#if !defined(%s)\n", c_macro(w, "PORTABLE"));
        for (int i = 0; any && rows[i].text; i++)
                if (!*rows[i].name || w->portable_used[i])
                        text_add(out, "%s%s\n", *rows[i].name ? "static inline " : "",
                                 rows[i].text);
        text_add(out, "%s", any ? "#else\n" : "");
        return true;
}
