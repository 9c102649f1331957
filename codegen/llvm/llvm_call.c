/* SPDX-License-Identifier: MIT */
/* Calls of library functions: as an intrinsic that computes the same (llvm_calls.def), in place, or
 * of a function of the module. On vectors a function is what vectorize made of it for the target
 * (passes/vectorize/legalize.h), or itself with vectors for its scalars, or called lane by lane. */
#include <string.h>

#include "codegen/llvm/llvm_writer.h"
#include "ir/loop/capability.h"
#include "passes/vectorize/legalize.h"

enum {
        ARGUMENTS_MAX = 3,
        PLACE_MOST = 64                 /* Of so many operations a function is printed where it is
                                         * called. */
};

/* ---- intrinsics ---- */

enum dot_form {
        NO_DOT, SUM_X_W, SUM_W_X, X_W_SUM, ADDED, SHORT_X_W, SHORT_W_X,
        BYTES_X_W, BYTES_W_X, BF16_X_W, F16_X_W, SPREAD, TWICE, ACROSS
};
struct known_call {
        const char *function;
        int lanes;
        enum dot_form form;
        const char *intrinsic, *processors;
};
static const struct known_call known_calls[] = {
#define LLVM_CALL(function, intrinsic, processors) { function, 0, NO_DOT, intrinsic, processors },
#define LLVM_DOT(function, lanes, form, intrinsic) { function, lanes, form, intrinsic, NULL },
#include "codegen/llvm/llvm_calls.def"
};

/* Has the target a row for f on so many lanes? */
static bool has_row(const struct llvm_writer *w, struct loop_function *f, int lanes)
{
        struct loop_expr values[ARGUMENTS_MAX] = { 0 },
                         call = { .op = LOOP_CALL, .arity = f->scalar_count, .function = f };
        call.type = LOOP_VECTOR(f->result.element, lanes);
        for (int i = 0; i < f->scalar_count; i++) {
                values[i].op = LOOP_VARIABLE;
                values[i].type = LOOP_VECTOR(f->scalars[i]->type.element, lanes);
                values[i].variable = f->scalars[i];
                call.args[i] = &values[i];
        }
        return capability_of(w->target, &call);
}

/* Is the intrinsic an instruction of the processor? */
static bool is_of_processor(const struct llvm_writer *w, const struct known_call *k)
{
        return k->processors ? !*k->processors || strstr(k->processors, w->intrinsics)
                             : !strncmp(k->intrinsic, w->intrinsics, strlen(w->intrinsics));
}

static const struct known_call *known_call(const struct llvm_writer *w, struct loop_function *f,
                                           int lanes)
{
        if (f->result.lanes != 1)
                return NULL;
        for (size_t i = 0; i < sizeof known_calls / sizeof *known_calls; i++) {
                const struct known_call *k = &known_calls[i];
                if (!strcmp(k->function, f->name) && (!k->lanes || k->lanes == lanes) &&
                    is_of_processor(w, k) && has_row(w, f, lanes))
                        return k;
        }
        return NULL;
}

static LLVMValueRef as_bits(struct llvm_writer *w, LLVMValueRef a, int bits, int lanes)
{
        return llvm.BuildBitCast(w->at, a, llvm_integer_type(w, bits, lanes), "");
}

/* Two products are added in 16 bits, and two of these sums to one of 32. */
static LLVMValueRef short_dot(struct llvm_writer *w, const struct known_call *k, LLVMValueRef sum,
                              LLVMValueRef a, LLVMValueRef b)
{
        const int lanes = k->lanes;
        LLVMValueRef bytes[] = { as_bits(w, a, 8, 4 * lanes), as_bits(w, b, 8, 4 * lanes) };
        LLVMValueRef pairs = llvm_intrinsic(w, k->intrinsic, NULL, 0, bytes, 2),
                     one = llvm.ConstInt(llvm_integer_type(w, 16, 1), 1, 0);
        LLVMValueRef halves[] = { pairs, llvm_splat(w, one, 2 * lanes) };
        const char *join = lanes == 16 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd";
        return llvm.BuildAdd(w->at, sum, llvm_intrinsic(w, join, NULL, 0, halves, 2), "");
}

/* Calls an intrinsic that is overloaded for vectors of the element, as which a and b are taken. */
static LLVMValueRef dot_of(struct llvm_writer *w, const struct known_call *k, LLVMTypeRef element,
                           int lanes, LLVMValueRef sum, LLVMValueRef a, LLVMValueRef b)
{
        LLVMTypeRef type = llvm.VectorType(element, (unsigned)lanes),
                    types[] = { llvm.TypeOf(sum), type };
        LLVMValueRef args[] = { sum, llvm.BuildBitCast(w->at, a, type, ""),
                                llvm.BuildBitCast(w->at, b, type, "") };
        return llvm_intrinsic(w, k->intrinsic, types, 2, args, 3);
}

/* Returns it in a vector of twice as many lanes; what the others hold does not matter. */
static LLVMValueRef doubled(struct llvm_writer *w, LLVMValueRef a, int lanes)
{
        int numbers[LANES_MAX];
        for (int l = 0; l < 2 * lanes; l++)
                numbers[l] = l;
        return llvm_shuffle(w, a, NULL, numbers, 2 * lanes);
}

static LLVMValueRef lower(struct llvm_writer *w, LLVMValueRef word)
{
        return llvm.BuildTrunc(w->at, word, llvm_integer_type(w, 32, 1), "");
}
static LLVMValueRef upper(struct llvm_writer *w, LLVMValueRef word)
{
        LLVMValueRef by = llvm.ConstInt(llvm_integer_type(w, 64, 1), 32, 0);
        return lower(w, llvm.BuildLShr(w->at, word, by, ""));
}

static LLVMValueRef spread(struct llvm_writer *w, const struct known_call *k, LLVMValueRef word)
{
        LLVMTypeRef i32 = llvm_integer_type(w, 32, 1), i64 = llvm_integer_type(w, 64, 1);
        LLVMValueRef turn[] = { word, word, llvm.ConstInt(i32, 8, 0) },
                     turned = llvm_intrinsic(w, "llvm.fshr", &i32, 1, turn, 3),
                     even = llvm_intrinsic(w, k->intrinsic, NULL, 0, &word, 1),
                     odd = llvm_intrinsic(w, k->intrinsic, NULL, 0, &turned, 1);
        LLVMValueRef high = llvm.BuildShl(w->at, llvm.BuildZExt(w->at, odd, i64, ""),
                                          llvm.ConstInt(i64, 32, 0), "");
        return llvm.BuildOr(w->at, high, llvm.BuildZExt(w->at, even, i64, ""), "");
}

static LLVMValueRef twice(struct llvm_writer *w, const struct known_call *k, LLVMValueRef *args)
{
        LLVMValueRef first[] = { lower(w, args[1]), lower(w, args[2]), args[0] };
        LLVMValueRef second[] = { upper(w, args[1]), upper(w, args[2]),
                                  llvm_intrinsic(w, k->intrinsic, NULL, 0, first, 3) };
        return llvm_intrinsic(w, k->intrinsic, NULL, 0, second, 3);
}

static LLVMValueRef across(struct llvm_writer *w, const struct known_call *k, LLVMValueRef *args)
{
        LLVMTypeRef type = llvm.TypeOf(args[1]);
        LLVMValueRef no = llvm.ConstInt(llvm_integer_type(w, 32, 1), 0, 0),
                     all[] = { no, no, no, args[0], args[1], args[2] };
        return llvm_intrinsic(w, k->intrinsic, &type, 1, all, 6);
}

static LLVMValueRef dot(struct llvm_writer *w, const struct known_call *k, LLVMValueRef *args)
{
        LLVMValueRef sum = args[0], x = args[1], y = args[2];
        LLVMContextRef context = w->context;
        switch (k->form) {
        case SUM_W_X:
                return llvm_intrinsic(w, k->intrinsic, NULL, 0, (LLVMValueRef[]){ sum, y, x }, 3);
        case X_W_SUM:
                return llvm_intrinsic(w, k->intrinsic, NULL, 0, (LLVMValueRef[]){ x, y, sum }, 3);
        case ADDED: {
                LLVMValueRef halves[] = { as_bits(w, x, 16, 2 * k->lanes),
                                          as_bits(w, y, 16, 2 * k->lanes) };
                return llvm.BuildAdd(w->at, sum,
                                     llvm_intrinsic(w, k->intrinsic, NULL, 0, halves, 2), "");
        }
        case SHORT_X_W: return short_dot(w, k, sum, x, y);
        case SHORT_W_X: return short_dot(w, k, sum, y, x);
        case BYTES_X_W:
                return dot_of(w, k, llvm.Int8TypeInContext(context), 4 * k->lanes, sum, x, y);
        case BYTES_W_X:
                return dot_of(w, k, llvm.Int8TypeInContext(context), 4 * k->lanes, sum, y, x);
        case BF16_X_W:
                return dot_of(w, k, llvm.BFloatTypeInContext(context), 2 * k->lanes, sum, x, y);
        case F16_X_W:
                return dot_of(w, k, llvm.HalfTypeInContext(context), 2 * k->lanes, sum,
                              doubled(w, x, k->lanes), doubled(w, y, k->lanes));
        case SPREAD: return spread(w, k, sum);
        case TWICE: return twice(w, k, args);
        case ACROSS: return across(w, k, args);
        default: return llvm_intrinsic(w, k->intrinsic, NULL, 0, (LLVMValueRef[]){ sum, x, y }, 3);
        }
}

/* ---- functions in place ---- */

struct census {
        int operations;
        bool straight, scalar;
};

static void count_statement(struct loop_stmt *s, void *context)
{
        struct census *c = context;
        c->straight &= s->kind == STMT_LET || s->kind == STMT_RETURN;
        c->scalar &= !s->variable || s->variable->type.lanes == 1;
}

static void count_expression(struct loop_expr *e, void *context)
{
        struct census *c = context;
        c->operations++;
        c->scalar &= e->type.lanes == 1;
}

static struct census census_of(const struct loop_function *f)
{
        struct census c = { .straight = true, .scalar = true };
        for (int i = 0; i < f->scalar_count; i++)
                c.scalar &= f->scalars[i]->type.lanes == 1;
        loop_block_walk(f->body, count_statement, count_expression, &c);
        return c;
}

static LLVMValueRef print_in_place(struct llvm_writer *w, struct loop_function *f, int strip,
                                   LLVMValueRef *args)
{
        const struct llvm_writer outer = *w;
        w->in_place = true;
        w->returned = NULL;
        w->strip = strip;
        for (int i = 0; i < f->scalar_count; i++)
                llvm_declare(w, f->scalars[i], args[i]);
        llvm_block(w, f->body);
        LLVMValueRef result = w->returned;
        w->in_place = outer.in_place;
        w->returned = outer.returned;
        w->strip = outer.strip;
        if (!result)
                llvm_fail(w, EXIT_INTERNAL, "function %s returns nothing", f->name);
        return result ? result : args[0];
}

static LLVMValueRef call_function(struct llvm_writer *w, struct loop_function *f,
                                  LLVMValueRef *args)
{
        const struct llvm_function *known = llvm_function(w, f);
        return llvm.BuildCall2(w->at, known->type, known->value, args, (unsigned)f->scalar_count,
                               "");
}

static LLVMValueRef call_scalar(struct llvm_writer *w, struct loop_function *f, LLVMValueRef *args)
{
        const struct census c = census_of(f);
        return c.straight && c.operations <= PLACE_MOST ? print_in_place(w, f, 0, args)
                       : call_function(w, f, args);
}

static LLVMValueRef call_each_lane(struct llvm_writer *w, struct loop_function *f,
                                   LLVMValueRef *args, int lanes)
{
        LLVMValueRef result = llvm.GetUndef(llvm_vector_of(w, f->result.element, lanes));
        for (int l = 0; l < lanes; l++) {
                LLVMValueRef one[ARGUMENTS_MAX],
                        lane = llvm.ConstInt(llvm.Int32TypeInContext(w->context), (uint64_t)l, 0);
                for (int i = 0; i < f->scalar_count; i++)
                        one[i] = llvm.BuildExtractElement(w->at, args[i], lane, "");
                result = llvm.BuildInsertElement(w->at, result, call_function(w, f, one), lane, "");
        }
        return result;
}

/* Returns f on vectors, as vectorize makes it for the target; NULL: it cannot. */
static struct loop_function *vectored(struct llvm_writer *w, struct loop_function *f, int lanes)
{
        struct {
                const struct loop_function *f;
                int64_t lanes;
        } key = { f, lanes };
        struct loop_function **known = map_get(w->functions, (const char *)&key, sizeof key);
        if (!known) {
                known = arena_alloc(w->arena, sizeof *known);
                *known = legalize_vectored(w->arena, w->target, f, lanes);
                map_set(w->functions, (const char *)&key, sizeof key, known);
        }
        return *known;
}

static LLVMValueRef call_vector(struct llvm_writer *w, struct loop_function *f, LLVMValueRef *args,
                                int lanes)
{
        struct loop_function *vector = vectored(w, f, lanes);
        if (vector)
                return print_in_place(w, vector, 0, args);
        const struct census c = census_of(f);
        if (!c.scalar)
                llvm_fail(w, EXIT_UNSUPPORTED, "LLVM's printer has no %s on vectors of %d lanes",
                          f->name, lanes);
        return c.straight ? print_in_place(w, f, lanes, args) : call_each_lane(w, f, args, lanes);
}

/* lanes: how many the arguments have for one of the function's. */
static LLVMValueRef call_any(struct llvm_writer *w, struct loop_function *f, LLVMValueRef *args,
                             int lanes)
{
        const struct known_call *k = known_call(w, f, lanes);
        if (k && k->form)
                return dot(w, k, args);
        if (k) {
                LLVMTypeRef type = llvm.TypeOf(args[0]);
                return llvm_intrinsic(w, k->intrinsic, &type, 1, args, f->scalar_count);
        }
        return lanes == 1 ? call_scalar(w, f, args) : call_vector(w, f, args, lanes);
}

LLVMValueRef llvm_call(struct llvm_writer *w, const struct loop_expr *e)
{
        LLVMValueRef args[ARGUMENTS_MAX] = { 0 };
        for (int i = 0; i < e->arity; i++)
                args[i] = llvm_expression(w, e->args[i]);
        int lanes = e->arity ? loop_call_lanes(e->function, e->args[0]) : 1;
        return call_any(w, e->function, args, lanes == 1 && w->strip ? w->strip : lanes);
}

LLVMValueRef llvm_call_library(struct llvm_writer *w, const char *name, enum element e, int lanes,
                               LLVMValueRef *args, int count)
{
        struct loop_function *f = w->p->library ? loop_library_find(w->p->library, name, e) : NULL;
        if (!f || f->scalar_count != count) {
                llvm_fail(w, EXIT_INTERNAL, "the library has no %s of %s", name,
                          element_info[e].text);
                return args[0];
        }
        return call_any(w, f, args, lanes);
}
