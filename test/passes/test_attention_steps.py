# SPDX-License-Identifier: MIT
"""A few rows by many keys, as the steps of a decoder with its caches have them: heads that share keys, run-time masks, against canonical C;
keys and values are read where they lie."""
import pathlib
import random
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_attention import COMPILERS, close, mask_of, run  # noqa: E402
from test_attention_blocks import Attention, joined  # noqa: E402
from test_schedule import TARGETS, best  # noqa: E402


def step(seed):
    r = random.Random(seed)
    rows = r.choice([1, 1, 1, 2])
    a = Attention(seed, r.choice([1, 2, 3]), rows, r.choice([255, 256, 300, 417]), r.choice([8, 20, 64]), r.choice([16, 24, 32, 48, 64]),
                  r.choice([1, 2, 3, 4, 8, 9]))
    if r.random() < 0.8:
        a.mask(mask_of(r, a.numbers, a.rows, a.columns) if r.random() < 0.3 else np.where(a.numbers.random((rows, a.columns)) < 0.4, -np.inf, 0))
    return a.program(r.choice(["", "tanh"])), a.values


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.sample(8)
def test_against_canonical(tmp_path, seed):
    text, values = step(seed)
    plain = run(tmp_path / "plain", text, values, ["-O0"])
    exact = run(tmp_path / "exact", text, values, ["--exact", f"--target={best()}"])
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(plain, exact))
    for target in processor.these(TARGETS):
        for a, b in zip(plain, run(tmp_path / target, text, values, [f"--target={target}"], COMPILERS[seed % len(COMPILERS)])):
            close(b, a)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.sample(4)
def test_every_pass(tmp_path, target):
    """in the interpreter, on any machine"""
    for seed in range(100, 105):
        (tmp_path / "m.dnn").write_text(step(seed)[0])
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "-o", tmp_path / "m.c", "--check", f"--target={target}"], cwd=tmp_path)
        assert done.returncode == 0, (seed, done.stderr)


@pytest.mark.parametrize("shared", [1, 2, 4, 8])
def test_caches_are_read_in_place(tmp_path, shared):
    """no kernel moves as many elements as keys or values have"""
    groups, columns, size = 3, 512, 64
    a = Attention(1, groups, 1, columns, size, size, shared)
    a.mask(np.zeros((1, columns), np.float32))
    ir = joined(tmp_path, a.program(), "x86-64-v4")
    moved = re.findall(r"= (?:transpose|pad|concat)\(.*: <([\dx ]+) x f32>", ir)
    assert all(np.prod([int(d) for d in dims.split(" x ")]) < groups * columns * size for dims in moved), ir
