# SPDX-License-Identifier: MIT
"""--requantize=shift: scales become powers of two, and weights take the rest. What numbers are chosen is held against a reference in numpy,
what they make against these numbers, and against the graph as it was; and every target makes the same bytes."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "operators"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import dnncc  # noqa: E402
import processor  # noqa: E402
import quantization  # noqa: E402
import quantized  # noqa: E402
import quantizing  # noqa: E402
from quantized import F32, I64  # noqa: E402
from test_models import MODELS, bindings  # noqa: E402
from test_quantized_rule import TARGETS, Graph, Value  # noqa: E402

I8, I32, U8 = np.int8, np.int32, np.uint8
SHIFT = "--requantize=shift"
PASSES = "--passes=simplify,fold,cse,dce,shift_scales"
NUMPY = {"i8": I8, "i32": I32}


def dump(graph, folder):
    """(constants by name, the lines of operations, what was said)"""
    onnx.save(graph.model(), folder / "model.onnx")
    done = dnncc.run([dnncc.DNNCC, folder / "model.onnx", PASSES, "--emit=ir", "-o", "-"])
    assert done.returncode == 0, done.stderr
    constants = {}
    for name, dims, e, text in re.findall(r"^const @(\w+) : <([\dx ]+) x (i8|i32)> = hex \"(\w+)\"", done.stdout, re.M):
        constants[name] = np.frombuffer(bytes.fromhex(text), NUMPY[e]).reshape([int(d) for d in dims.split(" x ")])
    return constants, [line for line in done.stdout.splitlines() if line.startswith("  %")], done.stderr


def on_targets(graph, folder, targets=("generic", "x86-64-v3", "x86-64-v4-vnni"), flags=(SHIFT,)):
    """what the program makes, the same on all targets"""
    onnx.save(graph.model(), folder / "model.onnx")
    made = []
    for target in processor.these(targets):
        at = folder / target
        at.mkdir()
        dnncc.compile_model(folder / "model.onnx", at, [f"--target={target}", *flags])
        made.append(dnncc.run_host(dnncc.build_host(at, ["-O1"], emulator=processor.emulator(target)), list(graph.given.values())))
        for first, other in zip(made[0], made[-1]):
            assert (first == other).all(), target
    return made[0]


def decoded(graph, array, scale, axis=0):
    return graph.node("DequantizeLinear", [graph.constant(array), graph.constant(F32(scale))], axis=axis)


def layer(graph, x, w, sw, bias, **attributes):
    """-> (floats of a Conv or Gemm, its sums)"""
    inputs = [graph.dequantized(x), decoded(graph, w, sw), decoded(graph, bias, x.scale * sw)]
    if w.ndim == 2:
        return graph.node("Gemm", inputs, transB=1), quantized.wide(x.q, x.zero) @ w.T.astype(I64) + bias
    return graph.node("Conv", inputs, **attributes), None


def check_weights(given, factors, made, shifts):
    """the reference: numbers, and where a block's binary point may be"""
    n, depth = len(given), given[0].size
    real = given.reshape(n, depth) * factors.reshape(n, 1).astype(float)
    made = made.reshape(n, depth)
    for first in range(0, n, 16):
        block = slice(first, first + 16)
        most = int(np.floor(np.log2(127.5 / np.abs(real[block]).max())))
        assert (shifts[block] == shifts[first]).all() and shifts[first] in (most, most + 1)
        want = np.ldexp(real[block], shifts[first])
        cut = np.abs(want) > 127.5
        off = np.where(cut, 0, made[block] - want)
        assert np.abs(off).max() < 1 + 1e-9 and (np.abs(made[block][cut]) == 127).all()
        assert np.abs(off.sum(1))[~cut.any(1)].max(initial=0) <= .5 + 1e-6
        assert (np.abs(off) > .5 + 1e-6).mean() < .15           # nearly all are the nearest


@pytest.mark.parametrize("kind", ["conv", "depthwise", "gemm"])
@pytest.mark.parametrize("zero", [-7, pytest.param(0, marks=pytest.mark.long)])
def test_numbers(kind, zero, tmp_path):
    """of one layer: weights, shifts, biases; and its bytes, for these"""
    graph = Graph(5, "qdq", False)
    r, n = graph.r, 40
    shape = {"conv": (n, 5, 3, 3), "depthwise": (n, 1, 3, 3), "gemm": (n, 37)}[kind]
    x_shape = {"conv": (1, 5, 9, 11), "depthwise": (1, n, 9, 11), "gemm": (6, 37)}[kind]
    w, sw = r.integers(-127, 128, shape).astype(I8), r.uniform(.001, .01, n).astype(F32)
    sw[16:32] *= F32(1 / 16)
    bias = r.integers(-900, 900, n).astype(I32)
    x = Value(graph.name("x"), r.integers(-128, 128, x_shape).astype(I8), .05, I8(zero))
    graph.given[x.name] = x.q
    floats, _ = layer(graph, x, w, sw, bias, **({"pads": [1] * 4, "group": n if kind == "depthwise" else 1} if kind != "gemm" else {}))
    sy, zy = F32(.13), I8(11)
    y = graph.quantized(graph.node("Relu", [floats]), np.zeros([*x_shape[:1], n, *x_shape[2:]], I8), sy, zy)
    graph.results[y.name] = (y.q, 0)
    constants, lines, said = dump(graph, tmp_path)
    assert not any("f32" in line for line in lines) and "weights of 1 layer by powers of two" in said
    m = (F32(x.scale) * sw).astype(F32) / sy
    made = next(c for c in constants.values() if c.dtype == I8 and c.size == w.size)
    made = made.T if kind == "gemm" and made.shape != w.shape else made
    biases, shifts = (next(c for c in constants.values() if c.dtype == I32 and c.size == n and (c.max() < 31) == small) for small in (False, True))
    check_weights(w, m, made, shifts)
    if kind == "gemm":          # without borders sums are of x itself
        bias = bias - zero * w.astype(I64).sum(1)
    assert (biases == np.rint(np.ldexp(m.astype(float) * bias + int(zy), shifts)) + np.ldexp(1, shifts - 1)).all()
    wide, along = x.q.astype(I64) - (zero if kind != "gemm" else 0), (1, n, 1, 1) if kind != "gemm" else (1, n)
    if kind == "gemm":
        sums = wide @ made.reshape(n, -1).T.astype(I64)
    else:
        wide = np.pad(wide, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))
        sums = np.einsum("bchwij,ocij->bohw" if kind == "conv" else "bohwij,ocij->bohw", windows, made.astype(I64))
    want = np.clip((sums + biases.reshape(along)) >> shifts.reshape(along), int(zy), 127)
    assert (on_targets(graph, tmp_path)[0] == want).all() and len(np.unique(want)) > 40


def noise(made, want):
    """of bytes that are not at an end: how far off on average, and the mean magnitude"""
    off = (made.astype(int) - want.astype(int))[(want > np.iinfo(want.dtype).min) & (want < np.iinfo(want.dtype).max)]
    assert off.size > 200
    return abs(off.mean()), np.abs(off).mean()


def convolution(graph, x, outputs, sy, zy, relu=False):
    """a quantized layer behind x, 3 x 3"""
    r, c = graph.r, x.shape[1]
    w, sw, bias = r.integers(-90, 91, (outputs, c, 3, 3)).astype(I8), r.uniform(.002, .004, outputs).astype(F32), r.integers(-99, 99, outputs).astype(I32)
    floats, _ = layer(graph, x, w, sw, bias, pads=[1] * 4)
    padded = np.pad(quantized.wide(x.q, x.zero), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    s = np.einsum("bchwij,ocij->bohw", windows, w.astype(I64)) + bias.reshape(-1, 1, 1)
    m = (x.scale * sw).astype(F32) / F32(sy)
    q = quantized.requantize(s, m.reshape(-1, 1, 1), zy, type(zy), zy if relu else None)
    return graph.quantized(graph.node("Relu", [floats]) if relu else floats, q, sy, zy)


@pytest.mark.parametrize("t", [I8, pytest.param(U8, marks=pytest.mark.long)])
@pytest.mark.parametrize("way", ["identity", "end", *(pytest.param(way, marks=pytest.mark.long) for way in ("both", "relu", "concat"))])
def test_residual(way, t, tmp_path):
    """two branches: one as bytes, the other as its sums; what is added has no error that all results share"""
    graph = Graph(8, "qdq", False)
    lo = np.iinfo(t).min
    x = Value(graph.name("x"), graph.r.integers(lo, lo + 256, (1, 16, 12, 12)).astype(t), .04, t(lo + 128))
    graph.given[x.name] = x.q
    a = convolution(graph, x, 16, .07, t(lo), relu=True)
    b = convolution(graph, a, 16, .11, t(lo + (0 if way == "end" else 119)))     # the end: a Relu that is not said
    other = convolution(graph, x, 16, .05, t(lo + 140)) if way == "both" else a
    total = other.decoded() + b.decoded()
    name = graph.node("Add", [graph.dequantized(other), graph.dequantized(b)])
    if way == "relu":
        name, total = graph.node("Relu", [name]), np.maximum(total, F32(0))
    sy, zy = F32(.12), t(lo + (0 if way == "relu" else 100))
    y = graph.quantized(name, quantized.encode(total, sy, zy, t), sy, zy)
    if way == "concat":         # bytes that others read as well stay what they are
        graph.results[b.name] = (b.q, 0)
    graph.results[y.name] = (y.q, 0)
    _, lines, said = dump(graph, tmp_path)
    assert not any("f32" in line for line in lines), said
    assert sum("= convolve(" in line for line in lines) == (3 if way == "both" else 2)
    bytes_made = sum(f"to={'i8' if t is I8 else 'u8'}" in line for line in lines)
    assert bytes_made == {"identity": 2, "both": 3, "relu": 2, "concat": 3, "end": 2}[way]
    shared, size = noise(on_targets(graph, tmp_path)[-1], y.q)
    assert shared < .2 and size < 1.2, (shared, size)


def test_average(tmp_path):
    """sums of bytes by a byte: exact but for 2^-7 of what they are above the zero point"""
    graph = Graph(2, "qdq", False)
    x = Value(graph.name("x"), graph.r.integers(-128, 0, (1, 300, 7, 7)).astype(I8), .05, I8(-128))
    graph.given[x.name] = x.q
    real = x.decoded().mean((2, 3), keepdims=True)
    y = graph.quantized(graph.node("GlobalAveragePool", [graph.dequantized(x)]), quantized.encode(real.astype(F32), F32(.021), I8(-128), I8), .021, I8(-128))
    graph.results[y.name] = (y.q, 0)
    _, lines, _ = dump(graph, tmp_path)
    assert not any("f32" in line for line in lines)
    made = on_targets(graph, tmp_path)[0].astype(float) + 128
    assert np.abs(made - real / .021).max() <= .51 + (real / .021).max() / 127 and made.std() > 3


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.long] * (seed >= 2)) for seed in range(100)])
@pytest.mark.parametrize("kind", ["qdq", "qoperator"])
def test_graphs(kind, seed, tmp_path):
    """random graphs: the same bytes on every target; near to the graph's own where it is one layer"""
    graph = Graph(seed + 900, kind, False).build(1 + seed % 3)
    on_targets(graph, tmp_path, ["generic", TARGETS[1 + seed % (len(TARGETS) - 1)]])


def test_samples(tmp_path):
    """numbers that lose least on samples lose less on other inputs, too; their means move no result"""
    graph = Graph(12, "qdq", False)
    r = graph.r

    def image():
        fine = np.cumsum(np.cumsum(r.normal(0, 1, (1, 8, 16, 16)), 2), 3)
        return np.clip(fine * 4 + r.uniform(-60, 100, (1, 8, 1, 1)), -128, 127).astype(I8)
    x = Value("x", image(), .05, I8(-128))
    graph.given["x"] = x.q
    y = convolution(graph, convolution(graph, x, 24, .8, I8(-128), relu=True), 24, .2, I8(3))
    graph.results[y.name] = (y.q, 0)
    onnx.save(graph.model(), tmp_path / "m.onnx")
    np.savez(tmp_path / "samples.npz", x=np.stack([image() for _ in range(24)]))
    held, made = [image() for _ in range(8)], []
    for i, flags in enumerate(([], [SHIFT], [SHIFT, f"--calibrate={tmp_path / 'samples.npz'}"])):
        at = tmp_path / str(i)
        at.mkdir()
        dnncc.compile_model(tmp_path / "m.onnx", at, flags)
        program = dnncc.build_host(at, ["-O1"])
        made.append(np.stack([dnncc.run_host(program, [image])[0] for image in held]).astype(float))
    plain, learnt = (made[i] - made[0] for i in (1, 2))
    assert made[0].std() > 20 and (learnt ** 2).mean() < .75 * (plain ** 2).mean()
    assert abs(learnt.mean()) < .1


def test_what_stays(tmp_path):
    """no power of two is large enough: the layer is named, and as right as without"""
    graph = Graph(3, "qdq", False)
    x = Value(graph.name("x"), graph.r.integers(-128, 128, (4, 3)).astype(I8), .5, I8(0))
    graph.given[x.name] = x.q
    w, bias = graph.r.integers(100, 128, (4, 3)).astype(I8), np.zeros(4, I32)
    floats, s = layer(graph, x, w, np.full(4, 1.0, F32), bias)
    y = graph.quantized(floats, quantized.requantize(s, F32(.5) / F32(.25), I8(0), I8), .25, I8(0))
    graph.results[y.name] = (y.q, 0)
    assert re.search(r"shift_scales: 1 layer keeps its scale: n\d", dump(graph, tmp_path)[2])
    assert (on_targets(graph, tmp_path)[0] == y.q).all()


def test_options(tmp_path):
    graph = Graph(900, "qdq", False).build(1)
    onnx.save(graph.model(), tmp_path / "m.onnx")
    for flags, text in ((["--emit=onnx"], "--requantize shapes code"), (["--exact"], "approximates: not with --exact")):
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", SHIFT, *flags, "-o", tmp_path / "out.c"])
        assert done.returncode == dnncc.USAGE and text in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["micro_kws_qoperator", *(pytest.param(n, marks=pytest.mark.long) for n in ("resnet8_int8", "dscnn_kws_int8", "micro_kws_qdq"))])
def test_models(name, tmp_path):
    """the decisions of trained models, and the same bytes on two targets"""
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the models folder is absent")
    x = [dnncc.load_tensor(p) for p in sorted((folder / "test_data_set_0").glob("input_*.pb"))]
    made = []
    for i, (target, flags) in enumerate([("generic", []), ("generic", [SHIFT]), (processor.these(TARGETS)[-1], [SHIFT])]):
        at = tmp_path / str(i)
        at.mkdir()
        dnncc.compile_model(folder / "model.onnx", at, [f"--target={target}", *bindings(folder), *flags])
        made.append(dnncc.run_host(dnncc.build_host(at, ["-O1"], emulator=processor.emulator(target)), x)[0])
    assert (made[1] == made[2]).all() and made[0].argmax() == made[1].argmax()


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits", "mnist"])
def test_trained(name, tmp_path):
    """40 decibels of what the bytes had been, and one decision of 200 at most"""
    model, samples, x, labels = quantizing.there(name, quantization.TASKS[name]())
    np.savez(tmp_path / "samples.npz", **{quantization.inputs(model)[0].name: samples[:, None]})
    options = ["--quantize", f"--calibrate={tmp_path / 'samples.npz'}"]
    y, z = (quantization.outputs(model, x[:1000], o).astype(float) for o in (options, [*options, SHIFT]))
    assert 10 * np.log10((y ** 2).sum() / ((y - z) ** 2).sum()) > 38
    assert (y.argmax(1) != z.argmax(1)).mean() <= .005
