/* SPDX-License-Identifier: MIT */
/* The cycle model: unified.h has its definition. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/size.h"
#include "codegen/unified/unified.h"

struct ends { int64_t *end, count, room; };     /* of a unit's instructions */

struct model {
        const struct vta_program *p;
        const struct machine_cycles *constants;
        struct unified_cycles *c;
        int64_t at[UNIFIED_STAGES], free[UNIFIED_STAGES];       /* the next instruction of each unit, or -1; when it may begin */
        int64_t part;                   /* blocks of the read_weights that is under way, and when it began */
        int64_t begun_reading;
        struct ends ends[UNIFIED_STAGES];
        int64_t *there, *room;          /* of each block: when it is in the FIFO; when its place is free again */
        int64_t read, taken, shifted, begun;
        struct unified_times *times;
};

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static void find(struct model *m, int unit, int64_t from)
{
        struct unified_instruction i;
        for (m->at[unit] = from; m->at[unit] < unified_length(m->p); m->at[unit]++)
                if (unified_instruction_at(m->p, m->at[unit], &i) && (int)unified_unit_of(&i) == unit)
                        return;
        m->at[unit] = -1;
}

/* An instruction that began then; its unit may begin the next at `free`, and what waits for it go on at `end`. */
static void done(struct model *m, int unit, const struct unified_instruction *i, int64_t start, int64_t free, int64_t end)
{
        struct ends *e = &m->ends[unit];
        if (e->count == e->room) {
                e->room = 2 * e->room + 64;
                e->end = memory_resize(e->end, (size_t)e->room * sizeof *e->end);
        }
        /* a unit's instructions are done in order */
        e->end[e->count] = e->count ? most(end, e->end[e->count - 1]) : end;
        e->count++;
        if (m->times)
                m->times[m->at[unit]] = (struct unified_times){ start, end };
        m->c->count[i->opcode]++;
        m->c->bytes[i->opcode] += unified_moved(i);
        m->c->cycles = most(m->c->cycles, end);
        m->free[unit] = free;
        find(m, unit, m->at[unit] + 1);
}

/* one block; false: there is no room */
static bool read_block(struct model *m, const struct unified_instruction *i)
{
        const int64_t depth = unified_depth(UNIFIED_FIFO), busy = divide_up(unified_element_bytes(UNIFIED_FIFO), m->constants->weight_bytes);
        if (m->read - m->taken >= depth)
                return false;
        const int64_t start = most(m->free[UNIFIED_STAGE_WEIGHTS], m->read < depth ? 0 : m->room[m->read - depth]);
        if (!m->part)
                m->begun_reading = start;
        m->there[m->read++] = m->free[UNIFIED_STAGE_WEIGHTS] = start + busy;
        m->c->busy[UNIFIED_STAGE_WEIGHTS] += busy;
        if (++m->part == i->blocks) {
                m->part = 0;
                done(m, UNIFIED_STAGE_WEIGHTS, i, m->begun_reading, start + busy, start + busy);
        }
        return true;
}

static bool multiply(struct model *m, const struct unified_instruction *i)
{
        int64_t start = m->free[UNIFIED_STAGE_MULTIPLY];
        if (i->next ? m->taken == m->read : !m->taken)
                return false;
        if (i->next) {
                m->shifted = most(m->there[m->taken], most(m->shifted, m->begun)) + m->constants->change;
                m->room[m->taken++] = m->shifted;
                start = most(start, m->shifted);
                m->begun = start;
        }
        const int64_t rows = unified_rows(i);
        m->c->rows += rows;
        m->c->busy[UNIFIED_STAGE_MULTIPLY] += rows;
        done(m, UNIFIED_STAGE_MULTIPLY, i, start, start + rows, start + rows + m->constants->product_fill);
        return true;
}

/* the unit's next instruction; false: it cannot begin yet */
static bool advance(struct model *m, int unit)
{
        struct unified_instruction i;
        if (m->at[unit] < 0)
                return false;
        unified_instruction_at(m->p, m->at[unit], &i);
        const int64_t start = m->free[unit];
        int64_t busy;
        switch (i.opcode) {
        case UNIFIED_READ_WEIGHTS_CODE: return read_block(m, &i);
        case UNIFIED_MULTIPLY_CODE: return multiply(m, &i);
        case UNIFIED_SYNC_CODE: {
                const struct ends *on = &m->ends[i.on];
                if (on->count < i.done)
                        return false;
                const int64_t end = most(start, i.done ? on->end[i.done - 1] : 0);
                done(m, unit, &i, start, end, end);
                return true;
        }
        case UNIFIED_ACTIVATE_CODE:
                busy = unified_rows(&i);
                done(m, unit, &i, start, start + busy, start + busy + m->constants->operation_fill);
                break;
        default:
                busy = divide_up(unified_moved(&i), m->constants->beat_bytes);
                done(m, unit, &i, start, start + busy, start + busy);
        }
        m->c->busy[unit] += busy;
        return true;
}

static bool begin(struct model *m, int64_t *blocks, struct diag *diag)
{
        for (int64_t k = 0; k < unified_length(m->p); k++) {
                struct unified_instruction i;
                enum unified_rule rule;
                if (!unified_instruction_at(m->p, k, &i) || !unified_is_safe(&i, m->p->dram_bytes, &rule)) {
                        diag_error(diag, EXIT_INVALID, "instruction %" PRId64 " cannot run: see check", k);
                        return false;
                }
                *blocks += i.opcode == UNIFIED_READ_WEIGHTS_CODE ? i.blocks : 0;
        }
        return true;
}

bool unified_cycles(const struct vta_program *p, struct unified_cycles *c, struct unified_times *times, struct diag *diag)
{
        struct model m = { .p = p, .constants = &machine_unified.cycles, .c = c, .times = times };
        int64_t blocks = 0;
        *c = (struct unified_cycles){ 0 };
        if (!begin(&m, &blocks, diag))
                return false;
        m.there = memory_alloc((size_t)(blocks + 1) * sizeof *m.there);
        m.room = memory_alloc((size_t)(blocks + 1) * sizeof *m.room);
        for (int u = 0; u < UNIFIED_STAGES; u++)
                find(&m, u, 0);
        for (bool more = true; more;) {
                more = false;
                for (int u = 0; u < UNIFIED_STAGES; u++)
                        while (advance(&m, u))
                                more = true;
        }
        int64_t first = -1;
        for (int u = 0; u < UNIFIED_STAGES; u++)
                if (m.at[u] >= 0 && (first < 0 || m.at[u] < first))
                        first = m.at[u];
        if (first >= 0)
                diag_error(diag, EXIT_INVALID, "instruction %" PRId64 " waits for ever", first);
        for (int u = 0; u < UNIFIED_STAGES; u++)
                free(m.ends[u].end);
        free(m.there);
        free(m.room);
        return first < 0;
}

const char *unified_bound(const struct unified_cycles *c)
{
        static const char *const names[UNIFIED_STAGES] = { "host link", "weights", "array", "activation" };
        int first = 0;
        for (int u = 1; u < UNIFIED_STAGES; u++)
                if (c->busy[u] > c->busy[first])
                        first = u;
        return 2 * c->busy[first] >= c->cycles ? names[first] : "waiting";
}

/* ---- as text ---- */

static double share(int64_t part, int64_t whole) { return whole ? 100.0 * (double)part / (double)whole : 0.0; }

static void add_each(const struct vta_program *p, const struct unified_times *times, struct text *out)
{
        text_add(out, "%8s  %-8s %12s %12s  %s\n", "number", "unit", "start", "end", "instruction");
        for (int64_t k = 0; k < unified_length(p) - 1; k++) {
                struct unified_instruction i;
                unified_instruction_at(p, k, &i);
                text_add(out, "%8" PRId64 "  %-8s %12" PRId64 " %12" PRId64 "  ", k, unified_unit_names[unified_unit_of(&i)], times[k].start,
                         times[k].end);
                unified_codec.print(p, p->code->content + k * UNIFIED_BYTES, out);
                text_add(out, "\n");
        }
        text_add(out, "\n");
}

bool unified_report(const struct vta_program *p, bool each, struct text *out, struct diag *diag)
{
        struct unified_cycles c;
        struct unified_times *times = each ? memory_alloc((size_t)unified_length(p) * sizeof *times) : NULL;
        const bool fine = unified_cycles(p, &c, times, diag);
        if (fine && each)
                add_each(p, times, out);
        free(times);
        if (!fine)
                return false;
        text_add(out, "cycles        %12" PRId64 "\nutilization   %10.1f %%\nbound by      %12s\n", c.cycles, share(c.rows, c.cycles), unified_bound(&c));
        text_add(out, "instructions  %12" PRId64 "\nrows          %12" PRId64 "\nbytes read    %12" PRId64 "\nbytes weights %12" PRId64
                 "\nbytes written %12" PRId64 "\n\n", unified_length(p), c.rows, c.bytes[UNIFIED_READ_HOST_CODE], c.bytes[UNIFIED_READ_WEIGHTS_CODE],
                 c.bytes[UNIFIED_WRITE_HOST_CODE]);
        text_add(out, "%-10s %12s %9s\n", "unit", "busy", "of all");
        for (int u = 0; u < UNIFIED_STAGES; u++)
                text_add(out, "%-10s %12" PRId64 " %7.1f %%\n", unified_unit_names[u], c.busy[u], share(c.busy[u], c.cycles));
        return true;
}
