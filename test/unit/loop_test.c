/* Loop IR: building, text, verifier, library, formulas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/loop.h"

/* ---- a place to work in ---- */

struct bench { struct arena *arena; struct diag diag; char *said; size_t said_length; struct loop_library *library; };

static void bench_open(struct bench *b)
{
        memset(b, 0, sizeof *b);
        b->arena = arena_new();
        b->diag.subject = "test";
        b->diag.stream = open_memstream(&b->said, &b->said_length);
        b->library = loop_library_new(b->arena, &b->diag);
        fflush(b->diag.stream);
        if (!b->library)
                fail_msg("%s", b->said);
}

static void bench_close(struct bench *b)
{
        fclose(b->diag.stream);
        free(b->said);
        arena_free(b->arena);
}

static const char *said(struct bench *b)
{
        fflush(b->diag.stream);
        return b->said ? b->said : "";
}

static struct loop_program *parse(struct bench *b, const char *text)
{
        return loop_parse(b->arena, text, strlen(text), NULL, NULL, b->library, &b->diag);
}

static struct loop_program *parse_well(struct bench *b, const char *text)
{
        struct loop_program *p = parse(b, text);
        if (!p)
                fail_msg("%s\nfor\n%s", said(b), text);
        return p;
}

static char *print(struct bench *b, const struct loop_program *p)
{
        struct text out = { 0 };
        loop_print(&out, p, NULL);
        char *copy = arena_string(b->arena, out.data);
        text_free(&out);
        return copy;
}

static char *print_expr(struct bench *b, const struct loop_expr *e)
{
        struct text out = { 0 };
        loop_print_expr(&out, e);
        char *copy = arena_string(b->arena, out.data);
        text_free(&out);
        return copy;
}

/* ---- text ---- */

static const char everything[] =
        "loop 1\n"
        "program \"every\\x20thing\" source \"3f2a\" workspace 4096 align 64 live 256\n"
        "buffer @image : f32[784] input \"In\\x22put \\xc3\\xa43\" shape <1 x 1 x 28 x 28>\n"
        "buffer @flag : bool[1] input \"flag\" shape <>\n"
        "buffer @empty : i64[0] constant = []\n"
        "buffer @weights : f32[3] constant = [1.0, -0.5, inf]\n"
        "buffer @half : f16[2] constant = [0.099975586, nan]\n"
        "buffer @odd : f32[1] constant = hex \"0100c07f\"\n"
        "buffer @ones : i8[1000] constant = splat -1\n"
        "buffer @oddsplat : f64[5] constant = splat hex \"010000000000f87f\"\n"
        "buffer @longer : u8[17] constant = hex \"000102030405060708090a0b0c0d0e0f10\"\n"
        "buffer @temporary : f32[512] workspace offset 0\n"
        "buffer @next : f32[512] workspace offset 2048\n"
        "buffer @part : f32[256] view @temporary + 128\n"
        "buffer @other : f32[4] workspace region 1\n"
        "buffer @result : f32[784] output \"out\" shape <28 x 28>\n"
        "kernel @scalars(%x: in f32[784], %w: in f32[3], %h: in f16[2], %s: in i8[1000], %y: out f32[784], %n: index, "
        "%m: index) flops 123456 {        ; \"conv1, relu1\" convolve <1 x 784 x f32>\n"
        "  for %i = 0 to %n step 2 parallel {\n"
        "    var %sum : f32 = 0.0\n"
        "    for %k = max(0, 2 - %i) to min(3, %n - %i) unroll {\n"
        "      set %sum = %sum + %x[%i + %k] * %w[%k]\n"
        "      set %sum = fma(%sum, 2.0, -1.5e-07)\n"
        "    }\n"
        "    let %v : f32 = max(%sum, f32(%h[0])) / (1.0 + exp(-%sum))\n"
        "    if %v > 0.0 & ~(%i % 2 == 0 | %m < 3) ^ true {\n"
        "      store %y[%i] = %v\n"
        "    } else {\n"
        "      store %y[%i] = select(%v != %v, nan, -inf) streaming\n"
        "    }\n"
        "  }\n"
        "  var %left : i64 = i64(%n)\n"
        "  while %left >= 10 {\n"
        "    set %left = %left / 10 - -3 << (%left & 7) >> 1\n"
        "    let %big : u64 = bits_u64(%left) + 18446744073709551615\n"
        "    let %small : i32 = i32(%s[5]) * -(7) % -2147483648\n"
        "    if %left == i64(%big) & u32(%small) <= 3 {\n"
        "      fail INDEX\n"
        "    }\n"
        "  }\n"
        "  barrier\n"
        "  prefetch %x[%n] 2\n"
        "}\n"
        "kernel @vectors(%x: in f32[512] class 1, %z: inout f32[512] class 1, %y: out f32[512] class 2) {\n"
        "  alloc %pack : f32[64] stack\n"
        "  alloc %each : f64[64] thread\n"
        "  alloc %all : bool[64] shared\n"
        "  var %acc : f32x16[6][2]\n"
        "  for %i = 0 to 32 gpu_block {\n"
        "    for %j = 0 to 16 gpu_thread {\n"
        "      let %r : indexx16 = ramp<16>(%i * 16, 1)\n"
        "      let %m : boolx16 = %r < splat<16>(500)\n"
        "      let %v : f32x16 = %x<16>[%i * 16, %m]\n"
        "      let %g : f32x16 = %x[%r, ~%m] * 2.0\n"
        "      set %acc{5, 1} = fma(%v, %g, %acc{5, 1})\n"
        "      store %pack[0] = select(%m, %v, %g) mask %m\n"
        "      store %y[%r] = %acc{0, 1} + splat<16>(0.5)\n"
        "      store %z[%i] = sum_lanes(%v) + lane(%g, 3) + max_lanes(%v) - min_lanes(%g)\n"
        "      store %z[0] = 0.0:f32x16 mask %m & true streaming\n"
        "    }\n"
        "  }\n"
        "  let %d : f64 = f64(0.1:f64) + f64(%x[0])\n"
        "  let %e : bool = 1:i64 < 2\n"
        "  let %f : bool = 0.5:f64 == 1.0 | 1 < 2\n"
        "  let %q : f32 = exp(1.0)\n"
        "  let %t : f64 = exp(1.0:f64)\n"
        "}\n"
        "main {\n"
        "  if @flag[0] {\n"
        "    call @scalars(@image, @weights, @half, @ones, @result; 784, 3 * 4)\n"
        "  } else {\n"
        "    for %step = 0 to 3 {\n"
        "      call @vectors(@temporary, @temporary, @next)\n"
        "    }\n"
        "    fail EXTENT\n"
        "  }\n"
        "}\n";

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
        assert_true(p->kernels->flops == 123456 && p->kernels->can_fail && !p->kernels->next->can_fail && p->main->can_fail);
        assert_true(p->planned && p->workspace_size == 4096 && p->workspace_align == 64 && p->live_peak == 256);
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
        struct loop_program *p = parse_well(&b,
                "; head\nloop 1 program \"p\" source \"\" ; more\nbuffer @a:f32[2]output\"a\"\n"
                "kernel @k(%y:out f32[2],%n:index)flops 2.5 { ; plain /* words */ // \"and\" more \\\n"
                "store %y[0]=1 let %a:f64=(1+2)store %y[1]=f32(%a)-(-3) ; end\n}main{call @k(@a;1)}");
        assert_string_equal(print(&b, p),
                            "loop 1\nprogram \"p\" source \"\"\nbuffer @a : f32[2] output \"a\"\n"
                            "kernel @k(%y: out f32[2], %n: index) flops 2.5 {        ; plain /. words *. /. .and. more .\n"
                            "  store %y[0] = 1.0\n  let %a : f64 = 1.0 + 2.0\n  store %y[1] = f32(%a) - -3.0\n}\n"
                            "main {\n  call @k(@a; 1)\n}\n");
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
        struct loop_program *q = loop_parse(b.arena, out.data, out.length, read_blob, &blob, b.library, &b.diag);
        assert_non_null(q);
        assert_memory_equal(q->buffers->data, bytes, sizeof bytes);
        assert_memory_equal(q->buffers->next->data, numbers, sizeof numbers);
        assert_null(loop_parse(b.arena, out.data, out.length, NULL, NULL, b.library, &b.diag));
        blob.bytes.data[100] ^= 1;
        assert_null(loop_parse(b.arena, out.data, out.length, read_blob, &blob, b.library, &b.diag));
        assert_non_null(strstr(said(&b), "is not the file this text was written with"));
        blob.bytes.data[100] ^= 1;
        char *offset = strstr(out.data, "file 48");
        memcpy(offset, "file 49", 7);
        assert_null(loop_parse(b.arena, out.data, out.length, read_blob, &blob, b.library, &b.diag));
        assert_non_null(strstr(said(&b), "leaves the file"));
        blob.bytes.length--;
        assert_null(loop_parse(b.arena, out.data, out.length, read_blob, &blob, b.library, &b.diag));
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

/* ---- random expressions: what is printed reads back as the same tree, types of literals included ---- */

static uint64_t seed = 1;
static int pick(int n)
{
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        return (int)((seed >> 33) % (uint64_t)n);
}

static const enum element scalars[] = { E_F32, E_F64, E_I32, E_I64, E_U32, E_U64, E_BOOL, E_INDEX };
enum { SCALARS = sizeof scalars / sizeof *scalars };
struct pool { struct bench *b; struct loop_variable *variables[SCALARS][2]; struct loop_buffer *buffers[SCALARS]; };

static int scalar_number(enum element e)
{
        int i = 0;
        while (scalars[i] != e)
                i++;
        return i;
}

static struct loop_expr *random_literal(struct arena *arena, struct loop_type type)
{
        static const double floats[] = { 0, -0.0, 1, -2.5, 0.1, 1e30, 1e-40, (double)INFINITY, -(double)INFINITY };
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
                operand = (struct loop_type){ (uint8_t)scalars[pick(SCALARS)], type.lanes };
        } else if (op == LOOP_RAMP || op == LOOP_SPLAT) {
                if (type.lanes == 1 || (op == LOOP_RAMP && e == E_BOOL))
                        return NULL;
                struct loop_type one = LOOP_TYPE(type.element);
                return loop_node(arena, op, type, random_expr(pool, one, depth - 1),
                                 op == LOOP_RAMP ? random_literal(arena, one) : NULL, NULL);
        } else if (op >= LOOP_LANE) {
                if (type.lanes != 1 || e == E_BOOL)
                        return NULL;
                return loop_node(arena, op, type, random_expr(pool, (struct loop_type){ type.element, 4 }, depth - 1),
                                 op == LOOP_LANE ? loop_index(arena, pick(4)) : NULL, NULL);
        } else if ((e == E_BOOL && op != LOOP_AND && op != LOOP_OR && op != LOOP_XOR && op != LOOP_NOT && op != LOOP_MIN && !moves) ||
                   (!whole && e != E_BOOL && (op == LOOP_REM || op == LOOP_SHL || op == LOOP_SHR || op == LOOP_AND ||
                                              op == LOOP_OR || op == LOOP_XOR || op == LOOP_NOT)) ||
                   (op == LOOP_FMA && !element_is_float(e)))
                return NULL;
        struct loop_type condition = { E_BOOL, pick(2) ? type.lanes : 1 };
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
                struct loop_type from = { (uint8_t)scalars[pick(SCALARS)], type.lanes };
                made = loop_node(arena, LOOP_CAST, type, random_expr(pool, from, depth - 1), NULL, NULL);
        } else if (kind == 6 && type.lanes == 1 && (e == E_F32 || e == E_F64)) {
                arg = random_expr(pool, type, depth - 1);
                made = loop_call(arena, loop_library_find(pool->b->library, "exp", e), &arg);
        } else if (kind == 7) {
                struct loop_type index = { E_INDEX, pick(2) ? type.lanes : 1 };
                struct loop_expr *at = index.lanes > 1 ? random_expr(pool, index, depth - 1) : loop_index(arena, pick(50));
                struct loop_expr *mask = pick(3) ? NULL :
                        random_expr(pool, (struct loop_type){ E_BOOL, type.lanes }, depth - 1);
                if (e != E_INDEX)
                        made = loop_load_vector(arena, pool->buffers[scalar_number(e)], at, type.lanes, mask);
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
                        pool->buffers[i] = loop_parameter_add(arena, k, arena_printf(arena, "b%d", i), scalars[i], 100, ACCESS_IN);
                for (int wide = 0; wide < 2; wide++) {
                        struct loop_type type = { (uint8_t)scalars[i], wide ? 4 : 1 };
                        struct loop_stmt *s = loop_append(arena, k->body, STMT_VAR);
                        s->variable = loop_variable_new(arena, arena_printf(arena, "%c%d", wide ? 'w' : 'v', i), type,
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
                        struct loop_type type = { (uint8_t)scalars[pick(SCALARS)], pick(3) ? 1 : 4 };
                        struct loop_stmt *s = loop_append(b.arena, k->body, STMT_LET);
                        s->variable = loop_variable_new(b.arena, arena_printf(b.arena, "r%d", i), type, VARIABLE_LET);
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
                                fail_msg("%s is read back as %s", print_expr(&b, s->a), print_expr(&b, t->a));
                bench_close(&b);
        }
}

/* ---- hostile text ---- */

static void check_hostile(struct bench *b, const char *text, size_t length)
{
        struct arena *arena = arena_new();
        b->diag.errors = 0;
        struct loop_program *p = loop_parse(arena, text, length, NULL, NULL, b->library, &b->diag);
        assert_int_equal(b->diag.errors, p ? 0 : 1);
        if (p) {
                struct text once = { 0 }, twice = { 0 };
                loop_print(&once, p, NULL);
                struct loop_program *q = loop_parse(arena, once.data, once.length, NULL, NULL, b->library, &b->diag);
                assert_non_null(q);
                loop_print(&twice, q, NULL);
                assert_string_equal(once.data, twice.data);
                text_free(&once);
                text_free(&twice);
        } else
                assert_int_equal(b->diag.code, EXIT_INVALID);
        arena_free(arena);
}

static void test_prefixes_and_mutations(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        size_t length = strlen(everything);
        char *text = malloc(length + 1);
        for (size_t i = 0; i < length - 1; i += 3) {            /* a copy of its own: reading past the end is seen */
                char *prefix = malloc(i + 1);
                memcpy(prefix, everything, i);
                check_hostile(&b, prefix, i);
                free(prefix);
        }
        static const char bytes[] = "%@{}[]()<>;:,=+-*/0123456789 \n\"\\xabt\xff";
        for (int round = 0; round < 3000; round++) {
                memcpy(text, everything, length + 1);
                for (int changes = 1 + pick(3); changes; changes--) {
                        size_t at = (size_t)pick((int)length);
                        if (pick(2))
                                text[at] = bytes[pick(sizeof bytes - 1)];
                        else {                                  /* words change places */
                                size_t from = (size_t)pick((int)length - 8), span = (size_t)pick(8);
                                memmove(text + (at < length - 8 ? at : 0), everything + from, span);
                        }
                }
                check_hostile(&b, text, length);
        }
        free(text);
        bench_close(&b);
}

static const char frame[] = "loop 1\nprogram \"p\" source \"\"\nkernel @k(%x: in f32[9], %y: out f32[9], %b: out bool[9]) {\n";

/* frame, count times `open`, `middle`, count times `shut`; the error it gives */
static void check_deep(struct bench *b, const char *before, const char *open, const char *middle, const char *shut, int count,
                       const char *wanted)
{
        struct text t = { 0 };
        text_add(&t, "%s%s", frame, before);
        for (int i = 0; i < count; i++)
                text_add(&t, "%s", open);
        text_add(&t, "%s", middle);
        for (int i = 0; i < count; i++)
                text_add(&t, "%s", shut);
        text_add(&t, "\n}\nmain {\n}\n");
        bool good = loop_parse(b->arena, t.data, t.length, NULL, NULL, b->library, &b->diag) != NULL;
        if (good != !wanted || (wanted && !strstr(said(b), wanted)))
                fail_msg("wanted %s, %s: %s", wanted ? wanted : "success", good ? "succeeded" : "failed", said(b));
        text_free(&t);
}

static void test_depth_is_bounded(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        check_deep(&b, "store %y[0] = ", "(", "1", ")", 900, NULL);
        check_deep(&b, "store %y[0] = 1", " + %x[0]", "", "", 900, NULL);
        check_deep(&b, "", "if true { ", "", "}", 190, NULL);
        check_deep(&b, "store %y[0] = ", "(", "1", ")", 1000000, "expression is nested");
        check_deep(&b, "store %y[0] = ", "-", "1", "", 1000000, "expression is nested");
        check_deep(&b, "store %y[0] = 1", " + 1", "", "", 1000000, "expression is nested");
        check_deep(&b, "store %y[0] = ", "exp(", "1", ")", 1000000, "expression is nested");
        check_deep(&b, "store %y[0] = ", "%x[index(", "1", ")]", 1000000, "expression is nested");
        check_deep(&b, "", "if true { ", "", "}", 100000, "blocks are nested");
        bench_close(&b);
}

/* ---- what the parser and the verifier refuse ---- */

static const struct { const char *body, *message; } wrong[] = {
        { "store %y[0] = %q", "line 4: nothing called 'q'" },
        { "store %y[0] =\n%x[0] +", "line 6: want an expression" },
        { "let %a : f32 = 1 let %a : f32 = 2", "declared twice" },
        { "let %int : f32 = 1", "'int' cannot be a name" },
        { "for %i = 0 to 3 { } store %y[%i] = 1", "nothing called 'i'" },
        { "if true { let %a : f32 = 1 } store %y[0] = %a", "nothing called 'a'" },
        { "let %a : f32 = 1 set %a = 2", "not a var" },
        { "let %a : f64 = %x[0]", "f32, want f64" },
        { "let %a : f32 = %x[0] + 1:f64", "operands of '+' are f32 and f64" },
        { "let %a : i32 = 0.5", "not of type i32" },
        { "let %a : i32 = 2147483648", "does not fit i32" },
        { "let %a : u32 = -1", "does not fit u32" },
        { "let %a : f32 = %x[0] % 2", "% is not for f32" },
        { "let %a : bool = true + true", "+ is not for bool" },
        { "let %a : f16 = f16(%x[0]) let %c : f16 = %a + %a", "+ is not for f16" },
        { "let %a : f32 = fma(1, 2)", "takes 3 operands" },
        { "let %a : f32 = exp(1.0, 2)", "too many arguments" },
        { "let %a : f32 = nothing(1.0)", "no function nothing of f32" },
        { "let %a : i64 = exp(1:i64)", "no function exp of i64" },
        { "let %a : f64 = bits_f64(%x[0])", "no conversion from f32 to f64" },
        { "let %a : bool = bool(%x[0]) let %c : f32 = select(%x[0], 1, 2)", "a condition is f32" },
        { "store %y[0.5] = 1", "not of type index" },
        { "store %y[i64(3)] = 1", "a subscript is i64" },
        { "store %y[9] = 1", "outside its 9 elements" },
        { "store %y[-1] = 1", "outside its 9 elements" },
        { "store %y[2] = 0.0:f32x8", "outside its 9 elements" },
        { "store %x[0] = 1", "x is only read" },
        { "store %y[0] = %y[1]", "y is only written" },
        { "store %y[0] = true", "true and false are not numbers" },
        { "store %b[0] = %x[0]", "f32 of the elements of b" },
        { "store %y[0] = %x<65>[0]", "out of range" },
        { "store %y[0] = %x<8>[0]", "a mask" },
        { "var %a : f32x8[2][2] set %a{2, 0} = 1", "a row is out of range" },
        { "var %a : f32x8[2][2] = 1", "tiles begin as zero" },
        { "var %a : f32x8[2][2] let %c : f32x8 = %a", "want '{'" },
        { "var %a : f32x8[65][2]", "a tile's rows is out of range" },
        { "let %a : f32x1 = 1", "want a type" },
        { "let %a : f32x65 = 1", "want a type" },
        { "let %a : string = 1", "no numbers of type string" },
        { "let %a : f32x4 = ramp<4>(1.0, %x[0])", "step of a ramp is not a literal" },
        { "let %a : f32 = lane(%x<4>[0], 4)", "lane is not a literal in range" },
        { "let %a : f32 = sum_lanes(%x[0])", "sum_lanes of f32" },
        { "for %i = 0 to 9 step 0 { }", "a step is out of range" },
        { "if 2 { }", "does not fit bool" },
        { "while %x[0] { }", "a condition is f32, want bool" },
        { "fail SOMETHING", "not a code to fail with" },
        { "return 1", "cannot stand in this kind of function" },
        { "call @k()", "cannot stand in this kind of function" },
        { "alloc %t : index[3] stack", "a bad alloc" },
        { "alloc %t : f32[3] heap", "want stack, thread or shared" },
        { "prefetch %x[0] 3", "a prefetch hint is out of range" },
        { "let %a : f32 = 1e", "want a statement" },
        { "frob %x", "want a statement, found 'frob'" },
        { "let %a : f32 = \x01", "unexpected byte \\x01" },
        { "let %a : f32 = 1.00000000000000000000000000000000000000000000000000000000000000001", "more than 63" },
        { "} kernel @k() {", "'k' (case ignored) is taken" },
        { "} kernel @l(%x: index, %y: in f32[3]) {", "come before scalar ones" },
        { "} buffer @l : f32[3] input \"a\" main {", "want 'main'" },
};

static void test_wrong_statements(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                struct bench b;
                bench_open(&b);
                struct text t = { 0 };
                text_add(&t, "%s%s\n}\nmain {\n}\n", frame, wrong[i].body);
                struct loop_program *p = loop_parse(b.arena, t.data, t.length, NULL, NULL, b.library, &b.diag);
                if (strstr(wrong[i].message, "a mask"))         /* a vector stored where a scalar could be: fine */
                        assert_non_null(p);
                else if (p || !strstr(said(&b), wrong[i].message) || b.diag.code != EXIT_INVALID || b.diag.errors != 1)
                        fail_msg("%s: wanted '%s', got '%s'", wrong[i].body, wrong[i].message, said(&b));
                text_free(&t);
                bench_close(&b);
        }
}

static const struct { const char *text, *message; } wrong_programs[] = {
        { "", "want 'loop', found the end" },
        { "loop 2\n", "version 2" },
        { "loop 1 program \"a*/b\" source \"\" main { }", "no plain text" },
        { "loop 1 program \"a\" source \"xy\" main { }", "hex digits" },
        { "loop 1 program \"a\" source \"\" main { } main { }", "more behind main" },
        { "loop 1 program \"a\" source \"\" buffer @main : f32[1] input \"x\" main { }", "'main' cannot be a name" },
        { "loop 1 program \"a\" source \"\" buffer @a : f32[1] input \"x\" buffer @A : f32[1] input \"y\" main { }", "taken" },
        { "loop 1 program \"a\" source \"\" buffer @a : string[1] input \"x\" main { }", "no buffers of string" },
        { "loop 1 program \"a\" source \"\" buffer @a : f32[1152921504606846976] workspace main { }", "out of range" },
        { "loop 1 program \"a\" source \"\" buffer @a : f32[9] input \"x\" shape <3 x 4> main { }", "does not have its 9" },
        { "loop 1 program \"a\" source \"\" buffer @a : f32[576460752303423488] constant = [1] main { }", "has 1 elements" },
        { "loop 1 program \"a\" source \"\" buffer @a : f32[576460752303423488] constant = hex \"00\" main { }", "in hex" },
        { "loop 1 program \"a\" source \"\" buffer @a : bool[1] constant = hex \"02\" main { }", "neither 0 nor 1" },
        { "loop 1 program \"a\" source \"\" buffer @a : f32[1] constant = file 0 main { }", "no 'data' line" },
        { "loop 1 program \"a\" source \"\" buffer @a : f32[9] view @b + 0 main { }", "no buffer before this one" },
        { "loop 1 program \"a\" source \"\" buffer @a : f32[9] workspace buffer @c : f32[9] view @a + 1 main { }", "leaves a" },
        { "loop 1 program \"a\" source \"\" buffer @a : f32[9] workspace buffer @c : i32[9] view @a + 0 main { }", "view of nothing" },
        { "loop 1 program \"a\" source \"\" workspace 32 align 8 live 0 buffer @a : f32[9] workspace offset 0 main { }",
          "outside the workspace" },
        { "loop 1 program \"a\" source \"\" workspace 64 align 8 live 0 buffer @a : f32[9] workspace offset 2 main { }",
          "outside the workspace" },
        { "loop 1 program \"a\" source \"\" workspace 64 align 9 live 0 main { }", "make no sense" },
        { "loop 1 program \"a\" source \"\" main { call @k() }", "no kernel is called 'k'" },
        { "loop 1 program \"a\" source \"\" main { store %a[0] = 1 }", "cannot stand in this kind" },
};

static const char calls[] =
        "loop 1 program \"a\" source \"\" workspace 160 align 8 live 0 buffer @in : f32[9] input \"x\" "
        "buffer @p : f32[9] workspace offset 0 buffer @q : f32[9] workspace offset 32 buffer @r : f32[10] workspace offset 80 "
        "buffer @v : f32[5] view @r + 5 buffer @w : f32[5] view @r + 0 buffer @d : f64[9] workspace offset 80 "
        "kernel @copy(%x: in f32[5], %y: out f32[5]) { } "
        "kernel @same(%x: in f32[5] class 1, %z: in f32[5], %y: out f32[5] class 1, %n: index) { } main { %s }";
static const struct { const char *call, *message; } wrong_calls[] = {
        { "call @copy(@in, @p)", NULL },
        { "call @copy(@in, @in)", "cannot be written" },
        { "call @copy(@p, @p)", "overlaps" },
        { "call @copy(@p, @q)", "overlaps" },           /* by the plan: 32 < 5 * 4 is false, see below */
        { "call @copy(@v, @w)", NULL },
        { "call @copy(@r, @v)", NULL },
        { "call @copy(@w, @r)", "overlaps" },
        { "call @copy(@d, @p)", "is f64[9], want f32[5]" },
        { "call @copy(@in)", "want ','" },
        { "call @copy(@in, @p; 3)", "want ')'" },
        { "call @same(@p, @in, @p; 3)", NULL },
        { "call @same(@p, @p, @p; 3)", "overlaps" },
        { "call @same(@in, @p, @p; 3)", "overlaps" },
        { "call @same(@p, @in, @p; 3.5)", "not of type index" },
        { "call @same(@p, @in, @nothing; 3)", "no buffer is called 'nothing'" },
};

static void check_program(const char *text, const char *message)
{
        struct bench b;
        bench_open(&b);
        struct loop_program *p = parse(&b, text);
        if (!p != !!message || (message && (!strstr(said(&b), message) || b.diag.errors != 1 || b.diag.code != EXIT_INVALID)))
                fail_msg("%s: wanted '%s', got '%s'", text, message ? message : "success", said(&b));
        bench_close(&b);
}

static void test_wrong_programs(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof wrong_programs / sizeof *wrong_programs; i++)
                check_program(wrong_programs[i].text, wrong_programs[i].message);
        for (size_t i = 0; i < sizeof wrong_calls / sizeof *wrong_calls; i++) {
                const char *hole = strstr(calls, "%s");
                struct text t = { 0 };
                text_add_bytes(&t, calls, (size_t)(hole - calls));
                text_add(&t, "%s%s", wrong_calls[i].call, hole + 2);
                bool disjoint = !strcmp(wrong_calls[i].call, "call @copy(@p, @q)");     /* 20 bytes at 0 and at 32 */
                check_program(t.data, disjoint ? NULL : wrong_calls[i].message);
                text_free(&t);
        }
}

/* ---- built by hand, and wrong ---- */

static void test_verifier_of_built_programs(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct loop_program *p = loop_program_new(b.arena, "p", b.library);
        struct loop_function *k = loop_function_new(b.arena, FUNCTION_KERNEL, "k");
        loop_kernel_add(p, k);
        struct loop_buffer *y = loop_parameter_add(b.arena, k, "y", E_F32, 4, ACCESS_OUT);
        struct loop_stmt *s = loop_append(b.arena, k->body, STMT_STORE);
        s->buffer = y;
        s->a = loop_index(b.arena, 1);
        s->b = loop_float(b.arena, E_F32, 1);
        assert_true(loop_verify(p, &b.diag));
        s->b = loop_float(b.arena, E_F64, 1);
        assert_false(loop_verify(p, &b.diag));
        assert_int_equal(b.diag.code, EXIT_INTERNAL);
        assert_non_null(strstr(said(&b), "bug in Loop IR: k: f64 of the elements of y: in 'store %y[1] = 1.0'"));
        s->b = loop_float(b.arena, E_F32, 1);
        k->can_fail = true;
        assert_false(loop_verify(p, &b.diag));
        assert_non_null(strstr(said(&b), "it says it can fail, but cannot"));
        k->can_fail = false;
        k->summary = "evil */";
        assert_false(loop_verify(p, &b.diag));
        k->summary = NULL;
        s->b = loop_use(b.arena, loop_variable_new(b.arena, "ghost", LOOP_TYPE(E_F32), VARIABLE_LET));
        assert_false(loop_verify(p, &b.diag));
        assert_non_null(strstr(said(&b), "%ghost is not in scope"));
        struct loop_expr *deep = loop_float(b.arena, E_F32, 1);
        for (int i = 0; i < EXPR_DEPTH_MAX; i++)
                deep = loop_op(b.arena, LOOP_NEG, deep, NULL, NULL);
        s->b = deep;
        assert_false(loop_verify(p, &b.diag));
        s->b = deep->args[0];
        assert_true(loop_verify(p, &b.diag));
        assert_non_null(parse(&b, print(&b, p)));       /* the deepest that passes can be read back */
        bench_close(&b);
}

/* ---- simplification ---- */

static const struct { enum element e; const char *formula, *simple; } rules[] = {
        { E_INDEX, "(x + 1) + 2", "%x + 3" },           { E_INDEX, "2 + x", "%x + 2" },
        { E_INDEX, "(x + 5) - 7", "%x - 2" },           { E_INDEX, "(x - 2) + 2", "%x" },
        { E_INDEX, "x * 2 * 3", "%x * 6" },             { E_INDEX, "3 * x", "%x * 3" },
        { E_INDEX, "x * 1 + 0 * y", "%x" },             { E_INDEX, "(x + 1) + (y + 2)", "%x + %y + 3" },
        { E_INDEX, "(x + 3) - (y + 1)", "%x - %y + 2" },{ E_INDEX, "x - x", "0" },
        { E_INDEX, "(x + 1) - x", "1" },                { E_INDEX, "5 - (x + 2)", "3 - %x" },
        { E_INDEX, "x / 1 + x % 1", "%x" },             { E_INDEX, "x * 6 / 3", "%x * 2" },
        { E_INDEX, "x / 2 / 3", "%x / 6" },             { E_INDEX, "x * 6 % 3", "0" },
        { E_INDEX, "min(x, x)", "%x" },                 { E_INDEX, "max(min(7, 9), 8)", "8" },
        { E_INDEX, "min(min(x, 3), 5)", "min(%x, 3)" }, { E_INDEX, "max(max(x, 3), 5)", "max(%x, 5)" },
        { E_INDEX, "x - 2 >= 0", "%x >= 2" },           { E_INDEX, "x + 2 < 10", "%x < 8" },
        { E_INDEX, "1 < 2 & x < 3", "%x < 3" },         { E_INDEX, "x < 3 & 2 < 1", "false" },
        { E_INDEX, "x < 3 | 1 < 2", "true" },           { E_INDEX, "~(1 < 2) | x < 3", "%x < 3" },
        { E_INDEX, "select(1 < 2, x, y)", "%x" },       { E_INDEX, "select(x < y, x, x)", "%x" },
        { E_INDEX, "x == x", "true" },                  { E_INDEX, "x < x", "false" },
        { E_INDEX, "7 / 2 + -7 / 2 + 7 / 0", "0" },     { E_INDEX, "(x + 9223372036854775807) + 1", "%x + 9223372036854775807 + 1" },
        { E_I32, "2147483647 + 1", "-2147483648:i32" }, { E_I32, "-2147483648 / -1", "-2147483648:i32" },
        { E_I32, "x + 0", "%x" },                       { E_I32, "x + 1 + 2", "%x + 1 + 2" },
        { E_I32, "1 << 31 >> 31", "-1:i32" },           { E_I32, "1 << 32", "0:i32" },
        { E_I32, "-8 >> -1", "0:i32" },                 { E_I32, "-(-x)", "%x" },
        { E_I32, "-7 % 3", "-1:i32" },                  { E_I32, "-2147483648 % -1", "0:i32" },
        { E_U32, "0 - 1", "4294967295:u32" },           { E_U32, "4294967295 / 2 > 2147483646", "true" },
        { E_U64, "~0 >> 63", "1:u64" },                 { E_I64, "min(x, 3) & -1", "min(%x, 3)" },
        { E_F32, "x + 0", "%x + 0.0" },                 { E_F32, "x * 1 * 0", "%x * 1.0 * 0.0" },
        { E_F32, "1 + 2", "1.0 + 2.0" },                { E_F32, "x - x", "%x - %x" },
        { E_F64, "max(x, x)", "max(%x, %x)" },          { E_F64, "f32(x) * 0.5", "f32(%x) * 0.5" },
        { E_F64, "i32(2.75) + 1", NULL },               { E_BOOL, "x & true ^ false", "%x" },
        { E_F32, "f64(0.1)", "0.1:f64" },               { E_F32, "i32(x) + 1", "i32(%x) + 1" },
};

static void test_simplification(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
                struct loop_type type = LOOP_TYPE(rules[i].e);
                struct loop_expr *args[] = { loop_use(b.arena, loop_variable_new(b.arena, "x", type, VARIABLE_LET)),
                                             loop_use(b.arena, loop_variable_new(b.arena, "y", type, VARIABLE_LET)) };
                struct loop_expr *e = loop_formula(b.arena, b.library, rules[i].formula, args, 2, &b.diag);
                if (!rules[i].simple) {
                        assert_null(e);
                        continue;
                }
                if (!e)
                        fail_msg("%s", said(&b));
                if (strcmp(print_expr(&b, e), rules[i].simple))
                        fail_msg("%s becomes %s, want %s", rules[i].formula, print_expr(&b, e), rules[i].simple);
        }
        bench_close(&b);
}

static void test_casts_of_literals(void **state)
{
        (void)state;
        static const struct { enum element from; double number; enum element to; const char *text; } casts[] = {
                { E_F32, 2.75, E_I32, "2:i32" },        { E_F32, -2.75, E_I64, "-2:i64" },
                { E_F64, 1e30, E_I32, "2147483647:i32" },       { E_F64, -1e30, E_I8, "-128:i8" },
                { E_F64, -5, E_U8, "0:u8" },            { E_F64, 300, E_U8, "255:u8" },
                { E_F64, (double)NAN, E_I64, "0:i64" }, { E_F64, 1e30, E_U64, "18446744073709551615:u64" },
                { E_I32, 300, E_U8, "44:u8" },          { E_I32, -1, E_U64, "18446744073709551615:u64" },
                { E_I32, 7, E_BOOL, "true" },           { E_F32, (double)NAN, E_BOOL, "true" },
                { E_F32, 0, E_BOOL, "false" },          { E_I64, 7, E_F16, "7.0:f16" },
                { E_F64, 0.1, E_F32, "f32(0.1:f64)" },  { E_I64, 16777217, E_F32, "f32(16777217:i64)" },
                { E_F32, 0.5, E_F64, "0.5:f64" },       { E_BOOL, 1, E_F32, "1.0" },
        };
        struct bench b;
        bench_open(&b);
        for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
                bool is_float = element_is_float(casts[i].from);
                struct loop_expr *a = is_float ? loop_float(b.arena, casts[i].from, casts[i].number) :
                                                 loop_int(b.arena, casts[i].from, (int64_t)casts[i].number);
                assert_string_equal(print_expr(&b, loop_cast(b.arena, casts[i].to, a)), casts[i].text);
        }
        struct loop_expr *half = loop_use(b.arena, loop_variable_new(b.arena, "h", LOOP_TYPE(E_F16), VARIABLE_LET));
        assert_string_equal(print_expr(&b, loop_cast(b.arena, E_BF16, half)), "bf16(f32(%h))");
        bench_close(&b);
}

/* ---- formulas of the tables ---- */

static bool in_domain(enum domain domain, enum element e)
{
        bool is_float = e == E_F32 || e == E_F64;
        switch (domain) {
        case DOMAIN_NUMBER: return e != E_BOOL;
        case DOMAIN_FLOAT: return is_float;
        case DOMAIN_INTEGER: return !is_float && e != E_BOOL;
        case DOMAIN_LOGIC: return !is_float;
        default: return true;
        }
}

static const struct { const char *name, *formula; enum domain domain; int arity; bool compares; } formulas[] = {
#define EW(name, arity, domain, traits, formula, doc) { #name, formula, DOMAIN_##domain, arity, false },
#define CMP(name, arity, domain, traits, formula, doc) { #name, formula, DOMAIN_##domain, arity, true },
#include "ir/ops.def"
#define REDUCER(name, identity, formula, doc) { "reduce " #name, formula, DOMAIN_NUMBER, 2, false },
#include "ir/reducers.def"
};

static void test_formulas_of_the_tables(void **state)
{
        (void)state;
        static const enum element compute[] = { E_F32, E_F64, E_I32, E_I64, E_U32, E_U64, E_BOOL };
        struct bench b;
        bench_open(&b);
        for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
                for (size_t j = 0; j < sizeof compute / sizeof *compute; j++) {
                        struct loop_expr *args[3];
                        if (!in_domain(formulas[i].domain, compute[j]))
                                continue;
                        for (int k = 0; k < 3; k++)
                                args[k] = loop_use(b.arena, loop_variable_new(b.arena, "v", LOOP_TYPE(compute[j]), VARIABLE_LET));
                        struct loop_expr *e = loop_formula(b.arena, b.library, formulas[i].formula, args, formulas[i].arity,
                                                           &b.diag);
                        if (!e || e->type.element != (formulas[i].compares ? E_BOOL : compute[j]) || e->type.lanes != 1)
                                fail_msg("%s of %s: %s", formulas[i].name, element_info[compute[j]].text, said(&b));
                }
        bench_close(&b);
}

static void test_wrong_formulas(void **state)
{
        (void)state;
        static const char *const bad[] = { "", "x +", "x y", "z", "x + y)", "frob(x)", "x[0]", "select(x, x, x)", "%x", "max(x)",
                                           "i32(x) + x" };
        struct bench b;
        bench_open(&b);
        struct loop_expr *x = loop_use(b.arena, loop_variable_new(b.arena, "x", LOOP_TYPE(E_F32), VARIABLE_LET));
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                struct loop_expr *args[] = { x, x };
                b.diag.errors = 0;
                struct loop_expr *e = loop_formula(b.arena, b.library, bad[i], args, 2, &b.diag);
                if (!strcmp(bad[i], "select(x, x, x)"))         /* types of operands are the verifier's */
                        continue;
                if (e || b.diag.errors != 1 || b.diag.code != EXIT_INTERNAL)
                        fail_msg("formula '%s' passed", bad[i]);
        }
        bench_close(&b);
}

/* ---- the library ---- */

static void test_library_round_trips(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct text once = { 0 }, twice = { 0 };
        for (struct loop_function *f = loop_library_first(b.library); f; f = f->next)
                loop_print_function(&once, f);
        struct loop_function *again = loop_parse_library(b.arena, once.data, once.length, &b.diag);
        if (!again)
                fail_msg("%s", said(&b));
        for (struct loop_function *f = again; f; f = f->next)
                loop_print_function(&twice, f);
        assert_string_equal(once.data, twice.data);
        text_free(&once);
        text_free(&twice);
        bench_close(&b);
}

static void test_templates_and_literals(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        static const char text[] =
                "function twice(x: T) -> T where T in f64 i32 error \"exact\" spelling \"v_twice\" { ; comment\n"
                "  let k : T = T(2) var n : index = 3 set n = n + 1\n"
                "  for i = 0 to n { set n = n - i } while n > 0 { set n = n - 1 } if x > 1 { set n = 2 } else { set n = 3 }\n"
                "  return select(1 < 2, k * x, x) }\n"
                "function four(x: f64) -> f64 { return twice(twice(x)) + twice(1) }\n";
        struct loop_function *f = loop_parse_library(b.arena, text, sizeof text - 1, &b.diag);
        if (!f)
                fail_msg("%s", said(&b));
        struct text out = { 0 };
        loop_print_function(&out, f);
        loop_print_function(&out, f->next->next);
        static const char body[] =
                "  var %n : index = 3\n  set %n = %n + 1\n  for %i = 0 to %n {\n    set %n = %n - %i\n  }\n"
                "  while %n > 0 {\n    set %n = %n - 1\n  }\n  if %x > 1.0 {\n    set %n = 2\n  } else {\n"
                "    set %n = 3\n  }\n  return select(1.0 < 2.0, %k * %x, %x)\n}\n";
        struct text wanted = { 0 };
        text_add(&wanted, "function twice(%%x: f64) -> f64 error \"exact\" spelling \"v_twice\" {\n  let %%k : f64 = 2.0\n%s", body);
        text_add(&wanted, "function four(%%x: f64) -> f64 {\n  return twice(twice(%%x)) + twice(1.0)\n}\n");
        assert_string_equal(out.data, wanted.data);
        assert_int_equal(f->next->result.element, E_I32);
        text_free(&out);
        text_free(&wanted);
        bench_close(&b);
}

static void test_wrong_libraries(void **state)
{
        (void)state;
        static const struct { const char *text, *message; } bad[] = {
                { "function f(x: f32) -> f32 { return f(x) }", "no function f of f32" },
                { "function f(x: f32) -> f32 { return x } function f(x: f32) -> f32 { return x }", "defined twice" },
                { "function f(x: f32) -> f32 { }", "ends with return" },
                { "function f(x: f32) -> f32 { return x let y : f32 = 1 }", "last statement" },
                { "function f(x: f32) -> f32 { if x > 0 { return x } return x }", "last statement" },
                { "function f(a: f32, b: f32, c: f32, d: f32) -> f32 { return a }", "more than 3" },
                { "function f(x: f32) -> f64 { return x }", "the result is f32, want f64" },
                { "function f(x: T) -> T where T in { return x }", "want 'where T in TYPES'" },
                { "function f(x: f32) -> f32 { fail INDEX return x }", "cannot stand" },
                { "function f(x: f32) -> f32 { return g(x) } function g(x: f32) -> f32 { return x }", "no function g" },
                { "function f() -> f32 { return 1 }", "want a name" },
        };
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                struct bench b;
                bench_open(&b);
                struct loop_function *f = loop_parse_library(b.arena, bad[i].text, strlen(bad[i].text), &b.diag);
                if (f || !strstr(said(&b), bad[i].message) || b.diag.errors != 1)
                        fail_msg("%s: wanted '%s', got '%s'", bad[i].text, bad[i].message, said(&b));
                bench_close(&b);
        }
}

/* Only what is needed, callees first. */
static void test_library_used(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct loop_program *p = parse_well(&b, "loop 1 program \"p\" source \"\" kernel @k(%y: out f32[1]) { "
                                                "store %y[0] = exp(1.0) } main { }");
        int count;
        struct loop_function **used = loop_library_used(b.arena, p, &count);
        assert_true(count >= 1);
        assert_ptr_equal(used[count - 1], loop_library_find(b.library, "exp", E_F32));
        int all = 0;
        for (struct loop_function *f = loop_library_first(b.library); f; f = f->next)
                all++;
        assert_true(count < all);
        bench_close(&b);
}

/* ---- names and walks ---- */

static void count_statement(struct loop_stmt *s, void *context) { (void)s; ((int *)context)[0]++; }
static void count_load(struct loop_expr *e, void *context) { ((int *)context)[1] += e->op == LOOP_LOAD; }

static void test_names_and_walks(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct loop_program *p = parse_well(&b, everything);
        int counts[2] = { 0, 0 };
        loop_block_walk(p->kernels->body, count_statement, count_load, counts);
        assert_int_equal(counts[0], 18);
        assert_int_equal(counts[1], 4);
        counts[0] = 0;
        loop_block_walk(p->main->body, count_statement, NULL, counts);
        assert_int_equal(counts[0], 5);
        assert_string_equal(loop_buffer_add(p, "image", E_F32, 1, SPACE_WORKSPACE)->name, "image_2");
        struct loop_function *k = loop_function_new(b.arena, FUNCTION_KERNEL, "image");
        loop_kernel_add(p, k);
        assert_string_equal(k->name, "image_3");
        bench_close(&b);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_everything_round_trips), cmocka_unit_test(test_text_is_free),
                cmocka_unit_test(test_constants_in_a_file), cmocka_unit_test(test_random_expressions_round_trip),
                cmocka_unit_test(test_prefixes_and_mutations), cmocka_unit_test(test_depth_is_bounded),
                cmocka_unit_test(test_wrong_statements), cmocka_unit_test(test_wrong_programs),
                cmocka_unit_test(test_verifier_of_built_programs), cmocka_unit_test(test_simplification),
                cmocka_unit_test(test_casts_of_literals), cmocka_unit_test(test_formulas_of_the_tables),
                cmocka_unit_test(test_wrong_formulas), cmocka_unit_test(test_library_round_trips),
                cmocka_unit_test(test_templates_and_literals), cmocka_unit_test(test_wrong_libraries),
                cmocka_unit_test(test_library_used), cmocka_unit_test(test_names_and_walks),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
