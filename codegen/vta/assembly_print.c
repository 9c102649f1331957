/* SPDX-License-Identifier: MIT */
/* Programs as text:
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
 * A field that is not there is 0. Words of an instruction are those of isa.def; dram is an address in bytes, also as @SEGMENT+BYTES.
 * What is no instruction, or no micro-op, is written as bytes: `bytes 00 01 ..`. */
#include <inttypes.h>
#include <string.h>

#include "codegen/vta/program.h"

enum { ROW = 32, NOTE_COLUMN = 88 };

static void print_bytes(struct text *out, const unsigned char *bytes, int64_t count)
{
        for (int64_t k = 0; k < count; k++) {
                char word[3] = { "0123456789abcdef"[bytes[k] >> 4], "0123456789abcdef"[bytes[k] & 15], ' ' };
                text_add_bytes(out, word, k + 1 < count ? 3 : 2);
        }
}

/* ---- instructions ---- */

void program_print_address(const struct vta_program *p, int64_t address, struct text *out)
{
        const struct vta_segment *s = p ? vta_program_segment(p, address, 1) : NULL;
        if (!s || s->shared)
                text_add(out, "0x%" PRIx64, (uint64_t)address);
        else if (address == s->address)
                text_add(out, "@%s", s->name);
        else
                text_add(out, "@%s+%" PRId64, s->name, address - s->address);
}

static void print_field(struct text *out, const struct vta_program *p, const struct vta *v, const struct vta_instruction *i,
                        const struct code_field *f, int64_t number)
{
        if (f == &v->fields[VTA_FIELD_dram_base])
                program_print_address(p, number * v->bytes[i->memory], out);
        else
                text_add(out, "%" PRId64, number);
}

/* fields of one word together, where one of them is not 0: one bit is a word by itself */
static void print_words(struct text *out, const struct vta_program *p, const struct vta *v, struct vta_instruction *i)
{
        enum vta_form form = vta_form_of(i->opcode);
        for (int n = 0, next; n < VTA_FIELDS; n = next) {
                const struct code_field *f = &v->fields[n];
                bool any = false;
                for (next = n; next < VTA_FIELDS && !strcmp(v->fields[next].word, f->word); next++)
                        any |= *vta_at(i, &v->fields[next]) != 0;
                bool always = n == VTA_FIELD_imm && i->use_imm;
                if (!*f->word || (!any && !always) || !vta_form_has(form, f->form))
                        continue;
                text_add(out, f->width == 1 && next == n + 1 ? " %s" : " %s=", f->word);
                for (int k = n; k < next && !(f->width == 1 && next == n + 1); k++) {
                        if (k > n)
                                text_add(out, ",");
                        print_field(out, p, v, i, &v->fields[k], *vta_at(i, &v->fields[k]));
                }
        }
}

void vta_assembly_instruction(const struct vta *v, const struct vta_program *p, const unsigned char bytes[VTA_BYTES], struct text *out)
{
        struct vta_instruction i;
        bool fine = !vta_decode(v, bytes, &i);
        if (!fine || (i.opcode == VTA_OPCODE_ALU && !i.use_imm && i.imm)) {     /* an immediate that is not used */
                text_add(out, "bytes ");
                print_bytes(out, bytes, VTA_BYTES);
                return;
        }
        text_add(out, "%s", vta_opcode_names[i.opcode]);
        if (vta_form_of(i.opcode) == VTA_FORM_MOVE)
                text_add(out, ".%s", vta_memory_names[i.memory]);
        if (i.opcode == VTA_OPCODE_ALU)
                text_add(out, ".%s", vta_operation_names[i.operation]);
        print_words(out, p, v, &i);
}

/* ---- segments ---- */

static void note(struct text *out, size_t line, const char *format, int64_t number)
{
        do
                text_add(out, " ");
        while (out->length - line < NOTE_COLUMN);
        text_add(out, format, number);
}

static void print_code(struct text *out, const struct vta_program *p)
{
        const int each = p->codec->bytes;
        for (int64_t k = 0; k < p->code->bytes / each; k++) {
                size_t line = out->length;
                text_add(out, "        ");
                p->codec->print(p, p->code->content + k * each, out);
                note(out, line, "# %" PRId64 "\n", k);
        }
}

static void print_micro_ops(struct text *out, const struct vta_program *p, const struct vta_segment *s)
{
        for (int64_t k = 0; k < s->bytes; k += VTA_MICRO_OP_BYTES) {
                struct vta_instruction u;
                int64_t left = s->bytes - k < VTA_MICRO_OP_BYTES ? s->bytes - k : VTA_MICRO_OP_BYTES;
                size_t line = out->length;
                text_add(out, "        ");
                if (left == VTA_MICRO_OP_BYTES && vta_decode_micro_op(&p->vta, (uint32_t)vta_number(s->content + k, VTA_MICRO_OP_BYTES), &u)) {
                        text_add(out, "%" PRId64 " %" PRId64 " %" PRId64, u.dst, u.src, u.wgt);
                } else {
                        text_add(out, "bytes ");
                        print_bytes(out, s->content + k, left);
                }
                note(out, line, k ? "# %" PRId64 "\n" : "# %" PRId64 ": dst src wgt\n", k / VTA_MICRO_OP_BYTES);
        }
}

static void print_content(struct text *out, const struct vta_segment *s)
{
        for (int64_t k = 0; k < s->bytes; k += ROW) {
                text_add(out, "        ");
                print_bytes(out, s->content + k, s->bytes - k < ROW ? s->bytes - k : ROW);
                text_add(out, "\n");
        }
}

void vta_assembly_print(const struct vta_program *p, struct text *out)
{
        char sizes[VTA_SIZES_TEXT] = "";
        if (p->codec->sizes)
                p->codec->sizes(p, sizes);
        text_add(out, "machine %s%s%s\ndram 0x%" PRIx64 "\n", p->codec->machine->name, *sizes ? " " : "", sizes, (uint64_t)p->dram_bytes);
        for (int k = 0; k < p->count; k++) {
                const struct vta_segment *s = &p->segments[k];
                text_add(out, "\n%s %s 0x%" PRIx64, vta_kinds[s->kind].name, s->name, (uint64_t)s->address);
                if (!s->content) {
                        text_add(out, " %" PRId64 "\n", s->bytes);
                        continue;
                }
                text_add(out, " {\n");
                if (s->kind == VTA_KIND_CODE)
                        print_code(out, p);
                else if (s->kind == VTA_KIND_MICRO_OPS)
                        print_micro_ops(out, p, s);
                else
                        print_content(out, s);
                text_add(out, "}\n");
        }
}
