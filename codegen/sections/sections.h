/* SPDX-License-Identifier: MIT */
/* Machines that hold activations themselves, as XFDNN's: layers are commands, volumes lie in an
 * activation memory, and what does not fit there lies in DDR, from which slices of rows are
 * gathered and into which they are scattered. docs/accelerators.md says what is made.
 *
 *   module --network_find--> network: steps, volumes --plan_commands--> plan: order, what lies where --slices--> commands --> text
 * */
#ifndef CODEGEN_SECTIONS_SECTIONS_H
#define CODEGEN_SECTIONS_SECTIONS_H

#include <stdio.h>

#include "base/diag.h"
#include "base/text.h"
#include "codegen/sections/commands.h"
#include "ir/tensor/tensor.h"
#include "passes/memory/place.h"
#include "passes/simplify/ranges.h"

struct overlay {
        const char *name;
        int channels;                   /* that the array takes at once: of a section. --sizes names
                                         * a row by it */
        int unit_channels;              /* the least that a copy of a replicated section has */
        /* How volumes lie in activation memory: rows are multiples of so many numbers (in DDR,
         * too), channels of so many; or (not 0) memory is divided into buffers, and no two
         * volumes that live lie in one. */
        int row_numbers, plane_channels;
        int64_t buffer_bytes;
        int64_t activation_bytes;       /* what is not said by an option */
        int number_bytes;               /* of a number in memory */
        int pool_rows;                  /* rows of a convolution that a pool behind it can wait for
                                         * / */
        int64_t extent;                 /* the most rows, columns or channels of a volume */
};

/* ---- overlays.c ---- */

extern const struct overlay overlays[];         /* the first is the usual one */
/* Of so many channels, as text; NULL after an EXIT_USAGE error: there is none. */
const struct overlay *overlay_sized(struct arena *arena, const char *sizes, struct diag *diag);
/* bytes of a row of a plane */
int64_t overlay_row(const struct overlay *o, int64_t columns);
/* of what volumes begin at and take in activation memory */
int64_t overlay_align(const struct overlay *o);

enum { BUFFER_ACTIVATIONS, BUFFER_DDR };

/* ---- what is computed (network.c, patterns.c) ---- */

/* A tensor of one sample: planes of 16 bits, one for each channel. A number in memory is the
 * value's less `zero`, so that what is outside of it counts as 0. */
struct volume {
        const struct value *value;      /* NULL: of no value of the module */
        const char *name;
        int64_t zero;
        int64_t channels, rows, columns;
        double low, high;               /* of the value */
        int maker;                      /* step; -1: parts are its */
        int *parts, part_count;         /* of a concat: volumes side by side */
        int *readers, reader_count;     /* steps; of parts: those of what they are in, too, once all
                                         * is found */
        bool needed, uploaded, input, padded; /* padded: what reads it counts on zeros around it */
        int storage;                    /* that it lies in */
        int64_t channel;                /* from which on */
        int same;                       /* a volume that has the same zero, or itself */
};

struct window { int64_t kernel, step, pad, dilation; };     /* along one dimension */

enum step_kind { STEP_INPUT, STEP_CONV, STEP_MAX, STEP_AVERAGE, STEP_ADD, STEP_UPLOAD };

struct section_step {
        enum step_kind kind;
        const char *name;
        const struct op *op, *pooled_op;        /* that it stands for; NULL: none */
        int inputs[2], input_count, output;     /* volumes; output -1: none */
        struct window rows, columns;
        bool pooled;                    /* the largest of each window of what a convolution makes is
                                         * stored */
        struct window pool_rows, pool_columns;
        int64_t middle_rows, middle_columns;    /* what the pool reads */
        const struct constant *weights; /* of a convolution */
        int64_t weight_inputs;          /* channels that an output reads */
        /* One for each channel. A convolution makes (sum + bias) >> preshift, times scale, >>
         * postshift; others sum * scale, the second one's with its own, + bias, >> postshift. */
        int64_t *bias, *preshift, *scale[2], *postshift;
        int64_t offsets[2];             /* what is meant is the value of the volume, and this */
        bool padded;                    /* windows reach beyond what is read */
        int64_t low, high;              /* of what is stored */
        int *before, before_count;      /* steps that the host waits for */
        bool needed;
};

/* Volumes side by side: a leaf is one that a step makes. */
struct storage_leaf { int volume; int64_t channel; };
struct section_storage {
        int64_t channels, rows, columns;
        struct storage_leaf *leaves;
        int leaf_count;
        int root;
        int64_t units, unit_channels;
};

struct network {
        struct arena *arena;
        const struct overlay *overlay;
        struct volume *volumes;
        int volume_count;
        struct section_step *steps;     /* each behind what it reads */
        int step_count;
        struct section_storage *storages;
        int storage_count;
        const struct op **host;         /* computed on the host, in the module's order */
        int host_count;
};

/* What of the module's function is for the machine. NULL: nothing is, and an error said what is
 * missing. */
struct network *network_find(struct arena *arena, struct module *m, const struct overlay *overlay,
                             struct diag *diag);
/* what one step reads and makes, for network.c: false: v is of no form that a step has */
bool pattern_find(struct network *n, const struct value *v);
/* of a value, made where there is none; -1: it can be none. What numbers it can be, types and
 * operations say, or who knows better. */
int network_volume(struct network *n, const struct value *v);
int network_volume_within(struct network *n, const struct value *v, struct whole_range range);
bool network_is_made(const struct network *n, const struct value *v);   /* by a step */
int network_root(const struct network *n, int volume); /* of the volumes that have one zero */
/* a new one, valid until the next */
struct section_step *network_step(struct network *n, enum step_kind kind, const struct op *op);
/* false: a number has no room (network_words.c) */
bool network_take_zeros(struct network *n, struct section_step *s);
/* Convolutions take in the pools that alone read what they make; steps and readers are to be
 * found anew. Every volume gets a place in a storage, a part of two concats a copy behind all
 * steps. (network_storages.c) */
void network_fuse_pools(struct network *n);
void network_make_storages(struct network *n);
void network_name_all(struct network *n);
void network_say_missing(const struct module *m, struct diag *diag);
static inline bool volume_is_concat(const struct volume *v) { return v->part_count > 0; }

static inline bool volume_fills_storage(const struct network *n, const struct volume *v)
{
        return v->channels == n->storages[v->storage].channels;
}

int64_t row_bytes(const struct network *n, const struct volume *v);      /* of all its channels */
/* Channels that a volume takes of activation memory, with copies, and behind the last of its
 * storage, or of a volume that lies there alone, those that nobody has; bytes of so many rows of
 * it. */
int64_t volume_channels(const struct network *n, const struct volume *v, bool alone);
int64_t volume_room(const struct network *n, const struct volume *v, int64_t rows, bool alone);

/* ---- where it lies (section_plan.c, residency.c, bound.c, volumes.c) ---- */

/* Rows `from` to `to` - 1 of what a step makes, in one command. Each volume has rows that are
 * kept, a tail that stays for a while, or a slice of it is gathered from DDR, or scattered to
 * it. */
enum row_place { ROWS_KEPT, ROWS_TAIL, ROWS_SLICE };
struct slice {
        int64_t from, to;
        struct { int64_t from, to; enum row_place place; } reads[2];     /* rows that it needs */
        enum row_place makes;
};

/* What the slices of a step take while it runs: of each that it reads, and of what it makes.
 * Turns are 2 where there is a next one to be filled meanwhile. Those of what is made are two
 * volumes; those of what is read are one, of turns * rows, in which windows go down. */
struct slice_room { int64_t rows[3]; int turns[3]; };
/* rows that such a volume holds: from `base` on, up to `end` */
struct slice_rows { int64_t base, end; };
/* Rows from..to-1 are wanted next: the first of them that is gathered. Where they do not fit
 * below those before, they begin at the top again; *copied: rows from `from` on that are copied
 * there. */
int64_t slice_gather(struct slice_rows *held, int64_t rows, int64_t from, int64_t to,
                     int64_t *copied);

struct section_plan {
        const struct network *n;
        struct arena *arena;
        int64_t memory;                 /* bytes there are */
        const int *order, *time;        /* steps by time, and the other way round */
        int64_t *kept;                  /* of each storage: the first rows, which stay in activation
                                         * memory from when they are made to when they are read for
                                         * the last time; the others, its tail, lie in DDR */
        int *until;                     /* of each storage: the last time that its tail is in
                                         * activation memory, too; -1: never */
        int *again;                     /* of each storage: the time of a reader from which on it is
                                         * once more; step_count: never */
        int64_t *low;                   /* of each storage: the first row that is in DDR; below kept
                                         * for windows across */
        int64_t slice_rows;             /* that a step makes at a time */
        int64_t gathered, scattered;    /* bytes */
        int64_t *offsets, *tails, *agains;      /* of each storage's kept rows, of its tail, and of
                                                 * that once more */
        int64_t (*slices)[3][2];        /* by step: offsets of slices; two of what is made */
        int64_t *ddr, ddr_bytes;        /* of each storage: offset in DDR */
        int64_t used;                   /* bytes of activation memory */
        /* how it was found */
        const char *order_name, *placed_by, *chosen_by;
        int64_t peak, model_peak, best_peak, best_bound; /* live bytes of the order, of the model's,
                                                          * of the best; no order is below */
        int64_t traffic_bound;          /* bytes gathered and scattered, of this order */
        int64_t heuristics[3];          /* traffic of each; -1: it found nothing */
        int replicated;                 /* volumes that have copies */
        int64_t array_steps, array_steps_once;  /* of all convolutions, for as many outputs as the
                                                 * array has channels; without copies */
};

enum { HEURISTIC_LARGEST, HEURISTIC_FURTHEST, HEURISTIC_CHEAPEST, HEURISTIC_COUNT };
extern const char *const heuristic_names[HEURISTIC_COUNT];

/* an order of least peak for each block of steps by itself (blocks_order.c) */
void order_blocks(const struct network *n, int *order);

/* NULL after an error */
struct section_plan *plan_commands(struct network *n, int64_t memory, struct diag *diag);

/* Gives volumes of few channels copies, where there is room beside what the plan has, and all
 * volumes new places; false: none has any. plan_unite takes them back. (replicate.c) */
bool plan_replicate(struct section_plan *p);
bool plan_unite(struct section_plan *p);
/* of a convolution: positions of the window; steps of the array, copies: with those that volumes
 * have */
int64_t step_positions(const struct network *n, const struct section_step *s);
int64_t step_array_steps(const struct network *n, const struct section_step *s, bool copies);

/* Calls `visit` with the slices of step s, one after the other; returns their number. Inputs and
 * uploads have none. */
int plan_slices(const struct section_plan *p, int s,
                void (*visit)(const struct slice *slice, void *context), void *context);
struct slice_room plan_slice_room(const struct section_plan *p, int s);
/* of a convolution with a pool: rows that the pool reads for these */
void step_middle_rows(const struct section_step *s, int64_t from, int64_t to, int64_t *first,
                      int64_t *last);

/* from its maker to who reads it last */
void leaf_life(const struct section_plan *p, int volume, int *first, int *last);
/* bytes of its tail, and until when that is there: before its maker where it never is */
int64_t leaf_tail(const struct section_plan *p, int volume, int *last);
/* bytes of the rows of its tail that are there at a time, once it has come back */
int64_t leaf_again(const struct section_plan *p, int volume);
static inline bool tail_is_again(const struct section_plan *p, int storage, int time)
{
        return time >= p->again[storage];
}
static inline bool tail_is_there(const struct section_plan *p, int storage, int time)
{
        return p->until[storage] >= time || tail_is_again(p, storage, time);
}
/* what of a plan says which rows are where */
struct residency { int64_t *kept; int *until, *again; };
void residency_keep_all(struct section_plan *p);
/* a copy */
struct residency residency_new(struct arena *arena, const struct section_plan *p);
void residency_save(struct residency *to, const struct section_plan *p);
void residency_load(struct section_plan *p, const struct residency *from);

/* Rows kept such that all fits into `room` bytes at any time, and little is moved: by a
 * heuristic, or (HEURISTIC_COUNT) by search from what p has. False: it cannot be. (residency.c) */
bool residency_choose(struct section_plan *p, int64_t room, int heuristic);
bool residency_search(struct section_plan *p, int64_t room, const int64_t *away, int tries);
void residency_count(struct section_plan *p);             /* low, gathered, scattered */
/* bytes in use by time, and the most; use may be NULL */
int64_t residency_use(const struct section_plan *p, int64_t *use);
/* Bytes that are gathered and scattered in any case, in this order; away: of each volume, bytes
 * that are not kept then (bound.c). */
int64_t traffic_bound(const struct section_plan *p, int64_t *away);
/* Offsets, by heuristics (VOLUMES_SIMPLY), then by search, which proves what it can
 * (VOLUMES_WELL); false: it does not fit into p->memory. (volumes.c) */
enum volumes_effort { VOLUMES_SIMPLY, VOLUMES_QUICKLY, VOLUMES_WELL };
bool volumes_place(struct section_plan *p, enum volumes_effort effort);

/* ---- commands (slices.c, slots.c) ---- */

struct command_list { struct machine_command *items; int count; };
struct command_list commands_make(struct arena *arena, const struct section_plan *p,
                                  struct text *parameters);
/* gives slots, and brings commands into their order */
void commands_schedule(struct arena *arena, struct command_list *list,
                       const struct overlay *overlay);
int64_t commands_slots(const struct command_list *list);
/* that it reads, or writes; copies count once */
int64_t command_bytes(const struct machine_command *c, const struct overlay *overlay, bool written);

/* ---- all of it (commands_write.c) ---- */

struct sections_options {
        int64_t memory;                 /* bytes of activation memory; 0: the machine's */
        const char *parameters_name;    /* of the file beside the text; NULL: there is none */
        bool stats;
        FILE *report;                   /* JSON; or NULL */
        const char *version;
};
bool sections_write(struct module *m, const struct overlay *overlay,
                    const struct sections_options *options, FILE *out, FILE *parameters,
                    struct diag *diag);
/* a warning about what stays on the host, and what the options ask for (commands_report.c) */
void commands_say(const struct module *m, const struct section_plan *p,
                  const struct command_list *list, const struct sections_options *options,
                  struct diag *diag);

#endif
