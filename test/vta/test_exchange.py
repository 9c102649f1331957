# SPDX-License-Identifier: MIT
"""Exchange files that are damaged: refused with the place and a reason, by all commands, and nothing past their end is read
(test/unit/vta_hostile_test.c damages many more)."""
import struct

import pytest

from vta_tool import CONSTANT, EXPECT, INPUT, INSTRUCTIONS, MICRO_OPS, OUTPUT, SCRATCH, assembled, exchange, vta
from vta_minimal import program

FINISH = b"\x03" + bytes(15)
GOOD = [("code", INSTRUCTIONS, 0x1000, FINISH), ("x", INPUT, 0x2000, 256), ("w", CONSTANT, 0x2100, b"abc"), ("y", OUTPUT, 0x2200, 512),
        ("y", EXPECT, 0x2201, bytes(3))]


def patched(at, value, data=None):
    data = bytearray(data or exchange(GOOD))
    data[at:at + len(value)] = value
    return bytes(data)


def number(value, count=8):
    return value.to_bytes(count, "little")


def with_segments(*more):
    return exchange(GOOD + list(more), dram_bytes=0x4000)


HEAD, RECORD = 64, 64
WRONG = {
    "empty": (b"", "does not begin with VTAPROG1"),
    "magic": (patched(7, b"2"), "does not begin with VTAPROG1"),
    "cut in the header": (exchange(GOOD)[:63], "ends after 63 bytes"),
    "cut in the table": (patched(32, number(150), exchange(GOOD)[:150]), "5 segments do not fit"),
    "cut": (exchange(GOOD)[:-1], "and says"),
    "longer": (exchange(GOOD) + b"\0", "and says"),
    "machine": (patched(16, b"\x0e"), "at byte 16: the program is for another machine"),
    "no segments": (patched(20, number(0, 4)), "0 segments"),
    "one segment": (patched(20, number(1, 4)), "1 segments"),
    "too many segments": (patched(20, number(2 ** 32 - 1, 4)), "4294967295 segments"),
    "memory of no pages": (patched(24, number(0x2fff)), "memory has 12287 bytes"),
    "little memory": (patched(24, number(4096)), "memory has 4096 bytes"),
    "much memory": (patched(24, number(2 ** 32 + 4096)), "memory has 4294971392 bytes"),
    "memory that wraps": (patched(24, number(2 ** 64 - 4096)), "memory has"),
    "rest of the header": (patched(63, b"\1"), "end of the header"),
    "name": (patched(HEAD, b"co/e"), "segment 0, at byte 64: a name is"),
    "no name": (patched(HEAD, bytes(4)), "segment 0, at byte 64: a name is"),
    "long name": (patched(HEAD, b"a" * 32), "segment 0, at byte 64: a name is"),
    "name behind the name": (patched(HEAD + 31, b"a"), "segment 0, at byte 64: a name is"),
    "kind 0": (patched(HEAD + 32, number(0, 4)), "no such kind"),
    "kind 8": (patched(HEAD + RECORD + 32, number(8, 4)), "segment 1, at byte 128: there is no such kind"),
    "behind the kind": (patched(HEAD + 36, b"\1"), "behind the kind"),
    "address": (patched(HEAD + 40, number(0x1010)), "no multiple of 256"),
    "address that wraps": (patched(HEAD + 40, number(2 ** 64 - 256)), "beyond 2^32"),
    "first page": (patched(HEAD + 40, number(0xf00)), "not within memory"),
    "behind memory": (patched(HEAD + RECORD + 40, number(0x10000)), "not within memory"),
    "size that wraps": (patched(HEAD + RECORD + 48, number(2 ** 64 - 1)), "beyond 2^32"),
    "size past memory": (patched(HEAD + RECORD + 48, number(0x1001)), "not within memory"),
    "empty segment": (patched(HEAD + RECORD + 48, number(0)), "'x' is empty"),
    "content in the table": (patched(HEAD + 56, number(64)), "its content is not within the file"),
    "content that is not aligned": (patched(HEAD + 56, number(HEAD + 5 * RECORD + 1)), "its content is not within the file"),
    "content past the end": (patched(HEAD + 2 * RECORD + 48, number(1000)), "its content is not within the file"),
    "content far past the end": (patched(HEAD + 56, number(2 ** 63)), "its content is not within the file"),
    "constant without content": (patched(HEAD + 2 * RECORD + 56, number(0)), "'w' (constant) has no content"),
    "overlap": (with_segments(("z", SCRATCH, 0x2300, 1)), "segments 'y' and 'z' overlap at 0x2300"),
    "two of code": (with_segments(("more", INSTRUCTIONS, 0x3000, FINISH)), "2 segments are instructions"),
    "none of code": (exchange([("x", INPUT, 0x2000, 256), ("y", OUTPUT, 0x2200, 512)]), "0 segments are instructions"),
    "expected of an input": (with_segments(("x", EXPECT, 0x2000, b"a")), "what is expected of 'x' at 0x2000 lies in no output"),
    "expected past the end": (with_segments(("y", EXPECT, 0x23ff, b"ab")), "what is expected of 'y' at 0x23ff lies in no output"),
    "half an instruction": (exchange([("code", INSTRUCTIONS, 0x1000, FINISH + bytes(8))] + GOOD[1:]), "the instructions are 24 bytes"),
    "no finish": (exchange([("code", INSTRUCTIONS, 0x1000, FINISH + bytes(16))] + GOOD[1:]), "instruction 0: finish stands before the last"),
    "another end": (exchange([("code", INSTRUCTIONS, 0x1000, bytes(16))] + GOOD[1:]), "instruction 0: the last one is not finish"),
    "finish with flags": (exchange([("code", INSTRUCTIONS, 0x1000, b"\x43" + bytes(15))] + GOOD[1:]), "instruction 0: finish has flags"),
    "finish with bits": (exchange([("code", INSTRUCTIONS, 0x1000, b"\x03" + bytes(14) + b"\1")] + GOOD[1:]), "instruction 0: finish has flags"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong(tmp_path, name):
    data, said = WRONG[name]
    (tmp_path / "a.vta").write_bytes(data)
    for command in ("run", "dump"):
        assert said in vta(command, tmp_path / "a.vta", code=3)


def test_right(tmp_path):
    (tmp_path / "a.vta").write_bytes(exchange(GOOD))
    for command in ("run", "check", "cycles", "dump"):
        vta(command, tmp_path / "a.vta")


def test_written_as_here(tmp_path):
    """assemble lays out a file as the tests' own writer does"""
    data = assembled(program(), tmp_path)
    count, = struct.unpack_from("<I", data, 20)
    segments = []
    for k in range(count):
        name, kind, _, address, size, at = struct.unpack_from("<32sIIQQQ", data, HEAD + k * RECORD)
        segments.append((name.rstrip(b"\0").decode(), kind, address, data[at:at + size] if at else size))
    assert exchange(segments, dram_bytes=0xa000) == data and count == 7 and segments[1][1] == MICRO_OPS


def test_much_work(tmp_path):
    """a stream that would run for days is not begun"""
    gemm = struct.pack("<QQ", 2 | 1 << 21 | 16383 << 35 | 16383 << 49, 0)
    code = gemm * 8000 + FINISH
    (tmp_path / "a.vta").write_bytes(exchange([("code", INSTRUCTIONS, 0x1000, code), ("x", INPUT, 0x40000, 256)]))
    for command in ("run", "check"):
        assert "takes more steps than --steps allows" in vta(command, tmp_path / "a.vta", "--steps=1000000", code=5)
    vta("cycles", tmp_path / "a.vta")
    rows = struct.pack("<QQ", 2 << 7, 65535 | 65535 << 16)
    (tmp_path / "b.vta").write_bytes(exchange([("code", INSTRUCTIONS, 0x1000, rows * 8000 + FINISH), ("x", INPUT, 0x40000, 256)]))
    for command in ("run", "cycles"):
        assert "instruction 0 (load) cannot run: a load or store stays within the memory" in vta(command, tmp_path / "b.vta", code=3)
