/* SPDX-License-Identifier: MIT */
/* fuse_launches: what a kernel of one block computes for one other kernel, each block of that
 * kernel computes for itself. A launch takes longer than the block.
 *
 *     kernel @norm(%x, %y) {                         kernel @product(%x, %w, %z) {
 *       for %block = 0 to 1 gpu_block {                for %b = 0 to 288 gpu_block {
 *         for %warp = 0 to 1 gpu_warp {                  alloc %xs : f16[768] shared
 *           ... store %y[%i] = ..                        for %w = 0 to 3 gpu_warp {
 *     kernel @product(%x, %w, %z) {                        if %w < 1 {
 *       for %b = 0 to 288 gpu_block {          ->            ... store %xs[%i] = ..
 *         alloc %xs : f16[768] shared                      }
 *         for %w = 0 to 3 gpu_warp {                     }
 *           ... copy %xs[%i] = %x[%i] of 8               ...
 *         }                                          main {
 *         commit                                       call @product(@a, @weights, @c)
 *         wait 0
 *         ...
 *     main {
 *       call @norm(@a, @t)
 *       call @product(@t, @weights, @c)
 *
 * The reader must copy all that it reads of the buffer unchanged, and do nothing else in that loop;
 * or it loads elements of the buffer where it needs them, which then come from shared memory. The
 * maker may also be a kernel of few elements, one per lane of its blocks: then the reader's
 * warps share these elements. Blocks of a later wave compute the buffer again; where there are so
 * many waves that this takes longer than the launch, and the loop does nothing but copy, the blocks
 * become iterations of the blocks of one wave:
 *
 *       for %block = 0 to 1257 gpu_block {
 *         ...
 *         for %iteration = 0 to 5 {
 *           let %b : index = %block * 5 + %iteration
 *           if %b < 6283 {
 *
 * Kernels of rows continue in the clusters that have these rows (fuse_launches_rows.c); a small
 * independent kernel runs beside another one (fuse_launches_apart.c). Exact to the bit: every value
 * is computed as before. */
#include "engines/grid/fuse_launches.h"

#include <string.h>

#include "engines/grid/grid_iterations.h"
#include "engines/grid/launch_cost.h"
#include "ir/loop/loop_vector.h"
#include "ir/lower/lower_emit.h"

/* ---- maker and reader ---- */

const struct loop_stmt *launches_phase(const struct loop_function *f)
{
        const struct loop_stmt *phase = loop_is_grid(f) ? f->body->first : NULL;
        return phase && !phase->next && phase->for_kind == FOR_GPU_BLOCK && !f->can_fail &&
                               !f->scalar_count
                       ? phase
                       : NULL;
}

bool launches_is_warps(const struct loop_stmt *s)
{
        return s && s->kind == STMT_FOR && s->for_kind == FOR_GPU_WARP;
}

/* Does each lane of these blocks compute one element, and are they few enough for fewer lanes to
 * compute them one after the other? */
static bool is_of_lanes(const struct loop_stmt *phase, const struct loop_stmt *warps)
{
        const struct loop_stmt *lanes = warps->body->first;
        return phase->b->literal.i * warps->b->literal.i <= GRID_ITERATIONS_MAX && lanes &&
               !lanes->next && lanes->kind == STMT_FOR && lanes->for_kind == FOR_GPU_LANE &&
               grid_iterations_can(lanes->body);
}

/* Returns the only result of a kernel of one block with one warp, or of few elements; NULL where
 * the kernel is neither. */
static struct loop_buffer *made_by(const struct loop_function *f)
{
        const struct loop_stmt *phase = launches_phase(f),
                               *warps = phase ? phase->body->first : NULL;
        struct loop_buffer *made = NULL;
        if (!launches_is_warps(warps) || warps->next ||
            ((phase->b->literal.i != 1 || warps->b->literal.i != 1) && !is_of_lanes(phase, warps)))
                return NULL;
        for (int i = 0; i < f->buffer_count; i++)
                if (f->buffers[i]->access == ACCESS_INOUT ||
                    (f->buffers[i]->access == ACCESS_OUT && made))
                        return NULL;
                else if (f->buffers[i]->access == ACCESS_OUT)
                        made = f->buffers[i];
        return made;
}

struct reading {
        const struct loop_buffer *x;    /* This buffer is read. */
        struct loop_buffer *xs;         /* It is copied into this shared memory. */
        /* `copies` counts statements that copy it unchanged, `others` those that touch it
         * otherwise, or copy other buffers. */
        int copies, others;
        bool more;                      /* A loop over warps does more than copy. */
};

static void count_use(struct loop_expr *e, void *context)
{
        struct reading *r = context;
        r->others += e->buffer == r->x;
}

static void count_copy(struct loop_stmt *s, void *context)
{
        struct reading *r = context;
        const bool copy = s->kind == STMT_COPY;
        if (copy && s->source == r->x && !s->c &&
            s->code * element_info[s->buffer->element].bytes <= COPY_BYTES &&
            loop_expr_same(s->a, s->b) && (!r->xs || r->xs == s->buffer)) {
                r->copies++;
                r->xs = s->buffer;
        } else {
                r->others += copy || s->buffer == r->x || s->weights == r->x;
        }
        r->more |= !copy && s->kind != STMT_FOR && s->kind != STMT_IF && s->kind != STMT_LET;
}

/* Finds the loop over warps of the reader that only copies x unchanged, with a commit and a wait
 * after it. Returns NULL where the reader reads x in any other way. */
static struct loop_stmt *copies_of(const struct loop_function *reader, const struct loop_buffer *x,
                                   struct loop_buffer **xs)
{
        const struct loop_stmt *phase = launches_phase(reader);
        struct loop_stmt *found = NULL;
        struct reading all = { .x = x };
        if (!phase)
                return NULL;
        loop_block_walk(phase->body, count_copy, count_use, &all);
        for (struct loop_stmt *s = phase->body->first; s; s = s->next) {
                struct reading r = { .x = x };
                if (!launches_is_warps(s))
                        continue;
                loop_block_walk(s->body, count_copy, count_use, &r);
                if (r.copies && !r.more && r.copies == all.copies)
                        found = s;
        }
        const struct loop_stmt *commit = found ? found->next : NULL,
                               *wait = commit ? commit->next : NULL;
        if (!found || all.others || !wait || commit->kind != STMT_COMMIT ||
            wait->kind != STMT_WAIT || wait->code)
                return NULL;
        *xs = all.xs;
        return found;
}

static void find_copy(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_COPY || s->kind == STMT_COMMIT || s->kind == STMT_WAIT;
}

/* ---- readers that load elements ---- */

enum { ROOM = 20 << 10 };               /* What is kept for such a reader has at most this many
                                         * bytes of shared memory. */

static void count_load_of(struct loop_expr *e, void *context)
{
        struct reading *r = context;
        const bool load = e->op == LOOP_LOAD && !e->group;
        r->copies += load && e->buffer == r->x;
        r->others += !load && e->buffer == r->x;
}

static void count_other_of(struct loop_stmt *s, void *context)
{
        struct reading *r = context;
        r->others += s->buffer == r->x || s->weights == r->x || s->source == r->x;
}

/* Does the reader load elements of x, in loops over warps, and do nothing else with x? */
static bool loads_of(const struct loop_function *reader, const struct loop_buffer *x)
{
        const struct loop_stmt *phase = launches_phase(reader);
        struct reading r = { .x = x };
        if (!phase || x->extent * element_info[x->element].bytes > ROOM ||
            x->extent * element_info[x->element].bytes % COPY_BYTES)
                return false;
        for (const struct loop_stmt *s = phase->body->first; s; s = s->next)
                if (s->kind != STMT_ALLOC && !launches_is_warps(s))
                        return false;
        loop_block_walk(phase->body, count_other_of, count_load_of, &r);
        return r.copies && !r.others;
}

struct moving_loads { const struct loop_buffer *from; struct loop_buffer *to; };

static void move_load(struct loop_expr *e, void *context)
{
        const struct moving_loads *m = context;
        if (e->buffer == m->from)
                e->buffer = m->to;
}

/* Lets such a reader copy all of x into shared memory in the beginning, and load it from there.
 * Returns the loop over warps of the copies. */
static struct loop_stmt *put_copies(struct arena *arena, struct loop_stmt *phase,
                                    struct loop_buffer *x, struct loop_buffer **xs)
{
        const struct loop_stmt *warps = phase->body->first;
        struct loop_block *body = loop_block_new(arena);
        while (!launches_is_warps(warps))
                warps = warps->next;
        *xs = ARENA_NEW(arena, struct loop_buffer);
        **xs = (struct loop_buffer){ .name = "xs",
                                     .element = x->element,
                                     .extent = x->extent,
                                     .space = SPACE_SHARED,
                                     .offset = -1,
                                     .access = ACCESS_INOUT };
        loop_block_walk(phase->body, NULL, move_load, &(struct moving_loads){ x, *xs });
        loop_append(arena, body, STMT_ALLOC)->buffer = *xs;
        struct loop_stmt *copies = loop_append(arena, body, STMT_FOR);
        copies->variable = loop_variable_new(arena, "warp", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        copies->for_kind = FOR_GPU_WARP;
        copies->a = loop_index(arena, 0);
        copies->b = loop_index(arena, warps->b->literal.i);
        loop_append(arena, body, STMT_COMMIT);
        loop_append(arena, body, STMT_WAIT);
        *body->end = phase->body->first;
        body->end = phase->body->end;
        phase->body = body;
        return copies;
}

/* Can the statements of the reader be repeated, but for its copies (NULL: it loads elements)? */
static bool repeats(const struct loop_function *reader, const struct loop_stmt *copies)
{
        /* Skips the commit and the wait. */
        struct loop_block behind = { .first = copies ? copies->next->next->next
                                                     : launches_phase(reader)->body->first };
        bool found = false;
        loop_block_walk(&behind, find_copy, NULL, &found);
        return !found;
}

/* Returns how many of the reader's blocks become iterations of one block so that the fusion pays:
 * it saves a launch, but every wave of the reader's blocks repeats the maker's work. 0: it does not
 * pay. */
static int64_t iterations_of(const struct launches *a, const struct loop_function *maker,
                             const struct loop_function *reader, const struct loop_stmt *copies)
{
        const struct gpu *g = target_gpu(a->target);
        const struct grid_cost made = grid_cost_of(a->target, maker, maker->body->first, a->cold),
                               read = grid_cost_of(a->target, reader, reader->body->first, a->cold);
        if (read.waves * (made.seconds - g->launch) < made.seconds)
                return 1;
        /* The fused code of both kernels needs more registers, so fewer blocks are resident. */
        const int64_t resident = read.resident > 1 ? read.resident / 2 : read.resident;
        return repeats(reader, copies) && resident
                       ? divide_up(read.blocks, resident * g->multiprocessors)
                       : 0;
}

/* ---- the joined kernel ---- */

int launches_argument(const struct loop_function *f, const struct loop_buffer *parameter)
{
        int i = 0;
        while (f->buffers[i] != parameter)
                i++;
        return i;
}

/* Variables and buffers to substitute: the only block and warp of the maker become the reader's
 * first (NULL: there are several), and its result goes to `to`. */
struct moving {
        struct arena *arena;
        const struct loop_variable *block, *warp;
        const struct loop_buffer *from;
        struct loop_buffer *to;
};

static void move_expr(struct loop_expr *e, void *context)
{
        const struct moving *m = context;
        if (e->buffer == m->from)
                e->buffer = m->to;
        if (e->op == LOOP_VARIABLE && m->block &&
            (e->variable == m->block || e->variable == m->warp))
                *e = *loop_index(m->arena, 0);
}

static void move_stmt(struct loop_stmt *s, void *context)
{
        const struct moving *m = context;
        if (s->buffer == m->from)
                s->buffer = m->to;
}

/* Returns the length of a name without the number that loop_function_rename has appended. */
static int stem(const char *name)
{
        int length = (int)strlen(name), end = length;
        while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
                end--;
        return end > 1 && end < length && name[end - 1] == '_' ? end - 1 : length;
}

static bool is_taken(struct loop_buffer *const *all, int count, const char *name)
{
        for (int i = 0; i < count; i++)
                if (!strcmp(all[i]->name, name))
                        return true;
        return false;
}

void launches_parameters(struct arena *arena, const struct loop_function *maker,
                         const struct loop_buffer *made, struct loop_function *f,
                         const struct loop_buffer *read)
{
        struct loop_buffer **all =
                arena_array(arena, (size_t)(maker->buffer_count + f->buffer_count), sizeof *all);
        int count = 0;
        for (int i = 0; i < maker->buffer_count; i++)
                if (maker->buffers[i] != made) {
                        maker->buffers[i]->alias_class = 0;
                        all[count++] = maker->buffers[i];
                }
        for (int i = 0; i < f->buffer_count; i++)
                if (f->buffers[i] != read)
                        all[count++] = f->buffers[i];
        f->buffers = all;
        f->buffer_count = count;
        for (int i = 0; i < count; i++) {
                const char *name = all[i]->name;
                all[i]->number = i;
                for (int number = i; is_taken(all, i, all[i]->name); number++)
                        all[i]->name = arena_printf(arena, "%.*s_%d", stem(name), name, number);
        }
}

void launches_scalars(struct arena *arena, const struct loop_function *maker,
                      struct loop_function *f)
{
        const int count = maker->scalar_count + f->scalar_count;
        struct loop_variable **all = arena_array(arena, (size_t)count + 1, sizeof *all);
        for (int i = 0; i < count; i++) {
                all[i] = i < maker->scalar_count ? maker->scalars[i]
                                                 : f->scalars[i - maker->scalar_count];
                const char *name = all[i]->name;
                for (int k = 0, number = i; k < i; k++)
                        if (!strcmp(all[k]->name, all[i]->name)) {
                                all[i]->name = arena_printf(arena, "%.*s_%d", stem(name), name,
                                                            number++);
                                k = -1;
                        }
        }
        f->scalars = all;
        f->scalar_count = count;
}

/* Makes `iterations` blocks the iterations of one block. All statements are repeated except the
 * allocations and the warps that compute x. */
static void take_turns(struct arena *arena, struct loop_stmt *phase, const struct loop_stmt *makes,
                       int64_t iterations)
{
        const int64_t blocks = phase->b->literal.i;
        struct loop_variable *number = phase->variable;
        struct loop_block *old = phase->body, *once = phase->body = loop_block_new(arena),
                          *again = loop_block_new(arena);
        phase->variable = loop_variable_new(arena, "block", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        phase->b = loop_index(arena, divide_up(blocks, iterations));
        struct loop_stmt *iteration = loop_append(arena, again, STMT_FOR),
                         *let = loop_append(arena, iteration->body, STMT_LET);
        iteration->variable =
                loop_variable_new(arena, "iteration", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        iteration->a = loop_index(arena, 0);
        iteration->b = loop_index(arena, iterations);
        number->kind = VARIABLE_LET;
        let->variable = number;
        let->a = loop_op(arena, LOOP_ADD,
                         loop_op(arena, LOOP_MUL, loop_use(arena, phase->variable),
                                 loop_index(arena, iterations), NULL),
                         loop_use(arena, iteration->variable), NULL);
        struct loop_block *each = iteration->body;
        if (blocks % iterations) {
                struct loop_stmt *inside = loop_append(arena, each, STMT_IF);
                inside->a = loop_op(arena, LOOP_LT, loop_use(arena, number),
                                    loop_index(arena, blocks), NULL);
                each = inside->body;
        }
        for (struct loop_stmt *s = old->first, *next; s; s = next) {
                struct loop_block *to = s->kind == STMT_ALLOC || s == makes ? once : each;
                next = s->next;
                s->next = NULL;
                *to->end = s;
                to->end = &s->next;
        }
        *once->end = iteration;
        once->end = &iteration->next;
}

static struct loop_stmt *let(struct arena *arena, struct loop_block *block, struct loop_variable *v,
                             struct loop_expr *value)
{
        struct loop_stmt *s = loop_append(arena, block, STMT_LET);
        s->variable = v;
        v->kind = VARIABLE_LET;
        s->a = value;
        return s;
}

/* Distributes all warps of the maker over iterations of the reader's warps. A lane computes all its
 * elements before it stores any. */
static void share_elements(struct arena *arena, const struct loop_stmt *block,
                           const struct loop_stmt *warps, struct loop_stmt *reader)
{
        const int64_t of_block = warps->b->literal.i, all = block->b->literal.i * of_block,
                      sharing = reader->b->literal.i;
        struct loop_stmt *lanes = warps->body->first;
        struct loop_variable *iteration = loop_variable_new(arena, "iteration", LOOP_TYPE(E_INDEX),
                                                            VARIABLE_LOOP),
                             *number = loop_variable_new(arena, "number", LOOP_TYPE(E_INDEX),
                                                         VARIABLE_LET);
        struct loop_block *body = loop_block_new(arena), *inside = body, *elements = lanes->body;
        let(arena, body, number,
            loop_op(arena, LOOP_ADD,
                    loop_op(arena, LOOP_MUL, loop_use(arena, iteration), loop_index(arena, sharing),
                            NULL),
                    loop_use(arena, reader->variable), NULL));
        if (all % sharing) {
                struct loop_stmt *there = loop_append(arena, body, STMT_IF);
                there->a = loop_op(arena, LOOP_LT, loop_use(arena, number), loop_index(arena, all),
                                   NULL);
                inside = there->body;
        }
        let(arena, inside, block->variable,
            loop_op(arena, LOOP_DIV, loop_use(arena, number), loop_index(arena, of_block), NULL));
        let(arena, inside, warps->variable,
            loop_op(arena, LOOP_REM, loop_use(arena, number), loop_index(arena, of_block), NULL));
        *inside->end = elements->first;
        inside->end = elements->end;
        lanes->body = loop_block_new(arena);
        grid_iterations_write(arena, iteration, (all + sharing - 1) / sharing, body, lanes->body);
        reader->body = warps->body;
}

static struct loop_function *join(struct launches *a, const struct loop_function *maker,
                                  const struct loop_buffer *y, const struct loop_function *reader,
                                  const struct loop_buffer *x)
{
        struct arena *arena = a->p->arena;
        struct loop_function *m = kernel_copy(arena, maker), *f = kernel_copy(arena, reader);
        struct loop_buffer *made = m->buffers[launches_argument(maker, y)],
                           *read = f->buffers[launches_argument(reader, x)], *xs;
        struct loop_stmt *copies = copies_of(f, read, &xs), *phase = f->body->first,
                         *block = m->body->first, *warps = block->body->first;
        const int64_t iterations = iterations_of(a, maker, reader, copies);
        if (!copies)
                copies = put_copies(arena, phase, read, &xs);
        const bool one = block->b->literal.i == 1 && warps->b->literal.i == 1;
        struct moving moving = { arena, one ? block->variable : NULL, one ? warps->variable : NULL,
                                 made, xs };
        loop_block_walk(warps->body, move_stmt, move_expr, &moving);
        if (one) {
                copies->body = loop_block_new(arena);
                struct loop_stmt *first = loop_append(arena, copies->body, STMT_IF);
                first->a = loop_op(arena, LOOP_LT, loop_use(arena, copies->variable),
                                   loop_index(arena, 1), NULL);
                first->body = warps->body;
        } else {
                share_elements(arena, block, warps, copies);
        }
        copies->next = copies->next->next->next;        /* Skips the commit and the wait. */
        if (!copies->next)
                phase->body->end = &copies->next;
        if (iterations > 1)
                take_turns(arena, phase, copies, iterations);
        launches_parameters(arena, m, made, f, read);
        loop_function_rename(arena, f);
        const double times = (double)phase->b->literal.i;
        launches_describe(arena, maker, reader, f);
        f->flops = reader->flops + maker->flops * times;
        f->again = reader->again + maker->again * times + maker->flops * (times - 1);
        return f;
}

void launches_describe(struct arena *arena, const struct loop_function *maker,
                       const struct loop_function *reader, struct loop_function *f)
{
        f->location = maker->location && reader->location
                              ? arena_printf(arena, "%s, %s", maker->location, reader->location)
                              : reader->location;
        f->summary = maker->summary && reader->summary
                             ? arena_printf(arena, "%s; %s", maker->summary, reader->summary)
                             : reader->summary;
}

struct loop_function *launches_joined(struct launches *a, const struct loop_function *maker,
                                      const struct loop_buffer *y,
                                      const struct loop_function *reader,
                                      const struct loop_buffer *x, launches_join how)
{
        for (int i = 0; i < a->pair_count; i++)
                if (a->pairs[i].maker == maker && a->pairs[i].reader == reader &&
                    a->pairs[i].join == how)
                        return a->pairs[i].made;
        struct launches_pair pair = { maker, reader, how, how(a, maker, y, reader, x) };
        if (pair.made)
                loop_kernel_add(a->p, pair.made);
        ARENA_GROW(a->p->arena, a->pairs, a->pair_count);
        a->pairs[a->pair_count++] = pair;
        return pair.made;
}

/* ---- calls ---- */

struct uses { const struct loop_buffer *buffer; int count; };

static void count_call(struct loop_stmt *s, void *context)
{
        struct uses *u = context;
        for (int i = 0; s->kind == STMT_CALL && i < s->function->buffer_count; i++)
                u->count += loop_buffer_root(s->buffers[i], NULL) == u->buffer;
}

static void count_load(struct loop_expr *e, void *context)
{
        struct uses *u = context;
        u->count += e->buffer && loop_buffer_root(e->buffer, NULL) == u->buffer;
}

/* Does the call write a buffer that the other one reads? */
static bool writes(const struct loop_stmt *call, const struct loop_stmt *other)
{
        for (int i = 0; i < call->function->buffer_count; i++)
                for (int k = 0; k < other->function->buffer_count; k++)
                        if (call->function->buffers[i]->access != ACCESS_IN &&
                            other->function->buffers[k]->access == ACCESS_IN &&
                            loop_buffer_root(call->buffers[i], NULL) ==
                                    loop_buffer_root(other->buffers[k], NULL))
                                return true;
        return false;
}

struct loop_stmt *launches_reader(const struct loop_stmt *maker, const struct loop_buffer *made,
                                  int *at)
{
        for (struct loop_stmt *s = maker->next;
             s && s->kind == STMT_CALL && s->function->kind == FUNCTION_KERNEL; s = s->next) {
                if (writes(s, maker))
                        return NULL;
                for (*at = 0; *at < s->function->buffer_count; ++*at)
                        if (s->buffers[*at] == made)
                                return s;
        }
        return NULL;
}

bool launches_has_offsets(const struct loop_stmt *call)
{
        for (int i = 0; call->offsets && i < call->function->buffer_count; i++)
                if (call->offsets[i])
                        return true;
        return false;
}

void launches_call(struct launches *a, const struct loop_stmt *maker, int made_at,
                   struct loop_stmt *reader, int read_at, struct loop_function *f)
{
        struct loop_buffer **buffers =
                arena_array(a->p->arena, (size_t)f->buffer_count, sizeof *buffers);
        const char *made = loop_call_location(maker), *read = loop_call_location(reader);
        int count = 0;
        for (int i = 0; i < maker->function->buffer_count; i++)
                if (i != made_at)
                        buffers[count++] = maker->buffers[i];
        for (int i = 0; i < reader->function->buffer_count; i++)
                if (i != read_at)
                        buffers[count++] = reader->buffers[i];
        const int own = maker->function->scalar_count, more = reader->function->scalar_count;
        struct loop_expr **scalars =
                arena_array(a->p->arena, (size_t)(own + more) + 1, sizeof *scalars);
        for (int i = 0; i < own + more; i++)
                scalars[i] = i < own ? maker->scalars[i] : reader->scalars[i - own];
        reader->scalars = scalars;
        reader->function = f;
        reader->buffers = buffers;
        reader->offsets = NULL;
        reader->location = NULL;
        if (made && read)
                loop_call_locate(a->p->arena, reader,
                                 arena_printf(a->p->arena, "%s, %s", made, read));
}

bool launches_has_views(const struct loop_program *p, const struct loop_buffer *b)
{
        for (const struct loop_buffer *v = p->buffers; v; v = v->next)
                if (v->space == SPACE_VIEW && v->view_of == b)
                        return true;
        return false;
}

void launches_drop(struct loop_program *p, const struct loop_buffer *b)
{
        struct loop_buffer **at = &p->buffers;
        while (*at != b)
                at = &(*at)->next;
        *at = b->next;
        if (!*at)
                p->buffers_end = at;
}

int launches_uses(const struct loop_program *p, const struct loop_buffer *b)
{
        struct uses uses = { .buffer = b };
        loop_walk_mains(p, count_call, count_load, &uses);
        return uses.count;
}

static bool fuse_into_reader(struct launches *a, const struct loop_stmt *maker)
{
        struct loop_buffer *y = maker->function->kind == FUNCTION_KERNEL ? made_by(maker->function)
                                                                         : NULL,
                           *xs;
        const int made_at = y ? launches_argument(maker->function, y) : 0;
        int read_at;
        struct loop_buffer *made = y ? maker->buffers[made_at] : NULL;
        if (!made || made->space != SPACE_WORKSPACE || launches_has_views(a->p, made) ||
            launches_has_offsets(maker))
                return false;
        struct loop_stmt *reader =
                launches_uses(a->p, made) == 2 ? launches_reader(maker, made, &read_at) : NULL;
        if (!reader || launches_has_offsets(reader))
                return false;
        const struct loop_buffer *x = reader->function->buffers[read_at];
        const struct loop_stmt *copies =
                x->access == ACCESS_IN && x->element == y->element && !x->alias_class
                        ? copies_of(reader->function, x, &xs)
                        : NULL;
        const bool known = copies ? xs->extent >= y->extent
                                  : x->access == ACCESS_IN && x->element == y->element &&
                                            !x->alias_class && x->extent == y->extent &&
                                            loads_of(reader->function, x);
        const int64_t iterations =
                known ? iterations_of(a, maker->function, reader->function, copies) : 0;
        if (!iterations)
                return false;
        launches_call(a, maker, made_at, reader, read_at,
                      launches_joined(a, maker->function, y, reader->function, x, join));
        launches_drop(a->p, made);
        return true;
}

/* Makes fewer launches of the entry at p->at; returns by how many. */
static int fuse_entry(struct launches *a, bool apart)
{
        struct loop_program *p = a->p;
        int count = 0;
        for (struct loop_stmt **at = &loop_main(p)->body->first; *at;)
                if ((*at)->kind == STMT_CALL &&
                    (fuse_into_reader(a, *at) || launches_rows(a, *at))) {
                        *at = (*at)->next;
                        count++;
                } else {
                        at = &(*at)->next;
                }
        for (struct loop_stmt *s = loop_main(p)->body->first; s && apart; s = s->next)
                while (s->kind == STMT_CALL && launches_apart(a, s))
                        count++;
        for (loop_main(p)->body->end = &loop_main(p)->body->first; *loop_main(p)->body->end;)
                loop_main(p)->body->end = &(*loop_main(p)->body->end)->next;
        return count;
}

int pass_fuse_launches(struct loop_program *p, struct pass_context *context)
{
        struct launches a = { .p = p, .target = context->target };
        int count = 0;
        if (!target_gpu(context->target))
                return 0;
        a.cold = grid_is_cold(context->target, p);
        for (p->at = 0; p->at < p->entry_count; p->at++)
                count += fuse_entry(&a, !context->memory);
        p->at = 0;
        return count;
}
