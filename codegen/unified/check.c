/* SPDX-License-Identifier: MIT */
/* The rules (rules.def), instruction by instruction in program order. A unit's clock says up to which instruction it knows each other one
 * to be done: by syncs, and by blocks that it took from the FIFO (vector clocks, as in Lamport, 1978). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codegen/unified/unified.h"

enum { GRANULE = 16 };                  /* bytes, outside of the machine */

/* the last instruction of each unit that read and wrote it, +1 */
struct ground { int32_t read[UNIFIED_STAGES], wrote[UNIFIED_STAGES]; };
struct clock { int64_t known[UNIFIED_STAGES]; };
struct history { struct clock *clocks; int64_t count, room; };  /* behind each instruction of a unit */
struct block { int64_t number; };       /* of the instruction that read it */

struct checking {
        const struct vta_program *p;
        struct ground *grounds[UNIFIED_MEMORIES + 1];
        int64_t *bases;                 /* granules before each place of the program that it may write */
        struct clock clocks[UNIFIED_STAGES];
        struct history done[UNIFIED_STAGES];
        struct block *blocks;
        int64_t block_count, taken, number, work;
        int unit, most, said;
        int64_t with;                   /* an instruction that this one races with, +1 */
        bool undefined, unread, unwritten;
        struct diag *diag;
};

static void say(struct checking *c, const struct unified_instruction *i, enum unified_rule rule, const char *more)
{
        if (c->said++ < c->most)
                diag_error(c->diag, EXIT_INVALID, "instruction %" PRId64 " (%s): %s%s [%s]", c->number, i ? unified_opcode_names[i->opcode] : "?",
                           unified_rules[rule].text, more, unified_rules[rule].name);
}

/* ---- what it touches ---- */

static void touch_ground(struct checking *c, struct ground *g, bool writes, bool inside)
{
        bool defined = !inside || writes;
        for (int u = 0; u < UNIFIED_STAGES; u++) {
                const int32_t last = g->wrote[u] > g->read[u] && writes ? g->wrote[u] : writes ? g->read[u] : g->wrote[u];
                defined |= g->wrote[u] > 0;
                if (u != c->unit && last > c->clocks[c->unit].known[u])
                        c->with = last;
        }
        c->undefined |= !defined;
        (writes ? g->wrote : g->read)[c->unit] = (int32_t)c->number + 1;
}

/* the place of the program that holds these bytes, by its number; -1: none does */
static int place_of(const struct checking *c, int64_t address, int64_t bytes)
{
        const struct vta_segment *s = vta_program_segment(c->p, address, bytes);
        for (int k = 0; s && k < c->p->place_count; k++)
                if (c->p->places[k] == s)
                        return k;
        return -1;
}

static void visit(void *context, int memory, int64_t first, int64_t count, bool writes)
{
        struct checking *c = context;
        c->work -= count / GRANULE + 1;
        if (memory != UNIFIED_HOST) {
                for (int64_t k = first; k < first + count; k++)
                        touch_ground(c, &c->grounds[memory][k], writes, true);
                return;
        }
        const int place = place_of(c, first, count);
        const struct vta_kind_info *kind = place < 0 ? NULL : &vta_kinds[c->p->places[place]->kind];
        c->unread |= !writes && !(kind && kind->read);
        c->unwritten |= writes && !(kind && kind->written);
        if (!kind || !kind->written)
                return;                 /* only what is written can race */
        const int64_t at = first - c->p->places[place]->address;
        for (int64_t k = at / GRANULE; k <= (at + count - 1) / GRANULE; k++)
                touch_ground(c, &c->grounds[UNIFIED_HOST][c->bases[place] + k], writes, false);
}

/* ---- order ---- */

static void learn(struct checking *c, const struct clock *from)
{
        for (int u = 0; u < UNIFIED_STAGES; u++)
                if (from->known[u] > c->clocks[c->unit].known[u])
                        c->clocks[c->unit].known[u] = from->known[u];
}

static void wait_for(struct checking *c, const struct unified_instruction *i)
{
        const struct history *on = &c->done[i->on];
        if (i->done > on->count)
                say(c, i, UNIFIED_RULE_sync, "");
        else if (i->done)
                learn(c, &on->clocks[i->done - 1]);
}

static void add_blocks(struct checking *c, const struct unified_instruction *i)
{
        for (int64_t k = 0; k < i->blocks; k++) {
                if ((c->block_count & (c->block_count - 1)) == 0)
                        c->blocks = memory_resize(c->blocks, (size_t)(2 * c->block_count + 1) * sizeof *c->blocks);
                c->blocks[c->block_count++].number = c->number;
        }
}

static void take_block(struct checking *c, const struct unified_instruction *i)
{
        if (i->next && c->taken == c->block_count) {
                say(c, i, UNIFIED_RULE_fifo, "");
                return;
        }
        c->taken += i->next;
        if (!c->taken)
                say(c, i, UNIFIED_RULE_fifo, "");
        /* the last block of an instruction says that it is done */
        const int64_t number = c->taken ? c->blocks[c->taken - 1].number : 0;
        if (i->next && (c->taken == c->block_count || c->blocks[c->taken].number != number) &&
            number + 1 > c->clocks[c->unit].known[UNIFIED_STAGE_WEIGHTS])
                c->clocks[c->unit].known[UNIFIED_STAGE_WEIGHTS] = number + 1;
}

static void note_done(struct checking *c)
{
        struct history *h = &c->done[c->unit];
        if (h->count == h->room) {
                h->room = 2 * h->room + 64;
                h->clocks = memory_resize(h->clocks, (size_t)h->room * sizeof *h->clocks);
        }
        c->clocks[c->unit].known[c->unit] = c->number + 1;
        h->clocks[h->count++] = c->clocks[c->unit];
}

static void check_instruction(struct checking *c)
{
        struct unified_instruction i;
        enum unified_rule rule;
        if (!unified_instruction_at(c->p, c->number, &i)) {
                say(c, NULL, UNIFIED_RULE_instruction, "");
                return;
        }
        c->work -= 1 + unified_rows(&i);
        c->unit = (int)unified_unit_of(&i);
        if (c->unit == UNIFIED_STAGES)
                return;
        if (!unified_is_safe(&i, c->p->dram_bytes, &rule)) {
                say(c, &i, rule, "");
                return;
        }
        if (i.opcode == UNIFIED_SYNC_CODE)
                wait_for(c, &i);
        if (i.opcode == UNIFIED_MULTIPLY_CODE)
                take_block(c, &i);
        if (i.opcode == UNIFIED_READ_WEIGHTS_CODE)
                add_blocks(c, &i);
        c->with = 0;
        c->undefined = c->unread = c->unwritten = false;
        unified_visit(&i, &(struct unified_visitor){ visit, c });
        if (c->with) {
                char more[64];
                snprintf(more, sizeof more, ": not with instruction %" PRId64, c->with - 1);
                say(c, &i, UNIFIED_RULE_race, more);
        }
        if (c->undefined)
                say(c, &i, UNIFIED_RULE_undefined, "");
        if (c->unread)
                say(c, &i, UNIFIED_RULE_read, "");
        if (c->unwritten)
                say(c, &i, UNIFIED_RULE_written, "");
        note_done(c);
}

static void begin(struct checking *c)
{
        int64_t granules = 0;
        c->bases = memory_alloc((size_t)(c->p->place_count + 1) * sizeof *c->bases);
        for (int k = 0; k < c->p->place_count; k++) {
                c->bases[k] = granules;
                if (vta_kinds[c->p->places[k]->kind].written)
                        granules += c->p->places[k]->bytes / GRANULE + 1;
        }
        for (int m = 0; m < UNIFIED_MEMORIES; m++)
                c->grounds[m] = memory_alloc((size_t)unified_depth((enum unified_memory)m) * sizeof(struct ground));
        c->grounds[UNIFIED_HOST] = memory_alloc((size_t)(granules + 1) * sizeof(struct ground));
}

static void end(struct checking *c)
{
        for (int m = 0; m <= UNIFIED_MEMORIES; m++)
                free(c->grounds[m]);
        for (int u = 0; u < UNIFIED_STAGES; u++)
                free(c->done[u].clocks);
        free(c->blocks);
        free(c->bases);
}

bool unified_check(const struct vta_program *p, int64_t work, int most, struct diag *diag)
{
        struct checking c = { .p = p, .work = work, .most = most, .diag = diag };
        begin(&c);
        for (; c.number < unified_length(p) && c.work >= 0; c.number++)
                check_instruction(&c);
        c.number = unified_length(p) - 1;
        if (c.work < 0)
                diag_error(diag, EXIT_BUDGET, "the program takes more work than --steps allows");
        else if (c.taken < c.block_count)
                say(&c, &(struct unified_instruction){ .opcode = UNIFIED_HALT_CODE }, UNIFIED_RULE_fifo, "");
        end(&c);
        return !c.said && c.work >= 0;
}
