# SPDX-License-Identifier: MIT
"""Inputs of every exponent and both signs, against the functions in f64: nothing overflows, underflows or cancels on the way where the result does not.

A result may be off by the bound below times its size, times what an error of the input of half a unit in the last place makes of it (QuickGelu of -20 is
e^-34 times as much), and Gelu by 1 + erf by half a unit in the last place of x, as everywhere (PyTorch, onnxruntime). Below 1e-36 is 0 enough: 1 / (1 + e^-x)
has no numbers below 1e-38."""
import math
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto as T, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

F32, F64 = np.float32, np.float64
erf, erfc = np.vectorize(math.erf), np.vectorize(math.erfc)
TINY, BOUND = 1e-36, 1e-6


def logistic(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def expm1_below(x):
    return np.expm1(np.minimum(x, 0))


def gelu(x):
    return x / 2 * erfc(-x / math.sqrt(2))


def gelu_tanh(x):
    return x * logistic(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))


SELU = F64(F32(1.6732632)), F64(F32(1.050701))
# operator, its attributes, the function; of each operation of ops.def that is element-wise and each operator composed of such
FUNCTIONS = [
    ("Elu", {}, lambda x: np.where(x < 0, expm1_below(x), x)), ("Celu", dict(alpha=2.0), lambda x: np.where(x < 0, 2 * expm1_below(x / 2), x)),
    ("Selu", {}, lambda x: SELU[1] * np.where(x < 0, SELU[0] * expm1_below(x), x)),
    ("Gelu", {}, gelu), ("Gelu", dict(approximate="tanh"), gelu_tanh), ("com.microsoft.Gelu", {}, gelu), ("com.microsoft.FastGelu", {}, gelu_tanh),
    ("com.microsoft.QuickGelu", {}, lambda x: x * logistic(F64(F32(1.702)) * x)), ("Swish", {}, lambda x: x * logistic(x)),
    ("Swish", dict(alpha=1.7), lambda x: x * logistic(F64(F32(1.7)) * x)), ("Mish", {}, lambda x: x * np.tanh(softplus(x))),
    ("HardSigmoid", {}, lambda x: np.clip(F64(F32(0.2)) * x + 0.5, 0, 1)), ("HardSwish", {}, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    ("Softsign", {}, lambda x: x / (1 + np.abs(x))), ("Softplus", {}, softplus), ("Sigmoid", {}, logistic), ("Tanh", {}, np.tanh), ("Exp", {}, np.exp),
    ("LeakyRelu", {}, lambda x: np.where(x < 0, F64(F32(0.01)) * x, x)), ("ThresholdedRelu", {}, lambda x: np.where(x > 1, x, 0)),
    ("Shrink", {}, lambda x: np.where(np.abs(x) > 0.5, x, 0)), ("Relu", {}, lambda x: np.maximum(x, 0)),
    ("Sinh", {}, np.sinh), ("Cosh", {}, np.cosh), ("Asinh", {}, np.arcsinh), ("Acosh", {}, np.arccosh), ("Atanh", {}, np.arctanh), ("Sin", {}, np.sin),
    ("Cos", {}, np.cos), ("Tan", {}, np.tan), ("Asin", {}, np.arcsin), ("Acos", {}, np.arccos), ("Atan", {}, np.arctan), ("Erf", {}, erf), ("Sqrt", {}, np.sqrt),
    ("Log", {}, np.log), ("Reciprocal", {}, np.reciprocal), ("Abs", {}, np.abs), ("Neg", {}, np.negative), ("Sign", {}, np.sign), ("Floor", {}, np.floor),
    ("Ceil", {}, np.ceil), ("Round", {}, np.round)]


def inputs():
    powers = np.exp2(np.arange(-149, 128))
    x = np.concatenate([sign * m * powers for sign in (1, -1) for m in (1, 1.37)] + [np.linspace(-30, 30, 601), np.linspace(-100, 100, 401)])
    with np.errstate(over="ignore"):
        x = x.astype(F32)
    return x[np.isfinite(x)]


def model_of(functions, x, constants=()):
    nodes = [helper.make_node(op.rpartition(".")[2], ["x", *more], [f"y{k}"], domain=op.rpartition(".")[0], **attributes)
             for k, (op, attributes, _, *more) in enumerate(functions)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", T.FLOAT, x.shape)],
                              [onnx.ValueInfoProto(name=f"y{k}") for k in range(len(nodes))], list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24), helper.make_opsetid("com.microsoft", 1)], ir_version=11)


def results(model, x, target, folder, options=()):
    onnx.save(model, folder / "model.onnx")
    dnncc.compile_model(folder / "model.onnx", folder, [f"--target={target}", *options])
    return dnncc.run_host(dnncc.build_host(folder, ["-O1"]), [x])


def far(got, want, room):
    """where a result is neither near nor as infinite as it has to be"""
    with np.errstate(invalid="ignore", over="ignore"):
        near = (np.abs(got - want) <= room) | (got == want.astype(F32)) | (np.isnan(got) & np.isnan(want))
    return np.flatnonzero(~near)


@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "x86-64-v4"])
def test_functions(target, tmp_path):
    processor.require(target)
    x, wrong = inputs(), []
    wide = x.astype(F64)
    for (op, attributes, function), got in zip(FUNCTIONS, results(model_of(FUNCTIONS, x), x, target, tmp_path)):
        with np.errstate(all="ignore"):
            want, beside = function(wide), function(wide * (1 + 2.0 ** -24))
            moved = np.where(np.isfinite(beside - want), np.abs(beside - want), 0)
            room = BOUND * np.abs(want) + 2 * moved + TINY
            if op.endswith("Gelu") and function is gelu:
                room += 2.0 ** -24 * np.abs(wide)
        wrong += [f"{op} {attributes}: {got[i]} at {x[i]}, want {want[i]}" for i in far(got, want, room)[:3]]
    assert not wrong, "\n".join(wrong)


# ---- along rows ----


def largest(x):
    return x.max(-1, keepdims=True)


def log_sum(x):
    return largest(x) + np.log(np.exp(x - largest(x)).sum(-1, keepdims=True))


def length(x):
    return np.sqrt((x * x).sum(-1, keepdims=True))


ROWS = [
    ("Softmax", {}, lambda x: np.exp(x - log_sum(x))), ("LogSoftmax", {}, lambda x: x - log_sum(x)), ("ReduceLogSumExp", {}, log_sum, "axes"),
    ("ReduceL2", {}, length, "axes"), ("ReduceL1", {}, lambda x: np.abs(x).sum(-1, keepdims=True), "axes"), ("LpNormalization", dict(p=2), lambda x: x / length(x)),
    ("LpNormalization", dict(p=1), lambda x: x / np.abs(x).sum(-1, keepdims=True)), ("ReduceMean", {}, lambda x: x.mean(-1, keepdims=True), "axes"),
    ("ReduceSumSquare", {}, lambda x: (x * x).sum(-1, keepdims=True), "axes")]


@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "x86-64-v4"])
def test_rows(target, tmp_path):
    processor.require(target)
    scales = np.array([1, 1e10, 1e18, 1e19, 1e25, 1e37, 1e-10, 1e-19, 1e-25, 1e-36, 100])
    x = (np.random.default_rng(0).standard_normal((len(scales), 16)) * scales[:, None]).astype(F32)
    wrong = []
    axes = numpy_helper.from_array(np.array([1], np.int64), "axes")
    for (op, attributes, function, *_), got in zip(ROWS, results(model_of(ROWS, x, [axes]), x, target, tmp_path)):
        with np.errstate(all="ignore"):
            want = function(x.astype(F64))
        for row, scale in enumerate(scales):
            room = 1e-5 * np.max(np.abs(want[row])) + TINY
            wrong += [f"{op} {attributes} of 16 numbers around {scale}: {got[row][i]}, want {want[row][i]}" for i in far(got[row], want[row], room)[:1]]
    assert not wrong, "\n".join(wrong)


def test_norms_of_large_numbers(tmp_path):
    """a variance beyond 3.4e38 is infinite, and what is normalized 0, as in onnxruntime (docs/user-guide.md#where-programs-differ)"""
    x = (np.random.default_rng(0).standard_normal((3, 4, 8)) * np.array([1, 1e25, 1e-25])[:, None, None]).astype(F32)
    one = numpy_helper.from_array(np.ones(8, F32), "one"), numpy_helper.from_array(np.ones(4, F32), "four")
    norms = [("LayerNormalization", {}, None, "one"), ("RMSNormalization", {}, None, "one"), ("InstanceNormalization", {}, None, "four", "four")]
    model = model_of(norms, x, one)
    model.opset_import[0].version, model.ir_version = 23, 10
    want = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    for (op, *_), got, w in zip(norms, results(model, x, "generic", tmp_path), want):
        np.testing.assert_allclose(got, w, rtol=1e-4, atol=1e-6, err_msg=op)
        assert np.ptp(got[1]) == 0, op                  # the bias alone


def exact_norms(x):
    """what each norm gives in f64, of rows of 8 or of all but batch and channels"""
    def standard(x, axes, epsilon, root=0.0):
        d = x - x.mean(axes, keepdims=True)
        return d / (np.sqrt((d * d).mean(axes, keepdims=True) + epsilon) + root)
    mean = x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + EPSILON)
    grouped = standard(x.reshape(len(x), 2, -1), 2, EPSILON).reshape(x.shape)
    return [standard(x, -1, EPSILON), mean, inverse, x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON), standard(x, (-1,), EPSILON), grouped,
            standard(x, (2,), 0.0, 1e-9)]


EPSILON = float(F32(1e-5))


@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
def test_norms_of_any_numbers_where_exact(target, tmp_path):
    """--exact: no square and no sum of a norm overflows, no mean takes its deviations' digits (docs/user-guide.md#where-programs-differ)"""
    processor.require(target)
    rows = [(0, s) for s in (1, 1e10, 1e18, 1e19, 1e25, 1e37, 1e-4, 1e-19, 1e-30)] + [(1e6, 1), (-3e38, 1e37), (1e30, 1e24), (1, 1e-6)]
    spread = np.random.default_rng(0).standard_normal((len(rows), 4, 8))
    x = np.clip(np.array([m for m, _ in rows])[:, None, None] + spread * np.array([s for _, s in rows])[:, None, None], -3.4e38, 3.4e38).astype(F32)
    values = [numpy_helper.from_array(np.ones(8, F32), "eight"), numpy_helper.from_array(np.ones(4, F32), "four"), numpy_helper.from_array(np.zeros(4, F32), "none")]
    nodes = [helper.make_node("LayerNormalization", ["x", "eight"], ["y0", "y1", "y2"]), helper.make_node("RMSNormalization", ["x", "eight"], ["y3"]),
             helper.make_node("InstanceNormalization", ["x", "four", "none"], ["y4"]),
             helper.make_node("GroupNormalization", ["x", "four", "none"], ["y5"], num_groups=2),
             helper.make_node("MeanVarianceNormalization", ["x"], ["y6"], axes=[2])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", T.FLOAT, x.shape)], [onnx.ValueInfoProto(name=f"y{k}") for k in range(7)], values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    wrong = []
    for k, (got, want) in enumerate(zip(results(model, x, target, tmp_path, ["--exact"]), exact_norms(x.astype(F64)))):
        for row, (g, w) in enumerate(zip(got, want)):
            room = 3e-5 * np.max(np.abs(w)) + TINY
            wrong += [f"y{k} of numbers around {rows[row]}: {g.flat[i]}, want {w.flat[i]}" for i in far(g.ravel(), w.ravel(), room)[:1]]
    assert not wrong, "\n".join(wrong)
