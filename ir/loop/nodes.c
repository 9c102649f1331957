/* SPDX-License-Identifier: MIT */
#include "ir/loop/nodes.h"

#include <string.h>

#include "base/text.h"

struct node_uses { struct arena *arena; struct map *by_name; struct node_use *first, **end; };

struct node_uses *node_uses_new(struct arena *arena)
{
        struct node_uses *uses = ARENA_NEW(arena, struct node_uses);
        *uses = (struct node_uses){ .arena = arena, .by_name = map_new(arena) };
        uses->end = &uses->first;
        return uses;
}

static struct node_use *use_of(struct node_uses *uses, const char *name, size_t length)
{
        struct node_use *use = map_get(uses->by_name, name, length);
        if (!use) {
                use = ARENA_NEW(uses->arena, struct node_use);
                *use = (struct node_use){ .name = arena_printf(uses->arena, "%.*s", (int)length,
                                                               name) };
                map_set(uses->by_name, use->name, length, use);
                *uses->end = use;
                uses->end = &use->next;
        }
        return use;
}

void node_uses_add(struct node_uses *uses, const char *location, bool machine, bool processor)
{
        const char *end;
        for (const char *name = location; name && *name; name = end + (*end ? 2 : 0)) {
                end = strstr(name, ", ");
                end = end ? end : name + strlen(name);
                struct node_use *use = use_of(uses, name, (size_t)(end - name));
                use->machine |= machine;
                use->processor |= processor;
        }
}

const struct node_use *node_uses_first(const struct node_uses *uses) { return uses->first; }

struct node_shares node_uses_count(const struct node_uses *uses)
{
        struct node_shares shares = { 0 };
        for (const struct node_use *use = uses->first; use; use = use->next) {
                shares.all++;
                shares.machine += use->machine && !use->processor;
                shares.both += use->machine && use->processor;
        }
        return shares;
}

static int others(struct node_shares shares) { return shares.all - shares.machine - shares.both; }

void node_shares_json(FILE *out, struct node_shares shares)
{
        fprintf(out, ", \"nodes\": {\"all\": %d, \"machine\": %d, \"both\": %d, \"processor\": %d}",
                shares.all, shares.machine, shares.both, others(shares));
}

void node_shares_say(FILE *out, struct node_shares shares, const char *machine)
{
        fprintf(out,
                "stats: nodes      %d of %d that compute on %s (%.1f %%), %d in part, %d on the "
                "processor",
                shares.machine, shares.all, machine,
                shares.all ? 100.0 * shares.machine / shares.all : 0.0, shares.both,
                others(shares));
}
