# SPDX-License-Identifier: MIT
"""Trains the digit classifier of this example and writes digits.onnx and samples.h (both are committed).

    build/venv/bin/pip install scikit-learn==1.9.1 && build/venv/bin/python examples/digits/train.py

Data: the 1,797 handwritten digits of 8 x 8 pixels that scikit-learn carries (UCI Optical Recognition of Handwritten
Digits). The network: conv 3x3 to 16 channels, ReLU, conv 3x3 to 32, ReLU, max pooling 2x2, a dense layer of 10, softmax. Plain
numpy, fixed seed: gradients by hand, Adam (Kingma and Ba, 2015).
"""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = 60


def patches(x):
    """[N, C, H, W] -> [N, H, W, C * 9]: the 3 x 3 neighbourhoods, zero padded."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    taps = [padded[:, :, i:i + h, j:j + w] for i in range(3) for j in range(3)]
    return np.stack(taps, axis=2).reshape(n, c * 9, h, w).transpose(0, 2, 3, 1)


def unpatches(d, c):
    """The adjoint of patches."""
    n, h, w, _ = d.shape
    d = d.transpose(0, 3, 1, 2).reshape(n, c, 9, h, w)
    padded = np.zeros((n, c, h + 2, w + 2), d.dtype)
    for t in range(9):
        padded[:, :, t // 3:t // 3 + h, t % 3:t % 3 + w] += d[:, :, t]
    return padded[:, :, 1:-1, 1:-1]


class Network:
    def __init__(self, rng):
        def he(*shape):
            return (rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)

        self.parameters = [he(16, 9), np.zeros(16, np.float32), he(32, 144), np.zeros(32, np.float32),
                           he(10, 512), np.zeros(10, np.float32)]

    def forward(self, x):
        w1, b1, w2, b2, w3, b3 = self.parameters
        self.p1 = patches(x)
        self.a1 = np.maximum(self.p1 @ w1.T + b1, 0)
        self.p2 = patches(self.a1.transpose(0, 3, 1, 2))
        self.a2 = np.maximum(self.p2 @ w2.T + b2, 0)
        n = len(x)
        windows = self.a2.reshape(n, 4, 2, 4, 2, 32).transpose(0, 1, 3, 5, 2, 4).reshape(n, 4, 4, 32, 4)
        self.choice = windows.argmax(-1)
        self.flat = windows.max(-1).transpose(0, 3, 1, 2).reshape(n, 512)
        scores = self.flat @ w3.T + b3
        e = np.exp(scores - scores.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def backward(self, probabilities, labels):
        _, _, w2, _, w3, _ = self.parameters
        n = len(labels)
        d3 = probabilities.copy()
        d3[np.arange(n), labels] -= 1
        d3 /= n
        pooled = (d3 @ w3).reshape(n, 32, 4, 4).transpose(0, 2, 3, 1)
        windows = np.zeros((n, 4, 4, 32, 4), np.float32)
        np.put_along_axis(windows, self.choice[..., None], pooled[..., None], -1)
        d2 = windows.reshape(n, 4, 4, 32, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(n, 8, 8, 32) * (self.a2 > 0)
        d1 = unpatches(d2 @ w2, 16).transpose(0, 2, 3, 1) * (self.a1 > 0)
        return [np.einsum("nhwo,nhwk->ok", d1, self.p1, optimize=True), d1.sum((0, 1, 2)),
                np.einsum("nhwo,nhwk->ok", d2, self.p2, optimize=True), d2.sum((0, 1, 2)),
                d3.T @ self.flat, d3.sum(0)]


def train(x, y, rng, epochs=25, batch=64, rate=2e-3):
    network = Network(rng)
    moments = [(np.zeros_like(p), np.zeros_like(p)) for p in network.parameters]
    step = 0
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x), batch):
            pick = order[start:start + batch]
            gradients = network.backward(network.forward(x[pick]), y[pick])
            step += 1
            for p, g, (m, v) in zip(network.parameters, gradients, moments):
                m += 0.1 * (g - m)
                v += 0.001 * (g * g - v)
                p -= rate * (m / (1 - 0.9 ** step)) / (np.sqrt(v / (1 - 0.999 ** step)) + 1e-8)
    return network


def write_model(network, path):
    w1, b1, w2, b2, w3, b3 = network.parameters
    weights = {"conv1_w": w1.reshape(16, 1, 3, 3), "conv1_b": b1, "conv2_w": w2.reshape(32, 16, 3, 3), "conv2_b": b2,
               "dense_w": w3, "dense_b": b3}
    nodes = [
        helper.make_node("Conv", ["image", "conv1_w", "conv1_b"], ["c1"], "conv1", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
        helper.make_node("Conv", ["r1", "conv2_w", "conv2_b"], ["c2"], "conv2", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c2"], ["r2"], "relu2"),
        helper.make_node("MaxPool", ["r2"], ["pooled"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["pooled"], ["flat"], "flatten"),
        helper.make_node("Gemm", ["flat", "dense_w", "dense_b"], ["scores"], "dense", transB=1),
        helper.make_node("Softmax", ["scores"], ["probabilities"], "softmax", axis=1),
    ]
    graph = helper.make_graph(nodes, "digits",
                              [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])],
                              [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, 10])],
                              [numpy_helper.from_array(np.ascontiguousarray(w), name) for name, w in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def write_samples(x, y, path):
    rows = [",\n         ".join(", ".join(f"{int(v * 16):2d}" for v in line) for line in image[0]) for image in x]
    body = ",\n".join(f"        {{{label}, {{{row}}}}}" for row, label in zip(rows, y))
    path.write_text("/* Written by train.py: digits the network never saw, 8 x 8 pixels of 0..16, with what they are. */\n"
                    "static const struct { unsigned char digit, pixels[64]; } samples[] = {\n" + body + "\n};\n")


def main():
    data = load_digits()
    x = (data.images / 16).astype(np.float32)[:, None]
    y = data.target
    rng = np.random.default_rng(1)
    order = rng.permutation(len(x))
    held, used = order[:360], order[360:]
    network = train(x[used], y[used], rng)
    accuracy = (network.forward(x[held]).argmax(1) == y[held]).mean()
    print(f"accuracy on {len(held)} digits held out: {accuracy:.4f}")
    write_model(network, HERE / "digits.onnx")
    write_samples(x[held[:SAMPLES]], y[held[:SAMPLES]], HERE / "samples.h")


main()
