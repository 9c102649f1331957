/* SPDX-License-Identifier: MIT */
/* Tensor data may lie in other files. The location is a word of the model, so it is trusted with
 * nothing: it names a file inside one folder, the model's own or the one given by --allow-external.
 * The path is walked component by component from a descriptor of that folder, links are not
 * followed, and all checks are made on the descriptor that is read. The bytes are read, not mapped:
 * a mapped file that shrinks is a signal. */
#include "front/onnx/onnx_model.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/size.h"
#include "base/file.h"

struct place {
        bytes_t location;
        const char *path;               /* It is the location, NUL-terminated. */
        int64_t offset, length;         /* A length of -1 is not stated. */
};

/* This is a file that was read from. Equal ranges are read once; all others together may not be
 * more than the file holds, so that a small model cannot fill the memory from one file. */
struct file {
        int64_t read;
        struct map *ranges;             /* It maps offset and length to data. */
};

/* ---- what the model says ---- */

static bool key_is(const Onnx__StringStringEntryProto *e, const char *key)
{
        return e->key.len == strlen(key) && !memcmp(e->key.data, key, e->key.len);
}

/* Reads a number that consists of decimal digits alone. */
static bool read_number(struct onnx_import *im, const char *what,
                        const Onnx__StringStringEntryProto *e, int64_t *number)
{
        bytes_t v = e->value;
        bool ok = v.len > 0 && v.len < 20;
        *number = 0;
        for (size_t i = 0; ok && i < v.len; i++)
                ok = v.data[i] >= '0' && v.data[i] <= '9' && int_mul(*number, 10, number) &&
                     int_add(*number, v.data[i] - '0', number);
        if (!ok)
                return onnx_error(im, "%s: external data: %s '%s' is no byte count", what,
                                  SAFE(im, e->key), SAFE(im, v));
        return true;
}

static const char *wrong_component(bytes_t location)
{
        const unsigned char *at = location.data, *end = at + location.len;
        while (at <= end) {
                const unsigned char *slash = at < end ? memchr(at, '/', (size_t)(end - at)) : NULL;
                size_t length = (size_t)((slash ? slash : end) - at);
                if (!length)
                        return "has an empty component";
                if (length == 2 && at[0] == '.' && at[1] == '.')
                        return "leaves the model's folder";
                if (!slash)
                        break;
                at = slash + 1;
        }
        return NULL;
}

static bool location_check(struct onnx_import *im, const char *what, bytes_t location)
{
        const char *wrong;
        if (!location.len)              /* Its data may be NULL. */
                wrong = "names no file";
        else if (memchr(location.data, 0, location.len) ||
                 memchr(location.data, '\\', location.len))
                wrong = "holds a NUL or a backslash";
        else
                wrong = location.data[0] == '/' ? "is absolute" : wrong_component(location);
        if (wrong)
                return onnx_error(im, "%s: external data: location '%s' %s", what,
                                  SAFE(im, location), wrong);
        return true;
}

static bool read_place(struct onnx_import *im, const Onnx__TensorProto *t, const char *what,
                       struct place *p)
{
        const Onnx__StringStringEntryProto *location = NULL, *offset = NULL, *length = NULL;
        *p = (struct place){ .length = -1 };
        for (size_t i = 0; i < t->n_external_data; i++) {
                const Onnx__StringStringEntryProto *e = t->external_data[i];
                const Onnx__StringStringEntryProto **slot = key_is(e, "location") ? &location
                                                            : key_is(e, "offset") ? &offset
                                                            : key_is(e, "length") ? &length
                                                                                  : NULL;
                if (slot && *slot)
                        return onnx_error(im, "%s: external data: two entries '%s'", what,
                                          SAFE(im, e->key));
                if (slot)
                        *slot = e;
        }
        if (!location)
                return onnx_error(im, "%s: external data without a location", what);
        if (!location_check(im, what, location->value) ||
            (offset && !read_number(im, what, offset, &p->offset)) ||
            (length && !read_number(im, what, length, &p->length)))
                return false;
        p->location = location->value;
        p->path = onnx_string(im->arena, location->value);
        return true;
}

/* ---- the file system ---- */

static bool cannot(struct onnx_import *im, const char *what, const struct place *p, const char *why)
{
        diag_error(im->diag, EXIT_IO, "%s: external data '%s': %s", what, SAFE(im, p->location),
                   why);
        return false;
}

/* Returns the folder that locations are relative to, or NULL where none is allowed. */
static const char *base_folder(struct onnx_import *im)
{
        const struct import_options *o = im->options;
        if (o->external_dir)
                return o->external_dir;
        if (!o->path || !*o->path)
                return NULL;
        return path_folder(im->arena, o->path);
}

static bool read_range(int fd, unsigned char *into, size_t bytes, int64_t offset)
{
        while (bytes) {
                ssize_t got = pread(fd, into, bytes < 1 << 30 ? bytes : 1 << 30, (off_t)offset);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return false;
                into += got;
                offset += got;
                bytes -= (size_t)got;
        }
        return true;
}

static bool check_file(struct onnx_import *im, const char *what, const struct place *p, int fd,
                       size_t bytes)
{
        struct stat st;
        int64_t end, limit = im->context->limits.file_bytes;
        if (fstat(fd, &st))
                return cannot(im, what, p, strerror(errno));
        if (!S_ISREG(st.st_mode))
                return cannot(im, what, p, "not a regular file");
        if (st.st_nlink != 1)
                return cannot(im, what, p, "the file has several names (hard links)");
        if (st.st_size > limit)
                return onnx_over_limit(im,
                                       arena_printf(im->arena,
                                                    "%s: external data '%s' of %lld bytes", what,
                                                    SAFE(im, p->location), (long long)st.st_size),
                                       "file_bytes", limit);
        if (p->length >= 0 && (size_t)p->length != bytes)
                return onnx_error(im,
                                  "%s: external data has %" PRId64
                                  " bytes, its shape and type want %zu",
                                  what, p->length, bytes);
        if (!int_add(p->offset, (int64_t)bytes, &end) || end > st.st_size)
                return onnx_error(im,
                                  "%s: external data: offset %" PRId64
                                  " and %zu bytes pass the end of '%s' (%lld bytes)",
                                  what, p->offset, bytes, SAFE(im, p->location),
                                  (long long)st.st_size);
        return true;
}

static struct file *file_of(struct onnx_import *im, const struct place *p, const char *folder)
{
        struct onnx_model *model = im->model;
        const char *path = (const char *)p->location.data;
        struct file *file = map_get(model->files, path, p->location.len);
        if (file)
                return file;
        file = ARENA_NEW(im->arena, struct file);
        file->ranges = map_new(im->arena);
        map_set(model->files, path, p->location.len, file);
        if (model->dependency) {
                bool here = !strcmp(folder, ".");
                model->dependency(model->dependency_context,
                                  arena_printf(im->arena, "%s%s%s", here ? "" : folder,
                                               here ? "" : "/", p->path));
        }
        return file;
}

static const void *read_file(struct onnx_import *im, const char *what, const struct place *p,
                             const char *folder, int fd, size_t bytes)
{
        struct file *file = file_of(im, p, folder);
        const int64_t range[2] = { p->offset, (int64_t)bytes };
        unsigned char *data = map_get(file->ranges, (const char *)range, sizeof range);
        if (data)
                return data;
        struct stat st;
        if (fstat(fd, &st) || !int_add(file->read, (int64_t)bytes, &file->read) ||
            file->read > st.st_size) {
                onnx_error(im, "%s: external data: ranges of '%s' overlap", what,
                           SAFE(im, p->location));
                return NULL;
        }
        data = constant_room(im->m, bytes);
        if (!read_range(fd, data, bytes, p->offset)) {
                cannot(im, what, p, "cannot read all of it");
                return NULL;
        }
        map_set(file->ranges, (const char *)range, sizeof range, data);
        sha256_update(&im->model->sha, data, bytes);
        return data;
}

const void *onnx_external(struct onnx_import *im, const Onnx__TensorProto *t, const char *what,
                          size_t bytes)
{
        struct place p;
        if (!read_place(im, t, what, &p))
                return NULL;
        const char *folder = base_folder(im);
        if (!folder) {
                onnx_error(im,
                           "%s: external data of a model from standard input (allow a folder with "
                           "--allow-external=DIR)",
                           what);
                return NULL;
        }
        int fd = file_open_beneath(folder, arena_string(im->arena, p.path));
        if (fd < 0) {
                cannot(im, what, &p, errno == ELOOP ? "links are not followed" : strerror(errno));
                return NULL;
        }
        const void *data = check_file(im, what, &p, fd, bytes)
                                   ? read_file(im, what, &p, folder, fd, bytes)
                                   : NULL;
        close(fd);
        return data;
}
