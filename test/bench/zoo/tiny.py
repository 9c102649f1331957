# SPDX-License-Identifier: MIT
"""Networks for firmware, as MLPerf Tiny has them: MobileNetV1 of a quarter of its channels, which sees whether there is a person, and an
autoencoder, whose error says how odd a machine sounds."""
import math

from .classifiers import image
from .layers import classify, convolve_norm, relu

PEOPLE = 2
WIDTHS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))
FRAMES, HIDDEN, CODE = 5 * 128, 128, 8      # five frames of 128 bands of a log-mel spectrogram


def mobilenet_v1_quarter(g):
    """Howard et al. 2017, alpha 0.25"""
    x = convolve_norm(g, image(g), "stem", 8, 3, 2)
    for number, (width, stride) in enumerate(WIDTHS):
        with g.scope(f"block{number}"):
            x = convolve_norm(g, x, "depthwise", x.shape[1], 3, stride, groups=x.shape[1])
            x = convolve_norm(g, x, "pointwise", width // 4, 1)
    classify(g, x, PEOPLE)


def autoencoder(g):
    """dense layers, their norms folded, as it is quantized"""
    x = g.inputs["frames"]
    widths = [HIDDEN] * 4 + [CODE] + [HIDDEN] * 4 + [FRAMES]
    for number, width in enumerate(widths):
        with g.scope(f"dense{number}"):
            w = g.normal("weight", (width, x.shape[1]), math.sqrt(2 / x.shape[1]))
            x = g.op("Gemm", x, w, g.normal("bias", width, 0.02), name="gemm", transB=1)
            x = x if number == len(widths) - 1 else relu(g, x)
    g.output(x, "decoded")
