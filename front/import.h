/* SPDX-License-Identifier: MIT */
/* A model file is imported as a module of Tensor IR. Each format has one function. */
#ifndef FRONT_IMPORT_H
#define FRONT_IMPORT_H

#include "ir/tensor/tensor.h"
#include "passes/pass.h"

/* A model file says this of itself, whether or not it can be imported (--info). Texts have been
 * made safe to print, and lie in `arena`, which the caller sets. */
struct model_port { const char *name, *type; };           /* A type reads "f32 <N x 3>". */
struct model_operator {
        const char *name;               /* A name reads "Conv", or "com.microsoft.Gelu". */
        int count;                      /* There are so many nodes of it, in all graphs and
                                         * functions. */
        bool supported;                 /* A row for its opset, or a function of the model, makes
                                         * it. */
};
/* Options may use this name. Its kind is "dim" (a symbolic dimension of an input), "input",
 * "output", "value" (the result of a node) or "node". */
struct model_name { const char *kind, *name; };
/* Texts that a language model's tokens stand for, as its file has them. */
enum model_token_kind {
        TOKEN_NORMAL,
        TOKEN_BYTE,                     /* One byte, of a character that has no token. */
        TOKEN_CONTROL,                  /* It is no part of a text. */
        TOKEN_WHOLE                     /* No two tokens are joined to it. */
};
struct model_token {
        const char *text;               /* `length` bytes, whatever they are. */
        size_t length;
        double score;                   /* Of two pairs that may be joined the higher one is. */
        enum model_token_kind kind;
};
struct model_vocabulary {
        struct model_token *tokens;
        int count, begin, end;          /* Tokens that a text begins and ends with; -1: none. */
        bool space;                     /* A blank stands in front of a text. */
};
struct model_facts {
        struct arena *arena;
        bool known;                     /* The file is a model, and the fields below are set. */
        struct model_port *inputs, *outputs;
        int input_count, output_count;
        const char **opsets;            /* An entry reads "ai.onnx 17". */
        int opset_count;
        struct model_operator *operators; /* Each stands here once, in the model's order. */
        int operator_count;
        int64_t parameters;             /* It counts elements of initializers; INT64_MAX stands for
                                         * that many or more. */
        struct model_name *names;       /* These are names of the main graph, or of all entries that
                                         * the file has by itself, each once in its kind. */
        int name_count;
        const struct model_vocabulary *vocabulary;        /* NULL: the file has none. */
        const char *command;            /* The command that would bind all open dimensions. */
};

/* A file of --define: an ONNX model, whose functions count, or a text of Tensor IR. Its text lives
 * as long as the module. */
struct import_definition {
        const char *path;               /* It is safe to print. */
        bool is_text;                   /* It is of Tensor IR. */
        const char *text;
        size_t length;
};

/* --define NAME=c:SYMBOL: the C function `symbol` stands for func @name of a text of --define. */
struct import_symbol { const char *name, *symbol; };

/* The derivatives by these initializers of floats are asked for (--gradient), so operations on them
 * are not folded while the model is read. */
struct import_weight {
        const char *name;
        struct value *value;
        bool setting;                   /* It is a number that a node is told, as bounds are and the
                                         * moments that a normalization recorded: no weight. */
};
struct import_weights {
        bool all;                       /* Any initializer is meant, else those of these names. */
        const char *const *names;
        int name_count;
        struct import_weight *found;    /* The import lists those that the model has. */
        int found_count;
};

/* A node makes one thing in inference and another one in a step of training: BatchNormalization,
 * Dropout. */
struct import_mode {
        struct value *made;             /* It selects one of both by `on` below. */
        struct value *inferred, *trained;
        struct value *moments[2];       /* They are initializers, a normalization's recorded mean
                                         * and variance, or NULL. */
        struct value *next[2];          /* These are the moments behind a step. */
};
/* --training-mode: nodes in training are those that say so, or all, or none. */
enum import_training_nodes { TRAINING_STATED, TRAINING_ALL, TRAINING_NONE };
/* --train: the import adds two inputs behind those of the model, and lists the nodes in training.
 * What makes the step puts one mode or the other in their place. */
struct import_training {
        enum import_training_nodes nodes;
        struct value *on, *step;        /* Inputs: is it a step (bool), and its number (i64). Random
                                         * numbers differ from step to step. */
        struct import_mode *modes;
        int mode_count;
};

struct import_options {
        const char *path;               /* It is the model's path; where it is NULL the model came
                                         * from standard input, and has no external data. */
        const char *external_dir;       /* External data lie in this folder, by
                                         * --allow-external=DIR; NULL stands for the model's
                                         * folder. */
        const char *const *dims;        /* Each --dim has "NAME=N". */
        int dim_count;
        const char *const *inputs;      /* Each --input has "NAME=1x3x224x224". */
        int input_count;
        const char *const *outputs;     /* --output names the only values that are outputs. */
        int output_count;
        const char *const *keep;        /* --keep names values that become outputs as well, after
                                         * the others. */
        int keep_count;
        const char *const *text_bytes;  /* Each --text-bytes has "64", or "NAME=64". */
        int text_byte_count;
        const struct import_definition *definitions;      /* --define names these files. */
        int definition_count;
        const struct import_symbol *symbols;    /* C functions stand for some of them. */
        int symbol_count;
        const char *seed;               /* --seed states it for random numbers, or it is "input"; it
                                         * is NULL where it is not given. */
        struct import_weights *weights; /* NULL: no derivatives are asked for. */
        struct import_training *training; /* NULL: no step of training is made. */
        int channel_block;              /* --nchwc states 8 or 16; it is 0 where it is not given. */
        struct module *into;            /* The model becomes a function of this module; where it is
                                         * NULL a module is made. */
        const char *function;           /* The function has this name; NULL stands for "main". */
        struct model_facts *facts;      /* The import fills it; where it is NULL nobody asks for
                                         * facts. */
};

/* A function of this type reads `bytes`, the whole file, in which constants of the module lie, and
 * returns the module. m->source becomes the digest of these bytes and of external data.
 * dependency(dependency_context, path) is called for each file that is read besides the model.
 * Returns NULL after errors were reported. */
typedef struct module *import_function(const unsigned char *bytes, size_t length,
                                       const struct import_options *options,
                                       struct pass_context *context,
                                       void (*dependency)(void *context, const char *path),
                                       void *dependency_context);
import_function onnx_import, tflite_import, gguf_import, caffe_import, tensorflow_import;
/* Sets m->source to the digest of the model's bytes, and of those of another file (NULL: there is
 * none). */
void import_source(struct module *m, const unsigned char *bytes, size_t length,
                   const unsigned char *more, size_t more_length,
                   const struct import_options *options);
/* Reads extents as --input has them, behind NAME=: "1x3x8", each at least 1. Returns the rank, or
 * -1. */
int import_extents(const char *text, int64_t *extents);
/* A function of this type sets *names to the entries that a file has by itself, where these are
 * several, and returns how many they are, or -1 after an error. */
typedef int import_entries(const unsigned char *bytes, size_t length, struct arena *arena,
                           struct diag *diag, const char ***names);
import_entries tflite_entries, tensorflow_entries;
/* Is it a TFLite file, by its identifier? */
bool tflite_is_file(const unsigned char *bytes, size_t length);
/* Is it a GGUF file, by its first bytes? */
bool gguf_is_file(const unsigned char *bytes, size_t length);

/* Is it a network of Caffe, by the first field of its text, or by the fields of its bytes? */
bool caffe_is_file(const unsigned char *bytes, size_t length);
/* Is it a graph or a SavedModel of TensorFlow, by its first fields? */
bool tensorflow_is_file(const unsigned char *bytes, size_t length);

/* Returns the TensorProto in a file as a constant of m, whose data live as long as m, or NULL after
 * one error. Texts are bytes, of which the last extent is as many as the longest one has and a NUL;
 * *is_text says that they are texts. */
struct value *onnx_tensor_file(struct module *m, const char *path, struct pass_context *context,
                               bool *is_text);

#endif
