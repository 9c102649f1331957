/* SPDX-License-Identifier: MIT */
/* Reads the text of Tensor IR: what tensor_lex.c, tensor_parse.c and tensor_parse_op.c share. Input
 * is hostile: every loop ends with the text, every size is checked before memory is taken, and no
 * recursion goes beyond NESTING_MAX. */
#ifndef IR_TENSOR_TENSOR_READER_H
#define IR_TENSOR_TENSOR_READER_H

#include "ir/tensor/tensor_text.h"

struct reader {
        struct module *m;
        struct arena *arena;            /* The arena lives as long as reading takes. */
        const char *p, *end;
        const char *counted;            /* `line` counts the lines up to here. */
        int line;
        struct diag *diag;
        bool failed;
        int version;                    /* The text has this version, from 1 to TENSOR_VERSION; 0:
                                         * it is not read yet. */
        char place[96];
        struct map *constants;          /* The map finds values by their names in the text. */
        struct map *functions;          /* The map finds functions by name. */
        struct map *values;             /* The map finds a name_entry of the function. */
        const struct bound_symbol *bound;         /* `bound_count` symbols stand for dimensions of
                                                   * m. */
        int bound_count;
        const char *file;               /* The file has the constants' bytes, or is NULL. */
        size_t file_bytes, file_used;
        blob_reader read_blob;
        void *blob_context;
};

/* ---- tensor_lex.c: each skips blanks and comments first; false or NULL after one error that names
 * the line ---- */

bool reader_fail(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *reader_place(struct reader *r);               /* Returns "line 7", where the cursor
                                                           * stands, and the version of an older
                                                           * text. */
bool reader_check_text(struct reader *r);                 /* Checks for UTF-8 without control
                                                           * characters. */
void reader_skip(struct reader *r);
bool reader_at(struct reader *r, const char *mark);       /* Does mark come next? The cursor is then
                                                           * in front of it, else where it was. */
bool reader_accept(struct reader *r, const char *mark);   /* Does the same, and moves past the
                                                           * mark. */
bool reader_expect(struct reader *r, const char *mark);
bool reader_at_word(struct reader *r, const char *word);
bool reader_accept_word(struct reader *r, const char *word);
char *reader_word(struct reader *r, const char *what);    /* Reads letters, digits, _ and .
                                                           * behind a letter or _. */
/* Reads %name or @name, and returns it without its mark. */
char *reader_name(struct reader *r, char mark, const char *what);
/* Returns the bytes between the quotes. */
const char *reader_quoted(struct reader *r, const char *what, size_t *length);
char *reader_string(struct reader *r, const char *what);  /* Resolves escapes; the string is in
                                                           * the module's arena. */
char *reader_remark(struct reader *r, const char *what);  /* Reads quoted text, which
                                                           * text_is_remark must accept. */
/* Reads a dimension: a number, or a term over symbols. */
bool reader_dim(struct reader *r, dim_t *d);
/* Reads P = P + N behind a function's outputs. */
bool reader_next_extent(struct reader *r, struct function *f);
/* Reads N = 16 behind "likely @main". */
bool reader_likely_extent(struct reader *r, struct function *f, struct function *general);
bool reader_int(struct reader *r, const char *what, int64_t least, int64_t most, int64_t *value);
bool reader_literal(struct reader *r, enum element e, void *data, size_t index);
char *reader_location(struct reader *r);                  /* Returns the comment "; "..."" that
                                                           * ends this line, or NULL. */

/* ---- tensor_parse.c ---- */

const struct type *reader_type(struct reader *r);
/* Reads a VALUE; name: as for constant_dense. */
struct value *reader_value(struct reader *r, const struct type *type, const char *name);
bool reader_at_type(struct reader *r);

/* ---- tensor_parse_op.c ---- */

bool reader_function(struct reader *r);

#endif
