/* SPDX-License-Identifier: MIT */
/* The constants below were fitted to what gcc 12 -O2 makes of the kernels of nine models, with and
 * without --requantize=integer, --max-ram and -O0, for Cortex-M0, M4 and RV32IMAC (1443 functions):
 * no frame is larger than the bound, which is 68 bytes above it on average. Code for a core for
 * firmware says how gcc is to give registers, and spills less: its bound was fitted to eleven
 * models, also with --step and --goal=size, on six cores (2469 functions), and leaves room of 4
 * words or more. Code is that of Thumb-2; a model's is within a quarter of the estimate, and within
 * a third where a core for firmware has its own (code_bytes in cost/code.h). */
#include "codegen/footprint.h"

#include <stdlib.h>

#include "base/store.h"
#include "codegen/inside.h"
#include "cost/code.h"
#include "ir/loop/loop_build.h"

enum {
        /* bytes of code */
        CODE_LOAD = 26, CODE_LOOP = 18, CODE_STATEMENT = 2, CODE_FUNCTION = 8,
        CODE_LIBRARY = 150,             /* of a call of the math library, which is inlined */
        CODE_CALL = 16, CODE_RUN = 80,  /* of run: for each call, and for its checks */
        CODE_STEP = 360, CODE_PLACE = 14,       /* of begin and step, and for each call of a step */
        /* words of stack */
        STACK_PARAMETER = 8, STACK_CONSTANT = 1, STACK_FUNCTION = 3, STACK_RUN = 12,
        STACK_STEP = 16,                /* of step, or of run around it */
        STACK_LIBRARY = 20,             /* what compilers call: floats, and numbers of 64 bits */
        STACK_CALL = 8,                 /* what they call elsewhere: memset, divisions */
        STACK_OWN_PARAMETER = 1         /* in code for a core */
};

struct walk {
        struct arena *arena;
        int64_t arrays;                 /* bytes */
        int loads, loops, statements, calls;
        bool library;                   /* It computes floats, or numbers of 64 bits. */
        /* Of each variable, by its number: the first and last statement that needs it. */
        int *first, *last;
        int64_t *words;
        int count, at;
};

static int64_t words_of(const struct loop_variable *v)
{
        const int64_t entries = v->rows > 0 ? (int64_t)v->rows * v->columns : 1;
        const bool wide = v->type.element != E_INDEX && element_info[v->type.element].bytes > 4;
        return entries * v->type.lanes * (wide ? 2 : 1);
}

static void use(struct walk *w, const struct loop_variable *v)
{
        const int i = v->number;
        if (i < 0 || i >= w->count)
                return;
        w->words[i] = words_of(v);
        if (!w->first[i])
                w->first[i] = w->at;
        w->last[i] = w->at;
}

static void count_expression(struct loop_expr *e, void *context)
{
        struct walk *w = context;
        if (e->op == LOOP_VARIABLE || e->op == LOOP_TILE_ENTRY)
                use(w, e->variable);
        const enum element type = e->type.element;
        w->library |= type != E_INDEX && e->op != LOOP_LOAD &&
                      (element_is_float(type) || element_info[type].bytes > 4);
        w->loads += e->op == LOOP_LOAD;
        w->calls += e->op == LOOP_CALL;
}

/* What a loop needs from outside it needs to its end. */
static void close_loop(struct walk *w, int begin)
{
        w->at++;
        for (int i = 0; i < w->count; i++)
                if (w->first[i] && w->first[i] <= begin && w->last[i] >= begin)
                        w->last[i] = w->at;
}

static void count_block(struct walk *w, const struct loop_block *b)
{
        for (const struct loop_stmt *s = b->first; s; s = s->next) {
                const int begin = ++w->at;
                const bool is_loop = s->kind == STMT_FOR || s->kind == STMT_WHILE;
                struct loop_expr *const exprs[] = { s->a, s->b, s->c };
                for (int i = 0; i < 3; i++)
                        if (exprs[i])
                                loop_expr_walk(exprs[i], count_expression, w);
                if (s->variable)
                        use(w, s->variable);
                if (s->kind == STMT_ALLOC)
                        w->arrays += round_up(loop_buffer_bytes(s->buffer), 8);
                w->loops += is_loop;
                w->statements++;
                if (s->body)
                        count_block(w, s->body);
                if (s->other)
                        count_block(w, s->other);
                if (is_loop)
                        close_loop(w, begin);
        }
}

/* Returns the most words of variables that are needed at one time. */
static int64_t most_live(const struct walk *w)
{
        int64_t *change = arena_array(w->arena, (size_t)w->at + 2, sizeof *change), live = 0,
                most = 0;
        for (int i = 0; i < w->count; i++)
                if (w->first[i]) {
                        change[w->first[i]] += w->words[i];
                        change[w->last[i] + 1] -= w->words[i];
                }
        for (int i = 0; i <= w->at; i++) {
                live += change[i];
                most = live > most ? live : most;
        }
        return most;
}

/* Returns the bytes of a function's code: in plain C by what it has, else by instructions. */
static int64_t code_of(const struct loop_function *f, const struct target *t, const struct walk *w)
{
        if (target_vector_bytes(t))
                return CODE_FUNCTION + (int64_t)code_bytes(t, f);
        return (int64_t)CODE_LOAD * w->loads + CODE_LOOP * w->loops +
               CODE_STATEMENT * w->statements + CODE_LIBRARY * w->calls + CODE_FUNCTION;
}

/* Returns how many constants f names itself. */
static int count_inside(const struct footprint_of *of, const struct loop_function *f)
{
        int count = 0;
        for (int i = 0; i < f->buffer_count && of->inside; i++)
                count += inside_constant(of->inside, f, i) != NULL;
        return count;
}

/* Returns the words of stack of a function with `live` words of variables at a time. */
static int64_t stack_words(const struct target *t, int64_t live, int inside, int parameters)
{
        const int64_t own = code_stack_words(t);
        return own ? own + live + STACK_OWN_PARAMETER * parameters
                   : STACK_FUNCTION + live + live / 4 + STACK_CONSTANT * inside +
                             STACK_PARAMETER * parameters;
}

struct footprint footprint_function(const struct footprint_of *of, const struct loop_function *f)
{
        struct walk w = { .arena = arena_new(), .count = loop_number_variables(f) };
        const size_t count = (size_t)w.count + 1;
        w.first = arena_array(w.arena, count, sizeof *w.first);
        w.last = arena_array(w.arena, count, sizeof *w.last);
        w.words = arena_array(w.arena, count, sizeof *w.words);
        count_block(&w, f->body);
        const int inside = count_inside(of, f);
        struct footprint found = {
                .code = code_of(f, of->target, &w),
                .stack_bytes = w.arrays,
                .library_words = w.library ? STACK_LIBRARY : STACK_CALL,
                .stack_words = stack_words(of->target, most_live(&w), inside,
                                           f->buffer_count + f->scalar_count - inside),
        };
        arena_free(w.arena);
        return found;
}

struct calls { const struct footprint_of *of; struct footprint run; };

static void add_call(struct loop_stmt *s, void *context)
{
        struct calls *calls = context;
        const struct loop_function *f = s->function;
        if (s->kind != STMT_CALL)
                return;
        const int64_t parameters = f->buffer_count + f->scalar_count - count_inside(calls->of, f);
        calls->run.code += CODE_CALL;
        if (STACK_RUN + parameters > calls->run.stack_words)
                calls->run.stack_words = STACK_RUN + parameters;
}

/* They are compared for a processor of 32 bits. */
static bool is_deeper(struct footprint a, struct footprint b)
{
        return footprint_stack(a, 4) + 4 * a.library_words >
               footprint_stack(b, 4) + 4 * b.library_words;
}

struct launched { const struct footprint_of *of; struct footprint deepest; };

static void add_launch(struct loop_stmt *s, void *context)
{
        struct launched *launched = context;
        if (s->kind != STMT_LAUNCH || !s->in_order)
                return;
        const struct footprint own = footprint_function(launched->of, s->function);
        if (is_deeper(own, launched->deepest))
                launched->deepest = own;
}

/* Returns what a kernel takes with the functions that its loops became. */
static struct footprint footprint_kernel(const struct footprint_of *of,
                                         const struct loop_function *f)
{
        struct footprint own = footprint_function(of, f);
        struct launched launched = { .of = of };
        loop_block_walk(f->body, add_launch, NULL, &launched);
        own.stack_bytes += launched.deepest.stack_bytes;
        own.stack_words += launched.deepest.stack_words;
        if (launched.deepest.library_words > own.library_words)
                own.library_words = launched.deepest.library_words;
        return own;
}

static void add_steps(const struct loop_program *p, struct footprint *run)
{
        int calls = 0;
        for (int i = 0; i < p->entry_count; i++)
                for (const struct loop_stmt *s = p->entries[i].main->body->first; s; s = s->next)
                        calls += s->kind == STMT_CALL;
        run->code += (int64_t)CODE_STEP * p->entry_count + (int64_t)CODE_PLACE * calls;
        run->stack_words += STACK_STEP;
}

struct footprint footprint_program(const struct footprint_of *of)
{
        struct calls calls = { of, { .stack_words = STACK_RUN } };
        struct footprint *run = &calls.run, deepest = { 0 };
        for (const struct loop_function *f = of->p->kernels; f; f = f->next) {
                const struct footprint own = footprint_kernel(of, f);
                run->code += own.code;
                if (is_deeper(own, deepest))
                        deepest = own;
        }
        run->code += (int64_t)CODE_RUN * of->p->entry_count;
        loop_walk_mains(of->p, add_call, NULL, &calls);
        if (of->p->entries[0].record)
                add_steps(of->p, run);
        run->stack_bytes += deepest.stack_bytes;
        run->stack_words += deepest.stack_words + deepest.library_words;
        return *run;
}
