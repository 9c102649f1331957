# SPDX-License-Identifier: MIT
"""The cycle model once more, in Python: a second reading of its definition (codegen/machines/meter.h, codegen/vta/vta_hazards.c)."""
import collections

from vta_tool import ALU, BYTES, FLAGS, GEMM, INP, LOAD, STORE, WGT

QUEUES = {("load", "push_next"): "l2g", ("compute", "pop_prev"): "l2g", ("compute", "push_prev"): "g2l", ("load", "pop_next"): "g2l",
          ("compute", "push_next"): "g2s", ("store", "pop_prev"): "g2s", ("store", "push_prev"): "s2g", ("compute", "pop_next"): "s2g"}
STAGES = ("compute", "load", "store")


def stage(i):
    if i.opcode == STORE:
        return "store"
    return "load" if i.opcode == LOAD and i.memory in (INP, WGT) else "compute"


def bus(i):
    """beats and bursts of what it moves"""
    beats = bursts = 0
    for row in range(i.y):
        a, n = (i.dram + row * i.stride) * BYTES[i.memory], i.x * BYTES[i.memory]
        beats += -(-(a + n) // 8) - a // 8
        bursts += (a + n - 1) // 2048 - a // 2048 + 1
    return beats, bursts


def end(i, start, channel):
    """when it ends, and when the channel is free then"""
    moved = i.x * i.y
    if i.opcode in (LOAD, STORE) and moved:
        beats, bursts = bus(i)
        if i.opcode == STORE:
            return start + 8 + 5 * bursts + beats + moved, channel
        padding = (i.pads[0] + i.y + i.pads[1]) * (i.pads[2] + i.x + i.pads[3]) - moved
        channel = max(start + 24, channel) + beats + 2 * bursts
        return max(channel, start + padding + beats), channel
    if i.opcode == GEMM:
        return start + i.steps() + 10, channel
    if i.opcode == ALU:
        return start + i.steps() * (1 if i.imm is not None else 2) + 6, channel
    return start + 2, channel


def cycles(program):
    waiting = {s: collections.deque((k, i) for k, i in enumerate(program) if stage(i) == s) for s in STAGES}
    queues, free, channel = collections.defaultdict(collections.deque), dict.fromkeys(STAGES, 0), 0

    def start(s):
        k, i = waiting[s][0]
        pops = [queues[QUEUES[s, f]] for f in FLAGS[:2] if f in i.flags]
        return max([free[s], 24 + 2 * (k + 1)] + [q[0] for q in pops]) if all(pops) else None

    while any(waiting.values()):
        starts = {s: start(s) for s in STAGES if waiting[s]}
        time, s = min((t, STAGES.index(s)) for s, t in starts.items() if t is not None)
        s = STAGES[s]
        _, i = waiting[s].popleft()
        for f in FLAGS[:2]:
            if f in i.flags:
                queues[QUEUES[s, f]].popleft()
        free[s], channel = end(i, time, channel)
        for f in FLAGS[2:]:
            if f in i.flags:
                queues[QUEUES[s, f]].append(free[s])
    assert not any(queues.values()), "tokens are left"
    return max(free.values())
