"""Writes a ResNet-50 (He et al. 2016) with real weight sizes: He-initialised, batch norms as trained ones look, 102 MB.

    build/venv/bin/python test/bench/resnet50.py build/resnet50.onnx
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(50)
nodes, weights = [], []


def weight(name, array):
    weights.append(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name))
    return name


def convolve(x, name, channels, out, kernel, stride=1, relu=True):
    w = rng.standard_normal((out, channels, kernel, kernel), np.float32) * np.sqrt(2 / (channels * kernel * kernel))
    pad = kernel // 2
    nodes.append(helper.make_node("Conv", [x, weight(f"{name}.w", w)], [f"{name}.c"], f"{name}", kernel_shape=[kernel] * 2,
                                  strides=[stride] * 2, pads=[pad] * 4))
    norm = [weight(f"{name}.{k}", v) for k, v in (("scale", rng.uniform(0.5, 1, out)), ("shift", rng.normal(0, 0.1, out)),
                                                  ("mean", rng.normal(0, 0.1, out)), ("variance", rng.uniform(0.8, 1.2, out)))]
    nodes.append(helper.make_node("BatchNormalization", [f"{name}.c", *norm], [f"{name}.n"], f"{name}_bn", epsilon=1e-5))
    if not relu:
        return f"{name}.n"
    nodes.append(helper.make_node("Relu", [f"{name}.n"], [f"{name}.r"], f"{name}_relu"))
    return f"{name}.r"


def main(path):
    x = convolve("input", "conv1", 3, 64, 7, 2)
    nodes.append(helper.make_node("MaxPool", [x], ["pool1"], "pool1", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4))
    x, channels = "pool1", 64
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 2):
        for block in range(blocks):
            name = f"res{stage}{chr(ord('a') + block)}"
            stride = 2 if block == 0 and stage > 2 else 1
            y = convolve(x, f"{name}_1", channels, width, 1)
            y = convolve(y, f"{name}_2", width, width, 3, stride)
            y = convolve(y, f"{name}_3", width, 4 * width, 1, relu=False)
            if block == 0:
                x = convolve(x, f"{name}_0", channels, 4 * width, 1, stride, relu=False)
            nodes.append(helper.make_node("Add", [x, y], [f"{name}.s"], f"{name}_add"))
            nodes.append(helper.make_node("Relu", [f"{name}.s"], [f"{name}.y"], f"{name}_relu"))
            x, channels = f"{name}.y", 4 * width
    nodes.append(helper.make_node("GlobalAveragePool", [x], ["pooled"], "pool5"))
    nodes.append(helper.make_node("Flatten", ["pooled"], ["flat"], "flatten"))
    weight("fc.w", rng.standard_normal((1000, 2048), np.float32) * np.sqrt(1 / 2048))
    weight("fc.b", np.zeros(1000))
    nodes.append(helper.make_node("Gemm", ["flat", "fc.w", "fc.b"], ["scores"], "fc", transB=1))
    nodes.append(helper.make_node("Softmax", ["scores"], ["output"], "softmax", axis=1))
    graph = helper.make_graph(nodes, "resnet50", [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, 224, 224])],
                              [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 1000])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


main(sys.argv[1])
