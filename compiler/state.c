/* SPDX-License-Identifier: MIT */
/* --state PAST=PRESENT makes an input and an output state: the caller keeps the input from one run
 * to the next, and the output is its next value. A * in PAST stands for any characters, and in
 * PRESENT for the same ones. */
#include <string.h>

#include "base/suggest.h"
#include "compiler/driver.h"
#include "compiler/state.h"

struct stating {
        struct function *f;
        struct arena *arena;
        struct diag *diag;
        const char *option;
        bool scales;                    /* The option is about ports NAME_scale of what it was given
                                         * for (--quantize-port), which need not be there. */
        int64_t *room;                  /* So many rows may an input of each symbol's rows come to,
                                         * in any entry. */
};

static bool usage(const struct stating *s, const char *what)
{
        diag_error(s->diag, EXIT_USAGE, "--state %s: %s", text_argument(s->arena, s->option), what);
        return false;
}

static const char *safe(const struct stating *s, const char *name)
{
        return text_safe(s->arena, name, strlen(name));
}

static bool ends_in(const char *name, size_t length, const char *end, size_t end_length)
{
        return length >= end_length && !memcmp(name + length - end_length, end, end_length);
}

/* Returns what the output is called for an input of this name; NULL: the name is not meant. */
static const char *next_name(const struct stating *s, const char *name)
{
        const char *equal = strchr(s->option, '='),
                   *star = memchr(s->option, '*', (size_t)(equal - s->option));
        const char *other = strchr(equal + 1, '*');
        const size_t length = strlen(name), before = (size_t)((star ? star : equal) - s->option),
                     behind = star ? (size_t)(equal - star - 1) : 0;
        if (!star)
                return length == before && !memcmp(name, s->option, before) ? equal + 1 : NULL;
        if (length < before + behind || memcmp(name, s->option, before) != 0 ||
            !ends_in(name, length, star + 1, behind))
                return NULL;
        return arena_printf(s->arena, "%.*s%.*s%s", (int)(other - equal - 1), equal + 1,
                            (int)(length - before - behind), name + before, other + 1);
}

static int output_called(const struct function *f, const char *name)
{
        for (int i = 0; i < f->output_count; i++)
                if (!strcmp(f->output_ports[i].name, name))
                        return i;
        return -1;
}

static bool no_output(const struct stating *s, const char *name)
{
        struct suggest known = suggest_new(s->arena, name, strlen(name));
        for (int i = 0; i < s->f->output_count; i++)
                suggest_add(&known, safe(s, s->f->output_ports[i].name));
        return usage(s, arena_printf(s->arena, "no output is called '%s'%s", safe(s, name),
                                     suggest_text(&known, true)));
}

static bool no_input(const struct stating *s)
{
        struct suggest known =
                suggest_new(s->arena, s->option, (size_t)(strchr(s->option, '=') - s->option));
        for (int i = 0; i < s->f->body.argument_count; i++)
                suggest_add(&known, safe(s, s->f->input_ports[i].name));
        return usage(
                s, arena_printf(s->arena, "no input is called that%s", suggest_text(&known, true)));
}

static bool is_fixed(const struct stating *s, int i)
{
        const struct type *now = s->f->body.arguments[i].type;
        if (type_is_static(now))
                return true;
        diag_error(s->diag, EXIT_UNSUPPORTED,
                   "--state %s: input '%s' is %s: extents of state that do not grow are numbers; "
                   "bind them with --dim",
                   text_argument(s->arena, s->option), safe(s, s->f->input_ports[i].name),
                   type_text(s->arena, s->f->module, now));
        return false;
}

/* Makes input i a memory to which rows are appended. */
static bool grow(const struct stating *s, int i, int next)
{
        const struct function *f = s->f;
        const char *types = arena_printf(
                s->arena, "input '%s' is %s, and output '%s' %s", safe(s, f->input_ports[i].name),
                type_text(s->arena, f->module, f->body.arguments[i].type),
                safe(s, f->output_ports[next].name),
                type_text(s->arena, f->module, op_operand(f->body.last, next)->type));
        switch (state_append(s->f, i, next, s->room, s->diag)) {
        case STATE_APPENDED: return true;
        case STATE_FAILED: return false;
        case STATE_NO_ROWS:
                return usage(s,
                             arena_printf(s->arena,
                                          "%s: want equal types, or extents that are numbers but "
                                          "for one, which grows (--dim P=0..511)",
                                          types));
        case STATE_OTHER_ROWS:
                return usage(s, arena_printf(s->arena,
                                             "%s: the extent begins at 0, and grows alike for all "
                                             "inputs that have it",
                                             types));
        default: break;
        }
        diag_error(s->diag, EXIT_UNSUPPORTED,
                   "--state %s: %s: an output that grows is its input with rows behind it (Concat)",
                   text_argument(s->arena, s->option), types);
        return false;
}

/* Makes input i state, whose next value is the output of that name. */
static bool keep(const struct stating *s, int i, const char *name)
{
        struct function *f = s->f;
        const int next = output_called(f, name);
        if (next < 0)
                return no_output(s, name);
        const struct type *now = f->body.arguments[i].type,
                          *then = op_operand(f->body.last, next)->type;
        const char *port = safe(s, f->input_ports[i].name);
        if (f->input_ports[i].next)
                return usage(s, arena_printf(s->arena, "input '%s' is state twice", port));
        if (function_state_of(f, next) >= 0)
                return usage(s, arena_printf(s->arena, "output '%s' is the next value twice",
                                             safe(s, name)));
        if (f->input_ports[i].is_text || f->output_ports[next].is_text)
                return usage(s, arena_printf(s->arena, "input '%s' is of texts", port));
        if (now != then && f->module->functions->next && state_is_begun(now, then))
                return true; /* begin_all does it. */
        if (now != then ? !grow(s, i, next) : !is_fixed(s, i))
                return false;
        if (type_is_empty(f->body.arguments[i].type))
                return usage(s, arena_printf(s->arena, "input '%s' has no elements", port));
        f->input_ports[i].next = f->output_ports[next].name;
        return true;
}

static bool check_option(const struct stating *s)
{
        const char *equal = strchr(s->option, '=');
        const char *star = equal ? memchr(s->option, '*', (size_t)(equal - s->option)) : NULL;
        if (!equal || equal == s->option || !equal[1] || !star != !strchr(equal, '*'))
                return usage(s, "want PAST=PRESENT, an input and an output, with a * in both or in "
                                "neither");
        return true;
}

/* Notes how many rows the inputs that the option means come to, by outputs of any function. */
static void measure(const struct stating *s)
{
        const struct module *m = s->f->module;
        for (int i = 0; i < s->f->body.argument_count; i++) {
                const char *name = next_name(s, s->f->input_ports[i].name);
                const int next = name ? output_called(s->f, name) : -1;
                if (next < 0)
                        continue;
                int axis;
                const int symbol = state_symbol(m, s->f->body.arguments[i].type,
                                                op_operand(s->f->body.last, next)->type, &axis);
                if (symbol < 0)
                        continue;
                for (const struct function *f = m->functions; f; f = f->next) {
                        const int output = output_called(f, name);
                        const struct type *t =
                                output < 0 ? NULL : op_operand(f->body.last, output)->type;
                        const int64_t most = t && axis < t->rank ? dim_bound(m, t->dims[axis]) : 0;
                        s->room[symbol] = s->room[symbol] > most ? s->room[symbol] : most;
                }
        }
}

/* Makes an output of s->f the next value of the state that input i of another function is. */
static bool begin(const struct stating *s, const struct function *other, int i, int next)
{
        const struct port *port = &other->input_ports[i];
        const char *types = arena_printf(
                s->arena, "input '%s' of entry %s is %s, and output '%s' of entry %s %s",
                safe(s, port->name), other->name,
                type_text(s->arena, other->module, other->body.arguments[i].type),
                safe(s, port->next), s->f->name,
                type_text(s->arena, s->f->module, op_operand(s->f->body.last, next)->type));
        if (s->f->output_ports[next].is_text)
                return usage(
                        s, arena_printf(s->arena, "output '%s' is of texts", safe(s, port->next)));
        if (function_state_of(s->f, next) >= 0)
                return usage(s, arena_printf(s->arena, "output '%s' is the next value twice",
                                             safe(s, port->next)));
        const enum state_rows made = state_start(s->f, other, i, next, s->diag);
        const char *wrong =
                made == STATE_NO_ROWS ? "want equal types, but for the rows of state that grows"
                : made == STATE_OTHER_ROWS ? "all inputs of one extent grow by as many rows"
                                           : NULL;
        if (wrong)
                return usage(s, arena_printf(s->arena, "%s: %s", types, wrong));
        return made == STATE_APPENDED;
}

/* Makes outputs of s->f state that inputs of another function are, where its own are not yet. */
static bool begin_all(const struct stating *s, const struct function *other)
{
        for (int i = 0; i < other->body.argument_count; i++) {
                const struct port *port = &other->input_ports[i];
                if (!port->next || !next_name(s, port->name))
                        continue;
                const int next = output_called(s->f, port->next),
                          mine = function_input(s->f, port->name);
                if (next >= 0 && (mine < 0 || !s->f->input_ports[mine].next) &&
                    !begin(s, other, i, next))
                        return false;
        }
        return true;
}

static bool keep_all(const struct stating *s, bool *any)
{
        for (int i = 0; i < s->f->body.argument_count; i++) {
                const char *name = next_name(s, s->f->input_ports[i].name);
                if (name && s->scales && s->f->input_ports[i].next)
                        continue;
                if (name && !keep(s, i, name))
                        return false;
                *any |= name != NULL;
        }
        return true;
}

/* Checks that no input is left which other entries were to say more about. */
static bool none_is_left(const struct stating *s)
{
        for (int i = 0; i < s->f->body.argument_count; i++) {
                const char *name = next_name(s, s->f->input_ports[i].name);
                if (name && !s->f->input_ports[i].next)
                        return grow(s, i, output_called(s->f, name));
        }
        return true;
}

/* Returns "past_scale=present_scale" of "past=present". */
static const char *of_scales(const struct stating *s, const char *option)
{
        const char *equal = strchr(option, '=');
        return arena_printf(s->arena, "%.*s_scale=%s_scale", (int)(equal - option), option,
                            equal + 1);
}

const bool *state_outputs(struct run *run)
{
        const struct options *o = &run->options;
        struct stating s = { .f = module_entry(run->state.module),
                             .arena = run->arena,
                             .diag = &run->diag };
        bool *next = arena_array(run->arena, (size_t)s.f->output_count + 1, sizeof *next);
        for (int i = 0; i < o->states.count; i++) {
                s.option = o->states.items[i];
                if (!check_option(&s))
                        return NULL;
                for (int k = 0; k < s.f->body.argument_count; k++) {
                        const char *name = next_name(&s, s.f->input_ports[k].name);
                        const int output = name ? output_called(s.f, name) : -1;
                        if (output >= 0)
                                next[output] = true;
                }
        }
        return next;
}

bool state_ports(struct run *run, struct quantized_ports *ports)
{
        const struct options *o = &run->options;
        struct stating s = { .arena = run->arena, .diag = &run->diag };
        for (int i = 0; i < o->states.count; i++) {
                s.option = o->states.items[i];
                s.f = run->state.module->functions;
                if (!check_option(&s))
                        return false;
                for (; s.f; s.f = s.f->next)
                        for (int k = 0; k < s.f->body.argument_count; k++) {
                                const char *name = s.f->input_ports[k].name,
                                           *next = next_name(&s, name);
                                const struct port_choice *c =
                                        next ? port_choice_find(ports, name) : NULL;
                                if (!c || port_choice_find(ports, next))
                                        continue;
                                struct port_choice own = *c;
                                own.name = next;
                                ARENA_GROW(run->arena, ports->choices, ports->choice_count);
                                ports->choices[ports->choice_count++] = own;
                        }
        }
        return true;
}

bool state_bind(struct run *run)
{
        const struct options *o = &run->options;
        struct module *m = run->state.module;
        if (!o->states.count)
                return true;
        if (!m) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--state is about inputs of a model, and this is Loop IR");
                return false;
        }
        const int given = o->states.count, count = o->quantize_ports.count ? 2 * given : given;
        struct stating s = { m->functions, run->arena, &run->diag, NULL, false,
                             arena_array(run->arena, (size_t)m->symbol_count + 1, sizeof *s.room) };
        for (int i = 0; i < given; i++) {
                s.option = o->states.items[i];
                if (!check_option(&s))
                        return false;
                for (s.f = m->functions; s.f; s.f = s.f->next)
                        measure(&s);
        }
        for (int i = 0; i < count; i++) {
                bool any = false;
                s.scales = i >= given;
                s.option = s.scales ? of_scales(&s, o->states.items[i - given])
                                    : o->states.items[i];
                for (s.f = m->functions; s.f; s.f = s.f->next)
                        if (!keep_all(&s, &any))
                                return false;
                for (s.f = m->functions; s.f; s.f = s.f->next)
                        for (const struct function *f = m->functions; f; f = f->next)
                                if (f != s.f && !begin_all(&s, f))
                                        return false;
                for (s.f = m->functions; s.f; s.f = s.f->next)
                        if (!none_is_left(&s))
                                return false;
                s.f = m->functions;
                if (!any && !s.scales)
                        return no_input(&s);
        }
        return true;
}
