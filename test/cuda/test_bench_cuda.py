# SPDX-License-Identifier: MIT
"""What `make bench-cuda` does that needs no GPU: its programs compile, leaves are compared, and it says when there is no GPU."""
import os
import pathlib
import shutil
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench" / "cuda"))
import bench_cuda  # noqa: E402
import cuda  # noqa: E402
import dnncc  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def test_no_gpu(tmp_path):
    (tmp_path / "python3").symlink_to(sys.executable)
    done = dnncc.run([sys.executable, bench_cuda.__file__], env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 2 and done.stdout == "there is no GPU here: nvidia-smi is not found, or names none\n", done.stdout + done.stderr


def test_leaves(tmp_path):
    """the executor's two ways to add products differ by less than is allowed, and a leaf that is wrong is noticed"""
    text = bench_cuda.leaves_by_executor(tmp_path)
    assert set(bench_cuda.lines(text)) == {"halves", "pairs", "shuffles", "copies", "matrices", "products", "exponentials"}
    assert all(rows.size == 2048 for rows in bench_cuda.lines(text).values())
    assert bench_cuda.compare_leaves(text, text) == []
    first = text.index("matrices: ") + len("matrices: ")
    assert bench_cuda.compare_leaves(text, text[:first] + "0bad0bad" + text[first + 8:]) == ["matrices: 1 of 2048 words differ"]
    for name in "products", "exponentials":
        first = text.index(f"{name}: ") + len(name) + 2
        assert bench_cuda.compare_leaves(text, text[:first] + "41000000" + text[first + 8:])[0].startswith(f"{name}: ")


@pytest.mark.long
@pytest.mark.slow
def test_programs_compile(tmp_path):
    """by nvcc; and what runs a model on a GPU runs one by the executor"""
    for name in "model.cu", "model.h":
        shutil.copy(HERE / "by_hand" / name, tmp_path)
    (tmp_path / "table.cpp").write_text(cuda.table([tmp_path / "model.cu"]))
    objects = [cuda.compile_text(tmp_path / "table.cpp", tmp_path / "table.o"), cuda.model_object(tmp_path / "model.cu"),
               cuda.compile_text(HERE / "gpu_host.cpp", tmp_path / "gpu_host.o"), *cuda.runtime(host=False)]
    program = cuda.link(objects, tmp_path / "by_executor")
    (tmp_path / "0.bin").write_bytes(np.ones((10, 64), np.float32).tobytes())
    (tmp_path / "1.bin").write_bytes(np.zeros(16, np.int64).tobytes())
    (tmp_path / "out").mkdir()
    done = dnncc.run([program, "model", tmp_path, tmp_path / "out", "5", "4096"])
    assert done.returncode == 0 and done.stdout.split()[2] == "3", done.stderr
    weights = np.arange(64 * 65) * 7 % 13 - 6
    assert np.array_equal(np.frombuffer((tmp_path / "out" / "0.bin").read_bytes(), np.float32).reshape(16, 64),
                          np.tile(weights[:4096].reshape(64, 64).sum(0) + weights[4096:], (16, 1)))
    if not cuda.nvcc():
        pytest.skip("no nvcc: make cuda")
    bench_cuda.gpu_program(tmp_path / "model.cu", "sm_80", tmp_path)
    bench_cuda.nvcc("sm_80", tmp_path / "leaves_gpu", HERE / "leaves_check.cu", flags=[f"-I{HERE}"])
    programs = dnncc.ROOT / "test" / "bench" / "cuda"
    for architecture in {"sm_80", "sm_90"} & set(cuda.known_to(cuda.nvcc())):
        bench_cuda.nvcc(architecture, tmp_path / "machine", programs / "machine.cu")
    if "sm_90a" in cuda.known_to(cuda.nvcc()):
        bench_cuda.nvcc("sm_90a", tmp_path / "groups_leaves", programs / "groups_leaves.cu", flags=["-std=c++17"])
