/* SPDX-License-Identifier: MIT */
/* The parsers of Tensor IR and Loop IR. What is read and printed reads back, and prints the same
 * text again. */
#include "test/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "codegen/machines/machines.h"
#include "ir/loop/loop.h"
#include "ir/tensor/tensor.h"

static const struct loop_library *library_of_all(void)
{
        static struct loop_library *library;
        static struct arena *arena;
        if (!library) {
                arena = arena_new();
                library = loop_library_new(arena, &(struct diag){ 0 });
                loop_library_machines(library, machines);
        }
        return library;
}

/* What a parser accepts, the verifier accepts. */
static bool verified(bool read, bool well)
{
        if (read && !well)
                abort();
        return read;
}

/* Returns whether the text is one, and prints it into `out`. */
static bool print_again(const char *bytes, size_t size, struct text *out)
{
        const struct tensor_print whole = { .elide = false };
        struct diag diag = { .silent = true };
        struct arena *arena = arena_new();
        struct module *m = NULL;
        bool read;
        if (size >= 4 && !memcmp(bytes, "loop", 4)) {
                struct loop_program *p =
                        loop_parse(arena, bytes, size, NULL, NULL, library_of_all(), &diag);
                read = verified(p != NULL, p && loop_verify(p, &diag));
                if (read)
                        loop_print(out, p, &whole);
        } else {
                m = tensor_parse(bytes, size, NULL, NULL, &diag);
                read = verified(m != NULL, m && tensor_verify(m, &diag));
                if (read)
                        tensor_print(out, m, &whole);
        }
        module_free(m);
        arena_free(arena);
        return read;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
        struct text first = { 0 }, second = { 0 };
        char *copy = malloc(size + 1);
        memcpy(copy, bytes, size);
        copy[size] = 0;
        if (print_again(copy, size, &first) &&
            (!print_again(first.data, first.length, &second) || first.length != second.length ||
             memcmp(first.data, second.data, first.length) != 0))
                abort();
        text_free(&first);
        text_free(&second);
        free(copy);
        return 0;
}
