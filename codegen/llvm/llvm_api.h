/* SPDX-License-Identifier: MIT */
/* LLVM's C interface, loaded when it is wanted: a function LLVMBuildAdd is called as
 * llvm.BuildAdd. So dnncc starts without LLVM, whose library has 110 MB, and runs where it is not.
 * What differs between its versions, 14 to 19, stands in llvm_api.c alone. */
#ifndef CODEGEN_LLVM_LLVM_API_H
#define CODEGEN_LLVM_LLVM_API_H

#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Object.h>
#include <llvm-c/Orc.h>
#include <llvm-c/OrcEE.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "base/diag.h"
#include "codegen/llvm/llvm_printer.h"

struct llvm_api {
#define LLVM_FUNCTION(name) __typeof__(LLVM##name) *name;
#include "codegen/llvm/llvm_functions.def"
};
extern struct llvm_api llvm;

/* Loads the library once. Returns false after an error. */
bool llvm_load(struct diag *diag);
/* Initializes what the library has for a triple's processor, whose name LLVM's functions have:
 * "X86". Returns false where it has nothing. */
bool llvm_initialize(const char *processor);

/* Pointers have no element type from LLVM 15 on. These return the type of all pointers of this
 * program, and one as a pointer to values of a type. */
LLVMTypeRef llvm_pointer_type(LLVMContextRef context);
LLVMValueRef llvm_pointer_to(LLVMBuilderRef at, LLVMValueRef pointer, LLVMTypeRef type);
/* Returns the address of a global or a function as a constant of the first type. */
LLVMValueRef llvm_constant_pointer(LLVMContextRef context, LLVMValueRef global);
/* Completes an object in memory: says in its head how functions are called, by the name of the ABI,
 * where this version does not. */
void llvm_finish_object(char *object, size_t size, const char *abi);
/* Returns the number of the version that dnncc was built for. */
int llvm_version(void);

#endif
