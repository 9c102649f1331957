/* SPDX-License-Identifier: MIT */
/* Moments, against the operations themselves: feature k of a row is what the operation gives where
 * its weights are 1 at k alone. A sampler that hands out arrays takes the place of the compiler's. */
#include "passes/calibrate/moments.h"

#include <math.h>

#include "passes/calibrate/sampler.h"
#include "test/unit/lower_harness.h"

enum { SAMPLES = 3, OPS_MAX = 4 };

/* functions whose arguments are x, y .. of samples, then the weights, %w0 of the first operation .. */
static const struct sample_function { const char *arguments, *body; int ops; } functions[] = {
        { "%x \"x\": <2 x 3 x 7 x 5 x f32>, %w0 \"w0\": <4 x 3 x 3 x 2 x f32>",
          "%0 = convolve(%x, %w0) strides=[2, 1] dilations=[1, 2] pads=[1, 0, 1, 1] : <2 x 4 x 4 x 4 x f32>", 1 },
        { "%x \"x\": <1 x 6 x 5 x f32>, %w0 \"w0\": <8 x 3 x 3 x f32>",
          "%0 = convolve(%x, %w0) groups=2 pads=[1, 1] : <1 x 8 x 5 x f32>", 1 },
        { "%x \"x\": <1 x 4 x 5 x 5 x f32>, %w0 \"w0\": <4 x 1 x 3 x 3 x f32>",
          "%0 = convolve(%x, %w0) groups=4 pads=[-1, 1, 1, -1] : <1 x 4 x 3 x 3 x f32>", 1 },
        { "%x \"x\": <1 x 2 x 4 x f32>, %w0 \"w0\": <3 x 2 x 3 x f32>",
          "%0 = convolve(%x, %w0) input_dilations=[2] pads=[2, 1] : <1 x 3 x 8 x f32>", 1 },
        { "%x \"x\": <2 x 3 x 11 x f16>, %w0 \"w0\": <11 x 4 x f16>",
          "%0 = dot(%x, %w0) contract_a=[2] contract_b=[0] : <2 x 3 x 4 x f16>", 1 },
        { "%x \"x\": <9 x 6 x f32>, %w0 \"w0\": <5 x 9 x f32>",
          "%0 = dot(%x, %w0) contract_a=[0] contract_b=[1] : <6 x 5 x f32>", 1 },
        { "%x \"x\": <5 x 16 x f32>, %y \"y\": <40 x 3 x f32>, %w0 \"w0\": <16 x 4 x f32>, %w1 \"w1\": <2 x 16 x f32>, "
          "%w2 \"w2\": <40 x 2 x f32>, %w3 \"w3\": <5 x 2 x f32>",
          "%0 = dot(%x, %w0) contract_a=[1] contract_b=[0] : <5 x 4 x f32>\n"
          "%1 = dot(%x, %w1) contract_a=[1] contract_b=[1] : <5 x 2 x f32>\n"
          "%2 = dot(%y, %w2) contract_a=[0] contract_b=[0] : <3 x 2 x f32>\n"
          "%3 = dot(%x, %w3) contract_a=[0] contract_b=[0] : <16 x 2 x f32>", 4 },
};

struct subject {
        struct fixture x;
        struct op *ops[OPS_MAX];
        int op_count;
        struct array arrays[SAMPLES][INPUTS_MAX];         /* of arguments; weights: the first ones */
        struct loop_program *p;
        /* the sampler's */
        int arguments[OPS_MAX], value_count, runs;
};

/* ---- a sampler ---- */

static struct sampled *begin(void *runner, const struct module *m, struct value *const *values, int count)
{
        struct subject *s = runner;
        assert_ptr_equal(m, s->x.m);
        for (int i = 0; i < count; i++)
                s->arguments[i] = values[i]->index;
        s->value_count = count;
        return runner;
}

static int64_t count(const struct sampled *s) { return s ? SAMPLES : 0; }

static bool run(struct sampled *sampled, sampled_take take, void *context)
{
        struct subject *s = (struct subject *)(void *)sampled;
        s->runs++;
        for (int64_t i = 0; i < SAMPLES; i++)
                for (int v = 0; v < s->value_count; v++) {
                        struct array a = s->arrays[i][s->arguments[v]];
                        int64_t all = type_elements(a.type), half = all / 2;
                        size_t bytes = (size_t)element_info[a.type->element].bytes;
                        if (!take(context, i, v, all, 0, a.data, half) ||
                            !take(context, i, v, all, half, a.data + (size_t)half * bytes,
                                  all - half))
                                return false;
                }
        return true;
}

static void end(struct sampled *s) { assert_non_null(s); }

/* ---- what the operations say ---- */

static struct subject subject_new(const struct sample_function *f)
{
        struct subject s = { .op_count = f->ops };
        struct diag diag = { 0 };
        char text[2048];
        snprintf(text, sizeof text, "dnn 3\nmodule \"m\"\nfunc @main(%s) -> (%s) {\n%s\n  yield(%s)\n}\n", f->arguments,
                 f->ops == 1 ? "\"a\"" : "\"a\", \"b\", \"c\", \"d\"", f->body, f->ops == 1 ? "%0" : "%0, %1, %2, %3");
        s.x.m = tensor_parse(text, strlen(text), NULL, NULL, &diag);
        assert_non_null(s.x.m);
        s.x.f = s.x.m->functions;
        for (int i = 0; i < s.x.f->body.argument_count; i++) {
                const struct type *t = s.x.f->body.arguments[i].type;
                s.x.input_count++;
                for (int k = 0; k < SAMPLES; k++)
                        s.arrays[k][i] = array_random(&s.x, t, -3, 3);
        }
        int number = 0;
        for (struct op *op = s.x.f->body.first; number < f->ops; op = op->next)
                s.ops[number++] = op;
        s.p = lower(&s.x, false, false);
        return s;
}

/* rows of a layer, group by group: [groups][rows][depth] */
struct rows { int64_t groups, depth, count; double *x; };

static struct rows rows_of(struct subject *s, int which)
{
        const struct op *op = s->ops[which];
        const struct value *w = op_operand(op, 1);
        const struct type *y = op_result(op)->type;
        bool convolution = op->code == OP_convolve;
        int along = convolution ? 0 : w->type->rank - 1 - (int)*op_ints(op, "contract_b", NULL);
        int64_t outputs = type_extent(w->type, along), per = type_elements(y) / outputs;
        struct rows r = { convolution ? op_int(op, "groups") : 1, type_elements(w->type) / outputs, SAMPLES * per, NULL };
        r.x = arena_array(s->x.m->arena, (size_t)(r.groups * r.count * r.depth), sizeof *r.x);
        struct array weights = s->arrays[0][w->index], got[INPUTS_MAX];
        for (int64_t n = 0; n < SAMPLES; n++)
                for (int64_t k = 0; k < r.depth; k++) {
                        for (int64_t i = 0; i < type_elements(w->type); i++) {
                                int64_t index[RANK_MAX];
                                index_of(w->type, i, index);
                                put(weights, i, (along == 0 ? i % r.depth : index[0]) == k);
                        }
                        for (int i = 0; i < s->x.input_count; i++)
                                s->x.inputs[i] = s->arrays[i == w->index ? 0 : n][i].data;
                        assert_int_equal(run_program(&s->x, s->p, got), 0);
                        for (int64_t g = 0; g < r.groups; g++)
                                for (int64_t p = 0, i = 0; i < type_elements(y); i++) {
                                        int64_t index[RANK_MAX];
                                        index_of(y, i, index);
                                        if (index[convolution ? 1 : y->rank - 1] == g * outputs / r.groups)
                                                r.x[(g * r.count + n * per + p++) * r.depth + k] = number(got[which], i);
                                }
                }
        return r;
}

static void check_layer(const struct moments *m, const struct rows *r)
{
        assert_int_equal(m->groups, r->groups);
        assert_int_equal(m->depth, r->depth);
        assert_int_equal(m->rows, r->count);
        for (int64_t g = 0; g < r->groups; g++)
                for (int64_t i = 0; i < r->depth; i++) {
                        const double *x = r->x + g * r->count * r->depth;
                        double sum = 0, magnitude = 0, square = 0, largest = 0;
                        for (int64_t n = 0; n < r->count; n++) {
                                double v = x[n * r->depth + i];
                                sum += v;
                                magnitude += fabs(v);
                                square += v * v;
                                largest = fmax(largest, fabs(v));
                        }
                        int64_t at = g * r->depth + i;
                        assert_true(m->sums[at] == sum && m->magnitudes[at] == magnitude && m->squares[at] == square &&
                                    (double)m->largest[at] == largest);
                        for (int64_t j = 0; m->products && j < r->depth; j++) {
                                double product = 0;
                                for (int64_t n = 0; n < r->count; n++)
                                        product += x[n * r->depth + i] * x[n * r->depth + j];
                                assert_true((double)m->products[at * r->depth + j] == product);
                        }
                }
}

static const struct sampler *sampler_of(struct subject *s, struct sampler *sampler)
{
        *sampler = (struct sampler){ .runner = s, .begin = begin, .count = count, .run = run, .end = end };
        return sampler;
}

static void check_function(const struct sample_function *f, int64_t bytes, int runs, bool products)
{
        struct subject s = subject_new(f);
        struct sampler sampler;
        struct pass_context context = { .limits = limits_preset, .diag = &s.x.diag, .sampler = sampler_of(&s, &sampler) };
        context.limits.moment_bytes = bytes ? bytes : context.limits.moment_bytes;
        struct rows rows[OPS_MAX];
        for (int i = 0; i < s.op_count; i++) {
                assert_true(moments_possible(s.ops[i]));
                rows[i] = rows_of(&s, i);
        }
        struct moments_run *r = moments_begin(&context, s.ops, s.op_count, products);
        assert_non_null(r);
        for (int i = 0; i < s.op_count; i++) {
                const struct moments *m = moments_of(r, i);
                assert_non_null(m);
                double size = (double)(m->groups * m->depth * m->depth) * sizeof(float);
                assert_int_equal(m->products != NULL, products && (!bytes || size <= (double)bytes));
                check_layer(m, &rows[i]);
        }
        moments_end(r);
        assert_true(!runs || s.runs == runs);
        module_free(s.x.m);
}

static void test_moments(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(functions); i++) {
                check_function(&functions[i], 0, 1, true);
                check_function(&functions[i], 0, 1, false);
        }
}

/* 16 x 16 of the first two layers at once, none of the third's 40 x 40, then the fourth's 5 x 5 */
static void test_memory(void **state)
{
        (void)state;
        check_function(&functions[COUNT(functions) - 1], 1100, 2, true);
        check_function(&functions[COUNT(functions) - 1], 8000, 1, true);
}

/* Of many rows some are taken, the same each time: as many as were asked for, or nearly. */
static void test_rows(void **state)
{
        (void)state;
        const struct sample_function many = { "%x \"x\": <8000 x 4 x f32>, %w0 \"w0\": <4 x 2 x f32>",
                                              "%0 = dot(%x, %w0) contract_a=[1] contract_b=[0] : <8000 x 2 x f32>", 1 };
        struct subject s = subject_new(&many);
        struct sampler sampler;
        struct pass_context context = { .limits = limits_preset, .diag = &s.x.diag, .sampler = sampler_of(&s, &sampler) };
        float first[16];
        int64_t rows = 0;
        for (int i = 0; i < 2; i++) {
                struct moments_run *r = moments_begin(&context, s.ops, 1, true);
                const struct moments *m = moments_of(r, 0);
                assert_true(m->rows > 900 && m->rows < 1150);
                assert_true(i == 0 || (m->rows == rows && !memcmp(first, m->products, sizeof first)));
                rows = m->rows;
                memcpy(first, m->products, sizeof first);
                for (int k = 0; k < 4; k++)     /* whole numbers from -3 to 3: their mean square is 4 */
                        assert_true(fabs(m->squares[k] / (double)rows - 4) < .5);
                moments_end(r);
        }
        struct moments_run *all = moments_begin(&context, s.ops, 1, false);
        assert_int_equal(moments_of(all, 0)->rows, SAMPLES * 8000);
        moments_end(all);
        module_free(s.x.m);
}

static void test_nan(void **state)
{
        (void)state;
        struct subject s = subject_new(&functions[0]);
        struct sampler sampler;
        struct diag diag = { .silent = true };
        struct pass_context context = { .limits = limits_preset, .diag = &diag, .sampler = sampler_of(&s, &sampler) };
        ((float *)(void *)s.arrays[1][0].data)[5] = NAN;
        struct moments_run *r = moments_begin(&context, s.ops, 1, true);
        assert_null(moments_of(r, 0));
        assert_int_equal(diag.code, EXIT_INVALID);
        moments_end(r);
        context.sampler = NULL;
        assert_null(moments_begin(&context, s.ops, 1, true));
        module_free(s.x.m);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_moments), cmocka_unit_test(test_memory),
                                            cmocka_unit_test(test_rows), cmocka_unit_test(test_nan) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
