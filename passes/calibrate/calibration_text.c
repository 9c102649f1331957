/* SPDX-License-Identifier: MIT */
/* Reads and writes the file of a calibration. The words of a line are separated by one space; a
 * float is written with the fewest digits that read back as the same float. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ir/tensor/tensor_text.h"
#include "passes/calibrate/calibration.h"

enum { HEX_DIGITS = 64, HALF = RANGE_BINS / 2 };

static const char *const axis_names[] = {
        [CHANNELS_NONE] = "none", [CHANNELS_SECOND] = "second", [CHANNELS_LAST] = "last",
};
enum { AXIS_COUNT = sizeof axis_names / sizeof *axis_names };

/* ---- writing ---- */

static void write_extent(FILE *out, struct arena *arena, struct extent e)
{
        if (extent_is_none(e))
                fputs(" none", out);
        else
                fprintf(out, " %s %s", text_number(arena, (double)e.least, true),
                        text_number(arena, (double)e.most, true));
}

static void write_bins(FILE *out, const struct range *r)
{
        int first = 0, last = RANGE_BINS - 1;
        while (last >= 0 && !r->bins[last])
                last--;
        while (first < last && !r->bins[first])
                first++;
        fprintf(out, " exponent %d bins %d", r->exponent, last < 0 ? 0 : first - HALF);
        for (int k = first; k <= last; k++)
                fprintf(out, " %" PRIu64, r->bins[k]);
        fputc('\n', out);
}

static void write_range(FILE *out, const struct range *r)
{
        struct arena *arena = arena_new();
        struct text sums = { 0 };
        exact_sum_print(&sums, &r->sum);
        text_add(&sums, " squares ");
        exact_sum_print(&sums, &r->squares);
        fprintf(out, "tensor %s count %" PRIu64 " infinite %" PRIu64 " extent", r->name, r->count,
                r->infinite);
        write_extent(out, arena, r->all);
        fprintf(out, " sum %s samples", sums.data);
        for (int64_t i = 0; i < r->sample_count; i++)
                write_extent(out, arena, r->samples[i]);
        fprintf(out, " channels %" PRId64, r->channel_count);
        for (int64_t i = 0; i < r->channel_count; i++)
                write_extent(out, arena, r->channels[i]);
        write_bins(out, r);
        text_free(&sums);
        arena_free(arena);
}

void calibration_write(const struct calibration *c, FILE *out)
{
        fprintf(out, CALIBRATION_HEAD "function %s\nchannels %s\nsamples %" PRId64 "\n", c->digest,
                axis_names[c->axis], c->sample_count);
        for (int64_t i = 0; i < c->sample_count; i++)
                fprintf(out, "sample %s %s\n", c->samples[i].name, c->samples[i].digest);
        fprintf(out, "tensors %d\n", c->range_count);
        for (int i = 0; i < c->range_count; i++)
                write_range(out, c->ranges[i]);
}

/* ---- words ---- */

struct reader {
        struct arena *arena;
        struct diag *diag;
        char *next, *end;               /* The lines between the two are still to be read. */
        int line;                       /* The line that is read has this number. */
        char *rest;                     /* The rest of that line begins here. */
        struct calibration *c;
        int64_t room, taken;            /* Its tensors may take `room` bytes, and take `taken`. */
};

static bool fail(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct reader *r, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        const char *what = arena_vprintf(r->arena, format, list);
        va_end(list);
        diag_error(r->diag, EXIT_INVALID, "line " DIAG_LINE("%d") " of the ranges: %s", r->line,
                   what);
        return false;
}

static bool next_line(struct reader *r)
{
        r->line++;
        char *stop = r->next < r->end ? memchr(r->next, '\n', (size_t)(r->end - r->next)) : NULL;
        if (!stop)
                return fail(r, "the file ends before its end");
        *stop = 0;
        r->rest = r->next;
        r->next = stop + 1;
        return strlen(r->rest) == (size_t)(stop - r->rest) || fail(r, "a byte is 0");
}

/* Returns the next word; "" at the end, and between two spaces. */
static char *word(struct reader *r)
{
        char *start = r->rest, *stop = strchr(start, ' ');
        r->rest = stop ? stop + 1 : start + strlen(start);
        if (stop)
                *stop = 0;
        return start;
}

static const char *safe(struct reader *r, const char *text)
{
        return text_safe(r->arena, text, strlen(text));
}

static bool expect(struct reader *r, const char *what)
{
        const char *found = word(r);
        return !strcmp(found, what) || fail(r, "want '%s', not '%s'", what, safe(r, found));
}

static bool expect_end(struct reader *r)
{
        return !*r->rest || fail(r, "'%s' is more than belongs here", safe(r, r->rest));
}

static bool read_count(struct reader *r, int64_t *count)
{
        const char *digits = word(r);
        size_t length = strspn(digits, "0123456789");
        return (length && !digits[length] && (digits[0] != '0' || length == 1) &&
                int_parse(digits, count)) ||
               fail(r, "want a count, not '%s'", safe(r, digits));
}

static bool read_small(struct reader *r, const char *what, int least, int most, int *number)
{
        const char *digits = word(r);
        int64_t value;
        if (!int_parse(digits, &value) || value < least || value > most)
                return fail(r, "%s is '%s', and not from %d to %d", what, safe(r, digits), least,
                            most);
        *number = (int)value;
        return true;
}

static bool read_float(struct reader *r, const char *digits, float *x)
{
        if (literal_parse(digits, E_F32, x, 0) != LITERAL_OK || !isfinite(*x) ||
            (*x == 0 && signbit(*x)))
                return fail(r, "want a finite number, not '%s'", safe(r, digits));
        return true;
}

static bool read_extent(struct reader *r, struct extent *e)
{
        const char *first = word(r);
        *e = extent_none;
        if (!strcmp(first, "none"))
                return true;
        return read_float(r, first, &e->least) && read_float(r, word(r), &e->most) &&
               (!extent_is_none(*e) || fail(r, "the least of a range is above the most"));
}

static bool read_digest(struct reader *r, char digest[65])
{
        const char *digits = word(r);
        if (strlen(digits) != HEX_DIGITS || strspn(digits, "0123456789abcdef") != HEX_DIGITS)
                return fail(r, "want the 64 digits of a digest, not '%s'", safe(r, digits));
        memcpy(digest, digits, HEX_DIGITS + 1);
        return true;
}

static bool read_name(struct reader *r, const char **name)
{
        *name = word(r);
        for (const char *p = *name; *p; p++)
                if (*p <= ' ' || *p > '~')
                        return fail(r, "'%s' is no name", safe(r, *name));
        return **name || fail(r, "want a name");
}

/* ---- a tensor ---- */

static bool read_extents(struct reader *r, struct extent **extents, int64_t count)
{
        if (count > (int64_t)strlen(r->rest) / 4)         /* Each extent takes at least the word
                                                           * "none", so no memory is taken for
                                                           * more. */
                return fail(r, "there are fewer than %" PRId64 " extents", count);
        *extents = arena_array(r->arena, (size_t)count, sizeof **extents);
        for (int64_t i = 0; i < count; i++)
                if (!read_extent(r, &(*extents)[i]))
                        return false;
        return true;
}

static bool read_bins(struct reader *r, struct range *range)
{
        int first;
        uint64_t total = 0;
        if (!expect(r, "exponent") ||
            !read_small(r, "the exponent", RANGE_EXPONENT_LEAST, RANGE_EXPONENT_MOST,
                        &range->exponent) ||
            !expect(r, "bins") || !read_small(r, "the first bin", -HALF, HALF - 1, &first))
                return false;
        for (int k = first + HALF; *r->rest; k++) {
                int64_t count;
                if (k == RANGE_BINS)
                        return fail(r, "there are more than %d bins", RANGE_BINS);
                if (!read_count(r, &count))
                        return false;
                range->bins[k] = (uint64_t)count;
                if (__builtin_add_overflow(total, (uint64_t)count, &total))
                        return fail(r, "what the bins count wraps");
        }
        return total == range->count ||
               fail(r, "the bins count %" PRIu64 " numbers, the tensor has %" PRIu64, total,
                    range->count);
}

static struct extent join_all(const struct extent *extents, int64_t count)
{
        struct extent all = extent_none;
        for (int64_t i = 0; i < count; i++)
                all = extent_join(all, extents[i]);
        return all;
}

static bool is_same(struct extent a, struct extent b)
{
        return (extent_is_none(a) && extent_is_none(b)) || (a.least == b.least && a.most == b.most);
}

/* Checks that what is stated twice is equal. */
static bool check_range(struct reader *r, const struct range *range)
{
        if (extent_is_none(range->all) != !range->count)
                return fail(r, "an extent is of some numbers, and none of none");
        if (!is_same(join_all(range->samples, range->sample_count), range->all))
                return fail(r, "the extent is not that of all samples");
        if (range->channel_count &&
            !is_same(join_all(range->channels, range->channel_count), range->all))
                return fail(r, "the extent is not that of all channels");
        if (range_exponent(range->all) != range->exponent)
                return fail(r, "the exponent for this extent is %d", range_exponent(range->all));
        if (!range->count)
                return true;
        int first = range_bin(range, range->all.least), last = range_bin(range, range->all.most);
        for (int k = 0; k < RANGE_BINS; k++)
                if (range->bins[k] ? k < first || k > last : k == first || k == last)
                        return fail(r, "bin %d is not as the extent says", k - HALF);
        return true;
}

static bool read_sum(struct reader *r, const char *what, struct exact_sum *sum)
{
        if (!expect(r, what))
                return false;
        const char *digits = word(r);
        return exact_sum_parse(digits, sum) || fail(r, "'%s' is no sum", safe(r, digits));
}

/* Counts the memory of a histogram before it is allocated: a line of a hundred characters may hold
 * one. */
static bool take_room(struct reader *r)
{
        r->taken += RANGE_BINS * (int64_t)sizeof(uint64_t) + (int64_t)sizeof(struct range);
        return r->taken <= r->room ||
               fail(r, "its tensors take more than %" PRId64
                       " bytes (" DIAG_HINT("raise it with --limit range_bytes=N") ")",
                    r->room);
}

static bool read_range(struct reader *r)
{
        const char *name;
        int64_t count, infinite;
        if (!next_line(r) || !expect(r, "tensor") || !read_name(r, &name))
                return false;
        if (calibration_find(r->c, name))
                return fail(r, "tensor %s is there twice", safe(r, name));
        if (!take_room(r))
                return false;
        struct range *range = range_new(r->arena, name);
        range->sample_count = r->c->sample_count;
        if (!expect(r, "count") || !read_count(r, &count) || !expect(r, "infinite") ||
            !read_count(r, &infinite) || !expect(r, "extent") || !read_extent(r, &range->all) ||
            !read_sum(r, "sum", &range->sum) || !read_sum(r, "squares", &range->squares) ||
            !expect(r, "samples") || !read_extents(r, &range->samples, range->sample_count) ||
            !expect(r, "channels") || !read_count(r, &range->channel_count) ||
            !read_extents(r, &range->channels, range->channel_count))
                return false;
        range->count = (uint64_t)count;
        range->infinite = (uint64_t)infinite;
        if (range->channel_count && r->c->axis == CHANNELS_NONE)
                return fail(r, "the file has no channels");
        if (!read_bins(r, range) || !check_range(r, range))
                return false;
        calibration_add(r->c, r->arena, range);
        return true;
}

/* ---- the file ---- */

static bool read_axis(struct reader *r)
{
        if (!next_line(r) || !expect(r, "channels"))
                return false;
        const char *name = word(r);
        for (int i = 0; i < AXIS_COUNT; i++)
                if (!strcmp(axis_names[i], name)) {
                        r->c->axis = (enum channel_axis)i;
                        return expect_end(r);
                }
        return fail(r, "want none, second or last, not '%s'", safe(r, name));
}

static bool read_samples(struct reader *r)
{
        struct calibration *c = r->c;
        int64_t count;
        if (!next_line(r) || !expect(r, "samples") || !read_count(r, &count) || !expect_end(r))
                return false;
        if (!count)
                return fail(r, "there are no samples");
        for (int64_t i = 0; i < count; i++) {
                struct sample s;
                if (!next_line(r) || !expect(r, "sample") || !read_name(r, &s.name) ||
                    !read_digest(r, s.digest) || !expect_end(r))
                        return false;
                if (i && sample_order(&c->samples[i - 1], &s) >= 0)
                        return fail(r, "sample %s is there twice, or not in order",
                                    safe(r, s.name));
                ARENA_GROW(r->arena, c->samples, c->sample_count);
                c->samples[c->sample_count++] = s;
        }
        return true;
}

static bool read_all(struct reader *r)
{
        int64_t tensors;
        if (!next_line(r) || !expect(r, "function") || !read_digest(r, r->c->digest) ||
            !expect_end(r) || !read_axis(r) || !read_samples(r) || !next_line(r) ||
            !expect(r, "tensors") || !read_count(r, &tensors) || !expect_end(r))
                return false;
        for (int64_t i = 0; i < tensors; i++)
                if (!read_range(r))
                        return false;
        r->line++;
        return r->next == r->end || fail(r, "there are %" PRId64 " tensors and more", tensors);
}

struct calibration *calibration_read(struct arena *arena, const char *text, size_t length,
                                     int64_t room, struct diag *diag)
{
        size_t head = strlen(CALIBRATION_HEAD);
        struct reader r = { .arena = arena, .diag = diag, .line = 1, .room = room,
                            .c = calibration_new(arena, CHANNELS_NONE) };
        if (length < head || memcmp(text, CALIBRATION_HEAD, head) != 0) {
                diag_error(diag, EXIT_INVALID,
                           "not a file of ranges: the first line is not 'dnncc-ranges 1'");
                return NULL;
        }
        r.next = arena_copy(arena, text + head, length - head);
        r.end = r.next + (length - head);
        return read_all(&r) ? r.c : NULL;
}
