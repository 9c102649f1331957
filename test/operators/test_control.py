# SPDX-License-Identifier: MIT
"""Recurrent operators as loops and written out, Scan and Loop with all that they may have, against onnxruntime."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

R = np.random.default_rng(11)
F, I64, B = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
STEPS, BATCH, INPUT, HIDDEN = 7, 2, 5, 4


def value(name, shape=None, kind=F):
    return helper.make_tensor_value_info(name, kind, shape)


def save(path, nodes, inputs, outputs, constants=(), opset=17):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(constants).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(model, str(path))
    return model


def compare(tmp_path, feeds, options=(), tolerance=1e-5):
    """dnncc's C, strict and with sanitizers, against onnxruntime"""
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    want = session.run(None, feeds)
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, options)
    dnncc.check_clang(tmp_path)
    got = dnncc.run_host(dnncc.build_host(tmp_path, dnncc.SANITIZE), [feeds[i.name] for i in session.get_inputs()])
    for a, b in zip(got, want):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    return got


RECURRENT = [
    ("LSTM", {}, ()), ("LSTM", {"direction": "reverse", "clip": .4}, ("lengths",)), ("LSTM", {"direction": "bidirectional"}, ("peepholes", "lengths")),
    ("LSTM", {"activations": ["HardSigmoid", "Relu", "Softsign"], "input_forget": 1}, ("state",)),
    ("GRU", {"direction": "bidirectional", "linear_before_reset": 1}, ("state", "lengths")), ("GRU", {"direction": "reverse"}, ("lengths",)),
    ("RNN", {"direction": "bidirectional", "activations": ["Tanh", "LeakyRelu"], "activation_alpha": [.2]}, ("state",)), ("RNN", {}, ("lengths",)),
]


def test_states_of_another_rank(tmp_path):
    """PyTorch's exporter by dynamo declares the states of an LSTM with one extent too many: others warn, and what is computed counts"""
    def weights(*shape):
        return (R.standard_normal(shape) / 2).astype(np.float32)
    constants = {"w": weights(1, 4 * HIDDEN, INPUT), "r": weights(1, 4 * HIDDEN, HIDDEN), "b": weights(1, 8 * HIDDEN), "axes": np.array([1])}
    nodes = [helper.make_node("LSTM", ["x", "w", "r", "b"], ["all", "h", "c"], hidden_size=HIDDEN), helper.make_node("Squeeze", ["all", "axes"], ["y"])]
    save(tmp_path / "m.onnx", nodes, [value("x", [STEPS, BATCH, INPUT])],
         [value("y", [STEPS, BATCH, HIDDEN]), value("h", [1, 1, BATCH, HIDDEN]), value("c", [1, 1, BATCH, HIDDEN])], constants)
    got = compare(tmp_path, {"x": R.standard_normal((STEPS, BATCH, INPUT)).astype(np.float32)})
    assert got[1].shape == got[2].shape == (1, BATCH, HIDDEN)
    said = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c"]).stderr
    assert said.count("\n") == 2 and said.count("warning: ") == 2, said
    assert f"'h' is <1 x {BATCH} x {HIDDEN} x f32>, declared as <1 x 1 x {BATCH} x {HIDDEN} x f32>" in said


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", range(len(RECURRENT)))
def test_recurrent(tmp_path, case):
    kind, attributes, given = RECURRENT[case]
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    d = 2 if attributes.get("direction") == "bidirectional" else 1

    def weights(*shape):
        return (R.standard_normal(shape) / 2).astype(np.float32)
    constants = {"w": weights(d, gates * HIDDEN, INPUT), "r": weights(d, gates * HIDDEN, HIDDEN), "b": weights(d, 2 * gates * HIDDEN),
                 "h": weights(d, BATCH, HIDDEN), "c": weights(d, BATCH, HIDDEN), "p": weights(d, 3 * HIDDEN)}
    inputs = ["x", "w", "r", "b", "lengths" if "lengths" in given else "", "h" if "state" in given else ""]
    if kind == "LSTM":
        inputs += ["c" if "state" in given else "", "p" if "peepholes" in given else ""]
    while not inputs[-1]:
        inputs.pop()
    names = ["y", "yh", "yc"][:3 if kind == "LSTM" else 2]
    graph_inputs = [value("x", [STEPS, BATCH, INPUT])] + ([value("lengths", [BATCH], onnx.TensorProto.INT32)] if "lengths" in given else [])
    save(tmp_path / "m.onnx", [helper.make_node(kind, inputs, names, hidden_size=HIDDEN, **attributes)], graph_inputs,
         [value(n) for n in names], {k: v for k, v in constants.items() if k in inputs}, 14)
    feeds = {"x": R.standard_normal((STEPS, BATCH, INPUT)).astype(np.float32)}
    if "lengths" in given:
        feeds["lengths"] = np.array([5, STEPS], np.int32)
    looped = compare(tmp_path, feeds, ["--exact"])
    assert "for (ptrdiff_t step" in (tmp_path / "model.c").read_text()
    unrolled = compare(tmp_path, feeds, ["--exact", "--limit=unrolled_steps=100"])
    assert "for (ptrdiff_t step" not in (tmp_path / "model.c").read_text()
    for a, b in zip(looped, unrolled):
        assert np.array_equal(a, b)


def test_scan(tmp_path):
    body = helper.make_graph([helper.make_node("Add", ["s", "ra"], ["t"]), helper.make_node("Mul", ["t", "rb"], ["u"]),
                              helper.make_node("Sub", ["u", "outer"], ["next"]), helper.make_node("Transpose", ["t"], ["row"], perm=[1, 0])],
                             "body", [value("s", [2, 3]), value("ra", [2, 3]), value("rb", [2, 3])], [value("next", [2, 3]), value("row", [3, 2]), value("u", [2, 3])])
    node = helper.make_node("Scan", ["s0", "a", "b"], ["last", "rows", "us"], body=body, num_scan_inputs=2, scan_input_axes=[0, -1],
                            scan_input_directions=[1, 0], scan_output_axes=[1, 2], scan_output_directions=[0, 1])
    save(tmp_path / "m.onnx", [node], [value("s0", [2, 3]), value("a", [5, 2, 3]), value("b", [2, 3, 5]), value("outer", [2, 3])],
         [value("last", [2, 3]), value("rows", [3, 5, 2]), value("us", [2, 3, 5])])
    compare(tmp_path, {"s0": R.random((2, 3), np.float32), "a": R.random((5, 2, 3), np.float32), "b": R.random((2, 3, 5), np.float32),
                       "outer": R.random((2, 3), np.float32)})


def loop_model(path, trip, rows, more=("Identity", ["go"]), carried=("v",), limit=1e9):
    """v doubles and adds x[i]; stops at the limit when `more` asks for it"""
    nodes = [helper.make_node("Gather", ["x", "i"], ["xi"], axis=0), helper.make_node("Add", ["v", "v"], ["vv"]),
             helper.make_node("Add", ["vv", "xi"], ["next"]), helper.make_node("ReduceMax", ["next"], ["top"], keepdims=0),
             helper.make_node(more[0], more[1], ["again"])]
    body = helper.make_graph(nodes, "body", [value("i", [], I64), value("go", [], B), value("v", [3])],
                             [value("again", [], B), value("next", [3]), *([value("vv", [3])] if rows else [])])
    loop = helper.make_node("Loop", ["" if trip is None else "n", "c", "v0"], ["last", *(["all"] if rows else [])], body=body)
    outputs = [value("last", [3]), *([value("all", [rows, 3])] if rows else [])]
    inputs = [value("x", [8, 3]), value("v0", [3])] + ([value("n", [], I64)] if trip == "given" else [])
    constants = {"c": np.array(True), "limit": np.float32(limit)}
    if isinstance(trip, int):
        constants["n"] = np.array(trip, np.int64)
    save(path, [loop], inputs, outputs, constants)


FEEDS = {"x": R.random((8, 3), np.float32), "v0": R.random(3, np.float32)}


@pytest.mark.parametrize("trip, rows, more, extra", [
    (6, 6, ("Identity", ["go"]), {}), (6, 0, ("Less", ["top", "limit"]), {}), ("given", 0, ("Identity", ["go"]), {"n": 4}),
    ("given", 4, ("Identity", ["go"]), {"n": 4}), ("given", 0, ("Less", ["top", "limit"]), {"n": 7}), (None, 0, ("Less", ["top", "limit"]), {}),
    (0, 0, ("Identity", ["go"]), {}), (1, 1, ("Identity", ["go"]), {}), (8, 8, ("Less", ["top", "limit"]), {})])
def test_loop(tmp_path, trip, rows, more, extra):
    loop_model(tmp_path / "m.onnx", trip, rows, more, limit=1e9 if rows else 11.)
    compare(tmp_path, {**FEEDS, **{k: np.array(v, np.int64) for k, v in extra.items()}})


def test_loop_of_other_extent(tmp_path):
    """a run whose rows are not as many as the model says ends with EXTENT"""
    loop_model(tmp_path / "m.onnx", "given", 4)
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path)
    host = dnncc.build_host(tmp_path, dnncc.SANITIZE)
    for n in (3, 5, -1):
        with pytest.raises(AssertionError, match="-4|EXTENT|error 4"):
            dnncc.run_host(host, [FEEDS["x"], FEEDS["v0"], np.array(n, np.int64)])


def choice(path, widths=(5, 4), declared=True, nested=False):
    """each branch is a product for x of another width, as its declared types say; x is <2 x N>"""
    branches = []
    for k, width in enumerate(widths):
        nodes = [helper.make_node("Identity", ["x"], [f"u{k}"]), helper.make_node("MatMul", [f"u{k}", f"w{k}"], [f"y{k}"])]
        if nested:              # the misfit is in a loop within the branch
            body = helper.make_graph(nodes, "body", [value("i", [], I64), value("go", [], B), value("v", [2, 3])],
                                     [value("go", [], B), value(f"y{k}", [2, 3])], value_info=[value(f"u{k}", [2, width])] if declared else [])
            body.output[0].name = f"again{k}"
            body.node.append(helper.make_node("Identity", ["go"], [f"again{k}"]))
            nodes = [helper.make_node("Loop", ["n", "", "zeros"], [f"z{k}"], body=body)]
        branches.append(helper.make_graph(nodes, f"b{k}", [], [value(f"{'z' if nested else 'y'}{k}", [2, 3])],
                                          value_info=[value(f"u{k}", [2, width])] if declared and not nested else []))
    save(path, [helper.make_node("If", ["c"], ["y"], "if", then_branch=branches[0], else_branch=branches[1])],
         [value("x", [2, "N"]), value("c", [], B)], [value("y", [2, 3])],
         {"w0": R.random((widths[0], 3), np.float32), "w1": R.random((widths[1], 3), np.float32), "n": np.array(6, np.int64),
          "zeros": np.zeros((2, 3), np.float32)})


@pytest.mark.sample(2)
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("widths, fits", [((5, 4), True), ((4, 5), False)])
def test_branch_for_other_shapes(tmp_path, widths, fits, nested):
    """code for both branches; the one that is for other shapes, as the file itself says, ends the run"""
    choice(tmp_path / "m.onnx", widths, nested=nested)
    x = R.random((2, 5), np.float32)
    for options in ((), ("--exact", "-O0"), ("--target=x86-64-v3",)):
        compare(tmp_path, {"x": x, "c": np.array(fits)}, ["--dim=N=5", *options])
        with pytest.raises(AssertionError, match="-3"):
            dnncc.run_host(tmp_path / "host", [x, np.array(not fits)])
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--dim=N=5", "-o", tmp_path / "m.c", "--check"])
    assert done.returncode == 0 and done.stderr.count("warning") >= 1, done.stderr
    assert f"'if' (If): a run that chooses the {'else' if fits else 'then'} branch fails, it is not for these shapes: node of output" in done.stderr


def test_branches_that_are_wrong(tmp_path):
    """nothing to choose; or nothing in the file says that it is for other shapes"""
    for widths, declared, words in (((4, 3), True, "neither branch is for these shapes"), ((5, 4), False, "(MatMul)")):
        choice(tmp_path / "m.onnx", widths, declared)
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--dim=N=5", "-o", tmp_path / "m.c"])
        assert done.returncode == 3 and words in done.stderr and done.stderr.count("error:") == 1, done.stderr
