/* SPDX-License-Identifier: MIT */
/* The files of the C printer share this; no other file includes it.
 *
 * The whole program is printed; `prune` has removed what it does not need. Functions are printed
 * into texts first, which shows which helpers and library functions are used, and by which level.
 * Then the file is put together from the top, and constants are streamed. */
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

/* A name is the C name of a buffer, a variable or a function, or an expression that stands for
 * it. */
struct c_name {
        const char *text;
        const char **entries;           /* For a register tile, these are the names of its entries,
                                         * row by row. */
        bool used, printed;             /* `used`: it occurs in an expression; `printed`: its
                                         * definition has been printed. */
        bool is_weight;                 /* It is a constant beside the C file. */
        int level;                      /* This is the lowest level that uses it. */
        struct text definition;         /* It holds the definition of a library function, once
                                         * printed. */
};

/* One of the programs; the least comes first. */
struct c_level {
        const struct loop_program *p;
        const struct target *target;
        struct loop_buffer **inputs, **outputs, **states;         /* They are in order, entry by
                                                                   * entry. */
        int input_count, output_count;  /* They are of all entries. */
        const char *suffix;             /* Names of its functions end in this, and those of macros
                                         * in the same in capitals: "x86_64_v3". */
        const char **runs;              /* The run function of each entry has this name, where that
                                         * is not the public one. */
        bool vectors_used, uses_tiles;
        struct c_name **text_bytes;     /* Each port of texts has its other name here, inputs first
                                         * (c_text_swap). */
        struct text code;
};

/* This constant is printed; equal ones are one. */
struct c_constant { const struct loop_buffer *buffer; struct c_name *name; };

struct c_writer;
/* A dialect says where a language differs from C99 whose expressions and statements are those of C.
 * NULL: as in C99. */
struct c_dialect {
        const char *inlined;            /* It stands before small functions: "static inline ". */
        const char *restricted;         /* It qualifies pointers: "restrict ". */
        bool is_device;                 /* Kernels run on a device, in grid form, and weights lie
                                         * there; the printed code is also C++. */
        void (*reserve)(struct c_writer *w);              /* Reserves words of the language. */
        void (*check)(struct c_writer *w);                /* It rejects options and programs that
                                                           * the language does not support. */
        void (*top)(struct c_writer *w, struct text *out);          /* Prints what stands after the
                                                                     * header's text. */
        void (*header)(struct c_writer *w, struct text *out);
        void (*kernel)(struct c_writer *w, struct loop_function *f);
        void (*grid_loop)(struct c_writer *w, const struct loop_stmt *s);
        const char *unroll;             /* It stands before loops that are to be unrolled; or
                                         * NULL. */
        bool (*alloc)(struct c_writer *w, struct loop_buffer *b);   /* Returns false where the alloc
                                                                     * is an array. */
        /* Prints the pointer that a place of a buffer belongs to; returns the index relative to it.
         * NULL: the buffer and its index are used. */
        const struct loop_expr *(*place)(struct c_writer *w, struct loop_buffer *b,
                                         const struct loop_expr *index);
        void (*fail)(struct c_writer *w, int code);
        /* Prints asynchronous copies, statements on tiles of sums, vector accesses, prefetches, and
         * waits for launches; NULL: c_tiles.c and c_vector.c print them. */
        void (*product)(struct c_writer *w, const struct loop_stmt *s);
        /* Returns a condition of the preprocessor, and after it the text of a library function of
         * this name that uses instructions of the device; where the condition is false, its formula
         * is used. NULL: the formula alone. */
        const char *(*library)(struct c_writer *w, const struct loop_function *f, const char *name);
        /* Prints the arguments that follow f's own. */
        void (*call)(struct c_writer *w, const struct loop_function *f);
        void (*run)(struct c_writer *w, struct text *out);
};
/* Prints the frame of both files, and everything in them. */
bool c_print(FILE *c, FILE *h, const struct loop_program *p, const struct print_options *options,
             const struct c_dialect *dialect, struct diag *diag);

struct c_writer {
        struct arena *arena;
        const struct c_dialect *dialect;
        struct cuda_writer *cuda;       /* It is described in codegen/cuda_writer.h; NULL in C. */
        struct c_machine *machine;      /* See codegen/c_machine.h; NULL: nothing runs on a
                                         * machine. */
        struct c_level *levels;
        int level_count;
        int entry;                      /* This entry is being printed; inputs, outputs, their
                                         * counts and `prefix` are its own. */
        const char *prefix;             /* Its functions and macros of its ports begin so: as all
                                         * do, and with its name where there are several. */
        int level;                      /* This level is being printed; the next six members are
                                         * its own. */
        const struct loop_program *p;
        const struct target *target;
        struct loop_buffer **inputs, **outputs, **states;
        bool has_vectors;               /* The target has vectors: its table has rows for operations
                                         * on them, though none for run. */
        const struct print_options *options;
        struct diag *diag;
        bool failed;

        struct text *out;               /* It receives finished lines. */
        struct text line;               /* This line is being written, and may be broken at each
                                         * C_SOFT. */
        int indent;
        int depth;                      /* The expression is being printed at this depth. */
        int calls;                      /* It counts the calls printed so far. */
        bool has_parts;                 /* Some expressions have a name of their own: see
                                         * c_split. */
        bool decides;                   /* The next expression is what an if decides by, or a side
                                         * of a logical operation that is. */

        struct names *globals;          /* Names at file scope, parameters of run, and words to
                                         * avoid. */
        struct names *locals;           /* These are names of the function being printed. */
        struct map *file_scope;         /* A local name must not hide these names. */
        struct map *names;              /* It maps the address of a buffer, variable or function to
                                         * its c_name. */
        struct map *tile_entries;       /* The function being printed mentions these tile
                                         * entries. */
        struct map *port_names;         /* It maps the model's names of ports to their names in C,
                                         * where there are several entries. */
        struct map *written;            /* The function being printed stores through these pointers
                                         * (c_pointer.c). */
        struct map *walks;              /* It maps pointers that loads move to how far they have. */
        bool in_run;                    /* main is being printed. */
        struct loop_function *kernel;   /* This kernel is being printed, and the tasks that it
                                         * launches. */
        struct text tasks;
        const struct loop_stmt *launch; /* This launches the task being printed, inside its kernel;
                                         * or NULL. */
        bool has_tasks;
        int tasks_level;                /* This is the lowest level that has tasks. */

        /* 0: it is not used; otherwise it is 1 + the lowest level that uses it. */
        unsigned char helper_used[HELPER_COUNT][ELEMENT_COUNT][ELEMENT_COUNT];
        bool memory_used[ELEMENT_COUNT];          /* These types of memory are used: see
                                                   * c_memory_type. */
        bool align_used[ELEMENT_COUNT];
        bool computes_floats, copies_memory, uses_status, uses_libm;

        bool in_kernel;                 /* The code being printed carries the target's attribute. */
        bool keeps, pins;
        bool rolls;                     /* Loops over rows of sums have ROLLED in front. */
        const char *gcc_optimize;       /* ",no-NAME": gcc must not apply these optimizations to
                                         * kernels, because of the rows that are used. */
        struct c_vectored *vectored;    /* It lists the library functions on vectors. */
        const char *index;              /* Subscripts in the kernel being printed have this type;
                                         * NULL: ptrdiff_t. */
        /* They bound subscripts in the kernel and in the task, once needed. */
        struct loop_bounds *bounds, *task_bounds;
        struct c_name element_at;
        bool is_not_portable;           /* Plain C has not all that the code calls. */
        const struct inside *inside;    /* Kernels of this program name constants (inside.h). */
        const struct loop_program *inside_of;
        bool *portable_used;            /* It says of each row of target_portable whether it is
                                         * called. */
        struct map *spelled;            /* It maps the names of functions that rows define, and that
                                         * are used, to their c_name. */
        const char *described_states;   /* The table of state; NULL: it is not printed yet. */
        int input_count, output_count, state_count;
        int64_t workspace_size, workspace_align;  /* These are the largest of all levels. */
        struct loop_region *areas;      /* These are the programs' regions, each with its largest
                                         * size. */

        const char **regions;           /* These are the parameters of run for the program's
                                         * regions. */
        struct c_constant *constants;
        size_t constant_count;
        bool uses_weights;              /* The printed code of run uses them. */
        struct c_weight *weights;       /* They list the constants beside the C file, in order. */
        size_t weight_count, weight_bytes;        /* The whole file has this many bytes. */
        /* Code in another language is described there, in that arena; NULL: the C is printed. */
        struct c_interface *interface;
        struct arena *interface_arena;
};

/* Reports one error, "bug in the C printer" unless another code is given; what is printed
 * afterwards does not matter. */
void c_fail(struct c_writer *w, enum exit_code code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* ---- lines and names (c_writer.c) ---- */

#define C_SOFT "\001"                    /* It is a space, or the end of the line. */
#define C_BREAK "\002"                   /* Nothing, or the end of a line that cannot end
                                          * elsewhere. */
void c_put(struct c_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Inserts into the line. */
void c_insert(struct c_writer *w, size_t position, const char *text);
void c_end(struct c_writer *w);           /* Ends the line: indents and breaks it, and moves it to
                                           * w->out. */
void c_line(struct c_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* These print a function whose text is composed: c_function_open prints its head and "{",
 * c_function_close "}"; c_return_error prints, under a condition, the return of
 * PREFIX_ERROR_CODE. */
void c_function_open(struct c_writer *w, const char *head);
void c_function_close(struct c_writer *w);
void c_return_error(struct c_writer *w, const char *code);
/* Prints any text as a comment of as many lines as it needs. */
void c_comment(struct text *out, int indent, const char *text);

void c_names_begin(struct c_writer *w);                   /* Names everything at file scope. */
/* Names the parameters; variables get their names when they are declared. */
void c_names_function(struct c_writer *w, struct loop_function *f);
const char *c_macro(struct c_writer *w, const char *name);        /* Returns PREFIX_NAME. */
/* Returns PREFIX_ENTRY_PORT_NAME, a macro of a port of the entry; PREFIX_PORT_NAME for the only
 * entry. */
const char *c_port_macro(struct c_writer *w, const char *port, const char *name);
const char *c_global(struct c_writer *w, const char *stem);       /* Returns a new name of file
                                                                   * scope. */
const char *c_local(struct c_writer *w, const char *stem);
void c_reserve(struct c_writer *w, const char *word);
struct c_name *c_name_set(struct c_writer *w, const void *object, const char *text);
struct c_name *c_name(struct c_writer *w, const void *object);
void c_mark_used(struct c_writer *w, struct c_name *name);
const char *c_use(struct c_writer *w, const void *object);       /* Returns its text, and notes that
                                                                  * it is used. */
/* Gives a variable a local name, or one for each of its entries. */
void c_declare(struct c_writer *w, struct loop_variable *v);
const char *c_tile_entry(struct c_writer *w, const struct loop_variable *v, long long row,
                         int column);

/* ---- types, helpers, expressions (c_expression.c, c_helper.c) ---- */

const char *c_type(enum element e);                       /* Returns the type of a variable: bool is
                                                           * int. */
/* Returns the type of a variable in the kernel being printed: w->index for indices. */
const char *c_type_here(const struct c_writer *w, enum element e);
const char *c_memory_name(enum element e);
/* Returns the type of memory that is used for several types. */
const char *c_memory_type(struct c_writer *w, enum element e);
const char *c_helper(struct c_writer *w, enum c_helper h, enum element e, enum element from);
void c_helpers_reserve(struct c_writer *w);
void c_helpers_print(struct c_writer *w);                 /* Prints the helpers that are used. */
/* Floats must be finite. */
const char *c_literal(struct arena *arena, enum element e, union scalar value);

/* Operators bind this tightly, as in loop_ops.def; a printed expression has one of these. */
enum c_precedence {
        C_ANY = 0, C_TERNARY = 1, C_LOGICAL = 2, C_BITWISE = 3, C_COMPARISON = 6,
        C_NOT = 8, C_SUM = 9, C_PRODUCT = 10, C_UNARY = 11, C_PRIMARY = 12
};
struct c_shape {
        int precedence;
        bool narrow;                    /* For literals: C's type may be narrower than ours. */
};
/* Appends an expression to the line. */
struct c_shape c_expression(struct c_writer *w, const struct loop_expr *e);
/* Appends it, in parentheses if it binds less tightly. */
void c_operand(struct c_writer *w, const struct loop_expr *e, int least);
/* Appends the element at `index` of b. */
void c_element(struct c_writer *w, struct loop_buffer *b, const struct loop_expr *index);
/* Prints the pointer that a place of a buffer belongs to; returns the index relative to it. */
const struct loop_expr *c_place(struct c_writer *w, struct loop_buffer *b,
                                const struct loop_expr *index);
struct c_shape c_choice(struct c_writer *w, const struct loop_expr *e);   /* Prints a ? b : c. */
/* Gives the parts of a deep expression names, in lines before the statement, because compilers
 * bound how deep brackets nest. */
void c_split(struct c_writer *w, const struct loop_expr *e);
bool c_is_deep(const struct loop_expr *e);                /* Would c_split do anything? */

/* ---- vectors (c_vector.c) ---- */

/* Prints e by the rows of the target's table. Returns false where e has nothing to do with vectors
 * and is printed as usual. */
bool c_vector(struct c_writer *w, const struct loop_expr *e, struct c_shape *shape);
/* Returns the type of a variable. */
const char *c_value_type(struct c_writer *w, struct loop_type type);
void c_zero(struct c_writer *w, struct loop_type type);   /* Appends a zero to the line. */
/* Prints a store into the line. */
void c_vector_store(struct c_writer *w, const struct loop_stmt *s);
void c_prefetch(struct c_writer *w, const struct loop_stmt *s);
/* Print the statements TILES, MULTIPLY and UNLOAD, and a VAR in tiles (c_tiles.c). */
bool c_is_tile(const struct loop_variable *v);
void c_tiles(struct c_writer *w, const struct loop_stmt *s);
/* Prints what run does before it uses tiles. */
void c_tiles_enable(struct c_writer *w);
/* Returns the lowest level that uses tiles; level_count where none does. */
int c_tiles_level(const struct c_writer *w);
void c_tiles_top(struct c_writer *w, struct text *out);

/* An operand of a row is an expression, a text, or an address. */
struct c_operand {
        const struct loop_expr *value;
        struct loop_buffer *address;    /* The buffer's element at `value` is addressed, or its
                                         * first element where `value` is NULL. */
        bool masked;                    /* The access is masked, so the address may lie outside of
                                         * the buffer. */
        int scale;                      /* The value is multiplied by this, in bytes; 0: it is
                                         * not. */
        const char *text;               /* This text is printed as it is. */
};
enum { C_OPERANDS_MAX = 5 };
struct c_shape c_row(struct c_writer *w, const struct c_spelling *row,
                     const struct c_operand operands[C_OPERANDS_MAX]);

/* Prints a pointer to the element at `at` of b. */
void c_vector_address(struct c_writer *w, struct loop_buffer *b, const struct loop_expr *at);

/* ---- indices that are printed as pointers (c_pointer.c) ---- */

void c_find_pointers(struct c_writer *w, const struct loop_function *f);
/* Is `at` one of these indices, or the sum of one and *number? Then *pointer is its name. */
bool c_pointer_place(struct c_writer *w, const struct loop_expr *at, const char **pointer,
                     int64_t *number);
/* Prints the let `s` as a pointer, if its index is printed as one; otherwise returns false. */
bool c_pointer_declare(struct c_writer *w, const struct loop_stmt *s);
/* Returns the pointer that the load converted by e moves, by *step elements; NULL: none. */
const char *c_pointer_walk(struct c_writer *w, const struct loop_expr *e, int64_t *step);

/* Returns "X86_64_V4 ", which stands between `static` and the type of a kernel; "" where there are
 * no vectors. */
const char *c_attribute(struct c_writer *w);
void c_vectors_reserve(struct c_writer *w);
void c_vectors_top(struct c_writer *w, struct text *out);         /* Prints includes and the
                                                                   * attribute. */
/* Prints functions of rows that are used. */
void c_vectors_print(struct c_writer *w, struct text *out);

/* It lists a library function on vectors, in the order of first use. */
struct c_vectored {
        struct loop_function *scalar, *vector;
        int level;
        const char *name;
        struct text definition;
        struct c_vectored *next;
};

/* ---- images (c_image.c) ---- */

void c_image(struct c_writer *w, const struct loop_stmt *s);        /* Prints an IMAGE. */
bool c_image_any(const struct c_writer *w);
void c_image_header(struct c_writer *w);

/* ---- c_external.c: C functions of the program's ---- */

bool c_external_any(const struct c_writer *w);
/* Is there one of a library of ours, or one that is none? */
bool c_external_fails(const struct c_writer *w, bool of_library);
/* Takes the names of the functions, and checks them. */
void c_external_reserve(struct c_writer *w);
void c_external_header(struct c_writer *w);
/* Prints the body of a kernel that calls one. */
void c_external(struct c_writer *w, const struct loop_function *f);
/* Where print_options.meanings asks for what these C functions mean: the first prints a function
 * with the body of a kernel that calls one, the second weak definitions of all of them by these. */
void c_external_meaning(struct c_writer *w, struct loop_function *f);
void c_external_definitions(struct c_writer *w, struct text *out);

/* ---- ports of texts (c_text.c) ---- */

bool c_text_any(const struct c_writer *w);
bool c_text_inputs(const struct c_writer *w);             /* Are there texts to copy, in any entry,
                                                           * or in this one? */
bool c_text_copied(const struct c_writer *w);
/* Returns the bytes of each text of a port, its NUL included. */
int64_t c_text_room(const struct loop_buffer *b);
void c_text_reserve(struct c_writer *w);
void c_text_top(struct c_writer *w, struct text *out);    /* Prints the function that copies
                                                           * texts. */
/* A port of texts is called like the parameter of run in its head and its checks, and like the
 * bytes that kernels see in its body: c_text_names chooses the latter names, and c_text_swap goes
 * from one to the other. */
void c_text_names(struct c_writer *w);
void c_text_swap(struct c_writer *w);
void c_text_pointers(struct c_writer *w);                 /* Prints the bytes; the names are those
                                                           * of the parameters. */
void c_text_copies(struct c_writer *w);                   /* Prints the copies of inputs; the names
                                                           * are those of the bytes. */

/* ---- what the caller keeps between runs (c_state.c): nothing happens without --state ---- */

bool c_state_any(const struct c_writer *w);
void c_state_reserve(struct c_writer *w);
const char *c_state_parameter(struct c_writer *w);        /* Returns "struct gru_state *state". */
void c_state_header(struct c_writer *w);                  /* Prints the struct, and its macros. */
void c_state_usage(struct c_writer *w);                   /* Prints a line of the header's
                                                           * example. */
void c_state_table(struct c_writer *w);                   /* Prints lines of the table of
                                                           * parameters. */
/* Prints run's check that the state is of this build, after that of pointers. */
void c_state_check(struct c_writer *w);
void c_state_pointers(struct c_writer *w);                /* Prints variables for the members. */
void c_state_uses(struct c_writer *w);                    /* Marks the extents that c_state_end
                                                           * names. */
/* Prints what gives extents that are state their next values. */
void c_state_end(struct c_writer *w);
void c_state_functions(struct c_writer *w, struct text *out);     /* Prints PREFIX_state_reset. */
/* Prints the table of members; returns its name. */
const char *c_state_describe(struct c_writer *w);

/* ---- vector registers of any length (c_length.c) ---- */

void c_length_reserve(struct c_writer *w);
void c_length_top(struct c_writer *w, struct text *out);  /* Prints the function that returns their
                                                           * length. */
void c_length_check(struct c_writer *w);                  /* Prints run's check of the length. */
/* Appends to a condition, where the level's vectors may not fit: " && vector_bytes() >= 32". */
void c_length_condition(struct c_writer *w, int level);

/* ---- what a processor has (c_question.c) ---- */

/* Prints declarations before the function. */
void c_question_declarations(struct c_writer *w, const struct cpu_needs *all);
/* Prints the question in the function. */
void c_question(struct c_writer *w, const struct cpu_needs *all);

/* ---- code for any compiler (c_portable.c) ---- */

/* Returns the macro that asks for plain C; NULL: the target's code has none. */
const char *c_portable_macro(struct c_writer *w);
/* Notes the functions of the target's header that the row calls; `own` is the one that it
 * defines. */
void c_portable_use(struct c_writer *w, const struct c_spelling *row, const char *own);
/* Prints what plain C has in place of the header, and opens what is with the header alone. Returns
 * false if there is no plain C. */
bool c_portable_functions(struct c_writer *w, struct text *out);

/* ---- sums in registers (c_keep.c) ---- */

void c_keep(struct c_writer *w, const struct loop_stmt *s);
void c_keep_top(struct c_writer *w, struct text *out);

/* ---- functions (c_kernel.c, c_library.c) ---- */

/* Finds the entries of register tiles that f mentions, each of which is a variable. */
void c_find_entries(struct c_writer *w, const struct loop_function *f);
void c_block(struct c_writer *w, const struct loop_block *block);
void c_statement(struct c_writer *w, const struct loop_stmt *s);
/* Returns how many calls of kernels come before this one in all mains; NULL: how many there are. */
int c_call_number(const struct c_writer *w, const struct loop_stmt *call);
void c_kernels(struct c_writer *w, struct text *out);     /* Prints all kernels of the level. */
/* Returns the constant that kernel f names itself as its i-th buffer (inside.h), or NULL. */
struct loop_buffer *c_inside(struct c_writer *w, const struct loop_function *f, int i);
/* Prints (void) statements for parameters that f's text, printed before, does not mention, for the
 * first `scalars` scalars. */
void c_unused(struct c_writer *w, const struct loop_function *f, int scalars);
/* Prints pointers to the constants that f names itself, where it uses them. */
void c_put_inside(struct c_writer *w, const struct loop_function *f);
void c_kernel_comment(struct c_writer *w, const struct loop_function *f);
/* Appends the parameters to the line. */
void c_parameters(struct c_writer *w, const struct loop_function *f);
/* Prints braces and the statements in them. */
void c_body(struct c_writer *w, struct loop_function *f, const char *last);
/* Returns the name of a function of mathematics that is called. */
const char *c_function(struct c_writer *w, struct loop_function *f);
void c_library(struct c_writer *w, struct text *out);     /* Prints all functions that are used,
                                                           * callees first. */
bool c_can_fail(const struct loop_function *f);

/* ---- tasks (c_parallel.c) ---- */

/* Prints a call of dnncc_parallel; the task itself goes into w->tasks. */
void c_launch(struct c_writer *w, const struct loop_stmt *s);
void c_parallel_reserve(struct c_writer *w);
void c_parallel_top(struct c_writer *w, struct text *out);        /* Prints what the calls need. */

/* ---- several targets (c_levels.c) ---- */

void c_levels_begin(struct c_writer *w);
/* Sets the entry that is printed from now on. */
void c_entry(struct c_writer *w, int entry);
/* Is extent i a parameter of the entry's run function, or a result? */
bool c_takes_extent(const struct c_writer *w, int i);
bool c_tells_extent(const struct c_writer *w, int i);
/* Is extent i state that run reads and sets where its caller keeps it, in the host's memory, while
 * a device has the state itself? */
bool c_passes_extent(const struct c_writer *w, int i);
/* Sets the level that is printed from now on. */
void c_level(struct c_writer *w, int level);
void c_levels_reserve(struct c_writer *w);
/* Print the guards around what only this level and those above it need. */
void c_level_open(struct c_writer *w, struct text *out, int level);
void c_level_close(struct c_writer *w, struct text *out, int level);
void c_levels_rules(struct c_writer *w);                  /* Prints lines for the header's
                                                           * comment. */
void c_levels_header(struct c_writer *w);
/* Returns the first level that has vectors, or level_count. */
int c_levels_vectors(const struct c_writer *w);
/* Prints which levels are compiled, an #error where the compiler is for other processors, or too
 * old for a level, and the headers of intrinsics. */
void c_levels_top(struct c_writer *w, struct text *out);
void c_levels_choice(struct c_writer *w, struct text *out);       /* Prints PREFIX_level. */
void c_levels_call(struct c_writer *w);                   /* Prints the call of a level's run
                                                           * function. */

/* ---- run (c_run.c), which is printed first, because it shows what else is used ---- */

/* Does the public function only check, and call another one? */
bool c_run_is_split(const struct c_writer *w);
/* Prints the level's own run function, which begins with `head`. */
void c_run_inner(struct c_writer *w, struct text *out, const char *head);
void c_run(struct c_writer *w, struct text *out);
/* Appends "int digits_run(" and the parameters to the line, without a semicolon. */
void c_run_prototype(struct c_writer *w, const char *head);
/* c_run_open prints the head of a function that runs a model, with its opening bracket; c_run_close
 * prints the closing one. */
void c_run_open(struct c_writer *w, const char *head);
void c_run_close(struct c_writer *w);
void c_run_prototypes(struct c_writer *w);                /* Prints those of all entries. */
/* Returns what a parameter of run points to: "float", or "char *const" for texts that it reads. */
const char *c_port_type(const struct loop_buffer *b);
void c_run_arguments(struct c_writer *w);                 /* Prints the arguments of a call. */
/* Print the checks of arguments, and these with those of state. */
void c_run_check_arguments(struct c_writer *w);
void c_run_checks(struct c_writer *w);
/* Print the check of the extents that are parameters, and variables for all extents. */
void c_run_check_extents(struct c_writer *w);
void c_run_extents(struct c_writer *w);
/* Returns the text of main's statements, which shows what it uses. */
struct text c_main_text(struct c_writer *w);
void c_run_pointers(struct c_writer *w);                  /* Prints variables for the program's
                                                           * buffers. */

/* ---- runs in steps (c_step.c): nothing happens without a record ---- */

bool c_step_any(const struct c_writer *w);
void c_step_reserve(struct c_writer *w);
/* Prints main as places that the record has the number of. */
void c_step_main(struct c_writer *w);
/* Prints begin, step, and run by them. */
void c_step(struct c_writer *w, struct text *out);
void c_step_helpers(struct c_writer *w, struct text *out);
void c_step_header(struct c_writer *w);
/* Prints the mark of a record, a part of the build's digest. */
void c_step_top(struct c_writer *w, const char *build, struct text *out);

/* ---- denormal numbers as 0 (c_flush.c): nothing happens without --flush-denormals ---- */

void c_flush_reserve(struct c_writer *w);
void c_flush_rules(struct c_writer *w);                   /* Prints lines for the header's
                                                           * comment. */
void c_flush_top(struct c_writer *w, struct text *out);
/* They are printed before and after calls of the levels' run functions. */
void c_flush_begin(struct c_writer *w);
void c_flush_end(struct c_writer *w);
const char *c_flush_attribute(const struct c_writer *w);  /* Returns the attribute of these
                                                           * functions. */
void c_flush_tasks(struct c_writer *w, struct text *out);
const char *c_flush_parallel(const struct c_writer *w);   /* Returns the name of the function that
                                                           * shares out a loop. */

/* ---- the rest ---- */

void c_constant_names(struct c_writer *w);                /* Names constants (c_data.c), equal ones
                                                           * alike. */
void c_constants(struct c_writer *w, FILE *out);          /* Prints the constants that are used. */
bool c_is_zero(const struct loop_buffer *constant);

/* ---- weights beside the C file (c_weights.c): nothing happens where they are inline ---- */

enum { C_WEIGHTS_ALIGN = 64 };          /* Each of them is aligned to a cache line. */
void c_weights_reserve(struct c_writer *w);
bool c_is_weight(const struct c_writer *w, const struct loop_buffer *constant);
/* Returns an expression for a weight in run, once c_constant_names has given it a name of its
 * own. */
const char *c_weight_text(struct c_writer *w, const char *name);
/* Gives the weights that are used their places; all functions must have been printed. */
void c_weights_place(struct c_writer *w);
void c_weights_pointer(struct c_writer *w, bool needed);  /* Prints run's variable for the
                                                           * parameter. */
void c_weights_check(struct c_writer *w);                 /* Prints run's check, after that. */
/* c may be NULL: then only the file is written. */
void c_weights_print(struct c_writer *w, const char *build, FILE *c);
/* Says where weights lie in the file, in the arena. */
void c_weights_describe(struct c_writer *w, const char *build, struct arena *arena,
                        struct c_interface *interface);
/* Prints bytes as rows of string literals of C_ROW_BYTES bytes each. */
enum { C_ROW_BYTES = 2000 };
void c_rows(FILE *from, size_t bytes, FILE *out);
/* ---- c_header.c ---- */

/* A port as callers see it: they see no extent of the bytes of texts. */
static inline int c_port_rank(const struct loop_buffer *b)
{
        return b->type ? b->type->rank - b->is_text : 1;
}
static inline int64_t c_port_extent(const struct loop_buffer *b, int i)
{
        return b->type ? type_extent(b->type, i) : b->extent;
}
static inline const char *c_port_name(const struct loop_buffer *b)
{
        return b->port ? b->port : b->name;
}
/* Returns dimension i of a port as text. */
const char *c_extent_text(struct c_writer *w, const struct loop_buffer *b, int i);
/* Returns the name of the file that run is given, as text; NULL where run has no such parameter. */
const char *c_weights_parameter(const struct c_writer *w);
/* Prints what stands between the guards of the header. */
void c_header(struct c_writer *w, struct text *out);
/* Prints parameters, extents and names, for the comment. */
/* Returns a port's shape in a run as text, over the names of extents. */
const char *c_shape_text(struct c_writer *w, const struct loop_buffer *b);
/* Prints the array of a port's extents as texts, NULL for a number; returns its name, or "NULL"
 * where all are numbers. */
const char *c_symbols(struct c_writer *w, const struct loop_buffer *b);
void c_port_table(struct c_writer *w);
void c_port_rules(struct c_writer *w);                    /* Prints what elements mean, for the
                                                           * comment. */
void c_port_macros(struct c_writer *w);
void c_error_macros(struct c_writer *w);
void c_descriptor_header(struct c_writer *w);
/* ---- c_descriptor.c ---- */
void c_descriptor(struct c_writer *w, struct text *out);
/* ---- c_hooks.c: nothing happens without --hook or --profile ---- */
bool c_hooks_any(const struct c_writer *w);
void c_hook(struct c_writer *w, const char *place, int kernel); /* place: "BEFORE" or "AFTER". */
void c_hooks_top(struct c_writer *w, struct text *out);   /* Prints what the hooks do. */
void c_hooks_header(struct c_writer *w);                  /* Prints how many calls there are. */
/* ---- c_selftest.c: nothing happens without --selftest ---- */
void c_selftest_header(struct c_writer *w);
void c_selftest(struct c_writer *w, struct text *out);
/* ---- c_trace.c: nothing happens without --profile=FILE ---- */
void c_trace_header(struct c_writer *w);
void c_trace(struct c_writer *w, struct text *out);

#endif
