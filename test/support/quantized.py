# SPDX-License-Identifier: MIT
"""References of quantized arithmetic in numpy, exact: integer sums, and floats rounded where the rule says.

The rule of rounding. A quantized value is (q - zero) * scale. A contraction of such, between dequantizations and a quantization, is

    s = exact i32 sum of products, zero points taken off, with the i32 bias added
    y = saturate(rne(f32(s) * m) + zero),        m = f32(f32(sx * sw) / sy), of each channel

where rne rounds half to even and all of it is f32. What bounds the result before it is quantized (Relu, Clip) bounds f32(s) * m by
f32(bound / sy). Any other operation is on floats as the graph has them: each operand decoded, f32(f32(q - zero) * scale), the result
encoded, saturate(rne(f32(x / scale)) + zero)."""
import functools

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

F32, I64 = np.float32, np.int64


def numbers(r, shape, t):
    """all that the type holds, its ends among them"""
    i = np.iinfo(t)
    x = r.integers(i.min, i.max, shape, endpoint=True).astype(t)
    return np.where(r.random(shape) < 0.1, r.choice([i.min, i.max], shape), x).astype(t)


def ends(r, t, shape=()):
    """a zero point: the ends of the type, its middle, or anything"""
    i = np.iinfo(t)
    return np.array(r.choice([i.min, i.max, (i.min + i.max + 1) // 2, r.integers(i.min, i.max)], shape), t)


def wide(x, zero):
    return x.astype(I64) - (0 if zero is None else zero.astype(I64))


def saturate(real, zero, t):
    """rne(real) + zero as t"""
    i = np.iinfo(t)
    return np.clip(np.rint(real.astype(F32)).astype(np.float64) + float(zero), i.min, i.max).astype(t)


def decode(q, scale, zero):
    return wide(q, zero).astype(F32) * F32(scale)


def encode(real, scale, zero, t):
    return saturate(real.astype(F32) / F32(scale), zero, t)


def requantize(s, m, zero, t, low=None, high=None):
    """the rule, of sums s; m broadcasts to them; bounds are of f32(s) * m"""
    assert np.abs(s).max(initial=0) < 2 ** 31
    real = s.astype(np.int32).astype(F32) * np.asarray(m, F32)
    real = real if low is None else np.maximum(real, F32(low))
    return saturate(real if high is None else np.minimum(real, F32(high)), zero, t)


def convolve(x, w, strides, dilations, pads, groups):
    """exact sums of x [N, C, H, W] by w [M, C / groups, h, w], zeros around it"""
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    out = [(x.shape[2 + d] - (w.shape[2 + d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in range(2)]
    y = np.zeros((x.shape[0], w.shape[0], *out), I64)
    each, m = w.shape[1], w.shape[0] // groups
    for g in range(groups):
        for i in range(w.shape[2]):
            for j in range(w.shape[3]):
                rows = slice(i * dilations[0], i * dilations[0] + (out[0] - 1) * strides[0] + 1, strides[0])
                columns = slice(j * dilations[1], j * dilations[1] + (out[1] - 1) * strides[1] + 1, strides[1])
                part = x[:, g * each:(g + 1) * each, rows, columns]
                y[:, g * m:(g + 1) * m] += np.einsum("nchw,mc->nmhw", part, w[g * m:(g + 1) * m, :, i, j])
    return y


@functools.lru_cache(None)
def onnxruntime_saturates():
    """whether its sums of u8 times i8 do, as on x86 processors without VNNI, where pairs of products are added in 16 bits (vpmaddubsw)"""
    a, b = np.full((1, 64), 255, np.uint8), np.full((64, 16), 127, np.int8)
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "g", [helper.make_tensor_value_info("a", TensorProto.UINT8, a.shape)],
                              [onnx.ValueInfoProto(name="y")], [numpy_helper.from_array(b, "b")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bool(np.any(onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"a": a})[0] != 64 * 255 * 127))
