/* SPDX-License-Identifier: MIT */
/* Vectors from scalars: the loop over %j becomes strips of vectors and a masked rest, which must compute the same. */
#include "test/unit/interp_harness.h"

#include "ir/loop/loop_vector.h"

enum { ELEMENTS = 4096 };

static struct loop_stmt **find_loop(struct loop_block *block)
{
        for (struct loop_stmt **s = &block->first; *s; s = &(*s)->next) {
                if ((*s)->kind == STMT_FOR && !strcmp((*s)->variable->name, "j"))
                        return s;
                struct loop_stmt **inside = (*s)->body ? find_loop((*s)->body) : NULL;
                if (inside)
                        return inside;
        }
        return NULL;
}

/* from 0 to n: whole vectors, then what is left under a mask */
static bool vectorize(struct loop_program *p, int lanes, bool bounds)
{
        struct loop_function *f = p->kernels;
        struct loop_stmt **place = find_loop(f->body), *old = *place;
        struct loop_block *block = loop_block_new(p->arena);
        struct loop_stmt *strips = loop_append(p->arena, block, STMT_FOR);
        int64_t n = old->b->literal.i, whole = n / lanes * lanes;
        strips->variable = loop_variable_new(p->arena, "j", old->variable->type, VARIABLE_LOOP);
        strips->a = loop_index(p->arena, 0);
        strips->b = loop_index(p->arena, whole);
        strips->step = lanes;
        struct vector_request r = { .arena = p->arena,
                                    .lane = old->variable,
                                    .base = loop_use(p->arena, strips->variable),
                                    .lanes = lanes,
                                    .bounds = bounds ? loop_bounds_new(p->arena, f) : NULL,
                                    .scatters = true };
        if (bounds)
                loop_bounds_set(r.bounds, strips->variable,
                                loop_bounds_for(r.bounds, strips->a, strips->b, lanes));
        if (!vector_block(&r, old->body, strips->body))
                return false;
        if (whole < n) {
                struct loop_stmt *let = loop_append(p->arena, block, STMT_LET);
                let->a = vector_mask(p->arena, lanes, loop_index(p->arena, n - whole));
                let->variable = loop_variable_new(p->arena, "rest", let->a->type, VARIABLE_LET);
                r.base = loop_index(p->arena, whole);
                r.mask = loop_use(p->arena, let->variable);
                if (!vector_block(&r, old->body, block))
                        return false;
        }
        *block->end = old->next;
        *place = block->first;
        loop_function_rename(p->arena, f);
        return true;
}

static void program_text(struct text *text, const char *body)
{
        text_add(text,
                 "buffer @x : f32[%d] input \"x\" shape <%d>\nbuffer @u : u8[%d] input \"u\" shape <%d>\n"
                 "buffer @y : f32[%d] output \"y\" shape <%d>\nkernel @k(%%x: in f32[%d], %%u: in u8[%d], %%y: out f32[%d]) {\n"
                 "%s}\nmain {\n  call @k(@x, @u, @y)\n}\n",
                 ELEMENTS, ELEMENTS, ELEMENTS, ELEMENTS, ELEMENTS, ELEMENTS, ELEMENTS, ELEMENTS, ELEMENTS, body);
}

static float x[ELEMENTS], want[ELEMENTS], got[ELEMENTS];
static uint8_t u[ELEMENTS];

/* NULL: it computes the same; else why not */
static const char *differs(const char *body, int lanes, bool bounds)
{
        struct harness h;
        struct text text = { 0 };
        const void *inputs[] = { x, u };
        const char *answer = NULL;
        program_text(&text, body);
        harness_open(&h);
        struct loop_program *scalar = harness_parse(&h, text.data), *vector = harness_parse(&h, text.data);
        memset(want, 0, sizeof want);
        memset(got, 0, sizeof got);
        if (!vectorize(vector, lanes, bounds)) {
                answer = "refused";
        } else if (!loop_verify(vector, &h.diag)) {
                fail_msg("%s\nfor\n%s", harness_said(&h), text.data);
        } else {
                assert_int_equal(harness_run(&h, scalar, false, false, inputs, (void *[]){ want }), INTERP_OK);
                assert_int_equal(harness_run(&h, vector, false, false, inputs, (void *[]){ got }), INTERP_OK);
                for (int i = 0; i < ELEMENTS && !answer; i++)
                        if (memcmp(&want[i], &got[i], sizeof *want) && !(isnan(want[i]) && isnan(got[i])))
                                answer = "other bits";
        }
        if (getenv("SHOW")) {
                struct text shown = { 0 };
                loop_print_function(&shown, vector->kernels);
                fprintf(stderr, "%s\n", shown.data);
                text_free(&shown);
        }
        text_free(&text);
        harness_close(&h);
        return answer;
}

static void fill_inputs(void)
{
        fill(x, ELEMENTS, 3);
        for (int i = 0; i < ELEMENTS; i++)
                u[i] = (uint8_t)(i * 29);
        x[17] = NAN;
        x[33] = INFINITY;
        x[40] = -0.0f;
}

/* ---- what can be done ---- */

static const char *const bodies[] = {
        /* a chain with a broadcast, a call */
        "  for %i = 0 to 7 {\n    for %j = 0 to 45 {\n"
        "      let %v : f32 = %x[%i * 45 + %j] * %x[%i] + 2.0\n"
        "      store %y[%i * 45 + %j] = select(%v > 1.0, exp(%v), max(%v, %x[%j])) / (1.0 + abs(%v))\n    }\n  }\n",
        /* lets of subscripts, a strided load, one backwards */
        "  for %i = 0 to 3 {\n    for %j = 0 to 37 {\n"
        "      let %p : index = %i * 37 + %j\n      let %q : index = 2 * %p + 1\n"
        "      store %y[%p] = %x[%q] - %x[500 - %p]\n    }\n  }\n",
        /* a scatter */
        "  for %j = 0 to 50 {\n    store %y[%j * 3 + 1] = %x[%j]\n  }\n",
        /* window sums, the lane outside */
        "  for %j = 0 to 60 {\n    var %sum : f32 = 0.0\n    for %k = 0 to 5 {\n      let %w : f32 = %x[%k]\n"
        "      set %sum = %sum + %x[%j + %k] * %w\n    }\n    store %y[%j] = %sum\n  }\n",
        /* outside of x: select, and if; conditions of both kinds */
        "  for %i = 0 to 6 {\n    for %j = 0 to 40 {\n"
        "      let %v : f32 = select(%j >= 1 & %j < 39 & %i > 2, %x[%i * 38 + %j - 1], -0.5)\n"
        "      store %y[%i * 40 + %j] = %v\n    }\n  }\n",
        "  for %i = 0 to 6 {\n    for %j = 0 to 40 {\n      var %v : f32 = 1.0\n      var %n : i32 = 0\n"
        "      if %j >= 3 {\n        set %v = %x[%i * 38 + %j - 3]\n        if %v < 0.5 {\n          set %n = 7\n"
        "        }\n      } else {\n        set %v = %v + f32(%i)\n      }\n"
        "      store %y[%i * 40 + %j] = %v + f32(%n)\n    }\n  }\n",
        /* a store under a condition, a mask that its own body changes */
        "  for %j = 0 to 33 {\n    var %go : bool = %x[%j] > 0.0\n    if %go {\n      set %go = false\n"
        "      store %y[%j] = 3.0\n    } else {\n      store %y[%j] = 4.0\n    }\n"
        "    if %go {\n      store %y[%j] = 5.0\n    }\n  }\n",
        /* the number of the lane */
        "  for %j = 0 to 29 {\n    store %y[%j] = f32(%j * 3 - 7) + f32(u32(%j)) * f32(i32(%u[%j]))\n  }\n",
        /* division by what is a multiple of the lanes */
        "  for %i = 0 to 2 {\n    for %j = 0 to 320 {\n"
        "      store %y[%i * 320 + %j] = %x[(%i * 320 + %j) / 32] + %x[(%i * 320 + %j) % 32] + %x[%j * 4 / 4]\n    }\n  }\n",
        /* a window at the borders; loops that begin and end apart */
        "  for %i = 0 to 5 {\n    for %j = 0 to 30 {\n      var %best : f32 = -inf\n"
        "      let %from : index = max(1 - %j * 2, 0)\n      let %to : index = min(3, 60 - %j * 2)\n"
        "      for %k = %from to %to {\n        let %p : index = %j * 2 + %k - 1\n"
        "        set %best = max(%best, %x[%i * 60 + %p])\n      }\n      store %y[%i * 30 + %j] = %best\n    }\n  }\n",
        /* a subscript that is not affine */
        "  for %j = 0 to 60 {\n    let %p : index = %j / 3\n    store %y[%j] = %x[%p * 7 + %j % 3] + f32(%p)\n  }\n",
        /* bytes */
        "  for %j = 0 to 70 {\n    let %b : u32 = u32(%u[%j])\n"
        "    store %y[%j] = f32(%b * 3 + 1) * f32(%b > 100) + bits_f32(%b << 23)\n  }\n",
        /* a tile, a loop with a while and a branch that are the same in all lanes */
        "  for %i = 0 to 2 {\n    for %j = 0 to 20 {\n      var %t : f32[2][2]\n      set %t{1, 0} = %x[%j]\n"
        "      if %i == 1 {\n        set %t{0, 1} = %t{1, 0} * 2.0\n      }\n      var %n : i32 = 3\n"
        "      while %n > 0 {\n        set %n = %n - 1\n        set %t{0, 0} = %t{0, 0} + f32(%n)\n      }\n"
        "      store %y[%i * 20 + %j] = %t{0, 0} + %t{0, 1} + %t{1, 0}\n    }\n  }\n",
};

static void test_bodies(void **state)
{
        (void)state;
        fill_inputs();
        for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++)
                for (int lanes = 4; lanes <= 16; lanes *= 2)
                        for (int bounds = 0; bounds < 2; bounds++) {
                                const char *answer = differs(bodies[k], lanes, bounds);
                                bool needs = !bounds && (strstr(bodies[k], ") / 32") || strstr(bodies[k], "%from"));
                                if (!needs && answer)
                                        fail_msg("%s in %d lanes, bounds %d:\n%s", answer, lanes, bounds, bodies[k]);
                        }
}

static void test_lengths(void **state)
{
        (void)state;
        fill_inputs();
        for (int n = 1; n <= 70; n++) {
                char body[300];
                snprintf(body, sizeof body,
                         "  for %%i = 0 to 3 {\n    for %%j = 0 to %d {\n"
                         "      store %%y[%%i * %d + %%j] = %%x[%%i * %d + %%j] * 2.0 + %%x[%%j]\n    }\n  }\n",
                         n, n, n);
                for (int lanes = 4; lanes <= 16; lanes *= 4)
                        assert_null(differs(body, lanes, true));
        }
}

/* ---- what cannot ---- */

static void test_refusals(void **state)
{
        static const char *const refused[] = {
                "  for %j = 0 to 9 {\n    store %y[0] = %x[%j]\n  }\n",                              /* one place */
                "  for %j = 0 to 9 {\n    store %y[%j] = 1.0\n    store %y[%j + 1] = 2.0\n  }\n",  /* in order */
                "  for %j = 0 to 190 {\n    for %k = 0 to %j {\n      store %y[%j] = %x[%k]\n    }\n  }\n",
                "  for %j = 0 to 9 {\n    if %x[%j] > 9.0 {\n      fail INDEX\n    }\n    store %y[%j] = 1.0\n  }\n",
                "  var %s : f32 = 0.0\n  for %j = 0 to 9 {\n    set %s = %s + %x[%j]\n  }\n  store %y[0] = %s\n",
                "  for %j = 0 to 9 {\n    alloc %b : f32[4] stack\n    store %b[0] = %x[%j]\n    store %y[%j] = %b[0]\n  }\n",
        };
        (void)state;
        fill_inputs();
        for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
                const char *answer = differs(refused[k], 8, true);
                if (!answer || strcmp(answer, "refused"))
                        fail_msg("not refused (%s):\n%s", answer ? answer : "same", refused[k]);
        }
}

/* a sum by substitution: the scalar variable is an entry of a tile of vectors */
static void test_substitution(void **state)
{
        (void)state;
        struct harness h;
        struct text text = { 0 };
        harness_open(&h);
        program_text(&text, "  var %t : f32x8[1][2]\n  var %s : f32 = 0.0\n  for %j = 0 to 64 {\n    set %s = %s + %x[%j]\n  }\n"
                            "  store %y[0] = sum_lanes(%t{0, 1})\n");
        struct loop_program *p = harness_parse(&h, text.data);
        struct loop_stmt *tile = p->kernels->body->first, *sum = tile->next, *loop = sum->next;
        struct vector_substitution s = { sum->variable, loop_tile_entry(p->arena, tile->variable, 0, 1) };
        struct loop_block *body = loop_block_new(p->arena);
        struct vector_request r = { .arena = p->arena, .lane = loop->variable, .lanes = 8, .substitutions = &s,
                                    .substitution_count = 1, .base = loop_use(p->arena, loop->variable) };
        assert_true(vector_block(&r, loop->body, body));
        loop->body = body;
        loop->step = 8;
        assert_true(loop_verify(p, &h.diag));
        float total = 0;
        for (int i = 0; i < ELEMENTS; i++)
                x[i] = (float)(i % 100), total += i < 64 ? x[i] : 0;
        assert_int_equal(harness_run(&h, p, false, false, (const void *[]){ x, u }, (void *[]){ got }), INTERP_OK);
        assert_true(got[0] == total);
        text_free(&text);
        harness_close(&h);
}

/* ---- bounds ---- */

static void test_bounds(void **state)
{
        static const struct { const char *expr; int64_t low, high, multiple; } cases[] = {
                { "%i", 4, 16, 4 },                     { "%i * 6 + 2", 26, 98, 2 },
                { "7 - %i", -9, 3, 1 },                 { "%i / 4", 1, 4, 1 },
                { "%i % 4", 0, 3, 4 },                  { "%i * 8 / 8", 4, 16, 4 },
                { "max(%i - 6, 0)", 0, 10, 2 },         { "min(%i, 9)", 4, 9, 1 },
                { "select(%i > 5, %i, 40)", 4, 40, 4 }, { "index(%u[0])", 0, 255, 1 },
                { "index(%u[0] > 3)", 0, 1, 1 },        { "%i * 4611686018427387904", INT64_MIN, INT64_MAX, 1 },
                { "%n + 1", INT64_MIN, INT64_MAX, 1 },  { "-(%i)", -16, -4, 4 },
        };
        (void)state;
        struct harness h;
        harness_open(&h);
        struct text text = { 0 };
        text_add(&text, "buffer @u : u32[1] input \"u\" shape <1>\nkernel @k(%%u: in u32[1], %%n: index) {\n"
                        "  for %%i = 4 to 20 step 4 {\n");
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
                text_add(&text, "    let %%v%zu : index = %s\n", k,
                         strstr(cases[k].expr, "%u[0]") && !strstr(cases[k].expr, ">") ? "index(u8(%u[0]))" : cases[k].expr);
        text_add(&text, "  }\n}\nmain {\n  call @k(@u; 3)\n}\n");
        struct loop_program *p = harness_parse(&h, text.data);
        struct loop_bounds *bounds = loop_bounds_new(h.arena, p->kernels);
        const struct loop_stmt *s = p->kernels->body->first->body->first;
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++, s = s->next) {
                struct loop_range r = loop_bounds_of(bounds, s->a);
                if (r.low != cases[k].low || r.high != cases[k].high || r.multiple != cases[k].multiple)
                        fail_msg("%s: %lld..%lld, multiple of %lld", cases[k].expr, (long long)r.low, (long long)r.high,
                                 (long long)r.multiple);
        }
        text_free(&text);
        harness_close(&h);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bodies),       cmocka_unit_test(test_lengths), cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_substitution), cmocka_unit_test(test_bounds),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
