/* SPDX-License-Identifier: MIT */
/* A network says this of itself: ports, version, layers, parameters, names. */
#include <string.h>

#include "base/size.h"
#include "base/text.h"
#include "front/asked.h"
#include "front/caffe/caffe.h"

static const char *keep(struct model_facts *facts, const char *text)
{
        return arena_string(facts->arena, text);
}

static void add_port(struct caffe_import *im, struct model_facts *facts, const struct caffe_blob *b,
                     const struct value *v, struct model_port **ports, int *count)
{
        ARENA_GROW(facts->arena, *ports, *count);
        (*ports)[(*count)++] = (struct model_port){
                keep(facts, b->safe), keep(facts, v ? type_text(im->arena, im->m, v->type)
                                                    : "what no layer makes")
        };
}

static void add_name(struct model_facts *facts, const char *kind, const char *name)
{
        ARENA_GROW(facts->arena, facts->names, facts->name_count);
        facts->names[facts->name_count++] =
                (struct model_name){ kind, text_argument(facts->arena, name) };
}

static void add_types(struct caffe_import *im, struct model_facts *facts)
{
        struct map *known = map_new(im->arena);
        for (int i = 0; i < im->net.count; i++) {
                const struct caffe_layer *n = &im->net.layers[i];
                uintptr_t number = (uintptr_t)map_get(known, n->type, strlen(n->type));
                if (!number) {
                        ARENA_GROW(facts->arena, facts->operators, facts->operator_count);
                        facts->operators[facts->operator_count++] = (struct model_operator){
                                .name = keep(facts, n->type),
                                .supported = n->row && n->row->kind != CAFFE_IS_DATA
                        };
                        number = (uintptr_t)facts->operator_count;
                        map_set(known, n->type, strlen(n->type), (void *)number);
                }
                facts->operators[number - 1].count++;
                for (int k = 0; k < n->blob_count; k++)
                        if (!int_add(facts->parameters, caffe_blob_numbers(n, k),
                                     &facts->parameters))
                                facts->parameters = INT64_MAX;
        }
}

void caffe_facts(struct caffe_import *im, struct caffe_blob *const *outputs, int count,
                 struct model_facts *facts)
{
        ARENA_GROW(facts->arena, facts->opsets, facts->opset_count);
        facts->opsets[facts->opset_count++] = im->net.old ? "caffe 1" : "caffe 2";
        for (int i = 0; i < im->blob_count; i++) {
                const struct caffe_blob *b = im->list[i];
                if (b->is_input) {
                        add_port(im, facts, b, b->input, &facts->inputs, &facts->input_count);
                        add_name(facts, "input", b->name);
                } else {
                        add_name(facts, "value", b->name);
                }
        }
        for (int i = 0; i < count; i++) {
                add_port(im, facts, outputs[i], outputs[i]->value, &facts->outputs,
                         &facts->output_count);
                add_name(facts, "output", outputs[i]->name);
        }
        add_types(im, facts);
        struct asked command = asked_begin(im->arena, im->options->path);
        asked_given(&command, "--input", im->options->inputs, im->options->input_count);
        facts->command = keep(facts, asked_end(&command));
        facts->known = true;
}
