/* SPDX-License-Identifier: MIT */
/* A dnncc that was built without LLVM's headers says so in one line, which names the package, and ends with exit 4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "codegen/llvm/llvm_absent.c"

static void it_is_said(void **state)
{
        (void)state;
        for (int text = 0; text < 2; text++) {
                char *said;
                size_t length;
                struct diag diag = { .subject = "m.onnx", .stream = open_memstream(&said, &length) };
                const void *made = text ? (const void *)llvm_text(NULL, NULL, NULL, &diag) : llvm_jit_new(NULL, NULL, &(struct llvm_options){ .level = LLVM_LEVEL_BEST }, &diag);
                fclose(diag.stream);
                assert_null(made);
                assert_int_equal(diag.errors, 1);
                assert_int_equal(diag.code, EXIT_UNSUPPORTED);
                assert_non_null(strstr(said, "m.onnx: error: "));
                assert_non_null(strstr(said, "llvm-dev"));
                assert_true(strchr(said, '\n') == said + length - 1);
                free(said);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(it_is_said) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
