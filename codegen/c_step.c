/* SPDX-License-Identifier: MIT */
/* Prints a run in steps (ir/loop/loop_record.h): main becomes places, of which the record says one.
 *
 *     static int advance(void *workspace, const int8_t *x, int8_t *y)
 *     {
 *             ...
 *             while (record[2] != 3 && record[3] > 0) {
 *                     switch (record[2]) {
 *                     case 1:                 a kernel that can stop says in record[4] that it did
 *                             conv1(x, w, t, words);
 *                             record[2] = record[4] != 0 ? 1 : 2;
 *                             break;
 *                     default:
 *                             relu(t, y);
 *                             record[3] -= 4096;
 *                             record[2] = 3;
 *                             break;
 *                     }
 *             }
 *             return record[2] != 3;
 *     }
 *
 * begin clears the record, step looks whether it is this build's, says how much work there is, and
 * advances; run does both, with no limit to speak of. Variables of main are words of the record. */
#include "codegen/c_writer.h"

#include <string.h>

#include "cost/code.h"
#include "ir/loop/loop_record.h"

enum { RUN_WORK = 1 << 30 };            /* run advances by so much at a time. */

bool c_step_any(const struct c_writer *w) { return w->p->entries[0].record != NULL; }

static const struct loop_entry *entry_of(const struct c_writer *w)
{
        return &w->p->entries[w->entry];
}

static const char *word(struct c_writer *w, int number)
{
        return arena_printf(w->arena, "%s[%d]", c_use(w, entry_of(w)->record), number);
}

static int word_of(struct c_writer *w, const struct loop_variable *v)
{
        const int first = (int)entry_of(w)->record->extent -
                          record_main_words(w->p, entry_of(w));
        return first + record_main_word(w->p, entry_of(w), v);
}

/* ---- main as places ---- */

enum place_kind {
        PLACE_STATEMENT,
        PLACE_IF,                       /* It goes to `next` where the condition is true, else to
                                         * `other`. */
        PLACE_FOR_BEGIN,
        PLACE_FOR_TEST,
        PLACE_FOR_NEXT
};
/* A label is a place that something goes to before its number is known. */
struct label { int place; };
struct place {
        enum place_kind kind;
        const struct loop_stmt *s;
        struct label *next, *other;
};
struct places { struct c_writer *w; struct place *list; int count; };

static struct label *new_label(struct places *p) { return ARENA_NEW(p->w->arena, struct label); }

static void add_place(struct places *p, enum place_kind kind, const struct loop_stmt *s,
                      struct label *self, struct label *next, struct label *other)
{
        ARENA_GROW(p->w->arena, p->list, p->count);
        self->place = p->count;
        p->list[p->count++] = (struct place){ kind, s, next, other };
}

static void add_block(struct places *p, const struct loop_block *block, struct label *first,
                      struct label *end);

static void add_loop(struct places *p, const struct loop_stmt *s, struct label *self,
                     struct label *end)
{
        struct label *test = new_label(p), *body = new_label(p), *next = new_label(p);
        add_place(p, PLACE_FOR_BEGIN, s, self, test, NULL);
        add_place(p, PLACE_FOR_TEST, s, test, body, end);
        add_block(p, s->body, body, next);
        add_place(p, PLACE_FOR_NEXT, s, next, test, NULL);
}

static void add_statement(struct places *p, const struct loop_stmt *s, struct label *self,
                          struct label *end)
{
        struct label *body = new_label(p), *other = new_label(p);
        switch (s->kind) {
        case STMT_FOR: add_loop(p, s, self, end); break;
        case STMT_WHILE:
                add_place(p, PLACE_IF, s, self, body, end);
                add_block(p, s->body, body, self);
                break;
        case STMT_IF:
                add_place(p, PLACE_IF, s, self, body, s->other ? other : end);
                add_block(p, s->body, body, end);
                if (s->other)
                        add_block(p, s->other, other, end);
                break;
        default: add_place(p, PLACE_STATEMENT, s, self, end, NULL);
        }
}

/* Adds the places of a block, of which `first` is the first, and behind which is `end`. */
static void add_block(struct places *p, const struct loop_block *block, struct label *first,
                      struct label *end)
{
        struct label *self = first;
        for (const struct loop_stmt *s = block->first; s; s = s->next) {
                struct label *behind = s->next ? new_label(p) : end;
                add_statement(p, s, self, behind);
                self = behind;
        }
        if (!block->first)              /* What goes here goes on behind it. */
                add_place(p, PLACE_STATEMENT, NULL, first, end, NULL);
}

/* ---- places in C ---- */

/* Numbers of places count from 1, because begin does the first one, which is no case. */
static void put_next(struct c_writer *w, const struct label *next)
{
        c_line(w, "%s = %d;", word(w, RECORD_AT), next->place);
}

static void put_choice(struct c_writer *w, const struct place *at)
{
        c_line(w, ") ? %d : %d;", at->next->place, at->other->place);
}

static void put_condition(struct c_writer *w, const struct place *at)
{
        c_put(w, "%s = (", word(w, RECORD_AT));
        c_expression(w, at->s->a);
        put_choice(w, at);
}

static void put_word(struct c_writer *w, int number, const struct loop_expr *value)
{
        c_put(w, "%s = ", word(w, number));
        if (value) {
                c_put(w, "(int64_t)(");
                c_expression(w, value);
        }
        c_put(w, value ? ");" : "0;");
        c_end(w);
}

static void put_call(struct c_writer *w, const struct place *at)
{
        c_statement(w, at->s);
        if (record_is_passed(entry_of(w), at->s)) {
                c_line(w, "if (%s == 0) {", word(w, RECORD_KERNEL + CELL_MORE));
                c_line(w, "        %s = %d;", word(w, RECORD_AT), at->next->place);
                c_line(w, "}");
                return;
        }
        c_line(w, "%s -= %.0f;", word(w, RECORD_KERNEL + CELL_LEFT),
               cost_of_kernel_work(at->s->function));
        put_next(w, at->next);
}

static void put_statement(struct c_writer *w, const struct place *at)
{
        const struct loop_stmt *s = at->s;
        if (s && s->kind == STMT_CALL) {
                put_call(w, at);
                return;
        }
        if (s && (s->kind == STMT_LET || s->kind == STMT_VAR || s->kind == STMT_SET))
                put_word(w, word_of(w, s->variable), s->a);
        else if (s)
                c_statement(w, s);
        if (!s || s->kind != STMT_FAIL)
                put_next(w, at->next);
}

static void put_place(struct c_writer *w, const struct place *at)
{
        const struct loop_stmt *s = at->s;
        switch (at->kind) {
        case PLACE_IF: put_condition(w, at); break;
        case PLACE_FOR_BEGIN:
                put_word(w, word_of(w, s->variable), s->a);
                put_word(w, word_of(w, s->variable) + 1, s->b);
                put_next(w, at->next);
                break;
        case PLACE_FOR_TEST:
                c_put(w, "%s = (%s <" C_SOFT "%s", word(w, RECORD_AT),
                      word(w, word_of(w, s->variable)), word(w, word_of(w, s->variable) + 1));
                put_choice(w, at);
                break;
        case PLACE_FOR_NEXT:
                c_line(w, "%s += %lld;", word(w, word_of(w, s->variable)), (long long)s->step);
                put_next(w, at->next);
                break;
        default: put_statement(w, at);
        }
}

static void name_variable(struct c_writer *w, const struct loop_variable *v)
{
        c_name_set(w, v, arena_printf(w->arena, "((%s)%s)", c_type(v->type.element),
                                      word(w, word_of(w, v))));
}

static void name_declared(struct loop_stmt *s, void *w)
{
        if (s->kind == STMT_LET || s->kind == STMT_VAR || s->kind == STMT_FOR)
                name_variable(w, s->variable);
}

void c_step_main(struct c_writer *w)
{
        struct places p = { .w = w };
        const struct loop_block *main_body = entry_of(w)->main->body;
        struct label *end = new_label(&p);
        for (int i = 0; i < w->p->extent_count; i++)
                if (w->p->extents[i].counted)
                        name_variable(w, w->p->extents[i].variable);
        loop_block_walk(entry_of(w)->main->body, name_declared, NULL, w);
        add_block(&p, main_body, new_label(&p), end);
        end->place = p.count;
        const char *at = word(w, RECORD_AT);
        w->indent++;
        c_put(w, "while (%s != %d &&" C_SOFT "%s > 0) {", at, p.count,
              word(w, RECORD_KERNEL + CELL_LEFT));
        c_end(w);
        w->indent++;
        c_line(w, "switch (%s) {", at);
        for (int i = 1; i < p.count; i++) {
                c_line(w, i + 1 < p.count ? "case %d:" : "default:", i);
                w->indent++;
                put_place(w, &p.list[i]);
                c_line(w, "break;");
                w->indent--;
        }
        if (p.count < 2) {
                c_line(w, "default:");
                c_line(w, "        break;");
        }
        c_line(w, "}");
        w->indent--;
        c_line(w, "}");
        c_line(w, "if (%s != %d) {", at, p.count);
        c_line(w, "        return 1;");
        c_line(w, "}");
        w->indent--;
}

/* ---- functions ---- */

/* What belongs to the file is named once. */
void c_step_reserve(struct c_writer *w)
{
        if (!c_step_any(w))
                return;
        for (int e = 0; e < w->p->entry_count; e++) {
                c_entry(w, e);
                c_reserve(w, arena_printf(w->arena, "%s_begin", w->prefix));
                c_reserve(w, arena_printf(w->arena, "%s_step", w->prefix));
        }
        c_entry(w, 0);
        c_reserve(w, "STEP_MARK");
        c_reserve(w, "step_sum");
        c_reserve(w, "step_word");
        c_reserve(w, c_macro(w, "STEP_WORK"));
        c_reserve(w, c_macro(w, "STEP_MOST"));
}

void c_step_top(struct c_writer *w, const char *build, struct text *out)
{
        if (c_step_any(w))
                text_add(out,
                         "\n/* A record of steps begins with this number, which is of this build "
                         "alone. */\n#define STEP_MARK INT64_C(0x%.14s1)\n",
                         strrchr(build, '_') + 1);
}

void c_step_helpers(struct c_writer *w, struct text *out)
{
        if (!c_step_any(w) || w->options->unchecked)
                return;
        const char *type = c_memory_type(w, E_I64);
        text_add(out,
                 "\n/* A sum over the words of a record, in which each one counts, and its place. "
                 "*/\n"
                 "static uint32_t step_word(uint32_t sum, int64_t number)\n"
                 "{\n"
                 "        const uint64_t bits = (uint64_t)number;\n"
                 "        const uint32_t low = ((sum << 5 | sum >> 27) ^ (uint32_t)bits) * "
                 "2654435769u;\n"
                 "        return ((low << 5 | low >> 27) ^ (uint32_t)(bits >> 32)) * "
                 "2654435769u;\n"
                 "}\n"
                 "\n"
                 "static uint32_t step_sum(const %s *record, int words)\n"
                 "{\n"
                 "        uint32_t sum = step_word(0u, record[%d]);\n"
                 "        for (int i = %d; i < words; i++) {\n"
                 "                sum = step_word(sum, record[i]);\n"
                 "        }\n"
                 "        return sum;\n"
                 "}\n",
                 type, RECORD_MARK, RECORD_AT);
}

/* Declares the record in a function that has no other variables of main. */
static void put_record(struct c_writer *w)
{
        const struct loop_buffer *b = entry_of(w)->record;
        const char *type = c_memory_type(w, E_I64);
        c_put(w, "%s *const %s = (%s *)(void *)", type, c_name(w, b)->text, type);
        if (b->offset)
                c_line(w, "((unsigned char *)workspace + %lld);", (long long)b->offset);
        else
                c_line(w, "workspace;");
}

/* Appends the sum of the record and of the extents that a run gives. */
static void put_sum(struct c_writer *w)
{
        const struct loop_buffer *b = entry_of(w)->record;
        for (int i = 0; i < w->p->extent_count; i++)
                if (c_takes_extent(w, i))
                        c_put(w, "step_word(");
        c_put(w, "step_sum(%s," C_SOFT "%d)", c_name(w, b)->text, (int)b->extent);
        for (int i = 0; i < w->p->extent_count; i++)
                if (c_takes_extent(w, i))
                        c_put(w, "," C_SOFT "%s)", w->p->extents[i].variable->name);
}

static const char *mark(struct c_writer *w)
{
        return w->entry ? arena_printf(w->arena, "STEP_MARK + %d", w->entry) : "STEP_MARK";
}

static void put_seal(struct c_writer *w)
{
        if (w->options->unchecked)
                return;
        c_put(w, "%s = (int64_t)", word(w, RECORD_CHECK));
        put_sum(w);
        c_put(w, ";");
        c_end(w);
}

static void open_function(struct c_writer *w, const char *head)
{
        c_line(w, "%s", "");
        c_run_open(w, head);
}

/* Says of parameters that only steps need that they are used. */
static void put_unused(struct c_writer *w)
{
        const bool unchecked = w->options->unchecked;
        for (int i = 0; i < w->input_count + w->output_count; i++) {
                const struct loop_buffer *b =
                        i < w->input_count ? w->inputs[i] : w->outputs[i - w->input_count];
                if (unchecked || !b->extent)
                        c_line(w, "(void)%s;", c_name(w, b)->text);
        }
        for (int i = 0; i < w->p->region_count; i++)
                if (unchecked || !w->areas[i].size)
                        c_line(w, "(void)%s;", w->regions[i]);
        for (int i = 0; i < w->p->extent_count && unchecked; i++)
                if (c_takes_extent(w, i) || c_tells_extent(w, i))
                        c_line(w, "(void)%s;", w->p->extents[i].variable->name);
        if (unchecked && w->options->weights == PRINT_WEIGHTS_FILE)
                c_line(w, "(void)weights;");
}

static void put_begin(struct c_writer *w)
{
        const struct loop_stmt *clear = entry_of(w)->main->body->first;
        open_function(w, arena_printf(w->arena, "int %s_begin(", w->prefix));
        c_run_checks(w);
        if (!w->options->unchecked)
                c_weights_pointer(w, true);
        c_weights_check(w);
        c_length_check(w);
        c_tiles_enable(w);
        put_unused(w);
        put_record(w);
        if (c_hooks_any(w))
                c_hook(w, "AFTER", -1);
        c_statement(w, clear);
        c_line(w, "%s = 1;", word(w, RECORD_AT));
        for (int i = 0; i < w->p->extent_count; i++)
                if (w->p->extents[i].counted)
                        c_line(w, "%s = %lld;", word(w, word_of(w, w->p->extents[i].variable)),
                               (long long)w->p->extents[i].variable->low);
        c_line(w, "%s = %s;", word(w, RECORD_MARK), mark(w));
        put_seal(w);
        c_line(w, "return 0;");
        c_run_close(w);
}

static void put_advance_call(struct c_writer *w, const char *advance, const char *before)
{
        c_put(w, "%s%s(", before, advance);
        c_run_arguments(w);
        c_put(w, ");");
        c_end(w);
}

static void put_record_check(struct c_writer *w)
{
        if (w->options->unchecked)
                return;
        c_put(w, "if (%s != %s ||" C_SOFT "%s !=" C_SOFT "(int64_t)", word(w, RECORD_MARK),
              mark(w), word(w, RECORD_CHECK));
        put_sum(w);
        c_put(w, ") {");
        c_end(w);
        c_line(w, "        return %s;", c_macro(w, "ERROR_STATE"));
        c_line(w, "}");
}

static void put_step(struct c_writer *w, const char *advance)
{
        open_function(w, arena_printf(w->arena, "int %s_step(", w->prefix));
        c_run_check_arguments(w);
        put_record(w);
        put_record_check(w);
        if (!w->options->unchecked)
                c_weights_pointer(w, true);
        c_weights_check(w);
        c_state_check(w);
        c_line(w, "%s = %lld;", word(w, RECORD_KERNEL + CELL_LEFT), (long long)entry_of(w)->step);
        put_advance_call(w, advance, "const int more = ");
        if (!w->options->unchecked) {
                c_line(w, "if (more > 0) {");
                w->indent++;
                put_seal(w);
                w->indent--;
                c_line(w, "} else {");
                c_line(w, "        %s = 0;", word(w, RECORD_MARK));
                c_line(w, "}");
        }
        c_line(w, "return more;");
        c_run_close(w);
}

static void put_run(struct c_writer *w, const char *advance)
{
        open_function(w, arena_printf(w->arena, "int %s_run(", w->prefix));
        put_advance_call(w, arena_printf(w->arena, "%s_begin", w->prefix), "int more = ");
        c_line(w, "if (more == 0) {");
        w->indent++;
        put_record(w);
        c_line(w, "do {");
        w->indent++;
        c_line(w, "%s = %d;", word(w, RECORD_KERNEL + CELL_LEFT), RUN_WORK);
        put_advance_call(w, advance, "more = ");
        w->indent--;
        c_line(w, "} while (more > 0);");
        c_line(w, "%s = 0;", word(w, RECORD_MARK));
        w->indent--;
        c_line(w, "}");
        c_line(w, "return more;");
        c_run_close(w);
}

void c_step(struct c_writer *w, struct text *out)
{
        const char *advance = c_global(w, "advance");
        c_run_inner(w, out, arena_printf(w->arena, "static int %s(", advance));
        w->out = out;
        put_begin(w);
        put_step(w, advance);
        put_run(w, advance);
}

/* ---- the header ---- */

void c_step_header(struct c_writer *w)
{
        if (!c_step_any(w))
                return;
        text_add(w->out,
                 "\n/* The same, step by step: begin, then step with the same arguments until it "
                 "returns 0. It returns 1 where\n"
                 " * there is more to do, and an error of run ends it: ERROR_STATE where the "
                 "workspace has no record of steps\n"
                 " * of this build, or a damaged one; then nothing has been written. From begin "
                 "to the last step workspace,\n"
                 " * inputs and results are the run's; results are complete behind it. A step is "
                 "about as much work as so\n"
                 " * many products, and may go on for as much as the other number before it can "
                 "stop. */\n");
        c_line(w, "#define %s %lldu", c_macro(w, "STEP_WORK"), (long long)w->p->entries[0].step);
        c_line(w, "#define %s %lldu", c_macro(w, "STEP_MOST"),
               (long long)w->p->entries[0].step_most);
        for (int e = 0; e < w->p->entry_count; e++) {
                static const char *const names[] = { "begin", "step" };
                c_entry(w, e);
                for (int i = 0; i < 2; i++) {
                        c_run_prototype(w, arena_printf(w->arena, "int %s_%s(", w->prefix,
                                                        names[i]));
                        c_put(w, ";");
                        c_end(w);
                }
        }
        c_entry(w, 0);
}
