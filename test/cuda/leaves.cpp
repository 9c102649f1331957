/* SPDX-License-Identifier: MIT */
/* Instructions of a warp, and copies into shared memory. Fragments are as the PTX manual has them (ISA 8.x, "Matrix Multiply-Accumulate
 * Operation using mma instruction", "ldmatrix", "Asynchronous Warpgroup Level Matrix Multiply-Accumulate"). */
#include <vector>

#include "fibers.h"
#include "sums.h"

struct copy { void *to; const void *from; int bytes; bool there; };
struct unit_product {                   /* of a warp's part of four warps' product */
        void (*work)(void *const lanes[WARP]);
        int unit, columns;              /* enum executor_unit */
        void *d;
        const void *x, *w;
        int line;
        unsigned next;                  /* w transposed: bytes from 64 outputs to the next */
};
struct leaf_state {
        std::vector<std::vector<struct copy>> groups = std::vector<std::vector<struct copy>>(1);        /* the open one last */
        std::vector<std::vector<struct unit_product>> products = std::vector<std::vector<struct unit_product>>(1);
        unsigned fences = 0;                            /* between what this thread wrote and products */
};
static struct leaf_state *state(void)
{
        if (!executor_self->leaves)
                executor_self->leaves = new leaf_state;
        return executor_self->leaves;
}

unsigned char *shared_memory(void) { return executor_shared(); }

/* ---- shuffles and votes ---- */

struct shuffle { uint64_t bits, got; int from; unsigned mask; };
static void shuffle_work(void *const lanes[WARP])
{
        for (int l = 0; l < WARP; l++) {
                struct shuffle *s = (struct shuffle *)lanes[l];
                if (!s)
                        continue;
                if (!lanes[s->from])
                        executor_found("lane %d asks for the value of lane %d, which is not in the mask %08x", l, s->from, s->mask);
                s->got = ((struct shuffle *)lanes[s->from])->bits;
        }
}
uint64_t executor_shuffle(enum executor_shuffle kind, unsigned mask, uint64_t bits, int by, int width, int line)
{
        static const char *const names[] = { "__shfl_xor_sync", "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync" };
        int lane = executor_lane(), first = lane / width * width, from = lane;
        switch (kind) {
        case SHUFFLE_XOR: from = lane ^ by; break;
        case SHUFFLE_FROM: from = first + (by & (width - 1)); break;
        case SHUFFLE_UP: from = lane - by; break;
        case SHUFFLE_DOWN: from = lane + by; break;
        }
        if (from < first || from >= first + width || from >= WARP)
                from = lane;            /* what CUDA says of a lane outside */
        struct shuffle s = { bits, 0, from, mask };
        executor_warp(names[kind], mask, &s, shuffle_work, line);
        return s.got;
}

struct vote { bool yes; unsigned got; };
static void vote_work(void *const lanes[WARP])
{
        unsigned all = 0;
        for (int l = 0; l < WARP; l++)
                all |= (unsigned)(lanes[l] && ((struct vote *)lanes[l])->yes) << l;
        for (int l = 0; l < WARP; l++)
                if (lanes[l])
                        ((struct vote *)lanes[l])->got = all;
}
unsigned __ballot_sync(unsigned mask, int predicate, int line)
{
        struct vote v = { predicate != 0, 0 };
        executor_warp("a vote", mask, &v, vote_work, line);
        return v.got;
}

/* ---- copies of 16 bytes ---- */

static void touch(struct executor_thread *thread, const void *address, int bytes, bool write)
{
        if (executor_access)
                executor_access(thread, address, (size_t)bytes, write);
}
/* Words of 16 bytes that copies of threads wrote are for products from the writer's next fence on. */
static void wrote(const void *to)
{
        std::vector<struct executor_written> &all = executor_self->block->written;
        size_t at = (size_t)((const unsigned char *)to - executor_self->block->shared) / 16;
        if (all.size() <= at)
                all.resize(at + 1);
        all[at] = { executor_self, state()->fences };
}
void shared_to_units(void) { state()->fences++; }
static void check_fenced(const void *word, int line)
{
        const std::vector<struct executor_written> &all = executor_self->block->written;
        size_t at = (size_t)((const unsigned char *)word - executor_self->block->shared) / 16;
        if (at < all.size() && all[at].writer && all[at].fences == all[at].writer->leaves->fences)
                executor_found("line %d: no fence between stores to shared memory and a product", line);
}
static void arrive(const struct copy *c)
{
        touch(executor_self, c->to, c->bytes, true);
        if (c->there)
                touch(executor_self, c->from, c->bytes, false);
        if (c->there)
                memcpy(c->to, c->from, (size_t)c->bytes);
        else
                memset(c->to, 0, (size_t)c->bytes);
        if (c->bytes == 16)
                wrote(c->to);
}
void copy_async(void *shared, const void *global, bool there)
{
        struct copy c = { shared, global, 16, there };
        if ((uintptr_t)shared % 16 || (there && (uintptr_t)global % 16))
                executor_found("a copy of 16 bytes from %s to %p: misaligned", executor_where(global), shared);
        executor.counts.copied += there ? 16 : 0;
        if (executor.late)
                state()->groups.back().push_back(c);
        else
                arrive(&c);
}
void copy_commit(void) { state()->groups.emplace_back(); }
static void wait_groups(struct leaf_state *s, size_t left)
{
        while (s->groups.size() > left + 1) {
                for (const struct copy &c : s->groups.front())
                        arrive(&c);
                s->groups.erase(s->groups.begin());
        }
}
void copy_wait(int left) { wait_groups(state(), (size_t)left); }

/* ---- matrices ---- */

struct load { uint32_t *r; const unsigned char *row; };
template <bool transposed> static void load_work(void *const lanes[WARP])
{
        for (int l = 0; l < WARP; l++)
                touch(executor_self->warp->lanes + l, ((struct load *)lanes[l])->row, 16, false);
        for (int j = 0; j < 4; j++) {
                unsigned banks = 0;     /* eight rows of 16 bytes go at once if no two share banks */
                for (int l = 8 * j; l < 8 * j + 8; l++)
                        banks |= 1u << (uintptr_t)((struct load *)lanes[l])->row / 16 % 8;
                executor.counts.conflicts += 8 - __builtin_popcount(banks);
                for (int l = 0; l < WARP; l++)
                        for (int i = 0; i < 2; i++) {
                                int row = transposed ? l % 4 * 2 + i : l / 4, column = transposed ? l / 4 : l % 4 * 2 + i;
                                memcpy((uint16_t *)(((struct load *)lanes[l])->r + j) + i, ((struct load *)lanes[8 * j + row])->row + column * 2, 2);
                        }
        }
        executor.counts.ldmatrix++;
}
void load_matrices(uint32_t r[4], const void *row, int line)
{
        struct load l = { r, (const unsigned char *)row };
        if ((uintptr_t)row % 16)
                executor_found("line %d: load_matrices of a row that is not at a multiple of 16", line);
        executor_warp("load_matrices", ~0u, &l, load_work<false>, line);
}
void load_matrices_transposed(uint32_t r[4], const void *row, int line)
{
        struct load l = { r, (const unsigned char *)row };
        if ((uintptr_t)row % 16)
                executor_found("line %d: load_matrices_transposed of a row that is not at a multiple of 16", line);
        executor_warp("load_matrices_transposed", ~0u, &l, load_work<true>, line);
}

struct mma { float *d; const uint32_t *a, *b; };
static uint16_t half_at(const uint32_t *r, int i) { return (uint16_t)(r[i / 2] >> 16 * (i % 2)); }
/* of numbers in bf16, whose products are exact in f32 */
static void add_bf16(float *d, const uint16_t *a, const uint16_t *b)
{
        for (int i = 0; i < 16; i++)
                for (int j = 0; j < 8; j++)
                        for (int k = 0; k < 16; k++) {
                                uint32_t x = (uint32_t)a[i * 16 + k] << 16, y = (uint32_t)b[j * 16 + k] << 16;
                                d[i * 8 + j] += executor_bits<float>(x) * executor_bits<float>(y);
                        }
}
static void add_bf16_as_cores(float *d, const uint16_t *a, const uint16_t *b)
{
        for (int i = 0; i < 16; i++)
                for (int j = 0; j < 8; j++) {
                        double terms[17] = { d[i * 8 + j] };
                        for (int k = 0; k < 16; k++)
                                terms[k + 1] = (double)executor_bits<float>((uint32_t)a[i * 16 + k] << 16) * (double)executor_bits<float>((uint32_t)b[j * 16 + k] << 16);
                        d[i * 8 + j] = sum_as_cores(terms, 17);
                }
}
template <bool is_bf16> static void mma_work(void *const lanes[WARP])
{
        uint16_t a[16][16], b[8][16];
        for (int l = 0; l < WARP; l++)
                for (int i = 0; i < 2; i++) {
                        const struct mma *m = (const struct mma *)lanes[l];
                        int row = l / 4, k = l % 4 * 2 + i;
                        a[row][k] = half_at(m->a, i);
                        a[row + 8][k] = half_at(m->a + 1, i);
                        a[row][k + 8] = half_at(m->a + 2, i);
                        a[row + 8][k + 8] = half_at(m->a + 3, i);
                        b[row][k] = half_at(m->b, i);
                        b[row][k + 8] = half_at(m->b + 1, i);
                }
        float d[16][8];
        for (int l = 0; l < WARP; l++)
                for (int i = 0; i < 4; i++)
                        d[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2] = ((struct mma *)lanes[l])->d[i];
        if (is_bf16)
                (executor.cut_off ? add_bf16_as_cores : add_bf16)(d[0], a[0], b[0]);
        else
                add_products(d[0], a[0], b[0], 16, 8, 16);
        for (int l = 0; l < WARP; l++)
                for (int i = 0; i < 4; i++)
                        ((struct mma *)lanes[l])->d[i] = d[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2];
        executor.counts.mma++;
}
/* a and b as 32-bit registers of four bytes each, or of one number in tf32 */
template <class sum, class work> static void mma_registers(void *const lanes[WARP], work add)
{
        uint32_t a[16][8], b[8][8];
        sum d[16][8];
        for (int l = 0; l < WARP; l++) {
                const struct mma *m = (const struct mma *)lanes[l];
                for (int i = 0; i < 4; i++)
                        a[l / 4 + i % 2 * 8][l % 4 + i / 2 * 4] = m->a[i];
                for (int i = 0; i < 2; i++)
                        b[l / 4][l % 4 + i * 4] = m->b[i];
                for (int i = 0; i < 4; i++)
                        d[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2] = ((const sum *)m->d)[i];
        }
        for (int i = 0; i < 16; i++)
                for (int j = 0; j < 8; j++)
                        d[i][j] = add(d[i][j], a[i], b[j]);
        for (int l = 0; l < WARP; l++)
                for (int i = 0; i < 4; i++)
                        ((sum *)((struct mma *)lanes[l])->d)[i] = d[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2];
        executor.counts.mma++;
}
template <class byte> static int32_t add_bytes(int32_t d, const uint32_t *a, const uint32_t *b)
{
        for (int i = 0; i < 8; i++)
                for (int k = 0; k < 32; k += 8)
                        d = (int32_t)((uint32_t)d + (uint32_t)((byte)(a[i] >> k) * (int8_t)(b[i] >> k)));
        return d;
}
/* the low 13 bits of an operand are not looked at; products are exact in double */
struct tf32 {
        float operator()(float d, const uint32_t *a, const uint32_t *b) const
        {
                double sum = d;
                for (int i = 0; i < 8; i++)
                        sum += (double)executor_bits<float>(a[i] & 0xffffe000u) * (double)executor_bits<float>(b[i] & 0xffffe000u);
                return (float)sum;
        }
};
struct tf32_as_cores {
        float operator()(float d, const uint32_t *a, const uint32_t *b) const
        {
                double terms[9] = { d };
                for (int i = 0; i < 8; i++)
                        terms[i + 1] = (double)executor_bits<float>(a[i] & 0xffffe000u) * (double)executor_bits<float>(b[i] & 0xffffe000u);
                return sum_as_cores(terms, 9);
        }
};
void mma_s8(int32_t d[4], const uint32_t a[4], const uint32_t b[2], int line)
{
        struct mma m = { (float *)d, a, b };
        executor_warp("mma_s8", ~0u, &m, [](void *const *lanes) { mma_registers<int32_t>(lanes, add_bytes<int8_t>); }, line);
}
void mma_u8(int32_t d[4], const uint32_t a[4], const uint32_t b[2], int line)
{
        struct mma m = { (float *)d, a, b };
        executor_warp("mma_u8", ~0u, &m, [](void *const *lanes) { mma_registers<int32_t>(lanes, add_bytes<uint8_t>); }, line);
}
void mma_tf32(float d[4], const uint32_t a[4], const uint32_t b[2], int line)
{
        struct mma m = { d, a, b };
        executor_warp("mma_tf32", ~0u, &m, executor.cut_off ? [](void *const *lanes) { mma_registers<float, tf32_as_cores>(lanes, {}); }
                                                            : [](void *const *lanes) { mma_registers<float, tf32>(lanes, {}); }, line);
}
void mma_f16(float d[4], const uint32_t a[4], const uint32_t b[2], int line)
{
        struct mma m = { d, a, b };
        executor_warp("mma_f16", ~0u, &m, mma_work<false>, line);
}
void mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2], int line)
{
        struct mma m = { d, a, b };
        executor_warp("mma_bf16", ~0u, &m, mma_work<true>, line);
}

/* ---- sm_90a: barriers in shared memory, bulk copies ---- */

struct mbarrier { uint8_t wanted, left, parity, unused; int32_t bytes; };
struct bulk { struct copy copy; struct mbarrier *b; };
static std::vector<struct bulk> bulks;
static void pass(struct mbarrier *b)
{
        if (b->left || b->bytes)
                return;
        b->left = b->wanted;
        b->parity ^= 1;
}
void barrier_begin(uint64_t *b, unsigned arrivals)
{
        *(struct mbarrier *)b = { (uint8_t)arrivals, (uint8_t)arrivals, 0, 0, 0 };
}
void barrier_expect(uint64_t *b, unsigned bytes)
{
        struct mbarrier *m = (struct mbarrier *)b;
        m->left--;
        m->bytes += (int32_t)bytes;
        pass(m);
}
static void bulk_arrive(struct bulk bulk)
{
        arrive(&bulk.copy);
        bulk.b->bytes -= bulk.copy.bytes;
        pass(bulk.b);
}
void copy_bulk(void *shared, const void *global, unsigned bytes, uint64_t *b)
{
        struct bulk bulk = { { shared, global, (int)bytes, true }, (struct mbarrier *)b };
        if ((uintptr_t)shared % 16 || (uintptr_t)global % 16 || bytes % 16)
                executor_found("a bulk copy of %u bytes from %s: not all multiples of 16", bytes, executor_where(global));
        executor.counts.copied += bytes;
        if (executor.late)
                bulks.push_back(bulk);
        else
                bulk_arrive(bulk);
}
void bring_share(const void *from, unsigned bytes)
{
        if ((uintptr_t)from % 16 || bytes % 16)
                executor_found("%u bytes from %s are brought to the second cache: not multiples of 16", bytes, executor_where(from));
        if (bytes)
                touch(executor_self, (const char *)from + bytes - 1, 1, false);
}
/* late: a copy arrives when all threads that could run have come to wait for it */
void barrier_wait(uint64_t *b, unsigned parity)
{
        struct mbarrier *m = (struct mbarrier *)b;
        for (int turn = 0; m->parity == parity; turn++) {
                for (size_t i = 0; turn > 1 && i < bulks.size(); i++)
                        if (bulks[i].b == m) {
                                struct bulk bulk = bulks[i];
                                bulks.erase(bulks.begin() + (long)i);
                                bulk_arrive(bulk);
                                break;
                        }
                if (turn > 100000)
                        executor_found("a barrier in shared memory is never passed");
                executor_spin();
        }
}

/* ---- sm_90a: products of four warps ----
 * Sums are computed at once or when they are waited for; each warp does its 16 rows of 64. */
template <int COLUMNS> static void put_sums(void *const lanes[WARP], const float (*d)[COLUMNS], int columns)
{
        for (int l = 0; l < WARP; l++)
                for (int i = 0; i < columns / 2; i++)
                        ((float *)((struct unit_product *)lanes[l])->d)[i] = d[l / 4 + i / 2 % 2 * 8][i / 4 * 8 + l % 4 * 2 + i % 2];
}
template <int COLUMNS> static void get_sums(void *const lanes[WARP], float (*d)[COLUMNS], int columns)
{
        for (int l = 0; l < WARP; l++)
                for (int i = 0; i < columns / 2; i++)
                        d[l / 4 + i / 2 % 2 * 8][i / 4 * 8 + l % 4 * 2 + i % 2] = ((const float *)((struct unit_product *)lanes[l])->d)[i];
}

/* two words of each line, as the unit reads them */
static void read_words(unsigned char (*to)[32], const void *from, int first, int rows, int line)
{
        for (int r = 0; r < rows; r++)
                for (int k = 0; k < 2; k++) {
                        uintptr_t at = (uintptr_t)from + (uintptr_t)((first + r) * 128 + k * 16);
                        const void *word = (const void *)(at ^ (at >> 7 & 7) << 4);
                        check_fenced(word, line);
                        touch(executor_self, word, 16, false);
                        memcpy(to[r] + k * 16, word, 16);
                }
}
static float add_halves(float d, const unsigned char *x, const unsigned char *w)
{
        uint16_t a[16], b[16];
        memcpy(a, x, 32);
        memcpy(b, w, 32);
        add_products(&d, a, b, 1, 1, 16);
        return d;
}
static float add_bf16_row(float d, const unsigned char *x, const unsigned char *w)
{
        uint16_t a[16], b[16];
        memcpy(a, x, 32);
        memcpy(b, w, 32);
        for (int k = 0; k < 16; k++)
                d += executor_bits<float>((uint32_t)a[k] << 16) * executor_bits<float>((uint32_t)b[k] << 16);
        return d;
}
template <class byte> static float add_byte_row(float d, const unsigned char *x, const unsigned char *w)
{
        uint32_t sum = executor_bits<uint32_t>(d);
        for (int k = 0; k < 32; k++)
                sum += (uint32_t)((byte)x[k] * (int8_t)w[k]);
        return executor_bits<float>(sum);
}
/* of 16 channels by lines of 64 outputs, turned */
static void read_words_transposed(unsigned char (*to)[32], const struct unit_product *p)
{
        for (int c = 0; c < 16; c++)
                for (int n = 0; n < p->columns; n += 8) {
                        uintptr_t at = (uintptr_t)p->w + (uintptr_t)n / 64 * p->next + (uintptr_t)(c * 128 + n % 64 * 2);
                        const void *word = (const void *)(at ^ (at >> 7 & 7) << 4);
                        check_fenced(word, p->line);
                        touch(executor_self, word, 16, false);
                        for (int i = 0; i < 8; i++)
                                memcpy(to[n + i] + c * 2, (const char *)word + i * 2, 2);
                }
}
/* rows of a warp, of which each lane has pairs */
static void read_pairs(unsigned char (*to)[32], void *const lanes[WARP])
{
        for (int l = 0; l < WARP; l++)
                for (int i = 0; i < 4; i++)
                        memcpy(to[l / 4 + i % 2 * 8] + i / 2 * 16 + l % 4 * 4, (const uint32_t *)((const struct unit_product *)lanes[l])->x + i, 4);
}
static void add_up(void *const lanes[WARP], const struct unit_product *p, const unsigned char (*x)[32], const unsigned char (*w)[32])
{
        static float (*const add[])(float d, const unsigned char *x, const unsigned char *w) = { add_halves, add_bf16_row, add_byte_row<int8_t>,
                                                                                                add_byte_row<uint8_t> };
        float d[16][256];
        get_sums(lanes, d, p->columns);
        for (int r = 0; r < 16; r++)
                for (int n = 0; n < p->columns; n++)
                        d[r][n] = add[p->unit](d[r][n], x[r], w[n]);
        put_sums(lanes, d, p->columns);
        executor.counts.mma += p->columns / 8;
}
static void across_work(void *const lanes[WARP])
{
        const struct unit_product *p = (const struct unit_product *)lanes[0];
        for (int l = 1; l < WARP; l++) {
                const struct unit_product *q = (const struct unit_product *)lanes[l];
                if (q->columns != p->columns || q->unit != p->unit || q->next != p->next || q->w != p->w)
                        executor_found("line %d: lanes of a warp give other matrices to one product", p->line);
        }
        unsigned char x[16][32], w[256][32];
        read_pairs(x, lanes);
        read_words_transposed(w, p);
        add_up(lanes, p, x, w);
}
static void unit_work(void *const lanes[WARP])
{
        const struct unit_product *p = (const struct unit_product *)lanes[0];
        for (int l = 1; l < WARP; l++) {
                const struct unit_product *q = (const struct unit_product *)lanes[l];
                if (q->columns != p->columns || q->unit != p->unit || q->x != p->x || q->w != p->w)
                        executor_found("line %d: lanes of a warp give other matrices to one product", p->line);
        }
        unsigned char x[16][32], w[256][32];
        read_words(x, p->x, executor_self->number / WARP % 4 * 16, 16, p->line);
        read_words(w, p->w, 0, p->columns, p->line);
        add_up(lanes, p, x, w);
}

static void multiply(struct unit_product p, int line)
{
        if (executor.products_late)
                state()->products.back().push_back(p);
        else
                executor_warp("a product of four warps", ~0u, &p, p.work, line);
}
void executor_multiply(enum executor_unit unit, int columns, void *d, const void *x, const void *w, int line)
{
        if ((uintptr_t)x % 32 || (uintptr_t)w % 32 || columns < 8 || columns > 256 || columns % 8)
                executor_found("line %d: a product of %d columns, or of matrices that are not at multiples of 32", line, columns);
        multiply({ unit_work, unit, columns, d, x, w, line, 0 }, line);
}
void executor_multiply_transposed(enum executor_unit unit, int columns, void *d, const uint32_t (*x)[2], const void *w, unsigned next, int line)
{
        if ((uintptr_t)w % 1024 || next % 1024 || columns % 64 || columns < 64 || columns > 256 || (unit != UNIT_F16 && unit != UNIT_BF16))
                executor_found("line %d: a product of %d columns by transposed words, which are not at a multiple of 1024, or are no halves", line, columns);
        multiply({ across_work, unit, columns, d, x, w, line, next }, line);
}
void wgmma_f16(float d[64], const void *x, const void *w, int line) { executor_multiply(UNIT_F16, 128, d, x, w, line); }
void units_commit(void) { state()->products.emplace_back(); }
void units_wait(int left, int line)
{
        while (state()->products.size() > (size_t)left + 1) {
                std::vector<struct unit_product> due;
                due.swap(state()->products.front());
                state()->products.erase(state()->products.begin());
                for (struct unit_product &p : due)
                        executor_warp("a product of four warps", ~0u, &p, p.work, line);
        }
}

void leaves_end(struct executor_thread *thread)
{
        struct leaf_state *s = thread->leaves;
        if (s->products.size() > 1 || !s->products.back().empty())
                executor_found("the thread ends before its products are waited for");
        wait_groups(s, 0);
        for (const struct copy &c : s->groups.back())
                arrive(&c);
        s->groups.back().clear();
        shared_to_units();
}
