/* SPDX-License-Identifier: MIT */
/* This loads a model that is given on the command line, and runs it:
 *
 *     jit model.onnx [option of dnncc]..
 *
 * Inputs are bytes of a file each, $INPUT_0 and so on, or zeros; what comes out is said by its mean. */
#include <dnncc_jit.h>
#include <dnncc_runtime.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FLOAT = 1, UINT8 = 2, INT8 = 3 };        /* of TensorProto.DataType */

static void *room_for(const struct dnncc_tensor_1 *t) { return calloc(1, (size_t)t->bytes + 1); }

static int read_input(unsigned k, const struct dnncc_tensor_1 *t, void *data)
{
        char name[32];
        snprintf(name, sizeof name, "INPUT_%u", k);
        const char *path = getenv(name);
        FILE *file = path ? fopen(path, "rb") : NULL;
        if (!path)
                return 1;
        if (!file || fread(data, 1, (size_t)t->bytes, file) != t->bytes) {
                fprintf(stderr, "%s: %" PRIu64 " bytes of '%s' cannot be read\n", path, t->bytes, t->name);
                return 0;
        }
        return !fclose(file);
}

static double element(const struct dnncc_tensor_1 *t, const void *data, size_t i)
{
        return t->type == FLOAT   ? (double)((const float *)data)[i]
               : t->type == INT8  ? ((const signed char *)data)[i]
               : t->type == UINT8 ? ((const unsigned char *)data)[i]
                                  : 0;
}

static void say_output(const struct dnncc_tensor_1 *t, const void *data)
{
        size_t count = 1;
        double sum = 0;
        printf("%s:", t->name);
        for (int d = 0; d < t->rank; d++) {
                printf("%s%" PRId64, d ? " x " : " ", t->shape[d]);
                count *= (size_t)t->shape[d];
        }
        for (size_t i = 0; i < count; i++)
                sum += element(t, data, i);
        printf(", mean %g\n", count ? sum / (double)count : 0);
}

/* Runs the model once on what the environment says; returns what the program exits with. */
static int run(struct dnncc_model *model)
{
        const struct dnncc_model_1 *d = dnncc_describe(model);
        if (d->extent_count)
                return fprintf(stderr, "a dimension is open: give it by --dim=NAME=N\n"), 1;
        void **in = calloc(d->input_count + 1, sizeof *in), **out = calloc(d->output_count + 1, sizeof *out);
        int fine = in && out;
        for (unsigned k = 0; fine && k < d->input_count; k++)
                fine = (in[k] = room_for(&d->inputs[k])) && read_input(k, &d->inputs[k], in[k]);
        for (unsigned k = 0; fine && k < d->output_count; k++)
                fine = (out[k] = room_for(&d->outputs[k])) != NULL;
        int code = fine ? dnncc_run(model, (const void *const *)in, out, NULL) : 0;
        if (code)
                fprintf(stderr, "%s\n", dnncc_error_text(code));
        for (unsigned k = 0; fine && !code && k < d->output_count; k++)
                say_output(&d->outputs[k], out[k]);
        for (unsigned k = 0; in && k < d->input_count; k++)
                free(in[k]);
        for (unsigned k = 0; out && k < d->output_count; k++)
                free(out[k]);
        free(in);
        free(out);
        return !fine || code;
}

int main(int argc, char **argv)
{
        if (argc < 2)
                return fprintf(stderr, "usage: jit model.onnx [option of dnncc]..\n"), 1;
        struct dnncc_error error;
        struct dnncc_model *model = dnncc_load(argv[1], (const char *const *)argv + 2, &error);
        if (!model)
                return fprintf(stderr, "%s: %s\n", argv[1], error.text), error.code;
        int code = run(model);
        dnncc_free(model);
        return code;
}
