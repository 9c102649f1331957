/* SPDX-License-Identifier: MIT */
/* Loop IR text: what is printed reads back as the same program. */
#include "test/unit/loop_harness.h"

/* ---- text ---- */

/* what passes tell a printer of kernels in grid form, and of indices */
static const char decided[] =
        "loop 5\n"
        "program \"decided\" source \"\"\n"
        "buffer @x : f32[512] input \"x\"\n"
        "buffer @y : f32[512] output \"y\"\n"
        "kernel @grid(%x: in f32[512], %y: out f32[512]) {\n"
        "  for %c = 0 to 4 gpu_block {\n"
        "    for %early = 0 to 4 gpu_warp nowait {\n"
        "      prefetch %x[%early * 64] 3 of 64\n"
        "    }\n"
        "    prefetch %x[0] 1 of 512\n"
        "    launch_wait\n"
        "    launch_dependents\n"
        "    for %w = 0 to 4 gpu_warp syncwarp {\n"
        "      for %l = 0 to 32 gpu_lane nowait {\n"
        "        let %word : f32x4 = %x<4>[%l * 4]\n"
        "        store %y[%l * 2] = lane(%word, 0) vector 2\n"
        "        store %y[%l * 2 + 1] = lane(%word, 3)\n"
        "      }\n"
        "    }\n"
        "  }\n"
        "}\n"
        "kernel @core(%x: in f32[512], %y: out f32[512]) {\n"
        "  for %i = 0 to 16 {\n"
        "    let %at : index of %x = %i * 2\n"
        "    store %y[%i] = %x[%at] + %x[%at + 3]\n"
        "  }\n"
        "}\n"
        "main {\n"
        "  call @grid(@x, @y)\n"
        "  call @core(@x, @y)\n"
        "}\n";

static void test_decisions_round_trip(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        assert_string_equal(print(&b, parse_well(&b, decided)), decided);
        assert_int_equal(b.diag.errors, 0);
        bench_close(&b);
}

static void test_everything_round_trips(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct loop_program *p = parse_well(&b, everything);
        assert_string_equal(print(&b, p), everything);
        assert_string_equal(p->name, "every\\x20thing");
        assert_string_equal(p->buffers->port, "In\"put \303\2443");
        assert_int_equal(p->buffers->type->rank, 4);
        assert_string_equal(p->kernels->location, "conv1, relu1");
        assert_string_equal(p->kernels->summary, "convolve <1 x 784 x f32>");
        assert_true(p->kernels->flops == 123456 && p->kernels->can_fail &&
                    !p->kernels->next->can_fail && loop_main(p)->can_fail);
        assert_true(p->planned && loop_workspace_size(p) == 4096 && p->workspace_align == 64 &&
                    loop_live_peak(p) == 256);
        int64_t offset;
        struct loop_buffer *part = p->buffers;
        while (strcmp(part->name, "part"))
                part = part->next;
        assert_string_equal(loop_buffer_root(part, &offset)->name, "temporary");
        assert_int_equal(offset, 128);
        assert_int_equal(b.diag.errors, 0);
        bench_close(&b);
}

/* Comments, line breaks and blanks are free, but for the remark behind a kernel's brace. */
static void test_text_is_free(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct loop_program *p = parse_well(
                &b, "; head\nloop 1 program \"p\" source \"\" ; more\nbuffer @a:f32[2]output\"a\"\n"
                    "kernel @k(%y:out f32[2],%n:index)flops 2.5 { ; plain /* words */ // \"and\" "
                    "more \\\n"
                    "store %y[0]=1 let %a:f64=(1+2)store %y[1]=f32(%a)-(-3) ; end\n}main{call "
                    "@k(@a;1)}");
        assert_string_equal(print(&b, p),
                            "loop 1\nprogram \"p\" source \"\"\nbuffer @a : f32[2] output \"a\"\n"
                            "kernel @k(%y: out f32[2], %n: index) flops 2.5 {        ; plain /. words *. /. .and. more .\n"
                            "  store %y[0] = 1.0\n  let %a : f64 = 1.0 + 2.0\n  store %y[1] = f32(%a) - -3.0\n}\n"
                            "main {\n  call @k(@a; 1)\n}\n");
        bench_close(&b);
}

static void test_image(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        static const char text[] =
                "loop 10\nprogram \"p\" source \"\"\n"
                "buffer @x : u8[90] input \"x\"\nbuffer @y : u8[6] output \"y\"\n"
                "kernel @k(%x: in u8[90], %y: out u8[6], %n: index) {\n"
                "  image %y[0] = %x[0] of %n - 1 as bgr 1 x 2\n}\n"
                "main {\n  call @k(@x, @y; 90)\n}\n";
        struct loop_program *p = parse_well(&b, text);
        assert_true(p->kernels->can_fail);
        assert_string_equal(print(&b, p), text);
        bench_close(&b);
}

struct blob { const char *name; struct text bytes; };

static bool read_blob(void *context, const char *name, const void **bytes, size_t *length)
{
        struct blob *blob = context;
        *bytes = blob->bytes.data;
        *length = blob->bytes.length;
        return !strcmp(name, blob->name);
}

static void test_constants_in_a_file(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct loop_program *p = loop_program_new(b.arena, "p", b.library);
        float numbers[100];
        unsigned char bytes[33];
        for (int i = 0; i < 100; i++)
                numbers[i] = (float)i / 3;
        for (int i = 0; i < 33; i++)
                bytes[i] = (unsigned char)(7 * i);
        struct loop_buffer *c = loop_buffer_add(p, "c", E_U8, 33, SPACE_CONSTANT);
        c->data = bytes;
        c = loop_buffer_add(p, "n", E_F32, 100, SPACE_CONSTANT);
        c->data = numbers;
        struct blob blob = { "p.bin", { 0 } };
        struct tensor_print options = { &blob.bytes, "p.bin", false };
        struct text out = { 0 };
        loop_print(&out, p, &options);
        assert_non_null(strstr(out.data, "data \"p.bin\" sha256 \""));
        assert_non_null(strstr(out.data, "\" bytes 448\n"));
        assert_non_null(strstr(out.data, "@n : f32[100] constant = file 48\n"));
        struct loop_program *q =
                loop_parse(b.arena, out.data, out.length, read_blob, &blob, b.library, &b.diag);
        assert_non_null(q);
        assert_memory_equal(q->buffers->data, bytes, sizeof bytes);
        assert_memory_equal(q->buffers->next->data, numbers, sizeof numbers);
        assert_null(loop_parse(b.arena, out.data, out.length, NULL, NULL, b.library, &b.diag));
        blob.bytes.data[100] ^= 1;
        assert_null(
                loop_parse(b.arena, out.data, out.length, read_blob, &blob, b.library, &b.diag));
        assert_non_null(strstr(said(&b), "is not the file this text was written with"));
        blob.bytes.data[100] ^= 1;
        char *offset = strstr(out.data, "file 48");
        memcpy(offset, "file 49", 7);
        assert_null(
                loop_parse(b.arena, out.data, out.length, read_blob, &blob, b.library, &b.diag));
        assert_non_null(strstr(said(&b), "leaves the file"));
        blob.bytes.length--;
        assert_null(
                loop_parse(b.arena, out.data, out.length, read_blob, &blob, b.library, &b.diag));
        assert_non_null(strstr(said(&b), "has 447 bytes, want 448"));
        out.length = 0;
        options = (struct tensor_print){ NULL, NULL, true };
        loop_print(&out, p, &options);
        assert_non_null(strstr(out.data, "@n : f32[100] constant = ...\n"));
        assert_null(loop_parse(b.arena, out.data, out.length, NULL, NULL, b.library, &b.diag));
        assert_int_equal(b.diag.errors, 5);
        text_free(&out);
        text_free(&blob.bytes);
        bench_close(&b);
}

/* ---- random expressions: what is printed reads back as the same tree, types of literals included
 * ---- */

static const enum element scalars[] = { E_F32, E_F64, E_I32, E_I64, E_U32, E_U64, E_BOOL, E_INDEX };
enum { SCALARS = sizeof scalars / sizeof *scalars };
struct pool {
        struct bench *b;
        struct loop_variable *variables[SCALARS][2];
        struct loop_buffer *buffers[SCALARS];
};

static int scalar_number(enum element e)
{
        int i = 0;
        while (scalars[i] != e)
                i++;
        return i;
}

static struct loop_expr *random_literal(struct arena *arena, struct loop_type type)
{
        static const double floats[] = {
                0, -0.0, 1, -2.5, 0.1, 1e30, 1e-40, (double)INFINITY, -(double)INFINITY
        };
        static const int64_t ints[] = { 0, 1, -1, 7, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX };
        enum element e = (enum element)type.element;
        struct loop_expr *one = element_is_float(e) ? loop_float(arena, e, floats[pick(9)]) :
                                                      loop_int(arena, e, ints[pick(8)]);
        return loop_literal(arena, type, one->literal);
}

static struct loop_expr *random_expr(struct pool *pool, struct loop_type type, int depth);

static struct loop_expr *random_op(struct pool *pool, struct loop_type type, int depth)
{
        struct arena *arena = pool->b->arena;
        enum element e = (enum element)type.element;
        enum loop_opcode op = (enum loop_opcode)pick(LOOP_CAST);
        bool whole = !element_is_float(e) && e != E_BOOL, moves = op == LOOP_SELECT;
        struct loop_type operand = type;
        if (loop_op_info[op].result == RESULT_BOOL) {
                if (e != E_BOOL)
                        return NULL;
                operand = LOOP_VECTOR(scalars[pick(SCALARS)], type.lanes);
        } else if (op == LOOP_RAMP || op == LOOP_SPLAT) {
                if (type.lanes == 1 || (op == LOOP_RAMP && e == E_BOOL))
                        return NULL;
                struct loop_type one = LOOP_TYPE(type.element);
                return loop_node(arena, op, type, random_expr(pool, one, depth - 1),
                                 op == LOOP_RAMP ? random_literal(arena, one) : NULL, NULL);
        } else if (op == LOOP_INTERLEAVE_LOW || op == LOOP_INTERLEAVE_HIGH) {
                if (type.lanes % 2)
                        return NULL;
        } else if (op >= LOOP_LANE) {
                if (type.lanes != 1 || e == E_BOOL)
                        return NULL;
                return loop_node(
                        arena, op, type,
                        random_expr(pool, LOOP_VECTOR(type.element, 4), depth - 1),
                        op == LOOP_LANE ? loop_index(arena, pick(4)) : NULL, NULL);
        } else if ((e == E_BOOL && op != LOOP_AND && op != LOOP_OR && op != LOOP_XOR &&
                    op != LOOP_NOT && op != LOOP_MIN && !moves) ||
                   (!whole && e != E_BOOL &&
                    (op == LOOP_REM || op == LOOP_SHL || op == LOOP_SHR || op == LOOP_AND ||
                     op == LOOP_OR || op == LOOP_XOR || op == LOOP_NOT)) ||
                   (op == LOOP_FMA && !element_is_float(e)))
                return NULL;
        struct loop_type condition = LOOP_VECTOR(E_BOOL, pick(2) ? type.lanes : 1);
        struct loop_expr *args[3] = { NULL, NULL, NULL };
        for (int i = 0; i < loop_op_info[op].arity; i++)
                args[i] = random_expr(pool, moves && !i ? condition : operand, depth - 1);
        return loop_node(arena, op, type, args[0], args[1], args[2]);
}

static struct loop_expr *random_expr(struct pool *pool, struct loop_type type, int depth)
{
        struct arena *arena = pool->b->arena;
        enum element e = (enum element)type.element;
        struct loop_expr *made = NULL, *arg;
        int kind = depth > 0 ? pick(10) : 7 + pick(3);
        if (kind < 5)
                made = random_op(pool, type, depth);
        else if (kind == 5) {
                struct loop_type from = LOOP_VECTOR(scalars[pick(SCALARS)], type.lanes);
                made = loop_node(arena, LOOP_CAST, type, random_expr(pool, from, depth - 1), NULL,
                                 NULL);
        } else if (kind == 6 && type.lanes == 1 && (e == E_F32 || e == E_F64)) {
                arg = random_expr(pool, type, depth - 1);
                made = loop_call(arena, loop_library_find(pool->b->library, "exp", e), &arg);
        } else if (kind == 7) {
                struct loop_type index = LOOP_VECTOR(E_INDEX, pick(2) ? type.lanes : 1);
                struct loop_expr *at = index.lanes > 1 ? random_expr(pool, index, depth - 1)
                                                       : loop_index(arena, pick(50));
                struct loop_expr *mask = pick(3) ? NULL :
                        random_expr(pool, LOOP_VECTOR(E_BOOL, type.lanes), depth - 1);
                if (e != E_INDEX)
                        made = loop_load_vector(arena, pool->buffers[scalar_number(e)], at,
                                                type.lanes, mask);
        } else if (kind == 8)
                made = loop_use(arena, pool->variables[scalar_number(e)][type.lanes > 1]);
        return made ? made : random_literal(arena, type);
}

static bool same_tree(const struct loop_expr *a, const struct loop_expr *b)
{
        if (a->op != b->op || !loop_type_same(a->type, b->type) || a->arity != b->arity ||
            (a->variable && strcmp(a->variable->name, b->variable->name)) ||
            (a->buffer && strcmp(a->buffer->name, b->buffer->name)) || a->function != b->function ||
            a->literal.u != b->literal.u || a->column != b->column)
                return false;
        for (int i = 0; i < a->arity; i++)
                if (a->args[i] ? !same_tree(a->args[i], b->args[i]) : b->args[i] != NULL)
                        return false;
        return true;
}

static void fill_pool(struct pool *pool, struct loop_function *k)
{
        struct arena *arena = pool->b->arena;
        for (int i = 0; i < SCALARS; i++) {
                if (scalars[i] != E_INDEX)
                        pool->buffers[i] =
                                loop_parameter_add(arena, k, arena_printf(arena, "b%d", i),
                                                   scalars[i], 100, ACCESS_IN);
                for (int wide = 0; wide < 2; wide++) {
                        struct loop_type type = LOOP_VECTOR(scalars[i], wide ? 4 : 1);
                        struct loop_stmt *s = loop_append(arena, k->body, STMT_VAR);
                        s->variable = loop_variable_new(
                                arena, arena_printf(arena, "%c%d", wide ? 'w' : 'v', i), type,
                                VARIABLE_VAR);
                        pool->variables[i][wide] = s->variable;
                }
        }
}

static void test_random_expressions_round_trip(void **state)
{
        (void)state;
        for (int round = 0; round < 60; round++) {
                struct bench b;
                bench_open(&b);
                struct pool pool = { .b = &b };
                struct loop_program *p = loop_program_new(b.arena, "random", b.library);
                struct loop_function *k = loop_function_new(b.arena, FUNCTION_KERNEL, "k");
                loop_kernel_add(p, k);
                fill_pool(&pool, k);
                for (int i = 0; i < 40; i++) {
                        struct loop_type type = { (uint8_t)scalars[pick(SCALARS)],
                                                  pick(3) ? 1 : 4, false };
                        struct loop_stmt *s = loop_append(b.arena, k->body, STMT_LET);
                        s->variable = loop_variable_new(b.arena, arena_printf(b.arena, "r%d", i),
                                                        type, VARIABLE_LET);
                        s->a = random_expr(&pool, type, 5);
                }
                if (!loop_verify(p, &b.diag))
                        fail_msg("%s", said(&b));
                char *text = print(&b, p);
                struct loop_program *q = parse_well(&b, text);
                assert_string_equal(print(&b, q), text);
                struct loop_stmt *s = k->body->first, *t = q->kernels->body->first;
                for (; s; s = s->next, t = t->next)
                        if (s->a && !same_tree(s->a, t->a))
                                fail_msg("%s is read back as %s", print_expr(&b, s->a),
                                         print_expr(&b, t->a));
                bench_close(&b);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_everything_round_trips),
                cmocka_unit_test(test_decisions_round_trip),
                cmocka_unit_test(test_text_is_free),
                cmocka_unit_test(test_image),
                cmocka_unit_test(test_constants_in_a_file),
                cmocka_unit_test(test_random_expressions_round_trip),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
