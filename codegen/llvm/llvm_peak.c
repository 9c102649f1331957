/* SPDX-License-Identifier: MIT */
/* What the machine does at best, for --bench: ten sums beside each other, more than a multiply-add
 * takes turns, as compiler/harness/main.c has them in C. The code is linked as a program's main is,
 * with the place of a result as its one buffer. */
#include <stdlib.h>

#include "base/clock.h"
#include "codegen/llvm/llvm_writer.h"
#include "runtime/dnncc_runtime.h"

enum { SUMS = 10, ROUNDS = 200000 };

struct llvm_peak {
        struct arena *arena;
        struct llvm_linked linked;
        int lanes, threads;
};

/* ---- code ---- */

static LLVMValueRef summed(struct llvm_writer *w, LLVMValueRef *values)
{
        LLVMValueRef all = values[0];
        for (int i = 1; i < SUMS; i++)
                all = llvm.BuildFAdd(w->at, all, values[i], "");
        return all;
}

/* Returns the address of the one buffer. */
static LLVMValueRef place_of(struct llvm_writer *w, LLVMTypeRef type)
{
        LLVMTypeRef pointer = llvm_pointer_type(w->context);
        LLVMValueRef buffers = llvm_pointer_to(w->at, llvm.GetParam(w->function, 0), pointer);
        return llvm_pointer_to(w->at, llvm.BuildLoad2(w->at, pointer, buffers, ""), type);
}

/* The seed is read from memory, so that nothing is computed before the code runs. */
static void print_loop(struct llvm_writer *w, LLVMTypeRef type)
{
        LLVMValueRef place = place_of(w, type), x = llvm.BuildLoad2(w->at, type, place, ""),
                     y = llvm.BuildFAdd(w->at, x, x, ""), begin[SUMS], sums[SUMS], next[SUMS];
        llvm.SetAlignment(x, sizeof(float));
        /* Each sum begins elsewhere, because compilers make equal sums one. */
        for (int i = 0; i < SUMS; i++)
                begin[i] = llvm.BuildFAdd(w->at, i ? begin[i - 1] : x, y, "");
        struct llvm_loop l = llvm_loop(w, llvm_index(w, 0), llvm_index(w, ROUNDS), true);
        for (int i = 0; i < SUMS; i++) {
                sums[i] = llvm.BuildPhi(w->at, type, "");
                llvm.AddIncoming(sums[i], &begin[i], &l.before, 1);
        }
        for (int i = 0; i < SUMS; i++) {
                LLVMValueRef args[] = { sums[i], x, y };
                next[i] = llvm_intrinsic(w, "llvm.fmuladd", &type, 1, args, 3);
        }
        LLVMBasicBlockRef latch = llvm_loop_end(w, &l, 1, false);
        for (int i = 0; i < SUMS; i++)
                llvm.AddIncoming(sums[i], &next[i], &latch, 1);
        llvm.SetAlignment(llvm.BuildStore(w->at, summed(w, next), place), sizeof(float));
}

static void print_peak(struct llvm_writer *w, void *context)
{
        const struct llvm_peak *peak = context;
        LLVMTypeRef pointer = llvm_pointer_type(w->context), types[] = { pointer, pointer },
                    status = llvm.Int32TypeInContext(w->context),
                    type = llvm.FunctionType(status, types, 2, 0);
        LLVMValueRef function = llvm.AddFunction(w->module, LLVM_MAIN, type);
        llvm_attributes(w, function);
        LLVMBasicBlockRef first = llvm_open(w, function);
        print_loop(w, llvm_vector_of(w, E_F32, peak->lanes));
        llvm.BuildRet(w->at, llvm.ConstNull(status));
        llvm_end(w, first);
}

struct llvm_peak *llvm_peak_new(const struct target *t, int lanes, int threads, struct diag *diag)
{
        const struct loop_program none = { .name = "peak" };
        const struct llvm_options options = { .level = LLVM_LEVEL_BEST };
        struct arena *arena = arena_new();
        struct llvm_peak *peak = ARENA_NEW(arena, struct llvm_peak);
        *peak = (struct llvm_peak){ .arena = arena, .lanes = lanes, .threads = threads };
        struct llvm_objects objects = { 0 };
        if (llvm_load(diag) &&
            llvm_object_of(&objects, arena, &none, t, &options, print_peak, peak, diag) &&
            llvm_link(&peak->linked, arena, &objects, &options, diag))
                return peak;
        llvm_objects_free(&objects);
        llvm_peak_free(peak);
        return NULL;
}

void llvm_peak_free(struct llvm_peak *peak)
{
        llvm_unlink(&peak->linked);
        arena_free(peak->arena);
}

/* ---- time ---- */

/* Each thread has a place of its own. */
static void multiply_add(void *context, int index, int count)
{
        enum { FLOATS_MOST = 256 };
        const struct llvm_peak *peak = context;
        float place[FLOATS_MOST];
        (void)index;
        (void)count;
        for (int i = 0; i < FLOATS_MOST; i++)
                place[i] = .37f;
        void *buffers[] = { place };
        peak->linked.main(buffers, NULL);
}

static int by_size(const void *x, const void *y)
{
        const double a = *(const double *)x, b = *(const double *)y;
        return (a > b) - (a < b);
}

double llvm_peak_time(struct llvm_peak *peak)
{
        enum { TRIES_LEAST = 9, TRIES_MOST = 400 };
        /* It is long enough for the clock that long work in wide vectors has. */
        static const double seconds = .1;
        double rates[TRIES_MOST];
        const double begun = clock_wall();
        int tries = 0;
        while (tries < TRIES_LEAST || (tries < TRIES_MOST && clock_wall() - begun < seconds)) {
                const double start = clock_wall();
                if (peak->threads > 1)
                        dnncc_parallel(multiply_add, peak, peak->threads);
                else
                        multiply_add(peak, 0, 1);
                rates[tries++] = 2.0 * SUMS * peak->lanes * ROUNDS * peak->threads /
                                 (clock_wall() - start);
        }
        qsort(rates, (size_t)tries, sizeof *rates, by_size);
        return rates[tries / 2];
}
