# SPDX-License-Identifier: MIT
"""Derivatives through casts, ifs, loops and C functions of the user's own against differences."""
import pathlib
import random
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "passes"))
import differences  # noqa: E402
import test_loops  # noqa: E402
from differences import Function  # noqa: E402


POINTS = 8                              # a program is tried at so many before each of them counts as one with a kink


def floats(shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def check(tmp_path, lines, shape, inputs, by, result="%z", **keywords):
    return differences.check(tmp_path, Function(inputs, [line for line in lines.strip().splitlines()], result, shape), by, **keywords)


def test_cast(tmp_path):
    x = np.array([0.3, -0.4, 0.7])
    lines = """%f = cast(%x) to=f32 : <3 x f32>
  %g = sin(%f) : <3 x f32>
  %i = cast(%g) to=i32 : <3 x i32>
  %j = cast(%i) to=f64 : <3 x f64>
  %k = cast(%g) to=f64 : <3 x f64>
  %z = add(%j, %k) : <3 x f64>"""
    check(tmp_path, lines, (3,), {"x": x}, ["x"], tolerance=2e-4, step=1e-2)


@pytest.mark.parametrize("taken", [True, False])
def test_if(tmp_path, taken):
    lines = """%s = sin(%x) : <3 x f64>
  %r, %q = if(%b) : <3 x f64>, <3 x f64> {
    %1 = mul(%s, %y) : <3 x f64>
    yield(%1, %x)
  } else {
    %2 = exp(%x) : <3 x f64>
    yield(%2, %2)
  }
  %z = mul(%r, %q) : <3 x f64>"""
    check(tmp_path, lines, (3,), {"b": np.array(taken), "x": floats(3), "y": floats(3, 1)}, ["x", "y"])


@pytest.mark.parametrize("steps", [0, 1, 5])
@pytest.mark.parametrize("back", [0, 1])
def test_recurrence(tmp_path, steps, back):
    """h' = tanh(h w + x[t]): rows in both directions, weights from outside, the last value and all of them"""
    lines = f"""%h, %all = loop(none, none, %h0, %x) steps={steps} carried=1 scan_backward=[{back}] stack_backward=[{1 - back}]
      : <1 x 3 x f64>, <{steps} x 1 x 3 x f64> {{(%t: <i64>, %a: <1 x 3 x f64>, %row: <1 x 3 x f64>)
    %1 = dot(%a, %w) contract_a=[1] contract_b=[0] : <1 x 3 x f64>
    %2 = add(%1, %row) : <1 x 3 x f64>
    %3 = tanh(%2) : <1 x 3 x f64>
    %4 = mul(%3, %a) : <1 x 3 x f64>
    yield(%3, %4)
  }}
  %sum = reduce(%all, <1 x i64> 0) : <1 x 3 x f64>
  %square = mul(%sum, %sum) : <1 x 3 x f64>
  %z = add(%h, %square) : <1 x 3 x f64>"""
    inputs = {"h0": floats((1, 3)), "x": floats((steps, 1, 3), 1), "w": floats((3, 3), 2)}
    check(tmp_path, lines, (1, 3), inputs, ["h0", "x", "w"])


@pytest.mark.parametrize("trip", [0, 1, 3, 6])
def test_trip(tmp_path, trip):
    """a run says how often"""
    lines = """%h = loop(%n, none, %h0) steps=6 carried=1 : <3 x f64> {(%t: <i64>, %a: <3 x f64>)
    %1 = mul(%a, %w) : <3 x f64>
    %2 = cast(%t) to=f64 : <f64>
    %3 = broadcast(%2) dims=[] : <3 x f64>
    %4 = sub(%1, %3) : <3 x f64>
    %5 = sin(%4) : <3 x f64>
    yield(%5)
  }
  %z = mul(%h, %h) : <3 x f64>"""
    check(tmp_path, lines, (3,), {"n": np.array(trip), "h0": floats(3), "w": floats(3, 1)}, ["h0", "w"])


@pytest.mark.parametrize("limit", [-1.0, 1.5, 4.0, 1e3])
def test_while(tmp_path, limit):
    """numbers say how often, and a row is taken by number"""
    lines = f"""%total0 = reduce(%h0, <1 x i64> 0) : <f64>
  %go0 = lt(%total0, {limit}) : <bool>
  %h = loop(none, %go0, %h0) steps=5 carried=1 : <3 x f64> {{(%t: <i64>, %a: <3 x f64>)
    %row = gather(%x, %t) axis=0 : <3 x f64>
    %1 = mul(%a, %w) : <3 x f64>
    %2 = add(%1, %row) : <3 x f64>
    %total = reduce(%2, <1 x i64> 0) : <f64>
    %go = lt(%total, {limit}) : <bool>
    yield(%go, %2)
  }}
  %z = mul(%h, %h) : <3 x f64>"""
    inputs = {"h0": abs(floats(3)) * .3, "x": abs(floats((5, 3), 1)) * .5, "w": 1 + abs(floats(3, 2)) * .2}
    check(tmp_path, lines, (3,), inputs, ["h0", "x", "w"])


def test_loop_in_if_in_loop(tmp_path):
    lines = """%h = loop(none, none, %h0) steps=4 carried=1 : <3 x f64> {(%t: <i64>, %a: <3 x f64>)
    %odd = rem(%t, 2) : <i64>
    %is = eq(%odd, 1) : <bool>
    %n = if(%is) : <3 x f64> {
      %i, %k = loop(none, none, %a, %w) steps=3 carried=2 : <3 x f64>, <3 x f64> {(%u: <i64>, %b: <3 x f64>, %v: <3 x f64>)
        %1 = mul(%b, %v) : <3 x f64>
        %2 = sin(%1) : <3 x f64>
        yield(%v, %2)
      }
      %3 = mul(%i, %k) : <3 x f64>
      yield(%3)
    } else {
      %4 = add(%a, %w) : <3 x f64>
      yield(%4)
    }
    yield(%n)
  }"""
    check(tmp_path, lines, (3,), {"h0": floats(3), "w": floats(3, 1)}, ["h0", "w"], result="%h")


def test_external(tmp_path):
    """the derivative of a C function is that of its meaning"""
    lines = """%e = external(%x, %w) symbol=f extents=[] : <3 x f64> {(%a: <3 x f64>, %b: <3 x f64>)
    %1 = mul(%a, %b) : <3 x f64>
    %2 = tanh(%1) : <3 x f64>
    yield(%2)
  }
  %f = external(%e, %e) symbol=g extents=[] : <3 x f64> {(%p: <3 x f64>, %q: <3 x f64>)
    %3 = mul(%p, %q) : <3 x f64>
    yield(%3)
  }
  %z = mul(%f, %x) : <3 x f64>"""
    check(tmp_path, lines, (3,), {"x": floats(3), "w": floats(3, 1)}, ["x", "w"])


@pytest.mark.sample(2)
@pytest.mark.parametrize("block", range(4))
def test_random_loops(tmp_path, block):
    """the programs of test_loops.py, of smooth operations in f64"""
    for seed in range(100 * block, 100 * block + 8):
        program = test_loops.Program(seed)
        weights = random.Random(seed)
        text = program.text().replace("i32", "f64").replace("neg(", "sin(")
        text = re.sub(r"add\((%\w+), (-?\d)\)", r"mul(\1, 0.\2)", text).replace("0.-", "-0.")
        lines, total = [], None
        for name, shape in program.outputs:
            axes = ", ".join(map(str, range(len(shape))))
            lines += [f"  {name}s = reduce({name}, <{len(shape)} x i64> [{axes}]) : <f64>",
                      f"  {name}t = sin({name}s) : <f64>", f"  {name}w = mul({name}t, {weights.uniform(.5, 1.5)}) : <f64>"]
            if total:
                lines.append(f"  {name}l = add({total}, {name}w) : <f64>")
            total = f"{name}l" if total else f"{name}w"
        head, body = text.rsplit("  yield(", 1)[0], re.sub(r'-> \(.*?\)', '-> ("loss")', text, count=1)
        body = body.rsplit("  yield(", 1)[0]
        assert head
        function = Function({}, [], "%none", ())
        function.text = body + "\n".join(lines) + f"\n  yield({total})\n}}\n"
        function.text = function.text.replace('%n "n": <f64>', '%n "n": <i64>')
        by = [n[1:] for n, _ in program.inputs if re.search(n + r"[,)]", body)]
        for point in range(POINTS):
            rng = np.random.default_rng(1000 * seed + point)
            function.inputs = {n[1:]: rng.uniform(-.5, .5, s) for n, s in program.inputs}
            function.inputs["n"] = np.array(1)
            try:
                differences.check(tmp_path, function, by)
                break
            except differences.Kink:
                assert point + 1 < POINTS
