/* SPDX-License-Identifier: MIT */
/* Inside the verifier of Loop IR: loop_verify.c checks a function, loop_verify_expr.c its
 * expressions, loop_verify_tiles.c hardware tiles, loop_verify_grid.c kernels in grid form,
 * loop_verify_copies.c asynchronous copies, loop_verify_program.c calls and the plan. */
#ifndef IR_LOOP_LOOP_VERIFY_H
#define IR_LOOP_LOOP_VERIFY_H

#include "ir/loop/loop_parser.h"

/* parallel: how many loops were open whose iterations run at the same time. */
struct verify_name {
        const struct loop_function *function;
        const void *object;
        bool live;
        int parallel;
        struct verify_name *outer;
};

struct verifier {
        struct arena *arena;            /* The arena is of the check alone. */
        struct diag *diag;
        enum exit_code code;
        const struct loop_program *program;       /* NULL: it checks the library. */
        struct map *buffers, *kernels;  /* The program's, by name. */
        const struct loop_entry *entry; /* The main of this entry is checked; else the field is
                                         * NULL. */
        struct map *functions;          /* The map finds the library functions that exist, by
                                         * address. */
        const struct loop_function *function;
        const struct loop_stmt *stmt;
        struct map *names;              /* The map has a struct verify_name for the last function
                                         * that declared the name. */
        struct verify_name *innermost;
        int loops;                      /* This many loops are open. */
        int parallel;                   /* This many of the loops are parallel, over warps, or over
                                         * lanes. */
        bool warp;                      /* One of them is over warps. */
        const struct loop_variable *subscript;    /* This variable is looked at, where it is an
                                                   * index of a buffer; else the field is NULL. */
        bool failed, fails, returns;
        /* Which sums have hardware tile number k, and how deep in blocks they were declared. */
        struct { const struct loop_variable *sums; int depth; } tiles[TILE_MAX];
};

/* ---- loop_verify.c ---- */

/* Reports the first error, with function and statement. It always returns false. */
bool verify_error(struct verifier *v, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
bool verify_function(struct verifier *v, const struct loop_function *f);

/* Is the object declared by that name in scope? */
bool verify_live(const struct verifier *v, const char *name, const void *object);
/* Checks that x is of the iteration: iterations of a parallel loop may run at the same time, so
 * only they see what they change. */
bool verify_own(struct verifier *v, const struct loop_variable *x);
/* Checks the same inside a loop over lanes, for a variable of their warp. */
bool verify_own_of_lanes(struct verifier *v, const struct loop_variable *x);
/* Checks that the buffer exists, and may be read or written. */
bool verify_buffer(struct verifier *v, const struct loop_buffer *b, enum loop_access access);
/* Does such a type exist? */
bool verify_sound(struct loop_type type);

/* ---- loop_verify_expr.c ---- */

bool verify_expr(struct verifier *v, const struct loop_expr *e, struct loop_type type,
                 const char *what);
/* The expression may be of any type. */
bool verify_any(struct verifier *v, const struct loop_expr *e);
/* Checks an index into b, which may be a let that has b as its base. */
bool verify_subscript(struct verifier *v, const struct loop_buffer *b,
                      const struct loop_expr *index);
/* Checks the index, lanes and mask of a load or store of `type`. */
bool verify_place(struct verifier *v, const struct loop_buffer *b, const struct loop_expr *index,
                  struct loop_type type, int group, const struct loop_expr *mask);

/* ---- loop_verify_tiles.c ---- */

/* Checks TILES, MULTIPLY and UNLOAD, in a block of this depth. */
bool verify_tiles(struct verifier *v, const struct loop_stmt *s, int depth);
/* Takes the hardware tiles of x, which is declared in a block of this depth: no other sums may have
 * them. */
bool verify_take_tiles(struct verifier *v, const struct loop_variable *x, int depth);
/* Frees the tiles that were taken at this depth or deeper, by x alone or (NULL) by all. */
void verify_give_tiles_back(struct verifier *v, const struct loop_variable *x, int depth);

/* ---- loop_verify_grid.c ---- */

/* Checks a function in which all else is right: loops over blocks and warps stand where they may,
 * and hold what they may; or there are none. */
bool verify_grid(struct verifier *v);
/* Is b a parameter of f that f does not write, nor any other of its alias class? */
bool verify_read_only(const struct loop_function *f, const struct loop_buffer *b);

/* ---- loop_verify_copies.c ---- */

/* Checks COPY, COMMIT and WAIT by themselves. */
bool verify_copy(struct verifier *v, const struct loop_stmt *s);
/* Checks all of a kernel in grid form, whose statements were checked. */
bool verify_copies(struct verifier *v);
/* ---- loop_verify_stream.c ---- */

/* Checks an alloc in a memory of the machine. */
bool verify_memory(struct verifier *v, const struct loop_buffer *b);
bool verify_stream_statement(struct verifier *v, const struct loop_stmt *s);

/* ---- loop_verify_flat.c ---- */

/* Checks all of a stream, whose statements were checked: where it is flat, its places,
 * instructions, and the order that tokens give. */
bool verify_flat(struct verifier *v);

/* ---- loop_verify_program.c ---- */

bool verify_has_buffer(const struct verifier *v, const struct loop_buffer *b);
bool verify_has_function(const struct verifier *v, const struct loop_function *f);
/* Is f a kernel or a task in front of the function that is checked? */
bool verify_has_kernel(const struct verifier *v, const struct loop_function *f);
bool verify_call(struct verifier *v, const struct loop_stmt *call);

#endif
