/* SPDX-License-Identifier: MIT */
/* How long a stream takes: a model in whole cycles, exact by definition, for comparing streams.
 *
 *     beats(row)  = ceil((a + n) / B) - floor(a / B)                  a: its address, n: its bytes, B: bytes of a beat
 *     bursts(row) = floor((a + n - 1) / 256B) - floor(a / 256B) + 1
 *     fetched(k)  = 24 + 16 / B * (k + 1)                             instruction k, in program order
 *
 *     load        channel = max(start + 24, channel) + beats + 2 bursts; end = max(channel, start + padding elements + beats)
 *     store       start + 8 + 5 bursts + beats + elements
 *     product     start + steps + 10
 *     operation   start + steps + 6 with an immediate, start + 2 steps + 6 with a tensor
 *     else        start + 2
 *
 * `channel` is when the one read channel is free, which the loads of both stages share. An instruction starts when the one before
 * it in its stage has ended, it is fetched, and its tokens are there, whose time is the end of what pushed them. Of the stages whose
 * next instruction can start, the one that starts first goes first; equal: compute, load, store. */
#ifndef CODEGEN_VTA_CYCLES_H
#define CODEGEN_VTA_CYCLES_H

#include "codegen/vta/vta.h"

/* What instructions are counted as. */
#define VTA_CLASSES(X) \
        X(LOAD_UOP, "load uop") X(LOAD_WGT, "load wgt") X(LOAD_INP, "load inp") X(LOAD_ACC, "load acc") X(STORE, "store") \
        X(PRODUCT, "product") X(RESET, "reset") X(OPERATION, "operation") X(IDLE, "idle") X(FINISH, "finish")
enum vta_class {
#define CLASS(id, name) VTA_CLASS_##id,
        VTA_CLASSES(CLASS)
#undef CLASS
        VTA_CLASS_COUNT
};
extern const char *const vta_class_names[VTA_CLASS_COUNT];

struct vta_times { int64_t start, end; };
struct vta_cycles {
        int64_t cycles;
        int64_t count[VTA_CLASS_COUNT], steps[VTA_CLASS_COUNT], bytes[VTA_CLASS_COUNT], busy[VTA_CLASS_COUNT];   /* busy: end - start */
        int64_t channel;                /* cycles that the read channel is taken, without latency */
        int64_t most_micro_ops;         /* resident */
};

/* times: of each instruction, or NULL. False after an EXIT_INVALID error: no instruction, or a token that never comes. */
bool vta_cycles(const struct vta *v, const unsigned char *bytes, int64_t count, struct vta_cycles *c, struct vta_times *times,
                struct diag *diag);
/* Adds an instruction that ran at these times, and when the read channel was taken for it, to what is counted. */
void vta_cycles_add(const struct vta *v, const struct vta_instruction *i, struct vta_times times, struct vta_cycles *c);
/* product steps of all cycles, 0 to 1 */
double vta_utilization(const struct vta_cycles *c);
/* What takes most of the cycles: "array", "operations", "loads of compute", "read bus", "stores"; "waiting" where all take less than
 * half. */
const char *vta_bound(const struct vta_cycles *c);

#endif
