# SPDX-License-Identifier: MIT
"""Sequences and optionals of texts, and operators that put texts where others were, against onnxruntime."""
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "support")]
import dnncc  # noqa: E402
from cases import session_of  # noqa: E402
from test_texts import interpreted  # noqa: E402

S, I64, B = TensorProto.STRING, TensorProto.INT64, TensorProto.BOOL
node, value = helper.make_node, helper.make_tensor_value_info


def sequence(name, shape=None):
    return helper.make_value_info(name, helper.make_sequence_type_proto(helper.make_tensor_type_proto(S, shape)))


def words(*texts):
    return np.array(texts, object)


def save(path, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(constants).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.save(model, path)
    return model


def compare(folder, model, feeds, options=(), oracle=None):
    """C under sanitizers, and the interpreter; sequences are an input or an output for each item"""
    want = [part for r in (oracle or session_of(model).run)(None, feeds) for part in (r if isinstance(r, list) else [r])]
    given = [part for v in feeds.values() for part in (v if isinstance(v, list) else [v])]
    dnncc.compile_model(folder / "m.onnx", folder, ["--target=generic", *options])
    for got in (dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), given), interpreted(folder, given, options)):
        for a, b in zip(got, want, strict=True):
            assert a.shape == np.shape(b) and a.tolist() == np.asarray(b).tolist()


A, C = words("a", "日本語"), words("b", "", "a longer text")
KNOWN = [node("SequenceConstruct", ["a", "c"], ["s"]), node("SequenceInsert", ["s", "a", "one"], ["t"]), node("SequenceErase", ["t", "zero"], ["u"]),
         node("SequenceAt", ["t", "last"], ["v"]), node("SequenceLength", ["t"], ["n"]), node("ConcatFromSequence", ["t"], ["w"], axis=0)]


def test_known(tmp_path):
    model = save(tmp_path / "m.onnx", KNOWN, [value("a", S, [2]), value("c", S, [3])], [sequence("u"), value("v", S, [3]), value("n", I64, []), value("w", S, [7])],
                 {"zero": 0, "one": 1, "last": -1})
    compare(tmp_path, model, {"a": A, "c": C})


@pytest.mark.slow
@pytest.mark.parametrize("keep", [0, 1])
def test_split(tmp_path, keep):
    """parts, one of them at a position of a run; all as one tensor again"""
    nodes = [node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=keep), node("SequenceAt", ["s", "k"], ["y"]), node("ConcatFromSequence", ["s"], ["z"], axis=-1, new_axis=1 - keep)]
    model = save(tmp_path / "m.onnx", nodes, [value("x", S, [2, 3]), value("k", I64, [])], [value("y", S, [2, 1] if keep else [2]), value("z", S, [2, 3])])
    compare(tmp_path, model, {"x": words(*"ab", "日本", "", "c", "d" * 63).reshape(2, 3), "k": np.array(2)})


def test_inputs(tmp_path):
    """items are inputs, whose shapes an option states"""
    model = save(tmp_path / "m.onnx", [node("SequenceInsert", ["s", "a"], ["t"]), node("SequenceAt", ["t", "k"], ["y"])], [sequence("s", [2]), value("a", S, [2]), value("k", I64, [])],
                 [sequence("t"), value("y", S, [2])])
    compare(tmp_path, model, {"s": [A, words("", "x")], "a": words("é", "last"), "k": np.array(1)}, ["--input=s=2:2"])


def test_carried(tmp_path):
    """a loop of three iterations makes a sequence longer, and a body takes each item"""
    body = helper.make_graph([node("StringConcat", ["x", "x"], ["twice"]), node("SequenceInsert", ["t", "twice"], ["more"]), node("Identity", ["go"], ["again"])], "body",
                             [value("i", I64, []), value("go", B, []), sequence("t"), value("x", S, [2])], [value("again", B, []), sequence("more"), value("twice", S, [2])])
    each = helper.make_graph([node("StringConcat", ["item", "mark"], ["marked"])], "each", [value("item", S, [2]), value("m", S, [1])], [value("marked", S, [2])])
    model = save(tmp_path / "m.onnx", [node("SequenceConstruct", ["a"], ["s"]), node("Loop", ["three", "", "s", "a"], ["t", "y"], body=body),
                                       node("SequenceMap", ["t", "mark"], ["z"], body=each)], [value("a", S, [2])], [sequence("t"), value("y", S, [2]), sequence("z")],
                 {"three": 3, "mark": words("<é>")})
    compare(tmp_path, model, {"a": A})


MOVES = {
    "scatter": ([node("ScatterElements", ["x", "i", "u"], ["y"], axis=0)], {"i": np.array([[2, 0]]), "u": words("é", "new").reshape(1, 2)}),
    "scatter rows": ([node("ScatterND", ["x", "i", "u"], ["y"])], {"i": np.array([[2]]), "u": words("é", "new").reshape(1, 2)}),
    "pad": ([node("Pad", ["x", "i", "u"], ["y"])], {"i": np.array([1, 0, 0, 2]), "u": np.array("<pad>", object)}),
    "pad by nothing": ([node("Pad", ["x", "i"], ["y"])], {"i": np.array([1, 0, 0, 2])}),
    "pad by edges": ([node("Pad", ["x", "i"], ["y"], mode="edge")], {"i": np.array([1, 0, 0, 2])}),
    "one of": ([node("OneHot", ["i", "depth", "u"], ["y"])], {"i": np.array([2, 0]), "depth": np.array(3), "u": words("off", "on")}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MOVES)
def test_moved(tmp_path, name):
    nodes, constants = MOVES[name]
    used = {k for n in nodes for k in n.input}
    x = words("a", "bc", "", "日本", "d", "e").reshape(3, 2)
    shape = {"pad": [4, 4], "one of": [2, 3]}.get(name.partition(" by")[0], [3, 2])
    model = save(tmp_path / "m.onnx", nodes, [value("x", S, [3, 2])] if "x" in used else [value("i", I64, [2])], [value("y", S, shape)],
                 {k: v for k, v in constants.items() if k in used and not ("x" not in used and k == "i")})
    feeds = {"x": x} if "x" in used else {"i": constants["i"]}
    oracle = None
    if name.startswith("pad"):                  # onnxruntime pads numbers alone, and numpy objects by what it is given
        widths = {"constant_values": str(constants.get("u", ""))} if name != "pad by edges" else {"mode": "edge"}
        oracle = lambda *_: [np.pad(x, ((1, 0), (0, 2)), **widths)]  # noqa: E731
    compare(tmp_path, model, feeds, oracle=oracle)


REFUSED = {
    "erase at run": ([*KNOWN[:1], node("SequenceErase", ["s", "k"], ["y"])], "at a position that only a run knows"),
    "insert at run": ([*KNOWN[:1], node("SequenceInsert", ["s", "a", "k"], ["y"])], "at a position that only a run knows"),
    "shapes at run": ([*KNOWN[:1], node("SequenceAt", ["s", "k"], ["y"])], "of several shapes"),
    "parts at run": ([node("SplitToSequence", ["a", "k"], ["y"])], "of extents that only a run knows"),
    "branches": ([*KNOWN[:1], node("If", ["b"], ["y"], then_branch=helper.make_graph([node("Identity", ["s"], ["t"])], "t", [], [sequence("t")]),
                                   else_branch=helper.make_graph([node("SequenceConstruct", ["a"], ["e"])], "e", [], [sequence("e")]))], "only a run knows where it comes from"),
    "loop": ([*KNOWN[:1], node("Loop", ["k", "", "s"], ["y"], body=helper.make_graph([node("Identity", ["go"], ["again"])], "b", [value("i", I64, []), value("go", B, []), sequence("t")],
                                                                                       [value("again", B, []), sequence("t")]))], "only a run knows how often it runs"),
    "unique": ([node("Unique", ["a"], ["y"])], "supported of numbers alone"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path, name):
    nodes, text = REFUSED[name]
    tensor = name in ("shapes at run", "unique")
    save(tmp_path / "m.onnx", nodes, [value("a", S, [2]), value("c", S, [3]), value("k", I64, []), value("b", B, [])], [value("y", S, None) if tensor else sequence("y")])
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.UNSUPPORTED and text in done.stderr, done.stderr


def test_input_of_any_length(tmp_path):
    """how many items an input has, and of which shapes, an option says"""
    save(tmp_path / "m.onnx", [node("SequenceAt", ["s", "zero"], ["y"])], [sequence("s", [2])], [value("y", S, [2])], {"zero": 0})
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.UNSUPPORTED and "input 's' is a sequence, which is supported where its shapes are stated: add --input s=2x3:2x3" in done.stderr, done.stderr


def test_reduction(tmp_path):
    """texts are not added"""
    nodes = [node("ScatterND", ["x", "i", "u"], ["y"], reduction="add")]
    save(tmp_path / "m.onnx", nodes, [value("x", S, [3, 2])], [value("y", S, [3, 2])], {"i": np.array([[2]]), "u": words("é", "new").reshape(1, 2)})
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c"])
    assert done.returncode == 3 and "a reduction of texts" in done.stderr, done.stderr
