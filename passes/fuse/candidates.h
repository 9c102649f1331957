/* SPDX-License-Identifier: MIT */
/* The fuse pass builds candidate fusions: operations that are about to become one kernel. Its files
 * share what they know of operations (fuse_members.c) and of candidates (fuse_candidates.c). */
#ifndef PASSES_FUSE_CANDIDATES_H
#define PASSES_FUSE_CANDIDATES_H

#include "ir/tensor/index_range.h"
#include "passes/fuse/fuse.h"
#include "passes/remark.h"

struct member {                         /* A member is what the pass knows of an operation while
                                         * candidates form. */
        struct candidate *candidate;
        enum remark_reason why;         /* The reason why it is not in the candidate of its
                                         * readers. */
        const struct op *decided;       /* This reader decided that; NULL: none did. */
        const struct op *home;          /* The operation could be part of the epilogue of this
                                         * packed contraction; NULL: of none. */
        bool epilogue;                  /* The operation is a contraction, or could be in the
                                         * epilogue of any one. */
        bool stays;                     /* The operation has a home or could be an epilogue, and all
                                         * its readers are element-wise, or a single halo. */
        bool identity;                  /* Its element i is needed once, where the root's element i
                                         * (in a halo) is stored. */
        bool repeated;                  /* An element of it may be read more than once. */
        const struct op *map;           /* The operation is read at the index of this reader:
                                         * members with the same map are read at the same index, and
                                         * computed once for it. */
        bool decoded;                   /* The operation is computed from indices and from constants
                                         * that should stay as small as they are. */
        bool packs;                     /* The operation orders decoded weights for a packed
                                         * contraction, which computes them by itself. */
        bool widens;                    /* Its reader wants to read it narrow (fuse_narrow.c). */
        bool summed;                    /* The operation is a reduction, or is computed from one and
                                         * has no more elements. */
        bool per_row;                   /* The operation is needed once for a row. */
        bool along_row;                 /* Its element i is needed where the root's is stored, and
                                         * in loops over the root's row. */
        unsigned loops;                 /* These loops have a bit each. */
};

struct candidate {
        struct op *root;
        const struct op *home;          /* The root has this home. */
        int size;
        bool anchored;                  /* The kernel holds a contraction or a reduction. */
        const struct op *product;       /* The last dot that joined; NULL: it holds none. */
        int products;                   /* It holds this many dots. */
        const struct type *shape;       /* The kernel stores this shape or, where rows become one
                                         * element each, reduces it. */
        bool reduced;                   /* Rows become one element each. */
        unsigned along;                 /* Each dimension of its rows has a bit; 0: it has no
                                         * rows. */
        unsigned loop_count;            /* It has this many loops over a row. */
        const struct op *kept;          /* The values of this operation are kept while a row is
                                         * computed; NULL: of none. */
};

struct fusing {
        struct member *members;         /* The members are all operations of the region, by their
                                         * numbers. */
        int limit;                      /* A candidate has at most this many operations. */
        bool vectors;                   /* The target has vectors, or is a machine whose layouts
                                         * have blocks. */
        const struct target *target;
        bool launches;                  /* Each kernel is a launch, which takes time. */
        bool borders;                   /* The engine multiplies in blocks of warps, which put zeros
                                         * around what they read. */
        bool decodes;                   /* Contractions may decode what they read, with any constant
                                         * around it. */
        bool singles;                   /* Those by single products may copy it, which takes time:
                                         * memory is the goal. */
};

/* A border is zeros that no memory holds: around what a packed contraction reads
 * (fusing_is_border), or around a value that is only moved, too (fusing_is_any_border). */
static inline bool fusing_is_border(const struct fusing *f, const struct op *op)
{
        return f->borders   ? fuse_is_border(op)
               : f->decodes ? fuse_is_decoded(op, f->target, f->singles)
                            : false;
}
static inline bool fusing_is_any_border(const struct fusing *f, const struct op *op)
{
        return fusing_is_border(f, op) || (f->borders && fuse_is_moved_border(op));
}

/* Makes op columns of rows, and leaves the channels of a position as they are? Kernels of small
 * cores store their results so. */
static inline bool fusing_is_turn(const struct fusing *f, const struct op *op)
{
        static const int64_t turn[] = { 0, 1, 3, 2, 4 };
        return f->decodes && op->code == OP_transpose && op_result(op)->type->rank == 5 &&
               !memcmp(op_ints(op, "perm", NULL), turn, sizeof turn);
}

/* Its indices are constants, which have been checked, or inside of x by what they are computed
 * from, so it cannot fail. */
static inline bool fuse_is_known_gather(const struct op *op)
{
        return op->code == OP_gather && (value_is_constant(op_operand(op, 1)) ||
                                         index_gather_is_within(op_module(op), op));
}

/* op reads each index for one element of its result: the kernel that computes the indices can join
 * the kernel of op; op itself joins no kernel before it, because a gather can fail. */
static inline bool fuse_reads_indices(const struct op *op)
{
        return op->code == OP_gather_elements && type_is_static(op->results[0].type) &&
               type_elements(op->results[0].type);
}

/* Is each extent of t known, or one that a run gives and that is never 0, so that lowering can put
 * loops over a row inside all others (ir/lower/lower_rows.c)? */
static inline bool fuse_has_rows(const struct module *m, const struct type *t)
{
        bool has = t->kind == TYPE_TENSOR && type_is_bound(m, t);
        for (int d = 0; has && d < t->rank; d++)
                has = dim_is_static(t->dims[d]) || dim_least(m, t->dims[d]) > 0;
        return has;
}

static inline bool fuse_is_row_operation(const struct op *op)
{
        return fuse_is_elementwise(op) || op->code == OP_reshape || op->code == OP_reduce;
}
/* A view is a kernel of its own or, where memory is shared, none. */
static inline bool fuse_is_view(const struct op *op)
{
        return op->code == OP_reshape || op->code == OP_concat;
}

/* ---- fuse_members.c ---- */

/* Does op cost only index arithmetic, so that almost any user may read it at any index? */
bool fusing_is_move(const struct fusing *f, const struct op *op);
/* Is op of a kind that can be part of a kernel of several operations? */
bool fusing_can_join(const struct fusing *f, const struct op *op);
/* Sets what is known of the region's operations, which have their numbers, before candidates
 * form. */
void fusing_find_members(const struct region *region, const struct fusing *f);

/* ---- fuse_candidates.c ---- */

/* Forms candidates from the last operation to the first, so that users come before what they use.
 * They live in the arena. Every member has a reason then, and a candidate where it has one. */
void fusing_form_candidates(struct region *region, const struct fusing *f, struct arena *arena);

#endif
