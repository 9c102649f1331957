# SPDX-License-Identifier: MIT
"""Images and signals of a length, height or width that a run gives: convolutions and pools of every kind give what the code for that extent gives, and onnxruntime."""
import pathlib
import re
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_images import F32, SANITIZED, Images, close, compiled  # noqa: E402

BOUND = 50


class Positions(Images):
    """a network whose input has the symbols N, and H, among its spatial extents"""
    def dense(self, x):
        self.shape = 1, 3, 11, "N"
        h = self.conv(x, 40, 3, 3, 3, pads=[1, 2, 0, 1])
        h = self.conv(h, 16, 40, 3, 3, pads=[0, 1, 2, 1], strides=[2, 2])
        return self.conv(self.conv(h, 24, 16, 1, 1), 33, 24, 3, 1, dilations=[1, 1], pads=[2, 0, 0, 0])

    def both(self, x):
        self.shape = 1, 3, "H", "N"
        h = self.conv(x, 32, 3, 3, 3, pads=[1] * 4, strides=[2, 2])
        h = self.node("Add", h, self.conv(self.conv(h, 48, 32, 1, 1), 32, 48, 3, 3, pads=[1] * 4))
        return self.conv(h, 20, 32, 3, 3, pads=[2] * 4, dilations=[2, 2])

    def height(self, x):
        self.shape = 2, 5, "N", 9
        h = self.conv(self.conv(x, 32, 5, 3, 3, pads=[1] * 4), 64, 32, 3, 3, pads=[1] * 4, strides=[2, 1])
        return self.node("MaxPool", self.conv(h, 17, 64, 1, 1), kernel_shape=[2, 3], pads=[1, 1, 0, 0], strides=[1, 2])

    def batch(self, x):
        self.shape = "H", 3, 7, "N"
        return self.conv(self.conv(x, 32, 3, 3, 3, pads=[1] * 4), 16, 32, 1, 1)

    def same(self, x):
        self.shape = 1, 4, 6, "N"
        h = self.conv(x, 32, 4, 4, 5, auto_pad="SAME_UPPER")
        return self.conv(self.conv(h, 32, 32, 3, 3, auto_pad="SAME_LOWER"), 8, 32, 2, 2, auto_pad="SAME_UPPER")

    def halves(self, x):
        self.shape = 1, 4, 6, "N", 4
        h = self.node("Reshape", x, self.constant(np.array([1, 4, 6, -1])))
        h = self.conv(h, 32, 4, 3, 4, auto_pad="SAME_UPPER", strides=[2, 2])
        return self.conv(h, 8, 32, 2, 3, auto_pad="SAME_LOWER", strides=[1, 2])

    def odd(self, x):
        self.shape = 1, 4, 6, "N"
        return self.conv(x, 32, 4, 3, 4, auto_pad="SAME_UPPER", strides=[2, 2])

    def squares(self, x):
        self.shape = 1, 32, "H", "N"
        h = self.conv(x, 64, 32, 3, 3, pads=[1] * 4)
        h = self.node("Add", h, self.conv(h, 64, 64, 3, 3, act=None, pads=[1] * 4))
        h = self.node("MaxPool", self.conv(h, 64, 64, 3, 3, pads=[1] * 4), kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1])
        return self.conv(h, 32, 64, 3, 3, pads=[1] * 4)

    def groups(self, x):
        self.shape = 1, 3, 8, "N"
        h = self.conv(x, 32, 3, 3, 3, pads=[1] * 4)
        h = self.conv(h, 32, 16, 3, 3, group=2, pads=[1] * 4)
        h = self.conv(h, 32, 8, 1, 1, group=4)
        return self.conv(h, 64, 1, 3, 3, group=32, pads=[1] * 4)

    def depthwise(self, x):
        self.shape = 1, 3, 12, "N"
        h = self.conv(self.conv(x, 24, 3, 1, 1), 24, 1, 3, 3, group=24, pads=[1] * 4)
        h = self.conv(self.conv(h, 48, 24, 1, 1, act="Sigmoid"), 48, 1, 5, 5, group=48, strides=[2, 2], pads=[2] * 4)
        shares = self.node("HardSigmoid", self.conv(self.node("GlobalAveragePool", h), 48, 48, 1, 1))
        return self.node("AveragePool", self.node("Mul", h, shares), kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])

    def pools(self, x):
        self.shape = 1, 16, "H", "N"
        h = self.conv(x, 40, 16, 1, 1)
        h = self.node("MaxPool", h, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        h = self.node("AveragePool", h, kernel_shape=[2, 4], pads=[1, 2, 0, 1], count_include_pad=1)
        return self.node("Add", h, self.node("MaxPool", h, kernel_shape=[5, 5], pads=[2] * 4))

    def signal(self, x):
        self.shape = 1, 4, "N"
        h = self.conv(self.conv(x, 20, 4, 5, strides=[2], pads=[4, 4]), 20, 1, 7, group=20, pads=[3, 3])
        return self.conv(self.node("MaxPool", h, kernel_shape=[3], strides=[1], pads=[1, 1]), 17, 20, 3, pads=[1, 1])

    def volume(self, x):
        self.shape = 1, 3, 4, "H", "N"
        return self.conv(self.conv(x, 16, 3, 3, 3, 3, pads=[1] * 6), 24, 16, 2, 3, 3, pads=[0, 1, 1, 1, 1, 1], strides=[1, 2, 2])

    def transposed(self, x):
        self.shape = 1, 3, 5, "N"
        h = self.conv(x, 20, 3, 3, 3, pads=[1] * 4)
        h = self.node("ConvTranspose", h, self.weights(20, 18, 2, 2), self.weights(18), strides=[2, 2])
        return self.node("ConvTranspose", self.node("Relu", h), self.weights(18, 1, 3, 3), strides=[2, 2], pads=[1] * 4)

    def joined(self, x):
        self.shape = 1, 3, 6, "N"
        h = self.conv(x, 32, 3, 3, 3, pads=[1] * 4)
        h = self.node("Concat", h, self.conv(h, 24, 32, 3, 3, pads=[1] * 4), axis=1)
        a, b = (self.node("Slice", h, self.constant(np.array([f])), self.constant(np.array([f + 28])), self.constant(np.array([1]))) for f in (0, 28))
        return self.conv(self.node("Mul", a, self.node("Sigmoid", b)), 12, 28, 3, 3, pads=[1] * 4)

    def bytes(self, x):
        self.shape, self.scale = (1, 3, 9, "N"), .03
        h = self.byte_conv(self.quantized(x, .03, 120), 32, 3, 3, 3, scale=.03, zero=120, pads=[1] * 4)
        h = self.byte_conv(h, 32, 1, 3, 3, scale=.03, zero=120, group=32, pads=[1] * 4)
        h = self.node("MaxPool", self.byte_conv(h, 64, 32, 3, 3, scale=.03, zero=120, pads=[1] * 4, strides=[2, 2]), kernel_shape=[2, 2], pads=[1, 1, 0, 0])
        return self.byte_conv(self.node("Add", h, h), 20, 64, 1, 1, scale=.03, zero=120)

    FORMS = ("dense", "both", "height", "batch", "same", "halves", "squares", "groups", "depthwise", "pools", "signal", "volume", "transposed", "joined", "bytes", "odd")

    def save(self, path):
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", F32, self.shape)],
                                  [helper.make_tensor_value_info(self.result, F32, None)], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path

    def at(self, n, h):
        return [n if d == "N" else h if d == "H" else d for d in self.shape]

    def dims(self, n, h):
        return [f"--dim={d}={v}" for d, v in (("N", n), ("H", h)) if d in self.shape]


WAYS = [("generic",), ("x86-64-v3", "--limit=winograd_percent=1000"), ("x86-64-v3", "--threads=3"), ("x86-64-v4", "--limit=winograd_percent=1000"), ("x86-64-v4-vnni", "--threads=2"), ("generic", "--exact"),
        ("x86-64-v3", "--goal=memory")]
EXTENTS = [(1, 1), (2, 3), (7, 5), (16, 12), (17, 2), (31, 9), (BOUND, 13)]     # of N and of H


def compare(network, form, way, folder, extents, alone):
    target, *options = way
    if not processor.has(target):
        pytest.skip(f"the processor has no {target}")
    model = network.save(folder / "m.onnx")
    options.append(f"--target={target}")
    program = compiled(model, folder / "any", *network.dims(f"1..{BOUND}", "1..13"), *options, flags=SANITIZED)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    for n, h in extents:
        x = np.random.default_rng(n).random(network.at(n, h), np.float32) * 2 - 1
        got, = dnncc.run_host(program, [x])
        want, = session.run(None, {"x": x})
        close(form, got, want, .02)
        if (n, h) not in alone:
            continue
        one, = dnncc.run_host(compiled(model, folder / f"{n}", *network.dims(n, h), *options), [x])
        close(form, got, one)
        if target == "generic" and (form != "depthwise" or "--exact" in options):       # a mean by a known number is a product
            np.testing.assert_array_equal(got, one)


@pytest.mark.sample(26, each=False)
@pytest.mark.parametrize("way", WAYS, ids=" ".join)
@pytest.mark.parametrize("form", Positions.FORMS)
def test_positions(form, way, tmp_path):
    """the least extent, extents around those of tiles, and the bound; on targets without vectors the bits of the code for that extent"""
    compare(Positions(form), form, way, tmp_path, EXTENTS, EXTENTS[::3])


def test_packed(tmp_path):
    """every convolution and window is a packed kernel, as it is where its extents are known"""
    for form in Positions.FORMS:
        network = Positions(form)
        model = network.save(tmp_path / "m.onnx")
        for target in "x86-64-v3", "x86-64-v4":
            text, one = (dnncc.run([dnncc.DNNCC, model, *network.dims(*dims), f"--target={target}", "--emit=ir", "-o", "-"]).stdout
                         for dims in ((f"1..{BOUND}", "1..13"), (BOUND, 13)))
            for op in r"convolve\(", r"reduce_window\(", r"convolve_lanes\(", r"convolve_(packed|winograd)\(":
                lines = [line for line in text.splitlines() if re.search(op, line)]
                assert len(lines) == len(re.findall(op, one)), (form, target, op)
                assert all("schedule=" in line for line in lines) or op == r"convolve\(", (form, target, lines)


@pytest.mark.parametrize("window, strides, pads", [([3, 3], [2, 2], [0] * 4), ([2, 3], [2, 1], [0] * 4), ([3, 4], [2, 3], [1] * 4), ([5], [3], [2, 1])], ids=str)
@pytest.mark.parametrize("op, attributes", [("MaxPool", {}), ("AveragePool", {}), ("AveragePool", {"count_include_pad": 1})], ids=str)
def test_windows_over_the_end(op, attributes, window, strides, pads, tmp_path):
    """ceil_mode: the last window hangs over the end where the steps do not add up"""
    least = max(window)

    class Pool(Positions):
        def pool(self, x):
            self.shape = (2, 20, "H", "N") if len(window) == 2 else (2, 20, "N")
            return self.node("Abs", self.node(op, x, kernel_shape=window, strides=strides, pads=pads, ceil_mode=1, **attributes))

        def dims(self, n, h):
            return [option.replace("=1..", f"={least}..") for option in super().dims(n, h)]
    for number, way in enumerate([("generic", "--exact"), ("generic",), ("x86-64-v3",)]):
        (tmp_path / f"{number}").mkdir()
        compare(Pool("pool"), "pool" if op == "MaxPool" else "depthwise", way, tmp_path / f"{number}", [(least, least), (11, 8), (12, 7), (13, 9), (BOUND, 13)], [(11, 8)])
