# SPDX-License-Identifier: MIT
"""Files of ranges (docs/quantization.md), read independently of the compiler."""
import dataclasses
import re
from fractions import Fraction

import numpy as np

HALF = 1024


@dataclasses.dataclass
class Tensor:
    count: int
    infinite: int
    extent: tuple
    sum: Fraction
    squares: Fraction
    samples: list
    channels: list
    exponent: int
    bins: np.ndarray                    # [2048]


@dataclasses.dataclass
class Ranges:
    digest: str
    axis: str
    samples: list                       # names
    tensors: dict


def exact(text):
    digits, power = re.fullmatch(r"(-?[0-9a-f]+)p(-?\d+)", text).groups()
    return int(digits, 16) * Fraction(2) ** int(power)


def read(path):
    lines = iter(path.read_text().splitlines())
    assert next(lines) == "dnncc-ranges 1"
    digest = re.fullmatch("function ([0-9a-f]{64})", next(lines))[1]
    axis = re.fullmatch("channels (none|second|last)", next(lines))[1]
    names = [next(lines).split(" ")[1] for _ in range(int(next(lines).removeprefix("samples ")))]
    count = int(next(lines).removeprefix("tensors "))
    tensors = dict(tensor(line.split(" "), len(names)) for line in lines)
    assert len(tensors) == count
    return Ranges(digest, axis, names, tensors)


def tensor(words, samples):
    words = iter(words)

    def expect(word):
        assert next(words) == word

    def extent():
        first = next(words)
        return None if first == "none" else (np.float32(first), np.float32(next(words)))

    def number(word, kind=int):
        expect(word)
        return kind(next(words))

    expect("tensor")
    name = next(words)
    numbers = number("count"), number("infinite")
    expect("extent")
    whole = extent()
    sums = number("sum", exact), number("squares", exact)
    expect("samples")
    of_samples = [extent() for _ in range(samples)]
    of_channels = [extent() for _ in range(number("channels"))]
    exponent = number("exponent")
    bins = np.zeros(2 * HALF, np.int64)
    first = number("bins") + HALF
    counts = [int(w) for w in words]
    bins[first:first + len(counts)] = counts
    return name, Tensor(*numbers, whole, *sums, of_samples, of_channels, exponent, bins)


def histogram(x):
    """exponent and bins of an array, by the definition"""
    exponent = -100
    while not ((x >= -2.0 ** exponent).all() and (x < 2.0 ** exponent).all()):
        exponent += 1
    bins = np.floor(x.astype(np.float64) * 2.0 ** (10 - exponent)).astype(int) + HALF
    return exponent, np.bincount(bins.ravel(), minlength=2 * HALF)
