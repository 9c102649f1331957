# SPDX-License-Identifier: MIT
"""The seeds of the fuzz targets are models that compile; what the fuzzers found once ends with an exit code of the interface. Those are
looked at by sanitizers, too: make asan. `make fuzz` looks for more."""
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import dnncc  # noqa: E402

MODELS, FOUND = sorted((HERE / "models").glob("*.txt")), sorted(path for path in (HERE / "found").iterdir())


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_seed(path, tmp_path):
    open_dimension = ["--dim", "N=1..8"] if "float[N" in path.read_text() else []
    done = dnncc.run([dnncc.DNNCC, path, *open_dimension, "-o", tmp_path / "m.c"])
    assert done.returncode == 0 and dnncc.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", tmp_path / "m.c", "-o", tmp_path / "m.o"]).returncode == 0, done.stderr


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
@pytest.mark.parametrize("target", ["generic", "x86-64-v4", "cortex-m4", "cuda-sm_90"])
def test_found(path, target, tmp_path):
    done = dnncc.run([dnncc.DNNCC, path, f"--target={target}", "-o", tmp_path / f"m{path.suffix}.out"], timeout=60)
    assert 0 <= done.returncode <= 5 and (done.returncode == 0 or "error:" in done.stderr), done
