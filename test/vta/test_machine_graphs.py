# SPDX-License-Identifier: MIT
"""What a machine is given, trick by trick and in random graphs: every pass keeps the bits of the interpreter (--check), the programs obey
every rule, and the simulator has the interpreter's bits for two orders of the stages."""
import re

import numpy as np
import pytest

from machine_graphs import Graph, random_graph
from vta_tool import dnncc, vta

SIZES = ("", "inp=16K,acc=64K,block=32", "inp=4K,acc=16K,wgt=32K,uop=4K")


def compiled(text, path, sizes="", check=True):
    """Loop IR, and cycles of the launches"""
    (path / "m.dnn").write_text(text)
    target = ["--target=vta", "--partition=machine"] + ([f"--sizes={sizes}"] if sizes else [])
    done = dnncc.run([dnncc.DNNCC, path / "m.dnn", *target, "--emit=loops", "-o", path / "m.loops", *(["--check"] if check else [])])
    assert done.returncode == 0, done.stderr
    assert "DIFFERENT" not in done.stderr.upper()
    loops = (path / "m.loops").read_text()
    if not re.search("^stream ", loops, re.M):
        return loops, []
    done = dnncc.run([dnncc.DNNCC, path / "m.dnn", *target, "--emit=program", "-o", path / "m.vta"])
    assert done.returncode == 0, done.stderr
    cycles, options = [], [f"--sizes={sizes}"] if sizes else []
    for file in sorted(path.glob("m*.vta")):
        vta("check", file, *options)
        for seed, poison in ((1, 0), (7, 170)):
            vta("run", file, *options, f"--seed={seed}", f"--poison={poison}")
        cycles.append(int(re.search(r"^cycles +(\d+)", vta("cycles", file, *options), re.M)[1]))
    return loops, cycles


def refused(text, path):
    """a graph without products or sums, of which nothing is for a machine"""
    (path / "m.dnn").write_text(text)
    done = dnncc.run([dnncc.DNNCC, path / "m.dnn", "--target=vta", "--emit=loops", "-o", path / "m.loops"])
    assert done.returncode == dnncc.UNSUPPORTED and "nothing of the model is for machine vta" in done.stderr, done.stderr


def kernels(loops):
    """names of what stays in C with sums in it: contractions and windows"""
    return re.findall(r'^kernel @\w+\(.*;.*(?:convolve|dot|reduce)', loops, re.M)


# ---- trick by trick ----

def residual(g):
    x = g.convolve(g.input, 32, (1, 1))
    return g.add(g.convolve(x, 32, (3, 3), pads=(1, 1, 1, 1), sums=True), g.scaled(x), 99)


def pool_alone(g):
    """what it reads has another reader, so that it cannot be part of the convolution in front"""
    x = g.convolve(g.input, 16, (1, 1))
    return g.add(g.convolve(g.largest(x, 3, 1, 1), 16, (1, 1), sums=True), x, 50)


def two_residuals(g):
    x = g.convolve(g.input, 32, (3, 3), pads=(1, 1, 1, 1), zero=-128)
    y = g.add(g.convolve(x, 32, (1, 1), sums=True), x, 64)
    return g.add(g.convolve(y, 32, (3, 3), pads=(1, 1, 1, 1), sums=True), y, -128 // 2)


TRICKS = {
    "bias": ((1, 32, 9, 7), lambda g: g.convolve(g.input, 32, (3, 3), bias=200000)),
    "large_bias": ((1, 16, 6, 6), lambda g: g.convolve(g.input, 32, (3, 3), bias=450000)),
    "depthwise": ((1, 40, 8, 8), lambda g: g.convolve(g.input, 40, (3, 3), (2, 2), (1, 1, 1, 1), groups=40, zero=9)),
    "residual": ((1, 32, 7, 7), residual),
    "two_residuals": ((1, 16, 6, 6), two_residuals),
    "pool_behind": ((1, 16, 14, 14), lambda g: g.largest(g.convolve(g.input, 32, (3, 3), pads=(1, 1, 1, 1)), 3, 2, 1)),
    "pool_alone": ((1, 20, 9, 9), pool_alone),
    "pool_of_one_step": ((1, 16, 7, 9), lambda g: g.largest(g.convolve(g.input, 16, (1, 1)), 3, 1, 1)),
    "average": ((1, 32, 7, 7), lambda g: g.average(g.input, -128)),
    "windows": ((1, 16, 8, 8), lambda g: g.average(g.convolve(g.input, 16, (1, 1)), 4, 2, 2)),
    "dense": ((1, 16, 4, 4), lambda g: g.dense(g.average(g.convolve(g.input, 48, (1, 1))), 33)),
    "rows": ((5, 32), lambda g: g.dense(g.input, 40)),
    "few_positions": ((1, 32, 4, 4), lambda g: g.convolve(g.input, 48, (3, 3), shift=[11, 9, 12], bias=700)),
    "space_to_depth": ((1, 3, 23, 21), lambda g: g.convolve(g.input, 16, (7, 7), (2, 2), (3, 3, 3, 3), zero=-1)),
    "rows_as_channels": ((1, 3, 10, 10), lambda g: g.convolve(g.input, 16, (3, 3), pads=(1, 1, 1, 1), zero=6)),
    "elements": ((1, 32, 5, 5), lambda g: g.convolve(g.scaled(g.convolve(g.input, 32, (1, 1)), -70), 16, (1, 1))),
    "shifts": ((1, 16, 5, 5), lambda g: g.convolve(g.input, 56, (1, 1), shift=[10, 12, 9, 20])),
}


@pytest.mark.parametrize("name", TRICKS)
def test_trick(name, tmp_path):
    shape, build = TRICKS[name]
    g = Graph(shape)
    y = build(g)
    loops, cycles = compiled(g.text(y), tmp_path)
    assert not kernels(loops), name
    assert len(cycles) == 1, loops          # one launch, whatever stands before and behind it


def test_pool_needs_no_memory_of_its_own(tmp_path):
    """the sums that a pool reads are not stored"""
    g = Graph((1, 16, 14, 14))
    loops, _ = compiled(g.text(g.largest(g.convolve(g.input, 16, (3, 3)), 2, 2, 0)), tmp_path)
    assert len(re.findall("^stream ", loops, re.M)) == 1 and "joined" not in loops


def test_bias_costs_a_cycle(tmp_path):
    """numbers that products cannot make are added by operations, which take two"""
    cycles = []
    for most in (200000, 9000000):
        g = Graph((1, 16, 24, 24))
        cycles += compiled(g.text(g.convolve(g.input, 64, (1, 1), bias=most, shift=12)), tmp_path, check=False)[1]
    assert cycles[0] < cycles[1]


# ---- random graphs, sizes ----

@pytest.mark.parametrize("seed", (0, 1, 2, 143))     # 143: a layer of one tile, alone in its launch
def test_random(seed, tmp_path):
    compiled(random_graph(seed), tmp_path, SIZES[seed % 3])


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_random_many(block, tmp_path):
    for seed in range(100 + 25 * block, 125 + 25 * block):
        folder = tmp_path / str(seed)
        folder.mkdir()
        text = random_graph(seed)
        try:
            if re.search(r"convolve|dot|kind=sum|= reduce\(", text):
                compiled(text, folder, SIZES[seed % 3], check=seed % 5 == 0)
            else:
                refused(text, folder)
        except AssertionError as e:
            raise AssertionError(f"graph of seed {seed}: {e}") from e


def test_sizes(tmp_path):
    """other machines: the program says which one it is for; a block of channels is as wide as the array"""
    g = Graph((1, 64, 8, 8))
    text = g.text(g.convolve(g.input, 64, (3, 3), pads=(1, 1, 1, 1)))
    steps = {}
    for sizes in ("", "inp=16K,acc=64K,block=32", "inp=16K,acc=64K,wgt=64K,block=8"):
        folder = tmp_path / (sizes.split("=")[-1] or "usual")
        folder.mkdir()
        compiled(text, folder, sizes, check=False)
        said = vta("cycles", folder / "m.vta", *([f"--sizes={sizes}"] if sizes else []))
        steps[sizes] = int(re.search(r"^product +\d+ +(\d+)", said, re.M)[1])
        assert not sizes or f"--sizes={sizes}" in (folder / "m.loops").read_text()
    positions = 8 * 8
    assert [steps[s] - positions * 64 // b for s, b in (("", 16), ("inp=16K,acc=64K,block=32", 32), ("inp=16K,acc=64K,wgt=64K,block=8", 8))] == \
        [positions * 9 * (64 // b) ** 2 for b in (16, 32, 8)]


@pytest.mark.parametrize("options, code, word", [
    (["--target=generic", "--sizes=inp=16K"], 1, "with a machine"), (["--target=vta", "--sizes=inp=3K"], 1, "powers of two"),
    (["--target=vta", "--sizes=imp=4K"], 1, "inp"), (["--target=vta", "--sizes=block_in=32"], 4, "32"),
    (["--target=vta", "--sizes=batch=2"], 4, "2"), (["--target=vta", "--sizes=out=1K"], 1, "OUT")])
def test_wrong_sizes(options, code, word, tmp_path):
    g = Graph((1, 16, 4, 4))
    (tmp_path / "m.dnn").write_text(g.text(g.convolve(g.input, 16, (1, 1))))
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", *options, "--emit=loops", "-o", tmp_path / "m.loops"])
    assert done.returncode == code and word in done.stderr, done.stderr


def test_numbers():
    """the text is what it says: a constant of the graph is its bytes"""
    g = Graph((1, 1, 1, 1))
    name = g.constant(np.array([1, -2]), "i8")
    assert name == "@c0" and g.constants[0].endswith('hex "01fe"')
