/* SPDX-License-Identifier: MIT */
/* The pattern is read by recursive descent into a tree, of which nodes of the graph are made from
 * the end to the beginning. Both are bounded: groups nest NESTED deep, and a graph has GRAPH_MOST
 * nodes, so that counts within counts are refused before they take time.
 *
 * The source of the syntax is RE2's own description (github.com/google/re2/wiki/Syntax). */
#include "front/compose/compose_regex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
        NESTED = 200,
        GRAPH_MOST = 200000,
        REPEAT_MOST = 1000,             /* RE2 has this limit, too. */
        PATTERN_MOST = 1 << 16,
        CODE_POINT_MOST = 0x10FFFF
};

enum tree_kind { TREE_SET, TREE_SEQUENCE, TREE_CHOICE, TREE_REPEAT, TREE_ASSERT };
struct tree {
        enum tree_kind kind;
        struct tree *first, *next;      /* The first child, and the next one of the same parent. */
        int least, most;                /* REPEAT: most is -1 where there is no end. */
        enum regex_assertion assertion;
        struct regex_range *ranges;     /* SET */
        int count;
};

struct reader {
        struct compose *c;
        const char *p, *end;
        bool fold, any_newline, many_lines;       /* These are the flags i, s and m. */
        bool quoted;                    /* Letters stand for themselves up to \E. */
        bool failed;
};

static struct tree *fail(struct reader *r, const char *why)
{
        if (!r->failed)
                compose_invalid(r->c, "the pattern is malformed at byte %lld from its end: %s",
                                (long long)(r->end - r->p), why);
        r->failed = true;
        return NULL;
}

static struct tree *refuse(struct reader *r, const char *why)
{
        if (!r->failed)
                compose_unsupported(r->c, "a pattern with %s", why);
        r->failed = true;
        return NULL;
}

static struct tree *tree_new(struct reader *r, enum tree_kind kind)
{
        struct tree *t = ARENA_NEW(r->c->arena, struct tree);
        t->kind = kind;
        return t;
}

static bool take(struct reader *r, char ch)
{
        if (r->p == r->end || *r->p != ch)
                return false;
        r->p++;
        return true;
}

static bool take_word(struct reader *r, const char *word)
{
        const size_t length = strlen(word);
        if ((size_t)(r->end - r->p) < length || memcmp(r->p, word, length) != 0)
                return false;
        r->p += length;
        return true;
}

/* ---- code points and sets ---- */

/* Takes one code point of UTF-8, or fails and returns -1. */
static int take_code_point(struct reader *r)
{
        static const int least[] = { 0, 0x80, 0x800, 0x10000 };
        const unsigned char *p = (const unsigned char *)r->p;
        const int more = *p < 0x80 ? 0 : *p >= 0xC2 && *p < 0xE0 ? 1
                         : *p >= 0xE0 && *p < 0xF0 ? 2 : *p >= 0xF0 && *p < 0xF5 ? 3 : -1;
        int code = more < 1 ? *p : *p & (0x3F >> more);
        if (more < 0 || r->end - r->p <= more)
                return fail(r, "it is no UTF-8") ? 0 : -1;
        for (int k = 1; k <= more; k++) {
                if ((p[k] & 0xC0) != 0x80)
                        return fail(r, "it is no UTF-8") ? 0 : -1;
                code = code << 6 | (p[k] & 0x3F);
        }
        if (code < least[more] || code > CODE_POINT_MOST || (code >= 0xD800 && code < 0xE000))
                return fail(r, "it is no UTF-8") ? 0 : -1;
        r->p += more + 1;
        return code;
}

static void add_range(struct reader *r, struct tree *set, int low, int high)
{
        ARENA_GROW(r->c->arena, set->ranges, set->count);
        set->ranges[set->count++] = (struct regex_range){ low, high };
}

static int by_low(const void *a, const void *b)
{
        const struct regex_range *x = a, *y = b;
        return (x->low > y->low) - (x->low < y->low);
}

/* Sorts the ranges, and joins those that touch. */
static void settle(struct tree *set)
{
        int kept = 0;
        if (set->count)
                qsort(set->ranges, (size_t)set->count, sizeof *set->ranges, by_low);
        for (int k = 0; k < set->count; k++) {
                struct regex_range *last = kept ? &set->ranges[kept - 1] : NULL;
                if (last && set->ranges[k].low <= last->high + 1)
                        last->high = set->ranges[k].high > last->high ? set->ranges[k].high
                                                                      : last->high;
                else
                        set->ranges[kept++] = set->ranges[k];
        }
        set->count = kept;
}

static void negate(struct reader *r, struct tree *set)
{
        struct tree other = { .kind = TREE_SET };
        int low = 0;
        settle(set);
        for (int k = 0; k < set->count; k++) {
                if (set->ranges[k].low > low)
                        add_range(r, &other, low, set->ranges[k].low - 1);
                low = set->ranges[k].high + 1;
        }
        if (low <= CODE_POINT_MOST)
                add_range(r, &other, low, CODE_POINT_MOST);
        set->ranges = other.ranges;
        set->count = other.count;
}

static void fold(struct reader *r, struct tree *set)
{
        if (r->fold)
                set->ranges = compose_case_fold(r->c->arena, set->ranges, &set->count);
        settle(set);
}

static const struct { const char *name, *ranges; } classes[] = {
        { "alnum", "09AZaz" }, { "alpha", "AZaz" },     { "ascii", "\1\x7f" },
        { "blank", "\t\t  " }, { "cntrl", "\1\x1f\x7f\x7f" }, { "digit", "09" },
        { "graph", "!~" },     { "lower", "az" },       { "print", " ~" },
        { "punct", "!/:@[`{~" }, { "space", "\t\r  " }, { "upper", "AZ" },
        { "word", "09AZaz__" }, { "xdigit", "09AFaf" },
};

static void add_ranges(struct reader *r, struct tree *set, const char *ranges, bool negated)
{
        struct tree part = { .kind = TREE_SET };
        for (; *ranges; ranges += 2)
                add_range(r, &part, ranges[0], ranges[1]);
        if (negated) {
                if (r->fold)
                        part.ranges = compose_case_fold(r->c->arena, part.ranges, &part.count);
                negate(r, &part);
        }
        for (int k = 0; k < part.count; k++)
                add_range(r, set, part.ranges[k].low, part.ranges[k].high);
}

/* Takes d, w, s or their opposites behind a backslash. */
static bool take_perl(struct reader *r, struct tree *set)
{
        const char ch = r->p < r->end ? *r->p : 0;
        const char *ranges = strchr("dD", ch) ? "09" : strchr("wW", ch) ? "09AZaz__"
                             : strchr("sS", ch) ? "\t\n\f\r  " : NULL;
        if (!ch || !ranges)
                return false;
        r->p++;
        add_ranges(r, set, ranges, isupper((unsigned char)ch));
        return true;
}

static int digit_of(char ch)
{
        return ch >= '0' && ch <= '9'   ? ch - '0'
               : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10
               : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10
                                        : 16;
}

/* Takes hexadecimal digits behind \x, two of them or some in braces. */
static int take_hex(struct reader *r)
{
        const bool braces = take(r, '{');
        int code = 0, count = 0;
        while (r->p < r->end && digit_of(*r->p) < 16 && (braces || count < 2) &&
               code <= CODE_POINT_MOST) {
                code = code * 16 + digit_of(*r->p++);
                count++;
        }
        if (!count || (!braces && count != 2) || (braces && !take(r, '}')) ||
            code > CODE_POINT_MOST)
                return fail(r, "want \\x7F or \\x{10FFFF}") ? 0 : -1;
        return code;
}

/* Takes what stands for one code point behind a backslash; returns -1 after an error. */
static int take_escape(struct reader *r)
{
        static const char letters[] = "afnrtv", codes[] = "\a\f\n\r\t\v";
        if (r->p == r->end)
                return fail(r, "it ends in a backslash") ? 0 : -1;
        const char ch = *r->p, *letter = strchr(letters, ch);
        if (letter && ch) {
                r->p++;
                return codes[letter - letters];
        }
        if (take(r, 'x'))
                return take_hex(r);
        if (ch == '0' || (ch >= '1' && ch <= '7' && r->end - r->p > 1 && r->p[1] >= '0' &&
                          r->p[1] <= '7')) {
                int code = 0;
                for (int k = 0; k < 3 && r->p < r->end && *r->p >= '0' && *r->p <= '7'; k++)
                        code = code * 8 + (*r->p++ - '0');
                return code;
        }
        if (ch == 'p' || ch == 'P')
                return refuse(r, "\\p, a class of Unicode") ? 0 : -1;
        if (ch == 'C')
                return refuse(r, "\\C, a byte") ? 0 : -1;
        if (isalnum((unsigned char)ch))
                return fail(r, "there is no such escape") ? 0 : -1;
        return take_code_point(r);
}

/* Takes "[:alpha:]" or "[:^alpha:]" in a set. */
static bool take_posix(struct reader *r, struct tree *set)
{
        const char *start = r->p;
        if (!take_word(r, "[:"))
                return false;
        const bool negated = take(r, '^');
        for (size_t k = 0; k < sizeof classes / sizeof *classes; k++)
                if (take_word(r, classes[k].name) && take_word(r, ":]")) {
                        add_ranges(r, set, classes[k].ranges, negated);
                        return true;
                }
        r->p = start;
        for (const char *p = start + 2; p + 1 < r->end && *p != ']'; p++)
                if (p[0] == ':' && p[1] == ']')
                        fail(r, "there is no such class");
        return false;
}

static int take_member(struct reader *r)
{
        if (r->p == r->end)
                return fail(r, "a set has no ]") ? 0 : -1;
        return take(r, '\\') ? take_escape(r) : take_code_point(r);
}

static struct tree *read_set(struct reader *r)
{
        struct tree *set = tree_new(r, TREE_SET);
        const bool negated = take(r, '^');
        for (bool first = true; first || !take(r, ']'); first = false) {
                if (r->failed)
                        return NULL;
                if (r->end - r->p > 1 && *r->p == '\\') {
                        r->p++;
                        if (take_perl(r, set))
                                continue;
                        r->p--;
                }
                if (take_posix(r, set))
                        continue;
                const int low = r->failed ? -1 : take_member(r);
                int high = low;
                if (low < 0)
                        return NULL;
                if (r->end - r->p > 1 && r->p[0] == '-' && r->p[1] != ']') {
                        r->p++;
                        if ((high = take_member(r)) < 0)
                                return NULL;
                }
                if (high < low)
                        return fail(r, "a range goes backward");
                add_range(r, set, low, high);
        }
        fold(r, set);
        if (negated)
                negate(r, set);
        return set;
}

/* ---- the tree ---- */

static struct tree *read_choice(struct reader *r, int depth);

static struct tree *one(struct reader *r, int low, int high)
{
        struct tree *set = tree_new(r, TREE_SET);
        add_range(r, set, low, high);
        fold(r, set);
        return set;
}

static struct tree *assertion(struct reader *r, enum regex_assertion a)
{
        struct tree *t = tree_new(r, TREE_ASSERT);
        t->assertion = a;
        return t;
}

static struct tree *read_escape(struct reader *r)
{
        struct tree *set = tree_new(r, TREE_SET);
        if (take_perl(r, set)) {
                fold(r, set);
                return set;
        }
        if (take(r, 'b'))
                return assertion(r, WORD_BOUNDARY);
        if (take(r, 'B'))
                return assertion(r, NO_WORD_BOUNDARY);
        if (take(r, 'A'))
                return assertion(r, TEXT_BEGIN);
        if (take(r, 'z'))
                return assertion(r, TEXT_END);
        const int code = take_escape(r);
        return code < 0 ? NULL : one(r, code, code);
}

/* Takes the letters of flags, up to ) or :; *group says which it was. */
static bool take_flags(struct reader *r, bool *group)
{
        bool on = true, any = false;
        for (; r->p < r->end; any = true) {
                const char ch = *r->p++;
                if (ch == ')' || ch == ':') {
                        *group = ch == ':';
                        return any || *group || fail(r, "there are no flags") != NULL;
                }
                if (ch == '-' && on)
                        on = false;
                else if (ch == 'i')
                        r->fold = on;
                else if (ch == 's')
                        r->any_newline = on;
                else if (ch == 'm')
                        r->many_lines = on;
                else if (ch != 'U')
                        return fail(r, "there is no such flag or group") != NULL;
        }
        return fail(r, "a group has no )") != NULL;
}

/* Reads what stands behind "(". */
static struct tree *read_group(struct reader *r, int depth)
{
        const struct reader flags = *r;
        bool group = true;
        const bool looks_back = r->end - r->p > 2 && (r->p[2] == '=' || r->p[2] == '!');
        if (take_word(r, "?P<") || (!looks_back && take_word(r, "?<"))) {
                const char *name = r->p;
                while (r->p < r->end && (isalnum((unsigned char)*r->p) || *r->p == '_'))
                        r->p++;
                if (r->p == name || !take(r, '>'))
                        return fail(r, "a group's name is malformed");
        } else if (take(r, '?') && !take_flags(r, &group)) {
                return NULL;
        }
        if (!group)                     /* The flags are for the rest of the group around. */
                return tree_new(r, TREE_SEQUENCE);
        struct tree *inside = read_choice(r, depth + 1);
        if (!inside)
                return NULL;
        if (!take(r, ')'))
                return fail(r, "a group has no )");
        r->fold = flags.fold;
        r->any_newline = flags.any_newline;
        r->many_lines = flags.many_lines;
        return inside;
}

/* Goes over \Q and \E. Returns whether letters stand for themselves. */
static bool is_quoted(struct reader *r)
{
        while (take_word(r, r->quoted ? "\\E" : "\\Q"))
                r->quoted = !r->quoted;
        return r->quoted;
}

static bool take_number(struct reader *r, int *number)
{
        const char *start = r->p;
        *number = 0;
        while (r->p < r->end && isdigit((unsigned char)*r->p) && *number <= REPEAT_MOST)
                *number = *number * 10 + (*r->p++ - '0');
        return r->p > start;
}

/* Takes {3}, {3,} or {3,5}; braces with anything else in them are letters. */
static bool take_counts(struct reader *r, int *least, int *most)
{
        const char *start = r->p;
        if (take(r, '{') && take_number(r, least)) {
                *most = *least;
                if (take(r, ',') && !take_number(r, most))
                        *most = -1;
                if (take(r, '}'))
                        return true;
        }
        r->p = start;
        return false;
}

static struct tree *read_atom(struct reader *r, int depth)
{
        if (r->quoted) {
                const int letter = take_code_point(r);
                return letter < 0 ? NULL : one(r, letter, letter);
        }
        if (take(r, '('))
                return read_group(r, depth);
        if (take(r, '['))
                return read_set(r);
        if (take(r, '.')) {
                struct tree *set = tree_new(r, TREE_SET);
                if (!r->any_newline)
                        add_range(r, set, '\n', '\n');
                negate(r, set);
                return set;
        }
        if (take(r, '^'))
                return assertion(r, r->many_lines ? LINE_BEGIN : TEXT_BEGIN);
        if (take(r, '$'))
                return assertion(r, r->many_lines ? LINE_END : TEXT_END);
        if (take(r, '\\'))
                return read_escape(r);
        int least, most;
        if ((r->p < r->end && strchr("*+?", *r->p)) || take_counts(r, &least, &most))
                return fail(r, "there is nothing to repeat");
        const int code = take_code_point(r);
        return code < 0 ? NULL : one(r, code, code);
}

static struct tree *read_repeat(struct reader *r, int depth)
{
        const bool open = !r->quoted && r->end - r->p > 1 && r->p[0] == '(' && r->p[1] == '?';
        struct tree *t = read_atom(r, depth);
        /* Flags for the rest of a group are no group. */
        const bool flags = open && t && t->kind == TREE_SEQUENCE;
        for (bool again = false; t; again = true) {
                int least = 0, most = -1;
                if (r->quoted && is_quoted(r))
                        return t;
                if (take(r, '*'))
                        ;
                else if (take(r, '+'))
                        least = 1;
                else if (take(r, '?'))
                        most = 1;
                else if (!take_counts(r, &least, &most))
                        return t;
                if (flags)
                        return refuse(r, "a repetition behind flags");
                if (again)
                        return fail(r, "a repetition is repeated");
                if (least > REPEAT_MOST || most > REPEAT_MOST || (most >= 0 && most < least))
                        return fail(r, "counts go up to 1000, the smaller one first");
                take(r, '?');           /* It prefers fewer, which is the same for all texts. */
                struct tree *all = tree_new(r, TREE_REPEAT);
                all->first = t;
                all->least = least;
                all->most = most;
                t = all;
        }
        return NULL;
}

static struct tree *read_choice(struct reader *r, int depth)
{
        struct tree *choice = tree_new(r, TREE_CHOICE), **branch = &choice->first;
        if (depth > NESTED)
                return refuse(r, "groups that nest more than 200 deep");
        do {
                struct tree *all = tree_new(r, TREE_SEQUENCE), **end = &all->first;
                while ((is_quoted(r) && r->p < r->end) ||
                       (r->p < r->end && *r->p != '|' && *r->p != ')')) {
                        if (!(*end = read_repeat(r, depth)))
                                return NULL;
                        end = &(*end)->next;
                }
                *branch = all;
                branch = &all->next;
        } while (take(r, '|'));
        return choice;
}

/* ---- the graph ---- */

struct writer { struct compose *c; struct regex_graph *graph; bool failed; };

static int add(struct writer *w, struct regex_node node)
{
        struct regex_graph *g = w->graph;
        if (g->count == GRAPH_MOST) {
                if (!w->failed)
                        compose_unsupported(w->c, "a pattern that takes more than %d steps",
                                            GRAPH_MOST);
                w->failed = true;
                return 0;
        }
        ARENA_GROW(w->c->arena, g->nodes, g->count);
        g->nodes[g->count] = node;
        return g->count++;
}

static int fork(struct writer *w, int out, int other)
{
        return add(w, (struct regex_node){ .step = STEP_FORK, .out = out, .other = other });
}

static int encode(int code, unsigned char *bytes)
{
        static const unsigned char lead[] = { 0, 0xC0, 0xE0, 0xF0 };
        const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        bytes[0] = (unsigned char)(lead[more] | (code >> 6 * more));
        for (int k = 1; k <= more; k++)
                bytes[k] = (unsigned char)(0x80 | ((code >> 6 * (more - k)) & 0x3F));
        return more + 1;
}

/* Returns where texts of one code point in [low, high] begin: the range is cut until the bytes of
 * what is left are independent of each other. `others` is another beginning, or -1. */
static int write_range(struct writer *w, int low, int high, int next, int others)
{
        static const int ends[] = { 0x7F, 0x7FF, 0xD7FF, 0xDFFF, 0xFFFF };
        unsigned char first[4], last[4];
        if (low > high || w->failed)
                return others;
        for (int k = 0; k < 5; k++)
                if (low <= ends[k] && ends[k] < high)
                        return write_range(w, low, ends[k], next,
                                           write_range(w, ends[k] + 1, high, next, others));
        if (low >= 0xD800 && high <= 0xDFFF)
                return others;
        const int bytes = encode(low, first);
        for (int k = 1; k < bytes; k++) {
                const int mask = (1 << 6 * k) - 1;
                if ((low & ~mask) == (high & ~mask))
                        break;
                if (low & mask)
                        return write_range(w, low, low | mask, next,
                                           write_range(w, (low | mask) + 1, high, next, others));
                if ((high & mask) != mask)
                        return write_range(w, low, (high & ~mask) - 1, next,
                                           write_range(w, high & ~mask, high, next, others));
        }
        encode(high, last);
        for (int k = bytes - 1; k >= 0; k--)
                next = add(w, (struct regex_node){ .step = STEP_BYTE,
                                                   .low = first[k],
                                                   .high = last[k],
                                                   .out = next });
        return others < 0 ? next : fork(w, next, others);
}

/* Returns where texts of t begin behind which `next` stands. */
static int write_tree(struct writer *w, const struct tree *t, int next);

static int write_sequence(struct writer *w, const struct tree *t, int next)
{
        int count = 0;
        for (const struct tree *child = t->first; child; child = child->next)
                count++;
        const struct tree **children = arena_array(w->c->arena, (size_t)count + 1,
                                                   sizeof *children);
        count = 0;
        for (const struct tree *child = t->first; child; child = child->next)
                children[count++] = child;
        while (count-- > 0 && !w->failed)
                next = write_tree(w, children[count], next);
        return fork(w, next, -1);
}

static int write_repeat(struct writer *w, const struct tree *t, int next)
{
        const int end = next;
        if (t->most < 0) {
                const int loop = fork(w, -1, end);
                const int body = write_tree(w, t->first, loop);
                w->graph->nodes[loop].out = body;
                next = loop;
        }
        for (int k = t->least; k < t->most && !w->failed; k++)
                next = fork(w, write_tree(w, t->first, next), end);
        for (int k = 0; k < t->least && !w->failed; k++)
                next = write_tree(w, t->first, next);
        return next;
}

static int write_tree(struct writer *w, const struct tree *t, int next)
{
        int start = -1;
        if (w->failed)
                return next;
        switch (t->kind) {
        case TREE_SET:
                for (int k = t->count - 1; k >= 0; k--)
                        start = write_range(w, t->ranges[k].low, t->ranges[k].high, next, start);
                /* An empty set has no way on. */
                return start >= 0 ? start
                                  : add(w, (struct regex_node){ .low = 1, .out = next });
        case TREE_SEQUENCE: return write_sequence(w, t, next);
        case TREE_CHOICE:
                for (const struct tree *child = t->first; child && !w->failed;
                     child = child->next) {
                        const int branch = write_tree(w, child, next);
                        start = start < 0 ? branch : fork(w, branch, start);
                }
                return start;
        case TREE_REPEAT: return write_repeat(w, t, next);
        default:
                w->graph->asserts = true;
                return add(w, (struct regex_node){ .step = STEP_ASSERT,
                                                   .assertion = t->assertion,
                                                   .out = next });
        }
}

bool compose_regex_read(struct compose *c, const char *pattern, size_t length,
                        struct regex_graph *graph)
{
        struct reader r = { .c = c, .p = pattern, .end = pattern + length };
        struct writer w = { .c = c, .graph = graph };
        *graph = (struct regex_graph){ 0 };
        if (length > PATTERN_MOST)
                return compose_unsupported(c, "a pattern of %zu bytes", length);
        struct tree *t = read_choice(&r, 0);
        if (t && r.p < r.end)
                t = fail(&r, "a ) closes no group");
        if (!t)
                return false;
        const int match = add(&w, (struct regex_node){ .step = STEP_MATCH });
        graph->start = write_tree(&w, t, match);
        return !w.failed;
}
