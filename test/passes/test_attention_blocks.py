# SPDX-License-Identifier: MIT
"""Attention in blocks of columns, against canonical C: masks that hide columns for sure (compared indices, constants, windows that slide)
and near twins that do not, masks of infinities that blocks lie in fully or in part, any blocks, the same bits for every number of
threads."""
import random
import re
import sys

import numpy as np
import pytest

import pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_attention import COMPILERS, Builder, close, mask_of, run, shape  # noqa: E402
from test_schedule import TARGETS, best  # noqa: E402

LOWEST = float(np.finfo(np.float32).min)
PIPELINE = re.search(r"PIPELINE\(2, \"(.*?),attention,", (dnncc.ROOT / "passes" / "passes.def").read_text())[1]
PASSES = f"--passes={PIPELINE},attention"


class Attention(Builder):
    def __init__(self, seed, groups, rows, columns, depth, width, shared=1):
        """shared: how many heads read the same keys and values"""
        super().__init__()
        self.numbers, self.constants = np.random.default_rng(seed), []
        self.rows, self.columns, self.scores = rows, columns, [1, groups * shared, rows, columns]
        self.joined = [1, groups, shared * rows]
        for name, dims in (("q", [*self.scores[:3], depth]), ("k", [1, groups, columns, depth]), ("v", [1, groups, columns, width])):
            self.input(name, dims, self.numbers.standard_normal(dims))
        q = self.shaped("%q", self.scores[:3], self.joined, depth)
        self.x = self.add(f"dot({q}, %k) batch_a=[0, 1] batch_b=[0, 1] contract_a=[3] contract_b=[3]", [*self.joined, columns])
        self.x = self.add(f"mul({self.shaped(self.x, self.joined, self.scores[:3], columns)}, 0.3)", self.scores)

    def shaped(self, x, before, dims, last):
        return x if before == dims else self.add(f"reshape({x})", [*dims, last])

    def typed(self, text, element, dims=None):
        self.lines.append(f"  %{len(self.lines)} = {text} : {shape(*(dims or self.scores)).replace('f32', element)}")
        return f"%{len(self.lines) - 1}"

    def seen(self, low, high, flat=False):
        """true for columns row + low .. row + high, by indices; None: no bound; flat: of one head, then of all"""
        dims = self.scores[2:] if flat else self.scores
        row, column = (self.typed(f"iota() axis={len(dims) - 2 + k}", "i64", dims) for k in range(2))
        parts = []
        if high is not None:
            parts.append(self.typed(f"le({column}, {self.typed(f'add({row}, {high})', 'i64', dims)})", "bool", dims))
        if low is not None:
            parts.append(self.typed(f"gt({column}, {self.typed(f'add({row}, {low - 1})', 'i64', dims)})", "bool", dims))
        seen = parts[0] if len(parts) == 1 else self.typed(f"and({parts[0]}, {parts[1]})", "bool", dims)
        return self.typed(f"broadcast({seen}) dims=[2, 3]", "bool") if flat else seen

    def seen_constant(self, low, high):
        r, c = np.ogrid[:self.rows, :self.columns]
        return (c - r <= (self.columns if high is None else high)) & (c - r >= (-self.rows if low is None else low))

    def constant(self, array):
        text = ", ".join(repr(float(v)) for v in array.ravel()) if array.dtype != bool else ", ".join(str(v).lower() for v in array.ravel())
        element = "bool" if array.dtype == bool else "f32"
        dims = " x ".join(map(str, array.shape))
        self.constants.append(f"const @c{len(self.constants)} : <{dims} x {element}> = [{text}]")
        return self.typed(f"broadcast(@c{len(self.constants) - 1}) dims=[2, 3]", element)

    def choose(self, seen, hidden):
        self.x = self.add(f"select({seen}, {self.x}, {hidden})", self.scores)

    def plus(self, other):
        self.x = self.add(f"add({self.x}, {other})", self.scores)

    def mask(self, values):
        name = f"m{len(self.inputs)}"
        self.plus(self.add(f"broadcast({self.input(name, [self.rows, self.columns], values)}) dims=[2, 3]", self.scores))

    def program(self, after=""):
        p = self.softmax(self.x, self.scores, [3])
        width = self.inputs["v"][3]
        y, p = [*self.scores[:3], width], self.shaped(p, self.scores[:3], self.joined, self.columns)
        result = self.add(f"dot({p}, %v) batch_a=[0, 1] batch_b=[0, 1] contract_a=[3] contract_b=[2]", [*self.joined, width])
        result = self.shaped(result, self.joined, self.scores[:3], width)
        if after:
            result = self.add(f"{after}({result})", y)
        head, rest = self.text(result).split('module "m"\n', 1)
        return head + 'module "m"\n' + "".join(c + "\n" for c in self.constants) + rest


def hidden(seed):
    """a mask that hides for sure"""
    r = random.Random(seed)
    shared = r.choice([1, 1, 2, 3])
    a = Attention(seed, r.choice([1, 2, 3]), r.randint(60, 84), r.choice([48, 64, 77, 96, 97, 128]), r.choice([8, 20]), r.choice([16, 24, 40]), shared)
    high, low = r.choice([0, 0, a.columns - a.rows, -3, 5, None]), r.choice([None, None, -8, -20])
    high = 0 if high is None and low is None else high
    finite = low is None and high is not None and high >= 0 and r.random() < 0.5
    number = r.choice(["-1e9", repr(LOWEST)]) if finite else "-inf"
    kind = r.choice(["choice", "sum", "constant choice", "constant sum"][:4 if shared == 1 else 2])
    if not finite and shared == 1 and r.random() < 0.4:
        a.mask(mask_of(r, a.numbers, a.rows, a.columns))
    if kind == "choice":
        a.choose(a.seen(low, high, r.choice([True, False])), number)
    elif kind == "sum":
        a.plus(a.add(f"select({a.seen(low, high, r.choice([True, False]))}, {shape(*a.scores)} 0.0, {shape(*a.scores)} {number})", a.scores))
    elif kind == "constant choice":
        a.choose(a.constant(a.seen_constant(low, high)), number)
    else:
        a.plus(a.constant(np.where(a.seen_constant(low, high), 0, np.float32(number)).astype(np.float32)))
    if not finite and shared == 1 and r.random() < 0.4:
        a.mask(mask_of(r, a.numbers, a.rows, a.columns))
    return a.program(r.choice(["", "tanh"])), a.values


def masked(seed):
    """a mask that comes at run time, or none: blocks by force"""
    r = random.Random(seed)
    a = Attention(seed, r.choice([1, 2, 3]), r.randint(4, 70), r.choice([29, 32, 50, 77, 129, 300]), r.choice([8, 20, 33]), r.choice([16, 24, 40]))
    if r.random() < 0.8:
        values = mask_of(r, a.numbers, a.rows, a.columns)
        a.mask(np.where(np.isinf(values), np.float32(r.choice([-np.inf, -np.inf, LOWEST, np.inf, -1e9])), values))
    return a.program(r.choice(["", "tanh"])), a.values


def joined(folder, text, target):
    """the program as `attention` leaves it"""
    (folder / "joined.dnn").write_text(text)
    done = dnncc.run([dnncc.DNNCC, folder / "joined.dnn", "--emit=ir", "-o", "-", f"--target={target}", PASSES])
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_blocks(text, r):
    """with blocks of columns, of any size"""
    text, count = re.subn(r'strip=\d+( keys=\d+)?', lambda _: f"strip={r.choice([1, 2, 3])} keys={r.choice([1, 32, 48, 64, 200])}", text)
    assert count == 1, text
    return text


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make", [hidden, masked])
@pytest.mark.sample(6, each=False)
def test_against_canonical(tmp_path, make, seed):
    text, values = make(seed)
    plain_result = run(tmp_path / "plain", text, values, ["-O0"])
    for number, target in enumerate(processor.these(TARGETS)):
        ir, cc = joined(tmp_path, text, target), COMPILERS[seed % len(COMPILERS)]
        assert make is masked or "keys=" in ir, text
        forced = in_blocks(ir, random.Random(seed))
        one = run(tmp_path / target, ir if number == seed % 3 else forced, values, [f"--target={target}"], cc)
        for a, b in zip(plain_result, one):
            close(b, a)


@pytest.mark.sample(2)
@pytest.mark.parametrize("threads", [2, 3])
def test_threads(tmp_path, threads):
    """the same bits, whatever the number of threads, where keys are left out"""
    target, (text, values) = best(), hidden(threads)
    one, more = (run(tmp_path / str(n), text, values, [f"--target={target}"], threads=n) for n in (1, threads))
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, more))


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.slow
@pytest.mark.sample(4)
def test_every_pass(tmp_path, target):
    """in the interpreter, on any machine"""
    for seed in range(100, 108):
        r = random.Random(seed)
        ir = joined(tmp_path, (hidden if seed % 2 else masked)(seed)[0], target)
        (tmp_path / "m.dnn").write_text(in_blocks(ir, r))
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "-o", tmp_path / "m.c", "--check", f"--target={target}"], cwd=tmp_path)
        assert done.returncode == 0, (seed, done.stderr)


@pytest.mark.parametrize("seed", range(2))
def test_memory(tmp_path, seed):
    """sanitizers find nothing"""
    text, values = (hidden if seed % 2 else masked)(seed + 50)
    target = best()
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "m.dnn").write_text(in_blocks(joined(tmp_path, text, target), random.Random(seed)))
    dnncc.compile_model(folder / "m.dnn", folder, [f"--target={target}"])
    dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), values)


def plain():
    return Attention(1, 2, 64, 64, 16, 16)


def twin_of_finite_and_other():
    a = plain()
    a.choose(a.seen(None, 0), repr(LOWEST))
    a.mask(np.zeros((64, 64), np.float32))      # could be as low for all that is seen
    return a


def twin_of_weak_number():
    a = plain()
    a.choose(a.seen(None, 0), "-100.0")
    return a


def twin_of_row_without_any():
    a = plain()
    a.choose(a.seen(None, -1), "-1e9")
    return a


def twin_of_shown_again():
    a = plain()
    a.choose(a.seen(None, 0), "-inf")
    a.choose(a.seen(-2, None), "0.5")
    return a


def twin_of_scale():
    a = plain()
    a.choose(a.seen(None, 0), "-inf")
    a.x = a.add(f"mul({a.x}, -1.0)", a.scores)
    return a


def twin_of_steps():
    a = plain()
    row = a.typed("iota() axis=2", "i64")
    twice = a.typed(f"mul({row}, 2)", "i64")
    a.choose(a.typed(f"le({a.typed('iota() axis=3', 'i64')}, {twice})", "bool"), "-inf")
    return a


@pytest.mark.parametrize("twin", [twin_of_finite_and_other, twin_of_weak_number, twin_of_row_without_any, twin_of_shown_again, twin_of_scale,
                                  twin_of_steps])
def test_nothing_is_hidden(tmp_path, twin):
    ir = joined(tmp_path, twin().program(), "x86-64-v4")
    assert "strip=" in ir and "keys=" not in ir, ir


def test_exact(tmp_path):
    """nothing of this under --exact"""
    text, values = hidden(3)
    plain_bits = run(tmp_path / "plain", text, values, ["-O0"])
    exact = run(tmp_path / "exact", text, values, ["--exact", f"--target={best()}"])
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(plain_bits, exact))


@pytest.mark.parametrize("shared", [1, 4])
@pytest.mark.parametrize("added", [False, True])
def test_masks_of_indices_are_not_stored(tmp_path, shared, added):
    """neither of truth values nor of numbers; so the workspace is far below rows * columns"""
    a = Attention(1, 2, 1536, 1536, 16, 16, shared)
    seen = a.seen(None, 0, flat=True)
    if added:
        a.plus(a.add(f"select({seen}, {shape(*a.scores)} 0.0, {shape(*a.scores)} -inf)", a.scores))
    else:
        a.choose(seen, "-inf")
    (tmp_path / "program.dnn").write_text(a.program())
    done = dnncc.run([dnncc.DNNCC, tmp_path / "program.dnn", "--target=x86-64-v4", "--stats", "-o", tmp_path / "m.c"])
    assert done.returncode == 0, done.stderr
    assert int(re.search(r"workspace +(\d+) bytes", done.stdout + done.stderr)[1]) < 1536 * 1536


def test_tasks_share_no_cache_lines():
    """a task's numbers of rows, written for every block of columns, begin on a pair of cache lines of their own"""
    a = Attention(1, 2, 70, 96, 8, 16)
    a.choose(a.seen(None, 0), "-inf")
    with dnncc.Workspace("attention-lines") as folder:
        (folder / "program.dnn").write_text(a.program())
        loops = dnncc.run([dnncc.DNNCC, folder / "program.dnn", "--emit=loops", "-o", "-", "--target=x86-64-v4", "--threads=2", f"{PASSES},lower"]).stdout
    found = re.findall(r"let %first : index = %task \* (\d+) - %from_row", loops)
    assert found and all(int(rows) % 32 == 0 for rows in found), loops
