# SPDX-License-Identifier: MIT
"""Winograd's algorithm: where it is chosen, and how large its errors are."""
import pathlib
import random
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
ROOM = "--limit=winograd_percent=2000"          # for constants to grow
NO_SPECTRA = "--limit=spectrum_percent=0"


class Layer:
    """A convolution, bias and ReLU as ONNX, its input, and its result in double precision."""

    def __init__(self, channels, outputs, rows, columns=None, window=3, pad=1, seed=1, group=1, images=1, given=False, **attributes):
        """of a signal, where `rows` is 0; window and pad: a number for both dimensions, or a list; given: weights are an input"""
        size = [rows, columns or rows] if rows else [columns]
        window, pad = ([v] * len(size) if isinstance(v, int) else v for v in (window, pad))
        r = np.random.default_rng(seed)
        w = r.standard_normal((outputs, channels // group, *window)) * np.sqrt(2 / (np.prod(window) * channels))
        self.w, self.b = w.astype(np.float32), r.standard_normal(outputs).astype(np.float32)
        self.x = np.maximum(r.standard_normal((images, channels, *size)), 0).astype(np.float32)
        self.pad, self.strides, self.group = pad, attributes.get("strides", [1] * len(size)), group
        nodes = [onnx.helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[*pad, *pad], group=group, **attributes), onnx.helper.make_node("Relu", ["c"], ["y"])]
        ports = [onnx.helper.make_tensor_value_info("x", 1, self.x.shape), onnx.helper.make_tensor_value_info("y", 1, None)]
        weights = [onnx.numpy_helper.from_array(self.w, "w"), onnx.numpy_helper.from_array(self.b, "b")]
        self.given = [self.x, self.w] if given else [self.x]
        inputs = ports[:1] + [onnx.helper.make_tensor_value_info("w", 1, self.w.shape)] * given
        graph = onnx.helper.make_graph(nodes, "g", inputs, ports[1:], weights[given:])
        self.model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)

    def save(self, folder):
        onnx.save(self.model, folder / "layer.onnx")
        return folder / "layer.onnx"

    def expected(self):
        x = np.pad(self.x.astype(np.float64), [(0, 0), (0, 0), *((p, p) for p in self.pad)])
        window, result = self.w.shape[2:], []
        out = [(n - k) // s + 1 for n, k, s in zip(x.shape[2:], window, self.strides)]
        for xs, w in zip(np.split(x, self.group, 1), np.split(self.w.astype(np.float64), self.group)):
            y = 0
            for tap in np.ndindex(*window):
                at = [slice(t, t + (n - 1) * s + 1, s) for t, n, s in zip(tap, out, self.strides)]
                y = y + np.einsum("nc...,oc->no...", xs[(slice(None), slice(None), *at)], w[(slice(None), slice(None), *tap)])
            result.append(y)
        return np.maximum(np.concatenate(result, 1) + self.b.reshape(-1, *[1] * len(window)), 0)


def form_of(path, *options):
    """how the layer is computed: its tile, None where it has none"""
    done = dnncc.run([dnncc.DNNCC, path, "--emit=ir", "-o", "-", *options])
    assert done.returncode == 0, done.stderr
    found = re.search(r" = convolve_winograd\([^)]*\)(?: tile=\[([\d, ]*)\])?", done.stdout)
    return found and ([int(n) for n in found[1].split(",")] if found[1] else "4")


CHOICES = [
    (Layer(64, 64, 56), "4"), (Layer(128, 128, 28), "4"),       # products decide
    (Layer(48, 96, 10, 30, pad=0), [2, 4]),                     # rows: 10, of which tiles of four compute 12
    (Layer(256, 256, 14), [2, 2]),                              # reading the weights does, too
    (Layer(512, 512, 7), None), (Layer(16, 16, 7), None),
    (Layer(64, 64, 28, window=5, pad=2), "4"), (Layer(64, 64, 56, window=7, pad=3), [2, 2]),
    (Layer(128, 128, 17, window=[1, 7], pad=[0, 3]), [1, 2]), (Layer(128, 128, 17, window=[7, 1], pad=[3, 0]), [2, 1]),
    (Layer(64, 64, 0, 2000), [6]), (Layer(64, 64, 0, 2000, window=5, pad=2), "4"),
    (Layer(64, 64, 56, window=[3, 5], pad=[1, 2]), "4"),
    (Layer(64, 64, 56, window=5, pad=2, strides=[2, 2]), "4"),
    (Layer(64, 64, 56, strides=[2, 2]), None), (Layer(64, 64, 28, dilations=[2, 2]), None), (Layer(64, 64, 28, window=8, pad=3), None),
    (Layer(64, 64, 28, window=1), None), (Layer(8, 64, 28), None), (Layer(128, 128, 28, group=2), None),
    (Layer(56, 64, 56, window=5, pad=2, strides=[2, 2]), None),        # phases of whole vectors alone
    (Layer(64, 64, 56, given=True), "4"), (Layer(256, 256, 14, images=8, given=True), [2, 2]),  # transformed in each run
    (Layer(256, 256, 14, given=True), None), (Layer(64, 48, 56, given=True), None),      # panels of other outputs
    (Layer(64, 64, 56, window=5, pad=2, strides=[2, 2], given=True), None),
]


def name_of(value):
    return f"{'given ' * (len(value.given) > 1)}{value.x.shape[1]}-{value.w.shape[0]} {value.x.shape[2:]} by {value.w.shape[2:]}/{value.strides}" if isinstance(value, Layer) else str(value)


@pytest.mark.parametrize("layer,tile", CHOICES, ids=name_of)
def test_choice(layer, tile, tmp_path):
    path = layer.save(tmp_path)
    assert form_of(path, V4, ROOM, NO_SPECTRA) == tile
    assert form_of(path, V4, ROOM, "--exact") is None and form_of(path, ROOM, "--target=generic") is None


def test_room(tmp_path):
    """one layer may not grow by more than half of it; by the smaller tile's 16 / 9 when that is allowed, or 24 / 9"""
    path = Layer(64, 64, 56).save(tmp_path)
    assert form_of(path, V4) is None
    assert form_of(path, V4, "--limit=winograd_percent=100") == [2, 2]
    assert form_of(path, V4, "--limit=winograd_percent=200") == [2, 4]
    assert form_of(path, V4, "--limit=winograd_percent=310") == "4"


def test_large_errors(tmp_path):
    """of more channels than keep errors within 1e-5 of the largest result: smaller tiles, though larger ones are faster"""
    path = Layer(1024, 64, 28).save(tmp_path)
    assert form_of(path, V4, ROOM) in ([2, 4], [4, 2], [2, 2])
    assert form_of(Layer(128, 64, 28).save(tmp_path), V4, ROOM) == "4"


def test_fourier_is_slower(tmp_path):
    """7 x 7 windows, which both can have: transforms of Fourier are chosen where constants have no room for the others"""
    path = Layer(64, 64, 56, window=7, pad=3).save(tmp_path)
    assert form_of(path, V4) == [2, 2]
    done = dnncc.run([dnncc.DNNCC, path, V4, "--limit=winograd_percent=0", "--limit=spectrum_percent=5000", "--emit=ir", "-o", "-"])
    assert "spectrum(" in done.stdout and "convolve_winograd" not in done.stdout, done.stderr


WINDOWS = [[2, 2], [3, 2], [4, 4], [5, 5], [6, 3], [7, 7], [1, 3], [1, 7], [5, 1], [2], [3], [4], [5], [6], [7]]


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4", "aarch64", "riscv64-v"])
@pytest.mark.parametrize("layer", [
    Layer(64, 40, 28), Layer(200, 48, 13, 18, pad=0), Layer(64, 64, 10),
    *(Layer(64, 64, 24 if len(w) > 1 else 0, 24 if len(w) > 1 else 500, window=w, pad=[k // 2 for k in w]) for w in WINDOWS),
    *(Layer(64, 64, 56, window=w, pad=1, strides=s) for w, s in (([5, 5], [2, 2]), ([7, 7], [2, 2]), ([3, 6], [1, 2]), ([5, 3], [3, 1]))),
    Layer(64, 64, 0, 1000, window=7, pad=3, strides=[2]),
    *(Layer(64, outputs, 56, images=2, given=True) for outputs in (16, 32, 64, 96)),
    Layer(64, 64, 0, 2000, window=5, pad=2, given=True), Layer(64, 64, 56, window=[3, 5], pad=[1, 2], images=2, given=True)], ids=name_of)
@pytest.mark.sample(20, each=False)
def test_error(layer, target, tmp_path):
    """of the largest result; and far below what a wrong coefficient would make of it"""
    processor.require(target)
    path, options = layer.save(tmp_path), [f"--target={target}", ROOM, NO_SPECTRA]
    assert form_of(path, *options) or processor.emulator(target), name_of(layer)
    dnncc.compile_model(path, tmp_path, options)
    result, = dnncc.run_host(dnncc.build_host(tmp_path, ["-O1"], emulator=processor.emulator(target)), layer.given)
    expected = layer.expected()
    assert np.abs(result - expected).max() <= 1e-5 * np.abs(expected).max()


def random_layer(r):
    """extents around those of a tile: smaller, as large, one more"""
    dims = r.choice([1, 2, 2])
    window, strides = [r.choice([1, 2, 3, 3, 4, 5, 6, 7]) for _ in range(dims)], [r.choice([1, 1, 1, 2]) for _ in range(dims)]
    pad = [r.randrange(k) for k in window]
    out = [r.choice([3, 4, 5, 8, 16, 24, 33, 40]) * (30 if dims == 1 else 1) + r.randint(0, 1) for _ in range(dims)]
    size = [max(1, (o - 1) * s + k - 2 * p + r.randrange(s)) for o, s, k, p in zip(out, strides, window, pad)]
    rows = size[0] if dims > 1 else 0
    return Layer(r.choice([64, 96]), r.choice([60, 64]), rows, size[-1], window=window, pad=pad, strides=strides,
                 group=r.choice([1, 1, 1, 1, 1, 2]), images=r.choice([1, 1, 2]), seed=r.randrange(1000))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.sample(24)
def test_random_layers(seed, tmp_path):
    """each pass keeps what the interpreter computes, with and without tiles; so does C, whatever the number of threads"""
    r = random.Random(seed)
    layer, target = random_layer(r), r.choice(["x86-64", "x86-64-v3", "x86-64-v4"])
    processor.require(target)
    threads = r.choice([1, 1, 2])
    path, options = layer.save(tmp_path), [f"--target={target}", ROOM, NO_SPECTRA, f"--threads={threads}"]
    done = dnncc.run([dnncc.DNNCC, path, *options, "--check", "--emit=ir", "-o", "-"])
    assert done.returncode == 0, done.stderr
    dnncc.compile_model(path, tmp_path, options)
    if threads > 1:
        with open(tmp_path / "model.c", "a") as file:
            file.write(BACKWARDS)
    result, = dnncc.run_host(dnncc.build_host(tmp_path, ["-O1", "-fsanitize=address,undefined"]), [layer.x])
    expected = layer.expected()
    assert np.abs(result - expected).max() <= 1e-5 * np.abs(expected).max(), name_of(layer)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("layer,kind,joins", [
    (Layer(64, 48, 14, 22), "MaxPool", True), (Layer(64, 64, 10), "MaxPool", True), (Layer(64, 64, 27), "MaxPool", False),
    (Layer(64, 40, 28), "AveragePool", True)])
@pytest.mark.sample(4, each=False)
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
