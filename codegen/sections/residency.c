/* SPDX-License-Identifier: MIT */
/* Decides what stays in activation memory. The first rows of each storage are kept there for as
 * long as any step needs them, and the others, its tail, lie in DDR: a step that reads the tail
 * gathers it slice by slice, a step that makes it scatters it. Two slices alternate, so that one is
 * moved while the other is computed. A tail may also stay for a while, for steps that read it soon,
 * and be gathered later: slice by slice, or as a whole, from one of its readers on, for all that
 * follow.
 *
 *      rows  0 +--------------+
 *              |     kept     |  activation memory
 *          low |- - - - - - - |  .. and in DDR, for windows that reach across
 *         kept +--------------+
 *              |              |  DDR, and slices of it for a while
 *         rows +--------------+
 *
 * Where too much is in use, a heuristic chooses storages to keep less of, until all fits; then
 * everything that there is room for is kept again, and a search tries other choices at random, from
 * a fixed seed. */
#include <string.h>

#include "base/random.h"
#include "base/size.h"
#include "codegen/sections/sections.h"

const char *const heuristic_names[HEURISTIC_COUNT] = { [HEURISTIC_LARGEST] = "largest",
                                                       [HEURISTIC_FURTHEST] = "furthest",
                                                       [HEURISTIC_CHEAPEST] = "cheapest" };
enum { CHANCE = HEURISTIC_COUNT };

/* ---- rows ---- */

static void window_rows(const struct window *w, int64_t from, int64_t to, int64_t rows,
                        int64_t *first, int64_t *last)
{
        *first = from * w->step - w->pad;
        *last = (to - 1) * w->step - w->pad + (w->kernel - 1) * w->dilation + 1;
        *first = *first < 0 ? 0 : *first > rows ? rows : *first;
        *last = *last > rows ? rows : *last < *first ? *first : *last;
}

void step_middle_rows(const struct section_step *s, int64_t from, int64_t to, int64_t *first,
                      int64_t *last)
{
        window_rows(&s->pool_rows, from, to, s->middle_rows, first, last);
}

/* Computes the rows of step s's input that rows from..to-1 of its output need. */
static void step_rows(const struct network *n, const struct section_step *s, int64_t from,
                      int64_t to, int64_t *first, int64_t *last)
{
        if (s->pooled)
                step_middle_rows(s, from, to, &from, &to);
        window_rows(&s->rows, from, to, n->volumes[s->inputs[0]].rows, first, last);
}

/* ---- slices ---- */

static int64_t kept_of(const struct section_plan *p, int volume)
{
        return p->kept[p->n->volumes[volume].storage];
}

static bool is_whole(const struct section_plan *p, int volume)
{
        return kept_of(p, volume) >= p->n->volumes[volume].rows;
}

/* Returns the first row of the output whose windows need more of input i than what is kept; tail:
 * the first row whose windows need the tail alone. */
static int64_t find_cut(const struct section_plan *p, const struct section_step *s, int i,
                        int64_t rows, bool tail)
{
        int64_t low = 0, high = rows, first, last;
        if (is_whole(p, s->inputs[i]))
                return rows;
        while (low < high) {
                const int64_t middle = (low + high) / 2;
                step_rows(p->n, s, middle, middle + 1, &first, &last);
                if (tail ? first >= kept_of(p, s->inputs[i]) : last > kept_of(p, s->inputs[i]))
                        high = middle;
                else
                        low = middle + 1;
        }
        return low;
}

/* From these rows of the output on, a volume's rows are elsewhere: beyond what is kept, and in the
 * tail. */
struct cuts { int64_t kept, tail; };

static enum row_place place_at(const struct cuts *c, int64_t row)
{
        return row < c->kept ? ROWS_KEPT : row < c->tail ? ROWS_SLICE : ROWS_TAIL;
}

int plan_slices(const struct section_plan *p, int number,
                void (*visit)(const struct slice *slice, void *context), void *context)
{
        const struct section_step *s = &p->n->steps[number];
        if (s->output < 0 || !s->input_count)
                return 0;
        const int time = p->time[number], storage = p->n->volumes[s->output].storage;
        const int64_t rows = p->n->volumes[s->output].rows,
                      kept = is_whole(p, s->output) ? rows : kept_of(p, s->output);
        struct cuts cuts[3] = { { kept, tail_is_there(p, storage, time) ? kept : rows } };
        for (int i = 0; i < s->input_count; i++) {
                const bool tail = tail_is_there(p, p->n->volumes[s->inputs[i]].storage, time);
                cuts[i + 1] = (struct cuts){ find_cut(p, s, i, rows, false),
                                             tail ? find_cut(p, s, i, rows, true) : rows };
        }
        int count = 0;
        for (int64_t at = 0, to; at < rows; at = to, count++) {
                struct slice slice = { .from = at, .makes = place_at(&cuts[0], at) };
                bool moves = false;
                to = rows;
                for (int i = 0; i <= s->input_count; i++) {
                        to = cuts[i].kept > at && cuts[i].kept < to ? cuts[i].kept : to;
                        to = cuts[i].tail > at && cuts[i].tail < to ? cuts[i].tail : to;
                        moves |= place_at(&cuts[i], at) == ROWS_SLICE;
                }
                to = moves && at + p->slice_rows < to ? at + p->slice_rows : to;
                slice.to = to;
                for (int i = 0; i < s->input_count; i++) {
                        slice.reads[i].place = place_at(&cuts[i + 1], at);
                        step_rows(p->n, s, at, to, &slice.reads[i].from, &slice.reads[i].to);
                        /* The kept rows are read as a whole, not only those that windows need. */
                        if (slice.reads[i].place == ROWS_KEPT && to - at == rows)
                                slice.reads[i].to = kept_of(p, s->inputs[i]);
                }
                visit(&slice, context);
        }
        return count;
}

int64_t slice_gather(struct slice_rows *held, int64_t rows, int64_t from, int64_t to,
                     int64_t *copied)
{
        const bool fits = held->end > held->base && from >= held->base && to - held->base <= rows;
        const int64_t overlap = held->end > from && from >= held->base ? held->end - from : 0;
        *copied = !fits && from - held->base >= overlap ? overlap : 0;
        const int64_t first = fits || *copied ? from + overlap : from;
        if (!fits)
                held->base = from;
        held->end = to > first ? to : first;
        return first;
}

struct room_finding { struct slice_room room; int inputs; };

static void add_room(const struct slice *slice, void *context)
{
        struct room_finding *f = context;
        for (int i = 0; i < 3; i++) {
                const bool moved = i < f->inputs ? slice->reads[i].place == ROWS_SLICE
                                                 : i == 2 && slice->makes == ROWS_SLICE;
                const int64_t rows =
                        i < 2 ? slice->reads[i].to - slice->reads[i].from : slice->to - slice->from;
                if (!moved)
                        continue;
                f->room.turns[i] += f->room.turns[i] < 2;
                f->room.rows[i] = rows > f->room.rows[i] ? rows : f->room.rows[i];
        }
}

struct slice_room plan_slice_room(const struct section_plan *p, int number)
{
        const struct section_step *s = &p->n->steps[number];
        struct room_finding f = { .inputs = s->input_count };
        bool whole = s->output < 0 || is_whole(p, s->output);
        for (int i = 0; i < s->input_count; i++)
                whole &= is_whole(p, s->inputs[i]);
        if (!whole)
                plan_slices(p, number, add_room, &f);
        return f.room;
}

/* ---- bytes in use ---- */

void leaf_life(const struct section_plan *p, int volume, int *first, int *last)
{
        const struct volume *v = &p->n->volumes[volume];
        *first = *last = p->time[v->maker];
        for (int i = 0; i < v->reader_count; i++)
                *last = p->time[v->readers[i]] > *last ? p->time[v->readers[i]] : *last;
}

int64_t leaf_tail(const struct section_plan *p, int volume, int *last)
{
        const struct volume *v = &p->n->volumes[volume];
        int first;
        leaf_life(p, volume, &first, last);
        *last = p->until[v->storage] < *last ? p->until[v->storage] : *last;
        return *last < first ? 0 : volume_room(p->n, v, v->rows - p->kept[v->storage], false);
}

int64_t leaf_again(const struct section_plan *p, int volume)
{
        const struct volume *v = &p->n->volumes[volume];
        int first, last;
        leaf_life(p, volume, &first, &last);
        return last < p->again[v->storage]
                       ? 0
                       : volume_room(p->n, v, v->rows - p->kept[v->storage], false);
}

int64_t residency_use(const struct section_plan *p, int64_t *use)
{
        const struct network *n = p->n;
        struct arena *scratch = arena_new();
        int64_t most = 0;
        use = use ? use : arena_array(scratch, (size_t)n->step_count + 2, sizeof *use);
        memset(use, 0, ((size_t)n->step_count + 1) * sizeof *use);
        for (int s = 0; s < n->storage_count; s++)
                for (int k = 0; k < n->storages[s].leaf_count; k++) {
                        const int leaf = n->storages[s].leaves[k].volume;
                        int first, last, end;
                        const int64_t kept = volume_room(n, &n->volumes[leaf], p->kept[s], false),
                                      tail = leaf_tail(p, leaf, &end), again = leaf_again(p, leaf);
                        leaf_life(p, leaf, &first, &last);
                        use[first] += kept + tail;
                        use[last + 1] -= kept;
                        use[tail ? end + 1 : first] -= tail;
                        use[again ? p->again[s] : first] += again;
                        use[again ? last + 1 : first] -= again;
                }
        for (int t = 1; t <= n->step_count; t++)
                use[t] += use[t - 1];
        for (int t = 0; t < n->step_count; t++) {
                const struct section_step *s = &n->steps[p->order[t]];
                const struct slice_room room = plan_slice_room(p, p->order[t]);
                for (int i = 0; i < 3; i++)
                        if (room.turns[i])
                                use[t] += room.turns[i] *
                                          volume_room(n,
                                                      &n->volumes[i < 2 ? s->inputs[i] : s->output],
                                                      room.rows[i], true);
                most = use[t] > most ? use[t] : most;
        }
        arena_free(scratch);
        return most;
}

/* ---- bytes that are moved ---- */

struct counting {
        struct section_plan *p;
        const struct section_step *s;
        struct slice_room room;
        struct slice_rows held[2];
};

static void count_slice(const struct slice *slice, void *context)
{
        struct counting *c = context;
        for (int i = 0; i < c->s->input_count; i++) {
                const struct volume *v = &c->p->n->volumes[c->s->inputs[i]];
                int64_t *low = &c->p->low[v->storage];
                if (slice->reads[i].place != ROWS_SLICE)
                        continue;
                int64_t copied;
                const int64_t first =
                        slice_gather(&c->held[i], c->room.turns[i] * c->room.rows[i],
                                     slice->reads[i].from, slice->reads[i].to, &copied);
                c->p->gathered += (slice->reads[i].to > first ? slice->reads[i].to - first : 0) *
                                  row_bytes(c->p->n, v);
                *low = slice->reads[i].from < *low ? slice->reads[i].from : *low;
        }
}

void residency_count(struct section_plan *p)
{
        const struct network *n = p->n;
        p->gathered = p->scattered = 0;
        for (int s = 0; s < n->storage_count; s++)
                p->low[s] = n->storages[s].rows;
        for (int k = 0; k < n->step_count; k++) {
                struct counting c = { .p = p, .s = &n->steps[k], .room = plan_slice_room(p, k) };
                bool whole = true;
                for (int i = 0; i < c.s->input_count; i++)
                        whole &= is_whole(p, c.s->inputs[i]);
                if (!whole)
                        plan_slices(p, k, count_slice, &c);
                /* The host takes the rows from DDR. */
                const int taken =
                        c.s->kind == STEP_UPLOAD ? n->volumes[c.s->inputs[0]].storage : -1;
                if (taken >= 0 && !tail_is_there(p, taken, p->time[k]) &&
                    p->kept[taken] < p->low[taken])
                        p->low[taken] = p->kept[taken];
        }
        for (int s = 0; s < n->storage_count; s++)
                if (p->again[s] < n->step_count && p->kept[s] < n->storages[s].rows) {
                        p->low[s] = p->kept[s] < p->low[s] ? p->kept[s] : p->low[s];
                        p->gathered += n->storages[s].channels *
                                       overlay_row(n->overlay, n->storages[s].columns) *
                                       (n->storages[s].rows - p->kept[s]);
                }
        /* A storage that is made in slices lies nowhere else. */
        for (int k = 0; k < n->step_count; k++) {
                const struct volume *v =
                        n->steps[k].output >= 0 ? &n->volumes[n->steps[k].output] : NULL;
                if (v && p->low[v->storage] > p->kept[v->storage] &&
                    !tail_is_there(p, v->storage, p->time[k]))
                        p->low[v->storage] = p->kept[v->storage];
        }
        for (int k = 0; k < n->step_count; k++) {
                const struct volume *v =
                        n->steps[k].output >= 0 ? &n->volumes[n->steps[k].output] : NULL;
                if (v && n->steps[k].kind != STEP_INPUT && p->kept[v->storage] < v->rows)
                        p->scattered += (v->rows - p->low[v->storage]) * row_bytes(n, v);
        }
}

/* ---- storages that keep less ---- */

struct choosing {
        struct section_plan *p;
        int64_t room, *use;
        int heuristic;
        bool *fixed;                    /* These storages keep what they have, if there are
                                         * others. */
        uint64_t random;
};

/* Returns the bytes of a storage's row that are in use at a time; *next is when they are touched
 * next, from then on. */
static int64_t live_row(const struct choosing *c, int storage, int time, int *next, int *touches)
{
        const struct network *n = c->p->n;
        const struct section_storage *s = &n->storages[storage];
        int64_t bytes = 0;
        *next = n->step_count;
        *touches = 0;
        for (int k = 0; k < s->leaf_count; k++) {
                const struct volume *v = &n->volumes[s->leaves[k].volume];
                int first, last;
                leaf_life(c->p, s->leaves[k].volume, &first, &last);
                if (first > time || last < time)
                        continue;
                bytes += row_bytes(n, v);
                *touches += (n->steps[v->maker].kind != STEP_INPUT) + v->reader_count;
                if (first == time)
                        *next = time;
                for (int i = 0; i < v->reader_count; i++) {
                        const int at = c->p->time[v->readers[i]];
                        *next = at >= time && at < *next ? at : *next;
                }
        }
        return bytes;
}

/* Returns the storage to keep less of, among those in use at a time; -1: there is none. */
static int pick(struct choosing *c, int time, int64_t *row)
{
        const struct network *n = c->p->n;
        double best = -1;
        int found = -1;
        for (int s = 0; s < n->storage_count; s++) {
                int next, touches;
                if (c->fixed[s])
                        continue;
                const bool tail =
                        tail_is_there(c->p, s, time) && c->p->kept[s] < n->storages[s].rows;
                const int64_t bytes =
                        c->p->kept[s] || tail ? live_row(c, s, time, &next, &touches) : 0;
                if (!bytes)
                        continue;
                const double all =
                        (double)bytes * (double)(tail ? n->storages[s].rows : c->p->kept[s]);
                double value = all;
                if (c->heuristic == HEURISTIC_FURTHEST)
                        value = (double)next * 1e12 + all;
                else if (c->heuristic == HEURISTIC_CHEAPEST)
                        value = 1e12 / (touches + 1) + all;
                else if (c->heuristic == CHANCE)
                        value = (double)(random_next(&c->random) >> 16);
                if (value > best) {
                        best = value;
                        found = s;
                        *row = bytes;
                }
        }
        return found;
}

/* Returns the last time before `before` that a storage is touched; -1: it does not exist before. */
static int last_touch(const struct choosing *c, int storage, int before)
{
        const struct network *n = c->p->n;
        const struct section_storage *s = &n->storages[storage];
        int found = -1;
        for (int k = 0; k < s->leaf_count; k++) {
                const struct volume *v = &n->volumes[s->leaves[k].volume];
                const int made = c->p->time[v->maker];
                found = made < before && made > found ? made : found;
                for (int i = 0; i < v->reader_count; i++) {
                        const int at = c->p->time[v->readers[i]];
                        found = at < before && at > found ? at : found;
                }
        }
        return found;
}

/* Makes a storage keep less at a time: first its tail is given up before then; after that it keeps
 * fewer rows. */
static void keep_less(struct choosing *c, int s, int time, int64_t rows)
{
        struct section_plan *p = c->p;
        if (p->kept[s] == p->n->storages[s].rows) {
                p->until[s] = last_touch(c, s, time);
        } else if (tail_is_again(p, s, time)) {
                p->again[s] = p->n->step_count;
                return;
        } else if (tail_is_there(p, s, time)) {
                p->until[s] = last_touch(c, s, time);
                return;
        }
        p->kept[s] -= rows < p->kept[s] ? rows : p->kept[s];
}

/* Keeps less until all fits. */
static bool repair(struct choosing *c)
{
        for (;;) {
                int worst = 0;
                int64_t row = 1;
                if (residency_use(c->p, c->use) <= c->room)
                        return true;
                for (int t = 0; t < c->p->n->step_count; t++)
                        worst = c->use[t] > c->use[worst] ? t : worst;
                int s = pick(c, worst, &row);
                if (s < 0) {
                        memset(c->fixed, 0, (size_t)c->p->n->storage_count * sizeof *c->fixed);
                        s = pick(c, worst, &row);
                }
                if (s < 0)
                        return false;
                keep_less(c, s, worst, divide_up(c->use[worst] - c->room, row));
        }
}

static int64_t moved(struct section_plan *p)
{
        residency_count(p);
        return p->gathered + p->scattered;
}

/* Keeps the most rows of a storage for which there is room. */
static void keep_more_rows(struct choosing *c, int s)
{
        int64_t low = c->p->kept[s], high = c->p->n->storages[s].rows;
        while (low < high) {
                c->p->kept[s] = (low + high + 1) / 2;
                if (residency_use(c->p, NULL) <= c->room)
                        low = c->p->kept[s];
                else
                        high = c->p->kept[s] - 1;
        }
        c->p->kept[s] = low;
}

/* Keeps a tail for the longest time for which there is room. */
static void keep_longer(struct choosing *c, int s)
{
        const int before = c->p->until[s], again = c->p->again[s], never = c->p->n->step_count;
        for (int t = last_touch(c, s, never); t > before; t = last_touch(c, s, t)) {
                c->p->until[s] = t;
                c->p->again[s] = t < again ? again : never;
                if (residency_use(c->p, NULL) <= c->room)
                        return;
        }
        c->p->until[s] = before;
        c->p->again[s] = again;
}

/* Can a step that reads all of a storage gather its tail, because all of it is made? */
static bool can_gather(const struct section_plan *p, int s, int time)
{
        const struct network *n = p->n;
        const struct section_step *reader = &n->steps[p->order[time]];
        bool can = false;
        for (int i = 0; i < reader->input_count && reader->output >= 0; i++) {
                const struct volume *v = &n->volumes[reader->inputs[i]];
                can |= v->storage == s && volume_fills_storage(n, v);
        }
        for (int k = 0; k < n->storages[s].leaf_count; k++)
                can &= p->time[n->volumes[n->storages[s].leaves[k].volume].maker] < time;
        return can && time > p->until[s];
}

/* Finds the first reader from which on there is room to keep the tail again. */
static void keep_again(struct choosing *c, int s)
{
        const int before = c->p->again[s];
        for (int t = c->p->until[s] + 1; t < before; t++) {
                if (!can_gather(c->p, s, t))
                        continue;
                c->p->again[s] = t;
                if (residency_use(c->p, NULL) <= c->room)
                        return;
        }
        c->p->again[s] = before;
}

/* Keeps more of each storage where there is room and less is moved; begins with storage `from` and
 * goes around. */
static void fill(struct choosing *c, int from)
{
        const struct network *n = c->p->n;
        for (int k = 0; k < 3 * n->storage_count; k++) {
                const int s = (from + k) % n->storage_count, until = c->p->until[s],
                          again = c->p->again[s];
                const int64_t before = c->p->kept[s];
                if (before >= n->storages[s].rows)
                        continue;
                const int64_t was = moved(c->p);
                if (k < n->storage_count)
                        keep_more_rows(c, s);
                else if (k < 2 * n->storage_count)
                        keep_longer(c, s);
                else
                        keep_again(c, s);
                if ((c->p->kept[s] > before || c->p->until[s] > until || c->p->again[s] < again) &&
                    moved(c->p) > was) {
                        c->p->kept[s] = before;
                        c->p->until[s] = until;
                        c->p->again[s] = again;
                }
        }
}

void residency_keep_all(struct section_plan *p)
{
        for (int s = 0; s < p->n->storage_count; s++) {
                p->kept[s] = p->n->storages[s].rows;
                p->until[s] = -1;
                p->again[s] = p->n->step_count;
        }
}

struct residency residency_new(struct arena *arena, const struct section_plan *p)
{
        const size_t count = (size_t)p->n->storage_count;
        return (struct residency){ arena_copy(arena, p->kept, count * sizeof *p->kept + 1),
                                   arena_copy(arena, p->until, count * sizeof *p->until + 1),
                                   arena_copy(arena, p->again, count * sizeof *p->again + 1) };
}

static void copy_residency(size_t count, const struct residency *from, const struct residency *to)
{
        memcpy(to->kept, from->kept, count * sizeof *to->kept);
        memcpy(to->until, from->until, count * sizeof *to->until);
        memcpy(to->again, from->again, count * sizeof *to->again);
}

void residency_save(struct residency *to, const struct section_plan *p)
{
        copy_residency((size_t)p->n->storage_count,
                       &(struct residency){ p->kept, p->until, p->again }, to);
}

void residency_load(struct section_plan *p, const struct residency *from)
{
        copy_residency((size_t)p->n->storage_count, from,
                       &(struct residency){ p->kept, p->until, p->again });
}

static struct choosing choosing_new(struct section_plan *p, int64_t room, int heuristic,
                                    struct arena *scratch)
{
        return (struct choosing){
                p,
                room,
                arena_array(scratch, (size_t)p->n->step_count + 2, sizeof(int64_t)),
                heuristic,
                arena_array(scratch, (size_t)p->n->storage_count + 1, sizeof(bool)),
                RANDOM_START
        };
}

bool residency_choose(struct section_plan *p, int64_t room, int heuristic)
{
        struct arena *scratch = arena_new();
        struct choosing c = choosing_new(p, room, heuristic, scratch);
        residency_keep_all(p);
        const bool fine = repair(&c);
        arena_free(scratch);
        residency_count(p);
        return fine;
}

/* Keeps what the bound does not leave away. */
static void keep_as_bound(struct section_plan *p, const int64_t *away)
{
        residency_keep_all(p);
        for (int i = 0; i < p->n->volume_count; i++) {
                const struct volume *v = &p->n->volumes[i];
                if (!v->needed || volume_is_concat(v) || !away[i])
                        continue;
                const int64_t rows = v->rows - divide_up(away[i], row_bytes(p->n, v));
                p->kept[v->storage] =
                        rows < p->kept[v->storage] ? (rows > 0 ? rows : 0) : p->kept[v->storage];
        }
}

static int64_t chance(struct choosing *c, int64_t below)
{
        return (int64_t)((random_next(&c->random) >> 20) % (uint64_t)below);
}

/* Finds the storages in use at times when, with everything kept, too much is in use; returns their
 * number. */
static int find_crowded(struct choosing *c, int *crowded)
{
        const struct network *n = c->p->n;
        int count = 0;
        residency_keep_all(c->p);
        residency_use(c->p, c->use);
        for (int s = 0; s < n->storage_count; s++) {
                bool is = false;
                for (int k = 0; k < n->storages[s].leaf_count; k++) {
                        int first, last;
                        leaf_life(c->p, n->storages[s].leaves[k].volume, &first, &last);
                        for (int t = first; t <= last; t++)
                                is |= c->use[t] > c->room;
                }
                if (is)
                        crowded[count++] = s;
        }
        return count;
}

/* Changes the choice for one storage, or for a few. */
static void change(struct choosing *c, const int *crowded, int count)
{
        struct section_plan *p = c->p;
        for (int64_t j = 1 + chance(c, 3); j > 0; j--) {
                const int s = crowded[chance(c, count)];
                const int64_t rows = p->n->storages[s].rows, how = chance(c, 6);
                c->fixed[s] = true;
                if (how == 4) {
                        p->until[s] = last_touch(c, s, (int)chance(c, p->n->step_count));
                        p->again[s] = p->again[s] > p->until[s] ? p->again[s] : p->n->step_count;
                        continue;
                }
                if (how == 5) {
                        const int time = (int)chance(c, p->n->step_count);
                        p->again[s] = can_gather(p, s, time) ? time : p->n->step_count;
                        continue;
                }
                p->kept[s] = how == 0 ? rows : how == 1 ? 0 : chance(c, rows + 1);
        }
}

bool residency_search(struct section_plan *p, int64_t room, const int64_t *away, int tries)
{
        const size_t count = (size_t)p->n->storage_count;
        struct arena *scratch = arena_new();
        struct choosing c = choosing_new(p, room, CHANCE, scratch);
        struct residency best = residency_new(scratch, p);
        int64_t least = INT64_MAX;
        bool found = false;
        int *crowded = arena_array(scratch, count + 1, sizeof *crowded);
        const int crowd = find_crowded(&c, crowded);
        for (int k = 0; k < tries; k++) {
                c.heuristic = k <= HEURISTIC_COUNT ? k : (int)chance(&c, CHANCE + 1);
                memset(c.fixed, 0, count * sizeof *c.fixed);
                if (k <= HEURISTIC_COUNT) {
                        keep_as_bound(p, away);
                } else {
                        residency_load(p, &best);
                        if (k > HEURISTIC_COUNT + 1 && crowd)
                                change(&c, crowded, crowd);
                }
                if (!repair(&c))
                        continue;
                fill(&c, crowd ? crowded[chance(&c, crowd)] : 0);
                const int64_t now = moved(p);
                if (now < least && volumes_place(p, VOLUMES_QUICKLY)) {
                        least = now;
                        found = true;
                        residency_save(&best, p);
                }
        }
        residency_load(p, &best);
        residency_count(p);
        arena_free(scratch);
        return found;
}
