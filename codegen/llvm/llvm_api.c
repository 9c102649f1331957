/* SPDX-License-Identifier: MIT */
/* Loads LLVM's shared library, and has what differs between its versions. */
#include "codegen/llvm/llvm_api.h"

#include <dlfcn.h>
#include <llvm/Config/llvm-config.h>
#include <stdio.h>
#include <string.h>

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

bool llvm_is_here(void)
{
        struct diag none = { .silent = true };
        return llvm_load(&none);
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

int llvm_version(void) { return LLVM_VERSION_MAJOR; }

LLVMTypeRef llvm_pointer_type(LLVMContextRef context)
{
        return llvm.PointerType(llvm.Int8TypeInContext(context), 0);
}

/* Versions before 16 take a module's ABI for calls, but not for the flags of an ELF file of RISC-V,
 * by which linkers tell objects apart. */
void llvm_finish_object(char *object, size_t size, const char *abi)
{
        enum { CLASS = 4, ELF_64 = 2, FLAGS_32 = 0x24, FLAGS_64 = 0x30, SINGLE = 2, DOUBLE = 4 };
        const size_t length = strlen(abi);
        if (LLVM_VERSION_MAJOR >= 16 || !length || size < FLAGS_64 + 4 ||
            memcmp(object, "\177ELF", CLASS))
                return;
        const char last = abi[length - 1];
        object[object[CLASS] == ELF_64 ? FLAGS_64 : FLAGS_32] |=
                (char)(last == 'd' ? DOUBLE : last == 'f' ? SINGLE : 0);
}

#if LLVM_VERSION_MAJOR < 15

LLVMValueRef llvm_pointer_to(LLVMBuilderRef at, LLVMValueRef pointer, LLVMTypeRef type)
{
        return llvm.BuildBitCast(at, pointer, llvm.PointerType(type, 0), "");
}

LLVMValueRef llvm_constant_pointer(LLVMContextRef context, LLVMValueRef global)
{
        return llvm.ConstBitCast(global, llvm_pointer_type(context));
}

#else

LLVMValueRef llvm_pointer_to(LLVMBuilderRef at, LLVMValueRef pointer, LLVMTypeRef type)
{
        (void)at;
        (void)type;
        return pointer;
}

LLVMValueRef llvm_constant_pointer(LLVMContextRef context, LLVMValueRef global)
{
        (void)context;
        return global;
}

#endif
