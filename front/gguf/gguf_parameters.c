/* SPDX-License-Identifier: MIT */
/* Metadata say the network's numbers, under keys that begin with its architecture's name:
 * llama.block_count, qwen2.attention.head_count. */
#include "front/gguf/gguf.h"

#include <math.h>
#include <string.h>

#include "base/suggest.h"
#include "front/compose/compose_activation.h"

enum { LAYERS_MOST = 4096, EXTENT_MOST = 1 << 20, CONTEXT_MOST = INT32_MAX };

static const struct gguf_architecture architectures[] = {
#define GGUF_ARCHITECTURE(name, pairs, scaled, activation, period, window, base, large)            \
        { #name, pairs, scaled, activation, period, window, large, base },
#include "front/gguf/gguf_architectures.def"
};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

static bool is_text(const struct gguf_key *k) { return k && k->kind == GGUF_TEXT && !k->is_array; }

static struct gguf_text text_of(const struct gguf_key *k)
{
        const unsigned char *at = k->data;
        return gguf_text_next(&at);
}

static bool text_equal(struct gguf_text t, const char *word)
{
        return t.length == strlen(word) && !memcmp(t.bytes, word, t.length);
}

const struct gguf_architecture *gguf_architecture_of(struct gguf_import *im)
{
        const struct gguf_key *k = gguf_find(&im->file, "general.architecture");
        if (!is_text(k)) {
                gguf_invalid(im, "the file has no text general.architecture");
                return NULL;
        }
        const struct gguf_text name = text_of(k);
        struct text known = { 0 };
        for (int i = 0; i < ARCHITECTURES; i++) {
                if (text_equal(name, architectures[i].name)) {
                        text_free(&known);
                        return &architectures[i];
                }
                text_add(&known, "%s%s", i ? ", " : "", architectures[i].name);
        }
        gguf_unsupported(im, "architecture '%s', supported are %s",
                         text_safe(im->arena, name.bytes, name.length),
                         arena_string(im->arena, known.data));
        text_free(&known);
        return NULL;
}

static const struct gguf_key *key_of(struct gguf_import *im, const char *name)
{
        return gguf_find(&im->file,
                         arena_printf(im->arena, "%s.%s", im->p.architecture->name, name));
}

/* Reads a whole number from 1 to `most`; `preset` < 0: it must be there. An array has one number
 * for each layer, which are all the same. */
static bool whole(struct gguf_import *im, const char *name, int64_t preset, int64_t most,
                  int64_t *value)
{
        const struct gguf_key *k = key_of(im, name);
        *value = preset;
        if (!k && preset >= 0)
                return true;
        if (!gguf_integer(k, 0, value) || *value < 1 || *value > most)
                return gguf_invalid(im, "%s.%s %s, want a whole number from 1 to %lld",
                                    im->p.architecture->name, name,
                                    k ? "is no such number" : "is missing", (long long)most);
        for (int64_t i = 1; i < k->count; i++) {
                int64_t other;
                if (!gguf_integer(k, i, &other) || other != *value)
                        return gguf_unsupported(im, "%s.%s is another one in each layer",
                                                im->p.architecture->name, name);
        }
        return true;
}

static bool real(struct gguf_import *im, const char *name, double preset, double *value)
{
        const struct gguf_key *k = key_of(im, name);
        *value = preset;
        if (!k && preset >= 0)
                return true;
        return (k && gguf_float(k, 0, value) && *value >= 0 && *value <= 1e30) ||
               gguf_invalid(im, "%s.%s %s, want a number", im->p.architecture->name, name,
                            k ? "is no such number" : "is missing");
}

static bool read_heads(struct gguf_import *im)
{
        struct gguf_parameters *p = &im->p;
        if (!whole(im, "attention.head_count", -1, EXTENT_MOST, &p->heads) ||
            !whole(im, "attention.head_count_kv", p->heads, EXTENT_MOST, &p->groups))
                return false;
        const bool divides = p->width % p->heads == 0;
        const int64_t preset = divides ? p->width / p->heads : -1;
        if (!whole(im, "attention.key_length", preset, EXTENT_MOST, &p->size) ||
            !whole(im, "attention.value_length", p->size, EXTENT_MOST, &p->values) ||
            !whole(im, "rope.dimension_count", p->size, p->size, &p->turned))
                return false;
        if (p->heads % p->groups)
                return gguf_invalid(im, "%lld heads in %lld groups", (long long)p->heads,
                                    (long long)p->groups);
        if (p->values != p->size)
                return gguf_unsupported(im, "heads of %lld with values of %lld", (long long)p->size,
                                        (long long)p->values);
        return p->turned % 2 == 0 ||
               gguf_invalid(im, "%lld elements of a head are turned", (long long)p->turned);
}

/* Reads what rotary embeddings are. */
static bool read_rotary(struct gguf_import *im)
{
        struct gguf_parameters *p = &im->p;
        const struct gguf_key *kind = key_of(im, "rope.scaling.type"), *old;
        static const double local = 10000;
        if (!real(im, "rope.freq_base", p->architecture->base, &p->base) ||
            !real(im, "rope.freq_base_swa", local, &p->local_base) ||
            !real(im, "rope.scaling.factor", 0, &p->factor))
                return false;
        old = key_of(im, "rope.scale_linear");
        if (!kind && old && !gguf_float(old, 0, &p->factor))
                return gguf_invalid(im, "rope.scale_linear is no number");
        if (kind && (!is_text(kind) ||
                     !(text_equal(text_of(kind), "none") || text_equal(text_of(kind), "linear"))))
                return gguf_unsupported(im, "rotary embeddings that are not scaled linearly "
                                            "(rope.scaling.type)");
        if ((kind && is_text(kind) && text_equal(text_of(kind), "none")) || p->factor <= 0)
                p->factor = 1;
        return (p->base >= 1 && p->local_base >= 1) ||
               gguf_invalid(im, "rope.freq_base is below 1");
}

static bool read_attention(struct gguf_import *im)
{
        struct gguf_parameters *p = &im->p;
        const bool is_large = p->layers == p->architecture->large;
        p->scale = 1 / sqrt((double)(is_large ? p->width / p->heads : p->size));
        if (!real(im, "attn_logit_softcapping", 0, &p->attention_softcap) ||
            !real(im, "final_logit_softcapping", 0, &p->final_softcap))
                return false;
        p->window = 0;
        if (!p->architecture->period)
                return true;
        const struct gguf_key *k = key_of(im, "attention.sliding_window");
        if (!k && !p->architecture->window)
                return true;
        return whole(im, "attention.sliding_window", p->architecture->window, CONTEXT_MOST,
                     &p->window);
}

bool gguf_is_local(const struct gguf_parameters *p, int64_t layer)
{
        return p->window && layer % p->architecture->period < p->architecture->period - 1;
}

bool gguf_read_parameters(struct gguf_import *im)
{
        struct gguf_parameters *p = &im->p;
        int64_t experts = 0;
        if (!(p->architecture = gguf_architecture_of(im)))
                return false;
        const struct gguf_key *k = key_of(im, "expert_count");
        if (k && gguf_integer(k, 0, &experts) && experts)
                return gguf_unsupported(im, "a mixture of %lld experts", (long long)experts);
        return whole(im, "block_count", -1, LAYERS_MOST, &p->layers) &&
               whole(im, "embedding_length", -1, EXTENT_MOST, &p->width) &&
               whole(im, "context_length", -1, CONTEXT_MOST, &p->context) &&
               real(im, "attention.layer_norm_rms_epsilon", -1, &p->epsilon) && read_heads(im) &&
               read_rotary(im) && read_attention(im);
}
