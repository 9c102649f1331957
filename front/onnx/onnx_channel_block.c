/* SPDX-License-Identifier: MIT */
/* The weights of com.microsoft.nchwc have 8 or 16 channels side by side, as the processor that
 * saved the model had it. The model does not say, but some numbers of channels are what one of the
 * two makes alone. */
#include "front/onnx/onnx_model.h"

#include <string.h>

#include "base/size.h"

enum { BY_8 = 1, BY_16 = 2, UNKNOWN = -1 };

/* Returns what the blocks may be, of weights [outputs, inputs / groups, rows, columns]. */
static unsigned weights_fit(const int64_t *dims, int64_t groups)
{
        unsigned fit = BY_8 | BY_16;

        if (dims[0] % 16)
                fit &= ~(unsigned)BY_16;
        if (dims[1] > 16 && dims[1] % 16)
                fit &= ~(unsigned)BY_16;
        if (dims[1] > 8 && dims[1] % 8)           /* These are not blocks, but an image as it
                                                   * was. */
                fit &= ~(unsigned)BY_8;
        if (groups > 1 && dims[1] > 1 && dims[1] % 16)
                fit &= ~(unsigned)BY_16;
        return fit;
}

static bool is(bytes_t name, const char *text)
{
        return name.len == strlen(text) && !memcmp(name.data, text, name.len);
}

static int64_t integer_of(const Onnx__NodeProto *node, const char *name, int64_t preset)
{
        for (size_t i = 0; i < node->n_attribute; i++)
                if (is(node->attribute[i]->name, name))
                        return node->attribute[i]->i;
        return preset;
}

static unsigned graph_fits(struct onnx_import *im, const Onnx__GraphProto *g)
{
        struct map *weights = map_new(im->arena), *channels = map_new(im->arena);
        unsigned fit = BY_8 | BY_16;

        for (size_t i = 0; i < g->n_initializer; i++)
                if (g->initializer[i]->name.len && g->initializer[i]->n_dims == 4)
                        map_set(weights, (const char *)g->initializer[i]->name.data,
                                g->initializer[i]->name.len, g->initializer[i]);
        for (size_t i = 0; i < g->n_node; i++) {
                const Onnx__NodeProto *node = g->node[i];
                const bool conv = is(node->op_type, "Conv") && node->n_input >= 2;
                /* It is the image, or the weights. */
                const bytes_t x = node->n_input ? node->input[conv] : (bytes_t){ 0 };
                int64_t *of = NULL;

                if (!is(node->domain, "com.microsoft.nchwc") || !x.len)
                        continue;
                if (conv) {
                        const Onnx__TensorProto *w = map_get(weights, (const char *)x.data, x.len);
                        if (w)
                                fit &= weights_fit(w->dims, integer_of(node, "group", 1));
                        of = w ? w->dims : NULL;
                } else {
                        of = map_get(channels, (const char *)x.data, x.len);
                }
                if (of && is(node->op_type, "ReorderOutput")) {
                        const int64_t count = integer_of(node, "channels", 0), most = *of;
                        if (count < 1 || count > most || most > NUMBER_MAX)
                                continue;
                        fit &= (round_up(count, 8) == most ? BY_8 : 0u) |
                               (round_up(count, 16) == most ? BY_16 : 0u);
                } else if (of && node->n_output && node->output[0].len) {
                        map_set(channels, (const char *)node->output[0].data, node->output[0].len,
                                of);
                }
        }
        return fit;
}

int onnx_channel_block(struct onnx_import *im)
{
        int *block = &im->model->channel_block;

        if (!*block) {
                const unsigned fit = graph_fits(im, im->model->proto->graph);
                *block = im->options->channel_block ? im->options->channel_block
                         : fit == BY_8              ? 8
                         : fit == BY_16             ? 16
                                                    : UNKNOWN;
        }
        return *block == UNKNOWN ? 0 : *block;
}
