/* SPDX-License-Identifier: MIT */
/* Access to a node's attributes is checked. A type tag must be there and say the truth; the
 * importer must ask for every attribute, or it has a meaning that dnncc does not know. */
#include "front/onnx/onnx_model.h"

#include <limits.h>
#include <string.h>

typedef Onnx__AttributeProto attribute_t;

static const struct { int type; const char *text; } type_names[] = {
        { ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT, "a FLOAT" },
        { ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT, "an INT" },
        { ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING, "a STRING" },
        { ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR, "a TENSOR" },
        { ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH, "a GRAPH" },
        { ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR, "a SPARSE_TENSOR" },
        { ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTO, "a TYPE_PROTO" },
        { ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS, "FLOATS" },
        { ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS, "INTS" },
        { ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS, "STRINGS" },
        { ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSORS, "TENSORS" },
        { ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPHS, "GRAPHS" },
        { ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSORS, "SPARSE_TENSORS" },
        { ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTOS, "TYPE_PROTOS" },
};

static const char *type_name(int type)
{
        for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++)
                if (type_names[i].type == type)
                        return type_names[i].text;
        return NULL;
}

/* Returns a bit for each type that has a value in a. */
static unsigned values_present(const attribute_t *a)
{
#define HAS(condition, type)                                                                       \
        ((condition) ? 1u << ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##type : 0u)
        return HAS(a->has_f, FLOAT) | HAS(a->has_i, INT) | HAS(a->has_s, STRING) |
               HAS(a->t, TENSOR) | HAS(a->g, GRAPH) | HAS(a->sparse_tensor, SPARSE_TENSOR) |
               HAS(a->tp, TYPE_PROTO) | HAS(a->n_floats, FLOATS) | HAS(a->n_ints, INTS) |
               HAS(a->n_strings, STRINGS) | HAS(a->n_tensors, TENSORS) | HAS(a->n_graphs, GRAPHS) |
               HAS(a->n_sparse_tensors, SPARSE_TENSORS) | HAS(a->n_type_protos, TYPE_PROTOS);
#undef HAS
}

static bool attribute_error(struct onnx_import *im, const Onnx__NodeProto *node,
                            const attribute_t *a, const char *what)
{
        return onnx_error(im, "%s: attribute '%s' %s", onnx_node_text(im, node), SAFE(im, a->name),
                          what);
}

bool onnx_attributes_check(struct onnx_import *im, const Onnx__NodeProto *node)
{
        struct map *names = node->n_attribute > 8 ? map_new(im->arena) : NULL;
        for (size_t i = 0; i < node->n_attribute; i++) {
                attribute_t *a = node->attribute[i];
                bool twice = false;
                if (!a->name.len)
                        return attribute_error(im, node, a, "has no name");
                if (names) {
                        twice = map_get(names, (const char *)a->name.data, a->name.len) != NULL;
                        map_set(names, (const char *)a->name.data, a->name.len, a);
                } else
                        for (size_t k = 0; k < i; k++)
                                twice |= node->attribute[k]->name.len == a->name.len &&
                                         !memcmp(node->attribute[k]->name.data, a->name.data,
                                                 a->name.len);
                if (twice)
                        return attribute_error(im, node, a, "is given twice");
                const char *type = type_name(a->type);
                if (!type)
                        return attribute_error(im, node, a, "has no type");
                if (a->ref_attr_name.len && values_present(a))
                        return attribute_error(im, node, a, "has a value and refers to one");
                if (values_present(a) & ~(1u << a->type))
                        return attribute_error(im, node, a,
                                               arena_printf(im->arena,
                                                            "says it is %s and holds another value",
                                                            type));
        }
        return true;
}

bool onnx_attributes_used(struct onnx_import *im, const struct onnx_node *n)
{
        for (size_t i = 0; i < n->proto->n_attribute; i++)
                if (!n->attribute_used[i])
                        return onnx_invalid(im, n, "unknown attribute '%s'",
                                            SAFE(im, n->proto->attribute[i]->name));
        return true;
}

/* ---- accessors ---- */

static int attribute_index(const struct onnx_node *n, const char *name)
{
        size_t length = strlen(name);
        for (size_t i = 0; i < n->proto->n_attribute; i++) {
                const attribute_t *a = n->proto->attribute[i];
                if (a->name.len == length && !memcmp(a->name.data, name, length))
                        return (int)i;
        }
        return -1;
}

bool onnx_has(const struct onnx_node *n, const char *name)
{
        return attribute_index(n, name) >= 0;
}

int onnx_attribute_type(const struct onnx_node *n, const char *name)
{
        const int index = attribute_index(n, name);
        return index < 0 ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED
                         : (int)n->proto->attribute[index]->type;
}

/* Finds the attribute; *found is NULL where the node has none of that name. Returns false after an
 * error. */
static bool attribute_get(struct onnx_import *im, struct onnx_node *n, const char *name, int type,
                          const attribute_t **found)
{
        int index = attribute_index(n, name);
        *found = NULL;
        if (index < 0)
                return true;
        n->attribute_used[index] = 1;
        const attribute_t *a = n->proto->attribute[index];
        if ((int)a->type != type)
                return onnx_invalid(im, n, "attribute '%s' is %s, want %s", name,
                                    type_name(a->type), type_name(type));
        *found = a;
        return true;
}

bool onnx_int(struct onnx_import *im, struct onnx_node *n, const char *name, int64_t preset,
              int64_t *value)
{
        const attribute_t *a;
        *value = preset;
        if (!attribute_get(im, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT, &a))
                return false;
        if (a)
                *value = a->i;
        return true;
}

bool onnx_float(struct onnx_import *im, struct onnx_node *n, const char *name, float preset,
                float *value)
{
        const attribute_t *a;
        *value = preset;
        if (!attribute_get(im, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT, &a))
                return false;
        if (a)
                *value = a->f;
        return true;
}

static bool count_fits(struct onnx_import *im, struct onnx_node *n, const char *name, size_t given,
                       int *count)
{
        if (given > INT_MAX)
                return onnx_invalid(im, n, "attribute '%s' has %zu values", name, given);
        *count = (int)given;
        return true;
}

bool onnx_ints(struct onnx_import *im, struct onnx_node *n, const char *name,
               const int64_t **values, int *count)
{
        const attribute_t *a;
        *values = NULL;
        *count = 0;
        if (!attribute_get(im, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS, &a))
                return false;
        static const int64_t none[1];
        if (a)
                *values = a->n_ints ? a->ints : none;
        return !a || count_fits(im, n, name, a->n_ints, count);
}

bool onnx_floats(struct onnx_import *im, struct onnx_node *n, const char *name,
                 const float **values, int *count)
{
        const attribute_t *a;
        *values = NULL;
        *count = 0;
        if (!attribute_get(im, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS, &a))
                return false;
        static const float none[1];
        if (a)
                *values = a->n_floats ? a->floats : none;
        return !a || count_fits(im, n, name, a->n_floats, count);
}

bool onnx_choice(struct onnx_import *im, struct onnx_node *n, const char *name,
                 const char *const *names, int preset, int *which)
{
        const attribute_t *a;
        *which = preset;
        if (!attribute_get(im, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING, &a))
                return false;
        if (!a)
                return true;
        for (int i = 0; names[i]; i++)
                if (a->s.len == strlen(names[i]) && !memcmp(a->s.data, names[i], a->s.len)) {
                        *which = i;
                        return true;
                }
        return onnx_invalid(im, n, "attribute '%s' is '%s', which is none of its values", name,
                            SAFE(im, a->s));
}

bool onnx_tensor_attribute(struct onnx_import *im, struct onnx_node *n, const char *name,
                           struct value **constant)
{
        const attribute_t *a;
        *constant = NULL;
        if (!attribute_get(im, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR, &a))
                return false;
        if (!a)
                return true;
        if (!a->t)
                return onnx_invalid(im, n, "attribute '%s' holds no tensor", name);
        *constant = onnx_tensor(im, a->t,
                                arena_printf(im->arena, "%s: attribute '%s'",
                                             onnx_node_text(im, n->proto), name));
        return *constant != NULL;
}

bool onnx_sparse_attribute(struct onnx_import *im, struct onnx_node *n, const char *name,
                           struct value **constant)
{
        const attribute_t *a;
        const char *why;
        *constant = NULL;
        if (!attribute_get(im, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR, &a))
                return false;
        if (!a || !a->sparse_tensor)
                return onnx_invalid(im, n, "attribute '%s' holds no sparse tensor", name);
        if (!onnx_sparse_read(im, a->sparse_tensor,
                              arena_printf(im->arena, "%s: attribute '%s'",
                                           onnx_node_text(im, n->proto), name),
                              constant, &why))
                return false;
        if (!*constant)
                onnx_list(im, "%s", why);
        return *constant != NULL;
}

const Onnx__GraphProto *onnx_graph_attribute(struct onnx_import *im, struct onnx_node *n,
                                             const char *name)
{
        const attribute_t *a;
        if (!attribute_get(im, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH, &a))
                return NULL;
        if (!a || !a->g) {
                onnx_invalid(im, n, "attribute '%s' is missing", name);
                return NULL;
        }
        return a->g;
}
