/* SPDX-License-Identifier: MIT */
/* The library of math functions and intrinsics, and of formulas over these. */
#include "ir/loop/loop_parser.h"

#include <string.h>

#include "ir/loop/loop_contract.h"

#pragma GCC diagnostic push             /* C99 guarantees 4095 characters; every compiler has
                                         * more. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
static const char library_text[] =
#include "library.inc"
        ;
#pragma GCC diagnostic pop

enum { NAME_LENGTH = 31 };

/* Makes the key of an overload: its name, and the element of the first parameter as one byte. */
static size_t overload_key(char key[NAME_LENGTH + 1], const char *name, size_t length,
                           enum element e)
{
        if (length > NAME_LENGTH)
                return 0;
        memcpy(key, name, length);
        key[length] = (char)e;
        return length + 1;
}

struct loop_function *loop_overload(const struct map *overloads, const char *name, size_t length,
                                    enum element e)
{
        char key[NAME_LENGTH + 1];
        size_t size = overload_key(key, name, length, e);
        return size ? map_get(overloads, key, size) : NULL;
}

void loop_overload_add(struct map *overloads, struct loop_function *f)
{
        char key[NAME_LENGTH + 1];
        size_t size = overload_key(key, f->name, strlen(f->name),
                                   f->scalars[0]->type.element);
        if (size)
                map_set(overloads, key, size, f);
}

static struct loop_function *read_functions(struct arena *arena, const char *text, size_t length,
                                            struct map *overloads, struct diag *diag)
{
        struct loop_parser p = {
                .arena = arena, .diag = diag, .kind = TEXT_LIBRARY, .overloads = overloads
        };
        loop_lex_start(&p, text, length);
        struct loop_function *first = loop_parse_functions(&p);
        return !p.failed && loop_verify_library(first, diag) ? first : NULL;
}

struct loop_function *loop_parse_library(struct arena *arena, const char *text, size_t length,
                                         struct diag *diag)
{
        return read_functions(arena, text, length, map_new(arena), diag);
}

/* Adds the twins of functions behind all others; callees come first among them, too. */
static void add_twins(struct arena *arena, struct loop_library *library)
{
        struct loop_function *last = library->first, *end;
        while (last && last->next)
                last = last->next;
        end = last;
        for (struct loop_function *f = library->first; f; f = f == last ? NULL : f->next) {
                struct loop_function *twin = loop_contract_twin(arena, library, f);
                if (!twin)
                        continue;
                end->next = twin;
                end = twin;
                loop_overload_add(library->overloads, twin);
        }
}

struct loop_library *loop_library_new(struct arena *arena, struct diag *diag)
{
        struct loop_library *library = ARENA_NEW(arena, struct loop_library);
        library->overloads = map_new(arena);
        int errors = diag->errors;
        library->first = read_functions(arena, library_text, sizeof library_text - 1,
                                        library->overloads, diag);
        add_twins(arena, library);
        return diag->errors == errors ? library : NULL;
}

void loop_library_machines(struct loop_library *library, const struct machine *const *machines)
{
        library->machines = machines;
}

struct loop_function *loop_library_find(const struct loop_library *library, const char *name,
                                        enum element e)
{
        return loop_overload(library->overloads, name, strlen(name), e);
}

struct loop_function *loop_library_first(const struct loop_library *library)
{
        return library->first;
}

/* ---- what a program uses ---- */

static void mark_call(struct loop_expr *e, void *context)
{
        if (e->op == LOOP_CALL)
                map_set(context, (const char *)&e->function, sizeof e->function, e->function);
}

/* Returns the functions that p uses. Functions call earlier ones only: from the last to the first,
 * each marks those that it calls. */
struct loop_function **loop_library_used(struct arena *arena, const struct loop_program *p,
                                         int *count)
{
        struct map *used = map_new(arena);
        struct loop_function **all = NULL;
        int n = 0, kept = 0;
        for (struct loop_function *k = p->kernels; k; k = k->next)
                loop_block_walk(k->body, NULL, mark_call, used);
        loop_walk_mains(p, NULL, mark_call, used);
        for (struct loop_function *f = p->library ? p->library->first : NULL; f; f = f->next) {
                ARENA_GROW(arena, all, n);
                all[n++] = f;
        }
        for (int i = n - 1; i >= 0; i--)
                if (map_get(used, (const char *)&all[i], sizeof all[i]))
                        loop_block_walk(all[i]->body, NULL, mark_call, used);
        for (int i = 0; i < n; i++)
                if (map_get(used, (const char *)&all[i], sizeof all[i]))
                        all[kept++] = all[i];
        *count = kept;
        return all;
}

/* ---- formulas ---- */

struct loop_expr *loop_formula(struct arena *arena, const struct loop_library *library,
                               const char *formula, struct loop_expr *const *args, int count,
                               struct diag *diag)
{
        struct loop_parser p = {
                .arena = arena, .diag = diag, .kind = TEXT_FORMULA, .args = args, .arg_count = count
        };
        for (int i = 0; i < count; i++)
                if (!args[i])
                        return NULL;
        if (count)
                p.fallback = args[0]->type;
        p.overloads = library ? library->overloads : map_new(arena);
        loop_lex_start(&p, formula, strlen(formula));
        struct loop_expr *e = loop_parse_expr(&p, p.fallback);
        if (e && p.token.kind != TOKEN_END)
                loop_lex_error(&p, "it goes on with %s", loop_lex_shown(&p));
        return p.failed ? NULL : e;
}
