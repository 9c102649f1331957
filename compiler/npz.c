/* SPDX-License-Identifier: MIT */
#include "compiler/npz.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/text.h"

/* ---- .npy ---- */

enum { HEADER_MAX = 65536, HEAD_MAX = HEADER_MAX + 12 };

static const struct { const char *text; enum element element; } types[] = {
        { "<f4", E_F32 }, { "<f8", E_F64 }, { "<f2", E_F16 }, { "|i1", E_I8 },  { "|u1", E_U8 },  { "|b1", E_BOOL },
        { "<i2", E_I16 }, { "<u2", E_U16 }, { "<i4", E_I32 }, { "<u4", E_U32 }, { "<i8", E_I64 }, { "<u8", E_U64 },
};

/* It is the text of a header, which is a dictionary in Python's notation. */
struct header { const char *p, *end; };

static char peek(struct header *h)
{
        while (h->p < h->end && (*h->p == ' ' || *h->p == '\n'))
                h->p++;
        return h->p < h->end ? *h->p : 0;
}

static bool take(struct header *h, char c)
{
        bool found = peek(h) == c;
        h->p += found;
        return found;
}

/* Reads a string in quotes, of at most 31 bytes. */
static bool take_string(struct header *h, char text[32])
{
        char quote = peek(h);
        const char *start = h->p + 1;
        if (quote != '\'' && quote != '"')
                return false;
        const char *stop = memchr(start, quote, (size_t)(h->end - start));
        if (!stop || stop - start > 31)
                return false;
        memcpy(text, start, (size_t)(stop - start));
        text[stop - start] = 0;
        h->p = stop + 1;
        return true;
}

static bool take_word(struct header *h, const char *word)
{
        size_t length = strlen(word);
        if (peek(h) != *word || (size_t)(h->end - h->p) < length || memcmp(h->p, word, length) != 0)
                return false;
        h->p += length;
        return true;
}

static bool take_extent(struct header *h, int64_t *extent)
{
        char digits[20];
        int n = 0;
        for (char c = peek(h); c >= '0' && c <= '9' && n < 19; c = ++h->p < h->end ? *h->p : 0)
                digits[n++] = c;
        digits[n] = 0;
        return n && int_parse(digits, extent);
}

/* Reads (), (3,), (3, 4), or (3, 4,). */
static bool take_shape(struct header *h, struct array *a)
{
        if (!take(h, '('))
                return false;
        while (!take(h, ')')) {
                if (a->rank == RANK_MAX || !take_extent(h, &a->dims[a->rank++]))
                        return false;
                if (!take(h, ',') && peek(h) != ')')
                        return false;
        }
        return true;
}

static const char *take_type(struct header *h, struct array *a)
{
        char text[32];
        if (!take_string(h, text))
                return "its header has no plain type of elements";
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                if (!strcmp(types[i].text, text)) {
                        a->element = types[i].element;
                        return NULL;
                }
        if (((text[0] == '|' && text[1] == 'S') || (text[0] == '<' && text[1] == 'U')) &&
            int_parse(text + 2, &a->text) && a->text > 0) {
                a->element = text[1] == 'S' ? E_U8 : E_U32;
                return NULL;
        }
        return "its elements are of a type that is not read: want numbers or bool in little "
               "endian, as numpy.ascontiguousarray(x, dtype='<f4') gives";
}

static const char *read_header(struct header h, struct array *a)
{
        enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
        int seen = 0;
        if (!take(&h, '{'))
                return "its header is malformed";
        while (!take(&h, '}')) {
                char key[32];
                if (!take_string(&h, key) || !take(&h, ':'))
                        return "its header is malformed";
                int member = !strcmp(key, "descr") ? DESCR : !strcmp(key, "fortran_order") ? ORDER
                             : !strcmp(key, "shape") ? SHAPE : 0;
                if (!member || (seen & member))
                        return "its header is malformed";
                const char *wrong = member == DESCR ? take_type(&h, a) : NULL;
                if (wrong)
                        return wrong;
                if (member == ORDER && take_word(&h, "True"))
                        return "it is in Fortran's order: save numpy.ascontiguousarray of it";
                if ((member == ORDER && !take_word(&h, "False")) ||
                    (member == SHAPE && !take_shape(&h, a)) || (!take(&h, ',') && peek(&h) != '}'))
                        return "its header is malformed";
                seen |= member;
        }
        if (a->text && a->rank == RANK_MAX)
                return "it has too many dimensions";
        if (a->text)
                a->dims[a->rank++] = a->text;
        return seen == (DESCR | ORDER | SHAPE) ? NULL : "its header is malformed";
}

/* Reads the array of a file of `whole` bytes, of which `length` are here: the whole header is. */
static const char *read_array(const unsigned char *bytes, size_t length, size_t whole,
                              struct array *array)
{
        static const char magic[] = "\x93NUMPY";
        size_t at = 10, size;
        int64_t count;
        *array = (struct array){ 0 };
        if (length < 10 || memcmp(bytes, magic, 6) != 0)
                return "it is not in NumPy's format";
        if (bytes[6] < 1 || bytes[6] > 3)
                return "it is in a version of NumPy's format that is not known";
        size = bytes[8] | (size_t)bytes[9] << 8;
        if (bytes[6] > 1) {
                if (length < 12)
                        return "it ends in its header";
                size |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
                at = 12;
        }
        if (size > HEADER_MAX || length - at < size)
                return "it ends in its header";
        const char *text = (const char *)bytes + at;
        const char *wrong = read_header((struct header){ text, text + size }, array);
        if (wrong)
                return wrong;
        array->data = bytes + at + size;
        if (!size_elements(array->dims, array->rank, &count) ||
            !size_mul((size_t)count, (size_t)element_info[array->element].bytes, &array->bytes))
                return "its shape is too large";
        return array->bytes == whole - at - size
                       ? NULL
                       : "its elements are not as many as its shape says";
}

const char *npy_read(const unsigned char *bytes, size_t length, struct array *array)
{
        return read_array(bytes, length, length, array);
}

const char *array_text(struct arena *arena, const struct array *a)
{
        struct text text = { 0 };
        text_add(&text, "<");
        for (int d = 0; d < a->rank; d++)
                text_add(&text, "%" PRId64 " x ", a->dims[d]);
        text_add(&text, "%s>", element_info[a->element].text);
        const char *copy = arena_string(arena, text.data);
        text_free(&text);
        return copy;
}

enum element npy_element(enum element e)
{
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                if (types[i].element == e)
                        return e;
        return element_info[e].bytes == 2 ? E_U16 : element_storage(e);
}

void npy_write(FILE *file, enum element e, int rank, const int64_t *dims, const void *data,
               size_t bytes, bool is_text)
{
        size_t i = 0;
        struct text text = { 0 };
        while (types[i].element != npy_element(e))
                i++;
        const char *type = types[i].text;
        char type_of_texts[32];
        if (is_text) {
                snprintf(type_of_texts, sizeof type_of_texts, "|S%" PRId64, dims[--rank]);
                type = type_of_texts;
        }
        text_add(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
        for (int d = 0; d < rank; d++)
                text_add(&text, "%" PRId64 ",%s", dims[d], d + 1 < rank ? " " : "");
        text_add(&text, ")}");
        while ((10 + text.length + 1) % 64)     /* Data begin at a multiple of 64 bytes. */
                text_add(&text, " ");
        text_add(&text, "\n");
        fwrite("\x93NUMPY\1", 1, 8, file);      /* It is version 1.0, whose last byte is the
                                                 * literal's end. */
        fputc((int)(text.length & 0xff), file);
        fputc((int)(text.length >> 8), file);
        fwrite(text.data, 1, text.length, file);
        fwrite(data, 1, bytes, file);
        text_free(&text);
}

/* ---- zip ---- */

enum {
        END_SIZE = 22, END64_SIZE = 56, LOCATOR_SIZE = 20, CENTRAL_SIZE = 46, LOCAL_SIZE = 30,
        COMMENT_MAX = 65535, EXTRA_64 = 1, ENCRYPTED = 1, DEFLATE_MOST = 1032
};

static uint64_t little(const unsigned char *p, int bytes)
{
        uint64_t value = 0;
        for (int i = 0; i < bytes; i++)
                value |= (uint64_t)p[i] << 8 * i;
        return value;
}

static const char malformed[] = "it is no zip file, or a damaged one";

/* It is where the directory is, and how many entries it has. */
struct directory { uint64_t offset, count; };

/* Returns the last record of the file, or NULL where there is none. */
static const unsigned char *find_end(const unsigned char *bytes, size_t length)
{
        size_t first = length > END_SIZE + COMMENT_MAX ? length - END_SIZE - COMMENT_MAX : 0;
        for (size_t at = length < END_SIZE ? 0 : length - END_SIZE + 1; at-- > first;)
                if (!memcmp(bytes + at, "PK\5\6", 4) &&
                    at + END_SIZE + little(bytes + at + 20, 2) == length)
                        return bytes + at;
        return NULL;
}

static bool find_directory(const unsigned char *bytes, size_t length, struct directory *d)
{
        const unsigned char *end = find_end(bytes, length);
        if (!end)
                return false;
        d->count = little(end + 10, 2);
        d->offset = little(end + 16, 4);
        if (d->count != 0xffff && d->offset != 0xffffffff)
                return true;
        if (end - bytes < LOCATOR_SIZE || memcmp(end - LOCATOR_SIZE, "PK\6\7", 4) != 0)
                return true;            /* There may be just so many. */
        uint64_t at = little(end - LOCATOR_SIZE + 8, 8);
        if (at > length || length - at < END64_SIZE || memcmp(bytes + at, "PK\6\6", 4) != 0)
                return false;
        d->count = little(bytes + at + 32, 8);
        d->offset = little(bytes + at + 48, 8);
        return true;
}

/* Reads sizes and an offset that do not fit into 32 bits, which stand in an extra field, in this
 * order. */
static bool read_extra(const unsigned char *extra, size_t length, uint64_t *const fields[3])
{
        while (length >= 4) {
                size_t size = little(extra + 2, 2), at = 4;
                if (size > length - 4)
                        return false;
                for (int i = 0; i < 3 && little(extra, 2) == EXTRA_64; i++) {
                        if (*fields[i] != 0xffffffff)
                                continue;
                        if (at + 8 > size + 4)
                                return false;
                        *fields[i] = little(extra + at, 8);
                        at += 8;
                }
                extra += size + 4;
                length -= size + 4;
        }
        return true;
}

/* Reads the entry of the directory at *at, and its local header, behind which the member lies. */
static const char *read_member(const unsigned char *bytes, size_t length, uint64_t *at,
                               struct zip_member *m)
{
        if (*at > length || length - *at < CENTRAL_SIZE || memcmp(bytes + *at, "PK\1\2", 4) != 0)
                return malformed;
        const unsigned char *p = bytes + *at;
        size_t name = little(p + 28, 2), extra = little(p + 30, 2), comment = little(p + 32, 2);
        uint64_t packed = little(p + 20, 4), size = little(p + 24, 4), offset = little(p + 42, 4);
        if (length - *at - CENTRAL_SIZE < name + extra + comment ||
            !read_extra(p + CENTRAL_SIZE + name, extra,
                        (uint64_t *const[]){ &size, &packed, &offset }))
                return malformed;
        *at += CENTRAL_SIZE + name + extra + comment;
        if (offset > length || length - offset < LOCAL_SIZE ||
            memcmp(bytes + offset, "PK\3\4", 4) != 0)
                return malformed;
        uint64_t data = offset + LOCAL_SIZE + little(bytes + offset + 26, 2) +
                        little(bytes + offset + 28, 2);
        if (data > length || length - data < packed)
                return malformed;
        *m = (struct zip_member){ (const char *)p + CENTRAL_SIZE, name, bytes + data, packed, size,
                                  (unsigned)little(p + 16, 4), (unsigned)little(p + 10, 2) };
        if (little(p + 8, 2) & ENCRYPTED)
                return "a member of it is encrypted";
        if (m->method != 0 && m->method != 8)
                return "a member of it is packed by another method than deflate";
        /* A member that is not so is made to take all memory. */
        return (m->method ? size / DEFLATE_MOST > packed : size != packed) ? malformed : NULL;
}

const char *zip_read(struct arena *arena, const unsigned char *bytes, size_t length,
                     struct zip_member **members, int *count)
{
        struct directory d;
        *members = NULL;
        *count = 0;
        if (!find_directory(bytes, length, &d) || d.count > length / CENTRAL_SIZE)
                return malformed;
        for (uint64_t at = d.offset; d.count; d.count--) {
                ARENA_GROW(arena, *members, *count);
                const char *wrong = read_member(bytes, length, &at, &(*members)[*count]);
                if (wrong)
                        return wrong;
                ++*count;
        }
        return NULL;
}

/* ---- streams ---- */

static const char damaged[] = "its packed bytes are damaged";

struct zip_stream {
        const struct zip_member *member;
        z_stream z;
        bool open, ended;               /* z is to be ended; it said that it is at its end. */
        size_t position, taken;         /* They are bytes given, and packed bytes that z was
                                         * handed. */
        uLong crc;                      /* It is the checksum of all bytes up to position. */
};

struct zip_stream *zip_open(const struct zip_member *member)
{
        struct zip_stream *s = memory_alloc(sizeof *s);
        s->member = member;
        return s;
}

static void rewind_stream(struct zip_stream *s)
{
        if (s->open)
                inflateEnd(&s->z);
        *s = (struct zip_stream){ .member = s->member, .crc = crc32(0, NULL, 0) };
}

void zip_close(struct zip_stream *s)
{
        if (s)
                rewind_stream(s);
        free(s);
}

/* Inflates up to `room` bytes and returns how many there were; at 0 there are no more, or they are
 * damaged. zlib counts in 32 bits. */
static size_t inflate_some(struct zip_stream *s, unsigned char *to, size_t room)
{
        enum { PIECE = 1 << 30 };
        const struct zip_member *m = s->member;
        if (!s->open && inflateInit2(&s->z, -MAX_WBITS) != Z_OK)
                return 0;
        s->open = true;
        s->z.next_out = to;
        s->z.avail_out = room < PIECE ? (uInt)room : PIECE;
        uInt wanted = s->z.avail_out;
        while (s->z.avail_out == wanted && !s->ended) {
                if (!s->z.avail_in) {
                        size_t left = m->packed_size - s->taken;
                        s->z.next_in = (unsigned char *)(uintptr_t)m->packed + s->taken;
                        s->z.avail_in = left < PIECE ? (uInt)left : PIECE;
                        s->taken += s->z.avail_in;
                }
                int code = inflate(&s->z, Z_NO_FLUSH);
                s->ended = code == Z_STREAM_END;
                if (code != Z_OK)
                        break;
        }
        return wanted - s->z.avail_out;
}

/* Checks, when all bytes have been given, whether they were all, and those that were packed. */
static const char *check_end(struct zip_stream *s)
{
        unsigned char more;
        if (s->member->method && !s->ended && (inflate_some(s, &more, 1) || !s->ended))
                return damaged;
        return (unsigned)s->crc == s->member->crc ? NULL : "its checksum is wrong";
}

/* Gets the next `bytes` bytes. */
static const char *next_bytes(struct zip_stream *s, unsigned char *to, size_t bytes)
{
        enum { PIECE = 1 << 30 };
        const struct zip_member *m = s->member;
        while (bytes) {
                size_t got = bytes < PIECE ? bytes : PIECE;
                if (m->method)
                        got = inflate_some(s, to, got);
                else
                        memcpy(to, m->packed + s->position, got);
                if (!got)
                        return damaged;
                s->crc = crc32(s->crc, to, (uInt)got);
                s->position += got;
                to += got;
                bytes -= got;
        }
        return s->position == m->size ? check_end(s) : NULL;
}

const char *zip_get(struct zip_stream *s, size_t at, void *to, size_t bytes)
{
        enum { SKIP = 65536 };
        const char *wrong = NULL;
        if (at > s->member->size || bytes > s->member->size - at)
                return "it ends too soon";
        if (at < s->position || !s->position)
                rewind_stream(s);
        unsigned char *passed = s->position < at ? memory_alloc(SKIP) : NULL;
        while (s->position < at && !wrong)
                wrong = next_bytes(s, passed, at - s->position < SKIP ? at - s->position : SKIP);
        free(passed);
        return wrong ? wrong : next_bytes(s, to, bytes);
}

const char *zip_array(struct zip_stream *s, struct array *array, size_t *start)
{
        size_t size = s->member->size, length = size < HEAD_MAX ? size : HEAD_MAX;
        unsigned char *head = memory_alloc(length);
        const char *wrong = zip_get(s, 0, head, length);
        wrong = wrong ? wrong : read_array(head, length, size, array);
        *start = wrong ? 0 : (size_t)(array->data - head);
        array->data = NULL;
        free(head);
        return wrong;
}
