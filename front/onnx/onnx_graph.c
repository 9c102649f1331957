/* SPDX-License-Identifier: MIT */
/* A graph is a scope of names, and nodes one after the other. A node finds its inputs by name, then
 * either its row's importer builds it or the function it calls is expanded in its place. What is
 * not supported is listed, its results become unknown, and the nodes that need them are passed
 * over, so that one run names everything that is missing. */
#include "front/onnx/onnx_model.h"
#include "front/onnx/onnx_texts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

static void add_differentiated(void *context, bytes_t name)
{
        map_set(context, (const char *)name.data, name.len, context);
}

/* Returns the names by which nodes Gradient of the graph ask for derivatives. */
static struct map *differentiated(struct onnx_import *im, const Onnx__GraphProto *g)
{
        struct map *names = map_new(im->arena);
        for (size_t i = 0; i < g->n_node; i++)
                onnx_each_named(g->node[i], add_differentiated, names);
        return names;
}

/* Keeps an initializer whose derivative may be asked for, and lists it where an option may ask. */
static void keep_weight(struct onnx_import *im, const struct map *names, bytes_t name,
                        struct value *v)
{
        struct import_weights *weights = im->options->weights;
        if (!v || !value_is_constant(v) || !element_is_float(v->type->element) || !name.len)
                return;
        if (map_get(names, (const char *)name.data, name.len))
                v->constant->varies = true;
        if (!weights)
                return;
        bool meant = weights->all;
        for (int i = 0; i < weights->name_count && !meant; i++)
                meant = strlen(weights->names[i]) == name.len &&
                        !memcmp(weights->names[i], name.data, name.len);
        if (!meant)
                return;
        v->constant->varies = true;
        ARENA_GROW(im->m->arena, weights->found, weights->found_count);
        weights->found[weights->found_count++] = (struct import_weight){
                arena_printf(im->m->arena, "%.*s", (int)name.len, (const char *)name.data), v, false
        };
}

bool onnx_initializers(struct onnx_import *im, struct onnx_scope *scope, const Onnx__GraphProto *g,
                       struct map *needed)
{
        struct map *by = differentiated(im, g);
        for (size_t i = 0; i < g->n_initializer; i++) {
                const Onnx__TensorProto *t = g->initializer[i];
                struct onnx_entry entry = { .initializer = true };
                bool wanted = !needed || (t->name.len &&
                                          map_get(needed, (const char *)t->name.data, t->name.len));
                if (wanted && !onnx_tensor_read(im, t,
                                                arena_printf(im->arena, "initializer '%s'",
                                                             SAFE(im, t->name)),
                                                &entry.value, &entry.unsupported))
                        return false;
                entry.state = entry.value ? NAME_KNOWN : NAME_UNKNOWN;
                if (!onnx_scope_define(im, scope, t->name, entry, "initializer", NULL))
                        return false;
                if (!scope->parent)
                        keep_weight(im, by, t->name, entry.value);
        }
        for (size_t i = 0; i < g->n_sparse_initializer; i++) {
                const Onnx__SparseTensorProto *t = g->sparse_initializer[i];
                bytes_t name = t->values ? t->values->name : onnx_bytes("");
                struct onnx_entry entry = { .initializer = true };
                bool wanted =
                        !needed || (name.len && map_get(needed, (const char *)name.data, name.len));
                if (wanted && !onnx_sparse_read(im, t,
                                                arena_printf(im->arena, "sparse initializer '%s'",
                                                             SAFE(im, name)),
                                                &entry.value, &entry.unsupported))
                        return false;
                entry.state = entry.value ? NAME_KNOWN : NAME_UNKNOWN;
                if (!onnx_scope_define(im, scope, name, entry, "sparse initializer", NULL))
                        return false;
        }
        return true;
}

/* ---- what is not supported ---- */

/* Returns NULL where a row or a function makes the node, else why none does. */
static const char *missing(struct onnx_import *im, const Onnx__NodeProto *node)
{
        if (onnx_row_find(im, node) || onnx_definition_find(im, node) ||
            onnx_function_find(im, node))
                return NULL;
        const struct onnx_row_list *others = onnx_rows_of(im, node);
        int opset = onnx_opset(im, onnx_domain(node->domain));
        if (!others)
                return "no such operator is supported";
        int since = others->row->since, until = others->row->until;
        for (; others; others = others->next) {
                since = others->row->since < since ? others->row->since : since;
                until = others->row->until > until ? others->row->until : until;
        }
        if (until < opset)
                return arena_printf(im->arena, "the operator is supported up to opset %d", until);
        return arena_printf(im->arena, "the operator is supported from opset %d on", since);
}

static void survey_node(struct onnx_import *im, const Onnx__NodeProto *node);

/* Lists the unsupported nodes. The wire scan bounds the depth of subgraphs, the check of calls that
 * of functions. */
static void survey_nodes(struct onnx_import *im, Onnx__NodeProto *const *nodes, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                const char *why = missing(im, nodes[i]);
                if (why)
                        onnx_list_node(im, nodes[i], why);
                survey_node(im, nodes[i]);
        }
}

/* Lists the unsupported nodes of a node's subgraphs, and of the function that it calls. */
static void survey_node(struct onnx_import *im, const Onnx__NodeProto *node)
{
        for (size_t i = 0; i < node->n_attribute; i++) {
                const Onnx__AttributeProto *a = node->attribute[i];
                if (a->g)
                        survey_nodes(im, a->g->node, a->g->n_node);
                for (size_t k = 0; k < a->n_graphs; k++)
                        survey_nodes(im, a->graphs[k]->node, a->graphs[k]->n_node);
        }
        struct onnx_function *f = onnx_row_find(im, node) || onnx_definition_find(im, node)
                                          ? NULL
                                          : onnx_function_find(im, node);
        if (!f || f->surveyed)
                return;
        f->surveyed = true;
        const struct onnx_frame *outer = im->model->frame,
                                frame = { .caller = outer, .function = f, .opsets = f->opsets };
        im->model->frame = &frame;
        survey_nodes(im, f->proto->node, f->proto->n_node);
        im->model->frame = outer;
}

/* ---- one node ---- */

static int given_count(const ProtobufCBinaryData *names, size_t count)
{
        while (count && !names[count - 1].len)
                count--;
        return count < INT32_MAX ? (int)count : INT32_MAX;
}

/* Finds the inputs' values; *known is false where one of them is unknown. */
static bool find_inputs(struct onnx_import *im, struct onnx_node *n, bool *known)
{
        *known = true;
        for (int i = 0; i < n->input_count; i++) {
                bytes_t name = n->proto->input[i];
                if (!name.len)
                        continue;
                struct onnx_entry *e = onnx_scope_find(im->scope, name);
                if (!e)
                        return onnx_invalid(im, n, "input '%s' is not defined", SAFE(im, name));
                n->inputs[i] = e->value;
                if (e->state != NAME_UNKNOWN)
                        continue;
                *known = false;
                onnx_list_entry(im, e);
        }
        while (n->input_count && !n->inputs[n->input_count - 1] && *known)
                n->input_count--;       /* It is absent by way of a function's call. */
        return true;
}

/* The arrays of a usual node have this storage. */
enum { ROOM = 8 };
struct node_room {
        struct value *inputs[ROOM], *outputs[ROOM];
        const struct type *declared[ROOM];
        bool wanted[ROOM];
        unsigned char attribute_used[ROOM];
};

#define TAKE(im, room, count)                                                                      \
        ((size_t)(count) <= ROOM ? memset((room), 0, sizeof(room))                                 \
                                 : arena_array((im)->arena, (size_t)(count), sizeof *(room)))

static void node_new(struct onnx_import *im, const Onnx__NodeProto *proto, struct onnx_node *n,
                     struct node_room *room)
{
        *n = (struct onnx_node){ .proto = proto, .row = onnx_row_find(im, proto), .name = "" };
        if (proto->name.len)
                n->name = text_safe(im->m->arena, (const char *)proto->name.data, proto->name.len);
        n->op = n->row ? n->row->op : SAFE(im, proto->op_type);
        n->domain = n->row ? n->row->domain : SAFE(im, onnx_domain(proto->domain));
        n->opset = onnx_opset(im, onnx_domain(proto->domain));
        n->input_count = given_count(proto->input, proto->n_input);
        n->output_count = given_count(proto->output, proto->n_output);
        n->inputs = TAKE(im, room->inputs, n->input_count);
        n->outputs = TAKE(im, room->outputs, n->output_count);
        n->declared = TAKE(im, room->declared, n->output_count);
        n->attribute_used = TAKE(im, room->attribute_used, proto->n_attribute);
        bool *wanted = TAKE(im, room->wanted, n->output_count);
        n->wanted = wanted;
        for (int i = 0; i < n->output_count; i++) {
                const struct onnx_declaration *d = onnx_declaration(im->scope, proto->output[i]);
                wanted[i] = proto->output[i].len > 0;
                n->declared[i] = d ? d->type : NULL;
        }
}

static bool check_counts(struct onnx_import *im, const struct onnx_node *n)
{
        const struct onnx_row *row = n->row;
        const char *many = row->inputs_min == row->inputs_max ? ""
                           : row->inputs_max == 999
                                   ? " or more"
                                   : arena_printf(im->arena, " to %d", row->inputs_max);
        if (n->input_count < row->inputs_min ||
            (row->inputs_max != 999 && n->input_count > row->inputs_max))
                return onnx_invalid(im, n, "%d inputs, want %d%s", n->input_count, row->inputs_min,
                                    many);
        for (int i = 0; i < row->inputs_min; i++)
                if (!n->inputs[i])
                        return onnx_invalid(im, n, "input %d is required", i);
        if (!n->output_count)
                return onnx_invalid(im, n, "no outputs");
        if (row->outputs_max != 999 && n->output_count > row->outputs_max)
                return onnx_invalid(im, n, "%d outputs, want at most %d", n->output_count,
                                    row->outputs_max);
        return true;
}

/* Checks that sequences and optionals stand only where the row says so. */
static bool check_kinds(struct onnx_import *im, const struct onnx_node *n)
{
        for (int i = 0; i < n->input_count; i++)
                if (n->inputs[i] && n->inputs[i]->type->kind != TYPE_TENSOR &&
                    !(n->row->lists >> (i < 31 ? i : 31) & 1))
                        return onnx_invalid(im, n, "input %d is %s, want a tensor", i,
                                            compose_text(im->c, n->inputs[i]->type));
                else if (n->inputs[i] && onnx_is_map(n->inputs[i]) != (n->row->lists == ONNX_MAPS))
                        return onnx_invalid(im, n, "input %d is %s", i,
                                            onnx_is_map(n->inputs[i]) ? "a map"
                                                                      : "no map, want one");
        return true;
}

/* Charges what was built since the last call against the limits. */
static bool charge(struct onnx_import *im, const struct onnx_node *n)
{
        enum { OPERANDS_AT_ONCE = 32 }; /* So many cost as much as one operation. */
        struct onnx_model *model = im->model;
        const struct limits *limits = &im->context->limits;
        const struct region *region = im->b.region;
        for (struct op *op = model->counted ? model->counted->next : region->first; op;
             op = op->next) {
                model->counted = op;
                for (int i = 0; i < op->result_count; i++) {
                        const struct type *t = op->results[i].type;
                        int64_t bytes =
                                t->kind == TYPE_TENSOR && element_is_stored(t->element)
                                        ? type_most_elements(im->m, t) *
                                                  element_info[t->element].bytes
                                        : 0;
                        if (bytes > limits->tensor_bytes)
                                return onnx_over_limit(im,
                                                       arena_printf(im->arena,
                                                                    "%s: %" PRId64 " bytes",
                                                                    onnx_node_text(im, n->proto),
                                                                    bytes),
                                                       "tensor_bytes", limits->tensor_bytes);
                }
                model->operations += 1 + op->operand_count / OPERANDS_AT_ONCE;
                if (!onnx_within_work(im, "operations", model->operations))
                        return false;
        }
        return true;
}

/* Gives the outputs their names. Where known is false they are unknown. */
static bool define_outputs(struct onnx_import *im, const struct onnx_node *n, bool known)
{
        for (int i = 0; i < n->output_count; i++) {
                bytes_t name = n->proto->output[i];
                struct onnx_entry entry = { .state = known ? NAME_KNOWN : NAME_UNKNOWN,
                                            .value = known ? n->outputs[i] : NULL };
                if (!n->wanted[i])
                        continue;
                if (known && !entry.value) { /* The first use lists it. */
                        entry.state = NAME_UNKNOWN;
                        entry.unsupported = onnx_unsupported_text(
                                im, n->proto,
                                arena_printf(im->arena, "output %d ('%s') is not supported", i,
                                             SAFE(im, name)));
                }
                if (!onnx_scope_define(im, im->scope, name, entry, "output", n->proto))
                        return false;
                struct onnx_declaration *d = onnx_declaration(im->scope, name);
                if (entry.value && d &&
                    !onnx_check_declared(im, "value", name, d, entry.value->type))
                        return false;
        }
        return true;
}

/* ---- calls of functions ---- */

static bool bind_arguments(struct onnx_import *im, const struct onnx_node *n,
                           const Onnx__FunctionProto *f)
{
        for (size_t i = 0; i < f->n_input; i++) {
                struct onnx_entry entry = { .state = NAME_ABSENT };
                if (i < (size_t)n->input_count && n->inputs[i])
                        entry = (struct onnx_entry){ .value = n->inputs[i] };
                if (!onnx_scope_define(im, im->scope, f->input[i], entry, "function input",
                                       n->proto))
                        return false;
        }
        return true;
}

static bool take_results(struct onnx_import *im, struct onnx_node *n, const struct onnx_function *f)
{
        for (int i = 0; i < n->output_count; i++) {
                struct onnx_entry *e = onnx_scope_find(im->scope, f->proto->output[i]);
                if (!n->wanted[i])
                        continue;
                if (!e || e->state == NAME_ABSENT)
                        return onnx_error(im, "function '%s': output '%s' is not defined", f->name,
                                          SAFE(im, f->proto->output[i]));
                if (!e->value) {
                        onnx_list_entry(im, e);
                        im->model->skip = true;
                        return false;
                }
                n->outputs[i] = e->value;
        }
        return true;
}

static bool expand(struct onnx_import *im, struct onnx_node *n, struct onnx_function *f)
{
        const Onnx__FunctionProto *proto = f->proto;
        if (!bind_arguments(im, n, proto))
                return false;
        if (!f->order)
                f->order = onnx_order(im, proto->node, proto->n_node, &f->count);
        return f->order && onnx_nodes(im, proto->node, f->order, f->count) &&
               take_results(im, n, f);
}

static bool call(struct onnx_import *im, struct onnx_node *n, struct onnx_function *f)
{
        if (!onnx_check_call(im, n, f->proto) || !onnx_enter(im))
                return false;
        struct onnx_scope *scope = im->scope;
        const struct onnx_frame *caller = im->model->frame;
        struct onnx_frame frame = {
                .caller = caller, .function = f, .call = n->proto, .opsets = f->opsets
        };
        const bytes_t *long_data = im->model->long_data;
        im->model->frame = &frame;
        im->model->long_data = f->long_data;
        struct onnx_scope *inner = onnx_scope_new(im, NULL);
        onnx_declare_results(im, inner, n, f->proto);
        im->scope = inner;
        bool ok = expand(im, n, f);
        im->scope = scope;
        im->model->frame = caller;
        im->model->long_data = long_data;
        onnx_leave(im);
        return ok;
}

/* ---- building ---- */

/* Builds the node. Returns false, and sets skip, where something is not supported. */
static bool build_node(struct onnx_import *im, struct onnx_node *n)
{
        struct onnx_definition *d = n->row ? NULL : onnx_definition_find(im, n->proto);
        struct onnx_function *f = n->row || d ? NULL : onnx_function_find(im, n->proto);
        const char *location = im->b.location;
        struct onnx_node *outer = im->node;
        const bool hidden = im->m->known_hidden;
        im->m->known_hidden = im->m->known_count && onnx_names_extents(im, n->proto);
        im->node = n;
        im->b.location = *n->name ? n->name : n->row ? n->row->op : location;
        bool ok = d   ? onnx_defined(im, n, d)
                  : f ? call(im, n, f)
                      : check_counts(im, n) && check_kinds(im, n) && onnx_check_scales(im, n) &&
                                  onnx_texts_import(im, n) && onnx_attributes_used(im, n);
        im->b.location = location;
        im->node = outer;
        im->m->known_hidden = hidden;
        return ok;
}

/* Builds a node, whose operands may have extents that a run gives, and whose results may be the
 * first that have such. An importer that reads such an extent as a number is left there, what it
 * said is not said, and the node is listed. */
static bool build_watched(struct onnx_import *im, struct onnx_node *n)
{
        const struct onnx_import before = *im;
        const struct onnx_model state = *im->model;
        const struct diag diag = *im->diag;
        char *said = NULL;
        size_t length;
        if (!n->row)                    /* Each node of a function is watched by itself. */
                return build_node(im, n);
        FILE *kept = open_memstream(&said, &length);
        if (!kept)
                memory_exhausted();
        jmp_buf out;
        volatile bool ok = false;
        jmp_buf *const outer = dim_watch(&out);
        im->diag->stream = kept;
        const bool read = setjmp(out);
        if (!read)
                ok = build_node(im, n);
        dim_watch(outer);
        if (fclose(kept) || !said)
                memory_exhausted();
        im->diag->stream = diag.stream;
        if (read) {
                im->m->known_hidden = false;
                *im = before;
                *im->model = state;
                *im->diag = diag;
                map_set(im->model->listed, (const char *)&im->model->origin,
                        sizeof im->model->origin, NULL);
                onnx_list_node(im, n->proto, "an extent of its operands is that of a run, which is "
                                             "not supported here; bind it to a number with --dim");
        } else {
                diag_say_again(im->diag, said);
        }
        free(said);
        return ok;
}

static bool charge_nodes(struct onnx_import *im, int64_t count)
{
        if (!int_add(im->model->nodes, count, &im->model->nodes))
                im->model->nodes = INT64_MAX;
        return onnx_within_work(im, "nodes", im->model->nodes);
}

static bool import_node(struct onnx_import *im, const Onnx__NodeProto *origin)
{
        struct onnx_model *model = im->model;
        if (!charge_nodes(im, onnx_node_work(origin)))
                return false;
        const Onnx__NodeProto *proto =
                onnx_attributes_check(im, origin) ? onnx_resolve_attributes(im, origin) : NULL;
        struct onnx_node n;
        struct node_room room;
        bool known;
        if (!proto)
                return false;
        node_new(im, proto, &n, &room);
        if (!find_inputs(im, &n, &known))
                return false;
        model->origin = origin;
        const char *why = n.row ? NULL : missing(im, proto);
        if (why)
                onnx_list_node(im, proto, why);
        if (why || !known) {
                survey_node(im, proto);
                model->skip = false;
                return define_outputs(im, &n, false);
        }
        int errors = im->diag->errors;
        model->skip = false;
        bool ok = build_watched(im, &n);
        bool skipped = model->skip;
        model->skip = false;
        if (!ok && !skipped && im->diag->errors == errors)
                return onnx_invalid(im, &n, "cannot be imported");
        if (!ok && !skipped)
                return false;
        return define_outputs(im, &n, ok) && charge(im, &n);
}

bool onnx_nodes(struct onnx_import *im, Onnx__NodeProto *const *nodes, const int *order, int count)
{
        const struct onnx_walk outer = im->model->walk;
        bool ok = true;
        for (int i = 0; ok && i < count; i++) {
                im->model->walk = (struct onnx_walk){ nodes, order, count, i + 1 };
                ok = import_node(im, nodes[order[i]]);
        }
        im->model->walk = outer;
        return ok;
}

/* ---- subgraphs ---- */

/* Sets outputs[i] to the values that g's outputs name. Returns false, and sets skip, where one is
 * unknown. */
static bool find_outputs(struct onnx_import *im, const Onnx__GraphProto *g, struct value **outputs)
{
        for (size_t i = 0; i < g->n_output; i++) {
                struct onnx_entry *e = onnx_scope_find(im->scope, g->output[i]->name);
                if (!e)
                        return onnx_error(im, "subgraph '%s': output '%s' is not defined",
                                          SAFE(im, g->name), SAFE(im, g->output[i]->name));
                if (!e->value) {
                        onnx_list_entry(im, e);
                        im->model->skip = true;
                        return false;
                }
                outputs[i] = e->value;
        }
        return true;
}

static bool import_graph(struct onnx_import *im, const Onnx__GraphProto *g,
                         struct value *const *arguments, int argument_count, struct value **outputs)
{
        if (g->n_input != (size_t)argument_count)
                return onnx_error(im, "subgraph '%s': %zu inputs, want %d", SAFE(im, g->name),
                                  g->n_input, argument_count);
        for (int i = 0; i < argument_count; i++)
                if (!onnx_scope_define(im, im->scope, g->input[i]->name,
                                       (struct onnx_entry){ .value = arguments[i] },
                                       "subgraph input", NULL))
                        return false;
        int *order, count;
        return onnx_initializers(im, im->scope, g, NULL) &&
               onnx_declare(im, im->scope, g->value_info, g->n_value_info) &&
               onnx_declare(im, im->scope, g->output, g->n_output) &&
               (order = onnx_order(im, g->node, g->n_node, &count)) != NULL &&
               onnx_nodes(im, g->node, order, count) && find_outputs(im, g, outputs);
}

bool onnx_want_tensors(struct onnx_import *im, const Onnx__GraphProto *g,
                       struct value *const *outputs, int first, int count)
{
        bool all = true;
        for (int i = first; i < first + count; i++)
                if (outputs[i]->type->kind != TYPE_TENSOR || onnx_is_texts(outputs[i])) {
                        onnx_list(im,
                                  "output '%s' of subgraph '%s' is %s, and only a run tells "
                                  "whether, or how often, it is made",
                                  SAFE(im, g->output[i]->name), SAFE(im, g->name),
                                  compose_text(im->c, outputs[i]->type));
                        im->model->skip = true;
                        all = false;
                }
        return all;
}

bool onnx_inline_graph(struct onnx_import *im, const Onnx__GraphProto *g,
                       struct value *const *arguments, int argument_count, struct value **outputs,
                       int output_count)
{
        if (g->n_output < (size_t)output_count)
                return onnx_error(im, "subgraph '%s': %zu outputs, want %d", SAFE(im, g->name),
                                  g->n_output, output_count);
        if (!onnx_enter(im))
                return false;
        struct onnx_scope *outer = im->scope;
        struct value **all = arena_array(im->arena, g->n_output, sizeof *all);
        im->scope = onnx_scope_new(im, outer);
        bool ok = import_graph(im, g, arguments, argument_count, all);
        im->scope = outer;
        onnx_leave(im);
        for (int i = 0; ok && i < output_count; i++)
                outputs[i] = all[i];
        return ok;
}

bool onnx_repeat_graph(struct onnx_import *im, const Onnx__GraphProto *g,
                       struct value *const *arguments, int argument_count, struct value **outputs,
                       int output_count)
{
        enum { SCOPE_NODES = 8 };       /* The names of a scope take about as much as so many nodes,
                                         * beside its own. */
        return charge_nodes(im, SCOPE_NODES + (int64_t)g->n_initializer) &&
               onnx_inline_graph(im, g, arguments, argument_count, outputs, output_count);
}

bool onnx_subgraph(struct onnx_import *im, const Onnx__GraphProto *g, struct region *region,
                   bool *texts, struct value **lists)
{
        struct value **outputs = arena_array(im->arena, g->n_output, sizeof *outputs);
        struct onnx_region outer = onnx_region_enter(im, region);
        bool ok = onnx_inline_graph(im, g, NULL, 0, outputs, (int)g->n_output);
        for (size_t i = 0; ok && i < g->n_output; i++) {
                if ((texts[i] = onnx_is_texts(outputs[i])))
                        outputs[i] = onnx_texts_bytes(outputs[i]);
                if (outputs[i]->type->kind == TYPE_TENSOR)
                        continue;
                lists[i] = outputs[i];
                outputs[i] = compose_integer(im->c, E_BOOL, 0);
        }
        ok = ok && build_yield(&im->b, outputs, (int)g->n_output);
        onnx_region_leave(im, outer);
        return ok;
}
