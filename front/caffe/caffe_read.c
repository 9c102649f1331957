/* SPDX-License-Identifier: MIT */
/* A network is read, from text or bytes, and its layers are made alike: one of 2014 becomes one of
 * today, whose fields have the same names. Weights are read from another file, NAME.caffemodel
 * beside NAME.prototxt, once a layer asks for them. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "front/caffe/caffe.h"
#include "front/text_format.h"

static const struct wire_format net_format = { &caffe__net_parameter__descriptor,
                                               "a Caffe network",
                                               NULL,
                                               NULL,
                                               &caffe__blob_proto__descriptor,
                                               "data" };
static const char *const training[] = {
#define CAFFE_TRAINING(name) #name,
#include "front/caffe/caffe_training.def"
        NULL
};
static const struct text_format text_format = { &caffe__net_parameter__descriptor, training };

/* ---- which file is a network ---- */

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

/* Bytes are a network's where its fields are: a name, which comes first, and layers. A graph of
 * TensorFlow has many fields with the name's number. */
static bool is_wire(const unsigned char *bytes, size_t length)
{
        enum { NAME = 1, LAYERS = 2, LAYER = 100, LENGTH = 2 };
        const unsigned char *at = bytes, *end = bytes + length;
        int names = 0;
        while (at < end) {
                uint64_t tag, size;
                if (!next_number(&at, end, &tag) || !next_number(&at, end, &size))
                        return false;
                if (tag == (LAYER << 3 | LENGTH))
                        return names <= 1;
                if ((tag & 7) == LENGTH && size > (uint64_t)(end - at))
                        return false;
                if ((tag & 7) != LENGTH && (tag & 7) != 0)
                        return false;
                names += tag == (NAME << 3 | LENGTH);
                if (tag == (LAYERS << 3 | LENGTH) && names == 1)
                        return true;
                at += (tag & 7) == LENGTH ? size : 0;
        }
        return false;
}

bool caffe_is_file(const unsigned char *bytes, size_t length)
{
        return text_format_begins(bytes, length, net_format.message) || is_wire(bytes, length);
}

/* ---- layers ---- */

/* Reads a name, which has no NUL. Returns NULL after an error. */
static const char *name_of(struct caffe_import *im, ProtobufCBinaryData bytes, const char *what)
{
        if (bytes.len && memchr(bytes.data, 0, bytes.len)) {
                caffe_error(im, "%s '%s' holds a NUL", what,
                            text_safe(im->arena, (const char *)bytes.data, bytes.len));
                return NULL;
        }
        char *name = arena_alloc(im->arena, bytes.len + 1);
        if (bytes.len)
                memcpy(name, bytes.data, bytes.len);
        name[bytes.len] = 0;
        return name;
}

/* Copies the fields that both messages have: name, bottoms, tops, blobs, rules, parameters. */
static void copy_fields(const ProtobufCMessage *from, ProtobufCMessage *to)
{
        const ProtobufCMessageDescriptor *d = from->descriptor;
        for (unsigned i = 0; i < d->n_fields; i++) {
                const ProtobufCFieldDescriptor *f = &d->fields[i],
                        *t = protobuf_c_message_descriptor_get_field_by_name(to->descriptor,
                                                                             f->name);
                if (!t || t->type != f->type || t->descriptor != f->descriptor ||
                    t->label != f->label)
                        continue;
                const bool many = f->label == PROTOBUF_C_LABEL_REPEATED;
                const char *value = (const char *)from + f->offset;
                if (many)
                        memcpy((char *)to + t->quantifier_offset,
                               (const char *)from + f->quantifier_offset, sizeof(size_t));
                else if (f->quantifier_offset)
                        memcpy((char *)to + t->quantifier_offset,
                               (const char *)from + f->quantifier_offset,
                               sizeof(protobuf_c_boolean));
                memcpy((char *)to + t->offset, value,
                       !many && f->type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData)
                                                                 : sizeof(void *));
        }
}

/* Makes a layer of 2014 one of today. Returns NULL after an error. */
static Caffe__LayerParameter *upgraded(struct caffe_import *im, Caffe__V1LayerParameter *old)
{
        Caffe__LayerParameter *p = ARENA_NEW(im->arena, Caffe__LayerParameter);
        const ProtobufCEnumValue *type = protobuf_c_enum_descriptor_get_value(
                &caffe__v1_layer_parameter__layer_type__descriptor, (int)old->type);
        if (old->layer) {
                diag_error(im->diag, EXIT_UNSUPPORTED,
                           "the network has layers of 2013 (layers { layer { .. } }): "
                           "upgrade_net_proto_text of Caffe makes them newer");
                return NULL;
        }
        caffe__layer_parameter__init(p);
        copy_fields(&old->base, &p->base);
        const char *name = type ? type->name : "NONE";
        p->has_type = true;
        p->type = (ProtobufCBinaryData){ strlen(name), (uint8_t *)(uintptr_t)name };
        return p;
}

static bool has_stage(const ProtobufCBinaryData *stages, size_t count, ProtobufCBinaryData stage)
{
        for (size_t i = 0; i < count; i++)
                if (stages[i].len == stage.len &&
                    (!stage.len || !memcmp(stages[i].data, stage.data, stage.len)))
                        return true;
        return false;
}

static bool rule_meets(const Caffe__NetState *state, const Caffe__NetStateRule *rule)
{
        bool meets = (!rule->has_phase || rule->phase == CAFFE__PHASE__TEST) &&
                     (!rule->has_min_level || state->level >= rule->min_level) &&
                     (!rule->has_max_level || state->level <= rule->max_level);
        for (size_t i = 0; i < rule->n_stage; i++)
                meets &= has_stage(state->stage, state->n_stage, rule->stage[i]);
        for (size_t i = 0; i < rule->n_not_stage; i++)
                meets &= !has_stage(state->stage, state->n_stage, rule->not_stage[i]);
        return meets;
}

/* Is the layer there when the network is tested? */
static bool is_there(const struct caffe_net *net, const Caffe__LayerParameter *p)
{
        const Caffe__NetState preset = CAFFE__NET_STATE__INIT,
                              *state = net->p->state ? net->p->state : &preset;
        bool there = !p->n_include;
        for (size_t i = 0; i < p->n_include; i++)
                there |= rule_meets(state, p->include[i]);
        for (size_t i = 0; i < p->n_exclude; i++)
                there &= !rule_meets(state, p->exclude[i]);
        return there;
}

static bool add_layer(struct caffe_import *im, struct caffe_net *net, Caffe__LayerParameter *p)
{
        struct caffe_layer *n = &net->layers[net->count];
        const char *type = name_of(im, p->type, "the type");
        if (!is_there(net, p))
                return true;
        n->p = p;
        n->key = name_of(im, p->name, "the name");
        if (!n->key || !type)
                return false;
        n->name = text_safe(im->m->arena, n->key, strlen(n->key));
        n->row = caffe_row_find(type, net->old);
        n->type = text_safe(im->arena, n->row ? n->row->type : type,
                            strlen(n->row ? n->row->type : type));
        if (p->n_bottom > CAFFE_ANY || p->n_top > CAFFE_ANY)
                return caffe_error(im, "layer '%s' has more than %d bottoms or tops", n->name,
                                   CAFFE_ANY);
        n->bottom_count = (int)p->n_bottom;
        n->top_count = (int)p->n_top;
        net->count++;
        return true;
}

static bool add_layers(struct caffe_import *im, struct caffe_net *net)
{
        const size_t count = net->p->n_layer + net->p->n_layers;
        if (!count)
                return caffe_error(im, "not a Caffe network: it holds no layers");
        if (net->p->n_layer && net->p->n_layers)
                return caffe_error(im, "the network has both 'layer' and 'layers'");
        if ((int64_t)count > im->context->limits.nodes) {
                diag_error(im->diag, EXIT_INVALID,
                           "%zu layers: more than the limit of %lld (" DIAG_HINT(
                                   "raise it with --limit nodes=N") ")",
                           count, (long long)im->context->limits.nodes);
                return false;
        }
        net->old = net->p->n_layers > 0;
        net->layers = arena_array(im->arena, count, sizeof *net->layers);
        for (size_t i = 0; i < count; i++) {
                Caffe__LayerParameter *p =
                        net->old ? upgraded(im, net->p->layers[i]) : net->p->layer[i];
                if (!p || !add_layer(im, net, p))
                        return false;
        }
        return true;
}

/* Reads a network from its bytes, or its text. */
static bool read_net(struct caffe_import *im, const unsigned char *bytes, size_t length,
                     struct caffe_net *net)
{
        struct wire_image image = { .arena = im->arena };
        struct text wire = { 0 };
        const bool is_text = text_format_begins(bytes, length, net_format.message) ||
                             !is_wire(bytes, length);
        if (is_text) {
                if (!text_format_read(bytes, length, &text_format, &im->context->limits, &wire,
                                      im->diag))
                        return false;
                bytes = (const unsigned char *)wire.data;
                length = wire.length;
        }
        net->p = (const Caffe__NetParameter *)wire_unpack(im->m, bytes, length, &net_format,
                                                          &im->context->limits, &image, im->diag);
        text_free(&wire);               /* A text has its numbers one by one, so none stay there. */
        net->long_data = image.long_data;
        return net->p && add_layers(im, net);
}

bool caffe_read_net(struct caffe_import *im)
{
        return read_net(im, im->bytes, im->length, &im->net);
}

/* ---- weights ---- */

/* Reads the file of weights into im->weights, and sets *path to what it is called. */
static bool read_weights(struct caffe_import *im, const char **path)
{
        const struct import_options *o = im->options;
        const int64_t limit = im->context->limits.file_bytes;
        struct stat st;
        const bool named = o->external_dir != NULL;
        if (!named && (!o->path || !*o->path))
                return caffe_usage(im, "--allow-external", "FILE",
                                   "the network comes from standard input: this option names its "
                                   "file of weights");
        const bool is_folder = !named || (!stat(o->external_dir, &st) && S_ISDIR(st.st_mode));
        if (!is_folder) {
                *path = o->external_dir;
                return file_read(*path, limit, &im->weights, &im->weights_length, im->diag);
        }
        const char *stem = path_stem(im->arena, o->path ? o->path : "model", false),
                   *name = arena_printf(im->arena, "%s.caffemodel", stem);
        const char *folder = named ? o->external_dir : path_folder(im->arena, o->path);
        const bool here = !strcmp(folder, ".");
        *path = here ? name : arena_printf(im->arena, "%s/%s", folder, name);
        if (file_read_beneath(folder, name, limit, &im->weights, &im->weights_length, im->diag))
                return true;
        diag_hint(im->diag, "weights are read from %s; --allow-external=FILE names another file",
                  text_argument(im->arena, *path));
        return false;
}

static bool read_trained(struct caffe_import *im)
{
        const char *path = NULL, *subject = im->diag->subject;
        struct caffe_net net = { 0 };
        if (!read_weights(im, &path))
                return false;
        if (im->dependency)
                im->dependency(im->dependency_context, path);
        im->diag->subject = text_argument(im->arena, path);
        const bool ok = read_net(im, im->weights, im->weights_length, &net);
        im->diag->subject = subject;
        im->trained = map_new(im->arena);
        for (int i = 0; i < net.count && ok; i++) {
                struct caffe_layer *n = &net.layers[i];
                n->blobs = n->p->blobs;
                n->blob_count = (int)n->p->n_blobs;
                n->long_data = net.long_data;
                map_set(im->trained, n->key, strlen(n->key), n);
        }
        return ok;
}

bool caffe_read_blobs(struct caffe_import *im, struct caffe_layer *n)
{
        if (n->p->n_blobs) {
                n->blobs = n->p->blobs;
                n->blob_count = (int)n->p->n_blobs;
                n->long_data = im->net.long_data;
                return true;
        }
        if (!im->trained && !read_trained(im))
                return false;
        const struct caffe_layer *trained = map_get(im->trained, n->key, strlen(n->key));
        if (!trained)
                return caffe_invalid(im, "the file of weights has no layer of this name");
        n->blobs = trained->blobs;
        n->blob_count = trained->blob_count;
        n->long_data = trained->long_data;
        return true;
}

int64_t caffe_blob_numbers(const struct caffe_layer *n, int i)
{
        const Caffe__BlobProto *p = n->blobs[i];
        size_t count = p->n_data + p->n_double_data;
        for (size_t k = 0; k < p->n_long_data; k++)
                count += n->long_data[p->long_data[k]].len / sizeof(float);
        return (int64_t)count;
}
