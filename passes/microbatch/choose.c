/* SPDX-License-Identifier: MIT */
/* Chooses over how many images at a time operations run.
 *
 * A layer is a contraction, or what begins the list, with the operations up to the next
 * contraction. Values that pass from layer to layer come from the second-level cache if less than
 * its size was read and written since they were last touched, and else from beyond it. Over few
 * images they mostly come from the cache, but weights that have left it in the meantime are read
 * once for each microbatch, the images that go together.
 *
 *      images at a time     values between layers        weights
 *      all                  from memory                  once
 *      few                  from the cache               once a microbatch; from the cache if
 *                                                        all that the segment touches is in it
 *
 * Early layers of image networks have large values and few weights, late ones the reverse. Dynamic
 * programming over the places between layers finds the segments, each with its own number of images
 * at a time, whose predicted times add up to the least. */
#include <math.h>

#include "cost/microbatch_cost.h"
#include "ir/lower/lower_emit.h"
#include "passes/microbatch/microbatch.h"

/* Longer lists stay as they are; a segment has at most so many layers; SIZES_MAX is how many
 * divisors of the batch are tried. */
enum { LAYERS_MAX = 2000, SEGMENT_LAYERS_MAX = 256, SIZES_MAX = 16 };

/* A byte that passes between layers counts as so many cycles, more and more, as long as the choice
 * takes at most SLOWER times the least time; with --goal=memory it counts as the most. */
static const double BYTE_CYCLES[] = { 0, .0625, .25, 1, 4 }, SLOWER = 1.01;
enum { BYTE_CYCLES_COUNT = sizeof BYTE_CYCLES / sizeof *BYTE_CYCLES };

/* A value that passes from one layer to another, or into the list or out of it. made: the layer
 * that makes it, -1 outside of the list; touched: the layer that touched it last, while a segment
 * is priced. */
struct passage { double bytes; int made, touched; };

/* passages: those that the layer reads, then those it makes, by number. */
struct layer { double compute, weights, bytes; int first, reads, made, ops; };

struct choice {
        struct arena *arena;
        const struct pass_context *context;
        int64_t images;
        int threads;
        struct passage *passages;
        struct layer *layers;
        int *numbers;                   /* The layers' passages. */
        int passage_count, layer_count, number_count;
        double *before;                 /* before[k]: what layers in front of k touch for the images
                                         * that are priced. */
};

/* The state of pricing a segment: sums over its layers, for one size of microbatches. */
struct price { double cycles, weights, bytes; };

/* ---- the layers ---- */

static double image_bytes(const struct value *v, int64_t images)
{
        return (double)type_bytes(v->type) / (double)images;
}

/* Returns the cycles that op computes for an image. Narrow elements go more to a vector. */
static double compute_of(const struct op *op, const struct choice *c)
{
        const struct target *t = c->context->target;
        const struct type *x = op_operand(op, 0) ? op_operand(op, 0)->type : op_result(op)->type;
        const int width = (int)element_info[x->element].bytes;
        const double cycles =
                op_info[op->code].traits & TRAIT_CONTRACTION
                        ? microbatch_products_cost(op_flops(op) / 2, width, t)
                        : microbatch_elements_cost((double)type_elements(op_result(op)->type),
                                                   width, t);
        return cycles / (double)c->images;
}

/* A value's scratch is its passage; passages of one list are told from others by their place. */
static struct passage *passage_of(struct choice *c, struct value *v, int made)
{
        if (!v->scratch) {
                ARENA_GROW(c->arena, c->passages, c->passage_count);
                c->passages[c->passage_count] =
                        (struct passage){ image_bytes(v, c->images), made, -1 };
                v->scratch = &c->numbers;       /* Any place that is not NULL. */
                v->number = c->passage_count++;
        }
        return &c->passages[v->number];
}

static void add_number(struct choice *c, struct layer *layer, const struct value *v)
{
        for (int k = layer->first; k < c->number_count; k++)
                if (c->numbers[k] == v->number)
                        return;
        ARENA_GROW(c->arena, c->numbers, c->number_count);
        c->numbers[c->number_count++] = v->number;
        layer->bytes += c->passages[v->number].bytes;
}

/* Notes what the layer of operations `ops` reads. */
static void note_reads(struct choice *c, struct layer *layer, int at, struct op *const *ops)
{
        layer->first = c->number_count;
        for (int k = 0; k < layer->ops; k++)
                for (int i = 0; i < ops[k]->operand_count; i++) {
                        struct value *v = op_operand(ops[k], i);
                        if (!v)
                                continue;
                        if (microbatch_share(ops[k], i, c->images) == OPERAND_SHARED) {
                                layer->weights += (double)type_bytes(v->type);
                                continue;
                        }
                        if (microbatch_repeats(v, c->images))
                                continue;
                        if (passage_of(c, v, -1)->made != at)
                                add_number(c, layer, v);
                }
        layer->reads = c->number_count - layer->first;
}

/* Is v read outside of the layer? Its operations have the number `at`. */
static bool leaves(const struct value *v, int at)
{
        for (const struct use *u = v->uses; u; u = u->next)
                if (u->user->number != at)
                        return true;
        return false;
}

static void note_layer(struct choice *c, struct layer *layer, int at, struct op *const *ops)
{
        for (int k = 0; k < layer->ops; k++) {
                layer->compute += compute_of(ops[k], c);
                ops[k]->number = at;
                for (int i = 0; i < ops[k]->result_count; i++)
                        passage_of(c, &ops[k]->results[i], at);
        }
        note_reads(c, layer, at, ops);
        for (int k = 0; k < layer->ops; k++)
                for (int i = 0; i < ops[k]->result_count; i++)
                        if (leaves(&ops[k]->results[i], at))
                                add_number(c, layer, &ops[k]->results[i]);
        layer->made = c->number_count - layer->first - layer->reads;
}

static void find_layers(struct choice *c, struct op *const *ops, int count)
{
        for (int i = 0; i < count; i++) {
                if (!i || op_info[ops[i]->code].traits & TRAIT_CONTRACTION) {
                        ARENA_GROW(c->arena, c->layers, c->layer_count);
                        c->layers[c->layer_count++] = (struct layer){ 0 };
                }
                c->layers[c->layer_count - 1].ops++;
                ops[i]->number = -1;
        }
        for (int k = 0, i = 0; k < c->layer_count; i += c->layers[k++].ops)
                note_layer(c, &c->layers[k], k, ops + i);
}

static void forget_passages(struct op *const *ops, int count)
{
        for (int i = 0; i < count; i++) {
                for (int k = 0; k < ops[i]->result_count; k++)
                        ops[i]->results[k].scratch = NULL;
                for (int k = 0; k < ops[i]->operand_count; k++)
                        if (op_operand(ops[i], k))
                                op_operand(ops[i], k)->scratch = NULL;
        }
}

/* ---- the price of a segment ---- */

static double reading(const struct choice *c, double bytes, double touched)
{
        return microbatch_reading_cost(bytes, touched, c->threads, c->context->target);
}

/* Returns the cycles to read a passage in layer `at`, for an image, in a segment that begins with
 * layer `begin`. Since an element was touched, half of what both layers touch was touched, and all
 * between; where it was made before the segment, all images lie between. What comes from beyond the
 * cache had to leave it, too, unless it is an input. *held: the bytes of all images, where the
 * segment had not read it before, are added. */
static double reading_passage(const struct choice *c, struct passage *p, int begin, int at,
                              double *held)
{
        const int last = p->touched >= begin ? p->touched : p->made;
        double touched = p->bytes * (double)c->images;
        if (last >= begin)
                touched = (c->before[at] + c->before[at + 1] - c->before[last] -
                           c->before[last + 1]) / 2;
        else if (p->touched < begin)
                *held += touched;
        p->touched = at;
        const bool near = touched <= microbatch_room(c->threads, c->context->target);
        return (p->made < 0 || near ? 1 : 2) * reading(c, p->bytes, touched);
}

/* Adds layer `at` to the price of a segment over `size` images at a time. */
static void add_layer(struct choice *c, struct price *price, int begin, int at, int64_t size)
{
        const struct layer *layer = &c->layers[at];
        const int *numbers = c->numbers + layer->first;
        double cycles = layer->compute;
        for (int k = 0; k < layer->reads; k++)
                cycles += reading_passage(c, &c->passages[numbers[k]], begin, at,
                                          &price->bytes);
        for (int k = layer->reads; k < layer->reads + layer->made; k++)
                cycles += reading(c, c->passages[numbers[k]].bytes, 0);
        price->cycles += microbatch_entry_cost(c->threads, c->context->target) +
                         cycles * (double)size / c->threads;
        price->weights += layer->weights / c->threads;
        price->bytes += layer->bytes * (double)size;
}

static double price_of(const struct choice *c, const struct price *price, int begin, int end,
                       int64_t size)
{
        const double runs = (double)(c->images / size),
                     touched = c->before[end] - c->before[begin];
        return runs * price->cycles + reading(c, price->weights, INFINITY) +
               (runs - 1) * reading(c, price->weights, touched);
}

/* ---- the segments ---- */

/* The best segments up to a place between layers: cost is cycles and what their bytes count as; the
 * last segment begins with layer `begin`. */
struct best { double cost, cycles; int begin; int64_t size; };

/* Prices all segments that begin with layer `begin`, over `size` images at a time. */
static void price_segments(struct choice *c, struct best *best, int begin, int64_t size,
                           double byte_cycles)
{
        struct price price = { .cycles = microbatch_entry_cost(1, c->context->target) };
        for (int i = 0; i < c->passage_count; i++)
                c->passages[i].touched = -1;
        for (int at = begin; at < c->layer_count && at < begin + SEGMENT_LAYERS_MAX; at++) {
                add_layer(c, &price, begin, at, size);
                const double cycles = price_of(c, &price, begin, at + 1, size),
                             cost = best[begin].cost + cycles + byte_cycles * price.bytes;
                if (cost < best[at + 1].cost)
                        best[at + 1] = (struct best){ cost, best[begin].cycles + cycles, begin,
                                                      size };
        }
}

/* Notes what layers touch over `size` images at a time. */
static void note_touched(struct choice *c, int64_t size)
{
        c->before[0] = 0;
        for (int k = 0; k < c->layer_count; k++)
                c->before[k + 1] = c->before[k] + c->layers[k].weights +
                                   (double)size * c->layers[k].bytes;
}

/* Finds the sizes that microbatches may have: the divisors of the batch, the largest first, at most
 * SIZES_MAX of them, and 1; with --limit microbatch_images, the largest one within the limit.
 * Returns their number. */
static int find_sizes(int64_t images, int64_t limit, int64_t sizes[SIZES_MAX])
{
        int count = 0;
        for (int64_t g = limit && limit < images ? limit : images; g >= 1; g--)
                if (!(images % g) && (count < SIZES_MAX || g == 1)) {
                        sizes[count < SIZES_MAX ? count++ : SIZES_MAX - 1] = g;
                        if (limit)
                                break;
                }
        return count;
}

/* Returns the best segments up to each place; a byte that passes counts as byte_cycles. */
static struct best *find_best(struct choice *c, double byte_cycles)
{
        const size_t places = (size_t)c->layer_count + 1;
        struct best *best = arena_array(c->arena, places, sizeof *best);
        int64_t sizes[SIZES_MAX];
        const int count = find_sizes(c->images, c->context->limits.microbatch_images, sizes);
        c->before = arena_array(c->arena, places, sizeof *c->before);
        for (int k = 1; k <= c->layer_count; k++)
                best[k].cost = INFINITY;
        for (int begin = 0; begin < c->layer_count; begin++)
                for (int i = 0; i < count; i++) {
                        note_touched(c, sizes[i]);
                        price_segments(c, best, begin, sizes[i], byte_cycles);
                }
        return best;
}

/* Returns the segments that take least memory of those that are nearly as fast as the fastest. */
static const struct best *choose_best(struct choice *c)
{
        const struct best *chosen = find_best(c, BYTE_CYCLES[0]);
        const double most = SLOWER * chosen[c->layer_count].cycles;
        for (int i = 1; i < BYTE_CYCLES_COUNT; i++) {
                const struct best *best = find_best(c, BYTE_CYCLES[i]);
                if (c->context->memory || best[c->layer_count].cycles <= most)
                        chosen = best;
        }
        return chosen;
}

int microbatch_choose(struct arena *arena, struct op *const *ops, int count, int64_t images,
                      const struct pass_context *context, struct segment **segments)
{
        struct choice c = { .arena = arena, .context = context, .images = images,
                            .threads = context->threads > 1 ? context->threads : 1 };
        int found = 0;
        find_layers(&c, ops, count);
        forget_passages(ops, count);
        if (c.layer_count > LAYERS_MAX) {
                *segments = ARENA_NEW(arena, struct segment);
                **segments = (struct segment){ count, images };
                return 1;
        }
        const struct best *best = choose_best(&c);
        for (int end = c.layer_count; end; end = best[end].begin)
                found++;
        *segments = arena_array(arena, (size_t)found, sizeof **segments);
        for (int end = c.layer_count, k = found; end; end = best[end].begin) {
                struct segment *s = &(*segments)[--k];
                s->size = best[end].size;
                for (int i = best[end].begin; i < end; i++)
                        s->count += c.layers[i].ops;
        }
        return found;
}
