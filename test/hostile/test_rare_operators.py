# SPDX-License-Identifier: MIT
"""The hostile forms of operators that few exporters write, as test_operators.py has them of the others."""
import pathlib
import sys

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import test_operators  # noqa: E402
from test_operators import BIG, F, I64, MIN, case, const, zeros  # noqa: E402


def deform(verdict, title, shape=(1, 4, 5, 5), weights=(4, 4, 2, 2), offset=(1, 8, 4, 4), more=(), opset=19, **attributes):
    return case(verdict, title, "DeformConv", x=shape, extra=[zeros("w", weights), zeros("o", offset), *more], opset=opset, **attributes)


def columns(verdict, title, shape=(1, 12, 6), image=(3, 4), block=(2, 2), **attributes):
    return case(verdict, title, "Col2Im", x=shape, extra=[const("i", image), const("b", block)], opset=18, **attributes)


def ml(verdict, title, op, x=(3,), kind=F, version=1, **keywords):
    return case(verdict, title, op, x=x, kind=kind, version=version, domain="ai.onnx.ml", **keywords)


def labels(verdict, title, version=4, kind=I64, **attributes):
    return ml(verdict, title, "LabelEncoder", kind=kind, version=version, **{"keys_int64s": [1, 2], "values_floats": [1.0, 2.0], **attributes})


def listed(kind, name="a"):
    """an attribute of no numbers"""
    return onnx.AttributeProto(name=name, type=kind)


def trees(verdict, title, x=(2, 3), kind=F, **changes):
    """two trees of two nodes each, changed; None: without that"""
    attributes = dict(nodes_featureids=[0, 1, 2, 0], nodes_modes=const("m", [0, 1, 2, 3], np.uint8), nodes_splits=const("s", [1, 2, 3, 4], np.float32), n_targets=2, tree_roots=[0, 2],
                      nodes_truenodeids=[1, 0, 3, 3], nodes_trueleafs=[0, 1, 0, 1], nodes_falsenodeids=[1, 2, 4, 5], nodes_falseleafs=[1, 1, 1, 1],
                      leaf_weights=const("w", [1, 2, 3, 4, 5, 6], np.float32), leaf_targetids=[0, 1, 0, 1, 0, 1])
    attributes.update(changes)
    return ml(verdict, title, "TreeEnsemble", x=x, kind=kind, version=5, **{k: v for k, v in attributes.items() if v is not None})


def regressor(verdict, title, x=(2, 2), kind=F, version=3, **changes):
    """a tree of one node and a tree that is a leaf, changed; None: without that"""
    attributes = dict(nodes_treeids=[0, 0, 0, 7], nodes_nodeids=[0, 1, 2, 0], nodes_featureids=[1, 0, 0, 0], nodes_modes=["BRANCH_LT", "LEAF", "LEAF", "LEAF"], nodes_values=[0.5, 0.0, 0.0, 0.0],
                      nodes_truenodeids=[1, 0, 0, 0], nodes_falsenodeids=[2, 0, 0, 0], target_treeids=[0, 0, 7], target_nodeids=[1, 2, 0], target_ids=[0, 1, 1], target_weights=[1.0, 2.0, 3.0], n_targets=2)
    attributes.update(changes)
    return ml(verdict, title, "TreeEnsembleRegressor", x=x, kind=kind, version=version, **{k: v for k, v in attributes.items() if v is not None})


def classifier(verdict, title, **changes):
    attributes = dict(class_treeids=[0, 0, 7], class_nodeids=[1, 2, 0], class_ids=[0, 1, 2], class_weights=[1.0, 2.0, 3.0], classlabels_int64s=[3, 4, 5])
    none = {k: None for k in ("target_treeids", "target_nodeids", "target_ids", "target_weights", "n_targets")}
    _, _, _, x, extra, opset, kind, out, inputs, given = regressor(verdict, title, **{**none, **attributes, **changes})
    return verdict, title, "TreeEnsembleClassifier", x, extra, opset, kind, out, inputs, {**given, "outputs": ("y", "z")}


def mel(verdict, title, bands=8, size=16, rate=8000, low=0.0, high=4000.0, opset=17, **attributes):
    """x is not used: all is known"""
    extra = [const("b", bands), const("n", size), const("r", rate), const("l", low, np.float32), const("h", high, np.float32)]
    return case(verdict, title, "MelWeightMatrix", inputs=["b", "n", "r", "l", "h"], extra=extra, opset=opset, **attributes)


def grams(verdict, title, x=(2, 6), kind=I64, **changes):
    attributes = dict(mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=1, ngram_counts=[0, 2], ngram_indexes=[0, 1, 2, 3], pool_int64s=[1, 2, 3, 4, 5, 6])
    attributes.update(changes)
    return case(verdict, title, "TfIdfVectorizer", x=x, kind=kind, **{k: v for k, v in attributes.items() if v is not None})


def training(verdict, title, op="Adam", inputs=("r", "t", "x", "g", "v", "h"), extra=(), outputs=("y", "z"), **attributes):
    known = [const("r", 0.1, np.float32), const("t", 1), *(zeros(name, (3,)) for name in "gvh")]
    names = {e.name for e in extra}
    return case(verdict, title, op, x=(3,), inputs=list(inputs), extra=[*(k for k in known if k.name not in names), *extra], outputs=outputs, domain="ai.onnx.preview.training", **attributes)


CASES = [
    deform("A", "as it should be"), deform("E", "before it was there", opset=18),
    *[deform("E", f"{name} {value}", **{name: value}) for name in ("group", "offset_group") for value in (0, -1, 3, BIG, MIN)],
    *[deform("E", f"{name} {value}", **{name: value}) for name, value in
      (("strides", [0, 1]), ("strides", [1]), ("strides", [BIG, 1]), ("dilations", [0, 1]), ("dilations", [BIG, BIG]), ("pads", [-1, 0, 0, 0]),
       ("pads", [BIG] * 4), ("pads", [1]), ("kernel_shape", [3, 3]), ("kernel_shape", [2]), ("auto_pad", "SAME_UPPER"), ("group", [1]))],
    deform("E", "offsets of another extent", offset=(1, 8, 4, 5)), deform("E", "offsets of too few taps", offset=(1, 6, 4, 4)),
    deform("E", "offsets of rank 3", offset=(1, 8, 16)), deform("E", "offsets of two images", offset=(2, 8, 4, 4)),
    deform("E", "offsets of f64", offset=(1, 8, 4, 4), more=[], kind=11), deform("E", "kernel larger than the image", weights=(4, 4, 9, 2)),
    deform("E", "mask of too few taps", more=[zeros("b", (4,)), zeros("m", (1, 3, 4, 4))]), deform("E", "bias of 3", more=[zeros("b", (3,))]),
    deform("E", "weights of rank 3", weights=(4, 4, 4)), deform("E", "too many neighbours", (1, 1, *[2] * 7), (1, 1, *[1] * 7), (1, 7, *[2] * 7)),
    deform("EA", "no images", (0, 4, 5, 5), offset=(0, 8, 4, 4)), deform("EA", "no channels", (1, 0, 5, 5), (4, 0, 2, 2)),
    deform("E", "no pixels", (1, 4, 0, 5), (4, 4, 1, 1), (1, 2, 2, 5), pads=[1, 0, 1, 0]),
    deform("L", "2^31 places", pads=[2 ** 30, 2 ** 30, 2 ** 30, 2 ** 30]),
    columns("A", "as it should be"),
    *[columns("E", f"image {image}", image=image) for image in ((MIN, 4), (2 ** 63 - 1, 4), (0, 4), (-3, 4), (3,), (3, 4, 5), ())],
    *[columns("E", f"block {block}", block=block) for block in ((MIN, 2), (2 ** 63 - 1, 2), (0, 2), (-2, -2), (2,), (2, 2, 1), (), (2 ** 31 - 1, 2 ** 31 - 1))],
    *[columns("E", f"{name} {value}", **{name: value}) for name, value in
      (("strides", [0, 1]), ("strides", [1]), ("dilations", [BIG, 1]), ("dilations", [9, 1]), ("pads", [-1, 0, 0, 0]), ("pads", [1]), ("auto_pad", "VALID"), ("kernel_shape", [2, 2]))],
    columns("E", "columns of another number", (1, 12, 7)), columns("E", "rows that are no blocks", (1, 13, 6)), columns("E", "rank 2", (12, 6)),
    columns("L", "pads 2^31", pads=[2 ** 31 - 1] * 4),
    case("E", "shapes that are not known and no output", "Col2Im", x=(2,), kind=I64, inputs=["c", "x", "x"], extra=[zeros("c", (1, 12, 6))], opset=18),
    *[case("E", f"of {shape}", "Det", x=shape) for shape in ((4,), (3, 4), (), (2, 0, 3))], case("E", "integers", "Det", x=(3, 3), kind=I64),
    *[case("EA", f"of {shape}", "Det", x=shape) for shape in ((0, 3, 3), (3, 0, 0), (0, 0), (300, 300), (0, 9, 9), (2 ** 31 - 1, 0, 0))],
    ml("E", "threshold of INT", "Binarizer", threshold=1), ml("E", "bools", "Binarizer", kind=9), ml("E", "unknown", "Binarizer", limit=1.0),
    *[ml("E", f"index {i}", "ArrayFeatureExtractor", extra=[const("i", i)]) for i in (3, -1, BIG, MIN, [[0, 1], [2, 3]])],
    ml("E", "of a number", "ArrayFeatureExtractor", x=(), extra=[const("i", [0])]), ml("E", "of i32", "ArrayFeatureExtractor", extra=[const("i", [0], np.int32)]),
    ml("EA", "none", "ArrayFeatureExtractor", extra=[const("i", [])]), ml("E", "of nothing", "ArrayFeatureExtractor", x=(2, 0), extra=[const("i", [0])]),
    labels("A", "as it should be"), labels("E", "lengths", values_floats=[1.0]), labels("E", "keys of another type", kind=F), labels("E", "strings", keys_strings=["a", "b"]),
    labels("E", "two values", values_int64s=[1, 2]), labels("E", "a FLOAT", values_floats=1.0), labels("EA", "no keys", keys_int64s=listed(7, "keys_int64s"), values_floats=listed(6, "values_floats")),
    labels("E", "tensors of opset 4", version=2, default_tensor=const("d", [1.0], np.float32)), labels("E", "strings", values_floats=listed(6), default_string=1),
    labels("E", "default of another type", default_tensor=const("d", [1])), labels("E", "two defaults", default_tensor=const("d", [1.0, 2.0], np.float32)),
    labels("E", "of opset 1", version=1),
    *[ml("E", f"keys {title}", "LabelEncoder", kind=I64, version=4, values_int64s=[1, 2], keys_tensor=keys) for title, keys in
      (("of bytes", const("k", [1, 2], np.uint8)), ("of rank 2", const("k", [[1, 2]])), ("of strings", onnx.numpy_helper.from_array(np.array(["a", "b"], object), "k")))],
    ml("E", "nothing", "LabelEncoder", kind=I64, version=4), ml("E", "values alone", "LabelEncoder", kind=I64, version=2, values_int64s=[1]),
    trees("A", "as it should be"), trees("A", "twice the same", tree_roots=[0, 0, 2, 1]), trees("E", "of another type", kind=11), trees("E", "of rank 1", x=(3,)), trees("E", "too few features", x=(2, 2)),
    trees("EA", "no rows", x=(0, 3)), trees("E", "no features", x=(2, 0)), trees("E", "no roots", tree_roots=listed(7, "tree_roots")), trees("E", "one-way", nodes_falsenodeids=[1, 2, 4]),
    trees("E", "a cycle", nodes_truenodeids=[1, 0, 3, 2], nodes_trueleafs=[0, 0, 0, 0]), trees("E", "itself", nodes_truenodeids=[0, 0, 3, 3]),
    *[trees("E", f"{name} {value}", **{name: value}) for name, values in dict(
        nodes_featureids=([-1, 0, 0, 0], [BIG, 0, 0, 0], [0], None), nodes_truenodeids=([4, 0, 3, 3], [-1, 0, 3, 3], [1, 6, 3, 3], None), nodes_trueleafs=([2, 1, 0, 1], [1], None),
        leaf_targetids=([2, 1, 0, 1, 0, 1], [-1, 1, 0, 1, 0, 1], [0], None), tree_roots=([4], [-1], [MIN], None), n_targets=(0, -1, BIG, None, 2.0), aggregate_function=(-1, 4, BIG),
        post_transform=(-1, 5, BIG), nodes_missing_value_tracks_true=([2, 0, 0, 0], [1])).items() for value in values],
    *[trees("E", title, **{name: value}) for title, name, value in (
        ("mode 7", "nodes_modes", const("m", [0, 1, 2, 7], np.uint8)), ("modes of i64", "nodes_modes", const("m", [0, 1, 2, 3])), ("few modes", "nodes_modes", const("m", [0], np.uint8)),
        ("few splits", "nodes_splits", const("s", [0], np.float32)), ("splits of f64", "nodes_splits", const("s", [1, 2, 3, 4], np.float64)), ("no splits", "nodes_splits", None),
        ("few weights", "leaf_weights", const("w", [0], np.float32)), ("hitrates", "nodes_hitrates", const("h", [0], np.float32)),
        ("sets without nodes", "membership_values", const("v", [1, np.nan], np.float32)))],
    *[trees("E", f"sets {v}", nodes_modes=const("m", [6, 6, 0, 0], np.uint8), membership_values=const("v", v, np.float32)) for v in ([], [1], [1, np.nan], [1, 2, np.nan, 3], [np.nan] * 3)],
    trees("E", "no sets", nodes_modes=const("m", [6, 6, 0, 0], np.uint8)), trees("A", "empty sets", nodes_modes=const("m", [6, 6, 0, 0], np.uint8), membership_values=const("v", [np.nan] * 2, np.float32)),
    trees("L", "targets", n_targets=2 ** 31 - 1), trees("A", "all of it", nodes_missing_value_tracks_true=[1, 0, 1, 0], post_transform=4, aggregate_function=3),
    mel("A", "as it should be"), mel("EA", "no bands", bands=0), mel("EA", "a transform of nothing", size=0), mel("E", "before it was there", opset=16),
    *[mel("E", f"bands {b}", bands=b) for b in (-1, BIG, MIN, [1, 2])], *[mel("E", f"size {n}", size=n) for n in (-1, BIG, MIN, [])], mel("L", "2^62 numbers", 2 ** 31 - 1, 2 ** 31 - 1),
    *[mel("EA", f"rate {r}", rate=r) for r in (0, -1, MIN, BIG)], *[mel("EA", f"edges {e}", low=e[0], high=e[1]) for e in ((4000, 0), (-900, 100), (np.nan, 1), (np.inf, np.inf), (0, 1e30))],
    *[mel("E", f"to type {t}", output_datatype=t) for t in (0, 8, 9, 99, -1, BIG, "f")],
    case("E", "a size of float", "MelWeightMatrix", x=(), inputs=["b", "x", "b", "x", "x"], extra=[const("b", 8)]),
    case("E", "sizes that are not known and no output", "MelWeightMatrix", x=(), kind=I64, inputs=["x", "x", "x", "l", "l"], extra=[const("l", 1, np.float32)]),
    case("E", "a length that is not known and no output", "STFT", x=(), kind=I64, inputs=["s", "k", "", "x"], extra=[zeros("s", (1, 40, 1)), const("k", 4)]),
    grams("A", "as it should be"), grams("A", "of i32", kind=6), grams("E", "of floats", kind=F), grams("E", "of rank 3", x=(1, 2, 3)), grams("E", "of rank 0", x=()), grams("EA", "no rows", x=(0, 6)),
    grams("A", "no tokens", x=(2, 0)), grams("A", "all left out", max_skip_count=2 ** 63 - 1), grams("A", "long ones that are not there", min_gram_length=BIG, max_gram_length=BIG),
    *[grams("E", f"{name} {value}", **{name: value}) for name, values in dict(
        mode=("tf", None, 1), min_gram_length=(0, -1, 3, None), max_gram_length=(0, MIN, None), max_skip_count=(-1, None), ngram_counts=([0, 7], [3, 2], [-1, 2], [0], [0, 1], [0, 2, 6, MIN], None),
        ngram_indexes=([0, 1, 2], [0, 1, 2, -1], [0, 1, 2, BIG], None), pool_int64s=([1, 2, 3], [1, 1, 3, 4, 5, 6], [1, 2, 3, 4, 3, 4], None), weights=([1.0], [1, 2, 3, 4]),
        pool_strings=(["a", "b", "c", "d", "e", "f"],)).items() for value in values],
    grams("L", "2^31 places", ngram_indexes=[0, 1, 2, 2 ** 31 - 2]), grams("L", "2^62 pairs", x=(2 ** 14, 2 ** 14), max_skip_count=BIG),
    training("A", "as it should be", outputs=("y", "z", "w")), training("A", "less outputs"), training("E", "more outputs", outputs=("y", "z", "w", "q")),
    training("E", "no state", inputs=("r", "t", "x", "g", "v")), training("E", "a state too many", inputs=("r", "t", "x", "g", "v", "h", "g")), training("E", "absent", inputs=("r", "t", "x", "", "v", "h")),
    training("E", "shapes", extra=[zeros("g", (1,))]), training("E", "types", extra=[zeros("g", (3,), np.float64)]), training("E", "rates", extra=[zeros("r", (2,))]), training("E", "a rate of i64", extra=[const("r", 1)]),
    training("E", "a count of i32", extra=[const("t", 1, np.int32)]), training("E", "an INT", alpha=1), training("E", "of another", decay_factor=0.5), training("E", "of integers", kind=I64),
    training("E", "no attributes", "Momentum", inputs=("r", "t", "x", "g", "v")), training("E", "a mode", "Momentum", inputs=("r", "t", "x", "g", "v"), alpha=0.5, beta=0.5, norm_coefficient=0.5, mode="fast"),
    training("A", "a count below 0", extra=[const("t", MIN)]), training("EA", "infinite", alpha=np.inf, beta=np.nan, epsilon=-1.0),
    regressor("A", "as it should be"), regressor("A", "i64", kind=I64), regressor("E", "f16", kind=10), regressor("E", "of rank 1", x=(2,)), regressor("E", "too few features", x=(2, 1)),
    regressor("A", "a leaf of several votes", target_nodeids=[1, 1, 0]), regressor("A", "the same vote twice", target_nodeids=[1, 1, 0], target_ids=[0, 0, 1], aggregate_function="MIN"),
    regressor("A", "no votes", **{k: listed(6 if k == "target_weights" else 7, k) for k in ("target_treeids", "target_nodeids", "target_ids", "target_weights")}),
    regressor("E", "a cycle", nodes_truenodeids=[0, 0, 0, 0]), regressor("E", "tensors before opset 3", version=1, nodes_values_as_tensor=const("v", [0.0] * 4, np.float64), nodes_values=None),
    regressor("E", "both", nodes_values_as_tensor=const("v", [0.0] * 4, np.float64)), regressor("E", "a tensor of i64", nodes_values=None, nodes_values_as_tensor=const("v", [0] * 4)),
    *[regressor("E", f"{name} {value}", **{name: value}) for name, values in dict(
        nodes_treeids=([0, 0, 0], [0, 0, 0, 0], [0, 0, 9, 7], None), nodes_nodeids=([0, 1, 1, 0], [0, 1, BIG, MIN], None), nodes_featureids=([2, 0, 0, 0], [-1, 0, 0, 0], None),
        nodes_modes=(["BRANCH_LT"], ["BRANCH_MEMBER", "LEAF", "LEAF", "LEAF"], ["", "LEAF", "LEAF", "LEAF"], [0, 1, 1, 1], None), nodes_values=([0.5], None), nodes_truenodeids=([3, 0, 0, 0], [-1, 0, 0, 0], None),
        target_treeids=([0, 0, 1], [0], None), target_nodeids=([0, 2, 0], [BIG, 2, 0], None), target_ids=([2, 1, 1], [-1, 1, 1], None), target_weights=([1.0], None), n_targets=(0, -1, BIG, None),
        base_values=([1.0], [1, 2]), aggregate_function=("sum", 1), post_transform=("NOTHING",), nodes_missing_value_tracks_true=([1],)).items() for value in values],
    regressor("E", "too many targets", n_targets=10 ** 8, target_nodeids=[1, 1, 0]), regressor("L", "2^31 targets", n_targets=2 ** 31 - 1),
    classifier("A", "as it should be"), classifier("A", "a class without votes", class_ids=[0, 1, 1]), classifier("E", "two classes", classlabels_int64s=[1, 2], class_ids=[0, 1, 1]),
    *[classifier("E", f"{name} {value}", **{name: value}) for name, values in dict(
        classlabels_int64s=(listed(7, "classlabels_int64s"), None, [1.0] * 3), classlabels_strings=(["a", "b", "c"],), class_ids=([0, 1, 3], [-1, 0, 1], [0], None), class_nodeids=([0, 1, 2], None),
        class_weights=([1.0], None), n_targets=(3,), aggregate_function=("SUM",), base_values=([1.0, 2.0],)).items() for value in values],
]


@pytest.mark.parametrize("verdict,title,op,x,extra,opset,kind,out,inputs,attributes", CASES, ids=[f"{c[2]}-{c[1]}".replace(" ", "_") for c in CASES])
def test_rare_operator(tmp_path, verdict, title, op, x, extra, opset, kind, out, inputs, attributes):
    test_operators.test_operator(tmp_path, verdict, title, op, x, extra, opset, kind, out, inputs, attributes)
