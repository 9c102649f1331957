# SPDX-License-Identifier: MIT
"""--quantize-weights and --quantize=dynamic of convolutions and of tables that rows are gathered from: against a statement of their own in
numpy, on several targets; what is written as ONNX, by onnxruntime."""
import pathlib
import re
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).resolve().parent)]
import dnncc  # noqa: E402
import roundtrip  # noqa: E402
from test_products import F32, NEAREST, Weights, nearest, outputs, product, rounded_rows  # noqa: E402

TYPES = ["s8", pytest.param("u8", marks=pytest.mark.long), "s4", pytest.param("u4:16", marks=pytest.mark.long), pytest.param("s8:32", marks=pytest.mark.long),
         pytest.param("u8:16", marks=pytest.mark.long)]
TARGETS = ["generic", "x86-64-v3"]
TIED = np.array([[0, 49, -1], [3, 3, 20]], np.int64)


def save(path, nodes, inputs, results, constants):
    kinds = {np.dtype(F32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}
    graph = helper.make_graph(nodes, "m", [helper.make_tensor_value_info(n, kinds[v.dtype], v.shape) for n, v in inputs.items()],
                              [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in results.items()],
                              [numpy_helper.from_array(v, n) for n, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def convolution(folder, groups=1, channels=10, outputs=24):
    """two images, one five times as large"""
    r = np.random.default_rng(3)
    w = (r.standard_normal((outputs, channels // groups, 3, 3)) / 9).astype(F32)
    b, x = r.standard_normal(outputs).astype(F32), r.standard_normal((2, channels, 7, 7)).astype(F32)
    x[1] *= 5
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], "conv", pads=[1] * 4, group=groups)
    return save(folder / "c.onnx", [node], {"x": x}, {"y": [2, outputs, 7, 7]}, {"w": w, "b": b}), w, b, x


def decoded(w, kind):
    numbers, scales, zeros = nearest(w.reshape(len(w), -1), kind)
    return ((numbers - zeros).astype(F32) * scales).reshape(w.shape)


def convolved(x, w, b, groups):
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x.astype(float), ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    parts = zip(np.split(windows, groups, 1), np.split(w.astype(float), groups))
    return np.concatenate([np.einsum("nchwij,ocij->nohw", v, own) for v, own in parts], 1) + b[:, None, None]


def written(path, folder, *options):
    """the model that is written, after onnx.checker, and onnxruntime's results of it"""
    file = roundtrip.emit(path, folder / "w.onnx", *options)
    onnx.checker.check_model(onnx.load(file), full_check=True)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(file), settings, providers=["CPUExecutionProvider"])
    return file, lambda x: session.run(None, {session.get_inputs()[0].name: x})[0]


@pytest.mark.parametrize("groups", [pytest.param(1, marks=pytest.mark.long), 2])
@pytest.mark.parametrize("kind", TYPES)
def test_convolution(kind, groups, tmp_path):
    path, w, b, x = convolution(tmp_path, groups)
    options = [f"--quantize-weights={kind}", NEAREST]
    expected = convolved(x, decoded(w, kind), b, groups)
    for target in TARGETS:
        np.testing.assert_allclose(outputs(path, tmp_path / target, x, *options, f"--target={target}"), expected, rtol=1e-4, atol=1e-5)
    file, run = written(path, tmp_path, *options)
    np.testing.assert_allclose(run(x), expected, rtol=1e-4, atol=1e-5)
    floats = sum(np.prod(i.dims) for i in onnx.load(file).graph.initializer if i.data_type == TensorProto.FLOAT and len(i.dims))
    assert floats < w.size / 4              # they are not in the file as they were


def test_dynamic_convolution(tmp_path):
    """one step for each image; the same whole numbers on every target"""
    path, w, b, x = convolution(tmp_path)
    numbers, sw, _ = nearest(w.reshape(len(w), -1), "s8")
    step = (np.abs(x).max((1, 2, 3)) / F32(127))[:, None, None, None]
    q = np.rint(x * (1 / step))
    sums = convolved(q, (numbers - 128).reshape(w.shape), np.zeros(len(w)), 1)
    expected = sums.astype(F32) * (step * sw[:, 0][:, None, None]) + b[:, None, None]
    for target in [*TARGETS, "x86-64-v4-vnni"]:
        folder = tmp_path / target
        folder.mkdir()
        dnncc.compile_model(path, folder, ["--quantize=dynamic", NEAREST, f"--target={target}"])
        if target != "x86-64-v4-vnni":
            np.testing.assert_allclose(dnncc.run_host(dnncc.build_host(folder, ["-O1"]), [x])[0], expected, rtol=1e-6, atol=1e-6)
    _, run = written(path, tmp_path, "--quantize=dynamic", NEAREST)
    np.testing.assert_allclose(run(x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", TYPES)
def test_table(kind, tmp_path):
    """rows by steps of their own; two gathers from one table have one table"""
    r = np.random.default_rng(5)
    t, i = r.standard_normal((50, 40)).astype(F32), TIED
    nodes = [helper.make_node("Sub", ["forty", "i"], ["k"]), helper.make_node("Gather", ["t", "i"], ["a"], "first"), helper.make_node("Gather", ["t", "k"], ["b"], "second"), helper.make_node("Add", ["a", "b"], ["y"])]
    path = save(tmp_path / "t.onnx", nodes, {"i": i}, {"y": [2, 3, 40]}, {"t": t, "forty": np.array(40, np.int64)})
    options, rows = [f"--quantize-weights={kind}", NEAREST], decoded(t, kind)
    expected = rows[i] + rows[40 - i]
    for target in TARGETS:
        np.testing.assert_allclose(outputs(path, tmp_path / target, i, *options, f"--target={target}"), expected, rtol=0, atol=1e-6)
    file, run = written(path, tmp_path, *options)
    np.testing.assert_allclose(run(i), expected, rtol=0, atol=1e-6)
    whole = [v for v in onnx.load(file).graph.initializer if v.data_type in (TensorProto.INT8, TensorProto.UINT8) and np.prod(v.dims) >= t.size // 2]
    assert len(whole) == 1 and file.stat().st_size < path.stat().st_size


def test_by_samples(tmp_path):
    """what gptq promises of products holds of convolutions: on the samples the result changes less"""
    path, w, b, x = convolution(tmp_path, channels=12)
    mix = np.random.default_rng(9).standard_normal((2, 12))
    many = np.einsum("ncij,cd->ndij", np.random.default_rng(8).standard_normal((20, 2, 7, 7)), mix).astype(F32)
    np.savez(tmp_path / "s.npz", x=many.reshape(10, 2, 12, 7, 7))
    x, loss = many[:2], []
    for k, more in enumerate((["--quantize-steps=-gptq"], [])):
        got = outputs(path, tmp_path / str(k), x, "--quantize-weights=s4", f"--calibrate={tmp_path / 's.npz'}", *more)
        loss.append(np.square(got - convolved(x, w, b, 1)).mean())
    assert loss[1] < loss[0] / 2


@pytest.mark.parametrize("options, reason", [
    (["--quantize=dynamic", "--quantize-weights=s4"], "with --quantize=dynamic weights of convolutions are s8"),
    (["--quantize=dynamic", "--quantize-weights=s8:16"], "with --quantize=dynamic weights of convolutions are s8"),
    (["--quantize=dynamic", "--quantize-weights=u8"], "with --quantize=dynamic weights of convolutions are s8"),
    (["--quantize-weights=s8", "--keep-float=conv"], "--keep-float says so"), (["--quantize-weights=s8", "--keep-float=first"], "it is the first one"),
    (["--quantize-weights=s8", "--limit=weight_elements=100000"], "it has few weights")])
def test_what_stays(options, reason, tmp_path):
    """is named, with the reason, and computes what it did"""
    path, w, b, x = convolution(tmp_path)
    done = dnncc.run([dnncc.DNNCC, path, *options, "-v", "-o", tmp_path / "c.c"])
    assert done.returncode == 0 and re.search(r"note: conv \(convolve\) stays in floats: " + reason, done.stderr), done.stderr
    np.testing.assert_allclose(outputs(path, tmp_path / "o", x, *options), convolved(x, w, b, 1), rtol=1e-4, atol=1e-5)


def test_depthwise_stays(tmp_path):
    path, *_ = convolution(tmp_path, groups=12, channels=12)
    done = dnncc.run([dnncc.DNNCC, path, "--quantize-weights=s8", "--limit=weight_elements=1", "-v", "-o", tmp_path / "c.c"])
    assert done.returncode == 0 and "stays in floats: it is depthwise, and has few weights" in done.stderr


# ---- odd numbers of them, and blocks that do not divide ----

ODD = 37                                # numbers of an output: two blocks of 16 and five, or one of 32 and five; a byte is half empty


@pytest.mark.parametrize("dynamic", [[], ["--quantize=dynamic"]], ids=["floats", "dynamic"])
@pytest.mark.parametrize("kind", ["s4", "u4", "s4:16", "u4:16", "s8:16"])
def test_odd_rows(kind, dynamic, tmp_path):
    """each number, scale and zero point is where numpy puts it, in the last block, too; and so are the results, on every target and in onnxruntime"""
    path, w, _ = product(tmp_path, (3, ODD))
    options = [f"--quantize-weights={kind}", NEAREST, "--limit=weight_elements=1", *dynamic]
    made = Weights(roundtrip.emit(path, tmp_path / "m2.onnx", *options))
    numbers, scales, zeros = nearest(w.T, kind)
    real = (numbers - zeros).astype(F32) * scales
    np.testing.assert_array_equal(made.decoded(), real)
    x = np.random.default_rng(4).standard_normal((3, ODD)).astype(F32)
    if dynamic:
        block = int(kind.partition(":")[2] or 32)
        q, steps = rounded_rows(x, block)
        expected = (q * steps) @ real.T.astype(float)
    else:
        expected = x @ real.T.astype(float)
    for target in TARGETS:
        np.testing.assert_allclose(outputs(path, tmp_path / target, x, *options, f"--target={target}"), expected, rtol=1e-4, atol=1e-4)
    if not dynamic:
        _, run = written(path, tmp_path, *options)
        np.testing.assert_allclose(run(x), expected, rtol=1e-4, atol=1e-4)


def test_odd_layers(tmp_path):
    """a convolution of 135 weights in 4 bits: 68 bytes of INT4, the last one half empty; results by onnxruntime, and read again by dnncc, are ours"""
    path, w, b, x = convolution(tmp_path, channels=3, outputs=5)
    np.savez(tmp_path / "s.npz", x=np.stack([x, x * F32(.5)]))
    options = ["--quantize", f"--calibrate={tmp_path / 's.npz'}", "--quantize-weights=s4", "--quantize-steps=-round,-correct"]
    ours = outputs(path, tmp_path / "ours", x, *options)
    file, run = written(path, tmp_path, *options)
    packed, = (i for i in onnx.load(file).graph.initializer if i.data_type == TensorProto.INT4)
    assert list(packed.dims) == [5, 3, 3, 3] and len(packed.raw_data) == 68 and packed.raw_data[-1] < 16
    scale = np.abs(w).reshape(5, -1).max(1).reshape(5, 1, 1, 1) / F32(7)
    np.testing.assert_array_equal(numpy_helper.to_array(packed).astype(int), np.rint(w.astype(float) / scale))
    np.testing.assert_allclose(run(x), ours, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(outputs(file, tmp_path / "again", x), ours)


def blocked(folder, count, block, scales, kind=TensorProto.INT4):
    """2 rows of so many numbers in blocks, each with so many scales, which x is added to"""
    r = np.random.default_rng(6)
    q, s = r.integers(-8, 8, (2, count)), r.uniform(.1, 1, (2, scales)).astype(F32)
    graph = helper.make_graph([helper.make_node("DequantizeLinear", ["q", "s"], ["d"], "decode", axis=1, block_size=block), helper.make_node("Add", ["x", "d"], ["y"])],
                              "m", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, count])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, count])],
                              [helper.make_tensor("q", kind, q.shape, q.ravel()), numpy_helper.from_array(s, "s")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "b.onnx")
    return folder / "b.onnx", q, s


@pytest.mark.parametrize("count, block", [(7, 3), (7, 4), (9, 2), (15, 16), (7, 1)])
def test_blocks_that_do_not_divide(count, block, tmp_path):
    """of an odd number of INT4: the last block is shorter"""
    path, q, s = blocked(tmp_path, count, block, -(-count // block))
    x = np.zeros((2, count), F32)
    expected = q * np.repeat(s, block, 1)[:, :count]
    for target in TARGETS:
        np.testing.assert_array_equal(outputs(path, tmp_path / target, x, f"--target={target}"), expected.astype(F32))


@pytest.mark.parametrize("scales", [2, 4])
def test_wrong_number_of_scales(scales, tmp_path):
    """too few or too many for blocks of 3 of 7: an error that names node and numbers"""
    path, *_ = blocked(tmp_path, 7, 3, scales)
    done = dnncc.run([dnncc.DNNCC, path, "-o", "-"])
    assert done.returncode == dnncc.INVALID and "decode" in done.stderr and str(scales) in done.stderr and done.stderr.count(": error: ") == 1, done.stderr
