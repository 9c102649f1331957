/* SPDX-License-Identifier: MIT */
/* The verifier of Loop IR checks the whole program: buffers, the plan, calls of kernels, the
 * library. */
#include "ir/loop/loop_verify.h"
#include "ir/loop/loop_bounds.h"
#include "ir/loop/loop_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

enum { VIEW_DEPTH_MAX = 64 };           /* Views of views may be this deep. */

bool verify_has_buffer(const struct verifier *v, const struct loop_buffer *b)
{
        if (!b || !v->buffers || map_get(v->buffers, b->name, strlen(b->name)) != b)
                return false;
        const struct loop_buffer *root = loop_buffer_root((struct loop_buffer *)(uintptr_t)b, NULL);
        return !v->entry || loop_is_of_all(root) ||
               &v->program->entries[root->entry] == v->entry;
}

bool verify_has_function(const struct verifier *v, const struct loop_function *f)
{
        if (!v->program)
                return map_get(v->functions, (const char *)&f, sizeof f) != NULL;
        return v->program->library && f->scalar_count > 0 &&
               loop_library_find(v->program->library, f->name, f->scalars[0]->type.element) == f;
}

bool verify_has_kernel(const struct verifier *v, const struct loop_function *f)
{
        return f->name && map_get(v->kernels, f->name, strlen(f->name)) == f;
}

/* ---- buffers ---- */

static bool check_port(struct verifier *v, const struct loop_buffer *b)
{
        bool port = loop_is_port(b);
        if (port && !b->port)
                return verify_error(v, "buffer %s has no port", b->name);
        if (b->space == SPACE_STATE && (!b->next_port || b->is_text))
                return verify_error(v, "buffer %s cannot be state", b->name);
        if (b->is_text && (!port || !b->type || !type_holds_texts(b->type)))
                return verify_error(v, "buffer %s is no port of texts", b->name);
        if (!b->type)
                return true;
        int64_t extents[RANK_MAX], elements;
        bool fits = type_is_static(b->type) && b->type->rank <= RANK_MAX &&
                    element_storage(b->type->element) == b->element;
        if (fits)
                dims_extents(extents, b->type->rank, b->type->dims);
        if (!fits || !size_elements(extents, b->type->rank, &elements) || elements != b->extent)
                return verify_error(v, "the shape of buffer %s does not have its %lld elements",
                                    b->name, (long long)b->extent);
        return true;
}

static bool check_view(struct verifier *v, const struct loop_buffer *b)
{
        const struct loop_buffer *of = b->view_of;
        int depth = 0;
        if (!of || of->element != b->element || !verify_has_buffer(v, of))
                return verify_error(v, "buffer %s is a view of nothing before it", b->name);
        if (b->view_offset < 0 || b->view_offset > of->extent ||
            of->extent - b->view_offset < b->extent)
                return verify_error(v, "view %s leaves %s", b->name, of->name);
        for (; of->space == SPACE_VIEW; of = of->view_of)
                if (++depth > VIEW_DEPTH_MAX)
                        return verify_error(v, "views are nested more than %d deep",
                                            VIEW_DEPTH_MAX);
        return true;
}

static bool check_place(struct verifier *v, const struct loop_buffer *b)
{
        int64_t bytes = b->extent * element_info[b->element].bytes, end;
        if (b->region < 0 || b->region > v->program->region_count)
                return verify_error(v, "buffer %s lies in no region", b->name);
        if (!v->program->planned)
                return true;
        int64_t size = b->region ? v->program->regions[b->region - 1].size
                                 : v->program->entries[b->entry].workspace_size;
        if (b->offset < 0 || b->offset % element_info[b->element].bytes ||
            !int_add(b->offset, bytes, &end) || end > size)
                return verify_error(v, "buffer %s lies outside its region", b->name);
        return true;
}

static bool check_program_buffer(struct verifier *v, const struct loop_buffer *b)
{
        if (!b->name || !text_is_identifier(b->name))
                return verify_error(v, "'%s' cannot be a name", b->name ? b->name : "");
        if (map_get(v->buffers, b->name, strlen(b->name)))
                return verify_error(v, "two buffers are called %s", b->name);
        if (!element_is_stored(b->element) || b->extent < 0 || b->extent > EXTENT_MAX)
                return verify_error(v, "buffer %s has no storage", b->name);
        if (b->entry < 0 || b->entry >= v->program->entry_count)
                return verify_error(v, "buffer %s belongs to no entry", b->name);
        if (!check_port(v, b))
                return false;
        if (b->space == SPACE_VIEW ? !check_view(v, b)
                                   : loop_is_placed(b) && !check_place(v, b))
                return false;
        if (b->space > SPACE_VIEW)
                return verify_error(v, "buffer %s is not in a space of the program", b->name);
        if (b->space == SPACE_CONSTANT && !b->data && (b->extent || b->splat))
                return verify_error(v, "constant %s has no data", b->name);
        map_set(v->buffers, b->name, strlen(b->name), (void *)(uintptr_t)b);
        return true;
}

/* ---- calls ---- */

/* An extent is an argument as the bytes that it may touch; origin: what the bytes are counted
 * from. */
struct extent {
        const void *origin;
        int64_t start, end;
        int alias_class;
        bool written;
        const char *name;
};

/* Returns the first equal offset of the call into the same buffer; NULL when argument i has
 * none. */
static const struct loop_expr *moving_offset(const struct loop_stmt *call, int i)
{
        const struct loop_expr *offset = call->offsets ? call->offsets[i] : NULL;
        for (int k = 0; offset && k < i; k++)
                if (call->offsets[k] && loop_expr_same(call->offsets[k], offset) &&
                    loop_buffer_root(call->buffers[k], NULL) ==
                            loop_buffer_root(call->buffers[i], NULL))
                        return call->offsets[k];
        return offset;
}

static struct extent argument_extent(const struct verifier *v, struct loop_buffer *argument,
                                     const struct loop_buffer *parameter,
                                     const struct loop_expr *moving)
{
        int64_t offset, bytes = element_info[parameter->element].bytes;
        const struct loop_buffer *root = loop_buffer_root(argument, &offset);
        struct extent e = { .origin = root, .start = offset * bytes, .name = argument->name,
                            .alias_class = parameter->alias_class,
                            .written = parameter->access != ACCESS_IN };
        e.end = e.start + parameter->extent * bytes;
        if (moving) {                   /* It is not known where else that may be. */
                e.origin = moving;
        } else if (root->space == SPACE_WORKSPACE && v->program->planned) {
                e.origin = root->region ? &v->program->regions[root->region - 1] : NULL;
                e.start += root->offset;
                e.end += root->offset;
        }
        return e;
}

static int by_start(const void *x, const void *y)
{
        const struct extent *a = x, *b = y;
        if (a->origin != b->origin)
                return (uintptr_t)a->origin < (uintptr_t)b->origin ? -1 : 1;
        return a->start != b->start ? (a->start < b->start ? -1 : 1) : 0;
}

/* The two ends that reach farthest so far, of different alias classes (class 0 is different from
 * itself). */
struct reach { int64_t end[2]; int alias_class; };

static void reach_add(struct reach *r, const struct extent *e)
{
        bool same = e->alias_class > 0 && e->alias_class == r->alias_class;
        if (e->end > r->end[0]) {
                if (!same)
                        r->end[1] = r->end[0];
                r->end[0] = e->end;
                r->alias_class = e->alias_class;
        } else if (!same && e->end > r->end[1])
                r->end[1] = e->end;
}

static bool reach_hits(const struct reach *r, const struct extent *e)
{
        bool same = e->alias_class > 0 && e->alias_class == r->alias_class;
        return r->end[same ? 1 : 0] > e->start;
}

/* Checks that arguments overlap only when neither is written, or both are of one positive alias
 * class. It is one sweep over the arguments by address, because kernels may have many. */
static bool check_overlap(struct verifier *v, const struct loop_stmt *call)
{
        const struct loop_function *f = call->function;
        struct extent *extents = arena_array(v->arena, (size_t)f->buffer_count, sizeof *extents);
        int count = 0;
        for (int i = 0; i < f->buffer_count; i++) {
                extents[count] =
                        argument_extent(v, call->buffers[i], f->buffers[i], moving_offset(call, i));
                count += extents[count].end > extents[count].start;
        }
        qsort(extents, (size_t)count, sizeof *extents, by_start);
        struct reach all = { { INT64_MIN, INT64_MIN }, 0 }, written = all;
        for (int i = 0; i < count; i++) {
                const struct extent *e = &extents[i];
                if (i && extents[i - 1].origin != e->origin)
                        all = written = (struct reach){ { INT64_MIN, INT64_MIN }, 0 };
                if (reach_hits(e->written ? &all : &written, e))
                        return verify_error(
                                v, "argument %s overlaps another one, and one of them is written",
                                e->name);
                reach_add(&all, e);
                if (e->written)
                        reach_add(&written, e);
        }
        return true;
}

static bool check_argument(struct verifier *v, struct loop_buffer *argument,
                           const struct loop_buffer *parameter)
{
        if (!verify_has_buffer(v, argument))
                return verify_error(v, "an argument is no buffer of the program");
        if (argument->element != parameter->element || argument->extent < parameter->extent)
                return verify_error(
                        v, "argument %s is %s[%lld], want %s[%lld]", argument->name,
                        element_info[argument->element].text, (long long)argument->extent,
                        element_info[parameter->element].text, (long long)parameter->extent);
        enum loop_space space = loop_buffer_root(argument, NULL)->space;
        if (parameter->access != ACCESS_IN && (space == SPACE_INPUT || space == SPACE_CONSTANT))
                return verify_error(v, "argument %s cannot be written", argument->name);
        return true;
}

bool verify_call(struct verifier *v, const struct loop_stmt *call)
{
        const struct loop_function *f = call->function;
        if (!f || (f->kind != FUNCTION_KERNEL && f->kind != FUNCTION_STREAM) ||
            !verify_has_kernel(v, f))
                return verify_error(v, "call of %s, which is no kernel of the program",
                                    f && f->name ? f->name : "nothing");
        for (int i = 0; i < f->buffer_count; i++)
                if (!check_argument(v, call->buffers[i], f->buffers[i]) ||
                    (call->offsets && call->offsets[i] &&
                     !verify_expr(v, call->offsets[i], LOOP_TYPE(E_INDEX), "an offset")))
                        return false;
        for (int i = 0; i < f->scalar_count; i++) {
                const struct loop_variable *x = f->scalars[i];
                if (!verify_expr(v, call->scalars[i], x->type, "an argument"))
                        return false;
                struct loop_range r = loop_bounds_of(NULL, call->scalars[i]);
                if (x->high && (r.low < x->low || r.high > x->high))
                        return verify_error(v, "an argument may leave the bounds of %%%s", x->name);
        }
        return check_overlap(v, call);
}

/* ---- programs and libraries ---- */

static bool is_power_of_two(int64_t n) { return n > 0 && !(n & (n - 1)); }

static bool check_region(struct verifier *v, int number)
{
        const struct loop_program *p = v->program;
        const struct loop_region *r = &p->regions[number];
        bool twice = false;
        for (int i = 0; i < number; i++)
                twice |= !strcmp(p->regions[i].name, r->name);
        if (twice || !text_is_identifier(r->name) ||
            !text_is_remark(r->section, strlen(r->section)) || !is_power_of_two(r->align) ||
            r->align > 4096 || r->size < 0 || r->size > r->limit)
                return verify_error(v, "region '%s' makes no sense", r->name);
        return true;
}

/* Checks the record of runs in steps: main begins with the call that clears it. */
static bool check_record(struct verifier *v, const struct loop_entry *e)
{
        const struct loop_buffer *b = e->record;
        const struct loop_stmt *first = e->main->body->first;
        if (!b)
                return true;
        if (b->element != E_I64 || b->space != SPACE_WORKSPACE || b->region || e->step < 1 ||
            b->extent < RECORD_KERNEL + CELL_FIRST + record_main_words(v->program, e))
                return verify_error(v, "buffer %s cannot be a record", b->name);
        return (first && first->kind == STMT_CALL && first->function->buffer_count == 1 &&
                first->buffers[0] == b && !first->function->scalar_count) ||
               verify_error(v, "main of %s does not begin by clearing its record", e->name);
}

static bool check_entry(struct verifier *v, int number)
{
        const struct loop_entry *e = &v->program->entries[number];
        bool twice = false;
        for (int i = 0; i < number; i++)
                twice |= !strcmp(v->program->entries[i].name, e->name);
        if (twice || !(text_is_identifier(e->name) || !strcmp(e->name, "main")) ||
            e->main->kind != FUNCTION_MAIN)
                return verify_error(v, "entry '%s' makes no sense", e->name);
        if (v->program->planned && (e->workspace_size < 0 || e->live_peak < 0))
                return verify_error(v, "the plan's size and alignment make no sense");
        return check_record(v, e);
}

/* Checks that each state has a number among the outputs; in a program of one entry, one of its
 * own: of several entries each counts its outputs itself. */
static bool check_states(struct verifier *v)
{
        int count = 0;
        for (const struct loop_buffer *b = v->program->buffers; b; b = b->next)
                count += loop_is_output(b);
        bool *taken = arena_array(v->arena, (size_t)count + 1, sizeof *taken);
        for (const struct loop_buffer *b = v->program->buffers; b; b = b->next) {
                if (b->space != SPACE_STATE)
                        continue;
                if (b->next_number < 0 || b->next_number >= count ||
                    (taken[b->next_number] && v->program->entry_count == 1))
                        return verify_error(v, "buffer %s is no output of its own", b->name);
                taken[b->next_number] = true;
        }
        return true;
}

static bool check_program(struct verifier *v)
{
        const struct loop_program *p = v->program;
        if (!p->name || !text_is_remark(p->name, strlen(p->name)))
                return verify_error(v, "the program's name is no safe text");
        if (p->planned && (p->workspace_align < 1 || p->workspace_align > 4096 ||
                           !is_power_of_two(p->workspace_align)))
                return verify_error(v, "the plan's size and alignment make no sense");
        for (int i = 0; i < p->entry_count; i++)
                if (!check_entry(v, i))
                        return false;
        for (int i = 0; i < p->region_count; i++)
                if (!check_region(v, i))
                        return false;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                if (!check_program_buffer(v, b))
                        return false;
        if (!check_states(v))
                return false;
        for (struct loop_function *f = p->kernels; f; f = f->next) {
                if (!f->name || !text_is_identifier(f->name) ||
                    map_get(v->buffers, f->name, strlen(f->name)) ||
                    map_get(v->kernels, f->name, strlen(f->name)))
                        return verify_error(v, "'%s' cannot be a kernel's name here",
                                            f->name ? f->name : "");
                if ((f->kind != FUNCTION_KERNEL && f->kind != FUNCTION_TASK &&
                     f->kind != FUNCTION_STREAM) ||
                    !verify_function(v, f))
                        return v->failed ? false : verify_error(v, "%s is no kernel", f->name);
                map_set(v->kernels, f->name, strlen(f->name), f);
                v->function = NULL;
                v->stmt = NULL;
        }
        for (int i = 0; i < p->entry_count; i++) {
                v->entry = &p->entries[i];
                if (!verify_function(v, p->entries[i].main))
                        return false;
        }
        return p->entry_count > 0 || verify_error(v, "the program has no entry");
}

bool loop_verify_program(const struct loop_program *p, enum exit_code code, struct diag *diag)
{
        struct verifier v = { .arena = arena_new(), .diag = diag, .code = code, .program = p };
        v.names = map_new(v.arena);
        v.buffers = map_new(v.arena);
        v.kernels = map_new(v.arena);
        bool good = check_program(&v);
        arena_free(v.arena);
        return good;
}

bool loop_verify(const struct loop_program *p, struct diag *diag)
{
        return loop_verify_program(p, EXIT_INTERNAL, diag);
}

bool loop_verify_library(struct loop_function *first, struct diag *diag)
{
        struct verifier v = { .arena = arena_new(), .diag = diag, .code = EXIT_INTERNAL };
        v.names = map_new(v.arena);
        v.functions = map_new(v.arena);
        bool good = true;
        for (struct loop_function *f = first; good && f; f = f->next) {
                good = verify_function(&v, f);
                map_set(v.functions, (const char *)&f, sizeof f, f);
        }
        arena_free(v.arena);
        return good;
}
