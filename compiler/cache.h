/* SPDX-License-Identifier: MIT */
/* --cache=DIR: what --jit has compiled is kept from one start to the next.
 *
 *      KEY.program      the planned program as Loop IR text, its constants, and the digests of the
 *                       files beside the model that it came from
 *      KEY.code         the objects that LLVM made of it
 *
 * The key of a program is a digest of dnncc's own sources, of all options that shape the program,
 * and of the model; that of code has the processor, LLVM, and how code is made in it, too. An entry
 * that is broken, was renamed, or has a file beside the model that changed, is as none: it is
 * compiled anew, and written over. The folder has to be the user's alone, because code that lies
 * there is run.
 *
 * Programs of one entry, without state, for one target, of a model that is one file are kept;
 * others are compiled each time. */
#ifndef COMPILER_CACHE_H
#define COMPILER_CACHE_H

#include "codegen/llvm/llvm_printer.h"
#include "compiler/driver.h"

/* Returns a digest of all that this dnncc is made of, by which builds are told apart. */
const char *sources_digest(void);

/* Looks for the program of an equal run, which becomes run->state.program, *found. Where nothing is
 * to be cached there is none. Returns false after an error, of the folder or of the model's
 * file. */
bool cache_open(struct run *run, bool *found);
/* Writes the program that was compiled; what cannot be written is a warning. */
void cache_keep(struct run *run);
/* Gives back the memory that a program was found in. Code that was is gone by then. */
void cache_close(struct run *run);
/* Returns what llvm_jit_new asks for code, or NULL: nothing is kept. */
const struct llvm_store *cache_code(struct run *run);

#endif
