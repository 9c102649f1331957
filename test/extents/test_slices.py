# SPDX-License-Identifier: MIT
"""Slices of extents that a run gives: how many elements they have is a term over these extents, not a number that the run counts."""
import itertools
import re

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_resized import SANITIZED, compiled

import dnncc

F32, LAST = TensorProto.FLOAT, 2**63 - 1
STARTS, ENDS, STEPS = (0, 1, 5, 30, -1, -3, -30, LAST), (LAST, 4, 40, -1, -2, -40, 0), (1, 2, 3)
ALL = [*itertools.product(STARTS, ENDS, STEPS), (-1, -LAST, -1), (LAST, -LAST, -1), (50, -60, -1)]


def save(path, slices, axis=1):
    nodes, constants, outputs = [], [], []
    for i, numbers in enumerate(slices):
        constants += [numpy_helper.from_array(np.array([v]), f"{name}{i}") for name, v in zip(("s", "e", "p"), numbers)]
        nodes.append(helper.make_node("Slice", ["x", f"s{i}", f"e{i}", "a", f"p{i}"], [f"y{i}"]))
        outputs.append(helper.make_tensor_value_info(f"y{i}", F32, None))
    constants.append(numpy_helper.from_array(np.array([axis]), "a"))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, [2, "L", 3])], outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize("least", [0, 4])
def test_slices(least, tmp_path):
    """forward from each side to each side, shorter and longer than the dimension is; and all elements backward"""
    model = save(tmp_path / "m.onnx", ALL)
    program = compiled(model, tmp_path / "any", f"--dim=L={least}..32", flags=SANITIZED)
    assert "int64_t *" not in re.search(r"int \w+_run\([^;]*;", (tmp_path / "any" / "model.h").read_text())[0]
    for length in {least, 4, 5, 7, 31, 32}:
        x = np.random.default_rng(length).random((2, length, 3), np.float32)
        for got, (start, end, step) in zip(dnncc.run_host(program, [x]), ALL):
            want = x[:, start:(None if end == -LAST else end):step] if end != LAST else x[:, start::step]
            if step == -1:
                want = x[:, ::-1]
            np.testing.assert_array_equal(got.reshape(want.shape), want, err_msg=f"{length}: {start}:{end}:{step}")


def test_the_last_row_is_one(tmp_path):
    """as what reads the last token alone wants it: one row, by the type"""
    model = save(tmp_path / "m.onnx", [(-1, LAST, 1)])
    done = dnncc.run([dnncc.DNNCC, model, "--dim=L=1..32", "--emit=ir", "-o", "-"])
    assert done.returncode == 0 and "<2 x 1 x 3 x f32>" in done.stdout, done.stderr


def test_rows_of_a_table(tmp_path):
    """positions P to P + N of a table, whose extents are inputs', as rotary embeddings read it: so many rows as there are words"""
    nodes = [helper.make_node("Shape", ["past"], ["p"], start=0, end=1), helper.make_node("Shape", ["x"], ["n"], start=0, end=1),
             helper.make_node("Add", ["p", "n"], ["t"]), helper.make_node("Slice", ["table", "p", "t", "zero"], ["rows"]), helper.make_node("Add", ["x", "rows"], ["y"])]
    table = np.random.default_rng(0).random((24, 5), np.float32)
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("past", F32, ["P", 2]), helper.make_tensor_value_info("x", F32, ["N", 5])],
                              [helper.make_tensor_value_info("y", F32, None)], [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([0]), "zero")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    program = compiled(tmp_path / "m.onnx", tmp_path / "any", "--dim=P=0..16", "--dim=N=1..8", flags=SANITIZED)
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    for p, n in (0, 8), (16, 8), (3, 1), (16, 1):
        feeds = {"past": np.zeros((p, 2), np.float32), "x": np.random.default_rng(n).random((n, 5), np.float32)}
        np.testing.assert_array_equal(dnncc.run_host(program, list(feeds.values()))[0], session.run(None, feeds)[0])
