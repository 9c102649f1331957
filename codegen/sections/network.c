/* SPDX-License-Identifier: MIT */
/* Splits a module's function into steps of the machine and operations that stay on the host.
 * Starting from the outputs: whatever has a pattern runs on the machine, what the host needs of it
 * is uploaded, and what the machine needs of the host is an input. */
#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "codegen/sections/sections.h"
#include "passes/simplify/ranges.h"

int network_root(const struct network *n, int volume)
{
        while (n->volumes[volume].same != volume)
                volume = n->volumes[volume].same;
        return volume;
}

/* Returns the volume of a value, which is kept, plus one, in the value's scratch. */
static int volume_of(const struct value *v) { return (int)(intptr_t)v->scratch - 1; }

static bool is_plane(const struct network *n, const struct type *t)
{
        if (t->kind != TYPE_TENSOR || !type_is_static(t) || !element_is_integer(t->element) ||
            (t->rank != 4 && t->rank != 2) || !dim_is(t->dims[0], 1))
                return false;
        for (int d = 1; d < t->rank; d++)
                if (type_extent(t, d) < 1 || type_extent(t, d) > n->overlay->extent)
                        return false;
        return true;
}

int network_volume(struct network *n, const struct value *v)
{
        const bool integers = v->type->kind == TYPE_TENSOR && element_is_integer(v->type->element);
        return network_volume_within(n, v,
                                     integers ? whole_range_of(v) : (struct whole_range){ 0, 0 });
}

int network_volume_within(struct network *n, const struct value *v, struct whole_range range)
{
        if (v->kind == VALUE_CONSTANT || v->type->kind != TYPE_TENSOR)
                return -1;
        if (v->scratch)
                return volume_of(v);
        if (!is_plane(n, v->type))
                return -1;
        /* With any zero subtracted, a byte has 9 bits and a sign. */
        if (range.low < INT16_MIN || range.high > INT16_MAX)
                return -1;
        const bool flat = v->type->rank == 2;
        ARENA_GROW(n->arena, n->volumes, n->volume_count);
        n->volumes[n->volume_count] =
                (struct volume){ .value = v,
                                 .low = range.low,
                                 .high = range.high,
                                 .maker = -1,
                                 .storage = -1,
                                 .channels = type_extent(v->type, 1),
                                 .rows = flat ? 1 : type_extent(v->type, 2),
                                 .columns = flat ? 1 : type_extent(v->type, 3),
                                 .same = n->volume_count };
        ((struct value *)(uintptr_t)v)->scratch = (void *)(intptr_t)(n->volume_count + 1);
        return n->volume_count++;
}

bool network_is_made(const struct network *n, const struct value *v)
{
        return v->scratch && n->volumes[volume_of(v)].maker >= 0;
}

struct section_step *network_step(struct network *n, enum step_kind kind, const struct op *op)
{
        ARENA_GROW(n->arena, n->steps, n->step_count);
        n->steps[n->step_count] = (struct section_step){ .kind = kind, .op = op, .output = -1 };
        return &n->steps[n->step_count++];
}

/* ---- concats ---- */

/* Gives the parts and the whole of a concat one zero. Returns false where that is impossible. */
static bool join_zeros(struct network *n, int a, int b)
{
        struct volume *x = &n->volumes[network_root(n, a)], *y = &n->volumes[network_root(n, b)];
        if (x == y)
                return true;
        if (x->padded && y->padded && x->zero != y->zero)
                return false;
        if (x->padded || !y->zero) {
                y->same = x->same;
                return true;
        }
        x->same = y->same;
        return true;
}

static bool find_concat(struct network *n, const struct op *op)
{
        if (op->code != OP_concat || op_int(op, "axis") != 1 || op_result(op)->type->rank != 4 ||
            op->operand_count < 2)
                return false;
        const int whole = network_volume(n, op_result(op));
        int *parts = arena_array(n->arena, (size_t)op->operand_count, sizeof *parts);
        for (int i = 0; i < op->operand_count; i++)
                if (whole < 0 || (parts[i] = network_volume(n, op_operand(op, i))) < 0 ||
                    !join_zeros(n, whole, parts[i]))
                        return false;
        n->volumes[whole].parts = parts;
        n->volumes[whole].part_count = op->operand_count;
        return true;
}

/* ---- what is needed ---- */

struct needs {
        struct network *n;
        const struct value **values;    /* The host needs these values, which have not been examined
                                         * yet. */
        int count;
        bool *seen;                     /* It is indexed by the number of an operation. */
};

static void need_on_host(struct needs *q, const struct value *v)
{
        if (!v || v->kind == VALUE_CONSTANT)
                return;
        ARENA_GROW(q->n->arena, q->values, q->count);
        q->values[q->count++] = v;
}

static void need_volume(struct needs *q, int volume)
{
        struct network *n = q->n;
        struct volume *v = &n->volumes[volume];
        if (v->needed)
                return;
        v->needed = true;
        for (int i = 0; i < v->part_count; i++)
                need_volume(q, v->parts[i]);
        if (v->maker >= 0) {
                struct section_step *s = &n->steps[v->maker];
                s->needed = true;
                for (int i = 0; i < s->input_count; i++)
                        need_volume(q, s->inputs[i]);
        } else if (!v->part_count) {
                v->input = true;
                if (v->value->kind == VALUE_RESULT && !q->seen[v->value->op->number]) {
                        q->seen[v->value->op->number] = true;
                        for (int i = 0; i < v->value->op->operand_count; i++)
                                need_on_host(q, op_operand(v->value->op, i));
                }
        }
}

static void need_all(struct needs *q, const struct op *yield)
{
        for (int i = 0; i < yield->operand_count; i++)
                need_on_host(q, op_operand(yield, i));
        while (q->count) {
                const struct value *v = q->values[--q->count];
                const int volume = v->scratch ? volume_of(v) : -1;
                if (volume >= 0 && (q->n->volumes[volume].maker >= 0 ||
                                    volume_is_concat(&q->n->volumes[volume]))) {
                        q->n->volumes[volume].uploaded = true;
                        need_volume(q, volume);
                } else if (v->kind == VALUE_RESULT && !q->seen[v->op->number]) {
                        q->seen[v->op->number] = true;
                        for (int i = 0; i < v->op->operand_count; i++)
                                need_on_host(q, op_operand(v->op, i));
                        int captured = 0;
                        struct value **all = v->op->region_count
                                                     ? op_captures(q->n->arena, v->op, &captured)
                                                     : NULL;
                        for (int i = 0; i < captured; i++)
                                need_on_host(q, all[i]);
                }
        }
}

/* ---- the steps that remain ---- */

struct settling {
        struct network *n;
        const struct section_step *old;
        int *uploads;                   /* For each volume, this step uploads it; -1: none does. */
        bool *there;
};

static bool is_there(const struct settling *s, int volume)
{
        const struct volume *v = &s->n->volumes[volume];
        bool all = v->part_count || s->there[volume];
        for (int i = 0; i < v->part_count; i++)
                all &= is_there(s, v->parts[i]);
        return all;
}

static void add_upload(struct settling *s, int volume)
{
        if (s->uploads[volume] >= 0)
                return;
        s->uploads[volume] = s->n->step_count;
        struct section_step *step = network_step(s->n, STEP_UPLOAD, NULL);
        step->inputs[step->input_count++] = volume;
}

/* Lets an input wait for the uploads that the host computes it from. */
static void wait_for_uploads(struct settling *s, int input)
{
        struct arena *scratch = arena_new();
        struct needs q = { .n = &(struct network){ .arena = scratch } };
        struct map *seen = map_new(scratch);
        const struct value *v = s->n->volumes[input].value;
        int *waits = NULL, count = 0;
        for (int i = 0; v->kind == VALUE_RESULT && i < v->op->operand_count; i++)
                need_on_host(&q, op_operand(v->op, i));
        while (q.count) {
                const struct value *x = q.values[--q.count];
                const int volume = x->scratch ? volume_of(x) : -1;
                if (map_get(seen, (const char *)&x, sizeof x))
                        continue;
                map_set(seen, (const char *)&x, sizeof x, scratch);
                if (volume >= 0 && s->n->volumes[volume].uploaded) {
                        add_upload(s, volume);
                        ARENA_GROW(s->n->arena, waits, count);
                        waits[count++] = s->uploads[volume];
                } else if (x->kind == VALUE_RESULT) {
                        for (int i = 0; i < x->op->operand_count; i++)
                                need_on_host(&q, op_operand(x->op, i));
                }
        }
        arena_free(scratch);
        struct section_step *step =
                network_step(s->n, STEP_INPUT, v->kind == VALUE_RESULT ? v->op : NULL);
        step->output = input;
        step->before = waits;
        step->before_count = count;
        s->n->volumes[input].maker = s->n->step_count - 1;
        s->there[input] = true;
}

static void add_inputs(struct settling *s, int volume)
{
        const struct volume *v = &s->n->volumes[volume];
        for (int i = 0; i < v->part_count; i++)
                add_inputs(s, v->parts[i]);
        if (v->input && !s->there[volume])
                wait_for_uploads(s, volume);
}

/* Keeps the steps that are needed, with inputs before the steps that read them and uploads after
 * the steps that make them; this renumbers the steps. */
static void settle_steps(struct network *n)
{
        struct settling s = { .n = n, .old = n->steps };
        const int count = n->step_count, volumes = n->volume_count;
        s.uploads = arena_array(n->arena, (size_t)volumes + 1, sizeof *s.uploads);
        s.there = arena_array(n->arena, (size_t)volumes + 1, sizeof *s.there);
        memset(s.uploads, -1, (size_t)volumes * sizeof *s.uploads);
        n->steps = NULL;
        n->step_count = 0;
        for (int k = 0; k < count; k++) {
                if (!s.old[k].needed)
                        continue;
                for (int j = 0; j < s.old[k].input_count; j++)
                        add_inputs(&s, s.old[k].inputs[j]);
                n->volumes[s.old[k].output].maker = n->step_count;
                *network_step(n, s.old[k].kind, s.old[k].op) = s.old[k];
                s.there[s.old[k].output] = true;
                if (n->volumes[s.old[k].output].uploaded)
                        add_upload(&s, s.old[k].output);
                for (int i = 0; i < volumes; i++)
                        if (n->volumes[i].part_count && n->volumes[i].uploaded && is_there(&s, i))
                                add_upload(&s, i);
        }
        for (int i = 0; i < volumes; i++)
                if (n->volumes[i].needed && n->volumes[i].uploaded)
                        add_upload(&s, i);
}

/* Finds the steps that read each volume; the parts of a concat have their own readers. */
static void find_readers(struct network *n)
{
        for (int i = 0; i < n->volume_count; i++)
                n->volumes[i].reader_count = 0;
        for (int k = 0; k < n->step_count; k++)
                for (int j = 0; j < n->steps[k].input_count; j++) {
                        struct volume *v = &n->volumes[n->steps[k].inputs[j]];
                        ARENA_GROW(n->arena, v->readers, v->reader_count);
                        v->readers[v->reader_count++] = k;
                }
}

/* Removes steps that are not needed; this renumbers the others. */
static void drop_steps(struct network *n)
{
        int *number = arena_array(n->arena, (size_t)n->step_count + 1, sizeof *number), count = 0;
        for (int k = 0; k < n->step_count; k++) {
                number[k] = count;
                if (n->steps[k].needed)
                        n->steps[count++] = n->steps[k];
        }
        n->step_count = count;
        for (int k = 0; k < count; k++) {
                for (int i = 0; i < n->steps[k].before_count; i++)
                        n->steps[k].before[i] = number[n->steps[k].before[i]];
                if (n->steps[k].output >= 0)
                        n->volumes[n->steps[k].output].maker = k;
        }
}

static void add_readers(struct network *n, int volume, const struct volume *whole)
{
        struct volume *v = &n->volumes[volume];
        for (int i = 0; i < whole->reader_count; i++) {
                ARENA_GROW(n->arena, v->readers, v->reader_count);
                v->readers[v->reader_count++] = whole->readers[i];
        }
        for (int i = 0; i < v->part_count; i++)
                add_readers(n, v->parts[i], whole);
}

/* Makes the readers of a concat readers of its parts. */
static void pass_readers_on(struct network *n)
{
        struct volume *own =
                arena_copy(n->arena, n->volumes, (size_t)n->volume_count * sizeof *own);
        for (int i = 0; i < n->volume_count; i++)
                for (int k = 0; own[i].needed && k < own[i].part_count; k++)
                        add_readers(n, own[i].parts[k], &own[i]);
}

/* ---- copies ---- */

/* Moves copies, which stand after all steps, to where they belong: after the step whose result they
 * copy. */
static void sort_steps(struct network *n, int from)
{
        if (from == n->step_count)
                return;
        struct section_step *sorted = arena_array(n->arena, (size_t)n->step_count, sizeof *sorted);
        int *number = arena_array(n->arena, (size_t)n->step_count, sizeof *number), count = 0;
        bool *there = arena_array(n->arena, (size_t)n->volume_count, sizeof *there),
             *done = arena_array(n->arena, (size_t)n->step_count, sizeof *done);
        struct settling s = { .n = n, .there = there };
        for (int k = 0; k < from; k++) {
                number[k] = count;
                sorted[count++] = n->steps[k];
                if (n->steps[k].output >= 0)
                        there[n->steps[k].output] = true;
                for (int c = from; c < n->step_count; c++)
                        if (!done[c] && is_there(&s, n->steps[c].inputs[0])) {
                                done[c] = true;
                                number[c] = count;
                                there[n->steps[c].output] = true;
                                sorted[count++] = n->steps[c];
                        }
        }
        n->steps = sorted;
        for (int k = 0; k < count; k++) {
                for (int i = 0; i < sorted[k].before_count; i++)
                        sorted[k].before[i] = number[sorted[k].before[i]];
                if (sorted[k].output >= 0)
                        n->volumes[sorted[k].output].maker = k;
        }
}

/* ---- the host ---- */

static void find_host(struct network *n, const struct function *f, const bool *seen)
{
        for (const struct op *op = f->body.first; op; op = op->next) {
                if (!seen[op->number] || op->code == OP_yield)
                        continue;
                ARENA_GROW(n->arena, n->host, n->host_count);
                n->host[n->host_count++] = op;
        }
}

/* ---- the whole network ---- */

static void find_patterns(struct network *n, const struct function *f)
{
        for (const struct op *op = f->body.first; op; op = op->next) {
                if (op->result_count != 1)
                        continue;
                if (op->code == OP_concat)
                        find_concat(n, op);
                else if (op->code == OP_cast || op->code == OP_reduce_window)
                        pattern_find(n, op_result(op));
        }
}

static int number_ops(const struct function *f)
{
        int count = 0;
        for (struct op *op = f->body.first; op; op = op->next)
                op->number = count++;
        return count;
}

static bool has_convolution(const struct network *n)
{
        for (int k = 0; k < n->step_count; k++)
                if (n->steps[k].kind == STEP_CONV)
                        return true;
        return false;
}

static bool settle(struct network *n, const struct function *f, struct diag *diag)
{
        struct needs q = {
                .n = n, .seen = arena_array(n->arena, (size_t)number_ops(f) + 1, sizeof *q.seen)
        };
        need_all(&q, f->body.last);
        settle_steps(n);
        for (int k = 0; k < n->step_count; k++)
                n->steps[k].needed = true;
        find_readers(n);
        network_fuse_pools(n);
        drop_steps(n);
        find_readers(n);
        const int steps = n->step_count;
        network_make_storages(n);
        sort_steps(n, steps);
        find_readers(n);
        pass_readers_on(n);
        for (int i = 0; i < n->volume_count; i++)
                n->volumes[i].zero = n->volumes[network_root(n, i)].zero;
        network_name_all(n);
        for (int k = 0; k < n->step_count; k++)
                if (!network_take_zeros(n, &n->steps[k])) {
                        diag_error(
                                diag, EXIT_UNSUPPORTED,
                                "'%s' has biases, or results, that its commands have no room for",
                                n->steps[k].name);
                        return false;
                }
        find_host(n, f, q.seen);
        return true;
}

struct network *network_find(struct arena *arena, struct module *m, const struct overlay *overlay,
                             struct diag *diag)
{
        struct network *n = ARENA_NEW(arena, struct network);
        *n = (struct network){ .arena = arena, .overlay = overlay };
        find_patterns(n, module_entry(m));
        bool fine = settle(n, module_entry(m), diag);
        for (int i = 0; i < n->volume_count; i++)
                if (n->volumes[i].value)
                        ((struct value *)(uintptr_t)n->volumes[i].value)->scratch = NULL;
        if (fine && !has_convolution(n)) {
                network_say_missing(m, diag);
                fine = false;
        }
        return fine ? n : NULL;
}
