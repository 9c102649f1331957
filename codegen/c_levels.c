/* SPDX-License-Identifier: MIT */
/* Prints code for several targets in one file: a level for each, the least first.
 *
 *     #if DIGITS_LEVEL >= DIGITS_LEVEL_X86_64_V3
 *     static X86_64_V3 void conv1_x86_64_v3(...)
 *     ...
 *     static int run_x86_64_v3(...)
 *     #endif
 *
 *     int digits_level(void)                   returns the best level that the processor has
 *     int digits_run_at(int level, ...)        checks its arguments and calls run_... of that level
 *     int digits_run(...)                      does both
 *
 * digits_level asks CPUID or the system, and requests the use of tiles. Interface, constants and
 * weights are the same for all levels; the workspace is large enough for each. What several levels
 * use is printed once, for the lowest that does: where that one is compiled, all above it are, or
 * it is not needed. */
#include "codegen/c_writer.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "codegen/cpu.h"

/* Returns the first of an entry's ports, which lie side by side; *own: how many they are. */
static struct loop_buffer **ports_of(struct loop_buffer **ports, int count, int entry, int *own)
{
        while (count && (*ports)->entry < entry)
                ports++, count--;
        *own = 0;
        while (*own < count && ports[*own]->entry == entry)
                ++*own;
        return ports;
}

void c_entry(struct c_writer *w, int entry)
{
        const struct c_level *l = &w->levels[w->level];
        w->entry = entry;
        w->prefix = w->p->entry_count == 1
                            ? w->options->prefix
                            : arena_printf(w->arena, "%s_%s", w->options->prefix,
                                           w->p->entries[entry].name);
        w->inputs = ports_of(l->inputs, l->input_count, entry, &w->input_count);
        w->outputs = ports_of(l->outputs, l->output_count, entry, &w->output_count);
}

bool c_takes_extent(const struct c_writer *w, int i)
{
        return i < loop_given_extents(w->p) && loop_extent_is_of(w->p, i, w->entry);
}

bool c_passes_extent(const struct c_writer *w, int i)
{
        return w->dialect->is_device && w->p->extents[i].kept;
}

bool c_tells_extent(const struct c_writer *w, int i)
{
        return w->p->extents[i].counted && loop_extent_is_told(w->p, i) &&
               loop_extent_is_of(w->p, i, w->entry);
}

void c_level(struct c_writer *w, int level)
{
        struct c_level *l = &w->levels[level];
        w->level = level;
        w->p = l->p;
        w->target = l->target;
        w->states = l->states;
        c_entry(w, w->entry);
        w->has_vectors = target_vector_bytes(l->target) > 0;
}

static const char *suffix_of(struct arena *arena, const struct target *t)
{
        char *suffix = arena_string(arena, t->name);
        for (char *p = suffix; *p; p++)
                *p = isalnum((unsigned char)*p) ? *p : '_';
        return suffix;
}

void c_levels_begin(struct c_writer *w)
{
        const struct print_options *o = w->options;
        w->level_count = o->lesser_count + 1;
        w->levels = arena_array(w->arena, (size_t)w->level_count, sizeof *w->levels);
        w->areas = arena_array(w->arena, (size_t)w->p->region_count + 1, sizeof *w->areas);
        for (int i = 0; i < w->level_count; i++) {
                bool best = i == o->lesser_count;
                const struct loop_program *p = best ? w->p : o->lesser[i].program;
                const struct target *target = best ? o->target : o->lesser[i].target;
                w->levels[i] = (struct c_level){ .p = p,
                                                 .target = target,
                                                 .suffix = suffix_of(w->arena, target) };
                if (loop_workspace_size(p) > w->workspace_size)
                        w->workspace_size = loop_workspace_size(p);
                if (p->workspace_align > w->workspace_align)
                        w->workspace_align = p->workspace_align;
                for (int r = 0; r < p->region_count; r++)
                        if (p->regions[r].size > w->areas[r].size || !i)
                                w->areas[r] = p->regions[r];
        }
}

static bool asks_linux(const struct target *t)
{
        const char *attribute = target_attribute(t);
        struct cpu_needs needs = cpu_needs_none;
        return attribute && cpu_needs(attribute, &needs) && needs.capabilities;
}

/* Has every processor that runs the code at all what the target needs? This holds for the first
 * target of its kind of machine, where that kind has all that it asks for. */
static bool is_sure(const struct target *t)
{
        return !target_attribute(t) || (!target_machine(t->base) && !asks_linux(t));
}

/* Returns PREFIX_LEVEL_X86_64_V3. */
static const char *c_level_macro(struct c_writer *w, int level)
{
        return c_macro(w, arena_printf(w->arena, "LEVEL_%s", w->levels[level].suffix));
}

void c_levels_reserve(struct c_writer *w)
{
        if (w->level_count == 1)
                return;
        c_reserve(w, arena_printf(w->arena, "%s_level", w->options->prefix));
        for (int e = 0; e < w->p->entry_count; e++) {
                c_entry(w, e);
                c_reserve(w, arena_printf(w->arena, "%s_run_at", w->prefix));
        }
        c_entry(w, 0);
        c_reserve(w, "syscall");
        c_reserve(w, "sysctlbyname");
        c_reserve(w, "has_feature");
        c_reserve(w, c_macro(w, "LEVEL"));
        for (int i = 0; i < w->level_count; i++)
                c_reserve(w, c_level_macro(w, i));
}

void c_level_open(struct c_writer *w, struct text *out, int level)
{
        if (level > 0)
                text_add(out, "#if %s >= %s\n", c_macro(w, "LEVEL"), c_level_macro(w, level));
}

void c_level_close(struct c_writer *w, struct text *out, int level)
{
        (void)w;
        if (level > 0)
                text_add(out, "#endif\n");
}

/* ---- the header ---- */

void c_levels_rules(struct c_writer *w)
{
        if (w->level_count == 1)
                return;
        text_add(w->out, " *\n * There is code for");
        for (int i = 0; i < w->level_count; i++)
                text_add(w->out, "%s %s",
                         !i                       ? ""
                         : i + 1 < w->level_count ? ","
                                                  : " and",
                         w->levels[i].target->name);
        text_add(w->out,
                 ": each call takes the best that the processor has.\n"
                 " * Compiled with -D%s=N, the C file leaves out what is above number N.\n",
                 c_macro(w, "LEVEL"));
}

void c_levels_header(struct c_writer *w)
{
        const char *prefix = w->options->prefix;
        if (w->level_count == 1)
                return;
        const char *run = w->p->entry_count == 1 ? arena_printf(w->arena, "%s_run", prefix)
                                                 : "A run function";
        text_add(w->out,
                 "\n/* There is code for these targets. The function returns the best of them for "
                 "this processor (negative: there is\n"
                 " * none). %s asks for it at every call, which takes microseconds on a "
                 "virtual machine; %s_at is told. */\n",
                 run, w->p->entry_count == 1 ? run : "one that ends in run");
        for (int i = 0; i < w->level_count; i++)
                c_line(w, "#define %s %d", c_level_macro(w, i), i);
        c_line(w, "int %s_level(void);", prefix);
        for (int e = 0; e < w->p->entry_count; e++) {
                c_entry(w, e);
                c_run_prototype(w, arena_printf(w->arena, "int %s_run_at(int level, ", w->prefix));
                c_put(w, ";");
                c_end(w);
        }
        c_entry(w, 0);
}

/* ---- which compilers may compile it ---- */

int c_levels_vectors(const struct c_writer *w)
{
        int level = 0;
        while (level < w->level_count && !w->levels[level].vectors_used)
                level++;
        return level;
}

/* Prints the guard, before anything that only some compilers accept; `first` is the least level
 * with vectors. */
static void put_machine_guard(struct c_writer *w, struct text *out, int first)
{
        const struct target *t = w->levels[first].target;
        const char *compilers = target_compilers(t);
        if (!target_machine(t))
                return;
        c_level_open(w, out, first);
        const char *macro = c_portable_macro(w);
        text_add(out,
                 "#if %s!(%s)\n"
                 "#error \"code of --target=%s: compile it by %s%s, or let dnncc write it with "
                 "--target=generic\"\n"
                 "#endif\n",
                 macro ? arena_printf(w->arena, "!defined(%s) && ", macro) : "",
                 target_machine(t), t->name, compilers ? compilers : "a compiler for its machine",
                 macro ? arena_printf(w->arena, ", by any with -D%s", macro) : "");
        c_level_close(w, out, first);
}

static void put_version(struct text *out, const struct target *t, const char *compiler,
                        const char *older, int version)
{
        if (version)
                text_add(out,
                         "#if %s < %d\n"
                         "#error \"code of --target=%s: %s knows its instructions (%s) from "
                         "version %d on\"\n"
                         "#endif\n",
                         older, version, t->name, compiler, target_attribute(t), version);
}

static const char *older_clang(struct c_writer *w, const struct cpu_compilers *c)
{
        static const char older[] = "defined(__clang__) && !defined(__apple_build_version__)";
        return c->flag ? arena_printf(w->arena, "%s && !defined(%s) && __clang_major__", older,
                                      c->macro)
                       : arena_printf(w->arena, "%s && __clang_major__", older);
}

static void put_guards(struct c_writer *w, struct text *out, int first)
{
        put_machine_guard(w, out, first);
        for (int i = first; i < w->level_count; i++) {
                const struct target *t = w->levels[i].target;
                struct cpu_compilers c = { 0 };
                if (target_attribute(t) && w->levels[i].vectors_used)
                        c = cpu_compilers(target_attribute(t));
                if (!c.gcc && !c.clang)
                        continue;
                c_level_open(w, out, i);
                put_version(out, t, "gcc", "defined(__GNUC__) && !defined(__clang__) && __GNUC__",
                            c.gcc);
                put_version(out, t,
                            c.flag ? arena_printf(w->arena, "clang without %s", c.flag) : "clang",
                            older_clang(w, &c), c.clang);
                c_level_close(w, out, i);
        }
}

/* ---- what is compiled ---- */

static void put_best(struct c_writer *w, struct text *out)
{
        int best = w->level_count - 1;
        const char *macro = c_macro(w, "LEVEL"), *machine = target_machine(w->levels[best].target);
        bool portable = machine && !target_machine(w->levels[0].target);
        text_add(out, "\n/* This is the best target that is compiled in. */\n#ifndef %s\n", macro);
        if (portable)
                text_add(out, "#if %s\n", machine);
        text_add(out, "#define %s %s\n", macro, c_level_macro(w, best));
        if (portable)
                text_add(out, "#else\n#define %s %s\n#endif\n", macro, c_level_macro(w, 0));
        text_add(out, "#endif\n");
}

static bool includes(const struct target *t, const char *header)
{
        while (t && !(t->include && !strcmp(t->include, header)))
                t = t->base;
        return t != NULL;
}

/* Prints the headers of intrinsics, a base's first, without those of the level below. */
static void put_includes(struct c_writer *w, struct text *out, int level,
                         const struct target *below)
{
        const char *headers[8];
        int count = 0;
        for (const struct target *t = w->levels[level].target; t; t = t->base)
                if (t->include && !includes(below, t->include) && !includes(t->base, t->include) &&
                    count < 8)
                        headers[count++] = t->include;
        if (!count)
                return;
        c_level_open(w, out, level);
        const bool replaced = c_portable_functions(w, out);
        while (count)
                text_add(out, "#include %s\n", headers[--count]);
        text_add(out, "%s", replaced ? "#endif\n" : "");
        c_level_close(w, out, level);
}

void c_levels_top(struct c_writer *w, struct text *out)
{
        int vectors = c_levels_vectors(w);
        if (w->level_count > 1)
                put_best(w, out);
        if (vectors < w->level_count)
                put_guards(w, out, vectors);
        for (int i = 0; i < w->level_count && w->level_count > 1; i++) {
                if (is_sure(w->levels[i].target))
                        continue;
                c_level_open(w, out, i);
                text_add(out, asks_linux(w->levels[i].target)
                                      ? "#if defined(__linux__)\n#include <sys/auxv.h>\n#endif\n"
                                      : "#include <cpuid.h>\n");
                c_level_close(w, out, i);
                break;
        }
        for (int i = vectors; i < w->level_count; i++)
                put_includes(w, out, i, i > vectors ? w->levels[i - 1].target : NULL);
}

/* ---- the choice of a level ---- */

/* Prints the same leaves in the same order, with the bits of one target only. */
static void put_answer(struct c_writer *w, int level, const struct cpu_needs *all)
{
        struct cpu_needs needs = *all;
        for (int i = 0; i < needs.count; i++)
                memset(needs.leaves[i].bits, 0, sizeof needs.leaves[i].bits);
        needs.saved = 0;
        needs.capabilities = 0;
        cpu_needs(target_attribute(w->levels[level].target), &needs);
        if (needs.capabilities)
                c_put(w, "if ((has & 0x%" PRIx64 "u) == 0x%" PRIx64 "u", needs.capabilities,
                      needs.capabilities);
        else
                c_put(w, "if ((saved & 0x%xu) == 0x%xu", (unsigned)needs.saved,
                      (unsigned)needs.saved);
        for (int i = 0; i < needs.count; i++)
                for (int r = 0; r < 4; r++)
                        if (needs.leaves[i].bits[r])
                                c_put(w, " &&" C_SOFT "(has[%d][%d] & 0x%xu) == 0x%xu", i, r,
                                      (unsigned)needs.leaves[i].bits[r],
                                      (unsigned)needs.leaves[i].bits[r]);
        if (w->levels[level].uses_tiles)
                c_put(w, " &&" C_SOFT "enable_tiles()");
        c_length_condition(w, level);
        c_put(w, ")");
        c_end(w);
        w->indent++;
        c_line(w, "return %s;", c_level_macro(w, level));
        w->indent--;
}

/* Returns what the levels from `first` on need. */
static struct cpu_needs needs_of(struct c_writer *w, int first)
{
        struct cpu_needs all = cpu_needs_none;
        for (int i = first; i < w->level_count; i++)
                if (!cpu_needs(target_attribute(w->levels[i].target), &all))
                        c_fail(w, EXIT_UNSUPPORTED, "nothing tells whether a processor has %s",
                               w->levels[i].target->name);
        return all;
}

/* Prints the questions for levels from `first` on, the best first. */
static void put_choice(struct c_writer *w, int first, const struct cpu_needs *all)
{
        if (first == w->level_count)
                return;
        c_level_open(w, w->out, first);
        c_question(w, all);
        for (int i = w->level_count - 1; i >= first; i--) {
                if (i > first)
                        c_level_open(w, w->out, i);
                put_answer(w, i, all);
                c_level_close(w, w->out, i);
        }
}

/* Prints the choice without a question: the best of the first `count` levels that is compiled. */
static void put_sure(struct c_writer *w, int count)
{
        for (int i = count - 1; i > 0; i--) {
                text_add(w->out, "#%sif %s >= %s\n", i < count - 1 ? "el" : "", c_macro(w, "LEVEL"),
                         c_level_macro(w, i));
                c_line(w, "return %s;", c_level_macro(w, i));
        }
        if (count > 1)
                text_add(w->out, "#else\n");
        c_line(w, "return %s;", count ? c_level_macro(w, 0) : c_macro(w, "ERROR_PROCESSOR"));
        if (count > 1)
                text_add(w->out, "#endif\n");
}

void c_levels_choice(struct c_writer *w, struct text *out)
{
        int sure = 0;
        if (w->level_count == 1)
                return;
        while (sure < w->level_count && is_sure(w->levels[sure].target))
                sure++;
        w->out = out;
        const struct cpu_needs all = needs_of(w, sure);
        if (sure < w->level_count) {
                c_level_open(w, out, sure);
                c_question_declarations(w, &all);
                c_level_close(w, out, sure);
        }
        text_add(out,
                 "\n/* Returns the best target that the processor has (%s) and whose registers the "
                 "operating system saves. */\n"
                 "int %s_level(void)\n{\n",
                 asks_linux(w->levels[w->level_count - 1].target) ? "as the system says" : "CPUID",
                 w->options->prefix);
        w->indent = 1;
        put_choice(w, sure, &all);
        put_sure(w, sure);
        w->indent = 0;
        c_line(w, "}");
}

static void put_call(struct c_writer *w, int level, const char *result, const char *end)
{
        c_put(w, "%s %s(", result, w->levels[level].runs[w->entry]);
        c_run_arguments(w);
        c_put(w, ");%s", end);
        c_end(w);
}

void c_levels_call(struct c_writer *w)
{
        bool flush = w->options->flush_denormals;
        const char *result = flush ? "status =" : "return", *end = flush ? " break;" : "";
        c_flush_begin(w);
        if (w->level_count > 1)
                c_line(w, "switch (level) {");
        for (int i = w->level_count - 1; i >= 0; i--) {
                c_level_open(w, w->out, i);
                if (w->level_count > 1)
                        c_put(w, "case %s: ", c_level_macro(w, i));
                put_call(w, i, result, w->level_count > 1 ? end : "");
                c_level_close(w, w->out, i);
        }
        if (w->level_count > 1) {
                c_line(w, "default: %s %s;%s", result, c_macro(w, "ERROR_PROCESSOR"), end);
                c_line(w, "}");
        }
        c_flush_end(w);
}
