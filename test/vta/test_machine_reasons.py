# SPDX-License-Identifier: MIT
"""Which nodes a machine computes, and why it does not compute the others: one obstacle each."""
import json
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper, numpy_helper

from vta_tool import dnncc

CHANNELS, SIZE = 32, 8
QUANTIZED = {"sx": np.float32(.02), "zx": np.int8(0), "sw": np.float32(.01), "zw": np.int8(0), "sy": np.float32(.25), "zy": np.int8(0)}


def image(batch=1, dimensions=2, size=SIZE):
    return [batch, CHANNELS] + [size] * dimensions


def convolution(x="x", y="y", dimensions=2, **attributes):
    return helper.make_node("QLinearConv", [x, "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"], [y], "convolution", pads=[1] * 2 * dimensions, **attributes)


def sums(y):
    return helper.make_node("ConvInteger", ["x", "w"], [y], "convolution", pads=[1] * 4)


def pool(x, y):
    return helper.make_node("MaxPool", [x], [y], "pool", kernel_shape=[2, 2], strides=[2, 2])


def clipped(x, y):
    return [helper.make_node("Clip", [x, "low", "high"], [f"{x}_clipped"], f"clip_{x}"), helper.make_node("Cast", [f"{x}_clipped"], [y], f"cast_{x}", to=T.INT8)]


BYTES = [T.INT8, image()]
HALF = [T.INT8, image(size=SIZE // 2)]
SQUARE = [T.INT8, [64, 64]]
# nodes, inputs, outputs, other constants, kernel of the weights, {node: why, by machine}
CASES = {
    "all": ([convolution()], {"x": BYTES}, {"y": BYTES}, {}, 2, {}),
    "groups": ([convolution(group=4)], {"x": BYTES}, {"y": BYTES}, {}, 2, {}),
    "several images": ([convolution()], {"x": [T.INT8, image(2)]}, {"y": [T.INT8, image(2)]}, {}, 2, {"convolution": "more than one image"}),
    "three dimensions": ([convolution(dimensions=3)], {"x": [T.INT8, image(1, 3)]}, {"y": [T.INT8, image(1, 3)]}, {}, 3, {"convolution": "more than two dimensions"}),
    "no sign": ([convolution()], {"x": [T.UINT8, image()]}, {"y": [T.UINT8, image()]}, {"zx": np.uint8(7), "zy": np.uint8(3)}, 2,
                {"convolution": "bytes without a sign: --activations=s8"}),
    "sums": ([sums("y")], {"x": BYTES}, {"y": [T.INT32, image()]}, {}, 2, {"convolution": "its sums are what is stored"}),
    "read twice": ([sums("s"), helper.make_node("Mul", ["s", "s"], ["q"], "square"), *clipped("q", "y")], {"x": BYTES}, {"y": BYTES}, {}, 2,
                   {"convolution": "its sums are read more than once", "square": "its sums are read more than once"}),
    "another operation": ([sums("s"), helper.make_node("Div", ["s", "three"], ["q"], "third"), *clipped("q", "y")], {"x": BYTES}, {"y": BYTES}, {}, 2,
                          {"convolution": "its sums go through an operation that the machine lacks"}),
    "floats": ([convolution(), helper.make_node("Conv", ["f", "floats"], ["g"], "other", pads=[1] * 4)],
               {"x": BYTES, "f": [T.FLOAT, image()]}, {"y": BYTES, "g": [T.FLOAT, image()]}, {}, 2, {"other": "its products are of f32, not of bytes"}),
    "softmax": ([convolution(), helper.make_node("Softmax", ["f"], ["g"], "softmax")],
                {"x": BYTES, "f": [T.FLOAT, [4, 10]]}, {"y": BYTES, "g": [T.FLOAT, [4, 10]]}, {}, 2, {"softmax": "it computes with floats"}),
    "two values": ([convolution(), helper.make_node("MatMulInteger", ["p", "q"], ["r"], "product")],
                   {"x": BYTES, "p": SQUARE, "q": SQUARE}, {"y": BYTES, "r": [T.INT32, [64, 64]]}, {}, 2, {"product": "its sums are what is stored"}),
    "pool behind": ([convolution(y="m"), pool("m", "y")], {"x": BYTES}, {"y": HALF}, {}, 2, {"pool": {"unified": "the machine has no pools"}}),
    "pool in front": ([pool("x", "m"), convolution("m")], {"x": BYTES}, {"y": HALF}, {}, 2,
                      {"pool": {"vta": "only of sums that a convolution in front has just made", "unified": "the machine has no pools"}}),
}


@pytest.mark.parametrize("machine", ["vta", "unified"])
@pytest.mark.parametrize("name", CASES)
def test_why(name, machine, tmp_path):
    nodes, inputs, outputs, more, dimensions, expected = CASES[name]
    random = np.random.default_rng(1)
    groups = next((a.i for n in nodes for a in n.attribute if a.name == "group"), 1)
    constants = QUANTIZED | {"w": random.integers(-127, 128, (CHANNELS, CHANNELS // groups) + (3,) * dimensions).astype(np.int8),
                             "b": random.integers(-500, 500, CHANNELS).astype(np.int32), "low": np.int32(-128), "high": np.int32(127), "three": np.int32(3),
                             "floats": random.standard_normal((CHANNELS, CHANNELS, 3, 3)).astype(np.float32)} | more
    read = {x for node in nodes for x in node.input}
    path, out = tmp_path / "m.onnx", tmp_path / "report.json"
    ports = [[helper.make_tensor_value_info(p, *t) for p, t in side.items()] for side in (inputs, outputs)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", *ports, [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items() if k in read]),
                                opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    done = dnncc.run([dnncc.DNNCC, path, f"--target={machine}", "-q", "--stats", "-o", tmp_path / "m.c", f"--report={out}"])
    assert done.returncode == 0, done.stderr
    facts = json.loads(out.read_text())["accelerator"]
    expected = {node: why[machine] if isinstance(why, dict) else why for node, why in expected.items() if not isinstance(why, dict) or machine in why}
    for node, why in expected.items():
        said = [k["why"] for k in facts["processor"] if node in k["location"].split(", ")]
        assert any(why in s for s in said), said
        assert any(node in line and why in line for line in done.stderr.splitlines() if line.startswith("stats: in C"))
    if facts["launches"]:
        around = {k["why"] for k in facts["processor"] if not any(n in k["location"].split(", ") for n in expected)}
        assert around <= {"it brings values into the blocks that the machine reads", "it takes values out of the blocks that the machine writes"}, around
        stays = len(expected)
    else:
        stays = len(nodes)
    shares = facts["nodes"]
    assert shares == {"all": len(nodes), "machine": len(nodes) - stays, "both": 0, "processor": stays}
    assert re.search(rf"^stats: nodes +{shares['machine']} of {shares['all']} that compute on {machine} ", done.stderr, re.M)
