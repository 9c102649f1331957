/* SPDX-License-Identifier: MIT */
/* Prints kernels in grid form. A phase is a function for the device. The kernel itself is a
 * function for the host, which launches its phases one after the other and has the same parameters
 * as in C.
 *
 *     static __global__ void __launch_bounds__(128, 1) relu_blocks(const float *__restrict__ x,
 *                                                                  float *__restrict__ y)
 *     {
 *             const int block = blockIdx.x;
 *             const int warp = threadIdx.y;
 *             const int lane = threadIdx.x;
 *             const int at = (block * 4 + warp) * 32 + lane;
 *             if (at < 1000) {
 *                     y[at] = max_ordered_f32(0.0f, x[at]);
 *             }
 *     }
 *
 *     static int relu(const float *x, float *y, void *stream)
 *     {
 *             void *arguments[] = { &x, &y };
 *             return launch((const void *)relu_blocks, 8, 4, 32, 0, stream, arguments);
 *     }
 *
 * Where scalars of the kernel say how many blocks there are, that expression stands in place of 8;
 * nothing is launched where it is 0. */
#include "codegen/cuda_writer.h"

#include <string.h>

#include "engines/grid/launch_cost.h"
#include "ir/loop/loop_bounds.h"

/* These are alignments in bytes. LINES_ALIGN is that of eight swizzle lines, as warp-group MMA
 * reads them. */
enum { SHARED_ALIGN = 128, LINES_ALIGN = 1024 };

/* ---- loops of the grid ---- */

static void put_part(struct c_writer *w, const struct loop_stmt *s, const char *value)
{
        int64_t count = loop_for_is_phase(s->for_kind) && !loop_is_int(s->b, &(int64_t){ 0 })
                                ? INT64_MAX
                                : s->b->literal.i;
        bool lane = s->for_kind == FOR_GPU_LANE, some = lane && count < w->cuda->phase->lanes;
        struct text body = { 0 }, *out = w->out;
        c_declare(w, s->variable);
        if (count == 1)
                c_name(w, s->variable)->text = "0";
        w->out = &body;
        w->indent -= !some;             /* The loop's statements stand in braces of their own only
                                         * if some lanes skip them. */
        c_block(w, s->body);
        w->indent += !some;
        w->out = out;
        if (some)
                c_line(w, "if (threadIdx.x < %lld) {", (long long)count);
        w->indent += some;
        if (count > 1 && c_name(w, s->variable)->used)
                c_line(w, "const %s %s = %s;", c_type_here(w, E_INDEX),
                       c_name(w, s->variable)->text, value);
        w->indent -= some;
        if (body.length)
                text_add_bytes(w->out, body.data, body.length);
        if (some)
                c_line(w, "}");
        text_free(&body);
}

/* Is this loop over lanes the last statement of the phase? Then nobody needs to wait for its lanes,
 * even where the pass barriers has not said so. A lane that fails has returned. */
static bool is_last_of_phase(const struct cuda_writer *cuda, const struct loop_stmt *lanes)
{
        const struct loop_stmt *s =
                cuda->warp && cuda->warp == cuda->last ? cuda->warp->body->first : NULL;
        while (s && s != lanes)
                s = s->next;
        return lanes == cuda->last || (s && !s->next);
}

void cuda_grid_loop(struct c_writer *w, const struct loop_stmt *s)
{
        struct cuda_writer *cuda = w->cuda;
        switch (s->for_kind) {
        case FOR_GPU_CLUSTER:
                cuda_warp_group_begin(w);
                put_part(w, s,
                         arena_printf(w->arena, "blockIdx.x / %lld",
                                      (long long)cuda->phase->cluster));
                break;
        case FOR_GPU_BLOCK:
                if (!cuda->phase->cluster)
                        cuda_warp_group_begin(w);
                cuda->block = s;
                for (cuda->last = s->body->first; cuda->last && cuda->last->next;)
                        cuda->last = cuda->last->next;
                put_part(w, s,
                         cuda->phase->cluster ? arena_printf(w->arena, "blockIdx.x %% %lld",
                                                             (long long)cuda->phase->cluster)
                                              : "blockIdx.x");
                /* The barrier also stands after the last loop, because other blocks may still read
                 * this block's memory. */
                if (cuda->phase->cluster)
                        c_line(w, s->next ? "cluster_barrier();" : "cluster_leave();");
                break;
        case FOR_GPU_WARP:
                cuda->warp = s;
                put_part(w, s, "threadIdx.y");
                if (s->barrier != BARRIER_NONE && s != cuda->last)
                        c_line(w,
                               s->barrier == BARRIER_WHOLE ? "__syncthreads();" : "__syncwarp();");
                break;
        default:
                cuda->lane = s;
                put_part(w, s, "threadIdx.x");
                cuda->lane = NULL;
                if (s->barrier == BARRIER_WHOLE && !is_last_of_phase(cuda, s))
                        c_line(w, "__syncwarp();");
                break;
        }
}

/* Prints an alloc. Memory of a block, or of each of its warps, is an offset in shared memory;
 * memory of a lane, or a lane's part of SPACE_LANES, is an array. */
bool cuda_alloc(struct c_writer *w, struct loop_buffer *b)
{
        struct cuda_writer *cuda = w->cuda;
        if (cuda->lane)
                return false;
        const char *type = element_info[b->element].c_type, *name = c_local(w, b->name);
        if (b->space == SPACE_LANES) {
                c_name_set(w, b, name);
                c_line(w, "%s %s[%lld];", type, name, (long long)(b->extent / GRID_LANES));
                return true;
        }
        const int64_t align = cuda->phase->warp_group ? LINES_ALIGN : SHARED_ALIGN,
                      blocks = b->space == SPACE_CLUSTER ? cuda->phase->cluster : 1;
        int64_t bytes = round_up(b->extent / blocks * element_info[b->element].bytes, SHARED_ALIGN),
                at = cuda->phase->shared = round_up(cuda->phase->shared, align);
        cuda->aligned = align > cuda->aligned ? align : cuda->aligned;
        bool of_warp = b->space == SPACE_STACK;
        c_name_set(w, b, name);
        c_put(w, "%s *const %s = (%s *)(shared_memory()", type, name, type);
        if (at)
                c_put(w, " + %lld", (long long)at);
        if (of_warp && cuda->phase->warps > 1)
                c_put(w, " + threadIdx.y * %lld", (long long)bytes);
        c_line(w, ");");
        cuda->phase->shared += bytes * (of_warp ? cuda->phase->warps : 1);
        cuda->shares = true;
        return true;
}

/* Of several calls that fail, the first in the order of the program has the least number, so
 * atomicMin keeps it. */
void cuda_fail(struct c_writer *w, int code)
{
        if (w->cuda->meets || !w->cuda->lane)
                c_fail(w, EXIT_INTERNAL, "a fail where warps wait for each other");
        c_line(w, "atomicMin(failed, call << 8 | %du);", -code);
        c_line(w, "return;");
}

/* ---- phases ---- */

static void find_meeting(struct loop_stmt *s, void *context)
{
        struct c_writer *w = context;
        const bool warps = s->kind == STMT_FOR && s->for_kind == FOR_GPU_WARP;
        w->cuda->meets |= s->kind == STMT_WAIT || (warps && s->barrier == BARRIER_WHOLE && s->next);
}

static void find_warps(struct loop_stmt *s, void *context)
{
        if (s->kind == STMT_FOR && s->for_kind == FOR_GPU_WARP)
                *(int64_t *)context = s->b->literal.i;
}

/* ---- subscripts have 32 bits if all their values fit, because a device's registers have 32 bits
 * ---- */

struct fitting { const struct loop_bounds *bounds; bool fits; };

static void fit(struct fitting *f, struct loop_range r, int64_t more)
{
        f->fits &= r.low >= INT32_MIN && r.high <= INT32_MAX - more;
}

static void fit_expr(struct loop_expr *e, void *context)
{
        struct fitting *f = context;
        if (e->type.element == E_INDEX)
                fit(f, loop_bounds_of(f->bounds, e), 0);
}

static void fit_stmt(struct loop_stmt *s, void *context)
{
        struct fitting *f = context;
        if (s->kind == STMT_FOR)        /* The variable's value after the last iteration must fit,
                                         * too. */
                fit(f, loop_bounds_of(f->bounds, s->b), s->step);
        else if ((s->kind == STMT_VAR || s->kind == STMT_SET) &&
                 s->variable->type.element == E_INDEX)
                f->fits = false;
}

static const char *index_type(struct c_writer *w, const struct loop_function *f,
                              struct loop_block *phase)
{
        struct fitting fitting = { loop_bounds_new(w->arena, f), true };
        loop_block_walk(phase, fit_stmt, fit_expr, &fitting);
        return fitting.fits ? "int" : NULL;
}

/* Returns the second argument of __launch_bounds__, which bounds the registers of a lane: the
 * blocks that the schedule assumed to be resident on a multiprocessor, if the launch has as
 * many. */
static int64_t blocks_at_a_time(const struct c_writer *w, const struct loop_function *f,
                                const struct loop_stmt *phase)
{
        const struct grid_cost cost = grid_cost_of(w->target, f, phase, false);
        const int64_t there = divide_up(cost.blocks, target_gpu(w->target)->multiprocessors);
        return !cost.registers || cost.resident < 1 ? 1
               : cost.resident < there              ? cost.resident
                                                    : there;
}

static void put_phase(struct c_writer *w, struct loop_function *f, struct loop_stmt *s)
{
        struct cuda_writer *cuda = w->cuda;
        struct loop_stmt alone = *s;
        struct loop_block block = { .first = &alone, .end = &alone.next };
        struct loop_function part = *f;
        struct cuda_phase phase = { .blocks = loop_phase_most(s),
                                    .open = loop_is_int(s->b, &(int64_t){ 0 }) ? NULL : s->b,
                                    .warps = 1,
                                    .lanes = grid_lanes(s->body) };
        if (s->for_kind == FOR_GPU_CLUSTER) {
                phase.cluster = loop_cluster_blocks(s);
                phase.blocks *= phase.cluster;
                cuda->clusters = true;
        }
        bool can_fail = c_can_fail(f);
        alone.next = NULL;
        part.body = &block;
        cuda_warp_group_find(w, &phase, &block);
        loop_block_walk(&block, find_warps, NULL, &phase.warps);
        if (!phase.lanes)
                return;
        phase.name = c_global(w, arena_printf(w->arena, "%s_blocks", c_name(w, f)->text));
        cuda->phase = &phase;
        cuda->meets = false;
        loop_block_walk(&block, find_meeting, NULL, w);
        c_names_function(w, f);
        names_reserve(w->locals, "failed");
        names_reserve(w->locals, "call");
        c_put(w, "static __global__ void __launch_bounds__(%lld, %lld) %s(",
              (long long)(phase.warps * phase.lanes), (long long)blocks_at_a_time(w, f, s),
              phase.name);
        c_parameters(w, f);
        if (can_fail)
                c_put(w, "%sunsigned *failed," C_SOFT "unsigned call",
                      f->buffer_count + f->scalar_count ? "," C_SOFT : "");
        c_put(w, ")");
        c_end(w);
        struct text body = { 0 }, *out = w->out;
        w->out = &body;
        w->indent = 0;
        w->index = index_type(w, f, part.body);
        c_find_entries(w, &part);
        c_block(w, part.body);
        w->index = NULL;
        w->out = out;
        c_line(w, "{");
        w->indent = 1;
        c_unused(w, f, f->scalar_count);
        if (can_fail && (!body.length || !strstr(body.data, "atomicMin(failed, ")))
                c_line(w, "(void)failed, (void)call;");
        if (body.length)
                text_add_bytes(w->out, body.data, body.length);
        w->indent = 0;
        c_line(w, "}");
        text_add(w->out, "\n");
        text_free(&body);
        phase.shared = grid_shared_asked(w->target, phase.blocks, phase.cluster, phase.shared);
        cuda->phase = NULL;
        ARENA_GROW(w->arena, cuda->phases, cuda->phase_count);
        cuda->phases[cuda->phase_count++] = phase;
}

/* Prints the blocks of a launch: a number, or what the scalars say. */
static void put_blocks(struct c_writer *w, const struct cuda_phase *phase)
{
        if (!phase->open) {
                c_put(w, "%lld", (long long)phase->blocks);
                return;
        }
        c_put(w, "(unsigned)(");
        if (phase->cluster)
                c_operand(w, phase->open, C_PRODUCT);
        else
                c_expression(w, phase->open);
        if (phase->cluster)
                c_put(w, " * %lld", (long long)phase->cluster);
        c_put(w, ")");
}

static void put_launch(struct c_writer *w, const struct cuda_phase *phase)
{
        c_put(w, "%s((const void *)%s," C_SOFT, phase->cluster ? "launch_clusters" : "launch",
              phase->name);
        put_blocks(w, phase);
        c_put(w, "," C_SOFT "%lld," C_SOFT "%lld," C_SOFT "%lld," C_SOFT, (long long)phase->warps,
              (long long)phase->lanes, (long long)phase->shared);
        if (phase->cluster)
                c_put(w, "%lld," C_SOFT, (long long)phase->cluster);
        c_put(w, "stream," C_SOFT "arguments);");
        c_end(w);
}

/* Prints the function for the host, which launches the phases. */
static void put_launches(struct c_writer *w, struct loop_function *f, int first)
{
        const struct cuda_writer *cuda = w->cuda;
        int count = cuda->phase_count - first;
        bool can_fail = c_can_fail(f);
        c_names_function(w, f);
        c_put(w, "static int %s(", c_name(w, f)->text);
        for (int i = 0; i < f->buffer_count; i++)
                c_put(w, "%s%s *%s," C_SOFT, f->buffers[i]->access == ACCESS_IN ? "const " : "",
                      c_memory_type(w, f->buffers[i]->element), c_name(w, f->buffers[i])->text);
        for (int i = 0; i < f->scalar_count; i++)
                c_put(w, "%s %s," C_SOFT, c_type(f->scalars[i]->type.element),
                      c_name(w, f->scalars[i])->text);
        c_put(w, can_fail ? "void *stream," C_SOFT "unsigned *failed," C_SOFT "unsigned call)"
                          : "void *stream)");
        c_end(w);
        c_line(w, "{");
        w->indent = 1;
        if (!count) {
                c_unused(w, f, f->scalar_count);
                c_line(w, "(void)stream;");
                c_line(w, "return 0;");
        } else {
                c_put(w, "void *arguments[] = {" C_SOFT);
                for (int i = 0; i < f->buffer_count; i++)
                        c_put(w, "%s&%s", i ? "," C_SOFT : "", c_name(w, f->buffers[i])->text);
                for (int i = 0; i < f->scalar_count; i++)
                        c_put(w, "%s&%s", i || f->buffer_count ? "," C_SOFT : "",
                              c_name(w, f->scalars[i])->text);
                c_put(w, can_fail ? "," C_SOFT "&failed," C_SOFT "&call };" : C_SOFT "};");
                c_end(w);
        }
        for (int i = 0; i < count; i++) {
                c_put(w, count == 1 ? "return " : i ? "if (!status)" : "int status = ");
                if (i) {
                        c_end(w);
                        w->indent++;
                        c_put(w, "status = ");
                }
                put_launch(w, &cuda->phases[first + i]);
                w->indent = 1;
        }
        if (count > 1)
                c_line(w, "return status;");
        w->indent = 0;
        c_line(w, "}");
}

void cuda_kernel(struct c_writer *w, struct loop_function *f)
{
        int first = w->cuda->phase_count;
        w->kernel = f;
        w->bounds = NULL;
        c_kernel_comment(w, f);
        for (struct loop_stmt *s = f->body->first; s && !w->failed; s = s->next) {
                if (s->kind != STMT_FOR || !loop_for_is_phase(s->for_kind)) {
                        c_fail(w, EXIT_UNSUPPORTED,
                               "kernel %s is not in grid form, as the pass grid makes it", f->name);
                        return;
                }
                put_phase(w, f, s);
        }
        put_launches(w, f, first);
}
