# SPDX-License-Identifier: MIT
"""Networks of 8 bits: tensors between kernels are of 8 bits, contractions of integers run as such of floats where these are exact, and
results are those of the program as it stands, to the bit, on any target, with any number of threads. All numbers are small and whole, or
such by a power of two, so that sums of floats are exact in every order."""
import json
import pathlib
import random
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_schedule import BYTES, TARGETS  # noqa: E402
from test_strips import BACKWARDS  # noqa: E402


EXACT = ["--limit", "winograd_percent=0"]       # its sums are not


class Program:
    """a chain of quantized layers, as text"""

    def __init__(self, seed):
        self.random, self.lines, self.numbers = random.Random(seed), [], np.random.default_rng(seed)
        self.count = 0

    def add(self, text, dims, element):
        self.lines.append(f"%{self.count} = {text} : <{' x '.join(map(str, [*dims, element]))}>")
        self.count += 1
        return f"%{self.count - 1}"

    def weights(self, dims, element, scale=1):
        values = self.numbers.integers(-9, 10, dims).ravel() * scale
        return f"<{' x '.join(map(str, [*dims, element]))}> [{', '.join(repr(v) for v in values.tolist())}]"

    def layer(self, x, dims):
        """x, of i8, decoded, convolved, and encoded again; perhaps a second reader of what was decoded"""
        r = self.random
        images, channels, rows, columns = dims
        integers, depthwise, window = r.random() < .5, r.random() < .4, r.choice([1, 3, 3, 5])
        stride, pad, zero = r.choice([1, 1, 2]), window // 2 if min(rows, columns) < 9 else r.choice([0, window // 2]), r.randint(-20, 20)
        outputs = channels if depthwise else r.choice([3, 12, 16, 20, 40])
        y = [images, outputs, (rows + 2 * pad - window) // stride + 1, (columns + 2 * pad - window) // stride + 1]
        attributes = f"strides=[{stride}, {stride}] pads=[{pad}, {pad}, {pad}, {pad}] groups={channels if depthwise else 1}"
        w = [outputs, 1 if depthwise else channels, window, window]
        if integers:
            a = self.add(f"cast({x}) to=i16", dims, "i16")
            a = self.add(f"sub({a}, {zero})", dims, "i16")
            v = self.add(f"convolve({a}, {self.weights(w, 'i16')}) {attributes} accumulator=i32", y, "i32")
            v = self.add(f"cast({v})", y, "f32")
            v = self.add(f"mul({v}, 0.0078125)", y, "f32")
        else:
            a = self.add(f"cast({x}) to=i32", dims, "i32")
            a = self.add(f"sub({a}, {zero})", dims, "i32")
            a = self.add(f"cast({a})", dims, "f32")
            a = self.add(f"mul({a}, 0.25)", dims, "f32")
            v = self.add(f"convolve({a}, {self.weights(w, 'f32', .03125)}) {attributes}", y, "f32")
            if y == dims and r.random() < .5:
                v = self.add(f"add({v}, {a})", y, "f32")
        v = self.add(f"round({v})", y, "f32")
        v = self.add(f"add({v}, {r.randint(-9, 9)}.0)", y, "f32")
        return self.add(f"cast({v}) to=i8", y, "i8"), y

    def text(self, layers):
        dims = [self.random.choice([1, 1, 2]), self.random.choice([1, 3, 12, 16, 20, 40]), self.random.randint(14, 24), self.random.randint(14, 24)]
        x, at, least = "%x", dims, dims
        for _ in range(layers):
            x, at = self.layer(x, at)
        argument = f'%x "x": <{" x ".join(map(str, [*least, "i8"]))}>'
        body = "\n".join("  " + line for line in self.lines)
        return f'dnn 1\nmodule "m"\nfunc @main({argument}) -> ("y") {{\n{body}\n  yield({x})\n}}\n', self.numbers.integers(-128, 128, least, dtype=np.int8)


def run(path, folder, options, x):
    folder.mkdir()
    dnncc.compile_model(path, folder, [*options, f"--report={folder / 'report.json'}"])
    if "--threads=3" in options:
        with open(folder / "model.c", "a") as file:
            file.write(BACKWARDS)
    return dnncc.run_host(dnncc.build_host(folder, ["-O1"]), [x])[0], json.loads((folder / "report.json").read_text())


def widest_made(report):
    """bytes of an element of the widest tensor that a contraction makes"""
    made = [name for call in report["calls"] if call["summary"].startswith("convolve")
            for name, access in zip(call["buffers"], call["access"]) if access == "out"]
    return max(b["bytes"] // b["elements"] for b in report["buffers"] if b["name"] in made)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.slow
@pytest.mark.sample(4)
def test_same_bits(seed, tmp_path):
    text, x = Program(seed).text(3)
    (tmp_path / "program.dnn").write_text(text)
    expected, _ = run(tmp_path / "program.dnn", tmp_path / "plain", ["-O0"], x)
    assert len(np.unique(expected)) > 2
    for target in TARGETS:
        for threads in (1, 3):
            if not processor.here(target):
                continue
            result, report = run(tmp_path / "program.dnn", tmp_path / f"{target}{threads}", [f"--target={target}", f"--threads={threads}", *EXACT], x)
            np.testing.assert_array_equal(result, expected, err_msg=f"{target}, {threads} threads")
            assert widest_made(report) == 1, (target, threads)


@pytest.mark.parametrize("element, low", [("i8", -128), ("u8", 0), ("i16", -128), ("u32", 0)])
def test_sums_wrap(element, low, tmp_path):
    """a sum of a narrow type wraps, also where floats compute it"""
    r = np.random.default_rng(low + 130)
    x = r.integers(low, 100, (1, 16, 5, 6)).astype({"i8": np.int8, "u8": np.uint8, "i16": np.int16, "u32": np.uint32}[element])
    w = f"<8 x 16 x 3 x 3 x {element}> [{', '.join(map(str, r.integers(0 if low == 0 else -9, 10, 8 * 16 * 9)))}]"
    text = f'dnn 1\nmodule "m"\nfunc @main(%x "x": <1 x 16 x 5 x 6 x {element}>) -> ("y") {{\n  %0 = min(%x, 99) : <1 x 16 x 5 x 6 x {element}>\n' \
           f"  %1 = convolve(%0, {w}) : <1 x 8 x 3 x 4 x {element}>\n  yield(%1)\n}}\n"
    (tmp_path / "program.dnn").write_text(text)
    expected, _ = run(tmp_path / "program.dnn", tmp_path / "plain", ["-O0"], x)
    for target in processor.these(TARGETS):
        result, _ = run(tmp_path / "program.dnn", tmp_path / target, [f"--target={target}"], x)
        np.testing.assert_array_equal(result, expected, err_msg=target)


def product(r, numbers):
    """rows of 8 bits by constant weights of 8 bits, zero points of one kind or the other, quantized again or not; the program and its
    operands"""
    rows, inner, outputs = r.choice([1, 3, 16, 37]), r.choice([3, 16, 64, 100, 200]), r.choice([5, 16, 33, 70])
    (a, least), (b, low) = r.choice([("i8", -128), ("u8", 0)]), r.choice([("i8", -128), ("u8", 0)])
    x, w, y = f"{rows} x {inner}", f"{inner} x {outputs}", f"{rows} x {outputs}"
    weights = numbers.integers(low, low + 256, (inner, outputs)).ravel().tolist()
    inputs, lines = [f'%x "x": <{x} x {a}>'], [f"%a = cast(%x) to=i32 : <{x} x i32>"]
    values = [numbers.integers(least, least + 256, (rows, inner), {"i8": np.int8, "u8": np.uint8}[a])]
    zero = r.choice(["none", "number", "run"])
    if zero == "run":
        inputs.append(f'%z "z": <{a}>')
        values.append(np.array(least + 77, values[0].dtype))
        lines += [f"%s = broadcast(%z) dims=[] : <{x} x {a}>", f"%t = cast(%s) to=i32 : <{x} x i32>"]
    c = {"none": "%x", "number": "%c", "run": "%c"}[zero]
    if zero != "none":
        lines.append(f"%c = sub(%a, {'%t' if zero == 'run' else r.randint(-99, 99)}) : <{x} x i32>")
    lines += [f"%w = cast(<{w} x {b}> {weights}) to=i32 : <{w} x i32>", f"%d = sub(%w, {r.choice([0, 0, low + 128, low + 121])}) : <{w} x i32>"]
    if r.random() < .5:
        lines += [f"%f = cast({c}) : <{x} x f32>", f"%g = mul(%f, 0.25) : <{x} x f32>", f"%h = cast(%d) : <{w} x f32>",
                  f"%o = dot(%g, %h) contract_a=[1] contract_b=[0] : <{y} x f32>", f"%p = mul(%o, 0.00048828125) : <{y} x f32>",
                  f"%r = round(%p) : <{y} x f32>", f"%y = cast(%r) to=i8 : <{y} x i8>"]
    else:
        lines.append(f"%y = dot({c}, %d) contract_a=[1] contract_b=[0] accumulator=i32 : <{y} x i32>")
    body = "\n".join("  " + line for line in lines)
    return f'dnn 1\nmodule "m"\nfunc @main({", ".join(inputs)}) -> ("y") {{\n{body}\n  yield(%y)\n}}\n', values


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.sample(4)
def test_products(seed, tmp_path):
    """the sums are exact in i32, whatever multiplies; in tiles, bytes are read"""
    text, values = product(random.Random(seed), np.random.default_rng(seed))
    (tmp_path / "program.dnn").write_text(text)
    expected = None
    for target, options in [("generic", ["-O0"]), *((t, []) for t in processor.these(["generic", *TARGETS, "sapphirerapids"]))]:
        folder = tmp_path / f"{target}{len(options)}"
        folder.mkdir()
        dnncc.compile_model(tmp_path / "program.dnn", folder, [f"--target={target}", f"--report={folder / 'report.json'}", *options])
        result = dnncc.run_host(dnncc.build_host(folder, ["-O1"]), values)[0]
        expected = result if expected is None else expected
        np.testing.assert_array_equal(result, expected, err_msg=f"{target}\n{text}")
        calls = json.loads((folder / "report.json").read_text())["calls"]
        read = [re.match(r"convolve_packed <[^>]* ([iuf]\d+)> by", call["summary"]) for call in calls]
        if target == "sapphirerapids" and any(read) and "accumulator=i32" in text:
            assert [r[1] for r in read if r][0] in ("i8", "u8"), text
    assert len(np.unique(expected)) > 2


EXTREMES = [(1, 5, 1), (3, 16, 3), (4, 24, 1), (17, 33, 3), (64, 20, 3), (258, 8, 1)]        # channels, outputs, window


@pytest.mark.sample(3)
@pytest.mark.parametrize("channels, outputs, window", EXTREMES)
def test_largest_sums(channels, outputs, window, tmp_path):
    """The largest bytes by the largest weights of either sign, side by side in a word: none is cut off on its way to 32 bits, nor what lies
    behind the last channel or output counted."""
    r = np.random.default_rng(channels)
    x = r.choice([0, 255], (1, channels, 6, 7), p=[.1, .9]).astype(np.uint8)
    w = r.choice([-128, -127, 127], (outputs, channels, window, window)).astype(np.int8)
    w[0], w[1], w[2, ::2], w[2, 1::2] = 127, -128, 127, -128
    x[0, :, :window, :window] = 255
    rows, columns = 7 - window, 8 - window
    views = np.lib.stride_tricks.sliding_window_view(x[0].astype(np.int64), (window, window), (1, 2))
    expected = np.einsum("cyxij,ocij->oyx", views, w.astype(np.int64))[None]
    text = f'dnn 1\nmodule "m"\nfunc @main(%x "x": <1 x {channels} x 6 x 7 x u8>) -> ("y") {{\n' \
           f"  %y = convolve(%x, <{outputs} x {channels} x {window} x {window} x i8> {w.ravel().tolist()}) accumulator=i32 : " \
           f"<1 x {outputs} x {rows} x {columns} x i32>\n  yield(%y)\n}}\n"
    (tmp_path / "program.dnn").write_text(text)
    read = {}
    for target in processor.these(["generic", *BYTES]):
        result, report = run(tmp_path / "program.dnn", tmp_path / target, [f"--target={target}"], x)
        np.testing.assert_array_equal(result.astype(np.int64), expected, err_msg=target)
        read[target] = {m[1] for call in report["calls"] if (m := re.search(r"convolve_packed <[^>]* ([iuf]\d+)> by", call["summary"]))}
    assert abs(expected).max() == 255 * 128 * channels * window * window
    for target in ("x86-64-v3", "x86-64-v4"):     # whose multiply takes pairs of 16 bits: widened once, before they are read again and again
        assert channels < 16 or read.get(target, {"i16"}) == {"i16"}, read
