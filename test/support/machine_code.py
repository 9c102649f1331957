# SPDX-License-Identifier: MIT
"""Loops of 64-bit ARM's machine code, as objdump lists it."""
import re
import subprocess

PRODUCTS = {"fmla", "sdot", "usdot", "sudot", "smmla", "usmmla", "ummla", "bfdot", "bfmmla", "smull", "smlal", "sadalp", "fmlal", "fmad"}


def listing(path):
    command = ["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", path]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout


def inner_loops(text):
    """(function, instructions) of loops that hold no other, by the branch back"""
    for name, body in re.findall(r"^[0-9a-f]+ <(.*)>:\n((?:.+\n)+)", text, re.M):
        code = [(int(at, 16), line) for at, line in re.findall(r"^\s*([0-9a-f]+):\t(.*)$", body, re.M)]
        number = {at: k for k, (at, _) in enumerate(code)}
        back = [(number[int(m[1], 16)], k) for k, (_, line) in enumerate(code)
                if (m := re.match(r"(?:b\.?\w*|cbn?z|tbn?z)\s.*?\b([0-9a-f]+) <", line)) and number.get(int(m[1], 16), k + 1) <= k]
        for first, last in back:
            if not any((g, h) != (first, last) and first <= g and h <= last for g, h in back):
                yield name, [line for _, line in code[first:last + 1]]


def tile_loops(text):
    """those of register tiles: half of their instructions, and eight, multiply; others are epilogues, or transforms"""
    for name, body in inner_loops(text):
        products = sum(line.split()[0] in PRODUCTS for line in body)
        if products >= 8 and 2 * products >= len(body):
            yield name, body
