/* SPDX-License-Identifier: MIT */
/* What the files of the CUDA printer share; nobody else includes this. */
#ifndef CODEGEN_CUDA_WRITER_H
#define CODEGEN_CUDA_WRITER_H

#include "codegen/c_writer.h"
#include "ir/loop_grid.h"

/* a phase of a kernel: a function that runs on the device, and how it is launched */
struct cuda_phase {
        const char *name;
        int64_t blocks, warps, lanes;
        int64_t cluster;                /* blocks of one; 0: there are none */
        int64_t shared;                 /* bytes of the block's */
        bool runs, together;            /* it copies whole runs; its warps multiply together */
        const struct loop_stmt **of_sums;         /* products of warps together that multiply sums */
        int of_sums_count;
        bool waits;                     /* a launch_wait is printed: it may begin before the launch in front has ended */
        const struct loop_stmt *made[PRODUCTS_MAX];       /* products of warps together, oldest first, that no settle in front of what is printed has let be done */
        int made_count;
};

/* a function of a shape (cuda_products.c) */
struct cuda_product {
        const struct multiply *multiply;        /* NULL: it unloads sums, or scales them */
        enum element sum;
        int rows, vectors, depth;       /* so many fragments */
        bool across, scales;            /* words of w lie across; sums are scaled */
        bool row;                       /* of lanes' sums of a row */
        bool of_sums;                   /* x are sums in fragments, not memory */
};

/* of 2, 4, 8 and 16 elements: a type, and functions; NULL where there is none */
enum { CUDA_WORDS = 4 };
struct cuda_word_names { const char *type, *load, *store; };
struct cuda_port { const struct loop_buffer *buffer; int multiple; };    /* of so many bytes, where it is to lie */

struct cuda_writer {
        struct cuda_product *products;
        int product_count;
        bool copies, runs;              /* into shared memory; whole runs */
        bool brings;                    /* lines come nearer before launches wait */
        const char *own;                /* the array of the weights that lanes have loaded last, for the next product of a row */
        struct cuda_phase *phases;      /* all of the program */
        int phase_count;
        struct cuda_phase *phase;       /* being printed; or NULL */
        const struct loop_stmt *block;  /* the loop over blocks that is printed */
        const struct loop_stmt *last;   /* of the block, behind which nobody waits */
        bool clusters;                  /* some phase has */
        const struct loop_stmt *lane;   /* the loop over lanes that is printed; NULL: it is in none */
        bool meets;                     /* warps of the phase wait for each other */
        bool fails;                     /* some kernel can, and is called */
        bool shares;                    /* some block has shared memory */
        int64_t aligned;                /* at multiples of that */
        int64_t status_at;              /* in the workspace: which call failed first, and its code */
        struct cuda_word_names word_names[ELEMENT_COUNT][CUDA_WORDS];
        struct cuda_port *ports;        /* inputs and outputs that are loaded or stored in words */
        int port_count;
};

/* ---- cuda_kernel.c ---- */

void cuda_kernel(struct c_writer *w, struct loop_function *f);
void cuda_grid_loop(struct c_writer *w, const struct loop_stmt *s);
bool cuda_alloc(struct c_writer *w, struct loop_buffer *b);
void cuda_fail(struct c_writer *w, int code);

/* ---- cuda_clusters.c ---- */

/* a place as c_place has it: what lies in another block of the cluster, too */
const struct loop_expr *cuda_cluster_place(struct c_writer *w, struct loop_buffer *b, const struct loop_expr *index);
void cuda_clusters_top(struct c_writer *w, struct text *out);

/* ---- cuda_dependent_launch.c ---- */

void cuda_launch_wait(struct c_writer *w);
void cuda_prefetch(struct c_writer *w, const struct loop_stmt *s);
/* Does every phase wait itself, so that it may be launched before the one in front has ended? All phases are printed. */
bool cuda_launches_early(const struct c_writer *w);
void cuda_dependent_launch_top(struct c_writer *w, struct text *out);

/* ---- cuda_products.c ---- */

/* copies into shared memory, tiles of sums and what touches them */
void cuda_product(struct c_writer *w, const struct loop_stmt *s);
/* so many bytes of a row's weights from `at` on, in registers of a warp's lanes, for the product that follows */
void cuda_load_own(struct c_writer *w, struct loop_buffer *weights, const struct loop_expr *at, int64_t bytes);
void cuda_products_top(struct c_writer *w, struct text *out);
/* of cuda_groups.c, too: a place in a buffer; the function of a product, and that it is used */
void cuda_place(struct c_writer *w, struct loop_buffer *b, const struct loop_expr *at);
const char *cuda_product_name(struct c_writer *w, const struct cuda_product *p);
const char *cuda_product_use(struct c_writer *w, struct cuda_product p);

/* ---- cuda_vector.c ---- */

/* a let of a vector that a lane loads; s->vector stores that are one, from s on */
void cuda_vector_load(struct c_writer *w, const struct loop_stmt *s);
void cuda_vector_store(struct c_writer *w, const struct loop_stmt *s);
void cuda_vector_top(struct c_writer *w, struct text *out);
/* inputs and outputs that a parameter of w->kernel is in some call lie at multiples of so many bytes; of how many one has to */
void cuda_needs(struct c_writer *w, const struct loop_buffer *b, int bytes);
int cuda_port_multiple(const struct c_writer *w, const struct loop_buffer *port);

/* ---- cuda_groups.c ---- */

void cuda_groups_top(struct c_writer *w, struct text *out);
/* what of it a phase has; what stands at its beginning */
void cuda_groups_find(struct c_writer *w, struct cuda_phase *phase, struct loop_block *block);
void cuda_groups_begin(struct c_writer *w);
void cuda_run_copy(struct c_writer *w, const struct loop_stmt *s);
void cuda_multiply_together(struct c_writer *w, const struct loop_stmt *s);
void cuda_settle(struct c_writer *w, const struct loop_stmt *s);
/* sums that warps multiply together; a statement on such, which is that lanes give them theirs; false: these are none */
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
