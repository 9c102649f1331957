/* SPDX-License-Identifier: MIT */
/* port_layouts: inputs and outputs lie in memory as --port says. A port gets the type of what lies
 * there, and moves of the tensor stand between it and the model, which later passes bring into the
 * kernels that read an input first or make an output last:
 *
 *      image=nhwc4,row=1024    1 x 200 x 1024      as it is declared, in bytes
 *          slice, reshape      1 x 200 x 200 x 4
 *          slice               1 x 200 x 200 x 3
 *          transpose           1 x 3 x 200 x 200   as the model has it
 */
#include "passes/layout/port_layouts.h"

#include <string.h>

#include "base/size.h"
#include "base/suggest.h"
#include "passes/pass.h"

/* ---- options ---- */

static const char letters[] = "ncdhw";  /* Models have dimensions in this order. */

/* Reads letters in the order of the port. Returns what is behind them, or NULL: they are no
 * layout. */
static const char *read_letters(const char *text, struct port_layout *l)
{
        const size_t length = strspn(text, letters);
        for (size_t i = 0; i < length; i++) {
                int before = 0;
                for (size_t k = 0; k < length; k++) {
                        const char *own = strchr(letters, text[i]),
                                   *other = strchr(letters, text[k]);
                        if (i != k && own == other)
                                return NULL;
                        before += other < own;
                }
                l->perm[i] = before;
                if (text[i] == 'c')
                        l->channel = (int)i;
                if (text[i] == 'h' && i + 1 < length)
                        l->row = (int)i + 1;
        }
        l->rank = (int)length;
        return text + length;
}

/* Reads digits, each of which is another dimension of the model. */
static const char *read_digits(const char *text, struct port_layout *l)
{
        const size_t length = strspn(text, "0123456789");
        unsigned seen = 0;
        if (length > RANK_MAX)
                return NULL;
        for (size_t i = 0; i < length; i++) {
                l->perm[i] = text[i] - '0';
                seen |= 1u << l->perm[i];
        }
        l->rank = (int)length;
        return seen == (1u << length) - 1 ? text + length : NULL;
}

/* Reads a number of [1, most] up to a comma or the end of the text; *text goes behind it. */
static bool read_number(const char **text, int64_t most, int64_t *number)
{
        const char *from = *text;
        for (*number = 0; **text >= '0' && **text <= '9' && *number <= most; ++*text)
                *number = 10 * *number + (**text - '0');
        return *text > from && *number >= 1 && *number <= most && (!**text || **text == ',');
}

bool port_layout_parse(struct arena *arena, const char *text, struct port_layout *layout)
{
        enum { BLOCK_MOST = 1024 };
        const char *equal = strrchr(text, '=');
        const char *comma = strstr(text, ",row=");
        if (comma && equal == comma + 4)        /* The name ends in front of the layout. */
                for (equal = comma; equal > text && *equal != '=';)
                        equal--;
        if (!equal || equal == text || *equal != '=')
                return false;
        *layout = (struct port_layout){ .option = text,
                                        .name = arena_printf(arena, "%.*s", (int)(equal - text),
                                                             text),
                                        .channel = -1,
                                        .row = -1,
                                        .block = 1 };
        const char *at = equal + 1;
        const bool digits = *at >= '0' && *at <= '9';
        at = digits ? read_digits(at, layout) : read_letters(at, layout);
        if (!at || !layout->rank)
                return false;
        if (*at && *at != ',' &&
            (layout->channel < 0 || !read_number(&at, BLOCK_MOST, &layout->block)))
                return false;
        if (!*at)
                return true;
        at += strlen(",row=");
        return comma && at == comma + strlen(",row=") && layout->row > 0 &&
               read_number(&at, INT32_MAX, &layout->row_bytes) && !*at;
}

/* ---- ports ---- */

struct laying { struct function *f; struct pass_context *context; struct arena *arena; int count; };

/* What a port's memory has: its dimensions in its own order, channels filled up and in blocks, and
 * what is declared of it, with rows as one dimension. */
struct form {
        const struct port_layout *l;
        dim_t plain[RANK_MAX];          /* In the port's order. */
        dim_t filled[RANK_MAX];         /* With channels that are added. */
        dim_t split[RANK_MAX];          /* With a dimension for blocks behind that of channels. */
        dim_t blocked[RANK_MAX];        /* With that dimension innermost. */
        int rank;                       /* It is that of split and blocked. */
        dim_t declared[RANK_MAX];
        int declared_rank;
        int64_t row;                    /* A row has so many elements; 0: rows lie as others do. */
};

static bool refuse(const struct laying *s, const struct port_layout *l, const char *name,
                   const char *why)
{
        diag_error(s->context->diag, EXIT_USAGE, "--port=%s: '%s' stays as it is: %s",
                   text_argument(s->arena, l->option), text_safe(s->arena, name, strlen(name)),
                   why);
        return false;
}

/* Is the innermost dimension that of channels? */
static bool is_last(const struct port_layout *l) { return l->channel == l->rank - 1; }

/* Finds the elements of a row, and how far rows are apart. Returns NULL, or why that cannot be. */
static const char *find_row(const struct laying *s, struct form *o, const struct type *t)
{
        const int64_t bytes = element_info[t->element].bytes;
        int64_t row = 1;
        for (int d = o->l->row; d < o->rank; d++) {
                if (!dim_is_static(o->blocked[d]))
                        return "an extent of its rows is that of a run";
                row *= dim_extent(o->blocked[d]);
        }
        if (o->l->row_bytes % bytes)
                return arena_printf(s->arena,
                                    "elements have %d bytes, and rows are to be %lld apart",
                                    (int)bytes, (long long)o->l->row_bytes);
        if (o->l->row_bytes < row * bytes)
                return arena_printf(s->arena, "its rows have %lld bytes", (long long)(row * bytes));
        o->row = row;
        o->declared_rank = o->l->row + 1;
        o->declared[o->l->row] = dim_of(o->l->row_bytes / bytes);
        return NULL;
}

/* Finds the form of a port of type t. Returns NULL, or why it has none. */
static const char *find_form(const struct laying *s, const struct port_layout *l,
                             const struct type *t, struct form *o)
{
        *o = (struct form){ .l = l, .rank = l->rank };
        if (t->kind != TYPE_TENSOR || t->rank != l->rank)
                return arena_printf(s->arena, "it is %s, and the layout has %d dimensions",
                                    type_text(s->arena, s->f->module, t), l->rank);
        for (int d = 0; d < l->rank; d++)
                o->plain[d] = o->filled[d] = t->dims[l->perm[d]];
        memcpy(o->split, o->filled, sizeof o->split);
        if (l->block > 1) {
                if (!dim_is_static(o->plain[l->channel]))
                        return "its channels are as many as a run says";
                const int64_t blocks = (dim_extent(o->plain[l->channel]) + l->block - 1) / l->block;
                o->filled[l->channel] = dim_of(blocks * l->block);
                memcpy(o->split, o->filled, sizeof o->split);
                if (!is_last(l)) {
                        if (o->rank == RANK_MAX)
                                return "it would have too many dimensions";
                        for (int d = o->rank++; d > l->channel; d--)
                                o->split[d] = o->split[d - 1];
                        o->split[l->channel] = dim_of(blocks);
                        o->split[l->channel + 1] = dim_of(l->block);
                }
        }
        memcpy(o->blocked, o->split, sizeof o->blocked);
        for (int d = l->channel + 1; o->rank > l->rank && d < o->rank; d++)
                o->blocked[d] = d + 1 < o->rank ? o->split[d + 1] : dim_of(l->block);
        memcpy(o->declared, o->blocked, sizeof o->declared);
        o->declared_rank = o->rank;
        return l->row_bytes ? find_row(s, o, t) : NULL;
}

/* Moves dimension `from` of x to `to`. */
static struct value *move_dim(struct builder *b, struct value *x, int from, int to)
{
        int64_t perm[RANK_MAX];
        for (int d = 0, k = 0; x && d < x->type->rank; d++) {
                k += k == from;
                perm[d] = d == to ? from : k++;
        }
        return x ? build_transpose(b, x, perm) : NULL;
}

static struct value *first_elements(struct builder *b, struct value *x, int axis, dim_t extent)
{
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        dim_t sizes[RANK_MAX];
        if (!x || dim_equal(x->type->dims[axis], extent))
                return x;
        for (int d = 0; d < x->type->rank; d++) {
                steps[d] = 1;
                sizes[d] = d == axis ? extent : x->type->dims[d];
        }
        return build_slice(b, x, starts, steps, sizes);
}

/* Fills x up with zeros behind its elements along an axis. */
static struct value *filled_up(struct builder *b, struct value *x, int axis, dim_t extent)
{
        const int64_t low[RANK_MAX] = { 0 };
        dim_t dims[RANK_MAX];
        if (!x || dim_equal(x->type->dims[axis], extent))
                return x;
        memcpy(dims, x->type->dims, (size_t)x->type->rank * sizeof *dims);
        dims[axis] = extent;
        struct attr *attrs = attrs_new(b->m, OP_pad);
        attr_set(attrs, OP_pad, "mode", 0);      /* It is constant. */
        return value_build(b, OP_pad,
                           (struct value *[]){ x, build_scalar(b, x->type->element, 0),
                                               constant_ints(b->m, low, x->type->rank) },
                           3, attrs, type_tensor(b->m, x->type->element, x->type->rank, dims));
}

/* Returns the model's tensor of what lies in memory. */
static struct value *from_memory(struct builder *b, const struct form *o, struct value *x)
{
        const struct port_layout *l = o->l;
        int64_t inverse[RANK_MAX];
        if (o->row)
                x = first_elements(b, x, l->row, dim_of(o->row));
        x = build_reshape(b, x, o->rank, o->blocked);
        if (o->rank > l->rank)
                x = move_dim(b, x, o->rank - 1, l->channel + 1);
        x = x ? build_reshape(b, x, l->rank, o->filled) : NULL;
        if (l->channel >= 0)
                x = first_elements(b, x, l->channel, o->plain[l->channel]);
        for (int d = 0; d < l->rank; d++)
                inverse[l->perm[d]] = d;
        return x ? build_transpose(b, x, inverse) : NULL;
}

/* Returns what lies in memory of the model's tensor. */
static struct value *to_memory(struct builder *b, const struct form *o, struct value *y)
{
        const struct port_layout *l = o->l;
        dim_t rows[RANK_MAX];
        y = build_transpose(b, y, l->perm);
        if (l->channel >= 0)
                y = filled_up(b, y, l->channel, o->filled[l->channel]);
        y = y ? build_reshape(b, y, o->rank, o->split) : NULL;
        if (o->rank > l->rank)
                y = move_dim(b, y, l->channel + 1, o->rank - 1);
        if (!o->row || !y)
                return y;
        memcpy(rows, o->declared, sizeof rows);
        rows[l->row] = dim_of(o->row);
        return filled_up(b, build_reshape(b, y, o->declared_rank, rows), l->row,
                         o->declared[l->row]);
}

/* Returns the last layout that names the port; NULL: none does. A name with a * is of those that
 * have so many dimensions. */
static struct port_layout *layout_of(const struct laying *s, const char *name,
                                     const struct type *t)
{
        const struct port_layouts *all = s->context->port_layouts;
        struct port_layout *found = NULL;
        for (int i = 0; i < all->count; i++) {
                struct port_layout *l = &all->items[i];
                if (text_fits(l->name, name) &&
                    (!strchr(l->name, '*') || (t->kind == TYPE_TENSOR && t->rank == l->rank)))
                        (found = l)->used = true;
        }
        return found;
}

/* Finds the form of a port; *asked: there is one. Returns false after an error. */
static bool form_of(const struct laying *s, const struct port *port, const struct type *t,
                    struct form *o, bool *asked)
{
        const struct port_layout *l = layout_of(s, port->name, t);
        *asked = l != NULL;
        if (!l)
                return true;
        const char *why = port->next      ? "it is state"
                          : port->is_text ? "it is of texts"
                                          : find_form(s, l, t, o);
        return !why || refuse(s, l, port->name, why);
}

static bool lay_input(struct laying *s, int i)
{
        struct function *f = s->f;
        struct value *x = &f->body.arguments[i];
        struct form o;
        bool asked;
        if (!form_of(s, &f->input_ports[i], x->type, &o, &asked) || !asked)
                return !asked;
        struct use **uses = NULL;
        int count = 0;
        for (struct use *u = x->uses; u; u = u->next) {
                ARENA_GROW(s->arena, uses, count);
                uses[count++] = u;
        }
        struct builder b = { .m = f->module, .region = &f->body, .before = f->body.first,
                             .diag = s->context->diag };
        x->type = type_tensor(f->module, x->type->element, o.declared_rank, o.declared);
        struct value *decoded = from_memory(&b, &o, x);
        for (int k = 0; k < count && decoded; k++)
                op_set_operand(uses[k]->user, uses[k]->index, decoded);
        s->count++;
        return decoded;
}

static bool lay_output(struct laying *s, int i)
{
        struct function *f = s->f;
        struct value *y = op_operand(f->body.last, i);
        struct form o;
        bool asked;
        if (!form_of(s, &f->output_ports[i], y->type, &o, &asked) || !asked)
                return !asked;
        if (function_state_of(f, i) >= 0)
                return refuse(s, o.l, f->output_ports[i].name, "it is state");
        struct builder b = { .m = f->module, .region = &f->body, .before = f->body.last,
                             .diag = s->context->diag };
        y = to_memory(&b, &o, y);
        if (y)
                op_set_operand(f->body.last, i, y);
        s->count++;
        return y;
}

/* Reports options that name no port of any function. */
static bool check_used(const struct laying *s)
{
        const struct port_layouts *all = s->context->port_layouts;
        for (int i = 0; i < all->count; i++) {
                const struct port_layout *l = &all->items[i];
                if (l->used)
                        continue;
                struct suggest known = suggest_new(s->arena, l->name, strlen(l->name));
                for (const struct function *f = s->f->module->functions; f; f = f->next) {
                        const struct port *in = f->input_ports, *out = f->output_ports;
                        for (int k = 0; k < f->body.argument_count; k++)
                                suggest_add(&known, text_argument(s->arena, in[k].name));
                        for (int k = 0; k < f->output_count; k++)
                                suggest_add(&known, text_argument(s->arena, out[k].name));
                }
                diag_error(s->context->diag, EXIT_USAGE,
                           "--port=%s: no input or output is called that%s",
                           text_argument(s->arena, l->option), suggest_text(&known, true));
                return false;
        }
        return true;
}

int pass_port_layouts(struct function *f, struct pass_context *context)
{
        struct laying s = { .f = f, .context = context };
        if (!context->port_layouts) {
                diag_error(context->diag, EXIT_USAGE, "pass port_layouts wants --port=NAME=LAYOUT");
                return -1;
        }
        s.arena = arena_new();
        bool fine = true;
        for (int i = 0; i < f->body.argument_count && fine; i++)
                fine = lay_input(&s, i);
        for (int i = 0; i < f->output_count && fine; i++)
                fine = lay_output(&s, i);
        fine = fine && (f->next || check_used(&s));
        arena_free(s.arena);
        return fine ? s.count : -1;
}
