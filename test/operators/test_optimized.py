# SPDX-License-Identifier: MIT
"""Models as onnxruntime's optimizer saves them, at each of its levels; at the last two, convolutions are those of com.microsoft.nchwc."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

LEVELS = onnxruntime.GraphOptimizationLevel
SAVED = {"basic": LEVELS.ORT_ENABLE_BASIC, "extended": LEVELS.ORT_ENABLE_EXTENDED, "layout": getattr(LEVELS, "ORT_ENABLE_LAYOUT", LEVELS.ORT_ENABLE_ALL),
         "all": LEVELS.ORT_ENABLE_ALL}


class Network:
    """a graph, node by node; convolutions are by random weights, with a bias"""

    def __init__(self, *shape):
        self.shape, self.nodes, self.weights, self.random = shape, [], [], np.random.default_rng(7)

    def node(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name, **attributes))
        return name

    def constant(self, values):
        self.weights.append(numpy_helper.from_array(values, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def conv(self, x, outputs, inputs, kernel=3, **attributes):
        w, bias = self.random.uniform(-0.3, 0.3, (outputs, inputs, kernel, kernel)), self.random.uniform(-1, 1, outputs)
        return self.node("Conv", x, self.constant(w.astype(np.float32)), self.constant(bias.astype(np.float32)), pads=[kernel // 2] * 4, **attributes)

    def model(self, *results):
        graph = helper.make_graph(self.nodes, "network", [helper.make_tensor_value_info("x", 1, self.shape)],
                                  [helper.make_tensor_value_info(r, 1, None) for r in results], self.weights)
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8))


def of_odd_channels():
    """numbers of channels that are filled up, an upsampling, a residual, both kinds of global pools, an image with its channels last"""
    n = Network(2, 3, 14, 18)
    a = n.node("Relu", n.conv("x", 20, 3, strides=[2, 2]))
    b = n.node("Clip", n.conv(a, 20, 1, group=20), n.constant(np.float32(0)), n.constant(np.float32(6)))
    c = n.node("Relu", n.node("Add", a, n.conv(b, 20, 20, 1)))
    d = n.node("MaxPool", c, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    e = n.node("Resize", d, "", n.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    f = n.node("LeakyRelu", n.conv(n.node("AveragePool", e, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1), 12, 20), alpha=0.2)
    last = n.node("Transpose", n.conv(f, 4, 12), perm=[0, 2, 3, 1])
    return n.model(last, n.node("GlobalMaxPool", f), n.node("Sigmoid", n.node("GlobalAveragePool", c)))


def of_whole_blocks():
    """blocks of 8 and of 16 channels fit; groups that are none of depthwise convolutions, and parts side by side"""
    n = Network(1, 3, 12, 12)
    a = n.node("Relu", n.conv("x", 32, 3))
    b = n.node("Concat", n.conv(a, 32, 16, group=2), n.conv(a, 16, 32, 1), axis=1)
    c = n.node("Tanh", n.conv(b, 48, 1, group=48, dilations=[2, 2]))
    return n.model(n.conv(c, 64, 48, 1))


def saved(folder, model, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = level, 4
    options.optimized_model_filepath = str(folder / "model.onnx")
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnx.load(folder / "model.onnx")


def block_here(folder):
    """the channels of a block on this processor, or 0: 20 become 24 or 32"""
    model = saved(folder, of_odd_channels(), LEVELS.ORT_ENABLE_ALL)
    extents = {w.name: w.dims[0] for w in model.graph.initializer}
    convs = [n for n in model.graph.node if n.domain == "com.microsoft.nchwc" and n.op_type == "Conv"]
    return {24: 8, 32: 16}[extents[convs[0].input[1]]] if convs else 0


def reblocked(model, block, other):
    """the model as a processor with blocks of another size saves it, where channels fill both"""
    weights = {n.input[1] for n in model.graph.node if n.domain == "com.microsoft.nchwc" and n.op_type == "Conv"}
    for w in (w for w in model.graph.initializer if w.name in weights):
        outputs, inputs, *window = w.dims
        if inputs < 8:
            plain = numpy_helper.to_array(w).reshape(outputs // block, inputs, *window, block).transpose(0, 4, 1, 2, 3)
            blocks = plain.reshape(outputs // other, other, inputs, *window).transpose(0, 2, 3, 4, 1)
        else:
            plain = numpy_helper.to_array(w).reshape(outputs // block, inputs // block, *window, block, block).transpose(0, 5, 1, 4, 2, 3)
            blocks = plain.reshape(outputs // other, other, inputs // other, other, *window).transpose(0, 2, 4, 5, 3, 1)
        w.CopyFrom(numpy_helper.from_array(blocks.reshape(tuple(w.dims)), w.name))
    return model


def compare(folder, model):
    """what was compiled to the folder, with what onnxruntime makes of the model"""
    x = np.random.default_rng(3).uniform(-1, 1, [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]).astype(np.float32)
    wanted = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    for got, want in zip(dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), [x]), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.sample(2)
@pytest.mark.parametrize("level", SAVED)
@pytest.mark.parametrize("network", [of_odd_channels, of_whole_blocks])
def test_saved(network, level):
    model = network()
    with dnncc.Workspace(f"{network.__name__}_{level}") as folder:
        block = block_here(folder)
        blocked = any(n.domain == "com.microsoft.nchwc" and n.op_type == "Conv" for n in saved(folder, model, SAVED[level]).graph.node)
        assert blocked == (block != 0 and level in ("layout", "all"))
        asked = blocked and network is of_whole_blocks
        if asked:
            with pytest.raises(dnncc.CompileError) as error:
                dnncc.compile_model(folder / "model.onnx", folder)
            assert error.value.code == 4 and "--nchwc=16" in str(error.value)
        dnncc.compile_model(folder / "model.onnx", folder, [f"--nchwc={block}"] if asked else [])
        compare(folder, model)
        if asked:
            other = 24 - block
            onnx.save(reblocked(onnx.load(folder / "model.onnx"), block, other), str(folder / "model.onnx"))
            dnncc.compile_model(folder / "model.onnx", folder, [f"--nchwc={other}"])
            compare(folder, model)
