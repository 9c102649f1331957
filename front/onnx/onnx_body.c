/* SPDX-License-Identifier: MIT */
/* The bodies of loops. */
#include "front/onnx/onnx_body.h"

#include "base/size.h"
#include "front/compose/compose_texts.h"
#include "front/onnx/onnx_model.h"
#include "front/onnx/onnx_texts.h"

bool onnx_body_open(struct onnx_import *im, const struct compose_loop_parts *parts,
                      struct onnx_body *body)
{
        if (!compose_loop_open(im->c, parts, &body->loop))
                return false;
        body->counted = im->model->counted;
        body->known = im->m->known_count;
        im->model->counted = NULL;
        struct onnx_iteration *iteration = ARENA_NEW(im->arena, struct onnx_iteration);
        *iteration = (struct onnx_iteration){ im->model->iteration, body->loop.number };
        im->model->iteration = iteration;
        return true;
}

/* Closes the loop as compose_loop_close does. */
bool onnx_body_close(struct onnx_import *im, struct onnx_body *body, struct value *const *yielded)
{
        im->model->counted = body->counted;
        im->m->known_count = body->known;
        im->model->iteration = im->model->iteration->outer;
        return compose_loop_close(im->c, &body->loop, yielded);
}

struct onnx_carried_texts onnx_carried_texts(const struct value *first)
{
        const int64_t width =
                onnx_is_texts(first) ? compose_texts_width(onnx_texts_bytes(first)) : 0;
        return (struct onnx_carried_texts){ .width = width, .first = width };
}

struct value *onnx_body_texts(struct onnx_import *im, struct onnx_carried_texts *t, int64_t most,
                              const struct value *texts, bool *wider)
{
        enum { WIDTH_MOST = 1 << 20 };
        struct value *bytes = onnx_texts_bytes(texts);
        const int last = value_rank(bytes) - 1;
        const int64_t width = value_extent(bytes, last), more = width - t->width;
        int64_t all;

        if (more <= 0)
                return compose_fitted(im->c, bytes, last, t->width);
        if (t->enough && more == t->more)
                return compose_part(im->c, bytes, last, 0, t->width);
        t->enough = more == t->more && most >= 0 && int_mul(more, most, &all) &&
                    int_add(t->first, all, &all) && all >= t->width && all <= WIDTH_MOST;
        t->width = t->enough ? all : width;
        t->more = more;
        *wider = true;
        return NULL;
}

struct onnx_mark onnx_mark(struct onnx_import *im)
{
        return (struct onnx_mark){ .b = im->b,
                                   .scope = im->scope,
                                   .last = im->b.region->last,
                                   .model = arena_copy(im->arena, im->model, sizeof *im->model),
                                   .symbols = im->m->symbol_count,
                                   .known = im->m->known_count };
}

void onnx_take_back(struct onnx_import *im, const struct onnx_mark *mark)
{
        while (mark->b.region->last != mark->last)
                op_erase(mark->b.region->last);
        dims_release(im->m, mark->symbols);
        im->m->known_count = mark->known;
        im->scope = mark->scope;
        im->b = mark->b;
        im->model->frame = mark->model->frame;
        im->model->walk = mark->model->walk;
        im->model->nesting = mark->model->nesting;
        im->model->draws = mark->model->draws;
        im->model->counted = mark->model->counted;
}

bool onnx_body_inputs(struct onnx_import *im, struct onnx_node *n, int from)
{
        for (int i = from; i < n->input_count; i++) {
                if (!n->inputs[i])
                        return onnx_invalid(im, n, "input %d is required", i);
                const struct type *t = n->inputs[i]->type;
                if (t->kind == TYPE_TENSOR && !element_is_stored(t->element) &&
                    t->element != E_STRING)
                        return onnx_unsupported(im, n, "input %d is %s, which is not supported", i,
                                                compose_text(im->c, t));
        }
        return true;
}

/* Checks that what is carried keeps its type. */
bool onnx_body_carried(struct onnx_import *im, struct onnx_node *n, const struct value *first,
                          const struct value *next, int number)
{
        return first->type == next->type ||
               onnx_unsupported(im, n, "carried value %d is %s at first and %s after an iteration",
                                number, compose_text(im->c, first->type),
                                compose_text(im->c, next->type));
}

/* Checks that rows of a stack have their extents from outside of the body at hand. */
bool onnx_body_row(struct onnx_import *im, struct onnx_node *n, const struct value *row,
                      int output)
{
        return !region_counts(im->b.region, row->type) ||
               onnx_unsupported(im, n,
                                "output %d is of rows of which each has a shape of its own, %s, as "
                                "only a run tells",
                                output, compose_text(im->c, row->type));
}
