/* SPDX-License-Identifier: MIT */
/* Prints functions: kernels and tasks, functions of the library that are called, and main. */
#include <string.h>

#include "codegen/llvm/llvm_writer.h"
#include "ir/loop/fail_codes.h"

/* ---- types and attributes ---- */

static void find_fail(struct loop_stmt *s, void *found) { *(bool *)found |= loop_fails(s); }

static bool can_fail(const struct loop_function *f)
{
        bool found = f->can_fail;
        if (!found)
                loop_block_walk(f->body, find_fail, NULL, &found);
        return found;
}

void llvm_attribute(struct llvm_writer *w, LLVMValueRef f, unsigned at, const char *name)
{
        unsigned kind = llvm.GetEnumAttributeKindForName(name, strlen(name));
        if (kind)
                llvm.AddAttributeAtIndex(f, at, llvm.CreateEnumAttribute(w->context, kind, 0));
}

static void text_attribute(struct llvm_writer *w, LLVMValueRef f, const char *name,
                           const char *value)
{
        if (value && *value)
                llvm.AddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                         llvm.CreateStringAttribute(w->context, name,
                                                                    (unsigned)strlen(name), value,
                                                   (unsigned)strlen(value)));
}

void llvm_attributes(struct llvm_writer *w, LLVMValueRef f)
{
        llvm_attribute(w, f, (unsigned)LLVMAttributeFunctionIndex, "nounwind");
        text_attribute(w, f, "target-cpu", w->cpu);
        text_attribute(w, f, "target-features", w->features);
        if (!w->is_bare)
                return;
        /* Code is to be small, and calls no function of a C library, as for loops that clear
         * memory. */
        llvm_attribute(w, f, (unsigned)LLVMAttributeFunctionIndex, "optsize");
        text_attribute(w, f, "no-builtins", "true");
}

static LLVMTypeRef type_of(struct llvm_writer *w, const struct loop_function *f, bool fails)
{
        const int count = f->buffer_count + f->scalar_count;
        LLVMTypeRef *types = arena_array(w->arena, (size_t)count + 1, sizeof *types);
        for (int i = 0; i < f->buffer_count; i++)
                types[i] = llvm_pointer_type(w->context);
        for (int i = 0; i < f->scalar_count; i++) {
                const struct loop_type t = f->scalars[i]->type;
                types[f->buffer_count + i] = llvm_vector_of(w, t.element, t.lanes);
        }
        LLVMTypeRef result = f->kind == FUNCTION_LIBRARY
                                     ? llvm_vector_of(w, f->result.element, f->result.lanes)
                             : fails ? llvm.Int32TypeInContext(w->context)
                                     : llvm.VoidTypeInContext(w->context);
        return llvm.FunctionType(result, types, (unsigned)count, 0);
}

/* A library function's name says the element of its first parameter. Where other modules see names
 * no function is called like one of the C library, which LLVM may call. */
static const char *name_of(struct llvm_writer *w, const struct loop_function *f)
{
        if (f->kind != FUNCTION_LIBRARY && (w->contract || w->units))
                return arena_printf(w->arena, "%s" LLVM_KERNEL, f->name);
        return f->kind != FUNCTION_LIBRARY || !f->scalar_count
                       ? f->name
                       : arena_printf(w->arena, "%s.%s", f->name,
                                      element_info[f->scalars[0]->type.element].text);
}

/* ---- functions, which are printed when all that call them are known ---- */

struct llvm_queued *llvm_queued(struct llvm_writer *w, const void *key)
{
        return map_get(w->functions, (const char *)&key, sizeof key);
}

struct llvm_queued *llvm_queue(struct llvm_writer *w, const void *key, const char *name,
                               LLVMTypeRef type,
                               void (*print)(struct llvm_writer *w, const struct llvm_queued *q))
{
        struct llvm_queued *q = ARENA_NEW(w->arena, struct llvm_queued);
        q->is.type = type;
        q->is.value = llvm.AddFunction(w->module, name, type);
        q->print = print;
        llvm.SetLinkage(q->is.value, LLVMInternalLinkage);
        llvm_attributes(w, q->is.value);
        map_set(w->functions, (const char *)&key, sizeof key, q);
        *w->queue_end = q;
        w->queue_end = &q->next;
        return q;
}

void llvm_no_aliases(struct llvm_writer *w, LLVMValueRef function, const struct loop_function *f)
{
        for (int i = 0; i < f->buffer_count; i++)
                if (f->buffers[i]->alias_class == 0)
                        llvm_attribute(w, function, 1 + (unsigned)i, "noalias");
}

/* Its first block is for what lies on the stack. */
LLVMBasicBlockRef llvm_open(struct llvm_writer *w, LLVMValueRef function)
{
        w->function = function;
        w->function_number++;
        w->addresses = map_new(w->arena);
        w->allocas = llvm_block_new(w, "entry");
        w->buffers = NULL;
        w->in_place = false;
        w->strip = 0;
        llvm.PositionBuilderAtEnd(w->at, llvm_block_new(w, "begin"));
        return llvm.GetInsertBlock(w->at);
}

void llvm_end(struct llvm_writer *w, LLVMBasicBlockRef first)
{
        llvm.PositionBuilderAtEnd(w->at, w->allocas);
        llvm.BuildBr(w->at, first);
}

static void name_parameter(struct llvm_writer *w, LLVMValueRef value, const char *name)
{
        if (w->named)
                llvm.SetValueName2(value, name, strlen(name));
}

LLVMBasicBlockRef llvm_begin(struct llvm_writer *w, const struct llvm_queued *q, int count)
{
        const struct loop_function *f = q->f;
        LLVMBasicBlockRef first = llvm_open(w, q->is.value);
        for (int i = 0; f && i < f->buffer_count; i++) {
                LLVMValueRef parameter = llvm.GetParam(w->function, (unsigned)i);
                name_parameter(w, parameter, f->buffers[i]->name);
                llvm_set_address(w, f->buffers[i], parameter);
        }
        for (int i = 0; i < count; i++) {
                LLVMValueRef parameter =
                        llvm.GetParam(w->function, (unsigned)(f->buffer_count + i));
                name_parameter(w, parameter, f->scalars[i]->name);
                llvm_declare(w, f->scalars[i], parameter);
        }
        return first;
}

/* Calls the C function that stands for the kernel, which returns an int. */
static LLVMValueRef call_external(struct llvm_writer *w, const struct loop_function *f)
{
        const int count = f->external_count + f->buffer_count;
        LLVMTypeRef status = llvm.Int32TypeInContext(w->context),
                    *types = arena_array(w->arena, (size_t)count, sizeof *types);
        LLVMValueRef *args = arena_array(w->arena, (size_t)count, sizeof *args);
        for (int i = 0; i < f->external_count; i++)
                args[i] = llvm_index(w, f->external_extents[i]);
        for (int i = 0; i < f->buffer_count; i++)
                args[f->external_count + i] = llvm.GetParam(w->function, (unsigned)i);
        for (int i = 0; i < count; i++)
                types[i] = llvm.TypeOf(args[i]);
        LLVMTypeRef type = llvm.FunctionType(status, types, (unsigned)count, 0);
        LLVMValueRef function = llvm.GetNamedFunction(w->module, f->external);
        if (!function)
                function = llvm.AddFunction(w->module, f->external, type);
        LLVMValueRef said = llvm.BuildCall2(w->at, type, function, args, (unsigned)count, ""),
                     wrong = llvm.BuildICmp(w->at, LLVMIntNE, said, llvm.ConstNull(status), "");
        const enum fail_code code = loop_is_of_library(f) ? FAIL_LIBRARY : FAIL_EXTERNAL;
        return llvm.BuildSelect(w->at, wrong, llvm.ConstInt(status, (uint64_t)(int64_t)code, 1),
                                llvm.ConstNull(status), "");
}

static void print(struct llvm_writer *w, const struct llvm_queued *q)
{
        LLVMBasicBlockRef first = llvm_begin(w, q, q->f->scalar_count);
        if (q->f->external && w->contract) {
                llvm.BuildRet(w->at, call_external(w, q->f));
                llvm_end(w, first);
                return;
        }
        llvm_block(w, q->f->body);
        if (q->is.can_fail)
                llvm.BuildRet(w->at, llvm.ConstNull(llvm.Int32TypeInContext(w->context)));
        else if (q->f->kind != FUNCTION_LIBRARY)
                llvm.BuildRetVoid(w->at);
        llvm_end(w, first);
}

/* What another module has is declared here. */
static void print_elsewhere(struct llvm_writer *w, const struct llvm_queued *q)
{
        (void)w;
        (void)q;
}

/* Makes a kernel that modules share one that they all see. */
static void share_kernel(struct llvm_writer *w, struct llvm_queued *q)
{
        const int *unit = map_get(w->units, (const char *)&q->f, sizeof q->f);
        llvm.SetLinkage(q->is.value, LLVMExternalLinkage);
        if (*unit != w->unit)
                q->print = print_elsewhere;
}

const struct llvm_function *llvm_function(struct llvm_writer *w, struct loop_function *f)
{
        struct llvm_queued *q = llvm_queued(w, f);
        if (q)
                return &q->is;
        const bool fails = f->kind != FUNCTION_LIBRARY && can_fail(f);
        q = llvm_queue(w, f, name_of(w, f), type_of(w, f, fails), print);
        q->f = f;
        q->is.can_fail = fails;
        /* Kernels stay functions: inside of one that holds them all, loops run out of registers. */
        if (f->kind == FUNCTION_KERNEL)
                llvm_attribute(w, q->is.value, (unsigned)LLVMAttributeFunctionIndex, "noinline");
        if (f->kind == FUNCTION_KERNEL && w->units)
                share_kernel(w, q);
        llvm_no_aliases(w, q->is.value, f);
        return &q->is;
}

/* ---- main ---- */

static LLVMValueRef extent_place(struct llvm_writer *w, int i)
{
        LLVMTypeRef i64 = llvm.Int64TypeInContext(w->context);
        LLVMValueRef at = llvm_index(w, i);
        return llvm.BuildGEP2(
                w->at, i64, llvm_pointer_to(w->at, llvm.GetParam(w->function, 1), i64), &at, 1, "");
}

/* Counted extents begin at their lower bounds. */
static void load_extents(struct llvm_writer *w)
{
        LLVMTypeRef i64 = llvm.Int64TypeInContext(w->context);
        for (int i = 0; i < w->p->extent_count; i++) {
                const struct loop_extent *extent = &w->p->extents[i];
                llvm_declare(w, extent->variable,
                             extent->counted
                                     ? llvm_index(w, extent->variable->low)
                                     : llvm_cast(w, llvm.BuildLoad2(w->at, i64, extent_place(w, i),
                                                                    ""),
                                                 E_I64, E_INDEX, 1));
        }
}

static void store_extents(struct llvm_writer *w)
{
        for (int i = 0; i < w->p->extent_count; i++)
                if (w->p->extents[i].counted)
                        llvm.BuildStore(w->at,
                                        llvm_cast(w, llvm_variable(w, w->p->extents[i].variable, 0),
                                                  E_INDEX, E_I64, 1),
                                        extent_place(w, i));
}

static void count_call(struct loop_stmt *s, void *count)
{
        *(int *)count += s->kind == STMT_CALL;
}

/* Finds what hooks are told, which stands behind `buffers` addresses, and the number of the entry's
 * first call. */
static void begin_hooks(struct llvm_writer *w, int buffers)
{
        LLVMTypeRef pointer = llvm_pointer_type(w->context);
        LLVMValueRef at = llvm_index(w, buffers);
        at = llvm.BuildGEP2(w->at, pointer, llvm_pointer_to(w->at, w->buffers, pointer), &at, 1,
                            "");
        w->watched = llvm.BuildLoad2(w->at, pointer, at, "watched");
        w->call_number = 0;
        for (int e = 0; e < w->p->at; e++)
                loop_block_walk(w->p->entries[e].main->body, count_call, NULL, &w->call_number);
        llvm_hook(w, -1);
}

void llvm_print_main(struct llvm_writer *w, const char *name)
{
        LLVMTypeRef pointer = llvm_pointer_type(w->context), types[] = { pointer, pointer },
                    type = llvm.FunctionType(llvm.Int32TypeInContext(w->context), types, 2, 0);
        LLVMValueRef function = llvm.AddFunction(w->module, name, type);
        int number = 0;
        for (struct loop_buffer *b = w->p->buffers; b; b = b->next)
                if (b->space != SPACE_VIEW)
                        b->number = number++;
        llvm_attributes(w, function);
        LLVMBasicBlockRef first = llvm_open(w, function);
        w->buffers = llvm.GetParam(function, 0);
        name_parameter(w, w->buffers, "buffers");
        name_parameter(w, llvm.GetParam(function, 1), "extents");
        load_extents(w);
        if (w->hooked)
                begin_hooks(w, number);
        llvm_block(w, loop_main(w->p)->body);
        w->watched = NULL;
        if (!w->failed)
                store_extents(w);
        llvm.BuildRet(w->at, llvm.ConstNull(llvm.Int32TypeInContext(w->context)));
        llvm_end(w, first);
}

void llvm_functions_of(struct llvm_writer *w,
                       void (*first_one)(struct llvm_writer *w, void *context), void *context)
{
        struct llvm_queued *first = NULL;
        w->functions = map_new(w->arena);
        w->queue_end = &first;
        first_one(w, context);
        for (const struct llvm_queued *q = first; q && !w->failed; q = q->next)
                q->print(w, q);
}
