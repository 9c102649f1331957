# SPDX-License-Identifier: MIT
"""Launches that begin before those in front of them have ended (engines/grid/dependent_launch.c): kernels wait before they touch what others write."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
import zoo  # noqa: E402
from test_warp_products import compile_shape, cuobjdump, want, whole  # noqa: E402

SHAPE = (200, 256, 320, "Relu")
EARLY = ["cuda-sm_90", "cuda-sm_100"]


def chain(folder, target="cuda-sm_90", options=()):
    """a product, a softmax of its rows, and a row of a table that each input chooses: it may fail"""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Softmax", ["p"], ["s"], axis=1),
             helper.make_node("Gather", ["t", "i"], ["g"]), helper.make_node("Add", ["s", "g"], ["y"])]
    values = [helper.make_tensor_value_info(*v) for v in (("x", T.FLOAT, [48, 64]), ("i", T.INT64, [48]), ("y", T.FLOAT, [48, 96]))]
    weights = [numpy_helper.from_array(whole((64, 96), 1) / 64, "w"), numpy_helper.from_array(whole((7, 96), 2), "t")]
    onnx.save(helper.make_model(helper.make_graph(nodes, "chain", values[:2], values[2:], weights), opset_imports=[helper.make_opsetid("", 17)]), folder / "m.onnx")
    return cuda.compile_model(folder / "m.onnx", folder, ["--precision=f16", *options], target=target)


def given():
    return [whole((48, 64), 3), np.arange(48) % 7]


def wanted():
    x, i = given()
    p = x.astype(np.float64) @ (whole((64, 96), 1) / 64)
    e = np.exp(p - p.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True) + whole((7, 96), 2)[i]


def bodies(text):
    """{kernel: its statements}"""
    return {k: re.search(rf"\b{k}\([^{{]*\)\n\{{\n(.*?)^\}}$", text, re.MULTILINE | re.DOTALL)[1] for k in cuda.kernels(text)}


@pytest.mark.parametrize("target", EARLY)
def test_chain(target, tmp_path):
    path = chain(tmp_path, target)
    text = path.read_text()
    for kernel, body in bodies(text).items():
        assert body.count("launch_dependents();") == body.count("launch_wait();") == 1, kernel
        assert re.search(r"launch_wait\(\);\n *launch_dependents\(\);\n", body), kernel
    got = cuda.run(cuda.build([path], tmp_path), {"model": given()}, tmp_path, cuda.SIX, env={"EXECUTOR_DEVICE": "major=10"})["model"]
    assert not isinstance(got, cuda.Found) and np.abs(got[0] - wanted()).max() < 1e-3, got


def test_weights_come_first(tmp_path):
    """copies of constant weights stand before the wait, those of what may be written behind it; only weights are read past the caches"""
    text = compile_shape(SHAPE, tmp_path, target="cuda-sm_90").read_text()
    product, = [k for k in cuda.kernels(text) if "MatMul" in k]
    before, behind = bodies(text)[product].split("launch_wait();")
    assert re.search(r"copy_async\(ws\b", before) and "copy_async(xs" not in before
    assert re.search(r"copy_async\(xs\b", behind)
    parameters = re.search(rf"\b{product}\(([^{{]*)\)\n", text)[1]
    assert re.search(r"const uint16_t \*x,", parameters) and re.search(r"const uint16_t \*__restrict__ w,", parameters)
    x = whole(SHAPE[:2], 3)
    got = cuda.run(cuda.build([tmp_path / "model.cu"], tmp_path), {"model": [x]}, tmp_path, cuda.SIX)["model"]
    assert not isinstance(got, cuda.Found) and np.array_equal(got[0], want(SHAPE, x)), got


@pytest.mark.parametrize("target", ["cuda-sm_75", "cuda-sm_80"])
def test_others_wait_outside(target, tmp_path):
    text = chain(tmp_path, target).read_text()
    assert "launch_wait" not in text and "launch_dependents" not in text and "ProgrammaticStream" not in text
    assert re.search(r"cast_blocks\(const float \*__restrict__ x", text)


def test_weights_that_are_computed(tmp_path):
    """a product of two inputs reads neither before it has waited"""
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product",
                              [helper.make_tensor_value_info("x", T.FLOAT, [64, 64]), helper.make_tensor_value_info("w", T.FLOAT, [64, 64])],
                              [helper.make_tensor_value_info("y", T.FLOAT, [64, 64])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    path = cuda.compile_model(tmp_path / "m.onnx", tmp_path, ["--precision=f16"], target="cuda-sm_90")
    for body in bodies(path.read_text()).values():
        assert "copy_async" not in body.split("launch_wait();")[0]
    x, w = whole((64, 64), 1), whole((64, 64), 2)
    got = cuda.run(cuda.build([path], tmp_path), {"model": [x, w]}, tmp_path)["model"]
    assert not isinstance(got, cuda.Found) and np.array_equal(got[0], x @ w), got


MISTAKES = {
    "no wait": lambda body: body.replace("launch_wait();", ""),
    "waits at the end": lambda body: body.replace("launch_wait();", "") + "        launch_wait();\n",
    "waits behind the first statement": lambda body: body if "cluster_at" in body else re.sub(r"( *launch_wait\(\);\n)((?: .*\n)*?.*[\w)]\[.*\] = .*\n|(?: .*\n)*?.*copy_async\(xs.*\n(?:.*\n)*?        \}\n)", r"\2\1", body, count=1),
}


@pytest.mark.parametrize("what", MISTAKES)
@pytest.mark.sample(2)
def test_mistakes(what, tmp_path):
    """in each kernel"""
    path = chain(tmp_path)
    text, planted = path.read_text(), 0
    for kernel, body in bodies(text).items():
        changed = MISTAKES[what](body)
        if changed == body:
            continue
        planted += 1
        (tmp_path / kernel).mkdir()
        for beside in tmp_path.glob("model.*"):
            if beside.suffix in (".h", ".weights"):
                (tmp_path / kernel / beside.name).write_bytes(beside.read_bytes())
        (tmp_path / kernel / "model.cu").write_text(text.replace(body, changed))
        got = cuda.run(cuda.build([tmp_path / kernel / "model.cu"], tmp_path / kernel, flags=["-O1", "-Wno-error"]), {"model": given()}, tmp_path / kernel, "0")["model"]
        assert isinstance(got, cuda.Found) and "launch in front" in str(got), (kernel, got)
    assert planted >= 2, what


def test_nvcc(tmp_path):
    """SASS waits and lets go; other targets refuse to be compiled for GPUs that cannot"""
    if not cuda.nvcc() or not cuobjdump() or "sm_90" not in cuda.known_to(cuda.nvcc()):
        pytest.skip("no nvcc that knows sm_90, or no cuobjdump: make cuda")
    path = chain(tmp_path)
    cuda.ptxas(path, "sm_90", tmp_path / "k.o")
    for kernel in re.split(r"Function : ", dnncc.run([cuobjdump(), "-sass", tmp_path / "k.o"]).stdout)[1:]:
        assert "ACQBULK" in kernel and "PREEXIT" in kernel, kernel[:200]
    refused = dnncc.run([cuda.nvcc(), "-arch=sm_80", "-c", path, "-o", tmp_path / "old.o"])
    assert refused.returncode and "launches wait inside kernels" in refused.stderr


def launches(text):
    """(blocks, bytes of shared memory of a block, blocks of a cluster) of each"""
    found = re.findall(r"return launch\(\(const void \*\)\w+,\s+(\d+),\s+\d+,\s+\d+,\s+(\d+),", text)
    clusters = re.findall(r"return launch_clusters\(\(const void \*\)\w+,\s+(\d+),\s+\d+,\s+\d+,\s+(\d+),\s+(\d+),", text)
    return [(int(blocks), int(shared), 1) for blocks, shared in found] + [tuple(map(int, row)) for row in clusters]


@pytest.mark.long
def test_blocks_do_not_crowd(tmp_path):
    """blocks of much memory ask for so much that no more of them fit on a multiprocessor than there have to be"""
    room, own, of_clusters, much = 228 << 10, 132, 120, 16 << 10
    path = cuda.compile_model(zoo.build("bert_base"), tmp_path, ["--precision=f16", "--weights=file"], target="cuda-sm_90")
    large = [row for row in launches(path.read_text()) if row[1] >= much]
    assert len(large) >= 3
    for blocks, shared, cluster in large:
        each = -(-blocks // (of_clusters if cluster > 2 else own))
        assert (each + 1) * (shared + 1024) > room, (blocks, shared, cluster)
