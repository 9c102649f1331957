/* SPDX-License-Identifier: MIT */
/* Loads LLVM's shared library, and has what differs between its versions. */
#include "codegen/llvm/llvm_api.h"

#include <dlfcn.h>
#include <llvm/Config/llvm-config.h>
#include <stdio.h>

struct llvm_api llvm;

#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)
#define MAJOR STRING(LLVM_VERSION_MAJOR)
#define MINOR STRING(LLVM_VERSION_MINOR)

/* Distributions call it by one of these names. */
static const char *const names[] = { "libLLVM-" MAJOR ".so.1", "libLLVM.so." MAJOR "." MINOR,
                                     "libLLVM-" MAJOR ".so", "libLLVM.dylib" };
static const char *const symbols[] = {
#define LLVM_FUNCTION(name) "LLVM" #name,
#include "codegen/llvm/llvm_functions.def"
};
enum { SYMBOLS = sizeof symbols / sizeof *symbols };
_Static_assert(sizeof llvm == SYMBOLS * sizeof(void *), "the struct has functions alone");

static void *library;

bool llvm_load(struct diag *diag)
{
        if (library)
                return true;
        void *found = NULL;
        for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
                found = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
        if (!found) {
                diag_error(diag, EXIT_UNSUPPORTED,
                           "LLVM " MAJOR
                           " is not installed here: Debian's package is libllvm" MAJOR);
                return false;
        }
        for (int i = 0; i < SYMBOLS; i++) {
                /* ISO C has no conversion from an object's pointer to a function's. */
                void **function = (void **)(void *)&llvm + i;
                *function = dlsym(found, symbols[i]);
                if (!*function) {
                        diag_error(diag, EXIT_UNSUPPORTED, "LLVM " MAJOR " has no function %s here",
                                   symbols[i]);
                        dlclose(found);
                        return false;
                }
        }
        library = found;
        return true;
}

bool llvm_initialize(const char *processor)
{
        static const char *const parts[] = { "TargetInfo", "Target", "TargetMC", "AsmPrinter" };
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                char name[64];
                void (*initialize)(void);
                snprintf(name, sizeof name, "LLVMInitialize%s%s", processor, parts[i]);
                *(void **)&initialize = dlsym(library, name);
                if (!initialize)
                        return false;
                initialize();
        }
        return true;
}

LLVMTypeRef llvm_pointer_type(LLVMContextRef context)
{
        return llvm.PointerType(llvm.Int8TypeInContext(context), 0);
}

#if LLVM_VERSION_MAJOR < 15

LLVMValueRef llvm_pointer_to(LLVMBuilderRef at, LLVMValueRef pointer, LLVMTypeRef type)
{
        return llvm.BuildBitCast(at, pointer, llvm.PointerType(type, 0), "");
}

#else

LLVMValueRef llvm_pointer_to(LLVMBuilderRef at, LLVMValueRef pointer, LLVMTypeRef type)
{
        (void)at;
        (void)type;
        return pointer;
}

#endif
