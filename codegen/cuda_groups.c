/* SPDX-License-Identifier: MIT */
/* Warps that multiply together in CUDA C (sm_90a): products of four warps whose operands lie in shared memory, and copies of whole
 * runs into it, which arrive at barriers there.
 *
 *     struct runs runs;
 *     runs_begin(&runs, shared_memory() + 203008);                     a barrier for each group of copies that may be under way
 *     runs_copy(&runs, ws + .., w + .., 32768);                        one thread asks for all of it
 *     runs_commit(&runs);
 *     runs_wait(&runs, 1);
 *     multiply_bf16_together_32(acc[0], xs + .., ws + ..);
 *     units_wait(1); */
#include "codegen/cuda_writer.h"

#include <string.h>

static const char fence[] =
        "\n"
        "#ifndef CUDA_CPU\n"
        "/* what threads wrote, and barriers that they made, are there for units and copies */\n"
        "static __device__ __forceinline__ void shared_to_units(void) { asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\"); }\n"
        "#endif\n";

static const char runs[] =
        "\n"
        "#ifndef CUDA_CPU\n"
        "static __device__ __forceinline__ void barrier_begin(uint64_t *b, unsigned arrivals)\n"
        "{\n"
        "        asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" ::\"r\"((unsigned)__cvta_generic_to_shared(b)), \"r\"(arrivals) : \"memory\");\n"
        "}\n"
        "static __device__ __forceinline__ void barrier_expect(uint64_t *b, unsigned bytes)\n"
        "{\n"
        "        asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" ::\"r\"((unsigned)__cvta_generic_to_shared(b)), \"r\"(bytes)\n"
        "                     : \"memory\");\n"
        "}\n"
        "static __device__ __forceinline__ void barrier_wait(uint64_t *b, unsigned parity)\n"
        "{\n"
        "        unsigned passed;\n"
        "        do\n"
        "                asm volatile(\"{\\n.reg .pred p;\\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\\nselp.u32 %0, 1, 0, p;\\n}\"\n"
        "                             : \"=r\"(passed) : \"r\"((unsigned)__cvta_generic_to_shared(b)), \"r\"(parity) : \"memory\");\n"
        "        while (!passed);\n"
        "}\n"
        "/* a run of bytes into shared memory, all multiples of 16; the barrier counts what arrives */\n"
        "static __device__ __forceinline__ void copy_bulk(void *shared, const void *global, unsigned bytes, uint64_t *b)\n"
        "{\n"
        "        asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\"\n"
        "                     ::\"r\"((unsigned)__cvta_generic_to_shared(shared)), \"l\"(global), \"r\"(bytes), \"r\"((unsigned)__cvta_generic_to_shared(b))\n"
        "                     : \"memory\");\n"
        "}\n"
        "#endif\n"
        "\n"
        "/* Copies of runs: a barrier for each group that may be under way, in turn. */\n"
        "enum { RUN_GROUPS = 16 };\n"
        "struct runs { uint64_t *arrivals; unsigned copied, arrived, bytes; };\n"
        "static __device__ __forceinline__ bool runs_thread(void) { return threadIdx.x + threadIdx.y == 0; }\n"
        "static __device__ __forceinline__ void runs_begin(struct runs *r, void *shared)\n"
        "{\n"
        "        r->arrivals = (uint64_t *)shared;\n"
        "        r->copied = r->arrived = r->bytes = 0;\n"
        "        if (runs_thread()) {\n"
        "                for (int i = 0; i < RUN_GROUPS; i++)\n"
        "                        barrier_begin(r->arrivals + i, 1);\n"
        "                shared_to_units();\n"
        "        }\n"
        "        __syncthreads();\n"
        "}\n"
        "static __device__ __forceinline__ void runs_copy(struct runs *r, void *shared, const void *global, unsigned bytes)\n"
        "{\n"
        "        if (runs_thread())\n"
        "                copy_bulk(shared, global, bytes, r->arrivals + r->copied % RUN_GROUPS);\n"
        "        r->bytes += bytes;\n"
        "}\n"
        "static __device__ __forceinline__ void runs_commit(struct runs *r)\n"
        "{\n"
        "        if (runs_thread())\n"
        "                barrier_expect(r->arrivals + r->copied % RUN_GROUPS, r->bytes);\n"
        "        r->copied++;\n"
        "        r->bytes = 0;\n"
        "}\n"
        "/* until so many groups are under way */\n"
        "static __device__ __forceinline__ void runs_wait(struct runs *r, unsigned left)\n"
        "{\n"
        "        for (; r->copied - r->arrived > left; r->arrived++)\n"
        "                barrier_wait(r->arrivals + r->arrived % RUN_GROUPS, r->arrived / RUN_GROUPS % 2);\n"
        "}\n";

static const char units[] =
        "\n"
        "#ifndef CUDA_CPU\n"
        "static __device__ __forceinline__ void units_begin(void) { asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\"); }\n"
        "static __device__ __forceinline__ void units_commit(void) { asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\"); }\n"
        "#define units_wait(left) asm volatile(\"wgmma.wait_group.sync.aligned %0;\" ::\"n\"(left) : \"memory\")\n"
        "/* lines of 128 bytes from a word of them on: word n of line l at n ^ l % 8, of memory whose lines are numbered from a multiple of 1024 on */\n"
        "static __device__ __forceinline__ uint64_t matrix_at(const void *shared, unsigned word)\n"
        "{\n"
        "        return (uint64_t)(((unsigned)__cvta_generic_to_shared(shared) >> 4 & 0x3fff) + word) | 1ull << 16 | 64ull << 32 | 1ull << 62;\n"
        "}\n"
        "#endif\n";

/* by the name of the multiply in the target's table */
static const struct unit { const char *name, *shape, *types, *about, *tail; } all_units[] = {
        { "wgmma_f16", "k16", "f32.f16.f16", "halves", ", 1, 1, 1, 0, 0" },
        { "wgmma_bf16", "k16", "f32.bf16.bf16", "numbers in bf16", ", 1, 1, 1, 0, 0" },
        { "wgmma_s8", "k32", "s32.s8.s8", "bytes with signs", ", 1" },
        { "wgmma_u8", "k32", "s32.u8.s8", "bytes by bytes with signs", ", 1" },
};
enum { UNITS = sizeof all_units / sizeof *all_units };

static const struct unit *unit_of(const struct multiply *m)
{
        for (int i = 0; m && i < UNITS; i++)
                if (!strcmp(all_units[i].name, m->name))
                        return &all_units[i];
        return NULL;
}

/* a leaf: 64 positions by `vectors` times 8 outputs */
static void put_unit(struct text *out, const struct cuda_product *p)
{
        enum { LINE = 16 };
        const struct unit *u = unit_of(p->multiply);
        const bool floats = p->multiply->sum == E_F32;
        const int count = p->vectors * 4;
        text_add(out,
                 "\n#ifndef CUDA_CPU\n"
                 "/* sums += x w: 64 positions by %d outputs of %s, two words of each line from `word` on */\n"
                 "static __device__ __forceinline__ void %s_%d(%s sums[%d][4], const void *x, const void *w, unsigned word)\n{\n"
                 "        asm volatile(\"wgmma.mma_async.sync.aligned.m64n%d%s.%s {\"\n",
                 p->vectors * 8, u->about, u->name, p->vectors * 8, floats ? "float" : "int32_t", p->vectors, p->vectors * 8, u->shape, u->types);
        for (int i = 0; i < count; i += LINE) {
                text_add(out, "                     \"");
                for (int k = i; k < i + LINE && k < count; k++)
                        text_add(out, "%%%d%s", k, k + 1 < count ? ", " : "");
                text_add(out, "\"\n");
        }
        text_add(out, "                     \"}, %%%d, %%%d%s;\"\n                     : ", count, count + 1, u->tail);
        for (int v = 0; v < p->vectors; v++)
                for (int i = 0; i < 4; i++)
                        text_add(out, "%s\"+%s\"(sums[%d][%d])%s", i || !v ? "" : "                       ", floats ? "f" : "r", v, i,
                                 v + 1 == p->vectors && i == 3 ? "\n" : i == 3 ? ",\n" : ", ");
        text_add(out, "                     : \"l\"(matrix_at(x, word)), \"l\"(matrix_at(w, word)));\n}\n#endif\n");
}

/* all of a turn */
static void put_together(struct c_writer *w, struct text *out, const struct cuda_product *p)
{
        const struct multiply *m = p->multiply;
        text_add(out,
                 "\n/* sums of %d positions of each four warps, and %d outputs: lines of %d channels */\n"
                 "static __device__ __forceinline__ void %s(%s sums[%d][4], const %s *x, const %s *w)\n"
                 "{\n"
                 "        const %s *const own = x + __shfl_sync(0xffffffffu, threadIdx.y, 0) / %d * %d;        /* one address for a warp */\n"
                 "        units_begin();\n"
                 "#pragma unroll\n"
                 "        for (int word = 0; word < %d; word += 2)\n"
                 "                %s_%d(sums, own, w, word);\n"
                 "        units_commit();\n"
                 "}\n",
                 m->positions, p->vectors * m->outputs, m->group, cuda_product_name(w, p), element_info[m->sum].c_type, p->vectors,
                 element_info[m->x.memory].c_type, element_info[m->w.memory].c_type, element_info[m->x.memory].c_type, MULTIPLY_WARPS,
                 m->positions * m->group, MULTIPLY_LINE, m->name, p->vectors * m->outputs);
}

void cuda_groups_top(struct c_writer *w, struct text *out)
{
        const struct cuda_writer *cuda = w->cuda;
        bool any = false, fences = cuda->runs;
        for (int k = 0; k < cuda->product_count; k++)
                fences |= cuda->products[k].multiply && multiply_in_groups(cuda->products[k].multiply);
        text_add(out, "%s%s", fences ? fence : "", cuda->runs ? runs : "");
        for (int k = 0; k < cuda->product_count; k++) {
                const struct cuda_product *p = &cuda->products[k];
                bool known = false;
                if (!p->multiply || !multiply_in_groups(p->multiply))
                        continue;
                text_add(out, "%s", any ? "" : units);
                any = true;
                for (int i = 0; i < k && !known; i++)
                        known = cuda->products[i].multiply == p->multiply && cuda->products[i].vectors == p->vectors;
                if (!known)
                        put_unit(out, p);
                put_together(w, out, p);
        }
}

/* ---- statements ---- */

static void find_run(struct loop_stmt *s, void *found) { *(bool *)found |= s->kind == STMT_COPY && s->code > COPY_BYTES; }
static void find_together(struct loop_stmt *s, void *found) { *(bool *)found |= s->kind == STMT_MULTIPLY && s->tiles.together; }

void cuda_groups_find(struct cuda_phase *phase, struct loop_block *block)
{
        loop_block_walk(block, find_run, NULL, &phase->runs);
        loop_block_walk(block, find_together, NULL, &phase->together);
}

void cuda_groups_begin(struct c_writer *w)
{
        struct cuda_phase *phase = w->cuda->phase;
        if (!phase->runs)
                return;
        w->cuda->runs = w->cuda->shares = true;
        c_line(w, "struct runs runs;");
        c_line(w, "runs_begin(&runs, shared_memory());");
        phase->shared += GRID_RUNS_BYTES;
}

void cuda_run_copy(struct c_writer *w, const struct loop_stmt *s)
{
        cuda_needs(w, s->source, COPY_BYTES);
        c_put(w, "runs_copy(&runs," C_SOFT);
        cuda_place(w, s->buffer, s->a);
        c_put(w, "," C_SOFT);
        cuda_place(w, s->source, s->b);
        c_put(w, "," C_SOFT "%lld);", (long long)s->code * element_info[s->buffer->element].bytes);
        c_end(w);
}

/* that the statement means; NULL: there is no instruction for it */
static const struct multiply *multiply_of(const struct c_writer *w, const struct loop_stmt *s)
{
        const struct loop_tiles *t = &s->tiles;
        const struct multiply *m = multiply_find(w->target, s->buffer->element, s->weights->element, true, s->variable->type.lanes,
                                                 t->group * t->line, 0);
        bool fits = unit_of(m) && m->sum == (enum element)s->variable->type.element && t->line == MULTIPLY_LINE &&
                    t->positions == t->rows && t->rows * MULTIPLY_WARPS == m->positions && t->step == m->group &&
                    t->jump == t->rows * t->step && s->variable->warps % MULTIPLY_WARPS == 0 && t->vectors * m->outputs <= MULTIPLY_WIDE;
        return fits ? m : NULL;
}

void cuda_multiply_together(struct c_writer *w, const struct loop_stmt *s)
{
        const struct multiply *m = multiply_of(w, s);
        if (!m) {
                c_fail(w, EXIT_UNSUPPORTED, "target %s has no such product of warps together", w->target->name);
                return;
        }
        const struct cuda_product p = { .multiply = m, .sum = m->sum, .rows = 1, .vectors = s->tiles.vectors, .depth = 1 };
        c_put(w, "%s(%s[0]," C_SOFT, cuda_product_use(w, p), c_use(w, s->variable));
        cuda_place(w, s->buffer, s->a);
        c_put(w, "," C_SOFT);
        cuda_place(w, s->weights, s->b);
        c_put(w, ");");
        c_end(w);
}
