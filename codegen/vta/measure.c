/* SPDX-License-Identifier: MIT */
/* What a launch takes, whole and part by part: a part ends with the last store of a result. Cycles are those of the model (cycles.h); a
 * part has those from the end of the one before to its own, so that they add up. */
#include "codegen/vta/cycles.h"
#include "codegen/vta/driver.h"
#include "codegen/vta/encode.h"
#include "codegen/vta/moves.h"
#include "ir/loop/stream_flat.h"

struct measuring {
        const struct vta *v;
        const struct loop_function *f;
        struct arena *arena;
        struct launch_moves moves;      /* by the smallest element that is moved; lists of micro-ops begin
                                         * at its end */
        struct machine_measure *m;
        struct machine_part *part;      /* the one that goes on */
        struct vta_cycles cycles;       /* of this part */
        int64_t before;                 /* when the last one ended */
};

/* ---- parts ---- */

static void begin_part(struct measuring *m)
{
        ARENA_GROW(m->arena, m->m->parts, m->m->part_count);
        m->part = &m->m->parts[m->m->part_count++];
        *m->part = (struct machine_part){ 0 };
        m->cycles = (struct vta_cycles){ 0 };
}

static void fill(const struct measuring *m, const struct vta_cycles *c, int64_t cycles, struct machine_part *part)
{
        static const int class_of[MACHINE_MEMORIES] = { [VTA_UOP] = VTA_CLASS_LOAD_UOP, [VTA_WGT] = VTA_CLASS_LOAD_WGT, [VTA_INP] = VTA_CLASS_LOAD_INP,
                                                        [VTA_ACC] = VTA_CLASS_LOAD_ACC, [VTA_OUT] = VTA_CLASS_STORE };
        struct vta_cycles own = *c;
        own.cycles = cycles;
        part->cycles = cycles;
        part->products = c->steps[VTA_CLASS_PRODUCT];
        part->bound = vta_bound(&own);
        for (int k = 0; k < VTA_CLASS_COUNT; k++) {
                part->serial += c->busy[k];
                part->instructions += c->count[k];
        }
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                *(k == VTA_OUT ? &part->stored : &part->loaded[k]) = c->bytes[class_of[k]];
        part->places = c->bytes[VTA_CLASS_LOAD_UOP] / m->v->bytes[VTA_UOP];
        part->least[VTA_UOP] = part->loaded[VTA_UOP];
}

static void end_part(struct measuring *m)
{
        const int64_t end = m->cycles.cycles > m->before ? m->cycles.cycles : m->before;
        fill(m, &m->cycles, end - m->before, m->part);
        m->before = end;
}

/* ---- instructions ---- */

static void add_instruction(struct measuring *m, const struct vta_instruction *i, struct vta_times times)
{
        vta_cycles_add(m->v, i, times, &m->cycles);
        if (!vta_moves(i))
                return;
        for (int64_t y = 0; y < i->y_size; y++) {
                const int64_t at = vta_row_address(m->v, i, y);
                if (launch_moves_parameter(&m->moves, at))
                        launch_moves_add(&m->moves, m->m->part_count, (int)i->memory, at,
                                         i->x_size * m->v->bytes[i->memory],
                                         i->opcode == VTA_OPCODE_STORE);
        }
}

/* the parameter that an instruction stores to; NULL */
static const struct loop_buffer *stored_by(const struct measuring *m, const struct vta_instruction *i)
{
        const bool stores = i->opcode == VTA_OPCODE_STORE && vta_moves(i);
        return stores ? launch_moves_parameter(&m->moves, vta_row_address(m->v, i, 0)) : NULL;
}

static void add_all(struct measuring *m, const struct vta_code *code, const struct vta_times *times)
{
        struct vta_instruction i;
        int64_t *last = arena_array(m->arena, (size_t)code->count + 1, sizeof *last);        /* of the run of stores that k is in */
        const struct loop_buffer *result = NULL;
        for (int64_t k = code->count - 1, at = code->count - 1; k >= 0; k--) {
                vta_decode(m->v, code->instructions + k * VTA_BYTES, &i);
                const struct loop_buffer *now = stored_by(m, &i);
                if (now && now != result) {
                        at = result ? k : code->count - 1;      /* what follows the last store belongs to it */
                        result = now;
                }
                last[k] = at;
        }
        begin_part(m);
        for (int64_t k = 0; k < code->count; k++) {
                vta_decode(m->v, code->instructions + k * VTA_BYTES, &i);
                if (k && last[k] != last[k - 1]) {
                        end_part(m);
                        begin_part(m);
                }
                if (stored_by(m, &i))
                        m->part->result = stored_by(m, &i);
                add_instruction(m, &i, times[k]);
        }
        end_part(m);
}

/* ---- memories of the machine ---- */

struct touching { const struct measuring *m; int part; };

static void touch(void *context, const struct loop_buffer *b, int64_t first, int64_t count, bool writes)
{
        const struct touching *t = context;
        (void)writes;
        if (b->space == SPACE_MEMORY)
                launch_moves_use(&t->m->moves, t->part, b->memory,
                                 (first + count) * t->m->v->bytes[b->memory]);
}

static bool is_store(const struct loop_stmt *s) { return s->kind == STMT_TRANSFER && !loop_transfer_loads(s); }

/* Instructions came of statements one behind the other: a part ends with the last store of its result here, too. */
static void touch_all(struct measuring *m)
{
        const struct loop_stmt **last = arena_array(m->arena, (size_t)m->m->part_count + 1, sizeof *last);
        int part = 0;
        for (const struct loop_stmt *s = m->f->body->first; s; s = s->next)
                if (is_store(s)) {
                        part += last[part] && last[part]->buffer != s->buffer && part + 1 < m->m->part_count;
                        last[part] = s;
                }
        part = 0;
        for (const struct loop_stmt *s = m->f->body->first; s; s = s->next) {
                struct flat_step step;
                struct touching t = { m, part + 1 };
                if (s->kind != STMT_ALLOC && flat_step_read(m->f->machine, s, NULL, &step))
                        flat_step_visit(m->f->machine, &step, &(struct flat_visitor){ touch, &t });
                part += s == last[part] && part + 1 < m->m->part_count;
        }
}

/* what is stored lies as sums do */
static void settle(const struct measuring *m, struct machine_part *part, int64_t lists)
{
        part->used[VTA_UOP] = lists;
        part->used[VTA_OUT] = part->used[VTA_ACC] / m->v->bytes[VTA_ACC] * m->v->bytes[VTA_OUT];
}

bool vta_measure(const struct loop_function *stream, struct arena *arena, struct machine_measure *measure, struct diag *diag)
{
        struct vta v;
        struct vta_code code;
        struct vta_cycles whole;
        const char *why = vta_begin(&v, stream->machine);
        struct measuring m = { .v = &v, .f = stream, .arena = arena, .m = measure };
        *measure = (struct machine_measure){ .parts = NULL };
        if (why) {
                diag_error(diag, EXIT_UNSUPPORTED, "machine %s: %s", stream->machine->name, why);
                return false;
        }
        launch_moves_begin(
                &m.moves, stream, measure, vta_driver.align_most(stream->machine),
                v.bytes[VTA_INP] < v.bytes[VTA_OUT] ? v.bytes[VTA_INP] : v.bytes[VTA_OUT], arena);
        if (!vta_encode_stream(&v, stream, m.moves.addresses, m.moves.end, arena, &code, diag))
                return false;
        struct vta_times *times = arena_array(arena, (size_t)code.count + 1, sizeof *times);
        if (!vta_cycles(&v, code.instructions, code.count, &whole, times, diag))
                return false;
        add_all(&m, &code, times);
        touch_all(&m);
        fill(&m, &whole, whole.cycles, &measure->whole);
        settle(&m, &measure->whole, whole.most_micro_ops * v.bytes[VTA_UOP]);
        for (int k = 0; k < measure->part_count; k++)
                settle(&m, &measure->parts[k], measure->whole.used[VTA_UOP]);
        return true;
}
