/* SPDX-License-Identifier: MIT */
/* Shared by the files of the CUDA printer alone. */
#ifndef CODEGEN_CUDA_WRITER_H
#define CODEGEN_CUDA_WRITER_H

#include "codegen/c_writer.h"
#include "ir/loop/loop_grid.h"

/* A phase of a kernel: a function that runs on the device, and its launch. */
struct cuda_phase {
        const char *name;               /* of the function */
        int64_t blocks, warps, lanes;   /* blocks of the launch; warps of a block; lanes of a warp
                                         * that have work */
        int64_t cluster;                /* blocks of a cluster; 0: it has no clusters */
        int64_t shared;                 /* bytes of shared memory of a block */
        bool copies_bulk;               /* it has bulk copies */
        bool warp_group;                /* it has warp-group MMA */
        const struct loop_stmt **of_sums;         /* warp-group MMA whose x are sums in registers */
        int of_sums_count;
        bool waits;                     /* it has a launch_wait, and may begin before the launch in
                                         * front has ended */
        const struct loop_stmt *made[PRODUCTS_MAX];       /* warp-group MMA under way at the
                                                           * statement that is printed, oldest first
                                                           * / */
        int made_count;
};

/* A function for a shape of MMA, or of what is done to sums in fragments (cuda_products.c). */
struct cuda_product {
        const struct multiply *multiply;        /* NULL: it unloads sums, or scales them */
        enum element sum;
        int rows, vectors, depth;       /* fragments of positions; fragments of outputs; MMA of
                                         * channels */
        bool transposed;                /* words of w are outputs of one channel */
        bool scales;                    /* it scales sums */
        bool row;                       /* its sums are those of one row, of which lanes have parts
                                         * / */
        bool of_sums;                   /* x are sums in fragments, not memory */
};

/* Names for vectors of 2, 4, 8 and 16 elements: of a type, and of functions that load and store
 * one; NULL: it is not used. */
enum { CUDA_VECTORS = 4 };
struct cuda_vector_names { const char *type, *load, *store; };
/* An input or output of the model, and how many bytes its address has to be a multiple of. */
struct cuda_port { const struct loop_buffer *buffer; int multiple; };

struct cuda_writer {
        struct cuda_product *products;
        int product_count;
        bool copies, copies_bulk;       /* the program has asynchronous copies of lanes; it has bulk
                                         * copies */
        bool prefetches;                /* it prefetches to L2 */
        const char *weights;            /* the array of the weights that lanes have loaded last, for
                                         * the next product of a row */
        struct cuda_phase *phases;      /* all phases of the program */
        int phase_count;
        struct cuda_phase *phase;       /* that is printed; or NULL */
        const struct loop_stmt *block;  /* the loop over blocks that is printed */
        const struct loop_stmt *warp;   /* the loop over warps that is being printed, or was last */
        const struct loop_stmt *last;   /* the last statement of the block, behind which nobody
                                         * waits */
        bool clusters;                  /* some phase has clusters */
        const struct loop_stmt *lane;   /* the loop over lanes that is printed; NULL: none is */
        bool meets;                     /* warps of the phase wait for each other */
        bool fails;                     /* a kernel that can fail is called */
        bool shares;                    /* some block has shared memory, */
        int64_t aligned;                /* which has to begin at a multiple of so many bytes */
        int64_t status_at;              /* bytes into the workspace: the call that failed first, and
                                         * its code */
        struct cuda_vector_names vector_names[ELEMENT_COUNT][CUDA_VECTORS];
        struct cuda_port *ports;        /* inputs and outputs with vector accesses */
        int port_count;
};

/* ---- cuda_kernel.c ---- */

void cuda_kernel(struct c_writer *w, struct loop_function *f);
void cuda_grid_loop(struct c_writer *w, const struct loop_stmt *s);
bool cuda_alloc(struct c_writer *w, struct loop_buffer *b);
void cuda_fail(struct c_writer *w, int code);

/* ---- cuda_clusters.c ---- */

/* Prints the pointer to b, as c_place does, also to memory of another block of the cluster; returns
 * the index behind that pointer. */
const struct loop_expr *cuda_cluster_place(struct c_writer *w, struct loop_buffer *b,
                                           const struct loop_expr *index);
void cuda_clusters_top(struct c_writer *w, struct text *out);

/* ---- cuda_dependent_launch.c ---- */

void cuda_launch_wait(struct c_writer *w);
void cuda_prefetch(struct c_writer *w, const struct loop_stmt *s);
/* Does every phase wait itself, so that it may be launched before the one in front has ended? All
 * phases are printed. */
bool cuda_launches_dependent(const struct c_writer *w);
void cuda_dependent_launch_top(struct c_writer *w, struct text *out);

/* ---- cuda_products.c ---- */

/* Statements on sums in fragments, copies into shared memory, vector accesses, prefetches, and
 * waits for launches. */
void cuda_product(struct c_writer *w, const struct loop_stmt *s);
/* Loads `bytes` bytes of a row's weights from `at` on into registers of a warp's lanes, for the
 * product that follows. */
void cuda_load_weights(struct c_writer *w, struct loop_buffer *weights, const struct loop_expr *at,
                       int64_t bytes);
void cuda_products_top(struct c_writer *w, struct text *out);
/* Prints the address of an element of b. The name of a product's function; the same, and notes that
 * the function is used. */
void cuda_place(struct c_writer *w, struct loop_buffer *b, const struct loop_expr *at);
const char *cuda_product_name(struct c_writer *w, const struct cuda_product *p);
const char *cuda_product_use(struct c_writer *w, struct cuda_product p);

/* ---- cuda_vector.c ---- */

/* The let of a vector that a lane loads; the s->vector stores from s on, as one. */
void cuda_vector_load(struct c_writer *w, const struct loop_stmt *s);
void cuda_vector_store(struct c_writer *w, const struct loop_stmt *s);
void cuda_vector_top(struct c_writer *w, struct text *out);
/* Notes that b, a parameter of w->kernel, has to begin at a multiple of `bytes` bytes: so do the
 * ports of the model that some call passes for it. The multiple that a port has to begin at. */
void cuda_needs(struct c_writer *w, const struct loop_buffer *b, int bytes);
int cuda_port_multiple(const struct c_writer *w, const struct loop_buffer *port);

/* ---- cuda_warp_group.c ---- */

void cuda_warp_group_top(struct c_writer *w, struct text *out);
/* Finds out whether a phase has bulk copies and warp-group MMA; prints what stands at the beginning
 * of its blocks. */
void cuda_warp_group_find(struct c_writer *w, struct cuda_phase *phase, struct loop_block *block);
void cuda_warp_group_begin(struct c_writer *w);
void cuda_bulk_copy(struct c_writer *w, const struct loop_stmt *s);
void cuda_warp_group_multiply(struct c_writer *w, const struct loop_stmt *s);
void cuda_settle(struct c_writer *w, const struct loop_stmt *s);
/* Sums that are x of warp-group MMA: their declaration; a statement on them, which is that lanes
 * give theirs. False: the sums are no such x. */
bool cuda_pairs(struct c_writer *w, struct loop_variable *sums);
bool cuda_give_pairs(struct c_writer *w, const struct loop_stmt *s);

/* ---- cuda_library.c ---- */

const char *cuda_library(struct c_writer *w, const struct loop_function *f, const char *name);

/* ---- cuda_run.c ---- */

void cuda_call(struct c_writer *w, const struct loop_function *f);
void cuda_run(struct c_writer *w, struct text *out);

/* ---- cuda_profile.c: nothing without --profile ---- */

bool cuda_profile_check(struct c_writer *w);
void cuda_profile_header(struct c_writer *w);
void cuda_profile_top(struct c_writer *w, struct text *out);
void cuda_profile(struct c_writer *w);

/* ---- cuda_header.c ---- */

void cuda_header(struct c_writer *w, struct text *out);
/* "int digits_load(void *weights, void *stream)" */
const char *cuda_load_prototype(struct c_writer *w);

#endif
