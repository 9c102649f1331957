/* SPDX-License-Identifier: MIT */
/* The import begins here: bytes of a model file become a module with one function, main. */
#include "front/onnx/onnx_model.h"
#include "front/onnx/onnx_stack.h"
#include "front/onnx/onnx_texts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/store.h"
#include "base/suggest.h"
#include "base/file.h"

enum { IR_OLDEST = 3, IR_NEWEST = 13, IR_SOME_DAY = 99 };     /* Beyond it, files are damaged. */

/* ---- unpacking ---- */

const struct wire_format onnx_model_format = { &onnx__model_proto__descriptor,
                                               "an ONNX model",
                                               &onnx__graph_proto__descriptor,
                                               ": it holds no graph",
                                               &onnx__tensor_proto__descriptor,
                                               "raw_data" };
const struct wire_format onnx_tensor_format = { &onnx__tensor_proto__descriptor, "an ONNX tensor",
                                                NULL, NULL, &onnx__tensor_proto__descriptor,
                                                "raw_data" };

static ProtobufCMessage *unpack(struct onnx_import *im, const struct wire_format *format,
                                const unsigned char *bytes, size_t length)
{
        struct wire_image image = { .arena = im->arena };
        ProtobufCMessage *unpacked =
                wire_unpack(im->m, bytes, length, format, &im->context->limits, &image, im->diag);
        im->model->long_data = image.long_data;
        return unpacked;
}

/* ---- the head of the model ---- */

static bool check_head(struct onnx_import *im, struct onnx_frame *frame)
{
        const Onnx__ModelProto *proto = im->model->proto;
        if (!proto->has_ir_version || proto->ir_version < 1 || proto->ir_version > IR_SOME_DAY)
                return onnx_error(im,
                                  "IR version %" PRId64
                                  " of the ONNX format, %d to %d are supported",
                                  proto->ir_version, IR_OLDEST, IR_NEWEST);
        if (proto->ir_version < IR_OLDEST || proto->ir_version > IR_NEWEST) {
                const bool old = proto->ir_version < IR_OLDEST;
                diag_error(im->diag, EXIT_UNSUPPORTED,
                           "IR version %" PRId64
                           " of the ONNX format, %d is the %s that is supported",
                           proto->ir_version, old ? IR_OLDEST : IR_NEWEST,
                           old ? "oldest" : "newest");
                return false;
        }
        if (!onnx_opsets(im, &frame->opsets, proto->opset_import, proto->n_opset_import,
                         "the model"))
                return false;
        if (proto->n_training_info)
                onnx_list(im, "training information is not supported");
        if (!im->m->functions)          /* Other models may be in the module already. */
                im->m->name = text_safe(im->m->arena, (const char *)proto->graph->name.data,
                                        proto->graph->name.len);
        return onnx_functions(im);
}

/* ---- outputs ---- */

struct wanted {
        bytes_t *names;
        int count;
        struct map *set;                /* It has the same names. */
};

static bool is_wanted(const struct wanted *w, bytes_t name)
{
        return name.len && map_get(w->set, (const char *)name.data, name.len);
}

static void want(struct wanted *w, bytes_t name)
{
        w->names[w->count++] = name;
        if (name.len)
                map_set(w->set, (const char *)name.data, name.len, w);
}

/* Collects the graph's outputs, or those of --output, then those of --keep. */
static bool collect_outputs(struct onnx_import *im, struct wanted *w)
{
        const Onnx__GraphProto *g = im->model->proto->graph;
        const struct import_options *o = im->options;
        w->names = arena_array(im->arena,
                               g->n_output + (size_t)o->output_count + (size_t)o->keep_count,
                               sizeof *w->names);
        w->set = map_new(im->arena);
        for (size_t i = 0; i < g->n_output && !o->output_count; i++)
                want(w, g->output[i]->name);
        for (int i = 0; i < o->output_count + o->keep_count; i++) {
                bytes_t name = onnx_bytes(i < o->output_count ? o->outputs[i]
                                                              : o->keep[i - o->output_count]);
                if (!is_wanted(w, name))
                        want(w, name);
        }
        return w->count || onnx_error(im, "the graph has no outputs");
}

/* Suggests values of the graph with a similar name, and the results of a node of that name. */
static const char *suggest_value(struct onnx_import *im, bytes_t wanted)
{
        const Onnx__GraphProto *g = im->model->proto->graph;
        struct suggest known = suggest_new(im->arena, (const char *)wanted.data, wanted.len);
        for (size_t i = 0; i < g->n_node; i++) {
                const Onnx__NodeProto *node = g->node[i];
                bool called = wanted.len && node->name.len == wanted.len &&
                              !memcmp(node->name.data, wanted.data, wanted.len);
                for (size_t k = 0; k < node->n_output; k++) {
                        if (!node->output[k].len)
                                continue;
                        if (called)
                                return arena_printf(im->arena,
                                                    ": it is a node, and makes the value '%s'",
                                                    SAFE(im, node->output[k]));
                        suggest_add(&known, SAFE(im, node->output[k]));
                }
        }
        return suggest_text(&known, true);
}

/* Checks that every wanted name is one of the graph. */
static bool check_outputs(struct onnx_import *im, const struct wanted *w,
                          const struct onnx_wiring *wiring)
{
        const Onnx__GraphProto *g = im->model->proto->graph;
        struct map *known = map_new(im->arena);
        bool ok = true;
        for (size_t i = 0; i < g->n_input + g->n_initializer; i++) {
                bytes_t name =
                        i < g->n_input ? g->input[i]->name : g->initializer[i - g->n_input]->name;
                if (name.len)
                        map_set(known, (const char *)name.data, name.len, im);
        }
        int from_graph = im->options->output_count ? 0 : (int)g->n_output;
        for (int i = 0; i < w->count; i++) {
                bytes_t name = w->names[i];
                if (name.len && (map_get(wiring->producers, (const char *)name.data, name.len) ||
                                 map_get(known, (const char *)name.data, name.len)))
                        continue;
                if (i < from_graph)
                        diag_error(im->diag, EXIT_INVALID, "output '%s' is made by no node",
                                   SAFE(im, name));
                else
                        diag_error(im->diag, EXIT_USAGE,
                                   "--output or --keep '%s': the model has no such value%s",
                                   text_argument_part(im->arena, (const char *)name.data, name.len),
                                   suggest_value(im, name));
                ok = false;
        }
        return ok;
}

/* These are the values that main yields, with a port for each. */
struct yields { struct value **values; struct port *ports; int count; };

static void yield_one(struct onnx_import *im, struct yields *y, struct value *v, const char *port)
{
        ARENA_GROW(im->arena, y->values, y->count);
        ARENA_GROW(im->m->arena, y->ports, y->count);
        const bool is_text = onnx_is_texts(v);
        if (is_text) {                  /* A NUL ends each. */
                struct value *bytes = onnx_texts_bytes(v);
                const int last = value_rank(bytes) - 1;
                v = compose_fitted(im->c, bytes, last, value_extent(bytes, last) + 1);
        }
        y->values[y->count] = v;
        y->ports[y->count++] = (struct port){ .name = port, .is_text = is_text };
}

/* Returns whether the type is a sequence of maps, as ZipMap gives; the output is then the tensor of
 * scores. */
static bool is_zipped(const Onnx__TypeProto *t)
{
        const Onnx__TypeProto *item = t->sequence_type->elem_type;
        return item && item->value_case == ONNX__TYPE_PROTO__VALUE_MAP_TYPE;
}

/* Lists the wanted outputs that are declared to be maps and the like, or sequences where they are
 * none. */
static void check_output_kinds(struct onnx_import *im, const struct wanted *w)
{
        const Onnx__GraphProto *g = im->model->proto->graph;
        for (size_t i = 0; i < g->n_output; i++) {
                const Onnx__TypeProto *t = g->output[i]->type;
                const char *name = SAFE(im, g->output[i]->name);
                const struct onnx_entry *e = onnx_scope_find(im->scope, g->output[i]->name);
                if (!t || (im->options->output_count && !is_wanted(w, g->output[i]->name)))
                        continue;
                switch (t->value_case) {
                case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
                case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
                case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
                        onnx_list(im, "output '%s' is %s, which is not supported", name,
                                  onnx_kind_text(t));
                        break;
                case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
                        if (!is_zipped(t) && e && e->value && e->value->type->kind != TYPE_SEQUENCE)
                                onnx_list(im, "output '%s' is %s, declared as a sequence", name,
                                          compose_text(im->c, e->value->type));
                        break;
                default:
                        break;
                }
        }
}

/* Yields a sequence or an optional of which only a run knows how many items it has. */
static bool yield_stack(struct onnx_import *im, struct yields *y, struct value *v,
                        const char *port)
{
        const struct onnx_stack *s = onnx_stack_of(v);
        struct value *rows, *shapes;
        if (!onnx_stack_output(im, port, v, &rows, &shapes))
                return false;
        yield_one(im, y, rows, port);
        if (shapes)
                yield_one(im, y, shapes, arena_printf(im->m->arena, "%s.shapes", port));
        if (s->present)
                yield_one(im, y, s->present, arena_printf(im->m->arena, "%s.present", port));
        return true;
}

/* Yields an output: a sequence is one for each item, "y.0", "y.1", ...; an optional without a value
 * is none. */
static bool yield_output(struct onnx_import *im, struct yields *y, bytes_t name)
{
        struct onnx_entry *e = onnx_scope_find(im->scope, name);
        struct onnx_declaration *d = onnx_declaration(im->scope, name);
        const char *port = onnx_string(im->m->arena, name);
        onnx_list_entry(im, e);
        if (e->value && d && !onnx_check_declared(im, "output", name, d, e->value->type))
                return false;
        if (!e->value || e->value->type->kind == TYPE_TENSOR) {
                yield_one(im, y, e->value, port);
                return true;
        }
        if (onnx_stack_of(e->value))
                return yield_stack(im, y, e->value, port);
        int count;
        struct value *const *items = onnx_sequence_items(e->value, &count);
        for (int i = 0; i < count; i++)
                yield_one(im, y, items[i], arena_printf(im->m->arena, "%s.%d", port, i));
        return true;
}

static bool yield_outputs(struct onnx_import *im, const struct wanted *w, struct function *f)
{
        struct yields y = { 0 };
        check_output_kinds(im, w);
        for (int i = 0; i < w->count; i++)
                if (!yield_output(im, &y, w->names[i]))
                        return false;
        f->output_ports = y.ports;
        f->output_count = y.count;
        if (im->unsupported_count)
                return true;
        if (y.count > PORTS_MAX) {
                diag_error(im->diag, EXIT_UNSUPPORTED, "%d outputs, at most %d are supported",
                           y.count, PORTS_MAX);
                return false;
        }
        if (y.count)
                return build_yield(&im->b, y.values, y.count) != NULL;
        diag_error(im->diag, EXIT_UNSUPPORTED, "all outputs of the graph are empty sequences, or "
                                               "optionals without a value: nothing is computed");
        return false;
}

/* ---- the graph ---- */

/* Brings initializers and inputs into the scope and the function, and returns the order of the
 * nodes that the wanted outputs need, or NULL after an error. */
static int *arrange(struct onnx_import *im, const struct wanted *wanted, struct function *f,
                    struct onnx_wiring *w, int *count)
{
        const Onnx__GraphProto *g = im->model->proto->graph;
        struct map *needed = NULL;
        if (!check_outputs(im, wanted, w))
                return NULL;
        if (im->options->output_count) {
                needed = map_new(im->arena);
                onnx_wiring_prune(w, wanted->names, wanted->count, needed);
        }
        bool ok = onnx_initializers(im, im->scope, g, needed) &&
                  onnx_bind_inputs(im, im->scope, f, g, needed) &&
                  onnx_bind_step(im, f) && onnx_bind_seed(im, im->scope, f);
        return ok ? onnx_wiring_order(im, w, im->scope, count) : NULL;
}

static bool import_main(struct onnx_import *im)
{
        const Onnx__GraphProto *g = im->model->proto->graph;
        struct function *f = function_new(im->m, im->options->function ? im->options->function
                                                                       : "main");
        struct wanted wanted = { 0 };
        im->scope = onnx_scope_new(im, NULL);
        im->b.region = &f->body;
        if (!onnx_read_options(im) || !collect_outputs(im, &wanted))
                return false;
        struct onnx_wiring *w = onnx_wiring_new(im, g->node, g->n_node);
        if (!w)
                return false;
        int count, *order = arrange(im, &wanted, f, w, &count);
        onnx_wiring_free(w);
        if (!order || !onnx_nodes(im, g->node, order, count))
                return false;
        for (struct constant *c = im->m->constants; c && !im->options->weights; c = c->next)
                c->varies = false;
        return onnx_check_seed_used(im) && onnx_check_dims_used(im) && onnx_check_texts_used(im) &&
               yield_outputs(im, &wanted, f);
}

/* Unpacks a model, or its text. Returns NULL after an error. */
static const Onnx__ModelProto *unpack_model(struct onnx_import *im, const unsigned char *bytes,
                                            size_t length)
{
        const struct wire_format *format = &onnx_model_format;
        const Onnx__ModelProto *proto;
        struct text wire;
        if (!onnx_is_text(bytes, length))
                return (const Onnx__ModelProto *)unpack(im, format, bytes, length);
        if (!onnx_text_read(bytes, length, &im->context->limits, &wire, im->diag))
                return NULL;
        proto = (const Onnx__ModelProto *)unpack(im, format, (const unsigned char *)wire.data,
                                                 wire.length);
        text_free(&wire);               /* Its tensors have no raw_data, which would stay there. */
        return proto;
}

/* Reads the functions of an ONNX model. Returns false after an error. */
static bool define_functions(struct onnx_import *im, const struct import_definition *file)
{
        const char *subject = im->diag->subject;
        struct onnx_library *l = ARENA_NEW(im->arena, struct onnx_library),
                            **end = &im->model->libraries;
        im->diag->subject = file->path;
        l->proto = unpack_model(im, (const unsigned char *)file->text, file->length);
        if (l->proto && !l->proto->n_functions) {
                diag_error(im->diag, EXIT_INVALID,
                           "the model has no functions: --define wants some");
                l->proto = NULL;
        }
        im->diag->subject = subject;
        l->long_data = im->model->long_data;
        while (*end)
                end = &(*end)->next;
        *end = l;
        return l->proto != NULL;
}

/* Reads the operators that the caller defines, and makes them a part of the source. */
static bool read_definitions(struct onnx_import *im)
{
        for (int i = 0; i < im->options->definition_count; i++) {
                const struct import_definition *file = &im->options->definitions[i];
                if (!(file->is_text ? onnx_define_text(im, file) : define_functions(im, file)))
                        return false;
                sha256_update(&im->model->sha, file->text, file->length);
        }
        return onnx_define_symbols(im);
}

static bool import_model(struct onnx_import *im, const unsigned char *bytes, size_t length)
{
        struct onnx_frame frame = { 0 };
        if (!read_definitions(im) || !(im->model->proto = unpack_model(im, bytes, length)))
                return false;
        im->model->frame = &frame;
        bool ok = check_head(im, &frame) && import_main(im);
        im->m->known_count = 0;         /* Passes move operations. */
        if (im->options->facts && im->scope)
                onnx_facts(im, im->options->facts);
        onnx_list_end(im);
        if (!ok || im->unsupported_count)
                return false;
        sha256_update(&im->model->sha, bytes, length);
        if (im->options->into)          /* The module's digest is of all that it was made of. */
                sha256_update(&im->model->sha, im->m->source, strlen(im->m->source));
        sha256_hex(&im->model->sha, im->m->source);
        return true;
}

/* Turns an error of front/compose into one of the node at hand. */
static void composing_error(void *caller, enum exit_code code, const char *text)
{
        struct onnx_import *im = caller;
        if (code == EXIT_UNSUPPORTED)
                onnx_unsupported(im, im->node, "%s", text);
        else
                onnx_invalid(im, im->node, "%s", text);
}

static void import_new(struct onnx_import *im, struct onnx_model *model, struct module *m,
                       const struct import_options *options, struct pass_context *context)
{
        struct arena *arena = arena_new();
        *model = (struct onnx_model){ .omitted_end = &model->omitted };
        *im = (struct onnx_import){ .m = m,
                                    .diag = context->diag,
                                    .context = context,
                                    .options = options,
                                    .arena = arena,
                                    .model = model };
        im->unsupported = map_new(arena);
        im->c = ARENA_NEW(arena, struct compose);
        compose_begin(im->c, &im->b, m, arena, context, composing_error, im);
        const struct onnx_row *rows;
        const int count = onnx_rows(&rows);
        model->rows = onnx_rows_map(arena, rows, count);
        model->dims = map_new(arena);
        model->shapes = map_new(arena);
        model->asked = map_new(arena);
        model->listed = map_new(arena);
        model->hiding = map_new(arena);
        model->files = map_new(arena);
        model->text_bytes = map_new(arena);
        model->redefined = map_new(arena);
        model->definitions = map_new(arena);
        sha256_init(&model->sha);
}

struct module *onnx_import(const unsigned char *bytes, size_t length,
                           const struct import_options *options, struct pass_context *context,
                           void (*dependency)(void *context, const char *path),
                           void *dependency_context)
{
        struct onnx_import im;
        struct onnx_model model;
        struct module *m = options->into ? options->into : module_new("");
        import_new(&im, &model, m, options, context);
        model.dependency = dependency;
        model.dependency_context = dependency_context;
        bool ok = import_model(&im, bytes, length);
        onnx_define_free(&im);
        arena_free(im.arena);
        if (ok)
                return m;
        if (!options->into)
                module_free(m);
        return NULL;
}

struct value *onnx_tensor_file(struct module *m, const char *path, struct pass_context *context,
                               bool *is_text)
{
        static const struct import_options none;
        struct onnx_import im;
        struct onnx_model model;
        struct value *value = NULL;
        unsigned char *bytes;
        size_t length;
        if (!file_read(path, context->limits.file_bytes, &bytes, &length, context->diag))
                return NULL;
        import_new(&im, &model, m, &none, context);
        const Onnx__TensorProto *t =
                (Onnx__TensorProto *)unpack(&im, &onnx_tensor_format, bytes, length);
        const char *what = text_safe(im.arena, path_base(path), strlen(path_base(path)));
        *is_text = t && t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
        if (*is_text)
                value = onnx_texts_read(&im, t, what, 1);
        else if (t)
                value = onnx_tensor(&im, t, what);
        if (*is_text && value)
                value = onnx_texts_bytes(value);
        arena_free(im.arena);
        store_adopt(m->store, bytes, length);
        return value;
}
