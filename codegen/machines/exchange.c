/* SPDX-License-Identifier: MIT */
/* Reads and writes exchange files. Everything in a file is checked before it is used.
 *
 *      0  "VTAPROG1"                     64  a record for each segment:
 *      8  configuration, 12 bytes             0  name, padded with 0
 *     20  number of segments                 32  kind, 0
 *     24  bytes of memory                    40  address
 *     32  bytes of the file                  48  bytes
 *     40  0                                  56  offset of its content; 0: all bytes are zero
 *
 * The contents follow the records, each at a multiple of 16 bytes. */
#include <inttypes.h>
#include <string.h>

#include "codegen/machines/machines.h"
#include "codegen/machines/machine_program.h"

enum { MAGIC = 8 };
enum { HEADER = 64, RECORD = 64, CONTENT_ALIGN = 16 };
enum { AT_SIZES = 8, AT_COUNT = 20, AT_DRAM = 24, AT_FILE = 32, AT_REST = 40 };
enum { IN_NAME = 0, IN_KIND = 32, IN_ZERO = 36, IN_ADDRESS = 40, IN_BYTES = 48, IN_OFFSET = 56 };

/* Returns the instruction set of the machine that a file begins with; NULL where it is no machine's
 * file. */
static const struct instruction_set *set_of(const unsigned char *bytes, size_t length)
{
        for (int k = 0; machines[k]; k++) {
                const struct instruction_set *set = machine_instructions(machines[k]);
                if (length >= MAGIC && !memcmp(bytes, set->magic, MAGIC))
                        return set;
        }
        return NULL;
}

bool is_exchange(const unsigned char *bytes, size_t length)
{
        return set_of(bytes, length) != NULL;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
        for (size_t k = 0; k < count; k++)
                if (bytes[k])
                        return false;
        return true;
}

/* ---- reading ---- */

static bool read_header(const struct machine_program *p, const unsigned char *bytes, size_t length,
                        uint64_t *count, struct diag *diag)
{
        unsigned char sizes[ISA_CONFIGURATION];
        isa_configuration(&p->isa, sizes);
        if (length < HEADER) {
                diag_error(diag, EXIT_INVALID,
                           "the file ends after %zu bytes, within the header of %d", length,
                           HEADER);
                return false;
        }
        for (int k = 0; k < ISA_CONFIGURATION; k++)
                if (bytes[AT_SIZES + k] != sizes[k]) {
                        diag_error(diag, EXIT_INVALID,
                                   "at byte %d: the program is for another machine, 2^%d where "
                                   "this one has 2^%d: see --sizes",
                                   AT_SIZES + k, bytes[AT_SIZES + k], sizes[k]);
                        return false;
                }
        if (code_word(bytes + AT_FILE, 8) != length) {
                diag_error(diag, EXIT_INVALID, "the file has %zu bytes, and says %" PRIu64, length,
                           code_word(bytes + AT_FILE, 8));
                return false;
        }
        if (!is_zero(bytes + AT_REST, HEADER - AT_REST)) {
                diag_error(diag, EXIT_INVALID, "at byte %d: the end of the header is not 0",
                           AT_REST);
                return false;
        }
        *count = code_word(bytes + AT_COUNT, 4);
        if (*count < 2 || *count > SEGMENTS_MOST || *count > (length - HEADER) / RECORD) {
                diag_error(diag, EXIT_INVALID,
                           "%" PRIu64 " segments do not fit into a file of %zu bytes: want 2 to %d",
                           *count, length,
                           SEGMENTS_MOST);
                return false;
        }
        return true;
}

/* Reads a record, whose content must lie within the file from offset `least` on. Returns what is
 * wrong with it, or NULL. */
static const char *read_record(struct segment *s, const unsigned char *bytes, size_t length,
                               size_t at, size_t least)
{
        const unsigned char *record = bytes + at;
        size_t name = 0;
        while (name < SEGMENT_NAME && record[name])
                name++;
        if (!segment_name_is_good((const char *)record, name) ||
            !is_zero(record + name, SEGMENT_NAME - name))
                return "a name is 1 to 31 letters, digits, _ . -, padded with 0";
        memcpy(s->name, record, name);
        uint64_t number = code_word(record + IN_KIND, 4),
                 address = code_word(record + IN_ADDRESS, 8);
        uint64_t size = code_word(record + IN_BYTES, 8), offset = code_word(record + IN_OFFSET, 8);
        int kind = 0;
        while (kind < SEGMENT_KINDS && (uint64_t)segment_kinds[kind].number != number)
                kind++;
        if (kind == SEGMENT_KINDS)
                return "there is no such kind";
        if (!is_zero(record + IN_ZERO, 4))
                return "the four bytes behind the kind are not 0";
        if (address > (uint64_t)PROGRAM_MEMORY_MOST || size > (uint64_t)PROGRAM_MEMORY_MOST)
                return "address or size is beyond 2^32";
        if (offset &&
            (offset % CONTENT_ALIGN || offset < least || offset > length || size > length - offset))
                return "its content is not within the file, at a multiple of 16 behind the table";
        s->kind = (enum segment_kind)kind;
        s->address = (int64_t)address;
        s->bytes = (int64_t)size;
        s->content = offset ? bytes + offset : NULL;
        return NULL;
}

bool exchange_read(struct machine_program *p, const struct isa *isa, const unsigned char *bytes,
                   size_t length, struct arena *arena, struct diag *diag)
{
        uint64_t count = 0;
        const struct instruction_set *set = set_of(bytes, length);
        *p = (struct machine_program){ .isa = *isa };
        if (!set) {
                diag_error(diag, EXIT_INVALID, "no exchange file: it does not begin with %s",
                           isa->set->magic);
                return false;
        }
        if (set != isa->set && !isa_begin_sizes(&p->isa, set, "", diag))
                return false;
        if (!read_header(p, bytes, length, &count, diag))
                return false;
        uint64_t dram = code_word(bytes + AT_DRAM, 8);
        p->count = (int)count;
        p->dram_bytes = dram > INT64_MAX ? INT64_MAX : (int64_t)dram;
        p->segments = arena_array(arena, (size_t)count, sizeof *p->segments);
        for (size_t k = 0; k < count; k++) {
                size_t at = HEADER + k * RECORD;
                const char *why = read_record(&p->segments[k], bytes, length, at,
                                              HEADER + (size_t)count * RECORD);
                if (why) {
                        diag_error(diag, EXIT_INVALID, "segment %zu, at byte %zu: %s", k, at, why);
                        return false;
                }
        }
        return program_begin(p, arena, diag);
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

void exchange_write(const struct machine_program *p, struct text *out)
{
        unsigned char sizes[ISA_CONFIGURATION];
        size_t table = HEADER + (size_t)p->count * RECORD, end = table, start = out->length;
        isa_configuration(&p->isa, sizes);
        for (int k = 0; k < p->count; k++)
                if (p->segments[k].content)
                        end = aligned(end) + (size_t)p->segments[k].bytes;
        text_add_bytes(out, p->isa.set->magic, MAGIC);
        text_add_bytes(out, (const char *)sizes, sizeof sizes);
        put(out, (uint64_t)p->count, 4);
        put(out, (uint64_t)p->dram_bytes, 8);
        put(out, end, 8);
        put_zeros(out, HEADER - AT_REST);
        size_t at = table;
        for (int k = 0; k < p->count; k++) {
                const struct segment *s = &p->segments[k];
                text_add_bytes(out, s->name, SEGMENT_NAME);
                put(out, (uint64_t)segment_kinds[s->kind].number, 4);
                put(out, 0, 4);
                put(out, (uint64_t)s->address, 8);
                put(out, (uint64_t)s->bytes, 8);
                put(out, s->content ? at = aligned(at) : 0, 8);
                if (s->content)
                        at += (size_t)s->bytes;
        }
        for (int k = 0; k < p->count; k++) {
                const struct segment *s = &p->segments[k];
                if (!s->content)
                        continue;
                put_zeros(out, aligned(out->length - start) - (out->length - start));
                text_add_bytes(out, (const char *)s->content, (size_t)s->bytes);
        }
}
