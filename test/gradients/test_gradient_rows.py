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


@pytest.mark.parametrize("name, arity, partials", ROWS, ids=[r[0] for r in ROWS])
def test_element_wise(tmp_path, name, arity, partials):
    if partials == "NULL":
        pytest.skip("of integers alone")
    assert len(re.findall(r'"[^"]*"', partials)) == int(arity)
    ranges = RANGES.get(name, [(-1.5, 1.5)] * 2)
    for shape in SHAPES:
        inputs = {n: floats(shape, k, *ranges[k]) for k, n in enumerate("xy"[:int(arity)])}
        line = f"%z = {name}({', '.join('%' + n for n in inputs)}) : {tensor_type(shape)}"
        differences.check(tmp_path, Function(inputs, [line], "%z", shape), list(inputs))
        if int(arity) == 2 and name in ("max", "min"):         # the other one is larger
            inputs = dict(zip("yx", inputs.values()))
            differences.check(tmp_path, Function(inputs, [line], "%z", shape), list(inputs))


def one(text, result, inputs, by="x", constants=()):
    return text, result, inputs, by, constants


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
        one("convolve(%x, %w) pads=[4, 0]", (1, 3, 9), {"x": X127, "w": floats((3, 2, 3))}, "xw")],
    "reduce": [*(one(f"reduce(%x, {axes}) kind={kind}", shape, {"x": permuted((2, 3, 4))})
                 for kind in ("sum", "prod", "max", "min")
                 for axes, shape in ((ints(1), (2, 4)), (ints(0, 2), (3,)), (ints(0, 1, 2), ()))),
               one(f"reduce(%x, {ints(0)})", (3,), {"x": floats((0, 3))}),
               one(f"reduce(%x, {ints(1)}) kind=prod", (2, 0), {"x": floats((2, 3, 0))})],
    "reduce_window": [
        *(one(f"reduce_window(%x) kind={kind} {window}", shape, {"x": permuted((1, 2, 7))})
          for kind in ("sum", "max", "min")
          for window, shape in (("window=[1, 1, 3] strides=[1, 1, 2]", (1, 2, 3)), ("window=[1, 1, 2] strides=[1, 1, 3]", (1, 2, 2)),
                                ("window=[1, 1, 3] pads=[0, 0, 1, 0, 0, 2]", (1, 2, 8)),
                                ("window=[1, 1, 2] dilations=[1, 1, 3]", (1, 2, 4)), ("window=[1, 2, 7]", (1, 1, 1)),
                                ("window=[1, 2, 3] strides=[1, 1, 2] dilations=[1, 1, 2] pads=[0, 1, 2, 0, 0, 2]", (1, 2, 4)))),
        one("reduce_window(%x) kind=max window=[1, 1, 3, 3] strides=[1, 1, 2, 2] pads=[0, 0, 1, 1, 0, 0, 1, 1]", (1, 2, 3, 4),
            {"x": permuted((1, 2, 5, 7))})],
    "scatter": [
        *(one(f"scatter(%x, %i, %u) kind={kind}", (3, 5), {"x": permuted((3, 5)), "i": index([2], [0]), "u": permuted((2, 5)) + 0.07},
              "xu") for kind in ("replace", "sum", "prod", "max", "min")),
        *(one(f"scatter(%x, %i, %u) kind={kind}", (3, 5),
              {"x": permuted((3, 5)), "i": index([2, 1], [2, 1], [0, -1]), "u": permuted((3,)) + 0.07},
              "xu") for kind in ("replace", "sum", "prod", "max", "min")),
        *(one(f"scatter(%x, %i, %u) kind={kind} axis=1", (3, 5),
              {"x": permuted((3, 5)), "i": index([2, 1], [0, 0], [4, -1]), "u": permuted((3, 2)) + 0.07},
              "xu") for kind in ("replace", "sum", "prod", "max", "min")),
        one("scatter(%x, %i, %u) kind=sum axis=0", (3, 5), {"x": X35, "i": index([2], [1]), "u": floats((2, 5))}, "xu")],
}
ELSEWHERE = {"cast", "if", "loop", "external", "spectrum"}         # tests below, and in test_gradient_control.py


def test_each_row_has_a_case():
    assert len(ROWS) > 40 and len(OTHERS) > 30
    differentiable = {n for n, adjoint in OTHERS.items() if adjoint != "adjoint_absent"}
    assert differentiable == set(CASES) | ELSEWHERE


@pytest.mark.parametrize("name", CASES)
def test_others(tmp_path, name):
    for text, shape, inputs, by, _ in CASES[name]:
        function = Function(inputs, [f"%z = {text} : {tensor_type(shape)}"], "%z", shape)
        differences.check(tmp_path, function, list(by))
