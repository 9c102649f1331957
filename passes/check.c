/* --check: what a module or program computes on random inputs, for comparing before and after a pass.
 *
 * The interpreter runs the canonical lowering (without views or fusion beyond what the module itself says). Inputs are the
 * same for every pass: floats in [-1, 1), integers small and non-negative, so that indices are mostly in range. Where a
 * run-time index is out of range both sides must fail with the same code. Networks that would take too many steps are
 * skipped, and the manager says so.
 *
 * Tolerance of inexact passes: |a - b| <= 1e-4 * max|a| + 1e-6 per output, which double rounding of weights stays far
 * below and a wrong rewrite does not. */
#include "passes/manager.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_STEPS = 2000000000 };

struct check_output { const char *name; enum element element; int64_t elements; void *data; };
struct check_result {
        struct arena *arena;
        int code;                       /* of the run */
        int count;
        struct check_output *outputs;
};

static uint64_t next_random(uint64_t *state)
{
        uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);    /* splitmix64 (Steele, Lea, Flood 2014) */
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

static void fill_random(enum element e, void *data, int64_t count, uint64_t seed)
{
        for (int64_t i = 0; i < count; i++) {
                uint64_t r = next_random(&seed);
                union scalar s;
                if (element_is_float(e))
                        s.f = (double)(int64_t)(r >> 11) * 0x1p-52 - 1;
                else
                        s.u = e == E_BOOL ? r >> 63 : r >> 61;
                element_store(e, data, (size_t)i, s);
        }
}

static int64_t buffer_bytes(const struct loop_buffer *b)
{
        return b->extent * element_info[b->element].bytes;
}

/* A program made for this run when the state is at the tensor level. */
static const struct loop_program *program_of(const struct pipeline_state *state, struct pass_context *context)
{
        if (state->program)
                return state->program;
        struct lower_options plain = { .unchecked = context->lower.unchecked };
        return lower_module(state->module, state->module->functions, context->library, &plain, context->diag);
}

struct check_result *check_run(const struct pipeline_state *state, struct pass_context *context, const char **skipped)
{
        const struct loop_program *p = program_of(state, context);
        struct interp *interp = p ? interp_new(p, false, (uint64_t)context->limits.tensor_bytes, context->diag) : NULL;
        if (!interp) {
                *skipped = "it cannot be interpreted";
                return NULL;
        }
        struct check_result *result = memory_alloc(sizeof *result);
        struct arena *arena = result->arena = arena_new();
        int inputs = 0, outputs = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                inputs += b->space == SPACE_INPUT;
                outputs += b->space == SPACE_OUTPUT;
        }
        const void **in = arena_array(arena, (size_t)inputs, sizeof *in);
        void **out = arena_array(arena, (size_t)outputs, sizeof *out);
        result->outputs = arena_array(arena, (size_t)outputs, sizeof *result->outputs);
        inputs = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                if (b->space != SPACE_INPUT && b->space != SPACE_OUTPUT)
                        continue;
                void *data = arena_alloc(arena, (size_t)buffer_bytes(b));
                if (b->space == SPACE_INPUT) {
                        fill_random(b->element, data, b->extent, (uint64_t)inputs + 1);
                        in[inputs++] = data;
                } else {
                        out[result->count] = data;
                        result->outputs[result->count++] = (struct check_output){
                                arena_string(arena, b->name), b->element, b->extent, data };
                }
        }
        result->code = interp_run(interp, in, out, CHECK_STEPS, NULL);
        interp_free(interp);
        if (result->code == INTERP_OUT_OF_STEPS) {
                *skipped = "it takes more than 2e9 interpreter steps";
                check_free(result);
                return NULL;
        }
        return result;
}

static double as_number(enum element e, const void *data, int64_t i)
{
        union scalar s = element_load(e, data, (size_t)i);
        return element_is_float(e) ? s.f : element_info[e].class == CLASS_SINT ? (double)s.i : (double)s.u;
}

bool check_equal(const struct check_result *a, const struct check_result *b, bool exact, char **what)
{
        struct text text = { 0 };
        if (a->code != b->code || a->count != b->count) {
                text_add(&text, "the run ended with code %d before and %d after", a->code, b->code);
                *what = text.data;
                return false;
        }
        for (int o = 0; a->code == INTERP_OK && o < a->count; o++) {
                const struct check_output *x = &a->outputs[o], *y = &b->outputs[o];
                if (x->element != y->element || x->elements != y->elements) {
                        text_add(&text, "output '%s' has another type after it", x->name);
                        *what = text.data;
                        return false;
                }
                double largest = 0;
                for (int64_t i = 0; i < x->elements; i++) {
                        double v = fabs(as_number(x->element, x->data, i));
                        if (isfinite(v) && v > largest)
                                largest = v;
                }
                bool bits = exact || !element_is_float(x->element);
                size_t bytes = (size_t)element_info[x->element].bytes;
                for (int64_t i = 0; i < x->elements; i++) {
                        const char *p = x->data, *q = y->data;
                        if (!memcmp(p + (size_t)i * bytes, q + (size_t)i * bytes, bytes))
                                continue;
                        double v = as_number(x->element, p, i), w = as_number(x->element, q, i);
                        if ((isnan(v) && isnan(w)) || (!bits && fabs(v - w) <= 1e-4 * largest + 1e-6))
                                continue;
                        text_add(&text, "output '%s' element %" PRId64 " is %.9g before and %.9g after", x->name, i, v, w);
                        *what = text.data;
                        return false;
                }
        }
        return true;
}

void check_free(struct check_result *result)
{
        if (!result)
                return;
        arena_free(result->arena);
        free(result);
}
