/* SPDX-License-Identifier: MIT */
/* Parses statements on tiles of sums, and copies into shared memory, in Loop IR text. */
#include "ir/loop/loop_parser.h"

#include <string.h>

/* Reads "word A to B", or nothing. */
bool loop_parse_registers(struct loop_parser *p, const char *word, struct tile_range *r)
{
        int64_t first, end;
        if (!loop_lex_accept(p, word))
                return !p->failed;
        if (!loop_lex_int(p, "a hardware tile", 0, TILE_MAX - 1, &first) ||
            !loop_lex_expect(p, "to") ||
            !loop_lex_int(p, "the end of hardware tiles", first + 1, TILE_MAX, &end))
                return false;
        *r = (struct tile_range){ (int)first, (int)(end - first) };
        return true;
}

/* Reads " word N". */
static bool parse_extent(struct loop_parser *p, const char *word, int64_t most, int64_t *n)
{
        return (!word || loop_lex_expect(p, word)) &&
               loop_lex_int(p, word ? word : "positions", 0, most, n);
}

/* UNLOAD: reads "from N to N columns N to N step N", each of which may be missing. */
static bool parse_part(struct loop_parser *p, struct loop_stmt *s)
{
        int64_t first = 0, end = s->variable->rows;
        if (loop_lex_accept(p, "from") &&
            (!loop_lex_int(p, "a position", 0, end - 1, &first) || !loop_lex_expect(p, "to") ||
             !loop_lex_int(p, "the end of positions", first + 1, end, &end)))
                return false;
        s->tiles.first = (int)first;
        s->tiles.positions = (int)(end - first);
        int64_t column = 0, last = s->variable->columns;
        if (loop_lex_accept(p, "columns") &&
            (!loop_lex_int(p, "a vector", 0, last - 1, &column) || !loop_lex_expect(p, "to") ||
             !loop_lex_int(p, "the end of vectors", column + 1, last, &last)))
                return false;
        s->tiles.column = (int)column;
        s->tiles.columns = last - column < s->variable->columns ? (int)(last - column) : 0;
        return !loop_lex_accept(p, "step") ||
               loop_lex_int(p, "a step", 1, EXTENT_MAX, &s->tiles.step);
}

/* MULTIPLY: reads "swizzle N warp_group", each of which may be missing. */
static bool parse_swizzle(struct loop_parser *p, struct loop_stmt *s)
{
        int64_t words = 0;
        if (loop_lex_accept(p, "swizzle") &&
            !loop_lex_int(p, "words of a swizzle line", 1, TILE_MAX, &words))
                return false;
        s->tiles.swizzle = (int)words;
        s->tiles.warp_group = loop_lex_accept(p, "warp_group");
        return true;
}

/* Reads the part of a tile's shape that follows the operands. */
bool loop_parse_tiles(struct loop_parser *p, struct loop_stmt *s)
{
        int64_t positions = 0, vectors = 0, rows, depth = 0, lanes = 0, word = 0, group = 0;
        bool shape = s->kind == STMT_TILES, multiplies = s->kind == STMT_MULTIPLY;
        bool deep = shape || multiplies;
        if (p->version < 2)
                return loop_lex_error(p, "hardware tiles of version 1 of the format do not say "
                                         "what a word is: compile the model again");
        if ((shape && (!parse_extent(p, NULL, TILE_MAX, &positions) ||
                       !parse_extent(p, "by", TILE_MAX, &vectors))) ||
            !parse_extent(p, "rows", TILE_MAX, &rows) ||
            (deep && !parse_extent(p, "depth", TILE_MAX, &depth)) ||
            (shape && (!parse_extent(p, "lanes", LANES_MAX, &lanes) ||
                       !parse_extent(p, "word", WORD_GROUP_MAX, &word))) ||
            (multiplies && (!parse_extent(p, "group", MULTIPLY_GROUP_MAX, &group) ||
                            (s->buffer && (!parse_extent(p, "step", EXTENT_MAX, &s->tiles.step) ||
                                           !parse_extent(p, "jump", EXTENT_MAX, &s->tiles.jump))) ||
                            !parse_swizzle(p, s))) ||
            (shape && !loop_parse_registers(p, "sums", &s->tiles.sums)))
                return false;
        s->tiles.transposed = multiplies && loop_lex_accept(p, "transposed");
        s->tiles.prefetched = multiplies && loop_lex_accept(p, "prefetched");
        if (deep && (!loop_parse_registers(p, "x", &s->tiles.x) ||
                     !loop_parse_registers(p, "w", &s->tiles.w)))
                return false;
        s->tiles.positions = shape ? (int)positions : s->variable->rows;
        if (s->kind == STMT_UNLOAD && !parse_part(p, s))
                return false;
        s->tiles.vectors = shape ? (int)vectors : s->variable->columns;
        s->tiles.rows = (int)rows;
        s->tiles.depth = (int)depth;
        s->tiles.lanes = (int)lanes;
        s->tiles.word = (int)word;
        s->tiles.group = (int)group;
        return true;
}

static bool parse_sums(struct loop_parser *p, struct loop_stmt *s)
{
        struct loop_binding *b = loop_parse_name(p);
        if (b && !b->variable)
                return loop_lex_error(p, "only a variable holds sums");
        s->variable = b ? b->variable : NULL;
        return b != NULL;
}

/* MULTIPLY: reads "%buffer[place]", or sums. */
static bool parse_multiplied(struct loop_parser *p, struct loop_stmt *s)
{
        struct loop_binding *b = loop_parse_name(p);
        if (b && b->variable) {
                s->a = loop_use(p->arena, b->variable);
                return true;
        }
        return b && loop_parse_place_in(p, b, &s->buffer, &s->a);
}

/* Reads "by function"; version 2 of the format had only one function. */
static bool parse_product(struct loop_parser *p, struct loop_stmt *s)
{
        enum element sum = s->variable->type.element;
        const char *name = p->version < 3             ? "add_product"
                           : loop_lex_expect(p, "by") ? loop_lex_word(p, "a function")
                                                      : NULL;
        if (!name)
                return false;
        s->function = loop_overload(p->overloads, name, strlen(name), sum);
        return s->function || loop_lex_error(p, "the library has no function %s of %s", name,
                                             element_info[sum].text);
}

bool loop_parse_multiply(struct loop_parser *p, struct loop_stmt *s)
{
        if (!parse_sums(p, s) || !loop_lex_expect(p, "+") || !loop_lex_expect(p, "=") ||
            !parse_multiplied(p, s) || !loop_lex_expect(p, "*"))
                return false;
        return loop_parse_place(p, &s->weights, &s->b) && parse_product(p, s) &&
               loop_parse_tiles(p, s);
}

bool loop_parse_unload(struct loop_parser *p, struct loop_stmt *s)
{
        return loop_parse_place(p, &s->buffer, &s->a) && loop_lex_expect(p, "=") &&
               parse_sums(p, s) && loop_parse_tiles(p, s);
}

static bool parse_own(struct loop_parser *p, struct loop_stmt *s)
{
        struct loop_binding *b = loop_parse_name(p);
        if (b && !b->buffer)
                return loop_lex_error(p, "only memory holds what a lane has of sums");
        s->buffer = b ? b->buffer : NULL;
        return b != NULL;
}

/* Reads "%own = %sums lane l", or "%sums = %own lane l". */
bool loop_parse_own(struct loop_parser *p, struct loop_stmt *s)
{
        const bool takes = s->kind == STMT_TAKE;
        return (takes ? parse_own : parse_sums)(p, s) && loop_lex_expect(p, "=") &&
               (takes ? parse_sums : parse_own)(p, s) && loop_lex_expect(p, "lane") &&
               (s->a = loop_parse_expr(p, LOOP_TYPE(E_INDEX))) && loop_parse_tiles(p, s);
}

/* Reads "%sums by %factors[place]". */
bool loop_parse_scale(struct loop_parser *p, struct loop_stmt *s)
{
        return parse_sums(p, s) && loop_lex_expect(p, "by") &&
               loop_parse_place(p, &s->buffer, &s->a) && loop_parse_tiles(p, s);
}

/* Reads "%to[places] = %from[places] of N mask m". */
bool loop_parse_copy(struct loop_parser *p, struct loop_stmt *s)
{
        int64_t elements;
        if (!loop_parse_place(p, &s->buffer, &s->a) || !loop_lex_expect(p, "=") ||
            !loop_parse_place(p, &s->source, &s->b) || !loop_lex_expect(p, "of") ||
            !loop_lex_int(p, "elements", 1, GRID_SHARED_MAX, &elements))
                return false;
        s->code = (int)elements;
        return !loop_lex_accept(p, "mask") ||
               (s->c = loop_parse_expr(p, LOOP_VECTOR(E_BOOL, s->a->type.lanes)));
}

bool loop_parse_commit(struct loop_parser *p, struct loop_stmt *s)
{
        (void)s;
        return !p->failed;
}

bool loop_parse_wait(struct loop_parser *p, struct loop_stmt *s)
{
        int64_t groups;
        if (!loop_lex_int(p, "groups", 0, COPY_GROUPS_MAX - 1, &groups))
                return false;
        s->code = (int)groups;
        return true;
}

bool loop_parse_settle(struct loop_parser *p, struct loop_stmt *s)
{
        int64_t products;
        if (!loop_lex_int(p, "products", 0, PRODUCTS_MAX - 1, &products))
                return false;
        s->code = (int)products;
        return true;
}
