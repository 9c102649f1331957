# SPDX-License-Identifier: MIT
"""Extents that a run gives as CUDA C, by the executor."""
import pathlib
import re
import sys
import zlib

import numpy as np
import onnx
import onnx.reference
import onnxruntime
import pytest
from onnx import TensorProto, helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[0] / folder) for folder in ("support", "extents", "models")]
import cuda  # noqa: E402
import dnncc  # noqa: E402
import test_extents  # noqa: E402

TARGETS = "cuda-sm_80", "cuda-sm_90"
BATCH = 25
STRIDE = 20                             # every STRIDE-th operator here: all are run by the interpreter as well


# ---- operators ----

def data_of(test, kind):
    folder = next(p for f in test_extents.FOLDERS if (p := test_extents.SUITE / f / test / "test_data_set_0").exists())
    return [dnncc.load_tensor(folder / f"{kind}_{i}.pb") for i in range(len(list(folder.glob(f"{kind}_*.pb"))))]


def compile_open(test, folder, name, target, options):
    """the .cu with the test's first length open; None: it is refused, because data say an extent, or texts are no device's"""
    folder.mkdir()
    length = test_extents.opened(test, folder / "m.onnx")
    try:
        return length and cuda.compile_model(folder / "m.onnx", folder, [f"--dim=N=1..{length + 3}", *options], name=name, target=target)
    except dnncc.CompileError as error:
        assert error.code == dnncc.UNSUPPORTED, (test, error.text)
        return None


OPERATORS = test_extents.PASSING[::STRIDE]


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(OPERATORS) // BATCH))
def test_operators(number, tmp_path):
    tests, paths = dict(enumerate(OPERATORS[number::len(OPERATORS) // BATCH])), {}
    for k, test in tests.items():
        path = compile_open(test, tmp_path / f"c{k}", f"c{k}", TARGETS[k % 2], ["--exact"] if k % 4 > 1 else [])
        paths |= {k: path} if path else {}
    got = cuda.run(cuda.build(paths.values(), tmp_path), {f"c{k}": data_of(tests[k], "input") for k in paths}, tmp_path)
    assert len(got) > BATCH // 2
    for k in paths:
        results = got[f"c{k}"]
        assert not isinstance(results, cuda.Found), (tests[k], results)
        for y, right in zip(results, data_of(tests[k], "output"), strict=True):
            if y.dtype == right.dtype:
                np.testing.assert_allclose(y, right, 2e-3, 1e-4, err_msg=tests[k])


@pytest.mark.sample(16)
@pytest.mark.parametrize("test", test_extents.PASSING)
def test_operator(test, tmp_path):
    """in the interpreter"""
    number = zlib.crc32(test.encode())
    done = test_extents.run_opened(test, tmp_path, f"--target={TARGETS[number % 2]}", *[[], ["-O0"], ["--exact"], ["-O1"]][number // 2 % 4])
    assert done.returncode == 0 or (done.returncode == dnncc.UNSUPPORTED and "the data of a run say" in done.stderr), done.stderr


# ---- what a launch is ----

def save(path, nodes, inputs, outputs, constants=()):
    def ports(all):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in all.items()]
    graph = helper.make_graph(nodes, "g", ports(inputs), ports(outputs), [onnx.numpy_helper.from_array(a, n) for n, a in dict(constants).items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_blocks_are_what_the_run_says(tmp_path):
    """launches grow with the extents; nothing is launched where one is 0"""
    path = save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Softmax", ["y"], ["z"], axis=-1)],
                {"x": ["N", 40, "T"]}, {"z": ["N", 40, "T"]})
    made = cuda.compile_model(path, tmp_path, ["--dim=N=0..30", "--dim=T=1..200"])
    assert re.search(r"launch\(\(const void \*\)\w+, \(unsigned\)\(", made.read_text())
    program, blocks = cuda.build([made], tmp_path), []
    for n, t in (0, 7), (1, 1), (3, 33), (30, 200):
        x = np.random.default_rng(n).standard_normal((n, 40, t)).astype(np.float32)
        z, = cuda.run(program, {"model": [x]}, tmp_path)["model"]
        e = np.exp(np.maximum(x, 0) - np.maximum(x, 0).max(-1, keepdims=True)) if n else x
        np.testing.assert_allclose(z, e / e.sum(-1, keepdims=True), 1e-5, 1e-6)
        blocks.append(cuda.counts["model"]["blocks"])
    assert blocks[0] == 0 and sorted(set(blocks)) == blocks, blocks


def test_extents_that_data_say_are_refused(tmp_path):
    path = save(tmp_path / "m.onnx", [helper.make_node("NonZero", ["x"], ["y"]), helper.make_node("Cast", ["y"], ["z"], to=TensorProto.FLOAT)],
                {"x": ["N"]}, {"z": [1, "K"]})
    done = dnncc.run([dnncc.DNNCC, path, "--target=cuda-sm_80", "--dim=N=0..40", "-o", tmp_path / "m.cu"])
    assert done.returncode == dnncc.UNSUPPORTED and "the data of a run say dimension" in done.stderr, done.stderr


# ---- products ----

def dense(path, rows=("N",), inner=96, width=160):
    """a layer with a bias and a residual"""
    rng = np.random.default_rng(7)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["q"]), helper.make_node("Relu", ["q"], ["r"]),
             helper.make_node("MatMul", ["r", "v"], ["s"]), helper.make_node("Add", ["s", "x"], ["y"])]
    constants = {"w": rng.standard_normal((inner, width)) / 8, "b": rng.standard_normal(width), "v": rng.standard_normal((width, inner)) / 8}
    constants = {name: a.astype(np.float32) for name, a in constants.items()}
    save(path, nodes, {"x": [*rows, inner]}, {"y": [*rows, inner]}, constants)
    return lambda x: np.maximum(x @ constants["w"] + constants["b"], 0) @ constants["v"] + x


@pytest.mark.sample(3)
@pytest.mark.parametrize("target, precision", [("cuda-sm_80", ""), ("cuda-sm_90", "f16"), ("cuda-sm_90a", "bf16")])
@pytest.mark.parametrize("rows", [["N"], [1, "N"]], ids=str)
def test_products(rows, target, precision, tmp_path):
    """by tensor cores, of as many tiles as there are rows"""
    want = dense(tmp_path / "m.onnx", rows)
    options = ["--dim=N=0..300", *([f"--precision={precision}"] if precision else [])]
    program = cuda.build([cuda.compile_model(tmp_path / "m.onnx", tmp_path, options, target=target)], tmp_path)
    for count in 0, 1, 37, 256, 300:
        x = np.random.default_rng(count).standard_normal((*rows[:-1], count, 96)).astype(np.float32)
        y, = cuda.run(program, {"model": [x]}, tmp_path)["model"]
        np.testing.assert_allclose(y, want(x), *{"": (1e-4, 1e-4), "f16": (1e-2, 2e-2), "bf16": (5e-2, 1.5e-1)}[precision])
        assert bool(cuda.counts["model"]["mma"]) == (count > 0)


def test_convolutions_of_images(tmp_path):
    rng = np.random.default_rng(3)
    w, v = (rng.standard_normal(shape).astype(np.float32) / 8 for shape in ((32, 16, 3, 3), (48, 32, 3, 3)))
    nodes = [helper.make_node("Conv", ["x", "w"], ["p"], pads=[1] * 4), helper.make_node("Relu", ["p"], ["r"]),
             helper.make_node("Conv", ["r", "v"], ["s"], strides=[2, 2]), helper.make_node("GlobalAveragePool", ["s"], ["y"])]
    save(tmp_path / "m.onnx", nodes, {"x": ["N", 16, 9, 9]}, {"y": ["N", 48, 1, 1]}, {"w": w, "v": v})
    program = cuda.build([cuda.compile_model(tmp_path / "m.onnx", tmp_path, ["--dim=N=1..9"])], tmp_path)
    for count in 1, 4, 9:
        x = rng.standard_normal((count, 16, 9, 9)).astype(np.float32)
        y, = cuda.run(program, {"model": [x]}, tmp_path)["model"]
        right = onnx.reference.ReferenceEvaluator(str(tmp_path / "m.onnx")).run(None, {"x": x})[0]
        np.testing.assert_allclose(y, right, 1e-4, 1e-4)
        assert cuda.counts["model"]["mma"]


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, pytest.param(8, marks=pytest.mark.long), pytest.param(16, marks=pytest.mark.long)])
def test_random_networks(first, tmp_path):
    """of products, norms, attention, convolutions and moves, as onnxruntime has them"""
    seeds, paths = range(first, first + 8), []
    for seed in seeds:
        test_extents.Network(seed).save(tmp_path / f"n{seed}.onnx", 6)
        options = [f"--dim={name}=1..{test_extents.BOUND}" for name in "NM"]
        paths.append(cuda.compile_model(tmp_path / f"n{seed}.onnx", tmp_path, options, name=f"n{seed}", target=[*TARGETS, "cuda-sm_90a"][seed % 3]))
    program = cuda.build(paths, tmp_path)
    for n, m in (1, 1), (23, 41), (test_extents.BOUND, test_extents.BOUND):
        x, others = test_extents.given(np.random.default_rng(n), n, m)
        got = cuda.run(program, {f"n{seed}": [x, others] for seed in seeds}, tmp_path)
        for seed in seeds:
            session = onnxruntime.InferenceSession(tmp_path / f"n{seed}.onnx", providers=["CPUExecutionProvider"])
            right, = session.run(None, {"x": x, "m": others})
            results = got[f"n{seed}"]
            assert not isinstance(results, cuda.Found), (seed, results)
            np.testing.assert_allclose(results[0], right, 1e-3, 1e-4, err_msg=f"seed {seed}")
