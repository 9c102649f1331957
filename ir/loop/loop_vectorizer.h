/* SPDX-License-Identifier: MIT */
/* Inside vector_block: loop_vector.c rewrites statements, loop_vector_expr.c expressions. */
#ifndef IR_LOOP_LOOP_VECTORIZER_H
#define IR_LOOP_LOOP_VECTORIZER_H

#include "ir/loop/loop_vector.h"

/* A lane_value is an expression in the lanes: a vector; or a scalar, where lane l has e + l * step
 * (step: for an index). */
struct lane_value { struct loop_expr *e; int64_t step; };
static inline bool is_uniform(struct lane_value v) { return v.e->type.lanes == 1 && !v.step; }

/* A binding says what a variable is in the lanes: it is the lane, is substituted, or is declared in
 * the scalar code. */
struct lane_binding {
        const struct loop_variable *variable;
        bool varies;                    /* The variable differs from lane to lane. */
        bool inside;                    /* The variable is declared in the scalar code. */
        struct lane_value value;        /* The value is set once known; for a tile, e uses the new
                                         * tile. */
};

struct vectorizer {
        const struct vector_request *request;
        struct arena *arena;
        int lanes;
        struct lane_binding *bindings;  /* variable->number is an index into it. */
        int count;
        struct loop_block *out;
        struct loop_expr *mask;         /* These lanes are active here; NULL: all. */
        bool conditional;               /* The mask is not just the request's. */
        bool pinned;                    /* What is written here may not be computed earlier. */
        int choosing;                   /* The number of choices by lane around what is written. */
        bool failed;
};

/* ---- loop_vector.c ---- */

/* Returns NULL if it has none. */
struct lane_binding *lane_binding_of(const struct vectorizer *v,
                                     const struct loop_variable *variable);

/* ---- loop_vector_expr.c ---- */

struct lane_value lane_expr(struct vectorizer *v, const struct loop_expr *e);
/* Returns the same as a vector. */
struct loop_expr *lane_vector(struct vectorizer *v, struct lane_value value);
/* Returns the subscript of a load or store of a vector: a scalar where that is contiguous. NULL: it
 * cannot be one. */
struct loop_expr *lane_subscript(struct vectorizer *v, struct lane_value index);
/* Returns a name for e, declared before the statement being written; leaves, and what may not be
 * computed earlier, are returned as they are. */
struct loop_expr *lane_named(struct vectorizer *v, const char *name, struct loop_expr *e);
/* Narrows the active lanes to those where `condition` is `when`. Returns what they were. */
struct loop_expr *lane_mask(struct vectorizer *v, struct loop_expr *condition, bool when);
/* Returns false; nothing that is built matters any more. */
bool lane_refuse(struct vectorizer *v);

#endif
