/* SPDX-License-Identifier: MIT */
/* The manual that comes from the tables: `manual FILE` prints docs/FILE, ir.md, remarks.md and
 * rates.md from here, pages of man from manual_pages.c. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "compiler/options.h"
#include "compiler/vta/vta_options.h"
#include "docs/manual.h"
#include "ir/loop/loop.h"
#include "ir/tensor/tensor.h"
#include "passes/quantize/quantize.h"
#include "passes/remark.h"

/* | and newlines would end a table cell */
static void cell(const char *text)
{
        for (; *text; text++)
                if (*text == '|')
                        fputs("\\|", stdout);
                else
                        putchar(*text);
}

static void print_elements(void)
{
        puts("## Element types\n\n| type | C | bytes | ONNX | computed in "
             "|\n|---|---|---|---|---|");
        for (int e = 0; e < ELEMENT_COUNT; e++) {
                const struct element_info *i = &element_info[e];
                if (i->bytes && e != E_INDEX)
                        printf("| %s | %s | %d | %d | %s%s |\n", i->text, i->c_type, i->bytes,
                               i->onnx,
                               element_storage((enum element)e) == (enum element)e
                                       ? ""
                                       : "bits, held in ",
                               element_info[i->compute].text);
        }
        fputs("\nNo storage:", stdout);
        for (int e = 0; e < ELEMENT_COUNT; e++)
                if (!element_info[e].bytes)
                        printf(" %s", element_info[e].text);
        puts(".");
}

static void print_attributes(const struct op_info *info)
{
        static const char *const kind[] = { "int", "ints", "", "type", "identifier" };
        for (int i = 0; i < info->attr_count; i++) {
                const struct attr_info *a = &info->attrs[i];
                printf("%s%s: ", i ? ", " : "", a->name);
                if (a->kind == ATTR_ENUM) {
                        for (int k = 0; a->names[k]; k++)
                                printf("%s%s", k ? "/" : "", a->names[k]);
                        continue;
                }
                printf("%s", kind[a->kind]);
                if (a->kind == ATTR_ELEMENT)
                        printf(" (%s)", a->preset == E_COMPUTE ? "compute type"
                                                               : element_info[a->preset].text);
                else if (a->kind != ATTR_TEXT)
                        printf(" (%lld)", (long long)a->preset);
        }
}

static void print_operations(void)
{
        static const char *const domain[] = { "numbers", "floats", "integers", "integers and bool",
                                              "any" };
        puts("\n## Element-wise operations\n\nOperands and result have equal shapes. The formula "
             "is the meaning, in the compute type, "
             "rounded once.\n\n| operation | formula | elements | |\n|---|---|---|---|");
        for (int o = 0; o < OPCODE_COUNT; o++) {
                const struct op_info *info = &op_info[o];
                if (!info->formula)
                        continue;
                printf("| %s | `", info->name);
                cell(info->formula);
                printf("` | %s | ", domain[info->domain]);
                cell(info->doc);
                puts(" |");
        }
        puts("\n## Other operations\n\nAn operand in brackets is a tensor of integers that says "
             "where or how much, constant or not. Presets "
             "in parentheses.\n\n| operation | operands | attributes | |\n|---|---|---|---|");
        for (int o = 0; o < OPCODE_COUNT; o++) {
                const struct op_info *info = &op_info[o];
                if (info->formula)
                        continue;
                printf("| %s | ", info->name);
                for (int i = 0; i < info->operand_count; i++) {
                        const struct operand_info *p = &info->operands[i];
                        printf("%s%s%s%s", i ? ", " : "", p->kind == OPERAND_SHAPE ? "[" : "",
                               p->name,
                               p->kind == OPERAND_SHAPE ? "]"
                               : p->kind == OPERAND_VARIADIC || p->kind == OPERAND_ANY_NUMBER
                                       ? "..."
                                       : "");
                }
                fputs(" | ", stdout);
                print_attributes(info);
                fputs(" | ", stdout);
                cell(info->doc);
                puts(" |");
        }
        puts("\n## Reducers\n\nWays to combine two elements, in reduce and reduce_window.\n\n"
             "| reducer | start | formula | |\n|---|---|---|---|");
        for (int r = 0; r < REDUCER_COUNT; r++)
                printf("| %s | %s | `%s` | %s |\n", reducer_info[r].name, reducer_info[r].identity,
                       reducer_info[r].formula, reducer_info[r].doc);
}

static void print_model_form(const char *what, const char *form)
{
        printf("| %s | ", what);
        cell(form);
        puts(" |");
}

static void print_model_forms(void)
{
        puts("\n## As an ONNX model\n\n`--emit=onnx` writes each operation as what stands here "
             "([compiler/export/export_nodes.def](../compiler/export/export_nodes.def)); "
             "[compiler/export](../compiler/export/README.md#which-results-are-equal) says which "
             "results are equal. Several operations that are one node:\n\n"
             "| they end in | node |\n|---|---|");
#define FORM(root, name, doc) print_model_form(#root, doc);
#include "compiler/export/export_nodes.def"
        puts("\n| operation | nodes |\n|---|---|");
#define ONE(op, name, set) print_model_form(#op, name);
#define OWN(op, doc) print_model_form(#op, doc);
#define NONE(op, why) print_model_form(#op, "none: " why);
#include "compiler/export/export_nodes.def"
}

static void print_carrying(void)
{
        static const char *const what[] = { [CARRY_NONE] = "floats",
                                            [CARRY_MAP] = "element by element",
                                            [CARRY_MOVE] = "moves bytes",
                                            [CARRY_SUM] = "adds bytes up" };
        puts("\n## In bytes\n\nWhat `--quantize` may leave to bytes "
             "([quantization.md](quantization.md#what-is-in-bytes)): convolve and dot, which are "
             "layers; element-wise operations, element by element; and of others\n\n| operation | "
             "| where |\n|---|---|---|");
        for (int o = 0; o < OPCODE_COUNT; o++) {
                const char *when;
                enum carrying carrying = quantize_carrying_of((enum opcode)o, &when);
                if (!(op_info[o].traits & TRAIT_CONTRACTION) && op_info[o].region_count == 0 &&
                    !(op_info[o].traits & TRAIT_TERMINATOR) &&
                    (carrying == CARRY_MOVE || carrying == CARRY_SUM || carrying == CARRY_NONE))
                        printf("| %s | %s | %s |\n", op_info[o].name, what[carrying], when);
        }
}

/* What programs, statements and their clauses look like in text; the headers named above define
 * them. */
static const struct { const char *form, *doc; } statement_forms[] = {
        { "program \"name\" source \"digest\"", "the model's name and the SHA-256 of its file; within \"rows\": what was done to stay within --max-ram; passes: those that it has been through; command: the compiler's options, for comments" },
        { "region \"name\" limit n align n section \"s\" size n", "memory beside the workspace that the caller hands to run, and what is used of it" },
        { "buffer @b : f32[n] SPACE", "input, output, workspace offset n, view @a + n, or constant: splat of one number, hex digits, or data in a file beside it with its sha256 (a port's shape follows)" },
        { "kernel @k(%x: in f32[n] class 1, %y: out f32[m]) flops n again n { .. }", "buffers in, out or inout; those of one alias class may overlap; scalars behind them; flops, and how many of them compute something again" },
        { "task @t(..), function @f(..) error \"..\"", "an iteration of a parallel loop; a function of the math library with its error bound" },
        { "stream @s(..) on machine { .. }", "statements that an accelerator runs" },
        { "main { .. }", "calls of kernels, in order, with run-time control flow around them" },
        { "for %i = a to b step s KIND BARRIER { .. }", "a loop. Kinds: parallel (on threads), unroll, gpu_cluster, gpu_block, gpu_warp and gpu_lane (grid form), count and list (an instruction's counters, and its list of places). Barrier behind a gpu_warp or gpu_lane loop: nowait (none), syncwarp (of each warp's lanes alone), or none said (of the block's warps; of the warp's lanes)" },
        { "while e { .. }, if e { .. } else { .. }", "control flow" },
        { "let %v : f32 = e", "a name for the value of an expression" },
        { "let %i : index of %x = e", "an index that is used as a subscript of x alone, which C has as a pointer" },
        { "var %v : f32 schedule \"sums=4\" = e", "the sum of a contraction, and how the pass jam is to compute the nest around it (dnncc-schedule(5))" },
        { "var %v : f32x8[r][c] = e warps n, set %v{i, j} = e", "a variable, or a register tile, and an assignment to it; warps: each of so many has its own" },
        { "store %y[i] = e mask m streaming vector n", "store one element or consecutive lanes, those that the mask says; streaming: past the caches; vector: this store of a lane in grid form and the n - 1 behind it are one access" },
        { "alloc %a : f32[n] SPACE at n", "memory until the end of the statement's block: stack; shared (by a thread block), cluster, lanes; in a memory of a stream's machine" },
        { "call @k(@a, @b + n; 3), launch @t(..; 0 to n)", "run a kernel from main; run a task for each index" },
        { "fail CODE, return e", "end the program with a code; the result of a library function" },
        { "prefetch %x[i] hint of n, keep %v", "bring a cache line, or n elements in grid form, to: 0 L1, 1 L2, 2 non-temporal, 3 registers of a warp's lanes; hold a vector in its register up to here" },
        { "launch_wait, launch_dependents", "of a phase in grid form: wait until the launch in front has ended; let the launch behind begin" },
        { "tiles p by v rows r depth d lanes l word w sums a to b", "the shape of hardware tiles from here on, and which tiles sums, x and w lie in" },
        { "multiply %acc += %x[i] * %w[k] by f rows r depth d group g step s jump j", "add products to a tile of sums by the library function f; line: operands in swizzled lines; across: words of w are lanes of a channel; together: all warps of the block as one; prefetched: w is in registers" },
        { "unload %s[i] = %acc rows r, scale %acc by %f[i] rows r", "store sums, or some columns of them; multiply each row of sums by a factor" },
        { "take %own = %acc lane %l rows r, give %acc = %own ..", "a lane reads, or replaces, what it has of a tile in fragments" },
        { "copy %s[i] = %x[k] of n mask m, commit, wait n", "copy n elements into shared memory asynchronously; close a batch of copies; wait until at most n batches are under way" },
        { "settle n", "wait until at most n products of warp groups are under way" },
        { "transfer %a[i] = %x[k] rows r by c step s pad t, b, l, r", "move rows between a machine's memory and outside" },
        { "reset %s[i], product %s[i] += %a[j] * %w[k], apply %s[i] shr 8", "zero sums; multiply an element by a block of weights; an operation on sums: min, max, add, shr, shl" },
        { "activate %a[i] = %s[j] by %p[k] add a shr s within low, high", "shift and bound sums into a machine's inputs or back into its sums" },
        { "push a to b, pop a to b, await a n in b", "tokens, and counts, that order the stages of a machine" },
        { "%x<16 u32 of 4>[i]", "load 16 words of four elements each; elements that do not fill a word are extended by their signs" },
        { "nan, inf, true, false", "literals" },
};

static void print_statements(void)
{
        puts("\n## Statements\n\n| form | |\n|---|---|");
        for (size_t i = 0; i < sizeof statement_forms / sizeof *statement_forms; i++) {
                fputs("| `", stdout);
                cell(statement_forms[i].form);
                fputs("` | ", stdout);
                cell(statement_forms[i].doc);
                puts(" |");
        }
}

static void print_loop_operations(void)
{
        static const char *const form[] = { "a %s b", "%sa", "%s" };
        puts("\n# Loop IR\n\nA program is buffers, kernels, and entries, each a main with ports of "
             "its own. [ir/loop/loop.h](../ir/loop/loop.h) defines it and shows its text;\n"
             "[ir/loop/loop_tiles.h](../ir/loop/loop_tiles.h) has sums in hardware tiles, "
             "[ir/loop/loop_grid.h](../ir/loop/loop_grid.h) kernels in grid form.\n\n"
             "## Expressions\n\nExpressions are total and have no effects.\n\n| form | operands | "
             "|\n|---|---|---|");
        for (int o = 0; o < LOOP_CAST; o++) {
                const struct loop_op_info *info = &loop_op_info[o];
                char text[64];
                snprintf(text, sizeof text, form[info->form], info->text);
                fputs("| `", stdout);
                cell(text);
                printf("` | %d | ", info->arity);
                cell(info->doc);
                puts(" |");
        }
        puts("| `f32(a)` | 1 | conversion: float to integer saturates and NaN gives 0, integers "
             "wrap, to bool: != 0 |\n"
             "| `bits_f32(a)` | 1 | the same bits as another type of equal size |\n"
             "| `%x[i]` | 1 | load; with lanes: consecutive, or a gather when i is a vector |\n"
             "| `%t{2, 1}` | 0 | entry of a register tile |");
        print_statements();
        puts("\n## Math\n\nEvery function is a formula in Loop IR ([ir/library/](../ir/library)); "
             "the bound is held by the tests. "
             "With vectors for arguments it works lane by lane. Many functions of f32 have a twin, "
             "as exp has `exp_fused`, that "
             "rounds sums of products once.\n\n"
             "| function | types | error |\n|---|---|---|");
}

static void print_rates(void)
{
        puts("# Rates\n\n*Made from [ir/target/rates.def](../ir/target/rates.def) by `make "
             "docs`.*\n\nWhat things cost: the constants of the cost models in "
             "[cost/](../cost), by which schedules, layouts and element types are chosen. A target "
             "overrides the neutral value where it knows "
             "better; [adding-a-target.md](adding-a-target.md#rates) says how, and how they are "
             "measured. A cycle is one of a core.\n\n"
             "| rate | neutral | unit | meaning |\n|---|---:|---|---|");
#define RATE(name, neutral, unit, doc) printf("| `%s` | %g | %s | %s |\n", #name, (double)(neutral), unit, doc);
#include "ir/target/rates.def"
}

static void print_library(void)
{
        struct arena *arena = arena_new();
        struct diag diag = { .subject = "library" };
        struct loop_library *library = loop_library_new(arena, &diag);
        if (!library)
                return;
        for (const struct loop_function *f = loop_library_first(library);
             f && !strstr(f->name, "_fused");) {
                printf("| %s | ", f->name);
                const struct loop_function *g = f;
                for (; g && !strcmp(g->name, f->name); g = g->next)
                        printf("%s%s", g == f ? "" : ", ",
                               element_info[g->scalars[0]->type.element].text);
                printf(" | %s |\n", f->error ? f->error : "");
                f = g;
        }
        arena_free(arena);
}

static void print_ir(void)
{
        puts("# Tensor IR\n\n*Made from the tables by `make docs`.*\n\nWhole tensors in typed SSA "
             "form. [ir/tensor/tensor.h](../ir/tensor/tensor.h) "
             "defines it and shows its text; `dnncc --emit=ir` writes it, and a `.dnn` file is "
             "accepted wherever a model is.\n");
        print_elements();
        print_operations();
        print_model_forms();
        print_carrying();
        print_loop_operations();
        print_library();
        puts("\n## Codes that a run can end with\n\n| name | value | |\n|---|---|---|");
#define FAIL(name, value, doc) printf("| %s | %d | %s |\n", #name, value, doc);
#include "ir/loop/fail_codes.def"
        puts("\n# Passes\n\n| pass | level | class | |\n|---|---|---|---|");
        static const char *const level[] = { "tensor", "lower", "loop" };
        for (int i = 0; i < pass_count; i++)
                printf("| %s | %s | %c | %s |\n", passes[i].name, level[passes[i].level],
                       passes[i].class, passes[i].doc);
        puts("\nTensor passes, then lower, once, then loop passes; and:\n\n| pass | cannot run "
             "after | because |\n|---|---|---|");
#define PASS(...)
#define PIPELINE(...)
#define ORDER(first, second, why) printf("| %s | %s | %s |\n", #first, #second, why);
#include "passes/passes.def"
        puts("\n## Rules of simplify\n\nClass E: exact to the bit; R: rounding may change, not "
             "under `--exact`; D: with `--assume-finite` only. "
             "f is any element-wise operation.\n\n| operation | rule | class | algebra | when "
             "|\n|---|---|---|---|---|");
#define RULE(code, class, name, algebra, when) \
        printf("| %s | %s | %s | ", #code, #name, #class), cell(algebra), fputs(" | ", stdout), cell(when), puts(" |");
#define ELEMENTWISE(class, name, algebra, when) RULE(f, class, name, algebra, when)
#include "passes/simplify/simplify.def"
        puts("\n# Limits\n\n`--limit NAME=N` changes one.\n\n| limit | preset | |\n|---|---|---|");
#define LIMIT(name, preset, doc) printf("| %s | %lld | %s |\n", #name, (long long)(preset), doc);
#include "passes/limits.def"
}

static void print_remarks(void)
{
        puts("# Remarks\n\nFrom [passes/remarks.def](../passes/remarks.def); `make docs` writes "
             "it.\n\n"
             "`dnncc model.onnx --remarks` says what passes did with the operations of a model, "
             "and what they refused: of each exactly one reason, of the "
             "place in the code that decided. `--remarks=fuse,plan` is what these passes say; "
             "`--explain=NODE` what is said of one node, with the texts "
             "below; `--report=FILE` has all of it as `remarks`. Nothing is noted unless one of "
             "them is given. [questions.md](questions.md) asks, and has "
             "the answers.");
        for (const struct remark_pass *pass = remark_passes; pass->name; pass++) {
                printf("\n## %s\n\n%s\n\n| reason | | what it means |\n|---|---|---|\n", pass->name,
                       pass->doc);
                for (int i = 0; i < REMARK_REASONS; i++) {
                        const struct remark_info *r = &remark_info[i];
                        if (strcmp(pass->name, r->pass))
                                continue;
                        printf("| `%s` | ", r->reason);
                        if (r->left)
                                printf("%s: ", r->left);
                        cell(r->text);
                        fputs(" | ", stdout);
                        cell(r->doc);
                        puts(" |");
                }
        }
}

static void print_vta_man(void) { vta_options_man(stdout); }

int main(int argc, char **argv)
{
        static const struct { const char *name; void (*print)(void); } files[] = {
                { "ir.md", print_ir },         { "remarks.md", print_remarks },         { "dnncc.1", print_man },
                { "rates.md", print_rates },   { "dnncc-ir.5", print_man_ir }, { "dnncc-schedule.5", print_man_schedule }, { "dnncc-vta.1", print_vta_man },
        };
        for (size_t i = 0; i < sizeof files / sizeof *files && argc == 2; i++)
                if (!strcmp(argv[1], files[i].name)) {
                        files[i].print();
                        return 0;
                }
        return 1;
}
