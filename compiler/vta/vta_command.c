/* SPDX-License-Identifier: MIT */
#include "compiler/vta/vta_command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/machines/machine_program.h"
#include "codegen/machines/machines.h"
#include "codegen/machines/simulator.h"
#include "compiler/files.h"
#include "compiler/options.h"
#include "compiler/process.h"
#include "compiler/vta/vta_options.h"

/* A file holds a program, its weights and an image of what it computes; text is larger. */
#define FILE_MOST (INT64_C(1) << 32)

struct session {
        struct arena *arena;
        struct vta_options options;
        struct diag diag;
        struct outputs *outputs;
        unsigned char *bytes;           /* They are the file's bytes. */
        size_t length;
        struct machine_program program;
};

/* Returns whether it is assembly, by its name; standard input is told by what it holds. */
static bool is_assembly(const struct session *s)
{
        const char *file = s->options.file;
        size_t length = strlen(file);
        return strcmp(file, "-") ? length > 2 && !strcmp(file + length - 2, ".s")
                                 : !is_exchange(s->bytes, s->length);
}

static bool read_program(struct session *s)
{
        const struct vta_options *o = &s->options;
        struct isa isa;         /* Its sizes are those of the table's first machine. */
        if (!isa_begin_sizes(&isa, machine_instructions(machines[0]), o->sizes, &s->diag) ||
            !file_read(o->file, FILE_MOST, &s->bytes, &s->length, &s->diag))
                return false;
        outputs_protect(s->outputs, o->file);
        if (is_assembly(s))
                return assembly_parse(&s->program, (const char *)s->bytes, s->length, s->arena,
                                      &s->diag);
        return exchange_read(&s->program, &isa, s->bytes, s->length, s->arena, &s->diag);
}

/* ---- writing ---- */

static bool is_standard(const char *output) { return !output || !strcmp(output, "-"); }

static bool write_text(struct session *s, const char *output, const struct text *text)
{
        FILE *file = is_standard(output) ? stdout : outputs_open(s->outputs, output, &s->diag);
        if (!file)
                return false;
        fwrite(text->data, 1, text->length, file);
        return true;
}

/* Writes the image; zeros take no room on the disk. */
static bool write_image(struct session *s, const unsigned char *memory)
{
        const char *output = s->options.output;
        FILE *file = is_standard(output) ? stdout : outputs_open(s->outputs, output, &s->diag);
        int64_t bytes = s->program.dram_bytes;
        if (!file)
                return false;
        for (int64_t at = 0; at < bytes; at += PROGRAM_PAGE) {
                static const unsigned char zeros[PROGRAM_PAGE];
                if (file == stdout || memcmp(memory + at, zeros, PROGRAM_PAGE))
                        fwrite(memory + at, 1, PROGRAM_PAGE, file);
                else
                        fseeko(file, PROGRAM_PAGE, SEEK_CUR);
        }
        if (file != stdout && (fflush(file) || ftruncate(fileno(file), bytes))) {
                diag_error(&s->diag, EXIT_IO, "cannot write %s: %s",
                           text_argument(s->arena, output), strerror(errno));
                return false;
        }
        return true;
}

/* ---- commands ---- */

static bool run(struct session *s)
{
        const struct vta_options *o = &s->options;
        const struct machine_program *p = &s->program;
        unsigned char *memory = program_memory(p);
        struct simulator *machine =
                simulator_new(&p->isa, (uint64_t)o->seed, (unsigned char)o->poison);
        bool fine = simulator_launch(machine, memory, p->dram_bytes, p->code->address,
                                     program_length(p), o->steps, &s->diag);
        simulator_free(machine);
        bool holds = fine && program_holds(p, memory, &s->diag);
        fine = fine && (!o->output || write_image(s, memory));
        free(memory);
        return fine && holds;
}

static bool dump(struct session *s)
{
        struct text text = { 0 };
        assembly_print(&s->program, &text);
        bool fine = write_text(s, s->options.output, &text);
        text_free(&text);
        return fine;
}

/* Assembles x.vta.s to x.vta. */
static bool assemble(struct session *s)
{
        const char *file = s->options.file, *output = s->options.output;
        size_t length = strlen(file);
        if (!output && length > 6 && !strcmp(file + length - 6, ".vta.s"))
                output = arena_printf(s->arena, "%.*s", (int)length - 2, file);
        if (!output) {
                diag_error(&s->diag, EXIT_USAGE,
                           "assemble wants -o FILE where the name does not end in .vta.s");
                return false;
        }
        struct text text = { 0 };
        exchange_write(&s->program, &text);
        bool fine = write_text(s, output, &text);
        text_free(&text);
        return fine;
}

static bool cycles(struct session *s)
{
        struct text text = { 0 };
        bool fine = meter_report(&s->program, s->options.each, &text, &s->diag) &&
                    write_text(s, NULL, &text);
        text_free(&text);
        return fine;
}

static bool check(struct session *s)
{
        const int64_t most = s->options.most < INT32_MAX ? s->options.most : INT32_MAX;
        return program_check(&s->program, s->options.steps, (int)most, &s->diag);
}

static bool obey(struct session *s)
{
        switch (s->options.command) {
        case COMMAND_RUN: return run(s);
        case COMMAND_CHECK: return check(s);
        case COMMAND_DUMP: return dump(s);
        case COMMAND_ASSEMBLE: return assemble(s);
        case COMMAND_CYCLES: return cycles(s);
        case COMMANDS: break;
        }
        return false;
}

static bool answer(struct session *s, int argc, char **argv)
{
        if (!vta_options_parse(&s->options, argc, argv, s->arena, &s->diag))
                return false;
        if (s->options.help && *s->options.help)
                vta_options_json();
        else if (s->options.help || s->options.short_help)
                vta_options_help();
        else if (s->options.version)
                puts("dnncc-vta " DNNCC_VERSION);
        else {
                s->diag.subject = text_argument(s->arena, s->options.file);
                return read_program(s) && obey(s);
        }
        return true;
}

enum exit_code vta_driver_main(int argc, char **argv)
{
        struct session s = { .arena = arena_new(), .diag = { .subject = "dnncc-vta" } };
        process_begin();
        s.outputs = outputs_new(s.arena);
        bool fine = answer(&s, argc, argv);
        if (fflush(stdout) || ferror(stdout)) {
                diag_error(&s.diag, EXIT_IO, "cannot write standard output: %s", strerror(errno));
                fine = false;
        }
        /* An image is written also where it is not as expected, to be looked at. */
        bool keep = fine || s.diag.code == EXIT_INTERNAL;
        if (!keep || !outputs_commit(s.outputs, &s.diag)) {
                outputs_discard(s.outputs);
                fine = false;
        }
        enum exit_code code = fine ? EXIT_OK : s.diag.code;
        free(s.bytes);
        arena_free(s.arena);
        return code;
}
