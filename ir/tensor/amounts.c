/* SPDX-License-Identifier: MIT */
/* Finds amounts by going through the operations that compute them. */
#include "ir/tensor/amounts.h"

#include <string.h>

#include "base/size.h"

enum { DEPTH_MAX = 100, STEPS_MAX = 4000 };     /* Amounts are computed by few operations. */

struct search { struct module *m; int depth, steps; };

static bool find(struct search *s, const struct value *v, struct amount *a, int *count);

/* ---- element-wise operations ---- */

static bool of_term(struct search *s, enum dim_kind kind, struct amount x, struct amount y,
                    struct amount *z)
{
        dim_t a = amount_dim(x), b = amount_dim(y);
        if (dim_equal(a, DIM_NONE) || dim_equal(b, DIM_NONE))
                return false;
        dim_t d = dim_binary(s->m, kind, a, b);
        *z = amount_of_dim(d);
        return !dim_equal(d, DIM_NONE);
}

/* Do the amounts compare so in every run? */
static bool compare(struct search *s, enum opcode code, struct amount x, struct amount y,
                    struct amount *z)
{
        int64_t x_low = x.term ? dim_least(s->m, x.dim) : x.number,
                x_high = x.term ? dim_bound(s->m, x.dim) : x.number,
                y_low = y.term ? dim_least(s->m, y.dim) : y.number,
                y_high = y.term ? dim_bound(s->m, y.dim) : y.number;
        bool same = x.term && y.term && dim_equal(x.dim, y.dim);
        bool less = x_high < y_low, more = x_low > y_high;
        bool equal = same || (x_low == x_high && y_low == y_high && x_low == y_low);
        bool le = x_high <= y_low || same, ge = x_low >= y_high || same;
        switch (code) {
        case OP_eq: *z = amount_of(equal); return less || more || equal;
        case OP_ne: *z = amount_of(!equal); return less || more || equal;
        case OP_lt: *z = amount_of(less); return less || ge;
        case OP_le: *z = amount_of(le); return le || more;
        case OP_gt: *z = amount_of(more); return more || le;
        case OP_ge: *z = amount_of(ge); return ge || less;
        default: return false;
        }
}

static bool combine(struct search *s, enum opcode code, struct amount x, struct amount y,
                    struct amount *z)
{
        bool numbers = !x.term && !y.term;
        *z = (struct amount){ 0 };
        if (x.unknown || y.unknown) {
                z->unknown = true;
                return true;
        }
        switch (code) {
        case OP_add:
                return numbers ? int_add(x.number, y.number, &z->number)
                       /* A term less a number is a term of its own. */
                       : !x.term && x.number < 0
                               ? of_term(s, DIM_SUB, y, amount_of(-x.number), z) &&
                                         dim_least(s->m, y.dim) >= -x.number
                       : !y.term && y.number < 0
                               ? of_term(s, DIM_SUB, x, amount_of(-y.number), z) &&
                                         dim_least(s->m, x.dim) >= -y.number
                               : of_term(s, DIM_ADD, x, y, z);
        case OP_sub:
                if (numbers)
                        return int_sub(x.number, y.number, &z->number);
                if (x.term && !y.term && y.number < 0)
                        return of_term(s, DIM_ADD, x, amount_of(-y.number), z);
                /* A term is never negative, so it is the difference only where that is not. */
                if (x.term && y.term && dim_equal(x.dim, y.dim)) {
                        *z = amount_of(0);
                        return true;
                }
                return (x.term ? dim_least(s->m, x.dim) : x.number) >=
                               (y.term ? dim_bound(s->m, y.dim) : y.number) &&
                       of_term(s, DIM_SUB, x, y, z);
        case OP_mul:
                return numbers ? int_mul(x.number, y.number, &z->number)
                               : of_term(s, DIM_MUL, x, y, z);
        case OP_div:
                if (numbers) {
                        z->number = y.number ? x.number / y.number : 0;
                        return y.number > 0 && x.number >= 0;
                }
                return of_term(s, DIM_DIV, x, y, z);
        case OP_max: case OP_min:
                if (numbers) {
                        bool first = (x.number > y.number) == (code == OP_max);
                        *z = first ? x : y;
                        return true;
                }
                if (!x.term && x.number < 0)
                        *z = code == OP_max ? y : x;
                else if (!y.term && y.number < 0)
                        *z = code == OP_max ? x : y;
                else
                        return of_term(s, code == OP_max ? DIM_MAX : DIM_MIN, x, y, z);
                return true;
        case OP_and: *z = amount_of(x.number & y.number); return numbers;
        case OP_or: *z = amount_of(x.number | y.number); return numbers;
        default: return compare(s, code, x, y, z);
        }
}

/* Makes amounts the truth values of their comparison with 0. */
static bool of_truths(struct search *s, enum opcode code, struct amount *a, int count)
{
        for (int i = 0; i < count; i++) {
                struct amount z;
                if (!combine(s, code, a[i], amount_of(0), &z))
                        return false;
                a[i] = z;
        }
        return true;
}

static bool of_two(struct search *s, const struct op *op, struct amount *a, int *count)
{
        struct amount y[AMOUNTS_MAX];
        int other;
        if (!find(s, op_operand(op, 0), a, count) || !find(s, op_operand(op, 1), y, &other) ||
            *count != other)
                return false;
        for (int i = 0; i < *count; i++) {
                struct amount z;
                if (!combine(s, op->code, a[i], y[i], &z))
                        return false;
                a[i] = z;
        }
        return true;
}

static bool of_select(struct search *s, const struct op *op, struct amount *a, int *count)
{
        struct amount c[AMOUNTS_MAX], y[AMOUNTS_MAX];
        int conditions, other;
        if (!find(s, op_operand(op, 0), c, &conditions))
                return false;
        bool first = true, second = true;       /* Is one of the sides all that is chosen? */
        for (int i = 0; i < conditions; i++) {
                first = first && !c[i].unknown && !c[i].term && c[i].number;
                second = second && !c[i].unknown && !c[i].term && !c[i].number;
        }
        if (first || second)
                return find(s, op_operand(op, first ? 1 : 2), a, count);
        if (!find(s, op_operand(op, 1), a, count) || !find(s, op_operand(op, 2), y, &other) ||
            *count != other || conditions != other)
                return false;
        for (int i = 0; i < *count; i++)
                if (c[i].unknown)
                        a[i] = c[i];
                else if (!c[i].number)
                        a[i] = y[i];
        return true;
}

/* ---- moves ---- */

static bool of_concat(struct search *s, const struct op *op, struct amount *a, int *count)
{
        *count = 0;
        if (op_result(op)->type->rank != 1)
                return false;
        for (int i = 0; i < op->operand_count; i++) {
                struct amount part[AMOUNTS_MAX];
                int more;
                if (!find(s, op_operand(op, i), part, &more) || *count + more > AMOUNTS_MAX)
                        return false;
                memcpy(a + *count, part, (size_t)more * sizeof *part);
                *count += more;
        }
        return true;
}

static bool of_slice(struct search *s, const struct op *op, struct amount *a, int *count)
{
        struct amount x[AMOUNTS_MAX];
        int64_t start, step;
        int all, one;
        const struct type *y = op_result(op)->type;
        if (y->rank != 1 || !dim_is_static(y->dims[0]) ||
            !value_ints(op_operand(op, 1), &start, 1, &one) ||
            !value_ints(op_operand(op, 2), &step, 1, &one) ||
            !find(s, op_operand(op, 0), x, &all))
                return false;
        *count = (int)type_extent(y, 0);
        for (int i = 0; i < *count; i++) {
                int64_t at = start + i * step;
                if (at < 0 || at >= all)
                        return false;
                a[i] = x[at];
        }
        return true;
}

static bool of_gather(struct search *s, const struct op *op, struct amount *a, int *count)
{
        struct amount x[AMOUNTS_MAX];
        int64_t at[AMOUNTS_MAX];
        int all;
        if (op_operand(op, 0)->type->rank != 1 ||
            !value_ints(op_operand(op, 1), at, AMOUNTS_MAX, count) ||
            !find(s, op_operand(op, 0), x, &all))
                return false;
        for (int i = 0; i < *count; i++) {
                int64_t index = at[i] < 0 ? at[i] + all : at[i];
                if (index < 0 || index >= all)
                        return false;
                a[i] = x[index];
        }
        return true;
}

/* Repeats one element, or keeps all of them. */
static bool of_broadcast(struct search *s, const struct op *op, struct amount *a, int *count)
{
        const struct type *y = op_result(op)->type;
        int all;
        if (!type_is_static(y) || type_elements(y) > AMOUNTS_MAX ||
            !find(s, op_operand(op, 0), a, &all))
                return false;
        *count = (int)type_elements(y);
        if (all != 1)
                return all == *count;
        for (int i = 1; i < *count; i++)
                a[i] = a[0];
        return true;
}

static bool of_reduce(struct search *s, const struct op *op, struct amount *a, int *count)
{
        static const enum opcode codes[REDUCER_COUNT] = { [REDUCE_sum] = OP_add,
                                                          [REDUCE_prod] = OP_mul,
                                                          [REDUCE_max] = OP_max,
                                                          [REDUCE_min] = OP_min };
        struct amount x[AMOUNTS_MAX];
        int all;
        if (op_operand(op, 0)->type->rank != 1 || !find(s, op_operand(op, 0), x, &all) || !all)
                return false;
        *count = 1;
        a[0] = x[0];
        for (int i = 1; i < all; i++) {
                struct amount z;
                if (!combine(s, codes[op_int(op, "kind")], a[0], x[i], &z))
                        return false;
                a[0] = z;
        }
        return true;
}

/* ---- all ---- */

static bool of_constant(const struct value *v, struct amount *a, int *count)
{
        int64_t all = type_elements(v->type);
        if (all > AMOUNTS_MAX)
                return false;
        *count = (int)all;
        for (int i = 0; i < *count; i++) {
                union scalar e = constant_element(v->constant, i);
                bool fits = element_info[v->type->element].class == CLASS_SINT || e.u <= INT64_MAX;
                if (!fits)
                        return false;
                a[i] = amount_of(e.i);
        }
        return true;
}

static bool of_op(struct search *s, const struct op *op, struct amount *a, int *count)
{
        switch (op->code) {
        case OP_extent:
                *count = 1;
                a[0] = amount_of_dim(op_operand(op, 0)->type->dims[op_int(op, "axis")]);
                return true;
        case OP_reshape: return find(s, op_operand(op, 0), a, count);
        case OP_cast:
                return find(s, op_operand(op, 0), a, count) &&
                       (op_result(op)->type->element != E_BOOL || of_truths(s, OP_ne, a, *count));
        case OP_not:
                return op_result(op)->type->element == E_BOOL &&
                       find(s, op_operand(op, 0), a, count) && of_truths(s, OP_eq, a, *count);
        case OP_concat: return of_concat(s, op, a, count);
        case OP_slice: return of_slice(s, op, a, count);
        case OP_gather: return of_gather(s, op, a, count);
        case OP_broadcast: return of_broadcast(s, op, a, count);
        case OP_reduce: return of_reduce(s, op, a, count);
        case OP_select: return of_select(s, op, a, count);
        case OP_add: case OP_sub: case OP_mul: case OP_div: case OP_max: case OP_min:
        case OP_eq: case OP_ne: case OP_lt: case OP_le: case OP_gt: case OP_ge:
        case OP_and: case OP_or:
                return of_two(s, op, a, count);
        default: return false;
        }
}

/* Sets the elements of a value whose operation says nothing about them, as some may have been
 * counted. */
static bool of_known(const struct search *s, const struct value *v, struct amount *a, int *count)
{
        if (!s->m->known_count || s->m->known_hidden || !type_is_static(v->type) ||
            type_elements(v->type) > AMOUNTS_MAX)
                return false;
        *count = (int)type_elements(v->type);
        for (int i = 0; i < *count; i++)
                a[i] = (struct amount){ .unknown = true };
        for (int i = 0; i < s->m->known_count; i++)
                if (s->m->known[i].v == v)
                        a[s->m->known[i].element] = amount_of_dim(s->m->known[i].d);
        return true;
}

/* Is the amount the same in this element type, in every run? */
static bool fits(struct module *m, enum element e, struct amount a)
{
        const int bits = 8 * element_info[e].bytes;
        int64_t low = a.term ? dim_least(m, a.dim) : a.number,
                high = a.term ? dim_bound(m, a.dim) : a.number;
        if (element_info[e].class != CLASS_SINT)
                return low >= 0 && (bits == 64 || high >> bits == 0);
        const int64_t top = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
        return low >= -top - 1 && high <= top;
}

static bool find(struct search *s, const struct value *v, struct amount *a, int *count)
{
        enum element e = v->type->element;
        if (v->type->kind != TYPE_TENSOR || (!element_is_integer(e) && e != E_BOOL) ||
            s->depth == DEPTH_MAX || ++s->steps > STEPS_MAX)
                return false;
        if (v->kind == VALUE_CONSTANT)
                return of_constant(v, a, count);
        s->depth++;
        bool found = v->kind == VALUE_RESULT && of_op(s, v->op, a, count);
        s->depth--;
        for (int i = 0; found && i < *count; i++)
                found = a[i].unknown || fits(s->m, e, a[i]);
        return found || of_known(s, v, a, count);
}

bool value_amounts(struct module *m, const struct value *v, struct amount amounts[AMOUNTS_MAX],
                   int *count)
{
        struct search s = { .m = m };
        bool found = find(&s, v, amounts, count);
        for (int i = 0; found && i < *count; i++)
                found = !amounts[i].unknown;
        return found;
}

/* ---- integers that are counted ---- */

/* Finds where an element comes from, by operations that only move it: *v and *element become that
 * value and its element. Returns false where they are as far as that goes. */
static bool moved_from(const struct value **v, int64_t *element)
{
        const struct op *op = (*v)->kind == VALUE_RESULT ? (*v)->op : NULL;
        const struct value *x = op && op->operand_count ? op_operand(op, 0) : NULL;
        int64_t numbers[AMOUNTS_MAX], step;
        int count;
        if (!x || !type_is_static((*v)->type) || (*v)->type->rank > 1)
                return false;
        switch (op->code) {
        case OP_reshape:
                break;
        case OP_cast:
                if (x->type->element != E_I32 || (*v)->type->element != E_I64)
                        return false;
                break;
        case OP_concat:
                for (int i = 0; i < op->operand_count; i++) {
                        x = op_operand(op, i);
                        if (!type_is_static(x->type))
                                return false;
                        if (*element < type_elements(x->type))
                                break;
                        *element -= type_elements(x->type);
                }
                break;
        case OP_slice:
                if (!value_ints(op_operand(op, 1), numbers, 1, &count) ||
                    !value_ints(op_operand(op, 2), &step, 1, &count))
                        return false;
                *element = *numbers + *element * step;
                break;
        case OP_gather:
                if (!value_ints(op_operand(op, 1), numbers, AMOUNTS_MAX, &count) ||
                    *element >= count || x->type->rank != 1 || !type_is_static(x->type))
                        return false;
                *element = numbers[*element] +
                           (numbers[*element] < 0 ? type_extent(x->type, 0) : 0);
                break;
        default:
                return false;
        }
        *v = x;
        return true;
}

void value_amount_known(struct module *m, const struct value *from, dim_t d)
{
        int64_t element = 0;
        for (int i = 0; i < DEPTH_MAX && moved_from(&from, &element);)
                i++;
        if (from->kind == VALUE_CONSTANT || !type_is_static(from->type) || element < 0 ||
            element >= type_elements(from->type) || type_elements(from->type) > AMOUNTS_MAX)
                return;
        ARENA_GROW(m->arena, m->known, m->known_count);
        m->known[m->known_count++] = (struct known_amount){ from, element, d };
}
