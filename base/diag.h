/* SPDX-License-Identifier: MIT */
/* Diagnostics: one place that speaks to the user, and the exit codes.
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
        EXIT_IO = 2,                    /* cannot read or write */
        EXIT_INVALID = 3,               /* invalid model */
        EXIT_UNSUPPORTED = 4,
        EXIT_BUDGET = 5,                /* --max-ram, --max-consts, memory exhausted */
        EXIT_INTERNAL = 70              /* a bug of ours */
};

struct diag {
        const char *subject;            /* the file spoken of, already safe; printed before every
                                         * message */
        const char *place;              /* where in it, "line 7": printed before an error's text; or
                                         * NULL */
        int verbosity;                  /* -q: -1, default 0, -v: 1 */
        int errors, warnings;
        enum exit_code code;            /* of the first error */
        FILE *stream;                   /* NULL: standard error; messages keep their marks there
                                         * where they are to be JSON */
        bool silent;                    /* counts, but says nothing: for attempts that may fail */
};

void diag_error(struct diag *diag, enum exit_code code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
void diag_warning(struct diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
void diag_hint(struct diag *diag, const char *format, ...)     /* a note that is shown but with -q
                                                                */
        __attribute__((format(printf, 2, 3)));
void diag_note(struct diag *diag, const char *format, ...)     /* shown with -v */
        __attribute__((format(printf, 2, 3)));
/* Parts of a message for which lines of JSON have members, marked where the message is made:
 * each takes a literal or a conversion, DIAG_NODE("%s"). The marks are control characters, which
 * text of models never has (base/text.h); they are taken away before a message is shown. Of
 * several parts of a kind the first counts. */
#define DIAG_NODE(text) "\001" text "\007"                /* a node of the model */
#define DIAG_OUTPUT(text) "\002" text "\007"              /* the output of a node without a name */
#define DIAG_OPERATOR(text) "\003" text "\007"            /* what the node computes */
#define DIAG_LINE(text) "\004" text "\007"                /* the number of a line of a text */
#define DIAG_HINT(text) "\005" text "\007"                /* how to go on */
void diag_unmark(char *text);           /* takes the marks away */

/* The words error, warning and note are in colour, on standard error. */
extern bool diag_color;
/* Each message on standard error is a line of JSON (--error-format=json):
 *
 *      {"kind": "error", "code": 3, "file": "m.onnx", "line": null, "node": "conv1", "operator": "Conv", "numbers": [3, 4],
 *       "hint": null, "text": "node 'conv1' (Conv): pads has 3 values, want 4"}
 *
 * code is of errors alone. numbers: the whole ones in the text outside of quotes, in order.
 * line, node, operator, hint: the parts that are marked so; output instead of node. */
extern bool diag_json;

/* A line that was asked for (--check, --stats): as it is, with its newline, on standard error
 * whatever the stream is. */
void diag_say(const struct diag *diag, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Lines that were said to a stream of the same diag, said again: as they are, or as JSON. */
void diag_say_again(const struct diag *diag, const char *lines);

/* Told before anything is said (true) and after it: who has an unfinished line on the terminal
 * takes it away (compiler/progress.c). May be NULL. */
extern void (*diag_speaking)(bool speaking);

#endif
