/* SPDX-License-Identifier: MIT */
/* What an object of LLVM's has beside the program itself: the functions and tables that callers of
 * the C file know (docs/interface.md). */
#ifndef CODEGEN_LLVM_LLVM_CONTRACT_H
#define CODEGEN_LLVM_LLVM_CONTRACT_H

#include "codegen/c_printer.h"
#include "codegen/llvm/llvm_writer.h"

struct llvm_port_list { const struct loop_buffer **items; int count; };

struct llvm_contract {
        struct llvm_writer *w;
        const struct print_options *options;
        const struct c_interface *interface;      /* Of the same program in C. */
        struct map *globals;            /* Of constants, by their addresses. */
        LLVMValueRef regions_table, states_table; /* All entries have the same; or NULL. */

        int entry;                      /* This entry is printed; the rest is its own. */
        const char *prefix;             /* Its functions' names begin so. */
        bool has_weights;
        struct llvm_port_list inputs, outputs, states;
        LLVMValueRef run;
        /* The parameters of run, each NULL where there is none: */
        LLVMValueRef *regions;          /* The workspace, then the program's regions. */
        LLVMValueRef weights, state;
        LLVMValueRef *given, *told;     /* Of each extent of the program. */
        struct map *ports;              /* By the addresses of their buffers. */
};

/* ---- run (llvm_run.c) ---- */

struct llvm_port_list llvm_ports(struct llvm_contract *c, enum loop_space space);
/* Is extent i of the program a parameter of the entry's run, or a result? */
bool llvm_takes_extent(const struct llvm_contract *c, int i);
bool llvm_tells_extent(const struct llvm_contract *c, int i);
LLVMTypeRef llvm_run_type(struct llvm_contract *c);
/* Returns a function that callers know, which it adds where the module does not have it. */
LLVMValueRef llvm_public(struct llvm_contract *c, const char *name, LLVMTypeRef type);
void llvm_declare_public(struct llvm_contract *c);        /* Adds those of the entry. */
void llvm_run(struct llvm_contract *c);
void llvm_state_reset(struct llvm_contract *c);           /* Prints PREFIX_state_reset. */

/* ---- the descriptor (llvm_describe.c) ---- */

LLVMTypeRef llvm_describe_type(struct llvm_contract *c);
void llvm_describe(struct llvm_contract *c);              /* Prints PREFIX_describe of the entry. */

#endif
