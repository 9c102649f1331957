# SPDX-License-Identifier: MIT
"""extents.py MODEL SYMBOL BOUND N,N,.. [OPTIONS OF DNNCC]: what code for every length takes, against code for each length alone.

MODEL is a file, or made up here: layer (Relu of a MatMul, [N x 288] by [288 x 768]), attention ([1 x N x 768], 12 heads, with its four
projections), batch ([N x 50 x 192], 3 heads), lstm (N steps of one sequence, 256 inputs and 256 hidden units), sequences (32 steps of N sequences), signal
([1 x 40 x N], three convolutions and a pool), image ([1 x 3 x 64 x N], five convolutions and a pool), decoder ([1 x 3 x 64 x N], four convolutions, and a
resize to the extents of what is added);
images:FILE is a model of one image, of which there are N then. Both programs run in turn, at inputs of zeros: microseconds, the least of the rounds' medians, and their ratio; at the end the geometric mean, and how long the C of the last two takes to compile."""
import math
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

ROUNDS, ROUND_MICROSECONDS, FLAGS = 7, 150e3, ["-O2"]


class Graph:
    def __init__(self):
        self.rng, self.nodes, self.constants = np.random.default_rng(0), [], {}

    def node(self, op, *inputs, **attributes):
        self.nodes.append(helper.make_node(op, list(inputs), [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def constant(self, array):
        self.constants[f"c{len(self.constants)}"] = np.asarray(array)
        return f"c{len(self.constants) - 1}"

    def weights(self, *shape):
        return self.constant((self.rng.random(shape, np.float32) - .5) / 8)

    def save(self, path, shape, result):
        ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in (("x", shape), (result, None))]
        graph = helper.make_graph(self.nodes, "g", ports[:1], ports[1:], [onnx.numpy_helper.from_array(a, name) for name, a in self.constants.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
        return path


def layer(path):
    g = Graph()
    return g.save(path, ["N", 288], g.node("Relu", g.node("MatMul", "x", g.weights(288, 768))))


def attention(path, heads=12, shape=(1, "N", 768)):
    g, width, rows = Graph(), shape[2], -1 if shape[1] == "N" else shape[1]
    q, k, v = (g.node("Reshape", g.node("MatMul", "x", g.weights(width, width)), g.constant(np.array([0, rows, heads, width // heads]))) for _ in range(3))
    scores = g.node("MatMul", g.node("Transpose", q, perm=[0, 2, 1, 3]), g.node("Transpose", k, perm=[0, 2, 3, 1]))
    shares = g.node("Softmax", g.node("Mul", scores, g.constant(np.float32(.125))), axis=-1)
    y = g.node("Transpose", g.node("MatMul", shares, g.node("Transpose", v, perm=[0, 2, 1, 3])), perm=[0, 2, 1, 3])
    return g.save(path, list(shape), g.node("MatMul", g.node("Reshape", y, g.constant(np.array([0, rows, width]))), g.weights(width, width)))


def batch(path):
    return attention(path, 3, ("N", 50, 192))


def lstm(path, width=256):
    g = Graph()
    return g.save(path, ["N", 1, width], g.node("LSTM", "x", g.weights(1, 4 * width, width), g.weights(1, 4 * width, width), g.weights(1, 8 * width), hidden_size=width))


def sequences(path, width=256):
    g = Graph()
    return g.save(path, [32, "N", width], g.node("LSTM", "x", g.weights(1, 4 * width, width), g.weights(1, 4 * width, width), g.weights(1, 8 * width), hidden_size=width))


def signal(path, width=64):
    g = Graph()
    h = g.node("Relu", g.node("Conv", "x", g.weights(width, 40, 5), g.weights(width), pads=[2, 2]))
    h = g.node("Relu", g.node("Conv", h, g.weights(width, width, 3), g.weights(width), pads=[1, 1], strides=[2]))
    h = g.node("MaxPool", h, kernel_shape=[3], pads=[1, 1])
    return g.save(path, [1, 40, "N"], g.node("Conv", h, g.weights(width, width, 3), pads=[1, 1]))


def image(path):
    g = Graph()
    h = g.node("Relu", g.node("Conv", "x", g.weights(32, 3, 3, 3), g.weights(32), pads=[1] * 4, strides=[2, 2]))
    h = g.node("Relu", g.node("Conv", h, g.weights(32, 1, 3, 3), g.weights(32), pads=[1] * 4, group=32))
    h = g.node("Relu", g.node("Conv", h, g.weights(64, 32, 1, 1), g.weights(64)))
    h = g.node("MaxPool", h, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    h = g.node("Relu", g.node("Conv", h, g.weights(64, 64, 3, 3), g.weights(64), pads=[1] * 4))
    return g.save(path, [1, 3, 64, "N"], g.node("Conv", h, g.weights(48, 64, 3, 3), g.weights(48), pads=[1] * 4, strides=[2, 2]))


def decoder(path):
    """what is smaller is resized to what the encoder had before, whose extents are any"""
    g = Graph()
    skip = g.node("Relu", g.node("Conv", "x", g.weights(32, 3, 3, 3), g.weights(32), pads=[1] * 4, strides=[2, 2]))
    h = g.node("Relu", g.node("Conv", skip, g.weights(64, 32, 3, 3), g.weights(64), pads=[1] * 4, strides=[2, 2]))
    h = g.node("Relu", g.node("Conv", h, g.weights(32, 64, 3, 3), g.weights(32), pads=[1] * 4))
    up = g.node("Resize", h, "", "", g.node("Shape", skip), mode="linear", coordinate_transformation_mode="half_pixel")
    return g.save(path, [1, 3, 64, "N"], g.node("Conv", g.node("Add", up, skip), g.weights(16, 32, 3, 3), g.weights(16), pads=[1] * 4))


def images(model, path):
    """the model with N in front of each input's shape, and of what a Reshape says"""
    model = onnx.load(model)
    constants = {i.name: i for i in model.graph.initializer}
    for port in (p for p in [*model.graph.input, *model.graph.output] if p.name not in constants):
        dims = port.type.tensor_type.shape.dim
        if dims:
            dims[0].Clear()
            dims[0].dim_param = "N"
    del model.graph.value_info[:]
    for node in (n for n in model.graph.node if n.op_type == "Reshape" and n.input[1] in constants):
        shape = onnx.numpy_helper.to_array(constants[node.input[1]]).copy()
        if shape.size and shape[0] == 1:
            shape[0] = 0 if -1 in shape else -1
            node.input[1] += f"_of_{node.output[0]}"
            model.graph.initializer.append(onnx.numpy_helper.from_array(shape, node.input[1]))
    onnx.save(model, path)
    return path


MADE = {f.__name__: f for f in (layer, attention, batch, lstm, sequences, signal, image, decoder)}


def program(model, folder, *options):
    folder.mkdir(exist_ok=True)
    dnncc.compile_model(model, folder, ["--weights=incbin", *options])
    return dnncc.build_host(folder, [*FLAGS, f"-I{folder}"])


def run(program, count, *options):
    return float(subprocess.run([program, *options, "--time", str(count)], capture_output=True, text=True, check=True).stdout)


def compile_seconds(folder):
    start = sum(subprocess_times())
    subprocess.run(["gcc", *FLAGS, f"-I{folder}", "-c", folder / "model.c", "-o", folder / "again.o"], check=True)
    return sum(subprocess_times()) - start


def subprocess_times():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime, used.ru_stime


def main(arguments):
    model, symbol, bound, numbers, *options = arguments
    options = options or ["--target=native"]
    with tempfile.TemporaryDirectory() as folder:
        folder, ratios = pathlib.Path(folder), []
        file = model.removeprefix("images:")
        model = (MADE[model](folder / "m.onnx") if model in MADE else images(file, folder / "m.onnx") if len(file) < len(model)
                 else pathlib.Path(model).resolve())
        every = program(model, folder / "every", f"--dim={symbol}=1..{bound}", *options)
        for n in map(int, numbers.split(",")):
            alone = program(model, folder / "alone", f"--dim={symbol}={n}", *options)
            count = max(3, min(2000, int(ROUND_MICROSECONDS / run(alone, 3))))
            times = [(run(every, count, "--extents", str(n)), run(alone, count)) for _ in range(ROUNDS)]
            least = [min(t[i] for t in times) for i in range(2)]
            ratios.append(least[0] / least[1])
            print(f"{symbol} = {n:4}  1..{bound} {least[0]:10.1f}  alone {least[1]:10.1f}  {ratios[-1]:.3f}", flush=True)
        print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, most {max(ratios):.3f}; "
              f"gcc {' '.join(FLAGS)}: {compile_seconds(folder / 'every'):.2f} s for {compile_seconds(folder / 'alone'):.2f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
