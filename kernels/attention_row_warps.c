/* SPDX-License-Identifier: MIT */
/* Attention of few rows, as decoder steps have them, by blocks of warps: a block for a row of a group (a head). Each warp has keys of its own, four
 * of them in a turn:
 *
 *      keys         turn 0  w0 w0 w0 w0 w1 w1 w1 w1 ..        from memory into registers, KEY_LANES lanes a key, each with
 *                   turn 1  w0 w0 w0 w0 w1 ..                 words of 16 bytes of it; what they multiply meets in shared memory
 *      scores       a lane a key; then the warp's largest score and its shares e^(score - that)
 *      values       a lane a channel, shares times values of the warp's keys
 *
 * Warps meet where all values have been copied, and when they have their sums: a factor brings each to the largest score of all, and
 * they are added up in order.
 *
 * Of many keys, a warp has some turns in registers at a time, and `parts` blocks have a share each, where they can be a cluster: each leaves its
 * largest score, the sum of its shares and its products in the cluster's memory, and a share of the channels is made of all parts, likewise
 * e^(a part's largest score - the largest of all) times each (Dao et al., "Flash-Decoding for long-context inference", 2023).
 *
 * Values come into shared memory while scores are made, where all find room there, else straight from memory. Nothing is packed or rounded:
 * this reads a cache once, and what it takes is that. A cache may be a concat, of what was there before and what is new: each key is
 * read where it lies, and where the whole is a result, too, it is stored as it comes by, by the block of the group's first row. */
#include "kernels/attention_row_warps.h"

#include <float.h>
#include <math.h>

#include "kernels/warps.h"

enum { GROUP = 1, ROW = 2, COLUMN = 3, RANK = 4, ROWS_MOST = 8, PIECES_MOST = 4, WORD = COPY_BYTES / 4 };
/* Lanes that share a key; keys of a warp in a turn; turns whose keys have a lane each; words of keys that a lane has at a time; channels of a row; of
 * what lanes found of keys in shared memory, elements from a lane of a key to the next, which are in banks of their own. */
enum { KEY_LANES = 8, TURN_KEYS = GRID_LANES / KEY_LANES, TURNS_MOST = GRID_LANES / TURN_KEYS, WORDS_MOST = 16, CHANNELS_MOST = WORDS_MOST * KEY_LANES * WORD, DOTS = GRID_LANES + TURN_KEYS };

/* ---- what fits ---- */

static int64_t columns_of(const struct attention *a) { return a->scores->type->dims[COLUMN]; }
static int64_t depth_of(const struct attention *a) { return op_operand(a->first, 0)->type->dims[COLUMN]; }
static int64_t width_of(const struct attention *a) { return op_result(a->second)->type->dims[COLUMN]; }

/* of the keys, a block's; of the cluster's memory, its part: products, the largest score, the sum of shares */
static int64_t share_of(const struct attention *a, const struct schedule *s) { return divide_up(columns_of(a), s->parts); }
static int64_t part_of(const struct attention *a) { return round_up(width_of(a) + 2, STORAGE_ALIGN / 4); }

/* words that a lane has of a key */
static int64_t words_of(const struct attention *a) { return depth_of(a) / (KEY_LANES * WORD); }

struct row_turns attention_row_turns(const struct attention *a, const struct schedule *s)
{
        const int64_t all = divide_up(share_of(a, s), (int64_t)TURN_KEYS * s->warps), room = WORDS_MOST / words_of(a);
        const int64_t times = divide_up(all, room < TURNS_MOST ? room : TURNS_MOST);
        return (struct row_turns){ all, divide_up(all, times), times };
}

/* keys of a warp, some of which may be none */
static int64_t own_keys(const struct row_turns *t) { return t->some * t->times * TURN_KEYS; }

/* bytes of shared memory, but for values */
static int64_t shared_of(const struct attention *a, const struct schedule *s)
{
        enum { ALLOCATIONS = 10, ALIGN = 128 };
        const struct row_turns t = attention_row_turns(a, s);
        const int64_t of_warp = 2 * own_keys(&t) + KEY_LANES * DOTS + GRID_LANES + width_of(a) + 2 + s->warps;
        return 4 * (s->warps * of_warp + (s->parts > 1 ? part_of(a) : 0)) + ALLOCATIONS * ALIGN;
}

bool attention_row_fits(const struct attention *a, const struct target *target, const struct schedule *s)
{
        const struct type *k = op_operand(a->first, 1)->type;
        return a->first->code == OP_dot && a->second->code == OP_dot && a->sum && k->element == E_F32 && a->shares == a->multiplied &&
               a->scores->type->dims[ROW] <= ROWS_MOST && depth_of(a) % (KEY_LANES * WORD) == 0 && depth_of(a) <= CHANNELS_MOST && width_of(a) <= CHANNELS_MOST &&
               s->warps <= GRID_WARPS_MAX &&
               (s->parts == 1 || (s->parts <= target_grid(target)->cluster && share_of(a, s) * (s->parts - 1) < columns_of(a))) &&
               shared_of(a, s) <= target_grid(target)->shared_bytes;
}

/* ---- a block ---- */

/* some of the keys (or of their values), and where they lie */
struct piece { struct access at; struct loop_buffer *from; int64_t first, end; };
/* all of them, in order; where they are stored besides, or NULL */
struct cache { struct piece pieces[PIECES_MOST]; int count; struct loop_buffer *whole; };

struct block {
        struct emit *e;
        const struct attention *a;
        struct access q;
        struct cache keys, values;
        struct loop_buffer *query, *result;
        struct loop_buffer *vs;         /* values in shared memory, or NULL */
        struct loop_buffer *dots;       /* of the warp: what lanes find of keys */
        /* in shared memory, of each warp: scores and shares of its keys; its largest score; sums of shares, of values; its
         * factors for what warps have */
        struct loop_buffer *scores, *shares, *bests, *sums, *products, *factors;
        struct row_turns turns;
        int warps, parts;
        int64_t share;                  /* keys of a part, of which the last may have fewer */
        struct loop_buffer *partial;    /* of the cluster: [parts][part_of], or NULL */
        struct loop_expr *group, *row;
        struct loop_expr *part, *first; /* of all parts, the block's; its first key */
};

static int64_t lanes_of(const struct block *b) { return (int64_t)b->warps * GRID_LANES; }
static int64_t turn_keys(const struct block *b) { return (int64_t)b->warps * TURN_KEYS; }
static struct loop_expr *load(struct block *b, struct loop_buffer *from, struct loop_expr *at) { return loop_load(b->e->arena, from, at); }
static struct loop_expr *less(struct block *b, struct loop_expr *x, int64_t y) { return emit_op(b->e, LOOP_LT, x, number(b->e, y)); }
static struct loop_expr *behind(struct block *b, struct loop_expr *x, int64_t y) { return emit_op(b->e, LOOP_LE, number(b->e, y), x); }
static struct loop_stmt *add(struct block *b, enum loop_stmt_kind kind) { return loop_append(b->e->arena, b->e->scope->block, kind); }

static struct loop_expr *float_number(struct block *b, double value)
{
        return loop_literal(b->e->arena, LOOP_TYPE(E_F32), (union scalar){ .f = value });
}

static struct loop_expr *call(struct block *b, const char *function, struct loop_expr *const *args)
{
        return loop_call(b->e->arena, loop_library_find(b->e->library, function, E_F32), args);
}

/* of what is at most 0 */
static struct loop_expr *exponential(struct block *b, struct loop_expr *x) { return call(b, "exp_negative", &x); }

static struct loop_expr *larger(struct block *b, struct loop_expr *x, struct loop_expr *y)
{
        return call(b, "larger", (struct loop_expr *const[]){ x, y });
}

static struct loop_expr *multiply_add(struct block *b, struct loop_expr *x, struct loop_expr *y, struct loop_expr *sum)
{
        return sum ? loop_op(b->e->arena, LOOP_FMA, x, y, sum) : emit_op(b->e, LOOP_MUL, x, y);
}

static struct loop_buffer *memory(struct block *b, enum loop_space space, const char *name, int64_t extent)
{
        struct loop_buffer *s = ARENA_NEW(b->e->arena, struct loop_buffer);
        *s = (struct loop_buffer){ .name = emit_name(b->e, name), .element = E_F32, .extent = extent,
                                   .space = space, .offset = -1, .access = ACCESS_INOUT };
        add(b, STMT_ALLOC)->buffer = s;
        return s;
}

static struct loop_buffer *shared(struct block *b, const char *name, int64_t extent) { return memory(b, SPACE_SHARED, name, extent); }

/* ---- where keys and values lie ---- */

/* where channel 0 of row (or column of scores) `row` is */
static struct loop_expr *row_at(struct block *b, const struct access *x, struct loop_expr *row)
{
        struct emit *e = b->e;
        return plus(e, number(e, x->offset), plus(e, times(e, b->group, x->stride[GROUP]), times(e, row, x->stride[ROW])));
}

/* where channel 0 of column `key` is, which is one of the piece's */
static struct loop_expr *column_at(struct block *b, const struct piece *p, struct loop_expr *key)
{
        return row_at(b, &p->at, p->first ? minus(b->e, key, number(b->e, p->first)) : key);
}

/* the number of a lane among all of the block */
static struct loop_expr *thread(struct block *b, struct loop_expr *warp, struct loop_expr *lane)
{
        return emit_let(b->e, "thread", plus(b->e, times(b->e, warp, GRID_LANES), lane));
}

static void end_scopes(struct block *b, int scopes)
{
        while (scopes-- > 0)
                emit_end(b->e);
}

/* opens what is for keys first..end alone, and says how many scopes these are; 0 is in front of none */
static int open_range(struct block *b, struct loop_expr *key, int64_t first, int64_t end)
{
        if (first)
                emit_if(b->e, behind(b, key, first));
        emit_if(b->e, less(b, key, end));
        return 1 + (first != 0);
}

/* Turns from..to, in each of which so many of something, keys or words of them, come side by side; all: they are all of the piece. */
struct span { const struct piece *of; int64_t from, to; bool all; };
enum { SPANS_MOST = 3 * PIECES_MOST };

static void add_span(struct span *spans, int *count, struct span s)
{
        if (s.from < s.to)
                spans[(*count)++] = s;
}

/* All turns, piece by piece, of `each` a turn, of which a key has `unit`. Where it is not known which a turn has, as it is for the program as a whole: all turns
 * for each piece. */
static int find_spans(const struct cache *c, int64_t each, int64_t unit, int64_t turns, bool known, struct span *spans)
{
        int count = 0;
        for (const struct piece *p = c->pieces; p < c->pieces + c->count; p++) {
                const int64_t first = p->first * unit, end = p->end * unit, from = divide_up(first, each), to = end / each;
                if (!known) {
                        add_span(spans, &count, (struct span){ p, 0, turns, false });
                        continue;
                }
                add_span(spans, &count, (struct span){ p, first / each, from, false });
                add_span(spans, &count, (struct span){ p, from, to, true });
                add_span(spans, &count, (struct span){ p, to < from ? from : to, divide_up(end, each), false });
        }
        return count;
}

/* opens what is for keys of the piece that the block has: number `own` of its own */
static int open_key(struct block *b, const struct span *s, struct loop_expr *own, struct loop_expr *key)
{
        if (s->all)
                return 0;
        if (b->parts > 1)
                emit_if(b->e, less(b, own, b->share));
        return (b->parts > 1) + open_range(b, key, s->of->first, s->of->end);
}

/* all of the keys or values as one piece of that memory, where they lie side by side from the block's first one on, or, own false, of all groups */
static struct cache as_whole(struct block *b, struct loop_buffer *in, int64_t depth, bool own)
{
        const int64_t all = columns_of(b->a);
        return (struct cache){ .pieces = { { .at.stride = { [GROUP] = own ? 0 : all * depth, [ROW] = depth, [COLUMN] = 1 }, .from = in, .end = all } }, .count = 1 };
}

/* the same for one of the blocks that read the same keys */
static int open_first_row(struct block *b)
{
        const bool several = b->a->scores->type->dims[ROW] > 1;
        if (several)
                emit_if(b->e, less(b, b->row, 1));
        return several;
}

/* ---- keys ---- */

/* a key of the block: in that turn, number `at` of the turn */
static struct loop_expr *own_at(struct block *b, struct loop_expr *turn, struct loop_expr *at)
{
        return plus(b->e, times(b->e, turn, turn_keys(b)), at);
}

static struct loop_expr *key_of(struct block *b, struct loop_expr *own) { return b->parts > 1 ? emit_let(b->e, "key", plus(b->e, b->first, own)) : own; }

/* A lane's words of keys, of some turns: turn, word, element. */
struct lane_keys {
        struct loop_buffer *words;
        struct loop_expr *first, *channel;        /* the first turn; the lane's first channel of a word */
        struct loop_expr *at;                     /* of keys of a turn, which it has */
};

static int64_t word_at(struct block *b, int64_t turn, int64_t word) { return (turn * words_of(b->a) + word) * WORD; }

static struct loop_expr *channel_at(struct block *b, const struct lane_keys *k, int64_t word, int element)
{
        return plus(b->e, k->channel, number(b->e, word * KEY_LANES * WORD + element));
}

/* Which turns have which keys, where the kernel has all of them at a time, and no other block has some. */
static int find_key_spans(struct block *b, const struct cache *c, struct span *spans)
{
        return find_spans(c, turn_keys(b), 1, b->turns.some, b->parts == 1 && b->turns.times == 1, spans);
}

/* opens a loop over the turns of a span: where its words are; *key: which that is; says how many scopes these are */
static int open_turn(struct block *b, const struct lane_keys *k, const struct span *s, struct loop_expr **words, struct loop_expr **key)
{
        struct emit *e = b->e;
        struct loop_expr *i = plus(e, emit_grid(e, "i", FOR_UNROLL, s->to - s->from), number(e, s->from));
        struct loop_expr *own = emit_let(e, "own", own_at(b, plus(e, k->first, i), k->at));
        *key = key_of(b, own);
        *words = times(e, i, word_at(b, 1, 0));
        return 1 + open_key(b, s, own, *key);
}

static void load_keys(struct block *b, const struct lane_keys *k)
{
        struct emit *e = b->e;
        const int64_t words = words_of(b->a);
        struct span spans[SPANS_MOST];
        struct loop_expr *key, *at, *values[CHANNELS_MOST / KEY_LANES];
        struct loop_expr *i = emit_grid(e, "i", FOR_UNROLL, k->words->extent);
        emit_store(e, k->words, i, float_number(b, 0));
        emit_end(e);
        for (int n = 0, count = find_key_spans(b, &b->keys, spans); n < count; n++) {
                const int opened = open_turn(b, k, &spans[n], &at, &key);
                struct loop_expr *from = emit_let(e, "from", column_at(b, spans[n].of, key));
                for (int w = 0; w < words * WORD; w++)
                        values[w] = emit_let(e, "value", load(b, spans[n].of->from, plus(e, from, channel_at(b, k, w / WORD, w % WORD))));
                for (int w = 0; w < words * WORD; w++)
                        emit_store(e, k->words, plus(e, at, number(e, w)), values[w]);
                end_scopes(b, opened);
        }
}

/* for who reads the whole cache later */
static void store_keys(struct block *b, const struct lane_keys *k)
{
        struct emit *e = b->e;
        const int64_t words = words_of(b->a);
        struct span spans[SPANS_MOST];
        struct loop_expr *key, *at, *values[CHANNELS_MOST / KEY_LANES];
        if (!b->keys.whole)
                return;
        const struct cache whole = as_whole(b, b->keys.whole, depth_of(b->a), false);
        const int first = open_first_row(b);
        for (int n = 0, count = find_key_spans(b, &whole, spans); n < count; n++) {
                const int opened = open_turn(b, k, &spans[n], &at, &key);
                struct loop_expr *to = emit_let(e, "to", column_at(b, whole.pieces, key));
                for (int w = 0; w < words * WORD; w++)
                        values[w] = emit_let(e, "value", load(b, k->words, plus(e, at, number(e, w))));
                for (int w = 0; w < words * WORD; w++)
                        emit_store(e, b->keys.whole, plus(e, to, channel_at(b, k, w / WORD, w % WORD)), values[w]);
                end_scopes(b, opened);
        }
        end_scopes(b, first);
}

/* ---- values ---- */

/* a lane's words of values, of all of the block's keys: opens a loop over turns, and what is for the piece; what it has */
struct value_word { struct loop_expr *key, *channel, *at; int opened; };

static struct value_word open_values(struct block *b, const struct span *s, struct loop_expr *thread)
{
        struct emit *e = b->e;
        const int64_t words = width_of(b->a) / WORD, lanes = lanes_of(b);
        struct loop_expr *i = plus(e, emit_for(e, "i", number(e, 0), number(e, s->to - s->from)), number(e, s->from)), *own, *channel;
        struct loop_expr *word = plus(e, times(e, i, lanes), thread);
        if (lanes % words == 0) {       /* each turn the same word */
                own = emit_let(e, "own", plus(e, times(e, i, lanes / words), emit_op_int(e, LOOP_DIV, thread, words)));
                channel = emit_op_int(e, LOOP_REM, thread, words);
        } else {
                word = emit_let(e, "word", word);
                own = emit_let(e, "own", emit_op_int(e, LOOP_DIV, word, words));
                channel = emit_op_int(e, LOOP_REM, word, words);
        }
        struct loop_expr *key = key_of(b, own);
        return (struct value_word){ key, times(e, channel, WORD), times(e, word, WORD), 1 + open_key(b, s, own, key) };
}

static int find_value_spans(struct block *b, const struct cache *c, struct span *spans)
{
        const int64_t words = width_of(b->a) / WORD;
        return find_spans(c, lanes_of(b), words, divide_up(b->share * words, lanes_of(b)), b->parts == 1, spans);
}

static void copy_values(struct block *b, struct loop_expr *thread)
{
        struct emit *e = b->e;
        struct span spans[SPANS_MOST];
        for (int n = 0, count = find_value_spans(b, &b->values, spans); n < count; n++) {
                const struct value_word v = open_values(b, &spans[n], thread);
                emit_copy(e, b->vs, v.at, spans[n].of->from, plus(e, column_at(b, spans[n].of, v.key), v.channel), NULL, WORD);
                end_scopes(b, v.opened);
        }
}

static void store_values(struct block *b, struct loop_expr *warp)
{
        struct emit *e = b->e;
        struct span spans[SPANS_MOST];
        struct loop_expr *values[WORD];
        if (!b->values.whole)
                return;
        const struct cache whole = as_whole(b, b->values.whole, width_of(b->a), false);
        const int first = open_first_row(b);
        struct loop_expr *own = thread(b, warp, emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES));
        for (int n = 0, count = find_value_spans(b, &whole, spans); n < count; n++) {
                const struct value_word v = open_values(b, &spans[n], own);
                struct loop_expr *to = plus(e, column_at(b, whole.pieces, v.key), v.channel);
                for (int k = 0; k < WORD; k++)
                        values[k] = emit_let(e, "value", load(b, b->vs, plus(e, v.at, number(e, k))));
                for (int k = 0; k < WORD; k++)
                        emit_store(e, b->values.whole, plus(e, to, number(e, k)), values[k]);
                end_scopes(b, v.opened);
        }
        end_scopes(b, 1 + first);
}

/* ---- scores and shares ---- */

/* where the warp's scores, and shares, begin */
static struct loop_expr *keys_at(struct block *b, struct loop_expr *warp) { return times(b->e, warp, own_keys(&b->turns)); }

/* Some turns, number `some` of such: what lanes find of their keys. */
static void multiply_keys(struct block *b, struct loop_expr *warp, struct loop_expr *some)
{
        struct emit *e = b->e;
        const int64_t words = words_of(b->a);
        struct loop_expr *query[CHANNELS_MOST / KEY_LANES], *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_expr *of_turn = emit_let(e, "of_turn", emit_op_int(e, LOOP_DIV, lane, KEY_LANES)), *of_key = emit_let(e, "of_key", emit_op_int(e, LOOP_REM, lane, KEY_LANES));
        const struct lane_keys k = { memory(b, SPACE_STACK, "keys", word_at(b, b->turns.some, 0)), times(e, some, b->turns.some), emit_let(e, "channel", times(e, of_key, WORD)),
                                     emit_let(e, "at", plus(e, times(e, warp, TURN_KEYS), of_turn)) };
        load_keys(b, &k);
        for (int w = 0; w < words * WORD; w++)
                query[w] = emit_let(e, "query", load(b, b->query, plus(e, row_at(b, &b->q, b->row), channel_at(b, &k, w / WORD, w % WORD))));
        if (b->vs) {                    /* they may arrive later */
                const bool once = b->turns.times > 1;
                if (once)
                        emit_if(e, less(b, some, 1));
                copy_values(b, thread(b, warp, lane));
                end_scopes(b, once);
        }
        struct loop_expr *i = emit_grid(e, "i", FOR_UNROLL, b->turns.some), *dot = NULL;
        for (int w = 0; w < words * WORD; w++)
                dot = multiply_add(b, query[w], load(b, k.words, plus(e, times(e, i, word_at(b, 1, 0)), number(e, w))), dot);
        emit_store(e, b->dots, plus(e, times(e, of_key, DOTS), plus(e, times(e, i, TURN_KEYS), of_turn)), dot);
        emit_end(e);
        store_keys(b, &k);
        emit_end(e);
}

/* a lane's key: its score, which is -infinity for what is none */
static void write_score(struct block *b, struct loop_expr *warp, struct loop_expr *some)
{
        struct emit *e = b->e;
        const int64_t keys = b->turns.some * TURN_KEYS;
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, keys), *sums[KEY_LANES];
        struct loop_expr *turn = plus(e, times(e, some, b->turns.some), emit_op_int(e, LOOP_DIV, lane, TURN_KEYS));
        struct loop_expr *own = emit_let(e, "own", own_at(b, turn, plus(e, times(e, warp, TURN_KEYS), emit_op_int(e, LOOP_REM, lane, TURN_KEYS)))), *key = key_of(b, own);
        struct loop_variable *score = emit_var(e, "score", LOOP_TYPE(E_F32), float_number(b, -INFINITY));
        int opened = 0;
        if (b->turns.some * b->turns.times * turn_keys(b) > b->share)
                opened++, emit_if(e, less(b, own, b->share));
        if (b->parts * b->share > columns_of(b->a))
                opened++, emit_if(e, less(b, key, columns_of(b->a)));
        for (int i = 0; i < KEY_LANES; i++)
                sums[i] = load(b, b->dots, plus(e, lane, number(e, (int64_t)i * DOTS)));
        for (int half = KEY_LANES / 2; half; half /= 2)
                for (int i = 0; i < half; i++)
                        sums[i] = plus(e, sums[i], sums[i + half]);
        struct loop_expr *index[RANK] = { number(e, 0), b->group, b->row, key };
        struct loop_stmt *let = add(b, STMT_LET);
        let->a = sums[0];
        let->variable = loop_variable_new(e->arena, emit_name(e, "dot"), LOOP_TYPE(E_F32), VARIABLE_LET);
        let->variable->number = e->scope->depth;
        emit_define(e, op_result(b->a->first), index, let->variable);
        emit_set(e, score, emit_element(e, b->a->scores, index));
        end_scopes(b, opened);
        emit_store(e, b->scores, plus(e, keys_at(b, warp), plus(e, times(e, some, keys), lane)), loop_use(e->arena, score));
        emit_end(e);
}

/* The largest of so many: a let, which is finite where all are -infinity. NaN may be lost, which its share and so the sum of these keeps. */
static struct loop_expr *largest(struct block *b, struct loop_buffer *of, struct loop_expr *from, int64_t count)
{
        struct loop_expr *all[GRID_LANES];
        for (int i = 0; i < count; i++)
                all[i] = emit_let(b->e, "one", load(b, of, plus(b->e, from, number(b->e, i))));
        for (int64_t step = 1; step < count; step *= 2)
                for (int64_t i = 0; i + step < count; i += 2 * step)
                        all[i] = larger(b, all[i], all[i + step]);
        return emit_let(b->e, "best", larger(b, all[0], float_number(b, -FLT_MAX)));
}

/* shares of the warp's keys, by its largest score */
static void write_shares(struct block *b, struct loop_expr *warp)
{
        struct emit *e = b->e;
        const int64_t keys = own_keys(&b->turns), lanes = keys < GRID_LANES ? keys : GRID_LANES, each = divide_up(keys, lanes);
        const bool some = keys % lanes != 0;
        struct loop_buffer *most = each > 1 ? memory(b, SPACE_STACK, "most", lanes) : NULL;
        struct loop_expr *lane, *at;
        if (most) {                     /* first the largest one of what a lane has */
                lane = emit_grid(e, "lane", FOR_GPU_LANE, lanes);
                struct loop_variable *one = emit_var(e, "one", LOOP_TYPE(E_F32), float_number(b, -FLT_MAX));
                at = plus(e, times(e, emit_for(e, "i", number(e, 0), number(e, each)), lanes), lane);
                if (some)
                        emit_if(e, less(b, at, keys));
                emit_set(e, one, larger(b, loop_use(e->arena, one), load(b, b->scores, plus(e, keys_at(b, warp), at))));
                end_scopes(b, 1 + some);
                emit_store(e, most, lane, loop_use(e->arena, one));
                emit_end(e);
        }
        lane = emit_grid(e, "lane", FOR_GPU_LANE, lanes);
        struct loop_expr *best = most ? largest(b, most, number(e, 0), lanes) : largest(b, b->scores, keys_at(b, warp), lanes);
        at = plus(e, times(e, emit_for(e, "i", number(e, 0), number(e, each)), lanes), lane);
        if (some)
                emit_if(e, less(b, at, keys));
        at = emit_let(e, "at", plus(e, keys_at(b, warp), at));
        emit_store(e, b->shares, at, exponential(b, minus(e, load(b, b->scores, at), best)));
        end_scopes(b, 1 + some);
        emit_if(e, less(b, lane, 1));
        emit_store(e, b->bests, warp, best);
        end_scopes(b, 2);
}

/* ---- sums ---- */

/* by one lane, number `at` of the block's part of the cluster's memory */
static void leave(struct block *b, struct loop_expr *own, int64_t at, struct loop_expr *value)
{
        struct emit *e = b->e;
        emit_if(e, less(b, own, 1));
        emit_store(e, b->partial, plus(e, times(e, b->part, part_of(b->a)), number(e, at)), value);
        emit_end(e);
}

/* each warp its own keys, a lane a channel */
static void add_values(struct block *b, struct loop_expr *warp)
{
        struct emit *e = b->e;
        const int64_t width = width_of(b->a), parts = divide_up(width, GRID_LANES);
        const struct cache here = as_whole(b, b->vs, width, true), *values = b->vs ? &here : &b->values;
        struct span spans[SPANS_MOST];
        struct loop_variable *sums[CHANNELS_MOST / GRID_LANES];
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES), *shares[TURN_KEYS];
        struct loop_variable *sum = emit_var(e, "sum", LOOP_TYPE(E_F32), float_number(b, 0));
        for (int i = 0; i < parts; i++)
                sums[i] = emit_var(e, "product", LOOP_TYPE(E_F32), float_number(b, 0));
        for (int n = 0, count = find_spans(values, turn_keys(b), 1, b->turns.all, b->parts == 1, spans); n < count; n++) {
                struct loop_expr *turn = plus(e, emit_for(e, "turn", number(e, 0), number(e, spans[n].to - spans[n].from)), number(e, spans[n].from));
                for (int k = 0; k < TURN_KEYS; k++)
                        shares[k] = emit_let(e, "share", load(b, b->shares, plus(e, keys_at(b, warp), plus(e, times(e, turn, TURN_KEYS), number(e, k)))));
                for (int k = 0; k < TURN_KEYS; k++) {
                        struct loop_expr *own = emit_let(e, "own", own_at(b, turn, plus(e, times(e, warp, TURN_KEYS), number(e, k)))), *key = key_of(b, own);
                        const int opened = open_key(b, &spans[n], own, key);
                        struct loop_expr *from = column_at(b, spans[n].of, b->vs ? own : key);
                        emit_set(e, sum, plus(e, loop_use(e->arena, sum), shares[k]));
                        for (int i = 0; i < parts; i++) {
                                struct loop_expr *d = plus(e, lane, number(e, (int64_t)i * GRID_LANES));
                                const bool some = (i + 1) * GRID_LANES > width;
                                if (some)
                                        emit_if(e, less(b, d, width));
                                emit_set(e, sums[i], multiply_add(b, shares[k], load(b, b->vs ? b->vs : spans[n].of->from, plus(e, from, d)), loop_use(e->arena, sums[i])));
                                end_scopes(b, some);
                        }
                        end_scopes(b, opened);
                }
                emit_end(e);
        }
        for (int i = 0; i < parts; i++) {
                struct loop_expr *d = plus(e, lane, number(e, (int64_t)i * GRID_LANES));
                const bool some = (i + 1) * GRID_LANES > width;
                if (some)
                        emit_if(e, less(b, d, width));
                emit_store(e, b->products, plus(e, times(e, warp, width), d), loop_use(e->arena, sums[i]));
                end_scopes(b, some);
        }
        emit_if(e, less(b, lane, 1));
        emit_store(e, b->sums, warp, loop_use(e->arena, sum));
        end_scopes(b, 2);
}

/* what each warp makes by itself */
static void write_products(struct block *b)
{
        struct emit *e = b->e;
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, b->warps);
        b->dots = memory(b, SPACE_STACK, "dots", KEY_LANES * DOTS);
        struct loop_expr *some = emit_for(e, "some", number(e, 0), number(e, b->turns.times));
        multiply_keys(b, warp, some);
        write_score(b, warp, some);
        emit_end(e);
        write_shares(b, warp);
        if (b->vs) {
                emit_end(e);
                add(b, STMT_COMMIT);
                add(b, STMT_WAIT);
                warp = emit_grid(e, "warp", FOR_GPU_WARP, b->warps);
        }
        add_values(b, warp);
        emit_end(e);
}

/* a channel of the result, of the sum of all products and that of all shares */
static void write_result(struct block *b, struct loop_expr *d, struct loop_expr *all, struct loop_expr *sum)
{
        struct emit *e = b->e;
        const struct access *y = &b->a->y;
        struct loop_expr *index[RANK] = { number(e, 0), b->group, b->row, d }, *of_sum[RANK_MAX];
        struct value *const values[] = { op_result(b->a->second), b->a->sum };
        struct loop_expr *const made[] = { all, sum };
        const struct type *t = b->a->sum->type;
        emit_reindex(e, 2, (dim_t[]){ b->a->scores->type->dims[GROUP], b->a->scores->type->dims[ROW] }, index + GROUP, t->rank, t->dims, of_sum);
        for (int k = 0; k < 2; k++) {
                struct loop_stmt *let = add(b, STMT_LET);
                let->a = made[k];
                let->variable = loop_variable_new(e->arena, emit_name(e, k ? "shares" : "product"), LOOP_TYPE(E_F32), VARIABLE_LET);
                let->variable->number = e->scope->depth;
                emit_define(e, values[k], k ? of_sum : index, let->variable);
        }
        const struct emit_place to = { .buffer = b->result, .start = number(e, y->offset),
                                       .stride = { 0, y->stride[GROUP], y->stride[ROW], y->stride[COLUMN] } };
        emit_store(e, b->result, emit_at(e, &to, RANK, index), emit_element(e, b->a->result, index));
}

/* a channel, which says so by its bounds, too: it is a place in one part of the cluster's memory */
static struct loop_expr *channel_of(struct block *b, struct loop_expr *d) { return minimum(b->e, d, number(b->e, width_of(b->a) - 1)); }

/* what warps have of something, `step` elements from one to the next, each times its factor, in order */
static struct loop_expr *of_warps(struct block *b, struct loop_expr *const *factors, struct loop_buffer *from, struct loop_expr *at, int64_t step)
{
        struct loop_expr *all = NULL;
        for (int k = 0; k < b->warps; k++)
                all = multiply_add(b, factors[k], load(b, from, plus(b->e, at, number(b->e, k * step))), all);
        return all;
}

/* what warps found, brought to the largest score of all: the result, or the block's part of it, a lane a channel */
static void write_results(struct block *b)
{
        struct emit *e = b->e;
        const int64_t width = width_of(b->a);
        struct loop_expr *factors[GRID_WARPS_MAX], *warp = emit_grid(e, "warp", FOR_GPU_WARP, b->warps);
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, b->warps), *best = largest(b, b->bests, number(e, 0), b->warps);
        emit_store(e, b->factors, plus(e, times(e, warp, b->warps), lane), exponential(b, minus(e, load(b, b->bests, lane), best)));
        if (b->parts > 1)
                leave(b, thread(b, warp, lane), width, best);
        emit_end(e);
        struct loop_expr *own = thread(b, warp, emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES));
        for (int k = 0; k < b->warps; k++)
                factors[k] = emit_let(e, "factor", load(b, b->factors, plus(e, times(e, warp, b->warps), number(e, k))));
        struct loop_expr *sum = emit_let(e, "shares", of_warps(b, factors, b->sums, number(e, 0), 1));
        if (b->parts > 1)
                leave(b, own, width + 1, sum);
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(width, lanes_of(b))));
        struct loop_expr *d = emit_let(e, "d", plus(e, times(e, i, lanes_of(b)), own));
        emit_if(e, less(b, d, width));
        struct loop_expr *all = of_warps(b, factors, b->products, d, width);
        if (b->parts > 1)
                emit_store(e, b->partial, plus(e, times(e, b->part, part_of(b->a)), channel_of(b, d)), all);
        else
                write_result(b, d, all, sum);
        end_scopes(b, 3);
        store_values(b, warp);          /* most warps have nothing else to do here */
        emit_end(e);
}

/* what part k left at `at` */
static struct loop_expr *left_by(struct block *b, int k, struct loop_expr *at)
{
        return load(b, b->partial, plus(b->e, number(b->e, k * part_of(b->a)), at));
}

/* a share of the channels, of all parts in order */
static void join_parts(struct block *b, struct loop_expr *share)
{
        struct emit *e = b->e;
        const int64_t width = width_of(b->a), each = divide_up(width, b->parts);
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, b->warps);
        struct loop_expr *own = thread(b, warp, emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES));
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(each, lanes_of(b))));
        struct loop_expr *within = emit_let(e, "within", plus(e, times(e, i, lanes_of(b)), own));
        struct loop_expr *d = emit_let(e, "d", plus(e, times(e, share, each), within));
        emit_if(e, emit_op(e, LOOP_AND, less(b, within, each), less(b, d, width)));
        struct loop_expr *bests[GRID_CLUSTER_MAX], *best = NULL, *all = NULL, *sum = NULL;
        for (int k = 0; k < b->parts; k++) {
                bests[k] = emit_let(e, "best", left_by(b, k, number(e, width)));
                best = k ? emit_op(e, LOOP_MAX, best, bests[k]) : bests[k];
        }
        best = emit_let(e, "best", best);
        for (int k = 0; k < b->parts; k++) {
                struct loop_expr *factor = emit_let(e, "factor", exponential(b, minus(e, bests[k], best)));
                struct loop_expr *product = emit_op(e, LOOP_MUL, factor, left_by(b, k, channel_of(b, d))), *shares = emit_op(e, LOOP_MUL, factor, left_by(b, k, number(e, width + 1)));
                all = k ? plus(e, all, product) : product;
                sum = k ? plus(e, sum, shares) : shares;
        }
        write_result(b, d, all, sum);
        end_scopes(b, 4);
}

/* ---- the kernel ---- */

static bool find_cache(struct block *b, const struct kernel_request *request, struct value *v, struct cache *c)
{
        const struct op *concat = attention_concat(request->region, v);
        int64_t first = 0;
        if (concat && concat->operand_count > PIECES_MOST)
                return false;
        for (int i = 0; i < (concat ? concat->operand_count : 1); i++) {
                struct value *x = concat ? op_operand(concat, i) : v;
                struct piece *p = &c->pieces[c->count];
                if (!x->type->dims[ROW])
                        continue;
                if (!access_read(request->region, x, &p->at) || p->at.stride[COLUMN] != 1)
                        return false;
                p->from = emit_parameter(b->e, p->at.value);
                p->first = first;
                p->end = first += x->type->dims[ROW];
                c->count++;
        }
        for (int i = 1; i < request->result_count; i++)
                if (request->results[i] == v)
                        c->whole = b->e->results[i];
        return c->count > 0;
}

/* Do copies' words lie where they may? */
static bool are_words(const struct cache *c, int64_t depth)
{
        int64_t all = depth;
        for (const struct piece *p = c->pieces; p < c->pieces + c->count; p++)
                all |= p->at.offset | p->at.stride[GROUP] | p->at.stride[ROW];
        return all % WORD == 0;
}

/* Shared memory, of which values have some where all find room. */
static void share(struct block *b, const struct schedule *s)
{
        const struct attention *a = b->a;
        const int64_t values = b->share * width_of(a);
        if (are_words(&b->values, width_of(a)) && 4 * values + shared_of(a, s) <= target_grid(b->e->options->target)->shared_bytes)
                b->vs = shared(b, "vs", values);
        b->scores = shared(b, "scores", b->warps * own_keys(&b->turns));
        b->shares = shared(b, "shares", b->warps * own_keys(&b->turns));
        b->bests = shared(b, "bests", b->warps);
        b->sums = shared(b, "sums", b->warps);
        b->products = shared(b, "products", b->warps * width_of(a));
        b->factors = shared(b, "factors", b->warps * b->warps);
}

/* the loops over blocks, or over clusters and blocks of each: the number of the row of all groups */
static struct loop_expr *open_block(struct block *b)
{
        struct emit *e = b->e;
        const int64_t all = b->a->scores->type->dims[ROW] * b->a->scores->type->dims[GROUP];
        b->first = number(e, 0);
        if (b->parts == 1)
                return emit_grid(e, "b", FOR_GPU_BLOCK, all);
        struct loop_expr *cluster = emit_grid(e, "c", FOR_GPU_CLUSTER, all);
        b->partial = shared(b, "partial", b->parts * part_of(b->a));
        b->partial->space = SPACE_CLUSTER;
        b->part = emit_grid(e, "part", FOR_GPU_BLOCK, b->parts);
        b->first = emit_let(e, "first", times(e, b->part, b->share));
        return cluster;
}

static void place_block(struct block *b, struct loop_expr *block)
{
        struct emit *e = b->e;
        const int64_t rows = b->a->scores->type->dims[ROW], groups = b->a->scores->type->dims[GROUP];
        b->row = rows > 1 ? emit_let(e, "r", emit_op_int(e, LOOP_REM, block, rows)) : number(e, 0);
        b->group = groups == 1 ? number(e, 0) : rows > 1 ? emit_let(e, "group", emit_op_int(e, LOOP_DIV, block, rows)) : block;
}

bool attention_rows_kernel(struct emit *e, const struct kernel_request *request, const struct attention *a, struct loop_buffer *buffer)
{
        struct block b = { .e = e, .a = a, .result = buffer };
        const struct schedule *s = a->second->schedule;
        struct value *keys = op_operand(a->first, 1), *values = op_operand(a->second, 1);
        if (!s || !attention_row_fits(a, e->options->target, s) || !access_read(request->region, op_operand(a->first, 0), &b.q) || b.q.stride[COLUMN] != 1)
                return false;
        b.query = emit_parameter(e, b.q.value);
        if (!find_cache(&b, request, keys, &b.keys) || !find_cache(&b, request, values, &b.values))
                return false;
        for (int i = 1; i < request->result_count; i++)
                if (request->results[i] != keys && request->results[i] != values)
                        return false;
        if (keys == values)
                b.values.whole = NULL;
        b.warps = s->warps;
        b.parts = s->parts;
        b.share = share_of(a, s);
        b.turns = attention_row_turns(a, s);
        for (const struct op *op = request->region->first; op != request->region->last; op = op->next)
                emit_local(e, op_result(op))->splits = ~0u;
        struct loop_expr *block = open_block(&b);
        place_block(&b, block);
        share(&b, s);
        if (b.values.whole && !b.vs)
                return false;
        write_products(&b);
        write_results(&b);
        emit_end(e);
        if (b.parts > 1) {
                struct loop_expr *share = emit_grid(e, "share", FOR_GPU_BLOCK, b.parts);
                place_block(&b, block);
                join_parts(&b, share);
                end_scopes(&b, 2);
        }
        return warps_move_values_in(e->scope->block) && !e->failed;
}
