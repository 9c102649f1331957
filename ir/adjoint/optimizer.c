/* SPDX-License-Identifier: MIT */
/* Steps of optimizers from the formulas of their rows. */
#include "ir/adjoint/optimizer.h"

#include "ir/adjoint/formula_text.h"

#define STATES(...) { __VA_ARGS__ }
#define NUMBERS(...) { __VA_ARGS__ }
#define FORMULAS(...) { __VA_ARGS__ }
static const struct optimizer_row table[] = {
#define OPTIMIZER(name_, states_, numbers_, scalars_, updates_, doc_) \
        { .name = #name_, .doc = doc_, .states = states_, .numbers = numbers_, \
          .scalars = scalars_, .updates = updates_ },
#include "ir/adjoint/optimizers.def"
};
#undef STATES
#undef NUMBERS
#undef FORMULAS

int optimizer_rows(const struct optimizer_row **rows)
{
        *rows = table;
        return (int)(sizeof table / sizeof *table);
}

int optimizer_state_count(const struct optimizer_row *row)
{
        int count = 0;
        while (row->states[count])
                count++;
        return count;
}

/* The names that a formula may use; a later one hides one before. */
enum { NAMES_MAX = 2 + OPTIMIZER_NUMBERS_MAX + 2 * OPTIMIZER_FORMULAS_MAX +
                   OPTIMIZER_STATES_MAX + 2 };
struct scope {
        struct builder *b;
        const struct type *type;        /* Values become tensors of this type. */
        int count;
        const char *names[NAMES_MAX];
        size_t lengths[NAMES_MAX];
        struct value *values[NAMES_MAX];
};

static void define(struct scope *s, const char *name, size_t length, struct value *v)
{
        s->names[s->count] = name;
        s->lengths[s->count] = length;
        s->values[s->count++] = v;
}

/* Returns a scalar as a tensor of the scope's type. */
static struct value *spread(struct scope *s, struct value *v)
{
        v = build_cast(s->b, v, s->type->element);
        return v && v->type != s->type ? build_broadcast(s->b, v, s->type, NULL) : v;
}

static struct value *variable(void *context, const char *name, size_t length)
{
        struct scope *s = context;
        for (int i = s->count - 1; i >= 0; i--)
                if (s->lengths[i] == length && !memcmp(s->names[i], name, length))
                        return s->values[i] == formula_zero() ||
                                               s->values[i]->type == s->type
                                       ? s->values[i]
                                       : spread(s, s->values[i]);
        return NULL;
}

/* Builds one assignment, "name = formula". */
static struct value *assign(struct scope *s, const char *text, struct value *like)
{
        const struct formula f = { s->b, like, variable, s };
        const size_t length = strcspn(text, " ");
        struct value *v = formula_build(&f, text + length + strlen(" = "));
        if (v)
                define(s, text, length, v);
        return v;
}

static struct scope scope_of(struct builder *b, const struct optimizer *o, const struct type *type)
{
        struct scope s = { .b = b, .type = type };
        define(&s, "rate", strlen("rate"), o->rate);
        define(&s, "t", strlen("t"), o->t);
        for (int i = 0; i < OPTIMIZER_NUMBERS_MAX && o->row->numbers[i].name; i++)
                define(&s, o->row->numbers[i].name, strlen(o->row->numbers[i].name),
                       o->numbers[i] != 0 ? build_scalar(b, E_F64, o->numbers[i])
                                          : formula_zero());
        return s;
}

bool optimizer_begin(struct builder *b, struct optimizer *o)
{
        struct scope s = scope_of(b, o, o->rate->type);
        for (int i = 0; o->row->scalars[i]; i++)
                if (!(o->scalars[i] = assign(&s, o->row->scalars[i], o->rate)))
                        return false;
        return true;
}

bool optimizer_step(struct builder *b, const struct optimizer *o, struct value *w, struct value *g,
                    struct value *const *states, struct value **made)
{
        struct scope s = scope_of(b, o, w->type);
        for (int i = 0; o->row->scalars[i]; i++)
                define(&s, o->row->scalars[i], strcspn(o->row->scalars[i], " "), o->scalars[i]);
        define(&s, "w", 1, w);
        define(&s, "g", 1, g);
        for (int i = 0; o->row->states[i]; i++)
                define(&s, o->row->states[i], strlen(o->row->states[i]), states[i]);
        for (int i = 0; o->row->updates[i]; i++)
                if (!assign(&s, o->row->updates[i], w))
                        return false;
        made[0] = variable(&s, "w", 1);
        for (int i = 0; o->row->states[i]; i++)
                made[1 + i] = variable(&s, o->row->states[i], strlen(o->row->states[i]));
        return true;
}
