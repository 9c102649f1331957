/* SPDX-License-Identifier: MIT */
/* A frame is what the processes of a farm (farm.h) send each other: this head, then `length` bytes.
 * It goes over a socket of this machine, between the coordinator and a worker, or between either
 * and the program that carries it on by MPI (farm_mpi.c). The coordinator has place 0, workers have
 * places from 1 on. */
#ifndef COMPILER_FARM_FRAME_H
#define COMPILER_FARM_FRAME_H

#include <stdint.h>

enum farm_kind {
        FARM_HELLO = 1,                 /* A worker says which build of dnncc it is, and where. */
        FARM_PIECE,                     /* A worker gets a piece: its number, then its bytes. */
        FARM_RESULT,                    /* The worker's answer: the number, then the result. */
        FARM_STRUCK,                    /* A worker cannot work: the text says why. */
        FARM_END,                       /* There is no more work for this worker. */
        FARM_LOST                       /* A worker has ended, or is silent. */
};

struct farm_frame {
        uint32_t peer;                  /* The place that it goes to or, received, comes from. */
        uint32_t kind;
        uint64_t length;
};

#define FARM_BYTES_MOST ((uint64_t)1 << 30)     /* A frame is no longer than this. */
/* The transport by MPI hands each process its socket, its place and the number of workers in this
 * variable, "FD PLACE WORKERS". */
#define FARM_VARIABLE "DNNCC_FARM"

#endif
