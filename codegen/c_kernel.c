/* SPDX-License-Identifier: MIT */
/* Prints functions, and their statements. */
#include "codegen/c_machine.h"

#include <string.h>

#include "codegen/inside.h"
#include "codegen/targets.h"
#include "ir/loop/loop_grid.h"

/* ---- register tiles: a variable for each entry that the function mentions ---- */

struct tile_entry { const struct loop_variable *tile; int64_t row, column; };

static void note_entry(struct c_writer *w, const struct loop_variable *tile, int64_t row,
                       int64_t column)
{
        struct tile_entry key = { tile, row, column };
        map_set(w->tile_entries, (const char *)&key, sizeof key, w);
}

static void find_set(struct loop_stmt *s, void *context)
{
        if (s->kind == STMT_SET && s->variable->rows)
                note_entry(context, s->variable, s->row, s->column);
}

static void find_entry(struct loop_expr *e, void *context)
{
        if (e->op == LOOP_TILE_ENTRY)
                note_entry(context, e->variable, e->literal.i, e->column);
}

void c_find_entries(struct c_writer *w, const struct loop_function *f)
{
        w->tile_entries = map_new(w->arena);
        loop_block_walk(f->body, find_set, find_entry, w);
}

static bool is_mentioned(const struct c_writer *w, const struct loop_variable *tile, int64_t row,
                         int64_t column)
{
        struct tile_entry key = { tile, row, column };
        return map_get(w->tile_entries, (const char *)&key, sizeof key) != NULL;
}

/* ---- statements ---- */

/* Is the end of a loop constant while the loop runs? The Loop IR evaluates it once, so only then it
 * may be written into the condition. */
static bool is_constant_in_loop(const struct loop_expr *e, int depth)
{
        if (depth > EXPR_DEPTH_MAX || e->op == LOOP_LOAD || e->op == LOOP_CALL ||
            e->op == LOOP_TILE_ENTRY)
                return false;
        if (e->op == LOOP_VARIABLE && e->variable->kind == VARIABLE_VAR)
                return false;
        for (int i = 0; i < e->arity; i++)
                if (!is_constant_in_loop(e->args[i], depth + 1))
                        return false;
        return true;
}

/* Does the loop go over a row of sums in an array on the stack, as accumulator rows do, and nothing
 * else? Compilers are to make vectors of it, and to leave it a loop. */
static bool is_row_of_sums(const struct c_writer *w, const struct loop_stmt *s)
{
        bool sums = false;
        if (target_engine(w->target)->launches || target_vector_bytes(w->target) ||
            !loop_is_int(s->b, &(int64_t){ 0 }))
                return false;
        for (const struct loop_stmt *in = s->body->first; in; in = in->next) {
                if (in->kind == STMT_STORE && in->buffer->space == SPACE_STACK)
                        sums = true;
                else if (in->kind != STMT_LET)
                        return false;
        }
        return sums;
}

static void put_for(struct c_writer *w, const struct loop_stmt *s)
{
        if (loop_for_is_grid(s->for_kind)) {
                if (w->dialect->grid_loop)
                        w->dialect->grid_loop(w, s);
                else
                        c_fail(w, EXIT_UNSUPPORTED, "target %s has no grid of blocks",
                               w->target->name);
                return;
        }
        c_declare(w, s->variable);
        const char *name = c_use(w, s->variable), *end = NULL;
        if (s->for_kind == FOR_UNROLL && w->dialect->unroll)
                c_line(w, "%s", w->dialect->unroll);
        if (is_row_of_sums(w, s)) {
                c_line(w, "ROLLED");
                w->rolls = true;
        }
        c_put(w, "for (%s %s = ", c_type_here(w, s->variable->type.element), name);
        c_expression(w, s->a);
        if (!is_constant_in_loop(s->b, 0)) {
                end = c_local(w, arena_printf(w->arena, "%s_end", name));
                c_put(w, "," C_SOFT "%s = ", end);
                c_expression(w, s->b);
        }
        c_put(w, ";" C_SOFT "%s < ", name);
        if (end)
                c_put(w, "%s", end);
        else
                c_operand(w, s->b, C_SUM);
        if (s->step == 1)
                c_put(w, ";" C_SOFT "%s++) {", name);
        else
                c_put(w, ";" C_SOFT "%s += %lld) {", name, (long long)s->step);
        c_end(w);
        c_block(w, s->body);
        c_line(w, "}");
}

static void put_while(struct c_writer *w, const struct loop_stmt *s)
{
        bool deep = c_is_deep(s->a);
        /* The parts of the condition must be computed anew each time. */
        if (deep) {
                c_line(w, "for (;;) {");
                w->indent++;
                c_split(w, s->a);
                c_put(w, "if (!(");
        } else {
                c_put(w, "while (");
        }
        c_expression(w, s->a);
        c_put(w, deep ? "))" : ") {");
        c_end(w);
        if (deep) {
                w->indent++;
                c_line(w, "break;");
                w->indent -= 2;
        }
        c_block(w, s->body);
        c_line(w, "}");
}

static void put_if(struct c_writer *w, const struct loop_stmt *s)
{
        const char *lead = "";
        for (;;) {                      /* A sequence of else if does not nest. */
                /* Compilers warn about if (1). */
                if (s->a->op == LOOP_LITERAL && s->a->literal.u) {
                        c_line(w, *lead ? "} else {" : "{");
                        c_block(w, s->body);
                        break;
                }
                c_put(w, "%sif (", lead);
                w->decides = !w->dialect->is_device;
                c_expression(w, s->a);
                c_put(w, ") {");
                c_end(w);
                c_block(w, s->body);
                if (!s->other || !s->other->first)
                        break;
                const struct loop_stmt *other = s->other->first;
                if (other->kind != STMT_IF || other->next || c_is_deep(other->a)) {
                        c_line(w, "} else {");
                        c_block(w, s->other);
                        break;
                }
                lead = "} else ";
                s = other;
        }
        c_line(w, "}");
}

static void put_value(struct c_writer *w, const struct loop_expr *a)
{
        c_put(w, " = ");
        c_expression(w, a);
        c_put(w, ";");
        c_end(w);
}

/* Prints ` = a;` for a store. Truth values are one byte in memory. An integer conversion converts
 * to the type of the memory: gcc sees through one that is followed by another, and warns. */
static void put_stored(struct c_writer *w, const struct loop_buffer *b, const struct loop_expr *a)
{
        enum element e = a->type.element;
        bool convert = element_is_integer(e) &&
                       (a->op == LOOP_CAST || a->op == LOOP_BITCAST || a->op == LOOP_SELECT);
        if (!convert && e != E_BOOL) {
                put_value(w, a);
                return;
        }
        c_put(w, " = (%s)", b->space == SPACE_STACK ? element_info[e].c_type : c_memory_type(w, e));
        bool integers = convert && a->op == LOOP_CAST &&
                        element_is_integer(a->args[0]->type.element);
        c_operand(w, integers ? a->args[0] : a, C_UNARY);
        c_put(w, ";");
        c_end(w);
}

static void put_zero(struct c_writer *w, struct loop_type type)
{
        c_put(w, " = ");
        c_zero(w, type);
        c_put(w, ";");
        c_end(w);
}

static void put_declaration(struct c_writer *w, const struct loop_stmt *s)
{
        struct loop_variable *v = s->variable;
        if (c_is_tile(v) || (v->type.lanes > 1 && w->dialect->product)) {
                (w->dialect->product ? w->dialect->product : c_tiles)(w, s);
                return;
        }
        const char *type = c_value_type(w, v->type);
        c_declare(w, v);
        if (c_pointer_declare(w, s))
                return;
        struct c_name *name = c_name(w, v);
        for (int i = 0; i < v->rows * v->columns; i++)
                if (is_mentioned(w, v, i / v->columns, i % v->columns)) {
                        c_put(w, "%s %s", type, name->entries[i]);
                        put_zero(w, v->type);
                }
        if (v->rows)
                return;
        c_put(w, "%s%s %s", s->kind == STMT_LET ? "const " : "", type, name->text);
        if (s->a)
                put_value(w, s->a);
        else
                put_zero(w, v->type);
}

/* Prints x += e for x = x + e, where C's operator has the same meaning. */
static bool put_update(struct c_writer *w, const struct loop_stmt *s, const char *target)
{
        const struct loop_expr *a = s->a;
        bool plain = a->op == LOOP_ADD || a->op == LOOP_SUB || a->op == LOOP_MUL;
        enum element e = a->type.element;
        bool wraps = (element_info[e].class == CLASS_SINT && e != E_INDEX) ||
                     (w->dialect->is_device && element_is_float(e) && a->op == LOOP_MUL);
        if (!plain || wraps || a->args[0]->variable != s->variable || a->type.lanes != 1)
                return false;
        if (s->variable->rows
                    ? a->args[0]->op != LOOP_TILE_ENTRY || a->args[0]->literal.i != s->row ||
                              a->args[0]->column != s->column
                    : a->args[0]->op != LOOP_VARIABLE)
                return false;
        w->computes_floats |= element_is_float(e);
        c_put(w, "%s %s= ", target, loop_op_info[a->op].text);
        c_expression(w, a->args[1]);
        c_put(w, ";");
        c_end(w);
        return true;
}

static void put_set(struct c_writer *w, const struct loop_stmt *s)
{
        const char *target = s->variable->rows ? c_tile_entry(w, s->variable, s->row, s->column)
                                               : c_use(w, s->variable);
        if (put_update(w, s, target))
                return;
        c_put(w, "%s", target);
        put_value(w, s->a);
}

static void put_store(struct c_writer *w, const struct loop_stmt *s)
{
        if (s->c || s->b->type.lanes != 1) {
                c_vector_store(w, s);
                c_put(w, ";");
                c_end(w);
                return;
        }
        c_element(w, s->buffer, s->a);
        put_stored(w, loop_buffer_root(s->buffer, NULL), s->b);
}

struct loop_buffer *c_inside(struct c_writer *w, const struct loop_function *f, int i)
{
        if (w->dialect->is_device || w->options->weights == PRINT_WEIGHTS_FILE)
                return NULL;
        if (w->inside_of != w->p)
                w->inside = inside_new(w->arena, w->p);
        w->inside_of = w->p;
        return inside_constant(w->inside, f, i);
}

struct call_number { const struct loop_stmt *wanted; int before; bool found; };

static void count_call(struct loop_stmt *s, void *context)
{
        struct call_number *n = context;
        n->found |= s == n->wanted;
        n->before += s->kind == STMT_CALL && !n->found;
}

int c_call_number(const struct c_writer *w, const struct loop_stmt *call)
{
        struct call_number n = { .wanted = call };
        loop_walk_mains(w->p, count_call, NULL, &n);
        return n.before;
}

static void put_kernel_call(struct c_writer *w, const struct loop_stmt *s)
{
        struct loop_function *f = s->function;
        bool can_fail = c_can_fail(f) || w->dialect->call, any = false;
        c_put(w, "%s%s(", can_fail ? "status = " : "", c_use(w, f));
        for (int i = 0; i < f->buffer_count; i++) {
                if (c_inside(w, f, i))
                        continue;
                c_put(w, "%s%s", any ? "," C_SOFT : "", c_use(w, s->buffers[i]));
                any = true;
                if (s->offsets && s->offsets[i]) {
                        c_put(w, " +" C_SOFT);
                        c_operand(w, s->offsets[i], C_SUM);
                }
        }
        for (int i = 0; i < f->scalar_count; i++) {
                c_put(w, "%s", i || f->buffer_count ? "," C_SOFT : "");
                c_expression(w, s->scalars[i]);
        }
        if (w->dialect->call)
                w->dialect->call(w, f);
        c_put(w, ");");
        c_end(w);
        if (can_fail) {
                w->uses_status = true;
                c_line(w, "if (status != 0) {");
                w->indent++;
                c_line(w, "return status;");
                w->indent--;
                c_line(w, "}");
        }
}

static void put_call(struct c_writer *w, const struct loop_stmt *s)
{
        const bool hooks = c_hooks_any(w);
        if (hooks)
                c_hook(w, "BEFORE", c_call_number(w, s));
        (s->function->kind == FUNCTION_STREAM ? c_machine_call : put_kernel_call)(w, s);
        if (hooks)
                c_hook(w, "AFTER", c_call_number(w, s));
}

static void put_alloc(struct c_writer *w, struct loop_buffer *b)
{
        if (w->dialect->alloc && w->dialect->alloc(w, b))
                return;
        if (loop_space_is_shared(b->space))
                c_fail(w, EXIT_UNSUPPORTED, "target %s has no shared memory",
                       w->target->name);
        int64_t limit = target_stack_bytes(w->target);
        const bool is_meaning = w->kernel && w->kernel->external;
        if (!is_meaning && b->extent > limit / element_info[b->element].bytes)
                c_fail(w, EXIT_INTERNAL,
                       "a kernel wants %lld elements on the stack, more than %lld bytes",
                       (long long)b->extent, (long long)limit);
        const char *name = c_local(w, b->name);
        c_name_set(w, b, name);
        /* The meaning of a C function is printed to be tried, on one thread. */
        c_line(w, "%s%s %s[%lld];", is_meaning ? "static " : "", element_info[b->element].c_type,
               name,
               (long long)(b->extent ? b->extent : 1));
}

static const char *c_error_name(struct c_writer *w, int code)
{
        switch (code) {
#define FAIL(name, value, doc) case value: return c_macro(w, "ERROR_" #name);
#include "ir/loop/fail_codes.def"
        default: return arena_printf(w->arena, "%d", code);
        }
}

void c_statement(struct c_writer *w, const struct loop_stmt *s)
{
        const struct loop_expr *const exprs[] = { s->a, s->b, s->c };
        for (int i = 0; i < 3 && s->kind != STMT_WHILE; i++)
                if (exprs[i])
                        c_split(w, exprs[i]);
        switch (s->kind) {
        case STMT_FOR: put_for(w, s); break;
        case STMT_WHILE: put_while(w, s); break;
        case STMT_IF: put_if(w, s); break;
        case STMT_LET: case STMT_VAR: put_declaration(w, s); break;
        case STMT_SET: put_set(w, s); break;
        case STMT_STORE:
                (s->vector && w->dialect->product ? w->dialect->product : put_store)(w, s);
                break;
        case STMT_CALL: put_call(w, s); break;
        case STMT_LAUNCH: c_launch(w, s); break;
        case STMT_FAIL:
                if (w->dialect->fail && !w->in_run)
                        w->dialect->fail(w, s->code);
                else
                        c_line(w, "return %s;", c_error_name(w, s->code));
                break;
        case STMT_IMAGE: c_image(w, s); break;
        case STMT_RETURN:
                c_put(w, "return ");
                c_expression(w, s->a);
                c_put(w, ";");
                c_end(w);
                break;
        case STMT_ALLOC: put_alloc(w, s->buffer); break;
        case STMT_TILES:
        case STMT_MULTIPLY:
        case STMT_UNLOAD:
        case STMT_SCALE:
        case STMT_TAKE:
        case STMT_GIVE: (w->dialect->product ? w->dialect->product : c_tiles)(w, s); break;
        case STMT_COPY:
        case STMT_COMMIT:
        case STMT_WAIT:
        case STMT_SETTLE:
        case STMT_LAUNCH_WAIT:
        case STMT_LAUNCH_DEPENDENTS:
                if (w->dialect->product)
                        w->dialect->product(w, s);
                else
                        c_fail(w, EXIT_UNSUPPORTED, "target %s has no asynchronous copies",
                               w->target->name);
                break;
        case STMT_KEEP: c_keep(w, s); break;
        case STMT_TRANSFER:
        case STMT_RESET:
        case STMT_PRODUCT:
        case STMT_APPLY:
        case STMT_ACTIVATE:
        case STMT_PUSH:
        case STMT_POP:
        case STMT_AWAIT:
                break;                  /* These belong to streams, and no kernel is one. */
        case STMT_PREFETCH:
                if (w->dialect->product) {
                        w->dialect->product(w, s);
                        break;
                }
                c_prefetch(w, s);
                c_put(w, ";");
                c_end(w);
                break;
        }
}

void c_block(struct c_writer *w, const struct loop_block *block)
{
        if (w->indent > BLOCK_DEPTH_MAX) {
                c_fail(w, EXIT_INTERNAL, "statements nest more than %d deep", BLOCK_DEPTH_MAX);
                return;
        }
        w->indent++;
        for (const struct loop_stmt *s = block->first; s && !w->failed; s = s->next) {
                c_statement(w, s);
                /* The stores of a vector are printed with the first one. */
                for (int more = s->vector; more > 1; more--)
                        s = s->next;
        }
        w->indent--;
}

/* ---- functions ---- */

static void find_fail(struct loop_stmt *s, void *found) { *(bool *)found |= loop_fails(s); }

bool c_can_fail(const struct loop_function *f)
{
        bool found = f->can_fail;
        if (!found)
                loop_block_walk(f->body, find_fail, NULL, &found);
        return found;
}

void c_unused(struct c_writer *w, const struct loop_function *f, int scalars)
{
        for (int i = 0; i < f->buffer_count; i++)
                if (!c_name(w, f->buffers[i])->used && !c_inside(w, f, i))
                        c_line(w, "(void)%s;", c_name(w, f->buffers[i])->text);
        for (int i = 0; i < scalars; i++)
                if (!c_name(w, f->scalars[i])->used)
                        c_line(w, "(void)%s;", c_name(w, f->scalars[i])->text);
}

void c_put_inside(struct c_writer *w, const struct loop_function *f)
{
        for (int i = 0; i < f->buffer_count; i++) {
                const struct loop_buffer *constant = c_inside(w, f, i), *b = f->buffers[i];
                if (constant && c_name(w, b)->used)
                        c_line(w, "const %s *const %s = %s;", c_memory_type(w, b->element),
                               c_name(w, b)->text, c_use(w, constant));
        }
}

/* The body is printed into a text of its own, because only then it is known which parameters are
 * used. */
void c_body(struct c_writer *w, struct loop_function *f, const char *last)
{
        struct text body = { 0 }, *out = w->out;
        w->out = &body;
        c_find_entries(w, f);
        c_find_pointers(w, f);
        c_block(w, f->body);
        w->out = out;
        c_line(w, "{");
        w->indent = 1;
        c_unused(w, f, f->scalar_count);
        c_put_inside(w, f);
        if (body.length)
                text_add_bytes(w->out, body.data, body.length);
        if (last)
                c_line(w, "%s", last);
        w->indent = 0;
        c_line(w, "}");
        text_free(&body);
}

/* Returns 1234567 as "1.23 M": three digits, without the locale's decimal sign. */
static const char *flops_text(struct arena *arena, double flops)
{
        static const char *const units[] = { "", " k", " M", " G", " T" };
        if (!(flops >= 1 && flops < 1e15))
                return NULL;
        uint64_t n = (uint64_t)flops, scale = 1;
        int unit = 0;
        while (unit < 4 && n / scale >= 1000) {
                scale *= 1000;
                unit++;
        }
        uint64_t whole = n / scale, thousandths = scale == 1 ? 0 : n % scale / (scale / 1000);
        if (scale == 1 || whole >= 100)
                return arena_printf(arena, "%llu%sFLOP", (unsigned long long)whole,
                                    unit ? units[unit] : " ");
        return arena_printf(arena, "%llu.%02llu%sFLOP", (unsigned long long)whole,
                            (unsigned long long)thousandths / 10, units[unit]);
}

void c_kernel_comment(struct c_writer *w, const struct loop_function *f)
{
        const char *flops = flops_text(w->arena, f->flops);
        const char *parts[] = { f->location, f->summary, flops };
        struct text text = { 0 };
        for (int i = 0; i < 3; i++)
                if (parts[i] && *parts[i])
                        text_add(&text, "%s%s", text.length ? i == 2 ? "; " : ": " : "", parts[i]);
        text_add(w->out, "\n");
        if (text.length)
                c_comment(w->out, 0, text.data);
        text_free(&text);
}

void c_parameters(struct c_writer *w, const struct loop_function *f)
{
        bool any = false;
        for (int i = 0; i < f->buffer_count; i++) {
                const struct loop_buffer *b = f->buffers[i];
                if (c_inside(w, f, i))
                        continue;
                c_put(w, "%s%s%s *%s%s", any ? "," C_SOFT : "",
                      b->access == ACCESS_IN ? "const " : "", c_memory_type(w, b->element),
                      b->alias_class == 0 ? w->dialect->restricted : "", c_name(w, b)->text);
                any = true;
        }
        for (int i = 0; i < f->scalar_count; i++)
                c_put(w, "%s%s %s", i || f->buffer_count ? "," C_SOFT : "",
                      c_type(f->scalars[i]->type.element),
                      c_name(w, f->scalars[i])->text);
}

static void put_kernel(struct c_writer *w, struct loop_function *f)
{
        bool can_fail = c_can_fail(f);
        struct text own = { 0 }, *out = w->out;
        c_kernel_comment(w, f);
        c_names_function(w, f);
        w->kernel = f;
        w->bounds = NULL;
        w->out = &own;
        if (f->external)
                c_external_meaning(w, f);
        c_put(w, "static KERNEL %s%s %s(", c_attribute(w), can_fail ? "int" : "void",
              c_name(w, f)->text);
        c_parameters(w, f);
        c_put(w, f->buffer_count + f->scalar_count ? ")" : "void)");
        c_end(w);
        if (f->external)
                c_external(w, f);
        else
                c_body(w, f, can_fail ? "return 0;" : NULL);
        w->out = out;
        struct text *const parts[] = { &w->tasks, &own };
        for (int i = 0; i < 2; i++) {
                if (parts[i]->length)
                        text_add_bytes(out, parts[i]->data, parts[i]->length);
                text_free(parts[i]);
        }
}

void c_kernels(struct c_writer *w, struct text *out)
{
        w->out = out;
        w->in_kernel = w->has_vectors;
        for (struct loop_function *f = w->p->kernels; f && !w->failed; f = f->next)
                if (f->kind == FUNCTION_KERNEL) /* Tasks are printed with their kernels. */
                        (w->dialect->kernel ? w->dialect->kernel : put_kernel)(w, f);
        c_external_definitions(w, out);
        w->in_kernel = false;
}
