# SPDX-License-Identifier: MIT
"""Scheduled kernels against canonical ones: random contractions, with random schedules, fusions around them and targets. --check
runs both in the interpreter; the C of this machine's targets is compiled, too, and must agree with the interpreter's result."""
import math
import pathlib
import random
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

COUNT = 60
TARGETS = ["x86-64", "x86-64-v3", "x86-64-v4"]
LANES = {"x86-64": 4, "x86-64-v3": 8, "x86-64-v4": 16}
BYTES = [*TARGETS, "x86-64-v3-vnni", "x86-64-v4-vnni"]            # that multiply bytes, each in its own words


def best():
    """of the targets, for this processor"""
    return [t for t in TARGETS if processor.has(t)][-1]


def shape(*dims):
    return "<" + " x ".join(map(str, dims)) + " x f32>"


def window_of(r, out, largest, wide):
    """strides, dilations, window, and the extents of x for positions `out`"""
    window = [r.randint(2, largest) if r.random() < wide else 1 for _ in out]
    strides, dilations = [r.choice([1, 1, 2]) for _ in out], [r.choice([1, 1, 2]) for _ in out]
    extent = [(o - 1) * s + (k - 1) * d + 1 + r.randrange(s) for o, s, k, d in zip(out, strides, window, dilations)]
    return strides, dilations, window, extent


def program(inputs, body, result, final):
    """a fusion of everything, as text"""
    inside = "\n".join("    " + line for line in body)
    names = ", ".join(sorted((i.split()[0] for i in inputs), key=lambda name: re.search(name + r"\b", inside).start()))
    return (f'dnn 1\nmodule "m"\nfunc @main({", ".join(inputs)}) -> ("y") {{\n'
            f"  %f = fusion({names}) : {shape(*final)} {{\n{inside}\n    yield({result})\n  }}\n  yield(%f)\n}}\n")


class Contraction:
    """A random contraction in a random fusion, as text."""
    sign = "%acc{"                                        # of a scheduled kernel
    spatials = [1, 2, 2, 2, 3]

    def __init__(self, seed, target):
        r = self.r = random.Random(seed)
        spatial = r.choice(self.spatials)
        out = [r.randint(1, 40)] if spatial == 1 else [r.randint(1, 9 if spatial < 3 else 4) for _ in range(spatial)]
        x, w, y, attributes, schedule = self.operation(out, target)
        self.inputs, body = [f'%x "x": {shape(*self.moved_x(x))}'] + ([f'%w "w": {shape(*w)}'] if w else []), []
        source = self.read_x(x, body)
        body.append(f'%c = {self.name}({source}{", %w" if w else ""}) {attributes} schedule="{schedule}" : {shape(*y)}')
        result = self.epilogue("%c", y, body)
        result, final = self.move_y(result, y, body)
        self.text = program(self.inputs, body, result, final)

    def tasks(self):
        return self.r.choice(["", "", " row_tasks=2", " panel_tasks=3", " row_tasks=3 panel_tasks=2"])

    def moved_x(self, x):
        self.move = self.r.choice(["", "", "slice", "transpose"])
        if self.move == "slice":
            return [d + 2 for d in x]
        return [x[p] for p in self.stored(len(x))] if self.move == "transpose" else x

    def stored(self, rank):
        """where a transposed x has its dimensions"""
        return [rank - 1, *range(rank - 1)]

    def read_x(self, x, body):
        if self.move == "slice":
            body.append(f"%s = slice(%x, <{len(x)} x i64> {[1] * len(x)}, <{len(x)} x i64> {[1] * len(x)}) : {shape(*x)}")
        if self.move == "transpose":
            perm = [self.stored(len(x)).index(d) for d in range(len(x))]
            body.append(f"%s = transpose(%x) perm={perm} : {shape(*x)}")
        return "%s" if self.move else "%x"

    def epilogue(self, value, y, body):
        for _ in range(self.r.choice([0, 1, 2, 3])):
            k = len(body)
            kind = self.r.choice(["bias", "residual", "relu", "clip", "sigmoid", "scale"])
            if kind == "bias":
                self.inputs.append(f'%b{k} "b{k}": {shape(y[1], y[-1])}')
                body.append(f"%t{k} = broadcast(%b{k}) dims=[1, {len(y) - 1}] : {shape(*y)}")
                body.append(f"%v{k} = add({value}, %t{k}) : {shape(*y)}")
            elif kind == "residual":
                self.inputs.append(f'%r{k} "r{k}": {shape(*y)}')
                body.append(f"%v{k} = add({value}, %r{k}) : {shape(*y)}")
            else:
                formula = {"relu": f"max({value}, 0.0)", "clip": f"min({value}, 0.5)", "sigmoid": f"sigmoid({value})",
                           "scale": f"mul({value}, 0.25)"}[kind]
                body.append(f"%v{k} = {formula} : {shape(*y)}")
            value = f"%v{k}"
        return value

    def move_y(self, value, y, body):
        if self.r.random() < 0.5:
            return value, y
        low = [0, 0] + [self.r.randint(0, 2) for _ in y[2:-1]] + [0]
        final = [d + 2 * a if a else d for d, a in zip(y, low)]
        body.append(f"%p = pad({value}, <f32> 0.5, <{len(y)} x i64> {low}) : {shape(*final)}")
        return "%p", final


class Packed(Contraction):
    name = "convolve_packed"
    inners = [1, 3, 8, 16, 16, 32]

    def operation(self, out, target):
        r = self.r
        n, groups = r.choice([1, 1, 2]), r.choice([1, 1, 1, 2, 3])
        inner = r.choice(self.inners)
        blocks = r.randint(1, 3)                          # of a group
        channels = r.randint((blocks - 1) * inner + 1, blocks * inner)
        strides, dilations, window, extent = window_of(r, out, 3, 0.35)
        if r.random() < 0.5:
            block = 16 * r.choice([1, 1, 2, 4])
            outputs = r.randint(1, 80) if groups == 1 else block * r.randint(1, 2)
        else:
            outputs = block = r.choice([r.randint(1, 70), 16, 32, 48])
        vectors = r.choice([1, 2, 2, 4])
        panels = groups * -(-(-(-outputs // block) * block) // (16 * vectors))
        attributes = f"strides={strides} dilations={dilations} groups={groups} channels={channels} outputs={outputs} block={block}"
        return ([n, groups * blocks, *extent, inner], [panels, blocks, *window, inner, vectors, 16],
                [n, groups * -(-outputs // block), *out, block], attributes, self.schedule(vectors, target))

    def schedule(self, vectors, target):
        r, lanes = self.r, LANES[target]
        whole = [v for v in (1, 2, 4, 8, 16) if v * lanes % 16 == 0 and vectors * 16 % (v * lanes) == 0]
        rows, columns, split = r.choice([1, 1, 2, 3]), r.choice([1, 2, 5, 7, 14]), r.choice([1, 1, 1, 2, 3])
        while rows * columns * split > 64:
            split -= 1
        return (f"rows={rows} columns={columns} vectors={r.choice(whole)} unroll={r.choice([1, 2, 3, 4])} split={split} ahead={(rows + columns) % 2} "
                f"flat={r.choice([0, 1])} strip={r.choice([0, 0, 1, 2])} prefetch={r.choice([0, 0, 1, 2])}{self.tasks()}")


class Narrow(Packed):
    """weights of bf16 that are brought to f32"""

    def __init__(self, seed, target):
        super().__init__(seed, target)
        self.text = re.sub(r'(%w "w": <[^>]*)x f32>', r"\1x bf16>", self.text)


class Prologue(Packed):
    """What the contraction reads is computed in its kernel, and may have a halo; or it is only gathered."""
    sign = "%strip"
    spatials = [1, 2, 2, 2]
    inners = [16, 16, 32]

    def moved_x(self, x):
        r = self.r
        self.low, high = ([[0, 0] + [r.choice([0, 1, 2]) for _ in x[2:-1]] + [0] for _ in range(2)] if r.random() < 0.5
                          else [[0] * len(x)] * 2)
        self.padded = x if any(self.low + high) else None
        if any(d <= a + b for d, a, b in zip(x, self.low, high)):
            self.padded, self.low, high = None, [0] * len(x), [0] * len(x)
        self.made = [d - a - b for d, a, b in zip(x, self.low, high)]
        return super().moved_x(self.made)

    def read_x(self, x, body):
        value = super().read_x(self.made, body)
        kinds = [] if self.pack else self.r.choices(["scale", "shift", "relu", "add", "rows", "bytes", "sigmoid"], k=self.r.randint(1, 3))
        for k, kind in enumerate(kinds):
            if kind in ("scale", "shift", "rows", "add", "bytes"):
                dims = {"rows": [0, *range(2, len(x) - 1)], "scale": [1, len(x) - 1], "shift": [1, len(x) - 1]}.get(kind, [*range(len(x))])
                of = shape(*(self.made[d] for d in dims))
                self.inputs.append(f'%q{k} "q{k}": {of.replace("f32", "i8") if kind == "bytes" else of}')
                read = {"add": f"max(%q{k}, 0.25)", "bytes": f"cast(%q{k})"}.get(kind, f"broadcast(%q{k}) dims={dims}")
                body.append(f"%d{k} = {read} : {shape(*self.made)}")
                formula = f"{'mul' if kind in ('scale', 'rows') else 'add'}({value}, %d{k})"
            else:
                formula = {"relu": f"max({value}, 0.0)", "sigmoid": f"sigmoid({value})"}[kind]
            body.append(f"%m{k} = {formula} : {shape(*self.made)}")
            value = f"%m{k}"
        if self.padded:
            body.append(f"%h = pad({value}, <f32> 0.0, <{len(x)} x i64> {self.low}) : {shape(*x)}")
            value = "%h"
        return value

    def schedule(self, vectors, target):
        self.pack = self.r.random() < 0.2
        return super().schedule(vectors, target) + (" pack=1" if self.pack else "")


class Pitch(Prologue):
    """Positions of 4 KB: in the strip they lie a line further apart, in other sets of a cache."""
    sign = "1040"
    spatials = [1, 2]
    inners = [1024]


class Lanes(Contraction):
    name = "convolve_lanes"

    def operation(self, out, target):
        r = self.r
        n, blocks, lanes = r.choice([1, 1, 2]), r.randint(1, 4), r.choice([16, 16, 16, 1, 5, 24, 40])
        strides, dilations, window, extent = window_of(r, out, 5, 0.8)
        schedule = (f"rows={r.choice([1, 1, 2, 3])} columns={r.choice([1, 2, 5, 7, 14])} unroll={r.choice([1, 2, 3, 9, 25])} "
                    f"flat={r.choice([0, 1])}{self.tasks()}")
        return ([n, blocks, *extent, lanes], [blocks, *window, lanes], [n, blocks, *out, lanes],
                f"strides={strides} dilations={dilations}", schedule)

    def stored(self, rank):
        return [*range(2, rank - 1), 0, 1, rank - 1]      # lanes stay next to each other


class Windows(Contraction):
    name = "reduce_window"

    def operation(self, out, target):
        r = self.r
        n, blocks, lanes = r.choice([1, 1, 2]), r.randint(1, 4), r.choice([16, 16, 16, 1, 5, 24, 40])
        window = [r.randint(1, 6) for _ in out]
        strides, dilations = [r.choice([1, 1, 2, 3]) for _ in out], [r.choice([1, 1, 2]) for _ in out]
        low, high, extent = [], [], []
        for o, s, k, d in zip(out, strides, window, dilations):
            reach = (o - 1) * s + (k - 1) * d + 1
            pads = [r.choice([0, r.randint(0, (k - 1) * d + 1)]) for _ in range(2)]
            pads = pads if sum(pads) < reach else [0, 0]
            low.append(pads[0])
            high.append(pads[1])
            extent.append(reach - sum(pads))
        wide = [[1, 1, *v, 1] for v in (window, strides, dilations)]
        attributes = (f"kind={r.choice(['max', 'sum', 'min', 'prod'])} window={wide[0]} strides={wide[1]} dilations={wide[2]} "
                      f"pads={[0, 0, *low, 0, 0, 0, *high, 0]}")
        return ([n, blocks, *extent, lanes], None, [n, blocks, *out, lanes], attributes, f"columns={r.choice([2, 5, 7, 14, 40])}{self.tasks()}")

    def stored(self, rank):
        return [*range(2, rank - 1), 0, 1, rank - 1]


class Winograd(Contraction):
    """F(m, r) of every kind, of images and signals, with strides by phases"""
    name = "convolve_winograd"
    spatials = [1, 2, 2, 2]

    def operation(self, out, target):
        r, lanes = self.r, LANES[target]
        n, inner, blocks, vectors = r.choice([1, 1, 2]), r.choice([16, 16, 32]), r.randint(1, 3), r.choice([1, 2, 2])
        window = [r.choice([3, 3, 3, 1, 2, 4, 5, 6, 7]) for _ in out]
        tile = [1 if k == 1 else r.choice([m for m in (2, 2, 3, 4, 4, 5, 6, 7) if m + k <= 9]) for k in window]
        strides = [r.choice([1, 1, 1, 2, 3]) for _ in out] if r.random() < 0.4 else [1 for _ in out]
        phases = math.prod(strides)
        channels, outputs = r.randint((blocks - 1) * inner + 1, blocks * inner), r.randint(1, 80)
        if phases > 1:
            channels = -(-channels // lanes) * lanes
        block = 16 * r.choice([1, 1, 2])
        stored = -(-outputs // block)
        extent = [(-(-e // m) * m + k - 1) * s + r.randint(0, 1) for e, m, k, s in zip(out, tile, window, strides)]
        whole = [v for v in (1, 2, 4, 8) if v * lanes % 16 == 0 and vectors * 16 % (v * lanes) == 0]
        schedule = (f"columns={r.choice([1, 3, 6, 14])} vectors={r.choice(whole)} tile_batch={r.choice([0, 0, 3, 8])} "
                    f"unroll={r.choice([1, 3, 4])} split={r.choice([1, 1, 2])} prefetch={r.choice([0, 0, 1, 2])}{self.tasks()}")
        elements = math.prod(m + k - 1 for m, k in zip(tile, window))
        result = f"rows={out[0]} columns={out[1]}" if len(out) == 2 else f"columns={out[0]}"
        return ([n, blocks, *extent, inner], [elements, -(-stored * block // (16 * vectors)), phases * channels, vectors, 16],
                [n, stored, *out, block],
                f"tile={tile} window={window} strides={strides} {result} outputs={outputs} block={block}", schedule)

    def stored(self, rank):
        return [2, 1, 3, 0, 4] if rank == 5 else [2, 1, 0, 3]


class Blocks(Contraction):
    """rows of bytes by weights in few bits, each block with a step: words of two or four bytes, as the target multiplies them"""
    sign = "%total{"

    def __init__(self, seed, target):
        r = self.r = random.Random(seed)
        lanes, group = LANES[target.removesuffix("-vnni")], 4 if target.endswith("-vnni") else 2
        images, rows, blocks, per, words = r.choice([1, 1, 2]), r.choice([1, 1, 2, 5, 13]), r.randint(1, 3), r.choice([1, 2, 4]), r.choice([1, 2, 3, 8])
        vectors, outputs = r.choice([1, 2, 4]), r.randint(1, 150)
        panels, block = -(-outputs // (vectors * lanes)), per * words * group
        kinds = {"x": ([images, 1, rows, blocks * block], "i8"), "w": ([panels, blocks, words, vectors, lanes * group], "u8"),
                 "d": ([images, 1, rows, blocks], "f32"), "e": ([images, 1, rows, blocks], "i32"), "s": ([panels, blocks, vectors, lanes], "f32"),
                 "z": ([panels, blocks, vectors, lanes], "u8")}
        zeros = r.random() < 0.5
        if not zeros:
            del kinds["z"]
        y = [images, 1, rows, outputs]
        self.inputs = [f'%{name} "{name}": {shape(*dims).replace("f32", element)}' for name, (dims, element) in kinds.items()]
        schedule = f"columns={r.choice([1, 2, 3, 6])} vectors={r.choice([v for v in (1, 2, 4) if vectors % v == 0])}{self.tasks()}"
        body = [f'%c = dot_blocks(%x, %w, %d, %e, %s, {"%z" if zeros else "none"}) outputs={outputs} zero={r.choice([0, 8, 128])} '
                f'schedule="{schedule}" : {shape(*y)}']
        result = self.epilogue("%c", y, body)
        result, final = self.move_y(result, y, body)
        self.text = program(self.inputs, body, result, final)


class NestedBlocks(Contraction):
    """such weights whose scales are whole numbers with scales of their own for several blocks, and perhaps zeros with minima"""
    sign = "%total{"

    def __init__(self, seed, target):
        r = self.r = random.Random(seed)
        lanes, group = LANES[target.removesuffix("-vnni")], 4 if target.endswith("-vnni") else 2
        images, rows, outers, each, per, words = r.choice([1, 1, 2]), r.choice([1, 1, 2, 5, 13]), r.randint(1, 3), r.choice([1, 2, 8]), r.choice([1, 2, 4, 8]), r.choice([1, 2, 4])
        vectors, outputs, blocks = r.choice([1, 2, 4]), r.randint(1, 150), outers * each
        panels, block = -(-outputs // (vectors * lanes)), per * words * group
        of_panels, half = [panels, blocks, vectors, lanes], r.choice(["f16", "f32"])
        kinds = {"x": ([images, 1, rows, blocks * block], "i8"), "w": ([panels, blocks, words, vectors, lanes * group], "u8"),
                 "d": ([images, 1, rows, blocks], "f32"), "e": ([images, 1, rows, blocks], "i32"), "s": (of_panels, r.choice(["u8", "i8"])),
                 "z": (of_panels, "u8"), "o": ([panels, outers, vectors, lanes], half), "m": ([panels, outers, vectors, lanes], half)}
        zeros, minima = r.choice([(False, False), (True, False), (True, True), (True, True)])
        for name in ("z",) * (not zeros) + ("m",) * (not minima):
            del kinds[name]
        y = [images, 1, rows, outputs]
        self.inputs = [f'%{name} "{name}": {shape(*dims).replace("f32", element)}' for name, (dims, element) in kinds.items()]
        schedule = f"columns={r.choice([1, 2, 3, 6])} vectors={r.choice([v for v in (1, 2, 4) if vectors % v == 0])}{self.tasks()}"
        body = [f'%c = dot_blocks(%x, %w, %d, %e, %s, {"%z" if zeros else "none"}, %o{", %m" if minima else ""}) outputs={outputs} zero={r.choice([0, 8, 32])} '
                f'schedule="{schedule}" : {shape(*y)}']
        result = self.epilogue("%c", y, body)
        result, final = self.move_y(result, y, body)
        self.text = program(self.inputs, body, result, final)


class FloatBlocks(Contraction):
    """rows of floats by weights in few bits: numbers of each byte become floats, less a zero point of all, of bytes, or of floats"""
    sign = "%total{"

    def __init__(self, seed, target):
        r = self.r = random.Random(seed)
        lanes, images, rows, blocks, per, size = LANES[target], r.choice([1, 1, 2]), r.choice([1, 1, 2, 5, 13]), r.randint(1, 3), r.choice([1, 2, 4]), r.randint(1, 24)
        vectors, outputs = r.choice([1, 2, 4]), r.randint(1, 150)
        panels, block = -(-outputs // (vectors * lanes)), per * size
        zeros = r.choice([None, "u8", "f32"])
        kinds = {"x": ([images, 1, rows, blocks * block], "f32"), "w": ([panels, blocks, size, vectors, lanes], "u8"),
                 "s": ([panels, blocks, vectors, lanes], r.choice(["f32", "f16"])), **({"z": ([panels, blocks, vectors, lanes], zeros)} if zeros else {})}
        y = [images, 1, rows, outputs]
        self.inputs = [f'%{name} "{name}": {shape(*dims).replace("f32", element)}' for name, (dims, element) in kinds.items()]
        schedule = f"columns={r.choice([1, 2, 3, 6])} vectors={r.choice([v for v in (1, 2, 4) if vectors % v == 0])}{self.tasks()}"
        body = [f'%c = dot_blocks(%x, %w, none, none, %s, {"%z" if zeros else "none"}) outputs={outputs} zero={r.choice([0, 8, 128])} '
                f'schedule="{schedule}" : {shape(*y)}']
        result = self.epilogue("%c", y, body)
        result, final = self.move_y(result, y, body)
        self.text = program(self.inputs, body, result, final)


class Chain(Contraction):
    """Contractions of what the one before makes, one of them perhaps with a window, a stride or a halo along the rows."""
    sign = "%strip"

    def __init__(self, seed, target):
        r = self.r = random.Random(seed)
        self.inputs, body = [], []
        count, images = r.randint(2, 4), r.choice([1, 1, 2])
        wide = r.randint(0, count - 1)
        y = [images, r.randint(1, 2), r.randint(5, 14), r.randint(1, 9), 16]       # rows: room for the window
        self.inputs.append(f'%x "x": {shape(*y)}')
        value = "%x"
        for i in range(count):
            value, y = self.link(i, value, y, i == wide, body, LANES[target], i + 1 == count)
        value, final = self.move_y(value, y, body)
        self.text = program(self.inputs, body, value, final)

    def link(self, i, value, y, wide, body, lanes, last):
        r = self.r
        window, strides, dilations = [1, r.choice([1, 1, 2])], [1, r.choice([1, 1, 2])], [1, 1]
        low, high = [0, r.randint(0, 1)], [0, r.randint(0, 1)]
        if wide:
            window[0], strides[0], dilations[0] = r.choice([1, 2, 3, 3]), r.choice([1, 1, 2]), r.choice([1, 1, 2])
            low[0], high[0] = r.randint(0, 2), r.randint(0, 2)
        if y[3] + low[1] + high[1] < window[1]:
            low[1] += 1
        pool = i and y[3] >= window[1] and r.random() < 0.25
        if any(low + high) and i and not pool:
            x = [y[0], y[1], y[2] + low[0] + high[0], y[3] + low[1] + high[1], 16]
            body.append(f"%p{i} = pad({value}, <f32> {r.choice(['0.0', '0.5'])}, <5 x i64> [0, 0, {low[0]}, {low[1]}, 0]) : {shape(*x)}")
            value, y = f"%p{i}", x
        if y[3] < window[1]:
            window[1] = 1
        out = [(y[2 + d] - (window[d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in range(2)]
        attributes = f"strides={strides} dilations={dilations}"
        tasks = f" strip={r.choice([0, 1, 2, 3, 5])} row_tasks={r.choice([1, 1, 2, 3])}" if last else ""
        if pool:
            out = [(y[2 + d] + low[d] + high[d] - (window[d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in range(2)]
            name, w, result = "reduce_window", None, [y[0], y[1], *out, 16]
            attributes = (f"kind={r.choice(['max', 'sum'])} window={[1, 1, *window, 1]} strides={[1, 1, *strides, 1]} "
                          f"dilations={[1, 1, *dilations, 1]} pads={[0, 0, *low, 0, 0, 0, *high, 0]}")
            schedule = f"columns={r.choice([1, 2, 5, 14])}{tasks}"
        elif r.random() < 0.4:
            name, w, result = "convolve_lanes", [y[1], *window, 16], [y[0], y[1], *out, 16]
            schedule = f"rows={r.choice([1, 1, 2, 3])} columns={r.choice([1, 2, 5, 14])} unroll={r.choice([1, 3, 9])}{tasks}"
        else:
            outputs, vectors = r.randint(1, 40), r.choice([1, 2])
            blocks = -(-outputs // 16)
            name, w, result = "convolve_packed", [-(-blocks // vectors), y[1], *window, 16, vectors, 16], [y[0], blocks, *out, 16]
            attributes += f" channels={r.randint((y[1] - 1) * 16 + 1, y[1] * 16)} outputs={outputs}"
            schedule = f"rows={r.choice([1, 1, 2])} columns={r.choice([1, 2, 5, 14])} vectors={16 // lanes} unroll={r.choice([1, 2, 4])} split={r.choice([1, 2])}{tasks}"
        if w:
            self.inputs.append(f'%w{i} "w{i}": {shape(*w)}')
        body.append(f'%c{i} = {name}({value}{f", %w{i}" if w else ""}) {attributes} schedule="{schedule}" : {shape(*result)}')
        return self.epilogue(f"%c{i}", result, body), result


KINDS = [(kind, target) for kind in (Packed, Narrow, Prologue, Pitch, Lanes, Windows, Winograd, Chain) for target in TARGETS]


@pytest.mark.parametrize("kind, target", [*KINDS, *((kind, target) for kind in (Blocks, NestedBlocks) for target in BYTES), *((FloatBlocks, target) for target in TARGETS if target != "x86-64")])
@pytest.mark.parametrize("first", range(0, COUNT, 10))
@pytest.mark.slow
@pytest.mark.sample(42)
def test_scheduled_is_canonical(kind, target, first):
    for seed in range(first, first + 10):
        c = kind(seed, target)
        with dnncc.Workspace(f"schedule-{target}-{seed}") as folder:
            path = folder / "program.dnn"
            path.write_text(c.text)
            passes = ["--passes=lower,plan", f"--target={target}", "--threads=3"]
            done = dnncc.run([dnncc.DNNCC, path, "--emit=loops", "-o", folder / "model.loops", "--check", *passes])
            assert done.returncode == 0, f"seed {seed}: {done.stderr}\n{c.text}"
            assert c.sign in (folder / "model.loops").read_text(), f"seed {seed}: not scheduled\n{c.text}"
