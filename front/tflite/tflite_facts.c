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

static void add_port(struct tflite_import *im, struct model_facts *facts, int64_t number,
                     struct model_port **ports, int *count)
{
        if (number < 0 || number >= im->graph.tensor_count)
                return;
        const struct tflite_tensor *t = &im->graph.tensors[number];
        ARENA_GROW(facts->arena, *ports, *count);
        (*ports)[(*count)++] = (struct model_port){
                keep(facts, t->safe),
                keep(facts, t->type ? type_text(im->arena, im->m, t->type) : t->refused)
        };
}

static void add_name(struct tflite_import *im, struct model_facts *facts, struct map *names,
                     const char *kind, int64_t number)
{
        if (number < 0 || number >= im->graph.tensor_count)
                return;
        const char *name = im->graph.tensors[number].name;
        const char *key = arena_printf(im->arena, "%s %s", kind, name);
        if (map_get(names, key, strlen(key)))
                return;
        map_set(names, key, strlen(key), facts);
        ARENA_GROW(facts->arena, facts->names, facts->name_count);
        facts->names[facts->name_count++] =
                (struct model_name){ kind, keep(facts, text_argument(im->arena, name)) };
}

static void add_operators(struct tflite_import *im, struct model_facts *facts)
{
        struct map *known = map_new(im->arena);
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

void tflite_facts(struct tflite_import *im, struct model_facts *facts)
{
        struct map *names = map_new(im->arena);
        ARENA_GROW(facts->arena, facts->opsets, facts->opset_count);
        facts->opsets[facts->opset_count++] =
                arena_printf(facts->arena, "tflite %lld", (long long)im->model.version);
        for (int64_t i = 0; i < im->graph.table.inputs.count; i++) {
                const int32_t number = flat_i32(&im->graph.table.inputs, i);
                add_port(im, facts, number, &facts->inputs, &facts->input_count);
                add_name(im, facts, names, "input", number);
        }
        for (int64_t i = 0; i < im->graph.table.outputs.count; i++) {
                const int32_t number = flat_i32(&im->graph.table.outputs, i);
                add_port(im, facts, number, &facts->outputs, &facts->output_count);
                add_name(im, facts, names, "output", number);
        }
        add_operators(im, facts);
        for (int i = 0; i < im->graph.operator_count; i++)
                for (int64_t k = 0; k < im->graph.operators[i].outputs.count; k++)
                        add_name(im, facts, names, "value",
                                 flat_i32(&im->graph.operators[i].outputs, k));
        for (int i = 0; i < im->graph.tensor_count; i++) {
                const struct tflite_tensor *t = &im->graph.tensors[i];
                if (t->is_constant && t->type &&
                    !int_add(facts->parameters, type_elements(t->type), &facts->parameters))
                        facts->parameters = INT64_MAX;
        }
        struct asked command = asked_begin(im->arena, im->options->path);
        asked_given(&command, "--input", im->options->inputs, im->options->input_count);
        facts->command = keep(facts, asked_end(&command));
        facts->known = true;
}
