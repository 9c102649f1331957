/* SPDX-License-Identifier: MIT */
/* Slots: a command runs as soon as its engine has done the commands before it, and all earlier
 * commands are done that write what it touches or touch what it writes. So commands of one slot run
 * at the same time, on different engines. */
#include <stdlib.h>

#include "codegen/sections/sections.h"

/* A command touches these bytes: `planes` planes of `bytes` bytes, `pitch` bytes apart; and the
 * volume first..end that they are in. */
struct reach { int64_t buffer, start, bytes, pitch, planes; bool written; int64_t first, end; };
enum { REACHES = 8 };
/* The command has no slot before `least`, because a concat is not complete before. */
struct touched { struct reach reaches[REACHES]; int count; int64_t least; };

/* A volume is declared at this place; the last declaration that contains an address is the one that
 * counts. */
/* `copies` is the planes of all copies, where there are several. */
struct declared { int64_t buffer, start, end, pitch, copies; const char *name; int64_t slot; };

static const struct declared *declared_at(const struct declared *all, int count, int64_t buffer,
                                          int64_t at)
{
        for (int k = count - 1; k >= 0; k--)
                if (all[k].buffer == buffer && at >= all[k].start && at < all[k].end)
                        return &all[k];
        return NULL;
}

struct finding {
        const struct declared *all;
        int count;
        const struct overlay *overlay;
        struct touched *t;
};

static void touch(struct finding *f, const struct machine_command *c, enum command_field buf,
                  enum command_field off, int64_t w, int64_t h, int64_t planes, bool written)
{
        const int64_t buffer = c->field[buf], start = c->field[off],
                      bytes = overlay_row(f->overlay, w) * h;
        const struct declared *volume = declared_at(f->all, f->count, buffer, start);
        f->t->reaches[f->t->count++] =
                (struct reach){ .buffer = buffer,
                                .start = start,
                                .bytes = bytes,
                                .pitch = volume ? volume->pitch : bytes,
                                .planes = volume && volume->copies ? volume->copies : planes,
                                .written = written,
                                .first = volume ? volume->start : start,
                                .end = volume ? volume->end : start + bytes * planes };
        f->t->least = volume && volume->slot > f->t->least ? volume->slot : f->t->least;
}

static struct touched touched_by(const struct machine_command *c, const struct declared *all,
                                 int count, const struct overlay *overlay)
{
        struct touched t = { .count = 0 };
        struct finding f = { all, count, overlay, &t };
        const int64_t w = c->field[FIELD_w], h = c->field[FIELD_h], planes = c->field[FIELD_c],
                      *v = c->field;
        const int64_t rows = v[FIELD_last] - v[FIELD_first] + 1;
        struct reach *ddr;
        switch (c->code) {
        case COMMAND_XNConv:
                touch(&f, c, FIELD_inbuf, FIELD_inoff, w, h, planes, false);
                touch(&f, c, FIELD_outbuf, FIELD_outoff, v[FIELD_outw], v[FIELD_outh],
                      v[FIELD_outc], true);
                break;
        case COMMAND_XNConvP:
                touch(&f, c, FIELD_inbuf, FIELD_inoff, w, h, planes, false);
                touch(&f, c, FIELD_outbuf, FIELD_outoff, v[FIELD_poolw], v[FIELD_poolh],
                      v[FIELD_outc], true);
                break;
        case COMMAND_XNMaxPool:
        case COMMAND_XNAvgPool:
                touch(&f, c, FIELD_inbuf, FIELD_inoff, w, h, planes, false);
                touch(&f, c, FIELD_outbuf, FIELD_outoff, v[FIELD_outw], v[FIELD_outh], planes,
                      true);
                break;
        case COMMAND_XNEltwise:
                touch(&f, c, FIELD_inbuf, FIELD_inoff, w, h, planes, false);
                touch(&f, c, FIELD_inbuf2, FIELD_inoff2, w, h, planes, false);
                touch(&f, c, FIELD_outbuf, FIELD_outoff, w, h, planes, true);
                break;
        case COMMAND_XNGather:
        case COMMAND_XNScatter:
                touch(&f, c, FIELD_ambuf, FIELD_amoff, w, rows, planes,
                      c->code == COMMAND_XNGather);
                touch(&f, c, FIELD_ddrbuf, FIELD_ddroff, w, rows, planes,
                      c->code == COMMAND_XNScatter);
                ddr = &t.reaches[1];
                ddr->pitch = overlay_row(overlay, w) * h;
                ddr->start += v[FIELD_first] * overlay_row(overlay, w);
                break;
        case COMMAND_XNInput:
        case COMMAND_XNUpload:
                touch(&f, c, FIELD_buf, FIELD_off, w, h, planes, c->code == COMMAND_XNInput);
                break;
        default:
                break;
        }
        return t;
}

int64_t command_bytes(const struct machine_command *c, const struct overlay *overlay, bool written)
{
        const struct touched t = touched_by(c, NULL, 0, overlay);
        int64_t bytes = 0;
        for (int i = 0; i < t.count; i++)
                bytes += t.reaches[i].written == written ? t.reaches[i].bytes * t.reaches[i].planes
                                                         : 0;
        return bytes;
}

static bool overlap(const struct reach *a, const struct reach *b)
{
        const int64_t end_a = a->start + (a->planes - 1) * a->pitch + a->bytes,
                      end_b = b->start + (b->planes - 1) * b->pitch + b->bytes;
        if (a->buffer != b->buffer || a->start >= end_b || b->start >= end_a)
                return false;
        /* Rows of one volume are compared by where they are in a plane. */
        const int64_t away = a->start > b->start ? a->start - b->start : b->start - a->start;
        const struct reach *low = a->start > b->start ? b : a;
        return a->pitch != b->pitch || away >= a->pitch || away < low->bytes ||
               a->bytes + away > a->pitch;
}

static bool conflict(const struct touched *a, const struct touched *b)
{
        for (int i = 0; i < a->count; i++)
                for (int k = 0; k < b->count; k++)
                        if ((a->reaches[i].written || b->reaches[k].written) &&
                            overlap(&a->reaches[i], &b->reaches[k]))
                                return true;
        return false;
}

/* Does `begun` begin a volume where one lies that `a` touches? Even its rows that are not touched
 * belong to it until then. */
static bool is_over(const struct touched *a, const struct touched *begun)
{
        for (int i = 0; i < a->count; i++)
                for (int k = 0; k < begun->count; k++)
                        if (a->reaches[i].buffer == begun->reaches[k].buffer &&
                            a->reaches[i].first < begun->reaches[k].end &&
                            begun->reaches[k].first < a->reaches[i].end)
                                return true;
        return false;
}

static bool is_remark(const struct machine_command *c)
{
        return command_info[c->code].comment && c->code != COMMAND_XNInput;
}

/* Returns the last slot of the commands that write the parts of a concat, which is number k in the
 * list. */
static int64_t slot_of_parts(const struct command_list *list, const struct touched *touched, int k)
{
        const struct machine_command *c = &list->items[k];
        const struct reach whole = { .buffer = c->field[FIELD_buf],
                                     .start = c->field[FIELD_off],
                                     .bytes = c->field[FIELD_bytes],
                                     .pitch = c->field[FIELD_bytes],
                                     .planes = 1 };
        int64_t slot = 0;
        for (int j = 0; j < k; j++)
                for (int i = 0; i < touched[j].count; i++)
                        if (touched[j].reaches[i].written && list->items[j].slot > slot &&
                            overlap(&touched[j].reaches[i], &whole))
                                slot = list->items[j].slot;
        return slot;
}

/* Gives remarks the slot of the command after them, except for concats, which have a slot already,
 * and for the host's at the end. */
static void place_remarks(struct command_list *list, int64_t last)
{
        int64_t slot = last;
        for (int k = list->count - 1; k >= 0; k--) {
                struct machine_command *c = &list->items[k];
                /* Rows that slices have in common are copied at the same time as others are
                 * gathered: the volume exists from the first of both on. */
                const struct machine_command *copy = k + 2 < list->count ? &list->items[k + 1] : c;
                if (c->code == COMMAND_XNConcat || c->of_concat)
                        continue;
                if (c->code == COMMAND_XNVolume && copy->of_slice &&
                    copy[1].code == COMMAND_XNGather)
                        c->slot = copy->slot < copy[1].slot ? copy->slot : copy[1].slot;
                else if (is_remark(c))
                        c->slot = c->code == COMMAND_XNInner || c->code == COMMAND_XNHost ? last
                                                                                          : slot;
                else
                        slot = c->slot;
        }
}

/* Does the declaration name other rows of a volume that lies there already? */
static bool is_again(const struct declared *all, int count, const struct declared *d)
{
        for (int k = count - 1; k >= 0; k--)
                if (all[k].buffer == d->buffer && all[k].start < d->end && d->start < all[k].end)
                        return all[k].name == d->name && all[k].start == d->start &&
                               all[k].end == d->end;
        return false;
}

struct sorted { struct machine_command command; int number; };

static int by_slot(const void *x, const void *y)
{
        const struct sorted *a = x, *b = y;
        return a->command.slot != b->command.slot ? (a->command.slot < b->command.slot ? -1 : 1)
                                                  : a->number - b->number;
}

void commands_schedule(struct arena *arena, struct command_list *list,
                       const struct overlay *overlay)
{
        struct touched *touched = arena_array(arena, (size_t)list->count + 1, sizeof *touched);
        struct declared *all = arena_array(arena, (size_t)list->count + 1, sizeof *all);
        struct sorted *sorted = arena_array(arena, (size_t)list->count + 1, sizeof *sorted);
        int64_t done[ENGINE_COUNT], last = 0, of_concat = 0;
        struct touched begun = { .count = 0 };  /* The next command is the first to write these
                                                 * volumes. */
        int declared = 0;
        for (int e = 0; e < ENGINE_COUNT; e++)
                done[e] = -1;
        for (int k = 0; k < list->count; k++) {
                struct machine_command *c = &list->items[k];
                if (c->code == COMMAND_XNConcat)
                        c->slot = of_concat = slot_of_parts(list, touched, k);
                if (c->code == COMMAND_XNVolume) {
                        c->slot = c->of_concat ? of_concat : 0;
                        const int64_t pitch =
                                overlay_row(overlay, c->field[FIELD_w]) * c->field[FIELD_h];
                        const int64_t copies =
                                c->field[FIELD_units] > 1
                                        ? c->field[FIELD_units] * c->field[FIELD_unitc]
                                        : 0;
                        const int64_t planes = copies ? copies : c->field[FIELD_c];
                        const struct declared d = { c->field[FIELD_buf],
                                                    c->field[FIELD_off],
                                                    c->field[FIELD_off] + planes * pitch,
                                                    pitch,
                                                    copies,
                                                    c->name,
                                                    c->slot };
                        if (!c->of_concat && !is_again(all, declared, &d) &&
                            begun.count < REACHES / 2)
                                begun.reaches[begun.count++] = (struct reach){ .buffer = d.buffer,
                                                                               .first = d.start,
                                                                               .end = d.end };
                        all[declared++] = d;
                }
                if (is_remark(c))
                        continue;
                const enum section_engine engine = command_info[c->code].engine;
                touched[k] = touched_by(c, all, declared, overlay);
                c->slot = done[engine] + 1 > touched[k].least ? done[engine] + 1 : touched[k].least;
                for (int j = 0; j < k; j++)
                        if (touched[j].count && list->items[j].slot >= c->slot &&
                            (conflict(&touched[j], &touched[k]) || is_over(&touched[j], &begun)))
                                c->slot = list->items[j].slot + 1;
                begun.count = 0;
                done[engine] = c->slot;
                last = c->slot > last ? c->slot : last;
        }
        place_remarks(list, last);
        for (int k = 0; k < list->count; k++)
                sorted[k] = (struct sorted){ list->items[k], k };
        qsort(sorted, (size_t)list->count, sizeof *sorted, by_slot);
        for (int k = 0; k < list->count; k++)
                list->items[k] = sorted[k].command;
}

int64_t commands_slots(const struct command_list *list)
{
        int64_t slots = 0;
        for (int k = 0; k < list->count; k++)
                if (!command_info[list->items[k].code].comment && list->items[k].slot + 1 > slots)
                        slots = list->items[k].slot + 1;
        return slots;
}
