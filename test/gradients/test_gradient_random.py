# SPDX-License-Identifier: MIT
"""Random programs (test_random.py) with their derivatives: --check compares what they compute before and after every pass, the
generated C agrees with the interpreter, and differences say the same where the program is smooth."""
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "passes"))
import differences  # noqa: E402
import dnncc  # noqa: E402
import test_random  # noqa: E402

COUNT = 120


def program(seed, element=None):
    """(text, inputs): a random program of floats, whose loss is a sum of all that it yields and of its inputs"""
    p = test_random.Program(seed)
    while not p.element.startswith("f"):
        seed += 100_000
        p = test_random.Program(seed)
    lines, total = list(p.lines), None
    shapes = [next(s for v, s in p.values if v == f"%in{k}") for k in range(len(p.inputs))]
    ends = p.r.sample(p.values, min(len(p.values), p.r.randint(1, 3))) + [(f"%in{k}", s) for k, s in enumerate(shapes)]
    scalar = f"<{p.element}>"
    for k, (v, shape) in enumerate(ends):
        axes = f"<{len(shape)} x i64> [{', '.join(map(str, range(len(shape))))}]"
        lines += [f"  %s{k} = reduce({v}, {axes}) : {scalar}", f"  %w{k} = mul(%s{k}, {p.r.uniform(.5, 1.5):.3f}) : {scalar}"]
        if total:
            lines.append(f"  %t{k} = add({total}, %w{k}) : {scalar}")
        total = f"%t{k}" if total else f"%w{k}"
    text = f'dnn 1\nmodule "random"\nfunc @main({", ".join(p.inputs)}) -> ("loss") {{\n' + "\n".join(lines) + f"\n  yield({total})\n}}\n"
    return (text.replace(p.element, element) if element else text), shapes


def option(shapes):
    return "--gradient=loss:" + ",".join(f"in{k}" for k in range(len(shapes)))


@pytest.mark.parametrize("first", range(0, COUNT, 20))
def test_every_pass(tmp_path, first):
    for seed in range(first, first + 20):
        text, shapes = program(seed)
        path = tmp_path / f"p{seed}.dnn"
        path.write_text(text)
        target = [[], ["--target=x86-64-v3"], ["--target=x86-64-v4"]][seed % 3]
        done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "p.c", "--check", option(shapes), *target], cwd=tmp_path)
        assert done.returncode == 0, (seed, text, done.stderr)
        checks = dnncc.checks(done)
        assert checks and all(line.endswith(": equal") for line in checks), (seed, done.stderr)


@pytest.mark.parametrize("seed", range(5000, 5008))
@pytest.mark.sample(4)
def test_compiled(tmp_path, seed):
    text, shapes = program(seed)
    (tmp_path / "p.dnn").write_text(text)
    rng = np.random.default_rng(seed)
    dtype = np.float32 if "f32>" in text else np.float64
    inputs = [(rng.random(s) * 4 - 1).astype(dtype) for s in shapes]
    interpreted = differences.run(tmp_path, text, inputs, [option(shapes), "-O0"])
    dnncc.compile_model(tmp_path / "p.dnn", tmp_path, ["-O0", option(shapes)])
    for a, b in zip(dnncc.run_host(dnncc.build_host(tmp_path, dnncc.SANITIZE), inputs), interpreted):
        assert np.array_equal(a, b, equal_nan=True), (seed, text)


@pytest.mark.sample(2)
@pytest.mark.parametrize("first", range(7000, 7080, 10))
def test_against_differences(tmp_path, first):
    """a program that is smooth at one of a few points"""
    compared = 0
    for seed in range(first, first + 10):
        text, shapes = program(seed, "f64")
        function = differences.Function({}, [], "%none", ())
        function.text = text
        for point in range(3):
            rng = np.random.default_rng(10 * seed + point)
            function.inputs = {f"in{k}": rng.uniform(.5, 1.5, s) for k, s in enumerate(shapes)}
            try:
                differences.check(tmp_path, function, list(function.inputs), tolerance=1e-6, step=1e-4)
                compared += 1
                break
            except differences.Kink:
                continue
    assert compared >= 4
