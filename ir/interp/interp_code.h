/* SPDX-License-Identifier: MIT */
/* Flat code is what interp_compile.c makes of a program and interp_run.c runs. It is private to the
 * interpreter.
 *
 * Instructions work on an array of 64-bit slots; a vector or a register tile is consecutive slots.
 * There is no recursion in Loop IR, so every kernel has slots of its own and one for the place to
 * return to, library functions are inlined where they are called, and nothing is allocated while
 * running. Every load and store compares its subscript with the extent of the buffer's descriptor;
 * whole reduction loops (NEST) do so once, for their lowest and highest subscript. */
#ifndef IR_INTERP_INTERP_CODE_H
#define IR_INTERP_INTERP_CODE_H

#include "ir/interp/interp.h"

/* Arithmetic tells these types apart; index is I64. */
enum slot_kind {
        KIND_F32,
        KIND_F64,
        KIND_I32,
        KIND_I64,
        KIND_U32,
        KIND_U64,
        KIND_BOOL,
        KIND_COUNT
};

union slot { double d; float f; int64_t i; uint64_t u; };

enum { NEST_DEPTH_MAX = 6 };

enum instruction_code {
#define INSTRUCTION(name) name,
#include "ir/interp/interp_instructions.def"
        INSTRUCTION_COUNT
};

enum { GATHER = 1, STRIP_LANES = 32 };

struct instruction {
        uint16_t code, lanes;
        int32_t a, b, c, d, e;
};

struct descriptor {
        unsigned char *data;
        int64_t extent;                 /* The buffer has this many elements. */
        uint64_t mask;                  /* Subscripts are masked with it: it is 0 for a splat. */
        int64_t offset;                 /* The data lies here in interp->memory; -1: it does not lie
                                         * there. */
        int32_t bytes;                  /* An element has this many bytes. */
};

/* accumulator = accumulator op f(x, y) for all iterations of a nest of loops, with x and y at
 * affine subscripts. */
struct nest {
        int accumulator, depth;
        struct nest_loop { int start, end; int64_t step; } loops[NEST_DEPTH_MAX];
        struct nest_access { int descriptor, base; int64_t stride[NEST_DEPTH_MAX]; } access[2];
};

/* The struct describes a buffer of the program; its descriptor has the same number. */
struct interp_buffer {
        enum element element;           /* The program has this type; the descriptor's may be wider
                                         * (as_double). */
        enum loop_space space;          /* This field and all below are the root's. */
        int root;                       /* The root buffer has this number. */
        int input, output;              /* These are its numbers among inputs and outputs; -1: it is
                                         * none. */
        int64_t view;                   /* The view begins this many bytes behind the root. */
        const void *data;               /* Constants have their data here. */
};

struct interp {
        struct instruction *code;
        union slot *slots;
        int extents, extent_count;      /* The first of the slots that have the program's extents,
                                         * and how many of them there are. */
        struct nest *nests;
        struct interp_buffer *buffers;
        struct descriptor *descriptors; /* The descriptors of buffers come first, then those of
                                         * parameters and stack buffers. */
        int code_count, slot_count, buffer_count, descriptor_count;
        unsigned char *memory;          /* The memory has converted inputs and constants, then the
                                         * workspace and stack buffers. */
        size_t memory_bytes, garbage_from;        /* The memory has memory_bytes; those from
                                                   * garbage_from on are filled with garbage before
                                                   * a run. */
        bool as_double;
};

struct interp_options {
        int entry;                      /* The program's entry with this number is run. */
        bool as_double;
        bool plain;                     /* Nothing is hoisted, shared or fused, for comparison in
                                         * tests. */
        bool late;                      /* Asynchronous copies arrive as late as they may, not at
                                         * once. */
        int strip;                      /* Iterations per strip; 0: STRIP_LANES. */
        uint64_t max_bytes;
};
struct interp *interp_new_with(const struct loop_program *p, const struct interp_options *options,
                               struct diag *diag);

/* Reserves room for `count` elements of that size in interp->memory; *offset: where (interp.c).
 * Returns false (and reports an error) past max_bytes. */
bool interp_reserve(struct interp *interp, int64_t count, int bytes,
                    const struct interp_options *options, int64_t *offset, struct diag *diag);
/* Makes code, slots, nests, and the descriptors after those of the buffers (interp_compile.c). */
bool interp_compile(struct interp *interp, const struct loop_program *p,
                    const struct interp_options *options, struct diag *diag);
/* Runs the code (interp_run.c). */
int interp_execute(struct interp *interp, uint64_t max_steps, uint64_t *steps);

/* Returns the type in which an element lives: f32, f16 and bf16 are f64 when floats live as
 * double. */
static inline enum element interp_element(enum element e, bool as_double)
{
        return as_double && element_is_float(e) ? E_F64 : e;
}

#endif
