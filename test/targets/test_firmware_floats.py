# SPDX-License-Identifier: MIT
"""Floats on Cortex-M55, in vectors of four lanes: the bits of the interpreter, which computes what the same Loop IR says, and nearly those of
plain C; under --exact these to the bit. Denormal numbers, which such vectors flush, are left out."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

TARGET = "cortex-m55"
pytestmark = pytest.mark.slow

# channels, outputs, window, strides, pads, groups, dilations, extents
LAYERS = {
    "one_channel": (1, 8, (5, 5), (1, 1), (2, 2, 2, 2), 1, (1, 1), (14, 14)),
    "three_channels_strided": (3, 6, (3, 3), (2, 2), (1, 0, 1, 1), 1, (1, 1), (9, 11)),
    "points": (8, 16, (1, 1), (1, 1), (0, 0, 0, 0), 1, (1, 1), (5, 5)),
    "points_strided": (12, 7, (1, 1), (2, 2), (0, 0, 0, 0), 1, (1, 1), (7, 9)),
    "odd_channels": (13, 11, (3, 3), (2, 1), (1, 0, 0, 1), 1, (1, 1), (7, 6)),
    "sixteen": (16, 16, (3, 3), (1, 1), (1, 1, 1, 1), 1, (1, 1), (6, 8)),
    "dilated": (4, 9, (2, 3), (1, 1), (2, 0, 1, 2), 1, (2, 1), (8, 7)),
    "depthwise": (12, 12, (3, 3), (1, 1), (1, 1, 1, 1), 12, (1, 1), (7, 5)),
    "depthwise_odd": (6, 6, (5, 3), (2, 2), (2, 1, 2, 1), 6, (1, 1), (9, 8)),
    "groups": (8, 12, (3, 3), (1, 1), (1, 1, 1, 1), 4, (1, 1), (5, 6)),
    "signal": (4, 6, (9,), (2,), (4, 4), 1, (1,), (33,)),
}
BEHIND = ["Relu", "LeakyRelu", "Clip", "Sigmoid"]


def network(name, behind):
    """a convolution, an activation, a pool, and scores of ten classes"""
    channels, outputs, window, strides, pads, groups, dilations, extents = LAYERS[name]
    r = np.random.default_rng([*name.encode(), *behind.encode()])

    def constant(label, value):
        return numpy_helper.from_array(np.asarray(value, np.float32), label)

    fan = channels // groups * np.prod(window)
    initializers = [constant("w", r.normal(0, 1, (outputs, channels // groups, *window)) / np.sqrt(fan)), constant("b", r.normal(0, .1, outputs)),
                    constant("low", 0), constant("high", 1.5)]
    pool = [2] * len(window)
    sizes = [(e + pads[i] + pads[i + len(window)] - (k - 1) * d - 1) // s + 1
             for i, (e, k, d, s) in enumerate(zip(extents, window, dilations, strides, strict=True))]
    left = outputs * int(np.prod([(n - 2) // 2 + 1 for n in sizes]))
    initializers += [constant("dense", r.normal(0, 1, (left, 10)) / np.sqrt(left)), constant("dense_b", r.normal(0, .1, 10))]
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["conv"], strides=strides, pads=pads, group=groups, dilations=dilations),
             helper.make_node(behind, ["conv", "low", "high"] if behind == "Clip" else ["conv"], ["act"]),
             helper.make_node("MaxPool" if len(name) % 2 else "AveragePool", ["act"], ["pool"], kernel_shape=pool, strides=pool),
             helper.make_node("Flatten", ["pool"], ["flat"]), helper.make_node("Gemm", ["flat", "dense", "dense_b"], ["scores"]),
             helper.make_node("Softmax", ["scores"], ["y"], axis=1)]
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, channels, *extents))],
                              [helper.make_tensor_value_info(v, TensorProto.FLOAT, None) for v in ("y", "act")], initializers)
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8))
    onnx.checker.check_model(model)
    return model, r.normal(0, 1, (1, channels, *extents)).astype(np.float32)


def results(model, x, target, folder, *options):
    folder.mkdir(parents=True, exist_ok=True)
    dnncc.compile_model(model, folder, [f"--target={target}", *options])
    return dnncc.run_host(dnncc.build_host(folder, ["-O1"], emulator=processor.emulator(target)), [x])


def interpreted(model, x, folder, count, *options):
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "input_0.npy", x)
    done = dnncc.run([dnncc.DNNCC, model, f"--target={TARGET}", *options, "-q", "--run", folder])
    assert done.returncode == 0, done.stderr
    return [np.load(folder / f"output_{i}.npy") for i in range(count)]


def cases():
    for k, name in enumerate(LAYERS):
        for i, behind in enumerate(BEHIND):
            yield pytest.param(name, behind, id=f"{name}-{behind}", marks=[] if k % len(BEHIND) == i else pytest.mark.long)


@pytest.mark.sample(7)
@pytest.mark.parametrize("name,behind", list(cases()))
def test_networks(name, behind, tmp_path):
    """NaN and infinities among the inputs, too: a NaN stays one, though not with the same bits"""
    processor.require(TARGET)
    model, x = network(name, behind)
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    plain = results(path, x, "generic", tmp_path / "plain")
    ours = results(path, x, TARGET, tmp_path / "ours")
    for got, want, near in zip(ours, interpreted(path, x, tmp_path / "run", 2), plain, strict=True):
        np.testing.assert_array_equal(got.view(np.uint32), want.view(np.uint32))
        np.testing.assert_allclose(got, near, rtol=2e-5, atol=2e-6)
    for got, want in zip(results(path, x, TARGET, tmp_path / "exact", "--exact"),
                         results(path, x, "generic", tmp_path / "plain", "--exact"), strict=True):
        np.testing.assert_array_equal(got.view(np.uint32), want.view(np.uint32))
    text = (tmp_path / "ours" / "model.c").read_text()
    assert ("add_scaled_f32x4(" if "depthwise" not in name else "add_product_f32x4(") in text or name == "depthwise_odd"
    assert "float32x4_t" not in (tmp_path / "exact" / "model.c").read_text()
    assert "Denormal numbers count as 0 in vectors of cortex-m55." in (tmp_path / "ours" / "model.h").read_text()
    assert "Denormal" not in (tmp_path / "exact" / "model.h").read_text()
    x.flat[::7], x.flat[3] = np.nan, np.inf
    for got, want in zip(dnncc.run_host(dnncc.build_host(tmp_path / "ours", ["-O1"], emulator=processor.emulator(TARGET)), [x]),
                         interpreted(path, x, tmp_path / "run", 2), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["sixteen", "one_channel", "points"])
def test_rows_passed_on(name, tmp_path):
    """rows that pass through circular buffers are computed in vectors, too"""
    processor.require(TARGET)
    model, x = network(name, "Relu")
    second = [numpy_helper.from_array(np.random.default_rng(5).normal(0, .1, (8, LAYERS[name][1], 3, 3)).astype(np.float32), "w2")]
    del model.graph.node[2:]
    model.graph.node.append(helper.make_node("Conv", ["act", "w2"], ["y"], pads=[1, 1, 1, 1]))
    model.graph.initializer.extend(second)
    del model.graph.output[:], model.graph.value_info[:]
    model.graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, None))
    onnx.save(onnx.shape_inference.infer_shapes(model), tmp_path / "m.onnx")
    whole = results(tmp_path / "m.onnx", x, TARGET, tmp_path / "whole")
    size = int(re.search(r"WORKSPACE_SIZE (\d+)u", (tmp_path / "whole" / "model.h").read_text())[1])
    option = f"--max-ram={size * 3 // 4}"
    rows = results(tmp_path / "m.onnx", x, TARGET, tmp_path / "rows", option)
    np.testing.assert_array_equal(rows[0].view(np.uint32), interpreted(tmp_path / "m.onnx", x, tmp_path / "run", 1, option)[0].view(np.uint32))
    np.testing.assert_allclose(rows[0], whole[0], rtol=2e-5, atol=2e-6)
    text = (tmp_path / "rows" / "model.c").read_text()
    assert "circular" in text and "add_scaled_f32x4(" in text
