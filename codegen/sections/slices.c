/* SPDX-License-Identifier: MIT */
/* Makes a plan commands: each step has one command for each slice, with its operands gathered
 * before it and its result scattered after it. */
#include <string.h>

#include "base/size.h"
#include "codegen/sections/sections.h"

struct making {
        struct arena *arena;
        const struct section_plan *p;
        struct command_list list;
        struct text *parameters;
        const struct section_step *s;   /* This step is being written. */
        int step, number;               /* The step, and the slice, have these numbers. */
        int turns;                      /* The output has this many slices so far. */
        struct slice_rows held[2];      /* The slices of each input hold these rows. */
        int *left;                      /* For each concat, this many parts are not there yet. */
};

/* These rows of a volume lie in one place: the first of them is row `top` of the tensor, and a
 * plane has `rows` of them. */
struct where { int64_t buffer, offset, top, rows; };

static struct machine_command *add(struct making *m, enum command_code code, const char *name)
{
        ARENA_GROW(m->arena, m->list.items, m->list.count);
        struct machine_command *c = &m->list.items[m->list.count++];
        *c = (struct machine_command){ .code = code, .name = name };
        return c;
}

static int64_t bytes_of_row(const struct making *m, const struct volume *v)
{
        return overlay_row(m->p->n->overlay, v->columns);
}

static struct where kept_rows(const struct making *m, const struct volume *v)
{
        const int64_t rows = m->p->kept[v->storage];
        return (struct where){ BUFFER_ACTIVATIONS,
                               m->p->offsets[v->storage] + v->channel * rows * bytes_of_row(m, v),
                               0, rows };
}

static struct where tail_rows(const struct making *m, const struct volume *v)
{
        const int64_t kept = m->p->kept[v->storage], rows = v->rows - kept;
        const int64_t *places =
                tail_is_again(m->p, v->storage, m->p->time[m->step]) ? m->p->agains : m->p->tails;
        return (struct where){ BUFFER_ACTIVATIONS,
                               places[v->storage] + v->channel * rows * bytes_of_row(m, v), kept,
                               rows };
}

static struct where in_ddr(const struct making *m, const struct volume *v)
{
        return (struct where){ BUFFER_DDR,
                               m->p->ddr[v->storage] + v->channel * v->rows * bytes_of_row(m, v), 0,
                               v->rows };
}

static int64_t at_row(const struct making *m, const struct volume *v, const struct where *w,
                      int64_t row)
{
        return w->offset + (row - w->top) * bytes_of_row(m, v);
}

/* ---- declarations of places ---- */

static void declare(struct making *m, const struct volume *v, const struct where *w)
{
        const struct section_storage *s = &m->p->n->storages[v->storage];
        struct machine_command *c = add(m, COMMAND_XNVolume, v->name);
        const bool copies = s->units > 1 && w->buffer == BUFFER_ACTIVATIONS;
        c->field[FIELD_buf] = w->buffer;
        c->field[FIELD_off] = w->offset;
        c->field[FIELD_w] = round_up(v->columns, m->p->n->overlay->row_numbers);
        c->field[FIELD_h] = w->rows;
        c->field[FIELD_c] = v->channels;
        c->field[FIELD_top] = w->top;
        c->field[FIELD_units] = copies ? s->units : 1;
        c->field[FIELD_unitc] = copies ? s->unit_channels : v->channels;
        c->field[FIELD_value] = v->value ? v->value->kind == VALUE_ARGUMENT ? -1 - v->value->index
                                                                            : v->value->number
                                         : INT32_MIN;
        c->field[FIELD_zero] = v->zero;
}

/* Declares where all of a volume lies, while step m->step makes it. */
static void declare_all(struct making *m, const struct volume *v)
{
        const struct where kept = kept_rows(m, v), tail = tail_rows(m, v), ddr = in_ddr(m, v);
        if (kept.rows)
                declare(m, v, &kept);
        if (tail.rows && tail_is_there(m->p, v->storage, m->p->time[m->step]))
                declare(m, v, &tail);
        if (m->p->ddr[v->storage] >= 0)
                declare(m, v, &ddr);
}

/* ---- transfers ---- */

static void transfer(struct making *m, enum command_code code, const struct volume *v,
                     const struct where *w, int64_t first, int64_t end)
{
        struct machine_command *c = add(m, code, NULL);
        c->field[FIELD_ambuf] = w->buffer;
        c->field[FIELD_amoff] = at_row(m, v, w, first);
        c->field[FIELD_ddrbuf] = BUFFER_DDR;
        c->field[FIELD_ddroff] = in_ddr(m, v).offset;
        c->field[FIELD_w] = v->columns;
        c->field[FIELD_h] = v->rows;
        c->field[FIELD_c] = v->channels;
        c->field[FIELD_first] = first;
        c->field[FIELD_last] = end - 1;
}

/* Passes rows to the host, or from it. */
static void pass_rows(struct making *m, enum command_code code, const struct volume *v,
                      const struct where *w, int64_t first, int64_t end)
{
        if (first >= end)
                return;
        struct machine_command *c = add(m, code, code == COMMAND_XNUpload ? NULL : v->name);
        c->field[FIELD_buf] = w->buffer;
        c->field[FIELD_off] = at_row(m, v, w, first);
        c->field[FIELD_w] = v->columns;
        c->field[FIELD_h] = end - first;
        c->field[FIELD_c] = v->channels;
        c->field[FIELD_top] = first;
}

/* Copies rows, by a window of 1 x 1. */
static void copy_rows(struct making *m, const struct volume *v, const struct where *from,
                      const struct where *to, int64_t row, int64_t rows)
{
        struct machine_command *c = add(m, COMMAND_XNMaxPool, v->name);
        c->of_slice = true;
        c->field[FIELD_kw] = c->field[FIELD_kh] = c->field[FIELD_sw] = c->field[FIELD_sh] = 1;
        c->field[FIELD_inbuf] = c->field[FIELD_outbuf] = BUFFER_ACTIVATIONS;
        c->field[FIELD_inoff] = at_row(m, v, from, row);
        c->field[FIELD_outoff] = at_row(m, v, to, row);
        c->field[FIELD_w] = c->field[FIELD_outw] = v->columns;
        c->field[FIELD_h] = c->field[FIELD_outh] = rows;
        c->field[FIELD_c] = v->channels;
        c->field[FIELD_slice] = m->number;
}

/* Returns the place of the next slice of the output. */
static struct where next_slice(struct making *m, int64_t from, int64_t to)
{
        return (struct where){ BUFFER_ACTIVATIONS, m->p->slices[m->step][2][m->turns++ % 2], from,
                               to - from };
}

/* Returns the place of the rows of input i for a slice, and gathers those that are not there. */
static struct where gather(struct making *m, int i, int64_t from, int64_t to)
{
        const struct volume *v = &m->p->n->volumes[m->s->inputs[i]];
        const struct slice_room room = plan_slice_room(m->p, m->step);
        const int64_t rows = room.turns[i] * room.rows[i], before = m->held[i].base;
        const bool first = m->held[i].end == 0;
        int64_t copied;
        const int64_t row = slice_gather(&m->held[i], rows, from, to, &copied);
        const struct where old = { BUFFER_ACTIVATIONS, m->p->slices[m->step][i][0], before, rows };
        const struct where w = { BUFFER_ACTIVATIONS, old.offset, m->held[i].base, rows };
        if (first || m->held[i].base != before)
                declare(m, v, &w);
        if (copied)
                copy_rows(m, v, &old, &w, from, copied);
        if (row < to)
                transfer(m, COMMAND_XNGather, v, &w, row, to);
        return w;
}

/* ---- parameters ---- */

static void align(struct text *text)
{
        while (text->length % 4)
                text_add_bytes(text, "", 1);
}

static void add_word(struct text *text, int64_t word)
{
        unsigned char bytes[4];
        for (int k = 0; k < 4; k++)
                bytes[k] = (unsigned char)((uint64_t)word >> 8 * k);
        text_add_bytes(text, (const char *)bytes, sizeof bytes);
}

static void add_parameters(struct making *m)
{
        const struct section_step *s = m->s;
        struct text *text = m->parameters;
        const int64_t channels = m->p->n->volumes[s->output].channels;
        struct machine_command *c = add(m, COMMAND_XNParameters, s->name);
        c->field[FIELD_weights] = (int64_t)text->length;
        c->field[FIELD_inputs] = s->weight_inputs;
        c->field[FIELD_low] = s->low;
        c->field[FIELD_high] = s->high;
        for (int64_t i = 0;
             s->weights && i < channels * s->weight_inputs * s->rows.kernel * s->columns.kernel;
             i++) {
                const char byte = (char)constant_element(s->weights, i).i;
                text_add_bytes(text, &byte, 1);
        }
        align(text);
        c->field[FIELD_numbers] = (int64_t)text->length;
        for (int64_t i = 0; i < channels; i++) {
                const int64_t words[] = { s->bias[i], s->preshift[i], s->scale[0][i],
                                          s->scale[1][i], s->postshift[i] };
                for (size_t k = 0; k < sizeof words / sizeof *words; k++)
                        add_word(text, words[k]);
        }
}

/* ---- a layer ---- */

static void set_window(struct machine_command *c, const struct window *rows,
                       const struct window *columns)
{
        c->field[FIELD_kw] = columns->kernel;
        c->field[FIELD_kh] = rows->kernel;
        c->field[FIELD_sw] = columns->step;
        c->field[FIELD_sh] = rows->step;
        c->field[FIELD_pw] = columns->pad;
        c->field[FIELD_dw] = columns->dilation;
        c->field[FIELD_dh] = rows->dilation;
}

/* Returns the rows above the input that the window of row `from` reaches. */
static int64_t rows_above(const struct window *w, int64_t from)
{
        const int64_t first = from * w->step - w->pad;
        return first < 0 ? -first : 0;
}

static void set_numbers(struct machine_command *c, const struct section_step *s)
{
        c->field[FIELD_preshift] = s->preshift[0];
        c->field[FIELD_scale] = s->scale[0][0];
        c->field[FIELD_postshift] = s->postshift[0];
        c->field[FIELD_relu] = s->low == 0;
        c->field[FIELD_bias] = 1;
}

/* Sets the pool's fields; *from..*to are the rows that the array makes for it. */
static void set_pool(struct machine_command *c, const struct section_step *s,
                     const struct slice *slice, int64_t *from, int64_t *to)
{
        c->field[FIELD_poolkw] = s->pool_columns.kernel;
        c->field[FIELD_poolkh] = s->pool_rows.kernel;
        c->field[FIELD_poolsw] = s->pool_columns.step;
        c->field[FIELD_poolsh] = s->pool_rows.step;
        c->field[FIELD_poolpw] = s->pool_columns.pad;
        c->field[FIELD_poolph] = rows_above(&s->pool_rows, slice->from);
        c->field[FIELD_poolw] = c->field[FIELD_outw];
        c->field[FIELD_poolh] = slice->to - slice->from;
        step_middle_rows(s, slice->from, slice->to, from, to);
        c->field[FIELD_outw] = s->middle_columns;
}

static void add_layer(struct making *m, const struct slice *slice, const struct where reads[2],
                      const struct where *makes)
{
        static const enum command_code codes[] = { [STEP_CONV] = COMMAND_XNConv,
                                                   [STEP_MAX] = COMMAND_XNMaxPool,
                                                   [STEP_AVERAGE] = COMMAND_XNAvgPool,
                                                   [STEP_ADD] = COMMAND_XNEltwise };
        const struct section_step *s = m->s;
        const struct network *n = m->p->n;
        const struct volume *x = &n->volumes[s->inputs[0]], *y = &n->volumes[s->output];
        struct machine_command *c = add(m, s->pooled ? COMMAND_XNConvP : codes[s->kind], s->name);
        int64_t from = slice->from, to = slice->to;
        set_window(c, &s->rows, &s->columns);
        if (s->bias)
                set_numbers(c, s);
        c->field[FIELD_add] = 1;
        c->field[FIELD_inbuf] = reads[0].buffer;
        c->field[FIELD_inoff] = at_row(m, x, &reads[0], slice->reads[0].from);
        c->field[FIELD_w] = x->columns;
        c->field[FIELD_h] = slice->reads[0].to - slice->reads[0].from;
        c->field[FIELD_c] = x->channels;
        if (s->input_count > 1) {
                c->field[FIELD_inbuf2] = reads[1].buffer;
                c->field[FIELD_inoff2] =
                        at_row(m, &n->volumes[s->inputs[1]], &reads[1], slice->reads[1].from);
        }
        c->field[FIELD_outbuf] = makes->buffer;
        c->field[FIELD_outoff] = at_row(m, y, makes, slice->from);
        c->field[FIELD_outw] = y->columns;
        c->field[FIELD_outc] = y->channels;
        c->field[FIELD_slice] = m->number;
        if (s->pooled)
                set_pool(c, s, slice, &from, &to);
        c->field[FIELD_outh] = to - from;
        c->field[FIELD_ph] = rows_above(&s->rows, from);
}

static void add_slice(const struct slice *slice, void *context)
{
        struct making *m = context;
        const struct volume *y = &m->p->n->volumes[m->s->output];
        struct where reads[2] = { { 0 } },
                     makes = slice->makes == ROWS_TAIL ? tail_rows(m, y) : kept_rows(m, y);
        for (int i = 0; i < m->s->input_count; i++) {
                const struct volume *x = &m->p->n->volumes[m->s->inputs[i]];
                const int64_t from = slice->reads[i].from, to = slice->reads[i].to;
                reads[i] = slice->reads[i].place == ROWS_TAIL ? tail_rows(m, x) : kept_rows(m, x);
                if (slice->reads[i].place != ROWS_SLICE)
                        continue;
                reads[i] = gather(m, i, from, to);
        }
        if (slice->makes == ROWS_SLICE)
                makes = next_slice(m, slice->from, slice->to);
        if (!m->number) {
                declare_all(m, y);
                if (m->s->bias)
                        add_parameters(m);
        }
        if (slice->makes == ROWS_SLICE)
                declare(m, y, &makes);
        add_layer(m, slice, reads, &makes);
        /* These rows are kept, and also needed in DDR. */
        const int64_t low = m->p->low[y->storage], first = slice->from > low ? slice->from : low;
        if (m->p->ddr[y->storage] >= 0 && first < slice->to)
                transfer(m, COMMAND_XNScatter, y, &makes, first, slice->to);
        m->number++;
}

/* ---- steps ---- */

/* Declares the concats that are complete with the result of this step. */
static void add_concats(struct making *m, int part)
{
        const struct network *n = m->p->n;
        for (int i = 0; i < n->volume_count; i++) {
                const struct volume *v = &n->volumes[i];
                bool mine = false;
                for (int k = 0; v->needed && k < v->part_count; k++)
                        mine |= v->parts[k] == part;
                if (!mine || --m->left[i])
                        continue;
                const struct where kept = kept_rows(m, v), w = kept.rows ? kept
                                                               : m->p->ddr[v->storage] >= 0
                                                                       ? in_ddr(m, v)
                                                                       : tail_rows(m, v);
                struct machine_command *c = add(m, COMMAND_XNConcat, v->name);
                c->field[FIELD_buf] = w.buffer;
                c->field[FIELD_off] = w.offset;
                c->field[FIELD_bytes] = w.rows * row_bytes(n, v);
                c->field[FIELD_end] = w.offset + w.rows * row_bytes(n, v);
                const int own = m->list.count;
                declare_all(m, v);
                for (int k = own; k < m->list.count; k++)
                        m->list.items[k].of_concat = true;
                add_concats(m, i);
        }
}

/* Gathers tails that are kept again from this step on. */
static void gather_again(struct making *m)
{
        int last = -1;
        for (int i = 0; i < m->s->input_count; i++) {
                const struct volume *v = &m->p->n->volumes[m->s->inputs[i]];
                const struct where tail = tail_rows(m, v);
                if (!tail.rows || m->p->again[v->storage] != m->p->time[m->step] ||
                    !volume_fills_storage(m->p->n, v) || last == v->storage)
                        continue;
                declare(m, v, &tail);
                transfer(m, COMMAND_XNGather, v, &tail, tail.top, v->rows);
                last = v->storage;
        }
}

static void add_step(struct making *m, int number)
{
        const struct section_plan *p = m->p;
        const struct section_step *s = &p->n->steps[number];
        const struct volume *v = &p->n->volumes[s->output >= 0 ? s->output : s->inputs[0]];
        m->s = s;
        m->step = number;
        const struct where kept = kept_rows(m, v), tail = tail_rows(m, v), ddr = in_ddr(m, v);
        m->number = 0;
        m->turns = 0;
        memset(m->held, 0, sizeof m->held);
        if (s->kind == STEP_INPUT || s->kind == STEP_UPLOAD) {
                const bool in = s->kind == STEP_INPUT;
                if (in)
                        declare_all(m, v);
                const enum command_code code = in ? COMMAND_XNInput : COMMAND_XNUpload;
                const bool there = tail_is_there(p, v->storage, p->time[number]);
                pass_rows(m, code, v, &kept, 0, kept.rows);
                if (there)
                        pass_rows(m, code, v, &tail, kept.rows, v->rows);
                if (in || !there)
                        pass_rows(m, code, v, &ddr, in ? p->low[v->storage] : kept.rows, v->rows);
        } else {
                gather_again(m);
                plan_slices(p, number, add_slice, m);
        }
        if (s->output >= 0)
                add_concats(m, s->output);
}

/* Lists what the host computes, before everything else. */
static void add_host(struct making *m)
{
        const struct network *n = m->p->n;
        const char *last = NULL;
        for (int k = 0; k < n->host_count; k++) {
                const struct op *op = n->host[k];
                const char *name = op->location ? op->location : op_info[op->code].name;
                const char *comma = strstr(name, ", ");
                name = comma ? arena_printf(m->arena, "%.*s", (int)(comma - name), name) : name;
                if (last && !strcmp(last, name) && op->code != OP_dot)
                        continue;
                add(m, op->code == OP_dot ? COMMAND_XNInner : COMMAND_XNHost, name);
                last = name;
        }
}

struct command_list commands_make(struct arena *arena, const struct section_plan *p,
                                  struct text *parameters)
{
        struct making m = { .arena = arena, .p = p, .parameters = parameters };
        m.left = arena_array(arena, (size_t)p->n->volume_count + 1, sizeof *m.left);
        for (int i = 0; i < p->n->volume_count; i++)
                m.left[i] = p->n->volumes[i].part_count;
        for (int t = 0; t < p->n->step_count; t++)
                add_step(&m, p->order[t]);
        add_host(&m);
        return m.list;
}
