/* SPDX-License-Identifier: MIT */
/* units: channels that carry nothing leave.
 *
 *   %0 = convolve(%x, @a)   ; a's filter 1 is zero, or @b's weights for channel 1 are
 *   %1 = max(%0, 0.0)                      %0 = convolve(%x, @a without filter 1)
 *   %2 = convolve(%1, @b)          ->      %1 = max(%0, 0.0)
 *                                          %2 = convolve(%1, @b without channel 1)
 *
 * A channel leaves where nothing needs it: each contraction that reads it multiplies it by zeros,
 * or it is zero there for every input, because what makes it multiplies by zeros. A channel that is
 * another number for every input, as a bias behind a filter of zeros is, leaves where its readers
 * see no zeros around it (pads); what they multiply it by is then added to their results. Channels
 * leave every operation from the contractions that make them to those that sum over them, which
 * may be several (units.h says what is followed); at least one of each value stays.
 *
 * Class D: a product by zero is a NaN where its other factor is not finite. */
#include "passes/simplify/units.h"

#include <math.h>
#include <string.h>

/* ---- classes ---- */

static int64_t root_of(const struct units *u, int64_t id)
{
        while (u->parent[id] != id) {
                u->parent[id] = u->parent[u->parent[id]];
                id = u->parent[id];
        }
        return id;
}

struct joining {
        struct units *u;
        int64_t from, to;
};

static void join(void *context, int64_t from, int64_t to)
{
        struct joining *j = context;
        int64_t a = root_of(j->u, j->from + from), b = root_of(j->u, j->to + to);
        j->u->parent[a < b ? b : a] = a < b ? a : b;
}

static void find_classes(struct units *u)
{
        for (int64_t i = 0; i < u->total; i++)
                u->parent[i] = i;
        for (int i = 0; i < u->op_count; i++)
                for (int k = 0; k < u->ops[i]->operand_count; k++) {
                        const struct member *from = units_operand(u, u->ops[i], k),
                                            *to = units_result(u, u->ops[i]);
                        struct joining j = { .u = u };
                        if (!from || !to)
                                continue;
                        j.from = from->first;
                        j.to = to->first;
                        units_links(u, u->ops[i], k, join, &j);
                }
}

/* ---- what leaves ---- */

/* Adds c times the weights of channel i to *bias[output]; NULL: only says whether that is
 * finite. */
static bool add_constant(const struct op *op, int64_t i, float c, double *bias)
{
        const struct constant *w = op_operand(op, 1)->constant;
        const int d = units_weights_dim(op, false), outputs = units_weights_dim(op, true);
        const int64_t extent = type_extent(w->value.type, d);
        int64_t outer, inner;
        bool finite = true;
        units_around(w->value.type, d, &outer, &inner);
        for (int64_t o = 0; o < outer; o++)
                for (int64_t k = 0; k < inner; k++) {
                        double x =
                                (double)c * (double)constant_float(w, (o * extent + i) * inner + k);
                        finite = finite && isfinite(x);
                        if (bias)
                                bias[outputs < d ? o : k] += x;
                }
        return finite;
}

/* Marks the classes that a reader needs. */
static void mark_needed(struct units *u, const struct op *op, const struct member *x)
{
        bool *zero = arena_array(u->arena, (size_t)x->extent, sizeof *zero);
        const bool inside = op->code == OP_dot || units_sees_inside(op);
        units_zeros(op_operand(op, 1)->constant, units_weights_dim(op, false), zero);
        for (int64_t i = 0; i < x->extent; i++) {
                const int64_t id = x->first + i;
                bool leaves = zero[i] || units_is_zero(u, id);
                if (!leaves && inside && u->state[id] == NUMBER_KNOWN)
                        leaves = add_constant(op, i, units_number(u, id), NULL);
                if (!leaves)
                        u->stays[root_of(u, id)] = true;
        }
}

static bool leaves(const struct units *u, const struct member *m, int64_t i)
{
        return !u->stays[root_of(u, m->first + i)];
}

static void count_kept(struct units *u, struct member *m)
{
        m->kept = 0;
        for (int64_t i = 0; i < m->extent; i++)
                m->kept += !leaves(u, m, i);
}

static void choose(struct units *u)
{
        for (int i = 0; i < u->member_count; i++) {
                const struct member *m = u->members[i];
                for (int64_t k = 0; k < m->extent && m->pinned; k++)
                        u->stays[root_of(u, m->first + k)] = true;
        }
        for (int i = 0; i < u->op_count; i++) {
                const struct member *x = units_read(u, u->ops[i]);
                if (x)
                        mark_needed(u, u->ops[i], x);
        }
        for (int i = 0; i < u->member_count; i++) {
                struct member *m = u->members[i];
                count_kept(u, m);
                if (!m->kept && m->extent)
                        u->stays[root_of(u, m->first)] = true;
        }
        for (int i = 0; i < u->member_count; i++)
                count_kept(u, u->members[i]);
}

/* ---- building what is left ---- */

static const struct type *narrowed(struct units *u, const struct type *t, const struct member *m)
{
        dim_t dims[RANK_MAX];
        memcpy(dims, t->dims, sizeof dims[0] * (size_t)t->rank);
        dims[m->dim] = dim_of(m->kept);
        return type_tensor(u->m, t->element, t->rank, dims);
}

/* Returns a constant without the indices of dimension d that leave m. */
static struct value *narrowed_constant(struct units *u, const struct constant *c, int d,
                                       const struct member *m)
{
        const struct type *from = c->value.type;
        dim_t dims[RANK_MAX];
        memcpy(dims, from->dims, sizeof dims[0] * (size_t)from->rank);
        dims[d] = dim_of(m->kept);
        const struct type *to = type_tensor(u->m, from->element, from->rank, dims);
        if (c->kind == CONSTANT_SPLAT)
                return constant_splat(u->m, to, constant_data(c));
        int64_t outer, inner;
        units_around(from, d, &outer, &inner);
        const size_t bytes = (size_t)(inner * element_info[from->element].bytes);
        char *data = constant_room(u->m, (size_t)type_bytes(to)), *next = data;
        for (int64_t i = 0; i < outer * m->extent; i++) {
                if (leaves(u, m, i % m->extent))
                        continue;
                memcpy(next, (const char *)constant_data(c) + (size_t)i * bytes, bytes);
                next += bytes;
        }
        return constant_dense(u->m, to, data, c->name);
}

static bool is_narrower(const struct member *m) { return m && m->kept < m->extent; }

/* Returns operand i as op has it when units have left; NULL: it was not built. */
static struct value *operand_left(struct units *u, const struct op *op, int i)
{
        struct value *v = op_operand(op, i);
        const struct member *read = units_read(u, op), *made = units_made(u, op);
        const struct member *m = units_operand(u, op, i);
        if (i == 1 && is_narrower(read))
                v = narrowed_constant(u, v->constant, units_weights_dim(op, false), read);
        if (i == 1 && is_narrower(made))
                v = narrowed_constant(u, v->constant, units_weights_dim(op, true), made);
        if (is_narrower(m))
                v = value_is_constant(v) ? narrowed_constant(u, v->constant, m->dim, m) : m->fewer;
        return v;
}

/* Returns how many of the first `count` indices of m stay. */
static int64_t kept_before(const struct units *u, const struct member *m, int64_t count)
{
        int64_t kept = 0;
        for (int64_t i = 0; i < count && i < m->extent; i++)
                kept += !leaves(u, m, i);
        return kept;
}

/* Returns where a slice begins, or how far a pad moves its operand, once units have left. */
static struct value *offsets_left(struct units *u, const struct op *op, int which)
{
        const struct member *x = units_operand(u, op, 0), *y = units_result(u, op);
        int64_t lows[RANK_MAX];
        int count;
        if (!x || !value_ints(op_operand(op, which), lows, RANK_MAX, &count))
                return NULL;
        int64_t *low = &lows[x->dim];
        if (op->code == OP_slice)
                *low = kept_before(u, x, *low);
        else
                *low = *low < 0 ? -kept_before(u, x, -*low) : kept_before(u, y, *low);
        return constant_ints(u->m, lows, count);
}

/* Returns v plus what the channels that were numbers gave it. */
static struct value *with_constants(struct units *u, struct builder *b, const struct op *op,
                                    struct value *v)
{
        const struct member *x = units_read(u, op), *made = units_made(u, op);
        const int d = op->code == OP_convolve ? 1 : v->type->rank - 1;
        const int64_t outputs = type_extent(op_operand(op, 1)->type, units_weights_dim(op, true));
        double *sum = arena_array(u->arena, (size_t)outputs, sizeof *sum);
        float *bias;
        bool any = false;
        int64_t count = 0;
        for (int64_t i = 0; x && i < x->extent; i++) {
                float c = units_number(u, x->first + i);
                if (leaves(u, x, i) && isfinite(c) && c != 0)
                        any |= add_constant(op, i, c, sum);
        }
        if (!any)
                return v;
        bias = constant_room(u->m, (size_t)outputs * sizeof *bias);
        for (int64_t i = 0; i < outputs; i++)
                if (!made || !leaves(u, made, i))
                        bias[count++] = (float)sum[i];
        struct value *constant =
                constant_dense(u->m, type_static(u->m, E_F32, 1, &count), bias, NULL);
        return build_binary(b, OP_add, v,
                            build_broadcast(b, constant, v->type, (const int64_t[]){ d }));
}

/* Builds op without the units that leave, in front of op. */
static struct value *op_left(struct units *u, const struct builder *around, struct op *op)
{
        struct builder b = *around;
        const struct op_info *info = &op_info[op->code];
        const struct member *result = units_result(u, op);
        const struct type *type = op_result(op)->type;
        struct value **operands =
                arena_array(u->arena, (size_t)op->operand_count, sizeof *operands);
        struct attr attrs[ATTR_MAX];
        b.before = op;
        b.location = op->location;
        memcpy(attrs, op->attrs, sizeof attrs[0] * (size_t)info->attr_count);
        for (int i = 0; i < op->operand_count; i++) {
                const bool offsets =
                        (op->code == OP_slice && i == 1) || (op->code == OP_pad && i == 2);
                operands[i] = offsets ? offsets_left(u, op, i) : operand_left(u, op, i);
                if (!operands[i] && op_operand(op, i))
                        return NULL;
        }
        if (units_is_depthwise(op))
                attr_set(attrs, op->code, "groups", units_operand(u, op, 0)->kept);
        struct value *v = value_build(&b, op->code, operands, op->operand_count, attrs,
                                      is_narrower(result) ? narrowed(u, type, result) : type);
        return v && units_read(u, op) ? with_constants(u, &b, op, v) : v;
}

static bool touches(const struct units *u, const struct op *op)
{
        bool any = is_narrower(units_result(u, op));
        for (int i = 0; i < op->operand_count && !any; i++)
                any = is_narrower(units_operand(u, op, i));
        return any;
}

/* Puts what was built in the place of what it was built of. The caller replaces the root, and holds
 * on to the operation in front of it: these two stay, without operands. */
static void replace(struct units *u, struct value *const *built, struct op *root,
                    struct op *in_front)
{
        for (int i = 0; i < u->op_count; i++) {
                struct op *op = u->ops[i];
                if (built[i] && op != root && !is_narrower(units_result(u, op)))
                        value_replace(op_result(op), built[i]);
        }
        for (int i = 0; i < u->op_count; i++)
                for (int k = 0; built[i] && k < u->ops[i]->operand_count; k++)
                        op_set_operand(u->ops[i], k, NULL);
        for (int i = 0; i < u->op_count; i++)
                if (built[i] && u->ops[i] != root && u->ops[i] != in_front)
                        op_erase(u->ops[i]);
}

static struct value *without_units(struct units *u, struct builder *b, struct op *root)
{
        struct op *in_front = root->previous;
        struct value **built = arena_array(u->arena, (size_t)u->op_count, sizeof *built), *y = NULL;
        for (int i = 0; i < u->op_count; i++) {
                struct op *op = u->ops[i];
                struct member *result = units_result(u, op);
                if (!touches(u, op))
                        continue;
                built[i] = op_left(u, b, op);
                if (!built[i])
                        return NULL;
                if (is_narrower(result))
                        result->fewer = built[i];
                y = op == root ? built[i] : y;
        }
        replace(u, built, root, in_front);
        return y;
}

/* Notes that the contractions that read members of u do so for good, or until the next round: of a
 * thousand layers that hang together, one is enough to find that out. */
static void note_vain(const struct units *u, struct map *followed)
{
        for (int i = 0; i < u->op_count; i++)
                if (units_read(u, u->ops[i]))
                        map_set(followed, (const char *)&u->ops[i], sizeof u->ops[i], u->ops[i]);
}

static struct value *rewrite_units(struct builder *b, struct op *op, struct map *followed)
{
        if (map_get(followed, (const char *)&op, sizeof op))
                return NULL;
        struct units u = { .arena = arena_new(), .m = b->m, .region = b->region };
        struct value *y = NULL;
        bool any = false;
        if (units_follow(&u, op)) {
                const size_t total = (size_t)u.total;
                u.parent = arena_array(u.arena, total, sizeof *u.parent);
                u.state = arena_array(u.arena, total, sizeof *u.state);
                u.bits = arena_array(u.arena, total, sizeof *u.bits);
                u.stays = arena_array(u.arena, total, sizeof *u.stays);
                find_classes(&u);
                units_know(&u, b);
                choose(&u);
                for (int i = 0; i < u.member_count; i++)
                        any |= is_narrower(u.members[i]);
                if (is_narrower(u.members[0]))
                        y = without_units(&u, b, op);
        }
        if (!any)
                note_vain(&u, followed);
        arena_free(u.arena);
        return y;
}

struct value *rewrite_convolve_units(struct builder *b, struct op *op, struct pass_context *context)
{
        return rewrite_units(b, op, context->followed);
}

struct value *rewrite_dot_units(struct builder *b, struct op *op, struct pass_context *context)
{
        return rewrite_units(b, op, context->followed);
}
