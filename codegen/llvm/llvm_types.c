/* SPDX-License-Identifier: MIT */
/* Types and literals of LLVM, and calls of its intrinsics. */
#include <stdarg.h>
#include <string.h>

#include "codegen/llvm/llvm_writer.h"

void llvm_fail(struct llvm_writer *w, enum exit_code code, const char *format, ...)
{
        if (w->failed)
                return;
        w->failed = true;
        va_list list;
        va_start(list, format);
        diag_error(w->diag, code, "%s", arena_vprintf(w->arena, format, list));
        va_end(list);
}

/* ---- types ---- */

/* A float that is only its bits (f16, bf16, tf32) is an integer here. */
LLVMTypeRef llvm_element_type(struct llvm_writer *w, enum element e)
{
        if (e == E_F32)
                return llvm.FloatTypeInContext(w->context);
        if (e == E_F64)
                return llvm.DoubleTypeInContext(w->context);
        if (e == E_BOOL)
                return llvm.Int1TypeInContext(w->context);
        if (e == E_INDEX)
                return llvm.IntTypeInContext(w->context, (unsigned)w->index_bits);
        return llvm.IntTypeInContext(w->context, 8 * (unsigned)element_info[e].bytes);
}

static LLVMTypeRef of_lanes(LLVMTypeRef type, int lanes)
{
        return lanes == 1 ? type : llvm.VectorType(type, (unsigned)lanes);
}

LLVMTypeRef llvm_vector_of(struct llvm_writer *w, enum element e, int lanes)
{
        return of_lanes(llvm_element_type(w, e), lanes);
}

LLVMTypeRef llvm_type(struct llvm_writer *w, struct loop_type t)
{
        return llvm_vector_of(w, t.element, llvm_lanes(w, t));
}

LLVMTypeRef llvm_memory_type(struct llvm_writer *w, enum element e, int lanes)
{
        return e == E_BOOL ? llvm_integer_type(w, 8, lanes) : llvm_vector_of(w, e, lanes);
}

LLVMTypeRef llvm_integer_type(struct llvm_writer *w, int bits, int lanes)
{
        return of_lanes(llvm.IntTypeInContext(w->context, (unsigned)bits), lanes);
}

/* ---- literals ---- */

LLVMValueRef llvm_splat(struct llvm_writer *w, LLVMValueRef value, int lanes)
{
        if (lanes == 1)
                return value;
        LLVMTypeRef type = llvm.VectorType(llvm.TypeOf(value), (unsigned)lanes);
        if (llvm.IsConstant(value)) {
                LLVMValueRef *all = arena_array(w->arena, (size_t)lanes, sizeof *all);
                for (int l = 0; l < lanes; l++)
                        all[l] = value;
                return llvm.ConstVector(all, (unsigned)lanes);
        }
        LLVMTypeRef i32 = llvm.Int32TypeInContext(w->context);
        LLVMValueRef one = llvm.BuildInsertElement(w->at, llvm.GetUndef(type), value,
                                                   llvm.ConstInt(i32, 0, 0), "");
        return llvm.BuildShuffleVector(w->at, one, llvm.GetUndef(type),
                                       llvm.ConstNull(llvm.VectorType(i32, (unsigned)lanes)), "");
}

LLVMValueRef llvm_integer(struct llvm_writer *w, enum element e, int lanes, uint64_t value)
{
        return llvm_splat(w, llvm.ConstInt(llvm_element_type(w, e), value, 0), lanes);
}

LLVMValueRef llvm_index(struct llvm_writer *w, int64_t value)
{
        return llvm.ConstInt(llvm_element_type(w, E_INDEX), (uint64_t)value, 1);
}

LLVMValueRef llvm_literal(struct llvm_writer *w, enum element e, int lanes, union scalar value)
{
        if (e == E_F32 || e == E_F64)
                return llvm_splat(w, llvm.ConstReal(llvm_element_type(w, e), value.f), lanes);
        uint64_t bits = e == E_BOOL ? value.u != 0 : value.u;
        if (element_is_small(e)) {
                uint32_t small = 0;
                element_store(e, &small, 0, value);
                bits = small;
        }
        return llvm_integer(w, e, lanes, bits);
}

/* ---- lanes and intrinsics ---- */

LLVMValueRef llvm_shuffle(struct llvm_writer *w, LLVMValueRef a, LLVMValueRef b, const int *lanes,
                          int count)
{
        LLVMValueRef *which = arena_array(w->arena, (size_t)count, sizeof *which);
        for (int l = 0; l < count; l++)
                which[l] =
                        llvm.ConstInt(llvm.Int32TypeInContext(w->context), (uint64_t)lanes[l], 0);
        return llvm.BuildShuffleVector(w->at, a, b ? b : llvm.GetUndef(llvm.TypeOf(a)),
                                       llvm.ConstVector(which, (unsigned)count), "");
}

LLVMValueRef llvm_intrinsic(struct llvm_writer *w, const char *name, LLVMTypeRef *types,
                            int type_count, LLVMValueRef *arguments, int count)
{
        unsigned id = llvm.LookupIntrinsicID(name, strlen(name));
        if (!id) {
                llvm_fail(w, EXIT_UNSUPPORTED, "this LLVM has no %s", name);
                return arguments[0];
        }
        LLVMValueRef f = llvm.GetIntrinsicDeclaration(w->module, id, types, (size_t)type_count);
        LLVMTypeRef type = llvm.IntrinsicGetType(w->context, id, types, (size_t)type_count);
        return llvm.BuildCall2(w->at, type, f, arguments, (unsigned)count, "");
}
