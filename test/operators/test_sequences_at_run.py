# SPDX-License-Identifier: MIT
"""Sequences whose length, or the shapes of whose items, only a run knows, and optionals of which only a run knows whether they have a value:
against onnxruntime."""
import pathlib
import random as chance
import sys

import numpy as np
import onnxruntime
import pytest
from onnx import helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "support")]
import dnncc  # noqa: E402
from test_sequences import B, F, I64, node, optional, refused, save, sequence, value  # noqa: E402

R = np.random.default_rng(11)


def random(*shape):
    return R.standard_normal(shape).astype(np.float32)


def run(program, session, feeds):
    """what the program makes of these inputs, lists where the model has sequences, None where it has no value; in the order of the model's outputs"""
    given = [part for i in session.get_inputs() for part in (feeds[i.name] if isinstance(feeds[i.name], list) else [feeds[i.name]])]
    named = dict(zip([port[1] for port in dnncc.describe(program) if not port[0]], dnncc.run_host(program, given)))
    results = []
    for output in session.get_outputs():
        if output.type.startswith("tensor"):
            results.append(named[output.name])
        elif output.name in named:
            items = dnncc.rows_as_list(named, output.name)
            results.append(items[0] if output.type.startswith("optional(tensor") and items else items or None if output.type.startswith("optional(tensor") else items)
        else:
            results.append([named[k] for k in sorted(named, key=len) if k.startswith(f"{output.name}.")])
    return results


def same(got, want):
    if want is None or isinstance(want, list):
        assert type(got) is type(want) and (want is None or len(got) == len(want)), (got, want)
        for a, b in zip(got or [], want or []):
            same(a, b)
    else:
        assert got.shape == np.shape(want) and got.dtype == np.asarray(want).dtype, (got, want)
        np.testing.assert_array_equal(got, want)


def compare(folder, feeds_list, options=(), level="-O2"):
    """dnncc's C, with sanitizers, against onnxruntime, to the bit"""
    session = onnxruntime.InferenceSession(str(folder / "m.onnx"), providers=["CPUExecutionProvider"])
    dnncc.compile_model(folder / "m.onnx", folder, [level, *options])
    program = dnncc.build_host(folder, dnncc.SANITIZE)
    for feeds in feeds_list:
        want = session.run(None, feeds)
        for a, b in zip(run(program, session, feeds), want, strict=True):
            same(a, b)
    return program


def index(number):
    return np.array(number)


THREE = [node("SplitToSequence", ["x", "parts"], ["s"], axis=0)]
PARTS = {"parts": np.array([2, 1, 3])}


@pytest.mark.parametrize("alike", [False, True])
def test_positions(tmp_path, alike):
    """insert, erase and take at positions of a run, of lists whose items differ in shape, and of such as do not"""
    parts = {"parts": np.array([2, 2, 2] if alike else [2, 1, 3])}
    save(tmp_path / "m.onnx", [*THREE, node("SequenceInsert", ["s", "y", "i"], ["more"]), node("SequenceErase", ["more", "k"], ["less"]),
                               node("SequenceAt", ["more", "k"], ["item"]), node("SequenceLength", ["less"], ["n"]),
                               node("ConcatFromSequence", ["less"], ["all"], axis=0), node("SequenceInsert", ["less", "y"], ["last"]), node("SequenceErase", ["last"], ["back"])],
         [value("x", [6, 2]), value("y", [2, 2]), value("i", [], I64), value("k", [], I64)],
         [sequence("more"), sequence("less"), value("item"), value("n", [], I64), value("all"), sequence("last"), sequence("back")], parts)
    feeds = [{"x": random(6, 2), "y": random(2, 2), "i": index(i), "k": index(k)} for i in (-3, 0, 2, 3) for k in (-4, 1, 3)]
    program = compare(tmp_path, feeds)
    for i, k in ((4, 0), (-4, 0), (0, 4), (0, -5)):
        with pytest.raises(AssertionError, match="returned -3"):
            dnncc.run_host(program, [feeds[0]["x"], feeds[0]["y"], index(i), index(k)])


@pytest.mark.parametrize("axis,new", [(0, 1), (1, 1), (-1, 1), (0, 0), (1, 0)])
def test_concat(tmp_path, axis, new):
    """of as many items as a run has, alike but along the axis"""
    split = [node("SplitToSequence", ["x", "each"], ["s"], axis=0 if new else axis), node("SequenceErase", ["s"] if not new else ["s", "i"], ["t"])]
    save(tmp_path / "m.onnx", [*split, node("ConcatFromSequence", ["t"], ["y"], axis=axis, new_axis=new)],
         [value("x", [6, 4]), value("each", [], I64), value("i", [], I64)], [value("y")])
    compare(tmp_path, [{"x": random(6, 4), "each": index(each), "i": index(0)} for each in ((1, 2, 3) if new else (1, 2, 3))])


def test_concat_of_unlike_items_fails(tmp_path):
    save(tmp_path / "m.onnx", [node("SplitToSequence", ["x", "each"], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=1)],
         [value("x", [5, 2]), value("each", [], I64)], [value("y")])
    program = compare(tmp_path, [{"x": random(5, 2), "each": index(1)}])
    for each in (2, 3, 0, -1):
        with pytest.raises(AssertionError, match="returned -[0-9]"):
            dnncc.run_host(program, [random(5, 2), index(each)])


@pytest.mark.parametrize("axis", [0, 1])
def test_split(tmp_path, axis):
    save(tmp_path / "m.onnx", [node("SplitToSequence", ["x", "each"], ["s"], axis=axis), node("SplitToSequence", ["x", "list"], ["t"], axis=axis), node("SequenceLength", ["s"], ["n"])],
         [value("x", [5, 5]), value("each", [], I64), value("list", [3], I64)], [sequence("s"), sequence("t"), value("n", [], I64)])
    compare(tmp_path, [{"x": random(5, 5), "each": index(each), "list": np.array(parts)} for each, parts in ((1, [5, 0, 0]), (2, [1, 2, 2]), (5, [0, 4, 1]), (4, [2, 2, 1]))])


def test_split_of_an_open_extent(tmp_path):
    """as many items as there are rows"""
    save(tmp_path / "m.onnx", [node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=0), node("SplitToSequence", ["x", "two"], ["t"], axis=0),
                               node("SequenceAt", ["s", "i"], ["y"]), node("ConcatFromSequence", ["t"], ["z"], axis=0)],
         [value("x", ["N", 3]), value("i", [], I64)], [sequence("s"), sequence("t"), value("y"), value("z")], {"two": np.array(2)})
    compare(tmp_path, [{"x": random(n, 3), "i": index(i)} for n, i in ((1, 0), (4, -1), (5, 3), (7, 6))], ["--dim=N=1..7"])


def branch(name, nodes, outputs):
    return helper.make_graph(nodes, name, [], outputs)


@pytest.mark.parametrize("case", ["alike", "shapes", "lengths", "nothing"])
def test_branches(tmp_path, case):
    """sequences of both branches, of as many items and of others"""
    other = {"alike": ["SequenceConstruct", ["x", "x"]], "shapes": ["SequenceConstruct", ["y", "x"]], "lengths": ["SequenceConstruct", ["y"]], "nothing": ["SequenceEmpty", []]}[case]
    then, els = branch("then", [node("SequenceConstruct", ["x", "x"], ["t"])], [sequence("t")]), branch("else", [node(*other, ["u"])], [sequence("u")])
    save(tmp_path / "m.onnx", [node("If", ["c"], ["s"], then_branch=then, else_branch=els), node("SequenceLength", ["s"], ["n"]), node("SequenceInsert", ["s", "y"], ["q"]),
                               node("SequenceAt", ["q", "i"], ["z"])],
         [value("c", [], B), value("x", [2, 3]), value("y", [1, 3]), value("i", [], I64)], [sequence("s"), value("n", [], I64), sequence("q"), value("z")])
    compare(tmp_path, [{"c": np.array(c), "x": random(2, 3), "y": random(1, 3), "i": index(-1)} for c in (True, False)])


def loop_body(nodes, held="h", more=()):
    return helper.make_graph(nodes, "body", [value("i", [], I64), value("go", [], B), sequence(held), *[v for v, _ in more]], [value("again", [], B), sequence("next"), *[v for _, v in more]])


@pytest.mark.parametrize("begin", ["empty", "three"])
@pytest.mark.parametrize("stop", [None, 2])
def test_loop(tmp_path, begin, stop):
    """a loop of as many iterations as a run says appends items whose shape it says, too; what it has made is read in it"""
    nodes = [node("Identity", ["go"], ["again"]) if stop is None else node("Less", ["i", "stop"], ["again"]),
             node("Add", ["i", "one"], ["end"]), node("Unsqueeze", ["end", "zeros"], ["ends"]), node("Slice", ["x", "zeros", "ends"], ["item"]),
             node("SequenceInsert", ["h", "item"], ["held"]), node("SequenceAt", ["held", "i"], ["past"]), node("SequenceInsert", ["held", "past", "zero"], ["next"])]
    first = [node("SequenceEmpty", [], ["s"])] if begin == "empty" else THREE
    save(tmp_path / "m.onnx", [*first, node("Loop", ["n", "", "s"], ["all"], body=loop_body(nodes)), node("SequenceLength", ["all"], ["length"])],
         [value("x", [6, 2]), value("n", [], I64)], [sequence("all"), value("length", [], I64)],
         {"one": np.array(1), "zero": np.array(0), "zeros": np.array([0]), **PARTS, **({} if stop is None else {"stop": np.array(stop)})})
    feeds = [{"x": random(6, 2), "n": index(n)} for n in (0, 1, 3, 5)]
    code, said = refused(tmp_path)
    assert code == dnncc.UNSUPPORTED and "node of output 'all' (Loop" in said and "--dim all_count=0..512" in said, said
    program = compare(tmp_path, feeds, ["--dim=all_count=0..14"])
    if stop is None:
        with pytest.raises(AssertionError, match="returned -3"):    # there is no room
            dnncc.run_host(program, [feeds[0]["x"], index(9)])


def test_loop_is_bounded_by_its_trips(tmp_path):
    """where only the condition is a run's, the trip count bounds the length; the body reads, erases and replaces"""
    nodes = [node("Less", ["i", "stop"], ["again"]), node("SequenceAt", ["h", "i"], ["item"]), node("Add", ["item", "item"], ["two"]),
             node("SequenceErase", ["h", "i"], ["fewer"]), node("SequenceInsert", ["fewer", "two", "i"], ["same"]), node("SequenceInsert", ["same", "item"], ["next"])]
    save(tmp_path / "m.onnx", [*THREE, node("Loop", ["four", "", "s"], ["all"], body=loop_body(nodes)), node("ConcatFromSequence", ["all"], ["rows"], axis=0)],
         [value("x", [6, 2]), value("stop", [], I64)], [sequence("all"), value("rows")], {"four": np.array(4), **PARTS})
    compare(tmp_path, [{"x": random(6, 2), "stop": index(stop)} for stop in (0, 1, 2, 8)])


def test_loop_in_a_loop(tmp_path):
    inner = helper.make_graph([node("Identity", ["g2"], ["a2"]), node("Mul", ["x", "w"], ["xw"]), node("SequenceInsert", ["h2", "xw"], ["n2"])], "inner",
                              [value("j", [], I64), value("g2", [], B), sequence("h2")], [value("a2", [], B), sequence("n2")])
    nodes = [node("Identity", ["go"], ["again"]), node("Cast", ["i"], ["w"], to=F), node("Loop", ["i", "", "h"], ["next"], body=inner)]
    save(tmp_path / "m.onnx", [node("SequenceEmpty", [], ["s"]), node("Loop", ["n", "", "s"], ["all"], body=loop_body(nodes))],
         [value("x", [2]), value("n", [], I64)], [sequence("all")])
    compare(tmp_path, [{"x": random(2), "n": index(n)} for n in (0, 1, 2, 4)], ["--dim=all_count=0..9", "--dim=next_count=0..9"])


@pytest.mark.parametrize("kind", ["tensor", "sequence"])
def test_optionals(tmp_path, kind):
    """whether there is a value, and what it is where there is one"""
    of = helper.make_tensor_type_proto(F, [2]) if kind == "tensor" else helper.make_sequence_type_proto(helper.make_tensor_type_proto(F, [2]))
    some = [node("Optional", ["x"], ["t"])] if kind == "tensor" else [node("SequenceConstruct", ["x", "x"], ["q"]), node("Optional", ["q"], ["t"])]
    result = value("t", [2]) if kind == "tensor" else sequence("t")
    then, els = branch("then", some, [optional("t", of)]), branch("else", [node("Optional", [], ["u"], type=of)], [optional("u", of)])
    get = [node("OptionalGetElement", ["o"], ["g"])] if kind == "tensor" else [node("OptionalGetElement", ["o"], ["l"]), node("SequenceAt", ["l", "zero"], ["g"])]
    nodes = [node("If", ["c"], ["o"], then_branch=then, else_branch=els), node("OptionalHasElement", ["o"], ["has"]),
             node("If", ["has"], ["y"], then_branch=branch("get", get, [value("g", [2])]), else_branch=branch("none", [node("Neg", ["x"], ["m"])], [value("m", [2])]))]
    assert result
    save(tmp_path / "m.onnx", nodes, [value("c", [], B), value("x", [2])], [value("has", [], B), value("y", [2]), optional("o", of)], {"zero": np.array(0)})
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path)
    program = dnncc.build_host(tmp_path, dnncc.SANITIZE)
    x = random(2)
    for c in (True, False):
        named = dict(zip([p[1] for p in dnncc.describe(program) if not p[0]], dnncc.run_host(program, [np.array(c), x])))
        assert bool(named["has"]) == c
        np.testing.assert_array_equal(named["y"], x if c else -x)
        items = dnncc.rows_as_list(named, "o")
        assert (items is None or not items) if not c else all(np.array_equal(i, x) for i in items) and len(items) == (1 if kind == "tensor" else 2)
    save(tmp_path / "m.onnx", nodes[:1] + get[:1] + [node("OptionalGetElement", ["o"], ["z"])] + ([] if kind == "tensor" else [node("SequenceLength", ["z"], ["n"])]),
         [value("c", [], B), value("x", [2])], [value("z", [2]) if kind == "tensor" else value("n", [], I64)], {"zero": np.array(0)})
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path)
    program = dnncc.build_host(tmp_path, dnncc.SANITIZE)
    dnncc.run_host(program, [np.array(True), x])
    with pytest.raises(AssertionError, match="returned -3"):
        dnncc.run_host(program, [np.array(False), x])



def test_map(tmp_path):
    """over items of a run, beside others and a tensor; what the body makes is of another element, and of another shape"""
    body = helper.make_graph([node("ReduceMax", ["b"], ["mb"], keepdims=0), node("Mul", ["a", "mb"], ["ab"]), node("Add", ["ab", "c"], ["sum"]), node("Cast", ["sum"], ["whole"], to=I64), node("Shape", ["a"], ["shape"]),
                              node("ReduceMax", ["sum"], ["most"], keepdims=0)], "body", [value("a"), value("b"), value("c")],
                             [value("sum"), value("whole", None, I64), value("shape", None, I64), value("most")])
    save(tmp_path / "m.onnx", [node("SplitToSequence", ["x", "k"], ["s"]), node("SplitToSequence", ["y", "k"], ["t"]), node("SequenceMap", ["s", "t", "z"], ["u", "v", "w", "q"], body=body)],
         [value("x", [6, 2]), value("y", [6, 2]), value("z", [2]), value("k", [], I64)], [sequence("u"), sequence("v", I64), sequence("w", I64), sequence("q")])
    compare(tmp_path, [{"x": random(6, 2), "y": random(6, 2), "z": random(2), "k": index(k)} for k in (1, 2, 4, 6)])

REFUSED = {
    "large parts": ([node("SplitToSequence", ["x", "k"], ["y"])], [100000], "bound their number by --dim y_count=0..16"),
    "ranks": ([node("SequenceConstruct", ["x", "x"], ["s"]), node("SequenceErase", ["s", "k"], ["y"])], [1] * 16, "items of rank 16, at most 15"),
    "texts": ([node("Cast", ["x"], ["t"], to=I64), node("Cast", ["t"], ["u"], to=8), node("SequenceConstruct", ["u"], ["s"]), node("SequenceErase", ["s", "k"], ["y"])], [2],
              "a sequence of texts, at a position that only a run knows"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path, name):
    nodes, shape, text = REFUSED[name]
    save(tmp_path / "m.onnx", nodes, [value("x", shape), value("k", [], I64)], [sequence("y", 8 if name == "texts" else F)])
    code, said = refused(tmp_path)
    assert code == dnncc.UNSUPPORTED and text in said, said


def chain(seed):
    """nodes, inputs and what they are for a random program of sequences: positions are those of a run, within the sequence"""
    r = chance.Random(seed)
    nodes, known, count = [node("SplitToSequence", ["x", "parts"], ["s0"], axis=0)], ["s0"], [0]

    def fresh(prefix):
        count[0] += 1
        return f"{prefix}{count[0]}"

    def at(into, of, end):
        """a position of a run below the sequence's length + end"""
        length, room, place = fresh("n"), fresh("n"), fresh("p")
        into += [node("SequenceLength", [of], [length]), node("Add", [length, "one" if end else "zero"], [room]), node("Mod", [r.choice(["i", "k"]), room], [place])]
        return place

    def item(into, of):
        """an item of the sequence, or a part of x whose extent is a run's"""
        made = fresh("t")
        if r.random() < 0.5:
            into.append(node("SequenceAt", [of, at(into, of, 0)], [made]))
        else:
            into.append(node("Slice", ["x", "zeros", "few"], [made]))
        if r.random() < 0.3:
            into.append(node("Neg", [made], [fresh("t")]))
            return into[-1].output[0]
        return made

    def step(into, of, depth):
        made, kind = fresh("s"), r.choice(["insert", "insert", "append", "erase", "if", "loop"][:6 if depth < 2 else 4])
        if kind == "insert":
            into.append(node("SequenceInsert", [of, item(into, of), at(into, of, 1)], [made]))
        elif kind == "append":
            into.append(node("SequenceInsert", [of, item(into, of)], [made]))
        elif kind == "erase":
            grown = fresh("s")
            into += [node("SequenceInsert", [of, item(into, of)], [grown])]
            into.append(node("SequenceErase", [grown, at(into, grown, 0)], [made]))
        elif kind == "if":
            sides = []
            for _ in range(2):
                inside = []
                last = step(inside, of, depth + 1)
                sides.append(branch(fresh("g"), inside, [sequence(last)]))
            into.append(node("If", ["c"], [made], then_branch=sides[0], else_branch=sides[1]))
        else:
            number, go, held, again, inside = fresh("j"), fresh("go"), fresh("h"), fresh("a"), []
            inside.append(node("Identity", [go], [again]))
            last = step(inside, held, depth + 1)
            body = helper.make_graph(inside, fresh("g"), [value(number, [], I64), value(go, [], B), sequence(held)], [value(again, [], B), sequence(last)])
            trip = fresh("n")
            into += [node("Mod", ["k", "three"], [trip]), node("Loop", [trip, "", of], [made], body=body)]
        return made

    for _ in range(3):
        known.append(step(nodes, r.choice(known), 0))
    nodes += [node("ConcatFromSequence", [known[-1]], ["all"], axis=0), node("SequenceLength", [known[-1]], ["length"])]
    return nodes, known


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.sample(20)
def test_random_programs(tmp_path, seed):
    nodes, known = chain(seed)
    inputs = [value("x", [6, 2]), value("i", [], I64), value("k", [], I64), value("few", [1], I64), value("c", [], B)]
    save(tmp_path / "m.onnx", nodes, inputs, [sequence(known[-1]), value("all"), value("length", [], I64)],
         {"parts": np.array([2, 1, 3]), "one": np.array(1), "zero": np.array(0), "three": np.array(3), "zeros": np.array([0])})
    feeds = [{"x": random(6, 2), "i": index(i), "k": index(k), "few": np.array([few]), "c": np.array(c)} for i, k, few, c in ((0, 0, 1, True), (5, 2, 4, False), (7, 11, 6, True), (2, 4, 3, False))]
    loops = []

    def find(of):
        for n in of:
            loops.extend([n.output[0]] if n.op_type == "Loop" else [])
            for a in n.attribute:
                find(a.g.node)
    find(nodes)
    compare(tmp_path, feeds, [f"--dim={name}_count=0..16" for name in loops], f"-O{seed % 4}")
