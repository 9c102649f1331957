# SPDX-License-Identifier: MIT
"""Loops of register tiles in machine code of ARM, 64 and 32 bits, and RISC-V, as objdump lists it."""
import re
import shutil
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    objdump: str
    options: tuple
    branch: str                         # a jump; where to
    products: frozenset
    share: float                        # of the instructions of a loop of tiles, that are products at least: loads and copies are others
    stack: str                          # a vector that goes there, or comes from there


OWN = ("-d", "--no-show-raw-insn")
ARM64 = Machine("aarch64-linux-gnu-objdump", OWN, r"(?:b\.?\w*|cbn?z|tbn?z)\s.*?\b([0-9a-f]+) <", frozenset(
    "fmla sdot usdot sudot smmla usmmla ummla bfdot bfmmla smull smlal sadalp fmlal fmad".split()), .5, r"\b[qd]\d+,.*\[sp|(?:str|ldr)\s+z")
ARM32 = Machine("arm-linux-gnueabihf-objdump", OWN, r"b\w*(?:\.[nw])?\s+([0-9a-f]+) <", frozenset(
    "vfma.f32 vmull.s8 vmlal.s8 vpadal.s16".split()), .3, r"v.*\[sp")
RISCV = Machine(next(filter(shutil.which, ("llvm-objdump-16", "llvm-objdump-19")), "llvm-objdump-16"), (*OWN, "--mattr=+v"),
                r"(?:b\w+|c\.b\w+|j|c\.j)\s.*?\b(?:0x)?([0-9a-f]+) <", frozenset(("vfmacc.vf", "vmacc.vx")), .33, r"v[sl]\d+r")
MACHINES = {"aarch64": ARM64, "armv7": ARM32, "riscv64": RISCV}          # what targets' names begin with


def listing(path, machine=ARM64):
    command = [machine.objdump, *machine.options, path]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout


def inner_loops(text, machine=ARM64):
    """(function, instructions) of loops that hold no other, by the branch back"""
    for name, body in re.findall(r"^[0-9a-f]+ <(.*)>:\n((?:.+\n)+)", text, re.M):
        code = [(int(at, 16), re.sub(r"\s+", " ", line.strip())) for at, line in re.findall(r"^\s*([0-9a-f]+):\s+(.*)$", body, re.M)]
        number = {at: k for k, (at, _) in enumerate(code)}
        back = [(number[int(m[1], 16)], k) for k, (_, line) in enumerate(code)
                if (m := re.match(machine.branch, line)) and number.get(int(m[1], 16), k + 1) <= k]
        for first, last in back:
            if not any((g, h) != (first, last) and first <= g and h <= last for g, h in back):
                yield name, [line for _, line in code[first:last + 1]]


def tile_loops(text, machine=ARM64):
    """those of register tiles: eight of their instructions, and a share, multiply; others are epilogues, or transforms"""
    for name, body in inner_loops(text, machine):
        products = sum(line.split()[0] in machine.products for line in body)
        if products >= 8 and products >= machine.share * len(body):
            yield name, body


def on_the_stack(body, machine=ARM64):
    """its instructions that move vectors there or back"""
    return [line for line in body if re.search(machine.stack, line)]
