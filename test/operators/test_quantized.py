# SPDX-License-Identifier: MIT
"""Quantized operators of com.microsoft: many shapes and every option, against exact references in numpy, which are written from the
operators' documentation, and against onnxruntime where that has a kernel. What ends in a quantization must give the same bytes."""
import collections
import pathlib
import sys
import zlib

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "support")]
import dnncc  # noqa: E402
import processor  # noqa: E402
from cases import ran  # noqa: E402
from quantized import convolve, decode, ends, numbers, onnxruntime_saturates, saturate, wide  # noqa: E402

DOMAIN, INTS = "com.microsoft", onnx.AttributeProto.INTS
F32, F16, I8, U8, I32, I64 = np.float32, np.float16, np.int8, np.uint8, np.int32, np.int64
TARGETS = ["generic", "x86-64-v4"]

# An input is an array, a Given array (of the run, not of the model), or None. want: the results; near: how far floats may be away,
# relative to the largest; peer: onnxruntime runs it, and means the same.
Case = collections.namedtuple("Case", "op title inputs want attributes near peer")
CASES = collections.defaultdict(list)
Given = collections.namedtuple("Given", "array")


def case(op, title, inputs, want, near=1e-6, peer=True, **attributes):
    want = [np.asarray(w) for w in (want if isinstance(want, tuple) else (want,))]
    CASES[op].append(Case(op, title, inputs, want, attributes, near, peer))


def rng(*key):
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def scale(r, shape=(), least=0.002, most=0.05):
    return r.uniform(least, most, shape).astype(F32)


def sums(a, b):
    s = a @ b
    assert np.abs(s).max(initial=0) < 2 ** 31
    return s.astype(I32)


def f32(x):
    return np.asarray(x, F32)


# ---- QGemm ----

for k in range(24):
    r = rng("qgemm", k)
    m, inner, n = (int(d) for d in r.integers(1, 40, 3))
    ta, tb = [(U8, U8), (U8, I8), (I8, I8)][k % 3]
    trans_a, trans_b, columns = k >> 0 & 1, k >> 1 & 1, k >> 2 & 1
    a, b = numbers(r, (m, inner), ta), numbers(r, (inner, n), tb)
    az, bz = ends(r, ta), ends(r, tb, (n,) if columns else ())
    sa, sb = scale(r), scale(r, (n,) if columns else ())
    c = [None, (n,), (m, n), (m, 1), (1, n), ()][k % 6]
    c = None if c is None else r.integers(-50000, 50000, c).astype(I32)
    alpha = 1.0 if k % 4 else 0.75
    s = sums(wide(a, az), wide(b, bz)) + (0 if c is None else c)
    factor = f32(f32(F32(alpha) * sa) * sb)
    given = [Given(a.T if trans_a else a), sa, az, b.T if trans_b else b, sb, bz, c]
    attributes = {"transA": trans_a, "transB": trans_b, **({"alpha": alpha} if alpha != 1 else {})}
    if k % 8 == 3:
        case("QGemm", f"{k} f32", given, s.astype(F32) * factor, **attributes)
    else:
        sy, yz = scale(r, (), 0.5, 8), ends(r, ta)
        case("QGemm", f"{k}", [*given, sy, yz], saturate(s.astype(F32) * f32(factor / sy), yz, ta), **attributes)

# ---- MatMulIntegerToFloat, DynamicQuantizeMatMul ----

SHAPES = [((4, 8), (8, 5)), ((2, 3, 8), (8, 5)), ((2, 3, 4, 7), (2, 3, 7, 6)), ((1, 17), (17, 1)), ((33, 64), (64, 48)), ((2, 1, 5, 9), (3, 9, 4))]


def dynamic(x):
    """u8, scale and zero point of DynamicQuantizeLinear"""
    most, least = max(x.max(initial=0), F32(0)), min(x.min(initial=0), F32(0))
    s = f32((most - least) / F32(255))
    zero = np.array(np.rint(np.clip(-f32(least / s), 0, 255)) if s else 0, U8)
    return saturate(f32(x / s), zero, U8) if s else np.zeros(x.shape, U8), s, zero


for k, (left, right) in enumerate(SHAPES * 4):
    r = rng("to_float", k)
    ta, tb = U8 if k % 5 else I8, I8 if k % 2 else U8
    columns, zeros, bias = k // 6 & 1, k // 6 & 2, k % 3
    n = right[-1]
    a, b = numbers(r, left, ta), numbers(r, right, tb)
    az, bz = (ends(r, ta), ends(r, tb, (n,) if columns else ())) if zeros else (None, None)
    sa, sb, shift = scale(r), scale(r, (n,) if columns else ()), f32(r.uniform(-3, 3, n)) if bias else None
    y = sums(wide(a, az), wide(b, bz)).astype(F32) * f32(sa * sb) + (0 if shift is None else shift)
    case("MatMulIntegerToFloat", f"{k}", [Given(a), b, sa, sb, az, bz, shift], f32(y),
         peer=(ta is U8 or tb is I8) and (len(right) == 2 or not columns))
    x = f32(r.uniform(-2, 3, left) if k % 4 else r.uniform(0.5, 3, left))
    q, s, zero = dynamic(x)
    y = sums(wide(q, zero), wide(b, bz)).astype(F32) * f32(s * sb) + (0 if shift is None else shift)
    case("DynamicQuantizeMatMul", f"{k}", [Given(x), b, sb, bz, shift], f32(y), peer=len(right) == 2 or not columns)

r = rng("half")
a, b, az, bz, sa, sb = numbers(r, (3, 5, 8), U8), numbers(r, (8, 6), I8), ends(r, U8, 8), ends(r, I8), F16(0.01), r.uniform(0.01, 0.02, 6).astype(F16)
y = sums(wide(a, az), wide(b, bz)).astype(F32) * f32(sa.astype(F32) * sb.astype(F32)) + F32(0.5)
case("MatMulIntegerToFloat", "f16, zero points of columns", [Given(a), b, sa, sb, az, bz, np.full(6, 0.5, F16)], y.astype(F16), near=1e-3, peer=False)
y = sums(wide(a[0, 0], None), wide(b, None)) * f32(sa * sb)
case("MatMulIntegerToFloat", "a vector", [Given(a[0, 0]), b, sa, sb], y.astype(F16), near=1e-3, peer=False)
for title, x in ("zeros", np.zeros((2, 8), F32)), ("ones", np.ones((2, 8), F32)), ("negative", np.full((2, 8), -3, F32)):
    q, s, zero = dynamic(x)
    case("DynamicQuantizeMatMul", title, [Given(x), b, F32(0.1), bz], f32(sums(wide(q, zero), wide(b, bz)) * f32(s * F32(0.1))))

# ---- QLinear operators ----

for k in range(12):
    r = rng("where", k)
    t = U8 if k % 2 else I8
    shapes = [((4, 5),) * 3, ((4, 1), (5,), (3, 4, 5)), ((), (2, 3), (2, 3)), ((6,), (), (6,))][k % 4]
    c, a, b = r.random(shapes[0]) < 0.5, numbers(r, shapes[1], t), numbers(r, shapes[2], t)
    za, zb, zy = (ends(r, t) for _ in range(3))
    sa, sb, sy = scale(r), scale(r), scale(r)
    y = np.where(c, saturate(decode(a, sa, za) / sy, zy, t), saturate(decode(b, sb, zb) / sy, zy, t))
    case("QLinearWhere", f"{k}", [np.asarray(c), Given(a), sa, za, b, sb, zb, sy, zy], y.astype(t), peer=len(shapes[1]) > 0)
for k in range(12):
    r = rng("mean", k)
    t = U8 if k % 2 else I8
    x, zx, zy = numbers(r, (2, 3, 4, 5), t), ends(r, t) if k % 3 else None, ends(r, t) if k % 4 else None
    sx, sy = scale(r), scale(r)
    axes, keep = [[2, 3], [1], [-1], [0, 2], []][k % 5], k // 5 & 1
    over = tuple(axes) if axes else None
    count = x.size // np.sum(x, axis=over).size
    d = decode(x, sx, zx)
    y = saturate(f32(np.sum(d.astype(np.float64), axis=over, keepdims=bool(keep)) / count) / sy, 0 if zy is None else zy, t)
    case("QLinearReduceMean", f"{k}", [Given(x), sx, zx, sy, zy], y, near=1, peer=False, axes=axes, keepdims=keep)
for k in range(8):              # zero points that are not there
    r = rng("optional", k)
    x, y, sx, sy, sz = numbers(r, (3, 4), U8), numbers(r, (3, 4), U8), scale(r), scale(r), scale(r, (), 0.05, 0.2)
    zx = ends(r, U8) if k & 1 else None
    zz = ends(r, U8) if k & 2 else None
    d, plain, shift = decode(x, sx, zx), decode(y, sy, None), 0 if zz is None else zz
    for op, f in ("QLinearAdd", np.add), ("QLinearMul", np.multiply):
        case(op, f"{k}", [Given(x), sx, zx, y, sy, None, sz, zz], saturate(f32(f(d, plain)) / sz, shift, U8), near=1, peer=False)
    case("QLinearLeakyRelu", f"{k}", [Given(x), sx, zx, sz, zz], saturate(np.where(d < 0, d * F32(0.1), d) / sz, shift, U8), near=1, alpha=0.1)
    y = f32(1 / (1 + np.exp(-d.astype(np.float64))))
    case("QLinearSigmoid", f"{k}", [Given(x), sx, zx, F32(1 / 256), zz], saturate(y * F32(256), shift, U8), near=1)
    if not k & 1:
        image = numbers(r, (1, 2, 4, 4), U8)
        mean = f32(decode(image, sx, None).astype(np.float64).mean(axis=(2, 3), keepdims=True))
        case("QLinearGlobalAveragePool", f"{k}", [Given(image), sx, None, sz, zz], saturate(mean / sz, shift, U8), near=1, peer=False)


for k in range(8):
    r = rng("conv", k)
    ta, tw = [(U8, U8), (U8, I8), (I8, I8)][k % 3]
    groups = [1, 2, 1, 4][k % 4]
    x, w = numbers(r, (2, 4, 7, 6), ta), numbers(r, (8, 4 // groups, 3, 2), tw)
    zx, zw, zy = ends(r, ta), ends(r, tw, (8,) if k & 2 and tw is I8 else ()), ends(r, ta)
    if tw is I8:
        zw = np.zeros_like(zw)          # as onnxruntime wants it
    sx, sw, sy = scale(r), scale(r, (8,) if k & 2 else ()), scale(r, (), 0.5, 2)
    bias = r.integers(-20000, 20000, 8).astype(I32) if k & 1 else None
    window = dict(strides=[1 + k % 2, 1], dilations=[1, 1 + k // 4], pads=[1, 0, 2, 1])
    centered = wide(w, zw.reshape(-1, 1, 1, 1) if zw.ndim else zw)
    s = convolve(wide(x, zx), centered, **window, groups=groups) + (0 if bias is None else bias.reshape(1, -1, 1, 1))
    factor = f32(f32(sx * sw) / sy)
    y = saturate(s.astype(F32) * (factor.reshape(1, -1, 1, 1) if factor.ndim else factor), zy, ta)
    last = k // 2 & 1
    order = (0, 2, 3, 1) if last else (0, 1, 2, 3)
    case("QLinearConv", f"{k}", [Given(x.transpose(order)), sx, zx, w, sw, np.broadcast_to(zw, sw.shape).copy(), sy, zy, bias], y.transpose(order),
         peer=not last, group=groups, channels_last=last, **window)


# ---- QAttention ----


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(key, batch, steps, width, heads, size, ta=U8, tw=I8, t=F32, columns=False, zeros=True, mask=None, causal=0, past=None, peer=True,
              **attributes):
    r = rng("attention", key, batch, steps, width, heads)
    hidden, keys = heads * size, steps + (past or 0)
    x, w = numbers(r, (batch, steps, width), ta), numbers(r, (width, 3 * hidden), tw)
    zx, zw = (ends(r, ta), ends(r, tw, (3 * hidden,) if columns else ())) if zeros else (None, None)
    sx, sw = scale(r, (), 0.01, 0.02).astype(t), scale(r, (3 * hidden,) if columns else (), 0.001, 0.002).astype(t)
    bias = r.uniform(-0.5, 0.5, 3 * hidden).astype(t)
    y = sums(wide(x, zx), wide(w, zw)).astype(F32) * f32(sx.astype(F32) * sw.astype(F32)) + bias.astype(F32)
    q, k, v = (y[..., i * hidden:(i + 1) * hidden].astype(np.float64).reshape(batch, steps, heads, size).transpose(0, 2, 1, 3) for i in range(3))
    held = None if past is None else r.uniform(-1, 1, (2, batch, heads, past, size)).astype(t)
    if held is not None:
        k, v = np.concatenate([held[0], k], axis=2), np.concatenate([held[1], v], axis=2)
    filter_value = attributes.get("mask_filter_value", -10000.0)
    scores = q @ k.transpose(0, 1, 3, 2) * (attributes.get("scale") or 1 / np.sqrt(size))
    added = np.zeros((batch, steps, keys))
    if mask == "ends":
        m = r.integers(1, keys, batch, endpoint=True)
        added[np.arange(keys)[None, None] + np.zeros((batch, steps, 1), int) >= m[:, None, None]] = filter_value
    elif mask == "both":
        m = np.concatenate([r.integers(max(1, keys // 2), keys, batch, endpoint=True), r.integers(0, keys // 2, batch, endpoint=True)])
        at = np.arange(keys)[None, None] + np.zeros((batch, steps, 1), int)
        added[(at >= m[:batch, None, None]) | (at < m[batch:, None, None])] = filter_value
    elif mask in ("keys", "all"):
        m = r.integers(0, 1, (batch, keys) if mask == "keys" else (batch, steps, keys), endpoint=True)
        added[np.broadcast_to(m[:, None] if mask == "keys" else m, added.shape) <= 0] = filter_value
    else:
        m = None if mask is None else np.ones((batch, 1))
    if causal:
        added[np.broadcast_to(np.arange(keys)[None] > np.arange(steps)[:, None] + (past or 0), added.shape)] = -3.4028234663852886e38
    y = (softmax(scores + added[:, None]) @ v).transpose(0, 2, 1, 3).reshape(batch, steps, hidden).astype(t)
    inputs = [Given(x), w, bias, sx, sw, None if m is None else m.astype(I32), zx, zw, None if held is None else Given(held)]
    want = (y, np.stack([k, v]).astype(t)) if held is not None else y
    blind = causal and mask in ("both", "keys", "all")         # rows that see hidden keys alone: what these have less is rounded
    case("QAttention", f"{key}: {mask}, causal {causal}, past {past}, {np.dtype(t)}", inputs, want, near=2e-6 if t is F32 and not blind else 2e-3,
         peer=peer and t is F32 and ta is U8, num_heads=heads, unidirectional=causal, **attributes)


for k, mask in enumerate([None, "ends", "both", "keys", "all", "same"]):
    attention(k, 2, 5, 12, 2, 4, mask=mask, columns=k % 2 == 1)
    attention(k, 3, 4, 8, 4, 2, mask=mask, causal=1, tw=U8)
    attention(k, 1, 6, 16, 2, 8, mask=mask, past=3, causal=k % 2, zeros=k % 3 > 0)
    attention(k, 2, 1, 10, 3, 5, mask=mask, past=7, columns=True, causal=1)
    attention(k, 2, 5, 12, 2, 4, mask=mask, ta=I8, tw=I8 if k % 2 else U8)
attention(9, 2, 5, 12, 2, 4, mask="keys", scale=0.3, mask_filter_value=-5.0)
attention(9, 1, 40, 64, 2, 32, mask="ends", causal=1)
attention(9, 2, 5, 12, 2, 4, mask="both", t=F16, past=2)
attention(9, 1, 1, 4, 1, 1, past=0, mask="ends", peer=False)

# ---- DynamicQuantizeLSTM ----


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(key, steps, batch, width, hidden, direction="forward", t=I8, columns=False, bias=True, state=True, peephole=False, lengths=None, peer=True, **attributes):
    r = rng("lstm", key, steps, batch, width, hidden, direction)
    d = 2 if direction == "bidirectional" else 1
    x = r.uniform(-1, 1, (steps, batch, width)).astype(F32)
    w, rec = (r.integers(-60, 60, (d, n, 4 * hidden)).astype(t) if t is I8 else r.integers(0, 120, (d, n, 4 * hidden)).astype(t) for n in (width, hidden))
    shape = (d, 4 * hidden) if columns else (d,)
    sw, sr = r.uniform(0.004, 0.008, shape).astype(F32), r.uniform(0.004, 0.008, shape).astype(F32)
    zw = np.zeros(shape, t) if t is I8 else np.full(shape, 57, t)
    zr = np.zeros(shape, t) if t is I8 else np.full(shape, 61, t)
    b = r.uniform(-0.5, 0.5, (d, 8 * hidden)).astype(F32) if bias else None
    h0, c0 = (r.uniform(-1, 1, (d, batch, hidden)).astype(F32) for _ in range(2)) if state else (None, None)
    p = r.uniform(-0.5, 0.5, (d, 3 * hidden)).astype(F32) if peephole else None
    most = max(lengths) if lengths else steps

    def product(a, weights, s, zero):
        q, sa, za = dynamic(f32(a))
        return sums(wide(q, za), wide(weights, zero)).astype(F32) * f32(sa * s)

    y, last_h, last_c = np.zeros((steps, d, batch, hidden)), np.zeros((d, batch, hidden)), np.zeros((d, batch, hidden))
    for k in range(d):
        counted = np.where(np.arange(steps)[:, None, None] < most, x, 0)
        gates = product(counted, w[k], sw[k], zw[k]) + (0 if b is None else b[k, :4 * hidden] + b[k, 4 * hidden:])
        h, c = (np.zeros((batch, hidden)), np.zeros((batch, hidden))) if h0 is None else (h0[k].astype(np.float64), c0[k].astype(np.float64))
        pi, po, pf = np.zeros((3, hidden)) if p is None else p[k].reshape(3, hidden)
        for step in range(steps)[::-1 if direction == "reverse" or k else 1]:
            g = gates[step] + product(h, rec[k], sr[k], zr[k])
            i, o, f, n = (g[:, j * hidden:(j + 1) * hidden].astype(np.float64) for j in range(4))
            i, f = sigmoid(i + pi * c), sigmoid(f + pf * c)
            f = 1 - i if attributes.get("input_forget") else f
            new = f * c + i * np.tanh(n)
            out = sigmoid(o + po * new) * np.tanh(new)
            runs = np.array([step < n for n in lengths])[:, None] if lengths else np.ones((batch, 1), bool)
            h, c = np.where(runs, out, h), np.where(runs, new, c)
            y[step, k] = np.where(runs, out, 0)
        last_h[k], last_c[k] = h, c
    inputs = [Given(x), w, rec, b, None if lengths is None else np.array(lengths, I32), h0, c0, p, sw, zw, sr, zr]
    case("DynamicQuantizeLSTM", f"{key}: {direction}", inputs, (f32(y), f32(last_h), f32(last_c)), near=5e-3, peer=peer, direction=direction,
         hidden_size=hidden, **attributes)


for k, direction in enumerate(["forward", "reverse", "bidirectional"]):
    lstm(k, 3, 1, 6, 5, direction)
    lstm(k, 9, 2, 8, 7, direction, columns=True, state=k % 2 == 0)
    lstm(k, 6, 3, 4, 4, direction, t=U8, bias=False)
    lstm(k, 2, 2, 5, 3, direction, t=U8, columns=True, peephole=True)
    lstm(k, 7, 3, 5, 4, direction, lengths=[7, 2, 5])
    lstm(k, 7, 2, 5, 4, direction, lengths=[4, 3])
lstm(0, 4, 2, 5, 4, input_forget=1)

# ---- MatMulNBits ----


def pack(q, bits):
    """numbers along the last dimension, the first in the lowest bits of a byte"""
    per = 8 // bits
    q = np.concatenate([q, np.zeros((*q.shape[:-1], -q.shape[-1] % per), q.dtype)], axis=-1).astype(U8)
    parts = q.reshape(*q.shape[:-1], -1, per)
    return np.bitwise_or.reduce(parts << (np.arange(per, dtype=U8) * U8(bits)), axis=-1).astype(U8)


def nbits(key, rows, n, inner, bits, block, zero, t=F32, groups=False, bias=False, flat=False, given=False, peer=True, **attributes):
    r = rng("nbits", key, rows, n, inner, bits, block)
    blocks, most = -(-inner // block), 2 ** bits - 1
    q = np.where(r.random((n, blocks * block)) < 0.1, r.choice([0, most], (n, blocks * block)), r.integers(0, most, (n, blocks * block), endpoint=True))
    scales = r.uniform(0.005, 0.02, (n, blocks)).astype(t) * np.where(r.random((n, blocks)) < 0.2, -1, 1).astype(t)
    zeros = {None: np.full((n, blocks), 2 ** (bits - 1)), "bits": r.integers(0, most, (n, blocks), endpoint=True),
             "ends": r.choice([0, most], (n, blocks)), "float": r.uniform(0, most, (n, blocks)).astype(t)}[zero]
    group = r.integers(0, blocks, inner) if groups else np.arange(inner) // block
    w = ((q[:, :inner] - zeros[:, group]) * scales[:, group].astype(np.float64))
    a = r.uniform(-1, 1, (*rows, inner)).astype(t)
    shift = r.uniform(-1, 1, n).astype(t) if bias else None
    y = a.astype(np.float64) @ w.T + (0 if shift is None else shift.astype(np.float64))
    b = pack(q, bits).reshape(n, blocks, -1)
    zero_points = None if zero is None else zeros if zero == "float" else pack(zeros, bits)
    if flat:
        scales, zero_points = scales.ravel(), None if zero_points is None else zero_points.ravel()
    index = np.concatenate([group, np.zeros(-inner % block if key % 2 else 0, I64)]).astype(I32) if groups else None
    title = f"{key}: {rows} x {inner} x {n}, {bits} bits, blocks of {block}, zero points {zero}, {np.dtype(t)}"
    case("MatMulNBits", title, [Given(a), Given(b) if given else b, scales, zero_points, index, shift], y.astype(t), near=3e-6 if t is F32 else 2e-3,
         peer=peer and not groups and t is F32 and (zero != "float" or bits == 4), K=inner, N=n, bits=bits, block_size=block, **attributes)


for k, (zero, bits) in enumerate((z, b) for z in (None, "bits", "ends", "float") for b in (4, 8, 2)):
    nbits(k, (1,), 24, 64, bits, 32, zero, bias=k % 2 == 0)
    nbits(k, (5,), 16, 48, bits, 16, zero, flat=True, peer=False)
    nbits(k, (2, 3), 33, 100, bits, 32, zero, bias=True)
    nbits(k, (), 7, 40, bits, 16, zero, peer=False)
    nbits(k, (64,), 40, 256, bits, 128, zero)
    nbits(k, (3,), 20, 72, bits, 32, zero, t=F16, bias=k % 2 == 1)
    nbits(k, (3,), 20, 72, bits, 32, zero, given=True, peer=False)
    nbits(k, (4,), 12, 80, bits, 16, zero, groups=True)
    nbits(k, (1,), 12, 50, bits, 16, zero, groups=True)
nbits(0, (2,), 8, 64, 4, 32, None, accuracy_level=1)
nbits(0, (2,), 8, 16, 4, 16, "bits", accuracy_level=2, peer=False)
nbits(0, (2,), 8, 5, 4, 256, "bits", weight_prepacked=0, peer=False)

# ---- MatMulNBits of rows that are rounded to 8 bits ----


def blocks_of_rows(r, rows, blocks, block):
    """whole numbers for blocks of rows: each has the largest, 127 or -127, somewhere, but for some blocks of zeros"""
    q = r.integers(-127, 127, (*rows, blocks, block), endpoint=True)
    at = r.integers(0, block, (*rows, blocks, 1))
    np.put_along_axis(q, at, r.choice([-127, 127], at.shape), axis=-1)
    return np.where(r.random((*rows, blocks, 1)) < 0.1, 0, q)


def rounded(key, rows, n, inner, bits, block, zero, t=F32, bias=False, peer=True, given=()):
    """Steps are powers of two, and so is what the largest is multiplied by: no result is rounded anywhere, whatever the order. What is between
    whole numbers of steps is no nearer than 0.1 to the middle."""
    r = rng("rounded", key, rows, n, inner, bits, block)
    blocks, most = -(-inner // block), 2 ** bits - 1
    whole = np.where(np.arange(blocks * block) < inner, blocks_of_rows(r, rows, blocks, block).reshape(*rows, -1), 0)
    whole = whole.reshape(*rows, blocks, block)
    rest = np.where(abs(whole) < 127, r.uniform(-0.4, 0.4, whole.shape), 0) * (whole != 0)
    largest = abs(whole).max(axis=-1, keepdims=True) == 127
    steps = 2.0 ** r.integers(-6, 2, (*rows, blocks, 1))
    a = ((whole + np.where(largest, rest, 0)) * steps).reshape(*rows, -1)[..., :inner]
    steps = np.where(largest, steps, abs(whole * steps).max(axis=-1, keepdims=True) / 127)
    if not largest.all():       # a tail without its largest number: what it is rounded to
        whole = np.where(largest, whole, np.rint(whole * 127 / np.maximum(abs(whole).max(axis=-1, keepdims=True), 1)))
    q = r.integers(0, most, (n, blocks, block), endpoint=True)
    zeros = np.full((n, blocks), 2 ** (bits - 1)) if zero is None else r.choice([0, most, 1, most // 2], (n, blocks))
    scales = 2.0 ** r.integers(-7, -3, (n, blocks)) * np.where(r.random((n, blocks)) < 0.2, -1, 1)
    sums = np.einsum("...bk,nbk->...nb", whole.astype(np.float64), (q - zeros[..., None]).astype(np.float64))
    y = np.einsum("...nb,...b,nb->...n", sums, steps[..., 0], scales)
    shift = r.integers(-64, 64, n).astype(t) if bias else None
    y = y + (0 if shift is None else shift.astype(np.float64))
    parts = [pack(q, bits).reshape(n, blocks, -1), scales.astype(t), None if zero is None else pack(zeros, bits), None, shift]
    parts = [Given(v) if k in given else v for k, v in enumerate(parts)]
    exact = t is F32 and largest.all()
    case("MatMulNBits", f"{key}, rounded: {rows} x {inner} x {n}, {bits} bits, blocks of {block}, zero points {zero}, {np.dtype(t)}",
         [Given(a.astype(t)), *parts], y.astype(t), near=0 if exact else 1e-6 if t is F32 else 1e-3, peer=peer, K=inner, N=n, bits=bits, block_size=block,
         accuracy_level=4)


before = len(CASES["MatMulNBits"])
for k, (bits, block, zero) in enumerate((b, s, z) for b in (4, 8, 2) for s in (16, 32, 64, 128) for z in (None, "bits") if (b, z) != (2, "bits") or s >= 64):
    rounded(k, [(1,), (2, 3)][k % 2], [80, 33][k // 2 % 2], 2 * block, bits, block, zero, bias=k % 3 == 0, peer=bits != 2)
for k, (bits, rows) in enumerate(((4, 1), (4, 31), (8, 4), (8, 13))):
    rounded(k, (rows,), 150, 256, bits, 32, [None, "bits"][k % 2])
rounded(0, (), 16, 64, 4, 32, None, peer=False)
rounded(1, (1,), 1, 32, 4, 32, "bits")
rounded(0, (3,), 40, 100, 4, 32, "bits")        # a tail
rounded(1, (1,), 40, 50, 8, 64, None)
rounded(0, (3,), 20, 96, 4, 32, None, t=F16)
rounded(1, (9,), 70, 128, 8, 16, "bits", t=F16, bias=True)
ROUNDED = CASES["rounded rows"] = CASES["MatMulNBits"][before:]
del CASES["MatMulNBits"][before:]

# ---- GatherBlockQuantized ----


def blocks_of(v, axis, block, length):
    return np.take(np.repeat(v, block, axis=axis), np.arange(length), axis=axis)


def taken(v, i, axis):
    """rows of v; zeros for an index that is none of its"""
    n = v.shape[axis]
    y = np.take(v, np.where((i >= -n) & (i < n), i, 0), axis=axis)
    inside = ((i >= -n) & (i < n)).reshape((1,) * axis + i.shape + (1,) * (v.ndim - axis - 1))
    return np.where(inside, y, 0)


def gathered(key, shape, t, bits=4, block=16, gather=0, quantize=-1, zero=True, scales=F32, index=(3, 2), wild=False, constant=False, given=False,
             peer=True):
    r = rng("gathered", key, shape, t, bits)
    kind = {"u8": U8}.get(t) or onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, t))
    low, high = {"u8": (0, 2 ** bits - 1), "UINT4": (0, 15), "INT4": (-8, 7)}.get(t, (0, 0))
    axis = quantize % len(shape)
    count = tuple(-(-d // block) if k == axis else d for k, d in enumerate(shape))
    s = r.uniform(0.01, 0.03, count).astype(scales)
    q = r.integers(low, high, shape, endpoint=True)
    z = r.integers(low, high, count, endpoint=True) if zero else np.full(count, 2 ** (bits - 1) if t == "u8" else 0)
    w = ((q - blocks_of(z, axis, block, shape[axis])).astype(F32) * blocks_of(s, axis, block, shape[axis]).astype(F32)).astype(scales)
    n = shape[gather]
    i = r.integers(-n, n, index).astype([I32, I64][key % 2])
    if wild:
        i.flat[::3] = r.choice([n, -n - 1, 2 ** 31 - 1, -2 ** 31], i.flat[::3].shape)
    data, points = (pack(q, bits), pack(z, bits)) if t == "u8" else (q.astype(kind), z.astype(kind))
    inputs = [Given(data) if given else data, i if constant else Given(i), s, points if zero else None]
    case("GatherBlockQuantized", f"{key}: {shape} {t} {bits} bits", inputs, taken(w, i, gather % len(shape)), near=1e-7, peer=peer, bits=bits,
         block_size=block, gather_axis=gather, quantize_axis=quantize)


for k in range(4):
    for bits in 2, 4, 8:
        gathered(k, (11, 32), "u8", bits, zero=k % 2 == 0, wild=k > 1, constant=k == 3)
        gathered(k, (5, 3, 48), "u8", bits, zero=k % 2 == 1, scales=F16 if k == 2 else F32, index=() if k == 0 else (4,))
    for t in "UINT4", "INT4":
        gathered(k, (11, 32), t, zero=k % 2 == 0, wild=k > 1, given=k == 1, peer=k != 1)
        gathered(k, (6, 20, 3), t, gather=[0, 2, -1, 0][k], quantize=1, zero=k % 2 == 1)
        gathered(k, (40, 5), t, gather=[0, 1, 0, 1][k], quantize=0, zero=k % 2 == 0, index=(2, 1, 2), peer=k % 2 == 1)
        gathered(k, (7, 31), t, zero=k % 2 == 0, block=32)
for k, t in enumerate(["FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ", "FLOAT4E2M1"]):
    r = rng("codes", k)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, t))
    v = r.uniform(-5, 5, (9, 34)).astype(F32).astype(dtype)
    for block, many in (16, (9, 3)), (0, (9, 1)), (0, (1, 1)):
        s, i = r.uniform(0.5, 2, many).astype(F32), r.integers(-9, 9, 6)
        w = v.astype(F32) * np.broadcast_to(blocks_of(s, 1, block or 34, 34), v.shape)
        case("GatherBlockQuantized", f"{t} {block}", [v, Given(i), s], taken(w, i, 0), near=1e-7, peer=t != "FLOAT4E2M1", block_size=block)


# ---- the test ----


def build(cases):
    """one model of all cases; the arrays of its run-time inputs"""
    nodes, given, constants, results = [], {}, [], []
    for k, c in enumerate(cases):
        names = []
        for i, v in enumerate(c.inputs):
            names.append("" if v is None else f"n{k}_x{i}")
            if isinstance(v, Given):
                given[names[-1]] = np.array(v.array, order="C")
            elif v is not None:
                constants.append(numpy_helper.from_array(np.array(v, order="C"), names[-1]))
        ports = [f"n{k}_y{i}" for i in range(len(c.want))]
        nodes.append(helper.make_node(c.op, names, ports, f"n{k}", domain=DOMAIN))
        nodes[-1].attribute.extend(helper.make_attribute(n, v, attr_type=INTS if v == [] else None) for n, v in c.attributes.items())
        results += [helper.make_tensor_value_info(p, helper.np_dtype_to_tensor_dtype(w.dtype), w.shape) for p, w in zip(ports, c.want)]
    graph = helper.make_graph(nodes, "cases", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
                                               for n, v in given.items()], results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)], ir_version=10), given


def compare(cases, outputs, by, slack=0):
    """slack: what the other side may be away in units of the result, because it rounds in other places"""
    outputs, wrong = iter(outputs), []
    for c in cases:
        for want in c.want:
            got = next(outputs)
            assert got.dtype == want.dtype and got.shape == want.shape, (c.op, c.title, by, got.shape, want.shape)
            off = np.abs(got.astype(np.float64) - want.astype(np.float64))
            if np.issubdtype(want.dtype, np.integer):
                limit = max(slack, c.near if c.near >= 1 else 0)
            else:
                limit = max(c.near, 1e-5 * (slack > 0)) * max(np.abs(want.astype(np.float64)).max(initial=0), 1e-6)
            if not (off <= limit).all():
                wrong.append(f"{c.op} {c.title} {c.attributes}: {by} off by {off.max()} at {(~(off <= limit)).sum()} of {off.size}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("target", [*TARGETS, pytest.param("interpreted", marks=pytest.mark.long)])
@pytest.mark.parametrize("op", list(CASES))
@pytest.mark.sample(16, each=False)
def test_reference(op, target, tmp_path):
    model, given = build(CASES[op])
    onnx.save(model, tmp_path / "model.onnx")
    if target == "interpreted":
        compare(CASES[op], ran(tmp_path / "model.onnx", tmp_path, list(given.values()), target), "dnncc")
        return
    processor.require(target)
    dnncc.compile_model(tmp_path / "model.onnx", tmp_path, [f"--target={target}"])
    flags = dnncc.SANITIZE if target == "generic" else ["-O1"]
    compare(CASES[op], dnncc.run_host(dnncc.build_host(tmp_path, flags), list(given.values())), "dnncc")


# pairs that are widened, words of four
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v3-vnni", "x86-64-v4-vnni"])
@pytest.mark.sample(4)
def test_rounded_rows(target, tmp_path):
    """the same bits as numpy has by the rule, which is all that test_reference compares elsewhere; and by the kernels of the target"""
    processor.require(target)
    model, given = build(ROUNDED)
    onnx.save(model, tmp_path / "model.onnx")
    dnncc.compile_model(tmp_path / "model.onnx", tmp_path, [f"--target={target}"])
    compare(ROUNDED, dnncc.run_host(dnncc.build_host(tmp_path, ["-O1"]), list(given.values())), "dnncc")
    dump = dnncc.run([dnncc.DNNCC, tmp_path / "model.onnx", f"--target={target}", "--emit=ir", "-o", "-"]).stdout
    kernels = [line for line in dump.splitlines() if " = dot_blocks(" in line]
    assert len(kernels) == len(ROUNDED)
    assert all('schedule="' in line for line in kernels)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.sample(2)
def test_decoded_rows(target, tmp_path):
    """rows of floats by constant numbers that become floats in a kernel's register tiles; those whose blocks an index mixes stay in nests, and
    a few numbers are decoded when the code is made"""
    processor.require(target)
    cases = [c for c in CASES["MatMulNBits"] if not isinstance(c.inputs[1], Given) and c.inputs[4] is None and c.attributes["K"] > 16]
    assert len(cases) > 60
    if target == "x86-64-v3":                             # Many rows are multiplied by numbers that are decoded once, where registers are few.
        cases = [c for c in cases if len(c.inputs[0].array) < 64]
    model, given = build(cases)
    onnx.save(model, tmp_path / "model.onnx")
    dnncc.compile_model(tmp_path / "model.onnx", tmp_path, [f"--target={target}"])
    compare(cases, dnncc.run_host(dnncc.build_host(tmp_path, ["-O1"]), list(given.values())), "dnncc")
    dump = dnncc.run([dnncc.DNNCC, tmp_path / "model.onnx", f"--target={target}", "--emit=ir", "-o", "-"]).stdout
    kernels = [line for line in dump.splitlines() if " = dot_blocks(" in line]
    assert len(kernels) == len(cases) and all('schedule="' in line for line in kernels)


# vectors from short to very long, of few and many registers; words of four bytes and pairs
@pytest.mark.parametrize("lanes, registers, features", [(4, 8, ""), (8, 32, "-fma"), (16, 12, "-masks"), (32, 10, "-bytes"), (64, 8, "-fma-masks-signed")])
def test_rounded_rows_on_machines(lanes, registers, features, tmp_path):
    model, given = build(ROUNDED)
    onnx.save(model, tmp_path / "model.onnx")
    for kind, arrays in ("input", given.values()), ("output", (w for c in ROUNDED for w in c.want)):
        for k, array in enumerate(arrays):
            (tmp_path / f"{kind}_{k}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    machines = pathlib.Path(dnncc.DNNCC).parent / "machines"
    done = dnncc.run([machines, tmp_path / "model.onnx", f"--target=lanes{lanes}-registers{registers}{features}", "--test", tmp_path])
    assert done.returncode == 0, done.stderr


# panels that all share are packed for the least one's multiply
@pytest.mark.parametrize("levels", [("x86-64", "x86-64-v3", "x86-64-v4-vnni"), ("generic", "x86-64-v4")])
@pytest.mark.sample(2)
def test_rounded_rows_at_all_levels(levels, tmp_path):
    some = ROUNDED[::5]
    model, given = build(some)
    onnx.save(model, tmp_path / "model.onnx")
    dnncc.compile_model(tmp_path / "model.onnx", tmp_path, [f"--target={','.join(levels)}"])
    for level in filter(processor.has, levels):
        name = level.upper().replace("-", "_")
        compare(some, dnncc.run_host(dnncc.build_host(tmp_path, ["-O1", f"-DMODEL_LEVEL=MODEL_LEVEL_{name}"]), list(given.values())), level)


@pytest.mark.parametrize("target", TARGETS)
def test_rounded_rows_that_are_not_finite(target, tmp_path):
    """a NaN or an infinity makes all of its row NaN; rows of zeros, or of numbers that have no step, are zeros"""
    processor.require(target)
    model, _ = build([c for c in ROUNDED if c.attributes == dict(K=256, N=150, bits=4, block_size=32, accuracy_level=4)][-1:])
    onnx.save(model, tmp_path / "model.onnx")
    dnncc.compile_model(tmp_path / "model.onnx", tmp_path, [f"--target={target}"])
    x = rng("not finite").uniform(-1, 1, (31, 256)).astype(F32)
    x[1, 5], x[2, 40], x[3], x[4] = np.nan, -np.inf, 0, 1e-45
    y, = dnncc.run_host(dnncc.build_host(tmp_path, ["-O1"]), [x])
    assert np.isnan(y[1:3]).all() and not y[3:5].any() and np.isfinite(y[[0, *range(5, 31)]]).all()


def test_exact_rounds_nothing(tmp_path):
    model, _ = build(ROUNDED[:2])
    onnx.save(model, tmp_path / "model.onnx")
    assert "dot_blocks" not in dnncc.run([dnncc.DNNCC, tmp_path / "model.onnx", "--exact", "--emit=ir", "-o", "-"]).stdout


PRODUCTS = {"QGemm", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QLinearConv", "QAttention", "DynamicQuantizeLSTM"}


@pytest.mark.parametrize("op", list(CASES))
def test_peer(op):
    """the references mean what onnxruntime does"""
    cases = [c for c in CASES[op] if c.peer]
    if not cases:
        pytest.skip("onnxruntime has no kernel")
    if op in PRODUCTS and onnxruntime_saturates():
        pytest.skip("onnxruntime's sums of products of bytes saturate on this processor")
    model, given = build(cases)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    compare(cases, session.run(None, given), "onnxruntime", slack=1)


# what a model of weights in few bits holds: layers, K = N, bits, block, type of scales, zero points
HELD = [(1, 512, 4, 32, F32, False), (2, 512, 4, 16, F16, True), (24, 64, 4, 32, F32, True), (24, 64, 8, 32, F32, True), (24, 96, 2, 16, F32, True),
        (40, 32, 4, 16, F16, False), (3, 300, 4, 128, F32, False), (1, 512, 8, 64, F16, True)]


@pytest.mark.parametrize("accuracy", [0, 4])
@pytest.mark.parametrize("rows", [1, 8])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layers, width, bits, block, t, zeros", HELD)
@pytest.mark.sample(6)
def test_weights_stay_small(layers, width, bits, block, t, zeros, target, rows, accuracy, tmp_path):
    r, blocks, nodes, constants = rng("held", width, bits), -(-width // block), [], []
    for k in range(layers):
        parts = {"b": numbers(r, (width, blocks, block * bits // 8), U8), "s": r.uniform(0, 1, (width, blocks)).astype(t)}
        if zeros:
            parts["z"] = numbers(r, (width, -(-blocks * bits // 8)), U8)
        constants += [numpy_helper.from_array(v, f"{name}{k}") for name, v in parts.items()]
        nodes.append(helper.make_node("MatMulNBits", [f"x{k}", *(f"{name}{k}" for name in parts)], [f"x{k + 1}"], domain=DOMAIN, K=width, N=width, bits=bits,
                                      block_size=block, accuracy_level=accuracy))
    check_size(nodes, [("x0", t, (rows, width))], [(f"x{layers}", t, (rows, width))], constants, target, tmp_path)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("t, bits", [("UINT8", 4), ("UINT8", 2), ("UINT8", 8), ("INT4", 4), ("UINT4", 4), ("FLOAT4E2M1", 4), ("FLOAT8E4M3FN", 8)])
@pytest.mark.sample(4)
def test_tables_stay_small(t, bits, target, tmp_path):
    r, codes = rng("table", t), numbers(rng("codes", t), (900, 64), U8)
    data = helper.make_tensor("data", getattr(onnx.TensorProto, t), (900, 64 if t == "UINT8" or bits == 8 else 128), codes.tobytes(), raw=True)
    width = 64 * 8 // bits
    constants = [data, numpy_helper.from_array(r.uniform(0, 1, (900, width // 32)).astype(F32), "s")]
    node = helper.make_node("GatherBlockQuantized", ["data", "i", "s"], ["y"], domain=DOMAIN, bits=bits, block_size=32)
    check_size([node], [("i", I64, (7,))], [("y", F32, (7, width))], constants, target, tmp_path)


def check_size(nodes, inputs, outputs, constants, target, folder):
    ports = [[helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(t)), shape) for n, t, shape in side] for side in (inputs, outputs)]
    model = helper.make_model(helper.make_graph(nodes, "held", *ports, constants), ir_version=10,
                              opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)])
    onnx.save(model, folder / "model.onnx")
    most = int(1.05 * (folder / "model.onnx").stat().st_size) + 16384
    dnncc.compile_model(folder / "model.onnx", folder, [f"--target={target}", f"--max-consts={most}"])
    with pytest.raises(dnncc.CompileError, match="--max-consts"):       # they are counted
        dnncc.compile_model(folder / "model.onnx", folder, [f"--target={target}", "--max-consts=100"])
