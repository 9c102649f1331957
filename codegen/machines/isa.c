/* SPDX-License-Identifier: MIT */
/* Encodes and decodes instructions, for a machine of any sizes. */
#include <inttypes.h>
#include <string.h>

#include "codegen/machines/machine_check.h"

enum { BYTES_MOST = 64, ADDRESSABLE = 1 << 20 };

/* ---- a machine of some sizes ---- */

static const char *place_fields(struct isa *isa)
{
        const struct instruction_set *set = isa->set;
        int ends[ISA_FIELDS] = { 0 };
        memcpy(isa->fields, set->fields, (size_t)set->field_count * sizeof *set->fields);
        for (int k = 0; k < set->field_count; k++) {
                struct code_field *f = &isa->fields[k];
                if (f->counts)
                        f->width = isa_log2(2 * isa->depth[f->counts - 1] - 1) + f->more;
        }
        code_place(isa->fields, set->field_count, set->forms, ends);
        for (int k = 0; k < set->form_count; k++)
                if (ends[k] >
                    8 * (set->list_bytes && k == set->list_form ? set->list_bytes : set->bytes))
                        return "the fields of an instruction do not fit into its bits, or those of "
                               "a place in a list";
        return NULL;
}

const char *isa_begin(struct isa *isa, const struct instruction_set *set,
                      const struct machine *machine)
{
        *isa = (struct isa){ .set = set, .machine = *machine };
        for (int k = 0; k < MACHINE_MEMORIES && machine->memories[k].name; k++) {
                const struct machine_memory *m = &machine->memories[k];
                if (m->bytes < 2 * machine_element_bytes(m))
                        return "a memory holds less than two elements";
                isa->depth[k] = machine_depth(m);
                isa->bytes[k] = machine_element_bytes(m);
                if (isa->depth[k] > ADDRESSABLE || isa->bytes[k] > ADDRESSABLE)
                        return "a memory is larger than an instruction can address";
        }
        const char *why = set->fits ? set->fits(isa) : NULL;
        return why ? why : place_fields(isa);
}

bool isa_begin_sizes(struct isa *isa, const struct instruction_set *set, const char *sizes,
                     struct diag *diag)
{
        struct arena *arena = arena_new();
        struct machine machine = *set->machine;
        bool fine = !*sizes || (set->resize && set->resize(&machine, sizes, arena, diag));
        const char *why = fine ? isa_begin(isa, set, &machine) : NULL;
        if (why)
                diag_error(diag, EXIT_USAGE, "no machine has such sizes, %s: %s",
                           text_argument(arena, sizes), why);
        arena_free(arena);
        return fine && !why;
}

/* ---- bytes ---- */

void isa_configuration(const struct isa *isa, unsigned char bytes[ISA_CONFIGURATION])
{
        enum { FIRST = ISA_CONFIGURATION - ISA_MEMORY_SIZES };
        const struct machine *m = &isa->machine;
        const struct machine_memory *k = m->memories;
        const int64_t numbers[FIRST] = { k[m->inputs].bits, k[m->weights].bits, k[m->sums].bits,
                                         k[m->stored].bits, m->batch, m->block_in, m->block_out };
        for (int n = 0; n < FIRST; n++)
                bytes[n] = (unsigned char)isa_log2(numbers[n]);
        isa->set->configuration(isa, bytes + FIRST);
}

int isa_form(const struct isa *isa, const struct instruction *i)
{
        return isa->set->opcodes[i->numbers[0]].form;
}

const struct code_field *isa_misfit(const struct isa *isa, const struct instruction *i, int form)
{
        for (int k = 0; k < isa->set->field_count; k++) {
                const struct code_field *f = &isa->fields[k];
                const int64_t most = (INT64_C(1) << (f->width - f->sign)) - 1;
                if (isa_form_has(isa, form, f) &&
                    (i->numbers[k] > most || i->numbers[k] < (f->sign ? -most - 1 : 0)))
                        return f;
        }
        return NULL;
}

static void encode(const struct isa *isa, const struct instruction *i, int form, unsigned char *to,
                   int bytes)
{
        uint64_t words[BYTES_MOST / 8] = { 0 };
        for (int k = 0; k < isa->set->field_count; k++) {
                const struct code_field *f = &isa->fields[k];
                const uint64_t mask = (UINT64_C(1) << f->width) - 1;
                if (isa_form_has(isa, form, f))
                        words[f->bit / 64] |= ((uint64_t)i->numbers[k] & mask) << f->bit % 64;
        }
        for (int k = 0; k < bytes; k++)
                to[k] = (unsigned char)(words[k / 8] >> 8 * (k % 8));
}

/* Decodes fields; returns false where bits are set that no field of the form has. */
static bool decode(const struct isa *isa, const unsigned char *from, int bytes, int form,
                   struct instruction *i)
{
        unsigned char again[BYTES_MOST];
        *i = (struct instruction){ { 0 } };
        for (int k = 0; k < isa->set->field_count; k++)
                if (isa_form_has(isa, form, &isa->fields[k]))
                        i->numbers[k] = code_number(&isa->fields[k], from, bytes);
        encode(isa, i, form, again, bytes);
        return !memcmp(again, from, (size_t)bytes);
}

void isa_encode(const struct isa *isa, const struct instruction *i, unsigned char *bytes)
{
        encode(isa, i, isa_form(isa, i), bytes, isa->set->bytes);
}

static const char *wrong(const struct isa *isa, const unsigned char *bytes, struct instruction *i)
{
        const struct instruction_set *set = isa->set;
        const int64_t opcode = code_number(&isa->fields[0], bytes, set->bytes);
        if (opcode >= set->opcode_count)
                return "there is no such opcode";
        if (!decode(isa, bytes, set->bytes, set->opcodes[opcode].form, i))
                return "bits are set that are no field's";
        for (int k = 1; k < set->field_count; k++)
                if (isa->fields[k].names && i->numbers[k] >= isa->fields[k].name_count)
                        return "a number of a field means nothing";
        return NULL;
}

const char *isa_decode(const struct isa *isa, const unsigned char *bytes, struct instruction *i)
{
        const char *why = wrong(isa, bytes, i);
        if (why)
                *i = (struct instruction){ { 0 } };
        return why;
}

void isa_encode_place(const struct isa *isa, const struct instruction *place, unsigned char *bytes)
{
        encode(isa, place, isa->set->list_form, bytes, isa->set->list_bytes);
}

bool isa_decode_place(const struct isa *isa, const unsigned char *bytes, struct instruction *place)
{
        return decode(isa, bytes, isa->set->list_bytes, isa->set->list_form, place);
}

/* ---- what can run ---- */

struct bounds { const struct isa *isa; int64_t memory; const char *broken; };

static void hold(void *context, int memory, const struct rows *rows, int64_t count,
                 enum access access)
{
        struct bounds *b = context;
        const int64_t end = rows_end(rows, count);
        (void)access;
        if (b->broken)
                return;
        if (memory != OUTSIDE)
                b->broken = end > b->isa->depth[memory] ? b->isa->set->inside : NULL;
        else if (b->memory >= 0 && (rows->first < PROGRAM_PAGE || end > b->memory))
                b->broken = b->isa->set->outside;
}

/* Do all numbers that are sizes say 1 or more? */
static bool has_sizes(const struct isa *isa, const struct instruction *i)
{
        bool all = true;
        for (int k = 0; k < isa->set->field_count; k++)
                if (isa->fields[k].size && isa_form_has(isa, isa_form(isa, i), &isa->fields[k]))
                        all &= i->numbers[k] > 0;
        return all;
}

const char *instruction_breaks(const struct isa *isa, const struct instruction *i,
                               const void *lists, int64_t memory)
{
        struct bounds b = { isa, memory, has_sizes(isa, i) ? isa->set->breaks(isa, i, lists, memory)
                                                           : "empty" };
        struct running r = { .isa = isa, .touched = hold, .context = &b };
        if (!b.broken && isa->set->inside)
                run_instruction(&r, i);
        return b.broken;
}

bool instruction_can_run(const struct isa *isa, const struct instruction *i, int64_t number,
                         const void *lists, int64_t memory, struct diag *diag)
{
        const char *name = instruction_breaks(isa, i, lists, memory);
        if (name)
                diag_error(diag, EXIT_INVALID, "instruction %" PRId64 " (%s) cannot run: %s [%s]",
                           number, isa_name(isa, i),
                           isa_rule(isa->set, name)->text, name);
        return !name;
}

const struct isa_rule *isa_rule(const struct instruction_set *set, const char *name)
{
        int k = 0;
        while (strcmp(set->rules[k].name, name))
                k++;
        return &set->rules[k];
}

void *running_lists(const struct isa *isa, unsigned char byte)
{
        const size_t bytes = isa->set->list_size
                                     ? (size_t)isa->depth[isa->machine.lists] * isa->set->list_size
                                     : 0;
        return bytes ? memset(memory_alloc(bytes), byte, bytes) : NULL;
}

uint32_t running_word(const struct running *r, int64_t address)
{
        const struct segment *s = r->program ? program_segment(r->program, address, 4) : NULL;
        const unsigned char *from = r->memory         ? r->memory + address
                                    : s && s->content ? s->content + (address - s->address)
                                                      : NULL;
        return from ? (uint32_t)code_word(from, 4) : 0;
}
