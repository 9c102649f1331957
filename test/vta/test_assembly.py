# SPDX-License-Identifier: MIT
"""Assembly text: golden instructions both ways, other sizes of the machine, and texts that are wrong."""
import json
import struct

import numpy as np
import pytest

from vta_tool import ALU, DEFAULT, GEMM, LOAD, STORE, Instruction, assembled, broken, dnncc, exchange, vta
from vta_minimal import LINES, X, block, changed, program

# low and high word, as the reference's own structures have them
GOLDEN = [
    ("load.inp push_next sram=3 dram=0x2000 size=14,14 stride=28 pad=1,2,3,4", 0x0000000800000d40, 0x4321001c000e000e),
    ("load.wgt pop_next sram=1023 dram=0xffffffff00 size=1,65535 stride=65535", 0x03fffffffc0ffc90, 0x0000ffffffff0001),
    ("load.uop pop_prev push_next", 0x0000000000000048, 0),
    ("store.out pop_prev push_prev sram=5 dram=0x5000 size=2,3 stride=9", 0x0000001400001629, 0x0000000900030002),
    ("gemm pop_prev push_prev uop=2,7 loop=14,9 dst=14,1 src=16,2 wgt=9,3", 0x0012007000e0022a, 0x00c090040400080e),
    ("gemm reset uop=0,8192 loop=16383,1 dst=2047,0", 0x0003fffc00000082, 0x00000000000007ff),
    ("alu.shr push_next uop=1,2 loop=1,49 dst=0,1 src=0,1 imm=8", 0x0062000800400144, 0x0008b00200000800),
    ("alu.max uop=0,1 loop=1,1 imm=-128", 0x0002000800200004, 0xff80900000000000),
    ("alu.add pop_next uop=4,6 loop=2,3 dst=100,7 src=50,9", 0x0006001000c00414, 0x000020120c803864),
    ("finish", 0x0000000000000003, 0),
]


def test_golden(tmp_path):
    data = assembled(program([text for text, *_ in GOLDEN]), tmp_path)
    words = b"".join(struct.pack("<QQ", low, high) for _, low, high in GOLDEN)
    assert words in data and struct.pack("<I", 0x00801805) in data
    lines = [line.split("#")[0].strip() for line in vta("dump", tmp_path / "p.vta").splitlines()]
    at = lines.index(GOLDEN[0][0])
    assert lines[at:at + len(GOLDEN)] == [text for text, *_ in GOLDEN] and "5 3 2" in lines


def random_instruction(random):
    def below(n):
        return int(random.integers(n))
    flags = {f for f in ("pop_prev", "pop_next", "push_prev", "push_next") if below(2)}
    opcode = [LOAD, STORE, GEMM, ALU][below(4)]
    if opcode in (LOAD, STORE):
        return Instruction(opcode, flags, memory=below(6), sram=below(1 << 16), dram=below(1 << 32), y=below(1 << 16), x=below(1 << 16),
                           stride=below(1 << 16), pads=tuple(below(16) for _ in range(4)))
    common = dict(reset=below(2), uops=(below(1 << 13), below(1 << 14)), loops=(below(1 << 14), below(1 << 14)),
                  dst=(below(2048), below(2048)), src=(below(2048), below(2048)))
    if opcode == GEMM:
        return Instruction(opcode, flags, wgt=(below(1024), below(1024)), **common)
    return Instruction(opcode, flags, op=below(5), imm=below(65536) - 32768 if below(2) else None, **common)


@pytest.mark.parametrize("seed", range(3))
def test_round_trip_of_random_bytes(tmp_path, seed):
    """instructions of all kinds, and bytes that are none; micro-ops; segments of all kinds and odd lengths; names that are shared"""
    random = np.random.default_rng(seed)
    code = b""
    for k in range(300):
        bytes_ = random_instruction(random).encode() if k % 8 else random.bytes(16)
        code += bytes_ if bytes_[0] & 7 != 3 else bytes(16)
    code += b"\x03" + bytes(15)
    data = exchange([("code", 1, 0x1000, code), ("uops", 2, 0x4000, random.bytes(403)), ("w", 3, 0x5000, random.bytes(1000)),
                     ("w", 4, 0x5400, random.bytes(77)), ("0x1", 4, 0x5500, 4), ("y.-_", 5, 0x5600, 300), ("s", 6, 0x5800, random.bytes(1)),
                     ("s", 6, 0x5900, 1), ("y.-_", 7, 0x5601, random.bytes(299))], dram_bytes=1 << 32)
    (tmp_path / "a.vta").write_bytes(data)
    text = vta("dump", tmp_path / "a.vta")
    assert assembled(text, tmp_path, "b") == data
    assert vta("dump", tmp_path / "b.vta") == vta("dump", tmp_path / "b.vta.s") == text


def test_text_from_standard_input(tmp_path):
    (tmp_path / "a.vta.s").write_text("# a comment\r\n\n" + program())
    with (tmp_path / "a.vta.s").open() as text:
        assert vta("dump", "-", stdin=text) == vta("dump", tmp_path / "a.vta.s")


# ---- other machines ----

def test_other_sizes(tmp_path):
    """fields grow and shrink with the memories; a file of another machine is refused where none is named"""
    sizes = "inp=16K,acc=64K"
    data = assembled(program(sizes=sizes), tmp_path)
    assert tuple(data[8:20]) == (3, 3, 5, 3, 0, 4, 4, 15, 14, 18, 16, 15) != DEFAULT
    assert struct.pack("<I", 5 | 3 << 10 | 2 << 20) in data             # 10 bits for dst and src
    assert "for another machine" in vta("run", tmp_path / "p.vta", code=3)
    for command in ("run", "check", "cycles"):
        vta(command, tmp_path / "p.vta", "--sizes", sizes)
    assert "machine vta inp=16384,acc=65536\n" in vta("dump", tmp_path / "p.vta", f"--sizes={sizes}")
    said = assembled(program(changed({0: "load.inp sram=1023 dram=@x size=1,2 stride=1"}), sizes=sizes), tmp_path)
    assert (0, "sram") in broken(vta("check", tmp_path / "p.vta", f"--sizes={sizes}", code=3)) and said


def test_blocks_of_32(tmp_path):
    """32 x 32 products a step, two rows at once"""
    random = np.random.default_rng(5)
    x, w, bias = random.integers(-128, 128, (2, 32)), random.integers(-128, 128, (32, 32)), random.integers(-9999, 9999, (2, 32))
    y = np.clip((x @ w.T + bias) >> 6, -128, 127)
    lines = changed({k: LINES[k].replace("imm=4", "imm=6") for k in range(len(LINES))})
    text = f"""machine vta batch=2,block=32
dram 0x10000
instructions code 0x1000 {{
{chr(10).join(lines)}
}}
micro_ops uops 0x2000 {{
5 3 2
5 5 0
}}
input x 0x3000 {{
{block(x, "i1")}
}}
constant w 0x4000 {{
{block(w, "i1")}
}}
constant bias 0x5000 {{
{block(bias, "<i4")}
}}
output y 0x6000 64
expect y 0x6000 {{
{block(y, "i1")}
}}
"""
    (tmp_path / "a.vta.s").write_text(text)
    vta("check", tmp_path / "a.vta.s")
    vta("run", tmp_path / "a.vta.s", "--seed=3")


@pytest.mark.parametrize("sizes, said", [
    ("inp=3K", "powers of two"), ("inq=16K", "did you mean 'inp'"), ("inp=16", "less than two elements"), ("acc=512K", "OUT has fewer"),
    ("uop=256K,out=256K,acc=1M,inp=256K", "do not fit"), ("inp", "powers of two"), ("wgt=32M", "larger than an instruction"), ("inp=2G", "powers of two")])
def test_sizes_that_no_machine_has(tmp_path, sizes, said):
    (tmp_path / "a.vta").write_bytes(b"")
    assert said in vta("run", tmp_path / "a.vta", f"--sizes={sizes}", code=1)
    assert "line 1: no machine has such sizes" in assembled(program(sizes=sizes), tmp_path, code=3)


def test_documented_program(tmp_path):
    """the one of docs/accelerators.md"""
    page = (dnncc.ROOT / "docs/accelerators.md").read_text()
    text = page[page.index("    machine vta\n"):page.index("\nAn instruction stands on a line")]
    (tmp_path / "a.vta.s").write_text(text)
    for command in ("check", "run", "cycles"):
        vta(command, tmp_path / "a.vta.s")
    assembled(text.replace("            00 00", "            01 00"), tmp_path)
    assert "1 of 16 bytes differ, the first at +0 is 0, want 1" in vta("run", tmp_path / "p.vta", code=70)


# ---- texts that are wrong ----

@pytest.mark.parametrize("line, said", [
    ("load.inp sram=65536", "sram_base is 65536, which 16 bits do not hold"), ("alu.add imm=32768", "imm is 32768"),
    ("gemm imm=3", "gemm has no 'imm'"), ("load.inq", "no instruction is called 'load.inq'"), ("gemm.inp", "no instruction"), ("load", "no instruction"),
    ("alu.div", "no instruction"), ("load.inp size=3", "size wants 2 numbers"), ("load.inp size=3,4,5", "size wants 2 numbers"),
    ("load.inp push_next push_next", "twice"), ("load.inp sram=1 sram=1", "twice"), ("load.inp push_next=1", "stands alone"), ("load.inp sram", "wants ="),
    ("load.inp dram=0x1001", "no multiple of the 16 bytes"), ("load.inp dram=@nowhere", "no segment is called 'nowhere'"),
    ("load.inp dram=@x+", "no number of bytes"), ("load.inp dram=-16", "no multiple"), ("load.inp dram=0xfffffffffffffffff", "no address"),
    ("bytes 00 11", "an instruction has 16 bytes"), ("bytes 0", "two hexadecimal digits"), ("load.inp {", "want the end of the line"),
    ("finish", "finish stands before the last"), ("load.inp \x1b[1m", r"\x1b"), ("load.inp \0", r"\x00"), ("load.inp size=0x,1", "size wants")])
def test_line_that_is_wrong(tmp_path, line, said):
    text = assembled(program(changed({6: line})), tmp_path, code=3)
    assert said in text and "\x1b" not in text
    assert "line 11: " in text or said.startswith("finish")


@pytest.mark.parametrize("text, said", [
    ("", "line 1: no assembly"), ("machine vtb", "want 'vta'"), ("machine vta\n", "want 'dram BYTES', not the end"), ("machine vta\ndram 5\n", "0 segments"),
    (program().replace("0xa000", "0x100001000"), "memory has 4294971392 bytes"), (program().replace("0xa000", "99999999999999999999"), "want bytes of memory"),
    (program().replace("output y", "outptu y"), "no kind of segment is called 'outptu'"), (program().rstrip()[:-1], "want '}' of 'y', not the end"),
    (program().replace("constant w 0x6100", "constant w 0x6000"), "'x' and 'w' overlap"), (program().replace("y 0x6300 256", "y 0x6300 -1"), "negative"),
    (program().replace("y 0x6300 256", "y 0x6300 0"), "'y' is empty"), (program().replace("y 0x6300 256", "y 0x6300 4000000000"), "not within memory"),
    (program().replace("x 0x6000", "x 0x6010"), "no multiple of 256"), (program().replace("input x 0x6000", "input x/y 0x6000"), "want a name"),
    (program().replace("output y", "instructions y"), "has no content"), (program().replace("output y", "constant y"), "has no content"),
    (program().replace("expect y 0x6300", "expect y 0x6000"), "lies in no output"), (program(LINES[:-1]), "the last one is not finish"),
    (program(changed({10: "finish push_next"})), "finish has flags"), ("machine vta\ndram 8192\n" + "input x 4096 1\n" * 5000, "more than 4096"),
    (program(uops=("5 3",)), "want wgt"), (program(uops=("2048 3 2",)), "dst is 2048"), (program(more=program()), "no kind of segment is called 'machine'")])
def test_text_that_is_wrong(tmp_path, text, said):
    assert said in assembled(text, tmp_path, code=3)


def test_command_line(tmp_path):
    (tmp_path / "a.vta.s").write_text(program())
    for arguments, said in [(["run", "a", "b"], "one file at a time"), (["rum", "a"], "did you mean 'run'"),
                            (["run", "a", "--seed=x"], "wants a number"), (["run", "a", "--poison=256"], "0 to 255"), (["run", "a", "--sed=1"], "did you mean"),
                            (["dump", "a", "--seed=1"], "is an option of these commands only: run"), (["assemble", tmp_path / "none"], ""),
                            (["run", "-o"], "wants FILE"), (["run", "--seed=1"], "no file given")]:
        assert said in vta(*arguments, code=2 if not said else 1)
    rows = json.loads(vta("--help=json", "run"))
    assert {"command": "check", "doc": "hold it to the rules that keep it the same on all implementations, and look for races"} in rows["commands"]
    assert {o["option"]: (o["kind"], o["commands"]) for o in rows["options"]}["--steps"] == ("WHOLE", "run check")
    assert "it is --help, or --help=json" in vta("--help=yaml", "run", code=1)
    assert "usage: dnncc-vta" in vta("--help", "run") and vta("--version", "run").startswith("dnncc-vta ")
    assert "steps than --steps allows" in vta("run", tmp_path / "a.vta.s", "--steps=20", code=5)
    assert "it is an input of this run" in vta("dump", tmp_path / "a.vta.s", "-o", tmp_path / "a.vta.s", code=2)
    image = tmp_path / "image"
    vta("run", tmp_path / "a.vta.s", "-o", image)
    memory = image.read_bytes()
    assert len(memory) == 0xa000 and memory[0x6000:0x6010] == X.astype("i1").tobytes()
