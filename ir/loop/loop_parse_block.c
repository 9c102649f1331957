/* SPDX-License-Identifier: MIT */
/* Parses statements of Loop IR text, and the functions of library text. */
#include "ir/loop/loop_parser.h"
#include "ir/tensor/pixels.h"

#include <string.h>

#include "ir/loop/loop_grid.h"
#include "ir/target/schedule.h"

enum { IN_KERNEL = 1, IN_LIBRARY = 2, IN_MAIN = 4, IN_STREAM = 8, ANYWHERE = 15 };

/* ---- names ---- */

bool loop_declare(struct loop_parser *p, const char *name, struct loop_variable *variable,
                  struct loop_buffer *buffer)
{
        if (!name || p->failed)
                return false;
        if (!loop_name_is_good(name, p->kind))
                return loop_lex_error(p, "'%s' cannot be a name here",
                                      text_safe(p->arena, name, strlen(name)));
        if (map_get(p->names, name, strlen(name)))
                return loop_lex_error(p, "'%s' is declared twice in its function", name);
        struct loop_binding *b = ARENA_NEW(p->arena, struct loop_binding);
        *b = (struct loop_binding){ variable, buffer, true, p->innermost };
        p->innermost = b;
        map_set(p->names, name, strlen(name), b);
        return true;
}

static void close_scope(struct loop_parser *p, struct loop_binding *outer)
{
        for (; p->innermost != outer; p->innermost = p->innermost->outer)
                p->innermost->live = false;
}

void loop_parse_function_start(struct loop_parser *p, struct loop_function *f)
{
        p->function = f;
        p->names = map_new(p->arena);
        p->innermost = NULL;
        p->fallback = (struct loop_type){ 0 };
}

/* Reads %name, or a bare name in library text. */
static char *parse_new_name(struct loop_parser *p)
{
        if (p->kind == TEXT_PROGRAM && !loop_lex_is(p, "%")) {
                loop_lex_error(p, "want %%name, found %s", loop_lex_shown(p));
                return NULL;
        }
        loop_lex_accept(p, "%");
        return loop_lex_word(p, "a name");
}

/* ---- statements ---- */

static const char *const for_words[] = { [FOR_SERIAL] = "serial",
                                         [FOR_UNROLL] = "unroll",
                                         [FOR_PARALLEL] = "parallel",
                                         [FOR_GPU_CLUSTER] = "gpu_cluster",
                                         [FOR_GPU_BLOCK] = "gpu_block",
                                         [FOR_GPU_WARP] = "gpu_warp",
                                         [FOR_GPU_LANE] = "gpu_lane",
                                         [FOR_COUNT] = "count",
                                         [FOR_LIST] = "list" };

/* Reads "a to b step n". */
static bool parse_range(struct loop_parser *p, struct loop_stmt *s)
{
        return (s->a = loop_parse_expr(p, LOOP_TYPE(E_INDEX))) && loop_lex_expect(p, "to") &&
               (s->b = loop_parse_expr(p, LOOP_TYPE(E_INDEX))) &&
               (!loop_lex_accept(p, "step") || loop_lex_int(p, "a step", 1, INT32_MAX, &s->step));
}

static bool parse_for(struct loop_parser *p, struct loop_stmt *s)
{
        struct loop_binding *outer = p->innermost;
        char *name = parse_new_name(p);
        if (!name || !loop_lex_expect(p, "=") || !parse_range(p, s))
                return false;
        for (int kind = FOR_SERIAL; kind <= FOR_GPU_LANE; kind++)
                if (loop_lex_accept(p, for_words[kind])) {
                        s->for_kind = (enum loop_for_kind)kind;
                        break;
                }
        if (loop_lex_accept(p, "syncwarp"))
                s->barrier = BARRIER_WARP;
        else
                s->barrier = loop_lex_accept(p, "nowait") ? BARRIER_NONE : BARRIER_WHOLE;
        s->variable = loop_variable_new(p->arena, name, LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        if (!loop_declare(p, name, s->variable, NULL) || !loop_parse_block(p, s->body))
                return false;
        close_scope(p, outer);
        return true;
}

static bool parse_while(struct loop_parser *p, struct loop_stmt *s)
{
        return (s->a = loop_parse_expr(p, LOOP_TYPE(E_BOOL))) && loop_parse_block(p, s->body);
}

static bool parse_if(struct loop_parser *p, struct loop_stmt *s)
{
        s->likely = loop_lex_accept(p, "likely");
        if (!(s->a = loop_parse_expr(p, LOOP_TYPE(E_BOOL))) || !loop_parse_block(p, s->body))
                return false;
        if (!loop_lex_accept(p, "else"))
                return true;
        s->other = loop_block_new(p->arena);
        return loop_parse_block(p, s->other);
}

/* Reads "%name : type". */
static char *parse_typed_name(struct loop_parser *p, struct loop_type *type)
{
        char *name = parse_new_name(p);
        return name && loop_lex_expect(p, ":") && loop_parse_type(p, type) ? name : NULL;
}

static bool parse_let(struct loop_parser *p, struct loop_stmt *s)
{
        struct loop_type type;
        struct loop_binding *base = NULL;
        char *name = parse_typed_name(p, &type);
        if (!name || (loop_lex_accept(p, "of") && !(base = loop_parse_name(p))) ||
            !loop_lex_expect(p, "=") || !(s->a = loop_parse_expr(p, type)))
                return false;
        if (base && !base->buffer)
                return loop_lex_error(p, "an index is into a buffer");
        s->variable = loop_variable_new(p->arena, name, type, VARIABLE_LET);
        s->variable->base = base ? base->buffer : NULL;
        return loop_declare(p, name, s->variable, NULL);
}

static bool parse_schedule(struct loop_parser *p, const struct schedule **read)
{
        struct schedule schedule;
        const char *wrong, *text = loop_lex_string(p, "a schedule");
        if (!text)
                return false;
        if (!schedule_parse(text, &schedule, &wrong))
                return loop_lex_error(p, "a schedule cannot say '%.*s'", (int)strcspn(wrong, " "),
                                      wrong);
        if (!schedule_scalar(&schedule) || schedule.why || !*text)
                return loop_lex_error(p, "the schedule of a sum has words of scalars alone");
        *read = schedule_keep(p->arena, schedule);
        return true;
}

static bool parse_var(struct loop_parser *p, struct loop_stmt *s)
{
        const struct schedule *schedule = NULL;
        struct loop_type type;
        struct tile_range registers = { 0 };
        int64_t rows = 0, columns = 0, warps = 0;
        char *name = parse_typed_name(p, &type);
        if (!name)
                return false;
        if (loop_lex_accept(p, "[") &&
            (!loop_lex_int(p, "a tile's rows", 1, TILE_MAX, &rows) || !loop_lex_expect(p, "]") ||
             !loop_lex_expect(p, "[") ||
             !loop_lex_int(p, "a tile's columns", 1, TILE_MAX, &columns) ||
             !loop_lex_expect(p, "]")))
                return false;
        if (!loop_parse_registers(p, "in", &registers) ||
            (loop_lex_accept(p, "warps") && !loop_lex_int(p, "warps", 1, GRID_WARPS_MAX, &warps)) ||
            (loop_lex_accept(p, "schedule") && !parse_schedule(p, &schedule)))
                return false;
        if (loop_lex_accept(p, "=") && !(s->a = loop_parse_expr(p, type)))
                return false;
        s->variable = loop_variable_new(p->arena, name, type, VARIABLE_VAR);
        s->variable->rows = (int)rows;
        s->variable->columns = (int)columns;
        s->variable->registers = registers;
        s->variable->warps = (int)warps;
        s->variable->schedule = schedule;
        return loop_declare(p, name, s->variable, NULL);
}

static bool parse_set(struct loop_parser *p, struct loop_stmt *s)
{
        struct loop_binding *b = loop_parse_name(p);
        if (!b)
                return false;
        if (!b->variable)
                return loop_lex_error(p, "only a variable can be set");
        s->variable = b->variable;
        if (s->variable->rows) {
                int64_t row, column;
                if (!loop_lex_expect(p, "{") ||
                    !loop_lex_int(p, "a row", 0, s->variable->rows - 1, &row) ||
                    !loop_lex_expect(p, ",") ||
                    !loop_lex_int(p, "a column", 0, s->variable->columns - 1, &column) ||
                    !loop_lex_expect(p, "}"))
                        return false;
                s->row = (int)row;
                s->column = (int)column;
        }
        return loop_lex_expect(p, "=") && (s->a = loop_parse_expr(p, s->variable->type));
}

bool loop_parse_place(struct loop_parser *p, struct loop_buffer **buffer, struct loop_expr **at)
{
        struct loop_binding *b = loop_parse_name(p);
        return b && loop_parse_place_in(p, b, buffer, at);
}

bool loop_parse_place_in(struct loop_parser *p, const struct loop_binding *b,
                         struct loop_buffer **buffer, struct loop_expr **at)
{
        if (!b->buffer)
                return loop_lex_error(p, "want a buffer before '['");
        *buffer = b->buffer;
        return loop_lex_expect(p, "[") && (*at = loop_parse_expr(p, LOOP_TYPE(E_INDEX))) &&
               loop_lex_expect(p, "]");
}

static bool parse_place(struct loop_parser *p, struct loop_stmt *s)
{
        return loop_parse_place(p, &s->buffer, &s->a);
}

static bool parse_store(struct loop_parser *p, struct loop_stmt *s)
{
        if (!parse_place(p, s) || !loop_lex_expect(p, "=") ||
            !(s->b = loop_parse_expr(p, LOOP_TYPE(s->buffer->element))))
                return false;
        if (loop_lex_accept(p, "mask") &&
            !(s->c = loop_parse_expr(p, LOOP_VECTOR(E_BOOL, s->b->type.lanes))))
                return false;
        s->streaming = loop_lex_accept(p, "streaming");
        int64_t vector = 0;
        if (loop_lex_accept(p, "vector") && !loop_lex_int(p, "elements", 2, COPY_BYTES, &vector))
                return false;
        s->vector = (int)vector;
        return true;
}

static struct loop_buffer *parse_call_buffer(struct loop_parser *p)
{
        struct loop_token word;
        if (!loop_lex_expect(p, "@"))
                return NULL;
        word = p->token;
        struct loop_buffer *b =
                word.kind == TOKEN_WORD ? map_get(p->buffers, word.start, word.length) : NULL;
        if (!b)
                loop_lex_error(p, "no buffer is called %s", loop_lex_shown(p));
        loop_lex_next(p);
        return b;
}

/* Reads "+ index", or nothing. */
static bool parse_call_offset(struct loop_parser *p, struct loop_stmt *s, int argument)
{
        if (!loop_lex_accept(p, "+"))
                return true;
        if (!s->offsets)
                s->offsets = arena_array(p->arena, (size_t)s->function->buffer_count,
                                         sizeof *s->offsets);
        return (s->offsets[argument] = loop_parse_expr(p, LOOP_TYPE(E_INDEX)));
}

static bool parse_call_arguments(struct loop_parser *p, struct loop_stmt *s)
{
        struct loop_function *f = s->function;
        for (int i = 0; i < f->buffer_count; i++)
                if ((i && !loop_lex_expect(p, ",")) || !(s->buffers[i] = parse_call_buffer(p)) ||
                    !parse_call_offset(p, s, i))
                        return false;
        if (f->scalar_count && !loop_lex_expect(p, ";"))
                return false;
        for (int i = 0; i < f->scalar_count; i++)
                if ((i && !loop_lex_expect(p, ",")) ||
                    !(s->scalars[i] = loop_parse_expr(p, f->scalars[i]->type)))
                        return false;
        return true;
}

/* Reads "@name(...)" of a kernel or a task, with its arguments. */
static bool parse_callee(struct loop_parser *p, struct loop_stmt *s, enum loop_function_kind kind,
                         bool (*arguments)(struct loop_parser *p, struct loop_stmt *s))
{
        if (!loop_lex_expect(p, "@"))
                return false;
        const struct loop_token word = p->token;
        s->function = word.kind == TOKEN_WORD ? map_get(p->kernels, word.start, word.length) : NULL;
        bool called =
                s->function && kind == FUNCTION_KERNEL && s->function->kind == FUNCTION_STREAM;
        if (!s->function || (s->function->kind != kind && !called))
                return loop_lex_error(p, "no %s is called %s",
                                      kind == FUNCTION_TASK ? "task" : "kernel", loop_lex_shown(p));
        loop_lex_next(p);
        s->buffers =
                arena_array(p->arena, (size_t)s->function->buffer_count, sizeof *s->buffers);
        s->scalars =
                arena_array(p->arena, (size_t)s->function->scalar_count, sizeof *s->scalars);
        p->semicolon_is_mark = true;
        bool good = loop_lex_expect(p, "(") && arguments(p, s);
        p->semicolon_is_mark = false;
        return good && loop_lex_expect(p, ")");
}

static bool parse_call(struct loop_parser *p, struct loop_stmt *s)
{
        return parse_callee(p, s, FUNCTION_KERNEL, parse_call_arguments) &&
               (!loop_lex_accept(p, "node") || (s->location = loop_lex_name(p)));
}

static bool parse_launch_arguments(struct loop_parser *p, struct loop_stmt *s)
{
        struct loop_function *f = s->function;
        if (!f->scalar_count)
                return loop_lex_error(p, "task %s has no index", f->name);
        for (int i = 0; i < f->buffer_count; i++) {
                struct loop_binding *b = NULL;
                if ((i && !loop_lex_expect(p, ",")) || !(b = loop_parse_name(p)))
                        return false;
                if (!(s->buffers[i] = b->buffer))
                        return loop_lex_error(p, "want a buffer as argument %d", i + 1);
        }
        if (!loop_lex_expect(p, ";"))
                return false;
        for (int i = 0; i < loop_scalar_count(s); i++)
                if (!(s->scalars[i] = loop_parse_expr(p, f->scalars[i]->type)) ||
                    !loop_lex_expect(p, ","))
                        return false;
        return parse_range(p, s);
}

static bool parse_launch(struct loop_parser *p, struct loop_stmt *s)
{
        if (!parse_callee(p, s, FUNCTION_TASK, parse_launch_arguments))
                return false;
        s->in_order = loop_lex_accept(p, "in");
        return !s->in_order || loop_lex_expect(p, "order");
}

static bool parse_fail(struct loop_parser *p, struct loop_stmt *s)
{
        static const struct { const char *name; int code; } codes[] = {
#define FAIL(name, value, doc) { #name, value },
#include "ir/loop/fail_codes.def"
        };
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
                if (loop_lex_accept(p, codes[i].name)) {
                        s->code = codes[i].code;
                        p->function->can_fail = true;
                        return true;
                }
        return loop_lex_error(p, "%s is not a code to fail with", loop_lex_shown(p));
}

static bool parse_return(struct loop_parser *p, struct loop_stmt *s)
{
        return (s->a = loop_parse_expr(p, p->function->result));
}

static bool parse_alloc(struct loop_parser *p, struct loop_stmt *s)
{
        struct loop_buffer *b = ARENA_NEW(p->arena, struct loop_buffer);
        b->offset = -1;
        b->access = ACCESS_INOUT;
        b->name = parse_new_name(p);
        if (!b->name || !loop_lex_expect(p, ":") || !loop_parse_element(p, &b->element) ||
            !loop_lex_expect(p, "[") || !loop_lex_int(p, "an extent", 0, EXTENT_MAX, &b->extent) ||
            !loop_lex_expect(p, "]"))
                return false;
        if (loop_lex_accept(p, "in")) {
                if (!loop_parse_memory(p, b))
                        return false;
        } else if (loop_lex_accept(p, "stack"))
                b->space = SPACE_STACK;
        else if (loop_lex_accept(p, "shared"))
                b->space = SPACE_SHARED;
        else if (loop_lex_accept(p, "cluster"))
                b->space = SPACE_CLUSTER;
        else if (loop_lex_accept(p, "lanes"))
                b->space = SPACE_LANES;
        else
                return loop_lex_error(p, "want stack, shared, cluster or lanes, found %s",
                                      loop_lex_shown(p));
        s->buffer = b;
        return loop_declare(p, b->name, NULL, b);
}

static bool parse_keep(struct loop_parser *p, struct loop_stmt *s)
{
        struct loop_binding *b = loop_parse_name(p);
        s->variable = b ? b->variable : NULL;
        return s->variable || (b && loop_lex_error(p, "only a variable is kept"));
}

static bool parse_image(struct loop_parser *p, struct loop_stmt *s)
{
        int64_t rows, columns;
        if (!loop_parse_place(p, &s->buffer, &s->a) || !loop_lex_expect(p, "=") ||
            !loop_parse_place(p, &s->source, &s->b) || !loop_lex_expect(p, "of") ||
            !(s->c = loop_parse_expr(p, LOOP_TYPE(E_INDEX))) || !loop_lex_expect(p, "as"))
                return false;
        while (s->code < PIXELS_COUNT && !loop_lex_accept(p, pixels_info[s->code].name))
                s->code++;
        if (s->code == PIXELS_COUNT)
                return loop_lex_error(p, "%s is no kind of pixels", loop_lex_shown(p));
        if (!loop_lex_int(p, "rows", 1, IMAGE_EXTENT_MAX, &rows) || !loop_lex_expect(p, "x") ||
            !loop_lex_int(p, "columns", 1, IMAGE_EXTENT_MAX, &columns))
                return false;
        s->row = (int)rows;
        s->column = (int)columns;
        p->function->can_fail = true;
        return true;
}

static bool parse_prefetch(struct loop_parser *p, struct loop_stmt *s)
{
        int64_t code;
        if (!parse_place(p, s) || !loop_lex_int(p, "a prefetch hint", 0, 3, &code))
                return false;
        s->code = (int)code;
        return !loop_lex_accept(p, "of") || loop_lex_int(p, "elements", 1, EXTENT_MAX, &s->step);
}

static bool parse_nothing(struct loop_parser *p, struct loop_stmt *s)
{
        (void)s;
        return !p->failed;
}

static const struct {
        const char *word;
        enum loop_stmt_kind kind;
        int where;
        bool (*parse)(struct loop_parser *p, struct loop_stmt *s);
} statements[] = {
        { "for", STMT_FOR, ANYWHERE, parse_for },
        { "while", STMT_WHILE, ANYWHERE & ~IN_STREAM, parse_while },
        { "if", STMT_IF, ANYWHERE, parse_if },
        { "let", STMT_LET, ANYWHERE, parse_let },
        { "var", STMT_VAR, ANYWHERE & ~IN_STREAM, parse_var },
        { "set", STMT_SET, ANYWHERE & ~IN_STREAM, parse_set },
        { "store", STMT_STORE, IN_KERNEL, parse_store },
        { "call", STMT_CALL, IN_MAIN, parse_call },
        { "launch", STMT_LAUNCH, IN_KERNEL, parse_launch },
        { "fail", STMT_FAIL, IN_KERNEL | IN_MAIN, parse_fail },
        { "image", STMT_IMAGE, IN_KERNEL, parse_image },
        { "return", STMT_RETURN, IN_LIBRARY, parse_return },
        { "alloc", STMT_ALLOC, IN_KERNEL | IN_STREAM, parse_alloc },
        { "prefetch", STMT_PREFETCH, IN_KERNEL, parse_prefetch },
        { "keep", STMT_KEEP, IN_KERNEL, parse_keep },
        { "tiles", STMT_TILES, IN_KERNEL, loop_parse_tiles },
        { "multiply", STMT_MULTIPLY, IN_KERNEL, loop_parse_multiply },
        { "unload", STMT_UNLOAD, IN_KERNEL, loop_parse_unload },
        { "scale", STMT_SCALE, IN_KERNEL, loop_parse_scale },
        { "take", STMT_TAKE, IN_KERNEL, loop_parse_own },
        { "give", STMT_GIVE, IN_KERNEL, loop_parse_own },
        { "copy", STMT_COPY, IN_KERNEL, loop_parse_copy },
        { "commit", STMT_COMMIT, IN_KERNEL, loop_parse_commit },
        { "wait", STMT_WAIT, IN_KERNEL, loop_parse_wait },
        { "settle", STMT_SETTLE, IN_KERNEL, loop_parse_settle },
        { "launch_wait", STMT_LAUNCH_WAIT, IN_KERNEL, parse_nothing },
        { "launch_dependents", STMT_LAUNCH_DEPENDENTS, IN_KERNEL, parse_nothing },
        { "transfer", STMT_TRANSFER, IN_STREAM, loop_parse_transfer },
        { "reset", STMT_RESET, IN_STREAM, loop_parse_reset },
        { "product", STMT_PRODUCT, IN_STREAM, loop_parse_product },
        { "apply", STMT_APPLY, IN_STREAM, loop_parse_apply },
        { "activate", STMT_ACTIVATE, IN_STREAM, loop_parse_activate },
        { "await", STMT_AWAIT, IN_STREAM, loop_parse_await },
        { "push", STMT_PUSH, IN_STREAM, loop_parse_queue },
        { "pop", STMT_POP, IN_STREAM, loop_parse_queue },
};

static bool parse_statement(struct loop_parser *p, struct loop_block *block)
{
        static const int where[] = { [FUNCTION_KERNEL] = IN_KERNEL, [FUNCTION_TASK] = IN_KERNEL,
                                     [FUNCTION_LIBRARY] = IN_LIBRARY, [FUNCTION_MAIN] = IN_MAIN,
                                     [FUNCTION_STREAM] = IN_STREAM };
        for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
                if (!loop_lex_is(p, statements[i].word))
                        continue;
                if (!(statements[i].where & where[p->function->kind]))
                        return loop_lex_error(p, "'%s' cannot stand in this kind of function",
                                              statements[i].word);
                loop_lex_next(p);
                return statements[i].parse(p, loop_append(p->arena, block, statements[i].kind)) &&
                       !p->failed;
        }
        return loop_lex_error(p, "want a statement, found %s", loop_lex_shown(p));
}

bool loop_parse_block(struct loop_parser *p, struct loop_block *block)
{
        struct loop_binding *outer = p->innermost;
        if (p->block_depth >= BLOCK_DEPTH_MAX)
                return loop_lex_error(p, "blocks are nested more than %d deep", BLOCK_DEPTH_MAX);
        if (!loop_lex_expect(p, "{"))
                return false;
        p->block_depth++;
        while (!p->failed && !loop_lex_is(p, "}"))
                if (!parse_statement(p, block))
                        return false;
        p->block_depth--;
        close_scope(p, outer);
        return loop_lex_expect(p, "}");
}

/* ---- library functions ---- */

/* Reads (x: f32, n: i32) -> f32 where T in f32 f64 error "1 ulp" spelling "name". The where clause
 * was read before. */
static bool parse_function_head(struct loop_parser *p, struct loop_function *f)
{
        struct loop_type type;
        if (!loop_lex_expect(p, "("))
                return false;
        do {
                char *name = parse_typed_name(p, &type);
                if (!name || !loop_declare(p, name, loop_scalar_add(p->arena, f, name, type), NULL))
                        return false;
                if (f->scalar_count > 3)
                        return loop_lex_error(p, "a library function has more than 3 parameters");
        } while (loop_lex_accept(p, ","));
        if (!loop_lex_expect(p, ")") || !loop_lex_expect(p, "->") ||
            !loop_parse_type(p, &f->result))
                return false;
        p->fallback = loop_fallback(f);
        if (loop_lex_accept(p, "where"))
                while (!p->failed && p->token.kind == TOKEN_WORD && !loop_lex_is(p, "error") &&
                       !loop_lex_is(p, "spelling"))
                        loop_lex_next(p);
        if (loop_lex_accept(p, "error") && !(f->error = loop_lex_string(p, "an error bound")))
                return false;
        return !loop_lex_accept(p, "spelling") || (f->spelling = loop_lex_string(p, "a spelling"));
}

static struct loop_function *parse_instance(struct loop_parser *p)
{
        struct loop_function *f = loop_function_new(p->arena, FUNCTION_LIBRARY, "");
        loop_parse_function_start(p, f);
        if (!(f->name = loop_lex_word(p, "a function's name")))
                return NULL;
        if (!loop_name_is_good(f->name, p->kind)) {
                loop_lex_error(p, "'%s' cannot be a function's name", f->name);
                return NULL;
        }
        if (!parse_function_head(p, f) || !loop_parse_block(p, f->body))
                return NULL;
        if (loop_overload(p->overloads, f->name, strlen(f->name),
                          f->scalars[0]->type.element)) {
                loop_lex_error(p, "%s of %s is defined twice", f->name,
                               loop_type_text(p->arena, f->scalars[0]->type));
                return NULL;
        }
        loop_overload_add(p->overloads, f);
        return f;
}

/* Looks ahead for "where T in f32 f64". Returns the number of types, 0 without one. */
static int scan_where(struct loop_parser *p, enum element types[ELEMENT_COUNT])
{
        const struct loop_token token = p->token;
        const char *cursor = p->cursor;
        int count = 0;
        p->template_name = NULL;
        while (p->token.kind != TOKEN_END && !loop_lex_is(p, "{") && !loop_lex_is(p, "where"))
                loop_lex_next(p);
        if (loop_lex_accept(p, "where")) {
                const struct loop_token name = p->token;
                loop_lex_next(p);
                loop_lex_expect(p, "in");
                while (count < ELEMENT_COUNT && p->token.kind == TOKEN_WORD &&
                       element_from_text(p->token.start, p->token.length, &types[count])) {
                        count++;
                        loop_lex_next(p);
                }
                if (name.kind != TOKEN_WORD || !count)
                        loop_lex_error(p, "want 'where T in TYPES'");
                p->template_name = name.start;
                p->template_length = name.length;
        }
        if (p->failed)
                return 0;
        p->token = token;
        p->cursor = cursor;
        return count;
}

struct loop_function *loop_parse_functions(struct loop_parser *p)
{
        struct loop_function *first = NULL, **end = &first;
        while (!p->failed && p->token.kind != TOKEN_END) {
                enum element types[ELEMENT_COUNT];
                if (!loop_lex_expect(p, "function"))
                        break;
                int count = scan_where(p, types);
                const struct loop_token token = p->token;
                const char *cursor = p->cursor;
                for (int i = 0; !p->failed && i < (count ? count : 1); i++) {
                        p->token = token;
                        p->cursor = cursor;
                        if (count)
                                p->template_element = types[i];
                        if (!(*end = parse_instance(p)))
                                return NULL;
                        end = &(*end)->next;
                }
        }
        return p->failed ? NULL : first;
}
