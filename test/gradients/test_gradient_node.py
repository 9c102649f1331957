# SPDX-License-Identifier: MIT
"""The ONNX operator Gradient: by inputs, initializers and values in between, at values other than theirs, twice, and errors."""
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

F = TensorProto.FLOAT
node = helper.make_node
X, W, H1 = (np.random.default_rng(k).normal(size=s).astype(np.float32) for k, s in enumerate([(3, 4), (4, 2), (3, 2)]))


def gradient(inputs, outputs, name="g", **attributes):
    return node("Gradient", inputs, outputs, name, domain="ai.onnx.preview.training", **attributes)


FORWARD = [node("MatMul", ["x", "w"], ["h"]), node("Tanh", ["h"], ["t"]), node("Mul", ["t", "t"], ["s"]),
           node("ReduceSum", ["s"], ["y"], keepdims=0)]


def save(tmp_path, nodes, outputs, inputs=(("x", (3, 4)), ("w", (4, 2))), weights=()):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, F, s) for n, s in inputs],
                              [helper.make_tensor_value_info(n, F, s) for n, s in outputs],
                              [numpy_helper.from_array(a, n) for n, a in dict(weights).items()])
    proto = helper.make_model(graph, ir_version=9,
                              opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.preview.training", 1)])
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    return path


def run(tmp_path, path, *arrays):
    data = tmp_path / "data"
    data.mkdir(exist_ok=True)
    for k, a in enumerate(arrays):
        np.save(data / f"input_{k}.npy", a)
    done = dnncc.run([dnncc.DNNCC, path, f"--run={data}"])
    assert done.returncode == 0, done.stderr
    return [np.load(p) for p in sorted(data.glob("output_*.npy"))]


def by_h(h):
    t = np.tanh(h)
    return 2 * t * (1 - t * t)


def same(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_by_inputs(tmp_path):
    path = save(tmp_path, [*FORWARD, gradient(["x", "w"], ["dx", "dw"], xs=["x", "w"], y="y")],
                [("y", ()), ("dx", (3, 4)), ("dw", (4, 2))])
    _, dx, dw = run(tmp_path, path, X, W)
    same(dx, by_h(X @ W) @ W.T)
    same(dw, X.T @ by_h(X @ W))


def test_by_an_initializer(tmp_path):
    """what depends on constants alone is not folded, and y need not be an output"""
    path = save(tmp_path, [*FORWARD, gradient(["w"], ["dw"], xs=["w"], y="y")], [("dw", (4, 2))], inputs=[],
                weights={"x": X, "w": W})
    same(run(tmp_path, path)[0], X.T @ by_h(X @ W))


def test_nodes_in_any_order(tmp_path):
    """names in attributes say what a node needs"""
    path = save(tmp_path, [gradient(["x", "w"], ["", "dw"], xs=["x", "w"], y="y"), *FORWARD], [("dw", (4, 2))])
    same(run(tmp_path, path, X, W)[0], X.T @ by_h(X @ W))


def test_by_a_value_in_between(tmp_path):
    path = save(tmp_path, [*FORWARD, gradient(["h"], ["dh"], xs=["h"], y="y")], [("dh", (3, 2))])
    same(run(tmp_path, path, X, W)[0], by_h(X @ W))


def test_at_another_value(tmp_path):
    """y and its derivative are those of the operands, the graph's own y stays"""
    path = save(tmp_path, [*FORWARD, gradient(["h1"], ["dh"], xs=["h"], y="y")], [("y", ()), ("dh", (3, 2))],
                inputs=[("x", (3, 4)), ("w", (4, 2)), ("h1", (3, 2))])
    y, dh = run(tmp_path, path, X, W, H1)
    same(y, np.sum(np.tanh(X @ W) ** 2))
    same(dh, by_h(H1))


def test_of_a_tensor_at_other_inputs(tmp_path):
    """the derivative of y that is no number is that of its sum; zs take other values, too"""
    path = save(tmp_path, [*FORWARD, gradient(["w", "x1"], ["dw"], xs=["w"], zs=["x"], y="s")], [("dw", (4, 2))],
                inputs=[("x", (3, 4)), ("w", (4, 2)), ("x1", (3, 4))])
    same(run(tmp_path, path, X, W, X + 1)[0], (X + 1).T @ by_h((X + 1) @ W))


def test_twice(tmp_path):
    path = save(tmp_path, [*FORWARD, gradient(["h"], ["dh"], "first", xs=["h"], y="y"), gradient(["h"], ["ddh"], "second", xs=["h"], y="dh")],
                [("ddh", (3, 2))])
    t = np.tanh(X @ W)
    same(run(tmp_path, path, X, W)[0], 2 * (1 - t * t) * (1 - 3 * t * t))


@pytest.mark.parametrize("attributes, inputs, code, text", [
    ({"xs": ["x"]}, ["x"], dnncc.INVALID, "want one of y"),
    ({"xs": ["x"], "y": "nothing"}, ["x"], dnncc.INVALID, "there is no value 'nothing'"),
    ({"xs": ["x", "w"], "y": "y"}, ["x"], dnncc.INVALID, "want 2 and 2"),
    ({"xs": ["x"], "y": "y"}, ["w"], dnncc.INVALID, "input 0 is not of the type"),
    ({"xs": ["i"], "y": "y"}, ["i"], dnncc.INVALID, "want floats"),
])
def test_errors(tmp_path, attributes, inputs, code, text):
    nodes = [*FORWARD, node("Cast", ["x"], ["i"], to=TensorProto.INT32), gradient(inputs, ["dx"], **attributes)]
    path = save(tmp_path, nodes, [("dx", (3, 4))])
    done = dnncc.run([dnncc.DNNCC, path, "-o", "-"])
    assert done.returncode == code and text in done.stderr, done.stderr
