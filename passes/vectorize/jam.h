/* SPDX-License-Identifier: MIT */
/* Inside jam: jam.c finds nests and writes them anew, jam_copy.c copies statements several at a
 * time, jam_choose.c says how many, jam_strip.c writes strips of columns. */
#ifndef PASSES_VECTORIZE_JAM_H
#define PASSES_VECTORIZE_JAM_H

#include "base/text.h"
#include "ir/loop/loop.h"
#include "ir/loop/loop_bounds.h"
#include "ir/target/target.h"

enum { JAM_DEPTH_MAX = 12, JAM_STEPS_MAX = 8 };

/* Loops directly inside each other, with nothing but values between them, around sums and a store
 * of what becomes of them. */
struct jam_nest {
        struct loop_stmt *loops[JAM_DEPTH_MAX];
        int depth;
        struct loop_block *leaf; /* the body of the innermost */
        struct loop_stmt *store; /* its last statement */
        struct loop_stmt *sum; /* the variable of the only sum; NULL: there are several */
        struct map *lets; /* by variable: its definition, an expression */
};

/* So many iterations of loop `row` at a time, and strips of columns, iterations of loop `column`
 * inside it; -1: of no loop. */
struct jam {
        int row, rows;
        int column, columns;            /* the innermost loop; columns of a strip */
        int64_t first, taken, strips;   /* the first column of strips, and how many are in them; the
                                         * last one may begin before the end of the one before */
        int64_t iterations;             /* of the innermost loop of the sums; 0: it depends */
        int steps;                      /* so many of them at a time */
        bool narrow;                    /* products of 16 bits */
};

/* ---- jam.c ---- */

/* an empty loop */
struct loop_stmt *jam_append_loop(struct arena *arena, struct loop_variable *v, int64_t from,
                                  int64_t to, int64_t step, struct loop_block *out);
/* v + n */
struct loop_expr *jam_plus(struct arena *arena, struct loop_variable *v, int64_t n);

/* ---- jam_choose.c ---- */

/* The best of a nest; false: as it is. */
bool jam_choose(const struct jam_nest *nest, const struct target *target,
                const struct loop_bounds *bounds, struct jam *jam);
/* one more value */
void jam_define(const struct jam_nest *nest, const struct loop_stmt *let);
/* a value's expression, or NULL */
const struct loop_expr *jam_definition(const struct jam_nest *nest, const struct loop_variable *v);
/* on v, or on a value that does */
bool jam_depends(const struct jam_nest *nest, const struct loop_expr *e,
                 const struct loop_variable *v);

/* e = *step * v + something else; false: it may be otherwise */
bool jam_step(const struct jam_nest *nest, const struct loop_expr *e,
              const struct loop_variable *v, int64_t *step);

/* ---- jam_merge.c ---- */

/* Makes one loop of the two innermost ones of a nest where they go over memory as one; the nest is
 * to be found anew then. */
bool jam_merge(struct arena *arena, struct loop_bounds *bounds, const struct jam_nest *nest);

/* ---- jam_strip.c ---- */

/* The loop that a sum is added up in, where loops of the sum lie directly inside each other, with
 * nothing but values between them; or NULL. */
const struct loop_stmt *jam_innermost(const struct jam_nest *nest);
/* The columns in the middle for which loops of the sum begin and end alike: count from first. */
bool jam_middle(const struct jam_nest *nest, const struct loop_stmt *column, int64_t *first,
                int64_t *count);
/* how often the innermost loop iterates, in a column of the middle; 0: it depends */
int64_t jam_iterations(const struct jam_nest *nest, const struct loop_variable *v, int64_t column);
/* a product of integers of 8 bits, or of differences of such, that 16 bits hold */
bool jam_is_narrow(const struct loop_expr *product);
/* What stands for the loop over columns: strips, and what they leave. Sums of rows lie one behind
 * the other: this is row `line`. alone: variables of the loops over what becomes of sums. */
bool jam_write_columns(struct arena *arena, const struct jam_nest *nest, const struct jam *jam,
                       struct loop_expr *line, struct loop_block *out,
                       const struct loop_variable *alone[2]);

/* ---- jam_copy.c ---- */

struct jam_copy {
        struct arena *arena;
        int times;
        struct map *values; /* by variable: what it is in each copy, expressions */
        bool all; /* one new copy of everything */
        /* Loops over what one iteration would do alone, which a loop around each does for all
         * copies; or NULL. */
        const struct loop_variable *alone[2];
        const struct loop_variable *variable; /* of the loop that is jammed */
        const struct loop_variable *line; /* that counts its copies from 0; or NULL */
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
