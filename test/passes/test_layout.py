# SPDX-License-Identifier: MIT
"""Random small convolutional networks: --check compares what they compute before and after layout and every other pass, for a
target with vectors. Extents are small and channels of all kinds: tails of blocks, few, one, groups, depthwise."""
import math
import pathlib
import random
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

SHARE = 30                              # programs in a test


class Network:
    """A random function in the text form of the Tensor IR."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.spatial = self.r.choice([1, 2, 2, 2, 3])
        self.lines, self.values, self.inputs, self.constants = [], [], [], []
        for _ in range(self.r.randint(1, 2)):
            shape = (self.r.choice([1, 1, 2]), self.channels(), *self.extents(self.spatial))
            self.values.append((self.input(shape), shape))
        steps = [self.convolve] * 4
        steps += [self.transposed, self.bias, self.unary, self.residual, self.pool, self.concat, self.slice, self.pad, self.squeeze,
                  self.gate, self.flatten, self.gather, self.compare, self.transpose, self.dot, self.channel_sum, self.moments, self.shuffle]
        self.convolve()
        for _ in range(self.r.randint(3, 14)):
            self.r.choice(steps)()

    def extents(self, k):
        return tuple(self.r.randint(3, 7 if k < 3 else 5) for _ in range(k))

    def windows(self, k):
        """window, strides, pads"""
        choices = ([1, 1, 2, 3], k), ([1, 1, 2, 3], k), ([0, 0, 1, 2, 1, -1], 2 * k)
        return [[self.r.choice(of) for _ in range(count)] for of, count in choices]

    def channels(self):
        return self.r.choice([1, 3, 4, 8, 16, 16, 17, 24, 32, 32, 33, 48])

    def type(self, shape, element="f32"):
        return "<" + "".join(f"{d} x " for d in shape) + element + ">"

    def ints(self, values):
        return f"<{len(values)} x i64> [{', '.join(map(str, values))}]"

    def input(self, shape):
        self.inputs.append(f'%in{len(self.inputs)} "in{len(self.inputs)}": {self.type(shape)}')
        return f"%in{len(self.inputs) - 1}"

    def weights(self, shape):
        """a constant of small numbers, or (to test packing by operations) an input"""
        if self.r.random() < 0.3:
            return self.input(shape)
        numbers = ", ".join(str(self.r.randint(-8, 8) / 8) for _ in range(math.prod(shape)))
        self.constants.append(f"const @w{len(self.constants)} : {self.type(shape)} = [{numbers}]")
        return f"@w{len(self.constants) - 1}"

    def emit(self, text, shape, element="f32", keep=True):
        keep = keep and math.prod(shape) <= 8192
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text} : {self.type(shape, element)}")
        if keep:
            self.values.append((name, shape))
        return name

    def pick(self, least=3):
        """a recent value of at least this rank"""
        fitting = [v for v in self.values if len(v[1]) >= least]
        return self.r.choice(fitting[-4:])

    def same(self, shape):
        return self.r.choice([v for v, s in self.values if s == shape])

    def convolve(self):
        x, shape = self.pick()
        n, c, space = shape[0], shape[1], shape[2:]
        divisors = [g for g in (1, 2, 3, 4, 8, 16) if c % g == 0]
        groups = self.r.choice([1, 1, 1, c, self.r.choice(divisors), self.r.choice(divisors)])
        per_group = self.r.choice([1, 2, 4, 8, 16]) if groups > 1 else self.channels()
        if groups == c > 1 and self.r.random() < 0.8:
            per_group = 1
        k = len(space)
        window, strides, pads = self.windows(k)
        dilations = [self.r.choice([1, 1, 1, 2]) for _ in range(k)]
        out = []
        for d in range(k):
            room = space[d] + pads[d] + pads[k + d] - ((window[d] - 1) * dilations[d] + 1)
            if room < 0 or space[d] + min(pads[d], 0) + min(pads[k + d], 0) <= 0:
                return
            out.append(room // strides[d] + 1)
        w = self.weights((groups * per_group, c // groups, *window))
        self.emit(f"convolve({x}, {w}) strides={strides} dilations={dilations} pads={pads} groups={groups}",
                  (n, groups * per_group, *out))

    def transposed(self):
        x, shape = self.pick()
        n, c, space = shape[0], shape[1], shape[2:]
        k = len(space)
        groups = self.r.choice([1, 1, c, self.r.choice([g for g in (1, 2, 4, 16) if c % g == 0])])
        m = groups * self.r.choice([1, 1, 2, 8]) if groups > 1 else self.channels()
        steps, window = [self.r.choice([1, 2, 2, 3]) for _ in range(k)], [self.r.choice([1, 2, 3, 4]) for _ in range(k)]
        pads = [self.r.choice([0, 1, 2, 3, -1]) for _ in range(2 * k)]
        if self.r.random() < 0.4:       # no element is in two windows
            window, pads = steps, [w - 1 for w in steps + steps]
        out = [(space[d] - 1) * steps[d] + 1 + pads[d] + pads[k + d] - window[d] + 1 for d in range(k)]
        if min(out) < 1 or any((space[d] - 1) * steps[d] + 1 + min(pads[d], 0) + min(pads[k + d], 0) < 1 for d in range(k)):
            return
        w = self.weights((m, c // groups, *window))
        self.emit(f"convolve({x}, {w}) input_dilations={steps} pads={pads} groups={groups}", (n, m, *out))

    def bias(self):
        x, shape = self.pick(2)
        which = self.r.choice([(shape[1],), (shape[1],), shape[2:], (1, shape[1]), shape[-1:], (shape[1], 1)])
        first = {(shape[1],): 1, (shape[1], 1): 1, (1, shape[1]): 0}.get(which, len(shape) - len(which))
        if first + len(which) > len(shape) or not which:
            return
        dims = list(range(first, first + len(which)))
        if any(d != 1 and d != shape[k] for d, k in zip(which, dims)):
            return
        b = self.emit(f"broadcast({self.weights(which)}) dims={dims}", shape, keep=False)
        self.emit(f"{self.r.choice(['add', 'mul', 'sub'])}({x}, {b})", shape)

    def unary(self):
        x, shape = self.pick(2)
        self.emit(self.r.choice([f"max({x}, 0.0)", f"abs({x})", f"mul({x}, 0.25)", f"neg({x})", f"sigmoid({x})"]), shape)

    def residual(self):
        x, shape = self.pick(2)
        self.emit(f"{self.r.choice(['add', 'max', 'mul'])}({x}, {self.same(shape)})", shape)

    def pool(self):
        x, shape = self.pick()
        k = len(shape) - 2
        window = [self.r.choice([1, 2, 3]) for _ in range(k)]
        strides = [self.r.choice([1, 2]) for _ in range(k)]
        if self.r.random() < 0.3:       # one that is done along one dimension after the other
            window, strides = [5] * k, [1] * k
        pads = [self.r.choice([0, 0, 1]) + (w > 4) for w in window + window]
        out = [(shape[2 + d] + pads[d] + pads[k + d] - window[d]) // strides[d] + 1 for d in range(k)]
        if min(out) < 1 or any(p >= w for p, w in zip(pads, window + window)):
            return
        kind = self.r.choice(["max", "sum"])
        self.emit(f"reduce_window({x}) kind={kind} window={[1, 1] + window} strides={[1, 1] + strides} "
                  f"pads={[0, 0] + pads[:k] + [0, 0] + pads[k:]}", (*shape[:2], *out))

    def concat(self):
        x, shape = self.pick(2)
        axis = self.r.choice([1, 1, 1, self.r.randrange(len(shape))])
        others = shape[:axis] + shape[axis + 1:]
        parts = [(v, s) for v, s in self.values if len(s) == len(shape) and s[:axis] + s[axis + 1:] == others]
        parts = [(x, shape)] + [self.r.choice(parts) for _ in range(self.r.choice([1, 2]))]
        extent = sum(s[axis] for _, s in parts)
        if extent <= 80:
            self.emit(f"concat({', '.join(v for v, _ in parts)}) axis={axis}", (*shape[:axis], extent, *shape[axis + 1:]))

    def slice(self):
        x, shape = self.pick(2)
        starts, steps, sizes = [0] * len(shape), [1] * len(shape), list(shape)
        for d in self.r.sample(range(len(shape)), self.r.choice([1, 2])):
            starts[d] = self.r.choice([0, 16, 32]) if d == 1 else self.r.randrange(shape[d])
            starts[d] = min(starts[d], shape[d] - 1)
            steps[d] = self.r.choice([1, 1, 2])
            sizes[d] = self.r.randint(1, (shape[d] - 1 - starts[d]) // steps[d] + 1)
        self.emit(f"slice({x}, {self.ints(starts)}, {self.ints(steps)})", tuple(sizes))

    def pad(self):
        x, shape = self.pick()
        low = [0, self.r.choice([0, 0, 0, 1])] + [self.r.choice([0, 1, -1]) for _ in shape[2:]]
        sizes = [shape[d] + low[d] + (self.r.choice([0, 1]) if d > 1 else 0) for d in range(len(shape))]
        mode = self.r.choice(["", "", " mode=edge"])
        kept = [n + min(k, 0) for n, k in zip(shape, low)]
        if min(sizes + kept) > 0:       # modes repeat what is kept
            value = "" if mode else "<f32> 0.5, "
            self.emit(f"pad({x}, {value or 'none, '}{self.ints(low)}){mode}", tuple(sizes))

    def squeeze(self):
        """global pooling"""
        x, shape = self.pick()
        axes = sorted(self.r.sample(range(2, len(shape)), self.r.randint(1, len(shape) - 2)))
        rest = tuple(d for k, d in enumerate(shape) if k not in axes)
        y = self.emit(f"reduce({x}, {self.ints(axes)}) kind={self.r.choice(['sum', 'max'])}", rest)
        if len(rest) == 2 and self.r.random() < 0.7:
            self.emit(f"reshape({y})", (*rest, *[1] * (len(shape) - 2)))

    def gate(self):
        x, shape = self.pick()
        fitting = [(v, s) for v, s in self.values if len(s) == len(shape) and s[:2] == shape[:2] and all(d == 1 for d in s[2:])]
        if fitting:
            g = self.emit(f"broadcast({self.r.choice(fitting)[0]}) dims={list(range(len(shape)))}", shape, keep=False)
            self.emit(f"mul({x}, {g})", shape)

    def flatten(self):
        x, shape = self.pick()
        count = math.prod(shape[2:])
        self.emit(f"reshape({x})", self.r.choice([(*shape[:2], count), (shape[0], shape[1] * count), (*shape, 1)]))

    def gather(self):
        x, shape = self.pick()
        axis = self.r.randrange(len(shape))
        index = [self.r.randrange(shape[axis]) for _ in range(self.r.randint(1, 4))]
        if shape[axis] <= 8 and self.r.random() < 0.5:  # to the nearest neighbour
            index = [i // 2 for i in range(2 * shape[axis])]
        self.emit(f"gather({x}, {self.ints(index)}) axis={axis}", (*shape[:axis], len(index), *shape[axis + 1:]))

    def compare(self):
        x, shape = self.pick(2)
        c = self.emit(f"lt({x}, {self.same(shape)})", shape, "bool", keep=False)
        self.emit(f"select({c}, {x}, {self.same(shape)})", shape)

    def transpose(self):
        x, shape = self.pick(2)
        perm = self.r.choice([[0, *range(2, len(shape)), 1], [0, len(shape) - 1, *range(1, len(shape) - 1)]])
        self.emit(f"transpose({x}) perm={perm}", tuple(shape[p] for p in perm))

    def shuffle(self):
        """of channels, and perhaps a part of them"""
        x, (n, c, *space) = self.pick()
        a = self.r.choice([d for d in range(1, c + 1) if c % d == 0])
        x = self.emit(f"reshape({x})", (n, a, c // a, *space), keep=False)
        x = self.emit(f"transpose({x}) perm={[0, 2, 1, *range(3, 3 + len(space))]}", (n, c // a, a, *space), keep=False)
        x = self.emit(f"reshape({x})", (n, c, *space))
        if c > 1 and self.r.random() < 0.5:
            start = self.r.randrange(c - 1)
            self.emit(f"slice({x}, {self.ints([0, start] + [0] * len(space))}, {self.ints([1] * (2 + len(space)))})",
                      (n, self.r.randint(1, c - start), *space))

    def dot(self):
        x, shape = self.pick(2)
        k = self.r.randrange(len(shape))
        n = self.r.choice([1, 5, 16, 40])
        w, contract = (self.weights((shape[k], n)), 0) if self.r.random() < 0.5 else (self.weights((n, shape[k])), 1)
        self.emit(f"dot({x}, {w}) contract_a=[{k}] contract_b=[{contract}]", (*shape[:k], *shape[k + 1:], n))
        if len(shape) > 2 and shape[0] * shape[1] < 64:
            self.emit(f"dot({x}, {self.same(shape)}) batch_a=[0] batch_b=[0] contract_a=[1] contract_b=[1]",
                      (shape[0], *shape[2:], *shape[2:]))

    def channel_sum(self):
        x, shape = self.pick(2)
        y = self.emit(f"reduce({x}, <1 x i64> 1)", (shape[0], *shape[2:]), keep=False)
        dims = [0, *range(2, len(shape))]
        b = self.emit(f"broadcast({y}) dims={dims}", shape, keep=False)
        self.emit(f"sub({x}, {b})", shape)

    def moments(self):
        """a normalization by what the positions of all images have"""
        x, shape = self.pick(2)
        y = self.emit(f"reduce({x}, {self.ints([0, *range(2, len(shape))])}) kind={self.r.choice(['sum', 'max'])}", (shape[1],), keep=False)
        b = self.emit(f"broadcast({y}) dims=[1]", shape, keep=False)
        self.emit(f"sub({x}, {b})", shape)

    def text(self):
        outputs = [self.values[-1]] + self.r.sample(self.values, self.r.choice([0, 0, 1]))
        names = ", ".join(f'"out{k}"' for k in range(len(outputs)))
        return ('dnn 1\nmodule "random"\n' + "".join(c + "\n" for c in self.constants) +
                f'func @main({", ".join(self.inputs)}) -> ({names}) {{\n' + "\n".join(self.lines) +
                f"\n  yield({', '.join(v for v, _ in outputs)})\n}}\n")


class Few(Network):
    """Few channels and long rows: convolutions that stay as they are, between such as do not; filters of signals."""

    def channels(self):
        return self.r.choice([1, 1, 2, 3, 3, 4, 8, 16])

    def extents(self, k):
        return tuple(self.r.randint(3, 6) for _ in range(k - 1)) + (self.r.choice([20, 37, 70]),)

    def windows(self, k):
        window = [self.r.choice([1, 2, 3]) for _ in range(k)]
        if k == 1 and self.r.random() < 0.3:
            window = [self.r.choice([17, 40])]
        return window, [self.r.choice([1, 1, 1, 2]) for _ in range(k)], [self.r.choice([0, window[-1] // 2]) for _ in range(2 * k)]


class Attention(Network):
    """Rows of features, [batch, rows, features]: projections whose outputs are cut into parts and heads, products of heads."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.lines, self.values, self.inputs, self.constants = [], [], [], []
        self.head = self.r.choice([8, 16, 32, 48])
        self.heads = self.r.choice([1, 2, 3])
        self.rows = self.r.choice([1, 5, 16, 17, 32, 40])
        shape = (self.r.choice([1, 1, 2]), self.rows, self.head * self.heads)
        self.values.append((self.input(shape), shape))
        for _ in range(self.r.randint(1, 4)):
            self.r.choice([self.attend, self.attend, self.feed, self.norm])()

    def project(self, x, parts=1):
        (n, s, k), outputs = self.values[-1][1], self.head * self.heads * parts
        w, contract = (self.weights((k, outputs)), 0) if self.r.random() < 0.5 else (self.weights((outputs, k)), 1)
        flat = self.r.random() < 0.3                # as Gemm has it
        if flat:
            x = self.emit(f"reshape({x})", (n * s, k), keep=False)
        shape = (n * s, outputs) if flat else (n, s, outputs)
        y = self.emit(f"dot({x}, {w}) contract_a=[{len(shape) - 1}] contract_b=[{contract}]", shape, keep=False)
        if self.r.random() < 0.7:
            b = self.emit(f"broadcast({self.weights((outputs,))}) dims=[{len(shape) - 1}]", shape, keep=False)
            y = self.emit(f"add({y}, {b})", shape, keep=False)
        return self.emit(f"reshape({y})", (n, s, outputs), keep=False) if flat else y

    def split(self, y, perm):
        (n, s, _), dims = self.values[-1][1], None
        y = self.emit(f"reshape({y})", (n, s, self.heads, self.head), keep=False)
        dims = (n, s, self.heads, self.head)
        return self.emit(f"transpose({y}) perm={perm}", tuple(dims[p] for p in perm), keep=False)

    def attend(self):
        x, (n, s, features) = self.values[-1]
        if features != self.head * self.heads:
            return self.feed()
        if self.r.random() < 0.5:
            y, parts, width = self.project(x, 3), [], self.head * self.heads
            for k in range(3):
                starts = self.ints([0, 0, k * width])
                parts.append(self.emit(f"slice({y}, {starts}, {self.ints([1, 1, 1])})", (n, s, width), keep=False))
        else:
            parts = [self.project(x) for _ in range(3)]
        q, v = self.split(parts[0], [0, 2, 1, 3]), self.split(parts[2], [0, 2, 1, 3])
        if self.r.random() < 0.5:
            k = self.split(parts[1], [0, 2, 3, 1])
        else:
            k = self.split(parts[1], [0, 2, 1, 3])
            self.values.insert(0, (k, (n, self.heads, s, self.head)))       # a cache, perhaps an output
            k = self.emit(f"transpose({k}) perm=[0, 1, 3, 2]", (n, self.heads, self.head, s), keep=False)
        scores = (n, self.heads, s, s)
        y = self.emit(f"dot({q}, {k}) batch_a=[0, 1] batch_b=[0, 1] contract_a=[3] contract_b=[2]", scores, keep=False)
        y = self.emit(f"mul({y}, 0.125)", scores, keep=False)
        y = self.emit(f"sigmoid({y})", scores, keep=False)
        total = self.emit(f"reduce({y}, <1 x i64> 3)", scores[:3], keep=False)
        total = self.emit(f"broadcast({total}) dims=[0, 1, 2]", scores, keep=False)
        y = self.emit(f"div({y}, {total})", scores, keep=False)
        heads = (n, self.heads, s, self.head)
        y = self.emit(f"dot({y}, {v}) batch_a=[0, 1] batch_b=[0, 1] contract_a=[3] contract_b=[2]", heads, keep=False)
        y = self.emit(f"transpose({y}) perm=[0, 2, 1, 3]", (n, s, self.heads, self.head), keep=False)
        y = self.project(self.emit(f"reshape({y})", (n, s, features), keep=False))
        self.emit(f"add({y}, {x})", (n, s, features))

    def feed(self):
        x, (n, s, _) = self.values[-1]
        shape = (n, s, self.head * self.heads)
        y = self.project(x)
        t = self.emit(f"tanh({y})", shape, keep=False)
        self.emit(f"mul({y}, {t})", shape)

    def norm(self):
        x, (n, s, features) = self.values[-1]
        m = self.emit(f"reduce({x}, <1 x i64> 2)", (n, s), keep=False)
        m = self.emit(f"mul({m}, {1 / features})", (n, s), keep=False)
        m = self.emit(f"broadcast({m}) dims=[0, 1]", (n, s, features), keep=False)
        self.emit(f"sub({x}, {m})", (n, s, features))


@pytest.mark.parametrize("channels,groups,outputs", [(4, 4, 8), (4, 4, 4), (32, 2, 32), (32, 4, 8), (20, 1, 5)])
def test_phases_without_weights(tmp_path, channels, groups, outputs):
    """a window narrower than the step: whole phases of the result are zeros, in the blocks of the others"""
    path = tmp_path / "n.dnn"
    path.write_text(f"""dnn 1
module "n"
func @main(%x "x": <1 x {channels} x 5 x f32>, %w "w": <{outputs} x {channels // groups} x 1 x f32>) -> ("y") {{
  %0 = convolve(%x, %w) input_dilations=[2] groups={groups} : <1 x {outputs} x 9 x f32>
  %1 = abs(%0) : <1 x {outputs} x 9 x f32>
  yield(%1)
}}
""")
    done = dnncc.run([dnncc.DNNCC, path, "--target=x86-64-v4", "-o", tmp_path / "n.c", "--check"], cwd=tmp_path)
    assert done.returncode == 0 and "layout: equal" in done.stderr, done.stderr


@pytest.mark.parametrize("network,first", [(Network, 30 * k) for k in range(4)] + [(Few, 30 * k) for k in range(2)] +
                         [(Attention, 30 * k) for k in range(2)])
@pytest.mark.sample(8)
def test_layout(tmp_path, network, first):
    packed = plain = 0
    for seed in range(first, first + SHARE):
        path = tmp_path / f"n{seed}.dnn"
        path.write_text(network(seed).text())
        done = dnncc.run([dnncc.DNNCC, path, "--target=x86-64-v4", "-o", tmp_path / "n.loops", "--emit=loops", "--check",
                          "--print-ir-after=layout"], cwd=tmp_path)
        assert done.returncode == 0, (seed, done.stderr[-3000:])
        checks = dnncc.checks(done)
        assert checks and all(line.endswith(": equal") for line in checks), (seed, checks)
        packed += "convolve_packed(" in done.stderr or "convolve_lanes(" in done.stderr
        plain += "convolve(" in done.stderr
    assert packed > SHARE // 3, packed
    assert network is not Few or plain > SHARE // 4, plain


ROWS_BEFORE_WINDOWS = """func @main(%x "x": <3 x 7 x 7 x 4 x f32>, %b "b": <7 x f32>) -> ("y") {
  %0 = dot(%x, @p) contract_a=[3] contract_b=[0] : <3 x 7 x 7 x 5 x f32>
  %1 = max(%0, 0.0) : <3 x 7 x 7 x 5 x f32>
  %2 = convolve(%1, @q) pads=[1, 1, 1, 1] groups=7 : <3 x 7 x 8 x 5 x f32>
  %3 = broadcast(%b) dims=[1] : <3 x 7 x 8 x 5 x f32>
  %4 = add(%2, %3) : <3 x 7 x 8 x 5 x f32>
  yield(%4)
}
"""


@pytest.mark.parametrize("channels", [32, 20])
def test_moments_of_blocks(tmp_path, channels):
    """a normalization by the moments of a batch leaves blocks as they are: nothing of an image's size is moved"""
    (tmp_path / "m.dnn").write_text(f"""dnn 1
module "m"
const @w : <{channels} x {channels} x 3 x 3 x f32> = 0.5
func @main(%x: <2 x {channels} x 24 x 24 x f32>) -> ("y") {{
  %a = convolve(%x, @w) pads=[1, 1, 1, 1] : <2 x {channels} x 24 x 24 x f32>
  %s = reduce(%a, <3 x i64> [0, 2, 3]) : <{channels} x f32>
  %b = broadcast(%s) dims=[1] : <2 x {channels} x 24 x 24 x f32>
  %c = sub(%a, %b) : <2 x {channels} x 24 x 24 x f32>
  %y = convolve(%c, @w) pads=[1, 1, 1, 1] : <2 x {channels} x 24 x 24 x f32>
  yield(%y)
}}
""")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "--target=x86-64-v4", "--passes=layout", "--emit=ir", "-o", "-"])
    assert done.returncode == 0, done.stderr
    middle = done.stdout[done.stdout.index("convolve_packed("):done.stdout.rindex("convolve_packed(")]
    assert " = reduce(" in middle and not re.search(r" = transpose\(.*24", middle), done.stdout


@pytest.mark.parametrize("target", ["x86-64-v4", "aarch64-sve256", "riscv64-v256"])
def test_rows_before_windows(target, tmp_path):
    """what a product of rows makes has another form than the few channels of the depthwise window behind it"""
    random = np.random.default_rng(1)
    constants = [f"const @{name} : <{' x '.join(map(str, dims))} x f32> = hex \"{random.standard_normal(dims).astype(np.float32).tobytes().hex()}\"\n"
                 for name, dims in (("p", (4, 5)), ("q", (7, 1, 2, 3)))]
    (tmp_path / "m.dnn").write_text('dnn 1\nmodule "m"\n' + "".join(constants) + ROWS_BEFORE_WINDOWS)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", f"--target={target}", "--check", "-o", tmp_path / "m.c"])
    assert done.returncode == 0 and "layout: equal" in done.stdout + done.stderr, done.stderr
