# SPDX-License-Identifier: MIT
"""Sums side by side and in strips, on the target without vectors: the same bits as of the canonical nests. Widths around those of
strips, borders, strides, groups, sums of integers of 8 bits, results in the place of operands, threads, and --check through every pass."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

PIPELINE = re.search(r'PIPELINE\(2, "([^"]+)"', (dnncc.ROOT / "passes" / "passes.def").read_text())[1]
WITHOUT = f"--passes={PIPELINE.replace(',jam,', ',')}"


def save(path, nodes, inputs, outputs, weights):
    port = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [port(n, t, s) for n, t, s in inputs], [port(n, t, s) for n, t, s in outputs],
                              [numpy_helper.from_array(w, n) for n, w in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def outputs(model, folder, arrays, *options):
    folder.mkdir()
    dnncc.compile_model(model, folder, ["--target=generic", *options])
    flags = ["-O2"]
    return (folder / "model.c").read_text(), dnncc.run_host(dnncc.build_host(folder, flags), arrays)


def compare(model, tmp_path, arrays, strips):
    """the same bits with the pass and without; says whether it has made strips"""
    _, wanted = outputs(model, tmp_path / "without", arrays, WITHOUT)
    text, got = outputs(model, tmp_path / "with", arrays)
    for a, b in zip(got, wanted):
        assert a.tobytes() == b.tobytes()
    assert bool(re.search(r"\bsum\w*\[\w+( \* \d+)?( \+ \w+)*\] =", text)) == strips, text
    done = dnncc.run([dnncc.DNNCC, model, "--target=generic", "--check", "-o", tmp_path / "checked.c"])
    assert done.returncode == 0 and "jam: equal" in done.stdout + done.stderr, done.stdout + done.stderr


CONVOLUTIONS = [        # channels, outputs, window, rows, columns, pad, stride, groups, has strips
    (5, 8, 3, 6, 7, 1, 1, 1, False), (4, 8, 3, 5, 14, 1, 1, 1, True), (3, 6, 3, 4, 31, 1, 1, 1, True), (4, 7, 3, 4, 56, 1, 1, 1, True),
    (2, 5, 7, 9, 40, 3, 1, 1, True), (2, 4, 5, 5, 20, 0, 1, 1, True), (8, 12, 1, 7, 7, 0, 1, 1, True), (6, 8, 1, 14, 14, 0, 1, 1, True),
    (6, 9, 1, 3, 300, 0, 1, 1, True), (8, 8, 3, 6, 30, 1, 1, 8, True), (8, 8, 3, 9, 40, 1, 2, 1, False), (1, 1, 3, 1, 600, 1, 1, 1, True)]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=lambda c: "x".join(map(str, c[:-1])))
@pytest.mark.parametrize("add", [False, True], ids=["alone", "residual"])
@pytest.mark.sample(2)
def test_convolutions(tmp_path, case, add):
    c, m, k, h, w, pad, stride, groups, strips = case
    rng = np.random.default_rng(sum(case))
    weights = {"w": rng.standard_normal((m, c // groups, k, k)).astype(np.float32), "b": rng.standard_normal(m).astype(np.float32)}
    y = [1, m, (h + 2 * pad - k) // stride + 1, (w + 2 * pad - k) // stride + 1]
    nodes = [helper.make_node("Relu", ["x"], ["r"]),
             helper.make_node("Conv", ["r", "w", "b"], ["c"], pads=[pad] * 4, strides=[stride] * 2, group=groups),
             helper.make_node("Exp", ["z"], ["e"]), helper.make_node("Add", ["c", "e"] if add else ["c", "c"], ["s"]),
             helper.make_node("Relu", ["s"], ["y"])]
    model = tmp_path / "m.onnx"
    save(model, nodes, [("x", TensorProto.FLOAT, [1, c, h, w]), ("z", TensorProto.FLOAT, y)], [("y", TensorProto.FLOAT, y)], weights)
    arrays = [rng.standard_normal((1, c, h, w)).astype(np.float32), rng.standard_normal(y).astype(np.float32)]
    arrays[0][0, 0, 0, :3] = np.inf, -0.0, np.nan
    compare(model, tmp_path, arrays, strips)


@pytest.mark.parametrize("rows, depth, columns", [(1, 64, 32), (1, 30, 500), (6, 17, 48), (7, 8, 13), (3, 24, 9), (2, 9, 7)])
def test_products(tmp_path, rows, depth, columns):
    rng = np.random.default_rng(rows * depth)
    weights = {"w": rng.standard_normal((depth, columns)).astype(np.float32), "b": rng.standard_normal(columns).astype(np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["d"]), helper.make_node("Add", ["d", "b"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    save(tmp_path / "m.onnx", nodes, [("x", TensorProto.FLOAT, [rows, depth])], [("y", TensorProto.FLOAT, [rows, columns])], weights)
    compare(tmp_path / "m.onnx", tmp_path, [rng.standard_normal((rows, depth)).astype(np.float32)], columns >= 8)


@pytest.mark.parametrize("unsigned", [False, True], ids=["i8", "u8"])
@pytest.mark.parametrize("k, h, w, strips", [(1, 25, 5, True), (3, 6, 34, True), (3, 5, 48, True), (3, 5, 11, False)])
@pytest.mark.sample(2)
def test_integers(tmp_path, unsigned, k, h, w, strips):
    """the largest numbers there are: products of 255 and -128 fit into 16 bits, sums need 32"""
    c, m, rng = 6, 8, np.random.default_rng(k * w)
    kind, low, high = (np.uint8, 0, 256) if unsigned else (np.int8, -128, 128)
    weights = {"w": rng.choice([-128, -127, 127, 5], (m, c, k, k)).astype(np.int8), "xs": np.float32(.5), "xz": kind(low if unsigned else -128),
               "ws": np.float32(.25), "wz": np.int8(0), "ys": np.float32(300), "yz": kind(low + 128)}
    node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"], pads=[k // 2] * 4)
    element = TensorProto.UINT8 if unsigned else TensorProto.INT8
    save(tmp_path / "m.onnx", [node], [("x", element, [1, c, h, w])], [("y", element, [1, m, h, w])], weights)
    x = rng.integers(low, high, (1, c, h, w)).astype(kind)
    x[0, :, :2] = high - 1
    compare(tmp_path / "m.onnx", tmp_path, [x], strips)


@pytest.mark.parametrize("rows, depth, one", [(1, 128, True), (1, 40, False), (3, 128, False)])
def test_one_sum(tmp_path, rows, depth, one):
    """many products of whole numbers of one row: weights of an output lie side by side, for the compiler to add up"""
    r = np.random.default_rng(depth)
    x, w = r.integers(0, 256, (rows, depth)).astype(np.uint8), r.integers(-128, 128, (depth, 24)).astype(np.int8)
    model = tmp_path / "m.onnx"
    save(model, [helper.make_node("MatMulInteger", ["x", "w"], ["y"])], [("x", TensorProto.UINT8, [rows, depth])],
         [("y", TensorProto.INT32, [rows, 24])], {"w": w})
    text, got = outputs(model, tmp_path / "out", [x])
    np.testing.assert_array_equal(got[0], x.astype(np.int32) @ w.astype(np.int32))
    assert bool(re.search(r"b\[\w+ \* 128 \+ k\]", text)) == one, text


def test_threads(tmp_path):
    """each has strips of its own"""
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((32, 24, 3, 3)).astype(np.float32)}
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4)
    save(tmp_path / "m.onnx", [node], [("x", TensorProto.FLOAT, [1, 24, 30, 30])], [("y", TensorProto.FLOAT, [1, 32, 30, 30])], weights)
    text, _ = outputs(tmp_path / "m.onnx", tmp_path / "one", [rng.standard_normal((1, 24, 30, 30)).astype(np.float32)])
    assert "float sum[" in text
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--target=generic", "--threads=2", "--check", "-o", tmp_path / "two.c"])
    assert done.returncode == 0, done.stderr
