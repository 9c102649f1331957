# SPDX-License-Identifier: MIT
"""What nvcc says of kernels: no warning, nothing spilled, no stack frame. Without nvcc (PATH's, or that of `make cuda`) skipped."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def known():
    if not cuda.nvcc():
        pytest.skip("no nvcc: make cuda")
    return cuda.known_to(cuda.nvcc())


def clean(path, architecture, out, flags=()):
    used = cuda.ptxas(path, architecture, out / "k.o", flags)
    assert set(used) == set(cuda.kernels(path.read_text()))
    for kernel, of in used.items():
        assert of["stack"] == 0 and of["spilled"] == 0, (architecture, kernel, of)
    return used


@pytest.mark.parametrize("architecture", [a if a == "sm_90" else pytest.param(a, marks=pytest.mark.long) for a in cuda.ARCHITECTURES])
def test_by_hand(known, architecture, tmp_path, record_property):
    """the model that is written by hand: nvcc takes what the executor does"""
    if architecture not in known:
        pytest.skip(f"this nvcc does not know {architecture}")
    record_property("registers", {k: of["registers"] for k, of in clean(HERE / "by_hand" / "model.cu", architecture, tmp_path).items()})


@pytest.mark.long
@pytest.mark.parametrize("name, architecture", [("gemm", "sm_80"), ("gemm", "sm_90"), ("conv", "sm_80"), ("conv", "sm_90"), ("hopper", "sm_90a")])
def test_products(known, name, architecture, tmp_path):
    """-diag-suppress 177: functions of leaf.h that a file does not use"""
    if architecture not in known:
        pytest.skip(f"this nvcc does not know {architecture}")
    clean(HERE / "kernels" / f"{name}.cu", architecture, tmp_path, ["-diag-suppress", "177"])
