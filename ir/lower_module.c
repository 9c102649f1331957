/* Lowering of a whole function: where its values lie, which kernels run, in which order.
 *
 * A value lies in a buffer of its own or in part of another one (a view). Places are given from the
 * last operation to the first, so that a result's place can become its operand's:
 *
 *      %1 = add(%a, %b)            writes where %3 lies, from 0 on
 *      %2 = mul(%a, %b)            writes where %3 lies, behind %1
 *      %3 = concat(%1, %2)         does nothing; lies in the output
 *      yield(%3)
 *
 * Why this is right: every value is computed once in its region, and every element of a buffer
 * belongs to one value and what is merely another name for it. An operand takes its result's place
 * only when both are of the same region (so that the other branch of an if cannot overwrite it),
 * and only when it has no place yet: not as an input, constant, output, or part of another concat.
 * Who reads the operand elsewhere reads the same bytes. A place that spans several values is alive
 * from the first write to the last read of any view of it; the plan pass sees that through the
 * root. */
#include <stdlib.h>
#include <string.h>

#include "ir/lower_emit.h"

struct lowering {
        struct module *m;
        struct loop_program *p;
        const struct lower_options *options;
        struct diag *diag;
        struct map *kernels;            /* digest -> struct loop_function */
        struct text scratch;
        struct arena *marks;
        struct value **placed;          /* values whose scratch is set, to be reset */
        int placed_count;
};

/* ---- places ---- */

static struct loop_buffer *place_of(const struct value *v) { return v->scratch; }

static void set_place(struct lowering *l, struct value *v, struct loop_buffer *buffer)
{
        if (!v->scratch) {
                ARENA_GROW(l->marks, l->placed, l->placed_count);
                l->placed[l->placed_count++] = v;
        }
        v->scratch = buffer;
}

static struct loop_buffer *new_buffer(struct lowering *l, const struct value *v)
{
        struct loop_buffer *b = loop_buffer_add(l->p, "t", v->type->element, type_elements(v->type),
                                                SPACE_WORKSPACE);
        b->type = v->type;
        return b;
}

/* `v` as part of buffer; views refer to buffers, never to views */
static struct loop_buffer *new_view(struct lowering *l, const struct value *v,
                                    struct loop_buffer *buffer, int64_t offset)
{
        int64_t before;
        struct loop_buffer *root = loop_buffer_root(buffer, &before);
        if (before + offset == 0 && root->extent == type_elements(v->type))
                return root;
        struct loop_buffer *b =
                loop_buffer_add(l->p, "t", v->type->element, type_elements(v->type), SPACE_VIEW);
        b->type = v->type;
        b->view_of = root;
        b->view_offset = before + offset;
        return b;
}

static struct loop_buffer *constant_buffer(struct lowering *l, struct value *v)
{
        const struct constant *c = v->constant;
        struct loop_buffer *b =
                loop_buffer_add(l->p, c->name ? c->name : "constant", v->type->element,
                                type_elements(v->type), SPACE_CONSTANT);
        b->type = v->type;
        b->data = c->data;
        b->splat = c->kind == CONSTANT_SPLAT;
        set_place(l, v, b);
        return b;
}

/* where v lies, made on first need */
static struct loop_buffer *buffer_of(struct lowering *l, struct value *v)
{
        if (place_of(v))
                return place_of(v);
        if (v->kind == VALUE_CONSTANT)
                return constant_buffer(l, v);
        set_place(l, v, new_buffer(l, v));
        return place_of(v);
}

/* ---- types ---- */

static bool check_type(struct lowering *l, const struct type *t, const char *what, const char *name)
{
        bool stored = t->kind == TYPE_TENSOR && element_is_stored(t->element);
        if (stored && type_is_static(t))
                return true;
        diag_error(l->diag, EXIT_UNSUPPORTED, "%s '%s' has type %s: %s", what, name,
                   type_text(l->p->arena, l->m, t),
                   stored ? "bind its dimensions with --dim" : "no code for such values");
        return false;
}

/* Everything has a place of known size. (Inside fusions kernel_write looks again.) */
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
                for (int i = 0; op->code != OP_fusion && i < op->region_count; i++)
                        if (!check_region(l, op->regions[i]))
                                return false;
        }
        return true;
}

/* ---- views ---- */

/* the operand's elements, all and in order */
static bool is_same_elements(const struct op *op)
{
        if (op->code == OP_reshape)
                return true;
        const struct type *x = op->operand_count ? op_operand(op, 0)->type : NULL;
        if (op->code == OP_broadcast)
                return type_elements(x) == type_elements(op_result(op)->type);
        if (op->code != OP_transpose)
                return false;
        const int64_t *perm = op_ints(op, "perm", NULL);
        for (int d = 0, before = -1; d < x->rank; d++) {
                if (x->dims[perm[d]] == 1)
                        continue;
                if (perm[d] < before)
                        return false;
                before = (int)perm[d];
        }
        return true;
}

/* a slice of consecutive elements: one dimension is cut, the result's extents before it are 1 */
static bool is_consecutive(const struct op *op, int64_t *offset)
{
        int64_t starts[RANK_MAX], steps[RANK_MAX], stride = 1;
        int count;
        if (op->code != OP_slice || !value_ints(op_operand(op, 1), starts, RANK_MAX, &count) ||
            !value_ints(op_operand(op, 2), steps, RANK_MAX, &count))
                return false;
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        bool cut = false;
        *offset = 0;
        for (int d = x->rank - 1; d >= 0; d--) {
                if (y->dims[d] != 1 && (cut || steps[d] != 1))
                        return false;
                cut |= y->dims[d] != x->dims[d];
                *offset += starts[d] * stride;
                stride *= x->dims[d];
        }
        return true;
}

/* operands of a concat lie one after the other when nothing is left of the axis */
static bool is_stack(const struct op *op)
{
        if (op->code != OP_concat)
                return false;
        for (int d = 0; d < op_int(op, "axis"); d++)
                if (op_result(op)->type->dims[d] != 1)
                        return false;
        return true;
}

static bool can_take_place(const struct value *v, const struct op *user)
{
        return v->kind == VALUE_RESULT && !place_of(v) && v->op->region == user->region;
}

static bool has_dense_source(const struct value *v)
{
        return v->kind != VALUE_CONSTANT || v->constant->kind == CONSTANT_DENSE;
}

/* The operands of a stack lie one after the other already, as part of a larger one: so does the stack. */
static bool take_row(struct lowering *l, const struct op *op)
{
        struct value *y = op_result(op);
        struct loop_buffer *row = NULL;
        int64_t first = 0, offset = 0;
        if (place_of(y))
                return false;
        for (int k = 0; k < op->operand_count; k++) {
                const struct value *x = op_operand(op, k);
                int64_t at = 0;
                struct loop_buffer *root = place_of(x) ? loop_buffer_root(place_of(x), &at) : NULL;
                if (!root || !type_elements(x->type) || (row && (root != row || at != first + offset)))
                        return false;
                first = row ? first : at;
                row = root;
                offset += type_elements(x->type);
        }
        set_place(l, y, new_view(l, y, row, first));
        return true;
}

/* Places of op's operands that follow from its results' places; for a result without a place of its
 * own that is a view of its operand, nothing yet: see lower_op. */
static void place_operands(struct lowering *l, struct op *op)
{
        struct value *y = op->result_count ? op_result(op) : NULL;
        if (!l->options->views || !y || !type_elements(y->type))
                return;
        if (is_same_elements(op) && place_of(y) && can_take_place(op_operand(op, 0), op))
                set_place(l, op_operand(op, 0), new_view(l, op_operand(op, 0), place_of(y), 0));
        if (!is_stack(op) || take_row(l, op))
                return;
        int64_t offset = 0;
        struct loop_buffer *whole = buffer_of(l, y);
        for (int k = 0; k < op->operand_count; k++) {
                struct value *x = op_operand(op, k);
                if (type_elements(x->type) && can_take_place(x, op))
                        set_place(l, x, new_view(l, x, whole, offset));
                offset += type_elements(x->type);
        }
}

static void place_region(struct lowering *l, const struct region *region);

/* What a region yields is computed where its owner's results lie: outputs, the results of an if. */
static void place_yields(struct lowering *l, const struct region *region,
                         struct loop_buffer *const *targets)
{
        const struct op *yield = region->last;
        for (int i = 0; i < yield->operand_count; i++) {
                struct value *v = op_operand(yield, i);
                if (can_take_place(v, yield))
                        set_place(l, v, targets[i]);
        }
        place_region(l, region);
}

static void place_region(struct lowering *l, const struct region *region)
{
        for (struct op *op = region->last; op; op = op->previous) {
                if (op->code != OP_if) {
                        place_operands(l, op);
                        continue;
                }
                struct loop_buffer **targets =
                        arena_array(l->marks, (size_t)op->result_count, sizeof *targets);
                for (int i = 0; i < op->result_count; i++)
                        targets[i] = buffer_of(l, &op->results[i]);
                for (int i = 0; i < op->region_count; i++)
                        place_yields(l, op->regions[i], targets);
        }
}

/* ---- kernels and calls ---- */

/* the kernel of a request: one that is there already, or a new one */
static bool call_kernel(struct lowering *l, struct loop_block *block,
                        const struct kernel_request *request, struct loop_buffer *const *outputs)
{
        struct arena *arena = arena_new();
        struct value **inputs;
        int input_count;
        struct loop_function *written = kernel_write(arena, l->p->library, request, l->options,
                                                     &inputs, &input_count, l->diag);
        if (written) {
                char digest[65];
                kernel_digest(written, &l->scratch, digest);
                struct loop_function *kernel = map_get(l->kernels, digest, 64);
                if (!kernel) {
                        kernel = kernel_copy(l->p->arena, written);
                        loop_kernel_add(l->p, kernel);
                        map_set(l->kernels, digest, 64, kernel);
                }
                struct loop_stmt *call = loop_append(l->p->arena, block, STMT_CALL);
                call->function = kernel;
                call->buffers = arena_array(l->p->arena, (size_t)kernel->buffer_count,
                                            sizeof *call->buffers);
                for (int i = 0; i < input_count; i++)
                        call->buffers[i] = buffer_of(l, inputs[i]);
                for (int i = 0; i < request->result_count; i++)
                        call->buffers[input_count + i] = outputs[i];
                lower_bind_scratch(l->p, call, input_count + request->result_count);
        }
        arena_free(arena);
        return written != NULL;
}

static bool copy_value(struct lowering *l, struct loop_block *block, struct value *from,
                       struct loop_buffer *to)
{
        struct kernel_request request = { .results = &from, .result_count = 1 };
        return !type_elements(from->type) || call_kernel(l, block, &request, &to);
}

/* the operands of a stacked concat that did not take their place in it */
static bool lower_stack(struct lowering *l, struct loop_block *block, const struct op *op)
{
        int64_t offset = 0;
        for (int k = 0; k < op->operand_count; k++) {
                struct value *x = op_operand(op, k);
                int64_t at = 0, elements = type_elements(x->type);
                struct loop_buffer *whole = loop_buffer_root(place_of(op_result(op)), &at);
                int64_t wanted = at + offset;
                offset += elements;
                struct loop_buffer *root = place_of(x) ? loop_buffer_root(place_of(x), &at) : NULL;
                if (!elements || (root == whole && at == wanted))
                        continue;
                if (!copy_value(l, block, x, new_view(l, x, whole, wanted)))
                        return false;
        }
        return true;
}

static bool any_elements(const struct op *op)
{
        for (int i = 0; i < op->result_count; i++)
                if (type_elements(op->results[i].type))
                        return true;
        return false;
}

static bool lower_region(struct lowering *l, struct loop_block *block, const struct region *region,
                         struct loop_buffer *const *targets);

static bool lower_if(struct lowering *l, struct loop_block *block, struct op *op)
{
        struct value *c = op_operand(op, 0);
        struct loop_expr *condition;
        if (value_is_constant(c))
                condition = loop_literal(l->p->arena, LOOP_TYPE(E_BOOL),
                                         constant_element(c->constant, 0));
        else
                condition = loop_load(l->p->arena, buffer_of(l, c), loop_index(l->p->arena, 0));
        struct loop_stmt *s = loop_append(l->p->arena, block, STMT_IF);
        s->a = condition;
        s->other = loop_block_new(l->p->arena);
        struct loop_buffer **targets =
                arena_array(l->marks, (size_t)op->result_count, sizeof *targets);
        for (int i = 0; i < op->result_count; i++)
                targets[i] = buffer_of(l, &op->results[i]);
        return lower_region(l, s->body, op->regions[0], targets) &&
               lower_region(l, s->other, op->regions[1], targets);
}

static bool lower_op(struct lowering *l, struct loop_block *block, struct op *op)
{
        struct value *y = op_result(op), *x = op->operand_count ? op_operand(op, 0) : NULL;
        int64_t offset = 0;
        if (op->code == OP_if)
                return lower_if(l, block, op);
        if (!any_elements(op))
                return true;
        if (l->options->views && (is_same_elements(op) || is_consecutive(op, &offset)) &&
            has_dense_source(x)) {
                struct loop_buffer *from = buffer_of(l, x);
                if (!place_of(y)) {
                        set_place(l, y, new_view(l, y, from, offset));
                        return true;
                }
                int64_t a, b;
                if (loop_buffer_root(place_of(y), &a) == loop_buffer_root(from, &b) &&
                    a == b + offset)
                        return true;    /* x took y's place */
        }
        if (l->options->views && is_stack(op))
                return lower_stack(l, block, op);
        struct kernel_request request = { .op = op, .result_count = op->result_count };
        struct value **results = arena_array(l->marks, (size_t)op->result_count, sizeof *results);
        struct loop_buffer **outputs =
                arena_array(l->marks, (size_t)op->result_count, sizeof *outputs);
        for (int i = 0; i < op->result_count; i++) {
                results[i] = &op->results[i];
                outputs[i] = buffer_of(l, &op->results[i]);
        }
        request.results = results;
        if (op->code != OP_fusion)
                return call_kernel(l, block, &request, outputs);
        bool too_large = false;         /* then its operations run one by one */
        kernel_request_fusion(l->marks, &request, op);
        request.too_large = &too_large;
        return call_kernel(l, block, &request, outputs) ||
               (too_large && lower_region(l, block, op->regions[0], outputs));
}

/* The operations of a region; what it yields ends in targets. */
static bool lower_region(struct lowering *l, struct loop_block *block, const struct region *region,
                         struct loop_buffer *const *targets)
{
        for (struct op *op = region->first; op != region->last; op = op->next)
                if (!lower_op(l, block, op))
                        return false;
        const struct op *yield = region->last;
        for (int i = 0; i < yield->operand_count; i++) {
                struct value *v = op_operand(yield, i);
                if (place_of(v) != targets[i] && !copy_value(l, block, v, targets[i]))
                        return false;
        }
        return true;
}

/* ---- the function ---- */

static struct loop_buffer *port_buffer(struct lowering *l, const struct port *port,
                                       const char *fallback, const struct type *type,
                                       enum loop_space space)
{
        const char *name = port && port->name ? port->name : "";
        struct loop_buffer *b = loop_buffer_add(l->p, *name ? name : fallback, type->element,
                                                type_elements(type), space);
        b->port = name;
        b->type = type;
        return b;
}

static bool lower_function(struct lowering *l, struct function *f)
{
        /* parameters of the run function */
        static const char *const taken[] = { "workspace", "weights", "state" };
        for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
                names_reserve(l->p->names, taken[i]);
        const struct op *yield = f->body.last;
        for (int i = 0; i < f->body.argument_count; i++) {
                struct value *v = &f->body.arguments[i];
                const struct port *port = f->input_ports ? &f->input_ports[i] : NULL;
                const char *name = port && port->name ? port->name : "";
                const char *safe = text_safe(l->p->arena, name, strlen(name));
                if (!check_type(l, v->type, "input", safe))
                        return false;
                set_place(l, v, port_buffer(l, port, "input", v->type, SPACE_INPUT));
        }
        struct loop_buffer **outputs =
                arena_array(l->marks, (size_t)yield->operand_count, sizeof *outputs);
        if (!check_region(l, &f->body))
                return false;
        for (int i = 0; i < yield->operand_count; i++)
                outputs[i] = port_buffer(l, f->output_ports ? &f->output_ports[i] : NULL, "output",
                                         op_operand(yield, i)->type, SPACE_OUTPUT);
        place_yields(l, &f->body, outputs);
        return lower_region(l, l->p->main->body, &f->body, outputs);
}

struct loop_program *lower_module(struct module *m, struct function *f,
                                  const struct loop_library *library,
                                  const struct lower_options *options, struct diag *diag)
{
        struct lowering l = { .m = m, .options = options, .diag = diag, .marks = arena_new() };
        l.p = loop_program_new(m->arena, m->name ? m->name : "", library);
        memcpy(l.p->source, m->source, sizeof l.p->source);
        l.p->command = m->command;
        l.kernels = map_new(l.marks);
        bool good = lower_function(&l, f);
        for (int i = 0; i < l.placed_count; i++)
                l.placed[i]->scratch = NULL;
        arena_free(l.marks);
        text_free(&l.scratch);
        return good ? l.p : NULL;
}
