/* SPDX-License-Identifier: MIT */
/* Clusters in CUDA C, from sm_90 on (distributed shared memory): each block has a part of the
 * cluster's memory in its own shared memory, and reads the other parts through addresses that mapa
 * makes.
 *
 *     float *const sums = (float *)(shared_memory());
 *     unload_f32_8(sums + .., 72, acc[0]);
 *     cluster_barrier();
 *     y[..] = sums_of ... ((const float *)cluster_at(sums, 1))[at]
 *     cluster_leave();
 *
 * cluster_leave waits, because a block may not end while another one reads its memory. */
#include "codegen/cuda_writer.h"

#include "ir/loop/loop_bounds.h"

static const char leaves[] =
        "\n"
        "#ifndef CUDA_CPU\n"
        "/* Waits for all threads of the cluster's blocks; behind this, what they wrote to shared "
        "memory is seen. */\n"
        "static __device__ __forceinline__ void cluster_barrier(void)\n"
        "{\n"
        "        asm volatile(\"barrier.cluster.arrive.release;\\nbarrier.cluster.wait.acquire;\" "
        "::: \"memory\");\n"
        "}\n"
        "/* Waits for them behind the last reads of each other's shared memory, which must stay "
        "until then. What was written before\n"
        " * need not be seen. */\n"
        "static __device__ __forceinline__ void cluster_leave(void)\n"
        "{\n"
        "        asm volatile(\"barrier.cluster.arrive.relaxed;\\nbarrier.cluster.wait.acquire;\" "
        "::: \"memory\");\n"
        "}\n"
        "/* Returns the address that `shared` has in another block of the cluster. */\n"
        "static __device__ __forceinline__ const void *cluster_at(const void *shared, unsigned "
        "block)\n"
        "{\n"
        "        const void *there;\n"
        "        asm(\"mapa.u64 %0, %1, %2;\" : \"=l\"(there) : \"l\"(shared), \"r\"(block));\n"
        "        return there;\n"
        "}\n"
        "#endif\n";

void cuda_clusters_top(struct c_writer *w, struct text *out)
{
        if (w->cuda->clusters)
                text_add(out, "%s", leaves);
}

const struct loop_expr *cuda_cluster_place(struct c_writer *w, struct loop_buffer *b,
                                           const struct loop_expr *index)
{
        struct loop_expr *block, *within;
        const bool lanes = b->space == SPACE_LANES;
        if (b->space != SPACE_CLUSTER && !lanes) {
                c_put(w, "%s", c_use(w, b));
                return index;
        }
        if (!w->bounds)
                w->bounds = loop_bounds_new(w->arena, w->kernel);
        if (!loop_cluster_place(w->arena, w->bounds, index,
                                b->extent / (lanes ? GRID_LANES : w->cuda->phase->cluster), 1,
                                &block, &within)) {
                c_fail(w, EXIT_INTERNAL, "a place of %s is not known to be one %s's", b->name,
                       lanes ? "lane" : "block");
                return index;
        }
        if (lanes) {
                c_put(w, "%s", c_use(w, b));
                return within;
        }
        if (block->op == LOOP_VARIABLE && block->variable == w->cuda->block->variable) {
                c_put(w, "%s", c_use(w, b));
                return within;
        }
        c_put(w, "((const %s *)cluster_at(%s," C_SOFT, element_info[b->element].c_type,
              c_use(w, b));
        c_expression(w, block);
        c_put(w, "))");
        return within;
}
