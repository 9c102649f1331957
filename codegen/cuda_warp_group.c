/* SPDX-License-Identifier: MIT */
/* Prints warp-group MMA (wgmma) and bulk copies (cp.async.bulk) in CUDA C, from sm_90a on: four
 * warps multiply as one, and read their operands from shared memory, where bulk copies arrive at
 * barriers (mbarrier).
 *
 *     struct bulk_copies bulk;
 *     bulk_begin(&bulk, shared_memory() + 203008);   a barrier for each batch that may be under way
 *     bulk_copy(&bulk, ws + .., w + .., 32768);      one thread starts the copy
 *     bulk_commit(&bulk);
 *     bulk_wait(&bulk, 1);
 *     multiply_bf16_warp_group_32(acc[0], xs + .., ws + ..);
 *     units_wait(1);
 *     sums_settled(acc[0], 4);                       from here on a lane may use the sums
 *
 * x may also be sums in registers, as the shares of attention are. A lane then has them in pairs,
 * as the instruction reads them:
 *
 *     give_pairs_f16(shares, own, 16);
 *     multiply_f16_warp_group_of_sums_16x8(acc[0], shares, vs + ..); */
#include "codegen/cuda_writer.h"

#include <string.h>

static const char fence[] = "\n"
                            "#ifndef CUDA_CPU\n"
                            "/* Behind this, what threads wrote to shared memory, barriers "
                            "included, is seen by matrix units and bulk copies. */\n"
                            "static __device__ __forceinline__ void shared_to_units(void) { asm "
                            "volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\"); }\n"
                            "#endif\n";

static const char bulk_copies[] =
        "\n"
        "#ifndef CUDA_CPU\n"
        "static __device__ __forceinline__ void barrier_begin(uint64_t *b, unsigned arrivals)\n"
        "{\n"
        "        asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" "
        "::\"r\"((unsigned)__cvta_generic_to_shared(b)), \"r\"(arrivals) : \"memory\");\n"
        "}\n"
        "static __device__ __forceinline__ void barrier_expect(uint64_t *b, unsigned bytes)\n"
        "{\n"
        "        asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" "
        "::\"r\"((unsigned)__cvta_generic_to_shared(b)), \"r\"(bytes)\n"
        "                     : \"memory\");\n"
        "}\n"
        "static __device__ __forceinline__ void barrier_wait(uint64_t *b, unsigned parity)\n"
        "{\n"
        "        unsigned passed;\n"
        "        do\n"
        "                asm volatile(\"{\\n.reg .pred "
        "p;\\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\\nselp.u32 %0, 1, 0, p;\\n}\"\n"
        "                             : \"=r\"(passed) : "
        "\"r\"((unsigned)__cvta_generic_to_shared(b)), \"r\"(parity) : \"memory\");\n"
        "        while (!passed);\n"
        "}\n"
        "/* Copies a run of bytes into shared memory. Both addresses and the count are multiples "
        "of 16; the barrier counts\n"
        " * the bytes as they arrive. */\n"
        "static __device__ __forceinline__ void copy_bulk(void *shared, const void *global, "
        "unsigned bytes, uint64_t *b)\n"
        "{\n"
        "        asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1], %2, [%3];\"\n"
        "                     ::\"r\"((unsigned)__cvta_generic_to_shared(shared)), \"l\"(global), "
        "\"r\"(bytes), \"r\"((unsigned)__cvta_generic_to_shared(b))\n"
        "                     : \"memory\");\n"
        "}\n"
        "#endif\n"
        "\n"
        "/* Bulk copies go in groups. Each group that may be under way has a barrier, and groups "
        "take barriers in turn. */\n"
        "enum { BULK_GROUPS = 16 };\n"
        "struct bulk_copies { uint64_t *arrivals; unsigned copied, arrived, bytes; };\n"
        "static __device__ __forceinline__ bool bulk_thread(void) { return threadIdx.x + "
        "threadIdx.y == 0; }\n"
        "static __device__ __forceinline__ void bulk_begin(struct bulk_copies *r, void *shared)\n"
        "{\n"
        "        r->arrivals = (uint64_t *)shared;\n"
        "        r->copied = r->arrived = r->bytes = 0;\n"
        "        if (bulk_thread()) {\n"
        "                for (int i = 0; i < BULK_GROUPS; i++)\n"
        "                        barrier_begin(r->arrivals + i, 1);\n"
        "                shared_to_units();\n"
        "        }\n"
        "        __syncthreads();\n"
        "}\n"
        "static __device__ __forceinline__ void bulk_copy(struct bulk_copies *r, void *shared, "
        "const void *global, unsigned bytes)\n"
        "{\n"
        "        if (bulk_thread())\n"
        "                copy_bulk(shared, global, bytes, r->arrivals + r->copied % BULK_GROUPS);\n"
        "        r->bytes += bytes;\n"
        "}\n"
        "static __device__ __forceinline__ void bulk_commit(struct bulk_copies *r)\n"
        "{\n"
        "        if (bulk_thread())\n"
        "                barrier_expect(r->arrivals + r->copied % BULK_GROUPS, r->bytes);\n"
        "        r->copied++;\n"
        "        r->bytes = 0;\n"
        "}\n"
        "/* Waits until at most `left` groups are still under way. */\n"
        "static __device__ __forceinline__ void bulk_wait(struct bulk_copies *r, unsigned left)\n"
        "{\n"
        "        for (; r->copied - r->arrived > left; r->arrived++)\n"
        "                barrier_wait(r->arrivals + r->arrived % BULK_GROUPS, r->arrived / "
        "BULK_GROUPS % 2);\n"
        "}\n";

static const char units[] =
        "\n"
        "#ifndef CUDA_CPU\n"
        "static __device__ __forceinline__ void units_begin(void) { asm "
        "volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\"); }\n"
        "static __device__ __forceinline__ void units_commit(void) { asm "
        "volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\"); }\n"
        "#define units_wait(left) asm volatile(\"wgmma.wait_group.sync.aligned %0;\" ::\"n\"(left) "
        ": \"memory\")\n"
        "/* Describes to matrix units lines of 128 bytes, of which they read from the given word "
        "of 16 bytes on. Word n of line l\n"
        " * lies at place n ^ l % 8 of its line; lines are numbered from a multiple of 1024 bytes "
        "on. */\n"
        "static __device__ __forceinline__ uint64_t matrix_at(const void *shared, unsigned word)\n"
        "{\n"
        "        return (uint64_t)(((unsigned)__cvta_generic_to_shared(shared) >> 4 & 0x3fff) + "
        "word) | 1ull << 16 | 64ull << 32 | 1ull << 62;\n"
        "}\n"
        "#endif\n";

/* This function is called after units_wait: until then the instructions may use the registers of
 * sums and of x. The empty asm keeps a compiler from moving uses of these registers before it. */
#define SETTLED(name, type, count, operands)                                                       \
        "\n"                                                                                       \
        "#ifndef CUDA_CPU\n"                                                                       \
        "/* The lane may use these registers again, which matrix units had: the compiler moves "   \
        "no use of them to before this. */\n"                                                      \
        "static __device__ __forceinline__ void " name "(" type " (*x)[" count "], int vectors)\n" \
        "{\n"                                                                                      \
        "#pragma unroll\n"                                                                         \
        "        for (int j = 0; j < vectors; j++)\n"                                              \
        "                asm volatile(\"\" : " operands ");\n"                                     \
        "}\n"                                                                                      \
        "#endif\n"
static const char settled_floats[] =
        SETTLED("sums_settled", "float", "4",
                "\"+f\"(x[j][0]), \"+f\"(x[j][1]), \"+f\"(x[j][2]), \"+f\"(x[j][3])");
static const char settled_whole[] =
        SETTLED("whole_sums_settled", "int32_t", "4",
                "\"+r\"(x[j][0]), \"+r\"(x[j][1]), \"+r\"(x[j][2]), \"+r\"(x[j][3])");
static const char settled_pairs[] =
        SETTLED("pairs_settled", "uint32_t", "2", "\"+r\"(x[j][0]), \"+r\"(x[j][1])");

static const char transposed[] =
        "\n"
        "#ifndef CUDA_CPU\n"
        "/* Describes to matrix units lines of 64 outputs, one line for each channel, which begin "
        "at a multiple of 8 lines. The\n"
        " * lines of the next 64 outputs lie `next` bytes behind. */\n"
        "static __device__ __forceinline__ uint64_t matrix_across_at(const void *shared, unsigned "
        "next)\n"
        "{\n"
        "        return (uint64_t)((unsigned)__cvta_generic_to_shared(shared) >> 4 & 0x3fff) | "
        "(uint64_t)(next >> 4) << 16 | 64ull << 32 | 1ull << 62;\n"
        "}\n"
        "#endif\n";

/* The instructions are listed by the name of the multiply in the target's table. */
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

/* Prints the numbers, in an instruction's text, of the sums that it adds to, and the operands that
 * the numbers stand for. */
static void put_sums_named(struct text *out, int count)
{
        enum { LINE = 16 };
        for (int i = 0; i < count; i += LINE) {
                text_add(out, "                     \"");
                for (int k = i; k < i + LINE && k < count; k++)
                        text_add(out, "%%%d%s", k, k + 1 < count ? ", " : "");
                text_add(out, "\"\n");
        }
}
static void put_sums_given(struct text *out, const struct cuda_product *p)
{
        const char *kind = p->multiply->sum == E_F32 ? "f" : "r";
        text_add(out, "                     : ");
        for (int v = 0; v < p->vectors; v++)
                for (int i = 0; i < 4; i++)
                        text_add(out, "%s\"+%s\"(sums[%d][%d])%s",
                                 i || !v ? "" : "                       ", kind, v, i,
                                 v + 1 == p->vectors && i == 3 ? "\n"
                                 : i == 3                      ? ",\n"
                                                               : ", ");
}

/* Prints the function of one instruction: 64 positions by vectors * 8 outputs. */
static void put_unit(struct text *out, const struct cuda_product *p)
{
        const struct unit *u = unit_of(p->multiply);
        const int count = p->vectors * 4, outputs = p->vectors * 8;
        const char *sum = element_info[p->multiply->sum].c_type;
        if (p->of_sums)
                text_add(out,
                         "\n#ifndef CUDA_CPU\n"
                         "/* sums += x w, for 64 positions by %d outputs of %s and 16 channels: x "
                         "is in registers as pairs, w lies transposed. */\n"
                         "static __device__ __forceinline__ void %s_across_%d(%s sums[%d][4], "
                         "const uint32_t x[2][2], const void *w, unsigned next)\n{\n",
                         outputs, u->about, u->name, outputs, sum, p->vectors);
        else
                text_add(out,
                         "\n#ifndef CUDA_CPU\n"
                         "/* sums += x w, for 64 positions by %d outputs of %s: two words of each "
                         "line, from `word` on. */\n"
                         "static __device__ __forceinline__ void %s_%d(%s sums[%d][4], const void "
                         "*x, const void *w, unsigned word)\n{\n",
                         outputs, u->about, u->name, outputs, sum, p->vectors);
        text_add(out, "        asm volatile(\"wgmma.mma_async.sync.aligned.m64n%d%s.%s {\"\n",
                 outputs, u->shape, u->types);
        put_sums_named(out, count);
        if (p->of_sums)
                text_add(
                        out,
                        "                     \"}, {%%%d, %%%d, %%%d, %%%d}, %%%d, 1, 1, 1, 1;\"\n",
                        count, count + 1, count + 2, count + 3, count + 4);
        else
                text_add(out, "                     \"}, %%%d, %%%d%s;\"\n", count, count + 1,
                         u->tail);
        put_sums_given(out, p);
        text_add(out,
                 p->of_sums
                         ? "                     : \"r\"(x[0][0]), \"r\"(x[0][1]), \"r\"(x[1][0]), "
                           "\"r\"(x[1][1]), \"l\"(matrix_across_at(w, next)));\n}\n#endif\n"
                         : "                     : \"l\"(matrix_at(x, word)), \"l\"(matrix_at(w, "
                           "word)));\n}\n#endif\n");
}

/* Prints the function of an iteration, which has an instruction for every two words of a line. */
static void put_warp_group(struct c_writer *w, struct text *out, const struct cuda_product *p)
{
        const struct multiply *m = p->multiply;
        text_add(out,
                 "\n/* Adds products to the sums that four warps have of %d positions each, and of "
                 "%d outputs: x and w are lines of %d\n"
                 " * channels. */\n"
                 "static __device__ __forceinline__ void %s(%s sums[%d][4], const %s *x, const %s "
                 "*w)\n"
                 "{\n"
                 "        const %s *const own = x + __shfl_sync(0xffffffffu, threadIdx.y, 0) / %d "
                 "* %d;        /* It is the same address for all lanes of a warp. */\n"
                 "        units_begin();\n"
                 "#pragma unroll\n"
                 "        for (int word = 0; word < %d; word += 2)\n"
                 "                %s_%d(sums, own, w, word);\n"
                 "        units_commit();\n"
                 "}\n",
                 m->positions, p->vectors * m->outputs, m->channels, cuda_product_name(w, p),
                 element_info[m->sum].c_type, p->vectors, element_info[m->x.memory].c_type,
                 element_info[m->w.memory].c_type, element_info[m->x.memory].c_type, MULTIPLY_WARPS,
                 m->positions * m->channels, MULTIPLY_SWIZZLE, m->name, p->vectors * m->outputs);
}

static void put_warp_group_of_sums(struct c_writer *w, struct text *out,
                                   const struct cuda_product *p)
{
        const struct multiply *m = p->multiply;
        const char *element = element_info[m->w.memory].c_type;
        text_add(out,
                 "\n/* Adds products to the sums that four warps have of %d positions each, and of "
                 "%d outputs: x is made of other sums, w\n"
                 " * has lines of %d outputs for each of %d channels. */\n"
                 "static __device__ __forceinline__ void %s(%s sums[%d][4], const uint32_t "
                 "x[%d][2], const %s *w)\n"
                 "{\n"
                 "        units_begin();\n"
                 "#pragma unroll\n"
                 "        for (int k = 0; k < %d; k++)\n"
                 "                %s_across_%d(sums, x + k * 2, w + k * %d, %d);\n"
                 "        units_commit();\n"
                 "}\n",
                 m->positions, p->vectors * m->outputs, m->channels, p->depth * MULTIPLY_TRANSPOSED,
                 cuda_product_name(w, p), element_info[m->sum].c_type, p->vectors, p->depth * 2,
                 element, p->depth, m->name, p->vectors * m->outputs,
                 MULTIPLY_TRANSPOSED * m->channels,
                 p->depth * MULTIPLY_TRANSPOSED * m->channels * element_info[m->w.memory].bytes);
}

static void put_give(struct text *out, enum element e)
{
        text_add(out,
                 "static __device__ __forceinline__ void give_pairs_%s(uint32_t (*pairs)[2], const "
                 "float *own, int vectors)\n"
                 "{\n"
                 "#pragma unroll\n"
                 "        for (int j = 0; j < vectors * 2; j++)\n"
                 "                pairs[j / 2][j %% 2] = pair_%s(own[j * 2], own[j * 2 + 1]);\n"
                 "}\n",
                 element_info[e].text, element_info[e].text);
}

/* Does a product before number k use the same instruction (with `pairs`: the same function that
 * packs pairs), so that it has been printed already? */
static bool is_known(const struct cuda_writer *cuda, int k, bool pairs)
{
        const struct cuda_product *p = &cuda->products[k];
        for (const struct cuda_product *q = cuda->products; q < p; q++)
                if (pairs ? q->of_sums && q->multiply->x.memory == p->multiply->x.memory &&
                                    multiply_by_warp_group(q->multiply)
                          : q->multiply == p->multiply && q->vectors == p->vectors &&
                                    q->of_sums == p->of_sums)
                        return true;
        return false;
}

void cuda_warp_group_top(struct c_writer *w, struct text *out)
{
        const struct cuda_writer *cuda = w->cuda;
        bool any = false, floats = false, whole = false, of_sums = false;
        for (int k = 0; k < cuda->product_count; k++) {
                const struct cuda_product *p = &cuda->products[k];
                const bool warp_group = p->multiply && multiply_by_warp_group(p->multiply);
                any |= warp_group;
                floats |= warp_group && p->sum == E_F32;
                whole |= warp_group && p->sum != E_F32;
                of_sums |= warp_group && p->of_sums;
        }
        text_add(out, "%s%s%s", any || cuda->copies_bulk ? fence : "",
                 cuda->copies_bulk ? bulk_copies : "", any ? units : "");
        text_add(out, "%s%s%s%s", floats ? settled_floats : "", whole ? settled_whole : "",
                 of_sums ? settled_pairs : "", of_sums ? transposed : "");
        for (int k = 0; k < cuda->product_count; k++) {
                const struct cuda_product *p = &cuda->products[k];
                if (!p->multiply || !multiply_by_warp_group(p->multiply))
                        continue;
                if (p->of_sums && !is_known(cuda, k, true))
                        put_give(out, p->multiply->x.memory);
                if (!is_known(cuda, k, false))
                        put_unit(out, p);
                (p->of_sums ? put_warp_group_of_sums : put_warp_group)(w, out, p);
        }
}

/* ---- statements ---- */

static void find_run(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_COPY && s->code > COPY_BYTES;
}

struct finding { struct arena *arena; struct cuda_phase *phase; };

static void find_warp_group(struct loop_stmt *s, void *context)
{
        struct finding *f = context;
        if (s->kind != STMT_MULTIPLY || !s->tiles.warp_group)
                return;
        f->phase->warp_group = true;
        if (s->buffer)
                return;
        ARENA_GROW(f->arena, f->phase->of_sums, f->phase->of_sums_count);
        f->phase->of_sums[f->phase->of_sums_count++] = s;
}

void cuda_warp_group_find(struct c_writer *w, struct cuda_phase *phase, struct loop_block *block)
{
        struct finding finding = { w->arena, phase };
        loop_block_walk(block, find_run, NULL, &phase->copies_bulk);
        loop_block_walk(block, find_warp_group, NULL, &finding);
}

void cuda_warp_group_begin(struct c_writer *w)
{
        struct cuda_phase *phase = w->cuda->phase;
        if (!phase->copies_bulk)
                return;
        w->cuda->copies_bulk = w->cuda->shares = true;
        c_line(w, "struct bulk_copies bulk;");
        c_line(w, "bulk_begin(&bulk, shared_memory());");
        phase->shared += GRID_BULK_BYTES;
}

void cuda_bulk_copy(struct c_writer *w, const struct loop_stmt *s)
{
        cuda_needs(w, s->source, COPY_BYTES);
        c_put(w, "bulk_copy(&bulk," C_SOFT);
        cuda_place(w, s->buffer, s->a);
        c_put(w, "," C_SOFT);
        cuda_place(w, s->source, s->b);
        c_put(w, "," C_SOFT "%lld);", (long long)s->code * element_info[s->buffer->element].bytes);
        c_end(w);
}

/* Returns the multiply of a statement; NULL where the target has no instruction for it. */
static const struct multiply *multiply_of(const struct c_writer *w, const struct loop_stmt *s)
{
        const struct loop_tiles *t = &s->tiles;
        const struct multiply *m = loop_tile_multiply(s, w->target);
        bool fits = unit_of(m) && m->sum == s->variable->type.element &&
                    t->swizzle == MULTIPLY_SWIZZLE && t->positions == t->rows &&
                    t->rows * MULTIPLY_WARPS == m->positions &&
                    s->variable->warps % MULTIPLY_WARPS == 0 &&
                    t->vectors * m->outputs <= MULTIPLY_WIDE;
        if (fits && s->buffer)
                fits = !t->transposed && t->step == m->channels && t->jump == t->rows * t->step;
        /* The w of bytes cannot be transposed. */
        else if (fits)
                fits = element_info[m->x.memory].bytes == 2 &&
                       t->depth * t->group % MULTIPLY_TRANSPOSED == 0;
        return fits ? m : NULL;
}

void cuda_warp_group_multiply(struct c_writer *w, const struct loop_stmt *s)
{
        struct cuda_phase *phase = w->cuda->phase;
        const struct multiply *m = multiply_of(w, s);
        if (!m) {
                c_fail(w, EXIT_UNSUPPORTED, "target %s has no such product of a warp group",
                       w->target->name);
                return;
        }
        const struct cuda_product p = {
                .multiply = m,
                .sum = m->sum,
                .rows = 1,
                .vectors = s->tiles.vectors,
                .of_sums = !s->buffer,
                .depth = s->buffer ? 1 : s->tiles.depth * s->tiles.group / MULTIPLY_TRANSPOSED
        };
        c_put(w, "%s(%s[0]," C_SOFT, cuda_product_use(w, p), c_use(w, s->variable));
        if (s->buffer)
                cuda_place(w, s->buffer, s->a);
        else
                c_put(w, "%s", c_use(w, loop_multiplied(s)));
        c_put(w, "," C_SOFT);
        cuda_place(w, s->weights, s->b);
        c_put(w, ");");
        c_end(w);
        if (phase->made_count == PRODUCTS_MAX)
                memmove(phase->made, phase->made + 1,
                        sizeof *phase->made * (size_t)--phase->made_count);
        phase->made[phase->made_count++] = s;
}

/* Does MMA under way, from number `from` on, use these sums? */
static bool is_under_way(const struct cuda_phase *phase, int from, const struct loop_variable *sums)
{
        for (int i = from; i < phase->made_count; i++)
                if (phase->made[i]->variable == sums || loop_multiplied(phase->made[i]) == sums)
                        return true;
        return false;
}

void cuda_settle(struct c_writer *w, const struct loop_stmt *s)
{
        struct cuda_phase *phase = w->cuda->phase;
        const int done = phase->made_count > s->code ? phase->made_count - s->code : 0;
        c_line(w, "units_wait(%d);", s->code);
        for (int i = 0; i < done; i++) {
                const struct loop_variable *sums = phase->made[i]->variable,
                                           *x = loop_multiplied(phase->made[i]);
                if (!is_under_way(phase, i + 1, sums))
                        c_line(w, "%ssums_settled(%s[0], %d);",
                               sums->type.element == E_F32 ? "" : "whole_", c_use(w, sums),
                               sums->columns);
                if (x && !is_under_way(phase, i + 1, x))
                        c_line(w, "pairs_settled(%s, %d);", c_use(w, x), x->columns);
        }
        phase->made_count -= done;
        memmove(phase->made, phase->made + done, sizeof *phase->made * (size_t)phase->made_count);
}

/* Returns the element of x that MMA reads these sums as, in pairs; E_F32: no MMA reads them. */
static enum element pairs_of(const struct c_writer *w, const struct loop_variable *sums)
{
        const struct cuda_phase *phase = w->cuda->phase;
        for (int i = 0; i < phase->of_sums_count; i++)
                if (loop_multiplied(phase->of_sums[i]) == sums)
                        return phase->of_sums[i]->weights->element;
        return E_F32;
}

bool cuda_pairs(struct c_writer *w, struct loop_variable *sums)
{
        if (pairs_of(w, sums) == E_F32)
                return false;
        c_declare(w, sums);
        c_line(w, "uint32_t %s[%d][2] = { { 0 } };", c_name(w, sums)->text, sums->columns);
        return true;
}

bool cuda_give_pairs(struct c_writer *w, const struct loop_stmt *s)
{
        const enum element e = pairs_of(w, s->variable);
        if (e == E_F32)
                return false;
        if (s->kind != STMT_GIVE) {
                c_fail(w, EXIT_UNSUPPORTED,
                       "target %s: of what warp groups multiply lanes give all, and nothing else "
                       "touches it",
                       w->target->name);
                return true;
        }
        c_line(w, "give_pairs_%s(%s, %s, %d);", element_info[e].text, c_use(w, s->variable),
               c_use(w, s->buffer), s->variable->columns);
        return true;
}
