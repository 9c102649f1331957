/* SPDX-License-Identifier: MIT */
/* Nodes of a model, by the locations of operations, kernels and calls: which of them a machine
 * computes, and which the processor. */
#ifndef IR_LOOP_NODES_H
#define IR_LOOP_NODES_H

#include <stdbool.h>
#include <stdio.h>

#include "base/memory.h"

struct node_use { const char *name; bool machine, processor; struct node_use *next; };
struct node_uses;
struct node_uses *node_uses_new(struct arena *arena);
/* Adds names, a list separated by ", ", or NULL; it is copied. A node with neither flag is the
 * processor's, if nothing else is known of it. */
void node_uses_add(struct node_uses *uses, const char *location, bool machine, bool processor);
/* Returns the nodes in the order in which they were added, each once; NULL: there are none. */
const struct node_use *node_uses_first(const struct node_uses *uses);

/* The struct counts all nodes, those on the machine alone, and those on both. */
struct node_shares { int all, machine, both; };
struct node_shares node_uses_count(const struct node_uses *uses);
/* These functions write , "nodes": {..} behind other members, and a line of --stats without its
 * end. */
void node_shares_json(FILE *out, struct node_shares shares);
void node_shares_say(FILE *out, struct node_shares shares, const char *machine);

#endif
