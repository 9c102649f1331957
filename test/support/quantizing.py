# SPDX-License-Identifier: MIT
"""What --quantize makes of a model, stated once more in numpy: steps from ranges, weights, biases, and which values are rounded. Nothing
here knows how dnncc does it; docs/quantization.md has the formulas."""
import pathlib
import re
import subprocess

import numpy as np
import pytest

import dnncc
import quantized

F32 = np.float32


# ---- data ----

def there(name, task):
    """a task of test/bench/quantization.py: model, images to calibrate with, images, labels; without its data the test is left out"""
    if task is None or not task[0].exists():
        pytest.skip(f"no data of {name}")
    return task


# ---- dnncc ----

SMALL = 1 << 16         # bytes of a model whose code takes longer to compile with -O2 than to run



def calibrate(model, folder, samples, options=()):
    """the file of ranges of a model; samples: a dictionary of arrays whose first dimension is that of samples"""
    folder = pathlib.Path(folder)
    np.savez(folder / "samples.npz", **samples)
    quick = ["--cc=cc -O0"] if pathlib.Path(model).stat().st_size < SMALL else []          # the numbers are the same
    done = dnncc.run([dnncc.DNNCC, model, f"--calibrate={folder / 'samples.npz'}", "-o", folder / "model.ranges", *quick, *options])
    assert done.returncode == 0, done.stderr
    return folder / "model.ranges"


def tensors(path):
    """(name, {word: what stands behind it}) of each"""
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith("tensor "):
            words = line.split()
            yield words[1], {w: words[i + 1:i + 3] for i, w in enumerate(words)}


def ranges(path):
    """{name: (least, most)}"""
    return {name: (F32(words["extent"][0]), F32(words["extent"][1])) for name, words in tensors(path)}


def means(path):
    """{name: mean}; sums are whole numbers of powers of two, in hex"""
    result = {}
    for name, words in tensors(path):
        number, exponent = words["sum"][0].split("p")
        result[name] = int(number, 16) * 2.0 ** int(exponent) / int(words["count"][0])
    return result


def stats(model, options):
    """(layers in bytes, layers, values in bytes)"""
    done = dnncc.run([dnncc.DNNCC, model, "--stats", "--emit=ir", "-o", "-", *options])
    assert done.returncode == 0, done.stderr
    return tuple(map(int, re.search(r"quantize .*: (\d+) of (\d+) layers in bytes, (\d+) values", done.stderr).groups()))


# ---- the formulas ----

def step(size, powers):
    return F32(2.0 ** np.ceil(np.log2(size)) if powers and size else size)


class Bytes:
    """a value kept in bytes"""

    def __init__(self, least, most, t=np.uint8, symmetric=False, bits=None, powers=False):
        self.t, i = t, np.iinfo(t)
        bits = bits or i.bits
        self.low = i.min // 2 ** (i.bits - bits) + symmetric
        self.high = i.max // 2 ** (i.bits - bits)
        least, most = min(F32(least), F32(0)), max(F32(most), F32(0))
        if symmetric:
            largest = max(-least, most)
            self.scale, self.zero = step(float(largest) / (2 ** (bits - 1) - 1), powers), np.array((self.low + self.high) // 2, t)
        else:
            self.scale = step((float(most) - float(least)) / (2 ** bits - 1), powers)
            self.zero = np.array(np.clip(np.rint(self.low - float(least) / float(self.scale)), self.low, self.high), t)
        if self.scale == 0:
            self.scale, self.zero = F32(1), np.array(0, t)
        self.within = bits < i.bits             # numbers that bytes have, and these do not

    def encode(self, real):
        q = quantized.encode(real, self.scale, self.zero, self.t)
        return np.clip(q, self.low, self.high).astype(self.t) if self.within else q

    def decode(self, q):
        return quantized.decode(q, self.scale, self.zero)

    def through(self, real):
        return self.decode(self.encode(real))


def weights(w, axis, powers=False, layer=False):
    """numbers and scales of w, outputs along axis; layer: one scale for all of it"""
    others = tuple(d for d in range(w.ndim) if d != axis)
    scales = np.abs(w).max(axis=others).astype(np.float64) / 127
    if layer:
        scales = np.full_like(scales, scales.max())
    scales = F32([step(s, powers) for s in scales])
    spread = np.expand_dims(scales.astype(np.float64), others)
    return np.clip(np.rint(w.astype(np.float64) / spread), -127, 127).astype(np.int8), scales


def bias(b, sx, sw):
    """whole numbers of steps"""
    return np.rint(b / (F32(sx) * sw)).astype(np.int32)
