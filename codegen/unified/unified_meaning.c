/* SPDX-License-Identifier: MIT */
/* This says what instructions do: their sizes in numbers, and their effect on memory. */
#include "codegen/unified/unified.h"

int64_t unified_rows(const struct unified_instruction *i)
{
        switch (i->opcode) {
        case UNIFIED_OPCODE_MULTIPLY: return i->rows * i->columns;
        case UNIFIED_OPCODE_ACTIVATE: return i->height * i->width;
        default: return 0;
        }
}

int unified_moved_memory(const struct unified_instruction *i)
{
        return i->opcode == UNIFIED_OPCODE_READ_WEIGHTS ? UNIFIED_FIFO
               : i->par                                 ? UNIFIED_PAR
                                                        : UNIFIED_UB;
}

int64_t unified_moved(const struct unified_instruction *i)
{
        const int64_t bytes =
                machine_element_bytes(&machine_unified.memories[unified_moved_memory(i)]);
        switch (i->opcode) {
        case UNIFIED_OPCODE_READ_HOST:
        case UNIFIED_OPCODE_WRITE_HOST: return i->count * bytes;
        case UNIFIED_OPCODE_READ_WEIGHTS: return i->blocks * bytes;
        default: return 0;
        }
}

/* ---- moves ---- */

void unified_read_host(struct running *r, const struct instruction *instruction)
{
        const struct unified_instruction *i = unified_instruction(instruction);
        const unsigned char *from = touch(r, OUTSIDE, i->host, unified_moved(i), READS);
        void *to = touch(r, (int)unified_moved_memory(i), i->local, i->count, WRITES);
        int32_t *par = to;
        if (to && !i->par)
                memcpy(to, from, (size_t)i->count * UNIFIED_LANES);
        for (int64_t k = 0; to && i->par && k < i->count * UNIFIED_LANES; k++)
                par[k] = (int32_t)(uint32_t)code_word(from + 4 * k, 4);
}

void unified_write_host(struct running *r, const struct instruction *instruction)
{
        const struct unified_instruction *i = unified_instruction(instruction);
        const void *from = touch(r, UNIFIED_UB, i->local, i->count, READS);
        void *to = touch(r, OUTSIDE, i->host, unified_moved(i), WRITES);
        if (to)
                memcpy(to, from, (size_t)i->count * UNIFIED_LANES);
}

/* Reads one block at a time where it is computed; the FIFO itself orders the accesses. */
void unified_read_weights(struct running *r, const struct instruction *instruction)
{
        const struct unified_instruction *i = unified_instruction(instruction);
        const unsigned char *from = touch(r, OUTSIDE, i->from, unified_moved(i), READS);
        if (from)
                memcpy(r->inside[UNIFIED_FIFO] +
                               r->put % r->isa->depth[UNIFIED_FIFO] * UNIFIED_BLOCK,
                       from + r->part * UNIFIED_BLOCK, UNIFIED_BLOCK);
}

/* ---- rows ---- */

/* Takes the FIFO's next block into the array, as [input][output], in which a step multiplies. */
static void take_block(struct running *r)
{
        const unsigned char *w =
                r->inside[UNIFIED_FIFO] + r->take % r->isa->depth[UNIFIED_FIFO] * UNIFIED_BLOCK;
        for (int o = 0; o < UNIFIED_LANES; o++)
                for (int k = 0; k < UNIFIED_LANES; k++)
                        r->scratch[k * UNIFIED_LANES + o] = w[o * UNIFIED_LANES + k];
}

/* Multiplies a row; an input of 0 adds nothing and is skipped. */
static void multiply_row(const int8_t *x, const int8_t *w, int32_t *sums)
{
        for (int k = 0; k < UNIFIED_LANES; k++) {
                const int32_t factor = x[k];
                if (!factor)
                        continue;
                for (int o = 0; o < UNIFIED_LANES; o++)
                        sums[o] = (int32_t)((uint32_t)sums[o] +
                                            (uint32_t)(factor * w[k * UNIFIED_LANES + o]));
        }
}

void unified_multiply(struct running *r, const struct instruction *instruction)
{
        const struct unified_instruction *i = unified_instruction(instruction);
        const struct rows of = ROWS_OF(i, in, rows, columns), at = ROWS_OF(i, sum, rows, columns);
        const int8_t *in = touch_rows(r, UNIFIED_UB, of, 1, READS);
        if (i->add)
                touch_rows(r, UNIFIED_ACC, at, 1, READS);
        int32_t *sums = touch_rows(r, UNIFIED_ACC, at, 1, WRITES);
        if (!sums)
                return;
        if (i->next)
                take_block(r);
        for (int64_t y = 0; y < i->rows; y++)
                for (int64_t x = 0; x < i->columns; x++) {
                        int32_t *sum = sums + rows_at(&at, y, x) * UNIFIED_LANES;
                        if (!i->add)
                                memset(sum, 0, UNIFIED_LANES * sizeof *sum);
                        multiply_row(in + rows_at(&of, y, x) * UNIFIED_LANES,
                                     (const int8_t *)r->scratch, sum);
                }
}

static int64_t shifted(int32_t value, int64_t by)
{
        return by < 0 || by > 31 ? 0 : value >= 0 ? value >> by : ~(~(int64_t)value >> by);
}

/* Activates a row. `from` is NULL if the instruction sets a number and reads nothing. `par` is the
 * numbers that are added, followed by the amounts of the shifts, or NULL. */
static void activate_row(const struct unified_instruction *i, const int32_t *from,
                         const int32_t *par, void *to)
{
        int32_t *sums = to;
        int8_t *bytes = to;
        for (int n = 0; n < UNIFIED_LANES; n++) {
                const int32_t sum =
                        from ? (int32_t)((uint32_t)from[n] + (par ? (uint32_t)par[n] : 0) +
                                         (uint32_t)i->plus)
                             : 0;
                const int64_t v = shifted(sum,
                                          from && i->lanes ? par[UNIFIED_LANES + n] : i->shift),
                              bound = v < i->low    ? i->low
                                      : v > i->high ? i->high
                                                    : v;
                if (i->to_sums)
                        sums[n] = (int32_t)bound;
                else
                        bytes[n] = (int8_t)bound;
        }
}

void unified_activate(struct running *r, const struct instruction *instruction)
{
        const struct unified_instruction *i = unified_instruction(instruction);
        const struct rows of = ROWS_OF(i, of, height, width), at = ROWS_OF(i, out, height, width);
        const bool reads = i->low < i->high;
        const int32_t *from = reads ? touch_rows(r, UNIFIED_ACC, of, 1, READS) : NULL;
        const int32_t *par =
                reads && i->by ? touch(r, UNIFIED_PAR, i->parameters, 1 + i->lanes, READS) : NULL;
        unsigned char *to = touch_rows(r, i->to_sums ? UNIFIED_ACC : UNIFIED_UB, at, 1, WRITES);
        const int64_t each = UNIFIED_LANES * (i->to_sums ? 4 : 1);
        for (int64_t y = 0; y < i->height && to; y++)
                for (int64_t x = 0; x < i->width; x++)
                        activate_row(i, from ? from + rows_at(&of, y, x) * UNIFIED_LANES : NULL,
                                     par, to + rows_at(&at, y, x) * each);
}
