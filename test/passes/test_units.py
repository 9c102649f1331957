# SPDX-License-Identifier: MIT
"""Channels that carry nothing leave convolutions (passes/simplify/units.c)."""
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import dnncc

SHAPES = {"first": (8, 3, 1, 1), "depthwise": (8, 1, 3, 3), "last": (5, 8, 1, 1)}


def block(path, weights):
    """an inverted bottleneck: 1 x 1, depthwise, 1 x 1, with activations that keep 0"""
    groups = len(weights["depthwise"])
    nodes = [helper.make_node("Conv", ["x", "first"], ["a"]), helper.make_node("Clip", ["a", "low", "high"], ["b"]),
             helper.make_node("Conv", ["b", "depthwise"], ["c"], group=groups, pads=[1] * 4), helper.make_node("Relu", ["c"], ["d"]),
             helper.make_node("Conv", ["d", "last"], ["y"])]
    constants = {**weights, "low": np.float32(0), "high": np.float32(6)}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 7, 5])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(a, n) for n, a in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def weights():
    rng = np.random.default_rng(3)
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}


def compiled(folder, *options):
    """the shapes of its convolutions' results, and what it makes of the samples"""
    done = dnncc.run([dnncc.DNNCC, "m.onnx", "--emit=ir", "--passes=simplify,fold,cse,dce", "-o", "m.dnn", *options], cwd=folder)
    assert done.returncode == 0, done.stderr
    run = dnncc.run([dnncc.DNNCC, "m.onnx", "--run=set", *options], cwd=folder)
    assert run.returncode == 0, run.stderr
    return re.findall(r"= convolve\(.*: (<[^>]*>)", (folder / "m.dnn").read_text()), np.load(folder / "set" / "output_0.npy")


@pytest.mark.parametrize("zero", ["filters of the first", "filters of the depthwise", "channels that the last reads", "each a few"])
def test_halves(zero, tmp_path):
    """the same convolutions as those of a network that has half the channels, and equal results"""
    full, gone = weights(), np.array([0, 2, 3, 7])
    parts = {"first": gone[:2], "depthwise": gone[2:3], "last": gone[3:]} if zero == "each a few" else \
        {{"filters of the first": "first", "filters of the depthwise": "depthwise"}.get(zero, "last"): gone}
    for name, part in parts.items():
        full[name][(slice(None), part) if name == "last" else part] = 0
    kept = np.setdiff1d(np.arange(8), gone)
    (tmp_path / "set").mkdir()
    np.save(tmp_path / "set" / "input_0.npy", np.random.default_rng(4).standard_normal((2, 3, 7, 5)).astype(np.float32))
    block(tmp_path / "m.onnx", full)
    whole, untouched = compiled(tmp_path)
    narrow, got = compiled(tmp_path, "--assume-finite")
    block(tmp_path / "m.onnx", {"first": full["first"][kept], "depthwise": full["depthwise"][kept], "last": full["last"][:, kept]})
    want, by_hand = compiled(tmp_path, "--assume-finite")
    assert narrow == want and whole != want and whole[0] == "<2 x 8 x 7 x 5 x f32>"
    np.testing.assert_allclose(got, untouched, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(got, by_hand, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("inputs, middle, outputs", [(0, 8, 5), (3, 0, 5), (3, 8, 0)])
def test_no_channels(inputs, middle, outputs, tmp_path):
    nodes = [helper.make_node("Conv", ["x", "first"], ["a"]), helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Conv", ["b", "last"], ["y"])]
    tensors = [numpy_helper.from_array(np.ones(shape, np.float32), name) for name, shape in {"first": (middle, inputs, 1, 1), "last": (outputs, middle, 1, 1)}.items()]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, inputs, 4, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    (tmp_path / "set").mkdir()
    np.save(tmp_path / "set" / "input_0.npy", np.ones((1, inputs, 4, 4), np.float32))
    got = compiled(tmp_path, "--assume-finite")[1]
    np.testing.assert_array_equal(got, np.full((1, outputs, 4, 4), inputs * middle, np.float32))
