/* SPDX-License-Identifier: MIT */
/* The import begins here: a graph becomes a function, main, whose inputs are its placeholders and
 * whose outputs are what no node takes; a SavedModel one for each signature. */
#include "front/tensorflow/tensorflow_helpers.h"

#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/text.h"
#include "front/tensorflow/tensorflow_signature.h"
#include "ir/loop/loop_build.h"

enum { PORTS_MOST = 4096 };

struct wanted { const char *name; struct tf_source source; };
struct wanted_list { struct wanted *items; struct tf_source *sources; int count; };

/* ---- options ---- */

static bool check_options(struct tf_import *im)
{
        const struct import_options *o = im->options;
        if (o->dim_count)
                return tf_usage(im, "--dim", o->dims[0],
                                "dimensions of a TensorFlow model have no names; bind a shape with "
                                "--input");
        if (o->text_byte_count)
                return tf_usage(im, "--text-bytes", o->text_bytes[0], "the model has no texts");
        if (o->seed)
                return tf_usage(im, "--seed", o->seed, "the model draws no random numbers");
        return true;
}

/* Finds the extents of --input for this name, the last one of several. */
static const char *stated_shape(struct tf_import *im, const char *name)
{
        const size_t length = strlen(name);
        for (int i = im->options->input_count - 1; i >= 0; i--) {
                const char *option = im->options->inputs[i], *equal = strrchr(option, '=');
                if (equal && (size_t)(equal - option) == length && !strncmp(option, name, length))
                        return equal + 1;
        }
        return NULL;
}

/* Does another entry have such an input, or this one? */
static bool check_inputs(struct tf_import *im, const struct function *f)
{
        for (int i = 0; i < im->options->input_count; i++) {
                const char *option = im->options->inputs[i], *equal = strrchr(option, '=');
                const char *name =
                        equal ? arena_printf(im->arena, "%.*s", (int)(equal - option), option)
                              : NULL;
                if (!name || (function_input(f, name) < 0 && !tf_signature_input(im, name)))
                        return tf_usage(im, "--input", option,
                                        "want NAME=1x8x8x3, and an input of the model");
        }
        return true;
}

/* ---- inputs ---- */

static const char *open_text(struct tf_import *im, const char *name, int rank,
                             const int64_t *extents)
{
        const char *text = rank < 0 ? "1x224x224x3" : rank == 0 ? "1" : "";
        for (int d = 0; d < rank; d++)
                text = arena_printf(im->arena, "%s%s%lld", text, d ? "x" : "",
                                    extents[d] < 0 ? 1 : (long long)extents[d]);
        return arena_printf(im->arena, "%s=%s", name, text);
}

/* Adds the input of a placeholder, whose shape --input may state. */
static bool add_input(struct tf_import *im, struct function *f, const char *name, int number,
                      const Tf__Shape *shape)
{
        const struct tf_graph_node *g = &im->graph->nodes[number];
        const struct tf_node n = { .g = g };
        const Tf__AttrValue *a = tf_attr(&n, "shape");
        const char *stated = stated_shape(im, name), *safe = text_safe(im->arena, name,
                                                                       strlen(name));
        int64_t extents[RANK_MAX];
        enum element e;
        im->node = &n;
        if (im->feeds[number])
                return tf_invalid(im, "it is two inputs");
        if (!shape && a && a->value_case == TF__ATTR_VALUE__VALUE_SHAPE)
                shape = a->shape;
        if (!tf_element(tf_type(&n, "dtype", 0), &e))
                return tf_unsupported(im, "an input of type %lld",
                                      (long long)tf_type(&n, "dtype", 0));
        int rank = tf_extents(im, shape, extents);
        if (stated && (rank = import_extents(stated, extents)) < 0)
                return tf_usage(im, "--input", arena_printf(im->arena, "%s=%s", name, stated),
                                "want extents, as in NAME=1x8x8x3");
        if (rank == -2)
                return false;
        bool open = rank < 0;
        for (int d = 0; d < rank; d++)
                open |= extents[d] < 0;
        if (open) {
                im->node = NULL;
                im->open_inputs++;
                const char *option = open_text(im, safe, rank, extents);
                if (!im->options->facts)
                        return tf_error(im,
                                        "input '%s' has an open shape: " DIAG_HINT(
                                                "add --input %s") " with its extents",
                                        safe, option);
                ARENA_GROW(im->arena, im->asked, im->asked_count);
                im->asked[im->asked_count++] = option;
                rank = compose_max(rank, 0);
                for (int d = 0; d < rank; d++)
                        extents[d] = compose_max(extents[d], 1);
        }
        const struct type *t = compose_type_static(im->c, e, rank, extents);
        im->node = NULL;
        if (!t)
                return false;
        im->feeds[number] = function_add_input(f, name, t);
        return true;
}

static bool is_placeholder(const struct tf_graph_node *n)
{
        return n->row && n->row->import == tf_import_placeholder;
}

static bool add_inputs(struct tf_import *im, struct function *f, const bool *needed)
{
        const struct tf_signature *s = im->signature;
        for (int i = 0; s && i < s->input_count; i++) {
                const struct tf_port *p = &s->inputs[i];
                if (!is_placeholder(&im->graph->nodes[p->source.node]))
                        return tf_error(im, "input '%s' of signature '%s' is no placeholder",
                                        p->safe, s->safe);
                if (!add_input(im, f, p->name, p->source.node, p->info->tensor_shape))
                        return false;
        }
        for (int i = 0; i < im->graph->count && !s; i++) {
                const struct tf_graph_node *n = &im->graph->nodes[i];
                const char *name = arena_printf(im->m->arena, "%.*s", (int)n->p->name.len,
                                                (const char *)n->p->name.data);
                if (!is_placeholder(n) || (im->options->output_count && !needed[i]) ||
                    (n->row->variant && !stated_shape(im, name)))
                        continue;
                if (!add_input(im, f, name, i, NULL))
                        return false;
        }
        return true;
}

/* The variant 1 has a value unless it is an input. */
bool tf_import_placeholder(struct tf_import *im, struct tf_node *n)
{
        const bool is_outer = im->frame->graph == im->graph;
        struct value *v = is_outer ? im->feeds[n->g - im->graph->nodes] : NULL;
        if (!v && tf_variant(n))
                v = tf_input(n, 0);
        return v ? tf_output(im, n, 0, v) : tf_invalid(im, "it is none of the inputs");
}

/* ---- outputs ---- */

static void want(struct tf_import *im, struct wanted_list *l, const char *name,
                 struct tf_source source)
{
        for (int i = 0; i < l->count; i++)
                if (l->sources[i].node == source.node && l->sources[i].output == source.output)
                        return;
        int more = l->count;
        ARENA_GROW(im->arena, l->items, l->count);
        ARENA_GROW(im->arena, l->sources, more);
        l->items[l->count] = (struct wanted){ name, source };
        l->sources[l->count++] = source;
}

static bool want_named(struct tf_import *im, struct wanted_list *l, const char *name)
{
        const struct tf_signature *s = im->signature;
        const size_t length = strcspn(name, ":");
        struct tf_source source;
        for (int i = 0; s && i < s->output_count; i++)
                if (!strcmp(s->outputs[i].name, name)) {
                        want(im, l, s->outputs[i].name, s->outputs[i].source);
                        return true;
                }
        if (!map_get(im->graph->numbers, name, length)) {
                struct suggest known = suggest_new(im->arena, name, strlen(name));
                for (int i = 0; s && i < s->output_count; i++)
                        suggest_add(&known, s->outputs[i].safe);
                for (int i = 0; i < im->graph->count; i++)
                        suggest_add(&known, im->graph->nodes[i].name);
                diag_error(im->diag, EXIT_USAGE,
                           "--output or --keep '%s': the model has no such value%s",
                           text_argument(im->arena, name), suggest_text(&known, true));
                return false;
        }
        const bytes_t text = { strlen(name), (unsigned char *)(uintptr_t)name };
        if (!tf_find_source(im, im->graph, text, &source))
                return false;
        want(im, l, arena_string(im->m->arena, name), source);
        return true;
}

/* Wants what no node takes. */
static void want_ends(struct tf_import *im, struct wanted_list *l)
{
        const struct tf_graph *g = im->graph;
        bool *taken = arena_array(im->arena, (size_t)g->count + 1, sizeof *taken);
        for (int i = 0; i < g->count; i++) {
                const struct tf_graph_node *n = &g->nodes[i];
                for (int k = 0; k < n->source_count; k++)
                        if (n->sources[k].node >= 0)
                                taken[n->sources[k].node] = true;
                for (int k = 0; k < n->control_count; k++)
                        taken[n->controls[k]] = true;
        }
        for (int i = 0; i < g->count; i++) {
                const struct tf_graph_node *n = &g->nodes[i];
                const struct tf_row *row = n->row;
                if (!taken[i] && !(row && (!*row->outputs || is_placeholder(n) ||
                                           row->import == tf_import_const ||
                                           row->import == tf_import_handle)))
                        want(im, l,
                             arena_printf(im->m->arena, "%.*s", (int)n->p->name.len,
                                          (const char *)n->p->name.data),
                             (struct tf_source){ i, 0 });
        }
}

static bool find_wanted(struct tf_import *im, struct wanted_list *l)
{
        const struct import_options *o = im->options;
        const struct tf_signature *s = im->signature;
        *l = (struct wanted_list){ 0 };
        if (!tf_link(im, im->graph))
                return false;
        for (int i = 0; s && i < s->output_count && !o->output_count; i++)
                want(im, l, s->outputs[i].name, s->outputs[i].source);
        if (!s && !o->output_count)
                want_ends(im, l);
        for (int i = 0; i < o->output_count; i++)
                if (!want_named(im, l, o->outputs[i]))
                        return false;
        for (int i = 0; i < o->keep_count; i++)
                if (!want_named(im, l, o->keep[i]))
                        return false;
        return (l->count && l->count <= PORTS_MOST) ||
               tf_error(im, "the model has %d outputs, want 1 to %d", l->count, PORTS_MOST);
}

static bool yield_all(struct tf_import *im, struct function *f, struct tf_frame *frame,
                      const struct wanted_list *l)
{
        struct value **values = arena_array(im->arena, (size_t)l->count, sizeof *values);
        f->output_ports = arena_array(im->m->arena, (size_t)l->count, sizeof *f->output_ports);
        f->output_count = l->count;
        for (int i = 0; i < l->count; i++) {
                const struct tf_tensor *t = tf_edge(frame, l->sources[i]);
                if (!t || !t->value)
                        return tf_error(im, "output '%s' is no tensor of numbers",
                                        text_safe(im->arena, l->items[i].name,
                                                  strlen(l->items[i].name)));
                values[i] = t->value;
                f->output_ports[i] = (struct port){ .name = l->items[i].name };
        }
        return build_yield(&im->b, values, l->count) != NULL;
}

/* ---- functions ---- */

static bool import_function_of(struct tf_import *im, const char *name)
{
        struct function *f = function_new(im->m, name);
        struct tf_frame *frame = ARENA_NEW(im->arena, struct tf_frame);
        struct wanted_list wanted;
        const size_t count = (size_t)im->graph->count + 1;
        bool *needed = arena_array(im->arena, count, sizeof *needed);
        im->b.region = &f->body;
        im->feeds = arena_array(im->arena, count, sizeof *im->feeds);
        im->open_inputs = im->asked_count = 0;
        frame->graph = im->graph;
        if (!find_wanted(im, &wanted) ||
            !tf_order(im, im->graph, wanted.sources, wanted.count))
                return false;
        for (int i = 0; i < im->graph->order_count; i++)
                needed[im->graph->order[i]] = true;
        bool ok = add_inputs(im, f, needed) && check_inputs(im, f);
        ok = ok && !im->open_inputs && tf_run(im, frame);
        if (im->options->facts) {
                tf_function_facts(im, f, im->options->facts);
                for (int i = 0; i < wanted.count; i++)
                        tf_output_facts(im, wanted.items[i].name,
                                        ok ? tf_edge(frame, wanted.sources[i]) : NULL,
                                        im->options->facts);
        }
        return ok && !im->refusals.count && yield_all(im, f, frame, &wanted);
}

static bool import_all(struct tf_import *im)
{
        const char *name = im->options->function;
        bool ok = true;
        if (im->signature_count < 2) {
                im->signature = im->signature_count ? im->signatures : NULL;
                return import_function_of(im, name ? name : "main");
        }
        if (name) {
                struct suggest known = suggest_new(im->arena, name, strlen(name));
                for (int i = 0; i < im->signature_count; i++) {
                        if (!strcmp(im->signatures[i].name, name))
                                im->signature = &im->signatures[i];
                        suggest_add(&known, im->signatures[i].name);
                }
                if (im->signature)
                        return import_function_of(im, name);
                diag_error(im->diag, EXIT_USAGE,
                           "--entry %s: the model has %d signatures, and none is called that%s",
                           text_argument(im->arena, name), im->signature_count,
                           suggest_text(&known, true));
                return false;
        }
        for (int i = 0; i < im->signature_count; i++) { /* For --info. */
                im->signature = &im->signatures[i];
                ok = import_function_of(im, im->signature->name) && ok;
        }
        return ok;
}

/* ---- the door ---- */

/* Turns an error of front/compose into one of the node at hand. */
static void composing_error(void *caller, enum exit_code code, const char *text)
{
        struct tf_import *im = caller;
        if (!im->node)
                diag_error(im->diag, code, "%s", text);
        else if (code == EXIT_UNSUPPORTED)
                tf_unsupported(im, "%s", text);
        else
                tf_invalid(im, "%s", text);
}

static bool import_file(struct tf_import *im)
{
        if (!tf_read_file(im) || !tf_read_graphs(im) || !tf_read_signatures(im) ||
            !check_options(im))
                return false;
        const bool ok = import_all(im);
        if (im->options->facts)
                tf_facts(im, im->options->facts);
        if (!ok)
                return false;
        module_settle_constants(im->m); /* Weights in another order have the names of the first. */
        char files[65] = "";
        const bool has_files = tf_bundle_digest(im, files);
        import_source(im->m, im->bytes, im->length,
                      has_files ? (const unsigned char *)files : NULL, strlen(files), im->options);
        return true;
}

int tensorflow_entries(const unsigned char *bytes, size_t length, struct arena *arena,
                       struct diag *diag, const char ***names)
{
        struct module *m = module_new("");
        struct pass_context context = { .limits = limits_preset };
        const struct import_options options = { 0 };
        struct tf_import im = { .m = m, .bytes = bytes, .length = length, .diag = diag,
                                .arena = arena, .context = &context, .options = &options };
        int count = -1;
        if (tf_read_file(&im) && tf_read_graphs(&im) && tf_read_signatures(&im)) {
                count = im.signature_count > 1 ? im.signature_count : 0;
                *names = arena_array(arena, (size_t)count + 1, sizeof **names);
                for (int i = 0; i < count; i++)
                        (*names)[i] = arena_string(arena, im.signatures[i].name);
        }
        module_free(m);
        return count;
}

struct module *tensorflow_import(const unsigned char *bytes, size_t length,
                                 const struct import_options *options,
                                 struct pass_context *context,
                                 void (*dependency)(void *context, const char *path),
                                 void *dependency_context)
{
        struct module *m = options->into ? options->into : module_new("");
        struct arena *arena = arena_new();
        struct tf_import im = { .m = m,
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
        im.variables = map_new(arena);
        compose_begin(&c, &im.b, m, arena, context, composing_error, &im);
        im.c = &c;
        const bool ok = import_file(&im);
        refusals_end(&im.refusals);
        tf_bundle_close(&im, ok);
        arena_free(arena);
        if (ok)
                return m;
        if (!options->into)
                module_free(m);
        return NULL;
}
