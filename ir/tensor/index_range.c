/* SPDX-License-Identifier: MIT */
/* One walk goes from a value to what it is computed from, in a bounded number of steps. Of float
 * arithmetic only what is exact is followed (minimum, maximum, whole parts): what else is rounded
 * could pass a bound. */
#include "ir/tensor/index_range.h"

#include <math.h>

enum { STEPS_MAX = 64,                  /* So many values are looked at for one answer, */
       ELEMENTS_MAX = 1 << 16 };        /* and constants of at most so many elements. */

/* Every element lies in [low, high], and is at most base + more in every run, where base is not
 * DIM_NONE. */
struct range {
        double low, high;
        dim_t base;
        int64_t more;
};

struct walk { const struct module *m; int steps; };

static const struct range unknown = { -INFINITY, INFINITY, { INT64_MAX }, 0 };

static struct range range_of(struct walk *w, const struct value *v);

static bool has_base(const struct range *r) { return !dim_equal(r->base, DIM_NONE); }

/* Returns the largest value in every run: base + more has one, too. */
static double highest(const struct walk *w, const struct range *r)
{
        const double most = has_base(r) ? (double)dim_bound(w->m, r->base) + (double)r->more
                                        : INFINITY;
        return most < r->high ? most : r->high;
}

/* Returns the least value that base + more has in any run. */
static double least_bound(const struct walk *w, const struct range *r)
{
        return (double)dim_least(w->m, r->base) + (double)r->more;
}

/* Returns the range of what is one of both, or neither above the larger of them. */
static struct range joined(const struct walk *w, const struct range *a, const struct range *b)
{
        const struct range *upper = has_base(a) ? a : b, *other = upper == a ? b : a;
        struct range r = { a->low < b->low ? a->low : b->low,
                           a->high > b->high ? a->high : b->high, DIM_NONE, 0 };

        if (!has_base(upper))
                return r;
        /* The other one is a number above the least that the base has, or less. */
        int64_t more = other->more;
        if (!dim_equal(other->base, upper->base)) {
                if (!(fabs(other->high) < 0x1p40))
                        return r;
                more = (int64_t)ceil(other->high) - dim_least(w->m, upper->base);
        }
        r.base = upper->base;
        r.more = more > upper->more ? more : upper->more;
        return r;
}

static struct range of_constant(const struct value *v)
{
        const enum element e = v->type->element;
        const int64_t count = v->constant->kind == CONSTANT_SPLAT ? 1 : type_elements(v->type);
        const bool is_signed = element_info[e].class == CLASS_SINT, is_float = element_is_float(e);
        struct range r = { INFINITY, -INFINITY, DIM_NONE, 0 };

        if (count < 1 || count > ELEMENTS_MAX ||
            (!is_float && !is_signed && element_info[e].class != CLASS_UINT))
                return unknown;
        for (int64_t i = 0; i < count; i++) {
                const union scalar s = constant_element(v->constant, i);
                const double x = is_float ? s.f : is_signed ? (double)s.i : (double)s.u;
                if (isnan(x))
                        return unknown;
                r.low = x < r.low ? x : r.low;
                r.high = x > r.high ? x : r.high;
        }
        return r;
}

/* Returns the range of an index below the extent. */
static struct range below(const struct walk *w, dim_t extent)
{
        return (struct range){ 0, (double)dim_bound(w->m, extent) - 1, extent, -1 };
}

/* Does the type hold every number of r, so that sums did not wrap? Above 2^62 bounds here are
 * rounded, and none is sure. */
static bool is_in_type(const struct walk *w, enum element e, const struct range *r)
{
        const bool is_signed = element_info[e].class == CLASS_SINT;
        const int bits = 8 * element_info[e].bytes - is_signed;
        const double most = bits < 62 ? ldexp(1, bits) - 1 : 0x1p62;
        const double least = !is_signed ? 0 : bits < 62 ? -ldexp(1, bits) : -0x1p62;

        return r->low >= least && highest(w, r) <= most;
}

/* Returns r without what numbers of the type cannot be. */
static struct range in_type(enum element e, struct range r)
{
        const bool is_signed = element_info[e].class == CLASS_SINT;
        const double most = ldexp(1, 8 * element_info[e].bytes - is_signed);

        if (!element_is_integer(e))
                return r;
        r.low = fmax(r.low, is_signed ? -most : 0);
        r.high = fmin(r.high, most < 0x1p53 ? most - 1 : most);
        return r;
}

static struct range of_cast(struct walk *w, const struct op *op)
{
        const enum element from = op_operand(op, 0)->type->element,
                           to = op->results[0].type->element;
        struct range r = range_of(w, op_operand(op, 0));

        if (element_is_float(to)) {     /* Whole numbers up to here are exact. */
                const double exact = to == E_F64 ? 0x1p53 : to == E_F32 ? 0x1p24 : 0x1p8;
                const double most = highest(w, &r);
                const bool keeps = element_is_float(from)
                                           ? from == to || to == E_F64
                                           : r.low >= -exact && most <= exact;
                return keeps ? r : unknown;
        }
        if (!element_is_integer(to))
                return unknown;
        if (!element_is_float(from))
                return is_in_type(w, to, &r) ? r : unknown;
        /* NaN becomes 0. */
        r.low = r.low < 0 ? trunc(r.low) : 0;
        r.high = r.high > 0 ? trunc(r.high) : 0;
        if (has_base(&r) && least_bound(w, &r) < 0)
                r.base = DIM_NONE;
        return r;
}

static struct range of_minimum(struct walk *w, const struct op *op)
{
        const struct range a = range_of(w, op_operand(op, 0)), b = range_of(w, op_operand(op, 1));
        const struct range *upper = has_base(&b) ? &b : &a;
        return (struct range){ a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high,
                               upper->base, upper->more };
}

static struct range of_maximum(struct walk *w, const struct op *op)
{
        const struct range a = range_of(w, op_operand(op, 0)), b = range_of(w, op_operand(op, 1));
        struct range r = joined(w, &a, &b);
        r.low = a.low > b.low ? a.low : b.low;
        return r;
}

/* Adds b to a, or -b; both hold whole numbers. */
static struct range of_sum(struct walk *w, const struct op *op, int sign)
{
        const struct range a = range_of(w, op_operand(op, 0));
        struct range b = range_of(w, op_operand(op, 1));

        if (sign < 0)
                b = (struct range){ -b.high, -b.low, DIM_NONE, 0 };
        struct range r = { a.low + b.low, a.high + b.high, DIM_NONE, 0 };
        const struct range *base = has_base(&a) ? &a : &b, *other = base == &a ? &b : &a;
        if (has_base(base) && fabs(other->high) < 0x1p40) {
                r.base = base->base;
                r.more = base->more + (int64_t)other->high;
        }
        return is_in_type(w, op->results[0].type->element, &r) ? r : unknown;
}

/* A quotient by a number of 1 or more, which is nearer to 0. */
static struct range of_quotient(struct walk *w, const struct op *op)
{
        struct range a = range_of(w, op_operand(op, 0));
        const struct range b = range_of(w, op_operand(op, 1));

        if (b.low < 1)
                return unknown;
        a.low = a.low < 0 ? a.low : 0;
        a.high = a.high > 0 ? trunc(a.high / b.low) : 0;
        if (has_base(&a) && least_bound(w, &a) < 0)
                a.base = DIM_NONE;
        return a;
}

/* A remainder by a number of 1 or more: less than it, and of a number that is not negative at most
 * that one. */
static struct range of_remainder(struct walk *w, const struct op *op)
{
        const struct range a = range_of(w, op_operand(op, 0)), b = range_of(w, op_operand(op, 1));
        const double most = highest(w, &b);

        if (b.low < 1)
                return unknown;
        return (struct range){ op->code == OP_mod || a.low >= 0 ? 0 : 1 - most, most - 1, b.base,
                               b.more - 1 };
}

static struct range of_whole_part(struct walk *w, const struct op *op)
{
        struct range r = range_of(w, op_operand(op, 0));
        r.low = floor(r.low);
        r.high = ceil(r.high);
        return r;                       /* base + more is whole. */
}

static struct range of_each(struct walk *w, const struct op *op)
{
        struct range r = range_of(w, op_operand(op, 0));
        for (int i = 1; i < op->operand_count; i++) {
                const struct range next = range_of(w, op_operand(op, i));
                r = joined(w, &r, &next);
        }
        return r;
}

static struct range of_select(struct walk *w, const struct op *op)
{
        const struct range a = range_of(w, op_operand(op, 1)), b = range_of(w, op_operand(op, 2));
        return joined(w, &a, &b);
}

static struct range of_fusion(struct walk *w, const struct value *v)
{
        const struct op *yield = v->op->regions[0]->last;
        return range_of(w, op_operand(yield, (int)(v - v->op->results)));
}

static struct range of_op(struct walk *w, const struct value *v)
{
        const struct op *op = v->op;
        const bool whole = element_is_integer(v->type->element);

        switch (op->code) {
        case OP_iota: return below(w, v->type->dims[op_int(op, "axis")]);
        case OP_argsort: return below(w, op_operand(op, 0)->type->dims[op_int(op, "axis")]);
        case OP_extent: {
                const dim_t d = op_operand(op, 0)->type->dims[op_int(op, "axis")];
                return (struct range){ (double)dim_least(w->m, d), (double)dim_bound(w->m, d), d,
                                       0 };
        }
        case OP_cast: return of_cast(w, op);
        case OP_min: return of_minimum(w, op);
        case OP_max: return of_maximum(w, op);
        case OP_add: return whole ? of_sum(w, op, 1) : unknown;
        case OP_sub: return whole ? of_sum(w, op, -1) : unknown;
        case OP_div: return whole ? of_quotient(w, op) : unknown;
        case OP_rem: case OP_mod: return whole ? of_remainder(w, op) : unknown;
        case OP_floor: case OP_ceil: case OP_round: case OP_trunc: return of_whole_part(w, op);
        case OP_select: return of_select(w, op);
        case OP_concat: return of_each(w, op);
        case OP_fusion: return of_fusion(w, v);
        case OP_reshape: case OP_transpose: case OP_broadcast: case OP_slice: case OP_gather:
        case OP_gather_elements: return range_of(w, op_operand(op, 0));
        default: return unknown;
        }
}

static struct range range_of(struct walk *w, const struct value *v)
{
        if (!v || v->type->kind != TYPE_TENSOR || ++w->steps > STEPS_MAX)
                return unknown;
        const struct range r = v->kind == VALUE_CONSTANT ? of_constant(v)
                               : v->kind == VALUE_RESULT ? of_op(w, v)
                                                         : unknown;
        return in_type(v->type->element, r);
}

bool index_is_within(const struct module *m, const struct value *v, dim_t extent)
{
        struct walk w = { .m = m };
        const struct range r = range_of(&w, v);

        return r.low >= 0 && ((dim_equal(r.base, extent) && r.more <= -1) ||
                              highest(&w, &r) < (double)dim_least(m, extent));
}

bool index_gather_is_within(const struct module *m, const struct op *op)
{
        return op->code == OP_gather &&
               index_is_within(m, op_operand(op, 1),
                               op_operand(op, 0)->type->dims[op_int(op, "axis")]);
}
