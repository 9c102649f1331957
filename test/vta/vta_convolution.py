# SPDX-License-Identifier: MIT
"""Convolutions as streams written by hand: no optimizer had a part in them.

For each tile of outputs: reset, load the bias; for each block of input channels: load inputs, load weights, multiply; SHR, ADD the bias,
MIN, MAX, a store for each block of outputs. `contexts` 2: halves of INP and WGT in turn for blocks of input channels, halves of ACC in
turn for tiles, so that loads, products and stores run beside each other; 1: the same without halves."""
import dataclasses

import numpy as np

from vta_tool import (ACC, ADD, ALU, CONSTANT, EXPECT, FINISH, GEMM, INP, INPUT, INSTRUCTIONS, LOAD, MAX, MICRO_OPS, MIN, OUT, OUTPUT, SHR,
                     STORE, UOP, WGT, Instruction, exchange, micro_op)

SHIFT = 8
HALF = {ACC: 1024, INP: 1024, WGT: 512}         # elements


@dataclasses.dataclass
class Layer:
    size: int
    inputs: int
    outputs: int
    kernel: int
    stride: int
    pad: int
    tile: tuple                         # out blocks, rows, columns; one block of inputs at a time

    def __post_init__(self):
        self.out = (self.size + 2 * self.pad - self.kernel) // self.stride + 1
        self.in_blocks, self.out_blocks = self.inputs // 16, self.outputs // 16


CODE, UOPS, X, WEIGHTS, BIAS, Y = 0x1000, 0x9000, 0x10000, 0x100000, 0x400000, 0x410000


class Stream:
    def __init__(self, layer, contexts=2):
        self.layer, self.contexts, self.instructions, self.uops = layer, contexts, [], []
        self.lists()
        self.begin()
        blocks, rows, columns = layer.tile
        number = 0
        for block in range(0, layer.out_blocks, blocks):
            for y in range(0, layer.out, rows):
                for x in range(0, layer.out, columns):
                    self.tile(number, block, y, x)
                    number += 1
        self.end()

    def emit(self, opcode, flags="", **fields):
        self.instructions.append(Instruction(opcode, set(flags.split()), **fields))

    def idle(self, stage, flags, times):
        what = {"load": (LOAD, INP), "compute": (LOAD, UOP), "store": (STORE, OUT)}[stage]
        for _ in range(times):
            self.emit(what[0], flags, memory=what[1])

    def list(self, ops):
        self.uops += ops
        return len(self.uops) - len(ops), len(self.uops)

    def lists(self):
        """micro-ops for each half: output channels vary fastest, so that sums are as far apart as there are blocks of them"""
        k, (blocks, rows, columns) = self.layer.kernel, self.layer.tile
        self.in_rows, self.in_columns = (rows - 1) * self.layer.stride + k, (columns - 1) * self.layer.stride + k
        self.products, self.plain, self.bias = {}, {}, {}
        for a in range(self.contexts):
            at = [a * HALF[ACC] + b * rows * columns for b in range(blocks)]
            for i in range(self.contexts):
                self.products[a, i] = self.list([(at[b], i * HALF[INP] + y * self.in_columns + x, i * HALF[WGT] + b * k * k + y * k + x)
                                                 for y in range(k) for x in range(k) for b in range(blocks)])
            self.plain[a] = self.list([(d, d, 0) for d in at])
            self.bias[a] = self.list([(d, self.bias_at(a) + b, 0) for b, d in enumerate(at)])

    def bias_at(self, a):
        return (a + 1) * HALF[ACC] - self.layer.tile[0]

    def begin(self):
        self.emit(LOAD, memory=UOP, dram=UOPS // 4, y=1, x=len(self.uops), stride=len(self.uops))
        self.idle("compute", "push_prev", self.contexts)
        self.idle("store", "push_prev", self.contexts)
        self.step = 0

    def end(self):
        self.idle("load", "pop_next", self.contexts - 1)
        self.idle("load", "pop_next push_next", 1)
        self.idle("compute", "pop_prev", 1)
        self.idle("compute", "pop_next", self.contexts)
        self.emit(FINISH)

    def load_inputs(self, block, y, x, half):
        layer = self.layer
        top, left = y * layer.stride - layer.pad, x * layer.stride - layer.pad
        pads = (max(0, -top), max(0, top + self.in_rows - layer.size), max(0, -left), max(0, left + self.in_columns - layer.size))
        self.emit(LOAD, "pop_next", memory=INP, sram=half * HALF[INP], pads=pads, stride=layer.size,
                  dram=X // 16 + (block * layer.size + top + pads[0]) * layer.size + left + pads[2],
                  y=self.in_rows - pads[0] - pads[1], x=self.in_columns - pads[2] - pads[3])

    def load_weights(self, out_block, in_block, half):
        layer, taps = self.layer, self.layer.kernel ** 2
        self.emit(LOAD, "push_next", memory=WGT, sram=half * HALF[WGT], dram=WEIGHTS // 256 + (out_block * layer.in_blocks + in_block) * taps,
                  y=layer.tile[0], x=taps, stride=layer.in_blocks * taps)

    def tile(self, number, block, y, x):
        layer, a = self.layer, number % self.contexts
        blocks, rows, columns = layer.tile
        each = dict(loops=(rows, columns), dst=(columns, 1))
        self.emit(GEMM, "pop_next", reset=1, uops=self.plain[a], **each)
        self.emit(LOAD, memory=ACC, sram=self.bias_at(a), dram=BIAS // 64 + block, y=1, x=blocks, stride=blocks)
        for in_block in range(layer.in_blocks):
            half = self.step % self.contexts
            self.load_inputs(in_block, y, x, half)
            self.load_weights(block, in_block, half)
            self.emit(GEMM, "pop_prev push_prev", uops=self.products[a, half], src=(self.in_columns * layer.stride, layer.stride), **each)
            self.step += 1
        self.emit(ALU, op=SHR, imm=SHIFT, uops=self.plain[a], src=(columns, 1), **each)
        self.emit(ALU, op=ADD, uops=self.bias[a], **each)
        self.emit(ALU, op=MIN, imm=127, uops=self.plain[a], src=(columns, 1), **each)
        self.emit(ALU, "push_next", op=MAX, imm=0, uops=self.plain[a], src=(columns, 1), **each)
        for b in range(blocks):
            flags = "pop_prev " * (b == 0) + "push_prev" * (b == blocks - 1)
            self.emit(STORE, flags, memory=OUT, sram=a * HALF[ACC] + b * rows * columns, y=rows, x=columns, stride=layer.out,
                      dram=Y // 16 + ((block + b) * layer.out + y) * layer.out + x)

    def code(self):
        return b"".join(i.encode() for i in self.instructions)


# ---- numbers ----

def blocked(x):
    """channels first to blocks of 16 of them behind"""
    return x.reshape(x.shape[0] // 16, 16, *x.shape[1:]).transpose(0, *range(2, x.ndim + 1), 1)


def operands(layer, seed=1):
    random = np.random.default_rng(seed)
    x = random.integers(-128, 128, (layer.inputs, layer.size, layer.size))
    w = random.integers(-128, 128, (layer.outputs, layer.inputs, layer.kernel, layer.kernel))
    return x, w, random.integers(-100, 100, layer.outputs)


def convolved(layer, x, w, bias):
    """in doubles, which hold these sums"""
    k, out = layer.kernel, layer.out
    padded = np.pad(x, ((0, 0), (layer.pad,) * 2, (layer.pad,) * 2)).astype(float)
    sums = np.zeros((layer.outputs, out * out))
    for y in range(k):
        for z in range(k):
            window = padded[:, y:y + layer.stride * (out - 1) + 1:layer.stride, z:z + layer.stride * (out - 1) + 1:layer.stride]
            sums += w[:, :, y, z].astype(float) @ window.reshape(layer.inputs, -1)
    return np.clip((sums.astype(np.int64).reshape(layer.outputs, out, out) >> SHIFT) + bias[:, None, None], 0, 127)


def file_of(stream, seed=1):
    """the exchange file, with what must come out"""
    layer = stream.layer
    x, w, bias = operands(layer, seed)
    y = blocked(convolved(layer, x, w, bias)).astype(np.int8).tobytes()
    weights = w.reshape(layer.out_blocks, 16, layer.in_blocks, 16, layer.kernel, layer.kernel).transpose(0, 2, 4, 5, 1, 3)
    return exchange([("code", INSTRUCTIONS, CODE, stream.code()), ("uops", MICRO_OPS, UOPS, b"".join(micro_op(*u) for u in stream.uops)),
                     ("x", INPUT, X, blocked(x).astype(np.int8).tobytes()), ("w", CONSTANT, WEIGHTS, weights.astype(np.int8).tobytes()),
                     ("bias", CONSTANT, BIAS, bias.astype("<i4").tobytes()), ("y", OUTPUT, Y, len(y)), ("y", EXPECT, Y, y)])
