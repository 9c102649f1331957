/* SPDX-License-Identifier: MIT */
/* Prints statements. Where control flow joins, each variable that was set on the way gets a phi. */
#include <string.h>

#include "codegen/llvm/llvm_writer.h"
#include "ir/loop/loop_grid.h"

LLVMBasicBlockRef llvm_block_new(struct llvm_writer *w, const char *name)
{
        return llvm.AppendBasicBlockInContext(w->context, w->function, w->named ? name : "");
}

/* ---- variables ---- */

static int entries_of(const struct loop_variable *v) { return v->rows ? v->rows * v->columns : 1; }

static bool is_declared(const struct llvm_writer *w, const struct loop_variable *v)
{
        return v->number >= 0 && v->number < w->slot_count && w->slots[v->number].variable == v &&
               w->slots[v->number].function == w->function_number;
}

static void reserve(struct llvm_writer *w, struct loop_variable *v)
{
        const bool is_known =
                v->number >= 0 && v->number < w->slot_count && w->slots[v->number].variable == v;
        if (!is_known) {
                v->number = w->slot_count;
                for (int i = 0; i < entries_of(v); i++) {
                        ARENA_GROW(w->arena, w->slots, w->slot_count);
                        w->slots[w->slot_count++] = (struct llvm_slot){ .variable = v };
                }
        }
        for (int i = 0; i < entries_of(v); i++)
                w->slots[v->number + i].function = w->function_number;
}

static void set_value(struct llvm_writer *w, const struct loop_variable *v, int entry,
                      LLVMValueRef value)
{
        size_t length = 0;
        if (w->named && llvm.IsAInstruction(value)) {
                llvm.GetValueName2(value, &length);
                if (!length)
                        llvm.SetValueName2(value, v->name, strlen(v->name));
        }
        w->slots[v->number + entry].value = value;
}

void llvm_declare(struct llvm_writer *w, struct loop_variable *v, LLVMValueRef value)
{
        reserve(w, v);
        for (int i = 0; i < entries_of(v); i++)
                set_value(w, v, i, value);
}

LLVMValueRef llvm_variable(struct llvm_writer *w, const struct loop_variable *v, int entry)
{
        if (is_declared(w, v))
                return w->slots[v->number + entry].value;
        llvm_fail(w, EXIT_INTERNAL, "variable %s is used where it is not declared", v->name);
        return llvm.GetUndef(llvm_type(w, v->type));
}

/* ---- what a block sets ---- */

struct join {
        struct llvm_writer *w;
        int *slots, count;              /* These slots are set in the block, and declared before. */
        LLVMValueRef *before, *phis;
};

static void find_set(struct loop_stmt *s, void *context)
{
        struct join *j = context;
        if (s->kind != STMT_SET || !is_declared(j->w, s->variable))
                return;
        const struct loop_variable *v = s->variable;
        const int slot = v->number + (v->rows ? s->row * v->columns + s->column : 0);
        for (int i = 0; i < j->count; i++)
                if (j->slots[i] == slot)
                        return;
        ARENA_GROW(j->w->arena, j->slots, j->count);
        j->slots[j->count++] = slot;
}

static struct join join_of(struct llvm_writer *w, struct loop_block *a, struct loop_block *b)
{
        struct join j = { .w = w };
        loop_block_walk(a, find_set, NULL, &j);
        if (b)
                loop_block_walk(b, find_set, NULL, &j);
        j.before = arena_array(w->arena, (size_t)j.count + 1, sizeof *j.before);
        j.phis = arena_array(w->arena, (size_t)j.count + 1, sizeof *j.phis);
        for (int i = 0; i < j.count; i++)
                j.before[i] = w->slots[j.slots[i]].value;
        return j;
}

/* Begins a block that is reached from `from`, with the values before, and from where join_add
 * says. */
static void join_begin(struct join *j, LLVMBasicBlockRef from)
{
        struct llvm_writer *w = j->w;
        for (int i = 0; i < j->count; i++) {
                struct llvm_slot *slot = &w->slots[j->slots[i]];
                j->phis[i] = llvm.BuildPhi(w->at, llvm.TypeOf(j->before[i]), "");
                if (from)
                        llvm.AddIncoming(j->phis[i], &j->before[i], &from, 1);
                set_value(w, slot->variable, j->slots[i] - slot->variable->number, j->phis[i]);
        }
}

/* The block is reached from `from`, too, with these values of the slots; NULL: those that they have
 * now. */
static void join_add(const struct join *j, LLVMBasicBlockRef from, LLVMValueRef *values)
{
        for (int i = 0; i < j->count; i++) {
                LLVMValueRef *value = values ? &values[i] : &j->w->slots[j->slots[i]].value;
                llvm.AddIncoming(j->phis[i], value, &from, 1);
        }
}

static LLVMValueRef *values_now(const struct join *j)
{
        LLVMValueRef *values = arena_array(j->w->arena, (size_t)j->count + 1, sizeof *values);
        for (int i = 0; i < j->count; i++)
                values[i] = j->w->slots[j->slots[i]].value;
        return values;
}

static void restore(const struct join *j, LLVMValueRef *values)
{
        for (int i = 0; i < j->count; i++)
                j->w->slots[j->slots[i]].value = values[i];
}

/* ---- control flow ---- */

/* Does a loop that runs to the end never wrap? It does not where each step is 1, since the index is
 * below the end then, or where the end is a number. */
static bool never_wraps(const struct loop_expr *end, int64_t step)
{
        int64_t value;                  /* Subscripts may have 32 bits. */
        return step == 1 || (loop_is_int(end, &value) && value <= INT32_MAX - step);
}

struct llvm_loop llvm_loop(struct llvm_writer *w, LLVMValueRef begin, LLVMValueRef end,
                           bool is_entered)
{
        struct llvm_loop l = { .end = end, .is_entered = is_entered };
        l.before = llvm.GetInsertBlock(w->at);
        l.body = llvm_block_new(w, "loop");
        l.after = llvm_block_new(w, "after");
        if (l.is_entered)
                llvm.BuildBr(w->at, l.body);
        else
                llvm.BuildCondBr(w->at, llvm.BuildICmp(w->at, LLVMIntSLT, begin, l.end, ""), l.body,
                                 l.after);
        llvm.PositionBuilderAtEnd(w->at, l.body);
        l.index = llvm.BuildPhi(w->at, llvm.TypeOf(begin), "");
        llvm.AddIncoming(l.index, &begin, &l.before, 1);
        return l;
}

LLVMBasicBlockRef llvm_loop_end(struct llvm_writer *w, const struct llvm_loop *l, int64_t step,
                                bool wraps)
{
        LLVMValueRef by = llvm.ConstInt(llvm.TypeOf(l->index), (uint64_t)step, 0);
        LLVMValueRef next = (wraps ? llvm.BuildAdd : llvm.BuildNSWAdd)(w->at, l->index, by, "");
        LLVMBasicBlockRef latch = llvm.GetInsertBlock(w->at);
        llvm.AddIncoming(l->index, &next, &latch, 1);
        llvm.BuildCondBr(w->at, llvm.BuildICmp(w->at, LLVMIntSLT, next, l->end, ""), l->body,
                         l->after);
        llvm.PositionBuilderAtEnd(w->at, l->after);
        return latch;
}

static void put_for(struct llvm_writer *w, const struct loop_stmt *s)
{
        if (loop_for_is_grid(s->for_kind)) {
                llvm_fail(w, EXIT_UNSUPPORTED, "LLVM's printer has no grid of blocks");
                return;
        }
        int64_t first, last;
        LLVMValueRef begin = llvm_expression(w, s->a), end = llvm_expression(w, s->b);
        struct llvm_loop l = llvm_loop(w, begin, end, loop_is_int(s->a, &first) &&
                                                              loop_is_int(s->b, &last) &&
                                                              first < last);
        struct join body = join_of(w, s->body, NULL), after = body;
        join_begin(&body, l.before);
        after.phis = arena_array(w->arena, (size_t)after.count + 1, sizeof *after.phis);
        llvm_declare(w, s->variable, l.index);
        llvm_block(w, s->body);
        LLVMBasicBlockRef latch = llvm_loop_end(w, &l, s->step, !never_wraps(s->b, s->step));
        LLVMValueRef *values = values_now(&body);
        join_add(&body, latch, values);
        join_begin(&after, l.is_entered ? NULL : l.before);
        join_add(&after, latch, values);
}

static void put_while(struct llvm_writer *w, const struct loop_stmt *s)
{
        LLVMBasicBlockRef before = llvm.GetInsertBlock(w->at), test = llvm_block_new(w, "while"),
                          body = llvm_block_new(w, "body"), after = llvm_block_new(w, "after");
        struct join j = join_of(w, s->body, NULL);
        llvm.BuildBr(w->at, test);
        llvm.PositionBuilderAtEnd(w->at, test);
        join_begin(&j, before);
        llvm.BuildCondBr(w->at, llvm_expression(w, s->a), body, after);
        llvm.PositionBuilderAtEnd(w->at, body);
        llvm_block(w, s->body);
        join_add(&j, llvm.GetInsertBlock(w->at), NULL);
        llvm.BuildBr(w->at, test);
        llvm.PositionBuilderAtEnd(w->at, after);
        restore(&j, j.phis);
}

static void put_if(struct llvm_writer *w, const struct loop_stmt *s)
{
        const bool has_other = s->other && s->other->first;
        struct join j = join_of(w, s->body, has_other ? s->other : NULL);
        LLVMBasicBlockRef then = llvm_block_new(w, "then"), after = llvm_block_new(w, "after"),
                          other = has_other ? llvm_block_new(w, "else") : after;
        LLVMValueRef condition = llvm_expression(w, s->a);
        LLVMBasicBlockRef before = llvm.GetInsertBlock(w->at), ends[2];
        LLVMValueRef *values[2];
        llvm.BuildCondBr(w->at, condition, then, other);
        llvm.PositionBuilderAtEnd(w->at, then);
        llvm_block(w, s->body);
        ends[0] = llvm.GetInsertBlock(w->at);
        values[0] = values_now(&j);
        llvm.BuildBr(w->at, after);
        restore(&j, j.before);
        if (has_other) {
                llvm.PositionBuilderAtEnd(w->at, other);
                llvm_block(w, s->other);
                llvm.BuildBr(w->at, after);
        }
        ends[1] = has_other ? llvm.GetInsertBlock(w->at) : before;
        values[1] = values_now(&j);
        llvm.PositionBuilderAtEnd(w->at, after);
        join_begin(&j, NULL);
        for (int k = 0; k < 2; k++)
                join_add(&j, ends[k], values[k]);
}

/* What stands behind is not reached, but LLVM wants a block for it. */
static void leave(struct llvm_writer *w, LLVMValueRef code)
{
        llvm.BuildRet(w->at, code);
        llvm.PositionBuilderAtEnd(w->at, llvm_block_new(w, "unreached"));
}

static LLVMValueRef code_of(struct llvm_writer *w, int code)
{
        return llvm.ConstInt(llvm.Int32TypeInContext(w->context), (uint64_t)(int64_t)code, 1);
}

/* ---- calls ---- */

/* Leaves with what a call gave, unless it is 0. */
static void leave_unless_zero(struct llvm_writer *w, LLVMValueRef status)
{
        LLVMBasicBlockRef failed = llvm_block_new(w, "failed"), fine = llvm_block_new(w, "fine");
        llvm.BuildCondBr(w->at, llvm.BuildICmp(w->at, LLVMIntNE, status, code_of(w, 0), ""), failed,
                         fine);
        llvm.PositionBuilderAtEnd(w->at, failed);
        llvm.BuildRet(w->at, status);
        llvm.PositionBuilderAtEnd(w->at, fine);
}

void llvm_arguments(struct llvm_writer *w, const struct loop_stmt *s, LLVMValueRef *args)
{
        const int buffers = s->function->buffer_count;
        for (int i = 0; i < buffers; i++) {
                LLVMValueRef offset =
                        s->offsets && s->offsets[i] ? llvm_expression(w, s->offsets[i]) : NULL;
                args[i] = llvm_pointer_to(w->at, llvm_address(w, s->buffers[i], offset),
                                          llvm.Int8TypeInContext(w->context));
        }
        for (int i = 0; i < loop_scalar_count(s); i++)
                args[buffers + i] = llvm_expression(w, s->scalars[i]);
}

void llvm_hook(struct llvm_writer *w, int kernel)
{
        if (!w->watched)
                return;
        LLVMTypeRef types[] = { llvm_pointer_type(w->context),
                                llvm.Int32TypeInContext(w->context) },
                    type = llvm.FunctionType(llvm.VoidTypeInContext(w->context), types, 2, 0);
        LLVMValueRef watch = llvm.GetNamedFunction(w->module, LLVM_WATCH),
                     args[] = { w->watched, code_of(w, kernel) };
        if (!watch)
                watch = llvm.AddFunction(w->module, LLVM_WATCH, type);
        llvm.BuildCall2(w->at, type, watch, args, 2, "");
}

static void call(struct llvm_writer *w, const struct loop_stmt *s)
{
        struct loop_function *f = s->function;
        const int count = f->buffer_count + f->scalar_count;
        LLVMValueRef *args = arena_array(w->arena, (size_t)count + 1, sizeof *args);
        if (f->kind == FUNCTION_STREAM) {
                llvm_fail(w, EXIT_UNSUPPORTED, "LLVM's printer has no streams of machines");
                return;
        }
        llvm_arguments(w, s, args);
        const struct llvm_function *known = llvm_function(w, f);
        LLVMValueRef status =
                llvm.BuildCall2(w->at, known->type, known->value, args, (unsigned)count, "");
        if (known->can_fail)
                leave_unless_zero(w, status);
        llvm_hook(w, w->call_number++);
}

/* ---- declarations ---- */

static void put_alloc(struct llvm_writer *w, const struct loop_buffer *b)
{
        enum { LEAST = 8 };
        const unsigned align = target_has_wide_registers(w->target) ? CACHE_LINE : LEAST;
        if (loop_space_is_shared(b->space)) {
                llvm_fail(w, EXIT_UNSUPPORTED, "LLVM's printer has no shared memory");
                return;
        }
        if (b->extent > target_stack_bytes(w->target) / element_info[b->element].bytes)
                llvm_fail(w, EXIT_UNSUPPORTED, "a kernel wants %lld elements on the stack",
                          (long long)b->extent);
        LLVMBasicBlockRef here = llvm.GetInsertBlock(w->at);
        LLVMTypeRef type = llvm.ArrayType(llvm_memory_type(w, b->element, 1),
                                          (unsigned)(b->extent ? b->extent : 1));
        llvm.PositionBuilderAtEnd(w->at, w->allocas);
        LLVMValueRef memory = llvm.BuildAlloca(w->at, type, w->named ? b->name : "");
        llvm.SetAlignment(memory, align);
        llvm_set_address(w, b, memory);
        llvm.PositionBuilderAtEnd(w->at, here);
}

static void put_declaration(struct llvm_writer *w, const struct loop_stmt *s)
{
        struct loop_variable *v = s->variable;
        if (v->type.tile)
                llvm_fail(w, EXIT_UNSUPPORTED, "LLVM's printer has no hardware tiles");
        else
                llvm_declare(w, v,
                             s->a ? llvm_expression(w, s->a)
                                        : llvm.ConstNull(llvm_type(w, v->type)));
}

static void put_set(struct llvm_writer *w, const struct loop_stmt *s)
{
        const struct loop_variable *v = s->variable;
        LLVMValueRef value = llvm_expression(w, s->a);
        if (is_declared(w, v))
                set_value(w, v, v->rows ? s->row * v->columns + s->column : 0, value);
        else
                llvm_fail(w, EXIT_INTERNAL, "variable %s is set where it is not declared", v->name);
}

static void put_return(struct llvm_writer *w, const struct loop_stmt *s)
{
        LLVMValueRef value = llvm_expression(w, s->a);
        if (w->in_place)
                w->returned = value;
        else
                llvm.BuildRet(w->at, value);
}

/* ---- all statements ---- */

static void statement(struct llvm_writer *w, const struct loop_stmt *s)
{
        switch (s->kind) {
        case STMT_FOR: put_for(w, s); break;
        case STMT_WHILE: put_while(w, s); break;
        case STMT_IF: put_if(w, s); break;
        case STMT_LET:
        case STMT_VAR: put_declaration(w, s); break;
        case STMT_SET: put_set(w, s); break;
        case STMT_STORE: llvm_store(w, s); break;
        case STMT_CALL: call(w, s); break;
        case STMT_LAUNCH: llvm_launch(w, s); break;
        case STMT_FAIL: leave(w, code_of(w, s->code)); break;
        case STMT_RETURN: put_return(w, s); break;
        case STMT_ALLOC: put_alloc(w, s->buffer); break;
        case STMT_PREFETCH: llvm_prefetch(w, s); break;
        case STMT_KEEP: break;          /* A hint to C compilers. */
        case STMT_IMAGE:
                llvm_fail(w, EXIT_UNSUPPORTED, "LLVM's printer has no images");
                break;
        case STMT_TILES:
        case STMT_MULTIPLY:
        case STMT_UNLOAD:
        case STMT_SCALE:
                llvm_fail(w, EXIT_UNSUPPORTED, "LLVM's printer has no hardware tiles");
                break;
        default:
                llvm_fail(w, EXIT_UNSUPPORTED,
                          "LLVM's printer has no kernels for grids or machines");
                break;
        }
}

void llvm_block(struct llvm_writer *w, const struct loop_block *b)
{
        for (const struct loop_stmt *s = b->first; s && !w->failed; s = s->next)
                statement(w, s);
}
