# SPDX-License-Identifier: MIT
"""VTA in Python, for the tests: instructions as bytes, exchange files, and dnncc-vta itself. Bytes are made without dnncc, so that two
readings of one description meet.

Environment: DNNCC (default build/dnncc); dnncc-vta is beside it."""
import dataclasses
import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

SANITIZED = any(part.startswith("asan") for part in pathlib.Path(dnncc.DNNCC).parts)
VTA = str(pathlib.Path(dnncc.DNNCC).resolve().parent / "dnncc-vta")

LOAD, STORE, GEMM, FINISH, ALU = range(5)
UOP, WGT, INP, ACC, OUT = range(5)
MIN, MAX, ADD, SHR, MUL = range(5)
INSTRUCTIONS, MICRO_OPS, CONSTANT, INPUT, OUTPUT, SCRATCH, EXPECT = range(1, 8)
BYTES = {UOP: 4, WGT: 256, INP: 16, ACC: 64, OUT: 16}       # of an element
FLAGS = ("pop_prev", "pop_next", "push_prev", "push_next")
DEFAULT = (3, 3, 5, 3, 0, 4, 4, 15, 15, 18, 17, 15)


@dataclasses.dataclass
class Instruction:
    opcode: int
    flags: set
    memory: int = 0
    sram: int = 0
    dram: int = 0                       # elements
    y: int = 0
    x: int = 0
    stride: int = 0
    pads: tuple = (0, 0, 0, 0)          # y before and after, x before and after
    reset: int = 0
    uops: tuple = (0, 0)
    loops: tuple = (1, 1)               # out, in
    dst: tuple = (0, 0)                 # factors, out and in
    src: tuple = (0, 0)
    wgt: tuple = (0, 0)
    op: int = 0
    imm: int | None = None

    def steps(self):
        return self.loops[0] * self.loops[1] * (self.uops[1] - self.uops[0])

    def encode(self):
        fields = [(self.opcode, 3)] + [(flag in self.flags, 1) for flag in FLAGS]
        if self.opcode in (LOAD, STORE):
            fields += [(self.memory, 3), (self.sram, 16), (self.dram, 32), (0, 6), (self.y, 16), (self.x, 16), (self.stride, 16)]
            fields += [(pad, 4) for pad in self.pads]
        elif self.opcode != FINISH:
            fields += [(self.reset, 1), (self.uops[0], 13), (self.uops[1], 14), (self.loops[0], 14), (self.loops[1], 14), (0, 1)]
            fields += [(f, 11) for f in self.dst + self.src]
            if self.opcode == GEMM:
                fields += [(f, 10) for f in self.wgt]
            else:
                fields += [(self.op, 3), (self.imm is not None, 1), ((self.imm or 0) & 0xffff, 16)]
        value = at = 0
        for bits, width in fields:
            assert 0 <= bits < 1 << width, (self, bits, width)
            value |= int(bits) << at
            at += width
        return value.to_bytes(16, "little")


def micro_op(dst, src=0, wgt=0):
    return struct.pack("<I", dst | src << 11 | wgt << 22)


# ---- exchange files ----

def exchange(segments, dram_bytes=None, configuration=DEFAULT):
    """segments: (name, kind, address, bytes or a length of zeros)"""
    end = max(address + (s if isinstance(s, int) else len(s)) for _, _, address, s in segments)
    dram_bytes = dram_bytes or max(8192, -(-end // 4096) * 4096)
    at, table, contents = 64 + 64 * len(segments), b"", b""
    for name, kind, address, content in segments:
        held = b"" if isinstance(content, int) else bytes(content)
        begin = -(-(at + len(contents)) // 16) * 16
        if held:
            contents += bytes(begin - at - len(contents)) + held
        table += struct.pack("<32sIIQQQ", name.encode(), kind, 0, address, content if isinstance(content, int) else len(held),
                             begin if held else 0)
    head = b"VTAPROG1" + bytes(configuration) + struct.pack("<IQQ", len(segments), dram_bytes, at + len(contents)) + bytes(24)
    return head + table + contents


# ---- dnncc-vta ----

def vta(command, file, *options, code=0, stdin=None):
    """standard output, or what was said where it must fail"""
    done = dnncc.run([VTA, command, file, *options], stdin=stdin)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stdout if not code else done.stderr


def assembled(text, folder, name="p", code=0):
    """the exchange file, or what was said where there is none"""
    (folder / f"{name}.vta.s").write_text(text)
    said = vta("assemble", folder / f"{name}.vta.s", "-o", folder / f"{name}.vta", code=code)
    return (folder / f"{name}.vta").read_bytes() if not code else said


def broken(said):
    """{(instruction, rule)} of what check says"""
    return {(int(number), rule) for number, rule in re.findall(r"error: instruction (\d+) .*\[(\w+)\]", said)}
