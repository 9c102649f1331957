/* SPDX-License-Identifier: MIT */
/* A program is one launch with all that it reads, as exchange files (.vta) and assembly text
 * (.vta.s) hold it. */
#ifndef CODEGEN_MACHINES_MACHINE_PROGRAM_H
#define CODEGEN_MACHINES_MACHINE_PROGRAM_H

#include "base/text.h"
#include "codegen/machines/instruction_set.h"

enum segment_kind {
#define KIND(id, number, name, zeros, read, written) SEGMENT_##id,
#include "codegen/machines/segments.def"
        SEGMENT_KINDS
};
struct segment_kind_info { int number; const char *name; bool zeros, read, written; };
extern const struct segment_kind_info segment_kinds[SEGMENT_KINDS];

enum { SEGMENTS_MOST = 4096, SEGMENT_NAME = 32, PROGRAM_ALIGN = 256, PROGRAM_PAGE = 4096 };
/* PROGRAM_MEMORY_MOST is the memory, in bytes, that a launch may address; PROGRAM_CODE_MOST is how
 * many bytes its instructions may have. */
#define PROGRAM_MEMORY_MOST (INT64_C(1) << 32)
#define PROGRAM_CODE_MOST (INT64_C(32) << 20)

struct segment {
        char name[SEGMENT_NAME];            /* The name is made of A-Z a-z 0-9 _ . - */
        enum segment_kind kind;
        int64_t address, bytes;
        const unsigned char *content;   /* It has `bytes` bytes; NULL: they are zeros. */
        bool shared;                    /* Another segment has the same name; expected segments do
                                         * not count. */
};

/* Contents belong to somebody else: to the file that was read, or to an arena. */
struct machine_program {
        struct isa isa;
        int64_t dram_bytes;
        struct segment *segments;
        int count;
        const struct segment *code;
        const struct segment **places;      /* They list all segments except expected ones, by
                                             * address. */
        int place_count;
};

/* ---- machine_program.c ---- */

bool segment_name_is_good(const char *name, size_t length);
/* Finds the code and checks the format of the segments: addresses, overlaps, and one segment of
 * instructions, of which only the last is the machine's last one. Returns false after one
 * EXIT_INVALID error. */
bool program_begin(struct machine_program *p, struct arena *arena, struct diag *diag);
int64_t program_length(const struct machine_program *p);         /* Returns the number of
                                                                  * instructions. */
static inline const unsigned char *program_instruction(const struct machine_program *p, int64_t k)
{
        return p->code->content + k * p->isa.set->bytes;
}
/* Returns the segment that holds all these bytes, expected ones left out; NULL: none does. */
const struct segment *program_segment(const struct machine_program *p, int64_t address,
                                      int64_t bytes);
/* Allocates dram_bytes of memory, as it is before the launch; the caller frees it. */
unsigned char *program_memory(const struct machine_program *p);
/* Does the memory hold what is expected? Otherwise it reports the first different byte of each
 * segment. */
bool program_holds(const struct machine_program *p, const unsigned char *memory, struct diag *diag);

/* ---- exchange.c ---- */

/* Reads the bytes of a file, for the machine that it begins with: `isa`, or another one in its
 * usual sizes. The bytes must stay. Returns false after one EXIT_INVALID error. */
bool exchange_read(struct machine_program *p, const struct isa *isa, const unsigned char *bytes,
                   size_t length, struct arena *arena, struct diag *diag);
bool is_exchange(const unsigned char *bytes, size_t length);     /* Are these the bytes of any
                                                                  * machine's file? */
void exchange_write(const struct machine_program *p, struct text *out);

/* ---- assembly_print.c, assembly_parse.c: text that reads back to the same program ---- */

void assembly_print(const struct machine_program *p, struct text *out);
/* Prints one instruction, without a newline; p may be NULL. */
void assembly_print_instruction(const struct isa *isa, const struct machine_program *p,
                                const unsigned char *bytes, struct text *out);
/* Prints an address in bytes, as @name where exactly one segment has that name. */
void program_print_address(const struct machine_program *p, int64_t address, struct text *out);
/* Returns how many fields from number n on stand in one word. */
int assembly_word_fields(const struct isa *isa, int n);
/* Reads a program for the machine that the text names. Returns false after one EXIT_INVALID error,
 * which names the line. */
bool assembly_parse(struct machine_program *p, const char *text, size_t length, struct arena *arena,
                    struct diag *diag);

/* ---- meter.c ---- */

/* Writes what the cycle model says of a program, as text; each: for every instruction, too. Returns
 * false after an error. */
bool meter_report(const struct machine_program *p, bool each, struct text *out, struct diag *diag);

/* ---- machine_check.c ---- */

/* Reports each rule that an instruction breaks, as an EXIT_INVALID error with the instruction's
 * number, for the first `most` of them. Returns true where none is broken. Reports EXIT_BUDGET
 * where the walk takes more than `work`. */
bool program_check(const struct machine_program *p, int64_t work, int most, struct diag *diag);

#endif
