/* SPDX-License-Identifier: MIT */
/* Parses streams of machines in Loop IR text. */
#include "ir/loop/loop_parser.h"
#include "ir/loop/stream.h"

enum { PLACES_MOST = 16 };

/* Reads " on NAME" behind a stream's parameters. */
bool loop_parse_machine(struct loop_parser *p)
{
        const struct machine *const *all =
                p->program->library ? p->program->library->machines : NULL;
        if (!loop_lex_expect(p, "on"))
                return false;
        for (; all && *all; all++)
                if (loop_lex_accept(p, (*all)->name)) {
                        p->function->machine = *all;
                        return true;
                }
        return loop_lex_error(p, "there is no machine called %s", loop_lex_shown(p));
}

static bool parse_name_of(struct loop_parser *p,
                          int (*find)(const struct machine *m, const char *name, size_t length),
                          const char *what, int *number)
{
        *number = p->token.kind == TOKEN_WORD
                          ? find(p->function->machine, p->token.start, p->token.length)
                          : -1;
        if (*number < 0)
                return loop_lex_error(p, "%s has no %s called %s", p->function->machine->name, what,
                                      loop_lex_shown(p));
        loop_lex_next(p);
        return !p->failed;
}

/* Reads "in MEMORY at PLACE, ..". */
bool loop_parse_memory(struct loop_parser *p, struct loop_buffer *b)
{
        int64_t places[PLACES_MOST];
        if (!p->function->machine)
                return loop_lex_error(p, "only a stream has memories of a machine");
        b->space = SPACE_MEMORY;
        if (!parse_name_of(p, machine_memory_find, "memory", &b->memory) ||
            !loop_lex_accept(p, "at"))
                return !p->failed;
        do {
                if (b->place_count == PLACES_MOST)
                        return loop_lex_error(p, "a buffer has more than %d places", PLACES_MOST);
                if (!loop_lex_int(p, "a place", 0, INT32_MAX, &places[b->place_count++]))
                        return false;
        } while (loop_lex_accept(p, ","));
        b->places = arena_copy(p->arena, places, (size_t)b->place_count * sizeof *places);
        return true;
}

static struct loop_expr *parse_index(struct loop_parser *p)
{
        return loop_parse_expr(p, LOOP_TYPE(E_INDEX));
}

bool loop_parse_transfer(struct loop_parser *p, struct loop_stmt *s)
{
        struct loop_transfer *t = s->transfer = ARENA_NEW(p->arena, struct loop_transfer);
        if (!loop_parse_place(p, &s->buffer, &s->a) || !loop_lex_expect(p, "=") ||
            !loop_parse_place(p, &s->source, &s->b) || !loop_lex_expect(p, "rows") ||
            !(t->rows = parse_index(p)) || !loop_lex_expect(p, "by") ||
            !(t->columns = parse_index(p)) || !loop_lex_expect(p, "step") ||
            !loop_lex_int(p, "a step", 0, EXTENT_MAX, &t->step))
                return false;
        if (!loop_lex_accept(p, "pad"))
                return !p->failed;
        for (int i = 0; i < 4; i++)
                if ((i && !loop_lex_expect(p, ",")) || !(t->pad[i] = parse_index(p)))
                        return false;
        return true;
}

bool loop_parse_reset(struct loop_parser *p, struct loop_stmt *s)
{
        return loop_parse_place(p, &s->buffer, &s->a);
}

bool loop_parse_product(struct loop_parser *p, struct loop_stmt *s)
{
        if (!loop_parse_place(p, &s->buffer, &s->a))
                return false;
        s->code = !loop_lex_accept(p, "+");
        return loop_lex_expect(p, "=") && loop_parse_place(p, &s->source, &s->b) &&
               loop_lex_expect(p, "*") && loop_parse_place(p, &s->weights, &s->c);
}

bool loop_parse_apply(struct loop_parser *p, struct loop_stmt *s)
{
        static const int codes[] = { LOOP_MIN, LOOP_MAX, LOOP_ADD, LOOP_SHR, LOOP_SHL };
        if (!loop_parse_place(p, &s->buffer, &s->a))
                return false;
        size_t k = 0;
        while (k < sizeof codes / sizeof *codes && !loop_lex_accept(p, loop_apply_word(codes[k])))
                k++;
        if (k == sizeof codes / sizeof *codes)
                return loop_lex_error(p, "want min, max, add, shr or shl, found %s",
                                      loop_lex_shown(p));
        s->code = codes[k];
        if (loop_lex_is(p, "%"))
                return loop_parse_place(p, &s->source, &s->b);
        return (s->b = loop_parse_expr(p, LOOP_TYPE(E_I32)));
}

bool loop_parse_activate(struct loop_parser *p, struct loop_stmt *s)
{
        struct loop_activation *a = s->activation = ARENA_NEW(p->arena, struct loop_activation);
        if (!loop_parse_place(p, &s->buffer, &s->a) || !loop_lex_expect(p, "=") ||
            !loop_parse_place(p, &s->source, &s->b) ||
            (loop_lex_accept(p, "by") && !loop_parse_place(p, &s->weights, &s->c)) ||
            (loop_lex_accept(p, "add") &&
             !loop_lex_int(p, "a number", INT32_MIN, INT32_MAX, &a->add)))
                return false;
        if (loop_lex_accept(p, "shr") && !(a->lanes = loop_lex_accept(p, "lanes")) &&
            !loop_lex_int(p, "an amount", 0, 31, &a->shift))
                return false;
        return loop_lex_expect(p, "within") &&
               loop_lex_int(p, "a bound", INT32_MIN, INT32_MAX, &a->low) &&
               loop_lex_expect(p, ",") &&
               loop_lex_int(p, "a bound", INT32_MIN, INT32_MAX, &a->high);
}

/* Reads "load 3 in compute". */
bool loop_parse_await(struct loop_parser *p, struct loop_stmt *s)
{
        return parse_name_of(p, machine_stage_find, "stage", &s->queue.from) &&
               loop_lex_int(p, "a number of statements", 1, INT32_MAX, &s->step) &&
               loop_lex_expect(p, "in") &&
               parse_name_of(p, machine_stage_find, "stage", &s->queue.to);
}

/* Reads "load to compute". */
bool loop_parse_queue(struct loop_parser *p, struct loop_stmt *s)
{
        return parse_name_of(p, machine_stage_find, "stage", &s->queue.from) &&
               loop_lex_expect(p, "to") &&
               parse_name_of(p, machine_stage_find, "stage", &s->queue.to);
}
