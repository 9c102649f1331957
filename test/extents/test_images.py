# SPDX-License-Identifier: MIT
"""As many images as a run gives (--dim N=0..7): convolutions and pools of every kind give what the code for that number gives, and onnxruntime."""
import pathlib
import re
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

F32 = TensorProto.FLOAT
SANITIZED = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
THREADS = [f"-Wl,--whole-archive,{dnncc.ROOT}/build/libdnncc_runtime.a,--no-whole-archive", "-pthread"]
BOUND = 7


class Images:
    """a network that maps [N, *shape] to its result, one of FORMS"""
    def __init__(self, form, seed=0):
        self.form, self.rng, self.nodes, self.constants = form, np.random.default_rng(seed), [], []
        self.shape, self.open = (3, 13, 18), (0,)
        self.result = getattr(self, form)("x")

    def node(self, op, *inputs, **attributes):
        self.nodes.append(helper.make_node(op, list(inputs), [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def constant(self, array):
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def weights(self, *shape):
        return self.constant((self.rng.random(shape, np.float32) - .5) / np.float32(np.sqrt(np.prod(shape[1:]) / 6)))

    def conv(self, x, outputs, channels, *window, act="Relu", **attributes):
        h = self.node("Conv", x, self.weights(outputs, channels, *window), self.weights(outputs), **attributes)
        return self.node(act, h) if act else h

    def flat(self, x, channels, outputs=10):
        return self.node("Gemm", self.node("Flatten", x), self.weights(channels, outputs), self.weights(outputs))

    # ---- forms ----

    def dense(self, x):
        h = self.conv(x, 16, 3, 3, 3, pads=[1] * 4)
        h = self.node("MaxPool", self.conv(h, 40, 16, 3, 3, pads=[0, 1, 2, 1], strides=[2, 2]), kernel_shape=[2, 2], strides=[2, 2])
        h = self.conv(self.conv(h, 24, 40, 1, 1), 33, 24, 3, 1, dilations=[1, 1], pads=[2, 0, 0, 0])
        return self.flat(self.node("GlobalAveragePool", h), 33)

    def squares(self, x):
        self.shape = 32, 16, 16
        h = self.conv(x, 32, 32, 3, 3, pads=[1] * 4)
        h = self.node("Add", x, self.conv(h, 32, 32, 3, 3, act=None, pads=[1] * 4))
        h = self.node("MaxPool", self.conv(h, 64, 32, 3, 3, pads=[1] * 4), kernel_shape=[2, 2], strides=[2, 2])
        return self.conv(h, 16, 64, 3, 3, pads=[1] * 4)

    def groups(self, x):
        h = self.conv(x, 32, 3, 3, 3, pads=[1] * 4)
        h = self.conv(h, 32, 16, 3, 3, group=2, pads=[1] * 4)
        h = self.conv(h, 32, 8, 1, 1, group=4)
        return self.conv(h, 64, 1, 3, 3, group=32, pads=[1] * 4)

    def depthwise(self, x):
        h = self.conv(self.conv(x, 24, 3, 1, 1), 24, 1, 3, 3, group=24, pads=[1] * 4)
        h = self.conv(self.conv(h, 48, 24, 1, 1, act="Sigmoid"), 48, 1, 5, 5, group=48, strides=[2, 2], pads=[2] * 4)
        shares = self.node("HardSigmoid", self.conv(self.node("GlobalAveragePool", h), 48, 48, 1, 1))
        return self.node("AveragePool", self.node("Mul", h, shares), kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])

    def signal(self, x):
        self.shape = 4, 61
        h = self.conv(self.conv(x, 20, 4, 5, strides=[2]), 20, 1, 7, group=20, pads=[3, 3])
        return self.conv(self.node("MaxPool", h, kernel_shape=[3], strides=[1]), 17, 20, 3)

    def transposed(self, x):
        h = self.conv(x, 20, 3, 3, 3, pads=[1] * 4)
        h = self.node("ConvTranspose", h, self.weights(20, 18, 2, 2), self.weights(18), strides=[2, 2])
        return self.node("ConvTranspose", self.node("Relu", h), self.weights(18, 1, 3, 3), strides=[2, 2], pads=[1] * 4)

    def joined(self, x):
        h = self.conv(x, 32, 3, 3, 3, pads=[1] * 4)
        low = self.conv(h, 24, 32, 3, 3, strides=[2, 2], pads=[1] * 4)
        up = self.node("Resize", low, "", self.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        up = self.node("Slice", up, self.constant(np.array([0, 0])), self.constant(np.array([13, 18])), self.constant(np.array([2, 3])))
        h = self.node("Concat", h, up, axis=1)
        a, b = (self.node("Slice", h, self.constant(np.array([f])), self.constant(np.array([f + 28])), self.constant(np.array([1]))) for f in (0, 28))
        return self.conv(self.node("Mul", a, self.node("Sigmoid", b)), 12, 28, 3, 3, pads=[1] * 4)

    def quantized(self, x, scale, zero, kind=np.uint8):
        ports = self.constant(np.float32(scale)), self.constant(kind(zero))
        return self.node("DequantizeLinear", self.node("QuantizeLinear", x, *ports), *ports)

    def byte_conv(self, x, outputs, channels, *window, scale=.05, zero=100, **attributes):
        w = self.constant(self.rng.integers(-127, 128, (outputs, channels, *window)).astype(np.int8))
        scales = (self.rng.random(outputs, np.float32) + 1) / np.float32(150 * np.sqrt(channels * np.prod(window)))
        w = self.node("DequantizeLinear", w, self.constant(scales), self.constant(np.zeros(outputs, np.int8)), axis=0)
        b = self.node("DequantizeLinear", self.constant(self.rng.integers(-99, 99, outputs).astype(np.int32)), self.constant(scales * np.float32(.03)),
                      self.constant(np.zeros(outputs, np.int32)), axis=0)
        return self.quantized(self.node("Conv", x, w, b, **attributes), scale, zero)

    def bytes(self, x):
        self.scale = .03
        h = self.byte_conv(self.quantized(x, .03, 120), 32, 3, 3, 3, scale=.03, zero=120, pads=[1] * 4)
        h = self.byte_conv(h, 32, 1, 3, 3, scale=.03, zero=120, group=32, pads=[1] * 4)
        h = self.node("MaxPool", self.byte_conv(h, 64, 32, 3, 3, scale=.03, zero=120, pads=[1] * 4, strides=[2, 2]), kernel_shape=[2, 2])
        h = self.byte_conv(self.node("Add", h, h), 20, 64, 1, 1, scale=.03, zero=120)
        return self.quantized(self.node("GlobalAveragePool", h), .03, 120)

    FORMS = "dense", "squares", "groups", "depthwise", "signal", "transposed", "joined", "bytes"

    def save(self, path):
        shape = ["N", *self.shape]
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", F32, shape)],
                                  [helper.make_tensor_value_info(self.result, F32, None)], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path


def compiled(model, folder, *options, flags=("-O1",)):
    folder.mkdir(exist_ok=True)
    dnncc.compile_model(model, folder, options)
    return dnncc.build_host(folder, [*flags, *(THREADS if any(o.startswith("--threads") for o in options) else [])])


def close(form, got, want, few=0.0):
    """bytes may be one step away where a float is rounded to them"""
    if form == "bytes":
        away = np.abs(got - want) > 1e-4
        assert np.abs(got - want).max(initial=0) < .031 and away.mean() <= few if got.size else True
    else:
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-4)


WAYS = [("generic",), ("x86-64-v3",), ("x86-64-v3", "--threads=3"), ("x86-64-v4",), ("x86-64-v4-vnni", "--threads=2"), ("sapphirerapids", "--precision=bf16"),
        ("generic", "--exact"), ("x86-64-v3", "--goal=memory")]


@pytest.mark.sample(20, each=False)
@pytest.mark.parametrize("way", WAYS, ids=" ".join)
@pytest.mark.parametrize("form", Images.FORMS)
def test_images(form, way, tmp_path):
    """no image, one, some, and the bound; on targets without vectors the bits of the code for that number"""
    target, *options = way
    if not processor.has(target):
        pytest.skip(f"the processor has no {target}")
    model = Images(form).save(tmp_path / "m.onnx")
    options.append(f"--target={target}")
    program = compiled(model, tmp_path / "any", f"--dim=N=0..{BOUND}", *options, flags=SANITIZED)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    shape, bf16 = Images(form).shape, "--precision=bf16" in options
    for n in 0, 1, BOUND:
        x = np.random.default_rng(n).random((n, *shape), np.float32) * 2 - 1
        got, = dnncc.run_host(program, [x])
        if not n:
            continue
        want, = session.run(None, {"x": x})
        if bf16:
            np.testing.assert_allclose(got, want, rtol=.05, atol=.05)
            continue
        close(form, got, want, .02)
        if n == 1:                      # the bound is what its layouts and schedules are of
            continue
        one, = dnncc.run_host(compiled(model, tmp_path / f"{n}", f"--dim=N={n}", *options), [x])
        close(form, got, one)
        if target == "generic":
            np.testing.assert_array_equal(got, one)


def test_packed(tmp_path):
    """every convolution and window is a packed kernel"""
    for form in Images.FORMS:
        model = Images(form).save(tmp_path / "m.onnx")
        for target in "x86-64-v3", "sapphirerapids":
            text = dnncc.run([dnncc.DNNCC, model, "--dim=N=1..32", f"--target={target}", "--emit=ir", "-o", "-"]).stdout
            one = dnncc.run([dnncc.DNNCC, model, "--dim=N=3", f"--target={target}", "--emit=ir", "-o", "-"]).stdout
            for op in r"convolve\(", r"reduce_window\(", r"convolve_lanes\(", r"convolve_(packed|winograd)\(":
                lines = [line for line in text.splitlines() if re.search(op, line)]
                assert len(lines) >= len(re.findall(op, one)) and (op.endswith("winograd)\\(") or len(lines) == len(re.findall(op, one))), (form, target, op)
                assert all("schedule=" in line for line in lines) or op == r"convolve\(", (form, target, lines)


def test_texts(tmp_path):
    """a dump with schedules reads back, and gives the same loops"""
    def loops(model, *options):
        done = dnncc.run([dnncc.DNNCC, model, *options, "--target=x86-64-v3", "--emit=loops", "-o", "-"])
        assert done.returncode == 0, done.stderr
        return [line for line in done.stdout.splitlines() if not line.startswith("program ")]
    model = Images("squares").save(tmp_path / "m.onnx")
    dnncc.run([dnncc.DNNCC, model, "--dim=N=1..9", "--target=x86-64-v3", "--emit=ir", "-o", tmp_path / "m.ir"])
    assert loops(tmp_path / "m.ir") == loops(model, "--dim=N=1..9")
