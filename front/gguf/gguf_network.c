/* SPDX-License-Identifier: MIT */
/* The network of a transformer that continues texts:
 *
 *      x = rows of token_embd
 *      each layer:   x = x + norm(output(attention(q, k, v of norm(x), past)))
 *                    x = x + norm(down(activation(gate(norm(x))) * up(norm(x))))
 *      logits = output(norm(x)), of the last token
 *
 * Norms behind a block are there in some models alone. */
#include "front/gguf/gguf.h"

#include <math.h>
#include <string.h>

#include "base/size.h"
#include "front/compose/compose_activation.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_attention.h"
#include "front/compose/compose_norm.h"

struct network {
        struct gguf_import *im;
        struct compose *c;
        struct value *cosine[2], *sine[2]; /* Those of layers with a window are at 1. */
        struct value *last; /* The last position, i64 [1]. */
        int64_t keys;
};

/* ---- rotary embeddings ---- */

/* Tables are the same in all entries of a model: they have a step's positions, and those of a
 * prompt of at least so many tokens. */
enum { PROMPT_LEAST = 512 };

static int64_t table_rows(const struct gguf_import *im)
{
        const int64_t steps = dim_bound(im->m, im->steps), past = dim_bound(im->m, im->past);
        const int64_t rows = past + compose_max(steps, PROMPT_LEAST);
        return compose_max(compose_min(rows, im->p.context), past + steps);
}

/* Makes the cosines and sines of angles: position / factor * base ^ (-2 i / turned) / divisors[i].
 * divisors is NULL, or of as many floats. */
static bool tables(struct network *n, int which, double base, double factor, const float *divisors)
{
        const struct gguf_import *im = n->im;
        const int64_t half = im->p.turned / 2, dims[2] = { table_rows(im), half };
        const struct type *t = compose_type_static(n->c, E_F32, 2, dims);
        if (!t)
                return false;
        float *cosine = constant_room(im->m, (size_t)type_bytes(t)),
              *sine = constant_room(im->m, (size_t)type_bytes(t));
        for (int64_t i = 0; i < half; i++) {
                const double each = pow(base, -2.0 * (double)i / (double)im->p.turned) / factor /
                                    (divisors ? (double)divisors[i] : 1);
                for (int64_t r = 0; r < dims[0]; r++) {
                        cosine[r * half + i] = (float)cos((double)r * each);
                        sine[r * half + i] = (float)sin((double)r * each);
                }
        }
        n->cosine[which] = constant_dense(im->m, t, cosine, "cosine");
        n->sine[which] = constant_dense(im->m, t, sine, "sine");
        return n->cosine[which] && n->sine[which];
}

static bool make_tables(struct network *n)
{
        struct gguf_import *im = n->im;
        const struct gguf_parameters *p = &im->p;
        struct gguf_tensor *t = gguf_tensor_find(im, -1, "rope_freqs.weight");
        float *divisors = NULL;
        if (t) {
                const struct value *v = gguf_vector(im, t, p->turned / 2);
                if (!v)
                        return false;
                divisors = arena_array(im->arena, (size_t)p->turned / 2, sizeof *divisors);
                for (int64_t i = 0; i < p->turned / 2; i++) {
                        divisors[i] = (float)constant_element(v->constant, i).f;
                        if (!(divisors[i] > 0 && divisors[i] < 1e30f))
                                return gguf_invalid(im, "a divisor of angles is %g",
                                                    (double)divisors[i]);
                }
        }
        return tables(n, 0, p->base, p->factor, divisors) &&
               (!p->window || tables(n, 1, p->local_base, 1, NULL));
}

/* ---- layers ---- */

/* Returns x normalized by the tensor, or x itself where it is not there and need not be. */
static struct value *normalized(struct network *n, struct value *x, int64_t layer, const char *name,
                                bool optional)
{
        struct gguf_import *im = n->im;
        struct gguf_tensor *t = gguf_tensor_find(im, layer, name);
        if (!x || (!t && optional))
                return x;
        if (!t) {
                gguf_invalid(im, "tensor '%s' is missing", name);
                return NULL;
        }
        const struct compose_layer_norm l = { .scale = gguf_vector(im, t, im->p.width),
                                              .axis = 2,
                                              .epsilon = (float)im->p.epsilon,
                                              .computed = E_F32,
                                              .stash = E_F32 };
        return l.scale ? compose_layer_norm(n->c, x, &l, NULL, NULL) : NULL;
}

/* Sets *scale to the norm of heads, or NULL where the model has none. */
static bool head_norm(struct network *n, int64_t layer, const char *name, struct value **scale)
{
        struct gguf_tensor *t = gguf_tensor_find(n->im, layer, name);
        *scale = t ? gguf_vector(n->im, t, n->im->p.size) : NULL;
        return !t || *scale;
}

static struct value *attended(struct network *n, struct value *x, int64_t layer,
                              struct gguf_network *out)
{
        struct gguf_import *im = n->im;
        const struct gguf_parameters *p = &im->p;
        const bool local = gguf_is_local(p, layer);
        const int64_t q = p->heads * p->size, k = p->groups * p->size;
        struct value *parts[3] = { NULL };
        parts[0] = gguf_product(im, x, layer, "attn_q", q);
        parts[1] = parts[0] ? gguf_product(im, x, layer, "attn_k", k) : NULL;
        parts[2] = parts[1] ? gguf_product(im, x, layer, "attn_v", k) : NULL;
        struct compose_grouped_attention a = { .q = parts[0],
                                               .k = parts[1],
                                               .v = parts[2],
                                               .past_k = out->past ? out->past[2 * layer] : NULL,
                                               .past_v =
                                                       out->past ? out->past[2 * layer + 1] : NULL,
                                               .last = n->last,
                                               .cosine = n->cosine[local],
                                               .sine = n->sine[local],
                                               .heads = p->heads,
                                               .groups = p->groups,
                                               .keys = n->keys,
                                               .q_epsilon = (float)p->epsilon,
                                               .k_epsilon = (float)p->epsilon,
                                               .window = local ? p->window : 0,
                                               .causal = true,
                                               .interleaved = p->architecture->pairs,
                                               .scale = p->scale,
                                               .softcap = (float)p->attention_softcap };
        struct compose_attended result = { .y = NULL };
        if (!parts[2] || !head_norm(n, layer, "attn_q_norm.weight", &a.q_norm) ||
            !head_norm(n, layer, "attn_k_norm.weight", &a.k_norm))
                return NULL;
        im->at = arena_printf(im->arena, "layer %lld", (long long)layer);
        if (!a.q_norm != !a.k_norm) {
                gguf_invalid(im, "norms of queries and keys go together");
                return NULL;
        }
        if (!compose_grouped_attention(n->c, &a, &result))
                return NULL;
        out->present[2 * layer] = result.k;
        out->present[2 * layer + 1] = result.v;
        return gguf_product(im, result.y, layer, "attn_output", p->width);
}

static struct value *fed_forward(struct network *n, struct value *x, int64_t layer)
{
        struct gguf_import *im = n->im;
        const struct compose_activation act = { .kind = im->p.architecture->activation,
                                                .alpha = 1 };
        const struct gguf_tensor *up = gguf_tensor_find(im, layer, "ffn_up.weight");
        if (!up) {
                gguf_invalid(im, "tensor 'ffn_up.weight' is missing");
                return NULL;
        }
        const int64_t hidden = up->extents[1];
        struct value *gate = gguf_product(im, x, layer, "ffn_gate", hidden);
        gate = gate ? compose_activate(n->c, &act, gate) : NULL;
        struct value *wide = gate ? gguf_product(im, x, layer, "ffn_up", hidden) : NULL;
        wide = mul(n->c, gate, wide);
        return wide ? gguf_product(im, wide, layer, "ffn_down", im->p.width) : NULL;
}

static struct value *layer_of(struct network *n, struct value *x, int64_t layer,
                              struct gguf_network *out)
{
        struct gguf_import *im = n->im;
        im->b.location = arena_printf(im->m->arena, "attention%lld", (long long)layer);
        im->at = arena_printf(im->arena, "layer %lld", (long long)layer);
        struct value *y = normalized(n, x, layer, "attn_norm.weight", false);
        y = y ? attended(n, y, layer, out) : NULL;
        y = normalized(n, y, layer, "post_attention_norm.weight", true);
        x = add(n->c, x, y);
        im->b.location = arena_printf(im->m->arena, "feed_forward%lld", (long long)layer);
        im->at = arena_printf(im->arena, "layer %lld", (long long)layer);
        y = normalized(n, x, layer, "ffn_norm.weight", false);
        y = y ? fed_forward(n, y, layer) : NULL;
        y = normalized(n, y, layer, "post_ffw_norm.weight", true);
        return add(n->c, x, y);
}

/* ---- ends ---- */

static struct value *logits_of(struct network *n, struct value *x, struct gguf_tensor *w)
{
        const double cap = n->im->p.final_softcap;
        struct value *y = gguf_product_by(n->im, x, w, n->im->p.tokens);
        if (y && cap > 0)
                y = times(n->c, compose_unary(n->c, OP_tanh, times(n->c, y, 1 / cap)), cap);
        return y;
}

/* Returns row steps - 1 of x [1, steps, width] as [1, 1, width]. */
static struct value *last_row(struct network *n, struct value *x)
{
        const dim_t one[1] = { dim_of(1) };
        if (dim_is(x->type->dims[1], 1))
                return x;
        struct value *at = plus(n->c, compose_extent(n->c, n->im->steps), -1);
        at = compose_reshape(n->c, at, 1, one);
        return at ? build_gather(n->c->b, x, at, 1) : NULL;
}

static bool ends(struct network *n, struct value *x, struct gguf_tensor *embedded,
                 struct gguf_network *out)
{
        struct gguf_import *im = n->im;
        struct gguf_tensor *w = gguf_tensor_find(im, -1, "output.weight");
        im->b.location = "logits";
        im->at = NULL;
        w = w ? w : embedded;
        out->hidden = x = normalized(n, x, -1, "output_norm.weight", false);
        struct value *last = x ? last_row(n, x) : NULL;
        out->logits = last ? logits_of(n, last, w) : NULL;
        if (out->wants_all && out->logits)
                out->all_logits = logits_of(n, x, w);
        return out->logits && (!out->wants_all || out->all_logits);
}

/* Lists tensors that the network does not read: they have a meaning that is not known here. */
static bool all_used(struct gguf_import *im)
{
        for (int i = 0; i < im->file.tensor_count; i++)
                if (!im->file.tensors[i].used) {
                        im->at = im->file.tensors[i].safe;
                        return gguf_unsupported(im,
                                                "no network of architecture %s has this tensor "
                                                "here",
                                                im->p.architecture->name);
                }
        return true;
}

bool gguf_network(struct gguf_import *im, struct gguf_network *out)
{
        const struct gguf_parameters *p = &im->p;
        struct network n = { .im = im, .c = im->c };
        const dim_t keys = dim_binary(im->m, DIM_ADD, im->past, im->steps), one[1] = { dim_of(1) };
        struct gguf_tensor *embedded = gguf_tensor_find(im, -1, "token_embd.weight");
        n.keys = dim_bound(im->m, keys);
        n.last = compose_reshape(im->c, plus(im->c, compose_extent(im->c, keys), -1), 1, one);
        if (!n.last || !make_tables(&n))
                return false;
        im->b.location = "embedded";
        struct value *x = gguf_rows(im, embedded, out->ids, p->width);
        if (x && p->architecture->scaled)
                x = times(im->c, x, (double)(float)sqrt((double)p->width));
        for (int64_t layer = 0; layer < p->layers && x; layer++)
                x = layer_of(&n, x, layer, out);
        im->at = NULL;
        return x && ends(&n, x, embedded, out) && all_used(im);
}
