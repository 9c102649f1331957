/* SPDX-License-Identifier: MIT */
/* quantize: which values are kept in bytes.
 *
 * A value is stored where other operations than element-wise ones read it, or operations of several
 * kernels; the root of its site is the value that is stored in the end. Stored values are in bytes
 * where a quantized layer reads them, or an operation that works on bytes because its own result is
 * in bytes. So no floats are stored between layers, and a value that a kernel uses further by
 * itself is not rounded:
 *
 *     convolve -> add bias -> relu -> [bytes] -> convolve -> add bias --\
 *                                \----------------------------------- add -> relu -> [bytes]
 *
 * There are two exceptions. Of two layers' sums that meet in a kernel the first is stored, in
 * bytes. And the operand of a costly function is in bytes, too (steps `functions`, `sigmoids`), so
 * that the function becomes a table.
 *
 * Norms and softmax work on floats: what reductions make of rows and is spread over them again has
 * more digits than a byte. Their operands are not rounded for them, nor are, further back, values
 * that are added up for them alone (the sums beside the layers of a transformer). */
#include "passes/quantize/quantize.h"

/* ---- kinds of operations ---- */

static bool is_floats(const struct value *v) { return v && v->type->element == E_F32; }

/* Has a byte the numbers that op puts around x: none, or 0? */
static bool pads_zeros(const struct op *op)
{
        double number;
        const struct value *around = op_operand(op, 1);
        return !around || (value_is_splat(around, &number) && number == 0);
}

static enum carrying carrying_reduction(const struct op *op)
{
        switch (op_int(op, "kind")) {
        case REDUCE_max: case REDUCE_min: return CARRY_MOVE;
        case REDUCE_sum: return CARRY_SUM;
        default: return CARRY_NONE;
        }
}

static const struct {
        bool there;
        enum carrying carrying;
        const char *when;
} carryings[OPCODE_COUNT] = {
#define CARRY(op, carrying, when) [OP_##op] = { true, CARRY_##carrying, when },
#include "passes/quantize/carrying.def"
};

enum carrying quantize_carrying_of(enum opcode code, const char **when)
{
        *when = carryings[code].there ? carryings[code].when : "";
        if (carryings[code].there)
                return carryings[code].carrying;
        return op_info[code].traits & TRAIT_ELEMENTWISE ? CARRY_MAP : CARRY_NONE;
}

enum carrying quantize_carrying(const struct op *op)
{
        const char *when;
        if (op->result_count != 1 || !is_floats(op_result(op)))
                return CARRY_NONE;
        enum carrying carrying = quantize_carrying_of(op->code, &when);
        switch (op->code) {
        case OP_gather: case OP_gather_elements: case OP_gather_nd:
                return value_is_constant(op_operand(op, 0)) ? CARRY_NONE : carrying;
        case OP_pad: return pads_zeros(op) ? carrying : CARRY_NONE;
        case OP_reduce: case OP_reduce_window: return carrying_reduction(op);
        default: return carrying;
        }
}

static bool is_map(const struct op *op) { return quantize_carrying(op) == CARRY_MAP; }

/* Is op a function of the library that becomes a table? On vectors, functions of one exponential
 * cost less than a table does. */
static bool is_function(const struct quantizing *q, const struct op *op)
{
        if (element_info[scheme_stored(&q->policy->scheme)].bytes > 1)
                return false;
        switch (op->code) {
        case OP_div: case OP_reciprocal: case OP_sqrt: case OP_rem: case OP_mod: return false;
        case OP_exp: case OP_sigmoid: case OP_tanh: return q->policy->steps[STEP_sigmoids];
        default:
                return op_info[op->code].traits & TRAIT_COSTLY &&
                       q->policy->steps[STEP_functions];
        }
}

static bool is_contraction(const struct op *op)
{
        return op_info[op->code].traits & TRAIT_CONTRACTION;
}

/* ---- norms ---- */

static void mark_norm(struct site *s, const struct op *op)
{
        enum carrying carrying = quantize_carrying(op);
        bool reduced = false, spread = false;
        for (int i = 0; carrying != CARRY_NONE && i < op->operand_count; i++) {
                const struct site *x = site_of(op_operand(op, i));
                reduced |= x && x->reduced;
                spread |= x && x->spread;
        }
        s->norm = spread && carrying == CARRY_MAP;
        s->spread = (spread && carrying == CARRY_MOVE) || (reduced && op->code == OP_broadcast);
        s->reduced = !s->norm && !s->spread && (op->code == OP_reduce || reduced);
}

/* ---- what kernels hand on ---- */

/* Returns the root of the operations that read s, where they alone use it, compute element by
 * element, and have one root; NULL: s is stored. */
static struct site *root_of(const struct site *s)
{
        struct site *root = NULL;
        if (s->value->kind != VALUE_RESULT)
                return NULL;
        for (const struct use *u = s->value->uses; u; u = u->next) {
                struct site *y = site_of_op(u->user);
                if (u->user->region != value_region(s->value) || !is_map(u->user) || !y ||
                    (root && y->root != root))
                        return NULL;
                root = y->root;
        }
        return root;
}

static void find_roots(struct quantizing *q)
{
        for (int i = q->site_count; i-- > 0;) {
                struct site *s = &q->sites[i], *root = s->cut ? NULL : root_of(s);
                s->root = root ? root : s;
        }
}

/* Returns the sums that reach x without being stored, where x is used further in a kernel with
 * s. */
static struct site *sum_in(const struct site *x, const struct site *s)
{
        return x && !x->cut && x->root == s->root ? x->sum : NULL;
}

/* Stores earlier sums, so that each kernel has the sums of one layer. */
static void cut_joins(struct quantizing *q)
{
        for (int i = 0; i < q->site_count; i++) {
                struct site *s = &q->sites[i], *first = NULL;
                const struct op *op = s->value->kind == VALUE_RESULT ? s->value->op : NULL;
                if (!op)
                        continue;
                s->sum = is_contraction(op) ? s : NULL;
                for (int k = 0; is_map(op) && k < op->operand_count; k++) {
                        struct site *x = site_of(op_operand(op, k)), *sum = sum_in(x, s);
                        if (!sum || sum == s->sum)
                                continue;
                        if (s->sum)
                                (sum < s->sum ? x : first)->cut = true;
                        if (!s->sum || sum > s->sum) {
                                s->sum = sum;
                                first = x;
                        }
                }
        }
}

/* Returns x, where op is a function of one value x and of numbers; NULL: of several values. */
static struct value *only_operand(const struct op *op)
{
        struct value *x = NULL;
        double number;
        for (int i = 0; i < op->operand_count; i++) {
                struct value *v = op_operand(op, i);
                if (value_is_splat(v, &number) || v == x)
                        continue;
                if (x)
                        return NULL;
                x = v;
        }
        return x;
}

/* Makes the operands of functions bytes, behind the layer's bias. */
static void cut_functions(struct quantizing *q)
{
        for (int i = 0; i < q->site_count; i++) {
                const struct site *s = &q->sites[i];
                if (s->value->kind != VALUE_RESULT || !is_map(s->value->op) ||
                    !is_function(q, s->value->op))
                        continue;
                struct value *x = only_operand(s->value->op);
                while (x && value_has_one_use(x) && x->kind == VALUE_RESULT && is_map(x->op) &&
                       only_operand(x->op))
                        x = only_operand(x->op);
                struct site *from = site_of(x);
                if (sum_in(from, s))
                        from->cut = true;
        }
}

/* ---- bytes ---- */

static bool is_read_as_bytes(const struct site *s)
{
        for (const struct use *u = s->value->uses; u; u = u->next) {
                const struct site *y = site_of_op(u->user);
                if (y && (y->carried || layer_reads(y->layer, u->index)))
                        return true;
        }
        return false;
}

static void choose(struct quantizing *q)
{
        for (int i = q->site_count; i-- > 0;) {
                struct site *s = &q->sites[i];
                const struct op *op = s->value->kind == VALUE_RESULT ? s->value->op : NULL;
                s->bytes =
                        s->root == s && s->name && !s->unfit && !s->unseen && is_read_as_bytes(s);
                s->carried = op && s->root->bytes && !s->norm && !s->spread && !s->keep &&
                             quantize_carrying(op) != CARRY_NONE;
        }
}

void quantize_find_norms(struct quantizing *q)
{
        for (int i = 0; i < q->site_count; i++)
                if (q->sites[i].value->kind == VALUE_RESULT)
                        mark_norm(&q->sites[i], q->sites[i].value->op);
}

void quantize_choose_bytes(struct quantizing *q)
{
        find_roots(q);
        cut_joins(q);
        cut_functions(q);
        find_roots(q);
        choose(q);
}
