/* The moves that --tune tries: each changes one or two words of a schedule. */
#include "schedule/schedule.h"

enum word { ROWS, COLUMNS, VECTORS, UNROLL, SPLIT, PREFETCH, STRIP, GROUP, FLAT, PACK, SHARE };
/* value: set to it; add: more or less; halve: so many times */
struct move { enum word word; enum { SET, ADD, HALVE } how; int value; };
static const struct move moves[] = {
        { PREFETCH, SET, 0 }, { PREFETCH, SET, 1 }, { PREFETCH, SET, 2 }, { PREFETCH, SET, 4 },
        { UNROLL, SET, 2 }, { UNROLL, SET, 8 }, { UNROLL, SET, 1 }, { SPLIT, SET, 1 }, { SPLIT, SET, 2 },
        { COLUMNS, ADD, -1 }, { COLUMNS, ADD, -2 }, { COLUMNS, HALVE, 1 }, { COLUMNS, ADD, 1 },
        { ROWS, ADD, 1 }, { ROWS, ADD, -1 }, { VECTORS, HALVE, 1 },
        { STRIP, SET, 0 }, { STRIP, SET, 4 }, { STRIP, HALVE, 1 }, { GROUP, HALVE, 1 }, { FLAT, SET, 0 },
        { PACK, SET, 0 }, { PACK, SET, 1 },
        { SHARE, SET, 0 },
};
const int schedule_move_count = sizeof moves / sizeof *moves;

/* the words that a lowering heeds: all other moves would leave the kernel as it is */
#define BIT(word) (1u << (word))
static const struct { enum opcode code; unsigned words; } heeded[] = {
        { OP_convolve_packed, ~BIT(GROUP) },
        { OP_convolve_lanes, BIT(ROWS) | BIT(COLUMNS) | BIT(UNROLL) | BIT(SHARE) },
        { OP_convolve_winograd, BIT(COLUMNS) | BIT(VECTORS) | BIT(UNROLL) | BIT(SPLIT) | BIT(PREFETCH) | BIT(GROUP) | BIT(SHARE) },
        { OP_reduce_window, BIT(COLUMNS) | BIT(SHARE) },
};

static int *word_of(struct schedule *s, enum word word)
{
        switch (word) {
        case ROWS: return &s->rows;
        case COLUMNS: return &s->columns;
        case VECTORS: return &s->vectors;
        case UNROLL: return &s->unroll;
        case SPLIT: return &s->split;
        case PREFETCH: return &s->prefetch;
        case STRIP: return &s->strip;
        case GROUP: return &s->group;
        case FLAT: return &s->flat;
        case PACK: return &s->pack;
        case SHARE: break;
        }
        return NULL;
}

enum { LINE = 16 };                     /* outputs of a line of sums */

/* Sums, weights and one input stay in registers, and vectors are whole lines of outputs. */
static bool is_sound(const struct op *op, const struct schedule *s, const struct target *target)
{
        int lanes = target_lanes(target, E_F32), registers = target_vector_registers(target);
        if (s->rows < 1 || s->columns < 1 || s->vectors < 1 || s->prefetch < 0 ||
            (s->pack && op->code != OP_convolve_packed))
                return false;
        if (op->code == OP_convolve_lanes)
                return s->rows * s->columns + 2 <= registers;
        return (lanes >= LINE || s->vectors * lanes % LINE == 0) &&
               s->rows * s->columns * s->vectors * s->split + s->vectors + 1 <= registers;
}

/* rows of tiles that strips are made of */
static int64_t row_tiles(const struct op *op, const struct schedule *s)
{
        const struct type *y = op_result(op)->type;
        bool one = s->flat || y->rank == 4;
        int64_t rows = one ? 1 : y->dims[y->rank - 3];
        for (int d = 2; d < y->rank - 1 && one; d++)
                rows *= y->dims[d];
        int size = one ? s->columns : s->rows;
        return (rows + size - 1) / size;
}

/* Does the word say anything about this operation? Strips of all rows are no strips; without rows
 * there is nothing to make one. */
static bool is_heeded(const struct op *op, enum word word, const struct schedule *s)
{
        const struct type *y = op_result(op)->type;
        unsigned words = 0;
        for (size_t i = 0; i < sizeof heeded / sizeof *heeded; i++)
                words |= heeded[i].code == op->code ? heeded[i].words : 0;
        if (!(words & BIT(word)))
                return false;
        if (word == ROWS || word == FLAT)
                return y->rank > 4 && (word == FLAT || !s->flat) && y->dims[y->rank - 3] > 1;
        return word != STRIP || s->strip < row_tiles(op, s);
}

bool schedule_move(const struct op *op, const struct schedule_machine *machine, int move,
                   struct schedule *s)
{
        const struct move *m = &moves[move];
        struct schedule before = *s;
        if (m->word == SHARE) {         /* rows and panels change roles */
                s->row_tasks = before.panel_tasks;
                s->panel_tasks = before.row_tasks;
                return s->row_tasks != before.row_tasks;
        }
        int *word = word_of(s, m->word), old = *word;
        *word = m->how == SET ? m->value : m->how == ADD ? old + m->value : old >> m->value;
        if (*word == old || (m->how == HALVE && !*word) || !is_heeded(op, m->word, s))
                return false;
        if (m->word == VECTORS)         /* what the sums leave goes to positions */
                s->columns = (target_vector_registers(machine->target) - s->vectors - 1) /
                             s->vectors / s->rows / s->split;
        return is_sound(op, s, machine->target);
}
