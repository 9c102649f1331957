# SPDX-License-Identifier: MIT
"""Observers (docs/quantization.md) beside a second implementation of their formulas, on distributions of many shapes."""
import pathlib
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import ranges  # noqa: E402
from test_calibration import calibrate, info, save  # noqa: E402

OBSERVE = pathlib.Path(dnncc.DNNCC).parent / "observe"
LIMITS = {"u8": (0, 255), "i8": (-128, 127), "u16": (0, 65535), "i16": (-32768, 32767), "u4": (0, 15), "i4": (-8, 7)}
HALF = ranges.HALF


def limits(to, symmetric):
    low, high = LIMITS[to]
    return low + symmetric, high


def with_zero(extent, symmetric):
    a, b = min(extent[0], 0), max(extent[1], 0)
    return (-max(-a, b), max(-a, b)) if symmetric else (a, b)


def affine(extent, to, symmetric, power):
    low, high = limits(to, symmetric)
    a, b = (float(np.float32(v)) for v in with_zero(extent, symmetric))
    middle = (low + high) // 2
    if a == b:
        return np.float32(1), middle if symmetric else 0
    scale = (b - a) / (high - low)
    if power:
        scale = 2.0 ** np.ceil(np.log2(scale))
    scale = max(np.float32(scale), np.float32(2.0 ** -126))
    return scale, middle if symmetric else int(np.clip(np.rint(low - a / float(scale)), low, high))


def folded(t):
    return t.bins[HALF:] + t.bins[:HALF][::-1]


def within(t, a, b):
    return np.float32(max(a, t.extent[0])), np.float32(min(b, t.extent[1]))


def minmax(t, to, symmetric, power):
    return t.extent


def average(t, to, symmetric, power):
    seen = np.array([s for s in t.samples if s], float)
    m = seen[0]
    for s in seen[1:]:
        m = m + 0.1 * (s - m)
    return np.float32(m[0]), np.float32(m[1])


def percentile(one_of):
    def keep(t, to, symmetric, power):
        cut = t.count // one_of
        width = 2.0 ** (t.exponent - 10)

        def reach(bins, cut):           # from the middle outwards
            gone = np.cumsum(bins[::-1]) <= cut
            return (len(bins) - (len(bins) if gone.all() else int(np.argmin(gone)))) * width
        if symmetric:
            end = reach(folded(t), cut)
            return within(t, -end, end)
        return within(t, -reach(t.bins[:HALF][::-1], cut // 2), reach(t.bins[HALF:], cut // 2))
    return keep


def divergence(h, n, levels):
    if not h[:n].any():
        return np.inf
    p = h[:n].astype(float)
    p[-1] += h[n:].sum()
    edges = np.arange(levels + 1) * n // levels
    filled = np.add.reduceat(h[:n] > 0, edges[:-1], dtype=int)
    shares = np.add.reduceat(h[:n], edges[:-1]) / np.maximum(filled, 1)
    q = np.where(h[:n] > 0, np.repeat(shares, np.diff(edges)), 0)
    q[-1] = q[-1] or 0.5
    there = p > 0
    return (p[there] / p.sum() * np.log(p[there] / p.sum() / (q[there] / h[:n].sum()))).sum()


def entropy(t, to, symmetric, power):
    low, high = limits(to, symmetric)
    one_sign = not symmetric and (t.extent[0] >= 0 or t.extent[1] <= 0)
    levels, h = (high - low + 1) // (1 if one_sign else 2), folded(t)
    if levels > HALF:
        end = HALF
    else:
        found = {n: divergence(h, n, levels) for n in range(levels, HALF + 1)}
        least = min(found.values())
        end = max(n for n in found if found[n] <= least + 1e-9)
    return within(t, -end * 2.0 ** (t.exponent - 10), end * 2.0 ** (t.exponent - 10))


def error(t, scale, zero, to, symmetric, points=64):
    """mean square error, numbers even within bins: by many points in each"""
    low, high = limits(to, symmetric)
    k = np.flatnonzero(t.bins)
    x = (k[:, None] - HALF + (np.arange(points) + 0.5) / points) * 2.0 ** (t.exponent - 10)
    q = np.clip(np.rint(x / float(scale)) + zero, low, high)
    return ((((q - zero) * float(scale) - x) ** 2).mean(1) * t.bins[k]).sum() / t.count


REFERENCES = {"minmax": minmax, "average": average, "percentile-99.9": percentile(1000), "percentile-99.99": percentile(10000),
              "percentile-99.999": percentile(100000), "entropy": entropy}

DISTRIBUTIONS = {
    "normal": lambda r, n: r.standard_normal(n), "shifted": lambda r, n: r.standard_normal(n) + 2, "relu": lambda r, n: np.maximum(r.standard_normal(n), 0),
    "heavy": lambda r, n: r.standard_t(2, n), "outliers": lambda r, n: np.where(np.arange(n) % 5000 == 0, 60, r.standard_normal(n)),
    "negative": lambda r, n: -r.exponential(3, n), "even": lambda r, n: r.uniform(-1, 1, n), "tiny": lambda r, n: r.standard_normal(n) * 1e-38,
    "large": lambda r, n: r.standard_normal(n) * 1e37, "whole": lambda r, n: r.integers(-20, 90, n), "zeros": lambda r, n: np.zeros(n),
    "one number": lambda r, n: np.full(n, 3.25),
}


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """(tensors, {(name, observer, element, symmetric, power): (extent, scale, zero, error)})"""
    folder, count = tmp_path_factory.mktemp("observers"), 20000
    r = np.random.default_rng(5)
    names = [name.replace(" ", "_") for name in DISTRIBUTIONS]
    path = save(folder / "m.onnx", [helper.make_node("Identity", [n], [n + "_"]) for n in names], [info(n, [count]) for n in names],
                [info(n + "_", [count]) for n in names])
    np.savez(folder / "s.npz", **{n: (make(r, 5 * count) * np.repeat([1, 1, .5, 2, 1], count)).astype(np.float32).reshape(5, count)
                                  for n, make in zip(names, DISTRIBUTIONS.values())})
    tensors = calibrate(path, folder / "s.npz", folder / "r.ranges").tensors
    done = dnncc.run([OBSERVE, folder / "r.ranges"])
    assert done.returncode == 0, done.stderr
    found = {}
    for line in done.stdout.splitlines():
        name, observer, to, symmetric, power, *numbers = line.split()
        least, most, scale, zero, mse = (float.fromhex(n) if "x" in n else float(n) for n in numbers)
        found[name, observer, to, int(symmetric), int(power)] = ((least, most), scale, int(zero), mse)
    assert len(found) == len(names) * 24 * 7
    return {n: tensors[n] for n in names}, found


def cases(found, observer):
    return [(key, value) for key, value in found.items() if key[1] == observer]


@pytest.mark.sample(2)
@pytest.mark.parametrize("observer", REFERENCES)
def test_extents_and_steps(observed, observer):
    tensors, found = observed
    known = {}
    for (name, _, to, symmetric, power), (extent, scale, zero, _) in cases(found, observer):
        key = name, to if observer == "entropy" else "", symmetric
        if key not in known:
            known[key] = REFERENCES[observer](tensors[name], to, symmetric, power)
        np.testing.assert_allclose(extent, with_zero(known[key], symmetric), rtol=1e-6 if observer == "average" else 0)
        assert (scale, zero) == affine(extent, to, symmetric, power), (name, to, symmetric, power)
        assert scale > 0 and limits(to, symmetric)[0] <= zero <= limits(to, symmetric)[1]


def test_errors_by_many_points(observed):
    """affine_error is a closed form; points converge to it."""
    tensors, found = observed
    for (name, observer, to, symmetric, power), (_, scale, zero, mse) in found.items():
        if to in ("u8", "i4") and not power and name not in ("tiny", "large"):
            np.testing.assert_allclose(mse, error(tensors[name], scale, zero, to, symmetric), rtol=0.03, atol=1e-12)


def test_least_error(observed):
    """mse is the best of its candidates, and so no worse than any other observer by more than their distance allows."""
    tensors, found = observed
    for (name, _, to, symmetric, power), (extent, scale, zero, mse) in cases(found, "mse"):
        t = tensors[name]
        far = max(abs(float(t.extent[0])), abs(float(t.extent[1])))
        assert (scale, zero) == affine(extent, to, symmetric, power)
        if to in ("u8", "i4") and far and name not in ("tiny", "large"):
            candidates = [affine(within(t, -far * k / 100, far * k / 100), to, symmetric, power) for k in range(1, 101, 3)]
            best = min(error(t, *c, to, symmetric, 16) for c in candidates)
            assert mse <= best * 1.05 + 1e-12, (name, to, symmetric, power)
        for other in REFERENCES:
            if symmetric:
                assert mse <= found[name, other, to, symmetric, power][3] * 1.15


def test_quantile_is_numpys(observed):
    """within a bin"""
    tensors, found = observed
    t = tensors["heavy"]
    x = np.repeat((np.arange(2 * HALF) - HALF + 0.5) * 2.0 ** (t.exponent - 10), t.bins)
    for observer, p in ("percentile-99.9", 99.9), ("percentile-99.99", 99.99):
        assert abs(found["heavy", observer, "i8", 1, 0][0][1] - np.percentile(abs(x), p)) <= 2 * 2.0 ** (t.exponent - 10)
