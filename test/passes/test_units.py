# SPDX-License-Identifier: MIT
"""Channels that carry nothing leave contractions (passes/simplify/units.c)."""
import re
import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import dnncc

PASSES = "--passes=simplify,fold,cse,dce"
SHAPES = {"first": (8, 3, 1, 1), "depthwise": (8, 1, 3, 3), "last": (5, 8, 1, 1)}


def save(path, nodes, constants, inputs, outputs):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in inputs.items()],
                              [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs],
                              [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def samples(folder, **inputs):
    shutil.rmtree(folder / "set", ignore_errors=True)
    (folder / "set").mkdir()
    for i, array in enumerate(inputs.values()):
        np.save(folder / "set" / f"input_{i}.npy", array.astype(np.float32))


def block(path, weights):
    """an inverted bottleneck: 1 x 1, depthwise, 1 x 1, with activations that keep 0"""
    groups = len(weights["depthwise"])
    nodes = [helper.make_node("Conv", ["x", "first"], ["a"]), helper.make_node("Clip", ["a", "low", "high"], ["b"]),
             helper.make_node("Conv", ["b", "depthwise"], ["c"], group=groups, pads=[1] * 4), helper.make_node("Relu", ["c"], ["d"]),
             helper.make_node("Conv", ["d", "last"], ["y"])]
    save(path, nodes, {**weights, "low": np.float32(0), "high": np.float32(6)}, {"x": [2, 3, 7, 5]}, ["y"])


def weights():
    rng = np.random.default_rng(3)
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}


def contractions(path):
    """the types of what they make"""
    return re.findall(r"= (?:convolve|dot)\(.*: (<[^>]*>)", path.read_text())


def compiled(folder, *options):
    """the shapes of its contractions' results, and its outputs for the samples"""
    done = dnncc.run([dnncc.DNNCC, "m.onnx", "--emit=ir", PASSES, "-o", "m.dnn", *options], cwd=folder)
    assert done.returncode == 0, done.stderr
    run = dnncc.run([dnncc.DNNCC, "m.onnx", "--run=set", *options], cwd=folder)
    assert run.returncode == 0, run.stderr
    outputs = [np.load(f) for f in sorted((folder / "set").glob("output_*.npy"))]
    return contractions(folder / "m.dnn"), outputs


@pytest.mark.parametrize("zero", ["filters of the first", "filters of the depthwise", "channels that the last reads", "each a few"])
def test_halves(zero, tmp_path):
    """the same convolutions as those of a network that has half the channels, and equal results"""
    full, gone = weights(), np.array([0, 2, 3, 7])
    parts = {"first": gone[:2], "depthwise": gone[2:3], "last": gone[3:]} if zero == "each a few" else \
        {{"filters of the first": "first", "filters of the depthwise": "depthwise"}.get(zero, "last"): gone}
    for name, part in parts.items():
        full[name][(slice(None), part) if name == "last" else part] = 0
    kept = np.setdiff1d(np.arange(8), gone)
    samples(tmp_path, x=np.random.default_rng(4).standard_normal((2, 3, 7, 5)))
    block(tmp_path / "m.onnx", full)
    whole, untouched = compiled(tmp_path)
    narrow, got = compiled(tmp_path, "--assume-finite")
    block(tmp_path / "m.onnx", {"first": full["first"][kept], "depthwise": full["depthwise"][kept], "last": full["last"][:, kept]})
    want, by_hand = compiled(tmp_path, "--assume-finite")
    assert narrow == want and whole != want and whole[0] == "<2 x 8 x 7 x 5 x f32>"
    near(got, untouched)
    near(got, by_hand)


@pytest.mark.parametrize("inputs, middle, outputs", [(0, 8, 5), (3, 0, 5), (3, 8, 0)])
def test_no_channels(inputs, middle, outputs, tmp_path):
    nodes = [helper.make_node("Conv", ["x", "first"], ["a"]), helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Conv", ["b", "last"], ["y"])]
    constants = {name: np.ones(shape, np.float32) for name, shape in {"first": (middle, inputs, 1, 1), "last": (outputs, middle, 1, 1)}.items()}
    save(tmp_path / "m.onnx", nodes, constants, {"x": [1, inputs, 4, 4]}, ["y"])
    samples(tmp_path, x=np.ones((1, inputs, 4, 4)))
    got, = compiled(tmp_path, "--assume-finite")[1]
    np.testing.assert_array_equal(got, np.full((1, outputs, 4, 4), inputs * middle, np.float32))


# ---- any network ----

class Net:
    """a random network of images, most of whose layers have filters, or channels that they read, of zeros"""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.values = [], {}, [("x", 3, 8)]     # name, channels, rows and columns
        for _ in range(self.rng.integers(4, 14)):
            kind = self.pick(self.convolution, self.convolution, self.depthwise, self.activation, self.activation, self.binary, self.joined, self.pool,
                             self.part, self.gate, self.wider, self.rows, self.norm, self.shuffle, self.groups, self.larger)
            kind(*self.values[self.rng.integers(max(0, len(self.values) - 3), len(self.values))])
        self.outputs = [self.values[-1][0]]
        if self.rng.random() < 0.6:
            self.outputs = [self.dense(*self.values[-1])]
        if self.rng.random() < 0.3:
            self.outputs.append(self.values[self.rng.integers(len(self.values))][0])
        self.outputs = [o for o in dict.fromkeys(self.outputs) if o != "x"]

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def constant(self, array):
        array = np.asarray(array)
        name = f"c{len(self.constants)}"
        self.constants[name] = array.astype(np.float32) if array.dtype.kind == "f" else array
        return name

    def op(self, kind, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def weights(self, *shape):
        w = self.rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        if self.rng.random() < 0.8:
            w[self.rng.random(shape[0]) < self.pick(0.3, 0.6)] = 0
        if self.rng.random() < 0.5:
            w[:, self.rng.random(shape[1]) < 0.4] = 0
        return self.constant(w)

    def bias(self, channels):
        b = self.rng.standard_normal(channels) * (self.rng.random(channels) < self.pick(0, 0.6))
        return [self.constant(b)] if self.rng.random() < 0.8 else []

    def convolution(self, x, channels, size):
        outputs, window = self.pick(1, 4, 6, 8), self.pick(1, 3)
        pad = window // 2 if size <= 3 or self.rng.random() < 0.5 else 0
        y = self.op("Conv", x, self.weights(outputs, channels, window, window), *self.bias(outputs), pads=[pad] * 4)
        self.values.append((y, outputs, size + 2 * pad - window + 1))

    def groups(self, x, channels, size):
        if channels % 2 == 0:
            self.values.append((self.op("Conv", x, self.weights(4, channels // 2, 1, 1), group=2), 4, size))

    def depthwise(self, x, channels, size):
        outputs, pad = channels * self.pick(1, 1, 2), self.pick(0, 1) if size > 2 else 1
        y = self.op("Conv", x, self.weights(outputs, 1, 3, 3), *self.bias(outputs), group=channels, pads=[pad] * 4)
        self.values.append((y, outputs, size + 2 * pad - 2))

    def activation(self, x, channels, size):
        kind = self.pick("Relu", "Sigmoid", "LeakyRelu", "HardSwish", "Tanh", "Elu", "PRelu", "Mul", "Add")
        slopes = [self.constant(self.rng.standard_normal((channels, 1, 1)))] if kind in ("PRelu", "Add") else []
        y = self.op("Mul", x, self.op("Sigmoid", x)) if kind == "Mul" else self.op(kind, x, *slopes)
        self.values.append((y, channels, size))

    def binary(self, x, channels, size):
        other = self.pick(*(v for v in self.values if v[1:] == (channels, size)))[0]
        y = self.op("Add", x, other) if self.rng.random() < 0.5 else self.op("Tanh", self.op("Mul", x, other))
        self.values.append((y, channels, size))

    def joined(self, x, channels, size):
        alike = [v for v in self.values if v[2] == size]
        others = [self.pick(*alike) for _ in range(self.rng.integers(1, 3))]
        total = channels + sum(v[1] for v in others)
        if total < 40:
            self.values.append((self.op("Concat", x, *(v[0] for v in others), axis=1), total, size))

    def pool(self, x, channels, size):
        if size < 3:
            return
        pad, kind = self.pick(0, 1), self.pick("MaxPool", "AveragePool")
        more = {"count_include_pad": self.pick(0, 1)} if kind == "AveragePool" else {}
        y = self.op(kind, x, kernel_shape=[2 + pad] * 2, pads=[pad] * 4, strides=[1, 1], **more)
        self.values.append((y, channels, size - 1 + pad))

    def part(self, x, channels, size):
        if channels > 2:
            first = int(self.rng.integers(1, channels))
            end = int(self.rng.integers(first + 1, channels + 1))
            y = self.op("Slice", x, self.constant([first]), self.constant([end]), self.constant([1]))
            self.values.append((y, end - first, size))

    def gate(self, x, channels, size):
        g = self.op("GlobalAveragePool", x)
        g = self.op("Relu", self.op("Conv", g, self.weights(4, channels, 1, 1), *self.bias(4)))
        g = self.op("Sigmoid", self.op("Conv", g, self.weights(channels, 4, 1, 1), *self.bias(channels)))
        self.values.append((self.op("Mul", x, g), channels, size))

    def wider(self, x, channels, size):
        low, high, around = self.rng.integers(0, 4), self.rng.integers(0, 4), self.pick(0, 1)
        if channels < 20:
            pads = self.constant(np.array([0, low, around, around, 0, high, around, around]))
            y = self.op("Pad", x, pads, self.constant(np.float32(self.pick(0, 0, 1.5))))
            self.values.append((y, int(channels + low + high), size + 2 * around))

    def rows(self, x, channels, size):
        y = self.op("MatMul", self.op("Transpose", x, perm=[0, 2, 3, 1]), self.weights(channels, 5))
        y = self.op("Relu", self.op("Add", y, *(self.bias(5) or [self.constant(np.ones(5))])))
        self.values.append((self.op("Transpose", y, perm=[0, 3, 1, 2]), 5, size))

    def norm(self, x, channels, size):
        scale = self.rng.standard_normal(channels) * (self.rng.random(channels) < 0.6)
        parts = scale, self.rng.standard_normal(channels) * self.pick(0, 1), self.rng.standard_normal(channels), self.rng.random(channels) + 0.5
        self.values.append((self.op("BatchNormalization", x, *map(self.constant, parts)), channels, size))

    def shuffle(self, x, channels, size):
        if channels % 2 == 0:
            y = self.op("Reshape", x, self.constant([0, 2, channels // 2, size, size]))
            y = self.op("Transpose", y, perm=[0, 2, 1, 3, 4])
            self.values.append((self.op("Reshape", y, self.constant([0, channels, size, size])), channels, size))

    def larger(self, x, channels, size):
        if size < 10:
            y = self.op("Resize", x, "", self.constant(np.array([1, 1, 2, 2], np.float32)), mode=self.pick("nearest", "linear"))
            self.values.append((y, channels, size * 2))

    def dense(self, x, channels, size):
        last = self.rng.random() < 0.3
        y = self.op("Flatten", self.op("Transpose", x, perm=[0, 2, 3, 1]) if last else x)
        read, units = channels * size * size, self.pick(6, 12)
        w = self.rng.standard_normal((units, channels, size * size)) / np.sqrt(read)
        w[self.rng.random(units) < 0.4] = 0
        w[:, self.rng.random(channels) < 0.3] = 0
        w = w.transpose(0, 2, 1) if last else w
        y = self.op("Gemm", y, self.constant(w.reshape(units, read)), self.constant(self.rng.standard_normal(units) * self.pick(0, 1)), transB=1)
        y = self.op("Relu", y)
        if self.rng.random() < 0.3:
            y = self.op("Reshape", y, self.constant([0, units // 2, 1, 2]))
            y, units = self.op("Flatten", self.op("Conv", y, self.weights(3, units // 2, 1, 1))), 6
        return self.op("Gemm", y, self.constant(self.rng.standard_normal((units, 5)) * (self.rng.random((units, 1)) < 0.7)))

    def save(self, path, batch=2):
        save(path, self.nodes, self.constants, {"x": [batch, 3, 8, 8]}, self.outputs)


def near(got, want):
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 + 2e-5 * np.abs(b).max(initial=0))


@pytest.mark.sample(2)
@pytest.mark.parametrize("seeds", [range(k, k + 8) for k in range(0, 48, 8)], ids=lambda s: f"from {s[0]}")
def test_random(seeds, tmp_path):
    """equal results, and most of these networks get smaller; --check compares after each pass, too"""
    smaller = 0
    for seed in seeds:
        net = Net(seed)
        open_batch = seed % 4 == 3
        net.save(tmp_path / "m.onnx", batch="N" if open_batch else 2)
        extents = ["--dim=N=1..3"] if open_batch else []
        samples(tmp_path, x=np.random.default_rng(seed).standard_normal((2, 3, 8, 8)))
        whole, want = compiled(tmp_path, *extents)
        narrow, got = compiled(tmp_path, "--assume-finite", "--check", *extents)
        near(got, want)
        smaller += narrow != whole
    assert smaller > 3


@pytest.mark.parametrize("seed", range(6))
def test_twice(seed, tmp_path):
    """what has no such channels any more stays as it is"""
    Net(seed).save(tmp_path / "m.onnx")
    for source, to in ("m.onnx", "once.dnn"), ("once.dnn", "twice.dnn"):
        done = dnncc.run([dnncc.DNNCC, source, "--emit=ir", PASSES, "--assume-finite", "-o", to], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert contractions(tmp_path / "once.dnn") == contractions(tmp_path / "twice.dnn")


# ---- what stays ----

def zeroed(*shape, filters=(), channels=()):
    w = np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)
    w[list(filters)] = 0
    w[:, list(channels)] = 0
    return w


STAYS = {
    "an output": ([("Conv", "x a", "h"), ("Relu", "h", "r"), ("Conv", "r b", "y")], ["y", "r"]),
    "norm over channels": ([("Conv", "x a", "h"), ("ReduceMean", "h axes", "s"), ("Sub", "h s", "r"), ("Conv", "r b", "y")], ["y"]),
    "bytes between": ([("Conv", "x a", "h"), ("QuantizeLinear", "h step", "q"), ("DequantizeLinear", "q step", "r"), ("Conv", "r b", "y")], ["y"]),
    "an input's weights": ([("Conv", "x v", "h"), ("Relu", "h", "r"), ("Conv", "r full", "y")], ["y"]),
    "a summand that another needs": ([("Conv", "x a", "h"), ("Conv", "x a_full", "g"), ("Add", "h g", "r"), ("Conv", "r full", "y")], ["y"]),
    "a channel that is a number beside pads": ([("Conv", "x a", "h"), ("Exp", "h", "r"), ("Conv", "r around", "y")], ["y"]),
}
GIVEN = {"a": zeroed(8, 3, 1, 1, filters=[0, 5]), "a_full": zeroed(8, 3, 1, 1), "b": zeroed(4, 8, 1, 1, channels=[2]), "full": zeroed(4, 8, 1, 1),
         "around": zeroed(4, 8, 3, 3), "axes": np.array([1]), "step": np.float32(0.1)}


@pytest.mark.parametrize("name", STAYS)
def test_stays(name, tmp_path):
    nodes, outputs = STAYS[name]
    nodes = [helper.make_node(kind, takes.split(), [gives], **({"pads": [1] * 4} if "around" in takes else {})) for kind, takes, gives in nodes]
    used = {i for n in nodes for i in n.input}
    inputs = {"x": [2, 3, 7, 5], "v": [8, 3, 1, 1]}
    save(tmp_path / "m.onnx", nodes, {k: v for k, v in GIVEN.items() if k in used}, {k: v for k, v in inputs.items() if k in used}, outputs)
    samples(tmp_path, **{k: np.random.default_rng(1).standard_normal(v) for k, v in inputs.items() if k in used})
    whole, want = compiled(tmp_path)
    narrow, got = compiled(tmp_path, "--assume-finite")
    assert whole == narrow
    near(got, want)


def test_shared_weights(tmp_path):
    """one constant is the weights of two layers, one of which makes channels that nothing reads"""
    nodes = [helper.make_node(*n) for n in (("Conv", ["x", "a", "c"], ["h"]), ("Conv", ["x", "a", "c"], ["g"]), ("Relu", ["h"], ["r"]),
                                             ("Conv", ["r", "b"], ["y"]), ("Conv", ["g", "full"], ["z"]))]
    save(tmp_path / "m.onnx", nodes, {"a": GIVEN["a_full"], "b": GIVEN["b"], "full": GIVEN["full"], "c": np.arange(8, dtype=np.float32)},
         {"x": [2, 3, 7, 5]}, ["y", "z"])
    samples(tmp_path, x=np.random.default_rng(1).standard_normal((2, 3, 7, 5)))
    want = compiled(tmp_path)[1]
    narrow, got = compiled(tmp_path, "--assume-finite")
    assert sorted(narrow) == ["<2 x 4 x 7 x 5 x f32>"] * 2 + ["<2 x 7 x 7 x 5 x f32>", "<2 x 8 x 7 x 5 x f32>"]
    near(got, want)
