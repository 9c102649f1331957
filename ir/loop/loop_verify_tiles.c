/* SPDX-License-Identifier: MIT */
/* The verifier of Loop IR checks sums in hardware tiles, and that no tile holds two of them. */
#include "ir/loop/loop_verify.h"

static bool check_range_of_tiles(struct verifier *v, struct tile_range r)
{
        return (r.first >= 0 && r.count >= 0 && r.first + r.count <= TILE_MAX) ||
               verify_error(v, "hardware tiles %d to %d", r.first, r.first + r.count);
}

/* Checks that no sums have these tiles. */
static bool check_free(struct verifier *v, struct tile_range r)
{
        if (!check_range_of_tiles(v, r))
                return false;
        for (int k = r.first; k < r.first + r.count; k++)
                if (v->tiles[k].sums)
                        return verify_error(v, "hardware tile %d holds sums of %%%s", k,
                                            v->tiles[k].sums->name);
        return true;
}

bool verify_take_tiles(struct verifier *v, const struct loop_variable *x, int depth)
{
        if (x->registers.count && !x->type.tile)
                return verify_error(v, "%%%s is in no hardware tiles", x->name);
        if (!check_free(v, x->registers))
                return false;
        for (int k = 0; k < x->registers.count; k++) {
                v->tiles[x->registers.first + k].sums = x;
                v->tiles[x->registers.first + k].depth = depth;
        }
        return true;
}

void verify_give_tiles_back(struct verifier *v, const struct loop_variable *x, int depth)
{
        for (int k = 0; k < TILE_MAX; k++)
                if (v->tiles[k].depth >= depth && (!x || v->tiles[k].sums == x))
                        v->tiles[k].sums = NULL;
}

static bool are_apart(struct tile_range a, struct tile_range b)
{
        return a.first + a.count <= b.first || b.first + b.count <= a.first;
}

/* MULTIPLY, UNLOAD: checks that the variable has as many tiles as it needs, and that operands are
 * in others; those that take turns must be of one shape. */
static bool check_registers(struct verifier *v, const struct loop_stmt *s)
{
        const struct loop_tiles *t = &s->tiles;
        const struct loop_variable *sums = s->variable;
        int tiles = (int)divide_up(t->positions, t->rows);
        if (!sums->registers.count)
                return (!t->x.count && !t->w.count) ||
                       verify_error(v, "sums without hardware tiles");
        if (v->tiles[sums->registers.first].sums != sums)
                return verify_error(v, "%%%s has no hardware tiles any more", sums->name);
        if (sums->registers.count != tiles * t->vectors)
                return verify_error(v, "%%%s has %d hardware tiles, want %d", sums->name,
                                    sums->registers.count, tiles * t->vectors);
        if (s->kind != STMT_MULTIPLY)
                return true;
        if (t->x.count < 1 || t->x.count > tiles || t->w.count < 1 || t->w.count > t->vectors ||
            (t->x.count < tiles && t->positions % t->rows))
                return verify_error(v, "%d hardware tiles of positions, %d of weights", t->x.count,
                                    t->w.count);
        return check_free(v, t->x) && check_free(v, t->w) &&
               (are_apart(t->x, t->w) || verify_error(v, "hardware tiles of x and w are the same"));
}

static bool check_shape(struct verifier *v, const struct loop_tiles *t, bool depth)
{
        bool good = t->rows >= 1 && t->rows <= TILE_MAX && t->positions >= 1 && t->vectors >= 1 &&
                    t->positions <= TILE_MAX && t->vectors <= TILE_MAX && t->step >= 0 &&
                    t->column >= 0 && t->columns >= 0 && t->column + t->columns <= t->vectors &&
                    t->jump >= 0 && (!depth || (t->depth >= 1 && t->depth <= TILE_MAX));
        return good || verify_error(v, "hardware tiles of %d x %d sums, rows %d, depth %d",
                                    t->positions, t->vectors, t->rows, t->depth);
}

/* TILES: checks for a shape, or all 0. */
static bool check_shapes(struct verifier *v, const struct loop_tiles *t)
{
        if (!t->positions && !t->vectors && !t->rows && !t->depth && !t->lanes && !t->word)
                return true;
        bool good = t->lanes > 1 && t->lanes <= LANES_MAX && t->word >= 1 &&
                    t->word <= WORD_GROUP_MAX;
        if (!check_range_of_tiles(v, t->sums) || !check_range_of_tiles(v, t->x) ||
            !check_range_of_tiles(v, t->w))
                return false;
        return check_shape(v, t, true) &&
               (good || verify_error(v, "hardware tiles of %d lanes, words of %d bytes", t->lanes,
                                     t->word));
}

/* MULTIPLY: checks that words of both operands are as wide as a sum, or of narrower elements twice
 * or four times as wide, and of its element's kind. */
static bool check_tile_words(struct verifier *v, const struct loop_stmt *s)
{
        enum element sum = s->variable->type.element;
        const enum element operands[] = { loop_multiplied_element(s), s->weights->element };
        for (int i = 0; i < 2; i++) {
                const struct element_info *info = &element_info[operands[i]];
                bool alike = element_is_float(sum)
                                     ? info->class == CLASS_FLOAT
                                     : info->class == CLASS_SINT || info->class == CLASS_UINT;
                const int64_t word = (int64_t)info->bytes * s->tiles.group,
                              own = element_info[sum].bytes;
                bool longer = word == 4 * own || (word == 2 * own && info->bytes < own);
                if (!alike || (word != own && !longer))
                        return verify_error(v, "words of %d %s for sums of %s", s->tiles.group,
                                            info->text, element_info[sum].text);
        }
        return true;
}

/* MULTIPLY: checks that its function adds products of channels to a sum. */
static bool check_product(struct verifier *v, const struct loop_stmt *s)
{
        const struct loop_function *f = s->function;
        const struct loop_type sum = LOOP_TYPE(s->variable->type.element);
        bool good = f && f->kind == FUNCTION_LIBRARY && f->scalar_count == 3 &&
                    loop_type_same(f->result, sum);
        for (int i = 0; good && i < f->scalar_count; i++)
                good = loop_type_same(f->scalars[i]->type, sum);
        return good || verify_error(v, "%s makes no %s of three", f ? f->name : "nothing",
                                    element_info[sum.element].text);
}

/* MULTIPLY of a warp group: checks that each warp has the sums, and all are multiplied at once. */
static bool check_warp_group(struct verifier *v, const struct loop_variable *x)
{
        return (x->warps && !v->warp) ||
               verify_error(v, "%%%s is not of all warps, which multiply together", x->name);
}

/* MULTIPLY: checks what it multiplies. */
static bool check_multiplied(struct verifier *v, const struct loop_stmt *s)
{
        if (s->buffer)
                return verify_buffer(v, s->buffer, ACCESS_IN) &&
                       verify_expr(v, s->a, LOOP_TYPE(E_INDEX), "a place");
        const struct loop_variable *x = s->a && s->a->op == LOOP_VARIABLE ? s->a->variable : NULL,
                                   *sums = s->variable;
        if (!x || x->kind != VARIABLE_VAR || !verify_live(v, x->name, x) ||
            !(s->tiles.warp_group ? check_warp_group(v, x) : verify_own(v, x)) || x == sums ||
            !loop_type_same(x->type, sums->type) || x->type.element != E_F32 ||
            x->rows != sums->rows || x->columns * x->type.lanes != s->tiles.depth * s->tiles.group)
                return verify_error(v, "what is multiplied are no sums of f32 of the same "
                                       "positions, with an output for each channel");
        return ((!s->tiles.swizzle && !s->tiles.warp_group && !x->registers.count) ||
                (s->tiles.swizzle && s->tiles.warp_group && s->tiles.transposed)) ||
               verify_error(v, "sums are multiplied by a warp, without lines or numbered tiles, or "
                               "by a warp group, in transposed lines");
}

/* TAKE, GIVE: checks the part of sums that a lane has. */
static bool check_lanes_own(struct verifier *v, const struct loop_stmt *s)
{
        const struct loop_variable *x = s->variable;
        if (!x || x->kind != VARIABLE_VAR || !verify_live(v, x->name, x) || !x->type.tile ||
            !x->warps || !verify_own_of_lanes(v, x) || x->type.lanes != TILE_OWN_LANES ||
            x->rows % TILE_OWN_ROWS || s->tiles.rows != TILE_OWN_ROWS ||
            s->tiles.positions != x->rows || s->tiles.vectors != x->columns)
                return verify_error(v, "lanes have no parts of these sums");
        const bool takes = s->kind == STMT_TAKE;
        if (!verify_buffer(v, s->buffer, takes ? ACCESS_OUT : ACCESS_IN) ||
            s->buffer->space != SPACE_STACK || s->buffer->element != x->type.element ||
            s->buffer->extent != x->rows / TILE_OWN_ROWS * x->columns * TILE_OWN)
                return verify_error(
                        v, "a lane's part of sums is not in memory of its own, or of another size");
        return (verify_expr(v, s->a, LOOP_TYPE(E_INDEX), "a lane") && s->a->op == LOOP_VARIABLE &&
                s->a->variable->kind == VARIABLE_LOOP) ||
               verify_error(v, "a lane is no variable of a loop");
}

/* MULTIPLY: checks swizzle lines, of words of outputs, or, transposed, of channels, which need sums
 * for x. */
static bool check_lines(struct verifier *v, const struct loop_tiles *t, int lanes,
                        const struct loop_buffer *x)
{
        if (!t->swizzle)
                return true;
        if (t->swizzle != lanes || (!t->transposed && t->swizzle != t->depth))
                return verify_error(v, "lines of %d words, %d deep, for %d lanes", t->swizzle,
                                    t->depth, lanes);
        return !t->transposed ||
               (!x && t->vectors % t->swizzle == 0 && t->group % t->swizzle == 0) ||
               verify_error(v, "transposed lines, of %d words, for %d vectors, of %d channels",
                            t->swizzle, t->vectors, t->group);
}

/* MULTIPLY, UNLOAD, SCALE: checks the variable, buffers and places. */
static bool check_tiles(struct verifier *v, const struct loop_stmt *s, int depth)
{
        const struct loop_variable *x = s->variable;
        bool multiplies = s->kind == STMT_MULTIPLY, reads = multiplies || s->kind == STMT_SCALE;
        if (!x || x->kind != VARIABLE_VAR || !verify_live(v, x->name, x) ||
            (x->type.element != E_F32 && x->type.element != E_I32) || !x->type.tile ||
            s->tiles.rows < 1 ||
            (reads ? x->rows != s->tiles.positions
                   : s->tiles.first < 0 || s->tiles.positions > x->rows - s->tiles.first ||
                             s->tiles.first % s->tiles.rows) ||
            x->columns != s->tiles.vectors)
                return verify_error(v, "sums are no tiles of f32 or i32 of their shape");
        bool own = multiplies && s->tiles.warp_group ? check_warp_group(v, x) : verify_own(v, x);
        if (!own || !check_shape(v, &s->tiles, multiplies) || !check_registers(v, s) ||
            !(multiplies ? check_multiplied(v, s)
                         : verify_buffer(v, s->buffer, reads ? ACCESS_IN : ACCESS_OUT) &&
                                   verify_expr(v, s->a, LOOP_TYPE(E_INDEX), "a place")))
                return false;
        if (!check_lines(v, &s->tiles, x->type.lanes, s->buffer))
                return false;
        if (multiplies)
                return verify_buffer(v, s->weights, ACCESS_IN) &&
                       verify_expr(v, s->b, LOOP_TYPE(E_INDEX), "a place") &&
                       check_tile_words(v, s) && check_product(v, s);
        if (!reads)
                verify_give_tiles_back(v, x, depth);
        return s->buffer->element == x->type.element ||
               verify_error(
                       v, reads ? "tiles of %s are scaled by %s" : "tiles of %s are stored as %s",
                       element_info[x->type.element].text, element_info[s->buffer->element].text);
}

bool verify_tiles(struct verifier *v, const struct loop_stmt *s, int depth)
{
        switch (s->kind) {
        case STMT_TILES: return check_shapes(v, &s->tiles);
        case STMT_TAKE: case STMT_GIVE: return check_lanes_own(v, s);
        default: return check_tiles(v, s, depth);
        }
}
