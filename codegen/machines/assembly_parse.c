/* SPDX-License-Identifier: MIT */
/* Reads what assembly_print.c writes; its head comment shows the text. The text is read twice:
 * first to find where segments lie, so that instructions may name any of them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codegen/machines/machines.h"
#include "codegen/machines/machine_program.h"

enum token { END, NEWLINE, OPEN, CLOSE, WORD };

struct parser {
        const char *at, *end;
        int line;
        enum token token;
        const char *word;               /* This is the text of a WORD. */
        size_t length;
        struct machine_program *p;
        struct map *places;             /* It finds segments by name, except expected ones. */
        struct arena *arena;
        struct diag *diag;
};

static bool fail(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct parser *p, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        const char *message = arena_vprintf(p->arena, format, list);
        va_end(list);
        diag_error(p->diag, EXIT_INVALID, "line %d: %s", p->line, message);
        return false;
}

static const char *shown(struct parser *p)
{
        static const char *const names[] = { "the end", "the end of the line", "'{'", "'}'" };
        return p->token != WORD
                       ? names[p->token]
                       : arena_printf(p->arena, "'%s'", text_safe(p->arena, p->word, p->length));
}

/* ---- tokens ---- */

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static void next(struct parser *p)
{
        if (p->token == NEWLINE)
                p->line++;
        while (p->at < p->end && is_space(*p->at))
                p->at++;
        while (p->at < p->end && *p->at == '#')
                while (p->at < p->end && *p->at != '\n')
                        p->at++;
        p->word = p->at;
        if (p->at == p->end) {
                p->token = END;
        } else if (*p->at == '\n' || *p->at == '{' || *p->at == '}') {
                p->token = *p->at == '\n' ? NEWLINE : *p->at == '{' ? OPEN : CLOSE;
                p->at++;
        } else {
                p->token = WORD;
                while (p->at < p->end && !is_space(*p->at) &&
                       !strchr("\n{}#", *p->at ? *p->at : ' '))
                        p->at++;
                p->at += p->at == p->word;              /* A zero byte is a word by itself. */
        }
        p->length = (size_t)(p->at - p->word);
}

static void skip_lines(struct parser *p)
{
        while (p->token == NEWLINE)
                next(p);
}

static bool end_line(struct parser *p)
{
        if (p->token != NEWLINE && p->token != END)
                return fail(p, "want the end of the line, not %s", shown(p));
        skip_lines(p);
        return true;
}

static bool is_word(const struct parser *p, const char *word)
{
        return p->token == WORD && strlen(word) == p->length && !memcmp(p->word, word, p->length);
}

/* Reads a number: decimal, or hexadecimal after 0x; below 2^62 in magnitude. */
static bool number_of(const char *text, size_t length, int64_t *number)
{
        bool negative = length && *text == '-',
             hex = length > 2 && text[0] == '0' && text[1] == 'x';
        size_t k = hex ? 2 : negative;
        *number = 0;
        for (size_t first = k; k < length; k++) {
                char c = text[k];
                int digit = c >= '0' && c <= '9'          ? c - '0'
                            : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                          : -1;
                if (digit < 0 || k - first > 18 || *number > (INT64_MAX >> 6))
                        return false;
                *number = *number * (hex ? 16 : 10) + digit;
        }
        if (negative)
                *number = -*number;
        return length > (size_t)(hex ? 2 : negative);
}

static bool take_number(struct parser *p, const char *what, int64_t *number)
{
        if (p->token != WORD || !number_of(p->word, p->length, number))
                return fail(p, "want %s, not %s", what, shown(p));
        next(p);
        return true;
}

static bool byte_of(const struct parser *p, unsigned char *byte)
{
        *byte = 0;
        for (size_t k = 0; k < p->length; k++) {
                char c = p->word[k];
                int digit = c >= '0' && c <= '9'   ? c - '0'
                            : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                   : -1;
                if (digit < 0)
                        return false;
                *byte = (unsigned char)(*byte * 16 + digit);
        }
        return p->token == WORD && p->length == 2;
}

/* Reads the bytes of a line. */
static bool take_bytes(struct parser *p, struct text *out)
{
        for (unsigned char byte; p->token == WORD; next(p)) {
                if (!byte_of(p, &byte))
                        return fail(p, "want bytes of two hexadecimal digits, not %s", shown(p));
                text_add_bytes(out, (const char *)&byte, 1);
        }
        return end_line(p);
}

/* ---- instructions ---- */

/* Reads an address: @name, @name+bytes, or a number. */
static bool address_of(struct parser *p, const char *text, size_t length, int64_t *address)
{
        if (!length || *text != '@')
                return number_of(text, length, address) ||
                       fail(p, "no address: '%s'", text_safe(p->arena, text, length));
        const char *plus = memchr(text, '+', length);
        size_t name = (plus ? (size_t)(plus - text) : length) - 1;
        const struct segment *s = map_get(p->places, text + 1, name);
        if (!s)
                return fail(p, "no segment is called '%s'", text_safe(p->arena, text + 1, name));
        *address = 0;
        if (plus && !number_of(plus + 1, length - name - 2, address))
                return fail(p, "no number of bytes behind '%s'",
                            text_safe(p->arena, text, name + 2));
        *address += s->address;
        return true;
}

static int named(const char *const *names, int count, const char *word, size_t length)
{
        for (int k = 0; k < count; k++)
                if (strlen(names[k]) == length && !memcmp(names[k], word, length))
                        return k;
        return -1;
}

static bool set_address(struct parser *p, struct instruction *i, int n, const char *text,
                        size_t length)
{
        const struct isa *isa = &p->p->isa;
        const int64_t bytes = isa_address_bytes(isa, i);
        int64_t address;
        if (!address_of(p, text, length, &address))
                return false;
        if (address < 0 || address % bytes)
                return fail(p,
                            "address %" PRId64 " is no multiple of the %" PRId64
                            " bytes of an element",
                            address, bytes);
        i->numbers[n] = address / bytes;
        return true;
}

static bool set_name(struct parser *p, struct instruction *i, int n, const char *text,
                     size_t length)
{
        const struct code_field *f = &p->p->isa.fields[n];
        i->numbers[n] = named(f->names, f->name_count, text, length);
        return i->numbers[n] >= 0 ||
               fail(p, "%s is not called '%s'", f->word, text_safe(p->arena, text, length));
}

/* Reads the fields from n on that share the word of field n, one number each. */
static bool set_numbers(struct parser *p, struct instruction *i, int n, int count, const char *text,
                        size_t length)
{
        for (int k = 0; k < count; k++) {
                const char *comma = k + 1 < count ? memchr(text, ',', length) : NULL;
                size_t size = comma ? (size_t)(comma - text) : length;
                if ((!comma && k + 1 < count) || !number_of(text, size, &i->numbers[n + k]))
                        return fail(p, "%s wants %d number%s, not %s", p->p->isa.fields[n].word,
                                    count, count > 1 ? "s with commas between" : "", shown(p));
                text += size + 1;
                length -= comma ? size + 1 : 0;
        }
        return true;
}

/* Reads a word of an instruction: "push_next", "size=1,4". */
static bool take_word(struct parser *p, struct instruction *i, bool *set)
{
        const struct isa *isa = &p->p->isa;
        const char *equal = memchr(p->word, '=', p->length);
        size_t name = equal ? (size_t)(equal - p->word) : p->length;
        int n = 1;
        const struct code_field *f = &isa->fields[n];
        while (n < isa->set->field_count &&
               !(isa_form_has(isa, isa_form(isa, i), f) && *f->word && strlen(f->word) == name &&
                 !memcmp(f->word, p->word, name)))
                f = &isa->fields[++n];
        if (n == isa->set->field_count)
                return fail(p, "%s has no '%s'", isa_name(isa, i),
                            text_safe(p->arena, p->word, name));
        if (set[n])
                return fail(p, "%s stands there twice", f->word);
        const int count = assembly_word_fields(isa, n);
        const bool bit = f->width == 1 && count == 1;
        set[n] = true;
        if (bit == !!equal)
                return fail(p, bit ? "%s stands alone" : "%s wants =", f->word);
        if (f->where)
                i->numbers[f->where - 1] = 1;
        if (bit)
                i->numbers[n] = 1;
        else if (f->address)
                return set_address(p, i, n, equal + 1, p->length - name - 1);
        else if (f->names)
                return set_name(p, i, n, equal + 1, p->length - name - 1);
        else
                return set_numbers(p, i, n, count, equal + 1, p->length - name - 1);
        return true;
}

/* Reads the name of an instruction: "load.inp", "alu.max", "gemm". */
static bool take_mnemonic(struct parser *p, struct instruction *i)
{
        const struct isa *isa = &p->p->isa;
        const char *dot = memchr(p->word, '.', p->length);
        const size_t name = dot ? (size_t)(dot - p->word) : p->length;
        const char *rest = dot ? dot + 1 : NULL;
        int opcode = 0;
        while (opcode < isa->set->opcode_count &&
               !(strlen(isa->set->opcodes[opcode].name) == name &&
                 !memcmp(isa->set->opcodes[opcode].name, p->word, name)))
                opcode++;
        bool fine = opcode < isa->set->opcode_count;
        *i = (struct instruction){ { opcode } };
        for (int k = 1; k < isa->set->field_count && fine; k++) {
                const struct code_field *f = &isa->fields[k];
                if (!f->names || *f->word || !isa_form_has(isa, isa_form(isa, i), f))
                        continue;
                i->numbers[k] = rest ? named(f->names, f->name_count, rest, p->length - name - 1)
                        : -1;
                fine = i->numbers[k] >= 0;
                rest = NULL;
        }
        if (!fine || rest)
                return fail(p, "no instruction is called %s", shown(p));
        next(p);
        return true;
}

static bool check_fields(struct parser *p, const struct instruction *i, int form)
{
        const struct isa *isa = &p->p->isa;
        const struct code_field *f = isa_misfit(isa, i, form);
        return !f || fail(p, "%s is %" PRId64 ", which %d bits do not hold", f->name,
                          i->numbers[f - isa->fields], f->width);
}

static bool take_instruction(struct parser *p, struct text *out)
{
        const struct isa *isa = &p->p->isa;
        const size_t each = (size_t)isa->set->bytes;
        struct instruction i;
        bool set[ISA_FIELDS] = { false };
        if (is_word(p, "bytes")) {
                size_t before = out->length;
                int line = p->line;
                next(p);
                if (!take_bytes(p, out))
                        return false;
                p->line = out->length - before == each ? p->line : line;
                return out->length - before == each ||
                       fail(p, "an instruction has %d bytes", isa->set->bytes);
        }
        if (!take_mnemonic(p, &i))
                return false;
        for (; p->token == WORD; next(p))
                if (!take_word(p, &i, set))
                        return false;
        if (!check_fields(p, &i, isa_form(isa, &i)))
                return false;
        unsigned char *bytes = arena_alloc(p->arena, each);
        isa_encode(isa, &i, bytes);
        text_add_bytes(out, (const char *)bytes, each);
        return end_line(p);
}

static bool take_place(struct parser *p, struct text *out)
{
        const struct isa *isa = &p->p->isa;
        struct instruction place = { { 0 } };
        if (is_word(p, "bytes")) {
                next(p);
                return take_bytes(p, out);
        }
        for (int k = 0; k < isa->set->field_count; k++)
                if (isa->fields[k].form == isa->set->list_form &&
                    !take_number(p, isa->fields[k].word, &place.numbers[k]))
                        return false;
        if (!check_fields(p, &place, isa->set->list_form))
                return false;
        unsigned char *bytes = arena_alloc(p->arena, (size_t)isa->set->list_bytes);
        isa_encode_place(isa, &place, bytes);
        text_add_bytes(out, (const char *)bytes, (size_t)isa->set->list_bytes);
        return end_line(p);
}

/* ---- segments ---- */

/* Reads a segment up to its bytes or its braces. */
static bool take_head(struct parser *p, struct segment *s)
{
        int kind = 0;
        while (kind < SEGMENT_KINDS && !is_word(p, segment_kinds[kind].name))
                kind++;
        if (kind == SEGMENT_KINDS)
                return fail(p, "no kind of segment is called %s", shown(p));
        *s = (struct segment){ .kind = (enum segment_kind)kind };
        next(p);
        if (p->token != WORD || !segment_name_is_good(p->word, p->length))
                return fail(p, "want a name of 1 to 31 letters, digits, _ . -, not %s", shown(p));
        memcpy(s->name, p->word, p->length);
        next(p);
        if (!take_number(p, "an address", &s->address))
                return false;
        if (p->token != OPEN && !take_number(p, "a number of bytes, or '{'", &s->bytes))
                return false;
        return s->address >= 0 && s->bytes >= 0 ? true
                                                : fail(p, "an address or a size is negative");
}

static bool take_body(struct parser *p, struct segment *s)
{
        const bool lists = s->kind == SEGMENT_MICRO_OPS && p->p->isa.set->list_bytes;
        struct text bytes = { 0 };
        bool fine = true;
        next(p);
        for (skip_lines(p); fine && p->token != CLOSE; skip_lines(p))
                fine = p->token != WORD ? fail(p, "want '}' of '%s', not %s", s->name, shown(p))
                       : s->kind == SEGMENT_CODE ? take_instruction(p, &bytes)
                       : lists                   ? take_place(p, &bytes)
                                                 : take_bytes(p, &bytes);
        s->bytes = (int64_t)bytes.length;
        s->content = arena_copy(p->arena, bytes.data, bytes.length);
        text_free(&bytes);
        next(p);
        return fine;
}

static void skip_body(struct parser *p)
{
        while (p->token != CLOSE && p->token != END)
                next(p);
        if (p->token == CLOSE)
                next(p);
}

/* Reads all segments; with `bodies` it also reads what is in braces, for segments that are
 * known. */
static bool take_segments(struct parser *p, bool bodies)
{
        for (int k = 0; p->token != END; k++) {
                struct segment head;
                if (k == SEGMENTS_MOST)
                        return fail(p, "there are more than %d segments", SEGMENTS_MOST);
                if (!take_head(p, &head))
                        return false;
                if (!bodies) {
                        ARENA_GROW(p->arena, p->p->segments, p->p->count);
                        p->p->segments[p->p->count++] = head;
                        if (p->token == OPEN)
                                skip_body(p);
                } else if (p->token == OPEN && !take_body(p, &p->p->segments[k])) {
                        return false;
                }
                if (!end_line(p))
                        return false;
        }
        return true;
}

static bool take_machine(struct parser *p)
{
        char *sizes = "";
        skip_lines(p);
        const char *usual = machines[0]->name;
        const struct instruction_set *set = NULL;
        if (!is_word(p, "machine"))
                return fail(p, "no assembly of this machine: want 'machine %s' first, not %s",
                            usual, shown(p));
        next(p);
        for (int k = 0; machines[k]; k++)
                if (is_word(p, machines[k]->name))
                        set = machine_instructions(machines[k]);
        if (!set)
                return fail(p, "want '%s' or another machine's name, not %s", usual, shown(p));
        next(p);
        if (p->token == WORD && set->resize) {
                sizes = arena_printf(p->arena, "%.*s", (int)(p->length < 200 ? p->length : 200),
                                     p->word);
                next(p);
        }
        struct diag quiet = { .silent = true };
        if (!isa_begin_sizes(&p->p->isa, set, sizes, &quiet))
                return fail(p, "no machine has such sizes: '%s'",
                            text_safe(p->arena, sizes, strlen(sizes)));
        if (!end_line(p))
                return false;
        if (!is_word(p, "dram"))
                return fail(p, "want 'dram BYTES', not %s", shown(p));
        next(p);
        return take_number(p, "bytes of memory", &p->p->dram_bytes) && end_line(p);
}

bool assembly_parse(struct machine_program *program, const char *text, size_t length,
                    struct arena *arena, struct diag *diag)
{
        *program = (struct machine_program){ .count = 0 };
        struct parser p = { .at = text, .end = text + length, .line = 1, .token = END, .p = program,
                            .places = map_new(arena),
                            .arena = arena, .diag = diag };
        next(&p);
        if (!take_machine(&p))
                return false;
        struct parser again = p;
        if (!take_segments(&p, false))
                return false;
        for (int k = 0; k < program->count; k++)
                if (program->segments[k].kind != SEGMENT_EXPECT)
                        map_set(p.places, program->segments[k].name,
                                strlen(program->segments[k].name), &program->segments[k]);
        return take_segments(&again, true) && program_begin(program, arena, diag);
}
