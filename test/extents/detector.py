# SPDX-License-Identifier: MIT
"""A detector like YOLO, with its post-processing in the graph: boxes of three strides, NMS, the best of what it keeps."""
import numpy as np
import onnx
from onnx import TensorProto, helper

STRIDES = 8, 16, 32


class Graph:
    def __init__(self, seed):
        self.rng, self.nodes, self.constants = np.random.default_rng(seed), [], []

    def constant(self, array):
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, op, *inputs, outputs=None, **attributes):
        outputs = outputs or [f"{op}{len(self.nodes)}"]
        self.nodes.append(helper.make_node(op, [x if isinstance(x, str) else self.constant(x) for x in inputs], outputs, **attributes))
        return outputs[0]

    def convolved(self, x, channels, to, window, stride):
        weights = self.rng.standard_normal((to, channels, window, window)) * np.sqrt(2 / (channels * window**2))
        return self.node("Conv", x, weights.astype(np.float32), self.rng.standard_normal(to).astype(np.float32) / 10, strides=[stride] * 2,
                         pads=[window // 2] * 4, kernel_shape=[window] * 2)

    def layer(self, x, channels, to):
        y = self.convolved(x, channels, to, 3, 2)
        return self.node("Mul", y, self.node("Sigmoid", y))


def save(path, size=64, classes=8, width=8, most=20, kept=100, seed=0):
    """inputs: image [1, 3, size, size] and low [1], the score that boxes must have; outputs: boxes [n, 4], scores [n], classes [n]"""
    g = Graph(seed)
    x, heads, centers, strides = "image", [], [], []
    widths = 3, width, 2 * width, 4 * width, 4 * width, 4 * width
    for k, (channels, to) in enumerate(zip(widths, widths[1:])):
        x = g.layer(x, channels, to)
        if k < 2:
            continue
        n = size // STRIDES[k - 2]
        heads.append(g.node("Reshape", g.convolved(x, to, 4 + classes, 1, 1), np.array([1, 4 + classes, n * n])))
        rows, columns = np.mgrid[0:n, 0:n]
        centers.append((np.stack([columns.ravel(), rows.ravel()]) + 0.5) * STRIDES[k - 2])
        strides.append(np.full(n * n, STRIDES[k - 2]))
    centers, strides = np.concatenate(centers, 1)[None].astype(np.float32), np.concatenate(strides)[None, None].astype(np.float32)
    g.node("Split", g.node("Concat", *heads, axis=2), np.array([2, 2, classes]), outputs=["xy", "wh", "logits"], axis=1)
    middle = g.node("Add", g.node("Mul", "xy", strides), centers)
    half = g.node("Mul", g.node("Softplus", "wh"), strides / 2)
    corners = g.node("Concat", g.node("Sub", middle, half), g.node("Add", middle, half), axis=1)
    boxes, scores = g.node("Transpose", corners, perm=[0, 2, 1]), g.node("Sigmoid", "logits")
    chosen = g.node("NonMaxSuppression", boxes, scores, np.array([most]), np.array([0.45], np.float32), "low")
    of_class, of_box = (g.node("Squeeze", g.node("Slice", chosen, np.array([k]), np.array([k + 1]), np.array([1])), np.array([1])) for k in (1, 2))
    found = g.node("GatherND", scores, chosen)
    count = g.node("Min", g.node("Shape", found), np.array([kept]))
    best = g.node("TopK", found, count, outputs=["scores", "order"], axis=0) and "order"
    g.node("Gather", g.node("Gather", g.node("Squeeze", boxes, np.array([0])), of_box, axis=0), best, outputs=["boxes"], axis=0)
    g.node("Gather", of_class, best, outputs=["classes"], axis=0)
    port, f32 = helper.make_tensor_value_info, TensorProto.FLOAT
    graph = helper.make_graph(g.nodes, "detector", [port("image", f32, [1, 3, size, size]), port("low", f32, [1])],
                              [port("boxes", f32, ["n", 4]), port("scores", f32, ["n"]), port("classes", TensorProto.INT64, ["n"])], g.constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path
