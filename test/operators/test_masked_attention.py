# SPDX-License-Identifier: MIT
"""Attention whose masks hide whole rows: those rows are 0 in every form that the kernel takes, as in onnxruntime and in the erratum to operator sets 23 and 24
(onnx 8068); --exact has NaN, as the text up to onnx 1.22. is_causal with nonpad_kv_seqlen puts the last query at the last key that counts."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cuda"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
import processor  # noqa: E402

HEADS, SIZE = 2, 16
MASKS = ["bool", "float", "bool causal", "float causal", "counts", "counts causal", "bool counts causal"]
SHAPES = {"one block": (3, 24, 40), "blocks of keys": (1, 40, 1500)}


def case(mask, batch, rows, keys):
    """inputs by name, and the scores that count"""
    random = np.random.default_rng(rows + keys)
    given = {n: random.standard_normal((batch, HEADS, length, SIZE)).astype(np.float32) for n, length in (("q", rows), ("k", keys), ("v", keys))}
    seen = np.ones((batch, 1, rows, keys), bool)
    if "bool" in mask or "float" in mask:
        shown = random.random((rows, keys)) < 0.5
        shown[3] = shown[rows - 1] = False
        shown[5, 1:] = False
        seen &= shown
        given["m"] = shown if "bool" in mask else np.where(shown, random.standard_normal(shown.shape), -np.inf).astype(np.float32)
    past = np.zeros((batch, 1, 1, 1), np.int64)
    if "counts" in mask:
        counts = np.array([keys - 7, 0, 5][:batch], np.int64)
        given["n"] = counts
        past = counts.reshape(-1, 1, 1, 1) - rows
        seen &= np.arange(keys) < counts.reshape(-1, 1, 1, 1)
    if "causal" in mask:
        seen &= np.arange(keys) <= np.arange(rows)[:, None] + past
    return given, seen


def wanted(given, seen):
    q, k, v = (given[n].astype(np.float64) for n in "qkv")
    scores = q @ k.swapaxes(2, 3) / np.sqrt(SIZE)
    if "m" in given and given["m"].dtype != bool:
        scores = scores + given["m"]
    scores = np.where(seen, scores, -np.inf)
    most = np.max(scores, axis=3, keepdims=True)
    shares = np.exp(scores - np.where(np.isfinite(most), most, 0))
    total = shares.sum(axis=3, keepdims=True)
    return shares / np.where(total == 0, 1, total) @ v


def save(given, causal, opset, path):
    kinds = {np.dtype(np.float32): T.FLOAT, np.dtype(bool): T.BOOL, np.dtype(np.int64): T.INT64}
    names = ["q", "k", "v", "m" if "m" in given else "", "", "", "n" if "n" in given else ""]
    while not names[-1]:
        names.pop()
    graph = helper.make_graph([helper.make_node("Attention", names, ["y"], is_causal=int(causal))], "g",
                              [helper.make_tensor_value_info(n, kinds[v.dtype], v.shape) for n, v in given.items()],
                              [helper.make_tensor_value_info("y", T.FLOAT, given["q"].shape)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=12), path)


def prepared(mask, shape, folder, opset=24):
    given, seen = case(mask, *SHAPES[shape])
    assert SHAPES[shape][0] == 1 or not seen.any(axis=3).all(), "no row is hidden"
    save(given, "causal" in mask, opset, folder / "m.onnx")
    return list(given.values()), wanted(given, seen)


@pytest.mark.parametrize("mask", MASKS)
def test_interpreted(mask, tmp_path):
    given, want = prepared(mask, "one block", tmp_path, 24 if "counts" in mask else 23)
    for k, array in enumerate(given):
        np.save(tmp_path / f"input_{k}.npy", array)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", f"--run={tmp_path}", "-q"])
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "output_0.npy"), want, atol=2e-6)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", f"--run={tmp_path}", "-q", "--exact"])
    assert done.returncode == 0, done.stderr
    assert np.isnan(np.load(tmp_path / "output_0.npy")).any()


def is_one_kernel(model, options):
    """two products in one fusion, by blocks of keys where there are many"""
    done = dnncc.run([dnncc.DNNCC, model, "--emit=ir", "-o", "-", *options])
    assert done.returncode == 0, done.stderr
    bodies = re.findall(r"= fusion\(.*?\n  }", done.stdout, re.S)
    return any(body.count("= convolve_packed(") == 2 for body in bodies), "keys=" in done.stdout


@pytest.mark.sample(12)
@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mask", MASKS)
def test_compiled(mask, shape, target, tmp_path):
    given, want = prepared(mask, shape, tmp_path)
    options = [f"--target={target}", *(["--precision=bf16"] if target.endswith("bf16") else [])]
    if target != "generic" and SHAPES[shape][0] == 1:
        one, in_blocks = is_one_kernel(tmp_path / "m.onnx", options)
        assert one and (in_blocks or target != "x86-64-v3")         # with longer vectors whole rows cost less
    processor.require(target)
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, options)
    got, = dnncc.run_host(dnncc.build_host(tmp_path, ["-O1"]), given)
    np.testing.assert_allclose(got, want, atol=2e-2 if target.endswith("bf16") else 4e-6)


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("mask", ["bool", "float causal"])
def test_cuda(mask, tmp_path):
    given, want = prepared(mask, "one block", tmp_path)
    path = cuda.compile_model(tmp_path / "m.onnx", tmp_path, ["--precision=f16"], name="m", target="cuda-sm_80")
    got = cuda.run(cuda.build([path], tmp_path), {"m": given}, tmp_path)["m"]
    assert not isinstance(got, cuda.Found), got
    np.testing.assert_allclose(got[0], want, atol=4e-3)
