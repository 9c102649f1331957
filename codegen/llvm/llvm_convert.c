/* SPDX-License-Identifier: MIT */
/* Conversions: floats to integers saturate, and NaN gives 0; integers wrap; small floats are
 * rounded once. */
#include <float.h>
#include <math.h>

#include "codegen/llvm/llvm_writer.h"
#include "ir/loop/capability.h"

static bool is_signed(enum element e) { return element_info[e].class == CLASS_SINT; }
static bool is_real(enum element e) { return e == E_F32 || e == E_F64; }
static int bits_of(enum element e) { return 8 * element_info[e].bytes; }

/* ---- small floats ---- */

/* Has the target's instruction set this conversion, of vectors? */
static bool converts(const struct llvm_writer *w, enum element from, enum element to)
{
        const int lanes = target_lanes(w->target, E_F32);
        struct loop_expr value = { .op = LOOP_VARIABLE, .type = LOOP_VECTOR(from, lanes) }, cast = {
                .op = LOOP_CAST, .type = LOOP_VECTOR(to, lanes), .arity = 1, .args = { &value }
        };
        return lanes > 1 && capability_of(w->target, &cast);
}

static LLVMTypeRef half_type(struct llvm_writer *w, int lanes)
{
        LLVMTypeRef half = llvm.HalfTypeInContext(w->context);
        return lanes == 1 ? half : llvm.VectorType(half, (unsigned)lanes);
}

static LLVMValueRef small_to_f32(struct llvm_writer *w, LLVMValueRef a, enum element from,
                                 int lanes)
{
        LLVMTypeRef f32 = llvm_vector_of(w, E_F32, lanes);
        if (from == E_F16 && converts(w, E_F16, E_F32))
                return llvm.BuildFPExt(w->at, llvm.BuildBitCast(w->at, a, half_type(w, lanes), ""),
                                       f32, "");
        if (from == E_TF32)
                return llvm.BuildBitCast(w->at, a, f32, "");
        LLVMValueRef wide = llvm.BuildZExt(w->at, a, llvm_vector_of(w, E_U32, lanes), "");
        if (from == E_F16)
                return llvm_call_library(w, "f16_to_f32", E_U32, lanes, &wide, 1);
        wide = llvm.BuildShl(w->at, wide, llvm_integer(w, E_U32, lanes, 16), "");
        return llvm.BuildBitCast(w->at, wide, f32, "");
}

/* Converts 64 bits to a double that may be rounded again: bits that it cannot hold set the last
 * place. */
static LLVMValueRef odd_unsigned(struct llvm_writer *w, LLVMValueRef a, int lanes)
{
        LLVMValueRef rest = llvm_integer(w, E_U64, lanes, 2047),
                     zero = llvm_integer(w, E_U64, lanes, 0);
        LLVMValueRef lost =
                llvm.BuildICmp(w->at, LLVMIntNE, llvm.BuildAnd(w->at, a, rest, ""), zero, "");
        LLVMValueRef odd =
                llvm.BuildSelect(w->at, lost, llvm_integer(w, E_U64, lanes, 2048), zero, "");
        LLVMValueRef cut = llvm.BuildAnd(w->at, llvm.BuildOr(w->at, a, odd, ""),
                                         llvm_integer(w, E_U64, lanes, ~UINT64_C(2047)), "");
        LLVMValueRef fits = llvm.BuildICmp(w->at, LLVMIntULT, a,
                                           llvm_integer(w, E_U64, lanes, UINT64_C(1) << 53), "");
        return llvm.BuildUIToFP(w->at, llvm.BuildSelect(w->at, fits, a, cut, ""),
                                llvm_vector_of(w, E_F64, lanes), "");
}

static LLVMValueRef odd_f64(struct llvm_writer *w, LLVMValueRef a, bool with_sign, int lanes)
{
        if (!with_sign)
                return odd_unsigned(w, a, lanes);
        LLVMValueRef negative =
                llvm.BuildICmp(w->at, LLVMIntSLT, a, llvm_integer(w, E_U64, lanes, 0), "");
        LLVMValueRef size = llvm.BuildSelect(w->at, negative, llvm.BuildNeg(w->at, a, ""), a, "");
        LLVMValueRef value = odd_unsigned(w, size, lanes);
        return llvm.BuildSelect(w->at, negative, llvm.BuildFNeg(w->at, value, ""), value, "");
}

/* The conversion rounds once: from f32 where it holds the number exactly, otherwise from f64. */
static LLVMValueRef to_small(struct llvm_writer *w, LLVMValueRef a, enum element from,
                             enum element to, int lanes)
{
        const int bytes = from == E_BOOL ? 1 : element_info[from].bytes;
        const bool wide = from != E_F32 && bytes > 2;
        if (!is_real(from))
                a = bytes == 8 ? odd_f64(w, a, is_signed(from), lanes)
                               : llvm_cast(w, a, from, wide ? E_F64 : E_F32, lanes);
        if (to == E_F16 && !wide && converts(w, E_F32, E_F16)) {
                a = llvm.BuildFPTrunc(w->at, a, half_type(w, lanes), "");
                return llvm.BuildBitCast(w->at, a, llvm_vector_of(w, E_F16, lanes), "");
        }
        const char *name =
                arena_printf(w->arena, "%s_to_%s", wide ? "f64" : "f32", element_info[to].text);
        a = llvm_call_library(w, name, wide ? E_F64 : E_F32, lanes, &a, 1);
        LLVMTypeRef type = llvm_vector_of(w, to, lanes);
        return llvm.TypeOf(a) == type ? a : llvm.BuildTrunc(w->at, a, type, "");
}

/* ---- all conversions ---- */

static LLVMValueRef to_bool(struct llvm_writer *w, LLVMValueRef a, enum element from, int lanes)
{
        LLVMValueRef zero = llvm.ConstNull(llvm_vector_of(w, from, lanes));
        return is_real(from) ? llvm.BuildFCmp(w->at, LLVMRealUNE, a, zero, "")
                             : llvm.BuildICmp(w->at, LLVMIntNE, a, zero, "");
}

/* Returns a where `op` holds of it and of the bound, else the bound, as where a is NaN. */
static LLVMValueRef bounded(struct llvm_writer *w, LLVMValueRef a, LLVMRealPredicate op,
                            LLVMValueRef bound)
{
        return llvm.BuildSelect(w->at, llvm.BuildFCmp(w->at, op, a, bound, ""), a, bound, "");
}

/* LLVM 14 does its intrinsic lane by lane, so vectors are bounded first: no conversion is of what
 * is out of range. The largest float in range may be less than the largest integer. */
static LLVMValueRef saturate_vector(struct llvm_writer *w, LLVMValueRef a, enum element from,
                                    enum element to, int lanes)
{
        const int bits = bits_of(to), wide = bits < 32 ? 32 : bits,
                  digits = from == E_F32 ? FLT_MANT_DIG : DBL_MANT_DIG, own = bits - is_signed(to);
        const double least = is_signed(to) ? -ldexp(1, bits - 1) : 0, beyond = ldexp(1, own),
                     most = own > digits ? beyond - ldexp(1, own - digits) : beyond - 1;
        LLVMTypeRef type = llvm_integer_type(w, wide, lanes);
        LLVMValueRef v = bounded(w, a, LLVMRealOGE,
                                 llvm_literal(w, from, lanes, (union scalar){ .f = least }));
        v = bounded(w, v, LLVMRealOLE, llvm_literal(w, from, lanes, (union scalar){ .f = most }));
        v = (is_signed(to) || bits < 32 ? llvm.BuildFPToSI : llvm.BuildFPToUI)(w->at, v, type, "");
        if (bits < wide)
                v = llvm.BuildTrunc(w->at, v, llvm_vector_of(w, to, lanes), "");
        if (own > digits) {
                LLVMValueRef end = llvm_literal(w, from, lanes, (union scalar){ .f = beyond }),
                             large = llvm.BuildFCmp(w->at, LLVMRealOGE, a, end, "");
                const uint64_t largest = is_signed(to) ? (UINT64_C(1) << own) - 1 : ~UINT64_C(0);
                v = llvm.BuildSelect(w->at, large, llvm_integer(w, to, lanes, largest), v, "");
        }
        return is_signed(to) ? llvm.BuildSelect(w->at, llvm.BuildFCmp(w->at, LLVMRealUNO, a, a, ""),
                                                llvm_integer(w, to, lanes, 0), v, "")
                             : v;
}

static LLVMValueRef saturate(struct llvm_writer *w, LLVMValueRef a, enum element from,
                             enum element to, int lanes)
{
        LLVMTypeRef types[] = { llvm_vector_of(w, to, lanes), llvm.TypeOf(a) };
        if (lanes > 1)
                return saturate_vector(w, a, from, to, lanes);
        return llvm_intrinsic(w, is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", types, 2,
                              &a, 1);
}

/* A subscript is a number of as many bits. */
static enum element number_of(const struct llvm_writer *w, enum element e)
{
        return e != E_INDEX ? e : w->index_bits == 32 ? E_I32 : E_I64;
}

LLVMValueRef llvm_cast(struct llvm_writer *w, LLVMValueRef a, enum element from, enum element to,
                       int lanes)
{
        LLVMTypeRef type = llvm_vector_of(w, to, lanes);
        from = number_of(w, from);
        to = number_of(w, to);
        if (from == to)
                return a;
        if (element_is_small(from)) {
                a = small_to_f32(w, a, from, lanes);
                return llvm_cast(w, a, E_F32, to, lanes);
        }
        if (element_is_small(to))
                return to_small(w, a, from, to, lanes);
        if (to == E_BOOL)
                return to_bool(w, a, from, lanes);
        if (is_real(from) && is_real(to))
                return to == E_F64 ? llvm.BuildFPExt(w->at, a, type, "")
                                   : llvm.BuildFPTrunc(w->at, a, type, "");
        if (is_real(from))
                return saturate(w, a, from, to, lanes);
        if (is_real(to))
                return is_signed(from) ? llvm.BuildSIToFP(w->at, a, type, "")
                                       : llvm.BuildUIToFP(w->at, a, type, "");
        const int had = from == E_BOOL ? 1 : bits_of(from), want = bits_of(to);
        if (had == want)
                return a;
        if (had > want)
                return llvm.BuildTrunc(w->at, a, type, "");
        return is_signed(from) ? llvm.BuildSExt(w->at, a, type, "")
                               : llvm.BuildZExt(w->at, a, type, "");
}

LLVMValueRef llvm_bitcast(struct llvm_writer *w, LLVMValueRef a, enum element from, enum element to,
                          int lanes)
{
        if (from == to)
                return a;
        if (from == E_BOOL || to == E_BOOL)
                return llvm_cast(w, a, from, to, lanes);
        LLVMTypeRef type = llvm_vector_of(w, to, lanes);
        return llvm.TypeOf(a) == type ? a : llvm.BuildBitCast(w->at, a, type, "");
}
