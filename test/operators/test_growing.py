# SPDX-License-Identifier: MIT
"""Loops that carry tensors whose shapes change from one iteration to the next, and texts: written out where it is known how often they run, else at bounds;
against onnxruntime."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "support")]
import dnncc  # noqa: E402
from test_texts import interpreted  # noqa: E402

F, I64, B, S = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.STRING
node, value = helper.make_node, helper.make_tensor_value_info
R = np.random.default_rng(3)


def floats(*shape):
    return R.standard_normal(shape).astype(np.float32)


def body(nodes, carried, rows=(), go=None):
    """carried: (name, next, element, shape) each, and the next one's element where that is another; rows: (name, element, shape); go: what the next condition is called"""
    ports = [value("i", I64, []), value("go", B, []), *(value(name, e, shape) for name, _, e, shape, *_ in carried)]
    made = [value(go or "again", B, []), *(value(name, (*other, e)[0], shape) for _, name, e, shape, *other in carried), *(value(*r) for r in rows)]
    return helper.make_graph([*nodes, *([] if go else [node("Identity", ["go"], ["again"])])], "body", ports, made)


def save(path, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(constants).items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def compare(folder, feeds_list, options=(), expect=None):
    """C for generic under sanitizers, C for a target with vectors, and the interpreter; expect: where onnxruntime is not right"""
    session = onnxruntime.InferenceSession(str(folder / "m.onnx"), providers=["CPUExecutionProvider"])
    programs = []
    for target, flags in (("generic", dnncc.SANITIZE), ("x86-64-v3", ["-O1", "-mavx2", "-mfma"])):
        (folder / target).mkdir(exist_ok=True)
        dnncc.compile_model(folder / "m.onnx", folder / target, [f"--target={target}", *options])
        programs.append(dnncc.build_host(folder / target, flags))
    for feeds in feeds_list:
        want = expect(**feeds) if expect else session.run(None, feeds)
        given = [feeds[i.name] for i in session.get_inputs()]
        for got in (*(dnncc.run_host(p, given) for p in programs), interpreted(folder, given, options)):
            for a, b in zip(got, want, strict=True):
                assert a.shape == np.shape(b)
                if b.dtype == object:
                    assert a.tolist() == b.tolist()
                else:
                    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    return programs[0]


GROW = [node("Concat", ["t", "x"], ["more"], axis=0)]
TENSOR = ("t", "more", F, [None])


def test_written_out(tmp_path):
    """of three iterations; one of rows as well"""
    rows = [*GROW, node("ReduceSum", ["more"], ["s"], keepdims=0)]
    save(tmp_path / "m.onnx", [node("Loop", ["n", "", "a"], ["y", "sums"], body=body(rows, [TENSOR], [("s", F, [])]))], [value("a", F, [2]), value("x", F, [3])],
         [value("y", F, [None]), value("sums", F, [None])], {"n": 3})
    compare(tmp_path, [{"a": floats(2), "x": floats(3)}])


def test_smaller(tmp_path):
    """each iteration takes a row away, and the last one leaves none"""
    nodes = [node("Slice", ["t", "one", "all", "zero"], ["more"])]
    save(tmp_path / "m.onnx", [node("Loop", ["n", "", "a"], ["y"], body=body(nodes, [("t", "more", F, [None, 2])]))], [value("a", F, [3, 2])], [value("y", F, [None, 2])],
         {"n": 3, "one": [1], "all": [9], "zero": [0]})
    compare(tmp_path, [{"a": floats(3, 2)}])


@pytest.mark.slow
@pytest.mark.parametrize("trips", ["of a run", "known"])
def test_until(tmp_path, trips):
    """the condition is computed; bounded by how often the loop runs at most, or by --dim"""
    nodes = [*GROW, node("ReduceSum", ["more"], ["sum"], keepdims=0), node("Less", ["sum", "limit"], ["below"])]
    known = trips == "known"
    inputs = [value("a", F, [2]), value("x", F, [3]), value("limit", F, [])] + ([] if known else [value("n", I64, [])])
    save(tmp_path / "m.onnx", [node("Loop", ["n", "", "a"], ["y"], body=body(nodes, [TENSOR], go="below"))], inputs, [value("y", F, ["len"])], {"n": 5} if known else {})
    feeds = [{"a": np.ones(2, np.float32), "x": np.ones(3, np.float32), "limit": np.array(limit, np.float32), **({} if known else {"n": np.array(n)})}
             for limit, n in ((0, 4), (6, 4), (9, 4), (99, 4), (99, 0), (99, 1))]
    program = compare(tmp_path, feeds, [] if known else ["--dim=len=0..14"])
    if not known:
        with pytest.raises(AssertionError, match="the generated program exited"):
            dnncc.run_host(program, [*list(feeds[3].values())[:3], np.array(5)])


@pytest.mark.slow
def test_decoding(tmp_path):
    """words come one by one, of what was said so far; two values grow, of two extents, and one keeps its shape"""
    nodes = [node("Gather", ["table", "words"], ["v"], axis=0), node("ReduceMean", ["v", "first"], ["mean"], keepdims=0), node("MatMul", ["mean", "w"], ["scores"]),
             node("ArgMax", ["scores"], ["word"], axis=0, keepdims=1), node("Concat", ["words", "word"], ["more"], axis=0), node("Unsqueeze", ["scores", "last"], ["column"]),
             node("Concat", ["kept", "column"], ["more_kept"], axis=1), node("Add", ["total", "mean"], ["sum"]), node("Squeeze", ["word"], ["one"]),
             node("Equal", ["one", "end"], ["ends"]), node("Not", ["ends"], ["goes"])]
    carried = [("words", "more", I64, [None]), ("kept", "more_kept", F, [7, None]), ("total", "sum", F, [4])]
    save(tmp_path / "m.onnx", [node("Loop", ["n", "", "ids", "empty", "zeros"], ["y", "all", "sums"], body=body(nodes, carried, go="goes"))], [value("ids", I64, [2]), value("end", I64, [])],
         [value("y", I64, ["len"]), value("all", F, [7, "steps"]), value("sums", F, [4])],
         {"n": 6, "table": floats(7, 4), "w": floats(4, 7), "empty": np.zeros((7, 0), np.float32), "zeros": np.zeros(4, np.float32), "first": [0], "last": [1]})
    compare(tmp_path, [{"ids": R.integers(0, 7, 2), "end": np.array(end)} for end in (*range(7), 99)])


@pytest.mark.long
def test_two_loops(tmp_path):
    """one in the other: both add to what they carry"""
    inner = helper.make_graph([node("Concat", ["u", "x"], ["u2"], axis=0), node("Identity", ["h"], ["h2"])], "inner", [value("k", I64, []), value("h", B, []), value("u", F, [None])],
                              [value("h2", B, []), value("u2", F, [None])])
    nodes = [node("Loop", ["two", "", "t"], ["more"], body=inner)]
    for trips, given in ((3, {}), (None, {"m": np.array(2)})):
        save(tmp_path / "m.onnx", [node("Loop", ["n" if trips else "m", "", "a"], ["y"], body=body(nodes, [TENSOR]))],
             [value("a", F, [1]), value("x", F, [2]), *([] if trips else [value("m", I64, [])])], [value("y", F, ["len"])], {"n": 3, "two": 2})
        compare(tmp_path, [{"a": floats(1), "x": floats(2), **given}], [] if trips else ["--dim=len=0..20"])


@pytest.mark.slow
@pytest.mark.parametrize("trips", ["of a run", "known"])
def test_extents_of_a_run(tmp_path, trips):
    """a run gives the first extent, and how much is added"""
    known = trips == "known"
    save(tmp_path / "m.onnx", [node("Loop", ["n", "", "a"], ["y"], body=body(GROW, [TENSOR]))], [*([] if known else [value("n", I64, [])]), value("a", F, ["A"]), value("x", F, ["X"])],
         [value("y", F, ["len"])], {"n": 3} if known else {})
    feeds = [{**({} if known else {"n": np.array(n)}), "a": floats(a), "x": floats(x)} for n, a, x in ((3, 1, 4), (0, 2, 2), (2, 4, 1))]
    compare(tmp_path, feeds, ["--dim=A=1..4", "--dim=X=1..4", *([] if known else ["--dim=len=0..20"])])


REFUSED = {
    "no bound": (body(GROW, [TENSOR]), [value("n", I64, []), value("a", F, [2]), value("x", F, [3])], "a", "bound it by --dim len=0..512"),
    "doubled": (body([node("Concat", ["t", "t"], ["more"], axis=0), node("ReduceSum", ["more"], ["s"], keepdims=0), node("Less", ["s", "a0"], ["below"])], [TENSOR], go="below"),
                [value("a", F, [2]), value("a0", F, [])], "a", "by other extents in later iterations"),
    "another rank": (body([node("Unsqueeze", ["t", "zero"], ["more"])], [("t", "more", F, None)]), [value("n", I64, []), value("a", F, [2])], "a", "<1 x 2 x f32> after an iteration"),
}


MISTAKES = {
    "other elements": ([node("Cast", ["t"], ["more"], to=I64)], [("t", "more", F, [None], I64)], [], 3, "<2 x f32> at first and <2 x i64>"),
    "texts and numbers": ([node("Cast", ["t"], ["more"], to=S)], [("t", "more", F, [None], S)], [("more", S, None)], 3, "before or behind an iteration alone"),
    "rows of other shapes": (GROW, [TENSOR], [("more", F, None)], 4, "is of rows <5 x f32> and <8 x f32>"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(tmp_path, name):
    nodes, carried, rows, code, text = MISTAKES[name]
    save(tmp_path / "m.onnx", [node("Loop", ["n", "", "a"], ["y", *(["z"] if rows else [])], body=body(nodes, carried, rows))], [value("a", F, [2]), value("x", F, [3])],
         [value("y", F, None), *([value("z", F, None)] if rows else [])], {"n": 3})
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c"])
    assert done.returncode == code and text in done.stderr, done.stderr


@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path, name):
    graph, inputs, first, text = REFUSED[name]
    constants = {"zero": [0]} if any(i.name == "n" for i in inputs) else {"zero": [0], "n": 3}
    save(tmp_path / "m.onnx", [node("Loop", ["n", "", first], ["y"], body=graph)], inputs, [value("y", F, ["len"])], constants)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.UNSUPPORTED and text in done.stderr, done.stderr


# ---- texts ----

def words(*texts):
    return np.array(texts, object)


TEXTS = ("t", "more", S, [2])


def test_longer_texts(tmp_path):
    """texts that become longer, of three iterations, and all that they have been"""
    nodes = [node("StringConcat", ["t", "x"], ["more"]), node("Equal", ["more", "t"], ["e"])]
    save(tmp_path / "m.onnx", [node("Loop", ["n", "", "a"], ["y", "all", "same"], body=body(nodes, [TEXTS], [("more", S, [2]), ("e", B, [2])]))], [value("a", S, [2]), value("x", S, [2])],
         [value("y", S, [2]), value("all", S, [3, 2]), value("same", B, [3, 2])], {"n": 3})
    compare(tmp_path, [{"a": words("", "é"), "x": words("b", "日本")}, {"a": words("ab", ""), "x": words("", "")}])


@pytest.mark.slow
def test_texts_of_a_run(tmp_path):
    """how often the loop runs, only a run knows; the texts are no longer than they were, or than a constant"""
    nodes = [node("Gather", ["names", "i"], ["name"]), node("Where", ["flags", "name", "t"], ["more"])]
    save(tmp_path / "m.onnx", [node("Loop", ["n", "", "a"], ["y"], body=body(nodes, [TEXTS]))], [value("n", I64, []), value("a", S, [2]), value("flags", B, [2])], [value("y", S, [2])],
         {"names": words("", "short", "x" * 99, "one more")})
    compare(tmp_path, [{"n": np.array(n), "a": words("first", "日本"), "flags": np.array(flags)} for n in (0, 1, 3, 4) for flags in ([True, False], [True, True])])


@pytest.mark.slow
@pytest.mark.parametrize("backward", [0, 1])
def test_scan(tmp_path, backward):
    """a state of texts, and texts scanned and stacked"""
    nodes = [node("Equal", ["t", "x"], ["e"]), node("Where", ["e", "x", "mark"], ["row"]), node("Identity", ["x"], ["next"])]
    graph = helper.make_graph(nodes, "body", [value("t", S, [2]), value("x", S, [2])], [value("next", S, [2]), value("row", S, [2]), value("e", B, [2])])
    save(tmp_path / "m.onnx", [node("Scan", ["a", "b"], ["y", "rows", "same"], body=graph, num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1, 0], scan_input_directions=[backward])],
         [value("a", S, [2]), value("b", S, [2, 3])], [value("y", S, [2]), value("rows", S, [2, 3]), value("same", B, [3, 2])], {"mark": words("<another one>")})
    compare(tmp_path, [{"a": words("k", "l"), "b": words("k", "k", "é", "m", "l", "l").reshape(2, 3)}])


@pytest.mark.slow
def test_longer_in_a_scan(tmp_path):
    """all texts of a column, one behind the other"""
    graph = helper.make_graph([node("StringConcat", ["t", "x"], ["more"]), node("Identity", ["more"], ["row"])], "body", [value("t", S, [2]), value("x", S, [2])],
                              [value("more", S, [2]), value("row", S, [2])])
    save(tmp_path / "m.onnx", [node("Scan", ["a", "b"], ["y", "rows"], body=graph, num_scan_inputs=1)], [value("a", S, [2]), value("b", S, [5, 2])], [value("y", S, [2]), value("rows", S, [5, 2])])
    long = "é" * 31 + "a"

    def expect(a, b):                   # onnxruntime has another state's text in front of some
        rows = a + np.cumsum(b, axis=0)
        return rows[-1], rows
    compare(tmp_path, [{"a": words("k", "l"), "b": words(*"abcdefghij").reshape(5, 2)}, {"a": words(long, ""), "b": np.full((5, 2), long, object)}], expect=expect)


@pytest.mark.slow
def test_longer_until(tmp_path):
    """it is known how often the loop runs at most"""
    nodes = [node("StringConcat", ["t", "x"], ["more"]), node("Less", ["i", "k"], ["goes"])]
    save(tmp_path / "m.onnx", [node("Loop", ["n", "", "a"], ["y"], body=body(nodes, [TEXTS], go="goes"))], [value("a", S, [2]), value("x", S, [2]), value("k", I64, [])], [value("y", S, [2])],
         {"n": 4})
    compare(tmp_path, [{"a": words("k", "é" * 31), "x": words("b" * 63, "日本"), "k": np.array(k)} for k in (-1, 1, 9)])


TEXTS_REFUSED = {
    "longer of a run": (node("Loop", ["n", "", "a"], ["y"], body=body([node("StringConcat", ["t", "t"], ["more"])], [TEXTS])), "texts that it carries are larger"),
    "how many of a run": (node("Loop", ["n", "", "z"], ["w", "y"], body=body([node("Identity", ["t"], ["more"]), node("Identity", ["a"], ["r"])], [("t", "more", F, [])], [("r", S, [2])])),
                          "has as many texts as there are iterations"),
    "longer in a scan": (node("Scan", ["a", "b"], ["y"], num_scan_inputs=1, body=helper.make_graph([node("StringConcat", ["t", "t"], ["more"])], "body", [value("t", S, [2]), value("x", S, [2])],
                                                                                                [value("more", S, [2])])), "texts that it carries are longer"),
}


@pytest.mark.parametrize("name", TEXTS_REFUSED)
def test_texts_refused(tmp_path, name):
    loop, text = TEXTS_REFUSED[name]
    save(tmp_path / "m.onnx", [loop], [value("n", I64, []), value("a", S, [2]), value("b", S, [3, 2]), value("z", F, [])], [value("y", S, None)])
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--dim=y_count=0..4", "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.UNSUPPORTED and text in done.stderr, done.stderr
