/* SPDX-License-Identifier: MIT */
/* quantize: in which steps values are kept in bytes, and the bytes themselves.
 *
 * An operation that only moves numbers (concat, the largest of windows, slices) has the same steps
 * as its operands, so that it moves bytes: the steps hold the numbers of all of them. But an
 * operand of a concat that would lose two bits that way, and that others read, too, keeps its own
 * steps, and is rounded again. */
#include <float.h>
#include <math.h>

#include "ir/tensor/affine_numbers.h"
#include "passes/quantize/quantize.h"

/* ---- which have the same ---- */

static struct site *stand_of(struct site *s)
{
        while (s->same)
                s = s->same;
        return s;
}

const struct affine *quantize_affine(struct site *s) { return &stand_of(s)->affine; }

/* Gives two sites the same steps. The smaller group joins the larger one, so that the site that
 * stands for a group is few hops away. */
static void unite(struct site *a, struct site *b)
{
        a = stand_of(a);
        b = stand_of(b);
        if (a == b || (a->pinned && b->pinned))
                return;
        bool first = a->pinned || (!b->pinned && a->members >= b->members);
        struct site *all = first ? a : b, *other = first ? b : a;
        other->same = all;
        all->members += other->members + 1;
        all->extent = extent_join(all->extent, other->extent);
}

static double width(struct extent e) { return extent_is_none(e) ? 0 : (double)e.most - e.least; }

/* Do operations other than one read s as bytes? */
static bool has_other_readers(const struct site *s)
{
        int count = 0;
        for (const struct use *u = s->value->uses; u; u = u->next) {
                const struct site *y = site_of_op(u->user);
                count += y && (y->carried || layer_reads(y->layer, u->index));
        }
        return count > 1;
}

enum { LOST_MOST = 4 };                 /* An operand may lose less than two bits. */

static void unite_moved(struct site *s)
{
        const struct op *op = s->value->op;
        struct extent all = extent_none;
        int count = op->code == OP_concat ? op->operand_count : 1;
        for (int i = 0; i < count; i++) {
                struct site *x = site_of(op_operand(op, i));
                if (x && x->bytes)
                        all = extent_join(all, stand_of(x)->extent);
        }
        for (int i = 0; i < count; i++) {
                struct site *x = site_of(op_operand(op, i));
                bool loses = x && count > 1 && has_other_readers(x) &&
                             width(stand_of(x)->extent) * LOST_MOST < width(all);
                if (x && x->bytes && !loses && !(count > 1 && stand_of(x)->pinned))
                        unite(s, x);
        }
}

static bool is_moved(const struct site *s)
{
        return s->carried && quantize_carrying(s->value->op) == CARRY_MOVE;
}

/* ---- of the model's own ---- */

static bool quantize_find_decoded(const struct value *v, enum element to, struct affine *a)
{
        double scale = 1, zero = 0;
        if (op_is(v, OP_mul) && value_is_splat(op_operand(v->op, 1), &scale))
                v = op_operand(v->op, 0);
        if (!op_is(v, OP_cast))
                return false;
        v = op_operand(v->op, 0);
        if (op_is(v, OP_sub) && value_is_splat(op_operand(v->op, 1), &zero))
                v = op_operand(v->op, 0);
        if (op_is(v, OP_cast) && v->type->element == E_I32)
                v = op_operand(v->op, 0);
        *a = (struct affine){ (float)scale, (int32_t)zero };
        return v->type->element == to && scale > 0;
}

/* ---- numbers ---- */

static bool has_range(const struct quantizing *q, const struct site *s)
{
        if (s->range && (s->range->count || s->range->infinite))
                return true;
        const struct op *op = s->value->kind == VALUE_RESULT ? s->value->op : NULL;
        diag_error(q->context->diag, EXIT_INVALID,
                   "the ranges hold no numbers of '%s'%s%s%s: calibrate this model with samples "
                   "that reach it",
                   s->name ? s->name : "a value", op ? " (" : "", op ? op_info[op->code].name : "",
                   op ? ")" : "");
        return false;
}

bool quantize_choose_scales(struct quantizing *q)
{
        for (int i = 0; i < q->site_count; i++) {
                struct site *s = &q->sites[i];
                s->extent = extent_none;
                if (!s->bytes)
                        continue;
                s->pinned = quantize_find_decoded(s->value, scheme_stored(&q->policy->scheme),
                                                  &s->affine);
                if (s->pinned || is_moved(s))
                        continue;
                if (!has_range(q, s))
                        return false;
                s->extent = observe_extent(s->range, q->policy->observer, &q->policy->scheme);
        }
        for (int i = 0; i < q->site_count; i++)
                if (q->sites[i].bytes && is_moved(&q->sites[i]))
                        unite_moved(&q->sites[i]);
        for (int i = 0; i < q->site_count; i++) {
                struct site *s = &q->sites[i];
                if (!s->bytes || s->same || s->pinned)
                        continue;
                if (extent_is_none(s->extent) && !has_range(q, s))
                        return false;
                if (extent_is_none(s->extent))  /* None of its operands is in bytes. */
                        s->extent =
                                observe_extent(s->range, q->policy->observer, &q->policy->scheme);
                s->affine = affine_of(s->extent, &q->policy->scheme);
        }
        return true;
}

/* ---- bytes in the graph ---- */

/* Returns v as it was before bounds, where saturation does the same as these. */
static struct value *without_bounds(struct value *v, struct affine a, const struct scheme *g)
{
        double c;
        int32_t least, most;
        scheme_limits(&(struct scheme){ .to = g->to }, &least, &most);
        while (op_is(v, OP_max) || op_is(v, OP_min)) {
                bool lower = v->op->code == OP_max;
                if (!value_is_splat(op_operand(v->op, 1), &c))
                        break;
                double number = (double)rintf((float)c / a.scale) + a.zero;
                if (!(lower ? number <= least : number >= most))
                        break;
                v = op_operand(v->op, 0);
        }
        return v;
}

/* Bounds v by the numbers of the scheme, where its storage type has more numbers. */
static struct value *bounded(struct builder *b, struct value *v, struct affine a,
                             const struct scheme *g)
{
        int32_t least, most;
        scheme_limits(g, &least, &most);
        if (scheme_stored(g) == g->to)
                return v;
        v = build_binary(b, OP_max, v,
                         build_like(b, v, (double)((float)(least - a.zero) * a.scale)));
        return v ? build_binary(b, OP_min, v,
                                build_like(b, v, (double)((float)(most - a.zero) * a.scale)))
                 : NULL;
}

/* Returns a builder behind v; constants fold, as where the importer builds. */
static struct builder behind(const struct quantizing *q, const struct value *v)
{
        struct op *op = v->kind == VALUE_RESULT ? v->op : NULL;
        return (struct builder){ .m = q->m,
                                 .region = value_region(v),
                                 .before = op ? op->next : value_region(v)->first,
                                 .location = op ? op->location : NULL,
                                 .diag = q->context->diag,
                                 .fold = fold_op,
                                 .fold_context = q->context };
}

static bool insert_at(struct quantizing *q, struct site *s)
{
        struct builder b = behind(q, s->value);
        struct affine a = *quantize_affine(s);
        const struct scheme *g = &q->policy->scheme;
        enum element to = scheme_stored(g);
        struct value *v = s->value, *scale = build_like(&b, v, a.scale),
                     *zero = constant_number(q->m, type_with_element(q->m, v->type, to), a.zero),
                     *real = bounded(&b, without_bounds(v, a, g), a, g);
        struct value *bytes = real ? build_quantize(&b, real, scale, zero, to) : NULL;
        s->decoded = bytes ? build_dequantize(&b, bytes, scale, zero) : NULL;
        q->byte_count++;
        return s->decoded != NULL;
}

bool quantize_insert(struct quantizing *q)
{
        for (int i = 0; i < q->site_count; i++) {
                struct site *s = &q->sites[i];
                if (!s->bytes || s->pinned)
                        continue;
                if (!insert_at(q, s))
                        return false;
                for (struct use *u = s->value->uses, *next; u; u = next) {
                        next = u->next;
                        const struct site *y = site_of_op(u->user);
                        if (y && (y->carried || layer_reads(y->layer, u->index)))
                                op_set_operand(u->user, u->index, s->decoded);
                }
        }
        return true;
}
