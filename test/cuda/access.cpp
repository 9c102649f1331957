/* SPDX-License-Identifier: MIT */
/* Looks at every access of a kernel: a text that is compiled with -fsanitize=thread calls these functions, which stand in for
 * ThreadSanitizer's, before each. Found are accesses outside of a block of memory, and races: two threads touch a byte, one of them writes, and nothing
 * orders them. Orders: the launch or a barrier of the grid; within a cluster its barrier; within a block __syncthreads; within a warp __syncwarp as well (shuffles do
 * not order memory). Counted: conflicts of banks, sectors of memory.
 *
 * Only the last write and the last reads of a byte are kept. Barriers in shared memory (sm_90a) are not understood: a launch that uses one
 * is not searched for races. */
#include <stdio.h>

#include <map>
#include <unordered_map>

#include "fibers.h"

enum { PAGE = 4096, NOBODY = 0xffff };
struct moment { uint32_t round, block, cluster, cluster_epoch, epoch, warp_epoch; uint16_t thread; };
struct cell {
        struct moment write = { 0, 0, 0, 0, 0, 0, NOBODY }, read = { 0, 0, 0, 0, 0, 0, NOBODY };
        bool warps, lanes;              /* `read` is one of several warps', lanes' */
};
struct lane_log { std::vector<std::pair<uintptr_t, std::pair<uintptr_t, unsigned>>> of[WARP]; };        /* instruction, address, bytes */

static uint32_t round_now;
static size_t shared_bytes;
static uint32_t cluster;                /* blocks of one */
static std::unordered_map<uintptr_t, std::vector<struct cell>> pages;

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
        return before->thread / WARP == now->thread / WARP && before->warp_epoch != now->warp_epoch;
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
        executor_found("a race: %s %s, which thread %u of block %u %s, and nothing lies between", second, where(address), before->thread,
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
        bool warp = same && c->read.thread / WARP == now->thread / WARP;
        c->warps = same && (c->warps || !warp);
        c->lanes = warp && c->read.warp_epoch == now->warp_epoch && (c->lanes || c->read.thread != now->thread);
        c->read = *now;
}

static void look(struct executor_thread *thread, const void *address, size_t bytes, bool write, uintptr_t instruction)
{
        const struct executor_block *other = executor_neighbour(address);
        uintptr_t at = (uintptr_t)address, shared = (uintptr_t)(other ? other : thread->block)->shared;
        size_t size;
        bool in_shared = at >= shared && at < shared + shared_bytes;
        const void *start = in_shared ? (const void *)shared : executor_block_of(address, &size);
        if (!start)
                return;                 /* a variable of the thread, or a constant of the text */
        if (in_shared ? at + bytes > shared + shared_bytes : at < (uintptr_t)start || at + bytes > (uintptr_t)start + size)
                executor_found("%s %zu bytes of %s", write ? "writes" : "reads", bytes, where(address));
        if (at % (bytes < 16 ? bytes : 16))
                executor_found("%s %zu bytes of %s: misaligned", write ? "writes" : "reads", bytes, where(address));
        struct moment now = { round_now, number_of(thread->block), number_of(thread->block) / cluster, thread->block->cluster_epoch, thread->block->epoch, thread->warp->epoch, (uint16_t)thread->number };
        for (size_t i = 0; i < bytes; i++) {
                std::vector<struct cell> &page = pages[(at + i) / PAGE];
                if (page.empty())
                        page.resize(PAGE);
                note(&page[(at + i) % PAGE], &now, (const void *)(at + i), write);
        }
        if (instruction) {
                if (!thread->warp->log)
                        thread->warp->log = new lane_log;
                thread->warp->log->of[thread->number % WARP].push_back({ instruction, { at, (unsigned)bytes | (in_shared ? 1u << 31 : 0) } });
        }
}

/* ---- what a warp asks for at once ---- */

struct together { std::vector<std::pair<uintptr_t, unsigned>> lanes; bool shared; };
static void count(const struct together *t)
{
        unsigned bytes = t->lanes[0].second;
        if (!t->shared) {
                std::map<uintptr_t, bool> sectors, words;
                for (const auto &l : t->lanes)
                        for (uintptr_t a = l.first; a < l.first + bytes; a++)
                                sectors[a / 32] = words[a] = true;
                executor.counts.sectors += (int64_t)sectors.size();
                executor.counts.least_sectors += (int64_t)(words.size() + 31) / 32;
                return;
        }
        size_t turns = bytes > 4 ? bytes / 4 : 1, each = WARP / turns;         /* of 128 bytes */
        for (size_t first = 0; first < t->lanes.size(); first += each) {
                std::map<uintptr_t, bool> words;
                int banks[WARP] = {}, most = 0;
                for (size_t l = first; l < first + each && l < t->lanes.size(); l++)
                        for (uintptr_t a = t->lanes[l].first / 4; a <= (t->lanes[l].first + bytes - 1) / 4; a++)
                                if (!words[a]) {
                                        words[a] = true;
                                        most = ++banks[a % WARP] > most ? banks[a % WARP] : most;
                                }
                executor.counts.bank_conflicts += most > 1 ? most - 1 : 0;
        }
}
static void warp_ran(struct executor_warp_state *warp)
{
        if (!warp->log)
                return;
        std::map<std::pair<uintptr_t, int>, struct together> all;
        for (int l = 0; l < WARP; l++) {
                std::unordered_map<uintptr_t, int> times;
                for (const auto &e : warp->log->of[l]) {
                        struct together &t = all[{ e.first, times[e.first]++ }];
                        t.lanes.push_back({ e.second.first, e.second.second & ~(1u << 31) });
                        t.shared = e.second.second >> 31;
                }
                warp->log->of[l].clear();
        }
        for (const auto &t : all)
                count(&t.second);
        delete warp->log;
        warp->log = NULL;
}
static void launch_begins(const struct executor_launch *launch)
{
        round_now++;
        shared_bytes = launch->shared;
        cluster = launch->cluster;
}
static void block_begins(struct executor_block *block)
{
        for (uintptr_t a = (uintptr_t)block->shared / PAGE; a <= ((uintptr_t)block->shared + shared_bytes) / PAGE; a++)
                pages.erase(a);
}
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
