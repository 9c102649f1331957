# SPDX-License-Identifier: MIT
"""Products by weights in few bits. Of few rows: the lanes of a warp share the nest of a sum, two products of the same rows are one kernel, and a norm
in front of them is computed by each of their blocks. Of many rows: blocks decode the weights where they would copy them."""
import re
import sys

import dnncc
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

sys.path.insert(0, str(dnncc.ROOT / "test" / "support"))
import cuda  # noqa: E402

SHARED = re.compile(r"let %t\d* : index")


class Layers:
    def __init__(self, rows, seed=0):
        self.rng, self.rows, self.nodes, self.constants = np.random.default_rng(seed), rows, [], []

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, op, inputs, output, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output] if isinstance(output, str) else output, domain=domain, **attributes))
        return output if isinstance(output, str) else output[0]

    def product(self, x, y, inner, outer, bits=4, block=32, zeros=False):
        blocks = -(-inner // block)
        weights = self.constant(self.rng.integers(0, 256, (outer, blocks, block * bits // 8), np.uint8))
        scales = self.constant((self.rng.random(outer * blocks, np.float32) + np.float32(.5)) * np.float32(.3 / inner ** .5))
        given = [x, weights, scales]
        if zeros:
            given.append(self.constant(self.rng.integers(0, 256, outer * -(-blocks * bits // 8), np.uint8)))
        return self.node("MatMulNBits", given, y, "com.microsoft", K=inner, N=outer, bits=bits, block_size=block, accuracy_level=1)

    def norm(self, x, y, width):
        return self.node("SimplifiedLayerNormalization", [x, self.constant(self.rng.random(width, np.float32) + np.float32(.5))], y, axis=-1, epsilon=1e-6)

    def gated(self, x, y, inner, outer):
        gate, up = (self.product(x, f"{y}.{name}", inner, outer) for name in ("gate", "up"))
        gate = self.node("Mul", [gate, self.node("Sigmoid", [gate], f"{y}.s")], f"{y}.a")
        return self.node("Mul", [gate, up], y)

    def save(self, path, width, result, columns):
        graph = helper.make_graph(self.nodes, "nests", [helper.make_tensor_value_info("x", T.FLOAT, [self.rows, width])],
                                  [helper.make_tensor_value_info(result, T.FLOAT, [self.rows, columns])], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10), path)
        return path


# rows, channels, outputs, bits, channels of a block, with zero points; whether lanes share the nest
PRODUCTS = {
    "blocks of 32": (1, 352, 40, 4, 32, False, True), "some are left": (2, 288, 33, 4, 32, True, True), "short blocks": (1, 512, 24, 4, 16, False, True),
    "long blocks": (3, 384, 20, 4, 128, True, True), "bytes": (1, 320, 24, 8, 32, False, True), "few channels": (1, 64, 600, 4, 32, False, False),
}


def test_products(tmp_path):
    """one program of all, against onnxruntime"""
    paths, given, wanted = [], {}, {}
    for i, (rows, inner, outer, bits, block, zeros, shared) in enumerate(PRODUCTS.values()):
        layers = Layers(rows, i)
        layers.product("x", "y", inner, outer, bits, block, zeros)
        path, name = layers.save(tmp_path / f"m{i}.onnx", inner, "y", outer), f"m{i}"
        text = dnncc.run([dnncc.DNNCC, path, "--target=cuda-sm_80", "--emit=loops", "-o", "-"]).stdout
        assert bool(SHARED.search(text)) == shared, list(PRODUCTS)[i]
        paths.append(cuda.compile_model(path, tmp_path, [], name=name))
        given[name] = [layers.rng.standard_normal((rows, inner), np.float32)]
        wanted[name] = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": given[name][0]})[0]
    for name, got in cuda.run(cuda.build(paths, tmp_path), given, tmp_path).items():
        assert not isinstance(got, cuda.Found), (name, got)
        np.testing.assert_allclose(got[0], wanted[name], 1e-5, 1e-5, err_msg=name)


# rows, channels, outputs, bits, channels of a block, with zero points, options; kernels, one of which may round the rows
MANY = {
    "one tile": (7, 96, 64, 4, 32, False, [], 1), "rounded": (19, 128, 96, 4, 16, True, ["--precision=f16"], 2), "several tiles": (150, 256, 32, 4, 128, True, ["--precision=bf16"], 2),
    "bytes": (16, 64, 160, 8, 32, False, ["--precision=f16"], 2),
}


def test_many_rows(tmp_path):
    """each product is one kernel, behind one that rounds its rows where they are rounded"""
    paths, given, wanted = [], {}, {}
    for i, (rows, inner, outer, bits, block, zeros, options, kernels) in enumerate(MANY.values()):
        layers = Layers(rows, i)
        layers.product("x", "y", inner, outer, bits, block, zeros)
        path, name = layers.save(tmp_path / f"m{i}.onnx", inner, "y", outer), f"m{i}"
        paths.append(cuda.compile_model(path, tmp_path, options, name=name, target="cuda-sm_90"))
        text = paths[-1].read_text()
        assert len(cuda.kernels(text)) == kernels and "mma" in text, list(MANY)[i]
        given[name] = [layers.rng.standard_normal((rows, inner), np.float32)]
        wanted[name] = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": given[name][0]})[0]
    for (name, got), (*_, options, _) in zip(cuda.run(cuda.build(paths, tmp_path, flags=cuda.CHECKED), given, tmp_path).items(), MANY.values(), strict=True):
        assert not isinstance(got, cuda.Found), (name, got)
        np.testing.assert_allclose(got[0], wanted[name], *((2e-2, 2e-2) if options else (1e-4, 1e-5)), err_msg=name)


def test_rows_that_a_run_gives(tmp_path):
    """--check: all passes leave the values; what is no multiple of a panel is decoded apart"""
    for outer, kernels in (64, 1), (70, 3):
        layers = Layers("N")
        layers.product("x", "y", 96, outer)
        path = layers.save(tmp_path / "m.onnx", 96, "y", outer)
        made = cuda.compile_model(path, tmp_path, ["--dim=N=1..40", "--check"], target="cuda-sm_90", name="model")
        assert len(cuda.kernels(made.read_text())) == kernels
        given = layers.rng.standard_normal((33, 96), np.float32)
        got = cuda.run(cuda.build([made], tmp_path), {"model": [given]}, tmp_path)["model"]
        assert not isinstance(got, cuda.Found), got
        wanted = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": given})[0]
        np.testing.assert_allclose(got[0], wanted, 1e-4, 1e-5)


def test_a_gated_layer(tmp_path):
    """two norms, gate and up, and the last product are two launches, by interpretation the same to the bit before and after: each block of a product
    computes the norm in front of it"""
    layers = Layers(1)
    x = layers.gated(layers.norm("x", "n", 96), "wide", 96, 160)
    layers.product(layers.norm(x, "m", 160), "y", 160, 48)
    path = layers.save(tmp_path / "m.onnx", 96, "y", 48)
    done = dnncc.run([dnncc.DNNCC, path, "--target=cuda-sm_90", "--check", "--stats", "-o", tmp_path / "checked.cu"])
    said = done.stdout + done.stderr
    assert done.returncode == dnncc.OK and "fuse_launches: equal" in said and "fuse: equal" in said, said
    assert re.search(r"stats: fuse_launches +2 rewrites", said), said
    made = cuda.compile_model(path, tmp_path, target="cuda-sm_90")
    assert len(cuda.kernels(made.read_text())) == 2
    given = layers.rng.standard_normal((1, 96), np.float32)
    got = cuda.run(cuda.build([made], tmp_path), {"model": [given]}, tmp_path)["model"]
    assert not isinstance(got, cuda.Found), got
    wanted = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": given})[0]
    np.testing.assert_allclose(got[0], wanted, 1e-4, 1e-5)


@pytest.mark.parametrize("rows", [1, 2])
def test_exact(rows, tmp_path):
    """--exact keeps the order of sums, in a lane each"""
    layers = Layers(rows)
    layers.gated("x", "y", 128, 24)
    path = layers.save(tmp_path / "m.onnx", 128, "y", 24)
    text = dnncc.run([dnncc.DNNCC, path, "--target=cuda-sm_80", "--exact", "--emit=loops", "-o", "-"]).stdout
    assert "gpu_lane" in text and not SHARED.search(text)
