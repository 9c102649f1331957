/* SPDX-License-Identifier: MIT */
/* The files of the CUDA printer share this; no other file includes it. */
#ifndef CODEGEN_CUDA_WRITER_H
#define CODEGEN_CUDA_WRITER_H

#include "codegen/c_writer.h"
#include "ir/loop/loop_grid.h"

/* A phase of a kernel is a function that runs on the device, and its launch. */
struct cuda_phase {
        const char *name;               /* The function has this name. */
        int64_t blocks, warps, lanes;   /* The launch has at most this many blocks, a block this
                                         * many warps, and this many lanes of a warp have work. */
        const struct loop_expr *open;   /* There are this many blocks, or clusters, by the scalars
                                         * of the kernel; NULL: there are `blocks`. */
        int64_t cluster;                /* A cluster has this many blocks; 0: the phase has no
                                         * clusters. */
        int64_t shared;                 /* A block has this many bytes of shared memory. */
        bool copies_bulk;               /* The phase has bulk copies. */
        bool warp_group;                /* The phase has warp-group MMA. */
        const struct loop_stmt **of_sums;         /* The x of these warp-group MMA are sums in
                                                   * registers. */
        int of_sums_count;
        bool waits;                     /* The phase has a launch_wait, and may begin before the
                                         * preceding launch has ended. */
        /* These warp-group MMA are under way at the statement that is printed, the oldest first. */
        const struct loop_stmt *made[PRODUCTS_MAX];
        int made_count;
};

/* This is a function for MMA of one shape, or for another operation on sums in fragments
 * (cuda_products.c). */
struct cuda_product {
        const struct multiply *multiply;        /* It does this multiply; NULL: it unloads sums, or
                                                 * scales them. */
        enum element sum;
        int rows, vectors, depth;       /* There are this many fragments of positions, fragments of
                                         * outputs, and MMA of channels. */
        bool transposed;                /* A word of w holds outputs of one channel. */
        bool scales;                    /* The function scales sums. */
        bool row;                       /* The sums are those of one row, of which lanes have
                                         * parts. */
        bool of_sums;                   /* x are sums in fragments, not memory. */
};

/* These are the names for vectors of 2, 4, 8 and 16 elements: of a type, and of the functions that
 * load and store one; NULL: it is not used. */
enum { CUDA_VECTORS = 4 };
struct cuda_vector_names { const char *type, *load, *store; };
/* The address of this input or output of the model must be a multiple of this many bytes. */
struct cuda_port { const struct loop_buffer *buffer; int multiple; };

struct cuda_writer {
        struct cuda_product *products;
        int product_count;
        bool copies, copies_bulk;       /* The program has asynchronous copies by lanes; it has bulk
                                         * copies. */
        bool groups;                    /* It commits groups of copies, which may be empty. */
        bool prefetches;                /* The program prefetches to L2. */
        const char *weights;            /* Lanes have loaded this array of weights last, for the
                                         * next product of a row. */
        struct cuda_phase *phases;      /* These are all phases of the program. */
        int phase_count;
        struct cuda_phase *phase;       /* This phase is being printed; or NULL. */
        const struct loop_stmt *block;  /* This loop over blocks is being printed. */
        const struct loop_stmt *warp;   /* This loop over warps is being printed, or was printed
                                         * last. */
        const struct loop_stmt *last;   /* This is the last statement of the block, after which
                                         * nobody waits. */
        bool clusters;                  /* Some phase has clusters. */
        const struct loop_stmt *lane;   /* This loop over lanes is being printed; or NULL. */
        bool meets;                     /* Warps of the phase wait for each other. */
        bool fails;                     /* A kernel that can fail is called. */
        bool shares;                    /* Some block has shared memory. */
        int64_t aligned;                /* Shared memory must be aligned to this many bytes. */
        int64_t status_at;              /* The status lies here in the workspace, in bytes: which
                                         * call failed first, and its code. */
        struct cuda_vector_names vector_names[ELEMENT_COUNT][CUDA_VECTORS];
        struct cuda_port *ports;        /* These inputs and outputs have vector accesses. */
        int port_count;
};

/* ---- cuda_kernel.c ---- */

void cuda_kernel(struct c_writer *w, struct loop_function *f);
void cuda_grid_loop(struct c_writer *w, const struct loop_stmt *s);
bool cuda_alloc(struct c_writer *w, struct loop_buffer *b);
void cuda_fail(struct c_writer *w, int code);

/* ---- cuda_clusters.c ---- */

/* Prints the pointer to b, as c_place does, also for memory of another block of the cluster.
 * Returns the index relative to that pointer. */
const struct loop_expr *cuda_cluster_place(struct c_writer *w, struct loop_buffer *b,
                                           const struct loop_expr *index);
void cuda_clusters_top(struct c_writer *w, struct text *out);

/* ---- cuda_dependent_launch.c ---- */

void cuda_launch_wait(struct c_writer *w);
void cuda_prefetch(struct c_writer *w, const struct loop_stmt *s);
/* Does every phase contain a wait, so that it may be launched before the preceding one has ended?
 * All phases must have been printed. */
bool cuda_launches_dependent(const struct c_writer *w);
void cuda_dependent_launch_top(struct c_writer *w, struct text *out);

/* ---- cuda_products.c, cuda_product_calls.c ---- */

/* Prints statements on sums in fragments, copies into shared memory, vector accesses, prefetches,
 * and waits for launches. */
void cuda_product(struct c_writer *w, const struct loop_stmt *s);
/* Loads `bytes` bytes of a row's weights from `at` on into registers of a warp's lanes, for the
 * product that follows. */
void cuda_load_weights(struct c_writer *w, struct loop_buffer *weights, const struct loop_expr *at,
                       int64_t bytes);
void cuda_products_top(struct c_writer *w, struct text *out);
/* cuda_place prints the address of an element of b. cuda_product_name returns the name of a
 * product's function; cuda_product_use also notes that the function is used. */
void cuda_place(struct c_writer *w, struct loop_buffer *b, const struct loop_expr *at);
const char *cuda_product_name(struct c_writer *w, const struct cuda_product *p);
const char *cuda_product_use(struct c_writer *w, struct cuda_product p);
/* Is there an instruction for the multiply, by a single warp? */
bool cuda_has_leaf(const struct multiply *m);
static inline bool cuda_product_in_rows(const struct cuda_product *p)
{
        return p->multiply->positions == 1;
}

/* ---- cuda_vector.c ---- */

/* cuda_vector_load prints the let of a vector that a lane loads; cuda_vector_store prints the
 * s->vector stores from s on as one store. */
void cuda_vector_load(struct c_writer *w, const struct loop_stmt *s);
void cuda_vector_store(struct c_writer *w, const struct loop_stmt *s);
void cuda_vector_top(struct c_writer *w, struct text *out);
/* cuda_needs notes that b, a parameter of w->kernel, must be aligned to `bytes` bytes, and so must
 * the ports of the model that some call passes for it. cuda_port_multiple returns the alignment of
 * a port. */
void cuda_needs(struct c_writer *w, const struct loop_buffer *b, int bytes);
int cuda_port_multiple(const struct c_writer *w, const struct loop_buffer *port);

/* ---- cuda_warp_group.c ---- */

void cuda_warp_group_top(struct c_writer *w, struct text *out);
/* _find finds out whether a phase has bulk copies and warp-group MMA; _begin prints the
 * declarations at the beginning of its blocks. */
void cuda_warp_group_find(struct c_writer *w, struct cuda_phase *phase, struct loop_block *block);
void cuda_warp_group_begin(struct c_writer *w);
void cuda_bulk_copy(struct c_writer *w, const struct loop_stmt *s);
void cuda_warp_group_multiply(struct c_writer *w, const struct loop_stmt *s);
void cuda_settle(struct c_writer *w, const struct loop_stmt *s);
/* Sums that are x of warp-group MMA: cuda_pairs prints their declaration, cuda_give_pairs the
 * statement by which lanes set theirs. Both return false where the sums are no such x. */
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
/* Returns the prototype of the function that loads weights: "int digits_load(void *weights, void
 * *stream)". */
const char *cuda_load_prototype(struct c_writer *w);

#endif
