# SPDX-License-Identifier: MIT
"""Models and graphs, rows 16 to 35 of the catalogue."""

import numpy as np
import onnx
import pytest
from hostile import (B, F, I64, SANITIZED, accepted, answered, clean, constant, field, graph, model, node, number, put, refused, results,
                     run, untyped, value, wrap)
from onnx import TensorProto, helper

X = np.arange(6, dtype=np.float32).reshape(2, 3)
RELU = [node("Relu", ["x"], ["y"], "r")]


# ---- 16, 17: the head ----


def test_16_no_graph_no_opset(tmp_path):
    head = number(1, 8)
    refused(tmp_path, head, names="no graph", lines=1)
    refused(tmp_path, head + field(8, number(2, 17)), names="no graph", lines=1)
    refused(tmp_path, head + field(7, graph(RELU).SerializeToString()), names="no operator set", lines=1)
    refused(tmp_path, field(8, number(2, 17)) + field(7, graph(RELU).SerializeToString()), names="IR version", lines=1)
    refused(tmp_path, head + field(8, number(2, 17)) + field(7, b""), names="no outputs", lines=1)


@pytest.mark.parametrize("version", [0, -1, 2 ** 62, -2 ** 63, 2 ** 32 + 17, 28])
def test_17_opset(tmp_path, version):
    refused(tmp_path, wrap(graph(RELU).SerializeToString(), opset=version), names="opset", lines=1)
    odd = wrap(graph(RELU).SerializeToString()) + field(8, field(1, b"com.example") + number(2, version))
    answered(tmp_path, odd) if version == 28 else refused(tmp_path, odd, names="com.example", lines=1)


def test_17_two_opsets(tmp_path):
    refused(tmp_path, model(RELU, opsets=[("", 17), ("", 13)]), names=["opset 17", "opset 13"], lines=1)
    refused(tmp_path, model(RELU, opsets=[("", 17), ("ai.onnx", 13)]), names="ai.onnx", lines=1)
    accepted(tmp_path, model(RELU, opsets=[("ai.onnx", 17), ("", 17), ("com.example", 3)]))


@pytest.mark.parametrize("version", [2 ** 40, 0, -1, 14, 2, 1])
def test_17_ir_version(tmp_path, version):
    refused(tmp_path, wrap(graph(RELU).SerializeToString(), ir_version=version), names="IR version", lines=1, codes=(4,) if version in (14, 2, 1) else (3,))


@pytest.mark.parametrize("version", range(3, 14))
def test_17_every_ir_version(tmp_path, version):
    accepted(tmp_path, wrap(graph(RELU).SerializeToString(), ir_version=version))


def test_17_domain_not_imported(tmp_path):
    refused(tmp_path, model(RELU, opsets=[("com.microsoft", 1)]), names="Relu", lines=1)


# ---- 18, 19, 20: outputs and names ----


def test_18_outputs_without_nodes(tmp_path):
    got = results(tmp_path, model([node("Identity", ["x"], ["y"])], None, [untyped("y"), untyped("x"), untyped("w")], [constant("w", [1, 2])]), [X])
    assert (got[0] == X).all() and (got[1] == X).all() and got[2].tolist() == [1, 2]
    got = results(tmp_path, model([], None, [untyped("x"), untyped("x")]), [X])
    assert (got[0] == X).all() and (got[1] == X).all()
    got = results(tmp_path, model([], [], [untyped("w")], [constant("w", [3])]), [])
    assert got[0].tolist() == [3]


def test_19_outputs(tmp_path):
    refused(tmp_path, model(RELU, outputs=[]), names="no outputs", lines=1)
    refused(tmp_path, model(RELU, outputs=[untyped("y"), untyped("nowhere")]), names="nowhere", lines=1)
    refused(tmp_path, model(RELU, outputs=[untyped("")]), lines=1)


def test_20_names(tmp_path):
    refused(tmp_path, model([node("Relu", ["ghost"], ["y"], "n1")]), names=["n1", "ghost"], lines=1)
    refused(tmp_path, model([*RELU, node("Neg", ["x"], ["y"], "n2")]), names=["n2", "'y'"], lines=1)
    refused(tmp_path, model([node("Neg", ["x"], ["x"], "n2"), *RELU]), names="n2", lines=1)
    refused(tmp_path, model([node("Split", ["x"], ["y", "y"], "n2", axis=1)]), names=["n2", "'y'"], lines=1)
    refused(tmp_path, model(RELU, initializers=[constant("w", [1]), constant("w", [1])]), names="'w'", lines=1)
    refused(tmp_path, model(RELU, initializers=[constant("y", [1])]), names="'y'", lines=1)
    refused(tmp_path, model(RELU, [value("x"), value("x")]), names="'x'", lines=1)
    refused(tmp_path, model(RELU, [value("x"), value("")]), names="input", lines=1)
    refused(tmp_path, model(RELU, initializers=[constant("", [1])]), names="initializer", lines=1)


# ---- 21: cycles ----


def branch(nodes, output, initializers=(), name="branch"):
    return graph(nodes, [], [untyped(output)], initializers, name)


def choose(then, otherwise, name="if", inputs=("c",), outputs=("y",)):
    return node("If", inputs, outputs, name, then_branch=then, else_branch=otherwise)


def test_21_cycles(tmp_path):
    refused(tmp_path, model([node("Relu", ["b"], ["a"], "n1"), node("Relu", ["a"], ["b"], "n2"), node("Relu", ["b"], ["y"], "n3")]),
            names=["cycle"], lines=1)
    done = refused(tmp_path, model([node("Relu", ["z"], ["y"], "out"), node("Add", ["z", "x"], ["z"], "self")]), names="cycle", lines=1)
    assert "'self'" in done.text
    loop = choose(branch([node("Relu", ["z"], ["t"])], "t"), branch([node("Neg", ["x"], ["e"])], "e"), "the_if")
    done = refused(tmp_path, model([loop, node("Relu", ["y"], ["z"], "back")], [value("x"), value("c", (), B)]), names="cycle", lines=1)
    assert "the_if" in done.text or "back" in done.text


def test_order_of_the_file_does_not_matter(tmp_path):
    nodes = [node("Neg", ["b"], ["y"]), node("Exp", ["a"], ["b"]), node("Relu", ["x"], ["a"])]
    assert np.allclose(results(tmp_path, model(nodes), [X])[0], -np.exp(X))


# ---- 22, 23: operators ----


def test_22_unknown_operators(tmp_path):
    nodes = [node("Frobnicate", ["x"], ["a"], "n1"), node("Relu", ["x"], ["b"], "n2", domain="com.example"), node("", ["x"], ["c"], "n3"),
             node("Relu", ["a"], ["d"], "n4"), node("Upsample", ["x"], ["e"], "n5"), node("Sum", ["b", "c", "d", "e"], ["y"], "n6")]
    done = refused(tmp_path, model(nodes, opsets=[("", 17), ("com.example", 3)]), codes=(4,), lines=4, names=[
        "'n1' (Frobnicate, opset 17)", "'n2' (Relu, domain 'com.example', opset 3)", "'n3' (, opset 17)", "'n5' (Upsample, opset 17)"])
    assert "n4" not in done.text and "n6" not in done.text


def test_22_many_unknown_operators(tmp_path):
    nodes = [node(f"Foo{i % 3}", ["x"], [f"t{i}"], f"n{i}") for i in range(1000)]
    done = refused(tmp_path, model([*nodes, *RELU]), codes=(4,))
    assert 50 < done.text.count("\n") < 60 and "316 more" in done.text and "(Foo0, opset 17)" in done.text


def test_22_in_subgraphs_and_functions(tmp_path):
    inner = choose(branch([node("Foo1", ["x"], ["t"], "s1")], "t"), branch([node("Foo2", ["x"], ["e"], "s2")], "e"))
    body = [node("Foo3", ["a"], ["o"], "f1")]
    f = helper.make_function("com.example", "Fun", ["a"], ["o"], body, [helper.make_opsetid("", 17)])
    looped = loop(loop_body([node("Foo4", ["v"], ["q"], "s4")], ("again", "q")), ("", "c", "x"), ("l",))
    nodes = [inner, node("Fun", ["x"], ["z"], "c1", domain="com.example"), node("Fun", ["z"], ["z2"], "c2", domain="com.example"), looped]
    refused(tmp_path, model(nodes, [value("x"), value("c", (), B)], opsets=[("", 17), ("com.example", 1)], functions=[f]), codes=(4,), lines=4,
            names=["'s1' (Foo1", "'s2' (Foo2", "'f1' (Foo3, opset 17) in function 'Fun'", "'s4' (Foo4"])


@pytest.mark.parametrize("bad", [
    node("Add", ["x"], ["y"], "bad"), node("Relu", [], ["y"], "bad"), node("Relu", ["x", "x"], ["y"], "bad"), node("Add", ["x", ""], ["y"], "bad"),
    node("Add", ["", "x"], ["y"], "bad"), node("Relu", ["x"], ["y", "z"], "bad"), node("Relu", ["x"], [], "bad"), node("Relu", ["x"], [""], "bad")])
def test_23_counts(tmp_path, bad):
    refused(tmp_path, model([bad, node("Neg", ["x"], ["out"])], outputs=[untyped("out")]), names="(Add)" if bad.op_type == "Add" else "(Relu)", lines=1, codes=(3,))


def test_23_trailing_absent_names(tmp_path):
    assert (results(tmp_path, model([node("Clip", ["x", "", ""], ["y"])]), [X])[0] == X).all()


# ---- 24, 25, 30: many of everything, in linear time ----


def chain(count, op="Identity", name="{}"):
    nodes = b"".join(field(1, field(1, (name.format(i)).encode()) + field(2, name.format(i + 1).encode()) + field(4, op.encode())) for i in range(count))
    return (nodes + field(2, b"g") + field(11, value(name.format(0)).SerializeToString()) +
            field(12, untyped(name.format(count)).SerializeToString()))


@pytest.mark.sample(2)
@pytest.mark.parametrize("op", ["Identity", "Relu", "Softsign", "Sin"])
def test_24_chain(tmp_path, op):
    """The IR of 100,000 operations is larger than 4 times their 2 MB of file: twice the catalogue's memory"""
    if op in ("Softsign", "Sin"):
        accepted(tmp_path, wrap(chain(2000, op)), slack=4)
    else:
        accepted(tmp_path, wrap(chain(100_000, op)), slack=4)


def test_24_limit(tmp_path):
    put(tmp_path, wrap(chain(1000)))
    refused(tmp_path, None, "--limit", "nodes=999", limit="nodes", codes=(3,), lines=1)
    run(tmp_path, "--limit", "nodes=1001")
    clean(tmp_path)
    answered(tmp_path, wrap(chain(1_000_000)), slack=4)


@pytest.mark.sample(3)
@pytest.mark.parametrize("op", ["Concat", "Sum", "Max"])
def test_25_many_inputs(tmp_path, op):
    attributes = {"axis": 0} if op == "Concat" else {}
    answered(tmp_path, model([node(op, ["x"] * 100_000, ["y"], **attributes)], [value("x", (1,))]), slack=4)


def test_25_many_ports(tmp_path):
    names = [f"x{i}" for i in range(3000)]
    answered(tmp_path, model([node("Identity", [n], ["y" + n]) for n in names], [value(n, (1,)) for n in names], [untyped("y" + n) for n in names]), slack=8)
    names = [f"x{i}" for i in range(70_000)]
    clean(tmp_path)
    answered(tmp_path, wrap(b"".join(field(11, value(n, (1,)).SerializeToString()) for n in names) + field(12, untyped("x0").SerializeToString())), slack=8)


def test_30_long_names(tmp_path):
    accepted(tmp_path, wrap(chain(20_000, name="{:0>800}")), slack=2)
    accepted(tmp_path, wrap(chain(20_000, name="a" * 400 + "{}")), slack=2)


# Each pair leaves FNV-1a with a fixed start in one state, so 17 of them in a row make 2^17 names of one hash. They were
# found by a search of minutes for the hash that dnncc's maps once used.
PAIRS = [tuple(bytes.fromhex(word) for word in pair) for pair in [
    ("303e425149324c4e345201", "63605240535331315a4cee"), ("4649404a4b5d42306a6901", "414c313f5351304e584953"),
    ("633556394b525350315301", "47364857605c6c523760f9"), ("563f4a624e384740396c01", "3f5435325848485e6a6fed"),
    ("3c536d6f554f363e683301", "404b385e6c56364c3a448b"), ("5643656b693f4753446d01", "534660674f323d4a6e5e98"),
    ("36476a36553d5e56685801", "454c6c53605a506f5262d2"), ("5333513057315f3a484701", "4c315d6a696e6a54426c23"),
    ("674a535e55584d623d6101", "4857665867654e4c3e5719"), ("4a4d5359416032685b4501", "4c59336f5d6a42434a5d6c"),
    ("5c4b416d5549475d513501", "635457534551614b60419f"), ("50596f40613133606c5401", "5c4540546c484b626259ef"),
    ("5d304855594d4163653d01", "4e4e3b6c306c5c6245668a"), ("4e41676b3c695241476401", "6d33434b3d685f5e46588e"),
    ("37476c4263386e47325401", "4542443a4f5b3c67384c6c"), ("6c475b32676b67626e4c01", "3658514c5c39305b393cc2"),
    ("485f3f424460366e346001", "664143634b5e33583c6467")]]


def test_30_names_of_one_hash(tmp_path):
    def name(i):
        return b"".join(pair[i >> k & 1] for k, pair in enumerate(PAIRS))
    nodes = b"".join(field(1, field(1, b"x") + field(2, name(i)) + field(4, b"Relu")) for i in range(100_000))
    put(tmp_path, wrap(nodes + field(11, value("x").SerializeToString()) + field(12, field(1, name(99_999)))))
    done = run(tmp_path, "--emit=ir", "-O0", output="out.dnn", slack=2)
    assert done.code == 0 and done.seconds < 20 * (10 if SANITIZED else 1), done


# ---- 26, 31: subgraphs ----

CONDITION = [value("x"), value("c", (), B)]


def nested(depth):
    inner = branch([node("Neg", ["x"], [f"e{depth}"])], f"e{depth}")
    for i in range(depth):
        inner = branch([choose(inner, branch([node("Relu", ["x"], [f"e{i}"])], f"e{i}"), f"if{i}", outputs=[f"t{i}"])], f"t{i}")
    return inner


def test_26_nested_if(tmp_path):
    top = nested(20)
    nodes = [choose(top, branch([node("Exp", ["x"], ["ee"])], "ee"))]
    got = results(tmp_path, model(nodes, CONDITION), [X, np.array(True)])
    assert (got[0] == -X).all()
    refused(tmp_path, model(nodes, CONDITION), "--limit", "nesting=15", limit="nesting", codes=(3,), lines=1)


def test_26_nested_3000(tmp_path):
    inner = graph([node("Neg", ["x"], ["n"])], [], [untyped("n")]).SerializeToString()
    for i in range(3000):
        attribute = field(1, b"then_branch") + number(20, 5) + field(6, inner)
        inner = field(1, field(1, b"c") + field(2, b"t%d" % i) + field(4, b"If") + field(5, attribute)) + field(12, field(1, b"t%d" % i))
    refused(tmp_path, wrap(inner + field(11, CONDITION[1].SerializeToString())), limit="wire_depth", codes=(3,), lines=1)


def test_26_run_time_and_constant_conditions(tmp_path):
    nodes = [choose(branch([node("Neg", ["x"], ["t"])], "t"), branch([node("Exp", ["x"], ["e"])], "e"))]
    for c in (True, False):
        want = -X if c else np.exp(X)
        assert np.allclose(results(tmp_path, model(nodes, CONDITION), [X, np.array(c)])[0], want)
        assert np.allclose(results(tmp_path, model(nodes, initializers=[constant("c", c, bool)]), [X])[0], want)
    odd = [choose(branch([node("Neg", ["x"], ["t"])], "t"), branch([node("Nonsense", ["ghost"], ["e"])], "e"))]
    accepted(tmp_path, model(odd, initializers=[constant("c", True, bool)]))
    clean(tmp_path)
    refused(tmp_path, model(odd, initializers=[constant("c", False, bool)]), names="ghost")
    for inputs, c in ((CONDITION[:1] + [value("c", (2,), B)], None), (CONDITION[:1] + [value("c", (), F)], None)):
        refused(tmp_path, model(nodes, inputs), names="condition", lines=1)


def test_26_branches_differ(tmp_path):
    two = graph([node("Neg", ["x"], ["t"]), node("Exp", ["x"], ["u"])], [], [untyped("t"), untyped("u")])
    one = branch([node("Exp", ["x"], ["e"])], "e")
    refused(tmp_path, model([choose(two, one)], CONDITION), names="'if' (If", lines=1)
    refused(tmp_path, model([choose(one, branch([node("Cast", ["x"], ["t"], to=I64)], "t"))], CONDITION), names="'if' (If", lines=1)
    refused(tmp_path, model([choose(one, branch([node("ReduceSum", ["x"], ["t"], keepdims=0)], "t"))], CONDITION), names="'if' (If", lines=1)
    refused(tmp_path, model([node("If", ["c"], ["y"], "if", then_branch=one)], CONDITION), names="else_branch", lines=1)
    refused(tmp_path, model([choose(graph([node("Neg", ["x"], ["t"])], [value("i")], [untyped("t")]), one)], CONDITION), names="subgraph", lines=1)


def test_31_scopes(tmp_path):
    good = branch([node("Neg", ["x"], ["t"])], "t")
    for name, bad in {"ghost": branch([node("Exp", ["ghost"], ["t2"], "n")], "t2"), "nowhere": branch([node("Exp", ["x"], ["t2"])], "nowhere")}.items():
        refused(tmp_path, model([node("Relu", ["x"], ["outer"], "o"), choose(good, bad), node("Add", ["y", "outer"], ["z"])], CONDITION, [untyped("z")]),
                names=name, lines=1, codes=(3,))
    same = [choose(branch([node("Neg", ["outer"], ["t"])], "t"), branch([node("Exp", ["outer"], ["t"])], "t")), node("Relu", ["x"], ["outer"])]
    assert (results(tmp_path, model(same, CONDITION), [X, np.array(True)])[0] == -X).all()


# ---- 27, 28, 32: functions ----


def function(name, nodes, inputs=("a",), outputs=("o",), attributes=(), defaults=(), domain="d", opsets=(("", 17), ("d", 1))):
    return helper.make_function(domain, name, list(inputs), list(outputs), list(nodes), [helper.make_opsetid(*o) for o in opsets],
                                list(attributes), list(defaults))


def call(name, inputs=("x",), outputs=("y",), node_name="call", **attributes):
    return node(name, inputs, outputs, node_name, domain="d", **attributes)


def with_functions(nodes, functions, **keywords):
    return model(nodes, opsets=[("", 17), ("d", 1)], functions=functions, **keywords)


def test_27_doubling(tmp_path):
    functions = [function(f"F{i}", [call(f"F{i + 1}", ["a"], ["b"]), call(f"F{i + 1}", ["b"], ["o"])]) for i in range(40)]
    functions.append(function("F40", [node("Neg", ["a"], ["o"])]))
    refused(tmp_path, with_functions([call("F0")], functions), limit="nodes", codes=(3,), lines=1)
    accepted(tmp_path, with_functions([call("F30")], functions), slack=2)


def test_27_deep(tmp_path):
    functions = [function(f"F{i}", [call(f"F{i + 1}", ["a"], ["o"])]) for i in range(5000)] + [function("F5000", [node("Neg", ["a"], ["o"])])]
    refused(tmp_path, with_functions([call("F0")], functions), limit="nesting", codes=(3,), lines=1, slack=2)
    accepted(tmp_path, with_functions([call("F4960")], functions), slack=2)


def test_28_recursion(tmp_path):
    for functions in ([function("F", [call("F", ["a"], ["o"])])],
                      [function("F", [call("G", ["a"], ["o"])]), function("G", [call("F", ["a"], ["o"])])],
                      [function("F", [choose(branch([call("F", ["a", "c"], ["t"])], "t"), branch([node("Neg", ["a"], ["e"])], "e"), outputs=["o"])], ["a", "c"])]):
        refused(tmp_path, with_functions([call("F")], functions), names="calls itself", lines=1, codes=(3,))
    refused(tmp_path, with_functions(RELU, [function("F", [call("F", ["a"], ["o"])])]), names="'F'", lines=1)


def test_28_functions_work(tmp_path):
    leaky = function("Leaky", [node("LeakyRelu", ["a"], ["t"], "inner"), node("Mul", ["t", "s"], ["o"])], ["a", "s"], attributes=["slope"])
    leaky.node[0].attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    got = results(tmp_path, with_functions([call("Leaky", ["x", "x"], slope=0.5)], [leaky]), [-X])
    assert np.allclose(got[0], 0.5 * X * X)
    optional = function("Opt", [node("Clip", ["a", "low", "high"], ["o"])], ["a", "low", "high"])
    assert (results(tmp_path, with_functions([call("Opt", ["x"])], [optional]), [X])[0] == X).all()
    default = function("Def", [node("LeakyRelu", ["a"], ["o"])], defaults=[helper.make_attribute("slope", 0.25)])
    default.node[0].attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    assert np.allclose(results(tmp_path, with_functions([call("Def")], [default]), [-X])[0], -0.25 * X)


def reference(n, name, parameter, kind=onnx.AttributeProto.FLOAT):
    n.attribute.append(onnx.AttributeProto(name=name, ref_attr_name=parameter, type=kind))
    return n


def test_28_functions_within_functions(tmp_path):
    """attributes handed on through calls and into subgraphs, overloads, operator sets of a function's own"""
    leaky = function("Leaky", [reference(node("LeakyRelu", ["a"], ["o"], "inner"), "alpha", "slope")], attributes=["slope"])
    outer = function("Outer", [reference(call("Leaky", ["a"], ["t"], "leaky"), "slope", "steep"), node("Neg", ["t"], ["o"])], attributes=["steep"])
    nodes = [call("Outer", ["x"], ["p"], "one", steep=0.5), call("Outer", ["p"], ["y"], "two", steep=0.25)]
    once = -np.where(X < 0, .5 * X, X)
    assert np.allclose(results(tmp_path, with_functions(nodes, [outer, leaky]), [X])[0], -np.where(once < 0, .25 * once, once))
    inside = function("In", [choose(branch([reference(node("LeakyRelu", ["a"], ["t"]), "alpha", "slope")], "t"),
                                    branch([call("Leaky", ["a"], ["e"], slope=.125)], "e"), outputs=["o"])], ["a", "c"], attributes=["slope"])
    for c, slope in ((True, .5), (False, .125)):
        got = results(tmp_path, with_functions([call("In", ["x", "c"], slope=0.5)], [inside, leaky], inputs=CONDITION), [-X, np.array(c)])
        assert np.allclose(got[0], np.where(X > 0, -slope * X, -X))
    overloads = [function("F", [node("Neg", ["a"], ["o"])]), function("F", [node("Add", ["a", "a"], ["o"])])]
    calls = [call("F", ["x"], ["p"], "plain"), call("F", ["p"], ["y"], "twice")]
    overloads[1].overload = calls[1].overload = "twice"
    assert (results(tmp_path, with_functions(calls, overloads, ir_version=10), [X])[0] == -2 * X).all()
    calls[1].overload = "nowhere"
    refused(tmp_path, with_functions(calls, overloads, ir_version=10), names="'twice' (F", lines=1, codes=(4,))
    old = function("Old", [node("Clip", ["a"], ["o"], min=-1.0, max=0.5)], opsets=[("", 6)])       # operands only from opset 11 on
    assert np.allclose(results(tmp_path, with_functions([call("Old")], [old]), [X])[0], np.clip(X, -1, .5))
    refused(tmp_path, with_functions([call("Old")], [function("Old", [node("Clip", ["a"], ["o"], min=-1.0, max=0.5)])]), names="unknown attribute", lines=1)


def test_28_function_errors(tmp_path):
    f = function("F", [node("Neg", ["a"], ["o"])])
    refused(tmp_path, with_functions([call("F")], [f, f]), names="'F' is defined twice", lines=1)
    refused(tmp_path, with_functions([call("F", ["x", "x"])], [f]), names="'call' (F)", lines=1)
    refused(tmp_path, with_functions([call("F", ["x"], ["y", "z"])], [f]), names="'call' (F)", lines=1)
    refused(tmp_path, with_functions([call("F")], [function("F", [node("Neg", ["x"], ["o"])])]), names="'x'", lines=1)
    refused(tmp_path, with_functions([call("F")], [function("F", [node("Neg", ["a"], ["p"])])]), names="'o'", lines=1)
    refused(tmp_path, with_functions([call("F")], [function("F", [node("Neg", ["o"], ["o"])])]), names="cycle", lines=1)
    refused(tmp_path, with_functions([call("F")], [function("F", [node("Neg", ["a"], ["o"])], ["a", "a"])]), names="'a'", lines=1)
    refused(tmp_path, with_functions([call("F", extra=1)], [f]), names="extra", lines=1)
    refused(tmp_path, with_functions([call("F")], [function("F", [node("Neg", ["a"], ["o"])], opsets=[("", 99)])]), names="opset", lines=1)
    refused(tmp_path, with_functions([call("F")], [function("F", [node("Neg", ["a"], ["o"])], opsets=[])]), names="operator set", lines=1)


def test_32_attribute_references(tmp_path):
    outside = node("LeakyRelu", ["x"], ["y"], "n")
    outside.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    refused(tmp_path, model([outside]), names=["'n'", "alpha"], lines=1, codes=(3,))
    body = node("LeakyRelu", ["a"], ["o"], "n")
    body.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    assert np.allclose(results(tmp_path, with_functions([call("F")], [function("F", [body], attributes=["slope"])]), [-X])[0], -X * 0.01)   # the operator's default
    refused(tmp_path, with_functions([call("F")], [function("F", [body])]), names="slope", lines=1, codes=(3,))
    refused(tmp_path, with_functions([call("F", slope=3)], [function("F", [body], attributes=["slope"])]), names="another type", lines=1, codes=(3,))
    body.attribute[0].f = 1.0
    refused(tmp_path, with_functions([call("F", slope=.5)], [function("F", [body], attributes=["slope"])]), names="alpha", lines=1, codes=(3,))


# ---- 29, 33, 34, 35 ----


def loop_body(nodes=(), outputs=("again", "v2"), inputs=None):
    nodes = [node("Identity", ["cond"], ["again"]), node("Neg", ["v"], ["v2"]), *nodes]
    return graph(nodes, inputs or [value("i", (), I64), value("cond", (), B), value("v")], [untyped(o) for o in outputs])


def loop(body=None, inputs=("n", "c", "x"), outputs=("y",), name="loop"):
    return node("Loop", list(inputs), list(outputs), name, body=body or loop_body())


TRIP = [constant("n", 3, np.int64), constant("c", True, bool)]


def test_29_loops(tmp_path):
    for trip, cond, want in ((0, True, X), (-1, False, X), (3, False, X), (2, True, X), (3, True, -X)):
        fixed = [constant("n", trip, np.int64), constant("c", cond, bool)]
        assert (results(tmp_path, model([loop()], initializers=fixed), [X])[0] == want).all()
    accepted(tmp_path, model([loop()], initializers=[constant("n", 2 ** 63 - 1, np.int64), constant("c", True, bool)]))
    refused(tmp_path, model([loop(inputs=("", "c", "x"))], initializers=TRIP[1:]), names=["'loop' (Loop", "never ends"], lines=1, codes=(3,))
    refused(tmp_path, model([loop(inputs=("", "", "x"))]), names=["'loop' (Loop", "never ends"], lines=1, codes=(3,))
    scan = node("Scan", ["x"], ["y"], "scan", num_scan_inputs=1, body=graph([node("Neg", ["v"], ["w"])], [value("v", (3,))], [untyped("w")]))
    assert (results(tmp_path, model([scan]), [X])[0] == -X).all()


def test_29_loops_that_do_not_fit(tmp_path):
    def bad(body, names, codes=(3,), inputs=("n", "c", "x"), outputs=("y",), given=TRIP):
        refused(tmp_path, model([loop(body, inputs, outputs)], initializers=given), names=names, lines=1, codes=codes)
    bad(loop_body(outputs=("again",)), "'loop' (Loop")                   # a carried value is missing
    bad(loop_body(outputs=()), "'loop' (Loop")
    bad(loop_body(inputs=[value("i", (), I64), value("cond", (), B)]), "'loop' (Loop")
    bad(loop_body(outputs=("again", "nowhere")), "nowhere")
    bad(loop_body([node("Add", ["v", "p"], ["q"]), node("Neg", ["q"], ["p"])], ("again", "p")), "cycle")
    bad(loop_body([node("ReduceSum", ["v"], ["s"], keepdims=0), node("Less", ["s", "s"], ["more"]), node("Flatten", ["v"], ["f"], axis=0)], ("more", "f")), "a carried value", (4,))
    bad(loop_body(outputs=("v", "v2")), "condition")
    bad(loop_body(), "'loop' (Loop", inputs=("n", "c", "x", "x"))
    bad(loop_body(), "'loop' (Loop", outputs=("y", "z"))
    bad(loop_body(), "trip count", given=[constant("n", 3, np.float32), TRIP[1]])
    bad(loop_body([node("ReduceSum", ["v"], ["s"], keepdims=0), node("Less", ["s", "s"], ["more"])], ("more", "v2", "s")), "bound it by --dim y_count=0..512",
        (4,), inputs=("", "c", "x"), outputs=("", "y"))
    scan = graph([node("Neg", ["v"], ["w"])], [value("v", (3,))], [untyped("w")])
    for more in (dict(num_scan_inputs=0), dict(num_scan_inputs=2), dict(num_scan_inputs=1, scan_input_axes=[2]),
                 dict(num_scan_inputs=1, scan_input_directions=[2]), dict(num_scan_inputs=1, scan_output_axes=[0, 0]), {}):
        refused(tmp_path, model([node("Scan", ["x"], ["y"], "scan", body=scan, **more)]), names="'scan' (Scan", lines=1, codes=(3,))


def test_29_nested_loops(tmp_path):
    for depth, options, verdict in ((12, [], accepted), (25, [], accepted), (25, ["--limit=nesting=20"], refused)):
        body = loop_body()
        for k in range(depth):
            inner = node("Loop", ["n", "c", f"w{k}"], [f"r{k}"], body=body)
            body = graph([node("Identity", [f"c{k}"], [f"a{k}"]), inner], [value(f"i{k}", (), I64), value(f"c{k}", (), B), value(f"w{k}")],
                         [untyped(f"a{k}"), untyped(f"r{k}")])
        verdict(tmp_path, model([loop(body)], initializers=TRIP), *options)
        (tmp_path / "out.c").unlink(missing_ok=True)
        (tmp_path / "out.h").unlink(missing_ok=True)


def test_33_features(tmp_path):
    m = model(RELU)
    m.training_info.add()
    refused(tmp_path, m, names="training", lines=1, codes=(4,))
    m = model(RELU)
    m.graph.sparse_initializer.add().values.CopyFrom(constant("s", [1]))
    refused(tmp_path, m, names="sparse", lines=1, codes=(3,))
    def sparse(places, shape, dims=None):
        return helper.make_sparse_tensor(constant("s", [1, 2]), helper.make_tensor("i", I64, dims or [len(places)], places), shape)
    for bad, said in ((sparse([1, 1], [3]), "twice"), (sparse([2, 1], [3]), "out of order"), (sparse([1, 3], [3]), "outside"), (sparse([-1, 2], [3]), "outside"),
                      (sparse([1], [3]), "indices"), (sparse([0, 1, 1, 3], [2, 3], [2, 2]), "outside"), (sparse([0, 1], [0, 3]), "extent"),
                      (sparse([0, 1], [2 ** 40, 2 ** 40]), "too large"), (sparse([0, 1], []), "indices")):
        m = model([node("Neg", ["x"], ["y"])])
        m.graph.sparse_initializer.append(bad)
        refused(tmp_path, m, names=["'s'", said], lines=1, codes=(3,))
    m = model([node("Neg", ["x"], ["y"])])
    m.graph.sparse_initializer.append(sparse([0, 1], [2 ** 28]))
    refused(tmp_path, m, names="'s'", limit="sparse_bytes", lines=1, codes=(3,))
    m = model(RELU)
    m.graph.quantization_annotation.add(tensor_name="x").quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    accepted(tmp_path, m)
    clean(tmp_path)
    tensor = helper.make_tensor_type_proto(F, (2, 3))
    kinds = [helper.make_sequence_type_proto(tensor), helper.make_optional_type_proto(tensor), helper.make_map_type_proto(I64, tensor),
             helper.make_sparse_tensor_type_proto(F, (2, 3)), helper.make_optional_type_proto(helper.make_sequence_type_proto(tensor))]
    for kind in kinds:
        v = helper.make_value_info("odd", kind)
        refused(tmp_path, model([node("OptionalHasElement", ["odd"], ["y"], "n")], [v]), names="'odd'", codes=(4,))
        refused(tmp_path, model(RELU, [value("x"), v]), names="'odd'", lines=1, codes=(4,))
    refused(tmp_path, model(RELU, outputs=[helper.make_value_info("y", kinds[0])]), names="'y'", lines=1, codes=(4,))
    refused(tmp_path, model(RELU, [value("x"), value("odd", (2,), TensorProto.COMPLEX64)]), names="'odd'", lines=1, codes=(4,))
    for kind in (TensorProto.STRING, TensorProto.INT4, TensorProto.FLOAT8E5M2):
        accepted(tmp_path, model(RELU, [value("x"), value("odd", (2,), kind)]))
        clean(tmp_path)
    refused(tmp_path, model(RELU, [value("x"), value("odd", (2,), 99)]), names="'odd'", lines=1, codes=(3,))
    refused(tmp_path, model(RELU, [value("x"), untyped("odd")]), names="'odd'", lines=1, codes=(3,))


@pytest.mark.parametrize("dead", [node("Softmax", ["x"], ["d"], "dead", axis=9), node("Softmax", ["x"], ["d"], "dead", bogus=9),
                                  node("Transpose", ["x"], ["d"], "dead", perm=[0, 0]), node("Cast", ["x"], ["d"], "dead")])
def test_34_dead_nodes_are_checked(tmp_path, dead):
    refused(tmp_path, model([dead, *RELU]), names="'dead'", lines=1, codes=(3,))
    accepted(tmp_path, None, "--output", "y")


def test_34_attributes(tmp_path):
    for attribute in (onnx.AttributeProto(name="axis", i=1), onnx.AttributeProto(name="axis", type=2, f=1.0), onnx.AttributeProto(name="axis", type=2, i=1, f=1.0),
                      onnx.AttributeProto(name="axis", type=1, f=1.0), onnx.AttributeProto(name="", type=2, i=1), onnx.AttributeProto(name="axis", type=7, ints=[1])):
        bad = node("Softmax", ["x"], ["y"], "bad")
        bad.attribute.append(attribute)
        refused(tmp_path, model([bad]), names="'bad'", lines=1, codes=(3,))
    bad = node("Softmax", ["x"], ["y"], "bad")
    bad.attribute.extend([helper.make_attribute("axis", 1)] * 2)
    refused(tmp_path, model([bad]), names=["'bad'", "twice"], lines=1, codes=(3,))
    bad.attribute.extend([helper.make_attribute(f"a{i}", 1) for i in range(20_000)])
    refused(tmp_path, model([bad]), names="'bad'", lines=1, codes=(3,))
    good = node("Softmax", ["x"], ["y"], "good")
    good.attribute.append(onnx.AttributeProto(name="axis", type=2))     # a proto3 writer leaves out zeros
    accepted(tmp_path, model([good]))


def test_35_initializers_as_inputs(tmp_path):
    nodes, w = [node("Add", ["x", "w"], ["y"])], constant("w", [1, 2, 3])
    for version in (3, 4, 8):
        got = results(tmp_path, model(nodes, [value("x"), value("w", (3,))], initializers=[w], ir_version=version), [X])
        assert (got[0] == X + [1, 2, 3]).all()
    for bad in (value("w", (4,)), value("w", (1, 3)), value("w", (3,), I64), value("w", ())):
        refused(tmp_path, model(nodes, [value("x"), bad], initializers=[w]), names="'w'", lines=1, codes=(3,))
    refused(tmp_path, model(nodes, [value("x"), value("w", (3,))], initializers=[w]), "--input", "w=3", codes=(1,), names="'w'", lines=1)


# ---- 79: open dimensions ----


def test_79_open_dimensions(tmp_path):
    m = model([node("Relu", ["x"], ["y"]), node("Relu", ["z"], ["u"])], [value("x", ("N", 3, "H")), value("z", ("N", "W"))], [untyped("y"), untyped("u")])
    refused(tmp_path, m, names=["--dim N=", "--dim H=", "--dim W="], lines=3, codes=(3,))
    refused(tmp_path, m, "--dim", "N=2", "--input", "z=2x5", names="--dim H=", lines=1, codes=(3,))
    accepted(tmp_path, m, "--dim", "N=2", "--dim", "H=4", "--dim", "W=1")
    clean(tmp_path)
    accepted(tmp_path, m, "--input", "x=2x3x4", "--input", "z=2x7")
    clean(tmp_path)
    for options in (["--input", "x=2x3x4", "--input", "z=3x7"], ["--input", "x=2x3x4", "--dim", "N=3", "--dim", "W=1"], ["--dim", "N=2", "--dim", "N=3"],
                    ["--dim", "Q=2"], ["--input", "q=2"], ["--dim", "N="], ["--dim", "N=1e9"], ["--dim", "=3"], ["--dim", "N"], ["--dim", "N=-1"],
                    ["--dim", "N=99999999999"], ["--dim", f"N={2 ** 64}"], ["--input", "x=2x3"], ["--input", "x=2x4x4"], ["--input", "x="],
                    ["--input", "x=2x-3x4"], ["--input", "x=2x3x4x"], ["--input", "x"], ["--input", "x=" + "x".join("1" * 40)], ["--dim", "N=2\n3"]):
        refused(tmp_path, m, *options, codes=(1,))
    refused(tmp_path, m, "--dim", "N=2147483647", "--dim", "H=2147483647", "--dim", "W=1", limit="tensor_bytes", codes=(3,))
    refused(tmp_path, model(RELU, [helper.make_tensor_value_info("x", F, None)]), names="--input x=", lines=1, codes=(3,))
    accepted(tmp_path, model(RELU, [helper.make_tensor_value_info("x", F, None)]), "--input", "x=4x5")
    clean(tmp_path)
    refused(tmp_path, model(RELU, [value("x", (None, 3))]), names="--input x=", lines=1, codes=(3,))
    refused(tmp_path, model(RELU, [value("x", ("N", "N"))]), "--input", "x=2x3", names="'N'", lines=1, codes=(1,))


def test_79_zero_and_scalar(tmp_path):
    assert results(tmp_path, model(RELU, [value("x", ("N", 3))]), [np.zeros((0, 3), np.float32)], "--dim", "N=0")[0].shape == (0, 3)
    assert results(tmp_path, model(RELU, [helper.make_tensor_value_info("x", F, None)]), [np.float32(-2)], "--input", "x=scalar")[0] == 0


def test_38_extents_of_inputs(tmp_path):
    for bad in (-5, 2 ** 62, -2 ** 63, 2 ** 31):
        refused(tmp_path, model(RELU, [value("x", (2, bad))]), names="'x'", lines=1, codes=(3,))
    refused(tmp_path, model(RELU, [value("x", (2 ** 30, 2 ** 30, 2 ** 30))]), names="'x'", limit="tensor_bytes", lines=1, codes=(3,))
    refused(tmp_path, model(RELU, [value("x", (1,) * 1000)]), names="'x'", lines=1)


# ---- --output and --keep ----


def test_selected_outputs(tmp_path):
    nodes = [node("Relu", ["x"], ["a"]), node("Neg", ["a"], ["b"]), node("Unheard", ["b", "q"], ["y"], "odd")]
    m = model(nodes, [value("x"), value("q", ("Q",))])
    refused(tmp_path, m, "--dim", "Q=1", names="'odd'", codes=(4,))
    got = results(tmp_path, m, [X], "--output", "b", "--keep", "a", "--output", "b")
    assert len(got) == 2 and (got[0] == -X).all() and (got[1] == X).all()
    clean(tmp_path)
    refused(tmp_path, m, "--output", "nope", codes=(1,), names="'nope'", lines=1)
    refused(tmp_path, m, "--keep", "nope", codes=(1,), names="'nope'", lines=1)
    m = model(nodes[:2], outputs=[untyped("b"), untyped("b")])
    got = results(tmp_path, m, [X], "--keep", "a", "--keep", "x")
    assert [(g == w).all() for g, w in zip(got, [-X, -X, X, X])] == [True] * 4


def test_time_is_linear(tmp_path):
    """Four times the nodes: at most some six times the time"""
    spent = []
    for count in (20_000, 80_000):
        put(tmp_path, wrap(chain(count, "Relu")))
        done = run(tmp_path, "--emit=ir", "-O0", output="out.dnn", slack=8)
        assert done.code == 0
        spent.append(done.seconds)
    assert spent[1] < 12 * spent[0] + 1, spent
