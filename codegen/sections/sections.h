/* SPDX-License-Identifier: MIT */
/* Machines that hold activations themselves, as XFDNN's do: layers are commands, volumes lie in an
 * activation memory, and what does not fit there lies in DDR, from which slices of rows are
 * gathered and into which they are scattered. docs/accelerators.md describes the output.
 *
 *   module --network_find--> network: steps, volumes --plan_commands--> plan: order, places
 *          --slices--> commands --> text */
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
        int channels;                   /* The array takes this many channels at once, which are a
                                         * section. --sizes names a row by them. */
        int unit_channels;              /* A copy of a replicated section has at least this many
                                         * channels. */
        /* Volumes lie in activation memory in this way: rows are multiples of row_numbers numbers
         * (in DDR, too), channels multiples of plane_channels; or (buffer_bytes not 0) memory is
         * divided into buffers, and no two volumes that are alive lie in one. */
        int row_numbers, plane_channels;
        int64_t buffer_bytes;
        int64_t activation_bytes;       /* Activation memory has this many bytes, unless an option
                                         * says otherwise. */
        int number_bytes;               /* A number in memory has this many bytes. */
        int pool_rows;                  /* A pool can wait for at most this many rows of the
                                         * convolution before it. */
        int64_t extent;                 /* A volume has at most this many rows, columns or
                                         * channels. */
};

/* ---- overlays.c ---- */

extern const struct overlay overlays[];         /* The first is the usual one. */
/* Returns the overlay with this many channels, given as text; NULL after an EXIT_USAGE error: there
 * is none. */
const struct overlay *overlay_sized(struct arena *arena, const char *sizes, struct diag *diag);
/* Returns the bytes of a row of a plane. */
int64_t overlay_row(const struct overlay *o, int64_t columns);
/* Returns the bytes that the offsets and sizes of volumes in activation memory are multiples of. */
int64_t overlay_align(const struct overlay *o);

enum { BUFFER_ACTIVATIONS, BUFFER_DDR };

/* ---- what is computed (network.c, patterns.c) ---- */

/* A volume is a tensor of one sample: planes of 16-bit numbers, one plane for each channel. A
 * number in memory is the value's less `zero`, so that positions outside of it count as 0. */
struct volume {
        const struct value *value;      /* NULL: it is no value of the module. */
        const char *name;
        int64_t zero;
        int64_t channels, rows, columns;
        double low, high;               /* The value is between these bounds. */
        int maker;                      /* This step makes it; -1: its parts make it. */
        int *parts, part_count;         /* For a concat, these volumes lie side by side. */
        int *readers, reader_count;     /* These steps read it; parts also have the readers of what
                                         * they are parts of, once everything is found. */
        /* padded: a step that reads the volume relies on zeros around it. */
        bool needed, uploaded, input, padded;
        int storage;                    /* It lies in this storage. */
        int64_t channel;                /* It begins at this channel there. */
        int same;                       /* This volume has the same zero; it may be the volume
                                         * itself. */
};

/* It is a window along one dimension. */
struct window { int64_t kernel, step, pad, dilation; };

enum step_kind { STEP_INPUT, STEP_CONV, STEP_MAX, STEP_AVERAGE, STEP_ADD, STEP_UPLOAD };

struct section_step {
        enum step_kind kind;
        const char *name;
        const struct op *op, *pooled_op;        /* It stands for these operations; NULL: for
                                                 * none. */
        int inputs[2], input_count, output;     /* It reads the volumes inputs[] and makes the
                                                 * volume `output`; -1: it makes none. */
        struct window rows, columns;
        bool pooled;                    /* The largest number of each window of a convolution's
                                         * result is stored. */
        struct window pool_rows, pool_columns;
        int64_t middle_rows, middle_columns;    /* The pool reads these extents. */
        const struct constant *weights; /* A convolution has these weights. */
        int64_t weight_inputs;          /* An output reads this many channels. */
        /* They have one number for each channel. A convolution computes ((sum + bias) >> preshift)
         * * scale >> postshift; other steps compute (sum * scale + bias) >> postshift, where the
         * second input has its own scale. */
        int64_t *bias, *preshift, *scale[2], *postshift;
        int64_t offsets[2];             /* The step reads the volume's value plus this. */
        bool padded;                    /* Windows reach beyond what is read. */
        int64_t low, high;              /* What is stored has these bounds. */
        int *before, before_count;      /* The host waits for these steps. */
        bool needed;
};

/* Volumes that lie side by side; a leaf is a volume that a step makes. */
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
        struct section_step *steps;     /* Each step stands after the steps that make what it
                                         * reads. */
        int step_count;
        struct section_storage *storages;
        int storage_count;
        const struct op **host;         /* The host computes these operations, in the module's
                                         * order. */
        int host_count;
};

/* Finds what of the module's function runs on the machine. Returns NULL where nothing does, after
 * an error that says what is missing. */
struct network *network_find(struct arena *arena, struct module *m, const struct overlay *overlay,
                             struct diag *diag);
/* Makes a step of the operations that compute v, for network.c. Returns false where they have no
 * form that a step has. */
bool pattern_find(struct network *n, const struct value *v);
/* network_volume returns the volume of a value, made where there is none; -1: the value cannot be a
 * volume. The bounds of its numbers follow from types and operations; network_volume_within is for
 * callers that know better ones. */
int network_volume(struct network *n, const struct value *v);
int network_volume_within(struct network *n, const struct value *v, struct whole_range range);
bool network_is_made(const struct network *n, const struct value *v);   /* Does a step make it? */
int network_root(const struct network *n, int volume); /* Returns the volume that stands for all
                                                        * that share its zero. */
/* Returns a new step, which is valid until the next one is made. */
struct section_step *network_step(struct network *n, enum step_kind kind, const struct op *op);
/* Returns false where a number does not fit (network_words.c). */
bool network_take_zeros(struct network *n, struct section_step *s);
/* network_fuse_pools fuses pools into the convolutions whose results they alone read; steps and
 * readers must then be found again. network_make_storages gives every volume a place in a storage;
 * a part of two concats is copied after all steps. (network_storages.c) */
void network_fuse_pools(struct network *n);
void network_make_storages(struct network *n);
void network_name_all(struct network *n);
void network_say_missing(const struct module *m, struct diag *diag);
static inline bool volume_is_concat(const struct volume *v) { return v->part_count > 0; }

static inline bool volume_fills_storage(const struct network *n, const struct volume *v)
{
        return v->channels == n->storages[v->storage].channels;
}

/* Returns the bytes of a row of all channels. */
int64_t row_bytes(const struct network *n, const struct volume *v);
/* volume_channels returns the channels that a volume takes in activation memory, with copies, and
 * with the padding after the last volume of a storage, or after a volume that lies alone.
 * volume_room returns the bytes of `rows` of its rows. */
int64_t volume_channels(const struct network *n, const struct volume *v, bool alone);
int64_t volume_room(const struct network *n, const struct volume *v, int64_t rows, bool alone);

/* ---- places (section_plan.c, residency.c, bound.c, volumes.c) ---- */

/* One command makes rows from..to-1 of a step's result. Rows of a volume are kept, or are in a tail
 * that stays for a while, or a slice of them is gathered from DDR, or scattered to it. */
enum row_place { ROWS_KEPT, ROWS_TAIL, ROWS_SLICE };
struct slice {
        int64_t from, to;
        /* The slice needs these rows. */
        struct { int64_t from, to; enum row_place place; } reads[2];
        enum row_place makes;
};

/* The slices of a step take this memory while it runs: rows of a slice for each input and for the
 * output. turns is 2 where the next slice is moved at the same time. The slices of an output are
 * two volumes; those of an input are one, of turns * rows rows, in which windows move down. */
struct slice_room { int64_t rows[3]; int turns[3]; };
/* Such a volume holds these rows: from `base` on, up to `end`. */
struct slice_rows { int64_t base, end; };
/* Returns the first row that must be gathered, where rows from..to-1 are needed next. Where they do
 * not fit below the rows before, they begin at the top again; *copied rows from `from` on are then
 * copied there. */
int64_t slice_gather(struct slice_rows *held, int64_t rows, int64_t from, int64_t to,
                     int64_t *copied);

struct section_plan {
        const struct network *n;
        struct arena *arena;
        int64_t memory;                 /* Activation memory has this many bytes. */
        const int *order, *time;        /* `order` lists the steps by time, `time` the times by
                                         * step. */
        /* For each storage, the number of its first rows that stay in activation memory from when
         * they are made to when they are last read; the other rows, its tail, lie in DDR. */
        int64_t *kept;
        int *until;                     /* For each storage, its tail is last in activation memory,
                                         * too, at this time; -1: never. */
        int *again;                     /* For each storage, its tail is there once more from this
                                         * time on, that of a reader; step_count: never. */
        int64_t *low;                   /* For each storage, this is the first row that is in DDR;
                                         * it is below `kept` for windows that reach across. */
        int64_t slice_rows;             /* A step makes this many rows at a time. */
        int64_t gathered, scattered;    /* This many bytes are gathered and scattered. */
        /* For each storage, its kept rows, its tail, and the tail that is there again have these
         * offsets. */
        int64_t *offsets, *tails, *agains;
        int64_t (*slices)[3][2];        /* For each step, its slices have these offsets; the output
                                         * has two. */
        int64_t *ddr, ddr_bytes;        /* Each storage has this offset in DDR. */
        int64_t used;                   /* This many bytes of activation memory are in use. */
        /* These heuristics found it. */
        const char *order_name, *placed_by, *chosen_by;
        /* At most this many bytes are live at a time in the order, in the model's order, and in the
         * best order; no order has fewer than best_bound. */
        int64_t peak, model_peak, best_peak, best_bound;
        int64_t traffic_bound;          /* This order gathers and scatters at least this many
                                         * bytes. */
        int64_t heuristics[3];          /* Each heuristic has this traffic; -1: it found nothing. */
        int replicated;                 /* This many volumes have copies. */
        /* The array takes this many steps for all convolutions, for as many outputs as it has
         * channels; with and without copies. */
        int64_t array_steps, array_steps_once;
};

enum { HEURISTIC_LARGEST, HEURISTIC_FURTHEST, HEURISTIC_CHEAPEST, HEURISTIC_COUNT };
extern const char *const heuristic_names[HEURISTIC_COUNT];

/* Orders each block of steps by itself for the least peak (blocks_order.c). */
void order_blocks(const struct network *n, int *order);

/* Plans the commands; returns NULL after an error. */
struct section_plan *plan_commands(struct network *n, int64_t memory, struct diag *diag);

/* plan_replicate gives volumes of few channels copies, where there is room beside what the plan
 * has, and all volumes new places; it returns false where there are none. plan_unite removes the
 * copies. (replicate.c) */
bool plan_replicate(struct section_plan *p);
bool plan_unite(struct section_plan *p);
/* For a convolution, step_positions returns the positions of the window, step_array_steps the steps
 * of the array; copies: with the copies that volumes have. */
int64_t step_positions(const struct network *n, const struct section_step *s);
int64_t step_array_steps(const struct network *n, const struct section_step *s, bool copies);

/* Calls `visit` with the slices of step s, one after the other; returns their number. Inputs and
 * uploads have no slices. */
int plan_slices(const struct section_plan *p, int s,
                void (*visit)(const struct slice *slice, void *context), void *context);
struct slice_room plan_slice_room(const struct section_plan *p, int s);
/* For a convolution with a pool, computes the rows that the pool reads for rows from..to-1. */
void step_middle_rows(const struct section_step *s, int64_t from, int64_t to, int64_t *first,
                      int64_t *last);

/* Finds the time of a volume's maker and of its last reader. */
void leaf_life(const struct section_plan *p, int volume, int *first, int *last);
/* Returns the bytes of a volume's tail. *last is the time until which the tail is there; it
 * precedes the maker where the tail never is. */
int64_t leaf_tail(const struct section_plan *p, int volume, int *last);
/* Returns the bytes of the rows of its tail that are there at a time, once the tail has come
 * back. */
int64_t leaf_again(const struct section_plan *p, int volume);
static inline bool tail_is_again(const struct section_plan *p, int storage, int time)
{
        return time >= p->again[storage];
}
static inline bool tail_is_there(const struct section_plan *p, int storage, int time)
{
        return p->until[storage] >= time || tail_is_again(p, storage, time);
}
/* The residency is the part of a plan that says which rows are where. */
struct residency { int64_t *kept; int *until, *again; };
void residency_keep_all(struct section_plan *p);
/* Makes a copy of the plan's residency. */
struct residency residency_new(struct arena *arena, const struct section_plan *p);
void residency_save(struct residency *to, const struct section_plan *p);
void residency_load(struct section_plan *p, const struct residency *from);

/* Choose the rows to keep such that everything fits into `room` bytes at any time, and little is
 * moved: by a heuristic, or by search from what p has. They return false where that is impossible.
 * (residency.c) */
bool residency_choose(struct section_plan *p, int64_t room, int heuristic);
bool residency_search(struct section_plan *p, int64_t room, const int64_t *away, int tries);
/* Computes p->low, gathered and scattered. */
void residency_count(struct section_plan *p);
/* Returns the most bytes in use, and in `use`, which may be NULL, the bytes by time. */
int64_t residency_use(const struct section_plan *p, int64_t *use);
/* Returns a lower bound on the bytes that are gathered and scattered in this order; `away` gets the
 * bytes of each volume that are not kept in the bound (bound.c). */
int64_t traffic_bound(const struct section_plan *p, int64_t *away);
/* Finds offsets, by heuristics (VOLUMES_SIMPLY), then by a search, which proves what it can
 * (VOLUMES_WELL). Returns false where the volumes do not fit into p->memory. (volumes.c) */
enum volumes_effort { VOLUMES_SIMPLY, VOLUMES_QUICKLY, VOLUMES_WELL };
bool volumes_place(struct section_plan *p, enum volumes_effort effort);

/* ---- commands (slices.c, slots.c) ---- */

struct command_list { struct machine_command *items; int count; };
struct command_list commands_make(struct arena *arena, const struct section_plan *p,
                                  struct text *parameters);
/* Gives commands slots, and sorts them by these. */
void commands_schedule(struct arena *arena, struct command_list *list,
                       const struct overlay *overlay);
int64_t commands_slots(const struct command_list *list);
/* Returns the bytes that a command reads, or writes; copies count once. */
int64_t command_bytes(const struct machine_command *c, const struct overlay *overlay, bool written);

/* ---- the whole output (commands_write.c) ---- */

struct sections_options {
        int64_t memory;                 /* Activation memory has this many bytes; 0: the
                                         * machine's. */
        const char *parameters_name;    /* The parameters' file beside the text has this name; NULL:
                                         * there is none. */
        bool stats;
        FILE *report;                   /* It gets JSON; or NULL. */
        const char *version;
};
bool sections_write(struct module *m, const struct overlay *overlay,
                    const struct sections_options *options, FILE *out, FILE *parameters,
                    struct diag *diag);
/* Prints a warning about what stays on the host, and what the options ask for
 * (commands_report.c). */
void commands_say(const struct module *m, const struct section_plan *p,
                  const struct command_list *list, const struct sections_options *options,
                  struct diag *diag);

#endif
