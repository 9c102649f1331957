/* SPDX-License-Identifier: MIT */
/* The machine as it computes. A unit runs whole instructions, but for blocks of weights, of which each needs room in the FIFO. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "codegen/unified/unified.h"

enum { LANES = 256, BLOCK = LANES * LANES };

struct queue { int64_t at, done, part; };       /* of a unit: its next instruction, or -1; how many it did; blocks of this one */

struct simulator {
        const struct vta_program *p;
        unsigned char *memory;
        int64_t length;
        struct queue units[UNIFIED_STAGES];
        int8_t *ub, *fifo, *array;      /* array: [input][output], as a step multiplies */
        int32_t *acc, *par;
        int64_t read, taken;            /* blocks */
        int64_t work;
        struct diag *diag;
};

static bool refuse(struct simulator *s, int64_t number, enum unified_rule rule)
{
        diag_error(s->diag, EXIT_INVALID, "instruction %" PRId64 " cannot run: %s [%s]", number, unified_rules[rule].text, unified_rules[rule].name);
        return false;
}

/* the unit's next instruction from `from` on */
static void find(struct simulator *s, int unit, int64_t from)
{
        struct queue *q = &s->units[unit];
        struct unified_instruction i;
        for (q->at = from; q->at < s->length; q->at++)
                if (unified_instruction_at(s->p, q->at, &i) && (int)unified_unit_of(&i) == unit)
                        return;
        q->at = -1;
}

static bool check_all(struct simulator *s)
{
        for (int64_t k = 0; k < s->length; k++) {
                struct unified_instruction i;
                enum unified_rule rule;
                if (!unified_instruction_at(s->p, k, &i))
                        return refuse(s, k, UNIFIED_RULE_instruction);
                if (!unified_is_safe(&i, s->p->dram_bytes, &rule))
                        return refuse(s, k, rule);
        }
        return true;
}

/* ---- what instructions do ---- */

static int32_t word_of(const unsigned char *bytes) { return (int32_t)(uint32_t)vta_number(bytes, 4); }

static void read_host(struct simulator *s, const struct unified_instruction *i)
{
        const unsigned char *from = s->memory + i->host;
        if (!i->par) {
                memcpy(s->ub + i->local * LANES, from, (size_t)i->count * LANES);
                return;
        }
        for (int64_t k = 0; k < i->count * LANES; k++)
                s->par[i->local * LANES + k] = word_of(from + 4 * k);
}

static void take_block(struct simulator *s)
{
        const int8_t *w = s->fifo + s->taken++ % unified_depth(UNIFIED_FIFO) * BLOCK;
        for (int o = 0; o < LANES; o++)
                for (int k = 0; k < LANES; k++)
                        s->array[k * LANES + o] = w[o * LANES + k];
}

/* an input of 0 adds nothing */
static void multiply_row(const int8_t *x, const int8_t *w, int32_t *sums)
{
        for (int k = 0; k < LANES; k++) {
                const int32_t factor = x[k];
                if (!factor)
                        continue;
                for (int o = 0; o < LANES; o++)
                        sums[o] = (int32_t)((uint32_t)sums[o] + (uint32_t)(factor * w[k * LANES + o]));
        }
}

static void multiply(struct simulator *s, const struct unified_instruction *i)
{
        if (i->next)
                take_block(s);
        for (int64_t y = 0; y < i->rows; y++)
                for (int64_t x = 0; x < i->columns; x++) {
                        int32_t *sums = s->acc + (i->sum + y * i->sum_row + x * i->sum_column) * LANES;
                        if (!i->add)
                                memset(sums, 0, LANES * sizeof *sums);
                        multiply_row(s->ub + (i->in + y * i->in_row + x * i->in_column) * LANES, s->array, sums);
                }
}

static int64_t shifted(int32_t value, int64_t by)
{
        return by < 0 || by > 31 ? 0 : value >= 0 ? value >> by : ~(~(int64_t)value >> by);
}

static void activate(struct simulator *s, const struct unified_instruction *i)
{
        const int32_t *par = i->by ? s->par + i->parameters * LANES : NULL;
        for (int64_t y = 0; y < i->height; y++)
                for (int64_t x = 0; x < i->width; x++) {
                        const int32_t *from = s->acc + (i->of + y * i->of_row + x * i->of_column) * LANES;
                        const int64_t to = (i->out + y * i->out_row + x * i->out_column) * LANES;
                        for (int n = 0; n < LANES; n++) {
                                const int32_t sum = (int32_t)((uint32_t)from[n] + (par ? (uint32_t)par[n] : 0) + (uint32_t)i->plus);
                                const int64_t v = shifted(sum, i->lanes ? par[LANES + n] : i->shift),
                                              bound = v < i->low ? i->low : v > i->high ? i->high : v;
                                if (i->to_sums)
                                        s->acc[to + n] = (int32_t)bound;
                                else
                                        s->ub[to + n] = (int8_t)bound;
                        }
                }
}

/* ---- order ---- */

static bool can_go(const struct simulator *s, int unit)
{
        const struct queue *q = &s->units[unit];
        struct unified_instruction i;
        if (q->at < 0)
                return false;
        unified_instruction_at(s->p, q->at, &i);
        switch (i.opcode) {
        case UNIFIED_SYNC_CODE: return s->units[i.on].done >= i.done;
        case UNIFIED_READ_WEIGHTS_CODE: return s->read - s->taken < unified_depth(UNIFIED_FIFO);
        case UNIFIED_MULTIPLY_CODE: return i.next ? s->taken < s->read : s->taken > 0;
        default: return true;
        }
}

static int64_t work_of(const struct unified_instruction *i)
{
        return 1 + unified_rows(i) + (i->opcode == UNIFIED_READ_WEIGHTS_CODE ? LANES : unified_moved(i) / LANES);
}

static bool go(struct simulator *s, int unit)
{
        struct queue *q = &s->units[unit];
        struct unified_instruction i;
        unified_instruction_at(s->p, q->at, &i);
        s->work -= work_of(&i);
        if (s->work < 0) {
                diag_error(s->diag, EXIT_BUDGET, "instruction %" PRId64 ": the program takes more work than --steps allows", q->at);
                return false;
        }
        switch (i.opcode) {
        case UNIFIED_READ_HOST_CODE: read_host(s, &i); break;
        case UNIFIED_WRITE_HOST_CODE: memcpy(s->memory + i.host, s->ub + i.local * LANES, (size_t)i.count * LANES); break;
        case UNIFIED_READ_WEIGHTS_CODE:
                memcpy(s->fifo + s->read++ % unified_depth(UNIFIED_FIFO) * BLOCK, s->memory + i.from + q->part * BLOCK, BLOCK);
                if (++q->part < i.blocks)
                        return true;
                q->part = 0;
                break;
        case UNIFIED_MULTIPLY_CODE: multiply(s, &i); break;
        case UNIFIED_ACTIVATE_CODE: activate(s, &i); break;
        default: break;
        }
        q->done++;
        find(s, unit, q->at + 1);
        return true;
}

/* by chance, or the one whose instruction stands first; -1: none can go on */
static int pick(const struct simulator *s, uint64_t *random, bool chance)
{
        int found = -1, count = 0;
        for (int unit = 0; unit < UNIFIED_STAGES; unit++) {
                if (!can_go(s, unit))
                        continue;
                count++;
                if (found < 0 || (chance ? random_next(random) % (uint64_t)count == 0 : s->units[unit].at < s->units[found].at))
                        found = unit;
        }
        return found;
}

static bool finish(const struct simulator *s)
{
        int64_t first = -1;
        for (int unit = 0; unit < UNIFIED_STAGES; unit++)
                if (s->units[unit].at >= 0 && (first < 0 || s->units[unit].at < first))
                        first = s->units[unit].at;
        if (first >= 0) {
                diag_error(s->diag, EXIT_INVALID, "instruction %" PRId64 " waits for ever", first);
                return false;
        }
        if (s->read > s->taken)
                diag_error(s->diag, EXIT_INVALID, "%" PRId64 " blocks of weights are left in the FIFO", s->read - s->taken);
        return s->read == s->taken;
}

static void *poisoned(int64_t bytes, unsigned char poison)
{
        void *memory = memory_alloc((size_t)bytes);
        memset(memory, poison, (size_t)bytes);
        return memory;
}

bool unified_run(const struct vta_program *p, unsigned char *memory, uint64_t seed, unsigned char poison, int64_t work, struct diag *diag)
{
        struct simulator s = { .p = p, .memory = memory, .length = unified_length(p), .work = work, .diag = diag };
        const struct machine_memory *m = machine_unified.memories;
        uint64_t random = RANDOM_START ^ seed;
        if (!check_all(&s))
                return false;
        s.ub = poisoned(m[UNIFIED_UB].bytes, poison);
        s.fifo = poisoned(m[UNIFIED_FIFO].bytes, poison);
        s.array = poisoned(BLOCK, poison);
        s.acc = poisoned(m[UNIFIED_ACC].bytes, poison);
        s.par = poisoned(m[UNIFIED_PAR].bytes, poison);
        for (int unit = 0; unit < UNIFIED_STAGES; unit++)
                find(&s, unit, 0);
        bool fine = true;
        for (int unit; fine && (unit = pick(&s, &random, seed != 0)) >= 0;)
                fine = go(&s, unit);
        fine = fine && finish(&s);
        free(s.ub);
        free(s.fifo);
        free(s.array);
        free(s.acc);
        free(s.par);
        return fine;
}
