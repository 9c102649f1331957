/* SPDX-License-Identifier: MIT */
/* All files of this room share this: the state of an import, layers as importers see them, errors.
 * The entry point is caffe_import (front/import.h).
 *
 *   caffe.proto           messages of the format; caffe_training.def has fields that are left out
 *   caffe_rows.c          the rows of caffe_layers.def
 *   caffe_report.c        errors, and the list of what is not supported
 *   caffe_read.c          a network's layers, of either version; the file of weights
 *   caffe_helpers.h       what importers share
 *   caffe_op_*.c          importers, which check and decode a layer, and call front/compose
 *   caffe_facts.c         what a network says of itself (--info)
 *   caffe_model.c         the walk over the layers
 *
 * A file calls files above it in this list, and rows bring importers to the walk. Nothing recurses
 * on the depth of the input. Text of a model reaches a message through text_safe alone. */
#ifndef FRONT_CAFFE_CAFFE_H
#define FRONT_CAFFE_CAFFE_H

#include "front/compose/compose.h"
#include "front/import.h"
#include "front/refusals.h"
#include "front/wire.h"

#include "caffe.pb-c.h"                 /* It is generated from caffe.proto; text fields are
                                         * bytes. */

/* A layer of any number of bottoms, or tops, has at most so many. */
enum { CAFFE_ANY = 4096 };

/* ---- rows (caffe_rows.c) ---- */

enum caffe_kind { CAFFE_IMPORTED, CAFFE_IS_LOSS, CAFFE_IS_DATA };

struct caffe_import;
struct caffe_layer;
struct caffe_row {
        const char *type;
        enum caffe_kind kind;
        const char *parameter;          /* It is a field of LayerParameter; or "none". */
        int bottoms_min, bottoms_max, tops_max;
        bool (*import)(struct caffe_import *im, struct caffe_layer *n);
        int variant;                    /* It tells the importer which layer it is. */
        bool each;                      /* The layer is element by element. */
};
/* Sets *rows to the table, for --help-ops too, and returns how many there are. */
int caffe_rows(const struct caffe_row **rows);
/* Returns the row of the type, or NULL; `old` types are those of files of 2014. */
const struct caffe_row *caffe_row_find(const char *type, bool old);

/* ---- the state of an import ---- */

/* This is what a name stands for at a place in the network: a layer may take a name and give it
 * anew. */
struct caffe_blob {
        const char *name;               /* It is the file's name as it stands, */
        const char *safe;               /* and safe to print. */
        struct value *value;            /* NULL: a layer that is not supported would make it. */
        struct value *input;            /* It is the function's input where it is one, whatever
                                         * layers give the name anew. */
        bool is_input;
        bool taken;                     /* A layer has taken what the name stands for now. */
};

struct caffe_layer {
        const struct caffe_row *row;    /* NULL: there is none of its type. */
        Caffe__LayerParameter *p;       /* A layer of 2014 is made one of these. */
        const char *name, *type;        /* They are safe to print. */
        const char *key;                /* It is the name as it stands. */
        bool needed;                    /* An output depends on it. */
        int bottom_count, top_count;
        struct value **bottoms;
        struct value **tops;            /* The importer sets them. */
        int blob_count;                 /* It counts its blobs (weights), once they were asked
                                         * for. */
        Caffe__BlobProto **blobs;
        const ProtobufCBinaryData *long_data;     /* It is that of their file. */
};

/* This is a network as a file has it. */
struct caffe_net {
        const Caffe__NetParameter *p;
        const ProtobufCBinaryData *long_data;
        struct caffe_layer *layers;
        int count;
        bool old;                       /* Its layers are those of 2014. */
};

struct caffe_import {
        struct module *m;
        struct builder b;
        struct compose *c;              /* It builds the meaning of layers with b. */
        struct diag *diag;
        struct pass_context *context;
        const struct import_options *options;
        struct arena *arena;            /* It lives as long as the import. */
        struct function *f;
        const unsigned char *bytes;     /* The file of the network has these. */
        size_t length;
        struct caffe_net net;
        struct map *blobs;              /* It maps names to struct caffe_blob, */
        struct caffe_blob **list;       /* which stand here in the order in which they came. */
        int blob_count;
        unsigned char *weights;         /* The file of weights has these bytes; NULL: it was not
                                         * read. */
        size_t weights_length;
        struct map *trained;            /* It maps names to layers of that file. */
        void (*dependency)(void *context, const char *path);
        void *dependency_context;
        const struct caffe_layer *layer;          /* It is the layer at hand, or NULL. */
        int64_t made;                   /* Constants that layers are made of have so many bytes,
                                         * beside those of weights. */
        struct refusals refusals;
};

/* ---- errors (caffe_report.c); all return false ---- */

/* An error of the file that is not one of a layer. */
bool caffe_error(struct caffe_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* An error of the command. */
bool caffe_usage(struct caffe_import *im, const char *option, const char *text, const char *what);
/* An error of the layer at hand. */
bool caffe_invalid(struct caffe_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* Adds a line about the layer at hand to the list of what is not supported. */
bool caffe_unsupported(struct caffe_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* ---- files (caffe_read.c) ---- */

/* Reads the network of im->bytes into im->net: its layers in the phase of testing, those of 2014
 * made like the others. */
bool caffe_read_net(struct caffe_import *im);
/* Sets the blobs of the layer at hand: its own or, where it has none, those that the file of
 * weights has for its name. Returns false after an error. */
bool caffe_read_blobs(struct caffe_import *im, struct caffe_layer *n);
/* Returns how many numbers one of them has. */
int64_t caffe_blob_numbers(const struct caffe_layer *n, int i);

/* ---- what a network says of itself (caffe_facts.c) ---- */

void caffe_facts(struct caffe_import *im, struct caffe_blob *const *outputs, int count,
                 struct model_facts *facts);

#endif
