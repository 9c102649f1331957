/* SPDX-License-Identifier: MIT */
/* cse: equal expressions are computed once, equal constants are stored once.
 *
 *   %1 = exp(%0)                     %1 = exp(%0)
 *   %2 = exp(%0)             ->      %3 = add(%1, %1)
 *   %3 = add(%1, %2)
 *
 * Values are numbered by content: operation, operands, attributes, result types, with the operands
 * of commutative operations in a fixed order. An operation sees those of the regions around it.
 * Only pure operations without regions are shared; exact. */
#include "passes/pass.h"

#include <stdlib.h>
#include <string.h>

/* ---- constants ---- */

/* Returns a quick hash of bytes, eight of which are taken at a time. */
static uint64_t hash_bytes(uint64_t h, const unsigned char *p, size_t bytes)
{
        uint64_t word;
        for (; bytes >= 8; p += 8, bytes -= 8) {
                memcpy(&word, p, 8);
                h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
                h ^= h >> 32;
        }
        word = 0;
        if (bytes)
                memcpy(&word, p, bytes);
        return (h ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
}

static size_t position_bytes(const struct sparse *s)
{
        return (size_t)s->count * sizeof *s->positions;
}

static size_t value_bytes(const struct sparse *s)
{
        return (size_t)s->count * (size_t)element_info[s->element].bytes;
}

static uint64_t contents_hash(const struct constant *c)
{
        const struct sparse *s = c->sparse;
        return s ? hash_bytes(hash_bytes(0, (const void *)s->positions, position_bytes(s)),
                              s->values, value_bytes(s))
                 : hash_bytes(0, c->held, constant_held_bytes(c));
}

/* Are the contents of two constants of one type and kind equal? */
static bool is_equal(const struct constant *c, const struct constant *d)
{
        const struct sparse *s = c->sparse, *t = d->sparse;
        if (!s)
                return !memcmp(c->held, d->held, constant_held_bytes(c));
        return s->count == t->count && !memcmp(s->positions, t->positions, position_bytes(s)) &&
               !memcmp(s->values, t->values, value_bytes(s));
}

/* Returns a hash of a constant's contents; of long contents, a hash of pieces from all over them:
 * most constants that differ have pieces that differ. */
static uint64_t sample_hash(const struct constant *c)
{
        enum { PIECE = 64, PIECES = 32 };
        size_t bytes = constant_held_bytes(c);
        uint64_t h = 0;
        if (c->kind == CONSTANT_SPARSE || bytes <= PIECE * PIECES)
                return contents_hash(c);
        for (size_t i = 0; i < PIECES; i++)
                h = hash_bytes(h,
                               (const unsigned char *)c->held + (bytes - PIECE) / (PIECES - 1) * i,
                               PIECE);
        return h;
}

struct constant_key { const struct type *type; uint64_t kind, hash; };

/* This is the first constant with its sample; known: its contents have been hashed, too. */
struct sampled { struct constant *constant; bool known; };

/* Makes c known by its contents, or replaces it by the equal constant that is known. Returns
 * whether it did that. */
static bool share_constant(struct map *known, struct constant *c)
{
        struct constant_key key = { c->value.type, c->kind, contents_hash(c) };
        struct constant *first = map_get(known, (const char *)&key, sizeof key);
        if (!first) {
                map_set(known, (const char *)&key, sizeof key, c);
                return false;
        }
        if (!is_equal(first, c))
                return false;
        value_replace(&c->value, &first->value);
        return true;
}

/* Shares equal constants. Contents are read only where another constant has the same type and
 * sample. */
static int share_constants(struct module *m)
{
        struct arena *arena = arena_new();
        struct map *samples = map_new(arena), *known = map_new(arena);
        int shared = 0;
        for (struct constant *c = m->constants; c; c = c->next) {
                if (!c->value.uses || !type_is_static(c->value.type) ||
                    !element_is_stored(c->value.type->element))
                        continue;
                struct constant_key key = { c->value.type, c->kind, sample_hash(c) };
                struct sampled *first = map_get(samples, (const char *)&key, sizeof key);
                if (!first) {
                        first = ARENA_NEW(arena, struct sampled);
                        first->constant = c;
                        map_set(samples, (const char *)&key, sizeof key, first);
                        continue;
                }
                if (!first->known)
                        share_constant(known, first->constant);
                first->known = true;
                shared += share_constant(known, c);
        }
        arena_free(arena);
        return shared;
}

/* ---- operations ---- */

struct scope { const struct scope *outer; struct map *known; };

static void add_pointer(struct text *key, const void *p)
{
        text_add_bytes(key, (const char *)&p, sizeof p);
}

static void make_key(struct text *key, const struct op *op)
{
        key->length = 0;
        text_add_bytes(key, (const char *)&op->code, sizeof op->code);
        bool swap = op_info[op->code].traits & TRAIT_COMMUTATIVE &&
                    op_operand(op, 1) < op_operand(op, 0);
        for (int i = 0; i < op->operand_count; i++)
                add_pointer(key, op_operand(op, swap && i < 2 ? 1 - i : i));
        for (int i = 0; i < op->result_count; i++)
                add_pointer(key, op->results[i].type);
        for (int i = 0; i < op_info[op->code].attr_count; i++) {
                const struct attr *a = &op->attrs[i];
                text_add_bytes(key, (const char *)&a->i, sizeof a->i);
                text_add_bytes(key, (const char *)&a->count, sizeof a->count);
                text_add_bytes(key, (const char *)a->ints, sizeof *a->ints * (size_t)a->count);
        }
}

static int cse_region(struct region *region, const struct scope *outer, struct arena *arena,
                      struct text *key)
{
        struct scope scope = { outer, map_new(arena) };
        int removed = 0;
        for (struct op *op = region->first, *next; op; op = next) {
                next = op->next;
                if (op_is_kernel(op))
                        continue;
                for (int i = 0; i < op->region_count; i++)
                        removed += cse_region(op->regions[i], &scope, arena, key);
                if (!(op_info[op->code].traits & TRAIT_PURE) || op->region_count)
                        continue;
                make_key(key, op);
                struct op *known = NULL;
                for (const struct scope *s = &scope; s && !known; s = s->outer)
                        known = map_get(s->known, key->data, key->length);
                if (!known) {
                        map_set(scope.known, key->data, key->length, op);
                        continue;
                }
                for (int i = 0; i < op->result_count; i++)
                        value_replace(&op->results[i], &known->results[i]);
                op_erase(op);
                removed++;
        }
        return removed;
}

int pass_cse(struct function *f, struct pass_context *context)
{
        (void)context;
        struct arena *arena = arena_new();
        struct text key = { 0 };
        int rewrites = share_constants(f->module);
        rewrites += cse_region(&f->body, NULL, arena, &key);
        text_free(&key);
        arena_free(arena);
        return rewrites;
}
