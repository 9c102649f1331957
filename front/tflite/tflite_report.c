/* SPDX-License-Identifier: MIT */
/* This is said about a model: errors at nodes, the list of what is not supported, limits. */
#include "front/tflite/tflite_helpers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"

bool tflite_error(struct tflite_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        diag_error(im->diag, EXIT_INVALID, "%s", arena_vprintf(im->arena, format, list));
        va_end(list);
        return false;
}

bool tflite_over_limit(struct tflite_import *im, const char *what, const char *limit, int64_t value)
{
        diag_error(im->diag, EXIT_INVALID,
                   "%s: more than the limit of %" PRId64
                   " (" DIAG_HINT("raise it with --limit %s=N") ")",
                   what, value, limit);
        return false;
}

/* Returns "node 3 (CONV_2D) of output 'x'". */
static const char *node_text(struct tflite_import *im)
{
        const struct tflite_node *n = im->node;
        const char *output = n->output_count && n->outputs[0]
                                     ? arena_printf(im->arena, " of output '" DIAG_OUTPUT("%s") "'",
                                                    n->outputs[0]->safe)
                                     : "";
        return arena_printf(im->arena, "node %d (" DIAG_OPERATOR("%s") ")%s", n->number,
                            n->row->name, output);
}

bool tflite_invalid(struct tflite_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        const char *text = arena_vprintf(im->arena, format, list);
        va_end(list);
        diag_error(im->diag, EXIT_INVALID, "%s: %s", node_text(im), text);
        return false;
}

bool tflite_unsupported(struct tflite_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        const char *text = arena_vprintf(im->arena, format, list);
        va_end(list);
        return refusals_add(&im->refusals, "%s: %s", node_text(im), text);
}
