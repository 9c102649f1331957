# SPDX-License-Identifier: MIT
"""AttnLSTM of com.microsoft, an LSTM that attends to a memory, by random attributes and shapes, against onnxruntime: forty draws."""
import pathlib
import random
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cases import collection, draw, group_test  # noqa: E402
from test_opsets import F32, I32, x  # noqa: E402
from test_records import refused  # noqa: E402

DRAWS = 40
GROUPS, case = collection()
WHERE = ("AttnLSTM", "com.microsoft", 1)


def small(r, *shape):
    return x(*shape, low=-1, high=1, key=r.randrange(1 << 30))


def sizes(r):
    """steps, batch, inputs, hidden, places, depth, attention's size and outputs (0: no layer)"""
    return (r.choice([1, 3, 20]), *(r.randint(1, 4) for _ in range(6)), r.choice([0, 1, 3]))


def operands(r, directions, s, full=False):
    steps, batch, inputs, hidden, places, depth, size, outputs = s

    def may(*shape, share=0.5):
        return small(r, *shape) if full or r.random() < share else None
    lengths = np.array([r.randint(1, steps) for _ in range(batch)], I32) if full or r.random() < 0.4 else None
    ends = np.array([r.randint(1, places) for _ in range(batch)], I32) if full or r.random() < 0.5 else None
    return [small(r, steps, batch, inputs), small(r, directions, 4 * hidden, inputs + (outputs or depth)), small(r, directions, 4 * hidden, hidden),
            may(directions, 8 * hidden, share=0.7), lengths, may(directions, batch, hidden), may(directions, batch, hidden), may(directions, 3 * hidden),
            small(r, directions, hidden, size), small(r, directions, depth, size), small(r, directions, size), small(r, batch, places, depth), ends,
            *([small(r, directions, hidden + depth, outputs)] if outputs else [])]


def attending(r):
    direction, s = r.choice(["forward", "reverse", "bidirectional"]), sizes(r)
    directions = 1 + (direction == "bidirectional")
    more = dict(direction=direction, hidden_size=s[3])
    if r.random() < 0.3:
        more["activations"] = [r.choice(["Sigmoid", "HardSigmoid"]), r.choice(["Tanh", "Softsign"]), r.choice(["Tanh", "Sigmoid"])] * directions
    if r.random() < 0.3:
        more["clip"] = r.choice([0.5, 1.5])
    if r.random() < 0.3:
        more["input_forget"] = 1
    given = operands(r, directions, s)
    while given[-1] is None:
        given.pop()
    case(WHERE, "AttnLSTM", given, constants=r.choice([[], [1, 2, 3, 8, 9, 10, 13]]), outputs=3, **more)


draw(DRAWS, attending)

test_group = group_test(GROUPS, 3)


@pytest.mark.parametrize("at, shape, text", [
    (1, (1, 12, 7), "weights"), (8, (1, 3, 2), "layer"), (8, (1, 4), "query layer"), (9, (2, 4, 3), "memory layer"), (10, (1, 4), "vector"), (11, (2, 0, 4), "places"),
    (11, (3, 5, 4), "memory"), (12, (3,), "lengths"), (13, (1, 6, 2), "attention layer")])
def test_refused(at, shape, text, tmp_path):
    given = operands(random.Random(0), 1, (2, 2, 3, 3, 5, 4, 3, 2), full=True)
    given[at] = np.zeros(shape, given[at].dtype)
    code, said = refused(tmp_path, "AttnLSTM", given)
    assert code == 3 and text in said, said


def test_nothing_to_attend_to(tmp_path):
    given = operands(random.Random(0), 1, (2, 2, 3, 3, 5, 4, 3, 2), full=True)
    code, said = refused(tmp_path, "AttnLSTM", given[:8])
    assert code == 3 and "8" in said, said
