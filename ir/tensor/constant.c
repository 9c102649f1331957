/* SPDX-License-Identifier: MIT */
/* Constants are dense data that lives elsewhere, splats, or positions and values. */
#include "ir/tensor/tensor.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/store.h"

static struct value *constant_add(struct module *m, enum constant_kind kind,
                                  const struct type *type, const void *data, const char *name)
{
        struct constant *c = ARENA_NEW(m->arena, struct constant);
        c->kind = kind;
        c->held = data;
        c->value = (struct value){ .kind = VALUE_CONSTANT, .type = type, .constant = c };
        if (name)
                c->name = text_identifier(m->constant_names, name, strlen(name), "constant");
        *m->constants_end = c;
        m->constants_end = &c->next;
        return &c->value;
}

struct value *constant_dense(struct module *m, const struct type *type, const void *data,
                             const char *name)
{
        assert(type_is_static(type) && element_is_stored(type->element));
        size_t bytes = (size_t)type_bytes(type), one = (size_t)element_info[type->element].bytes;
        /* All elements are equal if the data equals itself shifted by one element. */
        if (bytes && !memcmp(data, (const char *)data + one, bytes - one))
                return constant_add(m, CONSTANT_SPLAT, type, arena_copy(m->arena, data, one), name);
        return constant_add(m, CONSTANT_DENSE, type, data, name);
}

struct value *constant_splat(struct module *m, const struct type *type, const void *element)
{
        assert(element_is_stored(type->element));
        size_t one = (size_t)element_info[type->element].bytes;
        return constant_add(m, CONSTANT_SPLAT, type, arena_copy(m->arena, element, one), NULL);
}

struct value *constant_sparse(struct module *m, const struct type *type, int64_t count,
                              const int64_t *positions, const void *values, const char *name)
{
        static const unsigned char zero[16];
        assert(type_is_static(type) && element_is_stored(type->element));
        const int64_t elements = type_elements(type);
        if (!count && elements)
                return constant_add(
                        m, CONSTANT_SPLAT, type,
                        arena_copy(m->arena, zero, (size_t)element_info[type->element].bytes),
                        name);
        if (count == elements)
                return constant_dense(m, type, values, name);
        struct value *v = constant_add(m, CONSTANT_SPARSE, type, NULL, name);
        v->constant->sparse = ARENA_NEW(m->arena, struct sparse);
        *v->constant->sparse = (struct sparse){ .element = type->element,
                                                .elements = elements,
                                                .count = count,
                                                .positions = positions,
                                                .values = values,
                                                .store = m->store };
        return v;
}

size_t constant_held_bytes(const struct constant *c)
{
        return c->kind == CONSTANT_SPLAT    ? (size_t)element_info[c->value.type->element].bytes
               : c->kind == CONSTANT_SPARSE ? (size_t)sparse_bytes(c->sparse)
                                            : (size_t)type_bytes(c->value.type);
}

/* Converts value; it saturates, as casts of Tensor IR do. */
static union scalar scalar_from_number(enum element e, double value)
{
        union scalar s = { .u = 0 };
        int bits = 8 * element_info[e].bytes;
        if (element_is_float(e)) {
                s.f = value;
        } else if (isnan(value)) {
                s.u = e == E_BOOL;
        } else if (e == E_BOOL) {
                s.u = value != 0;
        } else if (element_info[element_storage(e)].class == CLASS_SINT) {
                double top = ldexp(1, bits - 1);
                long long most = (long long)(UINT64_MAX >> (65 - bits));
                s.i = value >= top ? most : value < -top ? -most - 1 : (long long)value;
        } else {
                s.u = value >= ldexp(1, bits) ? UINT64_MAX >> (64 - bits)
                      : value <= 0            ? 0
                                              : (unsigned long long)value;
        }
        return s;
}

struct value *constant_number(struct module *m, const struct type *type, double value)
{
        unsigned char element[16] = { 0 };
        assert(element_is_stored(type->element));
        element_store(type->element, element, 0, scalar_from_number(type->element, value));
        return constant_splat(m, type, element);
}

struct value *constant_dims(struct module *m, int rank, const dim_t *dims)
{
        int64_t extents[RANK_MAX];
        dims_extents(extents, rank, dims);
        return constant_ints(m, extents, rank);
}

struct value *constant_ints(struct module *m, const int64_t *values, int count)
{
        dim_t dims[] = { dim_of(count) };
        int64_t *copy = arena_copy(m->arena, values, (size_t)count * sizeof *values);
        return constant_dense(m, type_tensor(m, E_I64, 1, dims), copy, NULL);
}

static bool used_as_shape(const struct use *u)
{
        const struct op_info *info = &op_info[u->user->code];
        return !info->formula && u->index < info->operand_count &&
               info->operands[u->index].kind == OPERAND_SHAPE;
}

/* Splats and short lists stand in the text where they are used, without a name; but not where that
 * would lose a name that C shows, or store a shared constant twice. */
static bool constant_is_inline(const struct constant *c)
{
        enum { INLINE_ELEMENTS = 8 };
        if (c->kind == CONSTANT_SPLAT)
                return true;
        if (c->kind == CONSTANT_SPARSE || type_elements(c->value.type) > INLINE_ELEMENTS)
                return false;
        bool shapes = true;
        for (const struct use *u = c->value.uses; u && shapes; u = u->next)
                shapes = used_as_shape(u);
        return shapes || (!c->name && value_has_one_use(&c->value));
}

void module_settle_constants(struct module *m)
{
        struct constant *named = NULL, **named_end = &named, *rest = NULL, **rest_end = &rest;
        m->constant_names = names_new(m->arena);
        for (struct constant *c = m->constants, *next; c; c = next) {
                next = c->next;
                c->next = NULL;
                if (!c->value.uses)
                        continue;
                if (constant_is_inline(c)) {
                        c->name = NULL;
                        *rest_end = c;
                        rest_end = &c->next;
                } else {
                        c->value.number = c->name && !names_reserve(m->constant_names, c->name);
                        *named_end = c;
                        named_end = &c->next;
                }
        }
        *named_end = rest;
        m->constants = named;
        m->constants_end = rest ? rest_end : named ? named_end : &m->constants;
        for (struct constant *c = m->constants; c != rest; c = c->next)
                if (!c->name || c->value.number)        /* A constant that was made of another one
                                                         * shares its name until both stay. */
                        c->name = text_identifier(m->constant_names, c->name ? c->name : "",
                                                  c->name ? strlen(c->name) : 0, "constant");
}

/* ---- data ---- */

void *constant_room(struct module *m, size_t bytes)
{
        return bytes < CONSTANT_LARGE ? arena_alloc(m->arena, bytes) : store_alloc(m->store, bytes);
}

void module_sweep_constants(struct module *m)
{
        for (const struct constant *c = m->constants; c; c = c->next) {
                size_t bytes = c->kind == CONSTANT_DENSE ? (size_t)type_bytes(c->value.type) : 0;
                if (bytes >= CONSTANT_LARGE)
                        store_keep(m->store, c->held, bytes);
                if (c->kind == CONSTANT_SPARSE)
                        sparse_keep(c->sparse, m->store);
        }
        store_sweep(m->store);
}

bool module_wants_sweep(const struct module *m)
{
        return store_is_due(m->store);
}

void module_drop_constants(struct module *m)
{
        struct constant **end = &m->constants;
        for (struct constant *c = m->constants; c; c = c->next)
                if (c->value.uses) {
                        *end = c;
                        end = &c->next;
                }
        *end = NULL;
        m->constants_end = end;
        module_sweep_constants(m);
}

/* ---- packing ---- */

/* The struct describes an axis of the result: its steps go along dimension `from` of the source. */
struct axis { int64_t extent; int from; int64_t step; };
struct packing {
        int rank;
        struct axis axes[RANK_MAX];
        int source_rank;
        /* Extents and strides are the source's, in elements. */
        int64_t extents[RANK_MAX], strides[RANK_MAX];
        int64_t at[RANK_MAX];           /* The index points into the source, or into the zeros
                                         * behind it. */
};

/* Finds the dimensions of the result in its order; neighbours whose steps make them one axis are
 * one. */
static struct packing packing_of(const struct constant *c, const dim_t *padded, int rank,
                                 const dim_t *dims, const int64_t *perm)
{
        const struct type *t = c->value.type;
        struct packing p = { .source_rank = t->rank };
        struct axis parts[RANK_MAX];
        int end = rank;
        for (int d = t->rank - 1; d >= 0; d--) {
                int64_t step = 1;
                p.extents[d] = type_extent(t, d);
                p.strides[d] = d + 1 < t->rank ? p.strides[d + 1] * p.extents[d + 1] : 1;
                while (step < dim_extent(padded[d])) {
                        assert(end > 0);
                        end--;
                        parts[end] = (struct axis){ dim_extent(dims[end]), d, step };
                        step *= dim_extent(dims[end]);
                }
                assert(step == dim_extent(padded[d]));
        }
        while (end > 0)
                parts[--end] = (struct axis){ 1, 0, 0 };
        for (int i = 0; i < rank; i++) {
                struct axis a = parts[perm[i]], *last = p.rank ? &p.axes[p.rank - 1] : NULL;
                if (a.extent == 1)
                        continue;
                if (last && last->from == a.from && last->step == a.step * a.extent)
                        *last = (struct axis){ last->extent * a.extent, a.from, a.step };
                else
                        p.axes[p.rank++] = a;
        }
        if (!p.rank)
                p.axes[p.rank++] = (struct axis){ 1, 0, 0 };
        return p;
}

static void copy_elements(size_t size, unsigned char *to, const unsigned char *from, int64_t stride,
                          int64_t count)
{
        size_t step = size * (size_t)stride;
        if (stride == 1)
                memcpy(to, from, size * (size_t)count);
        else if (size == 4)
                for (int64_t i = 0; i < count; i++, to += 4, from += step)
                        memcpy(to, from, 4);
        else
                for (int64_t i = 0; i < count; i++, to += size, from += step)
                        memcpy(to, from, size);
}

/* Copies the elements along the last axis from where p stands on, those that lie inside the source;
 * the rest stays zero. */
static void pack_run(const struct packing *p, const struct constant *c, size_t size,
                     unsigned char *to)
{
        const struct axis *run = &p->axes[p->rank - 1];
        int64_t position = 0, count = run->extent;
        for (int d = 0; d < p->source_rank; d++) {
                int64_t left = p->extents[d] - p->at[d];
                if (d == run->from && run->step && left < count * run->step)
                        count = left <= 0 ? 0 : divide_up(left, run->step);
                else if (left <= 0)
                        return;
                position += p->at[d] * p->strides[d];
        }
        bool splat = c->kind == CONSTANT_SPLAT;
        int64_t stride = p->source_rank ? run->step * p->strides[run->from] : 0;
        copy_elements(size, to,
                      (const unsigned char *)constant_data(c) +
                              (splat ? 0 : size * (size_t)position),
                      splat ? 0 : stride, count);
}

/* Copies a part of the last axis of p for all indices of the axes before it; `pitch`: the elements
 * from one run to the next in the result. */
static void pack_part(struct packing p, const struct constant *c, size_t size, unsigned char *to,
                      int64_t runs, int64_t pitch)
{
        int64_t index[RANK_MAX] = { 0 };
        for (int64_t i = 0; i < runs; i++) {
                pack_run(&p, c, size, to + (size_t)(i * pitch) * size);
                for (int a = p.rank - 2; a >= 0; a--) {
                        p.at[p.axes[a].from] += p.axes[a].step;
                        if (++index[a] < p.axes[a].extent)
                                break;
                        p.at[p.axes[a].from] -= p.axes[a].step * p.axes[a].extent;
                        index[a] = 0;
                }
        }
}

/* Packs a constant; p.axes are the axes of type. Where the last one goes across the source, it is
 * copied in parts so small that the cache lines of the source that a run touches are still in the
 * cache when the next run reads their next elements. */
static struct value *pack(struct module *m, const struct constant *c, const struct type *type,
                          struct packing p)
{
        enum { LINES = 64 };
        size_t size = (size_t)element_info[type->element].bytes;
        const struct axis run = p.axes[p.rank - 1];
        bool across = p.source_rank && run.step * p.strides[run.from] > 1;
        unsigned char *data = constant_room(m, (size_t)type_bytes(type));
        /* The loop fills the padding. */
        if (type_elements(type) > type_elements(c->value.type))
                memset(data, 0, (size_t)type_bytes(type));
        int64_t part = across && run.extent > LINES ? LINES : run.extent;
        for (int64_t done = 0; done < run.extent; done += part) {
                struct packing q = p;
                q.axes[p.rank - 1].extent = run.extent - done < part ? run.extent - done : part;
                q.at[run.from] += done * run.step;
                pack_part(q, c, size, data + (size_t)done * size, type_elements(type) / run.extent,
                          run.extent);
        }
        struct value *packed = constant_dense(m, type, data, NULL);
        packed->constant->name = c->name;
        return packed;
}

struct value *constant_packed(struct module *m, const struct constant *c, const dim_t *padded,
                              int rank, const dim_t *dims, const int64_t *perm)
{
        dim_t moved[RANK_MAX];
        for (int i = 0; i < rank; i++)
                moved[i] = dims[perm[i]];
        const struct type *type = type_tensor(m, c->value.type->element, rank, moved);
        return type_elements(type) ? pack(m, c, type, packing_of(c, padded, rank, dims, perm))
                                   : constant_dense(m, type, constant_room(m, 0), c->name);
}

struct value *constant_cast(struct module *m, const struct constant *c, enum element to)
{
        const struct type *t = c->value.type;
        const struct type *type = type_with_element(m, t, to);
        int64_t count = type_elements(t);
        void *data = constant_room(m, (size_t)type_bytes(type));
        for (int64_t i = 0; i < count; i++)
                element_store(to, data, i, constant_element(c, i));
        return constant_dense(m, type, data, c->name);
}

struct value *constant_sliced(struct module *m, const struct constant *c, const int64_t *starts,
                              const int64_t *steps, const dim_t *dims)
{
        const struct type *t = c->value.type;
        struct packing p = { .rank = t->rank, .source_rank = t->rank };
        for (int d = t->rank - 1; d >= 0; d--) {
                p.extents[d] = type_extent(t, d);
                p.strides[d] = d + 1 < t->rank ? p.strides[d + 1] * type_extent(t, d + 1) : 1;
                p.axes[d] = (struct axis){ dim_extent(dims[d]), d, steps[d] };
                p.at[d] = starts[d];
        }
        return pack(m, c, type_tensor(m, t->element, t->rank, dims), p);
}

struct value *constant_reshaped(struct module *m, const struct constant *c, int rank,
                                const dim_t *dims)
{
        const struct type *type = type_tensor(m, c->value.type->element, rank, dims);
        struct value *reshaped = constant_add(m, c->kind, type, c->held, NULL);
        reshaped->constant->sparse = c->sparse;
        reshaped->constant->name = c->name;
        return reshaped;
}

bool value_is_constant(const struct value *v)
{
        return v->kind == VALUE_CONSTANT;
}

union scalar constant_element(const struct constant *c, int64_t index)
{
        static const unsigned char zero[16];
        if (c->kind == CONSTANT_SPARSE) {
                const void *there = sparse_find(c->sparse, index);
                return element_load(c->value.type->element, there ? there : zero, 0);
        }
        return element_load(c->value.type->element, c->held,
                            c->kind == CONSTANT_SPLAT ? 0 : (size_t)index);
}

bool value_is_splat(const struct value *v, double *number)
{
        if (v->kind != VALUE_CONSTANT || v->constant->kind != CONSTANT_SPLAT)
                return false;
        enum element e = v->type->element;
        union scalar s = constant_element(v->constant, 0);
        if (number)
                *number = element_is_float(e)                   ? s.f
                          : element_info[e].class == CLASS_SINT ? (double)s.i
                                                                : (double)s.u;
        return true;
}

bool value_ints(const struct value *v, int64_t *ints, int room, int *count)
{
        if (v->kind != VALUE_CONSTANT || v->type->rank > 1 ||
            !element_is_integer(v->type->element) || !type_is_static(v->type) ||
            type_elements(v->type) > room)
                return false;
        *count = (int)type_elements(v->type);
        for (int i = 0; i < *count; i++) {
                union scalar s = constant_element(v->constant, i);
                if (v->type->element == E_U64 && s.u > INT64_MAX)
                        return false;
                ints[i] = s.i;
        }
        return true;
}
