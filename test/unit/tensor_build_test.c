/* SPDX-License-Identifier: MIT */
/* Tensor IR in memory: dimensions, elements, constants, building, changing, binding, and what the verifier finds. */
#include "test/unit/tensor_bench.h"

#include <math.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct house { struct bench bench; struct module *m; struct function *f; struct builder b; struct value *x; };

static void house_open(struct house *h)
{
        bench_open(&h->bench);
        h->m = module_new("m");
        h->f = function_new(h->m, "main");
        h->b = (struct builder){ .m = h->m, .region = &h->f->body, .diag = &h->bench.diag };
        h->x = function_add_input(h->f, "x", type_tensor(h->m, E_F32, 2, (dim_t[]){ dim_of(4), dim_of(8) }));
}

static void house_close(struct house *h)
{
        module_free(h->m);
        bench_close(&h->bench);
}

/* ends the function with v; what was built must verify and print as `ops` */
static void check_ops(struct house *h, struct value *v, const char *ops)
{
        assert_non_null(build_yield(&h->b, &v, 1));
        if (!tensor_verify(h->m, &h->bench.diag))
                fail_msg("%s", said(&h->bench));
        char *text = print(&h->bench, h->m);
        assert_string_equal(strchr(strstr(text, "func "), '\n') + 1, ops);
        check_canonical(text);
}

/* ---- dimensions ---- */

static void check_dim(struct module *m, dim_t d, const char *text, int64_t bound)
{
        struct arena *arena = arena_new();
        assert_string_equal(dim_text(arena, m, d), text);
        assert_int_equal(dim_bound(m, d), bound);
        arena_free(arena);
}

/* An extent that only a run knows ends the process of whoever reads it as a constant. */
static void test_read_of_a_term(void **state)
{
        (void)state;
        struct module *m = module_new("m");
        dim_t n = dim_symbol(m, "N", 10);
        int status = 0;
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
                fclose(stderr);
                _exit(dim_extent(n) == 0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), EXIT_INTERNAL);
        assert_int_equal(dim_extent(dim_of(7)), 7);
        assert_true(dim_equal(dim_of(-1), DIM_NONE));
        assert_false(dim_is(n, dim_bound(m, n)) || dim_is(dim_of(3), 4));
        module_free(m);
}

static void test_dims(void **state)
{
        (void)state;
        struct module *m = module_new("m");
        dim_t n = dim_symbol(m, "N", 10), k = dim_symbol(m, "K", 3);
        assert_true(!dim_equal(n, k) && dim_equal(n, dim_symbol(m, "N", 99)));
        check_dim(m, dim_binary(m, DIM_ADD, dim_of(3), dim_of(4)), "7", 7);
        check_dim(m, dim_binary(m, DIM_SUB, dim_of(3), dim_of(4)), "0", 0);
        check_dim(m, dim_binary(m, DIM_DIV, dim_of(7), dim_of(2)), "3", 3);
        check_dim(m, dim_binary(m, DIM_DIV, dim_of(7), dim_of(0)), "0", 0);
        check_dim(m, dim_binary(m, DIM_ADD, dim_of(3), n), "N + 3", 13);
        assert_true(dim_equal(dim_binary(m, DIM_ADD, n, k), dim_binary(m, DIM_ADD, k, n)));
        assert_true(dim_equal(dim_binary(m, DIM_SUB, dim_binary(m, DIM_ADD, n, dim_of(3)), dim_of(3)), n));
        check_dim(m, dim_binary(m, DIM_SUB, dim_binary(m, DIM_ADD, n, dim_of(3)), dim_of(5)), "N - 2", 8);
        check_dim(m, dim_binary(m, DIM_ADD, dim_binary(m, DIM_SUB, n, dim_of(3)), dim_of(5)), "(N - 3) + 5", 12);
        assert_true(dim_equal(dim_binary(m, DIM_DIV, dim_binary(m, DIM_MUL, n, dim_of(6)), dim_of(3)), dim_binary(m, DIM_MUL, n, dim_of(2))));
        check_dim(m, dim_binary(m, DIM_DIV, dim_binary(m, DIM_ADD, n, k), dim_of(2)), "(K + N) / 2", 6);
        check_dim(m, dim_binary(m, DIM_MAX, n, dim_binary(m, DIM_MIN, k, dim_of(2))), "max(N, min(K, 2))", 10);
        assert_true(dim_equal(dim_binary(m, DIM_MUL, n, dim_of(0)), dim_of(0)));
        assert_true(dim_equal(dim_binary(m, DIM_MUL, n, dim_of(1)), n));
        assert_true(dim_equal(dim_binary(m, DIM_MAX, n, n), n));
        assert_true(dim_equal(dim_binary(m, DIM_SUB, n, n), dim_of(0)));
        check_dim(m, dim_symbol(m, "a */ \"", dim_extent(dim_of(1))), "\"a \\x2a\\x2f \\x22\"", 1);
        assert_true(dim_equal(dim_binary(m, DIM_MUL, dim_of(INT64_MAX / 2), dim_of(3)), DIM_NONE));
        dim_t huge = n;
        for (int i = 0; i < 100; i++)
                huge = dim_binary(m, DIM_MUL, huge, huge);
        assert_true(dim_equal(huge, DIM_NONE));
        assert_false(type_is_sound(m, type_tensor(m, E_I8, 1, &huge)));
        dim_t many[RANK_MAX + 1] = { 0 };
        assert_null(type_tensor(m, E_I8, RANK_MAX + 1, many));
        module_free(m);
}

/* ---- elements ---- */

static void check_store(enum element e, double number, uint64_t bits)
{
        uint64_t stored = 0;
        element_store(e, &stored, 0, (union scalar){ .f = number });
        if (stored != bits)
                fail_msg("%s of %a: 0x%llx, want 0x%llx", element_info[e].text, number, (unsigned long long)stored,
                         (unsigned long long)bits);
}

static void test_short_floats(void **state)
{
        (void)state;
        for (int e = E_F16; e <= E_BF16; e++)           /* every number is itself again */
                for (unsigned i = 0; i < 65536; i++) {
                        uint16_t bits = (uint16_t)i, back = 0;
                        union scalar s = element_load((enum element)e, &bits, 0);
                        element_store((enum element)e, &back, 0, s);
                        unsigned quiet = e == E_F16 ? 0x200 : 0x40;
                        if (back != (isnan(s.f) ? i | quiet : i))
                                fail_msg("%s 0x%x became 0x%x", element_info[e].text, i, back);
                }
        check_store(E_F16, 1, 0x3c00);
        check_store(E_F16, 65519.99, 0x7bff);
        check_store(E_F16, 65520, 0x7c00);
        check_store(E_F16, 1e300, 0x7c00);
        check_store(E_F16, -INFINITY, 0xfc00);
        check_store(E_F16, 0x1p-24, 0x0001);
        check_store(E_F16, 0x1p-25, 0x0000);            /* a tie, to even */
        check_store(E_F16, 0x1.8p-24, 0x0002);
        check_store(E_F16, 0x1.0000001p-25, 0x0001);
        check_store(E_F16, 0x1.ff8p-15, 0x03ff);
        check_store(E_F16, 0x1.ffcp-15, 0x0400);        /* rounds up into the normal numbers */
        check_store(E_F16, 0x1p-1074, 0);
        check_store(E_F16, -0.0, 0x8000);
        check_store(E_F16, 1 + 0x1p-11, 0x3c00);
        check_store(E_F16, 1 + 0x1p-11 + 0x1p-50, 0x3c01);      /* through float it would be a tie */
        check_store(E_BF16, 1 + 0x1p-8, 0x3f80);
        check_store(E_BF16, 1 + 0x1p-8 + 0x1p-40, 0x3f81);
        check_store(E_BF16, 0x1p-133, 0x0001);
        check_store(E_BF16, 3.4e38, 0x7f80);
        check_store(E_TF32, 1 + 0x1p-11, 0x3f800000);
        check_store(E_TF32, 1 + 0x1p-11 + 0x1p-40, 0x3f802000);
        check_store(E_TF32, 1 + 0x1.8p-10, 0x3f804000);  /* a tie, to even */
        check_store(E_TF32, 0x1p-136, 0x00002000);
        check_store(E_TF32, -3.4028e38, 0xff800000);
        check_store(E_F32, 16777217, 0x4b800000);
}

static void test_element_tables(void **state)
{
        (void)state;
        for (int e = 0; e < ELEMENT_COUNT; e++) {
                enum element found;
                assert_true(element_from_text(element_info[e].text, strlen(element_info[e].text), &found));
                assert_int_equal(found, e);
                if (e != E_INDEX && e != E_TF32) {
                        assert_true(element_from_onnx(element_info[e].onnx, &found));
                        assert_int_equal(found, e);
                }
        }
        enum element found;
        assert_false(element_from_onnx(0, &found) || element_from_onnx(-1, &found) || element_from_onnx(99, &found));
        assert_false(element_from_text("f3", 2, &found) || element_from_text("f320", 4, &found));
        int8_t bytes[4] = { 0 };
        element_store(E_I8, bytes, 1, (union scalar){ .i = 300 });
        element_store(E_BOOL, bytes, 2, (union scalar){ .u = 256 });
        assert_int_equal(bytes[1], 44);
        assert_int_equal(bytes[2], 1);
        assert_int_equal(element_load(E_I8, (int8_t[]){ -1 }, 0).i, -1);
        assert_int_equal(element_load(E_U8, (int8_t[]){ -1 }, 0).u, 255);
}

/* ---- constants ---- */

static void test_constants(void **state)
{
        (void)state;
        struct module *m = module_new("m");
        const struct type *six = type_tensor(m, E_I16, 2, (dim_t[]){ dim_of(2), dim_of(3) });
        static const int16_t equal[6] = { 7, 7, 7, 7, 7, 7 }, other[6] = { 7, 7, 7, 7, 7, 8 };
        struct value *splat = constant_dense(m, six, equal, "w"), *dense = constant_dense(m, six, other, "w");
        double number;
        assert_true(value_is_splat(splat, &number) && number == 7);
        assert_false(value_is_splat(dense, NULL));
        assert_true(constant_data(dense->constant) == (const void *)other);
        assert_string_equal(splat->constant->name, "w");
        assert_string_equal(dense->constant->name, "w_2");
        assert_int_equal(constant_element(dense->constant, 5).i, 8);
        assert_int_equal(constant_element(splat->constant, 5).i, 7);

        int64_t ints[3];
        int count;
        assert_true(value_ints(constant_ints(m, (int64_t[]){ 1, -2, 3 }, 3), ints, 3, &count));
        assert_int_equal(count, 3);
        assert_int_equal(ints[1], -2);
        assert_false(value_ints(constant_ints(m, (int64_t[]){ 1, -2, 3 }, 3), ints, 2, &count));
        assert_true(value_ints(constant_ints(m, (int64_t[]){ 5, 5 }, 2), ints, 3, &count) && count == 2 && ints[1] == 5);
        assert_true(value_ints(constant_ints(m, NULL, 0), ints, 0, &count) && count == 0);
        assert_false(value_ints(splat, ints, 3, &count));

        static const struct { enum element e; double number; long long want; } numbers[] = {
                { E_I8, 300, 127 }, { E_I8, -300, -128 }, { E_U8, -1, 0 }, { E_U8, 1e30, 255 }, { E_I32, 2.9, 2 },
                { E_I64, 1e30, INT64_MAX }, { E_I64, -1e30, INT64_MIN }, { E_I32, NAN, 0 }, { E_BOOL, 0.5, 1 },
        };
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
                struct value *v = constant_number(m, type_scalar(m, numbers[i].e), numbers[i].number);
                assert_int_equal(constant_element(v->constant, 0).i, numbers[i].want);
        }
        module_free(m);
}

/* names and order are those that the text reads back to */
static void test_settled_constants(void **state)
{
        (void)state;
        struct house h;
        house_open(&h);
        static const float data[32] = { 1, 2 };
        constant_dense(h.m, h.x->type, data, "unused");
        struct value *ones = build_like(&h.b, h.x, 1), *w = constant_dense(h.m, h.x->type, data, "w");
        struct value *nameless = constant_dense(h.m, h.x->type, data, NULL);
        struct value *splat = constant_dense(h.m, type_tensor(h.m, E_F32, 1, (dim_t[]){ dim_of(4) }), data + 2, "splat");
        struct value *v = build_binary(&h.b, OP_add, build_binary(&h.b, OP_mul, h.x, ones), w);
        v = build_binary(&h.b, OP_add, v, nameless);
        v = build_binary(&h.b, OP_add, v, build_broadcast(&h.b, splat, h.x->type, (int64_t[]){ 0 }));
        assert_non_null(build_yield(&h.b, &v, 1));
        module_settle_constants(h.m);
        const char *const names[] = { "w", "constant", NULL, NULL };
        int i = 0;
        for (const struct constant *c = h.m->constants; c; c = c->next, i++) {
                assert_true(i < 4);
                if (names[i])
                        assert_string_equal(c->name, names[i]);
                else
                        assert_null(c->name);
        }
        assert_int_equal(i, 4);
        assert_string_equal(constant_dense(h.m, h.x->type, data, "unused")->constant->name, "unused");
        assert_string_equal(constant_dense(h.m, h.x->type, data, "w")->constant->name, "w_2");
        if (!tensor_verify(h.m, &h.bench.diag))
                fail_msg("%s", said(&h.bench));
        struct module *empty = module_new("e");
        module_settle_constants(empty);
        assert_string_equal(constant_dense(empty, type_scalar(empty, E_F32), data, "a")->constant->name, "a");
        assert_non_null(empty->constants);
        module_free(empty);
        house_close(&h);
}

/* ---- building ---- */

static void test_shorthands(void **state)
{
        (void)state;
        struct house h;
        house_open(&h);
        struct builder *b = &h.b;
        b->location = "n1";
        struct value *x = h.x;
        assert_ptr_equal(build_cast(b, x, E_F32), x);
        assert_ptr_equal(build_reshape(b, x, 2, (dim_t[]){ 4, 8 }), x);
        assert_ptr_equal(build_transpose(b, x, (int64_t[]){ 0, 1 }), x);
        assert_ptr_equal(build_broadcast_numpy(b, x, 2, (dim_t[]){ 4, 8 }), x);
        assert_ptr_equal(build_slice(b, x, (int64_t[]){ 0, 0 }, (int64_t[]){ 1, 1 }, (dim_t[]){ 4, 8 }), x);
        assert_ptr_equal(build_concat(b, &x, 1, 0), x);
        assert_ptr_equal(build_reduce(b, REDUCE_sum, x, NULL, 0), x);
        assert_null(build_unary(b, OP_neg, NULL));
        assert_null(build_binary(b, OP_add, x, NULL));
        assert_null(build_concat(b, (struct value *[]){ x, NULL }, 2, 0));
        assert_int_equal(h.bench.diag.errors, 0);

        struct value *y = build_transpose(b, build_cast(b, x, E_F64), (int64_t[]){ 1, 0 });
        y = build_slice(b, y, (int64_t[]){ 7, 1 }, (int64_t[]){ -2, 1 }, (dim_t[]){ dim_of(3), dim_of(2) });
        y = build_concat(b, (struct value *[]){ y, build_like(b, y, 1) }, 2, 1);
        y = build_reduce(b, REDUCE_max, y, (int64_t[]){ 0 }, 1);
        y = build_broadcast_numpy(b, build_reshape(b, y, 2, (dim_t[]){ dim_of(4), dim_of(1) }), 3, (dim_t[]){ dim_of(2), dim_of(4), dim_of(5) });
        y = build_gather(b, y, build_scalar(b, E_I32, 1), 1);
        y = build_binary(b, OP_mul, y, build_cast(b, build_iota(b, type_tensor(h.m, E_I64, 2, (dim_t[]){ dim_of(2), dim_of(5) }), 1), E_F64));
        struct value *small = build_binary(b, OP_lt, y, build_like(b, y, 2));
        y = build_select(b, small, y, build_unary(b, OP_neg, y));
        check_ops(&h, y,
                "  %0 = cast(%x) to=f64 : <4 x 8 x f64>    ; \"n1\"\n"
                "  %1 = transpose(%0) perm=[1, 0] : <8 x 4 x f64>    ; \"n1\"\n"
                "  %2 = slice(%1, <2 x i64> [7, 1], <2 x i64> [-2, 1]) : <3 x 2 x f64>    ; \"n1\"\n"
                "  %3 = concat(%2, <3 x 2 x f64> 1.0) axis=1 : <3 x 4 x f64>    ; \"n1\"\n"
                "  %4 = reduce(%3, <1 x i64> 0) kind=max : <4 x f64>    ; \"n1\"\n"
                "  %5 = reshape(%4) : <4 x 1 x f64>    ; \"n1\"\n"
                "  %6 = broadcast(%5) dims=[1, 2] : <2 x 4 x 5 x f64>    ; \"n1\"\n"
                "  %7 = gather(%6, <i32> 1) axis=1 : <2 x 5 x f64>    ; \"n1\"\n"
                "  %8 = iota() axis=1 : <2 x 5 x i64>    ; \"n1\"\n"
                "  %9 = cast(%8) to=f64 : <2 x 5 x f64>    ; \"n1\"\n"
                "  %10 = mul(%7, %9) : <2 x 5 x f64>    ; \"n1\"\n"
                "  %11 = lt(%10, 2.0) : <2 x 5 x bool>    ; \"n1\"\n"
                "  %12 = neg(%10) : <2 x 5 x f64>    ; \"n1\"\n"
                "  %13 = select(%11, %10, %12) : <2 x 5 x f64>    ; \"n1\"\n"
                "  yield(%13)    ; \"n1\"\n"
                "}\n");
        house_close(&h);
}

static void test_build_errors(void **state)
{
        (void)state;
        struct house h;
        house_open(&h);
        h.b.location = "conv1";
        assert_null(build_binary(&h.b, OP_add, h.x, build_scalar(&h.b, E_F32, 1)));
        assert_string_equal(said(&h.bench), "test: error: node 'conv1' (add): operands x and y are <4 x 8 x f32> and <f32>, "
                                            "want equal types");
        assert_null(h.f->body.first);
        assert_null(h.x->uses);
        assert_null(build_broadcast_numpy(&h.b, h.x, 1, (dim_t[]){ 8 }));
        assert_null(build_transpose(&h.b, h.x, (int64_t[]){ 1, 1 }));
        assert_null(build_yield(&h.b, (struct value *[]){ NULL }, 1));
        assert_null(h.f->body.first);
        house_close(&h);
}

struct folder { int asked; struct value *answer; };

static struct value *fold(struct builder *b, struct op *op, void *context)
{
        (void)b;
        struct folder *folder = context;
        folder->asked++;
        assert_int_equal(op->result_count, 1);
        return folder->answer;
}

static void test_fold_hook(void **state)
{
        (void)state;
        struct house h;
        house_open(&h);
        struct folder folder = { 0, NULL };
        h.b.fold = fold;
        h.b.fold_context = &folder;
        struct value *one = build_like(&h.b, h.x, 1), *two = build_like(&h.b, h.x, 2);
        struct value *kept = build_binary(&h.b, OP_add, one, one);
        assert_int_equal(folder.asked, 1);
        assert_true(op_is(kept, OP_add));
        folder.answer = two;
        assert_ptr_equal(build_binary(&h.b, OP_add, one, one), two);
        assert_int_equal(folder.asked, 2);
        assert_ptr_equal(h.f->body.last, kept->op);
        assert_int_equal(value_use_count(one), 2);
        build_binary(&h.b, OP_add, one, h.x);           /* not constant: not offered */
        op_build(&h.b, OP_add, (struct value *[]){ one, one }, 2, NULL, NULL, 0);
        assert_int_equal(folder.asked, 2);
        build_iota(&h.b, h.x->type, 0);                 /* no operands: constant */
        assert_int_equal(folder.asked, 3);
        house_close(&h);
}

static void test_input_names(void **state)
{
        (void)state;
        struct module *m = module_new("m");
        struct function *f = function_new(m, "main");
        const char *const ports[] = { "a/b:0", "a_b_0", "for", "", "9", "A_B_0" };
        const char *const names[] = { "a_b_0", "a_b_0_2", "for_2", "input", "n9", "A_B_0_3" };
        struct value *values[6];
        for (int i = 0; i < 6; i++)
                values[i] = function_add_input(f, ports[i], type_scalar(m, E_F32));
        for (int i = 0; i < 6; i++) {
                assert_ptr_equal(values[i], &f->body.arguments[i]);
                assert_string_equal(values[i]->name, names[i]);
                assert_string_equal(f->input_ports[i].name, ports[i]);
        }
        module_free(m);
}

/* ---- changing ---- */

static void test_uses(void **state)
{
        (void)state;
        enum { MANY = 100000 };
        struct house h;
        house_open(&h);
        struct value *y = build_unary(&h.b, OP_neg, h.x), *z = build_unary(&h.b, OP_abs, h.x);
        for (int i = 0; i < MANY; i++)
                build_unary(&h.b, OP_exp, y);
        assert_int_equal(value_use_count(y), MANY);
        build_unary(&h.b, OP_exp, z);
        assert_true(value_has_one_use(z) && !value_has_one_use(y));
        value_replace(y, z);
        assert_null(y->uses);
        assert_int_equal(value_use_count(z), MANY + 1);
        value_replace(z, z);
        assert_int_equal(value_use_count(z), MANY + 1);
        while (op_is(&h.f->body.last->results[0], OP_exp))
                op_erase(h.f->body.last);
        assert_null(z->uses);
        op_set_operand(z->op, 0, y);
        assert_true(value_has_one_use(y) && value_has_one_use(h.x));
        check_ops(&h, z, "  %0 = neg(%x) : <4 x 8 x f32>\n  %1 = abs(%0) : <4 x 8 x f32>\n  yield(%1)\n}\n");
        house_close(&h);
}

static struct op *add_fusion(struct house *h, struct value *inside, struct value *w)
{
        const struct type *type = h->x->type;
        struct op *fusion = op_build(&h->b, OP_fusion, NULL, 0, NULL, &type, 1);
        struct builder b = { .m = h->m, .region = op_add_region(fusion, 0), .diag = &h->bench.diag };
        struct value *v = build_binary(&b, OP_add, build_unary(&b, OP_neg, inside), w);
        assert_non_null(build_yield(&b, (struct value *[]){ build_binary(&b, OP_add, v, inside) }, 1));
        assert_true(op_infer(h->m, fusion, &h->bench.diag));
        return fusion;
}

static void test_regions(void **state)
{
        (void)state;
        static const float data[32] = { 1, 2 };
        struct house h;
        house_open(&h);
        struct value *w = constant_dense(h.m, h.x->type, data, "w"), *y = build_unary(&h.b, OP_exp, h.x);
        struct op *fusion = add_fusion(&h, h.x, w);
        int count;
        struct value **captures = op_captures(h.bench.arena, fusion, &count);
        assert_int_equal(count, 2);
        assert_true(captures[0] == h.x && captures[1] == w);
        int walked = 0;
        for (struct op *op = region_walk(&h.f->body, NULL); op; op = region_walk(&h.f->body, op))
                walked++;
        assert_int_equal(walked, 6);

        h.x->scratch = y;                               /* a copy on y in place of x, before the original */
        h.b.before = fusion;
        struct op *copy = op_clone(&h.b, fusion);
        h.b.before = NULL;
        h.x->scratch = NULL;
        assert_null(fusion->regions[0]->first->results[0].scratch);
        captures = op_captures(h.bench.arena, copy, &count);
        assert_true(count == 2 && captures[0] == y && captures[1] == w);
        struct op *gone = add_fusion(&h, y, w);
        op_erase(gone);
        assert_true(gone->dead && gone->regions[0]->first->dead);
        op_move_before(fusion, copy);
        check_ops(&h, build_binary(&h.b, OP_mul, op_result(copy), op_result(fusion)),
                "  %0 = exp(%x) : <4 x 8 x f32>\n"
                "  %1 = fusion(%x, @w) : <4 x 8 x f32> {\n"
                "    %2 = neg(%x) : <4 x 8 x f32>\n"
                "    %3 = add(%2, @w) : <4 x 8 x f32>\n"
                "    %4 = add(%3, %x) : <4 x 8 x f32>\n"
                "    yield(%4)\n"
                "  }\n"
                "  %5 = fusion(%0, @w) : <4 x 8 x f32> {\n"
                "    %6 = neg(%0) : <4 x 8 x f32>\n"
                "    %7 = add(%6, @w) : <4 x 8 x f32>\n"
                "    %8 = add(%7, %0) : <4 x 8 x f32>\n"
                "    yield(%8)\n"
                "  }\n"
                "  %9 = mul(%5, %1) : <4 x 8 x f32>\n"
                "  yield(%9)\n"
                "}\n");
        house_close(&h);
}

/* ---- binding symbols ---- */

#define BOUND_TEXT(n)                                                                                           \
        "func @main(%x \"x\": <" n " x 3 x f32>, %s \"s\": sequence(<" n " x i8>)) -> (\"o\") {\n"

static void test_bind(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        static const char text[] = HEAD "symbol N <= 64\nsymbol M <= 9\n" BOUND_TEXT("N")
                "  %0 = concat(%x, %x) : <N + N x 3 x f32>\n"
                "  %1 = slice(%0, <2 x i64> 0, <2 x i64> 1) : <4 x 3 x f32>\n"
                "  %2 = add(%x, 1.0) : <N x 3 x f32>\n"
                "  yield(%1)\n}\n";
        struct module *m = parse_well(&b, text);
        assert_true(module_bind(m, (int64_t[]){ -1, 5 }, &b.diag));
        assert_string_equal(print(&b, m), text);
        assert_true(module_bind(m, (int64_t[]){ 7, -1 }, &b.diag));
        assert_string_equal(print(&b, m), HEAD "symbol N <= 64\nsymbol M <= 9\n" BOUND_TEXT("7")
                "  %0 = concat(%x, %x) : <14 x 3 x f32>\n"
                "  %1 = slice(%0, <2 x i64> 0, <2 x i64> 1) : <4 x 3 x f32>\n"
                "  %2 = add(%x, 1.0) : <7 x 3 x f32>\n"
                "  yield(%1)\n}\n");
        assert_true(tensor_verify(m, &b.diag));
        module_free(m);

        m = parse_well(&b, text);
        assert_false(module_bind(m, (int64_t[]){ 65, -1 }, &b.diag));
        assert_string_equal(said(&b), "test: error: dimension N is at most 64, not 65");
        module_free(m);
        bench_close(&b);
        bench_open(&b);
        m = parse_well(&b, text);
        assert_false(module_bind(m, (int64_t[]){ 1, -1 }, &b.diag));
        assert_string_equal(said(&b), "test: error: slice: dimension 0: 4 elements from 0 in steps of 1 leave 0 to 1");
        assert_int_equal(b.diag.code, EXIT_INVALID);
        module_free(m);
        bench_close(&b);
}

/* ---- the verifier ---- */

static void check_broken(struct house *h, const char *message)
{
        h->bench.diag.errors = 0;
        assert_false(tensor_verify(h->m, &h->bench.diag));
        assert_int_equal(h->bench.diag.errors, 1);
        assert_int_equal(h->bench.diag.code, EXIT_INTERNAL);
        fflush(h->bench.diag.stream);
        size_t said_length = strlen(h->bench.said), length = strlen(message);
        assert_true(said_length > length);
        char *last = arena_string(h->bench.arena, h->bench.said + said_length - length - 1);
        last[length] = 0;
        assert_string_equal(last, message);
}

static void test_verifier(void **state)
{
        (void)state;
        struct house h;
        house_open(&h);
        check_broken(&h, "func @main: its body does not end in a yield");
        struct value *y = build_unary(&h.b, OP_neg, h.x), *z = build_unary(&h.b, OP_abs, y);
        struct op *fusion = add_fusion(&h, z, h.x), *yield = build_yield(&h.b, &z, 1);
        assert_non_null(yield);
        assert_true(tensor_verify(h.m, &h.bench.diag));

        op_move_before(z->op, y->op);
        check_broken(&h, "func @main: abs: operand 0 is used before it is defined, or outside its region");
        op_move_before(y->op, z->op);
        assert_true(tensor_verify(h.m, &h.bench.diag));

        op_set_operand(yield, 0, &fusion->regions[0]->first->results[0]);
        check_broken(&h, "func @main: yield: operand 0 is used before it is defined, or outside its region");
        op_set_operand(yield, 0, z);
        op_set_operand(fusion->regions[0]->first, 0, op_result(fusion));
        check_broken(&h, "func @main: neg: operand 0 is used before it is defined, or outside its region");
        op_set_operand(fusion->regions[0]->first, 0, z);

        const struct type *type = z->type;
        z->type = type_scalar(h.m, E_F32);
        check_broken(&h, "abs: result is <f32>, want <4 x 8 x f32>");
        z->type = type;
        y->name = z->name = "same";
        check_broken(&h, "func @main: two values are named %same");
        y->name = z->name = NULL;

        struct use *uses = y->uses;
        y->uses = NULL;
        check_broken(&h, "func @-: 8 uses in lists, 9 operands");
        y->uses = uses;
        y->uses->value = z;
        check_broken(&h, "func @main: abs: operand 0 is used before it is defined, or outside its region");
        y->uses->value = y;

        h.f->output_count = 2;
        check_broken(&h, "func @main: 2 outputs, 1 values yielded");
        h.f->output_count = 1;
        struct module *other = module_new("other");
        op_set_operand(z->op, 0, constant_number(other, type, 1));
        check_broken(&h, "func @main: abs: operand 0 is no value of this module");
        op_set_operand(z->op, 0, y);
        module_free(other);
        op_erase(yield);
        check_broken(&h, "func @main: its body does not end in a yield");
        house_close(&h);
}

/* the deepest nesting can be built, verified, copied; one more level is an error */
static void test_deep_regions(void **state)
{
        (void)state;
        struct house h;
        house_open(&h);
        struct value *c = function_add_input(h.f, "c", type_scalar(h.m, E_BOOL));
        struct builder b = h.b;
        struct op *first = NULL;
        const struct type *type = c->type;
        for (int depth = 0; depth < NESTING_MAX; depth++) {
                struct op *op = op_build(&b, OP_if, &c, 1, NULL, &type, 2);
                assert_non_null(op);
                first = first ? first : op;
                struct builder other = b;
                other.region = op_add_region(op, 1);
                build_yield(&other, &c, 1);
                b.region = op_add_region(op, 0);
                if (depth + 1 == NESTING_MAX)
                        break;
        }
        assert_null(op_build(&b, OP_if, &c, 1, NULL, &type, 2));
        assert_string_equal(said(&h.bench), "test: error: if: operations are nested more than 128 deep");
        for (struct region *region = b.region; region->owner; region = region->owner->region) {
                b.region = region;
                struct op *op = region->first;
                build_yield(&b, (struct value *[]){ op ? op_result(op) : c }, 1);
        }
        struct op *copy = op_clone(&h.b, first);
        struct value *results[] = { op_result(first), op_result(copy) };
        build_yield(&h.b, results, 2);
        h.bench.diag.errors = 0;
        if (!tensor_verify(h.m, &h.bench.diag))
                fail_msg("%s", said(&h.bench));
        check_canonical(print(&h.bench, h.m));
        op_erase(h.f->body.last);
        op_erase(copy);
        op_erase(first);
        assert_null(c->uses);
        house_close(&h);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_dims),
                cmocka_unit_test(test_read_of_a_term), cmocka_unit_test(test_short_floats), cmocka_unit_test(test_element_tables),
                cmocka_unit_test(test_constants), cmocka_unit_test(test_settled_constants),
                cmocka_unit_test(test_shorthands), cmocka_unit_test(test_build_errors),
                cmocka_unit_test(test_fold_hook), cmocka_unit_test(test_input_names), cmocka_unit_test(test_uses),
                cmocka_unit_test(test_regions), cmocka_unit_test(test_bind), cmocka_unit_test(test_verifier),
                cmocka_unit_test(test_deep_regions),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
