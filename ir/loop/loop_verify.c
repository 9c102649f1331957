/* SPDX-License-Identifier: MIT */
/* The verifier of Loop IR checks names, buffers, and what may stand where. Printers and the
 * interpreter may rely on what it has checked. */
#include "ir/loop/loop_verify.h"
#include "ir/tensor/pixels.h"
#include "ir/loop/loop_bounds.h"
#include "ir/loop/stream.h"

#include <stdarg.h>
#include <string.h>

#include "base/size.h"

/* ---- errors ---- */

bool verify_error(struct verifier *v, const char *format, ...)
{
        if (v->failed)
                return false;
        v->failed = true;
        va_list list;
        va_start(list, format);
        const char *message = arena_vprintf(v->arena, format, list);
        va_end(list);
        struct text text = { 0 };
        if (v->stmt)
                loop_print_head(&text, v->function, v->stmt);
        const char *bug = v->code == EXIT_INTERNAL ? "bug in Loop IR: " : "";
        if (v->function && text.length)
                diag_error(v->diag, v->code, "%s%s: %s: in '%.*s'", bug, v->function->name, message,
                           (int)(text.length < 300 ? text.length : 300), text.data);
        else if (v->function)
                diag_error(v->diag, v->code, "%s%s: %s", bug, v->function->name, message);
        else
                diag_error(v->diag, v->code, "%s%s", bug, message);
        text_free(&text);
        return false;
}

/* ---- names ---- */

static struct verify_name *name_of(const struct verifier *v, const char *name)
{
        struct verify_name *n = name ? map_get(v->names, name, strlen(name)) : NULL;
        return n && n->function == v->function ? n : NULL;
}

static bool declare(struct verifier *v, const char *name, const void *object)
{
        struct verify_name *n = name ? map_get(v->names, name, strlen(name)) : NULL;
        if (!n && (!name || !loop_name_is_good(name, v->program ? TEXT_PROGRAM : TEXT_LIBRARY)))
                return verify_error(v, "'%s' cannot be a name", name ? name : "");
        if (n && n->function == v->function)
                return verify_error(v, "%%%s is declared twice", name);
        if (!n) {
                n = ARENA_NEW(v->arena, struct verify_name);
                map_set(v->names, name, strlen(name), n);
        }
        *n = (struct verify_name){ v->function, object, true, v->parallel, v->innermost };
        v->innermost = n;
        return true;
}

static void close_scope(struct verifier *v, struct verify_name *outer)
{
        for (; v->innermost != outer; v->innermost = v->innermost->outer)
                v->innermost->live = false;
}

bool verify_live(const struct verifier *v, const char *name, const void *object)
{
        const struct verify_name *n = name_of(v, name);
        return n && n->object == object && n->live;
}

/* Is x declared inside as many parallel loops as are open, but for `more` of them? */
static bool is_own(struct verifier *v, const struct loop_variable *x, int more)
{
        int own = name_of(v, x->name)->parallel + (x->warps > 0) + more;
        if (x->warps && !v->warp)
                return verify_error(v, "%%%s is of warps, and of none of them here", x->name);
        return own == v->parallel ||
               verify_error(v, "%%%s is shared by the iterations of a parallel loop", x->name);
}

bool verify_own(struct verifier *v, const struct loop_variable *x) { return is_own(v, x, 0); }
bool verify_own_of_lanes(struct verifier *v, const struct loop_variable *x)
{
        return is_own(v, x, 1);
}

bool verify_sound(struct loop_type type)
{
        return type.element < ELEMENT_COUNT &&
               (element_is_stored(type.element) || type.element == E_INDEX) &&
               type.lanes >= 1 && type.lanes <= LANES_MAX;
}

bool verify_buffer(struct verifier *v, const struct loop_buffer *b, enum loop_access access)
{
        if (!b)
                return verify_error(v, "a buffer is missing");
        if (v->function->kind == FUNCTION_LIBRARY)
                return verify_error(v, "a library function touches memory");
        bool there = v->function->kind == FUNCTION_MAIN ? verify_has_buffer(v, b)
                                                        : verify_live(v, b->name, b);
        if (!there)
                return verify_error(v, "buffer %s is not in scope", b->name);
        if (b->space == SPACE_PARAMETER && !(b->access & access))
                return verify_error(v, "%s is %s", b->name,
                                    access == ACCESS_IN ? "only written" : "only read");
        return true;
}

/* ---- statements ---- */

static bool check_block(struct verifier *v, const struct loop_block *block, int depth);

/* Is this a kernel, or a part of one that is a task? */
static bool in_kernel(const struct verifier *v)
{
        return v->function->kind == FUNCTION_KERNEL || v->function->kind == FUNCTION_TASK;
}

static bool check_range(struct verifier *v, const struct loop_stmt *s)
{
        return verify_expr(v, s->a, LOOP_TYPE(E_INDEX), "a bound") &&
               verify_expr(v, s->b, LOOP_TYPE(E_INDEX), "a bound") &&
               ((s->step >= 1 && s->step <= INT32_MAX) || verify_error(v, "a bad step"));
}

static bool check_for(struct verifier *v, const struct loop_stmt *s, int depth)
{
        struct verify_name *outer = v->innermost;
        const struct loop_variable *x = s->variable;
        if (!check_range(v, s))
                return false;
        if (!x || x->kind != VARIABLE_LOOP || x->rows ||
            !loop_type_same(x->type, LOOP_TYPE(E_INDEX)))
                return verify_error(v, "the loop variable is not an index");
        if ((int)s->for_kind < FOR_SERIAL || s->for_kind > FOR_GPU_LANE)
                return verify_error(v, "a bad kind of loop");
        bool stream = v->function->kind == FUNCTION_STREAM,
             instruction = s->for_kind == FOR_COUNT || s->for_kind == FOR_LIST;
        if (s->for_kind != FOR_SERIAL && stream != instruction && (stream || instruction))
                return verify_error(v, "a loop of a kind that this function has not");
        bool warp = s->for_kind == FOR_GPU_WARP,
             parallel = s->for_kind == FOR_PARALLEL || s->for_kind == FOR_GPU_LANE || warp;
        if (s->for_kind == FOR_PARALLEL && (v->function->kind != FUNCTION_KERNEL || v->loops))
                return verify_error(v, "a parallel loop stands outermost in a kernel");
        if (s->barrier < BARRIER_WHOLE || s->barrier > BARRIER_NONE ||
            (s->barrier && !warp && s->for_kind != FOR_GPU_LANE) ||
            (s->barrier == BARRIER_WARP && !warp))
                return verify_error(v, "a loop has no such barrier");
        v->parallel += parallel;
        v->warp |= warp;
        v->loops++;
        if (!declare(v, x->name, x) || !check_block(v, s->body, depth + 1))
                return false;
        close_scope(v, outer);
        v->parallel -= parallel;
        v->warp &= !warp;
        v->loops--;
        return true;
}

static bool check_declaration(struct verifier *v, const struct loop_stmt *s, int depth)
{
        const struct loop_variable *x = s->variable;
        if (!x || !verify_sound(x->type) ||
            x->kind != (s->kind == STMT_LET ? VARIABLE_LET : VARIABLE_VAR))
                return verify_error(v, "a declaration without a variable of its kind and a type");
        if (x->rows < 0 || x->columns < 0 || x->rows > TILE_MAX || x->columns > TILE_MAX ||
            !x->rows != !x->columns)
                return verify_error(v, "a register tile of %d x %d", x->rows, x->columns);
        if ((x->rows && (s->a || s->kind == STMT_LET)) || (!s->a && s->kind == STMT_LET))
                return verify_error(v, "%%%s: tiles begin as zero, a let with a value", x->name);
        if (x->warps < 0 || (x->warps && (!x->rows || v->warp)))
                return verify_error(
                        v, "%%%s: warps have their own of register tiles of their block", x->name);
        if (x->base &&
            (s->kind != STMT_LET || !in_kernel(v) || !loop_type_same(x->type, LOOP_TYPE(E_INDEX)) ||
             !verify_live(v, x->base->name, x->base)))
                return verify_error(v, "%%%s is no index of a buffer in scope", x->name);
        return (!s->a || verify_expr(v, s->a, x->type, "the value")) && declare(v, x->name, x) &&
               verify_take_tiles(v, x, depth);
}

/* Is it an extent of the program that main sets? */
static bool is_counted_extent(const struct verifier *v, const struct loop_variable *x)
{
        const struct loop_program *p = v->function->kind == FUNCTION_MAIN ? v->program : NULL;
        const int extent = p ? loop_extent_number(p, x) : -1;
        return extent >= 0 && p->extents[extent].counted;
}

static bool check_set(struct verifier *v, const struct loop_stmt *s)
{
        const struct loop_variable *x = s->variable;
        if (x && is_counted_extent(v, x)) {
                if (!verify_expr(v, s->a, x->type, "the value"))
                        return false;
                struct loop_range r = loop_bounds_of(NULL, s->a);
                return (r.low >= x->low && r.high <= x->high) ||
                       verify_error(v, "extent %%%s may leave its bounds", x->name);
        }
        if (!x || x->kind != VARIABLE_VAR || !verify_live(v, x->name, x))
                return verify_error(v, "%%%s is not a var in scope", x && x->name ? x->name : "");
        if (x->rows &&
            (s->row < 0 || s->row >= x->rows || s->column < 0 || s->column >= x->columns))
                return verify_error(v, "%%%s has no entry {%d, %d}", x->name, s->row, s->column);
        return verify_own(v, x) && verify_expr(v, s->a, x->type, "the value");
}

static bool check_store(struct verifier *v, const struct loop_stmt *s)
{
        if (!in_kernel(v))
                return verify_error(v, "only kernels store");
        if (s->vector && !v->warp)
                return verify_error(v, "a vector of stores is a lane's");
        return verify_buffer(v, s->buffer, ACCESS_OUT) && verify_subscript(v, s->buffer, s->a) &&
               verify_any(v, s->b) && (!s->c || verify_any(v, s->c)) &&
               verify_place(v, s->buffer, s->a, s->b->type, 0, s->c);
}

static bool check_alloc(struct verifier *v, const struct loop_stmt *s)
{
        const struct loop_buffer *b = s->buffer;
        if (b && v->function->kind == FUNCTION_STREAM)
                return b->space == SPACE_MEMORY ? verify_memory(v, b) && declare(v, b->name, b)
                                                : verify_error(v, "a bad alloc");
        bool space = b && loop_space_is_kernels(b->space);
        if (!space || !element_is_stored(b->element) || b->extent < 0 || b->extent > EXTENT_MAX)
                return verify_error(v, "a bad alloc");
        return declare(v, b->name, b);
}

/* Checks that a launch gives the task buffers of the kernel, each once, under the same class: so
 * what is true of the kernel's buffers, which of them may be written and which overlap, is true of
 * the task's. */
static bool check_launch_buffers(struct verifier *v, const struct loop_stmt *s)
{
        struct map *given = map_new(v->arena);
        for (int i = 0; i < s->function->buffer_count; i++) {
                const struct loop_buffer *b = s->buffers[i], *x = s->function->buffers[i];
                if (((x->access & ACCESS_IN) && !verify_buffer(v, b, ACCESS_IN)) ||
                    ((x->access & ACCESS_OUT) && !verify_buffer(v, b, ACCESS_OUT)))
                        return false;
                if (b->element != x->element || b->extent < x->extent)
                        return verify_error(v, "argument %s is %s[%lld], want %s[%lld]", b->name,
                                            element_info[b->element].text, (long long)b->extent,
                                            element_info[x->element].text, (long long)x->extent);
                if (b->alias_class != x->alias_class)
                        return verify_error(v, "argument %s is of another alias class", b->name);
                if (map_get(given, (const char *)&b, sizeof b))
                        return verify_error(v, "argument %s is given twice", b->name);
                map_set(given, (const char *)&b, sizeof b, v);
        }
        return true;
}

static bool check_launch(struct verifier *v, const struct loop_stmt *s)
{
        const struct loop_function *f = s->function;
        if (v->function->kind != FUNCTION_KERNEL || (v->loops && !s->in_order) || v->parallel)
                return verify_error(v, "a task is launched outermost in a kernel");
        if (!f || f->kind != FUNCTION_TASK || !verify_has_kernel(v, f))
                return verify_error(v, "launch of %s, which is no task before the kernel",
                                    f && f->name ? f->name : "nothing");
        if (!check_launch_buffers(v, s))
                return false;
        for (int i = 0; i < loop_scalar_count(s); i++) {
                if (!verify_expr(v, s->scalars[i], f->scalars[i]->type, "an argument"))
                        return false;
                if (s->scalars[i]->op != LOOP_VARIABLE)
                        return verify_error(v, "an argument of a task is no variable");
        }
        return check_range(v, s);
}

static bool check_fail(struct verifier *v, const struct loop_stmt *s)
{
        static const int codes[] = {
#define FAIL(name, value, doc) value,
#include "ir/loop/fail_codes.def"
        };
        v->fails = true;
        if (v->parallel && !v->warp)
                return verify_error(v, "a parallel loop cannot be left");
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
                if (codes[i] == s->code)
                        return true;
        return verify_error(v, "no code %d to fail with", s->code);
}

static bool check_image(struct verifier *v, const struct loop_stmt *s)
{
        v->fails = true;
        if (v->function->kind != FUNCTION_KERNEL || v->parallel || v->warp)
                return verify_error(v, "an image is decoded outside of a kernel or in parallel");
        if (s->code < 0 || s->code >= PIXELS_COUNT || s->row < 1 || s->row > IMAGE_EXTENT_MAX ||
            s->column < 1 || s->column > IMAGE_EXTENT_MAX)
                return verify_error(v, "a bad image");
        if (!verify_buffer(v, s->buffer, ACCESS_OUT) || !verify_buffer(v, s->source, ACCESS_IN) ||
            !verify_subscript(v, s->buffer, s->a) || !verify_subscript(v, s->source, s->b) ||
            !verify_expr(v, s->c, LOOP_TYPE(E_INDEX), "a length"))
                return false;
        return (s->buffer->element == E_U8 && s->source->element == E_U8) ||
               verify_error(v, "an image is made of bytes, and becomes bytes");
}

static bool check_prefetch(struct verifier *v, const struct loop_stmt *s)
{
        if (!s->buffer || !verify_live(v, s->buffer->name, s->buffer) || s->code < 0 ||
            s->code > 3 || s->step < 1 || (s->code == 3 && !v->warp))
                return verify_error(v, "a bad prefetch");
        return verify_expr(v, s->a, LOOP_TYPE(E_INDEX), "a subscript");
}

static bool check_keep(struct verifier *v, const struct loop_stmt *s)
{
        const struct loop_variable *x = s->variable;
        if (!x || !verify_live(v, x->name, x))
                return verify_error(v, "what is kept is not in scope");
        bool index = loop_type_same(x->type, LOOP_TYPE(E_INDEX)) && x->kind == VARIABLE_VAR;
        bool vector = x->type.lanes > 1 && x->kind != VARIABLE_VAR;
        return ((index || vector) && !x->rows && verify_own(v, x)) ||
               verify_error(v, "%%%s is no value in vectors, nor an index that changes", x->name);
}

static bool check_return(struct verifier *v, const struct loop_stmt *s, int depth)
{
        if (v->function->kind != FUNCTION_LIBRARY || depth != 1 || s->next)
                return verify_error(v, "return is the last statement of a library function");
        v->returns = true;
        return verify_expr(v, s->a, v->function->result, "the result");
}

/* Does a condition compare extents of the program with numbers, and nothing else? */
static bool compares_extents(const struct verifier *v, const struct loop_expr *e)
{
        int64_t number;
        if (e->op == LOOP_AND)
                return compares_extents(v, e->args[0]) && compares_extents(v, e->args[1]);
        return e->op == LOOP_EQ && e->args[0]->op == LOOP_VARIABLE &&
               loop_extent_number(v->program, e->args[0]->variable) >= 0 &&
               loop_is_int(e->args[1], &number);
}

static bool check_stmt(struct verifier *v, const struct loop_stmt *s, int depth)
{
        enum loop_function_kind kind = v->function->kind;
        bool stream = kind == FUNCTION_STREAM, both = s->kind == STMT_FOR || s->kind == STMT_IF ||
                                                      s->kind == STMT_LET || s->kind == STMT_ALLOC;
        if (!both && stream != loop_is_of_stream(s))
                return verify_error(v, "a statement that this kind of function has not");
        if (stream && !both)
                return verify_stream_statement(v, s);
        switch (s->kind) {
        case STMT_FOR:
                return check_for(v, s, depth);
        case STMT_WHILE: case STMT_IF:
                v->loops += s->kind == STMT_WHILE;
                if (s->likely &&
                    (kind != FUNCTION_MAIN || !s->other || !compares_extents(v, s->a)))
                        return verify_error(v, "a likely if that is not of main, has no other "
                                               "side, or compares more than extents with numbers");
                if (!verify_expr(v, s->a, LOOP_TYPE(E_BOOL), "a condition") ||
                    !check_block(v, s->body, depth + 1) ||
                    (s->kind == STMT_IF && s->other && !check_block(v, s->other, depth + 1)))
                        return false;
                v->loops -= s->kind == STMT_WHILE;
                return true;
        case STMT_LET: case STMT_VAR:
                return check_declaration(v, s, depth);
        case STMT_SET:
                return check_set(v, s);
        case STMT_STORE:
                return check_store(v, s);
        case STMT_CALL:
                if (s->location && !text_is_remark(s->location, strlen(s->location)))
                        return verify_error(v, "the location of a call is no safe text");
                return kind == FUNCTION_MAIN ? verify_call(v, s)
                                             : verify_error(v, "only main calls kernels");
        case STMT_LAUNCH:
                return check_launch(v, s);
        case STMT_RETURN:
                return check_return(v, s, depth);
        case STMT_FAIL:
                return kind != FUNCTION_LIBRARY ? check_fail(v, s)
                                                : verify_error(v, "a library function fails");
        case STMT_IMAGE: return check_image(v, s);
        case STMT_TILES:
        case STMT_MULTIPLY:
        case STMT_UNLOAD:
        case STMT_SCALE:
        case STMT_TAKE:
        case STMT_GIVE:
                if (!in_kernel(v))
                        return verify_error(v, "only kernels have hardware tiles");
                return verify_tiles(v, s, depth);
        case STMT_COPY: case STMT_COMMIT: case STMT_WAIT: case STMT_SETTLE:
                if (kind != FUNCTION_KERNEL)
                        return verify_error(v, "only kernels have asynchronous copies");
                return verify_copy(v, s);
        case STMT_LAUNCH_WAIT: case STMT_LAUNCH_DEPENDENTS:
                return kind == FUNCTION_KERNEL || verify_error(v, "only kernels are launched");
        case STMT_KEEP: case STMT_ALLOC: case STMT_PREFETCH:
                if (!in_kernel(v) && !stream)
                        return verify_error(v, "only kernels have this statement");
                return s->kind == STMT_ALLOC  ? check_alloc(v, s)
                       : s->kind == STMT_KEEP ? check_keep(v, s)
                                              : check_prefetch(v, s);
        case STMT_TRANSFER:
        case STMT_RESET:
        case STMT_PRODUCT:
        case STMT_APPLY:
        case STMT_ACTIVATE:
        case STMT_PUSH:
        case STMT_POP:
        case STMT_AWAIT:
                break;                  /* Other statements are of streams, and checked above. */
        }
        return verify_error(v, "no statement %d", (int)s->kind);
}

static bool check_block(struct verifier *v, const struct loop_block *block, int depth)
{
        struct verify_name *outer = v->innermost;
        if (!block)
                return verify_error(v, "a block is missing");
        if (depth > BLOCK_DEPTH_MAX)
                return verify_error(v, "blocks are nested more than %d deep", BLOCK_DEPTH_MAX);
        for (const struct loop_stmt *s = block->first; s; s = s->next) {
                v->stmt = s;
                if (!check_stmt(v, s, depth))
                        return false;
        }
        close_scope(v, outer);
        verify_give_tiles_back(v, NULL, depth);
        return true;
}

/* ---- functions ---- */

static bool check_parameters(struct verifier *v)
{
        const struct loop_function *f = v->function;
        for (int i = 0; i < f->buffer_count; i++) {
                const struct loop_buffer *b = f->buffers[i];
                if (!declare(v, b->name, b))
                        return false;
                if (b->space != SPACE_PARAMETER || !element_is_stored(b->element) ||
                    b->extent < 0 || b->extent > EXTENT_MAX || b->access < ACCESS_IN ||
                    b->access > ACCESS_INOUT || b->alias_class < 0)
                        return verify_error(v, "parameter %s is malformed", b->name);
        }
        for (int i = 0; i < f->scalar_count; i++) {
                const struct loop_variable *x = f->scalars[i];
                if (!declare(v, x->name, x))
                        return false;
                bool computes = loop_is_compute(x->type.element);
                bool index = loop_type_same(x->type, LOOP_TYPE(E_INDEX));
                if (x->low < 0 || x->low > x->high || (x->high && !index))
                        return verify_error(v, "the bounds of %%%s make no sense", x->name);
                if (x->kind != VARIABLE_PARAMETER || x->rows || !verify_sound(x->type) ||
                    (f->kind == FUNCTION_KERNEL &&
                     (!computes || x->type.lanes > 1 || x->type.tile)) ||
                    (f->kind == FUNCTION_TASK && x->type.tile))
                        return verify_error(v, "parameter %%%s is malformed", x->name);
        }
        return true;
}

/* Is e made of the program's extents by what loop_port_extent knows? */
static bool is_of_extents(const struct loop_expr *e)
{
        bool operation = e->op == LOOP_ADD || e->op == LOOP_SUB || e->op == LOOP_MUL ||
                         e->op == LOOP_DIV || e->op == LOOP_MIN || e->op == LOOP_MAX;
        bool all = operation || e->op == LOOP_LITERAL || e->op == LOOP_VARIABLE;
        for (int i = 0; all && i < e->arity; i++)
                all = is_of_extents(e->args[i]);
        return all;
}

/* Declares the program's extents in main, and checks the shapes of the entry's ports over them. */
static bool check_extents(struct verifier *v)
{
        const struct loop_program *p = v->program;
        for (int i = 0; i < p->extent_count; i++) {
                const struct loop_variable *x = p->extents[i].variable;
                if (!declare(v, x->name, x))
                        return false;
                if (x->kind != VARIABLE_PARAMETER || x->rows || x->low < 0 || x->high < 1 ||
                    x->low > x->high || x->high > INT32_MAX ||
                    !loop_type_same(x->type, LOOP_TYPE(E_INDEX)))
                        return verify_error(v, "extent %%%s is malformed", x->name);
        }
        for (int i = 1; i < p->extent_count; i++)
                if (p->extents[i - 1].kept && !p->extents[i].kept)
                        return verify_error(v, "an extent that a run gives stands behind state");
        for (int i = 0; i < p->extent_count; i++) {
                const struct loop_extent *e = &p->extents[i];
                struct loop_expr *next = loop_next_extent(v->entry, i);
                if (e->kept ? e->variable->low != 0 || e->counted : next != NULL)
                        return verify_error(v, "extent %%%s cannot be state", e->variable->name);
                if (!next)
                        continue;
                if (!verify_expr(v, next, LOOP_TYPE(E_INDEX), "an extent"))
                        return false;
                if (!is_of_extents(next) || loop_bounds_of(NULL, next).low < 0)
                        return verify_error(v, "the next value of extent %%%s makes no sense",
                                            e->variable->name);
        }
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                bool port = loop_is_port(b);
                if (!b->extents || &p->entries[b->entry] != v->entry)
                        continue;
                if (!b->type || !port)
                        return verify_error(v, "buffer %s has extents, but is no port", b->name);
                for (int d = 0; d < b->type->rank; d++) {
                        if (!verify_expr(v, b->extents[d], LOOP_TYPE(E_INDEX), "an extent"))
                                return false;
                        struct loop_range r = loop_bounds_of(NULL, b->extents[d]);
                        if (!is_of_extents(b->extents[d]) || r.low < 0 ||
                            r.high > type_extent(b->type, d))
                                return verify_error(v, "dimension %d of buffer %s leaves its shape",
                                                    d, b->name);
                }
        }
        return true;
}

/* Can code call a C function in place of f's body? */
static bool is_external(const struct loop_function *f)
{
        for (int i = 0; i < f->buffer_count; i++)
                if (f->buffers[i]->alias_class || f->buffers[i]->access == ACCESS_INOUT)
                        return false;
        return f->kind == FUNCTION_KERNEL && !f->scalar_count && f->buffer_count &&
               text_is_identifier(f->external);
}

bool verify_function(struct verifier *v, const struct loop_function *f)
{
        v->function = f;
        v->stmt = NULL;
        v->innermost = NULL;
        v->returns = false;
        v->fails = f->external != NULL;
        v->parallel = f->kind == FUNCTION_TASK;
        v->warp = false;
        v->loops = 0;
        if ((f->location && !text_is_remark(f->location, strlen(f->location))) ||
            (f->summary && !text_is_remark(f->summary, strlen(f->summary))))
                return verify_error(v, "location or summary is no safe text");
        if ((f->kind == FUNCTION_STREAM) != (f->machine != NULL) || (f->machine && f->scalar_count))
                return verify_error(
                        v, "a stream is for a machine, and has buffers alone for parameters");
        if (!check_parameters(v) || (f->kind == FUNCTION_MAIN && !check_extents(v)) ||
            !check_block(v, f->body, 1) || !verify_grid(v))
                return false;
        if (f->kind == FUNCTION_STREAM && !verify_flat(v))
                return false;
        v->stmt = NULL;
        if (f->kind == FUNCTION_LIBRARY &&
            (!v->returns || !verify_sound(f->result) || f->scalar_count < 1 ||
             f->scalar_count > 3 || f->buffer_count))
                return verify_error(
                        v, "a library function has 1 to 3 scalar parameters and ends with return");
        const struct loop_variable *last = f->scalar_count ? f->scalars[f->scalar_count - 1] : NULL;
        if (f->kind == FUNCTION_TASK && (!last || !loop_type_same(last->type, LOOP_TYPE(E_INDEX))))
                return verify_error(v, "a task's last parameter is no index");
        if (f->kind == FUNCTION_MAIN && (f->scalar_count || f->buffer_count))
                return verify_error(v, "main has parameters");
        if (f->external && !is_external(f))
                return verify_error(v, "an external function is a kernel with the name of a C "
                                       "function, whose parameters are dense and do not overlap");
        if (f->can_fail != v->fails)
                return verify_error(v, v->fails ? "it can fail, but does not say so"
                                                : "it says it can fail, but cannot");
        return true;
}
