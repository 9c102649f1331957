/* SPDX-License-Identifier: MIT */
/* Looks at every access of a kernel: a text that is compiled with -fsanitize=thread calls these functions, which stand in for
 * ThreadSanitizer's, before each. Found are accesses outside of a block of memory, and races: two threads touch a byte, one of them writes, and nothing
 * orders them. Orders: the launch or a barrier of the grid; within a cluster its barrier; within a block __syncthreads; within a warp __syncwarp as well (shuffles do
 * not order memory). Counted: conflicts of banks, sectors of memory.
 *
 * Only the last write and the last reads of a byte are kept. Barriers in shared memory (sm_90a) are not understood: a launch that uses one
 * is not searched for races. */
#include <stdio.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "fibers.h"

enum { PAGE = 4096, NOBODY = 0 };
/* round: of shared memory the life of its block, of other memory the launch; no two have one number. thread: its number, and 1 */
struct moment { uint32_t round, block, cluster, cluster_epoch, epoch, warp_epoch; uint16_t thread; };
struct cell {                           /* nobody touched memory whose cell is zeros */
        struct moment write, read;
        bool warps, lanes;              /* `read` is one of several warps', lanes' */
};
struct access { uintptr_t instruction; int lane, turn; uintptr_t address; unsigned bytes; bool shared; };
struct lane_log { std::vector<struct access> all; };
static std::vector<struct lane_log *> free_logs;

static uint32_t rounds, round_now;
static size_t shared_bytes;
static uint32_t cluster;                /* blocks of one */

/* of PAGE bytes; as long as accesses touch whole units, which are 16 bytes at first, the first byte's cell is the unit's */
struct page { uintptr_t unit; struct cell cells[PAGE]; };
static void split(struct page *p, uintptr_t unit)
{
        for (uintptr_t first = 0; first < PAGE; first += p->unit)
                for (uintptr_t k = first + unit; k < first + p->unit && (p->cells[first].write.round || p->cells[first].read.round); k += unit)
                        p->cells[k] = p->cells[first];
        p->unit = unit;
}
/* the page of an address, for an access to so many bytes */
static struct page *page_of(uintptr_t at, size_t bytes)
{
        static std::unordered_map<uintptr_t, struct page *> pages;
        static uintptr_t last;
        static struct page *page;
        if (!page || at / PAGE != last) {
                struct page *&found = pages[last = at / PAGE];
                if (!found) {
                        found = (struct page *)calloc(1, sizeof *found);
                        found->unit = 16;
                }
                page = found;
        }
        const uintptr_t places = at | bytes | 16, unit = places & -places;
        if (unit < page->unit)
                split(page, unit);
        return page;
}

static uint32_t number_of(const struct executor_block *b)
{
        return b->index.x + gridDim.x * (b->index.y + gridDim.y * b->index.z);
}
static bool ordered(const struct moment *before, const struct moment *now)
{
        if (before->thread == NOBODY || before->round != now->round)
                return true;
        if (before->block != now->block)
                return before->cluster == now->cluster && before->cluster_epoch != now->cluster_epoch;
        if (before->thread == now->thread || before->epoch != now->epoch)
                return true;
        return (before->thread - 1) / WARP == (now->thread - 1) / WARP && before->warp_epoch != now->warp_epoch;
}
static const char *where(const void *address)
{
        static char text[60];
        const struct executor_block *other = executor_neighbour(address);
        uintptr_t at = (uintptr_t)address - (uintptr_t)(other ? other : executor_self->block)->shared;
        if (at >= shared_bytes)
                return executor_where(address);
        snprintf(text, sizeof text, other ? "another block's shared memory +%zu" : "shared memory +%zu", (size_t)at);
        return text;
}
[[noreturn]] static void race(const struct moment *before, const char *first, const void *address, const char *second)
{
        executor_found("a race: %s %s, which thread %u of block %u %s, and nothing lies between", second, where(address), before->thread - 1,
                       before->block, first);
}
static void note(struct cell *c, const struct moment *now, const void *address, bool write)
{
        if (!ordered(&c->write, now))
                race(&c->write, "wrote", address, write ? "writes" : "reads");
        if (write) {
                bool same = c->read.round == now->round && c->read.block == now->block && c->read.epoch == now->epoch;
                if (!ordered(&c->read, now) || (same && c->warps) || (same && c->lanes && c->read.warp_epoch == now->warp_epoch))
                        race(&c->read, "read", address, "writes");
                c->write = *now;
                return;
        }
        bool same = c->read.thread != NOBODY && c->read.round == now->round && c->read.block == now->block && c->read.epoch == now->epoch;
        bool warp = same && (c->read.thread - 1) / WARP == (now->thread - 1) / WARP;
        c->warps = same && (c->warps || !warp);
        c->lanes = warp && c->read.warp_epoch == now->warp_epoch && (c->lanes || c->read.thread != now->thread);
        c->read = *now;
}

static void look(struct executor_thread *thread, const void *address, size_t bytes, bool write, uintptr_t instruction)
{
        const struct executor_block *own = thread->block, *of = own;
        uintptr_t at = (uintptr_t)address;
        if (at - (uintptr_t)own->shared >= shared_bytes)
                of = executor_neighbour(address);
        bool in_shared = of && at - (uintptr_t)of->shared < shared_bytes;
        size_t size = shared_bytes;
        uintptr_t start = in_shared ? (uintptr_t)of->shared : (uintptr_t)executor_block_of(address, &size);
        if (!start)
                return;                 /* a variable of the thread, or a constant of the text */
        if (at - start + bytes > size)
                executor_found("%s %zu bytes of %s", write ? "writes" : "reads", bytes, where(address));
        if (at % (bytes < 16 ? bytes : 16))
                executor_found("%s %zu bytes of %s: misaligned", write ? "writes" : "reads", bytes, where(address));
        const uint32_t number = number_of(own);
        const struct moment now = { in_shared ? of->life : round_now, number, number / cluster, own->cluster_epoch, own->epoch, thread->warp->epoch,
                                    (uint16_t)(thread->number + 1) };
        for (uintptr_t a = at; a < at + bytes;) {
                struct page *const page = page_of(a, at + bytes - a);
                for (const uintptr_t end = std::min(at + bytes, (a / PAGE + 1) * PAGE); a < end; a += page->unit)
                        note(&page->cells[a % PAGE], &now, (const void *)a, write);
        }
        if (instruction) {
                struct lane_log *&log = thread->warp->log;
                if (!log && free_logs.empty())
                        log = new lane_log;
                else if (!log)
                        log = free_logs.back(), free_logs.pop_back();
                log->all.push_back({ instruction, thread->number % WARP, 0, at, (unsigned)bytes, in_shared });
        }
}

/* ---- what a warp asks for at once ---- */

static size_t different(std::vector<uintptr_t> &places)
{
        std::sort(places.begin(), places.end());
        places.erase(std::unique(places.begin(), places.end()), places.end());
        return places.size();
}
/* of the lanes that run an instruction at once */
static void count(const struct access *lanes, size_t lane_count)
{
        static std::vector<uintptr_t> words;
        const unsigned bytes = lanes->bytes;
        if (!lanes->shared) {
                words.clear();
                for (size_t l = 0; l < lane_count; l++)
                        for (uintptr_t a = lanes[l].address; a < lanes[l].address + bytes; a++)
                                words.push_back(a);
                executor.counts.least_sectors += (int64_t)(different(words) + 31) / 32;
                for (uintptr_t &a : words)
                        a /= 32;
                executor.counts.sectors += (int64_t)different(words);
                return;
        }
        size_t turns = bytes > 4 ? bytes / 4 : 1, each = WARP / turns;         /* of 128 bytes */
        for (size_t first = 0; first < lane_count; first += each) {
                int banks[WARP] = {}, most = 0;
                words.clear();
                for (size_t l = first; l < first + each && l < lane_count; l++)
                        for (uintptr_t a = lanes[l].address / 4; a <= (lanes[l].address + bytes - 1) / 4; a++)
                                words.push_back(a);
                different(words);
                for (uintptr_t a : words)
                        most = std::max(most, ++banks[a % WARP]);
                executor.counts.bank_conflicts += most > 1 ? most - 1 : 0;
        }
}
static void warp_ran(struct executor_warp_state *warp)
{
        if (!warp->log)
                return;
        std::vector<struct access> &all = warp->log->all;
        std::stable_sort(all.begin(), all.end(), [](const struct access &a, const struct access &b) {
                return std::tie(a.instruction, a.lane) < std::tie(b.instruction, b.lane);
        });
        for (size_t i = 1; i < all.size(); i++)
                if (all[i].instruction == all[i - 1].instruction && all[i].lane == all[i - 1].lane)
                        all[i].turn = all[i - 1].turn + 1;
        std::sort(all.begin(), all.end(), [](const struct access &a, const struct access &b) {
                return std::tie(a.instruction, a.turn, a.lane) < std::tie(b.instruction, b.turn, b.lane);
        });
        for (size_t i = 0, next; i < all.size(); i = next) {
                for (next = i + 1; next < all.size() && all[next].instruction == all[i].instruction && all[next].turn == all[i].turn;)
                        next++;
                count(&all[i], next - i);
        }
        all.clear();
        free_logs.push_back(warp->log);
        warp->log = NULL;
}
static void launch_begins(const struct executor_launch *launch)
{
        round_now = ++rounds;
        shared_bytes = launch->shared;
        cluster = launch->cluster;
}
static void block_begins(struct executor_block *block) { block->life = ++rounds; }
static void outside(struct executor_thread *thread, const void *address, size_t bytes, bool write) { look(thread, address, bytes, write, 0); }
__attribute__((constructor)) static void begin(void)
{
        executor_hooks = { launch_begins, block_begins, warp_ran };
        executor_access = outside;
}

/* ---- what -fsanitize=thread calls ---- */

#define RETURN ((uintptr_t)__builtin_return_address(0))
#define ACCESS(bytes) \
        extern "C" void __tsan_read##bytes(void *a) { if (executor_self) look(executor_self, a, bytes, false, RETURN); } \
        extern "C" void __tsan_write##bytes(void *a) { if (executor_self) look(executor_self, a, bytes, true, RETURN); } \
        extern "C" void __tsan_unaligned_read##bytes(void *a) { if (executor_self) look(executor_self, a, bytes, false, RETURN); } \
        extern "C" void __tsan_unaligned_write##bytes(void *a) { if (executor_self) look(executor_self, a, bytes, true, RETURN); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
extern "C" void __tsan_read_range(void *a, size_t n) { if (executor_self && n) look(executor_self, a, n, false, RETURN); }
extern "C" void __tsan_write_range(void *a, size_t n) { if (executor_self && n) look(executor_self, a, n, true, RETURN); }
extern "C" void __tsan_init(void) {}
extern "C" void __tsan_func_entry(void *) {}
extern "C" void __tsan_func_exit(void) {}
