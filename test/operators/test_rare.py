# SPDX-License-Identifier: MIT
"""Operators that few exporters write, and those of ai.onnx.ml and ai.onnx.preview.training, in forms that the backend tests do not show.

One model per group of cases and version; each case is checked against onnxruntime or, where that has no kernel, the reference
evaluator of the onnx package, or against the function that it gives."""
import collections
import itertools
import pathlib
import statistics
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dnncc  # noqa: E402
from test_opsets import F16, F32, F64, I32, I64, element, ints, x  # noqa: E402

Case = collections.namedtuple("Case", "op inputs constants outputs attributes expect title")
GROUPS = collections.defaultdict(list)      # (name, domain, version): cases


def case(where, op, inputs, constants=(), outputs=1, expect=None, title="", **attributes):
    """inputs: run-time arrays, None for an absent one; those at positions in constants are initializers"""
    GROUPS[where].append(Case(op, list(inputs), set(constants), outputs, attributes, expect, title))


# ---- DeformConv ----

def sampled(image, place):
    """image [C, spatial] at a place between pixels; 0 outside"""
    low = np.floor(place).astype(int)
    total = np.zeros(len(image), image.dtype)
    for corner in itertools.product((0, 1), repeat=len(place)):
        at = low + corner
        if np.all(at >= 0) and np.all(at < image.shape[1:]):
            share = np.prod([p - l if k else 1 - (p - l) for p, l, k in zip(place, low, corner)])
            total += (image[(slice(None), *at)] * share).astype(image.dtype)
    return total


def deformed(image, weights, offset, bias=None, mask=None, group=1, offset_group=1, strides=None, dilations=None, pads=None):
    dims = image.ndim - 2
    strides, dilations, pads = strides or [1] * dims, dilations or [1] * dims, pads or [0] * 2 * dims
    kernel, out = weights.shape[2:], offset.shape[2:]
    n, channels, outputs = len(image), image.shape[1] // offset_group, len(weights) // group
    offset = offset.reshape(n, offset_group, *kernel, dims, *out)
    mask = np.ones((n, offset_group, *kernel, *out), image.dtype) if mask is None else mask.reshape(n, offset_group, *kernel, *out)
    result = np.zeros((n, len(weights), *out), image.dtype)
    for i, o in itertools.product(range(n), np.ndindex(*out)):
        column = np.zeros((image.shape[1], *kernel), image.dtype)
        for g, k in itertools.product(range(offset_group), np.ndindex(*kernel)):
            place = [o[d] * strides[d] - pads[d] + k[d] * dilations[d] + offset[(i, g, *k, d, *o)] for d in range(dims)]
            rows = slice(g * channels, (g + 1) * channels)
            column[(rows, *k)] = sampled(image[i, rows], np.array(place)) * mask[(i, g, *k, *o)]
        for m in range(len(weights)):
            first = m // outputs * weights.shape[1]
            result[(i, m, *o)] = np.sum(column[first:first + weights.shape[1]] * weights[m]) + (0 if bias is None else bias[m])
    return result


def deform_case(version, shape, outputs, kernel, out, group=1, offset_group=1, bias=True, mask=True, dtype=F32, known=True, expect=None, title="", reach=2, **attributes):
    points = offset_group * int(np.prod(kernel))
    inputs = [x(*shape, dtype=dtype), x(outputs, shape[1] // group, *kernel, dtype=dtype, low=-1, high=1),
              x(shape[0], points * len(kernel), *out, dtype=dtype, low=-reach, high=reach), x(outputs, dtype=dtype) if bias else None,
              x(shape[0], points, *out, dtype=dtype, low=0, high=1) if mask else None]
    while inputs[-1] is None:
        inputs.pop()
    case(("deform", "", version), "DeformConv", inputs, constants=(1, 3) if known else (), group=group, offset_group=offset_group, expect=expect, title=title, **attributes)


for version in 19, 22:
    deform_case(version, (1, 3, 6, 7), 5, (3, 2), (4, 6), title="plain")
    deform_case(version, (2, 6, 9, 8), 4, (3, 3), (5, 3), group=2, offset_group=3, strides=[2, 3], pads=[2, 1, 1, 0], dilations=[1, 1], title="neither lies in the other")
    deform_case(version, (1, 8, 7, 7), 8, (3, 3), (5, 5), group=4, offset_group=2, dilations=[2, 1], pads=[1, 0, 1, 0], bias=False, title="two groups share")
    deform_case(version, (1, 8, 5, 5), 6, (2, 2), (4, 4), group=2, offset_group=4, mask=False, known=False, title="run-time weights")
    deform_case(version, (2, 4, 5, 5), 4, (1, 1), (5, 5), group=4, bias=False, mask=False, reach=9, title="depthwise, mostly outside")
    deform_case(version, (1, 2, 5, 4), 3, (2, 2), (4, 3), dtype=F64, expect=deformed, title="f64")
deform_case(22, (2, 4, 4, 5, 3), 6, (2, 2, 2), (3, 2, 2), group=2, offset_group=2, strides=[1, 2, 1], title="volumes",
            expect=lambda a, w, o, b, m: deformed(a, w, o, b, m, 2, 2, [1, 2, 1]))
deform_case(22, (1, 4, 17), 2, (3,), (9,), offset_group=2, strides=[2], pads=[1, 1], bias=False, mask=False, title="signals",
            expect=lambda a, w, o: deformed(a, w, o, offset_group=2, strides=[2], pads=[1, 1]))
case(("deform", "", 22), "DeformConv", [x(1, 1, 4, 4), x(1, 1, 1, 1), np.full((1, 2, 4, 4), np.inf, F32)], title="endlessly far", expect=lambda a, w, o: a * 0)


# ---- Col2Im ----

def folded(columns, image, block, strides=None, pads=None, dilations=None):
    """columns [N, C * windows, positions] added up in images, pads cut off"""
    dims = len(image)
    strides, pads, dilations = strides or [1] * dims, pads or [0] * 2 * dims, dilations or [1] * dims
    padded = [image[d] + pads[d] + pads[d + dims] for d in range(dims)]
    out = [(padded[d] - (block[d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in range(dims)]
    columns = columns.reshape(len(columns), -1, *block, *out)
    result = np.zeros((*columns.shape[:2], *padded), columns.dtype)
    for k in np.ndindex(*block):
        for p in np.ndindex(*out):
            result[(slice(None), slice(None), *(p[d] * strides[d] + k[d] * dilations[d] for d in range(dims)))] += columns[(slice(None), slice(None), *k, *p)]
    return result[(slice(None), slice(None), *(slice(pads[d], pads[d] + image[d]) for d in range(dims)))]


for known in (), (1,), (2,), (1, 2):        # what is not known is checked as it runs
    for shape, image, block, attributes in (
            ((2, 3 * 6, 12), (5, 6), (2, 3), dict(strides=[2, 1], pads=[1, 0, 0, 2], dilations=[1, 2])), ((1, 4, 5), (10,), (2,), dict(strides=[2])),
            ((2, 2 * 12, 8), (3, 4, 3), (2, 3, 2), {}), ((1, 2, 7), (7,), (1,), {})):
        case(("columns", "", 18), "Col2Im", [x(*shape), ints(*image), ints(*block)], known, title=f"known {known}", **attributes,
             expect=lambda c, i, b, a=attributes: folded(c, i, b, **a))


# ---- Det ----

def determinant(a):
    return np.linalg.det(a.astype(F64)).astype(a.dtype)


def mixed(*shape, dtype=F32, rank=None):
    """matrices with zeros on the diagonal; of a smaller rank"""
    made = x(*shape, dtype=dtype, low=-1, high=1)
    for k in range(shape[-1]):
        made[..., k, k] = 0
    if rank is not None:
        made[..., rank:, :] = made[..., :1, :]
    return made


for version in 11, 22:
    for n in 1, 2, 3, 4, 5, 8, 17:
        case(("det", "", version), "Det", [x(3, n, n, low=-1, high=1)], expect=determinant, title=f"{n}")
        case(("det", "", version), "Det", [mixed(2, 2, n, n, dtype=F64)], expect=determinant, title=f"{n}, zeros, f64")
    for n, rank in (3, 2), (6, 5), (4, 1), (5, 0):
        case(("det", "", version), "Det", [np.round(mixed(n, n, rank=rank) * 4)], expect=lambda a: np.zeros((), a.dtype), title=f"{n}, rank {rank}")
    case(("det", "", version), "Det", [np.eye(7, dtype=F32)[[6, 0, 1, 2, 3, 5, 4]]], expect=lambda a: np.array(-1, F32), title="a permutation")
    case(("det", "", version), "Det", [np.array([[[np.nan, 1], [1, 1]], [[0, 0], [0, 0]], [[1, np.nan], [0, 1]], [[1e-30, 1], [1, 1]]], F32)], title="NaN",
         expect=lambda a: np.array([np.nan, 0, np.nan, -1], F32))
    case(("det", "", version), "Det", [np.zeros((2, 0, 0), F32)], expect=lambda a: np.ones(2, F32), title="nothing")
    case(("det", "", version), "Det", [x(2, 5, 5, dtype=F16)], expect=lambda a: np.linalg.det(a.astype(F64)).astype(F16), title="f16")


# ---- ai.onnx.ml: labels, features ----

ML = "ai.onnx.ml"
for t in F32, F64, I32, I64:
    for threshold in 0.0, 0.5, -1.0, 1e30, -1e30, np.nan, np.inf:
        data = ints(-2 ** 31, -2, -1, 0, 1, 2, 2 ** 31 - 1, dtype=t) if t in (I32, I64) else np.array([-np.inf, -1, -0.0, 0.5, np.nextafter(t(0.5), t(1)), np.nan, np.inf], t)
        case(("labels", ML, 1), "Binarizer", [data], threshold=threshold, title=t.__name__, expect=lambda a, v=threshold: (a > np.float64(np.float32(v))).astype(a.dtype))
    for shape, at in ((2, 3, 4), ints(3, 0, 3)), ((2, 4), ints(1, 2, 0, 0).reshape(2, 2)), ((5,), ints(4, 1)), ((2, 1), ints(0)[0]):
        for known in (), (1,):
            case(("labels", ML, 1), "ArrayFeatureExtractor", [x(*shape, dtype=t), at], known, title=f"{t.__name__} {shape}",
                 expect=lambda a, i: np.atleast_2d(a)[..., np.ravel(i)])


def encoded(keys, values, preset):
    """the last of equal keys counts; NaN is one"""
    def one(v):
        same = [i for i, k in enumerate(keys) if k == v or (k != k and v != v)]
        return values[same[-1]] if same else preset
    return lambda a: np.array([one(v) for v in a.ravel()], values.dtype).reshape(a.shape)


KINDS = {F32: "floats", I64: "int64s"}
for version in 2, 4:
    for t, u in itertools.product((F32, I64), (F32, I64)):
        for count in 1, 2, 3, 8, 9, 100:
            keys = x(count, dtype=t, low=-2 ** 40 if t == I64 else -4, high=2 ** 40 if t == I64 else 4)
            values = x(count, dtype=u, key=1)
            default = {"default_float": 2.5} if u == F32 else {"default_int64": 2 ** 50 + 1}
            asked = np.concatenate([keys, keys - 1, np.array([0, -2 ** 62, 2 ** 62], t)])[:-1].reshape(2, -1)
            case(("labels", ML, version), "LabelEncoder", [asked], title=f"{count} {t.__name__} {u.__name__}", expect=encoded(keys, values, u(list(default.values())[0])),
                 **{f"keys_{KINDS[t]}": keys.tolist(), f"values_{KINDS[u]}": values.tolist()}, **default)
    case(("labels", ML, version), "LabelEncoder", [ints(1, 2, 3)], title="no default", keys_int64s=[3, 1], values_floats=[5.0, 6.0], expect=lambda a: np.array([6, -0.0, 5], F32))
    case(("labels", ML, version), "LabelEncoder", [np.array([1, np.nan, 0, -0.0, 7], F32)], title="NaN and zeros", keys_floats=[np.nan, -0.0, 1.0], values_int64s=[7, 8, 9],
         expect=lambda a: ints(9, 7, 8, 8, -1))      # onnxruntime does not find NaN before version 4
case(("labels", ML, 2), "LabelEncoder", [ints(1, 3)], title="the first", keys_int64s=[1, 3, 1, 3], values_int64s=[5, 6, 7, 8], expect=lambda a: ints(5, 6))
case(("labels", ML, 4), "LabelEncoder", [ints(1, 3)], title="the last", keys_int64s=[1, 3, 1, 3], values_int64s=[5, 6, 7, 8], expect=lambda a: ints(7, 8))
case(("labels", ML, 4), "LabelEncoder", [np.array([np.nan, 1], F32)], title="the last NaN", keys_floats=[np.nan, 1.0, np.nan], values_int64s=[5, 6, 7], expect=lambda a: ints(7, 6))
for t, u in itertools.product((F32, F64, I64, I32, np.int16), repeat=2):
    keys, values = x(7, dtype=t, low=-9, high=9), x(7, dtype=u, low=-9, high=9, key=1)
    for preset in np.array([3], u), np.array(4, u), None:
        more = {} if preset is None else {"default_tensor": numpy_helper.from_array(preset)}
        case(("labels", ML, 4), "LabelEncoder", [np.append(keys, t(11))], title=f"tensors {t.__name__} {u.__name__}",
             keys_tensor=numpy_helper.from_array(keys), values_tensor=numpy_helper.from_array(values), default_int64=99, default_float=99.0, **more,
             expect=encoded(keys, values, preset.ravel()[0] if preset is not None else u(-0.0) if u in (F32, F64) else u(-1)))


# ---- ai.onnx.ml: trees ----

LEQ, LT, GTE, GT, EQ, NEQ, MEMBER = range(7)
COMPARE = [np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal, lambda v, s: v in s]


def grown(trees, depth, features, targets, modes, dtype=F32, missing=False, key=0, splits=(-1, 0, 0.5, 1, 2)):
    """attributes of random trees, none of them complete; numbers of nodes in no order"""
    rng = np.random.default_rng(key)
    nodes, leaves, roots = [], [], []

    def grow(left):
        if left == 0 or (left < depth and rng.random() < 0.2):
            leaves.append((rng.choice([1.0, -0.5, 0.25, 3.0]), int(rng.integers(targets))))
            return len(leaves) - 1, True
        at = len(nodes)
        nodes.append(None)
        below = [grow(left - 1), grow(left - 1)]
        nodes[at] = (int(rng.integers(features)), int(rng.choice(modes)), float(rng.choice(splits)), bool(rng.integers(2)), below,
                     set(rng.choice(splits, rng.integers(4)).tolist()))
        return at, False

    for _ in range(trees):
        roots.append(grow(depth)[0])
    order = rng.permutation(len(nodes))             # a node's new number
    place = np.argsort(order)
    listed = [nodes[k] for k in place]
    renamed = [[(int(order[to]) if not leaf else to, leaf) for to, leaf in n[4]] for n in listed]
    members = [m for n in listed if n[1] == MEMBER for m in (*sorted(n[5]), np.nan)]
    attributes = dict(
        nodes_featureids=[n[0] for n in listed], nodes_modes=numpy_helper.from_array(np.array([n[1] for n in listed], np.uint8)),
        nodes_splits=numpy_helper.from_array(np.array([n[2] for n in listed], dtype)), n_targets=targets, tree_roots=[int(order[r]) for r in roots],
        leaf_weights=numpy_helper.from_array(np.array([v for v, _ in leaves], dtype)), leaf_targetids=[t for _, t in leaves])
    for way, word in enumerate(("false", "true")):
        attributes[f"nodes_{word}nodeids"], attributes[f"nodes_{word}leafs"] = [r[way][0] for r in renamed], [int(r[way][1]) for r in renamed]
    if members:
        attributes["membership_values"] = numpy_helper.from_array(np.array(members, dtype))
    if missing:
        attributes["nodes_missing_value_tracks_true"] = [int(n[3]) for n in listed]

    def leaf(row, root):
        at, end = root, False
        while not end:
            feature, mode, split, tracks, below, members = nodes[at]
            v = row[feature]
            at, end = below[bool(COMPARE[mode](v, members if mode == MEMBER else dtype(split)) or (missing and tracks and np.isnan(v)))]
        return leaves[at]

    return attributes, lambda a: [[leaf(row, root) for root in roots] for row in a]


def scored(said, targets, aggregate, post):
    scores = np.zeros((len(said), targets))
    for row, votes in enumerate(said):
        for t in range(targets):
            mine = [v for v, to in votes if to == t]
            scores[row, t] = [sum(mine) / len(votes), sum(mine), min(mine, default=0), max(mine, default=0)][aggregate]
    if post == 2:
        scores = 1 / (1 + np.exp(-scores))
    if post in (1, 3):
        e = np.exp(scores) * ((scores != 0) | (post == 1))
        total = e.sum(1, keepdims=True)
        scores = e / np.where(total == 0, 1, total)
    if post == 4:
        quantile = statistics.NormalDist().inv_cdf
        scores = np.array([[quantile(v) if 0 < v < 1 else np.inf if v == 1 else -np.inf if v == 0 else np.nan for v in row] for row in scores])
    return scores


def trees_case(*grow, aggregate=1, post=0, rows=9, title="", features=3, targets=3, **more):
    attributes, said = grown(*grow, features, targets, **more)
    dtype = more.get("dtype", F32)
    data = np.random.default_rng(5).choice(np.array([-2, -1, -0.0, 0, 0.5, 0.7, 1, 2, 9, np.nan, np.inf], dtype), (rows, features))
    case(("trees", ML, 5), "TreeEnsemble", [data], aggregate_function=aggregate, post_transform=post, title=title, **attributes,
         expect=lambda a: scored(said(a), targets, aggregate, post).astype(a.dtype))


for mode in range(7):
    trees_case(5, 3, modes=[mode], title=f"mode {mode}", key=mode)
    trees_case(5, 3, modes=[mode], missing=True, title=f"mode {mode}, missing", key=mode)
for aggregate, targets in itertools.product(range(4), (1, 2, 5)):
    trees_case(4, 6, modes=range(7), missing=True, aggregate=aggregate, targets=targets, title=f"aggregate {aggregate} of {targets}", key=targets)
for post in range(4):
    for targets in 1, 4:
        trees_case(3, 2, modes=[LEQ, GT], post=post, targets=targets, title=f"post {post} of {targets}")
for dtype in F64, F16:
    trees_case(20, 9, modes=range(7), dtype=dtype, targets=2, missing=True, title=dtype.__name__)
trees_case(1, 1, modes=[LT], rows=1, targets=1, title="a stump")
trees_case(30, 12, modes=[LEQ, LT], rows=40, features=12, title="deep")
chances = [0.0, 1e-9, 0.01, 0.4, 0.5, 0.77, 0.999999, 1.0, 1.5]
for dtype in F32, F64:          # one leaf each
    case(("trees", ML, 5), "TreeEnsemble", [np.arange(9)[:, None].astype(dtype)], post_transform=4, title="quantiles", n_targets=1, tree_roots=[0],
         leaf_weights=numpy_helper.from_array(np.array(chances, dtype)), leaf_targetids=[0] * 9, nodes_featureids=[0] * 8,
         nodes_modes=numpy_helper.from_array(np.full(8, LEQ, np.uint8)), nodes_splits=numpy_helper.from_array(np.arange(8).astype(dtype)),
         nodes_trueleafs=[1] * 8, nodes_truenodeids=list(range(8)), nodes_falseleafs=[0] * 7 + [1], nodes_falsenodeids=list(range(1, 9)),
         expect=lambda a: scored([[(float(c), 0)] for c in np.array(chances, a.dtype)], 1, 1, 4).astype(a.dtype))

MODES = "BRANCH_LEQ BRANCH_LT BRANCH_GTE BRANCH_GT BRANCH_EQ BRANCH_NEQ".split()


def listed(trees, depth, features, targets, modes=range(6), votes=1, missing=False, key=0):
    """attributes of TreeEnsembleRegressor: random trees, each node with the number of its tree and its own"""
    rng = np.random.default_rng(key)
    nodes, given = [], []

    def grow(tree, left, count):
        at = count[0]
        count[0] += 1
        leaf = left == 0 or (left < depth and rng.random() < 0.2)
        place = len(nodes)
        nodes.append([tree, at, int(rng.integers(features)), "LEAF" if leaf else MODES[rng.choice(modes)], float(rng.choice([-1, 0, 0.5, 1])), 0, 0, int(rng.integers(2))])
        if leaf:
            given.extend((tree, at, int(t), float(rng.choice([1, -0.5, 0.25, 3]))) for t in rng.choice(targets, min(votes, targets), replace=False))
        else:
            nodes[place][5:7] = [grow(tree, left - 1, count), grow(tree, left - 1, count)]
        return at

    for tree in range(trees):
        grow(3 * tree, depth, [0])
    rng.shuffle(given)
    column = lambda rows, k: [row[k] for row in rows]     # noqa: E731
    attributes = dict(nodes_treeids=column(nodes, 0), nodes_nodeids=column(nodes, 1), nodes_featureids=column(nodes, 2), nodes_modes=column(nodes, 3), nodes_values=column(nodes, 4),
                      nodes_falsenodeids=column(nodes, 5), nodes_truenodeids=column(nodes, 6), target_treeids=column(given, 0), target_nodeids=column(given, 1), target_ids=column(given, 2),
                      target_weights=column(given, 3), n_targets=targets)
    return attributes | ({"nodes_missing_value_tracks_true": column(nodes, 7)} if missing else {})


def doubled(attributes):
    """the same with what opset 3 has for doubles"""
    wide = {k + "_as_tensor": numpy_helper.from_array(np.array(attributes[k], F64)) for k in ("nodes_values", "target_weights", "class_weights", "base_values") if k in attributes}
    return {k: v for k, v in attributes.items() if k + "_as_tensor" not in wide} | wide


def classes(attributes, labels):
    """of TreeEnsembleClassifier"""
    made = {k.replace("target_", "class_"): v for k, v in attributes.items() if k != "n_targets"}
    return made | dict(classlabels_int64s=labels)


rows = np.random.default_rng(6).choice(np.array([-2, -1, -0.0, 0, 0.5, 0.7, 1, 2, 9, np.inf], F32), (9, 3))
for version in 1, 3:
    for mode in range(6):
        case(("regressor", ML, version), "TreeEnsembleRegressor", [rows], **listed(5, 3, 3, 3, [mode], key=mode), title=f"mode {mode}")
    for aggregate, targets, votes in itertools.product(("SUM", "AVERAGE", "MIN", "MAX"), (1, 4), (1, 4)):
        case(("regressor", ML, version), "TreeEnsembleRegressor", [rows], **listed(6, 5, 3, targets, [LEQ, GT], votes), aggregate_function=aggregate,
             **({"base_values": [0.5, -1.0, 2.0, 0.0][:targets]} if votes >= targets else {}), title=f"{aggregate} of {targets}, {votes} votes")
    for post in "NONE", "LOGISTIC", "SOFTMAX":
        case(("regressor", ML, version), "TreeEnsembleRegressor", [rows], **listed(4, 3, 3, 3, [LEQ], 2), post_transform=post, title=post)
    case(("regressor", ML, version), "TreeEnsembleRegressor", [np.where(rows == 9, np.nan, rows).astype(F32)], **listed(7, 4, 3, 2, [LEQ, LT, GTE, GT], missing=True), title="missing")
    case(("regressor", ML, version), "TreeEnsembleRegressor", [rows], **listed(3, 0, 3, 2), title="leaves alone")
    for post, votes, count in itertools.product(("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"), (1, 3), (3, 5)):
        for base in [], [0.5, -1.0, 2.0, 0.0, 1.0][:count]:
            case(("classifier", ML, version), "TreeEnsembleClassifier", [rows], outputs=2, **classes(listed(6, 4, 3, count, [LT, GT], votes), list(range(count, 2 * count))), post_transform=post,
                 **({"base_values": base} if base else {}), title=f"{post} {votes} {count} {base}")
    few = classes(listed(4, 2, 3, 3, [LEQ]), [7, -2 ** 40, 9])
    case(("classifier", ML, version), "TreeEnsembleClassifier", [rows], outputs=2, **(few | dict(class_weights=[-abs(v) for v in few["class_weights"]])), title="who has no vote does not win")
case(("classifier", ML, 3), "TreeEnsembleClassifier", [rows.astype(F64)], outputs=2, **doubled(classes(listed(5, 4, 3, 3, votes=2), [5, 6, 7])), title="f64",
     expect=lambda a: tuple(onnxruntime_of(("classifier", ML, 1), "TreeEnsembleClassifier", [rows], **classes(listed(5, 4, 3, 3, votes=2), [5, 6, 7]))))
case(("regressor", ML, 3), "TreeEnsembleRegressor", [rows.astype(F64)], **doubled(listed(5, 4, 3, 2, votes=2) | {"base_values": [0.25, 1.0]}), title="f64")
case(("regressor", ML, 3), "TreeEnsembleRegressor", [rows[:2]], **{k: v[:1] for k, v in listed(1, 0, 3, 1).items() if k != "n_targets"}, n_targets=3, base_values=[7.0, 8.0, 9.0],
     aggregate_function="MIN", title="who has no vote has the base", expect=lambda a: np.array([[7, 8, 9]] * 2, F32) + F32([listed(1, 0, 3, 1)["target_weights"][0], 0, 0]))


# ---- what scikit-learn exports: features, linear models, support-vector machines ----

POSTS = "NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"
points = x(7, 4, low=-2, high=2)
holes = np.where(x(5, 3) > 2, np.nan, np.where(x(5, 3) < -2, 7, x(5, 3))).astype(F32)
for data in points, points.astype(F64), ints(*range(-14, 14), dtype=I32).reshape(7, 4), ints(*range(-14, 14)).reshape(7, 4), points[0]:
    kind = f"{data.dtype} {data.shape}"
    case(("features", ML, 1), "Scaler", [data], offset=[.5, -1., 2., 0.], scale=[2., .25, -3., 1.], title=kind)
    case(("features", ML, 1), "Scaler", [data], offset=[.5], scale=[-2.], title=f"{kind}, one for all")
    for norm in "MAX", "L1", "L2":
        case(("features", ML, 1), "Normalizer", [np.vstack([data, 0 * data[:1]]) if data.ndim > 1 else data], norm=norm, title=kind)
    case(("features", ML, 1), "LinearRegressor", [data], coefficients=x(12).tolist(), intercepts=[1., -2., .5], targets=3, title=kind,
         expect=None if data.dtype == F32 else lambda a: a.astype(F32) @ x(12).reshape(3, 4).T + F32([1, -2, .5]))
    for count in 1, 2, 3:
        for post in POSTS:
            if count > 1 or data.ndim > 1:
                case(("features", ML, 1), "LinearClassifier", [data], outputs=2, coefficients=x(4 * count).tolist(), intercepts=x(count, key=1).tolist(),
                     classlabels_ints=[9, -5, 2 ** 40][:max(count, 2)], post_transform=post, multi_class=1, title=f"{kind}, {count}")
case(("features", ML, 1), "LinearRegressor", [points], coefficients=x(4).tolist(), title="no intercept")
case(("features", ML, 1), "LinearRegressor", [points], coefficients=x(8).tolist(), intercepts=[0., 1.], targets=2, post_transform="SOFTMAX", title="softmax")
for replaced in np.nan, 7.0:
    for values in [.5, -1., 2.], [4.]:
        case(("features", ML, 1), "Imputer", [holes], imputed_value_floats=values, replaced_value_float=replaced, title=f"{replaced} {values}")
case(("features", ML, 1), "Imputer", [ints(1, 7, 3, 7, 7, 2).reshape(2, 3)], imputed_value_int64s=[10, 20, 30], replaced_value_int64=7, title="i64")
case(("features", ML, 1), "FeatureVectorizer", [x(2, 3), x(2, 1), x(2, 2)], inputdimensions=[3, 1, 2], title="as they are")
case(("features", ML, 1), "FeatureVectorizer", [x(2, 3), x(2, 2)], inputdimensions=[2, 4], title="cut off and filled",
     expect=lambda a, b: np.hstack([a[:, :2], b, np.zeros((2, 2), F32)]))
for data in ints(3, 5, 1, 4, 9), ints(1, 5, 3, 3).reshape(2, 2), np.array([1, 3.5, 5, 9], F32), ints(5, 3, dtype=I32):
    case(("features", ML, 1), "OneHotEncoder", [data], cats_int64s=[5, 1, 3], zeros=1, title=f"{data.dtype} {data.shape}")
case(("features", ML, 1), "OneHotEncoder", [ints(3, 5, 1, 1)], cats_int64s=[5, 1, 3], zeros=0, title="all are there")
for labels in {"classlabels_int64s": [4, 5, 6, 7]}, {"classlabels_strings": ["a", "b", "c", "d"]}:
    case(("features", ML, 1), "ZipMap", [points], expect=lambda a: a, title="scores", **labels)

vectors, kernel_params = x(6 * 4, low=-2, high=2, key=2).tolist(), [.3, .5, 3.]
for kernel in "LINEAR", "POLY", "RBF", "SIGMOID":
    for degree in (2., 3., 2.5) if kernel == "POLY" else (3.,):
        own = dict(kernel_type=kernel, kernel_params=[.05, 1.5, degree] if kernel == "POLY" else kernel_params, support_vectors=vectors)
        for one_class in 0, 1:
            case(("vectors", ML, 1), "SVMRegressor", [points], coefficients=x(6, key=3).tolist(), rho=[.25], n_supports=6, one_class=one_class, title=f"{kernel} {degree}", **own)
        for classes_, each in (2, [4, 2]), (3, [1, 3, 2]), (4, [2, 1, 2, 1]):
            pairs = classes_ * (classes_ - 1) // 2
            machine = own | dict(coefficients=x(6 * (classes_ - 1), key=classes_).tolist(), rho=x(pairs, key=4).tolist(), vectors_per_class=each, classlabels_ints=[3, -1, 8, 5][:classes_])
            sigmoids = dict(prob_a=x(pairs, low=-3, high=-1).tolist(), prob_b=x(pairs, low=-1, high=1).tolist())
            for post in POSTS:
                case(("vectors", ML, 1), "SVMClassifier", [points], outputs=2, post_transform=post, title=f"{kernel} {classes_} {post}", **machine)
            case(("vectors", ML, 1), "SVMClassifier", [points], outputs=2, title=f"{kernel} {classes_}, probabilities", **(machine | sigmoids))
for data in points.astype(F64), ints(*range(-14, 14), dtype=I32).reshape(7, 4), points[0]:
    case(("vectors", ML, 1), "SVMClassifier", [data], outputs=2, title=f"{data.dtype} {data.shape}", **(machine | sigmoids | dict(kernel_type="RBF", kernel_params=[.01, 0., 3.])))
case(("vectors", ML, 1), "SVMRegressor", [points], coefficients=x(4).tolist(), rho=[.25], kernel_params=kernel_params, title="no vectors")
for count, key in (2, 0), (2, 1), (3, 0), (4, 1):
    for weights in x(4 * count, key=key), abs(x(4 * count, key=key)) / 8:
        case(("vectors", ML, 1), "SVMClassifier", [points], outputs=2, coefficients=weights.tolist(), rho=[.1], kernel_params=kernel_params, classlabels_ints=[3, -1, 8, 5][:count],
             title=f"no vectors, {count}")

# trees with votes for one of two classes, as exporters write them
for votes_for, negative, post in itertools.product((0, 1), (False, True), POSTS):
    made = classes(listed(5, 3, 3, 1, [LEQ, GT], key=votes_for), [7, -9])
    made["class_ids"] = [votes_for] * len(made["class_ids"])
    made["class_weights"] = [w / 4 if negative else abs(w) / 8 for w in made["class_weights"]]
    for base in [], [.3]:
        if not (base and votes_for):
            case(("two classes", ML, 1), "TreeEnsembleClassifier", [rows], outputs=2, post_transform=post, title=f"{votes_for} {negative} {post} {base}", **made,
                 **({"base_values": base} if base else {}))


# ---- signals ----

for bands, size, rate, low, high in ((8, 16, 8192, 0, 4096), (40, 512, 16000, 125.5, 7600), (13, 257, 8000, 20.3, 3999), (1, 64, 44100, 300.2, 9000.7), (20, 33, 16000, 60, 7999)):
    sizes = [np.array(bands, I64), np.array(size, I64), np.array(rate, I64)]
    for known in (0, 1, 2, 3, 4), (0, 1), ():
        for t in F32, F64:
            case(("signals", "", 17), "MelWeightMatrix", [*sizes, np.array(low, t), np.array(high, t)], known, title=f"known {known} {t.__name__}")
case(("signals", "", 17), "MelWeightMatrix", [ints(8, dtype=I32), ints(16, dtype=I32), ints(8192, dtype=I32), np.array([0], F32), np.array([4096], F32)], range(5), title="of one element",
     output_datatype=11, expect=lambda *_: MEL_8)
MEL_8 = np.zeros((9, 8))
MEL_8[[0, 0, 1, 1, 2, 3, 4, 5], range(8)] = 1
case(("signals", "", 17), "MelWeightMatrix", [ints(8), ints(16), ints(8192), np.array(0, F32), np.array(4096, F32)], (0, 1), title="u8", output_datatype=2,
     expect=lambda *_: MEL_8.astype(np.uint8))


def spectra(signal, step, length, onesided):
    cut = np.stack([signal[:, k:k + length, 0] for k in range(0, signal.shape[1] - length + 1, step)], 1)
    made = np.fft.rfft(cut) if onesided else np.fft.fft(cut)
    return np.stack([made.real, made.imag], -1).astype(signal.dtype)


for length, onesided in itertools.product((15, 16, 1, 2), (0, 1)):          # of as many bins are two lengths
    for known in (), (1,), (3,):
        case(("signals", "", 17), "STFT", [x(2, 61, 1), np.array(7), None, np.array(length)], known, title=f"{length}, known {known}", onesided=onesided,
             expect=lambda a, s, n, half=onesided: spectra(a, int(s), int(n), half))


# ---- TfIdfVectorizer ----

def pooled(grams, order=None):
    """n-grams as attributes"""
    lengths = max(map(len, grams))
    by_length = [[g for g in grams if len(g) == k] for k in range(1, lengths + 1)]
    starts = np.cumsum([0, *(len(g) * (k + 1) for k, g in enumerate(by_length[:-1]))])
    return dict(pool_int64s=[t for some in by_length for g in some for t in g], ngram_counts=starts.tolist(), ngram_indexes=order or list(range(len(grams))))


GRAMS = [(2,), (3,), (5,), (1, 1), (3, 3), (7, 8), (6, 7), (3, 3, 7), (1, 3, 3), (8, 6, 8, 5)]
ORDER = [9, 0, 4, 2, 11, 5, 3, 7, 6, 8]
tokens = ints(1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8)
for data in tokens, tokens.reshape(2, 6), tokens[:, None].astype(I32), tokens.reshape(3, 4).astype(I32):
    for least, most, skips in (1, 1, 0), (1, 2, 0), (2, 3, 1), (1, 4, 5), (3, 4, 2), (2, 2, 40), (4, 4, 0):
        for mode in "TF", "IDF", "TFIDF":
            case(("grams", "", 9), "TfIdfVectorizer", [data], mode=mode, min_gram_length=least, max_gram_length=most, max_skip_count=skips, title=f"{data.shape}",
                 **pooled(GRAMS, ORDER if skips % 2 else None), **({"weights": (np.arange(10) / 4 + 1).tolist()} if most % 2 else {}))
case(("grams", "", 9), "TfIdfVectorizer", [tokens], mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0, title="one place for several", **pooled(GRAMS[:7], [0, 1, 0, 3, 4, 1, 6]))
case(("grams", "", 9), "TfIdfVectorizer", [np.zeros((3, 0), I64)], mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0, title="nothing", **pooled(GRAMS[:7]))


# ---- ai.onnx.preview.training ----

TRAINING = "ai.onnx.preview.training"


def in_turn(one, states):
    """one(rate, count, tensor, gradient, states) for several tensors"""
    def all_of(rate, count, *rest):
        many = len(rest) // (2 + states)
        made = [one(rate.ravel()[0], int(count.ravel()[0]), *rest[k::many]) for k in range(many)]
        return tuple(made[k][part].astype(rest[k].dtype) for part in range(1 + states) for k in range(many))
    return all_of


def momentum(alpha, beta, norm_coefficient, mode):
    def one(r, t, w, g, v):
        g = norm_coefficient * w + g
        v = alpha * v + (beta if t > 0 else 1) * g
        return w - r * (g + alpha * v if mode == "nesterov" else v), v
    return one


def adagrad(norm_coefficient=0, decay_factor=0, epsilon=1e-6):
    def one(r, t, w, g, h):
        g = norm_coefficient * w + g
        h = h + g * g
        return w - r / (1 + t * decay_factor) * g / (np.sqrt(h) + epsilon), h
    return one


def adam(norm_coefficient=0, norm_coefficient_post=0, alpha=0.9, beta=0.999, epsilon=1e-6):
    def one(r, t, w, g, v, h):
        g = norm_coefficient * w + g
        v, h = alpha * v + (1 - alpha) * g, beta * h + (1 - beta) * g * g
        r = r * np.sqrt(1 - beta ** t) / (1 - alpha ** t) if t > 0 else r
        return (1 - norm_coefficient_post) * (w - r * v / (np.sqrt(h) + epsilon)), v, h
    return one


for t, shapes in itertools.product((F32, F64), ([(3, 5)], [(2,), (), (4, 1, 3)])):
    for count, rate in (0, np.array(0.1, t)), (1, np.array([0.3], F32)), (17, np.array(0.02, F64)):
        for op, states, make, choices in (
                ("Momentum", 1, momentum, [dict(alpha=0.9, beta=0.25, norm_coefficient=0.125, mode=m) for m in ("standard", "nesterov")]),
                ("Adagrad", 1, adagrad, [{}, dict(norm_coefficient=0.125, decay_factor=0.5, epsilon=0.25)]),
                ("Adam", 2, adam, [{}, dict(norm_coefficient=0.125, norm_coefficient_post=0.25, alpha=0.5, beta=0.75, epsilon=0.125)])):
            for more in choices:
                state = [x(*s, dtype=t, low=0.5 if part > 1 else -4, key=part) for part in range(2 + states) for s in shapes]
                case(("training", TRAINING, 1), op, [rate, np.array(count), *state], outputs=(1 + states) * len(shapes), title=f"{t.__name__} {count} {len(shapes)}", **more,
                     expect=in_turn(make(**more), states))


# ---- the test ----

def node_of(c, domain, prefix):
    names = [f"{prefix}_x{k}" if v is not None else "" for k, v in enumerate(c.inputs)]
    return helper.make_node(c.op, names, [f"{prefix}_y{k}" for k in range(c.outputs)], prefix, domain=domain, **c.attributes), \
        {n: v for k, (n, v) in enumerate(zip(names, c.inputs)) if n and k not in c.constants}, \
        [numpy_helper.from_array(v, n) for k, (n, v) in enumerate(zip(names, c.inputs)) if n and k in c.constants]


def model_of(nodes, given, constants, outputs, domain, version):
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(domain, version)] if domain else [helper.make_opsetid("", version)]
    graph = helper.make_graph(nodes, "rare", [helper.make_tensor_value_info(k, element(v), v.shape) for k, v in given.items()], outputs, constants)
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def expected(c, domain, version):
    if c.expect:
        results = c.expect(*[v for v in c.inputs if v is not None])
        return [np.asarray(r) for r in (results if isinstance(results, tuple) else (results,))]
    node, given, constants = node_of(c, domain, "n")
    model = model_of([node], given, constants, [helper.make_empty_tensor_value_info(o) for o in node.output], domain, version)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, given)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return [np.asarray(r) for r in ReferenceEvaluator(model).run(None, given)]


def onnxruntime_of(where, op, inputs, outputs=2, **attributes):
    return expected(Case(op, inputs, set(), outputs, attributes, None, ""), *where[1:])


@pytest.mark.parametrize("group", GROUPS, ids=lambda g: f"{g[0]} {g[2]}")
def test_group(group):
    _, domain, version = group
    nodes, given, constants, wanted, names = [], {}, [], {}, {}
    for index, c in enumerate(GROUPS[group]):
        node, case_given, case_constants = node_of(c, domain, f"n{index}")
        for output, result in zip(node.output, expected(c, domain, version)):
            wanted[output], names[output] = result, f"{c.op} {c.title} {c.attributes}"[:200]
        nodes.append(node)
        given.update(case_given)
        constants += case_constants
    outputs = [helper.make_tensor_value_info(k, element(v), v.shape) for k, v in wanted.items()]
    with dnncc.Workspace(f"rare_{group[0]}_{version}") as folder:
        onnx.save(model_of(nodes, given, constants, outputs, domain, version), str(folder / "model.onnx"))
        dnncc.compile_model(folder / "model.onnx", folder)
        results = dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), list(given.values()))
    wrong = []
    for (key, want), got in zip(wanted.items(), results):
        tolerance = 2e-2 if want.dtype == F16 else 1e-4
        same = got.dtype == want.dtype and got.shape == want.shape
        if not same or not np.allclose(got, want, rtol=tolerance, atol=1e-5 if want.dtype != F16 else 1e-2, equal_nan=True):
            wrong.append(f"{names[key]}: {got.dtype} {got.shape} {got.ravel()[:6]}, want {want.dtype} {want.shape} {want.ravel()[:6]}")
    assert not wrong, "\n".join(wrong)


def test_sizes_that_contradict():
    """sizes that are known as it runs and have not the bins that are declared: an error"""
    for op, inputs, shape, wrong, attributes in (
            ("STFT", [x(1, 61, 1), np.array(7), None, np.array(16)], (1, 7, 9, 2), [(3, 18), (3, 15), (3, 0), (3, -2 ** 63), (1, 20)], {}),
            ("STFT", [x(1, 61, 1), np.array(7), None, np.array(16)], (1, 7, 16, 2), [(3, 17), (3, 15), (3, 2 ** 63 - 1)], dict(onesided=0)),
            ("MelWeightMatrix", [np.array(8), np.array(16), np.array(8192), np.array(0, F32), np.array(4000, F32)], (9, 8), [(0, 7), (0, 9), (1, 15), (1, 18), (0, -2 ** 63), (1, 2 ** 63 - 1)], {})):
        node, given, _ = node_of(Case(op, inputs, set(), 1, attributes, None, ""), "", "n")
        with dnncc.Workspace("sizes") as folder:
            onnx.save(model_of([node], given, [], [helper.make_tensor_value_info("n_y0", 1, shape)], "", 17), str(folder / "model.onnx"))
            dnncc.compile_model(folder / "model.onnx", folder)
            host = dnncc.build_host(folder, dnncc.SANITIZE)
            assert dnncc.run_host(host, list(given.values()))[0].shape == shape
            for place, number in wrong:
                with pytest.raises(AssertionError, match="-3"):
                    dnncc.run_host(host, [np.array(number) if k == place else v for k, v in enumerate(inputs) if v is not None])


def test_features_that_are_not_there():
    """indices of features do not count from the end"""
    node, given, _ = node_of(Case("ArrayFeatureExtractor", [x(2, 4), ints(3)], set(), 1, {}, None, ""), ML, "n")
    with dnncc.Workspace("features") as folder:
        onnx.save(model_of([node], given, [], [helper.make_tensor_value_info("n_y0", 1, (2, 1))], ML, 1), str(folder / "model.onnx"))
        dnncc.compile_model(folder / "model.onnx", folder)
        host = dnncc.build_host(folder, dnncc.SANITIZE)
        assert np.array_equal(dnncc.run_host(host, list(given.values()))[0], x(2, 4)[:, 3:])
        for wrong in -1, 4, -2 ** 63, 2 ** 63 - 1:
            with pytest.raises(AssertionError, match="-3"):
                dnncc.run_host(host, [x(2, 4), ints(wrong)])


def test_columns_that_contradict():
    """shapes that are known as it runs and are not those of the operands: an error, not another image"""
    c = Case("Col2Im", [x(1, 12, 6), ints(3, 4), ints(2, 2)], set(), 1, {}, None, "")
    node, given, _ = node_of(c, "", "n")
    with dnncc.Workspace("columns") as folder:
        onnx.save(model_of([node], given, [], [helper.make_tensor_value_info("n_y0", 1, (1, 3, 3, 4))], "", 18), str(folder / "model.onnx"))
        dnncc.compile_model(folder / "model.onnx", folder)
        host = dnncc.build_host(folder, dnncc.SANITIZE)
        assert np.allclose(dnncc.run_host(host, c.inputs)[0], folded(*c.inputs))
        low, high = -2 ** 63, 2 ** 63 - 1
        for image, block in ((3, 4), (2, 3)), ((3, 4), (4, 1)), ((3, 4), (0, 2)), ((3, 4), (-2, -2)), ((3, 4), (low, high)), ((3, 4), (high, high)), \
                ((3, 5), (2, 2)), ((4, 3), (2, 2)), ((low, 4), (2, 2)):
            with pytest.raises(AssertionError, match="-3"):
                dnncc.run_host(host, [c.inputs[0], ints(*image), ints(*block)])


def test_categories_that_are_not_there():
    node, given, _ = node_of(Case("OneHotEncoder", [ints(3, 5, 1)], set(), 1, dict(cats_int64s=[5, 1, 3], zeros=0), None, ""), ML, "n")
    with dnncc.Workspace("categories") as folder:
        onnx.save(model_of([node], given, [], [helper.make_tensor_value_info("n_y0", 1, (3, 3))], ML, 1), str(folder / "model.onnx"))
        dnncc.compile_model(folder / "model.onnx", folder)
        host = dnncc.build_host(folder, dnncc.SANITIZE)
        assert np.array_equal(dnncc.run_host(host, [ints(3, 5, 1)])[0], np.eye(3)[[2, 0, 1]])
        with pytest.raises(AssertionError, match="-3"):
            dnncc.run_host(host, [ints(3, 4, 1)])


def test_pipeline():
    """As scikit-learn's exporter writes a pipeline: what ZipMap makes of scores, a map for each row, is the scores"""
    nodes = [helper.make_node("Scaler", ["x"], ["s"], domain=ML, offset=[1., 2., 0., -1.], scale=[.5, 1., 2., 1.]),
             helper.make_node("LinearClassifier", ["s"], ["label", "scores"], domain=ML, coefficients=x(12).tolist(), intercepts=[0., .5, -.5],
                              classlabels_ints=[0, 1, 2], post_transform="LOGISTIC"),
             helper.make_node("Normalizer", ["scores"], ["shares"], domain=ML, norm="L1"), helper.make_node("ZipMap", ["shares"], ["maps"], domain=ML, classlabels_int64s=[0, 1, 2])]
    outputs = [helper.make_tensor_value_info("label", 7, [7]),
               helper.make_value_info("maps", helper.make_sequence_type_proto(helper.make_map_type_proto(7, helper.make_tensor_type_proto(1, []))))]
    model = model_of(nodes, {"x": points}, [], outputs, ML, 1)
    label, maps = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": points})
    with dnncc.Workspace("pipeline") as folder:
        onnx.save(model, str(folder / "model.onnx"))
        dnncc.compile_model(folder / "model.onnx", folder)
        dnncc.check_clang(folder)
        got = dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), [points])
    assert np.array_equal(got[0], label)
    np.testing.assert_allclose(got[1], [[m[k] for k in range(3)] for m in maps], rtol=1e-5, atol=1e-6)


def test_labels_that_are_strings():
    """are no output, but scores are; of whichever classifier"""
    names, shape = ["a", "b", "c"], [7, 3]
    votes = {k: v for k, v in classes(listed(5, 3, 4, 3, [LEQ, GT], 3), []).items() if not k.startswith("classlabels")}
    for op, attributes in (("LinearClassifier", dict(coefficients=x(12).tolist(), intercepts=[0., 1., 2.])), ("TreeEnsembleClassifier", votes),
                           ("SVMClassifier", dict(coefficients=x(12).tolist(), rho=[.1], kernel_params=kernel_params))):
        node = helper.make_node(op, ["x"], ["label", "scores"], domain=ML, classlabels_strings=names, **attributes)
        outputs = [helper.make_tensor_value_info("label", 8, [7]), helper.make_tensor_value_info("scores", 1, shape)]
        zipped = helper.make_node("ZipMap", ["scores"], ["maps"], domain=ML, classlabels_strings=names)
        model = model_of([node, zipped], {"x": points}, [], outputs, ML, 1)
        want = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(["scores"], {"x": points})[0]
        with dnncc.Workspace("strings") as folder:
            onnx.save(model, str(folder / "model.onnx"))
            done = dnncc.run([dnncc.DNNCC, folder / "model.onnx", "-o", folder / "model.c"])
            assert done.returncode == 4 and "output 0 ('label') is not supported" in done.stderr and done.stderr.count("\n") == 1
            for name in "scores", "maps":
                dnncc.compile_model(folder / "model.onnx", folder, [f"--output={name}"])
                np.testing.assert_allclose(dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), [points])[0], want, rtol=1e-5, atol=1e-6)


TWO = classes(listed(2, 1, 4, 2, [LEQ]), [0, 1])
SVC = dict(kernel_type="RBF", kernel_params=[.3, 0., 3.], support_vectors=[0.] * 8, coefficients=[1., -1.], rho=[0.], vectors_per_class=[1, 1], classlabels_ints=[0, 1])
REFUSED = [
    ("LinearClassifier", dict(coefficients=[1.] * 4, intercepts=[0.], classlabels_strings=["a", "b"], classlabels_ints=[1, 2]), 3, "numbers and strings"),
    ("LinearClassifier", dict(coefficients=[1.] * 8, intercepts=[0., 0.]), 3, "classlabels_ints is missing"),
    ("LinearClassifier", dict(coefficients=[1.] * 8, intercepts=[0., 0.], classlabels_ints=[1, 2, 3]), 3, "2 intercepts for 3 classes"),
    ("LinearClassifier", dict(coefficients=[1.] * 7, intercepts=[0., 0.], classlabels_ints=[1, 2]), 3, "7 coefficients"),
    ("LinearClassifier", dict(coefficients=[1.] * 4, intercepts=[0.], classlabels_ints=[1, 2], post_transform="PROBIT"), 4, "PROBIT"),
    ("LinearRegressor", dict(coefficients=[1.] * 4, post_transform="LOGISTIC"), 4, "post_transform of one target"),
    ("LinearRegressor", dict(coefficients=[1.] * 4, targets=2 ** 31 - 1), 3, "coefficients"),
    ("LinearRegressor", dict(targets=1), 3, "coefficients is missing"),
    ("Scaler", dict(offset=[1.] * 3), 3, "offset has 3 values for 4 features"),
    ("Imputer", dict(replaced_value_float=0.), 3, "imputed_value_floats is missing"),
    ("Imputer", dict(imputed_value_floats=[1.] * 5), 3, "5 values for 4 features"),
    ("FeatureVectorizer", dict(inputdimensions=[4, 4]), 3, "2 values for 1 inputs"),
    ("FeatureVectorizer", dict(inputdimensions=[-1]), 3, "holds -1"),
    ("FeatureVectorizer", dict(inputdimensions=[2 ** 31 - 1]), 3, "limit"),
    ("OneHotEncoder", dict(cats_strings=["a"]), 4, "strings"),
    ("OneHotEncoder", dict(), 3, "cats_int64s is missing"),
    ("ZipMap", dict(classlabels_int64s=[1, 2, 3]), 3, "3 labels for 4 scores"),
    ("SVMRegressor", dict(coefficients=[1.] * 3, rho=[0.], kernel_params=[1., 2.]), 3, "kernel_params has 2 values"),
    ("SVMRegressor", dict(coefficients=[1.] * 3, rho=[0.]), 3, "3 coefficients, want 4"),
    ("SVMRegressor", dict(coefficients=[1.] * 3, rho=[0.], n_supports=2 ** 31 - 1, support_vectors=[1.] * 12), 3, "vectors"),
    ("SVMRegressor", dict(coefficients=[1.] * 4), 3, "rho is missing"),
    ("SVMClassifier", SVC | dict(vectors_per_class=[1, -1]), 3, "holds -1"),
    ("SVMClassifier", SVC | dict(vectors_per_class=[2 ** 62, 2 ** 62]), 3, "vectors_per_class"),
    ("SVMClassifier", SVC | dict(vectors_per_class=[1]), 3, "1 values for 2 classes"),
    ("SVMClassifier", SVC | dict(coefficients=[1.]), 3, "1 coefficients and 1 rho for 2 classes"),
    ("SVMClassifier", SVC | dict(prob_a=[1.]), 3, "prob_a and prob_b have 1 and 0 values"),
    ("SVMClassifier", SVC | dict(classlabels_ints=[1]), 3, "vectors_per_class has 2 values for 1 classes"),
    ("SVMClassifier", SVC | dict(classlabels_ints=list(range(101)), vectors_per_class=[0] * 101), 4, "101 classes"),
    ("TreeEnsembleClassifier", TWO, 4, "votes for both of two classes"),
    ("TreeEnsembleClassifier", TWO | dict(class_ids=[2] * len(TWO["class_ids"])), 3, "a vote for class 2 of 2"),
    ("TreeEnsembleClassifier", TWO | dict(class_ids=[0] * len(TWO["class_ids"]), base_values=[0., 1.]), 4, "base values of two classes"),
]


@pytest.mark.parametrize("which", range(len(REFUSED)))
def test_models_that_are_refused(which):
    op, attributes, code, text = REFUSED[which]
    outputs = ["label", "y"] if "Classifier" in op else ["y"]
    node = helper.make_node(op, ["x"], outputs, domain=ML, **attributes)
    with dnncc.Workspace("refused") as folder:
        onnx.save(model_of([node], {"x": points}, [], [helper.make_tensor_value_info("y", 1, None)], ML, 1), str(folder / "model.onnx"))
        done = dnncc.run([dnncc.DNNCC, folder / "model.onnx", "-o", folder / "model.c"])
        assert (done.returncode, text in done.stderr) == (code, True), done.stderr
        assert not (folder / "model.c").exists()
