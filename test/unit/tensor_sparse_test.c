/* SPDX-License-Identifier: MIT */
/* Sparse constants: their text, what verifier and parser refuse, and the dense tensor that they mean. */
#include "base/store.h"
#include "test/unit/tensor_bench.h"

#define PLACES                                                                                     \
        "0000000000000000010000000000000002000000000000000300000000000000050000000000000008000000" \
        "00000000"                                                                                 \
        "0d0000000000000011000000000000001300000000000000"
#define NUMBERS "01020304050607ff09"
#define CONSTANTS                                                                                  \
        "const @few : <3 x 4 x f32> = sparse [1 = nan:0x7fc00001, 7 = -0.0]\n"                     \
        "const @many : <4 x 5 x u8> = sparse 9 hex \"" PLACES NUMBERS "\"\n"                       \
        "const @one : <2 x f64> = sparse [1 = 2.5]\n"
#define BODY "func @main() -> (\"o\", \"p\", \"q\") {\n  yield(@few, @many, @one)\n}\n"

static struct constant *named(struct module *m, const char *name)
{
        struct constant *c = m->constants;
        while (strcmp(c->name, name))
                c = c->next;
        return c;
}

static void test_sparse_text(void **state)
{
        (void)state;
        check_canonical(HEAD CONSTANTS BODY);
}

static void test_sparse_refused(void **state)
{
        (void)state;
        static const char *const cases[][2] = {
                { "<3 x f32> = sparse [3 = 1.0]", "line 3: a position is 3, want 0 to 2" },
                { "<3 x f32> = sparse [-1 = 1.0]", "line 3: a position is -1, want 0 to 2" },
                { "<3 x f32> = sparse [1 = 1.0, 1 = 2.0]",
                  "line 3: position 1, 1 of 3 elements, is twice" },
                { "<3 x f32> = sparse [2 = 1.0, 1 = 2.0]",
                  "line 3: position 1, 1 of 3 elements, is out of order" },
                { "<1 x f32> = sparse [0 = 1.0]",
                  "line 3: a sparse constant that leaves out no element" },
                { "<0 x f32> = sparse [0 = 1.0]", "line 3: a position is 0, want 0 to -1" },
                { "<3 x f32> = sparse []", "line 3: '\\x5d' stands where a position is wanted" },
                { "<3 x f32> = sparse [0: 1.0]", "line 3: a position is 0:, want an integer" },
                { "<3 x f32> = sparse [0 = 1.0,]",
                  "line 3: '\\x5d' stands where a position is wanted" },
                { "<9 x u8> = sparse 9 hex \"00\"",
                  "line 3: the number of values is 9, want 1 to 8" },
                { "<9 x u8> = sparse 1 hex \"00\"", "line 3: 2 hexadecimal digits for 9 bytes" },
                { "<9 x u8> = sparse 1 hex \"090000000000000001\"",
                  "line 3: position 0, 9 of 9 elements, is outside" },
                { "<9 x u8> = sparse 1 hex \"00000000000000ff01\"",
                  "line 3: position 0, -72057594037927936 of 9 elements, is outside" },
                { "<9 x u8> = sparse 1 of",
                  "line 3: a sparse constant that has neither '[', hex nor file" },
                { "<9 x u8> = sparse 1 file 0", "line 3: no data line names a file" },
                { "<9 x u8> = sparse 1 ...", "line 3: the values were left out of this text" },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                char text[256];
                snprintf(text, sizeof text, HEAD "const @w : %s\n", cases[i][0]);
                check_refused(text, cases[i][1]);
        }
}

/* every byte of the text changed: no crash, one error or none */
static void test_sparse_changed(void **state)
{
        (void)state;
        static const char text[] = HEAD CONSTANTS BODY, bytes[] = "0f9[]=,\"-xk\n";
        struct diag diag = { .silent = true };
        char changed[sizeof text];
        for (size_t i = 0; i < sizeof text - 1; i++)
                for (size_t k = 0; k < sizeof bytes - 1; k++) {
                        memcpy(changed, text, sizeof text);
                        changed[i] = bytes[k];
                        diag.errors = 0;
                        struct module *m =
                                tensor_parse(changed, sizeof text - 1, NULL, NULL, &diag);
                        assert_int_equal(diag.errors, m ? 0 : 1);
                        module_free(m);
                }
}

struct file {
        const char *bytes;
        size_t length;
};

static bool give_file(void *context, const char *name, const void **bytes, size_t *length)
{
        const struct file *f = context;
        (void)name;
        *bytes = f->bytes;
        *length = f->length;
        return true;
}

static void test_sparse_file(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct module *m = parse_well(&b, HEAD CONSTANTS BODY);
        struct text out = { 0 }, blob = { 0 };
        tensor_print(&out, m, &(struct tensor_print){ .blob = &blob, .file_name = "f" });
        assert_non_null(strstr(out.data, "const @many : <4 x 5 x u8> = sparse 9 file 0\n"));
        assert_int_equal(blob.length, 81);
        struct file file = { blob.data, blob.length };
        struct module *n = tensor_parse(out.data, out.length, give_file, &file, &b.diag);
        assert_non_null(n);
        assert_string_equal(print(&b, n), print(&b, m));
        text_free(&out);
        tensor_print(&out, m, &(struct tensor_print){ .elide = true });
        assert_non_null(strstr(out.data, "const @many : <4 x 5 x u8> = sparse 9 ...\n"));
        text_free(&out);
        text_free(&blob);
        module_free(m);
        module_free(n);
        bench_close(&b);
}

/* the same elements one by one and as the dense tensor, which lives as long as the constant */
static void test_sparse_dense(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct module *m = parse_well(&b, HEAD CONSTANTS BODY);
        struct constant *c = named(m, "many");
        static const unsigned char want[20] = { 1, 2, 3, 4, 0, 5, 0, 0,   6, 0,
                                                0, 0, 0, 7, 0, 0, 0, 255, 0, 9 };
        assert_int_equal(c->kind, CONSTANT_SPARSE);
        assert_int_equal(constant_held_bytes(c), 81);
        for (int i = 0; i < 20; i++)
                assert_int_equal(constant_element(c, i).u, want[i]);
        assert_null(c->sparse->dense);
        const void *dense = constant_data(c);
        assert_memory_equal(dense, want, sizeof want);
        assert_ptr_equal(constant_data(c), dense);
        assert_int_equal(constant_element(c, 17).u, 255);
        module_sweep_constants(m);
        memset(store_alloc(m->store, 1 << 20), 1, 1 << 20);
        assert_memory_equal(constant_data(c), want, sizeof want);
        struct constant *reshaped =
                constant_reshaped(m, c, 1, (const dim_t[]){ dim_of(20) })->constant;
        assert_int_equal(reshaped->kind, CONSTANT_SPARSE);
        assert_ptr_equal(reshaped->sparse, c->sparse);
        struct module *copy = module_copy(m);
        const double two[2] = { 0, 2.5 };
        assert_memory_equal(constant_data(named(copy, "one")), two, sizeof two);
        module_free(copy);
        assert_memory_equal(constant_data(named(m, "one")), two, sizeof two);
        module_free(m);
        bench_close(&b);
}

/* without a value it is a splat, with all of them dense */
static void test_sparse_ends(void **state)
{
        (void)state;
        struct module *m = module_new("m");
        static const int64_t places[] = { 0, 1 };
        static const float values[] = { 1, 2 };
        const struct type *two = type_tensor(m, E_F32, 1, (const dim_t[]){ dim_of(2) });
        double number = 1;
        assert_true(value_is_splat(constant_sparse(m, two, 0, NULL, NULL, "none"), &number));
        assert_true(number == 0);
        assert_int_equal(constant_sparse(m, two, 2, places, values, "all")->constant->kind,
                         CONSTANT_DENSE);
        assert_int_equal(constant_sparse(m, two, 1, places + 1, values, "last")->constant->kind,
                         CONSTANT_SPARSE);
        module_free(m);
}

static void test_sparse_verified(void **state)
{
        (void)state;
        static const int64_t wrong[][2] = { { 1, 1 }, { 7, 1 }, { -1, 1 }, { 1, 12 } };
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                struct bench b;
                bench_open(&b);
                struct module *m = parse_well(&b, HEAD CONSTANTS BODY);
                struct sparse *s = named(m, "few")->sparse;
                assert_true(tensor_verify(m, &b.diag));
                s->positions = wrong[i];
                assert_false(tensor_verify(m, &b.diag));
                assert_non_null(strstr(said(&b), "a constant is broken"));
                module_free(m);
                bench_close(&b);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sparse_text),     cmocka_unit_test(test_sparse_refused),
                cmocka_unit_test(test_sparse_changed),  cmocka_unit_test(test_sparse_file),
                cmocka_unit_test(test_sparse_dense),    cmocka_unit_test(test_sparse_ends),
                cmocka_unit_test(test_sparse_verified),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
