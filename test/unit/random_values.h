/* SPDX-License-Identifier: MIT */
/* What random programs are made from: a stream of numbers, and the values that a program has so far. */
#ifndef TEST_RANDOM_VALUES_H
#define TEST_RANDOM_VALUES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/tensor/tensor.h"

/* tables of extents leave out the braces of each dim_t */
#pragma GCC diagnostic ignored "-Wmissing-braces"

enum { VALUES_MAX = 256, ELEMENTS_MAX = 3000 };

struct entry { struct value *v; double bound; };        /* no element is larger in magnitude */
struct generator {
        struct module *m;
        struct function *f;
        struct builder b;
        uint64_t stream;
        bool real, empties;             /* empties: extents may be 0 */
        enum element element;           /* of most values */
        struct entry values[VALUES_MAX];
        int count;
};

/* ---- numbers ---- */

static uint64_t random_next(uint64_t *state)
{
        uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);    /* splitmix64 */
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

/* from 0 to count - 1; of nothing, 0 */
static int pick(struct generator *g, int count) { return count > 0 ? (int)(random_next(&g->stream) % (uint64_t)count) : 0; }
static bool chance(struct generator *g, int percent) { return pick(g, 100) < percent; }
/* an extent from 1 to most; sometimes 0 where extents may be that, always where most is */
static int pick_extent(struct generator *g, int most) { return most < 1 || (g->empties && chance(g, 15)) ? 0 : 1 + pick(g, most); }

/* a number that every type of the pool holds */
static double some_number(struct generator *g)
{
        static const double whole[] = { 0, 1, 2, 3, 1, 0, 5, -1, -2, -0.0 };
        static const double real[] = { 0, 1, 2, 0.5, -1, -0.0, 0.37, -1.25, 3 };
        return g->real ? real[pick(g, 9)] : whole[pick(g, 10)];
}

static double largest_of(enum element e)
{
        switch (element_info[e].class) {
        case CLASS_BOOL: return 1;
        case CLASS_UINT: return ldexp(1, 8 * element_info[e].bytes) - 1;
        case CLASS_SINT: return ldexp(1, 8 * element_info[e].bytes - 1);
        default:         return INFINITY;
        }
}

/* sums and products up to here are exact; integers wrap, which is exact, too */
static double exact_limit(const struct generator *g, enum element e)
{
        if (g->real)
                return 1e4;
        return e == E_F64 ? 0x1p45 : e == E_F32 ? 0x1p22 : e == E_F16 ? 1024 : e == E_BF16 ? 128 : INFINITY;
}

static enum element element_at(const struct value *v) { return v->type->element; }
static int rank_of(const struct value *v) { return v->type->rank; }

/* ---- values ---- */

static void keep(struct generator *g, struct value *v, double bound)
{
        if (!v || g->count == VALUES_MAX)
                return;
        double most = largest_of(element_at(v));
        g->values[g->count++] = (struct entry){ v, bound < most ? bound : most };
}

static bool is_number(const struct entry *e) { return element_at(e->v) != E_BOOL; }
static bool has_rank(const struct entry *e) { return rank_of(e->v) > 0; }
static bool is_any(const struct entry *e) { return e != NULL; }

/* one of the values that fit, late ones more often; NULL: none does */
static struct entry *pick_value(struct generator *g, bool (*fits)(const struct entry *))
{
        for (int attempt = 0; attempt < 8; attempt++) {
                int i = pick(g, g->count), k = pick(g, g->count);
                struct entry *e = &g->values[i > k ? i : k];
                if (fits(e))
                        return e;
        }
        return NULL;
}

static struct value *pick_like(struct generator *g, const struct value *v, double *bound)
{
        for (int attempt = 0; attempt < 12; attempt++) {
                struct entry *e = &g->values[pick(g, g->count)];
                if (e->v->type == v->type) {
                        *bound = e->bound;
                        return e->v;
                }
        }
        return NULL;
}

static struct value *splat(struct generator *g, const struct value *like, double number)
{
        return build_like(&g->b, (struct value *)like, element_info[element_at(like)].class == CLASS_UINT ? fabs(number) : number);
}

/* the value with no element beyond `most` */
static struct value *clamped(struct generator *g, const struct entry *e, double most)
{
        if (e->bound <= most || !is_number(e))
                return e->v;
        struct value *v = build_binary(&g->b, OP_min, e->v, splat(g, e->v, most));
        return element_info[element_at(v)].class == CLASS_UINT ? v : build_binary(&g->b, OP_max, v, splat(g, v, -most));
}

static const struct type *type_of(struct generator *g, enum element e, int rank, const dim_t *dims)
{
        return type_tensor(g->m, e, rank, dims);
}

/* a dense constant of small numbers; *bound: the largest */
static struct value *dense(struct generator *g, const struct type *t, int most)
{
        int64_t count = type_elements(t);
        char *data = arena_alloc(g->m->arena, (size_t)type_bytes(t) + 1);
        for (int64_t i = 0; i < count; i++) {
                int n = pick(g, 2 * most + 1) - most;
                union scalar s = { .i = n };
                if (element_is_float(t->element))
                        s.f = g->real ? n + 0.125 * pick(g, 5) - 0.3 : n;
                else if (element_info[t->element].class != CLASS_SINT)
                        s.u = (unsigned long long)(t->element == E_BOOL ? n > 0 : abs(n));
                element_store(t->element, data, (size_t)i, s);
        }
        return constant_dense(g->m, t, data, chance(g, 30) ? "weights" : NULL);
}

/* a constant that varies along one dimension of v's, spread over the others as exporters write it */
static struct value *spread(struct generator *g, const struct value *v, int most)
{
        int rank = rank_of(v), d = rank ? pick(g, rank) : 0;
        const struct type *t = v->type;
        if (!rank || chance(g, 25))
                return splat(g, v, some_number(g));
        if (chance(g, 15))
                return dense(g, t, most);
        if (rank > 1 && chance(g, 60))
                d = 1;
        if (chance(g, 50)) {
                int64_t onto[] = { d };
                return build_broadcast(&g->b, dense(g, type_of(g, t->element, 1, &t->dims[d]), most), t, onto);
        }
        dim_t dims[RANK_MAX];
        int64_t onto[RANK_MAX];
        for (int i = 0; i < rank; i++) {
                dims[i] = dim_of(i == d ? type_extent(t, i) : 1);
                onto[i] = i;
        }
        return build_broadcast(&g->b, dense(g, type_of(g, t->element, rank, dims), most), t, onto);
}

#endif
