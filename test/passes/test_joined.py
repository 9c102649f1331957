# SPDX-License-Identifier: MIT
"""Contractions of one operand that become one, with outputs side by side: where they do, and that random graphs of them compute the same
bits before and after every pass, in the interpreter and in C."""
import pathlib
import random
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

ALWAYS, NEVER = "--limit=joined_percent=1000000", "--limit=joined_percent=0"
GRAPHS = 6                              # graphs in one program


class Program:
    """GRAPHS random graphs in the text form of the Tensor IR: of an input, contractions, operations behind them, readers"""

    def __init__(self, seed):
        self.r, self.lines, self.inputs, self.outputs = random.Random(seed), [], [], []
        for _ in range(GRAPHS):
            self.r.choice([self.convolutions, self.convolutions, self.products])()

    def emit(self, text, shape):
        self.lines.append(f"  %v{len(self.lines)} = {text} : {self.type(shape)}")
        return f"%v{len(self.lines) - 1}", tuple(shape)

    def type(self, shape):
        return "<" + "".join(f"{d} x " for d in shape) + "f32>"

    def constant(self, *shape):
        numbers = (self.r.randint(-64, 64) / 32 for _ in range(int(np.prod(shape))))
        return f"{self.type(shape)} [{', '.join(map(str, numbers))}]"

    def operand(self, shape):
        x = f"%in{len(self.inputs)}"
        self.inputs.append(f'{x} "in{len(self.inputs)}": {self.type(shape)}')
        return self.emit(f"neg({x})", shape)[0] if self.r.random() < 0.5 else x

    def extents(self):
        """of the outputs of each contraction; some of them fill vectors"""
        return [self.r.choice([1, 2, 3, 4, 5, 8, 12, 15, 16, 17, 20, 32, 40]) for _ in range(self.r.randint(2, 6))]

    def convolutions(self):
        rank = self.r.choice([1, 2, 2, 2])
        x_shape = [self.r.choice([1, 1, 2]), self.r.choice([1, 3, 8, 16, 20, 33]), *(self.r.randint(3, 9) for _ in range(rank))]
        x, window = self.operand(x_shape), self.r.choice([1, 1, 3])
        attributes = f"strides={[self.r.choice([1, 1, 2])] * rank} pads={[self.r.choice([0, window // 2])] * 2 * rank} groups=1"
        ends, chain = [], self.chain()
        for outputs in self.extents():
            own, taps = (attributes, window) if self.r.random() < 0.9 else (f"strides={[1] * rank} pads={[1] * 2 * rank} groups=1", 3)
            step, pad = (int(own.partition(f"{name}=[")[2][0]) for name in ("strides", "pads"))
            shape = [x_shape[0], outputs, *((d + 2 * pad - taps) // step + 1 for d in x_shape[2:])]
            y = self.emit(f"convolve({x}, {self.constant(outputs, x_shape[1], *[taps] * rank)}) {own}", shape)
            ends.append(self.follow(*y, 1, chain))
        self.read(ends, 1)
        if self.r.random() < 0.3:
            self.outputs.append(self.emit(f"abs({x})", x_shape)[0])

    def products(self):
        x_shape = [self.r.choice([1, 2]), self.r.choice([1, 2, 7, 12]), self.r.choice([1, 5, 16, 24])][self.r.choice([0, 1]):]
        x, ends, chain, last = self.operand(x_shape), [], self.chain(), len(x_shape) - 1
        for outputs in self.extents():
            y = self.emit(f"dot({x}, {self.constant(x_shape[-1], outputs)}) contract_a=[{last}] contract_b=[0]", [*x_shape[:-1], outputs])
            ends.append(self.follow(*y, last, chain))
        self.read(ends, last)

    def chain(self):
        return [self.r.choice(["add", "mul", "max", "min", "abs", "number"]) for _ in range(self.r.randint(0, 3))]

    def follow(self, y, shape, axis, chain):
        """what follows all alike, or, once in a while, not"""
        for operation in chain if self.r.random() < 0.85 else self.chain():
            if operation == "abs":
                y, _ = self.emit(f"abs({y})", shape)
            elif operation == "number":
                y, _ = self.emit(f"max({y}, {self.type(shape)} {0.5 if self.r.random() < 0.9 else -0.5})", shape)
            else:
                spread, _ = self.emit(f"broadcast({self.constant(shape[axis])}) dims=[{axis}]", shape)
                y, _ = self.emit(f"{operation}({y}, {spread})", shape)
        return y, shape

    def read(self, ends, axis):
        """each result at least once"""
        for y, shape in ends:
            for _ in range(self.r.choice([1, 1, 1, 2])):
                self.outputs.append(self.r.choice([self.kept, self.turned, self.joined, self.summed, self.convolved, self.pooled])(y, shape, ends, axis))

    def kept(self, y, shape, ends, axis):
        return y if y not in self.outputs else self.emit(f"neg({y})", shape)[0]

    def turned(self, y, shape, ends, axis):
        perm = [d for d in range(len(shape)) if d != axis] + [axis]
        turned, to = self.emit(f"transpose({y}) perm={perm}", [shape[d] for d in perm])
        return self.emit(f"reshape({turned})", [int(np.prod(to[:-1])), to[-1]])[0]

    def joined(self, y, shape, ends, axis):
        others = [(v, s) for v, s in ends if s[:axis] + s[axis + 1:] == shape[:axis] + shape[axis + 1:]]
        parts = [(y, shape), *(self.r.choice(others) for _ in range(2))]
        return self.emit(f"concat({', '.join(v for v, _ in parts)}) axis={axis}", [*shape[:axis], sum(s[axis] for _, s in parts), *shape[axis + 1:]])[0]

    def summed(self, y, shape, ends, axis):
        other = self.r.choice([v for v, s in ends if s == shape])
        return self.emit(f"add({y}, {other})", shape)[0]

    def convolved(self, y, shape, ends, axis):
        if axis == len(shape) - 1:
            return self.emit(f"dot({y}, {self.constant(shape[axis], 18)}) contract_a=[{axis}] contract_b=[0]", [*shape[:-1], 18])[0]
        rank, window = len(shape) - 2, self.r.choice([1, 3])
        w = self.constant(18, shape[1], *[window] * rank)
        return self.emit(f"convolve({y}, {w}) strides={[1] * rank} pads={[window // 2] * 2 * rank} groups=1", [shape[0], 18, *shape[2:]])[0]

    def pooled(self, y, shape, ends, axis):
        if axis == len(shape) - 1 or min(shape[2:]) < 2:
            return self.kept(y, shape, ends, axis)
        return self.emit(f"reduce_window({y}) window=[1, 1{', 2' * (len(shape) - 2)}] kind=max", [*shape[:2], *(d - 1 for d in shape[2:])])[0]

    def text(self):
        names = ", ".join(f'"out{k}"' for k in range(len(self.outputs)))
        return f'dnn 1\nmodule "m"\nfunc @main({", ".join(self.inputs)}) -> ({names}) {{\n' + "\n".join(self.lines) + f"\n  yield({', '.join(self.outputs)})\n}}\n"


def contractions(path, *options):
    done = dnncc.run([dnncc.DNNCC, path, "--emit=ir", "-o", "-", *options])
    assert done.returncode == 0, done.stderr
    return done.stdout.count(" convolve_packed(") + done.stdout.count(" convolve_winograd(") + done.stdout.count(" convolve(") + done.stdout.count(" dot(")


@pytest.mark.sample(54)
@pytest.mark.parametrize("seed", range(100))
def test_random(tmp_path, seed):
    target = ["x86-64-v4", "x86-64-v3", "x86-64", "aarch64"][seed // 2 % 4]
    path = tmp_path / "p.dnn"
    path.write_text(Program(seed).text())
    options = [f"--target={target}", ALWAYS]
    done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "model.c", "--check", *options], cwd=tmp_path)
    assert done.returncode == 0, (seed, done.stderr)
    assert "check: layout: equal" in done.stderr and all(line.endswith(": equal") for line in dnncc.checks(done)), (seed, done.stderr)
    if not processor.here(target):
        return
    r = np.random.default_rng(seed)
    program = dnncc.build_host(tmp_path, ["-O1"], emulator=processor.emulator(target))
    inputs = [(r.random(shape) * 4 - 2).astype(np.float32) for given, _, _, shape in dnncc.describe(program) if given]
    for k, x in enumerate(inputs):
        np.save(tmp_path / f"input_{k}.npy", x)
    done = dnncc.run([dnncc.DNNCC, path, f"--run={tmp_path}", "-q", *options])
    assert done.returncode == 0, (seed, done.stderr)
    for k, got in enumerate(dnncc.run_host(program, inputs)):
        assert got.tobytes() == np.load(tmp_path / f"output_{k}.npy").tobytes(), (seed, k)


def heads(path, outputs, channels=64, window=1, groups=1):
    """convolutions of one operand, with biases, whose results are turned to rows, as detectors have them"""
    r, lines, ends = np.random.default_rng(1), [], []
    for k, n in enumerate(outputs):
        w, b = ("[" + ", ".join(map(str, r.integers(-8, 8, count) / 8)) + "]" for count in (n * channels // groups * window * window, n))
        lines += [f"  %w{k} = convolve(%x, <{n} x {channels // groups} x {window} x {window} x f32> {w}) strides=[1, 1] pads={[window // 2] * 4} groups={groups} "
                  f": <1 x {n} x 20 x 20 x f32>",
                  f"  %b{k} = broadcast(<{n} x f32> {b}) dims=[1] : <1 x {n} x 20 x 20 x f32>",
                  f"  %s{k} = add(%w{k}, %b{k}) : <1 x {n} x 20 x 20 x f32>",
                  f"  %t{k} = transpose(%s{k}) perm=[0, 2, 3, 1] : <1 x 20 x 20 x {n} x f32>",
                  f"  %y{k} = reshape(%t{k}) : <400 x {n} x f32>"]
        ends.append(f"%y{k}")
    names = ", ".join(f'"{e[1:]}"' for e in ends)
    path.write_text(f'dnn 1\nmodule "m"\nfunc @main(%x "x": <1 x {channels} x 20 x 20 x f32>) -> ({names}) {{\n' + "\n".join(lines) +
                    f"\n  yield({', '.join(ends)})\n}}\n")
    return path


def test_choice(tmp_path):
    """few outputs, which one vector holds; not those that fill vectors by themselves, not in groups, not without vectors of outputs"""
    few, v4 = heads(tmp_path / "few.dnn", [3, 12]), "--target=x86-64-v4"
    assert contractions(few, v4) == 1 and contractions(few, v4, NEVER) == 2
    assert contractions(heads(tmp_path / "large.dnn", [3, 12], 256, 3), v4) == 1
    assert contractions(heads(tmp_path / "full.dnn", [64, 64], 64), v4) == 2
    assert contractions(heads(tmp_path / "groups.dnn", [4, 12], 64, 1, 4), v4) == contractions(tmp_path / "groups.dnn", v4, NEVER)
    assert contractions(few, "--target=generic") == 2
    some = heads(tmp_path / "some.dnn", [3, 64, 12])                # the second one is none that saves
    assert contractions(some, v4) == 2
