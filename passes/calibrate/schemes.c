/* SPDX-License-Identifier: MIT */
/* Schemes are the whole numbers that a value is kept as (schemes.def), with their steps for an
 * extent. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "passes/calibrate/observers.h"

static const struct { const char *name; enum element to, stored; const char *doc; } schemes[] = {
#define SCHEME(name_, element_, stored_, doc_) { #name_, element_, stored_, doc_ },
#include "passes/calibrate/schemes.def"
};
enum { SCHEME_COUNT = sizeof schemes / sizeof *schemes };

static const char symmetric[] = "-symmetric", powers[] = "-powers";

bool scheme_element_from_text(const char *name, size_t length, enum element *to)
{
        for (int i = 0; i < SCHEME_COUNT; i++)
                if (strlen(schemes[i].name) == length && !strncmp(name, schemes[i].name, length)) {
                        *to = schemes[i].to;
                        return true;
                }
        return false;
}

static bool take(const char **text, const char *word)
{
        const size_t length = strlen(word);
        const bool there = !strncmp(*text, word, length);
        *text += there ? length : 0;
        return there;
}

bool scheme_from_text(const char *text, struct scheme *g)
{
        const size_t length = strcspn(text, "-");
        *g = (struct scheme){ .to = E_U8 };
        if (!scheme_element_from_text(text, length, &g->to))
                return false;
        text += length;
        g->symmetric = take(&text, symmetric);
        g->power_of_two = take(&text, powers);
        return !*text;
}

void scheme_help(void)
{
        for (int i = 0; i < SCHEME_COUNT; i++)
                printf("  %-10s %s\n", schemes[i].name, schemes[i].doc);
        printf("  %-10s behind one of these: the zero point is in the middle\n"
               "  %-10s behind that: all steps, those of weights too, are powers of two\n",
               symmetric, powers);
}

enum element scheme_stored(const struct scheme *g)
{
        int i = 0;
        while (schemes[i].to != g->to)
                i++;
        return schemes[i].stored;
}

/* ---- steps ---- */

void scheme_limits(const struct scheme *g, int32_t *lowest, int32_t *highest)
{
        bool is_signed = g->to == E_I8 || g->to == E_I16 || g->to == E_I4;
        int bits = g->to == E_I16 || g->to == E_U16 ? 16 : g->to == E_I4 || g->to == E_U4 ? 4 : 8;
        *lowest = is_signed ? -(1 << (bits - 1)) : 0;
        *highest = *lowest + (1 << bits) - 1;
        *lowest += g->symmetric;
}

struct extent extent_on(struct extent e, const struct scheme *g)
{
        if (extent_is_none(e))
                return (struct extent){ 0, 0 };
        e = extent_join(e, (struct extent){ 0, 0 });
        float far = fmaxf(-e.least, e.most);
        return g->symmetric ? (struct extent){ -far, far } : e;
}

float scheme_scale(double step, const struct scheme *g)
{
        if (g->power_of_two) {
                int exponent;
                double mantissa = frexp(step, &exponent); /* The mantissa is in [1/2, 1). */
                step = ldexp(1, mantissa == 0.5 ? exponent - 1 : exponent);
        }
        float scale = (float)step;
        return scale < FLT_MIN ? FLT_MIN : scale;
}

struct affine affine_of(struct extent e, const struct scheme *g)
{
        int32_t lowest, highest;
        scheme_limits(g, &lowest, &highest);
        e = extent_on(e, g);
        int32_t middle = lowest + (highest - lowest) / 2;
        if (e.least == e.most)          /* Both are 0. */
                return (struct affine){ 1, g->symmetric ? middle : 0 };
        float scale = scheme_scale(((double)e.most - (double)e.least) / (highest - lowest), g);
        if (g->symmetric)
                return (struct affine){ scale, middle };
        /* The zero point is in range but for rounding. */
        double zero = nearbyint(lowest - (double)e.least / (double)scale);
        zero = zero < lowest ? lowest : zero > highest ? highest : zero;
        return (struct affine){ scale, (int32_t)zero };
}
