# SPDX-License-Identifier: MIT
"""Sums that become bytes by a whole multiplier and a shift: the same byte as by floats, for every sum that there can be."""
import os
import pathlib
import re
import sys
from fractions import Fraction

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import dnncc  # noqa: E402
from test_models import MODELS, bindings  # noqa: E402

F32, I64 = np.float32, np.int64
WITHOUT = "lower,legalize,registers,plan,prune,outline,keep"
WITH = "requantize,dce," + WITHOUT
BOUNDS = {"i8": (-128, 127), "u8": (0, 255)}
NUMPY = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "i32": np.int32}


def literal(numbers, element):
    return f"<{len(numbers)} x {element}> [{', '.join(repr(v) for v in np.asarray(numbers).tolist())}]"


def spread(name, numbers, element, rows):
    """lines that spread numbers over <rows x len>; -> (lines, the value)"""
    return f"  %{name} = broadcast({literal(numbers, element)}) dims=[1] : <{rows} x {len(numbers)} x {element}>\n"


class Formula:
    """saturate(rne(bound(f32(s + bias) * m)) + zero), for each of some channels"""

    def __init__(self, m, zero=0, to="i8", bias=None, low=None, high=None, divisor=None):
        self.m, self.zero, self.to, self.low, self.high, self.divisor = np.asarray(m, F32), zero, to, low, high, divisor
        self.bias = None if bias is None else np.asarray(bias, np.int32)

    def text(self, rows, element):
        n = len(self.m)
        shape = f"{rows} x {n} x"
        body, v = f"  %s = cast(%x) to=i32 : <{shape} i32>\n", "s"
        if self.bias is not None:
            body += spread("b", self.bias, "i32", rows) + f"  %biased = add(%s, %b) : <{shape} i32>\n"
            v = "biased"
        body += f"  %f = cast(%{v}) : <{shape} f32>\n" + spread("m", self.m, "f32", rows) + f"  %p = mul(%f, %m) : <{shape} f32>\n"
        v = "p"
        for op, number in (("max", self.low), ("min", self.high), ("div", self.divisor)):
            if number is not None:
                body += f"  %{op} = {op}(%{v}, {float(F32(number))!r}) : <{shape} f32>\n"
                v = op
        body += f"  %r = round(%{v}) : <{shape} f32>\n  %z = add(%r, {float(self.zero)!r}) : <{shape} f32>\n"
        body += f"  %y = cast(%z) to={self.to} : <{shape} {self.to}>\n"
        if element == "i32":
            body = body.replace(f"  %s = cast(%x) to=i32 : <{shape} i32>\n", "").replace("%s", "%x")
        return f'dnn 1\nmodule "m"\nfunc @main(%x "x": <{shape} {element}>) -> ("y") {{\n{body}  yield(%y)\n}}\n'

    def expected(self, x):
        s = x.astype(I64) + (0 if self.bias is None else self.bias.astype(I64))
        assert np.abs(s).max() <= 2 ** 31
        with np.errstate(under="ignore"):
            real = s.astype(np.int32).astype(F32) * self.m
        real = real if self.low is None else np.maximum(real, F32(self.low))
        real = real if self.high is None else np.minimum(real, F32(self.high))
        real = real if self.divisor is None else real / F32(self.divisor)
        low, high = BOUNDS[self.to]
        return np.clip((np.rint(real) + F32(self.zero)).astype(np.float64), low, high).astype(NUMPY[self.to])


def requantized(text, folder, passes="requantize"):
    (folder / "program.dnn").write_text(text)
    done = dnncc.run([dnncc.DNNCC, folder / "program.dnn", "--emit=ir", f"--passes={passes}", "-o", "-"])
    assert done.returncode == 0, done.stderr
    return done.stdout.count("= requantize(")


def outcome(formula, x, element, folder):
    """-> (is it a requantize, what the program makes of x)"""
    found = requantized(formula.text(len(x), element), folder)
    dnncc.compile_model(folder / "program.dnn", folder, [f"--passes={WITH}"])
    return found, dnncc.run_host(dnncc.build_host(folder, ["-O1"]), [x])[0]


def every(element, channels):
    """all numbers of the type, for each channel"""
    i = np.iinfo(NUMPY[element])
    return np.repeat(np.arange(i.min, i.max + 1).astype(NUMPY[element])[:, None], channels, axis=1)


R = np.random.default_rng(7)
CASES = {
    "any": Formula(10.0 ** R.uniform(-3.5, -1, 48)),
    "u8": Formula(10.0 ** R.uniform(-4, -1, 40), 131, "u8", R.integers(-9000, 9000, 40)),
    "lowest": Formula(R.uniform(0.001, 0.02, 33), -128, "i8", R.integers(-99, 99, 33)),
    "highest": Formula(R.uniform(0.001, 0.02, 33), 255, "u8"),
    "falls": Formula(-R.uniform(0.0005, 0.05, 33), -3, "i8", R.integers(-30000, 30000, 33)),
    "both": Formula(R.choice([-1, 1], 40) * R.uniform(0.0005, 0.05, 40), 100, "u8"),
    "relu6": Formula(R.uniform(0.0005, 0.05, 20), -128, "i8", None, 0, 101.3),
    "divided": Formula(R.uniform(0.0005, 0.05, 20), 5, "i8", R.integers(-500, 500, 20), None, None, 3.7),
    "large": Formula(R.uniform(0.7, 300, 30) + 0.1234567, 12),
    "near_powers": Formula(np.nextafter(F32(2.0) ** np.arange(-13, -2).astype(F32), F32(1))),
    "below_powers": Formula(np.nextafter(F32(2.0) ** np.arange(-13, -2).astype(F32), F32(0)), 3),
    "denormal": Formula([1e-40, 1e-45, 3e-39, 0.0, -0.0, 1e-30, -1e-42], 7),
    "nothing": Formula([0.0], 255, "u8"),
    "far_bias": Formula([0.003, 0.0041], 0, "i8", [2 ** 31 - 1 - 32767, -(2 ** 31) + 32768]),
}


@pytest.mark.parametrize("name", CASES)
def test_every_sum(name, tmp_path):
    """all 65536 sums of each channel"""
    formula, x = CASES[name], every("i16", len(CASES[name].m))
    found, got = outcome(formula, x, "i16", tmp_path)
    np.testing.assert_array_equal(got, formula.expected(x))
    assert found == 1


@pytest.mark.parametrize("zero", [10, 9, -128])
@pytest.mark.parametrize("to", ["i8", "u8"])
def test_halves(to, zero, tmp_path):
    """by powers of two, and quotients of small numbers: halves go to even numbers, of either side of the zero point"""
    formula = Formula([2.0 ** -8, 2.0 ** -5, 3 * 2.0 ** -9, 2.0 ** -12], zero, to)
    x = every("i16", 4)
    found, got = outcome(formula, x, "i16", tmp_path)
    np.testing.assert_array_equal(got, formula.expected(x))
    assert found == 1


def test_far_sums(tmp_path):
    """sums of i32, whose range nothing bounds: around every threshold, at both ends, anywhere"""
    formula = Formula(10.0 ** R.uniform(-3, -2, 12), -7)
    i = np.iinfo(np.int32)
    thresholds = np.rint((np.arange(-140, 140) + 7.5)[:, None] / formula.m.astype(np.float64))
    x = [thresholds + d for d in range(-2, 3)] + [R.integers(i.min, i.max, (4000, 12)), np.full((1, 12), i.min), np.full((1, 12), i.max)]
    x = np.clip(np.concatenate(x), i.min, i.max).astype(np.int32)
    found, got = outcome(formula, x, "i32", tmp_path)
    np.testing.assert_array_equal(got, formula.expected(x))
    assert found == 1


def slopes(t, values):
    """Between which slopes lines lie that are over all of (t, v) and under all of (t - 1, v), one for even v and a parallel one for
    odd v? By what each pair says of the slope, exactly."""
    low, high = Fraction(0), Fraction(10 ** 9)
    for parity in (0, 1):
        points = [(a, v) for a, v in zip(t, values) if v % 2 == parity]
        for a, v in points:             # line(a) >= v and line(b - 1) < w
            for b, w in points:
                run, rise = a - (b - 1), v - w
                if run > 0:
                    low = max(low, Fraction(rise, run))
                elif run < 0:
                    high = min(high, Fraction(rise, run))
    return low, high


def test_decided(tmp_path):
    """a layer stays as it is where no line lies between its steps, and nowhere else"""
    seen = []
    for seed in range(24):
        r = np.random.default_rng(seed)
        formula = Formula([F32(10.0 ** r.uniform(-4.7, -3.3))])
        values = np.arange(-127, 128)
        about = np.rint((values - 0.5) / float(formula.m[0])).astype(I64)
        near = about[:, None] + np.arange(-40, 41)
        reached = formula.expected(near.reshape(-1, 1)).reshape(near.shape) >= values[:, None]
        assert not reached[:, 0].any() and reached[:, -1].all() and (np.diff(reached.astype(int), axis=1) >= 0).all()
        low, high = slopes(near[np.arange(len(values)), reached.argmax(axis=1)].tolist(), values.tolist())
        if low < high and (high - low) * 2 ** 30 < low:         # a multiplier has 31 bits
            continue
        assert requantized(formula.text(4, "i32"), tmp_path) == (low < high), (seed, formula.m)
        seen.append(low < high)
    assert len(seen) > 12 and set(seen) == {False, True}


CONVOLVED = """dnn 1
module "m"
func @main(%x "x": <1 x 2 x 6 x 6 x u8>) -> ("y") {{
  %0 = cast(%x) to=i32 : <1 x 2 x 6 x 6 x i32>
  %1 = sub(%0, 100) : <1 x 2 x 6 x 6 x i32>
  %2 = convolve(%1, {w}) pads=[1, 1, 1, 1] accumulator=i32 : <1 x 3 x 6 x 6 x i32>
  %3 = broadcast(<3 x i32> {bias}) dims=[1] : <1 x 3 x 6 x 6 x i32>
  %4 = add(%2, %3) : <1 x 3 x 6 x 6 x i32>
  %5 = cast(%4) : <1 x 3 x 6 x 6 x f32>
  %6 = mul(%5, 0.0123) : <1 x 3 x 6 x 6 x f32>
  %7 = round(%6) : <1 x 3 x 6 x 6 x f32>
  %8 = add(%7, {zero}) : <1 x 3 x 6 x 6 x f32>
  %9 = cast(%8) to=u8 : <1 x 3 x 6 x 6 x u8>
  yield(%9)
}}
"""


@pytest.mark.parametrize("bias", [[5, -7000, 0], [2 ** 31 - 1, -(2 ** 31), 2 ** 31 - 1 - 18 * 155 * 127]], ids=["near", "wraps"])
def test_convolved(bias, tmp_path):
    """with what is outside of x, and biases with which sums wrap: those keep floats"""
    r = np.random.default_rng(3)
    w = r.integers(-128, 128, 3 * 2 * 9)
    text = CONVOLVED.format(w=f"<3 x 2 x 3 x 3 x i8> [{', '.join(map(str, w))}]", bias=bias, zero="9.0")
    assert requantized(text, tmp_path) == (bias[0] == 5)
    results = []
    for passes in (WITH, WITHOUT):
        dnncc.compile_model(tmp_path / "program.dnn", tmp_path, [f"--passes={passes}"])
        program = dnncc.build_host(tmp_path, ["-O1"])
        results.append([dnncc.run_host(program, [x])[0] for x in
                        (np.full((1, 2, 6, 6), 255, np.uint8), np.zeros((1, 2, 6, 6), np.uint8), r.integers(0, 256, (1, 2, 6, 6)).astype(np.uint8))])
        r = np.random.default_rng(5)
    np.testing.assert_array_equal(results[0][:2], results[1][:2])


def test_hostile_text(tmp_path):
    head = 'dnn 1\nmodule "m"\nfunc @main(%x "x": <4 x i32>, %b "b": <4 x i64>, %c "c": <4 x i16>) -> ("y") {\n'
    for op, message in (("requantize(%x, %x, %b, %x) shift=64 to=i8 : <4 x i8>", "shift is 64, want 1 to 63"),
                        ("requantize(%x, %x, %b, %x) shift=0 to=i8 : <4 x i8>", "shift is 0, want 1 to 63"),
                        ("requantize(%x, %x, %b, %b) to=i8 : <4 x i8>", "operand even is <4 x i64>, want <4 x i32>"),
                        ("requantize(%x, %x, %b, %x) to=f32 : <4 x f32>", "to is f32, want integers of 8 or 16 bits"),
                        ("requantize(%x, %x, %b, %x) to=i64 : <4 x i64>", "to is i64, want integers of 8 or 16 bits"),
                        ("requantize(%x, %b, %b, %x) to=i8 : <4 x i8>", "operand m is <4 x i64>, want <4 x i32>"),
                        ("requantize(%x, %x, %c, %x) to=i8 : <4 x i8>", "operand b is <4 x i16>, want <4 x i64>")):
        (tmp_path / "program.dnn").write_text(f"{head}  %0 = {op}\n  yield(%0)\n}}\n")
        done = dnncc.run([dnncc.DNNCC, tmp_path / "program.dnn", "--emit=ir", "-o", "-"])
        assert done.returncode == dnncc.INVALID and message in done.stderr, (op, done.stderr)


def default_passes():
    line = next(l for l in (dnncc.ROOT / "passes" / "passes.def").read_text().splitlines() if l.startswith("PIPELINE(2, "))
    return line.split('"')[1]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["resnet8_int8", "dscnn_kws_int8", "micro_kws_qdq"])
def test_models(name, tmp_path):
    """the same bytes as by floats, and no more constants than the file and its slack"""
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the models folder is absent")
    r, given = np.random.default_rng(11), dnncc.load_tensor(folder / "test_data_set_0" / "input_0.pb")
    inputs = [given, *(r.permuted(given.reshape(-1)).reshape(given.shape) for _ in range(6))]
    if given.dtype == np.int8:
        inputs += [r.integers(-128, 128, given.shape).astype(np.int8) for _ in range(4)]
    results = {}
    for way, options in (("integers", []), ("floats", [f"--passes={default_passes().replace('requantize,', '')}"])):
        work = tmp_path / way
        work.mkdir()
        done = dnncc.compile_model(folder / "model.onnx", work, [*bindings(folder), "--stats", *options])
        program = dnncc.build_host(work, ["-O2"])
        results[way] = [dnncc.run_host(program, [x])[0] for x in inputs]
        constants = int(re.search(r"constants\s+(\d+)", done.stderr).group(1))
        assert constants <= 1.05 * os.path.getsize(folder / "model.onnx") + 16384
    np.testing.assert_array_equal(results["integers"], results["floats"])
