# SPDX-License-Identifier: MIT
"""Convolutions by Fourier transforms: where they are chosen, how large their errors are, and that C gives the interpreter's bits."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

ANY = "--limit=spectrum_percent=100000"


class Layer:
    def __init__(self, x, w, pads, groups=1, seed=1, **attributes):
        r = np.random.default_rng(seed)
        self.x, self.pads, self.groups, self.dilations = r.standard_normal(x).astype(np.float32), pads, groups, attributes.get("dilations", [1] * (len(w) - 2))
        self.w = (r.standard_normal(w) / np.sqrt(np.prod(w[1:]))).astype(np.float32)
        self.b = r.standard_normal(w[0]).astype(np.float32)
        nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=pads, group=groups, **attributes), helper.make_node("Relu", ["c"], ["y"])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, x)], [helper.make_tensor_value_info("y", 1, None)],
                                  [numpy_helper.from_array(self.w, "w"), numpy_helper.from_array(self.b, "b")])
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def save(self, folder):
        onnx.save(self.model, folder / "layer.onnx")
        return folder / "layer.onnx"

    def expected(self):
        """in double: a product for each tap"""
        n = len(self.pads) // 2
        x = np.pad(self.x.astype(np.float64), [(0, 0), (0, 0), *((self.pads[d], self.pads[n + d]) for d in range(n))])
        w = self.w.astype(np.float64).reshape(self.groups, self.w.shape[0] // self.groups, *self.w.shape[1:])
        out = [x.shape[2 + d] - (self.w.shape[2 + d] - 1) * self.dilations[d] for d in range(n)]
        y = np.zeros((x.shape[0], self.groups, w.shape[1], int(np.prod(out))))
        for tap in np.ndindex(*self.w.shape[2:]):
            at = tuple(slice(t * d, t * d + o) for t, d, o in zip(tap, self.dilations, out))
            piece = x[(slice(None), slice(None), *at)].reshape(x.shape[0], self.groups, w.shape[2], -1)
            y += np.einsum("ngcp,gmc->ngmp", piece, w[(..., *tap)])
        y = y.reshape(x.shape[0], self.w.shape[0], *out) + self.b.reshape(-1, *[1] * n)
        return np.maximum(y, 0)


def is_chosen(path, *options):
    done = dnncc.run([dnncc.DNNCC, path, "--emit=loops", "-o", "-", *options])
    assert done.returncode == 0, done.stderr
    return " spectrum <" in done.stdout


# of each kind: one block and several, extents of a block and one more, groups of every kind, dilations, pads that differ
LAYERS = {
    "one block": Layer((1, 1, 3000), (1, 1, 1000), [0, 0]),
    "blocks": Layer((1, 1, 20000), (1, 1, 1500), [700, 3]),
    "images": Layer((3, 2, 5000), (2, 1, 1001), [1000, 0], 2),
    "causal": Layer((1, 8, 2048), (8, 1, 2048), [2047, 0], 8),
    "several outputs of a channel": Layer((1, 3, 4000), (9, 1, 999), [5, 11], 3),
    "channels": Layer((1, 16, 2000), (24, 16, 400), [200, 199]),
    "groups": Layer((2, 12, 3000), (18, 4, 512), [0, 0], 3),
    "dilated": Layer((1, 4, 9000), (4, 1, 700), [0, 6990], 4, dilations=[10]),
    "image": Layer((1, 16, 40, 44), (16, 16, 25, 21), [12, 10, 12, 10]),
    "image in blocks": Layer((1, 2, 150, 90), (2, 1, 41, 37), [20, 0, 20, 3], 2),
    "image of groups": Layer((1, 32, 50, 50), (32, 16, 27, 27), [13, 13, 13, 13], 2),
}


@pytest.mark.sample(16, each=False)
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64"])
def test_result(name, target, tmp_path):
    processor.require(target)
    layer = LAYERS[name]
    path = layer.save(tmp_path)
    assert is_chosen(path, f"--target={target}", ANY)
    np.save(tmp_path / "input_0.npy", layer.x)
    done = dnncc.run([dnncc.DNNCC, path, f"--target={target}", ANY, f"--run={tmp_path}", "-q"])
    assert done.returncode == 0, done.stderr
    meant, want = np.load(tmp_path / "output_0.npy"), layer.expected()
    assert meant.shape == want.shape and np.abs(meant - want).max() <= 3e-6 * np.abs(want).max(), np.abs(meant - want).max()
    dnncc.compile_model(path, tmp_path, [f"--target={target}", ANY])
    got = dnncc.run_host(dnncc.build_host(tmp_path, ["-O1"], emulator=processor.emulator(target)), [layer.x])[0]
    assert got.tobytes() == meant.tobytes()


def test_choice(tmp_path):
    """long windows; not short ones, not where nobody may round otherwise, not where weights grow too much, not without vectors"""
    long, short = Layer((1, 1, 20000), (1, 1, 2000), [0, 0]), Layer((1, 64, 56, 56), (64, 64, 3, 3), [1, 1, 1, 1])
    path, v4 = long.save(tmp_path), "--target=x86-64-v4"
    assert is_chosen(path, v4)
    assert not is_chosen(path, v4, "--exact")
    assert not is_chosen(path, v4, "--limit=spectrum_percent=0")
    assert not is_chosen(path, "--target=generic")
    assert not is_chosen(path, "--target=cuda-sm_80")
    assert not is_chosen(short.save(tmp_path), v4, ANY)


@pytest.mark.parametrize("percent", [100, 180, 300])
def test_limit(percent, tmp_path):
    """weights grow by no more than is said"""
    layer = Layer((1, 32, 56, 56), (32, 32, 31, 31), [15] * 4)
    path = layer.save(tmp_path)
    done = dnncc.run([dnncc.DNNCC, path, "--target=x86-64-v4", f"--limit=spectrum_percent={percent}", "--weights=file", "-o", tmp_path / "model.c"])
    assert done.returncode == 0, done.stderr
    size = sum(f.stat().st_size for f in tmp_path.glob("model*weights*"))
    assert size <= 1.02 * layer.w.nbytes * (1 + percent / 100)


def test_ram(tmp_path):
    """where there is too little memory for blocks, the convolution stays as it is"""
    layer = Layer((1, 64, 4096), (64, 1, 2048), [2047, 0], 64)
    path = layer.save(tmp_path)
    assert is_chosen(path, "--target=x86-64-v4")
    assert not is_chosen(path, "--target=x86-64-v4", "--max-ram=3500K")


def test_whole_numbers_stay(tmp_path):
    """results that are taken as integers are exact sums"""
    layer = Layer((1, 1, 20000), (1, 1, 2000), [0, 0])
    graph = layer.model.graph
    graph.node[1].CopyFrom(helper.make_node("Cast", ["c"], ["y"], to=6))
    graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 6, None))
    onnx.save(layer.model, tmp_path / "layer.onnx")
    graph.node[0].input.pop()
    onnx.save(layer.model, tmp_path / "whole.onnx")
    assert not is_chosen(tmp_path / "whole.onnx", "--target=x86-64-v4")
