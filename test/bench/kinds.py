# SPDX-License-Identifier: MIT
"""Times small networks of kinds that the zoo lacks, beside onnxruntime: docs/measurements/kinds.md.

    build/venv/bin/python test/bench/kinds.py [--dnncc=PATH,..] [--target=T] [--options=..;..] [--rounds=N] [KIND..]

Several compilers, each with the options between semicolons, are timed in turns, so that a change is measured in one run. A figure is the least of all rounds, of one thread.
"""
import argparse
import pathlib
import re
import subprocess
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
KINDS = {}


def kind(function):
    KINDS[function.__name__] = function
    return function


class Network:
    def __init__(self):
        self.nodes, self.constants, self.random = [], [], np.random.default_rng(0)

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def normal(self, *shape, scale=0.05):
        return self.constant(self.random.standard_normal(shape, np.float32) * np.float32(scale))

    def op(self, operator, *operands, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(operator, operands, names, **attributes))
        return names[0] if outputs == 1 else names

    def save(self, path, shape, y):
        ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape), helper.make_tensor_value_info(y, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, path.stem, ports[:1], ports[1:], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def standardized(g, x, channels, out, kernel, stride=1, groups=1):
    """a convolution whose weights the graph standardizes"""
    fan = channels // groups * kernel ** 2
    w = g.normal(out, channels // groups, kernel, kernel)
    less = g.op("Sub", w, g.op("ReduceMean", w, axes=[1, 2, 3]))
    variance = g.op("ReduceMean", g.op("Mul", less, less), axes=[1, 2, 3])
    w = g.op("Div", less, g.op("Sqrt", g.op("Add", variance, g.constant(np.float32(1e-5)))))
    w = g.op("Mul", w, g.op("Mul", g.normal(out, 1, 1, 1, scale=1), g.constant(np.float32(fan ** -0.5))))
    return g.op("Conv", x, w, g.normal(out), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups)


@kind
def weight_standardization(g):
    """14 blocks of three convolutions, 27 M parameters, each tensor of weights standardized by the graph (as eca_nfnet_l0 and BiT)"""
    width, x = 256, standardized(g, "x", 3, 256, 3, 2)
    for block in range(14):
        stride = 2 if block in (3, 6, 8) else 1
        out = width * stride
        y = standardized(g, g.op("Relu", x), width, out // 4, 1)
        y = standardized(g, g.op("Relu", y), out // 4, out // 4, 3, stride, out // 64 if block % 2 else 1)
        y = standardized(g, g.op("Relu", y), out // 4, out, 1)
        if stride == 2:
            x = standardized(g, g.op("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2]), width, out, 1)
        x, width = g.op("Add", x, g.op("Mul", y, g.constant(np.float32(0.2)))), out
    x = g.op("Flatten", g.op("GlobalAveragePool", g.op("Relu", x)))
    return [1, 3, 64, 64], g.op("Gemm", x, g.normal(1000, width), g.normal(1000), transB=1)


@kind
def shifted_windows(g):
    """four blocks of attention within 64 windows of 49 positions, 3 heads of 32, every other one masked by -100 (as swin_t's first stage)"""
    windows, positions, heads, width = 64, 49, 3, 96
    ints = lambda *values: g.constant(np.array(values, np.int64))  # noqa: E731
    mask = np.where(g.random.random((windows, 1, positions, positions)) < 0.4, -100, 0).astype(np.float32)
    mask[:, 0, range(positions), range(positions)] = 0
    x = "x"
    for block in range(4):
        qkv = g.op("Add", g.op("MatMul", x, g.normal(width, 3 * width)), g.normal(3 * width))
        qkv = g.op("Transpose", g.op("Reshape", qkv, ints(windows, positions, 3, heads, width // heads)), perm=[2, 0, 3, 1, 4])
        q, k, v = (g.op("Squeeze", part, ints(0)) for part in g.op("Split", qkv, outputs=3, axis=0))
        q = g.op("Mul", q, g.constant(np.float32((width // heads) ** -0.5)))
        scores = g.op("Add", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), g.normal(1, heads, positions, positions))
        if block % 2:
            apart = g.op("Reshape", scores, ints(1, windows, heads, positions, positions))
            scores = g.op("Reshape", g.op("Add", apart, g.constant(mask[None])), ints(windows, heads, positions, positions))
        y = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
        y = g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), ints(windows, positions, width))
        x = g.op("Add", x, g.op("Add", g.op("MatMul", y, g.normal(width, width)), g.normal(width)))
    return [windows, positions, width], x


def grouped(g, width, groups, size=28, blocks=4):
    """residual blocks: 1 x 1, 3 x 3 in groups, 1 x 1"""
    x = "x"
    for _ in range(blocks):
        y = g.op("Relu", g.op("Conv", x, g.normal(width, width, 1, 1), g.normal(width)))
        y = g.op("Relu", g.op("Conv", y, g.normal(width, width // groups, 3, 3), g.normal(width), group=groups, pads=[1] * 4))
        x = g.op("Relu", g.op("Add", x, g.op("Conv", y, g.normal(width, width, 1, 1), g.normal(width))))
    return [1, width, size, size], x


@kind
def groups_of_24(g):
    """four blocks of 168 channels in 7 groups (as regnet_x_1_6gf)"""
    return grouped(g, 168, 7)


@kind
def groups_of_8(g):
    """four blocks of 440 channels in 55 groups (as regnet_y_400mf)"""
    return grouped(g, 440, 55, 14)


@kind
def groups_of_20(g):
    """four blocks of 180 channels in 9 groups"""
    return grouped(g, 180, 9)


@kind
def volumes(g):
    """two residual blocks of 1 x 3 x 3 and 3 x 1 x 1 windows, 64 and 144 channels, 8 planes of 28 x 28 (as r2plus1d_18)"""
    x = "x"
    for _ in range(2):
        y = x
        for k in range(2):
            y = g.op("Relu", g.op("Conv", y, g.normal(144, 64, 1, 3, 3), g.normal(144), pads=[0, 1, 1, 0, 1, 1]))
            y = g.op("Conv", y, g.normal(64, 144, 3, 1, 1), g.normal(64), pads=[1, 0, 0, 1, 0, 0])
            y = g.op("Relu", g.op("Add", x, y) if k else y)
        x = y
    return [1, 64, 8, 28, 28], x


@kind
def recurrent(g):
    """an LSTM of 512 cells over 32 steps: 4 MB of recurrent weights"""
    y, _, _ = g.op("LSTM", "x", g.normal(1, 2048, 512), g.normal(1, 2048, 512), g.normal(1, 4096), hidden_size=512, outputs=3)
    return [32, 1, 512], y


def filtered(g, taps):
    """a filter of one channel over 65,536 samples"""
    return [1, 1, 65536], g.op("Conv", "x", g.normal(1, 1, taps))


@kind
def filter_of_129(g):
    """a filter of 129 taps over 65,536 samples of one channel"""
    return filtered(g, 129)


@kind
def filter_of_1024(g):
    """the same with 1,024 taps"""
    return filtered(g, 1024)


@kind
def filter_of_4096(g):
    """the same with 4,096 taps"""
    return filtered(g, 4096)


@kind
def causal_filters_of_4096(g):
    """64 channels of 4,096 samples, each by 4,096 taps that end at the sample"""
    return [1, 64, 4096], g.op("Conv", "x", g.normal(64, 1, 4096), pads=[4095, 0], group=64)


@kind
def windows_of_31(g):
    """a convolution by 31 x 31 of 64 channels into 64 at 56 x 56"""
    return [1, 64, 56, 56], g.op("Conv", "x", g.normal(64, 64, 31, 31), pads=[15] * 4)


def convolved(channels, size, window, stride=1):
    def network(g):
        pads = [k // 2 for k in window]
        w = g.normal(channels, channels, *window, scale=(channels * np.prod(window)) ** -0.5)
        x = g.op("Relu", g.op("Conv", "x", w, g.normal(channels), pads=[*pads, *pads], strides=[stride] * len(window)))
        return [1, channels, *size], x
    network.__name__ = "windows_of_" + "x".join(map(str, window)) + (f"_by_{stride}" if stride > 1 else "")
    network.__doc__ = f"a convolution of {channels} channels into as many, of {' x '.join(map(str, size))}"
    return network


for size in 3, 5, 7:
    kind(convolved(64, [56, 56], [size, size]))
    kind(convolved(64, [4096], [size]))
for window in [1, 7], [7, 1]:
    kind(convolved(192, [17, 17], window))
kind(convolved(64, [56, 56], [3, 5]))
for size in 5, 7:
    kind(convolved(64, [56, 56], [size, size], 2))


def layer(g, x, inputs, outputs):
    return g.op("MatMul", x, g.normal(inputs, outputs, scale=inputs ** -0.5))


def rows_of(inputs):
    def network(g):
        return [197, inputs], layer(g, "x", inputs, 768)
    network.__name__ = f"rows_of_{inputs}"
    network.__doc__ = f"a dense layer of 197 rows, {inputs} inputs and 768 outputs"
    return network


def layers_of(rows):
    def network(g):
        x = "x"
        for _ in range(6 if rows == 1 else 1):            # One row reads more weights than a cache has.
            x = layer(g, g.op("Relu", layer(g, x, 768, 3072)), 3072, 768)
        return [rows, 768], x
    network.__name__ = f"layers_of_{rows}_rows"
    network.__doc__ = f"dense layers of 768, 3,072 and 768 units, {rows} rows"
    return network


for count in 1024, 1536, 2048, 3072, 4096:
    kind(rows_of(count))
for count in 1, 4, 16, 128:
    kind(layers_of(count))


def dnncc_time(dnncc, target, options, model):
    """milliseconds of the 5th percentile of the runs that --bench measured"""
    done = subprocess.run([dnncc, model, f"--target={target}", *options, "--weights=file", "--bench=1", "-o", model.with_suffix(".c")], capture_output=True, text=True)
    found = re.search(r"median +([\d.]+) (us|ms|s) +p5 ([\d.]+) (us|ms|s)", done.stdout + done.stderr)
    if not found:
        raise SystemExit(done.stderr)
    return float(found.group(3)) * {"us": 1e-3, "ms": 1, "s": 1e3}[found.group(4)]


def peer_time(model, shape):
    """milliseconds of onnxruntime's fastest run within a second"""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    feeds, least, end = {"x": np.random.default_rng(1).standard_normal(shape, np.float32)}, float("inf"), time.monotonic() + 1
    while time.monotonic() < end:
        start = time.perf_counter()
        session.run(None, feeds)
        least = min(least, time.perf_counter() - start)
    return 1e3 * least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dnncc", default=str(HERE.parents[1] / "build" / "dnncc"))
    parser.add_argument("--target", default="native")
    parser.add_argument("--options", default="", help="others for dnncc, as in --options=--quantize-weights=s4; behind a semicolon others yet")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("kinds", nargs="*", metavar="KIND", choices=[[], *KINDS], help=", ".join(KINDS))
    options = parser.parse_args()
    compilers = [(path, given.split()) for path in options.dnncc.split(",") for given in options.options.split(";")]
    for name in options.kinds or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            model, g = pathlib.Path(folder) / f"{name}.onnx", Network()
            shape, y = KINDS[name](g)
            g.save(model, shape, y)
            rounds = [[*(dnncc_time(path, options.target, given, model) for path, given in compilers), peer_time(model, shape)] for _ in range(options.rounds)]
            *ours, peer = (min(times) for times in zip(*rounds))
            print(f"{name:28}", " ".join(f"{ms:9.3f} ms ({peer / ms:.2f})" for ms in ours), f" onnxruntime {peer:.3f} ms", flush=True)


if __name__ == "__main__":
    main()
