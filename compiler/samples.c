/* SPDX-License-Identifier: MIT */
#include "compiler/samples.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sha256.h"
#include "front/import.h"
#include "compiler/npz.h"

enum set_kind { SET_TENSORS, SET_ARRAYS, SET_NPZ };       /* A set is a folder of .pb or of .npy, or
                                                           * a file. */

/* These are some samples that lie together. */
struct set {
        enum set_kind kind;
        const char *path, *name;        /* The name is for messages and files: it is safe. */
        int64_t count;
};

/* A set has this for one input; `owned` is to be freed. A packed array has the stream, in which its
 * data begin at `start`. */
struct part {
        struct array array;
        unsigned char *owned;
        struct zip_stream *stream;
        size_t start;
        bool several;
        int64_t dims[RANK_MAX];         /* Of one sample. */
};

struct samples {
        struct run *run;
        struct arena *arena;
        const struct function *f;
        int input_count;
        struct set *sets;
        int set_count;
        int64_t count;
        /* This is the set that is open. */
        const struct set *open;
        struct part *parts;             /* There are input_count parts. */
        unsigned char *file;            /* They are the bytes of an .npz. */
        struct module *tensors;         /* The tensors of .pb files lie in it. */
        void **inputs;                  /* There are input_count inputs. */
};

static const struct type *input_type(const struct samples *s, int k)
{
        return s->f->body.arguments[k].type;
}

static const char *input_name(struct samples *s, int k)
{
        const char *name = s->f->input_ports[k].name;
        return text_safe(s->arena, name, strlen(name));
}

static bool fail(struct samples *s, const struct set *set, int k, const char *why)
{
        diag_error(&s->run->diag, EXIT_INVALID, "samples %s: input '%s': %s", set->name,
                   input_name(s, k), why);
        return false;
}

/* ---- which part of a set is of which input ---- */

/* Returns the name of input k's array in one of three ways: its own name, input_K, or arr_K. */
enum { NAMES = 3 };
static const char *array_name(struct samples *s, int k, int which)
{
        return which == 0 ? s->f->input_ports[k].name
                          : arena_printf(s->arena, which == 1 ? "input_%d" : "arr_%d", k);
}

static bool has_name(const struct zip_member *m, const char *name)
{
        size_t length = strlen(name);
        return (m->name_length == length || (m->name_length == length + 4 &&
                                             !memcmp(m->name + length, ".npy", 4))) &&
               !memcmp(m->name, name, length);
}

static bool missing(struct samples *s, const struct set *set, int k)
{
        return fail(s, set, k,
                    arena_printf(s->arena, "there is no array of that name, nor input_%d or arr_%d",
                                 k, k));
}

/* Is the extent such a dimension, or one that a run may give? */
static bool dim_takes(const struct samples *s, dim_t dim, int64_t extent)
{
        const struct module *m = s->f->module;
        return dim_is_static(dim) ? dim_is(dim, extent)
                                  : dim_least(m, dim) <= extent && extent <= dim_bound(m, dim);
}

/* Returns how many samples an array has for an input, or -1 where it is not of the input's type. */
static int64_t samples_in(const struct samples *s, const struct array *a, const struct type *t,
                          bool *several)
{
        int more = a->rank - t->rank;
        bool behind = a->element == t->element && (more == 0 || more == 1);
        for (int d = 0; d < t->rank && behind; d++)
                behind = dim_takes(s, t->dims[d], a->dims[d + more]) ||
                         (more == 0 && d == 0 && dim_is(t->dims[0], 1));
        *several = behind && (more == 1 || (t->rank && !dim_takes(s, t->dims[0], a->dims[0])));
        return !behind ? -1 : *several ? a->dims[0] : 1;
}

/* Notes the shape of a sample, which a file of several has behind their number, or with 1 there. */
static void note_shape(const struct samples *s, int k)
{
        struct part *part = &s->parts[k];
        const int rank = input_type(s, k)->rank, more = part->array.rank - rank;
        for (int d = 0; d < rank; d++)
                part->dims[d] = part->several && !more && !d ? 1 : part->array.dims[d + more];
}

static int64_t sample_elements(const struct samples *s, int k)
{
        int64_t count = 1;
        for (int d = 0; d < input_type(s, k)->rank; d++)
                count *= s->parts[k].dims[d];
        return count;
}

const int64_t *samples_shape(const struct samples *s, int k) { return s->parts[k].dims; }

/* Takes the array; `wrong` says what is wrong with its reading, or is NULL. */
static bool take_array(struct samples *s, struct set *set, int k, const char *wrong)
{
        struct part *part = &s->parts[k];
        if (wrong)
                return fail(s, set, k, wrong);
        int64_t count = samples_in(s, &part->array, input_type(s, k), &part->several);
        if (count < 0)
                return fail(s, set, k,
                            arena_printf(s->arena, "the array is %s, the model's input %s, or with "
                                                   "one dimension more in front, of samples",
                                         array_text(s->arena, &part->array),
                                         type_text(s->arena, s->f->module, input_type(s, k))));
        if (set->count >= 0 && set->count != count)
                return fail(s, set, k,
                            arena_printf(s->arena,
                                         "the array has %" PRId64
                                         " samples, that of input '%s' %" PRId64,
                                         count, input_name(s, 0), set->count));
        set->count = count;
        note_shape(s, k);
        return true;
}

/* ---- opening ---- */

static void close_set(struct samples *s)
{
        for (int k = 0; k < s->input_count; k++) {
                free(s->parts[k].owned);
                zip_close(s->parts[k].stream);
        }
        memset(s->parts, 0, (size_t)s->input_count * sizeof *s->parts);
        free(s->file);
        module_free(s->tensors);
        s->file = NULL;
        s->tensors = NULL;
        s->open = NULL;
}

static bool open_npz(struct samples *s, struct set *set)
{
        size_t length;
        struct zip_member *members;
        int count;
        const int64_t limit = s->run->context.limits.file_bytes;
        if (!file_read(set->path, limit, &s->file, &length, &s->run->diag))
                return false;
        if (s->input_count == 1 && length > 6 && !memcmp(s->file, "\x93NUMPY", 6))
                return take_array(s, set, 0,
                                  npy_read(s->file, length,
                                           &s->parts[0].array)); /* One array needs no name. */
        const char *wrong = zip_read(s->arena, s->file, length, &members, &count);
        if (wrong) {
                diag_error(&s->run->diag, EXIT_INVALID, "samples %s: %s", set->name, wrong);
                return false;
        }
        for (int k = 0; k < s->input_count; k++) {
                const struct zip_member *found = NULL;
                for (int which = 0; which < NAMES && !found; which++)
                        for (int i = 0; i < count && !found; i++)
                                if (has_name(&members[i], array_name(s, k, which)))
                                        found = &members[i];
                if (!found)
                        return missing(s, set, k);
                struct part *part = &s->parts[k];
                part->stream = zip_open(found);
                if (!take_array(s, set, k, zip_array(part->stream, &part->array, &part->start)))
                        return false;
        }
        return true;
}

static const char *path_in(struct samples *s, const struct set *set, const char *name,
                           const char *tail)
{
        return arena_printf(s->arena, "%s/%s%s", set->path, name, tail);
}

static bool exists(const char *path)
{
        struct stat st;
        return !stat(path, &st);
}

static bool open_arrays(struct samples *s, struct set *set)
{
        for (int k = 0; k < s->input_count; k++) {
                const char *path = NULL;
                size_t length;
                for (int which = 0; which < NAMES && !path; which++) {
                        const char *name = array_name(s, k, which);
                        /* Such a name leads to no other folder. */
                        bool plain = *name && !strchr(name, '/');
                        path = plain ? path_in(s, set, name, ".npy") : NULL;
                        path = path && exists(path) ? path : NULL;
                }
                if (!path)
                        return missing(s, set, k);
                if (!file_read(path, s->run->context.limits.file_bytes, &s->parts[k].owned, &length,
                               &s->run->diag))
                        return false;
                run_depends(s->run, path);
                if (!take_array(s, set, k, npy_read(s->parts[k].owned, length, &s->parts[k].array)))
                        return false;
        }
        return true;
}

/* Spreads a splat, which is stored as one element. */
static void spread(const struct value *v, struct part *part, size_t count)
{
        size_t bytes = (size_t)element_info[v->type->element].bytes;
        part->owned = memory_alloc(count * bytes + 1);
        for (size_t i = 0; i < count; i++)
                memcpy(part->owned + i * bytes, constant_data(v->constant), bytes);
}

static bool open_tensors(struct samples *s, struct set *set)
{
        s->tensors = module_new("samples");
        for (int k = 0; k < s->input_count; k++) {
                const char *path = path_in(s, set, arena_printf(s->arena, "input_%d", k), ".pb");
                const struct type *want = input_type(s, k);
                struct part *part = &s->parts[k];
                bool is_text;
                struct value *v = onnx_tensor_file(s->tensors, path, &s->run->context, &is_text);
                if (!v)
                        return false;
                run_depends(s->run, path);
                bool fits = !is_text && v->type->element == want->element &&
                            v->type->rank == want->rank;
                for (int d = 0; fits && d < want->rank; d++) {
                        part->dims[d] = type_extent(v->type, d);
                        fits = dim_takes(s, want->dims[d], part->dims[d]);
                }
                if (!fits)
                        return fail(s, set, k,
                                    arena_printf(s->arena,
                                                 "input_%d.pb holds %s, the model's input is %s", k,
                                                 type_text(s->arena, s->tensors, v->type),
                                                 type_text(s->arena, s->f->module, want)));
                if (v->constant->kind == CONSTANT_SPLAT)
                        spread(v, part, (size_t)sample_elements(s, k));
                part->array = (struct array){ .data = part->owned ? part->owned
                                                                  : constant_data(v->constant) };
        }
        set->count = 1;
        return true;
}

static bool open_set(struct samples *s, struct set *set)
{
        static bool (*const opens[])(struct samples *, struct set *) = {
                [SET_TENSORS] = open_tensors, [SET_ARRAYS] = open_arrays, [SET_NPZ] = open_npz,
        };
        if (s->open == set)
                return true;
        close_set(s);
        s->open = set;
        set->count = -1;
        return opens[set->kind](s, set);
}

/* ---- finding ---- */

static bool has_tail(const char *name, const char *tail)
{
        size_t length = strlen(name), end = strlen(tail);
        return length > end && !strcmp(name + length - end, tail);
}

/* Returns the names in a folder but hidden ones; it returns NULL and sets *count to -1 after an
 * error. */
static char **list_folder(struct samples *s, const char *path, int *count)
{
        DIR *folder = opendir(path);
        char **names = NULL;
        *count = 0;
        if (!folder) {
                diag_error(&s->run->diag, EXIT_IO, "cannot read %s: %s",
                           text_argument(s->arena, path), strerror(errno));
                *count = -1;
                return NULL;
        }
        for (const struct dirent *entry; (entry = readdir(folder));)
                if (entry->d_name[0] != '.') {
                        ARENA_GROW(s->arena, names, *count);
                        names[(*count)++] = arena_string(s->arena, entry->d_name);
                }
        closedir(folder);
        return names;
}

static void add_set(struct samples *s, enum set_kind kind, const char *path)
{
        const char *end = path + strlen(path);
        while (end > path + 1 && end[-1] == '/')
                end--;
        const char *base = end;
        while (base > path && base[-1] != '/')
                base--;
        if (base == end) {              /* It is the root of the file system. */
                base = "samples";
                end = base + strlen(base);
        }
        ARENA_GROW(s->arena, s->sets, s->set_count);
        s->sets[s->set_count++] = (struct set){
                .kind = kind, .path = path, .name = text_safe(s->arena, base, (size_t)(end - base))
        };
}

/* Adds a set whose files lie in the folder itself, where there is one. */
static bool add_flat(struct samples *s, const char *path, char **names, int count)
{
        bool tensors = false, arrays = false;
        for (int i = 0; i < count; i++) {
                tensors |= !strcmp(names[i], "input_0.pb");
                arrays |= has_tail(names[i], ".npy");
        }
        if (tensors || arrays)
                add_set(s, tensors ? SET_TENSORS : SET_ARRAYS, path);
        return tensors || arrays;
}

static int set_order(const void *a, const void *b)
{
        struct sample x = { .name = ((const struct set *)a)->name },
                      y = { .name = ((const struct set *)b)->name };
        return sample_order(&x, &y);
}

static bool find_sets(struct samples *s, const char *path)
{
        struct stat st;
        int count, inner;
        if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
                add_set(s, SET_NPZ, path);
                return true;
        }
        char **names = list_folder(s, path, &count);
        if (count < 0 || add_flat(s, path, names, count))
                return count >= 0;
        for (int i = 0; i < count; i++) {
                const char *at = arena_printf(s->arena, "%s/%s", path, names[i]);
                if (has_tail(names[i], ".npz"))
                        add_set(s, SET_NPZ, at);
                if (stat(at, &st) || !S_ISDIR(st.st_mode))
                        continue;
                char **within = list_folder(s, at, &inner);
                if (inner < 0)
                        return false;
                add_flat(s, at, within, inner);
        }
        if (s->set_count)
                qsort(s->sets, (size_t)s->set_count, sizeof *s->sets, set_order);
        for (int i = 1; i < s->set_count; i++)
                if (!set_order(&s->sets[i - 1], &s->sets[i])) {
                        diag_error(&s->run->diag, EXIT_INVALID,
                                   "two folders or files of samples are called %s",
                                   s->sets[i].name);
                        return false;
                }
        return true;
}

static bool no_samples(struct samples *s, const char *path)
{
        diag_error(
                &s->run->diag, EXIT_INVALID,
                "there are no samples in %s: want folders with input_0.pb .. as --test reads, .npy "
                "files named like inputs, or .npz files of such",
                text_argument(s->arena, path));
        return false;
}

static bool count_samples(struct samples *s, const char *path, int64_t most)
{
        int i = 0;
        for (; i < s->set_count && (!most || s->count < most); i++) {
                struct set *set = &s->sets[i];
                if (!open_set(s, set))
                        return false;
                if (set->kind == SET_NPZ)
                        run_depends(s->run, set->path);
                s->count += set->count;
        }
        s->set_count = i;
        if (most && s->count > most)
                s->count = most;
        return s->count || no_samples(s, path);
}

struct samples *samples_open(struct run *run, const char *path, const struct function *f,
                             int64_t most)
{
        struct arena *arena = arena_new();
        struct samples *s = ARENA_NEW(arena, struct samples);
        *s = (struct samples){
                .run = run, .arena = arena, .f = f, .input_count = f->body.argument_count
        };
        s->parts = arena_array(arena, (size_t)s->input_count, sizeof *s->parts);
        s->inputs = arena_array(arena, (size_t)s->input_count, sizeof *s->inputs);
        for (int k = 0; k < s->input_count; k++)
                s->inputs[k] = arena_alloc(
                        arena, (size_t)(type_most_elements(f->module, input_type(s, k)) *
                                        element_info[input_type(s, k)->element].bytes));
        if (find_sets(s, path) && count_samples(s, path, most))
                return s;
        samples_close(s);
        return NULL;
}

void samples_close(struct samples *s)
{
        if (!s)
                return;
        close_set(s);
        arena_free(s->arena);
}

int64_t samples_count(const struct samples *s) { return s->count; }

/* ---- reading ---- */

static bool is_truth(const unsigned char *data, size_t bytes)
{
        unsigned any = 0;
        for (size_t i = 0; i < bytes; i++)
                any |= data[i];
        return any <= 1;
}

bool samples_read(struct samples *s, int64_t i, struct sample *sample, const void *const **inputs)
{
        struct set *set = s->sets;
        struct sha256 sha;
        sha256_init(&sha);
        for (; i >= set->count; set++)
                i -= set->count;
        int64_t count = set->count;
        if (!open_set(s, set))
                return false;
        if (set->count != count) {
                diag_error(&s->run->diag, EXIT_IO, "samples %s changed while they were read",
                           set->name);
                return false;
        }
        struct arena *arena = s->run->arena;              /* Names outlive the samples. */
        sample->name = set->kind == SET_TENSORS
                               ? arena_string(arena, set->name)
                               : arena_printf(arena, "%s:%" PRId64, set->name, i);
        for (int k = 0; k < s->input_count; k++) {
                size_t bytes = (size_t)(sample_elements(s, k) *
                                        element_info[input_type(s, k)->element].bytes);
                const struct part *part = &s->parts[k];
                size_t at = part->several ? (size_t)i * bytes : 0;
                const char *wrong =
                        part->stream ? zip_get(part->stream, part->start + at, s->inputs[k], bytes)
                                     : NULL;
                if (wrong)
                        return fail(s, set, k, wrong);
                if (!part->stream)
                        memcpy(s->inputs[k], part->array.data + at, bytes);
                if (input_type(s, k)->element == E_BOOL && !is_truth(s->inputs[k], bytes))
                        return fail(s, set, k, "a truth value is neither 0 nor 1");
                sha256_update(&sha, s->inputs[k], bytes);
        }
        sha256_hex(&sha, sample->digest);
        *inputs = (const void *const *)s->inputs;
        return true;
}
