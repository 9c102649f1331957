/* SPDX-License-Identifier: MIT */
/* Parses expressions of Loop IR text, and finds the types of their literals.
 *
 * A literal has its type written (0.5:f64), or takes that of the other operand of its operation, or
 * the type that the place needs (the annotation of a let, the element stored, index for a
 * subscript, a parameter, bool for a condition). Where none of these is given, it is index, f32
 * with a point, or bool. In library text and formulas that last resort is the type of the first
 * parameter or argument, and the operand of a cast takes the type it is cast to. */
#include "ir/loop/loop_parser.h"

#include <string.h>

static struct loop_expr *parse_infix(struct loop_parser *p, int precedence);

static bool is_typed(const struct loop_expr *e) { return e->type.lanes != 0; }

/* ---- literals ---- */

static struct loop_expr *pending_literal(struct loop_parser *p, const struct loop_token *token,
                                         bool negative)
{
        struct loop_pending *pending = ARENA_NEW(p->arena, struct loop_pending);
        bool word = token->kind == TOKEN_WORD,
             boolean = word && (*token->start == 't' || *token->start == 'f');
        pending->expr.op = LOOP_LITERAL;
        pending->expr.type.element = boolean ? E_BOOL : word || token->is_float ? E_F32 : E_INDEX;
        pending->token = *token;
        pending->negative = negative;
        return &pending->expr;
}

/* Gives e a type where it has none. */
static bool resolve(struct loop_parser *p, struct loop_expr *e, struct loop_type type)
{
        if (is_typed(e))
                return true;
        e->type = type;
        if (e->op == LOOP_LITERAL) {
                const struct loop_pending *pending = (const struct loop_pending *)e;
                return loop_lex_literal(p, &pending->token, pending->negative,
                                        type.element, &e->literal);
        }
        for (int i = 0; i < e->arity; i++)
                if (!resolve(p, e->args[i], type))
                        return false;
        if (p->kind == TEXT_FORMULA) /* Now that its type is known, it may simplify. */
                *e = *loop_op(p->arena, e->op, e->args[0], e->args[1], e->args[2]);
        return true;
}

static struct loop_type default_type(const struct loop_parser *p, int form)
{
        enum element fallback = p->fallback.element;
        if (!p->fallback.lanes || form == E_BOOL || (form == E_F32 && !element_is_float(fallback)))
                return LOOP_TYPE(form);
        return p->fallback;
}

static bool resolve_default(struct loop_parser *p, struct loop_expr *e)
{
        return resolve(p, e, default_type(p, e->type.element));
}

/* Gives all operands one type, that of those which have one; *type's lanes are 0 when none has. */
static bool unify(struct loop_parser *p, struct loop_expr *const *args, int count, const char *what,
                  struct loop_type *type)
{
        const struct loop_expr *typed = NULL;
        *type = args[0]->type;
        for (int i = 0; i < count; i++) {
                if (!typed && is_typed(args[i]))
                        typed = args[i];
                if (args[i]->type.element == E_F32 || type->element == E_BOOL)
                        type->element = args[i]->type.element;
        }
        if (!typed)
                return true;
        *type = typed->type;
        for (int i = 0; i < count; i++) {
                if (!resolve(p, args[i], *type))
                        return false;
                if (!loop_type_same(args[i]->type, *type))
                        return loop_lex_error(p, "operands of '%s' are %s and %s", what,
                                              loop_type_text(p->arena, *type),
                                              loop_type_text(p->arena, args[i]->type));
        }
        return true;
}

/* ---- nodes ---- */

static struct loop_type node_type(enum loop_opcode op, struct loop_expr *const *args,
                                  struct loop_type operands, int lanes)
{
        struct loop_type type = LOOP_VECTOR(args[0]->type.element, lanes);
        switch (op) {
        case LOOP_RAMP: case LOOP_SPLAT: return type;
        case LOOP_INTERLEAVE_LOW: case LOOP_INTERLEAVE_HIGH: return args[0]->type;
        case LOOP_LANE: case LOOP_SUM_LANES: case LOOP_MAX_LANES: case LOOP_MIN_LANES:
                return LOOP_TYPE(args[0]->type.element);
        default:
                break;
        }
        if (loop_op_info[op].result == RESULT_BOOL)
                return LOOP_VECTOR(E_BOOL, args[0]->type.lanes);
        return operands;
}

/* Makes an operation of loop_ops.def; lanes: those of ramp and splat. */
static struct loop_expr *make(struct loop_parser *p, enum loop_opcode op, struct loop_expr **args,
                              int lanes)
{
        const struct loop_op_info *info = &loop_op_info[op];
        struct loop_type type = args[0]->type;
        bool good = true;
        if (op == LOOP_SELECT)
                good = resolve_default(p, args[0]) && unify(p, args + 1, 2, info->text, &type);
        else if (op >= LOOP_RAMP)
                good = resolve_default(p, args[0]) &&
                       (info->arity < 2 ||
                        resolve(p, args[1], op == LOOP_LANE ? LOOP_TYPE(E_INDEX) : args[0]->type));
        else
                good = unify(p, args, info->arity, info->text, &type);
        if (good && info->result == RESULT_BOOL)
                for (int i = 0; good && i < info->arity; i++)
                        good = resolve(p, args[i], default_type(p, type.element));
        if (!good)
                return NULL;
        if (info->result == RESULT_BOOL)
                type = args[0]->type;
        if (p->kind == TEXT_FORMULA && op < LOOP_RAMP && type.lanes)
                return loop_op(p->arena, op, args[0], args[1], args[2]);
        return loop_node(p->arena, op, node_type(op, args, type, lanes), args[0], args[1], args[2]);
}

static struct loop_expr *make_cast(struct loop_parser *p, enum element to, bool bits,
                                   struct loop_expr *a)
{
        struct loop_type type = LOOP_VECTOR(to, 0);
        if (p->kind != TEXT_PROGRAM && !bits && !is_typed(a)) {
                type.lanes = 1;
                return resolve(p, a, type) ? a : NULL;
        }
        if (!resolve_default(p, a))
                return NULL;
        type.lanes = a->type.lanes;
        if (p->kind == TEXT_PROGRAM)
                return loop_node(p->arena, bits ? LOOP_BITCAST : LOOP_CAST, type, a, NULL, NULL);
        return bits ? loop_bitcast(p->arena, to, a) : loop_cast(p->arena, to, a);
}

/* ---- types and names ---- */

static bool element_from_word(const struct loop_parser *p, const char *word, size_t length,
                              enum element *element)
{
        if (p->template_name && length == p->template_length &&
            !memcmp(word, p->template_name, length)) {
                *element = p->template_element;
                return true;
        }
        return element_from_text(word, length, element);
}

bool loop_parse_element(struct loop_parser *p, enum element *element)
{
        if (p->token.kind != TOKEN_WORD ||
            !element_from_word(p, p->token.start, p->token.length, element))
                return loop_lex_error(p, "want an element type, found %s", loop_lex_shown(p));
        loop_lex_next(p);
        return !p->failed;
}

/* Reads f32, f32x16, boolx16, indexx4, f32x16tile. */
bool loop_parse_type(struct loop_parser *p, struct loop_type *type)
{
        const char *word = p->token.start;
        size_t length = p->token.length, stem = length;
        enum element e;
        int lanes = 1;
        bool good = p->token.kind == TOKEN_WORD, tile = false;
        if (good && !element_from_word(p, word, length, &e)) {
                size_t end = length;
                tile = length > 4 && !memcmp(word + length - 4, "tile", 4);
                if (tile)
                        stem = end = length - 4;
                while (stem && word[stem - 1] >= '0' && word[stem - 1] <= '9')
                        stem--;
                if (tile && (stem == end || word[stem - 1] != 'x'))
                        return loop_lex_error(
                                p, "%s says no lanes, as tiles do since version 2 of the format",
                                loop_lex_shown(p));
                if (stem > 1 && end - stem >= 1 && end - stem <= 3 && word[stem - 1] == 'x' &&
                    word[stem] != '0') {
                        lanes = 0;
                        for (size_t i = stem; i < end; i++)
                                lanes = 10 * lanes + word[i] - '0';
                        stem--;
                } else
                        good = false;
                good = good && lanes > 1 && lanes <= LANES_MAX &&
                       element_from_word(p, word, stem, &e);
        }
        if (!good)
                return loop_lex_error(p, "want a type, found %s", loop_lex_shown(p));
        *type = LOOP_VECTOR(e, lanes);
        type->tile = tile;
        loop_lex_next(p);
        return !p->failed;
}

struct loop_parsed_load { int64_t lanes, group; enum element word; };

static struct loop_binding *find_name(struct loop_parser *p, const struct loop_token *word)
{
        struct loop_binding *b = p->names ? map_get(p->names, word->start, word->length) : NULL;
        if (!b || !b->live) {
                loop_lex_error(p, "nothing called '%s' is in scope",
                               text_safe(p->arena, word->start, word->length));
                return NULL;
        }
        return b;
}

struct loop_binding *loop_parse_name(struct loop_parser *p)
{
        if (!loop_lex_accept(p, "%") && p->kind != TEXT_LIBRARY) {
                loop_lex_error(p, "want %%name, found %s", loop_lex_shown(p));
                return NULL;
        }
        struct loop_token word = p->token;
        if (word.kind != TOKEN_WORD) {
                loop_lex_error(p, "want a name, found %s", loop_lex_shown(p));
                return NULL;
        }
        struct loop_binding *b = find_name(p, &word);
        loop_lex_next(p);
        return b;
}

/* ---- primaries ---- */

/* Reads u32 of 4. */
static bool parse_word_type(struct loop_parser *p, struct loop_parsed_load *load)
{
        if (!loop_parse_element(p, &load->word))
                return false;
        if (load->word != E_U32 && load->word != E_U64)
                return loop_lex_error(p, "words are u32 or u64, found %s",
                                      element_info[load->word].text);
        return loop_lex_expect(p, "of") &&
               loop_lex_int(p, "elements of a word", 2, WORD_GROUP_MAX, &load->group);
}

/* Reads <8>, <u32 of 4>, <8 u32 of 4> or nothing. */
static bool parse_lanes(struct loop_parser *p, struct loop_parsed_load *load)
{
        if (!loop_lex_accept(p, "<"))
                return true;
        bool counted = p->token.kind != TOKEN_WORD;
        if (counted && !loop_lex_int(p, "a number of lanes", 2, LANES_MAX, &load->lanes))
                return false;
        if (p->token.kind == TOKEN_WORD && !parse_word_type(p, load))
                return false;
        return loop_lex_expect(p, ">");
}

/* Reads <8>[index, mask] behind a buffer's name. */
static struct loop_expr *parse_load(struct loop_parser *p, struct loop_buffer *buffer)
{
        struct loop_parsed_load load = { 0 };
        if (!parse_lanes(p, &load))
                return NULL;
        int64_t lanes = load.lanes;
        if (!loop_lex_expect(p, "["))
                return NULL;
        struct loop_expr *index = loop_parse_expr(p, LOOP_TYPE(E_INDEX)), *mask = NULL;
        int height = p->height;
        if (!index)
                return NULL;
        if (!lanes)
                lanes = load.group ? 1 : index->type.lanes;
        if (load.group) {
                p->height = 1 + height;
                return loop_lex_expect(p, "]") ? loop_load_words(p->arena, buffer, index, load.word,
                                                                 (int)load.group, (int)lanes)
                                               : NULL;
        }
        if (loop_lex_accept(p, ",") &&
            !(mask = loop_parse_expr(p, LOOP_VECTOR(E_BOOL, lanes))))
                return NULL;
        p->height = 1 + (mask && p->height > height ? p->height : height);
        return loop_lex_expect(p, "]") ? loop_load_vector(p->arena, buffer, index, (int)lanes, mask)
                                       : NULL;
}

static struct loop_expr *use_binding(struct loop_parser *p, const struct loop_binding *b)
{
        int64_t row, column;
        if (!b)
                return NULL;
        if (b->buffer)
                return parse_load(p, b->buffer);
        if (!b->variable->rows)
                return loop_use(p->arena, b->variable);
        if (!loop_lex_expect(p, "{") || !loop_lex_int(p, "a row", 0, b->variable->rows - 1, &row) ||
            !loop_lex_expect(p, ",") ||
            !loop_lex_int(p, "a column", 0, b->variable->columns - 1, &column) ||
            !loop_lex_expect(p, "}"))
                return NULL;
        return loop_tile_entry(p->arena, b->variable, (int)row, (int)column);
}

static struct loop_expr *parse_program_buffer(struct loop_parser *p)
{
        struct loop_token word = p->token;
        struct loop_buffer *b = p->buffers && word.kind == TOKEN_WORD
                                        ? map_get(p->buffers, word.start, word.length)
                                        : NULL;
        if (!b) {
                loop_lex_error(p, "want a buffer of the program, found %s", loop_lex_shown(p));
                return NULL;
        }
        loop_lex_next(p);
        return parse_load(p, b);
}

/* Reads "(a, b, c)"; count: how many operands it needs. p->height is then the tree's height. */
static bool parse_arguments(struct loop_parser *p, struct loop_expr **args, int count,
                            const struct loop_token *word)
{
        int height = 0;
        if (!loop_lex_expect(p, "("))
                return false;
        for (int i = 0; i < count; i++) {
                if (i && !loop_lex_is(p, ","))
                        return loop_lex_error(p, "'%.*s' takes %d operands", (int)word->length,
                                              word->start, count);
                if ((i && !loop_lex_expect(p, ",")) || !(args[i] = parse_infix(p, 1)))
                        return false;
                if (p->height > height)
                        height = p->height;
        }
        p->height = 1 + height;
        return loop_lex_expect(p, ")");
}

static struct loop_expr *parse_op(struct loop_parser *p, enum loop_opcode op,
                                  const struct loop_token *word)
{
        int64_t lanes = 1;
        struct loop_expr *args[3] = { NULL, NULL, NULL };
        bool lanes_stated = op == LOOP_RAMP || op == LOOP_SPLAT;
        if (lanes_stated && (!loop_lex_expect(p, "<") ||
                             !loop_lex_int(p, "a number of lanes", 2, LANES_MAX, &lanes) ||
                             !loop_lex_expect(p, ">")))
                return NULL;
        return parse_arguments(p, args, loop_op_info[op].arity, word)
                       ? make(p, op, args, (int)lanes)
                       : NULL;
}

static struct loop_expr *parse_library_call(struct loop_parser *p, const struct loop_token *word)
{
        struct loop_expr *args[3] = { NULL, NULL, NULL };
        struct loop_function *f = NULL;
        int height = 0, count = 0;
        if (!loop_lex_expect(p, "("))
                return NULL;
        do {
                struct loop_expr *a = parse_infix(p, 1);
                if (!a || (!f && !resolve_default(p, a)))
                        return NULL;
                if (!f)
                        f = loop_overload(p->overloads, word->start, word->length,
                                          a->type.element);
                if (!f || count >= f->scalar_count || count >= 3) {
                        loop_lex_error(p,
                                       f ? "too many arguments for %s"
                                         : "there is no function %s of %s",
                                       text_safe(p->arena, word->start, word->length),
                                       element_info[a->type.element].text);
                        return NULL;
                }
                struct loop_type type = f->scalars[count]->type;
                int lanes = loop_call_lanes(f, count ? args[0] : a);
                if (lanes > 1)
                        type.lanes = (uint16_t)lanes;
                if (!resolve(p, a, type))
                        return NULL;
                if (!loop_type_same(a->type, type)) {
                        loop_lex_error(p, "argument %d of %s is %s, want %s", count + 1, f->name,
                                       loop_type_text(p->arena, a->type),
                                       loop_type_text(p->arena, type));
                        return NULL;
                }
                args[count++] = a;
                height = p->height > height ? p->height : height;
        } while (loop_lex_accept(p, ","));
        if (count < f->scalar_count) {
                loop_lex_error(p, "%s has %d arguments, want %d", f->name, count, f->scalar_count);
                return NULL;
        }
        p->height = 1 + height;
        return loop_lex_expect(p, ")") ? loop_call(p->arena, f, args) : NULL;
}

static bool word_is(const struct loop_token *word, const char *text)
{
        return strlen(text) == word->length && !memcmp(word->start, text, word->length);
}

static bool is_literal_word(const struct loop_token *word)
{
        return word->kind == TOKEN_WORD && (word_is(word, "true") || word_is(word, "false") ||
                                            word_is(word, "nan") || word_is(word, "inf"));
}

static struct loop_expr *bare_name(struct loop_parser *p, const struct loop_token *word)
{
        if (p->kind == TEXT_FORMULA && word->length == 1 && *word->start >= 'x' &&
            *word->start < 'x' + p->arg_count)
                return p->args[*word->start - 'x'];
        if (p->kind == TEXT_LIBRARY)
                return use_binding(p, find_name(p, word));
        loop_lex_error(p, "want an expression, found '%s'",
                       text_safe(p->arena, word->start, word->length));
        return NULL;
}

static struct loop_expr *parse_word(struct loop_parser *p)
{
        struct loop_token word = p->token;
        loop_lex_next(p);
        for (int op = LOOP_MIN; op < LOOP_CAST; op++)
                if (loop_op_info[op].form == FORM_CALL &&
                    (op == LOOP_RAMP || op == LOOP_SPLAT || loop_lex_is(p, "(")) &&
                    word_is(&word, loop_op_info[op].text))
                        return parse_op(p, (enum loop_opcode)op, &word);
        if (!loop_lex_is(p, "("))
                return bare_name(p, &word);
        enum element e;
        bool bits = word.length > 5 && !memcmp(word.start, "bits_", 5);
        size_t skip = bits ? 5 : 0;
        if (element_from_word(p, word.start + skip, word.length - skip, &e)) {
                struct loop_expr *args[3] = { NULL, NULL, NULL };
                return parse_arguments(p, args, 1, &word) ? make_cast(p, e, bits, args[0]) : NULL;
        }
        return parse_library_call(p, &word);
}

static struct loop_expr *parse_literal(struct loop_parser *p, bool negative)
{
        struct loop_type type;
        struct loop_expr *e = pending_literal(p, &p->token, negative);
        loop_lex_next(p);
        if (loop_lex_accept(p, ":") && (!loop_parse_type(p, &type) || !resolve(p, e, type)))
                return NULL;
        return e;
}

static struct loop_expr *parse_primary(struct loop_parser *p)
{
        p->height = 1;
        if (p->token.kind == TOKEN_NUMBER || is_literal_word(&p->token))
                return parse_literal(p, false);
        if (loop_lex_accept(p, "(")) {
                struct loop_expr *e = parse_infix(p, 1);
                return e && loop_lex_expect(p, ")") ? e : NULL;
        }
        if (loop_lex_is(p, "%"))
                return use_binding(p, loop_parse_name(p));
        if (loop_lex_accept(p, "@"))
                return parse_program_buffer(p);
        if (p->token.kind == TOKEN_WORD)
                return parse_word(p);
        loop_lex_error(p, "want an expression, found %s", loop_lex_shown(p));
        return NULL;
}

/* ---- prefix and infix operators ---- */

static struct loop_expr *parse_prefix_inside(struct loop_parser *p)
{
        struct loop_expr *args[3] = { NULL, NULL, NULL };
        bool minus = loop_lex_is(p, "-");
        if (!minus && !loop_lex_is(p, "~"))
                return parse_primary(p);
        loop_lex_next(p);
        if (minus && (p->token.kind == TOKEN_NUMBER || loop_lex_is(p, "inf"))) {
                p->height = 1;
                return parse_literal(p, true);          /* -5 is a literal, -(5) an operation. */
        }
        p->depth++;
        if (p->depth > EXPR_DEPTH_MAX + 1)
                loop_lex_error(p, "an expression is nested more than %d deep", EXPR_DEPTH_MAX);
        else if ((args[0] = parse_prefix_inside(p)))
                args[0] = make(p, minus ? LOOP_NEG : LOOP_NOT, args, 1);
        p->depth--;
        p->height++;
        return args[0];
}

static int infix_operator(const struct loop_parser *p)
{
        if (p->token.kind == TOKEN_MARK)
                for (int op = 0; op < LOOP_NEG; op++)
                        if (*loop_op_info[op].text == *p->token.start &&
                            loop_lex_is(p, loop_op_info[op].text))
                                return op;
        return -1;
}

static struct loop_expr *parse_infix(struct loop_parser *p, int precedence)
{
        if (p->depth > EXPR_DEPTH_MAX) {
                loop_lex_error(p, "an expression is nested more than %d deep", EXPR_DEPTH_MAX);
                return NULL;
        }
        p->depth++;
        struct loop_expr *left = parse_prefix_inside(p);
        int height = p->height, op;
        while (left && (op = infix_operator(p)) >= 0 && loop_op_info[op].precedence >= precedence) {
                loop_lex_next(p);
                struct loop_expr *args[3] = { left, parse_infix(p, loop_op_info[op].precedence + 1),
                                              NULL };
                left = args[1] ? make(p, (enum loop_opcode)op, args, 1) : NULL;
                height = 1 + (p->height > height ? p->height : height);
                if (height > EXPR_DEPTH_MAX) {
                        loop_lex_error(p, "an expression is nested more than %d deep",
                                       EXPR_DEPTH_MAX);
                        left = NULL;
                }
        }
        p->depth--;
        p->height = height;
        if (left && height > EXPR_DEPTH_MAX) {
                loop_lex_error(p, "an expression is nested more than %d deep", EXPR_DEPTH_MAX);
                return NULL;
        }
        return left;
}

struct loop_expr *loop_parse_expr(struct loop_parser *p, struct loop_type expected)
{
        struct loop_expr *e = parse_infix(p, 1);
        if (!e || !resolve(p, e, expected.lanes ? expected : default_type(p, e->type.element)) ||
            p->failed)
                return NULL;
        return e;
}
