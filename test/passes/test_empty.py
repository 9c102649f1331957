# SPDX-License-Identifier: MIT
"""Tensors without elements are valid wherever others are."""
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

node, value = helper.make_node, helper.make_tensor_value_info


def model(path, nodes, shape, constants, out):
    tensors = [numpy_helper.from_array(np.asarray(a, np.int64 if isinstance(a, list) else np.float32), n) for n, a in constants.items()]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, shape)], [value("y", TensorProto.FLOAT, out)], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


CASES = {
    "part of rows without elements": ([node("LpNormalization", ["x"], ["n"], axis=-3), node("Slice", ["n", "from", "to", "axes"], ["y"])],
                                      [2, 16, 7, 0, 31], {"from": [0], "to": [5], "axes": [1]}, [2, 5, 7, 0, 31]),
    "MatMul by no columns": ([node("MatMul", ["x", "w"], ["y"])], [5, 1], {"w": np.zeros((1, 0))}, [5, 0]),
    "MatMul over nothing": ([node("MatMul", ["x", "w"], ["y"])], [5, 0], {"w": np.zeros((0, 3))}, [5, 3]),
    "Gemm by no columns": ([node("Gemm", ["x", "w"], ["y"], transB=1)], [5, 3], {"w": np.zeros((0, 3))}, [5, 0]),
    "Gemm over nothing": ([node("Gemm", ["x", "w", "b"], ["y"])], [2, 0], {"w": np.zeros((0, 3)), "b": np.arange(3)}, [2, 3]),
}


@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
@pytest.mark.parametrize("case", CASES)
def test_compiles(case, target, tmp_path):
    model(tmp_path / "m.onnx", *CASES[case])
    for level in ("-O1", "-O2"):
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", level, f"--target={target}", "--check", "-o", tmp_path / "m.c"], cwd=tmp_path)
        assert done.returncode == 0 and done.stderr.count(": equal") > 3, done.stderr
