/* SPDX-License-Identifier: MIT */
/* Finds, in a network whose steps are known, the pools that a convolution's command computes, and
 * the volumes that lie side by side. */
#include "codegen/sections/sections.h"

/* ---- a convolution and the pool after it ---- */

static bool is_windowed_by(const struct network *n, const struct section_step *pool)
{
        return pool->kind == STEP_MAX && pool->rows.kernel <= n->overlay->pool_rows &&
               pool->columns.kernel <= n->overlay->pool_rows;
}

/* Does a convolution make the volume by itself, and does only this pool read it? */
static bool can_pool(const struct network *n, int volume, bool part)
{
        const struct volume *v = &n->volumes[volume];
        return v->maker >= 0 && n->steps[v->maker].kind == STEP_CONV &&
               !n->steps[v->maker].pooled && !v->uploaded && v->reader_count == (part ? 0 : 1);
}

static int wholes_of(const struct network *n, int volume)
{
        int count = 0;
        for (int i = 0; i < n->volume_count; i++)
                for (int k = 0; n->volumes[i].needed && k < n->volumes[i].part_count; k++)
                        count += n->volumes[i].parts[k] == volume;
        return count;
}

/* Lets the convolution compute the pool, too, and returns the volume that it makes then. */
static int pool_behind(struct network *n, int volume, const struct section_step *pool, int into)
{
        struct volume *x = &n->volumes[volume];
        struct section_step *conv = &n->steps[x->maker];
        const struct volume *y = &n->volumes[pool->output];
        conv->pooled = true;
        conv->pool_rows = pool->rows;
        conv->pool_columns = pool->columns;
        conv->middle_rows = x->rows;
        conv->middle_columns = x->columns;
        conv->pooled_op = pool->op;
        const int maker = x->maker;
        /* The volume is a part of what is pooled, and no value of the module. */
        if (into < 0) {
                ARENA_GROW(n->arena, n->volumes, n->volume_count);
                y = &n->volumes[pool->output];
                n->volumes[n->volume_count] = n->volumes[volume];
                n->volumes[n->volume_count].value = NULL;
                n->volumes[n->volume_count].rows = y->rows;
                n->volumes[n->volume_count].columns = y->columns;
                n->volumes[n->volume_count].same = network_root(n, volume);
                into = n->volume_count++;
        }
        n->steps[maker].output = into;
        n->volumes[into].maker = maker;
        n->volumes[volume].needed = false;
        return into;
}

/* Fuses pools into the convolutions that make what they read, or all parts of it. */
void network_fuse_pools(struct network *n)
{
        for (int k = 0; k < n->step_count; k++) {
                struct section_step *pool = &n->steps[k];
                const int input = pool->inputs[0];
                struct volume *x = pool->kind == STEP_MAX ? &n->volumes[input] : NULL;
                if (!x || !is_windowed_by(n, pool) || wholes_of(n, input))
                        continue;
                if (!volume_is_concat(x)) {
                        if (can_pool(n, input, false)) {
                                pool_behind(n, input, pool, pool->output);
                                pool->needed = false;
                        }
                        continue;
                }
                bool all = x->reader_count == 1 && !x->uploaded;
                for (int i = 0; i < x->part_count; i++)
                        all &= can_pool(n, x->parts[i], true) && wholes_of(n, x->parts[i]) == 1;
                if (!all)
                        continue;
                const int count = x->part_count;
                int *parts = arena_array(n->arena, (size_t)count, sizeof *parts);
                for (int i = 0; i < count; i++)
                        parts[i] = pool_behind(n, n->volumes[input].parts[i], pool, -1);
                n->volumes[pool->output].parts = parts;
                n->volumes[pool->output].part_count = count;
                n->volumes[pool->output].maker = -1;
                n->volumes[input].needed = false;
                pool->needed = false;
        }
}

/* ---- storages ---- */

/* Copies a part that lies elsewhere already into place, by a window of 1 x 1. */
static int copy_of(struct network *n, int volume)
{
        ARENA_GROW(n->arena, n->volumes, n->volume_count);
        const int made = n->volume_count++;
        n->volumes[made] = n->volumes[volume];
        struct volume *v = &n->volumes[made];
        v->value = NULL;
        v->maker = n->step_count;
        v->parts = NULL;
        v->part_count = 0;
        v->readers = NULL;
        v->reader_count = 0;
        v->uploaded = v->input = false;
        v->storage = -1;
        v->same = network_root(n, volume);
        struct section_step *s = network_step(n, STEP_MAX, NULL);
        s->needed = true;
        s->rows = s->columns = (struct window){ 1, 1, 0, 1 };
        s->inputs[s->input_count++] = volume;
        s->output = made;
        return made;
}

/* Can a volume, and its parts, be laid into a storage from a channel on? They cannot where a part
 * has another place. */
static bool can_lay(const struct network *n, int volume)
{
        const struct volume *v = &n->volumes[volume];
        if (v->storage >= 0)
                return false;
        for (int i = 0; i < v->part_count; i++)
                for (int k = 0; k < i; k++)
                        if (v->parts[i] == v->parts[k])
                                return false;
        for (int i = 0; i < v->part_count; i++)
                if (!can_lay(n, v->parts[i]))
                        return false;
        return true;
}

static void lay(struct network *n, int volume, int storage, int64_t channel)
{
        n->volumes[volume].storage = storage;
        n->volumes[volume].channel = channel;
        if (!volume_is_concat(&n->volumes[volume])) {
                struct section_storage *s = &n->storages[storage];
                ARENA_GROW(n->arena, s->leaves, s->leaf_count);
                s->leaves[s->leaf_count++] = (struct storage_leaf){ volume, channel };
                return;
        }
        for (int i = 0; i < n->volumes[volume].part_count; i++) {
                int part = n->volumes[volume].parts[i];
                const bool again =
                        n->volumes[part].storage == storage && n->volumes[part].channel == channel;
                if (!again && !can_lay(n, part))
                        n->volumes[volume].parts[i] = part = copy_of(n, part);
                if (!again)
                        lay(n, part, storage, channel);
                channel += n->volumes[part].channels;
        }
}

static bool is_part(const struct network *n, int volume)
{
        for (int i = 0; i < n->volume_count; i++)
                for (int k = 0; n->volumes[i].needed && k < n->volumes[i].part_count; k++)
                        if (n->volumes[i].parts[k] == volume)
                                return true;
        return false;
}

static void new_storage(struct network *n, int volume)
{
        const struct volume *v = &n->volumes[volume];
        ARENA_GROW(n->arena, n->storages, n->storage_count);
        n->storages[n->storage_count] = (struct section_storage){ .channels = v->channels,
                                                                  .rows = v->rows,
                                                                  .columns = v->columns,
                                                                  .root = volume,
                                                                  .units = 1,
                                                                  .unit_channels = v->channels };
        lay(n, volume, n->storage_count++, 0);
}

/* Makes the storages of the largest concats first, so that the concats they consist of lie in
 * them. */
void network_make_storages(struct network *n)
{
        const int count = n->volume_count;
        for (int i = count - 1; i >= 0; i--)
                if (n->volumes[i].needed && volume_is_concat(&n->volumes[i]) && !is_part(n, i) &&
                    n->volumes[i].storage < 0)
                        new_storage(n, i);
        for (int i = count - 1; i >= 0; i--)
                if (n->volumes[i].needed && volume_is_concat(&n->volumes[i]) &&
                    n->volumes[i].storage < 0)
                        new_storage(n, i);
        for (int i = 0; i < n->volume_count; i++)
                if (n->volumes[i].needed && n->volumes[i].storage < 0)
                        new_storage(n, i);
}
