/* SPDX-License-Identifier: MIT */
/* The verifier of Loop IR checks flat streams (ir/loop/stream.h), where all numbers are known:
 * statements touch elements within the memories and buffers, instructions are such as the machine
 * has, and tokens order what two stages touch. */
#include <stdlib.h>

#include "base/size.h"
#include "ir/loop/loop_verify.h"
#include "ir/loop/stream_order.h"

enum { WORK_MOST = 1 << 28 };           /* At most this many places are looked at in one stream. */

/* ---- one by one ---- */

static int64_t extent_of(const struct machine *m, const struct loop_buffer *b)
{
        return b->space == SPACE_MEMORY ? machine_depth(&m->memories[b->memory]) : b->extent;
}

static bool check_reach(struct verifier *v, const struct loop_buffer *b, int64_t low, int64_t high)
{
        int64_t extent = extent_of(v->function->machine, b);
        return (low >= 0 && high < extent) ||
               verify_error(v, "%lld to %lld of %s, which has %lld", (long long)low,
                            (long long)high, b->name, (long long)extent);
}

static bool check_operand(struct verifier *v, const struct flat_step *n, int operand)
{
        int64_t low = n->at[operand], high = low, reach;
        for (int k = 0; k < n->loop_count; k++) {
                if (n->loops[k].count < 1)
                        return true;
                int64_t *end = n->loops[k].add[operand] < 0 ? &low : &high;
                if (!int_mul(n->loops[k].count - 1, n->loops[k].add[operand], &reach) ||
                    !int_add(*end, reach, end))
                        return verify_error(v, "a place is beyond all memory");
        }
        return check_reach(v, flat_operand(n->s, operand), low,
                           high + flat_operand_elements(n->s, operand) - 1);
}

static bool check_moved(struct verifier *v, const struct flat_step *n, int64_t *work)
{
        const struct machine *m = v->function->machine;
        int in = loop_transfer_loads(n->s) ? 0 : 1;
        int64_t numbers = machine_element_numbers(&m->memories[flat_operand(n->s, in)->memory]),
                step = n->s->transfer->step, last = 0, end = 0;
        for (int k = 0; k < 4; k++)
                if (n->pad[k] < 0 || n->pad[k] > m->limits.pad)
                        return verify_error(v, "padding of %lld, and %s has 0 to %lld",
                                            (long long)n->pad[k], m->name,
                                            (long long)m->limits.pad);
        if (n->rows < 1 || n->columns < 1 || n->rows > m->limits.rows ||
            n->columns > m->limits.rows)
                return verify_error(v, "a transfer of %lld rows by %lld", (long long)n->rows,
                                    (long long)n->columns);
        int64_t elements = (n->rows + n->pad[0] + n->pad[1]) * (n->columns + n->pad[2] + n->pad[3]);
        *work -= elements;
        return check_reach(v, flat_operand(n->s, in), n->at[in], n->at[in] + elements - 1) &&
               ((int_mul(n->rows - 1, step, &last) && int_add(last, n->columns * numbers, &end) &&
                 int_add(n->at[1 - in], end - 1, &end)) ||
                verify_error(v, "a place is beyond all memory")) &&
               check_reach(v, flat_operand(n->s, 1 - in), n->at[1 - in], end);
}

/* Checks the loops of an instruction: counters are outermost, then comes a list; or there is
 * neither. */
static bool check_instruction(struct verifier *v, const struct flat_step *n, int64_t *work)
{
        const struct machine_limits *limits = &v->function->machine->limits;
        int64_t list = 1, steps = 1;
        int counted = 0;
        for (int k = 0; k < n->loop_count; k++) {
                const struct nest_loop *loop = &n->loops[k];
                if (loop->kind != FOR_LIST && k && n->loops[k - 1].kind != loop->kind)
                        return verify_error(
                                v, "counters of an instruction stand around its list, and alone");
                if (loop->kind == FOR_COUNT &&
                    (++counted > limits->counters || loop->count > limits->count))
                        return verify_error(v, "an instruction has %d counters, up to %lld",
                                            limits->counters, (long long)limits->count);
                if (loop->kind == FOR_LIST &&
                    (!int_mul(list, loop->count, &list) || list > limits->list))
                        return verify_error(v, "a list has %lld places at most",
                                            (long long)limits->list);
                if (loop->kind != FOR_SERIAL && loop->count < 1)
                        return verify_error(v, "an instruction without steps");
                if (!int_mul(steps, loop->count, &steps) || steps > *work)
                        return verify_error(v, "more steps than can be looked at");
        }
        *work -= steps;
        return true;
}

static bool check_step(struct verifier *v, const struct flat_step *n, int64_t *work)
{
        if (n->s->kind == STMT_TRANSFER)
                return check_moved(v, n, work);
        if (!loop_is_step(n->s))
                return true;
        if (!check_instruction(v, n, work))
                return false;
        for (int k = 0; k < OPERANDS; k++)
                if (flat_operand(n->s, k) && !check_operand(v, n, k))
                        return false;
        return true;
}

/* ---- FIFOs ---- */

/* Blocks of weights go into a FIFO place by place, and products take them in that order. */
struct fifo { int64_t filled, taken; };

static bool check_fifo(struct verifier *v, struct fifo *f, const struct flat_step *n)
{
        const struct machine *m = v->function->machine;
        const struct machine_memory *memory = &m->memories[m->weights];
        const int64_t depth = machine_depth(memory);
        if (!memory->fifo)
                return true;
        if (n->s->kind == STMT_TRANSFER && loop_transfer_loads(n->s) &&
            n->s->buffer->memory == m->weights) {
                if (n->rows * n->columns != 1 || n->at[0] != f->filled % depth ||
                    f->filled - f->taken + (f->taken > 0) >= depth)
                        return verify_error(v, "element %lld of %s is not the next that has room",
                                            (long long)n->at[0], memory->name);
                f->filled++;
        }
        if (n->s->kind != STMT_PRODUCT)
                return true;
        for (int k = 0; k < n->loop_count; k++)
                if (n->loops[k].add[2])
                        return verify_error(v, "one instruction reads several elements of %s",
                                            memory->name);
        if (f->taken && n->at[2] == (f->taken - 1) % depth)
                return true;
        if (f->taken == f->filled || n->at[2] != f->taken % depth)
                return verify_error(v, "element %lld of %s is neither the one in use nor the next",
                                    (long long)n->at[2], memory->name);
        f->taken++;
        return true;
}

/* ---- order ---- */

/* A clock says, for each stage, up to which statement it is known to be done; a token carries its
 * sender's clock. */
struct clock { int64_t known[MACHINE_STAGES]; };
/* A stage has these clocks behind each of its statements. */
struct history { struct clock *clocks; int64_t count, room; };
struct queue { struct clock *tokens; int first, count, room; };
struct racing {
        struct verifier *v;
        const struct machine *m;
        struct clock clocks[MACHINE_STAGES];
        struct queue queues[MACHINE_STAGES][2];         /* A queue is found by the stage that
                                                         * pushes, and by the direction. */
        struct history done[MACHINE_STAGES];            /* The histories are used for machines that
                                                         * await. */
};

static struct queue *queue_of(struct racing *r, struct loop_queue q)
{
        return &r->queues[q.from][q.to > q.from];
}

static bool push(struct racing *r, struct loop_queue queue)
{
        struct queue *q = queue_of(r, queue);
        if (q->count - q->first >= r->m->limits.tokens)
                return verify_error(r->v, "a queue holds %d tokens, and one more is pushed",
                                    r->m->limits.tokens);
        if (q->count == q->room) {
                q->room = 2 * q->room + 64;
                q->tokens = memory_resize(q->tokens, (size_t)q->room * sizeof *q->tokens);
        }
        q->tokens[q->count++] = r->clocks[queue.from];
        return true;
}

static void learn(struct racing *r, int stage, const struct clock *from)
{
        for (int s = 0; s < r->m->stage_count; s++)
                if (from->known[s] > r->clocks[stage].known[s])
                        r->clocks[stage].known[s] = from->known[s];
}

static bool await(struct racing *r, const struct loop_stmt *s)
{
        const struct history *done = &r->done[s->queue.from];
        if (s->step > done->count)
                return verify_error(
                        r->v, "what is waited for, statement %lld of %s, does not stand before it",
                        (long long)s->step, r->m->stages[s->queue.from]);
        learn(r, s->queue.to, &done->clocks[s->step - 1]);
        return true;
}

static void note_done(struct racing *r, int stage)
{
        struct history *h = &r->done[stage];
        if (h->count == h->room) {
                h->room = 2 * h->room + 64;
                h->clocks = memory_resize(h->clocks, (size_t)h->room * sizeof *h->clocks);
        }
        h->clocks[h->count++] = r->clocks[stage];
}

static bool pop(struct racing *r, struct loop_queue queue)
{
        struct queue *q = queue_of(r, queue);
        if (q->first == q->count)
                return verify_error(r->v, "a token is popped that was not pushed");
        learn(r, queue.to, &q->tokens[q->first++]);
        return true;
}

static bool check_order(struct racing *r, struct stream_grounds *g, const struct flat_step *n,
                        int64_t number)
{
        int64_t wanted[MACHINE_STAGES];
        int stage = loop_stage_of(r->m, n->s);
        stream_grounds_want(g, n, wanted);
        for (int s = 0; s < r->m->stage_count; s++)
                if (wanted[s] > r->clocks[stage].known[s])
                        return verify_error(r->v,
                                            "a race with statement %lld, of stage %s: both touch "
                                            "one element, one writes, and nothing orders them",
                                            (long long)wanted[s], r->m->stages[s]);
        stream_grounds_mark(g, n, number);
        r->clocks[stage].known[stage] = number;
        if (r->m->awaits)
                note_done(r, stage);
        return true;
}

static bool check_races(struct racing *r, struct stream_grounds *g)
{
        int64_t number = 0;
        for (const struct loop_stmt *s = r->v->function->body->first; s; s = s->next) {
                struct flat_step step;
                if (!flat_step_read(r->m, s, NULL, &step))
                        continue;
                r->v->stmt = step.s;
                number++;
                bool fine = step.s->kind == STMT_PUSH  ? push(r, step.s->queue)
                            : step.s->kind == STMT_POP ? pop(r, step.s->queue)
                            : step.s->kind == STMT_AWAIT ? await(r, step.s)
                                                       : check_order(r, g, &step, number);
                if (!fine)
                        return false;
        }
        for (int s = 0; s < r->m->stage_count; s++)
                for (int k = 0; k < 2; k++)
                        if (r->queues[s][k].first < r->queues[s][k].count)
                                return verify_error(r->v, "a token of %s is left at the end",
                                                    r->m->stages[s]);
        return true;
}

static void find_token(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_PUSH || s->kind == STMT_POP || s->kind == STMT_AWAIT;
}

bool verify_flat(struct verifier *v)
{
        const struct loop_function *f = v->function;
        struct loop_buffer *memories[MACHINE_MEMORIES];
        struct fifo fifo = { 0 };
        bool tokens = false, flat = flat_memories(f, memories);
        int64_t work = WORK_MOST;
        for (int k = 0; k < f->buffer_count; k++)
                if (f->buffers[k]->alias_class)
                        return verify_error(v, "buffers of a stream overlap nothing");
        loop_block_walk(f->body, find_token, NULL, &tokens);
        if (!flat)
                return !tokens || verify_error(v, "a stream with tokens has loops that are no "
                                                  "instructions: it is flat, or has none");
        for (const struct loop_stmt *s = f->body->first; s; s = s->next) {
                struct flat_step step;
                const struct loop_stmt *inner = s;
                while (inner->kind == STMT_FOR)
                        inner = inner->body->first;
                v->stmt = inner;
                if (s->kind == STMT_ALLOC)
                        continue;
                if (!flat_step_read(f->machine, s, NULL, &step))
                        return verify_error(v, "a statement of a flat stream has no place that is "
                                               "known, in whole elements");
                if (!check_step(v, &step, &work) || !check_fifo(v, &fifo, &step))
                        return false;
        }
        if (fifo.taken < fifo.filled)
                return verify_error(v, "%lld elements are left in a FIFO at the end",
                                    (long long)(fifo.filled - fifo.taken));
        if (!tokens)
                return true;
        struct racing r = { .v = v, .m = f->machine };
        struct stream_grounds *g = stream_grounds_new(f);
        bool fine = check_races(&r, g);
        stream_grounds_free(g);
        for (int s = 0; s < MACHINE_STAGES; s++) {
                for (int k = 0; k < 2; k++)
                        free(r.queues[s][k].tokens);
                free(r.done[s].clocks);
        }
        return fine;
}
