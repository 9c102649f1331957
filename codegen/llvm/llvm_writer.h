/* SPDX-License-Identifier: MIT */
/* Inside the printer of Loop IR through LLVM: what its files share.
 *
 * A variable of Loop IR is a value of LLVM, and so is each entry of a register tile: loops and
 * conditions get a phi for each variable that they set, so that no pass has to take variables out
 * of memory. Loops are printed rotated, with their test behind the body.
 *
 * Main is a function of its own:
 *
 *     int main(char *const *buffers, int64_t *extents)
 *
 * where buffers has the address of every buffer of the program that is no view, in their order, and
 * extents the values of the program's extents, to which main adds those that it counts. What places
 * buffers is the caller's: nothing of the plan is printed. With hooks it calls LLVM_WATCH after
 * each call of a kernel, with what stands behind the last buffer, and the call's number. */
#ifndef CODEGEN_LLVM_LLVM_WRITER_H
#define CODEGEN_LLVM_LLVM_WRITER_H

#include "codegen/llvm/llvm_api.h"
#include "codegen/llvm/llvm_printer.h"

/* A value of a variable, or of an entry of a tile. */
struct llvm_slot { const struct loop_variable *variable; int function; LLVMValueRef value; };

struct llvm_writer {
        struct arena *arena;
        const struct loop_program *p;
        const struct target *target;
        struct diag *diag;
        bool failed;
        bool named;                     /* Values have the names of variables, for readers. */
        /* Kernels of which the map has another number than the module's are in other modules; NULL:
         * all are here. */
        int unit;
        const struct map *units;
        LLVMContextRef context;
        LLVMModuleRef module;
        LLVMBuilderRef at;              /* What is printed next stands here. */
        /* The machine that code is for, in LLVM's words (llvm_target.c): */
        const char *triple;             /* It is asked for; NULL: the target's own. */
        const char *cpu, *features, *abi;
        const char *intrinsics;         /* The names of its own begin so. */
        bool is_bare;                   /* It has no operating system. */
        int index_bits;                 /* Subscripts have so many bits, as addresses have. */
        int threads;                    /* Launches run on so many; 1 or less: they are loops. */

        /* The function that is printed: */
        LLVMValueRef function;
        int function_number;            /* Slots of other functions are not valid. */
        LLVMBasicBlockRef allocas;      /* This block is its first one. */
        LLVMValueRef buffers;           /* In main: the addresses of buffers. */
        bool hooked;                    /* Main has hooks; then, while it is printed: what they are
                                         * told, and the number of the next call. */
        LLVMValueRef watched;
        int call_number;
        /* In run: says where a buffer that is no view lies; otherwise NULL. */
        LLVMValueRef (*place)(struct llvm_writer *w, const struct loop_buffer *b);
        struct llvm_contract *contract; /* Of an object, or NULL. */
        bool in_place;                  /* A library function is printed where it is called. */
        LLVMValueRef returned;          /* There it gives this value. */
        int strip;                      /* The function's scalars are vectors of so many lanes; 0:
                                         * they are scalars. */
        int depth;

        struct llvm_slot *slots;        /* [slot_count], by the numbers of variables. */
        int slot_count;
        struct map *functions;          /* What functions of Loop IR became, by their addresses. */
        struct llvm_queued **queue_end; /* Where the next function that is called is put. */
        struct map *addresses;          /* Of buffers, in the function, by their addresses. */
};

/* Reports the first error. */
void llvm_fail(struct llvm_writer *w, enum exit_code code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* ---- types, literals, intrinsics (llvm_types.c) ---- */

static inline int llvm_lanes(const struct llvm_writer *w, struct loop_type t)
{
        return t.lanes == 1 && w->strip ? w->strip : t.lanes;
}
LLVMTypeRef llvm_element_type(struct llvm_writer *w, enum element e);
/* Returns the type of values, of which those of bool have one bit. */
LLVMTypeRef llvm_vector_of(struct llvm_writer *w, enum element e, int lanes);
LLVMTypeRef llvm_type(struct llvm_writer *w, struct loop_type t);
/* Returns the type in memory, where bool is a byte. */
LLVMTypeRef llvm_memory_type(struct llvm_writer *w, enum element e, int lanes);
LLVMTypeRef llvm_integer_type(struct llvm_writer *w, int bits, int lanes);
LLVMValueRef llvm_integer(struct llvm_writer *w, enum element e, int lanes, uint64_t value);
LLVMValueRef llvm_literal(struct llvm_writer *w, enum element e, int lanes, union scalar value);
LLVMValueRef llvm_index(struct llvm_writer *w, int64_t value);
LLVMValueRef llvm_splat(struct llvm_writer *w, LLVMValueRef value, int lanes);
/* Returns lanes first, first + step, ... of a and, behind them, of b (or NULL). */
LLVMValueRef llvm_shuffle(struct llvm_writer *w, LLVMValueRef a, LLVMValueRef b, const int *lanes,
                          int count);
/* Calls an intrinsic, which is overloaded for these types. */
LLVMValueRef llvm_intrinsic(struct llvm_writer *w, const char *name, LLVMTypeRef *types,
                            int type_count, LLVMValueRef *arguments, int count);

/* ---- conversions (llvm_convert.c) ---- */

LLVMValueRef llvm_cast(struct llvm_writer *w, LLVMValueRef a, enum element from, enum element to,
                       int lanes);
LLVMValueRef llvm_bitcast(struct llvm_writer *w, LLVMValueRef a, enum element from,
                          enum element to, int lanes);

/* ---- arithmetic (llvm_arithmetic.c): operations of loop_ops.def on values ---- */

LLVMValueRef llvm_operation(struct llvm_writer *w, enum loop_opcode op, enum element e, int lanes,
                            const LLVMValueRef *args);
LLVMValueRef llvm_fold_lanes(struct llvm_writer *w, enum loop_opcode op, enum element e,
                             LLVMValueRef a, int lanes);
LLVMValueRef llvm_interleave(struct llvm_writer *w, LLVMValueRef a, LLVMValueRef b, int lanes,
                             bool high);

/* ---- expressions (llvm_expression.c) ---- */

LLVMValueRef llvm_expression(struct llvm_writer *w, const struct loop_expr *e);

/* ---- memory (llvm_memory.c) ---- */

/* Returns the address of element `index` of a buffer. */
LLVMValueRef llvm_address(struct llvm_writer *w, const struct loop_buffer *b, LLVMValueRef index);
LLVMValueRef llvm_load_expr(struct llvm_writer *w, const struct loop_expr *e);
void llvm_store(struct llvm_writer *w, const struct loop_stmt *s);
void llvm_prefetch(struct llvm_writer *w, const struct loop_stmt *s);
void llvm_set_address(struct llvm_writer *w, const struct loop_buffer *b, LLVMValueRef address);

/* ---- calls of library functions (llvm_call.c) ---- */

LLVMValueRef llvm_call(struct llvm_writer *w, const struct loop_expr *e);
/* Calls a function of the library by its name; args are of `lanes` lanes. */
LLVMValueRef llvm_call_library(struct llvm_writer *w, const char *name, enum element e, int lanes,
                               LLVMValueRef *args, int count);

/* ---- variables and statements (llvm_statement.c) ---- */

LLVMValueRef llvm_variable(struct llvm_writer *w, const struct loop_variable *v, int entry);
void llvm_declare(struct llvm_writer *w, struct loop_variable *v, LLVMValueRef value);
void llvm_block(struct llvm_writer *w, const struct loop_block *b);
LLVMBasicBlockRef llvm_block_new(struct llvm_writer *w, const char *name);
/* Calls LLVM_WATCH, where main has hooks. */
void llvm_hook(struct llvm_writer *w, int kernel);
/* Gives what a call or a launch hands to its function: addresses of buffers, then scalars. */
void llvm_arguments(struct llvm_writer *w, const struct loop_stmt *s, LLVMValueRef *args);
/* Begins a loop of an index, with its test behind the body; is_entered: it runs once at least.
 * llvm_loop_end closes it, and returns the block that the test stands in. */
struct llvm_loop {
        LLVMValueRef end, index;
        LLVMBasicBlockRef before, body, after;
        bool is_entered;
};
struct llvm_loop llvm_loop(struct llvm_writer *w, LLVMValueRef begin, LLVMValueRef end,
                           bool is_entered);
LLVMBasicBlockRef llvm_loop_end(struct llvm_writer *w, const struct llvm_loop *l, int64_t step,
                                bool wraps);

/* ---- launches (llvm_parallel.c) ---- */

void llvm_launch(struct llvm_writer *w, const struct loop_stmt *s);

/* ---- functions (llvm_function.c) ---- */

/* Returns the function that f is in the module, and its type. */
struct llvm_function { LLVMValueRef value; LLVMTypeRef type; bool can_fail; };
const struct llvm_function *llvm_function(struct llvm_writer *w, struct loop_function *f);
/* Functions are printed one after the other: one that is wanted meanwhile waits in a queue. */
struct llvm_queued {
        struct llvm_function is;
        struct loop_function *f;        /* The parameters are its own, or NULL. */
        const struct loop_stmt *launch; /* The two functions of a launch have it. */
        void (*print)(struct llvm_writer *w, const struct llvm_queued *q);
        struct llvm_queued *next;
};
/* Returns the function that `key` became before, or NULL; adds one. */
struct llvm_queued *llvm_queued(struct llvm_writer *w, const void *key);
struct llvm_queued *llvm_queue(struct llvm_writer *w, const void *key, const char *name,
                               LLVMTypeRef type,
                               void (*print)(struct llvm_writer *w, const struct llvm_queued *q));
/* Begins the function's code, in which `count` scalars of f have the values of its parameters
 * behind those of its buffers; llvm_end finishes it. Returns the first block. */
LLVMBasicBlockRef llvm_begin(struct llvm_writer *w, const struct llvm_queued *q, int count);
/* Begins the code of a function that is not in the queue; llvm_end finishes it, too. */
LLVMBasicBlockRef llvm_open(struct llvm_writer *w, LLVMValueRef function);
void llvm_end(struct llvm_writer *w, LLVMBasicBlockRef first);
/* Says of parameters that they are the only way to their buffers, where the IR does. */
void llvm_no_aliases(struct llvm_writer *w, LLVMValueRef function, const struct loop_function *f);
/* Give a function an attribute, at its own place or that of its result or of a parameter; and those
 * that all functions have. */
void llvm_attribute(struct llvm_writer *w, LLVMValueRef function, unsigned at, const char *name);
void llvm_attributes(struct llvm_writer *w, LLVMValueRef function);
/* Prints what the function prints, and all that is called there. */
void llvm_functions_of(struct llvm_writer *w, void (*print)(struct llvm_writer *w, void *context),
                       void *context);
/* Prints main of the entry at p->at under the name. */
void llvm_print_main(struct llvm_writer *w, const char *name);

/* ---- modules (llvm_module.c) ---- */

/* A module with what it lives in, verified; llvm_module_free disposes all of it. */
struct llvm_module {
        LLVMContextRef context;
        LLVMModuleRef module;
        LLVMTargetMachineRef machine;
        bool is_small;                  /* It is for a machine without an operating system. */
        const char *abi;                /* LLVM's name of the ABI, or "". */
};
/* Prints a unit of the program, for this process: all of it or, where `units` has a number for each
 * kernel (an int), what belongs to one of several modules. Returns false after an error. */
struct llvm_unit {
        int number;
        const struct map *units;
        void (*print)(struct llvm_writer *w, void *context);
        void *context;
        bool named;
};
bool llvm_module(struct llvm_module *m, const struct loop_program *p, const struct target *t,
                 const struct llvm_options *options, const struct llvm_unit *unit,
                 struct diag *diag);
/* Runs the level's passes; is_small: code is to be small. Returns false where LLVM cannot, which it
 * says in `wrong`. */
bool llvm_optimize(LLVMModuleRef module, LLVMTargetMachineRef machine, const struct target *t,
                   enum llvm_level level, bool is_small, char *wrong, size_t size);
/* Prints a module for a file, of what the function prints. Returns false after an error. */
bool llvm_module_of(struct llvm_module *m, const struct loop_program *p, const struct target *t,
                    const char *triple, int threads,
                    void (*print)(struct llvm_writer *w, void *context), void *context,
                    struct diag *diag);
void llvm_module_free(struct llvm_module *m);

/* ---- objects for this process (llvm_units.c) ---- */

#define LLVM_MAIN "dnncc_main"           /* The function that runs the program is called that. */
#define LLVM_WATCH "dnncc_watch"         /* ... and it calls that of this process. */
#define LLVM_KERNEL ".kernel"            /* Names of kernels that other modules see end so. */
struct llvm_objects { LLVMMemoryBufferRef *items; int count; };
/* Makes objects of the entry at p->at, the array in the arena; false after an error.
 * llvm_objects_free disposes those that nobody took. */
bool llvm_objects(struct llvm_objects *objects, struct arena *arena, const struct loop_program *p,
                  const struct target *t, const struct llvm_options *options, struct diag *diag);
void llvm_objects_free(struct llvm_objects *objects);
/* Makes one object of what the function prints. */
bool llvm_object_of(struct llvm_objects *objects, struct arena *arena, const struct loop_program *p,
                    const struct target *t, const struct llvm_options *options,
                    void (*print)(struct llvm_writer *w, void *context), void *context,
                    struct diag *diag);

/* ---- code in this process (llvm_link.c) ---- */

/* Code that was linked, and its function LLVM_MAIN. llvm_unlink is wanted after errors, too. */
struct llvm_linked {
        LLVMOrcLLJITRef jit;
        int (*main)(void *const *buffers, int64_t *extents);
};
/* Links objects, which it takes. Returns false after an error. */
bool llvm_link(struct llvm_linked *l, struct arena *arena, struct llvm_objects *objects,
               const struct llvm_options *options, struct diag *diag);
void llvm_unlink(struct llvm_linked *l);
/* Tells perf where the functions of objects are that were linked (llvm_perf.c); what cannot be
 * written is a warning. */
void llvm_map_objects(LLVMOrcLLJITRef jit, const LLVMMemoryBufferRef *objects, int count,
                      struct diag *diag);

/* ---- the machine (llvm_target.c) ---- */

/* Returns the machine that code is for, and notes in the writer what it is called; here: it is this
 * processor. NULL after an error. */
LLVMTargetMachineRef llvm_machine(struct llvm_writer *w, enum llvm_level level, bool here);
/* Returns what code for this process depends on beside the program, as a text; NULL after an
 * error. */
const char *llvm_identity(struct arena *arena, const struct target *t,
                          const struct llvm_options *options, struct diag *diag);

#endif
