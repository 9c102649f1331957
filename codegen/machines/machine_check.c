/* SPDX-License-Identifier: MIT */
/* Checks a program against the rules of its machine, in one walk in program order. These rules need
 * no code of a machine's own:
 *
 *     instruction    the bytes are an instruction
 *     read, written  what is moved lies where the program may read, or write
 *     fixed          lists are loaded from memory that the program does not write
 *     undefined      what is read from a memory of the machine was written before
 *     stale          .. and not spoiled since
 *     taken          a token is there when it is taken
 *     tokens, left   a queue has room for its tokens; none is left
 *     sync           what is waited for stands before the wait
 *     fifo           each block is taken, once
 *     race           stages that touch one element are ordered
 *     pending        whoever ends the program knows that all is done */
#include "codegen/machines/machine_check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { IS_THERE = 1, IS_STALE = 2, DETAIL = 96, RULES_MOST = 64 };
#define NO_DETAIL "%s", ""

struct checker {
        const struct machine_program *p;
        const struct isa *isa;
        struct diag *diag;
        int most, found;
        struct instruction now;
        struct order order;
        struct cost cost;
        int64_t number;
        bool said[RULES_MOST];                  /* These rules have been reported for this
                                                 * instruction. */
        struct running running;
        unsigned char *state[MACHINE_MEMORIES]; /* Each element has IS_.. flags. */
        int64_t last[MACHINE_STAGES];   /* For each stage, it is 1 + the number of its last
                                         * instruction. */
        struct races *races;            /* NULL: a token was missing, so the order is not known. */
};

void check_report(struct checker *c, const char *name, const char *format, ...)
{
        const struct isa_rule *rule = isa_rule(c->isa->set, name);
        bool *said = &c->said[rule - c->isa->set->rules];
        if (*said)
                return;
        *said = true;
        if (c->found++ >= c->most)
                return;
        struct text text = { 0 };
        char detail[DETAIL];
        va_list list;
        va_start(list, format);
        vsnprintf(detail, sizeof detail, format, list);
        va_end(list);
        assembly_print_instruction(c->isa, c->p, program_instruction(c->p, c->number), &text);
        text.data[strcspn(text.data, " ")] = 0;
        diag_error(c->diag, EXIT_INVALID, "instruction %" PRId64 " (%s): %s%s%s [%s]", c->number,
                   text.data, rule->text,
                   *detail ? ": " : "", detail, name);
        text_free(&text);
}

/* ---- accesses ---- */

/* Goes from one segment to the next where a row continues there. */
static void check_segments(struct checker *c, int64_t address, int64_t end, bool writes)
{
        while (address < end) {
                const struct segment *s = program_segment(c->p, address, 1);
                if (!s ||
                    !(writes ? segment_kinds[s->kind].written : segment_kinds[s->kind].read)) {
                        check_report(c, writes ? "written" : "read", "not so at address %" PRId64,
                                     address);
                        return;
                }
                if (c->cost.memory == c->isa->machine.lists && segment_kinds[s->kind].written)
                        check_report(c, "fixed", "not segment '%s'", s->name);
                address = s->address + s->bytes;
        }
}

static void check_state(struct checker *c, int memory, int64_t first, int64_t count,
                        enum access access)
{
        unsigned char *state = c->state[memory] + first;
        if (access != READS) {
                memset(state, access == SPOILS ? IS_STALE : IS_THERE, (size_t)count);
                return;
        }
        for (int64_t k = 0; k < count; k++) {
                if (state[k] == IS_THERE)
                        continue;
                check_report(c, state[k] == IS_STALE ? "stale" : "undefined",
                             "element %" PRId64 " of %s", first + k,
                             c->isa->machine.memories[memory].name);
                return;
        }
}

static void touch_elements(struct checker *c, int memory, int64_t first, int64_t count,
                           enum access access)
{
        const bool outside = memory == OUTSIDE;
        int64_t with, element;
        if (outside)
                check_segments(c, first, first + count, access == WRITES);
        else
                check_state(c, memory, first, count, access);
        if (!c->races || access == SPOILS)
                return;
        races_touch(c->races, memory, first, count, access == WRITES, &with, &element);
        if (with >= 0)
                check_report(c, "race", "not with instruction %" PRId64 ", %s %" PRId64 " of %s",
                             with, outside ? "byte" : "element",
                             element, outside ? "memory" : c->isa->machine.memories[memory].name);
}

static void touched(void *context, int memory, const struct rows *r, int64_t count,
                    enum access access)
{
        for (int64_t y = 0; y < r->rows; y++)
                for (int64_t x = 0; x < r->columns; x++)
                        touch_elements(context, memory, r->first + y * r->row + x * r->column,
                                       count, access);
}

/* ---- order ---- */

static void end_races(struct checker *c)
{
        if (c->races)
                races_end(c->races);
        c->races = NULL;
}

static void begin_order(struct checker *c)
{
        const char *rule = c->races ? races_start(c->races, &c->order, c->number) : NULL;
        const bool taken = rule && !strcmp(rule, "taken");
        if (rule)
                check_report(c, rule, "%s", taken ? "what follows is not looked at for races" : "");
        if (taken)
                end_races(c);
        c->last[c->order.stage] = c->number + 1;
        if (c->now.numbers[0] != c->isa->set->last)
                return;
        for (int k = 0; k < c->isa->machine.stage_count && c->races; k++)
                if (k != c->order.stage && races_done(c->races, k) < c->last[k])
                        check_report(c, "pending", "not of instruction %" PRId64, c->last[k] - 1);
}

static void end_order(struct checker *c)
{
        if (!c->races)
                return;
        races_finish(c->races);
        for (int k = 0; k < 2; k++)
                if (c->order.give[k] >= 0 &&
                    races_tokens(c->races, c->order.give[k]) > c->isa->machine.limits.tokens)
                        check_report(c, "tokens", "not from %s",
                                     c->isa->set->queues[c->order.give[k]]);
}

static void check_end(struct checker *c)
{
        for (int k = 0; k < ISA_QUEUES && c->races; k++)
                if (races_tokens(c->races, k))
                        check_report(c, "left", "%" PRId64 " from %s", races_tokens(c->races, k),
                                     c->isa->set->queues[k]);
        if (c->races && races_blocks(c->races))
                check_report(c, "fifo", NO_DETAIL);
}

/* ---- the walk ---- */

static void check_one(struct checker *c)
{
        const struct instruction_set *set = c->isa->set;
        const char *broken =
                instruction_breaks(c->isa, &c->now, c->running.lists, c->p->dram_bytes);
        c->order = set->order(&c->now);
        c->cost = set->cost(c->isa, &c->now);
        if (set->check)
                set->check(c, &c->now, c->running.lists, !broken);
        if (broken)
                check_report(c, broken, NO_DETAIL);
        if (broken && !strcmp(broken, "flags"))
                end_races(c);                   /* It is not known whose tokens these are. */
        if (c->order.stage >= 0)
                begin_order(c);
        if (!broken)
                run_instruction(&c->running, &c->now);
        if (c->order.stage >= 0)
                end_order(c);
}

static bool walk(struct checker *c, int64_t work)
{
        for (; c->number < program_length(c->p); c->number++) {
                const char *why = isa_decode(c->isa, program_instruction(c->p, c->number), &c->now);
                memset(c->said, 0, sizeof c->said);
                if (why) {
                        check_report(c, "instruction", "%s", why);
                        end_races(c);
                        continue;
                }
                work -= isa_work(c->isa, &c->now);
                if (work < 0) {
                        diag_error(c->diag, EXIT_BUDGET, WORK_ERROR, c->number);
                        return false;
                }
                check_one(c);
                if (c->number == program_length(c->p) - 1)
                        check_end(c);
        }
        return true;
}

bool program_check(const struct machine_program *p, int64_t work, int most, struct diag *diag)
{
        struct checker c = { .p = p, .isa = &p->isa, .diag = diag, .most = most };
        c.running = (struct running){ .isa = &p->isa, .program = p,
                                      .lists = running_lists(&p->isa, 0), .touched = touched,
                                      .context = &c };
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                c.state[k] = memory_alloc((size_t)p->isa.depth[k]);
        c.races = races_begin(p);
        bool fine = walk(&c, work);
        if (c.found > most)
                diag_error(diag, EXIT_INVALID, "and %d more", c.found - most);
        end_races(&c);
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                free(c.state[k]);
        free(c.running.lists);
        return fine && !c.found;
}
