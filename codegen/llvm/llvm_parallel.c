/* SPDX-License-Identifier: MIT */
/* Launches. The iterations from a to b are a function, which takes their range:
 *
 *     void conv1_part(x, y, scalars.., i64 from, i64 to)
 *
 * With threads the kernel hands a task to the runtime, and what the task hands on in a struct on
 * its stack, as in C (codegen/c_parallel.c):
 *
 *     void conv1_task(arg, i32 part, i32 parts)
 *     {
 *             conv1_part(arg->x, arg->y, arg->scalars.., from, to)     of this part of arg->trips
 *     }
 *
 *     arguments = { x, y, scalars.., begin, trips }
 *     dnncc_parallel(conv1_task, &arguments, min(trips, threads))
 *
 * Each thread computes what the loop would: the bits do not depend on how many there are. Where
 * iterations stay in order, or there is one thread, the kernel calls the part for all of them. */
#include "codegen/llvm/llvm_writer.h"

/* What both functions of a launch have: buffers, scalars but the last, which is the index, and two
 * numbers. */
static int count_of(const struct loop_stmt *s)
{
        return s->function->buffer_count + loop_scalar_count(s) + 2;
}

static LLVMTypeRef *types_of(struct llvm_writer *w, const struct loop_stmt *s)
{
        const struct loop_function *f = s->function;
        const int count = count_of(s);
        LLVMTypeRef *types = arena_array(w->arena, (size_t)count, sizeof *types);
        for (int i = 0; i < count; i++)
                types[i] = i < f->buffer_count ? llvm_pointer_type(w->context)
                           : i < count - 2
                                   ? llvm_type(w, f->scalars[i - f->buffer_count]->type)
                                   : llvm_element_type(w, E_INDEX);
        return types;
}

/* ---- a part ---- */

static void print_part(struct llvm_writer *w, const struct llvm_queued *q)
{
        const struct loop_stmt *s = q->launch;
        const unsigned count = (unsigned)count_of(s);
        LLVMBasicBlockRef first = llvm_begin(w, q, loop_scalar_count(s));
        struct llvm_loop l = llvm_loop(w, llvm.GetParam(w->function, count - 2),
                                       llvm.GetParam(w->function, count - 1), false);
        llvm_declare(w, q->f->scalars[q->f->scalar_count - 1], l.index);
        llvm_block(w, q->f->body);
        llvm_loop_end(w, &l, s->step, s->step != 1);
        llvm.BuildRetVoid(w->at);
        llvm_end(w, first);
}

static const struct llvm_function *part_of(struct llvm_writer *w, const struct loop_stmt *s)
{
        struct llvm_queued *q = llvm_queued(w, s);
        if (q)
                return &q->is;
        LLVMTypeRef type = llvm.FunctionType(llvm.VoidTypeInContext(w->context), types_of(w, s),
                                             (unsigned)count_of(s), 0);
        q = llvm_queue(w, s, arena_printf(w->arena, "%s.part", s->function->name), type,
                       print_part);
        q->f = s->function;
        q->launch = s;
        llvm_no_aliases(w, q->is.value, s->function);
        return &q->is;
}

/* ---- a task ---- */

static LLVMTypeRef struct_of(struct llvm_writer *w, const struct loop_stmt *s)
{
        return llvm.StructTypeInContext(w->context, types_of(w, s), (unsigned)count_of(s), 0);
}

static LLVMValueRef member(struct llvm_writer *w, LLVMTypeRef type, LLVMValueRef memory, int i)
{
        return llvm.BuildStructGEP2(w->at, type, memory, (unsigned)i, "");
}

/* Returns begin + step * (at which of `trips` iterations part b of c begins), which is
 * trips / c * b + trips % c * b / c: nothing of it overflows, since b is not above c. */
static LLVMValueRef bound(struct llvm_writer *w, const struct loop_stmt *s, LLVMValueRef begin,
                          LLVMValueRef trips, LLVMValueRef b, LLVMValueRef c)
{
        LLVMBuilderRef at = w->at;
        LLVMValueRef whole = llvm.BuildMul(at, llvm.BuildSDiv(at, trips, c, ""), b, ""),
                     rest = llvm.BuildMul(at, llvm.BuildSRem(at, trips, c, ""), b, "");
        LLVMValueRef iteration = llvm.BuildAdd(at, whole, llvm.BuildSDiv(at, rest, c, ""), "");
        return llvm.BuildAdd(at, begin,
                             llvm.BuildMul(at, iteration, llvm_index(w, s->step), ""), "");
}

static void print_task(struct llvm_writer *w, const struct llvm_queued *q)
{
        const struct loop_stmt *s = q->launch;
        const int count = count_of(s);
        LLVMTypeRef *types = types_of(w, s), type = struct_of(w, s);
        LLVMValueRef *args = arena_array(w->arena, (size_t)count, sizeof *args);
        LLVMBasicBlockRef first = llvm_begin(w, q, 0);
        LLVMValueRef memory = llvm_pointer_to(w->at, llvm.GetParam(w->function, 0), type);
        for (int i = 0; i < count; i++)
                args[i] = llvm.BuildLoad2(w->at, types[i], member(w, type, memory, i), "");
        LLVMValueRef part = llvm_cast(w, llvm.GetParam(w->function, 1), E_I32, E_INDEX, 1),
                     parts = llvm_cast(w, llvm.GetParam(w->function, 2), E_I32, E_INDEX, 1),
                     begin = args[count - 2], trips = args[count - 1],
                     next = llvm.BuildAdd(w->at, part, llvm_index(w, 1), "");
        args[count - 2] = bound(w, s, begin, trips, part, parts);
        args[count - 1] = bound(w, s, begin, trips, next, parts);
        const struct llvm_function *whole = part_of(w, s);
        llvm.BuildCall2(w->at, whole->type, whole->value, args, (unsigned)count, "");
        llvm.BuildRetVoid(w->at);
        llvm_end(w, first);
}

static LLVMTypeRef task_type(struct llvm_writer *w)
{
        LLVMTypeRef i32 = llvm.Int32TypeInContext(w->context),
                    types[] = { llvm_pointer_type(w->context), i32, i32 };
        return llvm.FunctionType(llvm.VoidTypeInContext(w->context), types, 3, 0);
}

static LLVMValueRef task_of(struct llvm_writer *w, const struct loop_stmt *s)
{
        const void *key = &s->function;         /* The launch itself is the key of its part. */
        struct llvm_queued *q = llvm_queued(w, key);
        if (!q) {
                q = llvm_queue(w, key, s->function->name, task_type(w), print_task);
                q->launch = s;
        }
        return q->is.value;
}

/* ---- the kernel's side ---- */

/* Calls dnncc_parallel(task, memory, count). */
static void call_runtime(struct llvm_writer *w, LLVMValueRef task, LLVMValueRef memory,
                         LLVMValueRef count)
{
        enum { COUNT = 3 };             /* It is this parameter. */
        static const char name[] = "dnncc_parallel";
        LLVMTypeRef pointer = llvm_pointer_type(w->context),
                    types[] = { pointer, pointer, llvm.Int32TypeInContext(w->context) },
                    type = llvm.FunctionType(llvm.VoidTypeInContext(w->context), types, 3, 0);
        LLVMValueRef known = llvm.GetNamedFunction(w->module, name);
        if (!known) {
                known = llvm.AddFunction(w->module, name, type);
                llvm_attribute(w, known, COUNT, "signext");
        }
        LLVMValueRef args[] = { llvm.BuildBitCast(w->at, task, pointer, ""),
                                llvm.BuildBitCast(w->at, memory, pointer, ""), count };
        llvm.BuildCall2(w->at, type, known, args, COUNT, "");
}

/* Returns memory for the struct: the function's, so that loops do not take more each time. */
static LLVMValueRef memory_for(struct llvm_writer *w, LLVMTypeRef type)
{
        LLVMBasicBlockRef here = llvm.GetInsertBlock(w->at);
        llvm.PositionBuilderAtEnd(w->at, w->allocas);
        LLVMValueRef memory = llvm.BuildAlloca(w->at, type, w->named ? "arguments" : "");
        llvm.PositionBuilderAtEnd(w->at, here);
        return memory;
}

void llvm_launch(struct llvm_writer *w, const struct loop_stmt *s)
{
        const int count = count_of(s);
        LLVMBuilderRef at = w->at;
        LLVMValueRef *args = arena_array(w->arena, (size_t)count, sizeof *args);
        llvm_arguments(w, s, args);
        LLVMValueRef begin = args[count - 2] = llvm_expression(w, s->a),
                     end = args[count - 1] = llvm_expression(w, s->b);
        if (s->in_order || w->threads < 2) {
                const struct llvm_function *part = part_of(w, s);
                llvm.BuildCall2(at, part->type, part->value, args, (unsigned)count, "");
                return;
        }
        /* trips = end > begin ? (end - begin + step - 1) / step : 0 */
        LLVMValueRef length = llvm.BuildSub(at, end, begin, ""),
                     up = llvm.BuildAdd(at, length, llvm_index(w, s->step - 1), ""),
                     some = llvm.BuildSDiv(at, up, llvm_index(w, s->step), ""),
                     is_some = llvm.BuildICmp(at, LLVMIntSGT, end, begin, ""),
                     trips = llvm.BuildSelect(at, is_some, some, llvm_index(w, 0), ""),
                     most = llvm_index(w, w->threads),
                     is_few = llvm.BuildICmp(at, LLVMIntSLT, trips, most, "");
        LLVMTypeRef type = struct_of(w, s);
        LLVMValueRef memory = memory_for(w, type);
        args[count - 1] = trips;
        for (int i = 0; i < count; i++)
                llvm.BuildStore(at, args[i], member(w, type, memory, i));
        call_runtime(w, task_of(w, s), memory,
                     llvm_cast(w, llvm.BuildSelect(at, is_few, trips, most, ""), E_INDEX, E_I32,
                               1));
}
