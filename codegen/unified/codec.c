/* SPDX-License-Identifier: MIT */
/* Programs of this machine as files and text (codegen/vta/program.h), and launches as programs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/machines.h"
#include "codegen/unified/unified.h"

/* ---- text ---- */

static bool is_bit(const struct code_field *fields, int k)
{
        return fields[k].width == 1;
}

/* fields from k on that have its word */
static int word_count(const struct code_field *fields, int k)
{
        int count = 1;
        while (k + count < UNIFIED_FIELDS && fields[k + count].form == fields[k].form && !strcmp(fields[k + count].word, fields[k].word))
                count++;
        return count;
}

static bool is_address(int field) { return field == UNIFIED_FIELD_host || field == UNIFIED_FIELD_from; }
static bool is_unit(int field) { return field == UNIFIED_FIELD_unit || field == UNIFIED_FIELD_on; }

static void print_number(const struct vta_program *p, int field, int64_t number, struct text *out)
{
        if (is_address(field))
                program_print_address(p, number, out);
        else if (is_unit(field))
                text_add(out, "%s", unified_unit_names[number]);
        else
                text_add(out, "%" PRId64, number);
}

static void print(const struct vta_program *p, const unsigned char *bytes, struct text *out)
{
        const struct code_field *fields = unified_fields();
        struct unified_instruction i;
        if (!unified_decode(bytes, &i)) {
                text_add(out, "bytes");
                for (int k = 0; k < UNIFIED_BYTES; k++)
                        text_add(out, " %02x", bytes[k]);
                return;
        }
        text_add(out, "%s", unified_opcode_names[i.opcode]);
        for (int k = 1, count; k < UNIFIED_FIELDS; k += count) {
                bool any = false;
                count = word_count(fields, k);
                for (int n = k; n < k + count; n++)
                        any |= *unified_at(&i, &fields[n]) != 0 || is_unit(n);
                if (!any || !unified_has(i.opcode, &fields[k]))
                        continue;
                text_add(out, is_bit(fields, k) ? " %s" : " %s=", fields[k].word);
                for (int n = k; n < k + count && !is_bit(fields, k); n++) {
                        text_add(out, n > k ? "," : "");
                        print_number(p, n, *unified_at(&i, &fields[n]), out);
                }
        }
}

static bool number_of(struct program_line *line, int field, const char *text, size_t length, int64_t *number)
{
        if (is_address(field))
                return program_line_address(line, text, length, number);
        for (int u = 0; is_unit(field) && u < UNIFIED_STAGES; u++)
                if (strlen(unified_unit_names[u]) == length && !memcmp(unified_unit_names[u], text, length)) {
                        *number = u;
                        return true;
                }
        return (!is_unit(field) && program_number(text, length, number)) ||
               program_line_fail(line, is_unit(field) ? "no unit is called" : "no number:", text, length);
}

/* "next", "size=32,32" */
static bool take_word(struct program_line *line, const char *word, size_t length, struct unified_instruction *i, bool *set)
{
        const struct code_field *fields = unified_fields();
        const char *equal = memchr(word, '=', length), *at = equal ? equal + 1 : word, *end = word + length;
        const size_t name = equal ? (size_t)(equal - word) : length;
        int k = 1;
        while (k < UNIFIED_FIELDS && !(unified_has(i->opcode, &fields[k]) && strlen(fields[k].word) == name && !memcmp(fields[k].word, word, name)))
                k++;
        if (k == UNIFIED_FIELDS || is_bit(fields, k) == !!equal)
                return program_line_fail(line, "the instruction has no word", word, length);
        if (set[k])
                return program_line_fail(line, "there twice:", word, name);
        set[k] = true;
        if (!equal) {
                *unified_at(i, &fields[k]) = 1;
                return true;
        }
        for (int n = k, count = word_count(fields, k); n < k + count; n++) {
                const char *comma = memchr(at, ',', (size_t)(end - at));
                if (!comma == (n + 1 < k + count))
                        return program_line_fail(line, "too few or too many numbers:", word, length);
                const char *stop = comma ? comma : end;
                if (!number_of(line, n, at, (size_t)(stop - at), unified_at(i, &fields[n])))
                        return false;
                at = stop + (comma != NULL);
        }
        return true;
}

static bool assemble(struct program_line *line, unsigned char *bytes)
{
        struct unified_instruction i = { 0 };
        bool set[UNIFIED_FIELDS] = { false };
        if (!program_line_words(line))
                return false;
        while (i.opcode < UNIFIED_OPCODES && (strlen(unified_opcode_names[i.opcode]) != line->lengths[0] ||
                                              memcmp(unified_opcode_names[i.opcode], line->words[0], line->lengths[0])))
                i.opcode++;
        if (i.opcode == UNIFIED_OPCODES)
                return program_line_fail(line, "no instruction is called", line->words[0], line->lengths[0]);
        for (int k = 1; k < line->count; k++)
                if (!take_word(line, line->words[k], line->lengths[k], &i, set))
                        return false;
        const struct code_field *f = unified_misfit(i);
        if (f)
                return program_line_fail(line, "a number does not fit:", f->name, strlen(f->name));
        unified_encode(i, bytes);
        return true;
}

/* ---- files ---- */

static int log2_of(int64_t n)
{
        int log = 0;
        while (n > 1)
                n >>= 1, log++;
        return log;
}

/* logarithms of: bits of inputs, weights, sums, what leaves; batch, inputs and outputs of a step. Then MiB of ub, blocks of fifo,
 * logarithms of elements of acc and par, 0. */
static void configuration(const struct vta_program *p, unsigned char bytes[VTA_CONFIGURATION])
{
        (void)p;
        const struct machine *m = &machine_unified;
        const unsigned char all[VTA_CONFIGURATION] = { 3, 3, 5, 3, 0, (unsigned char)log2_of(m->block_in), (unsigned char)log2_of(m->block_out),
                                                       (unsigned char)(m->memories[UNIFIED_UB].bytes >> 20), (unsigned char)unified_depth(UNIFIED_FIFO),
                                                       (unsigned char)log2_of(unified_depth(UNIFIED_ACC)),
                                                       (unsigned char)log2_of(unified_depth(UNIFIED_PAR)), 0 };
        memcpy(bytes, all, sizeof all);
}

/* halt is the last, and no other is */
static bool check_code(const struct vta_program *p, struct diag *diag)
{
        const int64_t length = unified_length(p);
        for (int64_t k = 0; k < length; k++) {
                struct unified_instruction i;
                const bool halts = unified_instruction_at(p, k, &i) && i.opcode == UNIFIED_HALT_CODE;
                if (halts != (k == length - 1)) {
                        diag_error(diag, EXIT_INVALID, "instruction %" PRId64 ": %s", k,
                                   halts ? "halt stands before the last instruction" : "the last one is not halt");
                        return false;
                }
        }
        return true;
}

const struct program_codec unified_codec = {
        .machine = &machine_unified,
        .magic = "UNIPROG1",
        .bytes = UNIFIED_BYTES,
        .configuration = configuration,
        .check_code = check_code,
        .print = print,
        .assemble = assemble,
        .run = unified_run,
        .check = unified_check,
        .report = unified_report,
};

/* ---- launches ---- */

static bool stream_program(struct vta_program *p, const struct loop_function *stream, const struct launch_argument *arguments,
                           struct arena *arena, struct diag *diag)
{
        struct launch_program l;
        unsigned char *code;
        int64_t count;
        *p = (struct vta_program){ .codec = &unified_codec };
        if (!launch_program_begin(&l, p, stream, arguments, VTA_ALIGN, arena, diag) ||
            !unified_encode_stream(stream, l.addresses, arena, &code, &count, diag))
                return false;
        launch_program_add(&l, "code", VTA_KIND_CODE, count * UNIFIED_BYTES, code);
        return launch_program_end(&l, arena, diag);
}

launch_writer unified_launch_write;
bool unified_launch_write(const struct loop_function *stream, const struct launch_argument *arguments, bool as_text, struct text *out,
                          struct diag *diag)
{
        struct arena *arena = arena_new();
        struct vta_program p;
        const bool fine = stream_program(&p, stream, arguments, arena, diag);
        if (fine)
                (as_text ? vta_assembly_print : vta_exchange_write)(&p, out);
        arena_free(arena);
        return fine;
}
