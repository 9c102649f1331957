/* SPDX-License-Identifier: MIT */
/* Inside vector_block: loop_vector.c rewrites statements, loop_vector_expr.c expressions. */
#ifndef IR_LOOP_VECTORIZER_H
#define IR_LOOP_VECTORIZER_H

#include "ir/loop/loop_vector.h"

/* What an expression is in the lanes: a vector; or a scalar, and in lane l it is e + l * step
 * (step: of an index). */
struct lane_value { struct loop_expr *e; int64_t step; };
static inline bool is_uniform(struct lane_value v) { return v.e->type.lanes == 1 && !v.step; }

/* of a variable: lane, substituted, or declared in the scalar code */
struct lane_binding {
        const struct loop_variable *variable;
        bool varies;                    /* from lane to lane */
        bool inside;                    /* declared in the scalar code */
        struct lane_value value;        /* once known; of a tile: e uses the new tile */
};

struct vectorizer {
        const struct vector_request *request;
        struct arena *arena;
        int lanes;
        struct lane_binding *bindings;  /* variable->number is an index */
        int count;
        struct loop_block *out;
        struct loop_expr *mask;         /* lanes that are active here, or NULL: all */
        bool conditional;               /* the mask is not just the request's */
        bool pinned;                    /* what is written here may not be computed any earlier */
        int choosing;                   /* choices by lane around what is written */
        bool failed;
};

/* ---- loop_vector.c ---- */

/* or NULL */
struct lane_binding *lane_binding_of(const struct vectorizer *v,
                                     const struct loop_variable *variable);

/* ---- loop_vector_expr.c ---- */

struct lane_value lane_expr(struct vectorizer *v, const struct loop_expr *e);
/* the same as a vector */
struct loop_expr *lane_vector(struct vectorizer *v, struct lane_value value);
/* the subscript of a load or store of a vector: scalar where that is contiguous. NULL when not */
struct loop_expr *lane_subscript(struct vectorizer *v, struct lane_value index);
/* a name for e before the statement being written; leaves, and what may not be computed earlier, as
 * they are */
struct loop_expr *lane_named(struct vectorizer *v, const char *name, struct loop_expr *e);
/* narrows the active lanes to those where `condition` is `when`: what they were is returned */
struct loop_expr *lane_mask(struct vectorizer *v, struct loop_expr *condition, bool when);
/* false; nothing that is made matters any more */
bool lane_refuse(struct vectorizer *v);

#endif
