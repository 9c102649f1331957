/* Inside the verifier of Loop IR: loop_verify.c checks a function, loop_verify_program.c what joins
 * functions and buffers. */
#ifndef IR_LOOP_VERIFY_H
#define IR_LOOP_VERIFY_H

#include "ir/loop_parser.h"

/* `shared`: declared outside the parallel loop that is open */
struct verify_name {
        const struct loop_function *function;
        const void *object;
        bool live, shared;
        struct verify_name *outer;
};

struct verifier {
        struct arena *arena;            /* of the check alone */
        struct diag *diag;
        enum exit_code code;
        const struct loop_program *program;       /* NULL: of the library */
        struct map *buffers, *kernels;  /* of the program, by name */
        struct map *functions;          /* library functions there are, by address */
        const struct loop_function *function;
        const struct loop_stmt *stmt;
        struct map *names;              /* struct verify_name, of the last function that declared
                                         * it */
        struct verify_name *innermost;
        int loops;                      /* open */
        bool parallel;                  /* ... one of them */
        bool failed, fails, returns;
};

/* ---- loop_verify.c ---- */

/* Reports the first error, with function and statement; always false. */
bool verify_error(struct verifier *v, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
bool verify_function(struct verifier *v, const struct loop_function *f);
bool verify_expr(struct verifier *v, const struct loop_expr *e, struct loop_type type,
                 const char *what);

/* ---- loop_verify_program.c ---- */

bool verify_has_buffer(const struct verifier *v, const struct loop_buffer *b);
bool verify_has_function(const struct verifier *v, const struct loop_function *f);
/* a kernel or a task, before the function that is checked */
bool verify_has_kernel(const struct verifier *v, const struct loop_function *f);
bool verify_call(struct verifier *v, const struct loop_stmt *call);

#endif
