/* SPDX-License-Identifier: MIT */
/* Neighbours that a lane loads or stores side by side are one instruction, of 16 bytes, or 8, or of two halves.
 *
 *     let %a = %x[%i * 4] + ..                    const struct words_f32_4 word = load_f32_4(x + (i * 4));
 *     ..                                          const float a = word.at[0] + ..;
 *     let %d = %x[%i * 4 + 3] + ..          ->    ..
 *     store %y[%i * 4] = %a                       store_f32_4(y + (i * 4), a, b, c, d);
 *     ..
 *
 * Loads are those of lets that follow each other, between which nothing is stored, and of no arm that may not run. Places are compared as
 * sums; that the first is a multiple of so many elements follows from bounds, and from the calls, whose memory lies at multiples of 16 bytes. */
#include "codegen/cuda_writer.h"

#include <string.h>

#include "ir/loop_bounds.h"

enum { TERMS_MAX = 12, LOADS_MAX = 256, DEPTH_MAX = 40 };

/* a subscript: a sum, and what is constant of it */
struct place { const struct loop_expr *terms[TERMS_MAX]; int count; int64_t constant; bool known; };
struct load { struct loop_expr *e; const struct loop_stmt *s; struct place at; bool taken; };
struct loads { struct load all[LOADS_MAX]; int count; };
/* one that is to be printed in front of a statement */
struct cuda_word { const struct loop_stmt *before; const struct loop_expr *first; int count; const char *name; struct cuda_word *next; };

/* ---- places ---- */

static void add_terms(struct place *p, const struct loop_expr *e, int depth)
{
        int64_t value;
        if (loop_is_int(e, &value))
                p->constant += value;
        else if (e->op == LOOP_ADD && depth < DEPTH_MAX) {
                add_terms(p, e->args[0], depth + 1);
                add_terms(p, e->args[1], depth + 1);
        } else if (p->count == TERMS_MAX)
                p->known = false;
        else
                p->terms[p->count++] = e;
}

static struct place place_of(const struct loop_expr *index)
{
        struct place p = { .known = index->type.lanes == 1 };
        add_terms(&p, index, 0);
        return p;
}

/* but for what is constant */
static bool same_place(const struct place *a, const struct place *b)
{
        bool same = a->known && b->known && a->count == b->count;
        for (int i = 0; same && i < a->count; i++)
                same = loop_expr_same(a->terms[i], b->terms[i]);
        return same;
}

/* bytes: of an element; aligned: it lies at a multiple of 16 bytes in all calls, where ports do; needs: what these are to be multiples of, or 0 */
struct calls { struct c_writer *w; const struct loop_function *of; int parameter; int64_t bytes; bool aligned; int needs; };

static void add_port(struct c_writer *w, const struct loop_buffer *port, int bytes)
{
        struct cuda_port added = { port, bytes };
        for (int i = 0; i < w->cuda->port_count; i++)
                if (w->cuda->ports[i].buffer == port) {
                        w->cuda->ports[i].multiple = bytes > w->cuda->ports[i].multiple ? bytes : w->cuda->ports[i].multiple;
                        return;
                }
        ARENA_GROW(w->arena, w->cuda->ports, w->cuda->port_count);
        w->cuda->ports[w->cuda->port_count++] = added;
}

static void look_at_call(struct loop_stmt *s, void *context)
{
        struct calls *c = context;
        int64_t offset = 0, more = 0;
        if (s->kind != STMT_CALL || s->function != c->of)
                return;
        struct loop_buffer *root = loop_buffer_root(s->buffers[c->parameter], &offset);
        if (c->needs && (root->space == SPACE_INPUT || root->space == SPACE_OUTPUT))
                add_port(c->w, root, c->needs);
        if (s->offsets && s->offsets[c->parameter] && !loop_is_int(s->offsets[c->parameter], &more))
                c->aligned = false;
        c->aligned &= (offset + more) * c->bytes % COPY_BYTES == 0;
}

/* Does it lie at a multiple of 16 bytes, in all calls? */
static bool is_aligned(struct c_writer *w, const struct loop_buffer *b, int needs)
{
        if (loop_space_is_shared(b->space) || (w->cuda->lane && cuda_is_of_warp(w->cuda->lane, b)))
                return true;
        for (int i = 0; i < w->kernel->buffer_count; i++)
                if (w->kernel->buffers[i] == b) {
                        struct calls calls = { w, w->kernel, i, element_info[b->element].bytes, true, needs };
                        loop_walk_mains(w->p, look_at_call, NULL, &calls);
                        return calls.aligned;
                }
        return false;
}

void cuda_needs(struct c_writer *w, const struct loop_buffer *b, int bytes) { is_aligned(w, b, bytes); }

int cuda_port_multiple(const struct c_writer *w, const struct loop_buffer *port)
{
        for (int i = 0; i < w->cuda->port_count; i++)
                if (w->cuda->ports[i].buffer == port)
                        return w->cuda->ports[i].multiple;
        return element_info[port->element].bytes;
}

/* how many elements from `index` on may be one word, of those that there are */
static int word_of(struct c_writer *w, const struct loop_buffer *b, const struct loop_expr *index, int there)
{
        const int bytes = element_info[b->element].bytes;
        int count = COPY_BYTES / bytes;
        if (!w->bounds)
                w->bounds = loop_bounds_new(w->arena, w->kernel);
        while (count > there)
                count /= 2;
        if (count < 2 || !is_aligned(w, b, 0))
                return 1;
        const int64_t multiple = loop_bounds_of(w->bounds, index).multiple;
        while (count > 1 && multiple % count)
                count /= 2;
        return count;
}

/* ---- loads ---- */

static bool loads_something(const struct loop_expr *e)
{
        bool found = e->op == LOOP_LOAD;
        for (int i = 0; i < e->arity && !found; i++)
                found = e->args[i] && loads_something(e->args[i]);
        return found;
}

/* those that are done whatever else is */
static void find_loads(struct loads *l, struct loop_expr *e, const struct loop_stmt *s, int depth)
{
        const bool lazy = e->op == LOOP_SELECT || e->op == LOOP_AND || e->op == LOOP_OR;
        if (depth > DEPTH_MAX)
                return;
        if (e->op == LOOP_LOAD && e->type.lanes == 1 && e->type.element != E_BOOL && e->type.element == e->buffer->element && !e->group && l->count < LOADS_MAX &&
            !loads_something(e->args[0]))
                l->all[l->count++] = (struct load){ e, s, place_of(e->args[0]), false };
        for (int i = 0; i < e->arity && e->op != LOOP_LOAD && !(lazy && i); i++)
                if (e->args[i])
                        find_loads(l, e->args[i], s, depth + 1);
}

/* the load of the element so many behind that one's */
static struct load *behind(struct loads *l, const struct load *first, int64_t more)
{
        for (struct load *x = l->all; x < l->all + l->count; x++)
                if (x->e->buffer == first->e->buffer && x->at.constant == first->at.constant + more && same_place(&x->at, &first->at))
                        return x;
        return NULL;
}

/* all loads of these elements become those of a word */
static void take(struct c_writer *w, struct loads *l, const struct load *first, int count)
{
        struct cuda_word *word = ARENA_NEW(w->arena, struct cuda_word);
        struct cuda_word **end = &w->cuda->words;
        while (*end)
                end = &(*end)->next;
        *word = (struct cuda_word){ first->s, first->e, count, c_local(w, "word"), NULL };
        *end = word;
        cuda_needs(w, first->e->buffer, count * element_info[first->e->buffer->element].bytes);
        w->has_parts = true;
        for (struct load *x = l->all; x < l->all + l->count; x++) {
                const int64_t k = x->at.constant - first->at.constant;
                if (x->e->buffer != first->e->buffer || k < 0 || k >= count || !same_place(&x->at, &first->at))
                        continue;
                x->taken = true;
                c_name_set(w, x->e, arena_printf(w->arena, "%s.at[%lld]", word->name, (long long)k));
        }
}

static void find_words(struct c_writer *w, const struct loop_stmt *s)
{
        struct arena *scratch = arena_new();
        struct loads *l = ARENA_NEW(scratch, struct loads);
        w->cuda->words = NULL;
        for (; s && s->kind == STMT_LET; s = s->next) {
                w->cuda->last_let = s;
                find_loads(l, s->a, s, 0);
        }
        for (struct load *x = l->all; x < l->all + l->count; x++) {
                int there = x->taken ? 0 : 1;
                for (const struct load *next; there && there < COPY_BYTES && (next = behind(l, x, there)) && next > x && !next->taken;)
                        there++;
                const int count = there > 1 ? word_of(w, x->e->buffer, x->e->args[0], there) : 1;
                if (count > 1)
                        take(w, l, x, count);
        }
        arena_free(scratch);
}

/* ---- functions ---- */

static struct cuda_word_names *use(struct c_writer *w, const struct loop_buffer *b, int count)
{
        struct cuda_word_names *names = w->cuda->word_names[b->element];
        for (; count > 2; count /= 2)
                names++;
        return names;
}

/* "load_f32_4", or so */
static const char *name_of(struct c_writer *w, const char *stem, const struct loop_buffer *b, int count)
{
        struct cuda_word_names *names = use(w, b, count);
        const char *name = arena_printf(w->arena, "%s_%s_%d", stem, element_info[b->element].text, count);
        const char **known = !strcmp(stem, "load") ? &names->load : !strcmp(stem, "store") ? &names->store : &names->type;
        if (!*known)
                *known = c_global(w, name);
        return *known;
}

static void put_words(struct c_writer *w, const struct loop_stmt *s)
{
        for (const struct cuda_word *x = w->cuda->words; x; x = x->next) {
                struct loop_buffer *b = x->first->buffer;
                if (x->before != s)
                        continue;
                c_put(w, "const struct %s %s = %s(", name_of(w, "words", b, x->count), x->name, name_of(w, "load", b, x->count));
                cuda_place(w, b, x->first->args[0]);
                c_put(w, ");");
                c_end(w);
        }
}

/* ---- stores ---- */

static bool stores_behind(const struct loop_stmt *s, const struct loop_stmt *first, int64_t more)
{
        if (!s || s->kind != STMT_STORE || s->c || s->b->type.lanes != 1 || s->buffer != first->buffer || loads_something(s->b))
                return false;
        const struct place at = place_of(s->a), from = place_of(first->a);
        return at.constant == from.constant + more && same_place(&at, &from);
}

static int put_stores(struct c_writer *w, const struct loop_stmt *s)
{
        int there = 0;
        for (const struct loop_stmt *t = s; there < COPY_BYTES && stores_behind(t, s, there); t = t->next)
                there++;
        const int count = s->buffer->element != E_BOOL && there > 1 ? word_of(w, s->buffer, s->a, there) : 1;
        if (count < 2)
                return 0;
        cuda_needs(w, s->buffer, count * element_info[s->buffer->element].bytes);
        name_of(w, "words", s->buffer, count);
        c_put(w, "%s(", name_of(w, "store", s->buffer, count));
        cuda_place(w, s->buffer, s->a);
        for (int i = 0; i < count; i++, s = s->next) {
                c_put(w, "," C_SOFT);
                c_expression(w, s->b);
        }
        c_put(w, ");");
        c_end(w);
        return count;
}

int cuda_words(struct c_writer *w, const struct loop_stmt *s)
{
        struct cuda_writer *cuda = w->cuda;
        if (!cuda->lane)
                return 0;
        if (s->kind == STMT_STORE)
                return put_stores(w, s);
        if (s->kind != STMT_LET)
                return 0;
        if (!cuda->last_let)
                find_words(w, s);
        put_words(w, s);
        if (s == cuda->last_let)
                cuda->last_let = NULL;
        return 0;
}

static void put_store_function(struct text *out, const struct cuda_word_names *names, const char *type, int count)
{
        text_add(out, "static __device__ __forceinline__ void %s(%s *to", names->store, type);
        for (int i = 0; i < count; i++)
                text_add(out, ", %s x%d", type, i);
        text_add(out, ")\n{\n        const struct %s word = { {", names->type);
        for (int i = 0; i < count; i++)
                text_add(out, "%s x%d", i ? "," : "", i);
        text_add(out, " } };\n        move_words(struct %s, to, &word);\n}\n", names->type);
}

static void put_load_function(struct text *out, const struct cuda_word_names *names, const char *type)
{
        text_add(out, "static __device__ __forceinline__ struct %s %s(const %s *from)\n{\n        struct %s word;\n", names->type, names->load, type, names->type);
        text_add(out, "        move_words(struct %s, &word, from);\n        return word;\n}\n", names->type);
}

static const char head[] =
        "\n"
        "/* neighbours that a lane loads or stores as one */\n"
        "#ifndef CUDA_CPU\n"
        "#define move_words(type, to, from) (*(type *)(to) = *(const type *)(from))\n"
        "#endif\n";

void cuda_words_top(struct c_writer *w, struct text *out)
{
        bool any = false;
        for (int e = 0; e < ELEMENT_COUNT; e++)
                for (int i = 0; i < CUDA_WORDS; i++) {
                        const struct cuda_word_names *names = &w->cuda->word_names[e][i];
                        const char *type = element_info[e].c_type;
                        const int count = 2 << i;
                        if (!names->type)
                                continue;
                        text_add(out, "%sstruct __align__(%d) %s { %s at[%d]; };\n", any ? "" : head, count * element_info[e].bytes, names->type, type, count);
                        if (names->load)
                                put_load_function(out, names, type);
                        if (names->store)
                                put_store_function(out, names, type, count);
                        any = true;
                }
}
