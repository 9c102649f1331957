/* SPDX-License-Identifier: MIT */
/* The import begins here: bytes of a file become a module with one function, main. Nodes stand in
 * an order in which they can run, so the walk is one loop. Variables that nodes write are state: an
 * input of the function, and an output NAME.next that is its value in the next run. */
#include "front/tflite/tflite_helpers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/store.h"
#include "base/suggest.h"
#include "base/text.h"

enum { PORTS_MOST = 4096 };

/* ---- options ---- */

static bool usage(struct tflite_import *im, const char *option, const char *text, const char *what)
{
        diag_error(im->diag, EXIT_USAGE, "%s %s: %s", option, text_argument(im->arena, text), what);
        return false;
}

/* Refuses options that TFLite models have nothing for. */
static bool check_options(struct tflite_import *im)
{
        const struct import_options *o = im->options;
        if (o->dim_count)
                return usage(im, "--dim", o->dims[0],
                             "dimensions of a TFLite model have no names; bind a shape with "
                             "--input");
        if (o->text_byte_count)
                return usage(im, "--text-bytes", o->text_bytes[0], "the model has no texts");
        if (o->seed)
                return usage(im, "--seed", o->seed, "the model draws no random numbers");
        return true;
}

static const char *input_name(const struct tflite_tensor *t)
{
        return t->input_name ? t->input_name : t->name;
}

static const char *output_name(const struct tflite_tensor *t)
{
        return t->output_name ? t->output_name : t->name;
}

static bool is_input(struct tflite_import *im, const struct tflite_tensor *t)
{
        for (int64_t i = 0; i < im->graph.table.inputs.count; i++)
                if (&im->graph.tensors[flat_i32(&im->graph.table.inputs, i)] == t)
                        return true;
        return false;
}

/* Does --input NAME=1x3x8. */
static bool bind_shape(struct tflite_import *im, struct map *names, const char *option)
{
        const char *equal = strrchr(option, '=');
        const size_t length = equal ? (size_t)(equal - option) : 0;
        struct tflite_tensor *t = equal ? map_get(names, option, length) : NULL;
        int64_t extents[RANK_MAX];
        for (int64_t i = 0; i < im->graph.table.inputs.count && equal; i++) {
                struct tflite_tensor *input =
                        &im->graph.tensors[flat_i32(&im->graph.table.inputs, i)];
                if (input->input_name && strlen(input->input_name) == length &&
                    !memcmp(input->input_name, option, length))
                        t = input;
        }
        if (equal && im->signature && (!t || !is_input(im, t)) &&
            tflite_signature_input(im, option, length))
                return true;            /* It is of another one. */
        if (!t || !is_input(im, t) || !t->type)
                return usage(im, "--input", option, "want NAME=1x3x8, and an input of the model");
        const int rank = import_extents(equal + 1, extents);
        if (rank < 0)
                return usage(im, "--input", option, "want extents, as in NAME=1x3x8");
        t->type = compose_type_static(im->c, t->type->element, rank, extents);
        return t->type != NULL;
}

/* ---- ports ---- */

static bool add_inputs(struct tflite_import *im, struct function *f)
{
        for (int64_t i = 0; i < im->graph.table.inputs.count; i++) {
                struct tflite_tensor *t = &im->graph.tensors[flat_i32(&im->graph.table.inputs, i)];
                if (!t->type)
                        tflite_list_refused(im, t);
                else if (t->value)
                        return tflite_error(im, "tensor '%s' is two inputs", t->safe);
                else
                        t->value = function_add_input(f, input_name(t), t->type);
                t->is_constant = t->is_variable = false;
        }
        return true;
}

/* A number of state that TFLite begins with its zero point begins as 0 here: its bits are taken
 * against those of the zero point. */
static struct value *against_zero(struct tflite_import *im, const struct tflite_tensor *t,
                                  struct value *v)
{
        if (!v || t->type->element != E_I8 || t->q.count != 1 || !t->q.zeros[0])
                return v;
        return tflite_against(im, v, constant_number(im->m, v->type, (double)t->q.zeros[0]));
}

/* Makes the variables inputs; *states: those, ended by NULL. */
static bool add_variables(struct tflite_import *im, struct function *f,
                          struct tflite_tensor ***states)
{
        int count = 0;
        *states = arena_array(im->arena, (size_t)im->graph.tensor_count + 1, sizeof **states);
        for (int i = 0; i < im->graph.tensor_count; i++) {
                struct tflite_tensor *t = &im->graph.tensors[i];
                if (!t->is_variable || t->value)
                        continue;
                if (!t->type) {
                        tflite_list_refused(im, t);
                        continue;
                }
                /* Functions of one module share state of one name. */
                if (im->signature_count > 1)
                        t->name = arena_printf(im->m->arena, "%s_%s",
                                               tflite_first_signature(im)->name, t->name);
                (*states)[count++] = t;
                t->value = against_zero(im, t, function_add_input(f, t->name, t->type));
                t->is_constant = false;
        }
        return true;
}

/* Finds which nodes the wanted tensors need. */
static bool *needed_nodes(struct tflite_import *im, struct tflite_tensor *const *wanted, int count)
{
        bool *nodes = arena_array(im->arena, (size_t)im->graph.operator_count + 1, sizeof *nodes);
        bool *tensors = arena_array(im->arena, (size_t)im->graph.tensor_count + 1, sizeof *tensors);
        for (int i = 0; i < count; i++)
                tensors[wanted[i] - im->graph.tensors] = true;
        for (int i = im->graph.operator_count - 1; i >= 0; i--) {
                const struct tflite_Operator *o = &im->graph.operators[i];
                const struct tflite_row *row =
                        tflite_row_find(tflite_code(&im->codes[o->opcode_index]));
                nodes[i] = row && row->handles;
                for (int64_t k = 0; k < o->outputs.count; k++) {
                        const int32_t number = flat_i32(&o->outputs, k);
                        nodes[i] |=
                                number >= 0 && number < im->graph.tensor_count && tensors[number];
                }
                for (int64_t k = 0; k < o->inputs.count && nodes[i]; k++) {
                        const int32_t number = flat_i32(&o->inputs, k);
                        if (number >= 0 && number < im->graph.tensor_count)
                                tensors[number] = true;
                }
        }
        return nodes;
}

/* ---- outputs ---- */

/* Collects the graph's outputs, or those of --output, then those of --keep. */
static struct tflite_tensor **wanted_tensors(struct tflite_import *im, struct map *names,
                                             int *count)
{
        const struct import_options *o = im->options;
        const int named = o->output_count + o->keep_count;
        struct tflite_tensor **wanted =
                arena_array(im->arena, (size_t)im->graph.table.outputs.count + (size_t)named + 1,
                            sizeof *wanted);
        *count = 0;
        for (int64_t i = 0; i < im->graph.table.outputs.count && !o->output_count; i++)
                wanted[(*count)++] = &im->graph.tensors[flat_i32(&im->graph.table.outputs, i)];
        for (int i = 0; i < named; i++) {
                const char *name =
                        i < o->output_count ? o->outputs[i] : o->keep[i - o->output_count];
                struct tflite_tensor *t = map_get(names, name, strlen(name));
                for (int64_t k = 0; k < im->graph.table.outputs.count; k++) {
                        struct tflite_tensor *output =
                                &im->graph.tensors[flat_i32(&im->graph.table.outputs, k)];
                        if (output->output_name && !strcmp(output->output_name, name))
                                t = output;
                }
                if (!t) {
                        struct suggest known = suggest_new(im->arena, name, strlen(name));
                        for (int k = 0; k < im->graph.tensor_count; k++)
                                suggest_add(&known, im->graph.tensors[k].safe);
                        diag_error(im->diag, EXIT_USAGE,
                                   "--output or --keep '%s': the model has no such value%s",
                                   text_argument(im->arena, name), suggest_text(&known, true));
                        return NULL;
                }
                bool twice = false;
                for (int k = 0; k < *count; k++)
                        twice |= wanted[k] == t;
                if (!twice)
                        wanted[(*count)++] = t;
        }
        if (!*count)
                tflite_error(im, "the graph has no outputs");
        return *count ? wanted : NULL;
}

static bool yield_all(struct tflite_import *im, struct function *f,
                      struct tflite_tensor *const *wanted, int count,
                      struct tflite_tensor *const *states)
{
        int most = count;
        for (int i = 0; states[i]; i++)
                most++;
        for (struct tflite_variable *v = im->variable_list; v; v = v->after)
                most++;
        struct value **values = arena_array(im->arena, (size_t)most, sizeof *values);
        f->output_ports = arena_array(im->m->arena, (size_t)most, sizeof *f->output_ports);
        f->output_count = most;
        for (int i = 0; i < count; i++) {
                struct tflite_tensor *t = wanted[i];
                if (t->type && !tflite_constant(im, t))
                        return false;
                if (!t->value)
                        return tflite_error(im, "output '%s' is made by no node", t->safe);
                values[i] = t->value;
                f->output_ports[i] = (struct port){ .name = output_name(t) };
        }
        for (int i = 0; states[i]; i++) {
                struct tflite_tensor *t = states[i];
                const char *next = arena_printf(im->m->arena, "%s.next", t->name);
                values[count] = against_zero(im, t, t->value);
                if (!values[count])
                        return false;
                if (values[count]->type != t->type)
                        return tflite_error(im, "variable '%s' is %s, and %s in the next run",
                                            t->safe, compose_text(im->c, t->type),
                                            compose_text(im->c, values[count]->type));
                f->input_ports[function_input(f, t->name)].next = next;
                f->output_ports[count++] = (struct port){ .name = next };
        }
        for (struct tflite_variable *v = im->variable_list; v; v = v->after) {
                if (!(values[count] = tflite_against(im, v->value, v->first)))
                        return false;
                f->output_ports[count++] = (struct port){ .name = v->next };
        }
        return build_yield(&im->b, values, most) != NULL;
}

static bool import_graph(struct tflite_import *im, struct map *names, const char *name)
{
        struct function *f = function_new(im->m, name);
        struct tflite_tensor **states;
        int count;
        im->b.region = &f->body;
        if (!tflite_tensor_numbers(im, &im->graph.table.inputs, 0, "input") ||
            !tflite_tensor_numbers(im, &im->graph.table.outputs, 0, "output"))
                return false;
        if (im->graph.table.inputs.count + im->graph.table.outputs.count > PORTS_MOST)
                return tflite_error(im, "%" PRId64 " inputs and outputs, at most %d are supported",
                                    im->graph.table.inputs.count + im->graph.table.outputs.count,
                                    PORTS_MOST);
        if (!check_options(im) || (im->signature && !tflite_name_ports(im)))
                return false;
        for (int i = 0; i < im->options->input_count; i++)
                if (!bind_shape(im, names, im->options->inputs[i]))
                        return false;
        struct tflite_tensor **wanted = wanted_tensors(im, names, &count);
        if (!wanted)
                return false;
        const bool *needed = needed_nodes(im, wanted, count);
        tflite_list_unknown(im);
        if (!add_inputs(im, f) || !add_variables(im, f, &states))
                return false;
        for (int i = 0; i < im->graph.operator_count; i++)
                if ((needed[i] || !im->options->output_count) && !tflite_import_node(im, i))
                        return false;
        if (im->refusals.count || (im->signature_count > 1 && !tflite_keep_assigned(im)))
                return false;
        return yield_all(im, f, wanted, count, states);
}

/* ---- the door ---- */

/* Turns an error of front/compose into one of the node at hand. */
static void composing_error(void *caller, enum exit_code code, const char *text)
{
        struct tflite_import *im = caller;
        if (!im->node)
                diag_error(im->diag, code, "%s", text);
        else if (code == EXIT_UNSUPPORTED)
                tflite_unsupported(im, "%s", text);
        else
                tflite_invalid(im, "%s", text);
}

/* Finds what the variables of all signatures begin with, whichever of them runs first. */
static bool begin_variables(struct tflite_import *im)
{
        for (int s = 0; s < im->signature_count; s++) {
                if (!tflite_read_subgraph(im, im->signatures[s].table.subgraph_index,
                                          map_new(im->arena)))
                        return false;
                for (int i = 0; i < im->graph.operator_count; i++) {
                        const int64_t code =
                                tflite_code(&im->codes[im->graph.operators[i].opcode_index]);
                        const struct tflite_row *row = tflite_row_find(code);
                        if (row && row->import == tflite_import_call_once &&
                            !tflite_import_node(im, i))
                                return false;
                }
        }
        return true;
}

static bool import_subgraph(struct tflite_import *im)
{
        struct map *names = map_new(im->arena);
        const struct tflite_signature *s = im->signature;
        const char *name = s ? s->name : im->options->function ? im->options->function : "main";
        tflite_forget_values(im);
        if (!tflite_read_subgraph(im, s ? s->table.subgraph_index : 0, names))
                return false;
        if (!im->m->functions) /* Other models may be in the module already. */
                im->m->name = text_safe(im->m->arena, (const char *)im->graph.table.name.data,
                                        (size_t)im->graph.table.name.count);
        const bool ok = import_graph(im, names, name);
        if (im->options->facts)
                tflite_function_facts(im, im->options->facts);
        return ok;
}

/* Imports each of the signatures, for --info. */
static bool import_all(struct tflite_import *im)
{
        bool ok = true;
        for (int i = 0; i < im->signature_count; i++) {
                im->signature = &im->signatures[i];
                ok = import_subgraph(im) && ok;
        }
        return ok;
}

static bool import_file(struct tflite_import *im)
{
        const bool several = !im->options->function;
        if (!tflite_read_model(im) || !tflite_read_signatures(im) || !tflite_find_signature(im))
                return false;
        bool ok = im->signature_count < 2 || begin_variables(im);
        if (ok)
                ok = several && im->signature_count > 1 ? import_all(im) : import_subgraph(im);
        if (im->options->facts)
                tflite_facts(im, im->options->facts);
        if (!ok || im->refusals.count)
                return false;
        import_source(im->m, im->file.bytes, im->file.length, NULL, 0, im->options);
        return true;
}

bool tflite_is_file(const unsigned char *bytes, size_t length)
{
        enum { AT = 4 }; /* Behind the offset of the root table. */
        static const char identifier[] = { 'T', 'F', 'L', '3' };
        return length >= AT + sizeof identifier &&
               !memcmp(bytes + AT, identifier, sizeof identifier);
}

int tflite_entries(const unsigned char *bytes, size_t length, struct arena *arena,
                   struct diag *diag, const char ***names)
{
        struct module *m = module_new("");
        struct tflite_import im = {
                .m = m, .file = { bytes, length, diag }, .diag = diag, .arena = arena
        };
        int count = -1;
        if (tflite_read_model(&im) && tflite_read_signatures(&im)) {
                count = im.signature_count > 1 ? im.signature_count : 0;
                *names = arena_array(arena, (size_t)count + 1, sizeof **names);
                for (int i = 0; i < count; i++)
                        (*names)[i] = arena_string(arena, im.signatures[i].name);
        }
        module_free(m);
        return count;
}

struct module *tflite_import(const unsigned char *bytes, size_t length,
                             const struct import_options *options, struct pass_context *context,
                             void (*dependency)(void *context, const char *path),
                             void *dependency_context)
{
        struct module *m = options->into ? options->into : module_new("");
        struct arena *arena = arena_new();
        struct tflite_import im = { .m = m,
                                    .file = { bytes, length, context->diag },
                                    .diag = context->diag,
                                    .context = context,
                                    .options = options,
                                    .arena = arena };
        struct compose c;
        (void)dependency, (void)dependency_context; /* A file holds all of its model. */
        im.refusals = refusals_begin(arena, context->diag);
        im.variables = map_new(arena);
        compose_begin(&c, &im.b, m, arena, context, composing_error, &im);
        im.c = &c;
        const bool ok = import_file(&im);
        refusals_end(&im.refusals);
        arena_free(arena);
        if (ok)
                return m;
        if (!options->into)
                module_free(m);
        return NULL;
}
