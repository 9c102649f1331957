/* SPDX-License-Identifier: MIT */
/* Dimensions and types are interned, so that equal ones are the same number or pointer. */
#include "ir/tensor/tensor_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

enum { DIM_SIZE_MAX = 64 };             /* One term has at most this many leaves: text and recursion
                                         * stay small. */

static _Thread_local jmp_buf *watch;

jmp_buf *dim_watch(jmp_buf *out)
{
        jmp_buf *before = watch;
        watch = out;
        return before;
}

int64_t dim_extent(dim_t d)
{
        if (dim_is_static(d))
                return d.code;
        if (watch)
                longjmp(*watch, 1);
        fputs("dnncc: error: internal: an extent that only a run knows was read as a number; "
              "bind it with --dim\n",
              stderr);
        exit(EXIT_INTERNAL);
}

void dims_extents(int64_t *extents, int rank, const dim_t *dims)
{
        for (int i = 0; i < rank; i++)
                extents[i] = dim_extent(dims[i]);
}

dim_t dims_product(struct module *m, int rank, const dim_t *dims)
{
        dim_t product = dim_of(1);
        for (int i = 0; i < rank; i++)
                product = dim_binary(m, DIM_MUL, product, dims[i]);
        return product;
}

void dims_of(dim_t *dims, int rank, const int64_t *extents)
{
        for (int i = 0; i < rank; i++)
                dims[i] = dim_of(extents[i]);
}

/* ---- interning: one map for both, a tag before each key ---- */

enum { TAG_SYMBOL = 's', TAG_DIM = 'd', TAG_TYPE = 't' };

const struct dim_expr *dim_term(const struct module *m, dim_t d) { return &m->dims[~d.code]; }

static int dim_size(const struct module *m, dim_t d)
{
        return dim_is_static(d) ? 1 : dim_term(m, d)->size;
}

static int64_t saturate(bool fits, int64_t value) { return fits ? value : INT64_MAX; }

static int64_t bound_binary(enum dim_kind kind, int64_t a, int64_t b, bool b_known)
{
        int64_t out;
        bool fits;
        switch (kind) {
        case DIM_ADD: fits = int_add(a, b, &out); return saturate(fits, out);
        case DIM_MUL: fits = int_mul(a, b, &out); return saturate(fits, out);
        case DIM_SUB: return !b_known ? a : a > b ? a - b : 0;
        case DIM_DIV: return !b_known ? a : b ? a / b : 0;
        case DIM_MAX: return a > b ? a : b;
        case DIM_MIN: return a < b ? a : b;
        case DIM_SYMBOL: break;
        }
        return a;
}

static dim_t dim_intern(struct module *m, struct dim_expr e)
{
        char key[1 + sizeof e] = { TAG_DIM };
        int64_t parts[4] = { e.kind, e.symbol, e.a.code, e.b.code };
        memcpy(key + 1, parts, sizeof parts);
        int *found = map_get(m->types, key, 1 + sizeof parts);
        if (found)
                return (dim_t){ ~(int64_t)*found };
        if (m->dim_count == INT32_MAX)
                return DIM_NONE;
        ARENA_GROW(m->arena, m->dims, m->dim_count);
        m->dims[m->dim_count] = e;
        int *number = ARENA_NEW(m->arena, int);
        *number = m->dim_count++;
        map_set(m->types, key, 1 + sizeof parts, number);
        return (dim_t){ ~(int64_t)*number };
}

dim_t dim_symbol(struct module *m, const char *name, int64_t bound)
{
        size_t length = strlen(name);
        char *key = memory_alloc(length + 1);
        key[0] = TAG_SYMBOL;
        memcpy(key + 1, name, length);
        int *found = map_get(m->types, key, length + 1);
        if (!found) {
                found = ARENA_NEW(m->arena, int);
                *found = m->symbol_count;
                map_set(m->types, key, length + 1, found);
                ARENA_GROW(m->arena, m->symbols, m->symbol_count);
                bound = bound < 0 ? 0 : bound > INT32_MAX ? INT32_MAX : bound;
                m->symbols[m->symbol_count++] =
                        (struct symbol){ .name = arena_string(m->arena, name), .bound = bound };
        }
        free(key);
        return dim_intern(m, (struct dim_expr){ .kind = DIM_SYMBOL, .symbol = *found,
                                                .bound = m->symbols[*found].bound, .size = 1 });
}

/* Compares terms by an order that depends on their text alone, so that reading a text back gives
 * the same terms: symbols by name, then operations, literals last. Sizes are bounded, and so is the
 * recursion. */
static int dim_compare(const struct module *m, dim_t a, dim_t b)
{
        if (dim_equal(a, b))
                return 0;
        if (dim_is_static(a) || dim_is_static(b))
                return dim_is_static(a) && dim_is_static(b) ? (a.code < b.code ? -1 : 1)
                       : dim_is_static(a)                   ? 1
                                                            : -1;
        const struct dim_expr *x = dim_term(m, a), *y = dim_term(m, b);
        if (x->kind != y->kind)
                return x->kind < y->kind ? -1 : 1;
        if (x->kind == DIM_SYMBOL)
                return strcmp(m->symbols[x->symbol].name, m->symbols[y->symbol].name);
        int order = dim_compare(m, x->a, y->a);
        return order ? order : dim_compare(m, x->b, y->b);
}

/* Is d a literal multiple of k? */
static bool is_multiple(const struct module *m, dim_t d, int64_t k)
{
        if (dim_is_static(d))
                return dim_extent(d) % k == 0;
        const struct dim_expr *e = dim_term(m, d);
        return e->kind == DIM_MUL && dim_is_static(e->b) && dim_extent(e->b) % k == 0;
}

/* Rewrites (x + 3) - 1 to x + 2, (x * 4 + 1) / 2 to x * 2, and the like, so that sequences of
 * literals stay short. Returns true when *out is the result. */
static bool dim_reassociate(struct module *m, enum dim_kind kind, dim_t a, int64_t k, dim_t *out)
{
        const struct dim_expr *e = dim_term(m, a);
        if (e->kind == DIM_SYMBOL || !dim_is_static(e->b))
                return false;
        dim_t x = e->a;
        int64_t c = dim_extent(e->b), joined;
        if (kind == DIM_ADD && e->kind == DIM_ADD && int_add(c, k, &joined))
                *out = dim_binary(m, DIM_ADD, x, dim_of(joined));
        else if (kind == DIM_ADD && e->kind == DIM_SUB && dim_least(m, x) >= c)
                *out = c > k ? dim_binary(m, DIM_SUB, x, dim_of(c - k))
                             : dim_binary(m, DIM_ADD, x, dim_of(k - c));
        else if (kind == DIM_SUB && e->kind == DIM_ADD)
                *out = c >= k ? dim_binary(m, DIM_ADD, x, dim_of(c - k))
                              : dim_binary(m, DIM_SUB, x, dim_of(k - c));
        else if (kind == DIM_SUB && e->kind == DIM_SUB && int_add(c, k, &joined))
                *out = dim_binary(m, DIM_SUB, x, dim_of(joined));
        else if (kind == DIM_MUL && e->kind == DIM_MUL && int_mul(c, k, &joined))
                *out = dim_binary(m, DIM_MUL, x, dim_of(joined));
        else if (kind == DIM_MUL && e->kind == DIM_ADD && int_mul(c, k, &joined))
                *out = dim_binary(m, DIM_ADD, dim_binary(m, DIM_MUL, x, dim_of(k)),
                                  dim_of(joined));
        else if (kind == DIM_MUL && e->kind == DIM_SUB && dim_least(m, x) >= c &&
                 int_mul(c, k, &joined))
                *out = dim_binary(m, DIM_SUB, dim_binary(m, DIM_MUL, x, dim_of(k)),
                                  dim_of(joined));
        else if (kind == DIM_DIV && e->kind == DIM_MUL && k > 0 && c % k == 0)
                *out = dim_binary(m, DIM_MUL, x, dim_of(c / k));
        else if (kind == DIM_DIV && e->kind == DIM_ADD && k > 0 && is_multiple(m, x, k))
                *out = dim_binary(m, DIM_ADD, dim_binary(m, DIM_DIV, x, dim_of(k)), dim_of(c / k));
        else if (kind == DIM_DIV && e->kind == DIM_SUB && k > 0 && dim_least(m, x) >= c &&
                 is_multiple(m, x, k))
                *out = dim_binary(m, DIM_SUB, dim_binary(m, DIM_DIV, x, dim_of(k)),
                                  dim_of(divide_up(c, k)));
        else
                return false;
        return true;
}

dim_t dim_binary(struct module *m, enum dim_kind kind, dim_t a, dim_t b)
{
        if (dim_equal(a, DIM_NONE) || dim_equal(b, DIM_NONE))
                return DIM_NONE;
        if (dim_is_static(a) && dim_is_static(b))
                return dim_of(bound_binary(kind, dim_extent(a), dim_extent(b), true));
        bool commutes = kind == DIM_ADD || kind == DIM_MUL || kind == DIM_MAX || kind == DIM_MIN;
        if (commutes && dim_compare(m, a, b) > 0) {
                dim_t swapped = a;
                a = b;
                b = swapped;
        }
        bool first = kind == DIM_MIN ? dim_bound(m, a) <= dim_least(m, b)
                                     : dim_least(m, a) >= dim_bound(m, b),
             second = kind == DIM_MIN ? dim_bound(m, b) <= dim_least(m, a)
                                      : dim_least(m, b) >= dim_bound(m, a);
        if ((kind == DIM_MIN || kind == DIM_MAX) && (first || second))
                return first ? a : b;   /* The bounds tell. */
        if (dim_equal(a, b) && kind != DIM_ADD && kind != DIM_MUL && kind != DIM_DIV)
                return kind == DIM_SUB ? dim_of(0) : a;
        if (dim_is(a, 0) && (kind == DIM_SUB || kind == DIM_DIV))
                return dim_of(0);
        dim_t simpler;
        if (kind == DIM_SUB && !dim_is_static(a) && dim_term(m, a)->kind == DIM_ADD) {
                const struct dim_expr *e = dim_term(m, a);      /* (x + b) - b is x. */
                if (dim_equal(e->a, b) || dim_equal(e->b, b))
                        return dim_equal(e->b, b) ? e->a : e->b;
        }
        if (dim_is_static(b)) {
                if (dim_is(b, 0))
                        return kind == DIM_MUL || kind == DIM_DIV || kind == DIM_MIN ? dim_of(0)
                                                                                     : a;
                if (dim_is(b, 1) && (kind == DIM_MUL || kind == DIM_DIV))
                        return a;
                if (dim_reassociate(m, kind, a, dim_extent(b), &simpler))
                        return simpler;
        }
        struct dim_expr e = { .kind = kind,
                              .a = a,
                              .b = b,
                              .size = dim_size(m, a) + dim_size(m, b) };
        e.bound = bound_binary(kind, dim_bound(m, a), dim_bound(m, b), dim_is_static(b));
        return e.size > DIM_SIZE_MAX ? DIM_NONE : dim_intern(m, e);
}

/* Returns the term that d is but for a number, *number, which is added to it in every run. */
static dim_t dim_base(const struct module *m, dim_t d, int64_t *number)
{
        *number = dim_is_static(d) ? dim_extent(d) : 0;
        if (dim_is_static(d))
                return dim_of(0);
        const struct dim_expr *e = dim_term(m, d);
        const bool adds = e->kind == DIM_ADD && dim_is_static(e->b),
                   subtracts = e->kind == DIM_SUB && dim_is_static(e->b) &&
                               dim_least(m, e->a) >= dim_extent(e->b);
        if (adds || subtracts)
                *number = adds ? dim_extent(e->b) : -dim_extent(e->b);
        return adds || subtracts ? e->a : d;
}

bool dim_difference(const struct module *m, dim_t a, dim_t b, int64_t *difference)
{
        int64_t x, y;
        const bool same = dim_equal(dim_base(m, a, &x), dim_base(m, b, &y));
        *difference = x - y;
        return same;
}

bool dim_exceeds(const struct module *m, dim_t a, dim_t b, int64_t *least)
{
        int64_t number;
        if (dim_difference(m, a, b, least))
                return true;
        const dim_t base = dim_base(m, a, &number);
        const struct dim_expr *e = dim_is_static(base) ? NULL : dim_term(m, base);
        const bool times = e && e->kind == DIM_MUL && dim_is_static(e->b) && !dim_is_static(e->a);
        const struct dim_expr *whole = times ? dim_term(m, e->a) : NULL;
        if (!whole || whole->kind != DIM_DIV || !dim_equal(whole->b, e->b) ||
            !dim_difference(m, whole->a, b, least))
                return false;
        *least += number - (dim_extent(e->b) - 1);      /* t / k * k is at least t - (k - 1). */
        return true;
}

dim_t dim_round_up(struct module *m, dim_t d, int64_t multiple)
{
        const dim_t more = dim_binary(m, DIM_ADD, d, dim_of(multiple - 1));
        return dim_binary(m, DIM_MUL, dim_binary(m, DIM_DIV, more, dim_of(multiple)),
                          dim_of(multiple));
}

int64_t dim_bound(const struct module *m, dim_t d)
{
        return dim_is_static(d) ? dim_extent(d) : dim_term(m, d)->bound;
}

int64_t dim_least(const struct module *m, dim_t d)
{
        if (dim_is_static(d))
                return dim_extent(d);
        const struct dim_expr *e = dim_term(m, d);
        if (e->kind == DIM_SYMBOL)
                return m->symbols[e->symbol].least;
        int64_t a = dim_least(m, e->a), b = dim_least(m, e->b);
        switch (e->kind) {
        case DIM_SUB: return bound_binary(DIM_SUB, a, dim_bound(m, e->b), true);
        case DIM_DIV: return bound_binary(DIM_DIV, a, dim_bound(m, e->b), true);
        default: return bound_binary(e->kind, a, b, true);
        }
}

bool dim_at_run(struct module *m, int symbol, int64_t least, int64_t most)
{
        struct symbol *s = &m->symbols[symbol];
        if (least < s->least || least > most || most > s->bound)
                return false;
        *s = (struct symbol){ .name = s->name, .least = least, .bound = most, .at_run = true,
                              .counted = s->counted };
        for (int i = 0; i < m->dim_count; i++) {        /* A term's parts come before it. */
                struct dim_expr *e = &m->dims[i];
                e->bound = e->kind == DIM_SYMBOL
                                   ? m->symbols[e->symbol].bound
                                   : bound_binary(e->kind, dim_bound(m, e->a), dim_bound(m, e->b),
                                                  dim_is_static(e->b));
        }
        return true;
}

dim_t dim_counted(struct module *m, const char *name, int64_t bound)
{
        struct arena *arena = arena_new();
        const int count = m->symbol_count;
        int symbol = count;
        dim_t d = dim_symbol(m, name, bound);
        for (int i = 2; m->symbol_count == count; i++) {
                symbol = dim_term(m, d)->symbol;
                if (m->symbols[symbol].released && m->symbols[symbol].bound == bound)
                        break;
                symbol = count;
                d = dim_symbol(m, arena_printf(arena, "%s_%d", name, i), bound);
        }
        arena_free(arena);
        m->symbols[symbol].at_run = m->symbols[symbol].counted = true;
        m->symbols[symbol].released = false;
        return d;
}

void dims_release(struct module *m, int first)
{
        for (int i = first; i < m->symbol_count; i++)
                m->symbols[i].released = m->symbols[i].counted;
}

void dim_keep(struct module *m, int symbol)
{
        m->symbols[symbol].kept = true;
}

bool module_has_extents(const struct module *m)
{
        for (int i = 0; i < m->symbol_count; i++)
                if (m->symbols[i].at_run)
                        return true;
        return false;
}

static bool dim_is_given(const struct module *m, dim_t d)
{
        if (dim_is_static(d))
                return true;
        const struct dim_expr *e = dim_term(m, d);
        return e->kind == DIM_SYMBOL ? m->symbols[e->symbol].at_run
                                     : dim_is_given(m, e->a) && dim_is_given(m, e->b);
}

static bool dim_is_counted(const struct module *m, dim_t d)
{
        if (dim_is_static(d))
                return false;
        const struct dim_expr *e = dim_term(m, d);
        return e->kind == DIM_SYMBOL ? m->symbols[e->symbol].counted
                                     : dim_is_counted(m, e->a) || dim_is_counted(m, e->b);
}

bool type_is_counted(const struct module *m, const struct type *t)
{
        for (int i = 0; t->kind == TYPE_TENSOR && i < t->rank; i++)
                if (dim_is_counted(m, t->dims[i]))
                        return true;
        return false;
}

bool type_is_bound(const struct module *m, const struct type *t)
{
        for (int i = 0; i < t->rank; i++)
                if (!dim_is_given(m, t->dims[i]))
                        return false;
        return true;
}

/* ---- text of dimensions: names that are no plain words stand in quotes ---- */

void symbol_print(struct text *out, const char *name)
{
        static const char plain[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
        if (name[0] && strspn(name, plain) == strlen(name) && !(name[0] >= '0' && name[0] <= '9')) {
                text_add_bytes(out, name, strlen(name));
                return;
        }
        text_add(out, "\"");
        for (const char *p = name; *p; p++)
                if (strchr(plain, *p) || strchr(".:- ", *p))
                        text_add_bytes(out, p, 1);
                else
                        text_add(out, "\\x%02x", (unsigned char)*p);
        text_add(out, "\"");
}

static void dim_add_text(struct text *out, const struct module *m, dim_t d, bool nested)
{
        static const char *const infix[] = {
                [DIM_ADD] = " + ", [DIM_SUB] = " - ", [DIM_MUL] = " * ",
                [DIM_DIV] = " / ", [DIM_MAX] = ", ",  [DIM_MIN] = ", "
        };
        if (dim_is_static(d)) {
                text_add(out, "%lld", (long long)dim_extent(d));
                return;
        }
        const struct dim_expr *e = dim_term(m, d);
        if (e->kind == DIM_SYMBOL) {
                symbol_print(out, m->symbols[e->symbol].name);
                return;
        }
        bool call = e->kind == DIM_MAX || e->kind == DIM_MIN;
        text_add(out, "%s",
                 e->kind == DIM_MAX   ? "max("
                 : e->kind == DIM_MIN ? "min("
                 : nested             ? "("
                                      : "");
        dim_add_text(out, m, e->a, !call);
        text_add(out, "%s", infix[e->kind]);
        dim_add_text(out, m, e->b, !call);
        text_add(out, "%s", call || nested ? ")" : "");
}

static char *text_take(struct arena *arena, struct text *text)
{
        char *copy = arena_string(arena, text->data ? text->data : "");
        text_free(text);
        return copy;
}

char *dim_text(struct arena *arena, const struct module *m, dim_t d)
{
        struct text out = { 0 };
        dim_add_text(&out, m, d, false);
        return text_take(arena, &out);
}

/* ---- types ---- */

static const struct type *type_intern(struct module *m, const struct type *t)
{
        char key[1 + 4 * sizeof(int64_t) + RANK_MAX * sizeof(dim_t)] = { TAG_TYPE };
        int64_t parts[4] = { t->kind, t->element, t->rank, (int64_t)(intptr_t)t->of };
        size_t bytes = (size_t)t->rank * sizeof *t->dims;
        memcpy(key + 1, parts, sizeof parts);
        if (bytes)
                memcpy(key + 1 + sizeof parts, t->dims, bytes);
        struct type *found = map_get(m->types, key, 1 + sizeof parts + bytes);
        if (!found) {
                found = arena_copy(m->arena, t, sizeof *t);
                found->dims = arena_copy(m->arena, t->dims, bytes);
                map_set(m->types, key, 1 + sizeof parts + bytes, found);
        }
        return found;
}

const struct type *type_tensor(struct module *m, enum element e, int rank, const dim_t *dims)
{
        if (rank < 0 || rank > RANK_MAX)
                return NULL;
        return type_intern(
                m, &(struct type){ .kind = TYPE_TENSOR, .element = e, .rank = rank, .dims = dims });
}

const struct type *type_static(struct module *m, enum element e, int rank, const int64_t *extents)
{
        dim_t dims[RANK_MAX];
        if (rank < 0 || rank > RANK_MAX)
                return NULL;
        dims_of(dims, rank, extents);
        return type_tensor(m, e, rank, dims);
}

const struct type *type_scalar(struct module *m, enum element e)
{
        return type_tensor(m, e, 0, NULL);
}

const struct type *type_wrap(struct module *m, enum type_kind kind, const struct type *of)
{
        return type_intern(m, &(struct type){ .kind = kind, .of = of });
}

const struct type *type_with_element(struct module *m, const struct type *t, enum element e)
{
        return type_tensor(m, e, t->rank, t->dims);
}

bool type_is_static_from(const struct type *t, int first)
{
        if (t->kind != TYPE_TENSOR)
                return false;
        for (int i = first; i < t->rank; i++)
                if (!dim_is_static(t->dims[i]))
                        return false;
        return true;
}

bool type_is_static(const struct type *t) { return type_is_static_from(t, 0); }

bool type_holds_texts(const struct type *t)
{
        return type_is_static(t) && t->element == E_U8 && t->rank > 0 &&
               type_extent(t, t->rank - 1) > 0;
}

static bool is_static_from(const struct op *op, int first)
{
        for (int i = 0; i < op->operand_count; i++)
                if (op_operand(op, i) && !type_is_static_from(op_operand(op, i)->type, first))
                        return false;
        for (int i = 0; i < op->result_count; i++)
                if (!type_is_static_from(op->results[i].type, first))
                        return false;
        return true;
}

bool op_is_static(const struct op *op) { return is_static_from(op, 0); }
bool op_is_static_inside(const struct op *op) { return is_static_from(op, 1); }

int64_t type_elements(const struct type *t)
{
        int64_t count = 1;
        for (int i = 0; i < t->rank; i++)
                count *= type_extent(t, i);
        return count;
}

int64_t type_bytes(const struct type *t)
{
        return type_elements(t) * element_info[t->element].bytes;
}

dim_t type_product(struct module *m, const struct type *t, int from, int to)
{
        return dims_product(m, to - from, t->dims + from);
}

int64_t type_most_elements(const struct module *m, const struct type *t)
{
        int64_t count = 1;
        for (int i = 0; i < t->rank; i++)
                count *= dim_bound(m, t->dims[i]);
        return count;
}

int64_t type_most_bytes(const struct module *m, const struct type *t)
{
        return type_most_elements(m, t) * element_info[t->element].bytes;
}

int64_t type_inner_elements(const struct type *t)
{
        int64_t count = 1;
        for (int i = 1; i < t->rank; i++)
                count *= type_extent(t, i);
        return count;
}

bool type_same_dims(const struct type *a, const struct type *b)
{
        return a->rank == b->rank &&
               (!a->rank || !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims));
}

bool type_is_sound(const struct module *m, const struct type *t)
{
        int depth = 0;
        for (; t->kind != TYPE_TENSOR; t = t->of)
                if (++depth > NESTING_MAX)
                        return false;
        int64_t bounds[RANK_MAX], count, bytes;
        if (t->rank < 0 || t->rank > RANK_MAX)
                return false;
        for (int i = 0; i < t->rank; i++)
                bounds[i] = dim_bound(m, t->dims[i]);
        /* Zero extents count as one: every partial product is safe, and so are its bytes. */
        if (!size_elements(bounds, t->rank, &count))
                return false;
        for (int i = 0; i < t->rank; i++)
                bounds[i] = bounds[i] ? bounds[i] : 1;
        return size_elements(bounds, t->rank, &count) && int_mul(count, 16, &bytes);
}

void type_print(struct text *out, const struct module *m, const struct type *t)
{
        int depth = 0;
        for (; t->kind != TYPE_TENSOR; t = t->of, depth++)
                text_add(out, "%s(", t->kind == TYPE_SEQUENCE ? "sequence" : "optional");
        text_add(out, "<");
        for (int i = 0; i < t->rank; i++) {
                dim_add_text(out, m, t->dims[i], false);
                text_add(out, " x ");
        }
        text_add(out, "%s>", element_info[t->element].text);
        while (depth--)
                text_add(out, ")");
}

char *type_text(struct arena *arena, const struct module *m, const struct type *t)
{
        struct text out = { 0 };
        type_print(&out, m, t);
        return text_take(arena, &out);
}
