/* Interface of the model digits, compiled by dnncc 0.1.0 with -O2
 * source: SHA-256 7b38324d690f7bfc9c081e8f99d34058a86d8b5111b01aca4095155e6f730c6c
 * licence: yours; that of dnncc puts no condition on this file */
#ifndef DIGITS_H_ABI_1
#define DIGITS_H_ABI_1
#define DIGITS_BUILD_EC55CBDD367596D8

/*
 *     DIGITS_WORKSPACE_DEFINE(workspace);
 *     static float image[DIGITS_IMAGE_ELEMS];
 *     static float probabilities[DIGITS_PROBABILITIES_ELEMS];
 *     int error = digits_run(workspace, image, probabilities);
 *
 * parameter                type           extents                  name in the model
 * image                    const float    1 x 1 x 8 x 8            image
 * probabilities            float          1 x 10                   probabilities
 *
 * Tensors are dense, the last extent varies fastest, and aligned as their type asks for. None
 * may overlap the workspace, and no result another tensor; one without elements may be NULL.
 * The workspace holds nothing between calls; calls with different workspaces and results may
 * run at the same time.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* bytes of scratch memory the caller provides, their alignment, and
 * a macro that declares a static one: DIGITS_WORKSPACE_DEFINE(name); */
#define DIGITS_WORKSPACE_SIZE 12288u
#define DIGITS_WORKSPACE_ALIGN 64u
#if defined(__GNUC__) || defined(__TINYC__)
#define DIGITS_WORKSPACE_DEFINE(name) static unsigned char __attribute__((aligned(64))) name[12288]
#elif defined(_MSC_VER)
#define DIGITS_WORKSPACE_DEFINE(name) static __declspec(align(64)) unsigned char name[12288]
#elif defined(__cplusplus)
#define DIGITS_WORKSPACE_DEFINE(name) alignas(64) static unsigned char name[12288]
#else
#define DIGITS_WORKSPACE_DEFINE(name) static _Alignas(64) unsigned char name[12288]
#endif

/* elements, number of extents, and the extents as an initializer ({0} where
 * there are none) */
#define DIGITS_IMAGE_ELEMS 64u
#define DIGITS_IMAGE_RANK 4
#define DIGITS_IMAGE_SHAPE {1, 1, 8, 8}
#define DIGITS_PROBABILITIES_ELEMS 10u
#define DIGITS_PROBABILITIES_RANK 2
#define DIGITS_PROBABILITIES_SHAPE {1, 10}

/* what digits_run returns when it is not 0 */
#define DIGITS_ERROR_NULL                (-1)    /* a pointer is null */
#define DIGITS_ERROR_ALIGNMENT           (-2)    /* a pointer is not aligned for its type */
#define DIGITS_ERROR_INDEX               (-3)    /* a run-time index is out of range */
#define DIGITS_ERROR_EXTENT              (-4)    /* a run-time extent, axis or amount does not fit the declared shape */

int digits_run(void *workspace, const float *image, float *probabilities);

/* For callers that do not know the model: types, shapes, memory, a uniform way to run it. */
#ifndef DNNCC_ABI_1
#define DNNCC_ABI_1
struct dnncc_tensor_1 {
        const char *name;               /* in the model */
        int32_t type;                   /* ONNX TensorProto.DataType */
        int32_t rank;
        const int64_t *shape;           /* bounds where dynamic; NULL if rank is 0 */
        const char *const *symbols;     /* NULL if static */
        uint64_t bytes;
};
struct dnncc_region_1 {
        const char *name;
        uint64_t size, align;
        int32_t kind;                   /* 0 scratch, 1 state, 2 weights, 3 device */
};
struct dnncc_model_1 {
        uint32_t abi, struct_size;
        const char *name;
        uint32_t region_count, input_count, output_count, extent_count;
        const struct dnncc_region_1 *regions;
        const struct dnncc_tensor_1 *inputs, *outputs;
        int (*run)(void *const *regions, const void *const *inputs, void *const *outputs,
                int64_t *extents);
};
#endif
const struct dnncc_model_1 *digits_describe(void);

#ifdef __cplusplus
}
#endif

#endif
