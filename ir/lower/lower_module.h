/* SPDX-License-Identifier: MIT */
/* Inside the lowering of a whole function: lower_places.c decides where values lie, lower_module.c
 * writes the calls of kernels, lower_control.c ifs and loops. */
#ifndef IR_LOWER_LOWER_MODULE_H
#define IR_LOWER_LOWER_MODULE_H

#include "ir/lower/lower_emit.h"

struct lowering {
        struct module *m;
        struct loop_program *p;
        const struct lower_options *options;
        struct diag *diag;
        struct map *kernels;            /* The map finds a struct loop_function by its digest. */
        struct text scratch;
        struct arena *marks;
        struct value **placed;          /* The scratch of these values is set, and must be reset. */
        int placed_count;
        struct map *loops;              /* The map finds the struct loop_places of an operation. */
        int loop_count;
        struct loop_variable **extents; /* Each symbol that a run gives is this extent of the
                                         * program. */
        struct loop_function *number;   /* This kernel stores the number of an iteration; NULL: it
                                         * has not been needed so far. */
};

/* ---- places (lower_places.c) ---- */

/* In front of a row of a stack or scanned value lie stride elements for each iteration so far
 * (backward from the end: stride < 0), and those that the loops around that one add. */
struct moving {
        struct loop_variable *number;
        int64_t stride;
        dim_t pitch;                    /* A run gives this term, and the stride is so many times as
                                         * large; 0: it is known. */
        int64_t last;                   /* Backward, where there is a pitch, the first iteration has
                                         * the row of this number. */
        const struct moving *outer;
};
struct place {
        struct loop_buffer *buffer;
        const struct moving *moving;    /* NULL: the value is all of buffer (which may be a
                                         * view). */
        int64_t from;                   /* Else it lies behind this many elements, and those that
                                         * `moving` adds. */
        bool carried;                   /* A carried value lies here: each iteration overwrites
                                         * it. */
};

/* Returns the place of v; NULL: it is not decided yet. */
static inline struct place *place_of(const struct value *v) { return v->scratch; }
void set_place(struct lowering *l, struct value *v, struct place *place);
/* Returns a place in a buffer of its own. */
struct place *place_new(struct lowering *l, const struct value *v);
/* Returns the place of v, and makes it on first need. */
struct place *place_for(struct lowering *l, struct value *v);
/* Returns the place of v as part of another one, `offset` elements behind its first one. */
struct place *place_part(struct lowering *l, const struct value *v, const struct place *whole,
                         int64_t offset);
struct place *place_row(struct lowering *l, const struct place *whole, const struct moving *row,
                        int64_t from);
/* Returns the value of a dimension in main (lower_module.c). */
struct loop_expr *dim_in_main(struct lowering *l, dim_t d);
/* Is a the same as b, `offset` elements behind its first one? */
bool place_is(const struct place *a, const struct place *b, int64_t offset);
bool place_overlaps(const struct place *a, int64_t elements, const struct place *b,
                    int64_t other_elements);
/* Returns NULL for 0. */
struct loop_expr *place_offset(struct lowering *l, const struct place *p);
/* Returns the one element of v, read in main: as itself, or as an index. */
struct loop_expr *place_scalar(struct lowering *l, struct value *v);
struct loop_expr *place_index(struct lowering *l, struct value *v);

/* Returns the type with every extent at its bound. */
const struct type *type_at_bound(struct module *m, const struct type *t);
/* Is op a stack whose operands lie at the same places in every run? */
bool is_stack(const struct op *op);
bool is_same_elements(const struct op *op);     /* Are they the operand's elements, all of them and
                                                 * in order? */
/* Are they part of the operand's elements, in order? */
bool is_consecutive(const struct op *op, int64_t *offset);
bool can_take_place(const struct value *v, const struct op *user);
void place_region(struct lowering *l, const struct region *region);
/* Lets what a region yields be computed where its owner's results lie. */
void place_yields(struct lowering *l, const struct region *region, struct place *const *targets);

/* ---- kernels and calls (lower_module.c) ---- */

bool copy_value(struct lowering *l, struct loop_block *block, struct value *from,
                const struct place *to);
bool lower_operations(struct lowering *l, struct loop_block *block, const struct region *region);
/* Lowers the operations of a region; what it yields ends up in targets, unless a target is NULL. */
bool lower_region(struct lowering *l, struct loop_block *block, const struct region *region,
                  struct place *const *targets);

/* ---- control flow (lower_control.c) ---- */

/* Values that lie in the same places from one execution of a region to the next: those that a loop
 * carries from iteration to iteration, and those that a function keeps from run to run. */
struct carry {
        int count;
        struct value **held, **next;    /* The region begins with held[i] at places[i], and ends
                                         * with next[i] there. */
        struct place **places;          /* They are `carried`. */
        const struct op *yield;         /* It ends the region. */
};
/* Lets next values be computed at their places where nothing that lies there is still read. */
void place_carried(struct lowering *l, const struct carry *c);
/* Copies next values that were computed elsewhere to their places. A value that lies where another
 * one goes, or overlaps it, is copied before. */
bool lower_carried(struct lowering *l, struct loop_block *block, const struct carry *c);

void place_if(struct lowering *l, struct op *op);
void place_loop(struct lowering *l, struct op *op);
bool lower_if(struct lowering *l, struct loop_block *block, struct op *op);
bool lower_loop(struct lowering *l, struct loop_block *block, struct op *op);
/* Lets main end with FAIL_EXTENT where the condition holds. */
void lower_fail_if(struct lowering *l, struct loop_block *block, struct loop_expr *condition);

#endif
