/* SPDX-License-Identifier: MIT */
/* registers: assigns hardware tiles to sums and operands.
 *
 *     tiles 28 by 2 rows 14 depth 16 lanes 16 word 4        ->  .. sums 0 to 4 x 4 to 6 w 6 to 8
 *     var %acc : f32x16tile[28][2]                              .. in 0 to 4
 *     multiply %acc += %x[%i] * %w[%k] by add_product ..        .. x 4 to 6 w 6 to 8
 *
 * Sums have the first tiles; after them each tile of positions has one of its own, where one is
 * left for weights; otherwise positions take the remaining tiles in turn, and so do weights. The
 * shapes of a product's operands must agree, so tiles that are used in turn must have one shape.
 *
 * A processor is configured with the shapes of all tiles at once (`tiles`), so there is one
 * variable with sums at a time, of the shape set last. Exact to the bit. */
#include "ir/loop/loop_grid.h"
#include "passes/pass.h"

struct assignment {
        struct pass_context *context;
        const struct loop_function *f;
        const struct loop_tiles *shape; /* This shape was set last; NULL: none was. */
        const struct loop_variable *sums;         /* These sums lie in tiles; NULL: none do. */
        int count;
        bool failed;
};

static void fail(struct assignment *a, const char *what)
{
        if (!a->failed)
                diag_error(a->context->diag, EXIT_UNSUPPORTED, "%s: %s the hardware tiles of %s",
                           a->f->name, what, a->context->target->name);
        a->failed = true;
}

static void assign(struct assignment *a, struct loop_tiles *t)
{
        const int tiles = (int)divide_up(t->positions, t->rows), sums = tiles * t->vectors;
        const int left = multiply_registers(a->context->target) - sums;
        const int x = left > tiles ? tiles : left - 1,
                  w = left - x < t->vectors ? left - x : t->vectors;
        if (x < 1 || w < 1 || (x < tiles && t->positions % t->rows)) {
                fail(a, "sums of that many positions and outputs do not fit");
                return;
        }
        t->sums = (struct tile_range){ 0, sums };
        t->x = (struct tile_range){ sums, x };
        t->w = (struct tile_range){ sums + x, w };
        a->shape = t;
        a->count++;
}

/* Has the statement the shape that was set last? */
static bool fits(const struct assignment *a, const struct loop_stmt *s)
{
        const struct loop_tiles *shape = a->shape, *own = &s->tiles;
        return shape && s->variable->rows == shape->positions &&
               s->variable->columns == shape->vectors &&
               (s->kind == STMT_VAR || own->rows == shape->rows) &&
               (s->kind != STMT_MULTIPLY || own->depth == shape->depth);
}

static void declare(struct assignment *a, struct loop_variable *sums)
{
        if (a->sums)
                fail(a, "several sums at a time do not fit");
        sums->registers = a->shape->sums;
        a->sums = sums;
}

static void visit_block(struct assignment *a, struct loop_block *block);

static void visit(struct assignment *a, struct loop_stmt *s, bool own_block)
{
        bool declares = s->kind == STMT_VAR && s->variable->type.tile;
        bool uses = s->kind == STMT_MULTIPLY || s->kind == STMT_UNLOAD;
        if (s->kind == STMT_TILES)
                a->shape = NULL;
        if (s->kind == STMT_TILES && s->tiles.positions)
                assign(a, &s->tiles);
        if ((declares || uses) && !fits(a, s))
                fail(a, "sums whose shape was not said before do not fit");
        else if (declares)
                declare(a, s->variable);
        else if (uses && s->variable != a->sums)
                fail(a, "sums that have left do not fit");
        else if (s->kind == STMT_MULTIPLY) {
                s->tiles.x = a->shape->x;
                s->tiles.w = a->shape->w;
        } else if (s->kind == STMT_UNLOAD && own_block) {
                a->sums = NULL;
        }
        if (s->body)
                visit_block(a, s->body);
        if (s->other)
                visit_block(a, s->other);
}

static void visit_block(struct assignment *a, struct loop_block *block)
{
        const bool own = !a->sums;      /* Sums that lie in tiles at the block's end are declared in
                                         * it. */
        for (struct loop_stmt *s = block->first; s && !a->failed; s = s->next)
                visit(a, s, own);
        if (own)
                a->sums = NULL;
}

int pass_registers(struct loop_program *p, struct pass_context *context)
{
        struct assignment a = { .context = context };
        if (!multiply_registers(context->target))
                return 0;
        for (a.f = p->kernels; a.f && !a.failed; a.f = a.f->next) {
                if (loop_is_grid(a.f))
                        continue;       /* Fragments have no numbers. */
                a.shape = NULL;
                visit_block(&a, a.f->body);
        }
        return a.failed ? -1 : a.count;
}
