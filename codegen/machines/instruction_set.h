/* SPDX-License-Identifier: MIT */
/* What a machine brings so that its programs are encoded, read, written, checked, run and timed:
 * tables of fields, opcodes, rules and costs, and a C function for what each instruction means. The
 * code that walks them is all machines' (codegen/machines/README.md). */
#ifndef CODEGEN_MACHINES_INSTRUCTION_SET_H
#define CODEGEN_MACHINES_INSTRUCTION_SET_H

#include "base/diag.h"
#include "base/memory.h"
#include "base/text.h"
#include "codegen/machines/fields.h"
#include "ir/target/machine.h"

/* OUTSIDE: memory that the processor shares, in bytes; a machine may read one of its own in two
 * ways. */
enum {
        OUTSIDE = MACHINE_MEMORIES + 1,
        ISA_MEMORIES = OUTSIDE + 1,
        ISA_FIELDS = 48,
        ISA_QUEUES = 4
};
enum { ISA_CLASSES = 12, ISA_BUSY = 6, ISA_CONFIGURATION = 12, ISA_SIZES_TEXT = 192 };

/* Any machine's instruction: the numbers of its fields, as the machine's own struct has them. */
struct instruction { int64_t numbers[ISA_FIELDS]; };

/* ---- what an instruction means ---- */

enum access {
        READS, WRITES,
        SPOILS                          /* what lies there may be read no more */
};

/* Elements of a memory by two counters: first + y * row + x * column. */
struct rows { int64_t first, row, column, rows, columns; };
/* behind the last of them, `count` at each */
static inline int64_t rows_end(const struct rows *r, int64_t count)
{
        return r->first + r->row * (r->rows - 1) + r->column * (r->columns - 1) + count;
}

struct isa;
struct machine_program;
/* A machine while it runs, or, where nothing is computed, while what it touches is looked at. */
struct running {
        const struct isa *isa;
        unsigned char *memory;          /* outside; NULL: nothing is computed */
        const struct machine_program *program;    /* ... and what lists are read from then; may be
                                                   * NULL */
        unsigned char *inside[ISA_MEMORIES];      /* NULL where nothing is computed */
        void *lists;                    /* places where steps begin, decoded */
        unsigned char *scratch, poison; /* what the machine keeps beside its memories; what these
                                         * began with */
        int64_t part, put, take;        /* of blocks for a FIFO: which of the instruction's; those
                                         * put and taken before */
        void (*touched)(void *context, int memory, const struct rows *rows, int64_t count,
                        enum access access);
        void *context;
};

/* Elements of a memory are accessed, so many behind each other; or so many at each of some rows.
 * Where the first one lies; NULL where nothing is computed. */
static inline void *touch(struct running *r, int memory, int64_t first, int64_t count,
                          enum access access);
static inline void *touch_rows(struct running *r, int memory, struct rows rows, int64_t count,
                               enum access access);
/* A word of 4 bytes outside, as the program has it before the launch where nothing is computed. */
uint32_t running_word(const struct running *r, int64_t address);

/* What an instruction waits for, and what it lets go on. */
struct order {
        int stage;                      /* that runs it; -1: none, it is done when all are */
        int take[2], give[2];           /* queues of tokens; -1: none */
        int on;                         /* waits until this stage .. ; -1: for none */
        int64_t done;                   /* .. has done so many instructions */
        int64_t blocks;                 /* that it puts into the FIFO, one by one */
        bool next, needs;               /* takes the FIFO's next block into the array; has to have
                                         * one there */
};

/* What it costs, in cycles of the model in meter.h. */
struct cost {
        int class;                      /* that it is counted as */
        int64_t steps;                  /* cycles in which its unit works */
        int64_t bytes;                  /* moved between outside and .. */
        int memory;                     /* .. this memory; -1: none */
        bool stores;
        bool makes;                     /* a value of the network, on machines that hold these */
        int64_t latency, bus;           /* until the read bus answers, and cycles that it is taken;
                                         * bus 0: it takes none */
        int64_t busy, fill;             /* of its stage, for a block where there are several; until
                                         * it is done behind that */
        int64_t places;                 /* of lists up to the last that it loads */
};

/* ---- the tables ---- */

struct isa_opcode {
        const char *name;
        int form, stage;                /* stage: that runs it; -1: none, -2: a field says which */
        /* NULL: touches nothing */
        void (*run)(struct running *r, const struct instruction *i);
};
struct isa_rule {
        const char *name;
        bool must;                      /* nothing can run it otherwise */
        const char *text;
};
/* What instructions are counted as; busy: whose time they take (instruction_set.busy); less than 0:
 * nobody's. */
struct isa_class { const char *name; int busy; };

struct checker;

struct instruction_set {
        const struct machine *machine;  /* of its usual sizes */
        const char *magic;              /* 8 bytes that files begin with */
        int bytes;                      /* of an instruction, a multiple of 8 */
        const struct code_field *fields;
        const int *forms;               /* what each form goes on from; itself: nothing */
        const struct isa_opcode *opcodes;
        int field_count, form_count, opcode_count;
        int last;                       /* the opcode that a program ends with, and has nowhere
                                         * else */
        const struct isa_rule *rules;   /* what all machines share has names in machine_check.c */
        int rule_count;
        const struct isa_class *classes;          /* NULL: each opcode is a class, and takes its
                                                   * stage's time */
        int class_count, products;      /* products: the class whose steps the array multiplies
                                         * in */
        const char *busy[ISA_BUSY];     /* what may be busy for most of the time; without classes,
                                         * of each stage */
        int bus;                        /* ... where the read bus stands among it; -1: nowhere */
        const char *stage_word;         /* of a stage, in reports */
        const char *queues[ISA_QUEUES]; /* of tokens, by name */
        int list_form, list_bytes;      /* of a place in a list: its form, and bytes of it in a
                                         * program; 0: there are no lists */
        size_t list_size, scratch;      /* bytes of a place, decoded, and of what running keeps for
                                         * the machine */
        struct order (*order)(const struct instruction *i);
        /* The name of the first rule that it breaks without which nothing can run it; NULL: none.
         * lists: as running has them, NULL where they are not known. memory: bytes of it, -1 where
         * addresses are not looked at. */
        const char *(*breaks)(const struct isa *isa, const struct instruction *i, const void *lists,
                              int64_t memory);
        const char *inside, *outside;   /* rules that it breaks where it touches elements that no
                                         * memory has; NULL: `breaks` says so */
        struct cost (*cost)(const struct isa *isa, const struct instruction *i);
        /* its sizes, as exchange files have them */
        void (*configuration)(const struct isa *isa, unsigned char bytes[ISA_CONFIGURATION]);
        /* ---- these may be NULL ---- */
        const char *(*fits)(struct isa *isa);             /* why no instruction is encoded for such
                                                           * sizes; NULL: they are */
        /* by name; false after an error */
        bool (*resize)(struct machine *m, const char *sizes, struct arena *arena,
                       struct diag *diag);
        /* what of it is not as usual, in the same form */
        void (*sizes)(const struct machine *m, char text[ISA_SIZES_TEXT]);
        /* steps and elements moved, and one; NULL: as its cost says */
        int64_t (*work)(const struct instruction *i);
        /* rules of its own */
        void (*check)(struct checker *c, const struct instruction *i, const void *lists, bool safe);
        /* that an address counts; NULL: bytes */
        int64_t (*bytes_of)(const struct isa *isa, const struct instruction *i);
};

/* A machine of some sizes, and what follows from these. */
struct isa {
        const struct instruction_set *set;
        struct machine machine;
        /* elements of each memory; bytes of one, outside */
        int64_t depth[ISA_MEMORIES], bytes[ISA_MEMORIES];
        struct code_field fields[ISA_FIELDS];
};

/* ---- isa.c ---- */

/* NULL, or why instructions cannot be encoded for this machine. */
const char *isa_begin(struct isa *isa, const struct instruction_set *set,
                      const struct machine *machine);
/* The machine whose sizes have this name ("": the usual ones). False after one EXIT_USAGE error. */
bool isa_begin_sizes(struct isa *isa, const struct instruction_set *set, const char *sizes,
                     struct diag *diag);
int isa_form(const struct isa *isa, const struct instruction *i);
static inline bool isa_form_has(const struct isa *isa, int form, const struct code_field *f)
{
        return code_form_has(isa->set->forms, form, f->form);
}
/* The first field whose number does not fit; NULL: all do. */
const struct code_field *isa_misfit(const struct isa *isa, const struct instruction *i, int form);
void isa_encode(const struct isa *isa, const struct instruction *i, unsigned char *bytes);
/* NULL, or why these bytes are no instruction; then *i is 0. */
const char *isa_decode(const struct isa *isa, const unsigned char *bytes, struct instruction *i);
/* a place in a list; false: bits are set that no field has */
void isa_encode_place(const struct isa *isa, const struct instruction *place, unsigned char *bytes);
bool isa_decode_place(const struct isa *isa, const unsigned char *bytes, struct instruction *place);
/* of a name that it has */
const struct isa_rule *isa_rule(const struct instruction_set *set, const char *name);
static inline const char *isa_name(const struct isa *isa, const struct instruction *i)
{
        return isa->set->opcodes[i->numbers[0]].name;
}
/* What it is counted as where somebody bounds what a program may take. */
static inline int64_t isa_work(const struct isa *isa, const struct instruction *i)
{
        enum { ELEMENT = 256 }; /* bytes */
        if (isa->set->work)
                return isa->set->work(i);
        const struct cost cost = isa->set->cost(isa, i);
        return 1 + cost.steps + cost.bytes / ELEMENT;
}
/* bytes that an address of it counts */
static inline int64_t isa_address_bytes(const struct isa *isa, const struct instruction *i)
{
        return isa->set->bytes_of ? isa->set->bytes_of(isa, i) : 1;
}
/* of a power of two */
static inline int isa_log2(int64_t n)
{
        int log = 0;
        while (n > 1)
                n >>= 1, log++;
        return log;
}

static inline void *touch(struct running *r, int memory, int64_t first, int64_t count,
                          enum access access)
{
        return touch_rows(r, memory, (struct rows){ first, 0, 0, 1, 1 }, count, access);
}
static inline void *touch_rows(struct running *r, int memory, struct rows rows, int64_t count,
                               enum access access)
{
        if (r->touched)
                r->touched(r->context, memory, &rows, count, access);
        unsigned char *inside = memory == OUTSIDE ? r->memory : r->inside[memory];
        return inside ? inside + rows.first * (memory == OUTSIDE ? 1 : r->isa->bytes[memory])
                      : NULL;
}
/* The instruction itself, as its opcode says. */
static inline void run_instruction(struct running *r, const struct instruction *i)
{
        const struct isa_opcode *opcode = &r->isa->set->opcodes[i->numbers[0]];
        if (opcode->run)
                opcode->run(r, i);
}

#endif
