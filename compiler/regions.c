/* SPDX-License-Identifier: MIT */
/* --region NAME=SIZE[,ALIGN[,SECTION]] is memory beside the workspace, as the plan and the
 * generated code want it. */
#include <string.h>

#include "base/size.h"
#include "compiler/driver.h"

static bool complain(struct run *run, const char *text, const char *what)
{
        diag_error(&run->diag, EXIT_USAGE,
                   "--region wants NAME=SIZE[,ALIGN[,SECTION]], as in dtcm=64K,8,.dtcm; '%s': %s",
                   text_argument(run->arena, text), what);
        return false;
}

/* Returns the part of `text` up to the next comma, and moves *text behind it. */
static const char *take_part(struct arena *arena, const char **text)
{
        size_t length = strcspn(*text, ",");
        char *part = arena_printf(arena, "%.*s", (int)length, *text);
        *text += length + ((*text)[length] == ',');
        return part;
}

static bool parse_region(struct run *run, struct names *names, const char *text,
                         struct loop_region *region)
{
        static const char symbols[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.$";
        const char *equal = strchr(text, '='), *rest = equal ? equal + 1 : "";
        uint64_t size = 0, align = (uint64_t)target_workspace_align(run->context.target);
        if (!equal)
                return complain(run, text, "it has no '='");
        region->name = arena_printf(run->arena, "%.*s", (int)(equal - text), text);
        if (!text_is_identifier(region->name) || !names_reserve(names, region->name))
                return complain(run, text,
                                "the name is no C identifier of at most 31 characters, or taken");
        const char *size_text = take_part(run->arena, &rest),
                   *align_text = take_part(run->arena, &rest);
        region->section = rest;
        if (!size_parse(size_text, &size) || size > INT64_MAX / 2)
                return complain(run, text, "the size is none");
        if (*align_text &&
            (!size_parse(align_text, &align) || align < 8 || align > 4096 || (align & (align - 1))))
                return complain(run, text, "the alignment is no power of two from 8 to 4096");
        if (size && size < align)
                return complain(run, text, "the size is less than the alignment");
        if (strlen(rest) > 63 || strspn(rest, symbols) != strlen(rest))
                return complain(run, text, "a section has up to 63 letters, digits and _.$");
        region->limit = (int64_t)size;
        region->align = (int64_t)align;
        return true;
}

bool regions_parse(struct run *run)
{
        static const char *const taken[] = { "workspace", "weights", "state", "memory", "status" };
        const struct list *list = &run->options.regions;
        struct pass_context *context = &run->context;
        struct names *names = names_new(run->arena);
        for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
                names_reserve(names, taken[i]);
        if (list->count > REGIONS_MAX) {
                diag_error(&run->diag, EXIT_USAGE, "--region: %d regions, at most %d", list->count,
                           REGIONS_MAX);
                return false;
        }
        context->regions =
                arena_array(run->arena, (size_t)list->count + 1, sizeof *context->regions);
        for (int i = 0; i < list->count; i++)
                if (!parse_region(run, names, list->items[i],
                                  &context->regions[context->region_count++]))
                        return false;
        return true;
}
