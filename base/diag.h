/* SPDX-License-Identifier: MIT */
/* Diagnostics are the one place that speaks to the user, and the exit codes.
 *
 *     model.onnx: error: node 'conv1' (Conv): pads has 3 values, want 4
 *
 * A function that fails reports exactly one error and returns false or NULL. Text that comes from a
 * model passes through text_safe (base/text.h) before it is handed to these functions. */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include <stdbool.h>
#include <stdio.h>

enum exit_code {
        EXIT_OK = 0,
        EXIT_USAGE = 1,
        EXIT_IO = 2,                    /* A file cannot be read or written. */
        EXIT_INVALID = 3,               /* The model is invalid. */
        EXIT_UNSUPPORTED = 4,
        EXIT_BUDGET = 5,                /* --max-ram, --max-consts or memory is exhausted. */
        EXIT_INTERNAL = 70              /* It is a bug of ours. */
};

struct diag {
        const char *subject;            /* It is the file that is spoken of, already safe, and is
                                         * printed before every message. */
        const char *place;              /* It says where in it, "line 7", and is printed before an
                                         * error's text; or it is NULL. */
        int verbosity;                  /* It is -1 with -q, 1 with -v, else 0. */
        int errors, warnings;
        enum exit_code code;            /* The first error sets this exit code. */
        FILE *stream;                   /* NULL stands for standard error; messages keep their marks
                                         * there where they are to be JSON. */
        bool silent;                    /* Errors are counted, but nothing is said: for attempts
                                         * that may fail. */
};

void diag_error(struct diag *diag, enum exit_code code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
void diag_warning(struct diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
void diag_hint(struct diag *diag, const char *format, ...)     /* A hint is a note that is shown
                                                                * unless -q is given. */
        __attribute__((format(printf, 2, 3)));
void diag_note(struct diag *diag, const char *format, ...)     /* A note is shown with -v. */
        __attribute__((format(printf, 2, 3)));
/* Lines of JSON have members for these parts of a message, marked where the message is made: each
 * takes a literal or a conversion, DIAG_NODE("%s"). The marks are control characters, which text of
 * models never has (base/text.h); they are taken away before a message is shown. Of several parts
 * of a kind the first counts. */
#define DIAG_NODE(text) "\001" text "\007"                /* It is a node of the model. */
#define DIAG_OUTPUT(text) "\002" text "\007"              /* It is the output of a node without a
                                                           * name. */
#define DIAG_OPERATOR(text) "\003" text "\007"            /* It is what the node computes. */
#define DIAG_LINE(text) "\004" text "\007"                /* It is the number of a line of a
                                                           * text. */
#define DIAG_HINT(text) "\005" text "\007"                /* It says how to go on. */
void diag_unmark(char *text);           /* Takes the marks away. */

/* The words error, warning and note are in colour, on standard error. */
extern bool diag_color;
/* Where it is true each message on standard error is a line of JSON (--error-format=json):
 *
 *      {"kind": "error", "code": 3, "file": "m.onnx", "line": null, "node": "conv1",
 *       "operator": "Conv", "numbers": [3, 4], "hint": null,
 *       "text": "node 'conv1' (Conv): pads has 3 values, want 4"}
 *
 * Only errors have a code. The numbers are the whole ones in the text outside of quotes, in order.
 * The line, node, operator and hint are the parts that are marked so; output stands instead of
 * node. */
extern bool diag_json;

/* Prints a line that was asked for (--check, --stats) as it is, with its newline, on standard error
 * whatever the stream is. */
void diag_say(const struct diag *diag, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Says lines again that were said to a stream of the same diag, as they are, or as JSON. */
void diag_say_again(const struct diag *diag, const char *lines);

/* It is called before anything is said (true) and after it: a writer of an unfinished line on the
 * terminal takes it away (compiler/progress.c). It may be NULL. */
extern void (*diag_speaking)(bool speaking);

#endif
