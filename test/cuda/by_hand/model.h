/* SPDX-License-Identifier: MIT */
/* The interface of a generated model, by hand: table[index] x w + b, rows of 64, sums of a row by a warp. */
#ifndef MODEL_H
#define MODEL_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MODEL_WORKSPACE_SIZE 4352u
#define MODEL_WORKSPACE_ALIGN 128u
#define MODEL_WEIGHTS_SIZE 16640u
#define MODEL_WEIGHTS_ALIGN 128u

#define MODEL_ERROR_NULL (-1)
#define MODEL_ERROR_ALIGNMENT (-2)
#define MODEL_ERROR_INDEX (-3)
#define MODEL_ERROR_PROCESSOR (-7)
#define MODEL_ERROR_DEVICE (-8)
#define MODEL_ERROR_PREPARE (-9)

struct CUstream_st;
int model_prepare(void);
int model_load(void *weights, struct CUstream_st *stream);
int model_run(void *workspace, const void *weights, const float *table, const int64_t *index, float *y, struct CUstream_st *stream);
int model_status(void *workspace, struct CUstream_st *stream);
const struct dnncc_model_1 *model_describe(void);

#ifdef __cplusplus
}
#endif
#endif
