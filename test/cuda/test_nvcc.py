# SPDX-License-Identifier: MIT
"""What nvcc says of kernels: no warning, nothing spilled, no stack frame. Without nvcc (PATH's, or that of `make cuda`) skipped."""
import pathlib
import resource
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
import test_cuda_models  # noqa: E402
import test_models  # noqa: E402
import zoo  # noqa: E402

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


# ---- generated code ----

GENERATED = ["mnist_cnn", "resnet8_int8", "cct2_vit", "micro_kws_qdq", "stories260k_prefill", "nanodet_m_320"]


@pytest.mark.parametrize("name, architecture", [(n, a) if (n, a) == ("mnist_cnn", "sm_80") else pytest.param(n, a, marks=pytest.mark.long)
                                                for n in GENERATED for a in cuda.ARCHITECTURES])
def test_generated(known, name, architecture, tmp_path, record_property):
    """for its own target, sm_90a for sm_90's; the file with its weights, as its head says"""
    if architecture not in known:
        pytest.skip(f"this nvcc does not know {architecture}")
    model = test_cuda_models.model(name)
    path = cuda.compile_model(model / "model.onnx", tmp_path, test_models.bindings(model), target=f"cuda-{architecture.rstrip('a')}")
    record_property("registers", {k: of["registers"] for k, of in clean(path, architecture, tmp_path).items()})


@pytest.mark.long
def test_large_model(known, tmp_path):
    """ResNet-50 with its weights by incbin: nvcc takes less than 60 s of processor time and 2 GB, dnncc less than 2 s"""
    before = spent()
    path = cuda.compile_model(zoo.build("resnet50"), tmp_path, ["--weights=incbin"])
    assert spent()[0] - before[0] < 2
    before = spent()
    done = dnncc.run(["/usr/bin/env", "-C", tmp_path, cuda.nvcc(), "-arch=sm_90", "-c", path.name, "-o", "resnet50.o"], timeout=120)
    assert done.returncode == 0, done.stderr
    seconds, kilobytes = spent()
    assert seconds - before[0] < 60 and kilobytes < 2 << 20, (seconds - before[0], kilobytes)


def spent():
    """processor seconds of all processes that were waited for, and the most memory that one took, in KB"""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss
