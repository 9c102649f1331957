# SPDX-License-Identifier: MIT
"""Kernels that are equal but for scalar constants are one; the bytes are those of kernels of their own."""
import json
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_schedule import TARGETS  # noqa: E402
from test_strips import BACKWARDS  # noqa: E402

LAYERS = 5
KINDS = {"convolve": ("<24 x 24 x 1 x 1 x f32>", 'strides=[1, 1] pads=[0, 0, 0, 0] groups=1'),
         "depthwise": ("<24 x 1 x 3 x 3 x f32>", 'strides=[1, 1] pads=[1, 1, 1, 1] groups=24')}


def network(kind):
    """layers that decode bytes, convolve, and encode with scales and zero points of their own; as text, and its input"""
    numbers, lines, dims = np.random.default_rng(3), [], "1 x 24 x 9 x 10"
    w_type, attributes = KINDS[kind]
    x, shape = "%x", [int(n) for n in re.findall(r"\d+(?= x)", w_type)]

    def add(text, element):
        lines.append(f"  %{len(lines)} = {text} : <{dims} x {element}>")
        return f"%{len(lines) - 1}"

    zero, scale = 3, 0.02
    for k in range(LAYERS):
        w = ", ".join(map(str, numbers.integers(-100, 100, np.prod(shape)).astype(float)))
        a = add(f"cast({x}) to=i32", "i32")
        a = add(f"sub({a}, {zero})", "i32")
        a = add(f"cast({a}) to=f32", "f32")
        a = add(f"mul({a}, {np.float32(scale)})", "f32")
        a = add(f"convolve({a}, {w_type} [{w}]) {attributes}", "f32")
        zero, scale = -7 - 5 * k, 0.031 + 0.01 * k
        a = add(f"div({a}, {np.float32(scale * 80)})", "f32")
        a = add(f"round({a})", "f32")
        a = add(f"add({a}, {float(zero)})", "f32")
        a = add(f"max({a}, -128.0)", "f32")
        a = add(f"min({a}, 127.0)", "f32")
        x = add(f"cast({a}) to=i8", "i8")
    body = "\n".join(lines)
    return (f'dnn 1\nmodule "m"\nfunc @main(%x "x": <{dims} x i8>) -> ("y") {{\n{body}\n  yield({x})\n}}\n',
            numbers.integers(-128, 128, (1, 24, 9, 10), dtype=np.int8))


def build(path, folder, options, inputs, target="generic"):
    """(kernels, outputs or None where the target is not here)"""
    folder.mkdir()
    dnncc.compile_model(path, folder, [*options, f"--target={target}", f"--report={folder / 'report.json'}"])
    if "--threads=3" in options:
        with open(folder / "model.c", "a") as file:
            file.write(BACKWARDS)
    kernels = json.loads((folder / "report.json").read_text())["kernels"]
    return kernels, dnncc.run_host(dnncc.build_host(folder, ["-O1"]), inputs) if processor.here(target) else None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target, threads", [*((t, 1) for t in TARGETS), (TARGETS[-1], 3)])
@pytest.mark.sample(8)
def test_layers(target, threads, kind, tmp_path):
    """those between the first and the last, which may be of other layouts, are one"""
    text, x = network(kind)
    (tmp_path / "m.dnn").write_text(text)
    loops = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "--emit=loops", "-o", "-"]).stdout
    passes = re.search('passes "([^"]*)"', loops).group(1)
    assert ",merge," in passes
    options = [f"--threads={threads}"]
    merged, found = build(tmp_path / "m.dnn", tmp_path / "merged", options, [x], target)
    apart, wanted = build(tmp_path / "m.dnn", tmp_path / "apart", [*options, f"--passes={passes.replace(',merge,', ',')}"], [x], target)
    assert merged <= apart - (LAYERS - 3), (merged, apart)
    if wanted:
        assert len(np.unique(wanted[0])) > 20
        np.testing.assert_array_equal(found[0], wanted[0])


VALUES = {"f32": (["nan", "-inf", "-0.0", "1e-45", "0.1"], np.float32), "f64": (["nan", "inf", "-0.0", "5e-324", "0.1"], np.float64),
          "i32": (["-2147483648", "2147483647", "-1"], np.int32), "u32": (["4294967295", "0"], np.uint32),
          "i64": (["-9223372036854775808", "9223372036854775807"], np.int64), "u64": (["18446744073709551615", "0"], np.uint64)}


def test_values(tmp_path):
    """arguments of every type, at its ends"""
    buffers, kernels, calls, wanted = [], [], [], []
    for e, (values, numpy) in VALUES.items():
        for k, value in enumerate(values):
            buffers.append(f'buffer @{e}_{k}_out : {e}[3] output "{e}{k}" shape <3>\n')
            kernels.append(f"kernel @{e}_{k}(%y: out {e}[3]) {{\n  for %i = 0 to 3 {{\n    store %y[%i] = {value}\n  }}\n}}\n")
            calls.append(f"  call @{e}_{k}(@{e}_{k}_out)\n")
            wanted.append(np.full(3, float(value) if e[0] == "f" else int(value)).astype(numpy))
    path = tmp_path / "m.loops"
    path.write_text(f'loop 1\nprogram "m" source ""\n{"".join(buffers)}{"".join(kernels)}main {{\n{"".join(calls)}}}\n')
    kernels, found = build(path, tmp_path / "c", ["--passes=merge,legalize,plan,prune"], [])
    assert kernels == len(VALUES)
    for a, b in zip(found, wanted, strict=True):
        assert a.tobytes() == b.tobytes(), (a, b)
    done = dnncc.run([dnncc.DNNCC, path, "--check", "--passes=merge,legalize,plan,prune", "--emit=loops", "-o", "-"])
    assert done.returncode == 0 and "check: merge: equal" in done.stderr, done.stderr


def test_dump_goes_on(tmp_path):
    """the C of a dump made behind merge is that of the whole"""
    text, _ = network("convolve")
    (tmp_path / "m.dnn").write_text(text)
    whole, dumped = tmp_path / "whole", tmp_path / "dumped"
    for folder in (whole, dumped):
        folder.mkdir()
    dnncc.compile_model(tmp_path / "m.dnn", whole, ["--target=x86-64-v4"])
    passes = re.search('passes "([^"]*)"', dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "--emit=loops", "-o", "-"]).stdout).group(1)
    before = passes[:passes.index(",merge") + len(",merge")]
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "--target=x86-64-v4", f"--passes={before}", "--emit=loops", "-o", tmp_path / "m.loops"])
    assert done.returncode == 0, done.stderr
    again = dnncc.run([dnncc.DNNCC, tmp_path / "m.loops", "--target=x86-64-v4", f"--passes={passes[len(before) + 1:]}", "--emit=loops", "-o", "-"])
    straight = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "--target=x86-64-v4", "--emit=loops", "-o", "-"])
    kernels = [[line for line in text.stdout.splitlines() if not line.startswith(("program", "loop", "buffer"))] for text in (again, straight)]
    assert kernels[0] == kernels[1] and len(kernels[0]) > 40
