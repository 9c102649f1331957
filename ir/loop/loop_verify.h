/* SPDX-License-Identifier: MIT */
/* Inside the verifier of Loop IR: loop_verify.c checks a function, loop_verify_expr.c its
 * expressions, loop_verify_tiles.c hardware tiles, loop_verify_grid.c kernels in grid form,
 * loop_verify_copies.c asynchronous copies, loop_verify_program.c what joins functions and
 * buffers. */
#ifndef IR_LOOP_VERIFY_H
#define IR_LOOP_VERIFY_H

#include "ir/loop/loop_parser.h"

/* parallel: how many loops were open whose iterations run at the same time */
struct verify_name {
        const struct loop_function *function;
        const void *object;
        bool live;
        int parallel;
        struct verify_name *outer;
};

struct verifier {
        struct arena *arena;            /* of the check alone */
        struct diag *diag;
        enum exit_code code;
        const struct loop_program *program;       /* NULL: of the library */
        struct map *buffers, *kernels;  /* of the program, by name */
        const struct loop_entry *entry; /* whose main is looked at; else NULL */
        struct map *functions;          /* library functions there are, by address */
        const struct loop_function *function;
        const struct loop_stmt *stmt;
        struct map *names;              /* struct verify_name, of the last function that declared
                                         * it */
        struct verify_name *innermost;
        int loops;                      /* open */
        int parallel;                   /* ... of them parallel, over warps, or over lanes */
        bool warp;                      /* ... one over warps */
        const struct loop_variable *subscript;    /* that is looked at, where it is an index of a
                                                   * buffer; or NULL */
        bool failed, fails, returns;
        /* who has hardware tile number k, and how deep in blocks it was declared */
        struct { const struct loop_variable *sums; int depth; } tiles[TILE_MAX];
};

/* ---- loop_verify.c ---- */

/* Reports the first error, with function and statement; always false. */
bool verify_error(struct verifier *v, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
bool verify_function(struct verifier *v, const struct loop_function *f);

/* Is the object declared by that name in scope? */
bool verify_live(const struct verifier *v, const char *name, const void *object);
/* Iterations of a parallel loop may run at the same time: only they see what they change. */
bool verify_own(struct verifier *v, const struct loop_variable *x);
/* in a loop over the lanes of whose it is */
bool verify_own_of_lanes(struct verifier *v, const struct loop_variable *x);
/* Is the buffer there, and may it be read or written? */
bool verify_buffer(struct verifier *v, const struct loop_buffer *b, enum loop_access access);
/* a type that there is */
bool verify_sound(struct loop_type type);

/* ---- loop_verify_expr.c ---- */

bool verify_expr(struct verifier *v, const struct loop_expr *e, struct loop_type type,
                 const char *what);
bool verify_any(struct verifier *v, const struct loop_expr *e);           /* of any type */
/* an index into b, which may be a let that has b as its base */
bool verify_subscript(struct verifier *v, const struct loop_buffer *b,
                      const struct loop_expr *index);
/* index, lanes and mask of a load or store of `type` */
bool verify_place(struct verifier *v, const struct loop_buffer *b, const struct loop_expr *index,
                  struct loop_type type, int group, const struct loop_expr *mask);

/* ---- loop_verify_tiles.c ---- */

/* TILES, MULTIPLY, UNLOAD, in a block so deep */
bool verify_tiles(struct verifier *v, const struct loop_stmt *s, int depth);
/* the hardware tiles of x, which is declared in a block so deep: no one else may have them */
bool verify_take_tiles(struct verifier *v, const struct loop_variable *x, int depth);
/* what was taken so deep or deeper, of x alone or (NULL) of all */
void verify_give_tiles_back(struct verifier *v, const struct loop_variable *x, int depth);

/* ---- loop_verify_grid.c ---- */

/* The function, all else of which is right: loops over blocks and warps stand where they may,
 * and hold what they may; or there are none. */
bool verify_grid(struct verifier *v);
/* Is b a parameter of f that f does not write, nor any other of its alias class? */
bool verify_read_only(const struct loop_function *f, const struct loop_buffer *b);

/* ---- loop_verify_copies.c ---- */

/* COPY, COMMIT, WAIT by themselves */
bool verify_copy(struct verifier *v, const struct loop_stmt *s);
/* all of a kernel in grid form, whose statements were checked */
bool verify_copies(struct verifier *v);
/* ---- loop_verify_stream.c ---- */

/* an alloc in a memory of the machine */
bool verify_memory(struct verifier *v, const struct loop_buffer *b);
bool verify_stream_statement(struct verifier *v, const struct loop_stmt *s);

/* ---- loop_verify_flat.c ---- */

/* all of a stream, whose statements were checked: where it is flat, places, instructions, and
 * the order that tokens give */
bool verify_flat(struct verifier *v);

/* ---- loop_verify_program.c ---- */

bool verify_has_buffer(const struct verifier *v, const struct loop_buffer *b);
bool verify_has_function(const struct verifier *v, const struct loop_function *f);
/* a kernel or a task, before the function that is checked */
bool verify_has_kernel(const struct verifier *v, const struct loop_function *f);
bool verify_call(struct verifier *v, const struct loop_stmt *call);

#endif
