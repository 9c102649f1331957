/* SPDX-License-Identifier: MIT */
/* Arithmetic, on scalars and on vectors alike. What LLVM leaves undefined, Loop IR does not: a
 * division by zero gives 0, a shift by the width or more gives 0, the least integer divided by -1
 * is itself, and smaller and larger of two are NaN if either is. */
#include "codegen/llvm/llvm_writer.h"

static bool is_real(enum element e) { return e == E_F32 || e == E_F64; }
static bool is_signed(enum element e) { return element_info[e].class == CLASS_SINT; }

/* ---- comparisons ---- */

static LLVMValueRef compare(struct llvm_writer *w, enum loop_opcode op, enum element e,
                            LLVMValueRef a, LLVMValueRef b)
{
        static const LLVMRealPredicate reals[] = { LLVMRealOLT, LLVMRealOLE, LLVMRealOGT,
                                                   LLVMRealOGE, LLVMRealOEQ, LLVMRealUNE };
        static const LLVMIntPredicate with_sign[] = { LLVMIntSLT, LLVMIntSLE, LLVMIntSGT,
                                                      LLVMIntSGE, LLVMIntEQ,  LLVMIntNE };
        static const LLVMIntPredicate without[] = { LLVMIntULT, LLVMIntULE, LLVMIntUGT,
                                                    LLVMIntUGE, LLVMIntEQ,  LLVMIntNE };
        if (is_real(e))
                return llvm.BuildFCmp(w->at, reals[op - LOOP_LT], a, b, "");
        return llvm.BuildICmp(w->at, (is_signed(e) ? with_sign : without)[op - LOOP_LT], a, b, "");
}

/* ---- smaller and larger: of equal ones (0.0 and -0.0) the first ---- */

static LLVMValueRef extreme(struct llvm_writer *w, enum loop_opcode op, enum element e,
                            LLVMValueRef a, LLVMValueRef b)
{
        const bool ordered = op == LOOP_MIN_ORDERED || op == LOOP_MAX_ORDERED;
        const enum loop_opcode less = op == LOOP_MIN || op == LOOP_MIN_ORDERED ? LOOP_LT : LOOP_GT;
        if (ordered)
                return llvm.BuildSelect(w->at, compare(w, less, e, a, b), a, b, "");
        LLVMValueRef chosen = llvm.BuildSelect(w->at, compare(w, less, e, b, a), b, a, "");
        if (!is_real(e))
                return chosen;
        LLVMValueRef nan = llvm.BuildFCmp(w->at, LLVMRealUNO, b, b, "");
        return llvm.BuildSelect(w->at, nan, b, chosen, "");
}

/* ---- division and shifts ---- */

static LLVMValueRef divide(struct llvm_writer *w, enum loop_opcode op, enum element e, int lanes,
                           LLVMValueRef a, LLVMValueRef b)
{
        LLVMValueRef none = llvm_integer(w, e, lanes, 0), one = llvm_integer(w, e, lanes, 1);
        LLVMValueRef zero = llvm.BuildICmp(w->at, LLVMIntEQ, b, none, "");
        if (!is_signed(e)) {
                LLVMValueRef by = llvm.BuildSelect(w->at, zero, one, b, "");
                if (op == LOOP_REM)     /* The remainder of a division by 1 is 0. */
                        return llvm.BuildURem(w->at, a, by, "");
                return llvm.BuildSelect(w->at, zero, none, llvm.BuildUDiv(w->at, a, by, ""), "");
        }
        LLVMValueRef back =
                llvm.BuildICmp(w->at, LLVMIntEQ, b, llvm_integer(w, e, lanes, ~UINT64_C(0)), "");
        LLVMValueRef by = llvm.BuildSelect(w->at, llvm.BuildOr(w->at, zero, back, ""), one, b, "");
        if (op == LOOP_REM)
                return llvm.BuildSRem(w->at, a, by, "");
        LLVMValueRef quotient = llvm.BuildSelect(w->at, back, llvm.BuildNeg(w->at, a, ""),
                                                 llvm.BuildSDiv(w->at, a, by, ""), "");
        return llvm.BuildSelect(w->at, zero, none, quotient, "");
}

static LLVMValueRef shift(struct llvm_writer *w, enum loop_opcode op, enum element e, int lanes,
                          LLVMValueRef a, LLVMValueRef b)
{
        const uint64_t width =
                e == E_INDEX ? (uint64_t)w->index_bits : 8 * (uint64_t)element_info[e].bytes;
        LLVMValueRef inside =
                llvm.BuildICmp(w->at, LLVMIntULT, b, llvm_integer(w, e, lanes, width), "");
        LLVMValueRef shifted = op == LOOP_SHL ? llvm.BuildShl(w->at, a, b, "")
                               : is_signed(e) ? llvm.BuildAShr(w->at, a, b, "")
                                              : llvm.BuildLShr(w->at, a, b, "");
        return llvm.BuildSelect(w->at, inside, shifted, llvm_integer(w, e, lanes, 0), "");
}

/* ---- all operations ---- */

static LLVMValueRef real_operation(struct llvm_writer *w, enum loop_opcode op, enum element e,
                                   const LLVMValueRef *args)
{
        switch (op) {
        case LOOP_ADD: return llvm.BuildFAdd(w->at, args[0], args[1], "");
        case LOOP_SUB: return llvm.BuildFSub(w->at, args[0], args[1], "");
        case LOOP_MUL: return llvm.BuildFMul(w->at, args[0], args[1], "");
        case LOOP_DIV: return llvm.BuildFDiv(w->at, args[0], args[1], "");
        case LOOP_NEG: return llvm.BuildFNeg(w->at, args[0], "");
        default:
                llvm_fail(w, EXIT_INTERNAL, "%s of %s", loop_op_info[op].text,
                          element_info[e].text);
                return args[0];
        }
}

/* Vectors compute with narrow elements as if they converted them to the compute type. */
static LLVMValueRef narrow_operation(struct llvm_writer *w, enum loop_opcode op, enum element e,
                                     int lanes, const LLVMValueRef *args)
{
        const enum element wide = element_info[e].compute;
        LLVMValueRef converted[3] = { 0 };
        for (int i = 0; i < loop_op_info[op].arity; i++)
                converted[i] = llvm_cast(w, args[i], e, wide, lanes);
        LLVMValueRef result = llvm_operation(w, op, wide, lanes, converted);
        return loop_op_info[op].result == RESULT_BOOL ? result
                                                      : llvm_cast(w, result, wide, e, lanes);
}

LLVMValueRef llvm_operation(struct llvm_writer *w, enum loop_opcode op, enum element e, int lanes,
                            const LLVMValueRef *args)
{
        if (loop_is_narrow(e))
                return narrow_operation(w, op, e, lanes, args);
        if (op >= LOOP_LT && op <= LOOP_NE)
                return compare(w, op, e, args[0], args[1]);
        if (op >= LOOP_MIN && op <= LOOP_MAX_ORDERED)
                return extreme(w, op, e, args[0], args[1]);
        if (is_real(e))
                return real_operation(w, op, e, args);
        switch (op) {
        case LOOP_ADD: return llvm.BuildAdd(w->at, args[0], args[1], "");
        case LOOP_SUB: return llvm.BuildSub(w->at, args[0], args[1], "");
        case LOOP_MUL: return llvm.BuildMul(w->at, args[0], args[1], "");
        case LOOP_DIV:
        case LOOP_REM: return divide(w, op, e, lanes, args[0], args[1]);
        case LOOP_SHL:
        case LOOP_SHR: return shift(w, op, e, lanes, args[0], args[1]);
        case LOOP_AND: return llvm.BuildAnd(w->at, args[0], args[1], "");
        case LOOP_XOR: return llvm.BuildXor(w->at, args[0], args[1], "");
        case LOOP_OR: return llvm.BuildOr(w->at, args[0], args[1], "");
        case LOOP_NEG: return llvm.BuildNeg(w->at, args[0], "");
        case LOOP_NOT: return llvm.BuildNot(w->at, args[0], "");
        default:
                llvm_fail(w, EXIT_INTERNAL, "%s is no arithmetic", loop_op_info[op].text);
                return args[0];
        }
}

/* ---- lanes ---- */

static LLVMValueRef lane_of(struct llvm_writer *w, LLVMValueRef a, int lane)
{
        LLVMTypeRef i32 = llvm.Int32TypeInContext(w->context);
        return llvm.BuildExtractElement(w->at, a, llvm.ConstInt(i32, (uint64_t)lane, 0), "");
}

/* Joins scalars in the same order, where lanes have no halves. */
static LLVMValueRef fold_each(struct llvm_writer *w, enum loop_opcode op, enum element e,
                              LLVMValueRef a, int lanes)
{
        LLVMValueRef each[LANES_MAX];
        for (int l = 0; l < lanes; l++)
                each[l] = lane_of(w, a, l);
        while (lanes > 1) {
                const int half = (lanes + 1) / 2;
                for (int l = 0; l + half < lanes; l++)
                        each[l] = llvm_operation(w, op, e, 1,
                                                 (LLVMValueRef[]){ each[l], each[l + half] });
                lanes = half;
        }
        return each[0];
}

/* Joins the halves of a vector, and the halves of what that gives. */
LLVMValueRef llvm_fold_lanes(struct llvm_writer *w, enum loop_opcode op, enum element e,
                             LLVMValueRef a, int lanes)
{
        int numbers[LANES_MAX];
        for (int l = 0; l < lanes; l++)
                numbers[l] = l;
        while (lanes > 2 && lanes % 2 == 0) {
                const int half = lanes / 2;
                LLVMValueRef halves[2] = { llvm_shuffle(w, a, NULL, numbers, half),
                                           llvm_shuffle(w, a, NULL, numbers + half, half) };
                a = llvm_operation(w, op, e, half, halves);
                lanes = half;
        }
        return fold_each(w, op, e, a, lanes);
}

LLVMValueRef llvm_interleave(struct llvm_writer *w, LLVMValueRef a, LLVMValueRef b, int lanes,
                             bool high)
{
        int numbers[LANES_MAX];
        for (int l = 0; l < lanes; l++)
                numbers[l] = (high ? lanes / 2 : 0) + l / 2 + l % 2 * lanes;
        return llvm_shuffle(w, a, b, numbers, lanes);
}
