/* SPDX-License-Identifier: MIT */
/* Writes weights beside the C file: constants of more than a few KB in a file that holds nothing
 * else.
 *
 *     8 words of 64 bits      magic, format, bytes of the file, 0, digest of the build and the data
 *     constant                each at a multiple of 64 bytes, zeros between them
 *     ...
 *
 * Everything is in the byte order of the target, so if the words have the expected values, the file
 * has the byte order of the machine. The C file contains all eight words, and run compares them,
 * because the file cannot be examined when the C file is compiled. The file is the same for both
 * ways that it travels: put into the object by the assembler, or given to run by the caller. */
#include "codegen/c_writer.h"

#include <string.h>

#include "base/sha256.h"
#include "base/size.h"
#include "runtime/dnncc_runtime.h"

enum { LEAST_BYTES = 4096 };            /* Constants of at least this many bytes go into the
                                         * file. */

struct c_weight { const struct loop_buffer *buffer; const char *name; size_t offset; };

static size_t element_bytes(const struct loop_buffer *b)
{
        return (size_t)element_info[b->element].bytes;
}

static size_t bytes_of(const struct loop_buffer *b)
{
        size_t bytes;
        if (!size_mul((size_t)b->extent, element_bytes(b), &bytes))
                memory_exhausted();
        return bytes;
}

/* Are all constants in the C file? */
static bool is_inline(const struct c_writer *w)
{
        return w->options->weights == PRINT_WEIGHTS_INLINE && !w->dialect->is_device;
}

bool c_is_weight(const struct c_writer *w, const struct loop_buffer *constant)
{
        if (w->dialect->is_device)
                return constant->extent > 0;
        return w->options->weights != PRINT_WEIGHTS_INLINE && !c_is_zero(constant) &&
               bytes_of(constant) > LEAST_BYTES;
}

/* ---- names and places ---- */

void c_weights_reserve(struct c_writer *w)
{
        static const char *const words[] = {
                "constants",      "constants_end",     "weights_head",
                "are_weights",    "weights_are_dense", "WEIGHTS_SYMBOL",
                "WEIGHTS_HIDDEN", "weights_rows",      "head"
        };
        if (is_inline(w))
                return;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                c_reserve(w, words[i]);
        if (w->options->weights == PRINT_WEIGHTS_FILE)
                /* It is a parameter of run. */
                names_reserve(w->globals, "weights");
}

const char *c_weight_text(struct c_writer *w, const char *name)
{
        return arena_printf(w->arena,
                            w->options->weights == PRINT_WEIGHTS_FILE || w->dialect->is_device
                                    ? "constants->%s"
                                    : "constants.%s",
                            name);
}

static size_t aligned(size_t bytes)
{
        if (!size_add(bytes, C_WEIGHTS_ALIGN - 1, &bytes))
                memory_exhausted();
        return bytes / C_WEIGHTS_ALIGN * C_WEIGHTS_ALIGN;
}

void c_weights_place(struct c_writer *w)
{
        /* They are inline, or have their places already. */
        if (is_inline(w) || w->weight_bytes)
                return;
        w->weight_bytes = sizeof(struct dnncc_weights_head);
        for (size_t i = 0; i < w->constant_count; i++) {
                const struct c_constant *c = &w->constants[i];
                if (!c->name->is_weight)
                        continue;
                ARENA_GROW(w->arena, w->weights, w->weight_count);
                w->weights[w->weight_count++] = (struct c_weight){
                        c->buffer, c->name->text + strcspn(c->name->text, ".>") + 1, w->weight_bytes
                };
                if (!size_add(w->weight_bytes, bytes_of(c->buffer), &w->weight_bytes))
                        memory_exhausted();
                w->weight_bytes = aligned(w->weight_bytes);
        }
}

/* ---- the file ---- */

/* Writes the constant as the target reads it, and zeros up to the next one. */
static void write_constant(const struct c_writer *w, const struct loop_buffer *b, FILE *file)
{
        static const unsigned char zeros[C_WEIGHTS_ALIGN];
        unsigned char piece[4096];
        const unsigned char *data = b->data;
        size_t bytes = bytes_of(b), size = element_bytes(b), part;
        bool reverse = w->options->target->big_endian;
        if (!b->splat && !reverse)
                fwrite(data, 1, bytes, file);
        for (size_t done = 0; (b->splat || reverse) && done < bytes; done += part) {
                part = bytes - done < sizeof piece ? bytes - done : sizeof piece;
                for (size_t i = 0; i < part; i++)
                        piece[i] = data[(b->splat ? 0 : done + i / size * size) +
                                        (reverse ? size - 1 - i % size : i % size)];
                fwrite(piece, 1, part, file);
        }
        fwrite(zeros, 1, aligned(bytes) - bytes, file);
}

static void write_head(FILE *file, const struct dnncc_weights_head *head, bool big_endian)
{
        const uint64_t *words = (const uint64_t *)(const void *)head;
        for (size_t i = 0; i < sizeof *head; i++)
                fputc((int)(words[i / 8] >> 8 * (big_endian ? 7 - i % 8 : i % 8) & 255), file);
}

/* The head's digest contains this checksum of the data, which is computed at the speed of memory.
 * It distinguishes constants that differ by accident, as those of two builds do; that is its
 * purpose, because run reads the head alone. */
struct checksum { uint64_t words[8]; };

/* Adds whole rows. Each word is combined with its column so far by a bijection, of operations that
 * vectors also have. */
static void add_rows(struct checksum *sum, const char *data, size_t rows)
{
        struct checksum row;
        for (; rows; rows--, data += sizeof row) {
                memcpy(&row, data, sizeof row);
                for (int i = 0; i < 8; i++) {
                        uint64_t mixed = sum->words[i] + row.words[i];
                        mixed += mixed << 21;
                        sum->words[i] = mixed ^ mixed >> 29;
                }
        }
}

static struct checksum checksum_of(const void *data, size_t bytes)
{
        struct checksum sum = { { 0 } }, last = sum;
        size_t rows = bytes / sizeof last;
        add_rows(&sum, data, rows);
        memcpy(&last, (const char *)data + rows * sizeof last, bytes % sizeof last);
        add_rows(&sum, (const char *)&last, 1);
        return sum;
}

static uint64_t hex_value(const char *hex, int digits)
{
        uint64_t value = 0;
        for (int i = 0; i < digits; i++)
                value = value << 4 | (uint64_t)(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
        return value;
}

static struct dnncc_weights_head make_head(const struct c_writer *w, const char *build)
{
        struct dnncc_weights_head head = { .magic = DNNCC_WEIGHTS_MAGIC,
                                           .format = DNNCC_WEIGHTS_FORMAT,
                                           .bytes = w->weight_bytes };
        struct sha256 sha;
        char hex[65];
        sha256_init(&sha);
        sha256_update(&sha, build, strlen(build));
        for (size_t i = 0; i < w->weight_count; i++) {
                const struct loop_buffer *b = w->weights[i].buffer;
                struct checksum sum =
                        checksum_of(b->data, b->splat ? element_bytes(b) : bytes_of(b));
                sha256_update(&sha, &sum, sizeof sum);
        }
        sha256_hex(&sha, hex);
        for (int i = 0; i < 4; i++)
                head.digest[i] = hex_value(hex + 16 * i, 16);
        return head;
}

/* ---- the C file ---- */

static void put_order(struct c_writer *w)
{
        bool big = w->options->target->big_endian;
        text_add(w->out,
                 "#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__)\n"
                 "#if __BYTE_ORDER__ %s __ORDER_BIG_ENDIAN__\n"
                 "#error \"the weights are %s-endian: compile the model with --target=%s\"\n"
                 "#endif\n#endif\n",
                 big ? "!=" : "==", big ? "big" : "little", big ? "generic" : "generic-be");
}

static void put_struct(struct c_writer *w)
{
        c_line(w, "struct weights {");
        w->indent = 1;
        c_line(w, "uint64_t head[8];");
        for (size_t i = 0; i < w->weight_count; i++) {
                const struct c_weight *weight = &w->weights[i];
                const struct loop_buffer *b = weight->buffer;
                c_line(w, "%s %s[%lld];", element_info[b->element].c_type, weight->name,
                       (long long)b->extent);
                size_t end = weight->offset + bytes_of(b);
                if (aligned(end) > end)
                        c_line(w, "unsigned char %s[%zu];", c_global(w, "gap"), aligned(end) - end);
        }
        w->indent = 0;
        c_line(w, "};");
        c_line(w, "typedef char weights_are_dense[sizeof(struct weights) == %zuu ? 1 : -1];",
               w->weight_bytes);
}

/* The symbols are global, because link-time optimization may put the functions that use them
 * elsewhere. They belong to this build only, and are hidden outside of the program or library. */
static const char incbin[] =
        "#if !defined(__GNUC__) || !defined(__ELF__)\n"
        "#error \"--weights=incbin is for gcc and clang on ELF systems: --weights=inline and file "
        "are for all\"\n"
        "#endif\n"
        "#define WEIGHTS_SYMBOL \"%s_weights_%016llx\"\n"
        "__asm__(\".pushsection .rodata.\" WEIGHTS_SYMBOL \", \\\"a\\\", %%progbits\\n\"\n"
        "        \".balign %d\\n\"\n"
        "        \".globl \" WEIGHTS_SYMBOL \", \" WEIGHTS_SYMBOL \"_end\\n\"\n"
        "        \".hidden \" WEIGHTS_SYMBOL \", \" WEIGHTS_SYMBOL \"_end\\n\"\n"
        "        \".type \" WEIGHTS_SYMBOL \", %%object\\n\"\n"
        "        WEIGHTS_SYMBOL \":\\n\"\n"
        "        \".incbin \\\"%s\\\"\\n\"\n"
        "        WEIGHTS_SYMBOL \"_end:\\n\"\n"
        "        \".size \" WEIGHTS_SYMBOL \", . - \" WEIGHTS_SYMBOL \"\\n\"\n"
        "        \".popsection\\n\");\n"
        "#define WEIGHTS_HIDDEN __attribute__((visibility(\"hidden\")))\n"
        "extern const struct weights constants __asm__(WEIGHTS_SYMBOL) WEIGHTS_HIDDEN;\n"
        "extern const unsigned char constants_end[] __asm__(WEIGHTS_SYMBOL \"_end\") "
        "WEIGHTS_HIDDEN;\n";

static void put_head(struct c_writer *w, const struct dnncc_weights_head *head)
{
        const uint64_t *words = (const uint64_t *)(const void *)head;
        text_add(w->out, "\n/* The file begins with this: magic, format, bytes, 0, and a digest of "
                         "this build and the\n"
                         " * constants. */\nstatic const uint64_t weights_head[8] = {");
        for (int i = 0; i < 8; i++)
                text_add(w->out, "%s0x%016llxu,", i % 4 ? " " : "\n        ",
                         (unsigned long long)words[i]);
        text_add(w->out, "\n};\n\nstatic int are_weights(const uint64_t *head)\n{\n"
                         "        int same = 1;\n"
                         "        for (int i = 0; i < 8; i++)\n"
                         "                same &= head[i] == weights_head[i];\n"
                         "        return same;\n}\n");
}

void c_weights_pointer(struct c_writer *w, bool needed)
{
        if (w->dialect->is_device)
                c_line(w, needed ? "const struct weights *const constants = (const struct weights "
                                   "*)weights;"
                                 : "(void)weights;");
        else if (w->options->weights == PRINT_WEIGHTS_FILE)
                c_line(w, needed ? "const struct weights *const constants = weights;"
                                 : "(void)weights;");
}

void c_weights_check(struct c_writer *w)
{
        bool is_file = w->options->weights == PRINT_WEIGHTS_FILE;
        if (w->options->weights == PRINT_WEIGHTS_INLINE || w->options->unchecked)
                return;
        c_put(w, "if (");
        if (!is_file)
                c_put(w, "(uintptr_t)constants_end - (uintptr_t)&constants != sizeof constants "
                         "||" C_SOFT);
        c_line(w, "!are_weights(constants%shead))", is_file ? "->" : ".");
        w->indent++;
        c_line(w, "return %s;", c_macro(w, "ERROR_WEIGHTS"));
        w->indent--;
}

static void put_comment(struct c_writer *w)
{
        const char *how = w->options->weights == PRINT_WEIGHTS_FILE
                                  ? ""
                                  : " The assembler puts that file here: it looks into the current "
                                    "folder and those given by -I (with "
                                    "-flto when the program is linked).";
        const char *file =
                text_safe(w->arena, w->options->weights_name, strlen(w->options->weights_name));
        text_add(w->out, "\n");
        c_comment(w->out, 0,
                  arena_printf(w->arena,
                               "The constants of more than %d bytes lie like this in %s.%s",
                               LEAST_BYTES, file, how));
}

static void write_all(const struct c_writer *w, const struct dnncc_weights_head *head, FILE *file)
{
        write_head(file, head, w->options->target->big_endian);
        for (size_t i = 0; i < w->weight_count; i++)
                write_constant(w, w->weights[i].buffer, file);
}

/* Writes the same bytes as rows of the C file, for code that copies them to where they are read. */
static void write_rows(struct c_writer *w, const struct dnncc_weights_head *head, FILE *c)
{
        FILE *bytes = tmpfile();
        if (!bytes) {
                c_fail(w, EXIT_IO, "no temporary file for the weights");
                return;
        }
        write_all(w, head, bytes);
        rewind(bytes);
        fprintf(c,
                "\n/* These are the constants, in rows. */\nstatic const char "
                "weights_rows[%zu][%d] = "
                "{\n",
                (w->weight_bytes + C_ROW_BYTES - 1) / C_ROW_BYTES, C_ROW_BYTES + 1);
        c_rows(bytes, w->weight_bytes, c);
        fprintf(c, "};\n");
        fclose(bytes);
}

void c_weights_print(struct c_writer *w, const char *build, FILE *c)
{
        const struct print_options *o = w->options;
        struct text text = { 0 };
        if (is_inline(w) || w->failed || (w->dialect->is_device && !w->weight_count))
                return;
        struct dnncc_weights_head head = make_head(w, build);
        w->out = &text;
        if (o->weights == PRINT_WEIGHTS_INLINE)
                text_add(&text, "\n/* The constants lie like this in the device's memory. */\n");
        else
                put_comment(w);
        put_order(w);
        put_struct(w);
        if (o->weights == PRINT_WEIGHTS_INCBIN)
                text_add(&text, incbin, o->prefix, (unsigned long long)head.digest[0],
                         C_WEIGHTS_ALIGN, o->weights_name);
        if (!o->unchecked && o->weights != PRINT_WEIGHTS_INLINE)
                put_head(w, &head);
        if (c)
                fwrite(text.data, 1, text.length, c);
        text_free(&text);
        if (o->weights == PRINT_WEIGHTS_INLINE)
                write_rows(w, &head, c);
        else
                write_all(w, &head, o->weights_file);
}

/* Returns the weight of this name, as which equal constants are the same; NULL: it is none. */
static const struct c_weight *weight_named(const struct c_writer *w, const struct c_name *name)
{
        const char *own = name->text + strcspn(name->text, ".>") + 1;
        for (size_t i = 0; i < w->weight_count && name->is_weight; i++)
                if (w->weights[i].name == own)
                        return &w->weights[i];
        return NULL;
}

void c_weights_describe(struct c_writer *w, const char *build, struct arena *arena,
                        struct c_interface *interface)
{
        if (is_inline(w))
                return;
        const struct dnncc_weights_head head = make_head(w, build);
        memcpy(interface->head, &head, sizeof interface->head);
        for (const struct loop_buffer *b = w->p->buffers; b; b = b->next) {
                const struct c_weight *weight =
                        b->space == SPACE_CONSTANT ? weight_named(w, c_name(w, b)) : NULL;
                if (!weight)
                        continue;
                ARENA_GROW(arena, interface->weights, interface->weight_count);
                interface->weights[interface->weight_count++] =
                        (struct c_weight_place){ b, weight->offset };
        }
}
