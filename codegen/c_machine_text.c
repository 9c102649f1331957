/* SPDX-License-Identifier: MIT */
/* Prints C that drives a machine: instructions, functions that launch, prepare, and the header. */
#include "codegen/c_machine.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *function_name(struct c_writer *w, const char *name)
{
        return arena_printf(w->arena, "dnncc_%s_%s", w->machine->name, name);
}

/* Returns the machine's name in capitals. */
static const char *capitals(struct c_writer *w)
{
        char *name = arena_string(w->arena, w->machine->name);
        for (char *c = name; *c; c++)
                *c = (char)toupper((unsigned char)*c);
        return name;
}

/* ---- constants ---- */

static uint64_t number(const unsigned char *bytes, int count)
{
        uint64_t n = 0;
        for (int k = 0; k < count; k++)
                n |= (uint64_t)bytes[k] << 8 * k;
        return n;
}

static void put_code(struct c_writer *w, const struct c_launch *l)
{
        const struct c_machine *m = w->machine;
        const int words = m->isa.set->bytes / 8;
        text_add(w->out, "\nstatic const uint64_t %s[%" PRId64 "][%d] = {\n", l->code_name,
                 l->code.count, words);
        for (int64_t i = 0; i < l->code.count; i++) {
                const unsigned char *instruction = l->code.instructions + i * words * 8;
                text_add(w->out, "        { ");
                for (int k = 0; k < words; k++)
                        text_add(w->out, "%s0x%016" PRIx64 "u", k ? ", " : "",
                                 number(instruction + 8 * k, 8));
                text_add(w->out, " },      /* ");
                assembly_print_instruction(&m->isa, NULL, instruction, w->out);
                text_add(w->out, " */\n");
        }
        text_add(w->out, "};\n");
}

static void put_lists(struct c_writer *w, const struct c_launch *l)
{
        enum { A_LINE = 8 };
        if (!l->code.list_count)
                return;
        text_add(w->out, "\nstatic const uint32_t %s[%" PRId64 "] = {", l->lists_name,
                 l->code.list_count);
        for (int64_t i = 0; i < l->code.list_count; i++)
                text_add(w->out, "%s0x%08" PRIx64 "u,", i % A_LINE ? " " : "\n        ",
                         number(l->code.lists + 4 * i, 4));
        text_add(w->out, "\n};\n");
}

/* ---- the parts of the workspace that a launch reads and writes ---- */

struct range { int64_t at, end; };

static int compare_ranges(const void *a, const void *b)
{
        const struct range *x = a, *y = b;
        return (x->at > y->at) - (x->at < y->at);
}

/* Returns the ranges that the launch accesses in this way, sorted, and joined where less than
 * `align` lies between two. */
static int ranges_of(struct c_writer *w, const struct c_launch *l, int access,
                     struct range **ranges)
{
        const struct loop_function *f = l->call->function;
        int count = 0, joined = 0;
        *ranges = arena_array(w->arena, (size_t)f->buffer_count + 1, sizeof **ranges);
        for (int k = 0; k < f->buffer_count; k++) {
                const struct c_argument *a = &l->arguments[k];
                if (!a->in_program && a->bytes && ((int)f->buffers[k]->access & access))
                        (*ranges)[count++] = (struct range){ a->at, a->at + a->bytes };
        }
        qsort(*ranges, (size_t)count, sizeof **ranges, compare_ranges);
        for (int k = 1; k < count; k++) {
                struct range *last = &(*ranges)[joined], *now = &(*ranges)[k];
                if (now->at <= last->end + w->machine->align)
                        last->end = now->end > last->end ? now->end : last->end;
                else
                        (*ranges)[++joined] = *now;
        }
        return count ? joined + 1 : 0;
}

/* Prints "if (f(device, memory, 16) || ..)". */
static void put_cache(struct c_writer *w, const struct c_launch *l, const char *name, int access)
{
        struct range *ranges;
        const int count = ranges_of(w, l, access, &ranges);
        for (int k = 0; k < count; k++)
                c_put(w, "%s%s(device, %s, %" PRId64 ")", k ? " ||" C_SOFT : "if (",
                      function_name(w, name),
                      ranges[k].at ? arena_printf(w->arena, "memory + %" PRId64, ranges[k].at)
                                   : "memory",
                      ranges[k].end - ranges[k].at);
        if (!count)
                return;
        c_put(w, ")");
        c_end(w);
        c_return_error(w, "LOST");
}

/* ---- launches ---- */

static void put_launch(struct c_writer *w, const struct c_launch *l)
{
        const struct loop_function *f = l->call->function;
        struct range *ranges;
        c_kernel_comment(w, f);
        c_comment(w->out, 0,
                  arena_printf(w->arena,
                               "It has %" PRId64 " instructions and takes about %" PRId64
                               " cycles.",
                               l->code.count, l->code.cycles));
        c_put(w, "static int %s(void *device, uint64_t program, void *workspace)", l->name);
        c_end(w);
        c_line(w, "{");
        w->indent = 1;
        if (ranges_of(w, l, ACCESS_INOUT, &ranges))
                c_line(w, "unsigned char *const memory = workspace;");
        else
                c_line(w, "(void)workspace;");
        /* Results are flushed, too: no dirty line may be written back over what the machine
         * writes. */
        put_cache(w, l, "flush", ACCESS_INOUT);
        c_line(w,
               "const int status = launch(device, program + %" PRId64 ", %" PRId64 ", %" PRId64
               ");",
               l->instructions_at, l->code.count, l->code.cycles);
        c_line(w, "if (status)");
        w->indent++;
        c_line(w, "return status;");
        w->indent--;
        put_cache(w, l, "invalidate", ACCESS_OUT);
        c_line(w, "return 0;");
        c_function_close(w);
}

static void put_launcher(struct c_writer *w)
{
        c_function_open(w, "static int launch(void *device, uint64_t instructions, uint32_t count, "
                           "uint64_t cycles)");
        c_line(w, "if (%s(device, instructions, count))", function_name(w, "launch"));
        c_return_error(w, "LAUNCH");
        c_line(w, "switch (%s(device, cycles)) {", function_name(w, "wait"));
        c_line(w, "case 0: return 0;");
        c_line(w, "case DNNCC_%s_TIMEOUT: return %s;", capitals(w), c_macro(w, "ERROR_TIMEOUT"));
        c_line(w, "default: return %s;", c_macro(w, "ERROR_LOST"));
        c_line(w, "}");
        c_function_close(w);
}

static const char prepared[] =
        "\n"
        "/* prepare leaves this at the beginning of the program: which build it is of, and where "
        "both memories lie. */\n"
        "struct prepared { uint64_t build; const void *program, *workspace; uint64_t at; };\n";

void c_machine_kernels(struct c_writer *w, struct text *out)
{
        const struct c_machine *m = w->machine;
        if (!m)
                return;
        w->out = out;
        w->indent = 0;
        text_add(out, "%s", prepared);
        put_launcher(w);
        for (int k = 0; k < m->launch_count; k++)
                put_launch(w, &m->launches[k]);
}

/* ---- prepare ---- */

static const char words_helper[] =
        "\n"
        "/* Writes words as the machine reads them, in little endian order. */\n"
        "static void put_words(unsigned char *to, const uint32_t *from, size_t count)\n"
        "{\n"
        "        for (size_t i = 0; i < 4 * count; i++)\n"
        "                to[i] = (unsigned char)(from[i / 4] >> 8 * (i % 4) & 255);\n"
        "}\n";
static const char helpers[] =
        "\n"
        "static void put_instructions(unsigned char *to, const uint64_t from[][%d], size_t count, "
        "uint64_t workspace,\n"
        "                             uint64_t program)\n"
        "{\n"
        "        for (size_t i = 0; i < count; i++) {\n"
        "                uint64_t words[%d];\n"
        "                memcpy(words, from[i], sizeof words);\n"
        "                place(words, workspace, program);\n"
        "                for (size_t k = 0; k < sizeof words; k++)\n"
        "                        *to++ = (unsigned char)(words[k / 8] >> 8 * (k %% 8) & 255);\n"
        "        }\n"
        "}\n"
        "\n"
        "/* Can the machine address all of these bytes? */\n"
        "static int is_reachable(uint64_t at, uint64_t bytes)\n"
        "{\n"
        "        return at %% %s == 0 && at >= %" PRId64 "u && bytes <= 0x%" PRIx64
        "u && at <= 0x%" PRIx64 "u - bytes;\n"
        "}\n";

static void put_constant(struct c_writer *w, const struct c_machine_constant *c)
{
        const int bytes = element_info[c->buffer->element].bytes;
        if (!c->buffer->extent)
                return;
        if (bytes == 1)
                c_line(w, "memcpy(to + %" PRId64 ", %s, %" PRId64 ");", c->at, c_use(w, c->buffer),
                       c->buffer->extent);
        else if (bytes == 4)
                c_line(w,
                       "put_words(to + %" PRId64 ", (const uint32_t *)(const void *)%s, %" PRId64
                       ");",
                       c->at, c_use(w, c->buffer), c->buffer->extent);
        else
                c_fail(w, EXIT_INTERNAL, "a stream reads constant %s, whose elements have %d bytes",
                       c->buffer->name, bytes);
}

/* Are there lists, or constants of 32 bits? */
static bool has_words(const struct c_machine *m)
{
        bool any = false;
        for (int k = 0; k < m->launch_count; k++)
                any |= m->launches[k].code.list_count > 0;
        for (int k = 0; k < m->constant_count; k++)
                any |= m->constants[k].buffer->extent &&
                       element_info[m->constants[k].buffer->element].bytes == 4;
        return any;
}

static const char *prototype(struct c_writer *w)
{
        return arena_printf(
                w->arena, "int %s_prepare(void *workspace, %svoid *program, void *device)",
                w->options->prefix,
                w->options->weights == PRINT_WEIGHTS_FILE ? "const void *weights, " : "");
}

static void put_checks(struct c_writer *w)
{
        const bool file = w->options->weights == PRINT_WEIGHTS_FILE;
        if (w->options->unchecked)
                return;
        c_line(w, "if (!workspace || !program%s)", file ? " || !weights" : "");
        c_return_error(w, "NULL");
        c_put(w, "if ((uintptr_t)workspace %% %s != 0 ||" C_SOFT "(uintptr_t)program %% %s != 0",
              c_macro(w, "WORKSPACE_ALIGN"), c_macro(w, "PROGRAM_ALIGN"));
        if (file)
                c_put(w, " ||" C_SOFT "(uintptr_t)weights %% %s != 0", c_macro(w, "WEIGHTS_ALIGN"));
        c_put(w, ")");
        c_end(w);
        c_return_error(w, "ALIGNMENT");
}

static void put_addresses(struct c_writer *w)
{
        const char *own = c_macro(w, "PROGRAM_SIZE"), *workspace = c_macro(w, "WORKSPACE_SIZE"),
                   *address = function_name(w, "address");
        c_line(w, "const uint64_t at = %s(device, program," C_SOFT "%s);", address, own);
        c_line(w, "const uint64_t workspace_at = %s(device, workspace," C_SOFT "%s);", address,
               workspace);
        c_line(w,
               "if (!is_reachable(at, %s) ||" C_SOFT "!is_reachable(workspace_at, %s) ||" C_SOFT
               "(at < workspace_at + %s &&" C_SOFT "workspace_at < at + %s))",
               own, workspace, workspace, own);
        c_return_error(w, "ADDRESS");
}

/* This function is for addresses that count bytes, each in a field of its instruction. */
static const char place_text[] =
        "\n"
        "/* Instructions were compiled for a workspace at address 0 and the program behind it. "
        "Instructions that move\n"
        " * anything get the addresses that both have now. */\n"
        "static void place(uint64_t words[%d], uint64_t workspace, uint64_t program)\n"
        "{\n"
        "        const uint64_t opcode = words[0] & %d, mask = 0x%" PRIx64 "u;\n"
        "        const int bit = %s;\n"
        "        if (%s)        /* This instruction reads and writes no memory. */\n"
        "                return;\n"
        "        uint64_t at = words[bit / 64] >> bit %% 64 & mask;\n"
        "        at = at < %" PRId64 "u ? workspace + at : program + (at - %" PRId64 "u);\n"
        "        words[bit / 64] = (words[bit / 64] & ~(mask << bit %% 64)) | at << bit %% 64;\n"
        "}\n";

/* Returns the field that holds an address; NULL: there is none. */
static const struct code_field *address_of(const struct isa *isa, int opcode)
{
        for (int k = 1; k < isa->set->field_count; k++)
                if (isa->fields[k].address &&
                    isa_form_has(isa, isa->set->opcodes[opcode].form, &isa->fields[k]))
                        return &isa->fields[k];
        return NULL;
}

static void put_place(const struct c_machine *m, int64_t workspace_size, struct text *out)
{
        const struct isa *isa = &m->isa;
        const struct machine_driver *driver = machine_driver(m->machine);
        if (driver->place) {
                driver->place(isa, workspace_size, out);
                return;
        }
        const struct code_field *usual = NULL;
        struct text bits = { 0 }, opcodes = { 0 };
        for (int k = 0; k < isa->set->opcode_count; k++) {
                const struct code_field *f = address_of(isa, k);
                if (!f)
                        continue;
                usual = usual ? usual : f;
                text_add(&opcodes, "%sopcode != %d", opcodes.length ? " && " : "", k);
                if (f->bit != usual->bit)
                        text_add(&bits, "opcode == %d ? %d : ", k, f->bit);
        }
        text_add(&bits, "%d", usual->bit);
        text_add(out, place_text, isa->set->bytes / 8, (1 << isa->fields[0].width) - 1,
                 (UINT64_C(1) << usual->width) - 1, bits.data, opcodes.data, workspace_size,
                 workspace_size);
        text_free(&bits);
        text_free(&opcodes);
}


void c_machine_prepare(struct c_writer *w, struct text *out)
{
        const struct c_machine *m = w->machine;
        struct text body = { 0 };
        if (!m)
                return;
        w->uses_weights = false;
        w->out = &body;
        w->indent = 1;
        for (int k = 0; k < m->constant_count; k++)
                put_constant(w, &m->constants[k]);
        for (int k = 0; k < m->launch_count; k++) {
                const struct c_launch *l = &m->launches[k];
                if (l->code.list_count)
                        c_line(w, "put_words(to + %" PRId64 ", %s, %" PRId64 ");", l->lists_at,
                               l->lists_name, l->code.list_count);
                c_line(w, "put_instructions(to + %" PRId64 ", %s, %" PRId64 ", workspace_at, at);",
                       l->instructions_at, l->code_name, l->code.count);
        }
        w->out = out;
        w->indent = 0;
        text_add(out,
                 "\n/* The machine runs these instructions; in front of them stands where their "
                 "steps begin. Addresses are those of a workspace\n"
                 " * at 0 and the program behind it, at 0x%" PRIx64 ". */\n",
                 (uint64_t)w->workspace_size);
        for (int k = 0; k < m->launch_count; k++) {
                put_lists(w, &m->launches[k]);
                put_code(w, &m->launches[k]);
        }
        put_place(m, w->workspace_size, out);
        if (has_words(m))
                text_add(out, "%s", words_helper);
        text_add(out, helpers, m->isa.set->bytes / 8, m->isa.set->bytes / 8,
                 c_macro(w, "PROGRAM_ALIGN"), (int64_t)PROGRAM_PAGE, (uint64_t)PROGRAM_MEMORY_MOST,
                 (uint64_t)PROGRAM_MEMORY_MOST);
        c_function_open(w, prototype(w));
        put_checks(w);
        c_weights_pointer(w, !w->options->unchecked || w->uses_weights);
        c_weights_check(w);
        put_addresses(w);
        c_line(w, "unsigned char *const to = program;");
        c_line(w, "const struct prepared now = { 0x%su, program, workspace, at };", m->digest);
        c_line(w, "memset(to, 0, sizeof now);");
        text_add_bytes(out, body.data, body.length);
        c_line(w, "if (%s(device, program, %s))", function_name(w, "flush"),
               c_macro(w, "PROGRAM_SIZE"));
        c_return_error(w, "LOST");
        c_line(w, "memcpy(to, &now, sizeof now);");
        c_line(w, "return 0;");
        c_function_close(w);
        text_free(&body);
}

void c_machine_check(struct c_writer *w)
{
        const struct c_machine *m = w->machine;
        if (!m)
                return;
        c_line(w, "struct prepared prepared;");
        if (!w->options->unchecked) {
                c_line(w, "if (!program)");
                c_return_error(w, "NULL");
                c_line(w, "if ((uintptr_t)program %% %s != 0)", c_macro(w, "PROGRAM_ALIGN"));
                c_return_error(w, "ALIGNMENT");
        }
        c_line(w, "memcpy(&prepared, program, sizeof prepared);");
        c_put(w,
              "if (prepared.build != 0x%su ||" C_SOFT "prepared.program != program ||" C_SOFT
              "prepared.workspace != workspace)",
              m->digest);
        c_end(w);
        c_return_error(w, "PREPARE");
}

/* ---- the header ---- */

void c_machine_usage(struct c_writer *w, const char *weights)
{
        if (!w->machine)
                return;
        c_line(w, " *     %s(program);", c_macro(w, "PROGRAM_DEFINE"));
        c_line(w, " *     int failed = %s_prepare(workspace, %s%sprogram, device);",
               w->options->prefix, weights ? weights : "", weights ? ", " : "");
}

static const char rules[] =
        " *\n"
        " * Part of it runs on a machine, %s, which reads the program and reads and writes the "
        "workspace: both\n"
        " * are memory that for the machine, too, lies in one piece, below address 2^%d. prepare "
        "fills the program, once\n"
        " * for a workspace and a device; where it has not, run returns %s. When the\n"
        " * machine failed (%s, %s, ..) it may go on writing to the workspace: stop it,\n"
        " * then call prepare again. One run at a time has the device. The functions below are the "
        "caller's to write.\n";

void c_machine_rules(struct c_writer *w)
{
        int bits = 0;
        if (!w->machine)
                return;
        while (bits < 62 && (INT64_C(1) << bits) < PROGRAM_MEMORY_MOST)
                bits++;
        text_add(w->out, rules, w->machine->machine->name, bits, c_macro(w, "ERROR_PREPARE"),
                 c_macro(w, "ERROR_TIMEOUT"), c_macro(w, "ERROR_LOST"));
}

static const char functions[] =
        "%s;\n"
        "\n"
        "/* What drives the machine: functions that whoever links this code gives. `device` is "
        "what prepare and run were\n"
        " * handed. Memory is what prepare was handed, or part of it.\n"
        " *\n"
        " * address       where the machine sees `bytes` bytes that the processor sees at "
        "`memory`: one behind the other.\n"
        " *               UINT64_MAX: nowhere.\n"
        " * The others return 0, or anything else when they failed:\n"
        " * flush         what the processor wrote is in memory, and no cache writes anything "
        "there later.\n"
        " * invalidate    what the machine wrote is what the processor reads.\n"
        " * launch        starts the machine on `count` instructions that lie at an address, and "
        "returns.\n"
        " * wait          returns when the machine has finished, which takes it about so many "
        "cycles. DNNCC_%s_TIMEOUT:\n"
        " *               it has not after all the time that this function gives it; anything "
        "else: it is gone. */\n"
        "#ifndef DNNCC_%s_1\n"
        "#define DNNCC_%s_1\n"
        "#define DNNCC_%s_TIMEOUT 1\n"
        "uint64_t dnncc_%s_address(void *device, const void *memory, size_t bytes);\n"
        "int dnncc_%s_flush(void *device, const void *memory, size_t bytes);\n"
        "int dnncc_%s_invalidate(void *device, void *memory, size_t bytes);\n"
        "int dnncc_%s_launch(void *device, uint64_t instructions, uint32_t count);\n"
        "int dnncc_%s_wait(void *device, uint64_t cycles);\n"
        "#endif\n";

void c_machine_functions(struct c_writer *w)
{
        if (!w->machine)
                return;
        const char *name = w->machine->name, *big = capitals(w);
        text_add(w->out, functions, prototype(w), big, big, big, big, name, name, name, name, name);
}
