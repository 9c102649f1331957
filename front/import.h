/* SPDX-License-Identifier: MIT */
/* Import: a model file becomes a module of Tensor IR. Each format has one function. */
#ifndef FRONT_IMPORT_H
#define FRONT_IMPORT_H

#include "ir/tensor/tensor.h"
#include "passes/pass.h"

/* What a model file says of itself, whether or not it can be imported (--info). Texts have been
 * made safe to print, and lie in `arena`, which the caller sets. */
struct model_port { const char *name, *type; };           /* type: "f32 <N x 3>" */
struct model_operator {
        const char *name;               /* "Conv", "com.microsoft.Gelu" */
        int count;                      /* nodes of it, in all graphs and functions */
        bool supported;                 /* a row for its opset, or a function of the model, makes
                                         * it */
};
/* A name that options may use. kind: "dim" (a symbolic dimension of an input), "input", "output",
 * "value" (the result of a node), "node". */
struct model_name { const char *kind, *name; };
struct model_facts {
        struct arena *arena;
        bool known;                     /* the file is a model, and the fields below are set */
        struct model_port *inputs, *outputs;
        int input_count, output_count;
        const char **opsets;            /* "ai.onnx 17" */
        int opset_count;
        struct model_operator *operators; /* each once, in the model's order */
        int operator_count;
        int64_t parameters;             /* elements of initializers; INT64_MAX: that many or more */
        struct model_name *names;       /* names of the main graph, each once in its kind */
        int name_count;
        const char *command;            /* the command that would bind all open dimensions */
};

struct import_options {
        const char *path;               /* of the model; NULL: it came from standard input, and has
                                         * no external data */
        const char *external_dir;       /* --allow-external=DIR; NULL: the model's folder */
        const char *const *dims;        /* --dim: "NAME=N" each */
        int dim_count;
        const char *const *inputs;      /* --input: "NAME=1x3x224x224" each */
        int input_count;
        const char *const *outputs;     /* --output: names of the only values that are outputs */
        int output_count;
        const char *const *keep;        /* --keep: names of values that become outputs as well,
                                         * after the others */
        int keep_count;
        const char *seed;               /* --seed: of random numbers, or "input"; NULL: not given */
        int channel_block;              /* --nchwc: 8 or 16; 0: not given */
        struct model_facts *facts;      /* is filled; NULL: nobody asks for facts */
};

/* Returns bytes: the whole file, in which constants of the module lie. m->source becomes the
 * digest of these bytes and of external data. dependency(dependency_context, path) is called for
 * each file that is read besides the model. Returns NULL after errors were reported. */
struct module *onnx_import(const unsigned char *bytes, size_t length,
                           const struct import_options *options, struct pass_context *context,
                           void (*dependency)(void *context, const char *path),
                           void *dependency_context);

/* The TensorProto in a file, as a constant of m, which the data live as long as. NULL after one
 * error. */
struct value *onnx_tensor_file(struct module *m, const char *path, struct pass_context *context);

#endif
