# SPDX-License-Identifier: MIT
"""Random loops (carried values that change places, rows forward and backward, conditions, ifs and loops inside) against numpy:
the generated C at every level, and --check through every pass."""
import pathlib
import random
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

S, T, R = (2, 3), (3, 2), (6,)
I32 = np.int32


def shown(shape, element="i32"):
    return "<" + "".join(f"{d} x " for d in shape) + element + ">"


class Region:
    """Operations as text and as functions of an environment {name: array}."""

    def __init__(self, program, values, indent):
        self.p, self.r, self.indent = program, program.r, indent
        self.values = list(values)              # (name, shape) of i32
        self.lines, self.steps = [], []

    def emit(self, text, shape, function, element="i32", keep=True):
        name = self.p.name()
        self.lines.append(f"{self.indent}{name} = {text} : {shown(shape, element)}")
        self.steps.append(lambda env: env.__setitem__(name, function(env)))
        if keep:
            self.values.append((name, shape))
        return name

    def run(self, env):
        for step in self.steps:
            step(env)

    def pick(self, shape=None):
        fits = [v for v in self.values if shape is None or v[1] == shape]
        return self.r.choice(fits[-6:] if self.r.random() < .7 else fits)

    # operations

    def binary(self):
        x, shape = self.pick()
        y, _ = self.pick(shape)
        code, f = self.r.choice([("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("max", np.maximum), ("min", np.minimum)])
        self.emit(f"{code}({x}, {y})", shape, lambda env: f(env[x], env[y], dtype=I32))

    def unary(self):
        x, shape = self.pick()
        k = self.r.randint(-3, 3)
        if self.r.random() < .5:
            self.emit(f"neg({x})", shape, lambda env: np.negative(env[x]))
        else:
            self.emit(f"add({x}, {k})", shape, lambda env: np.add(env[x], I32(k), dtype=I32))

    def transpose(self):
        x, shape = self.pick()
        if len(shape) == 2:
            self.emit(f"transpose({x}) perm=[1, 0]", shape[::-1], lambda env: env[x].T.copy())

    def reshape(self):
        x, _ = self.pick()
        shape = self.r.choice([S, T, R])
        self.emit(f"reshape({x})", shape, lambda env: env[x].reshape(shape))

    def roll(self):
        x, _ = self.pick(R)
        k = self.r.randint(1, 5)
        a = self.emit(f"slice({x}, <1 x i64> {k}, <1 x i64> 1)", (6 - k,), lambda env: env[x][k:], keep=False)
        b = self.emit(f"slice({x}, <1 x i64> 0, <1 x i64> 1)", (k,), lambda env: env[x][:k], keep=False)
        self.emit(f"concat({a}, {b})", R, lambda env: np.concatenate([env[a], env[b]]))

    def dot(self):
        x, _ = self.pick(S)
        y, _ = self.pick(T)
        d = self.emit(f"dot({x}, {y}) contract_a=[1] contract_b=[0]", (2, 2), lambda env: env[x] @ env[y], keep=False)
        z, _ = self.pick(S)
        self.emit(f"dot({d}, {z}) contract_a=[1] contract_b=[0]", S, lambda env: env[d] @ env[z])

    def total(self):
        x, shape = self.pick()
        axes = range(len(shape))
        return self.emit(f"reduce({x}, <{len(shape)} x i64> [{', '.join(map(str, axes))}])" if len(shape) > 1 else f"reduce({x}, <1 x i64> 0)",
                         (), lambda env: np.add.reduce(env[x], axis=None, dtype=I32), keep=False)

    def condition(self):
        total, limit = self.total(), self.r.choice([-20, 0, 5, 40, 1000])
        return self.emit(f"lt({total}, {limit})", (), lambda env: env[total] < limit, element="bool", keep=False)

    def choice(self):
        c, shape = self.condition(), self.r.choice([S, R])
        regions = [self.inside(2) for _ in range(2)]
        picks = [region.pick(shape)[0] for region in regions]
        name = self.p.name()
        self.lines.append(f"{self.indent}{name} = if({c}) : {shown(shape)} {{")
        for k, (region, pick) in enumerate(zip(regions, picks)):
            self.lines += [*region.lines, f"{self.indent}  yield({pick})", self.indent + ("} else {" if k == 0 else "}")]

        def step(env):
            chosen = 0 if env[c] else 1
            local = dict(env)
            regions[chosen].run(local)
            env[name] = local[picks[chosen]]
        self.steps.append(step)
        self.values.append((name, shape))

    def inside(self, count, extra=(), depth=0):
        region = Region(self.p, [*self.values, *extra], self.indent + "  ")
        region.fill(count, depth)
        return region

    def fill(self, count, depth):
        makers = [self.binary, self.binary, self.unary, self.transpose, self.reshape, self.roll, self.dot, self.choice]
        for _ in range(count):
            self.r.choice(makers)()
        if depth > 0 and self.r.random() < .4:
            self.loop(depth - 1)

    def loop(self, depth):
        r, steps = self.r, self.r.randint(1, 4)
        trip = r.random() < .3
        go = r.random() < .3
        stacked = 0 if go or trip else r.randint(0, 2)
        carried = r.randint(0 if stacked else 1, 3)
        scanned = [v for v in self.p.stacks if v[1][0] == steps][:r.randint(0, 2)]
        firsts = [self.pick() for _ in range(carried)]
        names = [self.p.name() for _ in range(1 + carried + len(scanned))]
        arguments = list(zip(names[1:], [s for _, s in firsts] + [s[1:] for _, s in scanned]))
        body = Region(self.p, [*self.values, *arguments], self.indent + "  ")
        number = body.emit(f"cast({names[0]}) to=i32", (), lambda env: I32(env[names[0]]), keep=False)
        spread = r.choice([S, R])
        body.emit(f"broadcast({number})", spread, lambda env: np.full(spread, env[number], I32))
        long = [v for v in self.p.stacks if v[1][0] >= steps]
        if long and r.random() < .5:
            rows_of, shape = r.choice(long)
            body.emit(f"gather({rows_of}, {names[0]})", shape[1:], lambda env: env[rows_of][env[names[0]]])
        body.fill(r.randint(1, 6), depth)
        nexts = [body.pick(shape)[0] for _, shape in firsts]
        rows = [body.pick() for _ in range(stacked)]
        again = body.condition() if go else None
        flags = [r.randint(0, 1) for _ in range(len(scanned) + stacked)]
        first_go = self.condition() if go else None
        results = [self.p.name() for _ in range(carried + stacked)]
        shapes = [s for _, s in firsts] + [(steps, *s) for _, s in rows]
        attributes = f" steps={steps}" + (f" carried={carried}" if carried else "")
        if any(flags[:len(scanned)]):
            attributes += f" scan_backward={flags[:len(scanned)]}"
        if any(flags[len(scanned):]):
            attributes += f" stack_backward={flags[len(scanned):]}"
        operands = ["%trip" if trip else "none", first_go or "none", *(n for n, _ in firsts), *(n for n, _ in scanned)]
        heads = [f"{names[0]}: <i64>", *(f"{n}: {shown(s)}" for n, s in arguments)]
        self.lines += [f"{self.indent}{', '.join(results)} = loop({', '.join(operands)}){attributes} : "
                       f"{', '.join(map(shown, shapes))} {{({', '.join(heads)})", *body.lines,
                       f"{self.indent}  yield({', '.join([again] * go + nexts + [n for n, _ in rows])})", self.indent + "}"]

        def step(env):
            held = [env[n] for n, _ in firsts]
            stacks = [np.zeros((steps, *s), I32) for _, s in rows]
            count = min(steps, self.p.trip) if trip else steps
            running = bool(env[first_go]) if go else True
            for i in range(count):
                if not running:
                    break
                local = dict(env)
                local[names[0]] = np.int64(i)
                local.update(zip(names[1:], held))
                for (n, _), (x, _), back in zip(arguments[carried:], scanned, flags):
                    local[n] = env[x][steps - 1 - i if back else i]
                body.run(local)
                held = [local[n] for n in nexts]
                for stack, (n, _), back in zip(stacks, rows, flags[len(scanned):]):
                    stack[steps - 1 - i if back else i] = local[n]
                running = bool(local[again]) if go else True
            env.update(zip(results, held + stacks))
        self.steps.append(step)
        self.values += [(n, s) for n, s in zip(results[:carried], shapes)]
        self.p.outputs += [(n, s) for n, s in zip(results, shapes)] if self.indent == "  " else []


class Program:
    """Some loops, one after the other."""

    def __init__(self, seed):
        self.r, self.count, self.outputs = random.Random(seed), 0, []
        self.trip = 1                           # min(%n, 1): more than a loop has steps would be an error where it scans
        shapes = [S, T, R, *((k, *self.r.choice([S, R])) for k in (1, 2, 3, 4))]
        self.inputs = [(f"%x{k}", s) for k, s in enumerate(shapes)]
        self.stacks = self.inputs[3:]
        self.main = Region(self, self.inputs[:3], "  ")
        for _ in range(3):
            self.main.fill(2, 0)
            self.main.loop(2)

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def text(self):
        ports = ", ".join([f'{n} "{n[1:]}": {shown(s)}' for n, s in self.inputs] + ['%n "n": <i64>'])
        names = ", ".join(f'"y{k}"' for k in range(len(self.outputs)))
        return "\n".join(['dnn 1', 'module "p"', f"func @main({ports}) -> ({names}) {{", "  %trip = min(%n, 1) : <i64>", *self.main.lines,
                          f"  yield({', '.join(n for n, _ in self.outputs)})", "}", ""])

    def expected(self, inputs):
        env = dict(zip([n for n, _ in self.inputs], inputs))
        with np.errstate(over="ignore"):
            self.main.run(env)
        return [env[n] for n, _ in self.outputs]


@pytest.mark.sample(2)
@pytest.mark.parametrize("block", range(4))
def test_every_pass(tmp_path, block):
    for seed in range(100 * block, 100 * block + 25):
        path = tmp_path / f"p{seed}.dnn"
        path.write_text(Program(seed).text())
        done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "p.c", "--check", *(["--target=x86-64-v4"] if seed % 2 else [])], cwd=tmp_path)
        assert done.returncode == 0, (seed, path.read_text(), done.stderr)
        checks = dnncc.checks(done)
        assert checks and all(line.endswith(": equal") for line in checks), (seed, done.stderr)
        text = dnncc.run([dnncc.DNNCC, path, "-o", "-", "--emit=ir", "--passes="], cwd=tmp_path).stdout
        (tmp_path / "again.dnn").write_text(text)
        again = dnncc.run([dnncc.DNNCC, tmp_path / "again.dnn", "-o", "-", "--emit=ir", "--passes="], cwd=tmp_path).stdout
        assert text and again == text, seed


@pytest.mark.parametrize("seed", range(1000, 1004))
@pytest.mark.parametrize("options", [["-O0"], ["-O2"], ["--target=x86-64"]], ids=["plain", "optimized", "vectors"])
@pytest.mark.sample(4)
def test_compiled(tmp_path, seed, options):
    program = Program(seed)
    path = tmp_path / "p.dnn"
    path.write_text(program.text())
    dnncc.compile_model(path, tmp_path, options)
    dnncc.check_clang(tmp_path)
    rng = np.random.default_rng(seed)
    inputs = [rng.integers(-4, 5, s, I32) for _, s in program.inputs]
    host = dnncc.build_host(tmp_path, dnncc.SANITIZE)
    for got, want in zip(dnncc.run_host(host, [*inputs, np.array(1, np.int64)]), program.expected(inputs)):
        assert np.array_equal(got, want), (seed, path.read_text())


PEELED = """dnn 1
module "m"
func @main(%x "x": <{steps} x 2 x 3 x f32>) -> ("last", "other", "forward", "back") {{
  %0, %1, %2, %3 = loop(none, none, <2 x 3 x f32> {first}, <2 x 3 x f32> 1.0, %x) steps={steps} carried=2 scan_backward=[{scan}] stack_backward=[0, {stack}]
      : <2 x 3 x f32>, <2 x 3 x f32>, <{steps} x 2 x 3 x f32>, <{steps} x 3 x 2 x f32> {{(%i: <i64>, %h: <2 x 3 x f32>, %c: <2 x 3 x f32>, %row: <2 x 3 x f32>)
    %d = dot(%h, <2 x 2 x f32> [0.5, -1.5, {weight}, 0.25]) contract_a=[0] contract_b=[0] : <3 x 2 x f32>
    %u = transpose(%d) perm=[1, 0] : <2 x 3 x f32>
    %a = add(%row, %u) : <2 x 3 x f32>
    %b = mul(%a, 0.5) : <2 x 3 x f32>
    yield(%b, %h, %a, %d)
  }}
  yield(%0, %1, %2, %3)
}}
"""


@pytest.mark.parametrize("steps, first, scan, stack, weight, left", [(5, "0.0", 0, 0, "2.0", 4), (5, "0.0", 1, 1, "2.0", 4), (2, "0.0", 1, 0, "2.0", 1),
                                                                     (5, "0.5", 0, 1, "2.0", 5), (5, "0.0", 0, 1, "inf", 5), (101, "0.0", 0, 0, "2.0", 101)])
def test_peel(steps, first, scan, stack, weight, left, tmp_path):
    """the first iteration by itself: forward and backward rows, bits equal; not from another state, by infinite weights, not of many"""
    path = tmp_path / "m.dnn"
    path.write_text(PEELED.format(steps=steps, first=first, scan=scan, stack=stack, weight=weight).replace("]\n      :", "] :"))
    x = np.random.default_rng(steps).standard_normal((steps, 2, 3)).astype(np.float32)
    done = dnncc.run([dnncc.DNNCC, path, "--passes=peel,dce", "--emit=ir", "-o", "-"])
    assert done.returncode == 0 and f"steps={left} " in done.stdout and done.stdout.count("dot(") == 1, done.stderr + done.stdout
    results = []
    for passes in ("lower,plan", "peel,dce,lower,plan", "peel,dce,hoist,fuse,lower,plan"):
        folder = tmp_path / passes
        folder.mkdir()
        dnncc.compile_model(path, folder, [f"--passes={passes}"])
        results.append([y.tobytes() for y in dnncc.run_host(dnncc.build_host(folder, ["-O1"]), [x])])
    assert results[0] == results[1] == results[2]
