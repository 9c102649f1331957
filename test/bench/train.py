#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Steps of training beside PyTorch's, in f32, on one thread, from the same weights and samples:

    VENV/bin/python test/bench/train.py --target=x86-64-v4 mlp resnet8:1 resnet8:32

VENV has torch, numpy and onnx. A line has the median time of a step of each, in turns, their ratio, and how far the losses of the first steps are
apart, as a part of the largest. Steps that are timed have a rate of 0: else the loss would get to 0, and its derivatives to subnormal numbers. NETWORK:BATCH has so many samples a step."""
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
RATE, CHECKED = 0.01, 20
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

double steps(const float *x, const int64_t *labels, float rate, float *losses, int count)
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


class OnnxNetwork:
    """layers as nodes of a graph"""

    def __init__(self, weights):
        self.weights, self.nodes = weights, []

    def node(self, kind, inputs, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def convolve(self, x, name, stride):
        pad = self.weights[name].shape[2] // 2
        return self.node("Conv", [x, name, name + ".bias"], strides=[stride] * 2, pads=[pad] * 4)

    def dense(self, x, name):
        return self.node("Gemm", [x, name, name + ".bias"], transB=1)

    def relu(self, x):
        return self.node("Relu", [x])

    def add(self, x, y):
        return self.node("Add", [x, y])

    def mean(self, x):
        return self.node("Flatten", [self.node("GlobalAveragePool", [x])])


class TorchNetwork:
    def __init__(self, weights):
        self.weights = {name: torch.tensor(w, requires_grad=True) for name, w in weights.items()}

    def convolve(self, x, name, stride):
        w = self.weights[name]
        return functional.conv2d(x, w, self.weights[name + ".bias"], stride, w.shape[2] // 2)

    def dense(self, x, name):
        return functional.linear(x, self.weights[name], self.weights[name + ".bias"])

    def relu(self, x):
        return torch.relu(x)

    def add(self, x, y):
        return x + y

    def mean(self, x):
        return x.mean(dim=(2, 3))


def mlp(n, x):
    return n.dense(n.relu(n.dense(x, "hidden")), "last")


def resnet8(n, x):
    """MLPerf Tiny's, its normalizations folded into the convolutions"""
    x = n.relu(n.convolve(x, "first", 1))
    for i in range(3):
        y = n.convolve(n.relu(n.convolve(x, f"a{i}", 1 if i == 0 else 2)), f"b{i}", 1)
        x = n.relu(n.add(y, x if i == 0 else n.convolve(x, f"c{i}", 2)))
    return n.dense(n.mean(x), "last")


RESNET8 = {"first": (16, 3, 3, 3), "a0": (16, 16, 3, 3), "b0": (16, 16, 3, 3), "a1": (32, 16, 3, 3), "b1": (32, 32, 3, 3), "c1": (32, 16, 1, 1),
           "a2": (64, 32, 3, 3), "b2": (64, 64, 3, 3), "c2": (64, 32, 1, 1), "last": (10, 64)}
# what it computes, its samples, its batch, its weights
NETWORKS = {"mlp": (mlp, (784,), 64, {"hidden": (128, 784), "last": (10, 128)}), "resnet8": (resnet8, (3, 32, 32), 32, RESNET8)}


def address(array):
    return ctypes.c_void_p(array.ctypes.data)


def make_weights(shapes):
    rng, made = np.random.default_rng(1), {}
    for name, shape in shapes.items():
        made[name] = (rng.normal(size=shape) * np.sqrt(1 / np.prod(shape[1:]))).astype(np.float32)
        made[name + ".bias"] = np.zeros(shape[0], np.float32)
    return made


def build(network, x, weights, options, folder):
    n = OnnxNetwork(weights)
    logits = network(n, "x")
    graph = helper.make_graph(n.nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info(logits, TensorProto.FLOAT, (len(x), 10))],
                              [numpy_helper.from_array(w, name) for name, w in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "model.onnx")
    subprocess.run([options.dnncc, folder / "model.onnx", f"--target={options.target}", "--train=momentum",
                    f"--loss=cross_entropy:{logits}", "--name=model", "-o", folder / "model.c"], check=True)
    (folder / "driver.c").write_text(DRIVER)
    subprocess.run(["gcc", "-O2", f"-march={options.target}", "-shared", "-fPIC", folder / "model.c", folder / "driver.c", "-o", folder / "model.so"], check=True)
    library = ctypes.CDLL(str(folder / "model.so"))
    library.steps.restype = ctypes.c_double
    assert library.begin() == 0
    return library


def compare(name, options, folder):
    name, _, batch = name.partition(":")
    network, shape, preset, shapes = NETWORKS[name]
    batch, weights, rng = int(batch or preset), make_weights(shapes), np.random.default_rng(2)
    x, labels = rng.normal(size=(batch, *shape)).astype(np.float32), rng.integers(0, 10, batch)
    theirs = TorchNetwork(weights)
    optimizer = torch.optim.SGD(theirs.weights.values(), lr=RATE, momentum=0.9)
    tensors = torch.from_numpy(x), torch.from_numpy(labels)

    def their_steps(count, rate):
        optimizer.param_groups[0]["lr"] = rate
        losses, start = [], time.process_time()
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            loss = functional.cross_entropy(network(theirs, tensors[0]), tensors[1])
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return (time.process_time() - start) / count, np.array([float(loss) for loss in losses])

    library = build(network, x, weights, options, folder)

    def our_steps(count, rate):
        losses = np.zeros(count, np.float32)
        took = library.steps(address(x), address(labels), ctypes.c_float(rate), address(losses), count)
        assert took > 0
        return took, losses

    ours, theirs_first = our_steps(CHECKED, RATE)[1], their_steps(CHECKED, RATE)[1]
    apart = np.max(np.abs(ours - theirs_first)) / np.max(theirs_first)
    count = max(1, int(options.round / their_steps(5, 0)[0]))
    times = [(our_steps(count, 0)[0], their_steps(count, 0)[0]) for _ in range(options.rounds)]
    own, their = (statistics.median(t) for t in zip(*times))
    print(f"{name:8} batch {batch:3}: dnncc {own * 1e6:9.1f} us, PyTorch {their * 1e6:9.1f} us, ratio {statistics.median(a / b for a, b in times):.3f}; "
          f"losses of {CHECKED} steps within {apart:.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--dnncc", default=ROOT / "build" / "dnncc")
    parser.add_argument("--target", default="x86-64-v4")
    parser.add_argument("--rounds", type=int, default=9)
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
