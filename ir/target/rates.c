/* SPDX-License-Identifier: MIT */
#include "ir/target/rates.h"

#include <string.h>

#define RATE(name, neutral, unit, doc) \
        double rate_##name(const struct target *t) \
        { \
                while (t && !(t->rates && t->rates->name > 0)) \
                        t = t->base; \
                return t ? t->rates->name : (neutral); \
        }
#include "ir/target/rates.def"

double rate_multiply(const struct target *t, const struct multiply *m)
{
        enum { PRODUCT_AND_SUM = 2 };
        for (const struct target *base = t; m && base; base = base->base) {
                const struct multiply_rate *r = base->rates ? base->rates->multiplies : NULL;
                for (; r && r->name; r++)
                        if (!strcmp(r->name, m->name))
                                return r->cycles;
        }
        if (m && m->registers)
                return rate_tile_multiply(t);
        return (m ? m->instructions : PRODUCT_AND_SUM) / rate_issue(t);
}
