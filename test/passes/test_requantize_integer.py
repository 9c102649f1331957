# SPDX-License-Identifier: MIT
"""--requantize=integer: quantized layers by integers alone, against references in Python's own integers."""
import pathlib
import re
import shutil
import sys

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "operators"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_models import MODELS, bindings  # noqa: E402
from test_quantized_rule import TARGETS, Graph  # noqa: E402
from test_requantize import NUMPY, WITHOUT, Formula  # noqa: E402

LEAST, LARGEST = -2 ** 31, 2 ** 31 - 1
INTEGER = "--requantize=integer"


# ---- the rule of TensorFlow Lite, in unbounded integers ----

def doubling_high(a, b):
    """SaturatingRoundingDoublingHighMul of gemmlowp"""
    if a == b == LEAST:
        return LARGEST
    product = a * b
    nudged = product + (1 << 30 if product >= 0 else 1 - (1 << 30))
    return abs(nudged) // 2 ** 31 * (1 if nudged >= 0 else -1)           # C's division


def rounding_shift(x, exponent):
    """RoundingDivideByPOT"""
    mask = (1 << exponent) - 1
    return (x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0))


def by_quantized_multiplier(x, q, shift):
    """MultiplyByQuantizedMultiplier"""
    x = (x << max(shift, 0)) + 2 ** 31
    return rounding_shift(doubling_high(x % 2 ** 32 - 2 ** 31, q), max(-shift, 0))


def quantize_multiplier(m):
    """QuantizeMultiplier: m is q * 2^(shift - 31)"""
    if m == 0:
        return 0, 0
    q, shift = np.frexp(m)
    q, shift = int(np.floor(q * 2 ** 31 + 0.5)), int(shift)
    if q == 2 ** 31:
        q, shift = q // 2, shift + 1
    return (0, 0) if shift < -31 else (q, shift)


def compiled(text, folder, options):
    (folder / "program.dnn").write_text(text)
    done = dnncc.compile_model(folder / "program.dnn", folder, options)
    return dnncc.build_host(folder, ["-O1"]), done.stderr


def halves_of(formula, r, rows):
    """sums around those where the byte changes, and others"""
    n = len(formula.m)
    near = np.rint((r.integers(-140, 140, (rows, n)) + 0.5) / formula.m) - formula.bias
    x = np.concatenate([r.integers(-(2 ** 30), 2 ** 30, (300, n)), *(near + d for d in (-1, 0, 1))]).astype(np.int64)
    return np.clip(x, -(2 ** 30), 2 ** 30).astype(np.int32)


@pytest.mark.parametrize("where", ["anywhere", "near halves"])
@pytest.mark.parametrize("to, zero", [("i8", -5), ("u8", 255)])
def test_nearest(to, zero, where, tmp_path):
    """no multiplier of its own for sums of so many values: the one that is wrong for fewest of them, by one. Sums anywhere are hardly ever
    wrong, and hundreds of times less often than by TensorFlow Lite's rule, which rounds twice; near halves f32 itself is in doubt"""
    r = np.random.default_rng(zero + 300)
    m = (10.0 ** (r.uniform(-4, -2.5, 24) if where == "anywhere" else r.uniform(-6, -2, 24))).astype(np.float32)
    formula = Formula(m, zero, to, r.integers(-10 ** 6, 10 ** 6, 24))
    x = halves_of(formula, r, 3000) if where != "anywhere" else np.rint(r.uniform(-120, 120, (4000, 24)) / m - formula.bias).astype(np.int32)
    text = formula.text(len(x), "i32")
    (tmp_path / "p.dnn").write_text(text)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "p.dnn", "--emit=ir", "--passes=requantize_integer", "-o", "-"])
    assert done.stdout.count("requantize(") == 1 and "x f32>" not in done.stdout and not done.stderr, done.stderr
    program, _ = compiled(text, tmp_path, [f"--passes=requantize_integer,{WITHOUT}"])
    want = formula.expected(x).astype(int)
    got = dnncc.run_host(program, [x])[0].astype(int)
    low, high = np.iinfo(NUMPY[to]).min, np.iinfo(NUMPY[to]).max
    q = [quantize_multiplier(float(v)) for v in m]
    lite = np.array([[min(max(by_quantized_multiplier(int(s) + int(b), *p) + zero, low), high) for s, b, p in zip(row, formula.bias, q)] for row in x])
    wrong, by_lite = (got != want).sum(), (lite != want).sum()
    assert np.abs(got - want).max() <= 1 and wrong * (50 if where == "anywhere" else 1) < by_lite, (wrong, by_lite)


@pytest.mark.parametrize("m, zero", [(1 / 64, -128), (-1 / 64, 7), (1e-12, 3), (1e7, 0), (3e-6, -1)])
def test_odd_multipliers(m, zero, tmp_path):
    """exact halves, falling, hardly any and nearly all: never off by more than one, and equal where a sum is no half"""
    r = np.random.default_rng(11)
    formula = Formula([m], zero, "i8", [5])
    x = np.concatenate([halves_of(formula, r, 2000), np.arange(-20000, 20000)[:, None]]).astype(np.int32)
    program, stderr = compiled(formula.text(len(x), "i32"), tmp_path, [f"--passes=requantize_integer,{WITHOUT}"])
    assert not stderr
    off = np.abs(dnncc.run_host(program, [x])[0].astype(int) - formula.expected(x).astype(int))
    exact = (x.astype(np.int64) + 5) * float(np.float32(m))
    half = np.abs(np.abs(exact - np.rint(exact)) - 0.5) < 2.0 ** -15
    assert off.max() <= 1 and not off[~half].any()


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.long] * (seed >= 8)) for seed in range(100)])
@pytest.mark.parametrize("ties", [False, True], ids=["any", "ties"])
@pytest.mark.parametrize("kind", ["qdq", "qoperator"])
@pytest.mark.sample(4)
def test_near_the_rule(kind, ties, seed, tmp_path):
    """random layers: no byte is off by more than one, on any target"""
    graph = Graph(seed + 5000, kind, ties).build(1)
    targets = processor.these(TARGETS)
    onnx.save(graph.model(), tmp_path / "model.onnx")
    for target in ("generic", targets[seed % len(targets)]):
        dnncc.compile_model(tmp_path / "model.onnx", tmp_path, [f"--target={target}", INTEGER])
        outputs = dnncc.run_host(dnncc.build_host(tmp_path, ["-O1"], emulator=processor.emulator(target)), list(graph.given.values()))
        for (name, (want, may)), got in zip(graph.results.items(), outputs):
            assert np.abs(got.astype(int) - want.astype(int)).max(initial=0) <= 1 + may, (target, name)


PAIRS = """dnn 1
module "m"
func @main(%x "x": <65536 x u8>, %y "y": <65536 x i8>) -> ("z") {{
  %0 = cast(%x) : <65536 x f32>
  %1 = mul(%0, {a!r}) : <65536 x f32>
  %2 = cast(%y) : <65536 x f32>
  %3 = sub(%2, -7.0) : <65536 x f32>
  %4 = mul(%3, {b!r}) : <65536 x f32>
  %5 = add(%1, %4) : <65536 x f32>
  %6 = div(%5, {to!r}) : <65536 x f32>
  %7 = round(%6) : <65536 x f32>
  %8 = add(%7, 3.0) : <65536 x f32>
  %9 = cast(%8) to=i8 : <65536 x i8>
  yield(%9)
}}
"""


@pytest.mark.parametrize("a, b, to, sums", [(1621615 / 2**21, 4289131 / 2**21, 1.0, "i32"), (0.0123, 0.0307, 0.0391, "i32"), (0.5, 0.25, 0.75, "i32"), (1.0, 3.1, 0.1, "i32"),
                                            (0.0039, 0.0041, 0.0061, "i32"), (0.5, 0.25, 0.5, "i64")])
def test_sums_of_two(a, b, to, sums, tmp_path):
    """sums of 32 bits, as wide as they may be, give all pairs the byte that floats give; where halves go to even numbers no such sum does"""
    text = PAIRS.format(a=a, b=b, to=to)
    x, y = np.repeat(np.arange(256), 256).astype(np.uint8), np.tile(np.arange(-128, 128), 256).astype(np.int8)
    a, b, to = np.float32(a), np.float32(b), np.float32(to)
    want = np.clip(np.rint((x.astype(np.float32) * a + (y.astype(np.float32) + 7) * b) / to) + 3, -128, 127)
    program, stderr = compiled(text, tmp_path, [INTEGER])
    code = (tmp_path / "model.c").read_text()
    assert not stderr and "float" not in code and ("mul_i64" in code) == (sums == "i64")
    off = np.abs(dnncc.run_host(program, [x, y])[0] - want)
    assert off.max() <= (sums == "i64")


SOFTMAX = """dnn 1
module "m"
func @main(%x "x": <{n} x {k} x i8>) -> ("y") {{
  %0 = cast(%x) to=i32 : <{n} x {k} x i32>
  %1 = sub(%0, 7) : <{n} x {k} x i32>
  %2 = cast(%1) : <{n} x {k} x f32>
  %3 = mul(%2, {step}) : <{n} x {k} x f32>
  %4 = reduce(%3, <1 x i64> 1) kind=max : <{n} x f32>
  %5 = broadcast(%4) dims=[0] : <{n} x {k} x f32>
  %6 = sub(%3, %5) : <{n} x {k} x f32>
  %7 = exp(%6) : <{n} x {k} x f32>
  %8 = reduce(%7, <1 x i64> 1) : <{n} x f32>
  %9 = broadcast(%8) dims=[0] : <{n} x {k} x f32>
  %10 = div(%7, %9) : <{n} x {k} x f32>
  %11 = div(%10, 0.00390625) : <{n} x {k} x f32>
  %12 = round(%11) : <{n} x {k} x f32>
  %13 = add(%12, -128.0) : <{n} x {k} x f32>
  %14 = cast(%13) to=i8 : <{n} x {k} x i8>
  yield(%14)
}}
"""


@pytest.mark.parametrize("k, step", [(1, 0.1), (2, 0.02), (12, 0.17), (300, 0.01), (5000, 0.03)])
def test_softmax(k, step, tmp_path):
    r = np.random.default_rng(k)
    x = r.integers(-128, 128, (40, k)).astype(np.int8)
    x[0], x[1], x[2, 0] = -128, 127, 127
    text = SOFTMAX.format(n=40, k=k, step=step)
    program, stderr = compiled(text, tmp_path, [INTEGER])
    assert "float" not in (tmp_path / "model.c").read_text() and not stderr
    e = np.exp((x.astype(np.float64) - x.max(axis=1, keepdims=True)) * float(np.float32(step)))
    want = np.clip(np.rint(e / e.sum(axis=1, keepdims=True) * 256) - 128, -128, 127)
    off = np.abs(dnncc.run_host(program, [x])[0] - want)
    assert off.max() <= 1 and (off > 0).mean() < 0.01


def soft_float_compiler():
    """of a core without floats: (command, its nm); or a clean skip"""
    for prefix, flags in (("arm-none-eabi-", "-mcpu=cortex-m3 -mthumb"), ("arm-linux-gnueabi-", "-march=armv5te -marm -mfloat-abi=soft")):
        if shutil.which(prefix + "gcc"):
            return [prefix + "gcc", *flags.split(), "-O2", "-std=c99"], prefix + "nm"
    pytest.skip("no compiler for ARM without floats (gcc-arm-none-eabi, or gcc-arm-linux-gnueabi)")
    return None


def float_calls(folder):
    command, nm = soft_float_compiler()
    done = dnncc.run([*command, "-c", folder / "model.c", "-o", folder / "model.o", f"-I{folder}"])
    assert done.returncode == 0, done.stderr
    needed = dnncc.run([nm, "-u", folder / "model.o"]).stdout.split()
    return [name for name in needed if re.match(r"__aeabi_(f|d|c[fd]|[iul]+2[fd])|__\w+[sd]f\d*$", name)]


QUANTIZED = ["resnet8_int8", "dscnn_kws_int8"]


@pytest.mark.parametrize("name", QUANTIZED)
def test_no_floats(name, tmp_path):
    """bytes in, bytes out: not a float is left, and nothing is called that computes with them"""
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the models folder is absent")
    done = dnncc.compile_model(folder / "model.onnx", tmp_path, [*bindings(folder), INTEGER])
    assert not done.stderr and not re.search(r"\b(float|double|f32|f64)\b", (tmp_path / "model.c").read_text())
    assert not float_calls(tmp_path)


@pytest.mark.parametrize("name", QUANTIZED)
def test_floats_are_found(name, tmp_path):
    """the test above can fail: by the model's own floats there are such calls"""
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the models folder is absent")
    dnncc.compile_model(folder / "model.onnx", tmp_path, bindings(folder))
    assert "__aeabi_fmul" in float_calls(tmp_path)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", QUANTIZED)
def test_models(name, tmp_path):
    """what goes into the softmax is that of the model's floats, but for what floats round where an average is a half"""
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the models folder is absent")
    encoded = [node.output[0] for node in onnx.load(folder / "model.onnx").graph.node if node.op_type == "QuantizeLinear"][-2]
    results = []
    for options in ([], [INTEGER]):
        work = tmp_path / str(len(results))
        work.mkdir()
        dnncc.compile_model(folder / "model.onnx", work, [*bindings(folder), f"--keep={encoded}", *options])
        program = dnncc.build_host(work, ["-O2"])
        results.append([dnncc.run_host(program, [dnncc.load_tensor(data / "input_0.pb")])[1] for data in sorted(folder.glob("test_data_set_*"))])
    for floats, integers in zip(*results):
        assert np.abs(floats.astype(int) - integers.astype(int)).max() <= 1


@pytest.mark.parametrize("name", QUANTIZED)
def test_tolerance(name, tmp_path):
    """nine layers on, no byte has drifted: the model's own outputs, within the step that its files allow"""
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the models folder is absent")
    for data in sorted(folder.glob("test_data_set_*")):
        done = dnncc.run([dnncc.DNNCC, folder / "model.onnx", *bindings(folder), INTEGER, f"--test={data}", "-o", tmp_path / "m.c"])
        assert done.returncode == 0, done.stderr


def test_what_stays(tmp_path):
    """named, once, and the code is right all the same"""
    folder = MODELS / "micro_kws_qdq"
    if not folder.is_dir():
        pytest.skip("the models folder is absent")
    done = dnncc.compile_model(folder / "model.onnx", tmp_path, [*bindings(folder), INTEGER])
    line = [l for l in done.stderr.splitlines() if "requantize_integer" in l]
    assert len(line) == 1 and "stay in floats: " in line[0], done.stderr
    program = dnncc.build_host(tmp_path, ["-O2"])
    for data in sorted(folder.glob("test_data_set_*")):
        want = dnncc.load_tensor(data / "output_0.pb")
        assert np.abs(dnncc.run_host(program, [dnncc.load_tensor(data / "input_0.pb")])[0] - want).max() < 0.05


def test_refused(tmp_path):
    (tmp_path / "p.dnn").write_text(Formula([0.1]).text(4, "i16"))
    done = dnncc.run([dnncc.DNNCC, tmp_path / "p.dnn", INTEGER, "--exact", "-o", tmp_path / "p.c"])
    assert done.returncode == dnncc.USAGE and "approximates: not with --exact" in done.stderr and not (tmp_path / "p.c").exists()
    done = dnncc.run([dnncc.DNNCC, tmp_path / "p.dnn", INTEGER, "--emit=onnx", "-o", tmp_path / "p.onnx"])
    assert done.returncode == dnncc.USAGE and "not with --emit=onnx" in done.stderr
    done = dnncc.run([dnncc.DNNCC, tmp_path / "p.dnn", "--requantize=bytes", "-o", tmp_path / "p.c"])
    assert done.returncode == dnncc.USAGE
