/* SPDX-License-Identifier: MIT */
#include "passes/quantize/ports.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads SCALE[,ZERO], up to the end of the text. */
static bool read_affine(const char *text, enum element to, struct affine *a)
{
        char *end;
        const struct scheme scheme = { .to = to };
        int32_t least, most;
        scheme_limits(&scheme, &least, &most);
        double scale = strtod(text, &end);
        long zero = *end == ',' && end[1] ? strtol(end + 1, &end, 10) : 0;
        *a = (struct affine){ .scale = (float)scale, .zero = (int32_t)zero };
        return end != text && !*end && scale >= (double)FLT_MIN && scale <= (double)FLT_MAX &&
               zero >= least && zero <= most;
}

bool port_choice_parse(struct arena *arena, const char *text, struct port_choice *choice)
{
        const char *equal = strrchr(text, '=');
        if (!equal || equal == text)
                return false;
        *choice =
                (struct port_choice){ .option = text,
                                      .to = E_I8,
                                      .name = arena_copy(arena, text, (size_t)(equal - text) + 1) };
        ((char *)choice->name)[equal - text] = 0;
        if (!strcmp(equal + 1, "rows"))
                return true;
        if (!strcmp(equal + 1, "f16") || !strcmp(equal + 1, "bf16")) {
                choice->steps = PORT_CAST;
                choice->to = equal[1] == 'b' ? E_BF16 : E_F16;
                return true;
        }
        size_t length = strcspn(equal + 1, ",");
        const char *rest = equal + 1 + length;
        if (!scheme_element_from_text(equal + 1, length, &choice->to) ||
            scheme_stored(&(struct scheme){ .to = choice->to }) != choice->to)
                return false;
        choice->steps = *rest ? PORT_NUMBERS : PORT_RANGES;
        return !*rest || read_affine(rest + 1, choice->to, &choice->affine);
}

struct port_choice *port_choice_find(const struct quantized_ports *ports, const char *name)
{
        struct port_choice *found = NULL;
        for (int i = 0; ports && i < ports->choice_count; i++)
                if (text_fits(ports->choices[i].name, name)) {
                        found = &ports->choices[i];
                        found->used = true;
                }
        return found;
}

const struct port_affine *port_affine_find(const struct quantized_ports *ports, const char *name,
                                           bool output)
{
        for (int i = 0; ports && i < ports->count; i++)
                if (ports->items[i].output == output && !strcmp(ports->items[i].name, name))
                        return &ports->items[i];
        return NULL;
}

void port_affine_add(struct arena *arena, struct quantized_ports *ports, struct port_affine item)
{
        ARENA_GROW(arena, ports->items, ports->count);
        ports->items[ports->count++] = item;
}
