# SPDX-License-Identifier: MIT
"""The host program of the tests (host.cpp) on a model that is written by hand, and on versions with a mistake each."""
import pathlib
import re
import shutil
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
RANDOM = np.random.default_rng(1)
TABLE = RANDOM.integers(-3, 4, (10, 64)).astype(np.float32)
INDEX = RANDOM.integers(-10, 10, 16)
WEIGHTS = np.arange(64 * 65) * 7 % 13 - 6
WANT = (TABLE[INDEX] @ WEIGHTS[:4096].reshape(64, 64) + WEIGHTS[4096:]).astype(np.float32)


def run(folder, change=lambda text: text, index=INDEX, executions=cuda.SIX, flags=cuda.OPTIMIZE):
    for name in "model.cu", "model.h":
        shutil.copy(HERE / "by_hand" / name, folder)
    text = (folder / "model.cu").read_text()
    (folder / "model.cu").write_text(change(text))
    program = cuda.build([folder / "model.cu"], folder, flags=flags)
    return cuda.run(program, {"model": [TABLE, index]}, folder, executions)["model"]


def test_six_executions(tmp_path):
    got, = run(tmp_path)
    assert np.array_equal(got, WANT)
    assert cuda.counts["model"]["launches"] == (4 + 2 * 2) * 3 and cuda.counts["model"]["barriers"] == (4 + 2 * 2) * 4


def test_every_access(tmp_path):
    """a race is found in one execution, even one in which all is right; lanes that read neighbours ask for as few sectors as they can"""
    got, = run(tmp_path, executions="0", flags=cuda.CHECKED)
    counts = cuda.counts["model"]
    assert np.array_equal(got, WANT) and counts["bank_conflicts"] == 0 and counts["sectors"] > counts["least_sectors"]     # columns of weights
    for change, said in (((r"\n *__syncthreads\(\);", ""), r"product, .*: a race: writes shared memory \+128, which thread 0 of block 0 read"),
                         ((r"if \(lane == 0\)", "if (lane < 2)"), r"a race: writes y \+\d+, which has 4096 bytes, which thread \d+ of block 0 wrote"),
                         ((r"at \* WIDTH \+ k\]", "(at + 1) * WIDTH + k]"), r"gather, .*: reads 4 bytes of table \+2560, which has 2560")):
        found = run(tmp_path, lambda text: re.sub(*change, text), index=INDEX % 10 // 9 * 9 if "table" in said else INDEX, executions="0", flags=cuda.CHECKED)
        assert isinstance(found, cuda.Found) and re.search(said, str(found)), found


def test_codes(tmp_path):
    found = run(tmp_path, index=np.full(16, 10))
    assert isinstance(found, cuda.Found) and "status returned -3" in str(found)
    for env, what in (({"EXECUTOR_DEVICE": "devices=0"}, "prepare returned -8"), ({"EXECUTOR_DEVICE": "major=7,minor=5"}, "prepare returned -7"),
                      ({"EXECUTOR_FAIL": "cudaLaunchKernelExC:2=719"}, "run returned -8")):
        program = tmp_path / "models"
        assert what in str(cuda.run(program, {"model": [TABLE, INDEX]}, tmp_path, "0", env=env)["model"])


MISTAKES = {
    "barrier dropped": (r"\n *__syncthreads\(\);", ""),
    "lane exchanged": (r"sum, by\)", "sum, by ^ 1)"),
    "one row too far": (r"\* WARPS \+ warp\) \* WIDTH", "* WARPS + warp + 1) * WIDTH"),
    "mask inverted": (r"at < -TABLE \|\|", "at >= -TABLE ||"),
    "shared memory too small": (r"WARPS \* WIDTH \* 4, stream", "WARPS * WIDTH * 4 - 4, stream"),
    "waits in a branch": (r"__syncthreads\(\);", "if (warp) __syncthreads();"),
    "status not begun": (r"\*status = 0;", "(void)status;"),
    "waits under capture": (r"int device;\n        if \(!workspace", "cudaStreamSynchronize(stream);\n        int device;\n        if (!workspace"),
}


@pytest.mark.parametrize("what", [pytest.param(w, marks=() if i % 3 == 0 else pytest.mark.long) for i, w in enumerate(MISTAKES)])
def test_mistakes(what, tmp_path):
    def change(text):
        changed = re.sub(*MISTAKES[what], text)
        assert changed != text
        return changed
    got = run(tmp_path, change)
    assert isinstance(got, cuda.Found) or not np.array_equal(got[0], WANT), what
