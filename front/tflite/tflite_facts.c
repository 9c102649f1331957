/* SPDX-License-Identifier: MIT */
/* A model says this of itself: ports, versions, operators, parameters, names. */
#include "front/tflite/tflite_helpers.h"

#include <string.h>

#include "base/size.h"
#include "base/text.h"
#include "front/asked.h"

int64_t tflite_code(const struct tflite_OperatorCode *code)
{
        return code->builtin_code > code->deprecated_builtin_code ? code->builtin_code
                                                                  : code->deprecated_builtin_code;
}

const char *tflite_code_text(struct tflite_import *im, const struct tflite_OperatorCode *code)
{
        enum { CUSTOM = 32 };
        const int64_t number = tflite_code(code);
        const char *name = tflite_code_name(number);
        if (number == CUSTOM)
                return arena_printf(im->arena, "custom.%s",
                                    text_safe(im->arena, (const char *)code->custom_code.data,
                                              (size_t)code->custom_code.count));
        return name ? name : arena_printf(im->arena, "builtin.%lld", (long long)number);
}

static const char *keep(struct model_facts *facts, const char *text)
{
        return arena_string(facts->arena, text);
}

static void add_name(struct tflite_import *im, struct model_facts *facts, const char *kind,
                     const char *name)
{
        const char *key = arena_printf(im->arena, "%s %s", kind, name);
        if (map_get(im->fact_names, key, strlen(key)))
                return;
        map_set(im->fact_names, key, strlen(key), facts);
        ARENA_GROW(facts->arena, facts->names, facts->name_count);
        facts->names[facts->name_count++] =
                (struct model_name){ kind, keep(facts, text_argument(im->arena, name)) };
}

/* Adds the inputs of the subgraph at hand, or its outputs, as its signature calls them. */
static void add_ports(struct tflite_import *im, struct model_facts *facts, bool inputs)
{
        const struct flat_span *numbers =
                inputs ? &im->graph.table.inputs : &im->graph.table.outputs;
        struct model_port **ports = inputs ? &facts->inputs : &facts->outputs;
        int *count = inputs ? &facts->input_count : &facts->output_count;
        for (int64_t i = 0; i < numbers->count; i++) {
                const int32_t number = flat_i32(numbers, i);
                if (number < 0 || number >= im->graph.tensor_count)
                        continue;
                const struct tflite_tensor *t = &im->graph.tensors[number];
                const char *called = inputs ? t->input_name : t->output_name;
                const char *name = called ? called : t->name;
                const char *entry =
                        im->signature ? arena_printf(im->arena, "%s/", im->signature->name) : "";
                ARENA_GROW(facts->arena, *ports, *count);
                (*ports)[(*count)++] = (struct model_port){
                        arena_printf(facts->arena, "%s%s", entry,
                                     text_safe(im->arena, name, strlen(name))),
                        keep(facts, t->type ? type_text(im->arena, im->m, t->type) : t->refused)
                };
                add_name(im, facts, inputs ? "input" : "output", name);
        }
}

static void add_operators(struct tflite_import *im, struct model_facts *facts, struct map *known)
{
        for (int i = 0; i < im->graph.operator_count; i++) {
                const struct tflite_OperatorCode *code =
                        &im->codes[im->graph.operators[i].opcode_index];
                const char *name = tflite_code_text(im, code);
                uintptr_t number = (uintptr_t)map_get(known, name, strlen(name));
                if (!number) {
                        ARENA_GROW(facts->arena, facts->operators, facts->operator_count);
                        facts->operators[facts->operator_count++] = (struct model_operator){
                                .name = keep(facts, name),
                                .supported = tflite_row_find(tflite_code(code)) != NULL
                        };
                        number = (uintptr_t)facts->operator_count;
                        map_set(known, name, strlen(name), (void *)number);
                }
                facts->operators[number - 1].count++;
        }
}

/* Adds the elements of constants whose bytes no other tensor has. */
static void add_parameters(struct tflite_import *im, struct model_facts *facts, struct map *counted)
{
        for (int i = 0; i < im->graph.tensor_count; i++) {
                const struct tflite_tensor *t = &im->graph.tensors[i];
                const char *key = (const char *)&t->data.data;
                if (!t->is_constant || !t->type || map_get(counted, key, sizeof t->data.data))
                        continue;
                map_set(counted, key, sizeof t->data.data, facts);
                if (!int_add(facts->parameters, type_elements(t->type), &facts->parameters))
                        facts->parameters = INT64_MAX;
        }
}

void tflite_function_facts(struct tflite_import *im, struct model_facts *facts)
{
        if (!im->fact_names)
                im->fact_names = map_new(im->arena);
        add_ports(im, facts, true);
        add_ports(im, facts, false);
        for (int i = 0; i < im->graph.operator_count; i++)
                for (int64_t k = 0; k < im->graph.operators[i].outputs.count; k++) {
                        const int32_t number = flat_i32(&im->graph.operators[i].outputs, k);
                        if (number >= 0 && number < im->graph.tensor_count)
                                add_name(im, facts, "value", im->graph.tensors[number].name);
                }
}

void tflite_facts(struct tflite_import *im, struct model_facts *facts)
{
        struct map *known = map_new(im->arena), *counted = map_new(im->arena);
        int64_t size = 0;
        ARENA_GROW(facts->arena, facts->opsets, facts->opset_count);
        facts->opsets[facts->opset_count++] =
                arena_printf(facts->arena, "tflite %lld", (long long)im->model.version);
        for (int64_t i = 0; i < im->model.subgraphs.count; i++) {
                if (!tflite_read_subgraph(im, i, map_new(im->arena)))
                        break;
                size += im->graph.operator_count + im->graph.tensor_count;
                if (size > im->context->limits.nodes) {
                        tflite_over_limit(im, "operators and tensors of all subgraphs", "nodes",
                                          im->context->limits.nodes);
                        break;
                }
                add_operators(im, facts, known);
                add_parameters(im, facts, counted);
        }
        struct asked command = asked_begin(im->arena, im->options->path);
        asked_given(&command, "--input", im->options->inputs, im->options->input_count);
        facts->command = keep(facts, asked_end(&command));
        facts->known = true;
}
