/* SPDX-License-Identifier: MIT */
/* Adjoints of if and loop. What a region computes is computed again beside its derivatives; of a
 * loop the carried values that each iteration began with are kept, as stacks (the tapes), which a
 * second loop reads from the last iteration to the first:
 *
 *      %h = loop(%h0) steps=9 {(%i, %a)            %h, %tape = loop(%h0) steps=9 {(%i, %a)
 *        %1 = mul(%a, %w)                            %1 = mul(%a, %w)
 *        yield(%1)                                   yield(%1, %a)
 *      }                                           }
 *                                                  %d0, %dw = loop(%dh, 0, %tape) steps=9
 *                                          ->          scan_backward=[1] {(%t, %d, %sum, %a)
 *                                                    %1 = mul(%a, %w)
 *                                                    %2 = mul(%d, %w)                 d%a
 *                                                    %3 = mul(%d, %a)                 d%w
 *                                                    %4 = add(%sum, %3)
 *                                                    yield(%2, %4)
 *                                                  }
 *
 * Where a run says how many iterations there are (trip, go), they are counted, and the second loop
 * takes rows by their numbers. */
#include "ir/adjoint/adjoint.h"
#include "ir/tensor/ops.h"

/* Returns the values that op's regions read from outside and that have derivatives. */
static struct value **wanted_captures(struct sweep *s, const struct op *op, int *count)
{
        int all, kept = 0;
        struct value **captures = op_captures(s->arena, op, &all);
        for (int i = 0; i < all; i++)
                if (sweep_wants(s, captures[i]))
                        captures[kept++] = captures[i];
        *count = kept;
        return captures;
}

static struct builder builder_inside(const struct sweep *s, struct region *region)
{
        return (struct builder){ .m = s->b->m,
                                 .region = region,
                                 .location = s->b->location,
                                 .diag = s->b->diag };
}

/* Builds derivatives inside a region, and takes over what is in their way. */
static bool build_inside(struct sweep *s, struct builder *inside, const struct gradient *g)
{
        struct sweep own = { .b = inside, .arena = s->arena, .replaces = true };
        bool ok = gradient_build(&own, g);
        for (int i = 0; i < own.obstacle_count; i++)
                sweep_refuse(s, own.obstacles[i].op, own.obstacles[i].why);
        return ok;
}

/* ---- if ---- */

static bool branch_back(struct sweep *s, const struct op *op, int k, struct op *made,
                        struct value **xs, int count)
{
        struct builder inside = builder_inside(s, op_add_region(made, k));
        region_clone_operations(&inside, op->regions[k]);
        struct op *yield = inside.region->last;
        struct value **ys = arena_array(s->arena, (size_t)op->result_count, sizeof *ys),
                     **seeds = arena_array(s->arena, (size_t)op->result_count, sizeof *seeds),
                     **derivatives = arena_array(s->arena, (size_t)count, sizeof *derivatives);
        struct gradient g = { .ys = ys,
                              .seeds = seeds,
                              .xs = xs,
                              .x_count = count,
                              .made = derivatives };
        for (int i = 0; i < op->result_count; i++)
                if ((seeds[g.y_count] = sweep_of(s, &op->results[i])))
                        ys[g.y_count++] = op_operand(yield, i);
        op_erase(yield);
        return build_inside(s, &inside, &g) && build_yield(&inside, derivatives, count);
}

bool adjoint_if(struct sweep *s, const struct op *op)
{
        int count;
        struct value **xs = wanted_captures(s, op, &count), *c = op_operand(op, 0);
        const struct type **types = arena_array(s->arena, (size_t)count, sizeof *types);
        for (int i = 0; i < count; i++)
                types[i] = xs[i]->type;
        if (!count)
                return true;
        struct op *made = op_build_results(s->b, OP_if, &c, 1, NULL, types, count, 2);
        for (int k = 0; made && k < 2; k++)
                if (!branch_back(s, op, k, made, xs, count)) {
                        op_erase(made);
                        return s->obstacle_count > 0;
                }
        if (!made || !op_infer(s->b->m, made, s->b->diag))
                return false;
        for (int i = 0; i < count; i++)
                if (!sweep_flow(s, xs[i], &made->results[i]))
                        return false;
        return true;
}

/* ---- external: what its region says ---- */

static bool is_among(struct value *const *values, int count, const struct value *v)
{
        for (int i = 0; i < count; i++)
                if (values[i] == v)
                        return true;
        return false;
}

bool adjoint_external(struct sweep *s, const struct op *op)
{
        const struct region *meaning = op->regions[0];
        const size_t room = (size_t)(op->operand_count + op->result_count);
        struct value **lists = arena_array(s->arena, 4 * room, sizeof *lists);
        struct gradient g = { .ys = lists, .seeds = lists + room, .xs = lists + 2 * room,
                              .made = lists + 3 * room };
        struct value **xs = lists + 2 * room;
        for (int i = 0; i < op->operand_count; i++) {
                meaning->arguments[i].scratch = op_operand(op, i);
                struct value *x = op_operand(op, i);
                if (sweep_wants(s, x) && !is_among(xs, g.x_count, x))
                        xs[g.x_count++] = x;
        }
        region_clone_operations(s->b, meaning);
        struct op *yield = s->b->before ? s->b->before->previous : s->b->region->last;
        for (int i = 0; i < op->result_count; i++)
                if ((lists[room + (size_t)g.y_count] = sweep_of(s, &op->results[i])))
                        lists[g.y_count++] = op_operand(yield, i);
        op_erase(yield);
        if (!build_inside(s, s->b, &g))
                return s->obstacle_count > 0;
        for (int i = 0; i < g.x_count; i++)
                if (!sweep_flow(s, xs[i], g.made[i]))
                        return false;
        return true;
}

/* ---- loop: the tapes ---- */

struct back {
        struct sweep *s;
        struct op *op;
        struct op_loop loop;
        bool open;                      /* A run says how many iterations there are. */
        struct value **tapes;           /* [carried], NULL where an iteration does not read it. */
        struct value *count;            /* There were so many iterations; NULL unless open. */
        struct value **captures;
        int capture_count;
};

static bool is_taped(const struct back *k, int i)
{
        return k->loop.held[i].uses != NULL;
}

/* Builds the loop with tapes, which has no results beyond carried ones and tapes where it is
 * open. */
static struct op *new_taped(const struct back *k)
{
        const struct op_loop *loop = &k->loop;
        const struct op *op = k->op;
        struct builder b = builder_before(k->op, k->s->b->diag);
        struct module *m = b.m;
        const size_t room = (size_t)(op->operand_count + op->result_count + loop->carried + 1);
        struct value **operands = arena_array(k->s->arena, room, sizeof *operands);
        const struct type **types = arena_array(k->s->arena, room, sizeof *types);
        int64_t *stacks = arena_array(k->s->arena, room, sizeof *stacks);
        int count = 2, results = 0, stacked = 0;
        operands[0] = loop->trip;
        operands[1] = loop->go;
        for (int i = 0; i < loop->carried; i++) {
                operands[count++] = loop->first[i].value;
                types[results++] = loop->last[i].type;
        }
        if (k->open) {
                operands[count] = constant_number(m, type_scalar(m, E_I64), 0);
                types[results++] = operands[count++]->type;
        }
        for (int i = 0; i < loop->scanned; i++)
                operands[count++] = loop->scans[i].value;
        for (int i = 0; i < loop->stacked && !k->open; i++) {
                types[results++] = loop->stacks[i].type;
                stacks[stacked++] = op_ints(op, "stack_backward", NULL)[i];
        }
        for (int i = 0; i < loop->carried; i++)
                if (is_taped(k, i)) {
                        types[results++] = type_of_stack(m, loop->held[i].type, loop->steps);
                        stacks[stacked++] = 0;
                }
        struct attr *attrs = attrs_new(m, OP_loop);
        attr_set(attrs, OP_loop, "steps", loop->steps);
        attr_set(attrs, OP_loop, "carried", loop->carried + k->open);
        attr_set(attrs, OP_loop, "partial", k->open || loop->partial);
        attr_set_ints(m, attrs, OP_loop, "scan_backward", op_ints(op, "scan_backward", NULL),
                      loop->scanned);
        attr_set_ints(m, attrs, OP_loop, "stack_backward", stacks, stacked);
        return op_build_results(&b, OP_loop, operands, count, attrs, types, results, 1);
}

/* Fills the loop with tapes: the old body, that yields the values it began with as well. */
static bool fill_taped(const struct back *k, struct op *taped)
{
        const struct op_loop *loop = &k->loop;
        struct builder inside = builder_inside(k->s, op_add_region(taped, 0));
        struct region *body = inside.region;
        struct value *counter = NULL;
        region_reserve(body, taped->operand_count - 1);
        loop->number->scratch = region_add_argument(body, loop->number->type, loop->number->name);
        for (int i = 0; i < loop->carried; i++)
                loop->held[i].scratch =
                        region_add_argument(body, loop->held[i].type, loop->held[i].name);
        if (k->open)
                counter = region_add_argument(body, loop->number->type, "count");
        for (int i = 0; i < loop->scanned; i++)
                loop->rows[i].scratch =
                        region_add_argument(body, loop->rows[i].type, loop->rows[i].name);
        region_clone_operations(&inside, k->op->regions[0]);

        struct op *old = body->last;
        const size_t room = (size_t)(old->operand_count + loop->carried + 1);
        struct value **yielded = arena_array(k->s->arena, room, sizeof *yielded);
        const int fixed = (loop->go ? 1 : 0) + loop->carried;
        int count = 0;
        for (int i = 0; i < fixed; i++)
                yielded[count++] = op_operand(old, i);
        if (counter)
                yielded[count++] = build_binary(&inside, OP_add, counter,
                                                constant_number(inside.m, counter->type, 1));
        for (int i = fixed; i < old->operand_count && !k->open; i++)
                yielded[count++] = op_operand(old, i);
        for (int i = 0; i < loop->carried; i++)
                if (is_taped(k, i))
                        yielded[count++] = &body->arguments[1 + i];
        op_erase(old);
        return build_yield(&inside, yielded, count) &&
               op_infer(inside.m, taped, k->s->b->diag);
}

static bool build_tapes(struct back *k)
{
        const struct op_loop *loop = &k->loop;
        bool any = k->open;
        for (int i = 0; i < loop->carried; i++)
                any = any || is_taped(k, i);
        k->tapes = arena_array(k->s->arena, (size_t)loop->carried, sizeof(struct value *));
        if (!any)
                return true;
        struct op *taped = new_taped(k);
        if (!taped || !fill_taped(k, taped))
                return false;
        int at = loop->carried + (k->open ? 1 : loop->stacked);
        k->count = k->open ? &taped->results[loop->carried] : NULL;
        for (int i = 0; i < loop->carried; i++)
                if (is_taped(k, i))
                        k->tapes[i] = &taped->results[at++];
        for (int i = 0; i < k->op->result_count && k->s->replaces && !k->open; i++)
                value_replace(&k->op->results[i], &taped->results[i]);
        return true;
}

/* ---- loop: from the last iteration to the first ---- */

/* What the loop back reads row by row: tapes, scanned operands, derivatives by stacks. */
struct rows {
        struct value **of;              /* [count] */
        int64_t *backward;              /* A row goes with the iteration of its number counted from
                                         * the end. */
        int count;
};

static struct rows rows_of(const struct back *k)
{
        const struct op_loop *loop = &k->loop;
        const size_t room = (size_t)(loop->carried + loop->scanned + loop->stacked);
        struct rows rows = { .of = arena_array(k->s->arena, room, sizeof *rows.of),
                             .backward = arena_array(k->s->arena, room, sizeof *rows.backward) };
        for (int i = 0; i < loop->carried; i++)
                if (k->tapes[i])
                        rows.of[rows.count++] = k->tapes[i];
        for (int i = 0; i < loop->scanned; i++) {
                rows.backward[rows.count] = op_ints(k->op, "scan_backward", NULL)[i];
                rows.of[rows.count++] = loop->scans[i].value;
        }
        for (int i = 0; i < loop->stacked; i++)
                if (sweep_of(k->s, &loop->stacks[i])) {
                        rows.backward[rows.count] = op_ints(k->op, "stack_backward", NULL)[i];
                        rows.of[rows.count++] = sweep_of(k->s, &loop->stacks[i]);
                }
        return rows;
}

/* Builds the loop back without its body. Carried are derivatives by carried values, by captures
 * and, where it is open, by scanned operands; else those are stacks. */
static struct op *new_back(const struct back *k, const struct rows *rows)
{
        const struct op_loop *loop = &k->loop;
        struct module *m = k->s->b->m;
        const size_t room = (size_t)(2 + loop->carried + loop->scanned + k->capture_count +
                                     rows->count);
        struct value **operands = arena_array(k->s->arena, room, sizeof *operands);
        const struct type **types = arena_array(k->s->arena, room, sizeof *types);
        int64_t *scans = arena_array(k->s->arena, room, sizeof *scans),
                *stacks = arena_array(k->s->arena, room, sizeof *stacks);
        int count = 2, results = 0, stacked = 0;
        operands[0] = k->count;
        for (int i = 0; i < loop->carried; i++)
                if (sweep_wants(k->s, &loop->last[i])) {
                        struct value *d = sweep_of(k->s, &loop->last[i]);
                        operands[count++] = d ? d : sweep_zeros(k->s, loop->last[i].type);
                }
        for (int i = 0; i < k->capture_count; i++)
                operands[count++] = sweep_zeros(k->s, k->captures[i]->type);
        for (int i = 0; i < loop->scanned && k->open; i++)
                if (sweep_wants(k->s, loop->scans[i].value))
                        operands[count++] = sweep_zeros(k->s, loop->scans[i].value->type);
        const int carried = count - 2;
        for (int i = 0; i < carried; i++)
                types[results++] = operands[2 + i]->type;
        for (int i = 0; i < rows->count && !k->open; i++) {
                scans[i] = !rows->backward[i];
                operands[count++] = rows->of[i];
        }
        for (int i = 0; i < loop->scanned && !k->open; i++)
                if (sweep_wants(k->s, loop->scans[i].value)) {
                        stacks[stacked++] = !op_ints(k->op, "scan_backward", NULL)[i];
                        types[results++] = loop->scans[i].value->type;
                }
        struct attr *attrs = attrs_new(m, OP_loop);
        attr_set(attrs, OP_loop, "steps", loop->steps);
        attr_set(attrs, OP_loop, "carried", carried);
        attr_set_ints(m, attrs, OP_loop, "scan_backward", scans, k->open ? 0 : rows->count);
        attr_set_ints(m, attrs, OP_loop, "stack_backward", stacks, stacked);
        return op_build_results(k->s->b, OP_loop, operands, count, attrs, types, results, 1);
}

/* Returns the number of the iteration that iteration `number` of the loop back belongs to, or the
 * same of rows that go from the last to the first. */
static struct value *number_of(const struct back *k, struct builder *b, struct value *number)
{
        const struct type *t = number->type;
        struct value *last = k->count ? build_binary(b, OP_sub, k->count,
                                                     constant_number(b->m, t, 1))
                                      : constant_number(b->m, t, (double)k->loop.steps - 1);
        return build_binary(b, OP_sub, last, number);
}

/* Returns the row of each value of `rows` in this iteration: arguments, or gathers by number. */
static struct value **read_rows(const struct back *k, struct builder *b, const struct rows *rows,
                                struct value *number)
{
        struct value **read = arena_array(k->s->arena, (size_t)rows->count + 1, sizeof *read);
        struct value *last = constant_number(b->m, number->type, (double)k->loop.steps - 1);
        for (int i = 0; i < rows->count; i++) {
                const struct type *t = rows->of[i]->type;
                if (!k->open)
                        read[i] = region_add_argument(
                                b->region, type_tensor(b->m, t->element, t->rank - 1, t->dims + 1),
                                "row");
                else
                        read[i] = build_gather(b, rows->of[i],
                                               rows->backward[i]
                                                       ? build_binary(b, OP_sub, last, number)
                                                       : number,
                                               0);
        }
        return read;
}

/* Puts a row into the derivative by a scanned operand. */
static struct value *with_row(const struct back *k, struct builder *b, struct value *sum,
                              struct value *row, struct value *number, bool backward)
{
        const dim_t one = dim_of(1);
        dim_t dims[RANK_MAX] = { one };
        struct value *last = constant_number(b->m, number->type, (double)k->loop.steps - 1);
        memcpy(dims + 1, row->type->dims, (size_t)row->type->rank * sizeof *dims);
        number = backward ? build_binary(b, OP_sub, last, number) : number;
        dim_t pair[] = { one, one };
        struct value *operands[] = { sum, build_reshape(b, number, 2, pair),
                                     build_reshape(b, row, row->type->rank + 1, dims) };
        return operands[1] && operands[2]
                       ? value_build(b, OP_scatter, operands, 3, NULL, NULL)
                       : NULL;
}

/* Builds the body: an iteration once more, its derivatives, and their sums. */
static bool fill_back(const struct back *k, struct op *made, const struct rows *rows)
{
        const struct op_loop *loop = &k->loop;
        struct sweep *s = k->s;
        struct builder inside = builder_inside(s, op_add_region(made, 0)), *b = &inside;
        const int carried = (int)op_int(made, "carried");
        region_reserve(inside.region, 1 + carried + rows->count);
        struct value *t = region_add_argument(inside.region, type_scalar(b->m, E_I64), "t");
        for (int i = 0; i < carried; i++)
                region_add_argument(inside.region, op_operand(made, 2 + i)->type, "d");
        struct value *sums = inside.region->arguments + 1, *number = number_of(k, b, t);
        struct value **row = number ? read_rows(k, b, rows, number) : NULL;
        if (!row)
                return false;
        for (int i = 0; i < rows->count; i++)
                if (!row[i])
                        return false;

        const size_t room = (size_t)(loop->carried + loop->scanned + loop->stacked +
                                     k->capture_count);
        struct value **ys = arena_array(s->arena, room, sizeof *ys),
                     **seeds = arena_array(s->arena, room, sizeof *seeds),
                     **xs = arena_array(s->arena, room, sizeof *xs),
                     **derivatives = arena_array(s->arena, room, sizeof *derivatives),
                     **yielded = arena_array(s->arena, room, sizeof *yielded);
        struct gradient g = { .ys = ys, .seeds = seeds, .xs = xs, .made = derivatives };
        int at = 0, back = 0;
        loop->number->scratch = number;
        for (int i = 0; i < loop->carried; i++) {
                struct value *held = k->tapes[i] ? row[at++] : sweep_zeros(s, loop->held[i].type);
                loop->held[i].scratch = held;
                if (sweep_wants(s, &loop->last[i]))
                        xs[g.x_count++] = held;
        }
        for (int i = 0; i < k->capture_count; i++)
                xs[g.x_count++] = k->captures[i];
        for (int i = 0; i < loop->scanned; i++, at++) {
                loop->rows[i].scratch = row[at];
                if (sweep_wants(s, loop->scans[i].value))
                        xs[g.x_count++] = row[at];
        }
        region_clone_operations(b, k->op->regions[0]);
        struct op *yield = inside.region->last;
        const int fixed = loop->go ? 1 : 0;
        for (int i = 0; i < loop->carried; i++)
                if (sweep_wants(s, &loop->last[i])) {
                        seeds[g.y_count] = &sums[back++];
                        ys[g.y_count++] = op_operand(yield, fixed + i);
                }
        for (int i = 0; i < loop->stacked; i++)
                if (sweep_of(s, &loop->stacks[i])) {
                        seeds[g.y_count] = row[at++];
                        ys[g.y_count++] = op_operand(yield, fixed + loop->carried + i);
                }
        op_erase(yield);
        if (!build_inside(s, b, &g))
                return false;
        for (int i = 0; i < g.x_count; i++)
                yielded[i] = i < back ? derivatives[i]
                             : i < back + k->capture_count
                                     ? build_binary(b, OP_add, &sums[i], derivatives[i])
                                     : derivatives[i];
        at = back + k->capture_count;
        for (int i = 0; i < loop->scanned && k->open; i++)
                if (sweep_wants(s, loop->scans[i].value)) {
                        yielded[at] = with_row(k, b, &sums[at], derivatives[at], number,
                                               op_ints(k->op, "scan_backward", NULL)[i]);
                        at++;
                }
        return build_yield(b, yielded, g.x_count) && op_infer(b->m, made, s->b->diag);
}

bool adjoint_loop(struct sweep *s, const struct op *op)
{
        struct back k = { .s = s, .op = (struct op *)op, .loop = op_loop(op) };
        struct op_loop *loop = &k.loop;
        k.open = loop->trip || loop->go;
        k.captures = wanted_captures(s, op, &k.capture_count);
        if (!build_tapes(&k))
                return false;
        const struct rows rows = rows_of(&k);
        struct op *made = new_back(&k, &rows);
        if (!made)
                return false;
        if (!fill_back(&k, made, &rows)) {
                op_erase(made);
                return s->obstacle_count > 0;
        }
        int at = 0;
        for (int i = 0; i < loop->carried; i++)
                if (sweep_wants(s, &loop->last[i])) {
                        struct value *first = loop->first[i].value;
                        if (sweep_wants(s, first) && !sweep_flow(s, first, &made->results[at]))
                                return false;
                        at++;
                }
        for (int i = 0; i < k.capture_count; i++)
                if (!sweep_flow(s, k.captures[i], &made->results[at++]))
                        return false;
        for (int i = 0; i < loop->scanned; i++)
                if (sweep_wants(s, loop->scans[i].value) &&
                    !sweep_flow(s, loop->scans[i].value, &made->results[at++]))
                        return false;
        return true;
}
