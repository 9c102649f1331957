/* SPDX-License-Identifier: MIT */
/* Which weights a step of training updates: initializers that --update and --freeze name or, where
 * no initializer has that name, those of a kind:
 *
 *      bias        those that are added alone: biases of layers and of normalizations
 *      last:K      those that are read no earlier than the K-th last layer. A layer is a product or
 *                  a convolution that reads an initializer; a loop or branch that reads one is a
 *                  layer, too.
 *
 * Backward operations end at the first weight that is updated, so both save the derivatives of
 * what lies in front: "On-Device Training Under 256KB Memory", Lin et al., arXiv 2206.15472. */
#include <stdlib.h>
#include <string.h>

#include "compiler/train.h"
#include "ir/adjoint/adjoint.h"
#include "ir/tensor/ops.h"

/* Initializers of floats, by name. */
struct initializers { struct { const char *name; struct value *value; } *all; int count; };

static void add_initializer(struct training *t, struct initializers *w, const char *name,
                            struct value *v)
{
        ARENA_GROW(t->arena, w->all, w->count);
        w->all[w->count].name = name;
        w->all[w->count++].value = v;
}

/* Those of the model or, where it is a text, its named constants. */
static struct initializers find_initializers(struct training *t)
{
        const struct import_weights *found = t->run->weights;
        struct initializers w = { NULL, 0 };
        for (int i = 0; i < found->found_count; i++)
                if (!found->found[i].setting)
                        add_initializer(t, &w, found->found[i].name, found->found[i].value);
        for (struct constant *k = t->m->constants; k && !found->found_count; k = k->next)
                if (k->name && element_is_float(k->value.type->element))
                        add_initializer(t, &w, k->name, &k->value);
        return w;
}

/* Is v one of the weights already? Several initializers of equal bytes may be one constant. */
static bool is_weight(const struct training *t, const struct value *v)
{
        for (int i = 0; i < t->weight_count; i++)
                if (t->weights[i].value == v)
                        return true;
        return false;
}

static void add_weight(struct training *t, const char *name, struct value *v)
{
        if (is_weight(t, v) || !gradient_reaches(t->arena, t->loss.value, v))
                return;
        ARENA_GROW(t->arena, t->weights, t->weight_count);
        t->weights[t->weight_count++] = (struct trained){ .value = v, .own.name = name };
}

/* ---- kinds ---- */

/* Returns the operation of the function's body that op is, or is in. */
static const struct op *outermost(const struct op *op)
{
        while (op->region->owner)
                op = op->region->owner;
        return op;
}

/* Calls see(context, user) for each operation that reads v as it is or moved, until one is false.
 * Returns whether all were true. */
static bool each_reader(const struct value *v, bool (*see)(void *context, const struct op *user),
                        void *context)
{
        for (const struct use *u = v->uses; u; u = u->next) {
                const struct op *user = u->user;
                const bool moves = (op_info[user->code].traits & TRAIT_FREE) &&
                                   user->result_count == 1;
                if (!(moves ? each_reader(op_result(user), see, context) : see(context, user)))
                        return false;
        }
        return true;
}

static bool is_addition(void *context, const struct op *user)
{
        (void)context;
        return user->code == OP_add;
}

/* The operations of the body are numbered: map says at which place one stands. */
struct places { struct map *map; int64_t least; };

static bool note_place(void *context, const struct op *user)
{
        struct places *p = context;
        user = outermost(user);
        const int64_t *place = map_get(p->map, (const char *)&user, sizeof user);
        if (place && *place < p->least)
                p->least = *place;
        return true;
}

/* Returns the place of the first operation that reads v; behind all of them where none does. */
static int64_t first_reader(const struct places *places, const struct value *v)
{
        struct places p = { places->map, INT64_MAX };
        each_reader(v, note_place, &p);
        return p.least;
}

/* Layers are listed by place. */
struct layers { struct places places; bool *is_layer; int64_t count; };

static bool note_layer(void *context, const struct op *user)
{
        struct layers *l = context;
        const struct op *outer = outermost(user);
        const int64_t *place = map_get(l->places.map, (const char *)&outer, sizeof outer);
        if (place && (op_info[outer->code].traits & TRAIT_REGION ||
                      op_info[user->code].traits & TRAIT_CONTRACTION))
                l->is_layer[*place] = true;
        return true;
}

static struct layers find_layers(const struct training *t, const struct initializers *w)
{
        struct layers l = { .places.map = map_new(t->arena) };
        for (struct op *op = t->f->body.first; op; op = op->next) {
                int64_t *place = ARENA_NEW(t->arena, int64_t);
                *place = l.count++;
                map_set(l.places.map, (const char *)&op, sizeof op, place);
        }
        l.is_layer = arena_array(t->arena, (size_t)l.count + 1, sizeof *l.is_layer);
        memset(l.is_layer, 0, (size_t)l.count + 1);
        for (int i = 0; i < w->count; i++)
                each_reader(w->all[i].value, note_layer, &l);
        return l;
}

/* Returns the place of the K-th last layer. Returns -1 where there are fewer, whose number is *all
 * then. */
static int64_t place_of_last(const struct layers *l, int64_t k, int64_t *all)
{
        *all = 0;
        for (int64_t i = l->count - 1; i >= 0; i--)
                if (l->is_layer[i] && ++*all == k)
                        return i;
        return -1;
}

/* ---- what is chosen ---- */

enum chosen_kind { CHOSEN_NAME, CHOSEN_BIAS, CHOSEN_LAST };
struct chosen {
        const char *text;               /* A name; behind a * at its end anything may stand. */
        enum chosen_kind kind;
        int64_t place;                  /* CHOSEN_LAST: weights are read from here on. */
        bool used;
};
struct choice {
        const char *option;
        struct chosen *all;
        int count;
        const struct layers *layers;
};

static bool fits_name(const struct chosen *c, const char *name)
{
        const size_t length = strlen(c->text);
        return !strcmp(c->text, name) ||
               (length && c->text[length - 1] == '*' && !strncmp(name, c->text, length - 1));
}

/* Is a weight one of those that the option chooses? */
static bool is_among(struct choice *choice, const char *name, const struct value *v)
{
        bool found = false;
        for (int i = 0; i < choice->count; i++) {
                struct chosen *c = &choice->all[i];
                if (c->kind == CHOSEN_NAME   ? fits_name(c, name)
                    : c->kind == CHOSEN_BIAS ? v->uses && each_reader(v, is_addition, NULL)
                                     : first_reader(&choice->layers->places, v) >= c->place)
                        c->used = found = true;
        }
        return found;
}

struct choices { struct choice update, freeze; };

static bool is_chosen(struct choices *c, const char *name, const struct value *v)
{
        const bool updated = is_among(&c->update, name, v) || !c->update.count;
        return !is_among(&c->freeze, name, v) && updated;
}

static bool is_initializer(const struct initializers *w, const char *name)
{
        for (int i = 0; i < w->count; i++)
                if (!strcmp(w->all[i].name, name))
                        return true;
        return false;
}

/* Reads "bias" and "last:3"; what is neither is a name. Returns false after an error. */
static bool read_kind(const struct training *t, const struct initializers *w,
                      const struct choice *choice, struct chosen *c)
{
        static const char last[] = "last:";
        char *end = NULL;
        if (is_initializer(w, c->text))
                return true;
        if (!strcmp(c->text, "bias"))
                c->kind = CHOSEN_BIAS;
        if (strncmp(c->text, last, sizeof last - 1) != 0)
                return true;
        const char *number = c->text + sizeof last - 1;
        const long long k = strtoll(number, &end, 10);
        int64_t all = 0;
        c->kind = CHOSEN_LAST;
        if (end == number || *end || k < 1)
                return train_usage(t, choice->option,
                                   arena_printf(t->arena, "'%s': want last:K, K from 1 on",
                                                text_argument(t->arena, c->text)));
        c->place = place_of_last(choice->layers, k, &all);
        return c->place >= 0 ||
               train_usage(t, choice->option,
                           arena_printf(t->arena, "'%s': there are %lld layers with initializers",
                                        text_argument(t->arena, c->text), (long long)all));
}

static bool read_choice(const struct training *t, const struct initializers *w,
                        const char *option, const struct list *list, const struct layers *layers,
                        struct choice *choice)
{
        *choice = (struct choice){ .option = option,
                                   .all = arena_array(t->arena, (size_t)list->count + 1,
                                                      sizeof *choice->all),
                                   .count = list->count,
                                   .layers = layers };
        for (int i = 0; i < list->count; i++) {
                choice->all[i] = (struct chosen){ .text = list->items[i] };
                if (!read_kind(t, w, choice, &choice->all[i]))
                        return false;
        }
        return true;
}

/* Leaves a normalization in inference where one of its moments is not chosen. */
static void find_modes(struct training *t, struct choices *c)
{
        struct map *weights = map_new(t->arena);        /* It maps values to initializers. */
        const struct import_weights *w = t->run->weights;
        for (int i = 0; i < w->found_count; i++)
                map_set(weights, (const char *)&w->found[i].value, sizeof w->found[i].value,
                        &w->found[i]);
        t->modes = map_new(t->arena);
        for (int i = 0; i < t->nodes->mode_count; i++) {
                struct import_mode *m = &t->nodes->modes[i];
                bool chosen = true;
                for (int k = 0; k < 2 && m->moments[k]; k++) {
                        const struct import_weight *moment = map_get(
                                weights, (const char *)&m->moments[k], sizeof m->moments[k]);
                        chosen = is_chosen(c, moment->name, moment->value) && chosen;
                }
                if (!chosen)
                        m->trained = m->inferred;
                map_set(t->modes, (const char *)&m->made, sizeof m->made, m);
        }
}

static bool all_used(const struct training *t, const struct choice *c)
{
        for (int i = 0; i < c->count; i++)
                if (!c->all[i].used)
                        return train_usage(t, c->option,
                                           arena_printf(t->arena,
                                                        "no initializer of floats is '%s'",
                                                        text_argument(t->arena, c->all[i].text)));
        return true;
}

bool train_find_weights(struct training *t)
{
        const struct options *o = &t->run->options;
        const struct initializers w = find_initializers(t);
        const struct layers layers = find_layers(t, &w);
        struct choices c;
        if (!read_choice(t, &w, "--update", &o->update, &layers, &c.update) ||
            !read_choice(t, &w, "--freeze", &o->freeze, &layers, &c.freeze))
                return false;
        for (int i = 0; i < w.count; i++)
                if (is_chosen(&c, w.all[i].name, w.all[i].value))
                        add_weight(t, w.all[i].name, w.all[i].value);
        find_modes(t, &c);
        for (struct constant *k = t->m->constants; k; k = k->next)
                k->varies = false;
        return all_used(t, &c.update) && all_used(t, &c.freeze) &&
               (t->weight_count ||
                train_usage(t, "--train",
                            "the loss depends on no initializer of floats that is updated"));
}
