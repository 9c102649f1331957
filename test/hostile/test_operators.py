# SPDX-License-Identifier: MIT
"""Operators with attributes and operands that no exporter writes: each must end in a clear error or a right result.

Every model here is built without the checker. E: exit 3 or 4 and one line; L: exit 3 naming a limit; A: it compiles, and the C is
clean; EA: either."""
import os
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

F, I64, I32, I8, U8, B = (getattr(TensorProto, t) for t in ("FLOAT", "INT64", "INT32", "INT8", "UINT8", "BOOL"))
BIG = 2 ** 62
MIN = -2 ** 63


def const(name, values, dtype=np.int64, shape=None):
    array = np.array(values, dtype=dtype)
    return numpy_helper.from_array(array.reshape(shape) if shape is not None else array, name)


def zeros(name, shape, dtype=np.float32):
    return numpy_helper.from_array(np.zeros(shape, dtype), name)


def node(op, inputs, domain="", outputs=("y",), **attributes):
    made = helper.make_node(op, list(inputs), list(outputs), "the_node", domain=domain)
    for name, given in attributes.items():
        made.attribute.append(given if isinstance(given, onnx.AttributeProto) else helper.make_attribute(name, given))
    return made


def case(verdict, title, op, x=(1, 1, 4, 4), extra=(), opset=17, kind=F, out=None, inputs=None, **attributes):
    """One node of `op` on a run-time input x and constants `extra`."""
    return verdict, title, op, x, list(extra), opset, kind, out, inputs, attributes


def w(*shape):
    return zeros("w", shape)


def u8(name, *shape):
    return zeros(name, shape, np.uint8)


def f32(name, *shape):
    return numpy_helper.from_array(np.ones(shape, np.float32), name)


def quantized(verdict, title, op, extra, kind=U8, **keywords):
    """one of com.microsoft"""
    return case(verdict, title, op, extra=extra, kind=kind, domain="com.microsoft", **keywords)


def changed(extra, **others):
    """the constants of these names are others; None: absent"""
    return [others.get(e.name, e) for e in extra if others.get(e.name, e) is not None]


SCALE, ZERO = f32("s"), u8("z")
QGEMM = [f32("sa"), u8("za"), u8("b", 3, 4), f32("sb"), u8("zb"), zeros("c", (4,), np.int32), f32("sy"), u8("zy")]
NBITS = [u8("b", 8, 2, 16), f32("s", 8, 2), u8("z", 8, 1)]
NBITS_ATTRIBUTES = dict(x=(4, 64), kind=F, K=64, N=8, bits=4, block_size=32)
TABLE = dict(x=(3,), kind=I64, inputs=["d", "x", "s", "z"])
TABLE_PARTS = [u8("d", 10, 16), f32("s", 10, 2), u8("z", 10, 1)]
ATTENTION = [u8("w", 8, 12), f32("b", 12), f32("si"), f32("sw")]
LSTM = [u8("w", 1, 3, 8), u8("r", 1, 2, 8), f32("sw", 1), u8("zw", 1), f32("sr", 1), u8("zr", 1)]
LSTM_INPUTS = dict(x=(5, 1, 3), inputs=["x", "w", "r", "", "", "", "", "", "sw", "zw", "sr", "zr"])

CONV = dict(op="Conv", extra=[w(1, 1, 3, 3)])
CASES = [
    # 53-58: convolution
    *[case("E", f"strides {s}", **CONV, strides=[s, 1]) for s in (0, -1)],
    case("EA", "strides 2^62", **CONV, strides=[BIG, 1]),
    *[case("E", f"dilations {d}", **CONV, dilations=[d, 1]) for d in (0, -1, BIG)],
    case("EA", "pads negative", **CONV, pads=[-1, 0, 0, 0]), case("E", "pads 2^62", **CONV, pads=[BIG, 0, 0, 0]),
    case("E", "pads 2^62 twice", **CONV, pads=[BIG, BIG, BIG, BIG]),
    case("E", "pads count", **CONV, pads=[1, 1, 1]), case("E", "strides count", **CONV, strides=[1]),
    case("E", "kernel_shape", **CONV, kernel_shape=[5, 5]), case("E", "kernel_shape count", **CONV, kernel_shape=[3]),
    case("E", "weight rank 5", "Conv", extra=[w(1, 1, 3, 3, 3)]), case("E", "weight rank 1", "Conv", extra=[w(3)]),
    *[case("E", f"group {g}", **CONV, group=g) for g in (0, 3, -1, BIG)],
    case("E", "channels", "Conv", extra=[w(1, 2, 3, 3)]),
    case("E", "kernel larger than the image", "Conv", extra=[w(1, 1, 9, 9)]),
    case("EA", "no output channels", "Conv", extra=[w(0, 1, 3, 3)]),
    case("E", "auto_pad unknown", **CONV, auto_pad="SOMEHOW"), case("E", "bias length", "Conv", extra=[w(1, 1, 3, 3), zeros("b", (7,))]),
    # 59: pooling
    case("E", "kernel 0", "MaxPool", kernel_shape=[0, 2]), case("EA", "pads >= kernel", "MaxPool", kernel_shape=[2, 2], pads=[2, 2, 2, 2]),
    case("E", "kernel missing", "MaxPool"), case("E", "kernel negative", "AveragePool", kernel_shape=[-2, 2]),
    case("E", "kernel 2^62", "AveragePool", kernel_shape=[BIG, 2]), case("E", "kernel count", "MaxPool", kernel_shape=[2]),
    # 60: Reshape
    *[case("E", f"to {s}", "Reshape", extra=[const("s", s)]) for s in
      ([-1, -1], [3, 5], [MIN, 1], [BIG, 4], [-2, 8], [0, 0, 0, 0, 0])],
    case("E", "0 with allowzero", "Reshape", extra=[const("s", [0, -1])], allowzero=1),
    case("E", "shape of rank 2", "Reshape", extra=[const("s", [[16]])]), case("E", "shape as float", "Reshape", extra=[const("s", [16], np.float32)]),
    # 61: Transpose
    case("E", "perm doubled", "Transpose", perm=[0, 0, 1, 2]), case("E", "perm out of range", "Transpose", perm=[0, 1, 2, 9]),
    case("E", "perm short", "Transpose", perm=[1, 0]), case("E", "perm negative", "Transpose", perm=[-1, 0, 1, 2]),
    # 62: indices
    case("E", "index 99 of a constant", "Gather", inputs=["k", "i"], extra=[zeros("k", (4,)), const("i", [99])]),
    case("EA", "index 99", "Gather", extra=[const("i", [99])], axis=2), case("EA", "index -99", "Gather", extra=[const("i", [-99])], axis=2),
    case("E", "axis 9", "Gather", extra=[const("i", [0])], axis=9), case("E", "float indices", "Gather", extra=[zeros("i", (1,))]),
    case("EA", "tuple out of range", "GatherND", extra=[const("i", [[0, 0, 9, 9]])]), case("E", "tuple too long", "GatherND", extra=[const("i", [[0, 0, 0, 0, 0]])]),
    # 63: Slice
    case("E", "step 0", "Slice", extra=[const("a", [0]), const("b", [2]), const("c", [2]), const("d", [0])]),
    case("EA", "extreme ends", "Slice", extra=[const("a", [MIN]), const("b", [2 ** 63 - 1]), const("c", [3])]),
    case("EA", "step INT64_MIN", "Slice", extra=[const("a", [3]), const("b", [MIN]), const("c", [3]), const("d", [MIN])]),
    case("E", "axes doubled", "Slice", extra=[const("a", [0, 0]), const("b", [2, 2]), const("c", [3, 3])]),
    case("E", "lengths differ", "Slice", extra=[const("a", [0]), const("b", [2, 2])]),
    case("E", "axis 7", "Slice", extra=[const("a", [0]), const("b", [1]), const("c", [7])]),
    # 64: axes
    *[case("E", f"axis {a}", op, axis=a) for op in ("Softmax", "Flatten", "LogSoftmax", "ArgMax", "Concat") for a in (7, MIN, -9)],
    case("E", "axes 9", "ReduceMean", axes=[9]), case("E", "axes doubled", "ReduceMax", axes=[1, 1]), case("E", "axes INT64_MIN", "ReduceMax", axes=[MIN]),
    case("E", "axes 9", "Squeeze", extra=[const("a", [9])]), case("E", "of extent 4", "Squeeze", extra=[const("a", [2])]),
    case("E", "axes 99", "Unsqueeze", extra=[const("a", [99])]), case("E", "axes doubled", "Unsqueeze", extra=[const("a", [0, 0])]),
    # 65: Split
    case("E", "sum", "Split", extra=[const("s", [1, 1])], axis=2, outputs=("y", "z")), case("E", "negative", "Split", extra=[const("s", [-1, 5])], axis=2, outputs=("y", "z")),
    case("E", "num_outputs 0", "Split", opset=18, axis=2, num_outputs=0), case("E", "num_outputs", "Split", opset=18, axis=2, num_outputs=9),
    # 66-67: too large
    case("L", "2^40", "ConstantOfShape", inputs=["s"], extra=[const("s", [2 ** 20, 2 ** 20])]), case("E", "-4", "ConstantOfShape", inputs=["s"], extra=[const("s", [-4])]),
    case("E", "2^62 x 4", "ConstantOfShape", inputs=["s"], extra=[const("s", [BIG, 4])]), case("E", "rank 99", "ConstantOfShape", inputs=["s"], extra=[const("s", [1] * 99)]),
    case("L", "2^40", "Expand", extra=[const("s", [2 ** 18, 2 ** 18, 4, 4])]), case("E", "negative", "Expand", extra=[const("s", [-3, 1, 4, 4])]),
    case("E", "2^63-1", "Tile", extra=[const("r", [2 ** 63 - 1, 1, 1, 1])]), case("E", "negative", "Tile", extra=[const("r", [-1, 1, 1, 1])]),
    case("L", "2^40", "Range", inputs=["a", "b", "c"], extra=[const("a", 0), const("b", 2 ** 40), const("c", 1)]),
    case("E", "2^62", "Range", inputs=["a", "b", "c"], extra=[const("a", 0), const("b", BIG), const("c", 1)]),
    case("E", "2^60", "Pad", extra=[const("p", [2 ** 60] * 8)]), case("E", "count", "Pad", extra=[const("p", [1] * 7)]),
    case("E", "crop beyond", "Pad", extra=[const("p", [0, 0, -3, 0, 0, 0, -3, 0])]),
    case("E", "mode", "Pad", extra=[const("p", [1] * 8)], mode="sideways"),
    # 68: Range
    case("E", "delta 0", "Range", inputs=["a", "b", "c"], extra=[const("a", 0), const("b", 9), const("c", 0)]),
    case("E", "delta NaN", "Range", inputs=["a", "b", "c"], extra=[const(n, v, np.float32) for n, v in (("a", 0), ("b", 9), ("c", np.nan))]),
    case("E", "delta 1e-300", "Range", inputs=["a", "b", "c"], extra=[const(n, v, np.float64) for n, v in (("a", 0), ("b", 9), ("c", 1e-300))]),
    # 70: folding
    *[case("EA", f"fold {op} of extremes", op, inputs=["k", "l"], extra=[const("k", [MIN, 1, 7]), const("l", [-1, 0, 0])]) for op in ("Div", "Mod")],
    case("EA", "fold Cast of NaN", "Cast", inputs=["k"], extra=[const("k", [np.nan, 1e30, -1e30], np.float32)], to=I32),
    case("EA", "fold Abs of INT64_MIN", "Abs", inputs=["k"], extra=[const("k", [MIN])]),
    case("EA", "fold shift 99", "BitShift", inputs=["k", "l"], extra=[const("k", [1], np.uint8), const("l", [99], np.uint8)], direction="LEFT"),
    case("E", "shift of signed", "BitShift", inputs=["k", "l"], extra=[const("k", [1]), const("l", [1])], direction="LEFT"),
    # 71
    *[case("E", f"block {b}", op, blocksize=b) for op in ("DepthToSpace", "SpaceToDepth") for b in (0, -2, 3, BIG)],
    # 72: BatchNormalization
    case("E", "lengths", "BatchNormalization", extra=[zeros(n, (3,)) for n in "abcd"]),
    case("A", "variance -1, epsilon 0", "BatchNormalization", extra=[zeros(n, (1,)) for n in "abc"] + [const("d", [-1], np.float32)], epsilon=0.0),
    # 73: quantisation
    case("E", "scale length", "QuantizeLinear", extra=[const("s", [1, 1, 1], np.float32), const("z", [0, 0, 0], np.int8)], axis=2),
    case("E", "zero point length", "QuantizeLinear", extra=[const("s", 1, np.float32), const("z", [0, 0], np.int8)]),
    case("E", "zero point of another type", "DequantizeLinear", kind=I8, extra=[const("s", 1, np.float32), const("z", 0, np.uint8)]),
    # quantized products
    quantized("A", "all", "QGemm", QGEMM, x=(2, 3)), quantized("E", "inner extents", "QGemm", QGEMM, x=(2, 5)),
    quantized("E", "of i32", "QGemm", QGEMM, x=(2, 3), kind=I32), quantized("E", "rank 3", "QGemm", QGEMM, x=(1, 2, 3)),
    quantized("E", "a_scale of two", "QGemm", changed(QGEMM, sa=f32("sa", 2)), x=(2, 3)), quantized("E", "b_scale of three", "QGemm", changed(QGEMM, sb=f32("sb", 3)), x=(2, 3)),
    quantized("E", "b_zero_point of i8", "QGemm", changed(QGEMM, zb=const("zb", 0, np.int8)), x=(2, 3)),
    quantized("E", "bias of f32", "QGemm", changed(QGEMM, c=f32("c", 4)), x=(2, 3)), quantized("E", "bias of five", "QGemm", changed(QGEMM, c=zeros("c", (5,), np.int32)), x=(2, 3)),
    quantized("E", "y_scale alone", "QGemm", QGEMM[:-1], x=(2, 3)), quantized("E", "y_zero_point of three", "QGemm", changed(QGEMM, zy=u8("zy", 3)), x=(2, 3)),
    quantized("EA", "alpha NaN", "QGemm", QGEMM, x=(2, 3), alpha=float("nan")), quantized("E", "beta", "QGemm", QGEMM, x=(2, 3), beta=1.0),
    quantized("E", "no scale", "QGemm", QGEMM, x=(2, 3), inputs=["x", "", "za", "b", "sb", "zb"]),
    quantized("E", "b_scale of three", "MatMulIntegerToFloat", [u8("b", 3, 4), f32("sa"), f32("sb", 3)], x=(2, 3)),
    quantized("E", "a_scale of columns", "MatMulIntegerToFloat", [u8("b", 3, 4), f32("sa", 3), f32("sb")], x=(2, 3)),
    quantized("E", "bias of rank 2", "MatMulIntegerToFloat", [u8("b", 3, 4), f32("sa"), f32("sb"), u8("za"), u8("zb"), f32("c", 2, 4)], x=(2, 3)),
    quantized("E", "of integers", "DynamicQuantizeMatMul", [u8("b", 3, 4), f32("sb")], x=(2, 3)), quantized("E", "inner extents", "DynamicQuantizeMatMul", [u8("b", 4, 4), f32("sb")], x=(2, 3), kind=F),
    quantized("EA", "of none", "DynamicQuantizeMatMul", [u8("b", 3, 4), f32("sb")], x=(0, 3), kind=F),
    # weights of few bits
    quantized("A", "all", "MatMulNBits", NBITS, **NBITS_ATTRIBUTES), *[quantized("E", f"{k} {v}", "MatMulNBits", NBITS, **{**NBITS_ATTRIBUTES, k: v}) for k, v in (
        ("bits", 3), ("bits", 0), ("bits", 16), ("block_size", 24), ("block_size", 8), ("block_size", 0), ("block_size", BIG), ("block_size", -32), ("K", 0), ("K", -64),
        ("K", 63), ("K", BIG), ("K", 2 ** 31 - 1), ("N", 7), ("N", 0), ("N", MIN), ("accuracy_level", 9), ("weight_prepacked", 1), ("kind", I32), ("x", (4, 63)), ("x", ()))],
    *[quantized("E", title, "MatMulNBits", changed(NBITS, **parts), **NBITS_ATTRIBUTES) for title, parts in {
        "weights of rank 2": dict(b=u8("b", 8, 32)), "weights of i8": dict(b=zeros("b", (8, 2, 16), np.int8)), "scales": dict(s=f32("s", 8, 3)), "scales of f16": dict(s=zeros("s", (8, 2), np.float16)),
        "zero points": dict(z=u8("z", 8, 2)), "zero points of i8": dict(z=zeros("z", (8, 1), np.int8)), "zero points of f32": dict(z=f32("z", 8, 1))}.items()],
    *[quantized("E", title, "MatMulNBits", [*NBITS, part], **NBITS_ATTRIBUTES) for title, part in (
        ("groups of f32", f32("g", 64)), ("63 groups", zeros("g", (63,), np.int32)), ("group 2", const("g", [2] * 64, np.int32)), ("group -1", const("g", [-1] * 64, np.int32)))],
    quantized("E", "bias of 7", "MatMulNBits", [*NBITS, f32("c", 7)], inputs=["x", "b", "s", "z", "", "c"], **NBITS_ATTRIBUTES),
    quantized("E", "no K", "MatMulNBits", NBITS, x=(4, 64), kind=F, N=8, block_size=32),
    quantized("A", "all", "GatherBlockQuantized", TABLE_PARTS, block_size=16, **TABLE), *[quantized("E", f"{k} {v}", "GatherBlockQuantized", TABLE_PARTS, **{**TABLE, "block_size": 16, k: v}) for k, v in (
        ("bits", 3), ("bits", 9), ("block_size", 0), ("block_size", 17), ("block_size", BIG), ("gather_axis", 2), ("gather_axis", 1), ("quantize_axis", 0), ("quantize_axis", MIN), ("kind", F), ("kind", U8))],
    *[quantized("E", title, "GatherBlockQuantized", changed(TABLE_PARTS, **parts), block_size=16, **TABLE) for title, parts in {
        "scales": dict(s=f32("s", 10, 3)), "scales for all": dict(s=f32("s", 1, 2)), "scales of rank 1": dict(s=f32("s", 20)), "scales of i8": dict(s=zeros("s", (10, 2), np.int8)), "scales of f64": dict(s=zeros("s", (10, 2), np.float64)),
        "zero points": dict(z=u8("z", 10, 2)), "zero points of i8": dict(z=zeros("z", (10, 1), np.int8)), "data of i8": dict(d=zeros("d", (10, 16), np.int8)), "data of rank 0": dict(d=u8("d"))}.items()],
    quantized("A", "index 99", "GatherBlockQuantized", [*TABLE_PARTS, const("i", [99, -99])], inputs=["d", "i", "s", "z"], block_size=16),
    # attention, recurrence
    quantized("A", "all", "QAttention", ATTENTION, x=(1, 2, 8), num_heads=2), *[quantized("E", f"{k} {v}", "QAttention", ATTENTION, **{"x": (1, 2, 8), "num_heads": 2, k: v}) for k, v in (
        ("num_heads", 0), ("num_heads", 3), ("num_heads", BIG), ("num_heads", -2), ("unidirectional", 2), ("do_rotary", 1), ("past_present_share_buffer", 1), ("x", (2, 8)), ("x", (1, 2, 7)), ("kind", F))],
    *[quantized("E", title, "QAttention", changed(ATTENTION, **parts), x=(1, 2, 8), num_heads=2) for title, parts in {
        "weights": dict(w=u8("w", 8, 13)), "no weights": dict(w=u8("w", 8, 0)), "bias": dict(b=f32("b", 11)), "scale of two": dict(si=f32("si", 2)), "scale of f16": dict(sw=zeros("sw", (), np.float16)),
        "weight scale": dict(sw=f32("sw", 5))}.items()],
    *[quantized("E", f"mask {m.name}", "QAttention", [*ATTENTION, m], x=(3, 2, 8), num_heads=2) for m in (zeros("of four", (4,), np.int32), zeros("of rank 2", (3, 3), np.int32), zeros("of rank 3", (3, 1, 2), np.int32),
                                                                                             zeros("of rank 4", (3, 1, 2, 2), np.int32), zeros("of rank 5", (1,) * 5, np.int32), zeros("of i64", (3,), np.int64))],
    *[quantized("E", f"past {p.name}", "QAttention", [*ATTENTION, p], x=(1, 2, 8), num_heads=2, inputs=["x", "w", "b", "si", "sw", "", "", "", p.name]) for p in (
        f32("of rank 4", 2, 1, 2, 3), f32("of three", 3, 1, 2, 3, 2), f32("heads", 2, 1, 3, 3, 2), zeros("of f16", (2, 1, 2, 3, 2), np.float16))],
    quantized("A", "all", "DynamicQuantizeLSTM", LSTM, kind=F, hidden_size=2, **LSTM_INPUTS), quantized("E", "hidden_size", "DynamicQuantizeLSTM", LSTM, kind=F, hidden_size=3, **LSTM_INPUTS),
    quantized("E", "layout", "DynamicQuantizeLSTM", LSTM, kind=F, layout=1, **LSTM_INPUTS), quantized("E", "no scales", "DynamicQuantizeLSTM", LSTM, kind=F, x=(5, 1, 3), inputs=["x", "w", "r"]),
    *[quantized("E", title, "DynamicQuantizeLSTM", changed(LSTM, **parts), kind=F, **LSTM_INPUTS) for title, parts in {
        "weights as of LSTM": dict(w=u8("w", 1, 8, 3)), "weights of f32": dict(w=f32("w", 1, 3, 8)), "scale": dict(sw=f32("sw", 2)), "scale of rank 0": dict(sr=f32("sr")), "zero point of i8": dict(zr=zeros("zr", (1,), np.int8)),
        "scales": dict(sw=f32("sw", 1, 7))}.items()],
    *[case(verdict, f"hidden_size {size}", op, x=(5, 1, 3), extra=[f32("w", 1, gates, 3), f32("r", 1, gates, hidden)], **({} if size is None else {"hidden_size": size}))
      for op, gates in (("RNN", 2), ("GRU", 6), ("LSTM", 8))
      for size, hidden, verdict in ((2, 2, "A"), (None, 2, "A"), (0, 2, "E"), (-2, 2, "E"), (BIG, 2, "E"), (3, 2, "E"), (None, 0, "E"))],
    # operators between quantizations
    quantized("A", "no zero points", "QLinearAdd", [SCALE, u8("b", 3), f32("t"), f32("u")], x=(2, 3), inputs=["x", "s", "", "b", "t", "", "u"]),
    quantized("E", "no scale", "QLinearAdd", [SCALE, u8("b", 3), f32("t"), f32("u")], x=(2, 3), inputs=["x", "s", "", "b", "", "", "u"]), quantized("E", "too few", "QLinearMul", [SCALE], x=(2, 3)),
    quantized("E", "mixed types", "QLinearAdd", [SCALE, ZERO, zeros("b", (3,), np.int8), f32("t"), zeros("y", (), np.int8), f32("u")], x=(2, 3)),
    quantized("E", "axes 9", "QLinearReduceMean", [SCALE, ZERO, f32("t")], x=(2, 3), axes=[9], keepdims=1), quantized("E", "keepdims 2", "QLinearReduceMean", [SCALE, ZERO, f32("t")], x=(2, 3), axes=[1], keepdims=2),
    quantized("E", "condition of u8", "QLinearWhere", [u8("a", 3), SCALE, ZERO, u8("b", 3), f32("t"), u8("v"), f32("u"), u8("w")], x=(3,)),
    quantized("E", "does not broadcast", "QLinearWhere", [u8("a", 3), SCALE, ZERO, u8("b", 2), f32("t"), u8("v"), f32("u"), u8("w")], x=(3,), kind=B),
    quantized("E", "channels_last 2", "QLinearConv", [SCALE, ZERO, u8("w", 1, 1, 3, 3), f32("t"), u8("v"), f32("u"), u8("y0")], channels_last=2),
    quantized("E", "channels last of rank 1", "QLinearConv", [SCALE, ZERO, u8("w", 1, 1, 3, 3), f32("t"), u8("v"), f32("u"), u8("y0")], x=(4,), channels_last=1),
    # 75: Resize
    *[case("E", f"scale {s}", "Resize", inputs=["x", "", "s"], extra=[const("s", [1, 1, s, 1], np.float32)]) for s in (0, -1, np.nan, np.inf)],
    case("E", "scale 1e30", "Resize", inputs=["x", "", "s"], extra=[const("s", [1, 1, 1e30, 1], np.float32)]),
    case("E", "scales and sizes", "Resize", inputs=["x", "", "s", "z"], extra=[const("s", [1, 1, 2, 2], np.float32), const("z", [1, 1, 8, 8])]),
    case("E", "neither", "Resize", inputs=["x"]), case("E", "sizes negative", "Resize", inputs=["x", "", "", "z"], extra=[const("z", [1, 1, -8, 8])]),
    case("E", "mode", "Resize", inputs=["x", "", "s"], extra=[const("s", [1, 1, 2, 2], np.float32)], mode="guess"),
    case("E", "scales count", "Resize", inputs=["x", "", "s"], extra=[const("s", [2, 2], np.float32)]),
    # 76: attributes
    case("E", "attribute of wrong type", "Softmax", axis="one"), case("E", "unknown attribute", "Relu", frobnicate=1),
    case("E", "twice", "Softmax", axis=1, axis2=helper.make_attribute("axis", 1)), case("E", "1e6 ints", "Transpose", perm=[0] * 1_000_000),
    case("E", "missing", "Cast"), case("E", "Cast to 99", "Cast", to=99), case("E", "Cast to -1", "Cast", to=-1), case("A", "Cast to string", "Cast", to=8),
    # 77
    case("E", "inner extents", "Gemm", x=(2, 3), extra=[zeros("b", (4, 5))]), case("E", "rank 3", "Gemm", x=(2, 3, 4), extra=[zeros("b", (4, 5))]),
    case("E", "by a scalar", "MatMul", x=(2, 3), extra=[zeros("b", ())]), case("E", "inner extents", "MatMul", x=(2, 3), extra=[zeros("b", (4, 5))]),
    case("E", "batch extents", "MatMul", x=(2, 2, 3), extra=[zeros("b", (5, 3, 4))]), case("E", "C does not broadcast", "Gemm", x=(2, 3), extra=[zeros("b", (3, 5)), zeros("c", (7,))]),
    case("E", "broadcast", "Add", x=(2, 3), extra=[zeros("b", (4,))]), case("E", "mixed types", "Add", extra=[const("b", [1])]),
    case("E", "mixed types", "Where", extra=[zeros("a", (1,)), zeros("b", (1,))]), case("E", "mixed types", "Concat", inputs=["x", "b"], extra=[const("b", [[[[1] * 4]]])], axis=2),
    case("E", "bool", "Add", kind=B, inputs=["x", "x"]), case("E", "of integers", "Exp", kind=I32), case("E", "of floats", "And", inputs=["x", "x"]),
    # 80
    case("EA", "over 0 elements", "Softmax", x=(2, 0), axis=1), case("EA", "of none", "ReduceMax", x=(2, 0), axes=[1]),
    case("EA", "windows in the padding", "AveragePool", kernel_shape=[2, 2], pads=[1, 1, 1, 1], strides=[5, 5]),
    # counts of operands
    case("E", "too few", "Add", inputs=["x"]), case("E", "too many", "Relu", inputs=["x", "x"]), case("E", "empty name", "Add", inputs=["x", ""]),
    case("E", "none", "Relu", inputs=[]), case("E", "rank 17", "Relu", x=(1,) * 17),
    case("E", "LRN size 0", "LRN", size=0), case("E", "LRN size 2^62", "LRN", size=BIG), case("EA", "LRN alpha NaN", "LRN", size=3, alpha=float("nan")),
    case("E", "LayerNormalization axis", "LayerNormalization", extra=[zeros("s", (4,))], axis=9),
    case("E", "LayerNormalization scale", "LayerNormalization", extra=[zeros("s", (7,))]),
    case("E", "PRelu slope", "PRelu", extra=[zeros("s", (7,))]), case("EA", "Clip without bounds", "Clip"),
    case("E", "Clip bound of rank 1", "Clip", extra=[zeros("s", (7,))]), case("E", "GlobalAveragePool of rank 1", "GlobalAveragePool", x=(4,)),
]


def save(path, op, x, extra, opset, kind, out, inputs, attributes):
    names = inputs if inputs is not None else ["x", *[e.name for e in extra]]
    attributes = dict(attributes)
    outputs, version = attributes.pop("outputs", ("y",)), attributes.pop("version", 1)
    graph = helper.make_graph([node(op, names, outputs=outputs, **attributes)], "g", [helper.make_tensor_value_info("x", kind, x)],
                              [onnx.ValueInfoProto(name=o) for o in outputs], extra)
    domains = [helper.make_opsetid("", opset), *([helper.make_opsetid(attributes["domain"], version)] if "domain" in attributes else [])]
    path.write_bytes(helper.make_model(graph, opset_imports=domains, ir_version=8).SerializeToString())


@pytest.mark.parametrize("verdict,title,op,x,extra,opset,kind,out,inputs,attributes", CASES,
                         ids=[f"{c[2]}-{c[1]}".replace(" ", "_") for c in CASES])
def test_operator(tmp_path, verdict, title, op, x, extra, opset, kind, out, inputs, attributes):
    save(tmp_path / "m.onnx", op, x, extra, opset, kind, out, inputs, attributes)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c"], timeout=60)
    assert done.returncode in (0, 3, 4), (done.returncode, done.stderr)
    if done.returncode == 0:
        assert verdict != "E" and verdict != "L", "accepted"
        for compiler in ("gcc", "clang"):
            built = dnncc.run([compiler, *dnncc.STRICT, "-O1", "-c", tmp_path / "m.c", "-o", tmp_path / "m.o"])
            assert built.returncode == 0, built.stderr
        return
    assert verdict != "A", done.stderr
    assert sorted(os.listdir(tmp_path)) == ["m.onnx"]
    assert done.stderr.count("\n") == 1 and "error: " in done.stderr, done.stderr
    if done.returncode == 3:
        assert "the_node" in done.stderr or "input 'x'" in done.stderr or "--limit" in done.stderr, done.stderr
    if verdict == "L":
        assert "--limit" in done.stderr, done.stderr


# operator: inputs; those that are scales; x and the constants. FINITE: any finite number may be one.
QCONV = dict(x=(1, 1, 4, 4), extra=[SCALE, ZERO, u8("w", 1, 1, 3, 3), f32("t", 1), u8("v", 1), f32("u"), u8("y0")])
QPRODUCT = dict(x=(2, 3), extra=[SCALE, ZERO, u8("b", 3, 4), f32("t"), u8("v"), f32("u"), u8("y0")])
QBINARY = dict(x=(2, 3), extra=[SCALE, ZERO, u8("b", 2, 3), f32("t"), u8("v"), f32("u"), u8("y0")])
QUNARY = dict(x=(1, 2, 4, 4), extra=[SCALE, ZERO, f32("t"), u8("v")])
MICROSOFT = dict(domain="com.microsoft")
SCALED = {
    "QuantizeLinear": ("s", dict(kind=F, extra=[f32("s", 4), u8("z", 4)], axis=3)), "DequantizeLinear": ("s", dict(extra=[f32("s", 4), u8("z", 4)], axis=3)),
    "QLinearConv": ("stu", QCONV), "QLinearMatMul": ("stu", QPRODUCT), "QGemm": (("sa", "sb", "sy"), dict(x=(2, 3), extra=QGEMM, **MICROSOFT)),
    "MatMulIntegerToFloat": (("sa", "sb"), dict(x=(2, 3), extra=[u8("b", 3, 4), f32("sa"), f32("sb", 4), u8("za"), u8("zb", 4)], **MICROSOFT)),
    "DynamicQuantizeMatMul": (("sb",), dict(x=(2, 3), kind=F, extra=[u8("b", 3, 4), f32("sb")], **MICROSOFT)),
    "QAttention": (("si", "sw"), dict(x=(1, 2, 8), extra=ATTENTION, num_heads=2, **MICROSOFT)),
    "DynamicQuantizeLSTM": (("sw", "sr"), dict(kind=F, extra=LSTM, **LSTM_INPUTS, **MICROSOFT)),
    **{op: ("stu", dict(**QBINARY, **MICROSOFT)) for op in ("QLinearAdd", "QLinearMul")},
    **{op: ("st", dict(**QUNARY, **MICROSOFT)) for op in ("QLinearSigmoid", "QLinearLeakyRelu", "QLinearGlobalAveragePool")},
    "QLinearSoftmax": ("st", dict(**QUNARY, of=helper.make_attribute("opset", 13), **MICROSOFT)), "QLinearReduceMean": ("st", dict(**QUNARY, axes=[1], keepdims=1, **MICROSOFT)),
    "QLinearAveragePool": ("st", dict(**QUNARY, kernel_shape=[2, 2], **MICROSOFT)),
    "QLinearWhere": ("stu", dict(x=(3,), kind=B, extra=[u8("a", 3), SCALE, ZERO, u8("b", 3), f32("t"), u8("v"), f32("u"), u8("y0")], **MICROSOFT)),
    "QLinearConcat": ("stu", dict(x=(2, 3), extra=[SCALE, ZERO, f32("t"), u8("v"), u8("b", 2, 3), f32("u"), u8("y0")], inputs=["s", "z", "x", "t", "v", "b", "u", "y0"],
                                  axis=0, **MICROSOFT)),
    "MatMulNBits": ("s", dict(extra=NBITS, **NBITS_ATTRIBUTES, **MICROSOFT)), "GatherBlockQuantized": ("s", dict(extra=TABLE_PARTS, block_size=16, **TABLE, **MICROSOFT)),
}
FINITE = {"MatMulNBits", "GatherBlockQuantized"}                # blocks of zeros have the scale 0, and some quantizers write negative ones


def scaled_by(path, op, scale, number):
    """exit code and text for the operator with this number in place of the last one of a scale"""
    _, parts = SCALED[op]
    arguments = dict(kind=U8, x=(1, 1, 4, 4))
    arguments.update(parts)
    array = next(numpy_helper.to_array(e) for e in parts["extra"] if e.name == scale).copy()
    array.flat[-1] = number
    arguments["extra"] = changed(parts["extra"], **{scale: numpy_helper.from_array(array, scale)})
    _, _, *built = case("", "", op, **arguments)
    save(path / "m.onnx", *built)
    done = dnncc.run([dnncc.DNNCC, path / "m.onnx", "-o", path / "m.c"])
    return done.returncode, done.stderr, array


@pytest.mark.parametrize("op", SCALED)
def test_scales(op, tmp_path):
    """a constant scale that is none, in each place that an operator has for one: an error that names node, operand and number"""
    inputs = [e.name for e in SCALED[op][1]["extra"]]
    names = SCALED[op][1].get("inputs") or ["x", *inputs]
    for scale in SCALED[op][0]:
        code, text, _ = scaled_by(tmp_path, op, scale, 0.5)
        assert code == 0, text
        for number, word in ((0, "0"), (-0.0, "-0"), (-0.5, "-0.5"), (np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf"), (1e-40, "1e-40")):
            code, text, array = scaled_by(tmp_path, op, scale, number)
            if op in FINITE and np.isfinite(number):
                assert code == 0, text
                continue
            place = f" as element {array.size - 1}" if array.size > 1 else ""
            assert code == 3 and text.count("\n") == 1, (scale, number, text)
            assert f"node 'the_node' ({op}): operand {names.index(scale)}, a scale, holds " in text and f"{place}, want a " in text, text
            assert float(text.split("holds ")[1].split(",")[0].split(" ")[0]) == np.float32(number) or word in text, text


def test_all_with_scales_are_here():
    table = (dnncc.ROOT / "front" / "onnx" / "onnx_scales.def").read_text()
    assert set(re.findall(r'^SCALED\("(\w+)"', table, re.M)) == {*SCALED, "ConvInteger", "MatMulInteger"}
    rows = (dnncc.ROOT / "front" / "onnx" / "onnx_ops.def").read_text()
    quantized = set(re.findall(r'"(\w*(?:QLinear|Quantize|QGemm|QAttention|NBits)\w*)"', rows))
    assert quantized - {"DynamicQuantizeLinear"} <= set(SCALED)


def test_scales_of_other_types(tmp_path):
    """small numbers of f16 are ordinary scales; what is not constant is not looked at; a zero point of i32 is 0"""
    for scale, kind, zero, code in ((const("s", 5e-6, np.float16), U8, const("z", 3, np.uint8), 0), (const("s", 0, np.float16), U8, const("z", 3, np.uint8), 3),
                                    (const("s", 0.5, np.float32), I32, const("z", 0, np.int32), 0), (const("s", 0.5, np.float32), I32, const("z", 7, np.int32), 3),
                                    (None, U8, const("z", 3, np.uint8), 0)):
        extra = [e for e in (scale, zero) if e is not None]
        _, _, op, x, extra, opset, kind, out, inputs, attributes = case("", "", "DequantizeLinear", x=(2, 3), kind=kind, extra=extra, opset=21, inputs=["x", "s", "z"])
        graph = helper.make_graph([node(op, inputs)], "g", [helper.make_tensor_value_info("x", kind, x), *([] if scale is not None else [helper.make_tensor_value_info("s", F, [])])],
                                  [onnx.ValueInfoProto(name="y")], extra)
        (tmp_path / "m.onnx").write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString())
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c"])
        assert done.returncode == code and ("the_node" in done.stderr or not code), (scale, done.stderr)


def test_doublings(tmp_path):
    """50 doublings of an input, and of a constant: a limit, not a crash, not a hang"""
    for start in ("x", "k"):
        nodes = [helper.make_node("Concat", [start if i == 0 else f"t{i - 1}"] * 2, [f"t{i}"], f"n{i}", axis=0) for i in range(50)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, [1024])], [onnx.ValueInfoProto(name="t49")],
                                  [zeros("k", (1024,))])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c"], timeout=20)
        assert done.returncode == 3 and "--limit" in done.stderr, done.stderr


def test_memory_stays_small(tmp_path):
    """a model that names 4 GiB tensors must not allocate them at compile time"""
    import resource
    save(tmp_path / "m.onnx", "Expand", (1, 1, 4, 4), [const("s", [2 ** 10, 2 ** 10, 4, 4])], 17, F, None, None, {})
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))  # noqa: E731
    if "asan" in dnncc.DNNCC:
        pytest.skip("the sanitizer reserves address space")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c"], preexec_fn=limit)
    assert done.returncode == 0, done.stderr
