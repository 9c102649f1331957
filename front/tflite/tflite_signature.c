/* SPDX-License-Identifier: MIT */
/* Signatures: names by which programs call subgraphs, their inputs and their outputs. A model of
 * several has an entry for each; inputs and outputs keep the order in which their subgraph has
 * them. */
#include "front/tflite/tflite.h"

#include <inttypes.h>
#include <string.h>

#include "base/store.h"
#include "base/suggest.h"
#include "base/text.h"
#include "ir/loop/loop_build.h"

enum { SIGNATURES_MOST = 64 };

bool tflite_read_signatures(struct tflite_import *im)
{
        const struct flat_span *defs = &im->model.signature_defs;
        if (defs->count > SIGNATURES_MOST) {
                diag_error(im->diag, EXIT_UNSUPPORTED,
                           "%" PRId64 " signatures, at most %d are supported", defs->count,
                           SIGNATURES_MOST);
                return false;
        }
        struct tflite_SignatureDef *tables =
                tflite_read_tables(im, &tflite_info_SignatureDef, defs, &im->signature_count);
        struct names *names = names_new(im->m->arena);
        if (!tables)
                return false;
        im->signatures =
                arena_array(im->arena, (size_t)im->signature_count + 1, sizeof *im->signatures);
        loop_entry_reserve(names);
        for (int i = 0; i < im->signature_count; i++) {
                struct tflite_signature *s = &im->signatures[i];
                const char *key = (const char *)tables[i].signature_key.data;
                const size_t length = key ? (size_t)tables[i].signature_key.count : 0;
                s->table = tables[i];
                const char *plain = arena_printf(im->m->arena, "%.*s", (int)length, key ? key : "");
                const bool fits = strlen(plain) == length && text_is_identifier(plain) &&
                                  names_reserve(names, plain);
                s->name =
                        fits ? plain : text_identifier(names, key ? key : "", length, "signature");
                s->safe = text_safe(im->m->arena, key ? key : "", length);
                if (s->table.subgraph_index >= im->model.subgraphs.count)
                        return tflite_error(
                                im, "signature '%s' is subgraph %" PRId64 " of %" PRId64, s->safe,
                                s->table.subgraph_index, im->model.subgraphs.count);
        }
        return true;
}

bool tflite_find_signature(struct tflite_import *im)
{
        const char *name = im->options->function;
        if (!name)
                return true;
        struct suggest known = suggest_new(im->arena, name, strlen(name));
        for (int i = 0; i < im->signature_count; i++) {
                if (!strcmp(im->signatures[i].name, name))
                        im->signature = &im->signatures[i];
                suggest_add(&known, im->signatures[i].name);
        }
        if (im->signature || im->signature_count < 2)
                return true;
        diag_error(im->diag, EXIT_USAGE,
                   "--entry %s: the model has %d signatures, and none is called that%s",
                   text_argument(im->arena, name), im->signature_count, suggest_text(&known, true));
        return false;
}

const struct tflite_signature *tflite_first_signature(struct tflite_import *im)
{
        const struct tflite_signature *s = im->signatures;
        while (s->table.subgraph_index != im->signature->table.subgraph_index)
                s++;
        return s;
}

/* ---- ports ---- */

/* Returns what the signature calls a tensor. */
static const char *port_name(struct tflite_import *im, const struct tflite_TensorMap *map)
{
        return arena_printf(im->m->arena, "%.*s", (int)(map->name.data ? map->name.count : 0),
                            map->name.data ? (const char *)map->name.data : "");
}

bool tflite_signature_input(struct tflite_import *im, const char *name, size_t length)
{
        for (int s = 0; s < im->signature_count; s++) {
                int count;
                const struct tflite_TensorMap *maps = tflite_read_tables(
                        im, &tflite_info_TensorMap, &im->signatures[s].table.inputs, &count);
                for (int i = 0; maps && i < count; i++) {
                        const char *known = port_name(im, &maps[i]);
                        if (strlen(known) == length && !memcmp(known, name, length))
                                return true;
                }
        }
        return false;
}

/* Returns where the input's, or output's, name by the signature is. */
static const char **name_of(struct tflite_tensor *t, bool inputs)
{
        return inputs ? &t->input_name : &t->output_name;
}

/* Gives the inputs of the subgraph at hand their names, or the outputs. */
static bool name_side(struct tflite_import *im, const struct flat_span *maps,
                      const struct flat_span *numbers, bool inputs)
{
        const struct tflite_signature *s = im->signature;
        const char *what = inputs ? "input" : "output";
        struct map *known = map_new(im->arena);
        bool *ports = arena_array(im->arena, (size_t)im->graph.tensor_count + 1, sizeof *ports);
        int count;
        struct tflite_TensorMap *named =
                tflite_read_tables(im, &tflite_info_TensorMap, maps, &count);
        if (!named)
                return false;
        for (int64_t i = 0; i < numbers->count; i++)
                ports[flat_i32(numbers, i)] = true;
        for (int i = 0; i < count; i++) {
                const char *name = port_name(im, &named[i]);
                const char *safe = text_safe(im->arena, name, strlen(name));
                const int64_t number = named[i].tensor_index;
                if (number >= im->graph.tensor_count || !ports[number])
                        return tflite_error(im,
                                            "signature '%s': %s '%s' is tensor %" PRId64
                                            ", which is none of its subgraph's",
                                            s->safe, what, safe, number);
                if (!*name || map_get(known, name, strlen(name)))
                        return tflite_error(im,
                                            "signature '%s' has two %ss '%s', or one without a "
                                            "name",
                                            s->safe, what, safe);
                const char **to = name_of(&im->graph.tensors[number], inputs);
                if (*to)
                        return refusals_add(&im->refusals,
                                            "signature '%s': %s '%s' has another name, too, which "
                                            "is not supported",
                                            s->safe, what, safe);
                *to = name;
                map_set(known, name, strlen(name), im);
        }
        /* What the signature leaves out keeps its own name, unless another one has it now. */
        for (int64_t i = 0; i < numbers->count; i++) {
                struct tflite_tensor *t = &im->graph.tensors[flat_i32(numbers, i)];
                if (!*name_of(t, inputs) && map_get(known, t->name, strlen(t->name)))
                        *name_of(t, inputs) =
                                arena_printf(im->m->arena, "%s#%d", t->name, flat_i32(numbers, i));
        }
        return true;
}

bool tflite_name_ports(struct tflite_import *im)
{
        const struct tflite_SignatureDef *table = &im->signature->table;
        return name_side(im, &table->inputs, &im->graph.table.inputs, true) &&
               name_side(im, &table->outputs, &im->graph.table.outputs, false);
}
