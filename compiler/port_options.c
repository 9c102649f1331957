/* SPDX-License-Identifier: MIT */
/* --port NAME=LAYOUT says how inputs and outputs lie in memory. */
#include "passes/layout/port_layouts.h"

#include "compiler/driver.h"

bool port_layouts_parse(struct run *run)
{
        const struct list *asked = &run->options.ports;
        struct port_layouts *ports =
                asked->count ? ARENA_NEW(run->arena, struct port_layouts) : NULL;
        run->context.port_layouts = ports;
        for (int i = 0; i < asked->count; i++) {
                struct port_layout layout;
                if (!port_layout_parse(run->arena, asked->items[i], &layout)) {
                        diag_error(&run->diag, EXIT_USAGE,
                                   "--port=%s: want NAME=LAYOUT: letters of n c d h w in the "
                                   "port's order, or digits, each a dimension of the model; "
                                   "behind c a block of channels, as in nchw16; rows behind h, as "
                                   "in nhwc,row=1024",
                                   text_argument(run->arena, asked->items[i]));
                        return false;
                }
                ARENA_GROW(run->arena, ports->items, ports->count);
                ports->items[ports->count++] = layout;
        }
        return true;
}

bool port_layouts_check(struct run *run)
{
        if (!run->context.port_layouts || run->state.module)
                return true;
        diag_error(&run->diag, EXIT_USAGE, "--port works on Tensor IR, and this is Loop IR");
        return false;
}
