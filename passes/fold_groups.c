/* SPDX-License-Identifier: MIT */
/* Weights that the model computes from constants, by several operations (weight standardization, a
 * gain for each output, low-rank updates that are added to them), become constants whatever their
 * size, where these replace constants of about as many bytes.
 *
 *   %1 = reduce(@w) ..                    |
 *   %2 = broadcast(%1)                    |      group: @w goes with it, so that one tensor of its
 *   %3 = sub(@w, %2)                      |      size replaces it
 *   %4 = mul(%3, @gain)                   |
 *   %5 = convolve(%x, %4)                        ->      convolve(%x, @w_2)
 *
 * Operation by operation that is not seen: %3 would be one more tensor as large as @w, which %1
 * still reads. So this looks at groups: operations on constants alone and on results of each other.
 * A group is folded as a whole or stays as it is. It is folded if what is read of it outside takes
 * at most limits.fold_bytes, and a small part, more than the constants that it alone reads. Numbers
 * that are only decoded (weights of 8 bits less a zero point, by a scale) stay: a model holds them
 * so to be small, and kernels read them so. What a group reads and makes is limited by the bytes of
 * those constants; so time is, by the size of the file.
 *
 * Exact: each operation is folded as fold does it. */
#include "passes/fold.h"

enum {
        MORE = 16,                      /* A group may add the 16th part of what it replaces. */
        READS = 16,                     /* It may read each byte of that so often. */
        STEPS = 64,                     /* An element takes at most so many steps. */
        NONE = -1                       /* The number of an operation in no group. */
};

struct group {
        int parent;                     /* The group is a part of that one; itself: it is whole. */
        int64_t replaced, made;         /* The group replaces constants of so many bytes by so
                                         * many. */
        int64_t steps;                  /* It reads or makes so many elements, by the larger of both
                                         * of each operation. */
        bool narrow, computes;          /* It reads whole numbers or floats of 16 bits; it does more
                                         * than decode numbers. */
        bool folds;
};

static int find(struct group *groups, int i)
{
        while (groups[i].parent != i)
                i = groups[i].parent = groups[groups[i].parent].parent;
        return i;
}

static bool in_group(const struct value *v, const struct region *region)
{
        return v->kind == VALUE_RESULT && v->op->region == region && v->op->number != NONE;
}

/* Weights that a group rounds to bytes are its result: what reads them decodes them. */
static bool is_byte(const struct value *v)
{
        return element_is_integer(v->type->element) && element_info[v->type->element].bytes == 1;
}

/* Does the operation work on constants and on results of operations of groups alone? */
static bool joins(const struct op *op)
{
        const struct op_info *info = &op_info[op->code];
        if (!(info->traits & (TRAIT_ELEMENTWISE | TRAIT_FREE | TRAIT_REDUCTION)) ||
            !(info->traits & TRAIT_PURE) || op->result_count != 1 || !info->element)
                return false;
        const struct type *t = op->results[0].type;
        if (t->kind != TYPE_TENSOR || !element_is_stored(t->element) || !type_is_static(t))
                return false;
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *v = op_operand(op, i);
                if (!v || v->type->kind != TYPE_TENSOR || !element_is_stored(v->type->element) ||
                    !type_is_static(v->type) ||
                    !(value_is_constant(v) || (in_group(v, op->region) && !is_byte(v))) ||
                    (op_is(v, OP_broadcast) && !(info->traits & TRAIT_ELEMENTWISE)))
                        return false;
        }
        return op->operand_count > 0;
}

/* Is v read outside all groups? */
static bool is_read_outside(const struct value *v)
{
        bool outside = false;
        for (const struct use *u = v->uses; u && !outside; u = u->next)
                outside = u->user->region != v->op->region || u->user->number == NONE;
        return outside;
}

static bool is_dense(const struct value *v)
{
        return value_is_constant(v) && v->constant->kind != CONSTANT_SPLAT;
}

/* An operation of which nothing in a group reads the result is better left to run if that is larger
 * than what it reads: broadcasts, and what is decoded. */
static bool grows(const struct op *op)
{
        int64_t read = 0;
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *v = op_operand(op, i);
                v = op_is(v, OP_broadcast) ? op_operand(v->op, 0) : v;
                read += is_dense(v) || in_group(v, op->region) ? type_bytes(v->type) : 0;
        }
        return op->code == OP_broadcast || type_bytes(op->results[0].type) > read;
}

/* Does group g alone read the constant? */
static bool vanishes(const struct value *constant, const struct region *region,
                     struct group *groups, int g)
{
        bool alone = true;
        for (const struct use *u = constant->uses; u && alone; u = u->next)
                alone = u->user->region == region && u->user->number != NONE &&
                        find(groups, u->user->number) == g;
        return alone;
}

static bool is_first_use(const struct op *op, int operand)
{
        const struct value *v = op_operand(op, operand);
        const struct use *last = v->uses;       /* Each constant is counted at one of its uses. */
        return last->user == op && last->index == operand;
}

/* Do models store rounded weights, biases or scales so? */
static bool is_narrow(enum element e)
{
        return element_is_integer(e) || element_info[e].bytes == 2;
}

static void count(struct group *groups, const struct op *op)
{
        int g = find(groups, op->number);
        const struct value *result = &op->results[0];
        int64_t elements = type_elements(result->type);
        const bool decodes = op_info[op->code].traits & TRAIT_FREE || op->code == OP_cast ||
                             op->code == OP_sub || op->code == OP_add || op->code == OP_mul;
        groups[g].computes |= !decodes;
        groups[g].made += is_read_outside(result) ? type_bytes(result->type) : 0;
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *v = op_operand(op, i);
                int64_t read = type_elements(v->type);
                elements = read > elements ? read : elements;
                if (!is_dense(v))
                        continue;
                groups[g].narrow |= is_narrow(v->type->element);
                if (is_first_use(op, i) && vanishes(v, op->region, groups, g))
                        groups[g].replaced += type_bytes(v->type);
        }
        groups[g].steps += elements;
}

/* Numbers the operations that are in groups, and joins those that read each other's results.
 * Returns the groups, of which there are *group_count, parts of others among them. */
static struct group *find_groups(struct region *region, struct arena *arena, int *group_count)
{
        int number = 0;
        for (struct op *op = region->first; op; op = op->next) {
                op->number = NONE;
                op->number = joins(op) ? number++ : NONE;
        }
        for (struct op *op = region->last; op; op = op->previous) {
                bool read = false;
                for (const struct use *u = op->result_count ? op->results[0].uses : NULL; u;
                     u = u->next)
                        read |= u->user->region == region && u->user->number != NONE;
                if (op->number != NONE && !read && grows(op))
                        op->number = NONE;
        }
        struct group *groups = arena_array(arena, (size_t)number + 1, sizeof *groups);
        for (int i = 0; i < number; i++)
                groups[i] = (struct group){ .parent = i };
        for (const struct op *op = region->first; op; op = op->next)
                for (int i = 0; op->number != NONE && i < op->operand_count; i++)
                        if (in_group(op_operand(op, i), region))
                                groups[find(groups, op->number)].parent =
                                        find(groups, op_operand(op, i)->op->number);
        for (const struct op *op = region->first; op; op = op->next)
                if (op->number != NONE)
                        count(groups, op);
        *group_count = number;
        return groups;
}

/* Decides which groups are folded. */
static void choose(struct group *groups, int group_count, struct pass_context *context)
{
        for (int i = 0; i < group_count; i++) {
                struct group *g = &groups[i];
                int64_t more = g->made - g->replaced,
                        room = context->limits.fold_bytes + g->replaced / MORE,
                        left = context->limits.fold_total_bytes - context->fold_bytes;
                g->folds = g->parent == i && g->replaced && (g->computes || !g->narrow) &&
                           more <= (room < left ? room : left) && g->steps / READS <= g->replaced;
                context->fold_bytes += g->folds && more > 0 ? more : 0;
        }
}

/* Folds the operations of groups that are folded. */
static int fold_chosen(struct region *region, struct group *groups, struct pass_context *context)
{
        struct module *m = region->function->module;
        struct pass_context all = *context;
        int folded = 0;
        all.limits.fold_bytes = all.limits.fold_total_bytes = INT64_MAX / 2;
        for (struct op *op = region->first, *next; op; op = next) {
                next = op->next;
                const struct group *g =
                        op->number != NONE ? &groups[find(groups, op->number)] : NULL;
                if (!g || !g->folds || op->code == OP_broadcast)
                        continue;
                all.fold_steps = 0;
                all.limits.fold_steps = all.limits.fold_total_steps =
                        STEPS * g->steps + context->limits.fold_steps;
                struct builder b = { .m = m, .region = region, .before = op,
                                     .location = op->location, .diag = context->diag };
                struct value *v = fold_op(&b, op, &all);
                if (!v)
                        continue;
                value_replace(op_result(op), v);
                op_erase(op);
                folded++;
                if (module_wants_sweep(m))
                        module_drop_constants(m);
        }
        return folded;
}

int fold_groups(struct region *region, struct pass_context *context)
{
        int folded = 0, group_count;
        for (struct op *op = region->first; op; op = op->next)
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        folded += fold_groups(op->regions[i], context);
        struct arena *arena = arena_new();
        struct group *groups = find_groups(region, arena, &group_count);
        choose(groups, group_count, context);
        folded += group_count ? fold_chosen(region, groups, context) : 0;
        arena_free(arena);
        return folded;
}
