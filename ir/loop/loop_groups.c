/* SPDX-License-Identifier: MIT */
/* Writes what products of warp groups mean, in plain statements: each warp multiplies its own
 * positions, either at once, or as late as it may. A kernel that settles as it must computes the
 * same in both cases.
 *
 * Late: places of operands are kept in a circular buffer until a settle, or until it is full, so
 * that what lies there at that time is multiplied. `made` counts products, `done` the products that
 * are done. */
#include "ir/loop/loop_grid.h"

/* A scope has the sums that are declared where a statement stands. */
struct scope { const struct loop_variable *sums; const struct scope *outer; };
struct product {
        const struct loop_stmt *multiply;
        const struct scope *scope;
        int number;
        struct product *next;
};
struct settle { const struct loop_stmt *stmt; const struct scope *scope; struct settle *next; };

struct loop_products {
        struct arena *arena;
        struct loop_variable *made, *done;
        struct loop_buffer *x, *w, *which;        /* The three make up the circular buffer. */
        struct product *products;
        struct settle *settles;
        int count;                      /* It is used while they are searched. */
};

/* ---- at once ---- */

static struct loop_expr *expr(const struct loop_expr *e)
{
        return (struct loop_expr *)(uintptr_t)e;
}

/* Appends the multiply of each warp, with operands at a and b. */
static void multiply(struct arena *arena, struct loop_block *block, const struct loop_stmt *s,
                     struct loop_expr *a, struct loop_expr *b)
{
        struct loop_stmt *loop = loop_append(arena, block, STMT_FOR);
        loop->for_kind = FOR_GPU_WARP;
        loop->variable = loop_variable_new(arena, "warp", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        loop->a = loop_index(arena, 0);
        loop->b = loop_index(arena, s->variable->warps);
        const struct loop_tiles *t = &s->tiles;
        const int64_t own = !s->buffer               ? 0
                            : t->positions % t->rows ? t->positions * t->step
                                                     : t->positions / t->rows * t->jump;
        struct loop_stmt *each = loop_append(arena, loop->body, STMT_MULTIPLY), *next = each->next;
        *each = *s;
        each->next = next;
        each->tiles.warp_group = false;
        if (own)
                each->a = loop_op(arena, LOOP_ADD, a,
                                  loop_op(arena, LOOP_MUL, loop_use(arena, loop->variable),
                                          loop_index(arena, own), NULL),
                                  NULL);
        each->b = b;
}

/* ---- late ---- */

static void find(struct loop_products *l, const struct loop_block *block, const struct scope *scope)
{
        for (const struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                if (s->kind == STMT_VAR && s->variable->warps) {
                        struct scope *inner = ARENA_NEW(l->arena, struct scope);
                        *inner = (struct scope){ s->variable, scope };
                        scope = inner;
                }
                if (s->kind == STMT_MULTIPLY && s->tiles.warp_group) {
                        struct product *p = ARENA_NEW(l->arena, struct product);
                        *p = (struct product){ s, scope, l->count++, l->products };
                        l->products = p;
                }
                if (s->kind == STMT_SETTLE) {
                        struct settle *t = ARENA_NEW(l->arena, struct settle);
                        *t = (struct settle){ s, scope, l->settles };
                        l->settles = t;
                }
                find(l, s->body, scope);
                find(l, s->other, scope);
        }
}

/* Are the product's sums declared here? If not, none is under way: sums end only when it is
 * done. */
static bool is_declared(const struct product *p, const struct scope *scope)
{
        while (scope && scope->sums != p->multiply->variable)
                scope = scope->outer;
        return scope != NULL;
}

static struct loop_buffer *circular_buffer(struct arena *arena, const char *name)
{
        struct loop_buffer *b = ARENA_NEW(arena, struct loop_buffer);
        *b = (struct loop_buffer){ .name = name, .element = E_I64, .extent = PRODUCTS_MAX,
                                   .space = SPACE_STACK, .offset = -1, .access = ACCESS_INOUT };
        return b;
}

struct loop_products *loop_products_late(struct arena *arena, const struct loop_function *f)
{
        struct loop_products *l = ARENA_NEW(arena, struct loop_products);
        l->arena = arena;
        find(l, f->body, NULL);
        l->made = loop_variable_new(arena, "made", LOOP_TYPE(E_INDEX), VARIABLE_VAR);
        l->done = loop_variable_new(arena, "done", LOOP_TYPE(E_INDEX), VARIABLE_VAR);
        l->x = circular_buffer(arena, "of_x");
        l->w = circular_buffer(arena, "of_w");
        l->which = circular_buffer(arena, "which");
        return l->products ? l : NULL;
}

struct loop_block *loop_products_begin(const struct loop_products *l)
{
        struct loop_block *block = loop_block_new(l->arena);
        struct loop_buffer *const buffers[] = { l->x, l->w, l->which };
        for (int i = 0; i < 3; i++)
                loop_append(l->arena, block, STMT_ALLOC)->buffer = buffers[i];
        loop_append(l->arena, block, STMT_VAR)->variable = l->made;
        loop_append(l->arena, block, STMT_VAR)->variable = l->done;
        return block;
}

static struct loop_expr *slot(const struct loop_products *l, struct loop_variable *count)
{
        return loop_op(l->arena, LOOP_REM, loop_use(l->arena, count),
                       loop_index(l->arena, PRODUCTS_MAX), NULL);
}

static void count(const struct loop_products *l, struct loop_block *block, struct loop_variable *v)
{
        struct loop_stmt *s = loop_append(l->arena, block, STMT_SET);
        s->variable = v;
        s->a = loop_op(l->arena, LOOP_ADD, loop_use(l->arena, v), loop_index(l->arena, 1), NULL);
}

static void keep(const struct loop_products *l, struct loop_block *block, struct loop_buffer *b,
                 struct loop_expr *value)
{
        struct loop_stmt *s = loop_append(l->arena, block, STMT_STORE);
        s->buffer = b;
        s->a = slot(l, l->made);
        s->b = loop_cast(l->arena, E_I64, value);
}

static struct loop_expr *kept(const struct loop_products *l, struct loop_block *block,
                              struct loop_buffer *b)
{
        struct loop_stmt *s = loop_append(l->arena, block, STMT_LET);
        s->a = loop_cast(l->arena, E_INDEX, loop_load(l->arena, b, slot(l, l->done)));
        s->variable = loop_variable_new(l->arena, b->name, LOOP_TYPE(E_INDEX), VARIABLE_LET);
        return loop_use(l->arena, s->variable);
}

/* Appends a settle of all products but the last n; scope: where it stands. */
static void settle(const struct loop_products *l, struct loop_block *block,
                   const struct scope *scope, int n)
{
        struct arena *arena = l->arena;
        struct loop_stmt *loop = loop_append(arena, block, STMT_WHILE);
        struct loop_expr *due =
                loop_op(arena, LOOP_ADD, loop_use(arena, l->done), loop_index(arena, n), NULL);
        loop->a = loop_op(arena, LOOP_LT, due, loop_use(arena, l->made), NULL);
        struct loop_expr *x = kept(l, loop->body, l->x), *w = kept(l, loop->body, l->w),
                         *which = kept(l, loop->body, l->which);
        for (const struct product *p = l->products; p; p = p->next) {
                if (!is_declared(p, scope))
                        continue;
                struct loop_stmt *only = loop_append(arena, loop->body, STMT_IF);
                only->a = loop_op(arena, LOOP_EQ, which, loop_index(arena, p->number), NULL);
                multiply(arena, only->body, p->multiply, x, w);
        }
        count(l, loop->body, l->done);
}

static const struct product *product_of(const struct loop_products *l, const struct loop_stmt *s)
{
        const struct product *p = l->products;
        while (p->multiply != s)
                p = p->next;
        return p;
}

struct loop_block *loop_products_expand(const struct loop_products *l, struct arena *arena,
                                        const struct loop_stmt *s)
{
        struct loop_block *block = loop_block_new(arena);
        if (!l) {
                if (s->kind == STMT_MULTIPLY)
                        multiply(arena, block, s, expr(s->a), expr(s->b));
                return block;
        }
        if (s->kind == STMT_SETTLE) {
                const struct settle *t = l->settles;
                while (t->stmt != s)
                        t = t->next;
                settle(l, block, t->scope, s->code);
                return block;
        }
        const struct product *p = product_of(l, s);
        settle(l, block, p->scope, PRODUCTS_MAX - 1);
        keep(l, block, l->x, s->buffer ? expr(s->a) : loop_index(arena, 0));
        keep(l, block, l->w, expr(s->b));
        keep(l, block, l->which, loop_index(arena, p->number));
        count(l, block, l->made);
        return block;
}
