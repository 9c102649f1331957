/* SPDX-License-Identifier: MIT */
/* What a launch takes, layer by layer: a layer begins behind the last activation, or store, of the one before, and where it multiplies by
 * weights that no layer had before it. Cycles are those of the model (unified.h); a layer has those from the end of the one before to its
 * own, so that they add up. */
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "codegen/machines.h"
#include "codegen/unified/unified.h"
#include "codegen/vta/moves.h"
#include "ir/loop/loop.h"

struct measuring {
        const struct loop_function *f;
        struct vta_program p;
        struct vta_segment code;
        struct arena *arena;
        int *layers;                    /* of each instruction */
        int layer_count;
        const struct loop_buffer **weights;     /* of each layer: the first that it multiplies by */
        struct launch_moves moves;      /* by layers */
        struct machine_measure *m;
};

/* ---- which layer an instruction is of ---- */

/* by number of a parameter: the layer that had it first; 0: none */
struct layering { struct measuring *m; int *had; int64_t *blocks; int64_t block_count, taken; };

static void find_blocks(struct layering *l)
{
        const int64_t bytes = unified_element_bytes(UNIFIED_FIFO);
        struct unified_instruction i;
        for (int64_t k = 0; k < unified_length(&l->m->p); k++)
                for (int64_t b = 0; unified_instruction_at(&l->m->p, k, &i) && i.opcode == UNIFIED_READ_WEIGHTS_CODE && b < i.blocks; b++) {
                        ARENA_GROW(l->m->arena, l->blocks, l->block_count);
                        l->blocks[l->block_count++] = i.from + b * bytes;
                }
}

static void begin_layer(struct layering *l, int64_t from, int64_t to, const struct loop_buffer *weights)
{
        struct measuring *m = l->m;
        ARENA_GROW(m->arena, m->weights, m->layer_count);
        m->weights[m->layer_count++] = weights;
        for (int64_t k = from; k < to; k++)
                m->layers[k] = m->layer_count;
}

static void find_layers(struct measuring *m)
{
        struct layering l = { .m = m, .had = arena_array(m->arena, (size_t)m->f->buffer_count + 1, sizeof *l.had) };
        int64_t behind = 0;             /* the last activation into the buffer, or store */
        bool made = true;               /* the layer has made something */
        find_blocks(&l);
        for (int64_t k = 0; k < unified_length(&m->p); k++) {
                struct unified_instruction i;
                unified_instruction_at(&m->p, k, &i);
                if (i.opcode == UNIFIED_MULTIPLY_CODE && i.next && l.taken < l.block_count) {
                        const struct loop_buffer *weights =
                                launch_moves_parameter(&m->moves, l.blocks[l.taken++]);
                        if (made && !l.had[weights->number]) {
                                begin_layer(&l, behind, k, weights);
                                made = false;
                        }
                        l.had[weights->number] = m->layer_count;
                }
                if ((i.opcode == UNIFIED_ACTIVATE_CODE && !i.to_sums && i.low < i.high) || i.opcode == UNIFIED_WRITE_HOST_CODE) {
                        made = true;
                        behind = k + 1;
                }
                m->layers[k] = m->layer_count ? m->layer_count : 1;
        }
        if (!m->layer_count)
                begin_layer(&l, 0, unified_length(&m->p), NULL);
}

/* ---- what it takes ---- */

static void add_bytes(struct measuring *m, const struct unified_instruction *i, int layer)
{
        const bool writes = i->opcode == UNIFIED_WRITE_HOST_CODE;
        const int memory = i->opcode == UNIFIED_READ_WEIGHTS_CODE ? UNIFIED_FIFO : i->par ? UNIFIED_PAR : UNIFIED_UB;
        const int64_t from = i->opcode == UNIFIED_READ_WEIGHTS_CODE ? i->from : i->host, bytes = unified_moved(i);
        struct machine_part *const parts[] = { &m->m->parts[layer - 1], &m->m->whole };
        for (int k = 0; k < 2; k++)
                *(writes ? &parts[k]->stored : &parts[k]->loaded[memory]) += bytes;
        launch_moves_add(&m->moves, layer, memory, from, bytes, writes);
}

struct touching { struct measuring *m; int layer; };

static void touch(void *context, int memory, int64_t first, int64_t count, bool writes)
{
        const struct touching *t = context;
        (void)writes;
        if (memory != UNIFIED_HOST)
                launch_moves_use(&t->m->moves, t->layer, memory,
                                 (first + count) *
                                         unified_element_bytes((enum unified_memory)memory));
}

/* The model's words for what is busy most are those of a struct of its own. */
static void bound(struct machine_part *part, const int64_t busy[UNIFIED_STAGES])
{
        struct unified_cycles c = { .cycles = part->cycles };
        memcpy(c.busy, busy, sizeof c.busy);
        part->bound = unified_bound(&c);
}

static void add_all(struct measuring *m, const struct unified_times *times, const struct unified_cycles *whole)
{
        const struct machine_cycles *constants = &machine_unified.cycles;
        int64_t (*busy)[UNIFIED_STAGES] = arena_array(m->arena, (size_t)m->layer_count, sizeof *busy), *ends = arena_array(m->arena, (size_t)m->layer_count, sizeof *ends);
        for (int64_t k = 0; k < unified_length(&m->p); k++) {
                const int layer = m->layers[k];
                struct machine_part *part = &m->m->parts[layer - 1];
                struct unified_instruction i;
                unified_instruction_at(&m->p, k, &i);
                part->instructions++;
                const enum unified_unit unit = unified_unit_of(&i);
                if (unit == UNIFIED_STAGES)
                        continue;
                const int64_t moved = unified_moved(&i), rows = unified_rows(&i),
                              own = i.opcode == UNIFIED_READ_WEIGHTS_CODE
                                            ? i.blocks * divide_up(unified_element_bytes(UNIFIED_FIFO), constants->weight_bytes)
                                    : moved ? divide_up(moved, constants->beat_bytes)
                                            : rows;
                busy[layer - 1][unit] += own;
                part->products += i.opcode == UNIFIED_MULTIPLY_CODE ? rows : 0;
                part->serial += own + (i.opcode == UNIFIED_MULTIPLY_CODE  ? constants->product_fill + (i.next ? constants->change : 0)
                                       : i.opcode == UNIFIED_ACTIVATE_CODE ? constants->operation_fill
                                                                            : 0);
                ends[layer - 1] = times[k].end > ends[layer - 1] ? times[k].end : ends[layer - 1];
                if (moved)
                        add_bytes(m, &i, layer);
                unified_visit(&i, &(struct unified_visitor){ touch, &(struct touching){ m, layer } });
        }
        const int64_t fifo = machine_unified.memories[UNIFIED_FIFO].bytes;
        int64_t before = 0;
        for (int k = 0; k < m->layer_count; k++) {
                struct machine_part *part = &m->m->parts[k];
                part->result = m->weights[k];
                part->cycles = ends[k] > before ? ends[k] - before : 0;
                part->used[UNIFIED_FIFO] = part->loaded[UNIFIED_FIFO] < fifo ? part->loaded[UNIFIED_FIFO] : fifo;
                before += part->cycles;
                bound(part, busy[k]);
                m->m->whole.serial += part->serial;
                m->m->whole.instructions += part->instructions;
                m->m->whole.products += part->products;
        }
        struct machine_part *all = &m->m->whole;
        all->cycles = whole->cycles;
        all->used[UNIFIED_FIFO] = all->loaded[UNIFIED_FIFO] < fifo ? all->loaded[UNIFIED_FIFO] : fifo;
        bound(all, whole->busy);
}

bool unified_measure(const struct loop_function *stream, struct arena *arena, struct machine_measure *measure, struct diag *diag)
{
        struct measuring m = { .f = stream, .arena = arena, .m = measure };
        struct unified_cycles whole;
        unsigned char *bytes;
        int64_t count;
        *measure = (struct machine_measure){ .parts = NULL };
        launch_moves_begin(&m.moves, stream, measure, VTA_ALIGN, VTA_ALIGN, arena);
        if (!unified_encode_stream(stream, m.moves.addresses, arena, &bytes, &count, diag))
                return false;
        m.code = (struct vta_segment){ .kind = VTA_KIND_CODE, .content = bytes, .bytes = count * UNIFIED_BYTES };
        m.p = (struct vta_program){ .codec = &unified_codec,
                                    .dram_bytes = m.moves.end,
                                    .code = &m.code };
        struct unified_times *times = arena_array(arena, (size_t)count, sizeof *times);
        if (!unified_cycles(&m.p, &whole, times, diag))
                return false;
        m.layers = arena_array(arena, (size_t)count, sizeof *m.layers);
        find_layers(&m);
        measure->part_count = m.layer_count;
        measure->parts = arena_array(arena, (size_t)m.layer_count, sizeof *measure->parts);
        add_all(&m, times, &whole);
        return true;
}
