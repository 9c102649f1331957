/* SPDX-License-Identifier: MIT */
/* Encodes streams (ir/loop/stream.h) as instructions.
 *
 *     pop load to compute                        pop_prev
 *     for %y = 0 to 14 count {                   iter_out 14   dst_out, src_out, wgt_out
 *       for %x = 0 to 14 count {                 iter_in 14    dst_in, src_in, wgt_in
 *         for %k = 0 to 9 list {          ->     uop_begin .. uop_end
 *           product .. } } }
 *     push compute to store                      push_next
 *
 * The counters add dst_out, .. and dst_in, .. to the operands; the micro-ops uop_begin .. uop_end
 * say where the products of %k = 0, 1, .. begin for %x = %y = 0. */
#include "codegen/machines/stream_encoder.h"
#include "codegen/vta/vta.h"

enum { POPS = 2 };                      /* This many flags of an instruction take tokens. */

/* `at` is its place in the memory of micro-ops, while its epoch lasts. */
struct list { unsigned char *words; int64_t count, at; int epoch; };

struct encoding {
        struct stream_encoder e;
        int64_t last[VTA_STAGES];       /* A stage's last instruction has this number; -1: there is
                                         * none. */
        bool pops[VTA_STAGES][POPS];    /* A stage's next instruction has these flags. */
        struct list **lists;            /* Each instruction has this list; NULL: it has none. */
        struct map *known;              /* Finds a struct list by its words. */
        struct list **fresh;            /* It lists all lists, by first use. */
        int fresh_count;
};

/* ---- instructions and tokens ---- */

static struct vta_instruction *at(struct encoding *e, int64_t k)
{
        return (struct vta_instruction *)(void *)&e->e.out[k];
}

static void put(struct encoding *e, struct vta_instruction i, struct list *list)
{
        const int stage = vta_stage_of(&i);
        i.pop_prev = e->pops[stage][0];
        i.pop_next = e->pops[stage][1];
        memset(e->pops[stage], 0, sizeof e->pops[stage]);
        e->last[stage] = e->e.count;
        ARENA_GROW(e->e.arena, e->lists, e->e.count);
        e->lists[e->e.count] = list;
        encoder_put(&e->e, vta_any(&i));
}

/* Puts an instruction that moves nothing but carries tokens. */
static void put_idle(struct encoding *e, int stage)
{
        static const struct vta_instruction idle[VTA_STAGES] = {
                [VTA_STAGE_LOAD] = { .opcode = VTA_OPCODE_LOAD, .memory = VTA_INP },
                [VTA_STAGE_COMPUTE] = { .opcode = VTA_OPCODE_LOAD, .memory = VTA_UOP },
                [VTA_STAGE_STORE] = { .opcode = VTA_OPCODE_STORE, .memory = VTA_OUT },
        };
        put(e, idle[stage], NULL);
}

static void pop_token(struct encoding *e, struct loop_queue q)
{
        bool *pop = &e->pops[q.to][q.from > q.to];
        if (*pop)
                put_idle(e, q.to);
        *pop = true;
}

static void push_token(struct encoding *e, struct loop_queue q)
{
        int64_t *flag = NULL;
        for (int tries = 0; tries < 2 && !flag; tries++) {
                bool waits = e->pops[q.from][0] || e->pops[q.from][1];
                if (tries || waits || e->last[q.from] < 0)
                        put_idle(e, q.from);
                struct vta_instruction *i = at(e, e->last[q.from]);
                flag = q.to > q.from ? &i->push_next : &i->push_prev;
                if (*flag)
                        flag = NULL;
        }
        *flag = 1;
}

/* ---- transfers ---- */

static int64_t dram_of(struct encoding *e, const struct loop_buffer *b, int64_t at, int memory)
{
        const int64_t address = encoder_address(&e->e, b, at);
        if (address % e->e.isa->bytes[memory])
                encoder_fail(&e->e, EXIT_UNSUPPORTED, "a transfer begins within an element");
        return address / e->e.isa->bytes[memory];
}

/* Can contiguous rows be moved as one? */
static bool is_one_row(const struct flat_step *t, int64_t step)
{
        return t->rows > 1 && t->columns == step && !t->pad[0] && !t->pad[1] && !t->pad[2] &&
               !t->pad[3];
}

static void put_transfer(struct encoding *e, const struct flat_step *t)
{
        enum { FIELD_MOST = 65535 };
        bool loads = loop_transfer_loads(t->s);
        int in = loads ? 0 : 1, memory = loads ? t->s->buffer->memory : VTA_OUT;
        int64_t numbers = machine_element_numbers(&e->e.isa->machine.memories[memory]),
                step = t->s->transfer->step;
        struct vta_instruction i = { .opcode = loads ? VTA_OPCODE_LOAD : VTA_OPCODE_STORE,
                                     .memory = memory,
                                     .sram_base = t->at[in],
                                     .dram_base = dram_of(e, flat_operand(t->s, 1 - in),
                                                          t->at[1 - in], memory),
                                     .y_size = t->rows,
                                     .x_size = t->columns,
                                     .x_stride = step / numbers,
                                     .y_pad_0 = t->pad[0],
                                     .y_pad_1 = t->pad[1],
                                     .x_pad_0 = t->pad[2],
                                     .x_pad_1 = t->pad[3] };
        if (step % numbers && t->rows > 1)
                encoder_fail(&e->e, EXIT_UNSUPPORTED, "rows of a transfer begin within an element");
        if (is_one_row(t, i.x_stride) && t->rows * t->columns <= FIELD_MOST) {
                i.x_size *= t->rows;
                i.y_size = 1;
        }
        if (i.y_size == 1)
                i.x_stride = i.x_size;
        if (i.x_stride <= FIELD_MOST) {
                put(e, i, NULL);
                return;
        }
        /* The field is too small, so the rows are moved one by one. */
        const int64_t width = vta_row(&i), stride = i.x_stride;
        struct vta_instruction row = i;
        for (int64_t y = 0; y < t->rows && !e->e.failed; y++) {
                row.y_size = 1;
                row.x_stride = row.x_size;
                row.y_pad_0 = y ? 0 : i.y_pad_0;
                row.y_pad_1 = y < t->rows - 1 ? 0 : i.y_pad_1;
                row.sram_base = i.sram_base + (y ? y + i.y_pad_0 : 0) * width;
                row.dram_base = i.dram_base + y * stride;
                put(e, row, NULL);
        }
}

/* ---- steps ---- */

/* Returns the list of places; equal lists are kept once. */
static struct list *list_of(struct encoding *e, const struct flat_step *n, int counted)
{
        int64_t count = 1, index[NEST_MAX] = { 0 };
        struct vta_instruction u = { .dst = n->at[0], .src = n->at[1], .wgt = n->at[2] };
        for (int k = counted; k < n->loop_count; k++)
                count *= n->loops[k].count;
        if (count > e->e.isa->machine.limits.list) {
                encoder_fail(&e->e, EXIT_UNSUPPORTED,
                             "a list of places is longer than the machine keeps");
                return NULL;
        }
        const size_t bytes = (size_t)count * VTA_MICRO_OP_BYTES;
        unsigned char *words = arena_alloc(e->e.arena, bytes);
        for (int64_t at = 0; at < count; at++) {
                const struct instruction place = vta_any(&u);
                if (isa_misfit(e->e.isa, &place, VTA_FORM_MICRO_OP))
                        encoder_fail(&e->e, EXIT_UNSUPPORTED, "a step is outside of a memory");
                isa_encode_place(e->e.isa, &place, words + at * VTA_MICRO_OP_BYTES);
                for (int k = n->loop_count - 1; k >= counted; k--) {
                        const int64_t *add = n->loops[k].add;
                        bool wraps = ++index[k] == n->loops[k].count;
                        int64_t times = wraps ? 1 - n->loops[k].count : 1;
                        u.dst += times * add[0];
                        u.src += times * add[1];
                        u.wgt += times * add[2];
                        if (!wraps)
                                break;
                        index[k] = 0;
                }
        }
        struct list *list = map_get(e->known, (const char *)words, bytes);
        if (list)
                return list;
        list = ARENA_NEW(e->e.arena, struct list);
        *list = (struct list){ words, count, 0, 0 };
        map_set(e->known, (const char *)words, bytes, list);
        return list;
}

static void set_operation(struct vta_instruction *i, const struct loop_stmt *s)
{
        static const struct { int code; int operation; int sign; } rows[] = {
                { LOOP_MIN, VTA_OPERATION_MIN, 1 }, { LOOP_MAX, VTA_OPERATION_MAX, 1 },
                { LOOP_ADD, VTA_OPERATION_ADD, 1 },
                { LOOP_SHR, VTA_OPERATION_SHR, 1 }, { LOOP_SHL, VTA_OPERATION_SHR, -1 },
        };
        int64_t immediate = 0;
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
                if (rows[k].code == s->code) {
                        i->operation = rows[k].operation;
                        i->use_imm = !s->source && loop_is_int(s->b, &immediate);
                        i->imm = rows[k].sign * immediate;
                }
}

static void put_step(struct encoding *e, const struct flat_step *read)
{
        struct flat_step n = *read;
        int counted = 0;
        while (counted < n.loop_count && n.loops[counted].kind == FOR_COUNT)
                counted++;
        /* The first operand of an instruction with an immediate is source and destination. */
        if (n.s->kind == STMT_APPLY && !n.s->source) {
                n.at[1] = n.at[0];
                for (int k = 0; k < n.loop_count; k++)
                        n.loops[k].add[1] = n.loops[k].add[0];
        }
        const struct step_counters c = encoder_counters(&e->e, &n, counted);
        struct vta_instruction i = { .opcode = n.s->kind == STMT_APPLY ? VTA_OPCODE_ALU
                                     : VTA_OPCODE_GEMM, .reset = n.s->kind == STMT_RESET,
                                     .iter_out = c.counts[0], .iter_in = c.counts[1],
                                     .dst_out = c.add[0][0], .dst_in = c.add[1][0],
                                     .src_out = c.add[0][1], .src_in = c.add[1][1],
                                     .wgt_out = c.add[0][2], .wgt_in = c.add[1][2] };
        if (n.s->kind == STMT_APPLY)
                set_operation(&i, n.s);
        put(e, i, list_of(e, &n, counted));
}

static void put_statement(struct stream_encoder *encoder, const struct flat_step *step)
{
        struct encoding *e = (struct encoding *)(void *)encoder;
        switch (step->s->kind) {
        case STMT_TRANSFER: put_transfer(e, step); break;
        case STMT_PUSH: push_token(e, step->s->queue); break;
        case STMT_POP: pop_token(e, step->s->queue); break;
        default: put_step(e, step);
        }
}

/* ---- micro-ops ---- */

/* An epoch is the lists that fill the memory; they are loaded before the first instruction that
 * uses one of them. Compute loads them itself, so only the order matters. */
struct epoch { int64_t instruction, first, count; };

static struct epoch *find_epochs(struct encoding *e, int *count)
{
        struct epoch *epochs = NULL;
        *count = 0;
        for (int64_t k = 0; k < e->e.count; k++) {
                struct list *list = e->lists[k];
                if (!list)
                        continue;
                struct epoch *now = *count ? &epochs[*count - 1] : NULL;
                if (!now || (list->epoch != *count &&
                             now->count + list->count > e->e.isa->machine.limits.list)) {
                        int64_t first = now ? now->first + now->count : 0;
                        ARENA_GROW(e->e.arena, epochs, *count);
                        epochs[*count] = (struct epoch){ k, first, 0 };
                        now = &epochs[(*count)++];
                }
                if (list->epoch != *count) {
                        list->epoch = *count;
                        list->at = now->count;
                        now->count += list->count;
                        ARENA_GROW(e->e.arena, e->fresh, e->fresh_count);
                        e->fresh[e->fresh_count++] = list;
                }
                at(e, k)->uop_begin = list->at;
                at(e, k)->uop_end = list->at + list->count;
        }
        return epochs;
}

static void write_micro_ops(struct encoding *e, struct machine_code *code)
{
        for (int k = 0; k < e->fresh_count; k++)
                code->list_count += e->fresh[k]->count;
        unsigned char *to = code->lists =
                arena_alloc(e->e.arena, (size_t)(code->list_count + 1) * VTA_MICRO_OP_BYTES);
        for (int k = 0; k < e->fresh_count; k++) {
                const size_t bytes = (size_t)e->fresh[k]->count * VTA_MICRO_OP_BYTES;
                memcpy(to, e->fresh[k]->words, bytes);
                to += bytes;
        }
}

/* Puts the instructions once more, with loads of lists between them. */
static void put_loads(struct encoding *e, int64_t micro_ops)
{
        int epoch_count, epoch = 0;
        const struct epoch *epochs = find_epochs(e, &epoch_count);
        const struct instruction *before = e->e.out;
        const int64_t count = e->e.count;
        e->e.out = NULL;
        e->e.count = 0;
        for (int64_t k = 0; k < count; k++) {
                if (epoch < epoch_count && epochs[epoch].instruction == k) {
                        const struct epoch *now = &epochs[epoch++];
                        encoder_put(&e->e, vta_any(&(struct vta_instruction){
                                                   .opcode = VTA_OPCODE_LOAD, .memory = VTA_UOP,
                                                   .y_size = 1, .x_size = now->count,
                                                   .x_stride = now->count,
                                                   .dram_base = micro_ops / VTA_MICRO_OP_BYTES +
                                                   now->first }));
                }
                encoder_put(&e->e, before[k]);
        }
        encoder_put(&e->e, vta_any(&(struct vta_instruction){ .opcode = VTA_OPCODE_FINISH }));
}

/* Micro-ops of equal lists are kept once, and loaded when lists that are not resident are needed,
 * together with all that fit. */
bool vta_encode_stream(const struct isa *isa, const struct loop_function *stream,
                       const int64_t *addresses, int64_t micro_ops, struct arena *arena,
                       struct machine_code *code, struct diag *diag)
{
        struct encoding e = { .e = { .isa = isa, .f = stream, .addresses = addresses,
                                     .arena = arena, .diag = diag } };
        *code = (struct machine_code){ .count = 0 };
        e.known = map_new(arena);
        for (int k = 0; k < VTA_STAGES; k++)
                e.last[k] = -1;
        encoder_statements(&e.e, put_statement);
        for (int k = 0; k < VTA_STAGES; k++)
                if (e.pops[k][0] || e.pops[k][1])
                        put_idle(&e, k);
        if (!e.e.failed && (e.e.count + 1) * (int64_t)VTA_BYTES * 2 >= PROGRAM_CODE_MOST)
                encoder_fail(&e.e, EXIT_BUDGET,
                             "its instructions take more than a launch may have");
        if (e.e.failed)
                return false;
        put_loads(&e, micro_ops);
        write_micro_ops(&e, code);
        return encoder_write(&e.e, code);
}
