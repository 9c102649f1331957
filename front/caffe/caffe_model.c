/* SPDX-License-Identifier: MIT */
/* The import begins here: a network becomes a module with one function, main. Layers stand in an
 * order in which they can run. A layer may give the name of its bottom anew (in place), so the walk
 * keeps what each name stands for at the layer at hand. Outputs are the tops that no layer takes.
 * Layers of losses are left out, as if they were not there. */
#include "front/caffe/caffe_helpers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/store.h"
#include "base/suggest.h"
#include "base/text.h"

enum { PORTS_MOST = 4096 };

/* ---- options ---- */

/* Refuses options that networks of Caffe have nothing for. */
static bool check_options(struct caffe_import *im)
{
        const struct import_options *o = im->options;
        if (o->dim_count)
                return caffe_usage(im, "--dim", o->dims[0],
                                   "dimensions of a Caffe network have no names; bind a shape with "
                                   "--input");
        if (o->text_byte_count)
                return caffe_usage(im, "--text-bytes", o->text_bytes[0], "the model has no texts");
        if (o->seed)
                return caffe_usage(im, "--seed", o->seed, "the model draws no random numbers");
        return true;
}

static struct caffe_blob *find_blob(struct caffe_import *im, const char *name, size_t length)
{
        return map_get(im->blobs, name, length);
}

static bool check_inputs(struct caffe_import *im)
{
        for (int i = 0; i < im->options->input_count; i++) {
                const char *option = im->options->inputs[i], *equal = strrchr(option, '=');
                const struct caffe_blob *b =
                        equal ? find_blob(im, option, (size_t)(equal - option)) : NULL;
                if (!b || !b->is_input)
                        return caffe_usage(im, "--input", option,
                                           "want NAME=1x3x8x8, and an input of the network");
        }
        return true;
}

/* ---- names ---- */

static struct caffe_blob *add_blob(struct caffe_import *im, ProtobufCBinaryData name)
{
        struct caffe_blob *b = ARENA_NEW(im->arena, struct caffe_blob);
        char *text = arena_alloc(im->m->arena, name.len + 1);
        if (name.len)
                memcpy(text, name.data, name.len);
        text[name.len] = 0;
        b->name = text;
        b->safe = text_safe(im->arena, text, name.len);
        map_set(im->blobs, text, name.len, b);
        ARENA_GROW(im->arena, im->list, im->blob_count);
        im->list[im->blob_count++] = b;
        return b;
}

/* Does a layer give the name of its bottom anew? */
static bool is_in_place(const struct caffe_layer *n, int top)
{
        const ProtobufCBinaryData name = n->p->top[top];
        return top < n->bottom_count && n->p->bottom[top].len == name.len &&
               (!name.len || !memcmp(n->p->bottom[top].data, name.data, name.len));
}

/* ---- layers ---- */

/* Inputs may stand outside of layers, with four extents each, or a shape. */
static bool add_head_inputs(struct caffe_import *im)
{
        enum { OLD_RANK = 4 };
        const Caffe__NetParameter *p = im->net.p;
        if ((p->n_input_dim && p->n_input_shape) ||
            (p->n_input_dim && p->n_input_dim != OLD_RANK * p->n_input) ||
            (p->n_input_shape && p->n_input_shape != p->n_input) || p->n_input > PORTS_MOST)
                return caffe_error(im, "%zu inputs with %zu input_dim and %zu input_shape",
                                   p->n_input, p->n_input_dim, p->n_input_shape);
        for (size_t i = 0; i < p->n_input; i++) {
                int64_t extents[RANK_MAX];
                int rank = p->n_input_dim ? OLD_RANK : -1;
                for (int d = 0; d < OLD_RANK && p->n_input_dim; d++)
                        extents[d] = p->input_dim[OLD_RANK * i + (size_t)d];
                if (p->n_input_shape && p->input_shape[i]->n_dim > RANK_MAX)
                        return caffe_error(im, "input_shape %zu has %zu dimensions", i,
                                           p->input_shape[i]->n_dim);
                if (p->n_input_shape)
                        rank = caffe_extents(im, p->input_shape[i], extents);
                if (find_blob(im, (const char *)p->input[i].data, p->input[i].len))
                        return caffe_error(im, "two inputs have one name");
                struct caffe_blob *b = add_blob(im, p->input[i]);
                if (strlen(b->name) != p->input[i].len)
                        return caffe_error(im, "the input '%s' holds a NUL", b->safe);
                b->is_input = true;
                b->input = b->value = caffe_add_input(im, b->name, rank, extents);
                if (!b->value)
                        return false;
        }
        return true;
}

static bool is_dropped(const struct caffe_layer *n)
{
        return n->row && n->row->kind == CAFFE_IS_LOSS;
}

/* Finds which layers the wanted names need: all that are not dropped, where no option says so. */
static void find_needed(struct caffe_import *im)
{
        static int yes, no;
        const struct import_options *o = im->options;
        struct map *wanted = map_new(im->arena);
        for (int i = 0; i < o->output_count; i++)
                map_set(wanted, o->outputs[i], strlen(o->outputs[i]), &yes);
        for (int i = 0; i < o->keep_count; i++)
                map_set(wanted, o->keep[i], strlen(o->keep[i]), &yes);
        for (int i = im->net.count - 1; i >= 0; i--) {
                struct caffe_layer *n = &im->net.layers[i];
                n->needed = !is_dropped(n) && !o->output_count;
                for (int k = 0; k < n->top_count && !is_dropped(n); k++) {
                        const ProtobufCBinaryData top = n->p->top[k];
                        if (map_get(wanted, (const char *)top.data, top.len) == &yes)
                                n->needed = true;
                        map_set(wanted, (const char *)top.data, top.len, &no);
                }
                for (int k = 0; k < n->bottom_count && n->needed; k++)
                        map_set(wanted, (const char *)n->p->bottom[k].data, n->p->bottom[k].len,
                                &yes);
                n->needed |= o->output_count && n->row && n->row->kind == CAFFE_IMPORTED &&
                             !n->row->bottoms_max; /* An input stays one. */
        }
}

/* Lists all types of needed layers that no row is of, each once, and all fields that nobody
 * knows. */
static void list_unknown(struct caffe_import *im)
{
        struct map *counts = map_new(im->arena);
        for (int i = 0; i < im->net.count; i++) {
                const struct caffe_layer *n = &im->net.layers[i];
                int *count = map_get(counts, n->type, strlen(n->type));
                if (!n->needed)
                        continue;
                if (!count) {
                        count = ARENA_NEW(im->arena, int);
                        map_set(counts, n->type, strlen(n->type), count);
                }
                ++*count;
        }
        for (int i = 0; i < im->net.count; i++) {
                const struct caffe_layer *n = &im->net.layers[i];
                const int *count = map_get(counts, n->type, strlen(n->type));
                const bool data = n->row && n->row->kind == CAFFE_IS_DATA;
                im->layer = n;
                if (n->needed && (!n->row || data))
                        refusals_add(&im->refusals,
                                     "layer type " DIAG_OPERATOR("%s") " (%d layer%s) is not "
                                     "supported%s",
                                     n->type, *count, *count == 1 ? "" : "s",
                                     data ? ": it reads data; the network wants a "
                                            "layer Input in its place"
                                          : "");
                for (size_t k = 0; n->needed && n->row && k < n->p->n_unknown; k++)
                        caffe_unsupported(im, "%s",
                                          text_argument_part(im->arena,
                                                             (const char *)n->p->unknown[k].data,
                                                             n->p->unknown[k].len));
        }
        im->layer = NULL;
}

/* Sets the layer's field for its parameters where the file leaves it out: to presets. */
static void preset_parameter(struct caffe_import *im, struct caffe_layer *n)
{
        const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field_by_name(
                n->p->base.descriptor, n->row->parameter);
        if (!f)
                return;
        ProtobufCMessage **at = (ProtobufCMessage **)((char *)n->p + f->offset);
        const ProtobufCMessageDescriptor *d = f->descriptor;
        if (*at)
                return;
        *at = arena_alloc(im->arena, d->sizeof_message);
        d->message_init(*at);
}

/* Finds what the layer's bottoms stand for, and takes them. Sets *whole to whether they are all
 * there. */
static bool take_bottoms(struct caffe_import *im, struct caffe_layer *n, bool *whole)
{
        *whole = n->row != NULL;
        n->bottoms = arena_array(im->arena, (size_t)n->bottom_count + 1, sizeof *n->bottoms);
        n->tops = arena_array(im->arena, (size_t)n->top_count + 1, sizeof *n->tops);
        for (int i = 0; i < n->bottom_count; i++) {
                const ProtobufCBinaryData name = n->p->bottom[i];
                struct caffe_blob *b = find_blob(im, (const char *)name.data, name.len);
                if (!b)
                        return caffe_invalid(im, "no layer before it makes its bottom '%s'",
                                             text_safe(im->arena, (const char *)name.data,
                                                       name.len));
                b->taken = true;
                n->bottoms[i] = b->value;
                *whole &= b->value != NULL;
        }
        return true;
}

static bool give_tops(struct caffe_import *im, const struct caffe_layer *n)
{
        for (int i = 0; i < n->top_count; i++) {
                const ProtobufCBinaryData name = n->p->top[i];
                struct caffe_blob *b = find_blob(im, (const char *)name.data, name.len);
                if (b && !is_in_place(n, i))
                        return caffe_invalid(im, "a layer before it makes '%s', too", b->safe);
                if (!b)
                        b = add_blob(im, name);
                if (strlen(b->name) != name.len)
                        return caffe_invalid(im, "the top '%s' holds a NUL", b->safe);
                b->taken = false;
                b->value = n->tops[i];
                if (!n->bottom_count) {
                        b->is_input = true;
                        b->input = b->value;
                }
        }
        return true;
}

static bool check_counts(struct caffe_import *im, const struct caffe_layer *n)
{
        const struct caffe_row *r = n->row;
        if (n->bottom_count < r->bottoms_min || n->bottom_count > r->bottoms_max)
                return caffe_invalid(im, "%d bottoms, want %d to %d", n->bottom_count,
                                     r->bottoms_min, r->bottoms_max);
        if (n->top_count > r->tops_max)
                return caffe_unsupported(im, "%d tops, at most %d %s supported", n->top_count,
                                         r->tops_max, r->tops_max == 1 ? "is" : "are");
        return n->top_count || !r->tops_max || caffe_invalid(im, "the layer has no top");
}

/* Imports a layer. Returns false after an error that is not one of the list. */
static bool import_layer(struct caffe_import *im, struct caffe_layer *n)
{
        const int errors = im->diag->errors, listed = im->refusals.count;
        bool whole;
        im->layer = n;
        im->b.location = n->name;
        if (!take_bottoms(im, n, &whole))
                return false;
        if (whole && n->row->kind == CAFFE_IMPORTED && check_counts(im, n)) {
                preset_parameter(im, n);
                if (!n->row->import(im, n) && im->diag->errors == errors &&
                    listed == im->refusals.count && !im->refusals.count)
                        return caffe_invalid(im, "the layer gives nothing");
        }
        if (im->diag->errors > errors && im->refusals.count == listed)
                return false;
        const bool ok = give_tops(im, n);
        im->layer = NULL;
        return ok;
}

/* ---- outputs ---- */

static bool want(struct caffe_import *im, struct caffe_blob **wanted, int *count, const char *name)
{
        struct caffe_blob *b = find_blob(im, name, strlen(name));
        if (!b) {
                struct suggest known = suggest_new(im->arena, name, strlen(name));
                for (int k = 0; k < im->blob_count; k++)
                        suggest_add(&known, im->list[k]->safe);
                diag_error(im->diag, EXIT_USAGE,
                           "--output or --keep '%s': the network has no such value%s",
                           text_argument(im->arena, name), suggest_text(&known, true));
                return false;
        }
        for (int k = 0; k < *count; k++)
                if (wanted[k] == b)
                        return true;
        wanted[(*count)++] = b;
        return true;
}

/* Collects the tops that no layer takes, or those of --output, then those of --keep. */
static struct caffe_blob **wanted_blobs(struct caffe_import *im, int *count)
{
        const struct import_options *o = im->options;
        struct caffe_blob **wanted = arena_array(
                im->arena, (size_t)(im->blob_count + o->output_count + o->keep_count) + 1,
                sizeof *wanted);
        *count = 0;
        for (int i = 0; i < im->blob_count && !o->output_count; i++)
                if (!im->list[i]->taken &&
                    (!im->list[i]->is_input || im->list[i]->value != im->list[i]->input))
                        wanted[(*count)++] = im->list[i];
        for (int i = 0; i < o->output_count; i++)
                if (!want(im, wanted, count, o->outputs[i]))
                        return NULL;
        for (int i = 0; i < o->keep_count; i++)
                if (!want(im, wanted, count, o->keep[i]))
                        return NULL;
        return wanted;
}

static bool yield_all(struct caffe_import *im, struct caffe_blob *const *wanted, int count)
{
        struct function *f = im->f;
        if (!count)
                return caffe_error(im, "the network has no outputs");
        if (count > PORTS_MOST)
                return caffe_error(im, "%d outputs, at most %d are supported", count, PORTS_MOST);
        struct value **values = arena_array(im->arena, (size_t)count, sizeof *values);
        f->output_ports = arena_array(im->m->arena, (size_t)count, sizeof *f->output_ports);
        f->output_count = count;
        for (int i = 0; i < count; i++) {
                values[i] = wanted[i]->value;
                f->output_ports[i] = (struct port){ .name = wanted[i]->name };
        }
        return build_yield(&im->b, values, count) != NULL;
}

static bool import_net(struct caffe_import *im)
{
        struct caffe_blob **wanted = NULL;
        int count = 0;
        im->f = function_new(im->m, im->options->function ? im->options->function : "main");
        im->b.region = &im->f->body;
        if (!check_options(im))
                return false;
        find_needed(im);
        list_unknown(im);
        bool ok = add_head_inputs(im);
        for (int i = 0; i < im->net.count && ok; i++)
                if (im->net.layers[i].needed)
                        ok = import_layer(im, &im->net.layers[i]);
        im->layer = NULL;
        im->b.location = NULL;
        if (ok && check_inputs(im))
                wanted = wanted_blobs(im, &count);
        if (im->options->facts)
                caffe_facts(im, wanted, count, im->options->facts);
        return ok && wanted && !im->refusals.count && yield_all(im, wanted, count);
}

/* ---- the door ---- */

/* Turns an error of front/compose into one of the layer at hand. */
static void composing_error(void *caller, enum exit_code code, const char *text)
{
        struct caffe_import *im = caller;
        if (!im->layer)
                diag_error(im->diag, code, "%s", text);
        else if (code == EXIT_UNSUPPORTED)
                caffe_unsupported(im, "%s", text);
        else
                caffe_invalid(im, "%s", text);
}

static bool import_file(struct caffe_import *im)
{
        if (!caffe_read_net(im))
                return false;
        if (!im->m->functions)          /* Other models may be in the module already. */
                im->m->name = text_safe(im->m->arena, (const char *)im->net.p->name.data,
                                        im->net.p->name.len);
        if (!import_net(im))
                return false;
        import_source(im->m, im->bytes, im->length, im->weights, im->weights_length, im->options);
        return true;
}

struct module *caffe_import(const unsigned char *bytes, size_t length,
                            const struct import_options *options, struct pass_context *context,
                            void (*dependency)(void *context, const char *path),
                            void *dependency_context)
{
        struct module *m = options->into ? options->into : module_new("");
        struct arena *arena = arena_new();
        struct caffe_import im = { .m = m,
                                   .bytes = bytes,
                                   .length = length,
                                   .diag = context->diag,
                                   .context = context,
                                   .options = options,
                                   .arena = arena,
                                   .dependency = dependency,
                                   .dependency_context = dependency_context };
        struct compose c;
        im.refusals = refusals_begin(arena, context->diag);
        im.blobs = map_new(arena);
        compose_begin(&c, &im.b, m, arena, context, composing_error, &im);
        im.c = &c;
        const bool ok = import_file(&im);
        refusals_end(&im.refusals);
        arena_free(arena);
        if (ok && im.weights)           /* Large constants lie in it. */
                store_adopt(m->store, im.weights, im.weights_length);
        if (ok)
                return m;
        if (!options->into)
                module_free(m);
        free(im.weights);
        return NULL;
}
