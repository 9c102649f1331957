/* SPDX-License-Identifier: MIT */
/* Layers of detectors (SSD): boxes that lie over an image in a grid, and those of them in which
 * something was found. */
#include "front/caffe/caffe_helpers.h"

#include <math.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_sort.h"

enum { CORNERS = 4 };

/* ---- priors ---- */

/* The boxes around a point of the grid. */
struct priors {
        int count;
        float *widths, *heights;        /* They are in pixels. */
        float step[2], image[2];        /* Columns, then rows; pixels. */
        float offset;                   /* The point is so far into its cell. */
        float variance[CORNERS];
};

static void add_prior(struct priors *p, float width, float height)
{
        p->widths[p->count] = width;
        p->heights[p->count++] = height;
}

/* Lists ratios of width and height that are not 1, each once; flipped ones, too. */
static int list_ratios(const Caffe__PriorBoxParameter *o, float *ratios)
{
        int count = 0;
        for (size_t i = 0; i < o->n_aspect_ratio; i++) {
                const float ratio = o->aspect_ratio[i];
                bool known = fabsf(ratio - 1) < 1e-6F;
                for (int k = 0; k < count; k++)
                        known |= fabsf(ratio - ratios[k]) < 1e-6F;
                if (known)
                        continue;
                ratios[count++] = ratio;
                if (o->flip)
                        ratios[count++] = 1 / ratio;
        }
        return count;
}

static bool read_sizes(struct caffe_import *im, const Caffe__PriorBoxParameter *o,
                       struct priors *p)
{
        enum { MOST = 1024 };
        if (!o->n_min_size || o->n_min_size > MOST || o->n_aspect_ratio > MOST ||
            (o->n_max_size && o->n_max_size != o->n_min_size))
                return caffe_invalid(im, "%zu min_size, %zu max_size and %zu aspect_ratio",
                                     o->n_min_size, o->n_max_size, o->n_aspect_ratio);
        for (size_t i = 0; i < o->n_aspect_ratio; i++)
                if (!(o->aspect_ratio[i] > 0))
                        return caffe_invalid(im, "an aspect_ratio of %g",
                                             (double)o->aspect_ratio[i]);
        float *ratios = arena_array(im->arena, 2 * o->n_aspect_ratio + 1, sizeof *ratios);
        const int count = list_ratios(o, ratios);
        const size_t most = o->n_min_size * ((size_t)count + 2);
        p->widths = arena_array(im->arena, most, sizeof *p->widths);
        p->heights = arena_array(im->arena, most, sizeof *p->heights);
        for (size_t i = 0; i < o->n_min_size; i++) {
                const float least = truncf(o->min_size[i]); /* Sizes are whole pixels. */
                if (!(least > 0) || (o->n_max_size && !(o->max_size[i] > o->min_size[i])))
                        return caffe_invalid(im, "a min_size of %g%s", (double)o->min_size[i],
                                             least > 0 ? ", not below its max_size" : "");
                add_prior(p, least, least);
                if (o->n_max_size) {
                        const float both = sqrtf(least * truncf(o->max_size[i]));
                        add_prior(p, both, both);
                }
                for (int k = 0; k < count; k++)
                        add_prior(p, least * sqrtf(ratios[k]), least / sqrtf(ratios[k]));
        }
        return true;
}

static bool read_grid(struct caffe_import *im, const struct caffe_layer *n, struct priors *p)
{
        const Caffe__PriorBoxParameter *o = n->p->prior_box_param;
        const struct value *grid = n->bottoms[0], *image = n->bottoms[1];
        if (value_rank(grid) != 4 || value_rank(image) != 4)
                return caffe_invalid(im, "bottoms %s and %s, want images",
                                     compose_text(im->c, grid->type),
                                     compose_text(im->c, image->type));
        const float stated[2] = { (float)(o->has_img_w ? o->img_w : o->img_size),
                                  (float)(o->has_img_h ? o->img_h : o->img_size) };
        const float steps[2] = { o->has_step_w ? o->step_w : o->step,
                                 o->has_step_h ? o->step_h : o->step };
        for (int k = 0; k < 2; k++) {
                p->image[k] = stated[k] > 0 ? stated[k] : (float)value_extent(image, 3 - k);
                p->step[k] = steps[k];
                if (steps[k] == 0)
                        p->step[k] = p->image[k] / (float)value_extent(grid, 3 - k);
                if (!(p->step[k] > 0))
                        return caffe_invalid(im, "a step of %g", (double)p->step[k]);
        }
        if (o->n_variance > 1 && o->n_variance != CORNERS)
                return caffe_invalid(im, "%zu numbers variance, want 1 or 4", o->n_variance);
        for (int k = 0; k < CORNERS; k++)
                p->variance[k] = o->n_variance ? o->variance[o->n_variance > 1 ? k : 0] : 0.1F;
        p->offset = o->offset;
        return true;
}

static float clipped(float x, bool clip)
{
        return clip ? fminf(fmaxf(x, 0), 1) : x;
}

/* The result is a constant <1 x 2 x numbers>: two corners of each box, as parts of the image, then
 * its variances. Only extents of the bottoms count. */
bool caffe_import_prior_box(struct caffe_import *im, struct caffe_layer *n)
{
        struct priors p = { 0 };
        const bool clip = n->p->prior_box_param->clip;
        if (!read_sizes(im, n->p->prior_box_param, &p) || !read_grid(im, n, &p))
                return false;
        const int64_t rows = value_extent(n->bottoms[0], 2),
                      columns = value_extent(n->bottoms[0], 3);
        const int64_t grid[4] = { rows, columns, p.count, 2 * CORNERS };
        if (!compose_type_static(im->c, E_F32, 4, grid))
                return false;
        const int64_t numbers = rows * columns * p.count * CORNERS,
                      bytes = 2 * numbers * (int64_t)sizeof(float),
                      most = im->context->limits.fold_total_bytes;
        if (bytes > most - im->made)    /* A small text would fill the memory. */
                return caffe_invalid(im,
                                     "%lld boxes: constants of more than the limit of %lld bytes "
                                     "(" DIAG_HINT("raise it with --limit fold_total_bytes=N") ")",
                                     (long long)(numbers / CORNERS), (long long)most);
        im->made += bytes;
        float *to = constant_room(im->m, (size_t)bytes);
        for (int64_t i = 0; i < numbers / CORNERS; i++) {
                const int64_t cell = i / p.count, k = i % p.count;
                const float x = ((float)(cell % columns) + p.offset) * p.step[0],
                            y = ((float)(cell / columns) + p.offset) * p.step[1];
                float *box = to + i * CORNERS, *variance = box + numbers;
                box[0] = clipped((x - p.widths[k] / 2) / p.image[0], clip);
                box[1] = clipped((y - p.heights[k] / 2) / p.image[1], clip);
                box[2] = clipped((x + p.widths[k] / 2) / p.image[0], clip);
                box[3] = clipped((y + p.heights[k] / 2) / p.image[1], clip);
                for (int d = 0; d < CORNERS; d++)
                        variance[d] = p.variance[d];
        }
        const struct type *t = type_static(im->m, E_F32, 3, (const int64_t[]){ 1, 2, numbers });
        return caffe_top(n, constant_dense(im->m, t, to, NULL));
}

/* ---- what was found ---- */

struct found {
        int64_t images, boxes, classes; /* Classes without the background. */
        int64_t top;                    /* So many boxes of a class are looked at, */
        int64_t kept;                   /* and so many of an image are kept. */
        struct value *scores;           /* <images x classes x top> */
        struct value *corners;          /* <images * classes x top x 4> */
        struct value *labels;           /* <classes> */
};

/* Returns column k of x <.. x 4>, whose last extent stays 1. */
static struct value *column(struct compose *c, struct value *x, int k)
{
        return x ? compose_part(c, x, value_rank(x) - 1, k, 1) : NULL;
}

/* Returns the corners that the network found, <images x boxes x 4>: the priors', moved. */
static struct value *decoded(struct caffe_import *im, const struct caffe_layer *n,
                             const struct found *f)
{
        struct compose *c = im->c;
        const Caffe__DetectionOutputParameter *o = n->p->detection_output_param;
        const dim_t all[3] = { dim_of(f->images), dim_of(f->boxes), dim_of(CORNERS) },
                    both[3] = { dim_of(2), dim_of(f->boxes), dim_of(CORNERS) };
        struct value *moved = compose_reshape(c, n->bottoms[0], 3, all),
                     *priors = compose_reshape(c, n->bottoms[2], 3, both);
        struct value *prior = priors ? compose_part(c, priors, 0, 0, 1) : NULL,
                     *variance = priors ? compose_part(c, priors, 0, 1, 1) : NULL;
        struct value *parts[CORNERS];
        if (!prior || !variance || !moved)
                return NULL;
        if (!o->variance_encoded_in_target)
                moved = mul(c, moved, variance);
        if (o->code_type == CAFFE__PRIOR_BOX_PARAMETER__CODE_TYPE__CORNER)
                return add(c, moved, prior);
        for (int d = 0; d < 2; d++) {
                struct value *low = column(c, prior, d), *high = column(c, prior, d + 2),
                             *extent = sub(c, high, low), *first = column(c, moved, d),
                             *second = column(c, moved, d + 2);
                if (o->code_type == CAFFE__PRIOR_BOX_PARAMETER__CODE_TYPE__CORNER_SIZE) {
                        parts[d] = add(c, low, mul(c, first, extent));
                        parts[d + 2] = add(c, high, mul(c, second, extent));
                        continue;
                }
                struct value *center = times(c, add(c, low, high), 0.5);
                center = add(c, center, mul(c, first, extent));
                struct value *half = mul(c, compose_unary(c, OP_exp, second), extent);
                half = half ? times(c, half, 0.5) : NULL;
                parts[d] = sub(c, center, half);
                parts[d + 2] = add(c, center, half);
        }
        for (int d = 0; d < CORNERS; d++)
                if (!parts[d])
                        return NULL;
        return compose_concat(c, parts, CORNERS, 2);
}

/* Checks the bottoms, and finds how many there are of all. */
static bool found_counts(struct caffe_import *im, const struct caffe_layer *n, struct found *f)
{
        const Caffe__DetectionOutputParameter *o = n->p->detection_output_param;
        const struct value *where = n->bottoms[0], *scores = n->bottoms[1], *priors = n->bottoms[2];
        if (!o->share_location)
                return caffe_unsupported(im, "share_location: false, boxes of each class");
        if (o->nms_param && o->nms_param->eta != 1)
                return caffe_unsupported(im, "nms_param.eta is %g, want 1",
                                         (double)o->nms_param->eta);
        if (value_rank(priors) < 1 || value_rank(where) < 2 || value_rank(scores) < 2)
                return caffe_invalid(im, "bottoms of %d, %d and %d dimensions", value_rank(where),
                                     value_rank(scores), value_rank(priors));
        f->images = value_extent(where, 0);
        f->boxes = type_elements(priors->type) / (2 * CORNERS);
        f->classes = o->num_classes;
        if (!f->classes || !f->boxes || type_elements(priors->type) != f->boxes * 2 * CORNERS ||
            type_elements(where->type) != f->images * f->boxes * CORNERS ||
            type_elements(scores->type) / f->classes != f->images * f->boxes ||
            type_elements(scores->type) % f->classes)
                return caffe_invalid(im, "bottoms %s, %s and %s for %u classes",
                                     compose_text(im->c, where->type),
                                     compose_text(im->c, scores->type),
                                     compose_text(im->c, priors->type), o->num_classes);
        f->classes -= o->background_label_id >= 0 && o->background_label_id < f->classes;
        f->top = f->boxes;
        if (o->nms_param && o->nms_param->top_k >= 0)
                f->top = compose_min(f->top, o->nms_param->top_k);
        f->kept = f->classes * f->top;
        if (o->keep_top_k >= 0)
                f->kept = compose_min(f->kept, o->keep_top_k);
        return f->kept > 0 || caffe_invalid(im, "no box would be kept");
}

/* Returns the scores <images x classes x boxes> without the background, and sets the labels. */
static struct value *scores_of(struct caffe_import *im, const struct caffe_layer *n,
                               struct found *f)
{
        struct compose *c = im->c;
        const Caffe__DetectionOutputParameter *o = n->p->detection_output_param;
        const int64_t all = o->num_classes, without = o->background_label_id;
        const dim_t dims[3] = { dim_of(f->images), dim_of(f->boxes), dim_of(all) };
        int64_t *labels = arena_array(im->arena, (size_t)f->classes, sizeof *labels);
        struct value *x = compose_reshape(c, n->bottoms[1], 3, dims), *parts[2];
        int count = 0;
        for (int64_t k = 0, label = 0; label < all; label++)
                if (label != without)
                        labels[k++] = label;
        f->labels = compose_cast(c, constant_ints(im->m, labels, (int)f->classes), E_F32);
        x = compose_transpose(c, x, (const int64_t[]){ 0, 2, 1 });
        if (!x || f->classes == all)
                return x;
        if (without > 0)
                parts[count++] = compose_part(c, x, 1, 0, without);
        if (without + 1 < all)
                parts[count++] = compose_part(c, x, 1, without + 1, all - without - 1);
        for (int i = 0; i < count; i++)
                if (!parts[i])
                        return NULL;
        return count > 1 ? compose_concat(c, parts, count, 1) : parts[0];
}

/* Looks at the best boxes of each class alone: sets scores and corners. */
static bool take_best(struct caffe_import *im, struct value *scores, struct value *corners,
                      struct found *f)
{
        struct compose *c = im->c;
        struct value *at = compose_argsort(c, scores, 2, 1, f->top);
        const int64_t flat = f->classes * f->top,
                      extents[3] = { f->images, flat, CORNERS };
        const struct type *t = compose_type_static(c, E_I64, 3, extents);
        if (!at || !t)
                return false;
        f->scores = compose_gather_elements(c, scores, at, 2);
        at = compose_reshape(c, at, 2, (const dim_t[]){ dim_of(f->images), dim_of(flat) });
        at = at ? compose_spread(c, at, t, (const int64_t[]){ 0, 1 }) : NULL;
        corners = at ? compose_gather_elements(c, corners, at, 1) : NULL;
        f->corners = compose_reshape(c, corners, 3,
                                     (const dim_t[]){ dim_of(f->images * f->classes),
                                                      dim_of(f->top), dim_of(CORNERS) });
        return f->scores && f->corners;
}

/* Returns <images * classes * top>: which boxes stay, then -1. */
static struct value *suppressed(struct caffe_import *im, const struct caffe_layer *n,
                                const struct found *f)
{
        struct compose *c = im->c;
        const Caffe__DetectionOutputParameter *o = n->p->detection_output_param;
        const Caffe__NonMaximumSuppressionParameter
                preset = CAFFE__NON_MAXIMUM_SUPPRESSION_PARAMETER__INIT,
                *by = o->nms_param ? o->nms_param : &preset;
        const struct type *one = type_scalar(im->m, E_F32);
        struct compose_suppression s = { .boxes = f->corners, .room = f->top };
        s.scores = compose_reshape(c, f->scores, 3,
                                   (const dim_t[]){ dim_of(f->images * f->classes), dim_of(1),
                                                    dim_of(f->top) });
        s.most = compose_integer(c, E_I64, f->top);
        s.threshold = constant_number(im->m, one, (double)by->nms_threshold);
        if (o->has_confidence_threshold)
                s.low = constant_number(im->m, one, (double)o->confidence_threshold);
        return s.scores && s.most ? compose_suppress(c, &s) : NULL;
}

/* Returns, in order, where those that are kept stand among all <images * classes * top>; behind
 * them stands how many all are. */
static struct value *kept_places(struct compose *c, const struct found *f, struct value *taken,
                                 struct value *scores)
{
        const int64_t each = f->classes * f->top, all = f->images * each;
        const dim_t dims[2] = { dim_of(f->images), dim_of(each) };
        struct value *valid = compose_with(c, OP_ge, taken, 0);
        struct value *places = compose_iota(c, E_I64, all);
        places = compose_select(c, valid, places, build_like(c->b, taken, (double)all));
        if (f->kept < each) {
                struct value *none = scores ? build_like(c->b, scores, -INFINITY) : NULL;
                struct value *rated = compose_select(c, valid, scores, none);
                rated = compose_reshape(c, rated, 2, dims);
                struct value *at = rated ? compose_argsort(c, rated, 1, 1, f->kept) : NULL;
                places = compose_reshape(c, places, 2, dims);
                places = at && places ? compose_gather_elements(c, places, at, 1) : NULL;
                places = compose_reshape(c, places, 1,
                                         (const dim_t[]){ dim_of(f->images * f->kept) });
        }
        struct value *order =
                places ? compose_argsort(c, places, 0, 0, f->images * f->kept) : NULL;
        return order ? build_gather(c->b, places, order, 0) : NULL;
}

/* Rows are image, class, score and corners, image by image and class by class, by falling score;
 * as many as could be kept. Those behind them are -1. */
bool caffe_import_detection_output(struct caffe_import *im, struct caffe_layer *n)
{
        struct compose *c = im->c;
        struct found f = { 0 };
        struct value *columns[4];
        if (!found_counts(im, n, &f))
                return false;
        struct value *corners = decoded(im, n, &f), *scores = scores_of(im, n, &f);
        if (!corners || !scores || !take_best(im, scores, corners, &f))
                return false;
        struct value *taken = suppressed(im, n, &f);
        const int64_t each = f.classes * f.top, all = f.images * each, rows = f.images * f.kept;
        const dim_t flat[2] = { dim_of(all), dim_of(CORNERS) },
                    line[2] = { dim_of(rows), dim_of(1) };
        /* A box's place among all is that of its class, and its number there. */
        struct value *first = compose_iota(c, E_I64, all);
        first = times(c, compose_with(c, OP_div, first, (double)f.top), (double)f.top);
        struct value *source = taken ? add(c, first, compose_with(c, OP_max, taken, 0)) : NULL;
        scores = compose_reshape(c, f.scores, 1, flat);
        corners = compose_reshape(c, f.corners, 2, flat);
        if (!source || !scores || !corners)
                return false;
        scores = build_gather(c->b, scores, source, 0);
        struct value *places = kept_places(c, &f, taken, scores);
        if (!places)
                return false;
        struct value *there = compose_with(c, OP_lt, places, (double)all);
        places = compose_with(c, OP_min, places, (double)(all - 1));
        struct value *group = compose_with(c, OP_div, places, (double)f.top);
        columns[0] = compose_cast(c, compose_with(c, OP_div, places, (double)each), E_F32);
        group = compose_with(c, OP_rem, group, (double)f.classes);
        columns[1] = build_gather(c->b, f.labels, group, 0);
        columns[2] = build_gather(c->b, scores, places, 0);
        source = build_gather(c->b, source, places, 0);
        columns[3] = build_gather(c->b, corners, source, 0);
        for (int i = 0; i < 3; i++)
                columns[i] = compose_reshape(c, columns[i], 2, line);
        for (int i = 0; i < 4; i++)
                if (!columns[i])
                        return false;
        struct value *y = compose_concat(c, columns, 4, 1);
        there = y ? compose_spread(c, there, type_with_element(im->m, y->type, E_BOOL),
                                   (const int64_t[]){ 0 })
                  : NULL;
        y = there ? compose_select(c, there, y, build_like(c->b, y, -1)) : NULL;
        return caffe_top(n, compose_reshape(c, y, 4,
                                            (const dim_t[]){ dim_of(1), dim_of(1), dim_of(rows),
                                                             dim_of(3 + CORNERS) }));
}
