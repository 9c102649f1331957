/* SPDX-License-Identifier: MIT */
/* Import: a model file becomes a module of Tensor IR. One function per framework format. */
#ifndef FRONT_IMPORT_H
#define FRONT_IMPORT_H

#include "ir/tensor/tensor.h"
#include "passes/pass.h"

/* What a model file says of itself, whether or not it can be imported (--info). Texts are safe and in
 * `arena`, which the caller sets. */
struct model_port { const char *name, *type; };           /* type: "f32 <N x 3>" */
struct model_operator {
        const char *name;               /* "Conv", "com.microsoft.Gelu" */
        int count;                      /* in all graphs and functions */
        bool supported;                 /* there is a row for its opset, or a function of the model */
};
/* what options call by name: a symbolic dimension of an input ("dim"), "input", "output", "value" that a node
 * makes, "node" */
struct model_name { const char *kind, *name; };
struct model_facts {
        struct arena *arena;
        bool known;                     /* the file is a model: all below is set */
        struct model_port *inputs, *outputs;
        int input_count, output_count;
        const char **opsets;            /* "ai.onnx 17" */
        int opset_count;
        struct model_operator *operators;         /* as they appear first */
        int operator_count;
        int64_t parameters;             /* elements of initializers; INT64_MAX and more: that */
        struct model_name *names;       /* of the main graph, each once in its kind */
        int name_count;
        const char *command;            /* that would bind what is open */
};

struct import_options {
        const char *path;               /* of the model; NULL: from standard input, then no external
                                         * data */
        const char *external_dir;       /* --allow-external=DIR, or NULL: the model's folder */
        const char *const *dims;        /* --dim NAME=N, "NAME=N" each */
        int dim_count;
        const char *const *inputs;      /* --input NAME=1x3x224x224 */
        int input_count;
        const char *const *outputs;     /* --output NAME: only these graph outputs (or any value) */
        int output_count;
        const char *const *keep;        /* --keep NAME: values added as outputs, after the others */
        int keep_count;
        struct model_facts *facts;      /* NULL: not asked for */
};

/* bytes: the whole file; the module has constants there. They are hashed into m->source with the
 * external data read. Files read besides the model are reported through dependency(context, path).
 * Returns NULL after the errors were reported. */
struct module *onnx_import(const unsigned char *bytes, size_t length,
                           const struct import_options *options, struct pass_context *context,
                           void (*dependency)(void *context, const char *path),
                           void *dependency_context);

/* A file that holds one TensorProto, as a constant of m; the data live as long as m. NULL after one
 * error. */
struct value *onnx_tensor_file(struct module *m, const char *path, struct pass_context *context);

#endif
