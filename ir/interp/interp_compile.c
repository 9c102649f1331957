/* SPDX-License-Identifier: MIT */
/* The interpreter's compiler compiles statements, kernels and the program. */
#include <stdlib.h>
#include <string.h>

#include "ir/interp/interp_compile.h"
#include "ir/loop/stream.h"

enum { BLOCKS_MAX = 1000 };

/* ---- variables and memory ---- */

static int tile_slots(struct compiler *c, const struct loop_variable *v)
{
        int lanes = v->type.lanes;
        int64_t count = (int64_t)(v->rows ? v->rows : 1) * (v->rows ? v->columns : 1) * lanes;
        if (count > UINT16_MAX || lanes > LANES_MAX)
                compiler_fail(c, EXIT_UNSUPPORTED, "a register tile of that size");
        return c->failed ? 1 : (int)count;
}

static void compile_let(struct compiler *c, const struct loop_stmt *s)
{
        struct loop_variable *v = s->variable;
        struct form form;
        int lanes = v->type.lanes;
        if (!c->options->plain && v->type.element == E_INDEX && lanes == 1 &&
            form_of(c, s->a, &form)) {
                bool changes = false;
                for (int t = 0; t < form.count; t++)
                        changes |= form.terms[t].value.changes;
                if (!changes) { /* Each use is summed up where it stands. */
                        bind_variable(c, v, (struct cell){ .slot = -1 }, new_form(c, &form))
                                ->definition = s->a;
                        return;
                }
        }
        struct cell value = compile_expr(c, s->a, c->options->plain ? new_slots(c, lanes) : -1);
        if (value.changes) {
                int copy = new_slots(c, value.lanes);
                emit_move(c, copy, value, value.lanes);
                value = value_here(c, copy, value.lanes);
        }
        bind_variable(c, v, value, -1)->definition = s->a;
}

static void compile_var(struct compiler *c, const struct loop_stmt *s)
{
        struct loop_variable *v = s->variable;
        int count = tile_slots(c, v), slot = new_slots(c, count);
        struct cell zero = constant_bits(c, 0);
        if (s->a)
                compile_expr(c, s->a, slot);
        else if (count == 1)
                emit_move(c, slot, zero, 1);
        else
                emit(c, (struct instruction){ .code = V_SPLAT,
                                              .lanes = (uint16_t)count,
                                              .a = slot,
                                              .b = zero.slot });
        bind_variable(c, v, (struct cell){ .slot = slot, .changes = true }, -1);
        if (v->warps)
                compile_warp_variable(c, s);
}

static void compile_set(struct compiler *c, const struct loop_stmt *s)
{
        const struct loop_variable *v = s->variable;
        int slot = bound_of(c, v)->value.slot;
        if (v->rows)
                slot += (s->row * v->columns + s->column) * v->type.lanes;
        compile_expr(c, s->a, slot);
}

/* These functions compile statements on hardware tiles by what they mean, on the same slots. */
/* Returns the same slots as vectors. */
static struct loop_variable *sums_of(struct compiler *c, const struct loop_variable *tile)
{
        struct loop_variable *sums =
                loop_variable_new(c->p->arena, "sums",
                                  LOOP_VECTOR(tile->type.element, tile->type.lanes), VARIABLE_VAR);
        sums->rows = tile->rows;
        sums->columns = tile->columns;
        bind_variable(c, sums, bound_of(c, tile)->value, -1);
        return sums;
}

static void compile_tiles(struct compiler *c, const struct loop_stmt *s)
{
        const struct loop_variable *x = loop_multiplied(s);
        compile_block(c, loop_tiles_expand(c->p->arena, s, sums_of(c, s->variable),
                                           x ? sums_of(c, x) : NULL));
}

static void compile_stream(struct compiler *c, const struct loop_stmt *s)
{
        struct loop_block *block = loop_stream_expand(c->p->arena, c->machine, s);
        compile_block(c, block);
}

static void compile_store(struct compiler *c, const struct loop_stmt *s)
{
        enum loop_space space = s->buffer->space;
        struct instruction i;
        if (space == SPACE_INPUT || space == SPACE_CONSTANT) {
                compiler_fail(c, EXIT_INTERNAL, "a store to a constant or an input");
                return;
        }
        struct cell value = compile_expr(c, s->b, -1);
        int vector = compile_address(c, s->buffer, s->a, s->b->type.lanes, s->c, &i);
        if (i.lanes > value.lanes)
                value = splat(c, value, i.lanes, -1);
        i.code = (uint16_t)(load_code(c, s->buffer->element) + STORE_CODE + vector);
        i.a = value.slot;
        emit(c, i);
}

static int new_descriptor(struct compiler *c, enum element e, int64_t extent, int64_t offset)
{
        struct interp *interp = c->interp;
        interp->descriptors = compiler_grow(interp->descriptors, interp->descriptor_count,
                                            &c->descriptor_room, sizeof *interp->descriptors);
        interp->descriptors[interp->descriptor_count] = (struct descriptor){
                .extent = extent,
                .mask = ~UINT64_C(0),
                .offset = offset,
                .bytes = element_info[interp_element(e, c->options->as_double)].bytes
        };
        return interp->descriptor_count++;
}

/* Gives a buffer memory of its own for the whole run. It holds garbage when the block begins. */
static void compile_alloc(struct compiler *c, const struct loop_stmt *s)
{
        struct loop_buffer *b = s->buffer;
        int64_t offset;
        int bytes = element_info[interp_element(b->element, c->options->as_double)].bytes;
        if (!interp_reserve(c->interp, b->extent, bytes, c->options, &offset, c->diag)) {
                c->failed = true;
                return;
        }
        b->number = new_descriptor(c, b->element, b->extent, offset);
        emit(c, (struct instruction){ .code = I_ALLOC, .a = b->number });
}

/* ---- control ---- */

static void compile_loop(struct compiler *c, const struct loop_stmt *s)
{
        struct chunk chunk;
        int counter = new_slots(c, 2), copy;
        struct cell step = constant_int(c, s->step), start = compile_expr(c, s->a, -1),
                    end = compile_expr(c, s->b, -1);
        if (end.changes) {
                copy = new_slots(c, 1);
                emit_move(c, copy, end, 1);
                end = value_here(c, copy, 1);
        }
        const bool warps = s->for_kind == FOR_GPU_WARP && c->warp_variables;
        if (!warps && compile_strips(c, s, counter, start, end))
                start.slot = counter;
        chunk_open(c, &chunk, true);
        bind_variable(c, s->variable, value_here(c, counter, 1), -1);
        if (warps)
                compile_warp_body(c, s);
        else
                compile_block(c, s->body);
        loop_close(c, &chunk,
                   (struct instruction){ .code = I_LOOP_BEGIN,
                                         .a = counter,
                                         .b = start.slot,
                                         .c = end.slot },
                   (struct instruction){ .code = s->step == 1 ? I_LOOP : I_LOOP_STEP,
                                         .a = counter,
                                         .b = step.slot,
                                         .c = end.slot });
}

static void compile_while(struct compiler *c, const struct loop_stmt *s)
{
        struct chunk chunk;
        int out = new_label(c);
        chunk_open(c, &chunk, true);
        compile_jump(c, s->a, false, out);
        compile_block(c, s->body);
        loop_close(c, &chunk, (struct instruction){ 0 }, (struct instruction){ .code = I_REPEAT });
        emit_label(c, out);
}

static void compile_if(struct compiler *c, const struct loop_stmt *s)
{
        struct chunk chunk;
        int otherwise = new_label(c), end = new_label(c);
        compile_jump(c, s->a, false, otherwise);
        chunk_open(c, &chunk, false);
        compile_block(c, s->body);
        chunk_close(c, &chunk);
        if (s->other)
                emit_jump(c, I_JUMP, 0, end);
        emit_label(c, otherwise);
        if (s->other) {
                chunk_open(c, &chunk, false);
                compile_block(c, s->other);
                chunk_close(c, &chunk);
        }
        emit_label(c, end);
}

/* ---- copies ---- */

static void compile_copies(struct compiler *c, const struct loop_stmt *s)
{
        if (s->kind != STMT_ALLOC || c->late)
                compile_block(c, loop_copies_expand(c->late, c->p->arena, s));
}

/* ---- calls of kernels ---- */

static struct kernel *kernel_of(struct compiler *c, struct loop_function *f)
{
        if (f->number >= 0 && f->number < c->kernel_count && c->kernels[f->number].function == f)
                return &c->kernels[f->number];
        c->kernels =
                compiler_grow(c->kernels, c->kernel_count, &c->kernel_room, sizeof *c->kernels);
        struct kernel *k = &c->kernels[c->kernel_count];
        f->number = c->kernel_count++;
        *k = (struct kernel){ f, new_label(c), new_slots(c, 1), c->interp->descriptor_count,
                              new_slots(c, f->scalar_count) };
        for (int i = 0; i < f->buffer_count; i++)
                new_descriptor(c, f->buffers[i]->element, f->buffers[i]->extent, -1);
        return k;
}

static void bind_argument(struct compiler *c, const struct loop_stmt *s, int argument,
                          int descriptor)
{
        struct instruction i = { .code = I_BIND,
                                 .a = descriptor,
                                 .b = s->buffers[argument]->number };
        if (s->offsets && s->offsets[argument]) {
                i.code = I_BIND_PART;
                i.c = compile_expr(c, s->offsets[argument], -1).slot;
                i.d = constant_int(c, s->function->buffers[argument]->extent).slot;
        }
        emit(c, i);
}

static void compile_call(struct compiler *c, const struct loop_stmt *s)
{
        const struct kernel k = *kernel_of(c, s->function);
        for (int i = 0; i < s->function->buffer_count; i++)
                bind_argument(c, s, i, k.descriptor + i);
        for (int i = 0; i < s->function->scalar_count; i++)
                compile_expr(c, s->scalars[i], k.scalars + i);
        emit(c, (struct instruction){ .code = I_CALL, .a = k.back, .e = k.label });
}

/* Compiles a loop around the task's body, whose parameters are what the launch names. */
static void compile_launch(struct compiler *c, const struct loop_stmt *s)
{
        const struct loop_function *f = s->function;
        for (int i = 0; i < f->buffer_count; i++)
                f->buffers[i]->number = descriptor_of(c, s->buffers[i]) - c->parameters;
        for (int i = 0; i < loop_scalar_count(s); i++)
                compile_let(c, &(struct loop_stmt){ .variable = f->scalars[i],
                                                    .a = s->scalars[i] });
        compile_stmt(c, &(struct loop_stmt){ .kind = STMT_FOR,
                                             .variable = f->scalars[f->scalar_count - 1],
                                             .a = s->a,
                                             .b = s->b,
                                             .step = s->step,
                                             .body = f->body });
}

static void compile_kernel(struct compiler *c, int number)
{
        const struct kernel k = c->kernels[number];
        emit_label(c, k.label);
        c->parameters = k.descriptor;
        c->machine = k.function->machine;
        for (int i = 0; i < k.function->buffer_count; i++)
                k.function->buffers[i]->number = i;
        for (int i = 0; i < k.function->scalar_count; i++)
                bind_variable(c, k.function->scalars[i], value_here(c, k.scalars + i, 1), -1);
        c->late = c->options->late ? loop_copies_late(c->p->arena, k.function) : NULL;
        if (c->late)
                compile_block(c, loop_copies_begin(c->late));
        c->late_products = c->options->late ? loop_products_late(c->p->arena, k.function) : NULL;
        if (c->late_products)
                compile_block(c, loop_products_begin(c->late_products));
        compile_block(c, k.function->body);
        c->late = NULL;
        c->late_products = NULL;
        emit(c, (struct instruction){ .code = I_RETURN, .a = k.back });
}

/* ---- statements ---- */

void compile_stmt(struct compiler *c, const struct loop_stmt *s)
{
        switch (s->kind) {
        case STMT_FOR:
                if (c->options->plain || !compile_nest(c, s))
                        compile_loop(c, s);
                break;
        case STMT_WHILE: compile_while(c, s); break;
        case STMT_IF: compile_if(c, s); break;
        case STMT_LET: compile_let(c, s); break;
        case STMT_VAR: compile_var(c, s); break;
        case STMT_SET: compile_set(c, s); break;
        case STMT_STORE: compile_store(c, s); break;
        case STMT_CALL: compile_call(c, s); break;
        case STMT_LAUNCH: compile_launch(c, s); break;
        case STMT_IMAGE:
                compiler_fail(c, EXIT_UNSUPPORTED, "the interpreter decodes no images");
                break;
        case STMT_FAIL: emit(c, (struct instruction){ .code = I_FAIL, .a = s->code }); break;
        case STMT_RETURN:
                c->returned = compile_expr(c, s->a, c->return_into);
                if (s->a->op == LOOP_VARIABLE && s->a->variable->kind == VARIABLE_VAR)
                        c->returned.changes = false; /* Nothing sets it any more. */
                break;
        case STMT_ALLOC:
                compile_alloc(c, s);
                compile_copies(c, s);
                break;
        case STMT_COPY:
        case STMT_COMMIT: case STMT_WAIT: compile_copies(c, s); break;
        case STMT_SETTLE:
                compile_block(c, loop_products_expand(c->late_products, c->p->arena, s));
                break;
        case STMT_MULTIPLY:
                if (s->tiles.warp_group) {
                        compile_block(c, loop_products_expand(c->late_products, c->p->arena, s));
                        break;
                }
                compile_tiles(c, s);
                break;
        case STMT_SCALE:
        case STMT_TAKE:
        case STMT_GIVE:
        case STMT_UNLOAD: compile_tiles(c, s); break;
        case STMT_TRANSFER:
        case STMT_RESET:
        case STMT_PRODUCT:
        case STMT_APPLY:
        case STMT_ACTIVATE: compile_stream(c, s); break;
        case STMT_AWAIT:
        case STMT_PUSH:
        case STMT_POP:
        /* Launches follow each other. */
        case STMT_LAUNCH_WAIT: case STMT_LAUNCH_DEPENDENTS:
        case STMT_TILES: case STMT_PREFETCH: case STMT_KEEP: break;
        }
}

void compile_block(struct compiler *c, const struct loop_block *block)
{
        if (c->depth >= BLOCKS_MAX)
                compiler_fail(c, EXIT_UNSUPPORTED, "blocks are nested too deeply");
        struct warp_variable *outer = c->warp_variables;
        c->depth++;
        for (const struct loop_stmt *s = block ? block->first : NULL; s && !c->failed; s = s->next)
                compile_stmt(c, s);
        c->warp_variables = outer;
        c->depth--;
}

/* ---- programs ---- */

/* Compiles main, then the kernels it calls, each as a chunk of its own, so that nothing computed in
 * one counts as computed in another. */
static struct list compile_program(struct compiler *c)
{
        struct chunk all, chunk;
        chunk_open(c, &all, false);
        chunk_open(c, &chunk, false);
        c->interp->extent_count = c->p->extent_count;
        c->interp->extents = new_slots(c, c->p->extent_count);
        for (int i = 0; i < c->p->extent_count; i++)
                bind_variable(c, c->p->extents[i].variable,
                              (struct cell){ .slot = c->interp->extents + i,
                                             .level = 1,
                                             .lanes = 1,
                                             .changes = c->p->extents[i].counted },
                              -1);
        compile_block(c, c->p->entries[c->options->entry].main->body);
        emit(c, (struct instruction){ .code = I_END });
        chunk_close(c, &chunk);
        c->nodes[chunk.code.last].i.d = (int32_t)chunk.code.cost;
        for (int k = 0; k < c->kernel_count && !c->failed; k++) {
                chunk_open(c, &chunk, false);
                compile_kernel(c, k);
                chunk_close(c, &chunk);
                if (!c->failed)
                        c->nodes[chunk.code.last].i.d = (int32_t)chunk.code.cost;
        }
        return all.code;
}

bool interp_compile(struct interp *interp, const struct loop_program *p,
                    const struct interp_options *options, struct diag *diag)
{
        struct compiler c = { .p = p,
                              .interp = interp,
                              .diag = diag,
                              .options = options,
                              .mask = { .slot = -1 },
                              .return_into = -1,
                              .descriptor_room = interp->descriptor_count };
        struct list code = compile_program(&c);
        bool good = !c.failed && compiler_finish(&c, &code);
        free(c.nodes);
        free(c.bounds);
        free(c.forms);
        free(c.shares);
        free(c.buckets);
        free(c.constants);
        free(c.kernels);
        return good;
}
