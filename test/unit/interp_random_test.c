/* SPDX-License-Identifier: MIT */
/* Random programs: the optimised code must give the bits of the plain code. */
#include "test/unit/interp_harness.h"

enum { ELEMENTS = 64, VARIABLES_MAX = 64, PROGRAMS = 6000 };

struct generator {
        struct harness h;
        uint64_t state;
        struct loop_variable *variables[VARIABLES_MAX];
        int variable_count, names;
        struct loop_buffer *x, *u, *b, *y, *z, *m;
        int statements;
        bool in_while;
};

static int pick(struct generator *g, int count)
{
        g->state = g->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (int)((g->state >> 33) % (uint64_t)count);
}

static const char *new_name(struct generator *g) { return arena_printf(g->h.arena, "v%d", g->names++); }

static struct loop_expr *binary(struct generator *g, enum loop_opcode op, struct loop_expr *a, struct loop_expr *b)
{
        return loop_op(g->h.arena, op, a, b, NULL);
}

/* a variable in scope of that type, or NULL */
static struct loop_variable *some_variable(struct generator *g, enum element e, int kind)
{
        int found = 0;
        struct loop_variable *v = NULL;
        for (int i = 0; i < g->variable_count; i++) {
                bool fits = g->variables[i]->type.element == e && (kind < 0 || (int)g->variables[i]->kind == kind);
                if (fits && !pick(g, ++found))
                        v = g->variables[i];
        }
        return v;
}

/* ---- expressions ---- */

/* a counter, at most 3 */
static struct loop_expr *counter(struct generator *g)
{
        struct loop_variable *v = some_variable(g, E_INDEX, VARIABLE_LOOP);
        return v ? loop_use(g->h.arena, v) : loop_index(g->h.arena, pick(g, 3));
}

/* within the buffers: an affine form of small coefficients, or anything clamped */
static struct loop_expr *subscript(struct generator *g)
{
        struct arena *arena = g->h.arena;
        struct loop_expr *e = loop_index(arena, pick(g, 18));
        for (int k = pick(g, 4); k > 0; k--)
                e = binary(g, LOOP_ADD, e, binary(g, LOOP_MUL, counter(g), loop_index(arena, pick(g, 6))));
        struct loop_variable *v = pick(g, 3) ? NULL : some_variable(g, E_INDEX, -1);
        if (v)
                e = binary(g, LOOP_AND, binary(g, pick(g, 2) ? LOOP_SUB : LOOP_ADD, e, loop_use(arena, v)),
                           loop_index(arena, ELEMENTS - 1));
        if (!pick(g, 8))
                e = binary(g, LOOP_SUB, loop_index(arena, ELEMENTS - 1), e);
        return e;
}

static struct loop_expr *random_bool(struct generator *g, int depth);

static struct loop_expr *random_int(struct generator *g, int depth)
{
        static const enum loop_opcode ops[] = { LOOP_ADD, LOOP_SUB, LOOP_MUL, LOOP_DIV, LOOP_REM, LOOP_SHL,
                                                LOOP_SHR, LOOP_AND, LOOP_OR,  LOOP_XOR, LOOP_MIN, LOOP_MAX };
        struct arena *arena = g->h.arena;
        struct loop_variable *v = some_variable(g, E_I32, -1);
        switch (depth > 0 ? pick(g, 10) : pick(g, 4)) {
        case 0: return loop_int(arena, E_I32, pick(g, 9) - 4);
        case 1: return loop_load(arena, g->u, subscript(g));
        case 2: return loop_cast(arena, E_I32, loop_load(arena, g->b, subscript(g)));
        case 3: return v ? loop_use(arena, v) : loop_cast(arena, E_I32, counter(g));
        case 4:
                return loop_op(arena, LOOP_SELECT, random_bool(g, depth - 1), random_int(g, depth - 1),
                               random_int(g, depth - 1));
        case 5: return loop_op(arena, pick(g, 2) ? LOOP_NEG : LOOP_NOT, random_int(g, depth - 1), NULL, NULL);
        default:
                return binary(g, ops[pick(g, sizeof ops / sizeof *ops)], random_int(g, depth - 1),
                              random_int(g, depth - 1));
        }
}

static struct loop_expr *random_float(struct generator *g, int depth)
{
        static const enum loop_opcode ops[] = { LOOP_ADD, LOOP_SUB, LOOP_MUL, LOOP_DIV,
                                                LOOP_MIN, LOOP_MAX, LOOP_ADD, LOOP_MUL };
        struct arena *arena = g->h.arena;
        struct loop_variable *v = some_variable(g, E_F32, -1);
        struct loop_expr *arguments[1];
        switch (depth > 0 ? pick(g, 12) : pick(g, 3)) {
        case 0: return loop_float(arena, E_F32, (double)pick(g, 17) / 4 - 2);
        case 1: return loop_load(arena, g->x, subscript(g));
        case 2: return v ? loop_use(arena, v) : loop_load(arena, g->x, subscript(g));
        case 3:
                return loop_op(arena, LOOP_SELECT, random_bool(g, depth - 1), random_float(g, depth - 1),
                               random_float(g, depth - 1));
        case 4: return loop_cast(arena, E_F32, random_int(g, depth - 1));
        case 5:
                return loop_op(arena, LOOP_FMA, random_float(g, depth - 1), random_float(g, depth - 1),
                               random_float(g, depth - 1));
        case 6:
                arguments[0] = random_float(g, depth - 1);
                return loop_call(arena, loop_library_find(g->h.library, "exp", E_F32), arguments);
        default:
                return binary(g, ops[pick(g, sizeof ops / sizeof *ops)], random_float(g, depth - 1),
                              random_float(g, depth - 1));
        }
}

static struct loop_expr *random_bool(struct generator *g, int depth)
{
        struct arena *arena = g->h.arena;
        enum loop_opcode comparison = (enum loop_opcode)(LOOP_LT + pick(g, 6));
        static const enum loop_opcode ops[] = { LOOP_AND, LOOP_OR, LOOP_XOR, LOOP_EQ };
        switch (depth > 0 ? pick(g, 7) : pick(g, 3)) {
        case 0: return binary(g, comparison, counter(g), subscript(g));
        case 1: return binary(g, comparison, random_int(g, depth - 1), random_int(g, depth - 1));
        case 2: return binary(g, comparison, random_float(g, depth - 1), random_float(g, depth - 1));
        case 3: return loop_op(arena, LOOP_NOT, random_bool(g, depth - 1), NULL, NULL);
        default: return binary(g, ops[pick(g, 4)], random_bool(g, depth - 1), random_bool(g, depth - 1));
        }
}

static struct loop_expr *random_expr(struct generator *g, enum element e, int depth)
{
        struct loop_variable *v = e == E_INDEX && !pick(g, 3) ? some_variable(g, E_INDEX, -1) : NULL;
        if (v) /* subscripts take it modulo the extent */
                return binary(g, LOOP_ADD, loop_use(g->h.arena, v), counter(g));
        return e == E_F32 ? random_float(g, depth) : e == E_I32 ? random_int(g, depth) : subscript(g);
}

/* ---- statements ---- */

static void random_block(struct generator *g, struct loop_block *block, int depth);

static struct loop_variable *declare(struct generator *g, enum element e, int kind)
{
        struct loop_variable *v = loop_variable_new(g->h.arena, new_name(g), LOOP_TYPE(e), kind);
        if (g->variable_count < VARIABLES_MAX)
                g->variables[g->variable_count++] = v;
        return v;
}

static enum element some_type(struct generator *g)
{
        static const enum element types[] = { E_F32, E_I32, E_INDEX };
        return types[pick(g, 3)];
}

static void random_for(struct generator *g, struct loop_block *block, int depth)
{
        struct arena *arena = g->h.arena;
        struct loop_stmt *s = loop_append(arena, block, STMT_FOR);
        struct loop_expr *low = loop_index(arena, pick(g, 2)), *high = loop_index(arena, 1 + pick(g, 4));
        s->a = pick(g, 3) ? low : binary(g, LOOP_MAX, low, binary(g, LOOP_SUB, loop_index(arena, 2), counter(g)));
        s->b = pick(g, 3) ? high : binary(g, LOOP_MIN, high, binary(g, LOOP_SUB, loop_index(arena, 4), counter(g)));
        s->step = pick(g, 4) ? 1 : 2;
        int outer = g->variable_count;
        s->variable = declare(g, E_INDEX, VARIABLE_LOOP);
        random_block(g, s->body, depth - 1);
        g->variable_count = outer;
}

/* for ... { for ... { set sum = sum + x * w } }, in all its variations */
static void random_sum(struct generator *g, struct loop_block *block)
{
        struct arena *arena = g->h.arena;
        struct loop_variable *sum = some_variable(g, pick(g, 3) ? E_F32 : E_I32, VARIABLE_VAR);
        int outer = g->variable_count;
        if (!sum)
                return;
        for (int loops = pick(g, 4); loops > 0; loops--) {
                struct loop_stmt *s = loop_append(arena, block, STMT_FOR);
                s->a = loop_index(arena, pick(g, 2));
                s->b = pick(g, 3) ? loop_index(arena, 1 + pick(g, 3))
                                  : binary(g, LOOP_SUB, loop_index(arena, 4), counter(g));
                s->step = pick(g, 4) ? 1 : 3;
                s->variable = declare(g, E_INDEX, VARIABLE_LOOP);
                block = s->body;
                if (!pick(g, 3)) {
                        struct loop_stmt *let = loop_append(arena, block, STMT_LET);
                        let->a = subscript(g);
                        let->variable = declare(g, E_INDEX, VARIABLE_LET);
                }
        }
        struct loop_stmt *set = loop_append(arena, block, STMT_SET);
        struct loop_expr *use = loop_use(arena, sum), *term, *other;
        bool real = sum->type.element == E_F32;
        struct loop_expr *x = real ? loop_load(arena, g->x, subscript(g))
                                   : loop_cast(arena, E_I32, loop_load(arena, g->b, subscript(g)));
        other = real ? loop_load(arena, g->x, subscript(g))
                     : loop_cast(arena, E_I32, loop_load(arena, pick(g, 3) ? g->b : g->u, subscript(g)));
        term = pick(g, 3) ? binary(g, LOOP_MUL, x, other) : x;
        set->variable = sum;
        set->a = !pick(g, 5)  ? binary(g, LOOP_MAX, use, term)
                 : pick(g, 2) ? binary(g, LOOP_ADD, use, term)
                              : binary(g, LOOP_ADD, term, use);
        g->variable_count = outer;
}

/* for ... { let ...; store ...; set sum = ... }: what runs in strips, or just not */
static void random_strip(struct generator *g, struct loop_block *block)
{
        struct arena *arena = g->h.arena;
        struct loop_buffer *const outputs[] = { g->y, g->z, g->m };
        int outer = g->variable_count, step = 1 + pick(g, 2), trips = pick(g, 8), first = pick(g, 3);
        struct loop_variable *accumulators[] = { some_variable(g, E_F32, VARIABLE_VAR),
                                                 some_variable(g, E_I32, VARIABLE_VAR) };
        struct loop_stmt *loop = loop_append(arena, block, STMT_FOR);
        loop->a = pick(g, 2) ? loop_index(arena, first) : binary(g, LOOP_ADD, counter(g), loop_index(arena, first));
        loop->b = loop_index(arena, first + trips);
        loop->step = step;
        loop->variable = loop_variable_new(arena, new_name(g), LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        struct loop_expr *i = loop_use(arena, loop->variable);
        if (first + trips <= 4) /* only then may others take it for a counter */
                g->variables[g->variable_count++] = loop->variable;
        for (int n = 1 + pick(g, 4); n > 0; n--) {
                int what = pick(g, 6), coefficient = pick(g, 4) ? 1 + pick(g, 3) : -1 - pick(g, 2);
                struct loop_expr *at = binary(g, LOOP_ADD, binary(g, LOOP_MUL, i, loop_index(arena, coefficient)),
                                              loop_index(arena, pick(g, 10) + (coefficient < 0 ? 20 : 0)));
                struct loop_buffer *out = outputs[n % 3];
                if (!pick(g, 6)) /* a step that memory says */
                        at = binary(
                                g, LOOP_ADD, at,
                                binary(g, LOOP_AND,
                                       loop_cast(arena, E_INDEX, loop_cast(arena, E_I32, loop_load(arena, g->b, i))),
                                       loop_index(arena, 3)));
                if (what == 0 && accumulators[n & 1]) {
                        enum element e = n & 1 ? E_I32 : E_F32;
                        struct loop_expr *term = random_expr(g, e, 3), *use = loop_use(arena, accumulators[n & 1]);
                        struct loop_stmt *s = loop_append(arena, loop->body, STMT_SET);
                        s->variable = accumulators[n & 1];
                        s->a = !pick(g, 4)  ? binary(g, LOOP_MAX, use, term)
                               : pick(g, 2) ? binary(g, LOOP_ADD, use, term)
                                            : binary(g, LOOP_ADD, term, use);
                } else if (what < 3) {
                        enum element e = some_type(g);
                        struct loop_expr *value =
                                e == E_F32 && pick(g, 2) ? loop_load(arena, g->x, at) : random_expr(g, e, 3);
                        struct loop_stmt *s = loop_append(arena, loop->body, STMT_LET);
                        s->a = value;
                        s->variable = declare(g, e, VARIABLE_LET);
                } else {
                        struct loop_expr *value =
                                out == g->y ? random_float(g, 3) : loop_cast(arena, out->element, random_int(g, 3));
                        if (out == g->y && pick(g, 2))
                                value = binary(g, LOOP_ADD, value,
                                               loop_load(arena, g->y, pick(g, 4) ? at : subscript(g)));
                        struct loop_stmt *s = loop_append(arena, loop->body, STMT_STORE);
                        s->buffer = out;
                        s->a = pick(g, 6) ? at : subscript(g);
                        s->b = value;
                }
        }
        g->variable_count = outer;
}

static void random_store(struct generator *g, struct loop_block *block)
{
        struct arena *arena = g->h.arena;
        struct loop_stmt *s = loop_append(arena, block, STMT_STORE);
        struct loop_buffer *const buffers[] = { g->y, g->z, g->m };
        s->buffer = buffers[pick(g, 3)];
        s->a = subscript(g);
        s->b = loop_cast(arena, s->buffer->element, s->buffer == g->y ? random_float(g, 3) : random_int(g, 3));
}

static void random_while(struct generator *g, struct loop_block *block, int depth)
{
        struct arena *arena = g->h.arena;
        struct loop_stmt *start = loop_append(arena, block, STMT_VAR);
        start->variable = loop_variable_new(arena, new_name(g), LOOP_TYPE(E_I32), VARIABLE_VAR); /* not set by others */
        struct loop_stmt *s = loop_append(arena, block, STMT_WHILE);
        s->a = binary(g, LOOP_AND, binary(g, LOOP_LT, loop_use(arena, start->variable), loop_int(arena, E_I32, 3)),
                      random_bool(g, 1));
        int outer = g->variable_count;
        random_block(g, s->body, depth - 1);
        g->variable_count = outer;
        struct loop_stmt *step = loop_append(arena, s->body, STMT_SET);
        step->variable = start->variable;
        step->a = binary(g, LOOP_ADD, loop_use(arena, start->variable), loop_int(arena, E_I32, 1));
}

static void random_if(struct generator *g, struct loop_block *block, int depth)
{
        struct loop_stmt *s = loop_append(g->h.arena, block, STMT_IF);
        int outer = g->variable_count;
        s->a = random_bool(g, 2);
        random_block(g, s->body, depth - 1);
        g->variable_count = outer;
        if (pick(g, 2)) {
                s->other = loop_block_new(g->h.arena);
                random_block(g, s->other, depth - 1);
                g->variable_count = outer;
        }
}

static void random_stmt(struct generator *g, struct loop_block *block, int depth)
{
        struct arena *arena = g->h.arena;
        enum element e = some_type(g);
        struct loop_stmt *s;
        struct loop_variable *v;
        struct loop_expr *value;
        switch (depth > 0 ? pick(g, 12) : 4 + pick(g, 8)) {
        case 0:
        case 1: random_for(g, block, depth); break;
        case 2: random_if(g, block, depth); break;
        case 3: random_while(g, block, depth); break;
        case 4:
        case 5:
                value = random_expr(g, e, 3);
                s = loop_append(arena, block, STMT_LET);
                s->a = value;
                s->variable = declare(g, e, VARIABLE_LET);
                break;
        case 6:
                value = pick(g, 2) ? random_expr(g, e, 2) : NULL;
                s = loop_append(arena, block, STMT_VAR);
                s->a = value;
                s->variable = declare(g, e, VARIABLE_VAR);
                break;
        case 7:
        case 8:
                v = some_variable(g, e, VARIABLE_VAR);
                if (!v)
                        break;
                s = loop_append(arena, block, STMT_SET);
                s->variable = v;
                s->a = random_expr(g, e, 3);
                break;
        case 9: random_sum(g, block); break;
        case 10: random_strip(g, block); break;
        default: random_store(g, block); break;
        }
}

static void random_block(struct generator *g, struct loop_block *block, int depth)
{
        for (int n = 1 + pick(g, 4); n > 0 && g->statements < 60; n--, g->statements++)
                random_stmt(g, block, depth);
}

/* ---- programs ---- */

static struct loop_program *random_program(struct generator *g)
{
        static const struct {
                const char *name;
                enum element element;
        } rows[] = {
                { "x", E_F32 }, { "u", E_I32 }, { "b", E_U8 }, { "y", E_F32 }, { "z", E_I32 }, { "m", E_U8 },
        };
        struct arena *arena = g->h.arena;
        struct loop_program *p = loop_program_new(arena, "random", g->h.library);
        struct loop_function *kernel = loop_function_new(arena, FUNCTION_KERNEL, "kernel");
        struct loop_stmt *call = loop_append(arena, loop_main(p)->body, STMT_CALL);
        struct loop_buffer **const parameters[] = { &g->x, &g->u, &g->b, &g->y, &g->z, &g->m };
        call->function = kernel;
        call->buffers = arena_array(arena, 6, sizeof *call->buffers);
        for (int i = 0; i < 6; i++) {
                *parameters[i] = loop_parameter_add(arena, kernel, rows[i].name, rows[i].element, ELEMENTS,
                                                    i < 3 ? ACCESS_IN : ACCESS_INOUT);
                call->buffers[i] =
                        loop_buffer_add(p, rows[i].name, rows[i].element, ELEMENTS, i < 3 ? SPACE_INPUT : SPACE_OUTPUT);
                call->buffers[i]->port = rows[i].name;
        }
        struct loop_stmt *first = loop_append(arena, kernel->body, STMT_VAR); /* so that sums have where to go */
        first->variable = declare(g, E_F32, VARIABLE_VAR);
        struct loop_stmt *second = loop_append(arena, kernel->body, STMT_VAR);
        second->variable = declare(g, E_I32, VARIABLE_VAR);
        while (g->statements < 20)
                random_block(g, kernel->body, 4);
        struct loop_stmt *last = loop_append(arena, kernel->body, STMT_STORE);
        last->buffer = g->y;
        last->a = loop_index(arena, 63);
        last->b = loop_use(arena, first->variable);
        last = loop_append(arena, kernel->body, STMT_STORE);
        last->buffer = g->z;
        last->a = loop_index(arena, 63);
        last->b = loop_use(arena, second->variable);
        loop_kernel_add(p, kernel);
        if (!loop_verify(p, &g->h.diag))
                fail_msg("%s", harness_said(&g->h));
        return p;
}

union result {
        float f[ELEMENTS];
        double d[ELEMENTS];
        int32_t i[ELEMENTS];
        uint8_t b[ELEMENTS];
};

static bool same_floats(const union result *a, const union result *b, bool as_double)
{
        for (int k = 0; k < ELEMENTS; k++) {
                double v = as_double ? a->d[k] : (double)a->f[k], w = as_double ? b->d[k] : (double)b->f[k];
                if (memcmp(&v, &w, sizeof v) && !(isnan(v) && isnan(w)))
                        return false;
        }
        return true;
}

static void check_program(const struct harness *shared, uint64_t seed)
{
        struct generator g = { .h = *shared, .state = seed * UINT64_C(0x9e3779b97f4a7c15) };
        g.h.arena = arena_new();
        const struct loop_program *p = random_program(&g);
        static float x[ELEMENTS];
        static int32_t u[ELEMENTS];
        static uint8_t b[ELEMENTS];
        for (int i = 0; i < ELEMENTS; i++) {
                x[i] = (float)(pick(&g, 2001) - 1000) / 64;
                u[i] = pick(&g, 5) ? pick(&g, 200) - 100 : (int32_t)((uint32_t)pick(&g, 1 << 30) << 2);
                b[i] = (uint8_t)pick(&g, 256);
        }
        const void *inputs[] = { x, u, b };
        static const struct interp_options forms[] = {
                { .plain = true }, { .strip = 2 }, { .strip = 3 }, { .strip = 0 }
        };
        enum { FORMS = sizeof forms / sizeof *forms };
        for (int as_double = 0; as_double < 2; as_double++) {
                union result r[FORMS][3];
                int codes[FORMS];
                memset(r, 0, sizeof r);
                for (int k = 0; k < FORMS; k++) {
                        void *outputs[] = { &r[k][0], &r[k][1], &r[k][2] };
                        struct interp_options options = forms[k];
                        options.as_double = as_double;
                        codes[k] = harness_run_with(&g.h, p, options, inputs, outputs);
                        if (codes[k] == INTERP_OK && same_floats(&r[0][0], &r[k][0], as_double) &&
                            !memcmp(r[0][1].i, r[k][1].i, sizeof r[0][1].i) &&
                            !memcmp(r[0][2].b, r[k][2].b, sizeof r[0][2].b))
                                continue;
                        struct text text = { 0 };
                        loop_print(&text, p, NULL);
                        fputs(text.data, stderr);
                        fail_msg("program %d, form %d, %s: codes %d and %d", (int)seed - 1, k,
                                 as_double ? "double" : "float", codes[0], codes[k]);
                }
        }
        arena_free(g.h.arena);
}

static void test_random_programs(void **state)
{
        (void)state;
        const char *from = getenv("INTERP_SEED");
        int first = from ? atoi(from) : 0;
        struct harness h;
        harness_open(&h);
        for (int seed = first; seed < first + PROGRAMS; seed++)
                check_program(&h, (uint64_t)seed + 1);
        harness_close(&h);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_programs) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
