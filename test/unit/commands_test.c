/* SPDX-License-Identifier: MIT */
/* Command text: what is printed reads back, and what is no command is an error with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/sections/commands.h"

static void print_parse_print(void **state)
{
        (void)state;
        struct arena *arena = arena_new();
        struct diag diag = { .subject = "test" };
        struct text text = { 0 }, again = { 0 };
        int count;
        command_templates(&text);
        command_templates(&again);
        for (int code = 0; code < COMMAND_COUNT; code++) {
                struct machine_command c = { .code = (enum command_code)code, .slot = 3 + code, .name = "layer1/conv.2" };
                for (int f = 0; f < FIELD_COUNT; f++)
                        c.field[f] = 17 * f + code;
                command_print(&text, &c);
        }
        struct machine_command *all = commands_parse(arena, text.data, text.length, &count, &diag);
        assert_non_null(all);
        assert_int_equal(count, COMMAND_COUNT);
        for (int k = 0; k < count; k++)
                command_print(&again, &all[k]);
        assert_string_equal(text.data, again.data);
        text_free(&text);
        text_free(&again);
        arena_free(arena);
}

static void bad_lines(void **state)
{
        static const char *const lines[] = {
                "XNConv", "1", "1 XNNone", "-1 XNUpload 0x0 0x0 1 1 1", "1 XNUpload 0x0 0x0 1 1", "1 XNUpload 0x0 0x0 1 1 1 1", "1 XNUpload 0 0x0 1 1 1",
                "1 XNUpload 0x0 0x0 1 1 0x1", "1 XNUpload 0x0 0xfffffffffffffffffff 1 1 1", "1 XNUpload 0x 0x0 1 1 1", "1 XNUpload 0x0 0x0 1 1 -",
                "1 XNVolume a 0x0 0x0 1 1 1 0 1 1 0 0", "# 1 XNConcat a 0x0 0x0 0x0", "1 XNUpload \x01 0x0 1 1 1",
        };
        (void)state;
        for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
                struct arena *arena = arena_new();
                struct diag diag = { .subject = "test", .silent = true };
                int count;
                char *text = arena_printf(arena, "# a remark\n\n%s\n", lines[k]);
                assert_null(commands_parse(arena, text, strlen(text), &count, &diag));
                assert_int_equal(diag.code, EXIT_INVALID);
                arena_free(arena);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(print_parse_print), cmocka_unit_test(bad_lines) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
