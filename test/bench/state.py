# SPDX-License-Identifier: MIT
"""state.py [LAYERS [ROUNDS]]: a decoder's step at the last of 1,024 positions, dnncc's on a cache that is state beside onnxruntime's.

The decoder has GPT-2's shape (width 768, 12 heads, 50,257 tokens, 12 layers unless LAYERS says otherwise) and random weights, as exporters
write it: past and present of each layer, joined by Concat. Both run in turn, on one thread; onnxruntime's caches are bound as inputs.
Prints the medians in milliseconds, their ratio, and the greatest difference of the results; the C is left out of the time."""
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import dnncc  # noqa: E402

WIDTH, HEADS, TOKENS, POSITIONS = 768, 12, 50257, 1024
SIZE = WIDTH // HEADS


class Decoder:
    def __init__(self, layers):
        self.rng, self.nodes, self.constants, self.layers = np.random.default_rng(0), [], {}, layers

    def node(self, op, *inputs, name=None, **attributes):
        name = name or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [i if isinstance(i, str) else self.constant(i) for i in inputs], [name], **attributes))
        return name

    def constant(self, array):
        self.constants[f"c{len(self.constants)}"] = np.asarray(array)
        return f"c{len(self.constants) - 1}"

    def weights(self, *shape):
        return self.rng.standard_normal(shape, np.float32) * np.float32(.02)

    def dense(self, x, columns, rows=WIDTH):
        return self.node("Add", self.node("MatMul", x, self.weights(rows, columns)), self.weights(columns))

    def norm(self, x):
        return self.node("LayerNormalization", x, np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32), axis=-1)

    def heads(self, x, first):
        part = self.node("Slice", x, np.array([first]), np.array([first + WIDTH]), np.array([2]))
        return self.node("Transpose", self.node("Reshape", part, np.array([0, 0, HEADS, SIZE])), perm=[0, 2, 1, 3])

    def attention(self, x, layer, mask):
        all = self.dense(x, 3 * WIDTH)
        q, k, v = (self.heads(all, first) for first in (0, WIDTH, 2 * WIDTH))
        k = self.node("Concat", f"past.{layer}.key", k, name=f"present.{layer}.key", axis=2)
        v = self.node("Concat", f"past.{layer}.value", v, name=f"present.{layer}.value", axis=2)
        scores = self.node("Mul", self.node("MatMul", q, self.node("Transpose", k, perm=[0, 1, 3, 2])), np.float32(SIZE ** -.5))
        y = self.node("MatMul", self.node("Softmax", self.node("Add", scores, mask), axis=-1), v)
        return self.dense(self.node("Reshape", self.node("Transpose", y, perm=[0, 2, 1, 3]), np.array([0, 0, WIDTH])), WIDTH)

    def save(self, path):
        zero, one = np.int64(0), np.int64(1)
        past = self.node("Gather", self.node("Shape", "past.0.key"), np.int64(2))
        all = self.node("Add", past, self.node("Gather", self.node("Shape", "ids"), one))
        places = self.node("Range", past, all, self.constant(one))
        later = self.node("Greater", self.node("Range", zero, all, one), self.node("Unsqueeze", places, np.array([1])))
        mask = self.node("Where", later, np.float32(-1e9), np.float32(0))
        words = self.constant(self.weights(TOKENS, WIDTH))
        x = self.node("Add", self.node("Gather", words, "ids"), self.node("Gather", self.weights(POSITIONS, WIDTH), places))
        for layer in range(self.layers):
            x = self.node("Add", x, self.attention(self.norm(x), layer, mask))
            wide = self.node("Gelu", self.dense(self.norm(x), 4 * WIDTH), approximate="tanh")
            x = self.node("Add", x, self.dense(wide, WIDTH, 4 * WIDTH))
        self.node("MatMul", self.norm(x), self.node("Transpose", words, perm=[1, 0]), name="logits")
        names = [f"{layer}.{part}" for layer in range(self.layers) for part in ("key", "value")]
        ports = [[helper.make_tensor_value_info(first, kind, shape)] + [helper.make_tensor_value_info(f"{which}.{n}", TensorProto.FLOAT, [1, HEADS, rows, SIZE]) for n in names]
                 for first, kind, shape, which, rows in (("ids", TensorProto.INT64, [1, "N"], "past", "P"), ("logits", TensorProto.FLOAT, [1, "N", TOKENS], "present", "P + N"))]
        graph = helper.make_graph(self.nodes, "decoder", *ports, [onnx.numpy_helper.from_array(a, name) for name, a in self.constants.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
        return names


def peer(path, caches, ids):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("ids", ids)
    for name, array in caches.items():
        binding.bind_ortvalue_input(f"past.{name}", onnxruntime.OrtValue.ortvalue_from_numpy(array))
    for output in session.get_outputs():
        binding.bind_output(output.name)
    return lambda: session.run_with_iobinding(binding), lambda: binding.get_outputs()[0].numpy()


def main(layers=12, rounds=25):
    ids, rng, times, y = np.array([[7]]), np.random.default_rng(1), ([], []), None
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "decoder.onnx"
        names = Decoder(layers).save(path)
        caches = {name: rng.standard_normal((1, HEADS, POSITIONS - 1, SIZE), np.float32) for name in names}
        model = dnncc.compile(path, dim={"N": 1, "P": f"0..{POSITIONS - 1}"}, state={"past.*": "present.*"}, target="native")
        other, result = peer(path, caches, ids)
        sequence = model.sequence()
        sequence["P"] = POSITIONS - 1
        for name, array in caches.items():
            sequence[f"past.{name}"][...] = array
        for _ in range(rounds):
            sequence["P"] = POSITIONS - 1
            start = time.perf_counter()
            y = sequence(ids)
            middle = time.perf_counter()
            other()
            times[0].append(middle - start)
            times[1].append(time.perf_counter() - middle)
    ours, theirs = (statistics.median(t) * 1e3 for t in times)
    far = float(np.abs((y[0] if isinstance(y, (tuple, list)) else y) - result()).max())
    print(f"dnncc {ours:.2f} ms, onnxruntime {theirs:.2f} ms: {theirs / ours:.2f} times; largest difference {far:.1e}")
    return ours, theirs, far


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
