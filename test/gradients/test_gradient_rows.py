# SPDX-License-Identifier: MIT
"""Derivatives of each operation of ir/tensor/ops.def against differences, at several shapes, some of them empty. Rows come
from the table: one without a case here fails."""
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import differences  # noqa: E402
import dnncc  # noqa: E402
from differences import Function, tensor_type  # noqa: E402

TABLE = (dnncc.ROOT / "ir" / "tensor" / "ops.def").read_text()
ROWS = re.findall(r'^EW\((\w+), +(\d), +\w+, +\w+, +".*?", BY\((.*?)\), "', TABLE, re.M)
OTHERS = dict(re.findall(r"^OP\((\w+), .*?, (adjoint_\w+), ", TABLE, re.M))
SHAPES = [(), (1,), (0, 3), (3, 1, 4)]

# where a formula is smooth: a range for each operand, and that of which elements keep away
RANGES = {"div": [(-2, 2), (0.5, 2)], "rem": [(4.1, 4.9), (1.1, 1.3)], "mod": [(-4.9, -4.1), (1.1, 1.3)],
          "pow": [(0.5, 2), (-2, 2)], "reciprocal": [(0.5, 2)], "sqrt": [(0.5, 2)], "log": [(0.5, 2)], "asin": [(-0.8, 0.8)],
          "acos": [(-0.8, 0.8)], "atanh": [(-0.8, 0.8)], "acosh": [(1.2, 3)], "exp_flushed": [(-3, -0.1)], "tan": [(-1, 1)],
          "abs": [(0.1, 1)], "floor": [(0.1, 0.9)], "ceil": [(0.1, 0.9)], "round": [(0.1, 0.4)], "trunc": [(0.1, 0.9)],
          "sign": [(0.1, 1)], "softplus": [(-3, 3)], "max": [(0, 1), (1.1, 2)], "min": [(0, 1), (1.1, 2)]}


def floats(shape, seed=0, low=-1.5, high=1.5):
    return np.random.default_rng(seed).uniform(low, high, shape)


def test_rows_without_partials_are_of_bits():
    """integers alone have none"""
    assert sorted(n for n, _, partials in ROWS if partials == "NULL") == ["and", "not", "or", "random_bits", "shl", "shr", "xor"]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name, arity, partials", [r for r in ROWS if r[2] != "NULL"], ids=[r[0] for r in ROWS if r[2] != "NULL"])
def test_element_wise(tmp_path, name, arity, partials):
    assert len(re.findall(r'"[^"]*"', partials)) == int(arity)
    ranges = RANGES.get(name, [(-1.5, 1.5)] * 2)
    for shape in SHAPES:
        inputs = {n: floats(shape, k, *ranges[k]) for k, n in enumerate("xy"[:int(arity)])}
        line = f"%z = {name}({', '.join('%' + n for n in inputs)}) : {tensor_type(shape)}"
        differences.check(tmp_path, Function(inputs, [line], "%z", shape), list(inputs))
        if int(arity) == 2 and name in ("max", "min"):         # the other one is larger
            inputs = dict(zip("yx", inputs.values()))
            differences.check(tmp_path, Function(inputs, [line], "%z", shape), list(inputs))


def one(text, result, inputs, by="x"):
    return text, result, inputs, by


def ints(*values):
    return f"<{len(values)} x i64> [{', '.join(map(str, values))}]"


def index(*values):
    return np.array(values, np.int64)


def permuted(shape, seed=3):
    """numbers that are all different, so that the largest of some stays the largest"""
    count = int(np.prod(shape))
    return (np.random.default_rng(seed).permutation(count).reshape(shape) - count / 2) * 0.25 + 0.1


X234, X35, X127 = floats((2, 3, 4)), floats((3, 5), 1), floats((1, 2, 7), 2)
C235 = np.random.default_rng(9).integers(0, 2, (3, 5)).astype(bool)

KINDS = ("sum", "prod", "max", "min")

# operation: cases of (operation text, result shape, inputs, by)
CASES = {
    "select": [one("select(%c0, %x, %y)", (3, 5), {"c0": C235, "x": X35, "y": floats((3, 5), 7)}, "xy")],
    "reshape": [one("reshape(%x)", (4, 6), {"x": X234}), one("reshape(%x)", (0, 7), {"x": floats((3, 0))})],
    "transpose": [one("transpose(%x) perm=[2, 0, 1]", (4, 2, 3), {"x": X234})],
    "broadcast": [one("broadcast(%x) dims=[0, 2]", (3, 2, 5), {"x": X35}),
                  one("broadcast(%x) dims=[1, 2]", (2, 3, 5), {"x": floats((1, 5))}),
                  one("broadcast(%x) dims=[]", (2, 3), {"x": floats(())}),
                  one("broadcast(%x) dims=[0, 1]", (0, 3), {"x": floats((1, 3))})],
    "slice": [one(f"slice(%x, {ints(1, 0)}, {ints(1, 1)})", (2, 4), {"x": X35}),
              one(f"slice(%x, {ints(2, 1)}, {ints(-1, 3)})", (3, 2), {"x": X35}),
              one(f"slice(%x, {ints(0, 4)}, {ints(2, -2)})", (2, 3), {"x": X35}),
              one(f"slice(%x, {ints(0, 0)}, {ints(1, 2)})", (0, 3), {"x": X35}),
              one(f"slice(%x, %at, {ints(1, 1)})", (2, 3), {"x": X35, "at": index(1, 2)})],
    "pad": [one(f"pad(%x, %v, {ints(2, -1)})", (6, 5), {"x": X35, "v": floats(())}, "xv"),
            one(f"pad(%x, <f64> 0.5, {ints(-1, 0)})", (1, 9), {"x": X35}),
            *(one(f"pad(%x, <f64> 0.0, {ints(*low)}) mode={mode}", shape, {"x": X35})
              for mode in ("reflect", "edge", "wrap") for low, shape in (((2, 1), (6, 9)), ((0, 3), (3, 12)), ((2, 4), (7, 9)))),
            one(f"pad(%x, <f64> 0.0, {ints(3)}) mode=wrap", (9,), {"x": floats((2,))}),
            one(f"pad(%x, <f64> 0.0, {ints(5)}) mode=reflect", (14,), {"x": floats((3,))}),
            one(f"pad(%x, <f64> 0.0, {ints(2)}) mode=edge", (6,), {"x": floats((1,))})],
    "concat": [one("concat(%x, %y, %x) axis=1", (3, 12), {"x": X35, "y": floats((3, 2), 4)}, "xy"),
               one("concat(%x, %y) axis=0", (3, 5), {"x": X35, "y": floats((0, 5))}, "xy")],
    "gather": [one("gather(%x, %i) axis=0", (2, 2, 5), {"x": X35, "i": index([0, 2], [2, -1])}),
               one("gather(%x, %i) axis=1", (3, 4), {"x": X35, "i": index(4, 4, -5, 4)}),
               one("gather(%x, %i) axis=1", (2, 4), {"x": X234, "i": np.array(2)}),
               one("gather(%x, %i) axis=1", (3, 0), {"x": X35, "i": np.zeros(0, np.int64)})],
    "gather_elements": [one("gather_elements(%x, %i) axis=1", (3, 2), {"x": X35, "i": index([0, 0], [-1, 3], [2, 2])}),
                        one("gather_elements(%x, %i) axis=0", (2, 5), {"x": X35, "i": index([0] * 5, [0, 1, 2, -1, 0])})],
    "gather_nd": [one("gather_nd(%x, %i)", (3,), {"x": X35, "i": index([0, 4], [-1, -1], [0, 4])}),
                  one("gather_nd(%x, %i)", (2, 5), {"x": X35, "i": index([2], [2])}),
                  one("gather_nd(%x, %i) batch_dims=1", (2, 3, 4), {"x": X234, "i": index([[0], [1], [1]], [[2], [-1], [0]])}),
                  one("gather_nd(%x, %i) batch_dims=1", (2, 2), {"x": X234, "i": index([[0, 3], [0, 3]], [[2, 1], [1, 1]])})],
    "dot": [one("dot(%x, %y) contract_a=[1] contract_b=[0]", (3, 4), {"x": X35, "y": floats((5, 4), 5)}, "xy"),
            one("dot(%x, %y) batch_a=[1] batch_b=[2] contract_a=[0, 2] contract_b=[1, 0]", (3, 6),
                {"x": X234, "y": floats((4, 2, 3, 6), 6)}, "xy"),
            one("dot(%x, %y) batch_a=[0, 2] batch_b=[2, 0] contract_a=[1] contract_b=[1]", (2, 4, 2),
                {"x": X234, "y": floats((4, 3, 2, 2), 6)}, "xy"),
            one("dot(%x, %y)", (3, 5, 2), {"x": X35, "y": floats((2,))}, "xy"),
            one("dot(%x, %y) contract_a=[0, 1] contract_b=[1, 0]", (), {"x": X35, "y": floats((5, 3))}, "xy"),
            one("dot(%x, %y) contract_a=[1] contract_b=[0]", (3, 2), {"x": floats((3, 0)), "y": floats((0, 2))}, "xy"),
            one("dot(%x, %x) contract_a=[1] contract_b=[1]", (3, 3), {"x": X35})],
    "convolve": [
        one("convolve(%x, %w)", (1, 3, 5), {"x": X127, "w": floats((3, 2, 3))}, "xw"),
        one("convolve(%x, %w) strides=[2] pads=[1, 2]", (1, 3, 4), {"x": X127, "w": floats((3, 2, 3))}, "xw"),
        one("convolve(%x, %w) dilations=[2] pads=[-1, 1]", (1, 3, 3), {"x": X127, "w": floats((3, 2, 3))}, "xw"),
        one("convolve(%x, %w) input_dilations=[3] pads=[1, 1] strides=[2]", (1, 3, 10), {"x": X127, "w": floats((3, 2, 3))}, "xw"),
        one("convolve(%x, %w) groups=2 strides=[3]", (1, 4, 2), {"x": X127, "w": floats((4, 1, 2))}, "xw"),
        one("convolve(%x, %w) groups=3 strides=[2, 1] pads=[1, 0, 0, 2] dilations=[1, 2]", (2, 6, 3, 4),
            {"x": floats((2, 6, 5, 4)), "w": floats((6, 2, 2, 2))}, "xw"),
        one("convolve(%x, %w) strides=[1, 1, 2] pads=[0, 1, 1, 0, 1, 0]", (1, 2, 2, 4, 2),
            {"x": floats((1, 1, 3, 3, 4)), "w": floats((2, 1, 2, 2, 2))}, "xw"),
        one("convolve(%x, %w) pads=[4, 0]", (1, 3, 9), {"x": X127, "w": floats((3, 2, 3))}, "xw"),
        # depthwise, and windows of one element
        one("convolve(%x, %w) groups=2 pads=[1, 1]", (1, 2, 7), {"x": X127, "w": floats((2, 1, 3))}, "xw"),
        one("convolve(%x, %w) groups=3 strides=[2, 1] pads=[1, 0, 1, 2] dilations=[1, 2]", (2, 3, 3, 4), {"x": floats((2, 3, 5, 4)), "w": floats((3, 1, 3, 2))}, "xw"),
        one("convolve(%x, %w) groups=2 pads=[-1, 3] strides=[3]", (1, 2, 3), {"x": X127, "w": floats((2, 1, 2))}, "xw"),
        one("convolve(%x, %w) groups=2 input_dilations=[2]", (1, 2, 12), {"x": X127, "w": floats((2, 1, 2))}, "xw"),
        one("convolve(%x, %w)", (2, 3, 3, 2), {"x": floats((2, 4, 3, 2)), "w": floats((3, 4, 1, 1))}, "xw"),
        one("convolve(%x, %w) strides=[2]", (1, 3, 4), {"x": X127, "w": floats((3, 2, 1))}, "xw"),
        one("convolve(%x, %w) pads=[1, 0]", (1, 3, 8), {"x": X127, "w": floats((3, 2, 1))}, "xw")],
    "reduce": [*(one(f"reduce(%x, {axes}) kind={kind}", shape, {"x": permuted((2, 3, 4))})
                 for kind in KINDS
                 for axes, shape in ((ints(1), (2, 4)), (ints(0, 2), (3,)), (ints(0, 1, 2), ()))),
               one(f"reduce(%x, {ints(0)})", (3,), {"x": floats((0, 3))}),
               one(f"reduce(%x, {ints(1)}) kind=prod", (2, 0), {"x": floats((2, 3, 0))})],
    "reduce_window": [
        *(one(f"reduce_window(%x) kind={kind} {window}", shape, {"x": permuted((1, 2, 7))})
          for kind in KINDS
          for window, shape in (("window=[1, 1, 3] strides=[1, 1, 2]", (1, 2, 3)), ("window=[1, 1, 2] strides=[1, 1, 3]", (1, 2, 2)),
                                ("window=[1, 1, 3] pads=[0, 0, 1, 0, 0, 2]", (1, 2, 8)),
                                ("window=[1, 1, 2] dilations=[1, 1, 3]", (1, 2, 4)), ("window=[1, 2, 7]", (1, 1, 1)),
                                ("window=[1, 2, 3] strides=[1, 1, 2] dilations=[1, 1, 2] pads=[0, 1, 2, 0, 0, 2]", (1, 2, 4)))),
        one("reduce_window(%x) kind=max window=[1, 1, 3, 3] strides=[1, 1, 2, 2] pads=[0, 0, 1, 1, 0, 0, 1, 1]", (1, 2, 3, 4),
            {"x": permuted((1, 2, 5, 7))})],
    "scatter": [
        *(one(f"scatter(%x, %i, %u) kind={kind}", (3, 5), {"x": permuted((3, 5)), "i": index([2], [0]), "u": permuted((2, 5)) + 0.07},
              "xu") for kind in ("replace", *KINDS)),
        *(one(f"scatter(%x, %i, %u) kind={kind}", (3, 5),
              {"x": permuted((3, 5)), "i": index([2, 1], [2, 1], [0, -1]), "u": permuted((3,)) + 0.07},
              "xu") for kind in ("replace", *KINDS)),
        *(one(f"scatter(%x, %i, %u) kind={kind} axis=1", (3, 5),
              {"x": permuted((3, 5)), "i": index([2, 1], [0, 0], [4, -1]), "u": permuted((3, 2)) + 0.07},
              "xu") for kind in ("replace", *KINDS)),
        one("scatter(%x, %i, %u) kind=sum axis=0", (3, 5), {"x": X35, "i": index([2], [1]), "u": floats((2, 5))}, "xu")],
}
ELSEWHERE = {"cast", "if", "loop", "external", "spectrum"}         # tests below, and in test_gradient_control.py


def test_each_row_has_a_case():
    assert len(ROWS) > 40 and len(OTHERS) > 30
    differentiable = {n for n, adjoint in OTHERS.items() if adjoint != "adjoint_absent"}
    assert differentiable == set(CASES) | ELSEWHERE


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", CASES)
def test_others(tmp_path, name):
    for text, shape, inputs, by in CASES[name]:
        function = Function(inputs, [f"%z = {text} : {tensor_type(shape)}"], "%z", shape)
        differences.check(tmp_path, function, list(by))


def loss_of(folder, text, inputs, by):
    """derivatives of a loss that a text computes"""
    function = Function({}, [], "%none", ())
    function.text, function.inputs = text, inputs
    return differences.derivatives(folder, function, by)[1]


@pytest.mark.parametrize("kind", ["reduce", "window", "scatter"])
def test_products_with_zeros(tmp_path, kind):
    """one zero of several factors has a derivative, where there are two no factor has one"""
    x = np.array([[0.0, 2, 3], [0, 0, 5], [2, 4, 5]])
    want = np.array([[6.0, 0, 0], [0, 0, 0], [20, 10, 8]])
    inputs = {"x": x}
    if kind == "reduce":
        line = f"%z = reduce(%x, {ints(1)}) kind=prod : <3 x f64>"
    elif kind == "window":
        line = "%y = reduce_window(%x) kind=prod window=[1, 3] : <3 x 1 x f64>\n  %z = reshape(%y) : <3 x f64>"
    else:
        line = ("%r = reshape(%x) : <9 x f64>\n"
                f"  %z = scatter(<3 x f64> 1.0, <9 x 1 x i64> [0, 0, 0, 1, 1, 1, 2, 2, 2], %r) kind=prod : <3 x f64>")
    text = f"""dnn 3
module "m"
func @main(%x "x": <3 x 3 x f64>) -> ("loss") {{
  {line}
  %loss = reduce(%z, <1 x i64> 0) : <f64>
  yield(%loss)
}}
"""
    assert np.array_equal(loss_of(tmp_path, text, inputs, ["x"])["x"], want)


KINKS = [                               # what ir/adjoint/adjoint.h promises
    ("max(%x, 0.0)", [-1.0, 0, 2], [0, 0, 1]),
    ("max(0.0, %x)", [-1.0, 0, 2], [0, 0, 1]),
    ("min(%x, 1.0)", [0.0, 1, 2], [1, 0, 0]),
    ("max(%x, %y)", [1.0, 0, 2], [1, .5, 1]),
    ("min(%y, %x)", [1.0, 0, 2], [0, .5, 0]),
    ("abs(%x)", [-1.0, 0, 2], [-1, 0, 1]),
    ("pow(%x, 2.0)", [-1.0, 0, 2], [-2, 0, 4]),
    ("pow(%x, 0.0)", [-1.0, 0, 2], [0, 0, 0]),
    ("pow(%y, %x)", [2.0, 0, 1], [0, 0, 0]),
    ("select(%c, %x, %y)", [1.0, 0, 2], [1, 1, 1]),
    ("floor(%x)", [1.0, 0, 2], [0, 0, 0]),
]


@pytest.mark.parametrize("text, at, want", KINKS, ids=[k[0] for k in KINKS])
def test_kinks(tmp_path, text, at, want):
    program = f"""dnn 3
module "m"
func @main(%x "x": <3 x f64>, %y "y": <3 x f64>) -> ("loss") {{
  %c = eq(%x, %x) : <3 x bool>
  %z = {text} : <3 x f64>
  %loss = reduce(%z, <1 x i64> 0) : <f64>
  yield(%loss)
}}
"""
    assert np.array_equal(loss_of(tmp_path, program, {"x": np.array(at), "y": np.zeros(3)}, ["x"])["x"], np.array(want, float))


@pytest.mark.parametrize("kind, want", [("max", [0, .5, .5, 0]), ("min", [1, 0, 0, 0])])
def test_shared_extremes(tmp_path, kind, want):
    text = f"""dnn 3
module "m"
func @main(%x "x": <4 x f64>) -> ("loss") {{
  %loss = reduce(%x, <1 x i64> 0) kind={kind} : <f64>
  yield(%loss)
}}
"""
    assert np.array_equal(loss_of(tmp_path, text, {"x": np.array([1.0, 3, 3, 2])}, ["x"])["x"], np.array(want))


@pytest.mark.parametrize("kind, want", [("max", [0, 1, 0, 1]), ("min", [1, 0, 1, 0])])
def test_first_extreme_of_a_window(tmp_path, kind, want):
    text = f"""dnn 3
module "m"
func @main(%x "x": <4 x f64>) -> ("loss") {{
  %z = reduce_window(%x) kind={kind} window=[2] strides=[2] : <2 x f64>
  %loss = reduce(%z, <1 x i64> 0) : <f64>
  yield(%loss)
}}
"""
    assert np.array_equal(loss_of(tmp_path, text, {"x": np.array([1.0, 3, 2, 4])}, ["x"])["x"], np.array(want))


def test_second_derivatives(tmp_path):
    """what --gradient adds has derivatives itself"""
    x, w = floats((2, 3), 1), floats((3, 4), 2)
    text = f"""dnn 3
module "m"
func @main(%x "x": <2 x 3 x f64>, %w "w": <3 x 4 x f64>) -> ("loss") {{
  %1 = dot(%x, %w) contract_a=[1] contract_b=[0] : <2 x 4 x f64>
  %2 = tanh(%1) : <2 x 4 x f64>
  %3 = reduce(%2, {ints(1)}) kind=prod : <2 x f64>
  %4 = exp(%3) : <2 x f64>
  %loss = reduce(%4, <1 x i64> 0) : <f64>
  yield(%loss)
}}
"""
    (tmp_path / "f.dnn").write_text(text)
    once = dnncc.run([dnncc.DNNCC, tmp_path / "f.dnn", "--gradient=loss:w", "--emit=ir", "--passes=", "-o", "-"]).stdout
    yielded = once.rindex("  yield(")
    loss, by_w = re.search(r"yield\((%\w+), (%\w+)\)", once[yielded:]).groups()
    assert loss != by_w
    once = once[:yielded] + f"""  %square = mul({by_w}, {by_w}) : <3 x 4 x f64>
  %norm = reduce(%square, {ints(0, 1)}) : <f64>
  yield(%norm)
}}
"""
    once = once.replace('-> ("loss", "d_w")', '-> ("loss")')
    function = Function({}, [], "%none", ())
    function.text, function.inputs = once, {"x": x, "w": w}
    differences.check(tmp_path, function, ["x", "w"])
