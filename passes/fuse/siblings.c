/* SPDX-License-Identifier: MIT */
/* siblings: kernels with the same index, element-wise ones and reductions of the same rows, become
 * one kernel of several results where that moves fewer bytes.
 *
 *   %1 = fusion(%g, %c) { ... tanh ... mul ... add }            %1, %2 = fusion(%g, %c) { ... tanh ... mul ... add
 *   %2 = fusion(%g, %1) { ... tanh ... mul }              ->                              ... tanh ... mul
 *                                                                                         yield(..,
 *                                                                                         ..) }
 *
 * Two kernels join where one reads the elements that the other makes, or both read the same ones of
 * a tensor: these bytes are then read once. Both are element-wise (with the broadcasts, slices,
 * transposes and gathers that fuse has put in), or end in reductions along the same dimensions, and
 * have results of the same extents; what they share is read at the index of the result, or along
 * its row, in both. So the state of a recurrent cell and its output become one kernel, several
 * functions of one value do, and so do the mean and the largest, or the mean and the variance, of a
 * row: such reductions share a loop (ir/lower/lower_merge.c), or the row lies in the first cache.
 *
 * The joined kernel stands where the later one is, if nothing between reads what the first one
 * makes, or else where the earlier one is, if what the later one reads is there by then: so no
 * cycle can arise. Contractions and rows that are stored stay alone. Exact: the same operations on
 * each element, in the same order.
 *
 * Where each kernel is a launch, element-wise ones that read such rows join them, and so do small
 * ones of the same extents that share nothing, as two caches that get a row more. */
#include "ir/tensor/relation.h"
#include "passes/fuse/join.h"

enum { READERS_MAX = 16, NEAR = 16 };   /* READERS_MAX readers of a value, and NEAR kernels in front
                                         * of one, are looked at. */

static bool is_map(const struct op *op)
{
        switch (op->code) {
        case OP_broadcast:
        case OP_iota:
        case OP_slice:
        case OP_transpose:
        case OP_reshape:
        case OP_gather: return true;
        default:
                return op_info[op->code].traits & TRAIT_ELEMENTWISE;
        }
}

/* A walk is what a kernel goes over: elements of `shape`, in rows along the dimensions whose bits
 * are in `along` (0: each element is a row of its own), with a result for each row; `size` is the
 * number of its operations; launches: the target launches each kernel, so that each one costs a
 * launch. */
struct walk { const struct type *shape; unsigned along; int64_t rows; int size; bool launches; };

static bool add_reduction(struct walk *w, const struct op *op)
{
        const struct type *t = op_operand(op, 0)->type;
        unsigned along;
        if (!type_is_static(t) || !rows_reduce(op, t, &along) || !along)
                return false;
        bool first = !w->along;
        if (first)
                *w = (struct walk){
                        .shape = t, .along = along, .size = w->size, .launches = w->launches
                };
        return first || (along == w->along && type_same_dims(t, w->shape));
}

/* Is op a concat that copies? Where operands lie one behind the other, it is a view. */
static bool is_concat(const struct op *op)
{
        int64_t before = 1;
        if (!type_is_static(op->results[0].type))
                return false;
        for (int64_t d = 0; op->code == OP_concat && d < op_int(op, "axis"); d++)
                before *= type_extent(op->results[0].type, d);
        return op->code == OP_concat && before > 1;
}

/* Is op a launch of its own that computes nothing? */
static bool is_moved(const struct op *op)
{
        return op->code == OP_gather || op->code == OP_transpose || is_concat(op);
}

/* Finds the walk of a kernel of element-wise operations at one index, or with reductions of one
 * row, whose results all have the same extents. Returns false if the kernel is none. */
static bool find_walk(struct op *kernel, struct walk *w)
{
        const struct region *region = kernel->code == OP_fusion ? kernel->regions[0] : NULL;
        const struct type *result = kernel->results[0].type;
        *w = (struct walk){ .shape = result, .launches = w->launches };
        if (kernel->result_count < 1 || !type_is_static(result) || !type_elements(result))
                return false;
        for (const struct op *op = region ? region->first : kernel; op && op->code != OP_yield;
             op = region ? op->next : NULL, w->size++) {
                bool map = (region ? is_map(op) : op_info[op->code].traits & TRAIT_ELEMENTWISE) ||
                           (w->launches && is_moved(op));
                if (!map && (op->code != OP_reduce || !add_reduction(w, op)))
                        return false;
        }
        for (int i = 1; i < kernel->result_count; i++)
                if (!type_same_dims(kernel->results[i].type, result))
                        return false;
        if (!type_is_static(w->shape))
                return false;
        w->rows = type_elements(w->shape);
        for (int d = 0; d < w->shape->rank && w->rows; d++)
                w->rows /= w->along >> d & 1 ? type_extent(w->shape, d) : 1;
        return true;
}

/* Has each result of the kernel an element for each index or, of rows, for each row? */
static bool is_kernel(struct op *kernel, struct walk *w)
{
        return find_walk(kernel, w) && type_elements(kernel->results[0].type) == w->rows;
}

/* Does the kernel store its rows, as a norm does? */
static bool is_stored_rows(struct op *kernel, struct walk *w)
{
        return find_walk(kernel, w) && w->along &&
               type_same_dims(kernel->results[0].type, w->shape);
}

/* Has v an element for each one that the kernel goes over, or one for each row? */
static bool is_walked(const struct walk *w, const struct value *v)
{
        return type_same_dims(v->type, w->shape) ||
               (w->along && type_is_static(v->type) && type_elements(v->type) == w->rows);
}

/* Does op need, for an index or a row of its result, only that index or row of its operands? */
static bool keeps_row(const struct op *op, const struct walk *w)
{
        if (op->code == OP_yield || op->code == OP_reduce ||
            op_info[op->code].traits & TRAIT_ELEMENTWISE)
                return true;
        if (!w->along || (op->code != OP_reshape && op->code != OP_broadcast))
                return false;
        const struct type *x = op_operand(op, 0)->type, *y = op->results[0].type;
        if (!type_is_static(x))
                return false;
        if (type_elements(x) != w->rows || op->code == OP_reshape)
                return type_elements(x) == w->rows;
        return type_same_dims(y, w->shape) && !(relation_depends(op, 0) & w->along);
}

/* Does the kernel read v, and only at the index of its result, or in its row? */
static bool reads_in_place(struct op *kernel, const struct walk *w, const struct value *v)
{
        const struct region *region = kernel->code == OP_fusion ? kernel->regions[0] : NULL;
        bool found = false;
        if (!is_walked(w, v))
                return false;
        if (!region) {
                for (int i = 0; i < kernel->operand_count; i++)
                        found |= op_operand(kernel, i) == v;
                return found;
        }
        /* The number of an operation is a set of bits: 1, its elements are needed at that index; 2,
         * at others. */
        for (struct op *op = region->first; op; op = op->next)
                op->number = 0;
        for (struct op *op = region->last; op; op = op->previous) {
                bool same = keeps_row(op, w) && (op->code == OP_yield || op->number == 1);
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

/* Returns the operation of `region` that the use is in, or NULL. */
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
        struct walk walks[2];           /* The walks of first and second. */
        int64_t bytes;                  /* This many bytes are no longer read. */
        struct op *place;               /* The joined kernel stands in front of this operation. */
        struct value **read;            /* The second kernel reads these values. */
        int read_count;
        const struct gpu *gpu;                    /* Kernels are launches on this GPU; NULL: they
                                                   * are not launches. */
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

/* Counts the bytes of what both kernels read in place, or one makes and the other reads so. Returns
 * false if the second kernel reads a result of the first one elsewhere. */
static bool count_bytes(struct pair *p)
{
        p->bytes = 0;
        for (int i = 0; i < p->read_count; i++) {
                const struct value *v = p->read[i];
                bool made = v->kind == VALUE_RESULT && v->op == p->first,
                     here = reads_in_place(p->second, &p->walks[1], v);
                if (made && !here)
                        return false;
                if (made || (here && v->kind != VALUE_CONSTANT &&
                             reads_in_place(p->first, &p->walks[0], v)))
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
                early &= v->kind != VALUE_RESULT || v->op->region != region || v->op == p->first ||
                         v->op->number < p->first->number;
        }
        p->place = late ? p->second : p->first;
        return late || early;
}

/* Do both go over the same elements in the same rows, or has one of them only elements that there
 * are for each row? */
static bool go_together(const struct walk *x, const struct walk *y)
{
        return !x->along || !y->along ||
               (x->along == y->along && type_same_dims(x->shape, y->shape));
}

static bool reads_first(const struct pair *p)
{
        bool reads = false;
        for (int i = 0; i < p->read_count; i++)
                reads |= p->read[i]->kind == VALUE_RESULT && p->read[i]->op == p->first;
        return reads;
}

/* Does the second kernel compute, from rows that the first one stores, a value that is stored
 * beside them? It does from a norm's result, for instance by rounding it. */
static bool stores_for_sibling(struct pair *p)
{
        return p->gpu && reads_first(p) && !p->walks[1].along &&
               is_stored_rows(p->first, &p->walks[0]);
}

static void look_at(struct pair *best, struct op *first, int limit)
{
        struct pair p = *best;
        p.first = first;
        if (first->region == p.second->region && first->number < p.second->number &&
            (is_kernel(first, &p.walks[0]) || stores_for_sibling(&p)) &&
            p.walks[0].size + p.walks[1].size <= limit &&
            type_same_dims(first->results[0].type, p.second->results[0].type) &&
            go_together(&p.walks[0], &p.walks[1]) && count_bytes(&p) && find_place(&p) &&
            p.bytes > best->bytes)
                *best = p;
}

/* Finds the nearest kernel in front that shares nothing with the second one, where a launch takes
 * longer than what the second one stores. */
static void find_apart(struct pair *best, int limit)
{
        struct op *op = best->second->previous;
        const double most = best->gpu ? best->gpu->launch * best->gpu->memory_rate : 0;
        if (best->walks[1].along || (double)type_bytes(best->second->results[0].type) > most)
                return;
        for (int k = 0; k < NEAR && op && !best->first; k++, op = op->previous) {
                struct pair p = *best;
                p.first = op;
                if (op->result_count && !reads_first(&p) && is_kernel(op, &p.walks[0]) &&
                    !p.walks[0].along && p.walks[0].size + p.walks[1].size <= limit &&
                    type_same_dims(op->results[0].type, p.second->results[0].type) &&
                    find_place(&p))
                        *best = p;
        }
}

/* Finds the kernel in front that shares most bytes with the second one. */
static void find_first(struct pair *best, int limit)
{
        for (int i = 0; i < best->read_count; i++) {
                struct value *v = best->read[i];
                int readers = 0;
                if (v->kind == VALUE_CONSTANT || !is_walked(&best->walks[1], v))
                        continue;
                if (v->kind == VALUE_RESULT)
                        look_at(best, v->op, limit);
                for (const struct use *u = v->uses; u && readers < READERS_MAX;
                     u = u->next, readers++) {
                        struct op *reader = reader_in(u, best->second->region);
                        if (reader)
                                look_at(best, reader, limit);
                }
        }
}

/* ---- joining ---- */

/* Fills *results with the results of both kernels that others read, and returns their number. */
static int find_results(const struct pair *p, struct arena *arena, struct value ***results)
{
        struct op *kernels[] = { p->first, p->second };
        int count = 0;
        *results =
                arena_array(arena, (size_t)p->first->result_count + (size_t)p->second->result_count,
                            sizeof **results);
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
        const struct gpu *gpu = target_gpu(context->target);
        struct pair p = { .second = second,
                          .walks = { { .launches = gpu }, { .launches = gpu } },
                          .gpu = gpu };
        if (!is_kernel(second, &p.walks[1]))
                return false;
        struct arena *arena = arena_new();
        struct value **results;
        p.read = values_read(arena, second, &p.read_count);
        find_first(&p, (int)context->limits.kernel_operations);
        if (!p.first)
                find_apart(&p, (int)context->limits.kernel_operations);
        int count = p.first ? find_results(&p, arena, &results) : 0;
        struct op *joined = NULL;
        if (count)
                joined = kernel_join_results((struct op *const[]){ p.first, second }, 2, results,
                                             count, context->diag);
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
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        number_operations(op->regions[i]);
        }
}

int pass_siblings(struct function *f, struct pass_context *context)
{
        number_operations(&f->body);
        return kernels_join_all(&f->body, join, context);
}
