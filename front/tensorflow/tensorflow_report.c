/* SPDX-License-Identifier: MIT */
/* This is said about a model: errors at nodes, what is not supported, limits. */
#include "front/tensorflow/tensorflow.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/text.h"

const char *tf_safe(struct tf_import *im, bytes_t text)
{
        return text_safe(im->m->arena, text.len ? (const char *)text.data : "", text.len);
}

bool tf_error(struct tf_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        diag_error(im->diag, EXIT_INVALID, "%s", arena_vprintf(im->arena, format, list));
        va_end(list);
        return false;
}

bool tf_usage(struct tf_import *im, const char *option, const char *text, const char *what)
{
        diag_error(im->diag, EXIT_USAGE, "%s %s: %s", option, text_argument(im->arena, text), what);
        return false;
}

bool tf_over_limit(struct tf_import *im, const char *what, const char *limit, int64_t value)
{
        diag_error(im->diag, EXIT_INVALID,
                   "%s: more than the limit of %" PRId64
                   " (" DIAG_HINT("raise it with --limit %s=N") ")",
                   what, value, limit);
        return false;
}

static const char *node_text(struct tf_import *im)
{
        const struct tf_graph_node *n = im->node->g;
        const char *function = im->frame && im->frame->graph->name
                                       ? arena_printf(im->arena, " of function '%s'",
                                                      im->frame->graph->name)
                                       : "";
        return arena_printf(im->arena, "node '" DIAG_NODE("%s") "' (" DIAG_OPERATOR("%s") ")%s",
                            n->name, n->op, function);
}

bool tf_invalid(struct tf_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        const char *text = arena_vprintf(im->arena, format, list);
        va_end(list);
        diag_error(im->diag, EXIT_INVALID, "%s: %s", node_text(im), text);
        return false;
}

bool tf_unsupported(struct tf_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        const char *text = arena_vprintf(im->arena, format, list);
        va_end(list);
        return refusals_add(&im->refusals, "%s: %s", node_text(im), text);
}
