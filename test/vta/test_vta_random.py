# SPDX-License-Identifier: MIT
"""Random streams against a machine written here, in a few lines of numpy: padded and strided loads, rows that repeat, products and
operations over loops, stores. Memory must be the same for every order of stages and every garbage on the chip."""
import numpy as np
import pytest

from vta_tool import (ACC, ADD, ALU, FINISH, GEMM, INP, INPUT, INSTRUCTIONS, LOAD, MAX, MICRO_OPS, MIN, MUL, OUT, SCRATCH, SHR, STORE, UOP, VTA,
                      WGT, Instruction, broken, dnncc, exchange, micro_op, vta)

CODE, UOPS, DATA, DATA_BYTES, RESULT, RESULT_BYTES = 0x1000, 0x9000, 0x10000, 0x20000, 0x40000, 0x8000
MEMORY = RESULT + RESULT_BYTES
USED = 64                               # elements of each memory that the streams touch
LISTS = 24


class Machine:
    """one instruction after the other, in program order"""

    def __init__(self, memory):
        self.memory = np.array(memory, np.uint8)
        self.uop, self.inp, self.wgt = np.zeros((256, 3), int), np.zeros((256, 16), np.int8), np.zeros((256, 16, 16), np.int8)
        self.acc, self.out = np.zeros((256, 16), np.int32), np.zeros((256, 16), np.int8)

    def elements(self, i, y, size):
        at = (i.dram + y * i.stride) * size
        return self.memory[at:at + i.x * size].reshape(i.x, size)

    def load(self, i):
        size, kind, shape = {UOP: (4, "<u4", (1,)), INP: (16, "i1", (16,)), WGT: (256, "i1", (16, 16)), ACC: (64, "<i4", (16,))}[i.memory]
        rows = np.array([self.elements(i, y, size) for y in range(i.y)]).copy().view(kind).reshape(i.y, i.x, *shape)
        rows = np.pad(rows, [i.pads[:2], i.pads[2:]] + [(0, 0)] * len(shape)).reshape(-1, *shape)
        if i.memory == UOP:
            rows = np.concatenate([rows & 2047, rows >> 11 & 2047, rows >> 22], 1)
        [self.uop, self.wgt, self.inp, self.acc][i.memory][i.sram:i.sram + len(rows)] = rows

    def store(self, i):
        for y in range(i.y):
            self.elements(i, y, 16)[:] = self.out[i.sram + y * i.x:][:i.x].view(np.uint8)

    def steps(self, i):
        for y in range(i.loops[0]):
            for x in range(i.loops[1]):
                for uop in self.uop[i.uops[0]:i.uops[1]]:
                    yield uop + y * np.array([i.dst[0], i.src[0], i.wgt[0]]) + x * np.array([i.dst[1], i.src[1], i.wgt[1]])

    def compute(self, i):
        for d, s, w in self.steps(i):
            a = self.acc[d].astype(np.int64)
            if i.opcode == GEMM:
                a = 0 if i.reset else a + self.wgt[w].astype(np.int64) @ self.inp[s]
            else:
                b = self.acc[s].astype(np.int64) if i.imm is None else i.imm
                a = {MIN: np.minimum, MAX: np.maximum, ADD: np.add, MUL: np.multiply, SHR: lambda a, b: a >> b if b >= 0 else a << -b}[i.op](a, b)
            self.acc[d] = np.asarray(a).astype(np.uint64).astype(np.uint32).view(np.int32)
            self.out[d] = self.acc[d].astype(np.int8)

    def run(self, stream):
        for i in stream:
            if i.opcode in (GEMM, ALU):
                self.compute(i)
            elif i.opcode != FINISH and i.x:
                (self.load if i.opcode == LOAD else self.store)(i)


class Writer:
    """a stream of which each instruction waits for the one before it, where that is another stage's; rules are kept, but for those of
    steps within an operation"""

    def __init__(self, seed):
        self.random, self.stream, self.stage = np.random.default_rng(seed), [], 1
        self.uops = [tuple(int(n) for n in self.random.integers(0, 8, 3)) for _ in range(LISTS)]
        self.add(1, LOAD, memory=UOP, dram=UOPS // 4, y=1, x=LISTS, stride=LISTS)
        for memory, size in ((INP, 16), (WGT, 256), (ACC, 64)):
            self.add(1 if memory == ACC else 0, LOAD, memory=memory, dram=DATA // size, y=1, x=USED, stride=USED)
        for _ in range(60):
            self.random.choice([self.load, self.product, self.operation, self.store], p=[0.3, 0.3, 0.3, 0.1])()
        self.store()
        self.add(1, FINISH)

    def below(self, n):
        return int(self.random.integers(n))

    def pass_on(self, stage):
        """tokens from the last stage to this one, one neighbour at a time"""
        while self.stage != stage:
            up = stage > self.stage
            self.stream[-1].flags.add("push_next" if up else "push_prev")
            self.stage += 1 if up else -1
            idle = {0: (LOAD, INP), 1: (LOAD, UOP), 2: (STORE, OUT)}[self.stage]
            self.stream.append(Instruction(idle[0], {"pop_prev" if up else "pop_next"}, memory=idle[1]))

    def add(self, stage, opcode, **fields):
        if self.stream:
            self.pass_on(stage)
        self.stage = stage
        self.stream.append(Instruction(opcode, set(), **fields))

    def load(self):
        memory = [INP, WGT, ACC][self.below(3)]
        size = {INP: 16, WGT: 256, ACC: 64}[memory]
        pads = tuple(self.below(3) for _ in range(4)) if memory != WGT else (0, 0, 0, 0)
        y, x, stride = 1 + self.below(3), 1 + self.below(3), self.below(9)
        whole = (y + pads[0] + pads[1]) * (x + pads[2] + pads[3])
        first = DATA // size + self.below(DATA_BYTES // size - y * stride - x)
        self.add(1 if memory == ACC else 0, LOAD, memory=memory, sram=self.below(USED - whole + 1), dram=first, y=y, x=x, stride=stride, pads=pads)

    def loops(self):
        """all that is touched is below USED: 7 + 3 * 9 + 3 * 9 = 61"""
        first = self.below(LISTS - 1)
        pairs = {name: (self.below(10), self.below(10)) for name in ("dst", "src")}
        return dict(uops=(first, first + 1 + self.below(LISTS - first)), loops=(1 + self.below(4), 1 + self.below(4)), **pairs)

    def product(self):
        self.add(1, GEMM, reset=int(self.below(8) == 0), wgt=(self.below(10), self.below(10)), **self.loops())

    def operation(self):
        op = [MIN, MAX, ADD, SHR, MUL][self.below(5)]
        imm = self.below(31) - 15 if op == SHR else self.below(65536) - 32768 if self.below(2) else None
        self.add(1, ALU, op=op, imm=imm, **self.loops())

    def store(self):
        """what an operation has just written"""
        y, x = 1 + self.below(3), 1 + self.below(4)
        sram = self.below(USED - y * x + 1)
        self.add(1, LOAD, memory=UOP, sram=LISTS, dram=UOPS // 4 + LISTS, y=1, x=1, stride=1)
        self.add(1, ALU, op=SHR, imm=0, uops=(LISTS, LISTS + 1), loops=(1, USED), dst=(0, 1), src=(0, 1))
        self.add(2, STORE, memory=OUT, sram=sram, dram=RESULT // 16 + self.below(RESULT_BYTES // 16 - y * 12 - x), y=y, x=x, stride=x + self.below(9))


def cases(tier):
    return [pytest.param(seed, marks=[] if seed < tier else pytest.mark.long) for seed in range(300)]


@pytest.mark.parametrize("seed", cases(12))
def test_random_stream(tmp_path, seed):
    writer = Writer(seed)
    uops = b"".join(micro_op(*u) for u in [*writer.uops, (0, 0, 0)])
    data = np.random.default_rng(seed + 1000).bytes(DATA_BYTES)
    code = b"".join(i.encode() for i in writer.stream)
    file = tmp_path / "a.vta"
    file.write_bytes(exchange([("code", INSTRUCTIONS, CODE, code), ("uops", MICRO_OPS, UOPS, uops), ("data", INPUT, DATA, data),
                               ("result", SCRATCH, RESULT, RESULT_BYTES)]))
    done = dnncc.run([VTA, "check", file, "--most=1000"])
    assert {rule for _, rule in broken(done.stderr)} <= {"distance", "same", "no_wgt", "mul"} and done.returncode in (0, 3)
    memory = bytearray(MEMORY)
    for address, content in ((CODE, code), (UOPS, uops), (DATA, data)):
        memory[address:address + len(content)] = content
    machine = Machine(memory)
    machine.run(writer.stream)
    for order, poison in ((0, 165), (seed + 1, 0)):
        vta("run", file, f"--seed={order}", f"--poison={poison}", "-o", tmp_path / "image")
        assert (tmp_path / "image").read_bytes() == machine.memory.tobytes()
    assert machine.memory[RESULT:].any()
