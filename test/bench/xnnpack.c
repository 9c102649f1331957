/* SPDX-License-Identifier: MIT */
/* Convolutions by XNNPACK, for test/bench/xnnpack.py, which compiles it: a line of standard input is a layer,
 *
 *     f32|qc8 HEIGHT WIDTH CHANNELS OUTPUTS WINDOW_HEIGHT WINDOW_WIDTH STRIDE TOP RIGHT BOTTOM LEFT GROUPS
 *
 * and all are computed in that order, TURNS times (argument 1). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xnnpack.h>

enum { LAYERS_MAX = 512 };

struct layer { unsigned height, width, channels, outputs, rows, columns, stride, top, right, bottom, left, groups; };

static void *fresh(size_t bytes)
{
        void *p = calloc(1, bytes + XNN_EXTRA_BYTES);
        if (!p)
                exit(1);
        return p;
}

static void check(enum xnn_status status, const char *what)
{
        if (status != xnn_status_success) {
                fprintf(stderr, "xnnpack: %s: status %d\n", what, (int)status);
                exit(1);
        }
}

static xnn_operator_t made(const struct layer *l, int quantized)
{
        xnn_operator_t op = NULL;
        const size_t in = l->channels / l->groups, out = l->outputs / l->groups;
        const size_t weights = (size_t)l->outputs * in * l->rows * l->columns;
        const size_t x = (size_t)l->height * l->width * l->channels;
        const size_t y = (size_t)((l->height + l->top + l->bottom - l->rows) / l->stride + 1) *
                         ((l->width + l->left + l->right - l->columns) / l->stride + 1) * l->outputs;
        if (quantized) {
                int8_t *w = fresh(weights);
                float *scales = fresh(l->outputs * sizeof *scales);
                for (size_t i = 0; i < weights; i++)
                        w[i] = (int8_t)(i * 7 % 255 - 127);
                for (unsigned i = 0; i < l->outputs; i++)
                        scales[i] = .01f;
                check(xnn_create_convolution2d_nhwc_qc8(l->top, l->right, l->bottom, l->left, l->rows, l->columns, l->stride, l->stride, 1, 1, l->groups, in, out,
                                                        l->channels, l->outputs, 3, .5f, scales, w, fresh(l->outputs * sizeof(int32_t)), 4, 1, -128, 127, 0, &op),
                      "create");
                check(xnn_setup_convolution2d_nhwc_qc8(op, 1, l->height, l->width, fresh(x), fresh(y), NULL), "setup");
        } else {
                float *w = fresh(weights * sizeof *w);
                for (size_t i = 0; i < weights; i++)
                        w[i] = (float)(i % 7) / 8;
                check(xnn_create_convolution2d_nhwc_f32(l->top, l->right, l->bottom, l->left, l->rows, l->columns, l->stride, l->stride, 1, 1, l->groups, in, out,
                                                        l->channels, l->outputs, w, fresh(l->outputs * sizeof(float)), 0, 1e30f, 0, &op),
                      "create");
                check(xnn_setup_convolution2d_nhwc_f32(op, 1, l->height, l->width, fresh(x * sizeof(float)), fresh(y * sizeof(float)), NULL), "setup");
        }
        return op;
}

int main(int argc, char **argv)
{
        static xnn_operator_t layers[LAYERS_MAX];
        const int turns = argc > 1 ? atoi(argv[1]) : 1;
        struct layer l;
        char kind[8];
        int count = 0;
        check(xnn_initialize(NULL), "initialize");
        while (count < LAYERS_MAX && scanf("%7s %u %u %u %u %u %u %u %u %u %u %u %u", kind, &l.height, &l.width, &l.channels, &l.outputs, &l.rows, &l.columns,
                                           &l.stride, &l.top, &l.right, &l.bottom, &l.left, &l.groups) == 13)
                layers[count++] = made(&l, !strcmp(kind, "qc8"));
        for (int turn = 0; turn < turns; turn++)
                for (int i = 0; i < count; i++)
                        check(xnn_run_operator(layers[i], NULL), "run");
        return 0;
}
