# SPDX-License-Identifier: MIT
"""The largest element that a softmax subtracts counts as constant (ir/adjoint/shift.c), where nothing but the softmax depends on it."""
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import differences  # noqa: E402
import dnncc  # noqa: E402

SHAPE = (3, 4, 4)
ROWS, ALL = "<3 x 4 x f64>", "<3 x 4 x 4 x f64>"
SOFTMAX = [f"%m = reduce(%x, <1 x i64> 2) kind=max : {ROWS}", f"%m3 = broadcast(%m) dims=[0, 1] : {ALL}", f"%z = sub(%x, %m3) : {ALL}",
           f"%e = exp(%z) : {ALL}", f"%s = reduce(%e, <1 x i64> 2) : {ROWS}"]
SPREAD = [f"%s3 = broadcast(%s) dims=[0, 1] : {ALL}"]
DIVIDED, LOGARITHM = [*SPREAD, f"%y = div(%e, %s3) : {ALL}"], [f"%l = log(%s) : {ROWS}", f"%l3 = broadcast(%l) dims=[0, 1] : {ALL}", f"%y = sub(%z, %l3) : {ALL}"]


def changed(lines, old, new):
    assert any(old in line for line in lines)
    return [line.replace(old, new) for line in lines]


# lines, and whether the largest element counts as constant
CASES = {
    "softmax": (SOFTMAX + DIVIDED, True),
    "logarithm": (SOFTMAX + LOGARITHM, True),
    "both": (SOFTMAX + DIVIDED + [line.replace("%y =", "%y2 =") for line in LOGARITHM] + [f"%y3 = mul(%y, %y2) : {ALL}"], True),
    "the largest is read": (SOFTMAX + DIVIDED + [f"%y1 = add(%y, %m3) : {ALL}"], False),
    "the difference is read": (SOFTMAX + DIVIDED + [f"%y1 = mul(%y, %z) : {ALL}"], False),
    "exponentials are read": (SOFTMAX + DIVIDED + [f"%y1 = add(%y, %e) : {ALL}"], False),
    "sums are read": (SOFTMAX + DIVIDED + [f"%y1 = add(%y, %s3) : {ALL}"], False),
    "logarithms are read": (SOFTMAX + LOGARITHM + [f"%y1 = add(%y, %l3) : {ALL}"], False),
    "divided the other way": (SOFTMAX + SPREAD + [f"%y = div(%s3, %e) : {ALL}"], False),
    "sums of another axis": (changed(SOFTMAX, "reduce(%e, <1 x i64> 2)", "reduce(%e, <1 x i64> 1)") + DIVIDED, False),
    "spread along another axis": (changed(SOFTMAX, "broadcast(%m) dims=[0, 1]", "broadcast(%m) dims=[0, 2]") + DIVIDED, False),
    "sums spread along another axis": (SOFTMAX + changed(DIVIDED, "dims=[0, 1]", "dims=[0, 2]"), False),
    "not the sum": (changed(SOFTMAX, "reduce(%e, <1 x i64> 2)", "reduce(%e, <1 x i64> 2) kind=max") + DIVIDED, False),
    "the smallest": (changed(SOFTMAX, "kind=max", "kind=min") + DIVIDED, None),
    "no softmax": (SOFTMAX[:4], False),
}


def function_of(lines, seed):
    x = np.random.default_rng(seed).uniform(-2, 2, SHAPE)
    return differences.Function({"x": x}, lines, lines[-1].split()[0], SHAPE, seed)


@pytest.mark.parametrize("case", CASES)
def test_derivative(tmp_path, case):
    lines, constant = CASES[case]
    function = function_of(lines, 3)
    loss, by = differences.derivatives(tmp_path, function, ["x"])
    x, c = function.inputs["x"], function.inputs["c"]
    way = np.random.default_rng(4).uniform(-1, 1, SHAPE)

    def at(k):
        return float(differences.run(tmp_path, function.text, [x + k * 1e-4 * way, c])[0])
    difference = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / 12e-4
    assert abs(np.sum(by["x"] * way) - difference) <= 1e-7 * max(1, abs(difference))
    # the derivative by a largest element begins with a comparison
    (tmp_path / "f.dnn").write_text(function.text)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "f.dnn", "--gradient=loss:x", "--emit=ir", "--passes=dce", "-o", "-"])
    assert done.returncode == 0, done.stderr
    if constant is not None:
        assert (" eq(" not in done.stdout) == constant, done.stdout


def test_derivative_of_the_derivative(tmp_path):
    """the derivative reads what the softmax is made of, so the largest element is a value like any other then"""
    function = function_of(SOFTMAX + DIVIDED, 5)
    (tmp_path / "f.dnn").write_text(function.text)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "f.dnn", "--gradient=loss:x", "--emit=ir", "--passes=dce", "-o", "-"])
    assert done.returncode == 0, done.stderr
    text, count = re.subn(r"  yield\(%\w+, (%\w+)\)", rf"  %squares = mul(\1, \1) : {ALL}\n  %sum = reduce(%squares, <3 x i64> [0, 1, 2]) : <f64>\n  yield(%sum)", done.stdout)
    assert count == 1
    function.text = text.replace('("loss", "d_x")', '("loss")')
    _, by = differences.derivatives(tmp_path, function, ["x"])
    x, c = function.inputs.values()
    way = np.random.default_rng(6).uniform(-1, 1, SHAPE)
    at = {k: float(differences.run(tmp_path, function.text, [x + k * 1e-4 * way, c])[0]) for k in (-2, -1, 1, 2)}
    difference = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / 12e-4
    assert abs(np.sum(by["x"] * way) - difference) <= 1e-7 * max(1, abs(difference))
