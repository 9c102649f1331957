/* SPDX-License-Identifier: MIT */
/* Functions of texts that C functions of the integrator's stand for (--define NAME=c:SYMBOL): nodes
 * become one operation each, external, whose region is what the text says.
 *
 *   --define acme.dnn --define acme.Swish=c:acme_swish
 *
 *   %y = external(%x, @k) symbol=acme_swish extents=[3, 5] : <3 x 5 x f32> {(%x: .., %k: ..) .. }
 *
 * The symbols of the text that the types of its arguments mention are the extents, in the order in
 * which these do so first; its arguments, attributes included, are the operands. */
#include "base/suggest.h"
#include "front/onnx/onnx_model.h"

#include <string.h>

/* Returns the first function of a text with this name, or NULL. */
static struct onnx_definition *find(const struct onnx_import *im, const char *name)
{
        return map_get(im->model->definitions, name, strlen(name));
}

static void report_unknown(struct onnx_import *im, const char *name)
{
        struct suggest s = suggest_new(im->arena, name, strlen(name));
        for (int i = 0; i < im->model->defining_count; i++)
                for (const struct function *f = im->model->defining[i]->functions; f; f = f->next)
                        suggest_add(&s, f->name);
        const char *hint = suggest_text(&s, true);
        diag_error(im->diag, EXIT_USAGE, "--define '%s=c:..': no text of --define has func @%s%s",
                   name, name, *hint ? hint : ": want --define=FILE of one that has");
}

bool onnx_define_symbols(struct onnx_import *im)
{
        for (int i = 0; i < im->options->symbol_count; i++) {
                const struct import_symbol *s = &im->options->symbols[i];
                struct onnx_definition *d = find(im, s->name);
                if (!d) {
                        report_unknown(im, s->name);
                        return false;
                }
                for (; d; d = d->next)
                        d->symbol = s->symbol;
                sha256_update(&im->model->sha, s->name, strlen(s->name) + 1);
                sha256_update(&im->model->sha, s->symbol, strlen(s->symbol) + 1);
        }
        return true;
}

/* Returns why a C function cannot stand for f, or NULL. */
static const char *refusal(const struct function *f, const struct bound_symbol *symbols, int count)
{
        if (!f->body.argument_count)
                return "it has no inputs";
        for (int i = 0; i < count; i++)
                if (!dim_is_static(symbols[i].dim))
                        return "a run gives an extent of an input: bind it with --dim";
        for (int i = 0; i < f->body.argument_count; i++)
                if (!type_is_static(f->body.arguments[i].type))
                        return "a run gives an extent of an input: bind it with --dim";
        for (const struct op *op = f->body.first; op != f->body.last; op = op->next)
                if (!op_info[op->code].element)
                        return "its text has control flow, or kernels";
        return NULL;
}

struct op *onnx_define_external(struct onnx_import *im, struct onnx_node *n,
                                const struct onnx_definition *d, struct function *f,
                                const struct bound_symbol *symbols, int symbol_count,
                                struct value *const *arguments)
{
        const char *why = refusal(f, symbols, symbol_count);
        if (why) {
                onnx_unsupported(im, n, "c:%s cannot stand for func @%s: %s", d->symbol,
                                 d->stated->name, why);
                return NULL;
        }
        const struct op *yield = f->body.last;
        struct attr *attrs = attrs_new(im->m, OP_external);
        int64_t *extents = arena_array(im->m->arena, (size_t)symbol_count + 1, sizeof *extents);
        const struct type **types =
                arena_array(im->arena, (size_t)yield->operand_count + 1, sizeof *types);
        for (int i = 0; i < symbol_count; i++)
                extents[i] = dim_extent(symbols[i].dim);
        attr_set_ints(im->m, attrs, OP_external, "extents", extents, symbol_count);
        attr_set_text(im->m, attrs, OP_external, "symbol", d->symbol);
        for (int i = 0; i < yield->operand_count; i++)
                types[i] = op_operand(yield, i)->type;
        struct op *op = op_build_results(&im->b, OP_external, arguments, f->body.argument_count,
                                         attrs, types, yield->operand_count, 1);
        if (!op)
                return NULL;
        region_clone(&im->b, &f->body, op_add_region(op, 0));
        return op_infer(im->m, op, im->diag) ? op : NULL;
}
