/* SPDX-License-Identifier: MIT */
/* LinearAttention: a state <d_k x d_v> per head instead of all keys and values, one step after the
 * other, as the standard's function says:
 *
 *   state = exp(decay) state + k write,   write = v, or beta (v - state' k)        output = scale q state
 */
#include <math.h>

#include "compiler/import/onnx_helpers.h"
#include "front/compose/compose_attention.h"

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA, INPUTS };

struct linear {
        /* heads of queries; groups of them that share a state */
        int64_t heads, groups, batch, steps, depth, width;
        bool decays, corrects;
        double scale;
        enum element element;
};

static bool read_attributes(struct onnx_import *im, struct onnx_node *n, struct linear *l)
{
        static const char *const rules[] = { "linear", "gated", "delta", "gated_delta", NULL };
        float scale;
        int rule;

        if (!onnx_choice(im, n, "update_rule", rules, 3, &rule) ||
            !onnx_float(im, n, "scale", 0, &scale) ||
            !onnx_int_required(im, n, "q_num_heads", &l->heads) ||
            !onnx_int_required(im, n, "kv_num_heads", &l->groups) ||
            !onnx_ignore(im, n, "chunk_size"))
                return false;
        if (l->heads < 1 || l->groups < 1 || l->heads > NUMBER_MAX || l->heads % l->groups)
                return onnx_invalid(im, n, "%lld heads of queries share %lld of keys",
                                    (long long)l->heads, (long long)l->groups);
        l->decays = rule & 1;
        l->corrects = rule & 2;
        l->scale = scale;
        return true;
}

/* input i is [batch, steps, columns], columns one of two numbers */
static bool want_columns(struct onnx_import *im, const struct onnx_node *n, const struct linear *l,
                         int i, int64_t columns, int64_t other)
{
        const struct value *x = onnx_input(n, i);
        if (x && value_rank(x) == 3 && value_extent(x, 0) == l->batch &&
            value_extent(x, 1) == l->steps &&
            (value_extent(x, 2) == columns || value_extent(x, 2) == other))
                return true;
        return onnx_invalid(im, n, "input %d is %s, want <%lld x %lld x %lld>", i,
                            x ? type_text(im->arena, im->m, x->type) : "absent",
                            (long long)l->batch, (long long)l->steps, (long long)columns);
}

static bool read_shapes(struct onnx_import *im, struct onnx_node *n, struct linear *l)
{
        struct value *v[INPUTS];
        for (int i = 0; i < INPUTS; i++)
                v[i] = i == PAST ? NULL : onnx_input(n, i);
        if (!onnx_want_float(im, n, QUERY) || !onnx_same_element(im, n, v, INPUTS) ||
            !onnx_want_rank(im, n, QUERY, 3, 3) || !onnx_want_rank(im, n, VALUE, 3, 3))
                return false;
        const dim_t *q = v[QUERY]->type->dims;
        l->element = value_element(v[QUERY]);
        l->batch = dim_extent(q[0]);
        l->steps = dim_extent(q[1]);
        l->depth = dim_extent(q[2]) / l->heads;
        l->width = value_extent(v[VALUE], 2) / l->groups;
        l->scale = l->scale != 0 ? l->scale : 1 / sqrt((double)l->depth);
        if (!want_columns(im, n, l, QUERY, l->depth * l->heads, -1) ||
            !want_columns(im, n, l, KEY, l->depth * l->groups, -1) ||
            !want_columns(im, n, l, VALUE, l->width * l->groups, -1) ||
            (l->decays && !want_columns(im, n, l, DECAY, l->groups, l->depth * l->groups)) ||
            (l->corrects && !want_columns(im, n, l, BETA, l->groups, 1)))
                return false;
        if (l->depth < 1 || (v[DECAY] && !l->decays) || (v[BETA] && !l->corrects))
                return onnx_invalid(
                        im, n,
                        "heads of %lld columns, or an input that this update_rule does not have",
                        (long long)l->depth);
        return true;
}

/* [batch, steps, heads * size] as [steps, batch, heads, size] */
static struct value *by_steps(struct onnx_import *im, const struct linear *l, struct value *x,
                              int64_t heads)
{
        x = compose_reshape(im->c, x, 4,
                            (const dim_t[]){ dim_of(l->batch), dim_of(l->steps), dim_of(heads),
                                             dim_of(value_extent(x, 2) / heads) });
        return x ? build_transpose(&im->b, x, (const int64_t[]){ 1, 0, 2, 3 }) : NULL;
}

/* [batch, heads, size] as rows or columns of products */
static struct value *as_matrix(struct onnx_import *im, struct value *x, bool row)
{
        const dim_t *d = x ? x->type->dims : NULL;
        return d ? compose_reshape(im->c, x, 4,
                                   (const dim_t[]){ d[0], d[1], dim_of(row ? 1 : dim_extent(d[2])),
                                                    dim_of(row ? dim_extent(d[2]) : 1) })
                 : NULL;
}

static struct value *as_vector(struct onnx_import *im, struct value *x)
{
        const dim_t *d = x ? x->type->dims : NULL;
        return d ? compose_reshape(im->c, x, 3,
                                   (const dim_t[]){ d[0], d[1],
                                                    dim_of(dim_extent(d[2]) * dim_extent(d[3])) })
                 : NULL;
}

/* One step: rows of what is scanned, in the order of the inputs; yielded: the next state and the
 * output. */
static void build_step(struct onnx_import *im, const struct linear *l,
                       const struct compose_loop *loop, struct value **yielded)
{
        struct value *row[INPUTS] = { NULL }, *state = loop->held;
        for (int i = 0, scan = 0; i < INPUTS; i++)
                if (i <= VALUE || (i == DECAY && l->decays) || (i == BETA && l->corrects))
                        row[i] = compose_cast(im->c, &loop->rows[scan++], E_F32);
        struct value *key = as_matrix(im, row[KEY], false), *write = row[VALUE];
        if (l->decays)
                state = compose_binary(
                        im->c, OP_mul, state,
                        as_matrix(im, compose_unary(im->c, OP_exp, row[DECAY]), false));
        if (l->corrects && state) {
                struct value *across =
                        build_transpose(&im->b, state, (const int64_t[]){ 0, 1, 3, 2 });
                struct value *known = as_vector(im, compose_matmul(im->c, across, key));
                write = compose_binary(im->c, OP_mul, row[BETA],
                                       compose_binary(im->c, OP_sub, write, known));
        }
        state = compose_binary(im->c, OP_add, state,
                               compose_matmul(im->c, key, as_matrix(im, write, true)));
        struct value *right = compose_for_heads(im->c, state, l->heads);
        struct value *y =
                as_vector(im, compose_matmul(im->c, as_matrix(im, row[QUERY], true), right));
        yielded[0] = state;
        yielded[1] = compose_cast(im->c, compose_with(im->c, OP_mul, y, l->scale), l->element);
}

bool onnx_import_linear_attention(struct onnx_import *im, struct onnx_node *n)
{
        struct linear l;
        struct compose_loop loop;
        struct value *scans[INPUTS], *yielded[2], *past = onnx_input(n, PAST);
        int scanned = 0;

        if (!read_attributes(im, n, &l) || !read_shapes(im, n, &l))
                return false;
        const dim_t dims[4] = { dim_of(l.batch), dim_of(l.groups), dim_of(l.depth),
                                dim_of(l.width) };
        const struct type *type = compose_type(im->c, E_F32, 4, dims);
        if (!type)
                return false;
        if (past && (!element_is_float(value_element(past)) || !type_same_dims(past->type, type)))
                return onnx_invalid(im, n, "past_state is %s, want %s",
                                    type_text(im->arena, im->m, past->type),
                                    type_text(im->arena, im->m, type));
        struct value *first =
                past ? compose_cast(im->c, past, E_F32) : constant_number(im->m, type, 0);
        for (int i = 0; i < INPUTS; i++)
                if (i != PAST && onnx_input(n, i)) {
                        int64_t heads = i == QUERY  ? l.heads
                                        : i == BETA ? value_extent(n->inputs[i], 2)
                                                    : l.groups;
                        if (!(scans[scanned++] = by_steps(im, &l, n->inputs[i], heads)))
                                return false;
                }
        const struct compose_loop_parts parts = { .steps = l.steps,
                                                  .first = &first,
                                                  .carried = 1,
                                                  .scans = scans,
                                                  .scanned = scanned,
                                                  .stacked = 1 };
        if (!first || !compose_loop_open(im->c, &parts, &loop))
                return false;
        build_step(im, &l, &loop, yielded);
        if (!compose_loop_close(im->c, &loop, yielded))
                return false;
        struct value *y =
                build_transpose(&im->b, &loop.op->results[1], (const int64_t[]){ 1, 0, 2, 3 });
        return onnx_output(n, 0,
                           compose_reshape(im->c, y, 3,
                                           (const dim_t[]){ dim_of(l.batch), dim_of(l.steps),
                                                            dim_of(l.heads * l.width) })) &&
               onnx_output(n, 1,
                           compose_cast(im->c, &loop.op->results[0],
                                        past ? value_element(past) : l.element));
}
