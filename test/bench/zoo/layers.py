# SPDX-License-Identifier: MIT
"""Layers as exporters write them, on a Graph."""
import math

import numpy as np


def sides(value):
    return value if isinstance(value, tuple) else (value, value)


def convolve(g, x, name, out, kernel, stride=1, pad=None, groups=1, bias=False, gain=2.0):
    """He-initialised; pad: of both sides, default: as much as keeps the extent"""
    kernel, stride = sides(kernel), sides(stride)
    pad = tuple(k // 2 for k in kernel) if pad is None else sides(pad)
    shape = (out, x.shape[1] // groups, *kernel)
    operands = [g.normal(f"{name}.weight", shape, math.sqrt(gain / math.prod(shape[1:])))]
    if bias:
        operands.append(g.normal(f"{name}.bias", out, 0.05))
    return g.op("Conv", x, *operands, name=name, kernel_shape=kernel, strides=stride, pads=pad * 2, group=groups)


def batch_norm(g, x, name, epsilon=1e-5):
    """Running mean and variance are those of this very x. A channel that hardly varies counts as if it did a little, lest
    another input be blown up."""
    axes = tuple(k for k in range(x.value.ndim) if k != 1)
    wide = x.value.astype(np.float64)
    mean, variance = wide.mean(axes), wide.var(axes)
    variance = np.maximum(variance, 0.1 * variance.mean() + 0.05 * mean ** 2)
    scale, shift = g.normal(f"{name}.weight", x.shape[1], 0.1, 1.0), g.normal(f"{name}.bias", x.shape[1], 0.1)
    running = [g.constant(v.astype(np.float32), f"{name}.{k}") for k, v in (("running_mean", mean), ("running_var", variance))]
    return g.op("BatchNormalization", x, scale, shift, *running, name=name, epsilon=epsilon)


def relu(g, x):
    return g.op("Relu", x)


def relu6(g, x):
    return g.op("Clip", x, g.scalar(0), g.scalar(6), name="relu6")


def silu(g, x):
    return g.op("Mul", x, g.op("Sigmoid", x), name="silu")


def convolve_norm(g, x, name, out, kernel, stride=1, pad=None, groups=1, act=relu, epsilon=1e-5):
    with g.scope(name):
        x = batch_norm(g, convolve(g, x, "conv", out, kernel, stride, pad, groups), "bn", epsilon)
        return act(g, x) if act else x


def max_pool(g, x, kernel, stride, pad=0, ceil=0):
    return g.op("MaxPool", x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, ceil_mode=ceil)


def average_pool(g, x, kernel, stride, pad=0):
    """torch counts the pads in"""
    return g.op("AveragePool", x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, count_include_pad=1)


def add(g, x, y):
    return g.op("Add", x, y)


def concat(g, *parts, axis=1):
    return g.op("Concat", *parts, axis=axis)


def dense(g, x, name, out, std=None):
    """a linear layer of rank 2, as exporters write it: Gemm with a transposed weight"""
    channels = x.shape[1]
    w = g.normal(f"{name}.weight", (out, channels), std or math.sqrt(2 / channels))
    return g.op("Gemm", x, w, g.normal(f"{name}.bias", out, 0.02), name=name, transB=1)


def classify(g, x, classes=1000):
    """the usual head: global average, flatten, linear"""
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    g.output(dense(g, x, "classifier", classes, math.sqrt(1 / x.shape[1])), "logits")


def linear(g, x, name, out, std=0.02):
    """a linear layer of any rank, as exporters write it: MatMul, then Add with the bias in front"""
    product = g.op("MatMul", x, g.normal(f"{name}.weight", (x.shape[-1], out), std), name=f"{name}.matmul")
    return g.op("Add", g.normal(f"{name}.bias", out, 0.02), product, name=name)


def norm_parameters(g, name, size):
    return g.normal(f"{name}.weight", size, 0.1, 1.0), g.normal(f"{name}.bias", size, 0.05)


def layer_norm(g, x, name, epsilon):
    """as written before there was an operator for it (opset 17)"""
    weight, bias = norm_parameters(g, name, x.shape[-1])
    with g.scope(name):
        centered = g.op("Sub", x, g.op("ReduceMean", x, axes=[-1]))
        variance = g.op("ReduceMean", g.op("Pow", centered, g.scalar(2)), axes=[-1])
        normal = g.op("Div", centered, g.op("Sqrt", g.op("Add", variance, g.scalar(epsilon))))
        return g.op("Add", g.op("Mul", normal, weight), bias)


def layer_norm_17(g, x, name, epsilon):
    return g.op("LayerNormalization", x, *norm_parameters(g, name, x.shape[-1]), name=name, axis=-1, epsilon=epsilon)


def gelu(g, x):
    """x * (1 + erf(x / sqrt 2)) / 2"""
    erf = g.op("Erf", g.op("Div", x, g.scalar(math.sqrt(2))))
    return g.op("Mul", g.op("Mul", x, g.op("Add", erf, g.scalar(1))), g.scalar(0.5), name="gelu")


def gelu_tanh(g, x):
    """x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2"""
    cube = g.op("Mul", g.op("Pow", x, g.scalar(3)), g.scalar(0.044715))
    tanh = g.op("Tanh", g.op("Mul", g.op("Add", x, cube), g.scalar(math.sqrt(2 / math.pi))))
    return g.op("Mul", g.op("Mul", x, g.scalar(0.5)), g.op("Add", tanh, g.scalar(1)), name="gelu")


def reshape(g, x, *shape):
    return g.op("Reshape", x, g.ints(*shape))


def transpose(g, x, *perm):
    return g.op("Transpose", x, perm=perm)


def split_heads(g, x, heads):
    """<batch x length x width> -> <batch x length x heads x width / heads>"""
    return reshape(g, x, *x.shape[:2], heads, x.shape[2] // heads)


def merge_heads(g, x):
    """<batch x heads x length x width> -> <batch x length x heads * width>"""
    batch, heads, length, width = x.shape
    return reshape(g, transpose(g, x, 0, 2, 1, 3), batch, length, heads * width)
