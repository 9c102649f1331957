/* SPDX-License-Identifier: MIT */
/* --loss says what a step of training makes smaller: an output of one number, or a mean that is
 * added to the model, of how an output differs from labels, one more input.
 *
 *      --loss=loss                       the output loss
 *      --loss=cross_entropy:logits,y     the mean of -log softmax(logits) at the class y
 *      --loss=mse:out                    the mean of (out - labels)^2 */
#include "compiler/loss.h"

#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "front/compose/compose_softmax.h"
#include "ir/adjoint/formula_text.h"

/* A kind of loss. Labels of classes are integers, whose dimensions are those of the output without
 * its classes; others are floats like the output, and the loss of an element is a formula over
 * them. */
struct loss_row {
        const char *name, *formula;     /* NULL: the labels are classes. */
        struct value *(*build)(struct compose *c, struct value *x, const struct compose_loss *loss);
};
static struct value *cross_entropy(struct compose *c, struct value *x,
                                   const struct compose_loss *loss)
{
        return compose_cross_entropy_loss(c, x, loss, NULL);
}

static const struct loss_row rows[] = {
        { "cross_entropy", NULL, cross_entropy },
        { "likelihood", NULL, compose_likelihood_loss },
        { "mse", "(x - y) * (x - y)", NULL },
        { "binary_cross_entropy", "softplus(x) - x * y", NULL },
};
enum { ROWS = sizeof rows / sizeof *rows };

struct reader {
        struct run *run;
        struct arena *arena;
        struct function *f;
        const char *text;               /* It is the option's. */
        const struct loss_row *row;
        struct value *x;                /* The output whose loss is a mean. */
        int axis;                       /* Classes lie along it. */
        const char *labels;             /* The input's name. */
};

static const char *safe(const struct reader *r, const char *name)
{
        return text_safe(r->arena, name, strlen(name));
}

static bool usage(const struct reader *r, const char *text)
{
        diag_error(&r->run->diag, EXIT_USAGE, "--loss=%s: %s", text_argument(r->arena, r->text),
                   text);
        return false;
}

static bool is_floats(const struct value *v)
{
        return v->type->kind == TYPE_TENSOR && element_is_float(v->type->element);
}

static int find_output(const struct function *f, const char *name, size_t length)
{
        for (int i = 0; i < f->output_count; i++)
                if (strlen(f->output_ports[i].name) == length &&
                    !memcmp(f->output_ports[i].name, name, length))
                        return i;
        return -1;
}

static bool refuse_unknown(const struct reader *r)
{
        struct suggest known = suggest_new(r->arena, r->text, strcspn(r->text, ":@"));
        for (int i = 0; i < r->f->output_count; i++) {
                const struct value *v = op_operand(r->f->body.last, i);
                if (is_floats(v) && type_has_one(v->type))
                        suggest_add(&known, safe(r, r->f->output_ports[i].name));
        }
        for (int i = 0; i < ROWS; i++)
                suggest_add(&known, arena_printf(r->arena, "%s:OUTPUT", rows[i].name));
        return usage(r, arena_printf(r->arena, "want an output of one number, a float, or a kind "
                                               "of loss and an output%s",
                                     suggest_text(&known, true)));
}

/* Reads "KIND[@AXIS]:", and returns what follows; NULL after an error. */
static const char *read_kind(struct reader *r)
{
        const size_t length = strcspn(r->text, ":@");
        const char *rest = r->text + length;
        for (int i = 0; i < ROWS; i++)
                if (strlen(rows[i].name) == length && !memcmp(rows[i].name, r->text, length))
                        r->row = &rows[i];
        r->axis = 1;
        if (r->row && *rest == '@' && !r->row->formula) {
                char *end;
                long axis = strtol(rest + 1, &end, 10);
                r->axis = axis >= -RANK_MAX && axis < RANK_MAX ? (int)axis : RANK_MAX;
                rest = end > rest + 1 ? end : rest;
        }
        if (!r->row || *rest != ':') {
                refuse_unknown(r);
                return NULL;
        }
        return rest + 1;
}

/* Reads "OUTPUT[,LABELS]"; an output's name may have commas. */
static bool read_output(struct reader *r, const char *rest)
{
        const char *comma = strrchr(rest, ',');
        int output = find_output(r->f, rest, strlen(rest));
        r->labels = "labels";
        if (output < 0 && comma) {
                output = find_output(r->f, rest, (size_t)(comma - rest));
                r->labels = comma + 1;
        }
        struct suggest known = suggest_new(r->arena, rest, strcspn(rest, ","));
        for (int i = 0; i < r->f->output_count; i++)
                if (is_floats(op_operand(r->f->body.last, i)))
                        suggest_add(&known, safe(r, r->f->output_ports[i].name));
        if (output < 0 || !is_floats(op_operand(r->f->body.last, output)))
                return usage(r, arena_printf(r->arena, "'%s' is no output of floats%s",
                                             safe(r, rest), suggest_text(&known, true)));
        r->x = op_operand(r->f->body.last, output);
        for (int i = 0; i < r->f->body.argument_count; i++)
                if (!strcmp(r->f->input_ports[i].name, r->labels))
                        return usage(r, arena_printf(r->arena, "there is an input '%s' already: "
                                                               "NAME behind a comma names the "
                                                               "labels",
                                                     safe(r, r->labels)));
        return *r->labels || usage(r, "the labels want a name");
}

/* ---- the mean of a formula ---- */

struct operands { struct value *x, *y; };

static struct value *variable(void *context, const char *name, size_t length)
{
        const struct operands *o = context;
        return length == 1 && *name == 'x' ? o->x : o->y;
}

static struct value *mean_of_formula(struct reader *r, struct compose *c)
{
        int64_t axes[RANK_MAX];
        struct value *y = function_add_input(r->f, r->labels, r->x->type);
        struct operands o = { compose_wide(c, r->x), compose_wide(c, y) };
        const struct formula formula = { c->b, o.x, variable, &o };
        const int count = compose_axes_from(0, value_rank(r->x), axes);
        struct value *mean = compose_mean(c, formula_build(&formula, r->row->formula), axes, count);
        return compose_cast(c, mean, value_element(r->x));
}

/* ---- losses of classes ---- */

/* Returns the loss of x with the classes along axis 1, as ONNX has them. A class below 0 does not
 * count. */
static struct value *loss_of_classes(struct reader *r, struct compose *c)
{
        const struct type *t = r->x->type;
        int64_t perm[RANK_MAX], count = 0;
        dim_t dims[RANK_MAX];
        r->axis += r->axis < 0 ? t->rank : 0;
        if (r->axis < 0 || r->axis >= t->rank || t->rank < 2) {
                usage(r, arena_printf(r->arena, "%s has no axis %d beside one of samples: "
                                                "cross_entropy@AXIS says where classes lie",
                                      type_text(r->arena, r->f->module, t), r->axis));
                return NULL;
        }
        for (int d = 0; d < t->rank; d++) {
                if (d == r->axis)
                        continue;
                dims[count] = t->dims[d];
                perm[count + (count > 0)] = d;
                count++;
        }
        perm[1] = r->axis;
        struct value *y = function_add_input(
                r->f, r->labels, type_tensor(r->f->module, E_I64, (int)count, dims));
        struct value *x = compose_transpose(c, r->x, perm);
        struct value *counts = build_binary(c->b, OP_ge, y, build_like(c->b, y, 0));
        const struct compose_loss loss = {
                .target = build_select(c->b, counts, y, build_like(c->b, y, -1)),
                .reduction = LOSS_MEAN,
                .ignores = true,
                .ignore_index = -1,
        };
        return r->row->build(c, x, &loss);
}

static void report(void *caller, enum exit_code code, const char *text)
{
        struct reader *r = caller;
        diag_error(&r->run->diag, code, "--loss=%s: %s", text_argument(r->arena, r->text), text);
}

bool loss_find(struct run *run, struct function *f, struct training_loss *loss)
{
        struct reader r = { .run = run, .arena = run->arena, .f = f, .text = run->options.loss };
        struct builder b;
        struct compose c;
        loss->output = find_output(f, r.text, strlen(r.text));
        loss->name = r.text;
        if (loss->output >= 0) {
                loss->value = op_operand(f->body.last, loss->output);
                return (is_floats(loss->value) && type_has_one(loss->value->type)) ||
                       usage(&r, arena_printf(r.arena, "output '%s' is %s: want one number, a "
                                                       "float",
                                              safe(&r, r.text),
                                              type_text(r.arena, f->module, loss->value->type)));
        }
        const char *rest = read_kind(&r);
        if (!rest || !read_output(&r, rest))
                return false;
        compose_begin(&c, &b, f->module, run->arena, &run->context, report, &r);
        b.region = &f->body;
        b.before = f->body.last;
        loss->name = "loss";
        loss->value = r.row->formula ? mean_of_formula(&r, &c) : loss_of_classes(&r, &c);
        return loss->value != NULL;
}
