/* SPDX-License-Identifier: MIT */
/* The interpreter's compiler compiles expressions. */
#include <string.h>

#include "ir/interp/interp_compile.h"

enum { DEPTH_MAX = 6000, CALLS_MAX = 32, EAGER_MAX = 3 };

/* ---- tables ---- */

static const uint16_t arithmetic[LOOP_CAST][KIND_COUNT] = {
#define UNARY(op, kind, ...) [LOOP_##op][KIND_##kind] = I_##op##_##kind,
#define BINARY(op, kind, ...) [LOOP_##op][KIND_##kind] = I_##op##_##kind,
#define TERNARY(op, kind, ...) [LOOP_##op][KIND_##kind] = I_##op##_##kind,
#define COMPARE(op, kind, ...) [LOOP_##op][KIND_##kind] = I_##op##_##kind,
#define SAME(op, kind, as) [LOOP_##op][KIND_##kind] = I_##op##_##as,
#include "ir/interp/interp_ops.def"
        [LOOP_SUM_LANES] = { [KIND_F32] = H_ADD_F32,
                             [KIND_F64] = H_ADD_F64,
                             [KIND_I32] = H_ADD_I32,
                             [KIND_U32] = H_ADD_U32,
                             [KIND_I64] = H_ADD_I64,
                             [KIND_U64] = H_ADD_I64 },
        [LOOP_MIN_LANES] = { [KIND_F32] = H_MIN_F32,
                             [KIND_F64] = H_MIN_F64,
                             [KIND_I32] = H_MIN_I64,
                             [KIND_U32] = H_MIN_U64,
                             [KIND_I64] = H_MIN_I64,
                             [KIND_U64] = H_MIN_U64,
                             [KIND_BOOL] = H_MIN_U64 },
        [LOOP_MAX_LANES] = { [KIND_F32] = H_MAX_F32,
                             [KIND_F64] = H_MAX_F64,
                             [KIND_I32] = H_MAX_I64,
                             [KIND_U32] = H_MAX_U64,
                             [KIND_I64] = H_MAX_I64,
                             [KIND_U64] = H_MAX_U64,
                             [KIND_BOOL] = H_MAX_U64 },
};

_Static_assert(I_UNLESS_NE_I64 - I_UNLESS_LT_F32 == I_NE_I64 - I_LT_F32,
               "comparisons and their branches run in parallel");

static const uint16_t loads[ELEMENT_COUNT] = {
        [E_F32] = I_LOAD_F32,   [E_F64] = I_LOAD_U64,   [E_F16] = I_LOAD_U16, [E_BF16] = I_LOAD_U16,
        [E_TF32] = I_LOAD_U32,
        [E_I8] = I_LOAD_I8,     [E_I16] = I_LOAD_I16,   [E_I32] = I_LOAD_I32, [E_I64] = I_LOAD_U64,
        [E_U8] = I_LOAD_U8,     [E_U16] = I_LOAD_U16,   [E_U32] = I_LOAD_U32, [E_U64] = I_LOAD_U64,
        [E_BOOL] = I_LOAD_BOOL, [E_INDEX] = I_LOAD_U64,
};

/* These steps convert between floats and to integers, and wrap integers of a width. */
static const uint16_t float_steps[3][ELEMENT_COUNT] = {
        { [E_F64] = I_F32_F64,
          [E_F16] = I_F32_F16,
          [E_BF16] = I_F32_BF16,
          [E_TF32] = I_F32_TF32,
          [E_I8] = I_F32_I8,
          [E_I16] = I_F32_I16,
          [E_I32] = I_F32_I32,
          [E_I64] = I_F32_I64,
          [E_INDEX] = I_F32_I64,
          [E_U8] = I_F32_U8,
          [E_U16] = I_F32_U16,
          [E_U32] = I_F32_U32,
          [E_U64] = I_F32_U64,
          [E_BOOL] = I_F32_BOOL },
        { [E_F32] = I_F64_F32,
          [E_F16] = I_F64_F16,
          [E_BF16] = I_F64_BF16,
          [E_TF32] = I_F64_TF32,
          [E_I8] = I_F64_I8,
          [E_I16] = I_F64_I16,
          [E_I32] = I_F64_I32,
          [E_I64] = I_F64_I64,
          [E_INDEX] = I_F64_I64,
          [E_U8] = I_F64_U8,
          [E_U16] = I_F64_U16,
          [E_U32] = I_F64_U32,
          [E_U64] = I_F64_U64,
          [E_BOOL] = I_F64_BOOL },
};
static const uint16_t integer_steps[2][ELEMENT_COUNT] = {
        /* These instructions convert from signed, and from unsigned integers. */
        { [E_F32] = I_SINT_F32, [E_F64] = I_SINT_F64, [E_F16] = I_SINT_F16, [E_BF16] = I_SINT_BF16,
          [E_TF32] = I_SINT_TF32 },
        { [E_F32] = I_UINT_F32, [E_F64] = I_UINT_F64, [E_F16] = I_UINT_F16, [E_BF16] = I_UINT_BF16,
          [E_TF32] = I_UINT_TF32 },
};
static const uint16_t wraps[ELEMENT_COUNT] = {
        [E_I8] = I_WRAP_I8,   [E_I16] = I_WRAP_I16, [E_I32] = I_WRAP_I32,   [E_U8] = I_WRAP_U8,
        [E_U16] = I_WRAP_U16, [E_U32] = I_WRAP_U32, [E_BOOL] = I_UINT_BOOL,
};

enum slot_kind kind_of(const struct compiler *c, enum element e)
{
        switch (interp_element(e, c->options->as_double)) {
        case E_F32: return KIND_F32;
        case E_F64: return KIND_F64;
        case E_I32: return KIND_I32;
        case E_U32: return KIND_U32;
        case E_U64: return KIND_U64;
        case E_BOOL: return KIND_BOOL;
        default: return KIND_I64;
        }
}

int load_code(const struct compiler *c, enum element e)
{
        return loads[interp_element(e, c->options->as_double)];
}

static enum element element_of(const struct loop_expr *e) { return e->type.element; }

static bool expr_is_leaf(const struct loop_expr *e)
{
        return e->op == LOOP_LITERAL || e->op == LOOP_VARIABLE || e->op == LOOP_TILE_ENTRY;
}

/* ---- variables ---- */

struct bound *bind_variable(struct compiler *c, struct loop_variable *v, struct cell value,
                            int form)
{
        int n = v->number;
        if (n < 0 || n >= c->bound_count || c->bounds[n].variable != v) {
                c->bounds =
                        compiler_grow(c->bounds, c->bound_count, &c->bound_room, sizeof *c->bounds);
                n = v->number = c->bound_count++;
        }
        c->bounds[n] = (struct bound){ v, value, form, NULL };
        return &c->bounds[n];
}

const struct bound *bound_of(struct compiler *c, const struct loop_variable *v)
{
        static const struct bound nothing = { .form = -1 };
        if (v->number >= 0 && v->number < c->bound_count && c->bounds[v->number].variable == v)
                return &c->bounds[v->number];
        compiler_fail(c, EXIT_UNSUPPORTED,
                      "a variable is used outside the part of a loop that declares it");
        return &nothing;
}

static struct cell variable_value(struct compiler *c, const struct loop_expr *e, int into)
{
        const struct bound *b = bound_of(c, e->variable);
        if (b->form >= 0)
                return form_value(c, &c->forms[b->form], into);
        struct cell v = b->value;
        v.lanes = v.changes ? e->type.lanes : v.lanes;
        if (e->op == LOOP_TILE_ENTRY)
                v.slot += (int)(e->literal.i * e->variable->columns + e->column) * e->type.lanes;
        if (v.changes)
                v.level = c->chunk->level;
        if (into < 0)
                return v;
        emit_move(c, into, v, v.lanes);
        return value_here(c, into, v.lanes);
}

/* ---- leaves ---- */

static uint64_t literal_bits(const struct compiler *c, const struct loop_expr *e)
{
        union slot slot = { .u = 0 };
        switch (interp_element(element_of(e), c->options->as_double)) {
        case E_F32: slot.f = (float)e->literal.f; break;
        case E_F64: slot.d = e->literal.f; break;
        case E_F16:
        case E_BF16:
        case E_TF32: {
                uint32_t storage = 0;
                element_store(element_of(e), &storage, 0, e->literal);
                slot.u = storage;
                break;
        }
        case E_BOOL: slot.u = e->literal.u != 0; break;
        default: slot.u = e->literal.u;
        }
        return slot.u;
}

struct cell splat(struct compiler *c, struct cell v, int lanes, int into)
{
        return compute(c, (struct instruction){ .code = V_SPLAT }, lanes, into, &v, NULL, NULL);
}

static struct cell literal(struct compiler *c, const struct loop_expr *e, int into)
{
        struct cell v = constant_bits(c, literal_bits(c, e));
        if (e->type.lanes > 1)
                return splat(c, v, e->type.lanes, into);
        if (into < 0)
                return v;
        emit_move(c, into, v, 1);
        return value_here(c, into, 1);
}

static struct cell load(struct compiler *c, const struct loop_expr *e, int into)
{
        struct instruction i;
        if (e->group)                   /* The load of words is compiled by what it means. */
                return compile_expr(c, loop_words_expand(c->p->arena, e), into);
        int vector = compile_address(c, e->buffer, e->args[0], e->type.lanes, e->args[1], &i),
            lanes = i.lanes ? i.lanes : 1;
        i.code = (uint16_t)(load_code(c, element_of(e)) + vector);
        i.a = into >= 0 ? into : new_slots(c, lanes);
        emit(c, i);
        return value_here(c, i.a, lanes);
}

/* ---- conversions ---- */

struct path {
        int count;
        uint16_t codes[4];
};
static void path_add(struct path *path, int code) { path->codes[path->count++] = (uint16_t)code; }

/* Is every value of integer type a one of b, or has it the same 64 bits? */
static bool same_bits(enum element a, enum element b)
{
        int width_a = a == E_BOOL ? 0 : element_info[a].bytes,
            width_b = b == E_BOOL ? 0 : element_info[b].bytes;
        bool signed_a = element_info[a].class == CLASS_SINT,
             signed_b = element_info[b].class == CLASS_SINT;
        if (width_b == 8)
                return true;
        return signed_a == signed_b ? width_a <= width_b : !signed_a && width_a < width_b;
}

static void cast_path(enum element from, enum element to, struct path *path)
{
        if (element_is_small(from) && from != to) {
                static const uint16_t widen[ELEMENT_COUNT][2] = {
                        [E_F16] = { I_F16_F32, I_F16_F64 },
                        [E_BF16] = { I_BF16_F32, I_BF16_F64 },
                        [E_TF32] = { I_TF32_F32, I_TF32_F64 },
                };
                bool wide = to == E_F64;
                path_add(path, widen[from][wide]);
                from = wide ? E_F64 : E_F32;
        }
        if (from == to)
                return;
        if (element_is_float(from))
                path_add(path, float_steps[from == E_F64][to]);
        else if (element_is_float(to))
                path_add(path, integer_steps[element_info[from].class != CLASS_SINT][to]);
        else if (!same_bits(from, to))
                path_add(path, wraps[to]);
}

/* Finds the steps of a bitcast. as_double: the bits are those of the value rounded to the type that
 * it stands for. */
static void bitcast_path(enum element from, enum element to, bool as_double, struct path *path)
{
        int bytes = element_info[from].bytes;
        if (from == to || (bytes == 8 && element_is_float(from) == element_is_float(to)))
                return;
        if (element_is_float(from) && bytes < 8) {
                if (as_double)
                        path_add(path, float_steps[1][from]);
                if (from == E_F32)
                        path_add(path, I_F32_BITS);
        }
        if (!element_is_float(to)) {
                if (wraps[to])
                        path_add(path, wraps[to]);
        } else if (to == E_TF32) {
                path_add(path, wraps[E_U32]);
                if (as_double)
                        path_add(path, I_TF32_F64);
        } else if (bytes == 4) {
                path_add(path, I_BITS_F32);
                if (as_double)
                        path_add(path, I_F32_F64);
        } else if (bytes == 2) {
                path_add(path, I_WRAP_U16);
                if (as_double)
                        path_add(path, to == E_F16 ? I_F16_F64 : I_BF16_F64);
        }
}

static struct cell convert(struct compiler *c, const struct loop_expr *e, int into)
{
        bool as_double = c->options->as_double;
        enum element from = element_of(e->args[0]), to = element_of(e);
        struct path path = { 0 };
        if (e->op == LOOP_CAST)
                cast_path(interp_element(from, as_double), interp_element(to, as_double), &path);
        else
                bitcast_path(from, to, as_double, &path);
        struct cell v = compile_expr(c, e->args[0], path.count ? -1 : into);
        for (int k = 0; k < path.count; k++)
                v = compute(c, (struct instruction){ .code = path.codes[k] }, 0,
                            k == path.count - 1 ? into : -1, &v, NULL, NULL);
        return v;
}

/* ---- choices ---- */

/* Returns the number of operations in e, or more than EAGER_MAX where it must not be evaluated
 * unless it is needed. */
static int eager_cost(const struct loop_expr *e)
{
        if (e->op == LOOP_LOAD || e->op == LOOP_CALL)
                return EAGER_MAX + 1;
        int cost = !expr_is_leaf(e);
        for (int i = 0; i < e->arity && cost <= EAGER_MAX; i++)
                cost += eager_cost(e->args[i]);
        return cost;
}

static struct cell choose_by_mask(struct compiler *c, const struct loop_expr *e, int into)
{
        int lanes = c->strip ? c->strip : e->type.lanes;
        struct cell outer = c->mask, mask = compile_expr(c, e->args[0], -1), sides[2];
        if (mask.lanes < lanes)
                mask = splat(c, mask, lanes, -1);
        for (int k = 0; k < 2; k++) {
                struct cell lanes_on = mask;
                if (k)
                        lanes_on = compute(c, (struct instruction){ .code = I_NOT_BOOL }, 0, -1,
                                           &mask, NULL, NULL);
                if (outer.slot >= 0 && outer.lanes == lanes)
                        lanes_on = compute(c, (struct instruction){ .code = I_AND_I64 }, 0, -1,
                                           &lanes_on, &outer, NULL);
                c->mask = lanes_on;
                sides[k] = compile_expr(c, e->args[1 + k], -1);
        }
        c->mask = outer;
        return compute(c, (struct instruction){ .code = I_SELECT }, 0, into, &mask, &sides[0],
                       &sides[1]);
}

static void compile_side(struct compiler *c, const struct loop_expr *e, int into)
{
        struct chunk chunk;
        chunk_open(c, &chunk, false);
        compile_expr(c, e, into);
        chunk_close(c, &chunk);
}

static struct cell choose(struct compiler *c, const struct loop_expr *e, int into)
{
        const struct loop_expr *condition = e->args[0];
        int lanes = e->type.lanes;
        bool eager = !c->options->plain && lanes == 1 &&
                     eager_cost(e->args[1]) + eager_cost(e->args[2]) <= EAGER_MAX;
        if (condition->type.lanes > 1 || (c->strip && !eager))
                return choose_by_mask(c, e, into);
        if (eager) {
                struct cell when = compile_expr(c, condition, -1),
                            x = compile_expr(c, e->args[1], -1),
                            y = compile_expr(c, e->args[2], -1);
                return compute(c, (struct instruction){ .code = I_SELECT }, 0, into, &when, &x, &y);
        }
        int to = into >= 0 ? into : new_slots(c, lanes), otherwise = new_label(c),
            end = new_label(c);
        compile_jump(c, condition, false, otherwise);
        compile_side(c, e->args[1], to);
        emit_jump(c, I_JUMP, 0, end);
        emit_label(c, otherwise);
        compile_side(c, e->args[2], to);
        emit_label(c, end);
        return value_here(c, to, lanes);
}

/* Compiles the jump of a & b: the second half is jumped over when the first decides; what it
 * computed is forgotten after it. */
static void jump_both(struct compiler *c, const struct loop_expr *e, bool when, int label)
{
        bool skips = when == (e->op == LOOP_AND); /* For a jump to label when a & b, for instance, a
                                                   * false a goes past it. */
        int past = skips ? new_label(c) : label;
        struct chunk chunk;
        compile_jump(c, e->args[0], skips ? !when : when, past);
        chunk_open(c, &chunk, false);
        compile_jump(c, e->args[1], when, label);
        chunk_close(c, &chunk);
        if (skips)
                emit_label(c, past);
}

void compile_jump(struct compiler *c, const struct loop_expr *e, bool when, int label)
{
        bool plain = c->options->plain;
        if (!plain && e->op == LOOP_NOT) {
                compile_jump(c, e->args[0], !when, label);
                return;
        }
        if (!plain && (e->op == LOOP_AND || e->op == LOOP_OR)) {
                jump_both(c, e, when, label);
                return;
        }
        if (!plain && !when && e->op >= LOOP_LT && e->op <= LOOP_NE &&
            e->args[0]->type.lanes == 1) {
                int code = arithmetic[e->op][kind_of(c, element_of(e->args[0]))];
                struct cell x = compile_expr(c, e->args[0], -1),
                            y = compile_expr(c, e->args[1], -1);
                emit(c,
                     (struct instruction){ .code = (uint16_t)(I_UNLESS_LT_F32 + (code - I_LT_F32)),
                                           .b = x.slot,
                                           .c = y.slot,
                                           .e = label });
                return;
        }
        emit_jump(c, when ? I_JUMP_TRUE : I_JUMP_FALSE, compile_expr(c, e, -1).slot, label);
}

/* ---- operations ---- */

static struct cell halves(struct compiler *c, const struct loop_expr *e, int code, int into)
{
        int lanes = e->args[0]->type.lanes, scratch = new_slots(c, lanes),
            to = into >= 0 ? into : new_slots(c, 1);
        emit_move(c, scratch, compile_expr(c, e->args[0], -1), lanes);
        emit(c, (struct instruction){ .code = (uint16_t)code,
                                      .lanes = (uint16_t)lanes,
                                      .a = to,
                                      .b = scratch });
        return value_here(c, to, 1);
}

static struct cell ramp(struct compiler *c, const struct loop_expr *e, int into)
{
        enum slot_kind kind = kind_of(c, element_of(e));
        struct cell a = compile_expr(c, e->args[0], -1), step = compile_expr(c, e->args[1], -1);
        int wrap = kind == KIND_I32 ? I_WRAP_I32 : kind == KIND_U32 ? I_WRAP_U32 : 0;
        uint16_t code = kind == KIND_F32 ? V_RAMP_F32 : kind == KIND_F64 ? V_RAMP_F64 : V_RAMP;
        struct cell v = compute(c, (struct instruction){ .code = code }, e->type.lanes,
                                wrap ? -1 : into, &a, &step, NULL);
        return wrap ? compute(c, (struct instruction){ .code = (uint16_t)wrap }, 0, into, &v, NULL,
                              NULL)
                    : v;
}

static struct cell lane(struct compiler *c, const struct loop_expr *e, int into)
{
        struct cell v = compile_expr(c, e->args[0], -1);
        v.slot += (int)e->args[1]->literal.i;
        v.lanes = 1;
        if (into < 0)
                return v;
        emit_move(c, into, v, 1);
        return value_here(c, into, 1);
}

/* Compiles x * y + z as one instruction, in which each operation is rounded. */
static bool product_sum(struct compiler *c, const struct loop_expr *e, enum slot_kind kind,
                        int into, struct cell *sum)
{
        if (c->options->plain || e->op != LOOP_ADD || (kind != KIND_F32 && kind != KIND_F64))
                return false;
        int product = e->args[0]->op == LOOP_MUL ? 0 : e->args[1]->op == LOOP_MUL ? 1 : -1;
        if (product < 0)
                return false;
        const struct loop_expr *m = e->args[product];
        struct cell x = compile_expr(c, m->args[0], -1), y = compile_expr(c, m->args[1], -1);
        struct cell z = compile_expr(c, e->args[1 - product], -1);
        *sum = compute(
                c, (struct instruction){ .code = kind == KIND_F32 ? I_MUL_ADD_F32 : I_MUL_ADD_F64 },
                0, into, &x, &y, &z);
        return true;
}

/* Compiles an interleaving, never in place. */
static struct cell interleave(struct compiler *c, const struct loop_expr *e, int into)
{
        struct cell a = compile_expr(c, e->args[0], -1), b = compile_expr(c, e->args[1], -1);
        uint16_t code = e->op == LOOP_INTERLEAVE_LOW ? V_INTERLEAVE_LOW : V_INTERLEAVE_HIGH;
        struct cell v =
                compute(c, (struct instruction){ .code = code }, e->type.lanes, -1, &a, &b, NULL);
        if (into < 0)
                return v;
        emit_move(c, into, v, e->type.lanes);
        return value_here(c, into, e->type.lanes);
}

struct cell compile_operation(struct compiler *c, const struct loop_expr *e, int into)
{
        enum slot_kind kind = kind_of(c, element_of(e->args[0]));
        int code = arithmetic[e->op][kind];
        struct cell v[3], sum;
        if (loop_computes_narrow(e))
                return compile_expr(c, loop_narrow_expand(c->p->arena, e), into);
        if (!code) {
                compiler_fail(c, EXIT_UNSUPPORTED, "an operation on a type it is not for");
                return value_here(c, new_slots(c, e->type.lanes), e->type.lanes);
        }
        if (e->op >= LOOP_SUM_LANES && e->op <= LOOP_MIN_LANES)
                return halves(c, e, code, into);
        if (product_sum(c, e, kind, into, &sum))
                return sum;
        for (int i = 0; i < e->arity; i++)
                v[i] = compile_expr(c, e->args[i], -1);
        return compute(c, (struct instruction){ .code = (uint16_t)code }, 0, into, &v[0],
                       e->arity > 1 ? &v[1] : NULL, e->arity > 2 ? &v[2] : NULL);
}

/* ---- library functions: written out in place ---- */

struct loop_function *called_function(const struct compiler *c, const struct loop_expr *e)
{
        struct loop_function *f = e->function;
        bool f32 = f->scalar_count && f->scalars[0]->type.element == E_F32;
        return c->options->as_double && f32 ? loop_library_find(c->p->library, f->name, E_F64) : f;
}

static struct cell call_once(struct compiler *c, const struct loop_function *f,
                             const struct cell *arguments, int into)
{
        struct cell outer = c->returned;
        int outer_into = c->return_into;
        for (int i = 0; i < f->scalar_count; i++)
                bind_variable(c, f->scalars[i], arguments[i], -1);
        c->calls++;
        c->return_into = into;
        c->returned = (struct cell){ .slot = -1 };
        compile_block(c, f->body);
        c->calls--;
        struct cell v = c->returned;
        c->returned = outer;
        c->return_into = outer_into;
        if (v.slot < 0)
                compiler_fail(c, EXIT_INTERNAL, "a library function returns nothing");
        return v.slot < 0 ? value_here(c, new_slots(c, 1), 1) : v;
}

/* Calls a function of scalars for all lanes at once, as in a strip. */
static struct cell call_lanes(struct compiler *c, const struct loop_function *f,
                              const struct cell *arguments, int lanes)
{
        struct cell outer_mask = c->mask;
        c->mask.slot = -1;
        c->strip = lanes;
        c->strip_counter.slot = -1;
        struct cell v = call_once(c, f, arguments, -1);
        c->strip = 0;
        c->mask = outer_mask;
        return v.lanes < lanes ? splat(c, v, lanes, -1) : v;
}

/* Calls one that has control flow lane after lane. */
static struct cell call_each_lane(struct compiler *c, const struct loop_function *f,
                                  const struct cell *arguments, int lanes)
{
        int to = new_slots(c, lanes);
        for (int l = 0; l < lanes && !c->failed; l++) {
                struct cell one[3] = { arguments[0], arguments[1], arguments[2] };
                for (int i = 0; i < f->scalar_count; i++) {
                        one[i].slot += l;
                        one[i].lanes = 1;
                }
                emit_move(c, to + l, call_once(c, f, one, -1), 1);
        }
        return value_here(c, to, lanes);
}

static struct cell call(struct compiler *c, const struct loop_expr *e, int into)
{
        struct loop_function *f = called_function(c, e);
        struct cell arguments[3] = { { 0 } }, v;
        int lanes = e->type.lanes;
        if (!f || !f->body || f->scalar_count > 3 || f->scalar_count != e->arity ||
            c->calls >= CALLS_MAX) {
                compiler_fail(c, EXIT_UNSUPPORTED,
                              "a library function without a body for these types");
                return value_here(c, new_slots(c, lanes), lanes);
        }
        for (int i = 0; i < e->arity; i++)
                arguments[i] = compile_expr(c, e->args[i], -1);
        if (lanes == 1 || loop_call_lanes(f, e->args[0]) == 1)
                return call_once(c, f, arguments, into);
        for (int i = 0; i < e->arity; i++)
                if (arguments[i].changes) { /* Inside the function it has the lanes of its type. */
                        struct cell copy = value_here(c, new_slots(c, lanes), lanes);
                        emit_move(c, copy.slot, arguments[i], lanes);
                        arguments[i] = copy;
                }
        v = !c->options->plain && function_is_straight(c, f)
                    ? call_lanes(c, f, arguments, lanes)
                    : call_each_lane(c, f, arguments, lanes);
        if (into < 0)
                return v;
        emit_move(c, into, v, lanes);
        return value_here(c, into, lanes);
}

static struct cell expression(struct compiler *c, const struct loop_expr *e, int into)
{
        struct form form;
        switch (e->op) {
        case LOOP_LITERAL: return literal(c, e, into);
        case LOOP_VARIABLE:
        case LOOP_TILE_ENTRY: return variable_value(c, e, into);
        case LOOP_LOAD: return load(c, e, into);
        case LOOP_CALL: return call(c, e, into);
        case LOOP_CAST:
        case LOOP_BITCAST: return convert(c, e, into);
        case LOOP_SELECT: return choose(c, e, into);
        case LOOP_SPLAT: return splat(c, compile_expr(c, e->args[0], -1), e->type.lanes, into);
        case LOOP_RAMP: return ramp(c, e, into);
        case LOOP_LANE: return lane(c, e, into);
        case LOOP_INTERLEAVE_LOW:
        case LOOP_INTERLEAVE_HIGH: return interleave(c, e, into);
        case LOOP_ADD:
        case LOOP_SUB:
        case LOOP_MUL:
        case LOOP_NEG:
                if (element_of(e) == E_INDEX && e->type.lanes == 1 && !c->options->plain &&
                    form_of(c, e, &form))
                        return form_value(c, &form, into);
                return compile_operation(c, e, into);
        default: return compile_operation(c, e, into);
        }
}

struct cell compile_expr(struct compiler *c, const struct loop_expr *e, int into)
{
        if (e->type.lanes > LANES_MAX)
                compiler_fail(c, EXIT_UNSUPPORTED, "hardware tiles");
        if (c->depth >= DEPTH_MAX)
                compiler_fail(c, EXIT_UNSUPPORTED, "expressions are nested too deeply");
        if (c->failed)
                return value_here(c, 0, e->type.lanes);
        c->depth++;
        struct cell v = expression(c, e, into);
        c->depth--;
        return v;
}
