/* SPDX-License-Identifier: MIT */
/* Slices by begins, ends and strides, with masks. */
#include "front/compose/compose_move.h"

/* Which bit of a mask stands for entry i. */
static bool bit(int64_t mask, int i) { return mask >> i & 1; }

/* This is a dimension of the result, from left to right. */
struct slice_entry {
        int entry;                      /* It is the number in begin, end and strides; -1: all
                                         * elements are taken. */
        int dimension;                  /* It is that of the operand; -1: a new one. */
};

/* Lists the dimensions of the result; an ellipsis stands for the dimensions of the operand that no
 * entry of begin, end and strides slices. Returns how many dimensions there are, or -1 after an
 * error. */
static int slice_entries(struct compose *c, const struct compose_strided *o,
                         int count, int rank, struct slice_entry *list)
{
        int known = 0, many = 0, dimension = 0;
        bool ellipsis = false;
        for (int i = 0; i < count; i++) {
                const bool is_ellipsis = bit(o->ellipsis_mask, i);
                if (is_ellipsis && ellipsis) {
                        compose_invalid(c, "two ellipses");
                        return -1;
                }
                ellipsis |= is_ellipsis;
                known += !is_ellipsis && !bit(o->new_axis_mask, i);
        }
        if (known > rank) {
                compose_invalid(c, "%d begins, ends or strides for rank %d", known, rank);
                return -1;
        }
        for (int i = 0; i < count; i++) {
                if (bit(o->ellipsis_mask, i))
                        for (int k = known; k < rank; k++)
                                list[many++] = (struct slice_entry){ -1, dimension++ };
                else if (bit(o->new_axis_mask, i))
                        list[many++] = (struct slice_entry){ i, -1 };
                else
                        list[many++] = (struct slice_entry){ i, dimension++ };
        }
        while (dimension < rank)
                list[many++] = (struct slice_entry){ -1, dimension++ };
        return many;
}

/* Reads entry i of a dimension of this extent. */
static bool slice_entry(struct compose *c, const struct compose_strided *o, int i, int64_t extent,
                        struct compose_slice *s)
{
        const int64_t step = o->numbers[2][i];
        int64_t start = o->numbers[0][i], end = o->numbers[1][i];
        if (!step)
                return compose_invalid(c, "a stride of 0");
        if (start < -NUMBER_MAX || start > NUMBER_MAX || end < -NUMBER_MAX)
                return compose_invalid(c, "elements %lld to %lld", (long long)start,
                                      (long long)end);
        end = compose_min(end, NUMBER_MAX);
        if (o->offset)
                end += start;
        if (bit(o->begin_mask, i))
                start = step > 0 ? 0 : extent - 1;
        if (bit(o->end_mask, i))
                end = step > 0 ? extent : -extent - 1;
        if (bit(o->shrink_axis_mask, i)) {
                start = start < 0 ? start + extent : start;
                if (start < 0 || start >= extent)
                        return compose_invalid(c, "index %lld of %lld", (long long)start,
                                              (long long)extent);
                end = start + 1;
        }
        s->starts[s->count] = start;
        s->ends[s->count] = end;
        s->steps[s->count] = bit(o->shrink_axis_mask, i) ? 1 : step;
        s->count++;
        return true;
}

struct value *compose_strided_slice(struct compose *c, struct value *x,
                                    const struct compose_strided *o)
{
        struct compose_slice s = { 0 };
        struct slice_entry list[2 * RANK_MAX];
        dim_t dims[2 * RANK_MAX];
        int kept = 0;
        const int entries = slice_entries(c, o, o->count, value_rank(x), list);
        if (entries < 0)
                return NULL;
        for (int k = 0; k < entries; k++) {
                const int d = list[k].dimension;
                if (list[k].entry < 0 || d < 0)
                        continue;
                s.axes[s.count] = d;
                if (!slice_entry(c, o, list[k].entry, value_extent(x, d), &s))
                        return NULL;
        }
        struct value *y = compose_slice(c, x, &s);
        for (int k = 0; k < entries && y; k++) {
                const int i = list[k].entry, d = list[k].dimension;
                if (d < 0)
                        dims[kept++] = dim_of(1);
                else if (i < 0 || !bit(o->shrink_axis_mask, i))
                        dims[kept++] = y->type->dims[d];
        }
        if (kept > RANK_MAX) {
                compose_unsupported(c, "rank %d", kept);
                return NULL;
        }
        return compose_reshape(c, y, kept, dims);
}
