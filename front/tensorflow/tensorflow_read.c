/* SPDX-License-Identifier: MIT */
/* A file is a GraphDef or a SavedModel; what its attributes and types say. */
#include "front/tensorflow/tensorflow.h"

#include <string.h>

#include "base/text.h"

static const struct wire_format graph_format = { &tf__graph__descriptor,
                                                 "a graph of TensorFlow",
                                                 NULL,
                                                 NULL,
                                                 &tf__tensor__descriptor,
                                                 "tensor_content" };
static const struct wire_format saved_format = { &tf__saved_model__descriptor,
                                                 "a SavedModel of TensorFlow",
                                                 NULL,
                                                 NULL,
                                                 &tf__tensor__descriptor,
                                                 "tensor_content" };

/* ---- which file is a model ---- */

enum { LENGTH = 2 };

/* Reads a number of the wire format; returns false at the end, or where it has too many bytes. */
static bool next_number(const unsigned char **at, const unsigned char *end, uint64_t *number)
{
        *number = 0;
        for (int shift = 0; *at < end && shift < 64; shift += 7) {
                const unsigned char byte = *(*at)++;
                *number |= (uint64_t)(byte & 127) << shift;
                if (byte < 128)
                        return true;
        }
        return false;
}

/* Reads the start of a field that has a length; the contents may pass the end of the file. */
static bool next_field(const unsigned char **at, const unsigned char *end, uint64_t number,
                       uint64_t *length)
{
        uint64_t tag;
        return next_number(at, end, &tag) && tag == (number << 3 | LENGTH) &&
               next_number(at, end, length);
}

/* Reads a name: printable, of at least one character. */
static bool next_name(const unsigned char **at, const unsigned char *end, uint64_t number)
{
        uint64_t length;
        if (!next_field(at, end, number, &length) || !length || length > (uint64_t)(end - *at))
                return false;
        for (; length; length--, ++*at)
                if (**at <= ' ' || **at > '~')
                        return false;
        return true;
}

/* A graph begins with a node, which begins with its name and its operator. */
static bool is_graph(const unsigned char *bytes, size_t length)
{
        const unsigned char *at = bytes, *end = bytes + length;
        uint64_t size;
        return next_field(&at, end, 1, &size) && next_name(&at, end, 1) && next_name(&at, end, 2);
}

/* A SavedModel has a version and graphs with their information. A model of ONNX begins with a
 * version, too, and behind that has texts and other fields. */
static bool is_saved_model(const unsigned char *bytes, size_t length)
{
        enum { VERSION = 1 << 3, GRAPHS = 2, INFORMATION = 1 };
        const unsigned char *at = bytes, *end = bytes + length;
        uint64_t tag, version, size;
        return next_number(&at, end, &tag) && tag == VERSION && next_number(&at, end, &version) &&
               version == 1 && next_field(&at, end, GRAPHS, &size) && size > LENGTH &&
               size + LENGTH > (uint64_t)(end - at) / 2 &&
               next_field(&at, end, INFORMATION, &size);
}

bool tensorflow_is_file(const unsigned char *bytes, size_t length)
{
        return is_graph(bytes, length) || is_saved_model(bytes, length);
}

static const Tf__MetaGraph *served_graph(const Tf__SavedModel *p)
{
        static const char serve[] = "serve";
        for (size_t i = 0; i < p->n_meta_graphs; i++) {
                const Tf__MetaInfo *info = p->meta_graphs[i]->meta_info_def;
                for (size_t k = 0; info && k < info->n_tags; k++)
                        if (tf_same(info->tags[k], serve, strlen(serve)))
                                return p->meta_graphs[i];
        }
        return p->n_meta_graphs ? p->meta_graphs[0] : NULL;
}

bool tf_read_file(struct tf_import *im)
{
        struct wire_image image = { .arena = im->arena };
        const bool is_saved = is_saved_model(im->bytes, im->length);
        const ProtobufCMessage *p =
                wire_unpack(im->m, im->bytes, im->length, is_saved ? &saved_format : &graph_format,
                            &im->context->limits, &image, im->diag);
        im->long_data = image.long_data;
        if (!p)
                return false;
        if (!is_saved) {
                im->p = (const Tf__Graph *)p;
                return im->p->n_node || tf_error(im, "the graph has no nodes");
        }
        im->meta = served_graph((const Tf__SavedModel *)p);
        im->p = im->meta ? im->meta->graph_def : NULL;
        return im->p || tf_error(im, "the SavedModel has no graph");
}

/* ---- types ---- */

bool tf_element(int64_t type, enum element *e)
{
        static const struct { int64_t type; enum element e; } elements[] = {
                { 1, E_F32 }, { 2, E_F64 }, { 3, E_I32 }, { 4, E_U8 }, { 5, E_I16 }, { 6, E_I8 },
                { 9, E_I64 }, { 10, E_BOOL }, { 11, E_I8 }, { 12, E_U8 }, { 13, E_I32 },
                { 14, E_BF16 }, { 15, E_I16 }, { 16, E_U16 }, { 17, E_U16 }, { 19, E_F16 },
                { 22, E_U32 }, { 23, E_U64 },
        };
        for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
                if (elements[i].type == type || elements[i].type + TF_REFERENCE == type) {
                        *e = elements[i].e;
                        return true;
                }
        return false;
}

int tf_extents(struct tf_import *im, const Tf__Shape *shape, int64_t *extents)
{
        if (!shape || shape->unknown_rank)
                return -1;
        if (shape->n_dim > RANK_MAX) {
                diag_error(im->diag, EXIT_UNSUPPORTED,
                           "a shape of %zu dimensions, at most %d are supported", shape->n_dim,
                           RANK_MAX);
                return -2;
        }
        for (size_t d = 0; d < shape->n_dim; d++) {
                extents[d] = shape->dim[d]->size;
                if (extents[d] < -1) {
                        tf_error(im, "a shape has the extent %lld", (long long)extents[d]);
                        return -2;
                }
        }
        return (int)shape->n_dim;
}

/* ---- attributes ---- */

const Tf__AttrValue *tf_attr(const struct tf_node *n, const char *name)
{
        const size_t length = strlen(name);
        for (size_t i = 0; i < n->g->p->n_attr; i++)
                if (tf_same(n->g->p->attr[i]->key, name, length))
                        return n->g->p->attr[i]->value;
        return NULL;
}

int64_t tf_int(const struct tf_node *n, const char *name, int64_t preset)
{
        const Tf__AttrValue *a = tf_attr(n, name);
        return a && a->value_case == TF__ATTR_VALUE__VALUE_I ? a->i : preset;
}

double tf_float(const struct tf_node *n, const char *name, double preset)
{
        const Tf__AttrValue *a = tf_attr(n, name);
        return a && a->value_case == TF__ATTR_VALUE__VALUE_F ? (double)a->f : preset;
}

bool tf_bool(const struct tf_node *n, const char *name, bool preset)
{
        const Tf__AttrValue *a = tf_attr(n, name);
        return a && a->value_case == TF__ATTR_VALUE__VALUE_B ? a->b : preset;
}

int64_t tf_type(const struct tf_node *n, const char *name, int64_t preset)
{
        const Tf__AttrValue *a = tf_attr(n, name);
        return a && a->value_case == TF__ATTR_VALUE__VALUE_TYPE ? a->type : preset;
}

const Tf__AttrList *tf_list(const struct tf_node *n, const char *name)
{
        const Tf__AttrValue *a = tf_attr(n, name);
        return a && a->value_case == TF__ATTR_VALUE__VALUE_LIST ? a->list : NULL;
}

int tf_word(struct tf_import *im, const struct tf_node *n, const char *name,
            const char *const *words, int preset)
{
        const Tf__AttrValue *a = tf_attr(n, name);
        if (!a || a->value_case != TF__ATTR_VALUE__VALUE_S)
                return preset;
        for (int i = 0; words[i]; i++)
                if (tf_same(a->s, words[i], strlen(words[i])))
                        return i;
        tf_unsupported(im, "%s is '%s'", name, tf_safe(im, a->s));
        return -1;
}

const bytes_t *tf_function(const struct tf_node *n, const char *name)
{
        const Tf__AttrValue *a = tf_attr(n, name);
        return a && a->value_case == TF__ATTR_VALUE__VALUE_FUNC ? &a->func->name : NULL;
}
