/* SPDX-License-Identifier: MIT */
/* microbatch: layers run over a few images of a batch at a time, so that what one hands to the next
 * is still in the cache.
 *
 *   %1 = convolve(%x, %w)                      %r = reshape(%x) : <16 x 2 x 3 x 224 x 224 x f32>
 *        : <32 x 16 x 112 x 112 x f32>         %s = loop(none, none, %r) steps=16 {(%i, %some)
 *   %2 = max(%1, 0)                    ->        %1 = convolve(%some, %w)
 *   %3 = convolve(%2, %v)                             : <2 x 16 x 112 x 112 x f32>
 *        : <32 x 8 x 112 x 112 x f32>            %2 = max(%1, 0)
 *                                                %3 = convolve(%2, %v)
 *                                                yield(%3)
 *                                              }
 *                                              %4 = reshape(%s) : <32 x 8 x 112 x 112 x f32>
 *
 * The rows that a loop scans and stacks lie where the whole values do: nothing is copied, and the
 * workspace holds what passes between layers for a few images alone. Operations that look at
 * several images at a time (a sum over the batch) stay as they are, between loops: an operation has
 * a level, odd if it divides, that is at least those of its operands, one more where the kind
 * changes, and two more where it needs all images of what divides. How many images go together,
 * choose.c says. Exact: each image's elements are computed as before. Not for targets whose kernels
 * are launches, or streams of an accelerator; and unless --limit microbatch_images asks for it, not
 * where images are only moved among each other (heads in front of images), which kernels otherwise
 * read through. Networks with attention stay as they are, too: scores are in no memory where it is
 * one kernel, which choose.c does not price. */
#include "ir/lower/lower_emit.h"
#include "passes/microbatch/microbatch.h"

/* carries: the batch of the inputs reaches the results, which have rows for each image. */
struct node { struct op *op; bool carries, divides; int level; };

/* flops: of contractions that divide; moved: an operation moves elements of several images, which
 * costs nothing where kernels read through it, but does between loops. */
struct nodes {
        struct arena *arena;
        struct node *list;
        int count, levels;
        double flops;
        bool moved, batched;            /* batched: there are products of batches of matrices. */
};

/* ---- levels ---- */

/* Raises node's level to the least that it may have as a reader of v; shared: of all of v. */
static void stand_behind(const struct nodes *n, struct node *node, const struct value *v,
                         bool shared)
{
        if (!v || v->kind != VALUE_RESULT || v->op->region != node->op->region)
                return;
        const struct node *made = &n->list[v->op->number];
        int level = made->level;
        if (made->divides != node->divides)
                level++;
        else if (shared && made->divides)
                level += 2;             /* Another loop has made it by then. */
        node->level = level > node->level ? level : node->level;
}

static void find_level(struct nodes *n, struct node *node, int64_t images)
{
        const struct op *op = node->op;
        int captured = 0;
        node->level = node->divides;
        for (int i = 0; i < op->operand_count; i++)
                stand_behind(n, node, op_operand(op, i),
                             node->divides && op_operand(op, i) &&
                                     microbatch_share(op, i, images) == OPERAND_SHARED);
        struct value **captures =
                op->region_count ? op_captures(n->arena, op, &captured) : NULL;
        for (int i = 0; i < captured; i++)
                stand_behind(n, node, captures[i], false);
        n->levels = node->level >= n->levels ? node->level + 1 : n->levels;
}

/* Does v have rows for each image of an input? */
static bool carries_images(const struct nodes *n, const struct region *body, const struct value *v,
                           int64_t images)
{
        if (v->kind == VALUE_ARGUMENT)
                return v->type->rank && dim_is(v->type->dims[0], images);
        return v->kind == VALUE_RESULT && v->op->region == body && n->list[v->op->number].carries;
}

static struct node find_node(struct nodes *n, struct op *op, int64_t images)
{
        struct node node = { .op = op };
        const struct type *t = op->result_count ? op_result(op)->type : NULL;
        bool divided = false, reads = false;
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *v = op_operand(op, i);
                const bool carries = v && carries_images(n, op->region, v, images);
                reads |= carries;
                divided |= carries && microbatch_share(op, i, images) == OPERAND_DIVIDED;
        }
        node.carries = reads && t && t->rank && dim_is_static(t->dims[0]) &&
                       !(type_extent(t, 0) % images);
        node.divides = divided && microbatch_divides(op, images);
        n->moved |= reads && !node.divides && op_info[op->code].traits & TRAIT_FREE;
        n->batched |= reads && microbatch_is_batched(op);
        return node;
}

/* Finds the operations that divide, their levels, and the floating-point operations of their
 * contractions. */
static struct nodes find_nodes(struct arena *arena, struct region *body, int64_t images)
{
        struct nodes n = { .arena = arena };
        for (struct op *op = body->first; op; op = op->next) {
                ARENA_GROW(arena, n.list, n.count);
                struct node *node = &n.list[n.count];
                op->number = n.count;
                *node = find_node(&n, op, images);
                find_level(&n, node, images);
                if (node->divides && op_info[op->code].traits & TRAIT_CONTRACTION)
                        n.flops += op_flops(op);
                n.count++;
        }
        return n;
}

/* Returns the extent of the inputs' outermost dimension by which most contractions divide, or 0. */
static int64_t find_images(struct arena *arena, struct region *body)
{
        double most = 0;
        int64_t images = 0;
        for (int i = 0; i < body->argument_count; i++) {
                const struct type *t = body->arguments[i].type;
                if (!t->rank || !dim_is_static(t->dims[0]) || type_extent(t, 0) < 2 ||
                    type_extent(t, 0) == images)
                        continue;
                const double flops = find_nodes(arena, body, type_extent(t, 0)).flops;
                if (flops > most) {
                        most = flops;
                        images = type_extent(t, 0);
                }
        }
        return images;
}

/* ---- building a loop ---- */

struct divided {
        struct arena *arena;
        struct builder outer, inner;
        struct op **ops;
        int count, mark;                /* The segment's operations have this number. */
        int64_t images, size;           /* `size` of the images go together. */
        struct value **scanned, **rows, **stacked;        /* rows: the body's arguments for what is
                                                           * scanned. */
        int scan_count, stack_count;
};

static bool is_within(const struct divided *g, const struct value *v)
{
        return v->kind == VALUE_RESULT && v->op->number == g->mark &&
               v->op->region == g->ops[0]->region;
}

static void find_scanned(struct divided *g)
{
        for (int k = 0; k < g->count; k++)
                for (int i = 0; i < g->ops[k]->operand_count; i++) {
                        struct value *v = op_operand(g->ops[k], i);
                        if (!v || v->scratch || is_within(g, v) ||
                            microbatch_share(g->ops[k], i, g->images) == OPERAND_SHARED ||
                            microbatch_repeats(v, g->images))
                                continue;
                        ARENA_GROW(g->arena, g->scanned, g->scan_count);
                        g->scanned[g->scan_count++] = v;
                        v->scratch = v;
                }
}

static void find_stacked(struct divided *g)
{
        for (int k = 0; k < g->count; k++)
                for (int i = 0; i < g->ops[k]->result_count; i++) {
                        struct value *v = &g->ops[k]->results[i];
                        bool outside = false;
                        for (const struct use *u = v->uses; u; u = u->next)
                                outside |= u->user->number != g->mark ||
                                           u->user->region != g->ops[0]->region;
                        if (!outside)
                                continue;
                        ARENA_GROW(g->arena, g->stacked, g->stack_count);
                        g->stacked[g->stack_count++] = v;
                }
}

static const struct type *some_images(const struct divided *g, const struct value *v)
{
        return microbatch_type(g->outer.m, v->type, g->images, g->size);
}

/* Returns the type of v with a dimension for the loop's iterations in front. */
static const struct type *stack_of(const struct divided *g, const struct value *v)
{
        return type_of_stack(g->outer.m, some_images(g, v), g->images / g->size);
}

/* Returns what operand i of an operation is in the loop's body. */
static struct value *operand_inside(struct divided *g, const struct op *op, int i)
{
        struct value *v = op_operand(op, i);
        if (!v || microbatch_share(op, i, g->images) == OPERAND_SHARED)
                return v;
        return v->scratch ? v->scratch : microbatch_repeat(&g->inner, v, g->images, g->size);
}

/* Builds op for a few images in the body. Its results' scratch are the new ones. */
static bool build_inside(struct divided *g, struct op *op)
{
        struct value **operands =
                arena_array(g->arena, (size_t)op->operand_count + 1, sizeof *operands);
        const struct type **types =
                arena_array(g->arena, (size_t)op->result_count + 1, sizeof *types);
        g->inner.location = op->location;
        for (int i = 0; i < op->operand_count; i++)
                operands[i] = operand_inside(g, op, i);
        for (int i = 0; i < op->result_count; i++)
                types[i] = some_images(g, &op->results[i]);
        struct op *built = op_build(&g->inner, op->code, operands, op->operand_count, op->attrs,
                                    types, 0);
        for (int i = 0; built && i < op->result_count; i++)
                op->results[i].scratch = &built->results[i];
        return built;
}

static bool build_body(struct divided *g, struct region *body)
{
        struct module *m = g->outer.m;
        region_add_argument(body, type_tensor(m, E_I64, 0, NULL), "microbatch");
        for (int i = 0; i < g->scan_count; i++)
                g->scanned[i]->scratch =
                        region_add_argument(body, some_images(g, g->scanned[i]), NULL);
        g->inner = (struct builder){ .m = m, .region = body, .diag = g->outer.diag };
        for (int k = 0; k < g->count; k++)
                if (!build_inside(g, g->ops[k]))
                        return false;
        struct value **rows = arena_array(g->arena, (size_t)g->stack_count + 1, sizeof *rows);
        for (int i = 0; i < g->stack_count; i++)
                rows[i] = g->stacked[i]->scratch;
        g->inner.location = NULL;
        return build_yield(&g->inner, rows, g->stack_count);
}

static struct op *build_loop(struct divided *g)
{
        struct value **operands =
                arena_array(g->arena, (size_t)g->scan_count + 2, sizeof *operands);
        const struct type **types =
                arena_array(g->arena, (size_t)g->stack_count + 1, sizeof *types);
        int64_t *forward = arena_array(g->arena, (size_t)(g->scan_count + g->stack_count) + 1,
                                       sizeof *forward);
        struct attr *attrs = attrs_new(g->outer.m, OP_loop);
        operands[0] = operands[1] = NULL;
        for (int i = 0; i < g->scan_count; i++) {
                const struct type *t = stack_of(g, g->scanned[i]);
                operands[i + 2] = build_reshape(&g->outer, g->scanned[i], t->rank, t->dims);
        }
        for (int i = 0; i < g->stack_count; i++)
                types[i] = stack_of(g, g->stacked[i]);
        attr_set(attrs, OP_loop, "steps", g->images / g->size);
        attr_set_ints(g->outer.m, attrs, OP_loop, "scan_backward", forward, g->scan_count);
        attr_set_ints(g->outer.m, attrs, OP_loop, "stack_backward", forward, g->stack_count);
        return op_build_results(&g->outer, OP_loop, operands, g->scan_count + 2, attrs, types,
                                g->stack_count, 1);
}

static void forget(struct divided *g)
{
        for (int i = 0; i < g->scan_count; i++)
                g->scanned[i]->scratch = NULL;
        for (int k = 0; k < g->count; k++)
                for (int i = 0; i < g->ops[k]->result_count; i++)
                        g->ops[k]->results[i].scratch = NULL;
}

/* Makes a loop of the segment's operations, which follow each other. */
static bool make_loop(struct divided *g)
{
        find_scanned(g);
        find_stacked(g);
        struct op *loop = build_loop(g);
        if (!loop || !build_body(g, op_add_region(loop, 0)) ||
            !op_infer(g->outer.m, loop, g->outer.diag))
                return false;
        forget(g);
        for (int i = 0; i < g->stack_count; i++) {
                const struct type *t = g->stacked[i]->type;
                value_replace(g->stacked[i],
                              build_reshape(&g->outer, &loop->results[i], t->rank, t->dims));
        }
        for (int k = g->count - 1; k >= 0; k--)
                op_erase(g->ops[k]);
        return true;
}

/* ---- the pass ---- */

/* Makes loops of the operations of one level. Returns their number, or -1 after an error. */
static int divide_level(struct arena *arena, struct op **ops, int count, int64_t images,
                        struct pass_context *context)
{
        struct segment *segments;
        int loops = 0;
        const int found = microbatch_choose(arena, ops, count, images, context, &segments);
        for (int k = 0, i = 0; k < found; i += segments[k++].count)
                for (int n = 0; n < segments[k].count; n++)
                        ops[i + n]->number = k + 1;
        for (int k = 0, i = 0; k < found; i += segments[k++].count) {
                if (segments[k].size == images)
                        continue;
                struct divided g = { .arena = arena, .ops = ops + i, .count = segments[k].count,
                                     .mark = k + 1, .images = images, .size = segments[k].size,
                                     .outer = builder_before(ops[i], context->diag) };
                if (!make_loop(&g))
                        return -1;
                loops++;
        }
        return loops;
}

static int divide_body(struct arena *arena, struct region *body, int64_t images,
                       struct pass_context *context)
{
        struct nodes n = find_nodes(arena, body, images);
        struct op **ops = arena_array(arena, (size_t)n.count + 1, sizeof *ops);
        int loops = 0;
        if (n.batched || (n.moved && !context->limits.microbatch_images))
                return 0;
        for (int level = 0; level < n.levels; level++)
                for (int i = 0; i < n.count; i++)
                        if (n.list[i].level == level && n.list[i].op != body->last)
                                op_move_before(n.list[i].op, body->last);
        for (int i = 0; i < n.count; i++)
                n.list[i].op->number = -1;
        for (int level = 1; level < n.levels; level += 2) {
                int count = 0;
                for (int i = 0; i < n.count; i++)
                        if (n.list[i].divides && n.list[i].level == level)
                                ops[count++] = n.list[i].op;
                int made = count ? divide_level(arena, ops, count, images, context) : 0;
                if (made < 0)
                        return -1;
                loops += made;
                for (int i = 0; i < count; i++)
                        ops[i]->number = -1;
        }
        return loops;
}

int pass_microbatch(struct function *f, struct pass_context *context)
{
        const struct target *t = context->target;
        if (target_engine(t)->launches || target_accelerator(t))
                return 0;
        struct arena *arena = arena_new();
        const int64_t images = find_images(arena, &f->body);
        const int loops = images ? divide_body(arena, &f->body, images, context) : 0;
        arena_free(arena);
        return loops;
}
