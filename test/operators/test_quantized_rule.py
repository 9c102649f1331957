# SPDX-License-Identifier: MIT
"""One rule of rounding for quantized networks (test/support/quantized.py): random graphs of both kinds that quantizers write, QDQ and
QOperator, against a reference in numpy. What is a contraction between quantizations, moved, bounded or scaled anew has the same bytes on
every target, with any number of threads."""
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "passes"))
import dnncc  # noqa: E402
import processor  # noqa: E402
import quantized  # noqa: E402
from quantized import F32, I64  # noqa: E402
from test_strips import BACKWARDS  # noqa: E402

U8, I8, I32 = np.uint8, np.int8, np.int32
DOMAIN = "com.microsoft"
TARGETS = ["generic", "x86-64", "x86-64-v3", "x86-64-v3-vnni", "x86-64-v4", "x86-64-v4-vnni", "sapphirerapids", "aarch64", "aarch64-dotprod"]


class Value:
    """a quantized tensor of the graph, and what it holds"""

    def __init__(self, name, q, scale, zero):
        self.name, self.q, self.scale, self.zero = name, q, F32(scale), np.asarray(zero)

    @property
    def shape(self):
        return self.q.shape

    def decoded(self):
        return quantized.decode(self.q, self.scale, self.zero)


class Graph:
    """A random graph, written and computed at once. kind: "qdq" or "qoperator". ties: scales such that results lie half between two
    numbers again and again, where every rounding shows."""

    def __init__(self, seed, kind, ties):
        self.r, self.kind, self.ties = np.random.default_rng([seed, kind == "qdq", ties]), kind, ties
        self.nodes, self.constants, self.given, self.results, self.count = [], [], {}, {}, 0

    # ---- writing ----

    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def constant(self, array):
        name = self.name("c")
        self.constants.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def node(self, op, inputs, domain="", **attributes):
        name = self.name("v")
        self.nodes.append(helper.make_node(op, inputs, [name], self.name("n"), domain=domain, **attributes))
        return name

    def parameters(self, v):
        return [self.constant(v.scale), self.constant(v.zero)]

    def dequantized(self, v):
        return self.node("DequantizeLinear", [v.name, *self.parameters(v)])

    def quantized(self, name, q, scale, zero):
        """of the floats `name`, the numbers q"""
        v = Value(None, q, scale, zero)
        v.name = self.node("QuantizeLinear", [name, *self.parameters(v)])
        return v

    # ---- choosing ----

    def chance(self, p):
        return self.r.random() < p

    def choice(self, values):
        return values[self.r.integers(len(values))]

    def zero(self, t):
        return quantized.ends(self.r, t)

    def type(self):
        return self.choice([U8, U8, I8])

    def input(self, shape):
        t = self.type()
        v = Value(self.name("x"), quantized.numbers(self.r, shape, t), self.r.uniform(0.01, 0.1), self.zero(t))
        self.given[v.name] = v.q
        return v

    def factor(self, s, sx, sw, t):
        """a result's scale that spreads these sums over its type, and m"""
        product = F32(sx) * np.asarray(sw, F32)
        width = max(np.percentile(np.abs(s.astype(np.float64) * np.broadcast_to(self.aligned(product, s), s.shape)), 95), 1e-6)
        sy = F32(width / self.r.uniform(60, 200))
        if self.ties:           # m is a power of two, or so nearly that only its rounding is not
            base = product.ravel()[0]
            sy = F32(base * F32(2.0 ** np.round(np.log2(sy / base))))
        return sy, product / sy

    @staticmethod
    def aligned(v, s):
        """numbers of channels over sums [N, M, ..] or [.., N]"""
        return v.reshape(-1, *[1] * (s.ndim - 2)) if np.ndim(v) and s.ndim > 2 else v

    def weights(self, shape, outputs):
        """numbers, scales of all or of each output, zero points"""
        t, each = self.choice([I8, I8, U8]), self.chance(0.6)
        w = self.r.integers(-127, 127, shape, endpoint=True).astype(I8) if t is I8 else quantized.numbers(self.r, shape, U8)
        scales = self.r.uniform(0.001, 0.02, outputs if each else ()).astype(F32)
        if self.ties and each:
            scales = F32(0.0123) * F32(2.0) ** self.r.integers(-3, 3, outputs).astype(F32)
        zeros = np.zeros(scales.shape, t) if t is I8 else np.full(scales.shape, self.r.integers(0, 255), t)
        return w, scales, zeros

    def bias(self, s, outputs):
        if self.chance(0.3):
            return None
        limit = int(max(np.abs(s).max(initial=0) // 4, 2))
        return self.r.integers(-limit, limit, outputs).astype(I32)

    # ---- contractions ----

    def finish(self, name, s, sx, sw, bound=True):
        """QDQ: bounds, perhaps, and a quantization behind a contraction whose floats are `name`"""
        t = self.type()
        sy, m = self.factor(s, sx, sw, t)
        zero, low, high, kind = self.zero(t), None, None, self.choice(["none", "none", "Relu", "Clip"]) if bound else "none"
        if kind == "Relu":
            name, low = self.node("Relu", [name]), 0
        elif kind == "Clip":
            a, b = F32(-40 * sy), F32(75 * sy)
            name, low, high = self.node("Clip", [name, self.constant(a), self.constant(b)]), a / sy, b / sy
        return self.quantized(name, quantized.requantize(s, self.aligned(m, s), zero, t, low, high), sy, zero)

    def conv(self, v):
        line = self.chance(0.15)                # of one spatial dimension
        if line:
            v = self.move(v, "Reshape", v.q.reshape(*v.shape[:2], -1))
        y = self.convolved(v, 1 if line else 2)
        return self.move(y, "Reshape", y.q[..., None]) if line else y

    def convolved(self, v, spatial):
        n, c, rows, columns = *v.shape, *[1] * (2 - spatial)
        groups = self.choice([1, 1, c, *([2] if c % 2 == 0 else [])])
        outputs = c if groups == c and self.chance(0.8) else groups * int(self.r.integers(1, max(2, 40 // groups)))
        window = [self.choice([1, 3, 3, 2])] * 2 if self.chance(0.7) else [self.choice([1, 3, 5]), self.choice([1, 2])]
        strides, dilations = [self.choice([1, 1, 2]) for _ in range(2)], [self.choice([1, 1, 2]) for _ in range(2)]
        pads = [int(self.r.integers(0, 3)) for _ in range(4)]
        for d, extent in enumerate((rows, columns)):
            if (window[d] - 1) * dilations[d] + 1 > extent + pads[d] + pads[d + 2]:
                window[d] = dilations[d] = 1
        if spatial == 1:
            window[1], pads[1], pads[3] = 1, 0, 0
        w, sw, zw = self.weights((outputs, c // groups, *window), outputs)
        x = quantized.wide(v.q, v.zero).reshape(n, c, rows, columns)
        s = quantized.convolve(x, quantized.wide(w, zw.reshape(-1, 1, 1, 1) if zw.ndim else zw), strides, dilations, pads, groups)
        bias = self.bias(s, outputs)
        s = s if bias is None else s + bias.reshape(-1, 1, 1)
        attributes = dict(strides=strides[:spatial], dilations=dilations[:spatial], pads=pads if spatial == 2 else pads[::2], group=groups)
        w, s = (w, s) if spatial == 2 else (w[..., 0], s[..., 0])
        if self.kind == "qoperator":
            t = self.type()
            sy, m = self.factor(s, v.scale, sw, t)
            y = Value(None, quantized.requantize(s, self.aligned(m, s), zero := self.zero(t), t), sy, zero)
            y.name = self.node("QLinearConv", [v.name, *self.parameters(v), self.constant(w), self.constant(sw), self.constant(zw), *self.parameters(y),
                                               *([] if bias is None else [self.constant(bias)])], **attributes)
            return y
        inputs = [self.dequantized(v), self.node("DequantizeLinear", [self.constant(w), self.constant(sw), self.constant(zw)], axis=0)]
        if bias is not None:
            inputs.append(self.node("DequantizeLinear", [self.constant(bias), self.constant(v.scale * sw)], axis=0))
        return self.finish(self.node("Conv", inputs, **attributes), s, v.scale, sw)

    def product(self, v):
        """rows of v by a matrix: MatMul, Gemm, QLinearMatMul, QGemm"""
        if len(v.shape) == 4:
            v = self.move(v, "Reshape", v.q.reshape(v.shape[0] * v.shape[1], -1))
        inner, outputs = v.shape[1], int(self.r.integers(1, 50))
        turned, bias_of = self.chance(0.5), self.chance(0.6)
        w, sw, zw = self.weights((inner, outputs), outputs)
        s = quantized.wide(v.q, v.zero) @ quantized.wide(w, zw)
        bias = self.bias(s, outputs) if bias_of else None
        s = s if bias is None else s + bias
        if self.kind == "qoperator":
            t = v.q.dtype.type
            sy, m = self.factor(s, v.scale, sw, t)
            y = Value(None, quantized.requantize(s, m, zero := self.zero(t), t), sy, zero)
            if bias is None and not turned:
                y.name = self.node("QLinearMatMul", [v.name, *self.parameters(v), self.constant(w), self.constant(sw), self.constant(zw), *self.parameters(y)])
            else:
                y.name = self.node("QGemm", [v.name, *self.parameters(v), self.constant(w.T if turned else w), self.constant(sw), self.constant(zw),
                                             "" if bias is None else self.constant(bias), *self.parameters(y)], DOMAIN, transB=int(turned))
            return y
        right = self.node("DequantizeLinear", [self.constant(w.T if turned else w), self.constant(sw), self.constant(zw)], axis=0 if turned else 1)
        left = self.dequantized(v)
        if bias is None and not turned:
            return self.finish(self.node("MatMul", [left, right]), s, v.scale, sw)
        shift = [] if bias is None else [self.node("DequantizeLinear", [self.constant(bias), self.constant(v.scale * sw)], axis=0)]
        return self.finish(self.node("Gemm", [left, right, *shift], transB=int(turned)), s, v.scale, sw)

    def of_activations(self, v):
        """v by itself, turned"""
        if len(v.shape) == 4:
            v = self.move(v, "Reshape", v.q.reshape(v.shape[0] * v.shape[1], -1))
        w = self.move(v, "Transpose", v.q.T)
        s = quantized.wide(v.q, v.zero) @ quantized.wide(w.q, w.zero)
        if self.kind == "qoperator":
            t = v.q.dtype.type
            sy, m = self.factor(s, v.scale, w.scale, t)
            y = Value(None, quantized.requantize(s, m, zero := self.zero(t), t), sy, zero)
            y.name = self.node("QLinearMatMul", [v.name, *self.parameters(v), w.name, *self.parameters(w), *self.parameters(y)])
            return y
        return self.finish(self.node("MatMul", [self.dequantized(v), self.dequantized(w)]), s, v.scale, w.scale)

    # ---- what moves numbers ----

    def move(self, v, op, q, *inputs, **attributes):
        """q is v's numbers in other places; the operator moves integers, or decoded floats between two quantizations of one scale"""
        if op == "Reshape":
            inputs = [self.constant(np.array(q.shape, I64))]
        if self.kind == "qdq" and self.chance(0.5):
            return self.quantized(self.node(op, [self.dequantized(v), *inputs], **attributes), q, v.scale, v.zero)
        return Value(self.node(op, [v.name, *inputs], **attributes), q, v.scale, v.zero)

    def max_pool(self, v):
        x = np.pad(v.q, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.iinfo(v.q.dtype).min)
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
        return self.move(v, "MaxPool", windows.max(axis=(4, 5)), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)

    def resize(self, v):
        scales = self.constant(np.array([1, 1, 2, 2], F32))
        return self.move(v, "Resize", v.q.repeat(2, axis=2).repeat(2, axis=3), "", scales, mode="nearest", coordinate_transformation_mode="asymmetric",
                         nearest_mode="floor")

    def concat(self, v):
        """with a value of another scale, which is encoded anew: floats as the graph has them"""
        w = self.input(v.shape)
        t = v.q.dtype.type
        sy, zero = F32(v.scale * F32(1.25)), self.zero(t)
        if self.kind == "qoperator" and w.q.dtype == v.q.dtype:
            parts = [quantized.encode(x.decoded(), sy, zero, t) for x in (v, w)]
            y = Value(None, np.concatenate(parts, axis=1), sy, zero)
            y.name = self.node("QLinearConcat", [*self.parameters(y), v.name, *self.parameters(v), w.name, *self.parameters(w)], DOMAIN, axis=1)
            return y
        name = self.node("Concat", [self.dequantized(v), self.dequantized(w)], axis=1)
        return self.quantized(name, quantized.encode(np.concatenate([v.decoded(), w.decoded()], axis=1), sy, zero, t), sy, zero)

    def again(self, v):
        """the same values in another scale, bounded perhaps"""
        t, x, name = self.type(), v.decoded(), self.dequantized(v)
        if self.chance(0.5):
            name, x = self.node("Relu", [name]), np.maximum(x, F32(0))
        sy, zero = F32(v.scale * F32(self.r.uniform(0.5, 2))), self.zero(t)
        return self.quantized(name, quantized.encode(x, sy, zero, t), sy, zero)

    # ---- arithmetic of floats: of two bytes it is exact, sums and functions other orders and libraries round otherwise ----

    def floats(self, v):
        t = v.q.dtype.type
        kind = self.choice(["Add", "Mul", "AveragePool", "Sigmoid", "Softmax"] if len(v.shape) == 4 else ["Add", "Mul", "Sigmoid", "Softmax"])
        x, name, more, attributes = v.decoded(), None, [], {}
        if kind in ("Add", "Mul"):
            w = self.input(v.shape)
            while w.q.dtype != v.q.dtype:
                w = self.input(v.shape)
            more, x = [w], x + w.decoded() if kind == "Add" else x * w.decoded()
        elif kind == "AveragePool":
            attributes = dict(kernel_shape=[2, 2], strides=[1, 1])
            if min(v.shape[2:]) < 2:
                return
            x = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (2, 2), axis=(2, 3)).mean(axis=(4, 5)).astype(F32)
        elif kind == "Sigmoid":
            x = (1 / (1 + np.exp(-x.astype(np.float64)))).astype(F32)
        else:
            e = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
            x, attributes = (e / e.sum(axis=-1, keepdims=True)).astype(F32), dict(axis=-1)
        sy, zero = F32(max(np.abs(x).max(initial=0), 1e-6) / 100), self.zero(t)
        y = quantized.encode(x, sy, zero, t)
        if self.kind == "qoperator":
            parts = [part for w in [v, *more] for part in (w.name, *self.parameters(w))]
            extra = {"opset": 13} if kind == "Softmax" else {}
            name = self.node(f"QLinear{kind}", [*parts, self.constant(sy), self.constant(zero)], DOMAIN, **attributes, **extra)
        else:
            name = self.quantized(self.node(kind, [self.dequantized(w) for w in [v, *more]], **attributes), y, sy, zero).name
        self.results[name] = (y, 0 if kind in ("Add", "Mul") else 1)

    # ---- the graph ----

    def build(self, steps):
        if self.chance(0.25):
            channels, extents = (1, 2, 3), (1, 4)
        elif self.chance(0.2):
            channels, extents = (300, 700), (1, 4)
        else:
            channels, extents = (1, 3, 8, 16, 20, 33), (5, 15)
        v = self.input((int(self.r.integers(1, 3)), int(self.choice(channels)), *(int(self.r.integers(*extents)) for _ in range(2))))
        for _ in range(steps):
            images = len(v.shape) == 4
            small = images and v.q.size < 8000
            kinds = [self.conv] * 6 + [self.max_pool, self.concat, self.again] + [self.resize] * small if images else [self.product] * 3 + [self.of_activations,
                                                                                                                                         self.again]
            if images and self.chance(0.15):
                kinds = [self.product]
            v = self.choice(kinds)(v)
            if self.chance(0.25):
                self.floats(v)
            if self.chance(0.3):
                self.results[v.name] = (v.q, 0)
        self.results[v.name] = (v.q, 0)
        return self

    def model(self):
        def port(name, array):
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        graph = helper.make_graph(self.nodes, "rule", [port(n, q) for n, q in self.given.items()], [port(n, q) for n, (q, _) in self.results.items()],
                                  self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)], ir_version=8)


def differences(graph, folder, target, threads, flags=()):
    """[(result, how many bytes differ by more than they may, of how many, the largest difference)]"""
    folder.mkdir()
    onnx.save(graph.model(), folder / "model.onnx")
    dnncc.compile_model(folder / "model.onnx", folder, [f"--target={target}", f"--threads={threads}", *flags])
    if threads > 1:
        with open(folder / "model.c", "a") as file:
            file.write(BACKWARDS)
    outputs = dnncc.run_host(dnncc.build_host(folder, ["-O1"], emulator=processor.emulator(target)), list(graph.given.values()))
    found = []
    for (name, (want, may)), got in zip(graph.results.items(), outputs):
        assert got.dtype == want.dtype and got.shape == want.shape
        off = np.abs(got.astype(int) - want.astype(int))
        found.append((name, int((off > may).sum()), off.size, int(off.max(initial=0))))
    return found


WAYS = [(target, threads) for threads in (1, 2) for target in TARGETS if threads == 1 or target in ("generic", "x86-64-v4")]
EVERYWHERE = *range(6), 58, 162, 226, 381       # the graphs of each kind that are for all ways, some once wrong; 226 (ties) and 381 (any) rewrote without end


def check_rule(kind, ties, seed, ways, folder):
    graph = Graph(seed, kind, ties).build(4)
    for target, threads in ways:
        wrong = [r for r in differences(graph, folder / f"{target}{threads}", target, threads) if r[1]]
        assert not wrong, (target, threads, wrong)


@pytest.mark.parametrize("way", WAYS, ids=[f"{target}-{threads}" for target, threads in WAYS])
@pytest.mark.parametrize("seed", EVERYWHERE)
@pytest.mark.parametrize("ties", [False, True], ids=["any", "ties"])
@pytest.mark.parametrize("kind", ["qdq", "qoperator"])
@pytest.mark.sample(48, each=False)
def test_rule(kind, ties, seed, way, tmp_path):
    processor.require(way[0])
    check_rule(kind, ties, seed, [way], tmp_path)


@pytest.mark.parametrize("seed", [seed for seed in range(500) if seed not in EVERYWHERE])
@pytest.mark.parametrize("ties", [False, True], ids=["any", "ties"])
@pytest.mark.parametrize("kind", ["qdq", "qoperator"])
@pytest.mark.long
def test_rule_in_turns(kind, ties, seed, tmp_path):
    """of many more graphs each in one of the ways"""
    ways = [(target, threads) for threads in (1, 2) for target in processor.these(TARGETS)]
    check_rule(kind, ties, seed, [ways[seed % len(ways)]], tmp_path)


def test_halves(tmp_path):
    """s / 2 for odd s, 32 at a time: decoded floats, however they are summed, are off such halves by roundings of their own"""
    graph = Graph(0, "qdq", True)
    x = Value("x", np.arange(256).astype(U8).reshape(1, 1, 1, 256), 0.1, U8(128))
    w, sw, bias = np.array([1, 3, -5], I8).reshape(3, 1, 1, 1), F32([0.3, 0.03, 0.7]), np.array([7, 0, -33], I32)
    graph.given["x"] = x.q
    s = quantized.wide(x.q, x.zero) * w.reshape(3, 1, 1).astype(I64) + bias.reshape(3, 1, 1)
    inputs = [graph.dequantized(x), *(graph.node("DequantizeLinear", [graph.constant(v), graph.constant(scale)], axis=0)
                                      for v, scale in ((w, sw), (bias, x.scale * sw)))]
    sums, floats = graph.node("Conv", inputs), x.decoded() * (w.astype(F32) * sw.reshape(3, 1, 1, 1)).reshape(3, 1, 1) + (bias * (x.scale * sw)).reshape(3, 1, 1)
    off = 0
    for channel in range(3):
        sy, zero = F32(x.scale * sw[channel] * F32(2)), U8(100)
        m = x.scale * sw / sy
        y = quantized.requantize(s, m.reshape(3, 1, 1), zero, U8)
        assert m[channel] == 0.5 and (y[0, channel] == np.clip(np.rint(s[0, channel] / 2) + 100, 0, 255)).all()
        v = graph.quantized(sums, y, sy, zero)
        graph.results[v.name] = (v.q, 0)
        off += (quantized.encode(floats.astype(F32), sy, zero, U8)[0, channel] != y[0, channel]).sum()
    assert off > 20             # the rule is to be seen here
    for target in processor.these(TARGETS):
        assert not any(r[1] for r in differences(graph, tmp_path / target, target, 1)), target


# scales of x, y and the result, and zero points: any; ties that only the graph's own roundings decide, so that no other formula will do
PAIRS = [(0.0371, 0.0412, 0.0629, 128, 117, 131), (0.1, 0.1, 0.2, 3, 250, 77), (0.02, 0.05, 0.061, 0, 0, 0), (0.1, 0.05, 0.3, 0, 128, 200),
         (0.0123, 0.0369, 0.0246, 128, 128, 128), (1e-4, 0.5, 0.7, 5, 100, 0), (0.011, 0.007, 2e-5, 1, 2, 3)]


@pytest.mark.parametrize("case", [pytest.param(case, marks=[pytest.mark.long] * (i > 2)) for i, case in enumerate(PAIRS)], ids=str)
def test_pairs(case, tmp_path):
    """sums, differences and products of all pairs of bytes have the bytes that the graph's floats say, on every target"""
    graph, every = Graph(0, "qdq", False), np.arange(256).astype(U8)
    sx, sy, scale, zx, zy, zero = case
    x, y = Value("x", np.repeat(every, 256), sx, U8(zx)), Value("y", np.tile(every, 256), sy, U8(zy))
    graph.given = {"x": x.q, "y": y.q}
    a, b = x.decoded(), y.decoded()
    for op, real in ("Add", a + b), ("Sub", a - b), ("Mul", a * b), ("Relu", np.maximum(a + b, F32(0))):
        of_result = F32(np.abs(real).max() / 100 if op == "Mul" else scale)
        name = graph.node("Add" if op == "Relu" else op, [graph.dequantized(x), graph.dequantized(y)])
        name = graph.node("Relu", [name]) if op == "Relu" else name
        v = graph.quantized(name, quantized.encode(real, of_result, U8(zero), U8), of_result, U8(zero))
        graph.results[v.name] = (v.q, 0)
        assert len(np.unique(v.q)) > 1
    for i, (target, flags) in enumerate([*((t, []) for t in processor.these(TARGETS)), ("generic", ["--exact"])]):
        wrong = [r for r in differences(graph, tmp_path / str(i), target, 1, flags) if r[1]]
        assert not wrong, (target, flags, wrong)


def in_order(v):
    """sums along the last dimension, one after the other in f32"""
    total = np.zeros(v.shape[:-1], F32)
    for i in range(v.shape[-1]):
        total = total + v[..., i]
    return total


def test_averages(tmp_path):
    """Averages of decoded bytes that become bytes of the same scale lie half between two numbers again and again, and no target's order of
    additions may decide these: windows add up as the graph does, each product rounded before; whole dimensions add up the bytes."""
    graph, scale, count = Graph(3, "qdq", False), F32(0.12706915), 0
    windows = np.lib.stride_tricks.sliding_window_view
    for op, shape, attributes in (
            ("AveragePool", (1, 48, 1, 1, 64), {"kernel_shape": [8, 8]}), ("AveragePool", (1, 48, 5, 5, 16), {"kernel_shape": [4, 4]}),
            ("GlobalAveragePool", (1, 48, 1, 1, 64), {}), ("ReduceMean", (1, 48, 8, 8), {"axes": [3], "keepdims": 0})):
        name = graph.name("x")
        x = Value(name, graph.r.integers(-128, 128, (1, 48, 8, 8)).astype(I8), scale, I8(-5))
        graph.given[name] = x.q
        v = windows(x.decoded(), (4, 4), (2, 3)) if shape[-1] == 16 else x.decoded()
        sums = in_order(v.reshape(shape)) if op == "AveragePool" else quantized.wide(x.q, x.zero).reshape(shape).sum(-1).astype(F32) * scale
        real = sums * F32(1 / shape[-1]) / scale
        count += int((np.abs(real - np.floor(real) - F32(0.5)) < 1e-4).sum())
        q = np.clip(np.rint(real) + I8(9), -128, 127).astype(I8)
        y = graph.quantized(graph.node(op, [graph.dequantized(x)], **attributes), q, scale, I8(9))
        graph.results[y.name] = (y.q, 0)
    assert count > 50
    for target in processor.these(TARGETS):
        assert not [r for r in differences(graph, tmp_path / target, target, 1) if r[1]], target


@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
def test_scales_of_many(target, tmp_path):
    """f32(f32(sx * sw) / sy) is one number for an output, though it is spread over more places than are folded: no rule rounds it otherwise"""
    graph = Graph(439, "qoperator", True).build(4)
    for target in processor.these([target]):
        assert not [r for r in differences(graph, tmp_path / "m", target, 1) if r[1]]


# a target, the type of x, the function of a multiply for weights that are small, and how large these may be
SHORT = [("x86-64-v3", U8, "dot_u8_i8_short", 64), ("x86-64-v4", U8, "dot_u8_i8_short", 64), ("aarch64", I8, "dot_i8_short", 127)]


@pytest.mark.parametrize("target, t, function, limit", SHORT, ids=[case[0] for case in SHORT])
@pytest.mark.parametrize("more", [0, 1])
def test_small_weights(target, t, function, limit, more, tmp_path):
    """sums of two products in 16 bits are right up to that limit; one weight beyond it, and others multiply"""
    graph, r, (low, high) = Graph(0, "qdq", True), np.random.default_rng(limit), (np.iinfo(t).min, np.iinfo(t).max)
    x = Value("x", r.choice([low, high], (1, 32, 9, 9)).astype(t), 0.05, t(0))
    x.q[0, :, 0], x.q[0, :, 1] = high, low
    w = r.choice([-limit, limit], (48, 32, 3, 3)).astype(I8)
    w[0], w[1] = limit, -limit
    w[5, 3, 1, 2] = -limit - more
    graph.given["x"] = x.q
    s = quantized.convolve(quantized.wide(x.q, x.zero), quantized.wide(w, I8(0)), [1, 1], [1, 1], [0] * 4, 1)
    sw, sy = F32(0.01), F32(F32(0.05) * F32(0.01) * F32(2 ** 13))
    weights = graph.node("DequantizeLinear", [graph.constant(w), graph.constant(sw)])
    y = quantized.requantize(s, F32(x.scale * sw) / sy, I8(3), I8)
    v = graph.quantized(graph.node("Conv", [graph.dequantized(x), weights]), y, sy, I8(3))
    graph.results[v.name] = (v.q, 0)
    assert len(np.unique(y)) > 50
    if not processor.these([target]):
        return
    assert not [r for r in differences(graph, tmp_path / "m", target, 1) if r[1]]
    assert (function in (tmp_path / "m" / "model.c").read_text()) == (not more)


@pytest.mark.sample(2)
@pytest.mark.parametrize("depth, unit", [(24, 1 << 13), (300, 1 << 17)])
def test_activations(depth, unit, tmp_path):
    """both operands are made while it runs, with halves; 300 products are more than floats add up exactly"""
    graph, r = Graph(0, "qdq", True), np.random.default_rng(depth)
    a = Value("a", r.integers(0, 256, (37, depth)).astype(U8), 0.037, U8(3))
    b = Value("b", r.integers(0, 256, (depth, 21)).astype(U8), 0.0021, U8(0))
    a.q[0], b.q[:, 0], b.q[:, 1] = 255, 255, 0
    graph.given.update(a=a.q, b=b.q)
    sy, zero = F32(a.scale * b.scale) * F32(unit), U8(17)
    s, m = quantized.wide(a.q, a.zero) @ quantized.wide(b.q, b.zero), F32(F32(a.scale * b.scale) / sy)
    y = quantized.requantize(s, m, zero, U8)
    v = graph.quantized(graph.node("MatMul", [graph.dequantized(a), graph.dequantized(b)]), y, sy, zero)
    graph.results[v.name] = (v.q, 0)
    assert len(np.unique(y)) > 5 and (depth < 258 or s.max() > 1 << 24)
    for target in processor.these(TARGETS):
        assert not [r for r in differences(graph, tmp_path / target, target, 1) if r[1]], target
