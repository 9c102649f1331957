/* SPDX-License-Identifier: MIT */
#include "codegen/targets.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/text.h"
#include "codegen/cpu.h"
#include "ir/target/machine.h"
#include "ir/target/multiply.h"

#define TARGET(id) extern const struct target target_##id;
#include "codegen/targets.def"

static const struct target *const targets[] = {
#define TARGET(id) &target_##id,
#include "codegen/targets.def"
};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

bool target_runs_here(const struct target *t)
{
        const char *attribute = target_attribute(t), *machine = target_machine(t);
        if (target_length(t) && cpu_vector_bytes() < target_vector_bytes(t))
                return false;
        return attribute ? cpu_has(attribute)
                         : t == targets[0] || (machine && cpu_is_kind(machine));
}

const struct target *target_nearest(const struct target *t)
{
        while (t->base && !target_runs_here(t))
                t = t->base;
        return t;
}

/* Returns the last target in the table that is made for what this processor is or has. A target
 * with the same instructions under another name (other caches, another byte order) may run here,
 * but nothing says that it is better. */
static const struct target *native(void)
{
        const struct target *best = targets[0];
        for (int i = 0; i < TARGET_COUNT; i++) {
                const struct target *t = targets[i];
                bool fits = t->processors ? cpu_is(t->processors) : t->attribute || t->machine;
                if (fits && target_runs_here(t))
                        best = t;
        }
        return best;
}

static const struct { const char *name, *target; } other_names[] = {
#define TARGET_NAME(name, target) { name, target },
#include "codegen/target_names.def"
};
enum { OTHER_NAMES = sizeof other_names / sizeof *other_names };

/* Compares a name; letters may have any case, and _ and blanks stand for hyphens. */
static bool is_called(const char *name, const char *said)
{
        for (; *name && *said; name++, said++)
                if (*name != (*said == '_' || *said == ' ' ? '-' : tolower((unsigned char)*said)))
                        return false;
        return !*name && !*said;
}

/* Returns what is meant by a common name of a processor (target_names.def): a target's name, or "?"
 * and what there is; NULL: the name is not known. */
static const char *target_meant(const char *said)
{
        for (int i = 0; i < OTHER_NAMES; i++)
                if (is_called(other_names[i].name, said))
                        return other_names[i].target;
        return NULL;
}

const struct target *target_find(const char *name)
{
        if (!strcmp(name, "native"))
                return native();
        for (int i = 0; i < TARGET_COUNT; i++)
                if (!strcmp(targets[i]->name, name))
                        return targets[i];
        const char *meant = target_meant(name);
        return meant && *meant != '?' ? target_find(meant) : NULL;
}

const struct target *target_with(struct arena *arena, const struct target *t,
                                 const struct machine *machine, struct diag *diag)
{
        struct target *to = arena_copy(arena, t, sizeof *t);
        int64_t largest = 1;
        int count = 0;
        if (machine->batch != 1 || machine->block_in != machine->block_out) {
                diag_error(diag, EXIT_UNSUPPORTED,
                           "machine %s: networks are written for one row and as many outputs as "
                           "inputs at a time, not for %d x %d x %d",
                           machine->name, machine->batch, machine->block_in, machine->block_out);
                return NULL;
        }
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                if (machine->memories[k].name &&
                    machine_element_bytes(&machine->memories[k]) > largest)
                        largest = machine_element_bytes(&machine->memories[k]);
        while (t->multiplies && t->multiplies[count].name)
                count++;
        struct multiply *multiplies =
                arena_copy(arena, t->multiplies, (size_t)(count + 1) * sizeof *multiplies);
        for (int k = 0; k < count; k++)
                if (multiplies[k].streams) {
                        multiplies[k].outputs = machine->block_out;
                        multiplies[k].channels = machine->block_in;
                }
        to->multiplies = multiplies;
        to->accelerator = machine;
        to->workspace_align = largest > t->workspace_align ? largest : t->workspace_align;
        /* The line is a block of channels (target_block). */
        to->line_bytes = machine->block_out * element_info[E_F32].bytes;
        return to;
}

/* ---- lists ---- */

static const struct target *listed(struct arena *arena, const char *name, size_t length,
                                   struct diag *diag)
{
        const char *word = arena_printf(arena, "%.*s", (int)length, name);
        const struct target *t = target_find(word);
        if (t)
                return t;
        const char *meant = target_meant(word);
        if (meant) {
                diag_error(
                        diag, EXIT_USAGE,
                        "no target is called '%s': %s (" DIAG_HINT("--target=help lists all") ")",
                        text_argument(arena, word), meant + 1);
                return NULL;
        }
        struct suggest known = suggest_new(arena, word, length);
        suggest_add(&known, "native");
        for (int i = 0; i < TARGET_COUNT; i++)
                suggest_add(&known, targets[i]->name);
        diag_error(diag, EXIT_USAGE,
                   "no target is called '%s'%s (" DIAG_HINT("--target=help lists them") ")",
                   text_argument(arena, word), suggest_text(&known, true));
        return NULL;
}

/* May code of one file choose between these targets when it runs? */
static bool can_follow(const struct target *less, const struct target *best, struct diag *diag)
{
        const char *of_best = target_machine(best), *of_less = target_machine(less);
        struct cpu_needs needs = cpu_needs_none;
        if (target_printer(less) != target_printer(best))
                diag_error(diag, EXIT_USAGE,
                           "--target: code for %s and %s is in different languages, not one file",
                           less->name, best->name);
        else if (target_gpu(best))
                diag_error(diag, EXIT_USAGE,
                           "--target: a file of CUDA C is for one target, not for %s and %s: code "
                           "for %s runs on later GPUs, too",
                           less->name, best->name, less->name);
        else if (less->big_endian != best->big_endian || !of_best ||
                 (of_less && strcmp(of_less, of_best)))
                diag_error(
                        diag, EXIT_USAGE,
                        "--target: %s and %s are for different processors: a list is for one kind",
                        less->name, best->name);
        else if (target_attribute(best) && !cpu_needs(target_attribute(best), &needs))
                diag_error(diag, EXIT_USAGE,
                           "--target: nothing tells at run time whether a processor has %s",
                           best->name);
        else
                return true;
        return false;
}

const struct target **target_list(struct arena *arena, const char *text, int *count,
                                  struct diag *diag)
{
        bool in_list[TARGET_COUNT] = { false }, several = strchr(text, ',') != NULL;
        const struct target **list = arena_array(arena, TARGET_COUNT, sizeof *list);
        for (const char *p = text, *end; p; p = *end ? end + 1 : NULL) {
                end = p + strcspn(p, ",");
                const struct target *t = listed(arena, p, (size_t)(end - p), diag);
                int number = 0;
                if (!t)
                        return NULL;
                while (targets[number] != t)
                        number++;
                bool native_in_list = several && !strncmp(p, "native", (size_t)(end - p));
                if (native_in_list || in_list[number]) {
                        diag_error(diag, EXIT_USAGE,
                                   native_in_list
                                           ? "--target: native is this processor, and stands alone"
                                           : "--target: %s is listed twice",
                                   t->name);
                        return NULL;
                }
                in_list[number] = true;
        }
        *count = 0;
        for (int i = 0; i < TARGET_COUNT; i++)
                if (in_list[i])
                        list[(*count)++] = targets[i];
        for (int i = 1; i < *count; i++)
                if (!can_follow(list[i - 1], list[i], diag))
                        return NULL;
        return list;
}

const struct target *target_at(int number)
{
        return number < TARGET_COUNT ? targets[number] : NULL;
}

/* Prints a target with its other names. */
static void help_one(const char *name, const char *doc)
{
        bool any = false;
        printf("  %-16s %s", name, doc);
        for (int i = 0; i < OTHER_NAMES; i++)
                if (!strcmp(other_names[i].target, name)) {
                        printf("%s %s", any ? "," : "; also", other_names[i].name);
                        any = true;
                }
        putchar('\n');
}

void target_help(void)
{
        for (int i = 0; i < TARGET_COUNT; i++)
                help_one(targets[i]->name, targets[i]->doc);
        printf("  %-16s the last of these that are for this processor: %s\n", "native",
               native()->name);
}
