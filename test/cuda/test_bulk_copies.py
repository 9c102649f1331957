# SPDX-License-Identifier: MIT
"""Weights of products by bulk copies, which the hardware makes by itself (`bulk=1` of a schedule, from cuda-sm_90 on): the bits of lanes' copies."""
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
import test_warp_convolutions as convolutions  # noqa: E402
from test_warp_products import compile_scheduled, cuobjdump, whole, want  # noqa: E402

# tiles that cut rows and outputs, one iteration, fewer iterations than stages, parts in a cluster and by a launch more
CASES = [((200, 256, 320, "Relu"), "tile=64 panels=2 stages=4"), ((33, 80, 100, "Relu"), "tile=16 stages=5 depth=16"),
         ((64, 64, 64, "Relu"), "tile=32 warps=2 stages=2 depth=64"), ((130, 512, 40, "Relu"), "tile=48 stages=4 depth=64 parts=4"),
         ((64, 512, 128, "Relu"), "tile=32 warps=2 panels=2 stages=4 depth=16 parts=16")]


def copies(path):
    return path.read_text().count("bulk_copy(&bulk,")


def test_products(tmp_path):
    paths, given = [], {}
    for i, (shape, words) in enumerate(CASES):
        paths.append(compile_scheduled(shape, f"{words} bulk=1", tmp_path, f"m{i}", "cuda-sm_90"))
        given[f"m{i}"] = [whole(shape[:2], 3)]
        assert copies(paths[-1]) >= 1 and not re.search(r"copy_async\(ws\b", paths[-1].read_text())
    for flags, executions in (cuda.OPTIMIZE, cuda.SIX), (cuda.CHECKED, cuda.TWO):
        got = cuda.run(cuda.build(paths, tmp_path, flags=flags), given, tmp_path, executions)
        for i, (shape, words) in enumerate(CASES):
            y = got[f"m{i}"]
            assert not isinstance(y, cuda.Found) and np.array_equal(y[0], want(shape, given[f"m{i}"][0])), (words, y)
            assert cuda.counts[f"m{i}"]["conflicts"] == 0


@pytest.mark.parametrize("kind", ["f16", pytest.param("s8", marks=pytest.mark.long)])
def test_convolutions(kind, tmp_path):
    """windows, borders, groups; panels that tiles do not divide are copied by lanes"""
    paths, given, wanted = [], {}, {}
    for i, (name, case) in enumerate(c for c in convolutions.CASES.items() if c[0] != "depthwise"):
        onnx_file, written, x = tmp_path / f"m{i}.onnx", tmp_path / f"m{i}.dnn", whole(case[0], 5)
        if kind == "s8":
            x = x.astype(np.int8)
            convolutions.bytes_model(case, onnx_file, convolutions.T.INT8)
            wanted[f"m{i}"] = convolutions.of_bytes(case, x)
        else:
            convolutions.model(case, onnx_file, False)
            wanted[f"m{i}"] = convolutions.ReferenceEvaluator(str(onnx_file)).run(None, {"x": x})[0]
        options = ["--precision=f16"] if kind == "f16" else []
        done = dnncc.run([dnncc.DNNCC, onnx_file, "--target=cuda-sm_90", *options, "--emit=ir", "-o", written])
        assert done.returncode == dnncc.OK, done.stderr
        written.write_text(re.sub(r'(schedule="tile=[^;"]*)', r"\1 bulk=1", written.read_text()))
        paths.append(cuda.compile_model(written, tmp_path, options, name=f"m{i}", target="cuda-sm_90"))
        given[f"m{i}"] = [x]
    assert sum(copies(p) > 0 for p in paths) >= len(paths) / 2
    got = cuda.run(cuda.build(paths, tmp_path), given, tmp_path, cuda.TWO)
    for name, y in wanted.items():
        assert not isinstance(got[name], cuda.Found) and np.array_equal(got[name][0], y), (name, got[name])


def test_elsewhere(tmp_path):
    """a machine without such copies, and panels that are no whole number of tiles'"""
    for shape, words, target in ((200, 256, 320, "Relu"), "tile=64 panels=2 bulk=1", "cuda-sm_80"), ((64, 256, 320, "Relu"), "tile=64 panels=4 bulk=1", "cuda-sm_90"):
        path = compile_scheduled(shape, words, tmp_path, target=target)
        assert not copies(path) and re.search(r"copy_async\(ws\b", path.read_text())


MISTAKES = {
    "no bulk copies behind the first": (r"if \(next < \d+\) \{\n +for \(int panel2[^}]*\}\n +\}", ""),
    "a stage off by one": (r"ws \+ \(next % 4", "ws + ((next + 1) % 4"),
    "the panel beside": (r"first_panel \+ panel2\)", "first_panel + 1 - panel2)"),
    "half of a run": (r"(\* 1024\), )2048", r"\g<1>1024"),
    "arrivals not waited for": (r"bulk_wait\(&bulk, 2\);", ""),
    "a wait one less": (r"bulk_wait\(&bulk, 2\);", "bulk_wait(&bulk, 3);"),
    "a barrier dropped": (r"(bulk_wait\(&bulk, 2\);)\n +__syncthreads\(\);(?=\n +\})", r"\1"),
}


@pytest.mark.parametrize("what", MISTAKES)
@pytest.mark.sample(6)
def test_mistakes(what, tmp_path):
    shape = CASES[0][0]
    path = compile_scheduled(shape, "tile=64 panels=2 stages=4 bulk=1", tmp_path, target="cuda-sm_90")
    cuda.plant(path, MISTAKES[what])
    x = whole(shape[:2], 3)
    got = cuda.run(cuda.build([path], tmp_path), {"model": [x]}, tmp_path, cuda.SIX)["model"]
    assert isinstance(got, cuda.Found) or not np.array_equal(got[0], want(shape, x)), what


@pytest.mark.parametrize("architecture", ["sm_90", pytest.param("sm_100", marks=pytest.mark.long)])
def test_nvcc(architecture, tmp_path):
    """nothing spilled, no stack frame; bulk copies in SASS"""
    if not cuda.nvcc() or architecture not in cuda.known_to(cuda.nvcc()):
        pytest.skip(f"no nvcc that knows {architecture}: make cuda")
    for i in 0, 3:
        path = compile_scheduled(CASES[i][0], f"{CASES[i][1]} bulk=1", tmp_path, target=f"cuda-{architecture}")
        for kernel, of in cuda.ptxas(path, architecture, tmp_path / "k.o").items():
            assert of["spilled"] == 0 and of["stack"] == 0, (kernel, of)
        assert not cuobjdump() or "UBLKCP" in dnncc.run([cuobjdump(), "-sass", tmp_path / "k.o"]).stdout
