/* SPDX-License-Identifier: MIT */
/* A program: one launch with all that it reads, as exchange files (.vta) and assembly text (.vta.s) hold it. */
#ifndef CODEGEN_VTA_PROGRAM_H
#define CODEGEN_VTA_PROGRAM_H

#include "base/text.h"
#include "codegen/vta/vta.h"

enum vta_kind {
#define KIND(id, number, name, zeros, read, written) VTA_KIND_##id,
#include "codegen/vta/segments.def"
        VTA_KINDS
};
struct vta_kind_info { int number; const char *name; bool zeros, read, written; };
extern const struct vta_kind_info vta_kinds[VTA_KINDS];

enum { VTA_SEGMENTS_MOST = 4096, VTA_NAME = 32, VTA_ALIGN = 256 };

struct vta_segment {
        char name[VTA_NAME];            /* A-Z a-z 0-9 _ . - */
        enum vta_kind kind;
        int64_t address, bytes;
        const unsigned char *content;   /* bytes of them; NULL: zeros */
        bool shared;                    /* another segment has its name, too; what is expected does not count */
};

struct vta_program;
/* A line of assembly: the parser, which stands at its first word; or its words, and what they may name. */
enum { PROGRAM_WORDS = 24 };
struct program_line { const char *words[PROGRAM_WORDS]; size_t lengths[PROGRAM_WORDS]; int count; void *parser; };

/* What is a machine's own in a program, and what runs it. */
struct program_codec {
        const struct machine *machine;
        const char *magic;              /* 8 bytes that files begin with */
        int bytes;                      /* of an instruction */
        void (*configuration)(const struct vta_program *p, unsigned char bytes[VTA_CONFIGURATION]);
        void (*sizes)(const struct vta_program *p, char text[VTA_SIZES_TEXT]);    /* NULL: the machine has the sizes that it has */
        bool (*check_code)(const struct vta_program *p, struct diag *diag);       /* how it ends; an EXIT_INVALID error */
        void (*print)(const struct vta_program *p, const unsigned char *bytes, struct text *out);
        bool (*assemble)(struct program_line *line, unsigned char *bytes);        /* up to the line's end; false after an error */
        bool (*run)(const struct vta_program *p, unsigned char *memory, uint64_t seed, unsigned char poison, int64_t work, struct diag *diag);
        bool (*check)(const struct vta_program *p, int64_t work, int most, struct diag *diag);
        bool (*report)(const struct vta_program *p, bool each, struct text *out, struct diag *diag);
};

/* Contents are somebody else's memory: of the file that was read, or of an arena. */
struct vta_program {
        const struct program_codec *codec;
        struct vta vta;                 /* the machine, where it is a VTA */
        int64_t dram_bytes;
        struct vta_segment *segments;
        int count;
        const struct vta_segment *code;
        const struct vta_segment **places;      /* all but what is expected, by address */
        int place_count;
};

/* ---- program.c ---- */

bool vta_name_is_good(const char *name, size_t length);
/* Finds the code and holds the segments to the format: addresses, overlaps, one segment of instructions of which the last alone
 * is FINISH. False after one EXIT_INVALID error. */
bool vta_program_begin(struct vta_program *p, struct arena *arena, struct diag *diag);
int64_t vta_program_length(const struct vta_program *p);         /* instructions */
static inline const unsigned char *vta_program_instruction(const struct vta_program *p, int64_t k)
{
        return p->code->content + k * VTA_BYTES;
}
/* The segment, other than of what is expected, that holds all these bytes; NULL: none does. */
const struct vta_segment *vta_program_segment(const struct vta_program *p, int64_t address, int64_t bytes);
/* dram_bytes of memory, to be freed, as it is before the launch. */
unsigned char *vta_program_memory(const struct vta_program *p);
/* Whether memory holds what is expected; says the first byte of each segment that is not. */
bool vta_program_holds(const struct vta_program *p, const unsigned char *memory, struct diag *diag);

/* ---- launch.c: a stream and what it reads as a program of one launch, for any machine ---- */

struct loop_function;
struct launch_argument;
struct launch_program {
        struct vta_program *p;          /* its machine is the caller's to fill in */
        const struct loop_function *stream;
        int64_t end, align;             /* bytes of memory that are taken; segments begin at multiples of align */
        int64_t *addresses;             /* of the stream's parameters, one behind the other from VTA_PAGE on */
};
/* Begins with a segment for each parameter, of its name, and one more for what it is expected to hold. Contents are the caller's
 * memory. False after an EXIT_UNSUPPORTED error. */
bool launch_program_begin(struct launch_program *l, struct vta_program *p, const struct loop_function *stream,
                          const struct launch_argument *arguments, int64_t align, struct arena *arena, struct diag *diag);
/* a segment behind the others: of instructions, and lists that they use */
void launch_program_add(struct launch_program *l, const char *name, enum vta_kind kind, int64_t bytes, const void *content);
/* False after an error: EXIT_BUDGET where it reaches more memory than a program has, or as vta_program_begin. */
bool launch_program_end(struct launch_program *l, struct arena *arena, struct diag *diag);

/* ---- vta_codec.c, cycles_report.c ---- */

extern const struct program_codec vta_codec;
/* What the cycle model says of a program, as text; each: of every instruction, too. False after an error. */
bool vta_report(const struct vta_program *p, bool each, struct text *out, struct diag *diag);

/* ---- exchange.c ---- */

/* Reads the bytes of a file for a machine; they must stay. False after one EXIT_INVALID error. */
bool vta_exchange_read(struct vta_program *p, const struct vta *v, const unsigned char *bytes, size_t length, struct arena *arena,
                       struct diag *diag);
bool vta_is_exchange(const unsigned char *bytes, size_t length);         /* of any machine */
void vta_exchange_write(const struct vta_program *p, struct text *out);

/* ---- assembly_print.c, assembly_parse.c: text that reads back to the same program ---- */

void vta_assembly_print(const struct vta_program *p, struct text *out);
/* one instruction, without a newline; p may be NULL */
void vta_assembly_instruction(const struct vta *v, const struct vta_program *p, const unsigned char bytes[VTA_BYTES], struct text *out);
/* an instruction of a VTA, for its codec */
bool vta_assemble(struct program_line *line, unsigned char *bytes);
/* an address in bytes, as a name where one segment is called so */
void program_print_address(const struct vta_program *p, int64_t address, struct text *out);
/* for codecs: the line's words, at most PROGRAM_WORDS; "line N: WHAT 'text'"; @SEGMENT+BYTES or a number; a number */
bool program_line_words(struct program_line *line);
bool program_line_fail(struct program_line *line, const char *what, const char *text, size_t length);
bool program_line_address(struct program_line *line, const char *text, size_t length, int64_t *address);
bool program_number(const char *text, size_t length, int64_t *number);
/* For the machine that the text names. False after one EXIT_INVALID error, which names the line. */
bool vta_assembly_parse(struct vta_program *p, const char *text, size_t length, struct arena *arena, struct diag *diag);

#endif
