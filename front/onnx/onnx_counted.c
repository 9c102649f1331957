/* SPDX-License-Identifier: MIT */
/* Extents of results that only a run's data say: the result has a symbol for such an extent, to
 * which an operation `counted` gives its value.
 *
 *      %n = reduce(%flags) kind=sum : <i64>
 *      %1 = counted(%n) : <K x i64>                        symbol K in [0, 512] counted
 *      %2 = argsort(%flags) descending=1 : <K x i64>
 *
 * A symbol is called as the model declares that dimension of the output, or after the output. */
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_model.h"

#include <inttypes.h>
#include <string.h>

#include "front/compose/compose_sort.h"
#include "ir/loop/loop.h"
#include "ir/tensor/amounts.h"

bool onnx_is_declared(struct onnx_import *im, const struct onnx_node *n, int output, int rank)
{
        const struct type *t = output < n->output_count ? n->declared[output] : NULL;

        if (t && t->kind == TYPE_TENSOR && type_is_static(t))
                return true;
        t = output < n->output_count ? onnx_implied(im, n->proto->output[output], rank) : NULL;
        return t && t->kind == TYPE_TENSOR && type_is_static(t);
}

/* Returns the declared symbol of the dimension, which --dim bounds, where it can be counted; else
 * DIM_NONE. *name: what the dimension is called. */
static dim_t declared_symbol(struct onnx_import *im, const struct onnx_node *n, int output,
                             int dimension, const char **name)
{
        const struct onnx_declaration *d = onnx_declaration(im->scope, n->proto->output[output]);

        *name = arena_printf(im->arena, "%s_count",
                             onnx_string(im->arena, n->proto->output[output]));
        if (!d || dimension >= d->rank)
                return DIM_NONE;
        if (d->names && d->names[dimension])
                *name = d->names[dimension];
        dim_t s = d->symbols ? d->symbols[dimension] : DIM_NONE;
        if (dim_equal(s, DIM_NONE) || dim_is_static(s))
                return DIM_NONE;
        const int symbol = dim_term(im->m, s)->symbol;
        return im->m->symbols[symbol].counted || onnx_is_given(im, symbol) ? DIM_NONE : s;
}

/* Returns the largest extent that an output of the model may have, as its file declares it; -1
 * where it leaves that open. */
static int64_t largest_output(struct onnx_import *im)
{
        const Onnx__GraphProto *g = im->model->proto->graph;
        int64_t most = 0;

        for (size_t i = 0; i < g->n_output; i++) {
                const Onnx__TypeProto__Tensor *t = onnx_tensor_type(g->output[i]);
                struct onnx_declaration d = { 0 };
                if (!t || !onnx_read_tensor_type(im, "output", t, &d) || d.rank < 0)
                        return -1;
                for (int k = 0; k < d.rank; k++) {
                        int64_t extent = d.dims[k];
                        if (extent < 0 && !dim_equal(d.symbols[k], DIM_NONE))
                                extent = dim_bound(im->m, d.symbols[k]);
                        if (extent < 0)
                                return -1;
                        most = compose_max(most, extent);
                }
        }
        return most;
}

/* Returns the largest extent that inputs and outputs of the model may have, where its file declares
 * the outputs; else -1. What lies between them is rarely larger. */
static int64_t largest_port(struct onnx_import *im)
{
        const struct region *body = &im->b.region->function->body;
        int64_t most = largest_output(im);

        for (int i = 0; most >= 0 && i < body->argument_count; i++) {
                const struct type *t = body->arguments[i].type;
                for (int d = 0; t->kind == TYPE_TENSOR && d < t->rank; d++)
                        most = compose_max(most, dim_bound(im->m, t->dims[d]));
        }
        return most;
}

int64_t onnx_counted_most(struct onnx_import *im, struct onnx_node *n, int output, int dimension)
{
        const char *name;
        dim_t d = declared_symbol(im, n, output, dimension, &name);

        if (!dim_equal(d, DIM_NONE))
                return dim_bound(im->m, d);
        struct onnx_binding *b = map_get(im->model->dims, name, strlen(name));
        if (b && b->at_run) {
                b->used = true;
                return b->extent;
        }
        const int64_t most = b ? -1 : largest_port(im);
        if (most >= 0) {
                if (!im->model->guessed)
                        diag_warning(im->diag,
                                     "%s: extent %d of output %d depends on run-time values: at "
                                     "most %" PRId64 " is allowed, the largest extent of inputs "
                                     "and outputs; " DIAG_HINT("--dim %s=0..%" PRId64)
                                     " allows more",
                                     onnx_node_text(im, n->proto), dimension, output, most,
                                     text_safe(im->arena, name, strlen(name)), 2 * most);
                im->model->guessed = true;
                return most;
        }
        onnx_unsupported(im, n,
                         "extent %d of output %d depends on run-time values: bound it by --dim "
                         "%s=0..512, or declare it in the model (value_info)",
                         dimension, output, text_safe(im->arena, name, strlen(name)));
        return -1;
}

dim_t onnx_counted(struct onnx_import *im, struct onnx_node *n, int output, int dimension,
                   struct value *count, int64_t most)
{
        const char *name;

        if (!count)
                return DIM_NONE;
        if (value_is_constant(count)) {
                int64_t number = constant_element(count->constant, 0).i;
                if (number < 0 || number > NUMBER_MAX || (most >= 0 && number > most))
                        onnx_invalid(im, n, "extent %" PRId64 " of output %d", number, output);
                return number < 0 || (most >= 0 && number > most) ? DIM_NONE : dim_of(number);
        }
        dim_t d = declared_symbol(im, n, output, dimension, &name);
        if (most == 0)
                return dim_of(0);
        if (im->m->symbol_count >= EXTENTS_MAX) {
                onnx_unsupported(im, n,
                                 "the shape of output %d depends on run-time values, as those of "
                                 "too many others do; declare it in the model (value_info)",
                                 output);
                return DIM_NONE;
        }
        if (most < 0 && (most = onnx_counted_most(im, n, output, dimension)) < 0)
                return DIM_NONE;
        if (dim_equal(d, DIM_NONE)) {
                d = dim_counted(im->m, name, compose_min(most, NUMBER_MAX));
        } else {
                struct symbol *s = &im->m->symbols[dim_term(im->m, d)->symbol];
                if (most >= 0 && most < s->bound && most >= s->least)
                        dim_at_run(im->m, dim_term(im->m, d)->symbol, s->least, most);
                s->counted = true;
        }
        if (!build_counted(&im->b, compose_cast(im->c, count, E_I64), d))
                return DIM_NONE;
        value_amount_known(im->m, count, d);
        return d;
}

bool onnx_fail_if(struct onnx_import *im, struct onnx_node *n, struct value *flag)
{
        if (!flag)
                return false;
        if (im->m->symbol_count >= EXTENTS_MAX)
                return onnx_unsupported(im, n, "what a run checks, as that of too many others");
        /* An extent of 2, where 1 is the most. */
        struct value *twice = compose_with(im->c, OP_mul, compose_cast(im->c, flag, E_I64), 2);
        return build_counted(&im->b, twice, dim_counted(im->m, "check", 1)) != NULL;
}

bool onnx_counted_within(struct onnx_import *im, dim_t d, int64_t most)
{
        if (dim_bound(im->m, d) <= most)
                return true;
        if (dim_is_static(d) || dim_term(im->m, d)->kind != DIM_SYMBOL)
                return false;
        const int symbol = dim_term(im->m, d)->symbol;
        const struct symbol *s = &im->m->symbols[symbol];
        return s->counted && most >= s->least && dim_at_run(im->m, symbol, s->least, most);
}

dim_t onnx_counted_as(struct onnx_import *im, const char *name, struct value *count, int64_t most)
{
        struct amount amounts[AMOUNTS_MAX];
        int known;

        if (value_is_constant(count))
                return dim_of(constant_element(count->constant, 0).i);
        if (value_amounts(im->m, count, amounts, &known) && known == 1)
                return amount_dim(amounts[0]);
        if (im->m->symbol_count >= EXTENTS_MAX) {
                onnx_error(im, "'%s': a run counts more than %d extents",
                           text_safe(im->arena, name, strlen(name)), EXTENTS_MAX);
                return DIM_NONE;
        }
        dim_t d = dim_counted(im->m, arena_string(im->m->arena, name), most);
        if (!build_counted(&im->b, count, d))
                return DIM_NONE;
        value_amount_known(im->m, count, d);
        return d;
}

int64_t onnx_length_most(struct onnx_import *im, struct onnx_node *n, int output, int64_t most)
{
        const char *name = arena_printf(im->arena, "%s_count",
                                        onnx_string(im->arena, n->proto->output[output]));
        struct onnx_binding *b = map_get(im->model->dims, name, strlen(name));
        if (b && b->at_run) {
                b->used = true;
                return most < 0 ? b->extent : compose_min(most, b->extent);
        }
        if (most < 0)
                onnx_unsupported(im, n,
                                 "only a run tells how many items output %d, a sequence, has: "
                                 "bound their number by --dim %s=0..512",
                                 output, text_safe(im->arena, name, strlen(name)));
        return most;
}

struct value *onnx_element(struct onnx_import *im, struct value *v, int64_t i)
{
        while (v && op_is(v, OP_concat)) {
                const struct op *op = v->op;
                int k = 0;
                while (type_is_static(op_operand(op, k)->type) &&
                       i >= value_extent(op_operand(op, k), 0))
                        i -= value_extent(op_operand(op, k++), 0);
                v = op_operand(op, k);
        }
        return v ? compose_pick(im->c, v, 0, i) : NULL;
}

dim_t onnx_extent_of(struct onnx_import *im, struct onnx_node *n, int output, int dimension,
                     struct value *v, int64_t i)
{
        struct amount amounts[AMOUNTS_MAX];
        struct value *element = onnx_element(im, v, i);
        int count;

        if (element && value_amounts(im->m, element, amounts, &count) && count == 1) {
                dim_t d = amount_dim(amounts[0]);
                if (dim_equal(d, DIM_NONE))
                        onnx_invalid(im, n, "a result of extent %lld",
                                     (long long)amounts[0].number);
                return d;
        }
        return onnx_counted(im, n, output, dimension, element, -1);
}

struct value *onnx_first(struct onnx_import *im, struct value *x, int axis, dim_t extent)
{
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        dim_t dims[RANK_MAX];

        for (int d = 0; x && d < value_rank(x); d++) {
                steps[d] = 1;
                dims[d] = d == axis ? extent : x->type->dims[d];
        }
        return x ? build_slice(&im->b, x, starts, steps, dims) : NULL;
}

bool onnx_counted_parts(struct onnx_import *im, struct onnx_node *n, struct value *x, int axis,
                        struct value *sizes, int count, struct value **parts)
{
        struct value *start = compose_integer(im->c, E_I64, 0);
        int64_t ones[RANK_MAX], zeros[RANK_MAX] = { 0 };
        const int rank = value_rank(x);
        dim_t dims[RANK_MAX];

        for (int d = 0; d < rank; d++) {
                ones[d] = 1;
                dims[d] = x->type->dims[d];
        }
        const int64_t most = dim_bound(im->m, dims[axis]);
        for (int i = 0; i < count; i++) {
                struct value *size = onnx_element(im, sizes, i), *starts[3];
                const int output = i < n->output_count ? i : n->output_count - 1;
                if (output != i || n->wanted[i]) {
                        dims[axis] = onnx_counted(im, n, output, axis, size, most);
                        if (dim_equal(dims[axis], DIM_NONE))
                                return false;
                        starts[0] = constant_ints(im->m, zeros, axis);
                        starts[1] = compose_reshape(im->c, start, 1, (const dim_t[]){ dim_of(1) });
                        starts[2] = constant_ints(im->m, zeros, rank - 1 - axis);
                        struct value *operands[3] = { x, build_concat(&im->b, starts, 3, 0),
                                                      constant_ints(im->m, ones, rank) };
                        parts[i] = operands[1]
                                           ? value_build(&im->b, OP_slice, operands, 3, NULL,
                                                         compose_type(im->c, value_element(x),
                                                                      rank, dims))
                                           : NULL;
                        if (!parts[i])
                                return false;
                }
                start = compose_binary(im->c, OP_add, start, size);
        }
        return true;
}

static int64_t count_true(const struct value *flags)
{
        int64_t elements = type_elements(flags->type), count = 0;

        for (int64_t i = 0; i < elements; i++)
                count += constant_element(flags->constant, i).u != 0;
        return count;
}

bool onnx_how_many(struct onnx_import *im, struct onnx_node *n, const struct value *flags,
                   enum element e, int rank, int dimension, int64_t *count)
{
        if (value_is_constant(flags)) {
                *count = count_true(flags);
                return true;
        }
        const struct type *declared = onnx_declared_as(im, n, 0, e, rank);
        if (!declared)
                return false;
        *count = type_extent(declared, dimension);
        return *count <= value_extent(flags, 0) ||
               onnx_invalid(im, n, "output 0 is declared as %s, at most %lld are possible",
                            compose_text(im->c, declared), (long long)value_extent(flags, 0));
}

struct value *onnx_positions(struct onnx_import *im, struct onnx_node *n, struct value *flags,
                             enum element e, int rank, int dimension)
{
        int64_t known;

        if (!flags)
                return NULL;
        if (value_is_constant(flags) || onnx_is_declared(im, n, 0, rank))
                return onnx_how_many(im, n, flags, e, rank, dimension, &known)
                               ? compose_positions(im->c, flags, known)
                               : NULL;
        const int64_t most = dim_bound(im->m, flags->type->dims[0]);
        struct value *count = compose_reduce(im->c, REDUCE_sum, compose_cast(im->c, flags, E_I64),
                                             (const int64_t[]){ 0 }, 1, E_COMPUTE);
        dim_t found = onnx_counted(im, n, 0, dimension, count, most);
        return dim_equal(found, DIM_NONE) ? NULL
                                          : compose_argsort_part(im->c, flags, 0, 1, found);
}
