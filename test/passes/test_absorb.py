# SPDX-License-Identifier: MIT
"""absorb: a norm of one row is made by each block of the product that reads it, whose blocks become turns where they are many; where it is not, and that
the bits are the same."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402

CHANNELS = 768
# without it
PASSES = ("simplify,fold,cse,dce,peel,precision,layout,simplify,fold,cse,requantize,dce,hoist,winograd,fuse,offload,schedule,strips,attention,prologues,stream,siblings,"
          "lower,vectorize,jam,grid,contract,parallelize,legalize,merge,registers,arrange,detach,join,plan,prune,outline,keep")


def network(path, rows=1, outputs=(96,), norms=1, shown=False, channels=CHANNELS):
    """y = norm(x) w, a product for each of outputs; the product's result is normed again, norms times in all"""
    random, nodes, weights, values = np.random.default_rng(1), [], [], []

    def constant(name, value):
        weights.append(numpy_helper.from_array(value.astype(np.float32), name))
        return name

    x = "x"
    for n in range(norms):
        s, b = (constant(f"{k}{n}", random.standard_normal(channels)) for k in "sb")
        nodes.append(helper.make_node("LayerNormalization", [x, s, b], [f"n{n}"], axis=-1, epsilon=1e-5))
        last = outputs if n + 1 == norms else (channels,)
        for i, count in enumerate(last):
            w = constant(f"w{n}_{i}", random.standard_normal((channels, count)) / 16)
            x = f"y{n}_{i}"
            nodes.append(helper.make_node("MatMul", [f"n{n}", w], [x]))
            if n + 1 == norms:
                values.append(helper.make_tensor_value_info(x, T.FLOAT, [rows, count]))
    if shown:
        values.append(helper.make_tensor_value_info("n0", T.FLOAT, [rows, channels]))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", T.FLOAT, [rows, channels])], values, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def launches(path):
    return int(re.search(r"_LAUNCHES (\d+)", path.with_suffix(".h").read_text())[1])


CASES = {       # network, products that make what they read themselves
    "one": ({}, 1), "in a row": ({"norms": 3}, 3),
    "two readers": ({"outputs": (96, 1000)}, 0), "a result": ({"shown": True}, 0), "several rows": ({"rows": 3}, 0), "many waves": ({"outputs": (110000,), "channels": 64}, 1),
}


@pytest.mark.parametrize("precision", ["f16", "f32"])
@pytest.mark.parametrize("name", CASES)
def test_cases(name, precision, tmp_path):
    how, count = CASES[name]
    options = ["--precision=f16"] if precision == "f16" else []
    path = network(tmp_path / "m.onnx", **how)
    done = dnncc.run([dnncc.DNNCC, path, "--target=cuda-sm_90", *options, "--stats", "--check", "-o", tmp_path / "model.cu"])
    said = done.stdout + done.stderr
    assert done.returncode == dnncc.OK and "absorb: equal" in said, said
    text = (tmp_path / "model.cu").read_text()
    assert int(re.search(r"stats: absorb +(\d+) rewrites", said)[1]) == count, said
    assert ("copy_async(xs" in text) == (count == 0)


@pytest.mark.parametrize("precision", ["f16", "f32"])
def test_runs(precision, tmp_path):
    """in all executions, no race; the bits that it has with a kernel of its own"""
    options = ["--precision=f16"] if precision == "f16" else []
    onnx_file = network(tmp_path / "m.onnx", norms=2)
    options.append("--profile")
    path = cuda.compile_model(onnx_file, tmp_path, options, target="cuda-sm_90")
    apart = cuda.compile_model(onnx_file, tmp_path, [*options, f"--passes={PASSES}"], name="apart", target="cuda-sm_90")
    assert launches(path) == launches(apart) - 2
    x = np.random.default_rng(2).standard_normal((1, CHANNELS)).astype(np.float32)
    for flags, executions in (cuda.OPTIMIZE, cuda.SIX), (cuda.CHECKED, cuda.TWO):
        got = cuda.run(cuda.build([path, apart], tmp_path, flags=flags), {"model": [x], "apart": [x]}, tmp_path, executions)
        assert not any(isinstance(y, cuda.Found) for y in got.values()), got
        assert np.array_equal(got["model"][0], got["apart"][0])


def test_barrier(tmp_path):
    """a mistake that is noticed: warps that do not wait for the one that makes it"""
    path = cuda.compile_model(network(tmp_path / "m.onnx"), tmp_path, ["--precision=f16"], target="cuda-sm_90")
    text = path.read_text()
    changed = re.sub(r"(\n        \}\n)        __syncthreads\(\);\n(?= +const int warp2)", r"\1", text, count=1)
    assert changed != text
    path.write_text(changed)
    x = np.random.default_rng(2).standard_normal((1, CHANNELS)).astype(np.float32)
    got = cuda.run(cuda.build([path], tmp_path, flags=cuda.CHECKED), {"model": [x]}, tmp_path, cuda.SIX)["model"]
    assert isinstance(got, cuda.Found), got


@pytest.mark.slow
def test_turns(tmp_path):
    """blocks of several waves are turns of those of one, the last of which has fewer; the same bits, no race, and one where turns do not wait for each other"""
    onnx_file = network(tmp_path / "m.onnx", outputs=(12001,))
    path = cuda.compile_model(onnx_file, tmp_path, ["--precision=f16", "--profile"], target="cuda-sm_75")
    apart = cuda.compile_model(onnx_file, tmp_path, ["--precision=f16", f"--passes={PASSES}"], name="apart", target="cuda-sm_75")
    text = path.read_text()
    blocks, turns, number = (int(n) for n in re.search(r"launch\(\(const void \*\)\w+,\s*(\d+)", text).groups() +
                             re.search(r"turn\w* < (\d+); \w+\+\+\) \{\n +const int b\w* = block \* \d+ \+ turn\w*;\n +if \(b\w* < (\d+)\)", text).groups())
    assert launches(path) == 1 and turns > 1 and number == 1501 and blocks == -(-number // turns) and number % turns
    x = np.random.default_rng(2).standard_normal((1, CHANNELS)).astype(np.float32)
    for flags, executions in (cuda.OPTIMIZE, cuda.SIX), (cuda.CHECKED, cuda.TWO):
        got = cuda.run(cuda.build([path, apart], tmp_path, flags=flags), {"model": [x], "apart": [x]}, tmp_path, executions)
        assert not any(isinstance(y, cuda.Found) for y in got.values()), got
        assert np.array_equal(got["model"][0], got["apart"][0])
    path.write_text(re.sub(r"\n +__syncthreads\(\);(?=\n +\}\n +\}\n\})", "", text, count=1))
    assert path.read_text() != text
    got = cuda.run(cuda.build([path], tmp_path, flags=cuda.CHECKED), {"model": [x]}, tmp_path, cuda.SIX)["model"]
    assert isinstance(got, cuda.Found), got
