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
 * Of few rows, by blocks of warps, keys and values may be concats, as a decoder's caches are: what
 * there was, and what is new. Then the kernel reads these where they lie, and has the concats as
 * results where others read them, too:
 *
 *   %1 = concat(%past, %new)                                         %1, %2 = fusion(%past, %new, %q, ..) { .. concat .. dot .. }
 *   %2 = fusion(%q, %1, ..) { dot ... dot }                     ->
 *
 * unless so few blocks store that for longer than a kernel of its own takes.
 *
 * Where something else reads what is between, or the scheduled lowering
 * (kernels/attention_kernel.c) cannot write it, nothing changes; nor where a tile of whole rows
 * is needed and does not fit into half of that cache. */
#include "cost/room.h"
#include "passes/fuse/join.h"
#include "kernels/attention.h"
#include "kernels/kernels.h"
#include "schedule/choose.h"
#include "schedule/schedule_choice.h"

enum { GROUP = 1, ROW = 2, COLUMN = 3 };         /* dimensions of scores */
enum { KERNELS_MAX = 24, RESULTS_MAX = 3, LEAST_KEYS = 64 };

/* ---- which kernels ---- */

/* those that become one, in order; its results */
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

/* the operation of the function's (or a branch's) region that op is, or is in */
static struct op *kernel_of(struct op *op)
{
        struct op *owner = op->region->owner;
        return owner && owner->code == OP_fusion ? owner : op;
}

/* a packed product that has a schedule, or one of matrices, alone or in a fusion of one result;
 * NULL: none, or several */
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

/* of two in one region; from both at once, because they are near each other in a long region */
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

/* Whoever reads first's result, and what is made of that, up to second: false when somebody else
 * does in the end. */
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

/* upward from x through kernels of one large operand (rows), to a product of the same shape */
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
                             type_extent(read->type, COLUMN) > type_extent(next->type, COLUMN)))
                                next = read;
                }
                arena_free(arena);
                if (!next || next->op->region != kernel->region)
                        return NULL;
                x = next;
        }
        return NULL;
}

/* does nothing but move what it reads, for candidates alone */
static bool moves_for(const struct candidates *c, struct op *kernel)
{
        const struct region *region = kernel->code == OP_fusion ? kernel->regions[0] : NULL;
        if (kernel->result_count != 1)
                return false;
        for (const struct use *u = op_result(kernel)->uses; u; u = u->next)
                if (!is_member(c, kernel_of(u->user)))
                        return false;
        for (const struct op *op = region ? region->first : kernel; op && op->code != OP_yield;
             op = region ? op->next : NULL)
                if (op->code != OP_reshape && op->code != OP_transpose && op->code != OP_pad)
                        return false;
        return true;
}

/* What packs an operand of the product: blocks of warps put words where they want them as they
 * copy. */
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

static bool find_kernels(struct op *second, struct candidates *c, bool packs)
{
        struct op *product = product_of(second);
        struct value *x = product ? op_operand(product, 0) : NULL;
        struct op *first = x && x->kind == VALUE_RESULT && x->op->region == second->region
                                   ? find_first(x)
                                   : NULL;
        if (!first || first == second || first->region != second->region ||
            (product->code == OP_dot && !packs) || product_of(first)->code != product->code)
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

/* Do all who read it stand behind `second`, or become one with it? *others: somebody else reads
 * it. */
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

/* The same with what puts keys and values together; false: nothing does, or blocks, of which
 * each group has one that stores, are too few. */
static bool find_caches(const struct candidates *c, const struct target *target,
                        struct candidates *with)
{
        const struct op *second = c->kernels[c->count - 1],
                        *product = product_of(c->kernels[c->count - 1]);
        int64_t stored = 0;
        *with = *c;
        const struct engine *engine = target_engine(target);
        if (!engine->stores_caches || product->code != OP_dot)
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

/* rows in tiles of so many, most of them of `size` */
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

/* tiles of so many columns of scores that fill a quarter of the second cache */
static int64_t tiles_in_quarter(const struct attention *a, struct tiles tiles, int64_t columns,
                                const struct schedule_machine *machine)
{
        return room_part(machine->target) / (tiles.size * columns * score_bytes(a));
}

/* Tiles of whole rows in a block: its scores fill a quarter of the second cache; and as many blocks
 * as threads share evenly. 0: not even one fits into half of it. */
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

/* Columns in a block, where rows need not be whole: those whose keys and values fill a quarter of
 * the second cache. */
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

/* Of a block of so many columns: its scores fill a quarter of the second cache, too. What the mask
 * hides from all rows of a block is left out, the more the fewer they are. The same blocks for
 * every number of threads: they decide what is left out. */
static int64_t block_tiles_of_keys(const struct attention *a, struct tiles tiles, bool hides,
                                   int64_t keys, const struct schedule_machine *machine)
{
        enum { HIDING_BLOCKS = 16 };
        int64_t most = tiles_in_quarter(a, tiles, keys, machine);
        int64_t hiding = columns_of(a, machine) / HIDING_BLOCKS / tiles.size;
        most = hides && hiding < most ? hiding : most;
        return divide_up(tiles.count, divide_up(tiles.count, most > 1 ? most : 1));
}

/* Does the mask hide enough of the columns from blocks of so many rows? */
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

/* Should rows be cut into blocks of columns? The same answer for every number of threads. *hides:
 * because of the mask */
static bool cuts_rows(const struct attention *a, struct tiles tiles,
                      const struct schedule_machine *machine, bool *hides)
{
        enum { FEW = 2 };
        int64_t fit = tiles_in_quarter(a, tiles, columns_of(a, machine), machine);
        *hides = hides_much(a, tiles.size);
        return *hides || fit < (tiles.count < FEW ? tiles.count : FEW);
}

/* Every block of rows reads both products' second operands. Beyond the second cache that must be
 * less than what no longer goes through memory, the scores: as it is for keys and values, but not
 * for two layers' weights with a norm between them. */
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

/* blocks of warps are the only ones that can be, and go over blocks of columns */
static bool set_by_engine(const struct attention *a, const struct target *target,
                          struct pass_context *context, struct arena *arena)
{
        struct schedule second;
        if (!a->sum || context->exact ||
            !target_engine(target)->attention_schedule(a, target, arena, &second))
                return false;
        if (a->first->code == OP_dot)
                a->first->schedule = schedule_keep(arena, schedule_preset(SCHEDULE_registers));
        a->second->schedule = schedule_keep(arena, second);
        return true;
}

static bool set_schedules(const struct attention *a, const struct schedule_machine *machine,
                          struct pass_context *context, struct arena *arena)
{
        if (target_engine(machine->target)->attention_schedule)
                return set_by_engine(a, machine->target, context, arena);
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

static bool join(struct op *second, struct pass_context *context)
{
        struct candidates c, with;
        return find_kernels(second, &c, target_engine(context->target)->launches) &&
               ((find_caches(&c, context->target, &with) && join_candidates(&with, context)) ||
                join_candidates(&c, context));
}

int pass_attention(struct function *f, struct pass_context *context)
{
        return kernels_join_all(&f->body, join, context);
}
