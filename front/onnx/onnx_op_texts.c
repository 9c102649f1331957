/* SPDX-License-Identifier: MIT */
/* This file imports StringConcat, StringNormalizer, StringSplit and RegexFullMatch, and Tokenizer
 * of com.microsoft. */
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_texts.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_regex.h"
#include "front/compose/compose_sort.h"

#include <string.h>

/* Returns the bytes of input i, or NULL after an error: it has no texts. */
static struct value *texts_of(struct onnx_import *im, const struct onnx_node *n, int i)
{
        struct value *v = n->inputs[i];
        if (onnx_is_texts(v))
                return onnx_texts_bytes(v);
        onnx_invalid(im, n, "operand %d is %s, want texts", i, compose_text(im->c, v->type));
        return NULL;
}

/* Defines output i as texts. */
static bool output_texts(struct onnx_import *im, struct onnx_node *n, int i, struct value *bytes)
{
        return onnx_output(n, i, onnx_texts_new(im, bytes));
}

bool onnx_import_string_concat(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = texts_of(im, n, 0), *y = x ? texts_of(im, n, 1) : NULL;
        if (!y)
                return false;
        /* Texts are broadcast to each other, whatever their rank; their bytes have one more. */
        return output_texts(im, n, 0, compose_texts_concat(im->c, x, y));
}

bool onnx_import_regex_full_match(struct onnx_import *im, struct onnx_node *n)
{
        const ProtobufCBinaryData *pattern;
        struct value *x = texts_of(im, n, 0);
        struct regex_graph graph;
        int count;
        if (!x || !onnx_strings(im, n, "pattern", &pattern, &count))
                return false;
        if (count != 1)
                return onnx_invalid(im, n, "attribute pattern is missing");
        if (!compose_regex_read(im->c, (const char *)pattern->data, pattern->len, &graph))
                return false;
        const struct compose_automaton *a = compose_automaton_of(im->c, &graph);
        return a && onnx_output(n, 0, compose_texts_accepted(im->c, x, a));
}

/* ---- StringNormalizer ---- */

/* Returns the texts of x [count, width] that flags [count] mark, of which there are `kept`. One
 * empty text stands for none. */
static struct value *marked(struct onnx_import *im, struct value *x, struct value *flags,
                            int64_t kept)
{
        const int64_t count = value_extent(x, 0), all = 0;
        struct value *any = compose_reduce(im->c, REDUCE_max, flags, &all, 1, E_COMPUTE);
        struct value *first = compose_with(im->c, OP_eq, compose_iota(im->c, E_I32, count), 0);
        first = compose_binary(im->c, OP_and, first, compose_unary(im->c, OP_not, any));
        struct value *at = compose_positions(
                im->c, compose_binary(im->c, OP_or, flags, first), kept);
        struct value *y = at ? build_gather(&im->b, x, at, 0) : NULL;
        return y ? compose_select(im->c, any, y, build_like(&im->b, y, 0)) : NULL;
}

/* Returns x <count x width> without texts that are stop words. */
static struct value *without(struct onnx_import *im, struct onnx_node *n, struct value *x,
                             const ProtobufCBinaryData *words, int count, bool sensitive)
{
        const int64_t extent = count, rows = value_extent(x, 0);
        const int rank = value_rank(n->inputs[0]);
        const struct type *declared = n->declared[0];
        struct value *stops =
                onnx_texts_constant(im, "stopwords", 1, &extent, words, (size_t)count, 0);
        stops = stops ? onnx_texts_bytes(stops) : NULL;
        struct value *y = x;
        if (!sensitive) {
                stops = compose_texts_case(im->c, stops, false);
                y = compose_texts_case(im->c, x, false);
        }
        if (!declared || declared->rank != rank) {
                onnx_unsupported(im, n, "stop words where the model does not declare how many "
                                        "texts are left");
                return NULL;
        }
        const int64_t kept = type_extent(declared, rank - 1);
        if (kept < 1 || kept > compose_max(rows, 1)) {
                onnx_invalid(im, n, "output 0 is declared as %s, with %lld texts of %lld",
                             compose_text(im->c, declared), (long long)kept, (long long)rows);
                return NULL;
        }
        struct value *found = compose_texts_find(im->c, y, stops, false);
        struct value *flags = compose_with(im->c, OP_lt, found, 0);
        return flags ? marked(im, x, flags, kept) : NULL;
}

/* Stop words are left out first. Of no texts at all one empty text is made. */
bool onnx_import_string_normalizer(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const actions[] = { "NONE", "LOWER", "UPPER", NULL };
        struct value *x = texts_of(im, n, 0);
        const int rank = value_rank(n->inputs[0]);
        const ProtobufCBinaryData *words;
        int64_t sensitive;
        int action, count;
        onnx_attribute(n, "locale");    /* Case is the same in all. */
        if (!x || !onnx_want_rank(im, n, 0, 1, 2) ||
            !onnx_choice(im, n, "case_change_action", actions, 0, &action) ||
            !onnx_int_range(im, n, "is_case_sensitive", 0, 0, 1, &sensitive) ||
            !onnx_strings(im, n, "stopwords", &words, &count))
                return false;
        if (rank == 2 && value_extent(x, 0) != 1)
                return onnx_invalid(im, n, "operand 0 is %s, want one row of texts",
                                    compose_text(im->c, n->inputs[0]->type));
        const int64_t width = compose_texts_width(x), rows = value_extent(x, rank - 1);
        x = compose_reshape(im->c, x, 2, (const dim_t[]){ dim_of(rows), dim_of(width) });
        if (x && !rows)
                x = constant_number(im->m, type_static(im->m, E_U8, 2, (const int64_t[]){ 1, 1 }),
                                    0);
        else if (x && count)
                x = without(im, n, x, words, count, sensitive);
        if (x && action)
                x = compose_texts_case(im->c, x, action == 2);
        if (!x)
                return false;
        const dim_t dims[3] = { dim_of(1), x->type->dims[0], x->type->dims[1] };
        return output_texts(im, n, 0, compose_reshape(im->c, x, rank + 1, dims + (rank == 1)));
}

/* ---- StringSplit ---- */

bool onnx_import_string_split(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = texts_of(im, n, 0);
        const ProtobufCBinaryData *delimiter;
        struct compose_split split;
        int64_t most;
        int count;
        if (!x || !onnx_strings(im, n, "delimiter", &delimiter, &count) ||
            !onnx_int_range(im, n, "maxsplit", -1, -1, NUMBER_MAX, &most))
                return false;
        const int rank = value_rank(x);
        const int64_t length = count ? (int64_t)delimiter->len : 0, room = compose_texts_width(x);
        if (length && memchr(delimiter->data, 0, (size_t)length))
                return onnx_invalid(im, n, "the delimiter has a NUL within");
        int64_t parts = compose_split_most(x, length, most);
        const struct type *declared = n->declared[0];
        if (!type_elements(x->type)) {
                dim_t dims[RANK_MAX];
                memcpy(dims, x->type->dims, (size_t)rank * sizeof *dims);
                dims[rank - 1] = dim_of(0);
                dims[rank] = dim_of(1);
                const struct type *none = compose_type(im->c, E_U8, rank + 1, dims);
                return none && output_texts(im, n, 0, constant_number(im->m, none, 0)) &&
                       onnx_output(n, 1, constant_number(im->m, type_tensor(im->m, E_I64, rank - 1,
                                                                            x->type->dims), 0));
        }
        if (declared && declared->rank == rank)
                parts = type_extent(declared, rank - 1);
        else
                onnx_warning(im, n,
                             "the model does not say how many parts the texts have: there are "
                             "%lld, as many as %lld bytes may have, the last ones empty",
                             (long long)parts, (long long)room);
        if (!parts)
                return onnx_unsupported(im, n, "no parts of texts");
        if (!(length ? compose_texts_split(im->c, x, delimiter->data, length, most, parts, &split)
                     : compose_texts_words(im->c, x, most, parts, &split)))
                return false;
        return output_texts(im, n, 0, split.texts) && onnx_output(n, 1, split.counts);
}

/* ---- Tokenizer ---- */

/* Returns the pattern of tokens, or of what separates them (*between), or NULL after an error. */
static const char *token_pattern(struct onnx_import *im, struct onnx_node *n, bool *between)
{
        const ProtobufCBinaryData *separators, *expression;
        struct text all = { 0 };
        int count, given;
        if (!onnx_strings(im, n, "separators", &separators, &count) ||
            !onnx_strings(im, n, "tokenexp", &expression, &given))
                return NULL;
        if (!count == !given) {
                onnx_invalid(im, n, "want either separators or tokenexp");
                return NULL;
        }
        *between = count;
        for (int k = 0; k < count; k++) {
                if (!separators[k].len) {       /* Each letter is a token. */
                        *between = false;
                        text_free(&all);
                        return "(?s:.)";
                }
                const unsigned char *p = separators[k].data;
                size_t letter = 1;
                while (letter < separators[k].len && (p[letter] & 0xC0) == 0x80)
                        letter++;
                if (count > 1 && letter < separators[k].len) {
                        text_free(&all);
                        onnx_unsupported(im, n, "several separators of more than a letter each");
                        return NULL;
                }
                text_add(&all, "%s", k ? "|" : "");
                text_add_bytes(&all, (const char *)p, separators[k].len);
        }
        if (given)
                text_add_bytes(&all, (const char *)expression->data, expression->len);
        char *pattern = arena_string(im->arena, all.data ? all.data : "");
        text_free(&all);
        return pattern;
}

/* Returns tokens [shape, parts, width] with `pad` behind them and, where marked, the marks of a
 * text's begin and end around them. */
static struct value *padded(struct onnx_import *im, const struct compose_split *s, bool marked,
                            const ProtobufCBinaryData *pad)
{
        static const unsigned char marks[2][2] = { "\x02", "\x03" };
        struct compose *c = im->c;
        const int rank = value_rank(s->texts), axis = rank - 2;
        struct value *fill = onnx_texts_constant(im, "pad_value", 0, NULL, pad, 1, 0);
        if (!fill)
                return NULL;
        fill = onnx_texts_bytes(fill);
        const int64_t width = compose_max(compose_texts_width(s->texts), compose_texts_width(fill)),
                      parts = value_extent(s->texts, axis) + (marked ? 2 : 0);
        struct value *y = compose_fitted(c, s->texts, rank - 1, width);
        fill = compose_fitted(c, fill, 0, width);
        if (marked && y) {
                struct value *one = compose_part(c, y, axis, 0, 1), *all[3] = { one, y, one };
                y = one ? compose_concat(c, all, 3, axis) : NULL;
        }
        /* A number for each part, to be compared with how many tokens there are. */
        dim_t dims[RANK_MAX] = { dim_of(parts), dim_of(1) };
        struct value *number = compose_reshape(c, compose_iota(c, E_I64, parts), 2, dims);
        memcpy(dims, s->counts->type->dims, (size_t)axis * sizeof *dims);
        dims[axis] = dims[axis + 1] = dim_of(1);
        struct value *count = compose_reshape(c, s->counts, rank, dims);
        if (marked)
                count = plus(c, count, 1);
        y = compose_select(c, compose_binary(c, OP_lt, number, count), y, fill);
        for (int k = 0; k < 2 && marked; k++) {
                const ProtobufCBinaryData text = { 1, (uint8_t *)(uintptr_t)marks[k] };
                struct value *mark = onnx_texts_constant(im, "a mark", 0, NULL, &text, 1, 0);
                struct value *here = k ? compose_binary(c, OP_eq, number, count)
                                       : compose_with(c, OP_eq, number, 0);
                if (!mark)
                        return NULL;
                mark = compose_fitted(c, onnx_texts_bytes(mark), 0, width);
                y = compose_select(c, here, mark, y);
        }
        return y;
}

bool onnx_import_tokenizer(struct onnx_import *im, struct onnx_node *n)
{
        const ProtobufCBinaryData *pad;
        struct value *x = texts_of(im, n, 0);
        struct regex_graph graph;
        struct compose_split split;
        struct compose_tokens tokens;
        int64_t mark;
        int given;
        bool between;
        if (!x || !onnx_want_rank(im, n, 0, 1, 2) ||
            !onnx_int_range(im, n, "mark", 0, 0, 1, &mark) ||
            !onnx_int_range(im, n, "mincharnum", 1, 1, NUMBER_MAX, &tokens.least_letters) ||
            !onnx_strings(im, n, "pad_value", &pad, &given))
                return false;
        const char *pattern = token_pattern(im, n, &between);
        if (!pattern || !given)
                return !pattern ? false : onnx_invalid(im, n, "attribute pad_value is missing");
        if (!type_elements(x->type))
                return onnx_unsupported(im, n, "no texts");
        if (!compose_regex_read(im->c, pattern, strlen(pattern), &graph))
                return false;
        if (graph.asserts)
                return onnx_unsupported(im, n, "a pattern that asserts what stands around it");
        const struct compose_automaton *a = compose_automaton_of(im->c, &graph);
        const struct type *declared = n->declared[0];
        const int rank = value_rank(x);
        const int64_t width = compose_texts_width(x);
        tokens.parts = between ? (width + 1) / 2 : width;
        if (declared && declared->rank == rank) {
                tokens.parts = type_extent(declared, rank - 1) - 2 * mark;
                if (tokens.parts < 1)
                        return onnx_unsupported(im, n, "an output declared to have no tokens");
        } else {
                onnx_warning(im, n,
                             "the model does not say how many tokens the texts have: there are "
                             "%lld, as many as %lld bytes may have, the last ones pad_value",
                             (long long)(tokens.parts + 2 * mark), (long long)width);
        }
        return a &&
               (between ? compose_texts_between : compose_texts_matches)(im->c, x, a, &tokens,
                                                                         &split) &&
               output_texts(im, n, 0, padded(im, &split, mark, pad));
}
