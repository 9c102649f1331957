/* SPDX-License-Identifier: MIT */
/* Relations, against the operations themselves: an element of an operand is changed, and the results
 * that change are among those whose relation says that they need it; where it is exact, all of them
 * are. */
#include "ir/tensor/relation.h"
#include "test/unit/lower_harness.h"

enum { TRIALS = 200, OUTPUTS_MAX = 1 << 12 };

/* what is known of a case: EXACT: of each operand that is no index; ONCE, MOVES: of operand 0 */
enum { EXACT = 1, ONCE = 2, MOVES = 4, UNKNOWN = 8 };

static const struct sample {
        const char *arguments, *op;
        int flags, indices;             /* operand 1 holds indices below so many, or 0 */
} samples[] = {
        { "%x \"x\": <2 x 3 x i32>, %y \"y\": <2 x 3 x i32>", "add(%x, %y) : <2 x 3 x i32>", EXACT | ONCE, 0 },
        { "%c \"c\": <4 x bool>, %x \"x\": <4 x i32>, %y \"y\": <4 x i32>", "select(%c, %x, %y) : <4 x i32>", ONCE, 0 },
        { "%x \"x\": <2 x 3 x i32>", "cast(%x) to=i64 : <2 x 3 x i64>", EXACT | ONCE, 0 },
        { "%x \"x\": <2 x 3 x i32>", "rescale(%x, 2147483647, 0) low=-9999 high=9999 to=i16 : <2 x 3 x i16>", EXACT | ONCE, 0 },
        { "%x \"x\": <4 x 3 x 2 x i32>", "reshape(%x) : <6 x 4 x i32>", EXACT | ONCE, 0 },
        { "%x \"x\": <2 x 3 x 4 x i32>", "transpose(%x) perm=[2, 0, 1] : <4 x 2 x 3 x i32>", EXACT | ONCE | MOVES, 0 },
        { "%x \"x\": <3 x 1 x 4 x i32>", "broadcast(%x) dims=[0, 1, 3] : <3 x 2 x 5 x 4 x i32>", EXACT, 0 },
        { "%x \"x\": <3 x 1 x i32>", "broadcast(%x) dims=[1, 2] : <1 x 3 x 1 x i32>", EXACT | ONCE, 0 },
        { "%x \"x\": <7 x 5 x i32>", "slice(%x, <2 x i64> [1, 4], <2 x i64> [2, -1]) : <3 x 4 x i32>", EXACT | ONCE | MOVES, 0 },
        { "%x \"x\": <4 x i32>, %s \"s\": <1 x i64>", "slice(%x, %s, <1 x i64> [1]) : <2 x i32>", 0, 3 },
        { "%x \"x\": <3 x 4 x i32>", "pad(%x, <i32> 7, <2 x i64> [2, -1]) : <6 x 4 x i32>", EXACT | ONCE, 0 },
        { "%x \"x\": <3 x 4 x i32>", "pad(%x, <i32> 7, <2 x i64> [0, -1]) : <2 x 3 x i32>", EXACT | ONCE | MOVES, 0 },
        { "%x \"x\": <3 x 4 x i32>", "pad(%x, none, <2 x i64> [0, 2]) mode=reflect : <3 x 8 x i32>", 0, 0 },
        { "%x \"x\": <3 x 4 x i32>", "pad(%x, none, <2 x i64> [1, 0]) mode=edge : <5 x 4 x i32>", 0, 0 },
        { "%x \"x\": <2 x 3 x i32>, %y \"y\": <2 x 1 x i32>, %z \"z\": <2 x 4 x i32>",
          "concat(%x, %y, %z) axis=1 : <2 x 8 x i32>", EXACT | ONCE, 0 },
        { "%x \"x\": <2 x 5 x 3 x i32>, %t \"t\": <2 x 2 x i64>", "gather(%x, %t) axis=1 : <2 x 2 x 2 x 3 x i32>", 0, 5 },
        { "%x \"x\": <2 x 5 x 3 x i32>, %t \"t\": <i64>", "gather(%x, %t) axis=1 : <2 x 3 x i32>", 0, 5 },
        { "%x \"x\": <3 x 5 x i32>, %t \"t\": <2 x 4 x i64>", "gather_elements(%x, %t) axis=1 : <2 x 4 x i32>", 0, 5 },
        { "%x \"x\": <2 x 3 x 4 x 5 x i32>, %t \"t\": <2 x 6 x 2 x i64>",
          "gather_nd(%x, %t) batch_dims=1 : <2 x 6 x 5 x i32>", 0, 3 },
        { "%x \"x\": <2 x 3 x 4 x i32>, %t \"t\": <2 x 1 x i64>", "gather_nd(%x, %t) batch_dims=1 : <2 x 4 x i32>", 0, 3 },
        { "%x \"x\": <2 x 3 x 4 x i32>, %t \"t\": <1 x i64>", "gather_nd(%x, %t) : <3 x 4 x i32>", 0, 2 },
        { "%x \"x\": <3 x 2 x 4 x i32>, %y \"y\": <4 x 5 x 2 x i32>",
          "dot(%x, %y) batch_a=[1] batch_b=[2] contract_a=[2] contract_b=[0] : <2 x 3 x 5 x i32>", EXACT, 0 },
        { "%x \"x\": <3 x i32>, %y \"y\": <4 x i32>", "dot(%x, %y) : <3 x 4 x i32>", EXACT, 0 },
        { "%x \"x\": <2 x 3 x 6 x 5 x i32>, %w \"w\": <4 x 3 x 3 x 2 x i32>",
          "convolve(%x, %w) strides=[2, 1] dilations=[1, 2] pads=[1, 0, 1, 1] : <2 x 4 x 3 x 4 x i32>", 0, 0 },
        { "%x \"x\": <1 x 2 x 4 x i32>, %w \"w\": <2 x 2 x 1 x i32>",
          "convolve(%x, %w) strides=[2] : <1 x 2 x 2 x i32>", EXACT, 0 },
        { "%x \"x\": <1 x 2 x 4 x i32>, %w \"w\": <2 x 1 x 3 x i32>",
          "convolve(%x, %w) groups=2 input_dilations=[2] pads=[2, 1] : <1 x 2 x 8 x i32>", 0, 0 },
        { "%x \"x\": <2 x 2 x 5 x 6 x 4 x f32>, %w \"w\": <2 x 2 x 3 x 2 x 4 x 1 x 4 x f32>",
          "convolve_packed(%x, %w) strides=[1, 2] channels=8 outputs=8 block=4 : <2 x 2 x 3 x 3 x 4 x f32>", 0, 0 },
        { "%x \"x\": <1 x 2 x 3 x 3 x 4 x f32>, %w \"w\": <2 x 1 x 1 x 1 x 4 x 1 x 4 x f32>",
          "convolve_packed(%x, %w) groups=2 channels=4 outputs=4 block=4 : <1 x 2 x 3 x 3 x 4 x f32>", 0, 0 },
        { "%x \"x\": <2 x 7 x 1 x f32>", "neighbours(%x) count=3 : <2 x 5 x 3 x f32>", 0, 0 },
        { "%w \"w\": <3 x 1 x 1 x 3 x 2 x 8 x f32>, %i \"i\": <2 x 2 x i64>",
          "gather_panels(%w, %i) rows=23 columns=5 group=2 : <2 x 2 x 5 x f32>", 0, 23 },
        { "%x \"x\": <2 x 2 x 5 x 4 x 4 x f32>, %w \"w\": <2 x 3 x 2 x 4 x f32>",
          "convolve_lanes(%x, %w) : <2 x 2 x 3 x 3 x 4 x f32>", EXACT, 0 },
        { "%x \"x\": <2 x 1 x 4 x 6 x 16 x f32>, %w \"w\": <16 x 1 x 16 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) tile=2 rows=2 columns=4 outputs=16 : <2 x 1 x 2 x 4 x 16 x f32>", 0, 0 },
        { "%x \"x\": <2 x 1 x 16 x 16 x f32>, %w \"w\": <5 x 1 x 32 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) tile=3 strides=2 columns=6 outputs=16 : <2 x 1 x 6 x 16 x f32>", 0, 0 },
        { "%x \"x\": <2 x 1 x 3 x 8 x i8>, %w \"w\": <2 x 2 x 2 x 2 x 4 x u8>, %p \"p\": <2 x 1 x 3 x 2 x f32>, "
          "%t \"t\": <2 x 1 x 3 x 2 x i32>, %s \"s\": <2 x 2 x 2 x 4 x f32>, "
          "%z \"z\": <2 x 2 x 2 x 4 x u8>",
          "dot_blocks(%x, %w, %p, %t, %s, %z) outputs=13 : <2 x 1 x 3 x 13 x f32>", 0, 0 },
        { "%x \"x\": <2 x 1 x 3 x 16 x i8>, %w \"w\": <2 x 4 x 1 x 2 x 8 x u8>, %p \"p\": <2 x 1 x 3 x 4 x f32>, "
          "%t \"t\": <2 x 1 x 3 x 4 x i32>, %s \"s\": <2 x 4 x 2 x 4 x u8>, "
          "%z \"z\": <2 x 4 x 2 x 4 x u8>, %o \"o\": <2 x 2 x 2 x 4 x f32>, %m \"m\": <2 x 2 x 2 x 4 x f32>",
          "dot_blocks(%x, %w, %p, %t, %s, %z, %o, %m) outputs=13 : <2 x 1 x 3 x 13 x f32>", 0, 0 },
        { "%x \"x\": <2 x 3 x 4 x i32>", "reduce(%x, <1 x i64> [1]) : <2 x 4 x i32>", EXACT | ONCE, 0 },
        { "%x \"x\": <2 x 3 x 4 x i32>", "reduce(%x, <2 x i64> [0, 2]) : <1 x 3 x 1 x i32>", EXACT | ONCE, 0 },
        { "%x \"x\": <2 x 3 x i32>", "reduce(%x, <2 x i64> [0, 1]) kind=max : <i32>", ONCE, 0 },
        { "%x \"x\": <2 x 2 x i32>, %a \"a\": <1 x i64>", "reduce(%x, %a) : <2 x i32>", UNKNOWN, 2 },
        { "%x \"x\": <2 x 7 x 6 x i32>",
          "reduce_window(%x) kind=sum window=[1, 3, 2] strides=[1, 2, 1] dilations=[1, 1, 2] pads=[0, 1, 0, 0, 1, 2] : <2 x 4 x 6 x i32>",
          EXACT, 0 },
        { "%x \"x\": <6 x i32>", "arg_window(%x) window=[3] strides=[1] pads=[1, 1] : <6 x i64>", 0, 0 },
        { "%x \"x\": <2 x 5 x i32>", "argsort(%x) axis=1 : <2 x 5 x i64>", 0, 0 },
        { "%x \"x\": <2 x 32 x 2 x f32>, %t \"t\": <56 x f32>", "spectrum(%x, %t) axes=[1] : <2 x 32 x 2 x f32>", 0, 0 },
        { "%x \"x\": <5 x i32>, %t \"t\": <2 x 1 x i64>, %u \"u\": <2 x i32>", "scatter(%x, %t, %u) : <5 x i32>", 0, 5 },
};

/* ---- what a relation says ---- */

/* does the element at i need the one at `at` of the operand? */
static bool needs(const struct relation *r, const struct type *y, int64_t i, const struct type *x,
                  int64_t at)
{
        int64_t index[RANK_MAX], wanted[RANK_MAX];
        if (r->in_order)
                return i == at;
        index_of(y, i, index);
        index_of(x, at, wanted);
        for (int k = 0; k < x->rank; k++) {
                const struct along *a = &r->along[k];
                bool found = a->kind != ALONG_FIRST || wanted[k] == 0;
                for (int64_t w = 0; a->kind == ALONG_AFFINE && w <= a->window; w++) {
                        found = w < a->window &&
                                index[a->from] * a->scale + a->low + w * a->dilation == wanted[k] * a->spread;
                        if (found)
                                break;
                }
                if (!found)
                        return false;
        }
        return true;
}

/* the first element of the same index as element i in all that the relation depends on */
static int64_t alike(const struct op *op, unsigned depends, int64_t i)
{
        const struct type *y = op_result(op)->type;
        int64_t index[RANK_MAX];
        index_of(y, i, index);
        for (int d = 0; d < y->rank; d++)
                index[d] = depends >> d & 1 ? index[d] : 0;
        return position_of(y, index);
}

static void check_depends(const struct op *op, int operand, const struct relation *r)
{
        const struct type *x = op_operand(op, operand)->type, *y = op_result(op)->type;
        unsigned depends = relation_depends(op, operand);
        for (int64_t i = 0; i < type_elements(y); i++)
                for (int64_t at = 0; at < type_elements(x); at++)
                        assert_int_equal(needs(r, y, i, x, at),
                                         needs(r, y, alike(op, depends, i), x, at));
}

/* ---- what the operation does ---- */

struct run { struct fixture x; const struct sample *sample; struct array inputs[OPERAND_ROW_MAX]; struct loop_program *p; };

static int64_t pick(const struct sample *s, int operand)
{
        return operand == 1 && s->indices ? random_between(0, s->indices - 1) : random_between(1, 40);
}

static void change(struct run *run, int operand, int64_t at)
{
        struct array a = run->inputs[operand];
        double before = number(a, at);
        for (int i = 0; i < 100 && number(a, at) == before; i++)
                put(a, at, a.type->element == E_BOOL ? before == 0 : pick(run->sample, operand));
}

/* Which results change with element `at` of an operand? Their number. */
static int changed(struct run *run, int operand, int64_t at, bool *which)
{
        struct array before, after;
        int count = 0;
        assert_int_equal(run_program(&run->x, run->p, &before), 0);
        change(run, operand, at);
        assert_int_equal(run_program(&run->x, run->p, &after), 0);
        for (int64_t i = 0; i < type_elements(before.type); i++)
                count += which[i] = !same_element(before, after, i, true);
        return count;
}

static void fill(struct run *run)
{
        for (int i = 0; i < run->x.input_count; i++)
                for (int64_t at = 0; at < type_elements(run->inputs[i].type); at++)
                        put(run->inputs[i], at, pick(run->sample, i));
}

static void check_operand(struct run *run, const struct op *op, int operand)
{
        static bool which[OUTPUTS_MAX];
        struct relation r;
        const struct sample *s = run->sample;
        const struct type *x = op_operand(op, operand)->type, *y = op_result(op)->type;
        bool index = operand == 1 && s->indices, once = relation_reads_once(op, operand);
        bool moves = op_info[op->code].traits & TRAIT_FREE && !operand;
        unsigned depends = relation_depends(op, operand);
        assert_true(type_elements(y) <= OUTPUTS_MAX);
        assert_true(relation_of(op, operand, &r));
        check_depends(op, operand, &r);
        for (int trial = 0; trial < TRIALS; trial++) {
                bool every = type_elements(x) <= TRIALS;
                int64_t at = every ? trial % type_elements(x) : random_between(0, type_elements(x) - 1);
                if (trial % type_elements(x) == 0)
                        fill(run);
                int count = changed(run, operand, at, which);
                if (once)
                        assert_true(count <= 1);
                for (int64_t i = 0; i < type_elements(y); i++) {
                        bool needed = needs(&r, y, i, x, at);
                        if (moves)
                                assert_int_equal(which[i], which[alike(op, depends, i)]);
                        if (which[i] > needed || (s->flags & EXACT && !index && which[i] != needed))
                                fail_msg("%s: element %lld of operand %d, result %lld", s->op, (long long)at, operand,
                                         (long long)i);
                }
        }
}

static void check_sample(const struct sample *s)
{
        struct run run = { .sample = s };
        struct diag diag = { 0 };
        struct relation r;
        char text[1024];
        snprintf(text, sizeof text, "dnn 3\nmodule \"m\"\nfunc @main(%s) -> (\"out\") {\n  %%0 = %s\n  yield(%%0)\n}\n",
                 s->arguments, s->op);
        run.x.m = tensor_parse(text, strlen(text), NULL, NULL, &diag);
        assert_non_null(run.x.m);
        run.x.f = run.x.m->functions;
        const struct op *op = run.x.f->body.first;
        for (int i = 0; i < run.x.f->body.argument_count; i++) {
                run.inputs[i] = array_new(&run.x, run.x.f->body.arguments[i].type);
                run.x.inputs[run.x.input_count++] = run.inputs[i].data;
        }
        if (s->flags & UNKNOWN) {
                assert_false(relation_of(op, 0, &r));
        } else {
                run.p = lower(&run.x, false, false);
                for (int i = 0; i < op->operand_count; i++)
                        if (op_operand(op, i) && op_operand(op, i)->kind == VALUE_ARGUMENT)
                                check_operand(&run, op, i);
                if (!!(s->flags & ONCE) != relation_reads_once(op, 0) || !!(s->flags & MOVES) != relation_moves(op, &r))
                        fail_msg("%s: reads once %d, moves %d", s->op, relation_reads_once(op, 0), relation_moves(op, &r));
        }
        module_free(run.x.m);
}

static void test_relations(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(samples); i++)
                check_sample(&samples[i]);
}

/* ---- halos ---- */

static void check_surrounds(const char *pad, bool wanted, const int64_t *lows)
{
        struct diag diag = { .silent = true };
        int64_t got[RANK_MAX];
        char text[512];
        snprintf(text, sizeof text,
                 "dnn 3\nmodule \"m\"\nfunc @main(%%x \"x\": <3 x 4 x f32>, %%n \"n\": <2 x i64>) -> (\"out\") {\n"
                 "  %%0 = %s\n  yield(%%0)\n}\n", pad);
        struct module *m = tensor_parse(text, strlen(text), NULL, NULL, &diag);
        assert_non_null(m);
        bool zeros = wanted && strstr(pad, "<f32> 0.0");
        assert_int_equal(relation_surrounds(m->functions->body.first, got), wanted);
        assert_int_equal(relation_surrounds_zeros(m->functions->body.first, got), zeros);
        for (int d = 0; d < 2 && wanted; d++)
                assert_int_equal(got[d], lows[d]);
        module_free(m);
}

static void test_surrounds(void **state)
{
        (void)state;
        check_surrounds("pad(%x, <f32> 0.0, <2 x i64> [1, 2]) : <5 x 8 x f32>", true, INTS(1, 2));
        check_surrounds("pad(%x, <f32> 3.5, <2 x i64> [0, 0]) : <3 x 5 x f32>", true, INTS(0, 0));
        check_surrounds("pad(%x, <f32> 0.0, <2 x i64> [1, 2]) : <5 x 5 x f32>", false, NULL);       /* the last ones are lost */
        check_surrounds("pad(%x, <f32> 0.0, <2 x i64> [-1, 2]) : <5 x 8 x f32>", false, NULL);
        check_surrounds("pad(%x, none, <2 x i64> [1, 2]) mode=edge : <5 x 8 x f32>", false, NULL);
        check_surrounds("pad(%x, <f32> 0.0, %n) : <5 x 8 x f32>", false, NULL);
        check_surrounds("neg(%x) : <3 x 4 x f32>", false, NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_relations),
                cmocka_unit_test(test_surrounds),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
