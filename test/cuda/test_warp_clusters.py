# SPDX-License-Identifier: MIT
"""Parts of products in clusters of blocks (kernels/contract_warps.c, from cuda-sm_90 on): one launch, the bits of two."""
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
import zoo  # noqa: E402
import test_warp_groups as groups  # noqa: E402
from test_warp_products import compile_scheduled, whole, want  # noqa: E402

# rows and outputs that tiles do not divide, a share of one position for each warp, all that a cluster may have
CASES = [((64, 256, 64, "Relu"), "tile=32 warps=2 panels=2 stages=2 depth=64 parts=2"), ((200, 256, 320, "Sigmoid"), "tile=64 warps=4 stages=4 depth=16 parts=4"),
         ((33, 512, 100, "Sigmoid"), "tile=16 panels=2 stages=2 depth=16 parts=8"), ((130, 512, 40, "Relu"), "tile=48 depth=64 parts=2")]


def launches(path):
    """of kernels with products: (blocks of a cluster)"""
    return [int(n) for n in re.findall(r"launch_clusters\(\(const void \*\)\w*MatMul\w*,(?:\s*\d+,){4}\s*(\d+),", path.read_text())]


def floats(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_cases(tmp_path):
    """the bits of sm_80's two launches in all executions, and no race in any access"""
    paths, given = [], {}
    for i, (shape, words) in enumerate(CASES):
        one, two = (compile_scheduled(shape, words, tmp_path, f"{name}{i}", target) for name, target in (("one", "cuda-sm_90"), ("two", "cuda-sm_80")))
        assert launches(one) == [int(words[-1])] and "cluster" not in two.read_text()
        assert len(re.findall(r"\blaunch\w*\(\(const void \*\)", one.read_text())) == len(re.findall(r"\blaunch\(\(const void \*\)", two.read_text())) - 1
        paths += [one, two]
        given.update({p.stem: [floats(shape[:2], 3)] for p in (one, two)})
    for flags, executions in (cuda.OPTIMIZE, cuda.SIX), (cuda.CHECKED, cuda.TWO):
        got = cuda.run(cuda.build(paths, tmp_path, flags=flags), given, tmp_path, executions)
        for i, (shape, words) in enumerate(CASES):
            one, two = got[f"one{i}"], got[f"two{i}"]
            assert not isinstance(one, cuda.Found) and not isinstance(two, cuda.Found), (shape, one, two)
            assert np.array_equal(one[0].view(np.int32), two[0].view(np.int32)), (shape, words)
            x = np.float64(np.float16(given[f"one{i}"][0]))
            assert np.abs(one[0] - want(shape, x)).max() < 1e-2 * np.abs(want(shape, x)).max(), shape
            assert cuda.counts[f"one{i}"]["conflicts"] == 0


def test_together(tmp_path):
    """products of four warps"""
    words = ["tile=64 warps=4 stages=4 depth=64 parts=4", "tile=128 warps=8 stages=3 depth=64 parts=2"]
    paths = [groups.scheduled(groups.SHAPES[1], w, tmp_path, f"m{i}") for i, w in enumerate(words)]
    assert [launches(p) for p in paths] == [[4], [2]]
    groups.run(paths, [groups.SHAPES[1]] * 2, tmp_path, cuda.SIX)


def test_too_large(tmp_path):
    """more parts than a cluster may have, and sums that find no room: two launches"""
    for words in "tile=16 depth=16 parts=16", "tile=128 warps=4 panels=4 stages=5 depth=64 parts=2":
        path = compile_scheduled((128, 512, 1024, "Relu"), words, tmp_path, target="cuda-sm_90")
        assert not launches(path) and "partial" in path.read_text()


def test_refused(tmp_path):
    """a device without clusters"""
    path = compile_scheduled(*CASES[0], tmp_path, target="cuda-sm_90")
    got = cuda.run(cuda.build([path], tmp_path), {"model": [whole(CASES[0][0][:2], 3)]}, tmp_path, "0", env={"EXECUTOR_DEVICE": "major=8"})["model"]
    assert isinstance(got, cuda.Found)


MISTAKES = {
    "the first barrier dropped": (r"cluster_barrier\(\);(?=\n *const int share)", ""),
    "the first barrier of the block alone": (r"cluster_barrier\(\);(?=\n *const int share)", "__syncthreads();"),
    "the last barrier dropped": (r"cluster_barrier\(\);(?=\n\})", ""),
    "a part of the wrong block": (r"cluster_at\(partial,\s*2\)", "cluster_at(partial, 1)"),
    "a part of no block": (r"cluster_at\(partial,\s*3\)", "cluster_at(partial, 4)"),
    "another share": (r"share = blockIdx\.x % 4", "share = blockIdx.x % 2"),
    "its own sums alone": (r"\(\(const float \*\)cluster_at\(partial,\s*\d\)\)", "partial"),
    "no cluster": (r"attributes\[config\.numAttrs\]\.val\.clusterDim\.x = cluster", r"attributes[config.numAttrs].val.clusterDim.x = 1"),
    "a smaller cluster": (r"val\.clusterDim\.x = cluster", r"val.clusterDim.x = cluster / 2"),
}


@pytest.mark.parametrize("what", [pytest.param(w, marks=() if i % 3 == 0 or "barrier" in w else pytest.mark.long) for i, w in enumerate(MISTAKES)])
def test_mistakes(what, tmp_path):
    shape = (64, 512, 64, "Relu")
    path = compile_scheduled(shape, "tile=32 warps=2 panels=2 stages=4 depth=16 parts=4", tmp_path, target="cuda-sm_90")
    text = path.read_text()
    changed = re.sub(*MISTAKES[what], text)
    assert changed != text
    path.write_text(changed)
    x = whole(shape[:2], 3)
    got = cuda.run(cuda.build([path], tmp_path, flags=["-O1", "-Wno-error"]), {"model": [x]}, tmp_path, cuda.SIX)["model"]
    if not isinstance(got, cuda.Found) and np.array_equal(got[0], want(shape, x)):
        got = cuda.run(cuda.build([path], tmp_path, flags=[*cuda.CHECKED]), {"model": [x]}, tmp_path, cuda.SIX)["model"]
    assert isinstance(got, cuda.Found) or not np.array_equal(got[0], want(shape, x)), what


@pytest.mark.parametrize("architecture", ["sm_90", pytest.param("sm_90a", marks=pytest.mark.long), pytest.param("sm_100", marks=pytest.mark.long)])
def test_nvcc(architecture, tmp_path):
    """nothing spilled, no stack frame, no warning; as many registers as the blocks that are counted on leave"""
    if not cuda.nvcc() or architecture not in cuda.known_to(cuda.nvcc()):
        pytest.skip("no nvcc that knows it: make cuda")
    for shape, words in CASES:
        path = compile_scheduled(shape, words, tmp_path, target=f"cuda-{architecture}")
        for kernel, of in cuda.ptxas(path, architecture, tmp_path / "k.o").items():
            assert of["spilled"] == 0 and of["stack"] == 0, (shape, kernel, of)


@pytest.mark.parametrize("name, most", [("resnet50", 57), ("bert_base", 89), ("gpt_step", 62)])
def test_launches(name, most, tmp_path):
    """of a network in f16 (docs/gpu.md)"""
    path = cuda.compile_model(zoo.build(name), tmp_path, ["--precision=f16", "--weights=file", "--profile"], target="cuda-sm_90")
    assert int(re.search(r"\bMODEL_LAUNCHES (\d+)", path.with_suffix(".h").read_text())[1]) <= most
