/* SPDX-License-Identifier: MIT */
/* Prints the run function: checks, pointers into the workspace, main. With several targets the
 * latter two are a function for each target. */
#include "codegen/c_machine.h"
#include "ir/loop/loop_bounds.h"

#include <string.h>

const char *c_port_type(const struct loop_buffer *b)
{
        if (b->is_text)
                return b->space == SPACE_INPUT ? "char *const" : "char";
        return element_info[b->element].c_type;
}

bool c_run_is_split(const struct c_writer *w)
{
        return w->level_count > 1 || w->options->flush_denormals;
}

/* Is main in a function that checks nothing? */
static bool is_inner(const struct c_writer *w) { return c_run_is_split(w) || c_step_any(w); }

void c_run_prototype(struct c_writer *w, const char *head)
{
        c_put(w, "%svoid *workspace", head);
        for (int i = 0; i < w->p->region_count; i++)
                c_put(w, "," C_SOFT "void *%s", w->regions[i]);
        if (w->options->weights == PRINT_WEIGHTS_FILE || w->dialect->is_device)
                c_put(w, "," C_SOFT "const void *weights");
        if (w->machine)
                c_put(w, "," C_SOFT "void *program");
        if (c_state_any(w))
                c_put(w, "," C_SOFT "%s", c_state_parameter(w));
        for (int i = 0; i < w->p->extent_count; i++)
                if (c_passes_extent(w, i))
                        c_put(w, "," C_SOFT "int64_t *%s", w->p->extents[i].variable->name);
        for (int i = 0; i < w->input_count; i++)
                c_put(w, "," C_SOFT "const %s *%s", c_port_type(w->inputs[i]),
                      c_name(w, w->inputs[i])->text);
        for (int i = 0; i < w->p->extent_count; i++)
                if (c_takes_extent(w, i))
                        c_put(w, "," C_SOFT "int64_t %s", w->p->extents[i].variable->name);
        for (int i = 0; i < w->output_count; i++)
                c_put(w, "," C_SOFT "%s *%s", c_port_type(w->outputs[i]),
                      c_name(w, w->outputs[i])->text);
        for (int i = 0; i < w->p->extent_count; i++)
                if (c_tells_extent(w, i))
                        c_put(w, "," C_SOFT "int64_t *%s", w->p->extents[i].variable->name);
        c_put(w, w->dialect->is_device ? "," C_SOFT "void *stream)"
                 : w->machine          ? "," C_SOFT "void *device)"
                                       : ")");
}

void c_run_prototypes(struct c_writer *w)
{
        for (int e = 0; e < w->p->entry_count; e++) {
                c_entry(w, e);
                c_run_prototype(w, arena_printf(w->arena, "int %s_run(", w->prefix));
                c_put(w, ";");
                c_end(w);
        }
        c_entry(w, 0);
}

static struct loop_buffer *port(struct c_writer *w, int i)
{
        return i < w->input_count ? w->inputs[i] : w->outputs[i - w->input_count];
}

/* Prints the names of the extents that are parameters, or those that are results. */
static void put_extent_names(struct c_writer *w, bool results)
{
        for (int i = 0; i < w->p->extent_count; i++)
                if (results ? c_tells_extent(w, i) : c_takes_extent(w, i))
                        c_put(w, "," C_SOFT "%s", w->p->extents[i].variable->name);
}

void c_run_arguments(struct c_writer *w)
{
        c_put(w, "workspace");
        for (int i = 0; i < w->p->region_count; i++)
                c_put(w, "," C_SOFT "%s", w->regions[i]);
        if (w->options->weights == PRINT_WEIGHTS_FILE || w->dialect->is_device)
                c_put(w, "," C_SOFT "weights");
        if (c_state_any(w))
                c_put(w, "," C_SOFT "state");
        for (int i = 0; i < w->p->extent_count; i++)
                if (c_passes_extent(w, i))
                        c_put(w, "," C_SOFT "%s", w->p->extents[i].variable->name);
        for (int i = 0; i < w->input_count + w->output_count; i++) {
                if (i == w->input_count)
                        put_extent_names(w, false);
                c_put(w, "," C_SOFT "%s", c_name(w, port(w, i))->text);
        }
        if (!w->output_count)
                put_extent_names(w, false);
        put_extent_names(w, true);
        if (w->dialect->is_device)
                c_put(w, "," C_SOFT "stream");
}

/* ---- checks ---- */

static void put_check(struct c_writer *w, const char *error)
{
        c_put(w, ") {");
        c_end(w);
        w->indent++;
        c_line(w, "return %s;", c_macro(w, error));
        w->indent--;
        c_line(w, "}");
}

/* Does e depend on an extent that the run counts? */
static bool is_counted(const struct c_writer *w, const struct loop_expr *e)
{
        const int extent = e->op == LOOP_VARIABLE ? loop_extent_number(w->p, e->variable) : -1;
        bool counted = extent >= 0 && w->p->extents[extent].counted;
        for (int i = 0; i < e->arity; i++)
                counted |= is_counted(w, e->args[i]);
        return counted;
}

/* Opens a condition that the extents of a run which may be 0 are not, where a port has some;
 * returns whether it has. */
static bool put_is_not_empty(struct c_writer *w, const struct loop_buffer *b)
{
        bool any = false;
        for (int d = 0; b->extents && d < b->type->rank; d++) {
                const struct loop_expr *e = b->extents[d];
                if (loop_bounds_of(NULL, e).low > 0 || is_counted(w, e))
                        continue;
                c_put(w, "%s", any ? "" : "(");
                c_operand(w, e, C_SUM);
                c_put(w, " > 0 &&" C_SOFT);
                any = true;
        }
        return any;
}

/* While arguments are checked, extents have the names of parameters. */
static void name_extents(struct c_writer *w, struct c_name *kept, bool as_parameters)
{
        for (int i = 0; i < w->p->extent_count; i++) {
                struct c_name *name = c_name(w, w->p->extents[i].variable);
                if (as_parameters)
                        kept[i] = *name;
                *name = kept[i];
                if (as_parameters)
                        name->text = w->p->extents[i].variable->name;
        }
}

static void put_null_check(struct c_writer *w)
{
        bool any = false;
        if (w->workspace_size > 0) {
                c_put(w, "if (!workspace");
                any = true;
        }
        for (int i = 0; i < w->p->region_count; i++) {
                if (!w->areas[i].size)
                        continue;
                c_put(w, "%s!%s", any ? " ||" C_SOFT : "if (", w->regions[i]);
                any = true;
        }
        if (w->options->weights == PRINT_WEIGHTS_FILE) {
                c_put(w, "%s!weights", any ? " ||" C_SOFT : "if (");
                any = true;
        }
        if (c_state_any(w)) {
                c_put(w, "%s!state", any ? " ||" C_SOFT : "if (");
                any = true;
        }
        for (int i = 0; i < w->input_count + w->output_count; i++) {
                if (port(w, i)->extent == 0)
                        continue;
                c_put(w, "%s", any ? " ||" C_SOFT : "if (");
                const bool guarded = put_is_not_empty(w, port(w, i));
                c_put(w, "!%s%s", c_use(w, port(w, i)), guarded ? ")" : "");
                any = true;
        }
        for (int i = 0; i < w->p->extent_count; i++) {
                if (!w->p->extents[i].counted || !loop_extent_is_told(w->p, i))
                        continue;
                c_put(w, "%s!%s", any ? " ||" C_SOFT : "if (", w->p->extents[i].variable->name);
                any = true;
        }
        if (any)
                put_check(w, "ERROR_NULL");
}

static void put_alignment_check(struct c_writer *w)
{
        bool any = false;
        if (w->workspace_size > 0 && w->workspace_align > 1) {
                c_put(w, "if ((uintptr_t)(const unsigned char *)workspace %%" C_SOFT
                         "(uintptr_t)%s != 0u",
                      c_macro(w, "WORKSPACE_ALIGN"));
                any = true;
        }
        for (int i = 0; i < w->p->region_count; i++) {
                if (!w->areas[i].size)
                        continue;
                c_put(w, "%s(uintptr_t)(const unsigned char *)%s %%" C_SOFT
                         "(uintptr_t)%s != 0u", any ? " ||" C_SOFT : "if (", w->regions[i],
                      c_macro(w, arena_printf(w->arena, "%s_ALIGN", w->regions[i])));
                any = true;
        }
        if (w->options->weights == PRINT_WEIGHTS_FILE) {
                c_put(w, "%s(uintptr_t)(const unsigned char *)weights %%" C_SOFT
                         "(uintptr_t)%s != 0u", any ? " ||" C_SOFT : "if (",
                      c_macro(w, "WEIGHTS_ALIGN"));
                any = true;
        }
        if (c_state_any(w)) {
                c_put(w, "%s(uintptr_t)state %% (uintptr_t)%s != 0u", any ? " ||" C_SOFT : "if (",
                      c_macro(w, "STATE_ALIGN"));
                any = true;
        }
        for (int i = 0; i < w->input_count + w->output_count; i++) {
                const struct loop_buffer *b = port(w, i);
                if (b->extent == 0 || element_info[b->element].bytes == 1)
                        continue;
                w->align_used[b->element] = true;
                c_put(w, "%s(uintptr_t)%s %% (uintptr_t)offsetof(struct align_%s, value) != 0u",
                      any ? " ||" C_SOFT : "if (", c_use(w, b), c_memory_name(b->element));
                any = true;
        }
        if (any)
                put_check(w, "ERROR_ALIGNMENT");
}

void c_run_check_extents(struct c_writer *w)
{
        bool any = false;
        for (int i = 0; i < w->p->extent_count; i++) {
                const struct loop_variable *v = w->p->extents[i].variable;
                if (!c_takes_extent(w, i))
                        continue;
                c_put(w, "%s%s < %lld ||" C_SOFT "%s > %lld", any ? " ||" C_SOFT : "if (", v->name,
                      (long long)v->low, v->name, (long long)v->high);
                any = true;
        }
        if (any)
                put_check(w, "ERROR_EXTENT");
}

void c_run_extents(struct c_writer *w)
{
        for (int i = 0; i < w->p->extent_count; i++) {
                struct loop_variable *v = w->p->extents[i].variable;
                const char *kept = c_passes_extent(w, i)    ? "*"
                                   : w->p->extents[i].kept ? "state->"
                                                           : "";
                if (w->p->extents[i].counted && c_step_any(w))
                        ;               /* It is a word of the record. */
                else if (w->p->extents[i].counted)
                        c_line(w, "ptrdiff_t %s = %lld;", c_name(w, v)->text, (long long)v->low);
                else if (c_name(w, v)->used)
                        c_line(w, "const ptrdiff_t %s = (ptrdiff_t)%s%s;", c_name(w, v)->text, kept,
                               v->name);
                else if ((c_takes_extent(w, i) || c_passes_extent(w, i)) &&
                         (is_inner(w) || w->options->unchecked))
                        c_line(w, "(void)%s;", v->name);
        }
}

/* ---- buffers ---- */

static bool is_read_only(struct loop_buffer *b)
{
        enum loop_space space = loop_buffer_root(b, NULL)->space;
        return space == SPACE_INPUT || space == SPACE_CONSTANT;
}

static void put_workspace_pointer(struct c_writer *w, const struct loop_buffer *b)
{
        const char *type = c_memory_type(w, b->element);
        if (b->offset < 0) {
                c_fail(w, EXIT_INTERNAL, "buffer %s has no place", b->name);
                return;
        }
        c_put(w, "%s *const %s = (%s *)(void *)", type, c_name(w, b)->text, type);
        if (b->region && b->offset)
                c_line(w, "((unsigned char *)%s + %lld);", w->regions[b->region - 1],
                       (long long)b->offset);
        else if (b->region)
                c_line(w, "%s;", w->regions[b->region - 1]);
        else if (b->offset && w->p->entries[w->entry].workspace_size > 0)
                c_line(w, "(memory + %lld);", (long long)b->offset);
        else
                c_line(w, "memory;");
}

static void put_view_pointer(struct c_writer *w, struct loop_buffer *b)
{
        int64_t offset;
        struct loop_buffer *root = loop_buffer_root(b, &offset);
        const char *constant = is_read_only(b) ? "const " : "",
                   *type = c_memory_type(w, b->element);
        bool cast = root->element != b->element;
        c_put(w, "%s%s *const %s = ", constant, type, c_name(w, b)->text);
        if (cast)
                c_put(w, "(%s%s *)(%svoid *)(", constant, type, constant);
        c_put(w, "%s", c_use(w, root));
        if (offset)
                c_put(w, " + %lld", (long long)offset);
        c_line(w, cast ? ");" : ";");
}

/* Does the buffer need a variable? A buffer that only streams touch does not: a machine addresses
 * it by where it lies. */
static bool is_named(struct c_writer *w, const struct loop_buffer *b)
{
        return (!w->machine && w->p->entry_count == 1) || c_name(w, b)->used;
}

void c_run_pointers(struct c_writer *w)
{
        bool any = false;
        bool *reached = arena_array(w->arena, (size_t)w->p->region_count + 1, sizeof *reached);
        for (struct loop_buffer *b = w->p->buffers; b; b = b->next) {
                if (b->space != SPACE_WORKSPACE || !is_named(w, b))
                        continue;
                if (!any && !b->region)
                        c_line(w, "unsigned char *const memory = %sworkspace;",
                               w->dialect->is_device ? "(unsigned char *)" : "");
                any |= !b->region;
                reached[b->region] = true;
                put_workspace_pointer(w, b);
        }
        if (!any && (is_inner(w) || w->options->unchecked || w->workspace_size <= 0))
                c_line(w, "(void)workspace;");
        for (int i = 0; i < w->p->region_count; i++)
                if (!reached[i + 1] &&
                    (is_inner(w) || w->options->unchecked || !w->areas[i].size))
                        c_line(w, "(void)%s;", w->regions[i]);
        for (struct loop_buffer *b = w->p->buffers; b; b = b->next)
                if (b->space == SPACE_VIEW && is_named(w, b))
                        put_view_pointer(w, b);
        for (int i = 0; i < w->input_count + w->output_count; i++)
                if (!c_name(w, port(w, i))->used)
                        c_line(w, "(void)%s;", c_name(w, port(w, i))->text);
}

static void name_buffers(struct c_writer *w)
{
        static const char *const words[] = { "workspace", "memory", "status", "weights",
                                             "constants", "stream", "calls",  "failed" };
        w->locals = names_new(w->arena);
        if (c_state_any(w))
                names_reserve(w->locals, "state");
        for (int i = 0; i < (w->dialect->is_device ? 8 : 3); i++)
                names_reserve(w->locals, words[i]);
        for (int i = 0; i < w->p->region_count; i++)
                names_reserve(w->locals, w->regions[i]);
        if (w->options->weights == PRINT_WEIGHTS_FILE)
                names_reserve(w->locals, "weights");
        c_machine_locals(w);
        for (struct loop_buffer *b = w->p->buffers; b; b = b->next) {
                if (loop_is_port(b))
                        names_reserve(w->locals, c_name(w, b)->text);
                if (b->space == SPACE_STATE)    /* Another entry may have used it. */
                        c_name(w, b)->used = false;
        }
        for (int i = 0; i < w->p->extent_count; i++)
                names_reserve(w->locals, w->p->extents[i].variable->name);
        for (struct loop_buffer *b = w->p->buffers; b; b = b->next)
                if (b->space == SPACE_WORKSPACE || b->space == SPACE_VIEW)
                        c_name_set(w, b, c_local(w, b->name));
        c_text_names(w);
        for (int i = 0; i < w->p->extent_count; i++) {
                struct loop_variable *v = w->p->extents[i].variable;
                c_name_set(w, v, c_local(w, arena_printf(w->arena, "extent_%s", v->name)));
        }
}

struct text c_main_text(struct c_writer *w)
{
        struct text body = { 0 };
        name_buffers(w);
        w->uses_status = w->uses_weights = false;
        c_text_swap(w);
        w->out = &body;
        w->in_run = true;
        c_find_entries(w, w->p->entries[w->entry].main);
        if (c_step_any(w))
                c_step_main(w);
        else
                c_block(w, w->p->entries[w->entry].main->body);
        w->in_run = false;
        for (struct loop_buffer *b = w->p->buffers; b; b = b->next)
                if (b->space == SPACE_VIEW && is_named(w, b))
                        c_use(w, loop_buffer_root(b, NULL));
        c_text_swap(w);
        c_state_uses(w);
        w->uses_status |= c_text_copied(w);
        return body;
}

void c_run_check_arguments(struct c_writer *w)
{
        if (w->options->unchecked)
                return;
        struct c_name *names = arena_array(w->arena, (size_t)w->p->extent_count, sizeof *names);
        c_run_check_extents(w);
        name_extents(w, names, true);
        put_null_check(w);
        name_extents(w, names, false);
        put_alignment_check(w);
}

void c_run_checks(struct c_writer *w)
{
        c_run_check_arguments(w);
        c_state_check(w);
}

static void put_main(struct c_writer *w, struct text *body)
{
        if (!c_step_any(w)) {
                c_length_check(w);
                c_tiles_enable(w);
        }
        c_run_extents(w);
        c_text_pointers(w);
        c_text_swap(w);
        c_state_pointers(w);
        c_run_pointers(w);
        c_text_copies(w);
        if (c_hooks_any(w) && !c_step_any(w))
                c_hook(w, "AFTER", -1);
        if (body->length)
                text_add_bytes(w->out, body->data, body->length);
        c_text_swap(w);
        for (int i = 0; i < w->p->extent_count; i++) {
                struct loop_variable *v = w->p->extents[i].variable;
                if (c_tells_extent(w, i))
                        c_line(w, "*%s = %s;", v->name, c_name(w, v)->text);
                else if (w->p->extents[i].counted && !c_name(w, v)->used)
                        c_line(w, "(void)%s;", c_name(w, v)->text);
        }
        c_state_end(w);
        c_line(w, "return 0;");
        text_free(body);
}

void c_run_open(struct c_writer *w, const char *head)
{
        c_run_prototype(w, head);
        c_end(w);
        c_line(w, "{");
        w->indent = 1;
}

void c_run_close(struct c_writer *w)
{
        w->indent = 0;
        c_line(w, "}");
}

void c_run_inner(struct c_writer *w, struct text *out, const char *head)
{
        struct text body = c_main_text(w);
        w->out = out;
        text_add(out, "\n");
        c_run_open(w, head);
        if (w->uses_status)
                c_line(w, "int status;");
        c_weights_pointer(w, w->uses_weights);
        put_main(w, &body);
        c_run_close(w);
}

static void put_choice(struct c_writer *w)
{
        text_add(w->out, "\n");
        c_run_open(w, arena_printf(w->arena, "int %s_run(", w->prefix));
        c_put(w, "return %s_run_at(%s_level()," C_SOFT, w->prefix, w->options->prefix);
        c_run_arguments(w);
        c_put(w, ");");
        c_end(w);
        c_run_close(w);
}

void c_run(struct c_writer *w, struct text *out)
{
        bool split = c_run_is_split(w);
        struct text body = { 0 };
        if (!split)
                body = c_main_text(w);
        w->out = out;
        text_add(out, "\n");
        c_run_open(w,
                      arena_printf(w->arena,
                                   w->level_count > 1 ? "int %s_run_at(int level, " : "int %s_run(",
                                   w->prefix));
        if (!split && w->uses_status)
                c_line(w, "int status;");
        c_run_checks(w);
        if (!split || !w->options->unchecked)
                c_weights_pointer(w, !w->options->unchecked || w->uses_weights);
        c_weights_check(w);
        c_machine_check(w);
        if (split)
                c_levels_call(w);
        else
                put_main(w, &body);
        c_run_close(w);
        if (w->level_count > 1)
                put_choice(w);
}
