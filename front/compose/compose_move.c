/* SPDX-License-Identifier: MIT */
/* These operations move elements. */
#include "front/compose/compose_move.h"

#include "base/size.h"
#include "front/compose/compose_arithmetic.h"

/* ---- several tensors as one ---- */

struct value *compose_concat(struct compose *c, struct value *const *items, int count, int axis)
{
        const struct type *first = items[0]->type;
        dim_t sum = dim_of(0), dims[RANK_MAX];

        for (int i = 0; i < count; i++) {
                const struct type *t = items[i]->type;
                const char *wrong = NULL;
                if (t->element != first->element)
                        wrong = arena_printf(c->arena, "operand %d is of %s, want %s as the first",
                                             i, element_info[t->element].text,
                                             element_info[first->element].text);
                else if (t->rank != first->rank)
                        wrong = arena_printf(c->arena,
                                             "operand %d is of rank %d, want %d as the first", i,
                                             t->rank, first->rank);
                for (int d = 0; d < t->rank && !wrong; d++)
                        if (d != axis && !dim_equal(t->dims[d], first->dims[d]))
                                wrong = arena_printf(c->arena,
                                                     "operand %d is %s, which differs from the "
                                                     "first at dimension %d",
                                                     i, compose_text(c, t), d);
                sum = wrong ? sum : dim_binary(c->m, DIM_ADD, sum, t->dims[axis]);
                if (!wrong && dim_equal(sum, DIM_NONE))
                        wrong = "the operands are too large";
                if (wrong) {
                        compose_invalid(c, "%s", wrong);
                        return NULL;
                }
        }
        for (int d = 0; d < first->rank; d++)
                dims[d] = d == axis ? sum : first->dims[d];
        return compose_type(c, first->element, first->rank, dims)
                       ? build_concat(c->b, items, count, axis)
                       : NULL;
}

/* Returns the items with an axis of extent 1 inserted at `axis`. */
static struct value **with_axis(struct compose *c, struct value *const *items, int count, int axis)
{
        struct value **rows = arena_array(c->arena, (size_t)count, sizeof *rows);
        for (int i = 0; i < count; i++) {
                dim_t dims[RANK_MAX + 1];
                int rank = value_rank(items[i]);
                for (int d = 0; d <= rank; d++)
                        dims[d] = d == axis ? dim_of(1) : items[i]->type->dims[d - (d > axis)];
                rows[i] = compose_reshape(c, items[i], rank + 1, dims);
                if (!rows[i])
                        return NULL;
        }
        return rows;
}

int compose_first_unlike(struct value *const *items, int count)
{
        int i = 1;
        while (i < count && items[i]->type == items[0]->type)
                i++;
        return i;
}

struct value *compose_stack(struct compose *c, struct value *const *items, int count, int axis)
{
        if (value_rank(items[0]) == RANK_MAX) {
                compose_unsupported(c, "rank %d, at most %d are supported", RANK_MAX + 1, RANK_MAX);
                return NULL;
        }
        int unlike = compose_first_unlike(items, count);
        if (unlike < count) {
                compose_invalid(c, "item %d is %s, the first one %s", unlike,
                                compose_text(c, items[unlike]->type),
                                compose_text(c, items[0]->type));
                return NULL;
        }
        struct value **rows = with_axis(c, items, count, axis);
        return rows ? compose_concat(c, rows, count, axis) : NULL;
}

/* ---- parts and pads ---- */

/* Returns the distance of a position from 0, or from the end if it is negative, as far as it lies
 * in the dimension. */
static dim_t distance(struct compose *c, dim_t extent, int64_t position)
{
        const int64_t most = dim_bound(c->m, extent);
        return dim_of(position < -most || position > most ? most
                      : position < 0                      ? -position
                                                          : position);
}

/* Returns where a position lies in a dimension: a term, or a number, which may count from the end.
 * One outside the dimension is moved to its begin or end. */
static dim_t place(struct compose *c, dim_t extent, const dim_t *term, int64_t number)
{
        int64_t least;
        if (term && dim_exceeds(c->m, extent, *term, &least) && least >= 0)
                return *term;
        return dim_binary(c->m, !term && number < 0 ? DIM_SUB : DIM_MIN, extent,
                          term ? *term : distance(c, extent, number));
}

/* Places a slice where a run gives the dimension's extent, or where the slice begins or ends: one
 * that goes forward, or all elements from the last one. Returns false where it is another slice. */
static bool slice_open(struct compose *c, dim_t extent, const struct compose_slice *s, int i,
                       dim_t *start, dim_t *size)
{
        const dim_t *since = s->start_by_term[i] ? &s->since[i] : NULL,
                    *until = s->end_by_term[i] ? &s->until[i] : NULL;
        const int64_t step = s->steps[i], most = dim_bound(c->m, extent);
        if (dim_is_static(extent) && !since && !until)
                return false;
        if (!since && !until && step == -1 && s->ends[i] < -most &&
            (s->starts[i] == -1 || s->starts[i] >= most)) {
                *start = dim_binary(c->m, DIM_SUB, extent, dim_of(1));
                *size = extent;
                return true;
        }
        if (step < 1 || step > NUMBER_MAX)
                return false;
        const dim_t end = place(c, extent, until, s->ends[i]);
        int64_t more;
        *start = place(c, extent, since, s->starts[i]);
        if (dim_difference(c->m, end, *start, &more))
                *size = dim_of(compose_max(more, 0));
        else if (!since && s->starts[i] >= 0)
                *size = dim_binary(c->m, DIM_SUB, end, distance(c, extent, s->starts[i]));
        else if (!since && dim_equal(end, extent))      /* These are the last elements. */
                *size = dim_binary(c->m, DIM_MIN, extent, distance(c, extent, s->starts[i]));
        else
                *size = dim_binary(c->m, DIM_SUB, end, *start);
        *size = dim_binary(c->m, DIM_ADD, *size, dim_of(step - 1));
        *size = dim_binary(c->m, DIM_DIV, *size, dim_of(step));
        return !dim_equal(*size, DIM_NONE) && !dim_equal(*start, DIM_NONE);
}

bool compose_slice_is_placed(struct compose *c, const struct type *x, const struct compose_slice *s)
{
        for (int i = 0; i < s->count; i++) {
                const dim_t extent = x->dims[s->axes[i]];
                dim_t start, size;
                const bool known = dim_is_static(extent) && !s->start_by_term[i] &&
                                   !s->end_by_term[i];
                if (!known && !slice_open(c, extent, s, i, &start, &size))
                        return false;
        }
        return true;
}

struct value *compose_slice(struct compose *c, struct value *x, const struct compose_slice *s)
{
        int64_t numbers[RANK_MAX], steps[RANK_MAX];
        const int rank = value_rank(x);
        dim_t starts[RANK_MAX], dims[RANK_MAX];
        bool known = true;

        for (int d = 0; d < rank; d++) {
                starts[d] = dim_of(0);
                steps[d] = 1;
                dims[d] = x->type->dims[d];
        }
        for (int i = 0; i < s->count; i++) {
                int d = s->axes[i];
                if (slice_open(c, x->type->dims[d], s, i, &starts[d], &dims[d])) {
                        known &= dim_is_static(starts[d]);
                        steps[d] = dim_is(dims[d], 0) || dim_is(dims[d], 1) ? 1 : s->steps[i];
                        continue;
                }
                int64_t extent = value_extent(x, d), step = s->steps[i], start = s->starts[i],
                        end = s->ends[i];
                /* A step past the extent takes one element, whatever it is. */
                step = compose_max(compose_min(step, NUMBER_MAX), -(int64_t)NUMBER_MAX);
                start = start < 0 ? start + extent : start;
                end = end < 0 ? end + extent : end;
                start = compose_max(0, compose_min(start, step > 0 ? extent : extent - 1));
                end = step > 0 ? compose_max(0, compose_min(end, extent))
                               : compose_max(-1, compose_min(end, extent - 1));
                int64_t span = step > 0 ? end - start : start - end,
                        stride = step > 0 ? step : -step;
                dims[d] = dim_of(span > 0 && extent > 0 ? divide_up(span, stride) : 0);
                starts[d] = dim_of(dim_extent(dims[d]) ? start : 0);
                steps[d] = dim_extent(dims[d]) > 1 ? step : 1;
        }
        if (known) {
                dims_extents(numbers, rank, starts);
                return build_slice(c->b, x, numbers, steps, dims);
        }
        const struct type *vector = type_tensor(c->m, E_I64, 1, (const dim_t[]){ dim_of(rank) });
        struct value *from = compose_extents(c, rank, starts),
                     *by = constant_dense(c->m, vector, arena_copy(c->m->arena, steps,
                                                                   (size_t)rank * sizeof *steps),
                                          NULL);
        return from && by ? value_build(c->b, OP_slice, (struct value *[]){ x, from, by }, 3, NULL,
                                        compose_type(c, value_element(x), rank, dims))
                          : NULL;
}

struct value *compose_reverse(struct compose *c, struct value *x, int axis)
{
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];

        if (!x)
                return NULL;
        if (!dim_is_static(x->type->dims[axis])) {
                const struct type *t = type_tensor(c->m, E_I64, 1, &x->type->dims[axis]);
                struct value *last = compose_with(c, OP_sub, compose_extent(c, *t->dims), 1);
                last = compose_spread(c, last, t, NULL);
                struct value *from = compose_binary(c, OP_sub, last, build_iota(c->b, t, 0));
                return from ? build_gather(c->b, x, from, axis) : NULL;
        }
        for (int d = 0; d < value_rank(x); d++)
                steps[d] = d == axis ? -1 : 1;
        starts[axis] = value_extent(x, axis) - 1;
        return build_slice(c->b, x, starts, steps, x->type->dims);
}

struct value *compose_pad(struct compose *c, struct value *x, struct value *value,
                          struct value *low, int mode, const struct type *to)
{
        struct attr *attrs = attrs_new(c->m, OP_pad);

        if (!x || !value || !low || !to)
                return NULL;
        attr_set(attrs, OP_pad, "mode", mode);
        return value_build(c->b, OP_pad, (struct value *[]){ x, value, low }, 3, attrs, to);
}

struct value *compose_at_bound(struct compose *c, struct value *x, struct value *fill)
{
        int64_t low[RANK_MAX] = { 0 };
        dim_t dims[RANK_MAX];

        if (!x || type_is_static(x->type))
                return x;
        for (int d = 0; d < value_rank(x); d++)
                dims[d] = dim_of(dim_bound(c->m, x->type->dims[d]));
        return compose_pad(c, x, fill, constant_ints(c->m, low, value_rank(x)), PAD_CONSTANT,
                           compose_type(c, value_element(x), value_rank(x), dims));
}

/* ---- pixels as channels ---- */

static struct value *shuffle(struct compose *c, struct value *x, const dim_t *split,
                             const int64_t *perm, const dim_t *merged)
{
        x = compose_reshape(c, x, 6, split);
        return compose_reshape(c, compose_transpose(c, x, perm), 4, merged);
}

struct value *compose_depth_to_space(struct compose *c, struct value *x, int64_t b, bool last)
{
        const dim_t *d = x->type->dims;
        const int64_t channels = dim_extent(d[1]);

        if (b < 1 || b > NUMBER_MAX || channels % (b * b)) {
                compose_invalid(c, "blocksize %lld for %lld channels", (long long)b,
                                (long long)channels);
                return NULL;
        }
        const dim_t block = dim_of(b), depth = dim_of(channels / (b * b)),
                    merged[4] = { d[0], depth, dim_binary(c->m, DIM_MUL, d[2], block),
                                  dim_binary(c->m, DIM_MUL, d[3], block) },
                    first[6] = { d[0], block, block, depth, d[2], d[3] },
                    behind[6] = { d[0], depth, block, block, d[2], d[3] };
        const int64_t perm_first[6] = { 0, 3, 4, 1, 5, 2 }, perm_behind[6] = { 0, 1, 4, 2, 5, 3 };
        return compose_type(c, value_element(x), 4, merged)
                       ? shuffle(c, x, last ? behind : first, last ? perm_behind : perm_first,
                                 merged)
                       : NULL;
}

/* Divides an extent. Returns false after an error where it is no multiple of b in every run. */
static bool divided(struct compose *c, dim_t extent, int64_t b, dim_t *result)
{
        const char *text = dim_text(c->arena, c->m, extent);
        *result = dim_binary(c->m, DIM_DIV, extent, dim_of(b));
        if (dim_equal(dim_binary(c->m, DIM_MUL, *result, dim_of(b)), extent))
                return true;
        return dim_is_static(extent)
                       ? compose_invalid(c, "blocksize %lld for an extent of %s", (long long)b,
                                         text)
                       : compose_unsupported(c, "blocksize %lld for an extent %s that a run gives, "
                                             "which is no multiple of it for certain: bind it as a "
                                             "term, --dim %s=%lld*K", (long long)b, text, text,
                                             (long long)b);
}

struct value *compose_space_to_depth(struct compose *c, struct value *x, int64_t b)
{
        const dim_t *d = x->type->dims;
        const int64_t channels = dim_extent(d[1]);

        dim_t height, width;
        if (b < 1 || b > NUMBER_MAX || (channels > 0 && b * b > INT64_MAX / 2 / channels)) {
                compose_invalid(c, "blocksize %lld for %lld channels", (long long)b,
                                (long long)channels);
                return NULL;
        }
        if (!divided(c, d[2], b, &height) || !divided(c, d[3], b, &width))
                return NULL;
        const dim_t block = dim_of(b),
                    merged[4] = { d[0], dim_of(channels * b * b), height, width },
                    split[6] = { d[0], d[1], height, block, width, block };
        return compose_type(c, value_element(x), 4, merged)
                       ? shuffle(c, x, split, (const int64_t[]){ 0, 3, 5, 1, 2, 4 }, merged)
                       : NULL;
}

struct value *compose_reverse_sequence(struct compose *c, struct value *x, struct value *lengths,
                                       int batch)
{
        const struct type *places =
                type_tensor(c->m, E_I64, 3,
                            (const dim_t[]){ x->type->dims[0], x->type->dims[1], dim_of(1) });
        struct value *t = build_iota(c->b, places, 1 - batch), *pair[2];
        struct value *length = compose_along(c, lengths, places, batch);
        struct value *back = compose_with(c, OP_sub, sub(c, length, t), 1);
        pair[1 - batch] = compose_select(c, compose_binary(c, OP_lt, t, length), back, t);
        pair[batch] = build_iota(c->b, places, batch);
        struct value *index = pair[1 - batch] ? build_concat(c->b, pair, 2, 2) : NULL;
        return index ? value_build(c->b, OP_gather_nd, (struct value *[]){ x, index }, 2, NULL,
                                   NULL)
                     : NULL;
}

/* ---- elements by indices ---- */

struct value *compose_gather_elements(struct compose *c, struct value *x, struct value *at,
                                      int axis)
{
        struct attr *attrs = attrs_new(c->m, OP_gather_elements);

        attr_set(attrs, OP_gather_elements, "axis", axis);
        return x && at ? value_build(c->b, OP_gather_elements, (struct value *[]){ x, at }, 2,
                                     attrs, NULL)
                       : NULL;
}

struct value *compose_scatter(struct compose *c, struct value *x, struct value *indices,
                              struct value *updates, int64_t axis, int64_t kind)
{
        struct attr *attrs = attrs_new(c->m, OP_scatter);
        struct value *operands[3] = { x, indices, updates };

        attr_set(attrs, OP_scatter, "axis", axis);
        attr_set(attrs, OP_scatter, "kind", kind);
        return x && indices && updates ? value_build(c->b, OP_scatter, operands, 3, attrs, NULL)
                                       : NULL;
}

struct value *compose_cache_update(struct compose *c, struct value *x, struct value *update,
                                   struct value *begin, int axis, bool circular)
{
        dim_t dims[RANK_MAX];
        for (int d = 0; d < value_rank(update); d++)
                dims[d] = d == axis || (begin && !d && !type_has_one(begin->type))
                                  ? update->type->dims[d]
                                  : dim_of(1);
        const struct type *t = type_tensor(c->m, E_I64, value_rank(update), dims);
        struct value *at = build_iota(c->b, t, axis);
        if (begin)
                at = add(c, at, compose_spread(c, begin, at->type, (const int64_t[]){ 0 }));
        if (circular)
                at = compose_binary(c, OP_mod, at, compose_extent(c, x->type->dims[axis]));
        return compose_scatter(c, x, at, update, axis, SCATTER_REPLACE);
}
