# SPDX-License-Identifier: MIT
"""com.microsoft operators that align two sequences, by random attributes and shapes, against onnxruntime: forty draws of each in one model."""
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cases import collection, draw, group_test  # noqa: E402
from test_opsets import F32, I64, x  # noqa: E402
from test_records import refused  # noqa: E402

DRAWS = 40
GROUPS, case = collection()


def whole(r, *shape, high, dtype=I64):
    return x(*shape, dtype=dtype, low=0, high=high, key=r.randrange(1 << 30))


def warping(r):
    shape = r.choice([(), (1,)]) + r.choice([(1, 1), (1, 6), (5, 1), (4, 4), (3, 9), (8, 5)])
    # small whole numbers have many equal sums
    costs = whole(r, *shape, high=r.choice([0, 1, 3])).astype(F32) if r.random() < 0.5 else x(*shape, key=r.randrange(1 << 30))
    case(("DynamicTimeWarping", "com.microsoft", 1), "DynamicTimeWarping", [costs])


def bifurcation(r):
    tokens, length = r.choice([1, 2, 9]), r.randint(1, 12)
    source, current = whole(r, length, high=tokens), whole(r, r.randint(1, 4), high=tokens)
    start = r.randint(0, length)
    prediction = np.append(source[start:], r.randint(0, tokens)).astype(I64)
    if r.random() < 0.6:
        prediction[r.randrange(len(prediction))] = r.randint(0, tokens)
    least = r.choice([1, 1, 2, 3])
    # where no n-gram of `least` tokens is there once, onnxruntime looks at larger ones
    case(("BifurcationDetector", "com.microsoft", 1), "BifurcationDetector", [source, current, np.array(start if r.random() < 0.5 else [start], I64)] + ([prediction] if r.random() < 0.8 else []),
         outputs=2, min_ngram_size=least, max_ngram_size=least + r.choice([0, 1, 2, 8]))


draw(DRAWS, warping, bifurcation)

test_group = group_test(GROUPS, 3)


@pytest.mark.parametrize("op, operands, attributes, code, text", [
    ("DynamicTimeWarping", [np.zeros((2, 3, 3), F32)], {}, 3, "one matrix"),
    ("DynamicTimeWarping", [np.zeros((0, 3), F32)], {}, 3, "at least one"),
    ("DynamicTimeWarping", [np.zeros((3, 3), F32)], {}, 4, "output"),
    ("BifurcationDetector", [np.zeros(4, I64), np.zeros(1, I64), np.array(0, I64), np.zeros(6, I64)], {}, 3, "prediction"),
    ("BifurcationDetector", [np.zeros(4, I64), np.zeros(1, I64), np.array(0, I64), np.zeros((1, 5), I64)], {}, 3, "rank"),
    ("BifurcationDetector", [np.zeros(4, I64), np.zeros(1, I64), np.array([0, 1], I64)], {}, 3, "element"),
    ("BifurcationDetector", [np.zeros(4, I64), np.zeros(1, I64), np.array(0, I64)], dict(min_ngram_size=4), 3, "n-grams"),
    ("BifurcationDetector", [np.zeros(4, I64), np.zeros(1, I64), np.array(0, I64), np.zeros(5, I64)], {}, 4, "output"),
])
def test_refused(op, operands, attributes, code, text, tmp_path):
    found, said = refused(tmp_path, op, operands, **attributes)
    assert found == code and text in said, said
