# SPDX-License-Identifier: MIT
"""Operators of ai.onnx.ml: what exporters of scikit-learn and of boosted trees write, in forms that the backend tests do not show."""
import itertools
import pathlib
import statistics
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dnncc  # noqa: E402
from cases import Case, check, collection, group_name, model_of, node_of, onnxruntime_of  # noqa: E402
from test_opsets import F16, F32, F64, I32, I64, ints, x  # noqa: E402

GROUPS, case = collection()


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


# ---- the tests ----

@pytest.mark.sample(4)
@pytest.mark.parametrize("group", GROUPS, ids=group_name)
def test_group(group):
    check(group, GROUPS[group])


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
    """are an output; of whichever classifier"""
    names, shape = ["a", "b", "c"], [7, 3]
    votes = {k: v for k, v in classes(listed(5, 3, 4, 3, [LEQ, GT], 3), []).items() if not k.startswith("classlabels")}
    for op, attributes in (("LinearClassifier", dict(coefficients=x(12).tolist(), intercepts=[0., 1., 2.])), ("TreeEnsembleClassifier", votes),
                           ("SVMClassifier", dict(coefficients=x(12).tolist(), rho=[.1], kernel_params=kernel_params))):
        node = helper.make_node(op, ["x"], ["label", "scores"], domain=ML, classlabels_strings=names, **attributes)
        outputs = [helper.make_tensor_value_info("label", 8, [7]), helper.make_tensor_value_info("scores", 1, shape)]
        zipped = helper.make_node("ZipMap", ["scores"], ["maps"], domain=ML, classlabels_strings=names)
        model = model_of([node, zipped], {"x": points}, [], outputs, ML, 1)
        want = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": points})
        with dnncc.Workspace("strings") as folder:
            onnx.save(model, str(folder / "model.onnx"))
            dnncc.compile_model(folder / "model.onnx", folder)
            label, scores = dnncc.run_host(dnncc.build_host(folder, ["-O1"]), [points])
            assert label.tolist() == want[0].tolist()
            for name in "scores", "maps":
                dnncc.compile_model(folder / "model.onnx", folder, [f"--output={name}"])
                np.testing.assert_allclose(dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), [points])[0], want[1], rtol=1e-5, atol=1e-6)


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
    ("OneHotEncoder", dict(cats_strings=["a"]), 3, "texts"),
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
