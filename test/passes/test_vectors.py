# SPDX-License-Identifier: MIT
"""Loops that become vectors only where they are cut, or where what they store goes lane by lane: random extents, for every target."""
import pathlib
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import dnncc  # noqa: E402


def wrapped(r):
    """rows that begin again where they end: subscripts are remainders"""
    rows, columns = r.randint(1, 3), r.randint(17, 70)
    low, high = r.randint(0, columns), r.randint(0, columns)
    return [f'func @main(%x "x": <{rows} x {columns} x f32>) -> ("y") {{',
            f"  %0 = pad(%x, <f32> 0.0, <2 x i64> [0, {low}]) mode=wrap : <{rows} x {low + columns + high} x f32>"]


def places(r):
    """of the largest of a column, in a type that no target has vectors of"""
    rows, columns, element = r.randint(2, 9), r.randint(1, 70), r.choice(["i64", "u64", "f64"])
    shape, row = f"<{rows} x {columns} x", f"<{columns} x"
    return [f'func @main(%x "x": {shape} f32>) -> ("y") {{', f"  %1 = reduce(%x, <1 x i64> [0]) kind=max : {row} f32>",
            f"  %2 = broadcast(%1) dims=[1] : {shape} f32>", f"  %3 = eq(%x, %2) : {shape} bool>", f"  %4 = iota() axis=0 : {shape} i32>",
            f"  %5 = select(%3, %4, {shape} i32> {rows}) : {shape} i32>", f"  %6 = reduce(%5, <1 x i64> [0]) kind=min : {row} i32>",
            f"  %0 = cast(%6) to={element} : {row} {element}>"]


def windows(r):
    """whose lanes begin and end apart at the borders, in few rounds or in more"""
    rows, columns = r.randint(1, 9), r.randint(8, 70)
    kernel, strides = [r.randint(1, 7), r.randint(1, 7)], [r.randint(1, 2), r.choice([1, 1, 1, 2, 3])]
    pads = [r.randint(0, k - 1) for k in kernel * 2]
    extents = [(x + pads[d] + pads[d + 2] - kernel[d]) // strides[d] + 1 for d, x in enumerate((rows, columns))]
    if min(extents) < 1:
        return windows(r)
    return [f'func @main(%x "x": <{rows} x {columns} x f32>) -> ("y") {{',
            f"  %0 = reduce_window(%x) kind={r.choice(['max', 'min'])} window={kernel} strides={strides} pads={pads} : "
            f"<{extents[0]} x {extents[1]} x f32>"]


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4", "sapphirerapids"])
@pytest.mark.parametrize("program", [wrapped, places, windows])
def test_vectors(program, target, tmp_path):
    done_as_vectors = 0
    for seed in range(20):
        path = tmp_path / f"{seed}.dnn"
        text = "\n".join(["dnn 1", 'module "m"', *program(random.Random(seed)), "  yield(%0)", "}", ""])
        path.write_text(text)
        done = dnncc.run([dnncc.DNNCC, path, f"--target={target}", "--emit=loops", "-o", "-", "--check",
                          "--passes=fuse,lower,vectorize,legalize,plan,prune"], cwd=tmp_path)
        assert done.returncode == 0, (seed, done.stderr, text)
        checks = dnncc.checks(done)
        assert checks and all(line.endswith(": equal") for line in checks), (seed, checks)
        done_as_vectors += "<4>" in done.stdout or "<8>" in done.stdout or "<16>" in done.stdout
    assert done_as_vectors > 5, done_as_vectors
