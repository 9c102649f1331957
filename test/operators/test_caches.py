# SPDX-License-Identifier: MIT
"""GroupQueryAttention of com.microsoft with caches of integers, caches that evict, chunks that are padded, norms of heads and scores as a result, by random
attributes and shapes, against onnxruntime: thirty draws of each in one model."""
import pathlib
import random
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cases import HOW, collection, draw, group_test, onnxruntime_of  # noqa: E402
from test_opsets import F16, F32, I32, I8, U8, x  # noqa: E402
from test_records import refused  # noqa: E402

DRAWS = 30
GROUPS, case = collection()
NAMES = ["query", "key", "value", "past_key", "past_value", "seqlens_k", "total_sequence_length", "cos_cache", "sin_cache", "position_ids", "attention_bias", "head_sink",
         "k_scale", "v_scale", "q_norm_weight", "k_norm_weight", "query_seqlens"]


def small(r, *shape, dtype=F32):
    return x(*shape, dtype=dtype, low=-1, high=1, key=r.randrange(1 << 30))


def listed(given):
    operands = [given.get(name) for name in NAMES]
    while operands[-1] is None:
        operands.pop()
    return operands


def shapes(r):
    """groups, heads, elements of a head"""
    groups = r.choice([1, 2, 3])
    return groups, groups * r.choice([1, 2, 4]), r.choice([8, 16, 32])


def step(r, batch, steps, groups, heads, size, room, lengths, total, dtype=F32):
    """operands of a call with a cache of floats, and attributes; what is drawn for every kind"""
    given = dict(query=small(r, batch, steps, heads * size, dtype=dtype), key=small(r, batch, steps, groups * size, dtype=dtype), value=small(r, batch, steps, groups * size, dtype=dtype),
                 seqlens_k=np.array(lengths, I32) - 1, total_sequence_length=np.array(total, I32))
    if room:
        given.update(past_key=small(r, batch, groups, room, size, dtype=dtype), past_value=small(r, batch, groups, room, size, dtype=dtype))
    more = dict(num_heads=heads, kv_num_heads=groups)
    if size % 16 == 0 and r.random() < 0.5:
        more.update(do_rotary=1, rotary_interleaved=r.randint(0, 1))
        given.update(cos_cache=small(r, 64, size // 2, dtype=dtype), sin_cache=small(r, 64, size // 2, dtype=dtype))
    if r.random() < 0.2:
        more["softcap"] = 2.0
    if r.random() < 0.2:
        given["head_sink"] = small(r, heads, dtype=dtype)
    return given, more


def put(kind, given, more, lengths, outputs=3, counts=None, resident=None, plain=dict):
    """rows of caches behind the last key of a sequence are nobody's, and so are steps that do not count"""
    where = (kind, "com.microsoft", 1)
    operands = listed(given)

    def expect(*_):
        y, *rest = onnxruntime_of(where, "GroupQueryAttention", listed(plain(given)), outputs, **more)
        hidden = np.zeros(y.shape, bool)
        for sample, count in enumerate(counts if counts is not None else []):
            hidden[sample, count:] = True
        results = [np.ma.masked_array(y, hidden)]
        for cache in rest[:2]:
            beyond = np.zeros(cache.shape, bool)
            for sample, length in enumerate(resident or lengths):
                beyond[sample, :, length:] = True
            results.append(np.ma.masked_array(cache, beyond))
        return (*results, *rest[2:])
    case(where, "GroupQueryAttention", operands, constants=[6, 7, 8, 11, 12, 13, 14, 15], outputs=outputs, expect=expect, **more)


def lengths_of(r, batch, steps, most):
    return [r.randint(steps, most) for _ in range(batch)]


def quantized(r):
    groups, heads, size = shapes(r)
    bits, kinds, dtype = r.choice([4, 8]), [r.choice(["PER_TENSOR", "PER_CHANNEL"])] * 2, r.choice([F32, F32, F16])
    steps = r.choice([1, 1, 3])
    batch, room = r.choice([1, 2, 3]) if steps == 1 else 1, steps + r.randint(1, 6)
    lengths = lengths_of(r, batch, steps + (steps > 1), room)
    given, more = step(r, batch, steps, groups, heads, size, 0, lengths, max(lengths), dtype)
    unit = 0.01 * (16 if bits == 4 else 1)
    for part, kind in zip("kv", kinds):
        given[f"{part}_scale"] = np.array([unit], F32) if kind == "PER_TENSOR" else x(1, groups, 1, size, low=0.7 * unit, high=1.5 * unit, key=r.randrange(1 << 30))
        t = U8 if bits == 4 else I8
        given["past_key" if part == "k" else "past_value"] = x(batch, groups, room, size * bits // 8, dtype=t, low=-128, high=np.iinfo(t).max, key=r.randrange(1 << 30))
        more[f"{part}_quant_type"] = kind
    if r.random() < 0.3:
        more["local_window_size"] = r.choice([1, 3])
    put("quantized cache", given, dict(more, kv_cache_bit_width=bits), lengths)


def resident_of(total, room, window):
    g = room - window + 1
    return total if total <= room else total - g * -(-(total - room) // g)


def evicting(r):
    groups, heads, size = shapes(r)
    window = r.randint(1, 6)
    room, steps = window + r.choice([0, 0, 1, 3]), r.choice([1, 1, 2, 5])
    batch = r.choice([1, 2]) if steps == 1 else 1
    lengths = lengths_of(r, batch, steps, 20)
    given, more = step(r, batch, steps, groups, heads, size, room, lengths, max(lengths))
    put("evicting cache", given, dict(more, local_window_size=window, sliding_window_cache=1), lengths, resident=[resident_of(t, room, window) for t in lengths])


def padded(r):
    groups, heads, size = shapes(r)
    steps, batch = r.choice([1, 2, 5]), r.choice([1, 2, 3])
    counts = [r.randint(1, steps) for _ in range(batch)]
    lengths = [c + r.randint(0, 6) for c in counts]
    total = steps + max(t - c for t, c in zip(lengths, counts)) + r.choice([0, 2])
    given, more = step(r, batch, steps, groups, heads, size, total, lengths, total)
    given["query_seqlens"] = np.array(counts, I32)
    if r.random() < 0.4:
        more["local_window_size"] = r.choice([1, 3])
    put("padded chunk", given, more, lengths, counts=counts)


def scored(r):
    groups, heads, size = shapes(r)
    steps = r.choice([1, 3])
    batch = r.choice([1, 2]) if steps == 1 else 1
    lengths = [steps + r.randint(1, 6)] * batch
    given, more = step(r, batch, steps, groups, heads, size, lengths[0] + r.choice([0, 0, 2]), lengths, lengths[0])
    if r.random() < 0.4:
        more["local_window_size"] = r.choice([1, 3])
    if r.random() < 0.4:
        given["attention_bias"] = small(r, r.choice([1, batch]), r.choice([1, heads]), steps, lengths[0])
    put("scores", given, dict(more, qk_output=r.randint(1, 2)), lengths, outputs=4)


def normed(r):
    groups, heads, size = shapes(r)
    dtype, steps = r.choice([F32, F32, F16]), r.choice([1, 3])
    batch = r.choice([1, 2]) if steps == 1 else 1
    lengths = [steps + r.randint(1, 6)] * batch
    given, more = step(r, batch, steps, groups, heads, size, lengths[0], lengths, lengths[0], dtype)
    given.update(q_norm_weight=small(r, size, dtype=dtype), k_norm_weight=small(r, size, dtype=dtype))
    epsilon = {name: 0.01 for name in ("qk_norm_epsilon", "q_norm_epsilon", "k_norm_epsilon") if r.random() < 0.3}

    def plain(given):
        """the same without norms, which onnxruntime's CPU provider lacks"""
        given = dict(given)
        for part, name in ("q", "query"), ("k", "key"):
            v = given[name].astype(F32).reshape(*given[name].shape[:2], -1, size)
            root = np.sqrt((v * v).mean(-1, keepdims=True) + epsilon.get(f"{part}_norm_epsilon", epsilon.get("qk_norm_epsilon", 1e-6)))
            given[name] = (v / root * given.pop(f"{part}_norm_weight").astype(F32)).reshape(given[name].shape).astype(dtype)
        return given
    put("norms", given, dict(more, **epsilon), lengths, plain=plain)


draw(DRAWS, quantized, evicting, padded, scored, normed)

test_group = group_test(GROUPS, 5, [*HOW, "x86-64-v3 --exact"])


def base(**more):
    r = random.Random(0)
    given, _ = step(r, 1, 2, 2, 4, 8, 6, [4], 4)
    for name in "cos_cache", "sin_cache", "head_sink":
        given.pop(name, None)
    return {**given, **more}


SCALES = dict(k_scale=np.ones(1, F32), v_scale=np.ones(1, F32))
EIGHT = dict(k_quant_type="PER_TENSOR", v_quant_type="PER_TENSOR", kv_cache_bit_width=8)
BYTES = dict(past_key=np.zeros((1, 2, 6, 8), I8), past_value=np.zeros((1, 2, 6, 8), I8))


@pytest.mark.parametrize("given, more, code, text", [
    (base(), EIGHT, 3, "k_scale"),
    (base(**SCALES), EIGHT, 3, "the past"),
    (base(**SCALES, **BYTES), dict(EIGHT, kv_cache_bit_width=4), 3, "the past"),
    (base(**SCALES, **BYTES), dict(EIGHT, kv_cache_bit_width=2), 3, "kv_cache_bit_width"),
    (base(**SCALES, **BYTES), dict(EIGHT, v_quant_type="NONE"), 3, "v_quant_type"),
    (base(**BYTES, k_scale=np.ones((1, 2, 6, 8), F32), v_scale=np.ones(1, F32)), EIGHT, 3, "scale of a cache"),
    (base(**BYTES, k_scale=np.ones((1, 3, 1, 8), F32), v_scale=np.ones(1, F32)), EIGHT, 3, "scale of a cache"),
    (base(**BYTES, **SCALES), {}, 3, "operand"),
    (base(), dict(sliding_window_cache=1), 3, "local_window_size"),
    (base(), dict(sliding_window_cache=1, local_window_size=7), 3, "window of 7"),
    (base(past_key=None, past_value=None), dict(sliding_window_cache=1, local_window_size=2), 3, "past_key"),
    (base(attention_bias=np.zeros((1, 1, 2, 4), F32)), dict(sliding_window_cache=1, local_window_size=2), 4, "attention_bias"),
    (base(query_seqlens=np.ones(2, I32)), {}, 3, "numbers of steps"),
    (base(query_seqlens=np.ones(1, I32)), dict(causal=0), 3, "query_seqlens"),
    (base(q_norm_weight=np.ones(8, F32)), {}, 3, "go together"),
    (base(q_norm_weight=np.ones(4, F32), k_norm_weight=np.ones(4, F32)), {}, 3, "norm of heads"),
])
def test_refused(given, more, code, text, tmp_path):
    operands = listed(given)
    at = [k for k, v in enumerate(operands) if v is not None]
    found, said = refused(tmp_path, "GroupQueryAttention", operands, [k for k in at if k == 6], num_heads=4, kv_num_heads=2, **more)
    assert found == code and text in said, said
