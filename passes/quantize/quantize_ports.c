/* SPDX-License-Identifier: MIT */
/* quantize_ports: inputs and outputs become whole numbers where the caller has or wants them so, as
 * --quantize-port says.
 *
 *      constant steps    an input is decoded, (q - zero) * scale, an output rounded
 *      f16, bf16         an input is widened, an output rounded to that type
 *      rows              s8, and a port NAME_scale of f32 behind all others: a number for each row, all
 *                        numbers along the last dimension; scale = max |x| / 127, q = round(x / scale)
 *
 * The scale of a row of zeros is 0. An output whose rows are partly rows of such an input (a cache
 * of keys and values, to which a decoder's step adds its own) hands these on as they are, and its
 * other readers read the rounded numbers, too, as the next step will. So they read bytes. */
#include "ir/tensor/affine_numbers.h"
#include "passes/quantize/quantize.h"

#include <string.h>

#include "base/suggest.h"
#include "passes/simplify/simplify.h"

enum { MOVES_DEEP = 4 };                /* At most this many concats and moves stand between a
                                         * port's rows and an output. */

struct rows { struct value *numbers, *scales; };        /* scales has the shape of numbers, but for
                                                         * the last extent; floats have none. */
struct port_rows { struct value *decoded; struct rows rows; };

struct porting {
        struct function *f;
        struct pass_context *context;
        struct quantized_ports *ports;
        struct arena *arena;
        struct port_rows *inputs;
        int input_count, ported;
};

static const char *safe(const struct porting *q, const char *name)
{
        return text_safe(q->arena, name, strlen(name));
}

static const char *scale_name(const struct porting *q, const char *name)
{
        return arena_printf(q->f->module->arena, "%s_scale", name);
}

/* ---- rows ---- */

static struct value *decode_rows(struct builder *b, struct rows r, enum element to)
{
        int64_t dims[RANK_MAX];
        if (!r.scales)
                return build_cast(b, r.numbers, to);
        for (int d = 0; d < RANK_MAX; d++)
                dims[d] = d;
        struct value *x = build_cast(b, r.numbers, to),
                     *scales = x ? build_broadcast(b, r.scales, x->type, dims) : NULL;
        return build_binary(b, OP_mul, x, scales);
}

static struct rows round_rows(struct builder *b, struct value *x, const struct port_choice *c)
{
        if (c->steps == PORT_CAST)
                return (struct rows){ build_cast(b, x, c->to), NULL };
        const int64_t last = x->type->rank - 1;
        struct value *most = build_reduce(b, REDUCE_max, build_unary(b, OP_abs, x), &last, 1),
                     *scales =
                             most ? build_binary(b, OP_div, most, build_like(b, most, 127)) : NULL;
        int64_t dims[RANK_MAX];
        for (int d = 0; d < RANK_MAX; d++)
                dims[d] = d;
        struct value *spread = scales ? build_broadcast(b, scales, x->type, dims) : NULL;
        return (struct rows){ build_rounded(b, build_binary(b, OP_div, x, spread), NULL, E_I8),
                              scales };
}

/* Returns the rows that v is decoded of, if they are such as the choice wants. */
static const struct rows *rows_of_input(const struct porting *q, const struct value *v,
                                        const struct port_choice *c)
{
        for (int i = 0; i < q->input_count; i++)
                if (q->inputs[i].decoded == v &&
                    q->inputs[i].rows.numbers->type->element == element_storage(c->to) &&
                    !q->inputs[i].rows.scales == (c->steps == PORT_CAST))
                        return &q->inputs[i].rows;
        return NULL;
}

/* Does v move whole rows to other places? */
static bool moves_rows(const struct value *v)
{
        const struct op *op = v->kind == VALUE_RESULT ? v->op : NULL;
        const int last = v->type->rank - 1;
        int count;
        if (!op)
                return false;
        if (op->code == OP_concat)
                return op_int(op, "axis") != last;
        if (op->code == OP_transpose)
                return op_ints(op, "perm", &count)[last] == last;
        const struct type *from = op->code == OP_reshape ? op_operand(op, 0)->type : NULL;
        return from && from->rank && dim_equal(from->dims[from->rank - 1], v->type->dims[last]);
}

/* Has v rows of inputs among its rows? */
static bool has_input_rows(const struct porting *q, const struct value *v,
                           const struct port_choice *c, int deep)
{
        bool found = rows_of_input(q, v, c);
        for (int i = 0; !found && deep && moves_rows(v) && i < v->op->operand_count; i++)
                found = has_input_rows(q, op_operand(v->op, i), c, deep - 1);
        return found;
}

static struct rows rows_of(const struct porting *q, struct builder *b, struct value *v,
                           const struct port_choice *c, int deep);

static struct rows moved_rows(const struct porting *q, struct builder *b, struct value *v,
                              const struct port_choice *c, int deep)
{
        const bool scaled = c->steps == PORT_ROWS;
        struct op *op = v->op;
        struct value **numbers = arena_array(q->arena, (size_t)op->operand_count, sizeof *numbers),
                     **scales = arena_array(q->arena, (size_t)op->operand_count, sizeof *scales);
        for (int i = 0; i < op->operand_count; i++) {
                struct rows r = rows_of(q, b, op_operand(op, i), c, deep - 1);
                if (!r.numbers || (scaled && !r.scales))
                        return (struct rows){ 0 };
                numbers[i] = r.numbers;
                scales[i] = r.scales;
        }
        int count, rank = v->type->rank - 1,
                   axis = op->code == OP_concat ? (int)op_int(op, "axis") : 0;
        if (op->code == OP_concat)
                return (struct rows){ build_concat(b, numbers, op->operand_count, axis),
                                      scaled ? build_concat(b, scales, op->operand_count, axis)
                                             : NULL };
        if (op->code == OP_reshape)
                return (struct rows){ build_reshape(b, *numbers, v->type->rank, v->type->dims),
                                      scaled ? build_reshape(b, *scales, rank, v->type->dims)
                                             : NULL };
        /* The last dimension stays; scales have the others. */
        const int64_t *perm = op_ints(op, "perm", &count);
        return (struct rows){ build_transpose(b, *numbers, perm),
                              scaled ? build_transpose(b, *scales, perm) : NULL };
}

static struct rows rows_of(const struct porting *q, struct builder *b, struct value *v,
                           const struct port_choice *c, int deep)
{
        const struct rows *input = rows_of_input(q, v, c);
        return input                           ? *input
               : has_input_rows(q, v, c, deep) ? moved_rows(q, b, v, c, deep)
                                               : round_rows(b, v, c);
}

/* ---- ports ---- */

/* Finds the choice for a port, if there is one. Returns false after an error. */
static bool choose(struct porting *q, const char *name, const struct type *t,
                   struct port_choice **choice)
{
        struct port_choice *c = port_choice_find(q->ports, name);
        const char *obstacle = !c                                              ? NULL
                               : t->kind != TYPE_TENSOR || t->element != E_F32 ? "it is not of f32"
                               : c->steps == PORT_ROWS && (!t->rank || type_is_empty(t))
                                       ? "it has no rows"
                                       : NULL;
        *choice = c;
        if (obstacle)
                diag_error(q->context->diag, EXIT_UNSUPPORTED,
                           "--quantize-port=%s: '%s' stays as it is: %s",
                           text_argument(q->arena, c->option), safe(q, name), obstacle);
        return !obstacle;
}

/* Are steps found as rows, or are there none? */
static bool has_rows(const struct port_choice *c)
{
        return c->steps == PORT_ROWS || c->steps == PORT_CAST;
}

/* Finds constant steps. Returns false after an error. */
static bool find_affine(struct porting *q, const struct port_choice *c, const char *name,
                        bool output, struct affine *a)
{
        const struct port_affine *known = port_affine_find(q->ports, name, output);
        if (c->steps == PORT_NUMBERS && !known)
                port_affine_add(q->f->module->arena, q->ports,
                                (struct port_affine){ name, output, c->to, c->affine });
        else if (!known)
                diag_error(q->context->diag, EXIT_USAGE,
                           "--quantize-port=%s: the ranges hold no numbers of '%s': give a scale, "
                           "as in NAME=u8,0.0078125,128",
                           text_argument(q->arena, c->option), safe(q, name));
        *a = known ? known->affine : c->affine;
        return known || c->steps == PORT_NUMBERS;
}

static struct value *like(struct builder *b, const struct value *v, enum element e, double number)
{
        return constant_number(b->m, type_with_element(b->m, v->type, e), number);
}

static bool is_free(const struct porting *q, const char *name, const char *taken)
{
        if (!strcmp(name, taken))
                diag_error(q->context->diag, EXIT_UNSUPPORTED,
                           "--quantize-port: the scales of rows want the name '%s', which another "
                           "port has",
                           safe(q, name));
        return strcmp(name, taken) != 0;
}

/* Lists the present uses of v, whatever is built later. */
static struct use **uses_of(const struct porting *q, const struct value *v, int *count)
{
        struct use **uses = NULL;
        *count = 0;
        for (struct use *u = v->uses; u; u = u->next) {
                ARENA_GROW(q->arena, uses, *count);
                uses[(*count)++] = u;
        }
        return uses;
}

/* Makes argument i whole numbers: all its readers read `decoded`. Returns false after an error. */
static bool write_input(struct porting *q, int i)
{
        struct function *f = q->f;
        struct value *x = &f->body.arguments[i], *decoded;
        const char *name = f->input_ports[i].name;
        const struct type *t = x->type;
        struct port_choice *c;
        struct affine a;
        if (!choose(q, name, t, &c) ||
            (c && !has_rows(c) && !find_affine(q, c, name, false, &a)))
                return false;
        if (!c)
                return true;
        int count;
        struct use **uses = uses_of(q, x, &count);
        struct builder b = { .m = f->module,
                             .region = &f->body,
                             .before = f->body.first,
                             .diag = q->context->diag };
        x->type = type_with_element(f->module, t, c->to);
        if (c->steps == PORT_CAST) {
                decoded = build_cast(&b, x, E_F32);
                ARENA_GROW(q->arena, q->inputs, q->input_count);
                q->inputs[q->input_count++] = (struct port_rows){ decoded, { x, NULL } };
        } else if (c->steps == PORT_ROWS) {
                const char *scale = scale_name(q, name);
                for (int k = 0; k < f->body.argument_count; k++)
                        if (!is_free(q, scale, f->input_ports[k].name))
                                return false;
                struct rows r = { x, function_add_input(
                                             f, scale,
                                             type_tensor(f->module, E_F32, t->rank - 1, t->dims)) };
                decoded = decode_rows(&b, r, E_F32);
                ARENA_GROW(q->arena, q->inputs, q->input_count);
                q->inputs[q->input_count++] = (struct port_rows){ decoded, r };
        } else {
                decoded = build_dequantize(&b, x, constant_number(b.m, t, (double)a.scale),
                                           like(&b, x, c->to, a.zero));
        }
        for (int k = 0; k < count && decoded; k++)
                op_set_operand(uses[k]->user, uses[k]->index, decoded);
        q->ported++;
        return decoded;
}

/* Makes the readers of an output, but for outputs, read `decoded`. */
static void read_rounded(const struct porting *q, struct use *const *uses, int count,
                         struct value *decoded)
{
        for (int i = 0; i < count; i++)
                if (uses[i]->user != q->f->body.last)
                        op_set_operand(uses[i]->user, uses[i]->index, decoded);
}

/* Makes output i whole numbers; *scales: the value of their port, or NULL. Returns NULL after an
 * error. */
static struct value *write_output(struct porting *q, int i, struct value **scales)
{
        struct function *f = q->f;
        struct value *y = op_operand(f->body.last, i);
        const char *name = f->output_ports[i].name;
        struct port_choice *c;
        struct affine a;
        *scales = NULL;
        if (!choose(q, name, y->type, &c) ||
            (c && !has_rows(c) && !find_affine(q, c, name, true, &a)))
                return NULL;
        if (!c)
                return y;
        q->ported++;
        struct op *op = y->kind == VALUE_RESULT ? y->op : NULL;
        struct builder b = { .m = f->module,
                             .region = &f->body,
                             .before = op ? op->next : f->body.first,
                             .location = op ? op->location : NULL,
                             .diag = q->context->diag };
        if (!has_rows(c))
                return build_quantize(&b, y, like(&b, y, E_F32, (double)a.scale),
                                      like(&b, y, c->to, a.zero), c->to);
        int count;
        struct use **uses = uses_of(q, y, &count);
        struct rows r = rows_of(q, &b, y, c, MOVES_DEEP);
        *scales = r.scales;
        if (!rows_of_input(q, y, c) && r.numbers && (r.scales || c->steps == PORT_CAST))
                read_rounded(q, uses, count, decode_rows(&b, r, E_F32));
        return r.numbers;
}

static bool write_outputs(struct porting *q)
{
        struct function *f = q->f;
        const int count = f->output_count;
        struct value **values = arena_array(q->arena, 2 * (size_t)count + 1, sizeof *values),
                     *scales;
        struct port *ports = arena_array(f->module->arena, 2 * (size_t)count + 1, sizeof *ports);
        int all = count;
        for (int i = 0; i < count; i++) {
                ports[i] = f->output_ports[i];
                values[i] = write_output(q, i, &scales);
                if (!values[i])
                        return false;
                if (!scales)
                        continue;
                ports[all].name = scale_name(q, ports[i].name);
                for (int k = 0; k < count; k++)
                        if (!is_free(q, ports[all].name, f->output_ports[k].name))
                                return false;
                values[all++] = scales;
        }
        struct builder b = {
                .m = f->module, .region = &f->body, .before = f->body.last, .diag = q->context->diag
        };
        struct op *old = f->body.last;
        f->output_ports = ports;
        if (!build_yield(&b, values, all))
                return false;
        op_erase(old);
        return true;
}

/* Reports choices that fit no port. */
static bool check_used(const struct porting *q)
{
        for (int i = 0; i < q->ports->choice_count; i++) {
                const struct port_choice *c = &q->ports->choices[i];
                if (c->used)
                        continue;
                struct suggest known = suggest_new(q->arena, c->name, strlen(c->name));
                for (int k = 0; k < q->f->body.argument_count; k++)
                        suggest_add(&known, safe(q, q->f->input_ports[k].name));
                for (int k = 0; k < q->f->output_count; k++)
                        suggest_add(&known, safe(q, q->f->output_ports[k].name));
                diag_error(q->context->diag, EXIT_USAGE,
                           "--quantize-port=%s: no input or output is called that%s",
                           text_argument(q->arena, c->option), suggest_text(&known, true));
                return false;
        }
        return true;
}

static bool write_ports(struct porting *q)
{
        for (int i = 0, count = q->f->body.argument_count; i < count; i++)
                if (!write_input(q, i))
                        return false;
        return write_outputs(q);
}

int pass_quantize_ports(struct function *f, struct pass_context *context)
{
        struct porting q = { .f = f,
                             .context = context,
                             .ports = context->quantize ? context->quantize->ports : NULL };
        if (!q.ports) {
                diag_error(context->diag, EXIT_USAGE,
                           "pass quantize_ports wants --quantize-port=NAME=TYPE");
                return -1;
        }
        q.arena = arena_new();
        bool fine = write_ports(&q) && (f->next || check_used(&q));
        arena_free(q.arena);
        if (fine)
                pass_dce(f, context);
        return fine ? q.ported : -1;
}
