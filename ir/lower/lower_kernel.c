/* SPDX-License-Identifier: MIT */
/* Lowering writes one kernel: loops over the index of the result, the element, a store. */
#include <string.h>

#include "ir/loop/loop_vector.h"
#include "ir/lower/lower_emit.h"
#include "ir/target/target.h"

/* ---- what is in the kernel ---- */

static bool check_type(struct emit *e, const struct value *v)
{
        const struct type *t = v->type;
        if (t->kind == TYPE_TENSOR && element_is_stored(t->element) && type_is_bound(e->m, t))
                return true;
        if (t->kind != TYPE_TENSOR || !element_is_stored(t->element))
                emit_error(e, EXIT_UNSUPPORTED,
                           arena_printf(e->arena, "no code for values of type %s",
                                        t->kind == TYPE_TENSOR ? element_info[t->element].text
                                                               : "sequence or optional"));
        else
                emit_error(e, EXIT_UNSUPPORTED,
                           "a shape is not known: bind its dimensions with --dim");
        return false;
}

/* Returns a name for the parameter that operand i of op becomes. A value that is only moved here is
 * named by where it goes. */
static const char *operand_role(const struct op *op, int i)
{
        static const char *const letters[] = { "a", "b", "c" };
        for (int hops = 0; hops < 4 && i == 0 && op_info[op->code].traits & TRAIT_FREE; hops++) {
                const struct use *use = op_result(op)->uses;
                if (!use || use->next || use->user->region != op->region ||
                    use->user->code == OP_yield || op_info[use->user->code].traits & TRAIT_REGION)
                        break;
                op = use->user;
                i = use->index;
        }
        const struct op_info *info = &op_info[op->code];
        if (info->operand_count == 1 || !info->operand_count)
                return "x";
        if (op->code == OP_select)
                return i ? letters[i - 1] : "c";
        if (info->traits & TRAIT_ELEMENTWISE && i < 3)
                return letters[i];
        return info->operands[i < info->operand_count ? i : info->operand_count - 1].name;
}

static void take_op(struct emit *e, const struct op *op)
{
        if (!op_info[op->code].element || !op->result_count)
                emit_error(e, EXIT_INTERNAL,
                           arena_printf(e->arena, "bug in lowering: %s in a kernel",
                                        op_info[op->code].name));
        for (int i = 0; i < op->operand_count && !e->failed; i++) {
                const struct value *v = op_operand(op, i);
                if (!v || !check_type(e, v))
                        continue;
                struct local *local = emit_local(e, v);
                local->uses++;
                if (!local->role)
                        local->role = operand_role(op, i);
        }
        for (int i = 0; i < op->result_count && !e->failed; i++)
                if (check_type(e, &op->results[i])) {
                        struct local *local = emit_local(e, &op->results[i]);
                        local->inside = true;
                        local->splits = op_splits(e, op);
                }
}

static size_t count_values(const struct op *op)
{
        return (size_t)op->operand_count + (size_t)op->result_count;
}

static bool take_all(struct emit *e, const struct kernel_request *request)
{
        size_t count = (size_t)request->result_count;
        if (request->op)
                count += count_values(request->op);
        for (const struct op *op = request->region ? request->region->first : NULL; op;
             op = op->next)
                count += count_values(op);
        for (e->local_room = 16; e->local_room < 2 * count;)
                e->local_room *= 2;
        e->locals = arena_array(e->arena, e->local_room, sizeof *e->locals);
        if (request->op)
                take_op(e, request->op);
        for (const struct op *op = request->region ? request->region->first : NULL;
             op && !e->failed; op = op->next)
                if (op->code != OP_yield)
                        take_op(e, op);
        for (int i = 0; i < request->result_count && !e->failed; i++)
                if (check_type(e, request->results[i]))
                        emit_local(e, request->results[i])->uses++;
        return !e->failed;
}

/* ---- nests ---- */

/* A nest is a loop nest that stores values of equal shape, or the part of a concat that one operand
 * is. */
struct nest {
        const struct type *shape;       /* The loops run over this shape. */
        unsigned splits;
        int count;
        struct value *const *values;
        struct output *outputs;
        int axis;                       /* A part goes into `whole` along this dimension, and at
                                         * this offset. */
        struct loop_expr *offset;
        const struct type *whole;
        const struct op *running;       /* The nest stores the running sums of this operation; NULL:
                                         * of none. */
};

struct output { struct loop_buffer *buffer; struct loop_expr *position; int nest; bool parts; };

static int find_groups(struct emit *e, const struct nest *nest, struct loop_group *groups)
{
        int count = 0;
        for (int d = 0; d < nest->shape->rank; d++) {
                if (dim_is(nest->shape->dims[d], 1))
                        continue;
                unsigned split = 0;
                for (int s = count ? groups[count - 1].last + 1 : d; s <= d; s++)
                        split |= nest->splits >> s & 1;
                if (count && !split) {
                        groups[count - 1].last = d;
                        groups[count - 1].extent =
                                emit_op(e, LOOP_MUL, groups[count - 1].extent,
                                        emit_extent(e, nest->shape, d));
                } else {
                        groups[count++] =
                                (struct loop_group){ d, d, emit_extent(e, nest->shape, d) };
                }
        }
        return count;
}

/* Is it [N, C, spatial], the layout that has names for its dimensions? */
static bool has_channels(const struct op *op)
{
        if (op->code == OP_convolve)
                return true;
        if ((op->code != OP_reduce_window && op->code != OP_arg_window) ||
            op_result(op)->type->rank < 3)
                return false;
        const int64_t *window = op_ints(op, "window", NULL);
        return window[0] == 1 && window[1] == 1;
}

/* Returns the operation that gives the kernel's loops their names; NULL: none does. */
static const struct op *window_op(const struct kernel_request *request)
{
        const struct op *op = request->region ? request->region->first : request->op;
        for (; op; op = request->region ? op->next : NULL)
                if (has_channels(op))
                        return op;
        return NULL;
}

static const char *loop_name(struct emit *e, const struct nest *nest, const struct op *window,
                             const struct loop_group *groups, int count, int g)
{
        if (!window || !type_same_dims(op_result(window)->type, nest->shape))
                return count > 2 ? arena_printf(e->arena, "i%d", g) : g ? "j" : "i";
        const char *name = "";
        for (int d = groups[g].first; d <= groups[g].last; d++) {
                if (dim_is(nest->shape->dims[d], 1))
                        continue;
                const char *part = d == 0 ? "n" : d == 1 ? (window->code == OP_convolve ? "m" : "c")
                                 : emit_spatial_suffix(e, d - 2, nest->shape->rank - 2);
                name = arena_printf(e->arena, "%s%s%s", name,
                                    d > 1 && !strchr(name, 'o') ? "o" : "", part);
        }
        return strlen(name) < 16 ? name : "i";
}

/* Returns the operation whose running sums v's elements are made of, each of one; NULL: there is
 * none. */
static const struct op *running_in(struct emit *e, const struct value *v, int depth)
{
        enum { DEPTH_MAX = 6 };
        if (!emit_local(e, v)->inside || depth == DEPTH_MAX)
                return NULL;
        if (running_axis(v->op) >= 0)
                return v->op;
        const struct op *found = NULL;
        for (int i = 0;
             op_info[v->op->code].traits & TRAIT_ELEMENTWISE && i < v->op->operand_count && !found;
             i++)
                if (type_same_dims(op_operand(v->op, i)->type, v->type))
                        found = running_in(e, op_operand(v->op, i), depth + 1);
        return found;
}

static void run_innermost(struct loop_group *groups, int count, int axis)
{
        for (int g = 0; g + 1 < count; g++)
                if (groups[g].first == axis) {
                        struct loop_group next = groups[g + 1];
                        groups[g + 1] = groups[g];
                        groups[g] = next;
                }
}

static void write_nest(struct emit *e, const struct nest *nest, const struct op *window)
{
        struct loop_group groups[RANK_MAX];
        struct loop_expr *index[RANK_MAX], *stored[RANK_MAX];
        int count = find_groups(e, nest, groups),
            around = e->rows.along ? rows_order(e, groups, count) : 0;
        if (nest->running)
                run_innermost(groups, count, running_axis(nest->running));
        for (int d = 0; d < nest->shape->rank; d++)
                index[d] = emit_int(e, 0);
        for (int g = 0; g < count; g++) {
                if (nest->running && g == count - 1)
                        running_begin(e, nest->running);
                struct loop_expr *i = emit_for(e, loop_name(e, nest, window, groups, count, g),
                                               emit_int(e, 0), groups[g].extent);
                index[groups[g].last] = i;
                if (g < around)
                        rows_stand_in(e, i);
        }
        if (nest->running)
                running_next(e, nest->running, index);
        struct loop_expr **values = arena_array(e->arena, (size_t)nest->count, sizeof *values);
        for (int i = 0; i < nest->count; i++) {
                const struct type *type = nest->values[i]->type;
                bool same = type_same_dims(type, nest->shape);
                struct loop_expr *flat[RANK_MAX];
                if (!same)
                        emit_flat_index(e, type, count ? index[groups[0].last] : emit_int(e, 0),
                                        flat);
                values[i] = emit_element(e, nest->values[i], same ? index : flat);
                if (nest->count > 1)    /* All is read first, because results may lie on
                                         * operands. */
                        values[i] = emit_let(e, "v", values[i]);
        }
        const struct type *whole = nest->whole ? nest->whole : nest->shape;
        for (int d = 0; d < whole->rank; d++)
                stored[d] = nest->whole && d == nest->axis
                                    ? emit_op(e, LOOP_ADD, index[d], nest->offset)
                                    : index[d];
        for (int i = 0; i < nest->count; i++) {
                struct output *output = &nest->outputs[i];
                output->position = emit_position(e, whole->rank, whole->dims, stored);
                output->nest = e->nest;
                output->parts = nest->whole != NULL;
                emit_store(e, output->buffer, output->position, values[i]);
        }
        while (count-- > 0)
                emit_end(e);
        e->nest++;
}

bool emit_is_launched(const struct emit *e)
{
        return e->options->target && target_engine(e->options->target)->launches;
}

/* Writes a concat that is stored as it is: there is a nest for each operand, without a choice for
 * each element; but not where each nest is a launch. */
static void write_parts(struct emit *e, const struct op *op, struct output *output,
                        const struct op *window)
{
        struct nest nest = { .count = 1, .outputs = output, .axis = (int)op_int(op, "axis"),
                             .offset = emit_int(e, 0), .whole = op_result(op)->type };
        for (int k = 0; k < op->operand_count && !e->failed; k++) {
                struct value *x = op_operand(op, k);
                nest.shape = x->type;
                nest.values = &x;
                nest.splits = emit_local(e, x)->splits;
                int before = nest.axis - 1;     /* The dimensions before the axis stay apart. */
                while (before >= 0 && dim_is(x->type->dims[before], 1))
                        before--;
                for (int d = before + 1; before >= 0 && d <= nest.axis; d++)
                        nest.splits |= 1u << d;
                if (!type_is_empty(x->type))
                        write_nest(e, &nest, window);
                nest.offset =
                        emit_op(e, LOOP_ADD, nest.offset, emit_extent(e, x->type, nest.axis));
        }
}

/* Returns the same elements in the same order, in the shape they are computed in: its loops need no
 * division. */
static struct value *before_reshapes(struct emit *e, struct value *v)
{
        while (emit_local(e, v)->inside && v->op->code == OP_reshape &&
               emit_local(e, op_operand(v->op, 0))->inside)
                v = op_operand(v->op, 0);
        return v;
}

static void write_whole(struct emit *e, const struct value *v, struct loop_buffer *y)
{
        struct loop_expr *index[RANK_MAX];
        for (int d = 0; d < v->type->rank; d++)
                index[d] = emit_int(e, 0);
        e->whole = y;
        emit_element(e, v, index);
}

static bool same_elements(const struct type *a, const struct type *b)
{
        return type_same_dims(a, b) || (type_is_static(a) && type_is_static(b) &&
                                        type_elements(a) == type_elements(b));
}

static void write_results(struct emit *e, const struct kernel_request *request,
                          struct output *outputs)
{
        const struct op *window = window_op(request);
        const struct op *made = request->op ? request->op
                                : request->region && request->result_count == 1 &&
                                                request->results[0]->kind == VALUE_RESULT
                                        ? request->results[0]->op
                                        : NULL;
        if (made && op_info[made->code].traits & TRAIT_WHOLE &&
            (request->op || made->region == request->region)) {
                write_whole(e, request->results[0], outputs[0].buffer);
                return;
        }
        for (int i = 0, next; i < request->result_count && !e->failed; i = next) {
                struct value *v = request->results[i];
                struct local *local = emit_local(e, v);
                struct nest nest = { .shape = v->type, .splits = local->splits, .count = 1,
                                     .values = &request->results[i], .outputs = &outputs[i] };
                bool flat = !local->splits, same = true;
                /* The results are neighbours that fit into one nest. */
                for (next = i + 1; next < request->result_count; next++) {
                        const struct value *w = request->results[next];
                        unsigned splits = emit_local(e, w)->splits;
                        flat = flat && !splits && same_elements(w->type, v->type);
                        same = same && type_same_dims(w->type, v->type);
                        if (!flat && !same)
                                break;
                        nest.splits |= splits;
                        nest.count++;
                }
                if (type_is_empty(v->type))
                        continue;
                if (nest.count == 1) {
                        v = before_reshapes(e, v);
                        nest.values = &v;
                        nest.shape = v->type;
                        nest.splits = emit_local(e, v)->splits;
                }
                if (nest.count == 1 && (nest.running = running_in(e, v, 0)))
                        nest.splits |= 3u << running_axis(nest.running);
                if (nest.count == request->result_count && request->region && !nest.running) {
                        const struct emit_place place =
                                emit_row_major(e, outputs[i].buffer, v->type);
                        rows_find(e, request->region, v, &place);
                }
                if (nest.count == 1 && local->inside && v->op->code == OP_concat &&
                    v->op->operand_count > 1 && !emit_is_launched(e))
                        write_parts(e, v->op, &outputs[i], window);
                else
                        write_nest(e, &nest, window);
        }
}

/* ---- meanings of external functions ---- */

static const struct op *external_of(const struct kernel_request *request)
{
        const struct op *owner = request->region ? request->region->owner : NULL;
        return owner && owner->code == OP_external ? owner : NULL;
}

/* Is op worth memory of its own, because computing each element of it where it is read would take
 * too long? */
static bool is_kept(struct emit *e, const struct op *op)
{
        enum { KEPT = TRAIT_CONTRACTION | TRAIT_REDUCTION | TRAIT_WHOLE };
        const unsigned traits = op_info[op->code].traits;
        const struct use *use = op_result(op)->uses;
        if (use && !use->next && use->user->code == OP_yield && !(traits & TRAIT_WHOLE))
                return false;           /* It is computed where the result lies. */
        const bool shared = !(traits & TRAIT_FREE) && emit_local(e, op_result(op))->uses > 1;
        return !type_is_empty(op_result(op)->type) && (traits & KEPT || shared);
}

/* Computes op into memory of the kernel. */
static void keep_result(struct emit *e, const struct op *op)
{
        struct value *v = op_result(op);
        struct loop_buffer *b = emit_scratch(e, "kept", element_storage(v->type->element),
                                             type_most_elements(e->m, v->type));
        if (op_info[op->code].traits & TRAIT_WHOLE) {
                write_whole(e, v, b);
                e->whole = NULL;
                return;
        }
        struct output output = { .buffer = b };
        const struct nest nest = { .shape = v->type, .splits = emit_local(e, v)->splits, .count = 1,
                                   .values = &v, .outputs = &output };
        write_nest(e, &nest, NULL);
        const struct emit_place place = emit_row_major(e, b, v->type);
        emit_local(e, v)->place = arena_copy(e->arena, &place, sizeof place);
}

/* Makes arrays of the kernel's scratch, because the C function has no parameters for it. */
static void own_scratch(struct emit *e)
{
        struct loop_block *body = e->kernel->body;
        while (e->scratch_count) {
                struct loop_stmt *s = ARENA_NEW(e->arena, struct loop_stmt);
                *s = (struct loop_stmt){ .kind = STMT_ALLOC, .step = 1, .next = body->first,
                                         .buffer = e->scratch[--e->scratch_count] };
                s->buffer->space = SPACE_STACK;
                if (!body->first)
                        body->end = &s->next;
                body->first = s;
        }
}

/* Writes what the C function computes, operation by operation. Its parameters are those of the
 * kernel, whether they are read or not. */
static void write_external(struct emit *e, const struct op *external,
                           const struct kernel_request *request, struct output *outputs)
{
        const struct region *region = external->regions[0];
        for (int i = 0; i < region->argument_count; i++) {
                const struct value *v = &region->arguments[i];
                emit_local(e, v)->role = v->name && text_is_identifier(v->name) ? v->name : "x";
                emit_parameter(e, v);
        }
        for (const struct op *op = region->first; op != region->last && !e->failed; op = op->next)
                if (is_kept(e, op))
                        keep_result(e, op);
        for (int i = 0; i < request->result_count && !e->failed; i++) {
                struct value *v = request->results[i];
                const struct nest nest = { .shape = v->type, .splits = emit_local(e, v)->splits,
                                           .count = 1, .values = &v, .outputs = &outputs[i] };
                if (!type_is_empty(v->type))
                        write_nest(e, &nest, NULL);
        }
        own_scratch(e);
        int count;
        e->kernel->external = op_text(external, "symbol");
        e->kernel->external_extents = op_ints(external, "extents", &count);
        e->kernel->external_count = count;
        if (emit_is_launched(e))
                emit_error(e, EXIT_UNSUPPORTED, "kernels of a device call no C function");
        else if (e->input_count > region->argument_count)
                emit_error(e, EXIT_UNSUPPORTED, "the meaning of a C function reads a constant of "
                                                "several elements: make it an input");
        else if (e->kernel->scalar_count)
                emit_error(e, EXIT_UNSUPPORTED, "a C function is called with extents that are "
                                                "numbers: bind them with --dim");
}

/* ---- parameters ---- */

static void mark_stmt(struct loop_stmt *s, void *context)
{
        struct loop_function *kernel = context;
        kernel->can_fail |= loop_fails(s);
        if (s->kind == STMT_MULTIPLY)
                s->weights->number = 1;
        if (s->kind == STMT_MULTIPLY && s->buffer)
                s->buffer->number = 1;
        if ((s->kind == STMT_COPY || s->kind == STMT_TRANSFER || s->kind == STMT_IMAGE) &&
            s->source)
                s->source->number = 1;
}

static void mark_load(struct loop_expr *x, void *context)
{
        (void)context;
        if (x->op == LOOP_LOAD)
                x->buffer->number = 1;
}

/* May x lie where the result is stored? It must be read at the very element that is stored next,
 * and nowhere else. */
static bool may_overlap(const struct emit *e, const struct local *x, const struct output *y)
{
        if (e->rows.along && emit_is_launched(e)) /* Loads of a row should be under way together. */
                return false;
        if (x->parameter->alias_class || x->parameter->extent != y->buffer->extent ||
            element_info[x->parameter->element].bytes != element_info[y->buffer->element].bytes)
                return false;
        if (e->rows.along)
                return rows_may_overlap(e, x->parameter, y->buffer);
        return x->overlaps || (y->position && !x->mixed && !y->parts && x->nest == y->nest &&
                               loop_expr_same(x->read, y->position));
}

/* Puts results in a class with an input that may lie where they do: first with that one on which
 * they should lie, then with the first one of the others. */
static void find_classes(struct emit *e, const struct kernel_request *request,
                         const struct output *outputs)
{
        int classes = 0;
        for (int others = !request->lies_on; others < 2; others++)
                for (int i = 0; i < request->result_count; i++) {
                        struct loop_buffer *y = outputs[i].buffer;
                        for (int k = 0; k < e->input_count && !y->alias_class; k++) {
                                const struct local *x = emit_local(e, e->inputs[k]);
                                if ((others || request->lies_on(request->made, i, e->inputs[k])) &&
                                    may_overlap(e, x, &outputs[i]))
                                        x->parameter->alias_class = y->alias_class = ++classes;
                        }
                }
}

static void finish_parameters(struct emit *e, const struct kernel_request *request,
                              struct output *outputs)
{
        const int output_count = request->result_count;
        struct loop_function *kernel = e->kernel;
        for (int i = 0; i < e->input_count; i++)
                e->parameters[i]->number = 0;
        loop_block_walk(kernel->body, mark_stmt, mark_load, kernel);
        kernel->can_fail |= kernel->external != NULL;
        int kept = 0;                   /* A parameter that was read only where nothing runs is
                                         * dropped. */
        for (int i = 0; i < e->input_count; i++)
                if (e->parameters[i]->number || kernel->external) {
                        e->inputs[kept] = e->inputs[i];
                        e->parameters[kept++] = e->parameters[i];
                }
        e->input_count = kept;
        kernel->buffer_count = kept + output_count + e->scratch_count;
        kernel->buffers =
                arena_array(e->arena, (size_t)kernel->buffer_count, sizeof *kernel->buffers);
        if (!kernel->external)
                find_classes(e, request, outputs);
        for (int i = 0; i < kept; i++)
                kernel->buffers[i] = e->parameters[i];
        for (int i = 0; i < output_count; i++)
                kernel->buffers[kept + i] = outputs[i].buffer;
        for (int i = 0; i < e->scratch_count; i++)
                kernel->buffers[kept + output_count + i] = e->scratch[i];
        for (int i = 0; i < kernel->buffer_count; i++)
                kernel->buffers[i]->number = i;
}

/* ---- the kernel ---- */

static const char *describe(struct arena *arena, const struct kernel_request *request)
{
        const struct op *op = request->region ? request->region->owner : request->op;
        if (op && op->location)
                return arena_printf(arena, "node '" DIAG_NODE("%s") "' (" DIAG_OPERATOR("%s") ")",
                                    op->location, op_info[op->code].name);
        return op ? op_info[op->code].name : "copy";
}

const struct module *module_of_request(const struct kernel_request *request)
{
        const struct region *region = request->region ? request->region
                                      : request->op   ? request->op->region
                                                      : NULL;
        return region ? region->function->module : request->m;
}

struct loop_function *kernel_write(struct arena *arena, const struct loop_library *library,
                                   const struct kernel_request *request,
                                   const struct lower_options *options, struct value ***inputs,
                                   int *input_count, struct diag *diag)
{
        struct emit e = { .arena = arena, .library = library, .options = options, .diag = diag,
                          .described = describe(arena, request), .too_large = request->too_large,
                          .updated = request->updated };
        e.m = module_of_request(request);
        e.kernel = loop_function_new(arena, FUNCTION_KERNEL, "kernel");
        if (!take_all(&e, request))
                return NULL;
        emit_start(&e);
        struct output *outputs = arena_array(arena, (size_t)request->result_count, sizeof *outputs);
        e.results = arena_array(arena, (size_t)request->result_count, sizeof *e.results);
        for (int i = 0; i < request->result_count; i++) {
                const struct type *t = request->results[i]->type;
                struct loop_buffer *b = e.results[i] = outputs[i].buffer =
                        ARENA_NEW(arena, struct loop_buffer);
                *b = (struct loop_buffer){ .name = emit_name(&e, "y"),
                                           .element = element_storage(t->element),
                                           .extent = type_most_elements(e.m, t),
                                           .space = SPACE_PARAMETER,
                                           .access = ACCESS_OUT,
                                           .offset = -1 };
        }
        const struct kernel_scheduler *scheduler = options->scheduler;
        const struct op *external = external_of(request);
        if (external) {
                write_external(&e, external, request, outputs);
        } else if (scheduler && scheduler->wants(request, options->target)) {
                if (!scheduler->write(&e, request, outputs[0].buffer) && !e.failed) {
                        struct lower_options canonical = *options;
                        canonical.scheduler = NULL;
                        if (request->refused) {
                                *request->refused = true;
                                return NULL;
                        }
                        return kernel_write(arena, library, request, &canonical, inputs,
                                            input_count, diag);
                }
        } else {
                write_results(&e, request, outputs);
                emit_merge_loops(e.kernel->body);
        }
        if (e.failed)
                return NULL;
        finish_parameters(&e, request, outputs);
        if (scheduler)
                loop_function_rename(arena, e.kernel);  /* Vectors made of scalars keep their
                                                         * names. */
        kernel_describe(arena, e.kernel, request);
        for (int i = 0; e.symbols && i < e.kernel->scalar_count; i++)
                e.kernel->scalars[i]->number = e.symbols[i];
        for (int i = 0; external && i < e.input_count; i++)
                e.inputs[i] = op_operand(external, i);
        *inputs = e.inputs;
        *input_count = e.input_count;
        return e.kernel;
}

void kernel_request_fusion(struct arena *arena, struct kernel_request *request, const struct op *op)
{
        const struct op *yield = op->regions[0]->last;
        struct value **results = arena_array(arena, (size_t)yield->operand_count, sizeof *results);
        for (int i = 0; i < yield->operand_count; i++)
                results[i] = op_operand(yield, i);
        *request = (struct kernel_request){ .region = op->regions[0], .results = results,
                                            .result_count = yield->operand_count };
}

void lower_bind_scratch(struct loop_program *p, struct loop_stmt *call, int first)
{
        for (int i = first; i < call->function->buffer_count; i++) {
                const struct loop_buffer *b = call->function->buffers[i];
                call->buffers[i] =
                        loop_buffer_add(p, b->name, b->element, b->extent, SPACE_WORKSPACE);
        }
}

struct loop_function *lower_kernel(struct loop_program *p, const struct op *op,
                                   const struct lower_options *options, struct value ***inputs,
                                   int *input_count, struct diag *diag)
{
        struct kernel_request request = { .op = op, .result_count = op->result_count };
        struct arena *arena = arena_new();
        struct value **results = arena_array(arena, (size_t)op->result_count, sizeof *results);
        for (int i = 0; i < op->result_count; i++)
                results[i] = &op->results[i];
        request.results = results;
        if (op_is_kernel(op))
                kernel_request_fusion(arena, &request, op);
        struct loop_function *kernel =
                kernel_write(arena, p->library, &request, options, inputs, input_count, diag);
        if (kernel) {
                kernel = kernel_copy(p->arena, kernel);
                *inputs = arena_copy(p->arena, *inputs, (size_t)*input_count * sizeof **inputs);
                loop_kernel_add(p, kernel);
        }
        arena_free(arena);
        return kernel;
}
