/* SPDX-License-Identifier: MIT */
/* Prints the functions that callers of an object know, with the contract of the C file
 * (docs/interface.md): PREFIX_run of each entry, which checks its arguments, gives buffers their
 * places and computes, and PREFIX_state_reset. llvm_describe.c has the descriptor. */
#include <stdlib.h>
#include <string.h>

#include "codegen/llvm/llvm_contract.h"
#include "ir/loop/fail_codes.h"

struct llvm_port_list llvm_ports(struct llvm_contract *c, enum loop_space space)
{
        struct llvm_port_list list = { 0 };
        for (const struct loop_buffer *b = c->w->p->buffers; b; b = b->next)
                if (b->space == space && (space == SPACE_STATE || b->entry == c->entry)) {
                        ARENA_GROW(c->w->arena, list.items, list.count);
                        list.items[list.count++] = b;
                }
        return list;
}

bool llvm_takes_extent(const struct llvm_contract *c, int i)
{
        return i < loop_given_extents(c->w->p) && loop_extent_is_of(c->w->p, i, c->entry);
}

bool llvm_tells_extent(const struct llvm_contract *c, int i)
{
        const struct loop_program *p = c->w->p;
        return p->extents[i].counted && loop_extent_is_told(p, i) &&
               loop_extent_is_of(p, i, c->entry);
}

/* ---- the parameters, in their order ---- */

static void add_type(struct llvm_contract *c, LLVMTypeRef **types, int *count, LLVMTypeRef type)
{
        ARENA_GROW(c->w->arena, *types, *count);
        (*types)[(*count)++] = type;
}

LLVMTypeRef llvm_run_type(struct llvm_contract *c)
{
        const struct loop_program *p = c->w->p;
        LLVMTypeRef *types = NULL, pointer = llvm_pointer_type(c->w->context),
                    i64 = llvm.Int64TypeInContext(c->w->context);
        int count = 0;
        const int regions = 1 + p->region_count + c->has_weights + (c->states.count > 0);
        for (int i = 0; i < regions + c->inputs.count; i++)
                add_type(c, &types, &count, pointer);
        for (int i = 0; i < p->extent_count; i++)
                if (llvm_takes_extent(c, i))
                        add_type(c, &types, &count, i64);
        for (int i = 0; i < c->outputs.count; i++)
                add_type(c, &types, &count, pointer);
        for (int i = 0; i < p->extent_count; i++)
                if (llvm_tells_extent(c, i))
                        add_type(c, &types, &count, pointer);
        return llvm.FunctionType(llvm.Int32TypeInContext(c->w->context), types, (unsigned)count, 0);
}

static LLVMValueRef take(struct llvm_contract *c, int *next, const char *name)
{
        LLVMValueRef value = llvm.GetParam(c->w->function, (unsigned)(*next)++);
        if (c->w->named)
                llvm.SetValueName2(value, name, strlen(name));
        return value;
}

/* Notes what is in which parameter. */
static void take_parameters(struct llvm_contract *c)
{
        struct loop_program const *p = c->w->p;
        int next = 0;
        c->regions = arena_array(c->w->arena, (size_t)p->region_count + 1, sizeof *c->regions);
        c->given = arena_array(c->w->arena, (size_t)p->extent_count + 1, sizeof *c->given);
        c->told = arena_array(c->w->arena, (size_t)p->extent_count + 1, sizeof *c->told);
        c->ports = map_new(c->w->arena);
        c->regions[0] = take(c, &next, "workspace");
        for (int i = 0; i < p->region_count; i++)
                c->regions[1 + i] = take(c, &next, p->regions[i].name);
        c->weights = c->has_weights ? take(c, &next, "weights") : NULL;
        c->state = c->states.count ? take(c, &next, "state") : NULL;
        for (int i = 0; i < c->inputs.count; i++)
                map_set(c->ports, (const char *)&c->inputs.items[i], sizeof(void *),
                        take(c, &next, c->inputs.items[i]->name));
        for (int i = 0; i < p->extent_count; i++)
                if (llvm_takes_extent(c, i))
                        c->given[i] = take(c, &next, p->extents[i].variable->name);
        for (int i = 0; i < c->outputs.count; i++)
                map_set(c->ports, (const char *)&c->outputs.items[i], sizeof(void *),
                        take(c, &next, c->outputs.items[i]->name));
        for (int i = 0; i < p->extent_count; i++)
                if (llvm_tells_extent(c, i))
                        c->told[i] = take(c, &next, p->extents[i].variable->name);
}

/* ---- places of buffers ---- */

static LLVMValueRef moved(struct llvm_contract *c, LLVMValueRef base, int64_t bytes)
{
        struct llvm_writer *w = c->w;
        LLVMValueRef by = llvm_index(w, bytes);
        return llvm.BuildGEP2(w->at, llvm.Int8TypeInContext(w->context), base, &by, 1, "");
}

/* Returns the constant's bytes as the processor reads them. */
static LLVMValueRef constant_bytes(struct llvm_contract *c, const struct loop_buffer *b)
{
        struct llvm_writer *w = c->w;
        const size_t size = (size_t)element_info[b->element].bytes,
                     bytes = (size_t)b->extent * size;
        const char *data = b->data;
        const bool is_reversed = w->target->big_endian && size > 1;
        if (b->splat || is_reversed) {
                char *copy = memory_alloc(bytes + 1);
                for (size_t i = 0; i < bytes; i++)
                        copy[i] = data[(b->splat ? 0 : i / size * size) +
                                       (is_reversed ? size - 1 - i % size : i % size)];
                LLVMValueRef value =
                        llvm.ConstStringInContext(w->context, copy, (unsigned)bytes, 1);
                free(copy);
                return value;
        }
        return llvm.ConstStringInContext(w->context, data, (unsigned)bytes, 1);
}

/* Returns the constant as a global of the module, which it gets when it is used first. */
static LLVMValueRef constant_global(struct llvm_contract *c, const struct loop_buffer *b)
{
        struct llvm_writer *w = c->w;
        LLVMValueRef known = map_get(c->globals, (const char *)&b, sizeof b);
        const int64_t bytes = b->extent * element_info[b->element].bytes;
        if (known)
                return known;
        if (bytes > UINT32_MAX) {
                llvm_fail(w, EXIT_UNSUPPORTED,
                          "a constant of %lld bytes does not go into an object: --weights=file",
                          (long long)bytes);
                return llvm.ConstNull(llvm_pointer_type(w->context));
        }
        LLVMValueRef value = constant_bytes(c, b),
                     global = llvm.AddGlobal(w->module, llvm.TypeOf(value), b->name);
        /* Rows of wide vectors do not straddle lines. */
        const bool is_wide = target_has_wide_registers(w->target) && bytes >= CACHE_LINE;
        llvm.SetInitializer(global, value);
        llvm.SetGlobalConstant(global, 1);
        llvm.SetLinkage(global, LLVMPrivateLinkage);
        llvm.SetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
        llvm.SetAlignment(global, is_wide ? CACHE_LINE : (unsigned)element_info[b->element].bytes);
        LLVMValueRef pointer = llvm_constant_pointer(w->context, global);
        map_set(c->globals, (const char *)&b, sizeof b, pointer);
        return pointer;
}

static LLVMValueRef constant_place(struct llvm_contract *c, const struct loop_buffer *b)
{
        for (int i = 0; i < c->interface->weight_count; i++)
                if (c->interface->weights[i].buffer == b)
                        return moved(c, c->weights, (int64_t)c->interface->weights[i].offset);
        return constant_global(c, b);
}

/* Returns where a buffer that is no view lies, while run is printed. */
static LLVMValueRef place(struct llvm_writer *w, const struct loop_buffer *b)
{
        struct llvm_contract *c = w->contract;
        switch (b->space) {
        case SPACE_CONSTANT: return constant_place(c, b);
        case SPACE_STATE: return moved(c, c->state, loop_state_offset(w->p, b));
        case SPACE_WORKSPACE: return moved(c, c->regions[b->region], b->offset);
        default: return map_get(c->ports, (const char *)&b, sizeof b);
        }
}

/* ---- checks ---- */

static LLVMValueRef code_of(struct llvm_contract *c, int code)
{
        return llvm.ConstInt(llvm.Int32TypeInContext(c->w->context), (uint64_t)(int64_t)code, 1);
}

static void add_or(struct llvm_contract *c, LLVMValueRef *all, LLVMValueRef one)
{
        *all = *all ? llvm.BuildOr(c->w->at, *all, one, "") : one;
}

/* Returns the code where the condition holds; NULL: it never does. */
static void return_if(struct llvm_contract *c, LLVMValueRef condition, enum fail_code code)
{
        struct llvm_writer *w = c->w;
        if (!condition)
                return;
        LLVMBasicBlockRef wrong = llvm_block_new(w, "wrong"), fine = llvm_block_new(w, "right");
        llvm.BuildCondBr(w->at, condition, wrong, fine);
        llvm.PositionBuilderAtEnd(w->at, wrong);
        llvm.BuildRet(w->at, code_of(c, code));
        llvm.PositionBuilderAtEnd(w->at, fine);
}

static LLVMValueRef outside(struct llvm_contract *c, LLVMValueRef value, int64_t low, int64_t high)
{
        struct llvm_writer *w = c->w;
        LLVMTypeRef type = llvm.TypeOf(value);
        LLVMValueRef least = llvm.ConstInt(type, (uint64_t)low, 1),
                     most = llvm.ConstInt(type, (uint64_t)high, 1);
        return llvm.BuildOr(w->at, llvm.BuildICmp(w->at, LLVMIntSLT, value, least, ""),
                            llvm.BuildICmp(w->at, LLVMIntSGT, value, most, ""), "");
}

static void check_extents(struct llvm_contract *c)
{
        LLVMValueRef wrong = NULL;
        for (int i = 0; i < c->w->p->extent_count; i++) {
                const struct loop_variable *v = c->w->p->extents[i].variable;
                if (c->given[i])
                        add_or(c, &wrong, outside(c, c->given[i], v->low, v->high));
        }
        return_if(c, wrong, FAIL_EXTENT);
}

static LLVMValueRef is_null(struct llvm_contract *c, LLVMValueRef pointer)
{
        return llvm.BuildICmp(c->w->at, LLVMIntEQ, pointer, llvm.ConstNull(llvm.TypeOf(pointer)),
                              "");
}

/* Has the port elements in this run? NULL: it always has. */
static LLVMValueRef is_not_empty(struct llvm_contract *c, const struct loop_buffer *b)
{
        struct llvm_writer *w = c->w;
        LLVMValueRef all = NULL;
        for (int d = 0; b->extents && d < b->type->rank; d++) {
                const struct loop_expr *e = b->extents[d];
                const int i =
                        e->op == LOOP_VARIABLE ? loop_extent_number(w->p, e->variable) : -1;
                if (i < 0 || e->variable->low > 0 || !c->given[i])
                        continue;
                LLVMValueRef some =
                        llvm.BuildICmp(w->at, LLVMIntSGT, c->given[i],
                                       llvm.ConstNull(llvm.TypeOf(c->given[i])), "");
                all = all ? llvm.BuildAnd(w->at, all, some, "") : some;
        }
        return all;
}

static void check_null_ports(struct llvm_contract *c, const struct llvm_port_list *list,
                             LLVMValueRef *wrong)
{
        for (int i = 0; i < list->count; i++) {
                const struct loop_buffer *b = list->items[i];
                if (!b->extent)
                        continue;
                LLVMValueRef some = is_not_empty(c, b),
                             null = is_null(c, map_get(c->ports, (const char *)&b, sizeof b));
                add_or(c, wrong, some ? llvm.BuildAnd(c->w->at, some, null, "") : null);
        }
}

static void check_null(struct llvm_contract *c)
{
        const struct loop_program *p = c->w->p;
        LLVMValueRef wrong = NULL;
        if (loop_workspace_size(p) > 0)
                add_or(c, &wrong, is_null(c, c->regions[0]));
        for (int i = 0; i < p->region_count; i++)
                if (p->regions[i].size)
                        add_or(c, &wrong, is_null(c, c->regions[1 + i]));
        if (c->weights)
                add_or(c, &wrong, is_null(c, c->weights));
        if (c->state)
                add_or(c, &wrong, is_null(c, c->state));
        check_null_ports(c, &c->inputs, &wrong);
        check_null_ports(c, &c->outputs, &wrong);
        for (int i = 0; i < p->extent_count; i++)
                if (c->told[i])
                        add_or(c, &wrong, is_null(c, c->told[i]));
        return_if(c, wrong, FAIL_NULL);
}

static void add_alignment(struct llvm_contract *c, LLVMValueRef *wrong, LLVMValueRef pointer,
                          int64_t align)
{
        struct llvm_writer *w = c->w;
        if (align < 2)
                return;
        LLVMTypeRef type = llvm_element_type(w, E_INDEX);
        LLVMValueRef rest = llvm.BuildURem(w->at, llvm.BuildPtrToInt(w->at, pointer, type, ""),
                                           llvm_index(w, align), "");
        add_or(c, wrong, llvm.BuildICmp(w->at, LLVMIntNE, rest, llvm.ConstNull(type), ""));
}

static void check_alignment(struct llvm_contract *c)
{
        const struct loop_program *p = c->w->p;
        const struct llvm_port_list *const lists[] = { &c->inputs, &c->outputs };
        LLVMTargetDataRef layout = llvm.GetModuleDataLayout(c->w->module);
        LLVMValueRef wrong = NULL;
        if (loop_workspace_size(p) > 0)
                add_alignment(c, &wrong, c->regions[0], p->workspace_align);
        for (int i = 0; i < p->region_count; i++)
                if (p->regions[i].size)
                        add_alignment(c, &wrong, c->regions[1 + i], p->regions[i].align);
        if (c->weights)
                add_alignment(c, &wrong, c->weights, CACHE_LINE);
        if (c->state)
                add_alignment(c, &wrong, c->state, STATE_ALIGN);
        for (int k = 0; k < 2; k++)
                for (int i = 0; i < lists[k]->count; i++) {
                        const struct loop_buffer *b = lists[k]->items[i];
                        if (b->extent)
                                add_alignment(c, &wrong,
                                              map_get(c->ports, (const char *)&b, sizeof b),
                                              llvm.ABIAlignmentOfType(
                                                      layout,
                                                      llvm_memory_type(c->w, b->element, 1)));
                }
        return_if(c, wrong, FAIL_ALIGNMENT);
}

/* ---- words in memory ---- */

static LLVMValueRef word_place(struct llvm_contract *c, LLVMValueRef base, int number)
{
        return llvm_pointer_to(c->w->at, moved(c, base, (int64_t)sizeof(uint64_t) * number),
                               llvm.Int64TypeInContext(c->w->context));
}

static LLVMValueRef load_word(struct llvm_contract *c, LLVMValueRef base, int number)
{
        return llvm.BuildLoad2(c->w->at, llvm.Int64TypeInContext(c->w->context),
                               word_place(c, base, number), "");
}

static LLVMValueRef word(struct llvm_contract *c, uint64_t value)
{
        return llvm.ConstInt(llvm.Int64TypeInContext(c->w->context), value, 0);
}

/* Extents that are state stand behind the first word. */
static int kept_word(const struct llvm_contract *c, int extent)
{
        return 1 + extent - loop_first_kept(c->w->p);
}

static void check_state(struct llvm_contract *c)
{
        struct llvm_writer *w = c->w;
        LLVMValueRef mark = word(c, c->interface->state_mark);
        if (!c->state)
                return;
        if (!c->options->unchecked) {
                LLVMValueRef build = load_word(c, c->state, 0),
                             is_used = llvm.BuildICmp(w->at, LLVMIntNE, build, word(c, 0), ""),
                             is_other = llvm.BuildICmp(w->at, LLVMIntNE, build, mark, "");
                return_if(c, llvm.BuildAnd(w->at, is_used, is_other, ""), FAIL_STATE);
                LLVMValueRef wrong = NULL;
                for (int i = loop_first_kept(w->p); i < w->p->extent_count; i++)
                        add_or(c, &wrong, outside(c, load_word(c, c->state, kept_word(c, i)), 0,
                                                  w->p->extents[i].variable->high));
                return_if(c, wrong, FAIL_FULL);
        }
        llvm.BuildStore(w->at, mark, word_place(c, c->state, 0));
}

static void check_weights(struct llvm_contract *c)
{
        LLVMValueRef wrong = NULL;
        if (!c->weights || c->options->unchecked)
                return;
        for (int i = 0; i < 8; i++)
                add_or(c, &wrong,
                       llvm.BuildICmp(c->w->at, LLVMIntNE, load_word(c, c->weights, i),
                                      word(c, c->interface->head[i]), ""));
        return_if(c, wrong, FAIL_WEIGHTS);
}

/* ---- run ---- */

static void declare_extents(struct llvm_contract *c)
{
        struct llvm_writer *w = c->w;
        for (int i = 0; i < w->p->extent_count; i++) {
                const struct loop_extent *extent = &w->p->extents[i];
                LLVMValueRef value = c->given[i]                       ? c->given[i]
                                     : extent->kept && c->state ? load_word(c, c->state,
                                                                            kept_word(c, i))
                                                                       : NULL;
                if (value)
                        llvm_declare(w, extent->variable,
                                     llvm_cast(w, value, E_I64, E_INDEX, 1));
                else if (extent->counted)
                        llvm_declare(w, extent->variable, llvm_index(w, extent->variable->low));
        }
}

static void store_extents(struct llvm_contract *c)
{
        struct llvm_writer *w = c->w;
        const struct loop_program *p = w->p;
        for (int i = 0; i < p->extent_count; i++)
                if (c->told[i])
                        llvm.BuildStore(w->at,
                                        llvm_cast(w, llvm_variable(w, p->extents[i].variable, 0),
                                                  E_INDEX, E_I64, 1),
                                        word_place(c, c->told[i], 0));
        for (int i = loop_first_kept(p); i < p->extent_count && c->state; i++) {
                const struct loop_expr *next = loop_next_extent(&p->entries[c->entry], i);
                if (next)
                        llvm.BuildStore(w->at,
                                        llvm_cast(w, llvm_expression(w, next), next->type.element,
                                                  E_I64, 1),
                                        word_place(c, c->state, kept_word(c, i)));
        }
}

LLVMValueRef llvm_public(struct llvm_contract *c, const char *name, LLVMTypeRef type)
{
        LLVMValueRef function = llvm.GetNamedFunction(c->w->module, name);
        if (function)
                return function;
        function = llvm.AddFunction(c->w->module, name, type);
        llvm_attributes(c->w, function);
        /* Some processors want an int in all bits of its register. */
        if (llvm.GetReturnType(type) == llvm.Int32TypeInContext(c->w->context))
                llvm_attribute(c->w, function, (unsigned)LLVMAttributeReturnIndex, "signext");
        return function;
}

static LLVMTypeRef reset_type(struct llvm_contract *c)
{
        LLVMTypeRef pointer = llvm_pointer_type(c->w->context);
        return llvm.FunctionType(llvm.VoidTypeInContext(c->w->context), &pointer, 1, 0);
}

static const char *name_of(struct llvm_contract *c, const char *prefix, const char *name)
{
        return arena_printf(c->w->arena, "%s_%s", prefix, name);
}

void llvm_declare_public(struct llvm_contract *c)
{
        llvm_public(c, name_of(c, c->prefix, "run"), llvm_run_type(c));
        if (c->options->descriptor)
                llvm_public(c, name_of(c, c->prefix, "describe"), llvm_describe_type(c));
        if (c->states.count)
                llvm_public(c, name_of(c, c->options->prefix, "state_reset"), reset_type(c));
}

void llvm_run(struct llvm_contract *c)
{
        struct llvm_writer *w = c->w;
        LLVMValueRef function = llvm_public(c, name_of(c, c->prefix, "run"), llvm_run_type(c));
        LLVMBasicBlockRef first = llvm_open(w, function);
        c->run = function;
        w->place = place;
        take_parameters(c);
        if (!c->options->unchecked) {
                check_extents(c);
                check_null(c);
                check_alignment(c);
        }
        check_state(c);
        check_weights(c);
        declare_extents(c);
        llvm_block(w, w->p->entries[c->entry].main->body);
        if (!w->failed)
                store_extents(c);
        llvm.BuildRet(w->at, llvm.ConstNull(llvm.Int32TypeInContext(w->context)));
        llvm_end(w, first);
        w->place = NULL;
}

/* Zero bytes are a state from which a sequence begins. */
void llvm_state_reset(struct llvm_contract *c)
{
        struct llvm_writer *w = c->w;
        LLVMValueRef function =
                llvm_public(c, name_of(c, c->options->prefix, "state_reset"), reset_type(c));
        LLVMBasicBlockRef first = llvm_open(w, function);
        LLVMValueRef state = llvm.GetParam(function, 0),
                     zero = llvm_index(w, 0),
                     bytes = llvm_index(w, loop_state_size(w->p));
        struct llvm_loop l = llvm_loop(w, zero, bytes, true);
        LLVMValueRef at =
                llvm.BuildGEP2(w->at, llvm.Int8TypeInContext(w->context), state, &l.index, 1, "");
        llvm.BuildStore(w->at, word(c, 0),
                        llvm_pointer_to(w->at, at, llvm.Int64TypeInContext(w->context)));
        llvm_loop_end(w, &l, (int64_t)sizeof(uint64_t), false);
        llvm.BuildRetVoid(w->at);
        llvm_end(w, first);
}
