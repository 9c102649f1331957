/* SPDX-License-Identifier: MIT */
/* Threads as fibers, and who runs next.
 *
 * A runner is a fiber with a stack. It runs one thread after the other of a warp as long as these end without having waited, so
 * that kernels without barriers cost no switch; when a thread waits it keeps the runner, and another one goes on. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "fibers.h"

enum { STACK = 1 << 17, PAGE = 4096, SHARED_ALIGN = 1024, SHARED_MAX = 232448, CANARY = 0xa5 };

struct executor executor = { FORWARDS, false, false, false, 1, {} };
struct executor_thread *executor_self;
struct executor_hooks executor_hooks;
void (*executor_access)(struct executor_thread *thread, const void *address, size_t bytes, bool write);
uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

static bool waited;                     /* a thread of the launch has, for the one in front */
struct runner { void *sp; };            /* one that has no thread */

static const struct executor_launch *launch;
static std::vector<struct executor_block> blocks;       /* those alive; of a first one those of earlier launches are kept */
static size_t live_blocks, live_threads, grid_arrived;
static std::vector<int> cluster_arrived;        /* of the clusters alive, which are neighbours in `blocks` */
static std::vector<struct runner *> idle;
static void *scheduler;

/* ---- what no execution may do ---- */

[[noreturn]] void executor_found(const char *format, ...)
{
        va_list list;
        fflush(stdout);
        fprintf(stderr, "executor: ");
        if (executor_self)
                fprintf(stderr, "%s, block (%u, %u, %u), thread %d: ", launch->kernel.name, blockIdx.x, blockIdx.y, blockIdx.z,
                        executor_self->number);
        va_start(list, format);
        vfprintf(stderr, format, list);
        va_end(list);
        fprintf(stderr, "\n");
        fflush(stderr);
        _exit(EXECUTOR_FOUND);
}
void __trap(int line) { executor_found("__trap in line %d", line); }

static size_t rounded(size_t shared) { return (shared + SHARED_ALIGN - 1) / SHARED_ALIGN * SHARED_ALIGN; }
static void protect_shared(const struct executor_block *block, int protection)
{
        uintptr_t first = (uintptr_t)block->shared / PAGE * PAGE, end = (uintptr_t)block->shared + rounded(launch->shared);
        if (mprotect((void *)first, end - first, protection))
                executor_found("shared memory cannot be protected");
}
const struct executor_block *executor_neighbour(const void *address)
{
        for (size_t b = 0; b < live_blocks && launch->cluster > 1; b++)
                if (uintptr_t at = (uintptr_t)address - (uintptr_t)blocks[b].shared;
                    at < rounded(launch->shared) && &blocks[b] != executor_self->block && blocks[b].cluster == executor_self->block->cluster)
                        return &blocks[b];
        return NULL;
}

static void on_signal(int, siginfo_t *info, void *)
{
        if (const struct executor_block *b = executor_self ? executor_neighbour(info->si_addr) : NULL)
                executor_found("access to shared memory of block %u of its cluster, which has ended", b->index.x % launch->cluster);
        executor_found("access to %s%s", executor_where(info->si_addr), executor_self && launch->dependent && !waited ? ", before the launch in front of it was waited for" : "");
}
__attribute__((constructor)) static void catch_signals(void)
{
        static unsigned char memory[1 << 16];
        stack_t stack = {};
        stack.ss_sp = memory, stack.ss_size = sizeof memory;
        struct sigaction action = {};
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigaltstack(&stack, NULL);
        sigaction(SIGSEGV, &action, NULL);
        sigaction(SIGBUS, &action, NULL);
}

void executor_execution(int number)
{
        executor.order = (enum executor_order)(number % 3);
        executor.late = number / 3 % 2;
        executor.products_late = number == 1 || number >= 4;
}
static unsigned any(unsigned below)
{
        executor.seed = executor.seed * 1664525u + 1013904223u;
        return (unsigned)((uint64_t)(executor.seed >> 1) * below >> 31);
}

/* ---- fibers ---- */

extern "C" void executor_switch(void **save, void *load);
#ifdef __x86_64__
__asm__(".text\n.globl executor_switch\nexecutor_switch:\n"
        "push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
        "mov %rsp, (%rdi); mov %rsi, %rsp\n"
        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret\n");
static void *first_stack(char *top, void (*entry)(void))
{
        void **at = (void **)top;
        at[-2] = (void *)entry;         /* returned to with the stack as after a call */
        return at - 8;
}
#elif defined __aarch64__
__asm__(".text\n.globl executor_switch\nexecutor_switch:\n"
        "sub sp, sp, #160\n"
        "stp x19, x20, [sp]; stp x21, x22, [sp, #16]; stp x23, x24, [sp, #32]; stp x25, x26, [sp, #48]; stp x27, x28, [sp, #64]\n"
        "stp x29, x30, [sp, #80]; stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]; stp d14, d15, [sp, #144]\n"
        "mov x9, sp; str x9, [x0]; mov sp, x1\n"
        "ldp x19, x20, [sp]; ldp x21, x22, [sp, #16]; ldp x23, x24, [sp, #32]; ldp x25, x26, [sp, #48]; ldp x27, x28, [sp, #64]\n"
        "ldp x29, x30, [sp, #80]; ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]; ldp d12, d13, [sp, #128]; ldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160; ret\n");
static void *first_stack(char *top, void (*entry)(void))
{
        void **at = (void **)(top - 160);
        at[11] = (void *)entry;
        return at;
}
#else
#error "executor_switch: one such function per processor"
#endif

static void go_on(struct executor_thread *thread)
{
        executor_self = thread;
        threadIdx = thread->index;
        blockIdx = thread->block->index;
}
static void run_threads(void);

static void *some_runner(void)
{
        if (!idle.empty()) {
                void *sp = idle.back()->sp;
                idle.pop_back();
                return sp;
        }
        char *memory = (char *)mmap(NULL, STACK + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_NONE))
                executor_found("out of memory for stacks");
        return first_stack(memory + PAGE + STACK, run_threads);
}

/* the lane of a set that is next; -1: none */
static int next_lane(unsigned set)
{
        if (!set)
                return -1;
        unsigned from = executor.order == SHUFFLED ? ~0u << any(WARP) : ~0u;
        if (executor.order == BACKWARDS)
                return 31 - __builtin_clz(set);
        return __builtin_ctz(set & from ? set & from : set);
}
/* where a thread of the warp goes on, or NULL */
static void *next_of(struct executor_warp_state *warp)
{
        int lane = next_lane(warp->ready | warp->fresh);
        if (lane < 0)
                return NULL;
        struct executor_thread *thread = warp->lanes + lane;
        bool fresh = warp->fresh >> lane & 1;
        warp->fresh &= ~(1u << lane);
        warp->ready &= ~(1u << lane);
        go_on(thread);
        return fresh ? some_runner() : thread->sp;
}

static void leave(void **save)
{
        executor.counts.switches++;
        void *to = executor.order == SHUFFLED ? NULL : next_of(executor_self->warp);
        executor_switch(save, to ? to : scheduler);
}
static unsigned lane_bit(const struct executor_thread *thread) { return 1u << thread->number % WARP; }

static void wait(const char *what, int line)
{
        struct executor_thread *self = executor_self;
        self->what = what;
        self->line = line;
        leave(&self->sp);
        self->what = NULL;
}
void executor_spin(void)
{
        struct executor_thread *self = executor_self;
        self->warp->spinning |= lane_bit(self);
        wait("barrier_wait", 0);
}

/* others of its cluster may not touch its shared memory any more */
static void block_ends(struct executor_block *block)
{
        if (launch->cluster > 1)
                protect_shared(block, PROT_NONE);
}

static void run_threads(void)
{
        struct runner runner, *r = &runner;     /* on its own stack */
        for (;;) {
                struct executor_thread *self = executor_self;
                launch->kernel.call(launch->function, launch->arguments);
                if (self->leaves)
                        leaves_end(self);
                self->what = "the end";
                live_threads--;
                if (!--self->block->left)
                        block_ends(self->block);
                int lane = next_lane(self->warp->fresh);
                if (lane >= 0) {
                        self->warp->fresh &= ~(1u << lane);
                        go_on(self->warp->lanes + lane);
                        continue;
                }
                idle.push_back(r);
                leave(&r->sp);
        }
}

/* ---- meetings ---- */

void executor_warp(const char *what, unsigned mask, void *operand, void (*work)(void *const lanes[WARP]), int line)
{
        struct executor_thread *self = executor_self;
        struct executor_warp_state *warp = self->warp;
        executor.counts.warp_instructions += !warp->arrived;
        if (!(mask & lane_bit(self)))
                executor_found("line %d: %s by lane %d, which is not in its mask %08x", line, what, self->number % WARP, mask);
        if (warp->arrived && (warp->what != what || warp->mask != mask))
                executor_found("line %d: %s with mask %08x, while other lanes of the warp wait in %s with mask %08x", line, what, mask,
                               warp->what, warp->mask);
        warp->what = what;
        warp->mask = mask;
        warp->arrived |= lane_bit(self);
        self->operand = operand;
        if (warp->arrived != mask) {
                wait(what, line);
                return;
        }
        void *lanes[WARP];
        for (int l = 0; l < WARP; l++)
                lanes[l] = mask >> l & 1 ? warp->lanes[l].operand : NULL;
        warp->ready |= mask & ~lane_bit(self);
        warp->arrived = 0;
        if (executor_hooks.warp)
                executor_hooks.warp(warp);
        if (work)
                work(lanes);
}
static void pass_warp(void *const *) { executor_self->warp->epoch++; }
void __syncwarp(unsigned mask, int line) { executor_warp("__syncwarp", mask, NULL, pass_warp, line); }

void executor_block(const char *what, int line)
{
        struct executor_thread *self = executor_self;
        struct executor_block *block = self->block;
        if (++block->arrived < block->threads) {
                wait(what, line);
                return;
        }
        executor.counts.barriers++;
        block->arrived = 0;
        block->epoch++;
        for (struct executor_warp_state &w : block->warps)
                if (executor_hooks.warp)
                        executor_hooks.warp(&w);
        for (struct executor_thread &t : block->all)
                if (&t != self)
                        t.warp->ready |= lane_bit(&t);
}
void executor_grid(int line)
{
        struct executor_thread *self = executor_self;
        if (!launch->cooperative)
                executor_found("line %d: grid_barrier in a launch that is not cooperative", line);
        if (++grid_arrived < live_threads) {
                wait("grid_barrier", line);
                return;
        }
        executor.counts.barriers++;
        grid_arrived = 0;
        if (executor_hooks.launch)
                executor_hooks.launch(launch);
        for (size_t b = 0; b < live_blocks; b++)
                for (struct executor_thread &t : blocks[b].all)
                        if (&t != self && t.what && !strcmp(t.what, "grid_barrier"))
                                t.warp->ready |= lane_bit(&t);
}
void executor_cluster(int line)
{
        struct executor_thread *self = executor_self;
        const unsigned cluster = self->block->cluster;
        if (++cluster_arrived[cluster] < (int)launch->cluster * self->block->threads) {
                wait("cluster_barrier", line);
                return;
        }
        executor.counts.barriers++;
        cluster_arrived[cluster] = 0;
        for (size_t b = 0; b < live_blocks; b++) {
                if (blocks[b].cluster != cluster)
                        continue;
                blocks[b].epoch++;
                blocks[b].cluster_epoch++;
                for (struct executor_warp_state &w : blocks[b].warps)
                        if (executor_hooks.warp)
                                executor_hooks.warp(&w);
                for (struct executor_thread &t : blocks[b].all)
                        if (&t != self)
                                t.warp->ready |= lane_bit(&t);
        }
}
const void *cluster_at(const void *shared, unsigned block)
{
        const struct executor_block *own = executor_self->block;
        const size_t at = (size_t)((const unsigned char *)shared - own->shared);
        if (at >= launch->shared)
                executor_found("the place of another block of %p, which is not in shared memory", shared);
        if (block >= launch->cluster)
                executor_found("block %u of a cluster of %u", block, launch->cluster);
        for (size_t b = 0; b < live_blocks; b++)
                if (blocks[b].cluster == own->cluster && blocks[b].index.x % launch->cluster == block)
                        return blocks[b].shared + at;
        return NULL;
}
int executor_lane(void) { return executor_self->number % WARP; }
unsigned char *executor_shared(void) { return executor_self->block->shared; }

/* ---- blocks ---- */

/* which threads wait where, runs of equal ones in one line */
[[noreturn]] static void deadlock(void)
{
        executor_self = NULL;
        fprintf(stderr, "executor: %s: %zu threads wait for ever\n", launch->kernel.name, live_threads);
        for (size_t b = 0; b < live_blocks; b++) {
                const std::vector<struct executor_thread> &all = blocks[b].all;
                for (size_t first = 0, next; first < all.size(); first = next) {
                        const char *what = all[first].what ? all[first].what : "?";
                        for (next = first + 1; next < all.size() && all[next].what == all[first].what && all[next].line == all[first].line;)
                                next++;
                        fprintf(stderr, "    block (%u, %u, %u), threads %zu to %zu: at %s", blocks[b].index.x, blocks[b].index.y,
                                blocks[b].index.z, first, next - 1, what);
                        fprintf(stderr, all[first].line ? " in line %d\n" : "\n", all[first].line);
                }
        }
        executor_found("deadlock");
}

static void begin_block(struct executor_block *block, size_t number)
{
        const dim3 g = launch->grid, s = launch->block;
        size_t threads = (size_t)s.x * s.y * s.z, warps = (threads + WARP - 1) / WARP;
        block->index = { (unsigned)(number % g.x), (unsigned)(number / g.x % g.y), (unsigned)(number / g.x / g.y) };
        block->arrived = 0;
        block->epoch = block->cluster_epoch = 0;
        block->threads = block->left = (int)threads;
        block->all.resize(threads);
        block->warps.assign(warps, {});
        for (size_t w = 0; w < warps; w++) {
                size_t left = threads - w * WARP, lanes = left < (size_t)WARP ? left : (size_t)WARP;
                block->warps[w].fresh = lanes == WARP ? ~0u : (1u << lanes) - 1;
                block->warps[w].lanes = &block->all[w * WARP];
        }
        uint3 at = { 0, 0, 0 };
        for (size_t t = 0; t < threads; t++) {
                struct executor_thread *thread = &block->all[t];
                *thread = { NULL, block, &block->warps[t / WARP], at, (int)t, NULL, 0, NULL, thread->leaves };
                if (++at.x == s.x) {
                        at.x = 0;
                        if (++at.y == s.y)
                                at.y = 0, at.z++;
                }
        }
        if (!block->shared) {
                char *memory = (char *)mmap(NULL, SHARED_MAX + SHARED_ALIGN + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                size_t end = (SHARED_MAX + SHARED_ALIGN + PAGE) / PAGE * PAGE;
                if (memory == MAP_FAILED || mprotect(memory + end, PAGE, PROT_NONE))
                        executor_found("out of memory for shared memory");
                block->shared = (unsigned char *)memory + end;
        }
}
/* as many of its bytes as were asked for are NaN, those behind it a pattern, then comes a page that nobody may touch */
static void give_shared(struct executor_block *block)
{
        size_t slack = rounded(launch->shared) - launch->shared;
        block->shared -= rounded(launch->shared);
        memset(block->shared, 0xff, launch->shared);
        memset(block->shared + launch->shared, CANARY, slack);
        if (executor_hooks.block)
                executor_hooks.block(block);
}
static void take_shared(struct executor_block *block)
{
        if (launch->cluster > 1)
                protect_shared(block, PROT_READ | PROT_WRITE);
        for (size_t i = launch->shared; i < rounded(launch->shared); i++)
                if (block->shared[i] != CANARY)
                        executor_found("%s wrote byte %zu of shared memory, which has %zu", launch->kernel.name, i, launch->shared);
        block->shared += rounded(launch->shared);
}

static void run_blocks(void)
{
        std::vector<struct executor_warp_state *> warps;
        for (size_t b = 0; b < live_blocks; b++)
                for (struct executor_warp_state &w : blocks[b].warps)
                        warps.push_back(&w);
        size_t count = warps.size();
        while (live_threads) {
                bool any_ran = false;
                for (size_t i = 0; i < count; i++) {
                        struct executor_warp_state *warp = warps[executor.order == FORWARDS ? i : executor.order == BACKWARDS ? count - 1 - i : any((unsigned)count)];
                        while (void *to = next_of(warp)) {
                                any_ran = true;
                                executor_switch(&scheduler, to);
                                executor_self = NULL;
                                if (executor.order == SHUFFLED)
                                        break;
                        }
                }
                if (executor.order == SHUFFLED && !any_ran)
                        for (struct executor_warp_state *w : warps)
                                any_ran |= (w->ready | w->fresh) != 0;
                bool spins = false;
                for (struct executor_warp_state *w : warps) {
                        spins |= w->spinning != 0;
                        w->ready |= w->spinning;
                        w->spinning = 0;
                }
                if (!any_ran && !spins)
                        deadlock();
        }
}

/* ---- dependent launches ---- */

void launch_dependents(void) {}
void launch_wait(void)
{
        if (launch->dependent && !waited)
                executor_reach(true);
        waited = true;
}

/* blocks in the order of the execution: forwards, backwards, or each `step`-th */
void executor_run(const struct executor_launch *of)
{
        const size_t each = of->cluster;        /* blocks of a cluster run together; count: of clusters */
        size_t count = (size_t)of->grid.x * of->grid.y * of->grid.z / each, threads = (size_t)of->block.x * of->block.y * of->block.z;
        bool shuffled = executor.order == SHUFFLED;
        size_t together = of->cooperative ? count : shuffled && count > 1 ? 2 : 1;
        size_t step = 1, start = shuffled ? any((unsigned)count) : 0;
        for (size_t t = shuffled ? 1 + any((unsigned)count) : 1; shuffled && t < count; t++) {
                size_t a = t, b = count;
                while (b) {
                        size_t rest = a % b;
                        a = b;
                        b = rest;
                }
                if (a == 1) {
                        step = t;
                        break;
                }
        }
        launch = of;
        gridDim = of->grid;
        blockDim = of->block;
        waited = false;
        if (of->dependent)
                executor_reach(false);
        if (executor_hooks.launch)
                executor_hooks.launch(of);
        if (blocks.size() < together * each)
                blocks.resize(together * each);
        cluster_arrived.assign(together, 0);
        for (size_t first = 0; first < count; first += together) {
                live_blocks = (count - first < together ? count - first : together) * each;
                for (size_t b = 0; b < live_blocks; b++) {
                        size_t k = b / each, i = executor.order == BACKWARDS ? count - 1 - first - k : (start + (first + k) * step) % count;
                        blocks[b].cluster = (unsigned)k;
                        begin_block(&blocks[b], i * each + b % each);
                        give_shared(&blocks[b]);
                }
                live_threads = live_blocks * threads;
                grid_arrived = 0;
                run_blocks();
                for (size_t b = 0; b < live_blocks; b++) {
                        for (struct executor_warp_state &w : blocks[b].warps)
                                if (executor_hooks.warp)
                                        executor_hooks.warp(&w);
                        take_shared(&blocks[b]);
                }
        }
        if (of->dependent && !waited)
                executor_found("%s began before the launch in front of it had ended, and did not wait for that", of->kernel.name);
        executor.counts.launches++;
        executor.counts.blocks += (int64_t)(count * each);
        executor.counts.threads += (int64_t)(count * each * threads);
}
