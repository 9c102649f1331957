# SPDX-License-Identifier: MIT
"""com.microsoft operators on sequences of different lengths that lie one behind the other, and MoEGroupRouter, by random attributes and shapes, against
onnxruntime: thirty draws of each in one model."""
import pathlib
import random
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cases import FIRST, collection, group_test  # noqa: E402
from test_opsets import F32, I32, I64, x  # noqa: E402

DRAWS = 30
GROUPS, case = collection()


def small(r, *shape, dtype=F32, low=-2, high=2):
    return x(*shape, dtype=dtype, low=low, high=high, key=r.randrange(1 << 30))


def put(op, *operands, constants=(), outputs=1, **attributes):
    case((op, "com.microsoft", 1), op, list(operands), constants=constants, outputs=outputs, **attributes)


def packed(r):
    """lengths of sequences, of at least one row, and where they begin and end"""
    lengths = [r.randint(1, 5) for _ in range(r.randint(1, 3))]
    return lengths, np.array([0, *np.cumsum(lengths)], I32)


def causal(r):
    lengths, limits = packed(r)
    channels, kernel, dilation = r.choice([1, 3, 8]), r.randint(2, 4), r.choice([1, 1, 2])
    capacity = r.choice([0, 0, 1, 4])
    bias = small(r, channels) if r.random() < 0.6 else None
    more = [small(r, len(lengths), dtype=I32, low=-1, high=6)] if capacity else []
    put("VarlenCausalConvWithState", small(r, sum(lengths), channels), small(r, channels, 1, kernel), limits, bias, small(r, len(lengths), channels, (kernel - 1) * dilation),
        *more, outputs=3 if capacity else 2, state_update_capacity=capacity, dilation=dilation, activation=r.choice(["none", "silu", "swish"]))


def router(r):
    groups, size = r.choice([1, 2, 4]), r.choice([1, 2, 5])
    kept = r.randint(1, groups)
    put("MoEGroupRouter", small(r, *r.choice([(3,), (2, 2)]), groups * size), small(r, groups * size, low=-1, high=1), top_k=r.randint(1, kept * size), n_group=groups, topk_group=kept,
        group_topk=r.choice([1, 2, 3]), **({"router_sentinel": -7.5} if r.random() < 0.5 else {}))


def hashed(r):
    lengths, limits = packed(r)
    t, size, heads, rows = r.choice([I32, I64]), r.randint(2, 4), r.randint(1, 3), sum(lengths)
    wide, capacity = np.iinfo(t).max // 3, r.choice([0, 0, 1, 4])
    past = small(r, len(lengths), size - 1, dtype=t, low=0, high=6) if r.random() < 0.5 else None
    offsets = small(r, (size - 1) * heads, dtype=t, low=0, high=100) if r.random() < 0.5 else None
    end = np.array(3, t) if r.random() < 0.6 else None
    segments = np.sort(small(r, rows, dtype=I32, low=0, high=2)) if r.random() < 0.5 else None
    older = small(r, len(lengths), size - 1, dtype=I32, low=0, high=2) if segments is not None and past is not None else None
    counts = small(r, len(lengths), dtype=I32, low=-1, high=6) if capacity else None
    more = [past, offsets, end, segments, older, counts]
    while more and more[-1] is None:
        more.pop()
    put("VarlenNGramHashMapping", small(r, rows, dtype=t, low=0, high=6), small(r, size + r.randint(0, 1), dtype=t, low=-wide, high=wide),
        small(r, (size - 1) * heads, dtype=t, low=1, high=97), limits, *more, outputs=4 if capacity and segments is not None else 3 if segments is not None else 2,
        max_ngram_size=size, n_head_per_ngram=heads, pad_id=r.choice([0, 5]), reset_on_eos=r.randint(0, 1), state_update_capacity=capacity)


def delta_net(r):
    ragged, wide = r.random() < 0.4, r.random() < 0.25
    lengths, limits = packed(r)
    if not ragged:
        lengths = [r.randint(1, 5)] * r.randint(1, 3)
    rows, batch = sum(lengths), len(lengths)
    key_heads, shared, depth, width = r.choice([1, 2]), r.choice([1, 1, 3]), r.choice([1, 4]), r.choice([2, 8])
    heads = key_heads * shared
    lead = (batch, lengths[0]) if wide and not ragged else (rows,)
    rule = r.choice(["linear", "gated", "delta", "gated_delta", "gated_delta"])
    gate = r.choice(["none", "softplus", "sigmoid", "kda", "qwen"]) if "gated" in rule else "none"
    each = r.random() < 0.4
    q, k, v = small(r, *lead, key_heads, depth), small(r, *lead, key_heads, depth), small(r, *lead, heads, width)
    state = small(r, batch, heads, width, depth) if len(lead) == 1 or r.random() < 0.5 else None
    decay = small(r, *lead, heads, *([depth] if each else []), low=-2, high=0) if "gated" in rule else None
    beta = small(r, *lead, heads, low=0, high=1) if "delta" in rule else None
    rate = small(r, heads, low=-1, high=1) if gate != "none" else None
    bias = small(r, *r.choice([(heads,), (heads, depth), (heads * depth,)] if each else [(heads,)])) if gate != "none" else None
    if len(lead) == 1 and r.random() < 0.25:
        q, k, v = np.concatenate([w.reshape(rows, -1) for w in (q, k, v)], 1), None, None
    more = [limits if ragged else None, decay, beta, state, rate, bias]
    operands = [q, k, v, *more]
    while operands[-1] is None:
        operands.pop()
    put("GatedDeltaNet", *operands, outputs=2, update_rule=rule, gate_activation=gate, beta_activation=r.choice(["none", "sigmoid"]) if "delta" in rule else "none",
        qk_l2_norm=1 if "delta" in rule else r.randint(0, 1), scale=r.choice([0.0, 0.5]), **({"gate_lower_bound": -3.0} if r.random() < 0.3 else {}))


for place, draw in enumerate((causal, router, hashed, delta_net)):
    generator = random.Random(place)
    for _ in range(DRAWS):
        draw(generator)


test_group = group_test(GROUPS, 1, FIRST)
