# SPDX-License-Identifier: MIT
"""--quantize with --requantize=integer: networks of f32 become such of integers between the rounding of their inputs and what makes floats of
their outputs; and they stay as near to the floats as without it."""
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("support", "models", "operators", "bench")]
import dnncc  # noqa: E402
import processor  # noqa: E402
import quantization  # noqa: E402
import quantizing  # noqa: E402
from test_models import MODELS, bindings  # noqa: E402
from test_quantize import F32, Model  # noqa: E402
from test_quantized_rule import TARGETS  # noqa: E402
from test_requantize_integer import INTEGER  # noqa: E402

# ---- several whole numbers that are added up in floats ----

TERMS = """dnn 1
module "m"
func @main(%s "s": <{n} x {k} x i32>, %q "q": <{n} x {k} x u8>) -> ("y") {{
  %0 = cast(%s) : <{n} x {k} x f32>
  %1 = broadcast(<{k} x f32> [{a}]) dims=[1] : <{n} x {k} x f32>
  %2 = mul(%0, %1) : <{n} x {k} x f32>
  %3 = broadcast(<{k} x f32> [{b}]) dims=[1] : <{n} x {k} x f32>
  %4 = {first} : <{n} x {k} x f32>
  %5 = cast(%q) to=i32 : <{n} x {k} x i32>
  %6 = sub(%5, 131) : <{n} x {k} x i32>
  %7 = cast(%6) : <{n} x {k} x f32>
  %8 = mul(%7, 0.037) : <{n} x {k} x f32>
  %9 = {second} : <{n} x {k} x f32>
  %10 = max(%9, {low}) : <{n} x {k} x f32>
  %11 = min(%10, 4.5) : <{n} x {k} x f32>
  %12 = div(%11, 0.0625) : <{n} x {k} x f32>
  %13 = round(%12) : <{n} x {k} x f32>
  %14 = add(%13, -9.0) : <{n} x {k} x f32>
  %15 = cast(%14) to=i8 : <{n} x {k} x i8>
  yield(%15)
}}
"""


def clamped(real, low):
    return np.clip(np.clip(real, low, 4.5) / 0.0625, -119, 136)


@pytest.mark.parametrize("first, sign, second, other", [("add(%2, %3)", 1, "add(%4, %8)", 1), ("sub(%3, %2)", -1, "sub(%8, %4)", -1),
                                                        ("add(%3, %2)", 1, "sub(%4, %8)", 1)])
@pytest.mark.parametrize("low", [-3.0, 0.0])
def test_terms(first, sign, second, other, low, tmp_path):
    """the bytes of exact numbers, but where a sum is at a half; not a float is left"""
    r, n, k = np.random.default_rng(7), 500, 24
    a, b = (10.0 ** r.uniform(-6, -4, k)).astype(F32), r.normal(0, 1, k).astype(F32)
    s, q = np.rint(r.uniform(-5, 5, (n, k)) / a).astype(np.int32), r.integers(0, 256, (n, k)).astype(np.uint8)
    text = TERMS.format(n=n, k=k, a=", ".join(map(repr, a.tolist())), b=", ".join(map(repr, b.tolist())), first=first, second=second, low=low)
    (tmp_path / "p.dnn").write_text(text)
    done = dnncc.compile_model(tmp_path / "p.dnn", tmp_path, [INTEGER])
    assert not done.stderr and "float" not in (tmp_path / "model.c").read_text()
    got = dnncc.run_host(dnncc.build_host(tmp_path, ["-O1"]), [s, q])[0].astype(int)
    sums = s.astype(np.float64) * a * sign + b
    rest = (q.astype(np.float64) - 131) * float(F32(.037)) * (-1 if second.startswith("sub(%4") else 1)
    real = clamped(other * sums + rest, low)
    want = np.rint(real) - 9
    at_half = np.abs(np.abs(real - np.rint(real)) - .5) < 2.0 ** -10
    assert np.abs(got - want).max() <= 1 and not (got != want)[~at_half].any() and len(np.unique(want)) > 50


@pytest.mark.parametrize("old, new", [("div(%11, 0.0625)", "div(0.0625, %11)"), ("mul(%7, 0.037)", "mul(%7, %2)"), ("add(%13, -9.0)", "add(%13, -9.5)"),
                                      ("mul(%7, 0.037)", "sqrt(%7)")])
def test_what_is_no_line(old, new, tmp_path):
    """stays in floats, and is named"""
    text = TERMS.format(n=4, k=2, a="0.1, 0.2", b="0.3, 0.4", first="add(%2, %3)", second="add(%4, %8)", low=0.0)
    assert old in text
    (tmp_path / "p.dnn").write_text(text.replace(old, new))
    done = dnncc.run([dnncc.DNNCC, tmp_path / "p.dnn", "--emit=ir", "--passes=requantize_integer", "-o", "-"])
    assert done.returncode == 0 and "stay in floats" in done.stderr and "x f32>" in done.stdout


# ---- random networks ----

def network(folder, seed):
    """convolutions, some depthwise, residual sums, pools and concats"""
    m = Model(folder, [1, 4, 8, 8], seed)
    r, size, channels, v = np.random.default_rng(seed), 8, 4, "x"
    for _ in range(r.integers(3, 7)):
        kind = r.choice(["conv", "residual", "branches", "depthwise", "concat", "pool", "mean"])
        width = int(r.choice([4, 6, 8]))
        conv = lambda x, of, to, group=1: m.node("Conv", [x, m.weights(to, of // group, 3, 3), m.biases(to)], pads=[1] * 4, group=group)  # noqa: E731
        if kind == "residual":
            v = m.node("Relu", [m.node("Add", [conv(v, channels, channels), v])])
        elif kind == "branches":
            v = m.node("Relu", [m.node("Add", [conv(v, channels, width), conv(v, channels, width)])])
            channels = width
        elif kind == "concat":
            v = m.node("Concat", [m.node("Relu", [conv(v, channels, width)]), v], axis=1)
            channels += width
        elif kind in ("pool", "mean") and size > 2:
            v = m.node("MaxPool" if kind == "pool" else "AveragePool", [v], kernel_shape=[2, 2], strides=[2, 2])
            size //= 2
        elif kind == "depthwise":
            v = m.node("Relu", [conv(v, channels, channels, channels)])
        else:
            v = m.node("Relu", [conv(v, channels, width)])
            channels = width
    m.node("Gemm", [m.node("Flatten", [v]), m.weights(5, channels * size * size), m.biases(5)], "y", transB=1)
    return m.finish("y")


def noise(a, b):
    return float(np.sqrt(np.mean(np.square(a.astype(np.float64) - b))))


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.long] * (seed >= 6)) for seed in range(60)])
@pytest.mark.sample(4)
def test_random(seed, tmp_path):
    """nearer to what the default mode makes than that is to the floats, on the processor and on any; and floats are at the ends alone"""
    m = network(tmp_path, seed)
    original, default = m.run(quantize=False)[0], m.run()[0]
    targets = processor.these(TARGETS)
    for target in {"generic", targets[seed % len(targets)]}:
        if processor.emulator(target):
            continue
        whole = m.run(INTEGER, target=target)[0]
        assert noise(whole, default) <= max(noise(default, original) / 2, 1e-6), target
    done = dnncc.run([dnncc.DNNCC, m.path, f"--quantize={m.file}", INTEGER, "-o", tmp_path / "m.c"])
    named = re.search(r"stay in floats: (.*)", done.stderr)
    assert named and set(named[1].split(", ")) <= {"round", "add", "cast", "div", "y"}, done.stderr


# ---- real ones ----

def real(name, folder):
    """(model, ranges, images): digits' and MNIST's own, of CIFAR's shape noise"""
    if name == "digits":
        text = (dnncc.ROOT / "examples" / "digits" / "samples.h").read_text()
        images = np.array([[int(x) for x in pixels.split(",")] for pixels in re.findall(r"\{([\d\s,]{100,})\}", text)], F32)
        model, images = dnncc.ROOT / "examples" / "digits" / "digits.onnx", (images / 16).reshape(-1, 1, 1, 8, 8)
    elif name == "mnist":
        model, _, x, _ = quantizing.there(name, quantization.mnist())
        images = x[:40, None]
    else:
        model = MODELS / "resnet8_fp32" / "model.onnx"
        if not model.exists():
            pytest.skip("no resnet8_fp32 in ../shared/models")
        r = np.random.default_rng(2)
        coarse = r.integers(0, 256, (24, 1, 8, 8, 3)).repeat(4, 2).repeat(4, 3)
        images = np.clip(coarse + r.normal(0, 20, (24, 1, 32, 32, 3)), 0, 255).astype(F32)
    file = quantizing.calibrate(model, folder, {quantization.inputs(model)[0].name: images})
    return model, file, images


def bound(model):
    return bindings(model.parent) if (model.parent / "shapes.txt").exists() else []


def results(model, folder, images, *options):
    dnncc.compile_model(model, folder, [*bound(model), *options])
    program = dnncc.build_host(folder, ["-O1"])
    return np.concatenate([dnncc.run_host(program, [x])[0] for x in images[:20]])


def kernels_in_floats(text):
    """[(name, is there a float)] of the kernels of C, in order"""
    bodies = re.split(r"\nstatic KERNEL void ", text)[1:]
    return [(body[:body.index("(")], bool(re.search(r"\b(f32|float)\b", body[:body.index("\n}\n")]))) for body in bodies]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["digits", "mnist", pytest.param("resnet8", marks=pytest.mark.slow)])
def test_real(name, tmp_path):
    model, file, images = real(name, tmp_path)
    made = []
    for i, options in enumerate(([], [f"--quantize={file}"], [f"--quantize={file}", INTEGER])):
        folder = tmp_path / str(i)
        folder.mkdir()
        made.append(results(model, folder, images, *options))
    original, default, whole = made
    assert noise(whole, default) <= noise(default, original) / 2 and (whole.argmax(1) == default.argmax(1)).all()
    found = kernels_in_floats((tmp_path / "2" / "model.c").read_text())
    floats = [i for i, (_, is_float) in enumerate(found) if is_float]
    ends = [0, len(found) - 2, len(found) - 1]                  # rounding of the input; the last layer, whose sums become floats; softmax
    assert len(found) > 4 and set(floats) <= set(ends) and 0 in floats, found
