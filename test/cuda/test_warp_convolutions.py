# SPDX-License-Identifier: MIT
"""Convolutions by tensor cores (kernels/contract_warps.c): nothing gathered in memory, borders as zeros of the copies. Whole numbers, whose
sums f32 holds, so that any order of them is the same."""
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

# x, weights, attributes; by: kernels that multiply by units. Where several convolutions stand in a row, the last reads what the first made.
CASES = {
    "plain": ((1, 32, 9, 10), (64, 32, 3, 3), {"pads": [1, 1, 1, 1]}, 1),
    "strides": ((2, 16, 12, 11), (24, 16, 3, 3), {"pads": [1, 0, 1, 2], "strides": [2, 2]}, 1),
    "dilations": ((1, 48, 9, 9), (16, 48, 3, 3), {"pads": [2, 2, 2, 2], "dilations": [2, 2]}, 1),
    "image": ((1, 3, 16, 16), (16, 3, 7, 7), {"pads": [3, 3, 3, 3], "strides": [2, 2]}, 1),
    "odd channels": ((1, 24, 7, 7), (40, 24, 1, 1), {}, 1),
    "wide window": ((1, 16, 5, 30), (32, 16, 1, 7), {"pads": [0, 3, 0, 3]}, 1),
    "line": ((1, 32, 33), (32, 32, 5), {"pads": [2, 2]}, 1),
    "volume": ((1, 16, 4, 5, 6), (16, 16, 3, 3, 3), {"pads": [1] * 6}, 1),
    "groups": ((1, 64, 8, 8), (64, 16, 3, 3), {"pads": [1, 1, 1, 1], "group": 4}, 1),
    "depthwise": ((1, 32, 8, 8), (32, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 32}, 0),
    "border wider than the window": ((1, 16, 4, 4), (16, 16, 2, 2), {"pads": [3, 2, 3, 4]}, 1),
}


def whole(shape, seed):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)


def model(case, path, twice=False):
    """y = relu(conv(x) + b); twice: a second one of the same channels reads it, and the first one's y is added"""
    x, w, attributes, _ = case
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["p"], **attributes), helper.make_node("Relu", ["p"], ["y"])]
    weights = [numpy_helper.from_array(whole(w, 1), "w"), numpy_helper.from_array(whole(w[0], 2), "b")]
    if twice:
        nodes += [helper.make_node("Clip", ["y", "low", "high"], ["c"]), helper.make_node("Conv", ["c", "v", "b"], ["q"], pads=[1, 1, 1, 1]),
                  helper.make_node("Add", ["q", "c"], ["z"])]
        weights += [numpy_helper.from_array(whole((w[0], w[0], 3, 3), 3), "v"), numpy_helper.from_array(np.float32(0), "low"),
                    numpy_helper.from_array(np.float32(100), "high")]
    graph = helper.make_graph(nodes, "convolution", [helper.make_tensor_value_info("x", T.FLOAT, x)],
                              [helper.make_tensor_value_info("z" if twice else "y", T.FLOAT, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def check(cases, folder, options=(), target="cuda-sm_80", twice=False, executions=cuda.TWO):
    """{name: (case, options)}; the texts"""
    paths, given, wanted = [], {}, {}
    for i, (name, case) in enumerate(cases.items()):
        onnx_file = model(case, folder / f"m{i}.onnx", twice)
        path = cuda.compile_model(onnx_file, folder, ["--precision=f16", *options], name=f"m{i}", target=target)
        assert len(re.findall(r"\n +multiply_f16_\w+\(", path.read_text())) >= case[3] + twice, name
        paths.append(path)
        given[f"m{i}"] = [whole(case[0], 5)]
        wanted[f"m{i}"] = name, ReferenceEvaluator(str(onnx_file)).run(None, {"x": given[f"m{i}"][0]})[0]
    got = cuda.run(cuda.build(paths, folder), given, folder, executions)
    for key, (name, want) in wanted.items():
        y = got[key]
        assert not isinstance(y, cuda.Found), (name, y)
        assert np.array_equal(y[0], want), (name, np.abs(y[0] - want).max())
        assert cuda.counts[key]["conflicts"] == 0, (name, cuda.counts[key])


def test_cases(tmp_path):
    check(CASES, tmp_path)


def test_one_behind_the_other(tmp_path):
    """what one stores is what the next reads, border and all; and an addend"""
    check({k: CASES[k] for k in ("plain", "strides", "image")}, tmp_path, twice=True)


@pytest.mark.parametrize("target", [pytest.param(t, marks=pytest.mark.long) for t in ("cuda-sm_75", "cuda-sm_90", "cuda-sm_100")])
def test_targets(target, tmp_path):
    check(CASES, tmp_path, target=target, executions=cuda.SIX)


def test_no_border_in_memory(tmp_path):
    """one kernel a convolution, and no memory for zeros"""
    path = model(CASES["plain"], tmp_path / "m.onnx", twice=True)
    text = dnncc.run([dnncc.DNNCC, path, "--target=cuda-sm_80", "--precision=f16", "--emit=ir", "-o", "-"]).stdout
    assert len(re.findall(r"^    %\d+ = pad\(", text, re.M)) == 2 and not re.findall(r"^  %\d+ = pad\(", text, re.M), text
