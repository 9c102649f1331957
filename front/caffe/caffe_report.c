/* SPDX-License-Identifier: MIT */
/* This is said about a network: errors at layers, the list of what is not supported. */
#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "front/caffe/caffe.h"

bool caffe_error(struct caffe_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        diag_error(im->diag, EXIT_INVALID, "%s", arena_vprintf(im->arena, format, list));
        va_end(list);
        return false;
}

bool caffe_usage(struct caffe_import *im, const char *option, const char *text, const char *what)
{
        diag_error(im->diag, EXIT_USAGE, "%s %s: %s", option, text_argument(im->arena, text), what);
        return false;
}

static const char *layer_text(struct caffe_import *im)
{
        return arena_printf(im->arena, "layer '" DIAG_NODE("%s") "' (" DIAG_OPERATOR("%s") ")",
                            im->layer->name, im->layer->type);
}

bool caffe_invalid(struct caffe_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        const char *text = arena_vprintf(im->arena, format, list);
        va_end(list);
        diag_error(im->diag, EXIT_INVALID, "%s: %s", layer_text(im), text);
        return false;
}

bool caffe_unsupported(struct caffe_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        const char *text = arena_vprintf(im->arena, format, list);
        va_end(list);
        return refusals_add(&im->refusals, "%s: %s", layer_text(im), text);
}
