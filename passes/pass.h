/* Passes: one file each, listed in passes.def; the manager runs a list of them, verifies, dumps, counts. */
#ifndef PASSES_PASS_H
#define PASSES_PASS_H

#include "ir/interp.h"
#include "ir/loop.h"
#include "ir/lower.h"
#include "ir/target.h"
#include "ir/tensor.h"

struct limits {                         /* --limit NAME=N; limits.def */
#define LIMIT(name, preset, doc) int64_t name;
#include "passes/limits.def"
};
extern const struct limits limits_preset;

struct pass_context {
        struct diag *diag;
        const struct target *target;
        const struct loop_library *library;
        struct limits limits;
        struct lower_options lower;
        int64_t fold_steps;             /* spent so far, of limits.fold_total_steps */
        bool exact;                     /* only class E rewrites */
        bool assume_finite;             /* class D allowed */
};

enum pass_level { LEVEL_TENSOR, LEVEL_LOWER, LEVEL_LOOP };
enum pass_class { CLASS_E, CLASS_R };   /* exact to the bit, or rounding changes */

struct pass {
        const char *name, *doc;
        enum pass_level level;
        enum pass_class class;
        int (*run_tensor)(struct function *f, struct pass_context *context);      /* number of rewrites, -1 after an error */
        int (*run_loop)(struct loop_program *p, struct pass_context *context);
};
extern const struct pass passes[];
extern const int pass_count;
const struct pass *pass_find(const char *name);

/* Evaluates a pure operation on constants through its canonical lowering; the builder's fold hook (context: struct
 * pass_context *) and the fold pass. NULL: not worth it, too big, or out of budget; never an error. */
struct value *fold_op(struct builder *b, struct op *op, void *context);
/* v, or the constant that the operation behind it computes from constants, even where it costs bytes; NULL otherwise */
struct value *fold_value(struct builder *b, struct value *v, struct pass_context *context);

#endif
