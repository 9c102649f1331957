# SPDX-License-Identifier: MIT
"""Convolutions of volumes by windows of 1 x 3 x 3 and larger planes are computed plane by plane, by Winograd's algorithm."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402


def network(path, images=1, planes=4, channels=64, middle=64, size=(12, 10), pads=(0, 1, 1, 0, 1, 1), strides=(1, 1, 1), dilations=(1, 1, 1), window=(3, 3)):
    """1 x 3 x 3, ReLU, 3 x 1 x 1, and a sum with the operand where the shape is the same"""
    random = np.random.default_rng(0)
    w = [random.standard_normal(s, np.float32) / np.float32(np.prod(s[1:]) ** 0.5) for s in ((middle, channels, 1, *window), (middle,), (channels, middle, 3, 1, 1))]
    same = all(pads[d + 1] + pads[d + 4] == window[d] - 1 for d in range(2)) and pads[0] + pads[3] == 0 and strides == dilations == (1, 1, 1)
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Conv", ["r", "w0", "w1"], ["a"], pads=pads, strides=strides, dilations=dilations),
             helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Conv", ["b", "w2"], ["c"], pads=[1, 0, 0, 1, 0, 0])]
    nodes.append(helper.make_node("Add", ["c", "x"], ["y"]) if same else helper.make_node("Relu", ["c"], ["y"]))
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [images, channels, planes, *size]), helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "m", ports[:1], ports[1:], [numpy_helper.from_array(v, f"w{k}") for k, v in enumerate(w)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


IMAGES = [dict(), dict(images=2, planes=3), dict(planes=1), dict(channels=58, middle=70), dict(channels=144), dict(size=(3, 7)), dict(pads=(0, 0, 2, 0, 1, 0)), dict(window=(5, 5), pads=(0, 2, 2, 0, 2, 2)), dict(window=(3, 7), pads=(0, 1, 3, 0, 1, 3))]
OTHERS = [dict(channels=24), dict(pads=(1, 1, 1, 0, 1, 1)), dict(strides=(1, 2, 2)), dict(strides=(2, 1, 1)), dict(dilations=(1, 2, 2))]


def texts(model, *options):
    return dnncc.run([dnncc.DNNCC, model, "--target=x86-64-v4", "--limit", "winograd_percent=1000", "--emit=ir", "-o", "-", *options]).stdout


@pytest.mark.parametrize("how", IMAGES, ids=str)
def test_images(how, tmp_path):
    """of rank 5, with tiles; and neither under --exact nor without Winograd's algorithm"""
    model = network(tmp_path / "m.onnx", **how)
    assert "convolve_winograd" in texts(model) or how.get("size") == (3, 7)
    assert "convolve_winograd" not in texts(model, "--exact")


@pytest.mark.parametrize("how", OTHERS, ids=str)
def test_others(how, tmp_path):
    assert "convolve_winograd" not in texts(network(tmp_path / "m.onnx", **how))


@pytest.mark.slow
@pytest.mark.sample(14, each=False)
@pytest.mark.parametrize("how", IMAGES + OTHERS, ids=str)
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_results(how, target, tmp_path):
    """each pass keeps what the interpreter computes; C gives what onnxruntime does"""
    if not processor.has(target):
        pytest.skip("this processor cannot run it")
    model, options = network(tmp_path / "m.onnx", **how), [f"--target={target}", "--limit", "winograd_percent=1000"]
    done = dnncc.run([dnncc.DNNCC, model, *options, "--check"])
    assert done.returncode == 0, done.stderr
    dnncc.compile_model(model, tmp_path, options)
    program = dnncc.build_host(tmp_path, ["-O1", "-fsanitize=address"])
    shape = [d.dim_value for d in onnx.load(model).graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(1).standard_normal(shape, np.float32)
    (got,), (want,) = dnncc.run_host(program, [x]), onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    assert np.abs(got - want).max() <= 5e-5 * np.abs(want).max()
