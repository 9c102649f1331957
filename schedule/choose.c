/* Which schedule: the register tile, strips, prefetch and tasks for a contraction on a machine. */
#include "schedule/stage.h"

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* The most positions a tile may have: sums, weights and one channel of x stay in registers. */
static int most_positions(const struct target *target, int vectors)
{
        return (target_vector_registers(target) - vectors - 1) / vectors;
}

/* The spatial dimensions can run as one: nothing in the fusion tells them apart. */
static bool can_flatten(const struct op *contraction)
{
        int rank = op_result(contraction)->type->rank;
        for (int d = 2; d < rank - 1; d++)
                if (op_operand(contraction, 1)->type->dims[d] != 1 ||
                    op_ints(contraction, "strides", NULL)[d - 2] != 1)
                        return false;
        bool fused = contraction->region->owner && contraction->region->owner->code == OP_fusion;
        for (const struct op *op = fused ? contraction->region->first : NULL; op; op = op->next) {
                if (op->code == OP_pad || op->code == OP_slice)
                        return false;
                int count = 0, spatial = 0;
                const int64_t *dims = op->code == OP_broadcast ? op_ints(op, "dims", &count) : NULL;
                for (int i = 0; i < count; i++)
                        spatial += dims[i] >= 2 && dims[i] < rank - 1 && op_operand(op, 0)->type->dims[i] > 1;
                if (spatial)
                        return false;
        }
        return true;
}

/* Rows of tiles of which x stays in half of L2 while all panels run over them. Every strip reads all of w again, where otherwise
 * every panel reads all of x, which is cheaper as it comes in order: 0 unless that is three times as much. */
static int choose_strip(const struct op *op, const struct target *target, int64_t rows)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        int64_t room = target_l2_bytes(target) / 2, panels = w->dims[0] / op_int(op, "groups");
        int64_t bytes = x->dims[1] * x->dims[x->rank - 1] * element_info[x->element].bytes;     /* that are read, of an image */
        for (int d = 2; d < x->rank - 1; d++) {
                int64_t read = op_result(op)->type->dims[d] * w->dims[d];
                bytes *= read < x->dims[d] ? read : x->dims[d];
        }
        if (bytes <= room || panels == 1)
                return 0;
        int64_t strip = rows * room / bytes;
        strip = strip < 1 ? 1 : strip;
        double again = (double)type_bytes(w) * (double)(divide_up(rows, strip) - 1);
        return 3 * again < (double)bytes * (double)(panels - 1) ? (int)strip : 0;
}

struct schedule packed_choose(const struct op *op, const struct schedule_machine *machine)
{
        const struct target *target = machine->target;
        const struct type *y = op_result(op)->type, *w = op_operand(op, 1)->type;
        struct schedule s = schedule_preset();
        int lanes = target_lanes(target, E_F32), k = y->rank - 3;
        int64_t panel = w->dims[w->rank - 2];
        bool flat = can_flatten(op);
        int64_t columns = y->dims[y->rank - 2], rows = k > 1 ? y->dims[y->rank - 3] : 1;
        for (int d = 0; d < k && flat; d++)
                columns = d ? columns * y->dims[2 + d] : y->dims[2];
        s.flat = flat && k > 1;
        rows = flat ? 1 : rows;
        s.vectors = (int)panel * 16 / lanes;
        while (s.vectors > 4 || (s.vectors > 1 && most_positions(target, s.vectors) < 6))
                s.vectors /= 2;
        if (s.vectors * lanes < 16)
                s.vectors = 16 / lanes;
        int most = most_positions(target, s.vectors);
        s.columns = (int)divide_up(columns, divide_up(columns, most));
        if (columns * 2 <= most && rows > 1)
                s.rows = (int)divide_up(rows, divide_up(rows, most / columns));
        int sums = s.columns * s.rows * s.vectors;
        while (sums * s.split < 8 && s.split < 4)
                s.split *= 2;
        int64_t inner = w->dims[w->rank - 3];
        s.unroll = inner == 1 ? 1 : 4;
        int64_t row_tiles = k > 1 && !flat ? divide_up(rows, s.rows) : 1;
        int64_t column_tiles = divide_up(columns, s.columns), tiles = row_tiles * column_tiles;
        if (inner % s.unroll == 0) {
                int64_t lines = divide_up(panel * s.unroll, tiles);
                s.prefetch = lines > 4 ? 4 : (int)lines;
        }
        int64_t shared = k > 1 && !flat ? row_tiles : column_tiles;
        if (machine->threads > 1) {
                if (shared >= 2 * machine->threads || w->dims[0] / op_int(op, "groups") < machine->threads)
                        s.row_tasks = machine->threads;
                else
                        s.panel_tasks = machine->threads;
        }
        s.strip = choose_strip(op, target, shared);
        return s;
}
