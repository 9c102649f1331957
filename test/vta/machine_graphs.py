# SPDX-License-Identifier: MIT
"""Quantized graphs as --requantize=shift leaves them, as text: bytes, sums of products, shifts and bounds. For the tests of what a machine
can be given."""
import numpy as np

LOW, HIGH = -128, 127


class Graph:
    """builds Tensor IR; values are names, self.shape has their extents"""

    def __init__(self, shape, seed=0):
        self.rng = np.random.default_rng(seed)
        self.constants, self.lines, self.shape, self.count = [], [], {}, 0
        self.input = self.named("%x", shape)
        self.outputs = []

    def named(self, name, shape):
        self.shape[name] = tuple(shape)
        return name

    def op(self, text, shape, element):
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {text} : <{''.join(f'{d} x ' for d in shape)}{element}>")
        return self.named(name, shape)

    def constant(self, array, element):
        name = f"@c{len(self.constants)}"
        data = array.astype({"i8": "<i1", "i32": "<i4"}[element]).tobytes().hex()
        self.constants.append(f"const {name} : <{''.join(f'{d} x ' for d in array.shape)}{element}> = hex \"{data}\"")
        return name

    def numbers(self, low, high, shape):
        return self.rng.integers(low, high + 1, shape)

    # ---- layers ----

    def whole(self, x, zero=0):
        shape = self.shape[x]
        v = self.op(f"cast({x}) to=i32", shape, "i32")
        return self.op(f"sub({v}, {zero})", shape, "i32") if zero else v

    def bytes(self, v, shift, low=LOW, high=HIGH):
        """of sums: shifted by one amount, or by one for each 16 outputs"""
        shape = self.shape[v]
        if isinstance(shift, int):
            v = self.op(f"shr({v}, {shift})", shape, "i32")
        else:
            amounts = self.constant(np.repeat(shift, 16)[:shape[1]], "i32")
            v = self.op(f"shr({v}, {self.op(f'broadcast({amounts}) dims=[1]', shape, 'i32')})", shape, "i32")
        v = self.op(f"max({v}, {low})", shape, "i32")
        v = self.op(f"min({v}, {high})", shape, "i32")
        return self.op(f"cast({v}) to=i8", shape, "i8")

    def biased(self, v, most):
        shape = self.shape[v]
        bias = self.constant(self.numbers(-most, most, shape[1]), "i32")
        return self.op(f"add({v}, {self.op(f'broadcast({bias}) dims=[1]', shape, 'i32')})", shape, "i32")

    def convolve(self, x, outputs, window, strides=(1, 1), pads=(0, 0, 0, 0), groups=1, zero=0, shift=None, bias=20000, relu=False, sums=False):
        n, channels, *size = self.shape[x]
        w = self.constant(self.numbers(-127, 127, (outputs, channels // groups, *window)), "i8")
        out = [(s + pads[d] + pads[d + 2] - window[d]) // strides[d] + 1 for d, s in enumerate(size)]
        v = self.op(f"convolve({self.whole(x, zero) if zero else x}, {w}) strides=[{strides[0]}, {strides[1]}] pads=[{', '.join(map(str, pads))}] "
                    f"groups={groups} accumulator=i32", (n, outputs, *out), "i32")
        v = self.biased(v, bias)
        if shift is None:
            shift = int(np.log2(channels // groups * window[0] * window[1])) // 2 + 8
        return v if sums else self.bytes(v, shift, -20 if relu else LOW)

    def add(self, sums, x, factor, shift=7):
        """sums of a layer, and other bytes times a byte"""
        shape = self.shape[sums]
        v = self.op(f"shr({sums}, 6)", shape, "i32")
        other = self.op(f"mul({self.whole(x)}, {factor})", shape, "i32")
        return self.bytes(self.op(f"add({v}, {other})", shape, "i32"), shift)

    def largest(self, x, window, stride, pad):
        n, c, *size = self.shape[x]
        out = [(s + 2 * pad - window) // stride + 1 for s in size]
        return self.op(f"reduce_window({x}) kind=max window=[1, 1, {window}, {window}] strides=[1, 1, {stride}, {stride}] "
                       f"pads=[0, 0, {pad}, {pad}, 0, 0, {pad}, {pad}]", (n, c, *out), "i8")

    def average(self, x, zero=0, window=None, stride=1):
        n, c, *size = self.shape[x]
        v = self.whole(x, zero)
        if window is None:
            v = self.op(f"reduce({v}, <2 x i64> [2, 3])", (n, c), "i32")
            elements = size[0] * size[1]
        else:
            out = [(s - window) // stride + 1 for s in size]
            v = self.op(f"reduce_window({v}) kind=sum window=[1, 1, {window}, {window}] strides=[1, 1, {stride}, {stride}]", (n, c, *out), "i32")
            elements = window * window
        v = self.op(f"mul({v}, 113)", self.shape[v], "i32")
        return self.bytes(v, int(np.log2(113 * elements)))

    def dense(self, x, outputs):
        rows, k = self.shape[x]
        w = self.constant(self.numbers(-127, 127, (outputs, k)), "i8")
        v = self.op(f"dot({x}, {w}) contract_a=[1] contract_b=[1] accumulator=i32", (rows, outputs), "i32")
        return self.bytes(self.biased(v, 9000), int(np.log2(k)) // 2 + 8)

    def scaled(self, x, factor=77):
        v = self.op(f"mul({self.whole(x)}, {factor})", self.shape[x], "i32")
        return self.bytes(v, 6)

    # ---- all of it ----

    def text(self, *outputs):
        shape = "".join(f"{d} x " for d in self.shape[self.input])
        ports = ", ".join(f'"y{k}"' for k in range(len(outputs)))
        return "\n".join(["dnn 1", 'module "m"', *self.constants, f'func @main({self.input} "x": <{shape}i8>) -> ({ports}) {{', *self.lines,
                          f"  yield({', '.join(outputs)})", "}", ""])


def random_graph(seed):
    """a few layers of small extents"""
    rng = np.random.default_rng(seed)
    pick = lambda *choices: choices[rng.integers(len(choices))]  # noqa: E731
    g = Graph((1, int(pick(1, 3, 8, 16, 20, 32)), int(rng.integers(5, 13)), int(rng.integers(5, 13))), seed)
    x = g.input
    for _ in range(int(rng.integers(1, 5))):
        n, c, *size = g.shape[x]
        kind = pick("convolve", "convolve", "depthwise", "residual", "largest", "average", "scaled")
        if kind == "convolve":
            k = int(rng.integers(1, min(4, *[s + 1 for s in size])))
            stride, pad = int(rng.integers(1, 3)), int(rng.integers(0, k))
            outputs = int(pick(8, 16, 24, 32, 48))
            shift = pick(None, [int(s) for s in rng.integers(9, 12, -(-outputs // 16))])
            x = g.convolve(x, outputs, (k, k), (stride, stride), (pad,) * 4, zero=int(pick(0, 5, -128)), shift=shift, relu=bool(pick(0, 1)),
                           bias=int(pick(0, 100, 20000, 400000)))
        elif kind == "depthwise" and min(size) >= 3:
            stride = int(rng.integers(1, 3))
            x = g.convolve(x, c, (3, 3), (stride, stride), (1, 1, 1, 1), groups=c, zero=int(pick(0, -7)))
        elif kind == "residual":
            x = g.add(g.convolve(x, c, (1, 1), sums=True), x, int(pick(1, 64, 99, -3)))
        elif kind == "largest" and min(size) >= 3:
            window = int(rng.integers(2, 4))
            x = g.largest(x, window, int(rng.integers(1, 3)), int(rng.integers(0, 2)))
        elif kind == "average" and min(size) >= 2:
            x = g.average(x, int(pick(0, 3)), 2, int(rng.integers(1, 3)))
        elif kind == "scaled":
            x = g.scaled(x)
    if rng.integers(3) == 0:
        x = g.dense(g.average(x, int(pick(0, -128))), int(pick(10, 16, 33)))
    return g.text(x)
