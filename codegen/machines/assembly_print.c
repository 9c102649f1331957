/* SPDX-License-Identifier: MIT */
/* Prints programs as text:
 *
 *     machine vta
 *     dram 0x9000
 *
 *     instructions code 0x1000 {
 *             load.inp push_next sram=3 dram=@x+64 size=1,4 stride=4     # 0
 *             gemm pop_prev uop=0,2 loop=1,1                              # 1
 *             alu.max uop=2,3 loop=1,1 imm=-128                           # 2
 *             finish                                                      # 3
 *     }
 *     micro_ops uops 0x2000 {
 *             5 3 2                                                       # 0: dst src wgt
 *     }
 *     input x 0x3000 64                                                   # zeros
 *     expect y 0x4000 {
 *             00 01 7f
 *     }
 *
 * A field that is not written is 0. The words of an instruction are those of the machine's fields;
 * dram is an address in bytes, which may also be written @SEGMENT+BYTES. Bytes that are no
 * instruction, or no micro-op, are written as `bytes 00 01 ..`. */
#include <inttypes.h>
#include <string.h>

#include "codegen/machines/machine_program.h"

enum { ROW = 32, NOTE_COLUMN = 88 };

static void print_bytes(struct text *out, const unsigned char *bytes, int64_t count)
{
        for (int64_t k = 0; k < count; k++) {
                char word[3] = { "0123456789abcdef"[bytes[k] >> 4],
                                 "0123456789abcdef"[bytes[k] & 15], ' ' };
                text_add_bytes(out, word, k + 1 < count ? 3 : 2);
        }
}

/* ---- instructions ---- */

void program_print_address(const struct machine_program *p, int64_t address, struct text *out)
{
        const struct segment *s = p ? program_segment(p, address, 1) : NULL;
        if (!s || s->shared)
                text_add(out, "0x%" PRIx64, (uint64_t)address);
        else if (address == s->address)
                text_add(out, "@%s", s->name);
        else
                text_add(out, "@%s+%" PRId64, s->name, address - s->address);
}

int assembly_word_fields(const struct isa *isa, int n)
{
        const struct code_field *f = &isa->fields[n];
        int count = 1;
        while (n + count < isa->set->field_count && f[count].form == f->form &&
               !strcmp(f[count].word, f->word))
                count++;
        return count;
}

static void print_field(struct text *out, const struct machine_program *p, const struct isa *isa,
                        const struct instruction *i, int n)
{
        const struct code_field *f = &isa->fields[n];
        if (f->address)
                program_print_address(p, i->numbers[n] * isa_address_bytes(isa, i), out);
        else if (f->names)
                text_add(out, "%s", f->names[i->numbers[n]]);
        else
                text_add(out, "%" PRId64, i->numbers[n]);
}

/* Prints the fields that share a word, where one of them is not 0; a field of one bit is a word by
 * itself. */
static void print_words(struct text *out, const struct machine_program *p, const struct isa *isa,
                        const struct instruction *i)
{
        for (int n = 1, count; n < isa->set->field_count; n += count) {
                const struct code_field *f = &isa->fields[n];
                count = assembly_word_fields(isa, n);
                const bool bit = f->width == 1 && count == 1;
                bool there = f->where ? i->numbers[f->where - 1] : f->names != NULL;
                for (int k = n; k < n + count; k++)
                        there |= i->numbers[k] != 0;
                if (!*f->word || !there || !isa_form_has(isa, isa_form(isa, i), f))
                        continue;
                text_add(out, bit ? " %s" : " %s=", f->word);
                for (int k = n; k < n + count && !bit; k++) {
                        if (k > n)
                                text_add(out, ",");
                        print_field(out, p, isa, i, k);
                }
        }
}

/* Has a field that no word would show a number? */
static bool is_hidden(const struct isa *isa, const struct instruction *i)
{
        for (int k = 1; k < isa->set->field_count; k++)
                if (isa->fields[k].where && i->numbers[k] && !i->numbers[isa->fields[k].where - 1])
                        return true;
        return false;
}

void assembly_print_instruction(const struct isa *isa, const struct machine_program *p,
                                const unsigned char *bytes, struct text *out)
{
        struct instruction i;
        if (isa_decode(isa, bytes, &i) || is_hidden(isa, &i)) {
                text_add(out, "bytes ");
                print_bytes(out, bytes, isa->set->bytes);
                return;
        }
        text_add(out, "%s", isa_name(isa, &i));
        for (int k = 1; k < isa->set->field_count; k++) {
                const struct code_field *f = &isa->fields[k];
                if (f->names && !*f->word && isa_form_has(isa, isa_form(isa, &i), f))
                        text_add(out, ".%s", f->names[i.numbers[k]]);
        }
        print_words(out, p, isa, &i);
}

/* ---- segments ---- */

/* Begins a note after the text of a line, which began at offset `line`. */
static void begin_note(struct text *out, size_t line)
{
        do
                text_add(out, " ");
        while (out->length - line < NOTE_COLUMN);
        text_add(out, "# ");
}

static void print_code(struct text *out, const struct machine_program *p)
{
        for (int64_t k = 0; k < program_length(p); k++) {
                size_t line = out->length;
                text_add(out, "        ");
                assembly_print_instruction(&p->isa, p, program_instruction(p, k), out);
                begin_note(out, line);
                text_add(out, "%" PRId64 "\n", k);
        }
}

static void print_lists(struct text *out, const struct machine_program *p, const struct segment *s)
{
        const struct instruction_set *set = p->isa.set;
        const int each = set->list_bytes;
        for (int64_t k = 0; k < s->bytes; k += each) {
                struct instruction place;
                const int64_t left = s->bytes - k < each ? s->bytes - k : each;
                const bool fine = left == each && isa_decode_place(&p->isa, s->content + k, &place);
                const size_t line = out->length;
                text_add(out, "       ");
                for (int n = 0; n < set->field_count && fine; n++)
                        if (set->fields[n].form == set->list_form)
                                text_add(out, " %" PRId64, place.numbers[n]);
                if (!fine) {
                        text_add(out, " bytes ");
                        print_bytes(out, s->content + k, left);
                }
                begin_note(out, line);
                text_add(out, "%" PRId64 "%s", k / each, k ? "" : ":");
                for (int n = 0; n < set->field_count && !k; n++)
                        if (set->fields[n].form == set->list_form)
                                text_add(out, " %s", set->fields[n].word);
                text_add(out, "\n");
        }
}

static void print_content(struct text *out, const struct segment *s)
{
        for (int64_t k = 0; k < s->bytes; k += ROW) {
                text_add(out, "        ");
                print_bytes(out, s->content + k, s->bytes - k < ROW ? s->bytes - k : ROW);
                text_add(out, "\n");
        }
}

void assembly_print(const struct machine_program *p, struct text *out)
{
        char sizes[ISA_SIZES_TEXT] = "";
        if (p->isa.set->sizes)
                p->isa.set->sizes(&p->isa.machine, sizes);
        text_add(out, "machine %s%s%s\ndram 0x%" PRIx64 "\n", p->isa.set->machine->name,
                 *sizes ? " " : "", sizes, (uint64_t)p->dram_bytes);
        for (int k = 0; k < p->count; k++) {
                const struct segment *s = &p->segments[k];
                text_add(out, "\n%s %s 0x%" PRIx64, segment_kinds[s->kind].name, s->name,
                         (uint64_t)s->address);
                if (!s->content) {
                        text_add(out, " %" PRId64 "\n", s->bytes);
                        continue;
                }
                text_add(out, " {\n");
                if (s->kind == SEGMENT_CODE)
                        print_code(out, p);
                else if (s->kind == SEGMENT_MICRO_OPS && p->isa.set->list_bytes)
                        print_lists(out, p, s);
                else
                        print_content(out, s);
                text_add(out, "}\n");
        }
}
