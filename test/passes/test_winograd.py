# SPDX-License-Identifier: MIT
"""Winograd's algorithm: where it is chosen, and how large its errors are."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_strips import BACKWARDS  # noqa: E402

V4 = "--target=x86-64-v4"
PASSES = re.search(r'PIPELINE\(2, "([^"]*)"', (dnncc.ROOT / "passes" / "passes.def").read_text())[1]
WITHOUT_STRIPS = "--passes=" + PASSES.replace("strips,", "")
ROOM = "--limit=winograd_percent=1000"          # for constants to grow


class Layer:
    """A convolution, bias and ReLU as ONNX, its input, and its result in double precision."""

    def __init__(self, channels, outputs, rows, columns=None, window=3, pad=1, seed=1, **attributes):
        columns = columns or rows
        r = np.random.default_rng(seed)
        w = r.standard_normal((outputs, channels, window, window)) * np.sqrt(2 / (window * window * channels))
        self.w, self.b = w.astype(np.float32), r.standard_normal(outputs).astype(np.float32)
        self.x = np.maximum(r.standard_normal((1, channels, rows, columns)), 0).astype(np.float32)
        nodes = [onnx.helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[pad] * 4, **attributes), onnx.helper.make_node("Relu", ["c"], ["y"])]
        ports = [onnx.helper.make_tensor_value_info("x", 1, self.x.shape), onnx.helper.make_tensor_value_info("y", 1, None)]
        weights = [onnx.numpy_helper.from_array(self.w, "w"), onnx.numpy_helper.from_array(self.b, "b")]
        graph = onnx.helper.make_graph(nodes, "g", ports[:1], ports[1:], weights)
        self.model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        self.pad = pad

    def save(self, folder):
        onnx.save(self.model, folder / "layer.onnx")
        return folder / "layer.onnx"

    def expected(self):
        p = self.pad
        x = np.pad(self.x.astype(np.float64), ((0, 0), (0, 0), (p, p), (p, p)))
        rows, columns = x.shape[2] - 2, x.shape[3] - 2
        y = sum(np.einsum("nchw,oc->nohw", x[:, :, i:i + rows, j:j + columns], self.w[:, :, i, j].astype(np.float64))
                for i in range(3) for j in range(3))
        return np.maximum(y + self.b[:, None, None], 0)


def tile_of(path, *options):
    """4, 2, or None: how the layer is computed"""
    done = dnncc.run([dnncc.DNNCC, path, "--emit=loops", "-o", "-", *options])
    assert done.returncode == 0, done.stderr
    found = re.search(r"convolve_winograd <[^>]*> by <(\d+) x", done.stdout)
    return {36: 4, 16: 2}[int(found[1])] if found else None


CHOICES = [
    (Layer(64, 64, 56), 4), (Layer(128, 128, 28), 4),       # products decide
    (Layer(48, 96, 10, 30, pad=0), 4),
    (Layer(256, 256, 14), 2),                               # reading the weights does, too
    (Layer(512, 512, 7), None), (Layer(16, 16, 7), None),
    (Layer(64, 64, 56, strides=[2, 2]), None), (Layer(64, 64, 28, dilations=[2, 2]), None), (Layer(64, 64, 28, window=5), None),
    (Layer(64, 64, 28, window=1), None), (Layer(8, 64, 28), None),
]


@pytest.mark.parametrize("layer,tile", CHOICES)
def test_choice(layer, tile, tmp_path):
    path = layer.save(tmp_path)
    assert tile_of(path, V4, ROOM) == tile
    assert tile_of(path, V4, ROOM, "--exact") is None and tile_of(path, ROOM, "--target=generic") is None


def test_room(tmp_path):
    """one layer may not grow by more than half of it; by the smaller tile's 16 / 9 when that is allowed"""
    path = Layer(64, 64, 56).save(tmp_path)
    assert tile_of(path, V4) is None
    assert tile_of(path, V4, "--limit=winograd_percent=100") == 2
    assert tile_of(path, V4, "--limit=winograd_percent=310") == 4


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("layer,tile,bound", [
    (Layer(64, 40, 28), 4, 1e-4), (Layer(200, 48, 13, 18, pad=0), 4, 1e-4), (Layer(64, 64, 10), 2, 1e-5)])
@pytest.mark.sample(4)
def test_error(layer, tile, bound, target, tmp_path):
    """of the largest result; and far below what a wrong coefficient would make of it"""
    processor.require(target)
    path = layer.save(tmp_path)
    if target == "x86-64-v4":
        assert tile_of(path, V4, ROOM) == tile
    dnncc.compile_model(path, tmp_path, [f"--target={target}", ROOM])
    result, = dnncc.run_host(dnncc.build_host(tmp_path, ["-O1"]), [layer.x])
    expected = layer.expected()
    assert np.abs(result - expected).max() <= bound * np.abs(expected).max()


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("layer,kind,joins", [
    (Layer(64, 48, 14, 22), "MaxPool", True), (Layer(64, 64, 10), "MaxPool", True), (Layer(64, 64, 27), "MaxPool", False),
    (Layer(64, 40, 28), "AveragePool", True)])
@pytest.mark.sample(4)
def test_pool(layer, kind, joins, target, tmp_path):
    """windows of the results, stored in their place: the same bits as by a kernel of its own, whatever the number of threads"""
    processor.require(target)
    layer.model.graph.node.append(onnx.helper.make_node(kind, ["y"], ["p"], kernel_shape=[2, 2], strides=[2, 2]))
    layer.model.graph.output[0].name = "p"
    path = layer.save(tmp_path)
    layer.model.graph.node.pop()
    results = []
    for passes, threads in ((WITHOUT_STRIPS, 1), ("", 1), ("", 3)):
        folder = tmp_path / f"{bool(passes)}{threads}"
        folder.mkdir()
        options = [f"--target={target}", ROOM, f"--threads={threads}", *([passes] if passes else [])]
        loops = dnncc.run([dnncc.DNNCC, path, "--emit=loops", "-o", "-", *options]).stdout
        assert len(re.findall(r"\nkernel .*convolve_winograd.*reduce_window", loops)) == (joins and not passes), loops[:2000]
        dnncc.compile_model(path, folder, options)
        if threads > 1:
            with open(folder / "model.c", "a") as file:
                file.write(BACKWARDS)
        results.append(dnncc.run_host(dnncc.build_host(folder, ["-O1"]), [layer.x])[0])
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
