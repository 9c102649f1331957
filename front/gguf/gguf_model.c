/* SPDX-License-Identifier: MIT */
/* The import begins here: a file becomes a function of its network,
 *
 *      input_ids <1 x N x i64>, past.L.key, past.L.value <1 x groups x P x size x f32>
 *        -> logits <1 x 1 x tokens x f32>, present.L.key, present.L.value <1 x groups x P + N x ..>
 *
 * of which entries `prefill` and `step` are made (gguf_presets). */
#include "front/gguf/gguf.h"

#include <string.h>

#include "base/size.h"
#include "base/suggest.h"
#include "base/text.h"

/* A model is used with so many positions, and prompts of so many tokens, where options say nothing
 * and it was trained for as many. */
enum { POSITIONS_PRESET = 4096, PROMPT_PRESET = 512 };

static const char input_name[] = "input_ids";
static const char *const output_names[] = { "logits", "hidden", "all_logits" };
enum { LOGITS, HIDDEN, ALL_LOGITS, NAMED };

/* ---- dimensions ---- */

static int64_t prompt_preset(int64_t context)
{
        return compose_max(compose_min(PROMPT_PRESET, context / 2), 1);
}

static int64_t past_preset(int64_t context)
{
        return compose_max(compose_min(POSITIONS_PRESET, context) - prompt_preset(context), 1);
}

/* Returns a dimension that runs give, in [least, most]. */
static dim_t open_dim(struct gguf_import *im, const char *name, int64_t least, int64_t most)
{
        const int known = im->m->symbol_count;
        const dim_t d = dim_symbol(im->m, name, most);
        if (im->m->symbol_count > known)
                dim_at_run(im->m, known, least, most);
        return d;
}

/* Reads --dim NAME=N or NAME=1..N of the dimension called so; the last one counts. */
static bool read_dim(struct gguf_import *im, const char *name, int64_t least, int64_t most,
                     dim_t *d)
{
        bool open = true;
        for (int i = 0; i < im->options->dim_count; i++) {
                const char *option = im->options->dims[i], *equals = strrchr(option, '=');
                int64_t extent;
                if (!equals || (size_t)(equals - option) != strlen(name) ||
                    strncmp(option, name, strlen(name)) != 0)
                        continue;
                open = int_range_parse(equals + 1, &least, &most, NULL);
                if (open)
                        continue;
                if (!int_parse(equals + 1, &extent) || extent < 0 || extent > INT32_MAX)
                        return gguf_usage(im, "--dim %s: want %s=N, or %s=1..N",
                                          text_argument(im->arena, option), name, name);
                least = most = extent;
        }
        *d = open ? open_dim(im, name, least, most) : dim_of(most);
        return true;
}

/* Refuses --dim of other names than N and P. */
static bool check_dims(struct gguf_import *im)
{
        for (int i = 0; i < im->options->dim_count; i++) {
                const char *option = im->options->dims[i];
                const size_t length = strcspn(option, "=");
                if (length == 1 && (*option == 'N' || *option == 'P') && option[1] == '=')
                        continue;
                struct suggest known = suggest_new(im->arena, option, length);
                suggest_add(&known, "N");
                suggest_add(&known, "P");
                return gguf_usage(im, "--dim %s: the model has no such dimension%s",
                                  text_argument(im->arena, option), suggest_text(&known, true));
        }
        return true;
}

static bool read_dims(struct gguf_import *im)
{
        const int64_t context = im->p.context;
        if (!check_dims(im) || !read_dim(im, "P", 0, past_preset(context), &im->past))
                return false;
        const int64_t past = dim_bound(im->m, im->past),
                      room = compose_max(context - compose_min(past, context), 1);
        if (!read_dim(im, "N", 1, compose_min(prompt_preset(context), room), &im->steps))
                return false;
        const int64_t steps = dim_bound(im->m, im->steps);
        if (!steps || (!dim_is_static(im->steps) && !dim_least(im->m, im->steps)))
                return gguf_usage(im, "--dim N=0: want at least one token");
        return steps + past <= context ||
               gguf_usage(im,
                          "--dim N and P: %lld tokens behind %lld, and the model has %lld "
                          "positions",
                          (long long)steps, (long long)past, (long long)context);
}

/* Refuses options that these models have nothing for. */
static bool check_options(struct gguf_import *im)
{
        const struct import_options *o = im->options;
        if (o->input_count)
                return gguf_usage(im, "--input %s: shapes follow from --dim N=.. and P=..",
                                  text_argument(im->arena, o->inputs[0]));
        if (o->text_byte_count)
                return gguf_usage(im, "--text-bytes %s: the model has no texts",
                                  text_argument(im->arena, o->text_bytes[0]));
        return !o->seed || gguf_usage(im, "--seed %s: the model draws no random numbers",
                                      text_argument(im->arena, o->seed));
}

/* ---- outputs ---- */

/* Finds which values are outputs: logits, or those of --output, then those of --keep; keys and
 * values of layers (*caches) are where there is no --output. */
static bool read_outputs(struct gguf_import *im, int *wanted, int *count, bool *caches)
{
        const struct import_options *o = im->options;
        *count = 0;
        *caches = !o->output_count;
        if (*caches)
                wanted[(*count)++] = LOGITS;
        for (int i = 0; i < o->output_count + o->keep_count; i++) {
                const char *name =
                        i < o->output_count ? o->outputs[i] : o->keep[i - o->output_count];
                struct suggest known = suggest_new(im->arena, name, strlen(name));
                bool twice = false;
                int k = 0;
                while (k < NAMED && strcmp(output_names[k], name) != 0)
                        suggest_add(&known, output_names[k++]);
                if (k == NAMED)
                        return gguf_usage(
                                im, "--output or --keep '%s': the model has no such value%s",
                                text_argument(im->arena, name), suggest_text(&known, true));
                for (int j = 0; j < *count; j++)
                        twice |= wanted[j] == k;
                if (!twice && *count < NAMED)
                        wanted[(*count)++] = k;
        }
        return true;
}

static const char *cache_name(struct gguf_import *im, const char *which, int64_t i)
{
        return arena_printf(im->m->arena, "%s.%lld.%s", which, (long long)(i / 2),
                            i % 2 ? "value" : "key");
}

static bool yield_all(struct gguf_import *im, struct function *f, const struct gguf_network *n,
                      const int *wanted, int count, bool caches)
{
        struct value *const named[NAMED] = { n->logits, n->hidden, n->all_logits };
        const int64_t rows = caches ? 2 * im->p.layers : 0, all = count + rows;
        struct value **values = arena_array(im->arena, (size_t)all, sizeof *values);
        f->output_ports = arena_array(im->m->arena, (size_t)all, sizeof *f->output_ports);
        f->output_count = (int)all;
        for (int i = 0; i < all; i++) {
                values[i] = i < count ? named[wanted[i]] : n->present[i - count];
                f->output_ports[i] =
                        (struct port){ .name = i < count ? output_names[wanted[i]]
                                                         : cache_name(im, "present", i - count) };
        }
        return build_yield(&im->b, values, (int)all) != NULL;
}

/* ---- inputs ---- */

static bool add_inputs(struct gguf_import *im, struct function *f, struct gguf_network *n)
{
        const struct gguf_parameters *p = &im->p;
        const dim_t ids[2] = { dim_of(1), im->steps },
                    cache[4] = { dim_of(1), dim_of(p->groups), im->past, dim_of(p->size) };
        const struct type *t = compose_type(im->c, E_I64, 2, ids);
        n->present = arena_array(im->arena, 2 * (size_t)p->layers, sizeof *n->present);
        if (!t)
                return false;
        n->ids = function_add_input(f, input_name, t);
        if (dim_is(im->past, 0))
                return true;
        t = compose_type(im->c, E_F32, 4, cache);
        n->past = arena_array(im->arena, 2 * (size_t)p->layers, sizeof *n->past);
        for (int64_t i = 0; i < 2 * p->layers && t; i++)
                n->past[i] = function_add_input(f, cache_name(im, "past", i), t);
        return t != NULL;
}

/* Finds how many tokens the model knows. */
static bool read_tokens(struct gguf_import *im)
{
        struct gguf_tensor *t = gguf_tensor_find(im, -1, "token_embd.weight");
        if (!t || t->rank != 2)
                return gguf_invalid(im, t ? "tensor 'token_embd.weight' is no matrix"
                                          : "tensor 'token_embd.weight' is missing");
        im->p.tokens = t->extents[1];
        return true;
}

static bool import_graph(struct gguf_import *im, struct function *f)
{
        struct gguf_network n = { .wants_all = false };
        int wanted[NAMED], count;
        bool caches;
        im->b.region = &f->body;
        if (!check_options(im) || !read_outputs(im, wanted, &count, &caches) || !read_dims(im) ||
            !gguf_check_types(im) || !read_tokens(im) || !add_inputs(im, f, &n))
                return false;
        for (int i = 0; i < count; i++)
                n.wants_all |= wanted[i] == ALL_LOGITS;
        return gguf_network(im, &n) && yield_all(im, f, &n, wanted, count, caches);
}

/* ---- the door ---- */

/* Turns an error of front/compose into one of what is at hand. */
static void composing_error(void *caller, enum exit_code code, const char *text)
{
        struct gguf_import *im = caller;
        if (code == EXIT_UNSUPPORTED)
                gguf_unsupported(im, "%s", text);
        else
                gguf_invalid(im, "%s", text);
}

static bool import_file(struct gguf_import *im)
{
        struct function *f = NULL;
        if (!gguf_read(&im->file, im->context->limits.nodes))
                return false;
        bool ok = gguf_read_parameters(im);
        if (ok) {
                f = function_new(im->m, im->options->function ? im->options->function : "main");
                if (!im->m->name)
                        im->m->name = "";
                ok = import_graph(im, f);
        }
        if (im->options->facts)
                gguf_facts(im, im->options->facts, f);
        if (ok)
                import_source(im->m, im->file.bytes, im->file.length, NULL, 0, im->options);
        return ok;
}

struct module *gguf_import(const unsigned char *bytes, size_t length,
                           const struct import_options *options, struct pass_context *context,
                           void (*dependency)(void *context, const char *path),
                           void *dependency_context)
{
        struct module *m = options->into ? options->into : module_new("");
        struct arena *arena = arena_new();
        struct gguf_import im = {
                .m = m,
                .file = { .bytes = bytes, .length = length, .diag = context->diag, .arena = arena },
                .diag = context->diag,
                .context = context,
                .options = options,
                .arena = arena
        };
        struct compose c;
        (void)dependency, (void)dependency_context; /* A file holds all of its model. */
        compose_begin(&c, &im.b, m, arena, context, composing_error, &im);
        im.c = &c;
        const bool ok = import_file(&im);
        arena_free(arena);
        if (ok)
                return m;
        if (!options->into)
                module_free(m);
        return NULL;
}
