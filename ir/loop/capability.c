/* SPDX-License-Identifier: MIT */
#include "ir/loop/capability.h"

#include <string.h>

static bool matches(const struct capability *row, const struct capability *want)
{
        const bool level = row->level == want->level || row->op == CAN_WALK;
        return row->op == want->op && row->element == want->element && row->to == want->to &&
               level && row->lanes == want->lanes && row->lane == want->lane &&
               row->loaded == want->loaded && row->scalar == want->scalar &&
               (row->op != LOOP_CALL || !strcmp(row->function, want->function));
}

const struct capability *capability_first(const struct target *t)
{
        return t->capabilities && t->capabilities->op != CAN_END ? t->capabilities : NULL;
}

const struct capability *capability_next(const struct target *t, const struct capability *row)
{
        const void *next = (const char *)row + t->capability_bytes;
        row = next;
        return row->op != CAN_END ? row : NULL;
}

/* Finds the row for an operation. lanes 0: in whichever table has it. */
static const struct capability *find(const struct target *t, struct capability want, int lanes)
{
        for (t = target_widest(t); t; t = t->base) {
                want.lanes = lanes > 1 && target_lanes(t, E_F32) == lanes ? 0 : (uint8_t)lanes;
                for (const struct capability *row = capability_first(t); row;
                     row = capability_next(t, row))
                        if (matches(row, &want))
                                return row;
        }
        return NULL;
}

static const struct capability *find_plain(const struct target *t, int op, struct loop_type type)
{
        return find(t, (struct capability){ .op = (uint8_t)op, .element = type.element },
                    type.lanes);
}

const struct capability *capability_of_type(const struct target *t, struct loop_type type)
{
        return type.lanes > 1 ? find_plain(t, CAN_TYPE, type) : NULL;
}

const struct capability *capability_of_zero(const struct target *t, struct loop_type type)
{
        const struct capability *row = find_plain(t, CAN_ZERO, type);
        return row ? row : find_plain(t, LOOP_SPLAT, type);
}

const struct capability *capability_of_prefetch(const struct target *t, int level)
{
        return find(t, (struct capability){ .op = CAN_PREFETCH, .level = (uint8_t)level }, 0);
}

const struct capability *capability_of_tiles(const struct target *t, enum capability_op op)
{
        return find(t, (struct capability){ .op = (uint8_t)op, .element = E_F32 }, 0);
}

const struct capability *capability_of_products(const struct target *t, enum element x,
                                                enum element w)
{
        return find(t,
                    (struct capability){ .op = CAN_TILE_MULTIPLY,
                                       .element = (uint8_t)x,
                                       .to = (uint8_t)w },
                    0);
}

const struct loop_expr *capability_subscripts(const struct loop_expr *index)
{
        return index->op == LOOP_CAST && index->args[0]->type.element == E_I32 ? index->args[0]
                                                                               : NULL;
}

int capability_shift(const struct loop_expr *e)
{
        const struct loop_expr *b = e->args[1];
        if (b->op == LOOP_SPLAT)
                b = b->args[0];
        bool in_range = b->op == LOOP_LITERAL &&
                        b->literal.u < 8 * (uint64_t)element_info[e->type.element].bytes;
        return in_range ? (int)b->literal.u : -1;
}

/* Finds lane l of a vector of literals, 32 bits each. */
static bool lane_of(const struct loop_expr *e, int l, union scalar *value)
{
        const struct loop_expr *start = e->op == LOOP_SPLAT || e->op == LOOP_RAMP ? e->args[0] : e;
        enum element element = e->type.element;
        if (start->op != LOOP_LITERAL || (element != E_I32 && element != E_U32))
                return false;
        uint64_t steps = e->op == LOOP_RAMP ? (uint64_t)l * e->args[1]->literal.u : 0;
        *value = element_wrap(element, start->literal.u + steps);
        return true;
}

static bool compare(const struct loop_expr *e, union scalar a, union scalar b)
{
        bool less = e->args[0]->type.element == E_U32 ? a.u < b.u : a.i < b.i, equal = a.u == b.u;
        switch (e->op) {
        case LOOP_LT: return less;
        case LOOP_LE: return less || equal;
        case LOOP_GT: return !less && !equal;
        case LOOP_GE: return !less;
        case LOOP_EQ: return equal;
        default: return !equal;
        }
}

bool capability_truths(const struct loop_expr *e, uint64_t *bits)
{
        uint64_t a, b;
        if (e->type.lanes > 64)         /* There is one bit for each lane. */
                return false;
        switch (e->op) {
        case LOOP_LT: case LOOP_LE: case LOOP_GT: case LOOP_GE: case LOOP_EQ: case LOOP_NE:
                *bits = 0;
                for (int l = 0; l < e->type.lanes; l++) {
                        union scalar x, y;
                        if (!lane_of(e->args[0], l, &x) || !lane_of(e->args[1], l, &y))
                                return false;
                        *bits |= (uint64_t)compare(e, x, y) << l;
                }
                return true;
        case LOOP_AND:
                if (!capability_truths(e->args[0], &a) || !capability_truths(e->args[1], &b))
                        return false;
                *bits = a & b;
                return true;
        default:
                return false;
        }
}

static bool is_negation(const struct loop_expr *e) { return e->op == LOOP_NEG; }

/* Returns 1 + n where e is lane n of a vector of MULTIPLY_LANES in all lanes, else 0. */
static int lane_in_all(const struct loop_expr *e)
{
        bool lane = e->op == LOOP_SPLAT && e->args[0]->op == LOOP_LANE &&
                    e->args[0]->args[0]->type.lanes == MULTIPLY_LANES;
        return lane ? 1 + (int)e->args[0]->args[1]->literal.u : 0;
}

/* Does it load memory as it is, MULTIPLY_LANES * 4 bytes from an address on? */
static bool is_whole_load(const struct loop_expr *e)
{
        return e->op == LOOP_LOAD && e->args[0]->type.lanes == 1 && !e->args[1] &&
               (e->group ? e->group : 1) * element_info[e->buffer->element].bytes == 4;
}

/* Returns the row for e whose operand is a lane of a vector; NULL: it has no such operand, or
 * row. */
static const struct capability *find_lane(const struct target *t, struct capability want,
                                          const struct loop_expr *operand, int lanes)
{
        const struct capability *row = NULL;
        want.lane = (uint8_t)lane_in_all(operand);
        if (!want.lane)
                return NULL;
        want.loaded = is_whole_load(operand->args[0]->args[0]);
        if (want.loaded)
                row = find(t, want, lanes);
        want.loaded = false;
        return row ? row : find(t, want, lanes);
}

/* Is operand k of e a scalar in all lanes? */
static bool has_scalar(const struct loop_expr *e, int k)
{
        const bool literal = e->op == LOOP_CALL && e->args[k]->op == LOOP_LITERAL;
        return e->args[k]->op == LOOP_SPLAT || (literal && e->args[k]->type.lanes > 1);
}

/* Is e an integer literal, in all lanes? */
static bool is_known(const struct loop_expr *e, int64_t *value)
{
        e = e->op == LOOP_SPLAT ? e->args[0] : e;
        *value = e->literal.i;
        return e->op == LOOP_LITERAL && e->type.element == E_I32;
}

const struct loop_expr *capability_saturated(const struct loop_expr *e, int *bits, int *shift)
{
        int64_t high, low, by;
        if (e->op == LOOP_CAST)
                e = e->args[0];
        const bool bounded = e->op == LOOP_MIN && e->type.element == E_I32 &&
                             is_known(e->args[1], &high) && e->args[0]->op == LOOP_MAX &&
                             is_known(e->args[0]->args[1], &low);
        if (!bounded || low != -high - 1 || high < 1 || high & (high + 1))
                return NULL;
        for (*bits = 1; high; high >>= 1)
                ++*bits;
        const struct loop_expr *x = e->args[0]->args[0];
        *shift = 0;
        if (x->op != LOOP_SHR || !is_known(x->args[1], &by) || by < 0 || by > 31)
                return x;
        *shift = (int)by;
        return x->args[0];
}

/* Returns the row for the MIN of a MAX, or for the conversion of one to as many bits; NULL: there
 * is none. */
static const struct capability *find_saturation(const struct target *t, const struct loop_expr *e)
{
        int bits, shift;
        const bool cast = e->op == LOOP_CAST;
        if (cast && (e->type.element != E_I8 || e->type.lanes == 1))
                return NULL;
        return capability_saturated(e, &bits, &shift) && (!cast || bits == 8)
                       ? find(t,
                              (struct capability){ .op = CAN_SATURATE,
                                                   .element = E_I32,
                                                   .to = (uint8_t)(cast ? E_I8 : 0),
                                                   .level = (uint8_t)bits },
                              e->type.lanes)
                       : NULL;
}

struct loop_expr *capability_operand(const struct capability *row, const struct loop_expr *e, int k)
{
        struct loop_expr *operand = e->args[k];
        bool negated = row->op == CAN_FMA_LESS
                               ? k == 2
                               : row->op == CAN_FMA_FROM && k == (is_negation(e->args[0]) ? 0 : 1);
        if (negated || (row->op == CAN_CAST_ROUNDED && loop_is_round(operand)))
                return operand->args[0];
        if (row->scalar == k + 1 && operand->op == LOOP_SPLAT)
                return operand->args[0];
        return row->lane && k == (row->op == LOOP_CALL) ? operand->args[0]->args[0] : operand;
}

static const struct capability *capability_of_call(const struct target *t,
                                                   const struct loop_expr *e)
{
        struct capability want = { .op = LOOP_CALL,
                                   .element = e->type.element,
                                   .function = e->function->name };
        const struct capability *row =
                e->arity > 1 ? find_lane(t, want, e->args[1], e->type.lanes) : NULL;
        for (int k = 0; k < e->arity && !row; k++) {
                want.scalar = (uint8_t)(k + 1);
                row = has_scalar(e, k) ? find(t, want, e->type.lanes) : NULL;
        }
        want.scalar = 0;
        return row ? row : find(t, want, e->type.lanes);
}

static const struct capability *capability_of_fma(const struct target *t, const struct loop_expr *e)
{
        bool less = is_negation(e->args[2]),
             from = is_negation(e->args[0]) || is_negation(e->args[1]);
        int op = less == from ? (int)LOOP_FMA : less ? CAN_FMA_LESS : CAN_FMA_FROM;
        const struct capability *row = NULL;
        if (op == LOOP_FMA)
                row = find_lane(t,
                                (struct capability){ .op = LOOP_FMA, .element = e->type.element },
                                e->args[0], e->type.lanes);
        if (!row && op == LOOP_FMA && has_scalar(e, 0))
                row = find(t,
                           (struct capability){
                                   .op = LOOP_FMA, .element = e->type.element, .scalar = 1 },
                           e->type.lanes);
        if (!row)
                row = find_plain(t, op, e->type);
        return row || op == LOOP_FMA ? row : find_plain(t, LOOP_FMA, e->type);
}

/* Does it load the lanes of a vector from memory that they lie side by side in? */
static bool is_plain_load(const struct loop_expr *e)
{
        return e->op == LOOP_LOAD && e->type.lanes > 1 && e->args[0]->type.lanes == 1 &&
               !e->args[1] && !e->group;
}

static const struct capability *capability_of_cast(const struct target *t,
                                                   const struct loop_expr *e)
{
        struct capability want = { .op = (uint8_t)e->op,
                                   .element = e->args[0]->type.element,
                                   .to = e->type.element };
        const struct capability *row = NULL;
        if (e->op == LOOP_CAST && element_is_float(e->args[0]->type.element) &&
            loop_is_rounded(e->args[0])) {
                want.op = CAN_CAST_ROUNDED;
                row = find(t, want, e->type.lanes);
                row = row && row->calls && !loop_is_round(e->args[0]) ? NULL : row;
                want.op = LOOP_CAST;
        }
        if (!row && is_plain_load(e->args[0])) {
                want.loaded = true;
                row = find(t, want, e->type.lanes);
                want.loaded = false;
        }
        return row ? row : find(t, want, e->type.lanes);
}

const struct capability *capability_of_walk(const struct target *t, const struct loop_expr *e)
{
        return e->op == LOOP_CAST && is_plain_load(e->args[0])
                       ? find(t,
                              (struct capability){ .op = CAN_WALK,
                                                   .element = e->args[0]->type.element,
                                                   .to = e->type.element },
                              e->type.lanes)
                       : NULL;
}

static const struct capability *capability_of_load(const struct target *t,
                                                   const struct loop_expr *e)
{
        bool gather = e->args[0]->type.lanes > 1;
        if (e->group)
                return find(t,
                            (struct capability){ .op = CAN_LOAD_WORDS,
                                               .element = e->type.element,
                                               .to = (uint8_t)e->buffer->element,
                                               .level = (uint8_t)e->group },
                            e->type.lanes);
        if (e->type.lanes == 1 || (gather && !capability_subscripts(e->args[0])))
                return NULL;
        return find_plain(t,
                          gather ? e->args[1] ? CAN_GATHER_MASKED : CAN_GATHER
                          : e->args[1] ? CAN_LOAD_MASKED
                                       : (int)LOOP_LOAD,
                          e->type);
}

const struct capability *capability_of_store(const struct target *t, const struct loop_stmt *s)
{
        bool scatter = s->a->type.lanes > 1;
        if (s->b->type.lanes == 1 || (scatter && !capability_subscripts(s->a)))
                return NULL;
        return find_plain(t,
                          scatter ? s->c ? CAN_SCATTER_MASKED : CAN_SCATTER
                          : s->c ? CAN_STORE_MASKED
                                 : CAN_STORE,
                          s->b->type);
}

const struct capability *capability_of(const struct target *t, const struct loop_expr *e)
{
        struct capability want = { .op = (uint8_t)e->op, .element = e->type.element };
        int lanes = e->type.lanes;
        uint64_t bits;
        if (!target_vector_bytes(t))
                return NULL;
        if (e->type.element == E_BOOL && lanes > 1 && capability_truths(e, &bits)) {
                const struct capability *row = find_plain(t, CAN_TRUTHS, e->type);
                if (row)
                        return row;
        }
        const struct capability *saturation = find_saturation(t, e);
        if (saturation)
                return saturation;
        switch (e->op) {
        case LOOP_LOAD: return capability_of_load(t, e);
        case LOOP_LITERAL: return lanes > 1 ? find_plain(t, LOOP_SPLAT, e->type) : NULL;
        case LOOP_VARIABLE: case LOOP_TILE_ENTRY: return capability_of_type(t, e->type);
        case LOOP_SELECT:
                if (e->args[0]->type.lanes == 1)
                        return capability_of_type(t, e->type);
                break;
        case LOOP_FMA: return capability_of_fma(t, e);
        case LOOP_CALL: return capability_of_call(t, e);
        case LOOP_CAST: case LOOP_BITCAST: return capability_of_cast(t, e);
        case LOOP_RAMP:
                if (e->args[0]->op != LOOP_LITERAL)
                        return NULL;
                break;
        case LOOP_SHL: case LOOP_SHR:
                if (capability_shift(e) >= 0)
                        want.op = e->op == LOOP_SHL ? CAN_SHL_LITERAL : CAN_SHR_LITERAL;
                break;
        default:
                want.element = e->args[0]->type.element;
                lanes = e->op == LOOP_SPLAT ? lanes : e->args[0]->type.lanes;
                break;
        }
        return find(t, want, lanes);
}
