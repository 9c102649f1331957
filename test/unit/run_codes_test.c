/* SPDX-License-Identifier: MIT */
/* What codes say in the runtime, which knows nothing of the compiler, is what the compiler's table says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/loop/fail_codes.h"
#include "runtime/dnncc_runtime.h"

static void test_texts(void **state)
{
        (void)state;
#define FAIL(name, value, doc)                                                                     \
        assert_string_equal(dnncc_error_text(value), doc);                                         \
        assert_string_equal(fail_text(value), doc);
#include "ir/loop/fail_codes.def"
        assert_string_equal(dnncc_error_text(0), "no error");
        for (int code = -100; code < 100; code++)
                if (code)
                        assert_string_equal(dnncc_error_text(code), fail_text(code));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_texts) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
