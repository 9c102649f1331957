/* SPDX-License-Identifier: MIT */
/* For the tests of the lowering: build a function, run it in the interpreter in several forms,
 * compare with arrays that the test computed on its own.
 *
 *   apart      one kernel per operation, no views
 *   views      the same with views, planned with buffers shared in place
 *   fused      all operations in one fusion
 *
 * Every program is verified first; the interpreter reports any subscript outside its buffer. */
#ifndef TEST_LOWER_HARNESS_H
#define TEST_LOWER_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/interp/interp.h"
#include "ir/lower/lower.h"
#include "passes/pass.h"

/* tables of extents leave out the braces of each dim_t */
#pragma GCC diagnostic ignored "-Wmissing-braces"

enum { INPUTS_MAX = 16, FAILED_INDEX = -3, FAILED_EXTENT = -4 };

struct fixture {
        struct module *m;
        struct function *f;
        struct builder b;
        struct diag diag;
        const void *inputs[INPUTS_MAX];
        int input_count;
        bool keep_apart;                /* do not run the fused form */
};

struct array { const struct type *type; unsigned char *data; };

int pass_plan(struct loop_program *p, struct pass_context *context);

static inline const struct loop_library *library(void)
{
        static struct loop_library *shared;
        static struct diag diag;
        if (!shared)
                shared = loop_library_new(arena_new(), &diag);
        assert_non_null(shared);
        return shared;
}

static inline struct fixture *fixture_new(void)
{
        struct fixture *x = calloc(1, sizeof *x);
        x->m = module_new("test");
        x->f = function_new(x->m, "main");
        x->b = (struct builder){ .m = x->m, .region = &x->f->body, .diag = &x->diag };
        return x;
}

static inline void fixture_free(struct fixture *x)
{
        module_free(x->m);
        free(x);
}

#define DIMS(...) (int)(sizeof((dim_t[]){ __VA_ARGS__ }) / sizeof(dim_t)), (dim_t[]){ __VA_ARGS__ }
#define TYPE(x, e, ...) type_tensor((x)->m, e, DIMS(__VA_ARGS__))
#define SCALAR(x, e) type_tensor((x)->m, e, 0, NULL)
#define INTS(...) (int64_t[]){ __VA_ARGS__ }

/* ---- arrays ---- */

static inline struct array array_new(struct fixture *x, const struct type *type)
{
        return (struct array){ type, arena_alloc(x->m->arena, (size_t)type_bytes(type) + 1) };
}

static inline uint64_t random_bits(void)
{
        static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
        state ^= state << 13;
        state ^= state >> 7;
        return state ^= state << 17;
}

static inline int64_t random_between(int64_t low, int64_t high)
{
        return low + (int64_t)(random_bits() % (uint64_t)(high - low + 1));
}

static inline union scalar scalar_of(enum element e, int64_t number)
{
        if (element_is_float(e))
                return (union scalar){ .f = (double)number };
        return e == E_BOOL ? (union scalar){ .u = number != 0 } : (union scalar){ .i = number };
}

static inline void put(struct array a, int64_t at, int64_t number)
{
        element_store(a.type->element, a.data, (size_t)at, scalar_of(a.type->element, number));
}

static inline union scalar get(struct array a, int64_t at)
{
        return element_load(a.type->element, a.data, (size_t)at);
}

/* any element as a number; all that the tests use fit */
static inline double number(struct array a, int64_t at)
{
        union scalar s = get(a, at);
        enum element_class class = element_info[a.type->element].class;
        return class == CLASS_FLOAT ? s.f : class == CLASS_SINT ? (double)s.i : (double)s.u;
}

/* whole numbers from low to high (unsigned types: from 0), so that sums of products are exact in
 * every type */
static inline struct array array_random(struct fixture *x, const struct type *type, int64_t low,
                                        int64_t high)
{
        struct array a = array_new(x, type);
        enum element_class class = element_info[type->element].class;
        for (int64_t i = 0; i < type_elements(type); i++)
                put(a, i,
                    random_between(class == CLASS_UINT || class == CLASS_BOOL ? 0 : low, high));
        return a;
}

static inline struct array array_ints(struct fixture *x, const int64_t *ints, int count)
{
        struct array a = array_new(x, TYPE(x, E_I64, count));
        memcpy(a.data, ints, (size_t)count * sizeof *ints);
        return a;
}

static inline struct value *input(struct fixture *x, struct array a)
{
        char name[16];
        snprintf(name, sizeof name, "in%d", x->input_count);
        x->inputs[x->input_count++] = a.data;
        return function_add_input(x->f, name, a.type);
}

static inline struct value *operand(struct fixture *x, struct array a, bool constant)
{
        return constant ? constant_dense(x->m, a.type, a.data, NULL) : input(x, a);
}

/* position -> index, and back, in the dimensions of a type */
static inline void index_of(const struct type *t, int64_t position, int64_t *index)
{
        for (int d = t->rank - 1; d >= 0; d--) {
                index[d] = position % type_extent(t, d);
                position /= type_extent(t, d);
        }
}

static inline int64_t position_of(const struct type *t, const int64_t *index)
{
        int64_t position = 0;
        for (int d = 0; d < t->rank; d++)
                position = position * type_extent(t, d) + index[d];
        return position;
}

static inline void copy_element(struct array to, int64_t i, struct array from, int64_t k)
{
        size_t bytes = (size_t)element_info[to.type->element].bytes;
        memcpy(to.data + (size_t)i * bytes, from.data + (size_t)k * bytes, bytes);
}

/* ---- running ---- */

static inline void show_program(const struct loop_program *p)
{
        struct text text = { 0 };
        struct tensor_print options = { .elide = true };
        loop_print(&text, p, &options);
        fputs(text.data, stderr);
        text_free(&text);
}

static inline struct loop_program *lower(struct fixture *x, bool views, bool unchecked)
{
        struct lower_options options = { .views = views, .unchecked = unchecked };
        struct loop_program *p = lower_module(x->m, x->f, library(), &options, &x->diag);
        assert_non_null(p);
        if (views) {
                static const struct target target = { .name = "test", .workspace_align = 16 };
                struct pass_context context = { .diag = &x->diag,
                                                .target = &target,
                                                .limits = limits_preset,
                                                .lower = options };
                assert_true(pass_plan(p, &context) >= 0);
        }
        if (!loop_verify(p, &x->diag)) {
                show_program(p);
                fail();
        }
        return p;
}

/* outputs are allocated; returns what interp_run says */
static inline int run_program(struct fixture *x, struct loop_program *p, struct array *outputs)
{
        void *data[INPUTS_MAX];
        const struct op *yield = x->f->body.last;
        for (int i = 0; i < yield->operand_count; i++) {
                outputs[i] = array_new(x, op_operand(yield, i)->type);
                memset(outputs[i].data, 0xa5, (size_t)type_bytes(outputs[i].type));
                data[i] = outputs[i].data;
        }
        struct interp *interp = interp_new(p, false, 0, &x->diag);
        assert_non_null(interp);
        int code = interp_run(interp, x->inputs, data, 0, NULL);
        interp_free(interp);
        return code;
}

/* the same bits; of what a test computed (exact false) also zero of the other sign, and any NaN */
static inline bool same_element(struct array a, struct array b, int64_t i, bool exact)
{
        size_t bytes = (size_t)element_info[a.type->element].bytes;
        union scalar p = get(a, i), q = get(b, i);
        if (!memcmp(a.data + (size_t)i * bytes, b.data + (size_t)i * bytes, bytes))
                return true;
        return !exact && element_is_float(a.type->element) &&
               (p.f == q.f || (p.f != p.f && q.f != q.f));
}

static inline void compare(const struct loop_program *p, struct array got, struct array want,
                           bool exact, const char *form)
{
        assert_ptr_equal(got.type, want.type);
        for (int64_t i = 0; i < type_elements(want.type); i++) {
                if (same_element(got, want, i, exact))
                        continue;
                show_program(p);
                fprintf(stderr, "%s: element %lld is %g, want %g\n", form, (long long)i,
                        number(got, i), number(want, i));
                fail();
        }
}

/* All operations of the function into one fusion. */
static inline void fuse_all(struct fixture *x)
{
        struct op *yield = x->f->body.last;
        int count = yield->operand_count;
        const struct type *types[INPUTS_MAX];
        struct value *values[INPUTS_MAX];
        for (int i = 0; i < count; i++) {
                values[i] = op_operand(yield, i);
                types[i] = values[i]->type;
        }
        struct op *first = x->f->body.first;
        struct builder before = {
                .m = x->m, .region = &x->f->body, .before = yield, .diag = &x->diag
        };
        struct op *fusion = op_build_results(&before, OP_fusion, NULL, 0, NULL, types, count, 1);
        assert_non_null(fusion);
        struct builder inside = { .m = x->m, .region = op_add_region(fusion, 0), .diag = &x->diag };
        struct op *inner = build_yield(&inside, values, count);
        for (struct op *op = first, *next; op != fusion; op = next) {
                next = op->next;
                op_move_before(op, inner);
        }
        for (int i = 0; i < count; i++)
                op_set_operand(yield, i, &fusion->results[i]);
        assert_true(tensor_verify(x->m, &x->diag));
}

static inline void yield_all(struct fixture *x, struct value *const *values, int count)
{
        static struct port ports[INPUTS_MAX];
        for (int i = 0; i < count; i++) {
                assert_non_null(values[i]);
                ports[i].name = "out";
        }
        build_yield(&x->b, values, count);
        x->f->output_count = count;
        x->f->output_ports = ports;
        assert_true(tensor_verify(x->m, &x->diag));
}

/* The function's values in every form are the wanted arrays. */
static inline void check_all(struct fixture *x, struct value *const *values,
                             const struct array *want, int count)
{
        static const char *const forms[] = { "apart", "views", "fused" };
        struct array got[INPUTS_MAX];
        yield_all(x, values, count);
        bool fusible = x->f->body.first != x->f->body.last && !x->keep_apart;
        for (int form = 0; form < (fusible ? 3 : 2); form++) {
                if (form == 2)
                        fuse_all(x);
                struct loop_program *p = lower(x, form == 1, false);
                int code = run_program(x, p, got);
                if (code)
                        show_program(p);
                assert_int_equal(code, 0);
                for (int i = 0; i < count; i++)
                        compare(p, got[i], want[i], false, forms[form]);
        }
        fixture_free(x);
}

static inline void check(struct fixture *x, struct value *value, struct array want)
{
        check_all(x, &value, &want, 1);
}

static inline void check_fails(struct fixture *x, struct value *value, int code)
{
        struct array got;
        yield_all(x, &value, 1);
        assert_int_equal(run_program(x, lower(x, false, false), &got), code);
        lower(x, false, true);          /* unchecked: still a sound program */
        fixture_free(x);
}

/* All forms give the same bits, whichever. */
static inline void check_forms_agree(struct fixture *x, struct value *const *values, int count)
{
        struct array apart[INPUTS_MAX], other[INPUTS_MAX];
        yield_all(x, values, count);
        assert_int_equal(run_program(x, lower(x, false, false), apart), 0);
        for (int form = 1; form < 3; form++) {
                if (form == 2)
                        fuse_all(x);
                struct loop_program *p = lower(x, form == 1, false);
                assert_int_equal(run_program(x, p, other), 0);
                for (int i = 0; i < count; i++)
                        compare(p, other[i], apart[i], true, form == 1 ? "views" : "fused");
        }
        fixture_free(x);
}

static inline struct attr *attrs(struct fixture *x, enum opcode code)
{
        return attrs_new(x->m, code);
}

static inline struct value *apply(struct fixture *x, enum opcode code, struct attr *a,
                                  const struct type *type, int count, struct value *p,
                                  struct value *q, struct value *r)
{
        struct value *operands[] = { p, q, r };
        struct value *y = value_build(&x->b, code, operands, count, a, type);
        assert_non_null(y);
        return y;
}

static const enum element number_types[] = { E_F32, E_F64, E_F16, E_BF16, E_I8,  E_I16,
                                             E_I32, E_I64, E_U8,  E_U16,  E_U32, E_U64 };
static const enum element all_types[] = { E_F32, E_F64, E_F16, E_BF16, E_I8,  E_I16, E_I32,
                                          E_I64, E_U8,  E_U16, E_U32,  E_U64, E_BOOL };
#define COUNT(list) (sizeof(list) / sizeof *(list))

#endif
