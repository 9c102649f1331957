# SPDX-License-Identifier: MIT
"""Results whose extents only a run could tell: those that the model declares hold, or that later declarations imply; other ones are an error of the run."""
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dnncc  # noqa: E402
from test_opsets import F32, I64, ints, make_model, x  # noqa: E402


def test_as_many_as_declared():
    """a result whose extent only a run could tell is of the declared one; another number of elements is an error then"""
    node = helper.make_node("NonZero", ["x"], ["y"], "node")
    model = make_model([node], {"x": np.zeros(6, F32)}, [], {"y": np.zeros((1, 2), I64)}, 13)
    with dnncc.Workspace("as_many") as folder:
        onnx.save(model, str(folder / "model.onnx"))
        dnncc.compile_model(folder / "model.onnx", folder)
        host = dnncc.build_host(folder, dnncc.SANITIZE)
        assert dnncc.run_host(host, [np.array([0, 3, 0, 0, -1, 0], F32)])[0].tolist() == [[1, 4]]
        for many in [0, 3, 0, 2, 1, 0], [0, 0, 0, 0, 0, 7], [0] * 6:
            with pytest.raises(AssertionError, match="-3"):
                dnncc.run_host(host, [np.array(many, F32)])


def implied(steps, inside, shape=(3, 1, 2)):
    """t = f(y), .. = ReduceSum(x, axes), y, for a chain of steps; all of it in a function where inside is set"""
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["t0"], keepdims=1)]
    nodes += [helper.make_node(op, [name.format(i) for name in inputs], [f"t{i + 1}"]) for i, (op, inputs) in enumerate(steps)]
    nodes.append(helper.make_node("Identity" if steps[-1][0] == "Transpose" else "Abs", [f"t{len(steps)}"], ["y"]))
    given = [helper.make_tensor_value_info(k, e, shape) for k, e, shape in (("x", TensorProto.FLOAT, [3, 4, 2]), ("axes", TensorProto.INT64, [1]), ("s", TensorProto.FLOAT, []))]
    result = [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)]
    opsets, functions = [helper.make_opsetid("", 18)], []
    if inside:
        functions.append(helper.make_function("local", "f", ["x", "axes", "s"], ["y"], nodes, opsets))
        nodes, opsets = [helper.make_node("f", ["x", "axes", "s"], ["y"], domain="local")], opsets + [helper.make_opsetid("local", 1)]
    return helper.make_model(helper.make_graph(nodes, "g", given, result), functions=functions, opset_imports=opsets, ir_version=9)


@pytest.mark.parametrize("inside", [False, True], ids=["graph", "function"])
@pytest.mark.parametrize("steps", [
    [("Exp", ["t{}"]), ("Mul", ["t{}", "s"]), ("Log", ["t{}"])], [("Sqrt", ["t{}"]), ("Add", ["t{}", "t0"]), ("CastLike", ["t{}", "x"])]], ids=["scalars", "itself"])
def test_implied_shapes(steps, inside):
    """element-wise nodes lead to a value whose shape is declared: so it is that of what they start from; whatever else takes part says nothing"""
    with dnncc.Workspace("implied") as folder:
        onnx.save(model := implied(steps, inside), str(folder / "model.onnx"))
        dnncc.compile_model(folder / "model.onnx", folder)
        host = dnncc.build_host(folder, dnncc.SANITIZE)
        a, s = np.abs(x(3, 4, 2)) / 4, np.array(1.5, F32)
        want = ReferenceEvaluator(model).run(None, {"x": a, "axes": ints(1), "s": s})[0]
        np.testing.assert_allclose(dnncc.run_host(host, [a, ints(1), s])[0], want, rtol=1e-5)
        with pytest.raises(AssertionError, match="-4"):
            dnncc.run_host(host, [a, ints(0), s])


@pytest.mark.parametrize("inside", [False, True], ids=["graph", "function"])
def test_counted_shapes(inside):
    """behind a node that moves elements a declared shape says nothing of what it starts from: a run counts, and says how many there are"""
    with dnncc.Workspace("implied") as folder:
        onnx.save(model := implied([("Transpose", ["t{}"])], inside, (2, 1, 3)), str(folder / "model.onnx"))
        dnncc.compile_model(folder / "model.onnx", folder)
        host = dnncc.build_host(folder, dnncc.SANITIZE)
        for axis in range(3):
            given = {"x": np.abs(x(3, 4, 2)), "axes": ints(axis), "s": np.array(1.5, F32)}
            want = ReferenceEvaluator(model).run(None, given)[0]
            np.testing.assert_allclose(dnncc.run_host(host, list(given.values()))[0], want, rtol=1e-5, strict=True)


@pytest.mark.parametrize("inside", [False, True], ids=["graph", "function"])
def test_an_extent_that_may_be_one(inside):
    """whether what a run counts broadcasts, only the run could tell: not supported, though the model may be right"""
    with dnncc.Workspace("implied") as folder:
        onnx.save(implied([("Add", ["t{}", "x"])], inside, (3, 4, 2)), str(folder / "model.onnx"))
        done = dnncc.run([dnncc.DNNCC, folder / "model.onnx", "-o", folder / "model.c"])
        assert done.returncode == dnncc.UNSUPPORTED and "does not broadcast to extent t0_count" in done.stderr, done.stderr
