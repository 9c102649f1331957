/* SPDX-License-Identifier: MIT */
/* attention: the kernels of two products, with rows between them, become one.
 *
 *   %1 = fusion(%q, %k) { ... convolve_packed groups=12 ... }        %4 = fusion(%q, %k, %v) { ... convolve_packed groups=12 ...
 *   %2 = fusion(%1) { ... reduce ... exp ... }                  ->          ... reduce ... exp ...
 *   %3 = fusion(%2) { reduce, reciprocal }                                  reduce, reciprocal
 *   %4 = fusion(%2, %v, %3) { ... convolve_packed ... mul ... }             ... convolve_packed ... mul ... schedule="strip=4" }
 *
 * It computes scores for a block of rows at a time, into memory that stays in the second cache, and
 * no workspace holds all of them. The operations and what they add up in which order stay as they
 * were: the same bits.
 *
 * Where the rows between are those of a softmax, they may be cut into blocks of columns (keys=512),
 * too: when few whole rows fit into the cache, and when a mask is known to hide columns (a causal
 * one), which are then left out. That changes rounding. And a key or value that is hidden from all
 * rows of a block is not read: where it is infinite or NaN, what would be NaN is a number.
 *
 * Where there are few rows and the engine multiplies in blocks of warps, keys and values may be
 * concats, as a decoder's caches are: the keys so far, and the new ones. The kernel then reads the
 * parts where they lie, and has the concats as results where other kernels read them, too:
 *
 *   %1 = concat(%past, %new)                                         %1, %2 = fusion(%past, %new, %q, ..) { .. concat .. dot .. }
 *   %2 = fusion(%q, %1, ..) { dot ... dot }                     ->
 *
 * unless the few thread blocks that store the concats take longer than a kernel of its own.
 *
 * Where a run gives the rows or the keys, products are of matrices (dot), and stay so: the kernel
 * itself packs what it multiplies by (kernels/attention_open.c). What makes heads a dimension of
 * rows behind it is part of the kernel.
 *
 * Where an operation outside reads a value between the two products, or the scheduled lowering
 * (kernels/attention_kernel.c) cannot write it, nothing changes; nor where a tile of whole rows is
 * needed and does not fit into half of that cache. */
#include "cost/room.h"
#include "passes/fuse/join.h"
#include "kernels/attention.h"
#include "kernels/kernels.h"
#include "schedule/choose.h"
#include "schedule/schedule_choice.h"

enum { GROUP = 1, ROW = 2, COLUMN = 3 };         /* The dimensions of scores have these numbers. */
enum { KERNELS_MAX = 24, RESULTS_MAX = 3, LEAST_KEYS = 64 };

/* ---- which kernels ---- */

/* The struct has the kernels that become one, in the order of the program, and the results of that
 * one. */
struct candidates {
        struct op *kernels[KERNELS_MAX];
        int count;
        struct value *results[RESULTS_MAX];
        int result_count;
};

static bool is_member(const struct candidates *c, const struct op *op)
{
        for (int i = 0; i < c->count; i++)
                if (c->kernels[i] == op)
                        return true;
        return false;
}

/* Returns the operation of the function's (or a branch's) region that op is, or is inside of. */
static struct op *kernel_of(struct op *op)
{
        struct op *owner = op->region->owner;
        return owner && owner->code == OP_fusion ? owner : op;
}

/* Returns the only contraction of the kernel, an operation or a fusion of one result, if it is a
 * packed product with a schedule or a product of matrices; NULL if it has none, or several. */
static struct op *product_of(struct op *kernel)
{
        struct region *region = kernel->code == OP_fusion ? kernel->regions[0] : NULL;
        struct op *found = NULL;
        for (struct op *op = region ? region->first : kernel; op; op = region ? op->next : NULL) {
                if (!(op_info[op->code].traits & TRAIT_CONTRACTION))
                        continue;
                if (found ||
                    (op->code != OP_dot && (op->code != OP_convolve_packed || !op->schedule)))
                        return NULL;
                found = op;
        }
        return kernel->result_count == 1 ? found : NULL;
}

/* Does a come before b in their region? The walk goes back from both at once, because they are near
 * each other in a region that may be long. */
static bool comes_before(const struct op *a, const struct op *b)
{
        for (const struct op *p = a, *q = b; p || q;) {
                p = p ? p->previous : NULL;
                q = q ? q->previous : NULL;
                if (p == b || q == a)
                        return q == a;
        }
        return false;
}

static bool add_in_order(struct candidates *c, struct op *kernel)
{
        int at = c->count++;
        for (; at > 0 && comes_before(kernel, c->kernels[at - 1]); at--)
                c->kernels[at] = c->kernels[at - 1];
        c->kernels[at] = kernel;
        return kernel->result_count == 1 && kernel->code != OP_yield;
}

/* Adds the readers of kernel's result, and the readers of theirs, up to `second`. Returns false if
 * a result on the way is read elsewhere. */
static bool add_readers(struct candidates *c, struct op *kernel, const struct op *second)
{
        for (const struct use *u = op_result(kernel)->uses; u; u = u->next) {
                struct op *reader = kernel_of(u->user);
                if (is_member(c, reader))
                        continue;
                if (reader->region != second->region || c->count == KERNELS_MAX ||
                    !add_in_order(c, reader))
                        return false;
                if (reader != second && !add_readers(c, reader, second))
                        return false;
        }
        return true;
}

/* Returns the kernel with a product whose result x is made from: the walk goes upward from x
 * through kernels that read one large operand with the same rows. NULL: there is none within 4
 * kernels. */
static struct op *find_first(const struct value *x)
{
        for (int hops = 0; hops < 4 && x->kind == VALUE_RESULT; hops++) {
                struct op *kernel = x->op;
                if (product_of(kernel))
                        return kernel;
                int count = kernel->operand_count;
                struct arena *arena = arena_new();
                struct value **captures =
                        kernel->code == OP_fusion ? op_captures(arena, kernel, &count) : NULL;
                const struct value *next = NULL;
                for (int i = 0; i < count; i++) {
                        const struct value *read = captures ? captures[i] : op_operand(kernel, i);
                        if (read && read->kind == VALUE_RESULT &&
                            attention_same_rows(read->type, x->type) &&
                            (!next ||
                             dim_bound(op_module(kernel), read->type->dims[COLUMN]) >
                                     dim_bound(op_module(kernel), next->type->dims[COLUMN])))
                                next = read;
                }
                arena_free(arena);
                if (!next || next->op->region != kernel->region)
                        return NULL;
                x = next;
        }
        return NULL;
}

/* Do only candidates read v? */
static bool is_read_by(const struct candidates *c, const struct value *v)
{
        for (const struct use *u = v->uses; u; u = u->next)
                if (!is_member(c, kernel_of(u->user)))
                        return false;
        return true;
}

/* Does the kernel only move what it reads, and do only candidates read its result? */
static bool moves_for(const struct candidates *c, struct op *kernel)
{
        const struct region *region = kernel->code == OP_fusion ? kernel->regions[0] : NULL;
        if (kernel->result_count != 1)
                return false;
        if (!is_read_by(c, op_result(kernel)))
                return false;
        for (const struct op *op = region ? region->first : kernel; op && op->code != OP_yield;
             op = region ? op->next : NULL)
                if (op->code != OP_reshape && op->code != OP_transpose && op->code != OP_pad)
                        return false;
        return true;
}

/* Adds the kernels that pack the product's second operand: blocks of warps put words in the order
 * they need as they copy. */
static bool add_packing(struct candidates *c, const struct op *product)
{
        struct value *v = op_operand(product, 1);
        while (v->kind == VALUE_RESULT && v->op->region == c->kernels[0]->region &&
               moves_for(c, v->op)) {
                struct op *kernel = v->op;
                int count = kernel->operand_count;
                if (c->count == KERNELS_MAX || !add_in_order(c, kernel))
                        return false;
                struct arena *arena = arena_new();
                struct value **captures =
                        kernel->code == OP_fusion ? op_captures(arena, kernel, &count) : NULL;
                for (int i = count - 1; i >= 0; i--) {
                        struct value *read = captures ? captures[i] : op_operand(kernel, i);
                        v = read && read->kind != VALUE_CONSTANT ? read : v;
                }
                arena_free(arena);
        }
        return true;
}

/* Can kernels without packing have this product: one of matrices whose rows or keys a run gives? */
static bool is_open(const struct op *product, const struct target *target)
{
        return product->code == OP_dot && !op_is_static(product) &&
               kernels_open(OP_convolve_packed, target);
}

/* Does the kernel compute each element of its only result from a few elements, so that who reads
 * the element may compute it instead? */
static bool is_light(struct op *kernel)
{
        const struct region *region = kernel->code == OP_fusion ? kernel->regions[0] : NULL;
        for (const struct op *op = region ? region->first : kernel; op && op->code != OP_yield;
             op = region ? op->next : NULL)
                if (!(op_info[op->code].traits & TRAIT_ELEMENTWISE) && op->code != OP_broadcast &&
                    op->code != OP_reshape && op->code != OP_transpose && op->code != OP_slice &&
                    op->code != OP_concat && op->code != OP_iota)
                        return false;
        return kernel->result_count == 1;
}

/* Returns the first of the two products. */
static struct op *first_product(const struct candidates *c)
{
        int i = 0;
        while (!product_of(c->kernels[i]))
                i++;
        return product_of(c->kernels[i]);
}

/* Returns the value from outside of the kernel that the product's second operand is moved from. */
static const struct value *columns_read(const struct op *product)
{
        const struct value *v = op_operand(product, 1);
        const struct op *owner = product->region->owner;
        while (owner && owner->code == OP_fusion && v->kind == VALUE_RESULT &&
               v->op->region == product->region && v->op->operand_count)
                v = op_operand(v->op, 0);
        return v;
}

/* Adds light kernels that nothing but candidates reads, apart from what makes these two values. */
static void add_light_of(struct candidates *c, const struct value *a, const struct value *b)
{
        for (bool again = true; again;) {
                again = false;
                for (int k = 0; k < c->count && !again; k++) {
                        struct op *kernel = c->kernels[k];
                        int count = kernel->operand_count;
                        struct arena *arena = arena_new();
                        struct value **captures =
                                kernel->code == OP_fusion ? op_captures(arena, kernel, &count)
                                                          : NULL;
                        for (int i = 0; i < count && !again; i++) {
                                struct value *v = captures ? captures[i] : op_operand(kernel, i);
                                again = v && v->kind == VALUE_RESULT && v != a && v != b &&
                                        v->op->region == kernel->region &&
                                        c->count < KERNELS_MAX && !is_member(c, v->op) &&
                                        is_light(v->op) && is_read_by(c, v) &&
                                        add_in_order(c, v->op);
                        }
                        arena_free(arena);
                }
        }
}

/* Adds what turns queries, or makes a mask. What makes keys and values stays, because each block of
 * rows would compute it again. */
static void add_light(struct candidates *c)
{
        add_light_of(c, columns_read(first_product(c)),
                     columns_read(product_of(c->kernels[c->count - 1])));
}

static bool find_kernels(struct op *second, struct candidates *c, const struct target *target)
{
        const bool packs = target_engine(target)->launches;
        struct op *product = product_of(second);
        struct value *x = product ? op_operand(product, 0) : NULL;
        struct op *first = x && x->kind == VALUE_RESULT && x->op->region == second->region
                                   ? find_first(x)
                                   : NULL;
        if (!first || first == second || first->region != second->region ||
            (product->code == OP_dot && !(packs && op_is_static(product)) &&
             !is_open(product, target)) ||
            product_of(first)->code != product->code)
                return false;
        *c = (struct candidates){ .kernels = { first },
                                  .count = 1,
                                  .results = { op_result(second) },
                                  .result_count = 1 };
        if (!add_readers(c, first, second) || c->kernels[c->count - 1] != second)
                return false;
        return !packs || product->code == OP_dot ||
               (add_packing(c, product_of(first)) && add_packing(c, product));
}

/* ---- caches ---- */

/* Does every reader of v stand behind `second`, or become one kernel with it? Sets *others if a
 * kernel reads v that is no candidate. */
static bool is_read_behind(const struct candidates *c, const struct op *second,
                           const struct value *v, bool *others)
{
        *others = false;
        for (const struct use *u = v->uses; u; u = u->next) {
                struct op *reader = kernel_of(u->user);
                if (is_member(c, reader))
                        continue;
                if (reader->region != second->region || !comes_before(second, reader))
                        return false;
                *others = true;
        }
        return true;
}

static void add_concat(struct candidates *c, const struct op *second, struct value *keys)
{
        bool others;
        if (keys->kind != VALUE_RESULT || !attention_concat(second->region, keys) ||
            is_member(c, keys->op) || c->count == KERNELS_MAX ||
            !is_read_behind(c, second, keys, &others))
                return;
        add_in_order(c, keys->op);
        if (others)
                c->results[c->result_count++] = keys;
}

/* Sets *with to the candidates and the concats that make their keys and values. Returns false if
 * there is no such concat, or if too few thread blocks (one of each group stores) store the
 * concats. */
static bool find_caches(const struct candidates *c, const struct target *target,
                        struct candidates *with)
{
        const struct op *second = c->kernels[c->count - 1],
                        *product = product_of(c->kernels[c->count - 1]);
        int64_t stored = 0;
        *with = *c;
        const struct engine *engine = target_engine(target);
        if (!engine->stores_caches || product->code != OP_dot || !op_is_static(product))
                return false;
        add_concat(with, second, op_operand(product_of(find_first(op_operand(product, 0))), 1));
        add_concat(with, second, op_operand(product, 1));
        for (int i = 1; i < with->result_count; i++)
                stored += type_bytes(with->results[i]->type);
        return with->count > c->count &&
               engine->stores_caches(target, type_extent(op_result(product)->type, GROUP),
                                     (double)stored);
}

/* ---- how ---- */

/* Rows are cut into `count` tiles, most of which have `size` rows. */
struct tiles { int64_t count, size; };

static struct tiles tiles_of(const struct attention *a, int columns)
{
        int64_t rows = type_extent(a->scores->type, ROW), count = divide_up(rows, columns);
        return (struct tiles){ count, divide_up(rows, count) };
}

static int64_t columns_of(const struct attention *a, const struct schedule_machine *machine)
{
        return attention_columns(a, machine->target);
}

static int64_t score_bytes(const struct attention *a)
{
        return element_info[a->scores->type->element].bytes;
}

/* Returns how many tiles with this many columns of scores fill a quarter of the second cache. */
static int64_t tiles_in_quarter(const struct attention *a, struct tiles tiles, int64_t columns,
                                const struct schedule_machine *machine)
{
        return room_part(machine->target) / (tiles.size * columns * score_bytes(a));
}

/* Returns how many tiles a block of whole rows has: its scores fill a quarter of the second cache,
 * and threads get equal numbers of blocks. 0: not even one tile fits into half of the cache. */
static int64_t block_tiles(const struct attention *a, struct tiles tiles,
                           const struct schedule_machine *machine)
{
        int64_t most = tiles_in_quarter(a, tiles, columns_of(a, machine), machine);
        if (!most && !tiles_in_quarter(a, tiles, divide_up(columns_of(a, machine), 2), machine))
                return 0;
        int64_t threads = machine->threads > 1 ? machine->threads : 1,
                blocks = divide_up(tiles.count, most ? most : 1);
        while (type_extent(a->scores->type, GROUP) * blocks % threads && blocks < tiles.count)
                blocks++;
        return divide_up(tiles.count, blocks);
}

/* Returns how many columns a block has where rows may be cut: their keys and values fill a quarter
 * of the second cache. */
static int64_t block_keys(const struct attention *a, const struct schedule_machine *machine)
{
        int64_t depth =
                op_int(a->first, "channels") + type_extent(op_result(a->second)->type, COLUMN);
        int64_t keys = room_part(machine->target) /
                       (depth * element_info[op_operand(a->first, 1)->type->element].bytes) /
                       LEAST_KEYS * LEAST_KEYS;
        int64_t columns = columns_of(a, machine);
        return keys > columns ? columns : keys < LEAST_KEYS ? LEAST_KEYS : keys;
}

/* Returns how many tiles a block of this many columns has: its scores fill a quarter of the second
 * cache, too. Columns that the mask hides from all rows of a block are left out, and the fewer rows
 * a block has, the more columns those are. Blocks are the same for every number of threads, because
 * they decide what is left out, and so how results are rounded. */
static int64_t block_tiles_of_keys(const struct attention *a, struct tiles tiles, bool hides,
                                   int64_t keys, const struct schedule_machine *machine)
{
        enum { HIDING_BLOCKS = 16 };
        int64_t most = tiles_in_quarter(a, tiles, keys, machine);
        int64_t hiding = columns_of(a, machine) / HIDING_BLOCKS / tiles.size;
        most = hides && hiding < most ? hiding : most;
        return divide_up(tiles.count, divide_up(tiles.count, most > 1 ? most : 1));
}

/* Does the mask hide enough of the columns from blocks of this many rows? */
static bool hides_much(const struct attention *a, int64_t rows)
{
        const struct type *t = a->scores->type;
        const struct band band = attention_band(a);
        int64_t seen = 0;
        for (int64_t from = 0; from < band.rows; from += rows) {
                int64_t to = from + rows < band.rows ? from + rows : band.rows;
                int64_t low = from + band.low > 0 ? from + band.low : 0;
                int64_t high = to + band.high < type_extent(t, COLUMN) ? to + band.high
                                                                       : type_extent(t, COLUMN);
                seen += high > low ? (high - low) * (to - from) : 0;
        }
        return (double)seen < .9 * (double)band.rows * (double)type_extent(t, COLUMN);
}

/* Should rows be cut into blocks of columns? The answer is the same for every number of threads.
 * *hides: the mask is the reason. */
static bool cuts_rows(const struct attention *a, struct tiles tiles,
                      const struct schedule_machine *machine, bool *hides)
{
        enum { FEW = 2 };
        int64_t fit = tiles_in_quarter(a, tiles, columns_of(a, machine), machine);
        *hides = hides_much(a, tiles.size);
        return *hides || fit < (tiles.count < FEW ? tiles.count : FEW);
}

/* Every block of rows reads the second operands of both products. If these do not fit into the
 * second cache, they must be fewer bytes than the scores, which no longer go through memory. That
 * holds for keys and values, but not for the weights of two layers with a norm between them. */
static bool reads_less(const struct attention *a, int64_t blocks,
                       const struct schedule_machine *machine)
{
        const struct type *scores = a->scores->type;
        int64_t again = (type_bytes(op_operand(a->first, 1)->type) +
                         type_bytes(op_operand(a->second, 1)->type)) /
                        type_extent(scores, GROUP);
        int64_t spared = 2 * type_extent(scores, ROW) * columns_of(a, machine) * score_bytes(a);
        return again <= room_whole(machine->target) || again <= spared / blocks;
}

/* Lets the engine set the schedules. Where it multiplies in blocks of warps, these are the only
 * blocks that rows can have, and they go over blocks of columns. */
static bool set_by_engine(const struct attention *a, const struct target *target,
                          struct pass_context *context, struct arena *arena)
{
        struct schedule second;
        if ((!a->sum && !a->powers) || context->exact ||
            !target_engine(target)->attention_schedule(a, target, arena, &second))
                return false;
        if (a->first->code == OP_dot)
                a->first->schedule = schedule_keep(arena, schedule_preset(SCHEDULE_registers));
        a->second->schedule = schedule_keep(arena, second);
        return true;
}

/* Sets the schedules of products of matrices whose rows or keys a run gives: as many rows as a
 * register tile has, of which whole rows of scores fill a quarter of the second cache at most. */
static bool set_open(const struct attention *a, const struct schedule_machine *machine,
                     const struct pass_context *context, struct arena *arena)
{
        enum { VECTORS = 2 };
        const struct target *target = machine->target;
        const struct multiply *m = multiply_for(target, E_F32, E_F32, false);
        const struct module *module = op_module(a->first);
        const int64_t rows = dim_bound(module, a->scores->type->dims[ROW]),
                      columns = dim_bound(module, a->scores->type->dims[COLUMN]),
                      groups = type_extent(a->scores->type, GROUP),
                      fit = room_part(target) / (columns * score_bytes(a));
        const bool one = dim_is(a->scores->type->dims[0], 1);
        int64_t most = schedule_positions(target, m, VECTORS, 2);
        most = most < fit ? most : fit;
        if (context->exact || rows < ATTENTION_OPEN_ROWS || most < ATTENTION_OPEN_ROWS)
                return false;
        struct schedule_registers s = schedule_preset(SCHEDULE_registers).registers;
        s.columns = (int)(most < rows ? most : rows);
        s.vectors = VECTORS;
        s.row_tasks = machine->threads > groups && one ? (int)groups
                      : machine->threads > 1    ? machine->threads
                                                : 1;
        a->first->schedule = a->second->schedule =
                schedule_keep(arena, schedule_of_registers(s, NULL));
        return true;
}

static bool set_schedules(const struct attention *a, const struct schedule_machine *machine,
                          struct pass_context *context, struct arena *arena)
{
        if (target_engine(machine->target)->attention_schedule)
                return set_by_engine(a, machine->target, context, arena);
        if (!op_is_static(a->first) || !op_is_static(a->second))
                return set_open(a, machine, context, arena);
        struct schedule_registers first = schedule_tiles(a->first->schedule),
                                  second = schedule_tiles(a->second->schedule);
        int columns = first.columns * first.rows < second.columns * second.rows
                              ? first.columns * first.rows
                              : second.columns * second.rows;
        struct tiles tiles = tiles_of(a, columns);
        int64_t strip = block_tiles(a, tiles, machine);
        bool hides;
        first.columns = second.columns = columns;
        first.rows = second.rows = first.row_tasks = first.panel_tasks = second.panel_tasks = 1;
        first.flat = second.flat = first.strip = 0;
        if (a->sum && !context->exact && cuts_rows(a, tiles, machine, &hides)) {
                second.keys = (int)block_keys(a, machine);
                strip = block_tiles_of_keys(a, tiles, hides, second.keys, machine);
        }
        second.strip = (int)strip;
        second.row_tasks = machine->threads > 1 ? machine->threads : 1;
        a->first->schedule = schedule_keep(arena, schedule_of_registers(first, NULL));
        a->second->schedule = schedule_keep(arena, schedule_of_registers(second, NULL));
        return strip > 0 && reads_less(a, divide_up(tiles.count, strip), machine);
}

static bool join_candidates(const struct candidates *c, struct pass_context *context)
{
        const struct schedule_machine machine = { .target = context->target,
                                                  .threads = context->lower.threads };
        struct attention a;
        struct op *joined = kernel_join_results(c->kernels, c->count, c->results, c->result_count,
                                                context->diag);
        bool good =
                joined &&
                attention_find(joined->regions[0], op_operand(joined->regions[0]->last, 0), &a) &&
                set_schedules(&a, &machine, context, joined->region->function->module->arena);
        if (!good || !kernels_accept(joined, &context->lower, context->library, context->diag)) {
                if (joined)
                        op_erase(joined);
                return false;
        }
        for (int i = 0; i < c->result_count; i++)
                value_replace(c->results[i], &joined->results[i]);
        for (int i = c->count - 1; i >= 0; i--)
                op_erase(c->kernels[i]);
        return true;
}

/* Does the kernel only change the order of elements? */
static bool only_moves(const struct op *kernel)
{
        const struct region *region = kernel->code == OP_fusion ? kernel->regions[0] : NULL;
        for (const struct op *op = region ? region->first : kernel; op && op->code != OP_yield;
             op = region ? op->next : NULL)
                if (op->code != OP_reshape && op->code != OP_transpose)
                        return false;
        return kernel->result_count == 1 && kernel->code != OP_reshape;
}

/* Returns the attention kernel of matrices whose rows or keys a run gives that `moves` alone reads;
 * NULL: there is none. */
static struct op *find_moved(struct op *moves)
{
        int count = moves->operand_count;
        struct arena *arena = arena_new();
        struct value **captures =
                moves->code == OP_fusion ? op_captures(arena, moves, &count) : NULL;
        struct value *x = count == 1 ? captures ? captures[0] : op_operand(moves, 0) : NULL;
        arena_free(arena);
        struct op *kernel = x && x->kind == VALUE_RESULT ? x->op : NULL;
        struct attention a;
        return kernel && kernel->code == OP_fusion && kernel->region == moves->region &&
                               kernel->result_count == 1 && value_has_one_use(x) &&
                               kernel_of(x->uses->user) == moves &&
                               attention_find(kernel->regions[0],
                                              op_operand(kernel->regions[0]->last, 0), &a) &&
                               !op_is_static(a.second) && a.second->schedule
                       ? kernel
                       : NULL;
}

/* Joins what makes heads a dimension of rows with the attention in front of it: the results are
 * stored there. */
static bool join_moves(struct op *moves, struct pass_context *context)
{
        struct op *kernel = only_moves(moves) ? find_moved(moves) : NULL,
                  *joined = kernel ? kernel_join((struct op *const[]){ kernel, moves }, 2,
                                                 context->diag)
                                   : NULL;
        if (!joined || !kernels_accept(joined, &context->lower, context->library, context->diag)) {
                if (joined)
                        op_erase(joined);
                return false;
        }
        value_replace(op_result(moves), op_result(joined));
        op_erase(moves);
        op_erase(kernel);
        return true;
}

/* Joins a scatter, which a cache of as many rows as a run gives is appended to by, with the light
 * kernels that make its updates: each of these is stored once, where it goes. */
static bool join_updates(struct op *scatter, struct pass_context *context)
{
        struct candidates c = { .kernels = { scatter }, .count = 1 };
        const struct value *y = op_result(scatter);
        if (scatter->code != OP_scatter || op_int(scatter, "axis") < 0 ||
            op_operand(scatter, 0)->kind != VALUE_ARGUMENT || op_int(scatter, "kind") ||
            !target_engine(context->target)->launches)
                return false;
        struct value *updates = op_operand(scatter, 2);
        if (updates->kind != VALUE_RESULT || updates->op->region != scatter->region ||
            !is_light(updates->op) || !is_read_by(&c, updates) || !add_in_order(&c, updates->op))
                return false;
        add_light_of(&c, op_operand(scatter, 0), op_operand(scatter, 1));
        struct op *joined = kernel_join(c.kernels, c.count, context->diag);
        if (!joined)
                return false;
        value_replace((struct value *)(uintptr_t)y, op_result(joined));
        for (int i = c.count - 1; i >= 0; i--)
                op_erase(c.kernels[i]);
        return true;
}

static bool join(struct op *second, struct pass_context *context)
{
        if (join_updates(second, context))
                return true;
        struct candidates c, with;
        const bool found = find_kernels(second, &c, context->target);
        if (found && target_engine(context->target)->launches &&
            !op_is_static(first_product(&c))) {
                with = c;
                add_light(&with);
                if (with.count > c.count && join_candidates(&with, context))
                        return true;
        }
        return (found && find_caches(&c, context->target, &with) &&
                join_candidates(&with, context)) ||
               (found && join_candidates(&c, context)) || join_moves(second, context);
}

int pass_attention(struct function *f, struct pass_context *context)
{
        return kernels_join_all(&f->body, join, context);
}
