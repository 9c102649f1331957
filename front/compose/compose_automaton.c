/* SPDX-License-Identifier: MIT */
/* A state of the deterministic automaton is a set of nodes of the graph, and what kind of byte came
 * last, where the pattern asserts something about it. A set is kept as it is right behind a byte:
 * how it goes on without one depends on the next byte, for the sake of assertions. */
#include "front/compose/compose_regex.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_MOST = 100000000, HELD_MOST = 1 << 24, MERGE_STEPS_MOST = 200000000 };

enum kind { AT_END, WORD, NEWLINE, OTHER, KINDS };        /* AT_END: the text begins, or ends. */

struct set { enum kind before; int count, *nodes; };

struct building {
        struct compose *c;
        const struct regex_graph *graph;
        struct arena *arena;
        struct set *sets;
        struct map *known;              /* It maps sets to their numbers plus 1. */
        int *next;
        int state_count, held;
        bool *accepts, failed;
        int *stack, *found, found_count;
        unsigned *seen, stamp;          /* A node was found by the last closure where it has its
                                         * stamp. */
        int64_t steps;
        struct compose_automaton *a;
};

static enum kind kind_of(int byte)
{
        return byte == '\n' ? NEWLINE
               : (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                               (byte >= 'a' && byte <= 'z') || byte == '_'
                       ? WORD
                       : OTHER;
}

/* Bytes are of one class where no node tells them apart. Byte 0, behind the end of a text, is class
 * 0 alone. */
static void find_classes(struct building *b)
{
        bool begins[257] = { [0] = true, [1] = true };
        for (int k = 0; k < b->graph->count; k++)
                if (b->graph->nodes[k].step == STEP_BYTE) {
                        begins[b->graph->nodes[k].low] = true;
                        begins[b->graph->nodes[k].high + 1] = true;
                }
        for (int byte = 1; byte < 256; byte++)
                begins[byte] |= b->graph->asserts && kind_of(byte) != kind_of(byte - 1);
        int number = -1;
        for (int byte = 0; byte < 256; byte++)
                b->a->class_of[byte] = (unsigned char)(number += begins[byte]);
        b->a->classes = number + 1;
}

static bool holds(enum regex_assertion a, enum kind before, enum kind behind)
{
        switch (a) {
        case TEXT_BEGIN: return before == AT_END;
        case TEXT_END: return behind == AT_END;
        case LINE_BEGIN: return before == AT_END || before == NEWLINE;
        case LINE_END: return behind == AT_END || behind == NEWLINE;
        case WORD_BOUNDARY: return (before == WORD) != (behind == WORD);
        default: return (before == WORD) == (behind == WORD);
        }
}

static void push(struct building *b, int node, int *depth)
{
        if (node < 0 || b->seen[node] == b->stamp)
                return;
        b->seen[node] = b->stamp;
        b->stack[(*depth)++] = node;
}

/* Finds the nodes that wait for a byte, or match, which a set leads to before a byte of this kind.
 * Returns whether one matches. */
static bool close_set(struct building *b, const struct set *set, enum kind behind)
{
        int depth = 0;
        bool matches = false;
        b->stamp++;
        b->found_count = 0;
        for (int k = 0; k < set->count; k++)
                push(b, set->nodes[k], &depth);
        while (depth) {
                const int number = b->stack[--depth];
                const struct regex_node *n = &b->graph->nodes[number];
                b->steps++;
                if (n->step == STEP_FORK) {
                        push(b, n->out, &depth);
                        push(b, n->other, &depth);
                } else if (n->step == STEP_ASSERT) {
                        if (holds(n->assertion, set->before, behind))
                                push(b, n->out, &depth);
                } else if (n->step == STEP_MATCH) {
                        matches = true;
                } else {
                        b->found[b->found_count++] = number;
                }
        }
        return matches;
}

static int by_number(const void *a, const void *b)
{
        return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Returns the state of a set, which is in `stack`; it is new where no state has it. */
static int state_of(struct building *b, enum kind before, int count)
{
        const int64_t most = b->c->limits->automaton_states;
        int *nodes = b->stack;
        nodes[count] = before;          /* There is room for one more. */
        const size_t bytes = (size_t)(count + 1) * sizeof *nodes;
        const int known = (int)(intptr_t)map_get(b->known, (const char *)nodes, bytes);
        if (known)
                return known - 1;
        if (b->state_count >= most || (b->held += count + 1) > HELD_MOST) {
                b->failed = true;
                return 0;
        }
        ARENA_GROW(b->arena, b->sets, b->state_count);
        b->sets[b->state_count] =
                (struct set){ before, count, arena_copy(b->arena, nodes, bytes) };
        map_set(b->known, (const char *)nodes, bytes, (void *)(intptr_t)(b->state_count + 1));
        return b->state_count++;
}

/* Returns where a state goes on a byte, once the nodes that wait for one were found. */
static int step(struct building *b, int byte)
{
        int count = 0;
        b->stamp++;
        for (int k = 0; k < b->found_count; k++) {
                const struct regex_node *n = &b->graph->nodes[b->found[k]];
                b->steps++;
                if (byte >= n->low && byte <= n->high && b->seen[n->out] != b->stamp) {
                        b->seen[n->out] = b->stamp;
                        b->stack[count++] = n->out;
                }
        }
        qsort(b->stack, (size_t)count, sizeof *b->stack, by_number);
        return state_of(b, b->graph->asserts && count ? kind_of(byte) : OTHER, count);
}

static void explore(struct building *b)
{
        const int classes = b->a->classes;
        int least[256];
        for (int byte = 255; byte >= 0; byte--)
                least[b->a->class_of[byte]] = byte;
        b->stack[0] = b->graph->start;
        state_of(b, b->graph->asserts ? AT_END : OTHER, 1);
        for (int s = 0; s < b->state_count && !b->failed; s++) {
                b->next = s & (s - 1) ? b->next
                                      : memory_resize(b->next, (size_t)(s ? 2 * s : 1) *
                                                                       (size_t)classes *
                                                                       sizeof *b->next);
                ARENA_GROW(b->arena, b->accepts, s);
                b->accepts[s] = close_set(b, &b->sets[s], AT_END);
                b->next[s * classes] = s;
                for (int kind = WORD; kind < KINDS; kind++) {
                        bool closed = false;
                        for (int k = 1; k < classes && !b->failed; k++) {
                                if ((int)kind_of(least[k]) != kind)
                                        continue;
                                if (!closed)
                                        close_set(b, &b->sets[s], (enum kind)kind);
                                closed = true;
                                b->next[s * classes + k] = step(b, least[k]);
                                b->failed |= b->steps > STEPS_MOST;
                        }
                }
        }
}

/* ---- states that are one ---- */

struct pair { int64_t key; int state; };

static int by_pair(const void *a, const void *b)
{
        const struct pair *x = a, *y = b;
        return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->state - y->state;
}

/* Parts the states further, where those of one part go to different ones on a byte of the class.
 * Returns how many parts there are. */
static int refine(struct building *b, int class, int *part, struct pair *pairs)
{
        const int count = b->state_count;
        int parts = -1;
        for (int s = 0; s < count; s++)
                pairs[s] = (struct pair){
                        (int64_t)part[s] << 32 | part[b->next[s * b->a->classes + class]], s
                };
        qsort(pairs, (size_t)count, sizeof *pairs, by_pair);
        for (int k = 0; k < count; k++) {
                parts += !k || pairs[k].key != pairs[k - 1].key;
                part[pairs[k].state] = parts;
        }
        return parts + 1;
}

/* Puts states that accept the same texts into one part (Moore's refinement), where that does not
 * take long. Returns how many parts there are; that of state 0 is made 0. */
static int merge(struct building *b, int *part)
{
        const int count = b->state_count;
        struct pair *pairs = memory_alloc((size_t)count * sizeof *pairs);
        int64_t steps = 0;
        int parts = 1, before = 0;
        for (int s = 0; s < count; s++)
                part[s] = b->accepts[s];
        while (parts != before && steps < MERGE_STEPS_MOST) {
                before = parts;
                for (int k = 1; k < b->a->classes; k++, steps += count)
                        parts = refine(b, k, part, pairs);
        }
        free(pairs);
        if (parts != before) {
                for (int s = 0; s < count; s++)
                        part[s] = s;
                return count;
        }
        const int first = part[0];
        for (int s = 0; s < count; s++)
                part[s] = part[s] == first ? 0 : part[s] == 0 ? first : part[s];
        return parts;
}

struct compose_automaton *compose_automaton_of(struct compose *c, const struct regex_graph *graph)
{
        const size_t nodes = (size_t)graph->count + 2;
        struct building b = { .c = c, .graph = graph, .arena = arena_new() };
        b.a = ARENA_NEW(c->arena, struct compose_automaton);
        b.known = map_new(b.arena);
        b.stack = arena_array(b.arena, nodes, sizeof *b.stack);
        b.found = arena_array(b.arena, nodes, sizeof *b.found);
        b.seen = arena_array(b.arena, nodes, sizeof *b.seen);
        find_classes(&b);
        explore(&b);
        struct compose_automaton *a = b.failed ? NULL : b.a;
        if (a) {
                int *part = arena_array(b.arena, (size_t)b.state_count, sizeof *part);
                a->states = merge(&b, part);
                a->next = arena_array(c->arena, (size_t)(a->states * a->classes), sizeof *a->next);
                a->accepts = arena_array(c->arena, (size_t)a->states, sizeof *a->accepts);
                for (int s = 0; s < b.state_count; s++) {
                        a->accepts[part[s]] = b.accepts[s];
                        for (int k = 0; k < a->classes; k++)
                                a->next[part[s] * a->classes + k] =
                                        part[b.next[s * a->classes + k]];
                }
        } else {
                compose_unsupported(c,
                                    "a pattern whose automaton has more than %lld states, or takes "
                                    "too long to find (--limit automaton_states=N)",
                                    (long long)c->limits->automaton_states);
        }
        free(b.next);
        arena_free(b.arena);
        return a;
}

/* ---- running ---- */

/* These are an automaton's constants; next has states times the number of classes. */
struct tables { struct value *next, *class_of, *accepts; };

static struct tables tables_of(struct compose *c, const struct compose_automaton *a)
{
        const int64_t table = (int64_t)a->states * a->classes, bytes = 256, states = a->states;
        int32_t *next = constant_room(c->m, (size_t)table * sizeof *next),
                *class_of = constant_room(c->m, 256 * sizeof *class_of);
        unsigned char *accepts = constant_room(c->m, (size_t)states);
        for (int64_t k = 0; k < table; k++)
                next[k] = a->next[k] * a->classes;
        for (int k = 0; k < 256; k++)
                class_of[k] = a->class_of[k];
        for (int64_t k = 0; k < states; k++)
                accepts[k] = a->accepts[k];
        return (struct tables){
                constant_dense(c->m, type_static(c->m, E_I32, 1, &table), next, NULL),
                constant_dense(c->m, type_static(c->m, E_I32, 1, &bytes), class_of, NULL),
                constant_dense(c->m, type_static(c->m, E_BOOL, 1, &states), accepts, NULL)
        };
}

struct value *compose_texts_accepted(struct compose *c, struct value *x,
                                     const struct compose_automaton *a)
{
        const int64_t width = compose_texts_width(x), count = type_elements(x->type) / width;
        const struct type *flags = type_tensor(c->m, E_BOOL, value_rank(x) - 1, x->type->dims);
        if (!count)
                return constant_number(c->m, flags, 0);
        const struct tables t = tables_of(c, a);
        x = compose_reshape(c, x, 2, (const dim_t[]){ dim_of(count), dim_of(width) });
        x = compose_transpose(c, x, (const int64_t[]){ 1, 0 });
        struct value *classes = compose_cast(c, x, E_I32);
        classes = classes ? build_gather(c->b, t.class_of, classes, 0) : NULL;
        struct value *begin = constant_number(
                c->m, type_tensor(c->m, E_I32, 1, (const dim_t[]){ dim_of(count) }), 0);
        const struct compose_loop_parts parts = { .first = &begin, .scans = &classes,
                                                  .steps = width, .carried = 1, .scanned = 1 };
        struct compose_loop loop;
        if (!classes || !compose_loop_open(c, &parts, &loop))
                return NULL;
        struct value *at = compose_binary(c, OP_add, &loop.held[0], loop.rows[0]);
        struct value *after = at ? build_gather(c->b, t.next, at, 0) : NULL;
        if (!compose_loop_close(c, &loop, &after))
                return NULL;
        struct value *state = compose_with(c, OP_div, op_result(loop.op), a->classes);
        struct value *accepted = state ? build_gather(c->b, t.accepts, state, 0) : NULL;
        return compose_reshape(c, accepted, flags->rank, flags->dims);
}

/* All places run side by side: step k reads the byte k places behind each. */
struct value *compose_texts_match_lengths(struct compose *c, struct value *x,
                                          const struct compose_automaton *a)
{
        const struct tables t = tables_of(c, a);
        struct value *classes = compose_cast(c, x, E_I32);
        classes = classes ? build_gather(c->b, t.class_of, classes, 0) : NULL;
        if (!classes)
                return NULL;
        struct value *none = build_like(c->b, classes, 0),
                     *first[3] = { none, none, compose_cast(c, classes, E_U8) };
        const struct compose_loop_parts parts = { .first = first,
                                                  .steps = compose_texts_width(x),
                                                  .carried = 3 };
        struct compose_loop loop;
        if (!first[2] || !compose_loop_open(c, &parts, &loop))
                return NULL;
        struct value *class = compose_cast(c, &loop.held[2], E_I32);
        struct value *at = add(c, &loop.held[0], class);
        struct value *state = at ? build_gather(c->b, t.next, at, 0) : NULL;
        struct value *number = compose_with(c, OP_div, state, a->classes);
        struct value *accepted = number ? build_gather(c->b, t.accepts, number, 0) : NULL;
        accepted = compose_binary(c, OP_and, accepted, compose_with(c, OP_ne, class, 0));
        struct value *length = plus(c, compose_cast(c, loop.number, E_I32), 1);
        struct value *yielded[3] = { state, NULL, NULL };
        yielded[1] = compose_select(c, accepted, length, &loop.held[1]);
        yielded[2] = compose_texts_shift(c, &loop.held[2], 1);
        return compose_loop_close(c, &loop, yielded) ? &loop.op->results[1] : NULL;
}
