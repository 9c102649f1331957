/* SPDX-License-Identifier: MIT */
/* Memory of the device: every block between pages that nobody may touch, and a pattern in what its pages have beside it. */
#include <stdio.h>
#include <sys/mman.h>

#include <map>
#include <string>

#include "fibers.h"

enum { PAGE = 4096, PATTERN = 0xa5 };
struct block {
        std::string name;
        size_t bytes;
        unsigned char *pages;           /* the first that may be touched */
        size_t length;                  /* of those */
        bool host, constant;            /* constant: no launch writes it, so that one may read it before it waits */
};
static std::map<uintptr_t, struct block> blocks;        /* by where they begin */

static void *block_new(const char *name, size_t bytes, size_t align, bool at_end, bool host)
{
        align = align < 1 ? 1 : align;
        size_t length = (bytes + PAGE - 1) / PAGE * PAGE, space = length + 2 * PAGE;
        if (align > PAGE || bytes > (size_t)1 << 40)
                return NULL;
        unsigned char *all = (unsigned char *)mmap(NULL, space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED)
                return NULL;
        struct block b = { name, bytes, all + PAGE, length, host, !strcmp(name, "weights") };
        if (length && mprotect(b.pages, length, PROT_READ | PROT_WRITE)) {
                munmap(all, space);
                return NULL;
        }
        unsigned char *at = b.pages + (at_end ? (length - bytes) / align * align : 0);
        memset(b.pages, PATTERN, (size_t)(at - b.pages));
        memset(at, 0xff, bytes);
        memset(at + bytes, PATTERN, (size_t)(b.pages + length - at) - bytes);
        blocks[(uintptr_t)at] = b;
        return at;
}
void *executor_memory(const char *name, size_t bytes, size_t align, bool at_end) { return block_new(name, bytes, align, at_end, false); }
void *executor_host_memory(const char *name, size_t bytes) { return block_new(name, bytes, 256, true, true); }

static void check(uintptr_t at, const struct block &b)
{
        const unsigned char *first = (const unsigned char *)at, *end = b.pages + b.length;
        for (const unsigned char *p = b.pages; p < end; p++) {
                if (p == first)
                        p += b.bytes;
                if (p < end && *p != PATTERN)
                        executor_found("byte %td of %s was written, which has %zu", p - first, b.name.c_str(), b.bytes);
        }
}
void executor_check_guards(void)
{
        for (const auto &b : blocks)
                check(b.first, b.second);
}
void executor_free(void *memory)
{
        auto at = blocks.find((uintptr_t)memory);
        if (at == blocks.end())
                executor_found("memory is freed that was not allocated, or twice");
        check(at->first, at->second);
        munmap(at->second.pages - PAGE, at->second.length + 2 * PAGE);
        blocks.erase(at);
}

/* the block with an address, one behind its end included; `near`: with the pages beside it */
static const std::pair<const uintptr_t, struct block> *find(const void *address, bool near)
{
        uintptr_t a = (uintptr_t)address;
        auto b = blocks.upper_bound(a);
        for (int k = 0; k < 2; k++) {           /* the one that begins before, or, of the page before it, the one behind */
                if (k ? b == blocks.end() : b == blocks.begin())
                        continue;
                const auto &found = k ? *b : *std::prev(b);
                uintptr_t pages = (uintptr_t)found.second.pages;
                if (near ? a >= pages - PAGE && a < pages + found.second.length + PAGE
                         : a >= found.first && a < found.first + (found.second.bytes ? found.second.bytes : 1))
                        return &found;
        }
        return NULL;
}
/* what the host filled is constant, in memory that it allocated under no name */
void executor_copied(const void *memory)
{
        if (const auto *b = find(memory, false); b && !b->second.name.compare(0, 10, "allocation"))
                blocks[b->first].constant = true;
}
void executor_reach(bool reached)
{
        for (const auto &b : blocks)
                if (!b.second.constant && !b.second.host && b.second.length)
                        mprotect(b.second.pages, b.second.length, reached ? PROT_READ | PROT_WRITE : PROT_NONE);
}
enum cudaMemoryType executor_type(const void *address)
{
        const auto *b = find(address, false);
        return !b ? cudaMemoryTypeUnregistered : b->second.host ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
}
bool executor_within(const void *address, size_t bytes)
{
        const auto *b = find(address, false);
        return b && (uintptr_t)address - b->first + bytes <= b->second.bytes;
}
const void *executor_block_of(const void *address, size_t *bytes)
{
        const auto *b = find(address, true);
        *bytes = b ? b->second.bytes : 0;
        return b ? (const void *)b->first : NULL;
}
const char *executor_where(const void *address)
{
        static char text[200];
        if (const auto *b = find(address, true))
                snprintf(text, sizeof text, "%s %+td, which has %zu bytes", b->second.name.c_str(), (intptr_t)((uintptr_t)address - b->first), b->second.bytes);
        else
                snprintf(text, sizeof text, "%p, which is no memory of the device", address);
        return text;
}
