/* Inside jam: jam.c finds nests and writes them anew, jam_copy.c copies statements several at a
 * time, jam_choose.c says how many. */
#ifndef PASSES_VECTORIZE_JAM_H
#define PASSES_VECTORIZE_JAM_H

#include "base/text.h"
#include "ir/loop.h"
#include "ir/loop_bounds.h"
#include "ir/target.h"

enum { JAM_DEPTH_MAX = 12 };

/* Loops directly inside each other, with nothing but values between them, around sums and a store
 * of what becomes of them. */
struct jam_nest {
        struct loop_stmt *loops[JAM_DEPTH_MAX];
        int depth;
        struct loop_block *leaf; /* the body of the innermost */
        struct loop_stmt *store; /* its last statement */
        struct loop_stmt *sum; /* the variable of the only sum; NULL: there are several */
        bool apart; /* nothing that is read may lie where the result is */
};

/* So many iterations of loop `row`, around loop `column`, at a time by so many of that one; -1: of
 * no loop. Columns come out even. */
struct jam {
        int row, column;
        int rows, columns;
        /* columns lie side by side in all that is read and stored: sums are stored as they are, and
         * then what becomes of them */
        bool neighbours;
};

/* ---- jam_choose.c ---- */

/* The best of a nest; false: as it is. */
bool jam_choose(const struct jam_nest *nest, const struct target *target,
                const struct loop_bounds *bounds, struct jam *jam);

/* ---- jam_copy.c ---- */

struct jam_copy {
        struct arena *arena;
        int times;
        struct map *values; /* by variable: what it is in each copy, expressions */
        bool all; /* one new copy of everything */
        /* A loop over what one iteration would do alone, which a loop around it does for all
         * copies; or NULL. */
        const struct loop_variable *alone;
        const struct loop_variable *variable; /* of the loop that is jammed */
        bool failed;
};

struct jam_copy *jam_copy_new(struct arena *arena, int times);
/* in copy number i, the variable is value; in every copy */
void jam_copy_set(struct jam_copy *c, const struct loop_variable *variable, int i,
                  struct loop_expr *value);
struct loop_expr *jam_expr(struct jam_copy *c, const struct loop_expr *e, int i);
/* Appends `times` copies of first.., up to last (NULL: of all that follow), to out, statement by
 * statement; once what is the same in all. */
void jam_range(struct jam_copy *c, const struct loop_stmt *first, const struct loop_stmt *last,
               struct loop_block *out);

#endif
