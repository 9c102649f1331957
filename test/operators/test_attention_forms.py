# SPDX-License-Identifier: MIT
"""MultiHeadAttention and DecoderMaskedMultiHeadAttention of com.microsoft over buffers, for beams, with scores as a result and with packed operands, and what
RotaryEmbedding does not read, by random attributes and shapes, against onnxruntime: thirty draws of each in one model."""
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cases import collection, draw, group_test, onnxruntime_of  # noqa: E402
from test_opsets import F32, I32, I64, x  # noqa: E402
from test_records import refused  # noqa: E402

DRAWS = 30
GROUPS, case = collection()
MULTI, STEP = "MultiHeadAttention", "DecoderMaskedMultiHeadAttention"
FLOAT = 1


def small(r, *shape):
    return x(*shape, low=-1, high=1, key=r.randrange(1 << 30))


def trimmed(operands):
    while operands[-1] is None:
        operands.pop()
    return operands


def put(kind, op, operands, more, outputs, beyond=None, plain=None, constants=(), types=None):
    """beyond: keys of caches from there on are nobody's; plain: operands that mean the same to onnxruntime"""
    where = (kind, "com.microsoft", 1)

    def expect(*_):
        y, *rest = onnxruntime_of(where, op, plain or operands, outputs, types, **more)
        caches = [np.ma.masked_array(v, np.broadcast_to(np.arange(v.shape[2])[None, None, :, None] >= beyond, v.shape)) if beyond else v for v in rest[:2]]
        return (y, *caches, *rest[2:])
    case(where, op, operands, constants=constants, outputs=outputs, expect=expect, **more)


def shapes(r):
    """batch, heads, elements of a head"""
    return r.choice([1, 2, 3]), r.choice([1, 2, 3]), r.choice([1, 4, 8])


def buffered(r, op, steps, past_at, indirection_at):
    """a cache that is a buffer with room for more; where the batch is beams, they are followed"""
    batch, heads, size = shapes(r)
    past, room = r.randint(1, 5), 9
    beams = batch if r.random() < 0.5 else 0
    batch *= r.choice([1, 2]) if beams else 1
    width = heads * size
    operands = [None] * 11
    operands[:3] = [small(r, batch, steps, width) for _ in range(3)]
    caches = [small(r, batch, heads, room, size) for _ in range(2)]
    bias = small(r, 3 * width) if r.random() < 0.4 else None
    if op == MULTI:
        operands[3], operands[6:8] = bias, caches
    else:
        operands[10], operands[5:7] = bias, caches
    operands[past_at] = np.array([past], I32)
    if beams:
        operands[indirection_at] = x(batch // beams, beams, room, dtype=I32, low=0, high=beams - 1, key=r.randrange(1 << 30))
        if op == STEP:
            operands[8] = np.array([beams], I32)
    mask = x(batch, past + steps, dtype=I32, low=0, high=1, key=r.randrange(1 << 30))
    mask[:, 0] = 1
    if r.random() < 0.4:
        operands[4 if op == MULTI else 3] = mask
    return operands, dict(num_heads=heads), past + steps


def buffer_of_many(r):
    operands, more, keys = buffered(r, MULTI, r.choice([1, 1, 3]), 8, 9)
    put("a buffer", MULTI, trimmed(operands), more, 3, keys)


def buffer_of_a_step(r):
    operands, more, keys = buffered(r, STEP, 1, 7, 9)
    scores = r.random() < 0.4
    put("a step", STEP, trimmed(operands), dict(more, past_present_share_buffer=1, output_qk=int(scores)), 4 if scores else 3, keys, constants=[7] if r.random() < 0.5 else [], types=FLOAT)


def scored(r):
    batch, heads, size = shapes(r)
    steps, past = r.choice([1, 3, 4]), r.choice([0, 0, 2])
    keys, width = past + steps, heads * size
    operands = [*(small(r, batch, steps, width) for _ in range(3)), None, None, None, *(small(r, batch, heads, past, size) if past else None for _ in range(2))]
    if r.random() < 0.5:
        operands[4] = x(batch, keys, dtype=I32, low=0, high=1, key=r.randrange(1 << 30))
    if r.random() < 0.5:
        operands[5] = small(r, r.choice([1, batch]), r.choice([1, heads]), steps, keys)
    put("scores", MULTI, trimmed(operands), dict(num_heads=heads, unidirectional=r.randint(0, 1)), 4, types=FLOAT)


def packed(r):
    """onnxruntime's CPU provider does not have it"""
    batch, heads, size = shapes(r)
    steps, all_three = r.choice([1, 3]), r.random() < 0.5
    parts = [small(r, batch, steps, heads, size) for _ in range(3)]
    plain = [p.reshape(batch, steps, -1) for p in parts]
    operands = [np.stack(parts, 3)] if all_three else [plain[0], np.stack(parts[1:], 3)]
    put("packed", MULTI, operands, dict(num_heads=heads), 1, plain=plain)


def rotary(r):
    batch, heads, half = r.choice([1, 2]), r.choice([1, 3]), r.choice([1, 4])
    steps = r.choice([1, 4])
    positions = x(batch, steps, dtype=I64, low=0, high=7, key=r.randrange(1 << 30))
    put("rotary", "RotaryEmbedding", [small(r, batch, steps, heads * 2 * half), positions, small(r, 8, half), small(r, 8, half)],
        dict(is_packed_batching=r.randint(0, 1), scale=r.choice([1.0, 2.0]), interleaved=r.randint(0, 1)), 1)


draw(DRAWS, buffer_of_many, buffer_of_a_step, scored, packed, rotary)

test_group = group_test(GROUPS, 5)


def zeros(*shape, dtype=F32):
    return np.zeros(shape, dtype)


CACHES = [zeros(2, 2, 9, 4), zeros(2, 2, 9, 4)]
ROWS = [zeros(2, 1, 8)] * 3


@pytest.mark.parametrize("op, operands, more, code, text", [
    (MULTI, [zeros(2, 3, 2, 2, 4)], {}, 3, "queries"),
    (MULTI, [zeros(2, 3, 8), zeros(2, 3, 2, 3, 4)], {}, 3, "keys"),
    (MULTI, [*ROWS, None, None, None, *CACHES, None, zeros(1, 2, 9, dtype=I32)], {}, 3, "past_sequence_length"),
    (MULTI, [*ROWS, None, None, None, *CACHES, zeros(1, dtype=I32), zeros(1, 3, 9, dtype=I32)], {}, 3, "beams"),
    (MULTI, [*[zeros(2, 10, 8)] * 3, None, None, None, *CACHES, zeros(1, dtype=I32)], {}, 3, "caches"),
    (MULTI, [*[zeros(2, 1, 6)] * 3, None, None, None, *CACHES, zeros(1, dtype=I32)], {}, 3, "caches"),
    (STEP, [*ROWS, None, None, *CACHES, zeros(1, dtype=I32), None, zeros(2, 9, dtype=I32)], dict(past_present_share_buffer=1), 3, "rank"),
    (STEP, [*ROWS, None, None, *CACHES, None, None, zeros(1, 2, 9, dtype=I32)], {}, 3, "past_sequence_length"),
])
def test_refused(op, operands, more, code, text, tmp_path):
    found, said = refused(tmp_path, op, operands, num_heads=2, **more)
    assert found == code and text in said, said
