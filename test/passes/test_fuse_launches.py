# SPDX-License-Identifier: MIT
"""fuse_launches: a norm of one row is made by each block of the product that reads it, whose blocks become iterations where they are many, and a few elements; what
stands alone beside something else; where it is not, and that the bits are the same. Rows of clusters: test/cuda/test_warp_clusters.py."""
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
PASSES = ("simplify,fold,cse,dce,peel,precision,layout,simplify,fold,cse,requantize,dce,hoist,winograd,shares,fuse,offload,schedule,strips,attention,prologues,stream,siblings,"
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
@pytest.mark.sample(12, each=False)
def test_cases(name, precision, tmp_path):
    how, count = CASES[name]
    options = ["--precision=f16"] if precision == "f16" else []
    path = network(tmp_path / "m.onnx", **how)
    done = dnncc.run([dnncc.DNNCC, path, "--target=cuda-sm_90", *options, "--stats", "--check", "-o", tmp_path / "model.cu"])
    said = done.stdout + done.stderr
    assert done.returncode == dnncc.OK and "fuse_launches: equal" in said, said
    text = (tmp_path / "model.cu").read_text()
    assert int(re.search(r"stats: fuse_launches +(\d+) rewrites", said)[1]) == count, said
    assert ("copy_async(xs" in text) == (count == 0)


@pytest.mark.sample(2)
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


# ---- few elements, of a lane each ----

def row_network(path, row, channels):
    """y = row w, a row of x"""
    nodes = [helper.make_node("Gather", ["x", "i"], ["r"], axis=0), helper.make_node("MatMul", ["r", "w"], ["y"])]
    constants = [numpy_helper.from_array(np.int64([row]), "i"), numpy_helper.from_array(np.random.default_rng(1).standard_normal((channels, 96)).astype(np.float32) / 16, "w")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", T.FLOAT, [4, channels])], [helper.make_tensor_value_info("y", T.FLOAT, [1, 96])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.mark.parametrize("channels", [768, 640, 1024, 2048])
@pytest.mark.sample(2)
def test_elements(channels, tmp_path):
    """rounded by the warps of the product: in as many iterations, and in more than all have; too many are a launch"""
    onnx_file, options = row_network(tmp_path / "m.onnx", 2, channels), ["--precision=f16", "--profile"]
    path = cuda.compile_model(onnx_file, tmp_path, options, target="cuda-sm_90")
    apart = cuda.compile_model(onnx_file, tmp_path, [*options, f"--passes={PASSES}"], name="apart", target="cuda-sm_90")
    assert launches(path) == launches(apart) - (channels <= 1024)
    x = np.random.default_rng(2).standard_normal((4, channels)).astype(np.float32)
    for flags, executions in (cuda.OPTIMIZE, cuda.SIX), (cuda.CHECKED, cuda.TWO):
        got = cuda.run(cuda.build([path, apart], tmp_path, flags=flags), {"model": [x], "apart": [x]}, tmp_path, executions)
        assert not any(isinstance(y, cuda.Found) for y in got.values()), got
        assert np.array_equal(got["model"][0], got["apart"][0])


# ---- one beside the other ----

# (results of nodes, elements of each, launches less): a is of x, b of z, c of a
BESIDE = {
    "a large and a small one": (["a", "b"], (200000, 130), 1), "a small and a large one": (["a", "b"], (130, 200000), 1), "two small ones": (["a", "b"], (900, 130), 1),
    "one that reads the other": (["a", "c"], (130, 130), 0), "two large ones": (["a", "b"], (200000, 100000), 0), "a lookup": (["g", "b"], (500, 130), 1),
}


def pair_network(path, made, sizes):
    """a lookup fails where an index is out of range"""
    nodes = {"a": helper.make_node("Relu", ["x"], ["a"]), "b": helper.make_node("Exp", ["z"], ["b"]), "c": helper.make_node("CumSum", ["a", "axis"], ["c"]),
             "g": helper.make_node("Gather", ["table", "i"], ["g"])}
    floats = {"x": sizes[0], "z": sizes[1]}
    needed = {name for m in made for name in nodes[m].input}
    inputs = [helper.make_tensor_value_info("i", T.INT64, [sizes[0]])] if "i" in needed else []
    inputs += [helper.make_tensor_value_info(n, T.FLOAT, [s]) for n, s in floats.items() if n in needed]
    constants = [numpy_helper.from_array(np.int64(0), "axis"), numpy_helper.from_array(np.arange(40, dtype=np.float32) * 3, "table")]
    results = [helper.make_tensor_value_info(m, T.FLOAT, [sizes[m == "b"]]) for m in made]
    graph = helper.make_graph([nodes[m] for m in made], "g", inputs, results, [c for c in constants if c.name in needed])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.sample(4)
def test_apart(name, tmp_path):
    made, sizes, less = BESIDE[name]
    onnx_file = pair_network(tmp_path / "m.onnx", made, sizes)
    path = cuda.compile_model(onnx_file, tmp_path, ["--profile"], target="cuda-sm_90")
    apart = cuda.compile_model(onnx_file, tmp_path, ["--profile", f"--passes={PASSES}"], name="apart", target="cuda-sm_90")
    assert launches(path) == launches(apart) - less
    random = np.random.default_rng(2)
    given = [random.integers(0, 40, sizes[0])] if "g" in made else [random.standard_normal(sizes[0]).astype(np.float32)]
    given += [random.standard_normal(sizes[1]).astype(np.float32)] if "b" in made else []
    program = cuda.build([path, apart], tmp_path, flags=cuda.CHECKED)
    got = cuda.run(program, {"model": given, "apart": given}, tmp_path, cuda.TWO)
    assert not any(isinstance(y, cuda.Found) for y in got.values()), got
    assert all(np.array_equal(a, b) for a, b in zip(got["model"], got["apart"]))
    if "g" in made:
        given[0][7] = 40
        got = cuda.run(program, {"model": given, "apart": given}, tmp_path, cuda.TWO)
        assert all(isinstance(y, cuda.Found) for y in got.values()) and str(got["model"]) == str(got["apart"]), got
    done = dnncc.run([dnncc.DNNCC, onnx_file, "--target=cuda-sm_90", "--check", "-o", tmp_path / "checked.cu"])
    assert done.returncode == dnncc.OK and "fuse_launches: equal" in done.stdout + done.stderr, done.stdout + done.stderr


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


@pytest.mark.long
@pytest.mark.slow
def test_iterations(tmp_path):
    """blocks of several waves are iterations of those of one, the last of which has fewer; the same bits, no race, and one where iterations do not wait for each other"""
    onnx_file = network(tmp_path / "m.onnx", outputs=(12001,))
    path = cuda.compile_model(onnx_file, tmp_path, ["--precision=f16", "--profile"], target="cuda-sm_75")
    apart = cuda.compile_model(onnx_file, tmp_path, ["--precision=f16", f"--passes={PASSES}"], name="apart", target="cuda-sm_75")
    text = path.read_text()
    blocks, iterations, number = (int(n) for n in re.search(r"launch\(\(const void \*\)\w+,\s*(\d+)", text).groups() +
                             re.search(r"iteration\w* < (\d+); \w+\+\+\) \{\n +const int b\w* = block \* \d+ \+ iteration\w*;\n +if \(b\w* < (\d+)\)", text).groups())
    assert launches(path) == 1 and iterations > 1 and number == 1501 and blocks == -(-number // iterations) and number % iterations
    x = np.random.default_rng(2).standard_normal((1, CHANNELS)).astype(np.float32)
    for flags, executions in (cuda.OPTIMIZE, cuda.SIX), (cuda.CHECKED, cuda.TWO):
        got = cuda.run(cuda.build([path, apart], tmp_path, flags=flags), {"model": [x], "apart": [x]}, tmp_path, executions)
        assert not any(isinstance(y, cuda.Found) for y in got.values()), got
        assert np.array_equal(got["model"][0], got["apart"][0])
    path.write_text(re.sub(r"\n +__syncthreads\(\);(?=\n +\}\n +\}\n\})", "", text, count=1))
    assert path.read_text() != text
    got = cuda.run(cuda.build([path], tmp_path, flags=cuda.CHECKED), {"model": [x]}, tmp_path, cuda.SIX)["model"]
    assert isinstance(got, cuda.Found), got
