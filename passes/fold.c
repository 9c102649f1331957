/* SPDX-License-Identifier: MIT */
/* fold: an operation on constants becomes the constant it computes.
 *
 *   %2 = mul(@w, <8 x f32> 2.0)        ->      @w_2
 *
 * Exact: the operation's canonical lowering runs in the interpreter, the same code that would run
 * later. Bounds are checked before time or memory is spent: the result may not be larger than the
 * dense operands that vanish with the operation plus limits.fold_bytes (a small part of that where
 * it decodes numbers of at most 8 bits), and steps and bytes are limited per operation and in all.
 * Splats stay splats: moving a splat's elements gives a splat, and an element-wise operation on
 * splats is evaluated on one element. A broadcast costs nothing where it is read and stays, unless
 * it is small shape arithmetic; the result of an element-wise operation on constants, some of them
 * spread by broadcasts (weights times scales, tables of indices), becomes a constant. (Where all
 * are spread alike, simplify moves the broadcast behind the operation.) A value without elements
 * becomes a constant, whatever makes it. What several operations make together: fold_groups.c. */
#include "passes/fold.h"

#include <stdlib.h>
#include <string.h>

/* Returns the constant that a broadcast spreads, or NULL. */
static const struct value *spread_constant(const struct value *v)
{
        return op_is(v, OP_broadcast) && value_is_constant(op_operand(v->op, 0))
                       ? op_operand(v->op, 0)
                       : NULL;
}

static bool all_splats(const struct op *op)
{
        for (int i = 0; i < op->operand_count; i++)
                if (!value_is_constant(op_operand(op, i)) ||
                    op_operand(op, i)->constant->kind != CONSTANT_SPLAT)
                        return false;
        return op->operand_count > 0;
}

/* Do element-wise operations alone read v, of which there is one at least? */
static bool is_read_by_maps(const struct value *v)
{
        bool maps = v->uses;
        for (const struct use *u = v->uses; u && maps; u = u->next)
                maps = op_info[u->user->code].traits & TRAIT_ELEMENTWISE;
        return maps;
}

/* May op be folded though a run gives extents? What it makes of splats is one, which has no bytes
 * where it is read element by element. A rule that builds op uses it afterwards. */
static bool foldable_open(const struct op *op)
{
        const bool computes = op_info[op->code].traits & TRAIT_ELEMENTWISE;
        return (op->code == OP_broadcast || computes) &&
               type_is_bound(op_module(op), op->results[0].type) && all_splats(op) &&
               (is_read_by_maps(&op->results[0]) || (computes && !op->results[0].uses));
}

static bool foldable(const struct op *op)
{
        const struct op_info *info = &op_info[op->code];
        if (!(info->traits & TRAIT_PURE) || op->result_count != 1 ||
            (!info->element && op->code != OP_external))
                return false;
        const struct type *t = op->results[0].type;
        if (t->kind != TYPE_TENSOR || !element_is_stored(t->element) ||
            !(type_is_static(t) || foldable_open(op)))
                return false;
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *v = op_operand(op, i);
                bool known = v && (value_is_constant(v) ||
                                   (info->traits & TRAIT_ELEMENTWISE && spread_constant(v)));
                if (!known || !element_is_stored(v->type->element))
                        return false;
        }
        return true;
}

/* Returns the splat operand of an operation that only moves elements, whatever the indices are, or
 * NULL. */
static const struct value *moved_splat(const struct op *op)
{
        switch (op->code) {
        case OP_reshape: case OP_transpose: case OP_broadcast: {
                const struct value *x = op_operand(op, 0);
                return x->constant->kind == CONSTANT_SPLAT ? x : NULL;
        }
        case OP_slice:                  /* The type rule has checked constant bounds. */
                return op_operand(op, 0)->constant->kind == CONSTANT_SPLAT ? op_operand(op, 0)
                                                                           : NULL;
        case OP_concat: {
                const struct value *first = op_operand(op, 0);
                if (!all_splats(op))
                        return NULL;
                size_t bytes = (size_t)element_info[first->type->element].bytes;
                for (int i = 1; i < op->operand_count; i++)
                        if (memcmp(constant_data(op_operand(op, i)->constant),
                                   constant_data(first->constant), bytes))
                                return NULL;
                return first;
        }
        default:
                return NULL;
        }
}

/* Runs op's kernel. Returns its result, type_bytes long, in memory of the module's arena; NULL: it
 * would take more than the budget. */
static void *evaluate(struct module *m, const struct op *op, struct pass_context *context)
{
        struct diag silent = { .silent = true };
        struct arena *arena = arena_new();
        void *result = NULL;
        struct loop_program *p = loop_program_new(arena, "fold", context->library);
        struct value **inputs;
        int input_count;
        struct lower_options options = { .unchecked = false };
        struct loop_function *kernel =
                lower_kernel(p, op, &options, &inputs, &input_count, &silent);
        if (kernel) {
                const struct type *type = op->results[0].type;
                struct loop_stmt *call = loop_append(arena, loop_main(p)->body, STMT_CALL);
                call->function = kernel;
                call->buffers =
                        arena_array(arena, (size_t)kernel->buffer_count, sizeof *call->buffers);
                for (int i = 0; i < input_count; i++) {
                        const struct constant *c = inputs[i]->constant;
                        struct loop_buffer *b =
                                loop_buffer_add(p, "c", inputs[i]->type->element,
                                                type_elements(inputs[i]->type), SPACE_CONSTANT);
                        b->data = constant_data(c);
                        b->splat = c->kind == CONSTANT_SPLAT;
                        call->buffers[i] = b;
                }
                struct loop_buffer *output =
                        loop_buffer_add(p, "y", type->element, type_elements(type), SPACE_OUTPUT);
                output->type = type;
                call->buffers[input_count] = output;
                lower_bind_scratch(p, call, input_count + 1);
                struct interp *interp = interp_new(p, false, 0, &silent);
                if (interp) {
                        uint64_t steps = 0;
                        void *data = constant_room(m, (size_t)type_bytes(type));
                        if (interp_run(interp, NULL, &data, (uint64_t)context->limits.fold_steps,
                                       &steps) == INTERP_OK)
                                result = data;
                        context->fold_steps += (int64_t)steps;
                        interp_free(interp);
                }
        }
        arena_free(arena);
        return result;
}

/* Evaluates an element-wise operation on constants, some of which broadcasts spread. */
static void *evaluate_spread(struct builder *b, struct op *op, struct pass_context *context)
{
        struct region side = { .function = b->region->function };
        struct builder outside = { .m = b->m, .region = &side, .diag = b->diag };
        struct op *fusion = op_build(&outside, OP_fusion, NULL, 0, NULL, &op_result(op)->type, 1);
        if (!fusion)
                return NULL;
        struct builder inside = { .m = b->m, .region = op_add_region(fusion, 0), .diag = b->diag };
        struct value *operands[OPERAND_ROW_MAX];
        for (int i = 0; i < op->operand_count; i++) {
                struct value *v = op_operand(op, i);
                operands[i] = value_is_constant(v) ? v : op_result(op_clone(&inside, v->op));
        }
        struct value *result =
                value_build(&inside, op->code, operands, op->operand_count, op->attrs, NULL);
        void *data =
                result && build_yield(&inside, &result, 1) ? evaluate(b->m, fusion, context) : NULL;
        op_erase(fusion);
        return data;
}

/* Folds an element-wise operation on splats by computing one element. */
static struct value *fold_splats(struct builder *b, struct op *op, struct pass_context *context)
{
        struct region side = { .function = b->region->function };
        struct builder scalar = { .m = b->m, .region = &side, .diag = b->diag };
        struct value **operands =
                arena_array(b->m->arena, (size_t)op->operand_count, sizeof *operands);
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *v = op_operand(op, i);
                operands[i] = constant_splat(b->m, type_scalar(b->m, v->type->element),
                                             constant_data(v->constant));
        }
        struct op *one =
                op_build(&scalar, op->code, operands, op->operand_count, op->attrs, NULL, 0);
        void *element = one ? evaluate(b->m, one, context) : NULL;
        if (one)
                op_erase(one);
        return element ? constant_splat(b->m, op->results[0].type, element) : NULL;
}

static int64_t bytes_saved(const struct op *op)
{
        int64_t bytes = 0;
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *v = op_operand(op, i);
                if (value_is_constant(v) && v->constant->kind != CONSTANT_SPLAT &&
                    value_has_one_use(v))
                        bytes += type_bytes(v->type);
        }
        return bytes;
}

static bool is_narrow(enum element e)
{
        return element_is_integer(e) && element_info[e].bytes == 1;
}

/* Do broadcasts alone read v? */
static bool is_spread_alone(const struct value *v)
{
        for (const struct use *u = v->uses; u; u = u->next)
                if (u->user->code != OP_broadcast)
                        return false;
        return true;
}

/* Does op convert numbers of at most 8 bits element by element, or scales of half their size, one
 * for each block of such numbers? */
static bool decodes(const struct op *op)
{
        for (int i = 0; i < op->operand_count && op_info[op->code].traits & TRAIT_ELEMENTWISE;
             i++) {
                const struct value *v = op_operand(op, i), *spread = spread_constant(v);
                v = spread ? spread : v;
                bool halves = op->code == OP_cast && element_is_float(v->type->element) &&
                              element_info[v->type->element].bytes == 2 && v->type->rank > 1 &&
                              is_spread_alone(op->results);
                if (v->constant->kind != CONSTANT_SPLAT && (is_narrow(v->type->element) || halves))
                        return true;
        }
        return false;
}

/* Is the constant worth its bytes? Many decoded numbers are not: a model that holds such numbers,
 * perhaps in thousands of tensors, does so to be small. */
static bool is_worth(const struct op *op, const struct pass_context *context)
{
        enum { SMALL_INTEGERS = 1024, SMALL = 64, DECODED = 64 };
        const struct type *type = op->results[0].type;
        int64_t bytes = type_bytes(type);
        if (op->code == OP_broadcast)   /* Shapes and indices are no numbers of 8 bits. */
                return bytes <= (element_is_float(type->element) || is_narrow(type->element)
                                         ? SMALL
                                         : SMALL_INTEGERS);
        int64_t room = context->limits.fold_bytes / (decodes(op) ? DECODED : 1),
                left = context->limits.fold_total_bytes - context->fold_bytes;
        room = left < room ? left : room;
        return bytes <= room || bytes - room <= bytes_saved(op);
}

/* Are the result's bytes the operand's? */
static bool keeps_bytes(const struct op *op)
{
        return op->code == OP_reshape ||
               (op->code == OP_broadcast &&
                type_elements(op_result(op)->type) == type_elements(op_operand(op, 0)->type));
}

/* Returns the constant with another shape, and a name of its own. */
static struct value *fold_shape(struct module *m, const struct constant *c, const struct type *to)
{
        struct value *v = constant_reshaped(m, c, to->rank, to->dims);
        if (c->name)
                v->constant->name =
                        text_identifier(m->constant_names, c->name, strlen(c->name), "constant");
        return v;
}

struct value *fold_op(struct builder *b, struct op *op, void *opaque)
{
        struct pass_context *context = opaque;
        for (int i = 0; i < op->operand_count; i++)
                if (op_operand(op, i) && value_is_constant(op_operand(op, i)) &&
                    op_operand(op, i)->constant->varies)
                        return NULL;
        if (!foldable(op) || context->fold_steps >= context->limits.fold_total_steps)
                return NULL;
        const struct type *type = op->results[0].type;
        const struct value *splat = moved_splat(op);
        if (splat)
                return constant_splat(b->m, type, constant_data(splat->constant));
        if (op_info[op->code].traits & TRAIT_ELEMENTWISE && all_splats(op))
                return fold_splats(b, op, context);
        if (!is_worth(op, context))
                return NULL;
        if (keeps_bytes(op))
                return fold_shape(b->m, op_operand(op, 0)->constant, type);
        const char *name = NULL;
        bool spread = false;
        for (int i = op->operand_count - 1; i >= 0; i--) {
                const struct value *v = op_operand(op, i), *source = spread_constant(v);
                spread |= source != NULL;
                name = source ? name : v->constant->name;
        }
        void *data = spread ? evaluate_spread(b, op, context) : evaluate(b->m, op, context);
        int64_t added = type_bytes(type) - bytes_saved(op);
        context->fold_bytes += data && added > 0 ? added : 0;
        return data ? constant_dense(b->m, type, data, name) : NULL;
}

bool fold_open_splats(struct op *op, struct pass_context *context)
{
        if (op->result_count != 1 || op->results[0].type->kind != TYPE_TENSOR ||
            type_is_static(op->results[0].type) || !foldable(op))
                return false;
        struct builder b = { .m = op_module(op), .region = op->region, .before = op,
                             .location = op->location, .diag = context->diag };
        struct value *v = fold_op(&b, op, context);
        if (v)
                value_replace(op_result(op), v);
        return v;
}

void fold_spread_splats(struct region *region)
{
        struct module *m = region->function->module;
        for (struct op *op = region->first; op; op = op->next) {
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        fold_spread_splats(op->regions[i]);
                for (int i = 0; i < op->operand_count; i++) {
                        const struct value *v = op_operand(op, i);
                        if (!v || !value_is_constant(v) || v->type->kind != TYPE_TENSOR ||
                            type_is_static(v->type) ||
                            op_info[op->code].traits & TRAIT_ELEMENTWISE)
                                continue;
                        struct builder b = { .m = m, .region = region, .before = op,
                                             .location = op->location };
                        struct value *one = constant_splat(m, type_scalar(m, v->type->element),
                                                           constant_data(v->constant));
                        op_set_operand(op, i, build_broadcast(&b, one, v->type, NULL));
                }
        }
}

struct value *fold_scaled(struct builder *b, struct value *x, struct value *s, int along,
                          struct pass_context *context)
{
        if (s->constant->kind == CONSTANT_SPLAT) {
                struct value *product = build_binary(
                        b, OP_mul, x, constant_splat(b->m, x->type, constant_data(s->constant)));
                return product && value_is_constant(product) ? product : NULL;
        }
        bool replaces = x->constant->kind != CONSTANT_SPLAT && value_has_one_use(x);
        if (!replaces && type_bytes(x->type) > context->limits.fold_bytes)
                return NULL;
        struct region side = { .function = b->region->function };
        struct builder outside = { .m = b->m, .region = &side, .diag = b->diag };
        struct op *fusion = op_build(&outside, OP_fusion, NULL, 0, NULL, &x->type, 1);
        if (!fusion)
                return NULL;
        struct builder inside = { .m = b->m, .region = op_add_region(fusion, 0), .diag = b->diag };
        int64_t dims[1] = { along };
        struct value *product =
                build_binary(&inside, OP_mul, x, build_broadcast(&inside, s, x->type, dims));
        void *data = NULL;
        if (product && build_yield(&inside, &product, 1) &&
            context->fold_steps < context->limits.fold_total_steps)
                data = evaluate(b->m, fusion, context);
        op_erase(fusion);
        return data ? constant_dense(b->m, x->type, data, x->constant->name) : NULL;
}

/* Makes constants of op's operands that have no elements. */
static int fold_empty(struct op *op)
{
        int folded = 0;
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *v = op_operand(op, i);
                if (!v || value_is_constant(v) || v->type->kind != TYPE_TENSOR ||
                    !element_is_stored(v->type->element) || !type_is_static(v->type) ||
                    type_elements(v->type))
                        continue;
                op_set_operand(op, i, constant_number(op->region->function->module, v->type, 0));
                folded++;
        }
        return folded;
}

static int fold_region(struct region *region, struct pass_context *context)
{
        int folded = 0;
        for (struct op *op = region->first, *next; op; op = next) {
                next = op->next;
                if (op->code == OP_fusion)
                        continue;
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        folded += fold_region(op->regions[i], context);
                folded += fold_empty(op);
                struct builder b = { .m = region->function->module, .region = region, .before = op,
                                     .location = op->location, .diag = context->diag };
                struct value *v = foldable(op) ? fold_op(&b, op, context) : NULL;
                if (!v)
                        continue;
                value_replace(op_result(op), v);
                op_erase(op);
                folded++;
        }
        return folded;
}

int pass_fold(struct function *f, struct pass_context *context)
{
        return fold_groups(&f->body, context) + fold_region(&f->body, context);
}
