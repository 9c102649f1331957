/* SPDX-License-Identifier: MIT */
#include "ir/loop/loop_record.h"

struct words { const struct loop_variable *wanted; int count, found; };

static void count_variable(struct words *w, const struct loop_variable *v, int words)
{
        if (v == w->wanted)
                w->found = w->count;
        w->count += words;
}

static void count_statement(struct loop_stmt *s, void *context)
{
        if (s->kind == STMT_LET || s->kind == STMT_VAR || s->kind == STMT_FOR)
                count_variable(context, s->variable, s->kind == STMT_FOR ? 2 : 1);
}

static struct words count_words(const struct loop_program *p, const struct loop_entry *entry,
                                const struct loop_variable *wanted)
{
        struct words w = { wanted, 0, -1 };
        for (int i = 0; i < p->extent_count; i++)
                if (p->extents[i].counted)
                        count_variable(&w, p->extents[i].variable, 1);
        loop_block_walk(entry->main->body, count_statement, NULL, &w);
        return w;
}

int record_main_words(const struct loop_program *p, const struct loop_entry *entry)
{
        return count_words(p, entry, NULL).count;
}

int record_main_word(const struct loop_program *p, const struct loop_entry *entry,
                     const struct loop_variable *v)
{
        return count_words(p, entry, v).found;
}

bool record_is_passed(const struct loop_entry *entry, const struct loop_stmt *call)
{
        for (int i = 0; i < call->function->buffer_count; i++) {
                int64_t offset;
                if (loop_buffer_root(call->buffers[i], &offset) == entry->record && offset > 0)
                        return true;
        }
        return false;
}
