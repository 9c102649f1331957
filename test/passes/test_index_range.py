# SPDX-License-Identifier: MIT
"""Gathers by computed indices: where these are inside of x in every run, no check is left, and the gather joins its reader; where they may not be, the check stays.
Either way the rows are those that numpy takes, whatever the indices are computed from."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import dnncc

F32, I64 = TensorProto.FLOAT, TensorProto.INT64
ZERO, ONE, TWO, SEVEN = np.array(0), np.array(1), np.array(2), np.array(7)
EXTENT = [("Shape", "x", "shape"), ("Gather", "shape zero", "n")]               # N
LAST = [*EXTENT, ("Sub", "n one", "last")]                                      # N - 1
REAL = [*LAST, ("Cast", "last", "end", {"to": F32})]

# operations that make t of f (floats) or i (integers), both <M>
WITHIN = {
    "clamped integers": [*LAST, ("Max", "i zero", "a"), ("Min", "a last", "t")],
    "clamped from above first": [*LAST, ("Min", "i last", "a"), ("Max", "a zero", "t")],
    "clamped floats": [*REAL, ("Max", "f fzero", "a"), ("Min", "a end", "b"), ("Cast", "b", "t", {"to": I64})],
    "whole parts": [*REAL, ("Max", "f fzero", "a"), ("Min", "a end", "b"), ("Floor", "b", "c"), ("Cast", "c", "t", {"to": I64})],
    "remainders": [*EXTENT, ("Mod", "i n", "t")],
    "quotients": [*EXTENT, ("Mod", "i n", "a"), ("Div", "a two", "t")],
    "one of two": [*EXTENT, ("Mod", "i n", "a"), ("Less", "f fzero", "c"), ("Where", "c a zero", "t")],
    "the first again": [*EXTENT, ("Mod", "i n", "a"), ("Sub", "a one", "b"), ("Max", "b zero", "t")],
}
OPEN = {
    "given": [("Identity", "i", "t")],
    "clamped to the extent": [*EXTENT, ("Max", "i zero", "a"), ("Min", "a n", "t")],
    "not from below": [*LAST, ("Min", "i last", "t")],
    "remainders with a sign": [*EXTENT, ("Mod", "i n", "t", {"fmod": 1})],
    "a step further": [*EXTENT, ("Mod", "i n", "a"), ("Add", "a one", "t")],
    "below a number": [("Mod", "i seven", "t")],
    "sums that wrap": [*LAST, ("Max", "i zero", "a"), ("Add", "a a", "b"), ("Min", "b last", "t")],
}


def save(path, steps):
    nodes = [helper.make_node(op, inputs.split(), [output], **(more[0] if more else {})) for op, inputs, output, *more in steps]
    nodes += [helper.make_node("Gather", ["x", "t"], ["g"]), helper.make_node("Neg", ["g"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, ["N", 3]), helper.make_tensor_value_info("f", F32, ["M"]),
                                           helper.make_tensor_value_info("i", I64, ["M"])], [helper.make_tensor_value_info("y", F32, None)],
                              [onnx.numpy_helper.from_array(v, name) for name, v in (("zero", ZERO), ("one", ONE), ("two", TWO), ("seven", SEVEN),
                                                                                     ("fzero", np.array(0, np.float32)))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return path


def loops(path, least):
    done = dnncc.run([dnncc.DNNCC, path, f"--dim=N={least}..6", "--dim=M=1..8", "--target=generic", "--emit=loops", "-o", "-"])
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(steps, x, f, i):
    """the indices, as the steps say"""
    n, values = len(x), {"x": x, "f": f, "i": i, "zero": 0, "one": 1, "two": 2, "seven": 7, "fzero": np.float32(0), "n": len(x), "last": len(x) - 1, "end": np.float32(len(x) - 1)}
    for op, inputs, output, *more in steps:
        if output in ("shape", "n", "last", "end"):
            continue
        a = [values[name] for name in inputs.split()]
        with np.errstate(invalid="ignore", over="ignore"):
            values[output] = {
                "Max": lambda: np.maximum(*a), "Min": lambda: np.minimum(*a), "Floor": lambda: np.floor(a[0]),
                "Cast": lambda: np.where(np.isnan(a[0]), 0, a[0]).astype(np.int64), "Mod": lambda: (np.fmod if more else np.mod)(*a), "Div": lambda: a[0] // a[1],
                "Less": lambda: a[0] < a[1], "Where": lambda: np.where(*a), "Sub": lambda: a[0] - a[1], "Add": lambda: a[0] + a[1], "Identity": lambda: a[0]}[op]()
    t = values["t"]
    return -x[t] if (t >= -n).all() and (t < n).all() else None


@pytest.mark.parametrize("name", [*WITHIN, *OPEN])
def test_checks(name, tmp_path):
    steps = {**WITHIN, **OPEN}[name]
    path = save(tmp_path / "m.onnx", steps)
    text = loops(path, 1)
    assert ("fail" in text) == (name in OPEN), text
    assert "fail" in loops(path, 0)     # no index is inside of an x without rows
    dnncc.compile_model(path, tmp_path, ["--dim=N=1..6", "--dim=M=1..8", "--target=generic"])
    program = dnncc.build_host(tmp_path, ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
    far = np.array([2**63 - 1, -2**63, 2**62, -1, 0, 5, 6, 7])
    for n in 1, 2, 6:
        x = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
        for f, i in ((np.array([np.nan, np.inf, -np.inf, 1e30, -.5, .5, n - 1, n], np.float32), far), (np.arange(4, dtype=np.float32), np.arange(4) % n)):
            want = rows(steps, x, f, i)
            if want is None:
                with pytest.raises(AssertionError, match="returned -3"):
                    dnncc.run_host(program, [x, f, i])
            else:
                np.testing.assert_array_equal(dnncc.run_host(program, [x, f, i])[0], want)
