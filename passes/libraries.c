/* SPDX-License-Identifier: MIT */
/* libraries: contractions that a library can do become calls of its function (--libraries).
 *
 *   %1 = dot(%0, @w)      ->   %1 = external(%0, @w) symbol=dnncc_blas_gemm extents=[..] {(%a, %b)
 *                                %2 = dot(%a, %b)
 *                                yield(%2) }
 *
 * What the call means stands in its region, so everything that does not link the library computes
 * that. Products of f32 whose extents are numbers are taken, with batches, transposed operands and
 * several dimensions in place of one, and convolutions by windows of 1 x 1, whose weights are the
 * left side: extents are batch, m, n, k, whether a and b are transposed, and how many elements lie
 * between their matrices of a batch (runtime/dnncc_blas.h).
 *
 * The library adds products up in an order of its own: class R. */
#include "ir/target/target.h"
#include "passes/pass.h"

enum { EXTENTS = 8 };

static const char *const functions[] = {
#define LIBRARY(name, function, doc) #function,
#include "passes/libraries.def"
};

struct product {
        int64_t batch, m, n, k;
        bool transposed_a, transposed_b;
        int64_t step_a, step_b;
        struct value *a, *b;
};

static int64_t extent_of(const struct type *t, int from, int to)
{
        int64_t all = 1;
        for (int d = from; d < to; d++)
                all *= type_extent(t, d);
        return all;
}

/* A side of a dot: batches come first; what is contracted comes before the rest, or behind it. */
struct side { int64_t batch, free, contracted; bool first, last; };

static bool find_side(const struct op *op, int operand, const char *batch_name,
                      const char *contract_name, struct side *side)
{
        const struct type *t = op_operand(op, operand)->type;
        int batches, count;
        const int64_t *batch = op_ints(op, batch_name, &batches),
                      *contract = op_ints(op, contract_name, &count);
        side->first = side->last = count > 0;
        for (int i = 0; i < batches; i++)
                if (batch[i] != i)
                        return false;
        for (int i = 0; i < count; i++) {
                side->first &= contract[i] == batches + i;
                side->last &= contract[i] == t->rank - count + i;
        }
        side->batch = extent_of(t, 0, batches);
        side->contracted = side->last ? extent_of(t, t->rank - count, t->rank)
                                      : extent_of(t, batches, batches + count);
        side->free = side->last ? extent_of(t, batches, t->rank - count)
                                : extent_of(t, batches + count, t->rank);
        return side->first || side->last;
}

static bool dot_product(const struct op *op, struct product *p)
{
        struct side a, b;
        if (!find_side(op, 0, "batch_a", "contract_a", &a) ||
            !find_side(op, 1, "batch_b", "contract_b", &b))
                return false;
        *p = (struct product){ a.batch, a.free, b.free, a.contracted, !a.last, !b.first,
                               a.free * a.contracted, b.free * b.contracted, op_operand(op, 0),
                               op_operand(op, 1) };
        return true;
}

static bool all_are(const struct op *op, const char *name, int64_t value)
{
        int count;
        const int64_t *values = op_ints(op, name, &count);
        for (int i = 0; i < count; i++)
                if (values[i] != value)
                        return false;
        return true;
}

static bool convolution_product(const struct op *op, struct product *p)
{
        struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        const struct type *t = x->type;
        if (op_int(op, "groups") != 1 || extent_of(w->type, 2, w->type->rank) != 1 ||
            !all_are(op, "strides", 1) || !all_are(op, "input_dilations", 1) ||
            !all_are(op, "pads", 0))
                return false;
        const int64_t channels = type_extent(t, 1), places = extent_of(t, 2, t->rank);
        *p = (struct product){ type_extent(t, 0), type_extent(w->type, 0), places, channels, false,
                               false, 0, channels * places, w, x };
        return true;
}

static bool find_product(const struct op *op, struct product *p)
{
        if ((op->code != OP_dot && op->code != OP_convolve) || op->schedule)
                return false;
        for (int i = 0; i < 2; i++) {
                const struct type *t = op_operand(op, i)->type;
                if (t->element != E_F32 || !type_is_static(t) || type_is_empty(t))
                        return false;
        }
        const struct type *y = op_result(op)->type;
        return y->element == E_F32 && op_accumulator(op) == E_F32 && !type_is_empty(y) &&
               (op->code == OP_dot ? dot_product(op, p) : convolution_product(op, p));
}

/* Puts a call in place of op. Returns false after an error. */
static bool call_library(struct op *op, const struct product *p, struct diag *diag)
{
        struct module *m = op_module(op);
        struct builder b = { .m = m, .region = op->region, .before = op, .location = op->location,
                             .diag = diag };
        const int64_t extents[EXTENTS] = { p->batch,        p->m,    p->n, p->k, p->transposed_a,
                                           p->transposed_b, p->step_a, p->step_b };
        struct value *operands[] = { p->a, p->b };
        struct attr *attrs = attrs_new(m, OP_external);
        attr_set_text(m, attrs, OP_external, "symbol", functions[0]);
        attr_set_ints(m, attrs, OP_external, "extents", extents, EXTENTS);
        struct op *call = op_build_results(&b, OP_external, operands, 2, attrs,
                                           &op_result(op)->type, 1, 1);
        if (!call)
                return false;
        struct builder inside = { .m = m, .region = op_add_region(call, 0),
                                  .location = op->location, .diag = diag };
        struct value *arguments[] = { region_add_argument(inside.region, p->a->type, "a"),
                                      region_add_argument(inside.region, p->b->type, "b") };
        const bool swapped = p->a != op_operand(op, 0);
        struct value *own[] = { arguments[swapped], arguments[!swapped] },
                     *y = value_build(&inside, op->code, own, 2, op->attrs, op_result(op)->type);
        if (!y || !build_yield(&inside, &y, 1) || !op_infer(m, call, diag))
                return false;
        value_replace(op_result(op), op_result(call));
        op_erase(op);
        return true;
}

int pass_libraries(struct function *f, struct pass_context *context)
{
        int calls = 0;
        if (context->exact || target_engine(context->target)->launches)
                return 0;               /* Kernels of a device call no function. */
        for (struct op *op = region_walk(&f->body, NULL), *next; op; op = next) {
                struct product p;
                next = region_walk(&f->body, op);
                if (op->region->owner && op_is_kernel(op->region->owner))
                        continue;
                if (!find_product(op, &p))
                        continue;
                if (!call_library(op, &p, context->diag))
                        return -1;
                calls++;
        }
        return calls;
}
