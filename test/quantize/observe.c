/* SPDX-License-Identifier: MIT */
/* What observers make of a file of ranges: a line for each tensor, observer and scheme. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/files.h"
#include "passes/calibrate/calibration.h"

static void print_scheme(const struct range *r, const struct scheme *g)
{
        for (int o = 0; o < OBSERVER_COUNT; o++) {
                struct extent e = observe_extent(r, (enum observer)o, g);
                struct affine a = observe(r, (enum observer)o, g);
                printf("%s %s %s %d %d %a %a %a %d %a\n", r->name, observer_name((enum observer)o), element_info[g->to].text,
                       g->symmetric, g->power_of_two, (double)e.least, (double)e.most, (double)a.scale, (int)a.zero,
                       affine_error(r, a, g));
        }
}

int main(int argc, char **argv)
{
        static const enum element to[] = { E_U8, E_I8, E_U16, E_I16, E_U4, E_I4 };
        struct diag diag = { .subject = "observe" };
        struct arena *arena = arena_new();
        unsigned char *bytes;
        size_t length;
        if (argc != 2 || !file_read(argv[1], 1 << 30, &bytes, &length, &diag))
                return 1;
        const struct calibration *c = calibration_read(arena, (const char *)bytes, length, INT64_MAX, &diag);
        for (int i = 0; c && i < c->range_count; i++)
                for (int k = 0; k < 24; k++)
                        print_scheme(c->ranges[i], &(struct scheme){ to[k / 4], k & 1, k & 2 });
        free(bytes);
        arena_free(arena);
        return c ? 0 : (int)diag.code;
}
