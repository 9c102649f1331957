/* SPDX-License-Identifier: MIT */
/* Dimensions and types of Tensor IR (types.c). Types are interned in the module's arena, so equal
 * types are equal pointers. */
#ifndef IR_TENSOR_TYPES_H
#define IR_TENSOR_TYPES_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/size.h"
#include "ir/element.h"

struct module;

enum { RANK_MAX = 16 };

/* A dimension of a type: an extent, which is static, or a term over symbols, whose value only a run
 * of the model knows. Every symbol has an upper bound, so every term has one too. It is a struct so
 * that the C compiler refuses to calculate with it: an extent is read by dim_extent alone. */
typedef struct {
        int64_t code;                   /* >= 0: the extent; negative: ~code is a term's index in
                                         * module->dims. */
} dim_t;
#define DIM_NONE ((dim_t){ INT64_MAX }) /* No type may have this dimension. */

static inline bool dim_is_static(dim_t d) { return d.code >= 0; }
static inline dim_t dim_of(int64_t extent) { return extent < 0 ? DIM_NONE : (dim_t){ extent }; }
static inline bool dim_equal(dim_t a, dim_t b) { return a.code == b.code; }
/* Is d static, with this extent? */
static inline bool dim_is(dim_t d, int64_t extent) { return extent >= 0 && d.code == extent; }
/* Returns the extent of a static dimension. For a term it ends the process with a message and exit
 * code 70: the caller has to know, by dim_is_static or type_is_static, that the dimension has an
 * extent. */
int64_t dim_extent(dim_t d);
/* dims_extents writes the extents of static dimensions to `extents`, [rank]; dims_of makes the
 * dimensions that have them. */
void dims_extents(int64_t *extents, int rank, const dim_t *dims);
void dims_of(dim_t *dims, int rank, const int64_t *extents);

/* A term is never negative: SUB is 0 where b > a, DIV rounds down, and DIV by 0 is 0. */
enum dim_kind { DIM_SYMBOL, DIM_ADD, DIM_SUB, DIM_MUL, DIM_DIV, DIM_MAX, DIM_MIN };
/* size is the number of symbols and literals. */
struct dim_expr { enum dim_kind kind; int symbol; dim_t a, b; int64_t bound; int size; };
/* The extent lies in [least, bound]. at_run: it is a parameter of the compiled code (--dim
 * N=1..512); else the symbol is open, and has to be bound to a number before code is made.
 * counted: an operation `counted` gives at_run's extent its value while the model runs, before any
 * other operation with such a dimension; the caller is told the value where an output has it. One
 * that the body of a loop or a branch counts has it up to the end of that region, where all types
 * with the symbol are. */
struct symbol {
        const char *name;
        int64_t least, bound;
        bool at_run, counted;
        bool kept;                      /* The caller keeps at_run's extent as state, as a part of
                                         * which it is 0 at first (struct function has its next
                                         * value). */
        bool released;                  /* What it was counted for was given up. */
};

struct module;
/* While `out` is set, reading the extent of a term goes there by longjmp instead of ending the
 * process: so code that knows numbers alone is left as soon as it meets a term, and the caller of
 * setjmp throws away what it had made. Returns what was set before, which the caller sets again;
 * each thread has its own. */
jmp_buf *dim_watch(jmp_buf *out);
/* Finds the symbol, or adds it. */
dim_t dim_symbol(struct module *m, const char *name, int64_t bound);
/* Folds static operands, and brings terms to one form so that equal terms are equal numbers. A term
 * that overflows or grows beyond DIM_SIZE_MAX is DIM_NONE. */
dim_t dim_binary(struct module *m, enum dim_kind kind, dim_t a, dim_t b);
int64_t dim_bound(const struct module *m, dim_t d);       /* Returns the upper bound. */
int64_t dim_least(const struct module *m, dim_t d);       /* Returns a lower bound, at least 0. */
/* Is a in every run b and a number, *difference, which may be negative? False: nobody knows. */
bool dim_difference(const struct module *m, dim_t a, dim_t b, int64_t *difference);
/* Is a in every run at least b and a number, *least, which may be negative? False: nobody knows. */
bool dim_exceeds(const struct module *m, dim_t a, dim_t b, int64_t *least);
dim_t dim_round_up(struct module *m, dim_t d, int64_t multiple);
/* Makes a symbol an extent that a run gives, in [least, most]. Returns false, and changes nothing,
 * where that is not within the symbol's bounds. */
bool dim_at_run(struct module *m, int symbol, int64_t least, int64_t most);
/* Adds a symbol in [0, bound] that an operation `counted` gives its value; the name is made unique
 * where another symbol has it. */
dim_t dim_counted(struct module *m, const char *name, int64_t bound);
/* Lets dim_counted give the counted symbols from number `first` on once more, as nothing is left
 * that has them. */
void dims_release(struct module *m, int first);
/* Makes a symbol that a run gives, whose least extent is 0, a part of state. */
void dim_keep(struct module *m, int symbol);
/* Does the module have symbols whose extents a run gives? */
bool module_has_extents(const struct module *m);
/* Returns the product of dimensions, 1 of none. */
dim_t dims_product(struct module *m, int rank, const dim_t *dims);
/* Returns the term of a dimension that is not static. */
const struct dim_expr *dim_term(const struct module *m, dim_t d);
char *dim_text(struct arena *arena, const struct module *m, dim_t d);

enum type_kind { TYPE_TENSOR, TYPE_SEQUENCE, TYPE_OPTIONAL };
struct type {
        enum type_kind kind;
        enum element element;           /* A tensor has this element type. */
        int rank;
        const dim_t *dims;              /* [rank], the outermost first; elements are dense, in
                                         * row-major order. */
        const struct type *of;          /* A sequence or optional has this type inside. */
};

/* Returns NULL where rank > RANK_MAX. */
const struct type *type_tensor(struct module *m, enum element e, int rank, const dim_t *dims);
/* Returns the type with these extents, each >= 0. */
const struct type *type_static(struct module *m, enum element e, int rank, const int64_t *extents);
/* The type has rank 0. */
const struct type *type_scalar(struct module *m, enum element e);
const struct type *type_wrap(struct module *m, enum type_kind kind, const struct type *of);
const struct type *type_with_element(struct module *m, const struct type *t, enum element e);
bool type_is_static(const struct type *t);                /* Is t a tensor whose extents are all
                                                           * known? */
/* Are those of its dimensions from number `first` on? */
bool type_is_static_from(const struct type *t, int first);
/* Returns the extent of dimension i, which is static (dim_extent). */
static inline int64_t type_extent(const struct type *t, int i) { return dim_extent(t->dims[i]); }
/* Is each symbol in t's dimensions an extent that a run gives? */
bool type_is_bound(const struct module *m, const struct type *t);
/* Has the type a dimension that depends on a counted symbol? */
bool type_is_counted(const struct module *m, const struct type *t);
int64_t type_elements(const struct type *t);              /* t is static; the verifier has checked
                                                           * the product. */
int64_t type_bytes(const struct type *t);                 /* t is static and has stored elements. */
/* Is an extent of t 0, whatever the others are? */
static inline bool type_is_empty(const struct type *t)
{
        for (int i = 0; i < t->rank; i++)
                if (dim_is(t->dims[i], 0))
                        return true;
        return false;
}
/* Has t one element in every run? */
static inline bool type_has_one(const struct type *t)
{
        bool one = true;
        for (int i = 0; i < t->rank; i++)
                one = one && dim_is(t->dims[i], 1);
        return one;
}
/* Returns the product of the extents of dimensions from..to - 1, which a run may give. */
dim_t type_product(struct module *m, const struct type *t, int from, int to);
/* Returns how many elements a tensor of the type has at most: the product of its bounds. */
int64_t type_most_elements(const struct module *m, const struct type *t);
/* Returns the bytes of these. */
int64_t type_most_bytes(const struct module *m, const struct type *t);
/* Returns the elements of one index of dimension 0: the product of the other extents, which are
 * static. */
int64_t type_inner_elements(const struct type *t);
/* Returns the type as text: "<1 x 3 x f32>". */
char *type_text(struct arena *arena, const struct module *m, const struct type *t);
bool type_same_dims(const struct type *a, const struct type *b);
/* Are the rank, the extents (their bounds), their product and its bytes within what size_elements
 * allows? */
bool type_is_sound(const struct module *m, const struct type *t);

#endif
