/* SPDX-License-Identifier: MIT */
/* Loop IR: a program of buffers, kernels, and main. This header is the definition.
 *
 *   program    buffers, functions (kernels, tasks, and library functions it uses), and entries
 *   entry      a main with ports of its own; entries share constants, kernels and the workspace's memory
 *   function   KERNEL: buffer and scalar parameters, a body; may fail with a code
 *              TASK: an iteration of a parallel loop; buffer and scalar parameters, the last of
 *              them the iteration's index; a kernel behind it launches it
 *              LIBRARY: scalar parameters and a result (math by formula, intrinsics): no buffers,
 *              always terminates STREAM: buffer parameters, a body that a machine runs (ir/loop/stream.h);
 *              called as kernels are MAIN: no parameters; calls kernels on buffers, in order, with
 *              run-time control flow around them
 *   state      a buffer that the caller keeps from one run to the next, an input and an output
 *   extent     an index that a run gives, or that is state, between two bounds, in scope in every main;
 *              kernels take it as a scalar parameter. Buffers have room for the upper bound; what a
 *              run uses of one lies at its beginning, dense. Main sets a counted extent, which is its
 *              lower bound before, and its caller is told the value:
 *              set %k = min(max(index(@n[0]), 0), 512)
 *   block      a list of statements; variables live in the block that declares them
 *   expression total and without effects; sharing is by let, never by pointer
 *
 * Scalar types are element types; arithmetic is on compute types (f32 f64 i32 i64 u32 u64 bool
 * index), the others are only loaded, converted and stored; but vectors compute in those of one
 * or two bytes, too (loop_is_narrow), where the target has lanes for them. `index` counts
 * and subscripts: its arithmetic never overflows (64-bit here, ptrdiff_t in C). A vector type has
 * lanes > 1; a vector of bool is a mask. Literals take the type of their context; one that has none
 * is written 0.5:f64 (rules: loop_parse_expr.c).
 *
 * Text form (loop_print_program.c, loop_parse.c; print(parse(print(p))) == print(p)):
 *
 *     loop 1                                              ; 3: with hardware tiles, or `keep`; 4: in grid form, with streams;
 *                                                         ; 5: with what passes tell a printer of launches, barriers and accesses
 *                                                         ; 6: with arithmetic on narrow elements
 *                                                         ; 7: with extents that a run gives
 *                                                         ; 8: with state
 *                                                         ; 9: with extents that main finds out
 *                                                         ; 10: with images
 *                                                         ; 12: with runs in steps
 *                                                         ; 13: with external functions
 *     program "mnist" source "3f2a..."
 *     extent %n "N" in [1, 512]
 *     extent %k "K" in [0, 512] counted
 *     extent %p "P" in [0, 2047] kept
 *     next %p = %p + %n                                   ; of several entries `next @step %p = ..`
 *     region "dtcm" limit 65536 align 8 section ".dtcm" size 4096
 *     buffer @input : f32[784] input "Input3" shape <1 x 1 x 28 x 28>
 *     buffer @h : f32[64] state "h_in" next "h_out" 1 shape <1 x 64>
 *     buffer @words : u8[192] input "words" text offset 768 shape <3 x 64>
 *     buffer @conv1_w : f32[200] constant = file 0
 *     buffer @t1 : f32[6272] workspace offset 0
 *     buffer @y : f32[512] output "y" shape <512 x 1> extents [%n, 1]
 *     buffer @t2 : f32[6272] view @t1 + 0
 *     buffer @record : i64[12] workspace offset 25088 record 65536 most 4096
 *     kernel @conv1(%x: in f32[784], %w: in f32[200], %y: out f32[6272]) {                ; "conv1" ...
 *       for %m = 0 to 8 parallel {
 *         for %i = 0 to 784 {
 *           var %sum : f32 = 0.0
 *           for %k = max(0, 2 - %i) to 5 {
 *             set %sum = %sum + %x[%i + %k] * %w[%m * 25 + %k]
 *           }
 *           let %v : f32 = max(%sum, 0.0)
 *           store %y[%m * 784 + %i] = %v
 *         }
 *       }
 *     }
 *     main {
 *       call @conv1(@input, @conv1_w, @t1)
 *     }
 *
 * Vectors: %x<8>[i] loads eight elements, %x<8>[i, mask] where the mask says so (0 elsewhere),
 * %x[ramp<8>(i, 2)] gathers; store %y[i] = v mask m streaming. Register tiles: var %acc :
 * f32x8[6][2], set %acc{1, 0} = ... Words: %x<16 u32 of 4>[i] loads 16 words of four elements each,
 * the first in the lowest bits; of 8 bits they fill a u32, of fewer bits in all they are extended
 * by their signs. Calls with scalars: call @k(@a, @b; 3, 4). An argument may begin behind its
 * buffer's first element: call @k(@a + %t * 256, @b). What `outline` makes of the loop above: task
 * @conv1_task(%x: in f32[784], %w: in f32[200], %y: out f32[6272], %m: index) { ... and launch
 * @conv1_task(%x, %w, %y; 0 to 8) in the kernel, or launch .. in order, one iteration after the
 * other. Behind a kernel's parameters stand its flops, and
 * which of them are computed again; behind the brace its location and summary: they are read back.
 * Code calls a C function in place of a kernel with `external NAME(2, 3)` behind its parameters;
 * the body says what that computes, and 2 and 3 are its first arguments.
 * ; opens any other comment. main reads a buffer as @flag[0]. Images: image %y[0] = %x[0] of 1000
 * as rgb 32 x 48, 1000 bytes that become 32 rows of 48 pixels. In main, if likely %N == 16 { .. }
 * else { .. } has the same results on both sides.
 * */
#ifndef IR_LOOP_LOOP_H
#define IR_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/memory.h"
#include "base/text.h"
#include "ir/element.h"
#include "ir/loop/loop_tiles.h"
#include "ir/tensor/tensor.h"

/* tile: the type of a register tile whose vectors lie in hardware tiles; only MULTIPLY and UNLOAD
 * touch it. */
enum { LANES_MAX = 256, WORD_GROUP_MAX = 8, MULTIPLY_GROUP_MAX = 16 };
struct loop_type { enum element element : 8; unsigned lanes : 16; bool tile : 1; };
#define LOOP_TYPE(e) LOOP_VECTOR(e, 1)
#define LOOP_VECTOR(e, n) ((struct loop_type){ .element = (e), .lanes = (unsigned)(n) })
static inline bool loop_type_same(struct loop_type a, struct loop_type b)
{
        return a.element == b.element && a.lanes == b.lanes && a.tile == b.tile;
}
static inline bool loop_is_compute(enum element e) { return element_info[e].compute == e; }
/* Is it a type of numbers that vectors alone compute in? They do as if they converted the operands,
 * and the result back (loop_narrow_expand). */
static inline bool loop_is_narrow(enum element e)
{
        return element_info[e].bytes < 4 && !loop_is_compute(e) &&
               (element_is_float(e) || element_is_integer(e));
}
static inline bool loop_is_narrow_integer(enum element e)
{
        return loop_is_narrow(e) && element_is_integer(e);
}

/* Expressions and blocks nest no deeper than this (verified), so functions that walk them may
 * recurse. TILE_MAX is the most rows, and columns, of a tile. */
enum { EXPR_DEPTH_MAX = 1000, BLOCK_DEPTH_MAX = 200, TILE_MAX = 64 };
enum { LOOP_VERSION = 13 };              /* The newest text form has this number. */
#define EXTENT_MAX (INT64_C(1) << 59)             /* A buffer has at most this many elements, so
                                                   * that its bytes fit int64_t. */

/* ---- buffers ---- */

enum loop_space {
        SPACE_INPUT, SPACE_OUTPUT,      /* The caller owns these buffers, in the order of ports. */
        SPACE_STATE,                    /* The caller keeps the buffer from one run to the next: it
                                         * is an input as a run begins, and holds the output
                                         * next_port when it ends. */
        SPACE_CONSTANT,                 /* A constant has data, or is a splat. */
        SPACE_WORKSPACE,                /* The buffer lies in `region` at `offset` once planned. */
        SPACE_VIEW,                     /* A view is part of another buffer, from view_offset
                                         * elements on. */
        SPACE_PARAMETER,                /* The buffer is a parameter of a kernel. */
        SPACE_STACK, SPACE_SHARED,      /* An alloc statement makes it; the warps of a gpu_block
                                         * share SHARED. */
        SPACE_CLUSTER,                  /* An alloc makes it, and the blocks of a gpu_cluster share
                                         * it. */
        SPACE_LANES,                    /* An alloc makes it, and each lane of a warp has a part. */
        SPACE_MEMORY                    /* An alloc makes it in a memory of the stream's machine. */
};
enum loop_access { ACCESS_IN = 1, ACCESS_OUT = 2, ACCESS_INOUT = 3 };

struct loop_buffer {
        const char *name;               /* The name is a unique identifier; a parameter's is unique
                                         * in its kernel. */
        enum element element;
        int64_t extent;                 /* The buffer has at most this many elements. */
        enum loop_space space;
        /* Inputs, outputs and buffers in the workspace belong to the entry with this number;
         * constants and state belong to all. */
        int entry;
        /* These fields are of ports, which are inputs, outputs and state: */
        const char *port;               /* The model itself has this name. */
        const struct type *type;        /* The caller sees this shape, with each extent at its
                                         * bound; it may be NULL elsewhere. */
        struct loop_expr **extents;     /* [type->rank], the shape of a run, over the program's
                                         * extents; NULL: it is that of the type. */
        bool is_text;                   /* The caller sees texts (struct port); `type` has the room
                                         * of each as its last extent. Once planned, an input's
                                         * texts are copied to `offset` of the workspace. */
        const char *next_port;          /* STATE: the model has this name for the output that is the
                                         * next run's value, which is output next_number of the
                                         * model, counted with those that are state. */
        int next_number;
        const char *location;           /* These nodes of the model have the buffer as result, as
                                         * safe text, or NULL. */
        /* Constants have `extent` elements, or one where they are splats. */
        const void *data;
        bool splat;
        /* These fields are of the workspace, and `offset` of inputs of texts, too: */
        int region;                     /* The region has this number; 0: the workspace itself. */
        int64_t offset;                 /* This many bytes lie in front of the buffer, -1 before
                                         * planning. */
        /* These fields are of views: */
        struct loop_buffer *view_of;
        int64_t view_offset;            /* This many elements lie in front of the view. */
        /* These fields are of memories of machines: */
        int memory;                     /* The memory has this number (ir/target/machine.h). */
        int place_count;                /* The buffer begins at these places there, in elements:
                                         * each execution of its alloc takes the next of them, and
                                         * the first after the last; 0: they are not chosen yet. */
        int64_t *places;
        /* These fields are of parameters: */
        enum loop_access access;
        int alias_class;                /* Parameters of one class may overlap; 0: it overlaps
                                         * nothing (restrict). */
        int number;                     /* Printers and passes may set the number; a parameter's is
                                         * its position. */
        struct loop_buffer *next;
};

/* ---- expressions ---- */

enum loop_opcode {
#define LOOP_OP(name, ...) LOOP_##name,
#include "ir/loop/loop_ops.def"
        LOOP_CAST,                      /* f32(a) converts: floats to integers saturate, and NaN
                                         * gives 0; integers wrap; to bool it is != 0. */
        LOOP_BITCAST,                   /* bits_f32(a) has the same bits; both types have equal
                                         * size. */
        LOOP_LITERAL, LOOP_VARIABLE,
        LOOP_TILE_ENTRY,                /* %acc{2, 1} is an entry of a register tile, with literal
                                         * coordinates. */
        LOOP_LOAD,                      /* %x[i] loads: with lanes > 1, a scalar i loads consecutive
                                         * elements, and a vector i gathers; %x<u32 of 4>[i] loads
                                         * words (loop_words.c). */
        LOOP_CALL                       /* exp(a) calls a library function of scalars, which is also
                                         * applied lane by lane. */
};
enum loop_form { FORM_INFIX, FORM_PREFIX, FORM_CALL };
enum loop_result { RESULT_SAME, RESULT_BOOL, RESULT_SPECIAL };
struct loop_op_info {
        const char *name, *text;
        int arity;
        enum loop_form form;
        int precedence;
        enum loop_result result;
        const char *doc;
};
/* The table has the rows of loop_ops.def. */
extern const struct loop_op_info loop_op_info[LOOP_CAST];

struct schedule;                        /* The struct is in ir/target/schedule.h. */
struct loop_variable {
        const char *name;               /* The name is unique in its function, and has no %. */
        struct loop_type type;
        int rows, columns;              /* The variable is a register tile when rows > 0: named
                                         * variables with literal coordinates. */
        struct tile_range registers;    /* The tile lies in these hardware tiles. */
        int warps;                      /* This many warps have a tile of their own; 0: there is one
                                         * tile. */
        const struct schedule *schedule;        /* The sum of a contraction may have the schedule by
                                                 * which the pass jam computes its nest; NULL: jam
                                                 * chooses one. */
        struct loop_buffer *base;       /* A let that is an index may have a base: C computes
                                         * &base[index] in its place, because it is used as a
                                         * subscript of base alone; NULL: it is an index like any
                                         * other. */
        enum { VARIABLE_LOOP, VARIABLE_LET, VARIABLE_VAR, VARIABLE_PARAMETER } kind;
        int64_t low, high;              /* A parameter of type index lies between these, both
                                         * included; high 0: nothing is known of it. */
        int number;                     /* Passes may set the number. */
};

struct loop_expr {
        enum loop_opcode op;
        struct loop_type type;
        int arity;
        struct loop_expr *args[3];      /* LOAD: args[0] is the index, args[1] the mask or NULL. */
        union scalar literal;           /* LITERAL: the value; f32 values are exact in f.
                                         * TILE_ENTRY: the row in i, the column below. */
        int column;
        struct loop_variable *variable;
        struct loop_buffer *buffer;     /* LOAD: the buffer that is read. */
        int group;                      /* LOAD: the elements of a word; 0: it loads no words. */
        struct loop_function *function; /* CALL has this function. */
};

/* ---- statements ---- */

enum loop_stmt_kind {
        STMT_FOR,                       /* The loop runs body for variable from a to b in steps of
                                         * `step`; a and b are evaluated once, and b is
                                         * exclusive. */
        STMT_WHILE,                     /* The loop runs body while a is true. */
        STMT_IF,                        /* The statement runs body if a is true, else other. */
        STMT_LET,
        STMT_VAR,                       /* variable begins as a; a NULL: as zero. */
        STMT_SET,                       /* variable, or its tile entry {row, column}, becomes a. */
        STMT_STORE,                     /* buffer[a] becomes b under mask c, or NULL. */
        STMT_CALL,                      /* main calls function(buffers..., scalars...), a kernel. */
        STMT_LAUNCH,                    /* A kernel launches function(buffers..., scalars..., i), a
                                         * task, for each i from a to b in steps of `step`. */
        STMT_FAIL,                      /* The statement leaves the program with `code`. */
        STMT_IMAGE,                     /* buffer[a..], bytes of an image of `row` rows and `column`
                                         * columns whose pixels are `code` (ir/tensor/pixels.def),
                                         * becomes what the file of c bytes source[b..] shows; else
                                         * the program is left with FAIL_IMAGE. */
        STMT_RETURN,                    /* The result is a; it is the last statement of a library
                                         * function. */
        STMT_ALLOC,                     /* buffer lives until the end of this block. */
        STMT_PREFETCH,                  /* The statement prefetches `step` elements of buffer from a
                                         * on; `code` is a hint without meaning: 0 to L1, 1 to L2, 2
                                         * non-temporal, and in grid form 3: a warp's lanes load
                                         * weights of a product into registers. */
        STMT_KEEP,                      /* variable, a vector or an index, has a register up to
                                         * here, and an index is not looked through: a hint to C
                                         * compilers, without meaning. */
        STMT_TILES,                     /* From here on, hardware tiles are for sums of this shape;
                                         * all 0: there are none. */
        STMT_MULTIPLY,                  /* variable grows by buffer[a..] times weights[b..], by
                                         * function; buffer NULL: by the sums a times weights. */
        STMT_UNLOAD,                    /* buffer[a..] becomes variable, row by row. */
        STMT_SCALE,                     /* variable is multiplied by buffer[a..], a factor for each
                                         * position. */
        /* These statements are in kernels in grid form alone, up to LAUNCH_DEPENDENTS:
         * ir/loop/loop_grid.h. */
        STMT_TAKE,
        STMT_GIVE,                      /* TAKE: buffer, which is a lane's, becomes what lane a has
                                         * of variable; GIVE goes the other way round. */
        STMT_COPY,                      /* buffer[a..] becomes source[b..], `code` elements a lane,
                                         * or zeros where the mask c (or NULL) is false. */
        STMT_COMMIT,                    /* The statement closes a commit group, of what was copied
                                         * since the last commit. */
        STMT_WAIT,                      /* The thread waits for all but the last `code` commit
                                         * groups. */
        STMT_SETTLE,                    /* The thread waits until all but the last `code` products
                                         * of warp groups are done. */
        STMT_LAUNCH_WAIT,               /* The kernel waits until the launch before this one has
                                         * ended and its stores are seen. */
        STMT_LAUNCH_DEPENDENTS,         /* The launch behind this one may begin. */
        /* These statements are in streams alone: ir/loop/stream.h. */
        STMT_TRANSFER,                  /* buffer[a..] becomes source[b..], row by row, by
                                         * `transfer`; one of the two is memory of the machine. */
        STMT_RESET,                     /* buffer[a..], an element of sums, becomes 0. */
        STMT_PRODUCT,                   /* buffer[a..] grows by source[b..] times weights[c..]; code
                                         * 1: it becomes that. */
        STMT_APPLY,                     /* buffer[a..] becomes buffer[a..] `code` source[b..], or b
                                         * where source is NULL. */
        STMT_ACTIVATE,                  /* buffer[a..] becomes the result of `activation` on
                                         * source[b..], with weights[c..] or NULL. */
        STMT_PUSH,
        STMT_POP,                       /* A token goes through `queue`: push stands in the stage
                                         * that gives it, pop in the one that takes it. */
        STMT_AWAIT                      /* Stage queue.to waits until `step` statements of stage
                                         * queue.from are done. */
};
/* The struct holds the rest of a transfer. These are index expressions; columns and padding count
 * elements of the memory, step elements of the buffer. */
struct loop_transfer {
        struct loop_expr *rows, *columns;
        struct loop_expr *pad[4];       /* The zeros above, below, left and right of what is loaded;
                                         * NULL: none. */
        int64_t step;                   /* Rows lie this many elements apart, outside of the
                                         * machine's memory. */
};
/* The struct holds the amounts of an activation; lanes: each number is shifted by an amount of its
 * own. */
struct loop_activation { int64_t add, shift, low, high; bool lanes; };
struct loop_queue { int from, to; };    /* The stages of the machine have these numbers; for tokens
                                         * they are neighbours. */

/* PARALLEL: iterations may run in any order and at the same time. Such a loop is outermost in a
 * kernel (an if may stand around it); it sets no variable and reads no register tile from outside,
 * and holds no fail. The pass that makes it has to know that no iteration reads or writes what
 * another one writes.
 *
 * COUNT: the loop runs by a counter of a machine's instruction; LIST: its iterations are places of
 * a micro-op list that the instruction goes through (ir/loop/stream.h). GPU_CLUSTER, BLOCK, WARP,
 * LANE: loops of kernels in grid form (ir/loop/loop_grid.h). */
enum loop_for_kind {
        FOR_SERIAL,
        FOR_UNROLL,
        FOR_PARALLEL,
        FOR_COUNT,
        FOR_LIST,
        FOR_GPU_CLUSTER,
        FOR_GPU_BLOCK,
        FOR_GPU_WARP,
        FOR_GPU_LANE
};

/* This barrier stands behind a GPU_WARP or GPU_LANE loop of a kernel in grid form
 * (ir/loop/loop_grid.h). */
enum loop_barrier {
        BARRIER_WHOLE,                  /* All warps of the block, or all lanes of the warp, that
                                         * ran the loop wait for each other. */
        BARRIER_WARP,                   /* Behind a GPU_WARP loop, only the lanes of each warp wait
                                         * for each other. */
        BARRIER_NONE                    /* Nobody waits. */
};

struct loop_stmt {
        enum loop_stmt_kind kind;
        struct loop_stmt *next;
        struct loop_variable *variable;
        struct loop_buffer *buffer, *weights, *source;    /* weights: MULTIPLY; source: COPY,
                                                           * TRANSFER, PRODUCT, APPLY, IMAGE. */
        struct loop_tiles tiles;        /* TILES, MULTIPLY, UNLOAD, SCALE, TAKE and GIVE have
                                         * them. */
        struct loop_transfer *transfer; /* TRANSFER has it. */
        struct loop_activation *activation;       /* ACTIVATE has it. */
        struct loop_queue queue;        /* PUSH, POP and AWAIT have it. */
        struct loop_expr *a, *b, *c;
        int64_t step;                   /* FOR and PREFETCH have it, and it is > 0; AWAIT has it,
                                         * too. */
        enum loop_for_kind for_kind;
        enum loop_barrier barrier;      /* FOR over warps or lanes has it. */
        int row, column;                /* SET of a tile entry and IMAGE have them. */
        bool likely;                    /* IF of main: both blocks compute the same, where extents
                                         * of a run have likely values, and where they have any;
                                         * a pass may leave the first one out. */
        bool in_order;                  /* LAUNCH: iterations run one after the other, as those of a
                                         * plain loop; it may then stand in loops. */
        bool streaming;                 /* STORE: it goes past the caches, a hint without
                                         * meaning. */
        int vector;                     /* STORE of a lane: this statement and the vector - 1 behind
                                         * it are one access; 0: it is by itself. */
        int code;                       /* FAIL, PREFETCH, COPY and WAIT have it; APPLY has
                                         * LOOP_MIN, MAX, ADD, SHR or SHL; PRODUCT and IMAGE have
                                         * it, too. */
        struct loop_block *body, *other;
        struct loop_function *function; /* CALL and LAUNCH have it; MULTIPLY has a library
                                         * function. */
        const char *location;           /* CALL: the nodes of the model that it computes, where its
                                         * kernel was written for others; safe text, or NULL. */
        struct loop_buffer **buffers;   /* CALL and LAUNCH have one for each buffer parameter. */
        struct loop_expr **offsets;     /* CALL: how many elements of its buffer lie before each
                                         * argument; NULL, or NULL entries: 0. */
        struct loop_expr **scalars;     /* CALL: one for each scalar parameter; LAUNCH: variables,
                                         * one for each scalar parameter but the last
                                         * (loop_scalar_count). */
};
struct loop_block { struct loop_stmt *first, **end; };

/* ---- functions and programs ---- */

/* TASK: its calls may run in any order and at the same time, as iterations of a PARALLEL loop do,
 * and it holds no fail and no launch. */
enum loop_function_kind {
        FUNCTION_KERNEL,
        FUNCTION_TASK,
        FUNCTION_LIBRARY,
        FUNCTION_MAIN,
        FUNCTION_STREAM
};
struct machine;
struct loop_function {
        enum loop_function_kind kind;
        const struct machine *machine;  /* STREAM: the machine that it is for. */
        const char *name;               /* The name is unique; a library function's is unique with
                                         * its first parameter's element. */
        const char *location;           /* It computes these nodes of the model, as safe text, or
                                         * NULL. */
        const char *summary;            /* A kernel names its operation and shapes, in one safe line
                                         * for the reader. */
        int buffer_count, scalar_count;
        struct loop_buffer **buffers;
        struct loop_variable **scalars;
        struct loop_type result;        /* A library function has it. */
        const char *error;              /* A library function states its error bound, "exact" or
                                         * like "1.5 ulp". */
        const char *spelling;           /* An intrinsic has this name in target tables; else it is
                                         * NULL. */
        struct loop_block *body;
        const char *external;           /* Code calls the C function with this name, with
                                         * external_extents [external_count] and the parameters, in
                                         * place of the body of the kernel, which is its meaning;
                                         * NULL: there is none. */
        const int64_t *external_extents;
        int external_count;
        bool can_fail;                  /* The function holds a FAIL or an IMAGE, or is external. */
        double flops;                   /* A kernel has this many floating-point operations per
                                         * call, for comments and reports. */
        double again;                   /* A kernel computes this many of them more than once. */
        struct loop_function *next;
        int number;                     /* Passes may set the number. */
};

/* Returns how many `scalars` a statement has. */
static inline int loop_scalar_count(const struct loop_stmt *s)
{
        return s->kind == STMT_CALL     ? s->function->scalar_count
               : s->kind == STMT_LAUNCH ? s->function->scalar_count - 1
                                        : 0;
}

enum { STORAGE_ALIGN = 16 };            /* Every buffer in the workspace begins and ends at
                                         * multiples of this many bytes. */
static inline int64_t loop_buffer_bytes(const struct loop_buffer *b)
{
        return b->extent * element_info[b->element].bytes;
}

static inline int64_t storage_bytes(int64_t bytes) { return round_up(bytes, STORAGE_ALIGN); }

enum { REGIONS_MAX = 16, EXTENTS_MAX = 256 };
/* Memory beside the workspace that the caller hands to run; region k of a buffer is regions[k -
 * 1]. */
struct loop_region {
        const char *name;               /* The name is an identifier. */
        const char *section;            /* The array's macro puts it into this section, as safe
                                         * text; "": none. */
        int64_t limit, align, size;     /* size: the bytes that the plan takes of it. */
};

/* An extent that a run gives, or that main counts. Its variable is a parameter with bounds, and
 * main sets it where it is counted. */
struct loop_extent {
        struct loop_variable *variable;
        bool counted;
        const char *name;               /* The model itself has this name for it, of any bytes but
                                         * NUL. */
        bool kept;                      /* The extent is a part of state; those that are stand
                                         * last. */
};

struct loop_library;
/* An entry is what a program is called by: a main, whose ports are the buffers of spaces INPUT and
 * OUTPUT with its number in `entry`, in their order, and whose own part of the plan begins where
 * the workspace begins, because one entry runs at a time. */
struct loop_entry {
        const char *name;               /* The name is unique among entries: an identifier, or
                                         * "main". */
        struct loop_function *main;
        struct loop_expr **next;        /* [EXTENTS_MAX], the next value of each extent that is
                                         * state, over the extents; NULL, or a NULL entry: it stays
                                         * what it is. */
        /* Planning fills these in, in bytes. */
        int64_t workspace_size;
        int64_t live_peak;              /* The largest sum of live bytes over main: no plan takes
                                         * less. */
        /* Where a run goes step by step (ir/loop/loop_record.h): */
        struct loop_buffer *record;     /* This buffer holds where it stopped; NULL: it does not. */
        int64_t step, step_most;        /* A step does so much work, in products, and at most that
                                         * much between two places where it can stop. */
};

struct loop_program {
        struct arena *arena;
        const char *name;
        char source[65];
        const char *command;            /* These options shaped the program so far; they are safe
                                         * text, or "". */
        const char *within;             /* The compiler did this to stay within --max-ram, as in the
                                         * program's module; "": nothing. */
        const char *passes_done;        /* It and its module went through these passes, separated by
                                         * commas, or "". */
        struct loop_buffer *buffers, **buffers_end;
        struct loop_function *kernels, **kernels_end;     /* Tasks stand before the kernels that
                                                           * launch them. */
        struct loop_entry *entries;     /* There is at least one. */
        int entry_count;
        int at;                         /* Whoever works on one entry at a time is at this one; 0
                                         * elsewhere. */
        struct loop_extent *extents;    /* Each is in scope in every main. */
        int extent_count;
        const struct loop_library *library;
        struct names *names;            /* The table has the names of buffers and kernels. */
        /* Planning fills these in, in bytes. */
        int64_t workspace_align;
        bool planned;
        struct loop_region *regions;
        int region_count;
};

#include "ir/loop/loop_build.h"

/* ---- numbers and digests (loop_digest.c) ---- */

/* Numbers what f declares: variables behind its scalar parameters, buffers behind its buffer
 * parameters, each in order. Returns the number of variables. */
int loop_number_variables(const struct loop_function *f);
/* Computes a digest of everything but names, location and flops, so that equal kernels have equal
 * digests. f must launch no tasks. */
void loop_digest(const struct loop_function *f, struct text *scratch, char hex[65]);

/* ---- the library: math by formula, and intrinsics (ir/library/, parsed once) ---- */

struct loop_library *loop_library_new(struct arena *arena, struct diag *diag);
/* Sets the machines that programs may have streams for, which the text names; NULL follows the
 * last. */
void loop_library_machines(struct loop_library *library, const struct machine *const *machines);
/* Returns a function; overloads differ in the element type of the first parameter. NULL: there is
 * none. */
struct loop_function *loop_library_find(const struct loop_library *library, const char *name,
                                        enum element e);
/* Returns the first of all functions, which ->next links. */
struct loop_function *loop_library_first(const struct loop_library *library);
/* Returns the library functions that p needs, callees before callers; *count of them. */
struct loop_function **loop_library_used(struct arena *arena, const struct loop_program *p,
                                         int *count);

/* ---- text and checks (loop_print.c, loop_parse.c, loop_verify.c) ---- */

/* Prints a program. Constants' files are as in tensor.h; for loop_parse, what read_blob returns
 * must live as long as the program. */

void loop_print(struct text *out, const struct loop_program *p, const struct tensor_print *options);
/* Prints a function with its name. */
void loop_print_function(struct text *out, const struct loop_function *f);
void loop_print_expr(struct text *out, const struct loop_expr *e);
struct loop_program *loop_parse(struct arena *arena, const char *text, size_t length,
                                blob_reader read_blob, void *context,
                                const struct loop_library *library, struct diag *diag);
/* Parses functions of library text: "function exp(x: f32) -> f32 error \"1 ulp\" { ... return e }";
 * "where T in f32 f64" makes one function per type, with T its name inside. */
struct loop_function *loop_parse_library(struct arena *arena, const char *text, size_t length,
                                         struct diag *diag);
/* The verifier reports EXIT_INTERNAL errors. */
bool loop_verify(const struct loop_program *p, struct diag *diag);

#endif
