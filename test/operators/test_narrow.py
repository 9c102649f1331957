# SPDX-License-Identifier: MIT
"""Types that nothing computes in, exhaustively against ml_dtypes: every code to a number, and to every code the numbers that round to it,
halves between neighbours, what is too large, NaN; also as packed weights of a model, moved, and through a dump of each level."""
import pathlib
import sys

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

FLOATS = {T.FLOAT8E4M3FN: 8, T.FLOAT8E4M3FNUZ: 8, T.FLOAT8E5M2: 8, T.FLOAT8E5M2FNUZ: 8, T.FLOAT8E8M0: 8, T.FLOAT4E2M1: 4}
INTEGERS = {T.INT4: 4, T.UINT4: 4, T.INT2: 2, T.UINT2: 2}


def codes(kind, bits):
    return np.arange(1 << bits, dtype=np.uint8).view(dnncc.numpy_type(kind))


def model(nodes, inputs, outputs, constants=()):
    ports = [[helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in side] for side in (inputs, outputs)]
    return helper.make_model(helper.make_graph(nodes, "narrow", *ports, list(constants)),
                             opset_imports=[helper.make_opsetid("", 24)], ir_version=11)


def run(m, inputs, folder, options=()):
    onnx.save(m, folder / "m.onnx")
    dnncc.compile_model(folder / "m.onnx", folder, options)
    return dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), inputs)


def cast(kind, to, count, **attributes):
    return model([helper.make_node("Cast", ["x"], ["y"], to=to, **attributes)], [("x", kind, [count])], [("y", to, [count])])


@pytest.mark.parametrize("kind", [*FLOATS, *INTEGERS], ids=T.DataType.Name)
def test_every_code(kind, tmp_path):
    x = codes(kind, {**FLOATS, **INTEGERS}[kind])
    y, = run(cast(kind, T.FLOAT, len(x)), [x], tmp_path)
    np.testing.assert_array_equal(y, x.astype(np.float32))


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("kind", [k for k in FLOATS if k != T.FLOAT8E8M0], ids=T.DataType.Name)
def test_to_every_code(kind, saturate, tmp_path):
    dtype = np.dtype(dnncc.numpy_type(kind))
    known = codes(kind, FLOATS[kind]).astype(np.float32)
    known = np.sort(known[np.isfinite(known)])
    between = ((known[1:].astype(np.float64) + known[:-1]) / 2).astype(np.float32)
    limit = np.float32(ml_dtypes.finfo(dtype).max)
    x = np.concatenate([known, between, np.nextafter(between, np.float32(-np.inf)), np.nextafter(between, np.float32(np.inf)),
                        np.float32([1.03, 1.05, 1.07, 1.2, 4, 1e30, np.inf, -np.inf, np.nan]) * limit, np.float32([0, -0.0, 1e-30, -1e-30, 1e-45])])
    want = (np.clip(x, -limit, limit) if saturate and dtype.itemsize == 1 and FLOATS[kind] == 8 else x).astype(dtype)
    y, = run(cast(T.FLOAT, kind, len(x), saturate=saturate), [x], tmp_path)
    numbers = ~np.isnan(want.astype(np.float32))
    if FLOATS[kind] == 8:
        np.testing.assert_array_equal(np.isnan(y.astype(np.float32)), ~numbers)
    else:
        numbers &= ~np.isnan(x)         # there is no NaN: anything will do
    np.testing.assert_array_equal(y[numbers].view(np.uint8), want[numbers].view(np.uint8))


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("saturate", [0, 1])
def test_powers_of_two(mode, saturate, tmp_path):
    bits = np.arange(256, dtype=np.uint32)[:, None] << 23 | np.uint32([0, 1, 0x3fffff, 0x400000, 0x400001, 0x7fffff])
    x = bits.view(np.float32).ravel()
    y, = run(cast(T.FLOAT, T.FLOAT8E8M0, len(x), saturate=saturate, round_mode=mode), [x], tmp_path)
    np.testing.assert_array_equal(y.view(np.uint8), numpy_helper.to_float8e8m0(x, bool(saturate), mode).view(np.uint8))


@pytest.mark.parametrize("kind", INTEGERS, ids=T.DataType.Name)
def test_integers_wrap(kind, tmp_path):
    x = np.arange(-128, 128, dtype=np.int8)
    y, = run(cast(T.INT8, kind, len(x)), [x], tmp_path)
    bits = INTEGERS[kind]
    np.testing.assert_array_equal(y.astype(np.int32) % (1 << bits), x.astype(np.int32) % (1 << bits))


@pytest.mark.parametrize("kind", [T.INT4, T.UINT2, T.FLOAT4E2M1, T.FLOAT8E4M3FN], ids=T.DataType.Name)
@pytest.mark.parametrize("raw", [False, True])
def test_weights_and_dumps(kind, raw, tmp_path):
    """an odd number of packed weights; a transposed input of the type; the same C from the dumps of both levels"""
    r = np.random.default_rng(kind)
    bits = {**FLOATS, **INTEGERS}[kind]
    w, x = (codes(kind, bits)[r.integers(0, (1 << bits) - 1 - (bits == 8), shape)] for shape in [(3, 5), (5, 3)])
    w[w.astype(np.float32) != w.astype(np.float32)] = x[x.astype(np.float32) != x.astype(np.float32)] = 1
    weights = numpy_helper.from_array(w, "w") if raw else helper.make_tensor("w", kind, w.shape, w.astype(np.float32).ravel())
    m = model([helper.make_node("Transpose", ["x"], ["t"]), helper.make_node("Concat", ["w", "t"], ["moved"], axis=1),
               helper.make_node("DequantizeLinear", ["moved", "scale"], ["y"])],
              [("x", kind, [5, 3])], [("y", T.FLOAT, [3, 10]), ("moved", kind, [3, 10])],
              [weights, helper.make_tensor("scale", T.FLOAT, [], [0.5])])
    y, moved = run(m, [x], tmp_path)
    want = np.concatenate([w, x.T], axis=1)
    np.testing.assert_array_equal(y, want.astype(np.float32) * np.float32(0.5))
    np.testing.assert_array_equal(moved.astype(np.float32), want.astype(np.float32))
    code = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", "-", "--name=m"]).stdout
    for level, suffix in ("ir", "dnn"), ("loops", "loops"):
        dump = tmp_path / f"dump.{suffix}"
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", f"--emit={level}", "-o", dump])
        assert done.returncode == 0, done.stderr
        again = dnncc.run([dnncc.DNNCC, dump, "-o", "-", "--name=m"])
        assert again.returncode == 0, again.stderr
        assert without_head(again.stdout) == without_head(code)


def without_head(code):
    """kernels and what follows them: the head says which file it was made of"""
    assert "static KERNEL void" in code
    return code[code.index("static KERNEL void"):]


def test_type_rules(tmp_path):
    (tmp_path / "m.dnn").write_text('dnn 1\nmodule "m"\nfunc @main(%x "x": <3 x f8e5m2fnuz>) -> ("y") {\n  %0 = cast(%x) : <3 x f32>\n  yield(%0)\n}\n')
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "-o", "-"])
    assert done.returncode == dnncc.INVALID and "there is only bitcast" in done.stderr
