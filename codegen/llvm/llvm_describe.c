/* SPDX-License-Identifier: MIT */
/* Prints the descriptor of an object, for callers that know none of its names: the structs that
 * codegen/c_descriptor.c prints as C, and a function that returns the address of the first. */
#include <string.h>

#include "codegen/llvm/llvm_contract.h"

static LLVMTypeRef i32_type(const struct llvm_contract *c)
{
        return llvm.Int32TypeInContext(c->w->context);
}
static LLVMTypeRef i64_type(const struct llvm_contract *c)
{
        return llvm.Int64TypeInContext(c->w->context);
}
static LLVMTypeRef pointer_type(const struct llvm_contract *c)
{
        return llvm_pointer_type(c->w->context);
}

static LLVMValueRef i32(const struct llvm_contract *c, int64_t value)
{
        return llvm.ConstInt(i32_type(c), (uint64_t)value, 1);
}
static LLVMValueRef i64(const struct llvm_contract *c, int64_t value)
{
        return llvm.ConstInt(i64_type(c), (uint64_t)value, 1);
}
static LLVMValueRef null(const struct llvm_contract *c) { return llvm.ConstNull(pointer_type(c)); }

/* ---- tables ---- */

/* Returns the address of a table that no other file sees. */
static LLVMValueRef table(struct llvm_contract *c, LLVMValueRef value, const char *name)
{
        LLVMValueRef global = llvm.AddGlobal(c->w->module, llvm.TypeOf(value), name);
        llvm.SetInitializer(global, value);
        llvm.SetGlobalConstant(global, 1);
        llvm.SetLinkage(global, LLVMPrivateLinkage);
        return llvm_constant_pointer(c->w->context, global);
}

/* Returns the address of a text. */
static LLVMValueRef text(struct llvm_contract *c, const char *bytes)
{
        LLVMValueRef value =
                llvm.ConstStringInContext(c->w->context, bytes, (unsigned)strlen(bytes), 0);
        return table(c, value, "text");
}

static LLVMValueRef array(struct llvm_contract *c, LLVMTypeRef type, LLVMValueRef *items, int count,
                          const char *name)
{
        return count ? table(c, llvm.ConstArray(type, items, (unsigned)count), name) : null(c);
}

static LLVMTypeRef struct_type(struct llvm_contract *c, LLVMValueRef *members, int count)
{
        LLVMTypeRef *types = arena_array(c->w->arena, (size_t)count, sizeof *types);
        for (int i = 0; i < count; i++)
                types[i] = llvm.TypeOf(members[i]);
        return llvm.StructTypeInContext(c->w->context, types, (unsigned)count, 0);
}

static LLVMValueRef structure(struct llvm_contract *c, LLVMValueRef *members, int count)
{
        return llvm.ConstStructInContext(c->w->context, members, (unsigned)count, 0);
}

/* ---- ports ---- */

static LLVMValueRef shape_of(struct llvm_contract *c, const struct loop_buffer *b)
{
        LLVMValueRef extents[RANK_MAX];
        const int rank = b->type ? b->type->rank : 1;
        for (int d = 0; d < rank; d++)
                extents[d] = i64(c, b->type ? type_extent(b->type, d) : b->extent);
        return array(c, i64_type(c), extents, rank, "shape");
}

static LLVMValueRef symbols_of(struct llvm_contract *c, const struct loop_buffer *b)
{
        LLVMValueRef texts[RANK_MAX];
        if (!b->extents)
                return null(c);
        for (int d = 0; d < b->type->rank; d++)
                texts[d] = b->extents[d]->op == LOOP_LITERAL
                                   ? null(c)
                                   : text(c, c_extent_of_port(c->w->arena, b, d));
        return array(c, pointer_type(c), texts, b->type->rank, "symbols");
}

static int rank_of(const struct loop_buffer *b) { return b->type ? b->type->rank : 1; }

static LLVMValueRef tensors(struct llvm_contract *c, const struct llvm_port_list *list,
                            const char *name)
{
        LLVMValueRef *items = arena_array(c->w->arena, (size_t)list->count + 1, sizeof *items);
        for (int i = 0; i < list->count; i++) {
                const struct loop_buffer *b = list->items[i];
                const struct element_info *e = &element_info[loop_buffer_element(b)];
                LLVMValueRef members[] = { text(c, b->port ? b->port : b->name),
                                           i32(c, e->onnx),
                                           i32(c, rank_of(b)),
                                           shape_of(c, b),
                                           symbols_of(c, b),
                                           i64(c, b->extent * e->bytes) };
                items[i] = structure(c, members, 6);
        }
        return list->count ? array(c, llvm.TypeOf(items[0]), items, list->count, name) : null(c);
}

/* ---- regions and state ---- */

enum { KIND_SCRATCH, KIND_STATE, KIND_WEIGHTS };

static LLVMValueRef region(struct llvm_contract *c, const char *name, int64_t size, int64_t align,
                           int kind)
{
        LLVMValueRef members[] = { text(c, name), i64(c, size), i64(c, align), i32(c, kind) };
        return structure(c, members, 4);
}

static int region_count(const struct llvm_contract *c)
{
        return 1 + c->w->p->region_count + c->has_weights + (c->states.count > 0);
}

static LLVMValueRef regions(struct llvm_contract *c)
{
        const struct loop_program *p = c->w->p;
        LLVMValueRef items[3 + REGIONS_MAX];
        int count = 0;
        items[count++] = region(c, "workspace", loop_workspace_size(p), p->workspace_align,
                                KIND_SCRATCH);
        for (int i = 0; i < p->region_count; i++)
                items[count++] = region(c, p->regions[i].name, p->regions[i].size,
                                        p->regions[i].align, KIND_SCRATCH);
        if (c->has_weights)
                items[count++] = region(c, "weights", (int64_t)c->interface->head[2], CACHE_LINE,
                                        KIND_WEIGHTS);
        if (c->states.count)
                items[count++] = region(c, "state", loop_state_size(p), STATE_ALIGN, KIND_STATE);
        return array(c, llvm.TypeOf(items[0]), items, count, "regions");
}

static LLVMValueRef state_member(struct llvm_contract *c, const struct loop_buffer *b)
{
        const bool is_scalar = !b->type || !b->type->rank;
        LLVMValueRef members[] = { text(c, b->port),
                                   text(c, b->next_port),
                                   i32(c, element_info[loop_buffer_element(b)].onnx),
                                   i32(c, b->type ? b->type->rank : 0),
                                   is_scalar ? null(c) : shape_of(c, b),
                                   symbols_of(c, b),
                                   i64(c, loop_state_offset(c->w->p, b)),
                                   i64(c, loop_buffer_bytes(b)) };
        return structure(c, members, 8);
}

static int state_count(const struct llvm_contract *c)
{
        return c->states.count + c->w->p->extent_count - loop_first_kept(c->w->p);
}

static LLVMValueRef states(struct llvm_contract *c)
{
        const struct loop_program *p = c->w->p;
        LLVMValueRef *items = arena_array(c->w->arena, (size_t)state_count(c) + 1, sizeof *items);
        int count = 0;
        for (int i = 0; i < c->states.count; i++)
                items[count++] = state_member(c, c->states.items[i]);
        for (int i = loop_first_kept(p), word = 1; i < p->extent_count; i++, word++) {
                LLVMValueRef members[] = { text(c, p->extents[i].variable->name),
                                           null(c),
                                           i32(c, element_info[E_I64].onnx),
                                           i32(c, 0),
                                           null(c),
                                           null(c),
                                           i64(c, word * STATE_WORD),
                                           i64(c, STATE_WORD) };
                items[count++] = structure(c, members, 8);
        }
        return array(c, llvm.TypeOf(items[0]), items, count, "states");
}

/* ---- run, of arrays ---- */

static LLVMValueRef loaded(struct llvm_contract *c, int parameter, LLVMTypeRef type, int number)
{
        struct llvm_writer *w = c->w;
        LLVMValueRef base = llvm_pointer_to(w->at, llvm.GetParam(w->function, (unsigned)parameter),
                                            type),
                     at = llvm_index(w, number);
        return llvm.BuildLoad2(w->at, type, llvm.BuildGEP2(w->at, type, base, &at, 1, ""), "");
}

static LLVMValueRef place_in(struct llvm_contract *c, int parameter, LLVMTypeRef type, int number)
{
        struct llvm_writer *w = c->w;
        LLVMValueRef base = llvm_pointer_to(w->at, llvm.GetParam(w->function, (unsigned)parameter),
                                            type),
                     at = llvm_index(w, number);
        return llvm_pointer_to(w->at, llvm.BuildGEP2(w->at, type, base, &at, 1, ""),
                               llvm.Int8TypeInContext(w->context));
}

/* Adds what run takes, in its order; returns how many. */
static int arguments(struct llvm_contract *c, LLVMValueRef *args)
{
        enum { REGIONS, INPUTS, OUTPUTS, EXTENTS };
        const struct loop_program *p = c->w->p;
        int count = 0, number = 0;
        for (int i = 0; i < region_count(c); i++)
                args[count++] = loaded(c, REGIONS, pointer_type(c), i);
        for (int i = 0; i < c->inputs.count; i++)
                args[count++] = loaded(c, INPUTS, pointer_type(c), i);
        for (int i = 0; i < p->extent_count; i++)
                if (llvm_takes_extent(c, i))
                        args[count++] = loaded(c, EXTENTS, i64_type(c), number++);
        for (int i = 0; i < c->outputs.count; i++)
                args[count++] = loaded(c, OUTPUTS, pointer_type(c), i);
        for (int i = 0; i < p->extent_count; i++)
                if (llvm_tells_extent(c, i))
                        args[count++] = place_in(c, EXTENTS, i64_type(c), number++);
        return count;
}

/* Prints a function of arrays, which calls run; returns its address. */
static LLVMValueRef uniform_run(struct llvm_contract *c)
{
        struct llvm_writer *w = c->w;
        LLVMTypeRef pointer = pointer_type(c), types[] = { pointer, pointer, pointer, pointer },
                    type = llvm.FunctionType(i32_type(c), types, 4, 0);
        LLVMValueRef function =
                llvm_public(c, arena_printf(w->arena, "%s.described", c->prefix), type);
        llvm.SetLinkage(function, LLVMInternalLinkage);
        LLVMBasicBlockRef first = llvm_open(w, function);
        LLVMValueRef *args = arena_array(
                w->arena,
                (size_t)(region_count(c) + c->inputs.count + c->outputs.count + w->p->extent_count),
                sizeof *args);
        const int count = arguments(c, args);
        llvm.BuildRet(w->at, llvm.BuildCall2(w->at, llvm_run_type(c), c->run, args,
                                             (unsigned)count, ""));
        llvm_end(w, first);
        return llvm_constant_pointer(w->context, function);
}

/* ---- the model ---- */

static int extent_count(const struct llvm_contract *c)
{
        int count = 0;
        for (int i = 0; i < c->w->p->extent_count; i++)
                count += llvm_takes_extent(c, i) || llvm_tells_extent(c, i);
        return count;
}

LLVMTypeRef llvm_describe_type(struct llvm_contract *c)
{
        return llvm.FunctionType(pointer_type(c), NULL, 0, 0);
}

void llvm_describe(struct llvm_contract *c)
{
        struct llvm_writer *w = c->w;
        const bool has_state = c->states.count > 0;
        LLVMTargetDataRef layout = llvm.GetModuleDataLayout(w->module);
        LLVMValueRef inputs = tensors(c, &c->inputs, "described_inputs"),
                     outputs = tensors(c, &c->outputs, "described_outputs");
        c->regions_table = c->regions_table ? c->regions_table : regions(c);
        if (has_state && !c->states_table)
                c->states_table = states(c);
        LLVMValueRef members[] = { i32(c, has_state ? 2 : 1), i32(c, 0),
                                   text(c, w->p->name ? w->p->name : ""),
                                   i32(c, region_count(c)),   i32(c, c->inputs.count),
                                   i32(c, c->outputs.count),  i32(c, extent_count(c)),
                                   c->regions_table,          inputs,
                                   outputs,                   uniform_run(c) };
        enum { MEMBERS = sizeof members / sizeof *members, SIZE = 1 };
        LLVMTypeRef type = struct_type(c, members, MEMBERS);
        LLVMValueRef with_state[] = { llvm.ConstNull(type), i32(c, state_count(c)),
                                      has_state ? c->states_table : null(c) };
        if (has_state)
                type = struct_type(c, with_state, 3);
        members[SIZE] = i32(c, (int64_t)llvm.ABISizeOfType(layout, type));
        with_state[0] = structure(c, members, MEMBERS);
        LLVMValueRef model = table(c, has_state ? structure(c, with_state, 3) : with_state[0],
                                   "described_model");
        LLVMValueRef function =
                llvm_public(c, arena_printf(w->arena, "%s_describe", c->prefix),
                            llvm_describe_type(c));
        LLVMBasicBlockRef first = llvm_open(w, function);
        llvm.BuildRet(w->at, model);
        llvm_end(w, first);
}
