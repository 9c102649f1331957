/* SPDX-License-Identifier: MIT */
/* What stays in activation memory. Of each storage the first rows are kept there for as long as anybody needs them, and the others lie in
 * DDR: a step that reads these gathers them slice by slice, one that makes them scatters them, two slices in turn, so that one is moved
 * while the other is computed.
 *
 *      rows  0 +--------------+
 *              |     kept     |  activation memory
 *          low |- - - - - - - |  .. and in DDR, for windows that reach across
 *         kept +--------------+
 *              |              |  DDR, and slices of it for a while
 *         rows +--------------+
 *
 * Where too much is in use, a heuristic says what is kept less of, until all fits; then whatever has room is kept again, and a search tries
 * others by chance, always the same. */
#include <string.h>

#include "base/random.h"
#include "base/size.h"
#include "codegen/sections/sections.h"

const char *const heuristic_names[HEURISTIC_COUNT] = {
        [HEURISTIC_LARGEST] = "largest", [HEURISTIC_FURTHEST] = "furthest", [HEURISTIC_CHEAPEST] = "cheapest"
};
enum { CHANCE = HEURISTIC_COUNT, TRIES = 400 };

/* ---- rows ---- */

static void window_rows(const struct window *w, int64_t from, int64_t to, int64_t rows, int64_t *first, int64_t *last)
{
        *first = from * w->step - w->pad;
        *last = (to - 1) * w->step - w->pad + (w->kernel - 1) * w->dilation + 1;
        *first = *first < 0 ? 0 : *first > rows ? rows : *first;
        *last = *last > rows ? rows : *last < *first ? *first : *last;
}

void step_middle_rows(const struct section_step *s, int64_t from, int64_t to, int64_t *first, int64_t *last)
{
        window_rows(&s->pool_rows, from, to, s->middle_rows, first, last);
}

void step_rows(const struct network *n, const struct section_step *s, int64_t from, int64_t to, int64_t *first, int64_t *last)
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

static bool is_whole(const struct section_plan *p, int volume) { return kept_of(p, volume) >= p->n->volumes[volume].rows; }

/* rows of the output, from 0 on, that only need rows of input i that are kept */
static int64_t rows_from_kept(const struct section_plan *p, const struct section_step *s, int i, int64_t rows)
{
        int64_t low = 0, high = rows, first, last;
        if (is_whole(p, s->inputs[i]))
                return rows;
        while (low < high) {
                const int64_t middle = (low + high + 1) / 2;
                step_rows(p->n, s, 0, middle, &first, &last);
                if (last <= kept_of(p, s->inputs[i]))
                        low = middle;
                else
                        high = middle - 1;
        }
        return low;
}

int plan_slices(const struct section_plan *p, int number, void (*visit)(const struct slice *slice, void *context), void *context)
{
        const struct section_step *s = &p->n->steps[number];
        if (s->output < 0 || !s->input_count)
                return 0;
        const int64_t rows = p->n->volumes[s->output].rows, kept = is_whole(p, s->output) ? rows : kept_of(p, s->output);
        int64_t cuts[3] = { kept, rows, rows };
        for (int i = 0; i < s->input_count; i++)
                cuts[i + 1] = rows_from_kept(p, s, i, rows);
        int count = 0;
        for (int64_t at = 0, to; at < rows; at = to, count++) {
                struct slice slice = { .from = at, .scattered = at >= kept };
                bool moves = slice.scattered;
                to = rows;
                for (int i = 0; i < 3; i++) {
                        to = cuts[i] > at && cuts[i] < to ? cuts[i] : to;
                        moves |= i <= s->input_count && cuts[i] <= at;
                }
                to = moves && at + p->slice_rows < to ? at + p->slice_rows : to;
                slice.to = to;
                for (int i = 0; i < s->input_count; i++) {
                        slice.reads[i].gathered = at >= cuts[i + 1];
                        step_rows(p->n, s, at, to, &slice.reads[i].from, &slice.reads[i].to);
                        if (!slice.reads[i].gathered && to - at == rows)        /* not only what windows need of it */
                                slice.reads[i].to = p->n->volumes[s->inputs[i]].rows;
                }
                visit(&slice, context);
        }
        return count;
}

struct room_finding { struct slice_room room; int inputs; };

static void add_room(const struct slice *slice, void *context)
{
        struct room_finding *f = context;
        for (int i = 0; i < 3; i++) {
                const bool moved = i < f->inputs ? slice->reads[i].gathered : i == 2 && slice->scattered;
                const int64_t rows = i < 2 ? slice->reads[i].to - slice->reads[i].from : slice->to - slice->from;
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

/* ---- what is in use ---- */

void leaf_life(const struct section_plan *p, int volume, int *first, int *last)
{
        const struct volume *v = &p->n->volumes[volume];
        *first = *last = p->time[v->maker];
        for (int i = 0; i < v->reader_count; i++)
                *last = p->time[v->readers[i]] > *last ? p->time[v->readers[i]] : *last;
}

int64_t leaf_bytes(const struct section_plan *p, int volume)
{
        const struct volume *v = &p->n->volumes[volume];
        const struct section_storage *s = &p->n->storages[v->storage];
        const int64_t channels = s->units > 1 ? s->units * s->unit_channels : v->channels;
        return round_up(channels * v->columns * p->n->machine->number_bytes * p->kept[v->storage], STORAGE_ALIGN);
}

int64_t residency_use(const struct section_plan *p, int64_t *use)
{
        const struct network *n = p->n;
        struct arena *scratch = arena_new();
        int64_t most = 0;
        use = use ? use : arena_array(scratch, (size_t)n->step_count + 2, sizeof *use);
        memset(use, 0, ((size_t)n->step_count + 1) * sizeof *use);
        for (int s = 0; s < n->storage_count; s++)
                for (int k = 0; p->kept[s] && k < n->storages[s].leaf_count; k++) {
                        int first, last;
                        leaf_life(p, n->storages[s].leaves[k].volume, &first, &last);
                        use[first] += leaf_bytes(p, n->storages[s].leaves[k].volume);
                        use[last + 1] -= leaf_bytes(p, n->storages[s].leaves[k].volume);
                }
        for (int t = 1; t <= n->step_count; t++)
                use[t] += use[t - 1];
        for (int t = 0; t < n->step_count; t++) {
                const struct section_step *s = &n->steps[p->order[t]];
                const struct slice_room room = plan_slice_room(p, p->order[t]);
                for (int i = 0; i < 3; i++)
                        if (room.turns[i])
                                use[t] += room.turns[i] * round_up(room.rows[i] * row_bytes(n, &n->volumes[i < 2 ? s->inputs[i] : s->output]), STORAGE_ALIGN);
                most = use[t] > most ? use[t] : most;
        }
        arena_free(scratch);
        return most;
}

/* ---- what is moved ---- */

struct counting { struct section_plan *p; const struct section_step *s; };

static void count_slice(const struct slice *slice, void *context)
{
        struct counting *c = context;
        for (int i = 0; i < c->s->input_count; i++) {
                const struct volume *v = &c->p->n->volumes[c->s->inputs[i]];
                int64_t *low = &c->p->low[v->storage];
                if (!slice->reads[i].gathered)
                        continue;
                c->p->gathered += (slice->reads[i].to - slice->reads[i].from) * row_bytes(c->p->n, v);
                *low = slice->reads[i].from < *low ? slice->reads[i].from : *low;
        }
}

void residency_count(struct section_plan *p)
{
        const struct network *n = p->n;
        p->gathered = p->scattered = 0;
        for (int s = 0; s < n->storage_count; s++)
                p->low[s] = p->kept[s];
        for (int k = 0; k < n->step_count; k++) {
                struct counting c = { p, &n->steps[k] };
                bool whole = true;
                for (int i = 0; i < c.s->input_count; i++)
                        whole &= is_whole(p, c.s->inputs[i]);
                if (!whole)
                        plan_slices(p, k, count_slice, &c);
        }
        for (int k = 0; k < n->step_count; k++) {
                const struct volume *v = n->steps[k].output >= 0 ? &n->volumes[n->steps[k].output] : NULL;
                if (v && n->steps[k].kind != STEP_INPUT && p->kept[v->storage] < v->rows)
                        p->scattered += (v->rows - p->low[v->storage]) * row_bytes(n, v);
        }
}

/* ---- what is kept less of ---- */

struct choosing {
        struct section_plan *p;
        struct arena *arena;
        int64_t room, *use;
        int heuristic;
        uint64_t random;
};

/* bytes of a storage's row that are in use at a time; *next: when they are touched next, from then on */
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

/* the storage to keep less of, of those in use at a time; -1: none */
static int pick(struct choosing *c, int time, int64_t *row)
{
        const struct network *n = c->p->n;
        double best = -1;
        int found = -1;
        for (int s = 0; s < n->storage_count; s++) {
                int next, touches;
                const int64_t bytes = c->p->kept[s] ? live_row(c, s, time, &next, &touches) : 0;
                if (!bytes)
                        continue;
                const double all = (double)bytes * (double)c->p->kept[s];
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
                const int s = pick(c, worst, &row);
                if (s < 0)
                        return false;
                const int64_t rows = divide_up(c->use[worst] - c->room, row);
                c->p->kept[s] -= rows < c->p->kept[s] ? rows : c->p->kept[s];
        }
}

static int64_t moved(struct section_plan *p)
{
        residency_count(p);
        return p->gathered + p->scattered;
}

/* Keeps more of each storage, as far as there is room and as less is moved; from storage `from` on, around. */
static void fill(struct choosing *c, int from)
{
        const struct network *n = c->p->n;
        for (int k = 0; k < n->storage_count; k++) {
                const int s = (from + k) % n->storage_count;
                const int64_t rows = n->storages[s].rows, before = c->p->kept[s];
                if (before >= rows)
                        continue;
                const int64_t was = moved(c->p);
                int64_t low = before, high = rows;
                while (low < high) {
                        c->p->kept[s] = (low + high + 1) / 2;
                        if (residency_use(c->p, NULL) <= c->room)
                                low = c->p->kept[s];
                        else
                                high = c->p->kept[s] - 1;
                }
                c->p->kept[s] = low;
                if (low > before && moved(c->p) > was)
                        c->p->kept[s] = before;
        }
}

static void keep_all(struct section_plan *p)
{
        for (int s = 0; s < p->n->storage_count; s++)
                p->kept[s] = p->n->storages[s].rows;
}

static struct choosing choosing_new(struct section_plan *p, int64_t room, int heuristic, struct arena *scratch)
{
        return (struct choosing){ p, scratch, room, arena_array(scratch, (size_t)p->n->step_count + 2, sizeof(int64_t)), heuristic,
                                  RANDOM_START };
}

bool residency_choose(struct section_plan *p, int64_t room, int heuristic)
{
        struct arena *scratch = arena_new();
        struct choosing c = choosing_new(p, room, heuristic, scratch);
        keep_all(p);
        const bool fine = repair(&c);
        arena_free(scratch);
        residency_count(p);
        return fine;
}

void residency_search(struct section_plan *p, int64_t room, const int64_t *away)
{
        const struct network *n = p->n;
        struct arena *scratch = arena_new();
        struct choosing c = choosing_new(p, room, CHANCE, scratch);
        const size_t bytes = (size_t)n->storage_count * sizeof *p->kept;
        int64_t *best = arena_copy(scratch, p->kept, bytes), least = moved(p);
        for (int k = 0; k < TRIES; k++) {
                if (k == 0) {           /* what the bound leaves away */
                        keep_all(p);
                        for (int i = 0; i < n->volume_count; i++) {
                                const struct volume *v = &n->volumes[i];
                                if (!v->needed || volume_is_concat(v) || !away[i])
                                        continue;
                                const int64_t rows = v->rows - divide_up(away[i], row_bytes(n, v));
                                p->kept[v->storage] = rows < p->kept[v->storage] ? (rows > 0 ? rows : 0) : p->kept[v->storage];
                        }
                } else if (k > 1) {     /* another choice for one or two */
                        memcpy(p->kept, best, bytes);
                        for (int j = 0; j < 1 + (int)(random_next(&c.random) >> 20) % 3; j++) {
                                const int s = (int)((random_next(&c.random) >> 20) % (uint64_t)n->storage_count);
                                const int64_t rows = n->storages[s].rows;
                                const uint64_t how = (random_next(&c.random) >> 20) % 4;
                                p->kept[s] = how == 0 ? rows : how == 1 ? 0 : (int64_t)((random_next(&c.random) >> 20) % (uint64_t)(rows + 1));
                        }
                }
                if (!repair(&c))
                        continue;
                fill(&c, (int)((random_next(&c.random) >> 20) % (uint64_t)n->storage_count));
                const int64_t now = moved(p);
                if (now < least) {
                        least = now;
                        memcpy(best, p->kept, bytes);
                }
        }
        memcpy(p->kept, best, bytes);
        residency_count(p);
        arena_free(scratch);
}
