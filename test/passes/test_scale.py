# SPDX-License-Identifier: MIT
"""Graphs of 100,000 nodes: a chain, values that a thousand others read, a thousand branches side by side. All of a compilation, the
verifier included, stays within seconds of processor time, because no pass is quadratic in nodes, uses, or what is alive at once; and
weights pass through it at the speed of memory, in little more memory than they take."""
import pathlib
import re
import resource
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import large_graphs  # noqa: E402
import measured  # noqa: E402

NODES, WIDTH = 100_000, large_graphs.WIDTH
SECONDS = 10        # of processor time; 1 to 3 on an idle machine


def seconds(model, out, *options):
    """processor time of a compilation"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = dnncc.run([dnncc.DNNCC, model, "-o", out, *options], timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("options", [["-O2"], ["-O0"], ["-O2", "--target=x86-64-v4"]], ids=" ".join)
@pytest.mark.parametrize("graph", large_graphs.ALL, ids=lambda f: f.__name__)
@pytest.mark.sample(9, each=False)
def test_seconds(tmp_path, graph, options):
    path = tmp_path / "large.dnn"
    path.write_text(graph(NODES))
    assert seconds(path, tmp_path / "large.c", *options) < SECONDS


@pytest.mark.sample(3)
@pytest.mark.parametrize("graph", large_graphs.ALL, ids=lambda f: f.__name__)
def test_proportion(tmp_path, graph):
    """On any machine: four times the nodes, or as many four times as wide, would take sixteen or four times what they took if
    something were quadratic."""
    def least(*shape):
        path = tmp_path / "large.dnn"
        path.write_text(graph(*shape))
        return min(seconds(path, tmp_path / "large.c") for _ in range(2))
    nodes = NODES // 2
    whole = least(nodes, WIDTH)
    assert whole < 8 * least(nodes // 4, WIDTH)
    assert whole < 2.5 * least(nodes, WIDTH // 4)


def dense_layers(path, size, count):
    """products by weights that are equal but for an element near the end; the last ones are the first ones again"""
    w = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32) / size
    layers = []
    for i in range(count - 1):
        w[-2, i] += 1
        layers.append(w.copy())
    layers.append(layers[0])
    tensors = [numpy_helper.from_array(layer, f"w{i}") for i, layer in enumerate(layers)]
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(count)]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, size]) for n in ("x0", f"x{count}"))
    onnx.save(helper.make_model(helper.make_graph(nodes, "dense", [x], [y], tensors), opset_imports=[helper.make_opsetid("", 17)]), path)


@pytest.mark.sample(2)
@pytest.mark.parametrize("weights", ["inline", "file"])
@pytest.mark.parametrize("target", ["generic", "x86-64-v4"])
def test_weights(tmp_path, weights, target):
    """200 MB/s and more on an idle machine; equal ones are stored once, others that look alike are not taken for equal"""
    layer, count = 4 * 1024 * 1024, 16
    dense_layers(tmp_path / "m.onnx", 1024, count)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c", f"--weights={weights}", f"--target={target}",
                      "--time-passes"], timeout=300)
    assert done.returncode == 0, done.stderr
    megabytes, speed = re.search(r"time: whole .* ms, ([0-9.]+) MB of weights, ([0-9]+) MB/s", done.stderr).groups()
    assert float(megabytes) == pytest.approx(count * layer / 1e6, abs=0.1)
    assert int(speed) > 40, done.stderr
    if weights == "file":
        assert (tmp_path / "m.weights").stat().st_size == (count - 1) * layer + 64


def normed_convolutions(path, channels, count):
    """1 x 1 convolutions with batch norms: weights are scaled, then packed"""
    rng, nodes, tensors = np.random.default_rng(0), [], []
    for i in range(count):
        w = rng.standard_normal((channels, channels, 1, 1)).astype(np.float32) / channels
        scale = [rng.random(channels).astype(np.float32) + 1 for _ in range(4)]
        names = [f"{name}{i}" for name in ("scale", "bias", "mean", "variance")]
        tensors += [numpy_helper.from_array(a, n) for a, n in zip([w, *scale], [f"w{i}", *names])]
        nodes += [helper.make_node("Conv", [f"x{i}", f"w{i}"], [f"c{i}"]), helper.make_node("BatchNormalization", [f"c{i}", *names], [f"n{i}"]),
                  helper.make_node("Relu", [f"n{i}"], [f"x{i + 1}"])]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, channels, 4, 4]) for n in ("x0", f"x{count}"))
    onnx.save(helper.make_model(helper.make_graph(nodes, "convolutions", [x], [y], tensors), opset_imports=[helper.make_opsetid("", 17)]), path)


@pytest.mark.sample(2)
@pytest.mark.skipif("asan" in str(dnncc.DNNCC), reason="a sanitizer's memory is its own")
@pytest.mark.parametrize("target", ["generic", "x86-64-v4"])
@pytest.mark.parametrize("layers", [dense_layers, normed_convolutions], ids=lambda f: f.__name__)
def test_memory_of_weights(tmp_path, layers, target):
    """what has been rewritten makes room for what is rewritten next"""
    peaks = []
    for count in 2, 18:
        layers(tmp_path / "m.onnx", 1024, count)
        code, said, _, megabytes = measured.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c", "--weights=file",
                                                 f"--target={target}"])
        assert code == 0, said
        peaks.append(megabytes)
    assert peaks[1] - peaks[0] < 1.3 * 16 * 4
