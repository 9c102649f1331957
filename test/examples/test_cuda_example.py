# SPDX-License-Identifier: MIT
"""examples/cuda: by the executor, which needs no GPU; by Make and CMake where there is nvcc."""
import re
import shutil

import pytest

import gallery
from gallery import ROOT, dnncc
import cuda

EXAMPLE = ROOT / "examples" / "cuda"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cuda")
    net = cuda.compile_model(ROOT / "examples" / "digits" / "digits.onnx", folder, name="net")
    main = cuda.compile_text(EXAMPLE / "main.cpp", folder / "main.o", flags=["-O1", f"-I{folder}"])
    return cuda.link([main, cuda.model_object(net), *cuda.runtime(host=False)], folder / "example")


def test_digits(program):
    """as many as the C program gets right"""
    said = gallery.run(program)
    right, count = map(int, re.fullmatch(r"(\d+) of (\d+) digits are right\n", said).groups())
    assert count == 60 and right >= 57


@pytest.mark.parametrize("environment, code, said", [
    ({"EXECUTOR_DEVICE": "devices=0"}, 3, "cuda: net_prepare: see net.h\n"),
    ({"EXECUTOR_DEVICE": "major=7,minor=5"}, 3, "cuda: net_prepare: see net.h\n"),
    ({"EXECUTOR_FAIL": "cudaMalloc:3=2"}, 2, "cuda: memory: error 2\n"),
    ({"EXECUTOR_FAIL": "cudaLaunchKernelExC:2=719"}, 3, "cuda: net_run: see net.h\n"),
    ({"EXECUTOR_FAIL": "cudaGraphInstantiate:1=2"}, 2, "cuda: cudaGraphInstantiate: error 2\n"),
    ({"EXECUTOR_FAIL": "cudaGraphLaunch:7=700"}, 2, "cuda: cudaGraphLaunch: error 700\n"),
])
def test_failures(program, environment, code, said):
    done = dnncc.run([program], env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


@pytest.mark.long
def test_make_and_cmake(tmp_path):
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc on PATH")
    gallery.run("make", "-C", EXAMPLE, f"OUT={tmp_path}", f"DNNCC={dnncc.DNNCC}", timeout=300)
    assert (tmp_path / "cuda").exists()
    if shutil.which("nvidia-smi"):
        assert "60 digits are right" in gallery.run(tmp_path / "cuda")
    if shutil.which("cmake"):
        gallery.run("cmake", "-S", ROOT / "examples", "-B", tmp_path / "cmake", f"-DDNNCC={dnncc.DNNCC}", f"-DMODELS={tmp_path}")
        gallery.run("cmake", "--build", tmp_path / "cmake", "--target", "cuda_digits", timeout=300)


def test_page():
    page, main = (EXAMPLE / "README.md").read_text(), (EXAMPLE / "main.cpp").read_text()
    assert "make -C examples/cuda" in page and "](cuda/README.md)" in (ROOT / "examples" / "README.md").read_text()
    body = main[main.index("net_prepare"):main.index("cudaGraphInstantiate(&run")]
    assert body.count("\n") <= 40           # from a model to a captured graph
