/* SPDX-License-Identifier: MIT */
#include "passes/layout/multiplies.h"

#include "cost/tiles_cost.h"
#include "passes/layout/neighbours.h"
#include "passes/simplify/ranges.h"

static bool fits(const struct pass_context *context, const struct multiply *m, int limit)
{
        const struct engine *engine = target_engine(context->target);
        bool vectors = (engine->vectors || engine->single_sums) &&
                       m->outputs == target_lanes(context->target, m->sum);
        bool native = m->registers || m->streams || vectors;
        bool plain = element_is_float(m->sum);    /* Canonical nests read these operands, too. */
        return native && (!context->least || plain ||
                          multiply_find(context->least, m->x.memory, m->w.memory, m->registers > 0,
                                        0, m->channels, limit));
}

/* Are sums long enough, and channels at most a third short of whole words, or the words those of a
 * window's rows? */
static bool pays(const struct target *target, const struct multiply *m, const struct op *op)
{
        int64_t products = whole_products(op),
                channels = op->code == OP_convolve ? type_extent(op_operand(op, 1)->type, 1)
                                                   : products;
        const bool near = op->code == OP_convolve &&
                          layout_wants_neighbours(target, op, m->channels);
        return !m->least ||
               (products >= m->least &&
                (near || 3 * round_up(channels, m->channels) <= 4 * channels));
}

/* Each bit stands for a memory that sums may be in. */
enum { IN_VECTORS = 1, IN_TILES = 2 };

static const struct multiply *find(const struct pass_context *context, enum element x,
                                   enum element w, int places, int limit, const struct op *op)
{
        const struct target *wide = context->target->wide;
        const struct multiply *m;
        for (int i = 0; (m = multiply_at(context->target, i)); i++)
                if (m->x.memory == x && m->w.memory == w &&
                    places & (m->registers ? IN_TILES : IN_VECTORS) &&
                    multiply_is_right(m, limit) && fits(context, m, limit) &&
                    (!op || pays(context->target, m, op)))
                        return m;
        return wide && element_is_float(x) && places & IN_VECTORS
                       ? multiply_find(wide, x, w, false, 0, 0, limit)
                       : NULL;
}

const struct multiply *multiply_in(const struct pass_context *context, enum element x,
                                   enum element w)
{
        return find(context, x, w, IN_VECTORS | IN_TILES, 0, NULL);
}

const struct multiply *multiply_in_tiles(const struct pass_context *context, enum element x,
                                         enum element w)
{
        return find(context, x, w, IN_TILES, 0, NULL);
}

const struct multiply *multiply_in_vectors(const struct pass_context *context, enum element x,
                                           enum element w, int limit)
{
        return find(context, x, w, IN_VECTORS, limit, NULL);
}

int multiply_limit(const struct value *w)
{
        if (!value_is_constant(w) || w->constant->kind == CONSTANT_SPLAT ||
            w->type->element != E_I8)
                return 0;
        const int8_t *numbers = constant_data(w->constant);
        int low = 0, high = 0;
        for (int64_t i = 0, count = type_elements(w->type); i < count; i++) {
                low = numbers[i] < low ? numbers[i] : low;
                high = numbers[i] > high ? numbers[i] : high;
        }
        return low == high ? 1 : -low > high ? -low : high;
}

const struct multiply *multiply_of_bytes(const struct pass_context *context, const struct op *op)
{
        enum element x = op_operand(op, 0)->type->element,
                     w = op_operand(op, 1)->type->element;
        bool bytes = element_is_integer(x) && element_is_integer(w) && element_info[x].bytes == 1 &&
                     element_info[w].bytes == 1 && op_result(op)->type->element == E_I32;
        return bytes && target_engine(context->target)->blocks
                       ? find(context, x, w, IN_VECTORS | IN_TILES,
                              multiply_limit(op_operand(op, 1)), op)
                       : NULL;
}

enum element multiply_reads(const struct pass_context *context, const struct multiply *m)
{
        enum element own = m->x.memory;
        const struct multiply *wide =
                multiply_widens(m, &m->x) ? multiply_in(context, E_I16, m->w.memory) : NULL;
        return wide && wide->channels == m->channels && wide->outputs == m->outputs ? E_I16 : own;
}

enum element multiply_sign(const struct pass_context *context)
{
        const struct multiply *with = multiply_in(context, E_I8, E_I8),
                              *without = multiply_in(context, E_U8, E_I8);
        int with_group = with ? with->channels : 0, without_group = without ? without->channels : 0;
        if (with_group == without_group && with && with->instructions != without->instructions)
                return with->instructions < without->instructions ? E_I8 : E_U8;
        return with_group > without_group   ? E_I8
               : with_group < without_group ? E_U8
                                            : E_BOOL;
}

/* Returns the tiles of a panel: `few`, or half as many again, where registers have room for two
 * such rows and their operands. A tile of x then serves more products, but more zeros may stand
 * behind the outputs. */
static int64_t tiled_panel(const struct target *target, const struct multiply *m, int64_t outputs,
                           int64_t few)
{
        enum { OPERANDS = 3 };
        const int64_t many = few + few / 2, width = m->outputs;
        if (few % 2 || many * width % target_lanes(target, m->sum) ||
            2 * many + OPERANDS > m->registers)
                return few;
        double of_few = tiles_panels_cost(target, m, divide_up(outputs, few * width), few),
               of_many = tiles_panels_cost(target, m, divide_up(outputs, many * width), many);
        return of_many < of_few ? many : few;
}

/* Few outputs need one vector of sums; a single position reads long panels fastest; words that are
 * broadcast by a load of their own should be multiplied by more than two vectors. */
int64_t multiply_panel(const struct target *target, const struct multiply *m,
                       const struct schedule_product *p)
{
        const int64_t outputs = p->outputs, positions = p->positions;
        if (m->streams)
                return 1;               /* Its panel is a block of weights. */
        const struct engine *engine = target_engine(target);
        int64_t panel = engine->panel ? engine->panel(target, m, p) : 0;
        if (panel)
                return panel;
        int line = target_line(target, m->sum);
        bool loads = m->channels > 2 && !m->registers;
        int64_t lines = outputs <= line                                   ? 1
                        : outputs > 2 * line && (positions == 1 || loads) ? 4
                                                                          : 2;
        int64_t vectors = lines * line > m->outputs ? lines * line / m->outputs : 1;
        /* Registers hold tiles of sums, as many for other positions, and the operands. */
        int64_t most = m->registers / (positions == 1 ? 2 : 4);
        return !m->registers || vectors < most ? vectors
               : positions == 1                ? most
                                               : tiled_panel(target, m, outputs, most);
}

const struct multiply *multiply_of_product(const struct pass_context *context,
                                           const struct multiply *m,
                                           const struct schedule_product *p)
{
        const struct engine *engine = target_engine(context->target);
        return m && engine->multiply
                       ? engine->multiply(context->target, m, p, context->limits.warp_group_percent)
                       : m;
}

int64_t multiply_few(const struct target *target, const struct multiply *m, int64_t outputs,
                     int64_t positions)
{
        enum { SHARE = 32 };            /* Zeros behind the outputs may be this fraction of them. */
        int64_t vectors = (positions == 1 ? 4 : 2) * (int64_t)target_block(target) / m->outputs;
        while (vectors > 1 &&
               SHARE * (round_up(outputs, vectors * m->outputs) - outputs) > outputs)
                vectors--;
        return vectors;
}
