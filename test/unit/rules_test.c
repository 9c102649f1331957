/* SPDX-License-Identifier: MIT */
/* Every rule of simplify.def, one section of test/passes/rules.txt each:
 *
 *     == add_neg
 *     (%x "x": <16 x f32>, %y "y": <16 x f32>)
 *       %0 = neg(%y) : <16 x f32>
 *       %1 = add(%x, %0) : <16 x f32>
 *       yield(%1)
 *     =>                                what the rule alone makes of it
 *       %0 = sub(%x, %y) : <16 x f32>
 *       yield(%0)
 *     !=                                near to it, and not to be touched
 *       ...
 *
 * An extent N is that of a run, from 1 to 8, and 5 in runs. A target may stand behind the name. Before and after must compute the same: for class E to the bit on NaN, -0,
 * infinities, denormals and extremes in all pairs; for class R nearly (as f16 has it, where that is in it), for class D nearly on
 * ordinary numbers. Rules of class R stay
 * away under --exact, those of class D without --assume-finite. `rules_test --bless` writes what the rules make of the sections. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/targets.h"
#include "ir/interp/interp.h"
#include "passes/pass.h"

enum { SECTIONS_MAX = 400, PORTS_MAX = 8, ROUNDS = 12 };

struct section { const char *name, *target, *arguments, *before, *after, *not; };

static const struct loop_library *library;
static int failures;

static const struct { const char *name; char class; } rules[] = {
#define RULE(code, class, name, algebra, when) { #name, #class[0] },
#define ELEMENTWISE(class, name, algebra, when) { #name, #class[0] },
#include "passes/simplify/simplify.def"
};
enum { RULE_COUNT = sizeof rules / sizeof *rules };

static void complain(const struct section *s, const char *what, const char *detail)
{
        fprintf(stderr, "rule %s: %s\n%s\n", s->name, what, detail ? detail : "");
        failures++;
}

/* ---- modules ---- */

static struct module *parse(struct arena *arena, const struct section *s, const char *body, struct diag *diag)
{
        const char *symbols = strstr(s->arguments, " N x") ? "symbol N in [1, 8]\n" : "";
        const char *text = arena_printf(arena, "dnn 3\nmodule \"m\"\n%sfunc @main%s -> (\"out\") {\n%s}\n", symbols, s->arguments, body);
        return tensor_parse(text, strlen(text), NULL, NULL, diag);
}

/* the operations alone */
static char *body_of(struct arena *arena, struct module *m)
{
        struct text text = { 0 };
        module_settle_constants(m);
        tensor_print(&text, m, &(struct tensor_print){ 0 });
        char *body = strstr(arena_string(arena, text.data), "func @main");
        text_free(&text);
        body = strchr(body, '\n') + 1;
        body[strlen(body) - 2] = 0;
        return body;
}

static int apply(struct module *m, const struct section *s, bool exact, bool finite, struct diag *diag)
{
        struct pass_context context = { .diag = diag, .target = target_find(s->target), .library = library, .limits = limits_preset,
                                        .exact = exact, .assume_finite = finite, .rule = s->name };
        return pass_simplify(m->functions, &context);
}

/* ---- running ---- */

static double special(enum element e, int64_t i, char class)
{
        static const double floats[] = { 0, -0.0, 1, -1, 0.5, NAN, INFINITY, -INFINITY, 0x1p-149, -0x1.8p-130, 3.25, -7 };
        static const double whole[] = { 0, 1, -1, 2, 3, 7, -5, 100, 64, -3, 5, 12 };
        _Static_assert(sizeof floats / sizeof *floats == ROUNDS && sizeof whole == sizeof floats, "every pair of them is met");
        switch (element_info[e].class) {
        case CLASS_FLOAT: return class == 'E' ? floats[i % ROUNDS] : (class == 'D' ? 0.3 : -1) + 0.17 * (double)(i % ROUNDS);
        case CLASS_BOOL:  return (double)(i % ROUNDS % 2);
        case CLASS_SINT:  return i % ROUNDS == 8 ? -ldexp(1, 8 * element_info[e].bytes - 1) : whole[i % ROUNDS];
        default:          return i % ROUNDS == 9 ? 255 : fabs(whole[i % ROUNDS]);
        }
}

static void fill(const struct loop_buffer *b, void *data, int64_t step, int64_t offset, char class)
{
        for (int64_t i = 0; i < b->extent; i++) {
                double number = special(b->element, i * step + offset, class);
                union scalar s = { .f = number };
                if (element_info[b->element].class == CLASS_SINT)
                        s.i = (long long)number;
                else if (!element_is_float(b->element))
                        s.u = (unsigned long long)number;
                element_store(b->element, data, (size_t)i, s);
        }
}

/* what the module computes in that round; its only output's buffer */
static const struct loop_buffer *run(struct arena *arena, struct module *m, int round, char class, void **out, struct diag *diag)
{
        struct lower_options plain = { 0 };
        const struct loop_program *p = lower_module(m, m->functions, library, &plain, diag);
        const struct loop_buffer *output = NULL;
        const void *inputs[PORTS_MAX];
        int count = 0;
        for (const struct loop_buffer *b = p ? p->buffers : NULL; b; b = b->next) {
                if (b->space != SPACE_INPUT && b->space != SPACE_OUTPUT)
                        continue;
                void *data = memset(arena_alloc(arena, (size_t)b->extent * 8 + 8), 0, (size_t)b->extent * 8);
                if (b->space == SPACE_OUTPUT) {
                        output = b;
                        *out = data;
                } else {
                        fill(b, data, 1, (int64_t)count * round, class);
                        inputs[count++] = data;
                }
        }
        struct interp *interp = output ? interp_new(p, false, 0, diag) : NULL;
        if (interp && p->extent_count)
                interp_set_extents(interp, (const int64_t[]){ 5 });
        int code = interp ? interp_run(interp, inputs, out, 0, NULL) : 1;
        interp_free(interp);
        return code ? NULL : output;
}

static double number_at(enum element e, const void *data, int64_t i)
{
        union scalar s = element_load(e, data, (size_t)i);
        return element_is_float(e) ? s.f : element_info[e].class == CLASS_SINT ? (double)s.i : (double)s.u;
}

static void compare(struct arena *arena, const struct section *s, struct module *before, struct module *after, char class, struct diag *diag)
{
        const double near = strstr(s->before, "f16") ? 0x1p-9 : 1e-4;
        for (int round = 0; round < ROUNDS; round++) {
                void *x, *y;
                const struct loop_buffer *a = run(arena, before, round, class, &x, diag), *b = run(arena, after, round, class, &y, diag);
                if (!a || !b || a->element != b->element || a->extent != b->extent) {
                        complain(s, "before or after do not run, or are of different types", NULL);
                        return;
                }
                size_t bytes = (size_t)element_info[a->element].bytes;
                for (int64_t i = 0; i < a->extent; i++) {
                        double v = number_at(a->element, x, i), w = number_at(a->element, y, i);
                        bool same = !memcmp((char *)x + (size_t)i * bytes, (char *)y + (size_t)i * bytes, bytes) || (isnan(v) && isnan(w));
                        if (same || (class != 'E' && fabs(v - w) <= near * fabs(v) + near / 10))
                                continue;
                        complain(s, "another result", arena_printf(arena, "element %" PRId64 " of round %d: %.9g before, %.9g after", i, round,
                                                                   v, w));
                        return;
                }
        }
}

/* ---- a section ---- */

static char class_of(const char *name)
{
        for (int i = 0; i < RULE_COUNT; i++)
                if (!strcmp(rules[i].name, name))
                        return rules[i].class;
        return 0;
}

static void check_untouched(struct arena *arena, const struct section *s, const char *body, bool exact, bool finite, const char *what)
{
        struct diag diag = { .subject = s->name };
        struct module *m = parse(arena, s, body, &diag);
        if (!m || apply(m, s, exact, finite, &diag) != 0)
                complain(s, what, m ? body_of(arena, m) : NULL);
        if (m)
                module_free(m);
}

static void check_section(struct section *s, bool bless)
{
        struct diag diag = { .subject = s->name };
        struct arena *arena = arena_new();
        char class = class_of(s->name);
        struct module *before = class ? parse(arena, s, s->before, &diag) : NULL, *after = before ? parse(arena, s, s->before, &diag) : NULL;
        if (!before) {
                complain(s, class ? "the program before is not sound" : "no such rule", NULL);
        } else if (apply(after, s, false, class == 'D', &diag) < 1 || !tensor_verify(after, &diag)) {
                complain(s, "does not apply, or leaves an unsound program", body_of(arena, after));
        } else {
                char *got = body_of(arena, after);
                if (bless)
                        s->after = strdup(got);
                else if (strcmp(got, s->after))
                        complain(s, "makes something else:", got);
                compare(arena, s, before, after, class, &diag);
                if (class == 'R')
                        check_untouched(arena, s, s->before, true, false, "applies under --exact");
                if (class == 'D')
                        check_untouched(arena, s, s->before, false, false, "applies without --assume-finite");
                check_untouched(arena, s, s->not, false, class == 'D', "applies where it must not");
        }
        if (before)
                module_free(before);
        if (after)
                module_free(after);
        arena_free(arena);
}

/* ---- the file ---- */

static char *read_file(const char *path)
{
        FILE *file = fopen(path, "rb");
        static char text[1 << 20];
        size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file)
                fclose(file);
        text[length] = 0;
        return text;
}

/* cuts the text in front of a line `mark`; what follows that line, or NULL */
static char *cut(char *text, const char *mark)
{
        char *at = text ? strstr(text, mark) : NULL;
        if (!at)
                return NULL;
        at[1] = 0;
        return at + strlen(mark);
}

static bool split(char *text, struct section *s)
{
        *s = (struct section){ .name = text, .target = "generic" };
        char *end = strpbrk(text, " \n"), *body = text ? strchr(text, '\n') : NULL;
        if (!body)
                return false;
        if (*end == ' ') {
                s->target = end + 1;
                *body = 0;
        }
        *end = 0;
        s->arguments = ++body;
        body = strchr(body, '\n');
        if (!body)
                return false;
        *body++ = 0;
        s->before = body;
        s->after = cut(body, "\n=>\n");
        s->not = cut((char *)s->after, "\n!=\n");
        return s->after && s->not;
}

int main(int argc, char **argv)
{
        static const char path[] = "test/passes/rules.txt";
        static struct section sections[SECTIONS_MAX];
        bool bless = argc > 1 && !strcmp(argv[1], "--bless");
        struct diag diag = { .subject = "library" };
        library = loop_library_new(arena_new(), &diag);
        char *text = read_file(path), *next;
        int count = 0;
        for (char *at = strstr(text, "== "); at && count < SECTIONS_MAX; at = next) {
                next = strstr(at, "\n== ");
                char *section = strndup(at + 3, next ? (size_t)(next - at) - 2 : strlen(at));
                next = next ? next + 1 : NULL;
                if (split(section, &sections[count]))
                        check_section(&sections[count++], bless);
                else
                        complain(&(struct section){ .name = section }, "a section is not whole", NULL);
        }
        for (int i = 0; i < RULE_COUNT; i++) {
                bool found = false;
                for (int k = 0; k < count; k++)
                        found |= !strcmp(sections[k].name, rules[i].name);
                if (!found)
                        complain(&(struct section){ .name = rules[i].name }, "has no section in test/passes/rules.txt", NULL);
        }
        FILE *out = bless ? fopen(path, "w") : NULL;
        for (int k = 0; out && k < count; k++) {
                const struct section *s = &sections[k];
                fprintf(out, "%s== %s%s%s\n%s\n%s=>\n%s!=\n%s", k ? "" : "; see test/unit/rules_test.c\n", s->name,
                        strcmp(s->target, "generic") ? " " : "", strcmp(s->target, "generic") ? s->target : "", s->arguments, s->before, s->after,
                        s->not);
        }
        if (out)
                fclose(out);
        printf("rules: %d, sections: %d, failures: %d\n", RULE_COUNT, count, failures);
        return failures > 0;
}
