/* SPDX-License-Identifier: MIT */
/* Predicts what threads that share a contraction cost (threads_cost.c), in cycles of the slowest
 * one. */
#ifndef COST_THREADS_COST_H
#define COST_THREADS_COST_H

#include <stdbool.h>

#include "ir/target/target.h"

/* Threads share rows of tiles by panels. These are the cycles of one core for them, without reading
 * the weights, and the bytes of the weights, of the operand, of what is gathered from it first, and
 * of the result. */
struct shared_work {
        int64_t rows, panels;
        double cycles, weights, operand, gathered, result;
};
/* Threads share the work in this way: tasks are rows by panels; apart: panels read channels of
 * their own; team: this many threads made the operand, where one thread alone runs this; reads_own:
 * each thread reads of the operand what it wrote; read_by_own: it will read of the result what it
 * writes. */
struct shared_how {
        int rows, panels;
        bool apart;
        int team;
        bool reads_own, read_by_own;
};

/* Is work of `cycles` cycles of one core worth sharing at all? */
bool shared_is_worth(double cycles, const struct target *target);
double shared_cost(const struct shared_work *work, const struct shared_how *how,
                   const struct target *target);

#endif
