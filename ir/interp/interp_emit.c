/* SPDX-License-Identifier: MIT */
/* The interpreter's compiler has slots, code lists, and operations that are shared and moved out of
 * loops. */
#include <stdlib.h>
#include <string.h>

#include "ir/interp/interp_compile.h"

enum { SLOTS_MAX = 1 << 26, NODES_MAX = 1 << 24, BUCKETS_FIRST = 32, ROOM_FIRST = 32 };

void *compiler_grow(void *array, int count, int *room, size_t size)
{
        if (count < *room)
                return array;
        *room = *room ? 2 * *room : ROOM_FIRST;
        return memory_resize(array, (size_t)*room * size);
}

bool compiler_fail(struct compiler *c, enum exit_code code, const char *what)
{
        if (!c->failed)
                diag_error(c->diag, code, "interpreter: %s", what);
        c->failed = true;
        return false;
}

/* ---- slots and lists ---- */

int new_slots(struct compiler *c, int count)
{
        int first = c->slot_count;
        if (count > SLOTS_MAX - first) {
                compiler_fail(c, EXIT_UNSUPPORTED, "the program has too many values");
                return 0;
        }
        c->slot_count += count;
        return first;
}

int new_label(struct compiler *c) { return c->label_count++; }

void list_append(struct compiler *c, struct list *list, struct instruction i)
{
        if (c->node_count >= NODES_MAX) {
                compiler_fail(c, EXIT_UNSUPPORTED, "the program has too many operations");
                return;
        }
        c->nodes = compiler_grow(c->nodes, c->node_count, &c->node_room, sizeof *c->nodes);
        int n = c->node_count++;
        c->nodes[n] = (struct node){ i, -1 };
        if (list->first < 0)
                list->first = n;
        else
                c->nodes[list->last].next = n;
        list->last = n;
        list->cost += i.lanes ? i.lanes : i.code != I_LABEL;
}

static void list_join(struct compiler *c, struct list *to, const struct list *from, bool charged)
{
        if (from->first < 0)
                return;
        if (to->first < 0)
                to->first = from->first;
        else
                c->nodes[to->last].next = from->first;
        to->last = from->last;
        to->cost += charged ? from->cost : 0;
}

void chunk_open(struct compiler *c, struct chunk *chunk, bool loop)
{
        *chunk = (struct chunk){ .parent = c->chunk,
                                 .code = { -1, -1, 0 },
                                 .before = { -1, -1, 0 },
                                 .loop = loop,
                                 .number = ++c->chunk_count,
                                 .level = c->chunk ? c->chunk->level + loop : 1 };
        c->chunk = chunk;
}

void chunk_close(struct compiler *c, struct chunk *chunk)
{
        c->chunk = chunk->parent;
        if (c->chunk)
                list_join(c, &c->chunk->code, &chunk->code, true);
}

void loop_close(struct compiler *c, struct chunk *chunk, struct instruction begin,
                struct instruction end)
{
        struct list *code = &chunk->parent->code;
        int body = new_label(c), out = new_label(c);
        c->chunk = chunk->parent;
        list_join(c, code, &chunk->before, true);
        if (begin.code) {
                begin.e = out;
                list_append(c, code, begin);
        }
        emit_label(c, body);
        list_join(c, code, &chunk->code, false);
        end.e = body;
        end.d = chunk->code.cost < INT32_MAX ? (int32_t)chunk->code.cost + 1 : INT32_MAX;
        list_append(c, code, end);
        emit_label(c, out);
}

void emit(struct compiler *c, struct instruction i) { list_append(c, &c->chunk->code, i); }

void emit_label(struct compiler *c, int label)
{
        emit(c, (struct instruction){ .code = I_LABEL, .e = label });
}

void emit_jump(struct compiler *c, enum instruction_code code, int b, int label)
{
        emit(c, (struct instruction){ .code = (uint16_t)code, .b = b, .e = label });
}

void emit_move(struct compiler *c, int to, struct cell from, int lanes)
{
        if (to != from.slot)
                emit(c, (struct instruction){ .code = lanes > 1 ? V_MOVE : I_MOVE,
                                              .lanes = (uint16_t)(lanes > 1 ? lanes : 0),
                                              .a = to,
                                              .b = from.slot });
}

/* ---- sharing ---- */

static bool chunk_is_open(const struct compiler *c, int number)
{
        if (!number) /* Constants are in no chunk, and always known. */
                return true;
        for (const struct chunk *k = c->chunk; k; k = k->parent)
                if (k->number == number)
                        return true;
        return false;
}

static unsigned hash_key(const struct instruction *i)
{
        uint32_t h = i->code * 0x9e3779b1u;
        const int32_t fields[] = { i->lanes, i->b, i->c, i->d, i->e };
        for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
                h = (h ^ (uint32_t)fields[k]) * 0x85ebca6bu, h ^= h >> 15;
        return h;
}

static bool same_key(const struct instruction *x, const struct instruction *y)
{
        return x->code == y->code && x->lanes == y->lanes && x->b == y->b && x->c == y->c &&
               x->d == y->d && x->e == y->e;
}

static const struct shared *share_find(const struct compiler *c, const struct instruction *key)
{
        if (!c->bucket_count)
                return NULL;
        for (int s = c->buckets[hash_key(key) & (unsigned)(c->bucket_count - 1)]; s >= 0;
             s = c->shares[s].next)
                if (same_key(&c->shares[s].key, key) && chunk_is_open(c, c->shares[s].chunk))
                        return &c->shares[s];
        return NULL;
}

static void share_link(struct compiler *c, int s)
{
        int *bucket = &c->buckets[hash_key(&c->shares[s].key) & (unsigned)(c->bucket_count - 1)];
        c->shares[s].next = *bucket;
        *bucket = s;
}

/* Adds an operation after a fruitless share_find: an entry of the same key belongs to a chunk that
 * is closed for good, and is replaced. */
static void share_add(struct compiler *c, const struct instruction *key, int slot, int level,
                      int chunk)
{
        unsigned bucket = hash_key(key) & (unsigned)(c->bucket_count - 1);
        for (int s = c->bucket_count ? c->buckets[bucket] : -1; s >= 0; s = c->shares[s].next)
                if (same_key(&c->shares[s].key, key)) {
                        c->shares[s].slot = slot;
                        c->shares[s].level = level;
                        c->shares[s].chunk = chunk;
                        return;
                }
        c->shares = compiler_grow(c->shares, c->share_count, &c->share_room, sizeof *c->shares);
        c->shares[c->share_count] = (struct shared){ *key, slot, level, chunk, -1 };
        if (c->share_count >= c->bucket_count) {
                c->bucket_count = c->bucket_count ? 4 * c->bucket_count : BUCKETS_FIRST;
                c->buckets =
                        memory_resize(c->buckets, (size_t)c->bucket_count * sizeof *c->buckets);
                memset(c->buckets, 0xff, (size_t)c->bucket_count * sizeof *c->buckets);
                for (int s = 0; s < c->share_count; s++)
                        share_link(c, s);
        }
        share_link(c, c->share_count++);
}

struct cell constant_bits(struct compiler *c, uint64_t bits)
{
        const struct instruction key = { .code = I_NONE,
                                         .b = (int32_t)(uint32_t)bits,
                                         .c = (int32_t)(uint32_t)(bits >> 32) };
        const struct shared *known = share_find(c, &key);
        if (known)
                return (struct cell){ .slot = known->slot, .lanes = 1 };
        int slot = new_slots(c, 1);
        c->constants = compiler_grow(c->constants, c->constant_count, &c->constant_room,
                                     sizeof *c->constants);
        c->constants[c->constant_count++] = (struct constant_slot){ slot, bits };
        share_add(c, &key, slot, 0, 0);
        return (struct cell){ .slot = slot, .lanes = 1 };
}

struct cell constant_int(struct compiler *c, int64_t value)
{
        return constant_bits(c, (uint64_t)value);
}

struct cell value_here(const struct compiler *c, int slot, int lanes)
{
        return (struct cell){ .slot = slot, .level = c->chunk->level, .lanes = lanes };
}

/* Returns the open loop whose body is one level deeper, or NULL where that level is the
 * innermost. */
static struct chunk *loop_inside(const struct compiler *c, int level)
{
        struct chunk *found = NULL;
        for (struct chunk *k = c->chunk; k && k->level > level; k = k->parent)
                if (k->loop)
                        found = k;
        return found;
}

struct cell compute(struct compiler *c, struct instruction i, int lanes, int into,
                    const struct cell *x, const struct cell *y, const struct cell *z)
{
        const struct cell *operands[] = { x, y, z };
        struct cell splats[3];
        int32_t *fields[] = { &i.b, &i.c, &i.d };
        bool here = c->options->plain, mixed = !lanes;
        int level = 1;
        for (int k = 0; k < 3; k++)
                if (operands[k] && mixed && operands[k]->lanes > lanes)
                        lanes = operands[k]->lanes;
        for (int k = 0; k < 3; k++) {
                if (!operands[k])
                        continue;
                if (mixed && operands[k]->lanes < lanes) {
                        splats[k] = compute(c, (struct instruction){ .code = V_SPLAT }, lanes, -1,
                                            operands[k], NULL, NULL);
                        operands[k] = &splats[k];
                }
                *fields[k] = operands[k]->slot;
                here |= operands[k]->changes;
                level = operands[k]->level > level ? operands[k]->level : level;
        }
        if (lanes > 1) {
                i.lanes = (uint16_t)lanes;
                i.code = (uint16_t)(i.code < I_VECTOR ? i.code + I_VECTOR : i.code);
        }
        struct chunk *loop = here ? NULL : loop_inside(c, level);
        if (here || (!loop && into >= 0)) {
                i.a = into >= 0 ? into : new_slots(c, lanes);
                emit(c, i);
                return value_here(c, i.a, lanes);
        }
        i.a = 0;
        const struct shared *known = share_find(c, &i);
        struct cell v = { .slot = known ? known->slot : new_slots(c, lanes),
                          .level = level,
                          .lanes = lanes };
        if (!known) {
                share_add(c, &i, v.slot, level, loop ? loop->parent->number : c->chunk->number);
                i.a = v.slot;
                list_append(c, loop ? &loop->before : &c->chunk->code, i);
        }
        if (into < 0)
                return v;
        emit_move(c, into, v, lanes);
        return value_here(c, into, lanes);
}

/* ---- at the end ---- */

bool compiler_finish(struct compiler *c, const struct list *code)
{
        struct interp *interp = c->interp;
        int *places = memory_alloc((size_t)c->label_count * sizeof *places), count = 0;
        for (int n = code->first; n >= 0; n = c->nodes[n].next) {
                if (c->nodes[n].i.code == I_LABEL)
                        places[c->nodes[n].i.e] = count;
                else
                        count++;
        }
        interp->code = memory_alloc((size_t)count * sizeof *interp->code);
        interp->code_count = 0;
        for (int n = code->first; n >= 0; n = c->nodes[n].next) {
                struct instruction i = c->nodes[n].i;
                if (i.code == I_LABEL)
                        continue;
                if (i.code >= I_JUMP)
                        i.e = places[i.e];
                interp->code[interp->code_count++] = i;
        }
        free(places);
        interp->slots = memory_alloc((size_t)c->slot_count * sizeof *interp->slots);
        interp->slot_count = c->slot_count;
        for (int k = 0; k < c->constant_count; k++)
                interp->slots[c->constants[k].slot].u = c->constants[k].bits;
        return !c->failed;
}
