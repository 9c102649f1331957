# SPDX-License-Identifier: MIT
"""The smallest program that uses every stage: out[o] = clamp((bias[o] + sum over i of x[i] w[o][i]) >> 4)."""
import numpy as np

LINES = [
    "load.inp sram=3 dram=@x size=1,1 stride=1",                                # 0
    "load.wgt push_next sram=2 dram=@w size=1,1 stride=1",
    "load.uop dram=@uops size=1,2 stride=2",                                    # 2
    "load.acc sram=5 dram=@bias size=1,1 stride=1",
    "gemm pop_prev uop=0,1 loop=1,1",                                           # 4
    "alu.shr uop=1,2 loop=1,1 imm=4",
    "alu.min uop=1,2 loop=1,1 imm=127",                                         # 6
    "alu.max push_next uop=1,2 loop=1,1 imm=-128",
    "store.out pop_prev push_prev sram=5 dram=@y size=1,1 stride=1",            # 8
    "load.uop pop_next",
    "finish",                                                                   # 10
]
X = np.arange(16) * 9 - 70
W = (np.arange(256).reshape(16, 16) * 37 + 11) % 256 - 128
BIAS = np.arange(16) * 1000 - 7000
Y = np.clip((W @ X + BIAS) >> 4, -128, 127)


def block(numbers, kind):
    return " ".join(f"{byte:02x}" for byte in np.asarray(numbers).astype(kind).tobytes())


def program(lines=LINES, uops=("5 3 2", "5 5 0"), uops_kind="micro_ops", more="", sizes=""):
    """assembly; more: segments"""
    if uops_kind == "micro_ops":
        held = "\n        ".join(uops)
    else:
        held = block([[d | s << 11 | w << 22 for d, s, w in (map(int, uop.split()) for uop in uops)]], "<u4")
    code = "\n        ".join(lines)
    return f"""machine vta{sizes and " " + sizes}
dram 0xa000

instructions code 0x1000 {{
        {code}
}}
{uops_kind} uops 0x4000 {{
        {held}
}}
input x 0x6000 {{
        {block(X, "i1")}
}}
constant w 0x6100 {{
        {block(W, "i1")}
}}
constant bias 0x6200 {{
        {block(BIAS, "<i4")}
}}
output y 0x6300 256
expect y 0x6300 {{
        {block(Y, "i1")}
}}
{more}"""


def changed(changes, lines=LINES):
    """changes: {number: a line, several with newlines between, or "" for none}"""
    out = []
    for k, line in enumerate(lines):
        out += [part for part in changes.get(k, line).split("\n") if part]
    return out
