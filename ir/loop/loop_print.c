/* SPDX-License-Identifier: MIT */
/* Prints statements and functions as Loop IR text. */
#include "ir/loop/loop_printer.h"
#include "ir/tensor/pixels.h"

#include <math.h>
#include <string.h>

#include "ir/loop/loop_grid.h"
#include "ir/loop/stream.h"
#include "ir/target/schedule.h"
#include "ir/tensor/tensor_text.h"

/* ---- statements ---- */

static const char *const for_suffix[] = { [FOR_SERIAL] = "",
                                          [FOR_UNROLL] = " unroll",
                                          [FOR_PARALLEL] = " parallel",
                                          [FOR_GPU_CLUSTER] = " gpu_cluster",
                                          [FOR_GPU_BLOCK] = " gpu_block",
                                          [FOR_GPU_WARP] = " gpu_warp",
                                          [FOR_GPU_LANE] = " gpu_lane",
                                          [FOR_COUNT] = " count",
                                          [FOR_LIST] = " list" };

static const char *fail_name(int code)
{
        switch (code) {
#define FAIL(name, value, doc) case value: return #name;
#include "ir/loop/fail_codes.def"
        }
        return "?";
}

static void print_indent(struct loop_printer *p, int depth)
{
        text_add(p->out, "%*s", 2 * depth, "");
}

static void print_registers(struct loop_printer *p, const char *word, struct tile_range r)
{
        if (r.count)
                text_add(p->out, " %s %d to %d", word, r.first, r.first + r.count);
}

static void print_typed_name(struct loop_printer *p, const char *word,
                             const struct loop_variable *v)
{
        text_add(p->out, "%s %%%s : ", word, v->name);
        print_type(p, v->type);
        if (v->rows)
                text_add(p->out, "[%d][%d]", v->rows, v->columns);
        if (v->warps)
                text_add(p->out, " warps %d", v->warps);
        if (v->base)
                text_add(p->out, " of %%%s", v->base->name);
        print_registers(p, "in", v->registers);
        if (v->schedule) {
                text_add(p->out, " schedule \"");
                schedule_print_words(p->out, v->schedule);
                text_add(p->out, "\"");
        }
}

static void print_range(struct loop_printer *p, const struct loop_stmt *s)
{
        print_expression(p, s->a, true);
        text_add(p->out, " to ");
        print_expression(p, s->b, true);
        if (s->step != 1)
                text_add(p->out, " step %lld", (long long)s->step);
}

static void print_for(struct loop_printer *p, const struct loop_stmt *s)
{
        text_add(p->out, "for %%%s = ", s->variable->name);
        print_range(p, s);
        text_add(p->out, "%s", for_suffix[s->for_kind]);
        if (s->barrier)
                text_add(p->out, "%s", s->barrier == BARRIER_WARP ? " syncwarp" : " nowait");
}

/* Prints "word %buffer[index]". */
static void print_access(struct loop_printer *p, const char *word, const struct loop_stmt *s)
{
        text_add(p->out, "%s %%%s[", word, s->buffer->name);
        print_expression(p, s->a, s->a->type.lanes == 1);
        text_add(p->out, "]");
}

static void print_store(struct loop_printer *p, const struct loop_stmt *s)
{
        print_access(p, "store", s);
        text_add(p->out, " = ");
        print_expression(p, s->b, s->b->type.lanes == 1);
        if (s->c) {
                text_add(p->out, " mask ");
                print_expression(p, s->c, true);
        }
        text_add(p->out, "%s", s->streaming ? " streaming" : "");
        if (s->vector)
                text_add(p->out, " vector %d", s->vector);
}

static void print_prefetch(struct loop_printer *p, const struct loop_stmt *s)
{
        print_access(p, "prefetch", s);
        text_add(p->out, " %d", s->code);
        if (s->step != 1)
                text_add(p->out, " of %lld", (long long)s->step);
}

static void print_launch(struct loop_printer *p, const struct loop_stmt *s)
{
        text_add(p->out, "launch @%s(", s->function->name);
        for (int i = 0; i < s->function->buffer_count; i++)
                text_add(p->out, "%s%%%s", i ? ", " : "", s->buffers[i]->name);
        text_add(p->out, "; ");
        for (int i = 0; i < loop_scalar_count(s); i++) {
                print_expression(p, s->scalars[i], true);
                text_add(p->out, ", ");
        }
        print_range(p, s);
        text_add(p->out, s->in_order ? ") in order" : ")");
}

static void print_call(struct loop_printer *p, const struct loop_stmt *s)
{
        text_add(p->out, "call @%s(", s->function->name);
        for (int i = 0; i < s->function->buffer_count; i++) {
                text_add(p->out, "%s@%s", i ? ", " : "", s->buffers[i]->name);
                if (s->offsets && s->offsets[i]) {
                        text_add(p->out, " + ");
                        print_expression(p, s->offsets[i], true);
                }
        }
        for (int i = 0; i < s->function->scalar_count; i++) {
                text_add(p->out, i ? ", " : "; ");
                print_expression(p, s->scalars[i], true);
        }
        text_add(p->out, ")");
        if (s->location)
                text_add(p->out, " node \"%s\"", s->location);
}

static void print_value(struct loop_printer *p, const struct loop_stmt *s)
{
        if (!s->a)
                return;
        text_add(p->out, " = ");
        print_expression(p, s->a, true);
}

static void print_set(struct loop_printer *p, const struct loop_stmt *s)
{
        text_add(p->out, "set %%%s", s->variable->name);
        if (s->variable->rows)
                text_add(p->out, "{%d, %d}", s->row, s->column);
        print_value(p, s);
}

static void print_alloc(struct loop_printer *p, const struct loop_buffer *b)
{
        static const char *const words[] = { "stack", "shared", "cluster", "lanes" };
        bool memory = b->space == SPACE_MEMORY;
        text_add(p->out, "alloc %%%s : %s[%lld] ", b->name, element_info[b->element].text,
                 (long long)b->extent);
        if (memory)
                text_add(p->out, "in %s", p->machine ? p->machine->memories[b->memory].name : "?");
        else
                text_add(p->out, "%s", words[b->space - SPACE_STACK]);
        for (int i = 0; i < b->place_count; i++)
                text_add(p->out, "%s%lld", i ? ", " : " at ", (long long)b->places[i]);
}

/* Prints the part of a tile's shape that follows the operands. */
static void print_tiles(struct loop_printer *p, const struct loop_stmt *s)
{
        const struct loop_tiles *t = &s->tiles;
        if (s->kind == STMT_TILES)
                text_add(p->out, "tiles %d by %d", t->positions, t->vectors);
        text_add(p->out, " rows %d", t->rows);
        if (s->kind == STMT_UNLOAD && t->positions < s->variable->rows)
                text_add(p->out, " from %d to %d", t->first, t->first + t->positions);
        if (s->kind == STMT_UNLOAD && t->columns)
                text_add(p->out, " columns %d to %d", t->column, t->column + t->columns);
        if (s->kind == STMT_UNLOAD && t->step)
                text_add(p->out, " step %lld", (long long)t->step);
        if (s->kind == STMT_TILES || s->kind == STMT_MULTIPLY)
                text_add(p->out, " depth %d", t->depth);
        if (s->kind == STMT_TILES)
                text_add(p->out, " lanes %d word %d", t->lanes, t->word);
        if (s->kind == STMT_MULTIPLY)
                text_add(p->out, " group %d", t->group);
        if (s->kind == STMT_MULTIPLY && s->buffer)
                text_add(p->out, " step %lld jump %lld", (long long)t->step, (long long)t->jump);
        if (s->kind == STMT_MULTIPLY && t->swizzle)
                text_add(p->out, " swizzle %d", t->swizzle);
        if (s->kind == STMT_MULTIPLY && t->warp_group)
                text_add(p->out, " warp_group");
        if (t->transposed)
                text_add(p->out, " transposed");
        if (t->prefetched)
                text_add(p->out, " prefetched");
        print_registers(p, "sums", t->sums);
        print_registers(p, "x", t->x);
        print_registers(p, "w", t->w);
}

static void print_multiply(struct loop_printer *p, const struct loop_stmt *s)
{
        text_add(p->out, "multiply %%%s += ", s->variable->name);
        if (s->buffer)
                text_add(p->out, "%%%s[", s->buffer->name);
        print_expression(p, s->a, true);
        text_add(p->out, "%s * %%%s[", s->buffer ? "]" : "", s->weights->name);
        print_expression(p, s->b, true);
        text_add(p->out, "] by %s", s->function->name);
        print_tiles(p, s);
}

static void print_unload(struct loop_printer *p, const struct loop_stmt *s)
{
        print_access(p, "unload", s);
        text_add(p->out, " = %%%s", s->variable->name);
        print_tiles(p, s);
}

static void print_scale(struct loop_printer *p, const struct loop_stmt *s)
{
        text_add(p->out, "scale %%%s by %%%s[", s->variable->name, s->buffer->name);
        print_expression(p, s->a, true);
        text_add(p->out, "]");
        print_tiles(p, s);
}

static void print_own(struct loop_printer *p, const struct loop_stmt *s)
{
        const char *own = s->buffer->name, *sums = s->variable->name;
        const bool takes = s->kind == STMT_TAKE;
        text_add(p->out, "%s %%%s = %%%s lane ", takes ? "take" : "give", takes ? own : sums,
                 takes ? sums : own);
        print_expression(p, s->a, true);
        print_tiles(p, s);
}

/* Prints "copy %to[places] = %from[places] of N mask m". */
static void print_copy(struct loop_printer *p, const struct loop_stmt *s)
{
        print_access(p, "copy", s);
        text_add(p->out, " = %%%s[", s->source->name);
        print_expression(p, s->b, false);
        text_add(p->out, "] of %d", s->code);
        if (s->c) {
                text_add(p->out, " mask ");
                print_expression(p, s->c, true);
        }
}

static const char *stage_name(const struct loop_printer *p, int stage)
{
        return p->machine && stage >= 0 && stage < p->machine->stage_count
                       ? p->machine->stages[stage]
                       : "?";
}

/* Prints " word a". */
static void print_count(struct loop_printer *p, const char *word, const struct loop_expr *count)
{
        text_add(p->out, " %s ", word);
        print_expression(p, count, true);
}

static void print_transfer(struct loop_printer *p, const struct loop_transfer *t)
{
        print_count(p, "rows", t->rows);
        print_count(p, "by", t->columns);
        text_add(p->out, " step %lld", (long long)t->step);
        if (!t->pad[0] && !t->pad[1] && !t->pad[2] && !t->pad[3])
                return;
        for (int i = 0; i < 4; i++) {
                text_add(p->out, i ? ", " : " pad ");
                if (t->pad[i])
                        print_expression(p, t->pad[i], true);
                else
                        text_add(p->out, "0");
        }
}

static void print_place(struct loop_printer *p, const char *before, const struct loop_buffer *b,
                        const struct loop_expr *at)
{
        text_add(p->out, "%s%%%s[", before, b->name);
        print_expression(p, at, true);
        text_add(p->out, "]");
}

static void print_image(struct loop_printer *p, const struct loop_stmt *s)
{
        print_place(p, "image ", s->buffer, s->a);
        print_place(p, " = ", s->source, s->b);
        text_add(p->out, " of ");
        print_expression(p, s->c, true);
        text_add(p->out, " as %s %d x %d", pixels_info[s->code].name, s->row, s->column);
}

static void print_activation(struct loop_printer *p, const struct loop_activation *a)
{
        if (a->add)
                text_add(p->out, " add %lld", (long long)a->add);
        if (a->lanes)
                text_add(p->out, " shr lanes");
        else if (a->shift)
                text_add(p->out, " shr %lld", (long long)a->shift);
        text_add(p->out, " within %lld, %lld", (long long)a->low, (long long)a->high);
}

/* Prints transfer, reset, product, apply or activate. */
static void print_step(struct loop_printer *p, const struct loop_stmt *s)
{
        static const char *const words[] = { "transfer", "reset", "product", "apply", "activate" };
        const bool sets = s->kind == STMT_TRANSFER || s->kind == STMT_ACTIVATE || s->code;
        print_access(p, words[s->kind - STMT_TRANSFER], s);
        if (s->kind == STMT_APPLY)
                text_add(p->out, " %s ", loop_apply_word(s->code));
        if (s->kind == STMT_TRANSFER || s->kind == STMT_PRODUCT || s->kind == STMT_ACTIVATE)
                text_add(p->out, sets ? " = " : " += ");
        if (s->source)
                print_place(p, "", s->source, s->b);
        else if (s->b)
                print_expression(p, s->b, true);
        if (s->weights)
                print_place(p, s->kind == STMT_ACTIVATE ? " by " : " * ", s->weights, s->c);
        if (s->activation)
                print_activation(p, s->activation);
        if (s->transfer)
                print_transfer(p, s->transfer);
}

static void print_condition(struct loop_printer *p, const char *word,
                            const struct loop_expr *condition)
{
        text_add(p->out, "%s ", word);
        print_expression(p, condition, true);
}

static void print_head(struct loop_printer *p, const struct loop_stmt *s)
{
        switch (s->kind) {
        case STMT_FOR: print_for(p, s); break;
        case STMT_WHILE: print_condition(p, "while", s->a); break;
        case STMT_IF: print_condition(p, s->likely ? "if likely" : "if", s->a); break;
        case STMT_LET: print_typed_name(p, "let", s->variable); print_value(p, s); break;
        case STMT_VAR: print_typed_name(p, "var", s->variable); print_value(p, s); break;
        case STMT_SET: print_set(p, s); break;
        case STMT_STORE: print_store(p, s); break;
        case STMT_CALL: print_call(p, s); break;
        case STMT_LAUNCH: print_launch(p, s); break;
        case STMT_FAIL: text_add(p->out, "fail %s", fail_name(s->code)); break;
        case STMT_IMAGE: print_image(p, s); break;
        case STMT_RETURN: print_condition(p, "return", s->a); break;
        case STMT_ALLOC: print_alloc(p, s->buffer); break;
        case STMT_PREFETCH: print_prefetch(p, s); break;
        case STMT_KEEP: text_add(p->out, "keep %%%s", s->variable->name); break;
        case STMT_TILES: print_tiles(p, s); break;
        case STMT_MULTIPLY: print_multiply(p, s); break;
        case STMT_UNLOAD: print_unload(p, s); break;
        case STMT_SCALE: print_scale(p, s); break;
        case STMT_TAKE: case STMT_GIVE: print_own(p, s); break;
        case STMT_COPY: print_copy(p, s); break;
        case STMT_COMMIT: text_add(p->out, "commit"); break;
        case STMT_WAIT: text_add(p->out, "wait %d", s->code); break;
        case STMT_SETTLE: text_add(p->out, "settle %d", s->code); break;
        case STMT_LAUNCH_WAIT: text_add(p->out, "launch_wait"); break;
        case STMT_LAUNCH_DEPENDENTS: text_add(p->out, "launch_dependents"); break;
        case STMT_TRANSFER:
        case STMT_RESET:
        case STMT_PRODUCT:
        case STMT_APPLY:
        case STMT_ACTIVATE: print_step(p, s); break;
        case STMT_AWAIT:
                text_add(p->out, "await %s %lld in %s", stage_name(p, s->queue.from),
                         (long long)s->step, stage_name(p, s->queue.to));
                break;
        case STMT_PUSH: case STMT_POP:
                text_add(p->out, "%s %s to %s", s->kind == STMT_PUSH ? "push" : "pop",
                         stage_name(p, s->queue.from), stage_name(p, s->queue.to));
                break;
        }
}

static void print_block(struct loop_printer *p, const struct loop_block *block, int depth)
{
        for (const struct loop_stmt *s = block->first; s; s = s->next) {
                print_indent(p, depth);
                print_head(p, s);
                if (s->kind == STMT_FOR || s->kind == STMT_WHILE || s->kind == STMT_IF) {
                        text_add(p->out, " {\n");
                        print_block(p, s->body, depth + 1);
                        print_indent(p, depth);
                        text_add(p->out, "}");
                }
                if (s->other) {
                        text_add(p->out, " else {\n");
                        print_block(p, s->other, depth + 1);
                        print_indent(p, depth);
                        text_add(p->out, "}");
                }
                text_add(p->out, "\n");
        }
}

void loop_print_head(struct text *out, const struct loop_function *f, const struct loop_stmt *s)
{
        struct loop_printer p = { .out = out, .machine = f ? f->machine : NULL };
        print_head(&p, s);
        arena_free(p.numbers);
}

/* ---- functions ---- */

static void print_number_of(struct loop_printer *p, const char *word, double number)
{
        if (number == floor(number) && fabs(number) < 1e15)
                text_add(p->out, " %s %.0f", word, number);
        else
                text_add(p->out, " %s %.17g", word, number);
}

/* Prints "; "conv1" convolve <...>" behind the brace; the parser reads it back. */
static void print_remark(struct loop_printer *p, const struct loop_function *f)
{
        bool location = f->location && *f->location, summary = f->summary && *f->summary;
        text_add(p->out, location || summary ? "        ;" : "");
        if (location)
                text_add(p->out, " \"%s\"", f->location);
        if (summary)
                text_add(p->out, " %s", f->summary);
}

void print_bounds(struct loop_printer *p, const struct loop_variable *v)
{
        if (v->high)
                text_add(p->out, " in [%lld, %lld]", (long long)v->low, (long long)v->high);
}

static void print_kernel_head(struct loop_printer *p, const struct loop_function *f)
{
        static const char *const access[] = {
                [ACCESS_IN] = "in", [ACCESS_OUT] = "out", [ACCESS_INOUT] = "inout"
        };
        text_add(p->out, "%s @%s(",
                 f->kind == FUNCTION_TASK ? "task"
                 : f->machine             ? "stream"
                                          : "kernel",
                 f->name);
        for (int i = 0; i < f->buffer_count; i++) {
                const struct loop_buffer *b = f->buffers[i];
                text_add(p->out, "%s%%%s: %s %s[%lld]", i ? ", " : "", b->name, access[b->access],
                         element_info[b->element].text, (long long)b->extent);
                if (b->alias_class)
                        text_add(p->out, " class %d", b->alias_class);
        }
        for (int i = 0; i < f->scalar_count; i++) {
                text_add(p->out, "%s%%%s: ", i || f->buffer_count ? ", " : "",
                         f->scalars[i]->name);
                print_type(p, f->scalars[i]->type);
                print_bounds(p, f->scalars[i]);
        }
        text_add(p->out, ")");
        if (f->machine)
                text_add(p->out, " on %s", f->machine->name);
        if (f->external) {
                text_add(p->out, " external %s(", f->external);
                for (int i = 0; i < f->external_count; i++)
                        text_add(p->out, "%s%lld", i ? ", " : "",
                                 (long long)f->external_extents[i]);
                text_add(p->out, ")");
        }
        if (f->flops > 0)
                print_number_of(p, "flops", f->flops);
        if (f->again > 0)
                print_number_of(p, "again", f->again);
        text_add(p->out, " {");
        print_remark(p, f);
}

static void print_library_head(struct loop_printer *p, const struct loop_function *f)
{
        text_add(p->out, "function %s(", f->name);
        for (int i = 0; i < f->scalar_count; i++) {
                text_add(p->out, "%s%%%s: ", i ? ", " : "", f->scalars[i]->name);
                print_type(p, f->scalars[i]->type);
        }
        text_add(p->out, ") -> ");
        print_type(p, f->result);
        if (f->error) {
                text_add(p->out, " error ");
                quoted_print(p->out, f->error);
        }
        if (f->spelling) {
                text_add(p->out, " spelling ");
                quoted_print(p->out, f->spelling);
        }
        text_add(p->out, " {");
}

void print_function(struct loop_printer *p, const struct loop_function *f)
{
        p->fallback = (struct loop_type){ 0 };
        p->machine = f->machine;
        if (f->kind == FUNCTION_LIBRARY) {
                print_library_head(p, f);
                p->fallback = loop_fallback(f);
        } else if (f->kind == FUNCTION_MAIN)
                text_add(p->out, p->entry ? "main @%s {" : "main {",
                         p->entry ? p->entry->name : "");
        else
                print_kernel_head(p, f);
        text_add(p->out, "\n");
        print_block(p, f->body, 1);
        text_add(p->out, "}\n");
        p->fallback = (struct loop_type){ 0 };
}

void loop_print_function(struct text *out, const struct loop_function *f)
{
        struct loop_printer p = { .out = out };
        print_function(&p, f);
        arena_free(p.numbers);
}
