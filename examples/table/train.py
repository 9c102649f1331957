# SPDX-License-Identifier: MIT
"""Trains the trees that lie here: python3 train.py (with scikit-learn and onnx). A forest of 20 trees, on two rows of three of scikit-learn's table of wines;
the third rows, which it never saw, are counted."""
import numpy as np
import onnx
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

import trees

rows, kinds = load_wine(return_X_y=True)
rows, seen = rows.astype(np.float32), np.arange(len(kinds)) % 3 != 2
forest = RandomForestClassifier(20, max_depth=5, random_state=0).fit(rows[seen], kinds[seen])

roots, feature, threshold, left, right, votes = [], [], [], [], [], []
for tree in (e.tree_ for e in forest.estimators_):
    first, leaf, own = len(feature), tree.children_left < 0, np.arange(tree.node_count)
    below = np.float32(tree.threshold)
    below = np.where(below > tree.threshold, np.nextafter(below, np.float32(-np.inf)), below)   # for floats <= says the same
    share = tree.value[:, 0] / tree.value[:, 0].sum(1, keepdims=True) / len(forest.estimators_)
    roots.append(first)
    feature += np.where(leaf, 0, tree.feature).tolist()
    threshold += below.tolist()
    left += (first + np.where(leaf, own, tree.children_left)).tolist()
    right += (first + np.where(leaf, own, tree.children_right)).tolist()
    votes += np.where(leaf[:, None], share, 0).tolist()
model = trees.network(rows.shape[1], roots, feature, threshold, left, right, votes, [0] * 3, "<=")
onnx.save(model, "trees.onnx")
print(f"{(forest.predict(rows[~seen]) == kinds[~seen]).sum()} of {(~seen).sum()} rows that it never saw are right")
