/* SPDX-License-Identifier: MIT */
/* Lowering of a whole function decides which kernels run, in which order. */
#include <stdlib.h>
#include <string.h>

#include "ir/lower/lower_module.h"

/* ---- types ---- */

static bool check_type(struct lowering *l, const struct type *t, const char *what, const char *name)
{
        bool stored = t->kind == TYPE_TENSOR && element_is_stored(t->element);
        if (stored && type_is_bound(l->m, t))
                return true;
        diag_error(l->diag, EXIT_UNSUPPORTED, "%s '%s' has type %s: %s", what, name,
                   type_text(l->p->arena, l->m, t),
                   stored ? "bind its dimensions with --dim" : "no code for such values");
        return false;
}

/* Are there as many rows that a loop scans or stacks in every run? */
static bool check_rows(struct lowering *l, const struct op *op)
{
        struct op_loop loop = op_loop(op);
        bool fixed = true;
        for (int i = 0; i < loop.scanned; i++)
                fixed = fixed && dim_is_static(loop.scans[i].value->type->dims[0]);
        for (int i = 0; i < loop.stacked; i++)
                fixed = fixed && dim_is_static(loop.stacks[i].type->dims[0]);
        if (!fixed)
                diag_error(l->diag, EXIT_UNSUPPORTED,
                           "node '%s': a loop over rows whose number a run gives is not supported; "
                           "bind it to a number with --dim",
                           op->location ? op->location : op_info[op->code].name);
        return fixed;
}

/* Checks that everything has a place of known size. (Inside fusions kernel_write checks again.) */
static bool check_region(struct lowering *l, const struct region *region)
{
        for (const struct op *op = region->first; op; op = op->next) {
                for (int i = 0; i < op->result_count; i++)
                        if (!check_type(l, op->results[i].type, "node",
                                        op->location ? op->location : op_info[op->code].name))
                                return false;
                for (int i = 0; i < op->operand_count; i++)
                        if (op_operand(op, i) &&
                            !check_type(l, op_operand(op, i)->type, "an operand of node",
                                        op->location ? op->location : op_info[op->code].name))
                                return false;
                if (op->code == OP_loop && !check_rows(l, op))
                        return false;
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        if (!check_region(l, op->regions[i]))
                                return false;
        }
        return true;
}

/* ---- kernels and calls ---- */

/* Returns the place of a result. One that should lie where a loop carries a value lies there only
 * if the kernel allows it: elements that are still read are not overwritten. */
static const struct place *output_place(struct lowering *l, const struct loop_function *kernel,
                                        struct value *const *inputs, int input_count,
                                        struct value *result)
{
        const struct loop_buffer *y = kernel->buffers[input_count + result->index];
        struct place *wanted = place_for(l, result);
        for (int i = 0; wanted->carried && i < input_count; i++) {
                const struct place *x = place_for(l, inputs[i]);
                bool shared =
                        y->alias_class > 0 && kernel->buffers[i]->alias_class == y->alias_class;
                if ((shared && place_is(x, wanted, 0)) ||
                    !place_overlaps(x, type_most_elements(l->m, inputs[i]->type), wanted,
                                    type_most_elements(l->m, result->type)))
                        continue;
                wanted = place_new(l, result);
                set_place(l, result, wanted);
        }
        return wanted;
}

static void set_argument(struct lowering *l, struct loop_stmt *call, int i,
                         const struct place *place)
{
        struct loop_expr *offset = place_offset(l, place);
        call->buffers[i] = place->buffer;
        if (offset && !call->offsets)
                call->offsets = arena_array(l->p->arena, (size_t)call->function->buffer_count,
                                            sizeof *call->offsets);
        if (offset)
                call->offsets[i] = offset;
}

/* Returns the kernel of a request: an equal one, or a new one. */
static struct loop_function *shared_kernel(struct lowering *l, const struct loop_function *written)
{
        char digest[65];
        loop_digest(written, &l->scratch, digest);
        struct loop_function *kernel = map_get(l->kernels, digest, 64);
        if (!kernel) {
                kernel = kernel_copy(l->p->arena, written);
                loop_kernel_add(l->p, kernel);
                map_set(l->kernels, digest, 64, kernel);
        }
        return kernel;
}

/* Returns the extents that a kernel has as scalar parameters, as arguments: kernel_write has left
 * the numbers of their symbols in the parameters. */
static struct loop_expr **extent_arguments(struct lowering *l, const struct loop_function *written)
{
        struct arena *arena = l->p->arena;
        struct loop_expr **arguments =
                arena_array(arena, (size_t)written->scalar_count, sizeof *arguments);
        for (int i = 0; i < written->scalar_count; i++)
                arguments[i] = loop_use(arena, l->extents[written->scalars[i]->number]);
        return arguments;
}

/* Calls a kernel. results: those of the operation, whose places are written; NULL: the request's
 * only value is copied to `to`. */
static bool call_kernel(struct lowering *l, struct loop_block *block,
                        const struct kernel_request *request, struct value *results,
                        const struct place *to)
{
        struct arena *arena = arena_new();
        struct value **inputs;
        int input_count;
        struct loop_function *written = kernel_write(arena, l->p->library, request, l->options,
                                                     &inputs, &input_count, l->diag);
        if (written) {
                struct loop_stmt *call = loop_append(l->p->arena, block, STMT_CALL);
                call->scalars = extent_arguments(l, written);
                call->function = shared_kernel(l, written);
                loop_call_locate(l->p->arena, call, written->location);
                call->buffers = arena_array(l->p->arena, (size_t)written->buffer_count,
                                            sizeof *call->buffers);
                for (int i = 0; i < input_count; i++)
                        set_argument(l, call, i, place_for(l, inputs[i]));
                for (int i = 0; i < request->result_count; i++)
                        set_argument(l, call, input_count + i,
                                     results ? output_place(l, written, inputs, input_count,
                                                            &results[i])
                                             : to);
                lower_bind_scratch(l->p, call, input_count + request->result_count);
        }
        arena_free(arena);
        return written != NULL;
}

bool copy_value(struct lowering *l, struct loop_block *block, struct value *from,
                const struct place *to)
{
        struct kernel_request request = { .results = &from, .result_count = 1, .m = l->m };
        return type_is_empty(from->type) || call_kernel(l, block, &request, NULL, to);
}

/* Copies the operands of a stacked concat that do not lie at their place in it. */
static bool lower_stack(struct lowering *l, struct loop_block *block, const struct op *op)
{
        const struct place *whole = place_of(op_result(op));
        int64_t offset = 0;
        for (int k = 0; k < op->operand_count; k++) {
                struct value *x = op_operand(op, k);
                int64_t elements = type_elements(x->type);
                bool there = place_of(x) && place_is(place_of(x), whole, offset);
                if (elements && !there && !copy_value(l, block, x, place_part(l, x, whole, offset)))
                        return false;
                offset += elements;
        }
        return true;
}

static bool has_dense_source(const struct value *v)
{
        return v->kind != VALUE_CONSTANT || v->constant->kind != CONSTANT_SPLAT;
}

static bool any_elements(const struct op *op)
{
        for (int i = 0; i < op->result_count; i++)
                if (!type_is_empty(op->results[i].type))
                        return true;
        return false;
}

/* Makes y another name for (part of) its operand's elements. */
static bool lower_view(struct lowering *l, const struct op *op, int64_t offset)
{
        struct value *x = op_operand(op, 0), *y = op_result(op);
        const struct place *from = place_for(l, x);
        if (place_of(y))                /* Either x took y's place, or y must be written. */
                return place_is(place_of(y), from, offset);
        set_place(l, y, place_part(l, y, from, offset));
        return true;
}

/* Lowers the operations of a fusion that is too large for one kernel, one by one. */
static bool lower_apart(struct lowering *l, struct loop_block *block, struct op *fusion)
{
        struct place **places = arena_array(l->marks, (size_t)fusion->result_count, sizeof *places);
        for (int i = 0; i < fusion->result_count; i++) {
                struct value *y = &fusion->results[i];
                if (place_for(l, y)->carried)   /* Later operations may still read what lies
                                                 * there. */
                        set_place(l, y, place_new(l, y));
                places[i] = place_of(y);
        }
        return lower_region(l, block, fusion->regions[0], places);
}

/* Returns what a scatter updates where it lies, which is where a next value goes; or NULL. */
static const struct value *updated_in_place(struct lowering *l, const struct op *op)
{
        const struct place *y = op->result_count == 1 ? place_of(op_result(op)) : NULL;
        if (op->code == OP_fusion && op->result_count == 1) {
                const struct value *made = op_operand(op->regions[0]->last, 0);
                op = made->kind == VALUE_RESULT ? made->op : op;
        }
        const struct value *x = op->code == OP_scatter ? op_operand(op, 0) : NULL;
        bool same = x && y && y->carried && place_of(x) && place_is(place_of(x), y, 0) &&
                    l->options->views;
        return same && op_operand(op, 1) != x && op_operand(op, 2) != x ? x : NULL;
}

/* Is the place of this result, where a next value goes, that of the input? */
static bool lies_on_carried(const struct op *made, int i, const struct value *input)
{
        const struct place *x = place_of(input), *y = place_of(&made->results[i]);
        return x && y && y->carried && place_is(x, y, 0);
}

static bool lower_kernel_op(struct lowering *l, struct loop_block *block, struct op *op)
{
        bool too_large = false;
        struct kernel_request request = { .op = op, .result_count = op->result_count };
        struct value **results = arena_array(l->marks, (size_t)op->result_count, sizeof *results);
        for (int i = 0; i < op->result_count; i++)
                place_for(l, results[i] = &op->results[i]);
        request.results = results;
        if (op_is_kernel(op))
                kernel_request_fusion(l->marks, &request, op);
        if (op->code == OP_fusion)
                request.too_large = &too_large;
        request.updated = updated_in_place(l, op);
        request.lies_on = lies_on_carried;
        request.made = op;
        return call_kernel(l, block, &request, op->results, NULL) ||
               (too_large && lower_apart(l, block, op));
}

/* Does nothing read an element of the results, only extents at most? */
static bool is_measured(const struct op *op)
{
        for (int i = 0; i < op->result_count; i++)
                for (const struct use *u = op->results[i].uses; u; u = u->next)
                        if (u->user->code != OP_extent)
                                return false;
        return true;
}

/* Is the result an extent that main alone reads, which knows it? */
static bool is_of_main(const struct op *op)
{
        for (const struct use *u = op->code == OP_extent ? op_result(op)->uses : NULL; u;
             u = u->next)
                if ((u->user->code != OP_loop && u->user->code != OP_counted) || u->index)
                        return false;
        return op->code == OP_extent;
}

/* Sets the extent that an operation counts, to a number within its bounds. */
static bool lower_counted(struct lowering *l, struct loop_block *block, struct op *op)
{
        struct arena *arena = l->p->arena;
        struct loop_variable *v =
                l->extents[dim_term(l->m, op_result(op)->type->dims[0])->symbol];
        struct loop_expr *low = loop_int(arena, E_I64, v->low),
                         *high = loop_int(arena, E_I64, v->high),
                         *n = place_scalar(l, op_operand(op, 0));
        if (!l->options->unchecked)
                lower_fail_if(l, block,
                              loop_op(arena, LOOP_OR, loop_op(arena, LOOP_LT, n, low, NULL),
                                      loop_op(arena, LOOP_GT, n, high, NULL), NULL));
        n = loop_op(arena, LOOP_MAX, loop_op(arena, LOOP_MIN, n, high, NULL), low, NULL);
        struct loop_stmt *s = loop_append(arena, block, STMT_SET);
        s->variable = v;
        s->a = loop_cast(arena, E_INDEX, n);
        return is_measured(op) || lower_kernel_op(l, block, op);
}

static bool lower_op(struct lowering *l, struct loop_block *block, struct op *op)
{
        int64_t offset = 0;
        if (op->code == OP_if)
                return lower_if(l, block, op);
        if (op->code == OP_loop)
                return lower_loop(l, block, op);
        if (op->code == OP_counted)
                return lower_counted(l, block, op);
        const bool counts = op->result_count && op_result(op)->uses && is_measured(op);
        if (!any_elements(op) || counts || is_of_main(op))
                return true;
        if (l->options->views && (is_same_elements(op) || is_consecutive(op, &offset)) &&
            has_dense_source(op_operand(op, 0)) && lower_view(l, op, offset))
                return true;
        if (l->options->views && is_stack(op))
                return lower_stack(l, block, op);
        return lower_kernel_op(l, block, op);
}

bool lower_operations(struct lowering *l, struct loop_block *block, const struct region *region)
{
        for (struct op *op = region->first; op != region->last; op = op->next)
                if (!lower_op(l, block, op))
                        return false;
        return true;
}

bool lower_region(struct lowering *l, struct loop_block *block, const struct region *region,
                  struct place *const *targets)
{
        const struct op *yield = region->last;
        if (!lower_operations(l, block, region))
                return false;
        for (int i = 0; i < yield->operand_count; i++) {
                struct value *v = op_operand(yield, i);
                if (targets[i] && (!place_of(v) || !place_is(place_of(v), targets[i], 0)) &&
                    !copy_value(l, block, v, targets[i]))
                        return false;
        }
        return true;
}

/* ---- the function ---- */

/* Returns the state of that name that another entry keeps, too, or NULL. */
static struct loop_buffer *kept_before(struct lowering *l, const char *port)
{
        for (struct loop_buffer *b = l->p->buffers; b; b = b->next)
                if (b->space == SPACE_STATE && !strcmp(b->port, port))
                        return b;
        return NULL;
}

static struct place *port_place(struct lowering *l, const struct port *port, const char *fallback,
                                const struct type *type, enum loop_space space)
{
        const char *name = port && port->name ? port->name : "";
        struct loop_buffer *b = space == SPACE_STATE ? kept_before(l, name) : NULL;
        if (b && b->type != type_at_bound(l->m, type)) {
                diag_error(l->diag, EXIT_USAGE, "state '%s' is %s in one entry and %s in another",
                           text_safe(l->p->arena, name, strlen(name)),
                           type_text(l->p->arena, l->m, b->type),
                           type_text(l->p->arena, l->m, type));
                return NULL;
        }
        if (b)
                return arena_copy(l->marks, &(struct place){ .buffer = b }, sizeof(struct place));
        b = loop_buffer_add(l->p, *name ? name : fallback, type->element,
                            type_most_elements(l->m, type), space);
        b->port = name;
        b->type = type_at_bound(l->m, type);
        b->is_text = port && port->is_text;
        return arena_copy(l->marks, &(struct place){ .buffer = b }, sizeof(struct place));
}

static void add_extent(struct lowering *l, int symbol, bool kept)
{
        const struct symbol *s = &l->m->symbols[symbol];
        if (!s->at_run || s->kept != kept || l->extents[symbol])
                return;
        l->extents[symbol] = loop_extent_add(l->p, s->name, s->name, s->least, s->bound);
        l->p->extents[l->p->extent_count - 1].counted = s->counted;
        l->p->extents[l->p->extent_count - 1].kept = s->kept;
}

/* Adds the counted symbols of a dimension, in the order of its text. */
static void add_counted(struct lowering *l, dim_t d)
{
        const struct dim_expr *t = dim_is_static(d) ? NULL : dim_term(l->m, d);
        if (t && t->kind == DIM_SYMBOL && l->m->symbols[t->symbol].counted)
                add_extent(l, t->symbol, false);
        if (t && t->kind != DIM_SYMBOL) {
                add_counted(l, t->a);
                add_counted(l, t->b);
        }
}

/* Makes the symbols that a run gives extents of the program, in the order in which they are first
 * extents of inputs, and behind them the counted ones, in the order in which outputs have them
 * first. Ports have taken their names before. */
static void add_extents(struct lowering *l, const struct function *f)
{
        const struct op *yield = f->body.last;
        if (!l->extents)
                l->extents = arena_array(l->marks, (size_t)l->m->symbol_count + 1,
                                         sizeof *l->extents);
        for (int i = 0; i < f->body.argument_count; i++) {
                const struct type *t = f->body.arguments[i].type;
                for (int d = 0; d < t->rank; d++)
                        if (!dim_is_static(t->dims[d]) &&
                            dim_term(l->m, t->dims[d])->kind == DIM_SYMBOL)
                                add_extent(l, dim_term(l->m, t->dims[d])->symbol, false);
        }
        for (int i = 0; i < l->m->symbol_count; i++)
                if (!l->m->symbols[i].counted)
                        add_extent(l, i, false);
        for (int i = 0; i < yield->operand_count; i++) {
                const struct type *t = op_operand(yield, i)->type;
                for (int d = 0; d < t->rank; d++)
                        add_counted(l, t->dims[d]);
        }
        for (int kept = 0; kept < 2; kept++)
                for (int i = 0; i < l->m->symbol_count; i++)
                        add_extent(l, i, kept);
}

struct loop_expr *dim_in_main(struct lowering *l, dim_t d)
{
        struct arena *arena = l->p->arena;
        static const enum loop_opcode codes[] = {
                [DIM_ADD] = LOOP_ADD, [DIM_SUB] = LOOP_SUB, [DIM_MUL] = LOOP_MUL,
                [DIM_DIV] = LOOP_DIV, [DIM_MAX] = LOOP_MAX, [DIM_MIN] = LOOP_MIN
        };
        if (dim_is_static(d))
                return loop_index(arena, dim_extent(d));
        const struct dim_expr *t = dim_term(l->m, d);
        if (t->kind == DIM_SYMBOL)
                return loop_use(arena, l->extents[t->symbol]);
        struct loop_expr *value = loop_op(arena, codes[t->kind], dim_in_main(l, t->a),
                                          dim_in_main(l, t->b), NULL);
        return t->kind == DIM_SUB ? loop_op(arena, LOOP_MAX, value, loop_index(arena, 0), NULL)
                                  : value;
}

/* Gives extents that are state their next values behind a run of f. */
static void keep_extents(struct lowering *l, const struct function *f)
{
        for (int i = 0; i < f->next_count; i++) {
                const struct next_extent *next = &f->next_extents[i];
                const int extent = loop_extent_number(l->p, l->extents[next->symbol]);
                if (extent >= 0)
                        loop_extent_next(l->p, l->p->at, extent, dim_in_main(l, next->next));
        }
}

/* Gives a port the shape of a run. */
static void set_port_extents(struct lowering *l, struct loop_buffer *port, const struct type *type)
{
        if (type_is_static(type))
                return;
        port->extents = arena_array(l->p->arena, (size_t)type->rank, sizeof *port->extents);
        for (int d = 0; d < type->rank; d++)
                port->extents[d] = dim_in_main(l, type->dims[d]);
}

/* Makes a buffer of each input that is state, where its next value goes, too. */
static void place_states(struct lowering *l, struct function *f, struct carry *states)
{
        *states = (struct carry){ .yield = f->body.last };
        states->held = arena_array(l->marks, (size_t)f->body.argument_count + 1,
                                   sizeof *states->held);
        states->next = arena_array(l->marks, (size_t)f->body.argument_count + 1,
                                   sizeof *states->next);
        states->places = arena_array(l->marks, (size_t)f->body.argument_count + 1,
                                     sizeof *states->places);
        for (int i = 0; i < f->body.argument_count; i++) {
                const int next = function_next_of(f, i);
                if (next < 0)
                        continue;
                struct value *v = &f->body.arguments[i];
                struct place *place = place_of(v);
                place->carried = true;
                place->buffer->next_port = f->output_ports[next].name;
                place->buffer->next_number = next;
                const struct port *port = &f->input_ports[i];
                if (port->grows) {
                        const struct type *t = v->type;
                        dim_t dims[RANK_MAX];
                        memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
                        dims[port->along] = port->rows;
                        set_port_extents(l, place->buffer,
                                         type_tensor(l->m, t->element, t->rank, dims));
                }
                states->held[states->count] = v;
                states->next[states->count] = op_operand(f->body.last, next);
                states->places[states->count++] = place;
        }
}

/* Lowers the operations of f, whose ports have their places. */
static bool lower_body(struct lowering *l, struct loop_block *block, struct function *f,
                       struct place *const *outputs)
{
        struct carry states;
        place_states(l, f, &states);
        if (states.count)
                place_carried(l, &states);
        place_yields(l, &f->body, outputs);
        return lower_region(l, block, &f->body, outputs) && lower_carried(l, block, &states);
}

/* Tells the counted extents of f's outputs, where f is the code for likely extents, as those of the
 * general function. */
static void tell_counted(struct lowering *l, struct loop_block *block, const struct function *f)
{
        const struct op *own = f->body.last, *general = f->general->body.last;
        for (int i = 0; i < own->operand_count; i++) {
                const struct type *t = op_operand(general, i)->type;
                for (int d = 0; d < t->rank; d++) {
                        const struct dim_expr *e =
                                dim_is_static(t->dims[d]) ? NULL : dim_term(l->m, t->dims[d]);
                        if (!e || e->kind != DIM_SYMBOL || !l->m->symbols[e->symbol].counted)
                                continue;
                        struct loop_stmt *s = loop_append(l->p->arena, block, STMT_SET);
                        s->variable = l->extents[e->symbol];
                        s->a = dim_in_main(l, op_operand(own, i)->type->dims[d]);
                }
        }
}

/* Lowers f, the code of another function for likely extents, whose ports have these places, into an
 * if. Returns the block of runs with other extents, or NULL after an error. */
static struct loop_block *lower_likely(struct lowering *l, struct loop_block *block,
                                       struct function *f, struct place *const *inputs,
                                       struct place *const *outputs)
{
        struct arena *arena = l->p->arena;
        struct loop_stmt *s = loop_append(arena, block, STMT_IF);
        s->likely = true;
        s->other = loop_block_new(arena);
        for (int i = 0; i < f->likely_count; i++) {
                struct loop_expr *is =
                        loop_op(arena, LOOP_EQ, loop_use(arena, l->extents[f->likely[i].symbol]),
                                loop_index(arena, f->likely[i].extent), NULL);
                s->a = s->a ? loop_op(arena, LOOP_AND, s->a, is, NULL) : is;
        }
        for (int i = 0; i < f->body.argument_count; i++)
                set_place(l, &f->body.arguments[i],
                          arena_copy(l->marks, inputs[i], sizeof **inputs));
        if (!check_region(l, &f->body))
                return NULL;
        add_extents(l, f);
        if (!lower_body(l, s->body, f, outputs))
                return NULL;
        tell_counted(l, s->body, f);
        return s->other;
}

static bool lower_function(struct lowering *l, struct function *f)
{
        /* The run function has parameters of these names. */
        static const char *const taken[] = { "workspace", "weights", "state" };
        bool has_state = false;
        for (int i = 0; i < f->body.argument_count; i++)
                has_state |= function_next_of(f, i) >= 0;
        for (size_t i = 0; i < sizeof taken / sizeof *taken - !has_state; i++)
                names_reserve(l->p->names, taken[i]);
        const struct op *yield = f->body.last;
        struct place **inputs = arena_array(l->marks, (size_t)f->body.argument_count + 1,
                                            sizeof *inputs),
                     **outputs = arena_array(l->marks, (size_t)yield->operand_count,
                                             sizeof *outputs);
        for (int i = 0; i < f->body.argument_count; i++) {
                struct value *v = &f->body.arguments[i];
                const struct port *port = f->input_ports ? &f->input_ports[i] : NULL;
                const char *name = port && port->name ? port->name : "";
                const char *safe = text_safe(l->p->arena, name, strlen(name));
                if (!check_type(l, v->type, "input", safe))
                        return false;
                inputs[i] = port_place(l, port, "input", v->type,
                                       port && port->next ? SPACE_STATE : SPACE_INPUT);
                if (!inputs[i])
                        return false;
                set_place(l, v, inputs[i]);
        }
        if (!check_region(l, &f->body))
                return false;
        for (int i = 0; i < yield->operand_count; i++)
                if (function_state_of(f, i) < 0)
                        outputs[i] = port_place(l, f->output_ports ? &f->output_ports[i] : NULL,
                                                "output", op_operand(yield, i)->type, SPACE_OUTPUT);
        add_extents(l, f);
        keep_extents(l, f);
        for (int i = 0; i < f->body.argument_count; i++)
                set_port_extents(l, inputs[i]->buffer, f->body.arguments[i].type);
        for (int i = 0; i < yield->operand_count; i++)
                if (outputs[i])
                        set_port_extents(l, outputs[i]->buffer, op_operand(yield, i)->type);
        struct loop_block *block = loop_main(l->p)->body;
        for (struct function *g = f->next; g && block; g = g->next)
                if (g->general == f)
                        block = lower_likely(l, block, g, inputs, outputs);
        return block && lower_body(l, block, f, outputs);
}

struct loop_program *lower_module(struct module *m, struct function *f,
                                  const struct loop_library *library,
                                  const struct lower_options *options, struct diag *diag)
{
        struct lowering l = { .m = m, .options = options, .diag = diag, .marks = arena_new() };
        l.p = loop_program_new(m->arena, m->name ? m->name : "", library);
        memcpy(l.p->source, m->source, sizeof l.p->source);
        l.p->command = m->command;
        l.p->within = m->within;
        l.kernels = map_new(l.marks);
        l.loops = map_new(l.marks);
        bool good = true;
        if (f || !module_has_entries(m)) {
                good = lower_function(&l, f ? f : m->functions);
        } else {
                l.p->entries[0].name = m->functions->name;
                for (f = m->functions->next; f && !f->general; f = f->next)
                        loop_entry_add(l.p, f->name);
                for (f = m->functions; f && !f->general && good; f = f->next, l.p->at++)
                        good = lower_function(&l, f);
                l.p->at = 0;
        }
        for (int i = 0; i < l.placed_count; i++)
                l.placed[i]->scratch = NULL;
        arena_free(l.marks);
        text_free(&l.scratch);
        return good ? l.p : NULL;
}
