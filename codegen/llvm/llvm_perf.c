/* SPDX-License-Identifier: MIT */
/* Tells perf where the functions of an object are: it looks for /tmp/perf-PID.map, of lines
 *
 *      ADDRESS SIZE NAME
 *
 * in hexadecimal. An object says where functions stand relative to each other, and the linker
 * where one of those that other objects see is. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codegen/llvm/llvm_writer.h"

static bool is_seen(const char *name)
{
        const size_t length = strlen(name), end = strlen(LLVM_KERNEL);
        return !strcmp(name, LLVM_MAIN) ||
               (length > end && !strcmp(name + length - end, LLVM_KERNEL));
}

/* Calls visit for each function of the object. */
static void walk(LLVMBinaryRef object,
                 void (*visit)(void *context, const char *name, uint64_t at, uint64_t size),
                 void *context)
{
        LLVMSymbolIteratorRef symbol = llvm.ObjectFileCopySymbolIterator(object);
        LLVMSectionIteratorRef section = llvm.ObjectFileCopySectionIterator(object);
        for (; !llvm.ObjectFileIsSymbolIteratorAtEnd(object, symbol);
             llvm.MoveToNextSymbol(symbol)) {
                const uint64_t size = llvm.GetSymbolSize(symbol);
                if (!size)
                        continue;
                llvm.MoveToContainingSection(section, symbol);
                const char *name = llvm.GetSectionName(section);
                if (name && !strcmp(name, ".text"))
                        visit(context, llvm.GetSymbolName(symbol), llvm.GetSymbolAddress(symbol),
                              size);
        }
        llvm.DisposeSectionIterator(section);
        llvm.DisposeSymbolIterator(symbol);
}

struct mapping { LLVMOrcLLJITRef jit; FILE *out; bool is_known; uint64_t base; };

/* Finds where the section begins, by a function that the linker knows by its name. */
static void find_base(void *context, const char *name, uint64_t at, uint64_t size)
{
        struct mapping *m = context;
        LLVMOrcJITTargetAddress address = 0;
        (void)size;
        if (m->is_known || !is_seen(name))
                return;
        LLVMErrorRef error = llvm.OrcLLJITLookup(m->jit, &address, name);
        if (error)                      /* A module that is alone keeps its kernels to itself. */
                llvm.DisposeErrorMessage(llvm.GetErrorMessage(error));
        m->is_known = !error;
        m->base = address - at;
}

static void put_line(void *context, const char *name, uint64_t at, uint64_t size)
{
        const struct mapping *m = context;
        fprintf(m->out, "%" PRIx64 " %" PRIx64 " %s\n", m->base + at, size, name);
}

static FILE *open_map(struct diag *diag)
{
        char path[64];
        snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
        const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                              S_IRUSR | S_IWUSR);
        FILE *out = file < 0 ? NULL : fdopen(file, "a");
        if (!out)
                diag_warning(diag, "--perf-map: cannot write %s: %s", path, strerror(errno));
        return out;
}

void llvm_map_objects(LLVMOrcLLJITRef jit, const LLVMMemoryBufferRef *objects, int count,
                      struct diag *diag)
{
        struct mapping m = { .jit = jit, .out = open_map(diag) };
        for (int i = 0; i < count && m.out; i++) {
                char *wrong = NULL;
                LLVMBinaryRef object = llvm.CreateBinary(objects[i], NULL, &wrong);
                if (!object) {
                        llvm.DisposeMessage(wrong);
                        continue;
                }
                m.is_known = false;
                walk(object, find_base, &m);
                if (m.is_known)
                        walk(object, put_line, &m);
                llvm.DisposeBinary(object);
        }
        if (m.out)
                fclose(m.out);
}
