/* SPDX-License-Identifier: MIT */
/* What the files that read, print and check Loop IR text share.
 *
 * There are three kinds of text with one syntax. PROGRAM: variables have a %, buffers of the
 * program an @, and any text is possible (hostile). LIBRARY and FORMULA: variables may stand bare;
 * formulas know only x, y, z.
 *
 * Reading stops at the first error: it is reported, and from then on every token is the end. */
#ifndef IR_LOOP_LOOP_PARSER_H
#define IR_LOOP_LOOP_PARSER_H

#include "ir/loop/loop_grid.h"

enum loop_text { TEXT_PROGRAM, TEXT_LIBRARY, TEXT_FORMULA };
enum loop_token_kind { TOKEN_END, TOKEN_WORD, TOKEN_NUMBER, TOKEN_STRING, TOKEN_MARK };
struct loop_token {
        enum loop_token_kind kind;
        const char *start;              /* STRING: it begins behind the quote, and is as written. */
        size_t length;
        bool is_float;                  /* NUMBER: it has a point or an exponent. */
};

struct loop_binding {                   /* A binding is a name in a function, of a variable or a
                                         * buffer. */
        struct loop_variable *variable;
        struct loop_buffer *buffer;
        bool live;                      /* Its block is open. */
        struct loop_binding *outer;     /* The outer binding was declared before this one. */
};

struct loop_parser {
        struct arena *arena;
        struct diag *diag;
        enum loop_text kind;
        const char *text, *cursor, *end;
        struct loop_token token;
        int version;                    /* PROGRAM: the format has this version. */
        bool failed;
        bool semicolon_is_mark;         /* A semicolon is a mark between the parentheses of a call;
                                         * else it opens a comment. */
        int depth, height;              /* The depth of open expressions, and the height of the tree
                                         * read last. */
        int block_depth;

        struct map *overloads;                    /* The library has these functions (LIBRARY: those
                                                   * read so far). */
        struct loop_program *program;
        struct map *buffers, *kernels;            /* PROGRAM: they are found by name. */

        struct loop_function *function;
        struct map *names;                        /* The map finds a struct loop_binding by its
                                                   * name in the function. */
        struct loop_binding *innermost;
        struct loop_expr *const *args;            /* FORMULA: these are x, y and z. */
        int arg_count;
        struct loop_type fallback;      /* A literal that states no type has this one; lanes 0:
                                         * index, f32. */
        const char *template_name;                /* LIBRARY: the name that stands for
                                                   * template_element. */
        size_t template_length;
        enum element template_element;
};

/* A literal until it gets a type: its type's lanes are 0, and the element tells index, f32 and bool
 * forms apart. Operations on such literals alone wait in the same way. */
struct loop_pending { struct loop_expr expr; struct loop_token token; bool negative; };

/* ---- loop_lex.c ---- */

/* Is it made of letters, digits and _, at most 31, with a letter first, and, in programs, no
 * reserved word of C? */
bool loop_name_is_good(const char *name, enum loop_text kind);
void loop_lex_start(struct loop_parser *p, const char *text, size_t length);
void loop_lex_next(struct loop_parser *p);
/* Reports an error. It returns always false, so that callers may return its result. */
bool loop_lex_error(struct loop_parser *p, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
bool loop_lex_is(const struct loop_parser *p, const char *word_or_mark);
bool loop_lex_accept(struct loop_parser *p, const char *word_or_mark);
bool loop_lex_expect(struct loop_parser *p, const char *word_or_mark);
/* These functions read a token and go on; they return false or NULL after an error. In strings
 * escapes are resolved, and there is no NUL. */
char *loop_lex_word(struct loop_parser *p, const char *what);
char *loop_lex_string(struct loop_parser *p, const char *what);
bool loop_lex_int(struct loop_parser *p, const char *what, int64_t low, int64_t high,
                  int64_t *value);
/* Reads a name in quotes that is safe text, like the program's, as it stands. Returns NULL after an
 * error. */
char *loop_lex_name(struct loop_parser *p);
/* Reads the comment right behind the current token: "; "location" remark". */
char *loop_lex_remark(struct loop_parser *p, char **location);
const char *loop_lex_shown(struct loop_parser *p);        /* Returns the token, for messages. */
/* Reads a number (or nan, inf, true, false) as a value of type e; a sign was read before. */
bool loop_lex_literal(struct loop_parser *p, const struct loop_token *token, bool negative,
                      enum element e, union scalar *value);

/* ---- loop_parse_expr.c ---- */

/* Reads an expression. Literals whose type nothing inside the expression gives take `expected`
 * (lanes 0: the default). */
struct loop_expr *loop_parse_expr(struct loop_parser *p, struct loop_type expected);
bool loop_parse_element(struct loop_parser *p, enum element *element);
bool loop_parse_type(struct loop_parser *p, struct loop_type *type);
/* Reads %name of something in scope. */
struct loop_binding *loop_parse_name(struct loop_parser *p);

/* ---- loop_parse_block.c ---- */

/* Declares a name in the function being read. Returns false after an error, when it is taken or no
 * identifier. */
bool loop_declare(struct loop_parser *p, const char *name, struct loop_variable *variable,
                  struct loop_buffer *buffer);
void loop_parse_function_start(struct loop_parser *p, struct loop_function *f);
/* Reads "{ ... }". */
bool loop_parse_block(struct loop_parser *p, struct loop_block *block);
/* Reads "%buffer[index]". */
bool loop_parse_place(struct loop_parser *p, struct loop_buffer **buffer, struct loop_expr **at);
/* Reads the same, where the name was read before. */
bool loop_parse_place_in(struct loop_parser *p, const struct loop_binding *b,
                         struct loop_buffer **buffer, struct loop_expr **at);
/* Reads library functions, all of the text; each is entered into p->overloads. */
struct loop_function *loop_parse_functions(struct loop_parser *p);

/* ---- loop_parse_tiles.c: what is behind the statement's word ---- */

/* Reads "word A to B", or nothing. */
bool loop_parse_registers(struct loop_parser *p, const char *word, struct tile_range *r);
bool loop_parse_tiles(struct loop_parser *p, struct loop_stmt *s);
bool loop_parse_multiply(struct loop_parser *p, struct loop_stmt *s);
bool loop_parse_unload(struct loop_parser *p, struct loop_stmt *s);
bool loop_parse_scale(struct loop_parser *p, struct loop_stmt *s);
bool loop_parse_own(struct loop_parser *p, struct loop_stmt *s);
bool loop_parse_copy(struct loop_parser *p, struct loop_stmt *s);
bool loop_parse_commit(struct loop_parser *p, struct loop_stmt *s);
bool loop_parse_wait(struct loop_parser *p, struct loop_stmt *s);
bool loop_parse_settle(struct loop_parser *p, struct loop_stmt *s);

/* ---- loop_parse_stream.c ---- */

bool loop_parse_machine(struct loop_parser *p);           /* Reads "on NAME" of the function
                                                           * being read. */
/* Reads "NAME at 0, 8" behind "in". */
bool loop_parse_memory(struct loop_parser *p, struct loop_buffer *b);
/* These functions read what follows the statement's word. */
bool loop_parse_transfer(struct loop_parser *p, struct loop_stmt *s);
bool loop_parse_reset(struct loop_parser *p, struct loop_stmt *s);
bool loop_parse_product(struct loop_parser *p, struct loop_stmt *s);
bool loop_parse_apply(struct loop_parser *p, struct loop_stmt *s);
bool loop_parse_queue(struct loop_parser *p, struct loop_stmt *s);
bool loop_parse_activate(struct loop_parser *p, struct loop_stmt *s);
bool loop_parse_await(struct loop_parser *p, struct loop_stmt *s);

/* ---- loop_library.c, loop_print.c, loop_verify.c ---- */

struct loop_library {
        struct loop_function *first;
        struct map *overloads;          /* Functions by name and element of the first parameter. */
        const struct machine *const *machines;          /* The list may be NULL. */
};
char *loop_type_text(struct arena *arena, struct loop_type type);
/* Returns the type of a literal without one in a library function: that of its first parameter.
 * Lanes are 0 where there is none, because no literal is a tile. */
static inline struct loop_type loop_fallback(const struct loop_function *f)
{
        struct loop_type type = f->scalars[0]->type;
        return type.tile ? (struct loop_type){ 0 } : type;
}
/* Prints a statement of f, without its blocks. */
void loop_print_head(struct text *out, const struct loop_function *f, const struct loop_stmt *s);
struct loop_function *loop_overload(const struct map *overloads, const char *name, size_t length,
                                    enum element e);
void loop_overload_add(struct map *overloads, struct loop_function *f);
bool loop_verify_program(const struct loop_program *p, enum exit_code code, struct diag *diag);
bool loop_verify_library(struct loop_function *first, struct diag *diag);

#endif
