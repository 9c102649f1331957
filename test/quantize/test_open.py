# SPDX-License-Identifier: MIT
"""Extents that a run gives, and options that quantize: one file for every length gives what the code for that length alone gives."""
import re

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import dnncc

LENGTHS = 1, 17, 40
FEW = "--limit=weight_elements=1"


def model(path):
    """rows of a table, two layers, attention, a convolution along the rows, and a last layer"""
    rng = np.random.default_rng(0)

    def weights(name, *shape):
        return numpy_helper.from_array((rng.standard_normal(shape) * .3).astype(np.float32), name)
    nodes = [helper.make_node(*n[:3], n[3], **n[4]) for n in (
        ("Gather", ["table", "ids"], ["e"], "rows", {}),
        ("MatMul", ["e", "w1"], ["h0"], "first", {}), ("Add", ["h0", "b1"], ["h1"], "bias", {}), ("Relu", ["h1"], ["h2"], "relu", {}),
        ("MatMul", ["h2", "w2"], ["h3"], "second", {}), ("Transpose", ["h3"], ["h4"], "turned", {"perm": [1, 0]}),
        ("MatMul", ["h3", "h4"], ["s"], "scores", {}), ("Softmax", ["s"], ["p"], "shares", {"axis": -1}), ("MatMul", ["p", "h3"], ["a"], "mix", {}),
        ("Unsqueeze", ["h4", "zero"], ["c0"], "image", {}), ("Conv", ["c0", "w3"], ["c1"], "conv", {"pads": [1, 1]}),
        ("Squeeze", ["c1", "zero"], ["c2"], "plane", {}), ("Transpose", ["c2"], ["c3"], "back", {"perm": [1, 0]}),
        ("Add", ["a", "c3"], ["y0"], "both", {}), ("MatMul", ["y0", "w4"], ["y"], "last", {}))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["N"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 40])],
                              [weights("table", 300, 64), weights("w1", 64, 128), weights("b1", 128), weights("w2", 128, 48), weights("w3", 48, 48, 3),
                               weights("w4", 48, 40), numpy_helper.from_array(np.array([0]), "zero")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return rng


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """the model, inputs of three lengths, samples of 17 rows each (one), and of several lengths (all)"""
    folder = tmp_path_factory.mktemp("open")
    rng = model(folder / "m.onnx")

    def put(path, length):
        path.mkdir(parents=True)
        np.save(path / "input_0.npy", rng.integers(0, 300, length))
    for n in LENGTHS:
        put(folder / f"t{n}", n)
    for i, n in enumerate((3, 9, 40, 22)):
        put(folder / "one" / f"s{i}", 17)
        put(folder / "all" / f"s{i}", n)
    return folder


def result(folder, n, *options):
    done = dnncc.run([dnncc.DNNCC, "m.onnx", *options, f"--run=t{n}"], cwd=folder)
    assert done.returncode == 0, done.stderr
    return np.load(folder / f"t{n}" / "output_0.npy")


@pytest.mark.sample(8)
@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "sapphirerapids"])
@pytest.mark.parametrize("options", [
    ["--quantize-weights=s8"], ["--quantize-weights=s4:32"], ["--quantize-weights=u4:64"], ["--quantize-weights=f16"], ["--quantize-weights=bf16"],
    ["--quantize=dynamic"], ["--quantize-port=y=rows"], ["--quantize-port=y=s8,0.5,3"]], ids=lambda o: o[0][2:])
def test_weights(folder, options, target):
    for n in LENGTHS:
        ours, alone = (result(folder, n, *options, f"--target={target}", f"--dim=N={d}", FEW) for d in ("1..64", n))
        np.testing.assert_allclose(ours, alone, rtol=0, atol=1 if ours.dtype == np.int8 else 1e-4)


@pytest.mark.parametrize("options", [["--quantize-weights=s8"], ["--quantize-weights=s4:32"], ["--quantize-weights=bf16"], ["--quantize=dynamic"]], ids=lambda o: o[0][2:])
def test_entries(folder, options):
    """each gives what it gives alone; weights are of both"""
    entries = "--entry=many:N=1..64", "--entry=one:N=1", *options, FEW, "--target=x86-64-v3"

    def size(*bound):
        done = dnncc.run([dnncc.DNNCC, "m.onnx", *bound, *entries[2:], "--weights=file", "-o", "w.c"], cwd=folder)
        assert done.returncode == 0, done.stderr
        return (folder / "w.weights").stat().st_size
    assert size(*entries[:2]) < .85 * (size("--dim=N=1..64") + size("--dim=N=1"))
    for name, n in ("many", 17), ("one", 1):
        done = dnncc.run([dnncc.DNNCC, "m.onnx", *entries, f"--run={name}=t{n}"], cwd=folder)
        assert done.returncode == 0, done.stderr
        ours = np.load(folder / f"t{n}" / "output_0.npy")
        np.testing.assert_allclose(ours, result(folder, n, *entries[2:], f"--dim=N={n}"), rtol=0, atol=1e-4)


def test_blocks_by_bytes(folder):
    """with --quantize=dynamic products of blocks multiply bytes, whose blocks of rows have steps of their own, for every length alike"""
    options = "--quantize-weights=s4:32", "--quantize=dynamic", FEW
    exact = result(folder, 17, "--dim=N=17")
    ours, alone = (result(folder, 17, f"--dim=N={d}", *options) for d in ("1..64", 17))
    np.testing.assert_allclose(ours, alone, rtol=0, atol=1e-4)
    assert 0 < np.abs(ours - exact).mean() < .3 * np.abs(exact).mean()
    done = dnncc.run([dnncc.DNNCC, "m.onnx", "--dim=N=1..64", *options, "--emit=ir", "-o", "-"], cwd=folder)
    assert done.returncode == 0 and "dot_blocks" in done.stdout


@pytest.mark.slow
def test_ranges(folder):
    """samples of one length give the numbers that the code for that length has; of several, those of all"""
    def ranges(path, *options):
        done = dnncc.run([dnncc.DNNCC, "m.onnx", "--calibrate", path, "-o", "m.ranges", *options], cwd=folder)
        assert done.returncode == 0, done.stderr
        lines = [line.split() for line in (folder / "m.ranges").read_text().splitlines() if line.startswith("tensor ")]
        return {line[1]: (int(line[3]), *(float(x) for x in line[7:9])) for line in lines}
    ours, alone = ranges("one", "--dim=N=1..64"), ranges("one", "--dim=N=17")
    # How a softmax is divided is another form there, behind the product.
    shared = [name for name in alone if name in ours and not name.startswith("mix")]
    assert len(shared) > 15 and all(ours[name][0] == alone[name][0] for name in shared)
    for name in shared:
        np.testing.assert_allclose(ours[name][1:], alone[name][1:], rtol=1e-3, atol=1e-4)
    several = ranges("all", "--dim=N=1..64", "--channels=last", "--cc=gcc -O1")
    assert several["first.dot"][0] == (3 + 9 + 40 + 22) * 128
    assert several["scores.dot"][0] == sum(n * n for n in (3, 9, 40, 22))


@pytest.mark.slow
@pytest.mark.sample(8)
@pytest.mark.parametrize("options", [[], ["--activations=s16"], ["--quantize-weights=s4"], ["--quantize-steps=+round"], ["--quantize-steps=+smooth"],
                                     ["--requantize=integer"], ["--target=sapphirerapids"], ["--target=x86-64-v3", "--quantize-port=y=rows"]], ids=" ".join)
def test_bytes(folder, options):
    """as near to floats as the code for one length that saw the same samples"""
    exact = result(folder, 17, "--dim=N=17").astype(np.float64)
    if options[-1:] == ["--quantize-port=y=rows"]:
        scale = np.abs(exact).max(1, keepdims=True) / 127
        ours, alone = (np.abs(result(folder, 17, *options, "--quantize", "--calibrate=one", f"--dim=N={d}") * scale - exact).mean() for d in ("1..64", 17))
    else:
        ours, alone = (np.abs(result(folder, 17, *options, "--quantize", "--calibrate=one", f"--dim=N={d}") - exact).mean() for d in ("1..64", 17))
    assert alone < .3 * np.abs(exact).mean() and ours < 1.2 * alone, (ours, alone)
    result(folder, 40, *options, "--quantize", "--calibrate=all", "--dim=N=1..64")


def test_samples_that_do_not_fit(folder):
    """beyond the bound"""
    done = dnncc.run([dnncc.DNNCC, "m.onnx", "--calibrate=all", "-o", "x.ranges", "--dim=N=1..20"], cwd=folder)
    assert done.returncode == 3 and "input 'ids'" in done.stderr, done.stderr


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
def test_tune(folder, target):
    """schedules are timed at the bounds, and read back"""
    done = dnncc.run([dnncc.DNNCC, "m.onnx", "--dim=N=1..64", f"--target={target}", "--tune", "--schedule=book", "--limit=tune_seconds=4"], cwd=folder)
    assert done.returncode == 0, done.stderr
    assert re.search("[< ]N x", (folder / "book").read_text())
    done = dnncc.run([dnncc.DNNCC, "m.onnx", "--dim=N=1..64", f"--target={target}", "--schedule=book", "-o", "t.c"], cwd=folder)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
    session = onnxruntime.InferenceSession(folder / "m.onnx", providers=["CPUExecutionProvider"])
    got = result(folder, 40, "--dim=N=1..64", f"--target={target}", "--schedule=book")
    np.testing.assert_allclose(got, session.run(None, {"ids": np.load(folder / "t40" / "input_0.npy")})[0], rtol=1e-4, atol=1e-3)
