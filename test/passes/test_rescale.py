# SPDX-License-Identifier: MIT
"""Rescales of sums, products in fixed point that are rounded twice, become integers or floats with the same bytes, for every sum that there can be."""
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

I64 = np.int64
C = "lower,legalize,registers,plan,prune,outline,keep"
BOUNDS = {"i8": (-128, 127), "u8": (0, 255)}


def away(x, bits):
    """x / 2^bits, halves away from 0"""
    half = np.where(bits > 0, I64(1) << np.maximum(bits - 1, 0), 0)
    return np.sign(x) * ((np.abs(x) + half) >> bits)


def scaled(x, m, e, once):
    """gemmlowp's definition, in 64 bits: the high half of the doubled product, halves up, then a division by a power of two, halves away from 0"""
    product = x.astype(I64) * m
    if once:
        return (product + (I64(1) << (30 + e))) >> (31 + e)
    return away((product + (I64(1) << 30)) >> 31, e)


class Rescale:
    def __init__(self, slopes, zero=0, to="i8", bias=None, low=None, high=None, once=0):
        fractions, exponents = np.frexp(np.asarray(slopes, np.float64))
        self.m, self.e = np.rint(fractions * 2.0 ** 31).astype(I64).clip(0, 2 ** 31 - 1), np.clip(-exponents, 0, 31).astype(I64)
        self.zero, self.to, self.bias, self.once = zero, to, bias, once
        least, most = BOUNDS[to]
        self.low, self.high = least if low is None else low, most if high is None else high

    def spread(self, name, numbers, rows):
        numbers = [int(v) for v in numbers]
        return f"  %{name} = broadcast(<{len(numbers)} x i32> {numbers}) dims=[1] : <{rows} x {len(numbers)} x i32>\n"

    def text(self, rows, element):
        shape = f"{rows} x {len(self.m)} x"
        body, v = (f"  %s = cast(%x) to=i32 : <{shape} i32>\n", "s") if element != "i32" else ("", "x")
        if self.bias is not None:
            body += self.spread("b", self.bias, rows) + f"  %t = add(%{v}, %b) : <{shape} i32>\n"
            v = "t"
        body += self.spread("m", self.m, rows) + self.spread("e", self.e, rows)
        body += f"  %y = rescale(%{v}, %m, %e) once={self.once} zero={self.zero} low={self.low} high={self.high} to={self.to} : <{shape} {self.to}>\n"
        return f'dnn 3\nmodule "m"\nfunc @main(%x "x": <{shape} {element}>) -> ("y") {{\n{body}  yield(%y)\n}}\n'

    def expected(self, x):
        x = x.astype(I64) + (0 if self.bias is None else np.asarray(self.bias, I64))
        return np.clip(scaled(x, self.m, self.e, self.once) + self.zero, self.low, self.high).astype({"i8": np.int8, "u8": np.uint8}[self.to])


def every(channels):
    return np.repeat(np.arange(-2 ** 15, 2 ** 15).astype(np.int16)[:, None], channels, axis=1)


R = np.random.default_rng(11)
CASES = {
    "both_signs": Rescale(2.0 ** R.uniform(-9, -6, 12), 5, bias=R.integers(-9000, 9000, 12)),
    "relu": Rescale(2.0 ** R.uniform(-8, -5, 24), -128, bias=R.integers(-900, 900, 24)),
    "relu_in_the_middle": Rescale(2.0 ** R.uniform(-8, -5, 12), -20, low=-20, high=90),
    "u8": Rescale(2.0 ** R.uniform(-8, -5, 12), 131, "u8"),
    "once": Rescale(2.0 ** R.uniform(-9, -6, 12), 5, once=1, bias=R.integers(-9000, 9000, 12)),
    "powers": Rescale(2.0 ** np.arange(-9.0, -1), 0),
    "halves": Rescale([0.5, 0.25, 3 / 4, 3 / 8], 0),
    "tiny": Rescale([0.0, 2.0 ** -25, 2.0 ** -31], 9),
    "one": Rescale([0.0123], -3),
}
# the pass, the target whose costs it asks, what the rescales become
WAYS = {"floats": ("requantize", "x86-64-v4", "round("), "integers": ("requantize", "cortex-m0", "requantize("),
        "words": ("requantize_integer", "cortex-m55", "requantize(")}


def after(text, way, folder):
    passes, target, _ = WAYS[way]
    (folder / "before.dnn").write_text(text)
    done = dnncc.run([dnncc.DNNCC, folder / "before.dnn", f"--passes={passes},dce", f"--target={target}", "--emit=ir", "-o", folder / "after.dnn"])
    assert done.returncode == 0, done.stderr
    return (folder / "after.dnn").read_text()


def interpreted(path, x, folder):
    np.save(folder / "input_0.npy", x)
    done = dnncc.run([dnncc.DNNCC, path, "-O0", "--target=generic", f"--run={folder}"])
    assert done.returncode == 0, done.stderr
    return np.load(folder / "output_0.npy")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_every_sum(name, way, tmp_path):
    """all 65536 sums of each channel, by the interpreter and by C"""
    case, x = CASES[name], every(len(CASES[name].m))
    text = after(case.text(len(x), "i16"), way, tmp_path)
    assert "= rescale(" not in text and f"= {WAYS[way][2]}" in text
    want = case.expected(x)
    np.testing.assert_array_equal(interpreted(tmp_path / "after.dnn", x, tmp_path), want)
    dnncc.compile_model(tmp_path / "after.dnn", tmp_path, [f"--passes={C}", "--target=generic"])
    np.testing.assert_array_equal(dnncc.run_host(dnncc.build_host(tmp_path, ["-O1"]), [x])[0], want)


@pytest.mark.parametrize("once", [0, 1])
@pytest.mark.parametrize("name", ["both_signs", "powers", "tiny", "relu"])
def test_as_it_stands(name, once, tmp_path):
    """the operation itself, at the ends of i32, too"""
    case = Rescale([1], CASES[name].zero, once=once)
    case.m, case.e = CASES[name].m, CASES[name].e
    ends = np.array([-2 ** 31, -2 ** 31 + 1, -1, 0, 1, 2 ** 31 - 1])
    x = np.concatenate([ends[:, None].repeat(len(case.m), 1), R.integers(-2 ** 31, 2 ** 31, (200, len(case.m))), R.integers(-2 ** 12, 2 ** 12, (200, len(case.m)))]).astype(np.int32)
    (tmp_path / "m.dnn").write_text(case.text(len(x), "i32"))
    want = case.expected(x)
    np.testing.assert_array_equal(interpreted(tmp_path / "m.dnn", x, tmp_path), want)
    dnncc.compile_model(tmp_path / "m.dnn", tmp_path, [f"--passes={C}", "--target=generic"])
    np.testing.assert_array_equal(dnncc.run_host(dnncc.build_host(tmp_path, ["-O1"]), [x])[0], want)


@pytest.mark.parametrize("way", WAYS)
def test_any_sum(way, tmp_path):
    """sums of all 32 bits, but a bias that may wrap is added before"""
    case = CASES["both_signs"]
    x = np.concatenate([every(12).astype(np.int32)[::37], R.integers(-2 ** 31 + 9000, 2 ** 31 - 9000, (500, 12)).astype(np.int32)])
    after(case.text(len(x), "i32"), way, tmp_path)
    np.testing.assert_array_equal(interpreted(tmp_path / "after.dnn", x, tmp_path), case.expected(x))


def test_sums_of_two(tmp_path):
    """residual sums, three rescales of two tensors of bytes, are a polynomial of the two: by floats, and by integers of 32 bits"""
    one = "  %{0}c = cast(%{0}) to=i32 : <65536 x i32>\n  %{0}z = add(%{0}c, {1}) : <65536 x i32>\n  %{0}l = shl(%{0}z, 20) : <65536 x i32>\n" \
          "  %{0}s = rescale(%{0}l, {2}, {3}) low=-2147483648 high=2147483647 to=i32 : <65536 x i32>\n"
    m = [(1073741824, 0), (1623821475, 2)]
    body = one.format("x", 4, *m[0]) + one.format("y", -17, *m[1]) + "  %sum = add(%xs, %ys) : <65536 x i32>\n" \
        "  %out = rescale(%sum, 1234567890, 18) zero=-9 low=-128 high=127 : <65536 x i8>\n"
    text = f'dnn 3\nmodule "m"\nfunc @main(%x "x": <65536 x i8>, %y "y": <65536 x i8>) -> ("z") {{\n{body}  yield(%out)\n}}\n'
    (tmp_path / "before.dnn").write_text(text)
    x, y = (v.ravel().astype(np.int8) for v in np.meshgrid(np.arange(-128, 128), np.arange(-128, 128)))
    parts = [scaled((v.astype(I64) + zero) << 20, *m[k], 0) for k, (v, zero) in enumerate([(x, 4), (y, -17)])]
    want = np.clip(scaled(sum(parts), 1234567890, 18, 0) - 9, -128, 127).astype(np.int8)
    for passes, left in (("simplify", "round("), ("requantize_integer", "shr(")):
        done = dnncc.run([dnncc.DNNCC, tmp_path / "before.dnn", f"--passes={passes},dce", "--emit=ir", "-o", tmp_path / "after.dnn"])
        assert done.returncode == 0, done.stderr
        after_text = (tmp_path / "after.dnn").read_text()
        assert "= rescale(" not in after_text and f"= {left}" in after_text and not re.search(r": <65536 x i64>", after_text)
        np.save(tmp_path / "input_0.npy", x), np.save(tmp_path / "input_1.npy", y)
        done = dnncc.run([dnncc.DNNCC, tmp_path / "after.dnn", "-O0", f"--run={tmp_path}"])
        assert done.returncode == 0, done.stderr
        np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), want)
