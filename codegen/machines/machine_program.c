/* SPDX-License-Identifier: MIT */
/* Makes segments a program, and fills memory as they describe it. */
#include "codegen/machines/machine_program.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const struct segment_kind_info segment_kinds[SEGMENT_KINDS] = {
#define KIND(id, number, name, zeros, read, written) { number, name, zeros, read, written },
#include "codegen/machines/segments.def"
};

bool segment_name_is_good(const char *name, size_t length)
{
        static const char good[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
        size_t k = 0;
        while (k < length && name[k] && strchr(good, name[k]))
                k++;
        return length && length < SEGMENT_NAME && k == length;
}

static int64_t end_of(const struct segment *s) { return s->address + s->bytes; }

/* ---- checks of the format ---- */

static bool check_segment(const struct machine_program *p, const struct segment *s,
                          struct diag *diag)
{
        bool expect = s->kind == SEGMENT_EXPECT;
        if (s->bytes < 1)
                diag_error(diag, EXIT_INVALID, "segment '%s' is empty", s->name);
        else if (s->address < PROGRAM_PAGE || s->address > p->dram_bytes ||
                 s->bytes > p->dram_bytes - s->address)
                diag_error(diag, EXIT_INVALID,
                           "segment '%s', %" PRId64 " bytes at 0x%" PRIx64
                           ", is not within memory, 0x1000 to 0x%" PRIx64,
                           s->name, s->bytes, (uint64_t)s->address, (uint64_t)p->dram_bytes);
        else if (!expect && s->address % PROGRAM_ALIGN)
                diag_error(diag, EXIT_INVALID,
                           "segment '%s' is at 0x%" PRIx64 ", which is no multiple of %d", s->name,
                           (uint64_t)s->address,
                           PROGRAM_ALIGN);
        else if (!s->content && !segment_kinds[s->kind].zeros)
                diag_error(diag, EXIT_INVALID, "segment '%s' (%s) has no content", s->name,
                           segment_kinds[s->kind].name);
        else
                return true;
        return false;
}

static int by_address(const void *a, const void *b)
{
        const struct segment *x = *(const struct segment *const *)a,
                             *y = *(const struct segment *const *)b;
        return (x->address > y->address) - (x->address < y->address);
}

static int by_name(const void *a, const void *b)
{
        return strcmp((*(struct segment *const *)a)->name, (*(struct segment *const *)b)->name);
}

static void mark_shared(struct machine_program *p, struct arena *arena)
{
        struct segment **list = arena_array(arena, (size_t)p->count, sizeof *list);
        int count = 0;
        for (int k = 0; k < p->count; k++)
                if (p->segments[k].kind != SEGMENT_EXPECT)
                        list[count++] = &p->segments[k];
        qsort(list, (size_t)count, sizeof *list, by_name);
        for (int k = 1; k < count; k++)
                if (!strcmp(list[k - 1]->name, list[k]->name))
                        list[k - 1]->shared = list[k]->shared = true;
}

static void sort_places(struct machine_program *p, struct arena *arena)
{
        p->places = arena_array(arena, (size_t)p->count, sizeof *p->places);
        p->place_count = 0;
        for (int k = 0; k < p->count; k++)
                if (p->segments[k].kind != SEGMENT_EXPECT)
                        p->places[p->place_count++] = &p->segments[k];
        qsort(p->places, (size_t)p->place_count, sizeof *p->places, by_address);
}

static bool check_places(const struct machine_program *p, struct diag *diag)
{
        for (int k = 1; k < p->place_count; k++) {
                const struct segment *one = p->places[k - 1], *next = p->places[k];
                if (end_of(one) > next->address) {
                        diag_error(diag, EXIT_INVALID,
                                   "segments '%s' and '%s' overlap at 0x%" PRIx64, one->name,
                                   next->name,
                                   (uint64_t)next->address);
                        return false;
                }
        }
        for (int k = 0; k < p->count; k++) {
                const struct segment *e = &p->segments[k];
                const struct segment *in = program_segment(p, e->address, e->bytes);
                if (e->kind == SEGMENT_EXPECT && (!in || !segment_kinds[in->kind].written)) {
                        diag_error(diag, EXIT_INVALID,
                                   "what is expected of '%s' at 0x%" PRIx64
                                   " lies in no output or scratch",
                                   e->name, (uint64_t)e->address);
                        return false;
                }
        }
        return true;
}

/* Checks that the last instruction, and no other, ends the program, and that it has no other
 * fields. */
static bool check_code(const struct machine_program *p, struct diag *diag)
{
        const struct isa *isa = &p->isa;
        const int each = isa->set->bytes, last = isa->set->last;
        const char *name = isa->set->opcodes[last].name;
        if (p->code->bytes % each || p->code->bytes >= PROGRAM_CODE_MOST) {
                diag_error(diag, EXIT_INVALID,
                           "the instructions are %" PRId64
                           " bytes: want a multiple of %d, below 32 MiB",
                           p->code->bytes, each);
                return false;
        }
        for (int64_t k = 0, length = program_length(p); k < length; k++) {
                const unsigned char *bytes = program_instruction(p, k);
                unsigned char bare[ISA_FIELDS];
                if ((code_number(&isa->fields[0], bytes, each) == last) != (k == length - 1)) {
                        diag_error(diag, EXIT_INVALID,
                                   k == length - 1 ? "instruction %" PRId64
                                                     ": the last one is not %s"
                                                   : "instruction %" PRId64
                                                     ": %s stands before the last instruction",
                                   k, name);
                        return false;
                }
                isa_encode(isa, &(struct instruction){ { last } }, bare);
                if (k == length - 1 && memcmp(bytes, bare, (size_t)each)) {
                        diag_error(diag, EXIT_INVALID,
                                   "instruction %" PRId64
                                   ": %s has flags, or bits that are no field's",
                                   k, name);
                        return false;
                }
        }
        return true;
}

bool program_begin(struct machine_program *p, struct arena *arena, struct diag *diag)
{
        int codes = 0;
        if (p->count < 2 || p->count > SEGMENTS_MOST) {
                diag_error(diag, EXIT_INVALID, "there are %d segments: want 2 to %d", p->count,
                           SEGMENTS_MOST);
                return false;
        }
        if (p->dram_bytes % PROGRAM_PAGE || p->dram_bytes < 2 * PROGRAM_PAGE ||
            p->dram_bytes > PROGRAM_MEMORY_MOST) {
                diag_error(diag, EXIT_INVALID,
                           "memory has %" PRId64
                           " bytes: want a multiple of 4096, from 8192 to 2^32",
                           p->dram_bytes);
                return false;
        }
        for (int k = 0; k < p->count; k++) {
                if (!check_segment(p, &p->segments[k], diag))
                        return false;
                if (p->segments[k].kind == SEGMENT_CODE) {
                        p->code = &p->segments[k];
                        codes++;
                }
        }
        if (codes != 1) {
                diag_error(diag, EXIT_INVALID, "%d segments are instructions: want one", codes);
                return false;
        }
        mark_shared(p, arena);
        sort_places(p, arena);
        return check_places(p, diag) && check_code(p, diag);
}

int64_t program_length(const struct machine_program *p)
{
        return p->code->bytes / p->isa.set->bytes;
}

const struct segment *program_segment(const struct machine_program *p, int64_t address,
                                      int64_t bytes)
{
        int low = 0, high = p->place_count;     /* Finds the last segment that begins at or before
                                                 * the address. */
        while (low < high) {
                int middle = (low + high) / 2;
                if (p->places[middle]->address <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        const struct segment *s = low ? p->places[low - 1] : NULL;
        return s && address + bytes <= end_of(s) ? s : NULL;
}

/* ---- memory ---- */

unsigned char *program_memory(const struct machine_program *p)
{
        unsigned char *memory = memory_alloc((size_t)p->dram_bytes);
        for (int k = 0; k < p->count; k++) {
                const struct segment *s = &p->segments[k];
                if (s->content && s->kind != SEGMENT_EXPECT)
                        memcpy(memory + s->address, s->content, (size_t)s->bytes);
        }
        return memory;
}

bool program_holds(const struct machine_program *p, const unsigned char *memory, struct diag *diag)
{
        bool fine = true;
        for (int k = 0; k < p->count; k++) {
                const struct segment *s = &p->segments[k];
                if (s->kind != SEGMENT_EXPECT ||
                    !memcmp(memory + s->address, s->content, (size_t)s->bytes))
                        continue;
                const unsigned char *got = memory + s->address;
                int64_t first = 0, count = 0;
                for (int64_t b = s->bytes; b-- > 0;)
                        if (got[b] != s->content[b])
                                first = b, count++;
                diag_error(diag, EXIT_INTERNAL,
                           "'%s' is not as expected: %" PRId64 " of %" PRId64
                           " bytes differ, the first at +%" PRId64 " is %d, want %d",
                           s->name, count, s->bytes, first, (signed char)got[first],
                           (signed char)s->content[first]);
                fine = false;
        }
        return fine;
}
