/* siblings: element-wise kernels with the same index become one kernel of several results where that moves fewer bytes.
 *
 *   %1 = fusion(%g, %c) { ... tanh ... mul ... add }            %1, %2 = fusion(%g, %c) { ... tanh ... mul ... add
 *   %2 = fusion(%g, %1) { ... tanh ... mul }              ->                              ... tanh ... mul
 *                                                                                         yield(.., ..) }
 *
 * Two kernels join where one reads the elements that the other makes, or both read the same ones of a tensor: these bytes are then read
 * once. Both are element-wise (with the broadcasts, slices, transposes and gathers that fuse has put in) and have results of the same
 * extents; what they share is read at the index of the result, in both. So the state of a recurrent cell and its output become one
 * kernel, and so do several functions of one value.
 *
 * The joined kernel stands where the later one is, if nothing between reads what the first one makes, or else where the earlier one
 * is, if what the later one reads is there by then: so no cycle can arise. Contractions, reductions and rows stay alone. Exact: the
 * same operations on each element. */
#include "passes/join.h"

enum { READERS_MAX = 16 };              /* of a value that are looked at */

static bool is_map(const struct op *op)
{
        switch (op->code) {
        case OP_broadcast: case OP_iota: case OP_slice: case OP_transpose: case OP_reshape: case OP_gather:
                return true;
        default:
                return op_info[op->code].traits & TRAIT_ELEMENTWISE;
        }
}

/* element-wise operations of one index alone, all results of the same extents; size: how many operations */
static bool is_kernel(struct op *kernel, int *size)
{
        *size = 1;
        if (kernel->code != OP_fusion)
                return op_info[kernel->code].traits & TRAIT_ELEMENTWISE && type_is_static(op_result(kernel)->type);
        for (const struct op *op = kernel->regions[0]->first; op->code != OP_yield; op = op->next, ++*size)
                if (!is_map(op))
                        return false;
        for (int i = 1; i < kernel->result_count; i++)
                if (!type_same_dims(kernel->results[i].type, kernel->results[0].type))
                        return false;
        return type_is_static(kernel->results[0].type) && type_elements(kernel->results[0].type);
}

/* Does the kernel read v, and only at the index of its result? */
static bool reads_in_place(struct op *kernel, const struct value *v)
{
        const struct region *region = kernel->code == OP_fusion ? kernel->regions[0] : NULL;
        bool found = false;
        if (!type_same_dims(v->type, kernel->results[0].type))
                return false;
        if (!region) {
                for (int i = 0; i < kernel->operand_count; i++)
                        found |= op_operand(kernel, i) == v;
                return found;
        }
        /* numbers of operations: 1 where elements are needed at that index, 2 where at others */
        for (struct op *op = region->first; op; op = op->next)
                op->number = 0;
        for (struct op *op = region->last; op; op = op->previous) {
                bool same = op->code == OP_yield || (op_info[op->code].traits & TRAIT_ELEMENTWISE && op->number == 1);
                for (int i = 0; i < op->operand_count; i++) {
                        const struct value *x = op_operand(op, i);
                        if (x == v && !same)
                                return false;
                        found |= x == v;
                        if (x && x->kind == VALUE_RESULT && x->op->region == region)
                                x->op->number |= same ? 1 : 2;
                }
        }
        return found;
}

/* the operation of `region` that the use is in, or NULL */
static struct op *reader_in(const struct use *u, const struct region *region)
{
        struct op *op = u->user;
        while (op && op->region != region)
                op = op->region->owner;
        return op;
}

/* ---- pairs ---- */

struct pair {
        struct op *first, *second;
        int64_t bytes;                  /* that are no longer read */
        struct op *place;               /* the joined kernel stands in front of it */
        struct value **read;            /* by the second one */
        int read_count;
};

static struct value **values_read(struct arena *arena, struct op *kernel, int *count)
{
        if (kernel->code == OP_fusion)
                return op_captures(arena, kernel, count);
        struct value **values = arena_array(arena, (size_t)kernel->operand_count, sizeof *values);
        *count = 0;
        for (int i = 0; i < kernel->operand_count; i++)
                if (op_operand(kernel, i))
                        values[(*count)++] = op_operand(kernel, i);
        return values;
}

/* All that is shared, and nothing else of what the first one makes, is read in place. */
static bool count_bytes(struct pair *p)
{
        p->bytes = 0;
        for (int i = 0; i < p->read_count; i++) {
                const struct value *v = p->read[i];
                bool made = v->kind == VALUE_RESULT && v->op == p->first, here = reads_in_place(p->second, v);
                if (made && !here)
                        return false;
                if (made || (here && v->kind != VALUE_CONSTANT && reads_in_place(p->first, v)))
                        p->bytes += type_bytes(v->type);
        }
        return p->bytes > 0;
}

static bool find_place(struct pair *p)
{
        const struct region *region = p->second->region;
        bool late = true, early = true;
        for (int i = 0; i < p->first->result_count; i++)
                for (const struct use *u = p->first->results[i].uses; u; u = u->next) {
                        const struct op *reader = reader_in(u, region);
                        late &= reader == p->second || reader->number > p->second->number;
                }
        for (int i = 0; i < p->read_count; i++) {
                const struct value *v = p->read[i];
                early &= v->kind != VALUE_RESULT || v->op->region != region || v->op == p->first || v->op->number < p->first->number;
        }
        p->place = late ? p->second : p->first;
        return late || early;
}

static void look_at(struct pair *best, struct op *first, int limit)
{
        struct pair p = *best;
        int sizes[2];
        p.first = first;
        if (first->region == p.second->region && first->number < p.second->number && is_kernel(first, &sizes[0]) &&
            is_kernel(p.second, &sizes[1]) && sizes[0] + sizes[1] <= limit &&
            type_same_dims(first->results[0].type, p.second->results[0].type) && count_bytes(&p) && find_place(&p) &&
            p.bytes > best->bytes)
                *best = p;
}

/* the kernel in front that shares most */
static void find_first(struct pair *best, int limit)
{
        for (int i = 0; i < best->read_count; i++) {
                struct value *v = best->read[i];
                int readers = 0;
                if (v->kind == VALUE_CONSTANT || !type_same_dims(v->type, best->second->results[0].type))
                        continue;
                if (v->kind == VALUE_RESULT)
                        look_at(best, v->op, limit);
                for (const struct use *u = v->uses; u && readers < READERS_MAX; u = u->next, readers++) {
                        struct op *reader = reader_in(u, best->second->region);
                        if (reader)
                                look_at(best, reader, limit);
                }
        }
}

/* ---- joining ---- */

/* results that others read */
static int find_results(const struct pair *p, struct arena *arena, struct value ***results)
{
        struct op *kernels[] = { p->first, p->second };
        int count = 0;
        *results = arena_array(arena, (size_t)p->first->result_count + (size_t)p->second->result_count, sizeof **results);
        for (int k = 0; k < 2; k++)
                for (int i = 0; i < kernels[k]->result_count; i++) {
                        bool wanted = false;
                        for (const struct use *u = kernels[k]->results[i].uses; u; u = u->next)
                                wanted |= reader_in(u, p->second->region) != p->second;
                        if (wanted)
                                (*results)[count++] = &kernels[k]->results[i];
                }
        return count;
}

static bool join(struct op *second, struct pass_context *context)
{
        int size;
        if (!is_kernel(second, &size))
                return false;
        struct arena *arena = arena_new();
        struct pair p = { .second = second };
        struct value **results;
        p.read = values_read(arena, second, &p.read_count);
        find_first(&p, (int)context->limits.kernel_operations);
        int count = p.first ? find_results(&p, arena, &results) : 0;
        struct op *joined = NULL;
        if (count)
                joined = kernel_join_results((struct op *const[]){ p.first, second }, 2, results, count, context->diag);
        if (joined) {
                for (int i = 0; i < count; i++)
                        value_replace(results[i], &joined->results[i]);
                op_move_before(joined, p.place);
                joined->number = p.place->number;
                op_erase(second);
                op_erase(p.first);
        }
        arena_free(arena);
        return joined;
}

static void number_operations(struct region *region)
{
        int count = 0;
        for (struct op *op = region->first; op; op = op->next) {
                op->number = count++;
                for (int i = 0; op->code != OP_fusion && i < op->region_count; i++)
                        number_operations(op->regions[i]);
        }
}

int pass_siblings(struct function *f, struct pass_context *context)
{
        number_operations(&f->body);
        return kernels_join_all(&f->body, join, context);
}
