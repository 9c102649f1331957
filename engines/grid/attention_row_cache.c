/* SPDX-License-Identifier: MIT */
/* For attention of few rows by blocks of warps, this finds where keys and values lie (in pieces,
 * where a concat makes the cache), and brings them to the block that multiplies them. Where the
 * whole cache is also a result, the block of the group's first row stores it while it reads it. */
#include "engines/grid/attention_row_block.h"

/* ---- where keys and values lie ---- */

struct loop_expr *row_column_at(struct block *b, const struct piece *p, struct loop_expr *key)
{
        return row_at(b, &p->at, p->first ? minus(b->e, key, number(b->e, p->first)) : key);
}

/* Opens conditions for keys first..end and returns how many scopes they are; first 0 needs no
 * condition. */
static int open_range(struct block *b, struct loop_expr *key, int64_t first, int64_t end)
{
        if (first)
                emit_if(b->e, behind(b, key, first));
        emit_if(b->e, less(b, key, end));
        return 1 + (first != 0);
}

static void add_span(struct span *spans, int *count, struct span s)
{
        if (s.from < s.to)
                spans[(*count)++] = s;
}

int row_spans(const struct cache *c, int64_t each, int64_t unit, int64_t iterations, bool known,
              struct span *spans)
{
        int count = 0;
        for (const struct piece *p = c->pieces; p < c->pieces + c->count; p++) {
                const int64_t first = p->first * unit, end = p->end * unit,
                              from = divide_up(first, each), to = end / each;
                if (!known) {
                        add_span(spans, &count, (struct span){ p, 0, iterations, false });
                        continue;
                }
                add_span(spans, &count, (struct span){ p, first / each, from, false });
                add_span(spans, &count, (struct span){ p, from, to, true });
                add_span(spans, &count,
                         (struct span){ p, to < from ? from : to, divide_up(end, each), false });
        }
        return count;
}

int row_open_key(struct block *b, const struct span *s, struct loop_expr *own,
                 struct loop_expr *key)
{
        if (s->all)
                return 0;
        if (b->parts > 1)
                emit_if(b->e, less(b, own, b->share));
        return (b->parts > 1) + open_range(b, key, s->of->first, s->of->end);
}

struct cache row_as_whole(struct block *b, struct loop_buffer *in, int64_t depth, bool own)
{
        const int64_t all = columns_of(b->a);
        return (struct cache){ .pieces = { { .at.stride = { [GROUP] = own ? 0 : all * depth,
                                                            [ROW] = depth,
                                                            [COLUMN] = 1 },
                                             .from = in,
                                             .end = all } },
                               .count = 1 };
}

/* Opens a condition that is true in one of the blocks that read the same keys. */
static int open_first_row(struct block *b)
{
        const bool several = type_extent(b->a->scores->type, ROW) > 1;
        if (several)
                emit_if(b->e, less(b, b->row, 1));
        return several;
}

bool row_find_cache(struct block *b, const struct kernel_request *request, struct value *v,
                    struct cache *c)
{
        const struct op *concat = attention_concat(request->region, v);
        int64_t first = 0;
        if (concat && concat->operand_count > PIECES_MOST)
                return false;
        for (int i = 0; i < (concat ? concat->operand_count : 1); i++) {
                struct value *x = concat ? op_operand(concat, i) : v;
                struct piece *p = &c->pieces[c->count];
                if (dim_is(x->type->dims[ROW], 0))
                        continue;
                if (!access_read(request->region, x, &p->at) || p->at.stride[COLUMN] != 1)
                        return false;
                p->from = emit_parameter(b->e, p->at.value);
                p->first = first;
                p->end = first += type_extent(x->type, ROW);
                c->count++;
        }
        for (int i = 1; i < request->result_count; i++)
                if (request->results[i] == v)
                        c->whole = b->e->results[i];
        return c->count > 0;
}

bool row_are_words(const struct cache *c, int64_t depth)
{
        int64_t all = depth;
        for (const struct piece *p = c->pieces; p < c->pieces + c->count; p++)
                all |= p->at.offset | p->at.stride[GROUP] | p->at.stride[ROW];
        return all % WORD == 0;
}

/* ---- keys ---- */

/* Lists which iterations read which piece. This is constant where the kernel holds all keys at a
 * time and no other block has some of them. */
static int find_key_spans(struct block *b, const struct cache *c, struct span *spans)
{
        return row_spans(c, iteration_keys(b), 1, b->iterations.some,
                         b->parts == 1 && b->iterations.times == 1, spans);
}

/* Opens a loop over the iterations of a span, which yields the place of the lane's words and the
 * key. Returns how many scopes were opened. */
static int open_iteration(struct block *b, const struct lane_keys *k, const struct span *s,
                          struct loop_expr **words, struct loop_expr **key)
{
        struct emit *e = b->e;
        struct loop_expr *i =
                plus(e, emit_grid(e, "i", FOR_UNROLL, s->to - s->from), number(e, s->from));
        struct loop_expr *own = emit_let(e, "own", own_at(b, plus(e, k->first, i), k->at));
        *key = key_of(b, own);
        *words = times(e, i, word_at(b, 1, 0));
        return 1 + row_open_key(b, s, own, *key);
}

void row_load_keys(struct block *b, const struct lane_keys *k)
{
        struct emit *e = b->e;
        const int64_t words = words_of(b->a);
        struct span spans[SPANS_MOST];
        struct loop_expr *key, *at, *values[CHANNELS_MOST / KEY_LANES];
        struct loop_expr *i = emit_grid(e, "i", FOR_UNROLL, k->words->extent);
        emit_store(e, k->words, i, float_number(b, 0));
        emit_end(e);
        for (int n = 0, count = find_key_spans(b, &b->keys, spans); n < count; n++) {
                const int opened = open_iteration(b, k, &spans[n], &at, &key);
                struct loop_expr *from = emit_let(e, "from", row_column_at(b, spans[n].of, key));
                for (int w = 0; w < words * WORD; w++)
                        values[w] =
                                emit_let(e, "value",
                                         load(b, spans[n].of->from,
                                              plus(e, from, channel_at(b, k, w / WORD, w % WORD))));
                for (int w = 0; w < words * WORD; w++)
                        emit_store(e, k->words, plus(e, at, number(e, w)), values[w]);
                end_scopes(b, opened);
        }
}

void row_store_keys(struct block *b, const struct lane_keys *k)
{
        struct emit *e = b->e;
        const int64_t words = words_of(b->a);
        struct span spans[SPANS_MOST];
        struct loop_expr *key, *at, *values[CHANNELS_MOST / KEY_LANES];
        if (!b->keys.whole)
                return;
        const struct cache whole = row_as_whole(b, b->keys.whole, depth_of(b->a), false);
        const int first = open_first_row(b);
        for (int n = 0, count = find_key_spans(b, &whole, spans); n < count; n++) {
                const int opened = open_iteration(b, k, &spans[n], &at, &key);
                struct loop_expr *to = emit_let(e, "to", row_column_at(b, whole.pieces, key));
                for (int w = 0; w < words * WORD; w++)
                        values[w] =
                                emit_let(e, "value", load(b, k->words, plus(e, at, number(e, w))));
                for (int w = 0; w < words * WORD; w++)
                        emit_store(e, b->keys.whole,
                                   plus(e, to, channel_at(b, k, w / WORD, w % WORD)), values[w]);
                end_scopes(b, opened);
        }
        end_scopes(b, first);
}

/* ---- values ---- */

/* A lane handles this word of values: its key, its channel, its place in shared memory, and how
 * many scopes are open. The lanes of the block share the words of all of the block's keys. */
struct value_word { struct loop_expr *key, *channel, *at; int opened; };

static struct value_word open_values(struct block *b, const struct span *s,
                                     struct loop_expr *thread)
{
        struct emit *e = b->e;
        const int64_t words = width_of(b->a) / WORD, lanes = lanes_of(b);
        struct loop_expr *i = plus(e, emit_for(e, "i", number(e, 0), number(e, s->to - s->from)),
                                   number(e, s->from)),
                         *own, *channel;
        struct loop_expr *word = plus(e, times(e, i, lanes), thread);
        if (lanes % words == 0) {       /* A lane has the same word of a row in each iteration. */
                own = emit_let(e, "own",
                               plus(e, times(e, i, lanes / words),
                                    emit_op_int(e, LOOP_DIV, thread, words)));
                channel = emit_op_int(e, LOOP_REM, thread, words);
        } else {
                word = emit_let(e, "word", word);
                own = emit_let(e, "own", emit_op_int(e, LOOP_DIV, word, words));
                channel = emit_op_int(e, LOOP_REM, word, words);
        }
        struct loop_expr *key = key_of(b, own);
        return (struct value_word){ key, times(e, channel, WORD), times(e, word, WORD),
                                    1 + row_open_key(b, s, own, key) };
}

static int find_value_spans(struct block *b, const struct cache *c, struct span *spans)
{
        const int64_t words = width_of(b->a) / WORD;
        return row_spans(c, lanes_of(b), words, divide_up(b->share * words, lanes_of(b)),
                         b->parts == 1, spans);
}

void row_copy_values(struct block *b, struct loop_expr *thread)
{
        struct emit *e = b->e;
        struct span spans[SPANS_MOST];
        for (int n = 0, count = find_value_spans(b, &b->values, spans); n < count; n++) {
                const struct value_word v = open_values(b, &spans[n], thread);
                emit_copy(e, b->vs, v.at, spans[n].of->from,
                          plus(e, row_column_at(b, spans[n].of, v.key), v.channel), NULL, WORD);
                end_scopes(b, v.opened);
        }
}

void row_store_values(struct block *b, struct loop_expr *warp)
{
        struct emit *e = b->e;
        struct span spans[SPANS_MOST];
        struct loop_expr *values[WORD];
        if (!b->values.whole)
                return;
        const struct cache whole = row_as_whole(b, b->values.whole, width_of(b->a), false);
        const int first = open_first_row(b);
        struct loop_expr *own = thread(b, warp, emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES));
        for (int n = 0, count = find_value_spans(b, &whole, spans); n < count; n++) {
                const struct value_word v = open_values(b, &spans[n], own);
                struct loop_expr *to = plus(e, row_column_at(b, whole.pieces, v.key), v.channel);
                for (int k = 0; k < WORD; k++)
                        values[k] =
                                emit_let(e, "value", load(b, b->vs, plus(e, v.at, number(e, k))));
                for (int k = 0; k < WORD; k++)
                        emit_store(e, b->values.whole, plus(e, to, number(e, k)), values[k]);
                end_scopes(b, v.opened);
        }
        end_scopes(b, 1 + first);
}
