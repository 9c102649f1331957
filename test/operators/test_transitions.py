# SPDX-License-Identifier: MIT
"""GatedDeltaNet of com.microsoft with the transitions of the first steps as a result, and QMoE by weights of 3 bits, by random attributes and shapes, against
onnxruntime: thirty draws of each in one model."""
import pathlib
import random
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cases import collection, draw, group_test, onnxruntime_of  # noqa: E402
from test_opsets import F16, F32, I32, U8, x  # noqa: E402
from test_packed_ops import packed  # noqa: E402
from test_records import refused  # noqa: E402

DRAWS = 30
GROUPS, case = collection()


def small(r, *shape, dtype=F32, low=-2, high=2):
    return x(*shape, dtype=dtype, low=low, high=high, key=r.randrange(1 << 30))


def operands_of(r, capacity):
    """operands, attributes, and which elements of the transitions are defined"""
    ragged = r.random() < 0.5
    lengths, limits = packed(r)
    if not ragged:
        lengths = [r.randint(1, 5)] * r.randint(1, 3)
    rows, batch = sum(lengths), len(lengths)
    key_heads, shared, depth, width = r.choice([1, 2]), r.choice([1, 1, 3]), r.choice([1, 4]), r.choice([2, 8])
    heads, rule, each = key_heads * shared, r.choice(["linear", "gated", "delta", "gated_delta", "gated_delta"]), r.random() < 0.4
    decays = depth if each and "gated" in rule else 1
    counts = small(r, batch, dtype=I32, low=-1, high=6)
    active = r.choice([None, None, 1, 0])
    given = [small(r, rows, key_heads, depth), small(r, rows, key_heads, depth), small(r, rows, heads, width), limits if ragged else None,
             small(r, rows, heads, *([depth] if each else []), low=-2, high=0) if "gated" in rule else None, small(r, rows, heads, low=0, high=1) if "delta" in rule else None,
             small(r, batch, heads, width, depth), None, None, counts, None if active is None else np.array([active], I32)]
    columns = [heads * decays, key_heads * depth, heads * width]
    steps = np.arange(capacity)[None, :] < np.minimum(counts, lengths)[:, None]
    there = np.concatenate([np.repeat(steps, c, 1) for c in columns], 1) | (active == 0)
    return given, dict(update_rule=rule, qk_l2_norm=1, state_update_capacity=capacity), there


def transitions(r):
    given, more, there = operands_of(r, r.randint(1, 8))
    while given[-1] is None:
        given.pop()
    where = ("GatedDeltaNet", "com.microsoft", 1)

    def expect(*_):
        y, state, update = onnxruntime_of(where, "GatedDeltaNet", given, 3, **more)
        return y, state, np.ma.masked_array(update, ~there)
    case(where, "GatedDeltaNet", given, outputs=3, expect=expect, **more)


def threes(r):
    tokens, experts, block = r.choice([1, 3]), r.choice([2, 4]), r.choice([32, 64])
    inputs, inner = block * r.choice([1, 2]), block * r.choice([1, 2])

    def layer(outputs, width):
        return [x(experts, outputs, width * 3 // 8, dtype=U8, low=0, high=255, key=r.randrange(1 << 30)), small(r, experts, outputs, width // block, dtype=F16, low=0, high=0.1)]
    given = [small(r, tokens, inputs, dtype=F16, low=-1, high=1), small(r, tokens, experts, dtype=F16), *layer(2 * inner, inputs), None, *layer(inputs, inner)]
    case(("QMoE", "com.microsoft", 1), "QMoE", given, constants=r.choice([[], [2, 3, 5, 6]]), k=r.randint(1, 2), normalize_routing_weights=r.randint(0, 1), expert_weight_bits=3,
         activation_type="swiglu", swiglu_fusion=1,
         block_size=block, weights_prepacked=0)


draw(DRAWS, transitions, threes)

test_group = group_test(GROUPS, 3)


@pytest.mark.parametrize("counts, capacity, text", [(None, 2, "without counts"), (np.zeros(9, I32), 2, "9 counts"), (np.zeros(1, I32), 0, "with counts"), (np.zeros(1, I32), 9, "8")])
def test_refused(counts, capacity, text, tmp_path):
    given, more, _ = operands_of(random.Random(0), 1)
    code, said = refused(tmp_path, "GatedDeltaNet", [*given[:9], counts], **{**more, "state_update_capacity": capacity})
    assert code == 3 and text in said, said


@pytest.mark.parametrize("kind", ["fp4", "nvfp4", "fp8", "wfp4afp8"])
def test_of_devices(kind, tmp_path):
    """onnxruntime has these on GPUs alone, and on processors takes such weights for integers"""
    given = [np.zeros((1, 32), F32), np.zeros((1, 2), F32), np.zeros((2, 32, 16), U8), np.ones((2, 32), F32), None, np.zeros((2, 32, 16), U8), np.ones((2, 32), F32)]
    code, said = refused(tmp_path, "QMoE", given, quant_type=kind)
    assert code == 4 and "a quant_type of devices alone" in said, said
