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
]


@pytest.mark.parametrize("verdict,title,op,x,extra,opset,kind,out,inputs,attributes", CASES, ids=[f"{c[2]}-{c[1]}".replace(" ", "_") for c in CASES])
def test_rare_operator(tmp_path, verdict, title, op, x, extra, opset, kind, out, inputs, attributes):
    test_operators.test_operator(tmp_path, verdict, title, op, x, extra, opset, kind, out, inputs, attributes)
