/* SPDX-License-Identifier: MIT */
/* What a target says of itself, for fit_cost.py:
 *
 *      rates TARGET
 *
 * prints a line for the target, one for each rate and one for each multiply whose sums are in its vectors. */
#include <stdio.h>
#include <string.h>

#include "codegen/targets.h"
#include "ir/target/rates.h"

static bool is_first_of_its_name(const struct target *t, int number)
{
        for (int i = 0; i < number; i++)
                if (!strcmp(multiply_at(t, i)->name, multiply_at(t, number)->name))
                        return false;
        return true;
}

static void print_multiplies(const struct target *t)
{
        const struct multiply *m;
        for (int i = 0; (m = multiply_at(t, i)); i++)
                if (is_first_of_its_name(t, i) && (m->registers || m->outputs == target_lanes(t, m->sum)))
                        printf("multiply %s lanes=%d group=%d x=%s w=%s word=%s sum=%s body=%s join=%s tiles=%d instructions=%d cycles=%.4g\n", m->name,
                               m->outputs, m->channels, element_info[m->x.memory].text, element_info[m->w.memory].text, element_info[m->w.word].text,
                               element_info[m->sum].text, m->body ? m->body : "", m->join ? m->join : "", m->registers > 0, m->instructions,
                               rate_multiply(t, m));
}

int main(int argc, char **argv)
{
        const struct target *t = argc == 2 ? target_find(argv[1]) : NULL;
        if (!t) {
                fprintf(stderr, "usage: rates TARGET\n");
                return 1;
        }
        printf("target %s runs=%d vector_bytes=%d registers=%d fma=%d l1=%lld l2=%lld\n", t->name, target_runs_here(t),
               target_vector_bytes(t), target_vector_registers(t), target_has_fma(t), (long long)target_l1_bytes(t), (long long)target_l2_bytes(t));
#define RATE(name, neutral, unit, doc) printf("rate " #name " %.6g " unit "\n", rate_##name(t));
#include "ir/target/rates.def"
        print_multiplies(t);
        return 0;
}
