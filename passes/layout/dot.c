/* SPDX-License-Identifier: MIT */
/* Layout of dot: a product of matrices is a convolution with one spatial dimension, a row each
 * position.
 *
 *   %1 = dot(%a, @b) contract_a=[1] contract_b=[0] : <M x N>
 *     ->
 *   %x = reshape(%a) : <1 x 1 x M x K>
 *   %1 = convolve_packed(%x, @b packed) channels=K outputs=N block=N : <1 x 1 x M x N>
 *
 * An operand that is computed at run time is not packed where it lies as a panel (values of a
 * cache), nor where few rows are multiplied with it (keys of a cache, in a decoder's step): then it
 * is x, and the rows are the weights.
 *
 * A run may give M, where b is a constant or known in its extents, and there is one product.
 *
 * For hardware tiles K has zeros behind it, up to whole rows of tiles. Batch dimensions are groups.
 * Rows are not blocked: a row of a is all of its K channels, a row of the result all of its N
 * outputs. Element-wise operations that follow are built on the rows, so that they can be the
 * contraction's epilogue; the logical value is a reshape away. */
#include "ir/lower/lower.h"
#include "kernels/attention.h"
#include "passes/layout/layout.h"

#include <string.h>

/* A product needs LEAST_WORK operations. Packing b at run time pays from LEAST_ROWS rows on,
 * decoding all of b into memory first from DECODED_ROWS on, and decoding it inside the kernel from
 * DECODED_INSIDE_ROWS on. */
enum { LEAST_WORK = 4096, LEAST_ROWS = 4, DECODED_INSIDE_ROWS = 5, DECODED_ROWS = 16 };
enum { PANEL_MOST = 8 };                /* A panel that is not packed has at most this many vectors
                                         * of sums. */
enum { TURNED_ROWS = 8, TURNED_COLUMNS = 256 };

/* The dimensions of an operand and its extents, by their role in the product. */
enum { BATCH, FREE, CONTRACT, ROLE_COUNT };
struct matrix {
        struct value *value;
        int count[ROLE_COUNT];
        int64_t dims[ROLE_COUNT][RANK_MAX];
        dim_t of[ROLE_COUNT];           /* These are the products of the extents. */
        int64_t extent[ROLE_COUNT];     /* They are known, or at most this. */
};

static struct matrix matrix_of(const struct op *op, int operand)
{
        static const char *const names[2][2] = { { "batch_a", "contract_a" },
                                                 { "batch_b", "contract_b" } };
        static const int roles[] = { BATCH, CONTRACT };
        struct matrix m = { .value = op_operand(op, operand) };
        const struct type *t = m.value->type;
        unsigned used = 0;
        for (int i = 0; i < 2; i++) {
                const int64_t *dims = op_ints(op, names[operand][i], &m.count[roles[i]]);
                for (int k = 0; k < m.count[roles[i]]; k++) {
                        m.dims[roles[i]][k] = dims[k];
                        used |= 1u << dims[k];
                }
        }
        for (int d = 0; d < t->rank; d++)
                if (!(used >> d & 1))
                        m.dims[FREE][m.count[FREE]++] = d;
        for (int r = 0; r < ROLE_COUNT; r++) {
                m.of[r] = dim_of(1);
                for (int k = 0; k < m.count[r]; k++)
                        m.of[r] = dim_binary(op_module(op), DIM_MUL, m.of[r],
                                             t->dims[m.dims[r][k]]);
                m.extent[r] = dim_bound(op_module(op), m.of[r]);
        }
        return m;
}

/* Lists the dimensions of m, its roles in this order. *straight: they are in this order already,
 * but for dimensions of extent 1. */
static void order_of(const struct matrix *m, const int order[ROLE_COUNT], int64_t perm[RANK_MAX],
                     bool *straight)
{
        int n = 0;
        int64_t last = -1;
        *straight = true;
        for (int i = 0; i < ROLE_COUNT; i++)
                for (int k = 0; k < m->count[order[i]]; k++) {
                        int64_t d = m->dims[order[i]][k];
                        perm[n++] = d;
                        if (dim_is(m->value->type->dims[d], 1))
                                continue;
                        *straight &= d > last;
                        last = d;
                }
}

/* Returns m as [B, order[1], order[2]]. */
static struct value *as_matrix(struct layout *l, const struct matrix *m,
                               const int order[ROLE_COUNT])
{
        int64_t perm[RANK_MAX];
        bool straight;
        order_of(m, order, perm, &straight);
        dim_t dims[] = { m->of[order[0]], m->of[order[1]], m->of[order[2]] };
        struct value *x = straight ? m->value : layout_transpose(&l->b, m->value, perm);
        return layout_reshape(&l->b, x, 3, dims);
}

/* Packs b as panels <B * P x 1 x 1 x inner / channels of a word x vectors x lanes * channels of a
 * word>. inner: K, padded with zeros. */
static struct value *pack_matrix(struct layout *l, const struct matrix *b, int64_t inner,
                                 int64_t vectors, const struct multiply *m)
{
        const int pair = m->channels;
        const int64_t lanes = m->outputs;
        static const int by_rows[] = { BATCH, CONTRACT, FREE },
                         by_columns[] = { BATCH, FREE, CONTRACT };
        static const int64_t rows_perm[2][6] = { { 0, 2, 1, 3, 4 }, { 0, 3, 1, 4, 5, 2 } };
        static const int64_t columns_perm[2][6] = { { 0, 1, 4, 2, 3 }, { 0, 1, 4, 2, 3, 5 } };
        int64_t perm[RANK_MAX], panel = vectors * lanes,
                                panels = divide_up(b->extent[FREE], panel);
        int64_t batch = b->extent[BATCH];
        int pairs = pair > 1;
        bool columns, rows;
        order_of(b, by_columns, perm, &columns);
        order_of(b, by_rows, perm, &rows);
        /* Words are neighbours in memory where a row lies along K. */
        const int64_t *inner_most = b->dims[CONTRACT] + b->count[CONTRACT] - 1;
        columns |= !rows && pairs && *inner_most == b->value->type->rank - 1;
        struct value *w = as_matrix(l, b, columns ? by_columns : by_rows);
        if (!w)
                return NULL;
        if (columns)
                w = layout_pack(&l->b, w,
                                (dim_t[]){ dim_of(batch), dim_of(panels * panel), dim_of(inner) },
                                5 + pairs,
                                (dim_t[]){ dim_of(batch), dim_of(panels), dim_of(vectors),
                                           dim_of(lanes), dim_of(inner / pair), dim_of(pair) },
                                columns_perm[pairs]);
        else if (pairs)
                w = layout_pack(&l->b, w,
                                (dim_t[]){ dim_of(batch), dim_of(inner), dim_of(panels * panel) },
                                6,
                                (dim_t[]){ dim_of(batch), dim_of(inner / pair), dim_of(pair),
                                           dim_of(panels), dim_of(vectors), dim_of(lanes) },
                                rows_perm[pairs]);
        else
                w = layout_pack(&l->b, w,
                                (dim_t[]){ dim_of(batch), dim_of(inner), dim_of(panels * panel) },
                                5,
                                (dim_t[]){ dim_of(batch), dim_of(inner), dim_of(panels),
                                           dim_of(vectors), dim_of(lanes) },
                                rows_perm[pairs]);
        return layout_reshape(&l->b, w, 6,
                              (dim_t[]){ dim_of(batch * panels), dim_of(1), dim_of(1),
                                         dim_of(inner / pair), dim_of(vectors),
                                         dim_of(lanes * pair) });
}

/* Is v computed from constants alone, as weights of 8 bits that the kernel which reads them
 * decodes? */
static bool is_decoded(const struct value *v, int depth)
{
        enum { DEPTH_MAX = 8 };
        if (value_is_constant(v))
                return true;
        if (v->kind != VALUE_RESULT || depth == DEPTH_MAX ||
            !(op_info[v->op->code].traits & (TRAIT_ELEMENTWISE | TRAIT_FREE)))
                return false;
        for (int i = 0; i < v->op->operand_count; i++)
                if (op_operand(v->op, i) && !is_decoded(op_operand(v->op, i), depth + 1))
                        return false;
        return true;
}

/* Does m lie in memory in this order, without a kernel that brings it there and could pack it as
 * well? */
static bool lies(const struct matrix *m, const int order[ROLE_COUNT])
{
        int64_t perm[RANK_MAX];
        bool straight;
        const struct value *v = m->value;
        order_of(m, order, perm, &straight);
        while (op_is(v, OP_reshape))
                v = op_operand(v->op, 0);
        return straight && !is_decoded(v, 0) && !op_is(v, OP_transpose);
}

/* Is b a panel as it lies? */
static bool is_panel(const struct layout *l, const struct matrix *b, const struct multiply *m)
{
        int line = target_line(l->context->target, m->sum);
        static const int by_rows[] = { BATCH, CONTRACT, FREE };
        int64_t outputs = b->extent[FREE], lines = outputs / line;
        return m->channels == 1 && outputs % line == 0 && outputs % m->outputs == 0 &&
               lines <= PANEL_MOST && (lines == 1 || lines % 2 == 0) && lies(b, by_rows);
}

/* Is this a product of a few rows by many columns that lie one after the other, as of queries by
 * the keys of a cache? Then a column is a position of x, and the rows are the weights, so that
 * nothing large is packed. */
static bool is_turned(const struct matrix *a, const struct matrix *b)
{
        static const int by_columns[] = { BATCH, FREE, CONTRACT };
        return dim_is_static(a->of[FREE]) && !value_is_constant(a->value) && a->extent[FREE] > 1 &&
               a->extent[FREE] <= TURNED_ROWS && b->extent[FREE] >= TURNED_COLUMNS &&
               lies(b, by_columns);
}

/* Returns the number of vectors of a panel of constant weights. Functions that read the same ones
 * pack them alike, as the first of them finds best, so that there is one copy: how many rows a
 * product has changes little of what a panel costs. */
static int64_t constant_panel(const struct layout *l, const struct constant *w,
                              const struct multiply *m, const struct schedule_product *product)
{
        int64_t vectors = multiply_panel(l->context->target, m, product);
        const struct {
                const void *data, *multiply;
        } key = { w->sparse ? w->sparse : w->held, m };
        if (!l->m->functions->next || w->kind == CONSTANT_SPLAT)
                return vectors;
        if (!l->m->panels)
                l->m->panels = map_new(l->m->arena);
        int64_t *known = map_get(l->m->panels, (const char *)&key, sizeof key);
        if (!known)
                map_set(l->m->panels, (const char *)&key, sizeof key,
                        arena_copy(l->m->arena, &vectors, sizeof vectors));
        return known ? *known : vectors;
}

/* Returns the number of vectors of a panel; packing at run time should not pad. */
static int64_t panel_vectors(const struct layout *l, const struct matrix *a, const struct matrix *b,
                             const struct multiply *m, int64_t channels)
{
        const struct schedule_product product = { .groups = a->extent[BATCH],
                                                  .positions = a->extent[FREE],
                                                  .outputs = b->extent[FREE],
                                                  .channels = channels,
                                                  .matrix = true };
        int line = target_line(l->context->target, m->sum);
        int64_t outputs = b->extent[FREE];
        if (is_panel(l, b, m))
                return outputs / m->outputs;
        if (value_is_constant(b->value))
                return constant_panel(l, b->value->constant, m, &product);
        int64_t width = outputs % (2 * line) == line || outputs <= line ? line : 2 * line;
        return width > m->outputs ? width / m->outputs : 1;
}

/* Returns what multiplies rows by b as it is stored; NULL: the product stays as it is. */
static const struct multiply *multiply_of(const struct layout *l, const struct op *op,
                                          const struct matrix *a, const struct matrix *b)
{
        enum element x = a->value->type->element;
        if (element_is_integer(x))
                return layout_bytes(l, op);
        return op_result(op)->type->element == E_F32
                       ? multiply_in(l->context, x, b->value->type->element)
                       : NULL;
}

/* Returns the multiply that costs least for these extents. */
static const struct multiply *multiply_of_extents(const struct layout *l, const struct multiply *m,
                                                  const struct matrix *a, const struct matrix *b)
{
        const struct schedule_product product = { .groups = a->extent[BATCH],
                                                  .positions = a->extent[FREE],
                                                  .outputs = b->extent[FREE],
                                                  .channels = a->extent[CONTRACT] };
        return multiply_of_product(l->context, m, &product);
}

/* Returns the bytes that b widens, where they are computed at run time and lie as a panel (values
 * of a cache): they are widened where they are multiplied. Else returns b. */
static struct value *bytes_of_panel(const struct layout *l, const struct matrix *b)
{
        struct matrix narrow = *b;
        if (!op_is(b->value, OP_cast) || b->value->type->element != E_F32)
                return b->value;
        narrow.value = op_operand(b->value->op, 0);
        const enum element e = narrow.value->type->element;
        const struct multiply *m = element_is_integer(e) && element_info[e].bytes == 1 &&
                                                   !value_is_constant(narrow.value)
                                           ? multiply_in(l->context, E_F32, e)
                                           : NULL;
        return m && is_panel(l, &narrow, m) ? narrow.value : b->value;
}

/* Does at most the number of rows depend on a run, of one product? */
static bool opens_rows(const struct matrix *a, const struct matrix *b, bool turned)
{
        return turned ? type_is_static(a->value->type)
                      : type_is_static(b->value->type) && a->extent[BATCH] == 1 &&
                                dim_is_static(a->of[CONTRACT]) && a->of[FREE].code != DIM_NONE.code;
}

/* Is v multiplied again, behind operations on its rows, as the scores of attention are? Such
 * products become one kernel (passes/fuse/attention.c). */
static bool is_multiplied(const struct value *v, int depth)
{
        enum { DEPTH_MAX = 12 };
        for (const struct use *u = v->uses; u && depth < DEPTH_MAX; u = u->next) {
                const struct op *user = u->user;
                const enum opcode code = user->code;
                const bool rows = op_info[code].traits & TRAIT_ELEMENTWISE || code == OP_reduce ||
                                  code == OP_broadcast || code == OP_reshape;
                if ((code == OP_dot && !op_is_static(user)) ||
                    (rows && is_multiplied(op_result(user), depth + 1)))
                        return true;
        }
        return false;
}

bool layout_dot(struct layout *l, struct op *op)
{
        static const int order[] = { BATCH, FREE, CONTRACT };
        if (layout_block_product(l, op))
                return true;
        struct matrix a = matrix_of(op, 0), b = matrix_of(op, 1);
        bool turned = is_turned(&a, &b), open = !op_is_static(op);
        if (open && !opens_rows(&a, &b, turned))
                return layout_refuse(l, REMARK_layout_empty);
        if (open && turned && a.extent[FREE] >= ATTENTION_OPEN_ROWS &&
            is_multiplied(op_result(op), 0))
                return layout_refuse(l, REMARK_layout_attention);
        if (turned) {
                struct matrix rows = a;
                a = b;
                b = rows;
        }
        /* Numbers that the target multiplies as they are stored stay so; others are decoded now
         * where there are enough rows. */
        b.value = layout_stored(l, b.value);
        if (a.extent[FREE] >= LEAST_ROWS)
                b.value = layout_decoded(l, b.value);
        b.value = bytes_of_panel(l, &b);
        int64_t batch = a.extent[BATCH], rows = a.extent[FREE], inner = a.extent[CONTRACT],
                outputs = b.extent[FREE];
        const struct multiply *m = multiply_of_extents(l, multiply_of(l, op, &a, &b), &a, &b);
        if (open && m && m->registers && !target_engine(l->context->target)->open_tiles)
                m = multiply_in_vectors(l->context, m->x.memory, m->w.memory,
                                        multiply_limit(op_operand(op, 1)));
        if (!m || outputs > INT32_MAX)
                return layout_refuse(l, REMARK_layout_multiply);
        if (2.0 * (double)batch * (double)rows * (double)inner * (double)outputs < LEAST_WORK)
                return layout_refuse(l, REMARK_layout_small);
        if (!value_is_constant(b.value) && !is_panel(l, &b, m) &&
            rows < (!is_decoded(b.value, 0)                      ? LEAST_ROWS
                    : target_engine(l->context->target)->decoded ? DECODED_INSIDE_ROWS
                                                                 : DECODED_ROWS))
                return layout_refuse(l, REMARK_layout_packing);
        bool halves = m->registers && element_is_float(m->x.memory);
        int64_t padded = halves ? round_up(inner, l->block) : layout_row_of(m, inner);
        int limit = turned ? 0 : multiply_limit(op_operand(op, 1));
        struct value *w = pack_matrix(l, &b, padded, panel_vectors(l, &a, &b, m, padded), m),
                     *x = as_matrix(l, &a, order);
        x = layout_reshape(&l->b, x, 4,
                           (dim_t[]){ dim_of(1), dim_of(batch), a.of[FREE], dim_of(inner) });
        x = padded == inner ? x : layout_halo(&l->b, x, 3, (int64_t[]){ 0, padded - inner }, 1);
        x = x ? build_cast(&l->b, x, multiply_reads(l->context, m)) : NULL;
        struct attr *attrs = attrs_new(l->m, OP_convolve_packed);
        attr_set(attrs, OP_convolve_packed, "groups", batch);
        attr_set(attrs, OP_convolve_packed, "channels", padded);
        attr_set(attrs, OP_convolve_packed, "outputs", outputs);
        attr_set(attrs, OP_convolve_packed, "block", outputs);
        attr_set(attrs, OP_convolve_packed, "limit", limit);
        attr_set(attrs, OP_convolve_packed, "accumulator", op_int(op, "accumulator"));
        if (w && batch == 1 && !turned)
                layout_note_table(l, op, b.value, w, m->channels);
        w = layout_crossed(l, w, m, attrs);
        struct value *y = x && w ? value_build(&l->b, OP_convolve_packed,
                                               (struct value *[]){ x, w }, 2, attrs, NULL)
                                 : NULL;
        y = y && turned ? build_transpose(&l->b, y, (int64_t[]){ 0, 1, 3, 2 }) : y;
        struct form *form = layout_form(l, op_result(op));
        *form = (struct form){ .rows = y,
                               .batch = a.count[BATCH],
                               .free = turned ? b.count[FREE] : a.count[FREE] };
        l->failed |= !y;
        return y != NULL;
}

/* ---- element-wise operations on rows ---- */

static const struct type *rows_type(struct layout *l, const struct value *rows, enum element e)
{
        return type_with_element(l->m, rows->type, e);
}

/* Makes a broadcast one onto rows. For each of B, M and N its operand has every element or one;
 * NULL: it has some of them. */
static struct value *broadcast_rows(struct layout *l, const struct op *op, const struct form *form)
{
        struct value *x = op_operand(op, 0);
        const struct type *t = op_result(op)->type;
        const int64_t *onto = op_ints(op, "dims", NULL);
        const int ends[] = { form->batch, form->batch + form->free, t->rank };
        dim_t dims[3];
        int64_t to[3];
        int rank = 0, k = 0;
        for (int part = 0, d = 0; part < 3; part++) {
                dim_t whole = dim_of(1), own = dim_of(1);
                for (; d < ends[part]; d++)
                        whole = dim_binary(l->m, DIM_MUL, whole, t->dims[d]);
                for (; k < x->type->rank && onto[k] < ends[part]; k++)
                        own = dim_binary(l->m, DIM_MUL, own, x->type->dims[k]);
                if (!dim_is(own, 1) && !dim_equal(own, whole))
                        return NULL;
                if (dim_is(own, 1))
                        continue;
                dims[rank] = own;
                to[rank++] = part + 1;
        }
        x = layout_reshape(&l->b, x, rank, dims);
        return x ? build_broadcast(&l->b, x, rows_type(l, form->rows, t->element), to) : NULL;
}

static bool is_spread(const struct value *v)
{
        return value_is_splat(v, NULL) || op_is(v, OP_broadcast);
}

/* Makes an element-wise operation on broadcast numbers one on rows, as steps of rows times scales
 * of outputs are: it costs as little where it is read, but would be a matrix in memory where its
 * result is moved. NULL: it is no such operation. */
static struct value *spread_rows(struct layout *l, const struct op *op, const struct form *form)
{
        struct value *operands[OPERAND_ROW_MAX];
        bool spread = op_info[op->code].traits & TRAIT_ELEMENTWISE;
        for (int i = 0; i < op->operand_count && spread; i++)
                spread = is_spread(op_operand(op, i));
        for (int i = 0; i < op->operand_count && spread; i++) {
                struct value *v = op_operand(op, i);
                operands[i] =
                        op_is(v, OP_broadcast)
                                ? broadcast_rows(l, v->op, form)
                                : constant_splat(l->m, rows_type(l, form->rows, v->type->element),
                                                 constant_data(v->constant));
                spread = operands[i];
        }
        return spread ? value_build(&l->b, op->code, operands, op->operand_count, op->attrs, NULL)
                      : NULL;
}

static struct value *operand_rows(struct layout *l, struct value *v, const struct form *form)
{
        const struct type *to = rows_type(l, form->rows, v->type->element);
        const struct form *own = v->scratch;
        if (own && own->rows && own->batch == form->batch && own->free == form->free)
                return own->rows;
        if (value_is_splat(v, NULL))
                return constant_splat(l->m, to, constant_data(v->constant));
        if (op_is(v, OP_broadcast))
                return broadcast_rows(l, v->op, form);
        struct value *spread = v->kind == VALUE_RESULT ? spread_rows(l, v->op, form) : NULL;
        return spread ? spread : layout_reshape(&l->b, v, to->rank, to->dims);
}

/* Finds how the dimensions of t are divided into B, M and N of rows. Returns false if one of them
 * belongs to two of these. */
static bool split_rows(struct module *m, const struct type *t, const struct value *rows,
                       struct form *form)
{
        const dim_t *want = rows->type->dims;
        dim_t product = dim_of(1);
        int d = 0;
        *form = (struct form){ .rows = (struct value *)(uintptr_t)rows };
        for (; d < t->rank && dim_bound(m, product) < dim_bound(m, want[1]); d++)
                product = dim_binary(m, DIM_MUL, product, t->dims[d]);
        form->batch = d;
        if (!dim_equal(want[1], product))
                return false;
        for (product = dim_of(1);
             d < t->rank && dim_bound(m, product) < dim_bound(m, want[2]); d++)
                product = dim_binary(m, DIM_MUL, product, t->dims[d]);
        form->free = d - form->batch;
        return dim_equal(want[2], product);
}

/* May rows of v become part of the epilogue? A value that others read, too, is stored, and what
 * follows reads it as it is. */
static bool goes_on(struct module *m, const struct value *v, const struct value *rows, int depth)
{
        enum { DEPTH_MAX = 4 };
        struct form form;
        if (rows_normalize(v))
                return false;
        for (const struct use *u = v->uses; u; u = u->next) {
                const struct op *user = u->user;
                if (user->code == OP_reshape && depth < DEPTH_MAX &&
                    split_rows(m, op_result(user)->type, rows, &form) &&
                    goes_on(m, op_result(user), rows, depth + 1))
                        continue;
                if (!(op_info[user->code].traits & TRAIT_ELEMENTWISE))
                        return false;
        }
        return rows != NULL;
}

static bool rows_go_on(const struct layout *l, const struct value *v)
{
        return rows_of(v) && goes_on(l->m, v, rows_of(v), 0);
}

bool layout_rows(struct layout *l, struct op *op)
{
        struct value *operands[OPERAND_ROW_MAX];
        const struct form *form = NULL;
        if (op->code == OP_reshape && rows_go_on(l, op_operand(op, 0))) {
                struct value *rows = rows_of(op_operand(op, 0));
                return split_rows(l->m, op_result(op)->type, rows, layout_form(l, op_result(op)));
        }
        if (!(op_info[op->code].traits & TRAIT_ELEMENTWISE))
                return false;
        for (int i = 0; i < op->operand_count && !form; i++)
                if (rows_go_on(l, op_operand(op, i)))
                        form = op_operand(op, i)->scratch;
        for (int i = 0; form && i < op->operand_count; i++) {
                operands[i] = operand_rows(l, op_operand(op, i), form);
                if (!operands[i])
                        return false;
        }
        struct value *rows =
                form ? value_build(&l->b, op->code, operands, op->operand_count, op->attrs, NULL)
                     : NULL;
        if (rows)
                *layout_form(l, op_result(op)) =
                        (struct form){ .rows = rows, .batch = form->batch, .free = form->free };
        return rows != NULL;
}
