/* SPDX-License-Identifier: MIT */
/* Makes copies of volumes of few channels, side by side, as XFDNN has them: the array takes
 * `channels` channels at once, and where a volume has at most half as many, copies of it fill the
 * array, each read at another place of the window.
 *
 *     3 channels, 12 copies 8 apart: a window of 7 x 7 takes 5 steps of the array, not 49
 *
 * Copies are made only where nothing is moved without them, they fit into the memory that is left,
 * and as many commands run at the same time (commands_write.c). The step that makes the volume
 * writes all copies. */
#include "base/size.h"
#include "codegen/sections/sections.h"

static int64_t places_of(const struct section_step *s)
{
        return s->rows.kernel * s->columns.kernel;
}

/* Returns the steps of the array for a position of a convolution's result, for up to `channels`
 * outputs. */
static int64_t steps_of(const struct network *n, const struct section_step *s, int64_t units)
{
        return divide_up(s->weight_inputs, n->overlay->channels) * divide_up(places_of(s), units);
}

int64_t step_positions(const struct network *n, const struct section_step *s)
{
        const struct volume *y = &n->volumes[s->output];
        return s->pooled ? s->middle_rows * s->middle_columns : y->rows * y->columns;
}

int64_t step_array_steps(const struct network *n, const struct section_step *s, bool copies)
{
        const int64_t units = copies ? n->storages[n->volumes[s->inputs[0]].storage].units : 1;
        return step_positions(n, s) *
               divide_up(n->volumes[s->output].channels, n->overlay->channels) *
               steps_of(n, s, units);
}

/* Returns the steps of all convolutions. */
static int64_t array_steps(const struct network *n, bool copies)
{
        int64_t sum = 0;
        for (int k = 0; k < n->step_count; k++)
                sum += n->steps[k].kind == STEP_CONV ? step_array_steps(n, &n->steps[k], copies)
                                                     : 0;
        return sum;
}

/* Returns the channels from a copy to the next; 0: the volume wants no copies. *most is the number
 * of copies that the array has room for and that windows can use. */
static int64_t unit_of(const struct network *n, const struct section_storage *s, int64_t *most)
{
        const struct volume *v = s->leaf_count == 1 ? &n->volumes[s->leaves[0].volume] : NULL;
        int64_t unit = n->overlay->unit_channels, places = 0;
        if (!v || !v->reader_count)
                return 0;
        for (int k = 0; k < v->reader_count; k++) {
                const struct section_step *reader = &n->steps[v->readers[k]];
                if (reader->kind != STEP_CONV || reader->weight_inputs != v->channels)
                        return 0;
                places = places_of(reader) > places ? places_of(reader) : places;
        }
        while (unit < v->channels)
                unit *= 2;
        *most = n->overlay->channels / unit < places ? n->overlay->channels / unit : places;
        return *most > 1 ? unit : 0;
}

static void copy_once(const struct network *n, struct section_storage *s)
{
        s->units = 1;
        s->unit_channels = n->volumes[s->leaves[0].volume].channels;
}

/* Gives the storage as many copies as there is room for. Returns false where there is room for
 * none. */
static bool give_copies(struct section_plan *p, struct section_storage *s, int64_t unit,
                        int64_t most)
{
        const char *placed_by = p->placed_by;
        for (s->units = most, s->unit_channels = unit; s->units > 1; s->units--)
                if (residency_use(p, NULL) <= p->memory && volumes_place(p, VOLUMES_SIMPLY))
                        return true;
        p->placed_by = placed_by;
        copy_once(p->n, s);
        return false;
}

bool plan_replicate(struct section_plan *p)
{
        const struct network *n = p->n;
        p->array_steps = p->array_steps_once = array_steps(n, false);
        for (int k = 0; k < n->storage_count && !(p->gathered + p->scattered); k++) {
                int64_t most;
                const int64_t unit = unit_of(n, &n->storages[k], &most);
                p->replicated += unit && give_copies(p, &n->storages[k], unit, most);
        }
        p->array_steps = array_steps(n, true);
        return p->replicated;
}

bool plan_unite(struct section_plan *p)
{
        for (int k = 0; k < p->n->storage_count; k++)
                if (p->n->storages[k].units > 1)
                        copy_once(p->n, &p->n->storages[k]);
        p->replicated = 0;
        p->array_steps = p->array_steps_once;
        return volumes_place(p, VOLUMES_WELL);
}
