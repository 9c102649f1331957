/* SPDX-License-Identifier: MIT */
/* Lowering of control flow: ifs and loops.
 *
 *      %r, %y = loop(none, none, %h, %x) steps=20 carried=1 {(%t, %a, %row)
 *        %b = tanh(%a)                                              call @copy(@h, @r)
 *        %c = add(%b, %row)                              ->         for %t = 0 to 20 {
 *        yield(%c, %b)                                                call @tanh(@r, @y + %t * 64)
 *      }                                                              call @add(@y + %t * 64, @x + %t * 64, @r)
 *                                                                   }
 *
 * A carried value lies where its last value does (%a, %r and here %c). The next iteration
 * overwrites it, so the next value is computed there only when the one before is not read any more,
 * or when each element is read just before it is written (lower_module.c asks the kernel); else it
 * is copied at the iteration's end. Rows are parts of their stack or scanned value, at an offset
 * given by the iteration's number. */
#include <string.h>

#include "ir/lower/lower_module.h"
#include "ir/tensor/amounts.h"

struct loop_places {
        struct loop_variable *number;
        struct place **carried, **rows, *go;      /* rows are the places of stacks' rows. */
};

/* ---- if ---- */

static struct place **places_of_results(struct lowering *l, struct op *op)
{
        struct place **places = arena_array(l->marks, (size_t)op->result_count, sizeof *places);
        for (int i = 0; i < op->result_count; i++)
                places[i] = place_for(l, &op->results[i]);
        return places;
}

void place_if(struct lowering *l, struct op *op)
{
        struct place **targets = places_of_results(l, op);
        for (int i = 0; i < op->region_count; i++)
                place_yields(l, op->regions[i], targets);
}

bool lower_if(struct lowering *l, struct loop_block *block, struct op *op)
{
        struct place **targets = places_of_results(l, op);
        struct loop_expr *condition = place_scalar(l, op_operand(op, 0));
        struct loop_stmt *s = loop_append(l->p->arena, block, STMT_IF);
        s->a = condition;
        s->other = loop_block_new(l->p->arena);
        return lower_region(l, s->body, op->regions[0], targets) &&
               lower_region(l, s->other, op->regions[1], targets);
}

/* ---- who lies where a loop carries a value ---- */

/* Are v's elements computed by a kernel, and have no other name? */
static bool is_computed(const struct value *v)
{
        bool kernel = v->kind == VALUE_RESULT && (!v->op->region_count || op_is_kernel(v->op));
        return kernel && !(op_info[v->op->code].traits & TRAIT_FREE) &&
               !type_is_empty(v->type);
}

/* Returns the operation of region that holds op. */
static const struct op *op_in_region(const struct op *op, const struct region *region)
{
        while (op->region != region)
                op = op->region->owner;
        return op;
}

/* Is no element of what `held` names read once `writer` has begun? Writer itself may read it,
 * because its kernel is asked. Other names come from operations that only move elements. (The
 * operations of the region have their numbers.) */
static bool is_read_before(const struct value *held, const struct op *writer, struct arena *arena)
{
        const struct value **names = NULL;
        struct map *known = map_new(arena);
        int count = 0;
        ARENA_GROW(arena, names, count);
        names[count++] = held;
        for (int i = 0; i < count; i++)
                for (const struct use *u = names[i]->uses; u; u = u->next) {
                        const struct op *reader = op_in_region(u->user, writer->region);
                        if (u->user->code == OP_extent)
                                continue;
                        if (reader->number > writer->number || (reader == writer && i > 0))
                                return false;
                        if (reader != u->user || !(op_info[reader->code].traits & TRAIT_FREE) ||
                            map_get(known, (const char *)&reader, sizeof reader))
                                continue;
                        map_set(known, (const char *)&reader, sizeof reader, (void *)held);
                        ARENA_GROW(arena, names, count);
                        names[count++] = op_result(reader);
                }
        return true;
}

/* Returns what the kernel of v, a scatter, updates, if nothing else reads that; else NULL. */
static struct value *only_updated(const struct value *v)
{
        const struct op *op = v->op;
        if (op->code == OP_fusion && op->result_count == 1) {
                const struct value *made = op_operand(op->regions[0]->last, 0);
                op = made->kind == VALUE_RESULT ? made->op : op;
        }
        struct value *x = op->code == OP_scatter ? op_operand(op, 0) : NULL;
        return x && value_has_one_use(x) ? x : NULL;
}

/* Finds where the next value of number k may be computed: through operations that are only names
 * for it. Scatters after one another update the same place. */
static void place_next(struct lowering *l, const struct carry *c, int k)
{
        struct value *v = c->next[k];
        const struct region *body = c->yield->region;
        while (v->kind == VALUE_RESULT && v->op->region == body && v->op->operand_count &&
               is_same_elements(v->op) && l->options->views && !place_of(v))
                v = op_operand(v->op, 0);
        for (; v && can_take_place(v, c->yield) && is_computed(v) &&
               is_read_before(c->held[k], v->op, l->marks);
             v = only_updated(v))
                set_place(l, v, c->places[k]);
}

static void number_ops(const struct region *region)
{
        int count = 0;
        for (struct op *op = region->first; op; op = op->next)
                op->number = count++;
}

void place_carried(struct lowering *l, const struct carry *c)
{
        number_ops(c->yield->region);
        for (int i = 0; i < c->count; i++)
                place_next(l, c, i);
}

/* ---- loops: places ---- */

/* Returns the elements of a row; *pitch: the term of which it has so many times, or 0. */
static int64_t row_elements(struct lowering *l, const struct type *stack, dim_t *pitch)
{
        int64_t known = 1;
        dim_t open = dim_of(1);
        for (int d = 1; d < stack->rank; d++)
                if (dim_is_static(stack->dims[d]))
                        known *= type_extent(stack, d);
                else
                        open = dim_binary(l->m, DIM_MUL, open, stack->dims[d]);
        *pitch = dim_is(open, 1) ? dim_of(0) : open;
        return known;
}

/* Returns the place of the rows of a stack or scanned value: the first one, or the last one when
 * the loop runs backward, and on from there. */
static struct place *stack_rows(struct lowering *l, const struct place *whole,
                                const struct value *v, const struct op_loop *loop,
                                struct loop_variable *number, bool backward)
{
        struct moving along = { .number = number, .pitch = dim_of(0) };
        const int64_t row = loop->steps ? row_elements(l, v->type, &along.pitch) : 0,
                      last = backward ? loop->steps - 1 : 0;
        const bool open = !dim_is(along.pitch, 0);
        along.stride = backward ? -row : row;
        along.last = open ? last : 0;
        return place_row(l, whole, &along, open ? 0 : last * row);
}

static struct place *place_go(struct lowering *l, const struct op_loop *loop)
{
        if (!loop->go)
                return NULL;
        struct place *go = place_new(l, loop->go);
        if (can_take_place(loop->next_go->value, loop->yield))
                set_place(l, loop->next_go->value, go);
        return go;
}

/* Returns what the loop carries from one iteration to the next. */
static struct carry carry_of(struct lowering *l, const struct op_loop *loop, struct place **places)
{
        struct carry c = { .count = loop->carried, .places = places, .yield = loop->yield };
        c.held = arena_array(l->marks, (size_t)loop->carried + 1, sizeof *c.held);
        c.next = arena_array(l->marks, (size_t)loop->carried + 1, sizeof *c.next);
        for (int i = 0; i < loop->carried; i++) {
                c.held[i] = &loop->held[i];
                c.next[i] = loop->next[i].value;
        }
        return c;
}

void place_loop(struct lowering *l, struct op *op)
{
        struct op_loop loop = op_loop(op);
        struct loop_places *places = ARENA_NEW(l->marks, struct loop_places);
        const int64_t *backward = op_ints(op, "stack_backward", NULL);
        const char *name =
                arena_printf(l->p->arena, l->loop_count ? "step_%d" : "step", l->loop_count);
        l->loop_count++;
        places->number = loop_variable_new(l->p->arena, name, LOOP_TYPE(E_INDEX),
                                           loop.go ? VARIABLE_VAR : VARIABLE_LOOP);
        places->carried = arena_array(l->marks, (size_t)loop.carried, sizeof *places->carried);
        places->rows = arena_array(l->marks, (size_t)loop.stacked, sizeof *places->rows);
        for (int i = 0; i < loop.carried; i++) {
                struct value *first = loop.first[i].value;
                struct place *place =
                        arena_copy(l->marks, place_for(l, &loop.last[i]), sizeof *place);
                place->carried = true;
                places->carried[i] = place;
                if (can_take_place(first, op) && is_computed(first) && value_has_one_use(first))
                        set_place(l, first, place);
        }
        const struct carry carry = carry_of(l, &loop, places->carried);
        place_carried(l, &carry);
        places->go = place_go(l, &loop);
        for (int i = 0; i < loop.stacked; i++) {
                struct value *row = loop.stacked_rows[i].value;
                places->rows[i] = stack_rows(l, place_for(l, &loop.stacks[i]), &loop.stacks[i],
                                             &loop, places->number, backward[i]);
                if (can_take_place(row, loop.yield))
                        set_place(l, row, places->rows[i]);
        }
        map_set(l->loops, (const char *)&op, sizeof op, places);
        place_region(l, op->regions[0]);
}

/* ---- loops: statements ---- */

static bool copy_to(struct lowering *l, struct loop_block *block, struct value *v,
                    const struct place *to)
{
        return (place_of(v) && place_is(place_of(v), to, 0)) || copy_value(l, block, v, to);
}

void lower_fail_if(struct lowering *l, struct loop_block *block, struct loop_expr *condition)
{
        struct loop_stmt *s = loop_append(l->p->arena, block, STMT_IF);
        s->a = condition;
        loop_append(l->p->arena, s->body, STMT_FAIL)->code = FAIL_EXTENT;
        loop_main(l->p)->can_fail = true;
}

static struct loop_expr *compare(struct lowering *l, enum loop_opcode op, struct loop_expr *a,
                                 int64_t b)
{
        return loop_op(l->p->arena, op, a, loop_int(l->p->arena, a->type.element, b),
                       NULL);
}

/* Is the trip count a term whose bound the loop has room for? */
static bool is_within_steps(const struct lowering *l, const struct op_loop *loop)
{
        struct amount trip[AMOUNTS_MAX];
        int count;
        return value_amounts(l->m, loop->trip, trip, &count) && count == 1 && trip[0].term &&
               dim_bound(l->m, trip[0].dim) <= loop->steps;
}

/* Opens a for, where the number of iterations is known before the first. */
static struct loop_stmt *open_for(struct lowering *l, struct loop_block *block,
                                  const struct op_loop *loop, const struct loop_places *places)
{
        struct arena *arena = l->p->arena;
        struct loop_expr *end = loop_index(arena, loop->steps);
        if (loop->trip) {
                if (loop->stacked && loop->steps && !loop->partial)
                        lower_fail_if(l, block,
                                compare(l, LOOP_NE, place_scalar(l, loop->trip), loop->steps));
                else if ((loop->stacked || loop->scanned) && !is_within_steps(l, loop))
                        lower_fail_if(l, block,
                                compare(l, LOOP_GT, place_scalar(l, loop->trip), loop->steps));
                end = place_index(l, loop->trip);
        }
        struct loop_stmt *s = loop_append(arena, block, STMT_FOR);
        s->variable = places->number;
        s->a = loop_index(arena, 0);
        s->b = end;
        return s;
}

/* Opens a while, where each iteration decides whether there is another one. */
static struct loop_stmt *open_while(struct lowering *l, struct loop_block *block,
                                    const struct op_loop *loop, const struct loop_places *places)
{
        struct arena *arena = l->p->arena;
        struct loop_stmt *number = loop_append(arena, block, STMT_VAR),
                         *s = loop_append(arena, block, STMT_WHILE);
        number->variable = places->number;
        number->a = loop_index(arena, 0);
        struct loop_expr *go = loop_load(arena, places->go->buffer, loop_index(arena, 0)),
                         *more = NULL;
        if (loop->trip)
                more = loop_op(arena, LOOP_LT,
                               loop_cast(arena, E_I64, loop_use(arena, places->number)),
                               place_scalar(l, loop->trip), NULL);
        else if (loop->steps < INT64_MAX)
                more = compare(l, LOOP_LT, loop_use(arena, places->number), loop->steps);
        s->a = more ? loop_op(arena, LOOP_AND, more, go, NULL) : go;
        if (loop->trip && (loop->stacked || loop->scanned))
                lower_fail_if(l, s->body,
                        compare(l, LOOP_GE, loop_use(arena, places->number), loop->steps));
        return s;
}

static void close_while(struct lowering *l, struct loop_block *block, const struct loop_stmt *s,
                        const struct op_loop *loop, const struct loop_places *places)
{
        struct arena *arena = l->p->arena;
        struct loop_stmt *next = loop_append(arena, s->body, STMT_SET);
        next->variable = places->number;
        next->a = loop_op(arena, LOOP_ADD, loop_use(arena, places->number), loop_index(arena, 1),
                          NULL);
        if (loop->stacked && !loop->partial)
                lower_fail_if(l, block,
                        compare(l, LOOP_NE, loop_use(arena, places->number), loop->steps));
}

/* Stores y[0] = number, where the region reads it. */
static void store_number(struct lowering *l, struct loop_block *block, struct value *number,
                         const struct loop_places *places)
{
        struct arena *arena = l->p->arena;
        if (!number->uses)
                return;
        if (!l->number) {
                l->number = loop_function_new(arena, FUNCTION_KERNEL, "number");
                l->number->summary = "the number of an iteration";
                struct loop_buffer *y =
                        loop_parameter_add(arena, l->number, "y", E_I64, 1, ACCESS_OUT);
                struct loop_variable *step =
                        loop_scalar_add(arena, l->number, "step", LOOP_TYPE(E_INDEX));
                struct loop_stmt *store = loop_append(arena, l->number->body, STMT_STORE);
                store->buffer = y;
                store->a = loop_index(arena, 0);
                store->b = loop_cast(arena, E_I64, loop_use(arena, step));
                loop_kernel_add(l->p, l->number);
        }
        struct loop_stmt *call = loop_append(arena, block, STMT_CALL);
        call->function = l->number;
        call->buffers = arena_copy(arena, &place_for(l, number)->buffer, sizeof *call->buffers);
        call->scalars = arena_array(arena, 1, sizeof *call->scalars);
        call->scalars[0] = loop_use(arena, places->number);
}

/* Places the rows that are read; a splat has none in memory. */
static bool place_rows(struct lowering *l, struct loop_block *block, const struct op *op,
                       const struct op_loop *loop, const struct loop_places *places)
{
        const int64_t *backward = op_ints(op, "scan_backward", NULL);
        for (int i = 0; i < loop->scanned; i++) {
                struct value *x = loop->scans[i].value;
                bool splat = value_is_constant(x) && x->constant->kind == CONSTANT_SPLAT;
                const struct place *whole = splat ? place_new(l, x) : place_for(l, x);
                if (splat && !copy_value(l, block, x, whole))
                        return false;
                set_place(l, &loop->rows[i],
                          stack_rows(l, whole, x, loop, places->number, backward[i]));
        }
        return true;
}

bool lower_carried(struct lowering *l, struct loop_block *block, const struct carry *c)
{
        const struct place **from = arena_array(l->marks, (size_t)c->count + 1, sizeof *from);
        struct map *written = map_new(l->marks);
        for (int i = 0; i < c->count; i++) {
                const struct loop_buffer *root = loop_buffer_root(c->places[i]->buffer, NULL);
                map_set(written, (const char *)&root, sizeof root, l);
        }
        for (int i = 0; i < c->count; i++) {
                struct value *v = c->next[i];
                const struct loop_buffer *root =
                        place_of(v) ? loop_buffer_root(place_of(v)->buffer, NULL) : NULL;
                if (!root || type_is_empty(v->type) || place_is(place_of(v), c->places[i], 0) ||
                    !map_get(written, (const char *)&root, sizeof root))
                        continue;
                from[i] = place_new(l, v);
                if (!copy_value(l, block, v, from[i]))
                        return false;
        }
        for (int i = 0; i < c->count; i++) {
                struct value *v = c->next[i];
                struct place *own = place_of(v);
                if (from[i])
                        v->scratch = (void *)from[i];
                bool good = copy_to(l, block, v, c->places[i]);
                if (from[i])
                        v->scratch = own;
                if (!good)
                        return false;
        }
        return true;
}

static bool lower_body(struct lowering *l, struct loop_block *block, const struct op *op,
                       const struct op_loop *loop, const struct loop_places *places)
{
        store_number(l, block, loop->number, places);
        if (!lower_operations(l, block, op->regions[0]))
                return false;
        for (int i = 0; i < loop->stacked; i++)
                if (!copy_to(l, block, loop->stacked_rows[i].value, places->rows[i]))
                        return false;
        const struct carry carry = carry_of(l, loop, places->carried);
        return (!loop->go || copy_to(l, block, loop->next_go->value, places->go)) &&
               lower_carried(l, block, &carry);
}

bool lower_loop(struct lowering *l, struct loop_block *block, struct op *op)
{
        struct op_loop loop = op_loop(op);
        const struct loop_places *places = map_get(l->loops, (const char *)&op, sizeof op);
        for (int i = 0; i < loop.carried; i++) {
                if (!copy_to(l, block, loop.first[i].value, places->carried[i]))
                        return false;
                set_place(l, &loop.held[i], places->carried[i]);
        }
        if ((loop.go && !copy_to(l, block, loop.go, places->go)) ||
            !place_rows(l, block, op, &loop, places))
                return false;
        struct loop_stmt *s =
                loop.go ? open_while(l, block, &loop, places) : open_for(l, block, &loop, places);
        if (!lower_body(l, s->body, op, &loop, places))
                return false;
        if (loop.go)
                close_while(l, block, s, &loop, places);
        return true;
}
