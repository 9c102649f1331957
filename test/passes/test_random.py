# SPDX-License-Identifier: MIT
"""Random typed programs: --check compares what they compute before and after every pass (bit for bit for integers and for exact
passes), and the generated C must agree with the unoptimized one."""
import pathlib
import random
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

COUNT = 300


class Program:
    """A random function in the text form of the Tensor IR."""

    def __init__(self, seed, extents=(1, 2, 3, 4)):
        self.r = random.Random(seed)
        self.room = max(extents)
        self.none = [0] if self.r.random() < 0.15 else []           # extents may be 0
        self.element = self.r.choice(["f32", "f32", "i32", "i8", "f64", "u8"])
        self.lines, self.values, self.inputs = [], [], []
        for k in range(self.r.randint(1, 3)):
            shape = tuple(self.r.choice([*extents, *self.none]) for _ in range(self.r.choice([1, 2, 3, 4])))
            self.inputs.append(f'%in{k} "in{k}": {self.type(shape)}')
            self.values.append((f"%in{k}", shape))
        steps = [self.unary, self.binary, self.constant, self.reduce, self.transpose, self.reshape, self.slice, self.pad, self.concat,
                 self.broadcast, self.select, self.casts, self.dot, self.window, self.dead, self.gather, self.norm,
                 self.rows]
        for _ in range(self.r.randint(3, 24)):
            self.r.choice(steps)()

    def type(self, shape, element=None):
        return "<" + "".join(f"{d} x " for d in shape) + (element or self.element) + ">"

    def number(self):
        if self.element.startswith("f"):
            return self.r.choice(["0.0", "-0.0", "1.0", "2.0", "0.5", "-1.5", "3.25", "inf", "-inf"][:7])
        return str(self.r.choice([0, 1, 2, 3, 5]))

    def splat(self, shape):
        return f"{self.type(shape)} {self.number()}"

    def emit(self, text, shape, keep=True, element=None):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text} : {self.type(shape, element)}")
        if keep:
            self.values.append((name, shape))
        return name

    def pick(self):
        return self.r.choice(self.values)

    def unary(self):
        x, shape = self.pick()
        functions = ["exp", "tanh", "erf", "sigmoid", "floor"] if self.element == "f32" and self.room > 4 else []
        self.emit(f"{self.r.choice(['neg', 'abs', 'neg', *functions])}({x})", shape)

    def binary(self):
        x, shape = self.pick()
        same = [v for v, s in self.values if s == shape]
        self.emit(f"{self.r.choice(['add', 'sub', 'mul', 'max', 'min'])}({x}, {self.r.choice(same)})", shape)

    def constant(self):
        x, shape = self.pick()
        self.emit(f"{self.r.choice(['add', 'sub', 'mul', 'max', 'min', 'div'])}({x}, {self.splat(shape)})", shape)

    def reduce(self):
        x, shape = self.pick()
        if not shape:
            return
        axes = sorted(self.r.sample(range(len(shape)), self.r.randint(1, len(shape))))
        rest = tuple(d for i, d in enumerate(shape) if i not in axes)
        self.emit(f"reduce({x}, <{len(axes)} x i64> [{', '.join(map(str, axes))}]){self.kind(shape)}", rest)

    def kind(self, shape):
        """of a reduction; the extremes of nothing are infinite, whose products are no numbers"""
        return self.r.choice(["", " kind=max", " kind=min"] if all(shape) else [""])

    def transpose(self):
        x, shape = self.pick()
        perm = self.r.sample(range(len(shape)), len(shape))
        if perm:
            self.emit(f"transpose({x}) perm=[{', '.join(map(str, perm))}]", tuple(shape[p] for p in perm))

    def reshape(self):
        x, shape = self.pick()
        count = int(np.prod(shape, dtype=int))
        self.emit(f"reshape({x})", self.r.choice([(count,), (1, count), shape + (1,), (count, 1)]))

    def slice(self):
        x, shape = self.pick()
        if not shape:
            return
        starts, steps, sizes = [], [], []
        for d in shape:
            start, step = self.r.randrange(d or 1), self.r.choice([1, 1, 2, -1])
            room = 0 if not d else (d - 1 - start) // step + 1 if step > 0 else start // -step + 1
            starts.append(start)
            steps.append(step)
            sizes.append(self.r.choice([*range(1 if d else 0, room + 1), *self.none]))
        n = len(shape)
        self.emit(f"slice({x}, <{n} x i64> [{', '.join(map(str, starts))}], <{n} x i64> [{', '.join(map(str, steps))}])", tuple(sizes))

    def pad(self):
        x, shape = self.pick()
        if not shape or max(shape) > 2 * self.room:
            return
        low = [self.r.choice([0, 0, 1, 2]) for _ in shape]
        sizes = tuple(d + p + self.r.choice([0, 1]) for d, p in zip(shape, low))
        self.emit(f"pad({x}, {self.type(())} {self.number()}, <{len(shape)} x i64> [{', '.join(map(str, low))}])", sizes)

    def concat(self):
        x, shape = self.pick()
        if not shape:
            return
        axis = self.r.randrange(len(shape))
        same = [v for v, s in self.values if s == shape]
        parts = [x] + [self.r.choice(same) for _ in range(self.r.choice([0, 1, 2]))]
        if shape[axis] * len(parts) <= 4 * self.room:
            self.emit(f"concat({', '.join(parts)}) axis={axis}", shape[:axis] + (shape[axis] * len(parts),) + shape[axis + 1:])

    def broadcast(self):
        x, shape = self.pick()
        if len(shape) >= 4 or np.prod(shape, dtype=int) > 16 * self.room:
            return
        at = self.r.randint(0, len(shape))
        dims = [i if i < at else i + 1 for i in range(len(shape))]
        self.emit(f"broadcast({x}) dims=[{', '.join(map(str, dims))}]", shape[:at] + (self.r.choice([2, 3, *self.none]),) + shape[at:])

    def select(self):
        x, shape = self.pick()
        y = self.r.choice([v for v, s in self.values if s == shape])
        c = self.emit(f"{self.r.choice(['lt', 'ge', 'eq'])}({x}, {y})", shape, keep=False, element="bool")
        self.emit(f"select({c}, {x}, {self.splat(shape)})", shape)

    def casts(self):
        x, shape = self.pick()
        wide = {"f32": "f64", "i8": "i32", "i32": "i64", "u8": "u32", "f64": "f64"}[self.element]
        y = self.emit(f"cast({x}) to={wide}", shape, keep=False, element=wide)
        self.emit(f"cast({y}) to={self.element}", shape)

    def dot(self):
        x, shape = self.pick()
        outputs = self.r.choice([3, *self.none])
        if len(shape) == 2:
            self.emit(f"dot({x}, {self.splat((shape[1], outputs))}) contract_a=[1] contract_b=[0]", (shape[0], outputs))

    def window(self):
        x, shape = self.pick()
        if len(shape) == 3 and shape[2] >= 2:
            self.emit(f"reduce_window({x}) window=[1, 1, 2]{self.r.choice(['', ' kind=sum'])}", (shape[0], shape[1], shape[2] - 1))

    def gather(self):
        x, shape = self.pick()
        if not shape or len(shape) == 4:
            return
        axis = self.r.randrange(len(shape))
        count = self.r.choice([1, 1, 2, 3, *self.none]) if shape[axis] else 0
        places = [self.r.randrange(-shape[axis], shape[axis]) for _ in range(count)]
        self.emit(f"gather({x}, <{len(places)} x i64> [{', '.join(map(str, places))}]) axis={axis}",
                  shape[:axis] + (len(places),) + shape[axis + 1:])

    def norm(self):
        x, shape = self.pick()
        if not self.element.startswith("f") or len(shape) < 2:
            return
        square = self.emit(f"mul({x}, {x})", shape, keep=False)
        sums = self.emit(f"reduce({square}, <1 x i64> {len(shape) - 1})", shape[:-1], keep=False)
        kept = self.emit(f"reshape({sums})", shape[:-1] + (1,), keep=False)
        root = self.emit(f"sqrt({kept})", shape[:-1] + (1,), keep=False)
        spread = self.emit(f"broadcast({root}) dims=[{', '.join(map(str, range(len(shape))))}]", shape, keep=False)
        self.emit(f"div({x}, {spread})", shape)

    def rows(self):
        """What softmaxes and norms are made of: reductions along some axes, spread along them again, in a chain."""
        x, shape = self.pick()
        if len(shape) < 2:
            return
        axes = sorted(self.r.sample(range(len(shape)), self.r.randint(1, len(shape) - 1)))
        kept = [d for d in range(len(shape)) if d not in axes]
        rest = tuple(shape[d] for d in kept)
        keep = self.r.random() < 0.2
        for _ in range(self.r.randint(1, 3)):
            y = self.emit(f"reduce({x}, <{len(axes)} x i64> [{', '.join(map(str, axes))}]){self.kind(shape)}", rest, keep=keep)
            if self.r.random() < 0.5:
                y = self.emit(f"{self.r.choice(['neg', 'abs'])}({y})", rest, keep=False)
            spread = self.emit(f"broadcast({y}) dims=[{', '.join(map(str, kept))}]", shape, keep=keep)
            x = self.emit(f"{self.r.choice(['sub', 'add', 'max', 'div'])}({x}, {spread})", shape, keep=keep)
            if self.element == "f32" and self.r.random() < 0.4:
                x = self.emit(f"{self.r.choice(['exp', 'tanh', 'neg'])}({x})", shape, keep=keep)
        self.values.append((x, shape))

    def dead(self):
        x, shape = self.pick()
        self.emit(f"add({x}, {x})", shape, keep=False)

    def text(self):
        outputs = self.r.sample(self.values, min(len(self.values), self.r.randint(1, 3)))
        names = ", ".join(f'"out{k}"' for k in range(len(outputs)))
        return (f'dnn 1\nmodule "random"\nfunc @main({", ".join(self.inputs)}) -> ({names}) {{\n' + "\n".join(self.lines) +
                f"\n  yield({', '.join(v for v, _ in outputs)})\n}}\n")


@pytest.mark.sample(2)
@pytest.mark.parametrize("first", range(0, COUNT, 50))
def test_every_pass(tmp_path, first):
    for seed in range(first, first + 50):
        path = tmp_path / f"p{seed}.dnn"
        path.write_text(Program(seed).text())
        done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "p.c", "--check"], cwd=tmp_path)
        assert done.returncode == 0, (seed, path.read_text(), done.stderr)
        checks = dnncc.checks(done)
        assert checks and all(line.endswith(": equal") for line in checks), (seed, done.stderr)


# Extents around the lanes of vectors. With --exact vectors compute the same bits.
EXTENTS = (1, 2, 3, 7, 8, 15, 16, 17, 33)


@pytest.mark.sample(3)
@pytest.mark.parametrize("exact", [[], ["--exact"]], ids=["fast", "exact"])
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_every_pass_on_vectors(tmp_path, target, exact):
    for seed in range(2000, 2040):
        path = tmp_path / f"p{seed}.dnn"
        path.write_text(Program(seed, EXTENTS).text())
        done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "p.c", "--check", f"--target={target}", *exact], cwd=tmp_path)
        assert done.returncode == 0, (seed, path.read_text(), done.stderr)
        assert "check: vectorize: equal" in done.stderr, (seed, done.stderr)


def compiled(folder, model, options, flags, inputs, seed):
    """Outputs of the generated C; inputs, made when None: some of them neither finite nor ordinary."""
    folder.mkdir()
    dnncc.compile_model(model, folder, options)
    program = dnncc.build_host(folder, flags)
    if inputs is None:
        rng = np.random.default_rng(seed)
        inputs = [(rng.random(s, np.float32) * 4 - 1).astype(dnncc.numpy_type(t)) for given, _, t, s in dnncc.describe(program) if given]
        for x in inputs:
            if x.dtype.kind == "f" and x.size > 4:
                x.flat[1:4] = np.inf, -0.0, np.nan
    return inputs, dnncc.run_host(program, inputs)


@pytest.mark.parametrize("seed", range(3000, 3004))
@pytest.mark.sample(4)
def test_compiled_vectors(tmp_path, seed):
    (tmp_path / "p.dnn").write_text(Program(seed, EXTENTS).text())
    flags = ["-O1", *dnncc.SANITIZE[1:]]
    inputs, plain = compiled(tmp_path / "plain", tmp_path / "p.dnn", ["--exact"], flags, None, seed)
    for target in processor.these(["x86-64", "x86-64-v3", "x86-64-v4"]):
        _, vectors = compiled(tmp_path / target, tmp_path / "p.dnn", ["--exact", f"--target={target}"], flags, inputs, seed)
        for a, b in zip(plain, vectors):
            assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), (seed, target)


@pytest.mark.parametrize("seed", range(1000, 1012))
@pytest.mark.sample(4)
def test_compiled(tmp_path, seed):
    path = tmp_path / "p.dnn"
    path.write_text(Program(seed).text())
    rng, results = np.random.default_rng(seed), []
    inputs = None
    for level in ("-O0", "-O2", "--exact"):
        folder = tmp_path / level.strip("-")
        folder.mkdir()
        dnncc.compile_model(path, folder, [level])
        program = dnncc.build_host(folder, dnncc.SANITIZE)
        if inputs is None:
            inputs = [(rng.random(s, np.float32) * 4 - 1).astype(dnncc.numpy_type(t))
                      for given, _, t, s in dnncc.describe(program) if given]
        results.append(dnncc.run_host(program, inputs))
    for plain, optimized, exact in zip(*results):
        assert np.array_equal(plain, exact, equal_nan=plain.dtype.kind == "f")
        np.testing.assert_allclose(optimized.astype(float), plain.astype(float), rtol=1e-5, atol=1e-5)
