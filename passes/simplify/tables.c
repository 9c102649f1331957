/* SPDX-License-Identifier: MIT */
/* The rule of simplify.def that makes a table of all results of a function of one byte.
 *
 *      %1 = cast(%0: u8) to=f32
 *      %2 = mul(%1, 0.05)
 *      %3 = sigmoid(%2)                          ->     %1 = gather(@table: <256 x u8>, %0)
 *      %4 = div(%3, 0.0039)
 *      %5 = cast(round(%4)) to=u8
 *
 * Between two quantizations an activation function has 256 results. They are computed here, by the
 * operations themselves, so that every byte stays what it was. A signed byte that is negative
 * counts from the end of the table, which is where gather looks. Targets with vectors look up lane
 * by lane, which pays where a function of the library is saved; on other targets it pays where
 * several operations are. */
#include "passes/simplify/simplify.h"
#include "passes/simplify/tables.h"

#include "ir/target/target.h"

enum { BYTES = 256 };
/* Such an operation costs this much, in simple ones; a table pays from SEVERAL on. */
enum { OF_FUNCTION = 8, OF_DIVISION = 2, SEVERAL = 8 };

static bool is_byte(const struct value *v)
{
        return element_is_integer(v->type->element) &&
               element_info[v->type->element].bytes == 1;
}

static void count_cost(struct mapping *m, const struct op *op)
{
        bool division = op->code == OP_div || op->code == OP_rem || op->code == OP_mod ||
                        op->code == OP_reciprocal || op->code == OP_sqrt;
        bool function = op_info[op->code].traits & TRAIT_COSTLY && !division;
        m->function |= function;
        m->cost += function ? OF_FUNCTION : division ? OF_DIVISION : 1;
}

/* Adds the operations that make v of a tensor of bytes. Returns false if it is made of something
 * else, too. */
static bool add_value(struct mapping *m, struct value *v)
{
        if (value_is_splat(v, NULL) || v == m->source)
                return true;
        for (int i = 0; i < m->count; i++)
                if (op_result(m->ops[i]) == v)
                        return true;
        if (is_byte(v)) {
                bool first = !m->source && !value_is_constant(v);
                m->source = first ? v : m->source;
                return first;
        }
        if (v->kind != VALUE_RESULT || !(op_info[v->op->code].traits & TRAIT_ELEMENTWISE))
                return false;
        for (int i = 0; i < v->op->operand_count; i++)
                if (!op_operand(v->op, i) || !add_value(m, op_operand(v->op, i)))
                        return false;
        if (m->count == MAPPING_OPS - 1)          /* The last place is the cast's. */
                return false;
        m->ops[m->count++] = v->op;
        count_cost(m, v->op);
        return true;
}

bool mapping_find(struct mapping *m, struct op *op)
{
        const struct type *t = op_result(op)->type;
        *m = (struct mapping){ .count = 0 };
        if (op->code != OP_cast || !is_byte(op_result(op)) || !type_is_static(t) ||
            !element_is_float(op_operand(op, 0)->type->element) ||
            !add_value(m, op_operand(op, 0)) || !m->source || !type_same_dims(m->source->type, t))
                return false;
        m->ops[m->count++] = op;
        return true;
}

/* Returns the value that stands for v when all bytes are computed. */
static struct value *of_each(struct builder *b, const struct mapping *m, struct value **made,
                             struct value *v, struct value *all)
{
        if (v == m->source)
                return all;
        for (int i = 0; i < m->count; i++)
                if (op_result(m->ops[i]) == v)
                        return made[i];
        return constant_splat(b->m, type_with_element(b->m, all->type, v->type->element),
                              constant_data(v->constant));
}

static struct value *all_bytes(struct builder *b, const struct mapping *m)
{
        const int64_t count = BYTES;
        unsigned char *numbers = constant_room(b->m, BYTES);
        for (int i = 0; i < BYTES; i++)
                numbers[i] = (unsigned char)i;
        enum element e = m->source->type->element;
        return constant_dense(b->m, type_static(b->m, e, 1, &count), numbers, "bytes");
}

struct value *mapping_table(struct builder *b, const struct mapping *m,
                            struct pass_context *context)
{
        struct pass_context all_of_it = *context;       /* The mapping folds, however little folding
                                                         * decodes otherwise. */
        struct builder folds = *b;
        struct value *made[MAPPING_OPS], *operands[OPERAND_ROW_MAX], *all = all_bytes(b, m),
                                                                     *y = NULL;
        all_of_it.limits.fold_bytes = all_of_it.limits.fold_total_bytes = INT64_MAX / 2;
        folds.fold = fold_op;
        folds.fold_context = &all_of_it;
        for (int i = 0; i < m->count; i++) {
                const struct op *op = m->ops[i];
                for (int k = 0; k < op->operand_count; k++)
                        operands[k] = of_each(b, m, made, op_operand(op, k), all);
                made[i] = y = value_build(&folds, op->code, operands, op->operand_count, op->attrs,
                                          NULL);
                if (!y || !value_is_constant(y)) {
                        y = NULL;
                        break;
                }
        }
        context->fold_steps = all_of_it.fold_steps;
        return y;
}

struct value *rewrite_cast_table(struct builder *b, struct op *op, struct pass_context *context)
{
        struct mapping m;
        bool vectors = target_engine(context->target)->vectors;
        if (!mapping_find(&m, op) || type_elements(op_result(op)->type) <= BYTES ||
            (vectors ? !m.function : m.cost < SEVERAL))
                return NULL;
        struct value *table = mapping_table(b, &m, context);
        if (!table)
                return NULL;
        table->constant->name = "table";
        return build_gather(b, table, m.source, 0);
}
