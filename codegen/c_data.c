/* SPDX-License-Identifier: MIT */
/* Prints constants: readable numbers where there are few, otherwise rows of bytes.
 *
 * The rows are string literals: they stay below C99's limit for those, keep types and alignment,
 * waste nothing, and compile fast where numbers take minutes. They hold the data in little-endian
 * order; where the compiler says that the machine is big-endian, the same union is initialized from
 * integers. */
#include "codegen/c_writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* ROW_BYTES: gcc keeps two rows of 2000 bytes in a page of its heap; with one row a page it
 * searches all pages freed before for each new one, which takes minutes where weights come to
 * hundreds of megabytes. */
enum {
        SMALL_ELEMENTS = 64,
        ROW_BYTES = C_ROW_BYTES,
        COMPARED_BYTES = 4096,
        BOTH_FORMS_BYTES = 1 << 20
};

static const char *bits_type(int bytes)
{
        static const char *const types[9] = {
                [1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t", [8] = "uint64_t"
        };
        return types[bytes];
}

static union scalar element_at(const struct loop_buffer *b, int64_t i)
{
        return element_load(b->element, b->data, b->splat ? 0 : (size_t)i);
}

static size_t data_bytes(const struct loop_buffer *b)
{
        return (b->splat ? 1 : (size_t)b->extent) * (size_t)element_info[b->element].bytes;
}

bool c_is_zero(const struct loop_buffer *b)
{
        static const unsigned char zero[8];
        return b->extent == 0 ||
               (b->splat && !memcmp(b->data, zero, (size_t)element_info[b->element].bytes));
}

/* ---- forms ---- */

enum form { FORM_NUMBERS, FORM_BITS, FORM_ROWS, FORM_WEIGHT };

static enum form form_of(const struct c_writer *w, const struct loop_buffer *b)
{
        if (c_is_zero(b))
                return FORM_NUMBERS;
        if (c_is_weight(w, b))
                return FORM_WEIGHT;
        if (b->extent > SMALL_ELEMENTS)
                return w->options->target->big_endian ? FORM_BITS : FORM_ROWS;
        if (b->element == E_F32 || b->element == E_F64)
                for (int64_t i = 0; i < b->extent; i++)
                        if (!isfinite(element_at(b, i).f))
                                return FORM_BITS;
        return FORM_NUMBERS;
}

/* ---- names: equal constants share one ---- */

struct group { const struct loop_buffer *buffer; struct c_name *name; struct group *next; };

static bool same_data(const struct loop_buffer *a, const struct loop_buffer *b)
{
        return a->element == b->element && a->extent == b->extent && a->splat == b->splat &&
               (a->data == b->data || !memcmp(a->data, b->data, data_bytes(a)));
}

static struct c_name *find_equal(struct c_writer *w, struct map *groups,
                                 const struct loop_buffer *b)
{
        size_t bytes = data_bytes(b);
        struct { int64_t extent; uint64_t hash, element; } key = {
                b->extent, text_hash(b->data, bytes < COMPARED_BYTES ? bytes : COMPARED_BYTES),
                2 * (uint64_t)b->element + b->splat
        };
        struct group *first = map_get(groups, (const char *)&key, sizeof key);
        for (struct group *g = first; g; g = g->next)
                if (same_data(g->buffer, b))
                        return g->name;
        const char *name = c_global(w, b->name);
        if (c_is_weight(w, b))
                name = c_weight_text(w, name);
        else if (form_of(w, b) != FORM_NUMBERS)
                name = arena_printf(w->arena, "%s.values", name);
        struct group *group = ARENA_NEW(w->arena, struct group);
        *group = (struct group){ b, c_name_set(w, b, name), first };
        map_set(groups, (const char *)&key, sizeof key, group);
        group->name->is_weight = c_is_weight(w, b);
        ARENA_GROW(w->arena, w->constants, w->constant_count);
        w->constants[w->constant_count++] = (struct c_constant){ b, group->name };
        return NULL;
}

void c_constant_names(struct c_writer *w)
{
        struct map *groups = map_new(w->arena);
        for (int level = 0; level < w->level_count; level++)
                for (struct loop_buffer *b = w->levels[level].p->buffers; b; b = b->next) {
                        struct c_name *equal =
                                b->space == SPACE_CONSTANT ? find_equal(w, groups, b) : NULL;
                        if (equal)
                                map_set(w->names, (const char *)&b, sizeof b, equal);
                }
}

/* ---- output, through a buffer of our own, because constants may be large ---- */

struct stream { FILE *file; size_t used; bool escapes_all; char bytes[1 << 16]; };
enum { STREAM_ROOM = 64 }; /* At most this many bytes are added between two calls of stream_room. */

static void stream_flush(struct stream *s)
{
        fwrite(s->bytes, 1, s->used, s->file);
        s->used = 0;
}

static char *stream_room(struct stream *s)
{
        if (s->used + STREAM_ROOM > sizeof s->bytes)
                stream_flush(s);
        return s->bytes + s->used;
}

static void stream_text(struct stream *s, const char *text)
{
        for (size_t length = strlen(text); length;) {
                size_t part = length < STREAM_ROOM ? length : STREAM_ROOM;
                memcpy(stream_room(s), text, part);
                s->used += part;
                text += part;
                length -= part;
        }
}

struct escape { char text[4]; unsigned char length; };

/* Fills in how each byte is written in a string literal: as itself or, so that any byte may follow,
 * as three octal digits. ? is escaped, too, because it may begin a trigraph. all: every byte is, so
 * that no digit follows one (MISRA C:2012, rule 4.1). */
static void fill_escapes(struct escape escapes[256], bool all)
{
        for (unsigned c = 0; c < 256; c++) {
                bool plain = !all && c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?';
                struct escape octal = { { '\\', (char)('0' + c / 64), (char)('0' + c / 8 % 8),
                                          (char)('0' + c % 8) },
                                        4 };
                escapes[c] = plain ? (struct escape){ { (char)c }, 1 } : octal;
        }
}

static void stream_row(struct stream *s, const struct escape escapes[256],
                       const unsigned char *bytes, size_t count)
{
        stream_text(s, "\"");
        while (count) {
                char *out = stream_room(s);
                size_t part = count < STREAM_ROOM / 4 ? count : STREAM_ROOM / 4;
                for (size_t i = 0; i < part; i++) {
                        const struct escape *e = &escapes[bytes[i]];
                        memcpy(out, e->text, 4);
                        out += e->length;
                }
                s->used = (size_t)(out - s->bytes);
                bytes += part;
                count -= part;
        }
        stream_text(s, "\"");
}

static void stream_rows(struct stream *s, const unsigned char *data, size_t bytes)
{
        struct escape escapes[256];
        fill_escapes(escapes, s->escapes_all);
        size_t rows = bytes / ROW_BYTES, tail = bytes % ROW_BYTES;
        stream_text(s, "{ {\n");
        if (rows)
                stream_text(s, "{\n");
        for (size_t i = 0; i < rows; i++) {
                stream_row(s, escapes, data + i * ROW_BYTES, ROW_BYTES);
                stream_text(s, ",\n");
        }
        if (rows)
                stream_text(s, tail ? "},\n" : "}\n");
        if (tail) {
                stream_row(s, escapes, data + rows * ROW_BYTES, tail);
                stream_text(s, "\n");
        }
        stream_text(s, "} }");
}

void c_rows(FILE *from, size_t bytes, FILE *out)
{
        struct escape escapes[256];
        struct stream *s = memory_alloc(sizeof *s);
        unsigned char row[C_ROW_BYTES];
        s->file = out;
        s->used = 0;
        fill_escapes(escapes, false);
        for (size_t part;
             bytes && (part = fread(row, 1, bytes < sizeof row ? bytes : sizeof row, from));
             bytes -= part) {
                stream_row(s, escapes, row, part);
                stream_text(s, ",\n");
        }
        stream_flush(s);
        free(s);
}

/* Writes integers in hexadecimal, most significant digit first. */
static void stream_bits(struct stream *s, const unsigned char *data, size_t count, size_t size)
{
        static const char digits[] = "0123456789abcdef";
        size_t per_line = size == 8 ? 4 : size == 4 ? 8 : 12;
        for (size_t i = 0; i < count; i++, data += size) {
                char *out = stream_room(s);
                if (i % per_line == 0)
                        *out++ = '\n';
                *out++ = '0';
                *out++ = 'x';
                for (size_t k = size; k-- > 0;) {
                        *out++ = digits[data[k] >> 4];
                        *out++ = digits[data[k] & 15];
                }
                if (size > 2)
                        *out++ = 'u';
                *out++ = ',';
                s->used = (size_t)(out - s->bytes);
        }
        stream_text(s, "\n");
}

/* ---- printing ---- */

enum { LARGE_BYTES = 1024 };

/* Returns the macro that may name a section for the constant, and a blank. */
static const char *place_of(struct c_writer *w, const struct loop_buffer *b)
{
        if (w->dialect->is_device)
                return "";
        const bool large = b->extent >= LARGE_BYTES / element_info[b->element].bytes;
        return arena_printf(w->arena, "%s ", c_macro(w, large ? "CONST_LARGE" : "CONST"));
}

static void stream_places(struct c_writer *w, struct stream *s)
{
        if (w->dialect->is_device)
                return;
        const char *all = c_macro(w, "CONST"), *large = c_macro(w, "CONST_LARGE");
        stream_text(s, arena_printf(w->arena,
                                    "\n/* %s may name a section for constants, %s for those "
                                    "of %d bytes and more. */\n"
                                    "#ifndef %s\n#define %s\n#endif\n"
                                    "#ifndef %s\n#define %s %s\n#endif\n",
                                    all, large, LARGE_BYTES, all, all, large, large, all));
}

static void put_numbers(struct c_writer *w, const struct loop_buffer *b, const char *name)
{
        const char *type = element_info[b->element].c_type;
        if (c_is_zero(b)) {
                c_line(w, "static const %s%s %s[%lld] = { 0 };", place_of(w, b), type, name,
                       (long long)(b->extent ? b->extent : 1));
                return;
        }
        c_put(w, "static const %s%s %s[%lld] = {", place_of(w, b), type, name,
              (long long)b->extent);
        for (int64_t i = 0; i < b->extent; i++) {
                c_put(w, "%s" C_SOFT, i ? "," : "");
                if (b->element == E_F16 || b->element == E_BF16) {
                        const unsigned char *bits = (const unsigned char *)b->data +
                                                    (b->splat ? 0 : 2 * i);
                        c_put(w, "0x%02x%02x", bits[1], bits[0]);
                } else {
                        c_put(w, "%s", c_literal(w->arena, b->element, element_at(b, i)));
                }
        }
        c_put(w, C_SOFT "};");
        c_end(w);
}

static void stream_constant(struct c_writer *w, struct stream *s, const struct loop_buffer *b,
                            const char *name, bool both)
{
        size_t size = (size_t)element_info[b->element].bytes, bytes;
        if (!size_mul((size_t)b->extent, size, &bytes))
                memory_exhausted();
        const unsigned char *data = b->data;
        unsigned char *copies = NULL;
        if (b->splat) {
                data = copies = memory_alloc(bytes);
                for (size_t i = 0; i < bytes; i += size)
                        memcpy(copies + i, b->data, size);
        }
        bool rows = form_of(w, b) == FORM_ROWS, bits = !rows || (both && size > 1);
        size_t row_count = bytes / ROW_BYTES, tail = bytes % ROW_BYTES;
        struct text text = { 0 };
        text_add(&text, "static const %sunion {\n", place_of(w, b));
        if (rows)
                text_add(&text, "        struct { unsigned char ");
        if (rows && row_count)
                text_add(&text, "rows[%zu][%d]%s", row_count, ROW_BYTES, tail ? ", " : "");
        if (rows && tail)
                text_add(&text, "tail[%zu]", tail);
        if (rows)
                text_add(&text, "; } bytes;\n");
        if (bits)
                text_add(&text, "        %s bits[%lld];\n", bits_type((int)size),
                         (long long)b->extent);
        text_add(&text, "        %s values[%lld];\n} ", element_info[b->element].c_type,
                 (long long)b->extent);
        if (w->has_vectors)             /* The constant is aligned to cache lines, because a vector
                                         * that crosses two of them is read twice. */
                text_add(&text, "__attribute__((aligned(%d))) ", C_WEIGHTS_ALIGN);
        text_add(&text, "%s =%s", name,
                 rows && bits ? "\n#ifdef BIG_ENDIAN_MACHINE\n{ .bits = {"
                 : bits       ? " { {"
                              : " ");
        stream_text(s, text.data);
        if (bits)
                stream_bits(s, data, (size_t)b->extent, size);
        if (bits)
                stream_text(s, "} }");
        if (rows && bits)
                stream_text(s, "\n#else\n");
        if (rows)
                stream_rows(s, data, bytes);
        if (rows && bits)
                stream_text(s, "\n#endif\n");
        stream_text(s, ";\n");
        text_free(&text);
        free(copies);
}

static const char rows_preamble[] =
        "\n/* Rows of bytes are string literals without their final 0. */\n"
        "#if defined(__clang__)\n"
        "#if __has_warning(\"-Wunterminated-string-initialization\")\n"
        "#pragma clang diagnostic ignored \"-Wunterminated-string-initialization\"\n"
        "#endif\n"
        "#elif defined(__GNUC__) && __GNUC__ >= 15\n"
        "#pragma GCC diagnostic ignored \"-Wunterminated-string-initialization\"\n"
        "#endif\n"
        "#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__)\n"
        "#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__\n";
static const char both_preamble[] =
        "#define BIG_ENDIAN_MACHINE\n";
static const char little_preamble[] =
        "#error \"constants are little-endian: compile the model with --target=generic-be\"\n";

/* Returns the bytes of constants in rows whose elements have so many bytes, or more. */
static size_t row_bytes(struct c_writer *w, int size)
{
        size_t sum = 0;
        for (size_t i = 0; i < w->constant_count; i++) {
                const struct loop_buffer *b = w->constants[i].buffer;
                if (element_info[b->element].bytes >= size && form_of(w, b) == FORM_ROWS)
                        sum += (size_t)b->extent * (size_t)element_info[b->element].bytes;
        }
        return sum;
}

static void print_constant(struct c_writer *w, struct stream *s, const struct c_constant *c,
                           bool both, bool first)
{
        enum form form = form_of(w, c->buffer);
        const char *name =
                arena_printf(w->arena, "%.*s", (int)strcspn(c->name->text, "."), c->name->text);
        stream_text(s, !first && form == FORM_NUMBERS ? "" : "\n");
        struct text text = { 0 };
        c_level_open(w, &text, c->name->level);
        if (form == FORM_NUMBERS) {
                w->out = &text;
                put_numbers(w, c->buffer, name);
        }
        stream_text(s, text.length ? text.data : "");
        text.length = 0;
        if (form != FORM_NUMBERS)
                stream_constant(w, s, c->buffer, name, both);
        c_level_close(w, &text, c->name->level);
        stream_text(s, text.length ? text.data : "");
        text_free(&text);
}

void c_constants(struct c_writer *w, FILE *out)
{
        struct stream *s = memory_alloc(sizeof *s);
        bool any = false, any_rows = false;
        s->file = out;
        s->escapes_all = row_bytes(w, 1) <= BOTH_FORMS_BYTES;
        bool both = row_bytes(w, 2) <= BOTH_FORMS_BYTES;
        for (size_t i = 0; i < w->constant_count && !w->failed; i++) {
                const struct c_constant *c = &w->constants[i];
                if (c->name->is_weight)
                        continue;
                bool rows = form_of(w, c->buffer) == FORM_ROWS;
                if (rows && !any_rows) {
                        stream_text(s, rows_preamble);
                        stream_text(s, both ? both_preamble : little_preamble);
                        stream_text(s, "#endif\n#endif\n");
                }
                any_rows |= rows;
                if (!any)
                        stream_places(w, s);
                print_constant(w, s, c, both, !any);
                any = true;
        }
        stream_flush(s);
        free(s);
}
