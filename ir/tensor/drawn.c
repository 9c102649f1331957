/* SPDX-License-Identifier: MIT */
#include "ir/tensor/drawn.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "ir/tensor/relation.h"

/* ---- what is an index ---- */

/* Uses come after what they use. So, from the last operation to the first, when an operation is
 * reached it is known how many indices the elements of its results choose from at least. `least`
 * holds that by value.number. */
struct extents { int64_t *least; int count, room; };

static void add_value(struct extents *e, struct value *v)
{
        if (e->count == e->room) {
                e->room = 2 * e->room + 64;
                e->least = memory_resize(e->least, (size_t)e->room * sizeof *e->least);
        }
        e->least[v->number = e->count++] = INT64_MAX;
}

static void number_values(struct extents *e, struct region *region)
{
        for (int k = 0; k < region->argument_count; k++)
                add_value(e, &region->arguments[k]);
        for (struct op *op = region->first; op; op = op->next) {
                for (int r = 0; r < op->region_count; r++)
                        number_values(e, op->regions[r]);
                for (int k = 0; k < op->result_count; k++)
                        add_value(e, &op->results[k]);
        }
}

static void bound(struct extents *e, const struct value *v, int64_t extent)
{
        if (v && v->kind != VALUE_CONSTANT && extent < e->least[v->number])
                e->least[v->number] = extent;
}

/* Returns from how many indices the elements of operand 1 choose; INT64_MAX: it holds no
 * indices. */
static int64_t chosen_from(const struct op *op)
{
        const struct type *x = op_operand(op, 0)->type;
        const struct module *m = op_module(op);
        struct relation r;
        int64_t least = INT64_MAX;
        if (op->code == OP_scatter) {
                int64_t axis = op_int(op, "axis"), first = axis < 0 ? 0 : axis;
                const struct type *indices = op_operand(op, 1)->type;
                int64_t behind = axis < 0 ? type_extent(indices, indices->rank - 1) : axis + 1;
                for (int64_t d = first; d < behind; d++)
                        least = dim_least(m, x->dims[d]) < least ? dim_least(m, x->dims[d]) : least;
        } else if (relation_of(op, 0, &r) && !r.in_order) {
                for (int d = 0; d < x->rank; d++)
                        if (r.along[d].kind == ALONG_TABLE && dim_least(m, x->dims[d]) < least)
                                least = dim_least(m, x->dims[d]);
        }
        return least > 0 ? least : INT64_MAX;           /* The extent is known, and not 0. */
}

/* Are the operand's elements those of the result, as they are? */
static bool goes_on(const struct op *op, int k)
{
        enum element x = op_operand(op, k)->type->element;
        return op->code == OP_select                              ? k > 0
               : op->code == OP_cast                              ? element_is_integer(x)
               : op->code == OP_max || op->code == OP_min         ? true
               : op->code == OP_concat                            ? true
               : (op_info[op->code].traits & TRAIT_FREE)          ? k == 0
                                                                  : false;
}

static void visit_region(struct extents *e, const struct region *region);

static void visit_loop(struct extents *e, const struct op *op)
{
        struct op_loop loop = op_loop(op);
        for (int k = 0; k < loop.carried; k++)
                bound(e, loop.first[k].value, e->least[loop.held[k].number]);
        for (int k = 0; k < loop.scanned; k++)
                bound(e, loop.scans[k].value, e->least[loop.rows[k].number]);
}

static void visit(struct extents *e, const struct op *op)
{
        const struct op *owner = op->region->owner;
        for (int r = op->region_count - 1; r >= 0; r--)
                visit_region(e, op->regions[r]);
        if (op->code == OP_loop)
                visit_loop(e, op);
        else if (op->code == OP_fusion)
                for (int k = 0; k < op->operand_count; k++)
                        bound(e, op_operand(op, k), e->least[op->regions[0]->arguments[k].number]);
        else if (op->code == OP_yield && owner && owner->code != OP_loop)
                for (int k = 0; k < op->operand_count; k++)
                        bound(e, op_operand(op, k), e->least[owner->results[k].number]);
        if (op->code == OP_yield || op->region_count)
                return;
        for (int k = 0; k < op->operand_count; k++)
                if (op_operand(op, k) && goes_on(op, k))
                        bound(e, op_operand(op, k), e->least[op->results[0].number]);
        if (op->operand_count > 1 && op_operand(op, 0) && op_operand(op, 1))
                bound(e, op_operand(op, 1), chosen_from(op));
}

static void visit_region(struct extents *e, const struct region *region)
{
        for (const struct op *op = region->last; op; op = op->previous)
                visit(e, op);
}

void drawn_extents(struct function *f, int64_t *extents)
{
        struct extents e = { .least = NULL };
        number_values(&e, &f->body);
        visit_region(&e, &f->body);
        for (int k = 0; k < f->body.argument_count; k++) {
                int64_t least = e.least[f->body.arguments[k].number];
                extents[k] = least == INT64_MAX ? 0 : least;
        }
        free(e.least);
}

/* ---- drawing ---- */

void drawn_fill(enum element e, void *data, int64_t count, int64_t extent, uint64_t seed)
{
        /* Half is at most half of what the type holds, so that no number is negative. */
        uint64_t half = UINT64_C(1) << (8 * element_info[e].bytes - 1),
                 range = extent ? (uint64_t)extent : 8;
        range = range < half ? range : half;
        for (int64_t i = 0; i < count; i++) {
                uint64_t r = random_next(&seed);
                union scalar s;
                if (element_is_float(e))
                        s.f = (double)(int64_t)(r >> 11) * 0x1p-52 - 1;
                else
                        s.u = e == E_BOOL ? r >> 63 : (r >> 11) % range;
                element_store(e, data, (size_t)i, s);
        }
}

void drawn_texts(void *data, int64_t bytes, int64_t room, uint64_t seed)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789   ";
        enum { LENGTH = 24 };           /* No text is longer. */
        unsigned char *texts = data;
        for (int64_t i = 0; i < bytes / room; i++) {
                uint64_t most = (uint64_t)(room <= LENGTH ? room : LENGTH + 1);
                int64_t length = (int64_t)((random_next(&seed) >> 11) % most);
                for (int64_t k = 0; k < room; k++)
                        texts[i * room + k] =
                                k < length ? (unsigned char)letters[(random_next(&seed) >> 11) %
                                                                    (sizeof letters - 1)]
                                           : 0;
        }
}
