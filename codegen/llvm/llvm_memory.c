/* SPDX-License-Identifier: MIT */
/* Loads and stores: of elements, of vectors side by side, under masks, by subscripts, and of words.
 * Buffers are aligned as their elements are, and no more. */
#include "codegen/llvm/llvm_writer.h"

/* ---- addresses ---- */

void llvm_set_address(struct llvm_writer *w, const struct loop_buffer *b, LLVMValueRef address)
{
        address = llvm_pointer_to(w->at, address, llvm_memory_type(w, b->element, 1));
        map_set(w->addresses, (const char *)&b, sizeof b, address);
}

/* Returns where the memory of a buffer that is no view begins. */
static LLVMValueRef base_of(struct llvm_writer *w, const struct loop_buffer *b)
{
        LLVMValueRef known = map_get(w->addresses, (const char *)&b, sizeof b);
        LLVMTypeRef pointer = llvm_pointer_type(w->context);
        if (!known && w->place)
                return llvm_pointer_to(w->at, w->place(w, b), llvm_memory_type(w, b->element, 1));
        if (known || !w->buffers) {
                if (!known)
                        llvm_fail(w, EXIT_INTERNAL, "buffer %s has no address", b->name);
                return known ? known : llvm.GetUndef(pointer);
        }
        LLVMValueRef number = llvm_index(w, b->number);
        LLVMValueRef at = llvm.BuildGEP2(
                w->at, pointer, llvm_pointer_to(w->at, w->buffers, pointer), &number, 1, "");
        return llvm_pointer_to(w->at, llvm.BuildLoad2(w->at, pointer, at, ""),
                               llvm_memory_type(w, b->element, 1));
}

static LLVMValueRef moved(struct llvm_writer *w, enum element e, LLVMValueRef base, LLVMValueRef by)
{
        return llvm.BuildGEP2(w->at, llvm_memory_type(w, e, 1), base, &by, 1, "");
}

LLVMValueRef llvm_address(struct llvm_writer *w, const struct loop_buffer *b, LLVMValueRef index)
{
        int64_t offset = 0;
        const struct loop_buffer *root =
                loop_buffer_root((struct loop_buffer *)(uintptr_t)b, &offset);
        LLVMValueRef base = base_of(w, root);
        if (offset)
                base = moved(w, root->element, base, llvm_index(w, offset));
        if (root->element != b->element)
                base = llvm_pointer_to(w->at, base, llvm_memory_type(w, b->element, 1));
        return index ? moved(w, b->element, base, index) : base;
}

/* Subscripts may be truth values or numbers of any type; those of memory have 64 bits. */
static LLVMValueRef subscript(struct llvm_writer *w, const struct loop_expr *index)
{
        return llvm_cast(w, llvm_expression(w, index), index->type.element, E_INDEX,
                         index->type.lanes);
}

static LLVMValueRef alignment_of(struct llvm_writer *w, enum element e)
{
        return llvm.ConstInt(llvm.Int32TypeInContext(w->context), (uint64_t)element_info[e].bytes,
                             0);
}

static LLVMValueRef plain_load(struct llvm_writer *w, LLVMTypeRef type, LLVMValueRef address,
                               enum element e)
{
        LLVMValueRef v = llvm.BuildLoad2(w->at, type, llvm_pointer_to(w->at, address, type), "");
        llvm.SetAlignment(v, (unsigned)element_info[e].bytes);
        return v;
}

static LLVMValueRef all_lanes(struct llvm_writer *w, int lanes)
{
        return llvm_integer(w, E_BOOL, lanes, 1);
}

/* ---- loads ---- */

static LLVMValueRef gather(struct llvm_writer *w, const struct loop_buffer *b, LLVMValueRef index,
                           LLVMValueRef mask, int lanes)
{
        LLVMTypeRef type = llvm_memory_type(w, b->element, lanes);
        LLVMValueRef pointers = llvm_address(w, b, index);
        LLVMTypeRef types[] = { type, llvm.TypeOf(pointers) };
        LLVMValueRef arguments[] = { pointers, alignment_of(w, b->element),
                                     mask ? mask : all_lanes(w, lanes), llvm.ConstNull(type) };
        return llvm_intrinsic(w, "llvm.masked.gather", types, 2, arguments, 4);
}

static LLVMValueRef masked_load(struct llvm_writer *w, const struct loop_buffer *b,
                                LLVMValueRef address, LLVMValueRef mask, int lanes)
{
        LLVMTypeRef type = llvm_memory_type(w, b->element, lanes);
        address = llvm_pointer_to(w->at, address, type);
        LLVMTypeRef types[] = { type, llvm.TypeOf(address) };
        LLVMValueRef arguments[] = { address, alignment_of(w, b->element), mask,
                                     llvm.ConstNull(type) };
        return llvm_intrinsic(w, "llvm.masked.load", types, 2, arguments, 4);
}

/* A scalar under a mask is loaded where that is true. */
static LLVMValueRef scalar_load_if(struct llvm_writer *w, const struct loop_buffer *b,
                                   LLVMValueRef address, LLVMValueRef mask)
{
        LLVMTypeRef type = llvm_memory_type(w, b->element, 1);
        LLVMBasicBlockRef before = llvm.GetInsertBlock(w->at), load = llvm_block_new(w, "load"),
                          after = llvm_block_new(w, "loaded");
        llvm.BuildCondBr(w->at, mask, load, after);
        llvm.PositionBuilderAtEnd(w->at, load);
        LLVMValueRef value = plain_load(w, type, address, b->element);
        llvm.BuildBr(w->at, after);
        llvm.PositionBuilderAtEnd(w->at, after);
        LLVMValueRef phi = llvm.BuildPhi(w->at, type, ""),
                     values[] = { llvm.ConstNull(type), value };
        LLVMBasicBlockRef blocks[] = { before, load };
        llvm.AddIncoming(phi, values, blocks, 2);
        return phi;
}

/* Words: the first element is in the lowest bits, as in memory of a little-endian processor, and
 * elements that do not fill their share are extended by their signs. */
static LLVMValueRef load_words(struct llvm_writer *w, const struct loop_expr *e)
{
        const enum element own = e->buffer->element;
        const int lanes = e->type.lanes, count = lanes * e->group,
                  share = 8 * element_info[e->type.element].bytes / e->group;
        if (w->target->big_endian)
                return llvm_expression(w, loop_words_expand(w->arena, e));
        LLVMValueRef address = llvm_address(w, e->buffer, subscript(w, e->args[0])), v;
        if (share == 8 * element_info[own].bytes)
                return plain_load(w, llvm_type(w, e->type), address, own);
        v = plain_load(w, llvm_memory_type(w, own, count), address, own);
        LLVMTypeRef wide = llvm_integer_type(w, share, count);
        v = element_info[own].class == CLASS_SINT ? llvm.BuildSExt(w->at, v, wide, "")
                                                  : llvm.BuildZExt(w->at, v, wide, "");
        return llvm.BuildBitCast(w->at, v, llvm_type(w, e->type), "");
}

LLVMValueRef llvm_load_expr(struct llvm_writer *w, const struct loop_expr *e)
{
        const struct loop_buffer *b = e->buffer;
        const int lanes = e->type.lanes;
        if (e->group)
                return load_words(w, e);
        LLVMValueRef index = subscript(w, e->args[0]),
                     mask = e->args[1] ? llvm_expression(w, e->args[1]) : NULL, v;
        if (e->args[0]->type.lanes > 1)
                v = gather(w, b, index, mask, lanes);
        else if (mask && lanes > 1)
                v = masked_load(w, b, llvm_address(w, b, index), mask, lanes);
        else if (mask)
                v = scalar_load_if(w, b, llvm_address(w, b, index), mask);
        else
                v = plain_load(w, llvm_memory_type(w, b->element, lanes), llvm_address(w, b, index),
                               b->element);
        if (b->element != E_BOOL)
                return v;
        return llvm.BuildICmp(w->at, LLVMIntNE, v, llvm.ConstNull(llvm.TypeOf(v)), "");
}

/* ---- stores ---- */

static void scatter(struct llvm_writer *w, const struct loop_buffer *b, LLVMValueRef index,
                    LLVMValueRef value, LLVMValueRef mask, int lanes)
{
        LLVMValueRef pointers = llvm_address(w, b, index);
        LLVMTypeRef types[] = { llvm.TypeOf(value), llvm.TypeOf(pointers) };
        LLVMValueRef arguments[] = { value, pointers, alignment_of(w, b->element),
                                     mask ? mask : all_lanes(w, lanes) };
        llvm_intrinsic(w, "llvm.masked.scatter", types, 2, arguments, 4);
}

static void masked_store(struct llvm_writer *w, const struct loop_buffer *b, LLVMValueRef address,
                         LLVMValueRef value, LLVMValueRef mask)
{
        address = llvm_pointer_to(w->at, address, llvm.TypeOf(value));
        LLVMTypeRef types[] = { llvm.TypeOf(value), llvm.TypeOf(address) };
        LLVMValueRef arguments[] = { value, address, alignment_of(w, b->element), mask };
        llvm_intrinsic(w, "llvm.masked.store", types, 2, arguments, 4);
}

static void plain_store(struct llvm_writer *w, enum element e, LLVMValueRef address,
                        LLVMValueRef value)
{
        address = llvm_pointer_to(w->at, address, llvm.TypeOf(value));
        llvm.SetAlignment(llvm.BuildStore(w->at, value, address), (unsigned)element_info[e].bytes);
}

static void scalar_store_if(struct llvm_writer *w, enum element e, LLVMValueRef address,
                            LLVMValueRef value, LLVMValueRef mask)
{
        LLVMBasicBlockRef store = llvm_block_new(w, "store"), after = llvm_block_new(w, "stored");
        llvm.BuildCondBr(w->at, mask, store, after);
        llvm.PositionBuilderAtEnd(w->at, store);
        plain_store(w, e, address, value);
        llvm.BuildBr(w->at, after);
        llvm.PositionBuilderAtEnd(w->at, after);
}

void llvm_store(struct llvm_writer *w, const struct loop_stmt *s)
{
        const struct loop_buffer *b = s->buffer;
        const int lanes = s->b->type.lanes;
        LLVMValueRef index = subscript(w, s->a), value = llvm_expression(w, s->b),
                     mask = s->c ? llvm_expression(w, s->c) : NULL;
        if (b->element == E_BOOL)
                value = llvm.BuildZExt(w->at, value, llvm_memory_type(w, E_BOOL, lanes), "");
        if (s->a->type.lanes > 1)
                scatter(w, b, index, value, mask, lanes);
        else if (mask && lanes > 1)
                masked_store(w, b, llvm_address(w, b, index), value, mask);
        else if (mask)
                scalar_store_if(w, b->element, llvm_address(w, b, index), value, mask);
        else
                plain_store(w, b->element, llvm_address(w, b, index), value);
}

void llvm_prefetch(struct llvm_writer *w, const struct loop_stmt *s)
{
        /* Level 0 is kept in all caches, 1 from the second on, and what is non-temporal in none. */
        static const int locality[] = { 3, 2, 0 };
        LLVMTypeRef i32 = llvm.Int32TypeInContext(w->context),
                    pointer = llvm_pointer_type(w->context);
        LLVMValueRef address =
                llvm_pointer_to(w->at, llvm_address(w, s->buffer, subscript(w, s->a)),
                                               llvm.Int8TypeInContext(w->context));
        const int level = s->code >= 0 && s->code < 3 ? s->code : 0;
        LLVMValueRef arguments[] = { address, llvm.ConstInt(i32, 0, 0),
                                     llvm.ConstInt(i32, (uint64_t)locality[level], 0),
                                     llvm.ConstInt(i32, 1, 0) };
        llvm_intrinsic(w, "llvm.prefetch", &pointer, 1, arguments, 4);
}
