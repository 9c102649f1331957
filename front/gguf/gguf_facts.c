/* SPDX-License-Identifier: MIT */
/* A model says this of itself: ports, its architecture, how many tensors of each type it has,
 * parameters, names. */
#include "front/gguf/gguf.h"

#include <string.h>

#include "base/size.h"
#include "base/text.h"
#include "front/asked.h"

static void add_ports(struct gguf_import *im, struct model_facts *facts, const struct function *f)
{
        for (int i = 0; i < f->body.argument_count; i++) {
                ARENA_GROW(facts->arena, facts->inputs, facts->input_count);
                facts->inputs[facts->input_count++] = (struct model_port){
                        arena_string(facts->arena, f->input_ports[i].name),
                        arena_string(facts->arena,
                                     type_text(im->arena, im->m, f->body.arguments[i].type))
                };
        }
        for (int i = 0; i < f->output_count && f->body.last; i++) {
                ARENA_GROW(facts->arena, facts->outputs, facts->output_count);
                facts->outputs[facts->output_count++] = (struct model_port){
                        arena_string(facts->arena, f->output_ports[i].name),
                        arena_string(facts->arena,
                                     type_text(im->arena, im->m, op_operand(f->body.last, i)->type))
                };
        }
}

static void add_name(struct model_facts *facts, const char *kind, const char *name)
{
        ARENA_GROW(facts->arena, facts->names, facts->name_count);
        facts->names[facts->name_count++] =
                (struct model_name){ kind, arena_string(facts->arena, name) };
}

static void add_types(struct gguf_import *im, struct model_facts *facts)
{
        for (int i = 0; i < im->file.tensor_count; i++) {
                const struct gguf_tensor *t = &im->file.tensors[i];
                const char *name =
                        t->type ? t->type->name : arena_printf(im->arena, "type %u", t->type_id);
                int64_t count = 1;
                int k = 0;
                while (k < facts->operator_count && strcmp(facts->operators[k].name, name) != 0)
                        k++;
                if (k == facts->operator_count) {
                        ARENA_GROW(facts->arena, facts->operators, facts->operator_count);
                        facts->operators[facts->operator_count++] =
                                (struct model_operator){ .name = arena_string(facts->arena, name),
                                                         .supported = t->type &&
                                                                      t->type->form != GGUF_NONE };
                }
                facts->operators[k].count++;
                for (int d = 0; d < GGUF_RANK; d++)
                        if (!int_mul(count, t->extents[d], &count))
                                count = INT64_MAX;
                if (!int_add(facts->parameters, count, &facts->parameters))
                        facts->parameters = INT64_MAX;
        }
}

void gguf_facts(struct gguf_import *im, struct model_facts *facts, const struct function *f)
{
        const char *architecture =
                im->p.architecture ? im->p.architecture->name : "of another architecture";
        ARENA_GROW(facts->arena, facts->opsets, facts->opset_count);
        facts->opsets[facts->opset_count++] =
                arena_printf(facts->arena, "gguf %u, %s", im->file.version, architecture);
        if (f)
                add_ports(im, facts, f);
        add_types(im, facts);
        add_name(facts, "dim", "N");
        add_name(facts, "dim", "P");
        for (int i = 0; i < facts->input_count; i++)
                add_name(facts, "input", facts->inputs[i].name);
        for (int i = 0; i < facts->output_count; i++)
                add_name(facts, "output", facts->outputs[i].name);
        add_name(facts, "value", "hidden");
        add_name(facts, "value", "all_logits");
        facts->vocabulary = gguf_vocabulary(im, facts->arena);
        struct asked command = asked_begin(im->arena, im->options->path);
        asked_given(&command, "--dim", im->options->dims, im->options->dim_count);
        facts->command = arena_string(facts->arena, asked_end(&command));
        facts->known = true;
}
