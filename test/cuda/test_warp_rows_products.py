# SPDX-License-Identifier: MIT
"""Products of few rows (engines/grid/row_warps.c), as decoder steps have them: weights in 16 bytes a lane, run by the executor, looked at by nvcc."""
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
from test_warp_products import model, want, whole  # noqa: E402

# rows, channels, outputs, what stands behind the product
SHAPES = [(1, 768, 96, "Relu"), (1, 96, 100, "Relu"), (3, 256, 40, "Relu"), (4, 1536, 24, "Sigmoid")]
NAMES = {"f16": "row_f16", "bf16": "row_bf16", "": "row_f32"}



def compile_shape(shape, folder, name="model", precision="f16", target="cuda-sm_80"):
    options = [f"--precision={precision}"] if precision else []
    return cuda.compile_model(model(shape, folder / "m.onnx"), folder, options, name=name, target=target)


@pytest.mark.parametrize("precision", NAMES)
def test_shapes(precision, tmp_path):
    paths = []
    for i, shape in enumerate(SHAPES):
        paths.append(compile_shape(shape, tmp_path, f"m{i}", precision))
        assert f"multiply_{NAMES[precision]}_" in paths[-1].read_text(), shape
    given = {f"m{i}": [whole(shape[:2], 3)] for i, shape in enumerate(SHAPES)}
    got = cuda.run(cuda.build(paths, tmp_path), given, tmp_path)
    for i, shape in enumerate(SHAPES):
        y = got[f"m{i}"]
        assert not isinstance(y, cuda.Found), (shape, y)
        error = np.abs(y[0] - want(shape, given[f"m{i}"][0])).max()
        assert error == 0 if shape[3] == "Relu" else error < 1e-6, (shape, error)


def test_races(tmp_path):
    path = compile_shape(SHAPES[2], tmp_path)
    x = whole(SHAPES[2][:2], 3)
    got = cuda.run(cuda.build([path], tmp_path, flags=cuda.CHECKED), {"model": [x]}, tmp_path)["model"]
    assert not isinstance(got, cuda.Found) and np.array_equal(got[0], want(SHAPES[2], x)), got


MISTAKES = {
    "x is not waited for": (r"copy_wait\(0\);\n +__syncthreads\(\);", ""),
    "a panel off by one": (r"b \* 24576", "(b ^ 1) * 24576"),
    "lanes are not joined": (r"all \+= __shfl_xor_sync\(~0u, all, 8\);", ""),
    "a word of x exchanged": (r"x \+= threadIdx\.x / 8", "x += (threadIdx.x / 8 ^ 1)"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes(what, tmp_path):
    shape = (1, 3072, 48, "Relu")
    path = compile_shape(shape, tmp_path)
    cuda.plant(path, MISTAKES[what])
    x = whole(shape[:2], 3)
    got = cuda.run(cuda.build([path], tmp_path), {"model": [x]}, tmp_path, cuda.SIX)["model"]
    assert isinstance(got, cuda.Found) or not np.array_equal(got[0], want(shape, x)), what


@pytest.mark.sample(2)
@pytest.mark.parametrize("precision", NAMES)
def test_nvcc(precision, tmp_path):
    """nothing spilled; weights are loaded 16 bytes at a time"""
    if not cuda.nvcc():
        pytest.skip("no nvcc: make cuda")
    path = compile_shape(SHAPES[0], tmp_path, precision=precision, target="cuda-sm_90")
    used = cuda.ptxas(path, "sm_90", tmp_path / "k.o")
    assert all(of["spilled"] == 0 and of["stack"] == 0 for of in used.values()), used
    assert all(of["registers"] <= 128 for kernel, of in used.items() if kernel.startswith("MatMul")), used
    ptx = dnncc.run([cuda.nvcc(), "-gencode=arch=compute_90,code=compute_90", "-ptx", path, "-o", "-"])
    assert ptx.stdout.count("ld.global.nc.v4") + ptx.stdout.count("ld.global.v4") >= 6, ptx.stderr
