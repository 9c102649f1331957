# SPDX-License-Identifier: MIT
"""--quantize: small models against a statement of their own in numpy (test/support/quantizing.py) of what is rounded where; choices,
errors, and that the same is made everywhere and of what is quantized already."""
import pathlib
import pickle
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("support", "bench")]
import dnncc  # noqa: E402
import processor  # noqa: E402
import quantization  # noqa: E402
import quantized  # noqa: E402
import quantizing  # noqa: E402
from quantized import F32, I64  # noqa: E402
from quantizing import Bytes  # noqa: E402
from test_schedule import TARGETS  # noqa: E402
from test_strips import BACKWARDS  # noqa: E402

SAMPLES = 6
PLAIN = "--quantize-steps=-correct"     # biases are the model's own, rounded


class Model:
    """An ONNX model that is written node by node, calibrated, and compiled."""

    def __init__(self, folder, shape, seed=1):
        self.folder, self.shape, self.r = folder, shape, np.random.default_rng(seed)
        self.nodes, self.constants, self.count = [], {}, 0

    def constant(self, array, name=None):
        name = name or f"c{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(array)
        return name

    def node(self, op, inputs, name=None, **attributes):
        self.count += 1
        name = name or f"{op.lower()}{self.count}"
        inputs = [self.constant(i) if isinstance(i, np.ndarray) else i for i in inputs]
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def weights(self, *shape):
        return self.r.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape).astype(F32)

    def biases(self, count):
        return self.r.normal(0, .3, count).astype(F32)

    def finish(self, *outputs):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, "m", [value("x", TensorProto.FLOAT, self.shape)],
                                  [value(y, TensorProto.UNDEFINED, None) for y in outputs],
                                  [numpy_helper.from_array(a, name) for name, a in self.constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        self.path = self.folder / "source.onnx"
        onnx.save(model, self.path)
        samples = self.r.normal(0, 1, (SAMPLES, *self.shape)).astype(F32)
        self.file = quantizing.calibrate(self.path, self.folder, {"x": samples})
        self.ranges = quantizing.ranges(self.file)
        self.x = self.r.normal(0, 1, self.shape).astype(F32)
        return self

    def stats(self, *options):
        return quantizing.stats(self.path, [f"--quantize={self.file}", *options])

    def bytes(self, name, *how):
        return Bytes(*self.ranges[name], *how)

    def run(self, *options, target="generic", quantize=True):
        folder = self.folder / f"run{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        given = [f"--quantize={self.file}"] if quantize else []
        dnncc.compile_model(self.path, folder, [*given, f"--target={target}", *options])
        if "--threads=2" in options:
            with open(folder / "model.c", "a") as file:
                file.write(BACKWARDS)
        return dnncc.run_host(dnncc.build_host(folder, ["-O1"]), [self.x])


def along(v, s):
    return v.reshape(-1, *[1] * (s.ndim - 2)) if s.ndim > 2 else v


def sums(q, x, w, pads=0, groups=1, axis=0, **form):
    """of bytes q of x by the numbers of w; and their scales"""
    numbers, sw = quantizing.weights(w, axis, **form)
    centered = quantized.wide(q, x.zero)
    if w.ndim == 2:
        return centered @ (numbers.astype(I64) if axis else numbers.astype(I64).T), sw
    return quantized.convolve(centered, numbers.astype(I64), [1, 1], [1, 1], [pads] * 4, groups), sw


def layer(q, x, w, b, y, pads=0, groups=1, axis=0, low=None, high=None, **form):
    """bytes of y: one rounding"""
    s, sw = sums(q, x, w, pads, groups, axis, **form)
    s = s + along(quantizing.bias(b, x.scale, sw), s)
    m = F32(F32(x.scale * sw) / y.scale)
    q = quantized.requantize(s, along(m, s), y.zero, y.t, low, high)
    return np.clip(q, y.low, y.high).astype(y.t) if y.within else q


def reals(q, x, w, b, pads=0, axis=0, **form):
    """sums as floats: a layer whose result stays such"""
    s, sw = sums(q, x, w, pads, 1, axis, **form)
    whole = quantizing.bias(b, x.scale, sw).astype(F32) * F32(x.scale * sw)
    return s.astype(F32) * along(F32(x.scale * sw), s) + along(whole, s)


def pooled(q):
    n, c, h, w = q.shape
    return q.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))


# ---- what is rounded where ----

def chain(folder, activations=np.uint8):
    m = Model(folder, [1, 3, 8, 8])
    w = [m.weights(8, 3, 3, 3), m.weights(8, 1, 3, 3), m.weights(20, 8 * 4 * 4)]
    b = [m.biases(8), m.biases(8), m.biases(20)]
    m.node("Conv", ["x", w[0], b[0]], "conv1", pads=[1] * 4)
    m.node("Relu", ["conv1"], "relu1")
    m.node("Conv", ["relu1", w[1], b[1]], "conv2", pads=[1] * 4, group=8)
    m.node("Clip", ["conv2", np.array(0, F32), np.array(.5, F32)], "clip")
    m.node("MaxPool", ["clip"], "pool", kernel_shape=[2, 2], strides=[2, 2])
    m.node("Flatten", ["pool"], "flat")
    m.node("Gemm", ["flat", w[2], b[2]], "gemm", transB=1)
    return m.finish("gemm"), w, b


GRIDS = {"u8": (np.uint8, 8), "s8": (np.int8, 8), "u16": (np.uint16, 16), "s16": (np.int16, 16), "u4": (np.uint8, 4), "s4": (np.int8, 4)}


@pytest.mark.parametrize("how", ["u8", "s8", "s8-symmetric", "s16", "s4-symmetric", "s8-symmetric-powers", pytest.param("s16-symmetric", marks=pytest.mark.long), pytest.param("u4", marks=pytest.mark.long),
                                 pytest.param("u8-symmetric", marks=pytest.mark.long), pytest.param("u16", marks=pytest.mark.long),
                                 pytest.param("s4", marks=pytest.mark.long), pytest.param("u4-powers", marks=pytest.mark.long)])
def test_chain(how, tmp_path):
    """layers with biases, bounds and a pool: whole numbers from end to end; a bound of what follows is where they end"""
    m, w, b = chain(tmp_path)
    t, bits = GRIDS[how.split("-")[0]]
    symmetric, powers = "-symmetric" in how, "-powers" in how
    x, y1, y2 = (m.bytes(name, t, symmetric, bits, powers) for name in ("x", "relu1.max", "clip.min"))
    if not symmetric and not powers:
        assert y1.zero == y1.low and abs(y2.scale - F32(.5 / (2 ** bits - 1))) < 1e-9
    q = layer(x.encode(m.x), x, w[0], b[0], y1, 1, low=0, powers=powers)
    q = layer(q, y1, w[1], b[1], y2, 1, 8, low=0, high=F32(F32(.5) / y2.scale), powers=powers)
    flat = pooled(q).reshape(1, -1)
    expected = reals(flat, y2, w[2], b[2], powers=powers)
    result, = m.run(PLAIN, f"--activations={how}")
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    assert m.stats(f"--activations={how}") == (3, 3, 5)


def test_one_step_of_weights(tmp_path):
    """for all outputs of a layer"""
    m, w, b = chain(tmp_path)
    x, y1, y2 = (m.bytes(name) for name in ("x", "relu1.max", "clip.min"))
    q = layer(x.encode(m.x), x, w[0], b[0], y1, 1, low=0, layer=True)
    q = layer(q, y1, w[1], b[1], y2, 1, 8, low=0, high=F32(F32(.5) / y2.scale), layer=True)
    expected = reals(pooled(q).reshape(1, -1), y2, w[2], b[2], layer=True)
    result, = m.run(PLAIN, "--quantize-weights=s8:layer")
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(result, m.run(PLAIN)[0])


def test_sums_of_16_bits_that_do_not_fit(tmp_path):
    """into i32 are sums of floats, of the same whole numbers"""
    m = Model(tmp_path, [2, 900])
    w, b = m.weights(5, 900), m.biases(5)
    m.node("Gemm", ["x", w, b], "y", transB=1)
    m.finish("y")
    x = m.bytes("x", np.int16)
    expected = reals(x.encode(m.x), x, w, b)
    assert np.abs(quantized.wide(x.encode(m.x), x.zero)).max() * 127 * 900 > 2 ** 31
    for target in "generic", "x86-64-v3":
        np.testing.assert_allclose(m.run(PLAIN, "--activations=s16", target=target)[0], expected, rtol=1e-4, atol=1e-5)
    assert m.stats("--activations=s16") == (1, 1, 1)


def test_biases_are_corrected(tmp_path):
    """by what rounding the weights takes from the mean of x"""
    m, w, b = chain(tmp_path)
    plain, corrected, original = m.run(PLAIN)[0], m.run()[0], m.run(quantize=False)[0]
    assert not np.array_equal(plain, corrected)
    numbers, sw = quantizing.weights(w[2], 0)
    lost = (w[2].astype(np.float64) - numbers * sw.astype(np.float64)[:, None]).sum(1)
    mean = quantizing.means(m.file)["flat.reshape"]
    keep = ("--keep-float=conv1", "--keep-float=conv2")
    difference = m.run(*keep)[0] - m.run(PLAIN, *keep)[0]
    np.testing.assert_allclose(difference[0], lost * mean, rtol=1e-3, atol=5e-6)
    assert np.abs(corrected - original).mean() < np.abs(original).mean() / 20


def test_sums_of_layers(tmp_path):
    """what a kernel adds to a layer's sums is not rounded before; of two layers', the earlier ones are"""
    m = Model(tmp_path, [1, 4, 6, 6])
    w, b = [m.weights(4, 4, 3, 3) for _ in range(4)], [m.biases(4) for _ in range(4)]
    for i, (source, name) in enumerate((("x", "a"), ("ra", "b"), ("s", "c"), ("x", "d"))):
        m.node("Conv", [source, w[i], b[i]], name, pads=[1] * 4)
        if name == "a":
            m.node("Relu", ["a"], "ra")
        if name == "b":
            m.node("Add", ["b", "ra"], "s")
    m.node("Add", ["c", "d"], "t")
    m.node("Relu", ["t"], "rt")
    w5, b5 = m.weights(3, 4, 1, 1), m.biases(3)
    m.node("Conv", ["rt", w5, b5], "e")
    m.finish("e")
    x, ra, s, c, rt = (m.bytes(name) for name in ("x", "ra.max", "s.add", "c.add", "rt.max"))
    qx = x.encode(m.x)
    qa = layer(qx, x, w[0], b[0], ra, 1, low=0)
    qs = s.encode(reals(qa, ra, w[1], b[1], 1) + ra.decode(qa))
    first = c.through(reals(qs, s, w[2], b[2], 1)) if "d" > "c" else None
    qt = rt.encode(np.maximum(first + reals(qx, x, w[3], b[3], 1), 0))
    expected = reals(qt, rt, w5, b5)
    result, = m.run(PLAIN)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    assert m.stats() == (5, 5, 5)


def test_concat_has_one_step(tmp_path):
    """what is put together has the steps of all of it"""
    m = Model(tmp_path, [1, 4, 6, 6])
    w, b = [m.weights(4, 4, 1, 1), m.weights(4, 4, 1, 1), m.weights(3, 8, 1, 1)], [m.biases(4), m.biases(4), m.biases(3)]
    for i, name in enumerate("ab"):
        m.node("Conv", ["x", w[i], b[i]], name)
        m.node("Relu", [name], "r" + name)
    m.node("Concat", ["ra", "rb"], "both", axis=1)
    m.node("MaxPool", ["both"], "pool", kernel_shape=[2, 2], strides=[2, 2])
    m.node("Conv", ["pool", w[2], b[2]], "c")
    m.finish("c")
    x = m.bytes("x")
    least, most = zip(m.ranges["ra.max"], m.ranges["rb.max"])
    y = Bytes(min(least), max(most))
    q = np.concatenate([layer(x.encode(m.x), x, w[i], b[i], y, low=0) for i in range(2)], 1)
    result, = m.run(PLAIN)
    np.testing.assert_allclose(result, reals(pooled(q), y, w[2], b[2]), rtol=1e-5, atol=1e-6)


def test_means_have_steps_of_their_own(tmp_path):
    m = Model(tmp_path, [1, 4, 6, 6])
    w, b = [m.weights(8, 4, 3, 3), m.weights(5, 8)], [m.biases(8), m.biases(5)]
    m.node("Conv", ["x", w[0], b[0]], "a")
    m.node("Relu", ["a"], "ra")
    m.node("GlobalAveragePool", ["ra"], "mean")
    m.node("Flatten", ["mean"], "flat")
    m.node("Gemm", ["flat", w[1], b[1]], "y", transB=1)
    m.finish("y")
    x, a = m.bytes("x"), m.bytes("ra.max")
    mean = m.bytes("mean.reduce")         # a sum: what it is divided by is a factor of the weights
    q = layer(x.encode(m.x), x, w[0], b[0], a, low=0)
    total = a.decode(q).astype(np.float64).sum((2, 3)).astype(F32)
    result, = m.run(PLAIN)
    np.testing.assert_allclose(result, reals(mean.encode(total), mean, w[1] * F32(1 / 16), b[1]), rtol=1e-5, atol=1e-6)


def test_norms_stay_in_floats(tmp_path):
    """what is added up for norms alone is not rounded; what layers read is"""
    m = Model(tmp_path, [1, 5, 16])
    w, b = [m.weights(16, 16).T.copy() for _ in range(2)], [m.biases(16) for _ in range(2)]
    gain, shift = m.r.uniform(.5, 2, 16).astype(F32), m.biases(16)
    m.node("MatMul", ["x", w[0]], "p")
    m.node("Add", ["p", b[0]], "pb")
    m.node("Add", ["pb", "x"], "s")
    m.node("LayerNormalization", ["s", gain, shift], "norm", axis=-1)
    m.node("MatMul", ["norm", w[1]], "o")
    m.node("Add", ["o", b[1]], "ob")
    m.node("Add", ["ob", "norm"], "y")
    m.node("ReduceSum", ["y", np.array([2])], "total", keepdims=1)
    m.node("Sub", ["y", "total"], "z")
    m.finish("z")
    assert m.stats() == (2, 2, 2)
    x = m.bytes("x")
    s = reals(x.encode(m.x)[0], x, w[0], b[0], axis=1) + m.x[0]
    centered = s.astype(np.float64) - s.astype(np.float64).mean(-1, keepdims=True)
    norm = (centered / np.sqrt((centered ** 2).mean(-1, keepdims=True) + 1e-5) * gain + shift).astype(F32)
    name = [n for n in m.ranges if n.startswith("norm.")][-1]
    q = m.bytes(name)
    y = reals(q.encode(norm), q, w[1], b[1], axis=1) + norm
    result, = m.run(PLAIN)
    np.testing.assert_allclose(result[0], y - y.sum(-1, keepdims=True), rtol=1e-4, atol=1e-4)


def test_functions_are_tables(tmp_path):
    """what erf and, if asked for, sigmoid read is rounded; else it stays in its kernel"""
    m = Model(tmp_path, [1, 4, 8, 8])
    w, b = [m.weights(16, 4, 1, 1), m.weights(3, 16, 1, 1)], [m.biases(16), m.biases(3)]
    m.node("Conv", ["x", w[0], b[0]], "a")
    m.node("Sigmoid", ["a"], "gate")
    m.node("Mul", ["a", "gate"], "silu")
    m.node("Conv", ["silu", w[1], b[1]], "y")
    m.finish("y")
    assert m.stats() == (2, 2, 2) and m.stats("--quantize-steps=+sigmoids") == (2, 2, 3)
    x, a, silu = (m.bytes(name) for name in ("x", "a.add", "silu.mul"))

    def activated(v):
        v = v.astype(np.float64)
        return (v / (1 + np.exp(-v))).astype(F32)

    q = x.encode(m.x)
    for option, v in ((PLAIN, reals(q, x, w[0], b[0])), (PLAIN + ",+sigmoids", a.decode(layer(q, x, w[0], b[0], a)))):
        expected = reals(silu.encode(activated(v)), silu, w[1], b[1])
        np.testing.assert_allclose(m.run(option)[0], expected, rtol=1e-5, atol=1e-6, err_msg=option)


def test_products(tmp_path):
    m = Model(tmp_path, [1, 2, 6, 16])
    w = m.weights(16, 16).T.copy()
    m.node("MatMul", ["x", w], "k")
    m.node("Transpose", ["k"], "t", perm=[0, 1, 3, 2])
    m.node("MatMul", ["x", "t"], "y")
    m.finish("y")
    assert m.stats("--quantize-steps=-products") == (1, 1, 1) and m.stats() == (2, 2, 2)
    x, k = m.bytes("x"), m.bytes("k.dot")
    q = x.encode(m.x)
    s, sw = sums(q[0], x, w, axis=1)
    qk = quantized.requantize(s, F32(F32(x.scale * sw) / k.scale), k.zero, k.t)
    product = quantized.wide(q[0], x.zero) @ quantized.wide(qk, k.zero).transpose(0, 2, 1)
    result, = m.run("--quantize-steps=products")
    np.testing.assert_allclose(result[0], product.astype(F32) * F32(x.scale * k.scale), rtol=1e-5, atol=1e-6)


# ---- choices ----

def test_keep_float(tmp_path):
    m, w, b = chain(tmp_path)
    assert m.stats("--keep-float=first") == (2, 3, 4) and m.stats("--keep-float=last") == (2, 3, 2)
    assert m.stats("--keep-float=conv2") == (2, 3, 4) and m.stats("--keep-float=conv1", "--keep-float=conv2", "--keep-float=gemm") == (0, 3, 0)
    assert m.stats("--keep-float=x") == (2, 3, 4)
    kept = m.run("--keep-float=first", "--keep-float=last", "--keep-float=conv2")[0]
    np.testing.assert_array_equal(kept, m.run(quantize=False)[0])


@pytest.mark.sample(2)
@pytest.mark.parametrize("options, text", [
    (["--keep-float=conv9"], "no node or value of the model is called that"),
    (["--observer=least"], "nothing is called 'least'"),
    (["--quantize-steps=+correct,blur"], "nothing is called 'blur'"),
    (["--exact"], "not with --exact"),
    (["--passes=simplify,lower"], "wants the pass quantize"),
    (["--passes=+quantize"], "leave it out of --passes"),
])
def test_wrong_options(options, text, tmp_path):
    m, *_ = chain(tmp_path)
    with pytest.raises(dnncc.CompileError) as error:
        m.run(*options)
    assert error.value.code == dnncc.USAGE and text in error.value.text
    assert not list(tmp_path.glob("run*/model.c"))


@pytest.mark.parametrize("option", ["--keep-float=a", "--observer=mse", "--activations=s8", "--quantize-steps=none", "--passes=+quantize"])
def test_options_without_ranges(option, tmp_path):
    m, *_ = chain(tmp_path)
    with pytest.raises(dnncc.CompileError) as error:
        m.run(option, quantize=False)
    assert error.value.code == dnncc.USAGE and "wants --quantize" in error.value.text or "--quantize=FILE" in error.value.text


# ---- files of ranges ----

def change(m, old, new):
    text = m.file.read_text()
    assert old in text
    m.file.write_text(text.replace(old, new, 1))


def test_ranges_of_another_model(tmp_path):
    m, *_ = chain(tmp_path)
    change(m, "function " + m.file.read_text().split("function ")[1][:8], "function 00000000")
    with pytest.raises(dnncc.CompileError) as error:
        m.run()
    assert error.value.code == dnncc.INVALID and "of another model" in error.value.text


def test_missing_ranges(tmp_path):
    m, *_ = chain(tmp_path)
    change(m, "tensor relu1.max ", "tensor relu9.max ")
    with pytest.raises(dnncc.CompileError) as error:
        m.run()
    assert error.value.code == dnncc.INVALID and "relu1.max" in error.value.text


@pytest.mark.sample(2)
@pytest.mark.parametrize("size, floats", [(1e20, 0), (3e38, 0), (1e-38, 1)])
def test_huge_ranges(size, floats, tmp_path):
    """steps of any size; a layer stays in floats where what it reads is not finite, or its steps have no product"""
    m, *_ = chain(tmp_path)
    m.file = quantizing.calibrate(m.path, tmp_path, {"x": np.full((2, *m.shape), size, F32)})
    whole, layers, _ = m.stats()
    assert whole < layers if floats else whole == layers
    assert np.isfinite(m.run()[0]).all()


# ---- the same everywhere ----

def test_all_targets(tmp_path):
    """bytes of a quantized output, and the same C again"""
    m = Model(tmp_path, [1, 3, 8, 8])
    for i, source in enumerate(("x", "r0", "both", "r2", "s1")):
        m.node("Conv", [source, m.weights(5, {"x": 3, "both": 10}.get(source, 5), 3, 3), m.biases(5)], f"a{i}", pads=[1] * 4)
        m.node("Relu", [f"a{i}"], f"r{i}")
        if i == 1:
            m.node("Concat", ["r0", "r1"], "both", axis=1)
        if i == 3:
            m.node("Add", ["a3", "r2"], "s0")
            m.node("Sigmoid", ["s0"], "gate")
            m.node("Mul", ["s0", "gate"], "s1")
    m.node("QuantizeLinear", ["r4", np.array(.02, F32), np.array(7, np.uint8)], "y")
    m.finish("y")
    expected = m.run()[0]
    assert len(np.unique(expected)) > 20
    for target in processor.these(TARGETS):
        for threads in (1, 2):
            np.testing.assert_array_equal(m.run(f"--threads={threads}", target=target)[0], expected, err_msg=target)
    texts = set()
    for i in range(2):
        (tmp_path / f"again{i}").mkdir()
        dnncc.compile_model(m.path, tmp_path / f"again{i}", [f"--quantize={m.file}"])
        texts.add((tmp_path / f"again{i}" / "model.c").read_bytes())
    assert len(texts) == 1


@pytest.mark.parametrize("how", ["u8", pytest.param("s16", marks=pytest.mark.long), "u4", pytest.param("s8-symmetric-powers", marks=pytest.mark.long)])
def test_twice(how, tmp_path):
    """what is quantized stays as it is"""
    m, *_ = chain(tmp_path)
    text, how = tmp_path / "once.dnn", f"--activations={how}"
    done = dnncc.run([dnncc.DNNCC, m.path, f"--quantize={m.file}", how, "--passes=simplify,fold,cse,dce,quantize,simplify,fold,cse,dce",
                      "--emit=ir", "-o", text])
    assert done.returncode == 0, done.stderr
    samples = {"x": np.stack([m.x, -m.x])}
    again = quantizing.calibrate(text, tmp_path, samples)
    codes = []
    for options in ([], [f"--quantize={again}", how]):
        (tmp_path / f"c{len(codes)}").mkdir()
        dnncc.compile_model(text, tmp_path / f"c{len(codes)}", options)
        code = (tmp_path / f"c{len(codes)}" / "model.c").read_text()
        codes.append(re.sub("BUILD_[0-9A-F]+", "", code[code.index("#include"):]))
    assert codes[0] == codes[1]


# ---- models that are trained ----

def answers(model, x, options=()):
    return quantization.outputs(model, x, options).argmax(1)


def test_digits(tmp_path):
    """examples/digits: of the digits it never saw, one at most gets another answer; the last third calibrates"""
    text = (dnncc.ROOT / "examples" / "digits" / "samples.h").read_text()
    numbers = np.array([int(n) for n in re.findall(r"\d+", text[text.index("= {"):])]).reshape(-1, 65)
    x = (numbers[:, 1:] / 16).astype(F32).reshape(-1, 1, 1, 8, 8)
    model = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
    file = quantizing.calibrate(model, tmp_path, {"image": x[40:]})
    plain, made = answers(model, x), answers(model, x, [f"--quantize={file}"])
    assert (plain != made).sum() <= 1 and (made == numbers[:, 0]).sum() >= 57


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("name, points", [("mnist", .05), ("cifar", .5)])
def test_accuracy(name, points, tmp_path):
    """on the whole test set, where that is there; and nearly all answers are those of the floats"""
    check_task(quantizing.there(name, quantization.TASKS[name]()), points, tmp_path)


def check_task(data, points, folder):
    """no more than so many points lost, nearly all answers those of the floats, and no worse than onnxruntime's best by more than 0.3"""
    model, samples, x, labels = data
    file = quantizing.calibrate(model, folder, {quantization.inputs(model)[0].name: samples[:, None]})
    plain, made = (answers(model, x, options) for options in ([], quantization.given(["--calibrate=SAMPLES"], file)))
    theirs = []
    for method in quantization.METHODS:
        try:
            y = quantization.silently(quantization.by_onnxruntime, model, samples, x, method)
            theirs.append((y.reshape(len(x), -1).argmax(1) == labels).mean())
        except ValueError:              # its histograms do not take every model
            pass
    right = (made == labels).mean()
    assert right >= (plain == labels).mean() - points / 100 and (made == plain).mean() >= .97
    assert right >= max(theirs, default=0) - .003


@pytest.mark.slow
@pytest.mark.parametrize("version", ["bin", pytest.param("py", marks=pytest.mark.long)])
def test_accuracy_of_cifar_files(version, tmp_path, monkeypatch):
    """the whole way from the files that CIFAR-10 comes in, on pictures of ours that the model answers for"""
    model = quantization.MODELS / "resnet8_fp32" / "model.onnx"
    if not model.exists():
        pytest.skip("no ../shared/models/resnet8_fp32")
    r = np.random.default_rng(7)
    planes = np.clip(np.kron(r.standard_normal((600, 3, 4, 4)), np.ones((8, 8))) * 60 + 120, 0, 255).astype(np.uint8).reshape(600, -1)
    y = quantization.outputs(model, planes.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).astype(F32)[:, None])
    sure = y.max(1) > .6                # probabilities; noise is not what it has learned
    planes, labels = planes[sure][:300], y[sure][:300].argmax(1).astype(np.uint8)
    assert len(labels) == 300
    folder = tmp_path / f"cifar-10-batches-{version}"
    folder.mkdir()
    write_cifar(folder, version, "test_batch", planes, labels)
    monkeypatch.setenv("DNNCC_CIFAR10", str(tmp_path))
    alone = quantization.cifar()
    assert alone[2].shape == (200, 32, 32, 3) and (alone[1] == quantization.cifar_batch(folder, "test_batch")[0][:100]).all()
    write_cifar(folder, version, "data_batch_1", planes[::-1], labels[::-1])
    check_task(quantization.cifar(), 1, tmp_path)


def write_cifar(folder, version, name, planes, labels):
    if version == "py":                 # as Python 2 pickled it
        (folder / name).write_bytes(pickle.dumps({b"data": planes, b"labels": labels.tolist()}, protocol=2))
    else:
        (folder / f"{name}.bin").write_bytes(np.concatenate([labels[:, None], planes], 1).tobytes())


def test_cifar_files(tmp_path):
    """both versions of the data hold the same images"""
    r = np.random.default_rng(5)
    planes, labels = r.integers(0, 256, (7, 3 * 32 * 32)).astype(np.uint8), r.integers(0, 10, 7).astype(np.uint8)
    for version in ("bin", "py"):
        folder = tmp_path / version / f"cifar-10-batches-{version}"
        folder.mkdir(parents=True)
        write_cifar(folder, version, "test_batch", planes, labels)
        assert quantization.cifar_folder(folder) == quantization.cifar_folder(tmp_path / version) == folder
        x, y = quantization.cifar_batch(folder, "test_batch")
        assert (y == labels).all() and x.shape == (7, 32, 32, 3) and x.dtype == F32
        assert (x[3, 5, 9] == planes[3].reshape(3, 32, 32)[:, 5, 9]).all()
