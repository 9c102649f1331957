/* SPDX-License-Identifier: MIT */
/* Nodes of a model, by the locations that operations, kernels and calls have: which of two does
 * what of it, a machine or the processor. */
#ifndef IR_NODES_H
#define IR_NODES_H

#include <stdbool.h>
#include <stdio.h>

#include "base/memory.h"

struct node_use { const char *name; bool machine, processor; struct node_use *next; };
struct node_uses;
struct node_uses *node_uses_new(struct arena *arena);
/* location: names, ", "-separated, or NULL; copied. Neither: of a node that nothing else is
 * known of, the processor has it. */
void node_uses_add(struct node_uses *uses, const char *location, bool machine, bool processor);
/* in the order in which they were added, each once; NULL: none */
const struct node_use *node_uses_first(const struct node_uses *uses);

/* of all: on the machine alone, and on both */
struct node_shares { int all, machine, both; };
struct node_shares node_uses_count(const struct node_uses *uses);
/* behind other members: , "nodes": {..}; and a line of --stats, without its end */
void node_shares_json(FILE *out, struct node_shares shares);
void node_shares_say(FILE *out, struct node_shares shares, const char *machine);

#endif
