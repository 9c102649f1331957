# SPDX-License-Identifier: MIT
"""--gradient of ONNX models: weights by name, spectra, run-time extents, C that computes the interpreter's bits, and errors."""
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import differences  # noqa: E402
import dnncc  # noqa: E402
import processor  # noqa: E402

F, D = TensorProto.FLOAT, TensorProto.DOUBLE
node = helper.make_node
R = np.random.default_rng(5)


def model(nodes, inputs, outputs, weights=(), opset=20):
    """inputs and outputs: (name, type, shape)"""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*i) for i in inputs],
                              [helper.make_tensor_value_info(*o) for o in outputs],
                              [numpy_helper.from_array(a, n) for n, a in dict(weights).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def save(tmp_path, proto):
    onnx.checker.check_model(proto)
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    return path


def outputs_of(tmp_path, path, arrays, options):
    data = tmp_path / "data"
    data.mkdir(exist_ok=True)
    for k, a in enumerate(arrays):
        np.save(data / f"input_{k}.npy", a)
    done = dnncc.run([dnncc.DNNCC, path, f"--run={data}", *options])
    assert done.returncode == 0, done.stderr
    return [np.load(p) for p in sorted(data.glob("output_*.npy"), key=lambda p: int(p.stem[7:]))]


def compare(tmp_path, path, inputs, by, step=1e-3, tolerance=1e-7):
    """inputs by name; the derivatives by inputs against differences"""
    found = outputs_of(tmp_path, path, inputs.values(), [f"--gradient=loss:{','.join(by)}"])[1:]
    way = {n: R.uniform(.5, 1, inputs[n].shape) for n in by}
    at = {k: float(outputs_of(tmp_path, path, [a + k * step * way[n] if n in by else a for n, a in inputs.items()], [])[0])
          for k in (-2, -1, 1, 2)}
    difference = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * step)
    said = sum(float(np.sum(d * way[n])) for n, d in zip(by, found))
    assert abs(said - difference) <= tolerance * max(1, abs(difference)), (said, difference)


# extents: one of small factors, one with a large prime factor, an odd one
@pytest.mark.parametrize("extent", [1, 2, 8, 9, 34])
@pytest.mark.parametrize("parts, inverse, onesided", [(1, 0, 0), (1, 0, 1), (2, 0, 0), (2, 1, 0), (1, 1, 0), (2, 1, 1)])
def test_spectra(tmp_path, extent, parts, inverse, onesided):
    real = inverse and onesided
    rows = extent // 2 + 1 if real else extent
    made = extent // 2 + 1 if onesided and not inverse else extent
    weights = {"axis": np.array(1, np.int64), "c": R.uniform(.5, 1.5, (2, made, 1 if real else 2)), "axes": np.array([0, 1, 2], np.int64)}
    operands = ["x", "", "axis"]
    if real:
        weights["n"] = np.array(extent, np.int64)
        operands[1] = "n"
    nodes = [node("DFT", operands, ["y"], inverse=inverse, onesided=onesided), node("Mul", ["y", "c"], ["z"]),
             node("Mul", ["z", "y"], ["q"]), node("ReduceSum", ["q", "axes"], ["loss"], keepdims=0)]
    proto = model(nodes, [("x", D, (2, rows, parts))], [("loss", D, ())], weights)
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    compare(tmp_path, path, {"x": R.uniform(-1, 1, (2, rows, parts))}, ["x"])


def perceptron(hidden=5):
    weights = {"w1": R.normal(size=(4, hidden)).astype(np.float32), "b1": R.normal(size=hidden).astype(np.float32),
               "w2": R.normal(size=(hidden, 3)).astype(np.float32), "axes": np.array([0, 1], np.int64)}
    nodes = [node("Gemm", ["x", "w1", "b1"], ["h"]), node("Relu", ["h"], ["r"]), node("MatMul", ["r", "w2"], ["logits"]),
             node("LogSoftmax", ["logits"], ["p"], axis=1), node("Mul", ["p", "labels"], ["q"]),
             node("ReduceSum", ["q", "axes"], ["s"], keepdims=0), node("Neg", ["s"], ["loss"])]
    return weights, nodes


def test_weights_of_a_perceptron(tmp_path):
    """in the interpreter and in C; against the derivative written in numpy"""
    weights, nodes = perceptron()
    path = save(tmp_path, model(nodes, [("x", F, (6, 4)), ("labels", F, (6, 3))], [("loss", F, ()), ("logits", F, (6, 3))], weights))
    x, labels = R.normal(size=(6, 4)).astype(np.float32), np.eye(3, dtype=np.float32)[R.integers(0, 3, 6)]
    found = outputs_of(tmp_path, path, [x, labels], ["--gradient=loss:all"])
    assert len(found) == 2 + 3
    h = x @ weights["w1"] + weights["b1"]
    r = np.maximum(h, 0)
    logits = r @ weights["w2"]
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    d_logits = e / e.sum(axis=1, keepdims=True) - labels
    d_h = d_logits @ weights["w2"].T * (h > 0)
    for got, want in zip(found[2:], [x.T @ d_h, d_h.sum(axis=0), r.T @ d_logits]):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    for options in (["-O0"], ["-O2"], *([f"--target={t}"] for t in processor.these(["x86-64", "x86-64-v3"]))):
        folder = tmp_path / options[0].strip("-").replace("=", "_")
        folder.mkdir()
        dnncc.compile_model(path, folder, ["--gradient=loss:all", *options])
        made = dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), [x, labels])
        for got, want in zip(made, found):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_run_time_extents(tmp_path):
    """a batch that a run says"""
    weights, nodes = perceptron()
    proto = model(nodes, [("x", F, ("N", 4)), ("labels", F, ("N", 3))], [("loss", F, ())], weights)
    path = save(tmp_path, proto)
    for n in (1, 6):
        x, labels = R.normal(size=(n, 4)).astype(np.float32), np.eye(3, dtype=np.float32)[R.integers(0, 3, n)]
        fixed = outputs_of(tmp_path, path, [x, labels], [f"--dim=N={n}", "--gradient=loss:all", "--exact"])
        free = outputs_of(tmp_path, path, [x, labels], ["--dim=N=1..8", "--gradient=loss:all", "--exact"])
        for a, b in zip(fixed, free):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def refused(path, options, code, *words):
    done = dnncc.run([dnncc.DNNCC, path, "-o", "-", *options])
    assert done.returncode == code and all(w in done.stderr for w in words), done.stderr


def test_errors(tmp_path):
    weights, nodes = perceptron()
    weights["apart"] = np.ones(3, np.float32)
    nodes.append(node("Neg", ["apart"], ["other"]))
    path = save(tmp_path, model(nodes, [("x", F, (6, 4)), ("labels", F, (6, 3))],
                                [("loss", F, ()), ("logits", F, (6, 3)), ("other", F, (3,))], weights))
    refused(path, ["--gradient=loss"], dnncc.USAGE, "LOSS:NAME")
    refused(path, ["--gradient=los:w1"], dnncc.USAGE, "no output of that name", "loss")
    refused(path, ["--gradient=logits:w1"], dnncc.USAGE, "one number, a float")
    refused(path, ["--gradient=loss:w3"], dnncc.USAGE, "no input or initializer is called 'w3'")
    refused(path, ["--gradient=loss:axes"], dnncc.USAGE, "'axes'")
    refused(path, ["--gradient=loss:apart"], dnncc.USAGE, "does not depend on 'apart'")
    refused(path, ["--gradient=loss:w1", "--gradient=loss:w1"], dnncc.USAGE, "there is an output 'd_w1' already")
    (tmp_path / "m.loops").write_text(dnncc.run([dnncc.DNNCC, path, "--emit=loops", "-o", "-"]).stdout)
    refused(tmp_path / "m.loops", ["--gradient=loss:w1"], dnncc.USAGE, "Loop IR")


def test_every_operation_without_derivative_is_named(tmp_path):
    path = tmp_path / "m.dnn"
    path.write_text("""dnn 3
module "m"
func @main(%x "x": <3 x f32>, %y "y": <3 x f32>) -> ("loss") {
  %1 = bitcast(%x) to=f32 : <3 x f32>    ; "first"
  %2 = bitcast(%y) to=f32 : <3 x f32>    ; "second"
  %3 = mul(%1, %2) : <3 x f32>
  %loss = reduce(%3, <1 x i64> 0) : <f32>
  yield(%loss)
}
""")
    refused(path, ["--gradient=loss:x,y"], dnncc.UNSUPPORTED, "'first'", "'second'", "bitcast has no derivative")


def test_bits_of_floats_are_refused(tmp_path):
    """a float that becomes an integer by its bits, and a float again, does not count as a constant"""
    path = tmp_path / "m.dnn"
    path.write_text("""dnn 3
module "m"
func @main(%x "x": <3 x f32>) -> ("loss") {
  %1 = bitcast(%x) to=i32 : <3 x i32>    ; "first"
  %2 = and(%1, -65536) : <3 x i32>    ; "second"
  %3 = bitcast(%2) to=f32 : <3 x f32>    ; "third"
  %4 = mul(%3, %x) : <3 x f32>
  %loss = reduce(%4, <1 x i64> 0) : <f32>
  yield(%loss)
}
""")
    refused(path, ["--gradient=loss:x"], dnncc.UNSUPPORTED, "'third'", "bitcast has no derivative")


def test_a_weight_ties_as_an_input(tmp_path):
    """a constant whose derivative is asked for shares with what equals it; other constants take no share"""
    nodes = [node("Max", ["x", "w"], ["m"]), node("ReduceSum", ["m"], ["loss"], keepdims=0)]
    path = save(tmp_path, model(nodes, [("x", F, (3,))], [("loss", F, ())], {"w": np.array([1, 2, 3], np.float32)}))
    x = np.array([1, 0, 5], np.float32)
    _, by_x, by_w = outputs_of(tmp_path, path, [x], ["--gradient=loss:x,w"])
    assert by_x.tolist() == [.5, 0, 1] and by_w.tolist() == [.5, 1, 0]
    assert outputs_of(tmp_path, path, [x], ["--gradient=loss:x"])[1].tolist() == [0, 0, 1]
