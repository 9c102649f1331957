/* SPDX-License-Identifier: MIT */
/* Inside jam: jam.c finds nests and rewrites them, jam_copy.c copies statements several at a time,
 * jam_choose.c chooses how many, accumulator_rows.c writes accumulator rows. */
#ifndef PASSES_VECTORIZE_JAM_H
#define PASSES_VECTORIZE_JAM_H

#include "base/text.h"
#include "ir/loop/loop.h"
#include "ir/loop/loop_bounds.h"
#include "ir/target/schedule.h"
#include "ir/target/target.h"

enum { JAM_DEPTH_MAX = 12, JAM_TERMS_MAX = 8, JAM_CHOICES = 32 };

/* Loops directly inside each other, with only values between them, around sums and a store of what
 * becomes of these. */
struct jam_nest {
        struct loop_stmt *loops[JAM_DEPTH_MAX];
        int depth, plain;               /* The bounds of the first `plain` loops are known; the
                                         * others may be over columns of a patch. */
        struct loop_block *leaf; /* The innermost loop has this body. */
        struct loop_stmt *store; /* This is its last statement. */
        struct loop_stmt *sum; /* The only sum has this variable; NULL: there are several sums. */
        struct map *lets; /* Each variable has its definition, an expression. */
};

/* What the words of a schedule (SCALAR in ir/target/schedule.def) come to in a nest: `sums`
 * iterations of loop `along` are computed side by side, and accumulator rows take `columns`
 * iterations of loop `column` inside it; -1: there is no such loop. */
struct jam {
        int along, sums;
        int column, columns;            /* column is the innermost loop; columns is the width of an
                                         * accumulator row. */
        int64_t first, taken, row_count;        /* The first column of accumulator rows, how many
                                                 * columns are in them, and how many rows there are;
                                                 * the last row may begin before the end of the one
                                                 * before it. */
        int64_t iterations;             /* The innermost loop of the sums iterates this often; 0: it
                                         * depends. */
        int terms;                      /* This many of these iterations are written at a time. */
        bool narrow;                    /* Its products are of 16 bits. */
};

/* ---- jam.c ---- */

/* Finds the nest in block whose sum has that schedule; what it is made of is in arena. Returns
 * false if there is none. */
bool jam_find(struct arena *arena, struct loop_bounds *bounds, struct loop_block *block,
              const struct schedule *schedule, struct jam_nest *nest);
/* Appends an empty loop. */
struct loop_stmt *jam_append_loop(struct arena *arena, struct loop_variable *v, int64_t from,
                                  int64_t to, int64_t step, struct loop_block *out);
/* Returns v + n. */
struct loop_expr *jam_plus(struct arena *arena, struct loop_variable *v, int64_t n);

/* ---- jam_choose.c ---- */

/* A way to compute a nest, its predicted cycles of one result, and the number by which ways are
 * compared. */
struct jam_choice { struct schedule_scalar words; double cycles, rank; };
/* Lists the ways of least predicted time, best first, and returns how many they are; 0: the nest is
 * not of sums of products. wide: ways count that leave a rest or may take too many registers. */
int jam_choices(const struct jam_nest *nest, const struct target *target,
                const struct loop_bounds *bounds, bool wide, struct jam_choice list[JAM_CHOICES]);
/* Can the nest be computed by these words? */
bool jam_can(const struct jam_nest *nest, const struct target *target,
             const struct loop_bounds *bounds, const struct schedule_scalar *words);
/* Finds the jam that words ask for or, where these are NULL or the nest cannot be computed by them,
 * the best one. Returns false if the nest stays as it is. */
bool jam_choose(const struct jam_nest *nest, const struct target *target,
                const struct loop_bounds *bounds, const struct schedule_scalar *words,
                struct jam *jam);
/* Adds the definition of one more value. */
void jam_define(const struct jam_nest *nest, const struct loop_stmt *let);
/* Returns a value's expression, or NULL. */
const struct loop_expr *jam_definition(const struct jam_nest *nest, const struct loop_variable *v);
/* Does e depend on v, or on a value that does? */
bool jam_depends(const struct jam_nest *nest, const struct loop_expr *e,
                 const struct loop_variable *v);

/* Is e = *step * v + something else? Returns false if that is not known. */
bool jam_step(const struct jam_nest *nest, const struct loop_expr *e,
              const struct loop_variable *v, int64_t *step);

/* ---- jam_merge.c ---- */

/* Makes one loop of the two innermost ones of a nest where they go over memory as one. The nest
 * must be found again then. */
bool jam_merge(struct arena *arena, struct loop_bounds *bounds, const struct jam_nest *nest);

/* ---- accumulator_rows.c ---- */

/* Returns the loop that a sum is added up in, where loops of the sum lie directly inside each
 * other, with only values between them; or NULL. */
const struct loop_stmt *jam_innermost(const struct jam_nest *nest);
/* Finds the columns in the middle for which loops of the sum begin and end alike: `count` columns
 * from `first` on. */
bool jam_middle(const struct jam_nest *nest, const struct loop_stmt *column, int64_t *first,
                int64_t *count);
/* Returns how often the innermost loop iterates in a column of the middle; 0: it depends. */
int64_t jam_iterations(const struct jam_nest *nest, const struct loop_variable *v, int64_t column);
/* Is it a product of integers of 8 bits, or of differences of these, that 16 bits hold? */
bool jam_is_narrow(const struct loop_expr *product);
/* Writes what stands for the loop over columns: accumulator rows, and the columns that they leave.
 * The rows of results side by side lie one behind the other: this is number `line`. alone:
 * variables of the loops over what becomes of sums. */
bool jam_write_columns(struct arena *arena, const struct jam_nest *nest, const struct jam *jam,
                       struct loop_expr *line, struct loop_block *out,
                       const struct loop_variable *alone[2]);

/* ---- jam_copy.c ---- */

struct jam_copy {
        struct arena *arena;
        int times;
        struct map *values; /* Each variable has here what it is in each copy, as expressions. */
        bool all; /* One new copy is made of everything. */
        /* Loops over what a single iteration would do, which another loop around each does for all
         * copies; or NULL. */
        const struct loop_variable *alone[2];
        const struct loop_variable *variable; /* The loop that is jammed has this variable. */
        const struct loop_variable *line; /* This variable counts the loop's copies from 0; NULL:
                                           * none does. */
        bool failed;
};

struct jam_copy *jam_copy_new(struct arena *arena, int times);
/* In copy number i, the variable is `value`. */
void jam_copy_set(struct jam_copy *c, const struct loop_variable *variable, int i,
                  struct loop_expr *value);
struct loop_expr *jam_expr(struct jam_copy *c, const struct loop_expr *e, int i);
/* Appends `times` copies of the statements from first on, up to last (NULL: of all that follow), to
 * out, statement by statement, but only one of what is the same in all. */
void jam_range(struct jam_copy *c, const struct loop_stmt *first, const struct loop_stmt *last,
               struct loop_block *out);

#endif
