/* SPDX-License-Identifier: MIT */
/* The writers of operations build with these: names, nodes, initializers, and shorthands over
 * them. */
#include <string.h>

#include "compiler/export/exporter.h"

enum {
        OPSET = 20,                    /* It is written unless a node needs more. */
        NAME_PIECE = 48, /* A name has at most so many characters before its number. */
        SMALL_BYTES = 128, /* Initializers of at most so many bytes are shared. */
        SPLAT_BYTES = 1024 /* A node makes larger ones of one number. */
};

/* ---- names ---- */

static bool take(struct export *e, struct map *names, const char *name)
{
        size_t length = strlen(name);
        if (map_get(names, name, length))
                return false;
        map_set(names, name, length, arena_array(e->arena, 1, sizeof(int64_t)));
        return true;
}

bool export_name_take(struct export *e, const char *name) { return take(e, e->names, name); }

/* Returns the first of names with ", " between, of the characters that text_safe leaves as they are
 * (so that a name that is read back gives itself). */
char *export_plain(struct export *e, const char *text)
{
        size_t length = strcspn(text, ",");
        char *base = arena_alloc(e->arena, NAME_PIECE + 1), *out = base;
        for (size_t i = 0; i < length && out < base + NAME_PIECE; i++) {
                const char *c = text + i;
                bool plain = (*c >= '0' && *c <= '9') || ((*c | 32) >= 'a' && (*c | 32) <= 'z') ||
                             strchr("_.:/-", *c);
                bool hex = c[0] == '\\' && c[1] == 'x' && i + 3 < length;
                *out++ = plain ? *c : '_';
                i += hex ? 3 : 0;
        }
        while (out > base && out[-1] == '.') /* A name that was cut ends in points. */
                *--out = 0;
        return base;
}

const char *export_name(struct export *e, struct map *names, const char *base)
{
        base = export_plain(e, base);
        if (*base && take(e, names, base))
                return base;
        int64_t *count = *base ? map_get(names, base, strlen(base)) : NULL;
        for (int64_t n = count ? *count + 2 : 1;; n++) {
                const char *name = count ? arena_printf(e->arena, "%s_%lld", base, (long long)n)
                                         : arena_printf(e->arena, "v%lld", (long long)n);
                if (!take(e, names, name))
                        continue;
                if (count)
                        *count = n - 1;
                return name;
        }
}

const char *export_base(struct export *e, const char *name)
{
        char *base = arena_string(e->arena, name ? name : "c");
        for (char *end = base + strlen(base);;) {
                char *digit = end;
                while (digit > base && digit[-1] >= '0' && digit[-1] <= '9')
                        digit--;
                if (digit == end || digit - base < 2 || digit[-1] != '_')
                        return base;
                end = digit - 1;
                *end = 0;
        }
}

struct made *export_made(struct export *e, const char *base, const struct type *type)
{
        struct made *made = ARENA_NEW(e->arena, struct made);
        *made = (struct made){ .name = export_name(e, e->names, base), .type = type };
        return made;
}

/* ---- nodes ---- */

static void need(struct export *e, int opset) { e->opset = e->opset < opset ? opset : e->opset; }

/* Raises the opset for types of newer ones. Most nodes have bf16 since 22 at the latest. */
static void need_type(struct export *e, const struct type *type)
{
        enum element t = type->element;
        if (t == E_I4 || t == E_U4)
                need(e, 21);
        if (t == E_BF16)
                need(e, 22);
        if (t == E_F4E2M1)
                need(e, 23);
        if (t == E_F8E8M0)
                need(e, 24);
        if (t == E_I2 || t == E_U2)
                need(e, 25);
}

/* Returns what the operation came from, else what it becomes; what vanishes when the model is read
 * is called so, too, so that other names do not depend on it. */
static const char *origin(const struct export *e, const char *op)
{
        bool vanishes = !strcmp(op, "ConstantOfShape") || !strcmp(op, "Identity");
        return e->op && e->op->location && !vanishes ? e->op->location : op;
}

/* Returns whether a node moves types that nothing computes in: few nodes do. */
static bool moves_anything(const char *op)
{
        static const char *const names[] = { "Cast",          "BitCast",  "Reshape",
                                             "Transpose",     "Identity", "If",
                                             "Loop",          "Scan",     "DequantizeLinear",
                                             "QuantizeLinear" };
        bool found = false;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                found |= !strcmp(op, names[i]);
        return found;
}

/* Returns whether it converts to or from 16 bits, which is there since opset 21. */
static bool is_wide_quantization(const char *op, const struct type *to, const struct made *x)
{
        const struct type *numbers = !strcmp(op, "QuantizeLinear")     ? to
                                     : !strcmp(op, "DequantizeLinear") ? x->type
                                                                       : NULL;
        return numbers && element_info[numbers->element].bytes == 2;
}

struct made *export_node(struct export *e, const char *op, const struct type *to,
                         struct made *const *operands, int count)
{
        struct node *node = ARENA_NEW(e->arena, struct node);
        need(e, !strcmp(op, "BitCast")                      ? 26
                : is_wide_quantization(op, to, operands[0]) ? 21
                                                            : OPSET);
        for (int i = 0; i < count; i++) {
                if (!operands[i])
                        continue;
                need_type(e, operands[i]->type);
                if (element_info[operands[i]->type->element].class == CLASS_OTHER &&
                    !moves_anything(op))
                        export_refuse(e, e->op,
                                      arena_printf(e->arena, "%s of %s", op,
                                                   element_info[operands[i]->type->element].text));
        }
        node->op = op;
        node->domain = "";
        node->attributes_end = &node->attributes;
        node->inputs = arena_copy(e->arena, operands, (size_t)count * sizeof *operands);
        node->input_count = count;
        e->last = node;
        *e->graph->nodes_end = node;
        e->graph->nodes_end = &node->next;
        e->graph->node_count++;
        node->name = export_name(e, e->node_names, origin(e, op));
        return export_output(e, to);
}

struct made *export_output(struct export *e, const struct type *type)
{
        struct node *node = e->last;
        struct made *made = export_made(e, node->name, type);
        need_type(e, type);
        ARENA_GROW(e->arena, node->outputs, node->output_count);
        node->outputs[node->output_count++] = made;
        return made;
}

void export_domain(struct export *e, const char *domain)
{
        e->last->domain = e->domain = domain;
}

static struct attribute *attribute(struct export *e, const char *name, enum attribute_kind kind)
{
        struct attribute *a = ARENA_NEW(e->arena, struct attribute);
        a->name = name;
        a->kind = kind;
        *e->last->attributes_end = a;
        e->last->attributes_end = &a->next;
        return a;
}

void export_int(struct export *e, const char *name, int64_t value)
{
        attribute(e, name, ATTRIBUTE_INT)->i = value;
}

void export_float(struct export *e, const char *name, float value)
{
        attribute(e, name, ATTRIBUTE_FLOAT)->f = value;
}

void export_ints(struct export *e, const char *name, const int64_t *values, int count)
{
        struct attribute *a = attribute(e, name, ATTRIBUTE_INTS);
        a->ints = arena_copy(e->arena, values, (size_t)count * sizeof *values);
        a->count = count;
}

void export_text(struct export *e, const char *name, const char *text)
{
        attribute(e, name, ATTRIBUTE_TEXT)->text = text;
}

void export_subgraph(struct export *e, const char *name, struct graph *graph)
{
        attribute(e, name, ATTRIBUTE_GRAPH)->graph = graph;
}

/* ---- initializers ---- */

static int bits_of(enum element e)
{
        return e == E_I4 || e == E_U4 || e == E_F4E2M1 ? 4
               : e == E_I2 || e == E_U2                ? 2
                                                       : 8 * element_info[e].bytes;
}

/* Packs types below 8 bits, the first element in the lowest bits of a byte. */
static void *packed(struct export *e, const struct type *type, const void *data, int64_t *bytes)
{
        int bits = bits_of(type->element), each = 8 / bits;
        int64_t count = type_elements(type);
        *bytes = (count + each - 1) / each;
        unsigned char *out = arena_alloc(e->arena, (size_t)*bytes + 1);
        for (int64_t i = 0; i < count; i++)
                out[i / each] |=
                        (unsigned char)((((const unsigned char *)data)[i] & ((1 << bits) - 1))
                                        << (i % each * bits));
        return out;
}

static struct initializer *initializer(struct export *e, const char *name, const struct type *type,
                                       const void *data)
{
        struct initializer *t = ARENA_NEW(e->arena, struct initializer);
        t->made = ARENA_NEW(e->arena, struct made);
        *t->made = (struct made){ .name = name, .type = type, .named = true };
        need_type(e, type);
        t->data = data;
        t->bytes = type_bytes(type);
        if (bits_of(type->element) < 8)
                t->data = packed(e, type, data, &t->bytes);
        return t;
}

static struct made *add_initializer(struct export *e, struct initializer *t)
{
        *e->initializers_end = t;
        e->initializers_end = &t->next;
        return t->made;
}

/* Returns positions and values, which ONNX has for numbers of at least 8 bits. */
static struct made *export_sparse(struct export *e, const char *base, const struct type *type,
                                  const struct sparse *sparse)
{
        struct initializer *t = ARENA_NEW(e->arena, struct initializer);
        t->made = ARENA_NEW(e->arena, struct made);
        *t->made = (struct made){ .name = export_name(e, e->names, base),
                                  .type = type,
                                  .named = true };
        need_type(e, type);
        t->sparse = sparse;
        return add_initializer(e, t);
}

struct made *export_dense(struct export *e, const char *base, const struct type *type,
                          const void *data)
{
        struct text key = { 0 };
        int64_t bytes = type_bytes(type);
        struct made *made = NULL;
        if (bytes <= SMALL_BYTES) {
                char *text = type_text(e->arena, e->m, type);
                text_add_bytes(&key, text, strlen(text));
                text_add_bytes(&key, data, (size_t)bytes);
                made = map_get(e->small, key.data, key.length);
        }
        if (!made) {
                const void *kept =
                        bytes <= SMALL_BYTES ? arena_copy(e->arena, data, (size_t)bytes) : data;
                struct initializer *t = initializer(e, export_name(e, e->names, base), type, kept);
                made = add_initializer(e, t);
                if (key.length)
                        map_set(e->small, key.data, key.length, made);
        }
        text_free(&key);
        return made;
}

/* ---- extents that a run gives ---- */

/* Returns the symbol's value, <1 x i64>: an extent of the first input that has it. NULL: none
 * has. */
static struct made *symbol_made(struct export *e, int symbol)
{
        const struct region *body = &module_entry(e->m)->body;
        for (int i = 0; i < body->argument_count; i++) {
                const struct type *t = body->arguments[i].type;
                for (int d = 0; d < t->rank; d++) {
                        if (dim_is_static(t->dims[d]) ||
                            dim_term(e->m, t->dims[d])->kind != DIM_SYMBOL ||
                            dim_term(e->m, t->dims[d])->symbol != symbol)
                                continue;
                        const dim_t one = dim_of(1);
                        struct made *shape =
                                export_unary(e, "Shape", type_tensor(e->m, E_I64, 1, &one),
                                             export_value(e, &body->arguments[i]));
                        export_int(e, "start", d);
                        export_int(e, "end", d + 1);
                        return shape;
                }
        }
        return NULL;
}

struct made *export_extent(struct export *e, dim_t dim)
{
        static const char *const nodes[] = { [DIM_ADD] = "Add", [DIM_SUB] = "Sub",
                                             [DIM_MUL] = "Mul", [DIM_DIV] = "Div",
                                             [DIM_MAX] = "Max", [DIM_MIN] = "Min" };
        if (dim_is_static(dim))
                return export_numbers(e, (int64_t[]){ dim_extent(dim) }, 1);
        const struct dim_expr *t = dim_term(e->m, dim);
        if (t->kind == DIM_SYMBOL) {
                struct made *made = symbol_made(e, t->symbol);
                if (!made)
                        export_refuse(e, e->op, "an extent that no input has");
                return made ? made : export_numbers(e, (int64_t[]){ 0 }, 1);
        }
        struct made *a = export_extent(e, t->a), *b = export_extent(e, t->b);
        struct made *made = export_binary(e, nodes[t->kind], a->type, a, b);
        return t->kind == DIM_SUB ? export_binary(e, "Max", a->type, made,
                                                  export_numbers(e, (int64_t[]){ 0 }, 1))
                                  : made;
}

int64_t export_more(struct export *e, dim_t to, dim_t from)
{
        if (dim_is_static(to) && dim_is_static(from))
                return dim_extent(to) - dim_extent(from);
        const dim_t more = dim_binary(e->m, DIM_SUB, to, from);
        return dim_is_static(more) && !dim_is(more, 0)
                       ? dim_extent(more)
                       : -dim_extent(dim_binary(e->m, DIM_SUB, from, to));
}

/* Joins numbers, <1 x i64> each. */
static struct made *joined(struct export *e, struct made *const *parts, int count)
{
        const dim_t all = dim_of(count);
        if (count == 1)
                return parts[0];
        struct made *made =
                export_node(e, "Concat", type_tensor(e->m, E_I64, 1, &all), parts, count);
        export_int(e, "axis", 0);
        return made;
}

/* Returns extents, <rank x i64>. */
static struct made *export_dims(struct export *e, int rank, const dim_t *dims)
{
        int64_t extents[RANK_MAX];
        struct made *parts[RANK_MAX];
        bool known = true;
        for (int d = 0; d < rank; d++)
                known = known && dim_is_static(dims[d]);
        if (known) {
                dims_extents(extents, rank, dims);
                return export_numbers(e, extents, rank);
        }
        for (int d = 0; d < rank; d++)
                parts[d] = export_extent(e, dims[d]);
        return joined(e, parts, rank);
}

/* Returns the shape that Reshape wants: the one extent that is not known may follow from the
 * others. */
static struct made *reshape_dims(struct export *e, int rank, const dim_t *dims)
{
        int64_t extents[RANK_MAX];
        int open = 0;
        for (int d = 0; d < rank; d++) {
                open += !dim_is_static(dims[d]);
                extents[d] = dim_is_static(dims[d]) ? dim_extent(dims[d]) : -1;
                if (!extents[d])
                        open = 2;       /* Nothing follows of no elements. */
        }
        return open == 1 ? export_numbers(e, extents, rank) : export_dims(e, rank, dims);
}

struct made *export_numbers(struct export *e, const int64_t *values, int count)
{
        const dim_t dims[1] = { dim_of(count) };
        return export_dense(e, "c", type_tensor(e->m, E_I64, 1, dims), values);
}

struct made *export_scalar(struct export *e, enum element element, double number)
{
        unsigned char bytes[16] = { 0 };
        enum element_class class = element_info[element].class;
        union scalar s = { .f = number };
        if (class == CLASS_SINT)
                s.i = (long long)number;
        else if (class != CLASS_FLOAT)
                s.u = (unsigned long long)number;
        element_store(element, bytes, 0, s);
        return export_dense(e, "c", type_scalar(e->m, element), bytes);
}

struct made *export_integer(struct export *e, enum element element, int64_t number)
{
        unsigned char bytes[16] = { 0 };
        element_store(element, bytes, 0, element_wrap(element, (uint64_t)number));
        return export_dense(e, "c", type_scalar(e->m, element), bytes);
}

/* Returns one number, everywhere. */
static struct made *splat(struct export *e, const struct constant *c)
{
        const struct type *type = c->value.type;
        const bool known = type_is_static(type);
        int64_t count = known ? type_elements(type) : 0, bytes = element_info[type->element].bytes;
        if (known && count * bytes <= SPLAT_BYTES) {
                char *data = arena_alloc(e->arena, (size_t)(count * bytes) + 1);
                for (int64_t i = 0; i < count; i++)
                        memcpy(data + i * bytes, constant_data(c), (size_t)bytes);
                return export_dense(e, c->name ? c->name : "c", type, data);
        }
        const dim_t one[1] = { dim_of(1) };
        struct made *shape = export_dims(e, type->rank, type->dims);
        struct made *made = export_unary(e, "ConstantOfShape", type, shape);
        attribute(e, "value", ATTRIBUTE_TENSOR)->tensor =
                initializer(e, "", type_tensor(e->m, type->element, 1, one), constant_data(c));
        return made;
}

struct made *export_constant_as(struct export *e, const char *base, const struct constant *c,
                                const struct type *type)
{
        return c->kind == CONSTANT_SPARSE && bits_of(type->element) >= 8
                       ? export_sparse(e, base, type, c->sparse)
                       : export_dense(e, base, type, constant_data(c));
}

struct made *export_constant(struct export *e, const struct constant *c)
{
        return c->kind == CONSTANT_SPLAT
                       ? splat(e, c)
                       : export_constant_as(e, c->name ? c->name : "c", c, c->value.type);
}

/* ---- shorthands ---- */

struct made *export_cast(struct export *e, struct made *x, enum element to)
{
        if (x->type->element == to)
                return x;
        x = export_unary(e, "Cast", type_with_element(e->m, x->type, to), x);
        export_int(e, "to", element_info[to].onnx);
        return x;
}

struct made *export_reshape(struct export *e, struct made *x, int rank, const dim_t *dims)
{
        const struct type *to = type_tensor(e->m, x->type->element, rank, dims);
        bool empty = false;
        if (to == x->type)
                return x;
        for (int d = 0; d < rank; d++)
                empty |= dim_is(dims[d], 0);
        x = export_binary(e, "Reshape", to, x, reshape_dims(e, rank, dims));
        if (empty)
                export_int(e, "allowzero", 1);
        return x;
}

struct made *export_transpose(struct export *e, struct made *x, const int64_t *perm)
{
        dim_t dims[RANK_MAX];
        bool same = true;
        int rank = x->type->rank;
        for (int d = 0; d < rank; d++) {
                dims[d] = x->type->dims[perm[d]];
                same &= perm[d] == d;
        }
        if (same)
                return x;
        x = export_unary(e, "Transpose", type_tensor(e->m, x->type->element, rank, dims), x);
        export_ints(e, "perm", perm, rank);
        return x;
}

/* Returns types that nothing computes in as what holds them, or back. */
static struct made *as_bits(struct export *e, struct made *x, enum element to)
{
        enum element own = x->type->element;
        if (own == to || bits_of(own) < 8 || bits_of(to) < 8)
                return export_cast(e, x, to);
        x = export_unary(e, "BitCast", type_with_element(e->m, x->type, to), x);
        export_int(e, "to", element_info[to].onnx);
        return x;
}

struct made *export_expand(struct export *e, struct made *x, int rank, const dim_t *dims)
{
        enum element own = x->type->element, storage = element_storage(own);
        if (type_tensor(e->m, own, rank, dims) == x->type)
                return x;
        dim_t wanted[RANK_MAX];         /* An extent of x stays where 1 is wanted. */
        for (int d = 0; d < rank; d++) {
                const int own_d = d - (rank - x->type->rank);
                const bool stays = own_d >= 0 && dim_equal(x->type->dims[own_d], dims[d]);
                wanted[d] = stays && !dim_is_static(dims[d]) ? dim_of(1) : dims[d];
        }
        x = as_bits(e, x, storage);
        x = export_binary(e, "Expand", type_tensor(e->m, storage, rank, dims), x,
                          export_dims(e, rank, wanted));
        return as_bits(e, x, own);
}

struct made *export_slice(struct export *e, struct made *x, const int64_t *starts,
                          const int64_t *steps, const dim_t *dims)
{
        const struct type *t = x->type;
        int64_t from[RANK_MAX], to[RANK_MAX], axes[RANK_MAX], by[RANK_MAX];
        int count = 0;
        struct made *ends[RANK_MAX];
        bool open = false;
        for (int d = 0; d < t->rank; d++) {
                if (!dim_is_static(dims[d])) {
                        if (dim_equal(dims[d], t->dims[d]) && steps[d] == 1 && !starts[d])
                                continue;
                        if (steps[d] < 0)
                                export_refuse(e, e->op, "it goes back over an extent of the run");
                        dim_t end = dim_binary(e->m, DIM_MUL, dims[d],
                                               dim_of(steps[d] < 0 ? 1 : steps[d]));
                        end = dim_binary(e->m, DIM_ADD, end, dim_of(starts[d]));
                        from[count] = starts[d];
                        by[count] = steps[d];
                        axes[count] = d;
                        open = true;
                        ends[count++] = export_extent(e, end);
                        continue;
                }
                int64_t last = starts[d] + (dim_extent(dims[d]) - 1) * steps[d],
                        end = dim_is(dims[d], 0) ? starts[d]
                              : steps[d] > 0     ? last + 1
                              : last             ? last - 1
                                                 : INT64_MIN;
                if (dim_equal(dims[d], t->dims[d]) && (steps[d] == 1 || dim_extent(dims[d]) <= 1) &&
                    starts[d] == 0)
                        continue;
                from[count] = starts[d];
                to[count] = end;
                by[count] = steps[d];
                axes[count] = d;
                ends[count++] = NULL;
        }
        if (!count)
                return x;
        for (int i = 0; i < count && open; i++)
                ends[i] = ends[i] ? ends[i] : export_numbers(e, &to[i], 1);
        struct made *operands[5] = { x, export_numbers(e, from, count),
                                     open ? joined(e, ends, count) : export_numbers(e, to, count),
                                     export_numbers(e, axes, count), export_numbers(e, by, count) };
        return export_node(e, "Slice", type_tensor(e->m, t->element, t->rank, dims), operands, 5);
}

struct made *export_crop(struct export *e, struct made *x, int first, int count, int64_t *low,
                         int64_t *high)
{
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        dim_t dims[RANK_MAX];
        for (int d = 0; d < x->type->rank; d++) {
                steps[d] = 1;
                dims[d] = x->type->dims[d];
        }
        for (int i = 0; i < count; i++) {
                int64_t before = low[i] < 0 ? -low[i] : 0, after = high[i] < 0 ? -high[i] : 0;
                starts[first + i] = before;
                dims[first + i] =
                        dim_binary(e->m, DIM_SUB, dims[first + i], dim_of(before + after));
                low[i] = low[i] < 0 ? 0 : low[i];
                high[i] = high[i] < 0 ? 0 : high[i];
        }
        return export_slice(e, x, starts, steps, dims);
}
