# SPDX-License-Identifier: MIT
"""Rows (softmax, norms) as one kernel, and attention as one, against canonical C: odd extents, masks with infinities and NaN, rows that
are masked fully; the same bits for every number of threads; both compilers, every target that this machine has."""
import pathlib
import random
import shutil
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_schedule import TARGETS  # noqa: E402
from test_strips import BACKWARDS  # noqa: E402

COMPILERS = [cc for cc in ("gcc", "clang") if shutil.which(cc)]


def shape(*dims):
    return "<" + "".join(f"{d} x " for d in dims) + "f32>"


class Builder:
    def __init__(self):
        self.lines, self.inputs, self.values = [], {}, []

    def input(self, name, dims, values):
        self.inputs[name] = dims
        self.values.append(values.astype(np.float32))
        return f"%{name}"

    def add(self, text, dims):
        self.lines.append(f"  %{len(self.lines)} = {text} : {shape(*dims)}")
        return f"%{len(self.lines) - 1}"

    def spread(self, x, dims, axes):
        kept = [d for d in range(len(dims)) if d not in axes]
        return self.add(f"broadcast({x}) dims=[{', '.join(map(str, kept))}]", dims)

    def reduce(self, x, dims, axes, kind=""):
        return self.add(f"reduce({x}, <{len(axes)} x i64> [{', '.join(map(str, axes))}]){kind}",
                        [n for d, n in enumerate(dims) if d not in axes])

    def softmax(self, x, dims, axes):
        largest = self.spread(self.reduce(x, dims, axes, " kind=max"), dims, axes)
        e = self.add(f"exp({self.add(f'sub({x}, {largest})', dims)})", dims)
        return self.add(f"div({e}, {self.spread(self.reduce(e, dims, axes), dims, axes)})", dims)

    def norm(self, x, dims, axes):
        rest, count = [n for d, n in enumerate(dims) if d not in axes], np.prod([dims[d] for d in axes])
        mean = self.add(f"mul({self.reduce(x, dims, axes)}, {1 / count})", rest)
        centered = self.add(f"sub({x}, {self.spread(mean, dims, axes)})", dims)
        square = self.add(f"mul({centered}, {centered})", dims)
        variance = self.add(f"mul({self.reduce(square, dims, axes)}, {1 / count})", rest)
        root = self.add(f"sqrt({self.add(f'add({variance}, 1e-5)', rest)})", rest)
        return self.add(f"div({centered}, {self.spread(root, dims, axes)})", dims)

    def text(self, *results):
        arguments = ", ".join(f'%{name} "{name}": {shape(*dims)}' for name, dims in self.inputs.items())
        names = ", ".join(f'"y{i}"' for i in range(len(results)))
        return ('dnn 1\nmodule "m"\nfunc @main(' + arguments + f") -> ({names}) {{\n" + "\n".join(self.lines) +
                f"\n  yield({', '.join(results)})\n}}\n")


def mask_of(r, values, rows, columns):
    """zeros and -inf, one row -inf alone; or numbers with NaN among them"""
    kind = r.choice(["causal", "random", "nan"])
    mask = np.zeros((rows, columns), np.float32)
    if kind == "causal":
        mask[np.triu_indices(rows, 1, columns)] = -np.inf
    elif kind == "random":
        mask[values.random((rows, columns)) < 0.3] = -np.inf
    else:
        mask[:] = values.standard_normal((rows, columns))
        mask[r.randrange(rows), r.randrange(columns)] = np.nan
    mask[r.randrange(rows)] = -np.inf
    return mask


def attention(seed):
    r, values, b = random.Random(seed), np.random.default_rng(seed), Builder()
    heads, rows, columns = r.choice([1, 2, 3]), r.randint(4, 70), r.choice([16, 29, 32, 50, 64, 77])
    depth, width = r.choice([8, 16, 20, 33]), r.choice([16, 24, 32, 40])
    q, k, v = [1, heads, rows, depth], [1, heads, columns, depth], [1, heads, columns, width]
    scores = [1, heads, rows, columns]
    for name, dims in (("q", q), ("k", k), ("v", v)):
        b.input(name, dims, values.standard_normal(dims))
    x = b.add("dot(%q, %k) batch_a=[0, 1] batch_b=[0, 1] contract_a=[3] contract_b=[3]", scores)
    if r.random() < 0.8:
        x = b.add(f"mul({x}, 0.3)", scores)
    if r.random() < 0.8:
        m = b.input("m", [rows, columns], mask_of(r, values, rows, columns))
        x = b.add(f"add({x}, {b.add(f'broadcast({m}) dims=[2, 3]', scores)})", scores)
    p = b.softmax(x, scores, [3])
    if r.random() < 0.3:                # shares that are divided before they are multiplied
        p = b.add(f"max({p}, 0.001)", scores)
    y = b.add(f"dot({p}, %v) batch_a=[0, 1] batch_b=[0, 1] contract_a=[3] contract_b=[2]", [1, heads, rows, width])
    if r.random() < 0.3:
        y = b.add(f"tanh({y})", [1, heads, rows, width])
    return b.text(y), b.values


def rows(seed):
    r, values, b = random.Random(seed), np.random.default_rng(seed), Builder()
    dims = [r.choice([1, 2, 3]), r.choice([5, 16, 37]), r.choice([1, 7, 16, 33, 64])]
    axes = r.choice([[2], [1], [1, 2], [0, 2], [0, 1, 2]])
    x = values.standard_normal(dims)
    x.flat[r.randrange(x.size)] = r.choice([np.nan, -np.inf, np.inf, 0])
    b.input("x", dims, x)
    b.input("z", dims, values.standard_normal(dims))
    s, n = b.softmax("%x", dims, axes), b.norm(b.add("add(%x, %z)", dims), dims, axes)
    return b.text(s, b.add(f"mul({n}, %z)", dims)), b.values


def run(folder, text, values, options, cc="gcc", threads=1):
    folder.mkdir()
    (folder / "m.dnn").write_text(text)
    dnncc.compile_model(folder / "m.dnn", folder, [*options, f"--threads={threads}"])
    if threads > 1:
        with open(folder / "model.c", "a") as f:
            f.write(BACKWARDS.replace("void dnncc", "void dnncc_parallel(void (*)(void *, int, int), void *, int);\nvoid dnncc", 1))
    return dnncc.run_host(dnncc.build_host(folder, ["-O1"], cc), values)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5, equal_nan=True)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("make", [attention, rows])
@pytest.mark.sample(5, each=False)
def test_against_canonical(tmp_path, make, seed):
    text, values = make(seed)
    plain = run(tmp_path / "plain", text, values, ["-O0"])
    exact = run(tmp_path / "generic", text, values, ["--exact"])
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(plain, exact))
    for target in processor.these(TARGETS):
        one = run(tmp_path / target, text, values, [f"--target={target}"], COMPILERS[seed % len(COMPILERS)])
        for a, b in zip(plain, one):
            close(b, a)
        for threads in (2, 3) if target == TARGETS[seed % 3] else ():
            more = run(tmp_path / f"{target}-{threads}", text, values, [f"--target={target}"], threads=threads)
            assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, more)), (target, threads)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.sample(4)
def test_every_pass(tmp_path, target):
    """in the interpreter, on any machine; every attention becomes one kernel"""
    for seed in range(100, 115):
        text, _ = attention(seed)
        path = tmp_path / f"{seed}.dnn"
        path.write_text(text)
        done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.c", "--check", f"--target={target}"], cwd=tmp_path)
        assert done.returncode == 0, (seed, text, done.stderr)
        done = dnncc.run([dnncc.DNNCC, path, "-o", "-", "--emit=loops", f"--target={target}"])
        kernels = [line for line in done.stdout.splitlines() if line.startswith("kernel @") and "convolve_packed" in line]
        assert len(kernels) == 1, (seed, text, kernels)


def test_layers_with_large_weights_stay_apart(tmp_path):
    """a norm between two products by constants: as one kernel, every block of rows would read all weights again"""
    rows, inner, outer = 2048, 256, 2048
    b = Builder()
    x = b.input("x", (rows, inner), np.zeros((rows, inner)))
    w = b.input("w", (inner, inner), np.zeros((inner, inner)))
    v = b.input("v", (inner, outer), np.zeros((inner, outer)))
    h = b.add(f"dot({x}, {w}) contract_a=[1] contract_b=[0]", (rows, inner))
    y = b.add(f"dot({b.norm(h, (rows, inner), [1])}, {v}) contract_a=[1] contract_b=[0]", (rows, outer))
    (tmp_path / "m.dnn").write_text(b.text(y))
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "-o", "-", "--emit=loops", "--target=x86-64-v4"])
    kernels = [line for line in done.stdout.splitlines() if line.startswith("kernel @") and "convolve_packed" in line]
    assert len(kernels) == 2, kernels
