#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Steps of training beside PyTorch's, in f32, on one thread, from the same weights and samples:

    VENV/bin/python test/bench/train.py --target=x86-64-v4 mlp resnet8:1 resnet8:32

VENV has torch, numpy and onnx (`make bench-train` makes one). A line has the median time of a step of each, in turns, their ratio, the losses of
the first and the last of the steps that are compared, each by samples of its own, and how far losses are apart at most, of which part of PyTorch's loss of that step.
Steps that are timed have a rate of 0: else the loss would get to 0, and its derivatives to subnormal numbers. NETWORK:BATCH has so many samples a step."""
import argparse
import ctypes
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnx
import torch
import torch.nn.functional as functional
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRIVER = r"""
#include "model.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *workspace;
static struct model_state *state;

int begin(void)
{
        workspace = aligned_alloc(64, (MODEL_WORKSPACE_SIZE + 127) / 64 * 64);
        state = aligned_alloc(64, (sizeof *state + 63) / 64 * 64);
        memset(state, 0, sizeof *state);
        return model_init_run(workspace, state);
}

double steps(const void *x, const int64_t *labels, float rate, float *losses, int count)
{
        struct timespec a, b;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        for (int i = 0; i < count; i++)
                if (model_train_run(workspace, state, x, labels, &rate, losses + i))
                        return -1;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        return ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec)) / count;
}
"""


# A network is a function of these operations, of ONNX or of PyTorch. Weights of a layer `name` are name and name.bias.

class OnnxNetwork:
    """layers as nodes of a graph"""

    def __init__(self, weights):
        self.weights, self.nodes, self.samples = weights, [], 0

    def node(self, kind, inputs, results=1, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [f"v{len(self.nodes)}.{k}" for k in range(results)], **attributes))
        return self.nodes[-1].output[0]

    def constant(self, array):
        return self.node("Constant", [], value=numpy_helper.from_array(np.asarray(array)))

    def convolve(self, x, name, stride=1, groups=1):
        pad = self.weights[name].shape[2] // 2
        biases = [name + ".bias"] if name + ".bias" in self.weights else []
        return self.node("Conv", [x, name, *biases], strides=[stride] * 2, pads=[pad] * 4, group=groups)

    def normalize_samples(self, x, name):
        moments = [name + ".mean", name + ".variance"]
        return self.node("BatchNormalization", [x, name, name + ".bias", *moments], 3, training_mode=1)

    def normalize_rows(self, x, name):
        return self.node("LayerNormalization", [x, name, name + ".bias"])

    def dense(self, x, name):
        return self.node("Gemm", [x, name, name + ".bias"], transB=1)

    def product(self, x, name):
        """x w', of rows"""
        return self.node("MatMul", [x, self.node("Transpose", [name], perm=[1, 0])])

    def relu(self, x):
        return self.node("Relu", [x])

    def relu6(self, x):
        return self.node("Clip", [x, self.constant(np.float32(0)), self.constant(np.float32(6))])

    def gelu(self, x):
        return self.node("Gelu", [x], approximate="tanh")

    def add(self, x, y):
        return self.node("Add", [x, y])

    def mean(self, x):
        return self.node("Flatten", [self.node("GlobalAveragePool", [x])])

    def pool(self, x, window=3, pad=1):
        return self.node("MaxPool", [x], kernel_shape=[window] * 2, strides=[2, 2], pads=[pad] * 4)

    def flatten(self, x):
        return self.node("Flatten", [x])

    def embed(self, x, tokens, places, length):
        """rows of tokens, and of their places: [samples x length, width]"""
        rows = self.node("Add", [self.node("Gather", [tokens, x]), self.node("Slice", [places, self.constant([0]), self.constant([length])])])
        return self.node("Reshape", [rows, self.constant([-1, self.weights[tokens].shape[1]])])

    def attend(self, x, heads, length):
        """causal attention of rows [queries, keys, values]"""
        width = self.weights["tokens"].shape[1]
        parts = self.node("Transpose", [self.node("Reshape", [x, self.constant([-1, length, 3, heads, width // heads])])], perm=[2, 0, 3, 1, 4])
        q, k, v = (self.node("Gather", [parts, self.constant(np.int64(i))], axis=0) for i in range(3))
        scores = self.node("MatMul", [q, self.node("Transpose", [k], perm=[0, 1, 3, 2])])
        scores = self.node("Mul", [scores, self.constant(np.float32((width // heads) ** -0.5))])
        later = self.constant(np.triu(np.full((length, length), -np.inf, np.float32), 1))
        y = self.node("MatMul", [self.node("Softmax", [self.node("Add", [scores, later])], axis=-1), v])
        return self.node("Reshape", [self.node("Transpose", [y], perm=[0, 2, 1, 3]), self.constant([-1, width])])


class TorchNetwork:
    def __init__(self, weights):
        self.weights = {name: torch.tensor(w, requires_grad=not is_moment(name)) for name, w in weights.items()}

    def trained(self):
        return [w for w in self.weights.values() if w.requires_grad]

    def convolve(self, x, name, stride=1, groups=1):
        w = self.weights[name]
        return functional.conv2d(x, w, self.weights.get(name + ".bias"), stride, w.shape[2] // 2, groups=groups)

    def normalize_samples(self, x, name):
        w = self.weights
        return functional.batch_norm(x, w[name + ".mean"], w[name + ".variance"], w[name], w[name + ".bias"], training=True, momentum=0.1)

    def normalize_rows(self, x, name):
        return functional.layer_norm(x, x.shape[-1:], self.weights[name], self.weights[name + ".bias"])

    def dense(self, x, name):
        return functional.linear(x, self.weights[name], self.weights[name + ".bias"])

    def product(self, x, name):
        return functional.linear(x, self.weights[name])

    def relu(self, x):
        return torch.relu(x)

    def relu6(self, x):
        return functional.relu6(x)

    def gelu(self, x):
        return functional.gelu(x, approximate="tanh")

    def add(self, x, y):
        return x + y

    def mean(self, x):
        return x.mean(dim=(2, 3))

    def pool(self, x, window=3, pad=1):
        return functional.max_pool2d(x, window, 2, pad)

    def flatten(self, x):
        return x.flatten(1)

    def embed(self, x, tokens, places, length):
        rows = functional.embedding(x, self.weights[tokens]) + self.weights[places][:length]
        return rows.reshape(-1, rows.shape[-1])

    def attend(self, x, heads, length):
        width = x.shape[1] // 3
        q, k, v = x.reshape(-1, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(-1, width)


# ---- networks ----

def mlp(n, x):
    return n.dense(n.relu(n.dense(x, "hidden")), "last")


MLP = {"hidden": (128, 784), "last": (10, 128)}


def digits(n, x):
    """that of examples/digits"""
    x = n.relu(n.convolve(n.relu(n.convolve(x, "first")), "second"))
    return n.dense(n.flatten(n.pool(x, 2, 0)), "last")


DIGITS = {"first": (16, 1, 3, 3), "second": (32, 16, 3, 3), "last": (10, 512)}


def resnet8(n, x):
    """MLPerf Tiny's, its normalizations folded into the convolutions"""
    x = n.relu(n.convolve(x, "first"))
    for i in range(3):
        y = n.convolve(n.relu(n.convolve(x, f"a{i}", 1 if i == 0 else 2)), f"b{i}")
        x = n.relu(n.add(y, x if i == 0 else n.convolve(x, f"c{i}", 2)))
    return n.dense(n.mean(x), "last")


RESNET8 = {"first": (16, 3, 3, 3), "a0": (16, 16, 3, 3), "b0": (16, 16, 3, 3), "a1": (32, 16, 3, 3), "b1": (32, 32, 3, 3), "c1": (32, 16, 1, 1),
           "a2": (64, 32, 3, 3), "b2": (64, 64, 3, 3), "c2": (64, 32, 1, 1), "last": (10, 64)}


def normal(n, x, name, **how):
    return n.normalize_samples(n.convolve(x, name, **how), name + ".n")


def resnet18(n, x):
    x = n.pool(n.relu(normal(n, x, "first", stride=2)))
    for i in range(8):
        stride = 2 if i in (2, 4, 6) else 1
        y = normal(n, n.relu(normal(n, x, f"a{i}", stride=stride)), f"b{i}")
        x = n.relu(n.add(y, normal(n, x, f"c{i}", stride=stride) if stride == 2 else x))
    return n.dense(n.mean(x), "last")


def with_normalizations(shapes):
    """and a normalization NAME.n behind each convolution"""
    return shapes | {f"{name}.n": shape[:1] for name, shape in shapes.items() if len(shape) == 4}


def resnet18_weights():
    shapes, before = {"first": (64, 3, 7, 7)}, 64
    for i in range(8):
        width = 64 << i // 2
        shapes |= {f"a{i}": (width, before, 3, 3), f"b{i}": (width, width, 3, 3)}
        if width != before:
            shapes[f"c{i}"] = (width, before, 1, 1)
        before = width
    return with_normalizations(shapes | {"last": (1000, 512)})


# channels, how many blocks, their first stride, how many times the channels inside
MOBILENET = [(16, 1, 1, 1), (24, 2, 2, 6), (32, 3, 2, 6), (64, 4, 2, 6), (96, 3, 1, 6), (160, 3, 2, 6), (320, 1, 1, 6)]
MOBILENET_BLOCKS = [(width, stride if k == 0 else 1, times) for width, count, stride, times in MOBILENET for k in range(count)]


def mobilenet2(n, x):
    x, before = n.relu6(normal(n, x, "first", stride=2)), 32
    for i, (width, stride, times) in enumerate(MOBILENET_BLOCKS):
        y = x if times == 1 else n.relu6(normal(n, x, f"a{i}"))
        y = n.relu6(normal(n, y, f"b{i}", stride=stride, groups=before * times))
        y = normal(n, y, f"c{i}")
        x, before = n.add(x, y) if stride == 1 and width == before else y, width
    return n.dense(n.mean(n.relu6(normal(n, x, "wide"))), "last")


def mobilenet2_weights():
    shapes, before = {"first": (32, 3, 3, 3)}, 32
    for i, (width, _, times) in enumerate(MOBILENET_BLOCKS):
        inside = before * times
        shapes |= {} if times == 1 else {f"a{i}": (inside, before, 1, 1)}
        shapes |= {f"b{i}": (inside, 1, 3, 3), f"c{i}": (width, inside, 1, 1)}
        before = width
    return with_normalizations(shapes | {"wide": (1280, 320, 1, 1), "last": (1000, 1280)})


def gpt(layers, heads, length):
    def network(n, x):
        x = n.embed(x, "tokens", "places", length)
        for i in range(layers):
            x = n.add(x, n.dense(n.attend(n.dense(n.normalize_rows(x, f"r{i}"), f"qkv{i}"), heads, length), f"out{i}"))
            x = n.add(x, n.dense(n.gelu(n.dense(n.normalize_rows(x, f"s{i}"), f"up{i}")), f"down{i}"))
        return n.product(n.normalize_rows(x, "rows"), "tokens")
    return network


def gpt_weights(layers, width, words, places):
    shapes = {"tokens": (words, width), "places": (places, width)}
    for i in range(layers):
        shapes |= {f"r{i}": (width,), f"qkv{i}": (3 * width, width), f"out{i}": (width, width), f"s{i}": (width,), f"up{i}": (4 * width, width), f"down{i}": (width, 4 * width)}
    return shapes | {"rows": (width,)}


def is_moment(name):
    return name.endswith((".mean", ".variance"))


def make_weights(shapes):
    """Embeddings have no bias, nor has what a normalization NAME.n stands behind; that of samples, of an image's channels, has moments."""
    rng, made = np.random.default_rng(1), {}
    for name, shape in shapes.items():
        zeros = np.zeros(shape[0], np.float32)
        if name in ("tokens", "places"):
            made[name] = (0.02 * rng.normal(size=shape)).astype(np.float32)
        elif len(shape) == 1:
            moments = {name + ".mean": zeros, name + ".variance": zeros + 1} if name.endswith(".n") else {}
            made |= {name: zeros + 1, name + ".bias": zeros, **moments}
        else:
            made[name] = (rng.normal(size=shape) * np.sqrt(1 / np.prod(shape[1:]))).astype(np.float32)
            made |= {} if name + ".n" in shapes else {name + ".bias": zeros}
    return made


# A source of samples is a function of the generator, the classes and the batch that returns samples and labels, which can be learned.

def image(*shape):
    """of each class one picture, and noise over it"""
    def draw(rng, classes, batch):
        pictures, labels = np.random.default_rng(3).normal(size=(classes, *shape)), rng.integers(0, classes, batch)
        return (pictures[labels] + rng.normal(size=(batch, *shape))).astype(np.float32), labels
    return draw


def text(words, length):
    """the word behind each word is always the same, but for one of five"""
    def draw(rng, classes, batch):
        behind, rows = np.random.default_rng(3).permutation(words), rng.integers(0, words, (batch, length + 1))
        for i in range(length):
            rows[:, i + 1] = np.where(rng.random(batch) < .8, behind[rows[:, i]], rows[:, i + 1])
        return rows[:, :-1].copy(), rows[:, 1:].reshape(-1).copy()
    return draw


# What it computes, its samples, how many classes, its batch, its weights, its optimizer, and of how many steps losses are compared.
NETWORKS = {
    "mlp": (mlp, image(784), 10, 64, MLP, "momentum", 500),
    "digits": (digits, image(1, 8, 8), 10, 32, DIGITS, "adamw", 500),
    "resnet8": (resnet8, image(3, 32, 32), 10, 32, RESNET8, "momentum", 20),
    "gpt": (gpt(2, 4, 32), text(256, 32), 256, 8, gpt_weights(2, 64, 256, 32), "adamw", 500),
    "gpt2": (gpt(12, 12, 64), text(50257, 64), 50257, 4, gpt_weights(12, 768, 50257, 1024), "adamw", 3),
    "resnet18": (resnet18, image(3, 224, 224), 1000, 8, resnet18_weights(), "momentum", 5),
    "mobilenet2": (mobilenet2, image(3, 224, 224), 1000, 8, mobilenet2_weights(), "momentum", 5),
}
RATES = {"momentum": 0.01, "adamw": 1e-3}
OPTIMIZERS = {"momentum": lambda w: torch.optim.SGD(w, lr=0, momentum=0.9), "adamw": lambda w: torch.optim.AdamW(w, lr=0)}


def address(array):
    return ctypes.c_void_p(array.ctypes.data)


def build(network, x, weights, classes, optimizer, options, folder):
    n = OnnxNetwork(weights)
    logits = network(n, "x")
    kind = TensorProto.FLOAT if x.dtype == np.float32 else TensorProto.INT64
    rows = x.size if kind == TensorProto.INT64 else len(x)
    graph = helper.make_graph(n.nodes, "network", [helper.make_tensor_value_info("x", kind, x.shape)],
                              [helper.make_tensor_value_info(logits, TensorProto.FLOAT, (rows, classes))],
                              [numpy_helper.from_array(w, name) for name, w in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), folder / "model.onnx")
    subprocess.run([options.dnncc, folder / "model.onnx", f"--target={options.target}", f"--train={optimizer}", "--weights=incbin",
                    f"--loss=cross_entropy:{logits}", "--name=model", "-o", folder / "model.c"], check=True)
    (folder / "driver.c").write_text(DRIVER)
    subprocess.run(["gcc", "-O2", f"-march={options.target}", "-shared", "-fPIC", "model.c", "driver.c", "-o", "model.so"], check=True, cwd=folder)
    library = ctypes.CDLL(str(folder / "model.so"))
    library.steps.restype = ctypes.c_double
    assert library.begin() == 0
    return library


def compare(name, options, folder):
    name, _, batch = name.partition(":")
    network, samples, classes, preset, shapes, kind, checked = NETWORKS[name]
    batch, weights, rng = int(batch or preset), make_weights(shapes), np.random.default_rng(2)
    x, labels = samples(rng, classes, batch)
    theirs = TorchNetwork(weights)
    optimizer = OPTIMIZERS[kind](theirs.trained())

    def their_steps(count, rate, x, labels):
        tensors = torch.from_numpy(x), torch.from_numpy(labels)
        optimizer.param_groups[0]["lr"] = rate
        losses, start = [], time.process_time()
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            loss = functional.cross_entropy(network(theirs, tensors[0]), tensors[1])
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return (time.process_time() - start) / count, np.array([float(loss) for loss in losses])

    library = build(network, x, weights, classes, kind, options, folder)

    def our_steps(count, rate, x, labels):
        losses = np.zeros(count, np.float32)
        took = library.steps(address(x), address(labels), ctypes.c_float(rate), address(losses), count)
        assert took > 0
        return took, losses

    rate, losses = RATES[kind], []
    for _ in range(options.checked or checked):
        batches = samples(rng, classes, batch)
        losses.append([steps(1, rate, *batches)[1][0] for steps in (our_steps, their_steps)])
    ours, their = np.array(losses, np.float64).T
    apart = np.abs(ours - their)
    count = max(1, int(options.round / their_steps(2, 0, x, labels)[0]))
    times = [[steps(count, 0, x, labels)[0] for steps in (our_steps, their_steps)] for _ in range(options.rounds)]
    our_time, their_time = (statistics.median(t) for t in zip(*times))
    print(f"{name:10} batch {batch:3}: dnncc {our_time * 1e6:9.1f} us, PyTorch {their_time * 1e6:9.1f} us, ratio {statistics.median(a / b for a, b in times):.3f}; "
          f"losses {their[0]:.3f} .. {their[-1]:.3f} of {len(losses)} steps within {apart.max():.1e} ({(apart / their).max():.1e} of one)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK[:BATCH]", default=["mlp", "digits", "resnet8:1", "resnet8:32", "gpt"])
    parser.add_argument("--dnncc", default=ROOT / "build" / "dnncc")
    parser.add_argument("--target", default="x86-64-v4")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--checked", type=int, help="steps whose losses are compared; else each network has a number of its own")
    parser.add_argument("--round", type=float, default=0.5, help="seconds of PyTorch in a round")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:   # until the end: a library that is loaded is known by its file
        for i, name in enumerate(options.networks):
            own = pathlib.Path(folder) / str(i)
            own.mkdir()
            compare(name, options, own)


if __name__ == "__main__":
    main()
