# SPDX-License-Identifier: MIT
"""Tree ensembles in standard operators, which are all that they need.

    python3 trees.py model.onnx trees.onnx         # of one TreeEnsembleClassifier, as XGBoost, LightGBM and scikit-learn are exported

All trees go down one level at a time: where each of them stands is a vector of node numbers, and a step is

    at = Where(row[feature[at]] < threshold[at], left[at], right[at])        a leaf leads to itself

as many times as the deepest tree has levels. The leaves' votes are added up."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SMALLER = {"<": "Less", "<=": "LessOrEqual"}


def depth(left, right, node):
    levels, here = 0, [node]
    while here := [k for n in here if left[n] != n for k in (left[n], right[n])]:
        levels += 1
    return levels


def network(columns, roots, feature, threshold, left, right, votes, base, compare="<", softmax=False, missing=None):
    """left: where the comparison holds; votes: nodes x classes, 0 but in leaves; missing: nodes whose left a NaN takes"""
    constants, nodes = [], []

    def constant(name, array, dtype):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(array, dtype), name))

    def node(kind, inputs, output, **attributes):
        nodes.append(helper.make_node(kind, inputs, [output], f"{kind} {output}", **attributes))
        return output
    for name, array, dtype in (("feature", feature, np.int64), ("threshold", threshold, np.float32), ("left", left, np.int64),
                               ("right", right, np.int64), ("votes", votes, np.float32), ("base", [base], np.float32), ("roots", roots, np.int64),
                               ("flat", [columns], np.int64), ("axis", [0], np.int64)):
        constant(name, array, dtype)
    if missing is not None:
        constant("missing", missing, bool)
    at, row = "roots", node("Reshape", ["input", "flat"], "row")
    for k in range(max(depth(left, right, r) for r in roots)):
        x = node("Gather", [row, node("Gather", ["feature", at], f"column{k}")], f"x{k}")
        holds = node(SMALLER[compare], [x, node("Gather", ["threshold", at], f"t{k}")], f"holds{k}")
        if missing is not None:
            lost = node("And", [node("IsNaN", [x], f"nan{k}"), node("Gather", ["missing", at], f"missing{k}")], f"lost{k}")
            holds = node("Or", [holds, lost], f"goes{k}")
        at = node("Where", [holds, node("Gather", ["left", at], f"left{k}"), node("Gather", ["right", at], f"right{k}")], f"at{k + 1}")
    total = node("ReduceSum", [node("Gather", ["votes", at], "leaves"), "axis"], "total", keepdims=1)
    total = node("Add", [total, "base"], "scores" if softmax else "probabilities")
    if softmax:
        total = node("Softmax", [total], "probabilities", axis=1)
    node("ArgMax", [total], "label", axis=1, keepdims=0)
    graph = helper.make_graph(nodes, "trees", [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, columns])],
                              [helper.make_tensor_value_info("label", TensorProto.INT64, [1]),
                               helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, np.shape(votes)[1]])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7, producer_name="trees.py")
    onnx.checker.check_model(model)
    return model


def converted(model):
    """a model of a single TreeEnsembleClassifier"""
    (node,), (given,) = model.graph.node, model.graph.input
    if node.op_type != "TreeEnsembleClassifier":
        raise SystemExit(f"trees.py: {node.op_type} is no TreeEnsembleClassifier")
    a = {x.name: helper.get_attribute_value(x) for x in node.attribute}
    modes = set(a["nodes_modes"]) - {b"LEAF"}
    compare = {b"BRANCH_LT": "<", b"BRANCH_LEQ": "<="}.get(modes.pop() if len(modes) == 1 else None)
    post = a.get("post_transform", b"NONE")
    if compare is None or post not in (b"NONE", b"SOFTMAX") or len(a["classlabels_int64s"]) < 3 or \
            a["classlabels_int64s"] != list(range(len(a["classlabels_int64s"]))):
        raise SystemExit("trees.py: only branches by < or by <= throughout, sums or softmax, three classes or more, called 0, 1, 2 ..")
    names = list(zip(a["nodes_treeids"], a["nodes_nodeids"]))
    place = {name: k for k, name in enumerate(names)}
    leaf = [mode == b"LEAF" for mode in a["nodes_modes"]]
    left, right = ([k if leaf[k] else place[names[k][0], to] for k, to in enumerate(a[f"nodes_{which}nodeids"])] for which in ("true", "false"))
    inner = {k for side in (left, right) for n, k in enumerate(side) if k != n}
    votes = np.zeros((len(names), len(a["classlabels_int64s"])), np.float32)
    for tree, number, kind, weight in zip(a["class_treeids"], a["class_nodeids"], a["class_ids"], a["class_weights"]):
        votes[place[tree, number], kind] += weight
    missing = a.get("nodes_missing_value_tracks_true")
    return network(given.type.tensor_type.shape.dim[1].dim_value, [k for k in range(len(names)) if k not in inner], a["nodes_featureids"],
                   a["nodes_values"], left, right, votes, a.get("base_values", [0] * votes.shape[1]), compare, post == b"SOFTMAX",
                   np.array(missing, bool) if missing and any(missing) else None)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: trees.py MODEL.onnx TREES.onnx")
    onnx.save(converted(onnx.load(sys.argv[1])), sys.argv[2])
