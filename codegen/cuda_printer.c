/* SPDX-License-Identifier: MIT */
/* Prints CUDA C as a dialect of the C printer: the parts of a file that differ from C, and the text
 * at the top of the file. */
#include "codegen/cuda_printer.h"

#include "codegen/cuda_writer.h"

#include <string.h>

static void check(struct c_writer *w)
{
        const struct print_options *o = w->options;
        const char *what = o->threads > 1 ? "--threads: a device runs kernels on all that it has"
                           : o->flush_denormals ? "--flush-denormals"
                           : o->fast_libm       ? "--fast-libm"
                           : w->p->region_count ? "--region: a device's memory is all of one kind"
                                                : NULL;
        if (what)
                c_fail(w, EXIT_USAGE, "target %s does not take %s", w->options->target->name, what);
        cuda_profile_check(w);
        w->cuda = ARENA_NEW(w->arena, struct cuda_writer);
        for (const struct loop_function *f = w->p->kernels; f; f = f->next)
                w->cuda->fails |= c_can_fail(f);
        w->cuda->status_at =
                round_up(w->workspace_size, target_workspace_align(w->options->target));
        w->workspace_align = target_workspace_align(w->options->target);
        if (w->cuda->fails)
                w->workspace_size = w->cuda->status_at + target_workspace_align(w->options->target);
        w->cuda->fails = false;         /* cuda_run.c sets it where a kernel that can fail is
                                         * called. */
        w->copies_memory = true;
}

static void reserve(struct c_writer *w)
{
        static const char *const words[] = {
                "threadIdx",
                "blockIdx",
                "blockDim",
                "gridDim",
                "warpSize",
                "shared_memory",
                "shared_bytes",
                "launch",
                "launch_clusters",
                "cluster_barrier",
                "cluster_leave",
                "cluster_at",
                "prepared",
                "is_prepared",
                "check",
                "arguments",
                "dim3",
                "uint3",
                "min",
                "max",
                "atomicMin",
                "CUDA_CPU",
                "launch_dependents",
                "launch_wait",
                "bring_share",
                "bring",
                "load_own",
                "attributes",
                "profiled",
                "events",
                "microseconds",
                "graph",
                "exec",
                "copy_async",
                "copy_commit",
                "copy_wait",
                "load_matrices",
                "mma_f16",
                "mma_bf16",
                "mma_s8",
                "mma_u8",
                "mma_tf32",
                "mma_f32",
                "pair_f16",
                "pair_bf16",
                "high_part",
                "low_part",
                "bulk",
                "bulk_copies",
                "bulk_begin",
                "bulk_copy",
                "bulk_commit",
                "bulk_wait",
                "bulk_thread",
                "BULK_GROUPS",
                "barrier_begin",
                "barrier_expect",
                "barrier_wait",
                "copy_bulk",
                "shared_to_units",
                "move_words",
                "units_begin",
                "units_commit",
                "units_wait",
                "matrix_at",
                "matrix_across_at",
                "sums_settled",
                "whole_sums_settled",
                "pairs_settled",
                "give_pairs_f16",
                "give_pairs_bf16",
        };
        static const char *const functions[] = { "prepare", "load",   "status",
                                                 "profile", "launch", "launches" };
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                c_reserve(w, words[i]);
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
                c_reserve(w, arena_printf(w->arena, "%s_%s", w->options->prefix, functions[i]));
}

static const char guards[] =
        "\n"
        "#ifndef CUDA_CPU        /* Otherwise a header is included that defines all this for a "
        "processor. */\n"
        "#include <cuda_runtime.h>\n"
        "#if defined(__USE_FAST_MATH__) || defined(__CUDA_FTZ)\n"
        "#error \"-use_fast_math and -ftz=true change results: compile this file without them\"\n"
        "#endif\n"
        "#endif\n";

static const char shared[] =
        "\n"
        "/* The block's shared memory has as many bytes as its kernel was launched with. */\n"
        "#ifndef CUDA_CPU\n"
        "static __device__ __forceinline__ unsigned char *shared_memory(void)\n"
        "{\n"
        "        extern __shared__ __align__(%lld) unsigned char shared_bytes[];\n"
        "        return shared_bytes;\n"
        "}\n"
        "#endif\n";

static const char launch[] =
        "\n"
        "/* Launches a kernel on that many blocks of that many warps%s. */\n"
        "static int launch%s(const void *kernel, unsigned blocks, unsigned warps, unsigned lanes, "
        "size_t shared,\n"
        "                  %svoid *stream, void **arguments)\n"
        "{\n"
        "%s"
        "        cudaLaunchConfig_t config;\n"
        "        memset((void *)&config, 0, sizeof config);\n"
        "        config.gridDim.x = blocks;\n"
        "        config.gridDim.y = config.gridDim.z = 1;\n"
        "        config.blockDim.x = lanes;\n"
        "        config.blockDim.y = warps;\n"
        "        config.blockDim.z = 1;\n"
        "        config.dynamicSmemBytes = shared;\n"
        "        config.stream = (cudaStream_t)stream;\n"
        "%s"
        "%s"
        "        return cudaLaunchKernelExC(&config, kernel, arguments) == cudaSuccess ? 0 : %s;\n"
        "}\n";
static const char recorded[] = "        if (profiled) {\n"
                               "                const bool done = cudaLaunchKernelExC(&config, "
                               "kernel, arguments) == cudaSuccess &&\n"
                               "                        cudaEventRecordWithFlags(*profiled++, "
                               "(cudaStream_t)stream, cudaEventRecordExternal) == cudaSuccess;\n"
                               "                return done ? 0 : %s;\n"
                               "        }\n";

static const char attributes[] =
        "        cudaLaunchAttribute attributes[2];\n"
        "        memset((void *)attributes, 0, sizeof attributes);\n"
        "        config.attrs = attributes;\n";
static const char dependent[] = /* This is for kernels that wait by launch_wait. */
        "        attributes[config.numAttrs].id = "
        "cudaLaunchAttributeProgrammaticStreamSerialization;    /* It may begin before the launch "
        "in front has ended. */\n"
        "        attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;\n";
static const char clustered[] =
        "        if (cluster > 1) {\n"
        "                attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;\n"
        "                attributes[config.numAttrs].val.clusterDim.x = cluster;\n"
        "                attributes[config.numAttrs].val.clusterDim.y = "
        "attributes[config.numAttrs].val.clusterDim.z = 1;\n"
        "                config.numAttrs++;\n"
        "        }\n";
static const char without_blocks[] = "        if (!blocks)\n"
                                     "                return 0;\n";
static const char without_clusters[] =
        "static int launch(const void *kernel, unsigned blocks, unsigned warps, unsigned lanes, "
        "size_t shared, void *stream, void **arguments)\n"
        "{\n"
        "        return launch_clusters(kernel, blocks, warps, lanes, shared, 1, stream, "
        "arguments);\n"
        "}\n";

static void put_launch(struct c_writer *w, struct text *out)
{
        const bool is_dependent = cuda_launches_dependent(w), clusters = w->cuda->clusters;
        const char *const error = c_macro(w, "ERROR_LAUNCH");
        bool other = false, open = false;
        for (int i = 0; i < w->cuda->phase_count; i++) {
                other |= !w->cuda->phases[i].cluster;
                open |= w->cuda->phases[i].open != NULL;
        }
        text_add(out, launch, clusters ? ", in clusters of `cluster` blocks" : "",
                 clusters ? "_clusters" : "", clusters ? "unsigned cluster, " : "",
                 open ? without_blocks : "",
                 arena_printf(w->arena, "%s%s%s", is_dependent || clusters ? attributes : "",
                              is_dependent ? dependent : "", clusters ? clustered : ""),
                 w->options->profile ? arena_printf(w->arena, recorded, error) : "", error);
        if (clusters && other)
                text_add(out, "%s", without_clusters);
}

static void top(struct c_writer *w, struct text *out)
{
        text_add(out, "%s", guards);
        w->out = out;
        c_helpers_print(w);
        if (w->cuda->shares)
                text_add(out, shared, (long long)w->cuda->aligned);
        cuda_dependent_launch_top(w, out);
        cuda_clusters_top(w, out);
        cuda_vector_top(w, out);
        cuda_products_top(w, out);
        cuda_profile_top(w, out);
        if (w->cuda->phase_count)
                put_launch(w, out);
}

static const struct c_dialect dialect = {
        .inlined = "static __device__ inline ",
        .restricted = "__restrict__ ",
        .is_device = true,
        .reserve = reserve,
        .check = check,
        .top = top,
        .header = cuda_header,
        .kernel = cuda_kernel,
        .grid_loop = cuda_grid_loop,
        .unroll = "#pragma unroll",
        .alloc = cuda_alloc,
        .place = cuda_cluster_place,
        .fail = cuda_fail,
        .product = cuda_product,
        .library = cuda_library,
        .call = cuda_call,
        .run = cuda_run,
};

static bool print(FILE *c, FILE *h, const struct loop_program *p,
                  const struct print_options *options, struct diag *diag)
{
        return c_print(c, h, p, options, &dialect, diag);
}

const struct printer cuda_printer = { .language = "CUDA C", .suffix = ".cu", .print = print };
