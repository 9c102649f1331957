# SPDX-License-Identifier: MIT
"""Rows that a warp computes together (engines/grid/grid_rows.c): softmax, norms, sums over neighbours in memory."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402


def scale(n):
    return [numpy_helper.from_array(np.random.default_rng(ord(name)).standard_normal(n).astype(np.float32), name) for name in "sb"]


# shape of x; node; weights; what warps compute of it: kernels with partial results; neighbours that a lane loads and stores as one
CASES = {
    "softmax": ((5, 100), helper.make_node("Softmax", ["x"], ["y"]), [], True, 1),
    "one row": ((1, 1000), helper.make_node("Softmax", ["x"], ["y"]), [], True, 1),
    "log softmax": ((3, 7, 64), helper.make_node("LogSoftmax", ["x"], ["y"]), [], True, 2),
    "norm": ((9, 768), helper.make_node("LayerNormalization", ["x", "s", "b"], ["y"], axis=-1), scale(768), True, 4),
    "two axes": ((2, 3, 16, 33), helper.make_node("LayerNormalization", ["x", "s", "b"], ["y"], axis=-2), scale((16, 33)), True, 1),
    "largest": ((300, 40), helper.make_node("ReduceMax", ["x"], ["y"], axes=[1], keepdims=0), [], True, 1),
    "all": ((4, 50, 7), helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0), [], True, 1),
    "norm of a channel": ((2, 3, 9, 11), helper.make_node("InstanceNormalization", ["x", "s", "b"], ["y"]), scale(3), True, 1),
    "norm of many": ((2, 2048), helper.make_node("LayerNormalization", ["x", "s", "b"], ["y"], axis=-1), scale(2048), True, 4),
    "columns of rows": ((3, 5, 256), helper.make_node("Softmax", ["x"], ["y"]), [], True, 4),
    # columns are neighbours of lanes as they are; rows too short for a warp
    "columns": ((200, 64), helper.make_node("ReduceSum", ["x", "axis"], ["y"], keepdims=0), [numpy_helper.from_array(np.array([0]), "axis")], False, 1),
    "short": ((64, 10), helper.make_node("Softmax", ["x"], ["y"]), [], False, 1),
}


# loads, in so many places; what lanes keep: no results, which are read again, nor what would take more registers than there are
KEPT = {"norm": (3, 3), "columns of rows": (3, 1), "norm of many": (5, 0)}


def save(case, path):
    x, node, weights, *_ = case
    graph = helper.make_graph([node], "rows", [helper.make_tensor_value_info("x", T.FLOAT, x)],
                              [helper.make_tensor_value_info("y", T.FLOAT, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def test_cases(tmp_path):
    paths, given, wanted = [], {}, {}
    for i, (name, case) in enumerate(CASES.items()):
        onnx_file = save(case, tmp_path / f"m{i}.onnx")
        paths.append(cuda.compile_model(onnx_file, tmp_path, [], name=f"m{i}"))
        text = paths[-1].read_text()
        assert ("parts" in text) == case[3], name
        words = {int(n) for n in re.findall(r"(?:load|store)_f32_(\d)\(", text)} or {1}
        assert not case[3] or words == {case[4]}, (name, words)
        if name in KEPT:
            assert (len(re.findall(r"= load_f32_\d\(", text)), len(re.findall(r"^ +float kept\d*\[\d+\];", text, re.MULTILINE))) == KEPT[name], name
        x = np.random.default_rng(i).standard_normal(case[0]).astype(np.float32)
        given[f"m{i}"], wanted[f"m{i}"] = [x], (name, ReferenceEvaluator(str(onnx_file)).run(None, {"x": x})[0])
    got = cuda.run(cuda.build(paths, tmp_path), given, tmp_path, cuda.SIX)
    for key, (name, want) in wanted.items():
        assert not isinstance(got[key], cuda.Found), (name, got[key])
        np.testing.assert_allclose(got[key][0].reshape(np.shape(want)), want, rtol=2e-5, atol=2e-5, err_msg=name)


def test_exact(tmp_path):
    """sums in the order of C, so a lane for each row; extremes have none"""
    for name, parts in [("norm", False), ("largest", True)]:
        text = cuda.compile_model(save(CASES[name], tmp_path / "m.onnx"), tmp_path, ["--exact"], name="m").read_text()
        assert ("parts" in text) == parts, name


MISTAKES = {"no wait": ("__syncwarp();", ""), "another neighbour": (".at[1]", ".at[2]"), "another lane's": ("lane * 4", "lane * 8"),
            "lanes left out": ("l < 32", "l < 28")}


@pytest.mark.parametrize("mistake", ["no wait", "another neighbour", "another lane's", pytest.param("lanes left out", marks=pytest.mark.long)])
def test_mistakes(mistake, tmp_path):
    """what lanes hand on is waited for; each has its own elements"""
    path = cuda.compile_model(save(CASES["norm"], tmp_path / "m.onnx"), tmp_path, [], name="m")
    text = path.read_text()
    changed = text.replace(*MISTAKES[mistake], -1 if mistake == "no wait" else 1)
    assert changed != text
    path.write_text(changed)
    x = np.random.default_rng(0).standard_normal(CASES["norm"][0]).astype(np.float32)
    want = ReferenceEvaluator(str(tmp_path / "m.onnx")).run(None, {"x": x})[0]
    got = cuda.run(cuda.build([path], tmp_path), {"m": [x]}, tmp_path, cuda.SIX)["m"]
    assert isinstance(got, cuda.Found) or not np.allclose(got[0], want, rtol=1e-4, atol=1e-4)

