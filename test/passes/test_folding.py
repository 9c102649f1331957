# SPDX-License-Identifier: MIT
"""fold: weights that a model computes from constants are constants, whatever their size, unless that makes the constants larger."""
import pathlib
import re
import sys
import time

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

CHANNELS, SIZE = 96, 12                 # 83 KB of weights: more than what may be added for a result


class Weights:
    """nodes and constants that make the weights of a convolution by 3 x 3 windows"""

    def __init__(self):
        self.nodes, self.constants, self.random = [], [], np.random.default_rng(0)

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def op(self, kind, *operands, **attributes):
        self.nodes.append(helper.make_node(kind, operands, [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def normal(self, *shape, dtype=np.float32):
        return self.constant((self.random.standard_normal(shape, np.float32) / 8 + 0.01).astype(dtype))

    def weights(self):
        return self.normal(CHANNELS, CHANNELS, 3, 3)

    def standardized(self, w, axes=(1, 2, 3)):
        less = self.op("Sub", w, self.op("ReduceMean", w, axes=axes))
        variance = self.op("ReduceMean", self.op("Mul", less, less), axes=axes)
        by = self.op("Sqrt", self.op("Add", variance, self.constant(np.float32(1e-5))))
        return self.op("Mul", self.op("Div", less, by), self.normal(CHANNELS, 1, 1, 1))


def standardized(g):
    return g.standardized(g.weights())


def instance(g):
    """as PyTorch's exporter writes a batch normalization of the weights"""
    flat = g.op("Reshape", g.weights(), g.constant(np.array([1, CHANNELS, -1])))
    same = g.op("InstanceNormalization", flat, g.normal(CHANNELS), g.normal(CHANNELS), epsilon=1e-5)
    return g.op("Reshape", same, g.constant(np.array([CHANNELS, CHANNELS, 3, 3])))


def halves(g):
    """stored in 16 bits, computed in 32, used in 16: as large as before"""
    w = g.op("Cast", g.normal(CHANNELS, CHANNELS, 3, 3, dtype=np.float16), to=TensorProto.FLOAT)
    return g.op("Cast", g.op("Cast", g.standardized(w), to=TensorProto.FLOAT16), to=TensorProto.FLOAT)


def normed(g):
    """each output's weights by their length, and a gain"""
    w = g.weights()
    return g.op("Mul", g.op("Div", w, g.op("ReduceL2", w, axes=[1, 2, 3])), g.normal(CHANNELS, 1, 1, 1))


def rounded(g):
    """the rounding of weights to bytes is folded, reading them is not"""
    return g.op("DequantizeLinear", g.op("QuantizeLinear", g.weights(), g.constant(np.float32(1 / 256))), g.constant(np.float32(1 / 256)))


def decoded(g):
    """weights in bytes, a scale for each output"""
    w = g.constant(g.random.integers(-127, 127, (CHANNELS, CHANNELS, 3, 3), np.int8))
    return g.op("DequantizeLinear", w, g.constant(np.linspace(0.001, 0.002, CHANNELS, dtype=np.float32)), axis=0)


def grown(g):
    """an outer product, standardized: 83 KB of 4"""
    return g.standardized(g.op("Mul", g.normal(CHANNELS, 1, 3, 3), g.normal(1, CHANNELS, 1, 1)))


def shared(g):
    """the model's output reads the weights as they were, too"""
    w = g.weights()
    g.nodes.append(helper.make_node("Identity", [w], ["also"]))
    return g.standardized(w)


def long(g):
    """work that is out of proportion to the weights"""
    w = g.weights()
    for _ in range(200):
        w = g.op("Sin", w)
    return w


def model_of(make, path):
    g = Weights()
    w = make(g)
    y = g.op("Conv", "x", w, pads=[1] * 4)
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
             for name, shape in (("x", [1, CHANNELS, SIZE, SIZE]), (y, [1, CHANNELS, SIZE, SIZE]), ("also", [CHANNELS, CHANNELS, 3, 3]))]
    graph = helper.make_graph(g.nodes, "m", ports[:1], ports[1:3 if make is shared else 2], g.constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def operations(model, *options):
    text = dnncc.run([dnncc.DNNCC, model, "--target=x86-64-v3", "--passes=simplify,fold,cse,dce", "--emit=ir", "-o", "-", *options]).stdout
    return re.findall(r"%\d+ = (\w+)\(", text), text


@pytest.mark.parametrize("make", [standardized, instance, halves, normed])
def test_folded(make, tmp_path):
    """a convolution is left, and constants of the bytes that the model had"""
    found, text = operations(model_of(make, tmp_path / "m.onnx"))
    assert found in (["convolve"], ["cast", "convolve"]), text
    assert len(re.findall(rf"^const @\w+ : <{CHANNELS} x ", text, re.MULTILINE)) == 1


@pytest.mark.parametrize("make", [standardized, normed])
def test_known_to_rules(make, tmp_path):
    """scales behind the convolution go into weights that the model computes"""
    model = onnx.load(model_of(make, tmp_path / "m.onnx"))
    model.graph.node.append(helper.make_node("Mul", [model.graph.output[0].name, "scale"], ["y"]))
    model.graph.initializer.append(numpy_helper.from_array(np.linspace(1, 2, CHANNELS, dtype=np.float32).reshape(1, CHANNELS, 1, 1), "scale"))
    model.graph.output[0].name = "y"
    onnx.save(model, tmp_path / "m.onnx")
    assert operations(tmp_path / "m.onnx")[0] == ["convolve"]


@pytest.mark.parametrize("make, kept", [(rounded, "cast"), (decoded, "cast"), (grown, "reduce"), (shared, "reduce"), (long, "sin")])
def test_left(make, kept, tmp_path):
    """what would be larger, or take long, runs as before"""
    start = time.process_time()
    found, text = operations(model_of(make, tmp_path / "m.onnx"))
    assert kept in found and time.process_time() - start < 5
    assert bool(re.search(" x [iu]8>", text)) == (make in (rounded, decoded))
    sizes = [int(np.prod([int(n) for n in dims.split(" x ")])) for dims in re.findall(r"^const @\w+ : <([\d x]+) x \w+>", text, re.MULTILINE)]
    assert sum(sizes) < 1.1 * CHANNELS * CHANNELS * 9


def test_normalization_in_bytes(tmp_path):
    """parameters of a BatchNormalization that are bytes: a scale and a shift for each channel, as if they were floats"""
    g, names = Weights(), []
    for low in (-127, -127, -127, 1):
        names.append(g.op("DequantizeLinear", g.constant(g.random.integers(low, 127, 200, np.int8)), g.constant(np.float32(0.01))))
    y = g.op("BatchNormalization", "x", *names)
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 200, 4, 4]) for name in ("x", y)]
    onnx.save(helper.make_model(helper.make_graph(g.nodes, "m", ports[:1], ports[1:], g.constants), opset_imports=[helper.make_opsetid("", 15)], ir_version=8),
              tmp_path / "m.onnx")
    found, text = operations(tmp_path / "m.onnx")
    assert "cast" not in found and "sqrt" not in found and " x i8>" not in text


@pytest.mark.slow
@pytest.mark.sample(14, each=False)
@pytest.mark.parametrize("make", [standardized, instance, halves, normed, rounded, grown, shared])
@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
def test_results(make, target, tmp_path):
    """each pass keeps the interpreter's bits, C has them, and onnxruntime agrees"""
    if not processor.has(target):
        pytest.skip("this processor cannot run it")
    model = model_of(make, tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, model, f"--target={target}", "--check"])
    assert done.returncode == 0, done.stderr
    dnncc.compile_model(model, tmp_path, [f"--target={target}"])
    program = dnncc.build_host(tmp_path, ["-O1"])
    x = np.random.default_rng(1).standard_normal((1, CHANNELS, SIZE, SIZE), np.float32)
    want = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    for a, b in zip(dnncc.run_host(program, [x]), want):
        assert np.abs(a - b).max() <= 1e-4 * np.abs(b).max()
