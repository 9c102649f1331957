# SPDX-License-Identifier: MIT
"""Image classifiers, layer for layer as torchvision defines them, batch norms unfolded."""
import math

from .layers import (add, average_pool, batch_norm, classify, concat, convolve, convolve_norm, dense, max_pool, relu, relu6, silu)


def image(g):
    return g.inputs["image"]


# ---- ResNet (He et al. 2016); v1.5: the stride is on the 3x3 ----

def resnet_stem(g):
    return max_pool(g, convolve_norm(g, image(g), "conv1", 64, 7, 2), 3, 2, 1)


def residual_stages(g, x, blocks, expansion, body):
    for stage, count in enumerate(blocks):
        for block in range(count):
            width, stride = 64 << stage, 2 if stage and not block else 1
            with g.scope(f"layer{stage + 1}.{block}"):
                y = body(g, x, width, stride)
                if stride > 1 or x.shape[1] != width * expansion:
                    x = convolve_norm(g, x, "downsample", width * expansion, 1, stride, act=None)
                x = relu(g, add(g, y, x))
    return x


def basic(g, x, width, stride):
    return convolve_norm(g, convolve_norm(g, x, "1", width, 3, stride), "2", width, 3, act=None)


def bottleneck(g, x, width, stride):
    y = convolve_norm(g, convolve_norm(g, x, "1", width, 1), "2", width, 3, stride)
    return convolve_norm(g, y, "3", 4 * width, 1, act=None)


def resnet18(g):
    classify(g, residual_stages(g, resnet_stem(g), (2, 2, 2, 2), 1, basic))


def resnet50(g):
    classify(g, residual_stages(g, resnet_stem(g), (3, 4, 6, 3), 4, bottleneck))


# ---- MobileNetV2 (Sandler et al. 2018) ----

def inverted_residual(g, x, out, stride, expand):
    width, y = x.shape[1] * expand, x
    if expand > 1:
        y = convolve_norm(g, y, "expand", width, 1, act=relu6)
    y = convolve_norm(g, y, "depthwise", width, 3, stride, groups=width, act=relu6)
    y = convolve_norm(g, y, "project", out, 1, act=None)
    return add(g, x, y) if stride == 1 and x.shape[1] == out else y


def mobilenet_v2(g):
    x, number = convolve_norm(g, image(g), "stem", 32, 3, 2, act=relu6), 0
    for expand, out, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                       (6, 320, 1, 1)):
        for block in range(count):
            number += 1
            with g.scope(f"block{number}"):
                x = inverted_residual(g, x, out, 1 if block else stride, expand)
    classify(g, convolve_norm(g, x, "last", 1280, 1, act=relu6))


# ---- SqueezeNet 1.1 (Iandola et al. 2016) ----

def fire(g, x, number, squeeze, expand):
    with g.scope(f"fire{number}"):
        x = relu(g, convolve(g, x, "squeeze", squeeze, 1, bias=True))
        return concat(g, relu(g, convolve(g, x, "expand1x1", expand, 1, bias=True)), relu(g, convolve(g, x, "expand3x3", expand, 3, bias=True)))


def squeezenet(g):
    x = relu(g, convolve(g, image(g), "stem", 64, 3, 2, pad=0, bias=True))
    for number, (squeeze, expand) in enumerate(((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)), 2):
        if number in (2, 4, 6):
            x = max_pool(g, x, 3, 2, ceil=1)
        x = fire(g, x, number, squeeze, expand)
    x = relu(g, convolve(g, x, "classifier", 1000, 1, bias=True))
    g.output(g.op("Flatten", g.op("GlobalAveragePool", x), axis=1), "logits")


# ---- VGG-16 (Simonyan, Zisserman 2015) ----

def vgg16(g):
    x, number = image(g), 0
    for count, width in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
        for _ in range(count):
            number += 1
            x = relu(g, convolve(g, x, f"conv{number}", width, 3, bias=True))
        x = max_pool(g, x, 2, 2)
    x = g.op("Flatten", x, axis=1)
    x = relu(g, dense(g, relu(g, dense(g, x, "fc1", 4096)), "fc2", 4096))
    g.output(dense(g, x, "fc3", 1000), "logits")


# ---- DenseNet-121 (Huang et al. 2017): norm and ReLU come before the convolution ----

def norm_convolve(g, x, name, out, kernel):
    with g.scope(name):
        return convolve(g, relu(g, batch_norm(g, x, "bn")), "conv", out, kernel)


def densenet121(g):
    x = max_pool(g, convolve_norm(g, image(g), "stem", 64, 7, 2), 3, 2, 1)
    for stage, count in enumerate((6, 12, 24, 16), 1):
        features = [x]
        for layer in range(count):
            with g.scope(f"block{stage}.layer{layer + 1}"):
                y = concat(g, *features) if layer else x
                features.append(norm_convolve(g, norm_convolve(g, y, "1", 128, 1), "2", 32, 3))
        x = concat(g, *features)
        if stage < 4:
            x = average_pool(g, norm_convolve(g, x, f"transition{stage}", x.shape[1] // 2, 1), 2, 2)
    classify(g, relu(g, batch_norm(g, x, "last")))


# ---- EfficientNet-B0 (Tan, Le 2019) ----

def squeeze_excite(g, x, squeeze):
    with g.scope("se"):
        y = silu(g, convolve(g, g.op("GlobalAveragePool", x), "reduce", squeeze, 1, bias=True))
        return g.op("Mul", g.op("Sigmoid", convolve(g, y, "expand", x.shape[1], 1, bias=True)), x)


def mobile_block(g, x, out, kernel, stride, expand):
    width, y = x.shape[1] * expand, x
    if expand > 1:
        y = convolve_norm(g, y, "expand", width, 1, act=silu)
    y = convolve_norm(g, y, "depthwise", width, kernel, stride, groups=width, act=silu)
    y = convolve_norm(g, squeeze_excite(g, y, x.shape[1] // 4), "project", out, 1, act=None)
    return add(g, y, x) if stride == 1 and x.shape[1] == out else y


def efficientnet_b0(g):
    x = convolve_norm(g, image(g), "stem", 32, 3, 2, act=silu)
    for stage, (expand, kernel, stride, out, count) in enumerate(((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3),
                                                                  (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)), 1):
        for block in range(count):
            with g.scope(f"stage{stage}.{block}"):
                x = mobile_block(g, x, out, kernel, 1 if block else stride, expand)
    classify(g, convolve_norm(g, x, "last", 1280, 1, act=silu))


# ---- Inception-v3 (Szegedy et al. 2016), without the auxiliary head of training ----

def chain(g, x, name, *steps):
    """steps: (out, kernel[, stride[, pad]])"""
    for number, step in enumerate(steps, 1):
        x = convolve_norm(g, x, f"{name}.{number}", *step, epsilon=1e-3)
    return x


def inception_a(g, x, pool):
    return concat(g, chain(g, x, "1x1", (64, 1)), chain(g, x, "5x5", (48, 1), (64, 5)), chain(g, x, "double", (64, 1), (96, 3), (96, 3)),
                  chain(g, average_pool(g, x, 3, 1, 1), "pool", (pool, 1)))


def inception_b(g, x):
    return concat(g, chain(g, x, "3x3", (384, 3, 2, 0)), chain(g, x, "double", (64, 1), (96, 3), (96, 3, 2, 0)), max_pool(g, x, 3, 2))


def inception_c(g, x, c):
    return concat(g, chain(g, x, "1x1", (192, 1)), chain(g, x, "7x7", (c, 1), (c, (1, 7)), (192, (7, 1))),
                  chain(g, x, "double", (c, 1), (c, (7, 1)), (c, (1, 7)), (c, (7, 1)), (192, (1, 7))),
                  chain(g, average_pool(g, x, 3, 1, 1), "pool", (192, 1)))


def inception_d(g, x):
    return concat(g, chain(g, x, "3x3", (192, 1), (320, 3, 2, 0)), chain(g, x, "7x7", (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2, 0)),
                  max_pool(g, x, 3, 2))


def fork(g, x, name):
    return concat(g, chain(g, x, f"{name}.wide", (384, (1, 3))), chain(g, x, f"{name}.high", (384, (3, 1))))


def inception_e(g, x):
    return concat(g, chain(g, x, "1x1", (320, 1)), fork(g, chain(g, x, "3x3", (384, 1)), "3x3"),
                  fork(g, chain(g, x, "double", (448, 1), (384, 3)), "double"), chain(g, average_pool(g, x, 3, 1, 1), "pool", (192, 1)))


def inception_v3(g):
    x = max_pool(g, chain(g, image(g), "stem1", (32, 3, 2, 0), (32, 3, 1, 0), (64, 3)), 3, 2)
    x = max_pool(g, chain(g, x, "stem2", (80, 1), (192, 3, 1, 0)), 3, 2)
    for name, block, *width in (("5b", inception_a, 32), ("5c", inception_a, 64), ("5d", inception_a, 64), ("6a", inception_b),
                                ("6b", inception_c, 128), ("6c", inception_c, 160), ("6d", inception_c, 160), ("6e", inception_c, 192),
                                ("7a", inception_d), ("7b", inception_e), ("7c", inception_e)):
        with g.scope(f"mixed_{name}"):
            x = block(g, x, *width)
    classify(g, x)
