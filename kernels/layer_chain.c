/* SPDX-License-Identifier: MIT */
#include "kernels/layer_chain.h"

#include "ir/tensor/relation.h"

enum { STAGE_NONE = -1, STAGE_SEVERAL = -2 };

/* For each operation of the region, marks[k] holds for the k-th one the number of the link whose
 * result it is computed from. */
struct marking { const struct region *region; const struct op **ops; int *marks, count; };

static bool is_pool(const struct op *op) { return op->code == OP_reduce_window; }

static bool can_link(const struct op *op)
{
        bool links = op->code == OP_convolve_packed || op->code == OP_convolve_lanes || is_pool(op);
        const unsigned element = op_operand(op, 0)->type->element;
        return links && (element == E_F32 || element == E_F16);
}

/* Returns which rows of x a row of the result needs. */
static struct along along_rows(const struct op *op)
{
        struct relation r;
        relation_of(op, 0, &r);
        return r.along[LAYER_CHAIN_ROWS];
}

/* Returns the rows of the window. */
static int64_t layer_chain_window(const struct op *op) { return along_rows(op).window; }
int64_t layer_chain_stride(const struct op *op) { return along_rows(op).scale; }
int64_t layer_chain_low(const struct op *op) { return -along_rows(op).low; }

int64_t layer_chain_reach(const struct op *op)
{
        struct along rows = along_rows(op);
        return (rows.window - 1) * rows.dilation + 1;
}

static int mark_of(const struct marking *m, const struct value *v)
{
        for (int i = m->count - 1; v->kind == VALUE_RESULT && v->op->region == m->region && i >= 0;
             i--)
                if (m->ops[i] == v->op)
                        return m->marks[i];
        return STAGE_NONE;
}

static int mark_operands(const struct marking *m, const struct op *op)
{
        int mark = STAGE_NONE;
        for (int i = 0; i < op->operand_count; i++) {
                int other = op_operand(op, i) ? mark_of(m, op_operand(op, i)) : STAGE_NONE;
                if (mark == STAGE_NONE)
                        mark = other;
                else if (other != STAGE_NONE && other != mark)
                        return STAGE_SEVERAL;
        }
        return mark;
}

/* Finds the contractions, in order, and marks each with its number; operations after a contraction
 * get its number, too. */
static bool mark_region(struct marking *m, struct op *first, struct layer_chain *chain)
{
        for (struct op *op = first; op && op->code != OP_yield; op = m->region ? op->next : NULL) {
                int mark = mark_operands(m, op);
                if (mark == STAGE_SEVERAL || op->result_count != 1 ||
                    !type_is_static_from(op_result(op)->type, 1))
                        return false;
                if (op_info[op->code].traits & (TRAIT_CONTRACTION | TRAIT_REDUCTION)) {
                        bool x_only = op->operand_count == 1 ||
                                      mark_of(m, op_operand(op, 1)) == STAGE_NONE;
                        if (!can_link(op) || op_result(op)->type->rank != LAYER_CHAIN_ROWS + 3 ||
                            !x_only || chain->count == LAYER_CHAIN_MAX || mark != chain->count - 1)
                                return false;
                        mark = chain->count;
                        chain->links[chain->count++].op = op;
                }
                m->ops[m->count] = op;
                m->marks[m->count++] = mark;
        }
        return chain->count > 0;
}

/* Does op pad rows and columns only? */
static bool surrounds_rows(const struct op *pad)
{
        for (int d = 0; d < op_result(pad)->type->rank; d++)
                if (d != LAYER_CHAIN_ROWS && d != LAYER_CHAIN_ROWS + 1 &&
                    !relation_keeps(pad, 0, d))
                        return false;
        return true;
}

static bool pads_rows(const struct op *pad)
{
        return pad && !dim_equal(op_operand(pad, 0)->type->dims[LAYER_CHAIN_ROWS],
                                 op_result(pad)->type->dims[LAYER_CHAIN_ROWS]);
}

static bool is_wide(const struct layer_chain_link *link, const struct op *pad)
{
        const struct type *x = op_operand(link->op, 0)->type, *y = op_result(link->op)->type;
        return layer_chain_window(link->op) != 1 || layer_chain_stride(link->op) != 1 ||
               layer_chain_low(link->op) || pads_rows(pad) ||
               !dim_equal(x->dims[LAYER_CHAIN_ROWS], y->dims[LAYER_CHAIN_ROWS]);
}

/* Can the next link read a result in this halo? A pool has only the halo that its own attributes
 * say. */
static bool can_read(const struct layer_chain_link *next, const struct op *pad)
{
        return !pad || (!is_pool(next->op) && surrounds_rows(pad));
}

/* Finds what the link before makes for link number i: its result, with a halo or without. */
static bool find_between(const struct marking *m, struct layer_chain *chain, int i)
{
        struct layer_chain_link *before = &chain->links[i - 1];
        struct value *x = op_operand(chain->links[i].op, 0);
        struct access access;
        if (!access_store(m->region, x, &before->result, &access, &before->pad))
                return false;
        bool as_it_is = x == before->result ||
                        (before->pad && op_operand(before->pad, 0) == before->result);
        return as_it_is && can_read(&chain->links[i], before->pad) &&
               mark_of(m, before->result) == i - 1 &&
               type_same_dims(before->result->type, op_result(before->op)->type);
}

/* Does only the next link read what each link makes? */
static bool is_linear(const struct marking *m, const struct layer_chain *chain)
{
        for (int i = 0; i < m->count; i++)
                for (const struct use *u = op_result(m->ops[i])->uses; u && m->region;
                     u = u->next) {
                        bool contracts = can_link(u->user) && u->user->region == m->region;
                        int link = m->marks[i] + 1;
                        if (contracts &&
                            (link >= chain->count || u->user != chain->links[link].op || u->index))
                                return false;
                }
        return true;
}

bool layer_chain_find(const struct region *region, struct op *op, struct value *result,
                struct layer_chain *chain)
{
        *chain = (struct layer_chain){ 0 };
        int count = 0;
        for (const struct op *o = region ? region->first : NULL; o; o = o->next)
                count++;
        struct arena *arena = arena_new();
        struct marking m = { .region = region };
        m.ops = arena_array(arena, (size_t)count + 1, sizeof *m.ops);
        m.marks = arena_array(arena, (size_t)count + 1, sizeof *m.marks);
        bool good = mark_region(&m, region ? region->first : op, chain) && is_linear(&m, chain);
        for (int i = 1; i < chain->count && good; i++) {
                good = find_between(&m, chain, i);
                if (good && is_wide(&chain->links[i], chain->links[i - 1].pad)) {
                        good = !chain->wide;
                        chain->wide = i;
                }
        }
        good = good && chain->count;
        struct layer_chain_link *last = good ? &chain->links[chain->count - 1] : NULL;
        good = good && access_store(region, result, &last->result, &chain->y, &last->pad) &&
               (!region || mark_of(&m, last->result) == chain->count - 1) &&
               type_same_dims(last->result->type, op_result(last->op)->type);
        arena_free(arena);
        return good;
}

bool layer_chain_joins(const struct layer_chain *first, const struct layer_chain *second)
{
        const struct layer_chain_link *last = &first->links[first->count - 1],
                                      *next = &second->links[0];
        const struct value *made = first->y.value;
        bool as_it_is =
                made == last->result || (last->pad && op_operand(last->pad, 0) == last->result);
        bool wide = is_wide(next, last->pad);
        return first->count + second->count <= LAYER_CHAIN_MAX && as_it_is &&
               can_read(next, last->pad) && !(wide && (first->wide || second->wide));
}
