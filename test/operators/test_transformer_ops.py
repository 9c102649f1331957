# SPDX-License-Identifier: MIT
"""com.microsoft operators of transformers, by random attributes and shapes, against onnxruntime: thirty draws of each in one model, whose C for generic
runs under sanitizers."""
import pathlib
import random
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cases import FIRST, collection, group_test, onnxruntime_of  # noqa: E402
from test_opsets import F32, I32, I64, x  # noqa: E402

DRAWS = 30
GROUPS, case = collection()


def small(r, *shape):
    """numbers whose products stay small"""
    return x(*shape, low=-1, high=1, key=r.randrange(1 << 30))


def sizes(r):
    """batch, steps, heads, elements of a head"""
    return r.choice([1, 1, 2, 3]), r.choice([1, 1, 3, 5, 8]), r.choice([1, 2, 3, 4]), r.choice([1, 3, 4, 8, 16])


def key_mask(r, batch, steps, keys, raw=True):
    """which keys count: ends, ends and starts, of each key, of each query and key; or none"""
    kind = r.choice(["none", "ends", "keys", "pairs"] if raw else ["none", "keys"])
    if kind == "none":
        return None
    if kind == "ends":
        return np.array([r.randint(1, keys) for _ in range(batch)], I32)
    mask = x(*((batch, keys) if kind == "keys" else (batch, steps, keys)), dtype=I32, low=0, high=1, key=r.randrange(1 << 30))
    mask[..., 0] = 1                    # of rows that are hidden whole, runtimes make means
    return mask


def attention(r):
    batch, steps, heads, size = sizes(r)
    inputs, past = r.choice([3, 8, 12]), r.choice([0, 0, 2, 5])
    values = size if past or r.random() < 0.6 else r.choice([1, 4, 6])
    columns = heads * (2 * size + values)
    more = dict(num_heads=heads)
    if values != size:
        more["qkv_hidden_sizes"] = [heads * size, heads * size, heads * values]
    if r.random() < 0.5:
        more["unidirectional"] = 1
    if r.random() < 0.4:
        more["scale"] = r.choice([0.3, 1.0])
    scores = small(r, *r.choice([(batch, heads), (1, heads), (1, 1)]), steps, steps) if not past and r.random() < 0.4 else None
    # of a mask and a bias of scores at once, and without a bias of the weights, onnxruntime 1.31 crashes
    mask = key_mask(r, batch, steps, past + steps) if scores is None else None
    if mask is not None and r.random() < 0.5:
        more["mask_filter_value"] = -500.0
    operands = [small(r, batch, steps, inputs), small(r, inputs, columns), small(r, columns), mask,
                small(r, 2, batch, heads, past, size) if past else None, scores]
    case(("attention", "com.microsoft", 1), "Attention", operands, constants=[1], outputs=2 if past else 1, **more)


def multi_head_attention(r):
    batch, steps, heads, size = sizes(r)
    past = r.choice([0, 0, 3])
    keys = steps if past or r.random() < 0.5 else r.choice([2, 6, 7])
    by_heads = not past and r.random() < 0.2
    values = size if past or by_heads or r.random() < 0.6 else r.choice([1, 4, 6])
    k, v = ((batch, heads, keys, size), (batch, heads, keys, values)) if by_heads else ((batch, keys, heads * size), (batch, keys, heads * values))
    more = dict(num_heads=heads)
    if r.random() < 0.4:
        more["scale"] = 0.25
    if keys == steps and r.random() < 0.4:
        more["unidirectional"] = 1
    mask = key_mask(r, batch, steps, past + keys, raw=False)
    scores = small(r, *r.choice([(batch, heads), (1, heads), (1, 1)]), steps, past + keys) if r.random() < 0.4 else None
    cache = [small(r, batch, heads, past, size), small(r, batch, heads, past, size)] if past else [None, None]
    bias = small(r, heads * (2 * size + values)) if not by_heads and r.random() < 0.5 else None
    case(("multi-head attention", "com.microsoft", 1), "MultiHeadAttention", [small(r, batch, steps, heads * size), small(r, *k), small(r, *v), bias, mask, scores, *cache],
         outputs=3 if past else 1, **more)


def grouped(r):
    """a first call, or one that goes on with a cache; the cache is compared where all of it is defined"""
    groups, size = r.choice([1, 2, 3]), r.choice([8, 16, 32])
    heads, first = groups * r.choice([1, 2, 4]), r.random() < 0.5
    steps = r.choice([1, 3, 6]) if first else r.choice([1, 1, 4])
    batch = r.choice([1, 2, 3]) if first or steps == 1 else 1
    full = r.random() < 0.5
    lengths = [r.randint(steps if not first else 1, steps + (0 if first else 9)) for _ in range(batch)]
    if full:
        lengths = [max(lengths) if not first else steps] * batch
    total = steps if first else max(lengths)
    room = 0 if first else total - steps if r.random() < 0.5 else total + (0 if full else r.choice([0, 3]))
    if not first and total == steps:
        return grouped(r)
    packed = r.random() < 0.3
    q = small(r, batch, steps, (heads + (2 * groups if packed else 0)) * size)
    k, v = (None, None) if packed else (small(r, batch, steps, groups * size), small(r, batch, steps, groups * size))
    past = [None, None] if first else [small(r, batch, groups, room, size), small(r, batch, groups, room, size)]
    more = dict(num_heads=heads, kv_num_heads=groups)
    caches = [None, None]
    if size % 16 == 0 and r.random() < 0.6:
        more.update(do_rotary=1, rotary_interleaved=r.randint(0, 1))
        caches = [small(r, 32, size // 2), small(r, 32, size // 2)]
    for name, values in ("scale", [0.4]), ("softcap", [2.0]), ("local_window_size", [1, 3, 20]), ("smooth_softmax", [1]):
        if r.random() < 0.3:
            more[name] = r.choice(values)
    sink = small(r, heads) if "smooth_softmax" not in more and r.random() < 0.2 else None
    bias = small(r, r.choice([batch, 1]), r.choice([heads, 1]), steps, total) if r.random() < 0.2 else None
    operands = [q, k, v, *past, np.array(lengths, I32) - 1, np.array(total, I32), *caches, None, bias, sink]
    if first and not full:              # rows of queries behind the end of a sequence are nobody's
        return grouped(r)
    where = ("grouped", "com.microsoft", 1)

    def expect(*_):
        """rows behind the last key of a sequence are nobody's in onnxruntime: here they are what they were, or 0"""
        y, *caches = onnxruntime_of(where, "GroupQueryAttention", operands, 3, **more)
        for cache, before in zip(caches, past):
            for sample, length in enumerate(lengths):
                cache[sample, :, length:] = 0
                if before is not None:
                    cache[sample, :, length:room] = before[sample, :, length:]
        return y, *caches
    case(where, "GroupQueryAttention", operands, constants=[6, 7, 8, 11], outputs=3, expect=expect, **more)


def rotary(r):
    batch, steps, heads, _ = sizes(r)
    half, most = r.choice([1, 2, 4, 8]), 16
    part = r.random() < 0.3
    size = 2 * half + (4 if part else 0)
    more = dict(interleaved=r.randint(0, 1))
    if part:
        more.update(rotary_embedding_dim=2 * half, num_heads=heads)
    elif r.random() < 0.5:
        more["num_heads"] = heads
    shape = (batch, heads, steps, size) if not part and r.random() < 0.4 else (batch, steps, heads * size)
    ids = np.array([r.randint(0, most - steps)], I64) if r.random() < 0.4 else x(batch, steps, dtype=I64, low=0, high=most - 1, key=r.randrange(1 << 30))
    case(("rotary", "com.microsoft", 1), "RotaryEmbedding", [small(r, *shape), ids, small(r, most, half), small(r, most, half)], constants=[2, 3], **more)


def embedding(r):
    batch, steps, width = r.choice([1, 2, 3]), r.choice([1, 4, 7]), r.choice([4, 8, 12])
    kinds = r.random() < 0.6
    ids = x(batch, steps, dtype=I32, low=0, high=9, key=r.randrange(1 << 30))
    places = x(batch, steps, dtype=I32, low=0, high=7, key=r.randrange(1 << 30)) if r.random() < 0.3 else None
    mask = None
    if r.random() < 0.5:
        mask = (np.arange(steps) < np.array([[r.randint(0, steps)] for _ in range(batch)])).astype(I32)
    operands = [ids, x(batch, steps, dtype=I32, low=0, high=1, key=1) if kinds else None, small(r, 10, width), small(r, 8, width),
                small(r, 2, width) if kinds else None, small(r, width), small(r, width), mask, places]
    case(("embedding", "com.microsoft", 1), "EmbedLayerNormalization", operands, constants=[2, 3, 4, 5, 6], outputs=r.choice([2, 3]),
         **({"epsilon": 1e-3} if r.random() < 0.5 else {}))


def gates(r):
    rows, width = r.choice([(3,), (2, 5), (1, 4)]), r.choice([1, 4, 6])
    where = ("gates", "com.microsoft", 1)
    kind = r.randrange(4)
    if kind == 0:
        case(where, "GatedAdd", [small(r, *rows, width), small(r, *rows, width), small(r, *rows, 1)])
    elif kind == 1:
        case(where, "ScaledSiLU", [small(r, *rows, width)] + ([np.array(r.choice([0.5, 3.0]), F32)] if r.random() < 0.5 else []), alpha=1.7)
    elif kind == 2:
        heads = r.choice([1, 3])
        case(where, "GatedRMSNorm", [small(r, *rows, heads * width), small(r, width), small(r, *rows, heads * width)], activation=r.choice(["silu", "swish", "sigmoid"]))
    else:
        batch, steps, heads = 2, r.choice([1, 5]), r.choice([1, 3])
        b = [small(r, batch, steps, heads)] if r.random() < 0.7 else []
        case(where, "LinearAttentionGate", [small(r, batch, steps, heads), small(r, heads), small(r, heads), *b], outputs=1 + len(b))


def as_standard(r):
    """operators that are the standard's under another name"""
    where = ("as standard", "com.microsoft", 1)
    kind = r.randrange(4)
    if kind == 0:
        m, k, n = r.choice([1, 3]), r.choice([2, 4]), r.choice([1, 5])
        a, b = r.randint(0, 1), r.randint(0, 1)
        case(where, "TransposeMatMul", [small(r, 2, *((k, m) if a else (m, k))), small(r, 2, *((n, k) if b else (k, n)))], transA=a, transB=b, alpha=r.choice([1.0, 0.5]))
    elif kind == 1:
        case(where, "GatherND", [small(r, 3, 4, 5), x(6, 2, dtype=I64, low=0, high=2, key=r.randrange(1 << 30))])
    elif kind == 2:
        case(where, "GridSample", [small(r, 1, 2, 4, 5), x(1, 3, 6, 2, low=-1.2, high=1.2, key=r.randrange(1 << 30))], mode=r.choice(["bilinear", "nearest", "bicubic"]),
             padding_mode=r.choice(["zeros", "border", "reflection"]), align_corners=r.randint(0, 1))
    else:
        k = [np.array(r.randint(-4, 4), I64)] if r.random() < 0.7 else []
        case(where, "Trilu", [small(r, 2, 4, r.choice([3, 6])), *k], upper=r.randint(0, 1))


for number, draw in enumerate((attention, multi_head_attention, grouped, rotary, embedding, gates, as_standard)):
    generator = random.Random(number)
    for _ in range(DRAWS):
        draw(generator)


test_group = group_test(GROUPS, 1, FIRST)
