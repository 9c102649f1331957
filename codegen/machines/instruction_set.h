/* SPDX-License-Identifier: MIT */
/* A machine brings this so that its programs are encoded, read, written, checked, run and timed:
 * tables of fields, opcodes, rules and costs, and a C function for what each instruction means. All
 * machines share the code that walks these tables (codegen/machines/README.md). */
#ifndef CODEGEN_MACHINES_INSTRUCTION_SET_H
#define CODEGEN_MACHINES_INSTRUCTION_SET_H

#include "base/diag.h"
#include "base/memory.h"
#include "base/text.h"
#include "codegen/machines/fields.h"
#include "ir/target/machine.h"

/* OUTSIDE is memory that the processor shares, addressed in bytes. ISA_MEMORIES leaves one number
 * more than a machine has memories, because a machine may read one of them in two ways. */
enum {
        OUTSIDE = MACHINE_MEMORIES + 1,
        ISA_MEMORIES = OUTSIDE + 1,
        ISA_FIELDS = 48,
        ISA_QUEUES = 4
};
/* Two stages may not both touch a granule of so many bytes of memory outside, one of them writing,
 * unless something orders them. */
enum { ISA_GRANULE = 16 };
enum { ISA_CLASSES = 12, ISA_BUSY = 6, ISA_CONFIGURATION = 12, ISA_MEMORY_SIZES = 5,
       ISA_SIZES_TEXT = 192 };

/* An instruction of any machine consists of the numbers of its fields, in the order of the
 * machine's own struct. */
struct instruction { int64_t numbers[ISA_FIELDS]; };

/* ---- what an instruction means ---- */

enum access {
        READS, WRITES,
        SPOILS                          /* What lies there must not be read any more. */
};

/* Two counters reach these elements of a memory: first + y * row + x * column. */
struct rows { int64_t first, row, column, rows, columns; };
/* They are those of an operand whose fields are a row ROWS (isa_rows.h), by two counters. */
#define ROWS_OF(i, operand, outer, inner)                                                          \
        (struct rows){ (i)->operand, (i)->operand##_row, (i)->operand##_column, (i)->outer,        \
                       (i)->inner }
/* Returns the distance of the element at counters y and x from the first. */
static inline int64_t rows_at(const struct rows *r, int64_t y, int64_t x)
{
        return r->row * y + r->column * x;
}
/* Returns the element after the last one, where `count` elements follow each other at each
 * place. */
static inline int64_t rows_end(const struct rows *r, int64_t count)
{
        return r->first + r->row * (r->rows - 1) + r->column * (r->columns - 1) + count;
}

struct isa;
struct machine_program;
/* This is a machine while it runs or, where nothing is computed, while its accesses are
 * examined. */
struct running {
        const struct isa *isa;
        unsigned char *memory;          /* This is the memory outside; NULL: nothing is computed. */
        const struct machine_program *program;    /* Where nothing is computed, lists are read from
                                                   * this program's memory; it may be NULL. */
        unsigned char *inside[ISA_MEMORIES];      /* These are the machine's memories; NULL where
                                                   * nothing is computed. */
        void *lists;                    /* It holds the decoded lists of the places where steps
                                         * begin. */
        unsigned char *scratch, poison; /* `scratch` is what the machine keeps beside its memories;
                                         * all of these began with the byte `poison`. */
        /* For FIFOs, `part` is the block of the instruction that is put; `put` and `take` count the
         * blocks put and taken before. */
        int64_t part, put, take;
        void (*touched)(void *context, int memory, const struct rows *rows, int64_t count,
                        enum access access);
        void *context;
};

/* Report accesses to elements of a memory: `count` that follow each other, or `count` at each
 * place of some rows. Return where the first element lies; NULL where nothing is computed. */
static inline void *touch(struct running *r, int memory, int64_t first, int64_t count,
                          enum access access);
static inline void *touch_rows(struct running *r, int memory, struct rows rows, int64_t count,
                               enum access access);
/* Returns a word of 4 bytes outside; where nothing is computed, the word that the program has there
 * before the launch. */
uint32_t running_word(const struct running *r, int64_t address);

/* An instruction waits for this, and this may continue when it is done. */
struct order {
        int stage;                      /* This stage runs it; -1: no stage does, and it is done
                                         * when all others are. */
        int take[2], give[2];           /* It takes tokens from, and gives tokens to, these queues;
                                         * -1: none. */
        int on;                         /* It waits for stage `on`; -1: it waits for no stage. */
        int64_t done;                   /* That stage must have done this many instructions. */
        int64_t blocks;                 /* It puts this many blocks into the FIFO, one by one. */
        bool next, needs;               /* `next`: it takes the FIFO's next block into the array.
                                         * `needs`: a block must be in the array. */
};

/* An instruction has this cost, in cycles of the model in meter.h. */
struct cost {
        int class;                      /* It is counted in this class. */
        int64_t steps;                  /* Its unit works for this many cycles. */
        int64_t bytes;                  /* This many bytes are moved from or to outside. */
        int memory;                     /* The bytes are moved to or from this memory; -1: none is
                                         * moved. */
        bool stores;
        bool makes;                     /* It makes a value of the network, on machines that hold
                                         * these. */
        int64_t latency, bus;           /* The read bus answers after `latency` cycles, and is
                                         * occupied for `bus` cycles; bus 0: it is not used. */
        /* Its stage is busy for this many cycles (with several blocks, for each); it is done `fill`
         * cycles after that. */
        int64_t busy, fill;
        int64_t places;                 /* It loads the places of lists up to this one. */
};

/* ---- the tables ---- */

struct isa_opcode {
        const char *name;
        int form, stage;                /* This stage runs it; -1: none, -2: a field says which. */
        /* Performs the instruction. */
        void (*run)(struct running *r, const struct instruction *i);
};
struct isa_rule {
        const char *name;
        bool must;                      /* No machine can run an instruction that breaks the
                                         * rule. */
        const char *text;
};
/* Instructions are counted in these classes. `busy` is the unit whose time they take
 * (instruction_set.busy); less than 0: no unit's. */
struct isa_class { const char *name; int busy; };

struct checker;

struct instruction_set {
        const struct machine *machine;  /* This is the machine in its usual sizes. */
        const char *magic;              /* Files begin with these 8 bytes. */
        int bytes;                      /* An instruction has this many bytes, a multiple of 8. */
        const struct code_field *fields;
        const int *forms;               /* Each form continues this form; itself: it continues
                                         * none. */
        const struct isa_opcode *opcodes;
        int field_count, form_count, opcode_count;
        int last;                       /* This opcode ends a program, and stands nowhere else. */
        const struct isa_rule *rules;   /* These are the rules. Those that all machines share have
                                         * names in machine_check.c. */
        int rule_count;
        const struct isa_class *classes;          /* NULL: each opcode is a class, and takes its
                                                   * stage's time. */
        int class_count, products;      /* `products` is the class whose steps the array multiplies
                                         * in. */
        const char *busy[ISA_BUSY];     /* These units may be busy for most of the time; without
                                         * classes, there is one for each stage. */
        int bus;                        /* The read bus has this number among these; -1: there is
                                         * none. */
        const char *stage_word;         /* Reports call a stage by this word. */
        const char *queues[ISA_QUEUES]; /* The queues of tokens have these names. */
        int list_form, list_bytes;      /* A place in a list has this form, and this many bytes in a
                                         * program; 0: there are no lists. */
        size_t list_size, scratch;      /* A decoded place takes list_size bytes; running keeps
                                         * `scratch` bytes for the machine. */
        struct order (*order)(const struct instruction *i);
        /* Returns the name of the first rule that an instruction breaks without which nothing can
         * run it; NULL: it breaks none. `lists` is as running has them, NULL where they are not
         * known. `memory` is the bytes of memory, -1 where addresses are not checked. */
        const char *(*breaks)(const struct isa *isa, const struct instruction *i, const void *lists,
                              int64_t memory);
        /* An instruction breaks these rules where it touches elements that no memory has; NULL:
         * `breaks` checks that. */
        const char *inside, *outside;
        struct cost (*cost)(const struct isa *isa, const struct instruction *i);
        /* Writes the sizes of memories as exchange files have them, behind what isa_configuration
         * writes. */
        void (*configuration)(const struct isa *isa, unsigned char bytes[ISA_MEMORY_SIZES]);
        /* ---- these may be NULL ---- */
        /* Returns why instructions cannot be encoded for such sizes; NULL: they can. */
        const char *(*fits)(struct isa *isa);
        /* Sets sizes by name; returns false after an error. */
        bool (*resize)(struct machine *m, const char *sizes, struct arena *arena,
                       struct diag *diag);
        /* Writes the sizes that differ from the usual ones, in the same form. */
        void (*sizes)(const struct machine *m, char text[ISA_SIZES_TEXT]);
        /* Returns 1, the steps and the elements moved; NULL: the instruction's cost says. */
        int64_t (*work)(const struct instruction *i);
        /* Checks the machine's own rules. */
        void (*check)(struct checker *c, const struct instruction *i, const void *lists, bool safe);
        /* Returns the bytes that the unit of an address has; NULL: addresses count bytes. */
        int64_t (*bytes_of)(const struct isa *isa, const struct instruction *i);
};

/* This is a machine of some sizes, and what follows from these. */
struct isa {
        const struct instruction_set *set;
        struct machine machine;
        /* Each memory has this many elements; one element has this many bytes outside. */
        int64_t depth[ISA_MEMORIES], bytes[ISA_MEMORIES];
        struct code_field fields[ISA_FIELDS];
};

/* ---- isa.c ---- */

/* Sets up a machine; returns NULL, or why instructions cannot be encoded for it. */
const char *isa_begin(struct isa *isa, const struct instruction_set *set,
                      const struct machine *machine);
/* Sets up the machine whose sizes have this name ("": the usual ones). Returns false after one
 * EXIT_USAGE error. */
bool isa_begin_sizes(struct isa *isa, const struct instruction_set *set, const char *sizes,
                     struct diag *diag);
int isa_form(const struct isa *isa, const struct instruction *i);
static inline bool isa_form_has(const struct isa *isa, int form, const struct code_field *f)
{
        return code_form_has(isa->set->forms, form, f->form);
}
/* Returns the first field whose number does not fit; NULL: all do. */
const struct code_field *isa_misfit(const struct isa *isa, const struct instruction *i, int form);
void isa_encode(const struct isa *isa, const struct instruction *i, unsigned char *bytes);
/* Decodes an instruction. Returns NULL, or why these bytes are no instruction; then *i is 0. */
const char *isa_decode(const struct isa *isa, const unsigned char *bytes, struct instruction *i);
/* Encode and decode a place in a list. isa_decode_place returns false where bits are set that no
 * field has. */
void isa_encode_place(const struct isa *isa, const struct instruction *place, unsigned char *bytes);
bool isa_decode_place(const struct isa *isa, const unsigned char *bytes, struct instruction *place);
/* Returns the rule of a name that the set has. */
const struct isa_rule *isa_rule(const struct instruction_set *set, const char *name);
static inline const char *isa_name(const struct isa *isa, const struct instruction *i)
{
        return isa->set->opcodes[i->numbers[0]].name;
}
/* Returns the work of an instruction, where somebody bounds what a program may take. */
static inline int64_t isa_work(const struct isa *isa, const struct instruction *i)
{
        enum { ELEMENT = 256 }; /* This many bytes count as one step. */
        if (isa->set->work)
                return isa->set->work(i);
        const struct cost cost = isa->set->cost(isa, i);
        return 1 + cost.steps + cost.bytes / ELEMENT;
}
/* Returns the bytes of the unit that an address of the instruction counts. */
static inline int64_t isa_address_bytes(const struct isa *isa, const struct instruction *i)
{
        return isa->set->bytes_of ? isa->set->bytes_of(isa, i) : 1;
}
/* Writes the sizes of a machine as exchange files have them: logarithms of the bits of inputs,
 * weights, sums and results, and of the batch, inputs and outputs of a step; then those of
 * memories. */
void isa_configuration(const struct isa *isa, unsigned char bytes[ISA_CONFIGURATION]);
/* Returns the logarithm of a power of two. */
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
/* Performs the instruction, as its opcode says. */
static inline void run_instruction(struct running *r, const struct instruction *i)
{
        r->isa->set->opcodes[i->numbers[0]].run(r, i);
}
static inline void isa_nothing(struct running *r, const struct instruction *i)
{
        (void)r;
        (void)i;
}

#endif
