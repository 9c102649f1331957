/* SPDX-License-Identifier: MIT */
/* Regular expressions in RE2's syntax become automata over the bytes of UTF-8. All of the syntax is
 * read but \p and \C: captures, and which match is preferred, mean nothing for a text that matches
 * as a whole. Bytes that are no UTF-8 match nothing.
 *
 *   compose_regex.c      reads a pattern, and makes an automaton that may be in several states
 *   compose_automaton.c  makes a deterministic one of it, with as few states as it can have */
#ifndef FRONT_COMPOSE_COMPOSE_REGEX_H
#define FRONT_COMPOSE_COMPOSE_REGEX_H

#include "front/compose/compose_texts.h"

/* A step of an automaton that may be in several states at a time. */
enum regex_step {
        STEP_BYTE,                      /* It goes on to `out` on a byte of [low, high]. */
        STEP_FORK,                      /* It goes on to `out` and, where that is not -1, to
                                         * `other`. */
        STEP_ASSERT,                    /* It goes on to `out` where `assertion` holds. */
        STEP_MATCH
};
enum regex_assertion {
        TEXT_BEGIN, TEXT_END, LINE_BEGIN, LINE_END, WORD_BOUNDARY, NO_WORD_BOUNDARY
};
struct regex_node {
        enum regex_step step;
        enum regex_assertion assertion;
        unsigned char low, high;
        int out, other;
};
struct regex_graph { struct regex_node *nodes; int count, start; bool asserts; };

/* These mark letters of which one is another one in lower or upper case, among `count` code points
 * [low, high]: compose_case_fold adds such letters, and returns the new array (compose_case.c). */
struct regex_range { int low, high; };
struct regex_range *compose_case_fold(struct arena *arena, struct regex_range *ranges, int *count);

/* Reads a pattern. Returns false after an error: it is malformed, or too large. */
bool compose_regex_read(struct compose *c, const char *pattern, size_t length,
                        struct regex_graph *graph);
/* Makes the automaton. Returns NULL after an error: it would have too many states. */
struct compose_automaton *compose_automaton_of(struct compose *c, const struct regex_graph *graph);

#endif
