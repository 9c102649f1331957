/* SPDX-License-Identifier: MIT */
/* Layout of convolutions of volumes by windows of 1 x 3 x 3 to 1 x 7 x 7: each plane is
 * an image.
 *
 *   %1 = convolve(%0, @w) pads=[0, 1, 1, 0, 1, 1]        %1 = transpose(%0) : <16 x 4 x 28 x 28 x 16>
 *          : <1 x 64 x 16 x 28 x 28>                     %2 = pad(%1, ..) : <16 x 4 x 30 x 30 x 16>
 *                                                  ->    %3 = convolve_packed(%2, ..) : <16 x 4 x 28 x 28 x 16>
 *                                                        %4 = transpose(%3) : <1 x 4 x 16 x 28 x 28 x 16>
 *
 * The pass winograd has tiles for images alone, and saves more than the copies of whole planes
 * cost where there are several blocks of channels on both sides. */
#include "ir/tensor/winograd_tiles.h"
#include "passes/layout/layout.h"

#include <string.h>

enum {
        PLANES = 2,                     /* Planes lie along this dimension of blocks. */
        CHANNELS_LEAST = 48,
        WINDOW_LEAST = 3
};

/* Is it a window of one plane that Winograd's algorithm has tiles for? */
static bool is_window_of_plane(const struct type *w)
{
        const int64_t window[] = { type_extent(w, 3), type_extent(w, 4) };
        int64_t forms[WINOGRAD_FORMS_MAX][WINOGRAD_DIMS];
        return dim_is(w->dims[2], 1) && window[0] >= WINDOW_LEAST && window[1] >= WINDOW_LEAST &&
               winograd_forms(window, forms);
}

bool layout_is_of_images(const struct layout *l, const struct op *convolve)
{
        const struct type *x = op_operand(convolve, 0)->type, *w = op_operand(convolve, 1)->type;
        const int64_t *pads = op_ints(convolve, "pads", NULL);
        const bool direct = layout_is_direct(convolve) && op_all_ones(convolve, "strides") &&
                            op_all_ones(convolve, "dilations");
        const struct engine *engine = target_engine(l->context->target);
        return x->rank == 5 && is_window_of_plane(w) && !pads[0] && !pads[3] && direct &&
               type_is_static(x) && op_int(convolve, "groups") == 1 && x->element == E_F32 &&
               type_extent(x, 1) >= CHANNELS_LEAST && type_extent(w, 0) >= CHANNELS_LEAST &&
               engine->vectors && engine->layout == LAYOUT_OF_LEAST_COST && !l->context->exact &&
               !l->context->direct;
}

/* Exchanges planes and blocks of channels, dimensions 1 and 2 of what is in blocks. */
static struct value *exchange(struct layout *l, struct value *x)
{
        static const int64_t perm[] = { 0, 2, 1, 3, 4, 5 };
        return x ? build_transpose(&l->b, x, perm) : NULL;
}

struct value *layout_as_images(struct layout *l, struct value *x)
{
        x = exchange(l, x);
        if (!x)
                return NULL;
        dim_t dims[RANK_MAX];
        memcpy(dims, x->type->dims + 1, (size_t)(x->type->rank - 1) * sizeof *dims);
        dims[0] = dim_of(type_extent(x->type, 0) * type_extent(x->type, 1));
        return build_reshape(&l->b, x, x->type->rank - 1, dims);
}

struct value *layout_window_of_image(struct layout *l, struct value *w)
{
        const dim_t dims[] = { w->type->dims[0], w->type->dims[1], w->type->dims[3],
                               w->type->dims[4] };
        return layout_reshape(&l->b, w, 4, dims);
}

struct value *layout_halo_of_images(struct layout *l, struct value *x, const struct op *convolve)
{
        const int64_t *pads = op_ints(convolve, "pads", NULL);
        return layout_halo(&l->b, x, 2, (int64_t[]){ pads[1], pads[2], pads[4], pads[5] }, 2);
}

struct value *layout_from_images(struct layout *l, struct value *y, const struct type *t)
{
        dim_t dims[RANK_MAX] = { t->dims[0], t->dims[PLANES] };
        memcpy(dims + 2, y->type->dims + 1, (size_t)(y->type->rank - 1) * sizeof *dims);
        return exchange(l, build_reshape(&l->b, y, y->type->rank + 1, dims));
}
