/* SPDX-License-Identifier: MIT */
/* Exchange files. What a file says is believed of nothing before it is checked.
 *
 *      0  "VTAPROG1"                     64  a record for each segment:            then contents, each at a multiple of 16
 *      8  configuration, 12 bytes             0  name, padded with 0
 *     20  segments                           32  kind, 0
 *     24  bytes of memory                    40  address
 *     32  bytes of the file                  48  bytes
 *     40  0                                  56  where its content is; 0: all zero
 */
#include <inttypes.h>
#include <string.h>

#include "codegen/machines.h"
#include "codegen/vta/program.h"

enum { MAGIC = 8 };
enum { HEADER = 64, RECORD = 64, CONTENT_ALIGN = 16 };
enum { AT_SIZES = 8, AT_COUNT = 20, AT_DRAM = 24, AT_FILE = 32, AT_REST = 40 };
enum { IN_NAME = 0, IN_KIND = 32, IN_ZERO = 36, IN_ADDRESS = 40, IN_BYTES = 48, IN_OFFSET = 56 };

/* the machine that a file is for, by how it begins; NULL: none */
static const struct program_codec *program_codec_of(const unsigned char *bytes, size_t length)
{
        for (int k = 0; machines[k]; k++) {
                const struct program_codec *c = machine_codec(k);
                if (length >= MAGIC && !memcmp(bytes, c->magic, MAGIC))
                        return c;
        }
        return NULL;
}

bool vta_is_exchange(const unsigned char *bytes, size_t length)
{
        return program_codec_of(bytes, length) != NULL;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
        for (size_t k = 0; k < count; k++)
                if (bytes[k])
                        return false;
        return true;
}

/* ---- reading ---- */

static bool read_header(const struct vta_program *p, const unsigned char *bytes, size_t length, uint64_t *count, struct diag *diag)
{
        unsigned char sizes[VTA_CONFIGURATION];
        if (!p->codec) {
                diag_error(diag, EXIT_INVALID, "no exchange file: it does not begin with %s", vta_codec.magic);
                return false;
        }
        p->codec->configuration(p, sizes);
        if (length < HEADER) {
                diag_error(diag, EXIT_INVALID, "the file ends after %zu bytes, within the header of %d", length, HEADER);
                return false;
        }
        for (int k = 0; k < VTA_CONFIGURATION; k++)
                if (bytes[AT_SIZES + k] != sizes[k]) {
                        diag_error(diag, EXIT_INVALID, "at byte %d: the program is for another machine, 2^%d where this one has 2^%d: see --sizes",
                                   AT_SIZES + k, bytes[AT_SIZES + k], sizes[k]);
                        return false;
                }
        if (vta_number(bytes + AT_FILE, 8) != length) {
                diag_error(diag, EXIT_INVALID, "the file has %zu bytes, and says %" PRIu64, length, vta_number(bytes + AT_FILE, 8));
                return false;
        }
        if (!is_zero(bytes + AT_REST, HEADER - AT_REST)) {
                diag_error(diag, EXIT_INVALID, "at byte %d: the end of the header is not 0", AT_REST);
                return false;
        }
        *count = vta_number(bytes + AT_COUNT, 4);
        if (*count < 2 || *count > VTA_SEGMENTS_MOST || *count > (length - HEADER) / RECORD) {
                diag_error(diag, EXIT_INVALID, "%" PRIu64 " segments do not fit into a file of %zu bytes: want 2 to %d", *count, length,
                           VTA_SEGMENTS_MOST);
                return false;
        }
        return true;
}

/* a record that lies within the file; contents begin at `least` */
static const char *read_record(struct vta_segment *s, const unsigned char *bytes, size_t length, size_t at, size_t least)
{
        const unsigned char *record = bytes + at;
        size_t name = 0;
        while (name < VTA_NAME && record[name])
                name++;
        if (!vta_name_is_good((const char *)record, name) || !is_zero(record + name, VTA_NAME - name))
                return "a name is 1 to 31 letters, digits, _ . -, padded with 0";
        memcpy(s->name, record, name);
        uint64_t number = vta_number(record + IN_KIND, 4), address = vta_number(record + IN_ADDRESS, 8);
        uint64_t size = vta_number(record + IN_BYTES, 8), offset = vta_number(record + IN_OFFSET, 8);
        int kind = 0;
        while (kind < VTA_KINDS && (uint64_t)vta_kinds[kind].number != number)
                kind++;
        if (kind == VTA_KINDS)
                return "there is no such kind";
        if (!is_zero(record + IN_ZERO, 4))
                return "the four bytes behind the kind are not 0";
        if (address > (uint64_t)VTA_DRAM_MOST || size > (uint64_t)VTA_DRAM_MOST)
                return "address or size is beyond 2^32";
        if (offset && (offset % CONTENT_ALIGN || offset < least || offset > length || size > length - offset))
                return "its content is not within the file, at a multiple of 16 behind the table";
        s->kind = (enum vta_kind)kind;
        s->address = (int64_t)address;
        s->bytes = (int64_t)size;
        s->content = offset ? bytes + offset : NULL;
        return NULL;
}

bool vta_exchange_read(struct vta_program *p, const struct vta *v, const unsigned char *bytes, size_t length, struct arena *arena,
                       struct diag *diag)
{
        uint64_t count = 0;
        *p = (struct vta_program){ .codec = program_codec_of(bytes, length), .vta = *v };
        if (!read_header(p, bytes, length, &count, diag))
                return false;
        uint64_t dram = vta_number(bytes + AT_DRAM, 8);
        p->count = (int)count;
        p->dram_bytes = dram > INT64_MAX ? INT64_MAX : (int64_t)dram;
        p->segments = arena_array(arena, (size_t)count, sizeof *p->segments);
        for (size_t k = 0; k < count; k++) {
                size_t at = HEADER + k * RECORD;
                const char *why = read_record(&p->segments[k], bytes, length, at, HEADER + (size_t)count * RECORD);
                if (why) {
                        diag_error(diag, EXIT_INVALID, "segment %zu, at byte %zu: %s", k, at, why);
                        return false;
                }
        }
        return vta_program_begin(p, arena, diag);
}

/* ---- writing ---- */

static void put(struct text *out, uint64_t number, int count)
{
        for (int k = 0; k < count; k++)
                text_add_bytes(out, &(char){ (char)(unsigned char)(number >> 8 * k) }, 1);
}

static void put_zeros(struct text *out, size_t count)
{
        while (count--)
                text_add_bytes(out, "", 1);
}

static size_t aligned(size_t n) { return (n + CONTENT_ALIGN - 1) / CONTENT_ALIGN * CONTENT_ALIGN; }

void vta_exchange_write(const struct vta_program *p, struct text *out)
{
        unsigned char sizes[VTA_CONFIGURATION];
        size_t table = HEADER + (size_t)p->count * RECORD, end = table, start = out->length;
        p->codec->configuration(p, sizes);
        for (int k = 0; k < p->count; k++)
                if (p->segments[k].content)
                        end = aligned(end) + (size_t)p->segments[k].bytes;
        text_add_bytes(out, p->codec->magic, MAGIC);
        text_add_bytes(out, (const char *)sizes, sizeof sizes);
        put(out, (uint64_t)p->count, 4);
        put(out, (uint64_t)p->dram_bytes, 8);
        put(out, end, 8);
        put_zeros(out, HEADER - AT_REST);
        size_t at = table;
        for (int k = 0; k < p->count; k++) {
                const struct vta_segment *s = &p->segments[k];
                text_add_bytes(out, s->name, VTA_NAME);
                put(out, (uint64_t)vta_kinds[s->kind].number, 4);
                put(out, 0, 4);
                put(out, (uint64_t)s->address, 8);
                put(out, (uint64_t)s->bytes, 8);
                put(out, s->content ? at = aligned(at) : 0, 8);
                if (s->content)
                        at += (size_t)s->bytes;
        }
        for (int k = 0; k < p->count; k++) {
                const struct vta_segment *s = &p->segments[k];
                if (!s->content)
                        continue;
                put_zeros(out, aligned(out->length - start) - (out->length - start));
                text_add_bytes(out, (const char *)s->content, (size_t)s->bytes);
        }
}
