/* SPDX-License-Identifier: MIT */
/* The cost model of threads that share a contraction (threads_cost.c): predicted cycles of the
 * slowest one. */
#ifndef COST_THREADS_COST_H
#define COST_THREADS_COST_H

#include <stdbool.h>

#include "ir/target/target.h"

/* What is shared: rows of tiles by panels; the cycles of one core for them, without reading the
 * weights; the bytes of the weights, of the operand, of what is gathered from it first, and of the
 * result. */
struct shared_work {
        int64_t rows, panels;
        double cycles, weights, operand, gathered, result;
};
/* How it is shared: tasks, rows by panels, and whether panels read channels of their own (apart);
 * the threads that made the operand, where one alone runs this (team); whether each thread reads of
 * the operand what it wrote, and will read of the result what it writes. */
struct shared_how {
        int rows, panels;
        bool apart;
        int team;
        bool reads_own, read_by_own;
};

/* Are so many cycles of one core worth sharing at all? */
bool shared_is_worth(double cycles, const struct target *target);
double shared_cost(const struct shared_work *work, const struct shared_how *how,
                   const struct target *target);

#endif
