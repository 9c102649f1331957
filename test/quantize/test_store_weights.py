# SPDX-License-Identifier: MIT
"""Weights in floats of fewer bits (--quantize-weights=f16, bf16, f8e4m3, f8e5m2): what is stored is what numpy and ml_dtypes round to, to
the bit, on every target; and what does not fit stays."""
import pathlib
import re
import sys

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

F32 = np.float32
TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}
TARGETS = ["generic", "x86-64", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "aarch64"]


def rounded(w, kind, axis):
    """The weights that stay; axis: those of the dimensions that share a step."""
    narrow = TYPES[kind]
    if not kind.startswith("f8"):
        return w.astype(narrow).astype(F32)
    largest = np.float64(ml_dtypes.finfo(narrow).max)
    step = (np.abs(w).max(axis=axis, keepdims=True) / largest).astype(F32)
    step[step < np.finfo(F32).tiny] = 1
    units = np.clip(w.astype(np.float64) / step, -largest, largest).astype(F32)
    return units.astype(narrow).astype(F32), step


def save(folder, nodes, inputs, outputs, weights):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
                              [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs],
                              [numpy_helper.from_array(w, n) for n, w in weights.items()])
    path = folder / "given.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return path


def run(model, folder, target, inputs, *options):
    folder.mkdir(exist_ok=True)
    done = dnncc.compile_model(model, folder, [f"--target={target}", *options])
    program = dnncc.build_host(folder, ["-O1"], emulator=processor.emulator(target))
    return dnncc.run_host(program, inputs), done.stderr


def numbers(r, shape):
    """of all sizes, both zeros and subnormal numbers among them"""
    w = (r.standard_normal(shape) * np.exp2(r.integers(-24, 3, shape))).astype(F32)
    w.flat[::37] = 0
    w.flat[1::41] = -0.0
    w.flat[2::43] = 6e-8 * np.sign(w.flat[2::43])
    return w


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.sample(4)
def test_each_weight(kind, target, tmp_path):
    """rows of the unit matrix times w: every weight as it is stored"""
    processor.require(target)
    w = numbers(np.random.default_rng(2), (40, 64))
    model = save(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, [40, 40])], [("y", [40, 64])], {"w": w})
    (got,), _ = run(model, tmp_path / "out", target, [np.eye(40, dtype=F32)], f"--quantize-weights={kind}")
    want = rounded(w, kind, 0)
    want = want[0] * want[1] if kind.startswith("f8") else want
    np.testing.assert_array_equal(got, want + F32(0))


@pytest.mark.parametrize("kind, codes", [("f8e4m3", (0x7f, 0xff)), ("f8e5m2", (0x7c, 0x7d, 0xff))])
def test_codes_that_are_not_finite(kind, codes, tmp_path):
    """a model's own weights decode as their type says, on every target; a text of packed ones, whose kernels know none, is refused"""
    narrow, r = TYPES[kind], np.random.default_rng(3)
    w = r.integers(0, 0x78, (64, 48)).astype(np.uint8)
    for i, code in enumerate(codes):
        w[7 * i, 5 * i] = code
    onnx_type = TensorProto.FLOAT8E4M3FN if kind == "f8e4m3" else TensorProto.FLOAT8E5M2
    graph = helper.make_graph([helper.make_node("Cast", ["w"], ["f"], to=TensorProto.FLOAT), helper.make_node("MatMul", ["x", "f"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 48])],
                              [helper.make_tensor("w", onnx_type, [64, 48], w.tobytes(), raw=True)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), tmp_path / "m.onnx")
    x = np.eye(64, dtype=F32)
    with np.errstate(invalid="ignore"):
        want = x @ w.view(narrow).astype(F32)       # 0 times NaN, too
    for target in ("generic", "x86-64-v3"):
        processor.require(target)
        (got,), _ = run(tmp_path / "m.onnx", tmp_path / target, target, [x])
        np.testing.assert_array_equal(got, want)
    floats = save(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, [64, 64])], [("y", [64, 48])],
                  {"w": r.standard_normal((64, 48)).astype(F32)})
    done = dnncc.run([dnncc.DNNCC, floats, f"--quantize-weights={kind}", "--target=x86-64-v3", "--emit=ir", "-o", "-",
                      "--passes=simplify,fold,cse,dce,store_weights,precision,layout,cse,dce"])
    assert done.returncode == 0 and "convolve_packed" in done.stdout, done.stderr
    text = tmp_path / "packed.dnn"
    text.write_text(done.stdout)
    again = [dnncc.DNNCC, text, "--target=x86-64-v3", "--emit=ir", "--passes=dce", "-o", "-"]
    assert dnncc.run(again).returncode == 0
    for code in codes:
        written, count = re.subn(rf'(x {kind}[a-z]*> = hex ")..', rf"\g<1>{code:02x}", done.stdout)
        assert count == 1
        text.write_text(written)
        refused = dnncc.run(again)
        assert refused.returncode == dnncc.INVALID and re.search("its weights are f8e.*none is infinite or NaN", refused.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("rows", [1, 3, 32])
@pytest.mark.parametrize("target", ["generic", pytest.param("x86-64", marks=pytest.mark.long), "x86-64-v3",
                                    pytest.param("x86-64-v4-bf16", marks=pytest.mark.long), "aarch64"])
@pytest.mark.sample(6)
def test_products(kind, rows, target, tmp_path):
    """a table that is gathered from and multiplied by, as the first and last layer of a language model are one"""
    processor.require(target)
    r = np.random.default_rng(rows)
    table, other = (r.standard_normal(s).astype(F32) for s in ((96, 72), (72, 72)))
    nodes = [helper.make_node("Gather", ["table", "i"], ["rows"]), helper.make_node("MatMul", ["rows", "other"], ["h"]),
             helper.make_node("Transpose", ["table"], ["t"], perm=[1, 0]), helper.make_node("MatMul", ["h", "t"], ["y"])]
    model = save(tmp_path, nodes, [("i", TensorProto.INT64, [rows])], [("y", [rows, 96])], {"table": table, "other": other})
    i = r.integers(0, 96, rows)
    (got,), _ = run(model, tmp_path / "out", target, [i], f"--quantize-weights={kind}")
    table, other = (a[0] * a[1] if isinstance(a, tuple) else a for a in (rounded(table, kind, 1), rounded(other, kind, 0)))
    want = table.astype(np.float64)[i] @ other @ table.T
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5 * np.abs(want).max())


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("target", ["generic", "x86-64-v3", pytest.param("x86-64-v4-bf16", marks=pytest.mark.long), "aarch64"])
@pytest.mark.parametrize("attributes", [{"pads": [1, 1, 1, 1]}, {"strides": [2, 2]}, {"group": 2}], ids=["winograd", "strides", "groups"])
@pytest.mark.sample(24, each=False)
def test_convolutions(kind, target, attributes, tmp_path):
    processor.require(target)
    r = np.random.default_rng(7)
    groups = attributes.get("group", 1)
    x, w = r.standard_normal((1, 64, 48, 48)).astype(F32), r.standard_normal((64, 64 // groups, 3, 3)).astype(F32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], **attributes)
    model = save(tmp_path, [node], [("x", TensorProto.FLOAT, list(x.shape))], [("y", [1, 64, None, None])], {"w": w})
    (got,), said = run(model, tmp_path / "out", target, [x], f"--quantize-weights={kind}", "--limit", "winograd_percent=2000", "--stats")
    assert ("winograd   1 rewrites" in said) == ("pads" in attributes and target not in ("generic",)), said
    kept = rounded(w, kind, (1, 2, 3))
    exact = save(tmp_path, [node], [("x", TensorProto.FLOAT, list(x.shape))], [("y", [1, 64, None, None])],
                 {"w": kept[0] * kept[1] if kind.startswith("f8") else kept})
    (want,), _ = run(exact, tmp_path / "exact", "generic", [x])
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=3e-5 * np.abs(want).max())


@pytest.mark.parametrize("kind,value,why", [("f16", 65520, "one of them is too large"), ("f8e4m3", np.inf, "they are not all finite"),
                                            ("f8e5m2", np.nan, "they are not all finite"), ("bf16", 3.4e38, "one of them is too large")])
def test_stays(kind, value, why, tmp_path):
    w = np.ones((64, 64), F32)
    w[5, 7] = value
    model = save(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"], name="layer")], [("x", TensorProto.FLOAT, [64, 64])],
                 [("y", [64, 64])], {"w": w})
    (got,), said = run(model, tmp_path / "out", "x86-64-v3", [np.eye(64, dtype=F32)], f"--quantize-weights={kind}", "-v")
    assert f"weights of layer (dot) stay as they are: {why}" in said
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, np.eye(64, dtype=F32) @ w)


@pytest.mark.parametrize("value", [65504, 65519, np.inf, np.nan])
def test_kept_in_f16(value, tmp_path):
    w = np.ones((64, 64), F32)
    w[5, 7] = value
    model = save(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, [1, 64])], [("y", [1, 64])], {"w": w})
    x = np.zeros((1, 64), F32)
    x[0, 5] = 1
    with np.errstate(all="ignore"):
        (got,), said = run(model, tmp_path / "out", "x86-64-v3", [x], "--quantize-weights=f16", "-v")
        np.testing.assert_array_equal(got, x @ w.astype(np.float16).astype(F32))
    assert "stay" not in said


@pytest.mark.parametrize("kind,bytes", [("f16", 2), ("bf16", 2), ("f8e4m3", 1), ("f8e5m2", 1)])
@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
@pytest.mark.sample(4)
def test_bytes(kind, bytes, target, tmp_path):
    """the file of weights is as small"""
    w = np.random.default_rng(1).standard_normal((256, 256)).astype(F32)
    model = save(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, [1, 256])], [("y", [1, 256])], {"w": w})
    dnncc.compile_model(model, tmp_path, [f"--quantize-weights={kind}", f"--target={target}", "--weights=file"])
    assert abs((tmp_path / "model.weights").stat().st_size - 256 * 256 * bytes) <= 128          # steps are few, and stand in the code


@pytest.mark.parametrize("named", ["second", "last"])
def test_keep_float(named, tmp_path):
    r = np.random.default_rng(1)
    weights = {n: r.standard_normal((64, 64)).astype(F32) for n in "ab"}
    nodes = [helper.make_node("MatMul", ["x", "a"], ["h"], name="head"), helper.make_node("Relu", ["h"], ["g"]),
             helper.make_node("MatMul", ["g", "b"], ["y"], name="second")]
    model = save(tmp_path, nodes, [("x", TensorProto.FLOAT, [1, 64])], [("y", [1, 64])], weights)
    done = dnncc.compile_model(model, tmp_path, ["--quantize-weights=f16", f"--keep-float={named}", "-v", "--stats"])
    assert "weights of second (dot) stay as they are: --keep-float says so" in done.stderr
    assert "1 of 2 constants" in done.stderr


@pytest.mark.parametrize("kind", [TensorProto.FLOAT16, TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2])
@pytest.mark.parametrize("special", [False, True])
def test_models_own(kind, special, tmp_path):
    """a model that comes with narrow weights is multiplied as it is; NaN and what is infinite come through"""
    narrow = {TensorProto.FLOAT16: np.float16, TensorProto.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
              TensorProto.FLOAT8E5M2: ml_dtypes.float8_e5m2}[kind]
    w = np.random.default_rng(1).standard_normal((64, 256)).astype(narrow)
    if special:
        w[3, 5] = np.nan
        if kind != TensorProto.FLOAT8E4M3FN:
            w[4, 6] = np.inf
    tensor = helper.make_tensor("w", kind, w.shape, w.tobytes(), raw=True)
    graph = helper.make_graph([helper.make_node("Cast", ["w"], ["v"], to=TensorProto.FLOAT), helper.make_node("MatMul", ["x", "v"], ["y"])],
                              "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 256])], [tensor])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), tmp_path / "given.onnx")
    x = np.random.default_rng(2).standard_normal((1, 64)).astype(F32)
    with np.errstate(all="ignore"):
        (got,), _ = run(tmp_path / "given.onnx", tmp_path / "out", "x86-64-v3", [x])
        want = x.astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [TensorProto.FLOAT16, TensorProto.FLOAT8E4M3FN])
def test_models_own_depthwise(kind, tmp_path):
    """such a convolution is no packed one, and reads f32"""
    narrow = {TensorProto.FLOAT16: np.float16, TensorProto.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn}[kind]
    w = np.random.default_rng(1).standard_normal((64, 1, 3, 3)).astype(narrow)
    x = np.random.default_rng(2).standard_normal((1, 64, 12, 12)).astype(F32)
    conv = helper.make_node("Conv", ["x", "v"], ["y"], group=64)
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(x.shape))], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph([helper.make_node("Cast", ["w"], ["v"], to=TensorProto.FLOAT), conv], "g", *ports,
                              [helper.make_tensor("w", kind, w.shape, w.tobytes(), raw=True)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), tmp_path / "given.onnx")
    (got,), _ = run(tmp_path / "given.onnx", tmp_path / "out", "x86-64-v3", [x])
    wide = w.astype(F32)
    want = sum(x[:, :, i:i + 10, j:j + 10] * wide[:, 0, i, j][None, :, None, None] for i in range(3) for j in range(3))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
