/* SPDX-License-Identifier: MIT */
/* Launches that begin before those in front of them have ended (programmatic dependent launches), on devices that have them.
 *
 *     copy_async(ws, w, true);        weights are there already
 *     load_own(own, 8, w2 + ..);      those of a product of rows, which lanes keep
 *     bring(b, 3072);                 what is not much comes from memory to the second cache meanwhile
 *     launch_wait();                  until the launch in front has ended, and what it wrote is seen
 *     launch_dependents();            the next launch may begin: its blocks, where there is room beside this one's
 *     y[at] = x[at] + b[at] + ...
 *
 * So a launch takes what its first instructions and its weights take less. Where a kernel waits follows from its statements: before the
 * first that touches anything but constants. All of a kernel's threads wait; what ends has therefore been preceded by all in front of it, so
 * that nothing but weights is ever read or written too early. */
#include "codegen/cuda_writer.h"

/* ---- what is constant ---- */

struct arguments { const struct loop_function *of; const struct loop_buffer *parameter; bool constant, input; };

static void look_at_call(struct loop_stmt *s, void *context)
{
        struct arguments *a = context;
        if (s->kind != STMT_CALL || s->function != a->of)
                return;
        for (int i = 0; i < s->function->buffer_count; i++)
                if (s->function->buffers[i] == a->parameter) {
                        const enum loop_space space = loop_buffer_root(s->buffers[i], NULL)->space;
                        a->constant &= space == SPACE_CONSTANT;
                        a->input &= space == SPACE_INPUT;
                }
}

/* what it is in all calls */
static struct arguments arguments_of(const struct c_writer *w, const struct loop_function *f, const struct loop_buffer *parameter)
{
        struct arguments a = { f, parameter, parameter->access == ACCESS_IN, parameter->access == ACCESS_IN };
        loop_walk_mains(w->p, look_at_call, NULL, &a);
        return a;
}

static bool is_constant(const struct c_writer *w, const struct loop_function *f, const struct loop_buffer *parameter)
{
        return arguments_of(w, f, parameter).constant;
}

bool cuda_changes(const struct c_writer *w, const struct loop_function *f, const struct loop_buffer *parameter)
{
        return target_begins_early(w->target) && parameter->access == ACCESS_IN && !is_constant(w, f, parameter);
}

/* ---- where a kernel waits ---- */

struct touching { const struct c_writer *w; const struct loop_function *f; bool found; };

static void look_at_buffer(struct touching *t, struct loop_buffer *b)
{
        b = b ? loop_buffer_root(b, NULL) : NULL;
        t->found |= b && b->space == SPACE_PARAMETER && !is_constant(t->w, t->f, b);
}

static void look_at_stmt(struct loop_stmt *s, void *context)
{
        struct touching *t = context;
        t->found |= s->kind == STMT_FAIL;
        if (s->kind == STMT_ALLOC)
                return;
        look_at_buffer(t, s->buffer);
        look_at_buffer(t, s->weights);
        look_at_buffer(t, s->source);
}

static void look_at_expr(struct loop_expr *e, void *context)
{
        look_at_buffer(context, e->buffer);
}

static bool touches(const struct c_writer *w, const struct loop_function *f, const struct loop_stmt *s)
{
        struct loop_stmt alone = *s;
        struct loop_block block = { .first = &alone, .end = &alone.next };
        struct touching t = { .w = w, .f = f };
        alone.next = NULL;
        loop_block_walk(&block, look_at_stmt, look_at_expr, &t);
        return t.found;
}

/* ---- what comes before it waits ---- */

/* of a product of rows that every block computes once: the loop over warps around it, it, and what its place follows from: the last of it; NULL:
 * nothing stands before it */
struct row_weights { struct loop_stmt *warps, *product, *last; };

static bool find_row_weights(const struct c_writer *w, struct loop_stmt *first, struct row_weights *r)
{
        for (r->warps = first; r->warps; r->warps = r->warps->next) {
                if (r->warps->kind != STMT_FOR || r->warps->for_kind != FOR_GPU_WARP)
                        continue;
                r->last = NULL;
                for (r->product = r->warps->body->first; r->product && r->product->kind == STMT_LET && !touches(w, w->kernel, r->product);) {
                        r->last = r->product;
                        r->product = r->product->next;
                }
                if (r->product && r->product->kind == STMT_MULTIPLY && r->product->tiles.rows == 1 &&
                    is_constant(w, w->kernel, loop_buffer_root(r->product->weights, NULL)))
                        return true;
        }
        return false;
}

/* what their place follows from is printed here, and no more where it stands: the caller puts that back, at the loop's begin */
static void put_row_weights(struct c_writer *w, const struct row_weights *r)
{
        struct loop_block lets = { .end = &lets.first };
        struct loop_stmt early = *r->warps;
        if (r->last) {
                lets.first = r->warps->body->first;
                lets.end = &r->last->next;
                r->last->next = NULL;
        }
        r->warps->body->first = r->product;
        early.body = &lets;
        cuda_warps_part(w, &early);
        cuda_load_own(w, r->product);
}

struct bringing { struct c_writer *w; const struct loop_buffer **seen; int count; };

/* Constants that lanes load an element or a word at a time, and inputs that are copied or loaded, where they are not much; a few numbers that are loaded, as
 * tokens are, come soon enough. An input need not be there yet: what is written later is seen in the second cache all the same. What of weights is not
 * copied before the wait is not brought: that gained nothing. */
static void bring_buffer(struct bringing *b, struct loop_buffer *of, int64_t most, int64_t least)
{
        enum { INPUT_MOST = 2 << 20 };
        of = of ? loop_buffer_root(of, NULL) : NULL;
        if (!of || of->space != SPACE_PARAMETER)
                return;
        const int64_t bytes = of->extent * element_info[of->element].bytes / COPY_BYTES * COPY_BYTES;
        const struct arguments a = arguments_of(b->w, b->w->kernel, of);
        bool known = !bytes || (!(a.constant && bytes <= most) && !(a.input && least <= bytes && bytes <= INPUT_MOST));
        for (int i = 0; i < b->count; i++)
                known |= b->seen[i] == of;
        if (known)
                return;
        ARENA_GROW(b->w->arena, b->seen, b->count);
        b->seen[b->count++] = of;
        c_line(b->w, "bring(%s, %lld);", c_use(b->w, of), (long long)bytes);
}

static void bring_loaded(struct loop_expr *e, void *context)
{
        enum { MOST = 64 << 10, INPUT_LEAST = 16 << 10 };
        if (e->op == LOOP_LOAD)
                bring_buffer(context, e->buffer, MOST, INPUT_LEAST);
}

static void bring_copied(struct loop_stmt *s, void *context) { bring_buffer(context, s->source, 0, 0); }

void cuda_early_block(struct c_writer *w, const struct loop_block *body)
{
        struct loop_block before = { .end = &before.first };
        struct loop_stmt *s = body->first, *last = NULL;
        while (s && !touches(w, w->kernel, s)) {
                last = s;
                s = s->next;
        }
        if (last) {                     /* in two halves, which are one block */
                before.first = body->first;
                last->next = NULL;
                c_block(w, &before);
                last->next = s;
        }
        struct loop_block behind = { .first = s, .end = body->end };
        struct row_weights rows;
        const bool has_rows = find_row_weights(w, s, &rows);
        struct loop_stmt *const lets = has_rows ? rows.warps->body->first : NULL;
        w->indent++;
        if (has_rows)
                put_row_weights(w, &rows);
        struct bringing bringing = { .w = w };
        loop_block_walk(&behind, bring_copied, bring_loaded, &bringing);
        w->cuda->brings |= bringing.count > 0;
        c_line(w, "launch_wait();");
        c_line(w, "launch_dependents();");
        w->indent--;
        c_block(w, &behind);
        if (has_rows && rows.last) {
                rows.last->next = rows.product;
                rows.warps->body->first = lets;
        }
}

static const char leaves[] =
        "\n"
        "#ifndef CUDA_CPU\n"
        "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900\n"
        "#error \"launches wait inside kernels: compile this file for GPUs from Hopper on (-arch=sm_90)\"\n"
        "#endif\n"
        "/* the launch behind this one may begin; until the one in front has ended, and what it wrote is seen */\n"
        "static __device__ __forceinline__ void launch_dependents(void) { asm volatile(\"griddepcontrol.launch_dependents;\"); }\n"
        "static __device__ __forceinline__ void launch_wait(void) { asm volatile(\"griddepcontrol.wait;\" ::: \"memory\"); }\n"
        "#endif\n";

static const char bring[] =
        "#ifndef CUDA_CPU\n"
        "static __device__ __forceinline__ void bring_share(const void *from, unsigned bytes) { asm volatile(\"cp.async.bulk.prefetch.L2.global [%0], %1;\" ::\"l\"(from), \"r\"(bytes)); }\n"
        "#endif\n"
        "/* memory comes to the second cache, a share of it for each block, where it lies at multiples of 16 bytes */\n"
        "static __device__ __forceinline__ void bring(const void *from, unsigned bytes)\n"
        "{\n"
        "        const unsigned share = (bytes / gridDim.x + 128) / 128 * 128, at = blockIdx.x * share;\n"
        "        if (threadIdx.x + threadIdx.y == 0 && at < bytes && (uintptr_t)from % 16 == 0)\n"
        "                bring_share((const char *)from + at, bytes - at < share ? bytes - at : share);\n"
        "}\n";

void cuda_early_top(struct c_writer *w, struct text *out)
{
        if (target_begins_early(w->target) && w->cuda->phase_count)
                text_add(out, "%s%s", leaves, w->cuda->brings ? bring : "");
}
