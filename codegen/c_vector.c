/* SPDX-License-Identifier: MIT */
/* Vectors: rows of the target's table (ir/loop/capability.h) with their operands filled in.
 *
 *     const __m512 v = _mm512_fmadd_ps(_mm512_set1_ps(x[i]), _mm512_loadu_ps(&w[16 * k]), sum);
 *
 * Functions that hold vectors carry the target's attribute, so that the file compiles without
 * options. A library function on vectors is the function itself with vectors for variables. */
#include "codegen/c_writer.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "codegen/cpu.h"
#include "ir/loop/loop_bounds.h"
#include "ir/loop/capability.h"
#include "passes/vectorize/legalize.h"

static const struct target *target(const struct c_writer *w) { return w->target; }

static void fail_on(struct c_writer *w, const char *what, struct loop_type type)
{
        c_fail(w, EXIT_UNSUPPORTED, "target %s has no %s of %sx%d", target(w)->name, what,
               element_info[type.element].text, type.lanes);
}

/* ---- names ---- */

/* Returns the name of the function that a definition defines: "__m512 max_f32x16(__m512 a, ...". */
static const char *defined_name(struct arena *arena, const char *definition)
{
        const char *end = strchr(definition, '('), *start = end;
        while (start > definition && start[-1] != ' ')
                start--;
        return arena_printf(arena, "%.*s", (int)(end - start), start);
}

static const char *attribute_name(struct c_writer *w)
{
        char *name = arena_string(w->arena, target(w)->name);
        for (char *p = name; *p; p++)
                *p = isalnum((unsigned char)*p) ? (char)toupper((unsigned char)*p) : '_';
        return name;
}

void c_vectors_reserve(struct c_writer *w)
{
        w->spelled = map_new(w->arena);
        for (int level = 0; level < w->level_count; level++) {
                c_level(w, level);
                if (!w->has_vectors)
                        continue;
                c_reserve(w, attribute_name(w));
                c_length_reserve(w);
                c_reserve(w, "KEEP");
                c_reserve(w, "PIN");
                c_reserve(w, "enable_tiles");
                c_reserve(w, "element_at");
                for (const struct target *t = target_widest(target(w)); t; t = t->base)
                        for (const struct c_spelling *row = c_spelling(capability_first(t)); row;
             row = c_spelling(capability_next(t, c_capability(row))))
                                if (row->definition)
                                        c_reserve(w, defined_name(w->arena, row->definition));
        }
        c_level(w, 0);
}

const char *c_attribute(struct c_writer *w)
{
        if (!w->has_vectors)
                return "";
        w->levels[w->level].vectors_used = true;
        return target_attribute(target(w)) ? arena_printf(w->arena, "%s ", attribute_name(w)) : "";
}

const char *c_value_type(struct c_writer *w, struct loop_type type)
{
        if (type.lanes == 1)
                return c_type_here(w, type.element);
        const struct c_spelling *row = c_spelling(capability_of_type(target(w), type));
        if (!row)
                fail_on(w, "vectors", type);
        return row ? row->text : "int";
}

/* ---- rows ---- */

static const struct loop_bounds *bounds_here(struct c_writer *w)
{
        if (!w->bounds)
                w->bounds = loop_bounds_new(w->arena, w->kernel);
        if (w->launch && !w->task_bounds)
                w->task_bounds = loop_bounds_launched(w->arena, w->bounds, w->launch);
        return w->launch ? w->task_bounds : w->bounds;
}

/* May the element of b that lies `offset` after `value` be outside of b? */
static bool may_be_outside(struct c_writer *w, const struct loop_buffer *b, int64_t offset,
                           const struct loop_expr *value)
{
        struct loop_range r = loop_bounds_of(bounds_here(w), value);
        return r.low < -offset || r.high > b->extent - offset;
}

/* Prints an address as an integer, as a prefetch needs it. */
static void put_far_address(struct c_writer *w, const struct loop_buffer *b, int64_t offset,
                            const struct loop_expr *value)
{
        int bytes = element_info[b->element].bytes;
        c_mark_used(w, &w->element_at);
        c_put(w, "element_at(%s," C_SOFT, c_use(w, b));
        if (bytes > 1)
                c_put(w, "%d *" C_SOFT, bytes);
        if (offset)
                c_put(w, "(%lld +" C_SOFT, (long long)offset);
        c_operand(w, value, offset ? C_SUM : bytes > 1 ? C_UNARY : C_ANY);
        c_put(w, offset ? "))" : ")");
}

static void put_address(struct c_writer *w, const struct c_operand *o)
{
        struct loop_buffer *b = o->address;
        int64_t offset = 0, number;
        const char *pointer;
        if (c_pointer_place(w, o->value, &pointer, &number)) {
                c_put(w, number ? "&%s[%lld]" : "%s", pointer, (long long)number);
                return;
        }
        if (!w->in_run)
                b = loop_buffer_root(b, &offset);
        if (!o->value && !offset) {
                c_put(w, "%s", c_use(w, b));
                return;
        }
        if (o->masked && o->value && may_be_outside(w, b, offset, o->value)) {
                put_far_address(w, b, offset, o->value);
                return;
        }
        c_put(w, "&%s[", c_use(w, b));
        if (offset)
                c_put(w, "%lld%s", (long long)offset, o->value ? " +" C_SOFT : "");
        if (o->value)
                c_operand(w, o->value, offset ? C_SUM : C_ANY);
        c_put(w, "]");
}

void c_vector_address(struct c_writer *w, struct loop_buffer *b, const struct loop_expr *at)
{
        put_address(w, &(struct c_operand){ .address = b, .value = at });
}

static void put_operand(struct c_writer *w, const struct c_operand *o)
{
        if (o->text) {
                c_put(w, "%s", o->text);
        } else if (o->address) {
                put_address(w, o);
        } else if (o->scale > 1) {
                c_put(w, "%d *" C_SOFT, o->scale);
                c_operand(w, o->value, C_UNARY);
        } else {
                c_expression(w, o->value);
        }
}

static void use_definition(struct c_writer *w, const char *definition)
{
        const char *name = defined_name(w->arena, definition);
        struct c_name *function = map_get(w->spelled, name, strlen(name));
        if (!function) {
                function = ARENA_NEW(w->arena, struct c_name);
                map_set(w->spelled, name, strlen(name), function);
        }
        c_mark_used(w, function);
}

struct c_shape c_row(struct c_writer *w, const struct c_spelling *row,
                              const struct c_operand operands[C_OPERANDS_MAX])
{
        if (row->definition)
                use_definition(w, row->definition);
        c_portable_use(w, row, row->definition ? defined_name(w->arena, row->definition) : NULL);
        if (row->gcc_optimize && !(w->gcc_optimize && strstr(w->gcc_optimize, row->gcc_optimize)))
                w->gcc_optimize =
                        arena_printf(w->arena, "%s,%s", w->gcc_optimize ? w->gcc_optimize : "",
                                     row->gcc_optimize);
        for (const char *p = row->text; *p; p++) {
                if (*p == '$') {
                        put_operand(w, &operands[*++p - '0']);
                } else if (*p == ',' && p[1] == ' ') {
                        c_put(w, "," C_SOFT);
                        p++;
                } else {
                        c_put(w, *p == '(' && p[1] == '$' ? "%c" C_BREAK : "%c", *p);
                }
        }
        w->calls++;
        return (struct c_shape){ *row->text == '(' ? C_UNARY : C_PRIMARY, false };
}

static bool is_zero(const struct loop_expr *e)
{
        if (e->op == LOOP_SPLAT)
                e = e->args[0];
        if (e->op != LOOP_LITERAL)
                return false;
        return element_is_float(e->type.element)
                       ? e->literal.f == 0 && !signbit(e->literal.f)
                       : e->literal.u == 0;
}

void c_zero(struct c_writer *w, struct loop_type type)
{
        const char *number = type.element == E_F32 ? "0.0f" : type.element == E_F64 ? "0.0" : "0";
        const struct c_operand operands[C_OPERANDS_MAX] = { { .text = number } };
        const struct c_spelling *row =
                type.lanes > 1 ? c_spelling(capability_of_zero(target(w), type)) : NULL;
        if (row)
                c_row(w, row, operands);
        else if (type.lanes > 1)
                fail_on(w, "zero", type);
        else
                c_put(w, "%s", number);
}

/* ---- expressions ---- */

static void put_load(struct c_writer *w, const struct c_spelling *row, const struct loop_expr *e)
{
        bool gather = e->args[0]->type.lanes > 1;
        struct c_operand operands[C_OPERANDS_MAX] = {
                { .address = e->buffer, .value = gather ? NULL : e->args[0], .masked = e->args[1] },
        };
        if (gather)
                operands[1].value = capability_subscripts(e->args[0]);
        operands[1 + gather].value = e->args[1];
        c_row(w, row, operands);
}

/* Prints the numbers of all lanes. */
static void put_ramp(struct c_writer *w, const struct c_spelling *row, const struct loop_expr *e)
{
        enum element t = e->type.element;
        struct text list = { 0 };
        for (int l = 0; l < e->type.lanes; l++) {
                union scalar n = { 0 }, start = e->args[0]->literal, step = e->args[1]->literal;
                if (element_is_float(t)) {
                        float part = (float)l * (float)step.f;
                        n.f = (float)start.f + part;
                } else {
                        n = element_wrap(E_I32, start.u + (uint64_t)l * step.u);
                }
                text_add(&list, "%s%s", l ? "," C_SOFT : "",
                         c_literal(w->arena, t == E_U32 ? E_I32 : t, n));
        }
        c_row(w, row,
              (const struct c_operand[C_OPERANDS_MAX]){
                      { .text = list.data }, { .value = e->args[0] }, { .value = e->args[1] } });
        text_free(&list);
}

static struct c_shape put_truths(struct c_writer *w, const struct c_spelling *row,
                                 const struct loop_expr *e)
{
        uint64_t bits = 0;
        capability_truths(e, &bits);
        const char *text =
                arena_printf(w->arena, "0x%0*llx", e->type.lanes / 4, (unsigned long long)bits);
        return c_row(w, row, (const struct c_operand[C_OPERANDS_MAX]){ { .text = text } });
}

/* Is the sum less by half of the shift's unit, if its last summand, *less, is? It does not wrap
 * then. */
static bool is_less(const struct loop_expr *sum, int shift, struct loop_expr *less)
{
        enum { WHOLE = 1 << 29, BITS = 16 };
        if (sum->op != LOOP_CALL || strcmp(sum->function->name, "multiply_high") || !shift ||
            shift > BITS)
                return false;
        const struct loop_expr *last = sum->args[2];
        *less = *(last->op == LOOP_SPLAT ? last->args[0] : last);
        if (less->op != LOOP_LITERAL || less->literal.i < -WHOLE || less->literal.i > WHOLE)
                return false;
        less->literal.i -= (int64_t)1 << (shift - 1);
        return true;
}

static struct c_shape put_saturation(struct c_writer *w, const struct c_spelling *row,
                                     const struct loop_expr *e)
{
        int bits, shift;
        struct loop_expr sum = *capability_saturated(e, &bits, &shift), less,
                         by = { .op = LOOP_LITERAL, .type = LOOP_TYPE(E_I32) };
        const bool rounds = row->rounds && is_less(&sum, shift, &less);
        if (rounds) {
                less.type = sum.type;
                sum.args[2] = &less;
        }
        by.literal.i = shift;
        return c_row(w, row,
                     (const struct c_operand[C_OPERANDS_MAX]){
                             { .value = &sum }, { .value = &by }, { .text = rounds ? "1" : "0" } });
}

static struct c_shape put_operation(struct c_writer *w, const struct c_spelling *row,
                                    const struct loop_expr *e)
{
        struct loop_expr literal = { .op = LOOP_LITERAL };
        struct c_operand operands[C_OPERANDS_MAX] = { 0 };
        if (row->op == CAN_SATURATE)
                return put_saturation(w, row, e);
        for (int i = 0; i < e->arity; i++)
                operands[i].value = capability_operand(c_capability(row), e, i);
        if (row->scalar && operands[row->scalar - 1].value->op == LOOP_LITERAL) {
                literal = *operands[row->scalar - 1].value;
                literal.type.lanes = 1;
                operands[row->scalar - 1].value = &literal;
        }
        if (row->loaded) {
                struct c_operand *lanes = &operands[row->op == LOOP_CALL];
                *lanes = (struct c_operand){ .address = lanes->value->buffer,
                                             .value = lanes->value->args[0] };
        }
        if (e->op == LOOP_LITERAL) {
                literal.type = LOOP_TYPE(e->type.element);
                literal.literal = e->literal;
                operands[0].value = &literal;
        } else if (row->op == CAN_SHL_LITERAL || row->op == CAN_SHR_LITERAL) {
                literal.type = LOOP_TYPE(E_I32);
                literal.literal.i = capability_shift(e);
                operands[1].value = &literal;
        }
        return c_row(w, row, operands);
}

/* Prints a conversion of a load from where a pointer walks to. */
static bool put_walk(struct c_writer *w, const struct loop_expr *e)
{
        int64_t step;
        const char *pointer = c_pointer_walk(w, e, &step);
        if (!pointer)
                return false;
        c_row(w, c_spelling(capability_of_walk(target(w), e)),
              (const struct c_operand[C_OPERANDS_MAX]){
                      { .text = arena_printf(w->arena, "&%s", pointer) },
                      { .text = arena_printf(w->arena, "%lld", (long long)step) } });
        return true;
}

/* Returns the stem of a name: exp_f32x16 for exp_f32 of 16 lanes. */
static const char *vectored_stem(struct c_writer *w, const struct loop_function *f, int lanes)
{
        const char *name = c_name(w, f)->text, *e = element_info[f->scalars[0]->type.element].text;
        size_t length = strlen(name), tail = strlen(e);
        bool ends = length > tail && !strcmp(name + length - tail, e);
        return arena_printf(w->arena, "%s%sx%d", name, ends ? "" : "_", lanes);
}

/* Returns the name of f on vectors; NULL after an error. */
static const char *vectored(struct c_writer *w, struct loop_function *f, int lanes)
{
        struct c_vectored **end = &w->vectored;
        for (; *end; end = &(*end)->next)
                if ((*end)->scalar == f && (*end)->vector->result.lanes == lanes &&
                    (*end)->level == w->level)
                        return (*end)->name;
        struct loop_function *vector = legalize_vectored(w->arena, target(w), f, lanes);
        if (!vector) {
                c_fail(w, EXIT_UNSUPPORTED, "target %s has no %s on vectors", target(w)->name,
                       f->name);
                return NULL;
        }
        struct c_vectored *v = ARENA_NEW(w->arena, struct c_vectored);
        v->scalar = f;
        v->level = w->level;
        v->vector = vector;
        v->name = c_global(w, vectored_stem(w, f, lanes));
        *end = v;
        return v->name;
}

static struct c_shape put_vector_call(struct c_writer *w, const struct loop_expr *e)
{
        const char *name = vectored(w, e->function, e->type.lanes);
        c_put(w, "%s(", name ? name : "");
        for (int i = 0; i < e->arity; i++) {
                c_put(w, "%s", i ? "," C_SOFT : "");
                c_expression(w, e->args[i]);
        }
        c_put(w, ")");
        w->calls++;
        return (struct c_shape){ C_PRIMARY, false };
}

static bool has_vector(const struct loop_expr *e)
{
        bool found = e->type.lanes > 1;
        for (int i = 0; i < e->arity && !found; i++)
                found = e->args[i] && e->args[i]->type.lanes > 1;
        return found;
}

bool c_vector(struct c_writer *w, const struct loop_expr *e, struct c_shape *printed)
{
        bool vector = has_vector(e);
        *printed = (struct c_shape){ C_PRIMARY, false };
        if (!w->in_kernel && !vector)
                return false;
        const struct c_spelling *row =
                w->in_kernel ? c_spelling(capability_of(target(w), e)) : NULL;
        if (!row && !vector)
                return false;
        w->computes_floats |=
                element_is_float(e->type.element) ||
                (e->arity && element_is_float(e->args[0]->type.element));
        if (!row && e->op == LOOP_CALL && w->in_kernel)
                *printed = put_vector_call(w, e);
        else if (!row)
                fail_on(w, e->op < LOOP_CAST ? loop_op_info[e->op].text : "such access", e->type);
        else if (e->op == LOOP_VARIABLE)
                c_put(w, "%s", c_use(w, e->variable));
        else if (e->op == LOOP_TILE_ENTRY)
                c_put(w, "%s", c_tile_entry(w, e->variable, e->literal.i, e->column));
        else if (e->op == LOOP_LOAD)
                put_load(w, row, e);
        else if (e->op == LOOP_RAMP)
                put_ramp(w, row, e);
        else if (row->op == CAN_TRUTHS)
                *printed = put_truths(w, row, e);
        else if (row->op == CAN_TYPE)
                *printed = c_choice(w, e);
        else if (e->type.lanes > 1 && is_zero(e))
                c_zero(w, e->type);
        else if (e->op != LOOP_CAST || !put_walk(w, e))
                *printed = put_operation(w, row, e);
        return true;
}

/* ---- statements ---- */

void c_vector_store(struct c_writer *w, const struct loop_stmt *s)
{
        const struct c_spelling *row =
                w->in_kernel ? c_spelling(capability_of_store(target(w), s)) : NULL;
        bool scatter = s->a->type.lanes > 1;
        struct c_operand operands[C_OPERANDS_MAX] = {
                { .address = s->buffer, .value = scatter ? NULL : s->a, .masked = s->c },
        };
        if (!row) {
                fail_on(w, s->c ? "masked store" : "store", s->b->type);
                return;
        }
        if (scatter)
                operands[1].value = capability_subscripts(s->a);
        operands[1 + scatter].value = s->b;
        operands[2 + scatter].value = s->c;
        c_row(w, row, operands);
}

/* The address may lie outside of the buffer, so it is computed in bytes, as an integer. */
void c_prefetch(struct c_writer *w, const struct loop_stmt *s)
{
        const struct c_operand operands[C_OPERANDS_MAX] = {
                { .address = s->buffer },
                { .value = s->a, .scale = element_info[s->buffer->element].bytes },
        };
        const struct c_spelling *row = c_spelling(capability_of_prefetch(target(w), s->code));
        if (row)
                c_row(w, row, operands);
        else
                c_fail(w, EXIT_UNSUPPORTED, "target %s has no prefetch", target(w)->name);
}

/* ---- declarations before the functions ---- */

static void put_attribute(struct c_writer *w, struct text *out)
{
        const char *name = attribute_name(w), *attribute = target_attribute(target(w)),
                   *of_gcc = target_gcc_attribute(target(w));
        const bool differ = strcmp(attribute, of_gcc) != 0;
        text_add(out,
                 "\n/* Functions with this attribute are compiled for %s, whatever processor the "
                 "compiler's options name. */\n",
                 target(w)->name);
        const char *compiler = differ ? "__clang__" : "__GNUC__",
                   *macro = cpu_compilers(attribute).macro;
        if (macro)
                text_add(out, "#if defined(%s) && !defined(%s)\n", compiler, macro);
        else
                text_add(out, "#if defined(%s)\n", compiler);
        text_add(out, "#define %s __attribute__((target(\"%s\")))\n", name, attribute);
        if (differ)
                text_add(out,
                         "#elif defined(__GNUC__)\n#define %s __attribute__((target(\"%s\")))\n",
                         name, of_gcc);
        text_add(out, "#else\n#define %s\n#endif\n", name);
}

void c_vectors_top(struct c_writer *w, struct text *out)
{
        bool any = false;
        for (int level = 0; level < w->level_count; level++) {
                c_level(w, level);
                if (!w->levels[level].vectors_used || !target_attribute(target(w)))
                        continue;
                put_attribute(w, out);
                any = true;
        }
        if (any)
                text_add(out, "#if defined(__GNUC__) && !defined(__OPTIMIZE__)\n"
                              "#pragma GCC diagnostic ignored \"-Wsign-conversion\"     /* "
                              "Intrinsics are macros then, which warn. */\n"
                              "#endif\n");
}

static const char element_at[] =
        "/* Returns where a vector begins of which some lanes lie outside of the memory. Those "
        "lanes are masked off, but C has no\n"
        " * pointer to a place outside of an object. */\n"
        "static inline void *element_at(const void *base, ptrdiff_t bytes)\n"
        "{\n"
        "        return (void *)((uintptr_t)base + (uintptr_t)bytes);\n"
        "}\n";

/* Prints the definitions whose lowest user is the level, in the order of the tables. */
static void print_definitions(struct c_writer *w, struct text *out)
{
        bool any = w->element_at.used && w->element_at.level == w->level;
        if (any) {
                text_add(out, "\n");
                c_level_open(w, out, w->level);
                text_add(out, "%s", element_at);
        }
        for (const struct target *t = target_widest(target(w)); t; t = t->base)
                for (const struct c_spelling *row = c_spelling(capability_first(t)); row;
             row = c_spelling(capability_next(t, c_capability(row)))) {
                        const char *name =
                                row->definition ? defined_name(w->arena, row->definition) : "";
                        struct c_name *function = map_get(w->spelled, name, strlen(name));
                        if (!function || function->printed || function->level != w->level)
                                continue;
                        function->printed = true;
                        if (!any)
                                text_add(out, "\n");
                        if (!any)
                                c_level_open(w, out, w->level);
                        text_add(out, "%s",
                                 any ? ""
                                     : "/* These operations on vectors take more than one "
                                       "instruction. */\n");
                        const char *macro = row->portable ? c_portable_macro(w) : NULL;
                        if (macro)
                                text_add(out, "#if defined(%s)\nstatic inline %s\n#else\n", macro,
                                         row->portable);
                        text_add(out, "static inline %s%s\n%s", c_attribute(w), row->definition,
                                 macro ? "#endif\n" : "");
                        any = true;
                }
        if (any)
                c_level_close(w, out, w->level);
}

void c_vectors_print(struct c_writer *w, struct text *out)
{
        for (int level = 0; level < w->level_count; level++) {
                c_level(w, level);
                print_definitions(w, out);
        }
}
