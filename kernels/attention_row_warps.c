/* SPDX-License-Identifier: MIT */
/* Attention of few rows, as decoder steps have them, by blocks of warps: a block for a row of a group (a head).
 *
 *      keys in blocks, copied into shared memory      scores of a row, in shared memory: a lane a key
 *      best, shares, their sum                        by lanes, in place
 *      shares by values                               a lane a channel, each warp its own keys; warps' parts are added up in order
 *
 * Of many keys, `parts` blocks have a share each, where they can be a cluster: each leaves its largest score, the sum of its shares and its
 * products in the cluster's memory, and a share of the channels is made of all parts, e^(a part's largest score - the largest of all) times
 * each (Dao et al., "Flash-Decoding for long-context inference", 2023).
 *
 * Values come into shared memory while scores are made, where all find room there, else straight from memory. Nothing is packed or rounded:
 * this reads a cache once, and what it takes is that. A cache may be a concat, of what was there before and what is new: each key is
 * read where it lies, and where the whole is a result, too, it is stored from shared memory, by the block of the group's first row. */
#include "kernels/attention_row_warps.h"

#include <float.h>
#include <math.h>

#include "kernels/warps.h"

enum { GROUP = 1, ROW = 2, COLUMN = 3, RANK = 4, STAGES = 2, ROWS_MOST = 8, PIECES_MOST = 4, WORD = COPY_BYTES / 4 };

static int64_t columns_of(const struct attention *a) { return a->scores->type->dims[COLUMN]; }
static int64_t depth_of(const struct attention *a) { return op_operand(a->first, 0)->type->dims[COLUMN]; }
static int64_t width_of(const struct attention *a) { return op_result(a->second)->type->dims[COLUMN]; }

/* of the keys, a block's; of the cluster's memory, its part: products, the largest score, the sum of shares */
static int64_t share_of(const struct attention *a, const struct schedule *s) { return divide_up(columns_of(a), s->parts); }
static int64_t part_of(const struct attention *a) { return round_up(width_of(a) + 2, STORAGE_ALIGN / 4); }

bool attention_row_fits(const struct attention *a, const struct target *target, const struct schedule *s)
{
        const struct type *k = op_operand(a->first, 1)->type;
        const int64_t keys = (int64_t)s->warps * GRID_LANES, share = share_of(a, s);
        const int64_t shared = 4 * (round_up(share, keys) + (s->parts > 1 ? part_of(a) : 0) + STAGES * keys * depth_of(a) + depth_of(a) + 4 * keys + s->warps * width_of(a));
        return a->first->code == OP_dot && a->second->code == OP_dot && a->sum && k->element == E_F32 && a->shares == a->multiplied &&
               a->scores->type->dims[ROW] <= ROWS_MOST && depth_of(a) % GRID_LANES == 0 && s->warps <= GRID_WARPS_MAX &&
               (s->parts == 1 || (s->parts <= target_grid(target)->cluster && share * (s->parts - 1) < columns_of(a))) &&
               shared + 1024 <= target_grid(target)->shared_bytes;
}

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
        struct loop_buffer *qs, *ks, *vs, *scores, *bests, *lanes, *sums, *products;   /* in shared memory */
        int warps, parts;
        int64_t share;                  /* keys of a part, of which the last may have fewer */
        struct loop_buffer *partial;    /* of the cluster: [parts][part_of], or NULL */
        struct loop_expr *group, *row;
        struct loop_expr *part, *first; /* of all parts, the block's; its first key */
};

static int64_t keys_of(const struct block *b) { return (int64_t)b->warps * GRID_LANES; }
static struct loop_expr *load(struct block *b, struct loop_buffer *from, struct loop_expr *at) { return loop_load(b->e->arena, from, at); }
static struct loop_expr *less(struct block *b, struct loop_expr *x, int64_t y) { return emit_op(b->e, LOOP_LT, x, number(b->e, y)); }
static struct loop_expr *exponential(struct block *b, struct loop_expr *x) { return emit_formula(b->e, op_info[OP_exp].formula, &x, 1); }
static struct loop_expr *behind(struct block *b, struct loop_expr *x, int64_t y) { return emit_op(b->e, LOOP_LE, number(b->e, y), x); }
static struct loop_stmt *add(struct block *b, enum loop_stmt_kind kind) { return loop_append(b->e->arena, b->e->scope->block, kind); }

static struct loop_expr *float_number(struct block *b, double value)
{
        return loop_literal(b->e->arena, LOOP_TYPE(E_F32), (union scalar){ .f = value });
}

static struct loop_buffer *shared(struct block *b, const char *name, int64_t extent)
{
        struct loop_buffer *s = ARENA_NEW(b->e->arena, struct loop_buffer);
        *s = (struct loop_buffer){ .name = emit_name(b->e, name), .element = E_F32, .extent = extent,
                                   .space = SPACE_SHARED, .offset = -1, .access = ACCESS_INOUT };
        add(b, STMT_ALLOC)->buffer = s;
        return s;
}

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

static bool is_cut(const struct block *b) { return b->parts * b->share > columns_of(b->a); }

/* opens what is for the block's own keys: key number `own` of these, which may be none of the part's (beyond), or none at all */
static int open_own(struct block *b, struct loop_expr *own, bool beyond)
{
        if (beyond)
                emit_if(b->e, less(b, own, b->share));
        if (is_cut(b))
                emit_if(b->e, less(b, plus(b->e, b->first, own), columns_of(b->a)));
        return beyond + is_cut(b);
}

/* the same for one of the blocks that read the same keys */
static int open_first_row(struct block *b)
{
        const bool several = b->a->scores->type->dims[ROW] > 1;
        if (several)
                emit_if(b->e, less(b, b->row, 1));
        return several;
}

static void copy_query(struct block *b, struct loop_expr *warp)
{
        struct emit *e = b->e;
        struct loop_expr *own = thread(b, warp, emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES));
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(depth_of(b->a), keys_of(b))));
        struct loop_expr *d = emit_let(e, "d", plus(e, times(e, i, keys_of(b)), own));
        emit_if(e, less(b, d, depth_of(b->a)));
        emit_store(e, b->qs, d, load(b, b->query, plus(e, row_at(b, &b->q, b->row), d)));
        for (int closes = 3; closes > 0; closes--)
                emit_end(e);
}

/* so many columns of the block's share of a cache, of `depth` channels each, the first of them in shared memory from `at` on */
struct columns { const struct cache *of; struct loop_expr *first, *at; int64_t count, depth; struct loop_buffer *in; };

static struct columns key_block(struct block *b, struct loop_expr *block)
{
        struct emit *e = b->e;
        const int64_t keys = keys_of(b), depth = depth_of(b->a), all = b->share;
        return (struct columns){ &b->keys, times(e, block, keys), times(e, emit_op_int(e, LOOP_REM, block, STAGES), keys * depth), all < keys ? all : keys, depth, b->ks };
}

static struct columns all_values(struct block *b)
{
        return (struct columns){ &b->values, number(b->e, 0), number(b->e, 0), b->share, width_of(b->a), b->vs };
}

static void copy_columns(struct block *b, struct loop_expr *warp, const struct columns *c)
{
        struct emit *e = b->e;
        const struct cache *from = c->of;
        const int64_t words = c->depth / WORD, all = c->count * words;
        const bool one = from->count == 1, beyond = all % keys_of(b) || b->share % c->count;
        struct loop_expr *own = thread(b, warp, emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES));
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(all, keys_of(b))));
        struct loop_expr *word = emit_let(e, "word", plus(e, times(e, i, keys_of(b)), own));
        struct loop_expr *own_key = plus(e, c->first, emit_op_int(e, LOOP_DIV, word, words));
        own_key = b->parts > 1 ? emit_let(e, "own", own_key) : own_key;
        struct loop_expr *key = emit_let(e, "key", plus(e, b->first, own_key));
        struct loop_expr *to = plus(e, c->at, times(e, word, WORD)), *channel = times(e, emit_op_int(e, LOOP_REM, word, words), WORD);
        for (const struct piece *p = from->pieces; p < from->pieces + from->count; p++) {
                const bool apart = b->parts > 1 && beyond;        /* keys of the next part are none of this block's */
                struct loop_expr *there = one && (b->parts > 1 ? is_cut(b) : beyond) ? less(b, key, p->end) : NULL;
                if (one && apart)
                        there = there ? emit_op(e, LOOP_AND, less(b, own_key, b->share), there) : less(b, own_key, b->share);
                there = there ? emit_let(e, "there", there) : NULL;
                if (!one && apart)
                        emit_if(e, less(b, own_key, b->share));
                const int opened = one ? 0 : apart + open_range(b, key, p->first, p->end);
                emit_copy(e, c->in, to, p->from, plus(e, column_at(b, p, key), channel), there, WORD);
                end_scopes(b, opened);
        }
        end_scopes(b, 2);
}

/* what has arrived of them, for who reads the whole cache later: a lane has a word at a time */
static void store_columns(struct block *b, struct loop_expr *warp, const struct columns *c)
{
        struct emit *e = b->e;
        const int64_t all = columns_of(b->a) * c->depth, share = b->share * c->depth, count = c->count * c->depth < share ? c->count * c->depth : share;
        const int64_t at_once = keys_of(b) * WORD;
        struct loop_expr *values[WORD];
        if (!c->of->whole)
                return;
        const int first = open_first_row(b);
        struct loop_expr *own = times(e, thread(b, warp, emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES)), WORD);
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(count, at_once)));
        struct loop_expr *element = emit_let(e, "element", plus(e, times(e, i, at_once), own));
        struct loop_expr *own_at = plus(e, times(e, c->first, c->depth), element);
        struct loop_expr *at = emit_let(e, "at", plus(e, times(e, b->first, c->depth), own_at));
        const bool beyond = count % at_once || share % count;
        if (beyond && b->parts > 1)
                emit_if(e, less(b, own_at, share));
        const int some = beyond || b->parts > 1 ? (beyond && b->parts > 1) + open_range(b, at, 0, all) : 0;
        for (int k = 0; k < WORD; k++)
                values[k] = emit_let(e, "value", load(b, c->in, plus(e, plus(e, c->at, element), number(e, k))));
        for (int k = 0; k < WORD; k++)
                emit_store(e, c->of->whole, plus(e, plus(e, times(e, b->group, all), at), number(e, k)), values[k]);
        end_scopes(b, 2 + some + first);
}

/* a lane's key: lanes begin at different channels, so that these lie in banks of their own */
static void write_score(struct block *b, struct loop_expr *warp, struct loop_expr *block)
{
        struct emit *e = b->e;
        const int64_t depth = depth_of(b->a);
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES), *own = thread(b, warp, lane);
        struct loop_expr *key = emit_let(e, "key", plus(e, times(e, block, keys_of(b)), own));
        struct loop_variable *best = emit_var(e, "best", LOOP_TYPE(E_F32), load(b, b->bests, own));
        const int opened = open_own(b, key, true);
        struct loop_variable *sum = emit_var(e, "sum", LOOP_TYPE(E_F32), float_number(b, 0));
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, depth));
        struct loop_expr *d = emit_let(e, "d", emit_op_int(e, LOOP_REM, plus(e, i, lane), depth));
        struct loop_expr *at = plus(e, times(e, emit_op_int(e, LOOP_REM, block, STAGES), keys_of(b) * depth), plus(e, times(e, own, depth), d));
        struct loop_expr *product = emit_op(e, LOOP_MUL, load(b, b->qs, d), load(b, b->ks, at));
        emit_set(e, sum, plus(e, loop_use(e->arena, sum), product));
        emit_end(e);
        struct loop_expr *index[RANK] = { number(e, 0), b->group, b->row, plus(e, b->first, key) };
        struct loop_stmt *let = add(b, STMT_LET);
        let->a = loop_use(e->arena, sum);
        let->variable = loop_variable_new(e->arena, emit_name(e, "dot"), LOOP_TYPE(E_F32), VARIABLE_LET);
        let->variable->number = e->scope->depth;
        emit_define(e, op_result(b->a->first), index, let->variable);
        struct loop_expr *score = emit_let(e, "score", emit_element(e, b->a->scores, index));
        emit_store(e, b->scores, key, score);
        emit_set(e, best, emit_op(e, LOOP_MAX, loop_use(e->arena, best), score));
        end_scopes(b, opened);
        emit_store(e, b->bests, own, loop_use(e->arena, best));
        emit_end(e);
}

static void write_scores(struct block *b)
{
        struct emit *e = b->e;
        const int64_t blocks = divide_up(b->share, keys_of(b));
        struct columns keys = key_block(b, number(e, 0));
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, b->warps);
        copy_columns(b, warp, &keys);
        if (b->vs) {                    /* that may arrive later */
                emit_end(e);
                add(b, STMT_COMMIT);
                const struct columns values = all_values(b);
                warp = emit_grid(e, "warp", FOR_GPU_WARP, b->warps);
                copy_columns(b, warp, &values);
        }
        copy_query(b, warp);
        emit_store(e, b->bests, thread(b, warp, emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES)), float_number(b, -FLT_MAX));
        end_scopes(b, 2);
        add(b, STMT_COMMIT);
        add(b, STMT_WAIT)->code = b->vs != NULL;
        struct loop_expr *block = emit_for(e, "block", number(e, 0), number(e, blocks));
        warp = emit_grid(e, "warp", FOR_GPU_WARP, b->warps);
        write_score(b, warp, block);
        if (blocks > 1) {
                struct loop_expr *next = emit_let(e, "next", plus(e, block, number(e, 1)));
                emit_if(e, less(b, next, blocks));
                keys = key_block(b, next);
                copy_columns(b, warp, &keys);
                emit_end(e);
        }
        keys = key_block(b, block);
        store_columns(b, warp, &keys);
        emit_end(e);
        add(b, STMT_COMMIT);
        add(b, STMT_WAIT);
        emit_end(e);
        if (b->vs && blocks > 1)
                add(b, STMT_WAIT);      /* however often the loop runs */
}

/* What all lanes of the block have in `each`, joined, each warp for itself: a variable of the warp. */
static struct loop_expr *joined(struct block *b, struct loop_expr *warp, struct loop_buffer *each, enum loop_opcode op)
{
        struct emit *e = b->e;
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_expr *all = load(b, each, lane);
        for (int i = 1; i < b->warps; i++)
                all = emit_op(e, op, all, load(b, each, plus(e, lane, number(e, (int64_t)i * GRID_LANES))));
        emit_store(e, b->lanes, plus(e, times(e, warp, GRID_LANES), lane), all);
        emit_end(e);
        struct loop_variable *whole = emit_var(e, "all", LOOP_TYPE(E_F32), load(b, b->lanes, times(e, warp, GRID_LANES)));
        struct loop_expr *l = emit_for(e, "l", number(e, 1), number(e, GRID_LANES));
        emit_set(e, whole, emit_op(e, op, loop_use(e->arena, whole), load(b, b->lanes, plus(e, times(e, warp, GRID_LANES), l))));
        emit_end(e);
        return loop_use(e->arena, whole);
}

/* by one lane, number `at` of the block's part of the cluster's memory */
static void leave(struct block *b, struct loop_expr *own, int64_t at, struct loop_expr *value)
{
        struct emit *e = b->e;
        emit_if(e, less(b, own, 1));
        emit_store(e, b->partial, plus(e, times(e, b->part, part_of(b->a)), number(e, at)), value);
        emit_end(e);
}

static void write_shares(struct block *b)
{
        struct emit *e = b->e;
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, b->warps), *best = joined(b, warp, b->bests, LOOP_MAX);
        struct loop_expr *own = thread(b, warp, emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES));
        struct loop_variable *sum = emit_var(e, "sum", LOOP_TYPE(E_F32), float_number(b, 0));
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(b->share, keys_of(b))));
        struct loop_expr *key = emit_let(e, "key", plus(e, times(e, i, keys_of(b)), own));
        const int opened = open_own(b, key, b->share % keys_of(b) != 0);
        struct loop_expr *share = emit_let(e, "share", exponential(b, minus(e, load(b, b->scores, key), best)));
        emit_store(e, b->scores, key, share);
        emit_set(e, sum, plus(e, loop_use(e->arena, sum), share));
        end_scopes(b, opened + 1);
        emit_store(e, b->sums, own, loop_use(e->arena, sum));
        if (b->parts > 1)
                leave(b, own, width_of(b->a), best);
        emit_end(e);
        const struct columns values = all_values(b);
        store_columns(b, warp, &values);
        emit_end(e);
}

/* the turns from..to of a warp, in each of which it has a key: of those, the piece's; all: they are all the piece's */
static void add_values(struct block *b, const struct piece *p, int64_t from, int64_t to, bool all, struct loop_expr *warp, struct loop_expr *d, struct loop_variable *sum)
{
        struct emit *e = b->e;
        if (from >= to)
                return;
        struct loop_expr *i = emit_for(e, "i", number(e, from), number(e, to));
        struct loop_expr *key = emit_let(e, "key", plus(e, times(e, i, b->warps), warp));
        const int some = all ? 0 : open_range(b, key, p->first > from * b->warps ? p->first : 0, p->end);
        struct loop_expr *value = load(b, p->from, plus(e, column_at(b, p, key), d));
        emit_set(e, sum, plus(e, loop_use(e->arena, sum), emit_op(e, LOOP_MUL, load(b, b->scores, key), value)));
        end_scopes(b, 1 + some);
}

/* the same of a part, whose first key is known when it runs: of all turns, those with the piece's keys */
static void add_own_values(struct block *b, const struct piece *p, struct loop_expr *warp, struct loop_expr *d, struct loop_variable *sum)
{
        struct emit *e = b->e;
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(b->share, b->warps)));
        struct loop_expr *own = emit_let(e, "own", plus(e, times(e, i, b->warps), warp)), *key = emit_let(e, "key", plus(e, b->first, own));
        int opened = open_own(b, own, b->share % b->warps != 0);
        if (!b->vs && b->values.count > 1)
                opened += open_range(b, key, p->first, p->end);
        struct loop_expr *at = b->vs ? times(e, own, width_of(b->a)) : column_at(b, p, key);
        struct loop_expr *value = load(b, b->vs ? b->vs : p->from, plus(e, at, d));
        emit_set(e, sum, plus(e, loop_use(e->arena, sum), emit_op(e, LOOP_MUL, load(b, b->scores, own), value)));
        end_scopes(b, 1 + opened);
}

/* each warp its own keys, a lane a channel */
static void write_products(struct block *b)
{
        struct emit *e = b->e;
        const int64_t width = width_of(b->a);
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, b->warps);
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_expr *part = emit_for(e, "part", number(e, 0), number(e, divide_up(width, GRID_LANES)));
        struct loop_expr *d = emit_let(e, "d", plus(e, times(e, part, GRID_LANES), lane));
        const bool some = width % GRID_LANES != 0;
        if (some)
                emit_if(e, less(b, d, width));
        struct loop_variable *sum = emit_var(e, "sum", LOOP_TYPE(E_F32), float_number(b, 0));
        const struct cache shared = { .pieces = { { .at.stride = { [ROW] = width, [COLUMN] = 1 }, .from = b->vs, .end = columns_of(b->a) } }, .count = 1 };
        const struct cache *values = b->vs ? &shared : &b->values;
        for (const struct piece *p = values->pieces; p < values->pieces + values->count; p++) {
                if (b->parts > 1) {
                        add_own_values(b, p, warp, d, sum);
                        continue;
                }
                /* a known number of turns for all warps, between those of which only some warps' keys are the piece's */
                const int64_t begun = p->first / b->warps, from = divide_up(p->first, b->warps), to = p->end / b->warps, end = divide_up(p->end, b->warps);
                add_values(b, p, begun, from, false, warp, d, sum);
                add_values(b, p, from, to, true, warp, d, sum);
                add_values(b, p, to < from ? from : to, end, false, warp, d, sum);
        }
        emit_store(e, b->products, plus(e, times(e, warp, width), d), loop_use(e->arena, sum));
        end_scopes(b, 3 + some);
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

/* what the warps added up, a lane a channel: the result, or the block's part of it */
static void write_results(struct block *b)
{
        struct emit *e = b->e;
        const int64_t width = width_of(b->a);
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, b->warps);
        struct loop_expr *sum = joined(b, warp, b->sums, LOOP_ADD);
        struct loop_expr *own = thread(b, warp, emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES));
        if (b->parts > 1)
                leave(b, own, width + 1, sum);
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(width, keys_of(b))));
        struct loop_expr *d = emit_let(e, "d", plus(e, times(e, i, keys_of(b)), own));
        emit_if(e, less(b, d, width));
        struct loop_expr *all = load(b, b->products, d);
        for (int k = 1; k < b->warps; k++)
                all = plus(e, all, load(b, b->products, plus(e, d, number(e, k * width))));
        if (b->parts > 1)
                emit_store(e, b->partial, plus(e, times(e, b->part, part_of(b->a)), channel_of(b, d)), all);
        else
                write_result(b, d, all, sum);
        end_scopes(b, 4);
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
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(each, keys_of(b))));
        struct loop_expr *within = emit_let(e, "within", plus(e, times(e, i, keys_of(b)), own));
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
static void share(struct block *b)
{
        const struct attention *a = b->a;
        const int64_t keys = keys_of(b), columns = round_up(b->share, keys), stages = columns > keys ? STAGES : 1;
        const int64_t values = round_up(b->share * width_of(a), keys * WORD);
        const int64_t others = stages * keys * depth_of(a) + columns + depth_of(a) + 3 * keys + b->warps * width_of(a) + (b->parts > 1 ? part_of(a) : 0);
        b->qs = shared(b, "qs", depth_of(a));
        b->ks = shared(b, "ks", stages * keys * depth_of(a));
        if (are_words(&b->values, width_of(a)) && 4 * (values + others) + 1024 <= target_grid(b->e->options->target)->shared_bytes)
                b->vs = shared(b, "vs", values);
        b->scores = shared(b, "scores", columns);
        b->bests = shared(b, "bests", keys);
        b->lanes = shared(b, "joined", keys);
        b->sums = shared(b, "sums", keys);
        b->products = shared(b, "products", b->warps * width_of(a));
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
        if (!find_cache(&b, request, keys, &b.keys) || !find_cache(&b, request, values, &b.values) || !are_words(&b.keys, depth_of(a)))
                return false;
        for (int i = 1; i < request->result_count; i++)
                if (request->results[i] != keys && request->results[i] != values)
                        return false;
        if (keys == values)
                b.values.whole = NULL;
        b.warps = s->warps;
        b.parts = s->parts;
        b.share = share_of(a, s);
        for (const struct op *op = request->region->first; op != request->region->last; op = op->next)
                emit_local(e, op_result(op))->splits = ~0u;
        struct loop_expr *block = open_block(&b);
        place_block(&b, block);
        share(&b);
        if (b.values.whole && !b.vs)
                return false;
        write_scores(&b);
        write_shares(&b);
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
