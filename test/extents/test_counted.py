# SPDX-License-Identifier: MIT
"""Extents that a run's data say: results come back at their true extents, as onnxruntime has them."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("support", "models")]
import dnncc  # noqa: E402
import processor  # noqa: E402

F32, I64, BOOL, I32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.INT32
SANITIZED = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
TARGETS = [t for t in ("generic", "x86-64-v3", "x86-64-v4") if processor.has(t)]
node = helper.make_node


def saved(path, nodes, inputs, outputs, constants={}, opset=18, infos={}):
    """inputs and outputs: {name: (type, shape)}"""
    ports = [[helper.make_tensor_value_info(name, *spec) for name, spec in ports.items()] for ports in (inputs, outputs, infos)]
    initializers = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ports[0], ports[1], initializers, value_info=ports[2]),
                                opset_imports=[helper.make_opsetid("", opset)], ir_version=9), path)
    return path


def compared(model, folder, runs, *options, seed=0, exact=True):
    """the model's C, under sanitizers, and onnxruntime on each of `runs`, lists of arrays; returns what the last gave"""
    folder = folder / "c"
    folder.mkdir()
    dnncc.compile_model(model, folder, [f"--target={TARGETS[seed % len(TARGETS)]}", *options])
    program = dnncc.build_host(folder, SANITIZED)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    for inputs in runs:
        want = session.run(None, dict(zip((i.name for i in session.get_inputs()), inputs)))
        got = dnncc.run_host(program, inputs)
        for w, g in zip(want, got, strict=True):
            assert g.shape == w.shape and g.dtype == w.dtype
            (np.testing.assert_array_equal if exact else lambda g, w: np.testing.assert_allclose(g, w, rtol=2e-5, atol=2e-6))(g, w)
    return want


def sparse(rng, shape, share):
    return np.where(rng.random(shape) < share, rng.standard_normal(shape), 0).astype(np.float32)


# ---- operators ----

@pytest.mark.parametrize("seed, shape", list(enumerate([[17], [3, 4], [2, 5, 3], [1, 1, 1], [2, 3, 1, 4]])))
def test_non_zero(seed, shape, tmp_path):
    """nothing, all, and some"""
    rng = np.random.default_rng(seed)
    model = saved(tmp_path / "m.onnx", [node("NonZero", ["x"], ["y"])], {"x": (F32, shape)}, {"y": (I64, [len(shape), "K"])})
    compared(model, tmp_path, [[sparse(rng, shape, share)] for share in (0, 1, 0.5, 0.2)], seed=seed)


@pytest.mark.parametrize("seed, axis", list(enumerate([None, 0, 1, -1])))
def test_compress(seed, axis, tmp_path):
    rng = np.random.default_rng(seed)
    shape, count = [4, 6, 3], {None: 60, 0: 4, 1: 5, -1: 3}[axis]
    model = saved(tmp_path / "m.onnx", [node("Compress", ["x", "c"], ["y"], **({} if axis is None else {"axis": axis}))],
                  {"x": (F32, shape), "c": (BOOL, [count])}, {"y": (F32, None)})
    compared(model, tmp_path, [[sparse(rng, shape, 1), rng.random(count) < share] for share in (0, 1, 0.5)], seed=seed)


def test_then(tmp_path):
    """later operations run to the extent: products, reductions, softmax, a second count, another one's terms"""
    rng = np.random.default_rng(1)
    nodes = [node("Compress", ["x", "c"], ["rows"], axis=0), node("MatMul", ["rows", "w"], ["h"]), node("Softmax", ["h"], ["y"], axis=0),
             node("ReduceSum", ["h"], ["s"], keepdims=0), node("Greater", ["h", "s"], ["above"]), node("NonZero", ["above"], ["where"]),
             node("Transpose", ["where"], ["pairs"], perm=[1, 0]), node("Concat", ["h", "x5", "h"], ["all"], axis=0),
             node("Shape", ["where"], ["n"])]
    model = saved(tmp_path / "m.onnx", nodes, {"x": (F32, [19, 8]), "c": (BOOL, [19]), "x5": (F32, [3, 5])},
                  {"y": (F32, ["K", 5]), "s": (F32, []), "pairs": (I64, ["M", 2]), "all": (F32, ["T", 5]), "n": (I64, [2])},
                  {"w": rng.standard_normal((8, 5), np.float32)})
    for seed, target in enumerate(TARGETS):
        (tmp_path / target).mkdir()
        compared(model, tmp_path / target, [[rng.standard_normal((19, 8), np.float32), rng.random(19) < share, rng.random((3, 5), np.float32)]
                                            for share in (0, 1, 0.5)], seed=seed, exact=False)


def test_of_a_length(tmp_path):
    """of an input whose length the caller gives"""
    rng = np.random.default_rng(2)
    nodes = [node("NonZero", ["x"], ["y"]), node("Compress", ["x", "c"], ["z"], axis=0)]
    model = saved(tmp_path / "m.onnx", nodes, {"x": (F32, ["N", 5]), "c": (BOOL, ["N"])}, {"y": (I64, [2, "K"]), "z": (F32, ["M", 5])})
    compared(model, tmp_path, [[sparse(rng, (n, 5), share), rng.random(n) < share] for n in (0, 1, 7, 12) for share in (0, 0.5, 1)], "--dim=N=0..12")


# ---- the other ways to run, texts, errors ----

def detector(path):
    nodes = [node("Greater", ["scores", "low"], ["above"]), node("Compress", ["boxes", "above"], ["kept"], axis=0), node("Exp", ["kept"], ["y"])]
    return saved(path, nodes, {"boxes": (F32, [9, 4]), "scores": (F32, [9])}, {"y": (F32, ["kept", 4])}, {"low": np.float32(0.5)})


def data_set(folder, rng, above):
    folder.mkdir()
    boxes, scores = rng.random((9, 4), np.float32), np.where(np.arange(9) < above, 1, 0).astype(np.float32)
    for k, array in enumerate((boxes, scores)):
        np.save(folder / f"input_{k}.npy", array)
    np.save(folder / "output_0.npy", np.exp(boxes[:above]))
    return folder


@pytest.mark.parametrize("options", [[], ["-O0"], ["--cc=cc -O1"], ["--threads=2", "--cc=cc -O1"], ["--goal=memory"], ["--exact", "--target=x86-64-v3"],
                                     ["--target=generic,x86-64-v3", "--cc=cc -O1"], ["--target=aarch64"], ["--flush-denormals", "--target=x86-64"]])
def test_test(options, tmp_path):
    """--test, in the interpreter and compiled, takes the extents that the run tells; --run writes arrays of them"""
    rng, model = np.random.default_rng(0), detector(tmp_path / "m.onnx")
    sets = [data_set(tmp_path / f"d{n}", rng, n) for n in (0, 4, 9)]
    done = dnncc.run([dnncc.DNNCC, model, *(f"--test={s}" for s in sets), *options])
    assert done.returncode == 0 and "16 elements equal" in done.stdout, done.stderr
    np.save(sets[1] / "output_0.npy", np.zeros((5, 4), np.float32))
    done = dnncc.run([dnncc.DNNCC, model, f"--test={sets[1]}", *options])
    assert done.returncode != 0 and "<4 x 4 x f32>" in done.stderr, done.stderr
    done = dnncc.run([dnncc.DNNCC, model, f"--run={sets[0]}", *options])
    assert done.returncode == 0 and np.load(sets[0] / "output_0.npy").shape == (0, 4)


def test_texts(tmp_path):
    """the texts of both IRs read back, and give the same C"""
    model = detector(tmp_path / "m.onnx")
    first = dnncc.run([dnncc.DNNCC, model, "-o", "-"]).stdout
    for emit in "ir", "loops":
        text = tmp_path / f"m.{emit}"
        assert dnncc.run([dnncc.DNNCC, model, f"--emit={emit}", "-o", text]).returncode == 0
        assert ("symbol kept_count in [0, 9] counted" if emit == "ir" else "extent %kept_count \"kept_count\" in [0, 9] counted") in text.read_text()
        again = dnncc.run([dnncc.DNNCC, text, "-o", "-"])
        assert again.returncode == 0 and again.stdout == first, again.stderr
    assert "int64_t *kept_count" in first and "*kept_count = extent_kept_count;" in first


def test_check(tmp_path):
    """--check compares outputs at the extents that both states tell"""
    for target in TARGETS:
        done = dnncc.run([dnncc.DNNCC, detector(tmp_path / "m.onnx"), "--check", f"--target={target}", "-o", tmp_path / "m.c"])
        assert done.returncode == 0 and "skipped" not in done.stderr, done.stderr


@pytest.mark.parametrize("options", [["--target=cuda-sm_90"], ["--emit=onnx"]])
def test_not_yet(options, tmp_path):
    done = dnncc.run([dnncc.DNNCC, detector(tmp_path / "m.onnx"), *options, "-o", tmp_path / ("m.cu" if "cuda" in options[0] else "m.c")])
    assert done.returncode == dnncc.UNSUPPORTED and "'kept_count'" in done.stderr, done.stderr
