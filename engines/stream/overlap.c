/* SPDX-License-Identifier: MIT */
/* overlap: gives what an iteration has in the machine's memories another place than in the
 * iteration before, so that it can be loaded while that one computes, and that one's results can be
 * stored while it computes.
 *
 *     for %i = 0 to 64 {                              for %i = 0 to 64 {
 *       alloc %a : i8[12544] in inp           ->        alloc %a : i8[12544] in inp at 0, 784
 *
 * Two contexts are enough: a third would only even out transfers that take longer once. Where a
 * memory is too small, its buffers have one place, and each iteration waits for the one before.
 * Exact: places hold nothing from one iteration to another. */
#include "engines/stream/stream_passes.h"

enum { CONTEXTS = 2 };

int pass_overlap(struct loop_program *p, struct pass_context *context)
{
        int count = 0;
        for (struct loop_function *f = p->kernels; f; f = f->next) {
                if (f->kind != FUNCTION_STREAM || stream_is_placed(f))
                        continue;
                int placed = stream_place(p->arena, f, CONTEXTS, context->diag);
                if (placed < 0)
                        return -1;
                count += placed;
        }
        return count;
}
