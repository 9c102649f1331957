/* SPDX-License-Identifier: MIT */
/* Products of warps in CUDA C: copies into shared memory, sums in fragments. An instruction is a leaf:
 * a function with its PTX, which what runs the text on a processor has in C++ (CUDA_CPU).
 *
 *     float acc[2][4][4] = { { { 0.0f } } };                           a lane's part of 32 x 32 sums
 *     copy_async(xs + .., there ? x + .. : x, there);
 *     multiply_f16_2x4x2(acc, xs + .., 40, ws + ..);
 *     unload_4(sums + .., 40, acc[0]); */
#include "codegen/cuda_writer.h"

#include <string.h>

static const char copies[] =
        "\n"
        "#ifndef CUDA_CPU\n"
        "/* 16 bytes into shared memory, zeros where !there; they arrive when their group is waited for */\n"
        "static __device__ __forceinline__ void copy_async(void *shared, const void *global, bool there)\n"
        "{\n"
        "#if __CUDA_ARCH__ < 800\n"
        "        *(uint4 *)shared = there ? *(const uint4 *)global : make_uint4(0, 0, 0, 0);\n"
        "#else\n"
        "        asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\" ::\"r\"((unsigned)__cvta_generic_to_shared(shared)),\n"
        "                     \"l\"(global), \"r\"(there ? 16 : 0) : \"memory\");\n"
        "#endif\n"
        "}\n"
        "#if __CUDA_ARCH__ < 800\n"
        "#define copy_commit()\n"
        "#define copy_wait(left)\n"
        "#else\n"
        "#define copy_commit() asm volatile(\"cp.async.commit_group;\" ::: \"memory\")\n"
        "#define copy_wait(left) asm volatile(\"cp.async.wait_group %0;\" ::\"n\"(left) : \"memory\")\n"
        "#endif\n"
        "#endif\n";

static const char load[] =
        "\n"
        "#ifndef CUDA_CPU\n"
        "/* four 8 x 8 matrices of 16-bit elements; lane l gives row l % 8 of matrix l / 8 */\n"
        "static __device__ __forceinline__ void load_matrices(uint32_t r[4], const void *row)\n"
        "{\n"
        "        asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\"\n"
        "                     : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3])\n"
        "                     : \"r\"((unsigned)__cvta_generic_to_shared(row)) : \"memory\");\n"
        "}\n"
        "#endif\n";

/* the instructions, by the name of the multiply in the target's table; later ones need a later GPU */
static const struct leaf { const char *name, *text; } leaves[] = {
        { "mma_f16",
          "\n"
          "#ifndef CUDA_CPU\n"
          "/* d += a b: 16 x 16 by 16 x 8 halves, sums in f32 */\n"
          "static __device__ __forceinline__ void mma_f16(float d[4], const uint32_t a[4], const uint32_t b[2])\n"
          "{\n"
          "#if __CUDA_ARCH__ < 800\n"
          "        for (int k = 0; k < 2; k++)\n"
          "                asm(\"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};\"\n"
          "                    : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3])\n"
          "                    : \"r\"(a[2 * k]), \"r\"(a[2 * k + 1]), \"r\"(b[k]));\n"
          "#else\n"
          "        asm(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
          "            : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3])\n"
          "            : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n"
          "#endif\n"
          "}\n"
          "#endif\n" },
        { "mma_bf16",
          "\n"
          "#ifndef CUDA_CPU\n"
          "/* d += a b: 16 x 16 by 16 x 8 numbers in bf16, sums in f32 */\n"
          "static __device__ __forceinline__ void mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2])\n"
          "{\n"
          "        asm(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
          "            : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3])\n"
          "            : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n"
          "}\n"
          "#endif\n" },
};
enum { LEAVES = sizeof leaves / sizeof *leaves };

static const struct leaf *leaf_of(const struct c_writer *w, const struct loop_stmt *s)
{
        const struct multiply *m = multiply_find(w->target, s->buffer->element, s->weights->element, true,
                                                 s->variable->type.lanes, s->tiles.group, 0);
        for (int i = 0; m && multiply_in_warps(m) && i < LEAVES; i++)
                if (!strcmp(leaves[i].name, m->name) && s->tiles.depth % m->depth == 0 && s->tiles.rows == m->positions &&
                    s->tiles.positions % m->positions == 0)
                        return &leaves[i];
        return NULL;
}

/* ---- functions of a shape ---- */

static const char *suffix_of(const struct leaf *leaf) { return leaf->name + strlen("mma_"); }

/* so many fragments of positions and of outputs, products deep */
static const char *product_of(struct c_writer *w, const struct cuda_product *p)
{
        return p->leaf ? arena_printf(w->arena, "multiply_%s_%dx%dx%d", suffix_of(p->leaf), p->rows, p->vectors, p->depth)
                       : arena_printf(w->arena, "unload_%d", p->vectors);
}

static const char *use_product(struct c_writer *w, struct cuda_product p)
{
        struct cuda_writer *cuda = w->cuda;
        for (int i = 0; i < cuda->product_count; i++)
                if (cuda->products[i].leaf == p.leaf && cuda->products[i].rows == p.rows &&
                    cuda->products[i].vectors == p.vectors && cuda->products[i].depth == p.depth)
                        return product_of(w, &p);
        ARENA_GROW(w->arena, cuda->products, cuda->product_count);
        cuda->products[cuda->product_count++] = p;
        return product_of(w, &p);
}

static void put_product(struct c_writer *w, struct text *out, const struct cuda_product *p)
{
        text_add(out,
                 "\n/* sums of %d positions and %d outputs: x rows of %d channels, so many elements apart; w [%d][%d][8][8] */\n"
                 "static __device__ __forceinline__ void %s(float sums[%d][%d][4], const uint16_t *x, int step, const uint16_t *w)\n"
                 "{\n"
                 "        const int lane = (int)threadIdx.x;\n"
                 "        const uint16_t *const rows = x + lane %% 16 * step + lane / 16 * 8;\n"
                 "#pragma unroll\n"
                 "        for (int k = 0; k < %d; k++) {\n"
                 "                uint32_t a[%d][4];\n"
                 "#pragma unroll\n"
                 "                for (int i = 0; i < %d; i++)\n"
                 "                        load_matrices(a[i], rows + i * 16 * step + k * 16);\n"
                 "#pragma unroll\n"
                 "                for (int j = 0; j < %d; j += 2) {\n"
                 "                        uint32_t b[4];\n",
                 p->rows * 16, p->vectors * 8, p->depth * 16, p->depth * 2, p->vectors, product_of(w, p), p->rows, p->vectors,
                 p->depth, p->rows, p->rows, p->vectors);
        if (p->vectors % 2)
                text_add(out, "                        const int vector = j + (j < %d ? lane / 16 : 0);\n", p->vectors - 1);
        else
                text_add(out, "                        const int vector = j + lane / 16;\n");
        text_add(out,
                 "                        load_matrices(b, w + ((k * 2 + lane / 8 %% 2) * %d + vector) * 64 + lane %% 8 * 8);\n"
                 "#pragma unroll\n"
                 "                        for (int i = 0; i < %d; i++) {\n"
                 "                                %s(sums[i][j], a[i], b);\n",
                 p->vectors, p->rows, p->leaf->name);
        if (p->vectors % 2)
                text_add(out, "                                if (j < %d)\n        ", p->vectors - 1);
        text_add(out,
                 "                                %s(sums[i][j + 1], a[i], b + 2);\n"
                 "                        }\n"
                 "                }\n"
                 "        }\n"
                 "}\n",
                 p->leaf->name);
}

static void put_unload(struct c_writer *w, struct text *out, const struct cuda_product *p)
{
        text_add(out,
                 "\n/* 16 positions of a warp's sums, for its lanes to read */\n"
                 "static __device__ __forceinline__ void %s(float *y, int step, const float sums[%d][4])\n"
                 "{\n"
                 "        float *const to = y + threadIdx.x / 4 * step + threadIdx.x %% 4 * 2;\n"
                 "        __syncwarp();\n"
                 "#pragma unroll\n"
                 "        for (int j = 0; j < %d; j++) {\n"
                 "                *(float2 *)(to + j * 8) = make_float2(sums[j][0], sums[j][1]);\n"
                 "                *(float2 *)(to + step * 8 + j * 8) = make_float2(sums[j][2], sums[j][3]);\n"
                 "        }\n"
                 "        __syncwarp();\n"
                 "}\n",
                 product_of(w, p), p->vectors, p->vectors);
}

void cuda_products_top(struct c_writer *w, struct text *out)
{
        const struct cuda_writer *cuda = w->cuda;
        bool loads = false;
        if (cuda->copies)
                text_add(out, "%s", copies);
        for (int i = 0; i < LEAVES; i++)
                for (int k = 0; k < cuda->product_count; k++)
                        if (cuda->products[k].leaf == &leaves[i]) {
                                text_add(out, "%s%s", loads ? "" : load, leaves[i].text);
                                loads = true;
                                break;
                        }
        for (int k = 0; k < cuda->product_count; k++)
                (cuda->products[k].leaf ? put_product : put_unload)(w, out, &cuda->products[k]);
}

/* ---- statements ---- */

static void put_place(struct c_writer *w, struct loop_buffer *b, const struct loop_expr *at)
{
        c_put(w, "%s + (", c_use(w, b));
        c_expression(w, at);
        c_put(w, ")");
}

static void put_copy(struct c_writer *w, const struct loop_stmt *s)
{
        if (s->code * element_info[s->buffer->element].bytes != COPY_BYTES || s->a->type.lanes != 1) {
                c_fail(w, EXIT_UNSUPPORTED, "a copy into shared memory that is not %d bytes of each lane", COPY_BYTES);
                return;
        }
        w->cuda->copies = true;
        c_put(w, "copy_async(");
        put_place(w, s->buffer, s->a);
        c_put(w, "," C_SOFT);
        if (s->c) {                     /* the place may be none outside of the mask */
                c_expression(w, s->c);
                c_put(w, " ? ");
        }
        put_place(w, s->source, s->b);
        if (s->c)
                c_put(w, " : %s", c_use(w, s->source));
        c_put(w, "," C_SOFT);
        if (s->c)
                c_expression(w, s->c);
        else
                c_put(w, "true");
        c_put(w, ");");
        c_end(w);
}

static void put_multiply(struct c_writer *w, const struct loop_stmt *s)
{
        const struct leaf *leaf = leaf_of(w, s);
        if (!leaf) {
                c_fail(w, EXIT_UNSUPPORTED, "target %s has no such product of tiles", w->target->name);
                return;
        }
        const struct cuda_product p = { leaf, s->tiles.positions / s->tiles.rows, s->tiles.vectors, s->tiles.depth / 2 };
        c_put(w, "%s(%s," C_SOFT, use_product(w, p), c_use(w, s->variable));
        put_place(w, s->buffer, s->a);
        c_put(w, "," C_SOFT "%lld," C_SOFT, (long long)s->tiles.step);
        put_place(w, s->weights, s->b);
        c_put(w, ");");
        c_end(w);
}

static void put_unloading(struct c_writer *w, const struct loop_stmt *s)
{
        const struct cuda_product p = { NULL, 1, s->tiles.vectors, 0 };
        const char *name = use_product(w, p), *sums = c_use(w, s->variable);
        int64_t lanes = s->variable->type.lanes, step = s->tiles.step ? s->tiles.step : s->tiles.vectors * lanes;
        for (int i = 0; i < s->tiles.positions / s->tiles.rows; i++) {
                c_put(w, "%s(", name);
                c_put(w, "%s + (", c_use(w, s->buffer));
                c_expression(w, s->a);
                c_put(w, ")");
                if (i)
                        c_put(w, " + %lld", (long long)(i * s->tiles.rows * step));
                c_put(w, "," C_SOFT "%lld," C_SOFT "%s[%d]);", (long long)step, sums, s->tiles.first / s->tiles.rows + i);
                c_end(w);
        }
}

static void put_sums(struct c_writer *w, const struct loop_stmt *s)
{
        const struct loop_variable *v = s->variable;
        enum { ROWS = 16 };             /* of a fragment, which has four sums of each lane */
        if (v->type.element != E_F32 || v->type.lanes != 8 || v->rows % ROWS) {
                c_fail(w, EXIT_UNSUPPORTED, "target %s has no such tiles", w->target->name);
                return;
        }
        c_declare(w, s->variable);
        c_line(w, "float %s[%d][%d][4] = { { { 0.0f } } };", c_name(w, v)->text, v->rows / ROWS, v->columns);
}

void cuda_product(struct c_writer *w, const struct loop_stmt *s)
{
        switch (s->kind) {
        case STMT_VAR: put_sums(w, s); break;
        case STMT_COPY: put_copy(w, s); break;
        case STMT_COMMIT: c_line(w, "copy_commit();"); break;
        case STMT_WAIT:                 /* of other warps' copies, too */
                c_line(w, "copy_wait(%d);", s->code);
                c_line(w, "__syncthreads();");
                break;
        case STMT_MULTIPLY: put_multiply(w, s); break;
        case STMT_UNLOAD: put_unloading(w, s); break;
        default: c_fail(w, EXIT_UNSUPPORTED, "target %s has no such tiles", w->target->name); break;
        }
}

bool cuda_waits_next(const struct loop_stmt *s)
{
        s = s->next;
        while (s && s->kind == STMT_COMMIT)
                s = s->next;
        return s && s->kind == STMT_WAIT;
}
