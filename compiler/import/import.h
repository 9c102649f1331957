/* Import: a model file becomes a module of Tensor IR. One function per framework format. */
#ifndef COMPILER_IMPORT_IMPORT_H
#define COMPILER_IMPORT_IMPORT_H

#include "ir/tensor.h"
#include "passes/pass.h"

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
