/* SPDX-License-Identifier: MIT */
/* --selftest puts an input by chance into generated code, and what the interpreter makes of it:
 * constants, which codegen/c_selftest.c prints and compares. */
#include <string.h>

#include "compiler/emit.h"
#include "compiler/harness.h"
#include "ir/loop/fail_codes.h"
#include "ir/loop/loop_build.h"

/* Returns what keeps a program from being tested so, or NULL. */
static const char *untested(const struct loop_program *p)
{
        if (p->extent_count)
                return "with extents that a run gives or counts";
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                if (b->space == SPACE_STATE)
                        return "with state";
                if (b->is_text && loop_is_port(b))
                        return "with texts";
        }
        return NULL;
}

static struct loop_buffer *constant(struct loop_program *p, const char *name,
                                    const struct loop_buffer *port, const void *data)
{
        struct loop_buffer *b =
                loop_buffer_add(p, name, port->element, port->extent, SPACE_CONSTANT);
        b->data = data;
        return b;
}

bool selftest_add(struct run *run, struct print_selftest *test)
{
        struct loop_program *p = run->state.program;
        struct arena *arena = p->arena;
        const char *why = untested(p);
        if (!harness_is_of_processor(run, "--selftest", "is for code that a processor runs"))
                return false;
        if (why) {
                diag_error(&run->diag, EXIT_UNSUPPORTED,
                           "--selftest has one input for all runs, and this is a model %s", why);
                return false;
        }
        int inputs = 0, outputs = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                inputs += b->space == SPACE_INPUT;
                outputs += b->space == SPACE_OUTPUT;
        }
        const void **given = arena_array(arena, (size_t)inputs + 1, sizeof *given);
        void **got = arena_array(arena, (size_t)outputs + 1, sizeof *got);
        struct loop_buffer **ports =
                arena_array(arena, (size_t)(inputs + outputs) + 1, sizeof *ports);
        int in = 0, out = 0;
        for (struct loop_buffer *b = p->buffers; b; b = b->next)
                if (b->space == SPACE_INPUT) {
                        ports[in] = b;
                        given[in] = harness_drawn(run, in, b);
                        in++;
                } else if (b->space == SPACE_OUTPUT) {
                        ports[inputs + out] = b;
                        got[out++] = arena_alloc(arena, (size_t)loop_buffer_bytes(b) + 1);
                }
        struct interp *interp = interp_new(p, false, (uint64_t)run->context.limits.total_bytes,
                                           &run->diag);
        if (!interp)
                return false;
        const int code = interp_run(interp, given, got, 0, NULL);
        interp_free(interp);
        if (code != INTERP_OK) {
                diag_error(&run->diag, EXIT_INTERNAL, "--selftest: the run ended with code %d: %s",
                           code, fail_text(code));
                return false;
        }
        test->inputs = arena_array(arena, (size_t)inputs + 1, sizeof *test->inputs);
        test->outputs = arena_array(arena, (size_t)outputs + 1, sizeof *test->outputs);
        for (int k = 0; k < inputs; k++)
                test->inputs[k] = constant(p, "selftest_input", ports[k], given[k]);
        for (int k = 0; k < outputs; k++)
                test->outputs[k] = constant(p, "selftest_output", ports[inputs + k], got[k]);
        return true;
}
