# SPDX-License-Identifier: MIT
"""The command text of machines that hold activations, read and run: a second meaning of it, in numpy, that shares nothing with the compiler.

    machine = Machine(text, parameters)
    machine.run({"input": array of c x h x w})      # checks each access; AssertionError says what is wrong, with the line
    machine.volumes["fire2.concat"], machine.seen   # what was written of each volume, as numbers of its value
    machine.traffic                                 # bytes gathered, bytes scattered

Commands of one slot run at once: they read what was there before the slot, and none of them may write what another touches. A number that
is read must be one that the volume read was written with: whoever overwrites a volume that is still needed is found out.
"""
import re
from dataclasses import dataclass, field

import numpy as np

ENGINES = {"XNConv": "array", "XNConvP": "array", "XNMaxPool": "pool", "XNAvgPool": "pool", "XNEltwise": "eltwise", "XNGather": "download",
           "XNScatter": "upload", "XNUpload": "upload"}
WORDS = {"name"}
HEXADECIMAL = {"inbuf", "inoff", "inbuf2", "inoff2", "outbuf", "outoff", "ambuf", "amoff", "ddrbuf", "ddroff", "buf", "off", "end", "weights",
               "numbers"}


@dataclass
class Command:
    slot: int
    op: str
    line: int
    fields: dict

    def __getattr__(self, name):
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(name) from None


def number(field, word):
    if field in WORDS:
        return word
    assert bool(re.fullmatch(r"0x[0-9a-f]+", word)) == (field in HEXADECIMAL), (field, word)
    return int(word, 0)


def read(text):
    """(commands and remarks in order, {op: fields} of the templates)"""
    templates, commands = {}, []
    for k, line in enumerate(text.splitlines(), 1):
        words = line.split(" ")
        if words[:2] == ["#", "template"]:
            templates[words[2]] = words[3:]
            continue
        remark = words[0] == "#"
        if remark:
            words = words[1:]
            if not words[0].isdigit():
                continue
        op, fields = words[1], templates[words[1]]
        assert len(words) == len(fields) + 2, (k, line)
        assert remark == (op not in ENGINES), (k, line)
        commands.append(Command(int(words[0]), op, k, {f: number(f, w) for f, w in zip(fields, words[2:])}))
    return commands, templates


@dataclass
class Volume:
    name: str
    buf: int
    start: int              # in numbers, not bytes
    shape: tuple            # c, h, w
    top: int
    units: int
    unitc: int
    value: int
    zero: int
    line: int
    parts: set = field(default_factory=set)

    @property
    def end(self):
        c, h, w = self.shape
        return self.start + (self.units * self.unitc if self.units > 1 else c) * h * w


def window(x, rows, columns, out, fill):
    """x[c, h, w] as [c, out rows, out columns, kernel rows, kernel columns]; rows: kernel, step, pad, dilation; outside: fill"""
    c, h, w = x.shape
    (kh, sh, ph, dh), (kw, sw, pw, dw) = rows, columns
    high, wide = max((out[0] - 1) * sh + (kh - 1) * dh + 1, ph + h), max((out[1] - 1) * sw + (kw - 1) * dw + 1, pw + w)
    padded = np.full((c, high, wide), fill, np.int64)
    padded[:, ph:ph + h, pw:pw + w] = x
    s = padded.strides
    return np.lib.stride_tricks.as_strided(padded, (c, *out, kh, kw), (s[0], s[1] * sh, s[2] * sw, s[1] * dh, s[2] * dw))


class Machine:
    def __init__(self, text, parameters, poison=0x5a5a, unit=2, row=1):
        """row: numbers that a row in memory is a multiple of"""
        self.row = row
        self.commands, self.templates = read(text)
        head = re.search(r"activation memory of (\d+) bytes, 0x1 DDR of (\d+); numbers of (\d+) bytes", text)
        sizes = [int(n) // unit for n in head.groups()[:2]]
        assert int(head[3]) == unit
        self.unit, self.sizes = unit, sizes
        self.memory = [np.full(n + 1, poison, np.int32) for n in sizes]
        self.owner = [np.full(n + 1, -1, np.int32) for n in sizes]
        self.declared = [[], []]
        self.names, self.parts, self.volumes, self.parameters, self.blob = [], {}, {}, {}, parameters
        self.uploads, self.inputs, self.traffic, self.seen = [], [], [0, 0], {}
        self.lives, self.made = [], set()

    # ---- volumes ----

    def declare(self, c):
        v = Volume(c.name, c.buf, c.off // self.unit, (c.c, c.h, c.w), c.top, c.units, c.unitc, c.value, c.zero, c.line)
        assert c.off % self.unit == 0 and v.end <= self.sizes[c.buf], f"line {c.line}: {c.name} lies beyond the end of memory"
        self.declared[c.buf].append(v)
        self.volumes[c.name] = v
        if c.name not in self.names:
            self.names.append(c.name)

    def find(self, c, buf, off, planes):
        """the volume of so many planes declared last that has the byte in its first one"""
        at = off // self.unit
        for v in reversed(self.declared[buf]):
            if v.start <= at < v.start + v.shape[1] * v.shape[2] and v.shape[0] == planes:
                return v
        raise AssertionError(f"line {c.line}: no volume at {buf:#x} {off:#x}")

    def places(self, c, buf, off, planes, rows, columns, copies=False):
        """indices of numbers [planes, rows, columns] in memory"""
        v, at = self.find(c, buf, off, planes), off // self.unit
        h, w = v.shape[1:]
        assert columns <= w < columns + self.row, f"line {c.line}: rows of {columns} numbers in {v.name}, which has {w}"
        row = (at - v.start) % (h * w) // w
        assert (at - v.start) % w == 0 and row + rows <= h, f"line {c.line}: rows {row} to {row + rows} of {v.name}, which has {h}"
        first = at + np.arange(planes)[:, None, None] * (h * w) + np.arange(rows)[None, :, None] * w + np.arange(columns)
        assert first.max() < v.end, f"line {c.line}: beyond {v.name}"
        return v, first

    def take(self, c, buf, off, planes, rows, columns):
        v, where = self.places(c, buf, off, planes, rows, columns)
        owners = {self.names[k] if k >= 0 else None for k in np.unique(self.owner[buf][where])}
        known = {v.name} | self.family(v.name)
        assert owners <= known, f"line {c.line}: {v.name} is read, and {owners - known} lies there"
        self.reads.append((buf, where, c))
        self.touch(v, c.slot, False)
        return self.memory[buf][where].astype(np.int64)

    def family(self, name):
        """parts of a concat, parts of these, and what it is a part of"""
        all_parts, todo = set(), [name]
        while todo:
            for part in self.parts.get(todo.pop(), ()):
                if part not in all_parts:
                    all_parts.add(part)
                    todo.append(part)
        for whole, parts in self.parts.items():
            if name in parts:
                all_parts |= {whole} | set(parts)
        return all_parts

    def put(self, c, buf, off, numbers):
        v, where = self.places(c, buf, off, *numbers.shape)
        assert numbers.min() >= -2 ** 15 and numbers.max() < 2 ** 15, f"line {c.line}: {v.name} has numbers of more than 16 bits"
        self.writes.append((buf, where, numbers, v, c))
        self.touch(v, c.slot, True)
        for u in range(1, v.units):
            self.writes.append((buf, where + u * v.unitc * v.shape[1] * v.shape[2], numbers, v, c))

    def touch(self, v, slot, written):
        self.lives.append((v, slot, written))

    # ---- what commands mean ----

    def of(self, c):
        weights, inputs, numbers, low, high = self.parameters[c.name]
        return weights, inputs, numbers, low, high

    def sums(self, c, x, out):
        weights, inputs, numbers, low, high = self.of(c)
        count = c.outc
        w = np.frombuffer(self.blob, np.int8, count * inputs * c.kh * c.kw, weights).reshape(count, inputs, c.kh * c.kw).astype(np.float64)
        cut = window(x, (c.kh, c.sh, c.ph, c.dh), (c.kw, c.sw, c.pw, c.dw), out, 0).astype(np.float64)
        groups = x.shape[0] // inputs
        result = np.empty((count, out[0] * out[1]))
        each = count // groups
        for g in range(groups):
            part = cut[g * inputs:(g + 1) * inputs].transpose(0, 3, 4, 1, 2).reshape(inputs * c.kh * c.kw, -1)
            result[g * each:(g + 1) * each] = w[g * each:(g + 1) * each].reshape(each, -1) @ part
        table = np.frombuffer(self.blob, "<i4", count * 5, numbers).reshape(count, 5).astype(np.int64)
        if (table[:, 1:] == table[0, 1:]).all():
            assert (c.preshift, c.scale, c.postshift) == (table[0, 1], table[0, 2], table[0, 4])
        assert c.relu == (low == 0) and c.bias == 1
        bias, before, scale, _, after = (t[:, None] for t in table.T)
        y = ((result.astype(np.int64) + bias) >> before) * scale >> after
        return np.clip(y, low, high).reshape(count, *out)

    def source(self, c):
        """what a window reads; of a replicated volume, place k of the window from copy k % units"""
        v = self.find(c, c.inbuf, c.inoff, c.c)
        x = self.take(c, c.inbuf, c.inoff, c.c, c.h, c.w)
        for u in range(1, v.units):
            other = self.take_copy(c, v, u)
            assert (other == x).all(), f"line {c.line}: copy {u} of {v.name} differs"
        return x

    def take_copy(self, c, v, u):
        _, where = self.places(c, c.inbuf, c.inoff, c.c, c.h, c.w)
        return self.memory[c.inbuf][where + u * v.unitc * v.shape[1] * v.shape[2]].astype(np.int64)

    def XNConv(self, c):
        self.put(c, c.outbuf, c.outoff, self.sums(c, self.source(c), (c.outh, c.outw)))

    def XNConvP(self, c):
        middle = self.sums(c, self.source(c), (c.outh, c.outw))
        cut = window(middle, (c.poolkh, c.poolsh, c.poolph, 1), (c.poolkw, c.poolsw, c.poolpw, 1), (c.poolh, c.poolw), -2 ** 40)
        self.put(c, c.outbuf, c.outoff, cut.max((3, 4)))

    def XNMaxPool(self, c):
        cut = window(self.source(c), (c.kh, c.sh, c.ph, 1), (c.kw, c.sw, c.pw, 1), (c.outh, c.outw), -2 ** 40)
        self.put(c, c.outbuf, c.outoff, cut.max((3, 4)))

    def lines(self, c, *xs):
        _, _, numbers, low, high = self.of(c)
        table = np.frombuffer(self.blob, "<i4", len(xs[0]) * 5, numbers).reshape(-1, 5).astype(np.int64)
        bias, _, one, two, after = (t[:, None, None] for t in table.T)
        total = sum(x * k for x, k in zip(xs, (one, two))) + bias
        return np.clip(total >> after, low, high)

    def XNAvgPool(self, c):
        cut = window(self.source(c), (c.kh, c.sh, c.ph, 1), (c.kw, c.sw, c.pw, 1), (c.outh, c.outw), 0)
        self.put(c, c.outbuf, c.outoff, self.lines(c, cut.sum((3, 4))))

    def XNEltwise(self, c):
        x, y = self.take(c, c.inbuf, c.inoff, c.c, c.h, c.w), self.take(c, c.inbuf2, c.inoff2, c.c, c.h, c.w)
        assert c.add == 1 and c.bn == 0
        self.put(c, c.outbuf, c.outoff, self.lines(c, x, y))

    def in_ddr(self, c):
        """where the first row lies; rows; bytes of them in both memories"""
        pitch, rows = self.find(c, 1, c.ddroff, c.c).shape[2] * self.unit, c.last - c.first + 1
        return c.ddroff + c.first * pitch, rows, c.c * rows * pitch

    def XNGather(self, c):
        at, rows, moved = self.in_ddr(c)
        assert (c.ambuf, c.ddrbuf) == (0, 1)
        assert self.find(c, 0, c.amoff, c.c).name == self.find(c, 1, c.ddroff, c.c).name
        self.put(c, c.ambuf, c.amoff, self.take(c, c.ddrbuf, at, c.c, rows, c.w))
        self.traffic[0] += moved

    def XNScatter(self, c):
        at, rows, moved = self.in_ddr(c)
        assert (c.ambuf, c.ddrbuf) == (0, 1)
        self.put(c, c.ddrbuf, at, self.take(c, c.ambuf, c.amoff, c.c, rows, c.w))
        self.traffic[1] += moved

    def XNUpload(self, c):
        v = self.find(c, c.buf, c.off, c.c)
        self.uploads.append((v.name, self.take(c, c.buf, c.off, c.c, c.h, c.w) + v.zero))

    def XNInput(self, c):
        v = self.find(c, c.buf, c.off, c.c)
        rows = self.given[c.name][:, c.top:c.top + c.h].astype(np.int64) - v.zero
        self.put(c, c.buf, c.off, rows)

    # ---- a run ----

    def settle(self, slot):
        for buf, where, numbers, v, c in self.writes:
            for other, elsewhere, _, w, d in self.writes:
                assert c is d or buf != other or v is w or not np.intersect1d(where, elsewhere).size, \
                    f"lines {c.line}, {d.line}: both write in slot {slot}"
            for other, elsewhere, d in self.reads:
                assert c is d or buf != other or elsewhere.max() < where.min() or where.max() < elsewhere.min() or \
                    not np.intersect1d(where, elsewhere).size, f"lines {c.line}, {d.line}: one reads what the other writes in slot {slot}"
        for buf, where, numbers, v, c in self.writes:
            self.memory[buf][where] = numbers
            self.owner[buf][where] = self.names.index(v.name)
            self.note(v, where, numbers, buf)
            copied = c.op == "XNMaxPool" and c.name == v.name and (c.kw, c.kh) == (1, 1)     # rows that slices have in common
            if c.op not in ("XNGather", "XNScatter") and not copied:
                self.made.add(v.name)

    def note(self, v, where, numbers, buf):
        """numbers of the tensor, row by row, as they are made"""
        if buf == 0 and v.units > 1 and where.min() >= v.start + v.unitc * v.shape[1] * v.shape[2]:
            return
        row = v.top + (int(where.min()) - v.start) // v.shape[2]
        for k in range(numbers.shape[1]):
            self.seen.setdefault(v.name, {})[row + k] = numbers[:, k] + v.zero

    def run(self, given):
        self.given, slots = given, {}
        last, busy = -1, {}
        for c in self.commands:
            assert c.slot >= last, f"line {c.line}: slot {c.slot} behind {last}"
            if c.slot > last:
                if last >= 0:
                    self.settle(last)
                self.reads, self.writes, busy, last = [], [], {}, c.slot
            if c.op == "XNVolume":
                self.declare(c)
            elif c.op == "XNParameters":
                self.parameters[c.name] = (c.weights, c.inputs, c.numbers, c.low, c.high)
            elif c.op == "XNConcat":
                self.concat(c)
            elif c.op in ("XNInner", "XNHost"):
                pass
            else:
                engine = ENGINES.get(c.op)
                assert engine is None or engine not in busy, f"line {c.line}: {engine} is busy with line {busy.get(engine)}"
                busy[engine] = c.line
                getattr(self, c.op)(c)
        self.settle(last)
        self.check_lives()
        return self

    def concat(self, c):
        """volumes that fill start to end are its parts"""
        start, end = c.off // self.unit, c.end // self.unit
        assert c.bytes == c.end - c.off
        found, at = [], start
        while at < end:
            v = next(v for v in reversed(self.declared[c.buf]) if v.start == at and v.end <= end and v.name != c.name)
            found.append(v.name)
            at = v.end
        self.parts[c.name] = found

    def check_lives(self):
        """no two volumes that live at a time overlap"""
        lives = {}
        for v, slot, written in self.lives:
            low, high = lives.get(id(v), (v, slot, slot))[1:]
            lives[id(v)] = (v, min(low, slot), max(high, slot))
        written = {id(v) for v, _, w in self.lives if w}
        for v, low, high in list(lives.values()):           # what is read of a concat that nobody gathered is read of its parts
            if id(v) in written:
                continue
            for name in self.family(v.name):
                for k, (w, a, b) in lives.items():
                    if w.name == name and w.buf == v.buf and (w.top, w.shape[1]) == (v.top, v.shape[1]) and w.start < v.end and v.start < w.end and name in self.parts.get(v.name, ()):
                        lives[k] = (w, a, max(b, high))
        every = sorted(lives.values(), key=lambda t: t[1])
        for k, (v, low, high) in enumerate(every):
            for w, a, b in every[k + 1:]:
                if a > high:
                    break
                related = v.name == w.name or w.name in self.family(v.name) or v.name in self.family(w.name)
                assert related or v.buf != w.buf or v.end <= w.start or w.end <= v.start, \
                    f"{v.name} (slots {low} to {high}) and {w.name} ({a} to {b}) overlap"
