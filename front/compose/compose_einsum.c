/* SPDX-License-Identifier: MIT */
/* In an einsum every operand dimension has a label. A pair of operands is one dot: labels that both
 * have and that are needed later are its batch, labels that both have and nobody needs are
 * contracted. Diagonals and sums of one operand come first. */
#include "front/compose/compose_matrix.h"

#include <string.h>

enum {
        LETTERS = 52,
        LABELS = LETTERS + RANK_MAX
}; /* Labels are a-z, A-Z, then the dimensions of "...", the last one first. */

struct term {
        int rank, ellipsis;
        int labels[RANK_MAX];
}; /* `ellipsis` is where "..." stands, or -1. */
struct einsum {
        dim_t extents[LABELS];          /* DIM_NONE where no operand has the label. */
        int ellipsis_rank;
        bool needed[LABELS];
};

static int letter(int c)
{
        return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? 26 + c - 'A' : -1;
}

/* Reads one term, up to a comma, an arrow or the end. Spaces do not count. */
static bool term_parse(struct compose *c, const char **at, const char *end, struct term *t)
{
        const char *p = *at;

        *t = (struct term){ .ellipsis = -1 };
        for (; p < end && *p != ',' && *p != '-'; p++) {
                if (*p == ' ')
                        continue;
                if (*p == '.' && end - p >= 3 && !memcmp(p, "...", 3) && t->ellipsis < 0) {
                        t->ellipsis = t->rank;
                        p += 2;
                        continue;
                }
                if (letter(*p) < 0 || t->rank == RANK_MAX)
                        return compose_invalid(c,
                                               "equation: byte %d of a term has no meaning there",
                                               (int)(p - *at));
                t->labels[t->rank++] = letter(*p);
        }
        *at = p;
        return true;
}

/* Puts labels in the place of "...". The last dimension that it stands for has the first of
 * these labels, so that shorter ones align at the right. */
static bool ellipsis_expand(struct compose *c, struct term *t, int dims)
{
        if (t->ellipsis < 0)
                return true;
        if (dims < 0 || t->rank + dims > RANK_MAX)
                return compose_invalid(
                        c, "equation: a term has more labels than its operand has dimensions");
        memmove(t->labels + t->ellipsis + dims, t->labels + t->ellipsis,
                (size_t)(t->rank - t->ellipsis) * sizeof *t->labels);
        for (int d = 0; d < dims; d++)
                t->labels[t->ellipsis + d] = LETTERS + dims - 1 - d;
        t->rank += dims;
        return true;
}

static bool has_label(const struct term *t, int label)
{
        for (int d = 0; d < t->rank; d++)
                if (t->labels[d] == label)
                        return true;
        return false;
}

/* ---- the equation ---- */

static bool output_implied(struct compose *c, const struct term *terms, int count,
                           int ellipsis_rank, struct term *out)
{
        int uses[LABELS] = { 0 };

        *out = (struct term){ .ellipsis = -1 };
        for (int i = 0; i < count; i++)
                for (int d = 0; d < terms[i].rank; d++)
                        uses[terms[i].labels[d]]++;
        for (int d = ellipsis_rank - 1; d >= 0; d--)
                out->labels[out->rank++] = LETTERS + d;
        static const char order[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        for (int i = 0; order[i]; i++) {
                if (uses[letter(order[i])] != 1)
                        continue;
                if (out->rank == RANK_MAX)
                        return compose_unsupported(c, "a result of more than %d dimensions",
                                                   RANK_MAX);
                out->labels[out->rank++] = letter(order[i]);
        }
        return true;
}

static bool equation_parse(struct compose *c, const struct compose_einsum *in, struct einsum *e,
                           struct term *terms, struct term *out)
{
        const char *at = in->equation, *end = in->end;

        for (int i = 0; i < in->count; i++) {
                if (!term_parse(c, &at, end, &terms[i]))
                        return false;
                bool last = i == in->count - 1, comma = at < end && *at == ',';
                if (comma == last)
                        return compose_invalid(c, "equation: %s terms than %d operands",
                                               last ? "more" : "fewer", in->count);
                at += comma;
                int dims = value_rank(in->operands[i]) - terms[i].rank;
                if ((terms[i].ellipsis < 0 && dims) || !ellipsis_expand(c, &terms[i], dims))
                        return compose_invalid(c, "equation: %d labels for operand %d of rank %d",
                                               terms[i].rank, i, value_rank(in->operands[i]));
                if (terms[i].ellipsis >= 0 && dims > e->ellipsis_rank)
                        e->ellipsis_rank = dims;
        }
        if (at == end)
                return output_implied(c, terms, in->count, e->ellipsis_rank, out);
        if (end - at < 2 || at[1] != '>')
                return compose_invalid(c, "equation: an arrow is not complete");
        at += 2;
        if (!term_parse(c, &at, end, out))
                return false;
        if (at != end)
                return compose_invalid(c, "equation: the result has more than one term");
        return ellipsis_expand(c, out, e->ellipsis_rank);
}

/* Finds the extents of all labels, and checks that the labels of the result differ and occur in
 * some term. */
static bool labels_check(struct compose *c, const struct compose_einsum *in, struct einsum *e,
                         const struct term *terms, const struct term *out)
{
        for (int i = 0; i < LABELS; i++)
                e->extents[i] = DIM_NONE;
        for (int i = 0; i < in->count; i++) {
                for (int d = 0; d < terms[i].rank; d++) {
                        dim_t *extent = &e->extents[terms[i].labels[d]];
                        const dim_t have = in->operands[i]->type->dims[d];
                        const bool new = dim_equal(*extent, DIM_NONE);
                        if (!new && !dim_equal(*extent, have) && !dim_is(*extent, 1) &&
                            !dim_is(have, 1))
                                return compose_invalid(c, "one label stands for extents %s and %s",
                                                       dim_text(c->arena, c->m, *extent),
                                                       dim_text(c->arena, c->m, have));
                        *extent = new || dim_is(*extent, 1) ? have : *extent;
                }
        }
        for (int d = 0; d < out->rank; d++) {
                if (dim_equal(e->extents[out->labels[d]], DIM_NONE) || e->needed[out->labels[d]])
                        return compose_invalid(c, "equation: a label of the result %s",
                                               e->needed[out->labels[d]] ? "stands there twice"
                                                                         : "occurs in no term");
                e->needed[out->labels[d]] = true;
        }
        return true;
}

/* ---- one operand, a pair ---- */

static struct value *sum_over(struct compose *c, struct value *x, struct term *t, int d)
{
        x = compose_reduce(c, REDUCE_sum, x, (const int64_t[]){ d }, 1, E_COMPUTE);
        memmove(t->labels + d, t->labels + d + 1, (size_t)(t->rank - d - 1) * sizeof *t->labels);
        t->rank--;
        return x;
}

/* Puts the diagonal of dimensions d < k, which have one label, in the place of d. */
static struct value *diagonal(struct compose *c, struct value *x, struct term *t, int d, int k)
{
        const struct type *type = x->type;
        int64_t extent = type_extent(type, d), perm[RANK_MAX], starts[RANK_MAX] = { 0 },
                steps[RANK_MAX], back[RANK_MAX];
        dim_t dims[RANK_MAX];
        int rank = 0;

        for (int i = 0; i < type->rank; i++) { /* The other dimensions come first, then those two as
                                                * one. */
                if (i == d || i == k)
                        continue;
                steps[rank] = 1;
                dims[rank] = type->dims[i];
                perm[rank++] = i;
        }
        perm[rank] = d;
        perm[rank + 1] = k;
        dims[rank] = dim_of(extent * extent);
        steps[rank] = extent + 1;
        x = compose_reshape(c, compose_transpose(c, x, perm), rank + 1, dims);
        dims[rank] = dim_of(extent);
        x = x ? build_slice(c->b, x, starts, steps, dims) : NULL;
        for (int i = 0; i <= rank; i++)
                back[i] = i < d ? i : i == d ? rank : i - 1;
        memmove(t->labels + k, t->labels + k + 1, (size_t)(t->rank - k - 1) * sizeof *t->labels);
        t->rank--;
        return compose_transpose(c, x, back);
}

/* Broadcasts dimensions of extent 1 whose label is longer elsewhere, takes diagonals for labels
 * that stand twice, and sums over labels that nobody needs further on. */
static struct value *operand_prepare(struct compose *c, const struct einsum *e, struct value *x,
                                     struct term *t, const struct term *later, int later_count)
{
        dim_t dims[RANK_MAX];

        for (int d = 0; d < t->rank; d++)
                dims[d] = e->extents[t->labels[d]];
        x = build_broadcast_numpy(c->b, x, t->rank, dims);
        for (int d = 0; d < t->rank && x; d++) {
                for (int k = t->rank - 1; k > d && x; k--)
                        if (t->labels[k] == t->labels[d])
                                x = diagonal(c, x, t, d, k);
        }
        for (int d = t->rank - 1; d >= 0 && x; d--) {
                bool used = e->needed[t->labels[d]];
                for (int i = 0; i < later_count && !used; i++)
                        used = has_label(&later[i], t->labels[d]);
                if (!used)
                        x = sum_over(c, x, t, d);
        }
        return x;
}

/* A product of two operands has batch dimensions, which are shared and stay, and contracted
 * ones, which are summed over. */
struct pairing {
        int64_t batch_a[RANK_MAX], batch_b[RANK_MAX], contract_a[RANK_MAX], contract_b[RANK_MAX];
        int batches, contracted;
        struct term out;
};

/* Returns whether the label is wanted behind this product. */
static bool is_used(const struct einsum *e, int label, const struct term *later, int later_count)
{
        bool used = e->needed[label];
        for (int i = 0; i < later_count && !used; i++)
                used = has_label(&later[i], label);
        return used;
}

/* Finds the labels of the product: those of the batch come first, then the free ones of a, then
 * those of b. Returns false where there are too many. */
static bool pair_labels(const struct einsum *e, const struct term *ta, const struct term *tb,
                        const struct term *later, int later_count, struct pairing *p)
{
        for (int d = 0; d < ta->rank; d++) {
                int label = ta->labels[d], at = 0;
                if (!has_label(tb, label))
                        continue;
                while (tb->labels[at] != label)
                        at++;
                bool used = is_used(e, label, later, later_count);
                (used ? p->batch_a : p->contract_a)[used ? p->batches : p->contracted] = d;
                (used ? p->batch_b : p->contract_b)[used ? p->batches++ : p->contracted++] = at;
                if (used)
                        p->out.labels[p->out.rank++] = label;
        }
        for (int i = 0; i < 2; i++) {
                const struct term *own = i ? tb : ta, *other = i ? ta : tb;
                for (int d = 0; d < own->rank; d++) {
                        if (has_label(other, own->labels[d]))
                                continue;
                        if (p->out.rank == RANK_MAX)
                                return false;
                        p->out.labels[p->out.rank++] = own->labels[d];
                }
        }
        return true;
}

static struct value *pair(struct compose *c, const struct einsum *e, struct value *a,
                          struct term *ta, struct value *b, const struct term *tb,
                          const struct term *later, int later_count)
{
        struct pairing p = { .out = { .ellipsis = -1 } };
        dim_t dims[RANK_MAX];

        if (!pair_labels(e, ta, tb, later, later_count, &p)) {
                compose_unsupported(c, "a product of more than %d dimensions", RANK_MAX);
                return NULL;
        }
        for (int d = 0; d < p.out.rank; d++)
                dims[d] = e->extents[p.out.labels[d]];
        if (!compose_type(c, value_element(a), p.out.rank, dims))
                return NULL;
        struct attr *attrs = attrs_new(c->m, OP_dot);
        attr_set_ints(c->m, attrs, OP_dot, "batch_a", p.batch_a, p.batches);
        attr_set_ints(c->m, attrs, OP_dot, "batch_b", p.batch_b, p.batches);
        attr_set_ints(c->m, attrs, OP_dot, "contract_a", p.contract_a, p.contracted);
        attr_set_ints(c->m, attrs, OP_dot, "contract_b", p.contract_b, p.contracted);
        *ta = p.out;
        return value_build(c->b, OP_dot, (struct value *[]){ a, b }, 2, attrs, NULL);
}

struct value *compose_einsum(struct compose *c, const struct compose_einsum *in)
{
        struct einsum e = { .ellipsis_rank = 0 };
        struct term *terms = arena_array(c->arena, (size_t)in->count, sizeof *terms), out;
        int64_t perm[RANK_MAX];
        dim_t dims[RANK_MAX];
        int count = in->count;

        if (!equation_parse(c, in, &e, terms, &out) || !labels_check(c, in, &e, terms, &out))
                return NULL;
        for (int d = 0; d < out.rank; d++)
                dims[d] = e.extents[out.labels[d]];
        if (!compose_type(c, value_element(in->operands[0]), out.rank, dims))
                return NULL;
        struct value *y = operand_prepare(c, &e, in->operands[0], &terms[0], terms + 1, count - 1);
        for (int i = 1; i < count && y; i++) {
                /* The product needs the first operand's labels, so they count as needed later. */
                struct term *others = arena_array(c->arena, (size_t)(count - i), sizeof *others);
                memcpy(others, terms + i + 1, (size_t)(count - i - 1) * sizeof *others);
                others[count - i - 1] = terms[0];
                struct value *x =
                        operand_prepare(c, &e, in->operands[i], &terms[i], others, count - i);
                y = x ? pair(c, &e, y, &terms[0], x, &terms[i], terms + i + 1, count - i - 1)
                      : NULL;
        }
        if (!y)
                return NULL;
        for (int d = 0; d < out.rank; d++)
                for (int k = 0; k < terms[0].rank; k++)
                        if (terms[0].labels[k] == out.labels[d])
                                perm[d] = k;
        return compose_transpose(c, y, perm);
}
