/* SPDX-License-Identifier: MIT */
/* The words engine is for small cores, whose general registers hold words of a few elements: a
 * contraction of bytes is computed in register tiles of single sums, by products of words, and one
 * of floats in the target's wide vectors, if it has such. All else is computed as on the scalar
 * engine. */
#include "engines/words/words_engine.h"
#include "base/size.h"
#include "engines/vector/vector_engine.h"
#include "ir/target/engine.h"
#include "ir/target/target.h"
#include "kernels/kernel_state.h"
#include "kernels/kernels.h"
#include "schedule/choose.h"

#include <math.h>

static const struct lowering lowerings[] = {
        { .code = OP_convolve_packed,
          .reads = READS(I8) | READS(U8) | READS(I16) | READS(F32),
          .prepare = contract_prepare,
          .choose = words_choose,
          .images = true,
          .positions = true },
        { .code = OP_convolve_lanes,
          .reads = READS(I8) | READS(U8) | READS(F32),
          .prepare = lanes_prepare,
          .choose = words_choose_lanes,
          .images = true,
          .positions = true },
        { .reads = 0 }
};

static bool fits(const struct target *target)
{
        return target_vector_registers(target) > 0;
}

/* Returns the outputs of a tile, or the vectors of them, that loads least for its products. A tile
 * reads its panel from the front to the end. */
static int64_t panel(const struct target *target, const struct multiply *m,
                     const struct schedule_product *product)
{
        enum { MOST = 4 };
        const int64_t all = divide_up(product->outputs, m->outputs);
        int64_t best = 1;
        double least = INFINITY;
        target = target_of_width(target, m->outputs > 1);
        for (int64_t outputs = 1; outputs <= MOST && all % outputs == 0; outputs *= 2) {
                const double positions = schedule_positions(target, m, (int)outputs, 2),
                             loads = (positions + (double)outputs) /
                                     (positions * (double)outputs);
                if (positions < 1 || loads >= least)
                        continue;
                least = loads;
                best = outputs;
        }
        return best;
}

const struct engine engine_words = {
        .name = "words",
        .doc = "words of a few bytes in general registers, one sum each",
        .base = &engine_scalar,
        .fits = fits,
        .blocks = true,
        .single_sums = true,
        .layout = LAYOUT_CHANNELS_LAST,
        .lowerings = lowerings,
        .panel = panel,
};
