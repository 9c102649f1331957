# SPDX-License-Identifier: MIT
"""Attention of products that read bf16, in hardware tiles: one kernel, against canonical C of the same roundings and in the interpreter;
whole rows and blocks of columns, masks that hide all of a row, the same bits for every number of threads."""
import pathlib
import random
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
from test_attention import COMPILERS, attention, run  # noqa: E402
from test_attention_blocks import hidden, in_blocks, joined, masked  # noqa: E402
from test_tiles import needs_tiles  # noqa: E402

TARGET = "sapphirerapids"
ROUND = [f"--target={TARGET}", "--precision=bf16", "--limit=bf16_percent=1000000", "--passes=simplify,fold,cse,dce,precision,dce"]


def rounded(folder, text):
    """the program whose products read bf16"""
    folder.mkdir(exist_ok=True)
    (folder / "wide.dnn").write_text(text)
    done = dnncc.run([dnncc.DNNCC, folder / "wide.dnn", "--emit=ir", "-o", "-", *ROUND])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("accumulator=f32") == 2, done.stdout
    return re.sub(r' command ".*?" passes ".*?"', "", done.stdout, count=1)       # a program of its own


def as_joined(folder, text, blocks):
    """as one kernel; blocks: with blocks of columns, where rows are those of a softmax"""
    ir = joined(folder, text, TARGET)
    assert ir.count("strip=") == 1, ir
    return in_blocks(ir, blocks) if blocks else ir


def close(a, b):
    """shares are rounded relative to the largest score of all, or of those so far"""
    np.testing.assert_allclose(a, b, rtol=2e-2, atol=2e-2, equal_nan=True)


@needs_tiles
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [attention, hidden, masked])
@pytest.mark.sample(4)
def test_against_canonical(tmp_path, make, seed):
    text, values = make(seed)
    text = rounded(tmp_path / "rounded", text)
    plain = run(tmp_path / "plain", text, values, ["-O0"])
    for name, blocks in (("whole", None), ("blocks", random.Random(seed))):
        ir, cc = as_joined(tmp_path, text, blocks), COMPILERS[seed % len(COMPILERS)]
        one = run(tmp_path / name, ir, values, [f"--target={TARGET}"], cc)
        for a, b in zip(plain, one):
            close(b, a)


@needs_tiles
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [attention, hidden])
@pytest.mark.sample(2)
def test_threads(tmp_path, make, seed):
    text, values = make(seed)
    text = rounded(tmp_path, text)
    one, *more = (run(tmp_path / str(n), text, values, [f"--target={TARGET}"], threads=n) for n in (1, 2, 3))
    assert all(np.array_equal(a, b, equal_nan=True) for other in more for a, b in zip(one, other))


SMALL = {attention: (101, 105, 102), hidden: (100, 101, 104), masked: (102, 113, 127)}      # tiles are slow in the interpreter


@pytest.mark.parametrize("make", SMALL)
@pytest.mark.sample(4)
def test_every_pass(tmp_path, make):
    """in the interpreter, on any machine"""
    for seed in SMALL[make]:
        ir = as_joined(tmp_path, rounded(tmp_path, make(seed)[0]), random.Random(seed) if seed % 2 else None)
        (tmp_path / "m.dnn").write_text(ir)
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "-o", tmp_path / "m.c", "--check", f"--target={TARGET}"], cwd=tmp_path)
        assert done.returncode == 0 and "compiled" not in done.stderr, (make, seed, done.stderr)


@needs_tiles
@pytest.mark.parametrize("make", [hidden, masked])
def test_memory(tmp_path, make):
    """sanitizers find nothing"""
    text, values = make(50)
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "m.dnn").write_text(as_joined(tmp_path, rounded(tmp_path, text), random.Random(50)))
    dnncc.compile_model(folder / "m.dnn", folder, [f"--target={TARGET}"])
    dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), values)
