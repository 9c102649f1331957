/* SPDX-License-Identifier: MIT */
/* The verifier of Loop IR checks asynchronous copies, and products of warp groups. On every way
 * through a kernel, copies into a buffer must be committed and waited for before the buffer is
 * read, and all of them must have arrived before the buffer is stored to or ends. Sums may be
 * touched, and may end, when their last products are done; operands may be stored to, and may end,
 * when all products are; an operand may be copied into after a settle.
 *
 * The state of a buffer says how far the copies into it are, from the best to the worst; where two
 * ways join, it is the worse of both. What a wait let arrive may be read while further copies
 * begin, into other stages of the buffer, until these are committed: a read behind that has to wait
 * again. (Whether they are other stages, a run shows.) A loop is walked twice, the second time from
 * what it leaves behind; a third time would say nothing new, because each statement either sets a
 * state or makes it no worse. */
#include "ir/loop/loop_verify.h"

enum state { UNTOUCHED, ARRIVED, ARRIVED_IN_PART, ARRIVED_AND_COPIED, COMMITTED, COPIED };
enum reading { SETTLED, SETTLED_IN_PART, MULTIPLIED };  /* An operand is in one of these states. */
enum { BUFFERS_MAX = 16, TILES_MAX = 8, TWICE_MAX = 6 };

/* The struct says of sums of warps whether a product of them, or by them, is under way, and how
 * many others have been made since, at least. */
struct multiplied { const struct loop_variable *sums; bool under_way; int since; };

struct copies {
        struct verifier *v;
        const struct loop_buffer *buffers[BUFFERS_MAX];   /* The buffers are shared, and in
                                                           * scope. */
        enum state states[BUFFERS_MAX];
        enum reading readings[BUFFERS_MAX];
        struct multiplied tiles[TILES_MAX];       /* The tiles are in scope. */
        int count, tile_count, twice;
};

static int find(const struct copies *c, const struct loop_buffer *b)
{
        for (int i = 0; b && i < c->count; i++)
                if (c->buffers[i] == b)
                        return i;
        return -1;
}

static void check_read(struct copies *c, const struct loop_buffer *b)
{
        int i = find(c, b);
        if (i >= 0 && c->states[i] >= COMMITTED)
                verify_error(c->v, "%%%s is read before what is copied into it was waited for",
                             b->name);
}

static void check_load(struct loop_expr *e, void *context)
{
        if (e->op == LOOP_LOAD)
                check_read(context, e->buffer);
}

static void check_written(struct copies *c, const struct loop_buffer *b)
{
        int i = find(c, b);
        if (i >= 0 && c->states[i] > ARRIVED)
                verify_error(c->v, "%%%s is written while copies into it are under way", b->name);
        else if (i >= 0 && c->readings[i])
                verify_error(c->v, "%%%s is written while products of it are under way", b->name);
}

static struct multiplied *find_tile(struct copies *c, const struct loop_variable *sums)
{
        for (int i = 0; i < c->tile_count; i++)
                if (c->tiles[i].sums == sums)
                        return &c->tiles[i];
        return NULL;
}

static void check_sums(struct copies *c, const struct loop_variable *sums)
{
        const struct multiplied *t = find_tile(c, sums);
        if (t && t->under_way)
                verify_error(c->v, "%%%s is touched before its products are settled", sums->name);
}

/* Says that a product of them, or by them, is the newest. */
static void begin_product(struct copies *c, const struct loop_variable *sums)
{
        struct multiplied *t = find_tile(c, sums);
        if (t)
                *t = (struct multiplied){ sums, true, 0 };
        else
                verify_error(c->v, "warps multiply more than %d sums together", TILES_MAX);
}

static void check_block(struct copies *c, const struct loop_block *block);

static bool is_less_done(const struct multiplied *t, const struct multiplied *than)
{
        return t->under_way && (!than->under_way || t->since < than->since);
}

static void join(struct copies *c, const struct copies *other)
{
        for (int i = 0; i < c->count; i++) {
                if (other->states[i] > c->states[i])
                        c->states[i] = other->states[i];
                if (other->readings[i] > c->readings[i])
                        c->readings[i] = other->readings[i];
        }
        for (int i = 0; i < c->tile_count; i++)
                if (is_less_done(&other->tiles[i], &c->tiles[i]))
                        c->tiles[i] = other->tiles[i];
}

static bool is_worse(const struct copies *c, const struct copies *before)
{
        bool worse = false;
        for (int i = 0; i < c->count; i++)
                worse |= c->states[i] > before->states[i] || c->readings[i] > before->readings[i];
        for (int i = 0; i < c->tile_count; i++)
                worse |= is_less_done(&c->tiles[i], &before->tiles[i]);
        return worse;
}

/* Checks FOR and WHILE: the loop may have no iteration, one, or several; those of warps and lanes
 * do not follow each other. */
static void check_loop(struct copies *c, const struct loop_stmt *s)
{
        const struct copies before = *c;
        bool apart = s->kind == STMT_FOR && loop_for_is_grid(s->for_kind);
        check_block(c, s->body);
        bool worse = is_worse(c, &before);
        join(c, &before);
        if (!worse || apart || c->v->failed)
                return;
        if (c->twice++ >= TWICE_MAX) {
                c->v->stmt = s;
                verify_error(c->v, "copies stand in more than %d loops", TWICE_MAX);
        } else {
                const struct copies once = *c;
                check_block(c, s->body);
                join(c, &once);
        }
        c->twice = before.twice;
}

static void check_if(struct copies *c, const struct loop_stmt *s)
{
        struct copies other = *c;
        check_block(c, s->body);
        if (s->other)
                check_block(&other, s->other);
        join(c, &other);
}

static void check_alloc(struct copies *c, const struct loop_buffer *b)
{
        if (b->space != SPACE_SHARED || c->count >= BUFFERS_MAX)
                return;                 /* No copy goes into a buffer that is not listed. */
        c->states[c->count] = UNTOUCHED;
        c->readings[c->count] = SETTLED;
        c->buffers[c->count++] = b;
}

static enum state copied(enum state s)
{
        return s == UNTOUCHED || s >= COMMITTED ? COPIED : ARRIVED_AND_COPIED;
}
static enum state committed(enum state s)
{
        return s == COPIED || s == ARRIVED_AND_COPIED ? COMMITTED : s;
}
static enum state waited(enum state s, int left)
{
        return s == COMMITTED || s == ARRIVED_IN_PART ? (left ? ARRIVED_IN_PART : ARRIVED) : s;
}

/* Checks a multiply of a warp group: its operands are under way from here on. */
static void check_multiply(struct copies *c, const struct loop_stmt *s)
{
        const struct loop_buffer *const operands[] = { s->buffer, s->weights };
        if (s->buffer)
                check_read(c, s->buffer);
        else
                check_sums(c, loop_multiplied(s));
        check_read(c, s->weights);
        for (int i = s->buffer ? 0 : 1; i < 2 && s->tiles.warp_group; i++)
                if (find(c, operands[i]) < 0)
                        verify_error(c->v,
                                     "an operand of a warp group is not shared, or one of more "
                                     "than %d buffers",
                                     BUFFERS_MAX);
                else
                        c->readings[find(c, operands[i])] = MULTIPLIED;
        if (!s->tiles.warp_group) {
                check_sums(c, s->variable);
                return;
        }
        for (int i = 0; i < c->tile_count; i++)
                c->tiles[i].since++;
        begin_product(c, s->variable);
        if (!s->buffer)
                begin_product(c, loop_multiplied(s));
}

static void check_copied(struct copies *c, const struct loop_buffer *b)
{
        int i = find(c, b);
        if (i < 0)
                verify_error(c->v, "a block copies into more than %d buffers", BUFFERS_MAX);
        else if (c->readings[i] == MULTIPLIED)
                verify_error(c->v, "%%%s is copied into before products of it are settled",
                             b->name);
        else
                c->states[i] = copied(c->states[i]);
}

static void settle(struct copies *c, int left)
{
        for (int i = 0; i < c->count; i++)
                c->readings[i] = c->readings[i] && left ? SETTLED_IN_PART : SETTLED;
        for (int i = 0; i < c->tile_count; i++)
                c->tiles[i].under_way &= c->tiles[i].since < left;
}

static void check_var(struct copies *c, const struct loop_variable *v)
{
        if (v->warps && c->tile_count < TILES_MAX)         /* No product is of sums that are not
                                                            * listed. */
                c->tiles[c->tile_count++] = (struct multiplied){ .sums = v };
}

static void check_stmt(struct copies *c, const struct loop_stmt *s)
{
        struct loop_expr *const exprs[] = { s->a, s->b, s->c };
        c->v->stmt = s;
        for (int i = 0; i < 3; i++)
                if (exprs[i])
                        loop_expr_walk(exprs[i], check_load, c);
        switch (s->kind) {
        case STMT_FOR: case STMT_WHILE: check_loop(c, s); break;
        case STMT_IF: check_if(c, s); break;
        case STMT_ALLOC: check_alloc(c, s->buffer); break;
        case STMT_VAR: check_var(c, s->variable); break;
        case STMT_UNLOAD: check_sums(c, s->variable);     /* fall through */
        case STMT_STORE: check_written(c, s->buffer); break;
        case STMT_MULTIPLY: check_multiply(c, s); break;
        case STMT_TAKE: case STMT_GIVE: check_sums(c, s->variable); break;
        case STMT_SCALE:
                check_sums(c, s->variable);
                check_read(c, s->buffer);
                break;
        case STMT_SETTLE: settle(c, s->code); break;
        case STMT_COPY: check_copied(c, s->buffer); break;
        case STMT_COMMIT: case STMT_WAIT:
                for (int i = 0; i < c->count; i++)
                        c->states[i] = s->kind == STMT_COMMIT ? committed(c->states[i])
                                                              : waited(c->states[i], s->code);
                break;
        default: break;
        }
}

static void check_block(struct copies *c, const struct loop_block *block)
{
        const int outer = c->count, outer_tiles = c->tile_count;
        for (const struct loop_stmt *s = block->first; s && !c->v->failed; s = s->next)
                check_stmt(c, s);
        for (int i = outer; i < c->count && !c->v->failed; i++)
                if (c->states[i] > ARRIVED)
                        verify_error(c->v, "copies into %%%s are under way at its end",
                                     c->buffers[i]->name);
                else if (c->readings[i])
                        verify_error(c->v, "products of %%%s are under way at its end",
                                     c->buffers[i]->name);
        for (int i = outer_tiles; i < c->tile_count && !c->v->failed; i++)
                if (c->tiles[i].under_way)
                        verify_error(c->v, "products of %%%s are under way at its end",
                                     c->tiles[i].sums->name);
        c->count = outer;
        c->tile_count = outer_tiles;
}

bool verify_copies(struct verifier *v)
{
        struct copies c = { .v = v };
        check_block(&c, v->function->body);
        v->stmt = NULL;
        return !v->failed;
}

/* ---- a statement by itself ---- */

static bool check_vector(struct verifier *v, const struct loop_expr *e, enum element element,
                         int lanes, const char *what)
{
        return verify_any(v, e) &&
               ((e->type.element == element && e->type.lanes == lanes && !e->type.tile) ||
                verify_error(v, "%s of a copy is not of its lanes", what));
}

/* Checks a bulk copy, which stands outside of warps' loops. */
static bool check_run(struct verifier *v, const struct loop_stmt *s)
{
        int64_t bytes = (int64_t)s->code * element_info[s->buffer->element].bytes;
        if (s->buffer->element != s->source->element || s->c || s->code <= COPY_BYTES ||
            bytes % COPY_BYTES || bytes > GRID_SHARED_MAX)
                return verify_error(
                        v, "a copy of a run of %d %s to %s: bytes are a multiple of %d, and more",
                        s->code, element_info[s->source->element].text,
                        element_info[s->buffer->element].text, COPY_BYTES);
        return verify_expr(v, s->a, LOOP_TYPE(E_INDEX), "a place") &&
               verify_expr(v, s->b, LOOP_TYPE(E_INDEX), "a place");
}

static bool check_copy(struct verifier *v, const struct loop_stmt *s)
{
        if (!verify_buffer(v, s->buffer, ACCESS_OUT) || !verify_buffer(v, s->source, ACCESS_IN))
                return false;
        if (s->buffer->space != SPACE_SHARED)
                return verify_error(v, "a copy into %s, which is not shared", s->buffer->name);
        if (!verify_read_only(v->function, s->source))
                return verify_error(v, "a copy of %s, which may be written", s->source->name);
        if (!v->warp)
                return check_run(v, s);
        int bytes = element_info[s->buffer->element].bytes;
        if (s->buffer->element != s->source->element || s->code < 1 || s->code > COPY_BYTES ||
            (s->code * bytes != 4 && s->code * bytes != 8 && s->code * bytes != COPY_BYTES))
                return verify_error(v, "a copy of %d %s to %s: a lane has 4, 8 or %d bytes",
                                    s->code, element_info[s->source->element].text,
                                    element_info[s->buffer->element].text, COPY_BYTES);
        int lanes = s->a ? s->a->type.lanes : 0;
        return check_vector(v, s->a, E_INDEX, lanes, "a place") &&
               check_vector(v, s->b, E_INDEX, lanes, "a place") &&
               (!s->c || check_vector(v, s->c, E_BOOL, lanes, "the mask"));
}

bool verify_copy(struct verifier *v, const struct loop_stmt *s)
{
        if (s->kind == STMT_COPY)
                return check_copy(v, s);
        if (s->kind == STMT_SETTLE)
                return (s->code >= 0 && s->code < PRODUCTS_MAX) ||
                       verify_error(v, "a settle of all but %d products", s->code);
        return s->kind == STMT_COMMIT || (s->code >= 0 && s->code < COPY_GROUPS_MAX) ||
               verify_error(v, "a wait for all but %d groups", s->code);
}
