# SPDX-License-Identifier: MIT
"""Sequences and optionals, which are lists while a model is imported: against onnxruntime, and what is refused."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

R = np.random.default_rng(5)
F, I64, B = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
node = helper.make_node


def value(name, shape=None, kind=F):
    return helper.make_tensor_value_info(name, kind, shape)


def sequence(name, kind=F):
    return helper.make_value_info(name, helper.make_sequence_type_proto(helper.make_tensor_type_proto(kind, None)))


def optional(name, of=None):
    return helper.make_value_info(name, helper.make_optional_type_proto(of or helper.make_tensor_type_proto(F, None)))


def save(path, nodes, inputs, outputs, constants=(), opset=18, functions=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(constants).items()])
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=functions), str(path))


def flat(values):
    return [part for v in values for part in (v if isinstance(v, list) else [] if v is None else [v])]


def compare(folder, feeds, options=()):
    """dnncc's C, strict and with sanitizers, against onnxruntime, to the bit; the names of the outputs"""
    session = onnxruntime.InferenceSession(str(folder / "m.onnx"), providers=["CPUExecutionProvider"])
    want = flat(session.run(None, feeds))
    dnncc.compile_model(folder / "m.onnx", folder, options)
    dnncc.check_clang(folder)
    program = dnncc.build_host(folder, dnncc.SANITIZE)
    got = dnncc.run_host(program, flat(feeds[i.name] for i in session.get_inputs()))
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    return [port[1] for port in dnncc.describe(program) if not port[0]]


def random(*shape):
    return R.standard_normal(shape).astype(np.float32)


def refused(folder, options=()):
    """(exit code, what is said)"""
    done = dnncc.run([dnncc.DNNCC, folder / "m.onnx", *options, "-o", folder / "refused.c"])
    assert not (folder / "refused.c").exists()
    return done.returncode, done.stderr


SPLITS = [({}, None), ({"axis": 1}, None), ({"axis": -1, "keepdims": 0}, None), ({"axis": 0}, np.array(3)), ({"axis": 1}, np.array([1, 0, 4])),
          ({"axis": 1}, np.array(2)), ({"axis": 1}, np.array([5]))]


@pytest.mark.parametrize("case", range(len(SPLITS)))
def test_split(tmp_path, case):
    attributes, split = SPLITS[case]
    constants = {} if split is None else {"split": split}
    save(tmp_path / "m.onnx", [node("SplitToSequence", ["x", *constants], ["s"], **attributes), node("SequenceLength", ["s"], ["n"])],
         [value("x", [4, 5])], [sequence("s"), value("n", [], I64)], constants)
    names = compare(tmp_path, {"x": random(4, 5)})
    assert names == [f"s.{k}" for k in range(len(names) - 1)] + ["n"]


@pytest.mark.parametrize("axis,new", [(0, 0), (1, 0), (-1, 0), (0, 1), (2, 1), (-1, 1), (-3, 1)])
def test_concat(tmp_path, axis, new):
    save(tmp_path / "m.onnx", [node("SequenceConstruct", ["x", "y", "x"], ["s"]), node("ConcatFromSequence", ["s"], ["z"], axis=axis, new_axis=new)],
         [value("x", [2, 3]), value("y", [2, 3])], [value("z")])
    compare(tmp_path, {"x": random(2, 3), "y": random(2, 3)})


def test_insert_and_erase(tmp_path):
    """at each position, from both ends; what came before stays as it was"""
    nodes, outputs = [node("SequenceConstruct", ["a", "b", "c"], ["s"])], []
    for at in range(-3, 4):
        nodes += [node("SequenceInsert", ["s", "d", f"p{at}"], [f"in{at}"]), node("ConcatFromSequence", [f"in{at}"], [f"all{at}"], axis=0)]
        outputs.append(value(f"all{at}"))
    for at in range(-3, 3):
        nodes += [node("SequenceErase", ["s", f"p{at}"], [f"out{at}"]), node("ConcatFromSequence", [f"out{at}"], [f"rest{at}"], axis=0)]
        outputs.append(value(f"rest{at}"))
    nodes += [node("SequenceErase", ["s"], ["two"]), node("SequenceInsert", ["two", "d"], ["abd"]), node("SequenceInsert", ["two", "a"], ["aba"]),
              node("SequenceInsert", ["s", "a"], ["abca"]), node("SequenceInsert", ["s", "b"], ["abcb"]), node("SequenceInsert", ["abca", "c"], ["abcac"])]
    save(tmp_path / "m.onnx", nodes, [value(n, [k + 1, 2]) for k, n in enumerate("abcd")],
         outputs + [sequence(n) for n in ("s", "two", "abd", "aba", "abca", "abcb", "abcac")],
         {f"p{at}": np.array(at, np.int64 if at % 2 else np.int32) for at in range(-3, 4)})
    compare(tmp_path, {n: random(k + 1, 2) for k, n in enumerate("abcd")})


def test_at(tmp_path):
    """constant positions; those of a run, too, where items are alike"""
    save(tmp_path / "m.onnx", [node("SplitToSequence", ["x"], ["s"], keepdims=0), node("SequenceAt", ["s", "two"], ["y"]),
                               node("SequenceAt", ["s", "back"], ["z"]), node("SequenceAt", ["s", "i"], ["w"])],
         [value("x", [3, 4]), value("i", [], I64)], [value("y", [4]), value("z", [4]), value("w", [4])], {"two": np.array(2), "back": np.array(-3)})
    for i in (-3, 0, 2):
        compare(tmp_path, {"x": random(3, 4), "i": np.array(i)})
    program = dnncc.build_host(tmp_path, dnncc.SANITIZE)
    for i in (-4, 3):
        with pytest.raises(AssertionError, match="returned -3"):
            dnncc.run_host(program, [random(3, 4), np.array(i)])


def test_map(tmp_path):
    body = helper.make_graph([node("Mul", ["a", "b"], ["ab"]), node("Add", ["ab", "c"], ["abc"]), node("Shape", ["a"], ["shape"])], "body",
                             [value("a"), value("b"), value("c")], [value("abc"), value("shape", None, I64)])
    save(tmp_path / "m.onnx", [node("SplitToSequence", ["x", "parts"], ["s"]), node("SplitToSequence", ["y", "parts"], ["t"]),
                               node("SequenceMap", ["s", "t", "z"], ["u", "shapes"], body=body)],
         [value("x", [4, 3]), value("y", [4, 3]), value("z", [3])], [sequence("u"), sequence("shapes", I64)], {"parts": np.array([1, 3])})
    assert compare(tmp_path, {"x": random(4, 3), "y": random(4, 3), "z": random(3)}) == ["u.0", "u.1", "shapes.0", "shapes.1"]


def append_loop(trip, stop=None):
    """appends x[i] * v to a sequence, which begins with x; v doubles; stacks both; ends behind iteration `stop`"""
    nodes = [node("Gather", ["x", "i"], ["xi"]), node("Mul", ["xi", "v"], ["item"]), node("SequenceInsert", ["held", "item"], ["next"]),
             node("Add", ["v", "v"], ["vv"]), node("Less", ["i", "stop"], ["again"]) if stop is not None else node("Identity", ["go"], ["again"])]
    body = helper.make_graph(nodes, "body", [value("i", [], I64), value("go", [], B), sequence("held"), value("v", [])],
                             [value("again", [], B), sequence("next"), value("vv", []), value("item", [3]), value("v2", [])])
    body.node.append(node("Identity", ["vv"], ["v2"]))
    constants = {"c": np.array(True)} | ({} if trip is None else {"n": np.array(trip)}) | ({} if stop is None else {"stop": np.array(stop)})
    return [node("SplitToSequence", ["x"], ["s"]), node("Loop", ["" if trip is None else "n", "c", "s", "v0"], ["all", "last", "rows", "vs"], body=body)], constants


@pytest.mark.parametrize("trip,stop", [(3, None), (1, None), (5, 1), (None, 2), (3, 7)])
def test_loop(tmp_path, trip, stop):
    nodes, constants = append_loop(trip, stop)
    save(tmp_path / "m.onnx", nodes, [value("x", [5, 3]), value("v0", [])], [sequence("all"), value("last", []), value("rows"), value("vs")], constants)
    compare(tmp_path, {"x": random(5, 3), "v0": np.array(.5, np.float32)})


def test_loop_without_iterations(tmp_path):
    nodes, constants = append_loop(0)
    save(tmp_path / "m.onnx", nodes, [value("x", [5, 3]), value("v0", [])], [sequence("all"), value("last", []), value("rows", [0, 3]), value("vs", [0])], constants)
    compare(tmp_path, {"x": random(5, 3), "v0": np.array(.5, np.float32)})
    save(tmp_path / "m.onnx", nodes, [value("x", [5, 3]), value("v0", [])], [sequence("all"), value("rows")], constants)
    code, said = refused(tmp_path)
    assert code == dnncc.UNSUPPORTED and "has no rows, and its shape is not stated" in said


def test_inside_a_loop_of_a_run(tmp_path):
    """items are read in the body of a loop that stays one, by its number; so is one that the body makes"""
    nodes = [node("SequenceAt", ["s", "i"], ["xi"]), node("SequenceConstruct", ["xi", "v"], ["two"]),
             node("ConcatFromSequence", ["two"], ["rows"], axis=0, new_axis=1), node("ReduceSum", ["rows", "zero"], ["next"], keepdims=0)]
    body = helper.make_graph(nodes, "body", [value("i", [], I64), value("go", [], B), value("v", [3])], [value("go", [], B), value("next", [3])])
    save(tmp_path / "m.onnx", [node("SplitToSequence", ["x"], ["s"], keepdims=0), node("Loop", ["n", "", "v0"], ["y"], body=body)],
         [value("x", [4, 3]), value("v0", [3]), value("n", [], I64)], [value("y", [3])], {"zero": np.array([0])})
    for n in (0, 1, 4):
        compare(tmp_path, {"x": random(4, 3), "v0": random(3), "n": np.array(n)})


def test_branches_and_functions(tmp_path):
    """a branch that is known, and a function of the model, take and give sequences"""
    then = helper.make_graph([node("SequenceInsert", ["s", "x"], ["t"])], "then", [], [sequence("t")])
    other = helper.make_graph([node("SequenceErase", ["s"], ["t2"])], "else", [], [sequence("t2")])
    function = helper.make_function("own", "Last", ["q"], ["rest", "last"], [node("Constant", [], ["back"], value_int=-1), node("SequenceAt", ["q", "back"], ["last"]),
                                                                         node("SequenceErase", ["q"], ["rest"])], [helper.make_opsetid("", 18)])
    save(tmp_path / "m.onnx", [node("SplitToSequence", ["x"], ["s"]), node("SequenceLength", ["s"], ["n"]), node("Equal", ["n", "two"], ["c"]),
                               node("If", ["c"], ["u"], then_branch=then, else_branch=other), node("Last", ["u"], ["r", "last"], domain="own"),
                               node("Identity", ["r"], ["same"])],
         [value("x", [2, 3])], [sequence("same"), value("last")], {"two": np.array(2)}, functions=[function])
    assert compare(tmp_path, {"x": random(2, 3)}) == ["same.0", "same.1", "last"]


def test_inputs(tmp_path):
    """items of a sequence are inputs of their own, whose shapes --input states"""
    save(tmp_path / "m.onnx", [node("SequenceInsert", ["s", "x", "zero"], ["t"]), node("ConcatFromSequence", ["t"], ["y"], axis=0)],
         [sequence("s"), value("x", [1, 3])], [value("y"), sequence("t")], {"zero": np.array(0)})
    assert compare(tmp_path, {"s": [random(2, 3), random(4, 3)], "x": random(1, 3)}, ["--input=s=2x3:4x3"]) == ["y", "t.0", "t.1", "t.2"]
    assert "const float *s_0, const float *s_1, const float *x" in " ".join((tmp_path / "model.h").read_text().split())
    assert compare(tmp_path, {"s": [], "x": random(1, 3)}, ["--input=s=empty"]) == ["y", "t.0"]
    code, said = refused(tmp_path)
    assert code == dnncc.UNSUPPORTED and "add --input s=2x3:2x3" in said
    for wrong in ("s=2x3:", "s=", "s=2x3:ax1", "s=none", "s=2x3,2x3"):
        code, said = refused(tmp_path, [f"--input={wrong}"])
        assert code == 1 and "is no shape of <... x f32>" in said, said


def test_inputs_of_declared_shapes(tmp_path):
    """what items are declared to be holds; --dim binds their symbols, too"""
    items = helper.make_value_info("s", helper.make_sequence_type_proto(helper.make_tensor_type_proto(F, ["N", 3])))
    save(tmp_path / "m.onnx", [node("ConcatFromSequence", ["s"], ["y"], axis=0)], [items], [value("y")])
    for options, good in ((["s=2x3:4x3"], True), (["s=2x3:2x3", "--dim=N=2"], True), (["s=2x3:4x3", "--dim=N=2"], False), (["s=2x4"], False), (["s=3"], False)):
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", f"--input={options[0]}", *options[1:], "-o", tmp_path / "m.c"])
        assert done.returncode == (0 if good else 1) and (good or "is no shape of <" in done.stderr), done.stderr


def test_optionals(tmp_path):
    nodes = [node("OptionalHasElement", ["o"], ["has"]), node("OptionalHasElement", ["x"], ["yes"]), node("OptionalHasElement", [], ["no"]),
             node("Optional", [], ["nothing"], type=helper.make_tensor_type_proto(F, [2])), node("OptionalHasElement", ["nothing"], ["none"]),
             node("Optional", ["x"], ["some"]), node("OptionalGetElement", ["some"], ["y"]), node("Optional", ["q"], ["list"]),
             node("OptionalGetElement", ["list"], ["items"]), node("SplitToSequence", ["x"], ["q"])]
    get = helper.make_graph([node("OptionalGetElement", ["o"], ["z"])], "then", [], [value("z")])
    constant = helper.make_graph([node("Neg", ["x"], ["z2"])], "else", [], [value("z2")])
    nodes.append(node("If", ["has"], ["w"], then_branch=get, else_branch=constant))
    save(tmp_path / "m.onnx", nodes, [optional("o"), value("x", [2])],
         [value(n, [], B) for n in ("has", "yes", "no", "none")] + [value("y", [2]), sequence("items"), value("w", [2])])
    x, o = random(2), random(2)
    for given, option in ((o, "o=2"), (None, "o=none")):
        dnncc.compile_model(tmp_path / "m.onnx", tmp_path, [f"--input={option}"])
        dnncc.check_clang(tmp_path)
        got = dnncc.run_host(dnncc.build_host(tmp_path, dnncc.SANITIZE), flat([given, x]))
        assert [bool(v) for v in got[:4]] == [given is not None, True, False, False]
        for a, b in zip(got[4:], [x, x[:1], x[1:], -x if given is None else o]):
            np.testing.assert_array_equal(a, b)
    code, said = refused(tmp_path)
    assert code == dnncc.UNSUPPORTED and "add --input o=2x3 or =none" in said


S, X = [sequence("s")], [value("x", [2, 3])]
PAIR = node("SequenceConstruct", ["x", "x"], ["q"])
BRANCH = helper.make_graph([node("SequenceConstruct", ["x"], ["t"])], "b", [], [sequence("t")])
COUNT = helper.make_graph([node("SequenceInsert", ["h", "x"], ["k"])], "b", [value("i", [], I64), value("g", [], B), sequence("h")],
                          [value("g", [], B), sequence("k")])
GROW = helper.make_graph([node("SequenceAt", ["h", "zero"], ["a"]), node("Concat", ["a", "a"], ["b"], axis=0), node("SequenceConstruct", ["b"], ["k"])], "b",
                         [value("i", [], I64), value("g", [], B), sequence("h")], [value("g", [], B), sequence("k")])
TENSOR = helper.make_graph([node("Neg", ["x"], ["u"])], "b", [], [value("u")])
FOREVER = helper.make_graph([node("Identity", ["g"], ["again"])], "b", [value("i", [], I64), value("g", [], B), sequence("h")], [value("again", [], B), sequence("h")])
REFUSED = {
    "operand": ([PAIR, node("Add", ["q", "x"], ["y"])], X, 3, "input 0 is sequence(<f32>), want a tensor"),
    "no sequence": ([node("SequenceLength", ["x"], ["y"])], X, 3, "input 0 is <2 x 3 x f32>, want a sequence"),
    "elements": ([PAIR, node("Cast", ["x"], ["i"], to=I64), node("SequenceInsert", ["q", "i"], ["y"])], X, 3, "i64"),
    "elements of a list": ([node("Cast", ["x"], ["i"], to=I64), node("SequenceConstruct", ["x", "i"], ["y"])], X, 3, "i64"),
    "insert behind the end": ([PAIR, node("SequenceInsert", ["q", "x", "three"], ["y"])], X, 3, "position 3 in a sequence of 2 items"),
    "erase behind the end": ([PAIR, node("SequenceErase", ["q", "two"], ["y"])], X, 3, "position 2 in a sequence of 2 items"),
    "erase nothing": ([node("SequenceEmpty", [], ["q"]), node("SequenceErase", ["q"], ["y"])], X, 3, "position -1 in a sequence of 0 items"),
    "at of nothing": ([node("SequenceEmpty", [], ["q"]), node("SequenceAt", ["q", "k"], ["y"])], X + [value("k", [], I64)], 3, "the sequence is empty"),
    "insert at half": ([PAIR, node("SequenceInsert", ["q", "x", "k"], ["y"])], X + [value("k", [])], 3, "the position is <f32>, want an integer"),
    "unlike ranks": ([node("ReduceSum", ["x"], ["r"], keepdims=0), node("SequenceConstruct", ["x", "r"], ["q"]), node("SequenceAt", ["q", "k"], ["y"])], X + [value("k", [], I64)], 4,
                     "items differ in rank"),
    "unlike concat": ([node("SplitToSequence", ["x", "parts"], ["q"], axis=1), node("ConcatFromSequence", ["q"], ["y"], axis=0)], X, 3, "differs from the first at dimension 1"),
    "unlike stack": ([node("SplitToSequence", ["x", "parts"], ["q"], axis=1), node("ConcatFromSequence", ["q"], ["y"], axis=0, new_axis=1)], X, 3, "item 1 is <2 x 2 x f32>"),
    "concat of nothing": ([node("SequenceEmpty", [], ["q"]), node("ConcatFromSequence", ["q"], ["y"], axis=0)], X, 3, "the sequence is empty"),
    "axis": ([PAIR, node("ConcatFromSequence", ["q"], ["y"], axis=3, new_axis=1)], X, 3, "axis"),
    "parts": ([node("SplitToSequence", ["x", "parts"], ["y"])], X, 3, "the parts sum to 3, want 2"),
    "parts of nothing": ([node("SplitToSequence", ["x", "zero"], ["y"])], X, 3, "parts of extent 0"),
    "trips": ([PAIR, node("Loop", ["k", "", "q"], ["y"], body=COUNT)], X + [value("k", [], I64)], 4, "bound their number by --dim y_count=0..512"),
    "growing items": ([PAIR, node("Loop", ["k", "", "q"], ["y"], body=GROW)], X + [value("k", [], I64)], 4, "items of a sequence that it carries are larger from one iteration"),
    "one branch": ([node("If", ["c"], ["y"], then_branch=BRANCH, else_branch=TENSOR)], X + [value("c", [], B)], 3, "a sequence of f32 and a tensor of f32"),
    "forever": ([PAIR, node("Loop", ["", "", "q"], ["y"], body=FOREVER)], X, 3, "limit"),
    "get of nothing": ([node("Optional", [], ["q"], type=helper.make_tensor_type_proto(F, [2])), node("OptionalGetElement", ["q"], ["y"])], X, 3, "the optional has no value"),
    "no type": ([node("Optional", [], ["y"])], X, 3, "neither an input nor a type is given"),
    "type": ([node("Optional", [], ["y"], type=helper.make_map_type_proto(I64, helper.make_tensor_type_proto(F, [2])))], X, 4, "neither a tensor nor a sequence of tensors"),
    "empty": ([node("SequenceEmpty", [], ["y"])], X, 4, "all outputs of the graph are empty sequences"),
    "map of others": ([PAIR, node("SequenceConstruct", ["x"], ["r"]), node("SequenceMap", ["q", "r"], ["y"], body=helper.make_graph(
        [node("Add", ["a", "b"], ["c"])], "b", [value("a"), value("b")], [value("c")]))], X, 3, "input 1 has 1 items, the first one 2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path, name):
    nodes, inputs, code, text = REFUSED[name]
    last = nodes[-1].op_type in ("SequenceLength", "SequenceAt", "ConcatFromSequence", "OptionalGetElement", "Add")
    save(tmp_path / "m.onnx", nodes, inputs, [value("y", None, I64 if nodes[-1].op_type == "SequenceLength" else F) if last else sequence("y")],
         {"zero": np.array(0), "two": np.array(2), "three": np.array(3), "parts": np.array([1, 2])})
    got, said = refused(tmp_path)
    assert got == code and text in said, (got, said)


def test_copies_are_limited(tmp_path):
    """4,000 items at the front are eight million copies, which cost as much as 250,000 operations; at the end they are none"""
    for where, ok in ((["zero"], False), ([], True)):
        nodes = [node("SequenceConstruct", ["x"], ["s0"])] + [node("SequenceInsert", [f"s{k}", "x", *where], [f"s{k + 1}"]) for k in range(4000)]
        save(tmp_path / "m.onnx", nodes + [node("SequenceLength", ["s4000"], ["y"])], [value("x", [1])], [value("y", [], I64)], {"zero": np.array(0)})
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--limit=nodes=100000", "-o", tmp_path / "m.c"])
        assert (done.returncode == 0) == ok
        assert ok or "items of sequences that are copied" in done.stderr
