/* SPDX-License-Identifier: MIT */
/* Prints expressions. They are total and without side effects; what a choice does not choose is
 * computed as well where that costs little, and never loads. */
#include "codegen/llvm/llvm_writer.h"

static LLVMValueRef literal_of(struct llvm_writer *w, const struct loop_expr *e)
{
        return llvm_literal(w, e->type.element, llvm_lanes(w, e->type), e->literal);
}

/* ---- choices ---- */

static bool is_costly(const struct loop_expr *e)
{
        if (e->op == LOOP_LOAD || e->op == LOOP_CALL)
                return true;
        for (int i = 0; i < e->arity; i++)
                if (e->args[i] && is_costly(e->args[i]))
                        return true;
        return false;
}

static LLVMValueRef branch(struct llvm_writer *w, const struct loop_expr *e)
{
        LLVMBasicBlockRef sides[2] = { llvm_block_new(w, "then"), llvm_block_new(w, "else") },
                          after = llvm_block_new(w, "chosen");
        LLVMValueRef values[2];
        llvm.BuildCondBr(w->at, llvm_expression(w, e->args[0]), sides[0], sides[1]);
        for (int k = 0; k < 2; k++) {
                llvm.PositionBuilderAtEnd(w->at, sides[k]);
                values[k] = llvm_expression(w, e->args[1 + k]);
                sides[k] = llvm.GetInsertBlock(w->at);  /* The side may have more blocks. */
                llvm.BuildBr(w->at, after);
        }
        llvm.PositionBuilderAtEnd(w->at, after);
        LLVMValueRef phi = llvm.BuildPhi(w->at, llvm.TypeOf(values[0]), "");
        llvm.AddIncoming(phi, values, sides, 2);
        return phi;
}

static LLVMValueRef choose(struct llvm_writer *w, const struct loop_expr *e)
{
        if (llvm_lanes(w, e->args[0]->type) == 1 &&
            (is_costly(e->args[1]) || is_costly(e->args[2])))
                return branch(w, e);
        LLVMValueRef condition = llvm_expression(w, e->args[0]), a = llvm_expression(w, e->args[1]),
                     b = llvm_expression(w, e->args[2]);
        return llvm.BuildSelect(w->at, condition, a, b, "");
}

/* ---- lanes ---- */

/* Lane l is a + l * s. */
static LLVMValueRef ramp(struct llvm_writer *w, const struct loop_expr *e)
{
        const enum element t = e->type.element;
        const int lanes = e->type.lanes;
        LLVMValueRef numbers[LANES_MAX];
        for (int l = 0; l < lanes; l++) {
                union scalar n = { .i = l };
                if (element_is_float(t))
                        n.f = l;
                numbers[l] = llvm_literal(w, t, 1, n);
        }
        LLVMValueRef start = llvm_splat(w, llvm_expression(w, e->args[0]), lanes),
                     step = llvm_splat(w, llvm_expression(w, e->args[1]), lanes);
        LLVMValueRef product[] = { llvm.ConstVector(numbers, (unsigned)lanes), step };
        LLVMValueRef sum[] = { start, llvm_operation(w, LOOP_MUL, t, lanes, product) };
        return llvm_operation(w, LOOP_ADD, t, lanes, sum);
}

static LLVMValueRef lane(struct llvm_writer *w, const struct loop_expr *e)
{
        return llvm.BuildExtractElement(
                w->at, llvm_expression(w, e->args[0]),
                llvm.ConstInt(llvm.Int32TypeInContext(w->context), e->args[1]->literal.u, 0), "");
}

static LLVMValueRef fold(struct llvm_writer *w, const struct loop_expr *e)
{
        const enum loop_opcode op = e->op == LOOP_SUM_LANES   ? LOOP_ADD
                                    : e->op == LOOP_MAX_LANES ? LOOP_MAX
                                                              : LOOP_MIN;
        return llvm_fold_lanes(w, op, e->args[0]->type.element, llvm_expression(w, e->args[0]),
                               e->args[0]->type.lanes);
}

/* ---- all expressions ---- */

static LLVMValueRef fma_of(struct llvm_writer *w, const struct loop_expr *e)
{
        const enum element t = e->type.element;
        const int lanes = llvm_lanes(w, e->type);
        LLVMValueRef args[3];
        for (int i = 0; i < 3; i++)
                args[i] = llvm_expression(w, e->args[i]);
        if (!target_has_fma(lanes > 1 ? target_widest(w->target) : w->target))
                return llvm_call_library(w, t == E_F32 ? "fma_f32" : "fma_f64", t, lanes, args, 3);
        LLVMTypeRef type = llvm_type(w, e->type);
        return llvm_intrinsic(w, "llvm.fma", &type, 1, args, 3);
}

static LLVMValueRef operation(struct llvm_writer *w, const struct loop_expr *e)
{
        LLVMValueRef args[3] = { 0 };
        for (int i = 0; i < e->arity; i++)
                args[i] = llvm_expression(w, e->args[i]);
        return llvm_operation(w, e->op, e->args[0]->type.element, llvm_lanes(w, e->args[0]->type),
                              args);
}

static LLVMValueRef convert(struct llvm_writer *w, const struct loop_expr *e)
{
        const struct loop_expr *a = e->args[0];
        return (e->op == LOOP_CAST ? llvm_cast : llvm_bitcast)(
                w, llvm_expression(w, a), a->type.element, e->type.element, llvm_lanes(w, e->type));
}

static LLVMValueRef any_expression(struct llvm_writer *w, const struct loop_expr *e)
{
        switch (e->op) {
        case LOOP_LITERAL: return literal_of(w, e);
        case LOOP_VARIABLE: return llvm_variable(w, e->variable, 0);
        case LOOP_TILE_ENTRY:
                return llvm_variable(w, e->variable,
                                     (int)e->literal.i * e->variable->columns + e->column);
        case LOOP_LOAD: return llvm_load_expr(w, e);
        case LOOP_CALL: return llvm_call(w, e);
        case LOOP_CAST:
        case LOOP_BITCAST: return convert(w, e);
        case LOOP_SELECT: return choose(w, e);
        case LOOP_FMA: return fma_of(w, e);
        case LOOP_SPLAT: return llvm_splat(w, llvm_expression(w, e->args[0]), e->type.lanes);
        case LOOP_RAMP: return ramp(w, e);
        case LOOP_LANE: return lane(w, e);
        case LOOP_SUM_LANES:
        case LOOP_MAX_LANES:
        case LOOP_MIN_LANES: return fold(w, e);
        case LOOP_INTERLEAVE_LOW:
        case LOOP_INTERLEAVE_HIGH: {
                LLVMValueRef a = llvm_expression(w, e->args[0]), b = llvm_expression(w, e->args[1]);
                return llvm_interleave(w, a, b, e->type.lanes, e->op == LOOP_INTERLEAVE_HIGH);
        }
        default: return operation(w, e);
        }
}

LLVMValueRef llvm_expression(struct llvm_writer *w, const struct loop_expr *e)
{
        if (w->failed || w->depth > EXPR_DEPTH_MAX)
                llvm_fail(w, EXIT_INTERNAL, "an expression nests more than %d deep",
                          EXPR_DEPTH_MAX);
        if (w->failed)
                return llvm.GetUndef(llvm_type(w, e->type));
        w->depth++;
        LLVMValueRef value = any_expression(w, e);
        w->depth--;
        return value;
}
