/* SPDX-License-Identifier: MIT */
/* Writes the lines and chooses the names of the generated C. */
#include "codegen/c_machine.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void c_fail(struct c_writer *w, enum exit_code code, const char *format, ...)
{
        if (w->failed)
                return;
        w->failed = true;
        va_list list;
        va_start(list, format);
        const char *text = arena_vprintf(w->arena, format, list);
        va_end(list);
        const char *lead = code == EXIT_INTERNAL ? "bug in the C printer: " : "";
        diag_error(w->diag, code, "%s%s", lead, text);
}

/* ---- lines ---- */

static void put(struct c_writer *w, const char *format, va_list list)
{
        char room[256];
        va_list again;
        va_copy(again, list);
        int length = vsnprintf(room, sizeof room, format, list);
        const char *text = room;
        if ((size_t)length >= sizeof room)
                text = arena_vprintf(w->arena, format, again);
        va_end(again);
        text_add_bytes(&w->line, text, (size_t)length);
}

void c_put(struct c_writer *w, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        put(w, format, list);
        va_end(list);
}

void c_insert(struct c_writer *w, size_t position, const char *text)
{
        size_t length = strlen(text), tail = w->line.length - position;
        text_add_bytes(&w->line, text, length);
        memmove(w->line.data + position + length, w->line.data + position, tail);
        memcpy(w->line.data + position, text, length);
}

static void add_spaces(struct text *out, int count)
{
        text_add(out, "%*s", count, "");
}

/* Returns where to end a line that has `room` columns: in its latter half, as far out of brackets
 * as possible; otherwise where it fits; otherwise at the last C_BREAK that fits; otherwise at the
 * first C_SOFT, or nowhere. */
static char *soft_end(char *start, char *end, size_t room)
{
        char *best = NULL, *last_break = NULL;
        int depth = 0, best_depth = 0;
        size_t column = 0, best_column = 0;
        for (char *p = start; p < end && (!best || column <= room); column += *p++ != *C_BREAK) {
                depth += *p == '(' || *p == '[';
                depth -= *p == ')' || *p == ']';
                if (*p == *C_BREAK && column <= room)
                        last_break = p;
                if (*p != *C_SOFT)
                        continue;
                bool early = best && best_column < room / 2;
                if (!best || early || depth <= best_depth) {
                        best = p;
                        best_depth = depth;
                        best_column = column;
                }
        }
        return last_break && (!best || best_column > room) ? last_break : best;
}

/* Is the text wider than `room`? It looks no further than necessary. */
static bool is_wider(const char *start, const char *end, int room)
{
        int width = 0;
        for (; start < end && width <= room; start++)
                width += *start != *C_BREAK;
        return width > room;
}

static void add_part(struct c_writer *w, const char *start, const char *end, int margin)
{
        if (end > start)
                add_spaces(w->out, margin);
        for (const char *p = start; p < end; p++) {
                const char *stop = p;
                while (stop < end && *stop != *C_SOFT && *stop != *C_BREAK)
                        stop++;
                text_add_bytes(w->out, p, (size_t)(stop - p));
                if (stop < end && *stop == *C_SOFT)
                        text_add_bytes(w->out, " ", 1);
                p = stop;
        }
        text_add_bytes(w->out, "\n", 1);
}

void c_end(struct c_writer *w)
{
        char *start = w->line.data, *end = start + w->line.length;
        int margin = w->indent * C_INDENT;
        while (is_wider(start, end, C_WIDTH - margin)) {
                int room = margin < C_WIDTH ? C_WIDTH - margin : 0;
                char *soft = soft_end(start, end, (size_t)room);
                if (!soft)
                        break;
                add_part(w, start, soft, margin);
                start = soft + 1;
                margin = (w->indent + 1) * C_INDENT;
        }
        add_part(w, start, end, margin);
        w->line.length = 0;
}

void c_line(struct c_writer *w, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        put(w, format, list);
        va_end(list);
        c_end(w);
}

/* Whatever the text contains, a comment does not end early, no line is spliced, and only plain
 * ASCII is printed. Words are kept whole where lines are broken. */
static bool is_plain(char c, char before, bool last)
{
        bool mark = (c == '/' && before == '*') || (c == '*' && before == '/');
        bool trigraph = c == '?' && before == '?';
        return c >= ' ' && c <= '~' && !mark && !trigraph && !(c == '\\' && last);
}

void c_comment(struct text *out, int indent, const char *text)
{
        size_t room = (size_t)(C_WIDTH - indent - 3), column = 0;
        add_spaces(out, indent);
        text_add(out, "/* ");
        while (*text) {
                size_t word = strcspn(text, " \n");
                if (column && column + 1 + word > room) {
                        text_add(out, "\n%*s * ", indent, "");
                        column = 0;
                } else if (column) {
                        text_add(out, " ");
                        column++;
                }
                char before = 0;
                for (size_t i = 0; i < word; i++) {
                        char c = is_plain(text[i], before, i + 1 == word) ? text[i] : '.';
                        text_add_bytes(out, &c, 1);
                        before = c;
                }
                column += word;
                text += word;
                if (*text == '\n' && text[1]) {
                        text_add(out, "\n%*s * ", indent, "");
                        column = 0;
                }
                text += *text != 0;
        }
        text_add(out, " */\n");
}

/* ---- names ---- */

/* Functions and types that C's headers declare, or that compilers know without a header: no name at
 * file scope may be one of these. The forms with f or l at the end (sinf, sinl) are found by their
 * stem. */
static const char *const library_words[] = {
        "abort", "abs", "acos", "acosh", "aligned_alloc", "alloca", "asin", "asinh", "atan",
        "atan2", "atanh", "bcmp", "bcopy", "bzero", "cabs", "cacos", "cacosh", "calloc", "carg",
        "casin", "casinh", "catan", "catanh", "cbrt", "ccos", "ccosh", "ceil", "cexp", "cimag",
        "clog", "clog10", "conj", "copysign", "cos", "cosh", "cpow", "cproj", "creal", "csin",
        "csinh", "csqrt", "ctan", "ctanh", "dcgettext", "dgettext", "drem", "erf", "erfc", "exit",
        "execl", "execle", "execlp", "execv", "execve", "execvp", "exp", "exp10", "exp2",
        "explicit_bzero", "expm1", "fabs", "fdim", "feclearexcept", "fegetenv", "fegetexceptflag",
        "fegetround", "feholdexcept", "feraiseexcept", "fesetenv", "fesetexceptflag", "fesetround",
        "fetestexcept", "feupdateenv", "ffs", "ffsll", "finite", "floor", "fma", "fmax", "fmin",
        "fmod", "fork", "fprintf", "fputc", "fputc_unlocked", "fputs", "fputs_unlocked", "free",
        "frexp", "fscanf", "fwrite", "fwrite_unlocked", "gamma", "gettext", "hypot", "ilogb",
        "imaxabs", "index", "isalnum", "isalpha", "isascii", "isblank", "iscntrl", "isdigit",
        "isgraph", "isinf", "islower", "isnan", "isprint", "ispunct", "isspace", "isupper",
        "iswalnum", "iswalpha", "iswblank", "iswcntrl", "iswdigit", "iswgraph", "iswlower",
        "iswprint", "iswpunct", "iswspace", "iswupper", "iswxdigit", "isxdigit", "j0", "j1", "jn",
        "labs", "ldexp", "lgamma", "lgamma_r", "lgammaf_r", "lgammal_r", "llabs", "llrint",
        "llround", "log", "log10", "log1p", "log2", "logb", "lrint", "lround", "malloc", "memccpy",
        "memchr", "memcmp", "memcpy", "memmem", "memfrob", "memmove", "mempcpy", "memrchr",
        "memset", "modf", "nan", "nearbyint", "nextafter", "nexttoward", "posix_memalign", "pow",
        "pow10", "printf", "printf_unlocked", "putc", "putc_unlocked", "putchar",
        "putchar_unlocked", "puts", "rawmemchr", "realloc", "remainder", "remquo", "rindex", "rint",
        "round", "roundeven", "scalb", "scalbln", "scalbn", "scanf", "signbit", "significand",
        "sin", "sincos", "sinh", "snprintf", "sprintf", "sqrt", "sscanf", "stpcpy", "stpncpy",
        "strcasecmp", "strcasecmp_l", "strcasestr", "strcat", "strchr", "strchrnul", "strcmp",
        "strcoll", "strcoll_l", "strcpy", "strcspn", "strdup", "strerror", "strerror_l",
        "strerror_r", "strfmon", "strfry", "strftime", "strlcat", "strlcpy", "strlen",
        "strncasecmp", "strncasecmp_l", "strncat", "strncmp", "strncpy", "strndup", "strnlen",
        "strpbrk", "strrchr", "strsep", "strsignal", "strspn", "strstr", "strtok", "strtok_r",
        "strverscmp", "strxfrm", "strxfrm_l", "basename", "tan", "tanh", "tgamma",
        "timingsafe_bcmp", "timingsafe_memcmp", "toascii", "tolower", "toupper", "towlower",
        "towupper", "trunc", "vfprintf", "vfscanf", "vprintf", "vscanf", "vsnprintf", "vsprintf",
        "vsscanf", "y0", "y1", "yn"
};

static const char *const library_types[] = {
        "size_t", "ptrdiff_t", "wchar_t", "max_align_t", "nullptr_t", "locale_t", "size_max",
        "ptrdiff_min", "ptrdiff_max", "sig_atomic_min", "sig_atomic_max", "wchar_min", "wchar_max",
        "wint_min", "wint_max"
};

static bool in_library_words(const char *name, size_t length)
{
        for (size_t i = 0; i < sizeof library_words / sizeof *library_words; i++)
                if (strlen(library_words[i]) == length && !memcmp(library_words[i], name, length))
                        return true;
        return false;
}

static bool ends_with(const char *text, const char *ending)
{
        size_t n = strlen(text), length = strlen(ending);
        return n > length && !strcmp(text + n - length, ending);
}

/* Is it a name of the headers that the file includes, or one that compilers know? Case does not
 * matter. */
static bool is_library_word(const char *name)
{
        static const char *const limits[] = { "_t", "_min", "_max", "_c" };
        static const char *const formats[] = { "f", "l", "f32", "f64", "f128", "f32x", "f64x" };
        char folded[40];
        size_t n = strlen(name);
        if (n >= sizeof folded)
                return true;
        for (size_t i = 0; i <= n; i++)
                folded[i] = (char)tolower((unsigned char)name[i]);
        for (size_t i = 0; i < sizeof library_types / sizeof *library_types; i++)
                if (!strcmp(folded, library_types[i]))
                        return true;
        bool integer = !strncmp(folded, "int", 3) || !strncmp(folded, "uint", 4);
        for (int i = 0; integer && i < 4; i++)
                if (ends_with(folded, limits[i]))
                        return true;
        for (int i = 0; i < 7; i++)
                if (ends_with(folded, formats[i]) &&
                    in_library_words(folded, n - strlen(formats[i])))
                        return true;
        return in_library_words(folded, n);
}

/* Returns a new identifier from `names` that no header declares. */
static const char *identifier(struct names *names, const char *stem, const char *fallback)
{
        const char *name;
        do {
                name = text_identifier(names, stem, strlen(stem), fallback);
        } while (is_library_word(name));
        return name;
}

const char *c_global(struct c_writer *w, const char *stem)
{
        const char *name = identifier(w->globals, stem, "item");
        map_set(w->file_scope, name, strlen(name), w);
        return name;
}

const char *c_local(struct c_writer *w, const char *stem)
{
        const char *name;
        do {
                name = identifier(w->locals, stem, "v");
        } while (map_get(w->file_scope, name, strlen(name)));
        return name;
}

struct c_name *c_name_set(struct c_writer *w, const void *object, const char *text)
{
        struct c_name *name = ARENA_NEW(w->arena, struct c_name);
        name->text = text;
        map_set(w->names, (const char *)&object, sizeof object, name);
        return name;
}

struct c_name *c_name(struct c_writer *w, const void *object)
{
        struct c_name *name = map_get(w->names, (const char *)&object, sizeof object);
        if (!name) {
                c_fail(w, EXIT_INTERNAL, "something is used that is not declared");
                name = c_name_set(w, object, "undeclared");
        }
        return name;
}

void c_mark_used(struct c_writer *w, struct c_name *name)
{
        if (!name->used || w->level < name->level)
                name->level = w->level;
        name->used = true;
        w->uses_weights |= name->is_weight;
}

const char *c_use(struct c_writer *w, const void *object)
{
        struct c_name *name = c_name(w, object);
        c_mark_used(w, name);
        return name->text;
}

const char *c_tile_entry(struct c_writer *w, const struct loop_variable *v, long long row,
                         int column)
{
        struct c_name *name = c_name(w, v);
        if (row < 0 || row >= v->rows || column < 0 || column >= v->columns || !name->entries) {
                c_fail(w, EXIT_INTERNAL, "%s{%lld, %d} is outside its tile", v->name, row, column);
                return "undeclared";
        }
        name->used = true;
        return name->entries[row * v->columns + column];
}

void c_declare(struct c_writer *w, struct loop_variable *v)
{
        if (!v->rows) {
                c_name_set(w, v, c_local(w, v->name));
                return;
        }
        int count = v->rows * v->columns;
        const char **entries = arena_array(w->arena, (size_t)count, sizeof *entries);
        for (int i = 0; i < count; i++)
                entries[i] = c_local(w, arena_printf(w->arena, "%s_%d_%d", v->name, i / v->columns,
                                                     i % v->columns));
        c_name_set(w, v, v->name)->entries = entries;
}

/* ---- names of a file ---- */

void c_reserve(struct c_writer *w, const char *word)
{
        names_reserve(w->globals, word);
        map_set(w->file_scope, word, strlen(word), w);
}

static const char *in_capitals(char *text)
{
        for (char *p = text; *p; p++)
                *p = (char)toupper((unsigned char)*p);
        return text;
}

const char *c_macro(struct c_writer *w, const char *name)
{
        return in_capitals(arena_printf(w->arena, "%s_%s", w->options->prefix, name));
}

const char *c_port_macro(struct c_writer *w, const char *port, const char *name)
{
        return in_capitals(arena_printf(w->arena, "%s_%s_%s", w->prefix, port, name));
}

/* Overloads get the type of their first parameter into their names. */
static void name_library(struct c_writer *w)
{
        struct loop_function *first = w->p->library ? loop_library_first(w->p->library) : NULL;
        struct map *seen = map_new(w->arena);
        for (struct loop_function *f = first; f; f = f->next) {
                size_t length = strlen(f->name);
                struct loop_function *other = map_get(seen, f->name, length);
                map_set(seen, f->name, length, other ? (void *)w : f);
        }
        for (struct loop_function *f = first; f; f = f->next) {
                int e = f->scalar_count ? f->scalars[0]->type.element : f->result.element;
                const char *name = f->name;
                if (map_get(seen, name, strlen(name)) != f)
                        name = arena_printf(w->arena, "%s_%s", name, element_info[e].text);
                c_name_set(w, f, c_global(w, name));
        }
}

/* Names the ports of an entry. Those of several entries that models call alike have one name. */
static void name_entry(struct c_writer *w)
{
        static const char *const endings[] = { "ELEMS", "RANK", "SHAPE", "BYTES", "SCALE", "ZERO" };
        const bool several = w->p->entry_count > 1;
        struct map *own = map_new(w->arena);
        if (!w->port_names)
                w->port_names = map_new(w->arena);
        for (int i = 0; i < w->input_count + w->output_count; i++) {
                int k = i - w->input_count;
                struct loop_buffer *b = k < 0 ? w->inputs[i] : w->outputs[k];
                const char *stem = several ? b->port : b->name;
                const char *name = several ? map_get(w->port_names, stem, strlen(stem)) : NULL;
                if (!name || map_get(own, name, strlen(name)))
                        name = identifier(w->globals, stem, "tensor");
                map_set(own, name, strlen(name), w);
                map_set(w->port_names, stem, strlen(stem), (void *)(uintptr_t)name);
                const struct c_level *here = &w->levels[w->level];
                for (int l = 0; l < w->level_count; l++) {
                        const struct c_level *level = &w->levels[l];
                        c_name_set(w,
                                   k < 0 ? level->inputs[w->inputs - here->inputs + i]
                                         : level->outputs[w->outputs - here->outputs + k],
                                   name);
                }
                for (int e = 0; e < 3 + b->is_text; e++)
                        c_reserve(w, c_port_macro(w, name, endings[e]));
        }
}

/* Parameters of run are not names of file scope, but must not hide any. All levels have the same
 * parameters. */
static void name_ports(struct c_writer *w)
{
        static const char *const run_words[] = { "workspace", "memory", "status", "weights",
                                                 "constants", "stream", "calls",  "failed" };
        for (int i = 0; i < (w->dialect->is_device ? 8 : 3); i++)
                names_reserve(w->globals, run_words[i]);
        w->regions = arena_array(w->arena, (size_t)w->p->region_count + 1, sizeof *w->regions);
        for (int i = 0; i < w->p->region_count; i++) {
                static const char *const of_regions[] = { "_SIZE", "_ALIGN", "_DEFINE" };
                w->regions[i] = identifier(w->globals, w->p->regions[i].name, "region");
                for (int e = 0; e < 3; e++)
                        c_reserve(w, c_macro(w, arena_printf(w->arena, "%s%s", w->regions[i],
                                                             of_regions[e])));
        }
        for (int e = 0; e < w->p->entry_count; e++) {
                c_entry(w, e);
                name_entry(w);
        }
        c_entry(w, 0);
        for (int i = 0; i < w->state_count; i++) {
                const char *name = identifier(w->globals, w->states[i]->name, "state");
                for (int l = 0; l < w->level_count; l++)
                        c_name_set(w, w->levels[l].states[i], name);
        }
}

/* With several levels, names end in that of the target, whatever identifiers are truncated to. */
static void name_functions(struct c_writer *w, struct c_level *l)
{
        enum { IDENTIFIER = 31 };
        int room = IDENTIFIER - 1 - (int)strlen(l->suffix);
        for (struct loop_function *k = l->p->kernels; k; k = k->next)
                /* A task is named after the kernel that launches it. */
                if (k->kind == FUNCTION_KERNEL)
                        c_name_set(w, k,
                                   c_global(w, w->level_count == 1
                                                       ? k->name
                                                       : arena_printf(w->arena, "%.*s_%s", room,
                                                                      k->name, l->suffix)));
        if (!c_run_is_split(w))
                return;
        const int entries = l->p->entry_count;
        l->runs = arena_array(w->arena, (size_t)entries, sizeof *l->runs);
        for (int e = 0; e < entries; e++) {
                const char *name = entries == 1 ? "run"
                                                : arena_printf(w->arena, "run_%.*s", room - 4,
                                                               l->p->entries[e].name);
                l->runs[e] = c_global(w, arena_printf(w->arena, "%s_%s", name, l->suffix));
        }
}

/* Inputs and outputs come first, because users see them; then kernels, then constants. */
void c_names_begin(struct c_writer *w)
{
        static const char *const macros[] = {
                "WORKSPACE_SIZE", "WORKSPACE_ALIGN", "WORKSPACE_DEFINE",
                "WEIGHTS_SIZE",   "WEIGHTS_ALIGN",   "H",
                "CONSTANTS_SIZE", "CODE_ESTIMATE",   "STACK_SIZE",
                "KERNEL",         "CONST",           "CONST_LARGE",     "PORTABLE",
                "HOOK_BEFORE",    "HOOK_AFTER",      "SELFTEST_SIZE",
#define FAIL(name, value, doc) "ERROR_" #name,
#include "ir/loop/fail_codes.def"
        };
        w->globals = names_new(w->arena);
        w->file_scope = map_new(w->arena);
        w->names = map_new(w->arena);
        for (int e = 0; e < w->p->entry_count; e++) {
                c_entry(w, e);
                c_reserve(w, arena_printf(w->arena, "%s_run", w->prefix));
                c_reserve(w, arena_printf(w->arena, "%s_describe", w->prefix));
        }
        c_entry(w, 0);
        if (w->options->profile)
                c_reserve(w, "dnncc_profile");
        for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
                c_reserve(w, c_macro(w, macros[i]));
        c_reserve(w, arena_printf(w->arena, "%s_selftest", w->options->prefix));
        c_reserve(w, "RESTRICT");
        c_reserve(w, "ROLLED");
        for (int e = 0; e < ELEMENT_COUNT; e++) {
                c_reserve(w, c_memory_name((enum element)e));
                c_reserve(w, arena_printf(w->arena, "align_%s", c_memory_name((enum element)e)));
        }
        c_helpers_reserve(w);
        c_vectors_reserve(w);
        c_levels_reserve(w);
        c_flush_reserve(w);
        c_parallel_reserve(w);
        c_weights_reserve(w);
        c_machine_reserve(w);
        c_text_reserve(w);
        c_state_reserve(w);
        c_step_reserve(w);
        if (w->dialect->reserve)
                w->dialect->reserve(w);
        c_external_reserve(w);
        name_library(w);
        name_ports(w);
        /* They are parameters of helpers. */
        names_reserve(w->globals, "a");
        names_reserve(w->globals, "b");
        for (int l = 0; l < w->level_count; l++)
                name_functions(w, &w->levels[l]);
        c_machine_names(w);
        c_constant_names(w);
}

void c_names_function(struct c_writer *w, struct loop_function *f)
{
        w->locals = names_new(w->arena);
        for (int i = 0; i < f->buffer_count; i++)
                c_name_set(w, f->buffers[i], c_local(w, f->buffers[i]->name));
        for (int i = 0; i < f->scalar_count; i++)
                c_declare(w, f->scalars[i]);
}

/* ---- functions whose text is put together ---- */

void c_function_open(struct c_writer *w, const char *head)
{
        text_add(w->out, "\n");
        c_put(w, "%s", head);
        c_end(w);
        c_line(w, "{");
        w->indent = 1;
}

void c_function_close(struct c_writer *w)
{
        w->indent = 0;
        c_line(w, "}");
}

void c_return_error(struct c_writer *w, const char *code)
{
        w->indent++;
        c_line(w, "return %s;", c_macro(w, arena_printf(w->arena, "ERROR_%s", code)));
        w->indent--;
}
