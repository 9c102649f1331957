/* SPDX-License-Identifier: MIT */
/* Calibration: which numbers the tensors of a model took on samples, and the steps of whole numbers
 * that follow from these. compiler/calibrate.c runs the model and writes a file of ranges; the pass
 * quantize reads it. docs/quantization.md has formats and formulas.
 *
 *      dnncc-ranges 1
 *      function 3f2a...                        ; SHA-256 of what was run: calibration_digest
 *      channels none                           ; or second, last: a dimension of every tensor
 *      samples 2
 *      sample images.npz:0 81ac...             ; its name, SHA-256 of its inputs
 *      sample images.npz:1 07b3...
 *      tensors 175
 *      tensor image count 301056 infinite 0 extent -2.1 2.64 sum 1a2p-8 squares 3bp0 ...
 *        samples -2.1 2.5 -1.9 2.64 channels 0 exponent 2 bins -538 3 5 0 ...   (one line a tensor)
 *
 * Everything in it merges in any order to the same bytes: extremes, counts, sums that do not round,
 * and a histogram whose bins join in pairs when it grows. */
#ifndef PASSES_CALIBRATE_CALIBRATION_H
#define PASSES_CALIBRATE_CALIBRATION_H

#include <stdio.h>

#include "ir/tensor/tensor.h"
#include "passes/calibrate/exact_sum.h"

/* ---- what is known of one tensor (range.c) ---- */

/* Bin number k, from -1024 to 1023, counts the numbers in [k, k + 1) * 2^(exponent - 10): bins[k +
 * 1024]. The exponent is the least, within its bounds, for which all numbers are in [-2^exponent,
 * 2^exponent). */
enum { RANGE_BINS = 2048, RANGE_EXPONENT_LEAST = -100, RANGE_EXPONENT_MOST = 128 };

struct extent { float least, most; };                     /* least > most: it is the extent of no
                                                           * number at all. */
extern const struct extent extent_none;
struct extent extent_join(struct extent a, struct extent b);
static inline bool extent_is_none(struct extent e) { return !(e.least <= e.most); }

struct range {
        const char *name;               /* The name is safe text without spaces; NULL: the range of
                                         * no tensor. */
        struct extent all;              /* All finite numbers lie in this extent; 0 is never -0. */
        uint64_t count, infinite;       /* `count` numbers are finite, `infinite` are not. A tensor
                                         * that has any of these should stay as it is. */
        struct exact_sum sum, squares;  /* The sums are over blocks of RANGE_BLOCK numbers, each
                                         * added up in double. */
        int exponent;
        uint64_t *bins;                 /* The array has RANGE_BINS elements. */
        struct extent *samples;         /* The extents of samples, [sample_count], in the file's
                                         * order; extent_none where a sample had no finite
                                         * number. */
        int64_t sample_count;
        struct extent *channels;        /* The extents of channels, [channel_count], along the
                                         * dimension that the file names. */
        int64_t channel_count;          /* 0: channels were not asked for. */
};

enum { RANGE_BLOCK = 4096 };
struct range *range_new(struct arena *arena, const char *name);
/* Adds numbers of a type of floats (numbers beyond f32 count as infinite); samples and channels
 * stay as they are. Returns the index of the first NaN, or -1; after a NaN the contents of the
 * range are undefined. */
int64_t range_add(struct range *r, enum element e, const void *data, int64_t count);
/* Adds the numbers of another range; samples and channels stay as they are. Returns false if a
 * count wraps. */
bool range_merge(struct range *r, const struct range *other);
/* Returns the index of x's bin; x lies within the histogram. */
int range_bin(const struct range *r, float x);
int range_exponent(struct extent e);                      /* Returns the exponent of a histogram for
                                                           * the extent. */
double range_mean(const struct range *r);                 /* Returns sum / count; 0 where there are
                                                           * no numbers. */

/* ---- steps (steps_scheme.c, observers.c, observer_entropy.c, observer_error.c) ---- */

enum observer {
#define OBSERVER(id, ...) OBSERVE_##id,
#include "passes/calibrate/observers.def"
        OBSERVER_COUNT
};
bool observer_from_text(const char *name, enum observer *observer);
const char *observer_name(enum observer o);
void observer_help(void);               /* Prints the name and doc of each on standard output. */

/* A scheme asks for whole numbers of type E_U8, E_I8, E_U16, E_I16, E_U4 or E_I4. Symmetric: the
 * zero point is in the middle (0, or 128 of u8), and the lowest number is not used. */
struct scheme { enum element to; bool symmetric, power_of_two; };
/* The number q stands for (q - zero) * scale. 0 is always represented exactly; scale is a positive
 * normal number. */
struct affine { float scale; int32_t zero; };

/* Returns the steps for a range. A range without numbers, or of zeros alone, has scale 1; one of a
 * single number c is taken as that of 0 and c. */
struct affine observe(const struct range *r, enum observer o, const struct scheme *g);
/* Returns the extent that the observer keeps, with 0 in it, and symmetric where the scheme is. */
struct extent observe_extent(const struct range *r, enum observer o, const struct scheme *g);
/* Returns the steps that hold an extent, of a channel for instance. */
struct affine affine_of(struct extent e, const struct scheme *g);
/* Finds the lowest and the highest number that are used. */
void scheme_limits(const struct scheme *g, int32_t *lowest, int32_t *highest);
/* Returns the step of f32 that is used for `step`: at least the least normal number, and of powers
 * of two the next one up. */
float scheme_scale(double step, const struct scheme *g);
enum element scheme_stored(const struct scheme *g); /* Returns the type that holds its numbers in
                                                     * memory; numbers of 4 bits are kept in
                                                     * bytes. */
/* These functions read TYPE[-symmetric][-powers] (schemes.def), and TYPE alone. */
bool scheme_from_text(const char *text, struct scheme *g);
bool scheme_element_from_text(const char *name, size_t length, enum element *to);
void scheme_help(void);                   /* Prints the schemes on standard output. */
/* Returns the mean square error of rounding to these steps, by the histogram: numbers are taken as
 * even within bins. */
double affine_error(const struct range *r, struct affine a, const struct scheme *g);

/* ---- all tensors (calibration.c) ---- */

enum channel_axis { CHANNELS_NONE, CHANNELS_SECOND, CHANNELS_LAST };

struct sample { const char *name; char digest[65]; };     /* name: safe text without spaces. */
struct calibration {
        char digest[65];
        enum channel_axis axis;
        struct sample *samples;         /* The samples are sorted by name, numbers in names as
                                         * numbers, then by digest: the order of moving averages. */
        int64_t sample_count;
        struct range **ranges;          /* The ranges are in the order of calibrated_values. */
        int range_count;
        struct map *by_name;
};

/* What is calibrated of a function: its inputs, the results of operations, and what loops carry and
 * scan, where these are floats of static shape that depend on an input, and not on constants alone.
 * Each has a name that follows from the function alone. A value inside a loop or a branch has all
 * numbers that it took. */
struct calibrated {
        struct value *value;
        const char *name;               /* The name: of the input; of the model's node and the
                                         * operation, "conv1.convolve"; of an argument of a loop its
                                         * region and number besides, "lstm.loop.body.1". #2, #3 ..
                                         * follow where the name was taken. */
        /* An earlier value with this index has the same numbers in other places, or each as often
         * as all others (reshape, transpose, broadcast): this one is looked at only in calibrations
         * by channels; -1: there is none. */
        int same;
};
/* Lists the calibrated values. It uses number and scratch of values. */
struct calibrated *calibrated_values(struct arena *arena, const struct function *f, int *count);
/* Returns the name under which a file has the ranges of a value of f that is called `name`: it
 * begins with the entry where the module has several. */
const char *calibration_name(struct arena *arena, const struct function *f, const char *name);
/* Returns the dimension that holds the channels of a type; -1: it has none. */
int calibration_axis(enum channel_axis axis, const struct type *type);

/* Computes the SHA-256 of the module's text and constants, without what its head says: it is equal
 * where the same is computed, whichever way that came about. */
void calibration_digest(struct module *m, char hex[65]);

struct calibration *calibration_new(struct arena *arena, enum channel_axis axis);
/* Adds a range, whose name is new. */
void calibration_add(struct calibration *c, struct arena *arena, struct range *r);
/* Returns the range of that name; NULL: there is none. */
const struct range *calibration_find(const struct calibration *c, const char *name);
/* Compares as strcmp does. */
int sample_order(const struct sample *a, const struct sample *b);
/* Adds the contents of another calibration, made of the same module and of other samples. Ranges of
 * one name become one; those of another entry are added. Returns false after one EXIT_INVALID
 * error. */
bool calibration_merge(struct calibration *c, const struct calibration *other, struct arena *arena,
                       struct diag *diag);

/* ---- the file (calibration_text.c) ---- */

#define CALIBRATION_HEAD "dnncc-ranges 1\n"
void calibration_write(const struct calibration *c, FILE *out);
/* Reads a file's text, which is hostile as any input. Returns NULL after one EXIT_INVALID error
 * that names the line. room: the bytes that its tensors may take (--limit range_bytes). It reads
 * exactly the form that is written. */
struct calibration *calibration_read(struct arena *arena, const char *text, size_t length,
                                     int64_t room, struct diag *diag);

#endif
