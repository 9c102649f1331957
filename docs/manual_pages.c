/* SPDX-License-Identifier: MIT */
/* Pages of man (manual.h). What stands in a table is printed from it. */
#include "docs/manual.h"

#include <stdio.h>
#include <string.h>

#include "compiler/options.h"
#include "ir/loop/loop.h"
#include "ir/tensor/tensor.h"

/* roff: a leading dot or quote and backslashes mean something. A list of words may be broken behind
 * each |. */
static void roff(const char *text)
{
        for (; *text; text++)
                if (*text == '-')
                        fputs("\\-", stdout);
                else if (*text == '\\')
                        fputs("\\e", stdout);
                else if (*text == '|')
                        fputs("|\\:", stdout);
                else
                        putchar(*text);
}

void print_man(void)
{
        printf(".TH DNNCC 1 \"\" \"dnncc " DNNCC_VERSION
               "\" \"User Commands\"\n.ad l\n.SH NAME\ndnncc \\- compile a neural network to "
               "C\n"
               ".SH SYNOPSIS\n.B dnncc\n[\\fIoptions\\fR] \\fIMODEL\\fR\n.SH DESCRIPTION\nCompiles "
               "MODEL (.onnx, .dnn, .loops, or \\- for "
               "standard input) to a C99 source file and its header.\n.SH OPTIONS\n");
#define GROUP(title) printf(".SS %s\n", title);
#define OPTION(text, argument, kind, field, said, doc)                                  \
        {                                                                               \
                const char *arg = argument;                                             \
                fputs(".TP\n.B ", stdout);                                              \
                roff(text);                                                             \
                if (arg) {                                                              \
                        bool equal = (text)[1] == '-' && !strchr(arg, '=');             \
                        fputs(*arg == '[' ? "" : equal ? "=" : " ", stdout);            \
                        roff(arg);                                                      \
                }                                                                       \
                putchar('\n');                                                          \
                roff(doc);                                                              \
                putchar('\n');                                                          \
        }
#include "compiler/options.def"
        puts(".SH OPTIONS THAT DO NOT GO TOGETHER");
        struct arena *arena = arena_new();
        for (const char **said = options_conflicts(arena); *said; said++)
                puts(".PP"), roff(*said), puts(".");
        arena_free(arena);
        puts(".SH OBSERVERS\nWhich numbers of a tensor its steps are to hold, of what "
             "\\-\\-calibrate has seen:");
#define OBSERVER(id, name, function, argument, doc) \
        fputs(".TP\n.B ", stdout), roff(name), putchar('\n'), roff(doc), putchar('\n');
#include "passes/calibrate/observers.def"
        puts(".SH EXIT STATUS\n0 ok, 1 usage, 2 cannot read or write, 3 invalid model, 4 "
             "unsupported, 5 budget exceeded, "
             "70 internal error.");
        puts(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nset, and not empty: no colours, unless "
             "\\-\\-color says so.\n"
             ".TP\n.B TMPDIR\nwhere folders are made in which generated code is compiled and run "
             "(/tmp).");
        puts(".SH FILES\n.TP\n.B MODEL.c, MODEL.h, MODEL.weights\nwhat is written, beside each "
             "other.\n"
             ".TP\n.B *.dnn, *.loops\nTensor IR and Loop IR as text, dnncc\\-ir(5).\n"
             ".TP\n.B *.schedule\nschedules, dnncc\\-schedule(5).\n.TP\n.B *.ranges\nwhat "
             "\\-\\-calibrate has seen.");
        puts(".SH EXAMPLES\n.nf\n"
             "dnncc model.onnx \\-\\-info                                what is in it\n"
             "dnncc model.onnx \\-o model.c                             C99 for any processor\n"
             "dnncc model.onnx \\-\\-target=native \\-\\-threads=4          for this one\n"
             "dnncc model.onnx \\-\\-target=native \\-\\-bench=kernels      how fast, and where "
             "the time goes\n"
             "dnncc model.onnx \\-\\-max\\-ram=64K                        within 64 KB, or exit 5\n"
             "dnncc model.onnx \\-\\-test set \\-\\-cc='cc \\-O2'            is it right\n"
             "dnncc model.onnx \\-\\-remarks \\-\\-report=model.html       what became of each "
             "node, and why\n.fi");
        puts(".SH SEE ALSO\n.BR dnncc\\-ir (5),\n.BR dnncc\\-schedule (5),\n.BR dnncc\\-vta "
             "(1),\n.BR cc (1)\n.PP\n"
             "The guide, the contract and all else: PREFIX/share/doc/dnncc.");
}

static void title(const char *name, int section, const char *what)
{
        printf(".TH %s %d \"\" \"dnncc " DNNCC_VERSION "\" \"File Formats\"\n.SH NAME\n", name,
               section);
        roff(what);
        puts("\n.SH DESCRIPTION");
}

static void item(const char *name, const char *doc)
{
        fputs(".TP\n.B ", stdout);
        roff(name);
        putchar('\n');
        roff(doc);
        putchar('\n');
}

static void lines(const char *text)
{
        puts(".nf");
        roff(text);
        puts(".fi");
}

static const char see_also[] = ".SH SEE ALSO\n.BR dnncc (1)";

/* operations: whose lowerings follow the word; NULL: those of the kind */
static void schedule_word_entry(const char *name, int preset, int least, int most,
                                const char *operations, const char *doc)
{
        printf(".TP\n.B %s\nfrom %d to %d, %d where it is left out: ", name, least, most, preset);
        roff(doc);
        putchar('\n');
        if (operations)
                printf(".br\nfollowed by %s\n", operations);
}

void print_man_schedule(void)
{
        title("DNNCC-SCHEDULE", 5, "dnncc-schedule - how contractions are computed, as a file");
        puts("Written by\n.BR \"dnncc \\-\\-tune\" ,\nread by\n.BR \"dnncc \\-\\-schedule=FILE\" "
             ",\nand made to be edited. A schedule says how, never what: "
             "whatever it says, results differ by rounding at most.\n.PP\n"
             "The first line is \"dnncc\\-schedule 1\". Every other one is an operation, the types "
             "of its operands, its attributes, a colon, and the words of the "
             "schedule that each such operation of the model gets. A semicolon begins a comment. "
             "Operations that no line is like get the schedule of "
             "least predicted time; a file that is like none of a model's is warned of.\n.PP\n"
             "With \\-\\-limit tune_seconds=0, \\-\\-tune lists all kinds of contractions with "
             "their schedules, and what it would try as comments.");
        puts(".SH WORDS\nNAME=VALUE, separated by blanks; at least one.");
        puts("All words of a schedule are of one kind.\n.SS Register tiles and hardware tiles");
#define REGISTERS(name, preset, least, most, operations, doc) schedule_word_entry(#name, preset, least, most, operations, doc);
#include "ir/target/schedule.def"
        puts(".SS Circular buffers of rows");
#define CIRCULAR(name, preset, least, most, doc) schedule_word_entry(#name, preset, least, most, NULL, doc);
#include "ir/target/schedule.def"
        puts(".SS Thread blocks of a GPU");
#define GRID(name, preset, least, most, doc) schedule_word_entry(#name, preset, least, most, NULL, doc);
#include "ir/target/schedule.def"
        puts(".SS Accelerators that take instructions");
#define STREAM(name, preset, least, most, doc) schedule_word_entry(#name, preset, least, most, NULL, doc);
#include "ir/target/schedule.def"
        puts(".SS Sums of scalars");
#define SCALAR(name, preset, least, most, doc) schedule_word_entry(#name, preset, least, most, NULL, doc);
#include "ir/target/schedule.def"
        puts(".SH EXAMPLE");
        lines("dnncc-schedule 1\n"
              "; x86-64-v4, --threads=1\n"
              "convolve_packed <1 x 1 x 10 x 10 x 16 x f32> <1 x 1 x 3 x 3 x 16 x 1 x 16 x f32>\n"
              "channels=16 outputs=16: rows=3 columns=8\n");
        puts("The operation stands on one line.");
        puts(see_also);
}

void print_man_ir(void)
{
        title("DNNCC-IR", 5, "dnncc-ir - Tensor IR (.dnn) and Loop IR (.loops) of dnncc as text");
        puts("Both are written by\n.B dnncc \\-\\-emit=ir\nand\n.BR \"dnncc \\-\\-emit=loops\" "
             ",\nby \\-\\-dump\\-dir after each pass, and are "
             "accepted wherever a model is; compiling goes on where a dump was taken. Names of "
             "values begin with %, of constants, buffers and functions with @; "
             "a semicolon begins a comment, which behind an operation names the model's "
             "node.\n.PP\n"
             "A .dnn file begins with \"dnn 3\": whole tensors with their types, each value "
             "assigned once. An input that the caller keeps from run to run says which output is "
             "its value in the next one, and how far its rows are in use: %past \"past\" next "
             "\"present\" along 1 to P; a line next P = P + N says it of an extent. "
             "A constant of few numbers that are not zero may be sparse, positions of elements in "
             "row-major order and their values: const @w : <100 x f32> = sparse [7 = 1.0, 9 = "
             "-2.0]. "
             "A .loops file begins with \"loop 1\": "
             "buffers, kernels that are loops over their elements, and main, which calls them (of "
             "several entries, a main each).");
        puts(".SH EXAMPLES");
        lines("dnn 3\nmodule \"relu\"\nfunc @main(%x \"x\": <2 x 3 x f32>) -> (\"y\") {\n  %0 = "
              "max(%x, 0.0) : <2 x 3 x f32>    ; \"r\"\n  yield(%0)\n}\n");
        puts(".PP");
        lines("loop 1\nprogram \"relu\" source \"\"\nbuffer @x : f32[6] input \"x\" shape <2 x "
              "3>\nbuffer @y : f32[6] output \"y\" shape <2 x 3>\n"
              "kernel @r(%x: in f32[6] class 1, %y: out f32[6] class 1) {\n  for %i = 0 to 6 {\n   "
              " store %y[%i] = max(%x[%i], 0.0)\n  }\n}\n"
              "main {\n  call @r(@x, @y)\n}\n");
        puts(".SH ELEMENT TYPES");
        for (int e = 0; e < ELEMENT_COUNT; e++)
                printf("%s%s", e ? ", " : "", element_info[e].text);
        puts(".SH OPERATIONS OF TENSOR IR\nAttributes are NAME=VALUE behind the operands.");
        for (int i = 0; i < OPCODE_COUNT; i++)
                if (*op_info[i].doc)
                        item(op_info[i].name, op_info[i].doc);
        puts(".SH OPERATIONS OF LOOP IR\nExpressions are total: each has a value for any "
             "operands.");
#define LOOP_OP(name, text, arity, form, precedence, result, doc) item(text, doc);
#include "ir/loop/loop_ops.def"
        puts(see_also);
        puts(".PP\nEverything, with attributes and rules: PREFIX/share/doc/dnncc/ir.md.");
}
