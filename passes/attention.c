/* attention: the kernels of two products, with rows between them, become one.
 *
 *   %1 = fusion(%q, %k) { ... convolve_packed groups=12 ... }        %4 = fusion(%q, %k, %v) { ... convolve_packed groups=12 ...
 *   %2 = fusion(%1) { ... reduce ... exp ... }                  ->          ... reduce ... exp ...
 *   %3 = fusion(%2) { reduce, reciprocal }                                  reduce, reciprocal
 *   %4 = fusion(%2, %v, %3) { ... convolve_packed ... mul ... }             ... convolve_packed ... mul ... schedule="strip=4" }
 *
 * It computes scores for a block of rows at a time, into memory that stays in the second cache, and no workspace holds all of them.
 * The operations and what they add up in which order stay as they were: the same bits. Where a tile of rows does not fit into half
 * of that cache, where something else reads what is between, or the scheduled lowering (schedule/attention.c) cannot write it,
 * nothing changes. */
#include "passes/join.h"
#include "schedule/attention.h"
#include "schedule/schedule.h"

enum { KERNELS_MAX = 12 };

/* ---- which kernels ---- */

/* those that become one, in order */
struct candidates { struct op *kernels[KERNELS_MAX]; int count; };

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

/* a packed product that has a schedule, alone or in a fusion of one result; NULL: none, or several */
static struct op *product_of(struct op *kernel)
{
        struct region *region = kernel->code == OP_fusion ? kernel->regions[0] : NULL;
        struct op *found = NULL;
        for (struct op *op = region ? region->first : kernel; op; op = region ? op->next : NULL) {
                if (!(op_info[op->code].traits & TRAIT_CONTRACTION))
                        continue;
                if (found || op->code != OP_convolve_packed || !op->schedule)
                        return NULL;
                found = op;
        }
        return kernel->result_count == 1 ? found : NULL;
}

static bool comes_before(const struct op *a, const struct op *b)
{
        while (b && b != a)
                b = b->previous;
        return b != NULL;
}

static bool add_in_order(struct candidates *c, struct op *kernel)
{
        int at = c->count++;
        for (; at > 0 && comes_before(kernel, c->kernels[at - 1]); at--)
                c->kernels[at] = c->kernels[at - 1];
        c->kernels[at] = kernel;
        return kernel->result_count == 1 && kernel->code != OP_yield;
}

/* Whoever reads first's result, and what is made of that, up to second: false when somebody else does in the end. */
static bool add_readers(struct candidates *c, struct op *kernel, const struct op *second)
{
        for (const struct use *u = op_result(kernel)->uses; u; u = u->next) {
                struct op *reader = kernel_of(u->user);
                if (is_member(c, reader))
                        continue;
                if (reader->region != second->region || c->count == KERNELS_MAX || !add_in_order(c, reader))
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
                if (kernel->code != OP_fusion)
                        return NULL;
                int count;
                struct arena *arena = arena_new();
                struct value **captures = op_captures(arena, kernel, &count);
                const struct value *next = NULL;
                for (int i = 0; i < count; i++)
                        if (captures[i]->kind == VALUE_RESULT && type_same_dims(captures[i]->type, x->type))
                                next = captures[i];
                arena_free(arena);
                if (!next || next->op->region != kernel->region)
                        return NULL;
                x = next;
        }
        return NULL;
}

static bool find_kernels(struct op *second, struct candidates *c)
{
        struct op *product = product_of(second);
        struct value *x = product ? op_operand(product, 0) : NULL;
        struct op *first = x && x->kind == VALUE_RESULT && x->op->region == second->region ? find_first(x) : NULL;
        if (!first || first == second || first->region != second->region)
                return false;
        *c = (struct candidates){ .kernels = { first }, .count = 1 };
        return add_readers(c, first, second) && c->kernels[c->count - 1] == second;
}

/* ---- how ---- */

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Tiles of rows in a block: its scores fill a quarter of the second cache; and as many blocks as threads share evenly. 0: not
 * even one fits into half of it. */
static int64_t block_tiles(const struct attention *a, int columns, const struct schedule_machine *machine)
{
        const struct type *t = a->scores->type;
        int64_t tiles = divide_up(t->dims[2], columns), size = divide_up(t->dims[2], tiles);
        int64_t bytes = size * attention_width(a) * element_info[t->element].bytes;
        int64_t room = target_l2_bytes(machine->target), threads = machine->threads > 1 ? machine->threads : 1;
        if (bytes > room / 2)
                return 0;
        int64_t most = room / 4 / bytes > 1 ? room / 4 / bytes : 1, blocks = divide_up(tiles, most);
        while (t->dims[1] * blocks % threads && blocks < tiles)
                blocks++;
        return divide_up(tiles, blocks);
}

static bool set_schedules(const struct attention *a, const struct schedule_machine *machine, struct pass_context *context,
                          struct arena *arena)
{
        struct schedule first, second;
        if (!schedule_parse(a->first, &first, context->diag) || !schedule_parse(a->second, &second, context->diag))
                return false;
        int columns = first.columns * first.rows < second.columns * second.rows ? first.columns * first.rows
                                                                                : second.columns * second.rows;
        int64_t tiles = block_tiles(a, columns, machine);
        first.columns = second.columns = columns;
        first.rows = second.rows = first.row_tasks = first.panel_tasks = second.panel_tasks = 1;
        first.flat = second.flat = first.strip = 0;
        second.strip = (int)tiles;
        second.row_tasks = machine->threads > 1 ? machine->threads : 1;
        a->first->schedule = schedule_text(arena, &first);
        a->second->schedule = schedule_text(arena, &second);
        return tiles > 0;
}

static bool join(struct op *second, struct pass_context *context)
{
        const struct schedule_machine machine = { context->target, context->lower.threads };
        struct candidates c;
        struct attention a;
        if (!find_kernels(second, &c))
                return false;
        struct op *joined = kernel_join(c.kernels, c.count, context->diag);
        bool good = joined && attention_find(joined->regions[0], op_operand(joined->regions[0]->last, 0), &a) &&
                    set_schedules(&a, &machine, context, second->region->function->module->arena);
        if (!good || !schedule_accepts(joined, &context->lower, context->library, context->diag)) {
                if (joined)
                        op_erase(joined);
                return false;
        }
        value_replace(op_result(second), op_result(joined));
        for (int i = c.count - 1; i >= 0; i--)
                op_erase(c.kernels[i]);
        return true;
}

int pass_attention(struct function *f, struct pass_context *context)
{
        return kernels_join_all(&f->body, join, context);
}
