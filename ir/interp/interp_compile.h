/* SPDX-License-Identifier: MIT */
/* The inside of the interpreter's compiler: cells, code lists, and the functions that emit code.
 *
 * Code is made in one walk over the statements. Every open loop has two lists: its body, and
 * `before`, the code that runs once before the loop; an operation whose operands do not change in
 * the loop goes there at once (level: 0 for constants, 1 for a function's body, one more for each
 * loop around). Operations on values that never change are remembered while the block they were
 * placed in is open, so that equal ones are computed once. Both are safe because expressions are
 * total and without effects; only loads stay where they are. */
#ifndef IR_INTERP_INTERP_COMPILE_H
#define IR_INTERP_INTERP_COMPILE_H

#include "ir/interp/interp_code.h"
#include "ir/loop/loop_grid.h"

/* A cell is where a value is. */
struct cell {
        int slot, level, lanes;
        bool changes;                   /* The cell is the slot of a `var` or tile, which must be
                                         * read now, or copied. */
};

/* constant + sum of coefficient * slot: most subscripts are such sums. */
enum { TERMS_MAX = 8 };
struct term { struct cell value; int64_t coefficient; };
struct form { int64_t constant; int count; struct term terms[TERMS_MAX]; };

struct list { int first, last; int64_t cost; };   /* A chunk is a list of nodes; cost: the steps
                                                   * charged for running it once. */

struct chunk {
        struct chunk *parent;
        struct list code, before;
        int number, level;
        bool loop;
};

struct node { struct instruction i; int next; };
struct bound {                          /* A bound is a variable. */
        const struct loop_variable *variable;
        struct cell value;
        int form;                       /* The let of a subscript has this form; -1: it has a
                                         * value. */
        const struct loop_expr *definition;       /* A let has this definition. */
};
struct shared { struct instruction key; int slot, level, chunk, next; };
struct kernel { const struct loop_function *function; int label, back, descriptor, scalars; };
struct constant_slot { int slot; uint64_t bits; };

struct compiler {
        const struct loop_program *p;
        struct interp *interp;
        struct diag *diag;
        const struct interp_options *options;
        bool failed;

        struct node *nodes;
        int node_count, node_room;
        struct chunk *chunk;            /* The innermost open chunk receives the code. */
        int chunk_count;
        int slot_count, label_count;

        struct bound *bounds;           /* These variables are in scope, or were; variable->number
                                         * is an index into the array. */
        int bound_count, bound_room;
        struct form *forms;
        int form_count, form_room;
        struct shared *shares;          /* The hash table has the operations that were computed. */
        int *buckets;
        int share_count, share_room, bucket_count;
        struct constant_slot *constants;
        int constant_count, constant_room;
        struct kernel *kernels;
        int kernel_count, kernel_room;
        int descriptor_room, nest_count, nest_room;
        const struct machine *machine;  /* The stream that is compiled is for this machine. */
        int parameters;                 /* The descriptor of the first buffer parameter of the
                                         * kernel being compiled. */

        const struct loop_copies *late; /* The copies of the kernel being compiled, if they arrive
                                         * late. */
        const struct loop_products *late_products;        /* Its products of warp groups, if they
                                                           * are done late. */
        struct warp_variable *warp_variables;     /* The list has the variables in scope, the
                                                   * innermost first. */
        int depth;                      /* The depth of the recursion over expressions, blocks and
                                         * inlined functions. */
        int calls;                      /* The number of library functions being inlined. */
        struct cell mask;               /* Inside a side of a select by mask: the lanes that count;
                                         * slot -1 elsewhere. */
        int strip;                      /* The lanes of the strip being compiled, or 0. */
        struct cell strip_counter;      /* Its first lane has this loop counter. */
        int64_t strip_step;
        struct cell returned;          /* The library function that was just inlined returned
                                        * this. */
        int return_into;
};

/* ---- interp_emit.c ---- */

/* Makes room for one more. */
void *compiler_grow(void *array, int count, int *room, size_t size);
/* Reports the first error only, and returns false. */
bool compiler_fail(struct compiler *c, enum exit_code code, const char *what);

int new_slots(struct compiler *c, int count);
int new_label(struct compiler *c);
void emit(struct compiler *c, struct instruction i);
void emit_label(struct compiler *c, int label);
void emit_jump(struct compiler *c, enum instruction_code code, int b, int label);
void emit_move(struct compiler *c, int to, struct cell from, int lanes);
struct cell constant_bits(struct compiler *c, uint64_t bits);
struct cell constant_int(struct compiler *c, int64_t value);

/* Returns the value of an operation without effects: i.b, i.c, i.d become the slots of x, y, z
 * where these are given. lanes 0: those of the operands; scalars among them go to every lane. into:
 * the slot that must hold it, or -1 for any slot. */
struct cell compute(struct compiler *c, struct instruction i, int lanes, int into,
                    const struct cell *x, const struct cell *y, const struct cell *z);
/* Returns the cell of a value that was just computed in the innermost block. */
struct cell value_here(const struct compiler *c, int slot, int lanes);

void chunk_open(struct compiler *c, struct chunk *chunk, bool loop);
/* Its code joins the parent's. */
void chunk_close(struct compiler *c, struct chunk *chunk);
/* Closes a loop: the code before it, `begin` if it is an instruction, the body between labels,
 * `end` with the cost and the jump back. */
void loop_close(struct compiler *c, struct chunk *chunk, struct instruction begin,
                struct instruction end);

void list_append(struct compiler *c, struct list *list, struct instruction i);
/* Puts the code into c->interp. */
bool compiler_finish(struct compiler *c, const struct list *code);

/* ---- interp_expr.c ---- */

enum slot_kind kind_of(const struct compiler *c, enum element e);
struct cell compile_expr(struct compiler *c, const struct loop_expr *e, int into);
/* Returns the function that a call means: the f64 function for the f32 one when as_double. */
struct loop_function *called_function(const struct compiler *c, const struct loop_expr *e);
struct cell splat(struct compiler *c, struct cell v, int lanes, int into);
void compile_jump(struct compiler *c, const struct loop_expr *condition, bool when, int label);
/* Compiles an operation of loop_ops.def. */
struct cell compile_operation(struct compiler *c, const struct loop_expr *e, int into);
enum { STORE_CODE = 1, VECTOR_CODE = 2, RUN_CODE = 2 };   /* The first two are added to the scalar
                                                           * load's code, RUN_CODE to a vector's. */
int load_code(const struct compiler *c, enum element e);
struct bound *bind_variable(struct compiler *c, struct loop_variable *v, struct cell value,
                            int form);
const struct bound *bound_of(struct compiler *c, const struct loop_variable *v);

/* ---- interp_index.c ---- */

int descriptor_of(struct compiler *c, const struct loop_buffer *buffer);
/* Fills in the fields of an instruction that loads or stores `lanes` elements, under a mask if that
 * is not NULL. Returns what to add to its scalar code: 0, or VECTOR_CODE and perhaps RUN_CODE. In a
 * strip a scalar subscript may differ from lane to lane. */
int compile_address(struct compiler *c, const struct loop_buffer *buffer,
                    const struct loop_expr *index, int lanes, const struct loop_expr *mask,
                    struct instruction *i);
/* Returns the form's number. */
int new_form(struct compiler *c, const struct form *form);
/* Returns false if there are too many terms, or inside a nest. */
bool form_of(struct compiler *c, const struct loop_expr *e, struct form *form);
struct cell form_value(struct compiler *c, const struct form *form, int into);

/* ---- interp_compile.c ---- */

void compile_block(struct compiler *c, const struct loop_block *block);
void compile_stmt(struct compiler *c, const struct loop_stmt *s);

/* ---- interp_warps.c ---- */

/* Declares a variable of which each warp has its own, behind its declaration as one. */
void compile_warp_variable(struct compiler *c, const struct loop_stmt *s);
/* Compiles the body of a loop over warps. */
void compile_warp_body(struct compiler *c, const struct loop_stmt *loop);

/* ---- interp_nest.c ---- */

/* Returns false if the loop is no nest; nothing is done then. */
bool compile_nest(struct compiler *c, const struct loop_stmt *s);

/* ---- interp_strip.c ---- */

/* Compiles, before a loop over counter from start to end, as many strips of it as fit, if it is a
 * loop for strips. Returns true if it did: the counter then holds where to go on. */
bool compile_strips(struct compiler *c, const struct loop_stmt *s, int counter, struct cell start,
                    struct cell end);
/* Can its body run in a strip, because it has no control flow but select? */
bool function_is_straight(const struct compiler *c, const struct loop_function *f);

#endif
