/* SPDX-License-Identifier: MIT */
/* Stands for CUDA's own header where the executor compiles a .cu: all names are in executor.h. */
