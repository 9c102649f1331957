/* SPDX-License-Identifier: MIT */
/* What the files of the C printer share; nobody else includes this.
 *
 * All that the program holds is printed; what it does not need, `prune` has left out. Functions are
 * printed into texts first: that tells which helpers and library functions are used, and by which
 * level. Then the file is put together from the top, and constants are streamed. */
#ifndef CODEGEN_C_WRITER_H
#define CODEGEN_C_WRITER_H

#include "codegen/c_spelling.h"
#include "codegen/cpu.h"
#include "codegen/c_printer.h"

enum { C_WIDTH = 100, C_INDENT = 8 };

enum c_helper {
#define HELPER(id, name, definition) HELPER_##id,
#include "codegen/c_helpers.def"
        HELPER_COUNT
};

/* The C name of a buffer, a variable or a function, or an expression that stands for it. */
struct c_name {
        const char *text;
        const char **entries;           /* of a register tile, row by row */
        bool used, printed;             /* in an expression; its definition */
        bool is_weight;                 /* a constant beside the C file */
        int level;                      /* the lowest that uses it */
        struct text definition;         /* of a library function, once printed */
};

/* One of the programs; the least comes first. */
struct c_level {
        const struct loop_program *p;
        const struct target *target;
        struct loop_buffer **inputs, **outputs;   /* in order */
        const char *suffix;             /* of its functions' names, and in capitals of macros:
                                         * "x86_64_v3" */
        const char *run;                /* its run function, where that is not the public one */
        bool vectors_used, uses_tiles;
        struct text code;
};

/* A constant that is printed; equal ones are one. */
struct c_constant { const struct loop_buffer *buffer; struct c_name *name; };

struct c_writer;
/* What a language says otherwise that has C's expressions and statements. NULL: as in C99. */
struct c_dialect {
        const char *inlined;            /* before small functions: "static inline " */
        const char *restricted;         /* "restrict " */
        bool is_device;                 /* kernels run elsewhere, in grid form, and weights lie
                                         * there; what is printed is C++ as well */
        void (*reserve)(struct c_writer *w);              /* words of the language */
        void (*check)(struct c_writer *w);                /* options and programs that it does not
                                                           * have */
        void (*top)(struct c_writer *w, struct text *out);          /* behind the header's text */
        void (*header)(struct c_writer *w, struct text *out);
        void (*kernel)(struct c_writer *w, struct loop_function *f);
        void (*grid_loop)(struct c_writer *w, const struct loop_stmt *s);
        const char *unroll;             /* in front of loops that are to be unrolled; or NULL */
        bool (*alloc)(struct c_writer *w, struct loop_buffer *b);   /* false: an array */
        /* where a place of a buffer is, and of which pointer, which is printed; NULL: as it
         * stands */
        const struct loop_expr *(*place)(struct c_writer *w, struct loop_buffer *b,
                                         const struct loop_expr *index);
        void (*fail)(struct c_writer *w, int code);
        /* asynchronous copies, tiles of sums and what touches them, vector accesses, prefetches,
         * waits for launches; NULL: as c_tiles.c and c_vector.c have them */
        void (*product)(struct c_writer *w, const struct loop_stmt *s);
        /* a condition of the preprocessor, and behind it the text of a function of the library
         * that is instructions of the device, under this name; else its formula stands. NULL:
         * the formula alone */
        const char *(*library)(struct c_writer *w, const struct loop_function *f, const char *name);
        /* arguments behind f's own */
        void (*call)(struct c_writer *w, const struct loop_function *f);
        void (*run)(struct c_writer *w, struct text *out);
};
/* the frame of both files, and all that stands in them */
bool c_print(FILE *c, FILE *h, const struct loop_program *p, const struct print_options *options,
             const struct c_dialect *dialect, struct diag *diag);

struct c_writer {
        struct arena *arena;
        const struct c_dialect *dialect;
        struct cuda_writer *cuda;       /* codegen/cuda_writer.h; NULL in C */
        struct c_machine *machine;      /* codegen/c_machine.h; NULL: nothing runs on one */
        struct c_level *levels;
        int level_count;
        int level;                      /* being printed; the next five are its own */
        const struct loop_program *p;
        const struct target *target;
        struct loop_buffer **inputs, **outputs;
        bool has_vectors;               /* the target has; its table spells operations, but not of
                                         * run */
        const struct print_options *options;
        struct diag *diag;
        bool failed;

        struct text *out;               /* receives finished lines */
        struct text line;               /* being written; may be broken at each C_SOFT */
        int indent;
        int depth;                      /* of the expression being printed */
        int calls;                      /* printed so far */
        bool has_parts;                 /* some expressions have a name of their own: see c_split */

        struct names *globals;          /* at file scope, parameters of run, words to avoid */
        struct names *locals;           /* of the function being printed */
        struct map *file_scope;         /* what a local name must not hide */
        struct map *names;              /* address of a buffer, variable, function: c_name */
        struct map *tile_entries;       /* of the function being printed: those mentioned */
        struct map *written;            /* pointers of the function that is printed, which it stores
                                         * through (c_pointer.c) */
        bool in_run;                    /* printing main */
        struct loop_function *kernel;   /* that is printed, and the tasks that it launches */
        struct text tasks;
        const struct loop_stmt *launch; /* of the task that is printed, inside its kernel; or
                                         * NULL / */
        bool has_tasks;
        int tasks_level;                /* the lowest that has */

        /* 0: not used; else 1 + the lowest level that does */
        unsigned char helper_used[HELPER_COUNT][ELEMENT_COUNT][ELEMENT_COUNT];
        bool memory_used[ELEMENT_COUNT];          /* types of memory: see c_memory_type */
        bool align_used[ELEMENT_COUNT];
        bool computes_floats, copies_memory, uses_status, uses_libm;

        bool in_kernel;                 /* what is printed carries the target's attribute */
        bool keeps, pins;
        const char *gcc_optimize;       /* ",no-NAME": what gcc must not do to kernels, of the rows
                                         * that are used */
        struct c_vectored *vectored;    /* library functions on vectors */
        const char *index;              /* type of subscripts in the kernel that is printed; NULL:
                                         * ptrdiff_t */
        struct loop_bounds *bounds, *task_bounds; /* of the kernel's and the task's subscripts, once
                                                   * needed */
        struct c_name element_at;
        struct map *spelled;            /* functions that rows define, by name: c_name of those
                                         * used */
        int input_count, output_count;
        int64_t workspace_size, workspace_align;  /* the largest */
        struct loop_region *areas;      /* the programs' regions, each of its largest size */

        const char **regions;           /* parameters of run for the program's regions */
        struct c_constant *constants;
        size_t constant_count;
        bool uses_weights;              /* what is printed of run does */
        struct c_weight *weights;       /* constants beside the C file, in order */
        size_t weight_count, weight_bytes;        /* of the whole file */
};

/* One error, "bug in the C printer" unless said otherwise; then nothing that is printed matters. */
void c_fail(struct c_writer *w, enum exit_code code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* ---- lines and names (c_writer.c) ---- */

#define C_SOFT "\001"                    /* a space, or the end of the line */
#define C_BREAK "\002"                   /* nothing, or the end of a line that ends nowhere else */
void c_put(struct c_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void c_insert(struct c_writer *w, size_t position, const char *text);     /* into the line */
void c_end(struct c_writer *w);           /* of the line: indents, breaks, moves it to w->out */
void c_line(struct c_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* a function whose text is put together: its head, "{", and "}"; under a condition, return
 * PREFIX_ERROR_CODE */
void c_function_open(struct c_writer *w, const char *head);
void c_function_close(struct c_writer *w);
void c_return_error(struct c_writer *w, const char *code);
/* a comment of as many lines as it takes; any text */
void c_comment(struct text *out, int indent, const char *text);

void c_names_begin(struct c_writer *w);                   /* names of everything at file scope */
/* of the parameters; variables have theirs as they are declared */
void c_names_function(struct c_writer *w, struct loop_function *f);
const char *c_macro(struct c_writer *w, const char *name);        /* PREFIX_NAME */
const char *c_global(struct c_writer *w, const char *stem);       /* a new one of file scope */
const char *c_local(struct c_writer *w, const char *stem);
void c_reserve(struct c_writer *w, const char *word);
struct c_name *c_name_set(struct c_writer *w, const void *object, const char *text);
struct c_name *c_name(struct c_writer *w, const void *object);
void c_mark_used(struct c_writer *w, struct c_name *name);
const char *c_use(struct c_writer *w, const void *object);       /* its text; now it is used */
/* a local name for it, or for each of its entries */
void c_declare(struct c_writer *w, struct loop_variable *v);
const char *c_tile_entry(struct c_writer *w, const struct loop_variable *v, long long row,
                         int column);

/* ---- types, helpers, expressions (c_expression.c, c_helper.c) ---- */

const char *c_type(enum element e);                       /* of a variable: bool is int */
/* of one in the kernel that is printed: w->index */
const char *c_type_here(const struct c_writer *w, enum element e);
const char *c_memory_name(enum element e);
/* of memory that is used for several types */
const char *c_memory_type(struct c_writer *w, enum element e);
const char *c_helper(struct c_writer *w, enum c_helper h, enum element e, enum element from);
void c_helpers_reserve(struct c_writer *w);
void c_helpers_print(struct c_writer *w);                 /* those used */
/* floats must be finite */
const char *c_literal(struct arena *arena, enum element e, union scalar value);

/* Operators by how tightly they bind, as in loop_ops.def; a printed expression has one of these. */
enum c_precedence {
        C_ANY = 0, C_TERNARY = 1, C_LOGICAL = 2, C_BITWISE = 3, C_COMPARISON = 6,
        C_NOT = 8, C_SUM = 9, C_PRODUCT = 10, C_UNARY = 11, C_PRIMARY = 12
};
struct c_shape {
        int precedence;
        bool narrow;                    /* of literals: C's type may be narrower than ours */
};
/* appended to the line */
struct c_shape c_expression(struct c_writer *w, const struct loop_expr *e);
/* in parentheses if it binds less */
void c_operand(struct c_writer *w, const struct loop_expr *e, int least);
/* the element at `index` of b */
void c_element(struct c_writer *w, struct loop_buffer *b, const struct loop_expr *index);
/* prints the pointer that has a place of a buffer; where it is from there on */
const struct loop_expr *c_place(struct c_writer *w, struct loop_buffer *b,
                                const struct loop_expr *index);
struct c_shape c_choice(struct c_writer *w, const struct loop_expr *e);   /* a ? b : c */
/* Compilers bound how deep brackets nest: gives the parts of a deep expression names, in lines
 * before the statement. */
void c_split(struct c_writer *w, const struct loop_expr *e);
bool c_is_deep(const struct loop_expr *e);                /* c_split would do something */

/* ---- vectors (c_vector.c) ---- */

/* e as the target's table spells it; false: nothing to do with vectors, printed as ever */
bool c_vector(struct c_writer *w, const struct loop_expr *e, struct c_shape *shape);
const char *c_value_type(struct c_writer *w, struct loop_type type);      /* of a variable */
void c_zero(struct c_writer *w, struct loop_type type);   /* appended to the line */
void c_vector_store(struct c_writer *w, const struct loop_stmt *s);      /* into the line */
void c_prefetch(struct c_writer *w, const struct loop_stmt *s);
/* TILES, MULTIPLY, UNLOAD, and a VAR in tiles (c_tiles.c) */
bool c_is_tile(const struct loop_variable *v);
void c_tiles(struct c_writer *w, const struct loop_stmt *s);
/* what run does before it uses tiles */
void c_tiles_enable(struct c_writer *w);
int c_tiles_level(const struct c_writer *w);    /* the lowest that uses them; none: the number of
                                                 * levels */
void c_tiles_top(struct c_writer *w, struct text *out);

/* an operand of a row: an expression, a text, or an address */
struct c_operand {
        const struct loop_expr *value;
        struct loop_buffer *address;    /* of the element at `value`, of the first when that is
                                         * NULL */
        bool masked;                    /* which may be none of the buffer's, then */
        int scale;                      /* value times that, in bytes; 0: none */
        const char *text;               /* as it is */
};
enum { C_OPERANDS_MAX = 5 };
struct c_shape c_row(struct c_writer *w, const struct c_spelling *row,
                     const struct c_operand operands[C_OPERANDS_MAX]);

/* a pointer to the element at `at` of b */
void c_vector_address(struct c_writer *w, struct loop_buffer *b, const struct loop_expr *at);

/* ---- indices that are printed as pointers (c_pointer.c) ---- */

void c_find_pointers(struct c_writer *w, const struct loop_function *f);
/* Is `at` an index of these, and so many elements from it? Then that pointer's name. */
bool c_pointer_place(struct c_writer *w, const struct loop_expr *at, const char **pointer,
                     int64_t *number);
/* the let of one; false: it is none */
bool c_pointer_declare(struct c_writer *w, const struct loop_stmt *s);

/* "X86_64_V4 ", between `static` and the type of a kernel; "" where there are no vectors */
const char *c_attribute(struct c_writer *w);
void c_vectors_reserve(struct c_writer *w);
void c_vectors_top(struct c_writer *w, struct text *out);         /* include, attribute */
/* functions of rows that are used */
void c_vectors_print(struct c_writer *w, struct text *out);

/* A library function on vectors, in the order of first use. */
struct c_vectored {
        struct loop_function *scalar, *vector;
        int level;
        const char *name;
        struct text definition;
        struct c_vectored *next;
};

/* ---- registers of any length (c_length.c) ---- */

void c_length_reserve(struct c_writer *w);
void c_length_top(struct c_writer *w, struct text *out);  /* how long they are */
void c_length_check(struct c_writer *w);                  /* what run does before it uses them */
/* behind a condition, where the level's vectors may not fit: " && vector_bytes() >= 32" */
void c_length_condition(struct c_writer *w, int level);

/* ---- what a processor has: c_question.c ---- */

/* in front of the function */
void c_question_declarations(struct c_writer *w, const struct cpu_needs *all);
void c_question(struct c_writer *w, const struct cpu_needs *all);       /* in it */

/* ---- sums in registers (c_keep.c) ---- */

void c_keep(struct c_writer *w, const struct loop_stmt *s);
void c_keep_top(struct c_writer *w, struct text *out);

/* ---- functions (c_kernel.c, c_library.c) ---- */

/* entries of register tiles, each a variable: those that f mentions */
void c_find_entries(struct c_writer *w, const struct loop_function *f);
void c_block(struct c_writer *w, const struct loop_block *block);
void c_kernels(struct c_writer *w, struct text *out);     /* all of the level */
/* ... of parameters that f's text, printed before, does not mention: the first `scalars` of them */
void c_unused(struct c_writer *w, const struct loop_function *f, int scalars);
void c_kernel_comment(struct c_writer *w, const struct loop_function *f);
void c_parameters(struct c_writer *w, const struct loop_function *f);     /* into the line */
/* braces and what is in them */
void c_body(struct c_writer *w, struct loop_function *f, const char *last);
/* of mathematics, to be called */
const char *c_function(struct c_writer *w, struct loop_function *f);
void c_library(struct c_writer *w, struct text *out);     /* all that is used, callees first */
bool c_can_fail(const struct loop_function *f);

/* ---- tasks (c_parallel.c) ---- */

/* a call of dnncc_parallel; the task itself goes into w->tasks */
void c_launch(struct c_writer *w, const struct loop_stmt *s);
void c_parallel_reserve(struct c_writer *w);
void c_parallel_top(struct c_writer *w, struct text *out);        /* what the calls need */

/* ---- several targets (c_levels.c) ---- */

void c_levels_begin(struct c_writer *w);
void c_level(struct c_writer *w, int level);              /* what is printed from now on is of this
                                                           * one */
void c_levels_reserve(struct c_writer *w);
/* around what only this level and those above it need */
void c_level_open(struct c_writer *w, struct text *out, int level);
void c_level_close(struct c_writer *w, struct text *out, int level);
void c_levels_rules(struct c_writer *w);                  /* for the comment of the header */
void c_levels_header(struct c_writer *w);
int c_levels_vectors(const struct c_writer *w);           /* the first level that has any;
                                                           * level_count */
/* what is compiled in; #error where the compiler is for other processors, or too old for a level;
 * headers of intrinsics */
void c_levels_top(struct c_writer *w, struct text *out);
void c_levels_choice(struct c_writer *w, struct text *out);       /* PREFIX_level */
void c_levels_call(struct c_writer *w);                   /* of the run function of a level */

/* ---- run (c_run.c): printed first, it tells what else is used ---- */

bool c_run_is_split(const struct c_writer *w);            /* the public function checks, then calls
                                                           * one of its own */
void c_run_inner(struct c_writer *w, struct text *out);   /* of the level */
void c_run(struct c_writer *w, struct text *out);
void c_run_top(struct c_writer *w, struct text *out);     /* what it calls */
/* "int digits_run(": into the line, no semicolon */
void c_run_prototype(struct c_writer *w, const char *head);
void c_run_arguments(struct c_writer *w);                 /* of a call */
struct text c_main_text(struct c_writer *w);              /* what main does, which tells what it
                                                           * uses */
void c_run_pointers(struct c_writer *w);                  /* variables for the program's buffers */

/* ---- denormal numbers as 0 (c_flush.c): nothing happens without --flush-denormals ---- */

void c_flush_reserve(struct c_writer *w);
void c_flush_rules(struct c_writer *w);                   /* for the comment of the header */
void c_flush_top(struct c_writer *w, struct text *out);
void c_flush_begin(struct c_writer *w);                   /* around calls of the run functions of
                                                           * levels */
void c_flush_end(struct c_writer *w);
const char *c_flush_attribute(const struct c_writer *w);  /* of those */
void c_flush_tasks(struct c_writer *w, struct text *out);
const char *c_flush_parallel(const struct c_writer *w);   /* what shares out a loop */

/* ---- the rest ---- */

void c_constant_names(struct c_writer *w);                /* c_data.c: one name for equal ones */
void c_constants(struct c_writer *w, FILE *out);          /* those used */
bool c_is_zero(const struct loop_buffer *constant);

/* ---- weights beside the C file (c_weights.c): nothing happens where they are inline ---- */

enum { C_WEIGHTS_ALIGN = 64 };          /* of each of them: a cache line */
void c_weights_reserve(struct c_writer *w);
bool c_is_weight(const struct c_writer *w, const struct loop_buffer *constant);
/* an expression of run for it, once c_constant_names has given it a name of its own */
const char *c_weight_text(struct c_writer *w, const char *name);
/* gives those that are used their places: all functions have been printed */
void c_weights_place(struct c_writer *w);
void c_weights_pointer(struct c_writer *w, bool needed);  /* of run: a variable for the parameter */
void c_weights_check(struct c_writer *w);                 /* of run, behind that */
void c_weights_print(struct c_writer *w, const char *build, FILE *c);
/* rows of as many bytes as string literals; how many bytes a row has */
enum { C_ROW_BYTES = 2000 };
void c_rows(FILE *from, size_t bytes, FILE *out);
/* c_descriptor.c: what stands between the guards of the header; the descriptor */
void c_header(struct c_writer *w, struct text *out);
void c_port_table(struct c_writer *w);                    /* for the comment: parameters, extents,
                                                           * names */
void c_port_rules(struct c_writer *w);                    /* ... what elements are */
void c_port_macros(struct c_writer *w);
void c_error_macros(struct c_writer *w);
void c_descriptor_header(struct c_writer *w);
/* c_trace.c: nothing without --profile=FILE */
void c_trace_header(struct c_writer *w);
void c_trace(struct c_writer *w, struct text *out);
void c_descriptor(struct c_writer *w, struct text *out);

#endif
