# SPDX-License-Identifier: MIT
"""Products of bytes against exact arithmetic: convolutions, depthwise ones and products of matrices with sums of i32, by every multiply
of bytes that a target has (ir/target/multiply.h). Operands are at the ends of their types, where sums of pairs are largest, or random; zero
points are at the ends, too; depths go from 1 to 4,608, extents leave tails everywhere."""
import pathlib
import random
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_schedule import BYTES  # noqa: E402
from test_strips import BACKWARDS  # noqa: E402

TYPES = {"u8": np.uint8, "i8": np.int8}


def numbers(r, shape, dtype, kind):
    info = np.iinfo(dtype)
    if kind == "random":
        return r.integers(info.min, info.max + 1, shape, dtype=dtype)
    return np.full(shape, {"most": info.max, "least": info.min}[kind], dtype)


def save(path, node, x, y, constants):
    value = helper.make_tensor_value_info
    graph = helper.make_graph([node], "g", [value("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
                              [value("y", TensorProto.INT32, y.shape)], [numpy_helper.from_array(np.asarray(c), n) for n, c in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def convolved(x, w, strides, dilations, pads, groups):
    """in i64; x and w without zero points, zeros around x"""
    x = np.pad(x.astype(np.int64), [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    outputs, channels, kh, kw = w.shape
    reach = [(k - 1) * d + 1 for k, d in zip((kh, kw), dilations)]
    rows, columns = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, strides)]
    y = np.zeros((x.shape[0], outputs, rows, columns), np.int64)
    per = outputs // groups
    for g in range(groups):
        part = x[:, g * channels:(g + 1) * channels]
        for i in range(kh):
            for j in range(kw):
                a = part[:, :, i * dilations[0]:, j * dilations[1]:][:, :, :(rows - 1) * strides[0] + 1:strides[0], :(columns - 1) * strides[1] + 1:strides[1]]
                y[:, g * per:(g + 1) * per] += np.einsum("nchw,oc->nohw", a, w[g * per:(g + 1) * per, :, i, j].astype(np.int64))
    return y


def check(path, x, expected, tmp_path, all_threads=False):
    expected = expected.astype(np.int64).astype(np.int32)         # sums wrap
    for target in processor.these(["generic", *BYTES]):
        for threads in (1, 3) if all_threads else (1,):
            folder = tmp_path / f"{target}{threads}"
            folder.mkdir()
            dnncc.compile_model(path, folder, [f"--target={target}", f"--threads={threads}"])
            if threads > 1:
                with open(folder / "model.c", "a") as file:
                    file.write(BACKWARDS)
            result = dnncc.run_host(dnncc.build_host(folder, ["-O1"]), [x])[0]
            np.testing.assert_array_equal(result, expected, err_msg=f"{target}, {threads} threads")
            if target == "generic":
                break


KERNELS = [(1, 1), (3, 3), (1, 5), (5, 2), (7, 7)]


def convolution(seed, path):
    """a random one, in the file; what it reads, what it should make of that"""
    r, n = random.Random(seed), np.random.default_rng(seed)
    kernel, strides, dilations = KERNELS[seed % len(KERNELS)], [r.choice([1, 1, 2]), r.choice([1, 1, 2])], [r.choice([1, 1, 2])] * 2
    groups = r.choice([1, 1, 1, 2, "depthwise"])
    per, outputs = r.choice([1, 3, 4, 16, 20, 64, 70]), r.choice([1, 5, 16, 33, 64, 100])
    if groups == "depthwise":
        groups, per, outputs = per * 3, 1, per * 3
    channels, outputs = groups * per, groups * -(-outputs // groups)
    pads = [r.choice([0, k // 2]) for k in kernel] * 2
    extent = [(k - 1) * d + 1 + r.randint(0, 11) for k, d in zip(kernel, dilations)]
    x_type, w_type = TYPES[r.choice(["u8", "u8", "i8"])], TYPES[r.choice(["i8", "i8", "u8"])]
    x = numbers(n, (r.choice([1, 2]), channels, *extent), x_type, r.choice(["random", "random", "most", "least"]))
    w = numbers(n, (outputs, per, *kernel), w_type, r.choice(["random", "random", "most", "least"]))
    x_info, w_info = np.iinfo(x_type), np.iinfo(w_type)
    zero_x = x_type(r.choice([0, x_info.min, x_info.max, 77]))
    zero_w = w_type(r.choice([0, 0, w_info.min, w_info.max]))
    expected = convolved(x.astype(np.int64) - int(zero_x), w.astype(np.int64) - int(zero_w), strides, dilations, pads, groups)
    node = helper.make_node("ConvInteger", ["x", "w", "zx", "zw"], ["y"], strides=strides, dilations=dilations, pads=pads, group=groups)
    save(path, node, x, expected, {"w": w, "zx": zero_x, "zw": zero_w})
    return x, expected


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.sample(8)
def test_convolutions(seed, tmp_path):
    x, expected = convolution(seed, tmp_path / "m.onnx")
    check(tmp_path / "m.onnx", x, expected, tmp_path, seed < 3)


def product(types, depth, path):
    """the same of matrices"""
    r, n = random.Random(depth), np.random.default_rng(depth)
    x_type, w_type = (TYPES[t] for t in types.split())
    rows, columns = r.choice([1, 4, 29]), r.choice([3, 16, 40, 130])
    x, w = numbers(n, (rows, depth), x_type, "random"), numbers(n, (depth, columns), w_type, "random")
    x[-1], w[:, 0], w[:, -1] = np.iinfo(x_type).max, np.iinfo(w_type).min, np.iinfo(w_type).max       # sums as large as they get
    zero_x, zero_w = x_type(r.choice([0, np.iinfo(x_type).max])), w_type(r.choice([0, np.iinfo(w_type).min]))
    expected = (x.astype(np.int64) - int(zero_x)) @ (w.astype(np.int64) - int(zero_w))
    save(path, helper.make_node("MatMulInteger", ["x", "w", "zx", "zw"], ["y"]), x, expected, {"w": w, "zx": zero_x, "zw": zero_w})
    return x, expected


@pytest.mark.parametrize("depth", [1, 3, 64, 101, 4608])
@pytest.mark.parametrize("types", ["u8 i8", "i8 i8", "u8 u8", "i8 u8"])
@pytest.mark.sample(8)
def test_products(types, depth, tmp_path):
    x, expected = product(types, depth, tmp_path / "m.onnx")
    check(tmp_path / "m.onnx", x, expected, tmp_path)


def test_all_pairs(tmp_path):
    """every byte by every byte, one product a sum"""
    for x_type, w_type in ((np.uint8, np.int8), (np.int8, np.uint8)):
        x = np.arange(256).astype(x_type).reshape(256, 1)
        w = np.arange(256).astype(w_type).reshape(1, 256)
        expected = x.astype(np.int64) @ w.astype(np.int64)
        folder = tmp_path / f"{np.dtype(x_type)}{np.dtype(w_type)}"
        folder.mkdir()
        save(folder / "m.onnx", helper.make_node("MatMulInteger", ["x", "w"], ["y"]), x, expected, {"w": w})
        check(folder / "m.onnx", x, expected, folder)


def test_zero_points_that_are_computed(tmp_path, rows=32, depth=64, outputs=96):
    """what they take out of sums is one number for each output: it is not stored for every row"""
    r = np.random.default_rng(3)
    w = onnx.numpy_helper.from_array(r.integers(-127, 128, (depth, outputs)).astype(np.int8), "w")
    nodes = [onnx.helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), onnx.helper.make_node("MatMulInteger", ["q", "w", "z"], ["n"]),
             onnx.helper.make_node("Cast", ["n"], ["f"], to=onnx.TensorProto.FLOAT), onnx.helper.make_node("Mul", ["f", "s"], ["y"])]
    port = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "g", [port("x", onnx.TensorProto.FLOAT, [rows, depth])],
                                   [port("y", onnx.TensorProto.FLOAT, [rows, outputs])], [w])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--target=x86-64-v4-vnni", "--emit=ir", "-o", tmp_path / "m.dnn"])
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "m.dnn").read_text()
    assert "convolve_packed" in text and not [line for line in text.splitlines() if "= mul(" in line and f"{rows} x {outputs} x i32" in line], text
