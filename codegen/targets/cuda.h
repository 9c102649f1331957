/* SPDX-License-Identifier: MIT */
/* What targets for NVIDIA's GPUs share. Kernels run in grid form; the host is any processor. */
#ifndef CODEGEN_TARGETS_CUDA_H
#define CODEGEN_TARGETS_CUDA_H

#include "codegen/cuda_printer.h"

enum { CUDA_ALIGN = 128 };              /* of memory: a transaction */
#define CUDA_MACHINE "defined(__CUDACC__)"

#endif
