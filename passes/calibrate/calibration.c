/* SPDX-License-Identifier: MIT */
/* Calibrations: which values of a function they are about, the names of these, and how two
 * calibrations become one. */
#include "passes/calibrate/calibration.h"

#include <ctype.h>
#include <string.h>

#include "base/sha256.h"

/* ---- the values of a function ---- */

struct naming {
        struct arena *arena;
        struct map *taken;              /* The map from a name to how many more values have asked
                                         * for it. */
        struct calibrated *values;
        int count;
};

/* Returns the name base, or base#2, base#3 .. */
static const char *unique(struct naming *n, const char *base)
{
        const char *name = base;
        int *more = map_get(n->taken, base, strlen(base));
        while (map_get(n->taken, name, strlen(name)))
                name = arena_printf(n->arena, "%s#%d", base, ++*more + 1);
        map_set(n->taken, name, strlen(name), ARENA_NEW(n->arena, int));
        return name;
}

/* Returns the first of the model's nodes that the operation came from, with what it does. */
static const char *op_name(struct naming *n, const struct op *op)
{
        const char *location = op->location ? op->location : "";
        int length = (int)strcspn(location, ", ");
        return arena_printf(n->arena, "%.*s%s%s", length, location, length ? "." : "",
                            op_info[op->code].name);
}

static const char *result_name(struct naming *n, const struct value *v)
{
        const char *base = op_name(n, v->op);
        return v->op->result_count > 1 ? arena_printf(n->arena, "%s.%d", base, v->index) : base;
}

static bool has_same_numbers(const struct op *op)
{
        return op->code == OP_reshape || op->code == OP_transpose || op->code == OP_broadcast;
}

/* Does a run know how often the operation's regions run, and what they take? */
static bool is_counted(const struct op *op)
{
        bool known = op->code != OP_loop || !op_operand(op, 0) ||
                     value_is_constant(op_operand(op, 0));
        for (int i = 0; i < op->operand_count; i++)
                known = known && (!op_operand(op, i) || type_is_static(op_operand(op, i)->type));
        for (int i = 0; i < op->result_count; i++)
                known = known && type_is_static(op->results[i].type);
        return known;
}

/* Can the value be looked at? Extents that a run gives are those of values of the function itself;
 * what lies in a loop to such an extent is not known by its number. */
static bool is_seen(const struct value *v)
{
        const struct region *r = value_region(v);
        if (!type_is_static(v->type))
                return !r->owner && (v->kind == VALUE_ARGUMENT || !v->op->region_count);
        for (; module_has_extents(r->function->module) && r->owner; r = r->owner->region)
                if (!is_counted(r->owner))
                        return false;
        return type_elements(v->type) > 0;
}

/* Adds a value. The scratch of a value is set if it depends on an input; the number of one that is
 * looked at is its index, else -1. */
static void add_value(struct naming *n, struct value *v, const char *base)
{
        const struct op *op = v->kind == VALUE_RESULT ? v->op : NULL;
        v->scratch = v;
        v->number = -1;
        if (v->type->kind != TYPE_TENSOR || !element_is_float(v->type->element) ||
            !is_seen(v))
                return;
        ARENA_GROW(n->arena, n->values, n->count);
        v->number = n->count;
        const struct value *x = op && has_same_numbers(op) ? op_operand(op, 0) : NULL;
        int same = x && x->scratch && value_region(x) == op->region ? x->number : -1;
        if (same >= 0 && n->values[same].same >= 0)
                same = n->values[same].same;
        n->values[n->count++] = (struct calibrated){ v, unique(n, base), same };
}

static bool depends_on_input(struct arena *arena, const struct op *op)
{
        int captures = 0;
        struct value **within = op->region_count ? op_captures(arena, op, &captures) : NULL;
        for (int i = 0; i < op->operand_count; i++)
                if (op_operand(op, i) && op_operand(op, i)->scratch)
                        return true;
        for (int i = 0; i < captures; i++)
                if (within[i]->scratch)
                        return true;
        return false;
}

static void add_operation(struct naming *n, struct op *op)
{
        if (!depends_on_input(n->arena, op))
                return;
        for (int i = 0; i < op->result_count; i++)
                add_value(n, &op->results[i], result_name(n, &op->results[i]));
        for (int r = 0; r < op->region_count; r++)
                for (int i = 0; i < op->regions[r]->argument_count; i++)
                        add_value(n, &op->regions[r]->arguments[i],
                                  arena_printf(n->arena, "%s.%s.%d", op_name(n, op),
                                               op_info[op->code].regions[r], i));
}

static void forget(struct value *values, int count)
{
        for (int i = 0; i < count; i++)
                values[i].scratch = NULL;
}

struct calibrated *calibrated_values(struct arena *arena, const struct function *f, int *count)
{
        struct naming n = { .arena = arena, .taken = map_new(arena) };
        for (int i = 0; i < f->body.argument_count; i++) {
                const char *name = f->input_ports[i].name;
                add_value(&n, &f->body.arguments[i],
                          *name ? text_safe(arena, name, strlen(name)) : "input");
        }
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op))
                add_operation(&n, op);
        forget(f->body.arguments, f->body.argument_count);
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                forget(op->results, op->result_count);
                for (int r = 0; r < op->region_count; r++)
                        forget(op->regions[r]->arguments, op->regions[r]->argument_count);
        }
        *count = n.count;
        return n.values;
}

const char *calibration_name(struct arena *arena, const struct function *f, const char *name)
{
        return module_has_entries(f->module) ? arena_printf(arena, "%s/%s", f->name, name) : name;
}

int calibration_axis(enum channel_axis axis, const struct type *type)
{
        return axis == CHANNELS_LAST     ? type->rank - 1
               : axis == CHANNELS_SECOND ? type->rank > 1 ? 1 : -1
                                         : -1;
}

/* Adds constants use by use: a small constant that two operations read may be two, which the text
 * does not show. */
static void add_constants(struct sha256 *sha, const struct op *op)
{
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *v = op_operand(op, i);
                if (v && v->kind == VALUE_CONSTANT && v->constant->kind != CONSTANT_SPLAT)
                        sha256_update(sha, constant_data(v->constant), (size_t)type_bytes(v->type));
        }
}

void calibration_digest(struct module *m, char hex[65])
{
        const char *name = m->name, *command = m->command, *within = m->within,
                   *passes = m->passes_done;
        char source = m->source[0];
        struct text text = { 0 };
        struct sha256 sha;
        m->name = m->command = m->within = m->passes_done = "";
        m->source[0] = 0;
        tensor_print(&text, m, &(struct tensor_print){ .elide = true });
        m->name = name;
        m->command = command;
        m->within = within;
        m->passes_done = passes;
        m->source[0] = source;
        /* This line stands in place of the text's own version, so that ranges of before a later one
         * are still those of the model. */
        static const char version[] = "dnn 1\n";
        const size_t line = strcspn(text.data, "\n") + 1;
        sha256_init(&sha);
        sha256_update(&sha, version, sizeof version - 1);
        sha256_update(&sha, text.data + line, text.length - line);
        for (const struct function *f = m->functions; f; f = f->next)
                for (struct op *op = region_walk(&f->body, NULL); op;
                     op = region_walk(&f->body, op))
                        add_constants(&sha, op);
        sha256_hex(&sha, hex);
        text_free(&text);
}

/* ---- sets of ranges ---- */

struct calibration *calibration_new(struct arena *arena, enum channel_axis axis)
{
        struct calibration *c = ARENA_NEW(arena, struct calibration);
        c->axis = axis;
        c->by_name = map_new(arena);
        return c;
}

void calibration_add(struct calibration *c, struct arena *arena, struct range *r)
{
        ARENA_GROW(arena, c->ranges, c->range_count);
        c->ranges[c->range_count++] = r;
        map_set(c->by_name, r->name, strlen(r->name), r);
}

const struct range *calibration_find(const struct calibration *c, const char *name)
{
        return map_get(c->by_name, name, strlen(name));
}

/* Compares names with digits as numbers, "b2" before "b10"; where that finds them equal, byte by
 * byte. */
static int name_order(const char *a, const char *b)
{
        const char *p = a, *q = b;
        while (*p && *q) {
                if (!isdigit((unsigned char)*p) || !isdigit((unsigned char)*q)) {
                        if (*p != *q)
                                return (unsigned char)*p < (unsigned char)*q ? -1 : 1;
                        p++, q++;
                        continue;
                }
                p += strspn(p, "0");
                q += strspn(q, "0");
                size_t m = strspn(p, "0123456789"), n = strspn(q, "0123456789");
                int order = m != n ? (m < n ? -1 : 1) : memcmp(p, q, m);
                if (order)
                        return order;
                p += m;
                q += n;
        }
        return *p ? 1 : *q ? -1 : strcmp(a, b);
}

int sample_order(const struct sample *a, const struct sample *b)
{
        int order = name_order(a->name, b->name);
        return order ? order : strcmp(a->digest, b->digest);
}

static bool cannot_merge(struct diag *diag, const char *why)
{
        diag_error(diag, EXIT_INVALID, "%s", why);
        return false;
}

static bool can_merge(const struct calibration *c, const struct calibration *other,
                      struct diag *diag)
{
        if (strcmp(c->digest, other->digest) != 0)
                return cannot_merge(diag, "its ranges are of another model, or of one that was "
                                          "compiled with other options, than those before it");
        if (c->axis != other->axis)
                return cannot_merge(diag, "its channels are not those of the ranges before it");
        bool same = true;
        for (int i = 0; i < other->range_count && same; i++) {
                const struct range *o = other->ranges[i], *r = calibration_find(c, o->name);
                same = !r || r->channel_count == o->channel_count;
        }
        return same || cannot_merge(diag, "its channels are not those of the ranges before it");
}

/* Makes the samples of a range those of the calibration that it becomes part of, by from[] of
 * merge_samples. mine, theirs: the range of each of both; NULL: it has none. */
static void join_samples(const struct calibration *c, struct range *r, const struct range *mine,
                         const struct range *theirs, const int64_t *from, struct arena *arena)
{
        struct extent *samples = arena_array(arena, (size_t)c->sample_count, sizeof *samples);
        for (int64_t k = 0; k < c->sample_count; k++) {
                const struct range *of = from[k] >= 0 ? mine : theirs;
                samples[k] = of ? of->samples[from[k] >= 0 ? from[k] : ~from[k]] : extent_none;
        }
        r->samples = samples;
        r->sample_count = c->sample_count;
}

/* Puts the samples of both in order. from[k]: where the k-th comes from, i of c, or ~i of the
 * other. Returns NULL after an error. */
static int64_t *merge_samples(struct calibration *c, const struct calibration *other,
                              struct arena *arena, struct diag *diag)
{
        int64_t count = c->sample_count + other->sample_count, i = 0, j = 0;
        int64_t *from = arena_array(arena, (size_t)count, sizeof *from);
        struct sample *samples = arena_array(arena, (size_t)count, sizeof *samples);
        for (int64_t k = 0; k < count; k++) {
                int order = i == c->sample_count ? 1 : j == other->sample_count ? -1 : 0;
                order = order ? order : sample_order(&c->samples[i], &other->samples[j]);
                if (!order) {
                        diag_error(diag, EXIT_INVALID,
                                   "sample %s was counted before: ranges that are joined are of "
                                   "different samples",
                                   c->samples[i].name);
                        return NULL;
                }
                samples[k] = order < 0 ? c->samples[i] : other->samples[j];
                from[k] = order < 0 ? i++ : ~j++;
        }
        c->samples = samples;
        c->sample_count = count;
        return from;
}

/* Compares the entries that two names begin with (calibration_name). */
static int entry_order(const struct range *a, const struct range *b)
{
        const size_t m = strcspn(a->name, "/"), n = strcspn(b->name, "/");
        const int order = memcmp(a->name, b->name, m < n ? m : n);
        return order ? order : m < n ? -1 : m > n;
}

/* Puts the ranges of entries in the order of their names, whichever were added last: those from
 * number `added` on. The ranges of one entry stay in order. */
static void sort_entries(struct calibration *c, int added, struct arena *arena)
{
        struct range **sorted = arena_array(arena, (size_t)c->range_count, sizeof *sorted);
        for (int k = 0, i = 0, j = added; k < c->range_count; k++) {
                const bool first = j == c->range_count ||
                                   (i < added && entry_order(c->ranges[i], c->ranges[j]) <= 0);
                sorted[k] = c->ranges[first ? i++ : j++];
        }
        c->ranges = c->range_count > added ? sorted : c->ranges;
}

bool calibration_merge(struct calibration *c, const struct calibration *other, struct arena *arena,
                       struct diag *diag)
{
        const int before = c->range_count;
        int64_t *from = can_merge(c, other, diag) ? merge_samples(c, other, arena, diag) : NULL;
        for (int i = 0; i < before && from; i++) {
                struct range *r = c->ranges[i];
                const struct range *o = calibration_find(other, r->name);
                if (o && !range_merge(r, o)) {
                        diag_error(diag, EXIT_INVALID,
                                   "tensor %s: its numbers are too many to count", r->name);
                        return false;
                }
                join_samples(c, r, r, o, from, arena);
                for (int64_t k = 0; o && k < r->channel_count; k++)
                        r->channels[k] = extent_join(r->channels[k], o->channels[k]);
        }
        for (int i = 0; i < other->range_count && from; i++) {
                struct range *o = other->ranges[i];
                if (calibration_find(c, o->name))
                        continue;
                struct range *r = arena_copy(arena, o, sizeof *r);
                join_samples(c, r, NULL, o, from, arena);
                calibration_add(c, arena, r);
        }
        sort_entries(c, before, arena);
        return from;
}
