/* SPDX-License-Identifier: MIT */
/* Writes a module as command text, and its parameters. */
#include <inttypes.h>

#include "base/sha256.h"
#include "codegen/sections/sections.h"

/* Gives values the numbers that they have in the text of the module. */
static void number_values(struct module *m)
{
        struct text text = { 0 };
        tensor_print(&text, m, &(struct tensor_print){ .elide = true });
        text_free(&text);
}

/* ---- the text ---- */

static void print_all(struct text *text, const struct section_plan *p,
                      const struct command_list *list, const struct text *parameters,
                      const struct sections_options *options)
{
        char digest[65];
        struct sha256 sha;
        sha256_init(&sha);
        sha256_update(&sha, parameters->data ? parameters->data : "", parameters->length);
        sha256_hex(&sha, digest);
        text_add(text,
                 "# dnncc %s, machine %s: 0x0 is activation memory of %" PRId64
                 " bytes, 0x1 DDR of %" PRId64 "; numbers of %d bytes\n",
                 options->version, p->n->overlay->name, p->memory, p->ddr_bytes,
                 p->n->overlay->number_bytes);
        text_add(text, "# parameters %s sha256 %s bytes %zu\n",
                 options->parameters_name ? options->parameters_name : "-", digest,
                 parameters->length);
        command_templates(text);
        for (int k = 0; k < list->count; k++)
                command_print(text, &list->items[k]);
}

/* Makes commands, with copies of volumes where these do not delay other commands. Returns false
 * where the plan, which had places, has none any more. */
static bool make_commands(struct arena *arena, struct section_plan *p, struct command_list *list,
                          struct text *parameters)
{
        struct text with_copies = { 0 };
        *list = commands_make(arena, p, parameters);
        commands_schedule(arena, list, p->n->overlay);
        if (!plan_replicate(p))
                return true;
        struct command_list other = commands_make(arena, p, &with_copies);
        commands_schedule(arena, &other, p->n->overlay);
        text_free(&with_copies);        /* The parameters are the same as without copies. */
        if (commands_slots(&other) > commands_slots(list))
                return plan_unite(p);
        *list = other;
        return true;
}

bool sections_write(struct module *m, const struct overlay *overlay,
                    const struct sections_options *options, FILE *out, FILE *parameters,
                    struct diag *diag)
{
        struct arena *arena = arena_new();
        struct text text = { 0 }, data = { 0 };
        struct network *n = network_find(arena, m, overlay, diag);
        if (n)
                number_values(m);
        int64_t memory = options->memory ? options->memory : overlay->activation_bytes;
        memory -= overlay->buffer_bytes ? memory % overlay->buffer_bytes : 0;
        struct section_plan *p = n ? plan_commands(n, memory, diag) : NULL;
        struct command_list list = { 0 };
        if (p && !make_commands(arena, p, &list, &data)) {
                diag_error(diag, EXIT_INTERNAL,
                           "volumes that had places without copies have none any more");
                p = NULL;
        }
        if (p) {
                print_all(&text, p, &list, &data, options);
                fwrite(text.data, 1, text.length, out);
                if (parameters && data.length)
                        fwrite(data.data, 1, data.length, parameters);
                commands_say(m, p, &list, options, diag);
        }
        text_free(&text);
        text_free(&data);
        arena_free(arena);
        return p != NULL;
}
