/* SPDX-License-Identifier: MIT */
/* Inside the interpreter's compiler: cells, code lists, and who emits what.
 *
 * Code is made in one walk over the statements. Every open loop has two lists: its body, and
 * `before`, the code that runs once before the loop; an operation whose operands do not change in
 * the loop goes there at once (level: 0 for constants, 1 for a function's body, one more for each
 * loop around). Operations on values that never change are remembered while the block they were
 * placed in is open, so that equal ones are computed once. Both are safe because expressions are
 * total and without effects; only loads stay where they are. */
#ifndef IR_INTERP_COMPILE_H
#define IR_INTERP_COMPILE_H

#include "ir/interp/interp_code.h"
#include "ir/loop/loop_grid.h"

/* where a value is */
struct cell {
        int slot, level, lanes;
        bool changes;                   /* the slot of a `var` or tile: read it now, or copy */
};

/* constant + sum of coefficient * slot: what subscripts mostly are */
enum { TERMS_MAX = 8 };
struct term { struct cell value; int64_t coefficient; };
struct form { int64_t constant; int count; struct term terms[TERMS_MAX]; };

struct list { int first, last; int64_t cost; };   /* of nodes; cost: steps charged for running it
                                                   * once */

struct chunk {
        struct chunk *parent;
        struct list code, before;
        int number, level;
        bool loop;
};

struct node { struct instruction i; int next; };
struct bound {                          /* a variable */
        const struct loop_variable *variable;
        struct cell value;
        int form;                       /* of a let of a subscript; -1: it has a value */
        const struct loop_expr *definition;       /* of a let */
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
        struct chunk *chunk;            /* innermost open */
        int chunk_count;
        int slot_count, label_count;

        struct bound *bounds;           /* variables in scope, or that were; variable->number is an
                                         * index */
        int bound_count, bound_room;
        struct form *forms;
        int form_count, form_room;
        struct shared *shares;          /* operations computed, hashed */
        int *buckets;
        int share_count, share_room, bucket_count;
        struct constant_slot *constants;
        int constant_count, constant_room;
        struct kernel *kernels;
        int kernel_count, kernel_room;
        int descriptor_room, nest_count, nest_room;
        const struct machine *machine;  /* of the stream that is compiled */
        int parameters;                 /* descriptor of the first buffer parameter of the kernel
                                         * being compiled */

        const struct loop_copies *late; /* of the kernel being compiled: its copies arrive late */
        const struct loop_products *late_products;        /* and products of warp groups are done
                                                           * late */
        struct warp_variable *warp_variables;     /* in scope, the innermost first */
        int depth;                      /* of the recursion over expressions, blocks and inlined
                                         * functions */
        int calls;                      /* library functions being inlined */
        struct cell mask;               /* inside a side of a select by mask: lanes that count; slot
                                         * -1 elsewhere */
        int strip;                      /* lanes of the strip being compiled, or 0 */
        struct cell strip_counter;      /* its first lane's loop counter */
        int64_t strip_step;
        struct cell returned;          /* by the library function just inlined */
        int return_into;
};

/* ---- interp_emit.c ---- */

void *compiler_grow(void *array, int count, int *room, size_t size);     /* room for one more */
/* false; reports the first only */
bool compiler_fail(struct compiler *c, enum exit_code code, const char *what);

int new_slots(struct compiler *c, int count);
int new_label(struct compiler *c);
void emit(struct compiler *c, struct instruction i);
void emit_label(struct compiler *c, int label);
void emit_jump(struct compiler *c, enum instruction_code code, int b, int label);
void emit_move(struct compiler *c, int to, struct cell from, int lanes);
struct cell constant_bits(struct compiler *c, uint64_t bits);
struct cell constant_int(struct compiler *c, int64_t value);

/* The value of an operation without effects: i.b, i.c, i.d are the slots of x, y, z where given.
 * lanes 0: those of the operands, and scalars among them go to every lane. into: the slot that must
 * hold it, or -1 for wherever it is or may be computed. */
struct cell compute(struct compiler *c, struct instruction i, int lanes, int into,
                    const struct cell *x, const struct cell *y, const struct cell *z);
/* just computed in the innermost block */
struct cell value_here(const struct compiler *c, int slot, int lanes);

void chunk_open(struct compiler *c, struct chunk *chunk, bool loop);
void chunk_close(struct compiler *c, struct chunk *chunk);        /* its code joins the parent's */
/* of a loop: code before it, `begin` if code, the body between labels, `end` with cost and the way
 * back */
void loop_close(struct compiler *c, struct chunk *chunk, struct instruction begin,
                struct instruction end);

void list_append(struct compiler *c, struct list *list, struct instruction i);
bool compiler_finish(struct compiler *c, const struct list *code);       /* into c->interp */

/* ---- interp_expr.c ---- */

enum slot_kind kind_of(const struct compiler *c, enum element e);
struct cell compile_expr(struct compiler *c, const struct loop_expr *e, int into);
/* what a call means: the f64 function for the f32 one when as_double */
struct loop_function *called_function(const struct compiler *c, const struct loop_expr *e);
struct cell splat(struct compiler *c, struct cell v, int lanes, int into);
void compile_jump(struct compiler *c, const struct loop_expr *condition, bool when, int label);
/* of loop_ops.def */
struct cell compile_operation(struct compiler *c, const struct loop_expr *e, int into);
enum { STORE_CODE = 1, VECTOR_CODE = 2, RUN_CODE = 2 };   /* added to the scalar load's; RUN_CODE to
                                                           * a vector's */
int load_code(const struct compiler *c, enum element e);
struct bound *bind_variable(struct compiler *c, struct loop_variable *v, struct cell value,
                            int form);
const struct bound *bound_of(struct compiler *c, const struct loop_variable *v);

/* ---- interp_index.c ---- */

int descriptor_of(struct compiler *c, const struct loop_buffer *buffer);
/* The fields of an instruction that loads or stores `lanes` elements, under a mask if not NULL, and
 * what to add to its scalar code: 0, or VECTOR_CODE and perhaps RUN_CODE. In a strip a scalar
 * subscript may differ from lane to lane. */
int compile_address(struct compiler *c, const struct loop_buffer *buffer,
                    const struct loop_expr *index, int lanes, const struct loop_expr *mask,
                    struct instruction *i);
int new_form(struct compiler *c, const struct form *form);           /* its number */
/* false: too many terms, in a nest */
bool form_of(struct compiler *c, const struct loop_expr *e, struct form *form);
struct cell form_value(struct compiler *c, const struct form *form, int into);

/* ---- interp_compile.c ---- */

void compile_block(struct compiler *c, const struct loop_block *block);
void compile_stmt(struct compiler *c, const struct loop_stmt *s);

/* ---- interp_warps.c ---- */

/* a variable that warps have their own of, behind its declaration as one */
void compile_warp_variable(struct compiler *c, const struct loop_stmt *s);
/* of a loop over warps */
void compile_warp_body(struct compiler *c, const struct loop_stmt *loop);

/* ---- interp_nest.c ---- */

/* false: not one, or nothing done */
bool compile_nest(struct compiler *c, const struct loop_stmt *s);

/* ---- interp_strip.c ---- */

/* Before a loop over counter, from start to end: as many strips of it as fit, if it is a loop for
 * strips. The counter then holds where to go on: true. False: nothing done. */
bool compile_strips(struct compiler *c, const struct loop_stmt *s, int counter, struct cell start,
                    struct cell end);
/* Its body can run in a strip: no control flow but select. */
bool function_is_straight(const struct compiler *c, const struct loop_function *f);

#endif
